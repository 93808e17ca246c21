"""Cells under differentiation mean what the store-passing program means, on random programs."""

from __future__ import annotations

import math

import pytest
from amounts import THOROUGH
from cell_programs import HELPERS, programs, with_cells, with_store
from hypothesis import HealthCheck, given, settings

import vlad

POINTS = (0.7, -0.4)
MODES = {
    "": "f",
    "F": "(derivative-F f)",
    "R": "(derivative-R f)",
    "RR": "(derivative-R (derivative-R f))",
    "FR": "(derivative-F (derivative-R f))",
    "RF": "(derivative-R (derivative-F f))",
    "FF": "(derivative-F (derivative-F f))",
}


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    made = vlad.Session(tier="evaluate")
    made.eval(HELPERS)
    return made


def agree(a: float, b: float) -> bool:
    return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or (a != a and b != b)


@settings(
    max_examples=2500 if THOROUGH else 40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(tree=programs())
def test_derivatives_are_those_of_the_store_passing_program(session: vlad.Session, tree: object) -> None:
    session.eval(f"(define (with-cells x) {with_cells(tree)})")
    session.eval(f"(define (with-store x) (let ((s '())) (car {with_store(tree)})))")
    for mode, text in MODES.items():
        # the modes of the pure program agree with each other elsewhere
        order = "F" * len(mode)
        pure, impure = (session.eval(f"(lambda (f) {t})") for t in (MODES[order], text))
        for point in POINTS:
            wanted, found = pure(session["with-store"])(point), impure(session["with-cells"])(point)
            if abs(wanted) < 1e100:
                assert agree(wanted, found), (mode, point, wanted, found, with_cells(tree))
