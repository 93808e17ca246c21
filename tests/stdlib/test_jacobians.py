"""Jacobians and Hessians of tensors: compared with closed forms and differences, in both modes, on both tiers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sessions import shared

import vlad

pytestmark = pytest.mark.any_compiler

TIERS = ["evaluate", "compile"]
MODES = ["", "-R", "-F"]
STEP = 1e-6

# A procedure from a tensor to a tensor, and shapes that it takes.
FUNCTIONS = {
    "(lambda (x) (* x (sin x)))": [(3,), (2, 2), (1,), (0,)],
    "(lambda (x) (matmul x #[[1 2] [3 4]]))": [(2,), (3, 2), (2, 1, 2)],
    "(lambda (x) (outer x (exp x)))": [(2,), (3,)],
    "(lambda (x) (sum (* x x) #:axis 0))": [(3, 2), (2, 1, 2), (0, 2)],
    "(lambda (x) (stack (list (transpose x) (* x x))))": [(2, 2), (1, 1)],
    "(lambda (x) (inverse (+ x (* 3 (eye 2)))))": [(2, 2)],
    "(lambda (x) (reshape (concatenate (list x (sqrt (+ 3 x)))) '(2 -1)))": [(2,), (2, 2), (4, 1)],
}


def random(shape: tuple[int, ...], seed: int = 3) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def differences(f: Any, x: Any) -> Any:
    """The Jacobian by central differences, the axes of the value first."""
    y = np.asarray(f(x))
    found = np.zeros((*y.shape, *x.shape))
    for place in np.ndindex(*x.shape):
        moved = np.zeros(x.shape)
        moved[place] = STEP
        found[(..., *place)] = (np.asarray(f(x + moved)) - np.asarray(f(x - moved))) / (2 * STEP)
    return found


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("text", FUNCTIONS)
def test_a_jacobian_is_that_of_differences(text: str, tier: str) -> None:
    session = shared(tier)
    f = session.eval(text)
    for shape in FUNCTIONS[text]:
        x = random(shape)
        expected = differences(f, x)
        for mode in MODES:
            found = session.eval(f"(jacobian{mode} {text})")(x)
            assert found.shape == expected.shape == (*np.shape(f(x)), *shape), (mode, shape)
            assert found == pytest.approx(expected, abs=1e-8, rel=1e-6), (mode, shape)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("mode", MODES)
def test_closed_forms(mode: str, tier: str) -> None:
    session = vlad.Session(tier=tier)
    a = random((3, 4))
    session["a"] = a
    linear = session.eval(f"(jacobian{mode} (lambda (x) (matmul a x)))")
    assert linear(random((4,), 5)) == pytest.approx(a)
    quadratic = session.eval(f"(hessian{mode} (lambda (x) (dot x (matmul (matmul (transpose a) a) x))))")
    assert quadratic(random((4,), 6)) == pytest.approx(2 * a.T @ a)
    x = random((2, 3), 7)
    cubic = session.eval(f"(hessian{mode} (lambda (x) (sum (* x x x))))")(x)
    assert cubic.shape == (2, 3, 2, 3)
    assert cubic.reshape(6, 6) == pytest.approx(np.diag(6 * x.reshape(-1)))


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("mode", MODES)
def test_a_hessian_is_that_of_differences_of_gradients(mode: str, tier: str) -> None:
    session = shared(tier)
    f = "(lambda (x) (logsumexp (* (outer x x) (sin (sum x)))))"
    for shape in ((1,), (4,)):
        x = random(shape, 8)
        expected = differences(session.eval(f"(gradient {f})"), x)
        found = session.eval(f"(hessian{mode} {f})")(x)
        assert found == pytest.approx(expected, abs=1e-7, rel=1e-6)
        assert found == pytest.approx(found.T, abs=1e-12)


PRINTED = {
    # structures of tensors: the value's, with the arguments' in place of each tensor
    "((jacobian{} (lambda (w b) (+ (matmul w #[1 2]) b))) #[[1 2] [3 4]] #[5 6])": (
        "(#[[[1 2] [0 0]] [[0 0] [1 2]]] . #[[1 0] [0 1]])"
    ),
    "((jacobian{} (lambda (x) (list x (sum x) 'a (* x x)))) #[1 2])": "(#[[1 0] [0 1]] #[1 1] a #[[2 0] [0 4]])",
    "((jacobian{} (lambda (x) (* x #[1 2 3]))) 2)": "#[1 2 3]",
    "((jacobian{} (lambda (l) (list (* (first l) (second l)) (first l)))) '(3 4))": "((4 3) (1 0))",
    "((hessian{} (lambda (w b) (* (sum (* w w)) b))) #[1 2] 3)": "((#[[6 0] [0 6]] . #[2 4]) #[2 4] . 0)",
    "((hessian{} prod) #[2 3 4])": "#[[0 4 3] [4 0 2] [3 2 0]]",
    # of derivatives again
    "((jacobian{0} (jacobian{0} (lambda (x) (* x x)))) #[1 2])": "#[[[2 0] [0 0]] [[0 0] [0 2]]]",
    "((derivative (lambda (t) ((jacobian{} (lambda (x) (* t x x))) #[1 2]))) 3)": "#[[2 0] [0 4]]",
    "(dtype ((jacobian{} (lambda (x) (* x x))) (as-type #[1 2] 'float32)))": "float32",
    # values other than reals have no derivative
    "((jacobian{} (lambda (x) (> x 1))) #[1 2])": "#<tensor boolean [#f #t]>",
}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", PRINTED)
def test_structures(text: str, mode: str, tier: str) -> None:
    output: list[str] = []
    vlad.Session(tier=tier, write=output.append).run_text(text.format(mode))
    assert "".join(output) == PRINTED[text] + "\n"


def test_the_cheaper_mode_is_taken() -> None:
    """A run for each entry of the argument or of the value, whichever has fewer."""
    for text, most in (("(broadcast-to x '(50 2))", 10), ("(sum (* x x) #:axis 0)", 10)):
        session = vlad.Session(metered=True)
        session.eval(f"(define (f x) (* 3 {text}))")
        session.eval("((jacobian f) (ones 2))" if "broadcast" in text else "((jacobian f) (ones '(50 2)))")
        assert session.counts["*"] <= most, session.counts


# Second differences, a column that all entries depend on beside it, an arrow, entries that depend on nothing.
SPARSE = {
    "(lambda (v) (let ((n (size v))) (- (* 2 (exp (slice v 1 (- n 1)))) (slice v 0 (- n 2)) (sin (slice v 2 n)))))": 3,
    "(lambda (v) (* (square v) (tensor-ref v 0)))": 2,
    "(lambda (v) (concatenate (list (reshape (sum (* v v v)) 1) (square (slice v 1 (size v))))))": 12,
    "(lambda (v) (* 0 v))": 1,
}


@pytest.mark.parametrize("tier", TIERS)
def test_sparse_jacobians(tier: str) -> None:
    """Equal to dense ones, in as many passes as there are colours."""
    session = vlad.Session(tier=tier)
    session["x"] = random((12,))
    for f, colours in SPARSE.items():
        session.eval(f"(define pattern (jacobian-pattern {f} (+ 2 x)))")
        dense = session.eval(f"((jacobian {f}) x)")
        np.testing.assert_allclose(session.eval(f"((sparse-jacobian {f} pattern) x)"), dense, atol=1e-13)
        assert len(set(session.eval("(column-colours pattern)").tolist())) == colours
    chain = "(lambda (v) (let ((n (size v))) (sum (square (- (slice v 1 n) (square (slice v 0 (- n 1))))))))"
    session.eval(f"(define pattern (jacobian-pattern (gradient {chain}) (+ 2 x)))")
    assert session.eval("(maximum (column-colours pattern))") == 2
    dense = session.eval(f"((hessian {chain}) x)")
    np.testing.assert_allclose(session.eval(f"((sparse-hessian {chain} pattern) x)"), dense, atol=1e-12)
    found = session.eval("((gradient (lambda (x) (sum (square ((sparse-jacobian square (eye 12)) x))))) x)")
    np.testing.assert_allclose(found, 8 * session["x"], atol=1e-12)  # of (2 x)^2


def test_colours_of_columns_that_meet_differ() -> None:
    session = shared("evaluate")
    colour = session.eval("(lambda (pattern) (column-colours pattern))")
    for seed in range(20):
        pattern = (random((9, 14), seed) > 0.6).astype(float)
        colours = colour(pattern)
        meet = (pattern.T @ pattern > 0) & ~np.eye(14, dtype=bool)
        assert not (meet & (colours[:, None] == colours)).any()
        assert colours.max() <= meet.sum(0).max()  # greedy: no more than the neighbours of a column, and one
    with pytest.raises(vlad.VladError, match="A pattern is a matrix"):
        session.eval("((sparse-jacobian square #[1 2]) #[1 2])")
