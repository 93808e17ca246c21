"""Arithmetic, and functions of numbers."""

from __future__ import annotations

import math
from math import sin as sine


def divisions(a: float = -7.5, b: float = 2.0) -> list[float]:
    return [a / b, a // b, a % b, *divmod_list(a, b), -7 // 2, -7 % 3, 7 % -3, 7.5 // -2]


def divmod_list(a: float = 7.0, b: float = 2.0) -> list[float]:
    q, r = divmod(a, b)
    return [q, r]


def by_zero(x: float = 1.0) -> float:
    return x / (x - 1)


def remainder_by_zero(x: float = 1.0) -> float:
    return x % 0


def powers(x: float = 1.7) -> list[float]:
    return [x**2, x**-1.5, 2**x, x**0, (-2) ** 3, pow(x, 3), 0**0, math.pow(x, 0.5)]


def small_powers(x: float = -1.7) -> list[float]:
    y = x
    y **= 3
    return [x**2, x**3, x**4, x**2.0, y, (x > 0) ** 3, math.inf**3, (-math.inf) ** 3, x**2 == x * x, 0.0**4]


def cube_out_of_range(x: float = 1e200) -> float:
    return x**3


def fourth_power_out_of_range(x: float = -1e100) -> float:
    return x**4


def rounded(x: float = 2.567) -> list[float]:
    return [
        round(x),
        round(x, 2),
        round(2.5),
        round(-1.5),
        int(x),
        int(-x),
        math.floor(x),
        math.ceil(x),
        math.trunc(-x),
        float(3),
    ]


def elementary(x: float = 0.4) -> list[float]:
    return [
        math.sin(x), math.cos(x), math.tan(x), math.exp(x), math.log(x), math.log(x, 2), math.log2(x), math.log10(x), math.log1p(x),
        math.expm1(x), math.sqrt(x), math.asin(x), math.acos(x), math.atan(x), math.atan2(x, -1.0), math.sinh(x), math.cosh(x),
        math.tanh(x), math.asinh(x), math.acosh(1 + x), math.atanh(x), math.erf(x), math.erfc(x), math.gamma(x), math.lgamma(x),
        math.hypot(x, 2.0), math.fabs(-x), math.copysign(x, -1.0), math.fmod(7.5, 2.0), math.degrees(x), math.radians(x),
        math.gcd(12, 18), math.factorial(5), sine(x),
    ]  # fmt: skip


def constants() -> list[float]:
    return [math.pi, math.e, math.inf, math.tau]


def special(x: float = 1.0) -> list[bool]:
    return [math.isnan(math.nan * x), math.isinf(math.inf * x), math.isfinite(x)]


def of_a_negative_number(x: float = -1.0) -> float:
    return math.sqrt(x)


def overflows(x: float = 1000.0) -> float:
    return math.exp(x)


def slope(x: float = 0.7) -> float:
    return math.sin(x) * math.exp(-x * x) / (1 + abs(x)) - math.log(1 + x) ** 2


def mixed(x: float = 0.7, n: int = 3) -> float:
    y = x
    y += n
    y -= 1
    y *= x
    y /= 2
    y **= 2
    y //= 0.1
    y %= 3
    return -y + +x


def raises(x: float = 3.0) -> float:
    if x > 2:
        raise ValueError(f"too large: {x}")
    return x


def asserts(x: float = 3.0) -> float:
    assert x < 2, "x is small"
    return x


def exact_logarithms() -> list[float]:
    return [math.log10(1000.0), math.log2(536870912.0), math.log10(1e-5), math.log2(0.125), math.log10(2.0), int(math.log10(1e15))]


def slope_of_a_logarithm(x: float = 1000.0) -> float:
    return math.log10(x) + math.log2(x)


def rounded_to_digits(x: float = 1.115) -> list[float]:
    return [
        round(x, 2), round(2.675, 2), round(0.15, 1), round(1.25, 1), round(-2.675, 2), round(1.005, 2), round(1234.5, -2),
        round(x, 400), round(x, None), round(1e300, 3), round(0.5, 0), round(2.5, 0), round(1e22 + 1, 2),
    ]  # fmt: skip


def beyond_all_numbers(x: float = float("inf")) -> list[float]:
    return [-1.0 // x, 1.0 // x, -1.0 // -x, min(x, float("-inf")), float("Infinity"), 5 % x]


def floor_of_infinity(x: float = float("inf")) -> float:
    return math.floor(x)


def sine_of_infinity(x: float = float("inf")) -> float:
    return math.sin(x)


def powers_of_zero(x: float = 0.0) -> float:
    return math.pow(x, -1)


def more_functions(x: float = 2.0) -> list[float]:
    return [math.prod([x, 3.0]), math.fsum([x, 0.5]), math.dist((x, 1.0), (0.0, 0.0)), math.comb(5, 2), math.exp2(x), math.cbrt(-8.0)]


def counted(xs=(1.0, 3.0, 2.0), least=1.5):
    return sum(x > least for x in xs) + sum([x > least for x in xs])
