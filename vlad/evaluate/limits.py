"""What may end an evaluation from outside: fuel, time, memory, depth, output. Off, they cost nothing.

Called by calls.py around each outermost evaluation. Time and memory are watched by a thread that interrupts the evaluating one;
depth is Python's own recursion limit, for emitted code calls Python functions from Python functions and so does not use the
C stack; fuel is counted at procedure entry and at loops, by code that is emitted only when it is asked for.
"""

from __future__ import annotations

import gc
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from sys import getrecursionlimit, setrecursionlimit
from threading import get_ident

from vlad.errors import LimitExceeded, VladError, WrongOption
from vlad.source import Span

DEFAULT_DEPTH = (
    1_500_000  # non-tail calls in progress; about 200 bytes each, as much again for an error's way out
)
WATCH_SECONDS = 0.02
AGAIN_SECONDS = 0.25  # until a thread that has not stopped is told once more


evaluating: dict[int, int] = {}  # threads, and how many evaluations each is in: it may be told something


class _Interpreter:
    """What evaluations change of the Python interpreter, while any of them runs, in whatever thread: deep calls from
    Python to Python are allowed, for they take no C stack; and the cycle collector rests, for values are acyclic, so that
    it would only walk them again and again."""

    def __init__(self) -> None:
        # A finalizer or a signal's handler that evaluates may come in between, anywhere below, in the same thread: each step is
        # such that the state which it meets, and leaves, is right
        self._lock = threading.RLock()
        self._depth = 0
        self._collecting = False

    def enter(self, depth: int) -> int:
        """How many evaluations of this thread there were before: what `leave` is told."""
        me, users = get_ident(), evaluating
        with self._lock:
            if not users:
                before, collecting = getrecursionlimit(), gc.isenabled()
                self._depth, self._collecting = before, collecting
            count = users.get(me, 0)
            users[me] = count + 1
            gc.disable()
            if getrecursionlimit() < depth:
                setrecursionlimit(depth)
        return count

    def leave(self, count: int) -> None:
        """Whatever was interrupted in between has left, too."""
        with self._lock:
            depth, collecting = self._depth, self._collecting
            if count:
                evaluating[get_ident()] = count
            else:
                evaluating.pop(get_ident(), None)
                if not evaluating:
                    self._restore(depth, collecting)

    @staticmethod
    def _restore(depth: int, collecting: bool) -> None:
        if collecting:
            gc.enable()
        try:
            setrecursionlimit(depth)
        except (
            RecursionError
        ):  # whoever called us was as deep as that already: the next one who leaves does it
            return

    def alone(self) -> None:
        """In a process that was forked: the other threads are not there."""
        self._lock = threading.RLock()
        used, count = bool(evaluating), evaluating.get(get_ident(), 0)
        evaluating.clear()
        if count:
            evaluating[get_ident()] = count
        elif used:
            self._restore(self._depth, self._collecting)


_interpreter = _Interpreter()
os.register_at_fork(after_in_child=_interpreter.alone)


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Inside, Python functions may call each other as deep as data nest."""
    count = _interpreter.enter(10_000_000)
    try:
        yield
    finally:
        _interpreter.leave(count)


class Limits:
    """Limits of each evaluation. None is unlimited.

    fuel: procedure entries and loop turns. seconds: wall-clock time. memory: megabytes by which the process's resident
    memory may grow. depth: nested calls that are not tail calls. output: characters written.
    """

    __slots__ = ("fuel", "seconds", "memory", "depth", "output")

    def __init__(
        self,
        fuel: int | None = None,
        seconds: float | None = None,
        memory: float | None = None,
        depth: int | None = None,
        output: int | None = None,
    ) -> None:
        given = {"fuel": fuel, "seconds": seconds, "memory": memory, "depth": depth, "output": output}
        for name, amount in given.items():
            if amount is not None and (isinstance(amount, bool) or not isinstance(amount, int | float)):
                raise WrongOption("invalid-argument", f"The limit {name} is a number or None, not {amount!r}")
        self.fuel = fuel
        self.seconds = seconds
        self.memory = memory
        self.depth = depth
        self.output = output

    @property
    def are_watched(self) -> bool:
        """Does somebody have to look, while something runs, whether they are kept?"""
        return self.seconds is not None or self.memory is not None


class Told(BaseException):
    """Raised in a thread that evaluates by another one, and again as long as it matters. A BaseException, so that no handler in
    between takes it for an error of the program."""


class Interrupted(Told):
    """The evaluation is to end; becomes the error that says why at the border."""


def resident_megabytes() -> float:
    """Resident memory of this process in megabytes; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * 4096 / 1e6
    except OSError:
        return _peak_megabytes()


def _peak_megabytes() -> float:
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def too_deep(span: Span | None = None) -> LimitExceeded:
    return LimitExceeded(
        "too-deep",
        "Recursion is too deep",
        span,
        hint="does the recursion end? A call in tail position needs no depth, and `--max-depth` sets the limit",
    )


def out_of_fuel() -> LimitExceeded:
    return LimitExceeded("out-of-fuel", "The evaluation ran out of fuel", hint="`fuel` sets the limit")


def too_much_output(most: int) -> LimitExceeded:
    return LimitExceeded(
        "too-much-output",
        f"The evaluation writes more than {most} characters",
        hint="`output` sets the limit",
    )


_raising = threading.RLock()
_deaf: set[int] = set()  # threads that are told nothing


def raise_in(thread: int, kind: type[BaseException] | None) -> None:
    """Raise an exception in another thread, at its next step; None takes one back that was not raised yet."""
    import ctypes  # 3 ms, only where a limit is reached or a tier is changed

    exception = None if kind is None else ctypes.py_object(kind)
    with _raising:
        if kind is None or thread not in _deaf:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), exception)


def undisturbed(act: Callable[[], object]) -> None:
    """Do something short without being told anything meanwhile. What is on its way comes before, or after."""
    me = get_ident()
    was_deaf = me in _deaf
    try:
        with _raising:
            _deaf.add(me)
        _arrive()
        act()
    finally:
        if not was_deaf:
            _deaf.discard(me)


def _arrive() -> None:
    """A call: where Python looks whether something is to be raised."""


def _alone() -> None:
    """In a process that was forked: the other threads are not there."""
    global _raising
    _raising = threading.RLock()


os.register_at_fork(after_in_child=_alone)


_NEVER = threading.Event()


class Watch:
    """The limits of a machine's evaluations, one at a time: they hold from the outermost `enter` to its `leave`. Meanwhile
    another thread may end the evaluation (`interrupt`)."""

    def __init__(self, limits: Limits, steps: list[float]) -> None:
        self.limits = limits
        self.steps = steps
        self.active = 0
        self.written = 0  # characters, since the outermost evaluation began
        self.reason: VladError | None = None  # why it is interrupted
        self.stop: Callable[[], object] | None = None  # also called where it is interrupted
        self._telling = threading.RLock()
        self._thread: int | None = None  # that evaluates, and may be told to stop
        self._count = 0  # of its evaluations that were there before
        self._done = _NEVER  # told the watcher at the end
        self._watcher: threading.Thread | None = None

    def enter(self) -> None:
        """Where this is interrupted, nothing was entered."""
        if self.active == 0:
            count = _interpreter.enter((self.limits.depth or DEFAULT_DEPTH) + 1000)
            watcher, done = None, _NEVER
            try:
                if self.limits.are_watched:
                    done = threading.Event()
                    watcher = self._started(done)
                me, fuel, endless = get_ident(), self.limits.fuel, math.inf
            except BaseException:
                if done is not _NEVER:
                    done.set()
                raise
            # no calls from here on: an evaluation that came in between, in this thread, has left its own behind
            self.reason = None
            self.written = 0
            self.steps[1] = endless if fuel is None else self.steps[0] + fuel
            self._count, self._watcher, self._done, self._thread = count, watcher, done, me
        self.active += 1

    def leave(self) -> None:
        """Where this is interrupted, it is called again; after that, nobody interrupts."""
        if self.active > 1:
            self.active -= 1
            return
        with self._telling:
            if self._thread is not None:
                self._thread = None
                if self.reason is not None:
                    raise_in(get_ident(), None)  # too late: the evaluation has ended
        if self._watcher is not None:
            self._done.set()
            self._watcher.join()
            self._watcher = None
        _interpreter.leave(self._count)
        self.active = 0

    def interrupt(self, reason: VladError, thread: int | None = None) -> None:
        """From another thread: end the evaluation that is under way (in that thread) with this error. To be told again until it
        has ended: what is raised while Python tidies up in between is lost."""
        with self._telling:
            if self._thread is None or thread not in (None, self._thread):
                return
            self.reason = self.reason or reason
            raise_in(self._thread, Interrupted)
            if self.stop is not None:
                self.stop()

    def alone(self) -> None:
        """In a process that was forked: the other threads are not there."""
        self._telling = threading.RLock()

    def room(self) -> int | None:
        """How many more characters may be written; None: as many as one likes."""
        return None if self.limits.output is None else self.limits.output - self.written

    def expects(self, count: int) -> None:
        """Raises LimitExceeded where so many more characters would be too many."""
        room = self.room()
        if room is not None and count > room:
            assert self.limits.output is not None
            raise too_much_output(self.limits.output)

    def writes(self, text: str) -> None:
        """Count what is written. Raises LimitExceeded before it is too much."""
        self.expects(len(text))
        self.written += len(text)

    def _started(self, done: threading.Event) -> threading.Thread:
        watcher = threading.Thread(target=self._watch, args=(done,), daemon=True, name="vlad-limits")
        watcher.start()
        return watcher

    def _watch(self, done: threading.Event) -> None:
        end = math.inf if self.limits.seconds is None else time.monotonic() + self.limits.seconds
        most = math.inf if self.limits.memory is None else resident_megabytes() + self.limits.memory
        reason = None
        while reason is None:
            if done.wait(min(WATCH_SECONDS, max(0.0, end - time.monotonic()))):
                return
            if time.monotonic() >= end:
                message = f"The evaluation took longer than {self.limits.seconds} seconds"
                reason = LimitExceeded("out-of-time", message, hint="`seconds` sets the limit")
            elif most < math.inf and resident_megabytes() > most:
                message = f"The evaluation needs more than {self.limits.memory} megabytes"
                reason = LimitExceeded("out-of-memory", message, hint="`memory` sets the limit")
        while True:
            with self._telling:
                has_begun = self._done is done
                if has_begun:
                    self.interrupt(reason)
            if done.wait(AGAIN_SECONDS if has_begun else WATCH_SECONDS):
                return
