"""Orders: keys, extremes, and sorting algorithms."""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any, NamedTuple


class Student(NamedTuple):
    name: str
    grade: float
    age: int = 20


def _scaled(x: float, factor: float = -1.0) -> float:
    return x * factor


def keys(x: float = 0.5) -> list[Any]:
    pairs = [(2, "b"), (1, "z"), (2, "a"), (1, "c")]
    return [
        sorted(pairs),
        sorted(pairs, key=lambda p: p[1]),
        sorted(pairs, key=lambda p: (p[0], -len(p[1]))),
        sorted(pairs, key=operator.itemgetter(0)),
        sorted(["bb", "a", "ccc"], key=len),
        sorted([-3, 1, 2], key=abs),
        sorted([1.0, x, 2.0], key=_scaled),
        sorted([x, 2.0], key=None),
    ]


def reverses(x: float = 0.5) -> list[Any]:
    pairs = [(2, "b"), (1, "z"), (2, "a"), (1, "c")]
    down = x > 0
    return [
        sorted(pairs, reverse=True),
        sorted(pairs, key=lambda p: p[0], reverse=True),
        sorted(pairs, key=lambda p: p[0], reverse=False),
        sorted(pairs, key=lambda p: p[0], reverse=down),
        sorted([x, 1.0], reverse=not down),
        sorted("banana", reverse=True),
    ]


def sorted_in_place(x: float = 0.5) -> list[Any]:
    xs, ys = [3.0, x, 2.0, -4.0], [(1, x), (0, 2.0), (1, 0.0)]
    xs.sort(reverse=True)
    first = xs[0]
    xs.sort(key=abs)
    ys.sort(key=lambda y: y[0], reverse=True)
    return [first, xs, ys]


def extremes(x: float = 0.5) -> list[Any]:
    words, empty = ["pear", "fig", "apple", "kiwi"], [0.0][1:]
    return [
        min(words, key=len), max(words, key=len), max(words, key=lambda w: w[-1]), min(3, -4, x, key=abs), max(2, -2, key=abs),
        max([], default=x), min(empty, default=None), max([1, 2], default=9), min((w for w in words if "i" in w), key=len),
        max(range(5), key=lambda i: -((i - 3) ** 2)), max([], key=len, default="none"),
    ]  # fmt: skip


def no_extreme(x: float = 0.5) -> float:
    return max([v for v in [x] if v > 1], key=abs)


def functions_of_one_argument(x: float = 0.5) -> list[Any]:
    rows = [[3.0, x], [1.0, 2.0, 4.0]]
    return [list(map(sum, rows)), list(map(max, rows)), [*map(min, rows)], sorted(rows, key=sum), list(map(_scaled, rows[0])),
            list(map(round, [1.4, x])), list(map(operator.add, [1, 2], (x, 3))), list(filter(None, [0, x, 0.0, 2])),
            max(rows, key=max), list(map(list, [(1, 2), (x,)])), reduce(max, [x, 2.0, 1.0])]  # fmt: skip


def arg_max(x: float = 0.5) -> int:
    xs = [x, 2.0, 1.5]
    return max(range(len(xs)), key=lambda i: xs[i])


def ranks(x: float = 0.5) -> list[int]:
    xs = [x, 2.0, -1.0, 1.5]
    order = sorted(range(len(xs)), key=lambda i: xs[i])
    rank = [0] * len(xs)
    for position, i in enumerate(order):
        rank[i] = position
    return rank


def best_student(x: float = 0.5) -> list[Any]:
    students = [Student("Ann", 2.0), Student("Bob", 1.0 + x, 30), Student("Cid", 1.5)]
    best = min(students, key=lambda s: (s.grade, s.age))
    return [best.name, max(students, key=lambda s: s.age).age, sorted(s.name for s in students)[-1], sorted(students)[0]]


def of_a_dict(x: float = 0.5) -> list[Any]:
    scores = {"a": 2.0, "b": x, "c": 3.0}
    best = max(scores, key=lambda k: scores[k])
    by_value = sorted(scores.items(), key=lambda item: item[1], reverse=True)
    return [best, by_value, dict(sorted(scores.items())), min(scores.values()), [k for k, _ in by_value]]


def insertion_sort(x: float = 2.5) -> list[float]:
    xs = [3.0, x, 1.0, 2.0]
    for i in range(1, len(xs)):
        key, j = xs[i], i - 1
        while j >= 0 and xs[j] > key:
            xs[j + 1] = xs[j]
            j -= 1
        xs[j + 1] = key
    return xs


def selection_sort(x: float = 2.5) -> list[float]:
    xs = [3.0, x, 1.0, 2.0]
    for i in range(len(xs)):
        smallest = min(range(i, len(xs)), key=lambda j: xs[j])
        xs[i], xs[smallest] = xs[smallest], xs[i]
    return xs


def quick_sort(x: float = 2.5) -> list[float]:
    def sort(xs: list[float]) -> list[float]:
        if len(xs) <= 1:
            return xs
        pivot, *rest = xs
        return sort([v for v in rest if v < pivot]) + [pivot] + sort([v for v in rest if v >= pivot])

    return sort([3.0, x, 1.0, 2.0])


def merge_sort(x: float = 2.5) -> list[float]:
    def merge(a: list[float], b: list[float]) -> list[float]:
        out: list[float] = []
        i = j = 0
        while i < len(a) and j < len(b):
            if a[i] <= b[j]:
                out.append(a[i])
                i += 1
            else:
                out.append(b[j])
                j += 1
        return out + a[i:] + b[j:]

    def sort(xs: list[float]) -> list[float]:
        mid = len(xs) // 2
        return xs if mid == 0 else merge(sort(xs[:mid]), sort(xs[mid:]))

    return sort([3.0, x, 1.0, 2.0, 0.0])


def binary_search(x: float = 5.0) -> int:
    xs, lo, hi = [1.0, 3.0, 5.0, 7.0], 0, 4
    while lo < hi:
        mid = (lo + hi) // 2
        if xs[mid] < x:
            lo = mid + 1
        else:
            hi = mid
    return lo if lo < len(xs) and xs[lo] == x else -1


def top_three(x: float = 2.5) -> float:
    *_, a, b, c = sorted([3.0, x, 1.0, 2.0])
    return a + 10 * b + 100 * c


def partition(x: float = 2.5) -> tuple[list[float], list[float]]:
    low, high = [], []
    for v in [3.0, x, 1.0]:
        if v < 2.6:
            low.append(v)
        else:
            high.append(v)
    return low, high


def distinct(x: float = 2.5) -> list[float]:
    seen: list[float] = []
    for v in [x, 1.0, x, 2.0, 1.0]:
        if v not in seen:
            seen += [v]
    return seen


def _bubbled_again(xs: list[float]) -> list[float]:
    is_changed = False
    for i in range(len(xs) - 1):
        if xs[i] > xs[i + 1]:
            xs[i], xs[i + 1] = xs[i + 1], xs[i]
            is_changed = True
    return xs if not is_changed else _bubbled_again(xs)


def sorted_by_a_call_under_a_condition(a: float = 0.7, b: float = 1.9) -> list[float]:
    return _bubbled_again([a * b, 3.0 * a, b, b - a, a])


def sorted_in_circles(a: float = 0.7, b: float = 1.9) -> list[float]:
    def compare(xs: list[float], low: int, high: int) -> bool:
        is_changed = False
        if low == high:
            return is_changed
        left, right = low, high
        while left < right:
            if xs[left] > xs[right]:
                xs[left], xs[right] = xs[right], xs[left]
                is_changed = True
            left, right = left + 1, right - 1
        middle = (low + high) // 2
        is_left = compare(xs, low, middle)
        is_right = compare(xs, middle + 1, high)
        return is_changed or is_left or is_right

    found = [a * b, 3.0 * a, b, b - a, a, a + 0.1]
    while compare(found, 0, len(found) - 1):
        pass
    return found


def _merged(xs: list[float], low: int, middle: int, high: int) -> list[float]:
    left, right, found = xs[low:middle], xs[middle:high], []
    while left and right:
        found.append(left.pop(0) if left[0] <= right[0] else right.pop(0))
    xs[low:high] = found + left + right
    return xs


def merged_from_short_to_long(a: float = 0.7, b: float = 1.9) -> list[float]:
    xs, length = [a * b, 3.0 * a, b, b - a, a], 1
    xs = list(xs)
    while length < len(xs):
        for low in range(0, len(xs), 2 * length):
            xs = _merged(xs, low, low + length, low + 2 * length)
        length *= 2
    return xs


def _settled(xs: list[float]) -> list[float]:
    xs[0], xs[-1] = min(xs[0], xs[-1]), max(xs[0], xs[-1])
    return xs


def _in_parts(xs: list[float], depth: int) -> list[float]:
    while depth > 0:
        if depth == 1:
            return _settled(xs)
        depth -= 1
        first = xs[0] + 1.0
        _in_parts(xs, depth)
        xs[1] = first
    return _settled(xs)


def settled_in_several_ways(a: float = 0.7, b: float = 1.9) -> list[float]:
    return _in_parts([a * b, b, a], 3)
