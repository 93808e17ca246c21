"""Values → text, as `write`, `display` and the prompt show them.

Called by errors, the session and the rows of output. Depends on values only; a code provides its own text. Iterative, so
long lists and deep nests use no stack; with a limit, time is bounded by the limit whatever the value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vlad.data.records import DICT, HEADS_OF_SETS, NONE, TUPLE
from vlad.data.tables import KEY, VALUE, Table, elements
from vlad.data.tensors import SORT, Tensor, dtype_name, kind_name, on_host
from vlad.data.values import (
    ZERO,
    Code,
    Deferred,
    Reference,
    RestField,
    Role,
    String,
    Symbol,
    Value,
    is_pair,
    look,
)

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\a": "\\a", "\b": "\\b"}
_BAR_ESCAPES = {"|": "\\|", **{character: text for character, text in _ESCAPES.items() if character != '"'}}
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!$%&*/:<=>?^_~+-.@")


def written(value: Value, limit: int | None = None) -> str:
    """The text of a value, as `write` shows it; at most about `limit` characters, then `…`."""
    return _text(value, limit, True)


def written_in_message(value: Value, limit: int | None = None) -> str:
    """The same, but structures of Python functions as Python has them."""
    return _text(value, limit, True, _start_of_python)


def displayed(value: Value, limit: int | None = None) -> str:
    """The text of a value, as `display` shows it: strings without quotes; at most about `limit` characters."""
    return _text(value, limit, False)


def real_text(value: float) -> str:
    """The shortest decimal that reads back the same; whole numbers without a point."""
    if value != value:
        return "+nan.0"
    if value in (float("inf"), float("-inf")):
        return "+inf.0" if value > 0 else "-inf.0"
    text = repr(value)
    if text.endswith(".0"):
        return text[:-2]
    mantissa, exponent, power = text.partition("e")
    return f"{mantissa}e{int(power)}" if exponent else text


def string_text(text: str) -> str:
    return f'"{_escaped(text, _ESCAPES)}"'


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    out = []
    for character in text:
        if character in escapes:
            out.append(escapes[character])
        elif character.isprintable():
            out.append(character)
        else:
            out.append(f"\\x{ord(character):x};")
    return "".join(out)


def symbol_text(name: str) -> str:
    """A symbol's name, in bars if it would be read as something else."""
    if name and name != "." and all(c in _PLAIN or (ord(c) > 127 and c.isalnum()) for c in name):
        first = name[1:2] if name[0] in "+-." else name[0]
        number = first.isdigit() or (name[0] in "+-" and first == "." and name[2:3].isdigit())
        if not number and name.lower() not in ("+inf.0", "-inf.0", "+nan.0", "-nan.0"):
            return name
    return f"|{_escaped(name, _BAR_ESCAPES)}|"


class _Rest:
    """The rest of a list, inside its parentheses, still to be written."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


class _Elements:
    """The elements of a tuple, a space before each, still to be written."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


class _Entries:
    """An array, or a part of one, still to be written."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


def _text(
    value: Value,
    limit: int | None,
    quoting: bool,
    start_otherwise: Callable[[Value, list[object]], str | None] | None = None,
) -> str:
    out: list[str] = []
    length = 0
    work: list[object] = [value]
    while work:
        item = work.pop()
        if type(item) is _Rest:
            text = _rest(item.value, work)
        elif type(item) is _Elements:
            text = _elements(item.value, work)
        elif type(item) is _Entries:
            text = _entries(item.array, work)
        elif type(item) is str:
            text = item
        else:
            other = None if start_otherwise is None else start_otherwise(item, work)
            text = _start(item, work, quoting) if other is None else other
        is_long = limit is not None and len(text) > limit  # a procedure, a string, or a row of a tensor
        out.append(text[:limit] if is_long else text)
        length += len(text)
        if is_long or (limit is not None and length > limit and work):
            out.append("…")
            break
    return "".join(out)


def structure_of_python(value: Value) -> str | None:
    """What a value is in a translated Python function, if it has a form of its own there. Of long ones the beginning decides."""
    value = look(value)
    if value is NONE:
        return "None"
    if not is_pair(value):
        return "a tuple" if value is TUPLE else None
    head = look(value[0])
    if head in HEADS_OF_SETS:
        return "a set" if type(look(value[1])) is Table else None
    elements, end = _beginning(value)
    if head is DICT:
        return "a dict" if all(map(is_pair, elements[1:])) and (end == () or is_pair(end)) else None
    return "a tuple" if end is TUPLE else None


def _beginning(value: Value) -> tuple[list[Value], Value]:
    """The first elements of a chain of pairs, and what follows them."""
    elements: list[Value] = []
    while is_pair(value) and len(elements) < LONGEST_AXIS:
        elements.append(value[0])
        value = look(value[1])
    return elements, value


def _start_of_python(value: Value, work: list[object]) -> str | None:
    """The beginning of what a value is in a Python function, if it has a form of its own there."""
    kind = structure_of_python(value)
    if kind is None or kind == "None":
        return kind
    value = look(value)
    if kind == "a set":
        pieces = [[leaf[KEY]] for leaf in look(value[1]).leaves()]
    else:
        elements, end = _beginning(value)
        pieces = [[one] for one in elements]
        if kind == "a dict":
            entries = map(look, elements[1:])
            pieces = [[_key(look(key)), ": ", content] for key, content in entries]
        pieces += [["…"]] if is_pair(end) else []
    opening, closing = ("(", ",)" if len(pieces) == 1 else ")") if kind == "a tuple" else ("{", "}")
    work.append(closing)
    work += reversed([part for piece in pieces for part in (", ", *piece)][1:])
    return opening


def _key(key: Value) -> Value | str:
    """A key of a dict: a text stands there as a symbol."""
    return string_text(key.name) if isinstance(key, Symbol) and key is not NONE else key


def _rest(value: Value, work: list[object]) -> str:
    """Continue inside a list: the next element, the dotted end, or the parenthesis."""
    value = look(value)
    if type(value) is tuple and len(value) == 2:
        work.append(_Rest(value[1]))
        work.append(value[0])
        return " "
    if type(value) is tuple and not value:
        return ")"
    work.append(")")
    work.append(value)
    return " . "


def _elements(value: Value, work: list[object]) -> str:
    """Continue with the next element of a tuple; without any it is ()."""
    value = look(value)
    if type(value) is tuple and not value:
        return ""
    if type(value) is tuple and len(value) == 2:
        work.append(_Elements(value[1]))
        value = value[0]
    work.append(value)
    return " "


def _start(value: Value, work: list[object], quoting: bool) -> str:
    """The text with which a value begins; the rest is pushed on `work`."""
    if type(value) is float:
        return real_text(value)
    if type(value) is Deferred:
        value = value.force()
    if type(value) is tuple:
        if len(value) == 2:
            work.append(_Rest(value[1]))
            work.append(value[0])
            return "("
        if value and value[0].role is Role.VECTOR:
            return _vector(value, work)
        return _procedure(value, work) if value else "()"
    if value is ZERO:
        return "0"
    if type(value) is Tensor:
        return _tensor(value, work)
    if type(value) is Reference:
        # the content of a cell within a cell is not shown: it may be the outer one
        work += [">", "…" if _has_cell(value.content) else value.content]
        return "#<ref "
    if type(value) is Table:
        return _table(value, work)
    if isinstance(value, String):
        return string_text(value.text) if quoting else value.text
    if isinstance(value, Symbol):
        return symbol_text(value.name) if quoting else value.name
    return repr(value)


def tensor_marks(kind: str) -> tuple[str, str]:
    """The texts before and after the entries of a tensor of this kind."""
    return ("#", "") if kind == "float64" else (f"#<tensor {kind} ", ">")


MOST_SEARCHED = 1000


def _has_cell(value: Value) -> bool:
    """Whether a value has a cell among its first parts, in which it may occur itself."""
    work = [value]
    for _ in range(MOST_SEARCHED):
        if not work:
            return False
        part = look(work.pop())
        if type(part) is Reference:
            return True
        if type(part) is tuple:
            work += reversed(part if len(part) == 2 else part[1:])
        elif type(part) is Table:
            work += reversed(part.values())
    return True


LONGEST_AXIS = 1000


def _tensor(value: Tensor, work: list[object]) -> str:
    """A tensor as its literal; the kind is shown unless it is float64. Long axes are cut in the middle."""
    before, after = tensor_marks(dtype_name(kind_name(value.like.dtype)))
    if after:
        work.append(after)
    work.append(_Entries(on_host(value.array)))
    return before


def _entries(array: Any, work: list[object]) -> str:
    cut = array.shape[0] > LONGEST_AXIS
    ends = [array[:3], array[-3:]] if cut else [array]
    if array.ndim == 1:
        return f"[{' … '.join([' '.join(map(entry_text, end)) for end in ends])}]"
    parts: list[object] = []
    for entry in (entry for end in ends for entry in end):
        parts += [" ", _Entries(entry)]
    if cut:
        parts[6:6] = [" ", "…"]
    work.append("]")
    work += reversed(parts[1:])
    return "["


def entry_text(number: Any) -> str:
    """The text of one entry of a tensor."""
    return ("#t" if bool(number) else "#f") if SORT[number.dtype] == "b" else real_text(float(number))


def _table(value: Table, work: list[object]) -> str:
    pieces: list[object] = []
    for leaf in value.leaves():
        pieces += [" ", leaf[KEY], ": ", leaf[VALUE]]
    work.append(">")
    work += reversed(pieces)
    return "#<table"


def _vector(value: tuple[Value, ...], work: list[object]) -> str:
    pieces: list[object] = []
    for element in elements(value):
        pieces += [" ", element]
    work.append(")")
    work += reversed(pieces[1:])
    return "#("


def _procedure(value: tuple[Value, ...], work: list[object]) -> str:
    first, *others = procedure_pieces(value[0])
    assert type(first) is str
    for piece in reversed(others):
        if isinstance(piece, str):
            work.append(piece)
        else:
            work.append(_Elements(value[piece]) if type(piece) is Elements else value[piece])
    return first


class Elements(int):
    """The index of a value of an environment that is a tuple, whose elements are shown, a space before each."""

    __slots__ = ()


def procedure_pieces(code: Code) -> list[str | int]:
    """The text of a procedure of this code: texts, and between them the indices of the environment's values that are shown."""
    if code.role is Role.TAG:
        is_forward = len(code.environment) == 2  # it holds a primal and a perturbation
        more: list[str | int] = [" (perturbation ", 2, ")"] if is_forward else []
        return [f"({code.name} ", 1, *more, ")"]
    if code.role is Role.RECORD:
        pieces: list[str | int] = [f"#<{code.name}"]
        for index, field in enumerate(code.machine.core_of(code).fields):
            pieces += [Elements(index + 1)] if type(field) is RestField else [f" {field}: ", index + 1]
        return [*pieces, ">"]
    if code.role is Role.BACKPROPAGATOR:
        return ["#<backpropagator of ", 1, ">"]
    if code.derivation:
        return [f"#<{code.derivation}{code.name or 'a procedure'}>"]
    return [code.name or " ".join(str(code.machine.core_of(code)).split())]


def atom_text(value: Value, quoting: bool) -> str:
    """The text of a value without parts, as `write` (quoting) or `display` shows it."""
    return _start(value, [], quoting)
