"""Reductions with several accumulators: sums of short rows. (The maximum of long ones: test_emit_kernels.py.)"""

from __future__ import annotations

import numpy as np
import pytest
from agreement import side_by_side
from amounts import THOROUGH
from loop_cases import loop_lines

import vlad
from vlad.compile.loops.multiple_accumulators import LANES, MOST_IN_LANES
from vlad.core.loop_nests import Access, Kernel, Output, Read, Step, Write
from vlad.primitives.table import TABLE


def rows(columns: int, combine: str = "+", kind: str = "float64") -> str:
    """The loops that gather each row of squares."""
    kernel = Kernel(
        (100, columns),
        (Read(0, Access(0, (columns, 1)), kind),),
        (Step(TABLE["*"], (0, 0), kind),),
        (Output(100, kind=kind),),
        (Write(0, 1, Access(0, (1, 0)), combine),),
    )
    return "\n".join(loop_lines(kernel, ["a"], ["r"]))


def test_lines() -> None:
    text = rows(18)
    assert text[text.index("elsewhere") :].splitlines() == [
        "elsewhere",
        "do",
        "array r__1__lanes: 8 float64 = 0",
        "for part from 0 below 2",
        "for lane from 0 below 8; parallel",
        "i1: index = 8 * part + lane",
        "x0: float64 = a[18 * i0 + i1]",
        "x1: float64 = x0 * x0",
        "r__1__lanes[lane] += x1",
        "for lane from 0 below 4; parallel",
        "r__1__lanes[lane] add= r__1__lanes[lane + 4]",
        "for lane from 0 below 2; parallel",
        "r__1__lanes[lane] add= r__1__lanes[lane + 2]",
        "r__1__lanes[0] add= r__1__lanes[1]",
        "r__1 add= r__1__lanes[0]",
        "for i1 from 16 below 18; parallel + of r__1",
        "x0: float64 = a[18 * i0 + i1]",
        "x1: float64 = x0 * x0",
        "r__1 += x1",
        "r[i0] := r__1",
    ]


def test_lines_of_the_greatest() -> None:
    lines = rows(8, "max").splitlines()
    assert "array r__1__lanes: 8 float64 = r__1" in lines
    assert "array r__1__nan__lanes: 8 float64 = 0" in lines
    assert "r__1__lanes[lane] greater= x1" in lines
    assert "r__1__nan__lanes[lane] add= x1 != x1" in lines
    assert "r__1__lanes[lane] greater= r__1__lanes[lane + 4]" in lines
    begun = lines.index("r__1 greater= r__1__lanes[0]")
    assert lines[begun + 1 :] == [
        "r__1__nan__lanes[0] add= r__1__nan__lanes[1]",
        "r__1__nan add= r__1__nan__lanes[0]",
        "if r__1__nan",
        "r__1 := nan",
        "r[i0] := r__1",
    ]


def test_which_rows() -> None:
    assert "__lanes: 8" in rows(LANES) and "__lanes: 8" in rows(MOST_IN_LANES - 1)
    assert "__lanes" not in rows(LANES - 1) + rows(MOST_IN_LANES) + rows(20, "*")
    assert "__lanes" in rows(20, "max") and "__lanes" in rows(MOST_IN_LANES - 1, "min")
    assert "__lanes" not in rows(20, kind="int64") + rows(20, "max", "int64")
    assert "r__1__lanes: 8 float64" in rows(20, kind="float32")
    assert "r__1__lanes: 8 float32" in rows(20, "max", "float32")


def test_a_compiler_that_may_reorder_sums_does_so_itself() -> None:
    found = rows(20)
    plain, lanes = found.index("where fast math"), found.index("elsewhere")
    assert plain < found.index("for i1 from 0 below 20\n") < lanes < found.index("__lanes: 8")


TEXTS = [
    "(lambda (x y) (sum (* x y) #:axis 1))",
    "(lambda (x y) (sum (- (* x x) y) #:axis 0))",
    "(lambda (x y) (sum (* x x y)))",
    "(lambda (x y) ((gradient-R (lambda (y) (sum (square (sum (* x y) #:axis 1))))) y))",
    "(lambda (x y) (let ((s (sum x #:axis 1 #:keep #t))) (list s (- x s) (sum (* (- x s) x) #:axis 1))))",
]
EVALUATED, COMPILED = [side_by_side(vlad.Session(tier=tier), TEXTS, 2) for tier in ("evaluate", "compile")]


# Each is compiled: fewer than the lanes, as many, several times as many with and without a rest, and too many.
COLUMNS = [7, 8, 9, 12, 16, 19, 20, 31, 40, 63, 64] if THOROUGH else [7, 8, 9, 19, 40, 63, 64]


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("columns", COLUMNS)
def test_as_tier_0(kind: str, columns: int) -> None:
    """Of whole numbers, whose sums are exact in every order."""
    r = np.random.default_rng(columns)
    x, y = [r.integers(-5, 6, shape).astype(kind) for shape in ((9, columns), (columns,))]
    for text, *answers in zip(TEXTS, COMPILED(x, y), EVALUATED(x, y), strict=True):
        found, expected = [answer if isinstance(answer, list) else [answer] for answer in answers]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other, text, strict=isinstance(other, np.ndarray))


SOFTMAX = """(lambda (x y)
  (list (softmax x #:axis 1) (logsumexp x #:axis 1) ((gradient-R (lambda (x) (mean (logsumexp (+ x y) #:axis 1)))) x)))"""
SOFTENED = [vlad.Session(tier=tier).eval(SOFTMAX) for tier in ("evaluate", "compile")]


@pytest.mark.parametrize("kind, tolerance", [("float64", 1e-14), ("float32", 1e-6)])
@pytest.mark.parametrize(
    "columns", [8, 9, 10, 11, 12, 15, 20, 21, 33, 50, 63] if THOROUGH else [8, 9, 11, 12, 15, 21, 50, 63]
)
def test_short_rows_of_exponentials(kind: str, tolerance: float, columns: int) -> None:
    """The remainder of a vectorised loop is a loop of its own."""
    r = np.random.default_rng(columns)
    x, y = [r.normal(size=shape).astype(kind) for shape in ((9, columns), (columns,))]
    x[3, columns - 1], x[4, 0], x[5, :] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected, found = [softened(x, y) for softened in SOFTENED]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
