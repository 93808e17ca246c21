"""Expressions of C as trees: what rows state is read once, printed again, and what it calls and costs is known."""

from __future__ import annotations

import pytest

from vlad.compile.emit.loop_text import expression_text
from vlad.core.expressions import (
    Binary,
    Name,
    NoExpression,
    Number,
    functions_called,
    is_costly,
    of_kind,
    parts,
    read,
    substituted,
)
from vlad.primitives.table import TABLE

TEXTS = sorted({text for row in TABLE.values() for text in (row.c, row.whole) if text})


def printed(text: str, kind: str = "float64") -> str:
    names = {operand: f"{{{operand}}}" for row in TABLE.values() for operand in row.operands}
    return expression_text(of_kind(read(text), kind), names, set())


@pytest.mark.parametrize("text", TEXTS)
def test_what_rows_state_is_printed_with_as_few_parentheses_as_can_be(text: str) -> None:
    assert read(printed(text)) == read(text)
    assert len(printed(text)) <= len(text)
    assert [c for c in printed(text) if c not in "() "] == [c for c in text if c not in "() "]


@pytest.mark.parametrize(
    "text, called, costs",
    [
        ("{x} * {y}", set(), False),
        ("{x} / {y}", set(), True),
        ("fabs(fmod({x}, 2)) == 1", {"fabs", "fmod"}, True),
        ("(long){x} < 0 ? -{x} : {x}", set(), False),
        ("{exp} * ({sin} - 1)", set(), False),  # operands named as functions
    ],
)
def test_what_it_calls_and_whether_it_costs(text: str, called: set[str], costs: bool) -> None:
    assert functions_called(text) == called
    assert is_costly(text) == costs


def test_precedence_and_signs() -> None:
    assert read("{x} - {y} * 2") == Binary("-", Name("x"), Binary("*", Name("y"), Number(2, "int")))
    assert printed("-(-{x})") == "- -{x}"  # no decrement
    assert printed("({x} - {y}) - {x}") == "{x} - {y} - {x}"
    assert printed("{x} - ({y} - {x})") == "{x} - ({y} - {x})"
    assert printed("({x} > 0 ? {x} : 0) + 1") == "({x} > 0 ? {x} : 0) + 1"


def test_constants_and_functions_of_floats() -> None:
    assert printed("0.5 * exp(-{x}) + 1", "float32") == "0.5f * expf(-{x}) + 1"
    assert printed("vlad_conic({x}, {y})", "float32") == "vlad_conic({x}, {y})"  # which is there for doubles


def test_operands_take_the_place_of_names() -> None:
    inner = Binary("+", Name("x3"), Name("x4"))
    found = substituted(read("{x} * {x}"), {"x": inner})
    assert parts(found) == (inner, inner)
    assert expression_text(found, {"x3": "x3", "x4": "x4"}, set()) == "(x3 + x4) * (x3 + x4)"


@pytest.mark.parametrize(
    "text", ["{x} +", "{x} {y}", "sin", "({x}", "{x} @ {y}", "1e999", "(" * 90 + "1" + ")" * 90]
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(NoExpression):
        read(text)
