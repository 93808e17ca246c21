"""`heapq` and `bisect.insort`: functions of Python's that change a list."""

import bisect
import heapq
import math
from bisect import insort
from heapq import heappop, heappush
from typing import Any


def pushed_and_popped(x: float = 1.5) -> tuple[Any, ...]:
    heap: list[float] = []
    states = []
    for i in range(12):
        heappush(heap, (7.0 * i * i + x) % 11.0)
        if i % 3 == 2:
            states.append(heappop(heap))
        states.append(heap[0])
    return heap, states, len(heap)


def in_order(x: float = 1.5) -> float:
    heap = [math.sin(i * x) for i in range(9)]
    heapq.heapify(heap)
    total, weight = 0.0, 1.0
    while heap:
        total += weight * heapq.heappop(heap)
        weight *= 0.5
    return total


def replaced(x: float = 1.5) -> tuple[Any, ...]:
    heap = [5.0, 3.0, 8.0, x, 3.0, 9.0, 2.0]
    heapq.heapify(heap)
    first = list(heap)
    a = heapq.heapreplace(heap, 6.0)
    b = heapq.heappushpop(heap, x), heapq.heappushpop(heap, 7.0)
    return first, a, b, heap, heapq.nsmallest(3, heap), heapq.nlargest(2, heap), heapq.nlargest(0, heap)


def by_keys(x: float = 1.5) -> tuple[Any, ...]:
    points = [(3.0, x), (x, 1.0), (-2.0, 4.0)]
    return heapq.nsmallest(2, points, key=lambda p: p[0] * p[1]), heapq.nlargest(2, points, key=lambda p: p[1])


def shortest_paths(x: float = 1.5) -> dict[int, float]:
    graph = {0: [(1, 4.0), (2, x)], 1: [(3, 1.0)], 2: [(1, 2.0), (3, 5.0 * x)], 3: []}
    distances = {0: 0.0}
    heap = [(0.0, 0)]
    while heap:
        distance, here = heapq.heappop(heap)
        if distance > distances[here]:
            continue
        for there, length in graph[here]:
            if there not in distances or distance + length < distances[there]:
                distances[there] = distance + length
                heapq.heappush(heap, (distance + length, there))
    return distances


def merged_lengths(x: float = 1.4) -> float:
    """The cost of joining pieces, the shortest first."""
    pieces = [2.0, x, 3.0 * x, 1.0, 4.0]
    heapq.heapify(pieces)
    cost = 0.0
    while len(pieces) > 1:
        joined = heapq.heappop(pieces) + heapq.heappop(pieces)
        cost += joined
        heapq.heappush(pieces, joined)
    return cost


def of_an_empty_heap(x: float = 1.5) -> float:
    heap: list[float] = []
    try:
        return heapq.heappop(heap)
    except IndexError as error:
        return x * len(str(error))


def inserted(x: float = 1.5) -> tuple[Any, ...]:
    xs: list[float] = []
    for i in range(6):
        insort(xs, (5.0 * i + x) % 4.0)
    bisect.insort_left(xs, 2.5)
    bisect.insort_right(xs, 9.0, 1)
    return xs, bisect.bisect(xs, x)
