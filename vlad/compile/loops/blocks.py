"""Blocks for a loop that overwrites its input and may have to be repeated: it keeps what it has read of a block, which fits into
the nearest cache, until its results are known to be correct. So the gradient of a logsumexp needs one array less.

In: the loop over whole turns, a loop that repeats a block.  Out: statements. Called by vectorize.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from vlad.compile.loops.ir import (
    Array,
    Assign,
    Body,
    Element,
    For,
    If,
    Let,
    Local,
    Origin,
    Position,
    Simd,
    Statement,
    Value,
    Variables,
    counted,
)
from vlad.core.expressions import Binary, Name, Number
from vlad.core.extents import AnExtent

# Entries of a block, a multiple of those of a turn. They are static, since a frame may be one of many on the stack: one array for
# each thread, as rows of a batch run in several.
BLOCK = 1024
FIRST, LAST = "first", "last"


def kept_entry(let: Let, index: str, is_vector: bool = False) -> Element:
    """The copy of an entry of this block that a variable reads, and that may have been overwritten."""
    copy = Array(Origin.COPY, let.number, let.kind)
    return Element(copy, Position(0, ((index, 1), (FIRST, -1))), is_vector)


def in_blocks(
    turns: Sequence[Statement], failed: Value, again: Body, index: str, kept: Sequence[Let], last: AnExtent, taken: int,
    begin: str,
) -> list[Statement]:  # fmt: skip
    """`turns`: the loop from `begin` up to LAST; `failed`: does a block have to be repeated, by `again`? `kept`: the variables
    that are read; `last`: the start of the last whole turn, which has `taken` entries."""
    end = Binary("+", Name(begin), Number(BLOCK - taken, "int"))
    once_more = For(index, Name(FIRST), Name(begin), again, simd=Simd())
    within: list[Statement] = [
        Variables((FIRST,), "index", Name(begin)),
        Variables((LAST,), "index", end),
        If(Binary(">", Name(LAST), counted(last)), (Assign(LAST, counted(last)),)),
        *turns,
        If(failed, (once_more,)),
    ]
    return [
        *[Local(kept_entry(let, index).array, BLOCK, keeps=True) for let in kept],
        For(begin, None, counted(last), tuple(within), step=0, is_closed=True),
    ]
