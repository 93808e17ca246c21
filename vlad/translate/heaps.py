"""Functions of Python's that change a list, in Python: `heapq`, and `bisect.insort`. They are translated where those are called.

In: lists.  Out: the same order of the items as CPython's has, as a program sees it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from types import BuiltinFunctionType, FunctionType
from typing import Any

from vlad.translate import counted, wholes


def heappush(heap: Any, item: Any) -> None:
    heap.append(item)
    _move_up(heap, 0, len(heap) - 1)


def heappop(heap: Any) -> Any:
    if not heap:
        raise IndexError("index out of range")
    last = heap.pop()
    if not heap:
        return last
    least = heap[0]
    heap[0] = last
    _move_down(heap, 0)
    return least


def heapify(x: Any) -> None:
    for place in range(len(x) // 2 - 1, -1, -1):
        _move_down(x, place)


def heappushpop(heap: Any, item: Any) -> Any:
    if not heap or not heap[0] < item:
        return item
    least = heap[0]
    heap[0] = item
    _move_down(heap, 0)
    return least


def heapreplace(heap: Any, item: Any) -> Any:
    if not heap:
        raise IndexError("index out of range")
    least = heap[0]
    heap[0] = item
    _move_down(heap, 0)
    return least


def _move_up(heap: Any, first: Any, place: Any) -> None:
    """Exchange an item with those above it that are greater, as far as the place `first`."""
    item = heap[place]
    while place > first:
        above = (place - 1) // 2
        if not item < heap[above]:
            break
        heap[place] = heap[above]
        place = above
    heap[place] = item


def _move_down(heap: Any, place: Any) -> None:
    """Move an item to a leaf, and up again as far as it has to be: CPython compares less often so."""
    first, item, count = place, heap[place], len(heap)
    below = 2 * place + 1
    while below < count:
        if below + 1 < count and not heap[below] < heap[below + 1]:
            below = below + 1
        heap[place] = heap[below]
        place = below
        below = 2 * place + 1
    heap[place] = item
    _move_up(heap, first, place)


def nsmallest(n: Any, iterable: Any, key: Any = None) -> Any:
    items = sorted(iterable) if key is None else sorted(iterable, key=key)
    return items[:n] if n > 0 else []


def nlargest(n: Any, iterable: Any, key: Any = None) -> Any:
    items = sorted(iterable, reverse=True) if key is None else sorted(iterable, key=key, reverse=True)
    return items[:n] if n > 0 else []


def insort_right(a: Any, x: Any, lo: Any = 0, hi: Any = None) -> None:
    a.insert(bisect_right(a, x, lo, hi), x)


def insort_left(a: Any, x: Any, lo: Any = 0, hi: Any = None) -> None:
    a.insert(bisect_left(a, x, lo, hi), x)


# By the module and the name of Python's function.
_INSTEAD: dict[tuple[str, str], Any] = {
    (module, one.__name__): one
    for module, functions in {
        "_heapq": (heappush, heappop, heapify, heappushpop, heapreplace),
        "heapq": (nsmallest, nlargest),
        "_bisect": (insort_right, insort_left),
    }.items()
    for one in functions
}


def in_python(value: Any) -> Any:
    """The function that is translated in place of one of Python's; other values are themselves."""
    if not isinstance(value, BuiltinFunctionType | FunctionType):
        return value
    return _INSTEAD.get((value.__module__, value.__name__), value)


def is_in_python(value: Any) -> bool:
    """Is a function one of these, or of the others that are translated for Python's?"""
    return isinstance(value, FunctionType) and value.__module__ in (
        __name__,
        counted.__name__,
        wholes.__name__,
    )
