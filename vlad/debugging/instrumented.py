"""Core → Python with calls of an instrument: a variant of the evaluator's emission.

In: a Code.  Out: its native function, which calls an instrument when a procedure is entered and left, before its operations,
and with the results of operations on numbers. Called by the machine in place of emit_python.emit while it has an instrument;
otherwise emitted functions contain nothing of this.

Differences from the evaluator's emission: each operation is on a line of its own, so that every variable is a Python
local; and a procedure's tail call to itself is a tail call like any other, as users regard an iteration as a call.

    F = enter(code, closure, (parameter, ...))     at the head; F is this call's Activation
    at(F, place)                                   before each operation with a place in a program of the user's
    F.value = variable                             behind it
    tail(F, place)                                 before a tail call: F ends here
    return leave(F, value)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from vlad.core.nodes import Apply, Atom, Binding, Body, Call, Field, Letrec, Result, Rhs, Variable
from vlad.data.source import Span, in_library
from vlad.data.values import Code, Primitive, Value
from vlad.debugging.origins import described, is_top_level, root_of
from vlad.evaluate.emit_python import Emitter
from vlad.expand.macros import ProcedureSpan

MOST_BEFORE = 16  # tail calls that are kept


class Activation:
    """A call in progress.

    depth    number of pending calls, including this one
    level    of the traced call whose result its result is; 0 for none (tracing.py)
    line     where it is (line_of)
    value    the result of its last operation
    before   the tail calls that led to it, the latest last
    """

    __slots__ = ("code", "depth", "level", "line", "value", "before")

    def __init__(self, code: Code, depth: int, before: tuple[Place, ...]) -> None:
        self.code = code
        self.depth = depth
        self.level = 0
        self.line: tuple[str, int] | None = None
        self.value: Value = None
        self.before = before


class Place:
    """An operation in a code, and its place in the text."""

    __slots__ = ("code", "variable", "span", "line")

    def __init__(self, code: Code, variable: Variable | None, span: Span | None) -> None:
        self.code = code
        self.variable = variable
        self.span = span
        self.line = None if span is None else line_of(span.source.name, span.line)

    def __str__(self) -> str:
        return f"{described(self.code.machine, self.code)} at {self.span}"

    @property
    def is_of_top_level(self) -> bool:
        return is_top_level(self.code.machine, root_of(self.code.machine, self.code))


def line_of(name: str, line: int) -> tuple[str, int]:
    """A line of a file, independent of its folder: what a breakpoint names."""
    return os.path.basename(name), line


class Instrument:
    """The interface of instrumented code. This one only counts pending calls; the debugger's does more."""

    follows = False  # are calls observed?
    steps = False  # is each operation observed?
    watches = False  # are numeric results of operations observed?

    def __init__(self) -> None:
        self.depth = 0
        self.before: tuple[Place, ...] = ()  # of the call that is about to be made

    def emit(self, code: Code) -> Callable[..., Value]:
        return Instrumented(code, self).function()

    def begin(self, beginning: tuple[Value, Value] | None) -> None:
        """An evaluation begins: a call of this procedure with this argument, if they are known."""
        self.depth = 0
        self.before = ()

    def pending(self) -> tuple[Any, ...]:
        """The calls that are pending, for `caught`."""
        return self.depth, self.before

    def caught(self, pending: tuple[Any, ...]) -> None:
        """An error ended all calls but these."""
        self.depth, self.before = pending

    def enter(self, code: Code, closure: Value, operands: tuple[Value, ...]) -> Activation:
        """A procedure is entered with these operands."""
        self.depth += 1
        before, self.before = self.before, ()
        return Activation(code, self.depth, before)

    def at(self, activation: Activation, place: Place) -> None:
        """A procedure is about to do an operation."""
        self.depth = activation.depth

    def tail(self, activation: Activation, place: Place | None) -> None:
        """A procedure ends with a tail call."""
        self.depth = activation.depth - 1
        before = activation.before
        self.before = before if place is None else (*before[1 - MOST_BEFORE :], place)

    def leave(self, activation: Activation, value: Value) -> Value:
        """A procedure returns a value."""
        self.depth = activation.depth - 1
        return value

    def observed(self, place: Place, row: Primitive, rule: Callable[..., Value]) -> Callable[..., Value]:
        """The rule of a row, as applied at a place."""
        return rule

    def observed_part(self, place: Place, part: Callable[[Value], Value]) -> Callable[[Value], Value]:
        """The function that takes a part out of a structure at a place."""
        return part


class Instrumented(Emitter):
    """notified    the span for whose operations the instrument was last called, on this path through the procedure"""

    def __init__(self, code: Code, instrument: Instrument) -> None:
        super().__init__(code)
        self.instrument = instrument
        self.notified: Span | None = None
        names = self.family.names
        names["enter"], names["at"] = instrument.enter, instrument.at
        names["tail"], names["leave"] = instrument.tail, instrument.leave

    def _assemble(self, head: list[str], body: list[str]) -> list[str]:
        if self.instrument.follows:
            code, operands = self.name_of(self.code, "C"), ", ".join(self.parameters)
            head = [*head, f" F = enter({code}, self, ({operands},))"]
        return super()._assemble(head, body)

    # Operations, each on a line of its own.

    def binding(self, variable: Variable, rhs: Rhs) -> None:
        self.notify(variable, rhs)
        if type(rhs) is Field and self.instrument.watches:
            self.part(variable, rhs, rhs.record, _taking(rhs.index + 1))
        else:
            super().binding(variable, rhs)
        notified = isinstance(rhs, Apply | Call) and self.notified is not None and self.notified is rhs.span
        if notified and variable in self.names:
            self.line(f"F.value = {self.names[variable]}")

    def both_parts(self, one: Binding, other: Binding | Letrec | None) -> Binding | None:
        return None

    def keep(self, variable: Variable, text: str, rhs: Rhs, value: str = "") -> None:
        super().keep(variable, text, rhs, value)
        if variable in self.pending:
            self.settle(variable)

    def apply(self, variable: Variable, rhs: Apply) -> None:
        row = rhs.primitive
        if not self.instrument.watches or row.name in self.machine.entry_rows:
            super().apply(variable, rhs)
        elif row.name in self.machine.selectors:
            self.part(variable, rhs, rhs.operands[0], self.rule(row))
        else:
            rule = self.rule(row)
            observed = self.instrument.observed(self.place(variable, rhs), row, rule)
            if observed is rule:
                super().apply(variable, rhs)
                return
            actual = ", ".join([self.text(operand) for operand in rhs.operands])
            self.effect(variable, f"{self.name_of(observed, 'N')}({actual})", rhs)

    def part(
        self, variable: Variable, rhs: Apply | Field, whole: Atom, take: Callable[[Value], Value]
    ) -> None:
        taken = self.instrument.observed_part(self.place(variable, rhs), take)
        self.effect(variable, f"{self.name_of(taken, 'N')}({self.text(whole)})", rhs)

    def rule(self, row: Primitive) -> Callable[..., Value]:
        found: Callable[..., Value] = (
            self.machine.counted(row) if self.machine.metered else self.machine.rule(row)
        )
        return found

    # Places.

    def place(self, variable: Variable | None, rhs: Rhs | Result) -> Place:
        return Place(self.code, variable, getattr(rhs, "span", None))

    def notify(self, variable: Variable | None, rhs: Rhs | Result) -> None:
        """Call the instrument before an operation of the user's, once for all operations that derivatives make of it."""
        span = getattr(rhs, "span", None)
        if not self.instrument.steps or not is_step(rhs) or span is self.notified:
            return
        self.notified = span
        saved, self.operations = self.operations, [(None, rhs)]  # it gets the place of the next operation
        self.line(f"at(F, {self.name_of(Place(self.code, variable, span), 'A')})")
        self.operations = saved

    # Bodies. Calls of the instrument on one arm do not count for the other.

    def body(self, body: Body) -> None:
        before = self.notified
        super().body(body)
        self.notified = before

    def arm(self, body: Body, name: str) -> None:
        before = self.notified
        super().arm(body, name)
        self.notified = before

    def call(self, variable: Variable, call: Call) -> None:
        self.notify(variable, call)
        super().call(variable, call)

    def result(self, result: Result) -> None:
        if type(result) is not Call:
            super().result(result)
            return
        self.notify(None, result)
        if self.instrument.follows:
            place = f"{self.name_of(self.place(None, result), 'A')}" if is_step(result) else "None"
            self.line(f"tail(F, {place})")
        super().result(result)

    def returned(self, text: str) -> str:
        return f"leave(F, {text})" if self.instrument.follows else text

    def is_itself(self, call: Call) -> bool:
        return False

    def own_global(self, call: Call) -> bool:
        return False


def is_step(rhs: Rhs | Result) -> bool:
    """Whether this is a step for users: an operation in their text that is not part of passing operands."""
    if not isinstance(rhs, Apply | Call) or rhs.span is None or type(rhs.span) is ProcedureSpan:
        return False
    return not in_library(rhs.span)


def _taking(index: int) -> Callable[[Value], Value]:
    return lambda record: record[index]
