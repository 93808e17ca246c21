"""The layout of types in machine leaves: unboxed, behind a pointer, or nothing.

A real is a double, a boolean an int, a string a rope, a tensor a pointer to its entries; a pair or
closure is the sequence of its parts; constants take no leaves, so tags, closures without environment and known zeros
vanish. A union is a pointer: a member without leaves is represented by its number in place of an address, any other by a box,
which contains the member's number only if several members are boxed.
"""

from __future__ import annotations

from itertools import accumulate
from math import inf

from vlad.compile.ir.program import Leaf, Member
from vlad.compile.ir.refusals import Unbounded
from vlad.core.extents import Extent
from vlad.core.loop_nests import words
from vlad.core.types import Cell, Known, Layout, Type, Types, cells_of, found
from vlad.data.values import FALSE, ZERO


class Representation:
    def __init__(self, types: Types) -> None:
        self.types = types
        self._kinds: dict[Type, str] = {}
        self._laid_out: dict[Type, list[Cell | None]] = {}  # the cells of their leaves
        self._begins: dict[Type, list[int]] = {}  # of each part, its first leaf; and the number of leaves
        self.members: dict[Cell, list[Member]] = {}
        self._for_zero: dict[Cell, int] = {}

    def kinds(self, type_: Type) -> str:
        """The kinds of a type's leaves, one letter each."""
        type_ = self.types.canonical(type_)
        kinds = self._kinds.get(type_)
        if kinds is None:
            if type_.kind == "real":
                kinds = "d"
            elif type_.kind == "boolean":
                kinds = "b"
            elif type_.kind in ("union", "string"):
                kinds = "p"
            elif type_.kind == "tensor":
                kinds = "p"
                self._entries(type_.of)
            else:
                kinds = "".join([self.kinds(part) for part in type_.parts])
            self._kinds[type_] = kinds
        return kinds

    def cells(self, type_: Type) -> list[Cell | None]:
        """For each leaf its target cell if it is a pointer. Members of the cells are laid out, as the collector needs them even
        if the program never reads them.
        """
        type_ = self.types.canonical(type_)
        laid_out = self._laid_out.get(type_)
        if laid_out is None:
            laid_out = self._laid_out[type_] = self._cells(type_)
            self._lay_out(laid_out)
        return laid_out

    def _cells(self, type_: Type) -> list[Cell | None]:
        cells = cells_of(self.types.canonical(type_))
        return [next(cells) if kind == "p" else None for kind in self.kinds(type_)]

    def _entries(self, layout: Layout) -> None:
        """Register the entries of a tensor as the target of its cell."""
        if layout.cell not in self.members:
            self.members[layout.cell] = [
                Member(layout.cell, 0, "", (), "tensor", words(layout.size, layout.kind))
            ]

    def members_of(self, union: Type) -> list[tuple[Member, Type]]:
        cell = found(union.of)
        self._lay_out([cell])
        return list(zip(self.members[cell], self.types.members(union), strict=True))

    def _lay_out(self, cells: list[Cell | None]) -> None:
        """Lay out the members of these cells, and of cells that these refer to."""
        waiting = list(cells)
        for cell in waiting:  # grows during the loop
            if cell is None or cell in self.members:
                continue
            members = self.members[cell] = []
            for index, type_ in enumerate([self.types.canonical(member) for member in cell.members.values()]):
                inner = tuple([c for c in self._cells(type_) if c is not None])
                waiting += inner
                members.append(Member(cell, index, self.kinds(type_), inner, member_name(type_)))
            boxed = [member for member in members if member.boxed]
            for member in boxed:
                member.tagged = len(boxed) > 1

    def member_for(self, union: Type, type_: Type) -> tuple[Member, Type]:
        """The member of a union for a value of this type."""
        members = self.members_of(union)
        for member, member_type in members:
            if member_type.head == type_.head:
                return member, member_type
        assert type_.of is ZERO, f"{type_} is no member of {union}"
        return members[self._index_for_zero(found(union.of))]

    def _index_for_zero(self, cell: Cell) -> int:
        """Which member of a union a known zero becomes: the first that has numbers, if its own parts need no zero of the same
        union, or else the member in which zeros end soonest: the zero of a list of unknown length is the empty list.
        Raises Unbounded if they end in none.
        """
        index = self._for_zero.get(cell)
        if index is None:
            members = [self.types.canonical(member) for member in cell.members.values()]
            index = next((i for i, one in enumerate(members) if one.parts or one.head == "real"), 0)
            if cell in self._reached([members[index]]):
                heights = self._zero_heights(cell)
                index = min(range(len(members)), key=lambda i: self._height(members[i], heights))
                if self._height(members[index], heights) == inf:
                    raise Unbounded("a value of one of its types would have no end")
            self._for_zero[cell] = index
        return index

    def _reached(self, types: list[Type]) -> dict[Cell, None]:
        """The unions that are parts of these types, of their members, and so on."""
        cells: dict[Cell, None] = {}
        waiting = list(types)
        while waiting:
            for cell in cells_of(self.types.canonical(waiting.pop())):
                if cell not in cells:
                    cells[cell] = None
                    waiting += cell.members.values()
        return cells

    def _zero_heights(self, union: Cell) -> dict[Cell, float]:
        """For this union and those within it, how many boxes the smallest zero nests: the least fixed point."""
        heights = dict.fromkeys([union, *self._reached(list(union.members.values()))], inf)
        changed = True
        while changed:
            changed = False
            for cell in heights:
                height = 1 + min(
                    [self._height(member, heights) for member in cell.members.values()], default=0
                )
                if height < heights[cell]:
                    heights[cell], changed = height, True
        return heights

    def _height(self, type_: Type, heights: dict[Cell, float]) -> float:
        """How many boxes the zero of a type nests: those of its deepest part."""
        return max([heights[cell] for cell in cells_of(self.types.canonical(type_))], default=0)

    def part(self, value: Known, index: int) -> Known:
        parts = value.type.parts
        begins = self._begins.get(value.type)
        if begins is None:
            begins = self._begins[value.type] = [
                0,
                *accumulate([len(self.kinds(part)) for part in parts]),
            ]
        return Known(self.types.canonical(parts[index]), value.leaves[begins[index] : begins[index + 1]])

    def constant_leaf(self, type_: Type, kind: str) -> Leaf:
        """A constant as a leaf, where the context has a variable real or boolean."""
        if kind == "d":
            if type(type_.of) is Extent:
                return type_.of
            return 0.0 if type_.of is ZERO else float(type_.of)
        return type_.of is not FALSE and type_.of is not ZERO


def member_name(type_: Type) -> str:
    if type_.kind == "closure":
        return str(type_.of.name or "procedure")
    if type_.kind == "constant":
        return "empty" if type_.of == () else str(type_.of)
    return type_.kind
