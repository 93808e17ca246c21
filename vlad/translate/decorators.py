"""Decorators that a translation leaves out: `vlad.function`, `functools.wraps`, and caches of results.

In: what decorates a function, and functions with a cache.  Out: the functions, which have the same results. One that calls itself
may take exponential time without its cache, so it keeps it.
"""

from __future__ import annotations

import functools
from types import CodeType, FunctionType
from typing import Any

CACHED = type(functools.cache(id))  # what `functools.cache` and `lru_cache` make


_CACHES: tuple[Any, ...] = (functools.cache, functools.lru_cache)


def is_cache(decorator: Any) -> bool:
    return any(decorator is one for one in _CACHES)


def changes_nothing(decorator: Any) -> bool:
    """Has what it decorates the same results?"""
    is_own = (
        getattr(decorator, "__module__", None) == "vlad.session.default" and decorator.__name__ == "function"
    )
    return is_own or decorator is functools.wraps or is_cache(decorator)


def uncached(value: Any) -> Any:
    """The function that is cached, unless it calls itself; other values are themselves."""
    if type(value) is not CACHED or not isinstance(_bare(value), FunctionType):
        return value
    seen: list[Any] = []
    work = _called_by(_bare(value))
    for one in work:  # grows during the loop
        if one is value or one is _bare(value):
            return value
        bare = _bare(one)
        if isinstance(bare, FunctionType) and not any(bare is other for other in seen):
            seen.append(bare)
            work += _called_by(bare)
    return _bare(value)


def _bare(value: Any) -> Any:
    value = getattr(value, "python", value)
    return value.__wrapped__ if type(value) is CACHED else value


def _called_by(function: FunctionType) -> list[Any]:
    """The values of the names outside that a function reads."""
    found, codes = [], [function.__code__]
    for code in codes:  # grows during the loop
        found += [function.__globals__[name] for name in code.co_names if name in function.__globals__]
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # not assigned yet
            continue
    return found
