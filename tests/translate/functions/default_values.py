"""Nested functions with defaults that are no constants: Python evaluates them where the function is defined."""

from __future__ import annotations

import math


def of_a_turn(x: float = 1.5) -> float:
    scaled = [lambda y, i=i: y * (i + x) for i in range(3)]
    return scaled[0](2.0) + scaled[1](x) * scaled[2](x)


def in_a_loop(x: float = 1.5) -> float:
    total = 0.0
    for i in range(4):
        weigh = lambda y, i=i, *, x=x: y * i + math.sin(x)  # noqa: E731
        total += weigh(x)
    return total


def kept_in_a_list(x: float = 1.5) -> float:
    steps = []
    for i in range(3):

        def step(y: float, power: int = i, shift: float = x * i) -> float:
            return y**power + shift

        steps.append(step)
    for step in steps:
        x = step(x)
    return x


def given_now_and_then(x: float = 1.5) -> float:
    def scale(y: float, by: float = x * 2.0, plus: float = 1.0) -> float:
        return y * by + plus

    return scale(3.0) + scale(x, 4.0) + scale(x, plus=x) + scale(by=x, y=2.0)


def of_itself(x: float = 3.5) -> float:
    def product(n: float = x) -> float:
        return 1.0 if n <= 1.0 else n * product(n - 1.0)

    return product()


def as_it_was(x: float = 1.5) -> float:
    y = x * x

    def old(z: float, y: float = y) -> float:
        y = y + z
        return y

    y = y * 10.0
    return old(x) + y


def below(x: float = 1.5) -> float:
    def outer(a: float = x + 1.0) -> float:
        def inner(b: float, c: float = a * x) -> float:
            return b * c

        return inner(a) + inner(x)

    return outer()


def handed_on(x: float = 1.5) -> float:
    def twice(f, y: float) -> float:  # type: ignore[no-untyped-def]
        return f(f(y))

    return twice(lambda y, k=x * x: y * k + 1.0, x)
