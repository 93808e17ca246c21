"""Ctrl-C while machine code runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable


class Interruptible:
    """A context in which Ctrl-C ends compiled code: Python's handler runs only when it returns, so a thread that is woken by
    the signal tells it to."""

    _reader: int | None = None
    _writer: int | None = None
    _stops: list[Callable[[], object]] = []

    def __init__(self, stop: Callable[[], object] | None) -> None:
        self.stop = stop
        self._old: int | None = None

    def __enter__(self) -> None:
        if self.stop is None or threading.current_thread() is not threading.main_thread():
            return
        if Interruptible._reader is None:
            self._open()
        assert Interruptible._writer is not None
        Interruptible._stops.append(self.stop)
        self._old = signal.set_wakeup_fd(Interruptible._writer, warn_on_full_buffer=False)

    def __exit__(self, *error: object) -> None:
        if self._old is not None:
            signal.set_wakeup_fd(self._old)
            Interruptible._stops.pop()

    @classmethod
    def _open(cls) -> None:
        import os

        cls._reader, cls._writer = os.pipe()
        os.set_blocking(cls._writer, False)

        def watch(reader: int) -> None:
            while True:
                if signal.SIGINT in os.read(reader, 64):
                    for stop in list(cls._stops):
                        stop()

        threading.Thread(target=watch, args=(cls._reader,), daemon=True, name="vlad-interrupt").start()
