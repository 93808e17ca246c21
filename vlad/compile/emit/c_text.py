"""Names, constants, strings and comments as C text, safe for any names in a program.

In: names, numbers and positions of a program.  Out: text that any C compiler reads as one token, or as a comment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from vlad.compile.emit.c_numbers import real_text
from vlad.compile.ir.program import Function, Immediate, Leaf
from vlad.core.extents import Extent
from vlad.data.source import Span

LONGEST_NAME, LONGEST_COMMENT = 40, 200  # characters of what a program names, in C
C_TYPES = {"d": "double", "b": "int", "p": "void *"}
COUNTER = "long"  # of a number that counts (counters.py)


MOST_WHOLE = float(1 << 53)

# Names that a unit generates have numbers: g0_x_0, v1_f, vlad_data_2.
_OF_THE_UNIT = re.compile(r"[0-9]|vlad(_|$)|[gv][0-9]+_")


def identifier(name: str) -> str:
    """A C identifier similar to a name; with a number appended, it differs from all names that a unit generates otherwise."""
    text = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "t"
    return f"x{text}" if _OF_THE_UNIT.match(text) else text


def c_name(function: Function) -> str:
    return f"v{function.serial}_{identifier(function.name[:LONGEST_NAME])}"


def place_of(function: Function) -> str:
    """The label of the next turn."""
    return f"again_{function.serial}"


def place_of_result(index: int) -> str:
    """The variable with the address at which the caller requests the entries of a result; null if it requests none."""
    return f"vlad_place_{index}"


def constant_text(leaf: Leaf) -> str:
    if type(leaf) is bool:
        return "1" if leaf else "0"
    if type(leaf) is Immediate:
        return f"(void *){leaf.member + 1}L"
    if type(leaf) is Extent:
        return f"(double){leaf}"
    assert type(leaf) is float
    return real_text(leaf)


def whole_constant_text(leaf: Leaf) -> str | None:
    """A constant as an integer, if it is a whole number that fits."""
    if type(leaf) is Extent:
        return f"({leaf})"
    return f"{leaf:.0f}L" if type(leaf) is float and leaf.is_integer() and abs(leaf) <= MOST_WHOLE else None


def number_list(numbers: Iterable[int]) -> str:
    return ", ".join([str(number) for number in numbers]) or "0"


def c_string(data: bytes) -> str:
    """A C string literal for any bytes: octal escapes end after three digits, and there are no trigraphs."""
    return '"' + "".join([chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in data]) + '"'


def position(span: Span) -> str:
    return comment(f"{os.path.basename(span.source.name)}:{span.line}:{span.column}")


def comment(text: str) -> str:
    """Text from a program, made safe within a C comment: short, on one line, without invisible characters and those that change
    the direction of writing, and without the begin or end of a comment."""
    shown = "".join([c if c.isprintable() and c != "\\" else "?" for c in text[:LONGEST_COMMENT]])
    return within_comment(shown)


def within_comment(text: str) -> str:
    """Lines without the begin or end of a comment, even together with the characters that surround them."""
    separated = re.sub(r"(?<=\*)(?=/)|(?<=/)(?=\*)", " ", text)
    return separated + " " * separated.endswith(("*", "/"))
