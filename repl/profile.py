"""A profiler: the procedures in which an evaluation spends its time.

In: a session, and something to evaluate in it.  Out: a table in lines. A thread samples the stack of the evaluating one every few
milliseconds and counts the active procedures; compiled code shows none, so nothing is compiled meanwhile.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from types import FrameType

from vlad.data.values import Code
from vlad.evaluate.emit_python import is_emitted
from vlad.evaluate.errors.explain import displayed_name
from vlad.evaluate.errors.replay import emission_of
from vlad.session.session import Session

from .display import place_of

PAUSE = 0.002  # seconds between two samples
DEEPEST_LOOK = 400  # frames, from the innermost
MOST_SHOWN = 20


class Looks:
    """The samples: how often each procedure was the innermost, and how often it was active."""

    def __init__(self) -> None:
        self.count = 0
        self.own: Counter[Code] = Counter()
        self.all: Counter[Code] = Counter()

    def look(self, thread: int) -> None:
        codes = list(codes_on(sys._current_frames().get(thread)))
        self.count += 1
        if codes:
            self.own[codes[-1]] += 1
            self.all.update(codes)


def codes_on(frame: FrameType | None) -> Iterable[Code]:
    """The codes of the procedures on a stack, outermost first, each once."""
    found: dict[Code, None] = {}
    for _ in range(DEEPEST_LOOK):
        if frame is None:
            break
        if is_emitted(frame):
            emission = emission_of(frame)
            if emission is not None:
                found.pop(emission.code, None)
                found[emission.code] = None
        frame = frame.f_back
    return reversed(found)


def profiled(session: Session, work: Callable[[], object]) -> list[str]:
    """Do the work; returns lines of a profile."""
    looks, done, thread = Looks(), threading.Event(), threading.get_ident()

    def watch() -> None:
        while not done.wait(PAUSE):
            looks.look(thread)

    watcher = threading.Thread(target=watch, daemon=True, name="vlad-profile")
    interval = sys.getswitchinterval()
    try:
        with session.tiers.paused():
            sys.setswitchinterval(PAUSE / 2)
            watcher.start()
            work()
    finally:
        done.set()
        sys.setswitchinterval(interval)
    watcher.join()
    return table(looks)


def table(looks: Looks) -> list[str]:
    if not looks.own:
        return ["too quick to tell: fewer than one look in 2 ms met a procedure"]
    lines = ["  own   all  procedure"]
    for code, count in sorted(looks.all.items(), key=lambda item: (-looks.own[item[0]], -item[1]))[
        :MOST_SHOWN
    ]:
        place = place_of((code,), code.machine)
        own, whole = (100 * seen / looks.count for seen in (looks.own[code], count))
        lines.append(f"{own:4.0f}% {whole:4.0f}%  {displayed_name(code)}" + (f"  {place}" if place else ""))
    return [*lines, f"; {looks.count} looks"]
