"""One procedure called again and again from Python, with arguments of all kinds in any order: its results are the evaluator's.

A procedure is compiled for the arguments of its first calls, and called directly from Python from then on, so the result of a
call may depend on those before it. The programs are random; a seed names each.
"""

from __future__ import annotations

import random
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import vlad
from vlad.python.convert import Procedure

pytestmark = pytest.mark.any_compiler

Point = namedtuple("Point", "x y")


@dataclass
class Spring:
    length: float
    ends: Any


def arguments_of(session: vlad.Session) -> list[tuple[Any, ...]]:
    """Those of a call each; arrays of all kinds, shapes and orders."""
    numbers = np.array([1.0, -2.0, 0.5])
    strided, read_only = np.repeat(numbers, 2)[::2], numbers.copy()
    read_only.setflags(write=False)
    values = [
        1.5, -0.0, 2, True, None, "text", np.float64(3), np.float32(0.5), np.int64(2), np.bool_(True),
        np.array(2.5), np.array(True), numbers, strided, numbers[::-1], read_only, numbers.astype("f4"),
        numbers.astype(">f8"), np.array([1, 2, 3]), np.array([True, False, True]), np.array([1, 2], "u1"), np.zeros((0, 2)),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)), [], [1.5, 2.5], (1.5, 2.5), (1.5, (2.5, 3)), {"a": 1.5},
        Point(1.5, numbers), Spring(1.5, [2.5]), session["double"], session.eval("(let ((k 3)) (lambda (z) (* k z)))"),
    ]  # fmt: skip
    several = [
        (),
        (1.5, 2.5),
        (1.5, 2.5, 3.5),
        (numbers, 2.5),
        (2, numbers),
        (numbers, numbers),
        ([1.5], 2.5),
    ]
    return [(value,) for value in values] + several


class Programs:
    """Random expressions in x."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *choices: Callable[[], str] | str) -> str:
        choice = self.random.choice(choices)
        return choice if isinstance(choice, str) else choice()

    def number(self, depth: int) -> str:
        if depth == 0:
            return self.pick("x", "x", "2", "-0.0", "(double x)", "#[1 2 3]", "(if (pair? x) (car x) x)")
        a, b = self.number(depth - 1), self.number(depth - 1)
        return self.pick(
            f"(+ {a} {b})", f"(* {a} {b})", f"(sin {a})", f"(sum {a})", f"(if {self.test()} {a} {b})", "3",
            f"(let loop ((i 0) (y {a})) (if (< i 3) (loop (+ i 1) (* y 0.5)) y))", f"(/ {a} 2)",
        )  # fmt: skip

    def test(self) -> str:
        return self.pick("(real? x)", "(pair? x)", "(tensor? x)", "(procedure? x)", "(equal? x 2)")

    def any(self, depth: int) -> str:
        if depth == 0:
            return self.pick("x", "x", "3", "#t", '"text"', "'symbol", "'()", "-0.0", "#[1 2]")
        a, b = self.any(depth - 1), self.any(depth - 1)
        return self.pick(
            lambda: self.number(2), f"(cons {a} {b})", f"(list {a} {b})", f"(let ((y {a})) (list y y 3))",
            f"(lambda (z) (cons z {a}))", f"(if {self.test()} {a} {b})", f'(if (pair? x) (error "a pair") {a})', self.test(),
        )  # fmt: skip


def described(value: Any) -> Any:
    """A value as something to compare, its types, signs of zeros and flags included."""
    if isinstance(value, Procedure):
        return "a procedure", answer(value, (0.5,))
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.flags.writeable, described(value.tolist())
    if isinstance(value, list | tuple):
        return type(value), [described(part) for part in value]
    if isinstance(value, dict | Spring):
        return type(value), described(list((value if isinstance(value, dict) else vars(value)).items()))
    return type(value), f"{value:.9g}" if isinstance(value, float) else value


def answer(f: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    try:
        return described(f(*arguments))
    except vlad.VladError as error:
        return error.code, error.message


def backwards(f: Procedure) -> Callable[..., Any]:
    def both(*arguments: Any) -> Any:
        value, back = vlad.vjp(f, *arguments)
        return value, back(1.0), back(1)

    return both


MAKERS: dict[str, Callable[[Procedure], Callable[..., Any]]] = {
    "called": lambda f: f,
    "grad": vlad.grad,
    "grad by all": lambda f: vlad.grad(f, (0,)),
    "value_and_grad": lambda f: vlad.value_and_grad(f, 0),
    "jacobian": vlad.jacobian,
    "hessian": lambda f: vlad.hessian(f, 0),
    "vjp": backwards,
    "jvp": lambda f: lambda *points: vlad.jvp(f, points, points),
    "hvp": lambda f: lambda *points: vlad.hvp(f, points[0] if len(points) == 1 else points, points),
}


# Those that found something, when each of the ways to machine code was wrong in its own way; and one of each other maker.
SEEDS = {
    "called": (7, 20, 30, 32), "grad": (1,), "grad by all": (5, 6, 11), "value_and_grad": (4, 5), "jacobian": (11, 41, 43),
    "hessian": (5,), "vjp": (20,), "jvp": (41,), "hvp": (1,),
}  # fmt: skip


@pytest.mark.parametrize(("maker", "seed"), [(maker, seed) for maker in MAKERS for seed in SEEDS[maker]])
def test_calls_do_not_depend_on_those_before(maker: str, seed: int) -> None:
    programs = Programs(seed)
    body = programs.any(3) if maker in ("called", "jacobian", "vjp", "jvp") else programs.number(3)
    text = f"(lambda (x) {body})"

    def outcomes(tier: str, order: list[int]) -> list[Any]:
        with vlad.Session(tier=tier, optimize=0) as session:
            session.eval("(define (double x) (* 2 x))")
            calls = arguments_of(session)
            f = MAKERS[maker](session.eval(text))
            return [answer(f, calls[number]) for number in order]

    count = 39
    order = [number for number in programs.random.sample(range(count), 8) for _ in range(3)]
    order += programs.random.choices(order, k=12)
    for found, expected, number in zip(
        outcomes("compile", order), outcomes("evaluate", order), order, strict=True
    ):
        assert found == expected, f"{text} of arguments {number}"
