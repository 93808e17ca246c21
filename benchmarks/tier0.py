"""The speed of the evaluator, as ratios within one run: the machine's own speed does not matter.

    python benchmarks/tier0.py            print the table
    python benchmarks/tier0.py --write    also store it in benchmarks/TIER0.md

Against plain Python: the same programs written by hand. Against HIPS autograd (`pip install autograd`), if it is installed:
the gradient of a scalar loop. Results are compared before anything is timed; each figure is the minimum of several runs.
"""

from __future__ import annotations

import math
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import vlad

PROGRAM = """
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(define (tak x y z) (if (>= y x) z (tak (tak (- x 1) y z) (tak (- y 1) z x) (tak (- z 1) x y))))
(define (float-loop n) (let loop ((i 0) (x 0.5)) (if (= i n) x (loop (+ i 1) (* x (- 1.5 x))))))
(define ((sine-loop n) x) (let loop ((i 0) (y x)) (if (= i n) y (loop (+ i 1) (sin (* y x))))))
(define (loop-gradient n x) (cdr ((cdr ((*j (sine-loop n)) (*j x))) 1)))
"""
TURNS = 10_000


def fib(n: float) -> float:
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def tak(x: float, y: float, z: float) -> float:
    if y >= x:
        return z
    return tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y))


def float_loop(n: float) -> float:
    i, x = 0.0, 0.5
    while i != n:
        i, x = i + 1, x * (1.5 - x)
    return x


def least(run: Callable[[], object], times: int = 5) -> float:
    """The least time of several runs, in seconds."""
    best = math.inf
    for _ in range(times):
        begin = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begin)
    return best


def row(name: str, ours: Callable[[], float], theirs: Callable[[], float], whose: str, times: int = 5) -> str:
    a, b = ours(), theirs()
    if abs(a - b) > 1e-9 * max(1.0, abs(b)):
        raise SystemExit(f"{name}: the results differ: {a} and {b}")
    mine, other = least(ours, times), least(theirs, times)
    return f"| {name} | {mine * 1e3:.2f} | {other * 1e3:.2f} | {whose} | {mine / other:.3f} |"


def autograd_gradient() -> Callable[[], float] | None:
    """The same gradient by HIPS autograd; None where it is not installed."""
    try:
        import autograd.numpy as numpy
        from autograd import grad
    except ImportError:
        return None

    def loop(x: float) -> float:
        y = x
        for _ in range(TURNS):
            y = numpy.sin(y * x)
        return y

    gradient = grad(loop)
    return lambda: float(gradient(0.7))


def start_up() -> str:
    def run(*arguments: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

    ours, bare = least(run("-m", "vlad", "-e", "(+ 1 2)"), 20), least(run("-c", "pass"), 20)
    more = f"+{(ours - bare) * 1e3:.0f} ms"
    return (
        f"| start-up, `vlad -e '(+ 1 2)'` | {ours * 1e3:.0f} | {bare * 1e3:.0f} | `python -c pass` | {more} |"
    )


def table() -> str:
    session = vlad.Session()
    session.eval(PROGRAM)
    lines = ["| program | vlad, ms | other, ms | other | vlad / other |", "|---|---|---|---|---|"]
    lines.append(row("fib 25", lambda: session.eval("(fib 25)"), lambda: fib(25.0), "plain Python"))
    lines.append(
        row(
            "tak 18 12 6", lambda: session.eval("(tak 18 12 6)"), lambda: tak(18.0, 12.0, 6.0), "plain Python"
        )
    )
    lines.append(
        row(
            "float loop, 10^6 turns",
            lambda: session.eval("(float-loop 1000000)"),
            lambda: float_loop(1e6),
            "plain Python",
        )
    )
    theirs = autograd_gradient()
    if theirs is None:
        lines.append("| gradient of a loop | | | HIPS autograd is not installed: `pip install autograd` | |")
    else:
        ours = lambda: session.eval(f"(loop-gradient {TURNS} 0.7)")  # noqa: E731
        lines.append(row(f"gradient of a loop, {TURNS} turns", ours, theirs, "HIPS autograd", 2))
    lines.append(start_up())
    return "\n".join(lines)


def versions() -> str:
    found = [f"Python {platform.python_version()}", platform.machine()]
    for package in ("autograd", "numpy"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} absent")
    return ", ".join(found)


def main() -> None:
    text = f"# The evaluator, measured\n\n{table()}\n\n{versions()}. Made by `python benchmarks/tier0.py --write`.\n"
    print(text)
    if "--write" in sys.argv[1:]:
        (Path(__file__).parent / "TIER0.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
