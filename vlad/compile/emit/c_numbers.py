"""Numbers as C text."""

from __future__ import annotations

from vlad.core.loop_nests import is_whole


def real_text(number: float) -> str:
    if number != number:
        return "(0.0 / 0.0)"
    if number in (float("inf"), float("-inf")):
        return "(1.0 / 0.0)" if number > 0 else "(-1.0 / 0.0)"
    text = repr(number)
    return f"({text})" if text.startswith("-") else text


def whole_text(number: float) -> str:
    return f"(-{-int(number + 1)}L - 1)" if number < 0 else f"{int(number)}L"


def number_text(number: float, kind: str) -> str:
    """A constant of a kind."""
    return whole_text(number) if is_whole(kind) else real_text(float(number))
