"""Where an evaluation may be cut short, for its answer to be had in another way.

In: the frame in which the thread that evaluates is, between two steps.  Out: is that a step of emitted code itself, and if not,
what it waits for. Called by preemption.py.

At such a step nothing is half done but the evaluation. Anywhere else may be what is to get to its end: the handler of a signal, a
finalizer, Python's import, a function of the user's. Any of them may also evaluate: emitted code runs then, but not that of the
evaluation in question (Watch.nesting, in limits.py).
"""

from __future__ import annotations

from types import FrameType

from vlad.evaluate.emit_python import is_emitted
from vlad.evaluate.entries import make_bounce

MOST_FRAMES = 1000  # that are looked through: data that nest deep are walked through by calls
_ENTRIES = make_bounce.__globals__
_BETWEEN = (
    "bounce",
    "native",
    "entry1",
    "entry2",
    "entry3",
    "entry4",
)  # of entries.py: from one emitted function to another


def is_own_step(frame: FrameType) -> bool:
    """Is the frame one of emitted code, or between such?"""
    return is_emitted(frame) or (frame.f_globals is _ENTRIES and frame.f_code.co_name in _BETWEEN)


def called(frame: FrameType | None) -> FrameType | None:
    """The frame of what emitted code has called, or was interrupted by, and has led to this one, which may be of another
    evaluation; None where that is far."""
    outermost = None
    for _ in range(MOST_FRAMES):
        if frame is None:
            return None
        if not is_own_step(frame):
            outermost = frame
        elif outermost is not None:
            return outermost
        frame = frame.f_back
    return None
