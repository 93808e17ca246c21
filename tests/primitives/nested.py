"""Derivatives of rows, of any order, straight from the table: nested forward mode over the rows' own texts.

A value is a float, or a Dual of two values of lower levels. Applying a row to duals applies it to the primals, then sums
partial · tangent, where the partial's texts are evaluated on the primals by this same rule. This is what transformed code
computes, without the transforms, the evaluator and the compiler: an error here is an error of the table.
"""

from __future__ import annotations

from typing import Any

from vlad.ad.rules import MULTIPLIED, Rule, steps_of
from vlad.core.nodes import Apply, Body, Constant, If, Variable
from vlad.data.values import FALSE, TRUE, ZERO, Primitive
from vlad.primitives.table import TABLE


class Dual:
    __slots__ = ("level", "primal", "tangent")

    def __init__(self, level: int, primal: Any, tangent: Any) -> None:
        self.level = level
        self.primal = primal
        self.tangent = tangent


def primal(value: Any, level: int) -> Any:
    return value.primal if type(value) is Dual and value.level == level else value


def tangent(value: Any, level: int) -> Any:
    return value.tangent if type(value) is Dual and value.level == level else ZERO


_rules: dict[tuple[str, str], Rule] = {}


def rule(row: Primitive, text: str) -> Rule:
    found = _rules.get((row.name, text))
    if found is None:
        found = _rules[row.name, text] = Rule(text, (*row.operands, "r", MULTIPLIED), TABLE)
    return found


def apply(row: Primitive, *operands: Any) -> Any:
    """The row on values some of which are duals; the highest level is handled first."""
    level = max([operand.level for operand in operands if type(operand) is Dual], default=0)
    if level == 0:
        return row.value(*operands)
    primals = [primal(operand, level) for operand in operands]
    result = apply(row, *primals)
    if row.partials is None:
        if row.name == "where":
            return operands[1] if primals[0] is TRUE else operands[2]
        if row.name == "broadcast-like":  # of reals
            return operands[0]
        assert row.forward == "zero", row.name
        return result
    total: Any = ZERO
    for name, operand in zip(row.operands, operands, strict=True):
        partial, along = row.partials[name], tangent(operand, level)
        if along is not ZERO and partial != "zero":
            term = scaled(row, partial, dict(zip(row.operands, primals, strict=True)) | {"r": result}, along)
            total = apply(TABLE["+"], total, term)
    return result if total is ZERO else Dual(level, result, total)


def scaled(row: Primitive, partial: str | tuple[str, ...], actual: dict[str, Any], along: Any) -> Any:
    if partial == "1":
        return along
    steps = steps_of(partial)
    for text in steps:
        if text == "-1":
            continue
        step = rule(row, text)
        value = evaluate(step, actual | {MULTIPLIED: along})
        along = value if step.reads(MULTIPLIED) else apply(TABLE["*"], along, value)
    return apply(TABLE["negate"], along) if "-1" in steps else along


def evaluate(text: Rule, actual: dict[str, Any]) -> Any:
    environment = {text.formals[name]: value for name, value in actual.items()}
    return _body(text.body, environment)


def _body(body: Body, environment: dict[Variable, Any]) -> Any:
    for binding in body.bindings:
        environment[binding.variable] = _rhs(binding.rhs, environment)  # type: ignore[union-attr]
    return _rhs(body.result, environment)


def _rhs(rhs: Any, environment: dict[Variable, Any]) -> Any:
    match rhs:
        case Apply():
            return apply(rhs.primitive, *[_rhs(operand, environment) for operand in rhs.operands])
        case If():
            chosen = rhs.alternative if _rhs(rhs.test, environment) is FALSE else rhs.consequent
            return _body(chosen, dict(environment))
        case Constant():
            return rhs.value
    return environment[rhs]


def derivative(name: str, operands: tuple[float, ...], along: tuple[int, ...]) -> float:
    """The derivative of a row by its operands with the numbers in `along`, one after the other."""
    actual: list[Any] = [*operands]
    for level, index in enumerate(along, 1):
        actual[index] = Dual(level, actual[index], 1.0)
    result = apply(TABLE[name], *actual)
    for level in range(len(along), 0, -1):
        result = tangent(result, level)
    return 0.0 if result is ZERO else result
