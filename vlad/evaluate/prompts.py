"""Calls from outside that may capture their continuation by `call/cc`: they run by control entries, from a prompt on.

In: a procedure and its argument.  Out: its result; `may_capture`, which decides by what the procedure reaches. Called by
machine.py. The rows and codes of such continuations, and what frames are: primitives/reentry.py.

A continuation whose prompt has ended is run by the innermost one: its value is that of the call from outside that called it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from vlad.core.names import lambdas_within, operands, sub_bodies
from vlad.core.nodes import Binding, Body, GlobalReference, Lambda
from vlad.data.errors import Thrown
from vlad.data.tables import Table
from vlad.data.values import NIL, Code, Global, Reference, Value, look, symbol
from vlad.primitives.continuations import SHIFT
from vlad.primitives.reentry import CONTINUATION, Captured, Frame, jump_of, resumed

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

RESET = symbol("reset")
_MENTIONED: WeakKeyDictionary[Lambda, tuple[Global, ...]] = WeakKeyDictionary()
_PLAIN: WeakKeyDictionary[Global, Value] = WeakKeyDictionary()  # data without procedures
_KEPT: WeakKeyDictionary[Code, tuple[int, bool]] = (
    WeakKeyDictionary()
)  # answers, each with the number of definitions


def apply(machine: Machine, f: Value, argument: Value) -> Value:
    """The value of a procedure at its argument, with a prompt around."""
    prompt = machine.frames = Frame("prompt", NIL, None, object())
    shadows, rules, handlers = machine.shadows, machine.rules, machine.handlers
    pending = None if machine.instrument is None else machine.instrument.pending()
    entry: Any = machine.control_closure(f)
    end = machine.codes["identity"].closed
    run: Callable[[], Value] = lambda: entry[0].entry2(entry, end, argument)  # noqa: E731
    try:
        while True:
            try:
                result = run()
                if result is machine.T:
                    result = machine.bounce()
                jump = _returned(machine, result, prompt)
                if jump is None:
                    return result
            except Thrown as error:
                machine.watch.raise_if_interrupted()
                jump = _taken(machine, error.held, prompt)
                if jump is None:
                    raise
            machine.shadows, machine.rules, machine.handlers = shadows, rules, handlers
            if machine.instrument is not None:
                machine.instrument.caught(pending)
            machine.frames = prompt
            run = _resume(machine, *jump)
    finally:
        prompt.is_active = False


def _returned(machine: Machine, result: Value, prompt: Frame) -> tuple[Captured, Value] | None:
    """The jump that a control entry returned; None if that is a value. Raises what it returned for a guard."""
    seen = look(result)
    if type(seen) is not tuple or not seen:
        return None
    if seen[0] is machine.codes["raised"]:
        raised, error = seen[1]
        jump = _taken(machine, raised, prompt)
        if jump is None:
            machine.rule(machine.table["throw"])(raised, error)
        return jump
    if seen[0] is machine.codes["shift-request"]:
        machine.rule(machine.table["no-reset"])(SHIFT, RESET)
    return None


def _taken(machine: Machine, raised: Value, prompt: Frame) -> tuple[Captured, Value] | None:
    """A jump that ends at the prompt: to a continuation from there, or of one that has ended."""
    jump = jump_of(machine, raised)
    if jump is None:
        return None
    own = jump[0].prompt()
    return None if own is not prompt and own.is_active else jump


def _resume(machine: Machine, captured: Captured, v: Value) -> Callable[[], Value]:
    inside = captured.frame.inside(captured.prompt().origin)
    assert inside is not None
    frames, (k, v) = resumed(captured, inside, v)
    procedure: Any = machine.codes["resume"].closed
    return lambda: procedure[0].entry3(procedure, frames, k, v)


def may_capture(machine: Machine, f: Value, argument: Value) -> bool:
    """Does a call reach `call/cc`, or one of its continuations?"""
    reach = _Reach(machine)
    if len(f) > 1 or argument is not NIL:
        return reach.found(f, argument)
    version, kept = machine.globals_changed, _KEPT.get(f[0])
    if kept is None or kept[0] != version:
        found = reach.found(f)
        kept = version, found
        if not reach.has_cells:
            _KEPT[f[0]] = kept
    return kept[1]


class _Reach:
    """What values reach: by what procedures mention, and by what structures, closures and cells hold. The text of a procedure of
    the library is not searched: it calls `call/cc` only where a program's procedure that it is given does.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.continuation = machine.codes[CONTINUATION]
        self.has_cells = False

    def found(self, *values: Value) -> bool:
        work, seen, codes = list(values), dict[int, Value](), set[Code]()
        while work:
            value = look(work.pop())
            if type(value) not in (tuple, Reference, Table) or id(value) in seen:
                continue
            seen[id(value)] = value
            if type(value) is Table:
                work += value.values()
            elif type(value) is Reference:
                self.has_cells = True
                work.append(value.content)
            elif len(value) == 2:
                work += value
            elif value:
                code: Code = value[0]
                if code in self.machine.capturing or code is self.continuation:
                    return True
                work += value[1 : len(code.environment) + 1]
                if code not in codes and code.family.outermost not in self.machine.of_library:
                    codes.add(code)
                    work += self.mentioned(code)
        return False

    def mentioned(self, code: Code) -> list[Value]:
        """The values of the globals that a procedure mentions, but for data without procedures."""
        lambda_ = self.machine.core_of(code.base)
        cells = _MENTIONED.get(lambda_)
        if cells is None:
            cells = _MENTIONED[lambda_] = _cells_in([lambda_, *[member for _, member in code.group]])
        values = []
        for cell in cells:
            value = look(getattr(cell, "value", NIL))
            if type(value) is tuple and len(value) == 2 and _PLAIN.get(cell) is not value:
                if not _is_plain(value):
                    values.append(value)
                    continue
                _PLAIN[cell] = value
            elif type(value) is not tuple or len(value) != 2:
                values.append(value)
        return values


def _is_plain(value: Value) -> bool:
    work = [value]
    while work:
        one = look(work.pop())
        if type(one) is tuple and len(one) == 2:
            work += one
        elif type(one) in (tuple, Reference, Table) and one != NIL:
            return False
    return True


def _cells_in(lambdas: list[Lambda]) -> tuple[Global, ...]:
    found: dict[Global, None] = {}
    work: list[Body] = [lambda_.body for lambda_ in lambdas]
    while work:
        body = work.pop()
        work += [lambda_.body for lambda_ in lambdas_within(body)]
        inside = [body]
        while inside:
            one = inside.pop()
            parts = [binding.rhs for binding in one.bindings if isinstance(binding, Binding)]
            for part in (*parts, one.result):
                found |= dict.fromkeys(
                    [atom.cell for atom in operands(part) if isinstance(atom, GlobalReference)]
                )
                inside += sub_bodies(part)
    return tuple(found)
