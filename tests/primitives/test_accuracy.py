"""Each real row and its first three derivatives against mpmath, in units in the last place.

Each row is evaluated at 400 points by each operand, in four orders: 1,600 numbers. A thorough run uses 10,000 points.
"""

from __future__ import annotations

import functools
import math
import random

import pytest
from amounts import THOROUGH
from exact import CASES, LOOSER, SUBNORMAL, Case
from mpmath import mpc, mpf
from nested import derivative

import vlad
from vlad.primitives.special import polygamma

POINTS = 10_000 if THOROUGH else 400
SLOW = {
    "gamma",
    "lgamma",
    "digamma",
    "erfcx",
    "log-erfc",
    "log-normal-cdf",
}  # 50 µs a call here, 300 in mpmath
MOST_ULPS = 4.0
LARGEST = mpf(2) ** 1020  # the last factors of a product may overflow before it does


def distance(found: float, true: mpf) -> float:
    """In units in the last place."""
    return float(abs(mpf(found) - true) / math.ulp(float(true))) if math.isfinite(found) else math.inf


@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_within_four_units_in_the_last_place(case: Case, order: int) -> None:
    worst, count = 0.0, 0
    where: tuple[object, ...] = ()
    for point in case.points(POINTS // 5 if case.name in SLOW else POINTS, "accuracy"):
        exact = _exact(case, point)
        if exact is None or not abs(exact[order]) < LARGEST:
            continue
        count += 1
        found = derivative(case.name, point, (case.index,) * order)
        ulps = distance(found, exact[order])
        if ulps > worst:
            worst, where = ulps, (point, found, float(exact[order]))
    assert count > POINTS // 10
    assert worst <= LOOSER.get((case.name, order), MOST_ULPS), (worst, where)


@functools.lru_cache(maxsize=POINTS)  # the orders are tested one after the other
def _exact(case: Case, point: tuple[float, ...]) -> list[mpf] | None:
    """None outside the domain."""
    try:
        exact = case.exact(*[mpf(x) for x in point])
    except (ValueError, ZeroDivisionError):
        return None
    return None if any(isinstance(value, mpc) for value in exact) else exact


@pytest.mark.parametrize("n", [3, 5, 10, 25, 60])
def test_polygamma_of_high_order(n: int) -> None:
    from mpmath import mp

    for k in range(60):
        x = (-1) ** k * (0.013 + 0.37 * k)
        true = mp.psi(n, mpf(x))
        assert distance(polygamma(float(n), x), true) <= 1.0, x


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_polygamma_of_negative_numbers(tier: str) -> None:
    """By reflection: at halves, where an even order has a cosine that is 0 or nearly so, near them, near poles and anywhere."""
    from mpmath import mp

    r, compiled = random.Random(33), vlad.Session(tier=tier).eval("(lambda (n x) (polygamma n x))")
    for turn in range(4000 if THOROUGH else 200):
        n, off = r.randint(0, 20), r.choice((-1, 1)) * 2 ** r.uniform(-45, -1)
        x = (
            r.randint(-201, 199) + 0.5,
            r.randint(-200, 199) + 0.5 + off,
            r.randint(-200, 200) + off,
            r.uniform(-200.5, 200),
        )[turn % 4]
        true = mp.psi(n, mpf(x))
        if (x > 0 or x != math.floor(x)) and abs(true) < LARGEST:
            assert distance(compiled(float(n), x), true) <= 1.0, (n, x)
    assert distance(compiled(8.0, -170.5), mp.psi(8, mpf(-170.5))) <= 1.0


def test_the_smallest_numbers() -> None:
    for name in ("sin", "tan", "asin", "sinh", "tanh", "asinh", "atanh", "log1p", "expm1"):
        assert derivative(name, (SUBNORMAL,), ()) == SUBNORMAL, name
        assert derivative(name, (SUBNORMAL,), (0,)) == 1.0, name
