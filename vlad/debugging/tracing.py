"""Traced calls: the procedure, its arguments and its result, indented by the number of pending traced calls.

A tail call is shown on the level of the call that it replaces, and the result is shown
once, for both. So a loop of a million iterations is a million lines of one level, and needs no memory; the number of lines is
limited. Where a procedure takes its continuation, as inside `reset`, no results are shown: it returns none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from vlad.data.source import in_library
from vlad.data.values import CONTROL, Code, Value, look
from vlad.debugging.frames import shortened
from vlad.debugging.instrumented import Activation
from vlad.debugging.origins import described, modes_of, root_of

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

MOST_LINES = 1000  # per evaluation
MOST_LEVELS = 30  # of indentation


class Tracer:
    """`names`: of the procedures to trace, each with its code when tracing began, or None if no global had
    this name: then inner procedures may have it. `write` is called with lines.
    """

    def __init__(self, machine: Machine, write: Callable[[str], object]) -> None:
        self.machine = machine
        self.write = write
        self.names: dict[str, Code | None] = {}
        self.most = MOST_LINES
        self.resting = False
        self.seen: set[str] = set()  # the names that were called
        self._traced: WeakKeyDictionary[Code, bool] = WeakKeyDictionary()
        self.begin()

    def begin(self) -> None:
        self.level = 0  # traced calls that are pending or in progress
        self.owed = 0  # the level of the call that the next tail call replaces
        self.lines = 0

    def trace(self, name: str, code: Code | None) -> None:
        self.names[name] = code
        self._traced.clear()

    def untrace(self, name: str | None) -> None:
        if name is None:
            self.names.clear()
        else:
            self.names.pop(name, None)
        self._traced.clear()

    def is_traced(self, code: Code) -> bool:
        found = self._traced.get(code)
        if found is None:
            found = self._traced[code] = self._is_meant(code)
        return found

    def _is_meant(self, code: Code) -> bool:
        """The derivatives of a traced procedure are traced with it. To go on after a call is no call."""
        if self.machine.core_of(code).is_continuation:
            return False
        root = root_of(self.machine, code)
        found = names_of(self.machine, root, self.names)
        self.seen |= found
        return bool(found)

    def enter(self, activation: Activation, operands: tuple[Value, ...]) -> None:
        owed, self.owed = self.owed, 0
        activation.level = owed
        if self.names and not self.resting and self.is_traced(activation.code):
            if not owed:
                activation.level = self.level + 1
            shown = activation.level
            if activation.code.transforms[:1] == (CONTROL,):  # its result goes to a continuation
                activation.level = owed
            elif not owed:
                self.level = shown
            self.show(shown, call_text(self.machine, activation.code, operands))

    def tail(self, activation: Activation) -> None:
        self.owed = activation.level

    def leave(self, activation: Activation, value: Value) -> None:
        if activation.level:
            self.show(activation.level, f"=> {shortened(value)}")
            self.level = activation.level - 1

    def show(self, level: int, text: str) -> None:
        if self.resting:
            return
        self.lines += 1
        if self.lines <= self.most:
            self.write("| " * min(level - 1, MOST_LEVELS) + text)
        elif self.lines == self.most + 1:
            self.write(f"… (no more than {self.most} lines are shown)")


def names_of(machine: Machine, code: Code, names: dict[str, Code | None]) -> set[str]:
    """The names that mean a procedure's code: those of the globals it was bound to, or of any procedure of the user's."""
    span = machine.core_of(code).span
    is_users = span is not None and not in_library(span)
    return {name for name, meant in names.items() if meant is code or (is_users and name == code.name)}


def call_text(machine: Machine, code: Code, operands: tuple[Value, ...]) -> str:
    """A call in the language's notation. For derivatives: the arguments of the procedure, then in forward mode their tangent."""
    modes = modes_of(machine, code)
    own = operands[len(operands) - code.base.arity :]
    words = [shortened(operand) for operand in own]
    if modes == ("forward",):
        tangent = look(operands[1])
        words[-1] += f", tangent {shortened(tangent)}"
    name = described(machine, code)
    return f"({name}{''.join([' ' + word for word in words])})" if not modes else f"{name}: {' '.join(words)}"
