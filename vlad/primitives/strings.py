"""The rows of strings and symbols as text.

A computed string has the type string only: compiled code represents it as a rope (ropes.py), so all type rules are written in
terms of ropes, through the compiler's AbstractInterpreter (`w`, compile/analysis/abstract_interpreter.py).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vlad.control.budget import UNCHECKED_BYTES, expect_bytes
from vlad.core.types import Recursion, is_real
from vlad.data.errors import Kind, VladError
from vlad.data.values import FALSE, Primitive, String, Symbol, Value, symbol
from vlad.primitives.data import boolean, constant_row
from vlad.primitives.numbers import invalid
from vlad.primitives.ropes import by_character, on_ropes, same_texts, size_of
from vlad.primitives.walking import choose, scalar, with_kinds
from vlad.reader.parser import is_code_point

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine

# Errors that depend on the contents of a string.
OUTSIDE = "Argument to substring is invalid: position outside the string"
BEYOND = "Letters beyond ASCII are changed by tier 0 only"
KINDS_BEYOND = "Characters beyond ASCII are told apart by tier 0 only"
NO_CHARACTER = "A character is a string of one"
NO_CODE = "Argument to integer->char is invalid: not the code of a character"


def _strings(
    name: str, rule: Callable[..., Value], result: Callable[[Any], Value], makes: bool = False
) -> Callable[..., Value]:
    """`makes`: whether the result is as long as the operands together."""

    def value(*operands: Value) -> Value:
        for operand in operands:
            if type(operand) is not String:
                raise invalid(name, "strings", *operands)
        if makes:
            expect_text(*[operand.text for operand in operands])
        return result(rule(*[operand.text for operand in operands]))

    return value


def expect_text(*texts: str) -> None:
    """Raise NoRoom unless there is memory for a text as long as these together."""
    if sum(map(len, texts)) >= UNCHECKED_BYTES // 4:
        expect_bytes(sum(map(_bytes_of, texts)))


def _bytes_of(text: str) -> int:
    return sys.getsizeof(text)  # one to four bytes per character


def _substring(text: Value, start: Value, end: Value) -> Value:
    if type(text) is not String or type(start) is not float or type(end) is not float:
        raise invalid("substring", "a string and two positions", text, start, end)
    if not 0 <= start <= end <= len(text.text) or start % 1 or end % 1:
        hint = f"the string has {len(text.text)} characters"
        if 0 <= end < start <= len(text.text):
            hint = "the end comes before the start"
        raise VladError("out-of-range", OUTSIDE, hint=hint, irritants=(text, start, end), name="substring")
    if end - start >= UNCHECKED_BYTES:
        expect_bytes(_bytes_of(text.text) * (end - start) / len(text.text))
    return String(text.text[int(start) : int(end)])


def _of_kind(name: str, expected: str, kind: type, rule: Callable[[Any], Value]) -> Callable[[Value], Value]:
    def value(x: Value) -> Value:
        if type(x) is not kind:
            raise invalid(name, expected, x)
        return rule(x)

    return value


def _search(pattern: str, text: str) -> int:
    return text.find(pattern)


# Type rules.


def _appended(w: AbstractMachine, a: Any, b: Any) -> Any:
    rope = on_ropes(w, "append", w.rope(a), w.rope(b))
    return rope and w.string(rope)


def _name_of(w: AbstractMachine, name: Any) -> Any:
    """Symbols are constants of their types, so the name is one."""

    def one(name: Any) -> Any:
        is_symbol = name.type.kind == "constant" and type(name.type.of) is Symbol
        return w.constant(String(name.type.of.name)) if is_symbol else w.invalid("symbol->string")

    return w.each(name, one)


def _symbol_of(w: AbstractMachine, text: Any) -> Any:
    def one(text: Any) -> Any:
        if text.type.kind == "constant" and type(text.type.of) is String:
            return w.constant(symbol(text.type.of.text))
        return w.left_out("`string->symbol` is")

    return w.each(text, one)


def _text_before(w: AbstractMachine, a: Any, b: Any) -> Any:
    least = scalar(w, "min", size_of(w, a), size_of(w, b))
    return on_ropes(w, "before?", w.rope(a), w.rope(b), w.constant(0.0), least)


def _part_of(w: AbstractMachine, text: Any, start: Any, end: Any) -> Any:
    """The end is checked first: a start below it is within the string."""
    start, end = w.unknown_real(start), w.unknown_real(end)
    key = w.key

    def fail() -> Any:
        return w.by_value(OUTSIDE)

    def whole(name: str, x: Any, then: Callable[[], Any]) -> Any:
        return choose(w, (key, name), scalar(w, "whole?", x), then, fail)

    def in_order() -> Any:
        return choose(w, (key, "order"), scalar(w, "<=", start, end), lambda: from_zero(), fail)

    def from_zero() -> Any:
        return choose(w, (key, "zero"), scalar(w, "<=", w.constant(0.0), start), within, fail)

    def within() -> Any:
        return choose(w, (key, "within"), scalar(w, "<=", end, size_of(w, text)), taken, fail)

    def taken() -> Any:
        rope = on_ropes(w, "part", w.rope(text), start, end)
        return rope and w.string(rope)

    return whole("start", start, lambda: whole("end", end, in_order))


def _found(w: AbstractMachine, pattern: Any, text: Any) -> Any:
    size = size_of(w, pattern)
    last = scalar(w, "-", size_of(w, text), size)
    return on_ropes(w, "search", w.rope(pattern), size, w.rope(text), w.constant(0.0), last)


def _each_character(rule: Recursion) -> Callable[..., Any]:
    return lambda w, text: by_character(w, text, rule)


def _changes(name: str, row: str) -> Recursion:
    """Letters beyond ASCII are left to tier 0, which supports Unicode."""

    def change(w: AbstractMachine, rope: Any) -> Any:
        key = w.key

        def one(x: Any) -> Any:
            if is_real(x.type):
                test = scalar(w, "<", x, w.constant(128.0))
                return choose(w, (key, "ascii"), test, lambda: w.rope(scalar(w, row, x)), fail)
            return sides(x) if x.type.kind == "pair" else w.rope(x)

        def sides(x: Any) -> Any:
            changed = [w.recursive(recursion, side) for side in w.parts(w.part(x, 1))]
            both = [side for side in changed if side is not None]
            return w.apply(w.machine.table["rope-node"], both) if len(both) == 2 else None

        def fail() -> Any:
            return w.unsupported(BEYOND)

        return w.each(rope, one)

    recursion = Recursion(name, change)
    return recursion


def _the_character(name: str, then: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The abstract rule of a row of a character: `then` takes the machine and its code point."""

    def rule(w: AbstractMachine, text: Any) -> Any:
        return w.each(w.rope(text), lambda x: then(w, x) if is_real(x.type) else w.by_value(NO_CHARACTER))

    return with_kinds(name, "s", rule)


def _ascii(row: str) -> Callable[[Any, Any], Any]:
    def test(w: AbstractMachine, character: Any) -> Any:
        key = w.key
        is_ascii = scalar(w, "<", character, w.constant(128.0))
        return choose(
            w,
            (key, "ascii"),
            is_ascii,
            lambda: scalar(w, row, character),
            lambda: w.unsupported(KINDS_BEYOND),
        )

    return test


def _digit(w: AbstractMachine, character: Any) -> Any:
    key = w.key

    def value() -> Any:
        return scalar(w, "-", character, w.constant(48.0))

    def of_ascii() -> Any:
        is_digit = scalar(w, "is-ascii-digit", character)
        return choose(w, (key, "digit"), is_digit, value, lambda: w.truth(False))

    is_ascii = scalar(w, "<", character, w.constant(128.0))
    return choose(w, (key, "ascii"), is_ascii, of_ascii, lambda: w.unsupported(KINDS_BEYOND))


def _character_of(w: AbstractMachine, code: Any) -> Any:
    code = w.unknown_real(code)
    key = w.key

    test = scalar(w, "is-code-point", code)
    return choose(w, (key, "code"), test, lambda: w.string(code), lambda: w.by_value(NO_CODE))


CAPITALS = _changes("string-upcase", "capital-character")
SMALL = _changes("string-downcase", "small-character")


def _of_character(name: str, rule: Callable[[str], Value]) -> Callable[[Value], Value]:
    def value(x: Value) -> Value:
        if type(x) is not String or len(x.text) != 1:
            raise invalid(name, "a character, which is a string of one", x)
        return rule(x.text)

    return value


def _integer_to_char(code: Value) -> Value:
    if type(code) is not float:
        raise invalid("integer->char", "a real", code, of=(Kind.REAL,))
    if not _is_code_point(code):
        raise VladError(
            "out-of-range", NO_CODE, irritants=(code,), name="integer->char",
            hint="codes are the whole numbers up to 1114111, but for those from 55296 up to 57343",
        )  # fmt: skip
    return String(chr(int(code)))


def _is_code_point(code: float) -> bool:
    return code % 1 == 0 and is_code_point(code)


def _is_space(character: str) -> bool:
    """Unicode's White_Space, to which the separators U+001C to U+001F do not belong."""
    return character.isspace() and not "\x1c" <= character <= "\x1f"


def _test_of_character(
    name: str, doc: str, rule: Callable[[str], bool], ascii: str, *ranges: tuple[int, int]
) -> tuple[Primitive, Primitive]:
    """The test of a character, and that of a code point, which compiled code uses: is it in one of these ranges of ASCII?"""
    within = " || ".join([f"({{x}} >= {low} && {{x}} <= {high})" for low, high in ranges])
    return (
        constant_row(
            name, "c", doc, _of_character(name, lambda c: boolean(rule(c))), "string -> boolean",
            abstract=_the_character(name, _ascii(ascii)),
        ),
        _character_row(
            ascii, "x", f"`{name}` of a code point of ASCII.",
            lambda x: boolean(any(low <= x <= high for low, high in ranges)), "real -> boolean", within,
        ),
    )  # fmt: skip


def _character_row(
    name: str, operands: str, doc: str, value: Callable[..., Value], type: str, c: str
) -> Primitive:
    return constant_row(name, operands, doc, value, type, c=c, hidden=True)


ROWS: list[Primitive] = [
    Primitive(
        "string-append", "a b",
        "The text of a, then that of b.\n(string-append \"gra\" \"di\" \"ent\")  ⇒ \"gradient\"",
        value=_strings("string-append", lambda a, b: a + b, String, makes=True), type="string string -> string", forward="zero",
        reverse={}, variadic="left", unary='(string-append x "")', abstract=with_kinds("string-append", "ss", _appended),
    ),
    constant_row("string-length", "text", "The number of characters.\n(string-length \"slope\")  ⇒ 5",
                  _strings("string-length", len, float), "string -> real",
                 abstract=with_kinds("string-length", "s", size_of)),
    constant_row("substring", "text start end",
        "The characters from start up to end, exclusive.\n(substring \"gradient\" 0 4)  ⇒ \"grad\"", _substring,
                  "string real real -> string", abstract=with_kinds("substring", "srr", _part_of)),
    constant_row("string=?", "a b",
        "Equal texts?\n(string=? \"a\" \"a\")  ⇒ #t", _strings("string=?", lambda a, b: a == b, boolean),
                 "string string -> boolean", variadic="chain", abstract=with_kinds("string=?", "ss", same_texts)),
    constant_row("string<?", "a b",
        "Is a before b?\n(string<? \"abc\" \"abd\")  ⇒ #t", _strings("string<?", lambda a, b: a < b, boolean),
                 "string string -> boolean", variadic="chain", abstract=with_kinds("string<?", "ss", _text_before)),
    constant_row("string-upcase", "text", "The text in capital letters.\n(string-upcase \"vlad\")  ⇒ \"VLAD\"",
                  _strings("string-upcase", str.upper, String, makes=True), "string -> string",
                 abstract=with_kinds("string-upcase", "s", _each_character(CAPITALS))),
    constant_row("string-downcase", "text", "The text in small letters.\n(string-downcase \"VLAD\")  ⇒ \"vlad\"",
                  _strings("string-downcase", str.lower, String, makes=True), "string -> string",
                 abstract=with_kinds("string-downcase", "s", _each_character(SMALL))),
    constant_row("string-search", "pattern text",
        "The position of the first occurrence of a pattern in a text, or #f.\n"
        "(string-search \"die\" \"gradient\")  ⇒ 3\n(string-search \"x\" \"gradient\")  ⇒ #f",
                  _strings("string-search", _search, lambda at: FALSE if at < 0 else float(at)),
                 "string string -> any", abstract=with_kinds("string-search", "ss", _found)),
    constant_row("string-foldcase", "text",
        "The text in a form that is the same for texts that differ in capitals only.\n"
        "(string-foldcase \"Straße\")  ⇒ \"strasse\"", _strings("string-foldcase", str.casefold, String, makes=True),
                 "string -> string", abstract=with_kinds("string-foldcase", "s", _each_character(SMALL))),
    constant_row("char->integer", "c", "The code point of a character, in Unicode.\n(char->integer #\\a)  ⇒ 97",
                  _of_character("char->integer", lambda c: float(ord(c))), "string -> real",
                 abstract=_the_character("char->integer", lambda w, character: character)),
    constant_row("integer->char", "code", "The character of a code point.\n(integer->char 97)  ⇒ \"a\"", _integer_to_char,
                  "real -> string", abstract=with_kinds("integer->char", "r", _character_of)),
    constant_row("digit-value", "c",
        "The value of a decimal digit, in any script; #f of another character.\n"
        "(list (digit-value #\\7) (digit-value #\\a))  ⇒ (7 #f)",
                  _of_character("digit-value", lambda c: float(int(c)) if c.isdecimal() else FALSE), "string -> any",
                 abstract=_the_character("digit-value", _digit)),
    *_test_of_character("char-alphabetic?", "Is the character a letter?\n(char-alphabetic? #\\a)  ⇒ #t", str.isalpha,
                        "is-ascii-letter", (65, 90), (97, 122)),
    *_test_of_character("char-numeric?", "Is the character a decimal digit?\n(char-numeric? #\\7)  ⇒ #t", str.isdecimal,
                        "is-ascii-digit", (48, 57)),
    *_test_of_character("char-whitespace?", "Is the character a blank, or the like?\n(char-whitespace? #\\tab)  ⇒ #t", _is_space,
                        "is-ascii-space", (32, 32), (9, 13)),
    *_test_of_character("char-upper-case?", "Is the character a capital letter?\n(char-upper-case? #\\a)  ⇒ #f", str.isupper,
                        "is-ascii-capital", (65, 90)),
    *_test_of_character("char-lower-case?", "Is the character a small letter?\n(char-lower-case? #\\a)  ⇒ #t", str.islower,
                        "is-ascii-small", (97, 122)),
    _character_row("is-code-point", "x", "Is this the number of a character?", lambda x: boolean(_is_code_point(x)),
                   "real -> boolean", "{x} == floor({x}) && {x} >= 0 && {x} <= 1114111 && !({x} >= 55296 && {x} <= 57343)"),
    constant_row("string->symbol", "text", "The symbol of this name.\n(string->symbol \"x\")  ⇒ x",
                  _strings("string->symbol", lambda s: s, symbol), "string -> symbol",
                 abstract=with_kinds("string->symbol", "s", _symbol_of)),
    constant_row("symbol->string", "name", "The name of a symbol.\n(symbol->string 'x)  ⇒ \"x\"",
                  _of_kind("symbol->string", "a symbol", Symbol, lambda s: String(s.name)), "symbol -> string",
                 abstract=_name_of),
    _character_row("capital-character", "x", "The capital of an ASCII letter.", lambda x: x - 32.0 if 97 <= x <= 122 else x,
                   "real -> real", "({x} >= 97 && {x} <= 122 ? {x} - 32 : {x})"),
    _character_row("small-character", "x", "The small form of an ASCII letter.", lambda x: x + 32.0 if 65 <= x <= 90 else x,
                   "real -> real", "({x} >= 65 && {x} <= 90 ? {x} + 32 : {x})"),
]  # fmt: skip
