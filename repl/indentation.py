"""Indentation of lines, by the usual rules for Scheme.

In: an `Outline`, and a row.  Out: columns. A body is indented by two; elements of a list are aligned;
operands are aligned with the first operand, or with the operator if that is alone on its line.
"""

from __future__ import annotations

from .structure import Outline, Place, is_closing, is_opening, significant

# Number of elements of a form before its body. Those are indented by four if they begin a line.
BEFORE_BODY = {
    "begin": 0, "case": 1, "cons-stream": 1, "define": 1, "define-syntax": 1, "delay": 0, "do": 2, "guard": 1, "lambda": 1,
    "let": 1, "let*": 1, "let-syntax": 1, "letrec": 1, "letrec*": 1, "letrec-syntax": 1, "reset": 0, "shift": 1,
    "syntax-rules": 1, "unless": 1, "when": 1, "with-cleanup": 1,
}  # fmt: skip
BODY, DISTINGUISHED = 2, 4
FARTHEST = 60  # columns: deeper nests are not indented further


def indentation(outline: Outline, row: int) -> int | None:
    """The column at which a line should begin; None for one that begins inside a string or comment, which is left unchanged."""
    if outline.states[row] if row < len(outline.lines) else outline.state:
        return None
    opening = _opening(outline, row)
    return 0 if opening is None else min(_inside(outline, opening, row), FARTHEST)


def _opening(outline: Outline, row: int) -> Place | None:
    if row == 0:
        return None
    return outline.opening(row - 1, len(outline.lines[row - 1].text))


def _inside(outline: Outline, opening: Place, row: int) -> int:
    """The column of a line inside the list opened at a place."""
    line = outline.lines[opening.row]
    behind = [token for token in significant(line) if token.start > opening.column]
    column = opening.column + 1
    if line.text[opening.column] == "[" or not behind or behind[0].kind not in ("atom", "symbol"):
        return column
    if _is_quoted(outline, opening):
        return column
    head = line.text[behind[0].start : behind[0].end]
    before = BEFORE_BODY.get(head, 1 if head.startswith(("def", "let-")) else None)
    if before is not None:
        if head == "let" and len(behind) > 1 and behind[1].kind in ("atom", "symbol"):
            before = 2  # a named let
        return opening.column + (
            BODY if _elements(outline, opening, row, before) >= before else DISTINGUISHED
        )
    is_call = len(behind) > 1 and not head[0].isdigit()
    return behind[1].start if is_call else column


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
            if depth == 0 and not quoted:
                count += 1
                if count >= enough:
                    return count
            quoted = depth == 0 and token.kind == "quote"
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
