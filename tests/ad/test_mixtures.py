"""Features composed at random: every mode gives the same derivatives, those of central differences, on either tier."""

from __future__ import annotations

import math

import pytest
from amounts import drawn
from mixtures import TYPES, Mixture

import vlad

pytestmark = pytest.mark.any_compiler

POINT, STEP = 0.37, 1e-5
FIRST = ("(derivative-R f)", "(derivative-F f)", "(derivative-R (checkpointed f #:segments 4))")
SECOND = tuple([f"({outer} ({inner} f))" for outer, inner in (
    ("derivative-R", "derivative-R"), ("derivative-R", "derivative-F"), ("derivative-F", "derivative-R"),
    ("derivative-F", "derivative-F"))])  # fmt: skip


def values(session: vlad.Session, procedure: str, *points: float) -> list[float]:
    return [session.eval(f"({procedure} {point})") for point in points]


def slope(session: vlad.Session, procedure: str) -> float | None:
    """By differences; None where they say nothing, as at a jump."""
    a, b, c, d = values(session, procedure, *[POINT + STEP * k for k in (-3, -1, 1, 3)])
    near, far = (c - b) / (2 * STEP), (d - a) / (6 * STEP)
    return near if math.isclose(near, far, rel_tol=1e-5, abs_tol=1e-5) else None


def derivatives(session: vlad.Session, procedure: str) -> float | None:
    try:
        return values(session, procedure, POINT)[0]
    except vlad.VladError as error:
        assert error.code == "cannot-checkpoint", error  # of a cell, which the page on checkpointing says
        return None


@pytest.fixture(scope="module")
def sessions() -> dict[str, vlad.Session]:
    found = {tier: vlad.Session(tier=tier) for tier in ("evaluate", "compile")}
    for session in found.values():
        session.run_text(TYPES, "types.vlad")
    return found


@pytest.mark.parametrize("seed", range(drawn(90)))
def test_every_mode_agrees_with_differences(sessions: dict[str, vlad.Session], seed: int) -> None:
    session, text = sessions["evaluate"], Mixture(seed).text
    session.eval(f"(define (f x) {text})")
    for modes, of in ((FIRST, "f"), (SECOND, "(derivative-F f)")):
        expected = slope(session, of)
        for mode in modes:
            found = derivatives(session, mode)
            if None not in (found, expected):
                assert found == pytest.approx(expected, rel=1e-4, abs=1e-4), (mode, text)


@pytest.mark.parametrize("seed", range(1000, 1000 + drawn(18)))
def test_both_tiers_agree(sessions: dict[str, vlad.Session], seed: int) -> None:
    text = Mixture(seed).text
    for session in sessions.values():
        session.eval(f"(define (f x) {text})")
    for mode in ("f", "(derivative-R f)", "(derivative-R (derivative-F f))"):
        expected, found = (values(session, mode, POINT)[0] for session in sessions.values())
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12), (mode, text)
