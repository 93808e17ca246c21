"""The background compiler: one thread for all sessions of a process, which compiles calls that take long.

In: jobs, each from the thread that makes the call.  Out: nothing; the job's `poll` does the work, and returns the seconds until
the next poll, or None for none. Called by policy.py and variant_compiler.py.

Most of the work is done by another process (compiling_process.py), for which the thread waits. While it works itself, the
interpreter's switch interval is shorter. An evaluation of arrays releases the lock in each larger operation,
and waits a whole interval to get it back; with Python's default of 5 ms, a training loop ran at a third of its speed while it was
analysed, with this interval at half. After a while, the work pauses as well (gil_yield.py).
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import Any, Protocol

from vlad.control.async_exceptions import masked, raise_in
from vlad.control.gil_yield import begin, end

SWITCH_INTERVAL = (
    0.0005  # seconds for which a thread keeps the interpreter's lock while others wait, during work here
)


class Abandoned(BaseException):
    """Raised in the compiler's thread when the job it works on is no longer needed."""


class Superseded(Exception):
    """The work is of no use any more, and other work waits."""


class Job(Protocol):
    tiers: Any  # of the session that makes the call

    @property
    def thread(self) -> int: ...

    due: float  # when to poll next, by time.monotonic()
    once: bool  # is its result of no use after the call, except in a later run of the program?
    worth: float  # the seconds that it may save, if they are known

    def poll(self) -> float | None: ...


class BackgroundCompiler:
    def __init__(self) -> None:
        self._lock = threading.RLock()  # implemented in C, so that no exception interrupts its methods
        self._changed = threading.Condition(self._lock)
        self._jobs: set[Job] = set()
        self._at_work: Job | None = None
        self._thread: threading.Thread | None = None
        self._usual_interval: float | None = None  # while another one is set

    def add(self, job: Job) -> None:
        with self._lock:
            self._jobs.add(job)
            if self._thread is None:
                masked(self._start)
            self._changed.notify()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._work, daemon=True, name="vlad-compiler")
        self._thread.start()

    def remove(self, job: Job) -> None:
        with self._lock:
            self._jobs.discard(job)

    def remove_all(self, tiers: Any) -> None:
        """Remove the jobs of a session that ends."""
        with self._lock:
            self._jobs = {job for job in self._jobs if job.tiers is not tiers}

    def abandon(self, job: Job) -> None:
        """End the work on a job whose result is no longer needed."""
        with self._lock:
            self._jobs.discard(job)
            if self._at_work is job and self._thread is not None and self._thread.ident is not None:
                raise_in(self._thread.ident, Abandoned)

    def expect_needed(self) -> None:
        """In its thread: raise Superseded if the result of the work is of no use any more, and other work waits."""
        with self._lock:
            job, now = self._at_work, time.monotonic()
            if job is not None and job.once and job not in self._jobs:
                waiting = [other.worth for other in self._jobs if other.due <= now]
                if waiting and max(waiting) >= job.worth:
                    raise Superseded

    def wait_until_idle(self, tiers: Any = None, seconds: float | None = None) -> bool:
        """Wait until there is no work for a call that has ended (of one session); False if that takes longer."""
        with self._lock:
            return self._changed.wait_for(lambda: not self._is_belated(tiers), seconds)

    def _is_belated(self, tiers: Any) -> bool:
        job = self._at_work
        return job is not None and job not in self._jobs and tiers in (None, job.tiers)

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
        self._at_work = self._thread = None
        self._restore_interval()
        if self._jobs:
            self.add(next(iter(self._jobs)))

    def _work(self) -> None:
        while True:
            with contextlib.suppress(Abandoned):  # it may arrive after the job is done
                while True:
                    self._finished()
                    self._poll(self._next())

    def _finished(self) -> None:
        self._restore_interval()
        end()
        with self._lock:
            self._at_work = None
            self._changed.notify_all()

    def _next(self) -> Job:
        """The job that is due first, once it is due."""
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
                del job  # so that the wait does not keep it alive
                self._changed.wait(remaining)

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
            pause = job.poll()
        except Exception:  # reported, and the next job continues
            pause = None
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
        if pause is None:
            self.remove(job)
        else:
            job.due = time.monotonic() + pause


BACKGROUND = BackgroundCompiler()
os.register_at_fork(after_in_child=BACKGROUND.after_fork)
