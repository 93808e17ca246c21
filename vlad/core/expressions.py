"""Expressions of C as trees: what the rows of the table state as text, and what loops over arrays are made of.

In: the text of an expression, `fabs(fmod({x}, 2)) == 1`.  Out: its tree, read once for each text, and what it calls. Grammar:
C's, by operator precedence (Pratt 1973), of numbers, {operand}s, casts to long, calls, unary and binary operators and ?:.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

WEAKEST, UNARY, TIGHTEST = (
    0,
    12,
    14,
)  # levels of precedence: of ?:, of prefixes, and of what needs no parentheses
LEVELS = {
    "||": 1,
    "&&": 2,
    "|": 3,
    "&": 4,
    "==": 5,
    "!=": 5,
    "<": 6,
    ">": 6,
    "<=": 6,
    ">=": 6,
    "+": 8,
    "-": 8,
    "*": 9,
    "/": 9,
    "%": 9,
}
READ_BINARY = frozenset(LEVELS) - {"|", "&", "%"}
MOST_CHARACTERS = 4000
DEEPEST = 40  # expressions within each other
_TOKEN = re.compile(
    r"\s*(?:(\{\w+\})|((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|([A-Za-z_]\w*)|(&&|\|\||[<>=!]=|[-+*/<>!?:(),]))"
)


class Name(NamedTuple):
    """An operand of a row; in a loop a variable."""

    name: str


class Number(NamedTuple):
    """A constant of a kind of number; of kind "int" C's own."""

    value: float
    kind: str


class Unary(NamedTuple):
    """`operator`: - + or !"""

    operator: str
    operand: Expression


class Binary(NamedTuple):
    operator: str
    left: Expression
    right: Expression


class Conditional(NamedTuple):
    test: Expression
    consequent: Expression
    alternative: Expression


class Convert(NamedTuple):
    """A number as one of another kind. `rounds`: to an integer from what may be no integer, as functions.c has it."""

    kind: str
    operand: Expression
    rounds: bool = False


class Call(NamedTuple):
    """A function of C's library, or of functions.c, for numbers of a kind: floats have functions of their own."""

    function: str
    operands: tuple[Expression, ...]
    kind: str = "float64"


Expression: TypeAlias = "Name | Number | Unary | Binary | Conditional | Convert | Call"


class NoExpression(Exception):
    """A text is none; `reason` is for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@cache
def read(text: str) -> Expression:
    """The tree of a row's text. Raises NoExpression."""
    return _Reader(text).whole()


def parts(expression: Expression) -> Sequence[Expression]:
    """What an expression is made of, one level deep."""
    match expression:
        case Unary() | Convert():
            return (expression.operand,)
        case Binary():
            return expression.left, expression.right
        case Conditional():
            return expression
        case Call():
            return expression.operands
    return ()


def with_parts(expression: Expression, found: Sequence[Expression]) -> Expression:
    """The same of other parts."""
    match expression:
        case Unary() | Convert():
            return expression._replace(operand=found[0])
        case Binary():
            return expression._replace(left=found[0], right=found[1])
        case Conditional():
            return Conditional(*found)
        case Call():
            return expression._replace(operands=tuple(found))
    return expression


def all_parts(expression: Expression) -> Iterator[Expression]:
    """An expression and all within it."""
    yield expression
    for part in parts(expression):
        yield from all_parts(part)


@cache
def functions_called(text: str) -> frozenset[str]:
    """The functions of C that a row's text calls."""
    return frozenset([part.function for part in all_parts(read(text)) if type(part) is Call])


@cache
def chooses(text: str) -> bool:
    """Has a row's text a choice?"""
    return any(type(part) is Conditional for part in all_parts(read(text)))


@cache
def is_costly(text: str) -> bool:
    """Does a row's text take more than a few cycles: does it call a function, or divide?"""
    divides = any(type(part) is Binary and part.operator == "/" for part in all_parts(read(text)))
    return divides or bool(functions_called(text))


def substituted(expression: Expression, operands: Mapping[str, Expression]) -> Expression:
    """An expression with others in the place of its names."""
    if type(expression) is Name:
        return operands[expression.name]
    inner = parts(expression)
    return with_parts(expression, [substituted(part, operands) for part in inner]) if inner else expression


def of_kind(expression: Expression, kind: str) -> Expression:
    """A row's expression on numbers of a kind: its constants and calls are of that kind, too."""
    match expression:
        case Number() if expression.kind != "int":
            return Number(expression.value, kind)
        case Call():
            return Call(expression.function, tuple([of_kind(one, kind) for one in expression.operands]), kind)
    inner = parts(expression)
    return with_parts(expression, [of_kind(part, kind) for part in inner]) if inner else expression


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens = list(_cut(text))
        self.at = 0
        self.depth = 0

    def peek(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def expect(self, token: str) -> None:
        found = self.next()
        if found != token:
            raise NoExpression(f"`{token}` is missing before {f'`{found}`' if found else 'its end'}")

    def whole(self) -> Expression:
        try:
            found = self.choice()
        except RecursionError:
            raise NoExpression("it nests too deeply") from None
        if self.peek():
            raise NoExpression(f"`{self.peek()}` is not expected")
        return found

    def choice(self) -> Expression:
        """test ? a : b, or less."""
        test = self.binary(1)
        if self.peek() != "?":
            return test
        self.next()
        consequent = self.choice()
        self.expect(":")
        return Conditional(test, consequent, self.choice())

    def binary(self, level: int) -> Expression:
        left = self.unary()
        while self.peek() in READ_BINARY and LEVELS[self.peek()] >= level:
            operator = self.next()
            left = Binary(operator, left, self.binary(LEVELS[operator] + 1))
        return left

    def unary(self) -> Expression:
        self.depth += 1
        if self.depth > DEEPEST:
            raise NoExpression("it nests too deeply")
        found = self.operand_or_sign()
        self.depth -= 1
        return found

    def operand_or_sign(self) -> Expression:
        token = self.next()
        if token in ("-", "+", "!"):
            return Unary(token, self.unary())
        if token == "(":
            if (self.peek(), self.peek(1)) == ("long", ")"):
                self.at += 2
                return Convert("int64", self.unary())
            inside = self.choice()
            self.expect(")")
            return inside
        if token[:1].isdigit() or token[:1] == ".":
            value = float(token)
            if value - value != 0:
                raise NoExpression(f"{token} is too large")
            return Number(value, "int" if token.isdigit() else "float64")
        if token[:1] == "{":
            return Name(token[1:-1])
        if token and (token[0].isalpha() or token[0] == "_"):
            return self.call(token)
        raise NoExpression(f"an operand is missing {f'before `{token}`' if token else 'at its end'}")

    def call(self, name: str) -> Expression:
        if self.peek() != "(":
            raise NoFunction(name, self.peek())
        self.next()
        given = [self.choice()]
        while self.peek() == ",":
            self.next()
            given.append(self.choice())
        self.expect(")")
        return Call(name, tuple(given))


class NoFunction(NoExpression):
    """A name stands for nothing where it is not called."""

    def __init__(self, name: str, following: str) -> None:
        super().__init__(f"`(` is missing before {f'`{following}`' if following else 'its end'}")
        self.name = name


def _cut(text: str) -> Iterator[str]:
    text, end = text.rstrip(), 0
    if len(text) > MOST_CHARACTERS:
        raise NoExpression(f"it is longer than {MOST_CHARACTERS} characters")
    while end < len(text):
        match = _TOKEN.match(text, end)
        if match is None:
            raise NoExpression(f"`{text[end:].strip()[:1]}` is no part of an expression")
        yield match.group().strip()
        end = match.end()
