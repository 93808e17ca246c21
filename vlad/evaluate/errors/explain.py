"""The meaning and place of an error in emitted code: Python's exception → the language's error.

In: an exception that left emitted code.  Out: a VladError with position and backtrace.  Called by machine.py at the border of an
evaluation only: checks cost nothing while no error occurs.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING

from vlad.control import debug
from vlad.control.budget import NoRoom, NoTime
from vlad.core.nodes import Apply, Binding, Body, Call, GlobalReference, If, Variable
from vlad.data.devices import is_failure
from vlad.data.errors import Thrown, VladError
from vlad.data.source import Span, in_library, is_internal, is_ours
from vlad.data.tensors import NoCondition
from vlad.data.values import Backtrace, Boolean, Code, Role, String, Value, look
from vlad.data.write import structure_of_python, written_in_message
from vlad.evaluate.emit_python import Emission, Operation
from vlad.evaluate.errors.continuations import calls_around, continuation_in
from vlad.evaluate.errors.miscounted import Counted, miscounted
from vlad.evaluate.errors.replay import (
    FAULTS,
    Beginning,
    FrameCopy,
    Frames,
    ReadFrame,
    Replay,
    emission_of,
    emitted_frames,
    span_of,
)
from vlad.evaluate.errors.tail_calls import Arrival, lost_call
from vlad.evaluate.limits import out_of_memory, out_of_time, too_deep
from vlad.expand.arity import no_pair

if TYPE_CHECKING:
    from vlad.evaluate.code_machine import CodeMachine

LONGEST_BACKTRACE = 12


def explained(machine: CodeMachine, error: Exception, beginning: Beginning | None = None) -> VladError:
    """The error of the language for a Python exception in emitted code."""
    frames = emitted_frames(error.__traceback__)
    if isinstance(error, VladError):
        found = _of_rule(machine, error, frames)
    elif isinstance(error, RecursionError):
        found = too_deep()
    elif isinstance(
        error, MemoryError | SystemError
    ):  # SystemError: Python 3.11, if a frame cannot be allocated
        found = out_of_memory(machine.limits.memory if isinstance(error, NoRoom) else None)
    elif isinstance(error, NoTime):
        found = out_of_time(machine.limits.seconds, "would take")
    elif is_failure(error):
        found = VladError("device-failed", f"The device cuda failed: {type(error).__name__}: {error}")
    else:
        found = _meaning(machine, error, frames)
    counted = miscounted(machine, found, frames, beginning) or Counted(found, frames)
    error.__traceback__ = None
    return placed(machine, counted, beginning)


def caught(machine: CodeMachine, error: Exception, beginning: Beginning) -> VladError:
    """As `explained`, of an error that a guard takes. For the place of what the program raised, which is rarely asked for, the
    frames are copied: as such they would hold the guard's, and so this error, in a cycle.
    """
    if not isinstance(error, Thrown) or error.held is None:
        return explained(machine, error, beginning)
    copies: Frames = [(FrameCopy(frame), line) for frame, line in emitted_frames(error.__traceback__)]
    error.__traceback__ = None
    # of the error that is its argument: a reference to this one would be a cycle
    error.find_place = lambda found: placed(machine, Counted(found, copies), beginning)
    return error


def located(found: VladError, error: BaseException) -> VladError:
    """Add the position and the backtrace to an error from outside."""
    counted = Counted(found, emitted_frames(error.__traceback__))
    error.__traceback__ = None
    return placed(None, counted, None)


def placed(machine: CodeMachine | None, counted: Counted, beginning: Beginning | None) -> VladError:
    """The error, with its place in the user's text, if any, and the backtrace."""
    found, arrival = counted.error, counted.arrival
    if machine is not None:
        _add_calls(machine, found, counted.continuation)
    for frame, line in reversed(counted.frames):
        emission = emission_of(frame)
        if emission is None:
            continue
        operations = emission.sites.get(line, [])
        if machine is not None:
            found.rows += _row_of(machine, emission, frame, line)
        if arrival is not None and machine is not None and _needs_place(found):
            _add_lost_call(
                machine, found, Replay(machine, emission, frame.f_locals).beginning(operations), arrival
            )
        span = span_of(operations)
        if arrival is None and any(getattr(rhs, "span", None) == found.span for _, rhs in operations):
            span = found.span or span  # of several operations in the innermost line, the one that failed
        if span is not None and (found.span is None or (in_library(found.span) and not in_library(span))):
            if machine is not None and isinstance(found, Thrown) and not in_library(span):
                _add_given(Replay(machine, emission, frame.f_locals), found, operations)
            found.span = span
        _extend(found, emission.code, span)
        if machine is not None:
            _add_calls(machine, found, continuation_in(machine, frame))
        arrival = Arrival(emission.code)
    if arrival is not None and machine is not None and _needs_place(found):
        _add_lost_call(machine, found, beginning, arrival)
    if counted.otherwise is not None and _needs_place(found):
        found.span = found.entered = counted.otherwise
    found.__traceback__ = None
    return found


def _add_given(replay: Replay, found: VladError, operations: list[Operation]) -> None:
    """For an exception that an operation of a translated Python function raised, the numbers and texts that this was given, other
    than those that stand in the text."""
    for _, rhs in operations:
        if not isinstance(rhs, Call) or not isinstance(rhs.operator, GlobalReference) or found.irritants:
            continue
        if is_internal(rhs.operator.cell.name):
            values = [look(replay.value(one)) for one in rhs.operands if isinstance(one, Variable)]
            found.irritants = [written_in_message(one, 200) for one in values if _is_simple(one)]


def _is_simple(value: Value) -> bool:
    return isinstance(value, float | String | Boolean) or structure_of_python(value) is not None


def _add_calls(machine: CodeMachine, found: VladError, k: Value) -> None:
    """Add the calls in a continuation, as if each had a frame."""
    for code, span in calls_around(machine, k):
        if span is not None and _needs_place(found) and not in_library(span):
            found.span = span
        _extend(found, code, span)


def _row_of(machine: CodeMachine, emission: Emission, frame: ReadFrame, line: int) -> tuple[int, ...]:
    """The row of a batch that a frame is about, if any."""
    for at, operations in emission.sites.items():
        for _, rhs in operations:
            if at <= line and isinstance(rhs, Apply) and rhs.primitive is machine.table.get("row-number"):
                number = Replay(machine, emission, frame.f_locals).value(rhs.operands[0])
                return (int(number),) if type(number) is float else ()
    return ()


def _needs_place(found: VladError) -> bool:
    return found.span is None or in_library(found.span)


def _add_lost_call(
    machine: CodeMachine, found: VladError, beginning: Beginning | None, arrival: Arrival
) -> None:
    """Add the place of the tail call by which one frame was replaced by another."""
    lost = None if beginning is None else lost_call(machine, *beginning, arrival)
    if lost is not None:
        code, found.span = lost
        _extend(found, code, found.span)


def _meaning(machine: CodeMachine, error: Exception, frames: Frames) -> VladError:
    if not frames:
        raise error
    if isinstance(error, FAULTS) and _is_of_host(machine, error.__traceback__):
        raise error
    frame, line = frames[-1]
    emission = emission_of(frame)
    if emission is None:  # an adapter
        return no_pair()
    if isinstance(error, NoCondition):
        return VladError(
            "not-a-condition",
            "A tensor of booleans is no condition",
            hint="choose entry by entry with `where`, or test one number, such as a `sum`",
        )
    try:
        found = Replay(machine, emission, frame.f_locals).error(emission.sites.get(line, []))
    except FAULTS as again:
        return _fault(again)
    return _fault(error) if found is None else found


def _of_rule(machine: CodeMachine, error: VladError, frames: Frames) -> VladError:
    """An error raised by a primitive's own rule, with its place, if the line has only one application of that primitive."""
    emission = emission_of(frames[-1][0]) if frames else None
    if emission is None or type(error) is not VladError or error.span is not None:
        return error
    frame, line = frames[-1]
    named = [
        rhs
        for _, rhs in emission.sites.get(line, [])
        if isinstance(rhs, Apply) and rhs.span is not None and rhs.primitive.name == error.name
    ]
    if len({rhs.span for rhs in named}) == 1:
        error.span = named[0].span
    elif named:
        error.span = _place_of(machine, error, emission, frame, line)
    if "forward" in emission.code.transforms:
        return _of_primal(machine, error, emission, Replay(machine, emission, frame.f_locals), named)
    return error


def _place_of(
    machine: CodeMachine, error: VladError, emission: Emission, frame: ReadFrame, line: int
) -> Span | None:
    """Which of several operations on a line rejected its operand: the first that raises the same message again."""
    try:
        found = Replay(machine, emission, frame.f_locals).error(emission.sites.get(line, []))
    except FAULTS:
        return None
    same = found is not None and (found.message, found.irritants) == (error.message, error.irritants)
    return found.span if found is not None and same else None


def _of_primal(
    machine: CodeMachine, error: VladError, emission: Emission, replay: Replay, named: Iterable[Apply]
) -> VladError:
    """In forward code a tangent may be computed before the primal, and fail for the same reason. The error is
    about the primal.
    """
    for failed in named:
        before = _before(machine.core_of(emission.code).body, failed) or {}
        for variable, applied in reversed(before.items()):
            if _is_tangent_of(failed, applied):
                replay.make(variable, before)
                found = replay.failed
                return found if found is not None and found.message == error.message else error
    return error


def _is_tangent_of(tangent: Apply, primal: Apply) -> bool:
    """Whether one application is the other with one operand replaced by its tangent."""
    if tangent.primitive is not primal.primitive or tangent.span != primal.span:
        return False
    pairs = zip(tangent.operands, primal.operands, strict=True)
    return [one is other for one, other in pairs].count(False) == 1


def _before(body: Body, place: Apply) -> dict[Variable, Apply] | None:
    """The applications of primitives before a place in the same body; None if it is in another."""
    bodies = [body]
    for one in bodies:
        found: dict[Variable, Apply] = {}
        for binding in one.bindings:
            rhs = binding.rhs if isinstance(binding, Binding) else None
            if rhs is place:
                return found
            if isinstance(rhs, Apply) and isinstance(binding, Binding):
                found[binding.variable] = rhs
            elif isinstance(rhs, If):
                bodies += [rhs.consequent, rhs.alternative]
        if isinstance(one.result, If):
            bodies += [one.result.consequent, one.result.alternative]
    return None


def _is_of_host(machine: CodeMachine, traceback: TracebackType | None) -> bool:
    """Did it come out of the host's functions that a program writes and reads by? What they raise is theirs."""
    hands = (machine.write.__code__, machine.read_word.__code__)
    while traceback is not None:
        if traceback.tb_frame.f_code in hands:
            return True
        traceback = traceback.tb_next
    return False


def _fault(error: Exception) -> VladError:
    """An unexpected exception, as an internal error; with an untrusted saved text (load.py) it may be provoked."""
    if debug.is_on(debug.TRACEBACKS) or not isinstance(error, FAULTS):
        raise error
    what = " ".join(f"{type(error).__name__}: {error}".split())
    found = VladError("internal-error", f"The evaluator failed: {what}", hint="please report it")
    found.__cause__ = error
    return found


def displayed_name(code: Code) -> str:
    """The displayed name of a procedure."""
    return code.derivation + (code.name or "an anonymous procedure")


def _extend(found: VladError, code: Code, span: Span | None) -> None:
    """Add a line for each procedure; repeated calls of one to itself are one line. Those without a name have none."""
    backtrace = found.backtrace
    if code.role is not Role.PROCEDURE:
        return
    if not (code.name or code.derivation):
        if span is not None and not any(one.source is span.source for one in found.began):
            found.began.append(span)
        return
    if len(backtrace) >= LONGEST_BACKTRACE:
        return
    if is_internal(code.name) and (span is None or in_library(span)):
        return
    if span is None and getattr(code.lambda_, "span", None) is None:  # a primitive, which the message names
        return
    if span is not None and is_ours(span):
        return
    name = displayed_name(code)
    if not backtrace or backtrace[-1].procedure != name:
        backtrace.append(Backtrace(name, span, code))
