"""The cost of calls between Python and vlad: `python benchmarks/border.py [--write]`.

Calls of compiled procedures and of their gradients, of translated Python functions with structured arguments and of their
gradients, of procedures on the evaluator, of Python functions by programs, and construction of sessions: the smallest mean of
many batches. For an array of 10^6 entries it also reports the growth of the process's memory while it is passed, and while it is
returned. Writes BORDER.md.
"""

from __future__ import annotations

import math
import platform
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

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


class Layer(NamedTuple):
    w: float
    b: float
    c: float


@dataclass(frozen=True)
class Spring:
    k: float
    l: float  # noqa: E741
    m: float


def of_number(x: Any) -> Any:
    return math.sin(x) * x


def of_defaults(x: Any, scale: Any = 2.0) -> Any:
    return x * scale


def of_list(xs: Any) -> Any:
    total = 0.0
    for x in xs:
        total = total + x * x
    return total


def of_first(xs: Any) -> Any:
    return xs[0] * xs[0]


def of_rows(rows: Any) -> Any:
    total = 0.0
    for row in rows:
        for x in row:
            total = total + x * x
    return total


def of_dict(d: Any) -> Any:
    return d["a"] * d["b"] + d["c"]


def of_arrays(d: Any) -> Any:
    return (d["w"] * d["x"]).sum() + d["b"].sum()


def of_layer(p: Layer) -> Any:
    return p.w * p.b + p.c


def of_spring(s: Spring) -> Any:
    return s.k * s.l + s.m


def of_array(a: Any) -> Any:
    return (a * a).sum()


def same(x: Any) -> Any:
    return x


def function_rows() -> Iterator[tuple[str, float, float | None]]:
    """Label, nanoseconds of a call, and of its gradient. Lists of up to 128 elements become as many numbers, unless calls with
    lists of other lengths came before (`any length`).
    """
    import numpy

    import vlad

    session, a = vlad.Session(tier="compile"), numpy.arange(3.0)
    numbers = {"a": 1.0, "b": 2.0, "c": 3.0}
    calls: list[tuple[str, Callable[..., Any], Any, list[Any]]] = [
        ("a number", of_number, 0.5, []),
        ("a number, and a default", of_defaults, 0.5, []),
        ("a list of 2", of_list, [0.5] * 2, []),
        ("a list of 5", of_list, [0.5] * 5, []),
        ("a list of 100", of_list, [0.5] * 100, []),
        ("a list of 100, any length", of_list, [0.5] * 100, [[0.5] * n for n in (10, 20, 200, 300)]),
        ("a list of 1,000", of_list, [0.5] * 1000, []),
        ("a list of 1,000, of which one is read", of_first, [0.5] * 1000, []),
        ("a list of 1,000, returned", same, [0.5] * 1000, []),
        ("a tuple of 3", of_list, (1.0, 2.0, 3.0), []),
        ("a list of 3 lists of 3", of_rows, [[1.0, 2.0, 3.0]] * 3, []),
        ("a list of 100 tuples of 3", of_rows, [(1.0, 2.0, 3.0)] * 100, []),
        ("a dict of 3 numbers", of_dict, numbers, []),
        ("a dict of 3 numbers, returned", same, numbers, []),
        ("a dict of 3 arrays of 3", of_arrays, {"w": a, "x": a, "b": a}, []),
        ("a named tuple of 3", of_layer, Layer(1.0, 2.0, 3.0), []),
        ("a frozen dataclass of 3", of_spring, Spring(1.0, 2.0, 3.0), []),
        ("an array of 3", of_array, a, []),
    ]
    for name, f, argument, before in calls:
        other = vlad.Session(tier="compile") if before or f is of_list else session
        function = other.function(f)
        found: list[float] = []
        for made in (function, vlad.grad(function)) if f is not same else (function,):
            for given in [*before, argument, argument, argument]:
                made(given)
            found.append(nanoseconds(lambda made=made, argument=argument: made(argument)))
        yield name, found[0], found[1] if f is not same else None


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
    lines += ["", "| a translated Python function of | ns | its gradient, ns |", "|---|---|---|"]
    lines += [
        f"| {name} | {value:,.0f} | {'' if slope is None else f'{slope:,.0f}'} |"
        for name, value, slope in function_rows()
    ]
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
