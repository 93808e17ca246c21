"""The cost of calls between Python and vlad: `python benchmarks/border.py [--write]`.

Calls of compiled procedures and of their gradients, of procedures on the evaluator, of Python functions by programs, and
construction of sessions: the smallest mean of many batches. For an array of 10^6 entries it also reports the growth of the
process's memory while it is passed, and while it is returned. Writes BORDER.md.
"""

from __future__ import annotations

import math
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from run import processor, versions  # noqa: E402

BATCHES, BATCH_SECONDS = 200, 0.002
ENTRIES = 1_000_000

DEFINITIONS = """
(define (f x) (sin (cos x)))
(define (g x y) (* x (sin y)))
(define (turns x) (let loop ((i 0) (x x)) (if (= i 3) x (loop (+ i 1) (* x 0.5)))))
(define (scaled x l) (* x (car l) (cadr l)))
(define (loss w x) (sum (square (- (* w x) 1))))
(define (same x) x)
(define (call-python n) (let loop ((i 0) (x 0.5)) (if (= i n) x (loop (+ i 1) (python x)))))
(define (call-with-array n a) (let loop ((i 0) (a a)) (if (= i n) a (loop (+ i 1) (python-array a)))))
"""
LOOPS = 1000


def nanoseconds(call: Callable[[], Any]) -> float:
    """Of one call: the least mean of many batches."""
    count = 1
    while True:
        begun = time.perf_counter()
        for _ in range(count):
            call()
        seconds = time.perf_counter() - begun
        if seconds > BATCH_SECONDS:
            break
        count *= 2
    least = seconds
    for _ in range(BATCHES):
        begun = time.perf_counter()
        for _ in range(count):
            call()
        least = min(least, time.perf_counter() - begun)
    return least / count * 1e9


def rows() -> Iterator[tuple[str, float, str]]:
    """Label, nanoseconds, and target."""
    import numpy

    import vlad

    session = vlad.Session(tier="compile")
    session.eval(DEFINITIONS)
    w, x = numpy.linspace(0, 1, 3), numpy.linspace(1, 2, 3)
    f, g, loss = session["f"], session["g"], session["loss"]
    compiled = {
        "compiled, a real": (f, (0.8,), "400"),
        "compiled, two reals": (g, (0.8, 0.3), "400"),
        "compiled, a whole number": (f, (2,), ""),
        "compiled, with a loop": (session["turns"], (0.8,), ""),
        "gradient, one argument": (vlad.grad(f), (0.8,), "1000"),
        "gradient, two arguments": (vlad.grad(g), (0.8, 0.3), "1000"),
        "gradient, the second of two": (vlad.grad(g, 1), (0.8, 0.3), "1000"),
        "value and gradient": (vlad.value_and_grad(g), (0.8, 0.3), "1000"),
        "compiled, two arrays of 3": (loss, (w, x), ""),
        "gradient, two arrays of 3": (vlad.grad(loss), (w, x), ""),
        "compiled, a real and a list of two": (session["scaled"], (0.8, [1.0, 9.8]), ""),
        "gradient, a real and a list of two": (vlad.grad(session["scaled"]), (0.8, [1.0, 9.8]), ""),
        "Hessian times a vector": (lambda a: vlad.hvp(f, a, 1.0), (0.8,), ""),
    }
    for name, (procedure, arguments, aim) in compiled.items():
        for _ in range(3):
            procedure(*arguments)
        yield name, nanoseconds(lambda p=procedure, a=arguments: p(*a)), aim
    evaluator = vlad.Session(tier="evaluate")
    evaluator.eval(DEFINITIONS)
    evaluator["python"] = lambda x: x * 0.5
    evaluator["python-array"] = lambda a: a
    f, g = evaluator["f"], evaluator["g"]
    yield "evaluator, a real", nanoseconds(lambda: f(0.8)), "3000"
    yield "evaluator, two reals", nanoseconds(lambda: g(0.8, 0.3)), "3000"
    yield "evaluator, an array of 3", nanoseconds(lambda: evaluator["same"](x)), ""
    auto = vlad.Session(tier="auto")
    auto.eval(DEFINITIONS)
    auto["python"] = lambda x: x * 0.5
    hot = auto.eval("(lambda (x) (+ 1 (python x)))")  # which is not compiled
    yield "auto, a real, on the evaluator", nanoseconds(lambda: hot(0.8)), ""
    each, array = evaluator["call-python"], evaluator["call-with-array"]
    yield "Python function of a real", nanoseconds(lambda: each(float(LOOPS))) / LOOPS, "2000"
    yield "Python function of an array", nanoseconds(lambda: array(float(LOOPS), x)) / LOOPS, "2000"
    yield "a session", nanoseconds(vlad.Session), ""
    yield "a session that evaluates (+ 1 2)", nanoseconds(lambda: vlad.Session().eval("(+ 1 2)")), ""


def growth() -> tuple[float, float]:
    """Megabytes by which the process grows when a large array is passed: on the evaluator, there and back; to compiled code."""
    import numpy

    import vlad
    from vlad.evaluate.limits import resident_megabytes

    array = numpy.ones(ENTRIES)
    found = []
    for tier in ("evaluate", "compile"):
        session = vlad.Session(tier=tier)
        session.eval("(define (ends x) (cons (tensor-ref x 0) x))")
        ends = session["ends"] if tier == "evaluate" else session.eval("(lambda (x) (tensor-ref x 0))")
        ends(array)
        before = resident_megabytes()
        kept = [ends(array) for _ in range(10)]
        found.append((resident_megabytes() - before) / len(kept))
    return math.fsum(found[:1]), math.fsum(found[1:])


def report() -> str:
    lines = ["# The cost of calls between Python and vlad", "", "| call | ns | at most |", "|---|---|---|"]
    lines += [f"| {name} | {found:,.0f} | {aim} |" for name, found, aim in rows()]
    evaluator, compiled = growth()
    lines += [
        "",
        f"Passing an array of 10^6 reals (8 MB) to the evaluator and back increases the memory of the process by "
        f"{evaluator:.2f} MB, passing it to compiled code by {compiled:.2f} MB.",
        "",
        f"{processor()}; Python {platform.python_version()}{versions(None)}. Made by `python benchmarks/border.py --write`.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    text = report()
    print(text)
    if "--write" in sys.argv[1:]:
        (HERE / "BORDER.md").write_text(text, encoding="utf-8")
