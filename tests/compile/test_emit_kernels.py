"""Loops over arrays: which statements are inside which loop, and that they return the results of tier 0."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from agreement import same
from loop_cases import loop_lines

import vlad
from vlad.compile.calling.pipeline import Unit
from vlad.core.loop_nests import Access, Kernel, Output, Read, Step, Write
from vlad.primitives.table import TABLE
from vlad.python.convert import from_python


def lines(rows: int, columns: int) -> list[str]:
    """Those of a[i] exp(b) + c[j], for an array a of one number a row and c of one a column."""
    kernel = Kernel(
        (rows, columns),
        (Read(0, Access(0, (1, 0))), Read(1, Access(0, (0, 0))), Read(2, Access(0, (0, 1)))),
        (Step(TABLE["exp"], (1,)), Step(TABLE["*"], (0, 3)), Step(TABLE["+"], (4, 2))),
        (Output(rows * columns),),
        (Write(0, 5, Access(0, (columns, 1))),),
    )
    return loop_lines(kernel, ["a", "b", "c"], ["r"])


def test_what_an_inner_loop_does_not_change_is_found_before_it() -> None:
    found = lines(4, 100)
    outer, inner = [index for index, line in enumerate(found) if line.startswith("for")]
    places = {
        f"x{value}": next(i for i, line in enumerate(found) if line.startswith(f"x{value}: "))
        for value in range(6)
    }
    assert max(places["x1"], places["x3"]) < outer < min(places["x0"], places["x4"])
    assert max(places["x0"], places["x4"]) < inner < min(places["x2"], places["x5"])
    assert found[inner] == "for i1 from 0 below 100; parallel"


@pytest.mark.parametrize("rows, columns", [(0, 100), (100, 0)])
def test_without_turns_nothing_is_read(rows: int, columns: int) -> None:
    found = lines(rows, columns)
    inner = max(index for index, line in enumerate(found) if line.startswith("for"))
    assert all(index > inner for index, line in enumerate(found) if line.startswith("x"))


TEXT = "(lambda (a b c) ((gradient-R (lambda (a) (sum (logsumexp (+ (* a (exp b)) c) #:axis 1)))) a))"


@pytest.mark.parametrize("rows, columns", [(1, 1), (3, 20), (20, 3), (1, 9), (9, 1), (0, 4)])
def test_as_tier_0(rows: int, columns: int) -> None:
    r = np.random.default_rng(rows)
    operands = r.normal(size=(rows, 1)), r.normal(size=(1, 1)), r.normal(size=columns)
    compiled, evaluated = [vlad.Session(tier=tier).eval(TEXT) for tier in ("compile", "evaluate")]
    np.testing.assert_allclose(compiled(*operands), evaluated(*operands), rtol=1e-12)


@pytest.mark.parametrize("length", [7, 8, 9, 17, 63, 64, 65, 66, 67, 1000])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_the_greatest_and_the_least_wherever_they_are(length: int, dtype: str) -> None:
    """Long rows are searched in parts side by side."""
    extreme = vlad.Session(tier="compile").eval(
        "(lambda (t) (list (maximum t) (minimum t) (maximum (- 1 t) #:axis 0) (minimum t #:axis 1)))"
    )
    rows = np.random.default_rng(length).normal(size=(3, length)).astype(dtype)
    for place in range(0, length, 1 + length // 100):
        found = rows.copy()
        found[place % 3, place] = 100
        found[place % 3, place - 1] = -100
        assert_extremes(extreme(found), found)
        if dtype != "int64":
            found[place % 3, place] = math.nan
            assert_extremes(extreme(found), found)
    assert_extremes(extreme(np.full_like(rows, -9)), np.full_like(rows, -9))


def assert_extremes(found: Any, of: Any) -> None:
    wanted = of.max(), of.min(), (1 - of).max(axis=0), of.min(axis=1)
    for answer, true in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(answer, true)


@pytest.mark.any_compiler
def test_equal_loops_of_a_large_unit_are_one_function() -> None:
    """Also those with several results, of which some are reals, and those that write over what they read."""
    layer = "(lambda (y) (let* ((s (tanh (cumsum y))) (t (sum s))) (+ (* s (/ t 1e3)) (sin s))))"
    text = f"(lambda (x) (let ((layer {layer})) {'(layer ' * 18}x{')' * 18}))"
    both = f"(lambda (x) (let ((f {text})) (list (f x) ((gradient (lambda (x) (sum (square (f x))))) x))))"
    x = np.sin(np.arange(300.0))
    session = vlad.Session(tier="compile")
    code, *environment = session.eval(both).value
    captured = tuple(environment[: len(code.environment)])
    text = Unit(session.machine, code, captured, (from_python(x),)).text
    assert text.count("= vlad_loops_") > 50 > 20 > text.count("noinline)) ") > 2
    assert same(session.eval(both)(x), vlad.Session(tier="evaluate").eval(both)(x))
