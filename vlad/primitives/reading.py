"""The row that reads data from a text, for `read` of the library's ports (stdlib/ports.vlad).

In: a text and a position.  Out: the datum that begins there, by the reader of programs, and the position behind it. What is read
is a value and no program: a vector or a tensor in it is one, a quotation the list (quote x).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vlad.data.errors import VladError
from vlad.data.source import Source
from vlad.data.tables import vector_of
from vlad.data.values import FALSE, NIL, Primitive, String, Value
from vlad.primitives.numbers import invalid
from vlad.primitives.tensors import tensor_of
from vlad.primitives.transforms import machine_row
from vlad.reader.parser import Form, Literal, Name, Syntax, TensorLiteral, first_datum, is_vector

if TYPE_CHECKING:
    from vlad.core.machines import Evaluator

_LIST, _DOTTED, _VECTOR, _TENSOR = range(4)  # what the last values become


def _read_datum(machine: Evaluator, text: Value, start: Value) -> Value:
    """(end . datum); (#f . ()) if there is none."""
    if type(text) is not String or type(start) is not float:
        raise invalid("read", "a text and a position", text, start)
    syntax, end = first_datum(Source("<text>", text.text), int(start))
    return (FALSE, NIL) if syntax is None else (float(end), _value_of(machine, syntax))


def _value_of(machine: Evaluator, syntax: Syntax) -> Value:
    """Nesting uses no stack."""
    results: list[Value] = []
    work: list[Any] = [syntax]  # syntax, or how many of the last results become what
    while work:
        item = work.pop()
        if type(item) is tuple:
            count, kind = item
            parts = results[len(results) - count :]
            del results[len(results) - count :]
            results.append(_made(machine, parts, kind))
        elif isinstance(item, Form) and is_vector(item):
            elements = item.items[1]
            assert isinstance(elements, Form)
            work += [(len(elements.items), _VECTOR), *reversed(elements.items)]
        elif isinstance(item, Form):
            inside = item.items if item.tail is None else (*item.items, item.tail)
            work += [(len(inside), _LIST if item.tail is None else _DOTTED), *reversed(inside)]
        elif isinstance(item, TensorLiteral):
            work += [(len(item.items), _TENSOR), *reversed(item.items)]
        elif isinstance(item, Name):
            results.append(item.symbol)
        elif isinstance(item, Literal):
            results.append(item.value)
        else:
            raise VladError(
                "invalid-syntax", f"A keyword is no datum: #:{item.name}", item.span,
                hint="it stands before an operand, in a program",
            )  # fmt: skip
    return results[0]


def _made(machine: Evaluator, parts: list[Value], kind: int) -> Value:
    if kind == _VECTOR:
        return vector_of(parts, machine.codes)
    value = parts.pop() if kind == _DOTTED else NIL
    for part in reversed(parts):
        value = (part, value)
    return tensor_of(value) if kind == _TENSOR else value


ROWS: list[Primitive] = [
    machine_row(
        "read-datum",
        "text start",
        "The datum in a text that begins at a position, behind the position of its end.",
        _read_datum,
        type="string real -> pair",
        forward="zero",
        reverse={},
        hidden=True,
        abstract=lambda w, text, start: w.left_out("`read` is"),
    ),
]
