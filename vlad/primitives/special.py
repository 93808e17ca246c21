"""Functions for which plain floating point is not accurate enough: derivatives that cancel, and the gamma family.

In: floats.  Out: floats, correctly rounded except for rare ties. Called by the rows of numbers.py only; depends on floats alone.

The sums behind digamma and its relatives cancel: near their zeros, of which the negative axis has one between any two poles, a
double keeps no digit. Here they are computed in fixed point, on Python's integers, with enough bits for 53 to survive; that
costs some 50 µs a call. Formulas: recurrence, asymptotic series and reflection (Abramowitz & Stegun 6.1.40, 6.3.18, 6.4).

The file is long because each function has its series, its continued fraction and its bounds side by side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

INFINITY = math.inf
NAN = math.nan

GUARD = 192  # bits behind the point: 53 of the result, 60 lost by a small argument, 53 lost near a zero, and a reserve
TINY = 2.0**-60  # below it the pole at 0 dominates, above its reciprocal the first term of the series
SERIES_TERMS = 26
SERIES_FROM = 34  # the series in 1/x, cut after so many terms, is exact to 2^-130 from here on
FAR_POWER = 40  # as a power of two
MOST_SCALES = 100  # of a power: one for each derivative
MOST_DERIVATIVES = 60  # of polygamma: the work is cubic in it


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


def sech_squared(x: float) -> float:
    """1 / cosh² x, as 4e / (1 + e)² with e = exp -2|x|: nothing overflows, one rounding of an exponential."""
    e = math.exp(-2.0 * abs(x))
    total, rounding = _two_sum(1.0, e)
    square, error = two_product(total, total)
    return _ratio_of_sum(4.0 * e, square, error + 2.0 * total * rounding)


def sharp_tanh(x: float) -> float:
    """tanh x as (1 - e²)/(1 + e²) with e = exp -|x|, for small x as m/(m + 2) with m = expm1 2|x|."""
    if abs(x) < 0.4:
        m = math.expm1(2.0 * abs(x))
        return math.copysign(_ratio_of_sum(m, *_two_sum(2.0, m)), x)
    e = math.exp(-abs(x))
    square, error = two_product(e, e)
    (total, rounding), (difference, lost) = _two_sum(1.0, square), _two_sum(1.0, -square)
    quotient = _ratio_of_sum(difference, total, rounding + error)
    return math.copysign(quotient + (lost - error) / total, x)


def direction(x: float, y: float) -> float:
    """x / hypot(x, y), corrected for the rounding of hypot; 0 at the origin."""
    distance = math.hypot(x, y)
    if distance == 0 or math.isinf(distance) or distance != distance:
        return _far(x, y) if distance else x
    scale = binary_scale(distance, 0.0)
    x, y, distance = x * scale, y * scale, distance * scale
    total, error = _sum_of_squares(x, y)
    square, square_error = two_product(distance, distance)
    return _ratio_of_sum(x, distance, 0.5 * ((total - square) + (error - square_error)) / distance)


def _far(x: float, y: float) -> float:
    if math.isinf(x):
        return NAN if math.isinf(y) else math.copysign(1.0, x)
    return math.copysign(0.0, x) if math.isinf(y) else x * 0.5 / math.hypot(0.5 * x, 0.5 * y)


def _sum_of_squares(x: float, y: float) -> tuple[float, float]:
    (xx, x_error), (yy, y_error) = two_product(x, x), two_product(y, y)
    total, error = _two_sum(xx, yy)
    return total, error + (x_error + y_error)


def inversion(x: float, y: float) -> float:
    """x / (x² + y²); nan at the origin."""
    if x == 0 and y == 0:
        return NAN
    if not (math.isfinite(x) and math.isfinite(y)):
        return _far(x, y) / math.hypot(x, y)
    scale = binary_scale(x, y)
    return _ratio_of_sum(x * scale, *_sum_of_squares(x * scale, y * scale)) * scale


def gaussian(x: float) -> float:
    """exp(-x²), corrected for the rounding error of x², which exp would multiply by x²."""
    square, error = two_product(x, x)
    result = math.exp(-square)
    return result - result * error


def gaussian_slope(x: float) -> float:
    """-2x exp(-x²)."""
    density = gaussian(x)
    return -2.0 * (x * density) if density else math.copysign(0.0, -x)


def gaussian_curve(x: float) -> float:
    """(4x² - 2) exp(-x²), with the exact x²: there is a zero at 1/√2."""
    density = gaussian(x)
    if not density:
        return 0.0
    square, error = two_product(x, x)
    return ((4.0 * square - 2.0) + 4.0 * error) * density


def tanh_second(x: float) -> float:
    """The second derivative of tanh."""
    return -2.0 * (sech_squared(x) * sharp_tanh(x))


def tanh_third(x: float) -> float:
    """The third derivative of tanh, 16e (1 - 4e + e²)/(1 + e)⁴ with e = exp -2|x|; around its zero in fixed point."""
    if 0.25 < abs(x) < 1.5:
        mantissa, k = _exp(_fixed(-2.0 * abs(x), GUARD), GUARD)
        e = mantissa << k if k >= 0 else mantissa >> -k
        one = 1 << GUARD
        return _quotient(16 * e * (one * one - 4 * e * one + e * e) * one, (one + e) ** 4)
    slope = sech_squared(x)
    if abs(x) < 1.0:
        value = sharp_tanh(x)
        return 2.0 * slope * (3.0 * (value * value) - 1.0)
    return 2.0 * slope * (2.0 - 3.0 * slope)


def _by_parts(x: float, y: float, above: Callable[[int, int], int], degree: int, power: int) -> float:
    """above(x, y) / (x² + y²)^power, exact on integers except for one rounding; `above` is homogeneous of this degree. nan at the
    origin and for operands that are not finite.
    """
    if not (math.isfinite(x) and math.isfinite(y)) or x == y == 0:
        return NAN
    (p, q), (r, t) = x.as_integer_ratio(), y.as_integer_ratio()
    a, b, unit = p * t, r * q, q * t  # x = a/unit, y = b/unit
    return _quotient(above(a, b) * unit ** (2 * power - degree), (a * a + b * b) ** power)


def inversion_slope(x: float, y: float) -> float:
    """(y² - x²)/(x² + y²)², the derivative of `inversion` by x."""
    return _by_parts(x, y, lambda a, b: b * b - a * a, 2, 2)


def inversion_cross(x: float, y: float) -> float:
    """-2xy/(x² + y²)², the derivative of `inversion` by y."""
    return _by_parts(x, y, lambda a, b: -2 * a * b, 2, 2)


def inversion_curve(x: float, y: float) -> float:
    """2x(x² - 3y²)/(x² + y²)³, the real part of 2/z³."""
    return _by_parts(x, y, lambda a, b: 2 * a * (a * a - 3 * b * b), 3, 3)


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


def binary_scale(x: float, y: float) -> float:
    """The power of two that scales the larger of |x| and |y| into [1, 2), or as near as possible; 1 if both are 0."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return 2.0**-1022
    size = max(abs(x), abs(y))
    return math.ldexp(1.0, max(-1022, min(1022, 1 - math.frexp(size)[1]))) if size else 1.0


def power_scale(x: float, y: float) -> float:
    """The power of two that scales |x| into [1, 2), if y is below -1 and x to the y may be out of range, even for
    floats of 32 bits; else 1.
    """
    if y >= -1 or y != y or x == 0 or not math.isfinite(x) or abs(y * (math.frexp(x)[1] - 1)) <= FAR_POWER:
        return 1.0
    return binary_scale(x, 0.0)


def power_log(x: float, y: float, n: float, m: float, w: float = 0.0, v: float = 1.0) -> float:
    """x^(y - n) (log x)^m v^-w, where w is whole and v a power of two that brings x near 1."""
    result = _power_log(x, y, n, m)
    if v == 1 or w == 0 or x == 0 or not math.isfinite(x):
        return result
    if not (0 < w < MOST_SCALES and 0 < abs(x * v) < INFINITY and v > 0):
        return result * power(v, -w)
    if not 1e-290 < abs(result) < 1e290:  # else dividing by a power of two is exact
        result, v = _power_log(x, y, n - w, m), x * v
    for _ in range(int(w)):
        result /= v
    return result


def _power_log(x: float, y: float, n: float, m: float) -> float:
    """x^(y - n) (log x)^m, with the exact difference: its rounding error counts log x times."""
    exponent, error = _two_sum(y, -n)
    result = power(x, exponent)
    if not (0.0 < x < INFINITY and 0.0 < result < INFINITY and abs(error) < INFINITY):
        return result if m == 0 else result * _log_power(x, m) if 0.0 < x < INFINITY else NAN
    if error:
        result += result * (error * math.log(x))
    return result if m == 0 else result * _log_power(x, m)


def _log_power(x: float, m: float) -> float:
    """(log x)^m; from the square on the logarithm's rounding would count m times."""
    if not (2 <= m <= 20 and m == math.floor(m)):
        return power(math.log(x), m)
    mantissa, exponent = math.frexp(x)
    logarithm = _log(_fixed(mantissa, GUARD), GUARD) + exponent * _log_two(GUARD)
    return _quotient(logarithm ** int(m), 1 << GUARD * int(m))


def conic(c: float, d: float, j: float, k: float, x: float) -> float:
    """x^j (c + d x²)^(-k/2) for d = ±1, j = 0, 1, … below k, rounded once: exact on integers up to the root. c is ±1, or less if
    x is scaled down.
    """
    if not (abs(c) <= abs(d) == 1 and 0 <= j < k < 100 and k == math.floor(k) and j == math.floor(j)):
        return power(x, j) * power(c + d * (x * x), -0.5 * k)
    if abs(x) < 1e-10 and abs(c) == 1:
        return power(c, -0.5 * k) * power(x, j)
    if not abs(x) < 1e10:
        return power(d, -0.5 * k) * math.copysign(power(abs(x), j - k), x if j % 2 else 1.0)
    numerator, denominator = _over_common(x, c)
    order, total = int(k), _conic_total(c, d, numerator, denominator)
    above = numerator ** int(j) * denominator ** (order - int(j))
    if total == 0:
        return math.copysign(INFINITY, x if j % 2 else 1.0)
    if order % 2 == 0:
        return _quotient(above, total ** (order // 2))
    if total < 0:
        return NAN
    below = total**order
    shift = max(0, 66 + below.bit_length() // 2 - above.bit_length())
    size = _quotient(math.isqrt((above * above << 2 * shift) // below), 1 << shift)
    return size if above > 0 else -size


def _over_common(x: float, c: float) -> tuple[int, int]:
    """x as a ratio of integers; c times the square of the denominator is an integer, too."""
    numerator, denominator = x.as_integer_ratio()
    unit = c.as_integer_ratio()[1]
    return numerator * unit, denominator * unit


def _conic_total(c: float, d: float, numerator: int, denominator: int) -> int:
    """c + d x², times the square of the denominator of x."""
    above, below = c.as_integer_ratio()
    return above * denominator * denominator // below + int(d) * numerator * numerator


def conic_slope(c: float, d: float, j: float, k: float, x: float) -> float:
    """The derivative of `conic` by x for j >= 1: x^(j-1) (c + d x²)^(-k/2-1) (j c + (j - k) d x²), the last factor exact."""
    if not (abs(c) <= abs(d) == 1 and 1 <= j < k < 98 and k == math.floor(k) and j == math.floor(j)):
        square = x * x
        return power(x, j - 1) * power(c + d * square, -0.5 * k - 1.0) * (j * c + (j - k) * d * square)
    if not abs(x) < 1e10:
        return (j - k) * d * conic(c, d, j + 1, k + 2, x)
    numerator, denominator = _over_common(x, c)
    above = _conic_total(j * c, (j - k) * d, numerator, denominator)
    return conic(c, d, j - 1, k + 2, x) * _quotient(above, denominator * denominator)


def one_plus_power(k: float, u: float, x: float) -> float:
    """(u + x)^-k, the sum unrounded."""
    total, error = _two_sum(u, x)
    if k == 1 and 0 < abs(total) < INFINITY:
        return _ratio_of_sum(1.0, total, error)
    result = power(total, -k)
    correct = total != 0 and 0 < abs(result) < INFINITY and abs(k) < INFINITY
    return result - result * (k * error / total) if correct else result


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
    """exp v as (m, k) for m·2^k: Taylor on a 256th of the rest after powers of two, squared back."""
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
    return _sine_cosine(_pi(p) * _fixed(f, p) >> p, p)


def _sine_cosine(angle: int, p: int) -> tuple[int, int]:
    """For angles up to about π/2: Taylor."""
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


def sec_squared(x: float) -> float:
    """1 / cos² x. Near the poles a cosine rounded once is not enough for the slopes of this slope."""
    if not abs(x) < INFINITY:
        return NAN
    tangent = math.tan(x)
    if abs(tangent) < 2.0:
        square, error = two_product(tangent, tangent)
        total, rounding = _two_sum(1.0, square)
        return total + (rounding + error)
    p = GUARD + max(0, math.frexp(x)[1])
    angle, pi = _fixed(x, p), _pi(p + 8)
    angle -= (angle * 512 + pi) // (2 * pi) * pi >> 8
    _, cosine = _sine_cosine(angle, p)
    return _quotient(1 << 2 * p, cosine * cosine)


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
    return _real(_polygamma_fixed(order, x, p), p)


def _polygamma_fixed(order: int, x: float, p: int) -> int:
    """polygamma in fixed point; for negative x by reflection."""
    if x > 0:
        return _polygamma(order, x, p)
    mirrored = _polygamma(order, 0, p, shift=_fixed(-x, p))
    return (mirrored if order % 2 == 0 else -mirrored) - _cotangent(order, x, p)


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
    leading: int = math.factorial(n - 1) * (1 << p * (n + 1)) // v**n
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
    """log Γ of large x, where the C library's method loses less than a unit in the last place."""
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
    if x == -INFINITY or _is_pole(x):
        return NAN
    if abs(x) < TINY:
        return 1.0 / x
    if x >= 172.0:
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


def gamma_slope(x: float) -> float:
    """The derivative of Γ."""
    return gamma(x) * polygamma(0.0, x)


def gamma_curve(x: float) -> float:
    """The second derivative of Γ, Γ (ψ² + ψ₁), where both are positive."""
    psi = polygamma(0.0, x)
    return gamma(x) * (psi * psi + polygamma(1.0, x))


def gamma_third(x: float) -> float:
    """The third derivative of Γ, Γ (ψ³ + 3ψψ₁ + ψ₂): the sum has zeros, and is done in fixed point."""
    if x != x or x == -INFINITY or _is_pole(x):
        return NAN
    if abs(x) < TINY:
        return -_ratio(6, x, 4)
    if x >= 172.0:
        return INFINITY
    p = GUARD + 64
    a, b, c = (_polygamma_fixed(order, x, p) for order in range(3))
    total = (((a * a >> p) * a) >> p) + 3 * (a * b >> p) + c
    return gamma(x) * _real(total, p)
