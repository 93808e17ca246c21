"""Everyday procedures of arrays: values as NumPy's on both tiers, derivatives as differences of values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import vlad
from vlad.compile.calling.notices import NotCompiledWarning

pytestmark = pytest.mark.any_compiler

R = np.random.default_rng(0)
A, B, T = R.normal(size=(5, 4)), R.normal(size=(4, 5)), R.normal(size=(2, 3, 4))
X, XS, YS = R.normal(size=7), np.sort(R.normal(size=6)), R.normal(size=6)
GRID, PLACES = np.array([0.0, 1, 1, 1, 2, 5]), np.array([-1, 0, 0.5, 1, 1.5, 2, 5, 7])
SINGULAR = np.outer([1.0, 2, 3], [1.0, 1, 2])
trapezoid: Any = getattr(np, "trapezoid", None) or np.trapz  # type: ignore[attr-defined]  # its name before NumPy 2


def top(t: NDArray[np.float64], k: int, axis: int) -> tuple[Any, Any]:
    order = np.argsort(-t, axis=axis, kind="stable").take(range(k), axis)
    return np.take_along_axis(t, order, axis), order


# Each as a procedure, the operands, and what NumPy computes.
CASES: list[tuple[str, tuple[Any, ...], Callable[..., Any]]] = [
    ("(lambda (t) (cumprod t))", (A,), lambda t: np.cumprod(t, 0)),
    ("(lambda (t) (roll t 3))", (T,), lambda t: np.roll(t, 3)),
    ("(lambda (t) (repeat t 2))", (T,), lambda t: np.repeat(t, 2)),
    ("(lambda (t) (median t))", (T,), np.median),
    ("(lambda (t) (median t))", (np.array([1, np.nan]),), lambda t: np.nan),
    ("(lambda (t q) (quantile t q))", (T, 0.3), np.quantile),
    ("(lambda (t) (quantile t 1))", (np.array([3.0]),), lambda t: 3.0),
    ("(lambda (t) (covariance t))", (A,), lambda t: np.cov(t.T)),
    ("(lambda (t) (correlation t))", (A,), lambda t: np.corrcoef(t.T)),
    ("(lambda (a b) (covariance a b))", (XS, YS), lambda a, b: np.cov(a, b)[0, 1]),
    ("(lambda (a b) (correlation a b))", (XS, YS), lambda a, b: np.corrcoef(a, b)[0, 1]),
    ("(lambda (a x) (searchsorted a x))", (GRID, PLACES), np.searchsorted),
    ("(lambda (a x) (searchsorted a x #:right #t))", (GRID, PLACES), lambda a, x: np.searchsorted(a, x, "right")),
    ("(lambda (a x) (searchsorted a x))", (np.zeros(0), PLACES), np.searchsorted),
    ("(lambda (a x) (searchsorted a x))", (XS, X.reshape(7, 1)), np.searchsorted),
    *[("(lambda (a x) (searchsorted a x))", (GRID, float(x)), np.searchsorted) for x in PLACES],
    ("(lambda (x xs ys) (interp x xs ys))", (3 * X, XS, YS), np.interp),
    ("(lambda (x xs ys) (interp x xs ys #:left 5 #:right -5))", (3 * X, XS, YS),
     lambda x, xs, ys: np.interp(x, xs, ys, left=5, right=-5)),
    *[("(lambda (x xs ys) (interp x xs ys))", (x, XS, YS), np.interp) for x in (-9.0, 0.1, 9.0)],
    ("(lambda (a b) (tensordot a b #:axes 1))", (T, B), lambda a, b: np.tensordot(a, b, 1)),
    ("(lambda (a b) (tensordot a b))", (T, B[:3, :4].reshape(3, 4, 1)), lambda a, b: np.tensordot(a, b, 2)),
    ("(lambda (a b) (tensordot a b #:axes '((0 -1) (1 0))))", (T, A[:4, :2].copy()),
     lambda a, b: np.tensordot(a, b, ((0, 2), (1, 0)))),
    ("(lambda (a b) (kron a b))", (A, B), np.kron),
    ("(lambda (a b) (kron a b))", (T, A), np.kron),
    *[("(lambda (a) (pinv a))", (a,), np.linalg.pinv) for a in (A, B, T, SINGULAR, np.zeros((2, 3)))],
    ("(lambda (a b) (lstsq a b))", (A, X[:5].copy()), lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0]),
    ("(lambda (t) (histogram t 4))", (X,), lambda t: np.histogram(t, 4)),
    ("(lambda (t) (histogram t 5 #:low -1 #:high 1))", (T,), lambda t: np.histogram(t, 5, (-1, 1))),
    ("(lambda (t) (bincount t))", (np.array([0, 3, 3, 1]),), np.bincount),
    ("(lambda (t w) (bincount t #:weights w #:length 6))", (np.array([0.0, 3, 3]), np.array([1, 2, 0.5])),
     lambda t, w: np.bincount(t.astype(int), w, 6)),
    ("(lambda (t) (unique t))", (np.array([[3.0, 1, 1], [2, 3, 3]]),), np.unique),
    ("(lambda (x y) (meshgrid x y))", (X, YS), np.meshgrid),
    ("(lambda (y x) (trapezoid y #:x x))", (YS, XS), lambda y, x: trapezoid(y, x)),
    ("(lambda (p) (logit p))", (np.array([0.1, 0.9]),), lambda p: np.log(p / (1 - p))),
]  # fmt: skip
for axis in (0, -1):
    CASES += [
        (f"(lambda (t) (cumprod t #:axis {axis}))", (T,), lambda t, axis=axis: np.cumprod(t, axis)),
        (f"(lambda (t) (diff t #:axis {axis}))", (A,), lambda t, axis=axis: np.diff(t, axis=axis)),
        *[(f"(lambda (t) (roll t {k} #:axis {axis}))", (A,), lambda t, k=k, axis=axis: np.roll(t, k, axis)) for k in (-7, 0, 9)],
        (f"(lambda (t) (repeat t 3 #:axis {axis}))", (A,), lambda t, axis=axis: np.repeat(t, 3, axis)),
        (f"(lambda (t) (top-k t 2 #:axis {axis}))", (np.round(A, 0),), lambda t, axis=axis: top(t, 2, axis)),
        (f"(lambda (t) (median t #:axis {axis}))", (A,), lambda t, axis=axis: np.median(t, axis)),
        (f"(lambda (t) (quantile t #[0 0.2 1] #:axis {axis}))", (A,), lambda t, axis=axis: np.quantile(t, [0, 0.2, 1], axis)),
        (f"(lambda (t) (trapezoid t #:axis {axis} #:dx 0.5))", (A,), lambda t, axis=axis: trapezoid(t, dx=0.5, axis=axis)),
    ]  # fmt: skip
for mode in ("full", "same", "valid"):
    CASES += [
        (f"(lambda (a b) (convolve a b #:mode '{mode}))", (R.normal(size=n), R.normal(size=m)),
         lambda a, b, mode=mode: np.convolve(a, b, mode))
        for n, m in ((7, 3), (3, 7), (4, 4), (6, 2), (1, 5))
    ]  # fmt: skip


INF, NAN = np.inf, np.nan
LARGE = np.array([2**31 - 1, 2**31 - 3, -(2**31)], np.int32)
ENDS, FAR = np.array([1.0, 11, 11]), np.array([1, 2, 11, INF, -INF, NAN])
WITHOUT = np.array([1, NAN])
# Infinite entries and none, integers that would wrap around, and what NumPy says of ends, of duplicates and of nothing.
CASES += [
    *[("(lambda (t) (median t))", (np.array(t, float),), lambda t, wanted=wanted: wanted)
      for t, wanted in (([1, 2, INF], 2.0), ([1, INF, INF], INF), ([-INF, -INF, 3], -INF), ([INF], INF), ([1e308, -1e308], 0.0))],
    ("(lambda (t) (quantile t 1))", (np.array([-INF, -INF, 3]),), lambda t: 3.0),
    ("(lambda (t) (quantile t 1))", (np.array([1, INF, INF]),), lambda t: INF),
    ("(lambda (t) (median t #:axis 0))", (LARGE[1:].reshape(2, 1),), lambda t: [-1.5]),
    ("(lambda (t) (median t))", (np.array([True, False, True]),), np.median),
    ("(lambda (ys) (interp #[1.5 2.5] #[1 2 3] ys))", (LARGE,), lambda ys: [2**31 - 2, -1.5]),
    ("(lambda (t) (trapezoid t))", (LARGE,), lambda t: 2**31 - 3.5),
    ("(lambda (x xs ys) (interp x xs ys))", (FAR, ENDS, np.array([0.0, 1, 2])), np.interp),
    ("(lambda (x xs ys) (interp x xs ys))", (1.0, np.array([0.0, 1, 2]), np.array([0, 1, INF])), np.interp),
    ("(lambda (x xs ys) (interp x xs ys))", (1.0, np.array([1.0, 2]), np.array([5, INF])), np.interp),
    *[("(lambda (a x) (searchsorted a x))", (a, np.array([2, -INF, INF, NAN])), np.searchsorted) for a in (GRID, WITHOUT)],
    ("(lambda (t) (histogram t 2 #:low 0 #:high 5))", (np.array([1, 2, 5, INF, NAN]),),
     lambda t: np.histogram(t[:3], 2, (0, 5))),
    ("(lambda (t) (histogram t 3))", (np.array([7.0]),), lambda t: np.histogram(t, 3)),
    ("(lambda (t) (trapezoid t))", (np.zeros(0),), trapezoid),
    ("(lambda (t) (trapezoid t #:axis 0))", (A[:1].copy(),), lambda t: trapezoid(t, axis=0)),
    ("(lambda (a) (pinv a))", (np.zeros((0, 3)),), np.linalg.pinv),
    ("(lambda (a b) (convolve a b))", (X.astype("float32"), XS.astype("float32")), np.convolve),
]  # fmt: skip


@pytest.fixture(scope="module")
def sessions() -> dict[str, vlad.Session]:
    return {tier: vlad.Session(tier=tier) for tier in ("evaluate", "compile")}


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_values_are_those_of_numpy(sessions: dict[str, vlad.Session], tier: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotCompiledWarning)
        for text, operands, expected in CASES:
            found, wanted = sessions[tier].eval(text)(*operands), expected(*operands)
            several = isinstance(wanted, tuple | list)
            for one, other in zip(
                found if several else [found], wanted if several else [wanted], strict=True
            ):
                rtol = 1e-5 if getattr(other, "dtype", None) == "float32" else 1e-12
                np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol / 10, err_msg=text)


DIFFERENTIABLE = [
    "(cumprod x)", "(cumprod (* x #[1 0 1 0]) #:axis 1)", "(diff x)", "(roll x 2)", "(repeat x 2 #:axis 1)",
    "(car (top-k x 2 #:axis 0))", "(median x #:axis 0)", "(quantile x #[0.2 0.7])", "(covariance x)", "(correlation x)",
    "(trapezoid x)", "(trapezoid x #:x (exp x))", "(kron x x)", "(tensordot x (transpose x) #:axes 1)", "(pinv x)",
    "(pinv (transpose x))", "(lstsq x #[1 2 3 4 5])", "(convolve (reshape x -1) #[1 3 2] #:mode 'same)",
    "(interp x #[-2 -1 0 1 2] #[0 1 0 3 1])", "(interp #[-1.5 0.3 0.9] (sorted (tensor-ref x 0)) (tensor-ref x 1))",
    "(logit (sigmoid x))", "(cdr (histogram x 3))", "(bincount #[0 2 2 1] #:weights (tensor-ref x 0))",
]  # fmt: skip
# a real function of x in which the sensitivities of all entries of y differ, its derivatives of order 1 along v, and those of
# order 2 along v and w
DERIVATIVES = """
(define (f x) (let ((y (* 1.0 Y))) (sum (* (sin y) (cos (reshape (arange (size y)) (shape y)))))))
(define (moved t) (+ x (* t v)))
(define (slope x) (sum (* w ((gradient-R f) x))))
(list (f (moved h)) (f (moved (- h))) ((derivative-F (lambda (t) (f (moved t)))) 0) (sum (* v ((gradient-R f) x)))
      (slope (moved h)) (slope (moved (- h))) ((derivative-F (lambda (t) (slope (moved t)))) 0)
      (sum (* v ((gradient-R slope) x))))
"""


@pytest.mark.parametrize("y", DIFFERENTIABLE)
def test_derivatives_are_those_of_differences(sessions: dict[str, vlad.Session], y: str) -> None:
    v, w, h = R.normal(size=A.shape), R.normal(size=A.shape), 1e-5
    derivatives = sessions["evaluate"].eval(f"(lambda (x v w h) {DERIVATIVES.replace('Y', y)})")
    after, before, forward, reverse, slope_after, slope_before, second, second_reverse = derivatives(
        A, v, w, h
    )
    first = (after - before) / (2 * h)
    assert forward == pytest.approx(first, rel=1e-5, abs=1e-7) and reverse == pytest.approx(
        forward, rel=1e-9, abs=1e-11
    )
    assert second == pytest.approx((slope_after - slope_before) / (2 * h), rel=1e-4, abs=1e-6)
    assert second_reverse == pytest.approx(second, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize(
    "y", ["(cumprod x)", "(car (top-k x 2 #:axis 0))", "(quantile x 0.3 #:axis 0)", "(pinv x)", "(diff x)"]
)
def test_gradients_are_compiled_for_every_shape(sessions: dict[str, vlad.Session], y: str) -> None:
    text = f"(lambda (x) (sum (sin {y})))"
    gradients = {tier: session.eval(f"(gradient {text})") for tier, session in sessions.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotCompiledWarning)
        for n in (5, 6, 8):
            x = R.normal(size=(n, 3))
            np.testing.assert_allclose(
                gradients["compile"](x), gradients["evaluate"](x), rtol=1e-9, atol=1e-12
            )


@pytest.mark.parametrize(
    "call, said",
    [
        ("(roll #[1 2] 1 #:axes 0)", "roll takes the operands #:axis, each once and before its value"),
        ("(roll #[1 2] #:axis 0)", "roll takes 2 arguments and got 1"),
        ("(roll #[1 2] 1 #:axis)", "roll takes the operands #:axis, each once and before its value"),
        ("(list-copy '(1) #:axis 0)", "list-copy takes no operand #:axis"),
        ("(diff #[1 2] #:axis 1)", "The tensor has no such axis: 1"),
        ("(diff #[1 2] 1)", "diff takes 1 argument and got 2"),
        ("(top-k #[1 2] 3)", "top-k takes a number from 0 to that of the entries, not 3"),
        ("(roll #[1 2] 1.5)", "Entries are rolled by whole numbers, not by 1.5"),
        (
            "(searchsorted #[[1 2]] 1)",
            "searchsorted takes an ascending vector; the shape that is given: (1 2)",
        ),
        ("(interp 1.5 #[1 2] #[5 6 7])", "interp takes points as two vectors of as many entries"),
        ("(trapezoid #[1 2 3] #:x #[1 2])", "trapezoid takes a point for each value"),
        ("(bincount #[-1 2])", "bincount counts whole numbers from 0"),
        ("(bincount #[5] #:length 3)", "bincount counts whole numbers from 0"),
        ("(histogram #[1] 3 #:low 5 #:high 1)", "The bins end above their low end"),
        ("(tensordot #[1 2] #[3 4])", "tensordot sums over as many axes as both tensors have, not 2"),
        ("(convolve #[1 2] (zeros 0))", "convolve takes two vectors with entries"),
        ("(quantile #[1 2] 2)", "A quantile is of a share from 0 to 1, not 2"),
        ("(median (zeros 0))", "A quantile of no entries"),
        (
            "(convolve #[1] #[2] #:mode 'half)",
            "The mode of a convolution is 'full, 'same or 'valid, not half",
        ),
    ],
)
def test_errors(sessions: dict[str, vlad.Session], call: str, said: str) -> None:
    with pytest.raises(vlad.VladError) as caught:
        sessions["evaluate"].eval(call)
    assert said in str(caught.value)


def test_a_program_may_define_these_names() -> None:
    session = vlad.Session()
    assert session.eval("(define (median a b) (/ (+ a b) 2)) (median 1 4)") == 2.5
    with pytest.raises(vlad.VladError, match="median takes no operand #:axis"):
        session.eval("(median 1 4 #:axis 0)")
