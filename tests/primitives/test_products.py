"""Large products of matrices and loops over large tensors, which are split: the parts make the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vlad
from vlad.compile.emit import blas_calls
from vlad.compile.loops import lower
from vlad.control.budget import Budget, NoRoom, NoTime, expect_seconds, using_budget
from vlad.primitives import products
from vlad.python.convert import from_python

pytestmark = pytest.mark.any_compiler

LENGTHS = st.integers(1, 6)
BATCHES = st.sampled_from([((), ()), ((3,), (3,)), ((2, 1), (4,)), ((1,), (2, 3)), ((5,), ())])


@pytest.mark.own_tier
@settings(max_examples=60, deadline=None)
@given(LENGTHS, LENGTHS, LENGTHS, BATCHES, st.sampled_from(["f8", "f4", "i8", "i4"]), st.integers(1, 200))
def test_by_parts(n: int, k: int, m: int, batch: tuple[tuple[int, ...], ...], kind: str, most: int) -> None:
    random = np.random.default_rng(n * 100 + k * 10 + m)
    x = random.integers(-9, 9, (*batch[0], n, k)).astype(kind)
    y = random.integers(-9, 9, (*batch[1], k, m)).astype(kind)
    expected = np.matmul(x, y)
    whole = np.empty(expected.shape, expected.dtype)
    products._fill(
        np,
        np.broadcast_to(x, (*expected.shape[:-2], n, k)),
        np.broadcast_to(y, (*expected.shape[:-2], k, m)),
        whole,
        most,
    )
    assert np.array_equal(whole, expected) and whole.dtype == expected.dtype


@pytest.mark.own_tier
def test_a_large_one_is() -> None:
    x = np.arange(600.0 * 600).reshape(600, 600) % 7
    y = np.broadcast_to(x, (3, 600, 600))
    assert np.array_equal(products.product(np, y, x), np.matmul(y, x))
    with pytest.raises(ValueError):
        products.product(np, x, np.ones((599, 600)))


def test_memory_and_time_are_checked_first() -> None:
    x = np.ones((3000, 1))
    with using_budget(Budget(most=0.0)), pytest.raises(NoRoom):
        products.product(np, x, x.T)
    with using_budget(Budget(end=0.0)):
        expect_seconds(0.0)
        with pytest.raises(NoTime):
            products.expect_multiplications(2.0**40)
    products.expect_multiplications(2.0**40)


PROGRAMS = [
    "(matmul a b)",
    "(matmul (transpose a) b)",
    "(matmul a (transpose b))",
    "(matmul (stack (list a b)) b)",
    "(+ a (* 2 (transpose b)))",
    "(sum (* a (transpose b)))",
    "(sum (* a b) #:axis 0)",
    "((gradient (lambda (t) (sum (* t (matmul t b))))) a)",
    "(maximum (outer (sum a #:axis 0) (sum b #:axis 1)) #:axis 1)",
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_compiled_code_that_polls(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a look after a few turns, and products of a few rows at a time, the same comes out."""
    monkeypatch.setattr(lower, "MANY_TURNS", 64)
    monkeypatch.setattr(lower, "TURNS_PER_POLL", 16)
    monkeypatch.setattr(blas_calls, "MANY_MULTIPLICATIONS", 3 * 40 * 40)
    a = np.sin(np.arange(1600.0)).reshape(40, 40)
    arguments = a, np.cos(a * a)
    found = []
    for tier in ("evaluate", "compile"):
        session = vlad.Session(tier=tier)
        f = session.eval(f"(lambda (a b) {program})")
        found.append(f(*arguments))
        entry = session.tiers.entries.get(id(f.value))
        assert tier == "evaluate" or entry.variants, entry.reason
    assert np.allclose(*found, rtol=1e-12, atol=1e-12)


def test_only_kernels_of_milliseconds_poll() -> None:
    """Interruptible products poll for Ctrl-C, which takes as long as some of the smaller products. Long loops are divided into
    parts, and poll before each."""
    session = vlad.Session(tier="compile")
    product, sums = (
        session.eval("(lambda (a b) (matmul a b))"),
        session.eval("(lambda (a b) (+ (* a a b) (* b b)))"),
    )

    def polls(f: Any, size: int) -> bool:
        a = from_python(np.zeros((size, size)))
        return "(vlad_stop, 0)" in session.tiers.shown(f.value, "c", (a, a))

    assert [polls(product, size) for size in (128, 256, 512)] == [False, False, True]
    assert [polls(sums, size) for size in (300, 1000, 3000)] == [False, True, True]
