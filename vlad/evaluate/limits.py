"""What may end an evaluation from outside: fuel, time, memory, depth, output. Off, they cost nothing.

Called by calls.py around each outermost evaluation. Time and memory are watched by a thread that interrupts the evaluating one;
operations that cannot be interrupted ask beforehand (budget.py). Depth is Python's own recursion limit, for emitted code calls
Python functions from Python functions and so does not use the C stack; fuel is counted at procedure entry and at loops, by code
that is emitted only when it is asked for.
"""

from __future__ import annotations

import gc
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vlad.budget import UNLIMITED, Budget, budget, resident_bytes, spend
from vlad.errors import LimitExceeded, WrongOption
from vlad.source import Span

DEFAULT_DEPTH = (
    1_500_000  # non-tail calls in progress; about 200 bytes each, as much again for an error's way out
)
AS_DEEP_AS_DATA, AS_DEEP_AS_PROGRAMS = 10_000_000, 100_000
WATCH_SECONDS = 0.02
AGAIN_SECONDS = 0.25  # until a thread that has not stopped is told once more


class _Interpreter:
    """What evaluations change of the Python interpreter, while any of them runs, in whatever thread: deep calls from
    Python to Python are allowed, for they take no C stack; and the cycle collector rests, for values are acyclic, so that
    it would only walk them again and again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depths: list[int] = []  # that its users want, in whatever thread; Python has one limit for all
        self._own = self._now = 0  # the limit without them, and with them
        self._collecting = False

    def enter(self, depth: int) -> None:
        with self._lock:
            if not self._depths:
                self._own = self._now = sys.getrecursionlimit()
                self._collecting = gc.isenabled()
                gc.disable()
            self._depths.append(depth)
            if depth > self._now:
                self._allow(depth)

    def leave(self, depth: int) -> None:
        with self._lock:
            self._depths.remove(depth)
            if not self._depths:
                self._allow(self._own)
                if self._collecting:
                    gc.enable()
            elif depth == self._now:
                self._allow(max(self._own, *self._depths))

    def _allow(self, depth: int) -> None:
        try:
            sys.setrecursionlimit(depth)
        except RecursionError:
            return  # we are deeper: whoever wants less will be told when it leaves
        self._now = depth


_interpreter = _Interpreter()


@contextmanager
def deep_recursion(depth: int | None = None) -> Iterator[None]:
    """Inside, Python functions may call each other as deep as data nest; or, where that is given, so deep at least as programs
    of people do."""
    wanted = AS_DEEP_AS_DATA if depth is None else max(depth, AS_DEEP_AS_PROGRAMS)
    _interpreter.enter(wanted)
    try:
        yield
    finally:
        _interpreter.leave(wanted)


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


class Interrupted(BaseException):
    """Raised in the evaluating thread by the watcher; becomes a LimitExceeded at the border. A BaseException, so that
    no handler in between takes it for an error of the program."""


def resident_megabytes() -> float:
    """Resident memory of this process in megabytes."""
    return resident_bytes() / 1e6


def too_deep(span: Span | None = None) -> LimitExceeded:
    return LimitExceeded(
        "too-deep",
        "Recursion is too deep",
        span,
        hint="does the recursion end? A call in tail position needs no depth, and `--max-depth` sets the limit",
    )


def out_of_fuel() -> LimitExceeded:
    return LimitExceeded("out-of-fuel", "The evaluation ran out of fuel", hint="`fuel` sets the limit")


def out_of_time(seconds: float | None, what: str = "took") -> LimitExceeded:
    limit = "there is time for" if seconds is None else f"{seconds} seconds"
    return LimitExceeded(
        "out-of-time", f"The evaluation {what} longer than {limit}", hint="`seconds` sets the limit"
    )


def out_of_memory(megabytes: float | None) -> LimitExceeded:
    """`megabytes`: the limit; None where it was the machine's."""
    if megabytes is None:
        return LimitExceeded("out-of-memory", "The evaluation ran out of memory")
    message = f"The evaluation needs more than {megabytes} megabytes"
    return LimitExceeded("out-of-memory", message, hint="`memory` sets the limit")


def too_much_output(most: int) -> LimitExceeded:
    return LimitExceeded(
        "too-much-output",
        f"The evaluation writes more than {most} characters",
        hint="`output` sets the limit",
    )


def raise_in(thread: int, kind: type[BaseException] | None) -> None:
    """Raise an exception in another thread, at its next step; None takes one back that was not raised yet."""
    import ctypes  # 3 ms, only where a limit is reached or a tier is changed

    exception = None if kind is None else ctypes.py_object(kind)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), exception)


class Watch:
    """While somebody has entered, the limits hold. Entering again inside changes nothing."""

    def __init__(self, limits: Limits, steps: list[float]) -> None:
        self.limits = limits
        self.steps = steps
        self.active = 0
        self.written = 0  # characters, since the outermost evaluation began
        self.reason: LimitExceeded | None = None
        self.stop: Callable[[], object] | None = None  # also called where a limit is reached
        self._done = threading.Event()
        self._watcher: threading.Thread | None = None
        self._begun = False
        self._outer = UNLIMITED  # what this thread had to spend before somebody watched

    def enter(self, stop: Callable[[], object] | None) -> None:
        if self.active == 0:
            if self._begun:  # who left before was interrupted in it
                self._end()
            self._begin()
        self.active += 1
        self.stop = stop

    def leave(self, level: int) -> None:
        """Go back to where so many had entered. May be done again, where an interrupt came in between."""
        self.active = level
        if level == 0 and self._begun:
            self._end()

    def _begin(self) -> None:
        self.reason = None
        self.written = 0
        self._depth = (self.limits.depth or DEFAULT_DEPTH) + 1000
        _interpreter.enter(self._depth)
        self._begun = True
        fuel = self.limits.fuel
        self.steps[1] = math.inf if fuel is None else self.steps[0] + fuel
        if self.limits.are_watched:
            self._start()

    def _end(self) -> None:
        if self._watcher is not None:
            self._done.set()
            self._watcher.join()
            if self.reason is not None:  # it may have been told again on its way out, or too late
                raise_in(threading.get_ident(), None)
            self._watcher = None
            spend(self._outer)
        # here nobody interrupts any longer
        self._begun = False
        _interpreter.leave(self._depth)

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

    def _start(self) -> None:
        self._done.clear()
        seconds, memory = self.limits.seconds, self.limits.memory
        own = Budget(
            math.inf if memory is None else resident_bytes() + memory * 1e6,
            math.inf if seconds is None else time.monotonic() + seconds,
        )
        self._outer = budget()
        spend(own.within(self._outer))
        target = threading.get_ident()
        self._watcher = threading.Thread(
            target=self._watch, args=(target, own), daemon=True, name="vlad-limits"
        )
        self._watcher.start()

    def _watch(self, target: int, own: Budget) -> None:
        while not self._done.wait(min(WATCH_SECONDS, max(0.0, own.end - time.monotonic()))):
            if time.monotonic() >= own.end:
                self.reason = out_of_time(self.limits.seconds)
            elif own.most < math.inf and resident_bytes() > own.most:
                self.reason = out_of_memory(self.limits.memory)
            if self.reason is not None:
                break
        # again and again: what is raised while Python tidies up in between is lost
        while self.reason is not None:
            raise_in(target, Interrupted)
            if self.stop is not None:
                self.stop()
            if self._done.wait(AGAIN_SECONDS):
                return
