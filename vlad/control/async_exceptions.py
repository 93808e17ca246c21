"""Asynchronous exceptions: one thread raises an exception in another, and code that must not be interrupted masks them.

In: a thread and an exception.  Out: nothing; the exception is raised at the thread's next bytecode. Called where a limit is
reached, where an evaluation has to end, and where compiled code takes over; docs/interruption.md describes these cases.

The next bytecode may be the first one of a signal handler or of a finalizer, and then the exception is lost there. A caller that
can wait uses `probe_main_thread`: a function is called in the main thread with its current frame, and raises the exception only
in a frame that it accepts.

Emitted code does not poll a flag in place of this. Measured on the programs of benchmarks/TIER0.md, a check costs at least 4 % of
a loop of floats wherever it stands, and foreign calls would need asynchronous exceptions even so (docs/interruption.md).
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
_masked: dict[
    int, Kind | None
] = {}  # threads that mask exceptions, and the exception to raise when the mask is lifted


def raise_in(thread: int, kind: Kind | None) -> None:
    """Raise an exception in another thread, at its next bytecode. With None, called from the thread itself: raise now what is
    pending. Nothing is raised in a thread that runs Python's import or a weak reference's callback; the caller has to repeat the
    call until the exception has had its effect."""
    # When the main thread gets the interpreter's lock, it first runs the handlers of pending signals. An exception raised in the
    # first bytecode of a handler is lost. So the lock is released before the exception is set, and again at once.
    time.sleep(0)
    with _raising:
        if thread in _masked:
            _masked[thread] = kind
        elif kind is None:
            _check_point()
        else:
            _set(thread, kind)
    time.sleep(0)


# Python's import is written in Python and takes locks. If it is interrupted just after it took a lock, or just before it releases
# one, the lock stays taken, and the process cannot import anything again. Where it looks up a file, it is far enough from both.
# (Python 3.13 may run on for a while before it raises, so finders of other packages are too near to the release.)
_IMPORTS = (
    r"(?!'<frozen importlib\._bootstrap_external>', line \d+, code _path_stat>)"
    r"('<frozen importlib\._bootstrap(_external)?>|.* code _?find_spec>$)"
)
# An exception in the callback of a weak reference has no caller: Python writes it to standard error and continues.
_REMOVALS = r"'[^']*weakref(set)?\.py', line \d+, code _?remove>"


@cache
def _unsafe_frames() -> re.Pattern[str]:
    """Frames in which nothing is raised. Compiled on first use, for that takes a millisecond."""
    return re.compile(rf"<frame at \w+, file ({_IMPORTS}|{_REMOVALS})")


def _set(thread: int, kind: Kind) -> None:
    import ctypes  # 3 ms, only where a limit is reached or a tier is changed

    # (The same function can withdraw an exception. But then Python 3.11 checks at each bytecode whether one is pending until
    # another is set, and makes no progress while the thread is traced: a debugger started after a limit was reached would hang.)
    set_exception, is_unsafe = ctypes.pythonapi.PyThreadState_SetAsyncExc, _unsafe_frames().match
    # The frame is tested and the exception set in one call of C: between two bytecodes here, the thread may enter an import.
    frames = filter(None, map(methodcaller("get", thread), map(call, [sys._current_frames])))
    unsafe = map(is_unsafe, map("{0} {0.f_back}".format, frames))
    list(map(set_exception, compress([ctypes.c_ulong(thread)], map(not_, unsafe)), [ctypes.py_object(kind)]))


def masked(act: Callable[[], object]) -> None:
    """Call something short with asynchronous exceptions masked: they are raised before or after it. Signals are not masked."""
    me = get_ident()
    if me in _masked:
        act()
        return
    try:
        with _raising:
            _masked[me] = None
        _check_point()
        act()
    finally:
        with _raising:
            missed = _masked.pop(me, None)
            if missed is not None:
                _set(me, missed)


def _check_point() -> None:
    """A call: where Python raises what is pending."""


# Probes. No other thread can determine whether a signal has arrived, whose handler the main thread would run next. But between
# two bytecodes the main thread, which runs all handlers, makes pending calls: functions of C, whose exceptions are raised there.
# PyObject_IsTrue is such a function, and the object's `__bool__` may be written in Python.

Probe = Callable[[FrameType], object]
_probes: list[Probe] = []
_scheduled = False  # is a call pending already? Python 3.11 hangs under a tracer if another one is added


def probe_main_thread(probe: Probe) -> None:
    """Have the main thread call this between its next two bytecodes, with its current frame; its exceptions are raised there. It
    is called again with each request, and when a frame ends that was passed to `probe_after`, until `withdraw_probe`."""
    global _scheduled
    if probe not in _probes:
        _probes.append(probe)
    if not _scheduled:
        _scheduled = True
        if _scheduler()() != 0:  # the queue of pending calls is full: callers repeat the request
            _scheduled = False


def probe_after(frame: FrameType) -> None:
    """From a probe: call the probes again as soon as a frame has ended, the one that was passed or one of its callers. Not where
    a debugger traces the frame. (A frame holds its trace function, and releases it when it ends.)"""
    if frame.f_trace is None:
        frame.f_trace = _frame_end_marker()()


def withdraw_probe(probe: Probe) -> None:
    """Remove a probe; it is not called again."""
    global _scheduled
    with suppress(ValueError):
        _probes.remove(probe)
    if not _probes:
        _scheduled = False  # it would stay set for ever if an exception came before the pending call


class _RunProbes:
    def __bool__(self) -> bool:
        global _scheduled
        try:
            for probe in list(_probes):
                probe(sys._getframe(1))
        except (RecursionError, MemoryError, SystemError):
            pass  # where there is no space for that, nothing is raised
        finally:
            _scheduled = False
        return False


_RUN_PROBES = _RunProbes()


@cache
def _scheduler() -> Callable[[], int]:
    """A function of C that makes the main thread call `bool(_RUN_PROBES)`."""
    import ctypes

    python = ctypes.pythonapi
    add_call = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.py_object)(
        ("Py_AddPendingCall", python)
    )
    return partial(add_call, ctypes.cast(python.PyObject_IsTrue, ctypes.c_void_p), _RUN_PROBES)


@cache
def _frame_end_marker() -> Callable[[], Any]:
    """The type of objects that schedule the probes when they are freed. No bytecode runs for that, so the next one belongs to the
    caller of the frame."""

    class Marker:
        __slots__ = ()
        __del__ = staticmethod(_scheduler())

        def __call__(self, *_: object) -> Marker:
            """For a debugger that starts meanwhile and takes it for a trace function of its own."""
            return self

    return Marker


def start_thread(thread: threading.Thread) -> threading.Thread:
    """Start a thread from one in which exceptions may be raised. (Until it runs, the new thread has the identifier of its creator
    in Python 3.11, and would receive an exception raised in the creator, which would then wait for ever for it to begin.)"""
    try:
        masked(thread.start)
    except (
        RuntimeError
    ) as error:  # Python gives no other reason; memory or addresses are missing for its stack
        raise MemoryError(str(error)) from None
    return thread


def _after_fork() -> None:
    """In the child: the other threads do not exist, and a new one may have the identifier of one of them."""
    global _raising, _scheduled
    _raising = threading.RLock()
    me = get_ident()
    for thread in [thread for thread in _masked if thread != me]:
        del _masked[thread]
    _probes.clear()
    _scheduled = False


os.register_at_fork(after_in_child=_after_fork)
