"""f-strings, and the formats in them.

In: `f"{x:8.3f}"`.  Out: syntax; stdlib/python-formats.vlad has what the formats do. The kind of a format is known when it is
translated; its width and its digits may be computed.
"""

from __future__ import annotations

import ast
import re

from vlad.data.values import FALSE, TRUE
from vlad.reader.parser import Syntax
from vlad.translate.expressions import Expressions, Scope
from vlad.translate.syntax import form, literal, name, string

MOST_DIGITS = 99  # behind the point (primitives/numerals.py)
COMPUTED = (
    0xE000  # of a number that is computed: a character for private use stands in the text of the format
)
_NUMBER = rf"\d+|[{chr(COMPUTED)}-{chr(COMPUTED + 99)}]"
_FORMAT = re.compile(
    rf"(?:(?P<fill>.)?(?P<align>[<>=^]))?(?P<sign>[-+ ])?(?P<prefix>#)?(?P<zero>0)?(?P<width>{_NUMBER})?(?P<group>[,_])?"
    rf"(?:\.(?P<digits>{_NUMBER}))?(?P<kind>[fFeEgG%dboxXs])?",
    re.DOTALL,
)
_REALS, _WHOLE = "feg%", "dbox"  # kinds of numbers
_HINT = "there are f, e, g, %, d, b, o, x and s, with fill, sign, width, comma and up to 99 digits"


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
    span, of = x.span(value), x.class_of(value.value, scope)
    text = x.expression(value.value, scope) if of is None else x.class_name(of, scope, is_whole=True)
    if value.conversion in (ord("r"), ord("a"), ord("s")):
        text = form(span, "%py-text" if value.conversion == ord("s") else "%py-written", text)
    given, computed = _written(x, node, value.format_spec, scope)
    if not given:
        return text if value.conversion != -1 else form(span, "%py-text", text)
    found = _FORMAT.fullmatch(given)
    if found is None or not _is_known(found):
        shown = "".join(["{…}" if ord(one) >= COMPUTED else one for one in given])
        raise x.refuse(f"the format {shown}", node, _HINT)

    kind = (found["kind"] or "").lower()
    kept = name(x.fresh("shown"), span) if computed else text
    is_plain = not (found["sign"] or found["prefix"] or found["zero"])

    def number(key: str, otherwise: Syntax) -> Syntax:
        own = found[key]
        if not own:
            return otherwise
        at = ord(own[0]) - COMPUTED
        if at < 0:
            return literal(float(own), span)
        if key == "digits":
            return form(span, "%py-precision", computed[at], literal(TRUE if kind == "s" else FALSE, span))
        return form(span, "%py-width", kept, computed[at], literal(TRUE if is_plain else FALSE, span))

    align = found["align"] or ("0" if found["zero"] else "")
    is_prefixed = found["prefix"] and kind in ("b", "o", "x")
    words = [
        string(kind, span),
        literal(TRUE if found["kind"] and found["kind"].isupper() else FALSE, span),
        number("digits", literal(FALSE, span)),
        string(found["sign"] or "-", span),
        string(found["group"], span) if found["group"] else literal(FALSE, span),
        string("0" + str(found["kind"]) if is_prefixed else "", span),
    ]
    fill = found["fill"] or ("0" if found["zero"] else " ")
    place = [string(fill, span), string(align, span), number("width", literal(0.0, span))]
    result = form(span, "%py-formatted", kept, *words, *place)
    return x.let([(kept, text)], result, span) if computed else result


def _written(
    x: Expressions, node: ast.JoinedStr, spec: ast.expr | None, scope: Scope
) -> tuple[str, list[Syntax]]:
    """The text of a format, and the numbers in it that are computed."""
    parts = spec.values if isinstance(spec, ast.JoinedStr) else [spec] if spec is not None else []
    texts: list[str] = []
    computed: list[Syntax] = []
    for one in parts:
        if isinstance(one, ast.FormattedValue) and one.conversion == -1 and one.format_spec is None:
            texts.append(chr(COMPUTED + len(computed)))
            computed.append(x.expression(one.value, scope))
        elif isinstance(one, ast.Constant):
            texts.append(str(one.value))
        else:
            raise x.refuse("a format that is computed so", node, "compute its width and digits alone")
    return "".join(texts), computed


def _is_known(found: re.Match[str]) -> bool:
    """Is a format one of those that have a counterpart?"""
    kind = (found["kind"] or "").lower()
    if found["digits"] and (kind == "" or kind in _WHOLE):
        return False
    if found["digits"] and found["digits"].isdigit() and kind != "s" and int(found["digits"]) > MOST_DIGITS:
        return False
    if kind == "s" and (found["group"] or found["sign"] or found["prefix"] or found["align"] == "="):
        return False
    if found["prefix"] and kind not in ("b", "o", "x", "d", ""):
        return False
    return not (found["group"] and (found["zero"] or kind in ("b", "o", "x")))
