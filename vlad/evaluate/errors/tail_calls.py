"""The tail call that led to an error: its frame is gone, and nothing recorded its place.

In: a procedure that was called, and the code found running, by its frame.  Out: the one tail call in the
user's text by which the first may have become the second. Called by explain.py and miscounted.py; so tail calls cost nothing
while no error occurs. If there are several such calls, or a call of an unknown procedure, there is no result: a
wrong one would be worse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vlad.core.nodes import (
    Apply,
    Atom,
    Binding,
    Body,
    Call,
    Constant,
    GlobalReference,
    If,
    Lambda,
    Letrec,
    Variable,
)
from vlad.data.source import Span, in_library
from vlad.data.values import Code, Value, is_procedure, look
from vlad.evaluate.emit_python import MOST_OPERANDS

if TYPE_CHECKING:
    from vlad.evaluate.code_machine import CodeMachine

MOST_CODES = 200  # that are searched
# The code that is entered, None if that is not known; the procedure that captured its values, if that is known; and the call
TailCall = tuple[Code | None, Value, Call]


def is_of_library(machine: CodeMachine, code: Code) -> bool:
    """Whether the text of a procedure is in the library."""
    span = machine.core_of(code.base).span
    return span is None or in_library(span)


class Arrival:
    """A code that was entered; the number of operands of the call (counted up to MOST_OPERANDS), if it is known. A plain class,
    as a dataclass costs time when programs start.
    """

    __slots__ = ("code", "operands")

    def __init__(self, code: Code, operands: int | None = None) -> None:
        self.code = code
        self.operands = operands

    def is_reached(self, code: Code | None, call: Call) -> bool:
        return code is self.code and self.operands in (None, min(len(call.operands), MOST_OPERANDS))


def lost_call(
    machine: CodeMachine, procedure: Value, argument: Value, arrival: Arrival
) -> tuple[Code, Span] | None:
    """The user's tail call between a call of `procedure` and the arrival, and the code that contains it; None if there is none,
    or if there are several candidates.
    """
    procedure = look(procedure)
    if not is_procedure(procedure) or procedure[0] is arrival.code:
        return None
    search = _Search(machine, arrival)
    search.look_through(_Reader(machine, procedure[0], procedure, argument))
    if is_of_library(machine, procedure[0]) and search.is_open():
        return None
    return search.found()


def is_entered_again(machine: CodeMachine, procedure: Value) -> bool:
    """Whether a procedure may reach itself by tail calls. A call of an unknown procedure may."""
    search = _Search(machine, Arrival(procedure[0]))
    search.look_through(_Reader(machine, procedure[0], procedure))
    targets = [target for calls in search.calls.values() for target, _, _ in calls]
    return not search.calls or any(target in (None, procedure[0]) for target in targets)


class _Search:
    """The tail calls that can be reached from a procedure.

    calls     for each code: what its tail calls may enter
    onward    the codes of the library from which the arrival can be reached without leaving the library
    """

    def __init__(self, machine: CodeMachine, arrival: Arrival) -> None:
        self.machine = machine
        self.arrival = arrival
        self.calls: dict[Code, list[TailCall]] = {}

    def is_open(self) -> bool:
        """Is a procedure of the library called that is not known? It may be any of the program."""
        return any(
            code is None
            for caller, calls in self.calls.items()
            if is_of_library(self.machine, caller)
            for code, _, _ in calls
        )

    def look_through(self, first: _Reader) -> None:
        work = [first]
        readers: dict[Code, _Reader] = {}
        while work:
            reader = work.pop()
            if len(self.calls) == MOST_CODES:
                self.calls.clear()  # there may be other paths
                return
            if reader.code in self.calls:
                before = readers[reader.code]
                if before.procedure is not reader.procedure:  # it is entered with other captured values, too
                    before.forget_captured()
                    self.calls[reader.code] = before.targets()
                continue
            readers[reader.code] = reader
            found = self.calls[reader.code] = reader.targets()
            work += [_Reader(self.machine, code, closure) for code, closure, _ in found if code is not None]
        if any(code is first.code for found in self.calls.values() for code, _, _ in found):
            first.forget_argument()  # it is entered again, with other arguments
            self.calls[first.code] = first.targets()

    def found(self) -> tuple[Code, Span] | None:
        onward = self._onward()
        places: dict[str, tuple[Code, Span]] = {}
        for code, calls in self.calls.items():
            if is_of_library(self.machine, code):
                continue
            for target, _, call in calls:
                if target is None:
                    return None
                leads = self.arrival.is_reached(target, call) or target in onward
                if leads and call.span is not None and not in_library(call.span):
                    places[str(call.span)] = code, call.span
        return next(iter(places.values())) if len(places) == 1 else None

    def _onward(self) -> set[Code]:
        onward: set[Code] = set()
        size = -1
        while len(onward) > size:
            size = len(onward)
            for code, calls in self.calls.items():
                if is_of_library(self.machine, code) and any(
                    self.arrival.is_reached(target, call) or target in onward for target, _, call in calls
                ):
                    onward.add(code)
        return onward


class _Reader:
    """The tail calls of a code, and their targets. `procedure`, of this code or one that it was derived from, and `argument`: how
    it was entered, if that is known.
    """

    def __init__(
        self, machine: CodeMachine, code: Code, procedure: Value = None, argument: Value = None
    ) -> None:
        self.machine = machine
        self.code = code
        self.procedure = procedure
        self.lambda_: Lambda = machine.core_of(code)
        self.calls: list[Call] = []
        self.meaning: dict[Variable, Any] = dict(code.group)
        self.values: dict[Variable, Value] = {}
        if procedure is not None:
            self.values.update(zip(code.environment, procedure[1:], strict=False))
        if argument is not None:
            self._destructure(argument)
        self._read(self.lambda_.body)

    def _destructure(self, argument: Value) -> None:
        *first, last = self.lambda_.parameters
        for parameter in first:
            argument = look(argument)
            if type(argument) is not tuple or len(argument) != 2:
                return
            self.values[parameter], argument = argument
        self.values[last] = argument

    def _read(self, body: Body) -> None:
        work = [body]
        while work:
            body = work.pop()
            for binding in body.bindings:
                if isinstance(binding, Letrec):
                    self.meaning.update(binding.members)
                else:
                    self._note(binding)
            if isinstance(body.result, Call):
                self.calls.append(body.result)
            elif isinstance(body.result, If):
                work += [body.result.consequent, body.result.alternative]

    def _note(self, binding: Binding) -> None:
        if isinstance(binding.rhs, Lambda | Apply | Variable | Constant | GlobalReference):
            self.meaning[binding.variable] = binding.rhs

    def forget_argument(self) -> None:
        for parameter in self.lambda_.parameters:
            self.values.pop(parameter, None)

    def forget_captured(self) -> None:
        for variable in self.code.environment:
            self.values.pop(variable, None)

    def targets(self) -> list[TailCall]:
        """The calls that may have been made, with what they enter. A name that holds no procedure was not called."""
        found = [(*self.target(call.operator), call) for call in self.calls]
        return [
            one for one in found if one[0] is not None or not isinstance(one[2].operator, GlobalReference)
        ]

    def target(self, operator: Atom) -> tuple[Code | None, Value]:
        """The code that an operator stands for, if it can be determined, and the procedure with its captured values, if there is
        one yet.
        """
        seen: Any = operator
        if isinstance(operator, Variable):
            seen = self.meaning.get(operator)
        match seen:
            case Lambda():
                return self.code.family.codes.get(seen), None
            case Apply() if seen.primitive.name in self.machine.entry_rows:
                entered, procedure = self.target(seen.operands[0])
                kind = self.machine.entry_rows[seen.primitive.name]
                return None if entered is None else self.machine.derived_code(entered, kind), procedure
            case Variable():
                return self.target(seen)
            case Constant():
                return _entered_by(seen.value)
            case GlobalReference():
                return _entered_by(getattr(seen.cell, "value", None))
        return _entered_by(self.values.get(operator)) if isinstance(operator, Variable) else (None, None)


def _entered_by(value: Value) -> tuple[Code | None, Value]:
    value = look(value)
    return (value[0], value) if is_procedure(value) else (None, None)
