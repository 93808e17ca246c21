"""Numbers as C text."""

from __future__ import annotations

import math

from vlad.core.extents import AnExtent
from vlad.core.loop_nests import is_whole


def long_text(number: AnExtent | str) -> str:
    """A number of type long, or the text of one."""
    return f"{number}L" if type(number) is int else str(number)


def real_text(number: float, suffix: str = "") -> str:
    """`suffix`: of constants of the kind."""
    if number != number:
        return f"(0.0 / 0.0{suffix})"
    if number in (float("inf"), float("-inf")):
        return f"(1.0 / 0.0{suffix})" if number > 0 else f"(-1.0 / 0.0{suffix})"
    return f"({number!r}{suffix})" if math.copysign(1, number) < 0 else f"{number!r}{suffix}"


def whole_text(number: float) -> str:
    return f"(-{-int(number + 1)}L - 1)" if number < 0 else f"{int(number)}L"


def number_text(number: float, kind: str) -> str:
    """A constant of a kind."""
    return whole_text(number) if is_whole(kind) else real_text(float(number))
