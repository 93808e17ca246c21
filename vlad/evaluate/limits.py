"""The limits of an evaluation: fuel, time, memory, depth, output. Limits that are not set cost nothing.

Called by machine.py around each outermost evaluation. Time and memory are watched by a thread that interrupts the evaluating one;
operations that cannot be interrupted check their budget first (budget.py). Depth is Python's own recursion limit: emitted code
calls Python functions from Python functions, which does not use the C stack. Fuel is counted at procedure entries and in loops,
by code that is emitted only where fuel is limited.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from gc import disable as disable_collector
from gc import enable as enable_collector
from gc import isenabled as is_collecting
from sys import getrecursionlimit, setrecursionlimit
from threading import get_ident

from vlad.control.async_exceptions import raise_in
from vlad.control.budget import UNLIMITED, Budget, addresses_left, budget, resident_bytes, set_budget
from vlad.control.watcher import LOOK_SECONDS, Watcher
from vlad.data.errors import LimitExceeded, VladError, WrongOption
from vlad.data.source import Span

DEFAULT_DEPTH = (
    1_500_000  # non-tail calls in progress; about 200 bytes each, and as much again for an error's unwinding
)
BYTES_A_CALL = 2000  # on tier 0, with an error's unwinding and memory that allocators do not return
AS_DEEP_AS_DATA, AS_DEEP_AS_PROGRAMS = 10_000_000, 100_000
AGAIN_SECONDS = 0.1  # until the exception is raised again in a thread that has not stopped

Depths = tuple[int, ...]
evaluating: dict[
    int, Depths
] = {}  # threads that evaluate, in which exceptions may be raised, and the depths that their evaluations requested


def default_depth() -> int:
    """The depth of calls if no limit is set: less if there are few addresses, as an error is better than the end of
    the process.
    """
    left = addresses_left()
    return DEFAULT_DEPTH if left is None else max(1000, min(DEFAULT_DEPTH, left // 2 // BYTES_A_CALL))


class _Interpreter:
    """The settings of the Python interpreter that are changed while an evaluation runs in any thread: deep calls from Python to
    Python are allowed, since they use no C stack; and the cycle collector is disabled, since values are acyclic and it would only
    traverse them repeatedly.
    """

    def __init__(self) -> None:
        # Re-entrant: a finaliser or a signal handler that evaluates may run anywhere below, in the same thread: the state is
        # consistent before and after each step
        self.lock = threading.RLock()
        self._depth = 0
        self._collecting = False

    def enter(self, depth: int) -> Depths:
        """Change the settings. Returns the depths that this thread's evaluations requested before, for `leave`."""
        me, has_entered = get_ident(), False
        inside: Depths = ()
        try:
            with self.lock:
                before = getrecursionlimit()
                if not evaluating:
                    collecting = is_collecting()
                    self._depth, self._collecting = before, collecting
                inside = evaluating.get(me, ())
                evaluating[me] = (*inside, depth) if inside else (depth,)
                has_entered = True  # no call in between, so no interrupt
                disable_collector()
                if before < depth:
                    setrecursionlimit(depth)
        except BaseException:
            if has_entered:
                self.leave(inside)
            raise
        return inside

    def leave(self, inside: Depths) -> None:
        """Restore the settings. If other evaluations of this thread are in progress, their depth applies again: a program may be
        limited to less depth than reading it takes."""
        with self.lock:
            self.leave_locked(inside)

    def leave_locked(self, inside: Depths) -> None:
        """`leave`, for a caller that holds the lock."""
        me, depth, collecting = get_ident(), self._depth, self._collecting
        if inside:
            evaluating[me] = inside
            depth = max([depth, *[max(depths) for depths in evaluating.values()]])
            if depth == getrecursionlimit():
                return
        else:
            evaluating.pop(me, None)
            if evaluating:
                return
            if collecting:
                enable_collector()
        try:
            setrecursionlimit(depth)
        except RecursionError:
            return  # the caller is deeper than that already: a later `leave` restores it

    def reset_after_fork(self) -> None:
        """In the child: the other threads do not exist there."""
        self.lock = threading.RLock()
        used, inside = bool(evaluating), evaluating.get(get_ident(), ())
        evaluating.clear()
        if inside:
            evaluating[get_ident()] = inside
        elif used:
            self.leave_locked(())


_interpreter = _Interpreter()
_watcher = Watcher()
os.register_at_fork(after_in_child=_interpreter.reset_after_fork)
os.register_at_fork(after_in_child=_watcher.after_fork)  # second: its thread takes the lock of the first


@contextmanager
def deep_recursion(depth: int | None = None) -> Iterator[None]:
    """A context in which Python functions may call each other as deep as data nest; or, if `depth` is given, at least as deep as
    programs written by hand.
    """
    inside = _interpreter.enter(AS_DEEP_AS_DATA if depth is None else max(depth, AS_DEEP_AS_PROGRAMS))
    try:
        yield
    finally:
        _interpreter.leave(inside)


_MEANINGS = {
    "fuel": "Procedure entries and loop turns.",
    "seconds": "Wall-clock time.",
    "memory": "Megabytes by which the process's resident memory may grow.",
    "depth": "Nested calls that are not tail calls.",
    "output": "Characters written.",
}
LIMITS = tuple(_MEANINGS)


class Limits:
    """Limits of each evaluation. None is unlimited. Immutable."""

    __slots__ = {
        **_MEANINGS,
        "are_watched": "Is there a limit that a thread has to watch during an evaluation?",
    }

    fuel: int | None
    seconds: float | None
    memory: float | None
    depth: int | None
    output: int | None
    are_watched: bool

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
            if amount is not None and (math.isnan(amount) or amount < 0):
                raise WrongOption("invalid-argument", f"The limit {name} is 0 or more, not {amount!r}")
        given["are_watched"] = seconds is not None or memory is not None
        for name, amount in given.items():
            object.__setattr__(self, name, amount)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Limits do not change: make others, to set {name}")

    def __repr__(self) -> str:
        given = [f"{name}={amount}" for name, amount in self._given().items() if amount is not None]
        return f"Limits({', '.join(given)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Limits) and self._given() == other._given()

    def __hash__(self) -> int:
        return hash(tuple(self._given().values()))

    def __reduce__(self) -> tuple[type[Limits], tuple[float | None, ...]]:
        return Limits, tuple(self._given().values())

    def _given(self) -> dict[str, float | None]:
        return {name: getattr(self, name) for name in LIMITS}


class AsyncException(BaseException):
    """Raised by another thread in one that evaluates, repeatedly until it has had its effect. A BaseException, so that no handler
    in between treats it as an error of the program."""


class Interrupted(AsyncException):
    """The evaluation has to end. At its outermost call this becomes the error that states the reason."""


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


def _set_by(name: str, option: str) -> str:
    return f"`{name}` sets the limit, `{option}` on the command line"


def out_of_fuel() -> LimitExceeded:
    return LimitExceeded("out-of-fuel", "The evaluation ran out of fuel", hint=_set_by("fuel", "--fuel"))


def out_of_time(seconds: float | None, what: str = "took") -> LimitExceeded:
    limit = "there is time for" if seconds is None else f"{seconds} seconds"
    return LimitExceeded(
        "out-of-time", f"The evaluation {what} longer than {limit}", hint=_set_by("seconds", "--max-seconds")
    )


def out_of_memory(megabytes: float | None) -> LimitExceeded:
    """The error of a memory limit in `megabytes`; None if the machine's memory was exhausted."""
    if megabytes is None:
        return LimitExceeded("out-of-memory", "The evaluation ran out of memory")
    message = f"The evaluation needs more than {megabytes} megabytes"
    return LimitExceeded("out-of-memory", message, hint=_set_by("memory", "--max-memory"))


def too_much_output(most: int) -> LimitExceeded:
    return LimitExceeded(
        "too-much-output",
        f"The evaluation writes more than {most} characters",
        hint="`output` sets the limit",
    )


class Watch:
    """The limits of a machine's evaluations, one at a time: they apply from the outermost `enter` to its `leave`. In between,
    another thread may end the evaluation (`interrupt`).
    """

    def __init__(self, limits: Limits, steps: list[float]) -> None:
        self.limits = limits
        self.steps = steps
        self.active = 0
        self.written = 0  # characters, since the outermost evaluation began
        self.reason: VladError | None = None  # the reason, if the evaluation is interrupted
        self.stop: Callable[[], object] | None = None  # called on an interrupt: stops compiled code
        self._thread: int | None = None  # the one that evaluates, and may be interrupted
        self._inside: Depths = ()  # the depths of the evaluations around this one
        self._outer = UNLIMITED  # the budget of this thread before the evaluation
        self._watched: _Limited | None = None  # this evaluation, if its time or memory is limited

    def enter(self) -> None:
        """Begin an evaluation. If this is interrupted, none has begun."""
        if self.active == 0:
            limits = self.limits
            inside = _interpreter.enter((limits.depth or default_depth()) + 1000)
            watched, outer = None, self._outer
            try:
                if limits.are_watched:
                    outer = budget()
                    watched = _Limited(self)
                    set_budget(watched.own.within(outer))
                    _watcher.watch(watched, watched.own.end)
                me, fuel, endless = get_ident(), limits.fuel, math.inf
            except BaseException:
                if watched is not None:
                    _watcher.withdraw(watched)
                    set_budget(outer)
                _interpreter.leave(inside)
                raise
            # no calls from here on: an evaluation that interrupted this one, in the same thread, has reset its own state
            self.reason = None
            self.written = 0
            self.steps[1] = endless if fuel is None else self.steps[0] + fuel
            self._inside, self._watched, self._outer, self._thread = inside, watched, outer, me
        self.active += 1

    def leave(self, level: int) -> None:
        """End the evaluation at this level of nesting; the outermost is at level 1. If this is interrupted, the caller repeats it
        until it has completed; after that, the evaluation is not interrupted."""
        if level > 1:
            self.active = level - 1
            return
        with _interpreter.lock:
            if self._thread is not None:
                self._thread = None
                if self.reason is not None:
                    raise_in(get_ident(), None)  # cancel a pending exception: the evaluation has ended
            if self._watched is not None:
                _watcher.withdraw(self._watched)
                set_budget(self._outer)
                self._watched = None
            _interpreter.leave_locked(self._inside)
            self.active = 0

    def interrupt(self, reason: VladError, thread: int | None = None) -> None:
        """From another thread: end the evaluation in progress (in that thread) with this error. The caller repeats it until the
        evaluation has ended: an exception that is raised in a finalizer is lost."""
        with _interpreter.lock:
            if self._thread is None or thread not in (None, self._thread):
                return
            self.reason = self.reason or reason
            raise_in(self._thread, Interrupted)
            if self.stop is not None:
                self.stop()

    def raise_in_evaluation(self, thread: int, kind: type[AsyncException]) -> None:
        """From another thread: raise this in the evaluating one, unless the evaluation has to end. A thread has one pending
        exception, and this would replace it."""
        with _interpreter.lock:
            if self.reason is None:
                raise_in(thread, kind)

    def raise_pending(self, thread: int) -> None:
        """From the thread itself: raise now what `raise_in_evaluation` left pending, but not Interrupted."""
        with _interpreter.lock:
            if self.reason is None or self._thread is None:
                raise_in(thread, None)

    def nesting(self, thread: int) -> tuple[int, Depths | None]:
        """In that thread: a value that differs while evaluations, on any machine, are in progress inside the caller's."""
        return self.active, evaluating.get(thread)

    def raise_if_interrupted(self) -> None:
        """Raises Interrupted if the evaluation has to end: for code that may have suppressed the exception or runs before it."""
        if self.reason is not None and self._thread is not None:
            raise Interrupted

    def room(self) -> int | None:
        """The number of characters that may still be written; None: no limit."""
        return None if self.limits.output is None else self.limits.output - self.written

    def expects(self, count: int) -> None:
        """Raise LimitExceeded if `count` more characters exceed the limit."""
        room = self.room()
        if room is not None and count > room:
            assert self.limits.output is not None
            raise too_much_output(self.limits.output)

    def writes(self, text: str) -> None:
        """Count output. Raises LimitExceeded before it exceeds the limit."""
        self.expects(len(text))
        self.written += len(text)

    def ends(self, watched: _Limited, reason: VladError) -> bool:
        """From another thread: `interrupt`, if the evaluation that is watched has begun, and has not ended."""
        with _interpreter.lock:
            has_begun = self._watched is watched
            if has_begun:
                self.interrupt(reason)
        return has_begun


class _Limited:
    """An evaluation whose time or memory is limited, from now on."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.limits = watch.limits
        seconds, memory = self.limits.seconds, self.limits.memory
        self.own = Budget(
            math.inf if memory is None else resident_bytes() + memory * 1e6,
            math.inf if seconds is None else time.monotonic() + seconds,
        )
        self._reason: VladError | None = None
        self._again = 0.0

    def look(self, now: float) -> float:
        """End the evaluation if it is beyond its limits. Returns when to look again."""
        if self._reason is None:
            if now >= self.own.end:
                self._reason = out_of_time(self.limits.seconds)
            elif self.own.most < math.inf and resident_bytes() > self.own.most:
                self._reason = out_of_memory(self.limits.memory)
            else:
                return self.own.end
        if now >= self._again:
            self._again = now + (AGAIN_SECONDS if self.watch.ends(self, self._reason) else LOOK_SECONDS)
        return self._again
