"""Boxes that do not escape become numbers and registers: scalar replacement of sums.

In: a Program.  Out: the same, changed in place.

The arms of a branch yield boxes of several members, which are only used to test the member
and to unbox the leaves: this is typical of the backpropagator of a branch that is called at once. Then no box is made: the
branch yields the member's number and the leaves, with all members sharing positions by kind. A statement that passes the
box on (an enclosing branch) is part of the same sum.
"""

from __future__ import annotations

from collections.abc import Iterator

from vlad.compile.ir.outlines import Outline, Outlines
from vlad.compile.ir.program import (
    Block,
    Box,
    Branch,
    Compute,
    Function,
    Immediate,
    Leaf,
    Member,
    Program,
    Slot,
    Switch,
    Unbox,
    Yield,
    blocks,
    inner_blocks,
    leaves_read,
    slots_bound,
)
from vlad.compile.ir.rewriting import substitute

MOST_PLACES = 16  # of the leaves of all members together: with more, a box is as good
NOTHING: dict[str, Leaf] = {
    "d": 0.0,
    "b": False,
    "p": Immediate(0),
}  # for a position that a member does not use

Choice = Branch | Switch
Places = tuple[Leaf, ...]


def dissolve(program: Program, outlines: Outlines | None = None) -> bool:
    """Returns whether there are such boxes."""
    outlines = outlines or Outlines()
    twins: dict[Member, Member] = {}
    found = False
    for function in program.functions:
        outline = outlines[function]
        if __name__ in outline.unchanged_by:
            continue
        sums = [_Sum(boxes, choices) for boxes, choices in _sums(function, outline)]
        if sums:
            found = True
            _Dissolving(sums, twins).walk(function.body)
            outlines.changed(function)
        else:
            outline.unchanged_by[__name__] = True
    return found


def _sums(function: Function, outline: Outline) -> Iterator[tuple[dict[Slot, Box], dict[Slot, Choice]]]:
    """The sums that do not escape: pointers that flow into each other, with the boxes and the branches that bind them."""
    boxes: dict[Slot, Box] = {}
    choices: dict[Slot, Choice] = {}
    escaping: set[Leaf] = set(function.parameters)
    linked: dict[Slot, Slot] = {}

    def root(slot: Slot) -> Slot:
        while slot in linked:
            slot = linked[slot]
        return slot

    for block in outline.blocks:
        for statement in block.statements:
            match statement:
                case Box():
                    boxes[statement.slot] = statement
                    escaping.update(statement.leaves)
                case Unbox():
                    escaping.update(statement.slots)
                case Branch() | Switch():  # an arm that only fails yields nothing
                    choices.update({slot: statement for slot in statement.slots if slot.kind == "p"})
                    for slot, leaf in _yields(statement):
                        if type(leaf) is not Slot:
                            escaping.update(() if type(leaf) is Immediate else (slot,))
                        elif root(slot) is not root(leaf):
                            linked[root(leaf)] = root(slot)
                case Compute():
                    pass  # of numbers
                case _:
                    escaping.update(leaves_read(statement), slots_bound(statement))
        if type(block.end) is not Yield:
            escaping.update(leaves_read(block.end))
    groups: dict[Slot, list[Slot]] = {}
    for slot in (*choices, *boxes):
        groups.setdefault(root(slot), []).append(slot)
    escaped = {root(slot) for slot in escaping if type(slot) is Slot}
    for first, group in groups.items():
        made = {slot: boxes[slot] for slot in group if slot in boxes}
        chosen = {slot: choices[slot] for slot in group if slot in choices}
        if chosen and first not in escaped and len(_kinds(made)) <= MOST_PLACES:
            yield made, chosen


def _yields(choice: Choice) -> Iterator[tuple[Slot, Leaf]]:
    """The pointers that a branch or switch binds, each with the leaf that an arm yields."""
    for block in inner_blocks(choice):
        if type(block.end) is Yield:
            for slot, leaf in zip(choice.slots, block.end.leaves, strict=True):
                if slot.kind == "p":
                    yield slot, leaf


def _kinds(boxes: dict[Slot, Box]) -> str:
    """The kinds of positions that suffice for the leaves of each member."""
    members = {box.member for box in boxes.values()}
    return "".join([kind * max([m.kinds.count(kind) for m in members], default=0) for kind in NOTHING])


class _Sum:
    """One sum: each of its pointers becomes a number and positions."""

    def __init__(self, boxes: dict[Slot, Box], choices: dict[Slot, Choice]) -> None:
        self.kinds = _kinds(boxes)
        self.members = {box.member for box in boxes.values()}
        self.choices = choices
        self.parts: dict[Slot, tuple[Leaf, Places]] = {}
        for slot, box in boxes.items():
            self.parts[slot] = Immediate(box.member.index), self._placed(box)
        for slot in choices:
            self.parts[slot] = Slot("p", slot.name), tuple([Slot(kind, slot.name) for kind in self.kinds])

    def _places(self, member: Member) -> list[int]:
        """The positions of a member's leaves."""
        free = {kind: self.kinds.index(kind) for kind in dict.fromkeys(member.kinds)}
        found = []
        for kind in member.kinds:
            found.append(free[kind])
            free[kind] += 1
        return found

    def _placed(self, box: Box) -> Places:
        leaves = [NOTHING[kind] for kind in self.kinds]
        for place, leaf in zip(self._places(box.member), box.leaves, strict=True):
            leaves[place] = leaf
        return tuple(leaves)

    def taken_out(self, member: Member, slot: Slot) -> list[Leaf]:
        """The leaves of a member. A member without a box is never unboxed."""
        if member not in self.members:
            return [NOTHING[kind] for kind in member.kinds]
        _, leaves = self.parts[slot]
        return [leaves[place] for place in self._places(member)]

    def replacements(self, leaf: Leaf) -> list[Leaf]:
        """The replacement of a leaf that is bound to one of its pointers."""
        if type(leaf) is Immediate:
            return [leaf, *[NOTHING[kind] for kind in self.kinds]]
        number, leaves = self.parts[leaf]  # type: ignore[index]
        return [number, *leaves]


class _Dissolving:
    """Replaces the sums of one function, all in one walk."""

    def __init__(self, sums: list[_Sum], twins: dict[Member, Member]) -> None:
        """`twins`: members without leaves that replace members whose boxes are removed."""
        self.sums = {slot: one for one in sums for slot in one.parts}
        self.choices = dict.fromkeys([choice for one in sums for choice in one.choices.values()])
        self.twins = twins

    def walk(self, body: Block) -> None:
        for choice in self.choices:
            self._yield_parts(choice)
        taken: dict[Slot, Leaf] = {}
        for block in blocks(body):
            kept = []
            for statement in block.statements:
                if type(statement) is Box and statement.slot in self.sums:
                    continue
                if (
                    type(statement) is Unbox
                    and type(statement.pointer) is Slot
                    and statement.pointer in self.sums
                ):
                    leaves = self.sums[statement.pointer].taken_out(statement.member, statement.pointer)
                    taken.update(zip(statement.slots, leaves, strict=True))
                    continue
                if (
                    type(statement) is Switch
                    and type(statement.pointer) is Slot
                    and statement.pointer in self.sums
                ):
                    statement.pointer, _ = self.sums[statement.pointer].parts[statement.pointer]
                    statement.cases = [(self.twin(member), case) for member, case in statement.cases]
                kept.append(statement)
            block.statements = kept
        for slot, leaf in taken.items():
            while type(leaf) is Slot and leaf in taken:
                leaf = taken[leaf]
            taken[slot] = leaf
        substitute(body, taken)

    def _yield_parts(self, choice: Choice) -> None:
        """Make a branch or switch bind and yield parts in place of pointers."""
        bound = choice.slots
        choice.slots = tuple([part for slot in bound for part in self.replacements(slot, slot)])  # type: ignore[misc]
        for block in inner_blocks(choice):
            if type(block.end) is Yield:
                yielded = zip(bound, block.end.leaves, strict=True)
                block.end.leaves = tuple(
                    [part for slot, leaf in yielded for part in self.replacements(slot, leaf)]
                )

    def replacements(self, slot: Slot, leaf: Leaf) -> list[Leaf]:
        """The replacement of a leaf that is bound to a slot."""
        return self.sums[slot].replacements(leaf) if slot in self.sums else [leaf]

    def twin(self, member: Member) -> Member:
        if member not in self.twins:
            self.twins[member] = Member(member.cell, member.index, "", (), member.name)
        return self.twins[member]
