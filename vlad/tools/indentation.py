"""Where a line begins, by the usual rules for Scheme.

In: what is on the line of an opening bracket, and how much of its list is above the line.  Out: a column. A body is
indented by two; elements of a list are aligned; operands are aligned with the first operand, or with the operator if that is
alone on its line. Used by layout.py, and by the prompt for the line that is being typed.
"""

from __future__ import annotations

from typing import NamedTuple

from vlad.expand.forms import BEFORE_BODY
from vlad.reader.parser import looks_like_number

BODY, DISTINGUISHED = 2, 4  # parts before the body are indented by four if they begin a line
FARTHEST = 60  # columns: deeper nests are not indented further
LIKE_DEFINITIONS = ("define", "def-", "let-", "let*-")  # macros of programs with such names have a body


class Opening(NamedTuple):
    """An opening bracket, and what follows it on its line."""

    column: int
    is_data: bool  # of a tensor, or quoted
    head: str | None  # the word behind it; None if there is no word
    second: int | None  # the column of what follows the head
    is_named: bool  # whether that is a word


def before_body(opening: Opening) -> int | None:
    """The number of elements after the head that come before a body; None for a form without body."""
    head = opening.head
    if opening.is_data or head is None:
        return None
    if head == "let" and opening.is_named:
        return 2
    return BEFORE_BODY.get(head, 1 if head.startswith(LIKE_DEFINITIONS) else None)


def column_inside(opening: Opening, elements: int) -> int:
    """The column of a line inside a list, of which so many elements after the head are above the line."""
    before = before_body(opening)
    if before is not None:
        column = opening.column + (BODY if elements >= before else DISTINGUISHED)
    elif opening.is_data or opening.head is None or opening.second is None or looks_like_number(opening.head):
        column = opening.column + 1
    else:
        column = opening.second
    return min(column, FARTHEST)
