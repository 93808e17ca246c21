"""A C rule that a user states: text → tokens → the C that is compiled, and a Python function that computes the same.

Arithmetic on doubles: numbers, {operands}, + - * /, comparisons, && || !, ?: and functions of C's library that take and answer
doubles. Anything else is refused, so that nothing of the user's is ever C but an expression. Numbers become doubles, for 1/2 is 0
in C. Grammar: C's, by operator precedence (Pratt 1973).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from vlad.compile.emit.functions import ONE, TWO
from vlad.data.errors import VladError
from vlad.primitives.numbers import divide

_TOKEN = re.compile(
    r"\s*(?:(\{\w+\})|((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|([A-Za-z_]\w*)|(&&|\|\||[<>=!]=|[-+*/<>!?:(),]))"
)
_LEVELS = {
    "||": 1,
    "&&": 2,
    "==": 3,
    "!=": 3,
    "<": 4,
    ">": 4,
    "<=": 4,
    ">=": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
}
_PYTHON = {"||": "or", "&&": "and"}
_NAMED: dict[str, Callable[..., float]] = {"tgamma": math.gamma, "rint": round, "fabs": math.fabs}
MOST_CHARACTERS = 4000
DEEPEST = 40  # expressions within each other

Both = tuple[str, str]  # an expression in C and in Python


def read_expression(name: str, text: str, operands: tuple[str, ...]) -> tuple[str, Callable[..., float]]:
    """The C of a rule, and the function of the operands that it is. Raises VladError where it is no such expression."""
    parser = _Parser(name, text, operands)
    names = {function: _function(function) for function in (*ONE, *TWO)} | {"divide": divide}
    parameters = [_plain(operand) for operand in operands]
    try:
        c, python = parser.whole()
        computed: Callable[..., float] = eval(f"lambda {', '.join(parameters)}: float({python})", names)
    except (SyntaxError, RecursionError, MemoryError):
        raise parser.wrong("it nests too deeply") from None
    return c, computed


def _function(name: str) -> Callable[..., float]:
    function: Callable[..., float] = _NAMED.get(name) or getattr(math, name)

    def quietly(*operands: float) -> float:
        try:
            return float(function(*operands))
        except (ValueError, OverflowError):
            return math.nan

    return quietly


def _plain(operand: str) -> str:
    return "v_" + operand


class _Parser:
    def __init__(self, name: str, text: str, operands: tuple[str, ...]) -> None:
        self.name = name
        self.text = text
        self.operands = operands
        self.tokens: list[str] = []
        self.at = 0
        self.depth = 0
        self._cut()

    def _cut(self) -> None:
        text, end = self.text.rstrip(), 0
        if len(text) > MOST_CHARACTERS:
            raise self.wrong(f"it is longer than {MOST_CHARACTERS} characters")
        while end < len(text):
            match = _TOKEN.match(text, end)
            if match is None:
                raise self.wrong(f"`{text[end:].strip()[:1]}` is no part of an expression")
            self.tokens.append(match.group().strip())
            end = match.end()

    def wrong(self, why: str) -> VladError:
        return VladError(
            "invalid-rule",
            f"The rule of {self.name} in C is not understood: {why}",
            hint="an expression of numbers, {operand}s, operators, parentheses and functions such as exp and pow",
        )

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def expect(self, token: str) -> None:
        found = self.next()
        if found != token:
            raise self.wrong(f"`{token}` is missing before {f'`{found}`' if found else 'its end'}")

    def whole(self) -> Both:
        found = self.choice()
        if self.peek():
            raise self.wrong(f"`{self.peek()}` is not expected")
        return found

    def choice(self) -> Both:
        """test ? a : b, or less."""
        test = self.binary(1)
        if self.peek() != "?":
            return test
        self.next()
        yes = self.choice()
        self.expect(":")
        no = self.choice()
        return f"({test[0]} ? {yes[0]} : {no[0]})", f"({yes[1]} if {test[1]} else {no[1]})"

    def binary(self, level: int) -> Both:
        left = self.unary()
        while _LEVELS.get(self.peek(), 0) >= level:
            operator = self.next()
            right = self.binary(_LEVELS[operator] + 1)
            c = f"({left[0]} {operator} {right[0]})"
            if operator == "/":
                left = c, f"divide({left[1]}, {right[1]})"
            elif operator in _PYTHON:
                left = c, f"bool({left[1]} {_PYTHON[operator]} {right[1]})"
            else:
                left = c, f"({left[1]} {operator} {right[1]})"
        return left

    def unary(self) -> Both:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.wrong("it nests too deeply")
        found = self.operand_or_sign()
        self.depth -= 1
        return found

    def operand_or_sign(self) -> Both:
        token = self.next()
        if token in ("-", "+"):
            c, python = self.unary()
            return f"({token} {c})", f"({token} {python})"
        if token == "!":
            c, python = self.unary()
            return f"(!{c})", f"(not {python})"
        if token == "(":
            inside = self.choice()
            self.expect(")")
            return inside
        if token[:1].isdigit() or token[:1] == ".":
            return self.number(token)
        if token[:1] == "{":
            return self.operand(token[1:-1])
        if token and (token[0].isalpha() or token[0] == "_"):
            return self.call(token)
        raise self.wrong(f"an operand is missing {f'before `{token}`' if token else 'at its end'}")

    def number(self, token: str) -> Both:
        if not math.isfinite(float(token)):
            raise self.wrong(f"{token} is too large")
        return repr(float(token)), repr(float(token))

    def operand(self, name: str) -> Both:
        if name not in self.operands:
            raise self.wrong(f"{{{name}}} is no operand; there is {' '.join(self.operands)}")
        return f"{{{name}}}", _plain(name)

    def call(self, name: str) -> Both:
        count = 1 if name in ONE else 2 if name in TWO else 0
        if not count:
            is_operand = f"; the operand is written {{{name}}}" if name in self.operands else ""
            raise self.wrong(f"`{name}` is no function that may be used{is_operand}")
        self.expect("(")
        given = [self.choice()]
        for _ in range(count - 1):
            self.expect(",")
            given.append(self.choice())
        self.expect(")")
        return tuple([f"{name}({', '.join(parts)})" for parts in zip(*given, strict=True)])  # type: ignore[return-value]
