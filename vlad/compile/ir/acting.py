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
from vlad.compile.ir.rewriting import Calls, calling


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
    return calling([f for f in functions if has_effect(f)], functions)


def returning_functions(functions: list[Function]) -> set[Function]:
    """Functions with some path to a return; an endless loop has none."""
    tail_callers: dict[Function, list[Function]] = {}
    work: list[Function] = []
    for f in functions:
        for block in blocks(f.body):
            if type(block.end) is Return:
                work.append(f)
            elif type(block.end) is TailInvoke:
                tail_callers.setdefault(block.end.function, []).append(f)
    returning = set(work)
    while work:
        for caller in tail_callers.get(work.pop(), ()):
            if caller not in returning:
                returning.add(caller)
                work.append(caller)
    return returning


def total_functions(functions: list[Function], called: Calls | None = None) -> set[Function]:
    """Functions without failures, effects, and calls of functions that have them. Termination of loops that may
    return is not required: an unused result need not be waited for. `called`: as of `reachable`.
    """
    returning = returning_functions(functions)
    partial = [
        f
        for f in functions
        if has_effect(f)
        or f not in returning
        or not returns(f.body)
        or any(type(block.end) is Fail for block in blocks(f.body))
    ]
    return set(functions) - calling(partial, functions, called)
