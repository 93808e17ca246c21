"""Reductions with several accumulators: sums of short rows. (The maximum of long ones: test_emit_kernels.py.)"""

from __future__ import annotations

import numpy as np
import pytest

import vlad
from vlad.compile.emit.c_loops import kernel_lines
from vlad.compile.emit.multiple_accumulators import LANES, MOST_IN_LANES, Gathered, in_lanes
from vlad.compile.emit.needs import Needs
from vlad.core.loop_nests import Access, Kernel, Output, Read, Step, Write
from vlad.primitives.table import TABLE

SIMD = "#pragma omp simd"


def rows(columns: int, combine: str = "+", kind: str = "float64") -> str:
    """The loops that gather each row of squares."""
    kernel = Kernel(
        (100, columns),
        (Read(0, Access(0, (columns, 1)), kind),),
        (Step(TABLE["*"], (0, 0), kind),),
        (Output(100, kind=kind),),
        (Write(0, 1, Access(0, (1, 0)), combine),),
    )
    return "\n".join(kernel_lines(kernel, ["a"], ["r"], repr, Needs()))


def test_lines() -> None:
    assert in_lanes(["s = s + x[i1];"], 1, 18, [Gathered("s", "double", "+")], [SIMD]) == [
        "{",
        "  double s__lanes[8] = {0, 0, 0, 0, 0, 0, 0, 0};",
        "  for (long part = 0; part < 2; part++) {",
        SIMD,
        "    for (long lane = 0; lane < 8; lane++) {",
        "      long i1 = 8 * part + lane;",
        "      s__lanes[lane] = s__lanes[lane] + x[i1];",
        "    }",
        "  }",
        SIMD,
        "  for (long lane = 0; lane < 4; lane++) {",
        "    s__lanes[lane] += s__lanes[lane + 4];",
        "  }",
        SIMD,
        "  for (long lane = 0; lane < 2; lane++) {",
        "    s__lanes[lane] += s__lanes[lane + 2];",
        "  }",
        "  s__lanes[0] += s__lanes[1];",
        "  s += s__lanes[0];",
        "#pragma omp simd reduction(+: s)",
        "  for (long i1 = 16; i1 < 18; i1++) {",
        "    s = s + x[i1];",
        "  }",
        "}",
    ]


def test_lines_of_the_greatest() -> None:
    turn = ["s = x[i1] > s ? x[i1] : s;", "s__nan += x[i1] != x[i1];"]
    lines = in_lanes(turn, 1, 8, [Gathered("s", "double", "max", True)], [SIMD])
    assert "  double s__lanes[8] = {s, s, s, s, s, s, s, s};" in lines
    assert "  double s__nan__lanes[8] = {0, 0, 0, 0, 0, 0, 0, 0};" in lines
    assert "      s__lanes[lane] = x[i1] > s__lanes[lane] ? x[i1] : s__lanes[lane];" in lines
    assert "      s__nan__lanes[lane] += x[i1] != x[i1];" in lines
    assert (
        "    s__lanes[lane] = s__lanes[lane + 4] > s__lanes[lane] ? s__lanes[lane + 4] : s__lanes[lane];"
        in lines
    )
    assert lines[-4:-1] == [
        "  s = s__lanes[0] > s ? s__lanes[0] : s;",
        "  s__nan__lanes[0] += s__nan__lanes[1];",
        "  s__nan += s__nan__lanes[0];",
    ]


def test_which_rows() -> None:
    assert "__lanes[8]" in rows(LANES) and "__lanes[8]" in rows(MOST_IN_LANES - 1)
    assert "__lanes" not in rows(LANES - 1) + rows(MOST_IN_LANES) + rows(20, "*")
    assert "__lanes" in rows(20, "max") and "__lanes" in rows(MOST_IN_LANES - 1, "min")
    assert "__lanes" not in rows(20, kind="int64") + rows(20, "max", "int64")
    assert "double r__1__lanes[8]" in rows(20, kind="float32") and "float r__1__lanes[8]" in rows(
        20, "max", "float32"
    )


def test_who_may_reorder_sums_does_it_himself() -> None:
    found = rows(20)
    assert (
        found.index("#ifdef VLAD_FAST_MATH")
        < found.index("#else")
        < found.index("__lanes[8]")
        < found.index("#endif")
    )


TEXTS = [
    "(lambda (x y) (sum (* x y) #:axis 1))",
    "(lambda (x y) (sum (- (* x x) y) #:axis 0))",
    "(lambda (x y) (sum (* x x y)))",
    "(lambda (x y) ((gradient-R (lambda (y) (sum (square (sum (* x y) #:axis 1))))) y))",
    "(lambda (x y) (let ((s (sum x #:axis 1 #:keep #t))) (list s (- x s) (sum (* (- x s) x) #:axis 1))))",
]
EVALUATED, COMPILED = [
    {text: vlad.Session(tier=tier).eval(text) for text in TEXTS} for tier in ("evaluate", "compile")
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("columns", [7, 8, 9, 12, 16, 19, 20, 31, 40, 63, 64])
def test_as_tier_0(text: str, kind: str, columns: int) -> None:
    """Of whole numbers, whose sums are exact in every order."""
    r = np.random.default_rng(columns)
    x, y = [r.integers(-5, 6, shape).astype(kind) for shape in ((9, columns), (columns,))]
    found, expected = [
        answer if isinstance(answer, list) else [answer]
        for answer in (COMPILED[text](x, y), EVALUATED[text](x, y))
    ]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other, strict=isinstance(other, np.ndarray))


SOFTMAX = """(lambda (x y)
  (list (softmax x #:axis 1) (logsumexp x #:axis 1) ((gradient-R (lambda (x) (mean (logsumexp (+ x y) #:axis 1)))) x)))"""
SOFTENED = [vlad.Session(tier=tier).eval(SOFTMAX) for tier in ("evaluate", "compile")]


@pytest.mark.parametrize("kind, tolerance", [("float64", 1e-14), ("float32", 1e-6)])
@pytest.mark.parametrize("columns", [8, 9, 10, 11, 12, 15, 20, 21, 33, 50, 63])
def test_short_rows_of_exponentials(kind: str, tolerance: float, columns: int) -> None:
    """The remainder of a vectorised loop is a loop of its own."""
    r = np.random.default_rng(columns)
    x, y = [r.normal(size=shape).astype(kind) for shape in ((9, columns), (columns,))]
    x[3, columns - 1], x[4, 0], x[5, :] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected, found = [softened(x, y) for softened in SOFTENED]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
