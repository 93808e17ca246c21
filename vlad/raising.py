"""Exceptions that one thread raises in another, and what is not to be cut short by them.

In: a thread, and an exception.  Out: nothing; it is raised at the thread's next step. Called where a limit is reached, where an
evaluation is to end, and where compiled code takes over.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable
from itertools import compress
from operator import call, methodcaller, not_
from threading import get_ident

Kind = type[BaseException]

_raising = threading.RLock()
_deaf: dict[int, Kind | None] = {}  # threads that are told nothing, and what they are to be told after that


def raise_in(thread: int, kind: Kind | None) -> None:
    """Raise an exception in another thread, at its next step; None, from that thread itself: what was told and is not raised yet
    is raised now. One that is in the midst of Python's own import, or of what is called as an object goes, is not told: to be
    said again, as long as it matters."""
    # The main thread runs the handlers of signals that have come when it goes on, and would raise this in the first step of one,
    # which would be lost. So it goes on before it is told, if it can, and again at once.
    time.sleep(0)
    with _raising:
        if thread in _deaf:
            _deaf[thread] = kind
        elif kind is None:
            _arrive()
        else:
            _set(thread, kind)
    time.sleep(0)


# Python's import is written in Python, and takes locks: cut short where it just took or is about to give back one, it keeps it,
# and nobody in the process imports anything any more. Where it asks for a file it has more to do before that. (Python 3.13 may
# go on a while after a pause before it tells, so that what others wrote to find modules is too near its end.)
_IMPORTS = (
    r"(?!'<frozen importlib\._bootstrap_external>', line \d+, code _path_stat>)"
    r"('<frozen importlib\._bootstrap(_external)?>|.* code _?find_spec>$)"
)
# What sets of weak references call as an object goes raises to nobody: Python writes it to the terminal and goes on.
_REMOVALS = r"'[^']*weakref(set)?\.py', line \d+, code _?remove>"
_NOT_TOLD = re.compile(rf"<frame at \w+, file ({_IMPORTS}|{_REMOVALS})")


def _set(thread: int, kind: Kind) -> None:
    import ctypes  # 3 ms, only where a limit is reached or a tier is changed

    # (It takes back what was told, too. But then Python 3.11 looks again at each step whether there is something, until something
    # else is told; and goes no further, where somebody traces it: a debugger that came after a limit was reached hung.)
    tell = ctypes.pythonapi.PyThreadState_SetAsyncExc
    # Looking where it is and telling it are one call of C, for between two steps of Python the other may go on into an import.
    frames = filter(None, map(methodcaller("get", thread), map(call, [sys._current_frames])))
    deaf = map(_NOT_TOLD.match, map("{0} {0.f_back}".format, frames))
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


def started(thread: threading.Thread) -> threading.Thread:
    """A thread that is started by one that may be told something. (Until it runs, it bears the number of that one in Python 3.11,
    and is told in its place; who waits for its beginning would then wait for ever.)"""
    undisturbed(thread.start)
    return thread


def _alone() -> None:
    """In a process that was forked: the other threads are not there, and a new one may bear the number of one of them."""
    global _raising
    _raising = threading.RLock()
    me = get_ident()
    for thread in [thread for thread in _deaf if thread != me]:
        del _deaf[thread]


os.register_at_fork(after_in_child=_alone)
