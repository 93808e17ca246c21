"""Loops that accumulate a number, in which each turn otherwise depends on the previous one: in several accumulators, combined
after the loop.

In: a nest, its loops marked.  Out: the same, in which such a loop handles several parts at once (the maximum or minimum of a long
row), or accumulates in vectors, which are then halved repeatedly (a short row).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from vlad.compile.loops.ir import (
    Accumulate,
    Array,
    Body,
    Condition,
    Element,
    For,
    If,
    Let,
    Local,
    Nest,
    Origin,
    Position,
    Scope,
    Simd,
    Statement,
    StoreElement,
    Variables,
    Versions,
    counted,
    counting,
)
from vlad.compile.loops.mark_parallel import FEWEST_SIMD, is_left_to_the_compiler
from vlad.compile.loops.walking import is_innermost, mapped, retargeted, statements, with_body
from vlad.core.expressions import Binary, Name, Number
from vlad.core.extents import AnExtent, at_most, certainly, estimate, is_symbolic
from vlad.core.loop_nests import SHORT
from vlad.core.types import is_of_reals

# A comparison depends on the previous one: a maximum is computed in so many parts, each of at least so many turns. Measured (10^5
# numbers, AVX-512): 9.9 µs instead of 27.8, for floats 5 instead of 13.9. With more than so many steps in a turn, this has no
# effect.
PARTS, FEWEST_IN_PART, MOST_STEPS_IN_PART = 4, 16, 4
# The sum or maximum of a short row: a vector of so many numbers is halved repeatedly. gcc would add them one after the other,
# which for rows of twenty takes longer than the rest of the loop.
LANES, MOST_IN_LANES = 8, 64
IN_ORDER = ("greater", "less")


class Gathered(NamedTuple):
    """An accumulator of a loop."""

    name: str
    kind: str
    combine: str

    @property
    def start(self) -> Name | Number:
        """The initial value of an additional accumulator."""
        return Name(self.name) if self.combine in IN_ORDER else Number(0, "int")

    def joined(self, one: Name | Element, other: Name | Element) -> Accumulate:
        """The statement that combines two accumulators in the first."""
        return Accumulate(one, other, self.combine if self.combine in IN_ORDER else "add", self.kind)


def accumulate_in_several(nest: Nest) -> Nest:
    kinds = {one.name: one.kind for one in nest.gathered}
    for variables in statements(nest.body):
        if type(variables) is Variables:
            kinds.update(dict.fromkeys(variables.names, variables.kind))

    def change(statement: Statement) -> Sequence[Statement]:
        if type(statement) is For and is_search(nest, statement):
            return [_in_parts(statement, _gathered(statement.body, kinds))]
        if type(statement) is For and is_short_row(nest, statement):
            gathered = _gathered(statement.body, kinds)
            lanes = _in_lanes(statement, gathered)
            if all(one.combine == "+" for one in gathered) and is_left_to_the_compiler(statement.body):
                return [Versions(((Condition.FAST_MATH, (replace(statement, simd=None),)),), (lanes,))]
            return [lanes]
        return [statement]

    return with_body(nest, mapped(nest.body, change))


def _writes(body: Body) -> list[StoreElement | Accumulate]:
    return [one for one in body if isinstance(one, StoreElement | Accumulate)]


def is_search(nest: Nest, loop: For) -> bool:
    """Does an innermost loop only compute maxima and minima of long rows?"""
    return (
        is_innermost(loop)
        and loop.begins_at_zero
        and estimate(loop.extent) >= PARTS * FEWEST_IN_PART
        and nest.steps <= MOST_STEPS_IN_PART
        and all(
            type(one) is Accumulate and type(one.target) is Name and one.combine in (*IN_ORDER, "add")
            for one in _writes(loop.body)
        )
        and not any(type(one) is not Let and not isinstance(one, Accumulate) for one in loop.body)
    )


def is_short_row(nest: Nest, loop: For) -> bool:
    """Does an innermost loop accumulate over a short row of reals?"""
    gathers = [one for one in _writes(loop.body) if type(one) is Accumulate and type(one.target) is Name]
    return (
        is_innermost(loop)
        and loop.begins_at_zero
        and not at_most(nest.turns, SHORT)
        and _may_be_short(loop.extent)
        and loop.simd is not None
        and bool(gathers)
        and all(one.combine in ("+", "add", *IN_ORDER) and is_of_reals(one.kind) for one in gathers)
    )


def _may_be_short(extent: AnExtent) -> bool:
    if is_symbolic(extent):
        return not certainly("<=", MOST_IN_LANES, extent)
    return FEWEST_SIMD <= extent < MOST_IN_LANES


def _gathered(body: Body, kinds: Mapping[str, str]) -> list[Gathered]:
    """The accumulators of a loop; those that count nan come last."""
    found = [
        Gathered(one.target.name, kinds[one.target.name], one.combine)
        for one in body
        if type(one) is Accumulate and type(one.target) is Name
    ]
    return sorted(dict.fromkeys(found), key=lambda one: one.combine == "add")


def _in_parts(loop: For, gathered: Sequence[Gathered]) -> Scope:
    """The maximum or minimum of a long row: all parts at once, and then the remaining entries."""
    length = loop.extent // PARTS

    def beside(name: str, part: int) -> str:
        return f"{name}__{part}" if part else name

    sides = range(1, PARTS)
    begun = [
        Variables(tuple([beside(one.name, part) for part in sides]), one.kind, one.start) for one in gathered
    ]
    joined = [one.joined(Name(one.name), Name(beside(one.name, part))) for one in gathered for part in sides]
    side_by_side = []
    for part in range(PARTS):
        place = Let(loop.index, "index", Binary("+", Name("i"), counted(part * length)))
        own = retargeted(loop.body, {one.name: Name(beside(one.name, part)) for one in gathered})
        side_by_side.append(Scope((place, *own)))
    simd = loop.simd and Simd(
        tuple(
            [
                (sign, tuple([beside(name, part) for name in names for part in range(PARTS)]))
                for sign, names in loop.simd.reductions
            ]
        )
    )
    lines: list[Statement] = [*begun, counting("i", length, side_by_side, simd=simd)]
    left = loop.extent % PARTS
    if is_symbolic(left) or left:
        lines.append(counting(loop.index, loop.extent, loop.body, PARTS * length))
    return Scope((*lines, *joined))


def _in_lanes(loop: For, gathered: Sequence[Gathered]) -> Scope:
    """The sums, maxima or minima of a short row. One whose length is known only in a call may be shorter than the lanes."""
    arrays = {one.name: Array(Origin.LANES, one.name, one.kind) for one in gathered}
    lines: list[Statement] = [Local(arrays[one.name], LANES, one.start) for one in gathered]
    whole = loop.extent // LANES
    left = loop.extent - whole * LANES

    def lane(name: str, beyond: int = 0, is_fixed: bool = False) -> Element:
        return Element(arrays[name], Position(beyond, () if is_fixed else (("lane", 1),)))

    place = Binary("+", Binary("*", Number(LANES, "int"), Name("part")), Name("lane"))
    turn = (
        Let(loop.index, "index", place),
        *retargeted(loop.body, {one.name: lane(one.name) for one in gathered}),
    )
    lines.append(counting("part", whole, [counting("lane", LANES, turn, simd=Simd())]))
    half = LANES // 2
    while half > 1:
        halved = [one.joined(lane(one.name), lane(one.name, half)) for one in gathered]
        lines.append(counting("lane", half, halved, simd=Simd()))
        half //= 2
    for one in gathered:
        lines.append(one.joined(lane(one.name, 0, True), lane(one.name, 1, True)))
        lines.append(one.joined(Name(one.name), lane(one.name, 0, True)))
    if is_symbolic(loop.extent):
        lines = [If(Binary(">=", counted(loop.extent), counted(LANES)), tuple(lines))]
    if is_symbolic(left) or left:
        names = tuple([one.name for one in gathered])
        # the C compiler takes longer for the beginning and the end of a row that it makes vectors of than for seven entries
        is_sum = not is_symbolic(left) and left > 1 and not any(one.combine in IN_ORDER for one in gathered)
        simd = Simd((("+", names),)) if is_sum else None
        lines.append(counting(loop.index, loop.extent, loop.body, LANES * whole, simd=simd))
    return Scope(tuple(lines))
