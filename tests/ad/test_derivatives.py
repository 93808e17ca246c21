"""Random programs: reverse = forward = central differences; second derivatives agree in every mode and are symmetric."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

from amounts import drawn
from hypothesis import HealthCheck, assume, given, settings
from programs import functions, points

import vlad

SETUP = """
(define (grad-R f x) (cdr ((cdr ((*j f) (*j x))) 1)))
(define (partial-F f x y dx dy)
  (unperturb (tangent ((j* f) (bundle (cons x y) (perturb (cons dx dy)))))))
(define (grad-F f x) (let (((cons a b) x)) (cons (partial-F f a b 1 0) (partial-F f a b 0 1))))
(define ((along g f i j) p) (let (((cons a b) (g f p))) (+ (* i a) (* j b))))
"""
session = vlad.Session()
session.eval(SETUP)
grad_r, grad_f = session["grad-R"], session["grad-F"]
# The Hessian's rows in every combination of modes, of one procedure: its derivatives are made once.
hessians_of = session.eval("""(lambda (f at)
  (map (lambda (modes) (map (lambda (row) ((car modes) (along (cdr modes) f (car row) (cdr row)) at)) '((1 . 0) (0 . 1))))
       (list (cons grad-R grad-R) (cons grad-R grad-F) (cons grad-F grad-R) (cons grad-F grad-F))))""")


def pair(value: object) -> tuple[float, float]:
    assert isinstance(value, tuple) and len(value) == 2, value
    return value


def close(a: float, b: float, tolerance: float) -> bool:
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


def differences(f: Callable[..., float], x: float, y: float, step: float) -> list[list[float]]:
    """For each argument the differences to the left, to the right, and across."""
    here = f(x, y)
    found = []
    for dx, dy in ((step, 0.0), (0.0, step)):
        left, right = f(x - dx, y - dy), f(x + dx, y + dy)
        found.append([(here - left) / step, (right - here) / step, (right - left) / (2 * step)])
    return found


# Where every program is compiled, each example takes three times as long.
SHARE = 10 if os.environ.get("VLAD_TIER") == "compile" else 1


@settings(
    max_examples=drawn(1000 // SHARE),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
@given(functions(), points())
def test_reverse_equals_forward_equals_differences(program: str, point: tuple[float, float]) -> None:
    x, y = point
    f = session.eval(program)
    reverse, forward = pair(grad_r(f, (x, y))), pair(grad_f(f, (x, y)))
    for a, b in zip(reverse, forward, strict=True):
        assert close(a, b, 1e-9), (reverse, forward)
    value = f(x, y)
    assume(math.isfinite(value))
    coarse, fine = differences(f, x, y, 2e-4), differences(f, x, y, 1e-4)
    for r, c, d in zip(reverse, coarse, fine, strict=True):
        # if differences disagree a branch or a steep place is near, and they are unreliable
        if close(c[2], d[2], 1e-6) and close(d[0], d[1], 1e-2):
            assert close(r, d[2], 1e-4), (reverse, fine)


@settings(
    max_examples=drawn(400 // SHARE), deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
@given(functions(2), points())
def test_second_derivatives_agree_in_all_modes_and_are_symmetric(
    program: str, point: tuple[float, float]
) -> None:
    found = hessians_of(session.eval(program), point)
    hessians = [(*pair(first), *pair(second)) for first, second in found]
    for hessian in hessians:
        for a, b in zip(hessian, hessians[0], strict=True):
            assert close(a, b, 1e-8), hessians
        assert close(hessian[1], hessian[2], 1e-8), hessian


@settings(
    max_examples=drawn(300 // SHARE), deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
@given(functions(2), points())
def test_inverse_of_j_is_the_value(program: str, point: tuple[float, float]) -> None:
    x, y = point
    assert session.eval(f"((*j-inverse (*j {program})) {x} {y})") == session.eval(f"({program} {x} {y})")
    transformed = session.eval(f"(*j-inverse (car ((*j {program}) (*j (cons {x} {y})))))")
    assert close(transformed, session.eval(f"({program} {x} {y})"), 1e-12)
