"""Python texts of pages and tests, run so that functions know their text, as in a file or the cell of a notebook."""

from __future__ import annotations

import linecache
import re
from typing import Any


def name_of(text: str) -> str:
    """The name of the file of an example, after the first function in it: a place in it stays where it is."""
    found = re.search(r"^def (\w+)", text, re.MULTILINE)
    return f"{found.group(1) if found else 'example'}.py"


def run(text: str, name: str, names: dict[str, Any]) -> None:
    """Execute a text under the name of a file."""
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec"), names)
