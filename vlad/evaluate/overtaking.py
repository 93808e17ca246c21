"""Where an evaluation may be abandoned, to compute its result in another way.

In: the current frame of the evaluating thread, between two steps.  Out: whether that is a step of emitted code itself, and if
not, which call it is inside. Called by preemption.py.

At such a step only the evaluation is incomplete. Any other code may have to run to its end: a signal handler, a
finaliser, Python's import, a function of the user's. Any of them may also evaluate: emitted code runs then, but not that of the
evaluation in question (Watch.nesting, in limits.py).
"""

from __future__ import annotations

from types import FrameType

from vlad.evaluate.entries import make_bounce

MOST_FRAMES = 1000  # that are searched: deep data are traversed by nested calls
_EMITTED = ("<vlad>", "<vlad adapter>")
_ENTRIES = make_bounce.__code__.co_filename
_BETWEEN = (
    "bounce",
    "native",
    "entry1",
    "entry2",
    "entry3",
    "entry4",
)  # functions of entries.py, between emitted functions


def is_own_step(frame: FrameType) -> bool:
    """Whether the frame is one of emitted code, or between such frames."""
    code = frame.f_code
    return code.co_filename in _EMITTED or (code.co_filename == _ENTRIES and code.co_name in _BETWEEN)


def called(frame: FrameType | None) -> FrameType | None:
    """The frame that emitted code called, or that interrupted it, and that led to this one, which may be of another
    evaluation; None if it is too far up.
    """
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
