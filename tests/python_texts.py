"""Python texts of pages and tests, run so that functions know their text, as in a file or the cell of a notebook."""

from __future__ import annotations

import itertools
import linecache
import math
import re
from typing import Any

import numpy as np

_NUMBERS = itertools.count()


def name_of(text: str) -> str:
    """The name of the file of an example, after the first function in it: a place in it stays where it is."""
    found = re.search(r"^def (\w+)", text, re.MULTILINE)
    return f"{found.group(1) if found else 'example'}.py"


def run(text: str, name: str, names: dict[str, Any]) -> None:
    """Execute a text under the name of a file."""
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec"), names)


def function_of(text: str, **names: Any) -> Any:
    """The function f of a text, in a file of its own."""
    run(text, f"text{next(_NUMBERS)}.py", names)
    return names["f"]


def same(a: Any, b: Any, tolerance: float = 0.0) -> bool:
    """Are two values of Python alike, with their types, but for whole numbers and floats, and numbers near to each other?"""
    if isinstance(a, list | tuple):
        is_alike = type(a) is type(b) and len(a) == len(b)
        return is_alike and all(same(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        is_alike = isinstance(b, dict) and list(a) == list(b)
        return is_alike and all(same(a[key], b[key], tolerance) for key in a)
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, int | float) and isinstance(b, int | float):
        return math.isclose(a, b, rel_tol=tolerance)
    return bool(a == b)
