"""Dynamic programming, memo tables, search and recursion."""

from __future__ import annotations

import math

import numpy as np

INF = float("inf")


def _binomial(n: int, k: int) -> int:
    if k in {0, n}:
        return 1
    return _binomial(n - 1, k - 1) + _binomial(n - 1, k)


def plain_recursion(x: float = 0.5) -> float:
    return sum(_binomial(5, k) * x**k for k in range(6))


def memo_in_a_dict(x: float = 1.5) -> float:
    memo = {0: 0.0, 1: x}
    for n in range(2, 12):
        memo[n] = memo[n - 1] + 0.5 * memo[n - 2]
    return memo[11]


def memo_that_is_passed(x: float = 1.5) -> float:
    def fib(n: int, memo: dict[int, float]) -> tuple[float, dict[int, float]]:
        if n in memo:
            return memo[n], memo
        a, memo = fib(n - 1, memo)
        b, memo = fib(n - 2, memo)
        value = a + x * b
        return value, {**memo, n: value}

    return fib(10, {0: 1.0, 1: x})[0]


def edit_distance(cost: float = 0.7) -> float:
    a, b = "kitten", "sitting"
    previous = [float(j) for j in range(len(b) + 1)]
    for i, ca in enumerate(a, 1):
        current = [i * cost]
        for j, cb in enumerate(b, 1):
            current.append(min(previous[j] + cost, current[j - 1] + 1, previous[j - 1] + (ca != cb)))
        previous = current
    return previous[-1]


def knapsack(scale: float = 1.5) -> float:
    weights, values = [1, 3, 4, 5], [1.0, 4.0, 5.0, 7.0]
    best = [0.0] * 8
    for w, v in zip(weights, values):
        for c in range(7, w - 1, -1):
            best[c] = max(best[c], best[c - w] + scale * v)
    return best[7]


def knapsack_by_recursion(scale: float = 1.5) -> float:
    items = [(1, 1.0), (3, 4.0), (4, 5.0), (5, 7.0)]

    def solve(i: int, capacity: int) -> float:
        if i == len(items) or capacity == 0:
            return 0
        w, v = items[i]
        skip = solve(i + 1, capacity)
        if w > capacity:
            return skip
        return max(skip, scale * v + solve(i + 1, capacity - w))

    return solve(0, 7)


def coin_change(x: float = 0.5) -> float:
    ways = [1] + [0] * 20
    for coin in (1, 2, 5, 10):
        for amount in range(coin, 21):
            ways[amount] += ways[amount - coin]
    return x * ways[20]


def matrix_chain(x: float = 0.5) -> float:
    dims = [10 * x, 30.0, 5.0, 60.0, 10.0]
    n = len(dims) - 1
    m = [[0.0] * n for _ in range(n)]
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            m[i][j] = min(m[i][k] + m[k + 1][j] + dims[i] * dims[k + 1] * dims[j + 1] for k in range(i, j))
    return m[0][-1]


def longest_increasing(x: float = 0.5) -> float:
    xs = [x, 3.0, 1.0, 2.0, 5.0, 4.0, 6.0]
    best = [1] * len(xs)
    total = list(xs)
    for i in range(len(xs)):
        for j in range(i):
            if xs[j] < xs[i] and best[j] + 1 > best[i]:
                best[i] = best[j] + 1
                total[i] = total[j] + xs[i]
    return total[best.index(max(best))]


def largest_sum(x: float = 0.5) -> tuple[float, int, int]:
    xs = [-2.0, x, 4.0, -1.0, 2.0, x, -5.0, 4.0]
    best, here, start, span = -INF, 0.0, 0, (0, 0)
    for i, v in enumerate(xs):
        if here <= 0:
            here, start = v, i
        else:
            here += v
        if here > best:
            best, span = here, (start, i)
    return (best, *span)


def viterbi(stay: float = 0.7) -> float:
    states = ("rain", "sun")
    start = {"rain": 0.6, "sun": 0.4}
    move = {"rain": {"rain": stay, "sun": 1 - stay}, "sun": {"rain": 0.4, "sun": 0.6}}
    emit = {"rain": {"walk": 0.1, "shop": 0.4, "clean": 0.5}, "sun": {"walk": 0.6, "shop": 0.3, "clean": 0.1}}
    v = {s: start[s] * emit[s]["walk"] for s in states}
    for seen in ("shop", "clean"):
        v = {s: max(v[r] * move[r][s] for r in states) * emit[s][seen] for s in states}
    return max(v.values())


def forward_algorithm(stay: float = 0.7) -> float:
    A = np.array([[stay, 1 - stay], [0.4, 0.6]])
    B = np.array([[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]])
    alpha = np.array([0.6, 0.4]) * B[:, 0]
    for o in [1, 2, 0]:
        alpha = (alpha @ A) * B[:, o]
    return np.log(alpha.sum())


def shortest_paths(w: float = 1.5) -> list[list[float]]:
    d = [[0, w, INF, 7.0], [INF, 0, 2.0, INF], [INF, INF, 0, 1.0], [w, INF, INF, 0]]
    n = len(d)
    dist = [row[:] for row in d]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if dist[i][k] + dist[k][j] < dist[i][j]:
                    dist[i][j] = dist[i][k] + dist[k][j]
    return dist


def bellman_ford(w: float = 1.5) -> float:
    edges = [("a", "b", w), ("b", "c", -0.5), ("a", "c", 4.0), ("c", "d", w * w)]
    dist = {node: math.inf for node in "abcd"}
    dist["a"] = 0.0
    for _ in range(len(dist) - 1):
        for u, v, cost in edges:
            if dist[u] + cost < dist[v]:
                dist[v] = dist[u] + cost
    return dist["d"]


def dijkstra(w: float = 1.5) -> float:
    graph = {0: [(1, w), (2, 4.0)], 1: [(2, 1.0), (3, 6.0)], 2: [(3, w)], 3: []}
    dist = [math.inf] * 4
    dist[0] = 0.0
    todo = list(range(4))
    while todo:
        u = min(todo, key=lambda node: dist[node])
        todo.remove(u)
        for v, cost in graph[u]:
            dist[v] = min(dist[v], dist[u] + cost)
    return dist[3]


def breadth_first(x: float = 0.5) -> float:
    graph = {"a": ["b", "c"], "b": ["d"], "c": ["d", "e"], "d": ["e"], "e": []}
    depth = {"a": 0}
    queue = ["a"]
    while queue:
        node = queue.pop(0)
        for neighbour in graph[node]:
            if neighbour not in depth:
                depth[neighbour] = depth[node] + 1
                queue.append(neighbour)
    return sum(x**d for d in depth.values())


def depth_first(x: float = 0.5) -> list[str]:
    graph = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}
    stack, visited = ["a"], []
    while stack:
        node = stack.pop()
        if node in visited:
            continue
        visited.append(node)
        stack.extend(reversed(graph[node]))
    return visited


def grid_paths(x: float = 0.5) -> float:
    grid = ["..#", "...", "#.."]
    paths = [[0.0] * 3 for _ in range(3)]
    for r, row in enumerate(grid):
        for c, cell in enumerate(row):
            if cell == "#":
                continue
            if r == c == 0:
                paths[r][c] = 1.0
                continue
            up = paths[r - 1][c] if r > 0 else 0.0
            left = paths[r][c - 1] if c > 0 else 0.0
            paths[r][c] = x * up + left
    return paths[-1][-1]


def queens(x: float = 0.5) -> float:
    def place(row: int, columns: list[int]) -> int:
        if row == 5:
            return 1
        count = 0
        for c in range(5):
            if all(c != k and abs(c - k) != row - r for r, k in enumerate(columns)):
                count += place(row + 1, columns + [c])
        return count

    return x * place(0, [])


def all_subsets(x: float = 0.5) -> list[list[float]]:
    def subsets(xs: list[float]) -> list[list[float]]:
        if not xs:
            return [[]]
        first, *rest = xs
        without = subsets(rest)
        return without + [[first] + s for s in without]

    return subsets([x, 2.0, 3.0])


def hanoi(n: int = 4) -> list[tuple[str, str]]:
    def move(n: int, a: str, b: str, c: str) -> list[tuple[str, str]]:
        return [] if n == 0 else [*move(n - 1, a, c, b), (a, c), *move(n - 1, b, a, c)]

    return move(n, "A", "B", "C")


def ackermann(m: int = 2, n: int = 2) -> int:
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def catalan(x: float = 0.5) -> float:
    c = [1]
    for n in range(1, 7):
        c.append(sum(c[i] * c[n - 1 - i] for i in range(n)))
    return sum(ci * x**i for i, ci in enumerate(c))


def pascal(n: int = 5) -> list[list[int]]:
    rows = [[1]]
    for _ in range(n - 1):
        last = rows[-1]
        rows.append([1, *[a + b for a, b in zip(last, last[1:])], 1])
    return rows


def optimal_stopping(p: float = 0.6) -> float:
    value = [0.0] * 6
    for t in range(4, -1, -1):
        stop, go = t * 0.3, p * value[t + 1] + (1 - p) * 0.2
        value[t] = stop if stop >= go else go
    return value[0]


def value_iteration(gamma: float = 0.9) -> float:
    rewards = {"low": {"wait": 0.0, "search": -1.0}, "high": {"wait": 0.5, "search": 2.0}}
    after = {("low", "wait"): "low", ("low", "search"): "high", ("high", "wait"): "high", ("high", "search"): "low"}
    V = {s: 0.0 for s in rewards}
    for _ in range(10):
        V = {s: max(r + gamma * V[after[s, a]] for a, r in actions.items()) for s, actions in rewards.items()}
    return V["low"] + V["high"]
