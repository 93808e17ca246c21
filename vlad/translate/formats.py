"""f-strings, and the formats in them.

In: `f"{x:8.3f}"`.  Out: syntax; stdlib/python-formats.vlad has what the formats do. A format is known when it is translated.
"""

from __future__ import annotations

import ast
import re

from vlad.data.values import FALSE, TRUE
from vlad.reader.parser import Syntax
from vlad.translate.expressions import Expressions, Scope
from vlad.translate.syntax import form, literal, string

MOST_DIGITS = 15  # behind the point: their power of ten, and the number of them, are exact
_FORMAT = re.compile(
    r"(?:(?P<fill>.)?(?P<align>[<>=^]))?(?P<sign>[-+ ])?(?P<zero>0)?(?P<width>\d+)?(?P<comma>,)?"
    r"(?:\.(?P<digits>\d+))?(?P<kind>[fF%ds])?",
    re.DOTALL,
)
_HINT = "there are f, %, d and s, with fill, sign, width, comma and up to 15 digits: round the number"


def joined(x: Expressions, node: ast.JoinedStr, scope: Scope) -> Syntax:
    """An f-string."""
    parts: list[Syntax] = []
    for value in node.values:
        parts.append(
            _formatted(x, node, value, scope)
            if isinstance(value, ast.FormattedValue)
            else x.expression(value, scope)
        )
    return form(x.span(node), "string-append", *parts) if parts else string("", x.span(node))


def _formatted(x: Expressions, node: ast.JoinedStr, value: ast.FormattedValue, scope: Scope) -> Syntax:
    span, text = x.span(value), x.expression(value.value, scope)
    if value.conversion in (ord("r"), ord("a"), ord("s")):
        text = form(span, "%py-text" if value.conversion == ord("s") else "%py-written", text)
    if value.format_spec is None:
        return text if value.conversion != -1 else form(span, "%py-text", text)
    spec = value.format_spec
    parts = spec.values if isinstance(spec, ast.JoinedStr) else [spec]
    if not all(isinstance(one, ast.Constant) for one in parts):
        raise x.refuse("a format that is computed", node, "write its width and digits")
    given = "".join([str(one.value) for one in parts if isinstance(one, ast.Constant)])
    found = _FORMAT.fullmatch(given)
    if found is None or not _is_known(found):
        raise x.refuse(f"the format {given}", node, _HINT)
    kind, align = (
        (found["kind"] or "").lower(),
        found["align"] or ("=" if found["zero"] and found["kind"] != "s" else ""),
    )
    digits = literal(float(found["digits"]), span) if found["digits"] else literal(FALSE, span)
    fill = found["fill"] or ("0" if found["zero"] else " ")
    words = [
        string(kind, span),
        digits,
        string(found["sign"] or "-", span),
        literal(TRUE if found["comma"] else FALSE, span),
    ]
    place = [string(fill, span), string(align, span), literal(float(found["width"] or 0), span)]
    return form(span, "%py-formatted", text, *words, *place)


def _is_known(found: re.Match[str]) -> bool:
    """Is a format one of those that have a counterpart?"""
    kind, is_number = found["kind"] or "", (found["kind"] or "") in ("f", "F", "%", "d")
    if found["digits"] and (kind in ("", "d") or (is_number and int(found["digits"]) > MOST_DIGITS)):
        return False
    if not is_number and (found["comma"] or found["sign"] or found["zero"] or found["align"] == "="):
        return False
    return not (found["comma"] and (found["zero"] or found["align"] == "="))
