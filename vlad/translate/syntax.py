"""Syntax that a translation makes, and its text.

In: names, literals and their places.  Out: syntax as the reader makes it (reader/parser.py); and for people, its text in lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from vlad.data.source import Span
from vlad.data.values import String, Value, symbol
from vlad.data.write import symbol_text, written
from vlad.reader.parser import Form, Keyword, Literal, Name, Syntax

WIDTH = 90  # of a line of a text
BODIES = {"lambda": 2, "let": 2, "let*": 2, "letrec": 2, "define": 2, "begin": 1}  # items before the body


_symbol = lru_cache(maxsize=1000)(symbol)  # most names of a translation are the same few hundred


def name(text: str, span: Span) -> Name:
    return Name(_symbol(text), span)


def form(span: Span, *items: Syntax | str) -> Form:
    """A form; a text among its items is a name."""
    made = [Name(_symbol(item), span) if isinstance(item, str) else item for item in items]
    return Form(tuple(made), None, span)


def literal(value: Value, span: Span) -> Literal:
    return Literal(value, span)


def string(text: str, span: Span) -> Literal:
    return Literal(String(text), span)


def quoted(text: str, span: Span) -> Form:
    return form(span, "quote", text)


def empty_list(span: Span) -> Form:
    return form(span, "quote", Form((), None, span))


def let(pairs: Sequence[Form], body: Syntax, span: Span) -> Syntax:
    """A body with variables, as short as it can be: a `let*` for several around each other, and no `let` that only returns its
    variable.
    """
    if len(pairs) == 1:
        variable, value = pairs[0].items
        if isinstance(variable, Name) and isinstance(body, Name) and variable.symbol is body.symbol:
            return value
        keyword = head(body)
        if keyword in ("let", "let*") and isinstance(body, Form) and isinstance(body.items[1], Form):
            inner = body.items[1].items
            if keyword == "let*" or len(inner) == 1:
                return form(span, "let*", Form((*pairs, *inner), None, span), *body.items[2:])
    return form(span, "let", Form(tuple(pairs), None, span), body)


def is_atom(syntax: Syntax) -> bool:
    """May it be repeated, as it has no effect and costs nothing?"""
    return not isinstance(syntax, Form) or (len(syntax.items) == 2 and head(syntax) == "quote")


def head(syntax: Syntax) -> str:
    """The name at the beginning of a form, or nothing."""
    first = syntax.items[0] if isinstance(syntax, Form) and syntax.items else None
    return first.symbol.name if isinstance(first, Name) else ""


def text_of(syntax: Syntax, indent: int = 0) -> str:
    """The text of syntax, in lines of some 90 characters."""
    flat = _flat(syntax)
    if indent + len(flat) <= WIDTH or not isinstance(syntax, Form) or len(syntax.items) < 2:
        return flat
    keyword = head(syntax)
    if keyword == "quote":
        return flat
    if keyword in BODIES:
        at = BODIES[keyword] + (keyword == "let" and isinstance(syntax.items[1], Name))
        first = [_flat(item) for item in syntax.items[: at - 1]]
        opening = "(" + " ".join(first)
        if keyword in ("lambda", "define"):
            opening += " " + _flat(syntax.items[at - 1])
        elif at > 1:
            opening += " " + _bindings(syntax.items[at - 1], indent + len(opening) + 1)
        rest = [text_of(item, indent + 2) for item in syntax.items[at:]]
        return opening + "".join(["\n" + " " * (indent + 2) + item for item in rest]) + ")"
    opening = "(" + (_flat(syntax.items[0]) if keyword else text_of(syntax.items[0], indent + 1))
    deeper = indent + (len(opening) + 1 if keyword else 1)
    rest = [text_of(item, deeper) for item in syntax.items[1:]]
    between = "\n" + " " * deeper
    return opening + (" " if keyword else between) + between.join(rest) + ")"


def _bindings(syntax: Syntax, indent: int) -> str:
    """The bindings of a let, one a line."""
    if not isinstance(syntax, Form) or not syntax.items:
        return _flat(syntax)
    lines = [text_of(item, indent + 1) for item in syntax.items]
    return "(" + ("\n" + " " * (indent + 1)).join(lines) + ")"


def _flat(syntax: Syntax) -> str:
    if isinstance(syntax, Name):
        return symbol_text(syntax.symbol.name)
    if isinstance(syntax, Literal):
        return written(syntax.value)
    if isinstance(syntax, Keyword):
        return f"#:{syntax.name}"
    if isinstance(syntax, Form):
        if head(syntax) == "quote" and len(syntax.items) == 2:
            return "'" + _flat(syntax.items[1])
        return "(" + " ".join([_flat(item) for item in syntax.items]) + ")"
    raise TypeError(syntax)
