"""Winds, parameters, guards, escapes and continuations, composed at random, agree with a machine of frames, derivatives too."""

from __future__ import annotations

import math

import pytest
from amounts import drawn
from wind_programs import DEFINITIONS, Dual, Machine, Programs, TooLong, written

import vlad

POINT = 0.7
COUNTS = {"evaluate": 450, "compile": 180}
MODES = ("f", "(derivative-F f)", "(derivative-R f)")


def close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(a) and math.isnan(b))


@pytest.mark.any_compiler
@pytest.mark.own_tier
@pytest.mark.parametrize("tier", COUNTS)
def test_random_programs_are_as_on_the_machine(tier: str) -> None:
    session = vlad.Session(tier=tier)
    session.tiers.notify = lambda notice: None
    session.run_text(DEFINITIONS)
    compared = 0
    for seed in range(drawn(COUNTS[tier])):
        program = Programs(seed).program()
        try:
            expected = Machine(Dual(POINT, 1.0)).run(program)
        except TooLong:
            continue
        session.run_text(f"(define (f x) (begun) (let ((y {written(program)})) (+ y (deref log))))")
        for mode, value in zip(MODES, (expected.value, expected.slope, expected.slope), strict=True):
            try:
                found = session.eval(f"({mode} {POINT})")
            except vlad.VladError as error:  # of the system, caught after a cell had been changed
                assert mode == "(derivative-R f)" and error.code == "no-derivative", (seed, str(error))
            else:
                assert close(found, value), (seed, mode, found, value, written(program))
                compared += 1
            assert session.eval("(p)") == 2, (seed, mode)
    assert compared > drawn(COUNTS[tier])
