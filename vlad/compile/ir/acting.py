"""Properties of functions: effects, failures, and whether they return.

In: the functions of a program.  Out: those with a property; nothing is changed. Called by passes that drop, share, inline or move
calls, and by programs/export.py.
"""

from __future__ import annotations

from vlad.compile.ir.outlines import Outlines
from vlad.compile.ir.program import Function, Return
from vlad.compile.ir.rewriting import calling


def acting_functions(functions: list[Function], outlines: Outlines | None = None) -> set[Function]:
    """Functions with observable behaviour other than their results."""
    outlines = outlines or Outlines()
    return calling([f for f in functions if outlines[f].acts], functions, outlines.calls_of(functions))


def returning_functions(functions: list[Function], outlines: Outlines | None = None) -> set[Function]:
    """Functions with some path to a return; an endless loop has none."""
    outlines = outlines or Outlines()
    tail_callers: dict[Function, list[Function]] = {}
    work: list[Function] = []
    for f in functions:
        for end in outlines[f].ends:
            if type(end) is Return:
                work.append(f)
            else:
                tail_callers.setdefault(end.function, []).append(f)
    returning = set(work)
    while work:
        for caller in tail_callers.get(work.pop(), ()):
            if caller not in returning:
                returning.add(caller)
                work.append(caller)
    return returning


def total_functions(functions: list[Function], outlines: Outlines) -> set[Function]:
    """Functions without failures, effects, and calls of functions that have them. Termination of loops that may
    return is not required: an unused result need not be waited for.
    """
    returning = returning_functions(functions, outlines)
    partial = [
        f
        for f in functions
        if outlines[f].acts or f not in returning or not outlines[f].returns or outlines[f].fails
    ]
    return set(functions) - calling(partial, functions, outlines.calls_of(functions))
