"""Functions for which plain floating point is not good enough: slopes that cancel, and the gamma family.

In: floats.  Out: floats, correctly rounded but for rare ties. Called by the rows of numbers.py and by nobody else; knows
no row, no value but floats.

The sums behind digamma and its relatives cancel: near their zeros, of which the negative axis has one between any two poles, a
double keeps no digit. Here they are done in fixed point, on Python's integers, with enough bits for 53 to survive; that
costs some 50 µs a call. Formulas: recurrence, asymptotic series and reflection (Abramowitz & Stegun 6.1.40, 6.3.18, 6.4).
"""

from __future__ import annotations

import math
from functools import cache

INFINITY = math.inf
NAN = math.nan

GUARD = 192  # bits behind the point: 53 of the result, 60 a small argument loses, 53 near a zero, and some
TINY = 2.0**-60  # below it the pole at 0 is all there is, above its reciprocal the first term of the series
SERIES_TERMS = 26
SERIES_FROM = 34  # the series in 1/x, cut after so many terms, is exact to 2^-130 from here on
MOST_DERIVATIVES = 1000


def two_product(x: float, y: float) -> tuple[float, float]:
    """x·y as a rounded product and its error, exact while nothing overflows (Dekker's splitting)."""
    product = x * y
    if not 1e-140 < abs(product) < 1e290 or not abs(x) < 1e290 or not abs(y) < 1e290:
        return product, 0.0
    split_x, split_y = x * 134217729.0, y * 134217729.0
    high_x, high_y = split_x - (split_x - x), split_y - (split_y - y)
    low_x, low_y = x - high_x, y - high_y
    return product, ((high_x * high_y - product) + high_x * low_y + low_x * high_y) + low_x * low_y


def _two_sum(x: float, y: float) -> tuple[float, float]:
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def _ratio_of_sum(x: float, total: float, error: float) -> float:
    """x / (total + error), rounded once."""
    quotient = x / total
    product, product_error = two_product(quotient, total)
    return quotient + ((x - product) - product_error - quotient * error) / total


def direction(x: float, y: float) -> float:
    """x / hypot(x, y), in which the rounding of hypot is made up for; 0 at the origin."""
    distance = math.hypot(x, y)
    if distance == 0:
        return x
    if math.isinf(x):
        return NAN if math.isinf(y) else math.copysign(1.0, x)
    if not 1e-60 < distance < 1e140 or abs(x) < 1e-130:
        return x / distance
    total, error = _sum_of_squares(x, y)
    square, square_error = two_product(distance, distance)
    return _ratio_of_sum(x, distance, 0.5 * ((total - square) + (error - square_error)) / distance)


def _sum_of_squares(x: float, y: float) -> tuple[float, float]:
    (xx, x_error), (yy, y_error) = two_product(x, x), two_product(y, y)
    total, error = _two_sum(xx, yy)
    return total, error + (x_error + y_error)


def inversion(x: float, y: float) -> float:
    """x / (x² + y²); nan at the origin."""
    distance = math.hypot(x, y)
    if distance == 0 or math.isinf(distance):
        return NAN if distance == 0 else math.copysign(0.0, x) if not math.isinf(x) or not math.isinf(y) else NAN
    if not 1e-60 < distance < 1e140 or abs(x) < 1e-130:
        return x / distance / distance
    return _ratio_of_sum(x, *_sum_of_squares(x, y))


def gaussian(x: float) -> float:
    """exp(-x²); the error of x² is made up for, as exp would multiply it by x²."""
    square, error = two_product(x, x)
    result = math.exp(-square)
    return result - result * error


def power(x: float, y: float) -> float:
    """x to the y, as C's pow."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return -INFINITY if x < 0 and y % 2 == 1 else INFINITY
    except ValueError:
        if x == 0:  # a negative power of zero
            return math.copysign(INFINITY, x) if y % 2 == 1 else INFINITY
        return NAN


def lowered_power(x: float, y: float, n: float) -> float:
    """x to the (y - n), the exact difference: its rounding error counts log x times."""
    exponent, error = _two_sum(y, -n)
    result = power(x, exponent)
    correct = error != 0 and 0.0 < x < INFINITY and 0.0 < result < INFINITY and abs(error) < INFINITY
    return result + result * (error * math.log(x)) if correct else result


def conic(c: float, d: float, k: float, x: float) -> float:
    """(c + d x²) to the -k/2 for c, d = ±1 and k = 1, 2, 3, …, rounded once: exact on integers up to the root."""
    if abs(x) < 1e-10 or not abs(x) < 1e10:
        return power(c, -0.5 * k) if abs(x) < 1 else power(d, -0.5 * k) * power(abs(x), -k)
    numerator, denominator = x.as_integer_ratio()
    square, exponent = denominator * denominator, int(k)
    total = int(c) * square + int(d) * numerator * numerator
    if total == 0:
        return INFINITY
    if exponent % 2 == 0:
        return _quotient(square ** (exponent // 2), total ** (exponent // 2))
    if total < 0:
        return NAN
    above, below = square**exponent, total**exponent
    shift = max(0, 66 + (below.bit_length() - above.bit_length()) // 2)
    return _quotient(math.isqrt((above << 2 * shift) // below), 1 << shift)


def _quotient(numerator: int, denominator: int) -> float:
    """The nearest float."""
    try:
        return numerator / denominator
    except OverflowError:
        return INFINITY if (numerator > 0) == (denominator > 0) else -INFINITY


# Fixed point: an integer v stands for v / 2^p.


def _fixed(x: float, p: int) -> int:
    numerator, denominator = x.as_integer_ratio()
    return (numerator << p) // denominator


def _real(v: int, p: int) -> float:
    return _quotient(v, 1 << p)


def _artanh_of_inverse(n: int, p: int) -> int:
    """artanh(1/n)."""
    power = total = (1 << p) // n
    k = 1
    while power:
        power //= n * n
        k += 2
        total += power // k
    return total


@cache
def _log_two(p: int) -> int:
    return 2 * _artanh_of_inverse(3, p + 8) >> 8


@cache
def _pi(p: int) -> int:
    """Machin: 16 arctan(1/5) - 4 arctan(1/239)."""

    def arctan(n: int) -> int:
        power = total = (1 << p + 8) // n
        k, sign = 1, 1
        while power:
            power //= n * n
            k, sign = k + 2, -sign
            total += sign * (power // k)
        return total

    return 16 * arctan(5) - 4 * arctan(239) >> 8


def _log(v: int, p: int) -> int:
    """The logarithm of v > 0: 2 artanh of a number below 1/5, and powers of two."""
    shift = v.bit_length() - p
    one = 1 << p
    y = v >> shift if shift > 0 else v << -shift  # in [1/2, 1)
    if 4 * y < 3 * one:
        y, shift = 2 * y, shift - 1
    z = ((y - one) << p) // (y + one)
    square, power, total, k = z * z >> p, z, z, 1
    while power not in (0, -1):
        power = power * square >> p
        k += 2
        total += power // k
    return 2 * total + shift * _log_two(p)


def _exp(v: int, p: int) -> tuple[int, int]:
    """exp v as (m, k) for m·2^k: Taylor on a 256th of what is left after powers of two, squared back."""
    k, rest = divmod(v, _log_two(p))
    work = p + 16
    rest <<= 16 - 8
    total = term = 1 << work
    n = 1
    while term:
        term = (term * rest >> work) // n
        total += term
        n += 1
    for _ in range(8):
        total = total * total >> work
    return total >> 16, k


def _sine_cosine_of_pi(f: float, p: int) -> tuple[int, int]:
    """sin πf and cos πf for |f| <= 1/2."""
    angle = _pi(p) * _fixed(f, p) >> p
    square = angle * angle >> p
    sine = term = angle
    n = 1
    while term not in (0, -1):
        term = -(term * square >> p) // ((n + 1) * (n + 2))
        sine += term
        n += 2
    cosine = term = 1 << p
    n = 0
    while term not in (0, -1):
        term = -(term * square >> p) // ((n + 1) * (n + 2))
        cosine += term
        n += 2
    return sine, cosine


@cache
def _bernoulli() -> tuple[tuple[int, int], ...]:
    """B2, B4, … as (numerator, denominator), by the tangent numbers."""
    tangent = [0, 1]
    for k in range(2, SERIES_TERMS + 1):
        tangent.append((k - 1) * tangent[k - 1])
    for k in range(2, SERIES_TERMS + 1):
        for j in range(k, SERIES_TERMS + 1):
            tangent[j] = (j - k) * tangent[j - 1] + (j - k + 2) * tangent[j]
    numbers = []
    for k in range(1, SERIES_TERMS + 1):
        four = 4**k
        numbers.append(((1 if k % 2 else -1) * 2 * k * tangent[k], four * (four - 1)))
    return tuple(numbers)


def _is_pole(x: float) -> bool:
    return x <= 0 and x == math.floor(x)


# polygamma.


def polygamma(n: float, x: float) -> float:
    """The n-th derivative of digamma, n = 0, 1, 2, …; at poles of even n nan, for the two sides differ."""
    if x != x or x == -INFINITY or not 0 <= n <= MOST_DERIVATIVES or n != math.floor(n):
        return NAN
    order = int(n)
    if _is_pole(x):
        return NAN if order % 2 == 0 else INFINITY
    sign = -1 if order % 2 == 0 else 1
    if abs(x) < TINY:
        return sign * _ratio(math.factorial(order), x, order + 1)
    if x > 1 / TINY:
        if order == 0:
            return math.log(x)
        return sign * _ratio(math.factorial(order - 1), x, order) if x < INFINITY else 0.0 * sign
    p = GUARD + (order + 2) * max(0, math.frexp(x)[1])
    if x > 0:
        return _real(_polygamma(order, x, p), p)
    mirrored = _polygamma(order, 0, p, shift=_fixed(-x, p))
    return _real(-sign * mirrored - _cotangent(order, x, p), p)


def _ratio(factorial: int, x: float, power: int) -> float:
    """factorial / x^power."""
    numerator, denominator = x.as_integer_ratio()
    return _quotient(factorial * denominator**power, numerator**power)


def _polygamma(n: int, x: float, p: int, shift: int | None = None) -> int:
    """Of x > 0, or of 1 + shift: sum 1/(x+k)^(n+1) until the series takes over."""
    one = 1 << p
    v = one + shift if shift is not None else _fixed(x, p)
    start = SERIES_FROM + n << p
    total = 0
    top = 1 << p * (n + 2)
    while v < start:
        total += top // v ** (n + 1)
        v += one
    total *= math.factorial(n)
    if n == 0:
        return _log(v, p) - (one * one // (2 * v)) - total - _series(0, v, p)
    leading = math.factorial(n - 1) * (1 << p * (n + 1)) // v**n
    leading += math.factorial(n) * (1 << p * (n + 2)) // (2 * v ** (n + 1))
    return (total + leading + _series(n, v, p)) * (1 if n % 2 else -1)


def _series(n: int, v: int, p: int) -> int:
    """Σ B2k (2k+n-1)! / (2k)! / v^(2k+n)."""
    square = v * v >> p
    power = (1 << p * (n + 1)) // v**n if n else 1 << p
    total = 0
    for k, (numerator, denominator) in enumerate(_bernoulli(), 1):
        power = (power << p) // square
        total += power * numerator * math.factorial(2 * k + n - 1) // (denominator * math.factorial(2 * k))
    return total


def _cotangent(n: int, x: float, p: int) -> int:
    """The n-th derivative of π cot πx, as a polynomial in c = cot πx: dc/dx = -π (1 + c²)."""
    sine, cosine = _sine_cosine_of_pi(x - round(x), p)
    cotangent = (cosine << p) // sine
    coefficients = [0, 1]
    for _ in range(n):
        following = [0] * (len(coefficients) + 1)
        for k, c in enumerate(coefficients[1:], 1):
            following[k - 1] -= k * c
            following[k + 1] -= k * c
        coefficients = following
    total = 0
    for c in reversed(coefficients):
        total = (total * cotangent >> p) + (c << p)
    pi = _pi(p)
    for _ in range(n + 1):
        total = total * pi >> p
    return total


# gamma and its logarithm.


def _log_gamma(v: int, p: int) -> int:
    """log Γ of v >= TINY in fixed point."""
    one = 1 << p
    product = one
    while v < SERIES_FROM << p:
        product = product * v >> p
        v += one
    result = ((v - (one >> 1)) * _log(v, p) >> p) - v + (_log(2 * _pi(p), p) >> 1)
    square = v * v >> p
    power = v
    for k, (numerator, denominator) in enumerate(_bernoulli(), 1):
        power = (power << p) // square
        result += power * numerator // (denominator * 2 * k * (2 * k - 1))
    return result - _log(product, p)


def _log_gamma_reflected(x: float, p: int) -> int:
    """log |Γ(x)| of x < 0: log π - log |sin πx| - log Γ(1 - x)."""
    sine, _ = _sine_cosine_of_pi(x - round(x), p)
    return _log(_pi(p), p) - _log(abs(sine), p) - _log_gamma((1 << p) + _fixed(-x, p), p)


def log_gamma(x: float) -> float:
    """log |Γ(x)|; infinity at the poles."""
    if x != x:
        return x
    if x in (INFINITY, -INFINITY) or _is_pole(x):
        return INFINITY
    if x == 1 or x == 2:
        return 0.0
    if abs(x) < TINY:
        return -math.log(abs(x))
    if x > 8:
        return _large_log_gamma(x)
    p = GUARD + 64
    return _real(_log_gamma(_fixed(x, p), p) if x > 0 else _log_gamma_reflected(x, p), p)


def _large_log_gamma(x: float) -> float:
    """Of large x, where the C library's way loses less than a unit in the last place."""
    try:
        return math.lgamma(x)
    except OverflowError:
        return INFINITY


def gamma(x: float) -> float:
    """Γ(x): signed infinity at ±0, nan at the other poles."""
    if x == 0:
        return math.copysign(INFINITY, x)
    if x != x or x == INFINITY:
        return x
    if _is_pole(x):
        return NAN
    if abs(x) < TINY:
        return 1.0 / x
    if x > 172.0:
        return INFINITY
    if x == math.floor(x):
        return float(math.factorial(int(x) - 1))
    if x < -190.0:
        return 0.0 if math.floor(x) % 2 == 0 else -0.0
    p = GUARD + 64
    logarithm = _log_gamma(_fixed(x, p), p) if x > 0 else _log_gamma_reflected(x, p)
    mantissa, k = _exp(logarithm, p)
    size = _quotient(mantissa << k, 1 << p) if k >= 0 else _quotient(mantissa, 1 << p - k)
    return size if x > 0 or math.floor(x) % 2 == 0 else -size
