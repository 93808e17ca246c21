"""Checks the table: every row is complete, total, and its fast form agrees with its complete rule."""

from __future__ import annotations

import itertools
import math
import random
import struct
from collections.abc import Callable
from typing import Any

import pytest
from amounts import drawn

from vlad.ad.rules import LEVEL, MULTIPLIED, Rule, steps_of
from vlad.data.errors import VladError
from vlad.data.values import FALSE, NIL, TRUE, ZERO, Deferred, Primitive, String, Value, symbol
from vlad.primitives.data import ROWS as DATA
from vlad.primitives.numbers import ROWS as NUMBERS
from vlad.primitives.table import TABLE

KINDS = {
    "real",
    "number",
    "boolean",
    "procedure",
    "any",
    "pair",
    "string",
    "symbol",
    "null",
    "some",
    "unspecified",
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.0, 3.0, -3.0, 1e-310, -5e-324, 1e-160, 1e16, 2.0**53,
           171.0, 171.75, 172.0, -171.5, -1e200, 1.7976931348623157e308, -1.7976931348623157e308, math.inf, -math.inf,
           math.nan]  # fmt: skip
WRONG: list[Value] = [
    NIL,
    TRUE,
    FALSE,
    (1.0, 2.0),
    (1.0, NIL),
    String("1"),
    symbol("a"),
    Deferred(lambda: (1.0, 2.0)),
]
SLOW = {"gamma", "lgamma", "log-gamma", "digamma", "polygamma"}


def rows(table: list[Primitive]) -> Any:
    return pytest.mark.parametrize("row", table, ids=lambda row: row.name)


REAL_ROWS = [row for row in NUMBERS if set(row.type.parameters) <= {"real", "number"}]
FAST_ROWS = [row for row in TABLE.values() if row.python]


def operands_of(row: Primitive, count: int) -> list[tuple[float, ...]]:
    """All tuples of special numbers up to three operands, then random ones of every magnitude."""
    r = random.Random(row.name)
    arity = len(row.operands)
    if arity < 3:
        out = list(itertools.product(SPECIAL, repeat=arity))
    else:
        out = [tuple([r.choice(SPECIAL) for _ in row.operands]) for _ in range(500)]
    while len(out) < count:
        out.append(tuple([any_float(r) for _ in row.operands]))
    return out


def any_float(r: random.Random) -> float:
    choice = r.random()
    if choice < 0.4:
        return r.uniform(-10, 10)
    if choice < 0.6:
        return float(r.randint(-20, 20))
    value: float = struct.unpack("d", struct.pack("Q", r.getrandbits(64)))[0]
    return value


def fast(row: Primitive) -> Callable[..., Value]:
    names = {"TRUE": TRUE, "FALSE": FALSE, "NIL": NIL, "ZERO": ZERO, **row.uses}
    form: Callable[..., Value] = eval(f"lambda {', '.join(row.operands)}: {row.python}", names)
    return form


def bits(value: Value) -> object:
    return struct.pack("d", value) if type(value) is float and value == value else repr(value)


def as_value(row: Primitive, found: Value) -> Value:
    if row.type.result == "boolean":
        assert type(found) is bool
        return TRUE if found else FALSE
    return found


@rows(list(TABLE.values()))
def test_has_every_column(row: Primitive) -> None:
    assert TABLE[row.name] is row
    assert row.doc and row.doc[-1] in ".?…", "a documentation line is a sentence or a question"
    assert len(row.type.parameters) == len(row.operands)
    assert {*row.type.parameters, row.type.result} <= KINDS | {"any"}
    assert row.operands and len(set(row.operands)) == len(row.operands)
    assert not {"r", "zero"} & set(row.operands)
    assert row.variadic in ("", "left", "chain")
    if row.partials is not None:
        assert set(row.partials) == set(row.operands) and MULTIPLIED not in row.operands
        assert row.type.result in ("real", "number")
    else:
        assert set(row.reverse or {}) <= set(row.operands)
    if row.variadic:
        assert len(row.operands) == 2


@rows(list(TABLE.values()))
def test_derivatives_are_written_in_rows_of_the_table(row: Primitive) -> None:
    """The basis is closed: a text that named anything else could not be read."""
    tangents = tuple(["d" + name for name in row.operands])
    for partial in (row.partials or {}).values():
        for text in steps_of(partial):
            Rule(text, (*row.operands, "r", MULTIPLIED), TABLE)
    if row.partials is None:
        level = (LEVEL,) if row.state else ()
        Rule(row.forward, (*row.operands, *tangents, "r", *level), TABLE)
        for text in (row.reverse or {}).values():
            Rule(text, (*row.operands, "r", "s", *level, *["~" + name for name in row.operands]), TABLE)
    if row.unary:
        Rule(row.unary, ("x",), TABLE)


@rows(REAL_ROWS)
def test_is_total_on_reals(row: Primitive) -> None:
    """No operation on reals ends in an error; the value is a float or a boolean of the language, nothing that resembles one."""
    for operands in operands_of(row, 1000):
        found = row.value(*operands)
        assert found is TRUE or found is FALSE or type(found) is float, (operands, found)
        assert (type(found) is float) == (row.type.result in ("real", "number"))


@rows(REAL_ROWS)
def test_refuses_other_kinds(row: Primitive) -> None:
    for wrong in WRONG:
        for position in range(len(row.operands)):
            operands: list[Value] = [2.0] * len(row.operands)
            operands[position] = wrong
            with pytest.raises(VladError, match="Argument to ") as caught:
                row.value(*operands)
            assert caught.value.code == "invalid-argument"
            assert caught.value.hint and "real" in caught.value.hint
            shown = "-" if row.name == "negate" else row.name
            assert caught.value.message == f"Argument to {shown} is invalid"


@rows(REAL_ROWS)
def test_takes_the_known_zero_for_zero(row: Primitive) -> None:
    """Code that transforms have made may hand it over."""
    for position in range(len(row.operands)):
        operands: list[Value] = [2.0] * len(row.operands)
        operands[position] = 0.0
        plain = row.value(*operands)
        operands[position] = ZERO
        found = row.value(*operands)
        assert plain == 0 if found is ZERO else bits(found) == bits(plain), (operands, plain, found)


def test_the_known_zero_stays_known() -> None:
    assert TABLE["*"].value(ZERO, math.nan) is ZERO
    assert TABLE["*"].value(math.inf, ZERO) is ZERO
    assert TABLE["/"].value(ZERO, 0.0) is ZERO
    assert TABLE["+"].value(ZERO, ZERO) is ZERO
    assert TABLE["-"].value(ZERO, ZERO) is ZERO
    assert TABLE["negate"].value(ZERO) is ZERO
    assert TABLE["-"].value(ZERO, 3.0) == -3.0
    assert TABLE["/"].value(-3.0, ZERO) == -math.inf


@rows([row for row in FAST_ROWS if row in REAL_ROWS])
def test_fast_form_agrees_bit_for_bit(row: Primitive) -> None:
    form = fast(row)
    for operands in operands_of(row, drawn(800 if row.name in SLOW else 10_000)):
        found, complete = as_value(row, form(*operands)), row.value(*operands)
        assert type(found) is type(complete) and bits(found) == bits(complete), (operands, found, complete)


@rows([row for row in FAST_ROWS if row in REAL_ROWS])
def test_fast_form_raises_where_the_rule_does(row: Primitive) -> None:
    """Alone, or next to an operand that is known to be a real, as the emitter ensures."""
    form = fast(row)
    for wrong in WRONG:
        for position in range(len(row.operands)):
            operands: list[Value] = [2.0] * len(row.operands)
            operands[position] = wrong
            with pytest.raises((TypeError, ValueError, AttributeError, VladError)):
                form(*operands)


@rows([row for row in DATA if row.python])
def test_fast_form_agrees_on_every_kind(row: Primitive) -> None:
    form = fast(row)
    kinds: list[Value] = [*WRONG, *SPECIAL, Deferred(lambda: ())]
    for operands in itertools.product(kinds, repeat=len(row.operands)):
        try:
            complete = row.value(*operands)
        except VladError:
            continue
        found = as_value(row, form(*operands))
        assert found == complete or bits(found) == bits(complete), operands


def test_names_used_by_fast_forms_mean_one_thing() -> None:
    """They share one namespace with each other and with the emitter's own names."""
    meaning: dict[str, object] = {}
    for row in FAST_ROWS:
        for name, value in row.uses.items():
            assert meaning.setdefault(name, value) is value or meaning[name] == value, name
            assert not (name[0].isupper() and name[1:].isdigit()), name
            assert name not in ("T", "S", "e", "self", "FAMILY", "bounce", "exhausted")
