"""The rows of errors, input and output; and procedures of the basis that are written in the language."""

from __future__ import annotations

from typing import Any

from vlad.errors import VladError
from vlad.primitives.numbers import invalid
from vlad.values import NIL, UNSPECIFIED, Primitive, String, Value, look
from vlad.write import displayed, real_text, written


def _error(message: Value) -> Value:
    """(error MESSAGE IRRITANT ...): by the tuple rule one argument, (message . (irritant . …))."""
    words = []
    seen = look(message)
    while type(seen) is tuple and len(seen) == 2:
        words.append(displayed(seen[0]) if type(seen[0]) is String else written(seen[0], 1000))
        seen = look(seen[1])
    words.append(displayed(seen) if type(seen) is String else written(seen, 1000))
    raise VladError("user-error", " ".join(words))


def _write(machine: Any, x: Value) -> Value:
    machine.write(written(x))
    return UNSPECIFIED


def _display(machine: Any, x: Value) -> Value:
    machine.write(displayed(x))
    return UNSPECIFIED


def _newline(machine: Any, nothing: Value) -> Value:
    if nothing != NIL:
        raise VladError("not-equivalent", "Argument is not an equivalent value for ()", irritants=(nothing,))
    machine.write("\n")
    return UNSPECIFIED


def _write_real(machine: Any, x: Value) -> Value:
    if type(x) is not float:
        raise invalid("write-real", "a real", x)
    machine.write(real_text(x) + "\n")
    return x


def _read_real(machine: Any, nothing: Value) -> Value:
    if nothing != NIL:
        raise VladError("not-equivalent", "Argument is not an equivalent value for ()", irritants=(nothing,))
    word = machine.read_word()
    try:
        return float(word)
    except ValueError:
        found = f"this is `{word}`" if word else "the input has ended"
        raise VladError("not-real", "Value read is not real", hint=f"read-real takes a number; {found}") from None


def _arguments(machine: Any, nothing: Value) -> Value:
    result: Value = NIL
    for word in reversed(machine.arguments):
        result = (String(word), result)
    return result


def _effect(name: str, operands: str, doc: str, value: Any, type: str) -> Primitive:
    return Primitive(
        name, operands, doc, value=value, type=type, forward="zero", reverse={}, effect=True, needs_machine=True
    )


ROWS: list[Primitive] = [
    Primitive(
        "error", "message", "Ends the program with a message and the values behind it.", value=_error,
        type="some -> any", forward="zero", reverse={}, effect=True,
    ),
    _effect("write", "x", "Prints x so that it could be read again.", _write, "any -> unspecified"),
    _effect("display", "x", "Prints x, strings without quotes.", _display, "any -> unspecified"),
    _effect("newline", "nothing", "Ends the line.", _newline, "null -> unspecified"),
    Primitive(
        "write-real", "x", "Prints a real on a line of its own and answers it.", value=_write_real,
        type="real -> real", partials={"x": "1"}, effect=True, needs_machine=True,
    ),
    _effect("read-real", "nothing", "The next number of the input.", _read_real, "null -> real"),
    _effect("command-line-arguments", "nothing", "The words behind the script's name.", _arguments, "null -> any"),
]  # fmt: skip

PROCEDURES: dict[str, str] = {
    "if-procedure": "(lambda (c t e) (if c (t (quote ())) (e (quote ()))))",
}
