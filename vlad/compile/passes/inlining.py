"""First-order code → first-order code: procedures that are small or called once are inlined.

In: a Program.  Out: the same, changed in place. Called by order.py, so that the other passes cover the bodies of calls.
"""

from __future__ import annotations

from vlad.compile.ir.acting import returns
from vlad.compile.ir.program import Function, Invoke, Program, TailInvoke, blocks, makes, statements
from vlad.compile.ir.rewriting import callees, looping, put, put_last, reachable

SMALL = 40  # statements of a function that is inlined at every call
LARGEST = 4000  # statements of a function into which others are inlined


def inline(program: Program) -> None:
    """Replace calls by bodies, callees first."""
    functions = program.functions
    counts: dict[Function, int] = {}
    for function in functions:
        for callee in callees(function):
            counts[callee] = counts.get(callee, 0) + 1
    recursive = looping(functions)
    taping = _taping(functions)
    sizes = {f: len(statements(f.body)) for f in functions}
    for function in reversed(functions):
        budget = LARGEST - sizes[function]
        for block in blocks(function.body):
            for call in (*block.statements, block.end):
                if not isinstance(call, Invoke | TailInvoke):
                    continue
                callee = call.function
                if callee in program.entries or callee in recursive or callee is function or callee in taping:
                    continue
                size = sizes[callee]
                if (size > SMALL and counts[callee] > 1) or size > budget:
                    continue
                goes_on = True
                if type(call) is TailInvoke:
                    put_last(block, call)
                elif type(call) is Invoke and returns(callee.body):
                    goes_on = put(block, call)
                else:
                    continue
                budget -= size
                sizes[function] += size
                if not goes_on:
                    break
    program.functions = reachable(program)


def _taping(functions: list[Function]) -> set[Function]:
    """Functions whose callees allocate although they return plain numbers: the allocations are freed at their return."""
    allocating = {f for f in functions if any(makes(s) for s in statements(f.body))}
    grown = True
    while grown:
        more = {f for f in functions if f not in allocating and not allocating.isdisjoint(callees(f))}
        allocating |= more
        grown = bool(more)
    return {f for f in functions if "p" not in f.results and any(g in allocating for g in callees(f))}
