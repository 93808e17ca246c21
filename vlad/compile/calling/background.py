"""The thread that works beside the evaluation, one for all sessions of a process: it looks after calls that take long.

In: jobs, each from the thread whose call it is.  Out: nothing; what is to be done with a job is its own `look`, which answers
after how many seconds to look again, or None for never. Called by policy.py.

While it works, threads take shorter turns at Python's lock. Whoever evaluates with arrays gives the lock away at each operation
that is worth it, and has to wait for it a whole turn; with Python's own, of 5 ms, a training loop came to a third of its speed
while it was analysed, and to half of it with these. Then the work pauses, too (gil_yield.py).
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import Any, Protocol

from vlad.control.async_exceptions import raise_in, undisturbed
from vlad.control.gil_yield import begin, end

TURN = 0.0005  # seconds for which a thread that wants to go on waits for another one, at most, while there is work here


class Abandoned(BaseException):
    """Raised in the thread that works for a job which nobody wants any longer."""


class Job(Protocol):
    tiers: Any  # whose call it is
    thread: int
    due: float  # when to look next, by time.monotonic()

    def look(self) -> float | None: ...


class Beside:
    def __init__(self) -> None:
        self._lock = threading.RLock()  # Python's own: nothing comes between its being taken and given back
        self._changed = threading.Condition(self._lock)
        self._jobs: set[Job] = set()
        self._at_work: Job | None = None
        self._thread: threading.Thread | None = None
        self._usual_turn: float | None = None  # while turns are shorter

    def add(self, job: Job) -> None:
        with self._lock:
            self._jobs.add(job)
            if self._thread is None:
                undisturbed(self._start)
            self._changed.notify()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._work, daemon=True, name="vlad-compiler")
        self._thread.start()

    def remove(self, job: Job) -> None:
        with self._lock:
            self._jobs.discard(job)

    def abandon(self, job: Job) -> None:
        """Nobody wants what is done for a job any longer: it ends now, whatever it is."""
        with self._lock:
            self._jobs.discard(job)
            if self._at_work is job and self._thread is not None and self._thread.ident is not None:
                raise_in(self._thread.ident, Abandoned)

    def rest(self, tiers: Any = None, seconds: float | None = None) -> bool:
        """Wait until nothing is done for a call that has ended (of a session); False where that takes longer."""
        with self._lock:
            return self._changed.wait_for(lambda: not self._is_belated(tiers), seconds)

    def _is_belated(self, tiers: Any) -> bool:
        job = self._at_work
        return job is not None and job not in self._jobs and tiers in (None, job.tiers)

    def thread(self, tiers: Any) -> int | None:
        """The thread that works here, while it is at work for a session."""
        with self._lock:
            at_work, thread = self._at_work, self._thread
            return (
                thread.ident
                if at_work is not None and at_work.tiers is tiers and thread is not None
                else None
            )

    def alone(self) -> None:
        """In a process that was forked: the other threads are not there, nor is the one that works here."""
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._jobs = {job for job in self._jobs if job.thread == threading.get_ident()}
        self._at_work = self._thread = None
        self._take_usual_turns()
        if self._jobs:
            self.add(next(iter(self._jobs)))

    def _work(self) -> None:
        while True:
            with contextlib.suppress(Abandoned):  # it may come when its job is done
                while True:
                    self._finished()
                    self._look_at(self._next())

    def _finished(self) -> None:
        self._take_usual_turns()
        end()
        with self._lock:
            self._at_work = None
            self._changed.notify_all()

    def _next(self) -> Job:
        """The job whose turn comes next, once it has come."""
        with self._lock:
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

    def _take_short_turns(self) -> None:
        self._usual_turn = sys.getswitchinterval()
        sys.setswitchinterval(min(TURN, self._usual_turn))

    def _take_usual_turns(self) -> None:
        """In this order, for it may be cut short anywhere, and is done again then."""
        if self._usual_turn is not None:
            sys.setswitchinterval(self._usual_turn)
            self._usual_turn = None

    def _look_at(self, job: Job) -> None:
        try:
            self._take_short_turns()
            begin()
            pause = job.look()
        except Exception:  # told, and the next job is looked after
            pause = None
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
        if pause is None:
            self.remove(job)
        else:
            job.due = time.monotonic() + pause


BESIDE = Beside()
os.register_at_fork(after_in_child=BESIDE.alone)
