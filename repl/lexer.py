"""The Pygments lexer, for pages and tools: the reader's own tokens under Pygments' names. (Installed as an entry point.)"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pygments.lexer import Lexer
from pygments.token import (
    Comment,
    Error,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
    _TokenType,
)

from .words import classed

TYPES: dict[str, _TokenType] = {
    "space": Text.Whitespace,
    "comment": Comment,
    "bracket": Punctuation,
    "quote": Operator,
    "string": String.Double,
    "number": Number,
    "boolean": Keyword.Constant,
    "operand": Name.Attribute,
    "keyword": Keyword,
    "builtin": Name.Builtin,
    "defined": Name.Function,
    "name": Name,
    "wrong": Error,
}


class VladLexer(Lexer):
    """Programs of vlad."""

    name = "vlad"
    aliases = ["vlad"]
    filenames = ["*.vlad"]
    mimetypes = ["text/x-vlad"]

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        for token, word, class_ in classed(text):
            yield token.start, TYPES[class_], word
