"""The rows that read and write reals as text.

Compiled code represents a string as a rope (ropes.py). The text of a real is generated character by
character. A text is parsed by a state machine of 22 states, one character per step; it stores thirty decimal digits and an
exponent. What is written behind the / of a fraction is parsed like another text.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vlad.core.types import Recursion, is_real
from vlad.data.errors import Kind
from vlad.data.values import FALSE, Primitive, String, Value
from vlad.data.write import real_text
from vlad.primitives.data import boolean, constant_row
from vlad.primitives.numbers import invalid
from vlad.primitives.ropes import listed, text_of_list
from vlad.primitives.walking import choose, cons, is_nil, scalar, with_kinds
from vlad.reader.parser import numeral

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine

DECIMALS, MOST_DECIMALS = "feg", 99  # the kinds of `number->decimal`, and the most digits
# States of the parser. The special reals are +inf.0 and +nan.0, with either sign.
(START, SIGN, WHOLE, POINT, FRACTION, LETTER, PLUS, MINUS, POWER, LESS, INF_I, INF_N, INF, INF_POINT, INFINITY,
 NAN_N, NAN_A, NAN, NAN_POINT, NOT_A_NUMBER, BAR, BELOW) = map(float, range(22))  # fmt: skip
NONE = -1.0
_DIGIT = {START: WHOLE, SIGN: WHOLE, WHOLE: WHOLE, POINT: FRACTION, FRACTION: FRACTION, LETTER: POWER, PLUS: POWER,
          POWER: POWER, MINUS: LESS, LESS: LESS, BAR: BELOW, BELOW: BELOW}  # fmt: skip
_FOLLOWING = {
    "1": _DIGIT,
    "0": {**_DIGIT, INF_POINT: INFINITY, NAN_POINT: NOT_A_NUMBER},
    "+": {START: SIGN, LETTER: PLUS},
    "-": {START: SIGN, LETTER: MINUS},
    ".": {START: POINT, SIGN: POINT, WHOLE: FRACTION, INF: INF_POINT, NAN: NAN_POINT},
    "e": {WHOLE: LETTER, FRACTION: LETTER},
    "/": {WHOLE: BAR},
    "i": {SIGN: INF_I},
    "n": {SIGN: NAN_N, INF_I: INF_N, NAN_A: NAN},
    "f": {INF_N: INF},
    "a": {NAN_N: NAN_A},
}
_KINDS = {
    **{float(ord(c)): "1" for c in "123456789"},
    **{float(ord(c)): c for c in "0+-.einfa/"},
    **{float(ord(c)): c.lower() for c in "EINFA"},
}
_WHOLE_NUMERALS = (WHOLE, FRACTION, POWER, LESS, INFINITY, NOT_A_NUMBER, BELOW)
# An error of compiled code alone: tier 0 handles such numerals.
LONG = "More than thirty digits of a numeral decide which real is nearest"
LONG_FRACTION = "A part of a fraction is beyond 2^53"
EXACT = 2.0**53
_FULL, _FULL_LOW = 1e14, 1e15  # high has fifteen digits; low a 1 and fifteen more


def _state(state: Value, c: Value) -> Value:
    return _FOLLOWING[_KINDS[c]].get(state, NONE) if c in _KINDS else NONE


def _is_digit(state: Value) -> bool:
    return state in (WHOLE, FRACTION, BELOW)


def _high(state: Value, c: Value, high: Value) -> Value:
    return 10 * high + c - 48 if _is_digit(state) and high < _FULL and c != 46 else high


def _low(state: Value, c: Value, high: Value, low: Value) -> Value:
    if not _is_digit(state) or high < _FULL or c == 46:
        return low
    if low < _FULL_LOW:
        return 10 * low + c - 48
    return math.floor(low) + 0.5 if c != 48 else low  # half: a nonzero digit was dropped


def _places(state: Value, c: Value, high: Value, low: Value, places: Value) -> Value:
    if not _is_digit(state) or c == 46:
        return places
    return places + (high >= _FULL and low >= _FULL_LOW) - (state == FRACTION)


def _power(state: Value, c: Value, power: Value) -> Value:
    if state == POWER and c >= 48:
        return min(10 * power + c - 48, 1e9)
    return max(10 * power - (c - 48), -1e9) if state == LESS and c >= 48 else power


def _is_numeral(state: Value) -> Value:
    return boolean(state in _WHOLE_NUMERALS)


def _real(state: Value, high: Value, low: Value, places: Value, power: Value) -> Value:
    if state in (INFINITY, NOT_A_NUMBER):
        return math.inf if state == INFINITY else math.nan
    if not (0 <= high < 1e15 and 1 <= low < 1e16 and abs(places) <= 1e10 and abs(power) <= 1e9):
        return math.nan
    more = "1" if low % 1 else ""
    carry = low >= 2 * _FULL_LOW  # rounding up from nines only
    return float(f"{int(high) + carry}{str(int(low))[1:]}{more}e{int(places + power) - len(more)}")


def _real_character(x: Value, i: Value) -> Value:
    text = real_text(x)
    return float(ord(text[int(i)])) if 0 <= i < len(text) else -1.0


def _decimal(x: float, kind: float, digits: float) -> str:
    letter = DECIMALS[int(kind)] if kind in (0.0, 1.0, 2.0) else "f"
    count = int(digits) if 0 <= digits <= MOST_DECIMALS else 0
    return f"{x:.{count}{letter}}" if math.isfinite(x) else real_text(x)


def _decimal_character(x: Value, kind: Value, digits: Value, i: Value) -> Value:
    text = _decimal(x, kind, digits)
    return float(ord(text[int(i)])) if 0 <= i < len(text) else -1.0


def _number_to_decimal(x: Value, kind: Value, digits: Value) -> Value:
    for one in (x, kind, digits):
        if type(one) is not float:
            raise invalid("number->decimal", "reals", one, of=(Kind.REAL,))
    return String(_decimal(x, kind, digits))


def _number_to_string(x: Value) -> Value:
    if type(x) is not float:
        raise invalid("number->string", "a real", x, of=(Kind.REAL,))
    return String(real_text(x))


def _string_to_number(text: Value) -> Value:
    if type(text) is not String:
        raise invalid("string->number", "strings", text)
    found = numeral(text.text) if text.text else None
    return FALSE if found is None else found


# Type rules.


def _number_text(w: AbstractMachine, x: Any) -> Any:
    begin = w.unknown_real(w.constant(0.0))
    characters = w.invoke(DIGITS, (), [w.unknown_real(x), begin], False)
    return text_of_list(w, characters)


def _decimal_text(w: AbstractMachine, x: Any, kind: Any, digits: Any) -> Any:
    begin = w.unknown_real(w.constant(0.0))
    given = [w.unknown_real(one) for one in (x, kind, digits)]
    characters = w.invoke(DECIMAL, (), [*given, begin], False)
    return text_of_list(w, characters)


def _digits(w: AbstractMachine, x: Any, i: Any) -> Any:
    return _characters(w, DIGITS, "real-character", [x], i)


def _decimals(w: AbstractMachine, x: Any, kind: Any, digits: Any, i: Any) -> Any:
    return _characters(w, DECIMAL, "decimal-character", [x, kind, digits], i)


def _characters(w: AbstractMachine, again: Recursion, row: str, operands: list[Any], i: Any) -> Any:
    """The characters of a text from one on."""
    key = w.key
    character = scalar(w, row, *operands, i)

    def more() -> Any:
        following = scalar(w, "+", i, w.constant(1.0))
        return cons(w, character, w.invoke(again, (), [*operands, following], False))

    test = scalar(w, "<", character, w.constant(0.0))
    return choose(w, (key, "end"), test, lambda: w.no_characters, more)


def _string_number(w: AbstractMachine, text: Any) -> Any:
    """The sign is applied to the final value, as zero has one, too."""
    key = w.key
    characters = listed(w, text)

    def of(state: float, characters: Any) -> Any:
        rest = [w.unknown_real(w.constant(real)) for real in (state, 0.0, 1.0, 0.0, 0.0)]
        return w.invoke(NUMERAL, (), [characters, *rest], False)

    def one(a: Any) -> Any:
        if is_nil(a):
            return w.truth(False)
        is_minus = scalar(w, "=", w.part(a, 0), w.constant(45.0))
        return choose(
            w, (key, "sign"), is_minus, lambda: negated(of(SIGN, w.part(a, 1))), lambda: of(START, a)
        )

    def negated(found: Any) -> Any:
        return found and w.each(found, lambda x: minus(x) if is_real(x.type) else x, "found")

    def minus(x: Any) -> Any:
        return scalar(w, "*", w.constant(-1.0), x)

    return characters and w.each(characters, one)


def _numeral(
    w: AbstractMachine, characters: Any, state: Any, high: Any, low: Any, places: Any, power: Any
) -> Any:
    key = w.key

    def one(a: Any) -> Any:
        if is_nil(a):
            test = scalar(w, "is-numeral", state)
            return choose(w, (key, "end"), test, whole, none)
        c = w.part(a, 0)
        now = scalar(w, "numeral-state", state, c)
        return choose(w, (key, "on"), scalar(w, "<", now, w.constant(0.0)), none, lambda: on(a, c, now))

    def on(a: Any, c: Any, now: Any) -> Any:
        is_bar = scalar(w, "=", now, w.constant(BAR))
        return choose(w, (key, "bar"), is_bar, lambda: fraction(a), lambda: more(a, c, now))

    def fraction(a: Any) -> Any:
        """What follows is read as it is, and divided by."""
        rest = [w.unknown_real(w.constant(real)) for real in (BAR, 0.0, 1.0, 0.0, 0.0)]
        found = w.invoke(NUMERAL, (), [w.part(a, 1), *rest], False)
        above = scalar(w, "numeral-real", state, high, low, places, power)
        return found and w.each(found, lambda x: quotient(above, x) if is_real(x.type) else x, "below")

    def quotient(above: Any, below: Any) -> Any:
        is_zero = scalar(w, "=", below, w.constant(0.0))
        return choose(w, (key, "zero"), is_zero, none, lambda: exact_quotient(above, below))

    def exact_quotient(above: Any, below: Any) -> Any:
        """Rounded once, as far as both are free of rounding; standalone code has no tier 0 that rounds others once."""
        found = scalar(w, "/", above, below)
        if w.is_standalone:
            return found
        largest = scalar(w, "max", above, below)
        is_exact = scalar(w, "<", largest, w.constant(EXACT))
        return choose(w, (key, "parts"), is_exact, lambda: found, lambda: w.unsupported(LONG_FRACTION))

    def whole() -> Any:
        real = scalar(w, "numeral-real", state, high, low, places, power)
        if w.is_standalone:
            return real  # standalone code has no tier 0: if more than thirty digits decide a tie, the last bit may be wrong
        is_exact = scalar(w, "whole?", low)
        return choose(w, (key, "exact"), is_exact, lambda: real, between)

    def between() -> Any:
        """After dropped digits, one real is almost always the nearest to the thirty-digit numbers below and above."""
        half = w.constant(0.5)
        below, above = [
            scalar(w, "numeral-real", state, high, scalar(w, row, low, half), places, power) for row in "-+"
        ]
        return choose(
            w, (key, "decided"), scalar(w, "=", below, above), lambda: below, lambda: w.unsupported(LONG)
        )

    def none() -> Any:
        return w.truth(False)

    def more(a: Any, c: Any, now: Any) -> Any:
        following = [
            now,
            scalar(w, "numeral-high", now, c, high),
            scalar(w, "numeral-low", now, c, high, low),
            scalar(w, "numeral-places", now, c, high, low, places),
            scalar(w, "numeral-power", now, c, power),
        ]
        return w.invoke(NUMERAL, (), [w.part(a, 1), *following], False)

    return w.each(characters, one)


DIGITS = Recursion("number->string", _digits)
DECIMAL = Recursion("number->decimal", _decimals)
NUMERAL = Recursion("string->number", _numeral)


def _step(name: str, operands: str, doc: str, value: Callable[..., Value], result: str = "real") -> Primitive:
    reals = operands.split()
    c = f"vlad_{name.replace('-', '_')}({', '.join([f'{{{operand}}}' for operand in reals])})"
    return constant_row(
        name, operands, doc, value, f"{' '.join(['real'] * len(reals))} -> {result}", c=c, hidden=True
    )


ROWS: list[Primitive] = [
    constant_row("number->string", "x",
        "The decimal text of a real.\n(number->string 1.5)  ⇒ \"1.5\"", _number_to_string, "real -> string",
                 abstract=with_kinds("number->string", "r", _number_text)),
    constant_row("number->decimal", "x kind digits",
        "The text of a real with so many digits behind the point, of the kind 0 without an exponent, of 1 with one; of 2 with so "
        "many digits in all. As `f`, `e` and `g` of C, and of Python.", _number_to_decimal, "real real real -> string",
        abstract=with_kinds("number->decimal", "rrr", _decimal_text), hidden=True),
    constant_row("string->number", "text",
        "The real that a text denotes, or #f.\n(string->number \"1e3\")  ⇒ 1000\n(string->number \"1/2\")  ⇒ 0.5\n"
        "(string->number \"one\")  ⇒ #f", _string_to_number, "string -> any",
                 abstract=with_kinds("string->number", "s", _string_number)),
    _step("real-character", "x i", "A character of a real's text; -1 behind its end.", _real_character),
    _step("decimal-character", "x kind digits i", "A character of `number->decimal`; -1 behind its end.", _decimal_character),
    _step("numeral-state", "state c", "The next state of reading a numeral, after a character; -1 if it is invalid.", _state),
    _step("is-numeral", "state", "May a numeral end here?", _is_numeral, "boolean"),
    _step("numeral-high", "state c high", "The first fifteen digits.", _high),
    _step("numeral-low", "state c high low", "The next fifteen, behind a 1.", _low),
    _step("numeral-places", "state c high low places", "The power of ten of the last digit.", _places),
    _step("numeral-power", "state c power", "The exponent of ten that is written.", _power),
    _step("numeral-real", "state high low places power", "The real nearest to a numeral.", _real),
]  # fmt: skip
