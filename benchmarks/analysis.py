"""Growth of compile time with a program's size: `python benchmarks/analysis.py`.

Programs of 10 to 1000 lines, each a procedure, including branches, loops, closures and pairs; the
gradient of the last one is compiled. Prints, for each size, the seconds of the analysis, of the rest before C, of the C
compiler, and the size of the C text.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

os.environ["VLAD_CACHE"] = "off"  # the C compiler must run

from vlad import Session
from vlad.compile.analysis.fixpoint import Analysis
from vlad.compile.calling.pipeline import Unit
from vlad.compile.native import toolchain
from vlad.evaluate.limits import deep_recursion

SIZES = (10, 30, 100, 300, 1000)
BLOCK = (
    "(define (a{n} x y) (if (> x y) (* x (sin y)) (exp (- 0 (* x y)))))",
    "(define (b{n} x y) (let loop ((i 0) (z x)) (if (= i 10) z (loop (+ i 1) (+ (* z y) (a{n} z y))))))",
    "(define (c{n} x y) (let ((g (lambda (z) (* z (b{n} x z))))) (+ (g y) (* 2 y))))",
    "(define (d{n} x y) (let ((p (cons (c{n} x y) (* x y)))) (- (car p) (cdr p))))",
    "(define (e{n} x y) (+ (d{n} x {k}) (e{m} y x)))",
)


def program(lines: int) -> str:
    """Blocks of five procedures that stand on each other; the last of each adds its own to those of the blocks before."""
    text = ["(define (e0 x y) (+ x y))"]
    count = max(1, (lines - 2) // len(BLOCK))
    for n in range(1, count + 1):
        text += [line.format(n=n, m=n - 1, k="y") for line in BLOCK]
    text.append(f"(define (run x y) ((gradient-R e{count}) x y))")
    return "\n".join(text)


def measured(lines: int) -> tuple[float, float, float, int]:
    session = Session(tier="evaluate")
    session.eval(program(lines))
    f: Any = session["run"].value
    begun = time.perf_counter()
    alone = Analysis(session.machine)
    with deep_recursion():
        alone.solve(f[0], (), (alone.types.real, alone.types.real))
    analysis = time.perf_counter() - begun
    begun = time.perf_counter()
    unit = Unit(session.machine, f[0], (), (0.5, 0.25))
    before_c = time.perf_counter() - begun
    begun = time.perf_counter()
    toolchain.build(unit.text)
    return analysis, before_c - analysis, time.perf_counter() - begun, len(unit.text)


def main() -> None:
    print("| lines | analysis | optimising | C compiler | C text |")
    print("|---|---|---|---|---|")
    for lines in SIZES:
        analysis, rest, compiler, size = measured(lines)
        print(
            f"| {lines} | {analysis:.3f} s | {rest:.3f} s | {compiler:.2f} s | {size / 1000:.0f} KB |",
            flush=True,
        )


if __name__ == "__main__":
    main()
