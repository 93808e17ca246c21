"""The thread that works beside the evaluation, one for all sessions of a process: it looks after calls that take long.

In: jobs, each from the thread whose call it is.  Out: nothing; what is to be done with a job is its own `look`, which answers
after how many seconds to look again, or None for never. Called by tiers.py.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import Protocol

from vlad.evaluate.limits import raise_in


class Abandoned(BaseException):
    """Raised in the thread that works for a job which nobody wants any longer."""


class Job(Protocol):
    due: float  # when to look next, by time.monotonic()

    def look(self) -> float | None: ...


class Beside:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._jobs: set[Job] = set()
        self._at_work: Job | None = None
        self._thread: threading.Thread | None = None
        self._process = 0

    def add(self, job: Job) -> None:
        with self._changed:
            self._jobs.add(job)
            if self._thread is None or self._process != os.getpid():  # threads do not survive a fork
                self._thread = threading.Thread(target=self._work, daemon=True, name="vlad-compiler")
                self._process = os.getpid()
                self._thread.start()
            self._changed.notify()

    def remove(self, job: Job) -> None:
        with self._changed:
            self._jobs.discard(job)

    def abandon(self, job: Job) -> None:
        """Nobody wants what is done for a job any longer: it ends now, whatever it is."""
        with self._changed:
            self._jobs.discard(job)
            if self._at_work is job and self._thread is not None and self._thread.ident is not None:
                raise_in(self._thread.ident, Abandoned)

    def rest(self) -> None:
        """Wait until nothing is done for a call that has ended."""
        with self._changed:
            while self._at_work is not None and self._at_work not in self._jobs:
                self._changed.wait()

    def _work(self) -> None:
        while True:
            with contextlib.suppress(Abandoned):  # it may come when its job is done
                while True:
                    self._finished()
                    self._look_at(self._next())

    def _finished(self) -> None:
        with self._changed:
            self._at_work = None
            self._changed.notify_all()

    def _next(self) -> Job:
        """The job whose turn comes next, once it has come."""
        with self._changed:
            while True:
                job = min(self._jobs, key=lambda job: job.due, default=None)
                if job is None:
                    self._changed.wait()
                    continue
                remaining = job.due - time.monotonic()
                if remaining <= 0:
                    self._at_work = job
                    return job
                del job  # while we wait, nobody is kept
                self._changed.wait(remaining)

    def _look_at(self, job: Job) -> None:
        try:
            pause = job.look()
        except Exception:  # told, and the next job is looked after
            pause = None
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
        if pause is None:
            self.remove(job)
        else:
            job.due = time.monotonic() + pause


BESIDE = Beside()
