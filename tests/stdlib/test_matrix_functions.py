"""Functions of matrices at equal, nearly equal and different eigenvalues: values, and derivatives in both modes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from amounts import THOROUGH
from mpmath import mp, mpf
from numpy.typing import NDArray

import vlad

Array = NDArray[np.float64]
TIERS = ["evaluate", "compile"]
FUNCTIONS = {
    "exp": mp.exp, "log": mp.log, "sqrt": mp.sqrt, "cube": lambda x: x**3, "(lambda (x) (/ 1 (+ 1 x)))": lambda x: 1 / (1 + x),
}  # fmt: skip
GAPS = (0.0, 1e-13, 1e-8, 1e-3, 0.03, 0.1, 1.0)
# the value, the derivatives along matrices in forward mode, and the gradients of the sum with weights of these
FORWARD = """
(define (along f e) (lambda (a) (directional-derivative f a e)))
(define f (lambda (a) (matrix-function FUNCTION a)))
"""
ORDERS = {
    0: "(f a)",
    1: "((along f e) a) ((gradient-R (lambda (a) (sum (* e (f a))))) a)",
    2: "((along (along f e) g) a) (hvp-R (lambda (a) (sum (* e (f a)))) a g) (hvp-F (lambda (a) (sum (* e (f a)))) a g)",
    3: "((along (along (along f e) g) h) a) ((gradient-R (lambda (a) (sum (* h (hvp-R (lambda (a) (sum (* e (f a)))) a g))))) a)",
}

ANSWERS = (1, 2, 3, 2)
MOST = (1e-14, 1e-14, 1e-12, 1e-10)  # in terms of the largest entry


def matrices(gap: float, third: float) -> list[Array]:
    """A matrix with two eigenvalues so far apart, and three directions, symmetric all."""
    r = np.random.default_rng(7)
    q = np.linalg.qr(r.normal(size=(3, 3)))[0]
    found = [(q * [1.3, 1.3 + gap, 1.3 + third]) @ q.T if gap or third else 1.3 * np.eye(3)]
    found += [r.normal(size=(3, 3)) for _ in range(3)]
    return [(a + a.T) / 2 for a in found]


def exact(f: Any, a: Array, along: list[Array]) -> Array:
    """By central differences in 100 digits, with eigenvectors."""
    with mp.workdps(100):
        step, total = mpf(10) ** -12, mp.zeros(3)
        for signs in itertools.product((1, -1), repeat=len(along)):
            moved = mp.matrix(a.tolist())
            for sign, e in zip(signs, along, strict=True):
                moved += sign * step * mp.matrix(e.tolist())
            values, vectors = mp.eigsy(moved)
            total += int(np.prod(signs)) * vectors * mp.diag([f(x) for x in values]) * vectors.T
        total /= (2 * step) ** len(along)
        return np.array(total.tolist(), float)


def compared(tier: str, name: str, orders: range, gaps: tuple[float, ...]) -> None:
    session = vlad.Session(tier=tier)
    session.run_text(FORWARD.replace("FUNCTION", name))
    every = session.eval(f"(lambda (a e g h) (list {' '.join([ORDERS[order] for order in orders])}))")
    for gap in gaps:
        for third in (0.0, gap, 1.1):
            a, *along = matrices(gap, third)
            found = list(every(a, *along))
            for order in orders:
                true = exact(FUNCTIONS[name], a, along[:order])
                for _ in range(ANSWERS[order]):
                    off = np.max(np.abs(found.pop(0) - true)) / np.max(np.abs(true))
                    assert off < MOST[order], (name, gap, third, order, off)


@pytest.mark.own_tier
@pytest.mark.parametrize("name", FUNCTIONS if THOROUGH else ["exp"])
def test_derivatives(name: str) -> None:
    compared("evaluate", name, range(3), GAPS)


@pytest.mark.own_tier
@pytest.mark.parametrize("name", FUNCTIONS if THOROUGH else ["sqrt"])
def test_third_derivatives(name: str) -> None:
    compared("evaluate", name, range(4), GAPS if THOROUGH else GAPS[1:2])


@pytest.mark.own_tier
@pytest.mark.parametrize("name", FUNCTIONS if THOROUGH else ["log"])
def test_compiled_derivatives(name: str) -> None:
    compared("compile", name, range(3), GAPS if THOROUGH else GAPS[::2])


def printed(text: str, tier: str) -> list[str]:
    lines: list[str] = []
    vlad.Session(tier=tier, write=lines.append).run_text(text)
    return "".join(lines).splitlines()


EXAMPLES = {
    # by the procedure's captured values, and by both
    "(round-to 6 ((gradient (lambda (k) (sum (matrix-function (lambda (x) (expt x k)) #[[2 1] [1 2]])))) 2))": "19.775021",
    "(round-to 6 ((derivative (lambda (k) ((derivative (lambda (c) (sum (matrix-function (lambda (x) (exp (* k x)))"
    " (* c (eye 2)))))) 1))) 1))": "10.873127",
    # several matrices, float32, none
    "((gradient (lambda (a) (sum (logm a)))) (stack (list (eye 2) (* 2 (eye 2)))))": "#[[[1 1] [1 1]] [[0.5 0.5] [0.5 0.5]]]",
    "(dtype (sqrtm (as-type (eye 2) 'float32)))": "float32",
    "(shape (expm (zeros '(3 0 0))))": "(3 0 0)",
    "(matrix-function exp (zeros '(0 0)))": "#[]",
    "(round-to 6 (sqrtm (ones '(2 2))))": "#[[0.707107 0.707107] [0.707107 0.707107]]",
    "(nan? (tensor-ref (sqrtm #[[-1 0] [0 1]]) 0 0))": "#t",
    "(round-to 6 (logm (expm #[[1 2] [2 1]])))": "#[[1 2] [2 1]]",
    # of a matrix of 1e-300, and of 1e5, whose exponential overflows
    "(expm (* 1e-300 (ones '(2 2))))": "#[[1 1e-300] [1e-300 1]]",
    "(round-to 6 (expm #[[-1e5 0] [1 0]]))": "#[[0 0] [1e-5 1]]",
    "(hvp-R (lambda (a) (sum (expm a))) (zeros '(2 2)) #[[1 0] [0 0]])": "#[[1 0.5] [0.5 0]]",
    "((gradient (lambda (a) (trace (expm a)))) #[[0 1] [0 0]])": "#[[1 0] [1 1]]",
}


@pytest.mark.parametrize("tier", TIERS)
def test_examples(tier: str) -> None:
    texts = list(EXAMPLES)[:: 3 if tier == "compile" and not THOROUGH else 1]
    assert dict(zip(texts, printed("\n".join(texts), tier), strict=True)) == {
        text: EXAMPLES[text] for text in texts
    }


REFUSED = {
    "(sqrtm #[[1 2] [3 4]])": "sqrtm takes symmetric matrices; this one is off by 1",
    "(matrix-function exp #[[1 2]])": "matrix-function takes a square matrix, or several along leading axes. Not: (1 2)",
    "(logm 2)": "logm takes a square matrix, or several along leading axes. Not: 2",
    "(expm '((1 2) (3 4)))": "expm takes a square matrix, or several along leading axes. Not: ((1 2) (3 4))",
}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str, tier: str) -> None:
    with pytest.raises(vlad.VladError) as caught:
        vlad.Session(tier=tier).eval(text)
    assert caught.value.message == REFUSED[text]


def test_exponentials_of_any_matrices() -> None:
    r, expm = np.random.default_rng(3), vlad.Session().eval("expm")
    for size in (1e-8, 0.3, 5.0, 40.0):
        a = size * r.normal(size=(4, 4))
        with mp.workdps(60):
            true = np.array(mp.expm(mp.matrix(a.tolist()), method="taylor").tolist(), float)
        assert np.max(np.abs(expm(a) - true)) <= 1e-13 * max(1.0, size) * np.max(np.abs(true)), size
