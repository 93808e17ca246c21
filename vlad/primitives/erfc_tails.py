"""erfcx, the logarithms of erfc and of the normal distribution, and the derivatives of all three.

In: floats.  Out: floats, to a few units in the last place. Called by the rows of numbers.py only; functions.c has
the same for compiled programs.

For x > 0 all derive from p, with which erfcx x = 1/√π / (x + p): Laplace's continued fraction p = (1/2) / (x + (2/2) / (x + …)),
in which nothing cancels, whereas erfcx' = 2 x erfcx - 2/√π does (Abramowitz & Stegun 7.1.14, 7.2.9). Its k-th part is -1/2 times
the ratio of the k-th derivative of erfcx to the one before. The derivative of log erfc is -2 (x + p), so higher ones are those of
p, whose series follows from the fraction. Near 0 and below, where the fraction converges slowly or not at all, the recurrence is
stable, and log erfc is differentiated as a quotient of series.
"""

from __future__ import annotations

import math

from vlad.primitives.special import INFINITY, MOST_DERIVATIVES, NAN, gaussian, two_product

MIDDLE = 0.5  # the fraction is used above it
ONE_OVER_ROOT_PI = 0.5641895835477563
ROOT_HALF = 0.7071067811865476


def _terms(n: int, x: float) -> int:
    """The number of parts of the fraction that give the n-th derivative: the error decreases by exp(-2x √2k)."""
    return 24 + 8 * n + int((180.0 + 40.0 * n) / (x * x))


def _parts(n: int, x: float) -> list[float]:
    """The parts of the fraction from the first to number n."""
    last = _terms(n, x)
    p, found = 0.5 * last / (x + math.sqrt(0.5 * last)), []
    for k in range(last, 0, -1):
        p = 0.5 * k / (x + p)
        if k <= n:
            found.append(p)
    return found[::-1]


def _exp_of_square(x: float) -> float:
    """exp(x²), corrected for the rounding error of x²."""
    square, error = two_product(x, x)
    try:
        result = math.exp(square)
    except OverflowError:
        return INFINITY
    return result + result * error if error else result


def erfcx(x: float) -> float:
    """exp(x²) erfc(x)."""
    if x != x:
        return x
    if x < 2.0:  # where the fraction needs too many parts
        return _exp_of_square(x) * math.erfc(x)
    return ONE_OVER_ROOT_PI / (x + _parts(1, x)[0])


def erfcx_derivative(n: float, x: float) -> float:
    """The n-th derivative of erfcx."""
    if x != x or not 0 <= n <= MOST_DERIVATIVES or n != math.floor(n):
        return NAN
    order = int(n)
    if x < MIDDLE:
        before, value = 0.0, erfcx(x)
        for k in range(order):
            following = 2.0 * x * value + (2.0 * k * before if k else -2.0 * ONE_OVER_ROOT_PI)
            before, value = value, following
        return value
    parts = _parts(max(1, order), x)
    value = ONE_OVER_ROOT_PI / (x + parts[0])
    for p in parts[:order]:
        value *= -2.0 * p
    return value


def log_erfc(x: float) -> float:
    if x != x:
        return x
    return (
        math.log1p(-math.erf(x)) if x < MIDDLE else math.log(erfcx(x)) - x * x if x < INFINITY else -INFINITY
    )


def log_erfc_derivative(n: float, x: float) -> float:
    """The n-th derivative of log erfc."""
    return _tail(n, x, gaussian(x))


def log_normal_cdf(x: float) -> float:
    """The logarithm of the normal distribution function at x. x/√2, which is rounded, is only passed to erfcx, which varies
    slowly.
    """
    if x != x or math.isinf(x):
        return 0.0 if x > 0 else x
    tail = 0.5 * erfcx(abs(x) * ROOT_HALF)
    return math.log(tail) - 0.5 * (x * x) if x < 0 else math.log1p(-tail * _half_gaussian(x))


def log_normal_cdf_derivative(n: float, x: float) -> float:
    """The n-th derivative of log_normal_cdf."""
    if not 1 <= n <= MOST_DERIVATIVES or n != math.floor(n):
        return NAN
    scale = math.ldexp(1.0 if n % 2 == 0 else -ROOT_HALF, -(int(n) // 2))
    return scale * _tail(n, -ROOT_HALF * x, _half_gaussian(x))


def _half_gaussian(x: float) -> float:
    """exp(-x²/2)."""
    square, error = two_product(x, x)
    result = math.exp(-0.5 * square)
    return result - result * (0.5 * error)


def _tail(n: float, x: float, density: float) -> float:
    """The n-th derivative of log erfc; `density` is exp(-x²)."""
    if x != x or not 1 <= n <= MOST_DERIVATIVES or n != math.floor(n):
        return NAN
    order = int(n)
    if x < MIDDLE:
        series = _small_series(order, x, density) if density else [-0.0] * order
    else:
        series = _large_series(order, x)
    return math.factorial(order - 1) * series[-1]


def _small_series(n: int, x: float, density: float) -> list[float]:
    """n coefficients of the derivative of log erfc around x, a quotient: of -2/√π exp(-x²) and erfc."""
    slopes, below = [density], [math.erfc(x)]
    for k in range(1, n):
        slopes.append((-2.0 * x * slopes[-1] - (2.0 * slopes[-2] if k > 1 else 0.0)) / k)
        below.append(-2.0 * ONE_OVER_ROOT_PI * slopes[k - 1] / k)
    found: list[float] = []
    for k in range(n):
        total = -2.0 * ONE_OVER_ROOT_PI * slopes[k]
        for j in range(1, k + 1):
            total -= below[j] * found[k - j]
        found.append(total / below[0])
    return found


def _large_series(n: int, x: float) -> list[float]:
    """n coefficients of -2 (x + p) around x."""
    last = _terms(n, x)
    root = math.sqrt(0.5 * last)
    p = [0.5 * last / (x + root)] + [0.0] * (n - 1)
    for k in range(last, -1, -1):
        p[0] += x
        if n > 1:
            p[1] += 1.0
        if k == 0:
            break
        inverse = [0.5 * k / p[0]]
        for j in range(1, n):
            total = 0.0
            for i in range(1, j + 1):
                total += p[i] * inverse[j - i]
            inverse.append(-total / p[0])
        p = inverse
    return [-2.0 * coefficient for coefficient in p]
