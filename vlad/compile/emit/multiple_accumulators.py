"""Loops that gather a number from many turns, which otherwise wait for each other: in several variables, joined after them.

In: the lines of a turn, and what it gathers.  Out: the lines of the loop. Called by c_loops.py, which knows where that pays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

# A comparison waits for the one before: the greatest of many is looked for in so many parts, each of at least so many turns.
# Measured (10^5 numbers, AVX-512): 9.9 µs instead of 27.8, of floats 5 instead of 13.9. With more steps in a turn than so many,
# nothing waits.
PARTS, FEWEST_IN_PART, MOST_STEPS_IN_PART = 4, 16, 4
# The sum of a short row, or its greatest: what stands in a vector of so many numbers is joined by halves. gcc would add one after
# the other, which for rows of twenty takes longer than all that is before it.
LANES, MOST_IN_LANES = 8, 64
ORDER = {"max": ">", "min": "<"}
IN_LANES = {"+", *ORDER}


class Gathered(NamedTuple):
    """A variable in which the turns of a loop combine something: its type in C, and whether there is one beside it that finds out
    about nan."""

    name: str
    kind: str
    combine: str
    looks_for_nan: bool = False


def in_parts(
    turn: Sequence[str], axis: int, extent: int, gathered: Sequence[Gathered], pragma: Sequence[str]
) -> list[str]:
    """The greatest or least of a long row: all parts at once, and what is left over."""
    length = extent // PARTS
    begun: list[str] = []
    joined: list[str] = []
    gathered = _with_nan(gathered)
    for one in gathered:
        parts = [f"{one.name}__{part}" for part in range(1, PARTS)]
        begun.append(f"{one.kind} {', '.join([f'{part} = {_begins(one)}' for part in parts])};")
        joined += [_joined(one, one.name, part) for part in parts]
    names = [one.name for one in gathered]
    side_by_side: list[str] = []
    for part in range(PARTS):
        own = _renamed(turn, names, rf"\1__{part}" if part else r"\1")
        side_by_side += block("", [f"long i{axis} = i + {part * length};", *own])
    lines = [*begun, *pragma, *block(f"for (long i = 0; i < {length}; i++) ", side_by_side)]
    if extent % PARTS:
        lines += block(f"for (long i{axis} = {PARTS * length}; i{axis} < {extent}; i{axis}++) ", turn)
    return block("", [*lines, *joined])


def in_lanes(
    turn: Sequence[str], axis: int, extent: int, gathered: Sequence[Gathered], pragma: Sequence[str]
) -> list[str]:
    """The sums, or the greatest or least, of a short row."""
    gathered = _with_nan(gathered)
    added = [one.name for one in gathered if one.combine == "+"]
    lines = [
        f"{one.kind} {one.name}__lanes[{LANES}] = {{{', '.join([_begins(one)] * LANES)}}};"
        for one in gathered
    ]
    whole, left = extent // LANES, extent % LANES
    in_lane = [
        f"long i{axis} = {LANES} * part + lane;",
        *_renamed(turn, [one.name for one in gathered], r"\1__lanes[lane]"),
    ]
    vector = [*pragma, *block(f"for (long lane = 0; lane < {LANES}; lane++) ", in_lane)]
    lines += block(f"for (long part = 0; part < {whole}; part++) ", vector)
    half = LANES // 2
    while half > 1:
        halved = [
            _joined(one, f"{one.name}__lanes[lane]", f"{one.name}__lanes[lane + {half}]") for one in gathered
        ]
        lines += [*pragma, *block(f"for (long lane = 0; lane < {half}; lane++) ", halved)]
        half //= 2
    for one in gathered:
        lines.append(_joined(one, f"{one.name}__lanes[0]", f"{one.name}__lanes[1]"))
        lines.append(_joined(one, one.name, f"{one.name}__lanes[0]"))
    if left > 1 and len(added) == len(gathered):
        lines += [f"{line} reduction(+: {', '.join(added)})" for line in pragma]
    if left:
        lines += block(f"for (long i{axis} = {LANES * whole}; i{axis} < {extent}; i{axis}++) ", turn)
    return block("", lines)


def _with_nan(gathered: Sequence[Gathered]) -> list[Gathered]:
    beside = [Gathered(f"{one.name}__nan", one.kind, "+") for one in gathered if one.looks_for_nan]
    return [*gathered, *beside]


def _begins(gathered: Gathered) -> str:
    """What a variable beside another holds before the turns."""
    return "0" if gathered.combine == "+" else gathered.name


def _joined(gathered: Gathered, one: str, other: str) -> str:
    """What two variables have gathered, in the first."""
    if gathered.combine == "+":
        return f"{one} += {other};"
    return f"{one} = {other} {ORDER[gathered.combine]} {one} ? {other} : {one};"


def block(head: str, lines: Iterable[str]) -> list[str]:
    return [f"{head}{{", *[line if line.startswith("#") else f"  {line}" for line in lines], "}"]


def _renamed(turn: Iterable[str], names: Iterable[str], to: str) -> list[str]:
    variables = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")
    return [variables.sub(to, line) for line in turn]
