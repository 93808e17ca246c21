"""Arguments: any number of them, those of a tuple or a dict, and partial functions."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple


class Point(NamedTuple):
    x: float
    y: float = 1.0


def _total(*xs: float) -> float:
    return sum(xs)


def _weighted(w: float, *xs: float, scale: float = 1.0, **named: float) -> float:
    return w * sum(xs) * scale + sum(named.values()) + len(named)


def _fixed(a: float, b: float, c: float = 3.0, *, d: float = 4.0) -> float:
    return a + 2 * b + 3 * c + 4 * d


half = functools.partial(_fixed, 0.5, d=1.0)


def any_number(x: float = 2.0) -> float:
    return _total(x, 2.0) + _total() + _total(*[x, x]) + _total(1.0, *(x, 2.0), x)


def by_name(x: float = 2.0) -> list[float]:
    return [_weighted(x, 1.0, 2.0, scale=2.0, k=x), _weighted(x), _weighted(*[x, x, x], **{"scale": 3.0, "q": 2.0}), _weighted(w=x)]


def spread(x: float = 2.0) -> list[float]:
    t = (x, 2.0)
    return [_fixed(*t), _fixed(x, *[1.0]), _fixed(*t, 5.0, d=x), _fixed(1.0, **{"b": x}), _fixed(**{"a": x, "b": 1.0, "d": 0.0}),
            _fixed(*t, *t[:1])]  # fmt: skip


def passed_on(x: float = 2.0) -> list[Any]:
    def called(f: Any, *arguments: Any) -> Any:
        return f(*arguments)

    def inner(*rest: float, k: float = 2.0) -> float:
        return _total(*rest) * k + len(rest)

    g = lambda *a: sum(a)
    return [called(lambda a, b: a * b, x, 3.0), called(lambda: 2.0), called(math.atan2, x, 1.0), inner(x, 1.0), inner(k=x), g(x, x),
            inner(*(x,), k=1.0)]  # fmt: skip


def of_records(x: float = 2.0) -> list[Any]:
    return [Point(*[x, 2.0]), Point(*[x]), Point(**{"x": x}), Point(y=x, **{"x": 3.0}), Point(*Point(x))]


def too_few(x: float = 2.0) -> float:
    return _fixed(*[x])


def too_many(x: float = 2.0) -> float:
    return _fixed(*[x] * 9)


def twice(x: float = 2.0) -> float:
    return _fixed(x, x, **{"a": 1.0})


def unknown(x: float = 2.0) -> float:
    return _fixed(x, x, **{"z": 1.0})


def partly(x: float = 2.0) -> float:
    g = functools.partial(_fixed, x)
    h = functools.partial(_fixed, c=x)

    def local(u: float, v: float, w: float = 2.0) -> float:
        return u - v * w

    k = functools.partial(local, 1.0, w=x)
    return g(2.0) + h(1.0, 2.0) + k(3.0) + half(x) + sum(map(half, [x, 2.0]))


def _any_number(a: float, b: float, c: float = 1.0, *more: float, k: float = 2.0) -> list[Any]:
    return [a, b, c, list(more), k]


def _three(a: float, b: float, c: float = 1.0) -> list[float]:
    return [a, b, c]


def partly_with_defaults(x: float = 2.0) -> list[Any]:
    g, y = functools.partial(_three, x), x
    h = functools.partial(_three, y, c=4.0)
    k = functools.partial(_any_number, x, k=3.0)
    y = 7.0

    def later(u: float) -> list[float]:
        return h(u)

    found = [g(2.0), h(5.0), h(5.0, c=6.0), later(8.0), [h(u) for u in (1.0, 2.0)], y]
    return [*found, k(1.0), k(1.0, 2.0, 3.0, 4.0), k(1.0, k=9.0), k(b=2.0)]


def partly_more(x: float = 2.0) -> list[Any]:
    g = functools.partial(_three, x)
    return [g(2.0, 5.0), g(c=2.0, b=x), g(*[3.0, 4.0])]


def partly_in_a_loop(x: float = 2.0) -> list[Any]:
    found = []
    for i in range(3):
        g = functools.partial(_three, i)
        found.append(g(x))
    return found


def partly_a_lambda(x: float = 2.0) -> float:
    g = functools.partial(lambda a, b=3.0: a * b, x)
    return g() + g(x)


def partly_unassigned(x: float = 2.0) -> list[float]:
    if x > 5.0:
        g = functools.partial(_three, 1.0)
    return g(x)
