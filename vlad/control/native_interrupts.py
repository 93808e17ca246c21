"""Ctrl-C while compiled code runs.

In: a function that stops a call in C (`vlad_stop`, in runtime.c).  Out: a context in which SIGINT calls it. Used around calls of
compiled code, by variant_runner.py, fast_call.py and c_extension.c.

Python runs a handler only when the call has returned. But its handler in C writes the number of the signal to a file descriptor
at once (signal.set_wakeup_fd); a thread reads that, and stops the calls. A descriptor that was set before, such as that of an
event loop, gets the numbers too.
"""

from __future__ import annotations

import contextlib
import os
import threading

# importing `signal` takes 3 ms
from _signal import SIGINT, set_wakeup_fd  # type: ignore[import-not-found]
from collections.abc import Callable
from functools import partial

from vlad.control.async_exceptions import masked


class Interruptible:
    """A context in which Ctrl-C stops compiled code, in the main thread; elsewhere it does nothing, for Python delivers
    signals to the main thread only."""

    # c_extension.c reads these four, and implements `__enter__` and `__exit__` again
    _wake = staticmethod(partial(set_wakeup_fd, warn_on_full_buffer=False))
    _main: int | None = threading.main_thread().ident
    _writer: int | None = None
    # of each call in progress: its stop function, and the descriptor that was set before
    _stops: list[tuple[Callable[[], object], int]] = []
    _reader: int | None = None

    def __init__(self, stop: Callable[[], object] | None) -> None:
        self.stop = stop
        self._old: int | None = None

    def __enter__(self) -> None:
        if self.stop is None or threading.current_thread() is not threading.main_thread():
            return
        if Interruptible._reader is None:
            masked(self._open)
        assert Interruptible._writer is not None
        self._old = Interruptible._wake(Interruptible._writer)
        Interruptible._stops.append((self.stop, self._old))

    def __exit__(self, *error: object) -> None:
        if self._old is not None:
            Interruptible._stops.pop()
            Interruptible._wake(self._old)

    @classmethod
    def after_fork(cls) -> None:
        """In the child: the pipe and the thread that reads it belong to the parent."""
        cls._main = threading.main_thread().ident
        if cls._reader is None or cls._writer is None:
            return
        os.close(cls._reader)
        os.close(cls._writer)
        cls._reader = cls._writer = None
        if cls._stops:
            cls._open()
            assert cls._writer is not None
            cls._wake(cls._writer)

    @classmethod
    def _open(cls) -> None:
        cls._reader, cls._writer = os.pipe()
        os.set_blocking(cls._writer, False)

        def watch(reader: int) -> None:
            while True:
                numbers = os.read(reader, 64)
                stops = list(cls._stops)
                if stops and stops[0][1] >= 0:
                    with contextlib.suppress(OSError):  # it was closed, or is full
                        os.write(stops[0][1], numbers)
                if SIGINT in numbers:
                    for stop, _ in stops:
                        stop()

        threading.Thread(target=watch, args=(cls._reader,), daemon=True, name="vlad-interrupt").start()


os.register_at_fork(after_in_child=Interruptible.after_fork)
