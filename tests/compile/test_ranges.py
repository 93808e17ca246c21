"""Value ranges: random loops with indices by their counters return the same compiled as evaluated, errors included; those with
counters within an extent test none of them."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import answer, same
from amounts import drawn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vlad
from vlad.compile.calling import pipeline
from vlad.compile.ir.program import Fail, Program, blocks
from vlad.core.ranges import Range
from vlad.data.values import Primitive
from vlad.primitives.table import TABLE

pytestmark = pytest.mark.any_compiler

NUMBERS = st.sampled_from([
    "-2", "-1", "-0.0", "0", "1", "2", "3", "5", "6", "7", "8", "0.5", "6.5", "x", "(/ 0 0)", "(/ 1 0)", "(/ -1 0)",
])  # fmt: skip
STEPS = st.sampled_from(["1", "2", "-1", "-2", "0.5", "x", "(if (> x 2) 1 -1)", "(/ 1 0)"])
TESTS = st.sampled_from(["<", "<=", ">", ">=", "="])
INDICES = st.sampled_from([
    "i", "(+ i 1)", "(- i 1)", "(- 6 i)", "(* 2 i)", "(modulo i 3)", "(floor (/ i 2))", "(min i 3)", "(max i 0)", "(* i j)",
    "(+ i j)", "(if (< i 0) (+ i 7) i)", "(if (and (>= i 0) (< i 7)) i 0)", "(if (or (< i 0) (>= i 7)) 0 i)",
    "(if (not (< i 7)) 6 i)",
    "(if (= i 3) i 2)", "(if (< i j) i j)", "(if (< i x) i 1)", "(+ i x)", "(- (min i 6) (min j 6))",
])  # fmt: skip


@st.composite
def loops(draw: st.DrawFn) -> str:
    """A loop of at most eleven turns, the inner of two if the other counter, j, has one."""
    begin, end, step, index = draw(NUMBERS), draw(NUMBERS), draw(STEPS), draw(INDICES)
    test = draw(TESTS)
    loop = f"""(let loop ((i {begin}) (turn 0) (s 0))
                 (if (and ({test} i {end}) (< turn 11)) (loop (+ i {step}) (+ turn 1) (+ (* 0.5 s) (tensor-ref t {index}))) s))"""
    if "j" not in index:
        return loop
    return f"""(let outer ((j {draw(NUMBERS)}) (turn 0) (sum 0))
                 (if (and (< j {draw(NUMBERS)}) (< turn 5)) (outer (+ j 1) (+ turn 1) (+ sum {loop})) sum))"""


T = np.array([0.1, 0.7, -0.3, 1.9, 2.5, -1.1, 0.2])
EVALUATING, COMPILING = vlad.Session(tier="evaluate"), vlad.Session(tier="compile")


@settings(max_examples=drawn(540), deadline=None, suppress_health_check=list(HealthCheck))
@given(loops(), st.sampled_from([3.0, -1.0, 0.5, math.nan]))
def test_random_loops(loop: str, x: float) -> None:
    text = f"(lambda (t x) {loop})"
    assert same(*[answer(session, text, (T, x)) for session in (EVALUATING, COMPILING)]), (text, x)


WITHIN = {
    "one counter": "(let loop ((i 0) (s 0)) (if (< i (size t)) (loop (+ i 1) (+ s (tensor-ref t i))) s))",
    "down": "(let loop ((i (- (size t) 1)) (s 0)) (if (< i 0) s (loop (- i 1) (+ s (tensor-ref t i)))))",
    "a neighbour": "(let loop ((i 1) (s 0)) (if (< i (size t)) (loop (+ i 1) (+ s (tensor-ref t (- i 1)))) s))",
    "a step of two": "(let loop ((i 0) (s 0)) (if (< i (size t)) (loop (+ i 2) (+ s (tensor-ref t i))) s))",
    "two counters": """(let outer ((i 0) (s 0))
                         (if (>= i (size t)) s
                             (outer (+ i 1)
                                    (let loop ((j 0) (s s)) (if (= j 3) s (loop (+ j 1) (+ s (* j (tensor-ref t i)))))))))""",
    "changes": """(sum (let loop ((i 0) (t t)) (if (< i (size t)) (loop (+ i 1) (tensor-set t i (* i (tensor-ref t i)))) t)))""",
}


@pytest.mark.parametrize("name", WITHIN)
def test_counters_within_an_extent_are_not_tested(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Neither in code for one length, nor in code for all."""
    programs: list[Program] = []
    improved = pipeline.improved

    def seen(program: Program, *options: Any) -> Program:
        programs.append(improved(program, *options))
        return programs[-1]

    monkeypatch.setattr(pipeline, "improved", seen)
    monkeypatch.setenv("VLAD_CACHE_DIR", str(tmp_path))
    session = vlad.Session(tier="compile")
    f = session.eval(f"(lambda (t) {WITHIN[name]})")
    g = EVALUATING.eval(f"(lambda (t) {WITHIN[name]})")
    for length in (40, 41, 57):
        t = np.linspace(0.0, 1.0, length)
        assert same(f(t), g(t))
    assert len(programs) == 2
    for program in programs:
        ends = [block.end for function in program.functions for block in blocks(function.body)]
        assert not any(type(end) is Fail for end in ends)


CORNERS = (-math.inf, -(2.0**53), -3.5, -2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 7.0, 2.0**53, math.inf)
RANGES = [
    Range(low, high, whole)
    for low in CORNERS
    for high in CORNERS
    if low <= high
    for whole in (False, True)
    if not whole or (low.is_integer() and high.is_integer() and math.isfinite(low) and math.isfinite(high))
]


@pytest.mark.parametrize("row", [row for row in TABLE.values() if row.range_of], ids=lambda row: row.name)
def test_the_range_of_a_row_contains_its_values(row: Primitive) -> None:
    draw = random.Random(row.name)
    for _ in range(3000):
        given = [draw.choice(RANGES) for _ in row.operands]
        values = [draw.choice([x for x in CORNERS if one.low <= x <= one.high]) for one in given]
        values = [math.floor(x) * 1.0 if one.whole else x for x, one in zip(values, given, strict=True)]
        found = row.range_of(*given)
        if found is not None:
            value = row.value(*values)
            assert found.low <= value <= found.high, (given, values)
            assert not found.whole or value.is_integer()
