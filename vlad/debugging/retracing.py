"""The tail calls that led to an error: their frames are gone, and nothing is recorded while a program runs.

In: an evaluation that failed.  Out: the places of the last tail calls before the error. Programs are pure, so the
evaluation is run again, observed, to the same error, without its effects (compile/calling/effects.py). If
it writes files, calls Python functions or may change cells, which cannot be skipped, the search fails. Compiled code stays
compiled. This takes as much time as the evaluation, and more: the caller sets a limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from vlad.data.errors import LimitExceeded, VladError
from vlad.debugging.instrumented import Activation, Instrument, Place
from vlad.evaluate.errors.replay import Beginning, Frames
from vlad.evaluate.errors.tail_calls import is_of_library
from vlad.evaluate.limits import Limits
from vlad.session.session import Session

A_MOMENT = 0.3  # seconds of additional delay that is acceptable when an error is shown


@dataclass(frozen=True, slots=True, eq=False)
class Failure:
    """An evaluation that failed: its procedure and argument, and the input it had read."""

    error: VladError
    beginning: Beginning
    words: dict[int, str]


class Recorder(Instrument):
    """Records tail calls only."""

    follows = True


def tail_calls_before(session: Session, failure: Failure, seconds: float | None) -> tuple[Place, ...] | None:
    """The places of the tail calls that led to an error, the latest last; None if the time did not suffice, or the
    evaluation now ends differently.
    """
    if isinstance(failure.error, LimitExceeded):  # whether it is reached depends on speed
        return None
    if session.machine.uses_cells:  # those from before would be changed again
        return None
    found: list[tuple[VladError, tuple[Place, ...]]] = []
    machine = session.machine

    def failed(error: VladError, frames: Frames, beginning: Beginning | None) -> None:
        found.append((error, reached_by(session, frames)))

    now = machine.limits
    limits = Limits(seconds=seconds, memory=now.memory, depth=now.depth)
    with session.limited(limits), recorded(session):
        machine.failed, before = failed, machine.failed
        try:
            session._replayed(*failure.beginning, failure.words)
        except VladError as error:
            if is_same(error, failure.error):
                return next((places for _, places in found if places), ())
        finally:
            machine.failed = before
    return None


@contextmanager
def recorded(session: Session) -> Iterator[None]:
    """A context in which the evaluator records tail calls, and neither changes files nor calls Python functions with effects."""
    machine, calls = session.machine, session._calls
    before = machine.instrument, machine.permit
    machine.instrument, machine.permit, calls.repeats = Recorder(), refused, True
    machine.emit_again()
    try:
        yield
    finally:
        calls.repeats = False
        machine.instrument, machine.permit = before
        machine.emit_again()


def refused(capability: str, what: str) -> None:
    """The machine checks before it changes something outside."""
    raise VladError("not-permitted", f"It is not done again to {what}")


def reached_by(session: Session, frames: Frames) -> tuple[Place, ...]:
    """The tail calls that led to the innermost procedure of the program, or to a procedure of the library that it called; none if
    the evaluation was not observed.
    """
    for frame, _ in reversed(frames):
        activation = frame.f_locals.get("F")
        if isinstance(activation, Activation):
            if activation.before:
                return activation.before
            if not is_of_library(session.machine, activation.code):
                break
    return ()


def is_same(one: VladError, other: VladError) -> bool:
    return (one.code, one.message, one.irritants) == (other.code, other.message, other.irritants)
