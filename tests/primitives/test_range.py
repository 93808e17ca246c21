"""Derivatives of compositions whose parts are as large or as small as numbers can be, against mpmath.

A slope alone may be out of range although the derivative is not: the second derivative of log(c x) is -1/x² for any c,
but is computed from the second slope of the logarithm at c x, -1/(c x)². Programs are compositions of a function with scaled
terms, exponentials, powers and gamma, and quotients of such. Their derivatives up to the fourth are compared, in mixtures of the
modes, of reals and of tensors of both kinds, where no value, and no derivative of a part or by a part, is itself out of range.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amounts import THOROUGH
from mpmath import mp, mpf
from running import TIERS
from series import (
    Series,
    acosh_at,
    asinh_at,
    atan_at,
    atanh_at,
    composed,
    constant,
    cosh_at,
    exp_at,
    gamma_at,
    hypot_at,
    log_at,
    power_at,
    variable,
)

import vlad

pytestmark = pytest.mark.any_compiler

SETUP = """
(define (along-F h) (lambda (v) (cdr (jvp-F h v (+ (* 0 v) 1)))))
(define (along-R h) (lambda (v) ((gradient-R (lambda (v) (sum (h v)))) v)))
"""
At = Callable[[Any], list[Any]]


class Part:
    """A text with {} for its operand; its series, and where it has one."""

    def __init__(self, text: str, at: At, low: float = -math.inf, high: float = math.inf) -> None:
        self.text = text
        self.at = at
        self.low, self.high = low, high


def _power(p: float) -> Part:
    return Part(f"(expt {{}} {p})", lambda u: power_at(u, mpf(p)), 0.0)


OUTER = [
    Part("(log {})", log_at, 0.0),
    Part("(log1p {})", lambda u: log_at(1 + u), -0.99),
    Part("(sqrt {})", lambda u: power_at(u, mpf(1) / 2), 0.0),
    Part("(cbrt {})", lambda u: power_at(u, mpf(1) / 3), 0.0),
    Part("(log10 {})", lambda u: [term / mp.log(10) for term in log_at(u)], 0.0),
    Part("(asinh {})", asinh_at),
    Part("(acosh {})", acosh_at, 1.01),
    Part("(atanh {})", atanh_at, -0.99, 0.99),
    Part("(atan {} 1)", atan_at),
    Part("(hypot {} 1)", hypot_at),
    Part("(/ {})", lambda u: power_at(u, -1)),
    Part("(/ 3 (+ 1 {}))", lambda u: [3 * term for term in power_at(1 + u, -1)], -0.99),
    *[_power(p) for p in (0.5, -0.5, -1.0, -2.0, 1.5, 2.0, 0.25)],
]  # fmt: skip
# Of a constant c, which is drawn, and x.
INNER: dict[str, Callable[[float, float], Series]] = {
    "(* c x)": lambda c, x: constant(c) * variable(x),
    "(* c (* x x))": lambda c, x: constant(c) * (variable(x) * variable(x)),
    "(* c (exp x))": lambda c, x: constant(c) * _of(exp_at, variable(x)),
    "(exp (* (log c) x))": lambda c, x: _of(exp_at, constant(math.log(c)) * variable(x)),
    "(cosh (* (log c) x))": lambda c, x: _of(cosh_at, constant(math.log(c)) * variable(x)),
    "(gamma (+ x (* 0.2 (abs (log c)))))": lambda c, x: _of(
        gamma_at, variable(x) + constant(0.2 * abs(math.log(c)))
    ),
    "(/ c x)": lambda c, x: constant(c) * _of(lambda u: power_at(u, -1), variable(x)),
}
QUOTIENTS: dict[str, Callable[[float, float], list[Series]]] = {
    "(/ (* c x) (+ (* c (exp x)) c))": lambda c, x: [
        constant(c) * variable(x),
        constant(c) * _of(exp_at, variable(x)) + constant(c),
    ],
    "(/ (exp (* (log c) x)) (+ (exp (* (log c) x)) (exp (* 0.99 (* (log c) x)))))": lambda c, x: [
        _of(exp_at, constant(math.log(c)) * variable(x)),
        _of(exp_at, constant(math.log(c)) * variable(x))
        + _of(exp_at, constant(0.99) * constant(math.log(c)) * variable(x)),
    ],
    "(/ (* c (log x)) (* x (sqrt c)))": lambda c, x: [
        constant(c) * _of(log_at, variable(x)),
        variable(x) * constant(math.sqrt(c)),
    ],
}


def _of(at: At, inner: Series) -> Series:
    return composed(at(inner.terms[0]), inner)


class Kind:
    """Reals, or tensors of a kind: the range of c, the range of values, and the tolerance."""

    def __init__(self, name: str, exponent: float, range_: float, tolerance: float) -> None:
        self.name = name
        self.exponent, self.range, self.tolerance = exponent, range_, tolerance

    def derivative(self, session: vlad.Session, text: str, modes: str) -> Any:
        """By x, of a text over c and x, the last mode first."""
        function = f"(lambda (x) {text})"
        for mode in reversed(modes):
            name = "derivative" if self.name == "reals" else "along"
            function = f"({name}-{mode} {function})"
        return _procedure(session, f"(lambda (c x) ({function} x))")

    def at(self, procedure: Any, c: float, x: float) -> float:
        if self.name == "reals":
            return float(procedure(c, x))
        return float(procedure(c, np.full(2, x, dtype=self.name))[1])


@functools.cache
def _procedure(session: vlad.Session, text: str) -> Any:
    return session.eval(text)


KINDS = [Kind("reals", 300, 295, 1e-11), Kind("float64", 300, 295, 1e-11), Kind("float32", 35, 34, 2e-4)]
MODES = [
    f"{number:0{order}b}".replace("0", "F").replace("1", "R")
    for order in range(1, 5)
    for number in range(2**order)
]


@functools.cache
def _session(tier: str) -> vlad.Session:
    session = vlad.Session(tier=tier)
    session.run_text(SETUP)
    return session


def _program(r: random.Random) -> tuple[str, Callable[[float, float], tuple[Series, list[Series]] | None]]:
    """A text, and its series and those of its parts at a point, if it has a value there."""
    if r.random() < 0.15:
        text = r.choice([*QUOTIENTS])

        def quotient(c: float, x: float) -> tuple[Series, list[Series]] | None:
            above, below = QUOTIENTS[text](c, x)
            return above * _of(lambda u: power_at(u, -1), below), [above, below]

        return text, quotient
    outer, inner = r.choice(OUTER), r.choice([*INNER])

    def composition(c: float, x: float) -> tuple[Series, list[Series]] | None:
        part = INNER[inner](c, x)
        if not outer.low < part.terms[0] < outer.high:
            return None
        return _of(outer.at, part), [part]

    return outer.text.format(inner), composition


def _is_within(whole: Series, parts: list[Series], order: int, range_: float) -> bool:
    """Whether the derivatives of all parts, and those by a part, are in range: a product or a quotient of one
    and of the whole.
    """
    wholes = [whole.bound(k) for k in range(order + 1)] + [abs(whole.derivative(0))]
    for part in parts:
        sizes = [part.bound(k) for k in range(order + 1)] + [abs(part.derivative(0))]
        for size in sizes:
            if size and abs(mp.log10(size)) > range_:
                return False
            for other in wholes:
                if other and size and abs(mp.log10(other)) + abs(mp.log10(size)) > range_:
                    return False
    return True


def _points(r: random.Random, kind: Kind, count: int) -> list[tuple[float, float]]:
    found = []
    for _ in range(count):
        c, x = 10 ** r.uniform(-kind.exponent, kind.exponent), r.uniform(0.3, 1.1)
        if kind.name == "float32":
            x = float(np.float32(x))
        found.append((c, x))
    return found


# For each kind and tier, the number of parts.
PROGRAMS, PARTS = (50, 8) if THOROUGH else (8, 1)
POINTS = 6


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.name))
def test_compositions_stay_in_range(kind: Kind, tier: str, part: int) -> None:
    r = random.Random(f"range {kind.name} {part}")
    wrong, asked = [], 0
    for _ in range(PROGRAMS):
        text, series = _program(r)
        modes = r.choice(MODES)
        for c, x in _points(r, kind, POINTS):
            found = series(c, x)
            if found is None or not _is_within(*found, len(modes), kind.range):
                continue
            whole = found[0]
            true, bound = whole.derivative(len(modes)), whole.bound(len(modes))
            result = kind.at(kind.derivative(_session(tier), text, modes), c, x)
            asked += 1
            if not abs(mpf(result) - true) <= kind.tolerance * bound:
                wrong.append((text, modes, c, x, result, float(true), float(bound)))
    assert not wrong, (len(wrong), wrong[:5])
    assert asked > PROGRAMS
