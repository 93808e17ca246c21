"""The state of a frame of emitted code: its line stands for core operations (emit_python.Emission), and repeating them by
the rows' complete rules shows which one failed, and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import CodeType, TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from vlad.core.nodes import Apply, Call, Constant, GlobalReference, Variable
from vlad.data.errors import VladError, unbound_variable
from vlad.data.source import Span
from vlad.data.values import Primitive, Value, is_procedure
from vlad.evaluate.emit_python import Emission, Operation, is_emitted
from vlad.messages.hints import way_into
from vlad.primitives.numbers import invalid

if TYPE_CHECKING:
    from vlad.evaluate.code_machine import CodeMachine

MOST_NESTED = 50  # applications on one line
FAULTS = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, AssertionError)


class ReadFrame(Protocol):
    """What is read of a frame."""

    @property
    def f_code(self) -> CodeType: ...

    @property
    def f_globals(self) -> dict[str, Any]: ...

    @property
    def f_locals(self) -> Mapping[str, Any]: ...


class FrameCopy:
    __slots__ = ("f_code", "f_globals", "f_locals")

    def __init__(self, frame: ReadFrame) -> None:
        self.f_code = frame.f_code
        self.f_globals = frame.f_globals
        self.f_locals = dict(frame.f_locals)


Frames = list[tuple[ReadFrame, int]]
Beginning = tuple[Value, Value]  # of an evaluation: the procedure, and its argument


def emission_of(frame: ReadFrame) -> Emission | None:
    family = frame.f_globals.get("FAMILY")
    return None if family is None else family.emissions.get(frame.f_code.co_name)


def emitted_frames(traceback: TracebackType | None) -> Frames:
    """Frames of emitted code and adapters, outermost first; of a very deep stack the two ends."""
    frames: Frames = []
    while traceback is not None:
        if is_emitted(traceback.tb_frame):
            frames.append((traceback.tb_frame, traceback.tb_lineno))
            if len(frames) > 4000:
                del frames[1000:2000]
        traceback = traceback.tb_next
    return frames


def span_of(operations: list[Operation]) -> Span | None:
    for _, rhs in reversed(operations):
        span = getattr(rhs, "span", None)
        if span is not None:
            found: Span = span
            return found
    return None


def not_a_procedure(value: Value, span: Span | None = None) -> VladError:
    ways = way_into(value)
    hint = f"only procedures can be called{ways[0]}"
    error = VladError("not-a-procedure", "Target is not a procedure", span, hint=hint, irritants=(value,))
    error.ways = ways
    return error


def _is_quick(row: Primitive) -> bool:
    """Whether it makes a list, or is elementary arithmetic of reals, which takes no time."""
    return row.name in ("cons", "car", "cdr") or (bool(row.python) and row.type.parameters[:1] == ("real",))


class Replay:
    """Repeats, by the rows' complete rules, the operations of a line of emitted code, until one raises."""

    def __init__(self, machine: CodeMachine, emission: Emission, locals: Mapping[str, Any]) -> None:
        self.machine = machine
        self.emission = emission
        self.locals = locals
        self.again: dict[Variable, Value] = {}
        self.failed: VladError | None = None  # why `make` failed

    def make(self, variable: Variable, made: Mapping[Variable, Apply], most: int = MOST_NESTED) -> bool:
        """Compute a value of a line that was not reached, if its operands are known, or lists of known values.
        Returns False if they are not, or if it fails.
        """
        if self.value(variable) is not None:
            return True
        applied = made.get(variable)
        if (
            applied is None
            or not most
            or self.machine.table.get(applied.primitive.name) is not applied.primitive
        ):
            return False
        unknown = [x for x in applied.operands if isinstance(x, Variable) and self.value(x) is None]
        if not all(
            x in made and _is_quick(made[x].primitive) and self.make(x, made, most - 1) for x in unknown
        ):
            return False
        self.failed = self._one(variable, applied)
        return self.failed is None

    def value(self, atom: object) -> Value:
        if isinstance(atom, Constant):
            return atom.value
        if isinstance(atom, GlobalReference):
            return getattr(atom.cell, "value", None)
        assert isinstance(atom, Variable)
        if atom in self.again:
            return self.again[atom]
        name = self.emission.locals.get(atom)
        if name is not None and name in self.locals:
            return self.locals[name]
        closure = self.locals["self"]
        if atom in self.emission.code.environment:
            return closure[self.emission.code.environment.index(atom) + 1]
        for member, lambda_ in self.emission.code.group:
            if member is atom:
                return (self.machine.code_of(lambda_, self.emission.code.family), *closure[1:])
        return None

    def beginning(self, operations: list[Operation]) -> Beginning | None:
        """The procedure and argument of a line that calls a procedure."""
        if not operations or not isinstance(operations[-1][1], Call):
            return None
        call = operations[-1][1]
        self.do_again(operations, self.machine.entry_rows)
        *first, argument = [self.value(operand) for operand in call.operands]
        for operand in reversed(first):
            argument = (operand, argument)
        return self.value(call.operator), argument

    def do_again(self, operations: list[Operation], names: Iterable[str]) -> None:
        """Repeat the applications of these primitives for their values, which may not have been computed yet."""
        for variable, rhs in operations:
            if isinstance(rhs, Apply) and rhs.primitive.name in names:
                self._one(variable, rhs)

    def error(self, operations: list[Operation]) -> VladError | None:
        for variable, rhs in operations:
            found = self._one(variable, rhs)
            if found is not None:
                return found
        return None

    def _one(self, variable: Variable | None, rhs: object) -> VladError | None:
        match rhs:
            case GlobalReference() if not hasattr(rhs.cell, "value"):
                return unbound_variable(rhs.cell.name, rhs.span)
            case GlobalReference() | Variable() | Constant():
                if variable is not None:
                    self.again[variable] = self.value(rhs)
            case Apply():
                try:
                    result = self.machine.rule(rhs.primitive)(*[self.value(a) for a in rhs.operands])
                except VladError as error:
                    error.span = error.span or rhs.span
                    return error
                except FAULTS:
                    if not rhs.primitive.hidden:
                        raise
                    operands = [self.value(a) for a in rhs.operands]  # programs cannot pass the others
                    wrong = invalid(rhs.primitive.name, "what the system itself gives it", *operands)
                    wrong.span = rhs.span
                    return wrong
                if variable is not None:
                    self.again[variable] = result
            case Call():
                target = self.value(rhs.operator)
                if not is_procedure(target) and target is not None:
                    return not_a_procedure(target, rhs.span)
        return None
