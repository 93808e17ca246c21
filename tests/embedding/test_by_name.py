"""Arguments by name, as Python has them, where a primitive or a procedure of the library has operands by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlad
from vlad.compile.native.c_extension import border

pytestmark = pytest.mark.any_compiler

A = np.arange(6.0).reshape(2, 3)


@pytest.fixture(scope="module", params=["evaluate", "compile"])
def session(request: Any) -> vlad.Session:
    return vlad.Session(tier=request.param)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda s: s.sum(A, axis=0), A.sum(0)),
        (lambda s: s.sum(A, axis=-1, keep=True), A.sum(-1, keepdims=True)),
        (lambda s: s.sum(A, axis=(0, 1)), 15.0),
        (lambda s: s.sum(A, axis=[0, 1], keep=True), [[15.0]]),
        (lambda s: s["log-softmax"](A, axis=0), np.full((2, 3), -3 - np.log1p(np.exp(-3)) + 3 * (A > 2))),
        (lambda s: s.transpose(np.ones((2, 3, 4)), axes=(0, 2, 1)), np.ones((2, 4, 3))),
        (lambda s: s.zeros([2], dtype="int64"), np.zeros(2, np.int64)),
        (lambda s: s.zeros([2], dtype=np.int32), np.zeros(2, np.int32)),
        (lambda s: s.zeros([2], dtype=np.dtype("float32")), np.zeros(2, np.float32)),
        (lambda s: s.zeros([2], dtype=bool), np.zeros(2, bool)),
        (lambda s: s.ones([2], dtype=float), np.ones(2)),
        (lambda s: s.ones([2], dtype=None), np.ones(2)),
        (lambda s: s.variance(A, axis=1), A.var(1)),
        (lambda s: s.sum(A, axis=None), 15.0),
        (lambda s: s.arange(10, start=4, step=2), [4, 6, 8]),
        (lambda s: s.conv2d(np.ones((1, 1, 3, 3)), np.ones((1, 1, 3, 3)), padding="same"),
         [[[[4, 6, 4], [6, 9, 6], [4, 6, 4]]]]),
        (lambda s: s.as_type(A, "float32"), A.astype(np.float32)),
        (lambda s: s.median(A, axis=0), np.median(A, 0)),
        (lambda s: s.median(A, axis=None), 2.5),
        (lambda s: s.convolve(A[0], A[1], mode="same"), np.convolve(A[0], A[1], "same")),
        (lambda s: s.tensordot(A, A, axes=((0,), (0,))), A.T @ A),
        (lambda s: s.searchsorted(A[0], 1.0, right=True), 2),
        (lambda s: s["fft"](A, axis=0)[0], np.fft.fft(A, axis=0).real),
    ],
)  # fmt: skip
def test_operands_by_name(session: vlad.Session, call: Callable[[Any], Any], expected: Any) -> None:
    found = call(session)
    assert found == pytest.approx(np.asarray(expected), abs=1e-15)
    assert getattr(found, "dtype", None) == getattr(expected, "dtype", getattr(found, "dtype", None))


def test_what_is_a_text_stays_one(session: vlad.Session, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1;2\n3;4\n")
    assert session.load_csv(str(tmp_path / "a.csv"), separator=";", skip=1).tolist() == [[3, 4]]


def test_a_derivative_by_name(session: vlad.Session) -> None:
    """Of Python functions, too, which become procedures."""
    own = session.with_derivative(session.sin, forward=session.eval("(lambda (x dx) (* 7 dx))"))
    assert vlad.jvp(own, 0.0, 1.0) == (0.0, 7.0)


def test_compiled_for_each() -> None:
    """Flags and axes are part of the compiled variant."""
    total = vlad.compile(vlad.Session(tier="compile").sum, A)
    for _ in range(3):
        assert total(A, axis=0).tolist() == [3, 5, 7]
        assert total(A, axis=1, keep=True).tolist() == [[3], [12]]
        assert total(A) == total(A, axis=None) == 15


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (lambda s: s.sum(A, axes=0), "sum takes no argument by the name of axes", "did you mean `axis`? it takes axis and keep"),
        (lambda s: s.dot(A, axis=0), "dot takes no argument by the name of axis", "its arguments are given by place"),
        (lambda s: s.half(x=1.0), "half takes no argument by the name of x", "its arguments are given by place"),
        (lambda s: vlad.grad(s.half)(x=1.0), "gradient of half takes no argument by the name of x",
         "its arguments are given by place"),
        (lambda s: vlad.grad(s.sum)(A, axis=1), "gradient of sum takes no argument by the name of axis",
         "its arguments are given by place"),
        (lambda s: s.sum(axis=1), "sum takes 1 argument and got none",
         "its parameter list is (sum t #:axis … #:keep …)"),
        (lambda s: s.sum(A, A, axis=1), "sum takes 1 argument and got 2",
         "its parameter list is (sum t #:axis … #:keep …)"),
        (lambda s: s.median(A, axes=0), "median takes no argument by the name of axes", "did you mean `axis`? it takes axis"),
        (lambda s: s.median(axis=1), "median takes 1 argument and got none", "its parameter list is (median t #:axis …)"),
        (lambda s: s.median(A, axis=5), "Axis given to sorted is out of range: 5", "the tensor has rank 2"),
        (lambda s: s.cube(2.0, axis=1), "cube takes no argument by the name of axis", "its arguments are given by place"),
        (lambda s: s.sum(A, axis=5), "Axis given to sum is out of range: 5", "the tensor has rank 2"),
        (lambda s: s.sum(A, axis=0, keep=0), "Argument to sum is invalid", "#:keep is #t or #f"),
        (lambda s: s.cumsum(A, from_end=0), "Argument to cumsum is invalid", "#:from-end is #t or #f"),
        (lambda s: s.solve_triangular(np.eye(2), np.ones(2), upper=1), "Argument to solve-triangular is invalid",
         "#:upper is #t or #f"),
        (lambda s: s.cumsum(A, axis=None), "Argument to cumsum is invalid",
         "an axis is a whole number"),
        (lambda s: s.zeros(2, dtype="int7"), "Argument to zeros is invalid",
         "the kinds of number are boolean, float64, float32, int64, int32"),
    ],
)  # fmt: skip
def test_errors_by_name_are_reported(
    session: vlad.Session, call: Callable[[Any], Any], message: str, hint: str
) -> None:
    session.eval("(define (half x) (* 0.5 x)) (define (cube x) (* x x x))")
    for _ in range(2):  # the second time by C, where it is compiled
        with pytest.raises(vlad.VladError) as caught:
            call(session)
        assert (caught.value.message, caught.value.hint) == (message, hint)
        session.half(3.0)


def test_what_is_called_in_c_takes_names() -> None:
    """c_extension.c hands them on."""
    half = vlad.Session(tier="compile").eval("(define (half x) (* 0.5 x)) half")
    slope = vlad.grad(half)
    for _ in range(3):
        assert half(3.0) == 1.5 and slope(3.0) == 0.5
    assert bool(half.quicks and slope.quicks) == (border() is not None)
    for procedure in (half, slope):
        with pytest.raises(vlad.VladError, match="takes no argument by the name of y"):
            procedure(3.0, y=1.0)


def test_signatures(session: vlad.Session) -> None:
    assert str(inspect.signature(session.sum)) == "(t, /, *, axis=False, keep=False)"
    assert str(inspect.signature(session.load_csv)) == "(path, /, *, skip=0.0, separator=',')"
    assert str(inspect.signature(session.dot)) == "(a, b, /)"


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda s: s.zeros((2, 3)), "zeros takes a list; this is a pair"),
        (lambda s: s.uniform(s.random_key(1), (2, 3)),
         "its parameter list is (uniform key dims #:low … #:high …); dims is one argument, a list"),
        (lambda s: s.reshape(A, (3, 2)), "its parameter list is (reshape t dims); dims is one argument, a list"),
        (lambda s: s.reverse((1.0, 2.0, 3.0)), "inside it, cdr takes a pair; this is a real"),
        (lambda s: s.list_sum((1.0, 2.0, 3.0)), "inside it, car takes a pair; this is a real"),
    ],
)  # fmt: skip
def test_of_a_tuple_for_a_list(session: vlad.Session, call: Callable[[Any], Any], hint: str) -> None:
    with pytest.raises(vlad.VladError) as caught:
        call(session)
    tuples = "a tuple of Python's is a pair, or several arguments; `[2, 3]` is a list"
    assert caught.value.hint == f"{hint}; {tuples}"


def test_lists_and_several_arguments_get_no_hint_on_tuples(session: vlad.Session) -> None:
    for call in (lambda: session.reshape(A, 3, 2), lambda: session.normal(5, 3), lambda: session.zeros(2, 3)):
        with pytest.raises(vlad.VladError) as caught:
            call()
        assert "tuple" not in str(caught.value) and "took it apart" not in str(caught.value)


def test_a_program_s_own_procedure_of_that_name_takes_nothing_by_name() -> None:
    session = vlad.Session()
    assert str(inspect.signature(session.median)) == "(t, /, *, axis=False)"
    session.eval("(define (median t) 5)")
    assert str(inspect.signature(session.median)) == "(t, /)"
    with pytest.raises(vlad.VladError, match="by the name of axis"):
        session.median(A, axis=0)
