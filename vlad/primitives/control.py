"""The rows of errors, input and output; and procedures of the basis that are written in the language."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vlad.control.safe_import import import_safely
from vlad.core.extents import Extent
from vlad.core.types import Recursion, is_real, is_table, is_tensor
from vlad.data.errors import INPUT_ENDED, INPUT_NOT_REAL, Kind, VladError
from vlad.data.tables import LEAF_CODE
from vlad.data.tensors import dtype_name
from vlad.data.values import NIL, UNSPECIFIED, VECTOR_CODE, Primitive, String, Value, is_pair, list_of, look
from vlad.data.write import (
    Elements,
    atom_text,
    displayed,
    procedure_pieces,
    real_text,
    structure_of_python,
    tensor_marks,
    written,
    written_in_message,
)
from vlad.expand.arity import Signature, arguments_in, wrong_number
from vlad.primitives.data import constant_row, not_expected
from vlad.primitives.numbers import invalid
from vlad.primitives.ropes import text_of_list
from vlad.primitives.walking import choose, cons, scalar
from vlad.reader.parser import number

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine, Evaluator


def _error(message: Value) -> Value:
    """(error MESSAGE IRRITANT ...): by the tuple rule one argument, (message . (irritant . …))."""
    seen = look(message)
    parts = []
    if is_pair(seen):
        parts.append(seen[0])
        seen = look(seen[1])
        # a list is one irritant, and so is a tuple of Python; an improper chain are several
        while is_pair(seen) and not _is_list(seen) and structure_of_python(seen) is None:
            parts.append(seen[0])
            seen = look(seen[1])
    parts.append(seen)
    error = VladError(
        "user-error",
        " ".join([_message_text(parts[0]), *[written_in_message(part, 1000) for part in parts[1:]]]),
    )
    error.told = (parts[0], list_of(parts[1:]))
    raise error


def _python_refuse(kind: Value, message: Value) -> Value:
    raise import_safely("vlad.data.raised").refusal(kind.text, message.text)


def _abstract_python_refuse(w: AbstractMachine, kind: Any, message: Any) -> Any:
    return abstract_error(w, message, passes_guards=True)


def _message_text(value: Value) -> str:
    """The text of a message. Of the values behind it, strings have quotes, as `write` prints them."""
    return displayed(value) if type(value) is String else written(value, 1000)


def _is_list(value: Value) -> bool:
    value = look(value)
    while is_pair(value):
        value = look(value[1])
    return bool(value == NIL)


def _write(machine: Evaluator, x: Value) -> Value:
    machine.write(written(x, machine.watch.room()) + "\n")
    return x


def _display(machine: Evaluator, x: Value) -> Value:
    machine.write(displayed(x, machine.watch.room()))
    return UNSPECIFIED


def _write_string(machine: Evaluator, x: Value) -> Value:
    if type(x) is not String:
        raise invalid("write-string", "a string", x)
    machine.write(x.text)
    return UNSPECIFIED


def expect_nothing(name: str, argument: Value) -> None:
    if look(argument) != NIL:
        failed = VladError("not-equivalent", not_expected(NIL))
        raise wrong_number(Signature(name, f"({name})", (), False), arguments_in(argument), failed)


def _newline(machine: Evaluator, nothing: Value) -> Value:
    expect_nothing("newline", nothing)
    machine.write("\n")
    return UNSPECIFIED


def _write_real(machine: Evaluator, x: Value) -> Value:
    if type(x) is not float:
        raise invalid("write-real", "a real", x, of=(Kind.REAL,))
    machine.write(real_text(x) + "\n")
    return x


def _read_real(machine: Evaluator, nothing: Value) -> Value:
    expect_nothing("read-real", nothing)
    return read_real(machine)


def read_real(machine: Evaluator) -> float:
    """The next number of the machine's input. Raises VladError if there is none."""
    word = machine.read_word()
    if not word:
        raise VladError("not-real", INPUT_ENDED, hint="read-real takes a number")
    real = number(word)
    if real is None:
        raise VladError("not-real", INPUT_NOT_REAL, hint=f"read-real takes a number; this is `{word}`")
    return real


def _arguments(machine: Evaluator, nothing: Value) -> Value:
    expect_nothing("command-line-arguments", nothing)
    return machine.arguments


def _abstract_arguments(w: AbstractMachine) -> Any:
    """The session's arguments, which are part of a call's key; in standalone code, the process's."""
    if not w.is_standalone:
        return w.value(_arguments(w.machine, NIL))
    return w.invoke(WORDS, (), [w.unknown_real(w.constant(0.0))], False)


def _words(w: AbstractMachine, i: Any) -> Any:
    key = w.key
    none = scalar(w, "<", scalar(w, "argument-character", i, w.constant(0.0)), w.constant(-1.0))

    def more() -> Any:
        characters = w.invoke(LETTERS, (), [i, w.unknown_real(w.constant(0.0))], False)
        following = w.invoke(WORDS, (), [scalar(w, "+", i, w.constant(1.0))], False)
        word = text_of_list(w, characters)
        return word and following and w.pair(word, following)

    return choose(w, (key, "end"), none, lambda: w.constant(NIL), more)


def _letters(w: AbstractMachine, i: Any, j: Any) -> Any:
    key = w.key
    character = scalar(w, "argument-character", i, j)

    def more() -> Any:
        return cons(w, character, w.invoke(LETTERS, (), [i, scalar(w, "+", j, w.constant(1.0))], False))

    test = scalar(w, "<", character, w.constant(0.0))
    return choose(w, (key, "end"), test, lambda: w.no_characters, more)


WORDS = Recursion("command-line-arguments", _words)
LETTERS = Recursion("command-line-argument", _letters)


# Output of values of known types: compiled code writes the parts of a structure one after the other.


def _in_order(w: AbstractMachine, pieces: list[Any]) -> Any:
    done = None
    for piece in pieces:
        if type(piece) is str:
            done = w.effect("text", text=piece)
        else:
            recursion, part = piece
            done = w.recursive(recursion, part)
        if done is None:
            return None
    return done


def _shows_entries(whole: Recursion) -> Recursion:
    """The operation for the leaves of a table."""

    def show(w: AbstractMachine, leaves: Any) -> Any:
        return w.each(leaves, lambda leaves: one(w, leaves))

    def one(w: AbstractMachine, leaves: Any) -> Any:
        if leaves.type.kind != "pair":
            return w.unspecified
        return _in_order(w, [(entry, w.part(leaves, 0)), (entries, w.part(leaves, 1))])

    def show_entry(w: AbstractMachine, leaf: Any) -> Any:
        return w.each(leaf, lambda leaf: one_entry(w, leaf))

    def one_entry(w: AbstractMachine, leaf: Any) -> Any:
        if leaf.type.of is not w.system(LEAF_CODE):
            return w.fail("No leaf")  # which never happens
        key, _, value, _ = w.parts(leaf)
        return _in_order(w, [" ", (whole, key), ": ", (whole, value)])

    entries = Recursion("show-table", show)
    entry = Recursion("show-entry", show_entry)
    return entries


def element_of(w: AbstractMachine, leaf: Any) -> Any:
    """The value that a leaf holds."""
    return w.each(
        leaf,
        lambda leaf: w.parts(leaf)[2] if leaf.type.of is w.system(LEAF_CODE) else w.fail("No leaf"),
        "leaf",
    )


def _shows_elements(whole: Recursion) -> Recursion:
    """The operation for the leaves of a vector, in the order of the positions, behind the first one."""

    def show(w: AbstractMachine, leaves: Any) -> Any:
        return w.each(leaves, lambda leaves: one(w, leaves))

    def one(w: AbstractMachine, leaves: Any) -> Any:
        if leaves.type.kind != "pair":
            return w.effect("text", text=")")
        return _in_order(w, [" ", (whole, element_of(w, w.part(leaves, 0))), (elements, w.part(leaves, 1))])

    elements = Recursion("show-elements", show)
    return elements


def _shows_tuple(whole: Recursion) -> Recursion:
    """The operation for a tuple's elements, a space before each."""

    def show(w: AbstractMachine, x: Any) -> Any:
        return w.each(x, lambda x: one(w, x))

    def one(w: AbstractMachine, x: Any) -> Any:
        if x.type.kind == "pair":
            return _in_order(w, [" ", (whole, w.part(x, 0)), (in_tuple, w.part(x, 1))])
        if x.type.of == ():
            return w.unspecified
        return _in_order(w, [" ", (whole, x)])

    in_tuple = Recursion("show-tuple", show)
    return in_tuple


def _shows(quoting: bool) -> tuple[Recursion, ...]:
    """The operation for a whole value, and those for its parts."""

    def show(w: AbstractMachine, x: Any) -> Any:
        return w.each(x, lambda x: one(w, x))

    def one(w: AbstractMachine, x: Any) -> Any:
        if x.type.kind in ("real", "boolean"):
            return w.effect(x.type.kind, [x])
        if type(x.type.of) is Extent:
            return w.effect("real", [x])
        if x.type.kind == "string":
            rope = w.rope(x)
            return _in_order(w, ['"', (letters, rope), '"'] if quoting else [(letters, rope)])
        if x.type.kind == "pair":
            return _in_order(w, ["(", (whole, w.part(x, 0)), (rest, w.part(x, 1))])
        if is_table(x.type):
            leaves = w.invoke(w.system("leaves-of"), (), [x], False)
            return leaves and _in_order(w, ["#<table", (entries, leaves), ">"])
        if x.type.of is w.system(VECTOR_CODE):
            leaves = w.invoke(w.system("leaves-of"), (), [w.part(x, 0)], False)
            return leaves and w.each(leaves, lambda leaves: first_of(w, leaves), "leaves")
        if x.type.kind == "closure":
            pieces = procedure_pieces(x.type.of)
            return _in_order(
                w,
                [
                    piece
                    if isinstance(piece, str)
                    else (in_tuple if type(piece) is Elements else whole, w.part(x, piece - 1))
                    for piece in pieces
                ],
            )
        if is_tensor(x.type):
            before, after = tensor_marks(dtype_name(x.type.of.kind))
            return (
                w.effect("text", text=before)
                and w.effect("tensor", [x], x.type.of.kind, shape=x.type.of.shape)
                and w.effect("text", text=after)
            )
        return w.effect("text", text=atom_text(x.type.of, quoting))

    def first_of(w: AbstractMachine, leaves: Any) -> Any:
        if leaves.type.kind != "pair":
            return w.effect("text", text="#()")
        return _in_order(w, ["#(", (whole, element_of(w, w.part(leaves, 0))), (elements, w.part(leaves, 1))])

    def spell_letters(w: AbstractMachine, rope: Any) -> Any:
        return w.each(rope, lambda x: spell_one(w, x))

    def spell_one(w: AbstractMachine, x: Any) -> Any:
        if is_real(x.type):
            return w.effect("quoted" if quoting else "character", [x])
        if x.type.kind != "pair":
            return w.unspecified
        sides = w.part(x, 1)
        return _in_order(w, [(letters, w.part(sides, 0)), (letters, w.part(sides, 1))])

    def show_rest(w: AbstractMachine, x: Any) -> Any:
        return w.each(x, lambda x: one_rest(w, x))

    def one_rest(w: AbstractMachine, x: Any) -> Any:
        if x.type.kind == "pair":
            return _in_order(w, [" ", (whole, w.part(x, 0)), (rest, w.part(x, 1))])
        if x.type.of == ():
            return w.effect("text", text=")")
        return _in_order(w, [" . ", (whole, x), ")"])

    whole = Recursion("show", show)
    in_tuple = _shows_tuple(whole)
    rest = Recursion("show-rest", show_rest)
    letters = Recursion("show-characters", spell_letters)
    entries = _shows_entries(whole)
    elements = _shows_elements(whole)
    return whole, rest, letters


SHOWING = (*_shows(True), *_shows(False))
WRITTEN, DISPLAYED = SHOWING[0], SHOWING[3]


def _abstract_write(w: AbstractMachine, x: Any) -> Any:
    shown = w.recursive(WRITTEN, x)
    return shown and w.effect("text", text="\n") and w.effect("out") and x


def _abstract_display(w: AbstractMachine, x: Any) -> Any:
    return w.recursive(DISPLAYED, x) and w.effect("out")


def _abstract_write_string(w: AbstractMachine, x: Any) -> Any:
    def of_one(x: Any) -> Any:
        if x.type.head != "string":
            return w.invalid("write-string")
        return w.recursive(DISPLAYED, x) and w.effect("out")

    return w.each(x, of_one)


def _abstract_write_real(w: AbstractMachine, x: Any) -> Any:
    def of_one(x: Any) -> Any:
        if x.type.head != "real":
            return w.invalid("write-real")
        return w.effect("real", [x]) and w.effect("text", text="\n") and w.effect("out") and x

    return w.each(x, of_one)


def _show_progress(machine: Evaluator, step: Value, total: Value, value: Value) -> Value:
    if any(type(x) is not float for x in (step, total, value)):
        raise invalid("show-progress", "three reals", step, total, value)
    if machine.progress is not None:
        machine.progress(step, total, value)
    return UNSPECIFIED


def _abstract_show_progress(w: AbstractMachine, step: Any, total: Any, value: Any) -> Any:
    def of_one(step: Any) -> Any:
        return w.each(
            total, lambda total: w.each(value, lambda value: of_three(step, total, value), "value"), "total"
        )

    def of_three(*reals: Any) -> Any:
        if any(x.type.head != "real" for x in reals):
            return w.invalid("show-progress")
        return w.effect("progress", list(reals))

    return w.each(step, of_one)


def abstract_on_nothing(
    name: str, act: Callable[[AbstractMachine], Any]
) -> Callable[[AbstractMachine, Any], Any]:
    def of_one(w: AbstractMachine, x: Any) -> Any:
        return act(w) if x.type.of == () else w.fail(f"{name} takes no argument")

    return lambda w, x: w.each(x, lambda x: of_one(w, x))


def abstract_error(w: AbstractMachine, message: Any, passes_guards: bool = False) -> Any:
    """Compiled code has the message only if it stands alone: otherwise tier 0 runs a failed call again, and raises the error."""
    if not w.is_standalone or _message(w, message, True):
        w.raised(passes_guards)
    return None


def _message(w: AbstractMachine, words: Any, first: bool) -> Any:
    type_ = w.types.canonical(words.type)
    if type_.kind == "pair" and (first or not _ends_in_nil(w.types, type_)):
        written = _message_part(w, w.part(words, 0), first) and w.effect("text", text=" ")
        return written and _message(w, w.part(words, 1), False)
    return _message_part(w, words, first)


def _message_part(w: AbstractMachine, x: Any, first: bool) -> Any:
    return w.recursive(DISPLAYED if first and x.type.head == "string" else WRITTEN, x)


def _ends_in_nil(types: Any, type_: Any) -> bool:
    while type_.kind == "pair":
        type_ = types.canonical(type_.parts[1])
    return bool(type_.kind == "union" or type_.of == ())


def _effect(
    name: str, operands: str, doc: str, value: Any, type: str, abstract: Any = None, io: str = ""
) -> Primitive:
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
        abstract=abstract,
        io=io,
    )


ROWS: list[Primitive] = [
    Primitive(
        "error", "message",
        "Ends the program with a message and the values after it, as `write` prints them.\n"
        "(error \"negative:\" -3)  ⇒ Error: negative: -3\n"
        "(error \"no number:\" \"x\")  ⇒ Error: no number: \"x\"", value=_error,
        type="some -> any", forward="zero", reverse={}, effect=True, abstract=abstract_error,
    ),
    Primitive(
        "python-refuse", "kind message",
        "Ends the program with a Python exception of a class, given by its name: what translated functions do not do as Python "
        "does. None of their handlers takes it.",
        value=_python_refuse, type="string string -> any", forward="zero", reverse={}, effect=True, hidden=True,
        abstract=_abstract_python_refuse,
    ),
    Primitive(
        "write", "x",
        "Prints x, in the form that reads back, on a line of its own and returns it. The value of a top-level form that ends "
        "with a call of `write` is not printed again.\n(+ 1 (write 41))  ⇒ 41\n"
        "⇒ 42", value=_write,
        type="any -> any", forward="dx", reverse={"x": "s"}, effect=True, io="out", needs_machine=True,
        abstract=_abstract_write,
    ),
    _effect("write-string", "x",
        "Prints the text of a string.\n(begin (write-string \"slope\") (newline))  ⇒ slope",
        _write_string, "string -> unspecified",
            _abstract_write_string, io="out"),
    _effect("display", "x",
        "Prints x, strings without quotes.\n"
        "(begin (display \"slope \") (display 2.5) (newline))  ⇒ slope 2.5",
        _display, "any -> unspecified", _abstract_display, io="out"),
    _effect("newline", "nothing",
        "Ends the line.\n(begin (newline) 'after)  ⇒ \n⇒ after", _newline, "null -> unspecified",
            abstract_on_nothing("newline", lambda w: w.effect("text", text="\n") and w.effect("out")), io="out"),
    Primitive(
        "write-real", "x",
        "Prints a real on a line of its own and returns it.\n(+ 1 (write-real 41))  ⇒ 41\n⇒ 42", value=_write_real,
        type="real -> real", partials={"x": "1"}, effect=True, io="out", needs_machine=True,
        abstract=_abstract_write_real,
    ),
    _effect("show-progress", "step total value",
        "Shows at a terminal and in a notebook how far a loop is: the number of a step, how many there are, or 0, and a real.\n"
        "(begin (show-progress 1 100 0.25) 'shown)  ⇒ shown",
        _show_progress, "real real real -> unspecified", _abstract_show_progress),
    _effect("read-real", "nothing",
        "The next number of the input.\n(* 2 (read-real))  ⇒ 6", _read_real, "null -> real",
            abstract_on_nothing("read-real", lambda w: w.effect("in", result=w.types.real)), io="in"),
    _effect("command-line-arguments", "nothing",
        "The arguments after the script's name.\n(command-line-arguments)  ⇒ (\"a\" \"b\")", _arguments, "null -> any",
            abstract_on_nothing("command-line-arguments", _abstract_arguments)),
    constant_row("write-to-string", "x",
        "The text of x, as `write` prints it.\n(write-to-string '(1 \"a\"))  ⇒ \"(1 \\\"a\\\")\"",
        lambda x: String(written(x)), "any -> string", abstract=lambda w, x: w.left_out("`write-to-string` is")),
    constant_row("display-to-string", "x",
        "The text of x, as `display` prints it.\n(display-to-string '(1 \"a\"))  ⇒ \"(1 a)\"",
        lambda x: String(displayed(x)), "any -> string", abstract=lambda w, x: w.left_out("`display-to-string` is")),
    constant_row("argument-character", "i j", "A character of an argument of a standalone program: "
                 "-1 after the argument's end, -2 if there is no such argument.", lambda i, j: -2.0, "real real -> real",
                 c="vlad_argument_character({i}, {j})", hidden=True),
]  # fmt: skip

PROCEDURES: dict[str, str] = {
    "if-procedure": """;;; (if-procedure condition then else)
        ;;; The result of `then` if the condition is true, else that of `else`: procedures without parameters.
        ;;; (if-procedure #t (lambda () 1) (lambda () 2))  ⇒ 1
        (lambda (c t e) (if c (t (quote ())) (e (quote ()))))""",
}
