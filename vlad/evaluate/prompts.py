"""Calls from outside that may capture their continuation by `call/cc`: they run by control entries, from a prompt on.

In: a procedure and its argument.  Out: its result; `may_capture`, which decides by what the procedure reaches. Called by
machine.py. The rows and codes of such continuations, and what frames are: primitives/reentry.py.

A continuation whose prompt has ended is run by the prompt that runs its rest already, else by the innermost one: its value is
that of the call from outside that called it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from vlad.core.names import lambdas_within, operands, sub_bodies
from vlad.core.nodes import Binding, Body, GlobalReference, Lambda
from vlad.data.errors import Thrown
from vlad.data.tables import Table
from vlad.data.values import NIL, Code, Global, Reference, Value, look
from vlad.primitives.continuations import RESET, SHIFT
from vlad.primitives.reentry import CONTINUATION, Activation, Captured, Frame, jump_of, resumed

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

MOST_SEEN = 50  # parts of data that are looked at for procedures


def apply(machine: Machine, f: Value, argument: Value) -> Value:
    """The value of a procedure at its argument, in a session that has mentioned `call/cc`."""
    if may_capture(machine, f, argument):
        entry: Any = machine.control_closure(f)
        end = machine.codes["guard-end"].closed
        return _prompted(machine, lambda: entry[0].entry2(entry, end, argument))
    try:
        result = f[0].entry1(f, argument)
        return machine.bounce() if result is machine.T else result
    except Thrown as error:
        machine.watch.raise_if_interrupted()
        jump = _taken(machine, error.held, None)
        if jump is None:
            raise
    return _prompted(machine, lambda: _resume(machine, machine.frames, *jump)())


def _prompted(machine: Machine, run: Callable[[], Value]) -> Value:
    """The value of `run`, which enters control entries, with a prompt around."""
    prompt = machine.frames = Frame("prompt", NIL, None, object(), Activation())
    shadows, rules, handlers = machine.shadows, machine.rules, machine.handlers
    pending = None if machine.instrument is None else machine.instrument.pending()
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
            run = _resume(machine, prompt, *jump)
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


def _taken(machine: Machine, raised: Value, prompt: Frame | None) -> tuple[Captured, Value] | None:
    """A jump that ends at the prompt: to a continuation from there, or of one that has ended."""
    jump = jump_of(machine, raised)
    if jump is None:
        return None
    own = jump[0].prompt().standing()
    return None if own is not prompt and own.is_active else jump


def _resume(machine: Machine, prompt: Frame, captured: Captured, v: Value) -> Callable[[], Value]:
    """What runs the rest of a continuation in this prompt, which its own one, if that has ended, is from here on: code that this
    rest calls, and that has a prompt of its own, leaves by a jump to one of its continuations.
    """
    own = captured.prompt()
    if own is not prompt:
        own.stand_in = prompt
    inside = captured.within(own)
    assert inside is not None
    frames, (k, v) = resumed(captured, inside, v)
    procedure: Any = machine.codes["resume"].closed
    return lambda: procedure[0].entry3(procedure, frames, k, v)


class Reach:
    """What is known of the procedures of a machine, until a global that they reach gets another value."""

    def __init__(self) -> None:
        # the cells that what a procedure mentions reaches; None if that reaches `call/cc`
        self._answers: WeakKeyDictionary[Code, list[Value] | None] = WeakKeyDictionary()
        # what the value of a global holds: codes and cells
        self._held: WeakKeyDictionary[Global, tuple[set[Code], list[Value]]] = WeakKeyDictionary()
        self._mentioned: WeakKeyDictionary[Lambda, tuple[Global, ...]] = WeakKeyDictionary()
        # the procedures that mention a global; those that mention one whose value holds a procedure
        self._mentioning: WeakKeyDictionary[Global, WeakSet[Code]] = WeakKeyDictionary()
        self._calling: WeakKeyDictionary[Code, WeakSet[Code]] = WeakKeyDictionary()

    def forget(self, cell: Global) -> None:
        """A global has another value."""
        self._held.pop(cell, None)
        work = list(self._mentioning.pop(cell, ()))
        while work:
            code = work.pop()
            self._answers.pop(code, None)
            work += self._calling.pop(code, ())

    def of(self, machine: Machine, code: Code) -> list[Value] | None:
        """The cells that a procedure reaches by what it mentions; None if it reaches `call/cc`. The text of a procedure of the
        library is not searched: it calls `call/cc` only where a program's procedure that it is given does.
        """
        if code in self._answers:
            return self._answers[code]
        work, seen, cells = [code], {code}, dict[int, Value]()
        answer: list[Value] | None = []
        while work:
            one = work.pop()
            known = self._answers.get(one, [])
            if known is None or one in machine.capturing or one is machine.codes[CONTINUATION]:
                answer = None
                break
            cells |= {id(cell): cell for cell in known}
            if one in self._answers or one.family.outermost in machine.of_library:
                continue
            for cell in self._globals(machine, one):
                self._mentioning.setdefault(cell, WeakSet()).add(one)
                codes, inner = self._in(cell)
                cells |= {id(cell): cell for cell in inner}
                for held in codes:
                    self._calling.setdefault(held, WeakSet()).add(one)
                work += codes - seen
                seen |= codes
        if answer is not None:
            answer = list(cells.values())
        self._answers[code] = answer
        if answer == []:  # so are those of all that it reaches
            for one in seen:
                self._answers[one] = answer
        return answer

    def _in(self, cell: Global) -> tuple[set[Code], list[Value]]:
        found = self._held.get(cell)
        if found is None:
            codes, cells = set[Code](), list[Value]()
            _look_into([getattr(cell, "value", NIL)], codes, cells, {}, math.inf)
            found = self._held[cell] = codes, cells
        return found

    def _globals(self, machine: Machine, code: Code) -> tuple[Global, ...]:
        lambda_ = machine.core_of(code.base)
        found = self._mentioned.get(lambda_)
        if found is None:
            found = _cells_in([lambda_, *[member for _, member in code.group]])
            self._mentioned[lambda_] = found
        return found


def may_capture(machine: Machine, f: Value, argument: Value) -> bool:
    """May a call reach `call/cc`, by what procedures mention, and by those that the procedure, the argument and cells hold? Of
    these, few parts are looked at, so that it takes no longer if they are large; the others may be anything.
    """
    if machine.reach is None:
        machine.reach = Reach()
    reach: Reach = machine.reach
    if len(f) == 1 and type(argument) is float and reach.of(machine, f[0]) == []:
        return False
    data, known, seen = [f, argument], set[Code](), dict[int, Value]()
    while data:
        codes, cells = set[Code](), list[Value]()
        if not _look_into(data, codes, cells, seen, MOST_SEEN):
            return True
        data = [cell.content for cell in cells]
        for code in codes - known:
            reached = reach.of(machine, code)
            if reached is None:
                return True
            data += reached
        known |= codes
    return False


def _look_into(
    data: list[Value], codes: set[Code], cells: list[Value], seen: dict[int, Value], most: float
) -> bool:
    """Adds the codes of the procedures that data hold, and the cells. Returns whether these have no more parts than `most`."""
    work = data[:]
    while work:
        value = look(work.pop())
        kind = type(value)
        if (kind is not tuple and kind is not Reference and kind is not Table) or id(value) in seen:
            continue
        seen[id(value)] = value
        if len(seen) > most or (kind is Table and value.size > most):
            return False
        if kind is Table:
            work += value.values()
        elif kind is Reference:
            cells.append(value)
        elif len(value) == 2:
            work += value
        elif value:
            code: Code = value[0]
            codes.add(code)
            work += value[1 : len(code.environment) + 1]
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
