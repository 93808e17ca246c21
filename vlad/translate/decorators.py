"""Decorators that a translation leaves out: `vlad.function`, `functools.wraps`, and caches of results.

In: what decorates a function, and functions with a cache.  Out: the functions, which have the same results. One that calls itself
may take exponential time without its cache: it keeps its results during a call (memos.py), and one that does so by others is
refused.
"""

from __future__ import annotations

import functools
import weakref
from types import CodeType, FunctionType
from typing import Any

from vlad.data.python_functions import python_of

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
    """The function that is cached, unless it calls itself by others; other values are themselves."""
    if type(value) is not CACHED or not isinstance(bare(value), FunctionType):
        return value
    own: FunctionType = bare(value)
    seen: list[Any] = [own]
    work = [one for one in _called_by(own).values() if bare(one) is not own]
    for one in work:  # grows during the loop
        if bare(one) is own:
            return value
        if isinstance(bare(one), FunctionType) and not any(bare(one) is other for other in seen):
            seen.append(bare(one))
            work += _called_by(bare(one)).values()
    return own


def own_cache(function: FunctionType) -> str | None:
    """The name by which a function calls the cache of itself; None if it does not."""
    for name, value in _called_by(function).items():
        if bare(value) is function and (_is_cached(value) or function in with_caches):
            return name
    return None


with_caches: weakref.WeakSet[FunctionType] = (
    weakref.WeakSet()
)  # functions that were given to vlad.function with a cache


def _is_cached(value: Any) -> bool:
    value = value if type(value) is CACHED else python_of(value)
    return type(value) is CACHED


def bare(value: Any) -> Any:
    """A function without its cache, and without what vlad.function makes of it."""
    while True:
        inner = value.__wrapped__ if type(value) is CACHED else python_of(value)
        if inner is value:
            return value
        value = inner


def _called_by(function: FunctionType) -> dict[str, Any]:
    """The values of the names outside that a function reads."""
    found: dict[str, Any] = {}
    codes = [function.__code__]
    for code in codes:  # grows during the loop
        found.update({one: function.__globals__[one] for one in code.co_names if one in function.__globals__})
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
    for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[variable] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found
