"""Asynchronous exceptions: one thread raises an exception in another, and code that must not be interrupted is protected.

In: a thread and an exception.  Out: nothing; the exception is raised at the thread's next bytecode. Called where a limit is
reached, where an evaluation has to end, and where compiled code takes over.

The next bytecode may be the first one of a signal handler or of a finalizer, and then the exception is lost there. A caller that
can wait uses `ask`: the main thread reports its current frame, and the exception is raised only in a frame that the caller
accepts.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from itertools import compress
from operator import call, methodcaller, not_
from threading import get_ident
from types import FrameType
from typing import Any

Kind = type[BaseException]

_raising = threading.RLock()
_deaf: dict[int, Kind | None] = {}  # threads that are told nothing, and what they are to be told after that


def raise_in(thread: int, kind: Kind | None) -> None:
    """Raise an exception in another thread, at its next bytecode. With None, called from the thread itself: raise now what is
    pending. Nothing is raised in a thread that runs Python's import or a weak reference's callback; the caller has to repeat the
    call as long as it matters."""
    # When the main thread gets the interpreter's lock, it first runs the handlers of pending signals. An exception raised in the
    # first bytecode of a handler is lost. So the lock is released before the exception is set, and again at once.
    time.sleep(0)
    with _raising:
        if thread in _deaf:
            _deaf[thread] = kind
        elif kind is None:
            _arrive()
        else:
            _set(thread, kind)
    time.sleep(0)


# Python's import is written in Python and takes locks. Interrupted just after it took a lock, or just before it releases one, it
# keeps the lock, and the process cannot import anything again. While it asks for a file it is far enough from both. (Python 3.13
# may run on for a while before it raises, so finders written by others are too near to the release.)
_IMPORTS = (
    r"(?!'<frozen importlib\._bootstrap_external>', line \d+, code _path_stat>)"
    r"('<frozen importlib\._bootstrap(_external)?>|.* code _?find_spec>$)"
)
# An exception in the callback of a weak reference has no caller: Python writes it to the terminal and goes on.
_REMOVALS = r"'[^']*weakref(set)?\.py', line \d+, code _?remove>"


@cache
def _not_told() -> re.Pattern[str]:
    """Compiled when something is first raised in another thread, for that takes a millisecond."""
    return re.compile(rf"<frame at \w+, file ({_IMPORTS}|{_REMOVALS})")


def _set(thread: int, kind: Kind) -> None:
    import ctypes  # 3 ms, only where a limit is reached or a tier is changed

    # (It takes back what was told, too. But then Python 3.11 looks again at each step whether there is something, until something
    # else is told; and goes no further, where somebody traces it: a debugger that came after a limit was reached hung.)
    tell, is_deaf = ctypes.pythonapi.PyThreadState_SetAsyncExc, _not_told().match
    # Looking where it is and telling it are one call of C, for between two steps of Python the other may go on into an import.
    frames = filter(None, map(methodcaller("get", thread), map(call, [sys._current_frames])))
    deaf = map(is_deaf, map("{0} {0.f_back}".format, frames))
    list(map(tell, compress([ctypes.c_ulong(thread)], map(not_, deaf)), [ctypes.py_object(kind)]))


def undisturbed(act: Callable[[], object]) -> None:
    """Do something short without being told anything meanwhile. What is on its way comes before, or after."""
    me = get_ident()
    if me in _deaf:
        act()
        return
    try:
        with _raising:
            _deaf[me] = None
        _arrive()
        act()
    finally:
        with _raising:
            missed = _deaf.pop(me, None)
            if missed is not None:
                _set(me, missed)


def _arrive() -> None:
    """A call: where Python looks whether something is to be raised."""


# Asking. Whether a signal has come, whose handler is what a thread does next, nobody can see from outside. But between two steps
# Python's main thread, which runs all handlers, calls what was left for it: functions of C, and what they raise is raised there.
# Whether an object is true is such a function, and the object may have it said in Python.

Question = Callable[[FrameType], object]
_questions: list[Question] = []
_asked = False  # is the main thread about to look at them? Where somebody traces it, Python 3.11 hangs if it is asked once more


def ask(question: Question) -> None:
    """Have the main thread call this between its next two steps, with the frame in which it is; what it raises is raised there.
    It is called again when anybody asks, and when a frame ends that was named to `ask_after`; until `ask_no_more`."""
    global _asked
    if question not in _questions:
        _questions.append(question)
    if not _asked:
        _asked = True
        if _prod()() != 0:  # too many wait there; to be said again, as long as it matters
            _asked = False


def ask_after(frame: FrameType) -> None:
    """From a question: ask again as soon as a frame has ended, the one that was handed over or one around it. Not where a
    debugger goes through it: for its use a frame keeps something, and lets go of it when it ends."""
    if frame.f_trace is None:
        frame.f_trace = _at_the_end()()


def ask_no_more(question: Question) -> None:
    """From here on it is not called."""
    global _asked
    with suppress(ValueError):
        _questions.remove(question)
    if not _questions:
        _asked = False  # else for ever, if something was raised before it was looked at


class _Answer:
    def __bool__(self) -> bool:
        global _asked
        try:
            for question in list(_questions):
                question(sys._getframe(1))
        except (RecursionError, MemoryError, SystemError):
            pass  # where there is no room for that, nothing is raised
        finally:
            _asked = False
        return False


_ANSWER = _Answer()


@cache
def _prod() -> Callable[[], int]:
    """What has the main thread ask whether `_ANSWER` is true."""
    import ctypes

    python = ctypes.pythonapi
    leave = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.py_object)(("Py_AddPendingCall", python))
    return partial(leave, ctypes.cast(python.PyObject_IsTrue, ctypes.c_void_p), _ANSWER)


@cache
def _at_the_end() -> Callable[[], Any]:
    """What makes objects that prod when they go: without a step of Python's, so that the next one is of who called the frame."""

    class Going:
        __slots__ = ()
        __del__ = staticmethod(_prod())

        def __call__(self, *_: object) -> Going:
            """For a debugger that comes while it is there, and takes it for its own."""
            return self

    return Going


def started(thread: threading.Thread) -> threading.Thread:
    """A thread that is started by one that may be told something. (Until it runs, it bears the number of that one in Python 3.11,
    and is told in its place; who waits for its beginning would then wait for ever.)"""
    try:
        undisturbed(thread.start)
    except (
        RuntimeError
    ) as error:  # Python says no more than that; it is memory, or addresses, for its stack that are missing
        raise MemoryError(str(error)) from None
    return thread


def _alone() -> None:
    """In a process that was forked: the other threads are not there, and a new one may bear the number of one of them."""
    global _raising, _asked
    _raising = threading.RLock()
    me = get_ident()
    for thread in [thread for thread in _deaf if thread != me]:
        del _deaf[thread]
    _questions.clear()
    _asked = False


os.register_at_fork(after_in_child=_alone)
