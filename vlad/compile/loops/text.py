"""Loops → text, for display and tests; and expressions → text, also for the printers of C and CUDA.

In: the loops of a kernel, a function for a GPU, an expression.  Out: text. A `Style` defines how a language writes kinds and
entries; parentheses follow from precedence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

from vlad.compile.loops.ir import (
    Accumulate,
    Address,
    Alias,
    Allocate,
    Array,
    Assign,
    Body,
    Condition,
    Element,
    For,
    GridFunction,
    If,
    Lane,
    Leader,
    Let,
    Local,
    Loops,
    Origin,
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
    counted,
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
from vlad.core.extents import Extent

MOST_DIGITS = 2.0**24  # powers of two from here on are written as such


class Style:
    """How a language writes the parts of its expressions; this one is for display. `operands`, `outputs`: the names of the
    kernel's operands and outputs; without them they are numbered."""

    def __init__(self, operands: Sequence[str] = (), outputs: Sequence[str] = ()) -> None:
        self.named: dict[Origin, Sequence[str]] = {Origin.OPERAND: operands, Origin.OUTPUT: outputs}

    def array(self, array: Array) -> str:
        of, names = array.of, self.named.get(array.origin)
        if names and type(of) is int:
            return names[of]
        match array.origin:
            case Origin.LANES:
                return f"{of}__lanes"
            case Origin.SHARED:
                return f"shared_{of}"
        return f"{array.origin.value}{of}"

    def name(self, name: str) -> str:
        return name

    def number(self, number: Number) -> str:
        if number.kind in ("int", "index", "int64", "int32"):
            return str(number.value if type(number.value) is Extent else int(number.value))
        return power_text(number.value) or repr(float(number.value))

    def entry(self, entry: Element) -> str:
        vector = " as vector" if entry.is_vector else ""
        return f"{self.array(entry.array)}[{text_of(entry.position, self)}]{vector}"

    def at(self, name: str, stride: int) -> Expression:
        """A computed place, times its stride."""
        return multiple(name, stride)

    def scalar(self, scalar: Scalar) -> str:
        return self.array(Array(Origin.OPERAND, scalar.number, "float64"))

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
            space = " " if _begins_with(value.operator, value.operand) else ""
            return f"{value.operator}{space}{_text(value.operand, style, UNARY)}", UNARY
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
            return _text_and_level(_sum(value, style), style)
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


def _begins_with(operator: str, operand: Expression | Value) -> bool:
    """Does the text of an operand of a prefix begin with the same sign, with which it would be another operator?"""
    if type(operand) is Number:
        return operator == "-" and math.copysign(1, operand.value) < 0
    return type(operand) is Unary and operand.operator == operator


def multiple(name: str, stride: int) -> Expression:
    return Name(name) if stride == 1 else Binary("*", counted(stride), Name(name))


def _sum(position: Position, style: Style) -> Expression:
    """A position as a sum of products."""
    terms = [multiple(index, stride) for index, stride in position.strides]
    terms += [style.at(name, stride) for name, stride in position.at]
    if position.offset or not terms:
        terms.append(counted(position.offset))
    return reduce(lambda left, right: Binary("+", left, right), terms)


def power_text(value: float) -> str:
    """A large power of two, "" if it is none."""
    fraction, exponent = math.frexp(value)
    return f"0x1p{exponent - 1}" if fraction == 0.5 and value >= MOST_DIGITS else ""


def loops_text(loops: Loops) -> str:
    """The loops of a kernel, its declarations before and its conversions after them."""
    lines = _Lines(Style(loops.operands, loops.outputs))
    text = [*lines.of(loops.declared)]
    for nest in loops.nests:
        if nest.parts is not None:
            text.append(f"in parts of the {nest.parts.rows} indices")
        text += lines.of(nest.body) if nest.parts is None else lines.inside(nest.body)
    return "\n".join([*text, *lines.of(loops.converted)])


def function_text(function: GridFunction) -> str:
    """A function for a GPU."""
    lines = _Lines(PEOPLE)
    head = f"{function.name}: {function.blocks} blocks of {function.threads} threads"
    passes = f", {function.passes} times" if function.passes > 1 else ""
    return "\n".join([head + passes, *lines.inside(function.nest.body)])


class _Lines:
    """The lines of statements."""

    def __init__(self, style: Style) -> None:
        self.style = style

    def text(self, value: Value) -> str:
        return text_of(value, self.style)

    def array(self, array: Array) -> str:
        return self.style.array(array)

    def of(self, body: Body) -> Iterator[str]:
        for statement in body:
            yield from self._statement(statement)

    def inside(self, body: Body) -> Iterator[str]:
        return (f"  {line}" for line in self.of(body))

    def _statement(self, statement: Statement) -> Sequence[str] | Iterator[str]:
        match statement:
            case For():
                return [f"for {self._range(statement)}{_marks(statement)}", *self.inside(statement.body)]
            case Scope():
                return ["do", *self.inside(statement.body)]
            case If():
                lines = [f"if {self.text(statement.test)}", *self.inside(statement.consequent)]
                return [*lines, *self._after("else", statement.alternative)]
            case Versions():
                return [*self._cases(statement.cases), *self._after("elsewhere", statement.otherwise)]
            case Speculate():
                begun = f"try, {statement.flag} where {self.text(statement.far)}"
                again = [f"if {statement.flag}", *self.inside(statement.otherwise)]
                return [begun, *self._cases(statement.attempts), *again]
        return [self._line(statement)]

    def _cases(self, cases: Sequence[tuple[Condition, Body]]) -> Iterator[str]:
        for condition, body in cases:
            yield f"where {condition.value}"
            yield from self.inside(body)

    def _after(self, word: str, body: Body) -> Iterator[str]:
        if body:
            yield word
            yield from self.inside(body)

    def _line(self, statement: Statement) -> str:
        match statement:
            case Let(name=name, kind=kind, value=value):
                return f"{name}: {kind} = {self.text(value)}"
            case Variables(names=names, kind=kind, start=start):
                return f"var {', '.join(names)}: {kind}{self._first(start)}"
            case Local(array=array, size=size, start=start):
                return f"array {self.array(array)}: {size} {array.kind}{self._first(start)}"
            case Allocate(array=array, words=words, place=place):
                where = "" if place is None else f", at the place of result {place}"
                return f"new {self.array(array)}: {array.kind}, {words} words{where}"
            case Alias(array=array, of=of):
                return f"{self.array(array)}: {array.kind} lies over {self.array(of)}"
            case Assign(name=name, value=value):
                return f"{name} := {self.text(value)}"
            case StoreElement(entry=entry, value=value):
                return f"{self.text(entry)} := {self.text(value)}"
            case Accumulate(target=target, value=value, combine=combine):
                atomic = " atomically" if statement.is_atomic else ""
                return f"{self.text(target)} {combine}= {self.text(value)}{atomic}"
            case Poll(index=index, every=every):
                return "poll" if every == 1 else f"poll every {every} {index}"
            case Prefetch(entry=entry, ahead=ahead):
                return f"prefetch {self.text(entry)} + {ahead}"
            case Thread(name=name, count=count):
                return f"thread {name} < {count}"
            case Together():
                return f"together {statement.name}: {statement.combine} of {statement.threads} threads"
            case Leader():
                return "first thread"
        raise AssertionError(statement)

    def _first(self, start: Value | None) -> str:
        return "" if start is None else f" = {self.text(start)}"

    def _range(self, loop: For) -> str:
        begin = "" if loop.begin is None else f" from {self.text(loop.begin)}"
        step = ""
        if loop.step not in (0, 1):
            step = f" by {loop.step}" if type(loop.step) is int else f", then {self.text(loop.step)}"
        return f"{loop.index}{begin} {'to' if loop.is_closed else 'below'} {self.text(loop.end)}{step}"


def _marks(loop: For) -> str:
    marks = [f"unrolled {loop.unroll}"] if loop.unroll else []
    if loop.simd is not None:
        reductions = [f"{sign} of {', '.join(names)}" for sign, names in loop.simd.reductions]
        marks.append(" ".join(["parallel", *reductions, *(["left"] if loop.simd.is_left else [])]))
        marks += [f"{loop.simd.unrolls} turns at once"] if loop.simd.unrolls else []
    return "".join([f"; {mark}" for mark in marks])
