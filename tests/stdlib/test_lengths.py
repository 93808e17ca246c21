"""Lengths and directions of lists at all magnitudes, and their derivatives to the third order, against exact ones."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from amounts import THOROUGH
from mpmath import mp, mpf

import vlad

POINTS = 600 if THOROUGH else 60
# the value, the direction, the gradient in both modes, then along v: the second derivative of the length twice in forward mode
# and in reverse over reverse, the third, and both of the direction
ALL = """
(define (along f v) (lambda (x) (directional-derivative f x v)))
(lambda (x v)
  (list (magnitude x) (unit-vector x) ((gradient-R magnitude) x) ((gradient-F magnitude) x)
        ((along (along magnitude v) v) x) (dot-product v (hvp-R magnitude x v))
        ((along (along (along magnitude v) v) v) x)
        ((along unit-vector v) x) ((along (along unit-vector v) v) x)))
"""

# Of a length known at run time only; and values at zero and out of range (docs/conventions.md, rule 6).
NUMBERS = "(define (numbers n scale) (if (< n 1) '() (cons (* scale n) (numbers (- n 1) scale))))\n"
EDGES = {
    "(round-to 9 (unit-vector '(3e200 4e200)))": "(0.6 0.8)",
    "(round-to 9 (unit-vector '(3e-200 4e-200)))": "(0.6 0.8)",
    "(round-to 9 (unit-vector '(3e-320 4e-320)))": "(0.6 0.8)",
    "(round-to 9 (unit-vector '(1.5e308 -1.5e308)))": "(0.707106781 -0.707106781)",
    "(unit-vector '(0 0))": "(+nan.0 +nan.0)",
    "(unit-vector (list 3 #[0 4]))": "(0.6 #[0 0.8])",
    "(round-to 9 (unit-vector (list 3e200 #[0 4e200])))": "(0.6 #[0 0.8])",
    "(round-to 9 (* 1e-200 (magnitude '(3e200 4e200))))": "5",
    "(round-to 9 (* 1e200 (magnitude (list 3e-200 #[4e-200 0]))))": "5",
    "(round-to 9 (* 1e-200 (distance '(3e200 1) '(0 4e200))))": "5",
    "(magnitude '())": "0",
    "(magnitude '(0 (0 . 0)))": "0",
    "(magnitude (list -inf.0 +nan.0))": "+inf.0",
    "(magnitude (list 1 +nan.0))": "+nan.0",
    '(magnitude (list 1 \'a "b" #[] #[0 0]))': "1",
    "(round-to 9 (* 1e-200 (magnitude (let ((a (real 3e200)) (b (real 4e200))) (lambda (x) (+ (* a x) b))))))": "5",
    "(round-to 3 (* 1e-20 (magnitude (list 3e20 (as-type #[4e20] 'float32)))))": "5",
    "(round-to 3 (* 1e30 (magnitude (list (as-type #[3e-30 4e-30] 'float32)))))": "5",
    "(round-to 6 (* 1e-200 (magnitude (numbers 3 1e200))))": "3.741657",
    "(round-to 6 ((gradient magnitude) (numbers 3 1e200)))": "(0.801784 0.534522 0.267261)",
    "(round-to 6 ((gradient magnitude) (numbers 3 1e-200)))": "(0.801784 0.534522 0.267261)",
    "(round-to 6 ((gradient magnitude) (numbers 3 1)))": "(0.801784 0.534522 0.267261)",
    "((gradient magnitude) '(0 0))": "(0 0)",
    "((gradient-F magnitude) '(0 0))": "(0 0)",
    "((gradient magnitude) (list 0 #[0 0]))": "(0 #[0 0])",
    "(round-to 9 ((gradient magnitude) '(3e200 4e200)))": "(0.6 0.8)",
    "(round-to 9 ((gradient-F magnitude) '(3e-200 4e-200)))": "(0.6 0.8)",
    "(round-to 9 ((gradient magnitude) (list 3e-200 #[0 4e-200])))": "(0.6 #[0 0.8])",
    "((hessian-F magnitude) '(0 0))": "((+nan.0 +nan.0) (+nan.0 +nan.0))",
    "((hessian (lambda (v) (square (magnitude v)))) '(0 0))": "((+nan.0 +nan.0) (+nan.0 +nan.0))",
    "((hessian (lambda (x y) (* (hypot x y) (hypot x y)))) 0 0)": "((+nan.0 . +nan.0) +nan.0 . +nan.0)",
    "((hessian (lambda (x) (expt (norm x) 2))) #[0 0])": "#[[+nan.0 +nan.0] [+nan.0 +nan.0]]",
    "((gradient (lambda (x) (* (norm x) (norm x)))) #[0 0])": "#[0 0]",
    "(equal? ((hessian magnitude) '(0 0 2e-200)) '((5e199 0 0) (0 5e199 0) (0 0 0)))": "#t",
    "(equal? ((hessian-F magnitude) '(0 2 0)) '((0.5 0 0) (0 0 0) (0 0 0.5)))": "#t",
    "(equal? ((hessian-R (lambda (v) (magnitude (list v 0)))) #[0 0 2e200]) #[[5e-201 0 0] [0 5e-201 0] [0 0 0]])": "#t",
    "(norm-squared (list 3 (cons 4 #[1 2])))": "30",
    "((gradient norm-squared) (list 3 (cons 4 #[1 2])))": "(6 (8 . #[2 4]))",
    "((hessian-F norm-squared) '(0 0))": "((2 0) (0 2))",
    "((hessian-R norm-squared) #[0 0])": "#[[2 0] [0 2]]",
    "((derivative (derivative (derivative norm-squared))) 0)": "0",
    "(norm-squared -3)": "9",
}


def exact(x: list[float], v: list[float]) -> list[tuple[Any, Any]]:
    """Each exact value, and its scale."""
    with mp.workprec(300):
        e = [mpf(a) for a in v]
        size, long = mp.sqrt(sum(mpf(a) ** 2 for a in x)), mp.sqrt(sum(a * a for a in e))
        u = [mpf(a) / size for a in x]
        part = sum(a * b for a, b in zip(u, e, strict=True))
        across = [(b - part * a) for a, b in zip(u, e, strict=True)]
        rest = long**2 - part**2
        turned = [-(2 * part * b + rest * a) / size**2 for a, b in zip(u, across, strict=True)]
        curve, third = rest / size, -3 * part * rest / size**2
        return [
            (size, size), (u, 1), (u, 1), (u, 1), (curve, long**2 / size), (curve, long**2 / size),
            (third, long**3 / size**2), ([b / size for b in across], long / size), (turned, long**2 / size**2),
        ]  # fmt: skip


def flat(value: Any) -> list[Any]:
    return [one for part in value for one in flat(part)] if isinstance(value, list | tuple) else [value]


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_of_all_magnitudes(tier: str) -> None:
    session = vlad.Session(tier=tier)
    *definitions, last = ALL.split("\n(lambda", 1)
    session.run_text("\n".join(definitions))
    every, r = session.eval(f"(lambda{last}"), random.Random(6)
    for turn in range(POINTS):
        power = (-290, -200, -160, -150, -31, -29, -3, 0, 3, 29, 31, 150, 160, 200, 290)[turn % 15]
        x = [
            r.gauss(0, 1) * 10.0 ** (power - r.choice((0, 0, 3, 20))) * (r.random() > 0.15) for _ in range(3)
        ]
        v = [r.gauss(0, 1) for _ in x]
        if not any(x):
            continue
        for found, (true, scale) in zip(every(x, v), exact(x, v), strict=True):
            if not 1e-300 < scale < 1e300:
                continue
            for a, b in zip(flat(found), flat(true), strict=True):
                assert math.isfinite(a) and abs(mpf(a) - b) <= 16 * 2.0**-53 * scale, (x, v, found)


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_at_the_edges(tier: str) -> None:
    lines: list[str] = []
    texts = list(EDGES)[
        :: 4 if tier == "compile" and not THOROUGH else 1
    ]  # each takes a third of a second to compile
    vlad.Session(tier=tier, write=lines.append).run_text(NUMBERS + "\n".join(texts))
    found = dict(zip(texts, "".join(lines).splitlines(), strict=True))
    assert found == {text: EDGES[text] for text in texts}
