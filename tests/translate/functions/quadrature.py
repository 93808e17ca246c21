"""Integrals, differences, interpolation and polynomials."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np


def _trapezoid(f: Callable[[float], float], a: float, b: float, n: int = 8) -> float:
    h = (b - a) / n
    return h * (0.5 * (f(a) + f(b)) + sum(f(a + i * h) for i in range(1, n)))


def simpson(a: float = 0.5, n: int = 6) -> float:
    f = lambda x: math.exp(-a * x * x)
    h = 2.0 / n
    total = f(0) + f(2)
    for i in range(1, n):
        total += (4 if i % 2 else 2) * f(i * h)
    return total * h / 3


def trapezoids_of_a_function(a: float = 0.5) -> float:
    return _trapezoid(lambda x: math.sin(a * x), 0, math.pi) + _trapezoid(math.cos, 0.0, a, n=4)


def romberg(a: float = 0.7) -> float:
    f = lambda x: 1 / (1 + a * x)
    r = [[0.0] * 4 for _ in range(4)]
    h = 1.0
    r[0][0] = h / 2 * (f(0.0) + f(1.0))
    for i in range(1, 4):
        h /= 2
        r[i][0] = r[i - 1][0] / 2 + h * sum(f((2 * k - 1) * h) for k in range(1, 2 ** (i - 1) + 1))
        for j in range(1, i + 1):
            r[i][j] = r[i][j - 1] + (r[i][j - 1] - r[i - 1][j - 1]) / (4**j - 1)
    return r[3][3]


def adaptive(a: float = 2.0) -> float:
    def simpson_of(f: Callable[[float], float], lo: float, hi: float) -> float:
        return (hi - lo) / 6 * (f(lo) + 4 * f((lo + hi) / 2) + f(hi))

    def integrate(f: Callable[[float], float], lo: float, hi: float, eps: float, whole: float) -> float:
        mid = (lo + hi) / 2
        left, right = simpson_of(f, lo, mid), simpson_of(f, mid, hi)
        if abs(left + right - whole) <= 15 * eps:
            return left + right + (left + right - whole) / 15
        return integrate(f, lo, mid, eps / 2, left) + integrate(f, mid, hi, eps / 2, right)

    f = lambda x: math.sqrt(a + x) * math.sin(x)
    return integrate(f, 0.0, 2.0, 1e-3, simpson_of(f, 0.0, 2.0))


def gauss_legendre(a: float = 0.5) -> float:
    nodes = (-0.7745966692414834, 0.0, 0.7745966692414834)
    weights = 5 / 9, 8 / 9, 5 / 9
    return sum(w * math.exp(a * x) for x, w in zip(nodes, weights))


def of_samples(x: float = 0.5) -> float:
    xs = [0.0, 0.5, 1.5, 2.0]
    ys = [x, x**2, 1.0, 3.0 * x]
    return sum((x1 - x0) * (y0 + y1) / 2 for x0, x1, y0, y1 in zip(xs, xs[1:], ys, ys[1:]))


def pairwise_differences(x: float = 0.5) -> list[float]:
    ys = [x * t**2 for t in range(5)]
    return [b - a for a, b in itertools.pairwise(ys)]


def horner(x: float = 1.5) -> float:
    coefficients = [2.0, -6.0, 2.0, -1.0]
    result = 0.0
    for c in coefficients:
        result = result * x + c
    return result


def horner_by_reduce(x: float = 1.5) -> float:
    return reduce(lambda acc, c: acc * x + c, [2, -6, 2, -1], 0)


def power_sum(x: float = 1.5, coefficients: Sequence[float] = (1.0, 0.0, 2.0, 0.5)) -> float:
    return sum(c * x**i for i, c in enumerate(coefficients))


def product_of_polynomials(a: float = 1.5, b: float = -0.5) -> list[float]:
    p, q = [a, 1.0, b], [b, a]
    result = [0.0] * (len(p) + len(q) - 1)
    for i, x in enumerate(p):
        for j, y in enumerate(q):
            result[i + j] += x * y
    return result


def synthetic_division(r: float = 1.5) -> tuple[list[float], float]:
    poly = [1.0, -6.0, 11.0, -6.0]
    out = [poly[0]]
    for c in poly[1:]:
        out.append(c + r * out[-1])
    *quotient, remainder = out
    return quotient, remainder


def lagrange(x: float = 1.3) -> float:
    points = [(0.0, 1.0), (1.0, 3.0), (2.0, 2.0), (3.0, 5.0)]
    total = 0.0
    for i, (xi, yi) in enumerate(points):
        term = yi
        for j, (xj, _) in enumerate(points):
            if i != j:
                term *= (x - xj) / (xi - xj)
        total += term
    return total


def divided_differences(x: float = 1.3, y1: float = 3.0) -> float:
    xs = [0.0, 1.0, 2.0, 4.0]
    coef = [1.0, y1, 2.0, 5.0]
    n = len(xs)
    for j in range(1, n):
        for i in range(n - 1, j - 1, -1):
            coef[i] = (coef[i] - coef[i - 1]) / (xs[i] - xs[i - j])
    result = coef[-1]
    for k in reversed(range(n - 1)):
        result = result * (x - xs[k]) + coef[k]
    return result


def linear_interpolation(x: float = 1.3) -> float:
    xs, ys = [0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 2.0, 5.0]
    if x <= xs[0]:
        return ys[0]
    for (x0, y0), (x1, y1) in zip(zip(xs, ys), zip(xs[1:], ys[1:])):
        if x0 <= x < x1:
            t = (x - x0) / (x1 - x0)
            return (1 - t) * y0 + t * y1
    return ys[-1]


def cubic_hermite(t: float = 0.3, m0: float = 1.0) -> float:
    h00, h10 = 2 * t**3 - 3 * t**2 + 1, t**3 - 2 * t**2 + t
    h01, h11 = -2 * t**3 + 3 * t**2, t**3 - t**2
    return np.dot([h00, h10, h01, h11], [1.0, m0, 2.0, -1.0])


def chebyshev(x: float = 0.3, n: int = 5) -> float:
    t = [1, x]
    for k in range(2, n + 1):
        t.append(2 * x * t[k - 1] - t[k - 2])
    return t[n]


def legendre(x: float = 0.3) -> float:
    def p(n: int) -> float:
        if n == 0:
            return 1.0
        if n == 1:
            return x
        return ((2 * n - 1) * x * p(n - 1) - (n - 1) * p(n - 2)) / n

    return p(4)


def bernstein(t: float = 0.3) -> tuple[float, float]:
    control = [(0.0, 0.0), (1.0, 2.0), (3.0, 3.0), (4.0, 0.0)]
    n = len(control) - 1
    b = [math.comb(n, i) * t**i * (1 - t) ** (n - i) for i in range(n + 1)]
    return sum(w * px for w, (px, _) in zip(b, control)), sum(w * py for w, (_, py) in zip(b, control))


def de_casteljau(t: float = 0.3) -> float:
    points = [0.0, 1.0, 3.0, 2.5]
    while len(points) > 1:
        points = [(1 - t) * a + t * b for a, b in zip(points[:-1], points[1:])]
    return points[0]


def continued_fraction(x: float = 0.3) -> float:
    result = 0.0
    for a in reversed([1, 2, 2, 2, 2]):
        result = x / (a + result) if result else x / a
    return result


def taylor_series(x: float = 0.8) -> float:
    term, total, n = 1.0, 0.0, 0
    while abs(term) > 1e-12:
        total += term
        n += 1
        term *= x / n
    return total


def richardson(x: float = 0.8) -> float:
    f = lambda t: math.sin(t * x)
    d = lambda h: (f(1 + h) - f(1 - h)) / (2 * h)
    h = 0.1
    return (4 * d(h / 2) - d(h)) / 3


def simpson_in_numpy(a: float = 0.5) -> float:
    x = np.linspace(0, 2, 7)
    y = np.exp(-a * x**2)
    h = x[1] - x[0]
    return h / 3 * (y[0] + y[-1] + 4 * y[1:-1:2].sum() + 2 * y[2:-1:2].sum())


def polynomial_in_numpy(a: float = 0.5) -> float:
    p = np.array([a, -1.0, 2.0])
    return float(np.polyval(p, a) + np.polyval(np.polyder(p), 2.0) + np.sum(np.convolve(p, [1.0, a])))


def vandermonde_fit(a: float = 0.5) -> float:
    x = np.array([0.0, 1.0, 2.0, 3.0])
    y = a * x**2 + np.array([0.1, -0.1, 0.2, 0.0])
    A = np.vander(x, 3, increasing=True)
    coef = np.linalg.solve(A.T @ A, A.T @ y)
    return float(coef @ np.array([1, 2, 4]))
