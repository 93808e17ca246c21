"""Decorated functions, outside and inside; `*` and `**` in one call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

Function = Callable[..., float]


def _twice(f: Function) -> Function:
    @functools.wraps(f)
    def wrapper(*args: Any, **named: Any) -> float:
        return 2 * f(*args, **named)

    return wrapper


def _more(f: Function) -> Function:
    def wrapper(x: float) -> float:
        return f(x) + 1

    return wrapper


def _times(k: float) -> Callable[[Function], Function]:
    def decorate(f: Function) -> Function:
        @functools.wraps(f)
        def wrapper(x: float) -> float:
            return k * f(x)

        return wrapper

    return decorate


@_twice
def _scaled(x: float, y: float = 3.0, *, z: float = 1.0) -> float:
    return x * y + z


@_times(3)
@_more
def _square(x: float) -> float:
    return x * x


@functools.lru_cache(maxsize=None)
def _cached(x: float) -> float:
    return x * x


@functools.cache
def _of_cached(x: float) -> float:
    return _cached(x) + 1


def _given(a: float, b: float = 2.0, *rest: float, c: float = 3.0, **more: float) -> list[Any]:
    return [a, b, rest, c, more]


def _plain(a: float, b: float = 2.0, *, c: float = 3.0) -> list[Any]:
    return [a, b, c]


def outside(x: float = 2.0) -> float:
    return _scaled(x) + _scaled(x, y=4.0) + _scaled(x, 5.0, z=x) + _square(x) + _cached(x) * _of_cached(x)


def inside(x: float = 2.0) -> float:
    @_more
    @_times(x)
    def f(y: float) -> float:
        return y * x

    @functools.lru_cache
    def g(y: float = 1.0) -> float:
        return y * f(x)

    def h(y: float) -> float:
        return g() + y

    return f(3.0) + g(2.0) + h(1.0)


def both_kinds_of_spread(
    xs: list[float] = [1.0, 5.0, 6.0, 7.0], d: dict[str, float] = {"c": 1.0, "z": 4.0}, x: float = 2.0
) -> list[Any]:
    return [
        _given(*xs, **d), _given(*xs[:1], **d), _given(*xs[:1], **{"b": x}), _given(x, *xs[:1], c=x, **{"y": 1.0}), _given(*[], **{"a": x}),
        _plain(*xs[:2], **{"c": x}), _plain(*xs[:1], **{"b": x}), _plain(*[], **{"b": 1.0, "a": x}),
    ]  # fmt: skip


def given_twice(xs: list[float] = [1.0, 5.0]) -> list[Any]:
    return _plain(*xs, **{"b": 1.0})


def given_by_name_twice(xs: list[float] = [1.0]) -> list[Any]:
    return _given(*xs, c=1.0, **{"c": 1.0})


def too_many(xs: list[float] = [1.0, 2.0, 3.0]) -> list[Any]:
    return _plain(*xs, **{"c": 1.0})


def not_taken(xs: list[float] = [1.0]) -> list[Any]:
    return _plain(*xs, **{"e": 1.0})


def too_few(xs: list[float] = []) -> list[Any]:
    return _plain(*xs, **{"b": 1.0})
