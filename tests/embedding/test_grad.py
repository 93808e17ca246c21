"""`vlad.grad` and similar functions: arguments of any structure, nested, in every mode; against closed forms and differences."""

from __future__ import annotations

import dataclasses
import inspect
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vlad

pytestmark = pytest.mark.any_compiler


class Point(NamedTuple):
    x: float
    y: float


@dataclasses.dataclass
class Layer:
    weights: Any
    bias: float


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    session = vlad.Session()
    session.eval(
        """
        (define (cube x) (* x x x))
        (define (mixed x y) (+ (* x x y) (sin y)))
        (define (squares l) (fold + 0 (map square l)))
        (define (energy t) (sum (* t (sin t))))
        (define (layer q x) (let (((cons w b) q)) (+ (dot w x) (* b b))))
        (define (pairs d) (fold + 0 (map (lambda (p) (square (cdr p))) d)))
        ; everything in a structure of reals and tensors, squared, weighted by where it is
        (define (total t)
          (cond ((real? t) (* t t)) ((tensor? t) (sum (* t t t))) ((pair? t) (+ (* 2 (total (car t))) (total (cdr t)))) (else 0)))
        """
    )
    return session


def test_one_argument(session: vlad.Session) -> None:
    cube = session["cube"]
    assert vlad.grad(cube)(2.0) == 12.0
    assert vlad.grad(cube)(2) == 12.0
    assert vlad.value_and_grad(cube)(2.0) == (8.0, 12.0)
    assert vlad.hessian(cube)(2.0) == 12.0
    assert vlad.jvp(cube, 2.0, 1.0) == (8.0, 12.0)
    assert vlad.hvp(cube, 2.0, 3.0) == 36.0
    value, back = vlad.vjp(cube, 2.0)
    assert (value, back(0.5)) == (8.0, 6.0)


def test_derivatives_nest(session: vlad.Session) -> None:
    d = session["cube"]
    for expected in (12.0, 12.0, 6.0, 0.0):
        d = vlad.grad(d)
        assert d(2.0) == expected


def test_several_arguments(session: vlad.Session) -> None:
    mixed = session["mixed"]
    expected = (12.0, 4.0 + math.cos(3.0))
    assert vlad.grad(mixed)(2.0, 3.0) == pytest.approx(expected)
    assert vlad.grad(mixed, 1)(2.0, 3.0) == pytest.approx(expected[1])
    assert vlad.grad(mixed, (1, 0))(2.0, 3.0) == pytest.approx(expected[::-1])
    value, gradient = vlad.value_and_grad(mixed)(2.0, 3.0)
    assert (value, gradient) == (pytest.approx(12 + math.sin(3.0)), pytest.approx(expected))
    assert vlad.value_and_grad(mixed, 0)(2.0, 3.0)[1] == 12.0
    assert vlad.jvp(mixed, (2.0, 3.0), (1.0, 2.0))[1] == pytest.approx(expected[0] + 2 * expected[1])
    assert vlad.vjp(mixed, 2.0, 3.0)[1](2.0) == pytest.approx(tuple([2 * part for part in expected]))
    assert vlad.hvp(mixed, (2.0, 3.0), (1.0, 0.0)) == pytest.approx((6.0, 4.0))


def test_structures_keep_their_shape(session: vlad.Session) -> None:
    assert vlad.grad(session["squares"])([1.0, 2.0, 3.0]) == [2.0, 4.0, 6.0]
    assert vlad.grad(session["mixed"])(*Point(2.0, 3.0))[0] == 12.0
    point = vlad.grad(session.eval("(lambda (x y) (* x y))"))(Point(2.0, 3.0))
    assert point == Point(3.0, 2.0) and type(point) is Point
    weights, inputs = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    layer, of_inputs = vlad.grad(session["layer"])(Layer(weights, 5.0), inputs)
    assert type(layer) is Layer and layer.bias == 10.0
    assert np.array_equal(layer.weights, inputs) and np.array_equal(of_inputs, weights)
    assert vlad.grad(session["pairs"])({"a": 1.0, "b": 2.0}) == {"a": 2.0, "b": 4.0}


def test_arrays(session: vlad.Session) -> None:
    x = np.linspace(-1, 2, 7)
    assert np.allclose(vlad.grad(session["energy"])(x), np.sin(x) + x * np.cos(x))
    v = np.cos(x)
    assert np.allclose(vlad.hvp(session["energy"], x, v), (2 * np.cos(x) - x * np.sin(x)) * v)


def test_a_gradient_is_a_procedure_of_the_language(session: vlad.Session) -> None:
    session["slope"] = vlad.grad(session["cube"])
    assert session.eval("(slope 3)") == 27.0
    assert session.eval("(map slope '(1 2))") == [3.0, 12.0]


REALS = st.floats(-3, 3)
TREES = st.recursive(
    REALS | st.lists(REALS, min_size=1, max_size=4).map(np.array),
    lambda of: (
        st.lists(of, max_size=4) | st.tuples(of, of) | st.tuples(of, of, of) | st.dictionaries(st.text("ab"), of)
    ),
    max_leaves=8,
)  # fmt: skip


def moved(tree: Any, direction: Any, step: float) -> Any:
    if isinstance(tree, list | tuple):
        return type(tree)([moved(t, d, step) for t, d in zip(tree, direction, strict=True)])
    if isinstance(tree, dict):
        return {key: moved(part, direction[key], step) for key, part in tree.items()}
    return tree + step * direction


def inner(a: Any, b: Any) -> float:
    if isinstance(a, list | tuple):
        assert type(a) is type(b)
        return sum([inner(x, y) for x, y in zip(a, b, strict=True)])
    if isinstance(a, dict):
        assert list(a) == list(b)
        return sum([inner(a[key], b[key]) for key in a])
    return float(np.sum(np.asarray(a) * np.asarray(b)))


def ones(tree: Any) -> Any:
    if isinstance(tree, list | tuple):
        return type(tree)([ones(part) for part in tree])
    if isinstance(tree, dict):
        return {key: ones(part) for key, part in tree.items()}
    return np.ones_like(tree) if isinstance(tree, np.ndarray) else 1.0


@settings(max_examples=60, deadline=None)
@given(TREES)
def test_random_structures(tree: Any) -> None:
    """Along a direction, the gradient, the forward derivative and differences agree."""
    session = vlad.Session(tier="evaluate")
    total = session.eval(
        """(letrec ((total (lambda (t)
             (cond ((real? t) (* t t)) ((tensor? t) (sum (* t t t)))
                   ((pair? t) (+ (* 2 (total (car t))) (total (cdr t)))) (else 0))))) total)"""
    )
    direction = ones(tree)
    gradient = vlad.grad(total)(tree)
    value, along = vlad.jvp(total, (tree,), (direction,))
    assert value == pytest.approx(total(tree), rel=1e-12)
    assert inner(gradient, direction) == pytest.approx(along, rel=1e-9, abs=1e-9)
    step = 1e-6
    difference = (total(moved(tree, direction, step)) - total(moved(tree, direction, -step))) / (2 * step)
    assert along == pytest.approx(difference, rel=1e-4, abs=1e-4)
    assert inner(vlad.vjp(total, tree)[1](2.0), direction) == pytest.approx(2 * along, rel=1e-9, abs=1e-9)


def test_the_gradient_of_no_procedure_is_an_error(session: vlad.Session) -> None:
    with pytest.raises(
        vlad.VladError, match="A procedure of a session is differentiated; this is a Python float"
    ):
        vlad.grad(2.0)
    with pytest.raises(ValueError, match="The parameters of max are not known"):
        vlad.grad(max)
    with pytest.raises(vlad.VladError, match="2 arguments and 1 tangents"):
        vlad.jvp(session["mixed"], (1.0, 2.0), (1.0,))


def test_a_function_that_returns_no_real_has_no_gradient(session: vlad.Session) -> None:
    with pytest.raises(vlad.VladError):
        vlad.grad(session.eval("(lambda (x) (list x x))"))(1.0)


# Jacobians.


def test_jacobians_have_the_axes_of_the_value_before_those_of_the_argument(session: vlad.Session) -> None:
    f = session.eval("(lambda (t) (* t t))")
    assert np.array_equal(vlad.jacobian(f)(np.array([1.0, 2.0, 3.0])), np.diag([2.0, 4.0, 6.0]))
    outer = session.eval("(lambda (t) (outer t #[1 10]))")
    assert vlad.jacobian(outer)(np.array([2.0, 3.0])).shape == (2, 2, 2)
    assert vlad.jacobian(session["cube"])(2) == 12.0
    assert vlad.jacobian(session.eval("(lambda (x) (* x #[1 2 3]))"))(5.0).tolist() == [1.0, 2.0, 3.0]


def test_jacobians_by_several_arguments_are_tuples(session: vlad.Session) -> None:
    product = session.eval("(lambda (w x) (matmul w x))")
    w, x = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([5.0, 6.0])
    by_w, by_x = vlad.jacobian(product)(w, x)
    assert by_w.shape == (2, 2, 2) and np.array_equal(by_x, w)
    assert np.array_equal(vlad.jacobian(product, 1)(w, x), w)
    (only,) = vlad.jacobian(product, (1,))(w, x)
    assert np.array_equal(only, w)
    assert vlad.jacobian(session["mixed"])(2.0, 0.0) == vlad.grad(session["mixed"])(2.0, 0.0)
    assert repr(vlad.jacobian(session["mixed"], 1)).startswith(
        "<vlad procedure jacobian by argument 1 of (mixed x y)"
    )


def test_jacobians_of_structures_by_structures(session: vlad.Session) -> None:
    """The value's structure, and in the place of each number the argument's."""
    f = session.eval("(lambda (q) (let ((a (cdr (car q))) (b (cdr (cadr q)))) (list (* a b) a)))")
    assert vlad.jacobian(f)({"a": 2.0, "b": 3.0}) == [{"a": 3.0, "b": 2.0}, {"a": 1.0, "b": 0.0}]
    g = session.eval("(lambda ((cons x y)) (cons (* x y) (list x 'mark)))")
    assert vlad.jacobian(g)(Point(2.0, 3.0)) == [Point(3.0, 2.0), Point(1.0, 0.0), "mark"]
    both = vlad.jacobian(session.eval("(lambda (x y) (list (* x y) y))"))(2.0, 3.0)
    assert both == [(3.0, 2.0), (0.0, 1.0)]


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_jacobians_on_every_tier(tier: str) -> None:
    with vlad.Session(tier=tier) as session:
        f = session.eval("(lambda (x y) (* x (sin y)))")
        for _ in range(3):  # the later ones go straight to machine code
            x, y = np.array([1.0, 2.0]), np.array([0.5, 1.5])
            by_x, by_y = vlad.jacobian(f)(x, y)
            assert by_x == pytest.approx(np.diag(np.sin(y))) and by_y == pytest.approx(np.diag(x * np.cos(y)))
            assert vlad.jacobian(f, 0)(2.0, 0.5) == pytest.approx(math.sin(0.5))
            assert vlad.jacobian(f)(2.0, 0.5) == pytest.approx((math.sin(0.5), 2 * math.cos(0.5)))


def test_jacobians_nest(session: vlad.Session) -> None:
    energy = session["energy"]
    t = np.array([0.5, 1.0, 1.5])
    assert vlad.jacobian(vlad.grad(energy))(t) == pytest.approx(vlad.hessian(energy)(t))


def test_jacobians_by_integers_are_refused(session: vlad.Session) -> None:
    for derivative in (vlad.jacobian, vlad.grad, vlad.hessian):
        with pytest.raises(
            vlad.VladError,
            match=r"Derivatives are taken with respect to reals; .*astype\(float\).* makes them of a tensor of int64",
        ):
            derivative(session["energy"])(np.array([1, 2]))


# Hessians.


def test_hessians_have_the_structure_of_the_arguments_twice(session: vlad.Session) -> None:
    q = session.eval("(lambda (d) (let ((a (cdr (car d))) (b (cdr (cadr d)))) (* a a b)))")
    assert vlad.hessian(q)({"a": 1.0, "b": 2.0}) == {"a": {"a": 4.0, "b": 2.0}, "b": {"a": 2.0, "b": 0.0}}
    product = session.eval("(lambda (x y z) (* x y z))")
    assert vlad.hessian(product)(1.0, 2.0, 3.0) == ((0, 3, 2), (3, 0, 1), (2, 1, 0))
    assert vlad.hessian(product, 1)(1.0, 2.0, 3.0) == 0.0
    assert vlad.hessian(product, (0, 2))(1.0, 2.0, 3.0) == ((0.0, 2.0), (2.0, 0.0))
    assert vlad.hessian(product, [1])(1.0, 2.0, 3.0) == ((0.0,),)
    point = session.eval("(lambda ((cons x y)) (* x x y))")
    assert vlad.hessian(point)(Point(2.0, 3.0)) == Point(Point(6.0, 4.0), Point(4.0, 0.0))
    layer = vlad.hessian(session["layer"])(Layer(np.array([1.0, 2.0]), 3.0), np.array([1.0, 1.0]))
    assert (
        layer[0].bias[0].bias == 2.0 and layer[0].weights[1].shape == (2, 2) and layer[1][1].shape == (2, 2)
    )
    assert np.array_equal(layer[0].weights[1], np.eye(2)) and layer[0].bias[0].weights.shape == (2,)


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_hessians_on_every_tier(tier: str) -> None:
    with vlad.Session(tier=tier) as session:
        f, g = session.eval("(lambda (x y) (* x x (sin y)))"), session.eval("(lambda (t) (sum (* t t t)))")
        t = np.array([1.0, 2.0])
        for _ in range(3):  # the later ones go straight to machine code
            assert vlad.hessian(g)(t) == pytest.approx(np.diag(6 * t))
            assert vlad.hessian(f, (0,))(2.0, 0.5) == ((pytest.approx(2 * math.sin(0.5)),),)
            assert vlad.hessian(f, 0)(2.0, 0.5) == pytest.approx(2 * math.sin(0.5))
            (xx, xy), (yx, yy) = vlad.hessian(f)(2.0, 0.5)
            assert (xx, xy, yx, yy) == pytest.approx(
                (2 * math.sin(0.5), 4 * math.cos(0.5), 4 * math.cos(0.5), -4 * math.sin(0.5))
            )


# Backpropagators are procedures.


def test_backpropagators_are_procedures(session: vlad.Session) -> None:
    _, back = vlad.vjp(session["mixed"], 2.0, 3.0)
    assert isinstance(back, vlad.Procedure)
    assert repr(back).startswith("<vlad procedure backpropagator of (mixed x y) at ")
    assert back.__name__ == "backpropagator of mixed" and str(inspect.signature(back)) == "(sensitivity, /)"
    assert vlad.loads(vlad.dumps(back), session)(2.0) == back(2.0)
    linear = vlad.vjp(session["cube"], 2.0)[1]
    assert vlad.grad(linear)(7.0) == 12.0  # it is linear


def test_backpropagators_can_be_compiled() -> None:
    with vlad.Session(tier="auto") as session:
        f = session.eval("(lambda (p) (* (car p) (car p) (cdr p)))")
        back = vlad.vjp(f, Point(2.0, 3.0))[1]
        fast = vlad.compile(back, 2.0)
        assert fast(2.0) == back(2.0) == Point(24.0, 8.0)
        assert repr(fast).startswith("<vlad compiled procedure backpropagator of ")


def test_saved_backpropagators_work_without_the_session(session: vlad.Session) -> None:
    text = vlad.dumps(vlad.vjp(session["squares"], [1.0, 2.0])[1])
    with vlad.Session() as other:
        assert vlad.loads(text, other)(1.0) == [2.0, 4.0]


# Values without tangents.


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        (lambda f: vlad.hvp(f, np.array([1, 2, 3]), np.array([1.0, 0.0, 0.0])), "int64"),
        (lambda f: vlad.hvp(f, np.array([1, 2, 3]), np.array([1, 0, 0])), "int64"),
        (lambda f: vlad.hvp(f, np.array([1.0, 2.0]), np.array([1, 0], np.int32)), "int32"),
        (lambda f: vlad.jvp(f, np.array([1, 2, 3]), np.array([1, 0, 0])), "int64"),
        (lambda f: vlad.jvp(f, np.array([1.0, 2.0]), np.array([True, False])), "bool"),
    ],
)
def test_integers_have_no_tangents(session: vlad.Session, action: Any, kind: str) -> None:
    with pytest.raises(vlad.VladError) as caught:
        action(session["energy"])
    assert f"a tensor of {kind} has no tangents" in caught.value.hint
    assert "the second tensor" not in caught.value.hint


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
@pytest.mark.parametrize("x", [2.0, 1e300, math.inf, -math.inf, math.nan])
def test_integers_have_no_sensitivity_whatever_it_would_be(tier: str, x: float) -> None:
    f = vlad.Session(tier=tier).eval("(lambda (x a) (* x (sum a)))")
    slope, given = vlad.grad(f)(x, np.array([1, 2]))
    assert slope == 3 and given.tolist() == [1, 2]
    with pytest.raises(vlad.VladError, match="The first argument is an array of integers"):
        vlad.value_and_grad(f.session.eval("(lambda (a x) (* x (sum a)))"))(np.array([1, 2]), x)
