"""Lists, tuples and texts."""

from __future__ import annotations

import bisect
from bisect import bisect_left
from typing import Any


def indices(xs: list[float] = [1.0, 2.0, 3.0, 4.0, 5.0]) -> list[Any]:
    return [xs[0], xs[-1], xs[1:3], xs[:-1], xs[2:], xs[:], xs[::2], xs[::-1], xs[3:0:-1], xs[10:], xs[-3:-1]]


def beyond(xs: list[float] = [1.0]) -> float:
    return xs[1]


def unpacked(x: float = 2.0) -> list[Any]:
    a, (b, c) = x, (x * x, [1, 2])
    first, *rest = [a, b, 3.0]
    *start, last = (4.0, 5.0, 6.0)
    one, *middle, two = "abcd"
    return [a, b, c, first, rest, start, last, one, middle, two]


def too_many(x: float = 2.0) -> float:
    a, b = [x, x, x]
    return a + b


def swapped(a: float = 1.0, b: float = 2.0) -> tuple[float, float]:
    a, b = b, a
    a, b = b + a, a
    return a, b


def joined(xs: list[float] = [1.0, 2.0]) -> list[Any]:
    return [xs + [3.0], [0] * 3, 2 * xs, (1, 2) + (3,), (0,) * 2, "ab" + "c", "ab" * 2, [] + []]


def collected(n: int = 6, x: float = 0.5) -> tuple[list[float], list[float], int]:
    small, large = [], [100.0]
    for i in range(n):
        if i % 2:
            small.append(i * x)
        else:
            large.append(i + x)
            if i > 3:
                break
    small.append(-1.0)
    return small, large, len(small) + len(large)


def changed(n: int = 5, x: float = 2.0) -> list[float]:
    table = [0.0] * n
    for i in range(n):
        table[i] = i * x
        table[i - 1] += 1
    return table


def of_a_table(n: int = 4, x: float = 0.5) -> list[list[float]]:
    return [[x * i + j for j in range(n) if j != i] for i in range(n)]


def pairs(n: int = 4) -> list[tuple[int, int]]:
    return [(i, j) for i in range(n) for j in range(i) if (i + j) % 2]


def reductions(xs: list[float] = [3.0, 1.0, 2.0]) -> list[Any]:
    return [
        sum(xs), min(xs), max(xs), sorted(xs), sorted(xs, reverse=True), sorted(xs, key=lambda x: -x), any(x > 2 for x in xs),
        all(x > 2 for x in xs), max(x * x for x in xs), sum(x for x in xs if x > 1), list(reversed(xs)), min(2, 1, 3), len(xs),
        sum([[1], [2]], []),
    ]  # fmt: skip


def text(x: float = 1.5) -> list[str]:
    name = "x"
    return [f"{name} = {x}", f"{name!r}", str(x), "abc"[1], "abc"[::-1], "abc"[1:]]


def kinds(x: float = 1.5) -> list[bool]:
    return [
        isinstance(x, float), isinstance([x], list), isinstance((x,), tuple), isinstance("a", str), isinstance(True, bool),
        isinstance((), tuple), isinstance([], tuple), isinstance(x, (str, list)),
    ]  # fmt: skip


def of_a_tuple(p: tuple[float, float] = (2.0, 3.0)) -> float:
    x, y = p
    return x * y + p[0]


def of_a_list(xs: list[float] = [0.5, 1.5, -2.0]) -> float:
    total = 0.0
    for i in range(len(xs)):
        total += xs[i] * xs[i - 1]
    return total


def rows_of_a_table(n: int = 4, x: float = 0.5) -> list[list[float]]:
    rows = []
    for i in range(n):
        row = []
        for j in range(n):
            row.append(i * x + j)
        rows.append(row)
    return rows


def items_swapped(xs: list[float] = [1.0, 2.0, 3.0]) -> tuple[list[float], float]:
    ys = xs.copy()
    ys[0], ys[-1] = ys[-1], ys[0]
    z, ys[1] = ys[1], 7.0
    return ys, z


def best_so_far(xs: list[float] = [1.0, 2.0]) -> list[list[float]]:
    best = xs
    for _ in range(3):
        current = best.copy()
        current[0] += 1
        best = current
    return [best, xs]


def neighbours(xs: list[float] = [1.0, 4.0, 9.0]) -> list[Any]:
    """Loops over slices, which are not copied."""
    rows = []
    for ys in (xs, xs[:1], xs[3:], (2.0, 3.0), "abc"):
        before = [y for y in ys[:-1]]
        rows.append([before, [y for y in ys[1:]], [(a, b) for a, b in zip(ys[:-1], ys[1:])], ys[7:]])
    return rows


def grown_in_its_loop(xs: list[float] = [1.0, 4.0]) -> list[float]:
    ys = xs.copy()
    for y in ys[:-1]:
        ys.append(2.0 * y)
    return ys


def slices_of_a_dict(d: dict[str, float] = {"a": 1.0}) -> float:
    return sum(x for x in d[:-1])


def bisected(xs: list[float] = [1.0, 2.0, 2.0, 3.0], x: float = 2.0) -> list[int]:
    found = [bisect_left(xs, x), bisect.bisect(xs, x), bisect.bisect_right(xs, x, lo=1)]
    return [*found, bisect.bisect_left(xs, x, 0, 2), bisect_left(["a", "c"], "b")]


def bisected_from_below(xs: list[float] = [1.0]) -> int:
    return bisect_left(xs, 1.0, lo=-1)
