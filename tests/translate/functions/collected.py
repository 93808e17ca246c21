"""`deque`, `defaultdict` and `Counter` of `collections`."""

from __future__ import annotations

import collections
from collections import Counter, defaultdict, deque
from typing import Any


def queue(x: float = 2.0) -> list[float]:
    q = deque([x])
    out = []
    while q:
        y = q.popleft()
        out.append(y)
        if len(out) < 5:
            q.append(y * 2)
            q.appendleft(y + 1)
    return out


def slope_through_a_queue(x: float = 1.5) -> float:
    q, total = collections.deque(), 0.0
    q.append((x, 3))
    while q:
        y, depth = q.popleft()
        total += y * y
        if depth > 0:
            q.append((y * 0.5, depth - 1))
            q.append((y + 1.0, depth - 2))
    return total


def breadth_first(graph: dict[int, list[int]] = {0: [1, 2], 1: [3], 2: [3, 0], 3: []}) -> dict[int, int]:
    seen, far = {0}, {}
    waiting: deque[tuple[int, int]] = deque([(0, 0)])
    while waiting:
        node, distance = waiting.popleft()
        far[node] = distance
        for there in graph[node]:
            if there not in seen:
                seen.add(there)
                waiting.append((there, distance + 1))
    return far


def window(xs: list[float] = [3.0, 1.0, 2.0, 5.0, 4.0], width: int = 3) -> list[float]:
    best: deque[int] = deque()
    found = []
    for i, x in enumerate(xs):
        while best and xs[best[-1]] <= x:
            best.pop()
        best.append(i)
        if best[0] <= i - width:
            best.popleft()
        if i >= width - 1:
            found.append(xs[best[0]])
    return found


def sums_by_remainder(xs: list[float] = [1.0, 2.0, 3.0, 4.0, 5.0]) -> dict[float, float]:
    sums = defaultdict(float)
    for x in xs:
        sums[x % 3] += x
    return sums


def reading_makes_an_entry(xs: list[float] = [1.0, 2.0, 3.0]) -> tuple[Any, ...]:
    groups = defaultdict(list)
    for i, x in enumerate(xs):
        groups[x % 2].append(i)
    none = len(groups[7.0])
    return groups, none, len(groups), 7.0 in groups, 8.0 in groups, sorted(groups), groups.get(9.0)


def weights(w: float = 2.0) -> float:
    edges = [(0, 1), (1, 2), (0, 2), (2, 0)]
    graph = defaultdict(lambda: defaultdict(float))
    for a, b in edges:
        graph[a][b] += w * (a + 1)
        graph[b][a] -= w * w
    return sum(graph[a][b] for a, b in edges) + graph[5][6]


def components(n: int = 6) -> list[list[int]]:
    links = defaultdict(set)
    for a, b in [(0, 1), (1, 2), (3, 4)]:
        links[a].add(b)
        links[b].add(a)

    found, done = [], set()
    for node in range(n):
        part, waiting = [], [node]
        while waiting:
            here = waiting.pop()
            if here not in done:
                done.add(here)
                part.append(here)
                for other in sorted(links[here]):
                    waiting.append(other)
        if part:
            found.append(sorted(part))
    return found


def made_by_a_function(x: float = 3.0) -> tuple[Any, ...]:
    ones = defaultdict(lambda: x)
    ones["a"] *= 2
    return ones["a"] + ones["b"], dict(ones), [key for key in ones], not ones


def of_two_kinds(n: int = 4) -> dict[int, list[int]]:
    table: dict[int, list[int]] = collections.defaultdict(list)
    for i in range(n):
        table[i % 2].append(i)
        table[i % 2][0] += 10
        table[i + 7] = [i]
    del table[1]
    return table


def made_where_it_is_read(k: float = 2.0) -> tuple[Any, ...]:
    d = defaultdict(int)
    x = (d[1] if k > 5 else 0) + (d[2] or 7)
    d[k], d[k + 1] = 5, 6
    d[k], d[k + 1] = d[k + 1], d[k]
    while d["turns"] < 3:
        d["turns"] += 1
    y = d["none"] + d["turns"]

    def more() -> float:
        d["more"] += k
        return d["read inside"]

    more()
    more()
    return x, y, dict(d)


def changed_within_try(ks: list[float] = [3.0, 1.0, 2.0]) -> tuple[Any, ...]:
    d, groups = defaultdict(int), defaultdict(list)
    for k in ks:
        try:
            d[k] += 1 / (k - 1)
            groups[k].append(1 / (k - 2))
        except ZeroDivisionError:
            d["failed"] += 1
    return d, groups


def pairs_and_counters(k: int = 1) -> tuple[Any, ...]:
    d, counts = defaultdict(lambda: [0.0, 0.0]), defaultdict(Counter)
    d[k][1] += 2.0
    d[3][0] = 1.0
    counts["a"]["x"] += 1
    counts["a"]["y"] += 2
    return d, counts["a"].most_common(1), counts["a"]["q"], len(counts["a"])


def letters(text: str = "abracadabra") -> tuple[Any, ...]:
    c = Counter(text)
    return c.most_common(2), c["a"], c["z"], len(c), "z" in c, sum(c.values()), max(c, key=c.get), c


def anagrams(a: str = "listen", b: str = "silent", c: str = "lists") -> list[bool]:
    return [Counter(a) == Counter(b), Counter(a) == Counter(c), Counter(a) != Counter(c)]


def changed_counts(text: str = "banana") -> tuple[Any, ...]:
    c = Counter(text)
    c["z"] += 1
    c.update("aab")
    c.update({"q": 3}, w=2)
    c.subtract(["a"])
    del c["n"]
    del c["missing"]
    c["b"] = 7
    return c, c["nothing"], c.most_common(), sorted(c.elements()), c.most_common(0)


def sums_of_counts(a: str = "aabc", b: str = "abbd") -> tuple[Any, ...]:
    c, d = Counter(a), Counter(b)
    e = c + d
    e += c
    e -= d
    return e, dict(c - d), c & d, (c | d).most_common(1), c == d, c != d, Counter(a)["a"], (c + d)["b"]


def weighted(x: float = 2.0) -> float:
    c = Counter()
    for place in [1, 2, 1, 3]:
        c[place] += x
    return c[1] * c[2] + c[99]


def lengths(words: list[str] = ["a", "bb", "cc", "ddd"]) -> tuple[Any, ...]:
    counts = Counter(len(word) for word in words)
    return {key: n for key, n in counts.items() if n > 1}, [key for key, _ in counts.most_common()]


def majority(xs: list[int] = [3, 1, 3, 3, 2]) -> int:
    value, count = Counter(xs).most_common(1)[0]
    return value if count > len(xs) // 2 else -1


def methods_as_functions(words: list[str] = ["b", "A", "c", "b"]) -> tuple[Any, ...]:
    sizes = {"a": 1, "b": 3, "c": 2}
    return (
        list(map(str.upper, words)),
        sorted(words, key=str.lower),
        max(sizes, key=sizes.get),
        sorted(sizes, key=sizes.get, reverse=True),
        list(map(sizes.get, ["a", "q"])),
        sorted(words, key=words.count),
        list(map("-".join, [["a", "b"], ["c"]])),
        "".join(filter(str.isdigit, "a1b2")),
    )
