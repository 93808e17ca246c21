"""Continuations and errors under differentiation mean what the program in continuation-passing style means, at random."""

from __future__ import annotations

import math

import pytest
from amounts import THOROUGH
from control_programs import programs, with_continuations, with_shift
from hypothesis import HealthCheck, example, given, settings

import vlad

POINT = 0.7
MODES = {
    "": "f",
    "F": "(derivative-F f)",
    "R": "(derivative-R f)",
    "RR": "(derivative-R (derivative-R f))",
    "FR": "(derivative-F (derivative-R f))",
    "RF": "(derivative-R (derivative-F f))",
}


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    return vlad.Session(tier="evaluate", limits=vlad.Limits(fuel=200_000))


def agree(a: float, b: float) -> bool:
    return (
        a == b or math.isclose(a, b, rel_tol=1e-8, abs_tol=1e-9) or not (math.isfinite(a) or math.isfinite(b))
    )


@pytest.mark.own_tier
@settings(
    max_examples=2000 if THOROUGH else 25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@example(
    tree=(
        "guard",
        "e",
        ("reset", ("+", ("let", "v1", "x", "v1"), ("let", "v1", "0.5", "x"))),
        ("*", "2", "e"),
    )
)  # one name twice, of which a value escapes
@given(tree=programs())
def test_derivatives_are_those_of_continuation_passing_style(session: vlad.Session, tree: object) -> None:
    session.eval(f"(define (by-shift x) {with_shift(tree)})")
    session.eval(f"(define (by-continuations x) {with_continuations(tree)})")
    for mode, text in MODES.items():
        found, expected = (
            session.eval(f"(let ((f {f})) ({text} {POINT}))") for f in ("by-shift", "by-continuations")
        )
        assert agree(found, expected), (mode, with_shift(tree), found, expected)
