"""Ctrl-C at the prompt: it ends the current evaluation only.

Python raises KeyboardInterrupt anywhere in the main thread. Here it is raised only while `run` runs, so that
the prompt's own work between two evaluations is never interrupted, and not twice in quick succession, so that the cleanup after
the first is not interrupted either. Python drops an exception raised in a finaliser; it is raised again afterwards.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")
AGAIN = 0.25  # seconds in which another Ctrl-C is ignored
AFTERWARDS = 0.005  # seconds until a dropped one is raised again


class Interrupts:
    """A context in which Ctrl-C affects only the work of `run`."""

    def __init__(self) -> None:
        self._open = False
        self._early = False  # did one arrive right after an input was read?
        self._last = 0.0
        self._before: Any = None  # the result of signal.signal, whose type has no name
        self._usual: Callable[[Any], object] = sys.unraisablehook

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._arrived)
            self._usual, sys.unraisablehook = sys.unraisablehook, self._dropped
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            sys.unraisablehook = self._usual

    def _dropped(self, dropped: Any) -> None:
        """Called by Python for exceptions that cannot be caught, as in a finaliser, which it prints otherwise."""
        if isinstance(dropped.exc_value, KeyboardInterrupt):
            threading.Timer(AFTERWARDS, self._resend).start()
        else:
            self._usual(dropped)

    def _resend(self) -> None:
        if self._open:
            self._last = 0.0
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        self._early = not self._open
        if self._open and now - self._last >= AGAIN:
            self._last = now
            raise KeyboardInterrupt

    def run(self, work: Callable[[], T]) -> T:
        """The result of `work`. Raises KeyboardInterrupt if Ctrl-C ended it, or arrived since `expect`."""
        try:
            self._last = 0.0
            self._open = True
            if self._early:
                self._early = False
                raise KeyboardInterrupt
            return work()
        finally:
            self._open = False

    def expect(self) -> None:
        """An input was read. From now on Ctrl-C applies to its evaluation."""
        self._early = False

    def close(self) -> None:
        """If KeyboardInterrupt arrived in the last moment of `run`."""
        self._open = False
