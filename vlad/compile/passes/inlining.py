"""First-order code → first-order code: procedures that are small or called once are inlined.

In: a Program.  Out: the same, changed in place. Called by order.py, so that the other passes cover the bodies of calls.
"""

from __future__ import annotations

from collections import Counter

from vlad.compile.ir.outlines import Outlines
from vlad.compile.ir.program import Function, Invoke, Program, TailInvoke, blocks
from vlad.compile.ir.rewriting import calling, inline_calls, looping, put_last, reachable

# Statements of a function that is inlined at every call, besides what the call itself costs: one for each operand and result.
SMALL = 40
TINY = 8  # even in a large program
LARGEST = 4000  # statements of a function into which others are inlined
LARGE = 16_000  # of a program: lines of C, approximately


def inline(program: Program, outlines: Outlines | None = None) -> bool:
    """Replace calls by bodies, callees first. Returns whether anything changed."""
    outlines = outlines or Outlines()
    functions = program.functions
    called = outlines.calls_of(functions)
    counts = Counter([callee for function in functions for callee in called[function]])
    kept = {*program.entries, *looping(functions, called), *taping(functions, outlines)}
    sizes = {f: len(outlines[f].statements) for f in functions}
    room = Room(LARGE - sum([outlines[f].lines for f in functions]))
    changed = False
    for function in reversed(functions):
        if not kept.issuperset(called[function]) and _inline(function, kept, counts, sizes, room, outlines):
            changed = True
            outlines.changed(function)
    program.functions = reachable(program, outlines.calls_of(functions))
    return changed or program.functions != functions


class Room:
    """The number of lines by which a program may still grow."""

    def __init__(self, lines: int) -> None:
        self.lines = lines


def _inline(
    function: Function,
    kept: set[Function],
    counts: Counter[Function],
    sizes: dict[Function, int],
    room: Room,
    outlines: Outlines,
) -> bool:
    """Inline calls within a function. `kept`: functions whose calls stay. Returns whether there are others."""
    budget = LARGEST - sizes[function]
    changed = False

    def is_chosen(call: Invoke | TailInvoke) -> bool:
        nonlocal budget, changed
        callee = call.function
        size = sizes[callee]
        is_copied = counts[callee] > 1
        interface = len(callee.parameters) + len(callee.results)
        if callee in kept or (size - interface > SMALL and is_copied) or size > budget:
            return False
        if type(call) is Invoke and not outlines[callee].returns:
            return False
        if is_copied and size > TINY:
            lines = outlines[callee].lines
            if lines > room.lines:
                return False
            room.lines -= lines
        budget -= size
        sizes[function] += size
        changed = True
        return True

    inline_calls(function, is_chosen)
    for block in blocks(function.body):
        if type(block.end) is TailInvoke and is_chosen(block.end):
            put_last(block, block.end)
    return changed


def taping(functions: list[Function], outlines: Outlines) -> set[Function]:
    """Functions whose callees allocate although they return plain numbers: the allocations are freed at their return."""
    called = outlines.calls_of(functions)
    makers = [f for f in functions if outlines[f].makes]
    allocating = calling(makers, functions, called)
    return {f for f in functions if "p" not in f.results and any(g in allocating for g in called[f])}
