"""What the repeated passes ask about each function, found out once until the function changes.

In: functions.  Out: their outlines. passes/order.py gives its passes one table of them. A pass that changes a function must say
so (`Outlines.changed`); then its outline is made again when a pass next asks for it. Most functions are not changed by most
passes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TypeAlias

from vlad.compile.ir.program import (
    Block,
    Box,
    Branch,
    Each,
    Effect,
    Fail,
    Function,
    Invoke,
    Leaf,
    Member,
    Return,
    Slot,
    Statement,
    Static,
    Store,
    Switch,
    TailInvoke,
    Unbox,
    Yield,
    blocks,
    inner_blocks,
    leaves_read,
    makes,
    returns,
    slots_bound,
    statements,
)
from vlad.core.types import Cell

LINES_OF_A_LOOP = 8  # over tensors

Calls: TypeAlias = dict[Function, list[Function]]  # functions, with those that they call


class Outline:
    """Of one function. A pass may add what it finds out itself: `unchanged_by` has, for each pass that found nothing to change,
    what else that depended on; `shape` and `likeness` are those of merge_functions.py, and `flow` that of dead_code.py."""

    __slots__ = (
        "__dict__",
        "blocks",
        "callees",
        "calls",
        "ends",
        "likeness",
        "shape",
        "statements",
        "unchanged_by",
    )

    def __init__(self, function: Function) -> None:
        body = function.body
        self.blocks = blocks(body)
        self.statements = statements(body)
        self.unchanged_by: dict[str, object] = {}
        self.shape: tuple[int, list[Function]] | None = None
        self.likeness: int | None = None
        ends = [block.end for block in self.blocks]
        self.ends = [end for end in ends if type(end) is Return or type(end) is TailInvoke]
        self.calls: list[Invoke | TailInvoke] = [s for s in self.statements if type(s) is Invoke]
        self.calls += [end for end in self.ends if type(end) is TailInvoke]
        self.callees = [call.function for call in self.calls]

    @cached_property
    def called(self) -> frozenset[Function]:
        return frozenset(self.callees)

    @cached_property
    def acts(self) -> bool:
        """Whether the function itself has an effect."""
        return not _EFFECTS.isdisjoint(map(type, self.statements))

    @cached_property
    def makes(self) -> bool:
        """Whether the function itself allocates."""
        return any(makes(statement) for statement in self.statements)

    @cached_property
    def fails(self) -> bool:
        return Fail in [type(block.end) for block in self.blocks]

    @cached_property
    def returns(self) -> bool:
        """Does every path of the body end, rather than in `Unreachable`?"""
        return returns(self.blocks[0])

    @cached_property
    def lines(self) -> int:
        """Of C, approximately."""
        return sum([LINES_OF_A_LOOP if type(one) is Each else 1 for one in self.statements])

    @cached_property
    def static_cells(self) -> list[Cell]:
        """The unions with boxes that are part of the program."""
        nodes = [*self.statements, *[block.end for block in self.blocks]]
        return [leaf.member.cell for node in nodes for leaf in leaves_read(node) if type(leaf) is Static]

    @cached_property
    def flow(self) -> Flow:
        return Flow(self)


_EFFECTS = frozenset([Effect, Store])


class Flow:
    """What depends on what within one function, and where that goes on outside of it.

    reads       by bound slot: the slots on which it depends inside
    results     by bound slot: of which call it is which result
    fields      by bound slot: of which union's member it is which field
    boxes       the boxes by their member
    roots       the slots that are read in any case: by effects, and by choices that decide more than their results
    choices     of the other choices that call something: the slot of the test, and the functions of these calls
    slots       all bound slots
    slotless    the statements that bind none, except effects
    members     of all boxes that are made or read
    """

    __slots__ = (
        "boxes", "choices", "deciding", "fields", "members", "reads", "results", "roots", "slotless", "slots"
    )  # fmt: skip

    def __init__(self, outline: Outline) -> None:
        self.reads: dict[Slot, tuple[Leaf, ...]] = {}
        self.results: dict[Slot, tuple[Function, int]] = {}
        self.fields: dict[Slot, tuple[Member, int]] = {}
        self.boxes: dict[Member, list[Box]] = {}
        self.roots: list[Leaf] = []
        self.choices: dict[Statement, frozenset[Function]] = {}
        self.deciding: set[Statement] = set()
        self.slotless: list[Statement] = []
        self._find_decisions(outline.blocks)
        members: set[Member] = set()
        reads = self.reads
        for statement in outline.statements:
            kind = type(statement)
            bound = slots_bound(statement)
            if not bound and kind is not Effect and kind is not Store:
                self.slotless.append(statement)
            match statement:
                case Invoke():
                    for index, slot in enumerate(bound):
                        self.results[slot] = statement.function, index
                case Box():
                    self.boxes.setdefault(statement.member, []).append(statement)
                    members.add(statement.member)
                case Unbox():
                    members.add(statement.member)
                    for index, slot in enumerate(bound):
                        reads[slot] = (statement.pointer,)
                        self.fields[slot] = statement.member, index
                case Branch() | Switch():
                    test = leaves_read(statement)
                    if statement in self.deciding:
                        self.roots += test
                    yields = [b.end.leaves for b in inner_blocks(statement) if type(b.end) is Yield]
                    for index, slot in enumerate(bound):
                        reads[slot] = (*test, *[leaves[index] for leaves in yields])
                case Effect() | Store():
                    self.roots += leaves_read(statement)
                case (
                    _
                ):  # a computation, whose operands are all read if any result is; or a load, without operands
                    for slot in bound:
                        reads[slot] = leaves_read(statement)
        self.members = frozenset(members)
        self.slots = frozenset(
            [*reads, *self.results, *[b.slot for made in self.boxes.values() for b in made]]
        )

    def _find_decisions(self, found: list[Block]) -> None:
        """The choices of an arm that matter apart from their results, inner ones first."""
        of_block: dict[Block, tuple[bool, frozenset[Function]]] = {}
        nothing: frozenset[Function] = frozenset()
        for block in reversed(found):
            decides, called = type(block.end) is not Yield, nothing
            for statement in block.statements:
                kind = type(statement)
                if kind is Effect or kind is Store:
                    decides = True
                elif kind is Invoke:
                    called |= {statement.function}  # type: ignore[union-attr]
                elif kind is Branch or kind is Switch:
                    arms = [of_block[inner] for inner in inner_blocks(statement)]
                    inside = nothing.union(*[functions for _, functions in arms])
                    if any(is_deciding for is_deciding, _ in arms):
                        self.deciding.add(statement)
                        decides = True
                    elif inside:
                        self.choices[statement] = inside
                    called |= inside
            of_block[block] = decides, called


class Outlines:
    """The outlines of a program's functions."""

    def __init__(self) -> None:
        self._of: dict[Function, Outline] = {}
        self._numbers: dict[object, int] = {}

    def __getitem__(self, function: Function) -> Outline:
        found = self._of.get(function)
        if found is None:
            found = self._of[function] = Outline(function)
        return found

    def changed(self, function: Function) -> None:
        """To be called by a pass for each function that it has changed."""
        self._of.pop(function, None)

    def forget(self) -> None:
        """To be called after a pass that may have changed any function."""
        self._of.clear()

    def number(self, key: object) -> int:
        """A number, equal for equal keys."""
        return self._numbers.setdefault(key, len(self._numbers))

    def calls_of(self, functions: Iterable[Function]) -> Calls:
        """The callees of each."""
        return {function: self[function].callees for function in functions}
