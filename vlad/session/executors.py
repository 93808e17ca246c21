"""Executors, by which calls run in other processes and on other machines.

In: an executor of the user, or a number of processes, and calls of one function.  Out: their results, in the order of the calls.
Called by parallel.py.

Whatever has `submit` is an executor, such as a pool of concurrent.futures or a client of Dask. What has
`map` only, as the pools of multiprocessing, is one, too. `Processes` is our own, of a number of processes on this machine.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from vlad.data.errors import VladError, WrongOption

T = TypeVar("T")

ATTEMPTS = 3  # for the part of a process that has ended
WAITS = 10  # seconds for a scheduler
ORPHANED = 1.0  # seconds between looks of a worker at whether its owner lives
PATIENCE = 0.05  # seconds until a thread that waits notices an exception from another one


def executor_of(given: Any) -> Any:
    """What a user gave as executor, as something that has `submit` or `map`; None for None. A text such as tcp://HOST:8786 is the
    address of a scheduler of Dask. Raises WrongOption, also if there is no scheduler.
    """
    if given is None:
        return None
    if isinstance(given, str) and "://" in given:
        given = _client(given)
    if isinstance(given, int) and not isinstance(given, bool) and given > 0:
        return _processes(given)
    dask = sys.modules.get("distributed")
    if dask is not None and isinstance(given, dask.Client):
        return given.get_executor(pure=False)  # each call counts: Dask would run equal ones once
    if isinstance(given, Processes) or callable(
        getattr(given, "submit", None) or getattr(given, "map", None)
    ):
        return given
    raise WrongOption(
        "invalid-argument", f"The executor is {given!r}",
        hint="a number of processes, the address of a scheduler of Dask, or whatever has `submit`, such as a pool of processes",
    )  # fmt: skip


def ordered(
    executor: Any,
    work: Callable[..., T],
    tasks: Sequence[tuple[Any, ...]],
    progress: Callable[[int], object] | None = None,
    again: Callable[[int, T], tuple[Any, ...] | None] | None = None,
) -> Iterator[T]:
    """The results of `work(*task)`, in the order of the tasks; in this process if the executor is None.

    `progress` is called with the number of finished tasks. `again` gets the number of a task and its result, and returns the
    task to submit in its place, or None; an executor without `submit` cannot do that. A part whose process has ended is
    submitted again, as long as the executor takes any. If the iteration ends early, by an error or Ctrl-C, what has not begun is
    cancelled. Raises what `work` raises, and VladError
    if the executor has lost too many processes.
    """
    if executor is None or not hasattr(executor, "submit"):
        found = (
            (work(*task) for task in tasks)
            if executor is None
            else executor.map(partial(_starred, work), tasks)
        )
        for number, result in enumerate(found):
            yield result
            if progress is not None:
                progress(number + 1)
        return
    yield from _Run(executor, work, list(tasks), progress, again).results()


def _starred(work: Callable[..., T], task: tuple[Any, ...]) -> T:
    return work(*task)


class _Run:
    """Tasks that were submitted to an executor."""

    def __init__(
        self, executor: Any, work: Callable[..., Any], tasks: list[Any], progress: Any, again: Any
    ) -> None:
        self.executor = executor
        self.work = work
        self.tasks = tasks
        self.progress = progress
        self.again = again
        self.futures: dict[int, Future[Any]] = {}
        self.attempts = [0] * len(tasks)
        self.arrived: SimpleQueue[tuple[int, Future[Any]]] = SimpleQueue()

    def results(self) -> Iterator[Any]:
        waiting: dict[int, Any] = {}
        following = finished = 0
        complete = False
        try:
            for number in range(len(self.tasks)):
                self._submit(number)
            while following < len(self.tasks):
                for number, result in self._next():
                    waiting[number] = result
                    finished += 1
                    if self.progress is not None:
                        self.progress(finished)
                while following in waiting:
                    yield waiting.pop(following)
                    following += 1
            complete = True
        finally:
            if not complete:
                self._cancel()

    def _submit(self, number: int) -> None:
        try:
            future = self.executor.submit(self.work, *self.tasks[number])
        except BrokenExecutor as error:  # a process ended before everything was submitted
            future = Future()
            future.set_exception(error)
        self.futures[number] = future
        future.add_done_callback(lambda future: self.arrived.put((number, future)))

    def _next(self) -> Iterator[tuple[int, Any]]:
        """The next result that has arrived, with its number; none if the task was submitted again."""
        number, future = self._arrival()
        try:
            result = future.result()
        except BrokenExecutor as error:
            self.attempts[number] += 1
            if self.attempts[number] >= ATTEMPTS or not isinstance(self.executor, Processes):
                raise VladError(
                    "lost-worker", "A process of the executor has ended before its part was computed",
                    hint="was it out of memory? A pool of concurrent.futures does not survive this; "
                    "a number of processes, `executor=4`, and Dask start another one",
                ) from error  # fmt: skip
            self._submit(number)
            return
        other = None if self.again is None else self.again(number, result)
        if other is None:
            yield number, result
        else:
            self.tasks[number] = other
            self._submit(number)

    def _arrival(self) -> tuple[int, Future[Any]]:
        while True:
            with contextlib.suppress(Empty):
                return self.arrived.get(timeout=PATIENCE)

    def _cancel(self) -> None:
        futures = self.futures.values()
        if isinstance(self.executor, Processes) and any(future.running() for future in futures):
            # It cancels those that wait, too. If they were cancelled here, the thread that manages the pool could find them so
            # when its processes end, and fail (Python 3.11).
            self.executor.stop()
            return
        for future in futures:
            future.cancel()


class Processes:
    """A number of processes on this machine, which are started with the first call. If one of them ends, all are replaced."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._owner = 0  # the process that made the pool: a fork has none

    def submit(self, work: Callable[..., T], *operands: Any) -> Future[T]:
        with self._lock:
            if self._pool is not None and self._owner == os.getpid():
                with contextlib.suppress(BrokenExecutor):
                    return self._pool.submit(work, *operands)
            self._owner = os.getpid()
            self._pool = ProcessPoolExecutor(self.count, initializer=_begin)
            return self._pool.submit(work, *operands)

    def stop(self) -> None:
        """End the processes, in the middle of what they compute."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is None:
            return
        running = [
            *(getattr(pool, "_processes", None) or {}).values()
        ]  # public from Python 3.14 on, as terminate_workers
        pool.shutdown(wait=False, cancel_futures=True)
        for process in running:
            process.terminate()


def _begin() -> None:
    """In a new process. Ctrl-C reaches all processes of a terminal: that of the user ends the others. They also end if it is
    killed; a pool's processes would wait for it forever.
    """
    parent = os.getppid()
    os.environ.setdefault("VLAD_THREADS", "1")  # the processors are shared by the processes
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(ORPHANED)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="vlad-owner").start()


@functools.cache  # until the process ends
def _client(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise WrongOption(
            "invalid-argument", f"The executor {address} needs Dask", hint="`pip install distributed`"
        ) from None
    try:
        return Client(address, timeout=WAITS)  # type: ignore[no-untyped-call]
    except OSError as error:
        raise WrongOption("invalid-argument", f"There is no scheduler of Dask at {address}") from error


_made: dict[int, Processes] = {}
_making = threading.Lock()


def _processes(count: int) -> Processes:
    """The same processes for each call, so that they keep what they have compiled."""
    with _making:
        return _made.setdefault(count, Processes(count))
