"""Properties of functions: effects, failures, and whether they return.

In: the functions of a program.  Out: those with a property; nothing is changed. Called by passes that drop, share, inline or move
calls, and by programs/export.py.
"""

from __future__ import annotations

from vlad.compile.ir.program import (
    Block,
    Branch,
    Effect,
    Fail,
    Function,
    Return,
    Store,
    Switch,
    TailInvoke,
    Unreachable,
    blocks,
    inner_blocks,
    statements,
)
from vlad.compile.ir.rewriting import callees


def returns(block: Block) -> bool:
    """Does every path of a body end, rather than in `Unreachable`?"""
    if type(block.end) is not Unreachable:
        return True
    last = block.statements[-1] if block.statements else None
    return type(last) in (Branch, Switch) and all(returns(inner) for inner in inner_blocks(last))  # type: ignore[arg-type]


def has_effect(function: Function) -> bool:
    return any(type(statement) in (Effect, Store) for statement in statements(function.body))


def acting_functions(functions: list[Function]) -> set[Function]:
    """Functions with observable behaviour other than their results."""
    acting = {f for f in functions if has_effect(f)}
    grown = bool(acting)
    while grown:
        more = {f for f in functions if f not in acting and not acting.isdisjoint(callees(f))}
        acting |= more
        grown = bool(more)
    return acting


def returning_functions(functions: list[Function]) -> set[Function]:
    """Functions with some path to a return; an endless loop has none."""
    ends = {f: [block.end for block in blocks(f.body)] for f in functions}
    returning = {f for f in functions if any(type(end) is Return for end in ends[f])}
    grown = True
    while grown:
        more = {
            f
            for f in functions
            if f not in returning
            and any(type(end) is TailInvoke and end.function in returning for end in ends[f])
        }
        returning |= more
        grown = bool(more)
    return returning


def total_functions(functions: list[Function]) -> set[Function]:
    """Functions without failures, effects, and calls of functions that have them. Termination of loops that may
    return is not required: an unused result need not be waited for.
    """
    returning = returning_functions(functions)
    total = {
        f
        for f in functions
        if not has_effect(f)
        and f in returning
        and returns(f.body)
        and not any(type(block.end) is Fail for block in blocks(f.body))
    }
    shrunk = True
    while shrunk:
        less = {f for f in total if not total.issuperset(callees(f))}
        total -= less
        shrunk = bool(less)
    return total
