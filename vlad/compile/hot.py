"""Hot procedures inside a call that runs on tier 0: found, compiled, and put in place while it runs.

In: the thread that evaluates a call which is not compiled as a whole (a training loop that reads files, say).  Out: nothing; the
codes of procedures in which most of its time goes get a function that runs machine code. Called in beside.py's thread, from time
to time.

How they are found: a look at the stack tells in which procedures the time goes, each with what it calls; those that were seen
often enough get a function that counts its calls. So the mean time of a call is known, and those for which machine code pays
are compiled, the outermost first, for operands like those of one of their calls. What cannot be compiled, or has effects, or
is no faster, stays as it was, and what it calls is asked next.

A compiled call is one in every respect: its closure's environment is an operand as well, so that procedures that are made
anew in each turn of a loop are compiled once. Errors and effects: code is pure, so what fails runs again on tier 0, which
says what is wrong.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from vlad.compile.interrupts import Interruptible
from vlad.compile.refusals import MOST_VARIANTS, Failed, Mismatch
from vlad.evaluate.calls import install
from vlad.evaluate.explain import emission_of
from vlad.tensors import Tensor, made, namespace
from vlad.values import Code, Global, Value, look

SHORTEST_PAUSE, LONGEST_PAUSE = 0.01, 0.2  # seconds between two looks
DEEPEST_LOOK = 400  # frames, from the innermost
FEWEST_LOOKS = 2  # at which a procedure is on the stack, before its calls are counted
FEWEST_CALLS = 4
LEAST_TOTAL = 0.03  # seconds that went into a procedure,
LEAST_MEAN = 1e-4  # and into one call of it, before it is worth compiling
TRIALS = 16  # calls that are timed, before it is settled which tier is faster
MOST_FAILURES = 3
MOST_MISSED = 16  # calls of types that were not compiled for, for each that was
MOST_SPOTS = 512
MOST_PARTS = 256  # pairs and closures that are handed over in a call

MISSED = object()  # the answer of no compiled variant


class Spot:
    """A procedure that takes time. `native` is its function on tier 0."""

    __slots__ = (
        "code", "native", "watcher", "looks", "seconds", "calls", "depth", "active", "wanted", "sample",
        "is_settled", "entry", "trials", "met", "missed", "failures", "before",
    )  # fmt: skip

    def __init__(self, code: Code) -> None:
        self.code = code
        self.native: Callable[..., Value] = code.native
        self.watcher: Callable[..., Value] | None = None  # the function in its place
        self.looks = 0
        self.seconds = 0.0  # that went into it, as far as looks can tell
        self.calls = 0
        self.depth = sys.maxsize
        self.active = False  # is there more to do in a call than to count it?
        self.wanted = False  # operands, to compile for
        self.sample: tuple[Value, ...] | None = None
        self.is_settled = False  # nothing more is to be tried
        self.entry: Any = None  # tiers.Entry of "apply this to these"
        self.trials: list[float] = []  # seconds of the first compiled calls
        self.met = self.missed = self.failures = 0  # compiled calls: answered, of other types, failed
        self.before = 0.0  # seconds of a call on tier 0

    def mean(self) -> float:
        return self.seconds / self.calls if self.calls else 0.0

    def is_ripe(self) -> bool:
        return (
            not (self.is_settled or self.wanted or self.sample)
            and (
                self.entry is None
                or (self.missed >= FEWEST_CALLS and len(self.entry.variants) < MOST_VARIANTS)
            )
            and self.calls >= FEWEST_CALLS
            and self.seconds >= LEAST_TOTAL
            and self.mean() >= LEAST_MEAN
        )


class HotSpots:
    """Those of one session."""

    def __init__(
        self,
        machine: Any,
        new_entry: Callable[[Value], Any],
        compile: Callable[[Any, tuple[Value, ...]], Any],
    ) -> None:
        """`new_entry` makes a tiers.Entry for a procedure, `compile` a variant of it for operands, or None."""
        self.machine = machine
        self.new_entry, self.compile = new_entry, compile
        self.spots: dict[Code, Spot] = {}
        self.pause = SHORTEST_PAUSE
        self._looked = 0.0  # when
        self._callers: dict[int, Value] = {}  # by numbers of operands: procedures that apply one to these

    def look(self, thread: int) -> float:
        """One look at what a thread evaluates; perhaps something is compiled. Answers how long to wait for the next one."""
        now = time.monotonic()
        passed, self._looked = min(now - self._looked, self.pause * 2), now
        self.pause = min(self.pause * 1.05, LONGEST_PAUSE)
        for depth, code in enumerate(codes_on(sys._current_frames().get(thread))):
            self._seen(code, depth, passed)
        for spot in list(self.spots.values()):
            if spot.sample is not None:
                self._compile(spot, spot.sample)
                self._looked = time.monotonic()
                return self.pause
        ripe = [spot for spot in self.spots.values() if spot.is_ripe()]
        if ripe:
            spot = min(ripe, key=lambda spot: spot.depth)
            spot.wanted = spot.active = True
        return self.pause

    def redefined(self, cell: Global | None) -> None:
        """A global's value changed (None: a primitive's, and nobody knows who used it): what relied on the old one goes."""
        for code, spot in list(self.spots.items()):
            if cell is None or (spot.entry is not None and cell in spot.entry.cells):
                self._forget(code)

    def _forget(self, code: Code) -> None:
        spot = self.spots.pop(code, None)
        if spot is not None:
            self._remove(spot)
            if spot.entry is not None:
                spot.entry.forgotten()

    def _seen(self, code: Code, depth: int, seconds: float) -> None:
        spot = self.spots.get(code)
        if spot is None:
            if code.primitive is not None or code.machine is not self.machine:
                return
            if len(self.spots) >= MOST_SPOTS:
                self._forget(next(iter(self.spots)))
            spot = self.spots[code] = Spot(code)
        spot.looks += 1
        spot.depth = min(spot.depth, depth)
        spot.seconds += seconds
        if spot.looks == FEWEST_LOOKS:
            self._put(spot)
            spot.seconds = 0.0

    def _put(self, spot: Spot) -> None:
        spot.native = spot.code.native
        spot.watcher = _watcher(spot, self, spot.code.arity)
        install(spot.code, spot.watcher)

    def _remove(self, spot: Spot) -> None:
        """Tier 0 alone does it from here on."""
        spot.active, spot.is_settled = False, True
        if spot.watcher is not None and spot.code.native is spot.watcher:
            install(spot.code, spot.native)

    def _compile(self, spot: Spot, operands: tuple[Value, ...]) -> None:
        spot.sample = None
        if spot.entry is None:
            spot.entry = self.new_entry(self._caller(spot.code.arity))
            spot.before = spot.mean()
        if (spot.entry.variants and not spot.met) or not _is_small(operands):
            self._remove(
                spot
            )  # its calls are all of different types; or to hand over what they need takes too long
            return
        if len(spot.entry.variants) >= MOST_VARIANTS:
            spot.is_settled = True  # other operands stay on tier 0
            return
        spot.met = spot.missed = 0
        spot.trials = []
        compiled = self.compile(spot.entry, operands)
        if compiled is not None and compiled.interface.acts:
            spot.entry.forgotten()
            self._remove(spot)
            return
        self.pause = SHORTEST_PAUSE
        if compiled is None and spot.entry.reason is None:
            self._forget(spot.code)  # a global was redefined meanwhile
        elif compiled is None and not spot.entry.variants:
            self._remove(spot)
        elif compiled is None:
            spot.is_settled = True  # other operands stay on tier 0

    def _caller(self, count: int) -> Value:
        caller = self._callers.get(count)
        if caller is None:
            operands = " ".join([f"x{index}" for index in range(count)])
            caller = self._callers[count] = self.machine.system_procedure(
                f"(lambda (f {operands}) (f {operands}))", "call", count + 1
            )
        return caller

    # In the evaluating thread.

    def run(self, spot: Spot, f: Value, *operands: Value) -> Value:
        """The answer of machine code, or MISSED."""
        procedure = (
            f if f[0] is spot.code else (spot.code, *f[1:])
        )  # of a derived code the base's closure is handed over
        if spot.wanted:
            spot.wanted = False
            if not _is_small((procedure, *operands)):
                self._remove(spot)  # to hand over what its calls need takes too long
                return MISSED
            spot.sample = tuple([_inert(value) for value in (procedure, *operands)])
        variants = () if spot.entry is None else tuple(spot.entry.variants)
        if not variants:  # not yet
            return MISSED
        for compiled in variants:
            begun = time.perf_counter()
            watch = self.machine.watch
            before, watch.stop = watch.stop, compiled.stop
            try:
                with Interruptible(compiled.stop):
                    answer = compiled(procedure, *operands)
            except Mismatch:
                continue
            except Failed:
                spot.failures += 1
                if spot.failures > MOST_FAILURES:
                    self._remove(spot)
                return MISSED
            finally:
                watch.stop = before
            if len(spot.trials) < TRIALS:
                self._tried(spot, time.perf_counter() - begun)
            spot.met += 1
            return answer
        spot.missed += 1
        if spot.missed >= MOST_MISSED * (1 + spot.met):
            self._remove(spot)
        return MISSED

    def _tried(self, spot: Spot, seconds: float) -> None:
        """Is it faster? The median tells: some calls wait for the compiler's thread."""
        spot.trials.append(seconds)
        if len(spot.trials) == TRIALS and statistics.median(spot.trials) > spot.before:
            self._remove(spot)


def codes_on(frame: FrameType | None) -> Iterable[Code]:
    """The codes of the procedures on a stack, outermost first, each once."""
    found: dict[Code, None] = {}
    for _ in range(DEEPEST_LOOK):
        if frame is None:
            break
        if frame.f_code.co_filename == "<vlad>":
            emission = emission_of(frame)
            if emission is not None:
                found.pop(emission.code, None)
                found[emission.code] = None
        frame = frame.f_back
    return reversed(found)


def _is_small(values: tuple[Value, ...]) -> bool:
    """Are there few pairs and closures in all of these? A backpropagator of a loop holds as many as the loop has turns."""
    work, count = list(values), 0
    while work:
        value = look(work.pop())
        if type(value) is tuple and value:
            count += 1
            if count > MOST_PARTS:
                return False
            work += value[len(value) != 2 :]
    return True


def _inert(value: Value) -> Value:
    """A copy in which nothing waits to be computed, or is added to in place: another thread is to look at it."""
    value = look(value)
    if type(value) is tuple:
        return tuple([_inert(part) if type(part) is not Code else part for part in value])
    if type(value) is Tensor:
        array = value.array
        return made(namespace(array).asarray(array, copy=True))
    return value


_makers: dict[int, Callable[..., Any]] = {}


def _watcher(spot: Spot, spots: HotSpots, arity: int) -> Callable[..., Value]:
    """The function in a procedure's place. Written out for its number of parameters: to pass on a tuple of them would take
    Python's C stack, which deep recursion does not have."""
    make = _makers.get(arity)
    if make is None:
        given = ", ".join(["self", *[f"x{i}" for i in range(arity)]])
        text = f"""def make(spot, native, run, MISSED):
 def watcher({given}):
  spot.calls += 1
  if spot.active:
   answer = run(spot, {given})
   if answer is not MISSED:
    return answer
  return native({given})
 watcher.__wrapped__ = native
 return watcher"""
        names: dict[str, Any] = {}
        exec(compile(text, "<vlad watcher>", "exec"), names)
        make = _makers[arity] = names["make"]
    watcher: Callable[..., Value] = make(spot, spot.native, spots.run, MISSED)
    return watcher
