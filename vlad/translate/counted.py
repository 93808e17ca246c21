"""What `collections.Counter` computes, in Python: a counter is a dict of counts here. collecting.py calls these.

In: dicts and iterables.  Out: dicts, in the order that Python's counters have.
"""

from __future__ import annotations

from typing import Any


def counted(iterable: Any) -> Any:
    found: Any = {}
    if isinstance(iterable, dict):
        for key, count in iterable.items():
            found[key] = 0 + count
    else:
        for key in iterable:
            found[key] = found.get(key, 0) + 1
    return found


def plus_counted(counts: Any, iterable: Any) -> Any:
    """`counts` after `update(iterable)`, as a dict of its own."""
    return _with_counted(counts, iterable, 1)


def minus_counted(counts: Any, iterable: Any) -> Any:
    """`counts` after `subtract(iterable)`, as a dict of its own."""
    return _with_counted(counts, iterable, -1)


def _with_counted(counts: Any, iterable: Any, sign: Any) -> Any:
    found: Any = {}
    for key, count in counts.items():
        found[key] = 0 + count
    if isinstance(iterable, dict):
        for key, count in iterable.items():
            found[key] = found.get(key, 0) + sign * count
    else:
        for key in iterable:
            found[key] = found.get(key, 0) + sign
    return found


def most_common(counts: Any, n: Any = None) -> Any:
    items = sorted(counts.items(), key=lambda item: item[1], reverse=True)
    if n is None:
        return items
    return items[:n] if n > 0 else []


def elements(counts: Any) -> Any:
    found = []
    for key, count in counts.items():
        for _ in range(count):
            found.append(key)
    return found


def total(counts: Any) -> Any:
    return sum(counts.values())


def added(counts: Any, others: Any) -> Any:
    found = {}
    for key, count in counts.items():
        if count + others.get(key, 0) > 0:
            found[key] = count + others.get(key, 0)
    for key, count in others.items():
        if key not in counts and count > 0:
            found[key] = 0 + count
    return found


def subtracted(counts: Any, others: Any) -> Any:
    found = {}
    for key, count in counts.items():
        if count - others.get(key, 0) > 0:
            found[key] = count - others.get(key, 0)
    for key, count in others.items():
        if key not in counts and count < 0:
            found[key] = 0 - count
    return found


def common(counts: Any, others: Any) -> Any:
    found = {}
    for key, count in counts.items():
        least = min(count, others.get(key, 0))
        if least > 0:
            found[key] = least
    return found


def united(counts: Any, others: Any) -> Any:
    found = {}
    for key, count in counts.items():
        greatest = max(count, others.get(key, 0))
        if greatest > 0:
            found[key] = greatest
    for key, count in others.items():
        if key not in counts and count > 0:
            found[key] = 0 + count
    return found


def same_counts(counts: Any, others: Any) -> Any:
    return all(count == others.get(key, 0) for key, count in counts.items()) and all(
        count == counts.get(key, 0) for key, count in others.items()
    )
