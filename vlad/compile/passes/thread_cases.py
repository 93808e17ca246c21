"""Tests whose results are known in each arm of the branch before them: jump threading, or the case of a case.

In: a Program.  Out: the same, changed in place. Called by order.py.

Scalar replacement leaves a branch whose arms yield the number of a union's member, and a switch on that number right behind it:
a sensitivity is zero in one arm and a real in the other, and what is done with it tests which. The case that an arm chooses then
stands in the arm. So what the arm makes, such as zeros with one entry, and what the case does with it, such as adding it to
another array, are in one block, where other passes see both.
"""

from __future__ import annotations

from collections import Counter

from vlad.compile.ir.outlines import Outlines
from vlad.compile.ir.program import (
    Block,
    Branch,
    End,
    Immediate,
    Leaf,
    Program,
    Statement,
    Switch,
    Yield,
    inner_blocks,
    leaves_read,
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
        reads: Counter[Leaf] = Counter()
        for block in found:
            for node in (*block.statements, block.end):
                reads.update(leaves_read(node))
        # inner ones first: their statements may move out of them
        threaded = [_thread(block, reads) for block in reversed(pairs)]
        if any(threaded):
            changed = True
            outlines.changed(function)
        else:
            outline.unchanged_by[__name__] = True
    return changed


def _has_pair(block: Block) -> bool:
    return any(
        (type(first) is Branch or type(first) is Switch) and _tested(second) in first.slots
        for first, second in zip(block.statements, block.statements[1:], strict=False)
    )


def _tested(choice: Statement) -> Leaf | None:
    return choice.test if type(choice) is Branch else choice.pointer if type(choice) is Switch else None


def _thread(block: Block, reads: Counter[Leaf]) -> bool:
    before = len(block.statements)
    at = 0
    while at + 1 < len(block.statements):
        first, second = block.statements[at : at + 2]
        if isinstance(first, Branch | Switch) and isinstance(second, Branch | Switch):
            chosen = _chosen(first, second, reads)
            if chosen is not None:
                _join(first, second, chosen)
                del block.statements[at + 1]
                continue  # the next one may depend on this one
        at += 1
    return len(block.statements) < before


def _chosen(first: Choice, second: Choice, reads: Counter[Leaf]) -> list[Block | None] | None:
    """The case of the second that each arm of the first chooses, None for an arm that yields nothing. None if some arm does not
    decide it, or if a case would have to be copied.
    """
    tested = _tested(second)
    if tested is None or tested not in first.slots or reads[tested] != 1:
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
        inside = Block(case.statements, _copied(case))
        substitute(inside, given)
        arm.statements += inside.statements
        if type(inside.end) is Yield:
            arm.end = Yield((*arm.end.leaves, *inside.end.leaves))
        else:
            arm.end = inside.end
    first.slots = (*first.slots, *second.slots)


def _copied(case: Block) -> End:
    """The end of a case, of which each arm that chooses it has its own."""
    return Yield(case.end.leaves) if type(case.end) is Yield else case.end
