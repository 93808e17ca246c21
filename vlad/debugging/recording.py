"""The operations of one gradient, in order, with their values: the program's own, and those of its backpropagators.

In: a procedure whose value is a real, and its arguments.  Out: `Operation`s, each with the operations whose results it takes.
Called for `vlad explore`. A result is followed by its identity: each operation on numbers makes a new one; what returns an
older one, an operand or a part of it, is no operation here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from vlad.data.source import Span, in_library
from vlad.data.tensors import Tensor
from vlad.data.values import Primitive, Value
from vlad.debugging.finite import CARRIERS, NO_NUMBERS
from vlad.debugging.frames import shortened
from vlad.debugging.instrumented import Instrument, Place
from vlad.debugging.origins import phase_of
from vlad.evaluate.machine import Machine
from vlad.expand.macros import ProcedureSpan

MOST = 400  # operations that are kept


@dataclass(frozen=True, slots=True)
class Operation:
    """name      of the primitive; "" for an argument
    variable  the name that the result has in core
    computes  "argument", "primal" or "sensitivity"
    span      the place in the program; None for what the library does
    operands  the numbers of the operations that made them, or the text of a constant
    value     the text of the result
    """

    name: str
    variable: str
    computes: str
    span: Span | None
    operands: tuple[int | str, ...]
    value: str


@dataclass(eq=False)
class Recording(Instrument):
    """Observes operations on numbers, of all code that is evaluated meanwhile."""

    machine: Machine
    operations: list[Operation] = field(default_factory=list)
    is_cut: bool = False  # were there more?
    made: dict[int, int] = field(
        default_factory=dict
    )  # the numbers of operations, by the identity of results
    kept: list[Value] = field(default_factory=list)  # so that no identity is used twice

    watches = True

    def __post_init__(self) -> None:
        super().__init__()

    def add(self, operation: Operation, result: Value) -> None:
        self.made[id(result)] = len(self.operations)
        self.kept.append(result)
        self.operations.append(operation)

    def argument(self, name: str, value: Value) -> None:
        self.add(Operation("", name, "argument", None, (), shortened(value)), value)

    def observed(self, place: Place, row: Primitive, rule: Callable[..., Value]) -> Callable[..., Value]:
        if row.type.result in NO_NUMBERS or row.name in CARRIERS:
            return rule
        computes = phase_of(self.machine, place.code, place.variable).computes
        span = place.span if is_own(place.span) else None
        variable = "" if place.variable is None else place.variable.name

        def observed(*operands: Value) -> Value:
            result = rule(*operands)
            is_carried = id(result) in self.made or any(result is one for one in operands)
            if is_carried or type(result) not in (float, Tensor):
                return result
            if len(self.operations) == MOST:
                self.is_cut = True
                return result
            taken = tuple([self.origin(one) for one in operands])
            self.add(Operation(row.display_name, variable, computes, span, taken, shortened(result)), result)
            return result

        return observed

    def origin(self, operand: Value) -> int | str:
        """The operation that made an operand, or the text of what none made."""
        found = self.made.get(id(operand))
        return shortened(operand) if found is None else found


def is_own(span: Span | None) -> bool:
    """Is this the place of an operation in the program's own text?"""
    return span is not None and type(span) is not ProcedureSpan and not in_library(span)


def recorded(machine: Machine, begin: Callable[[Recording], object]) -> Recording:
    """What is recorded while `begin` evaluates. The machine must evaluate nothing else meanwhile."""
    before, machine.instrument = machine.instrument, Recording(machine)
    recording: Recording = machine.instrument
    machine.emit_again()
    try:
        begin(recording)
    finally:
        machine.instrument = before
        machine.emit_again()
    return recording
