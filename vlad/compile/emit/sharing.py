"""Which functions of a program remember the parts of structures that they have visited, so that a structure costs its nodes, not
its paths (Pearlmutter & Siskind 2008, section 4: memoisation keeps the sharing of values).

In: the functions of a program, with facts.  Out: `sharing_in`. c_function.py emits the tables of section `sharing` of runtime.c.
A function that visits each part of a structure once, as along a list, has nothing to remember.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from vlad.compile.emit.facts import Facts
from vlad.compile.ir.program import (
    Block,
    Function,
    Invoke,
    Return,
    Switch,
    TailInvoke,
    blocks,
    inner_blocks,
    sharing_of,
)
from vlad.core.types import Sharing

MOST_WORDS = 2  # pointers that a visit is known by


@final
@dataclass(frozen=True, slots=True)
class Shared:
    """`remembering`: functions with their numbers; `careful`: those, and what calls them in one operation. These free nothing
    before the operation has ended, as visits are known by addresses."""

    remembering: dict[Function, int]
    careful: set[Function]


def sharing_in(functions: Sequence[Function], facts: Facts) -> Shared:
    parts = [f for f in functions if sharing_of(f) is not None]
    branching = {facts.component[f] for f in parts if _calls(f.body, facts.component[f], facts) > 1}
    # what a list of structures calls for each of them, which may be the same one
    entered = {
        facts.component[g]
        for f in parts
        if f in facts.recursive or f in facts.loops
        for g in facts.callees[f]
        if facts.component[g] != facts.component[f]
    }
    repeated = branching | entered
    found = [f for f in parts if facts.component[f] in repeated and _is_known_by_addresses(f, facts)]
    careful = set(found)
    grown = True
    while grown:
        callers = {f for f in parts if f not in careful and any(g in careful for g in facts.callees[f])}
        careful |= callers
        grown = bool(callers)
    return Shared({function: number for number, function in enumerate(found)}, careful)


def places_of_visits(function: Function, facts: Facts) -> list[Block]:
    """The blocks of a function that remembers in which it visits parts: what has none is visited as fast as it is found."""
    match function.body:
        case Block([Switch(slots, pointer, cases)], Return(leaves)) if (
            pointer in function.parameters and slots == leaves
        ):
            inner = [block for _, block in cases if _calls(block, facts.component[function], facts)]
            if all(_yields(block) for block in inner):
                return inner
    return [function.body]


def _yields(block: Block) -> bool:
    """Does the block return a value to the choice that it is an arm of, wherever it ends?"""
    return not any(type(inner.end) in (Return, TailInvoke) for inner in blocks(block))


def _calls(block: Block, component: int, facts: Facts) -> int:
    """The largest number of calls of a component on one path through a block."""
    count = int(type(block.end) is TailInvoke and facts.component[block.end.function] == component)
    for statement in block.statements:
        if type(statement) is Invoke:
            count += facts.component[statement.function] == component
        count += max([_calls(inner, component, facts) for inner in inner_blocks(statement)], default=0)
    return count


def _is_known_by_addresses(function: Function, facts: Facts) -> bool:
    kinds = [slot.kind for slot in function.parameters]
    results = {"", "b"} if sharing_of(function) is Sharing.VISITS else {"p"}
    if sharing_of(function) is Sharing.RESULTS and function in facts.loops:
        return False  # its parameters change before it returns
    alone = any(members == [function] for members in facts.together)
    return alone and 0 < len(kinds) <= MOST_WORDS and set(kinds) == {"p"} and function.results in results
