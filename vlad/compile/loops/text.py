"""Loops → text, for display and tests; and expressions → text, also for the printers of C and CUDA.

In: a nest, an expression.  Out: text. A `Style` defines how a language writes kinds and entries; parentheses follow from
precedence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from vlad.compile.loops.ir import (
    Accumulate,
    Address,
    Alias,
    Allocate,
    Assign,
    Body,
    Element,
    For,
    If,
    Lane,
    Leader,
    Let,
    Local,
    Nest,
    Poll,
    Position,
    Prefetch,
    Scalar,
    Scope,
    Speculate,
    Spread,
    Statement,
    StoreElement,
    Thread,
    Together,
    Value,
    Variables,
    Versions,
)
from vlad.core.expressions import (
    LEVELS,
    TIGHTEST,
    UNARY,
    WEAKEST,
    Binary,
    Call,
    Conditional,
    Convert,
    Expression,
    Name,
    Number,
    Unary,
)

MOST_DIGITS = 2.0**24  # powers of two from here on are written as such


class Style:
    """How a language writes the parts of its expressions; this one is for display."""

    def name(self, name: str) -> str:
        return name

    def number(self, number: Number) -> str:
        if number.kind in ("int", "index", "int64", "int32"):
            return str(int(number.value))
        return power_text(number.value) or repr(float(number.value))

    def entry(self, entry: Element) -> str:
        vector = " as vector" if entry.is_vector else ""
        return f"{entry.array.name}[{position_text(entry.position, self)}]{vector}"

    def at(self, name: str, stride: int) -> str:
        return name if stride == 1 else f"{stride} * {name}"

    def scalar(self, scalar: Scalar) -> str:
        return scalar.name

    def function(self, call: Call) -> str:
        return call.function

    def convert(self, convert: Convert) -> str:
        return f"{convert.kind}({text_of(convert.operand, self)})"

    def spread(self, spread: Spread) -> str:
        return f"vector({text_of(spread.value, self)})"


PEOPLE = Style()


def text_of(value: Value, style: Style = PEOPLE) -> str:
    return _text(value, style, WEAKEST)


def _text(value: Any, style: Style, level: int) -> str:
    """The text of a value; in parentheses if it binds less tightly than `level`."""
    text, own = _text_and_level(value, style)
    return f"({text})" if own < level else text


def _text_and_level(value: Value, style: Style) -> tuple[str, int]:
    match value:
        case Name():
            return style.name(value.name), TIGHTEST
        case Number():
            return style.number(value), TIGHTEST
        case Unary():
            text = _text(value.operand, style, UNARY)
            return f"{value.operator}{' ' * text.startswith(value.operator)}{text}", UNARY
        case Binary():
            own = LEVELS[value.operator]
            left, right = _text(value.left, style, own), _text(value.right, style, own + 1)
            return f"{left} {value.operator} {right}", own
        case Conditional():
            test = _text(value.test, style, WEAKEST + 1)
            arms = [_text(one, style, WEAKEST) for one in (value.consequent, value.alternative)]
            return f"{test} ? {arms[0]} : {arms[1]}", WEAKEST
        case Call():
            operands = ", ".join([_text(one, style, WEAKEST) for one in value.operands])
            return f"{style.function(value)}({operands})", TIGHTEST
        case Convert():
            return style.convert(value), UNARY
        case Position():
            text = position_text(value, style)
            return text, LEVELS["+"] if " + " in text or " * " in text else TIGHTEST
        case Element():
            return style.entry(value), TIGHTEST
        case Scalar():
            return style.scalar(value), TIGHTEST
        case Spread():
            return style.spread(value), TIGHTEST
        case Lane():
            return f"{value.vector}[{value.index}]", TIGHTEST
        case Address():
            return f"&{style.entry(value.entry)}", UNARY
    raise AssertionError(value)


def with_level(value: Expression | Value, style: Style, level: int) -> str:
    """For styles: the text of an expression within another one."""
    return _text(value, style, level)


def position_text(position: Position, style: Style = PEOPLE) -> str:
    terms = [index if stride == 1 else f"{stride} * {index}" for index, stride in position.strides]
    terms += [style.at(name, stride) for name, stride in position.at]
    if position.offset or not terms:
        terms.append(str(position.offset))
    return " + ".join(terms)


def power_text(value: float) -> str:
    """A large power of two, "" if it is none."""
    fraction, exponent = math.frexp(value)
    return f"0x1p{exponent - 1}" if fraction == 0.5 and value >= MOST_DIGITS else ""


def nest_text(nest: Nest) -> str:
    return body_text(nest.body)


def body_text(body: Body) -> str:
    return "\n".join(_lines(body))


def _indented(body: Body) -> Iterator[str]:
    return (f"  {line}" for line in _lines(body))


def _lines(body: Body) -> Iterator[str]:
    for statement in body:
        yield from _statement(statement)


def _statement(statement: Statement) -> Sequence[str] | Iterator[str]:
    match statement:
        case For():
            return [f"for {_range(statement)}{_marks(statement)}", *_indented(statement.body)]
        case Scope():
            return ["do", *_indented(statement.body)]
        case If():
            lines = [f"if {text_of(statement.test)}", *_indented(statement.consequent)]
            return [*lines, *(["else", *_indented(statement.alternative)] if statement.alternative else [])]
        case Versions():
            lines = [
                line
                for condition, body in statement.cases
                for line in (f"where {condition}", *_indented(body))
            ]
            return [*lines, *(["elsewhere", *_indented(statement.otherwise)] if statement.otherwise else [])]
        case Speculate():
            lines = [f"try, {statement.flag} where {text_of(statement.far)}"]
            for condition, body in statement.attempts:
                lines += [f"where {condition or 'always'}", *_indented(body)]
            return [*lines, f"if {statement.flag}", *_indented(statement.otherwise)]
    return [_line(statement)]


def _line(statement: Statement) -> str:
    match statement:
        case Let(name=name, kind=kind, value=value):
            return f"{name}: {kind} = {text_of(value)}"
        case Variables(names=names, kind=kind, start=start):
            return f"var {', '.join(names)}: {kind}{_first(start)}"
        case Local(array=array, size=size, start=start):
            return f"array {array.name}: {size} {array.kind}{_first(start)}"
        case Allocate(array=array, words=words, place=place):
            return f"new {array.name}: {array.kind}, {words} words{f' at {place}' if place else ''}"
        case Alias(array=array, of=of):
            return f"{array.name}: {array.kind} lies over {of}"
        case Assign(name=name, value=value):
            return f"{name} := {text_of(value)}"
        case StoreElement(entry=entry, value=value):
            return f"{text_of(entry)} := {text_of(value)}"
        case Accumulate(target=target, value=value, combine=combine):
            atomic = " atomically" if statement.is_atomic else ""
            return f"{text_of(target)} {combine}= {text_of(value)}{atomic}"
        case Poll(index=index, every=every):
            return "poll" if every == 1 else f"poll every {every} {index}"
        case Prefetch(entry=entry, ahead=ahead):
            return f"prefetch {text_of(entry)} + {ahead}"
        case Thread(name=name, count=count):
            return f"thread {name} < {count}"
        case Together():
            return f"together {statement.name}: {statement.combine} of {statement.threads} threads"
        case Leader():
            return "first thread"
    raise AssertionError(statement)


def _first(start: Value | None) -> str:
    return "" if start is None else f" = {text_of(start)}"


def _range(loop: For) -> str:
    begin = "" if loop.begin is None else f" from {text_of(loop.begin)}"
    step = ""
    if loop.step not in (0, 1):
        step = f" by {loop.step}" if type(loop.step) is int else f", then {text_of(loop.step)}"
    return f"{loop.index}{begin} {'to' if loop.is_closed else 'below'} {text_of(loop.end)}{step}"


def _marks(loop: For) -> str:
    marks = [f"unrolled {loop.unroll}"] if loop.unroll else []
    if loop.simd is not None:
        reductions = [f"{sign} of {', '.join(names)}" for sign, names in loop.simd.reductions]
        marks.append(" ".join(["parallel", *reductions, *(["left"] if loop.simd.is_left else [])]))
        marks += [f"{loop.simd.unrolls} turns at once"] if loop.simd.unrolls else []
    return "".join([f"; {mark}" for mark in marks])
