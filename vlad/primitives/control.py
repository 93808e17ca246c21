"""The rows of errors, input and output; and procedures of the basis that are written in the language."""

from __future__ import annotations

from typing import Any

from vlad.errors import VladError
from vlad.primitives.numbers import invalid
from vlad.reader.parser import number
from vlad.values import NIL, UNSPECIFIED, Primitive, String, Value, is_pair, look
from vlad.write import displayed, real_text, written


def _error(message: Value) -> Value:
    """(error MESSAGE IRRITANT ...): by the tuple rule one argument, (message . (irritant . …))."""
    seen = look(message)
    words = []
    if is_pair(seen):
        words.append(_word(seen[0]))
        seen = look(seen[1])
        while is_pair(seen) and not _is_list(
            seen
        ):  # a list is one irritant, a chain that ends otherwise several
            words.append(_word(seen[0]))
            seen = look(seen[1])
    words.append(_word(seen))
    raise VladError("user-error", " ".join(words))


def _word(value: Value) -> str:
    return displayed(value) if type(value) is String else written(value, 1000)


def _is_list(value: Value) -> bool:
    value = look(value)
    while is_pair(value):
        value = look(value[1])
    return bool(value == NIL)


def _write(machine: Any, x: Value) -> Value:
    machine.write(written(x) + "\n")
    return x


def _display(machine: Any, x: Value) -> Value:
    machine.write(displayed(x))
    return UNSPECIFIED


def _write_string(machine: Any, x: Value) -> Value:
    if type(x) is not String:
        raise invalid("write-string", "a string", x)
    machine.write(x.text)
    return UNSPECIFIED


def _expect_nothing(name: str, argument: Value) -> None:
    if look(argument) != NIL:
        raise VladError(
            "not-equivalent",
            "Argument is not an equivalent value for ()",
            hint=f"{name} takes no argument",
            irritants=(argument,),
        )


def _newline(machine: Any, nothing: Value) -> Value:
    _expect_nothing("newline", nothing)
    machine.write("\n")
    return UNSPECIFIED


def _write_real(machine: Any, x: Value) -> Value:
    if type(x) is not float:
        raise invalid("write-real", "a real", x)
    machine.write(real_text(x) + "\n")
    return x


def _read_real(machine: Any, nothing: Value) -> Value:
    _expect_nothing("read-real", nothing)
    word = machine.read_word()
    real = number(word) if word else None
    if real is None:
        found = f"this is `{word}`" if word else "the input has ended"
        raise VladError("not-real", "Value read is not real", hint=f"read-real takes a number; {found}")
    return real


def _arguments(machine: Any, nothing: Value) -> Value:
    _expect_nothing("command-line-arguments", nothing)
    result: Value = NIL
    for word in reversed(machine.arguments):
        result = (String(word), result)
    return result


def _effect(name: str, operands: str, doc: str, value: Any, type: str) -> Primitive:
    return Primitive(
        name,
        operands,
        doc,
        value=value,
        type=type,
        forward="zero",
        reverse={},
        effect=True,
        needs_machine=True,
    )


ROWS: list[Primitive] = [
    Primitive(
        "error", "message", "Ends the program with a message and the values behind it.", value=_error,
        type="some -> any", forward="zero", reverse={}, effect=True, abstract=lambda w, message: w.fail("error"),
    ),
    Primitive(
        "write", "x", "Prints x, as it could be read again, on a line of its own and answers it.", value=_write,
        type="any -> any", forward="dx", reverse={"x": "s"}, effect=True, needs_machine=True,
    ),
    _effect("write-string", "x", "Prints the text of a string.", _write_string, "string -> unspecified"),
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
