"""Values → text for the prompt: laid out in lines, cut to a readable length, with a remark.

In: a value, and the available room.  Out: text that reads back unless it is cut (`…` marks omissions), and a
remark after `;`: shape and kind of a tensor; name, parameters and place of a procedure. The texts of single values are from
write.py; this module only decides where lines end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vlad.data.devices import name_of
from vlad.data.source import Span, in_library
from vlad.data.tables import elements
from vlad.data.tensors import Tensor, dtype_name, kind_name, on_host
from vlad.data.values import UNSPECIFIED, Role, Value, is_procedure, look
from vlad.data.write import Elements, entry_text, procedure_pieces, tensor_marks, written
from vlad.expand.arity import signature
from vlad.primitives.data import NO_PROCEDURES

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

NARROWEST = 20  # minimum number of columns


@dataclass
class Format:
    """How much of a value is shown: columns, levels of nesting, elements of one list, elements in all."""

    width: int = 80
    depth: int = 12
    length: int = 100
    total: int = 1000


def laid_out(value: Value, format: Format) -> str:
    """The text of a value. Never longer than the format allows, whatever the value."""
    return _Layout(format).text(value, 0, 0, 0)


class _Layout:
    def __init__(self, format: Format) -> None:
        self.format = format
        self.width = max(format.width, NARROWEST)
        self.left = format.total

    def text(self, value: Value, column: int, depth: int, behind: int) -> str:
        """A value that begins at a column; `behind` columns are needed after it."""
        room = max(self.width - column - behind, NARROWEST)
        self.left -= 1
        value = look(value)
        flat = written(value, room)
        if len(flat) <= room and not flat.endswith("…"):
            if not _shows_lambda(value):
                return flat
            if type(value) is not tuple or len(value) != 2:
                return anonymous(value, flat, room)
        if type(value) is Tensor:
            return self.tensor(value, column)
        if type(value) is tuple and len(value) == 2:
            return self.list_text(value, column, depth, behind)
        if type(value) is tuple and value:
            if has_parts(value):
                return self.structure(value, column, depth, behind)
            return anonymous(value, flat, room)
        return cut(written(value, self.format.total * 10), self.format.total * 10)

    def list_text(self, value: Value, column: int, depth: int, behind: int) -> str:
        """Elements one per line, or, if they are short, as many on a line as fit."""
        if depth >= self.format.depth or self.left <= 0:
            return "(…)"
        parts: list[str] = []
        while type(value) is tuple and len(value) == 2 and len(parts) < self.format.length and self.left > 0:
            parts.append(self.text(value[0], column + 1, depth + 1, behind + 1))
            value = look(value[1])
        if type(value) is tuple and len(value) == 2:
            parts.append("…")
        elif value != ():
            parts.append(". " + self.text(value, column + 3, depth + 1, behind + 1))
        return "(" + self.filled(parts, column + 1, behind + 1) + ")"

    def structure(self, value: Value, column: int, depth: int, behind: int) -> str:
        """A record or a vector: its parts, as those of a list."""
        is_vector = value[0].role is Role.VECTOR
        opening, closing = ("#(", ")") if is_vector else (f"#<{value[0].name} ", ">")
        if depth >= self.format.depth or self.left <= 0:
            return f"{opening}…{closing}"
        texts: list[str] = []
        inner = column + len(opening)
        for name, part in named_parts(value):
            if len(texts) >= self.format.length or self.left <= 0:
                texts.append("…")
                break
            texts.append(name + self.text(part, inner + len(name), depth + 1, behind + 1))
        return opening + self.filled(texts, inner, behind + 1) + closing

    def filled(self, parts: list[str], column: int, behind: int) -> str:
        margin = "\n" + " " * column
        lines: list[str] = []
        for part in parts:
            joined = f"{lines[-1]} {part}" if lines else ""
            if lines and "\n" not in joined and column + len(joined) + behind <= self.width:
                lines[-1] = joined
            else:
                lines.append(part)
        return margin.join(lines)

    def tensor(self, value: Tensor, column: int) -> str:
        before, after = tensor_marks(dtype_name(kind_name(value.like.dtype)))
        return before + self.entries(on_host(value.array), column + len(before), len(after)) + after

    def entries(self, array: Any, column: int, behind: int) -> str:
        """An array, or a part of one: one row per line, cut in the middle if it is too long."""
        if array.ndim <= 1:
            return self.row(array, column, behind)
        ends = [array[:3], array[-3:]] if array.shape[0] > 12 else [array]
        blocks = [[self.entries(entry, column + 1, behind + 1) for entry in end] for end in ends]
        margin = "\n" + " " * (column + 1)
        return "[" + f"{margin}…{margin}".join([margin.join(block) for block in blocks]) + "]"

    def row(self, array: Any, column: int, behind: int) -> str:
        room = max(self.width - column - behind, NARROWEST)
        if array.shape[0] <= room // 2:
            whole = " ".join(map(entry_text, array))
            if len(whole) + 2 <= room:
                return f"[{whole}]"
        for count in (8, 5, 3, 2):
            ends = [" ".join(map(entry_text, end)) for end in (array[:count], array[-count:])]
            if array.shape[0] > 2 * count and len(ends[0]) + len(ends[1]) + 5 <= room:
                return f"[{ends[0]} … {ends[1]}]"
        few = list(map(entry_text, array[:12]))
        return "[" + self.filled([*few, "…"] if array.shape[0] > 12 else few, column + 1, behind + 1) + "]"


def has_parts(value: Value) -> bool:
    """Is it a record or a vector?"""
    return is_procedure(value) and value[0].role in (Role.RECORD, Role.VECTOR)


def parts_of(value: Value) -> list[Value]:
    """The fields of a record, or the elements of a vector."""
    return [part for _, part in named_parts(value)]


def named_parts(record: Value) -> list[tuple[str, Value]]:
    """The same, each with the name that is shown of it."""
    if record[0].role is Role.VECTOR:
        return [("", element) for element in elements(record)]
    found: list[tuple[str, Value]] = []
    name = ""
    for piece in procedure_pieces(record[0])[1:-1]:
        if isinstance(piece, str):
            name = piece.lstrip()
            continue
        part = look(record[piece])
        while type(piece) is Elements and type(part) is tuple and len(part) == 2:
            found.append(("", part[0]))
            part = look(part[1])
        if type(piece) is not Elements or part != ():
            found.append((name, part))
        name = ""
    return found


def cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1].rstrip("…") + "…"


def _shows_lambda(value: Value) -> bool:
    """Is a procedure without a name in the text of a value, which is short?"""
    work = [value]
    while work:
        part = look(work.pop())
        if type(part) is tuple and len(part) == 2:
            work += part
        elif is_procedure(part):
            code = part[0]
            if not (code.name or code.is_derived):
                return True
            work += [part[piece] for piece in procedure_pieces(code) if isinstance(piece, int)]
    return False


def anonymous(value: Value, text: str, room: int) -> str:
    """A procedure without a name: its text, if that is a short lambda and not the library's, whose names mean
    nothing to the reader. Other values have their usual text.
    """
    if not is_procedure(value) or value[0].is_derived or value[0].name:
        return cut(text, room)
    span = value[0].machine.core_of(value[0]).span
    source = "" if span is None or in_library(span) else " ".join(span.text.split())
    if source.startswith("(lambda ") and len(source) <= room:
        return source
    return f"#<procedure {signature(value[0].machine, value[0]).text}>"


def remark(value: Value, machine: Machine) -> str:
    """Facts that the text of a value does not show; '' if there are none."""
    value = look(value)
    if type(value) is Tensor:
        where = name_of(value.array)
        shape = "×".join(map(str, value.shape))
        kind = dtype_name(kind_name(value.like.dtype))
        return f"tensor of {shape} {kind}" + ("" if where == "cpu" else f" on {where}")
    if is_procedure(value) and value[0].role not in NO_PROCEDURES:
        return described(value, machine)
    return ""


def described(value: Value, machine: Machine) -> str:
    """A description of a procedure: `procedure (square x), <input 1>:1`, `reverse of square`, …"""
    code = value[0]
    if code.role is Role.TAG:
        held = look(value[1])
        inner = described(held, machine) if is_procedure(held) else written(held, 60)
        return f"{code.name} of {inner}"
    if code.role is Role.BACKPROPAGATOR:
        return "takes the sensitivity of the result; gives those of procedure and argument"
    if code.transforms:
        return f"{code.derivation}{code.name or 'a procedure'}"
    if code.primitive is not None:
        return f"primitive {signature(machine, code).text}"
    place = place_of(value, machine)
    return f"procedure {signature(machine, code).text}" + (f", {place}" if place else "")


def place_of(value: Value, machine: Machine) -> str:
    """File and line of a procedure; '' if it has no place."""
    span: Span | None = machine.core_of(value[0].base).span
    return "" if span is None else f"{span.source.name}:{span.line}"


def shown(value: Value, machine: Machine, format: Format) -> tuple[str, str]:
    """Text and remark of a top-level value; two empty texts for a value that is not shown."""
    if value is UNSPECIFIED:
        return "", ""
    return laid_out(value, format), remark(value, machine)
