"""Loops over arrays as C text: what stands inside which loop, and that they answer what tier 0 answers."""

from __future__ import annotations

import numpy as np
import pytest

import vlad
from vlad.compile.emit_kernels import kernel_lines
from vlad.core.kernels import Access, Kernel, Output, Read, Step, Write
from vlad.primitives.table import TABLE


def lines(rows: int, columns: int) -> list[str]:
    """Those of a[i] exp(b) + c[j], for an array a of one number a row and c of one a column."""
    kernel = Kernel(
        (rows, columns),
        (Read(0, Access(0, (1, 0))), Read(1, Access(0, (0, 0))), Read(2, Access(0, (0, 1)))),
        (Step(TABLE["exp"], (1,)), Step(TABLE["*"], (0, 3)), Step(TABLE["+"], (4, 2))),
        (Output(rows * columns),),
        (Write(0, 5, Access(0, (columns, 1))),),
    )
    return [line.strip() for line in kernel_lines(kernel, ["a", "b", "c"], ["r"], repr, [])]


def test_what_an_inner_loop_does_not_change_is_found_before_it() -> None:
    found = lines(4, 100)
    outer, inner = [index for index, line in enumerate(found) if line.startswith("for")]
    places = {
        f"x{value}": next(i for i, line in enumerate(found) if line.startswith(f"double x{value} "))
        for value in range(6)
    }
    assert max(places["x1"], places["x3"]) < outer < min(places["x0"], places["x4"])
    assert max(places["x0"], places["x4"]) < inner < min(places["x2"], places["x5"])
    assert found[inner - 1] == "#pragma omp simd"  # which has to stand right before its loop


@pytest.mark.parametrize("rows, columns", [(0, 100), (100, 0)])
def test_without_turns_nothing_is_read(rows: int, columns: int) -> None:
    found = lines(rows, columns)
    inner = max(index for index, line in enumerate(found) if line.startswith("for"))
    assert all(index > inner for index, line in enumerate(found) if line.startswith("double x"))


TEXT = "(lambda (a b c) ((gradient-R (lambda (a) (sum (logsumexp (+ (* a (exp b)) c) #:axis 1)))) a))"


@pytest.mark.parametrize("rows, columns", [(1, 1), (3, 20), (20, 3), (1, 9), (9, 1), (0, 4)])
def test_as_tier_0(rows: int, columns: int) -> None:
    r = np.random.default_rng(rows)
    operands = r.normal(size=(rows, 1)), r.normal(size=(1, 1)), r.normal(size=columns)
    compiled, evaluated = [vlad.Session(tier=tier).eval(TEXT) for tier in ("compile", "evaluate")]
    np.testing.assert_allclose(compiled(*operands), evaluated(*operands), rtol=1e-12)
