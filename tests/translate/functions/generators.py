"""Generator functions, consumed as a whole or in part; `next`, and tests that end early."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any


def _up(n: float) -> Iterator[float]:
    i = 0
    while i < n:
        yield i * i
        i += 1


def _count(start: float = 0) -> Iterator[float]:
    n = start
    while True:
        yield n
        n += 1


def _fibonacci() -> Iterator[float]:
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b


def _failing(n: int) -> Iterator[float]:
    for i in range(n):
        yield 1 / (3 - i)


def _primes() -> Iterator[float]:
    found: list[float] = []
    n = 2
    while True:
        if all(n % p for p in found):
            found.append(n)
            yield n
        n += 1


def _several(xs: list[float]) -> Iterator[float]:
    yield 100
    yield from xs
    yield from _up(3)
    if len(xs) > 2:
        return
    yield 200


def _hanoi(n: int, a: str, b: str, c: str) -> Iterator[Any]:
    if n > 0:
        yield from _hanoi(n - 1, a, c, b)
        yield (n, a, b)
        yield from _hanoi(n - 1, c, b, a)


def _orders(items: list[float]) -> Iterator[list[float]]:
    if len(items) <= 1:
        yield items
    else:
        for i in range(len(items)):
            for rest in _orders(items[:i] + items[i + 1 :]):
                yield [items[i]] + rest


def _scaled(x: float, n: int) -> Iterator[float]:
    for i in range(n):
        yield x * i


def _letters(n: int) -> Iterator[str]:
    for i in range(n):
        yield "abc"[i]


def consumed_as_a_whole(n: int = 5) -> list[Any]:
    first, second, *rest = _up(n)
    xs = [*_up(3), 7]
    xs.extend(_up(2))
    xs += _up(2)
    return [
        list(_up(n)), sum(_up(n)), max(_up(n)), min(_up(n), key=lambda x: -x), sorted(_up(n), reverse=True), set(_up(n)), tuple(_up(2)),
        [x + 1 for x in _up(n) if x % 2 == 0], sum(x * y for x in _up(3) for y in _up(2)), dict(enumerate(_up(2))), xs,
        ",".join(_letters(3)), first, second, rest, list(_several([1, 2])), list(_several([1, 2, 3])), list(_up(0)),
    ]  # fmt: skip


def of_themselves(n: int = 3) -> tuple[list[Any], list[Any]]:
    return list(_hanoi(n, "a", "b", "c")), list(_orders([1, 2, 3]))


def left_early(limit: float = 8) -> list[Any]:
    found = []
    for x in _count(3):
        if x > limit:
            break
        found.append(x)
    for x in _failing(6):
        if x >= 0.5:
            break
        found.append(x)
    else:
        found.append(-1)
    for move in _hanoi(10, "a", "b", "c"):
        if move[0] == 3:
            break
    return [found, move]


def returned_from(n: float = 100) -> Any:
    for i, f in enumerate(_fibonacci()):
        if f > n:
            return i, f


def first_ones(n: int = 6) -> list[Any]:
    return [
        list(itertools.islice(_primes(), n)), list(itertools.takewhile(lambda p: p < 20, _primes())), next(_count(7)), next(_up(0), None),
        next(x for x in _count() if x * x > 50), next((x for x in _up(3) if x > 100), -1), next(iter([4, 5])), list(zip(_count(), "ab")),
        any(x > n for x in _count()), all(x < n for x in _count()), any(_up(4)), all(_up(4)), any(x > 3 for x in [1, 5, "a"]),
        not all(x * y < n for x in _count() for y in [1, 2]),
    ]  # fmt: skip


def inside(n: float = 2.0) -> list[float]:
    def even(k: int) -> Iterator[float]:
        for i in range(k):
            if i % 2:
                continue
            yield i * n

    def twice(xs: list[float]) -> Iterator[float]:
        for x in xs:
            yield x
            yield x

    found = list(even(5))
    for x in even(10):
        if x > 4:
            break
        found.append(x)
    return found + list(twice([1, 2]))


def loops_of_generators(n: int = 5) -> float:
    total = 0
    for x in _up(n):
        for y in _up(x):
            if y > 20:
                break
            total += y
        else:
            total += 100
    return total


def slope_in_part(x: float = 2.0, limit: float = 5.0) -> float:
    total = 0.0
    for y in _scaled(x, 10):
        if y > limit:
            break
        total += y * y
    return total


def slope_as_a_whole(x: float = 2.0) -> float:
    return sum(y * y for y in _scaled(x, 4)) + max(_scaled(x, 3)) + next(z for z in _scaled(x, 9) if z > 5)


def error_of_a_generator(n: int = 6) -> float:
    return sum(_failing(n))


def next_of_nothing(n: int = 2) -> Any:
    return next(x for x in _up(n) if x > 10)


def error_of_the_consumer(n: int = 5) -> float:
    for x in _up(n):
        if x == 4:
            raise ValueError("four")
    return 1
