"""The background compiler: one thread for all sessions of a process, which compiles calls that take long.

In: jobs, each from the thread that makes the call.  Out: nothing; the job's `poll` does the work, and returns the seconds until
the next poll, or None for none. Called by policy.py and variant_compiler.py.

The job of a call that has ended may wait, to be compiled for later calls of its procedure. It belongs to its session: the session
has the queue, which is bounded, and this thread finds it by a weak reference. Jobs of calls in progress come first, then the
hottest procedure that is still called. A job is compiled in the surroundings in which it was asked for.

Most of the work is done by another process (compiling_process.py), for which the thread waits. While it works itself, the
interpreter's switch interval is shorter. An evaluation of arrays releases the lock in each larger operation,
and waits a whole interval to get it back; with Python's default of 5 ms, a training loop ran at a third of its speed while it was
analysed, with this interval at half. After a while, the work pauses as well (gil_yield.py).
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
import weakref
from typing import Any, Protocol

from vlad.control.async_exceptions import masked, raise_in
from vlad.control.gil_yield import begin, end
from vlad.control.surroundings import Surroundings, use

SWITCH_INTERVAL = (
    0.0005  # seconds for which a thread keeps the interpreter's lock while others wait, during work here
)
MOST_WAITING = 8  # procedures of a session that are to be compiled for later calls
STILL_CALLED_SECONDS = 1.0  # since its last call, after which a procedure is not compiled for later ones
HOTTER = 2.0  # times as hot as the procedure at work has to be another one, for which that work ends


class Abandoned(BaseException):
    """Raised in the compiler's thread when the job it works on is no longer needed."""


class Superseded(Exception):
    """The work is of no use any more. `is_made`: is its result in the cache?"""

    def __init__(self, is_made: bool = False) -> None:
        super().__init__()
        self.is_made = is_made


class Owner(Protocol):
    """The part of a session that has jobs (policy.Tiers)."""

    waiting: dict[int, Job]  # for later calls, by the id of the procedure's entry


class Job(Protocol):
    tiers: Any  # the Owner: of the session that makes the call
    entry: Any  # of the procedure

    @property
    def thread(self) -> int: ...

    due: float  # when to poll next, by time.monotonic()
    once: bool  # is its result of no use after the call, except in a later run of the program?
    worth: float  # the seconds that it may save, if they are known
    # in which it was asked for; None: those of the process, while its call is in progress
    surroundings: Surroundings | None

    @property
    def heat(self) -> float:
        """The seconds that calls of its procedure have taken."""

    def is_needed(self) -> bool:
        """For a job that waits: is its procedure to be compiled for later calls still?"""

    def poll(self) -> float | None: ...


class BackgroundCompiler:
    def __init__(self) -> None:
        self._lock = threading.RLock()  # implemented in C, so that no exception interrupts its methods
        self._changed = threading.Condition(self._lock)
        self._jobs: set[Job] = set()  # of calls in progress
        self._owners: list[weakref.ref[Owner]] = []  # of jobs that wait
        self._is_stopped = False
        self._cancelled: Job | None = None  # which was at work when its session ended
        self._at_work: Job | None = None
        self._thread: threading.Thread | None = None
        self._usual_interval: float | None = None  # while another one is set

    def add(self, job: Job) -> None:
        with self._lock:
            if self._is_stopped:
                return
            self._jobs.add(job)
            if self._thread is None or not self._thread.is_alive():
                masked(self._start)
            self._changed.notify_all()  # an exception may have left what looks like a waiting thread

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._work, daemon=True, name="vlad-compiler")
        self._thread.start()

    def remove(self, job: Job) -> None:
        with self._lock:
            self._jobs.discard(job)

    def keep(self, job: Job) -> None:
        """Work on a job, whose call has ended, for later calls of its procedure, unless that is being done."""
        with self._lock:
            self._jobs.discard(job)
            waiting, at_work = job.tiers.waiting, self._at_work
            if at_work is not None and at_work.entry is job.entry:
                return
            key = id(job.entry)
            if key in waiting or self._is_stopped:
                return
            if len(waiting) >= MOST_WAITING:
                coldest = min(waiting, key=lambda key: waiting[key].heat)
                if waiting[coldest].heat >= job.heat:
                    return
                waiting.pop(coldest, None)
            if job.surroundings is None:
                job.surroundings = Surroundings()
            if all(owner() is not job.tiers for owner in self._owners):
                self._owners.append(weakref.ref(job.tiers))
            waiting[key] = job  # last: where this is interrupted, it is repeated
            self._changed.notify_all()  # an exception may have left what looks like a waiting thread

    def cancel(self, tiers: Any) -> None:
        """End all work for a session."""
        with self._lock:
            tiers.waiting.clear()
            self._jobs = {job for job in list(self._jobs) if job.tiers is not tiers}
            job, thread = self._at_work, self._thread
            if job is not None and job.tiers is tiers and thread is not None and thread.ident is not None:
                self._cancelled = job
                raise_in(thread.ident, Abandoned)

    def stop(self) -> None:
        """At the end of the program: begin nothing more."""
        with self._lock:
            self._is_stopped = True
            self._jobs = set()

    def abandon(self, job: Job) -> None:
        """End the work on a job whose result is no longer needed."""
        with self._lock:
            self._jobs.discard(job)
            if self._at_work is job and self._thread is not None and self._thread.ident is not None:
                raise_in(self._thread.ident, Abandoned)

    def expect_needed(self) -> None:
        """In its thread: raise Superseded if no call waits for the result of the work, and a call for other work which promises
        more; Abandoned if the session has ended."""
        with self._lock:
            job, now = self._at_work, time.monotonic()
            if job is None or job in self._jobs:
                return
            if job is self._cancelled:
                raise Abandoned
            due = [other for other in self._jobs if other.due <= now]
            if job.once:
                is_better = any(other.worth >= job.worth for other in due)
            else:
                is_better = any(other.heat > HOTTER * job.heat for other in due)
            if is_better:
                raise Superseded

    def is_awaited(self) -> bool:
        """In its thread: is the result of the work of use to a call in progress, or to a later one?"""
        with self._lock:
            job = self._at_work
            return job is None or not job.once or job in self._jobs

    def wait_until_idle(self, tiers: Any = None, seconds: float | None = None) -> bool:
        """Wait until there is no work for calls that have ended (of one session); False if that takes longer."""
        with self._lock:
            return self._changed.wait_for(lambda: not self._is_belated(tiers), seconds)

    def _is_belated(self, tiers: Any) -> bool:
        job = self._at_work
        waiting = self._waiting() if tiers is None else tiers.waiting
        return bool(waiting) or (job is not None and job not in self._jobs and tiers in (None, job.tiers))

    def thread_compiling_for(self, tiers: Any) -> int | None:
        """The compiler's thread, while it works for a session."""
        with self._lock:
            at_work, thread = self._at_work, self._thread
            return (
                thread.ident
                if at_work is not None and at_work.tiers is tiers and thread is not None
                else None
            )

    def after_fork(self) -> None:
        """In the child: the compiler's thread does not exist, nor do the other threads."""
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._jobs = {job for job in self._jobs if job.thread == threading.get_ident()}
        for owner in map(_referent, self._owners):
            if owner is not None:
                owner.waiting.clear()  # what waits belongs to the parent
        self._owners = []
        self._at_work = self._thread = self._cancelled = None
        self._restore_interval()
        if self._jobs:
            self.add(next(iter(self._jobs)))

    def _work(self) -> None:
        """Abandoned may arrive after the job is done, and another one at the jump back to the beginning of a loop."""
        while True:
            with contextlib.suppress(Abandoned):
                while True:
                    with contextlib.suppress(Abandoned):
                        while True:
                            self._finished()
                            self._poll(self._next())

    def _finished(self) -> None:
        self._restore_interval()
        end()
        use(None)
        with self._lock:
            self._at_work = self._cancelled = None
            self._changed.notify_all()

    def _next(self) -> Job:
        """The job of a call that is due first, once it is due, or else the hottest one that waits."""
        with self._lock:
            while True:
                job = min(list(self._jobs), key=lambda job: job.due, default=None)
                remaining = None if job is None else job.due - time.monotonic()
                if job is None or remaining is None or remaining > 0:
                    job = self._hottest()
                if job is not None:
                    if job.surroundings is None:  # its call is in progress, or it would not be here
                        job.surroundings = Surroundings()
                    self._at_work = job
                    return job
                self._changed.wait(None if remaining is None else min(remaining, threading.TIMEOUT_MAX))

    def _hottest(self) -> Job | None:
        """The job that waits whose procedure is the hottest, which does not wait any longer."""
        while not self._is_stopped:
            found = max(self._waiting(), key=lambda job: job.heat, default=None)
            if found is None:
                break
            found.tiers.waiting.pop(id(found.entry), None)
            if found.is_needed():
                return found
            self._changed.notify_all()
        self._owners = []
        return None

    def _waiting(self) -> list[Job]:
        owners = [owner for owner in map(_referent, self._owners) if owner is not None]
        return [job for owner in owners for job in list(owner.waiting.values())]

    def waiting(self, tiers: Any) -> list[Job]:
        """The jobs of a session that wait, the hottest first."""
        with self._lock:
            return sorted(tiers.waiting.values(), key=lambda job: -job.heat)

    def _shorten_interval(self) -> None:
        self._usual_interval = sys.getswitchinterval()
        sys.setswitchinterval(min(SWITCH_INTERVAL, self._usual_interval))

    def _restore_interval(self) -> None:
        """The order matters: an exception may interrupt this anywhere, and then it runs again."""
        if self._usual_interval is not None:
            sys.setswitchinterval(self._usual_interval)
            self._usual_interval = None

    def _poll(self, job: Job) -> None:
        try:
            self._shorten_interval()
            begin()
            use(job.surroundings)
            pause = job.poll()
        except Exception:  # reported, and the next job continues
            pause = None
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
        if pause is None:
            self.remove(job)
        else:
            job.due = time.monotonic() + pause


def _referent(owner: weakref.ref[Owner]) -> Owner | None:
    return owner()


BACKGROUND = BackgroundCompiler()
atexit.register(BACKGROUND.stop)
os.register_at_fork(after_in_child=BACKGROUND.after_fork)
