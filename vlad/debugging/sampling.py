"""Samples of an evaluation: where a program is, about every millisecond.

In: a session, and work that evaluates in it.  Out: `Sample`s, in order: places, outermost first, and for how long. Another thread
takes them: on tier 0 from Python's frames, where each operation is emitted on a line of its own; of compiled code from the places
that it stores (compile/emit/places.py), for which procedures are compiled anew. Otherwise both tiers run the code that they run
without a profile. profile.py makes the reports.

A sample counts for the time since the one before. The evaluating thread may keep the interpreter's lock for longer than a
millisecond, in an operation on a large tensor. Then the sample comes right after, and most often still in the same line.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

from vlad.compile.calling import variant_compiler
from vlad.compile.calling.variant_compiler import COMPILER
from vlad.core.nodes import Atom, Result, Rhs, Variable
from vlad.data.source import Span
from vlad.data.values import Code, Value
from vlad.evaluate.emit_python import Emission, Emitter, is_emitted
from vlad.evaluate.errors.replay import emission_of, span_of
from vlad.session.session import Session

PAUSE = 0.001  # seconds between two samples
SHARE = 10  # of the time at most one part in so many is for taking samples
DEEPEST, MOST_CALLERS = 400, 20_000  # frames: the innermost, in which places are, and others
COMPILERS = (COMPILER, variant_compiler.__name__)  # what compiles, and what imports it
CALL, CONVERSION = (
    "vlad.compile.calling.executable",
    "vlad.compile.calling.marshal",
)  # by name: they are imported when needed


class Place(NamedTuple):
    """A procedure at work: its code, where it is, and the last place in the user's own text, where that is somewhere else."""

    code: Any
    span: Span | None
    near: Span | None = None


class Sample:
    """`kind`: "tier 0", "compiled", "passing" (values to and from compiled code), "compiling", or "other", such as reading.
    `is_cut`: are there more places outside?
    """

    __slots__ = ("kind", "places", "is_cut", "seconds")

    def __init__(self, kind: str, places: tuple[Place, ...], is_cut: bool, seconds: float) -> None:
        self.kind, self.places, self.is_cut, self.seconds = kind, places, is_cut, seconds


class EmitterByLine(Emitter):
    """Puts operations that are on different lines of a program on different lines of Python, by which a frame tells where it is.

    lines_of the lines of operations whose expressions are pending
    here     the line of the operation that is being emitted
    """

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self.lines_of: dict[Variable, int] = {}
        self.here: int | None = None

    def binding(self, variable: Variable, rhs: Rhs) -> None:
        self.here = _line(rhs)
        super().binding(variable, rhs)
        if variable in self.pending and self.here is not None and not self.pending[variable].value:
            self.lines_of[variable] = self.here

    def result(self, result: Result) -> None:
        self.here = _line(result)
        super().result(result)

    def text(self, atom: Atom) -> str:
        if (
            type(atom) is Variable
            and atom in self.pending
            and self.lines_of.get(atom, self.here) != self.here
        ):
            return self.settle(atom)
        return super().text(atom)

    def settle(self, variable: Variable) -> str:
        self.lines_of.pop(variable, None)
        return super().settle(variable)


def _line(rhs: Rhs | Result) -> int | None:
    span = getattr(rhs, "span", None)
    return None if span is None else int(span.line)


def emit(code: Code) -> Callable[..., Value]:
    return EmitterByLine(code).function()


class Sampler:
    """Takes the samples of one thread."""

    def __init__(self, session: Session) -> None:
        self.tiers = session.tiers
        self.machine = session.machine
        self.thread = threading.get_ident()
        self.samples: list[Sample] = []
        self._places: dict[tuple[int, int], Place | None] = {}  # by emission, which its code keeps, and line
        self._emissions: list[Any] = []
        self._done = threading.Event()
        self._last = time.perf_counter()
        self._watcher = threading.Thread(target=self._watch, daemon=True, name="vlad-profile")

    def begin(self) -> None:
        self._last = time.perf_counter()
        self._watcher.start()

    def end(self) -> None:
        self._done.set()
        self._watcher.join()

    def _watch(self) -> None:
        pause = PAUSE
        while not self._done.wait(pause):
            begun = time.perf_counter()
            self.look()
            pause = max(PAUSE, SHARE * (time.perf_counter() - begun))

    def look(self) -> None:
        kind, places, is_cut = self._found()
        now = time.perf_counter()
        seconds, self._last = now - self._last, now
        last = self.samples[-1] if self.samples else None
        if last is not None and last.places == places and last.kind == kind:
            last.seconds += seconds
        else:
            self.samples.append(Sample(kind, places, is_cut, seconds))

    def _found(self) -> tuple[str, tuple[Place, ...], bool]:
        frame = sys._current_frames().get(self.thread)
        running = self._running()
        if running is not None:
            places = tuple([Place(site.callee, site.span, site.near) for site in running])
            return "passing" if _passes(frame) else "compiled", places, False
        found, kind = [], "other"
        for _ in range(DEEPEST):
            if frame is None:
                break
            if is_emitted(frame):
                kind = "tier 0"
                place = self._place(frame)
                if place is not None:
                    found.append(place)
            elif frame.f_globals.get("__name__") in COMPILERS and kind == "other":
                kind = "compiling"
            frame = frame.f_back
        if kind == "other" and _is_below(COMPILERS, frame):  # the compiler recurses over programs
            kind = "compiling"
        return kind, tuple(reversed(found)), frame is not None and kind == "tier 0"

    def _running(self) -> list[Any] | None:
        """The places of compiled code, if there is some at work; [] for code that does not say where it is."""
        for entry in list(self.tiers.entries.values()):
            for variant in list(entry.variants):
                if variant.busy:
                    places: list[Any] = variant.places()
                    return places
        return None

    def _place(self, frame: FrameType) -> Place | None:
        emission = emission_of(frame)
        if emission is None:
            return None
        key = id(emission), frame.f_lineno
        if key not in self._places:
            self._emissions.append(emission)
            code = emission.code
            is_ours = code.machine is self.machine
            self._places[key] = Place(code, _span_before(emission, key[1])) if is_ours else None
        return self._places[key]


def _passes(frame: FrameType | None) -> bool:
    """Does a call of compiled code convert its operands or its result, before it runs or afterwards?"""
    while frame is not None and frame.f_globals.get("__name__") != CALL:
        if frame.f_globals.get("__name__") == CONVERSION:
            return True
        frame = frame.f_back
    return False


def _is_below(modules: Container[str], frame: FrameType | None) -> bool:
    """Is a function of some modules among the next callers?"""
    for _ in range(MOST_CALLERS):
        if frame is None:
            return False
        if str(frame.f_globals.get("__name__")) in modules:
            return True
        frame = frame.f_back
    return False


def _span_before(emission: Emission, line: int) -> Span | None:
    """The place of the last operation that has one, up to a line of an emitted function."""
    for at in sorted([at for at in emission.sites if at <= line], reverse=True):
        span = span_of(emission.sites[at])
        if span is not None:
            return span
    return None


@contextmanager
def sampled(session: Session) -> Iterator[list[Sample]]:
    """A context whose evaluations, in this thread, are sampled; the list has the samples at its end."""
    machine, tiers, interval = session.machine, session.tiers, sys.getswitchinterval()
    before, threads = machine.emit, machine.threads
    sampler = Sampler(session)

    def renew() -> None:
        machine.emit_again()
        tiers.forget()

    machine.emit, machine.placed = emit, True
    machine.threads = 1  # compiled code says where one thread is
    renew()
    try:
        sys.setswitchinterval(PAUSE / 2)
        sampler.begin()
        yield sampler.samples
    finally:
        sampler.end()
        sys.setswitchinterval(interval)
        machine.emit, machine.placed, machine.threads = before, False, threads
        renew()
