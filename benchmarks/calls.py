"""The cost of calls: the first one, the first one of a later process, and each from Python: `python benchmarks/calls.py`.

The first call is that of a gradient of a three-line procedure, compiled, in a new process; without cache, then with the cache
of the previous process. The compiler's modules are loaded before, once per process. For a call from Python, d sin(cos x),
it reports the cost of machine code called through cffi, of calling a Python object, and of calling vlad's
procedure. Times are the minimum and the median of many.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

PROCESSES = 15
BATCHES, CALLS = 60, 5_000
FIRST = """
import sys, time
import vlad
session = vlad.Session(tier="compile")
session.eval('''(define (f x)
  (let ((y (sin (* x x))))
    (if (> y 0) (exp (* x y)) (/ y (+ 1 x)))))
(define (g x) ((derivative-R f) x))''')
begun = time.perf_counter()
import vlad.compile.calling.compilation, vlad.compile.calling.pipeline
loaded = time.perf_counter()
answer = session["g"](0.5)
print(loaded - begun, time.perf_counter() - loaded)
"""


def first_calls(folder: str) -> tuple[list[float], list[float], list[float]]:
    """Seconds of first calls in processes of their own: to load the compiler, the call without cache, and the call with one
    that is filled."""
    loading, cold, warm = [], [], []
    for index in range(PROCESSES):
        environment = dict(os.environ, VLAD_CACHE_DIR=os.path.join(folder, str(index)))
        for times in (cold, warm):
            done = subprocess.run(
                [sys.executable, "-c", FIRST],
                env=environment,
                cwd=Path(__file__).parent.parent,
                stdout=subprocess.PIPE,
                check=True,
                text=True,
            )
            load, call = map(float, done.stdout.split())
            loading.append(load)
            times.append(call)
    return loading, cold, warm


class Plain:
    """An object that is called, and only hands on."""

    def __init__(self, entry: Callable[[float], float]) -> None:
        self.entry = entry

    def __call__(self, *arguments: float) -> float:
        return self.entry(*arguments)


def each(call: Callable[[float], Any]) -> list[float]:
    """Seconds of one call, in many batches."""
    found = []
    for _ in range(BATCHES):
        begun = time.perf_counter()
        for _ in range(CALLS):
            call(0.8)
        found.append((time.perf_counter() - begun) / CALLS)
    return found


def line_of(name: str, seconds: list[float], unit: float, word: str) -> str:
    return f"{name:34} {min(seconds) / unit:8.1f} {statistics.median(seconds) / unit:8.1f}  {word}"


def main() -> None:
    import vlad

    with tempfile.TemporaryDirectory() as folder:
        loading, cold, warm = first_calls(folder)
    session = vlad.Session(tier="compile")
    slope = session.eval("(lambda (x) ((derivative-R (lambda (x) (sin (cos x)))) x))")
    for _ in range(3):
        slope(0.8)
    (compiled,) = session.tiers.entry(slope.value).variants
    assert slope.quicks, "the call does not go to machine code"
    print(f"{'':34} {'least':>8} {'median':>8}")
    print(line_of("loading the compiler", loading, 1e-3, "ms"))
    print(line_of("first call, without cache", cold, 1e-3, "ms"))
    print(line_of("first call, of a later process", warm, 1e-3, "ms"))
    print(line_of("empty loop", each(float), 1e-9, "ns, with a call of `float`"))
    print(line_of("machine code through cffi", each(compiled.entry), 1e-9, "ns"))
    print(line_of("through an object of Python's", each(Plain(compiled.entry)), 1e-9, "ns"))
    print(line_of("through vlad's procedure", each(slope), 1e-9, "ns"))


if __name__ == "__main__":
    main()
