"""The sections of runtime.c, the run-time of compiled programs, from which a unit takes those that it needs.

In: runtime.c.  Out: C text by the name of its section.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache


@cache
def sections() -> Mapping[str, str]:
    """The texts by name. Each section begins with a comment, whose first line has the name, and ends where the next one begins.
    The rest of that comment, if there is any, is a part of the text."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runtime.c")
    with open(path, encoding="utf-8") as file:
        _, *parts = file.read().split("\n/* section: ")
    found = {}
    for part in parts:
        line, text = part.split("\n", 1)
        name, end, _ = line.partition(" */")
        found[name] = f"{'' if end else '/* '}{text.strip()}\n"
    return found
