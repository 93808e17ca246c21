"""Exact derivatives of compositions: Taylor series in mpmath, each with a series of bounds of its terms' sums.

The second series, the majorant, is the first one with all terms of one sign: rounding errors are relative to it.
"""

from __future__ import annotations

from typing import Any

from mpmath import mp, mpf

ORDER = 4
Real = Any


class Series:
    """Coefficients up to ORDER around a point, and those of the majorant."""

    def __init__(self, terms: list[Real], most: list[Real] | None = None) -> None:
        self.terms = terms
        self.most = [abs(term) for term in terms] if most is None else most

    def derivative(self, order: int) -> Real:
        return self.terms[order] * mp.factorial(order)

    def bound(self, order: int) -> Real:
        return self.most[order] * mp.factorial(order)

    def __add__(self, other: Series) -> Series:
        return Series(
            [a + b for a, b in zip(self.terms, other.terms, strict=True)],
            [a + b for a, b in zip(self.most, other.most, strict=True)],
        )

    def __mul__(self, other: Series) -> Series:
        return Series(_product(self.terms, other.terms), _product(self.most, other.most))


def variable(x: float) -> Series:
    return Series([mpf(x), mpf(1)] + [mpf(0)] * (ORDER - 1))


def constant(c: float) -> Series:
    return Series([mpf(c)] + [mpf(0)] * ORDER)


def _product(a: list[Real], b: list[Real]) -> list[Real]:
    return [mp.fsum(a[k] * b[n - k] for k in range(n + 1)) for n in range(ORDER + 1)]


def composed(outer: list[Real], inner: Series) -> Series:
    """Of the coefficients of a function around the value of another."""
    return Series(_put(outer, inner.terms), _put([abs(term) for term in outer], inner.most))


def _put(outer: list[Real], inner: list[Real]) -> list[Real]:
    step, power, total = [mpf(0), *inner[1:]], [mpf(1)] + [mpf(0)] * ORDER, [mpf(0)] * (ORDER + 1)
    for coefficient in outer:
        total = [a + coefficient * b for a, b in zip(total, power, strict=True)]
        power = _product(power, step)
    return total


def power_at(u: Real, p: Real) -> list[Real]:
    return [mp.binomial(p, k) * mp.power(u, p - k) for k in range(ORDER + 1)]


def log_at(u: Real) -> list[Real]:
    return _integral(mp.log(u), power_at(u, -1))


def exp_at(u: Real) -> list[Real]:
    return [mp.exp(u) / mp.factorial(k) for k in range(ORDER + 1)]


def cosh_at(u: Real) -> list[Real]:
    return [(mp.sinh(u) if k % 2 else mp.cosh(u)) / mp.factorial(k) for k in range(ORDER + 1)]


def gamma_at(u: Real) -> list[Real]:
    logarithm = [mp.loggamma(u)] + [mp.psi(k - 1, u) / mp.factorial(k) for k in range(1, ORDER + 1)]
    return composed(exp_at(logarithm[0]), Series(logarithm)).terms


def _integral(value: Real, slope: list[Real]) -> list[Real]:
    return [value] + [slope[k] / (k + 1) for k in range(ORDER)]


def conic_at(value: Real, c: int, d: int, p: Real, u: Real) -> list[Real]:
    """Of what has the slope (c + d u u)^p."""
    square = Series([c + d * u * u, 2 * d * u, mpf(d)] + [mpf(0)] * (ORDER - 2))
    return _integral(value, composed(power_at(square.terms[0], p), square).terms)


def asinh_at(u: Real) -> list[Real]:
    return conic_at(mp.asinh(u), 1, 1, mpf(-1) / 2, u)


def acosh_at(u: Real) -> list[Real]:
    return conic_at(mp.acosh(u), -1, 1, mpf(-1) / 2, u)


def atanh_at(u: Real) -> list[Real]:
    return conic_at(mp.atanh(u), 1, -1, mpf(-1), u)


def atan_at(u: Real) -> list[Real]:
    return conic_at(mp.atan(u), 1, 1, mpf(-1), u)


def hypot_at(u: Real) -> list[Real]:
    """Of the distance of (u, 1) from the origin."""
    h = mp.sqrt(1 + u * u)
    return [h, u / h, 1 / (2 * h**3), -u / (2 * h**5), (4 * u * u - 1) / (8 * h**7)]
