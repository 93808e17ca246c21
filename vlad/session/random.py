"""Random numbers for Python, drawn with keys: `vlad.random`.

The same key always gives the same numbers; `split` makes new keys of one. The functions work in Python, and in functions that are
translated (translate/known.py has their rows), where they have derivatives by `low`, `high`, `loc` and `scale`. After the key,
the arguments are those of NumPy's generators; `size` is a number, a tuple, or None for one number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vlad.python.functions import Function
from vlad.session.default import function

Key = tuple[float, float]
Size = int | tuple[int, ...] | None

_translated: dict[str, Function[..., Any]] = {}


def _drawn(called: str, *arguments: Any) -> Any:
    """The result of one of the calls below, translated."""
    found = _translated.get(called)
    if found is None or found.session.closed:
        found = _translated[called] = function(_CALLS[called])
    return found(*arguments)


def key(seed: int) -> Key:
    """The key of a seed, a whole number."""
    made: Key = _drawn("key", seed)
    return made


def split(key: Key, num: int = 2) -> list[Key]:
    """New keys, which differ from each other and from the given one, which is not to be used again."""
    made: list[Key] = _drawn("split", key, num)
    return made


def uniform(key: Key, low: Any = 0.0, high: Any = 1.0, size: Size = None) -> Any:
    """Numbers in [low, high)."""
    return _drawn("uniform", key, low, high, size)


def normal(key: Key, loc: Any = 0.0, scale: Any = 1.0, size: Size = None) -> Any:
    """Numbers from the normal distribution with this mean and standard deviation."""
    return _drawn("normal", key, loc, scale, size)


def exponential(key: Key, scale: Any = 1.0, size: Size = None) -> Any:
    """Numbers from the exponential distribution with this mean."""
    return _drawn("exponential", key, scale, size)


def integers(key: Key, low: int, high: int, size: Size = None) -> Any:
    """Whole numbers from low up to high, exclusive."""
    return _drawn("integers", key, low, high, size)


def permutation(key: Key, n: int) -> Any:
    """The whole numbers below n in random order."""
    return _drawn("permutation", key, n)


def choice(key: Key, a: Sequence[float] | Any, size: Size = None) -> Any:
    """Entries of an array, drawn with replacement."""
    return _drawn("choice", key, a, size)


# What is translated: calls of these functions.
_CALLS: dict[str, Callable[..., Any]] = {
    "key": lambda seed: key(seed),
    "split": lambda key, num: split(key, num),
    "uniform": lambda key, low, high, size: uniform(key, low, high, size),
    "normal": lambda key, loc, scale, size: normal(key, loc, scale, size),
    "exponential": lambda key, scale, size: exponential(key, scale, size),
    "integers": lambda key, low, high, size: integers(key, low, high, size),
    "permutation": lambda key, n: permutation(key, n),
    "choice": lambda key, a, size: choice(key, a, size),
}
