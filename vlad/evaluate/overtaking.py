"""Where an evaluation may be abandoned, so that compiled code repeats it.

In: the current frame of the thread that evaluates.  Out: whether it is a frame of emitted code, and if not, the frame whose end
to wait for. Called by preemption.py.

In a frame of emitted code only the evaluation is incomplete. Any other frame may belong to code that has to complete: the handler
of a signal, a finalizer, Python's import, a function of the user. Such code may evaluate, too; then the frame is one of emitted
code, but of another evaluation (Watch.nesting, in limits.py).
"""

from __future__ import annotations

from types import FrameType

from vlad.evaluate.emit_python import is_emitted
from vlad.evaluate.entries import make_bounce

MOST_FRAMES = 1000  # to search: deeply nested data are walked by recursive calls
_ENTRIES = make_bounce.__globals__
_BETWEEN = (
    "bounce",
    "native",
    "entry1",
    "entry2",
    "entry3",
    "entry4",
)  # functions of entries.py, between emitted functions


def is_own_step(frame: FrameType) -> bool:
    """Is the frame one of emitted code, or of a function between such frames?"""
    return is_emitted(frame) or (frame.f_globals is _ENTRIES and frame.f_code.co_name in _BETWEEN)


def called(frame: FrameType | None) -> FrameType | None:
    """The outermost frame between this one and the nearest emitted code among its callers, which may be of another evaluation.
    None if none is within MOST_FRAMES."""
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
