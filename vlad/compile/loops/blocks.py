"""A loop that writes over what it reads, and may have to be run again, in blocks: it keeps what it has read of one, which the
nearest cache holds, until it is known that this was right. So the gradient of a logsumexp has one array less to go through.

In: the loop over whole turns, a loop that does a block again.  Out: statements. Called by vectorize.py.
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
    Local,
    Position,
    Simd,
    Statement,
    Value,
    Variables,
    counted,
)
from vlad.core.expressions import Binary, Name, Number

# Entries of a block, a multiple of those of a turn. They are no part of a procedure's frame, which may be one of many on the
# stack: a library is called by one thread at a time.
BLOCK = 1024
FIRST, LAST = "first", "last"


def kept_entry(name: str, kind: str, index: str, is_vector: bool = False) -> Element:
    """Where a variable that was read of this block, and may have been written over, is kept."""
    return Element(Array(f"kept{name[1:]}", kind), Position(0, ((index, 1), (FIRST, -1))), is_vector)


def in_blocks(
    turns: Sequence[Statement], failed: Value, again: Body, index: str, kept: Sequence[str], kind: str, last: int, taken: int,
    begin: str,
) -> list[Statement]:  # fmt: skip
    """`turns`: the loop from `begin` up to LAST; `failed`: is a block to be done again, by `again`? `kept`: the variables that
    are read; `last`: where the last whole turn begins, of `taken` entries."""
    end = Binary("+", Name(begin), Number(BLOCK - taken, "int"))
    once_more = For(index, Name(FIRST), Name(begin), again, simd=Simd())
    within: list[Statement] = [
        Variables((FIRST,), "index", Name(begin)),
        Variables((LAST,), "index", end),
        If(Binary(">", Name(LAST), Number(last, "int")), (Assign(LAST, Number(last, "int")),)),
        *turns,
        If(failed, (once_more,)),
    ]
    return [
        *[Local(kept_entry(name, kind, index).array, BLOCK, keeps=True) for name in kept],
        For(begin, None, counted(last), tuple(within), step=0, is_closed=True),
    ]
