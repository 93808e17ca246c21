"""The runner of all passes, over core, first-order code and loops: it names the pass, checks its result, times and prints it.

In: a pass and its input.  Out: the result. Called by evaluate/machine.py and by the lists of passes, compile/passes/order.py and
compile/loops/order.py. `observers` are called with each result, as `vlad show` requires; control/debug.py lists the diagnostics.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TypeVar

from vlad.control import debug

IR = TypeVar("IR")
Observer = Callable[[str, object], None]
observers: dict[int, list[Observer]] = {}  # by thread: see `observing`
_taken: dict[str, tuple[int, float]] = {}  # by pass: number of runs and seconds


def run_pass(
    name: str,
    function: Callable[[IR], IR],
    node: IR,
    check: Callable[[IR, str], None],
    text: Callable[[IR], str] = str,
    in_place: bool = False,
) -> IR:
    """Run a pass and return its result. Raises AssertionError if results are checked and this one violates the grammar. `text`
    prints a node. A pass that returns its input has changed nothing, unless it works `in_place`.
    """
    watching = observers.get(get_ident(), ()) if observers else ()
    if not debug.rungs and not watching:
        return function(node)
    begin = time.perf_counter()
    result = function(node)
    seconds = time.perf_counter() - begin
    if debug.is_on(debug.CHECKS) and (in_place or result is not node):
        check(result, name)
    if debug.is_on(debug.TIMINGS):
        if not _taken:
            import atexit  # loaded only if timings are enabled

            atexit.register(_write_timings)
        runs, before = _taken.get(name, (0, 0.0))
        _taken[name] = runs + 1, before + seconds
    if debug.is_on(debug.TEXTS):
        sys.stderr.write(f"; after {name}\n{text(result)}\n")
    for observe in watching:
        observe(name, result)
    return result


@contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Call `observer` with the name and the result of each pass that this thread runs in the context."""
    me = get_ident()
    before = observers.get(me, [])
    observers[me] = [*before, observer]
    try:
        yield
    finally:
        if before:
            observers[me] = before
        else:
            del observers[me]


def timings() -> str:
    """A line for each pass: milliseconds, runs and name; the longest first."""
    rows = sorted(_taken.items(), key=lambda row: -row[1][1])
    return "".join([f"{1e3 * seconds:10.1f} ms {runs:6} {name}\n" for name, (runs, seconds) in rows])


def _write_timings() -> None:
    sys.stderr.write(timings())
