"""What an error in emitted code means, and where: Python's exception → the language's error.

In: an exception that left emitted code.  Out: a VladError with position and backtrace.  Called by calls.py at the border of an
evaluation, never before: checks cost nothing while nothing is wrong. The line that raised stands for core operations
(emit_python.Emission); doing them again by the rows' complete rules says which one is at fault, and why.
"""

from __future__ import annotations

from types import FrameType, TracebackType
from typing import Any

from vlad.core.nodes import Apply, Call, Constant, GlobalReference, Variable
from vlad.devices import is_failure
from vlad.errors import LimitExceeded, VladError
from vlad.evaluate.emit_python import Emission, Operation
from vlad.evaluate.limits import too_deep
from vlad.source import Span
from vlad.tensors import NoCondition
from vlad.values import Backtrace, Code, Global, Value, is_procedure

LONGEST_BACKTRACE = 12


def explained(machine: Any, error: Exception) -> VladError:
    """The error of the language that a Python exception in emitted code stands for."""
    frames = emitted_frames(error.__traceback__)
    if isinstance(error, VladError):
        found = error
    elif isinstance(error, RecursionError):
        found = too_deep()
    elif isinstance(error, MemoryError):
        found = LimitExceeded("out-of-memory", "The evaluation ran out of memory")
    elif is_failure(error):
        found = VladError("device-failed", f"The device cuda failed: {type(error).__name__}: {error}")
    else:
        found = _meaning(machine, error, frames)
    return located(found, error, frames)


def located(
    found: VladError, error: BaseException, frames: list[tuple[FrameType, int]] | None = None
) -> VladError:
    """Add the position and the backtrace."""
    frames = emitted_frames(error.__traceback__) if frames is None else frames
    for frame, line in reversed(frames):
        emission = emission_of(frame)
        if emission is None:
            continue
        span = _span(emission.sites.get(line, []))
        if span is not None and (found.span is None or (in_library(found.span) and not in_library(span))):
            found.span = span
        if len(found.backtrace) < LONGEST_BACKTRACE:
            _extend(found.backtrace, emission.code, span)
    error.__traceback__ = None
    found.__traceback__ = None
    return found


def _meaning(machine: Any, error: Exception, frames: list[tuple[FrameType, int]]) -> VladError:
    if not frames:
        raise error
    frame, line = frames[-1]
    emission = emission_of(frame)
    if emission is None:
        return _tuple_mismatch(frame)
    if isinstance(error, NoCondition):
        return VladError(
            "not-a-condition",
            "A tensor of booleans is no condition",
            hint="choose entry by entry with `where`, or ask about one number, such as a `sum`",
        )
    found = _Replay(machine, emission, frame).error(emission.sites.get(line, []))
    if found is None:
        raise error
    return found


def _tuple_mismatch(frame: FrameType) -> VladError:
    code: Code = (
        frame.f_locals["native"].__globals__["FAMILY"].emissions[frame.f_locals["native"].__name__].code
    )
    given = int(frame.f_code.co_name[-1:])
    takes = (
        f"{tell(code)} takes {code.arity} arguments" if code.arity > 1 else f"{tell(code)} takes an argument"
    )
    return VladError(
        "no-matching-pair",
        "Argument is not a matching tagged pair with tags ()",
        hint=f"{takes}; it was given {given}",
        irritants=(frame.f_locals[f"x{given - 1}"],) if f"x{given - 1}" in frame.f_locals else (),
    )


def not_a_procedure(value: Value, span: Span | None = None) -> VladError:
    return VladError(
        "not-a-procedure",
        "Target is not a procedure",
        span,
        hint="only procedures can be called",
        irritants=(value,),
    )


def unbound(cell: Global, span: Span | None) -> VladError:
    return VladError("unbound-variable", f"Unbound variable: {cell.name}", span)


def tell(code: Code) -> str:
    """A procedure as people know it."""
    prefix = "" if code.derived in ("tag", "backpropagator") else code.derived
    return prefix + (code.name or "an anonymous procedure")


def emission_of(frame: FrameType) -> Emission | None:
    family = frame.f_globals.get("FAMILY")
    return None if family is None else family.emissions.get(frame.f_code.co_name)


def emitted_frames(traceback: TracebackType | None) -> list[tuple[FrameType, int]]:
    """Frames of emitted code and adapters, outermost first; of a very deep stack the two ends."""
    frames: list[tuple[FrameType, int]] = []
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename in ("<vlad>", "<vlad adapter>"):
            frames.append((traceback.tb_frame, traceback.tb_lineno))
            if len(frames) > 4000:
                del frames[1000:2000]
        traceback = traceback.tb_next
    return frames


def in_library(span: Span) -> bool:
    """People look for the mistake in their own text first."""
    return span.source.name.startswith("stdlib/") or span.source.name == "<core>"


def _span(operations: list[Operation]) -> Span | None:
    for _, rhs in reversed(operations):
        span = getattr(rhs, "span", None)
        if span is not None:
            found: Span = span
            return found
    return None


def _extend(backtrace: list[Backtrace], code: Code, span: Span | None) -> None:
    """A line for each procedure; one that calls itself over and over is told once."""
    if code.derived in ("tag", "backpropagator") or not (code.name or code.derived):
        return
    if code.name.startswith("%"):  # the library's own helpers
        return
    name = tell(code)
    if not backtrace or backtrace[-1].procedure != name:
        backtrace.append(Backtrace(name, span))


class _Replay:
    """Does again, by the rows' complete rules, what a line of emitted code did, until one says what is wrong."""

    def __init__(self, machine: Any, emission: Emission, frame: FrameType) -> None:
        self.machine = machine
        self.emission = emission
        self.locals = frame.f_locals
        self.again: dict[Variable, Value] = {}

    def value(self, atom: object) -> Value:
        if isinstance(atom, Constant):
            return atom.value
        if isinstance(atom, GlobalReference):
            return atom.cell.value
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

    def error(self, operations: list[Operation]) -> VladError | None:
        for variable, rhs in operations:
            found = self._one(variable, rhs)
            if found is not None:
                return found
        return None

    def _one(self, variable: Variable | None, rhs: object) -> VladError | None:
        match rhs:
            case GlobalReference() if not hasattr(rhs.cell, "value"):
                return unbound(rhs.cell, rhs.span)
            case GlobalReference() | Variable() | Constant():
                if variable is not None:
                    self.again[variable] = self.value(rhs)
            case Apply():
                try:
                    result = self.machine.rule(rhs.primitive)(*[self.value(a) for a in rhs.operands])
                except VladError as error:
                    error.span = error.span or rhs.span
                    return error
                if variable is not None:
                    self.again[variable] = result
            case Call():
                target = self.value(rhs.operator)
                if not is_procedure(target) and target is not None:
                    return not_a_procedure(target, rhs.span)
        return None
