"""Boxes that are left alone, and boxes that hold less: what is better done once all the rest is done.

In: an optimised Program.  Out: the same, changed in place.

    gather    loops of backpropagators are handed the box in which the last turn left its values
    thin      what is cheaply computed again is not on a tape
    reuse     a box of all that was in another one is that one
"""

from __future__ import annotations

from typing import Any

from vlad.compile.ir.program import (
    Block,
    Box,
    Compute,
    Function,
    Invoke,
    Leaf,
    Member,
    Program,
    Slot,
    Statement,
    TailInvoke,
    Unbox,
    blocks,
)
from vlad.compile.ir.rewriting import fixed_cells, substitute

# What is better left in its box.


def gather(program: Program) -> None:
    """A procedure that calls itself with what it has just taken out of a box is given the box instead. Backpropagators of
    loops do so: what one turn left behind would be carried through the next one's parameters."""
    sites: dict[Function, list[tuple[Function, Block, Invoke | TailInvoke]]] = {}
    origins: dict[Slot, tuple[Unbox, int]] = {}
    for function in program.functions:
        for block in blocks(function.body):
            for node in (*block.statements, block.end):
                if type(node) is Unbox:
                    origins.update({slot: (node, index) for index, slot in enumerate(node.slots)})
                elif isinstance(node, Invoke | TailInvoke):
                    sites.setdefault(node.function, []).append((function, block, node))
    for function, calls in sites.items():
        own = [call for caller, _, call in calls if caller is function]
        found = _carried(function, own, origins) if own and function not in program.entries else None
        if found is not None:
            _leave_boxed(function, found[0], found[1], calls, origins)


FEWEST_GATHERED = 3


def _carried(
    function: Function, own: list[Invoke | TailInvoke], origins: dict[Slot, tuple[Unbox, int]]
) -> tuple[Member, dict[int, int]] | None:
    """The member whose fields all of a function's calls of itself hand on, and which parameter takes which field."""
    groups: dict[Unbox, dict[int, int]] = {}
    for at, leaf in enumerate(own[0].operands):
        if type(leaf) is Slot and leaf in origins:
            unbox, index = origins[leaf]
            groups.setdefault(unbox, {})[at] = index
    for unbox, places in groups.items():
        member = unbox.member
        if len(places) < FEWEST_GATHERED or set(places.values()) != set(range(len(member.kinds))):
            continue
        if all(_pointer_behind(call, member, places, origins) is not None for call in own):
            return member, places
    return None


def _pointer_behind(
    call: Invoke | TailInvoke, member: Member, places: dict[int, int], origins: dict[Slot, tuple[Unbox, int]]
) -> Leaf | None:
    """The box out of which a call's operands at these places were taken, if they were."""
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
    calls: list[tuple[Function, Block, Invoke | TailInvoke]],
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


# What a box need not hold.


def thin(program: Program) -> None:
    """Take out of boxes what is cheaply computed from the rest, by the very same operations: a loop's tape is mostly written
    and read, so a word less counts for more than a multiplication."""
    fixed = fixed_cells(program)
    sites: dict[Member, list[Box]] = {}
    unboxes: dict[Member, list[tuple[Block, Unbox]]] = {}
    definitions: dict[Slot, Compute] = {}
    for function in program.functions:
        for block in blocks(function.body):
            for statement in block.statements:
                if type(statement) is Box and statement.member.cell not in fixed:
                    sites.setdefault(statement.member, []).append(statement)
                elif type(statement) is Unbox:
                    unboxes.setdefault(statement.member, []).append((block, statement))
                elif type(statement) is Compute:
                    definitions[statement.slot] = statement
    for member, boxes in sites.items():
        plan = _Plan(member, boxes, definitions)
        plan.make()
        if not plan.dropped:
            continue
        for box in boxes:
            box.leaves = tuple([box.leaves[i] for i in plan.kept])
        for block, unbox in unboxes.get(member, ()):
            plan.rebuild(block, unbox)
        member.kinds = "".join([member.kinds[i] for i in plan.kept])  # pointers all stay
        if not member.boxed:
            raise AssertionError("a box without fields is no box")


CHEAP = {"+", "-", "*", "negate"}
MOST_OPERATIONS = 4  # to compute a field again

# How a field is had from others: a constant, the number of another field, or an operation on such.
Recipe = tuple[str, Any]


class _Plan:
    """Which fields of a member stay, and how the others are had, the same way for all boxes."""

    def __init__(self, member: Member, boxes: list[Box], definitions: dict[Slot, Compute]) -> None:
        self.member = member
        self.boxes = boxes
        self.definitions = definitions
        self.kept = list(range(len(member.kinds)))
        self.dropped: dict[int, Recipe] = {}

    def make(self) -> None:
        order = sorted([i for i in self.kept if self.member.kinds[i] == "d"], key=self._height, reverse=True)
        for index in order:
            if len(self.kept) == 1:
                return
            places: dict[Leaf, int] = {}
            for kept in self.kept:
                if kept != index:
                    places.setdefault(self.boxes[0].leaves[kept], kept)
            recipe = self._recipe(self.boxes[0].leaves[index], places, [MOST_OPERATIONS])
            if recipe is not None and all(
                self._holds(recipe, box.leaves[index], box) for box in self.boxes[1:]
            ):
                self.dropped[index] = recipe
                self.kept.remove(index)

    def _height(self, index: int) -> int:
        """How many operations stand above each other in the first box's field: what depends on others goes first."""
        heights: dict[Leaf, int] = {}

        def height(leaf: Leaf, limit: int) -> int:
            made = self.definitions.get(leaf) if type(leaf) is Slot else None
            if made is None or limit == 0:
                return 0
            if leaf not in heights:
                heights[leaf] = 1 + max([height(operand, limit - 1) for operand in made.operands], default=0)
            return heights[leaf]

        return height(self.boxes[0].leaves[index], 200)

    def _recipe(self, leaf: Leaf, places: dict[Leaf, int], budget: list[int]) -> Recipe | None:
        if type(leaf) is float:
            return "constant", leaf
        if leaf in places:
            return "field", places[leaf]
        made = self.definitions.get(leaf) if type(leaf) is Slot else None
        if made is None or made.row.name not in CHEAP or budget[0] == 0:
            return None
        budget[0] -= 1
        operands = []
        for operand in made.operands:
            recipe = self._recipe(operand, places, budget)
            if recipe is None:
                return None
            operands.append(recipe)
        return "compute", (made, operands)

    def _holds(self, recipe: Recipe, leaf: Leaf, box: Box) -> bool:
        """Is the leaf had the same way in another box?"""
        kind, what = recipe
        if kind == "constant":
            return type(leaf) is float and leaf.hex() == what.hex()
        if kind == "field":
            other = box.leaves[what]
            return leaf is other or (
                type(leaf) is float and type(other) is float and leaf.hex() == other.hex()
            )
        made, operands = what
        own = self.definitions.get(leaf) if type(leaf) is Slot else None
        return (
            own is not None
            and own.row is made.row
            and all(self._holds(r, operand, box) for r, operand in zip(operands, own.operands, strict=True))
        )

    def rebuild(self, block: Block, unbox: Unbox) -> None:
        slots = unbox.slots
        unbox.slots = tuple([slots[i] for i in self.kept])
        made: list[Statement] = []
        same: dict[Slot, Leaf] = {}

        def leaf(recipe: Recipe, slot: Slot | None) -> Leaf:
            kind, what = recipe
            if kind == "constant":
                return float(what)
            if kind == "field":
                found = slots[what]
                return same.get(found, found)
            compute, operands = what
            read = tuple([leaf(operand, None) for operand in operands])
            target = slot or Slot("d", compute.slot.name)
            made.append(Compute(target, compute.row, read, compute.span))
            return target

        for index in reversed(self.dropped):  # what was dropped last depends on none that was dropped before
            answer = leaf(self.dropped[index], slots[index])
            if answer is not slots[index]:
                same[slots[index]] = answer
        at = block.statements.index(unbox) + 1
        block.statements[at:at] = made
        substitute(block, same, at)


def reuse(program: Program) -> None:
    """A box of all that was in another one of the same layout is that one. Comes last: narrowing a member changes its layout."""

    def number(member: Member) -> int:
        boxed = [other for other in program.members[member.cell] if other.boxed]
        return boxed.index(member) if member.tagged else -1

    for function in program.functions:
        origins: dict[Slot, tuple[Unbox, int]] = {}
        replaced: dict[Slot, Leaf] = {}
        for block in blocks(function.body):
            for statement in block.statements:
                if type(statement) is Unbox:
                    origins.update({slot: (statement, index) for index, slot in enumerate(statement.slots)})
        for block in blocks(function.body):
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
        substitute(function.body, replaced)
