"""Which values are Python functions that `vlad.function` was applied to.

Known by their class: a value that a function only reads may have any attribute, or all of them, as a mock or a client of a
database has.
"""

from __future__ import annotations

from typing import Any


class PythonFunction:
    """The base of the public class of such functions (python/functions.py)."""

    __slots__ = ()

    python: Any  # what Python runs


def is_translated(value: Any) -> bool:
    """Is it a function that `vlad.function` was applied to?"""
    return issubclass(type(value), PythonFunction)


def python_of(value: Any) -> Any:
    """What Python runs of a function that `vlad.function` was applied to; any other value is itself."""
    return value.python if is_translated(value) else value
