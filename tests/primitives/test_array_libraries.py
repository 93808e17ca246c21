"""Tensors of another array library, with only the array-API standard: every row returns the same result as with NumPy,
with its derivatives, on that library's device. So no row uses anything specific to NumPy.

The same tests run on CuPy with a GPU (`.ci/gpu`), and everywhere on a mock of CuPy (pretended_cupy.py): it
lacks what CuPy lacks and rejects what CuPy rejects. array-api-strict has several mock devices, so that most of the behaviour
with a GPU is tested without one. The standard does not define integers next to reals, nor integers as operands of functions of
reals, and array-api-strict rejects both: so every row gets operands of every kind, alone and together.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import array_api_strict
import numpy as np
import pytest
from amounts import THOROUGH
from pretended_cupy import IS_INSTALLED, MISSING, pretended, real
from running import refusal
from slopes import SETUP, procedure, random
from test_tensors import AXIS, BINARY, PRODUCTS, SHAPES, UNARY

import vlad
from vlad import VladError
from vlad.ad.rules import steps_of
from vlad.compile.calling.background import BACKGROUND
from vlad.data import devices
from vlad.data.tensors import SORT, Tensor, kind_name, on_host
from vlad.data.values import Primitive
from vlad.primitives import (
    batches,
    checkpointing,
    continuations,
    control,
    data,
    files,
    levels,
    numbers,
    numerals,
    raising,
    reading,
    reentry,
    references,
    ropes,
    strings,
    table_types,
    tables,
    tangent_spaces,
    transforms,
    vectors,
    workers,
)
from vlad.primitives.arrays import KINDS
from vlad.primitives.table import PROCEDURES, TABLE


def quicken() -> None:
    """A quarter of the time went into how array-api-strict makes and compares kinds, which it looks for in tuples, how it
    compares devices, and into the version of the standard, which it sets whenever it is asked for its namespace. What it rejects
    stays the same.
    """
    strict: Any = array_api_strict
    of_array = strict._array_object
    kind, place = type(strict.float64), type(of_array.CPU_DEVICE)
    kind.__eq__ = lambda a, b: type(a) is type(b) and a._np_dtype == b._np_dtype
    place.__eq__ = lambda a, b: type(a) is type(b) and a._device == b._device
    known = {one._np_dtype: one for one in of_array._all_dtypes}
    of_array.DType = lambda dtype: known.get(dtype) or kind(dtype)
    of_array._all_dtypes = frozenset(of_array._all_dtypes)
    type(strict.zeros(1)).__array_namespace__ = lambda self, api_version=None: strict


quicken()
PLACES = [array_api_strict.Device(name) for name in ("CPU_DEVICE", "device1", "device2")]
STRICT, PRETENDED, OTHER = [devices.name_of(array_api_strict.zeros(1, device=place)) for place in PLACES]
gpu = pytest.param("cuda", marks=pytest.mark.gpu)
CUPY = "cuda, pretended"
# A weighted sum, so that every entry counts by itself: its gradient, and a curvature in each order of the modes.
ASKED = """
(define (weights y) (sin (+ 1 (reshape (arange (size y)) (shape y)))))
(define (scalar f) (lambda (x) (let ((y (f x))) (if (tensor? y) (sum (* (weights y) y)) y))))
(define (along f x) (lambda (t) (f (+ x (* t (cos x))))))
(define (slopes f x)
  (let ((h (scalar f)))
    (list ((gradient-R h) x) ((derivative-F (along h x)) 0)
          ((derivative-R (lambda (t) (sum ((gradient-R h) (+ x (* t (cos x))))))) 0)
          ((derivative-F (lambda (t) (sum ((gradient-R h) (+ x (* t (cos x))))))) 0))))
"""
# Rows that the functions of test_tensors.py leave out.
MORE = [
    "(lambda (x) (zeros '(2 3)))", "(lambda (x) (ones 2 #:dtype 'float32))", "(lambda (x) (full '(2 1) (sum x)))",
    "(lambda (x) (eye 3))", "(lambda (x) (* (linspace (sum x) 7 4) (arange 3 #:start 1 #:step 0.5)))",
    "(lambda (x) (tensor (list 1 #t)))", "(lambda (x) (tensor (list (list #t #f) (list #f #f))))", "(lambda (x) (> x 1))",
    "(lambda (x) (list (rank x) (size x) (shape x) (dtype x) (dtype (> x 1)) (tensor? x)))",
    "(lambda (x) (as-type x 'float32))", "(lambda (x) (as-type (as-type x 'int32) 'boolean))",
    "(lambda (x) (list (argmax x) (argmax x #:axis 0) (argminimum x) (argminimum x #:axis 1)))",
    "(lambda (x) (list (argsort x) (argsort x #:axis 0) (argsort (* x #[[0 -1 +nan.0] [+inf.0 0 0]]))))",
    "(lambda (x) (list (diagonal x) (trace x) (tril x) (triu x) (variance x) (variance x #:axis 1)))",
    "(lambda (x) (let ((v (reshape x -1))) (list (fill-lower v 3) (fill-upper v 3) (fill-upper v 4))))",
    "(lambda (x) (let ((m (matmul (transpose x) x))) (list (lower-entries m) (upper-entries m) (cross x (tensor-ref x 0)))))",
    "(lambda (x) (list (fft x) (ifft (cons x x) #:axis 0) (rfft x) (irfft (rfft x) #:length 3)))",
    "(lambda (x) (pad (flipped x #:axis 1) '((1 0) 2) (sum x)))",
    "(lambda (x) (list (cumprod x #:axis 1) (diff x) (roll x 4) (roll x 1 #:axis 1) (repeat x 2 #:axis 0) (top-k x 2)))",
    "(lambda (x) (list (median x) (quantile x #[0.2 0.7] #:axis 0) (covariance x) (correlation (transpose x)) (kron x x)))",
    "(lambda (x) (let ((v (reshape x -1))) (list (unique v) (searchsorted (sorted v) x) (interp x (sorted v) v))))",
    "(lambda (x) (histogram x 3))",
    "(lambda (x) (list (bincount #[0 2 1] #:weights (tensor-ref x 0)) (trapezoid x) (pinv x) (lstsq x #[1 2]) (logit (/ x 3))))",
    "(lambda (x) (list (tensordot x x #:axes '((0) (0))) (convolve (tensor-ref x 0) #[1 2]) (meshgrid #[1 2] (tensor-ref x 1))))",
    "(lambda (x) (list (ctc-loss x #[1]) ((group-norm (ones '(1 3)) (zeros '(1 3))) x) (stacked-start (list x x))))",
    "(lambda (x) (let ((y (reshape x '(1 2 3)))) (conv1d y (slice y 0 2 #:axis 2))))",
    "(lambda (x) ((sparse-jacobian square (eye 3)) (tensor-ref x 0)))",
    "(lambda (x) ((sparse-hessian (lambda (v) (sum (* v v v))) (eye 3)) (tensor-ref x 0)))",
    "(lambda (x) (column-colours x))", "(lambda (x) (jacobian-pattern square (+ 0.5 (tensor-ref x 0))))",
    "(lambda (x) (bidirectional + * (cons x x) (list x x)))",
    "(lambda (x) (conv-transpose2d (reshape x '(1 1 2 3)) (reshape x '(1 2 1 3)) #:stride 2))",
    "(lambda (x) (list (cell-output (cons x 1)) ((stacked (list + *)) (stacked-start (list x x)) x)))",
    "(lambda (x) (* (argsort x) (sorted x #:axis 0)))", "(lambda (x) (cumsum (cumsum x #:from-end #t) #:axis 1))",
    "(lambda (x) (tensor-ref x 1))", "(lambda (x) (tensor-ref x -1 0))", "(lambda (x) (* (tensor-ref x 1 2) (tensor-ref x 0)))",
    "(lambda (x) (unstack x #:axis 1))", "(lambda (x) (split x 3 #:axis 1))", "(lambda (x) (slice x 0 3 #:axis 1 #:step 2))",
    "(lambda (x) (gather x (tensor '((0 1) (1 1)))))", "(lambda (x) (gather x 2 #:axis 1))",
    "(lambda (x) (gather x (as-type #[2 0] 'int64) #:axis 1))",
    "(lambda (x) (scatter-add x #[1 1 0] (gather (* x x) #[0 1 1])))",
    "(lambda (x) (tensor-set (slice-set x 0 1 (slice (* x x) 1 2)) 1 (sin (tensor-ref x 0))))",
    "(lambda (x) (scatter-add (* x x) (tensor '((2 2) (0 2))) (ones '(2 2 2)) #:axis 1))",
    "(lambda (x) (where #t x 1))", "(lambda (x) (where (> x 1) 1 0))", "(lambda (x) (where (> x 1) (exp x) 2))",
    "(lambda (x) (concatenate (list x #[[1 2 3]])))", "(lambda (x) (stack '(1 2)))", "(lambda (x) (transpose x #:axes '(1 0)))",
    "(lambda (x) (broadcast-to 3 '(2 2)))", "(lambda (x) (reshape 3 '(1 1)))", "(lambda (x) (sum (> x 1) #:axis 0))",
    "(lambda (x) (list (real-tensor? x) (real-tensor? (> x 1))))", "(lambda (x) (equal? x (+ x 0)))",
    "(lambda (x) (outer (tensor-ref x 0) (tensor-ref x 1)))", "(lambda (x) (relu x))",
    "(lambda (x) (uniform (random-key 1) '(3 5)))", "(lambda (x) (random-integer (random-key 1) 0 100 40))",
    "(lambda (x) (uniform (random-key 1) 40000 #:low (sum x) #:high 99))", "(lambda (x) (permutation (random-key 1) 50))",
    "(lambda (x) (split (random-key 1) 40))", "(lambda (x) (normal (random-key 1) 1000))", "(lambda (x) (gamma x))",
    "(lambda (x) (prod x #:axis 1 #:keep #t))", "(lambda (x) (softmax x #:axis '(0 1)))", "(lambda (x) (norm (sum x)))",
    "(lambda (x) (* 1e-200 (norm (* 1e200 x))))", "(lambda (x) (* 1e200 (norm (* 1e-200 x))))",
    "(lambda (x) (list (norm (* x +inf.0)) (nan? (norm (* x +nan.0))) (norm (* 0 x)) (norm (* 1e20 (as-type x 'float32)))))",
    "(lambda (x) (equal? (device x) (device (* 2 x))))", "(lambda (x) (to-device x \"cpu\"))",
    *[f"(lambda (x) ({name} x))" for name in ("ceiling", "round", "truncate", "erfc", "lgamma", "log-gamma", "digamma")],
    "(lambda (x) (list (= x 1) (< 0 x) (<= x 1) (>= x x)))", "(lambda (x) (polygamma 2 x))",
    "(lambda (x) (list (erfcx x) (log-erfc x) (log-normal-cdf (* 20 x))))",
    "(lambda (x) (list (norm-squared x) (magnitude (list (* 1e200 (sum x)) x)) (logsumexp (slice x 0 0) #:axis 0)))",
    "(lambda (x) (max-pool x 2))", "(lambda (x) (max-pool x '(1 2) #:stride 1 #:padding '(0 1)))", "(lambda (x) (avg-pool x 2))",
    "(lambda (x) (avg-pool x 2 #:stride 1 #:padding 1))", "(lambda (x) (one-hot #[0 1] 3))", "(lambda (x) (one-hot 1 3))",
    "(lambda (x) (one-hot (round x) 4))", "(lambda (x) (one-hot (as-type (round x) 'int32) 4))",
    "(lambda (x) (cross-entropy x #[0 2]))", "(lambda (x) (cross-entropy x (as-type #[0 2] 'int64)))",
    "(lambda (x) (cross-entropy (tensor-ref x 0) 2))", "(lambda (x) (batch-statistics x))", "(lambda (x) (batch-norm x 2 1))",
    "(lambda (x) (batch-norm-with x (cons 1 2) 2 #[1 2 3]))", "(lambda (x) (map-tensor (lambda (y) (if (< y 1) y (sqrt y))) x))",
    "(lambda (x) (einsum \"ij->j\" x))", "(lambda (x) (einsum \"ij,j\" x #[1 2 3]))", "(lambda (x) (einsum \",ij->ji\" 2 x))",
    "(lambda (x) (einsum \"ij,kj,kl->il\" x x x))", "(lambda (x) (+ x (slice (eye 3) 0 2) (> (tensor-ref (eye 3) 0) 0)))" ,
    "(lambda (x) (list (zero x) (v+ x x) (plus x (zero x))))", "(lambda (x) (list (eq? x x) (eqv? x 1) (equal? x (* 1 x))))",
    "(lambda (x) (* x (stop-gradient x)))", "(lambda (x) (cdr (unsensitize ((cdr ((J sqrt) (J x))) (sensitize (ones '(2 3)))))))",
    "(lambda (x) (unperturb (tangent ((j* sqrt) (bundle x (perturb (ones '(2 3))))))))", "(lambda (x) (unperturb (perturb x)))",
    "(lambda (x) (unsensitize (sensitize x)))", "(lambda (x) (primal (bundle x (perturb (zero x)))))",
    "(lambda (x) (*j-inverse (*j x)))", "(lambda (x) (eigvalsh (matmul x (transpose x))))",
    "(lambda (x) (car (svd x)))", "(lambda (x) (svd (transpose x)))", "(lambda (x) (svd (/ x 0)))", "(lambda (x) (qr x))",
    "(lambda (x) (cdr (qr (transpose x))))", "(lambda (x) (cdr (eigh (matmul x (transpose x)))))",
    "(lambda (x) (car (eigh (* +inf.0 (matmul x (transpose x))))))",
]  # fmt: skip
# Functions of two tensors, with the shapes of these.
PAIRS = {
    "(lambda (a b) (list (< a b) (> a b) (<= a b) (>= a b) (= a b)))": [((2, 3), (3,)), ((2, 3), ())],
    **{name: [((2, 3), (3,)), ((2, 3), ()), ((), (3,))] for name in ("remainder", "quotient", "modulo")},
    "(lambda (a b) (list (where (> a 1) a b) (where (> b 1) a 0)))": [((2, 3), (2, 3)), ((2, 3), ())],
    "(lambda (a b) (list (where a a b) (where b 1 a)))": [((2, 3), (2, 3)), ((2, 3), (3,))],
    "(lambda (a b) (concatenate (list a b a)))": [((2, 3), (1, 3)), ((2,), (2,))],
    "(lambda (a b) (list (stack (list a b)) (tensor (list b a))))": [((2, 3), (2, 3)), ((2,), (2,))],
    "(lambda (a b) (gather a (modulo (round b) 2)))": [((2, 3), (4,)), ((2, 3), ()), ((2,), (2, 2))],
    "(lambda (a b) (scatter-add a #[1 1 0] b))": [((2, 3), (3, 3)), ((2,), (3,))],
    "(lambda (a b) (equal? a b))": [((2, 3), (2, 3)), ((2,), (2,))],
    "(lambda (a b) (conv2d a b #:padding 1))": [((2, 2, 3, 4), (1, 2, 2, 2))],
    "(lambda (a b) (conv2d a b #:stride 2 #:groups 2))": [((1, 2, 5, 4), (4, 1, 2, 3))],
    "(lambda (a b) (cross-entropy a b))": [((2, 3), (2, 3)), ((3,), (3,))],
    "(lambda (a b) (cross-entropy a (modulo (round b) 3)))": [((2, 3), (2,)), ((3,), ())],
    "(lambda (a b) (batch-norm a b 1))": [((2, 3), (3,)), ((2, 3, 2), (3,)), ((2, 3), ())],
    "(lambda (a b) (batch-norm-with a (cons b 2) b b))": [((2, 3), (3,)), ((2, 3, 2), (3,)), ((2, 3), ())],
    "(lambda (a b) (map-tensor (lambda (x y) (* x y y)) a b))": [((2, 3), (2, 3))],
    '(lambda (a b) (einsum "ij,kj->ik" a b))': [((2, 3), (2, 3))], '(lambda (a b) (einsum ",ij->j" b a))': [((2, 3), ())],
    '(lambda (a b) (einsum "ij,j,kj->k" a b a))': [((2, 3), (3,))], '(lambda (a b) (einsum "i,j->ij" a b))': [((2,), (3,))],
    "(lambda (a b) (+ (tensor-ref a 0) (* (tensor-ref a 1) b)))": [((2, 3), (3,)), ((2,), (3,))],
    "(lambda (a b) (+ (slice a 0 1) (* (slice a 1 2) b)))": [((2, 3), (3,)), ((2,), (3,))],
}  # fmt: skip


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """The devices of array-api-strict, as if a program could select them; CuPy if a test requires the mock."""
    monkeypatch.setattr(devices, "_found", {})
    for name, place in zip((STRICT, PRETENDED, OTHER), PLACES, strict=True):
        made = devices.Device(name, array_api_strict, device=place)
        monkeypatch.setitem(devices.DEVICES, name, lambda made=made: made)
    asked = getattr(request.node, "callspec", None)
    if asked is not None and asked.params.get("device") == CUPY:
        with pretended():
            yield
            BACKGROUND.wait_until_idle()  # the compiler's thread may still use the session
    else:
        yield
        BACKGROUND.wait_until_idle()


def named(device: str) -> str:
    """The name of a device in programs."""
    return "cuda" if device == CUPY else device


@pytest.mark.skipif(
    not IS_INSTALLED, reason="CuPy is not installed, which could be asked: pip install cupy-cuda12x"
)
def test_what_is_pretended_is_so() -> None:
    """CuPy has everything with a rule of its own in pretended_cupy.py, and lacks everything that is missing there."""
    known = real()
    assert known is not None
    own = {
        "asarray", "array", "take", "ndarray", "RawModule", "cuda.is_available", "linalg.solve", "linalg.inv", "linalg.cholesky",
        "lib.stride_tricks.as_strided", "add.at", "cupyx.errstate", "ndarray.get", "ndarray.item", "ndarray.device",
    }  # fmt: skip
    assert own <= set(known)
    assert not MISSING & set(known) and not {f"ndarray.{name}" for name in MISSING} & set(known)


@functools.cache
def session_of(tier: str | None, device: str) -> vlad.Session:
    session = vlad.Session(device=named(device))
    session.eval(SETUP + ASKED)
    return session


expected: dict[Any, Any] = {}  # NumPy's results for a text and operands, for all devices


def session_on(device: str) -> vlad.Session:
    """The tests' session, on a device: programs are transformed once for all of them. What is compiled is for one device."""
    if device == "cuda" and not devices_has_cuda():
        pytest.skip("no GPU, or no CuPy")
    tier = os.environ.get("VLAD_TIER")
    session = session_of(tier, "cpu" if tier == "evaluate" else device)
    session.machine.device = named(device)
    return session


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def is_single(values: Any) -> bool:
    return any(isinstance(one, np.ndarray) and one.dtype == np.float32 for one in leaves(values))


def same(device: str, found: Any, expected: Any, operands: Any = ()) -> None:
    """Equal up to rounding, which is that of float32 if an operand or a result is, of one kind, and every array on the device."""
    ours, theirs = list(leaves(found)), list(leaves(expected))
    assert len(ours) == len(theirs)
    any_single = is_single(theirs) or is_single(operands)
    exact, small = (2e-4, 2e-4) if any_single else (1e-9, 1e-11)
    for one, other in zip(ours, theirs, strict=True):
        if isinstance(other, np.ndarray):
            assert devices.name_of(one) == named(device)
            assert kind_name(one.dtype) == kind_name(other.dtype) and one.shape == other.shape
            np.testing.assert_allclose(on_host(one), other, rtol=small, atol=small)
        else:
            is_real = isinstance(other, float)
            assert one == (pytest.approx(other, rel=exact, abs=small, nan_ok=True) if is_real else other)


def there(device: str, x: Any) -> Any:
    return devices.device_named(named(device)).asarray(x) if isinstance(x, np.ndarray) else x


def check(device: str, text: str, *operands: Any, slopes: bool = True) -> None:
    """A function of the last operand, given those before. Errors must be the same everywhere."""
    key = text, slopes, *[x if isinstance(x, float) else (x.dtype, x.shape, x.tobytes()) for x in operands]
    if key not in expected:
        expected[key] = list(asked("cpu", text, operands, slopes))
    same(device, list(asked(device, text, operands, slopes)), expected[key], operands)


def asked(device: str, text: str, operands: Sequence[Any], slopes: bool) -> Iterator[Any]:
    """The value, and derivatives where there are any, if they are wanted."""
    session = session_on(device)
    *constants, x = [there(device, operand) for operand in operands]
    try:
        f = procedure(session, text)
        f = f(*constants) if constants else f
        value = f(x)
    except VladError as error:
        assert error.code in REFUSED, error
        yield error.message
        return
    yield value
    if slopes and has_slopes(x) and has_slopes(value):
        yield session["slopes"](f, x)


REFUSED = {
    "invalid-argument",
    "bundle-do-not-conform",
}  # a boolean in arithmetic; tangents of values without tangents


def has_slopes(value: Any) -> bool:
    return isinstance(value, float) or (hasattr(value, "dtype") and SORT[value.dtype] == "f")


@pytest.mark.parametrize("device", [PRETENDED, CUPY, gpu])
@pytest.mark.parametrize("text", UNARY)
def test_unary(text: str, device: str) -> None:
    of_each_rank = [(3,), (1, 1), (2, 1, 3)]
    for shape in [shape for shape in SHAPES[1:] if 0 not in shape] if THOROUGH else of_each_rank:
        check(device, text, random(1, shape, *UNARY[text]))


@pytest.mark.parametrize("device", [PRETENDED, CUPY, gpu])
@pytest.mark.parametrize("text", BINARY)
def test_binary(text: str, device: str) -> None:
    shapes = [((3,), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((2, 3), ()), ((), (2, 3))]
    for a, b in [(random(1, one, *BINARY[text]), random(2, other, *BINARY[text])) for one, other in shapes]:
        check(device, f"(lambda (c) (lambda (x) ({text} x c)))", a, b)
        check(device, f"(lambda (c) (lambda (x) ({text} c x)))", a, b)


@pytest.mark.parametrize("device", [PRETENDED, CUPY, gpu])
@pytest.mark.parametrize("text", AXIS)
def test_along_an_axis(text: str, device: str) -> None:
    for shape, axis in (((3,), 0), ((2, 3), -1), ((2, 3, 2), 1)):
        check(device, f"(lambda (x) {text.replace(' A', f' {axis}')})", random(1, shape, *AXIS[text]))


@pytest.mark.parametrize("device", [PRETENDED, CUPY, gpu])
@pytest.mark.parametrize(
    ("text", "shapes"), [(text, pair) for text, pairs in PRODUCTS.items() for pair in pairs]
)
def test_products(text: str, shapes: Any, device: str) -> None:
    a, b = [random(k, shape, -1, 1) for k, shape in enumerate(shapes)]
    check(device, f"(lambda (c) (lambda (x) ({text} x c)))", b, a)
    check(device, f"(lambda (c) (lambda (x) ({text} c x)))", a, b)


@pytest.mark.parametrize("device", [STRICT, PRETENDED, CUPY, gpu])
@pytest.mark.parametrize("text", MORE)
def test_more(text: str, device: str) -> None:
    if "cpu" in text:
        moved = session_on(device).eval(text)(there(device, np.ones((2, 3))))
        assert type(moved) is np.ndarray and moved.tolist() == [[1, 1, 1], [1, 1, 1]]
        return
    check(device, text, random(1, (2, 3), 0.5, 2.0))


@pytest.mark.parametrize("device", [STRICT, PRETENDED, CUPY, gpu])
@pytest.mark.parametrize("shape", ["10", "'(300 400)"])
def test_the_same_random_numbers_everywhere(shape: str, device: str) -> None:
    """To the last bit; the normal distribution's middle, too, where there is no logarithm."""
    text = f"""(list (uniform (random-key 5) {shape}) (uniform (random-key 5) {shape} #:low -3 #:high 7)
      (random-integer (random-key 5) -1e15 1e15 {shape}) (permutation (random-key 5) 30000) (normal (random-key 5) {shape}))"""
    *exact, normal = [on_host(found) for found in session_on(device).eval(text)]
    *expected, normal_expected = session_on("cpu").eval(text)
    for found, other in zip(exact, expected, strict=True):
        assert found.dtype == other.dtype and np.array_equal(found, other)
    middle = np.abs(normal_expected) < 1.4
    assert np.array_equal(normal[middle], normal_expected[middle])
    np.testing.assert_allclose(normal, normal_expected, rtol=1e-14)


def of_kind(x: Any, kind: str) -> Any:
    """About the same numbers as a kind; values other than tensors are unchanged."""
    if not isinstance(x, np.ndarray) or kind == "float64":
        return x
    return x > np.median(x) if kind == "bool" else (np.rint(x) if "int" in kind else x).astype(kind)


OTHERS = ["float32", "int64", "int32", "bool"]
ONE = [*UNARY, *MORE, *[f"(lambda (x) {text.replace(' A', ' 0')})" for text in AXIS]]


@pytest.mark.parametrize("device", [PRETENDED, gpu])  # the mock of CuPy mixes kinds as NumPy does
@pytest.mark.parametrize("text", ONE)
def test_one_operand_of_every_kind(text: str, device: str) -> None:
    low, high = UNARY.get(text, (0.5, 2.0))
    if "cpu" not in text:
        for kind in OTHERS:
            check(device, text, of_kind(random(1, (2, 3), low, high), kind))


TWO = {**{text: [((2, 3), (3,)), ((2, 3), ()), ((), (2, 3))] for text in BINARY}, **PAIRS,
       **{text: pairs[:2] for text, pairs in PRODUCTS.items()}}  # fmt: skip


@pytest.mark.parametrize("device", [PRETENDED, gpu])
@pytest.mark.parametrize("text", TWO)
def test_two_operands_of_every_kind(text: str, device: str) -> None:
    low, high = BINARY.get(text, (0.4, 2.0))
    kinds = [*KINDS.values()]
    for turn, shapes in enumerate(TWO[text]):
        a, b = [random(seed, shape, low, high) for seed, shape in enumerate(shapes)]
        # each kind of each operand, next to another
        few = [*zip(kinds, kinds[turn:] + kinds[:turn], strict=True)]
        all_pairs = [*itertools.product(kinds, repeat=2)]
        for first, second in few if turn and all(shapes) and not THOROUGH else all_pairs:
            slopes = THOROUGH or (first, second) in few
            if (first == "float64" or shapes[0]) and (second == "float64" or shapes[1]):
                one, other = of_kind(a, first), of_kind(b, second)
                # both are of the same value: that by an operand without slopes is left to the other
                if has_slopes(one) or not has_slopes(other):
                    check(device, f"(lambda (c) (lambda (x) ({text} x c)))", other, one, slopes=slopes)
                if has_slopes(other):
                    check(device, f"(lambda (c) (lambda (x) ({text} c x)))", one, other, slopes=slopes)


# Rows of reals that go entry by entry, also those without a user's name; some of their operands are always reals.
ENTRY_BY_ENTRY = [row for row in numbers.ROWS if row.type.parameters[0] == "number"]
ALWAYS_REALS = {"c": 1.0, "d": -1.0, "j": 1.0, "k": 3.0, "n": 1.0, "m": 1.0, "w": 1.0, "v": 0.5}
SMALL_KINDS = ["int8", "uint8", "int16", "uint16"]


def kind_together(row: Primitive, kinds: Sequence[str | None]) -> str:
    """The statement of docs/tensors.md about these kinds, where None is a real."""
    if row.type.result == "boolean":
        return "bool"
    tensors = {kind for kind in kinds if kind is not None}
    if (
        tensors <= {"int64", "int32"}
        and None not in kinds
        and (row.whole or row.name in ("+", "-", "*", "negate"))
    ):
        return max(tensors)
    return "float32" if tensors == {"float32"} else "float64"


@pytest.mark.parametrize("device", [PRETENDED, CUPY, gpu])
@pytest.mark.parametrize("row", ENTRY_BY_ENTRY, ids=lambda row: row.name)
def test_entry_by_entry(row: Primitive, device: str) -> None:
    if device == "cuda" and not devices_has_cuda():
        pytest.skip("no GPU, or no CuPy")
    free = [name for name in row.operands if name not in ALWAYS_REALS]
    given = {
        kind: [of_kind(random(seed, (2, 3), 0.2, 3.0), kind) for seed in (1, 2)] for kind in KINDS.values()
    }
    for kinds in itertools.product([*KINDS.values(), None], repeat=len(free)):
        if not any(kinds):
            continue
        chosen = dict(
            zip(free, [1.5 if kind is None else given[kind][n] for n, kind in enumerate(kinds)], strict=True)
        )
        found, expected = [
            row.value(*[as_value(name, ({**ALWAYS_REALS, **chosen})[operand]) for operand in row.operands])
            for name in (device, "cpu")
        ]
        assert type(found) is type(expected) is Tensor
        assert kind_name(expected.like.dtype) == kind_together(row, kinds), kinds
        same(device, found.array, expected.array, [*chosen.values()])


def as_value(device: str, x: Any) -> Any:
    return Tensor(there(device, x)) if isinstance(x, np.ndarray) else x


@pytest.mark.parametrize("row", ENTRY_BY_ENTRY, ids=lambda row: row.name)
@pytest.mark.parametrize("kind", SMALL_KINDS)
def test_the_small_integers_of_images(row: Primitive, kind: str) -> None:
    """Functions of reals return float64; NumPy's would have half or single precision."""
    x = Tensor(np.array([[3, 0, 7], [1, 2, 100]], kind))
    found = row.value(*[ALWAYS_REALS.get(name, x) for name in row.operands])
    is_whole = row.whole or row.name in ("+", "-", "*", "negate")
    expected = "bool" if row.type.result == "boolean" else kind if is_whole else "float64"
    assert kind_name(found.like.dtype) == expected


# What takes no tensors, or does nothing with their entries.
LEFT_OUT = {
    "of reals only": ["random-word", "random-below", "normal-quantile",
                      *[row.name for row in numbers.ROWS if row.type.parameters[0] == "real"]],
    "what the way back through any row asks": ["shape-witness"],
    "strings and numerals": [row.name for room in (strings, ropes, numerals) for row in room.ROWS],
    "input and output: see test_it_prints_from_any_device": [row.name for room in (control, reading) for row in room.ROWS],
    "pairs and kinds of values, which look at no entry": [
        row.name for row in data.ROWS if row.name not in ("eq?", "eqv?", "equal?", "stop-gradient")],
    "what `tensor-set` of the library stands for": ["set-entry"],
    "workers, which look at no entry": [row.name for row in workers.ROWS],
    "cells, which look at no entry": ["update-ref!", *[row.name for row in references.ROWS]],
    "tables, which look at the entries of keys only": [
        "table", *[row.name for room in (tables, table_types) for row in room.ROWS]],
    "vectors, which look at no entry": [row.name for row in vectors.ROWS],
    "continuations and errors, which look at no entry": ["raise",
        *[row.name for room in (continuations, raising, reentry) for row in room.ROWS]],
    "the states of a run, which look at no entry": ["checkpointed", *[row.name for row in checkpointing.ROWS]],
    "the rows of a batch, which look at no entry: tests/ad/test_vmap.py": [row.name for row in batches.ROWS],
    "tangents of records, which look at no entry": [row.name for row in tangent_spaces.ROWS],
    "files: tests/primitives/test_files.py": [row.name for row in files.ROWS],
    "procedures and structures": ["if-procedure", "environment", "tangent-environment", "with-environment", "same-code?",
        "with-derivative",
        "reverse?", "perturbation?", "sensitivity?", "forward?",
        *[row.name for room in (transforms, levels) for row in room.ROWS if row.hidden]],
}  # fmt: skip


def words(text: str) -> set[str]:
    return set(re.findall(r"[^\s()'#\[\]\"]+", text))


def test_every_row_is_among_them() -> None:
    """Also those without a user's name, which derivatives are made of; and the library's procedures on tensors."""
    named = {row.name for row in ENTRY_BY_ENTRY}
    for text in (*UNARY, *BINARY, *AXIS, *PRODUCTS, *PAIRS, *MORE):
        named |= words(text)
    work = list(named)
    while work:
        name = work.pop()
        row = TABLE.get(name)
        texts = [PROCEDURES.get(name, "")]
        if row is not None:
            texts += [row.forward or "", *(row.reverse or {}).values()]
            texts += [text for partial in (row.partials or {}).values() for text in steps_of(partial)]
        for found in set().union(*map(words, texts)) - named:
            named.add(found)
            work.append(found)
    library = (Path(vlad.__file__).parents[1] / "stdlib" / "tensors.vlad").read_text()
    wanted = {*TABLE, *PROCEDURES, *re.findall(r"^\(define \(([^ ()%]+)", library, re.MULTILINE)}
    left_out = {name for names in LEFT_OUT.values() for name in names}
    assert sorted(wanted - named - left_out) == []


def on(device: str, text: str) -> Any:
    return vlad.Session(device=device).eval(text)


def test_what_a_program_makes_is_on_the_device_of_its_session() -> None:
    """Each session has its own, also when one calls another."""
    assert devices.name_of(on(PRETENDED, "#[1 2]")) == PRETENDED
    assert on(PRETENDED, "(device #[1 2])") == PRETENDED and on("cpu", "(device (zeros 3))") == "cpu"
    outer, inner = vlad.Session(device=OTHER), vlad.Session(device=PRETENDED)
    made = inner.eval("(lambda (n) (zeros n))")
    assert devices.name_of(made(2)) == PRETENDED
    assert devices.name_of(outer.eval("(lambda (n) (zeros n))")(2)) == OTHER
    with pytest.raises(VladError, match="Unbound"):
        inner.eval("(no-such-thing)")
    assert devices.CURRENT.get() == "cpu"


def test_to_device_and_back() -> None:
    """Linear both ways, of every order; the way back ends where it began."""
    session = vlad.Session()
    session["there"], session["here"] = PRETENDED, OTHER
    session.eval("""
(define x (to-device #[1 2 3] here))
(define (f x) (let ((y (to-device (* x x x) there))) (sum (* y y))))
(define ((along d) f x) ((derivative-F (lambda (t) (f (+ x (* t d))))) 0))""")
    assert session.eval("(list (device x) (device (to-device x there)))") == [OTHER, PRETENDED]
    gradient = session.eval("((gradient-R f) x)")
    assert devices.name_of(gradient) == OTHER
    assert on_host(gradient).tolist() == [6, 192, 1458]
    assert session.eval("((along x) f x)") == 6 + 384 + 4374
    for outer in "FR":
        curve = f"((derivative-{outer} (lambda (t) (sum ((gradient-R f) (+ x (* t x)))))) 0)"
        assert session.eval(curve) == 5 * (6 + 192 + 1458)
    assert session.eval("((gradient (lambda (x) (* 2 (to-device x there)))) 3)") == 2
    assert session.eval("((gradient (lambda (a) (sum (* (to-device #[1 2] there) a)))) 3)") == 3


APART = [
    "(+ a b)", "(- a b)", "(* a b)", "(/ a b)", "(max a b)", "(expt a b)", "(< a b)", "(where (> a 0) a b)", "(where a b 1)",
    "(dot a b)", "(outer a b)", "(matmul a b)", "(solve (outer a a) b)", "(concatenate (list a b))", "(stack (list a b))",
    "(tensor (list a b))", "(gather a b)", "(scatter-add a a b)", "(hypot a b)", "(scatter-add b b a)",
    "((cdr ((J (lambda (x) (* x x))) (J a))) b)",
]  # fmt: skip


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
@pytest.mark.parametrize("text", APART)
def test_tensors_on_different_devices(text: str, tier: str) -> None:
    """One clear error that names both, on whichever side they stand."""
    session = vlad.Session(tier=tier)
    for here, elsewhere in ((PRETENDED, OTHER), ("cpu", PRETENDED), (PRETENDED, "cpu")):
        for name, place in (("a", here), ("b", elsewhere)):
            session[name] = devices.device_named(place).asarray([1.0, 2.0, 0.0])
        with pytest.raises(VladError) as caught:
            session.eval(f"(let ((f (lambda (a b) {text}))) (f a b))")
        assert caught.value.code == "wrong-device", caught.value
        assert here in caught.value.message and elsewhere in caught.value.message
        assert caught.value.hint and caught.value.span is not None


def test_equality_compares_the_numbers() -> None:
    session = session_on("cpu")
    session["there"] = PRETENDED
    assert session.eval("(equal? #[1 2] (to-device #[1 2] there))") is True
    assert session.eval("(equal? #[1 2] (to-device #[1 3] there))") is False


def test_it_prints_from_any_device() -> None:
    lines: list[str] = []
    session = vlad.Session(device=PRETENDED, write=lines.append)
    session.run_text("#[[1 2] [3 4]] (> #[1 2] 1) (as-type #[1] 'float32) (tensor->list #[[1 2] [3 4]])")
    assert (
        "".join(lines) == "#[[1 2] [3 4]]\n#<tensor boolean [#f #t]>\n#<tensor float32 [1]>\n((1 2) (3 4))\n"
    )


@pytest.mark.parametrize("name", ["tpu", "cuda"])
def test_a_device_that_is_not_there(name: str) -> None:
    if name == "cuda" and devices_has_cuda():
        pytest.skip("there is a GPU")
    for make in (
        lambda: vlad.Session().eval(f'(to-device #[1 2] "{name}")'),
        lambda: vlad.Session(device=name),
    ):
        with pytest.raises(VladError) as caught:
            make()
        assert caught.value.code == "no-device"
        assert caught.value.message == f"There is no device {name}" + (" here" if name == "cuda" else "")
        assert caught.value.hint


def devices_has_cuda() -> bool:
    try:
        devices.device_named("cuda")
    except VladError:
        return False
    return True


ERRORS = {
    "(to-device #[1 2] 'cpu)": "Argument to to-device is invalid",
    '(to-device \'a "cpu")': "Argument to to-device is invalid",
    '(device "cpu")': "Argument to device is invalid",
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text: str) -> None:
    error = refusal(text, "evaluate")
    assert error.message == ERRORS[text] and error.hint


def test_another_device_is_for_tier_0() -> None:
    """A procedure that was compiled for arrays in memory does not take others, and none is compiled elsewhere."""
    session = vlad.Session(tier="compile")
    session.eval("(define (f x) (sum (* x x)))")
    assert session["f"](np.array([1.0, 2.0])) == 5
    assert session["f"](there(PRETENDED, np.array([1.0, 3.0]))) == 10
    assert session["f"](np.array([1.0, 4.0])) == 17
    elsewhere = vlad.Session(tier="compile", device=PRETENDED)
    elsewhere.eval("(define (g x) (+ (ones 2) x)) (define (h x) (gather (list-tail x 0) 0))")
    assert devices.name_of(elsewhere["g"](2.0)) == PRETENDED
    assert elsewhere.eval("(map g (list 1 2))")[1].shape == (2,)
    assert elsewhere.eval("(let loop ((i 0) (x 0)) (if (= i 1000) x (loop (+ i 1) (+ x i))))") == 499500
