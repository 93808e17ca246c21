"""Types as people read them: `(list of real)`, `(reverse real)`, `[f]` for the procedure f.

In: types.  Out: their text, and lines of it that fit a width. Called for `vlad check` and for `vlad show`; the `repr` of a type
(types.py) is for debugging.

A procedure is displayed by its name, or by that of the procedure in which it is written; the values that it has captured are
displayed on request. A union is `(A or B)`, the type of a list of any length `(list of A)`; any other recursive type has a
letter, which `where` defines at the end of the line. The known zero is not displayed beside other members of a union, as it
stands for a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from vlad.core.types import Cell, Type, Types, found, is_table
from vlad.data.source import in_library, is_internal
from vlad.data.tables import LEAF_CODE
from vlad.data.tensors import dtype_name, shape_text
from vlad.data.values import NIL, UNSPECIFIED, ZERO, Code, Role, String, Symbol
from vlad.data.write import atom_text, symbol_text

WIDTH = 100  # of a line
INDENT = "    "  # of the further lines of a text
DEEPEST = 6  # nested structures; what is deeper is `…`
MOST_PARTS = 12  # of a list that differ
MOST_EQUAL = 4  # parts of a list in a row that are written out; `real ×5` stands for more
LONGEST_STRING = 40  # characters of a known string
ORDER = ("real", "boolean", "string", "constant", "tensor", "pair", "closure", "union")  # of alternatives
LAMBDA = "lambda"
UNORDERED = -1.0  # the place of an entry of a table, if it is not known
FIRM = (
    "\0"  # a space at which no line is broken; no other text contains it, as control characters are escaped
)


class TypeText:
    """The texts of the types of one line. `captured`: are the types of the values that procedures have captured displayed?"""

    def __init__(self, types: Types, captured: bool = False) -> None:
        self.types = types
        self.captured = captured
        self._is_quoted = False  # is it inside a structure with symbols, which is quoted as a whole?
        self._letters: dict[Cell, str] = {}  # of the recursive types
        self._open: list[Cell] = []  # the unions whose members are being written
        self._definitions: dict[Cell, str] = {}

    def of(self, type_: Type, is_part: bool = True) -> str:
        """The text of a type; alternatives are in parentheses if it is a part of a longer text."""
        return self._text(type_, DEEPEST, is_part)

    def where(self) -> str:
        """The definitions of the letters in the texts so far: ` where A = …`, or nothing."""
        texts = [f"{self._letters[cell]} = {text}" for cell, text in self._definitions.items()]
        return f" where {', '.join(texts)}" if texts else ""

    def _text(self, type_: Type, depth: int, is_part: bool = True) -> str:
        type_ = self.types.canonical(type_)
        match type_.kind:
            case "real" | "boolean" | "string":
                return type_.kind
            case "tensor":
                kind = "" if type_.of.kind == "float64" else f" {dtype_name(type_.of.kind)}"
                return f"tensor {shape_text(type_.of.shape)}{kind}".replace(" ", FIRM)
            case "constant":
                return _constant(type_, not self._is_quoted)
            case "union":
                return self._union(found(type_.of), depth, is_part)
        if depth == 0:
            return "…"
        if type_.kind == "closure":
            return self._closure(type_, depth)
        return self._pairs(type_, depth)

    def _pairs(self, type_: Type, depth: int) -> str:
        """Pairs as `write` displays them, with equal parts counted; quoted, if there are symbols in them."""
        is_quoted, self._is_quoted = self._is_quoted, self._is_quoted or _has_symbol(type_)
        try:
            mark = "'" * (self._is_quoted and not is_quoted)
            parts: list[str] = []
            while type_.kind == "pair":
                parts.append(self._text(type_.parts[0], depth - 1))
                type_ = self.types.canonical(type_.parts[1])
            shown: list[str] = []
            for text, equal in groupby(parts):
                count = len(list(equal))
                shown += [f"{text}{FIRM}×{count}"] if count > MOST_EQUAL else [text] * count
            if len(shown) > MOST_PARTS:
                return f"{mark}({' '.join(shown[:MOST_PARTS])} …)"
            end = "" if type_.of == NIL else f" .{FIRM}{self._text(type_, depth - 1)}"
            return f"{mark}({' '.join(shown)}{end})"
        finally:
            self._is_quoted = is_quoted

    def _union(self, cell: Cell, depth: int, is_part: bool) -> str:
        if cell in self._letters:
            return self._letters[cell]
        if cell in self._open:
            self._letters[cell] = _letter(len(self._letters))
            return self._letters[cell]
        if depth == 0:
            return "…"
        self._open.append(cell)
        members = [self.types.canonical(member) for member in cell.members.values()]
        members = [member for member in members if member.of is not ZERO] or members
        element = self._element(cell, members)
        if element is not None:
            texts = [f"(list of {self._text(element, depth - 1)})"]
        else:
            members.sort(
                key=lambda member: ORDER.index(member.kind)
            )  # otherwise in the order of the analysis
            texts = [*dict.fromkeys([self._text(member, depth) for member in members])]
        self._open.pop()
        if cell not in self._letters:
            text = " or ".join(texts)
            return f"({text})" if is_part and len(texts) > 1 else text
        self._definitions[cell] = " or ".join(texts)
        return self._letters[cell]

    def _element(self, cell: Cell, members: list[Type]) -> Type | None:
        """The elements' type, if these are the members of the type of a list of any length."""
        pairs = [member for member in members if member.kind == "pair"]
        if len(members) == 2 and len(pairs) == 1 and any(member.of == NIL for member in members):
            rest = self.types.canonical(pairs[0].parts[1])
            if rest.kind == "union" and found(rest.of) is cell:
                return pairs[0].parts[0]
        return None

    def _closure(self, type_: Type, depth: int) -> str:
        code: Code = type_.of
        parts = [self.types.canonical(part) for part in type_.parts]
        if code.role is Role.TAG:
            return f"({code.name} {self._text(parts[0], depth)})"
        if is_table(type_):
            return self._table(parts[0], code.machine.codes[LEAF_CODE], depth - 1)
        if code.role is Role.VECTOR:
            return self._vector(parts[0], code.machine.codes[LEAF_CODE], depth - 1)
        if code.role is Role.RECORD:
            return f"({' '.join([code.name, *[self._text(part, depth - 1) for part in parts]])})"
        wrapped = _wrapped(code, parts)
        if code.role is Role.BACKPROPAGATOR:
            return f"[backpropagator of {_name(wrapped)}]"
        if wrapped is not None:
            return self._closure(wrapped, depth)
        captured = [self._text(part, depth - 1) for part in parts] if self.captured else []
        return f"[{' '.join([procedure_name(code), *captured])}]"

    def _vector(self, items: Type, leaf: Code, depth: int) -> str:
        """A vector with the types of its elements, if their number is known; otherwise with those that any of them has."""
        if not is_table(items):
            return f"(vector {self._text(items, depth)})"
        entries, is_known = self._entries(self.types.canonical(items.parts[0]), leaf, depth)
        is_known = is_known and all(order != UNORDERED for order, _, _ in entries)
        values = [value for _, _, value in entries]
        return f"({' '.join(['vector', *values] if is_known else ['vector of', *dict.fromkeys(values)])})"

    def _table(self, trie: Type, leaf: Code, depth: int) -> str:
        """A table with its keys, if they are known, in their order; otherwise with the types of keys and values."""
        entries, is_known = self._entries(trie, leaf, depth)
        texts = dict.fromkeys([f"{key}: {value}" for _, key, value in entries])
        return f"(table{'' if is_known else ' of'}{''.join([' ' + text for text in texts])})"

    def _entries(self, trie: Type, leaf: Code, depth: int) -> tuple[list[tuple[float, str, str]], bool]:
        """The place, and the types of key and value, of each entry of a table; and whether these are all entries."""
        entries: list[tuple[float, str, str]] = []
        work, is_known = [trie], True
        while work and depth > 0:
            part = self.types.canonical(work.pop())
            if part.kind == "union":
                is_known = False
                work += [one for one in found(part.of).members.values() if one.of is leaf]
            elif part.of is leaf:
                key, place, value, more = part.parts
                order = place.of if place.kind == "constant" else UNORDERED
                entries.append((order, self._text(key, depth), self._text(value, depth)))
                work += [more] if is_known else []
            else:
                work += part.parts
        return sorted(entries), is_known


def text_of(types: Types, type_: Type, captured: bool = False) -> str:
    """The text of one type on one line."""
    text = TypeText(types, captured)
    return (text.of(type_, is_part=False) + text.where()).replace(FIRM, " ")


def _wrapped(code: Code, parts: list[Type]) -> Type | None:
    """The type of the procedure that a procedure of the system wraps, if it does."""
    is_wrapper = code.role is Role.BACKPROPAGATOR or code is code.machine.codes["with-derivative"]
    return parts[0] if is_wrapper and parts[0].kind == "closure" else None


def _name(type_: Type | None) -> str:
    return "a procedure" if type_ is None else procedure_name(type_.of)


def procedure_name(code: Code) -> str:
    """The name of a procedure for people: its own, or that of the procedure in which it is written, with the derivative that it
    computes."""
    lambda_ = code.base.machine.core_of(code.base)
    if lambda_.backpropagator_of is not None:
        return f"{code.derivation}backpropagator of {_plain(lambda_.backpropagator_of) or LAMBDA}"
    name = _plain(code.base.name)
    if name or code.base.primitive is not None:
        return code.derivation + name
    around = _around(code.base)
    if around:
        return f"{code.derivation}{LAMBDA} in {_plain(min(around)[1])}"
    span = lambda_.span
    place = f" at {span.line}:{span.column}" if span is not None and not in_library(span) else ""
    return f"{code.derivation}{LAMBDA}{place}"


def name_in_program(code: Code) -> str:
    """The name of the outermost procedure in whose text a code is written; '' outside of all procedures with names."""
    around = _around(code.base)
    if around:
        return _plain(max(around)[1])
    lambda_ = code.machine.core_of(code.base)
    return _plain(code.base.name if lambda_.backpropagator_of is None else lambda_.backpropagator_of)


def _plain(name: str) -> str:
    """A name as a program has it, without the mark of the library's helpers."""
    name = name[1:] if is_internal(name) else name
    return symbol_text(name) if name else ""


def _around(code: Code) -> list[tuple[int, str]]:
    """The procedures with names in whose text another one is written: the extent and the name of each."""
    span = code.machine.core_of(code).span
    around: list[tuple[int, str]] = []
    if span is None:
        return around
    for other in list(code.family.codes.values()):
        lambda_ = other.lambda_
        if other.base is not other or lambda_ is None or lambda_.backpropagator_of is not None:
            continue
        outer = lambda_.span  # a primitive has none
        if other is not code and other.name and outer is not None and outer.contains(span):
            around.append((outer.end - outer.start, other.name))
    return around


def _constant(type_: Type, quotes: bool) -> str:
    value = type_.of
    if value is ZERO:
        return "0"
    if value is UNSPECIFIED:
        return "unspecified"
    if type(value) is Symbol:
        return "'" * quotes + symbol_text(value.name)
    if type(value) is String and len(value.text) > LONGEST_STRING:
        return f'{atom_text(String(value.text[:LONGEST_STRING]), True)[:-1]}…"'
    return "()" if value == NIL else atom_text(value, True)


def _has_symbol(type_: Type) -> bool:
    """Whether there are symbols in a structure. Procedures and unions are not entered."""
    return type(type_.of) is Symbol or (type_.kind == "pair" and any(map(_has_symbol, type_.parts)))


def _letter(number: int) -> str:
    turn, letter = divmod(number, 26)
    return f"{chr(ord('A') + letter)}{turn or ''}"


# Lines.


def heading(name: str, takes: Sequence[str]) -> str:
    """`name : takes`, on one line."""
    return " ".join([name, ":", *takes]).replace(FIRM, " ")


def line(name: str, gives: str, takes: Sequence[str] | None = None) -> str:
    """`name : gives`, or `name : takes -> gives` for a procedure, broken where it is longer than a line."""
    begins = " ".join([name, ":", *(takes or ())])
    whole = f"{begins} {gives}" if takes is None else f"{begins} -> {gives}"
    if len(whole) <= WIDTH:
        lines = [whole]
    elif takes is None:
        lines = folded(whole)
    else:
        lines = [*folded(begins), *folded(f"{INDENT}-> {gives}")]
    return "\n".join(lines).replace(FIRM, " ")


def folded(text: str) -> list[str]:
    """A text in lines, broken at the spaces outside all brackets, and inside a bracket that is longer than a line."""
    begins = text[: len(text) - len(text.lstrip())]
    lines = [begins]
    _fold(text.lstrip(), lines, len(begins) + len(INDENT), 0)
    return lines


def _fold(text: str, lines: list[str], indent: int, after: int) -> None:
    """Add a text to the last of the lines; further lines are indented. `after`: the length of what follows it."""
    parts = [*_parts(text)]
    for index, part in enumerate(parts):
        follows = after if index == len(parts) - 1 else 0
        space = "" if not lines[-1].strip() or lines[-1][-1] in "([" else " "
        if len(lines[-1]) + len(space) + len(part) + follows <= WIDTH:
            lines[-1] += space + part
            continue
        if lines[-1].strip() and indent < len(lines[-1]):
            lines.append(" " * indent)
            space = ""
        bracket = min([at for at in (part.find("("), part.find("[")) if at >= 0], default=-1)
        if bracket < 0 or len(lines[-1]) + len(part) + follows <= WIDTH or part[-1] not in ")]":
            lines[-1] += space + part
        else:
            lines[-1] += space + part[: bracket + 1]
            _fold(part[bracket + 1 : -1], lines, len(lines[-1]), follows + 1)
            lines[-1] += part[-1]


def _parts(text: str) -> Iterator[str]:
    """The parts of a text between spaces outside brackets and strings."""
    part, depth, is_string, is_escaped = "", 0, False, False
    for character in text:
        if character == " " and depth == 0 and not is_string:
            yield part
            part = ""
            continue
        if character == '"' and not is_escaped:
            is_string = not is_string
        elif not is_string:
            depth += (character in "([") - (character in ")]")
        is_escaped = character == "\\" and not is_escaped
        part += character
    yield part
