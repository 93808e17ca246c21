"""Levels of diagnostics: `VLAD_DEBUG=1` to `4` in the environment. Each level includes the lower ones.

In: the environment, when this module is imported; tests set `rungs`.  Out: the levels that are on. Used where a fault of vlad
itself would become an error of the language, and by the runner of passes (core/passes.py).
"""

from __future__ import annotations

import os

TRACEBACKS = 1  # a fault of the evaluator or of the compiler is raised, with Python's traceback
TIMINGS = 2  # at the end of the process, the time of each pass is written to the standard error
CHECKS = 3  # the result of each pass is checked against the grammar of its language
TEXTS = 4  # the result of each pass is written to the standard error

LADDER = (TRACEBACKS, TIMINGS, CHECKS, TEXTS)


def _parsed(text: str) -> frozenset[int]:
    """The levels up to a number, all of them for a number beyond the last; none if the text is not a digit."""
    return frozenset(LADDER[: int(text)]) if text.isdecimal() and len(text) == 1 else frozenset()


rungs = _parsed(os.environ.get("VLAD_DEBUG", ""))


def is_on(rung: int) -> bool:
    return rung in rungs
