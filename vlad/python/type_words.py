"""Types in the words of Python: `float`, `list[float]`, `tuple[float, bool]`, `array[3, 4]`, for `vlad.check`.

In: types of the compiler.  Out: their text. core/type_text.py has the language's own words.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from vlad.core.type_text import MOST_EQUAL, MOST_PARTS, TypeText, procedure_name
from vlad.core.types import Cell, Type
from vlad.core.types import found as cell_of
from vlad.data.records import DICT, FROZENSET, NONE, SET, TUPLE
from vlad.data.tables import LEAF_CODE
from vlad.data.tensors import dtype_name
from vlad.data.values import NIL, RECORDS, UNSPECIFIED, ZERO, Boolean, Role, String, Symbol
from vlad.python.procedure_docs import python_name

FLOAT = "float"
MOST_ALTERNATIVES = 4
DEPTH = 4  # nested structures; what is deeper is `…`
ORDER = (FLOAT, "bool", "str")  # of alternatives; None is the last, as in Python's own


class TypeWords(TypeText):
    """The texts of types as Python's values."""

    def of(self, type_: Type, is_part: bool = True) -> str:
        return self._text(type_, DEPTH, is_part)

    def together(self, several: Iterable[Type]) -> str:
        """One text for the types of a variable in several instances of its code."""
        types = dict.fromkeys([self.types.canonical(self.types.general(one)) for one in several])
        lists = [one for one in types if self._elements(one) is not None]
        if len(lists) > 1:  # as a loop sees the rest of a list of known length: they differ in that only
            elements = [element for one in lists for element in self._elements(one) or ()]
            texts = [self.of(one, is_part=False) for one in types if one not in lists and one.of is not ZERO]
            return alternatives([*texts, self._list(elements, DEPTH)])
        return alternatives([self.of(one, is_part=False) for one in types if one.of is not ZERO]) or FLOAT

    def _elements(self, type_: Type) -> list[Type] | None:
        """The types of the elements, each once, if it is the type of a list; of a list of known length in order."""
        found: list[Type] = []
        cells: list[Cell] = []
        work, ends = [self.types.canonical(type_)], False
        if self._head(work[0]) is not None:
            return None
        for one in work:  # grows during the loop
            if one.kind == "union":
                cell = cell_of(one.of)
                if cell not in cells:
                    cells.append(cell)
                    work += self._members(cell)
            elif one.kind == "pair":
                found.append(self.types.canonical(one.parts[0]))
                work.append(self.types.canonical(one.parts[1]))
            elif one.of == NIL:
                ends = True
            else:
                return None
        return found if ends else None

    def _list(self, elements: Iterable[Type], depth: int) -> str:
        texts = alternatives([self._text(one, depth - 1) for one in elements])
        return f"list[{texts}]" if texts else "list of 0"

    def _text(self, type_: Type, depth: int, is_part: bool = True) -> str:
        type_ = self.types.canonical(type_)
        match type_.kind:
            case "real" | "boolean" | "string":
                return {"real": FLOAT, "boolean": "bool", "string": "str"}[type_.kind]
            case "tensor":
                sizes = ", ".join(map(str, type_.of.shape))
                kind = "" if type_.of.kind == "float64" else f" of {dtype_name(type_.of.kind)}"
                return f"array[{sizes or '()'}]{kind}"
            case "constant":
                return _of_constant(type_)
        if depth == 0:
            return "…"
        if type_.kind == "union":
            return self._alternatives(type_, depth)
        if type_.kind == "pair":
            return self._sequence(type_, depth)
        if type_.of.role is Role.TAG:
            return self._text(type_.parts[0], depth)
        if type_.of.role is Role.RECORD:
            return self._own_record(type_, depth)
        return f"function {procedure_name(type_.of)}"

    def _head(self, type_: Type) -> Symbol | None:
        """The symbol that the type of a dict or a record begins with; None for others."""
        if type_.kind != "pair":
            return None
        first = self.types.canonical(type_.parts[0])
        is_head = (
            first.kind == "constant"
            and type(first.of) is Symbol
            and (first.of in (DICT, SET, FROZENSET) or first.of in RECORDS)
        )
        return first.of if is_head else None

    def _record(self, head: Symbol, type_: Type, depth: int) -> str:
        record, parts = RECORDS[head], []
        for own in record.fields:
            if type_.kind == "pair":
                parts.append(f"{own}: {self._text(type_.parts[0], depth - 1)}")
                type_ = self.types.canonical(type_.parts[1])
        return f"{record.kind.__name__}({', '.join(parts)})"

    def _own_record(self, type_: Type, depth: int) -> str:
        """A record of `define-record-type`."""
        names = type_.of.machine.core_of(type_.of).fields or ()
        parts = [
            f"{python_name(name)}: {self._text(part, depth - 1)}"
            for name, part in zip(names, type_.parts, strict=False)
        ]
        return f"{type_.of.name}({_counted(parts)})"

    def _dict(self, type_: Type, depth: int) -> str:
        """`{'w': float}`; `dict[str, float]` if only a call knows the keys."""
        pairs = [self.types.canonical(one) for one in self._elements(type_) or ()]
        if any(pair.kind != "pair" for pair in pairs):
            return "dict"
        keys = [self.types.canonical(pair.parts[0]) for pair in pairs]
        values = [self._text(pair.parts[1], depth - 1) for pair in pairs]
        if self._ends_in_union(type_) or any(key.kind != "constant" for key in keys):
            kinds = alternatives([self._key(key, depth) for key in keys])
            return f"dict[{kinds}, {alternatives(values)}]" if pairs else "dict"
        texts = [_constant_key(key) for key in keys]
        return "{" + _counted([f"{key}: {value}" for key, value in zip(texts, values, strict=True)]) + "}"

    def _set(self, head: Symbol, table: Type, depth: int) -> str:
        """`set[float]`: of the leaves of its trie, which may be unions of unions."""
        kind = "set" if head is SET else "frozenset"
        elements: list[str] = []
        work = [self.types.canonical(table.parts[0])] if table.parts else []
        for one in work:  # grows during the loop
            if one.kind == "union":
                parts: Iterable[Type] = self._members(cell_of(one.of))
            elif one.kind == "closure" and one.of.name == LEAF_CODE:
                elements.append(self._text(one.parts[2], depth - 1))
                parts = one.parts[3:]
            else:
                parts = one.parts if one.kind == "closure" else ()
            work += [part for each in parts if (part := self.types.canonical(each)) not in work]
        return f"{kind}[{alternatives(elements)}]" if elements else kind

    def _key(self, type_: Type, depth: int) -> str:
        return (
            "str" if type_.kind == "constant" and type(type_.of) is Symbol else self._text(type_, depth - 1)
        )

    def _sequence(self, type_: Type, depth: int) -> str:
        head = self._head(type_)
        if head is not None:
            rest = self.types.canonical(type_.parts[1])
            if head in RECORDS:
                return self._record(head, rest, depth)
            return self._dict(rest, depth) if head is DICT else self._set(head, rest, depth)
        elements = self._elements(type_)
        if elements is not None:
            text = self._list(elements, depth)
            return text if self._ends_in_union(type_) else f"{text} of {len(elements)}"
        parts: list[str] = []
        while type_.kind == "pair":
            parts.append(self._text(type_.parts[0], depth - 1))
            type_ = self.types.canonical(type_.parts[1])
        if type_.of is TUPLE:
            return f"tuple[{_counted(parts)}]"
        last = self._text(type_, depth - 1)
        for part in reversed(parts):
            last = f"tuple[{part}, {last}]"
        return last

    def _ends_in_union(self, type_: Type) -> bool:
        while type_.kind == "pair":
            type_ = self.types.canonical(type_.parts[1])
        return type_.kind == "union"

    def _members(self, cell: Cell) -> list[Type]:
        members = [self.types.canonical(member) for member in cell.members.values()]
        return [member for member in members if member.of is not ZERO] or members

    def _alternatives(self, type_: Type, depth: int) -> str:
        cell = cell_of(type_.of)
        if cell in self._open:
            return "…"
        self._open.append(cell)
        try:
            elements = self._elements(type_)
            if elements is not None:
                return self._list(elements, depth)
            return alternatives([self._text(member, depth) for member in self._members(cell)])
        finally:
            self._open.pop()


def alternatives(texts: Iterable[str]) -> str:
    """`float | None`: each text once."""

    def place(text: str) -> int:
        return ORDER.index(text) if text in ORDER else len(ORDER) + (text == "None")

    found = sorted(dict.fromkeys(texts), key=place)
    return " | ".join(found if len(found) <= MOST_ALTERNATIVES else [*found[:MOST_ALTERNATIVES], "…"])


def _counted(parts: list[str]) -> str:
    shown: list[str] = []
    for text, equal in groupby(parts):
        count = len(list(equal))
        shown += [f"{text} ×{count}"] if count > MOST_EQUAL else [text] * count
    return ", ".join([*shown[:MOST_PARTS], "…"] if len(shown) > MOST_PARTS else shown)


def _constant_key(type_: Type) -> str:
    value = type_.of
    if type(value) is Symbol:
        return repr(value.name)
    return repr(int(value)) if type(value) is float and value.is_integer() else _of_constant(type_)


def _of_constant(type_: Type) -> str:
    value = type_.of
    if type(value) is float or value is ZERO:
        return FLOAT
    if type(value) is Boolean:
        return "bool"
    if type(value) is String:
        return "str"
    if value is NONE or value is UNSPECIFIED:
        return "None"
    if value is TUPLE:
        return "tuple[()]"
    if value == NIL:
        return "list of 0"
    return value.name if type(value) is Symbol else "object"
