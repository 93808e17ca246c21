"""First-order code → first-order code: values that are cheap to recompute are not stored in boxes, such as a loop's tape.

In: an optimised Program.  Out: the same, changed in place. Called by order.py after the other passes.
"""

from __future__ import annotations

from typing import Any

from vlad.compile.ir.outlines import Outlines
from vlad.compile.ir.program import Block, Box, Compute, Leaf, Member, Program, Slot, Statement, Unbox
from vlad.compile.ir.rewriting import fixed_cells, substitute
from vlad.compile.passes.congruence import CHEAP

MOST_OPERATIONS = 4  # to compute a field again


def rematerialize(program: Program, outlines: Outlines | None = None) -> bool:
    """Remove fields of boxes that are cheap to recompute from the others, by the same operations: a loop's tape is dominated by
    writes and reads, so saving a word outweighs a multiplication. Returns whether there are any.
    """
    outlines = outlines or Outlines()
    changed = False
    fixed = fixed_cells(program, outlines)
    sites: dict[Member, list[Box]] = {}
    unboxes: dict[Member, list[tuple[Block, Unbox]]] = {}
    definitions: dict[Slot, Compute] = {}
    for function in program.functions:
        for block in outlines[function].blocks:
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
        changed = True
        for box in boxes:
            box.leaves = tuple([box.leaves[i] for i in plan.kept])
        for block, unbox in unboxes.get(member, ()):
            plan.rebuild(block, unbox)
        member.kinds = "".join([member.kinds[i] for i in plan.kept])  # all pointers stay
        if not member.boxed:
            raise AssertionError("a box without fields is no box")
    if changed:
        outlines.forget()
    return changed


# How to recompute a field: a constant, the number of another field, or an operation on such.
Recipe = tuple[str, Any]


class _Plan:
    """Which fields of a member stay, and how the others are recomputed, equally for all boxes."""

    def __init__(self, member: Member, boxes: list[Box], definitions: dict[Slot, Compute]) -> None:
        self.member = member
        # a recipe is of the first box: where that has a constant, others may have another field
        self.boxes = sorted(boxes, key=lambda box: sum([type(leaf) is float for leaf in box.leaves]))
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
        """The depth of operations of a field in the first box: dependent fields are dropped first."""
        return self._height_of(self.boxes[0].leaves[index], 200, {})

    def _height_of(self, leaf: Leaf, limit: int, known: dict[Leaf, int]) -> int:
        made = self.definitions.get(leaf) if type(leaf) is Slot else None
        if made is None or limit == 0:
            return 0
        if leaf not in known:
            heights = [self._height_of(operand, limit - 1, known) for operand in made.operands]
            known[leaf] = 1 + max(heights, default=0)
        return known[leaf]

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
        """Whether the recipe also yields the leaf in another box."""
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
        for index in reversed(self.dropped):  # the last dropped field does not depend on earlier dropped ones
            fields = [same.get(slot, slot) for slot in slots]
            result = _rebuilt(self.dropped[index], slots[index], fields, made)
            if result is not slots[index]:
                same[slots[index]] = result
        at = block.statements.index(unbox) + 1
        block.statements[at:at] = made
        substitute(block, same, at)


def _rebuilt(recipe: Recipe, slot: Slot | None, fields: list[Leaf], made: list[Statement]) -> Leaf:
    """The result of a recipe, in `slot` if it is computed. Adds the operations to `made`."""
    kind, what = recipe
    if kind == "constant":
        return float(what)
    if kind == "field":
        return fields[what]
    compute, operands = what
    read = tuple([_rebuilt(operand, None, fields, made) for operand in operands])
    target = slot or Slot("d", compute.slot.name)
    made.append(Compute(target, compute.row, read, compute.span))
    return target
