"""What each word of a program is, for editors that colour by meaning: a parameter, a macro, a procedure of the library.

In: a form, and what is known of global names.  Out: `Coloured` words, line by line. The reader's own tokens decide
(structure.py), and for names where they are bound (bindings.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from .bindings import names_in
from .structure import Outline
from .words import class_of, expects_name

# in the order in which the protocol numbers them
KINDS = ("keyword", "macro", "function", "variable", "parameter", "number", "string", "comment", "property")
MODIFIERS = ("definition", "defaultLibrary")
DEFINITION, STANDARD = 1, 2
OF_CLASSES = {
    "comment": "comment",
    "string": "string",
    "number": "number",
    "boolean": "number",
    "operand": "property",
    "keyword": "keyword",
}


class Coloured(NamedTuple):
    """A word of a form: its line and columns in it, its kind, and its modifiers as bits. `kind` is "" for a global name, whose
    meaning depends on the rest of the program."""

    row: int
    first: int
    last: int
    kind: str
    modifiers: int


@lru_cache(maxsize=8192)
def words_of(text: str) -> tuple[Coloured, ...]:
    """The words of a form. Forms that did not change are not read again."""
    return tuple(_words(text))


def _words(text: str) -> Iterator[Coloured]:
    names = {name.start: name for name in names_in(text)}
    start, defining = 0, False
    for row, line in enumerate(Outline(text.split("\n")).lines):
        for token in line.tokens:
            word = line.text[token.start : token.end]
            class_ = class_of(token.kind, word)
            if class_ in ("space", "bracket", "quote", "wrong"):
                continue
            name = names.get(start + token.start)
            kind, modifiers = OF_CLASSES.get(class_, ""), 0
            if class_ in ("name", "builtin", "keyword") and name is not None:
                if defining and name.bound is None:
                    modifiers = DEFINITION
                elif name.bound is not None:
                    kind = "parameter" if name.is_parameter else "variable"
                    modifiers = DEFINITION * (name.bound == (name.start, name.end))
                elif class_ == "builtin":
                    kind, modifiers = "function", STANDARD
            defining = expects_name(class_, word)
            if name is not None or class_ not in ("name", "builtin"):  # no word of quoted data
                yield Coloured(row, token.start, token.end, kind, modifiers)
        start += len(line.text) + 1


def coloured(text: str, kind_of: Callable[[str], str]) -> Iterator[tuple[Coloured, str]]:
    """The words of a form with their kinds. `kind_of`: the kind of a global name of the program, or ""."""
    lines = text.split("\n")
    for one in words_of(text):
        own = kind_of(lines[one.row][one.first : one.last]) if one.kind in ("", "function") else ""
        kind = own or one.kind
        if kind:
            yield (one if not own else one._replace(modifiers=one.modifiers & DEFINITION)), kind
