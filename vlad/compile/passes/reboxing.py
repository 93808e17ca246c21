"""First-order code → first-order code: values that are in a box already are not boxed again.

In: an optimised Program.  Out: the same, changed in place. Called by order.py after the other passes.

    keep_boxed   loops of backpropagators take the box in which the previous iteration left its values
    reuse_boxes  a box of all fields of another one becomes that one
"""

from __future__ import annotations

from typing import TypeAlias

from vlad.compile.ir.outlines import Outlines
from vlad.compile.ir.program import (
    Block,
    Box,
    Function,
    Invoke,
    Leaf,
    Member,
    Program,
    Slot,
    TailInvoke,
    Unbox,
)
from vlad.compile.ir.rewriting import same_operands, substitute

Call: TypeAlias = "tuple[Function, Block, Invoke | TailInvoke]"  # within a block of a function

FEWEST = 3  # fields that a loop must carry before it takes the box instead


def keep_boxed(program: Program, outlines: Outlines | None = None) -> bool:
    """A procedure that calls itself with fields it has just unboxed takes the box instead, as loops of
    backpropagators do: otherwise the values of one iteration are carried through the parameters of the next one. Returns
    whether there are any.
    """
    outlines = outlines or Outlines()
    changed = False
    sites: dict[Function, list[Call]] = {}
    origins: dict[Slot, tuple[Unbox, int]] = {}
    for function in program.functions:
        for block in outlines[function].blocks:
            for node in (*block.statements, block.end):
                if type(node) is Unbox:
                    origins.update({slot: (node, index) for index, slot in enumerate(node.slots)})
                elif isinstance(node, Invoke | TailInvoke):
                    sites.setdefault(node.function, []).append((function, block, node))
    for function, calls in sites.items():
        own = [call for caller, _, call in calls if caller is function]
        found = _carried(function, own, origins) if own and function not in program.entries else None
        if found is not None:
            member, places = found
            _leave_boxed(function, member, _one_for_each_field(places, calls), calls, origins)
            changed = True
    if changed:
        outlines.forget()
    return changed


def _carried(
    function: Function, own: list[Invoke | TailInvoke], origins: dict[Slot, tuple[Unbox, int]]
) -> tuple[Member, dict[int, int]] | None:
    """The member whose fields all of a function's calls of itself pass on, and which parameter takes which field."""
    groups: dict[Unbox, dict[int, int]] = {}
    for at, leaf in enumerate(own[0].operands):
        if type(leaf) is Slot and leaf in origins:
            unbox, index = origins[leaf]
            groups.setdefault(unbox, {})[at] = index
    for unbox, places in groups.items():
        member = unbox.member
        if len(places) < FEWEST or set(places.values()) != set(range(len(member.kinds))):
            continue
        if all(_pointer_behind(call, member, places, origins) is not None for call in own):
            return member, places
    return None


def _one_for_each_field(places: dict[int, int], calls: list[Call]) -> dict[int, int]:
    """The places without those that take the same field as an earlier one, but another operand in some call: these remain
    parameters.
    """
    first: dict[int, int] = {}
    found: dict[int, int] = {}
    for at, index in places.items():
        one = first.setdefault(index, at)
        pairs = [(call.operands[one], call.operands[at]) for _, _, call in calls]
        if all(same_operands((a,)) == same_operands((b,)) for a, b in pairs):
            found[at] = index
    return found


def _pointer_behind(
    call: Invoke | TailInvoke, member: Member, places: dict[int, int], origins: dict[Slot, tuple[Unbox, int]]
) -> Leaf | None:
    """The box from which a call's operands at these positions were unboxed, if they were."""
    unboxes = set()
    for at, index in places.items():
        leaf = call.operands[at]
        origin = origins.get(leaf) if type(leaf) is Slot else None
        if origin is None or origin[1] != index or origin[0].member is not member:
            return None
        unboxes.add(origin[0])
    return unboxes.pop().pointer if len(unboxes) == 1 else None


def _leave_boxed(
    function: Function,
    member: Member,
    places: dict[int, int],
    calls: list[Call],
    origins: dict[Slot, tuple[Unbox, int]],
) -> None:
    stay = [at for at in range(len(function.parameters)) if at not in places]
    for _, block, call in calls:
        pointer = _pointer_behind(call, member, places, origins)
        if pointer is None:
            leaves: dict[int, Leaf] = {index: call.operands[at] for at, index in places.items()}
            made = Slot("p", member.name)
            box = Box(made, member, tuple([leaves[index] for index in range(len(member.kinds))]))
            place = block.statements.index(call) if type(call) is Invoke else len(block.statements)
            block.statements.insert(place, box)
            pointer = made
        call.operands = (*[call.operands[at] for at in stay], pointer)
    pointer_slot = Slot("p", member.name)
    slots: dict[int, Slot] = {}
    same: dict[Slot, Leaf] = {}
    for at, index in places.items():
        first = slots.setdefault(index, function.parameters[at])
        if first is not function.parameters[at]:
            same[function.parameters[at]] = first
    function.parameters = [*[function.parameters[at] for at in stay], pointer_slot]
    function.parameter_cells = [*[function.parameter_cells[at] for at in stay], member.cell]
    taken = tuple([slots[index] for index in range(len(member.kinds))])
    function.body.statements.insert(0, Unbox(taken, member, pointer_slot))
    substitute(function.body, same)


def reuse_boxes(program: Program, outlines: Outlines | None = None) -> bool:
    """Replace a box of all fields of another one of the same layout by that one. Runs last: narrowing a member changes its
    layout. Returns whether there are any.
    """
    outlines = outlines or Outlines()
    changed = False

    def number(member: Member) -> int:
        boxed = [other for other in program.members[member.cell] if other.boxed]
        return boxed.index(member) if member.tagged else -1

    for function in program.functions:
        origins: dict[Slot, tuple[Unbox, int]] = {}
        replaced: dict[Slot, Leaf] = {}
        for statement in outlines[function].statements:
            if type(statement) is Unbox:
                origins.update({slot: (statement, index) for index, slot in enumerate(statement.slots)})
        for block in outlines[function].blocks if origins else ():
            for statement in list(block.statements):
                if type(statement) is Box:
                    leaves = [
                        origins.get(leaf, (None, 0)) if type(leaf) is Slot else (None, 0)
                        for leaf in statement.leaves
                    ]
                    unbox = leaves[0][0]
                    if (
                        unbox is not None
                        and leaves == [(unbox, index) for index in range(len(unbox.slots))]
                        and unbox.member.kinds == statement.member.kinds
                        and number(unbox.member) == number(statement.member)
                    ):
                        pointer = unbox.pointer
                        replaced[statement.slot] = (
                            replaced.get(pointer, pointer) if type(pointer) is Slot else pointer
                        )
                        block.statements.remove(statement)
        if replaced:
            substitute(function.body, replaced)
            outlines.changed(function)
            changed = True
    return changed
