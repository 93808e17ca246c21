"""Ctrl-C at the prompt: it ends what is going on, and nothing else.

Python raises KeyboardInterrupt wherever the main thread happens to be. Here it is raised only while `run` is at work, so that
what the prompt does between two evaluations is never cut in half, and not twice in short order, so that what tidies up after
the first is not cut either. What is raised in a finalizer, Python drops; it is said again when that has ended.
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
AGAIN = 0.25  # seconds until the next Ctrl-C counts
AFTERWARDS = 0.005  # seconds until one that was dropped is said again


class Interrupts:
    """A context: inside, Ctrl-C reaches only what `run` runs."""

    def __init__(self) -> None:
        self._open = False
        self._early = False  # did one come when an input had just been read?
        self._last = 0.0
        self._before: Any = None  # what signal.signal answers, of a type without a name
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
        """Python tells what was raised where nobody can catch it, such as in a finalizer, and printed it otherwise."""
        if isinstance(dropped.exc_value, KeyboardInterrupt):
            threading.Timer(AFTERWARDS, self._say_again).start()
        else:
            self._usual(dropped)

    def _say_again(self) -> None:
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
        """The answer of `work`. Raises KeyboardInterrupt where Ctrl-C ended it, or came since `expect`."""
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
        """An input was read. From now on Ctrl-C is meant for what it asks for."""
        self._early = False

    def close(self) -> None:
        """Where KeyboardInterrupt arrived in the last moment of `run`."""
        self._open = False
