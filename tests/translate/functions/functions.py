"""Functions in functions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

SCALE = 2.5
RATES = [0.5, 0.25]


def factorial(n: int = 6) -> float:
    return 1.0 if n <= 1 else n * factorial(n - 1)


def is_even(n: int = 7) -> bool:
    return n == 0 or is_odd(n - 1)


def is_odd(n: int = 7) -> bool:
    return n != 0 and is_even(n - 1)


def helper(x: float = 1.0, factor: float = 3.0, *, shift: float = 0.5) -> float:
    return x * factor + shift


def by_name(x: float = 2.0) -> list[float]:
    return [helper(x), helper(x, 1.0), helper(x, shift=0.0), helper(factor=2.0, x=x, shift=1.0)]


def nested(x: float = 1.5) -> float:
    def square(y: float) -> float:
        return y * y

    def both(y: float, k: float = 2.0) -> float:
        return square(y) + k * square(x)

    return both(3.0) + both(y=1.0, k=x)


def mutual(n: int = 9) -> bool:
    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    return even(n)


def composed(x: float = 0.5) -> float:
    def compose(f: Callable[[float], float], g: Callable[[float], float]) -> Callable[[float], float]:
        return lambda y: f(g(y))

    return compose(lambda y: y + 1, lambda y: y * x)(3.0)


def repeated(x: float = 0.9, n: int = 5) -> float:
    step = lambda y: y * y - x
    y = x
    for _ in range(n):
        y = step(y)
    return y


def of_the_outer_scope(x: float = 2.0) -> float:
    return x * SCALE + RATES[0] + len(RATES)


def folded(xs: list[float] = [1.0, 2.0, 3.0]) -> list[float]:
    return [
        functools.reduce(lambda a, b: a * b, xs), functools.reduce(operator.add, xs, 10.0), sum(map(lambda x: x * x, xs)),
        len(list(filter(lambda x: x > 1, xs))),
    ]  # fmt: skip


def tree(depth: int = 4, x: float = 0.3) -> float:
    if depth == 0:
        return x
    return tree(depth - 1, x * 1.1) * 0.5 + tree(depth - 1, x + 0.1)


def curried(x: float = 2.0) -> float:
    return (lambda a: lambda b: a * b + x)(3.0)(4.0)


def of_itself(n: int = 5) -> int:
    f = lambda n: 1 if n < 1 else n * f(n - 1)
    return f(n)


def imports(x: float = 2.0) -> float:
    import math as other
    from math import cos
    from operator import mul as product

    def inner(y: float) -> float:
        from math import tan

        return tan(y)

    try:
        from math import exp

        y = exp(x)
    except ValueError:
        y = 0.0
    return product(cos(x), other.sqrt(x)) + inner(x) + y
