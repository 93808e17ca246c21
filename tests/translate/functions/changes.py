"""Changes in place: of lists, dicts and arrays, of their parts, and by methods."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np


def an_entry(x: float = 2.0, y: float = 3.0) -> float:
    t = np.zeros(3)
    t[0] = x * y
    t[1] = t[0] * x
    t[-1] = t[1] + t[0]
    return float(t[2] * t[1])


def entries_of_a_table(x: float = 0.5) -> float:
    t = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            t[i, j] = 1.0 if i == 0 or j == 0 else t[i - 1, j] + x * t[i, j - 1]
    return float(t[3, 3])


def one_index_after_the_other(x: float = 0.5) -> float:
    t = np.zeros((3, 2))
    for i in range(3):
        t[i][1] = x * i
        t[i][0] += t[i][1]
    return float(np.sum(t))


def entries_that_increase(x: float = 0.3) -> float:
    t = np.ones(4)
    for i in range(1, 4):
        t[i] += t[i - 1] * x
        t[i] *= 2
    return float(np.sum(t * t))


def a_row(x: float = 0.3) -> float:
    t = np.zeros((3, 2))
    t[1] = np.array([x, x * x])
    t[2] = t[1] + 1
    t[0] = x
    return float(np.sum(t * t))


def a_row_of_a_list(x: float = 0.3) -> float:
    t = np.zeros((2, 2))
    t[0] = [x, 2 * x]
    return float(np.sum(t * t))


def slices(x: float = 0.3) -> float:
    t = np.zeros(6)
    t[1:3] = x
    t[3:] = np.array([x, x * x, 1.0])
    t[:2] += 1.0
    t[::2] *= 2.0
    t[-2:] = t[:2]
    return float(np.sum(t * t * t))


def columns(x: float = 0.3) -> float:
    t = np.zeros((3, 4))
    t[:, 0] = x
    t[:, 1] = np.array([x, 2.0, x * x])
    t[1, 2:] = 7 * x
    t[:2, 2:4] += t[:2, :2]
    t[1:, -1] = t[0, 1]
    return float(np.sum(t * t))


def a_box(x: float = 0.3) -> float:
    t = np.ones((2, 3, 4))
    t[1, :2, 1:3] = np.array([[x, 1.0], [2.0, x * x]])
    t[0, :, 2] = np.array([x, 2 * x, 3 * x])
    t[:, 1] = x
    return float(np.sum(t * t))


def a_mask(x: float = 0.3) -> float:
    t = np.array([x, -x, 2.0, -3.0])
    t[t < 0] = x * x
    return float(np.sum(t))


def entries_of_a_mask(x: float = 0.3) -> float:
    t = np.array([x, -x, 2.0, -3.0])
    m = t < 0
    t[m] = np.exp(t[m])
    t[~m] += t[~m] * x
    t[t > 100] = t[t > 100] * x
    t[m] /= np.array([x, 2.0])
    return float(np.sum(t * t) + t[t > 1].mean() * x + len(t[m]))


def rows_of_a_mask(x: float = 0.3) -> float:
    t = np.outer([x, -x, 2.0], [1.0, x])
    m = t[:, 0] > 0
    t[m] = np.array([x * x, 1.0])
    t[~m, 1] *= x
    t[m, :] += np.array([[x, 2.0], [3.0, x]])
    t[t > 1] = t[t > 1] ** 2
    return float(np.sum(t[m] @ np.array([1.0, x])) + t[t < 0].sum())


def indices_of_several_axes(x: float = 0.3) -> float:
    t = np.zeros((3, 4))
    t[np.arange(3), [2, 0, -1]] += x
    t[[0, 0], [1, 1]] = np.array([x, x * x])
    t[1:, np.array([3, 1])] = np.array([[x, 2.0], [3.0, x]])
    t[:, [True, False, False, True]] *= x + 1
    t[2, [0, 1]] -= x
    rows, columns = np.nonzero(t)
    return float(np.sum(t * t) + t[rows, columns].sum() + np.flatnonzero(t > x)[-1] + np.where(t[0])[0][0])


def indices(x: float = 0.3) -> float:
    t = np.zeros(5)
    t[np.array([1, 3])] = np.array([x, x * x])
    t[[0, 4]] = 2 * x
    t[[2, 2]] = [x, 3 * x]
    t[[0, 1]] += 1.0
    return float(np.sum(t * t))


def added_at(x: float = 0.3) -> float:
    t = np.zeros(3)
    np.add.at(t, [0, 2, 0], np.array([x, 1.0, x * x]))
    np.add.at(t, 1, x)
    np.multiply.at(t, [0, 0], x + 2)
    np.subtract.at(t, [1], 0.5)
    np.maximum.at(t, [1, 2], x)
    return float(np.sum(t * t))


def _relax(u: Any, steps: Any) -> None:
    while steps > 0:
        u[1:-1] = (u[:-2] + u[2:]) / 2
        steps -= 1
    u *= 0.9


def _kick(x: Any, v: Any, dt: Any) -> Any:
    v -= dt * x
    x += dt * v
    return 2 * dt


def parameters_that_increase(x: float = 0.3) -> float:
    u, n = np.array([x, 0.0, 0.0, 1.0]), 2.0
    _relax(u, n)
    q, v = np.array([x, 1.0]), np.zeros(2)
    for _ in range(3):
        dt = _kick(q, v, x)
    a, b = x, 2.0
    _kick(a, b, dt)  # of numbers: only the parameters
    return float(np.sum(u * u) + n * np.sum(q * v) + a * b)


def lists_that_increase(x: float = 0.3) -> float:
    def put(items: Any, found: Any) -> None:
        items += [x, x * x]
        found |= {x}

    xs, found = [1.0], {2.0}
    put(xs, found)
    put(xs, found)
    return sum(xs) + sum(sorted(found))


def a_copy_stays(x: float = 0.3) -> float:
    t = np.zeros(3)
    u = t.copy()
    t[0] = x
    return float(np.sum(t) + 10 * np.sum(u))


def entries_change_places(x: float = 0.3) -> float:
    t = np.array([x, 2.0, 3.0])
    t[0], t[2] = t[2], t[0]
    kept = t[1]
    t[1] = t[0] * kept
    return float(t[1] + 2 * t[2])


def bubble_sort(a: float = 3.0, b: float = 1.0, c: float = 2.0) -> float:
    t = np.array([a, b, c])
    for i in range(3):
        for j in range(2 - i):
            if t[j] > t[j + 1]:
                t[j], t[j + 1] = t[j + 1], t[j]
    return float(t[0] + 10 * t[1] + 100 * t[2])


def an_array_that_is_given(x: float = 0.3) -> float:
    def doubled(t: Any) -> Any:
        t[0] = t[0] * 2
        return t

    return float(np.sum(doubled(np.array([x, 1.0]))))


def filled(x: float = 0.3) -> float:
    t = np.zeros(3)
    t.fill(x)
    t[0] = 1.0
    return float(np.sum(t * t))


def longest_common_subsequence(x: float = 0.3) -> float:
    a, b = "vladimir", "valdemar"
    t = np.zeros((9, 9))
    for i in range(1, 9):
        for j in range(1, 9):
            if a[i - 1] == b[j - 1]:
                t[i, j] = t[i - 1, j - 1] + x
            else:
                t[i, j] = max(t[i - 1, j], t[i, j - 1])
    return float(t[8, 8])


def sieve(x: float = 0.3) -> float:
    is_prime = [True] * 30
    is_prime[0] = is_prime[1] = False
    for i in range(2, 30):
        if is_prime[i]:
            for j in range(i * i, 30, i):
                is_prime[j] = False
    return x * sum(1.0 for one in is_prime if one)


def a_table_of_lists(x: float = 0.5) -> float:
    t = [[0.0] * 3 for _ in range(4)]
    for i in range(4):
        for j in range(3):
            t[i][j] = x if i == 0 or j == 0 else t[i - 1][j] + x * t[i][j - 1]
    return t[3][2] + sum(t[1]) + len(t) + max(t[2])


def lists_in_lists_that_grow(x: float = 0.5) -> list[list[float]]:
    buckets: list[list[float]] = [[], [], []]
    for i in range(6):
        buckets[i % 3].append(x * i)
    buckets[0][1] += 1.0
    buckets.append([])
    return buckets


def a_part_of_a_dict(x: float = 0.5) -> float:
    d = {"a": [x, 1.0], "b": [2.0]}
    d["a"][0] *= 3
    d["b"].append(x)
    return d["a"][0] + d["b"][1] * d["b"][0]


def items_of_a_list(x: float = 0.5) -> list[float]:
    xs = [1.0, 2.0, 3.0, 4.0]
    xs[1:3] = [x]
    xs[:0] = [x, x]
    xs[-1:] = []
    return xs


def deleted(x: float = 0.5) -> tuple[list[float], dict[str, float]]:
    xs, d = [1.0, x, 3.0, 4.0, 5.0], {"a": x, "b": 2.0}
    del xs[0]
    del xs[-1]
    del xs[1:2]
    del d["b"]
    return xs, d


def methods_of_lists(x: float = 0.5) -> list[float]:
    xs = [3.0, x]
    xs.extend([2.0, 2.0])
    xs.insert(1, 7.0)
    xs.insert(-100, 8.0)
    xs.insert(100, 9.0)
    xs.remove(2.0)
    xs.reverse()
    xs.append(xs.pop(0) * x)
    xs.sort()
    return xs


def a_stack(x: float = 0.5) -> float:
    stack: list[float] = []
    for word in ("x", "x", "*", "2", "+", "x", "-"):
        if word == "x":
            stack.append(x)
        elif word == "2":
            stack.append(2.0)
        else:
            b = stack.pop()
            a = stack.pop()
            stack.append(a * b if word == "*" else a + b if word == "+" else a - b)
    return stack.pop()


def pops_within_expressions(x: float = 0.5) -> tuple[float, list[float]]:
    xs = [1.0, x, 3.0, 4.0]
    xs.append(xs.pop() - 2 * xs.pop())
    b, a = xs.pop(), xs.pop(0)
    while xs and xs[-1] < 1.0:
        xs.pop()
        a += 1
    return a + 10 * b, xs


def pops_of_a_dict(x: float = 0.5) -> tuple[float, dict[str, float]]:
    d = {"a": x, "b": 2.0, "c": 3.0}
    first = d.pop("a")
    second = d.pop("z", 5.0)
    d.pop("c")
    return first + 10 * second, d


def a_queue(x: float = 0.5) -> list[float]:
    queue, seen = [1.0], []
    while queue:
        one = queue.pop(0)
        seen.append(one * x)
        if one < 6:
            queue.append(2 * one)
            queue.append(2 * one + 1)
    return seen


def cleared(x: float = 0.5) -> tuple[list[float], dict[str, float]]:
    xs, d = [x], {"a": x}
    xs.clear()
    d.clear()
    xs.append(1.0)
    return xs, d


def the_value_before_the_index(x: float = 0.5) -> list[float]:
    xs = [1.0, 2.0]
    xs[0 if x < 1 else 5] = x / 2
    return xs


def pop_of_nothing(x: float = 0.5) -> float:
    xs = [x]
    xs.pop()
    return xs.pop()


def not_in_the_list(x: float = 0.5) -> float:
    xs = [x]
    xs.remove(2.0)
    return xs[0]


def beyond_the_end(x: float = 0.5) -> float:
    t = np.zeros(2)
    t[2] = x
    return float(t[0])


def no_such_key(x: float = 0.5) -> float:
    d = {"a": x}
    del d["b"]
    return d["a"]


def _exchange(xs: list[float], i: int, j: int) -> None:
    xs[i], xs[j] = xs[j], xs[i]


def _divide(xs: list[float], low: int, high: int) -> int:
    place = low
    for j in range(low, high):
        if xs[j] < xs[high]:
            _exchange(xs, place, j)
            place += 1
    _exchange(xs, place, high)
    return place


def _quick(xs: list[float], low: int, high: int) -> None:
    if low < high:
        place = _divide(xs, low, high)
        _quick(xs, low, place - 1)
        _quick(xs, place + 1, high)


def sorted_quickly(xs: list[float] = [3.0, 1.0, 2.0, 5.0, 4.0]) -> list[float]:
    ys = xs.copy()
    _quick(ys, 0, len(ys) - 1)
    return ys


def _smooth(xs: list[float], weight: float) -> None:
    for i in range(1, len(xs)):
        xs[i] += weight * xs[i - 1]


def smoothed_often(x: float = 0.5, weight: float = 0.25) -> float:
    xs = [x, x * x, 1.0, 2.0]
    for _ in range(3):
        _smooth(xs, weight)
        _smooth(xs, weight=x)
    return sum(xs)


def changed_by_functions_inside(x: float = 0.5) -> list[float]:
    def put(ys: list[float], y: float = 3.0) -> int:
        ys.append(y * x)
        if len(ys) < 4:
            put(ys, y + 1.0)
        return len(ys)

    xs = [x]
    count = put(xs)
    put(xs, y=7.0)
    return [*xs, count]


# Calls within expressions that change an argument.


def _picked(xs: list[float], x: float) -> int:
    xs.append(x)
    return len(xs)


def changed_by_calls_within(x: float = 1.5) -> tuple[Any, ...]:
    xs = [1.0]
    a = xs[0] + _picked(xs, 25) * 10 + len(xs) * 100 + _picked(xs, x)
    b = [len(xs), _picked(xs, 2.0), xs[-1], _picked(xs, 3.0)]
    if _picked(xs, 5) > 4 and len(xs) > 1:
        a += 1
    t = 1
    t += _picked(xs, x)
    for i in range(_picked(xs, 1)):
        t = t * 2 + _picked(xs, i)
    return a, b, t, xs, [_picked(xs, 4), *xs]


def _visited(graph: list[list[int]], v: int, seen: list[int]) -> int:
    if v in seen:
        return 0
    seen.append(v)
    total = 1
    for w in graph[v]:
        total += _visited(graph, w, seen)
    return total


def changed_by_a_search(x: float = 1.5) -> tuple[float, list[int]]:
    seen: list[int] = []
    return _visited([[1, 2], [2], [0, 3], []], 0, seen) * x, seen


def _island(m: list[list[int]], i: int, j: int, seen: Any) -> int:
    if 0 <= i < len(m) and 0 <= j < len(m[0]) and (i, j) not in seen and m[i][j] == 1:
        seen.add((i, j))
        return 1 + _island(m, i + 1, j, seen) + _island(m, i - 1, j, seen) + _island(m, i, j + 1, seen)
    return 0


def changed_set_by_a_search(x: float = 1.5) -> tuple[float, int]:
    m, best, seen = [[1, 1, 0], [0, 1, 0], [1, 0, 1]], 0, set()  # type: ignore[var-annotated]
    for i in range(3):
        for j in range(3):
            if (i, j) not in seen:
                best = max(best, _island(m, i, j, seen))
    return best * x, len(seen)


def copied(x: float = 2.5) -> tuple[Any, ...]:
    xs = [[1.0, x], [2.0]]
    ys, zs = copy.copy(xs), copy.deepcopy(xs)
    ys.append([3.0])
    xs.append([4.0])
    us = copy.deepcopy(xs)
    us[0][0] = 7.0
    us[1].append(x)
    return xs, ys, zs, us


def _moved(xs: list[float], ys: list[float], count: int = 1) -> float:
    total = 0.0
    for _ in range(count):
        total += xs[-1]
        ys.append(xs.pop())
    return total


def two_changed(x: float = 1.5) -> tuple[Any, ...]:
    a, b = [1.0, x, 3.0, 4.0, 5.0], [x * x]
    s = _moved(a, b)
    t = 2.0 * _moved(a, b, count=2) + len(a)
    _moved(b, a)
    _moved(ys=a, xs=b)
    if _moved(a, b) > 1.0:
        t += a[0]
    return a, b, s, t


def _hanoi(n: int, a: list[int], b: list[int], c: list[int]) -> None:
    if n > 0:
        _hanoi(n - 1, a, c, b)
        c.append(a.pop())
        _hanoi(n - 1, b, a, c)


def three_changed(x: float = 1.5) -> tuple[Any, ...]:
    a, b, c = [4.0 * x, 3.0 * x, 2.0 * x, x], [0.0], [9.0]
    _hanoi(4, a, b, c)
    return a, b, c


def _ordered(graph: dict[int, list[int]], v: int, seen: Any, order: list[int]) -> None:
    seen.add(v)
    for w in graph[v]:
        if w not in seen:
            _ordered(graph, w, seen, order)
    order.append(v)


def changed_by_a_depth_first_search(x: float = 1.5) -> tuple[float, list[int]]:
    graph = {0: [1, 2], 1: [3], 2: [3], 3: []}
    seen, order = set(), []  # type: ignore[var-annotated]
    for v in graph:
        if v not in seen:
            _ordered(graph, v, seen, order)
    return x * len(seen), order


def _placed(row: int, n: int, columns: list[int], found: list[list[int]]) -> None:
    if row == n:
        found.append(list(columns))
        return
    for c in range(n):
        if all(c != d and abs(c - d) != row - r for r, d in enumerate(columns)):
            columns.append(c)
            _placed(row + 1, n, columns, found)
            columns.pop()


def changed_by_backtracking(x: float = 1.5) -> tuple[float, list[list[int]]]:
    found: list[list[int]] = []
    _placed(0, 5, [], found)
    return x * len(found), found


def _stepped(xs: Any, ys: Any) -> float:
    xs[0] += 1.0
    ys[1] += xs[0] * ys[0]
    return ys[1]  # type: ignore[no-any-return]


def two_changed_arrays(x: float = 1.5) -> float:
    xs, ys, total = np.array([x, 2.0]), np.array([x * x, 1.0]), 0.0
    for _ in range(3):
        total += _stepped(xs, ys)
    return total + float(np.sum(xs * ys))


def two_changed_by_inner_functions(x: float = 1.5) -> tuple[Any, ...]:
    def swap(xs: list[float], ys: list[float], i: int) -> None:
        xs[i], ys[i] = ys[i], xs[i]

    def mixed(xs: list[float], ys: list[float]) -> int:
        swap(xs, ys, 0)
        swap(ys, xs, 1)
        return len(xs)

    a, b = [x, 2.0], [3.0, 4.0]
    n = mixed(a, b)
    swap(b, a, 0)
    return a, b, n


def _memo_even(n: int, memo: dict[int, float], calls: list[int]) -> float:
    if n in memo:
        return memo[n]
    result = 1.0 if n < 1 else _memo_odd(n - 1, memo, calls) + 1.0
    calls.append(n)
    memo[n] = result
    return result


def _memo_odd(n: int, memo: dict[int, float], calls: list[int]) -> float:
    return 1.0 if n < 1 else 2.0 * _memo_even(n - 1, memo, calls)


def changed_by_mutual_recursion(x: float = 1.5) -> tuple[Any, ...]:
    memo: dict[int, float] = {}
    calls: list[int] = []
    return x * _memo_even(9, memo, calls), memo, calls


def _taken(xs: list[float]) -> float:
    return xs.pop()


def changed_under_conditions(x: float = 1.5) -> tuple[Any, ...]:
    xs = [5.0, 0.0, 2.0, 0.0, x, 3.0, 1.0, 4.0]
    a = _taken(xs) if len(xs) > 7 else _taken(xs) * 100.0
    b = len(xs) > 0 and _taken(xs) + 1.0
    c = len(xs) > 20 and _taken(xs)
    d = [_taken(xs) if x > 1.0 else 0.0, len(xs), 0.0 if x > 1.0 else _taken(xs)]
    e = 7.0 < 3.0 < _taken(xs), len(xs)
    g = 0.0 < x < _taken(xs) + 5.0, len(xs)
    if xs[-1] == 0.0 and (_taken(xs) or _taken(xs)) > 1.0:
        return xs, a, b, c, d, e, g
    return xs


def popped_under_conditions(x: float = 1.5) -> tuple[Any, ...]:
    xs = [5.0, 0.0, 2.0, 0.0, x, 3.0, 1.0, 4.0]
    a = xs.pop() if len(xs) > 7 else xs.pop() * 100.0
    b = len(xs) > 0 and xs.pop() + 1.0
    c = len(xs) > 20 and xs.pop()
    d = [xs.pop() if x > 1.0 else 0.0, len(xs), 0.0 if x > 1.0 else xs.pop()]
    e = 7.0 < 3.0 < xs.pop(), len(xs)
    if xs[-1] == 0.0 and (xs.pop() or xs.pop()) > 1.0:
        return xs, a, b, c, d, e
    return xs


def changed_by_the_test_of_a_loop(x: float = 1.5) -> tuple[Any, ...]:
    xs, ys, count = [0.0, x, 2.0, 3.0], [1.0, 2.0, 0.0], 0.0
    while xs and _taken(xs) > 1.7:
        count += 1.0
        if count > 9.0:
            continue
    while ys and ys.pop() > 1.0 or count < 4.0:
        count += 1.0
    else:
        count += x
    zs = [3.0, 2.0, 1.0]
    while _taken(zs) < 2.5:
        count *= 2.0
    return xs, ys, zs, count


def _doubled_at_end(xs: list[float]) -> int:
    xs.append(2.0 * xs[-1])
    return len(xs)


def grown_by_a_loop_and_a_call(x: float = 1.5) -> tuple[Any, ...]:
    xs, total = [x], 0.0
    for i in range(3):
        xs.append(xs[-1] + i)
        total += _doubled_at_end(xs) * xs[-1]
        xs.append(xs.pop() - 1.0)
    return xs, total


def _pushed(xs: list[float], x: float) -> list[float]:
    xs.append(x)
    return xs


def _sorted(xs: list[float]) -> list[float]:
    for i in range(len(xs)):
        for j in range(len(xs) - 1 - i):
            if xs[j] > xs[j + 1]:
                xs[j], xs[j + 1] = xs[j + 1], xs[j]
    return xs


def _noted(d: dict[str, float], x: float) -> dict[str, float]:
    d["x"] = x
    return d


def an_argument_that_is_returned(x: float = 2.0) -> list[Any]:
    xs = [3.0]
    first = [sum(_pushed(xs, 1.0)) + len(xs)]
    xs = _pushed(_pushed(xs, x), 0.5)
    if len(_pushed(xs, 4.0)) > 1 and len(_sorted(xs)) > 2:
        first.append(xs[-1])
    d = {"y": 1.0}
    return [first, xs, _noted(d, x)["x"] + d["x"]]


def another_name_of_an_argument_that_is_returned(x: float = 2.0) -> list[Any]:
    xs = [3.0]
    ys = _pushed(xs, x)
    return [sum(ys), len(xs)]
