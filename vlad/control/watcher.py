"""One thread that looks at all that is watched in a process, such as evaluations whose time is limited.

In: objects with a `look`, and when to look at them first.  Out: nothing; the thread calls `look` again and again, until the
object is withdrawn. To start a thread for each evaluation took ten times as long as a short evaluation; so the thread outlives
what it watches, for a second.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from threading import get_ident
from typing import Protocol

from vlad.control.async_exceptions import start_thread

LINGER_SECONDS = 1.0  # that the thread outlives what it watched last
LOOK_SECONDS = 0.02  # between two looks, at most


class Watched(Protocol):
    def look(self, now: float) -> float:
        """Called by the watching thread with time.monotonic(); returns when to look again."""


class Watcher:
    def __init__(self) -> None:
        self._watched: dict[int, tuple[int, Watched]] = {}  # with the thread that has it watched
        self._thread: threading.Thread | None = None
        self._next = 0.0  # when the thread looks next
        self._sooner = threading.Event()  # set: it is to look now
        # Re-entrant: a signal handler may watch something, in the same thread, and finds a consistent state
        self._lock = threading.RLock()

    def watch(self, watched: Watched, first: float) -> None:
        """Look at it for the first time at `first`, or earlier. Raises MemoryError if no thread can be started. If this raises
        anything, the caller withdraws it."""
        self._watched[id(watched)] = get_ident(), watched
        with self._lock:
            if self._thread is None:
                self._next = 0.0
                thread = threading.Thread(target=self._run, daemon=True, name="vlad-watcher")
                self._thread = thread
                try:
                    start_thread(thread)
                except BaseException:  # interrupts, too: the next one to be watched starts a thread
                    self._thread = None
                    raise
            elif first < self._next:
                self._sooner.set()

    def withdraw(self, watched: Watched) -> None:
        """Look at it no more. A look that has begun may go on."""
        self._watched.pop(id(watched), None)

    def _run(self) -> None:
        last = time.monotonic()  # when something was watched
        while True:
            now = time.monotonic()
            looked = dict(self._watched)
            if looked:
                last = now
            following = now + LOOK_SECONDS
            for _, watched in looked.values():
                # what is watched may have taken all memory, or all of the process's files
                with suppress(MemoryError, OSError):
                    following = min(following, watched.look(now))
            with self._lock:
                if not self._watched and now - last >= LINGER_SECONDS:
                    if self._thread is threading.current_thread():
                        self._thread = None
                    return
                self._sooner.clear()
                if not looked.keys() >= set(self._watched):
                    following = now
                self._next = following
            self._sooner.wait(max(0.0, following - time.monotonic()))

    def after_fork(self) -> None:
        """In the child, which has one thread: what that has watched is watched on."""
        self._lock, self._sooner, self._thread = threading.RLock(), threading.Event(), None
        own = [watched for thread, watched in self._watched.values() if thread == get_ident()]
        self._watched.clear()
        for watched in own:
            self.watch(watched, 0.0)
