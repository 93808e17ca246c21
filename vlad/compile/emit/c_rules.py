"""A user's rule in C: text → tree (core/expressions.py) → the C that is compiled, and a Python function that computes the same.

Arithmetic on doubles: numbers, {operands}, + - * /, comparisons, && || !, ?: and functions of C's library that take and return
doubles. Anything else is refused, so that a rule cannot inject other C. Numbers become doubles, since 1/2 is 0 in C.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from vlad.compile.emit.loop_text import expression_text
from vlad.compile.runtime.functions import ONE, TWO
from vlad.core.expressions import (
    Binary,
    Call,
    Conditional,
    Convert,
    Expression,
    Name,
    NoExpression,
    NoFunction,
    Number,
    Unary,
    parts,
    read,
    with_parts,
)
from vlad.data.errors import VladError
from vlad.primitives.numbers import divide

_PYTHON = {"||": "or", "&&": "and"}
_NAMED: dict[str, Callable[..., float]] = {"tgamma": math.gamma, "rint": round, "fabs": math.fabs}


def read_expression(name: str, text: str, operands: tuple[str, ...]) -> tuple[str, Callable[..., float]]:
    """The C of a rule, and the function of the operands that it computes. Raises VladError if the text is no such expression."""
    names = {function: _function(function) for function in (*ONE, *TWO)} | {"divide": divide}
    parameters = [_plain(operand) for operand in operands]
    try:
        expression = _of_doubles(read(text), operands)
        c = expression_text(expression, {operand: f"{{{operand}}}" for operand in operands}, set())
        python = _python(expression)
        computed: Callable[..., float] = eval(f"lambda {', '.join(parameters)}: float({python})", names)
    except NoExpression as none:
        if isinstance(none, NoFunction) and none.name not in (*ONE, *TWO):
            raise _wrong(name, _no_function(none.name, operands)) from None
        raise _wrong(name, none.reason) from None
    except (SyntaxError, RecursionError, MemoryError):
        raise _wrong(name, "it nests too deeply") from None
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


def _wrong(name: str, why: str) -> VladError:
    return VladError(
        "invalid-rule",
        f"The rule of {name} in C is not understood: {why}",
        hint="an expression of numbers, {operand}s, operators, parentheses and functions such as exp and pow",
    )


def _no_function(name: str, operands: Sequence[str]) -> str:
    is_operand = f"; the operand is written {{{name}}}" if name in operands else ""
    return f"`{name}` is no function that may be used{is_operand}"


def _of_doubles(expression: Expression, operands: Sequence[str]) -> Expression:
    """The same expression, with numbers that are doubles. Raises NoExpression if it contains anything that a rule must not."""
    match expression:
        case Number():
            return Number(expression.value, "float64")
        case Name() if expression.name not in operands:
            raise NoExpression(f"{{{expression.name}}} is no operand; there is {' '.join(operands)}")
        case Convert():
            raise NoExpression(_no_function("long", operands))
        case Call():
            count = 1 if expression.function in ONE else 2 if expression.function in TWO else 0
            if not count:
                raise NoExpression(_no_function(expression.function, operands))
            if len(expression.operands) != count:
                missing, found = (")", ",") if len(expression.operands) > count else (",", ")")
                raise NoExpression(f"`{missing}` is missing before `{found}`")
    inner = parts(expression)
    return with_parts(expression, [_of_doubles(part, operands) for part in inner]) if inner else expression


def _python(expression: Expression) -> str:
    texts = [_python(part) for part in parts(expression)]
    match expression:
        case Name():
            return _plain(expression.name)
        case Number():
            return repr(expression.value)
        case Unary():
            return f"({'not' if expression.operator == '!' else expression.operator} {texts[0]})"
        case Binary(operator="/"):
            return f"divide({texts[0]}, {texts[1]})"
        case Binary(operator="||" | "&&" as operator):
            return f"bool({texts[0]} {_PYTHON[operator]} {texts[1]})"
        case Binary():
            return f"({texts[0]} {expression.operator} {texts[1]})"
        case Conditional():
            return f"({texts[1]} if {texts[0]} else {texts[2]})"
        case Call():
            return f"{expression.function}({', '.join(texts)})"
    raise AssertionError(expression)
