"""The runner that every pass over core goes through: names it, checks its result where asked, times it, shows it.

Called by evaluate/machine.py (and by the compiler). `CHECKING` is on in the tests; `observers` see each result, which is how
`vlad show` and the timings look in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from vlad.core.check import check
from vlad.core.nodes import Lambda, Variable

CHECKING = False
observers: list[Callable[[str, Lambda, float], None]] = []


def run_pass(
    name: str, function: Callable[[Lambda], Lambda], node: Lambda, group: Iterable[Variable] = ()
) -> Lambda:
    """The result of a pass. Raises AssertionError when checking is on and the pass broke a rule of the grammar."""
    begin = time.perf_counter() if observers else 0.0
    result = function(node)
    if CHECKING:
        check(result, name, group)
    for observe in observers:
        observe(name, result, time.perf_counter() - begin)
    return result
