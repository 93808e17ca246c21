"""Classes of tokens for colouring: a keyword, a built-in name, a number, … Shared by both ways of colouring programs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from vlad.expand.forms import KEYWORDS, PROCEDURE_KEYWORDS
from vlad.primitives.table import PROCEDURES, TABLE
from vlad.reader.lexer import Token, tokens
from vlad.reader.parser import numeral, prefixed_number
from vlad.session.library import the_library

CLASSES = {
    "space": "space",
    "comment": "comment",
    "open-comment": "comment",
    "datumcomment": "comment",
    "open": "bracket",
    "close": "bracket",
    "bracket": "bracket",
    "tensor": "bracket",
    "vector": "bracket",
    "quote": "quote",
    "string": "string",
    "open-string": "string",
    "symbol": "name",
    "keyword": "operand",
}
SPECIAL = ("else", "=>", "as")  # names with a meaning inside forms


def class_of(kind: str, text: str) -> str:
    """The class of a token, by its kind and text."""
    found = CLASSES.get(kind)
    if found is not None:
        return found
    if kind == "atom":
        return "number" if numeral(text) is not None else _class_of_name(text)
    if kind == "hash":
        if text in ("#t", "#f", "#true", "#false"):
            return "boolean"
        if text.startswith("#\\"):
            return "string"
        return "number" if prefixed_number(text) is not None else "wrong"
    return "wrong"


def _class_of_name(text: str) -> str:
    if text in SPECIAL or (text in KEYWORDS and text not in PROCEDURE_KEYWORDS):
        return "keyword"
    return "builtin" if text in builtins() else "name"


@cache
def builtins() -> frozenset[str]:
    """The standard names."""
    rows = {name for name, row in TABLE.items() if not row.hidden}
    return frozenset(rows | set(PROCEDURES) | set(the_library().names()) | {"J", *PROCEDURE_KEYWORDS})


def expects_name(kind: str, text: str) -> bool:
    """Whether a keyword is followed by a name that it defines."""
    return kind == "keyword" and text.startswith("define")


def classed(text: str) -> Iterator[tuple[Token, str, str]]:
    """The tokens of a program, each with its text and its class: "defined" for a name that a definition defines."""
    is_defined = False
    for token in tokens(text):
        word = text[token.start : token.end]
        class_ = class_of(token.kind, word)
        if is_defined and class_ in ("name", "builtin"):
            class_, is_defined = "defined", False
        elif class_ not in ("space", "bracket"):
            is_defined = expects_name(class_, word)
        yield token, word, class_
