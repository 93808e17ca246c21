"""Properties of core's rooms on random programs: text, check, simplify, tidy."""

from __future__ import annotations

import re
import sys
from collections import Counter

import pytest
from amounts import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from random_core import cells, lambdas
from reference import outcome

from vlad.core.check import Malformed, check
from vlad.core.names import make_lambda
from vlad.core.nodes import (
    Apply,
    Binding,
    Body,
    Call,
    Constant,
    Field,
    GlobalReference,
    If,
    Lambda,
    Letrec,
    Record,
    Variable,
)
from vlad.core.simplify import simplify, tidy
from vlad.core.text import print_core, read_core, read_expression
from vlad.data.errors import VladError
from vlad.data.values import NIL, ZERO, Global, Value, symbol
from vlad.primitives.table import TABLE

ARGUMENTS: list[list[Value]] = [[1.0, 2.0], [(0.5, NIL), -3.0], [NIL, (1.0, (2.0, NIL))]]


def read_back(text: str) -> Lambda:
    lambda_ = read_core(text, cells, TABLE)
    assert isinstance(lambda_, Lambda)
    return lambda_


def unnumbered(outcome: tuple[str, list[str], Counter[str]]) -> tuple[str, list[str], Counter[str]]:
    """Printing distinguishes variables of one name (`x`, `x.2`), and errors and written procedures quote names."""

    def plain(text: str) -> str:
        return re.sub(r"\.\d+\b", "", text)

    result, output, counts = outcome
    return plain(result), [plain(text) for text in output], counts


@settings(max_examples=drawn(400), deadline=None)
@given(lambdas())
def test_reading_what_was_printed_prints_the_same(lambda_: Lambda) -> None:
    text = print_core(lambda_)
    again = read_back(text)
    check(again)
    assert print_core(again) == text


@settings(max_examples=drawn(200), deadline=None)
@given(lambdas(), st.sampled_from(ARGUMENTS))
def test_what_was_read_back_means_the_same(lambda_: Lambda, arguments: list[Value]) -> None:
    assert unnumbered(outcome(read_back(print_core(lambda_)), arguments)) == unnumbered(
        outcome(lambda_, arguments)
    )


@settings(max_examples=drawn(800), deadline=None)
@given(lambdas(), st.sampled_from(ARGUMENTS))
def test_simplified_means_the_same_and_costs_no_more(lambda_: Lambda, arguments: list[Value]) -> None:
    simplified = simplify(lambda_)
    check(simplified)
    before, after = outcome(lambda_, arguments), outcome(simplified, arguments)
    if before[0] != "out of fuel":
        assert after[:2] == before[:2]
        assert after[2] <= before[2], "more primitives were applied"


@settings(max_examples=drawn(500), deadline=None)
@given(lambdas(), st.sampled_from(ARGUMENTS))
def test_tidied_means_the_same_where_nothing_is_raised(lambda_: Lambda, arguments: list[Value]) -> None:
    lambdas_of = {
        b.variable: b.rhs
        for b in lambda_.body.bindings
        if isinstance(b, Binding) and isinstance(b.rhs, Lambda)
    }
    kept = frozenset(lambdas_of.values())
    tidied = tidy(lambda_, kept)
    check(tidied)
    before, after = outcome(lambda_, arguments), outcome(tidied, arguments)
    if not before[0].startswith("error") and before[0] != "out of fuel":
        assert after[:2] == before[:2]
        assert after[2] <= before[2]
    for binding in tidied.body.bindings:
        if isinstance(binding, Binding) and binding.variable in lambdas_of:
            assert binding.rhs is lambdas_of[binding.variable], "a kept lambda is no longer the same node"


def test_names_in_text_cannot_be_taken_for_others() -> None:
    """Variables called like a keyword, a primitive that is applied, a global that is read, or another variable."""
    x, same, keyword, car = Variable("x"), Variable("x"), Variable("if"), Variable("car")
    body = Body(
        (
            Binding(same, Apply(TABLE["car"], (x,))),
            Binding(keyword, Constant(ZERO)),
            Binding(car, If(same, Body((), keyword), Body((), Constant(symbol("a b"))))),
        ),
        Call(car, (same,)),
    )
    text = print_core(make_lambda((x,), body))
    assert text == (
        "(lambda (x)\n  (let* ((x.1 (car x))\n         (if.1 #zero)\n"
        "         (car.1 (if x.1 if.1 (quote |a b|))))\n    (car.1 x.1)))"
    )
    assert print_core(read_back(text)) == text


def test_globals_that_hide_another_meaning_are_marked() -> None:
    """Names of core's notation always, others as the caller decides."""
    text = (
        "(lambda (x)\n  (let* ((t (#global:sin x))\n         (u (sin t))\n         (v (cons #global:zero u)))\n"
        "    (#global:record v #global:|#zero| #global:|#1=|)))"
    )
    read = read_core(text, cells, TABLE)
    assert print_core(read, lambda cell: cell.name == "sin") == text
    assert "((t (sin x))" in print_core(read)
    own = Global("sin")
    elsewhere = read_core("(lambda (x) (cons sin #global:sin))", cells, TABLE, marked=lambda name: own)
    assert isinstance(elsewhere, Lambda)
    (binding,) = elsewhere.body.bindings
    assert isinstance(binding, Binding) and isinstance(binding.rhs, Apply)
    theirs, ours = binding.rhs.operands
    assert isinstance(theirs, GlobalReference) and theirs.cell is not own
    assert isinstance(ours, GlobalReference) and ours.cell is own


def test_text_in_quotes_is_left_alone() -> None:
    text = '(lambda (x) (cons x "#1=(a) #zero #f#"))'
    assert outcome(read_back(text), [1.0])[0] == '(1 . "#1=(a) #zero #f#")'


def test_records_name_their_owners_by_label_or_by_name() -> None:
    owner = make_lambda((Variable("z"),), Body((), Variable("w")), "helper")
    text = (
        "(lambda (a)\n  (let* ((f #1=(lambda (b) (cons.1 a b)))\n         (r (record #1# a))\n"
        "         (p (field #1# 0 1 r))\n         (q (record #helper# p)))\n    q))"
    ).replace("(cons.1 a b)", "a")
    read = read_core(text, None, TABLE, owners={"helper": owner})
    assert print_core(read) == text
    with pytest.raises(VladError, match="no lambda #2#"):
        read_core("(lambda (a) (record #2# a))", None, TABLE)


def test_nested_expressions_are_flattened_in_the_order_of_evaluation() -> None:
    x, s = Variable("x"), Variable("s")
    body = read_expression(
        "(if (< x 0) (negate s) (let ((y (* s x))) (cons y zero)))", {"x": x, "s": s}, TABLE
    )
    assert print_core(body) == (
        "(let* ((t (< x 0)))\n  (if t\n      (let* ((r (negate s)))\n        r)\n"
        "      (let* ((y (* s x))\n             (r.1 (cons y #zero)))\n        r.1)))"
    )
    again = read_core(print_core(body), None, TABLE, variables={"x": x, "s": s})
    assert print_core(again) == print_core(body)


X, Y = Variable("x"), Variable("y")
SIN, PLUS = TABLE["sin"], TABLE["+"]
OWNER = make_lambda((Variable("b"),), Body((), X), "owner")
MALFORMED = {
    "is bound twice": Lambda((X,), Body((Binding(X, Constant(1.0)),), X), ()),
    "is used where it is not bound": Lambda((X,), Body((), Y), ()),
    "is captured where it is not bound": Lambda(
        (X,), Body((Binding(Y, Lambda((Variable("z"),), Body((), X), (Variable("w"),))),), Y), ()
    ),
    "[+] on 1 operands": Lambda((X,), Body((Binding(Y, Apply(PLUS, (X,))),), Y), ()),
    "a call without operands": Lambda((X,), Body((), Call(X, ())), ()),
    "a lambda without parameters": Lambda((), Body((), Constant(NIL)), ()),
    "an operand is an atom": Lambda((X,), Body((Binding(Y, Apply(SIN, (Apply(SIN, (X,)),))),), Y), ()),  # type: ignore[arg-type]
    "a result is an atom, a call or an if": Lambda((X,), Body((), Apply(SIN, (X,))), ()),  # type: ignore[arg-type]
    "a field outside its record": Lambda((X,), Body((Binding(Y, Field(SIN, 2, 2, X)),), Y), ()),  # type: ignore[arg-type]
    "a record of 2 fields for an environment of 1": Lambda(
        (X,),
        Body((Binding(Y, OWNER), Binding(Variable("r"), Record(OWNER, (X, X)))), Y),
        (),
    ),
    "is missing in the environment of its group": Lambda((X,), Body((Letrec(((Y, OWNER),), ()),), Y), ()),
}


@pytest.mark.parametrize("message", MALFORMED)
def test_check_reports_malformed_core(message: str) -> None:
    with pytest.raises(Malformed, match=message):
        check(MALFORMED[message])


def test_check_can_require_spans() -> None:
    lambda_ = read_back("(lambda (x) (let* ((y (sin x))) y))")
    check(lambda_)
    with pytest.raises(Malformed, match="does not say where it was written"):
        check(lambda_, spans=True)


def nested(depth: int) -> Lambda:
    """An if within an if within …, in value position and as result, and as many lambdas around."""
    x = Variable("x")
    body = Body((), x)
    for _ in range(depth):
        y = Variable("y")
        body = Body((Binding(y, If(x, body, Body((), x))),), If(y, Body((), y), Body((), x)))
    return make_lambda((x,), body)


def test_deep_nests_use_no_stack_of_c() -> None:
    depth, limit = 20_000, sys.getrecursionlimit()
    sys.setrecursionlimit(1_000_000)
    try:
        deep = nested(depth)
        check(deep)
        assert isinstance(simplify(deep), Lambda)
        assert isinstance(tidy(deep, frozenset()), Lambda)
        assert print_core(nested(2_000)).count("if") == 4_000
    finally:
        sys.setrecursionlimit(limit)


def test_long_bodies_take_linear_time() -> None:
    """A chain of values each read by the next, dead at its end, goes in one walk."""
    lines = " ".join([f"(v{i + 1} (car v{i}))" for i in range(3000)])
    lambda_ = read_back(f"(lambda (v0) (let* ({lines}) v0))")
    assert print_core(tidy(lambda_, frozenset())) == "(lambda (v0) v0)"
    assert len(simplify(lambda_).body.bindings) == 3000, "car may raise, so a program keeps it"
