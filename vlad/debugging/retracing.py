"""By which tail calls an error was reached: their frames are gone, and while a program runs nothing is noted.

In: an evaluation that failed.  Out: the places of the last tail calls on the way there. Programs are pure, so the
evaluation is run once more, watched, to the same error; it repeats no effects (compile/calling/effects.py). Where
it writes files or calls Python functions, which has to be done or left, it is given up. What was compiled stays so. All that
costs as much time as the evaluation took, and more: whoever asks sets a limit.
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

A_MOMENT = 0.3  # seconds, that a person who sees an error waits for more


@dataclass(frozen=True, slots=True, eq=False)
class Failure:
    """An evaluation that failed: of which call, and what it had read by then."""

    error: VladError
    beginning: Beginning
    words: dict[int, str]


class Recorder(Instrument):
    """Notes tail calls, and nothing else."""

    follows = True


def tail_calls_before(session: Session, failure: Failure, seconds: float | None) -> tuple[Place, ...] | None:
    """The places of the tail calls that led to an error, the latest last; None where there was no time to find out, or the
    evaluation ends in another way now."""
    if isinstance(failure.error, LimitExceeded):  # where that is reached is a matter of speed
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
    """Inside, the evaluator notes tail calls, and neither changes files nor calls Python functions that may do something."""
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
    """The machine asks before it changes something outside."""
    raise VladError("not-permitted", f"It is not done again to {what}")


def reached_by(session: Session, frames: Frames) -> tuple[Place, ...]:
    """The tail calls by which the innermost procedure of the program was reached, or what it called of the library; none where
    the evaluation was not watched."""
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
