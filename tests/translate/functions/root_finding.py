"""Roots and minima of functions of one variable, as textbooks have them."""

from __future__ import annotations

import math
from collections.abc import Callable


def bisection(c: float = 2.0) -> float:
    def f(x: float) -> float:
        return x**3 - x - c

    lo, hi = 0.0, 4.0
    while hi - lo > 0.1:
        mid = (lo + hi) / 2
        if f(lo) * f(mid) <= 0:
            hi = mid
        else:
            lo = mid
    x = 0.5 * (lo + hi)
    for _ in range(3):  # so that the derivative is that of the root
        x -= f(x) / (3 * x**2 - 1)
    return x


def newton_with_a_derivative(a: float = 2.0) -> float:
    def newton(f: Callable[[float], float], df: Callable[[float], float], x0: float, tol: float = 1e-12) -> float:
        x = x0
        for i in range(50):
            step = f(x) / df(x)
            x -= step
            if abs(step) < tol:
                return x
        raise ValueError(f"no root after {i} steps")

    return newton(lambda x: math.exp(x) - a * x - 2, lambda x: math.exp(x) - a, 3.0)


def secant(a: float = 5.0) -> float:
    f = lambda x: x * x - a
    x0, x1 = 1.0, 3.0
    while abs(x1 - x0) > 1e-9:
        x0, x1 = x1, x1 - f(x1) * (x1 - x0) / (f(x1) - f(x0))
    return x1


def no_convergence(a: float = 2.0) -> float:
    x = a
    for _ in range(5):
        x = x * x + 1
        if abs(x) < 1e-3:
            break
    else:
        raise ValueError("no convergence")
    return x


def fixed_point(a: float = 0.5, limit: int = 100) -> float:
    tolerance = 1e-12
    x = previous = 1.0
    n = 0
    while True:
        x = a * math.cos(previous)
        n += 1
        if abs(x - previous) < tolerance or n >= limit:
            break
        previous = x
    return x


def golden_section(a: float = 1.3) -> float:
    phi = (math.sqrt(5) - 1) / 2
    f = lambda x: (x - a) ** 2 + 1
    lo, hi = 0.0, 3.0
    c, d = hi - phi * (hi - lo), lo + phi * (hi - lo)
    fc, fd = f(c), f(d)
    for _ in range(5):
        if fc < fd:
            hi, d, fd = d, c, fc
            c = hi - phi * (hi - lo)
            fc = f(c)
        else:
            lo, c, fc = c, d, fd
            d = lo + phi * (hi - lo)
            fd = f(d)
    return fc if fc < fd else fd


def halley(a: float = 7.0) -> tuple[float, int]:
    x, n = a, 0
    while abs(x**3 - a) > 1e-10:
        f, f1, f2 = x**3 - a, 3 * x**2, 6 * x
        x, n = x - 2 * f * f1 / (2 * f1 * f1 - f * f2), n + 1
    return x, n


def steffensen(a: float = 2.0) -> float:
    def g(x: float) -> float:
        return math.sqrt((a + 8) / (x + 4))

    p0 = 1.5
    for _ in range(20):
        p1 = g(p0)
        p2 = g(p1)
        if (denominator := p2 - 2 * p1 + p0) == 0:
            return p2
        p = p0 - (p1 - p0) ** 2 / denominator
        if abs(p - p0) < 1e-13:
            return p
        p0 = p
    return p0


def gradient_descent_with_momentum(x: float = 3.0, rate: float = 0.1) -> float:
    velocity = 0.0
    history = [x]
    for _ in range(10):
        grad = 2 * (x - 1)
        velocity = 0.9 * velocity - rate * grad
        x += velocity
        history.append(x)
    return min(history) + history[-1]


def backtracking(x: float = 2.0) -> float:
    f = lambda z: z**4 + z
    df = lambda z: 4 * z**3 + 1
    t, alpha, beta = 1.0, 0.3, 0.5
    while f(x - t * df(x)) > f(x) - alpha * t * df(x) ** 2:
        t *= beta
    return x - t * df(x)


def brackets(c: float = 0.3, n: int = 12) -> list[tuple[float, float]]:
    """The intervals in which a function changes its sign."""
    f = lambda x: math.sin(3 * x) - c
    xs = [i * 4.0 / n for i in range(n + 1)]
    return [(a, b) for a, b in zip(xs, xs[1:]) if f(a) * f(b) < 0]
