"""The real rows and their first derivatives in mpmath; and the points at which they are compared.

Closed forms written independently of the rows. A function is listed with its derivatives of order 0 to 3, by one operand.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from mpmath import mp, mpf

mp.prec = 320

Real = Any
SUBNORMAL = 2.0**-1074


def root(x: Real) -> Real:
    return mp.sqrt(x)


def _powers(x: Real, y: Real) -> list[Real]:
    factor, out = mpf(1), []
    for k in range(4):
        out.append(factor * mp.power(x, y - k) if factor else mpf(0))
        factor *= y - k
    return out


def _tan(x: Real) -> list[Real]:
    t = mp.tan(x)
    return [t, 1 + t * t, 2 * t * (1 + t * t), 2 * (1 + t * t) * (1 + 3 * t * t)]


def _tanh(x: Real) -> list[Real]:
    t, s = mp.tanh(x), mp.sech(x) ** 2
    return [t, s, -2 * t * s, s * (4 * t * t - 2 * s)]


def _asin(x: Real) -> list[Real]:
    q = 1 - x * x
    return [mp.asin(x), 1 / root(q), x / root(q**3), (1 + 2 * x * x) / root(q**5)]


def _acos(x: Real) -> list[Real]:
    return [mp.acos(x), *[-d for d in _asin(x)[1:]]]


def _atan(x: Real) -> list[Real]:
    p = 1 + x * x
    return [mp.atan(x), 1 / p, -2 * x / p**2, (6 * x * x - 2) / p**3]


def _asinh(x: Real) -> list[Real]:
    p = 1 + x * x
    return [mp.asinh(x), 1 / root(p), -x / root(p**3), (2 * x * x - 1) / root(p**5)]


def _acosh(x: Real) -> list[Real]:
    w = x * x - 1
    return [mp.acosh(x), 1 / root(w), -x / root(w**3), (2 * x * x + 1) / root(w**5)]


def _atanh(x: Real) -> list[Real]:
    q = 1 - x * x
    return [mp.atanh(x), 1 / q, 2 * x / q**2, (2 + 6 * x * x) / q**3]


def _erf(x: Real) -> list[Real]:
    g = 2 / root(mp.pi) * mp.exp(-x * x)
    return [mp.erf(x), g, -2 * x * g, (4 * x * x - 2) * g]


def _erfc(x: Real) -> list[Real]:
    return [mp.erfc(x), *[-d for d in _erf(x)[1:]]]


def _erfcx(x: Real) -> list[Real]:
    """By the recurrence of the derivatives, in which for large x about x² cancels in each turn."""
    with mp.extradps(40 + 4 * max(0, int(mp.log(abs(x) + 1, 10))) * 2):
        value, slope = mp.exp(x * x) * mp.erfc(x), -2 / root(mp.pi)
        slope += 2 * x * value
        curve = 2 * x * slope + 2 * value
        return [value, slope, curve, 2 * x * curve + 4 * slope]


def _log_erfc(x: Real) -> list[Real]:
    """Minus the hazard h = 2/√π exp(-x²) / erfc x and its derivatives: h' = h (h - 2x)."""
    with mp.extradps(60 + (0 if abs(x) > 1e-9 else -int(mp.log(abs(x), 10)))):
        tail = mp.erfc(x)
        h = 2 / root(mp.pi) * mp.exp(-x * x) / tail
        slope = h * (h - 2 * x)
        return [mp.log(tail), -h, -slope, -(slope * (h - 2 * x) + h * (slope - 2))]


def _log_normal(x: Real) -> list[Real]:
    with mp.extradps(60):
        y = -x / root(mpf(2))
        value, *derivatives = _log_erfc(y)
        value = mp.log1p(-mp.erfc(-y) / 2) if x > 0 else value - mp.log(2)
        return [value, *[d * (-1 / root(mpf(2))) ** k for k, d in enumerate(derivatives, 1)]]


def _gamma(x: Real) -> list[Real]:
    g, a, b, c = mp.gamma(x), mp.psi(0, x), mp.psi(1, x), mp.psi(2, x)
    return [g, g * a, g * (a * a + b), g * (a**3 + 3 * a * b + c)]


def _log_gamma(x: Real) -> list[Real]:
    return [mp.log(abs(mp.gamma(x))), mp.psi(0, x), mp.psi(1, x), mp.psi(2, x)]


def _hypot(x: Real, y: Real) -> list[Real]:
    h = root(x * x + y * y)
    return [h, x / h, y * y / h**3, -3 * x * y * y / h**5]


def _angle_by_y(y: Real, x: Real) -> list[Real]:
    h = x * x + y * y
    return [mp.atan2(y, x), x / h, -2 * x * y / h**2, x * (6 * y * y - 2 * x * x) / h**3]


def _angle_by_x(y: Real, x: Real) -> list[Real]:
    h = x * x + y * y
    return [mp.atan2(y, x), -y / h, 2 * x * y / h**2, y * (2 * y * y - 6 * x * x) / h**3]


def _power_by_exponent(x: Real, y: Real) -> list[Real]:
    log, power = mp.log(x), mp.power(x, y)
    return [power * log**k for k in range(4)]


def _log(x: Real) -> list[Real]:
    return [mp.log(x), 1 / x, -1 / x**2, 2 / x**3]


def _log1p(x: Real) -> list[Real]:
    return [mp.log1p(x), *_log(1 + x)[1:]]


def _quotient(x: Real, y: Real) -> list[Real]:
    return [x / y, -x / y**2, 2 * x / y**3, -6 * x / y**4]


def _sine(x: Real) -> list[Real]:
    s, c = mp.sin(x), mp.cos(x)
    return [s, c, -s, -c]


def _cosine(x: Real) -> list[Real]:
    s, c = mp.sin(x), mp.cos(x)
    return [c, -s, -c, s]


# Where: generators of floats. `wide` covers all magnitudes, subnormal to largest; `near(p)` closes in on a point.

Where = Callable[[random.Random], float]


def wide(low: float = -308, high: float = 308) -> Where:
    return lambda r: r.choice((-1, 1)) * 10 ** r.uniform(low, high)


def positive(low: float = -323, high: float = 308) -> Where:
    return lambda r: 10 ** r.uniform(low, high)


def between(low: float, high: float) -> Where:
    return lambda r: r.uniform(low, high)


def near(point: float, low: float = -50, high: float = -1) -> Where:
    return lambda r: point + r.choice((-1, 1)) * 2 ** r.uniform(low, high)


def subnormal(r: random.Random) -> float:
    return r.choice((-1, 1)) * r.randint(1, 2**40) * SUBNORMAL


def special(r: random.Random) -> float:
    return r.choice((0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 1e-300, 1e300, SUBNORMAL))


def near_integers(low: int, high: int) -> Where:
    return lambda r: r.randint(low, high) + r.choice((-1, 1)) * 2 ** r.uniform(-45, -1)


class Case:
    """A row by one operand: its exact derivatives, and generators of its operands."""

    def __init__(
        self,
        name: str,
        exact: Callable[..., list[Real]],
        index: int,
        where: list[tuple[Where, ...]],
    ) -> None:
        self.name = name
        self.exact = exact
        self.index = index
        self.where = where

    def __repr__(self) -> str:
        return f"{self.name}-{self.index}"

    def points(self, count: int, seed: str) -> Iterator[tuple[float, ...]]:
        r = random.Random(f"{self!r} {seed}")
        for k in range(count):
            yield tuple([one(r) for one in self.where[k % len(self.where)]])


def _one(name: str, exact: Callable[[Real], list[Real]], *where: Where) -> Case:
    return Case(name, exact, 0, [(one,) for one in where])


# By row and order, how many units in the last place are too many elsewhere: where the hazard of a tail has its points of
# inflection, higher derivatives are differences. The slope of 1/y is (t r) r, in range and without a division for each t: to the
# third order a quotient has a rounding more than (t r)/y would give it (4.07 units at worst).
# Of logarithms, a rounded constant adds as much. The C library's cbrt is within 2.7 units, which its slopes inherit.
LOOSER = {
    ("/", 3): 4.5,
    ("log2", 3): 4.5,
    ("log10", 3): 4.5,
    ("cbrt", 1): 4.5,
    ("cbrt", 2): 4.5,
    ("cbrt", 3): 6.5,
    ("erfcx", 2): 4.5,
    ("erfcx", 3): 4.5,
    ("log-erfc", 2): 8.0,
    ("log-erfc", 3): 128.0,
    ("log-normal-cdf", 2): 8.0,
    ("log-normal-cdf", 3): 128.0,
}

CASES = [
    _one("exp", lambda x: [mp.exp(x)] * 4, between(-745, 709), between(-2, 2), wide(-320, 0), subnormal, special),
    _one("log", _log, positive(), positive(-5, 5), near(1.0)),
    _one("sqrt", lambda x: _powers(x, mpf(0.5)), positive(), positive(-3, 3)),
    _one("sin", _sine, between(-10, 10), wide(-320, 308), near(3.141592653589793), subnormal),
    _one("cos", _cosine, between(-10, 10), wide(-320, 308), near(1.5707963267948966), subnormal),
    _one("tan", _tan, between(-10, 10), wide(-320, 100), near(1.5707963267948966), subnormal),
    _one("asin", _asin, between(-1, 1), wide(-320, -0.01), lambda r: 1 - 2 ** r.uniform(-50, -1), subnormal),
    _one("acos", _acos, between(-1, 1), wide(-320, -0.01), lambda r: 1 - 2 ** r.uniform(-50, -1), subnormal),
    _one("sinh", lambda x: [mp.sinh(x), mp.cosh(x)] * 2, between(-710, 710), wide(-320, 1), subnormal),
    _one("cosh", lambda x: [mp.cosh(x), mp.sinh(x)] * 2, between(-710, 710), wide(-320, 1), subnormal),
    _one("tanh", _tanh, between(-300, 300), between(-3, 3), wide(-320, 2), subnormal),
    _one("asinh", _asinh, between(-10, 10), wide(-320, 60), subnormal),
    _one("acosh", _acosh, between(1, 10), positive(0.01, 60), lambda r: 1 + 2 ** r.uniform(-50, 0)),
    _one("atanh", _atanh, between(-1, 1), wide(-320, -0.01), lambda r: 1 - 2 ** r.uniform(-50, -1), subnormal),
    _one("exp2", lambda x: [mp.mpf(2) ** x * mp.log(2) ** k for k in range(4)], between(-1074, 1023), between(-2, 2),
         wide(-320, 0), subnormal, special),
    _one("log2", lambda x: [one / mp.log(2) for one in _log(x)], positive(), positive(-5, 5), near(1.0)),
    _one("log10", lambda x: [one / mp.log(10) for one in _log(x)], positive(), positive(-5, 5), near(1.0)),
    _one("cbrt", lambda x: [mp.sign(x) ** (1 + k) * one for k, one in enumerate(_powers(abs(x), mpf(1) / 3))], positive(),
         between(-5, 5)),
    _one("log1p", _log1p, between(-0.99, 10), wide(-320, -1), positive(0, 100), lambda r: -1 + 2 ** r.uniform(-50, -1)),
    _one("expm1", lambda x: [mp.expm1(x)] + [mp.exp(x)] * 3, between(-700, 709), wide(-320, 0), subnormal),
    _one("erf", _erf, between(-6, 6), between(-26, 26), wide(-320, 0), subnormal),
    _one("erfc", _erfc, between(-6, 6), between(-6, 26), wide(-320, 0), subnormal),
    _one("erfcx", _erfcx, between(-6, 6), between(-26, 26), wide(-300, 0), positive(0, 6)),
    _one("log-erfc", _log_erfc, between(0.5, 6), between(-6, 26), wide(-60, 0)),
    _one("log-normal-cdf", _log_normal, between(-6, 6), between(-36, 36), wide(-60, 0)),
    _one("gamma", _gamma, between(0.1, 20), between(0.1, 170), positive(-70, 0), near_integers(-20, 5),
         between(-20, 0), near(1.4616321449683623)),
    _one("lgamma", _log_gamma, between(0.1, 20), positive(-70, 100), near_integers(-20, 5), between(-20, 0),
         near(1.4616321449683623), near(1.0), near(2.0)),
    _one("digamma", lambda x: [mp.psi(k, x) for k in range(4)], between(0.1, 20), positive(-50, 70),
         near_integers(-20, 5), between(-20, 0), near(1.4616321449683623)),
    Case("+", lambda x, y: [x + y, mpf(1), mpf(0), mpf(0)], 0, [(wide(), wide()), (between(-1, 1), between(-1, 1))]),
    Case("-", lambda x, y: [x - y, mpf(-1), mpf(0), mpf(0)], 1, [(wide(), wide()), (between(-1, 1), between(-1, 1))]),
    Case("*", lambda x, y: [x * y, x, mpf(0), mpf(0)], 1, [(wide(-160, 150), wide(-160, 150))]),
    Case("/", _quotient, 1, [(wide(-60, 60), wide(-60, 60)), (wide(-5, 5), wide(-100, 70))]),
    Case("hypot", _hypot, 0, [(wide(-100, 100), wide(-100, 100)), (between(-1, 1), between(-1, 1)),
                              (wide(-60, 60), between(-1, 1))]),
    Case("atan", _angle_by_y, 0, [(wide(-70, 70), wide(-70, 70)), (between(-1, 1), between(-1, 1))]),
    Case("atan", _angle_by_x, 1, [(wide(-70, 70), wide(-70, 70)), (between(-1, 1), between(-1, 1))]),
    Case("expt", _powers, 0, [(positive(-5, 5), between(-20, 20)), (positive(-300, 300), between(-1, 1)),
                              (between(0, 10), lambda r: float(r.randint(-5, 9)))]),
    Case("expt", _power_by_exponent, 1, [(positive(-5, 5), between(-20, 20)), (positive(-300, 300), between(-1, 1)),
                                         (near(1.0), wide(-3, 9))]),
]  # fmt: skip
