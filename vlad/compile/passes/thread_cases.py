"""Tests whose results are known in each arm of the branch before them: jump threading, or the case of a case.

In: a Program.  Out: the same, changed in place. Called by order.py.

Scalar replacement leaves a branch whose arms yield the number of a union's member, and a switch on that number right behind it:
a sensitivity is zero in one arm and a real in the other, and what is done with it tests which. The case that an arm chooses then
stands in the arm. So what the arm makes, such as zeros with one entry, and what the case does with it, such as adding it to
another array, are in one block, where other passes see both. A backpropagator whose sensitivity may be zero becomes two: one for
zero, which does nothing, and one for the rest, without tests. What is computed between the two choices then comes before both.
"""

from __future__ import annotations

from copy import copy

from vlad.compile.ir.outlines import Outlines
from vlad.compile.ir.program import (
    Block,
    Branch,
    Compute,
    Each,
    Fail,
    Immediate,
    Leaf,
    Program,
    Statement,
    Switch,
    Unreachable,
    Yield,
    inner_blocks,
)
from vlad.compile.ir.rewriting import substitute

Choice = Branch | Switch


def thread_cases(program: Program, outlines: Outlines | None = None) -> bool:
    """Returns whether there are such tests."""
    outlines = outlines or Outlines()
    changed = False
    for function in program.functions:
        outline = outlines[function]
        if __name__ in outline.unchanged_by:
            continue
        found = outline.blocks
        pairs = [block for block in found if _has_pair(block)]
        if not pairs:
            outline.unchanged_by[__name__] = True
            continue
        # inner ones first: their statements may move out of them
        threaded = [_thread(block) for block in reversed(pairs)]
        if any(threaded):
            changed = True
            outlines.changed(function)
        else:
            outline.unchanged_by[__name__] = True
    return changed


def _has_pair(block: Block) -> bool:
    return any(_second(block, at) is not None for at in range(len(block.statements) - 1))


def _second(block: Block, at: int) -> int | None:
    """Where the choice is that tests what the one at that place yields, if only computations on other operands are between."""
    first = block.statements[at]
    if type(first) is not Branch and type(first) is not Switch:
        return None
    for place in range(at + 1, len(block.statements)):
        statement = block.statements[place]
        if type(statement) is Branch or type(statement) is Switch:
            return place if _tested(statement) in first.slots else None
        if type(statement) is not Compute and type(statement) is not Each:
            return None
        if any(leaf in first.slots for leaf in statement.operands) or not _goes_on(first):
            return None
    return None


def _goes_on(choice: Choice) -> bool:
    """Are the statements behind a choice run, unless there is an error?"""
    return all(type(arm.end) in (Yield, Fail, Unreachable) for arm in inner_blocks(choice))


def _tested(choice: Statement) -> Leaf | None:
    return choice.test if type(choice) is Branch else choice.pointer if type(choice) is Switch else None


def _thread(block: Block) -> bool:
    changed = False
    at = 0
    while at + 1 < len(block.statements):
        place = _second(block, at)
        if place is not None:
            first, *between, second = block.statements[at : place + 1]
            assert isinstance(first, Branch | Switch) and isinstance(second, Branch | Switch)
            chosen = _chosen(first, second)
            if chosen is not None:
                _join(first, second, chosen)
                block.statements[at : place + 1] = [*between, first]
                at += len(between)
                changed = True
                continue  # the next one may depend on this one
        at += 1
    return changed


def _chosen(first: Choice, second: Choice) -> list[Block | None] | None:
    """The case of the second that each arm of the first chooses, None for an arm that yields nothing. None if some arm does not
    decide it, or if a case would have to be copied.
    """
    tested = _tested(second)
    if tested is None or tested not in first.slots:
        return None
    place = [slot is tested for slot in first.slots].index(True)
    found: list[Block | None] = []
    for arm in inner_blocks(first):
        case = None
        if type(arm.end) is Yield:
            case = _case(second, arm.end.leaves[place])
            if case is None or (case.statements and any(case is other for other in found)):
                return None
        found.append(case)
    return found


def _case(choice: Choice, leaf: Leaf) -> Block | None:
    if type(choice) is Branch:
        return (choice.consequent if leaf else choice.alternative) if type(leaf) is bool else None
    if type(leaf) is not Immediate or type(choice) is not Switch:
        return None
    return next((block for member, block in choice.cases if member.index == leaf.member), None)


def _join(first: Choice, second: Choice, chosen: list[Block | None]) -> None:
    for arm, case in zip(inner_blocks(first), chosen, strict=True):
        if case is None or type(arm.end) is not Yield:
            continue
        given = dict(zip(first.slots, arm.end.leaves, strict=True))
        # each arm has an end of its own, in which it puts its leaves
        inside = Block(case.statements, copy(case.end))
        substitute(inside, given)
        arm.statements += inside.statements
        if type(inside.end) is Yield:
            arm.end = Yield((*arm.end.leaves, *inside.end.leaves))
        else:
            arm.end = inside.end
    first.slots = (*first.slots, *second.slots)
