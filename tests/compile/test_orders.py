"""Sorting along an axis, and cumulative sums: compiled they equal NumPy's exactly, for every kind and shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agreement import agree
from amounts import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from pretended_cupy import CUPY, pretended

import vlad
from vlad import VladError
from vlad.compile.calling.pipeline import Unit
from vlad.compile.ir.program import Each, statements
from vlad.data.tensors import on_host
from vlad.python.convert import from_python

STRANGE = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 5e-324, -5e-324, 1e308]
LARGE = [2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]
ALONG = """(lambda (x) (list (argsort x #:axis {axis}) (sorted x #:axis {axis})
  (cumsum x #:axis {axis}) (cumsum x #:axis {axis} #:from-end #t)))"""


def entries(r: np.random.Generator, kind: str, shape: tuple[int, ...]) -> Any:
    """Many of them equal, some of them strange."""
    if kind == "int64":
        return np.where(r.random(shape) < 0.3, r.choice(LARGE, shape), r.integers(-3, 4, shape))
    found = r.integers(-3, 4, shape).astype(kind)
    if kind.startswith("float"):
        with np.errstate(over="ignore"):
            found += np.where(r.random(shape) < 0.5, r.normal(size=shape), 0).astype(kind)
            found[r.random(shape) < 0.2] = np.asarray(r.choice(STRANGE), kind)
    return found


def bits(x: Any) -> list[Any]:
    """Distinguishes zeros of both signs, and treats all nans as equal."""
    return [
        np.where(np.isnan(x), np.inf, x).tolist(),
        np.isnan(x).tolist(),
        np.signbit(x).tolist() if x.dtype.kind == "f" else [],
    ]


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "int32", "bool"])
@settings(max_examples=drawn(25), deadline=None)
@given(
    st.lists(st.sampled_from([0, 1, 2, 3, 5, 70, 130]), min_size=1, max_size=3).map(tuple),
    st.integers(-3, 2), st.integers(0, 10_000),
)  # fmt: skip
def test_they_are_those_of_numpy(kind: str, shape: tuple[int, ...], axis: int, seed: int) -> None:
    at = max(-len(shape), min(axis, len(shape) - 1))
    shape = tuple(
        [length if place == at % len(shape) else min(length, 3) for place, length in enumerate(shape)]
    )
    x = entries(np.random.default_rng(seed), kind, shape)
    order, in_order, sums, from_end = agree(ALONG.format(axis=at), x)[0]
    assert np.array_equal(order, np.argsort(x, axis=at, stable=True))
    assert bits(in_order) == bits(np.take_along_axis(x, np.argsort(x, axis=at, stable=True), at))
    with np.errstate(all="ignore"):
        numbers = x.astype("float64") if kind == "bool" else x
        assert sums.dtype == from_end.dtype == np.cumsum(numbers, axis=at).dtype
        assert bits(sums) == bits(np.cumsum(numbers, axis=at))
        assert bits(from_end) == bits(np.flip(np.cumsum(np.flip(numbers, at), axis=at), at))


SLOPES = [
    "(sum (* x (sorted x)))", "(sum (* (cumsum x) (sorted (* x x) #:axis 0)))",
    "(sum (square (cumsum x #:axis 1 #:from-end #t)))",
    "(sum (* (argsort x) x x))", "(sum (gather (square (reshape x -1)) (argsort (reshape x -1))))",
    "(maximum (cumsum (sorted (sin x) #:axis 0) #:axis -1))", "(sum (sorted (cumsum (where (> x 0) x 0))))",
]  # fmt: skip


@pytest.mark.parametrize("text", SLOPES)
def test_derivatives(text: str) -> None:
    x = np.random.default_rng(1).normal(size=(4, 3))
    agree(
        f"""(lambda (x)
          (let* ((f (lambda (x) {text})) (g (gradient f)) (along (lambda (t) (+ x (* t (cos x))))))
            (list (f x) (g x) ((derivative-F (lambda (t) (f (along t)))) 0) ((gradient (lambda (x) (sum (* (sin x) (g x))))) x)
                  ((derivative-F (lambda (t) (g (along t)))) 0))))""",
        x,
    )


def calls_of_a_sort(text: str, *operands: Any) -> int:
    session = vlad.Session(tier="evaluate")
    f = session.eval(text).value
    unit = Unit(
        session.machine, f[0], f[1 : 1 + len(f[0].environment)], tuple([from_python(o) for o in operands])
    )
    loops = [s for function in unit.program.functions for s in statements(function.body) if type(s) is Each]
    return sum([not loop.is_loop and loop.routine.name == "places" for loop in loops])


def test_a_tensor_is_sorted_once() -> None:
    """Its derivatives take the order that there is."""
    x = np.ones(5)
    for text in ("(sorted x)", "((gradient (lambda (x) (sum (* x (sorted x))))) x)", "(list (argsort x) (sorted x))",
                 "(cdr (jvp (lambda (x) ((gradient (lambda (x) (sum (* x (sorted (* 2 x)))))) x)) x x))"):  # fmt: skip
        assert calls_of_a_sort(f"(lambda (x) {text})", x) == 1, text
    assert calls_of_a_sort("(lambda (x) (cumsum x))", x) == 0


LONG = {
    "orders": "(lambda (x) (let loop ((i 0) (y x)) (if (= i 100000) y (loop (+ i 1) (+ x (argsort y))))))",
    "sums": "(lambda (x) (let loop ((i 0) (y x)) (if (= i 100000) y (loop (+ i 1) (- x (cumsum y))))))",
}


@pytest.mark.parametrize("name", LONG)
def test_they_end_when_time_is_over(name: str) -> None:
    session = vlad.Session(tier="compile", limits=vlad.Limits(seconds=0.5))
    f = session.eval(LONG[name])
    with pytest.raises(VladError) as caught:
        f(np.random.default_rng(0).normal(size=500_000))
    assert caught.value.code == "out-of-time"


def test_on_a_gpu_they_are_for_tier_0() -> None:
    with pretended():
        session = vlad.Session(device="cuda", tier="compile")
        f = session.eval("(lambda (x) (list (argsort x) (sorted x) (cumsum x)))")
        order, in_order, sums = [on_host(part) for part in f(CUPY.asarray([3.0, 1.0, 2.0]))]
        (entry,) = session.tiers.entries.values()
    assert entry.reason == "`solve`, `argsort`, `cumsum` and their kin on cuda are not compiled yet"
    assert order.tolist() == [1, 2, 0] and in_order.tolist() == [1, 2, 3] and sums.tolist() == [3, 4, 6]
