"""Ctrl-C while machine code runs."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from functools import partial

from vlad.control.async_exceptions import undisturbed


class Interruptible:
    """A context in which Ctrl-C ends compiled code: Python's handler runs only when it returns, so a thread that is woken by
    the signal tells it to."""

    # c_extension.c reads these four, and does the same
    _wake = staticmethod(partial(signal.set_wakeup_fd, warn_on_full_buffer=False))
    _main: int | None = threading.main_thread().ident
    _writer: int | None = None
    # of the calls under way: what ends each, and who was told of signals before
    _stops: list[tuple[Callable[[], object], int]] = []
    _reader: int | None = None

    def __init__(self, stop: Callable[[], object] | None) -> None:
        self.stop = stop
        self._old: int | None = None

    def __enter__(self) -> None:
        if self.stop is None or threading.current_thread() is not threading.main_thread():
            return
        if Interruptible._reader is None:
            undisturbed(self._open)
        assert Interruptible._writer is not None
        self._old = Interruptible._wake(Interruptible._writer)
        Interruptible._stops.append((self.stop, self._old))

    def __exit__(self, *error: object) -> None:
        if self._old is not None:
            Interruptible._stops.pop()
            Interruptible._wake(self._old)

    @classmethod
    def alone(cls) -> None:
        """In a process that was forked: the pipe is the other one's, and so is the thread at its end."""
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
                told = os.read(reader, 64)
                stops = list(cls._stops)
                if stops and stops[0][1] >= 0:
                    with contextlib.suppress(OSError):  # gone, or it knows enough
                        os.write(stops[0][1], told)
                if signal.SIGINT in told:
                    for stop, _ in stops:
                        stop()

        threading.Thread(target=watch, args=(cls._reader,), daemon=True, name="vlad-interrupt").start()


os.register_at_fork(after_in_child=Interruptible.alone)
