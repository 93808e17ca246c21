"""Sets and frozensets: displays, comprehensions, operators, methods, changes in place, and elements of each kind."""

from __future__ import annotations

from typing import Any, NamedTuple

VOWELS = {"a", "e", "i", "o", "u"}


class Cell(NamedTuple):
    row: float
    column: float


def displays(x: float = 2.0) -> list[Any]:
    return [
        {1, x, True}, {i % 3 for i in range(10)}, {i * j for i in range(3) for j in range(4) if i != j}, set(), frozenset(),
        {*[1.0, x], *(x, 3.0)}, set([x, x]), set((1, x)), set("hello"), frozenset([1, 2]), set(range(4)), set({"a": 1, "b": x}),
        set(i * x for i in range(3)), {None, (), ("a", x), ("a", 2), True}, len({1.0, 1, True}), frozenset({x}),
    ]  # fmt: skip


def operators(
    a: set[Any] = {1, 2, 3}, b: set[Any] = {2, 3, 4}, c: frozenset[float] = frozenset({2, 3})
) -> list[Any]:
    return [
        a | b, a & b, a - b, a ^ b, c | a, a - c, a < b, c < a, c <= c, c < c, a > c, a >= b, a == b, a != b, a == {3, 1, 2}, c == {2, 3},
        {} == a, a == [1, 2, 3], len(a), sorted(a - b), sum(a), max(a), min(b), 2 in a, 9 in a, 9 not in a, "x" in a, bool(a), not set(),
        isinstance(a, set), isinstance(c, set), isinstance(c, frozenset), isinstance(a, (set, list)), [1] in [a], any(x > 2 for x in a),
    ]  # fmt: skip


def methods(a: set[float] = {1, 2, 3}, b: set[float] = {2, 3, 4}) -> list[Any]:
    return [
        a.union(b), a.union(b, [7, 8], (9,)), a.union(), a.intersection(b), a.intersection(b, [2]), a.difference(b), a.difference(b, {1}),
        a.symmetric_difference([3, 5]), a.issubset(b), a.issubset(range(9)), a.issuperset([1]), a.isdisjoint({7}), a.isdisjoint(b),
        a.copy(), a.union(*[[7], {8}]), a.intersection(*[a, {1}]), set.union(a, b), set.union(*[{i} for i in range(3)]), set.intersection(*map(set, [[1, 2], [2, 3]])),
        set.intersection(a, b, {3}), sorted(a), list(a) == sorted(a), tuple({5.0}), [x for x in a if x not in b],
    ]  # fmt: skip


def changes(a: set[float] = {1, 2}, b: set[float] = {2, 5}) -> list[Any]:
    c = a.copy()
    c.add(7)
    c.add(1)
    c.discard(100)
    c.discard(2)
    c.remove(7)
    c.update(b, [9, 10])
    d = set(a)
    d.update(x * x for x in b)
    d.intersection_update([1, 4, 25])
    d.difference_update({4})
    d.symmetric_difference_update({1, 8})
    e = {3, 4}
    e |= {5}
    e &= {3, 5, 6}
    e -= {3}
    e ^= {5, 6, 7}
    one = {11.0}
    popped = one.pop()
    f = {1}
    f.clear()
    g = set(a)
    g.add(55)
    return [g, a, c, d, e, popped, one, f]


def _grow(seen: set[float], x: float) -> None:
    seen.add(x)
    seen.update([x + 1])


def changed_by_a_function(x: float = 2.0) -> set[float]:
    seen: set[float] = set()
    _grow(seen, x)
    _grow(seen, 5)
    return seen


def _kept(seen: frozenset[float], x: float) -> frozenset[float]:
    seen |= {x}
    return seen


def frozen_ones_are_values(x: float = 2.0) -> list[Any]:
    a = frozenset({1.0})
    b = a
    a |= {x}
    c = _kept(a, 9)
    return [a, b, c]


def a_cycle(n: float = 3.0) -> tuple[list[float], float]:
    seen = set()
    path = []
    while n not in seen:
        seen.add(n)
        path.append(n)
        n = (n * n + 1) % 97
    return path, len(seen)


def breadth_first(n: int = 9) -> tuple[list[float], float]:
    near = {i: set() for i in range(n)}
    for i in range(n):
        for j in range(n):
            if (i * j + i + j) % 3 == 0 and i != j:
                near[i].add(j)
                near[j].add(i)
    seen, queue, order = {0}, [0], []
    while queue:
        node = queue.pop(0)
        order.append(node)
        for other in sorted(near[node] - seen):
            seen.add(other)
            queue.append(other)
    return order, sum(len(s) for s in near.values())


def a_list_of_sets(n: int = 5) -> list[set[float]]:
    near = [set() for _ in range(n)]
    for i in range(n):
        near[i].add((i + 1) % n)
        near[(i * i) % n].add(i)
        near[i].discard(3)
    return near


def letters(text: str = "the quick brown fox") -> list[Any]:
    found = set(text) & VOWELS
    return [sorted(found), len(set(text)), set(text.split()), "".join(sorted(set(text) - VOWELS - {" "})), "e" in VOWELS]


def of_tuples_and_sets(x: float = 2.0) -> list[Any]:
    cells = {Cell(1, 2), Cell(1, 2), Cell(x, 3)}
    groups = {frozenset({1, 2}), frozenset([2, 1]), frozenset()}
    by_group = {frozenset({1}): x, (1, 2): 3.0}
    return [
        len(cells), (1, 2) in cells, Cell(x, 3) in cells, sorted(cells), len(groups), frozenset([2, 1]) in groups, groups,
        by_group[frozenset([1])], frozenset([1]) in by_group, by_group, {(i, j) for i in range(2) for j in range(2)} - {(0, 1)},
        {(True, 1)} == {(1, True)}, {frozenset({True})} == {frozenset({1})},
    ]  # fmt: skip


def texts(x: float = 2.5) -> list[str]:
    return [f"{ {x} } {set()} {frozenset({x})}", str({"a"}), repr(frozenset()), str([{x}])]


def sieve(n: int = 30) -> list[float]:
    composite = set()
    for i in range(2, n):
        for j in range(i * i, n, i):
            composite.add(j)
    return sorted(set(range(2, n)) - composite)


def slope_of_elements(x: float = 2.0, y: float = 3.0) -> float:
    seen = {x * x, x * y}
    seen.add(y)
    return sum(seen) + max(seen) * len({x, y})


def differences(a: float = 5.0, b: set[float] = {1.0}) -> tuple[float, set[float]]:
    c = {2.0} - b
    return a - 3 * a - (a - max(b)), c


def missing_element(a: set[float] = {1}) -> set[float]:
    a.remove(2)
    return a


def unhashable(x: float = 1.0) -> Any:
    return {x, (1, [x])}


def pop_of_nothing(x: float = 1.0) -> Any:
    seen = {x}
    seen.discard(x)
    return seen.pop()


def no_operator_of_lists(a: set[float] = {1}, b: list[float] = [1.0]) -> Any:
    return a | b


def order_of_numbers(a: set[float] = {1}) -> Any:
    return a < 2


def no_index(a: set[float] = {1}) -> Any:
    return a[0]
