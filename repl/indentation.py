"""Indentation of lines that are being typed.

In: an `Outline`, and a row.  Out: columns, by the rules of `vlad format` (vlad/tools/indentation.py).
"""

from __future__ import annotations

from vlad.tools.indentation import Opening, before_body, column_inside

from .structure import Outline, Place, is_closing, is_opening, significant


def indentation(outline: Outline, row: int) -> int | None:
    """The column at which a line should begin; None for one that begins inside a string or comment, which is left unchanged."""
    if outline.states[row] if row < len(outline.lines) else outline.state:
        return None
    opening = _opening(outline, row)
    return 0 if opening is None else _inside(outline, opening, row)


def _opening(outline: Outline, row: int) -> Place | None:
    if row == 0:
        return None
    return outline.opening(row - 1, len(outline.lines[row - 1].text))


def _inside(outline: Outline, place: Place, row: int) -> int:
    """The column of a line inside the list opened at a place."""
    opening = _opening_at(outline, place)
    before = before_body(opening)
    return column_inside(opening, 0 if before is None else _elements(outline, place, row, before))


def _opening_at(outline: Outline, place: Place) -> Opening:
    line = outline.lines[place.row]
    behind = [token for token in significant(line) if token.start > place.column][:2]
    is_word = [token.kind in ("atom", "symbol") for token in behind]
    return Opening(
        place.column,
        line.text[place.column] == "[" or _is_quoted(outline, place),
        line.text[behind[0].start : behind[0].end] if behind and is_word[0] else None,
        behind[1].start if len(behind) > 1 else None,
        len(behind) > 1 and is_word[1],
    )


def _is_quoted(outline: Outline, opening: Place) -> bool:
    text = outline.lines[opening.row].text
    return text[max(opening.column - 1, 0) : opening.column] in ("'", "`")


def _elements(outline: Outline, opening: Place, row: int, enough: int) -> int:
    """The number of elements after the head of a list before a row, counted up to `enough`."""
    count, depth, quoted = -1, 0, False
    for at in range(opening.row, row):
        line = outline.lines[at]
        for token in significant(line):
            if at == opening.row and token.start <= opening.column:
                continue
            if is_closing(token, line.text):
                depth -= 1
                continue
            if depth == 0 and not quoted and token.kind != "datumcomment":
                count += 1
                if count >= enough:
                    return count
            quoted = depth == 0 and token.kind in ("quote", "datumcomment")
            if is_opening(token, line.text):
                depth += 1
    return count


def indented(lines: list[str], first: int, last: int, current: int = -1) -> list[str]:
    """The lines of a text, with those from `first` up to `last` indented, except blank ones other than the current one."""
    result = list(lines)
    for row in range(first, min(last, len(result))):
        text = result[row].lstrip(" \t")
        column = indentation(Outline([*result[:row], text]), row)
        if column is not None:
            result[row] = " " * column + text if text or row == current else ""
    return result
