"""Matrix decompositions: the parts are correct, and functions of them have the slopes of closed forms."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from running import TIERS, printed
from slopes import a_length, at_shapes, random, seed_of, several

import vlad
from vlad.primitives.linear_algebra import parts_of

pytestmark = pytest.mark.any_compiler


def square(r: Random) -> tuple[int, ...]:
    n = a_length(r, most=12)
    return (*several(r), n, n)


def turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def points_up(vectors: Any) -> bool:
    """Is the largest entry of each column positive, the first of those that are equally large?"""
    if not vectors.size:
        return True
    sizes = np.abs(vectors)
    first = np.argmax(sizes >= 0.999 * np.max(sizes, axis=-2, keepdims=True), axis=-2, keepdims=True)
    return bool(np.all(np.take_along_axis(vectors, first, axis=-2) > 0))


def is_orthogonal(columns: Any) -> bool:
    return np.allclose(turned(columns) @ columns, np.eye(columns.shape[-1]), atol=1e-13)


@pytest.mark.parametrize("kind", ["float64", "float32"])
@at_shapes(square)
def test_symmetric_matrices(session: vlad.Session, kind: str, drawn: Any, seed: int) -> None:
    """Of any matrix it is the symmetric part."""
    a = random(seed, drawn, -1, 1).astype(kind)
    values, vectors = map(np.asarray, session["eigh"](a))
    assert values.dtype == vectors.dtype == kind
    assert np.array_equal(session["eigvalsh"](a), values)
    assert np.all(np.diff(values) >= 0) and points_up(vectors)
    if kind == "float64":
        assert is_orthogonal(vectors)
        assert np.allclose(
            (vectors * values[..., None, :]) @ turned(vectors), (a + turned(a)) / 2, atol=1e-13
        )


def systems(r: Random) -> tuple[tuple[int, ...], tuple[int, ...]]:
    n, m = a_length(r, most=12), a_length(r)
    return (*several(r), n, n), r.choice([(n,), (n, m)])


@pytest.mark.parametrize("upper", [False, True])
@at_shapes(systems)
def test_triangles(session: vlad.Session, upper: bool, drawn: Any, seed: int) -> None:
    """The other triangle is not looked at."""
    a, b = [random(seed_of(seed, k), shape, -1, 1) for k, shape in enumerate(drawn)]
    own, other = (np.triu, np.tril) if upper else (np.tril, np.triu)
    a = own(a) + 4 * np.eye(drawn[0][-1])
    solve = session.eval(f"(lambda (a b) (solve-triangular a b{' #:upper #t' if upper else ''}))")
    found = np.asarray(solve(np.where(other(np.ones_like(a), 1 if not upper else -1), np.nan, a), b))
    columns = found[..., None] if b.ndim == 1 else found
    assert np.allclose(a @ columns, b[:, None] if b.ndim == 1 else b, atol=1e-12)


def oblong(r: Random) -> tuple[int, ...]:
    return (*several(r), a_length(r, most=6), a_length(r, most=6))


@pytest.mark.parametrize("kind", ["float64", "float32"])
@at_shapes(oblong)
def test_orthogonal_columns(session: vlad.Session, kind: str, drawn: Any, seed: int) -> None:
    a = random(seed, drawn, -1, 1).astype(kind)
    q, r = map(np.asarray, session["qr"](a))
    assert q.dtype == r.dtype == kind and np.array_equal(r, np.triu(r))
    assert (np.diagonal(r, axis1=-2, axis2=-1) >= 0).all()
    if kind == "float64":
        assert is_orthogonal(q) and np.allclose(q @ r, a, atol=1e-13)


@pytest.mark.parametrize("kind", ["float64", "float32"])
@at_shapes(oblong)
def test_singular_values(session: vlad.Session, kind: str, drawn: Any, seed: int) -> None:
    a = random(seed, drawn, -1, 1).astype(kind)
    u, s, v = map(np.asarray, session["svd"](a))
    assert u.dtype == s.dtype == v.dtype == kind and points_up(u)
    assert (s >= 0).all() and (np.diff(s) <= 0).all()
    if kind == "float64":
        assert is_orthogonal(u) and is_orthogonal(turned(v))
        assert np.allclose((u * s[..., None, :]) @ v, a, atol=1e-13)


def test_a_matrix_whose_parts_are_not_found_is_none_of_the_others(session: vlad.Session) -> None:
    """LAPACK fails on hardly any, and does not report on which of several."""

    def moody(x: Any) -> Any:
        if (x == 7).any():
            raise np.linalg.LinAlgError
        return np.linalg.eigh(x)

    values, vectors = parts_of(np.stack([np.eye(2), np.full((2, 2), 7.0), np.diag([2.0, 3.0])]), moody)
    assert np.array_equal(values, [[1, 1], [np.nan, np.nan], [2, 3]], equal_nan=True)
    assert np.isnan(vectors[1]).all() and np.array_equal(vectors[[0, 2]], np.stack([np.eye(2)] * 2))


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_what_is_made_of_singular_values(tier: str, shape: tuple[int, int]) -> None:
    """The sum of the singular values, whose slope is u v, and of their squares and fourth powers, which are polynomials."""
    session, r = vlad.Session(tier=tier), np.random.default_rng(2)
    f = session.eval("""(lambda (a e) (let ((h (lambda (n) (lambda (a) (sum (expt (car (cdr (svd a))) n))))))
      (list ((gradient (h 1)) a) ((gradient (h 2)) a) (hvp (h 2) a e) ((gradient (h 4)) a) (hvp (h 4) a e))))""")
    for _ in range(5):
        a, e = r.normal(size=(2, *shape))
        u, _, v = np.linalg.svd(a, full_matrices=False)
        curved = 4 * (e @ a.T @ a + a @ e.T @ a + a @ a.T @ e)
        for found, expected in zip(f(a, e), (u @ v, 2 * a, 2 * e, 4 * a @ a.T @ a, curved), strict=True):
            assert np.allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("tier", TIERS)
def test_singular_values_that_are_nearly_equal(tier: str) -> None:
    """What turns both sides alike is divided by a sum: the orthogonal factor keeps its digits, which by squares it would not."""
    f = vlad.Session(tier=tier).eval(
        "(lambda (a e) (cdr (jvp-F (lambda (a) (let (((list u s v) (svd a))) (matmul u v))) a e)))"
    )
    e = np.array([[0.0, 1.0], [-1.0, 0.0]])
    assert np.allclose(f(np.diag([1 + 1e-12, 1.0]), e), e, rtol=1e-11)


def products(n: int, a: Any, *along: Any) -> Any:
    """The derivative of the n-th power: the sum of all products of n factors, each of `along` one of them, the others a."""
    if not along:
        return np.linalg.matrix_power(a, n)
    if n < len(along):
        return np.zeros_like(a)
    ends = [one @ products(n - 1, a, *along[:k], *along[k + 1 :]) for k, one in enumerate(along)]
    return a @ products(n - 1, a, *along) + sum(ends)


POWERS = {
    0: "((gradient h) a)", 1: "(hvp h a d)", 2: "(cdr (jvp-F (lambda (a) (hvp h a d)) a e))",
    3: "((gradient (lambda (a) (sum (* (cos e) (cdr (jvp-F (lambda (a) (hvp h a d)) a e)))))) a)",
}  # fmt: skip


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("order", POWERS)
def test_traces_of_powers(tier: str, order: int) -> None:
    """The trace of the fifth power, which is the sum of those of the eigenvalues: its derivatives to the fourth."""
    f = vlad.Session(tier=tier).eval(
        f"(lambda (a d e) (let ((h (lambda (a) (sum (expt (eigvalsh a) 5))))) {POWERS[order]}))"
    )
    # each size is compiled separately, which takes seconds for the highest order
    for n in (3,) if (tier, order) == ("compile", 3) else (1, 2, 3, 5):
        for seed in range(4):
            r = np.random.default_rng(seed)
            a, d, e = [x + x.T for x in r.normal(size=(3, n, n))]
            a += 4 * np.diag(np.arange(n))
            expected = 5 * products(4, a, *[d, e, np.cos(e)][:order])
            assert np.allclose(f(a, d, e), expected, rtol=1e-9, atol=1e-9 * np.max(np.abs(expected)))


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", ["exp", "sin", "(lambda (x) (sqrt (+ 9 x)))"])
def test_matrix_functions(tier: str, name: str) -> None:
    """f(A) by eigenvalues and eigenvectors, and its slope by divided differences (Daleckii and Krein 1965)."""
    session = vlad.Session(tier=tier)
    f = session.eval(
        f"""(lambda (a d) (jvp-F (lambda (a) (let (((cons l v) (eigh a))) (matmul v (matmul (* (eye (size l)) ({name} l))
        (transpose v))))) a d))"""
    )
    scalar = session.eval(f"(lambda (x) ({name} x))")
    slope = session.eval(f"(lambda (x) ((gradient (lambda (x) (sum ({name} x)))) x))")
    for seed in range(5):
        a, d = np.random.default_rng(seed).normal(size=(2, 4, 4))
        a, d = a + a.T, d + d.T
        values, vectors = np.linalg.eigh(a)
        gaps, of = values[None] - values[:, None], np.asarray(scalar(values))
        quotients = (of[None] - of[:, None]) / np.where(gaps == 0, 1, gaps) + np.diag(slope(values))
        value, tangent = f(a, d)
        assert np.allclose(value, (vectors * of) @ vectors.T, atol=1e-11)
        assert np.allclose(tangent, vectors @ (quotients * (vectors.T @ d @ vectors)) @ vectors.T, atol=1e-11)


EQUAL = {
    # of the values
    "((gradient (lambda (a) (sum (exp (eigvalsh (* 0 a)))))) (ones '(2 2)))": "#[[0 0] [0 0]]",
    "((gradient (lambda (a) (sum (expt (eigvalsh a) 3)))) (eye 3))": "#[[3 0 0] [0 3 0] [0 0 3]]",
    "((gradient (lambda (a) (maximum (eigvalsh a)))) (eye 2))": "#[[0.5 0] [0 0.5]]",
    # of the space of all vectors but those of equal values
    """(round-to 9 (cdr (jvp-F (lambda (a) (let ((v (slice (cdr (eigh a)) 2 3 #:axis 1))) (matmul v (transpose v))))
       #[[1 0 0] [0 1 0] [0 0 2]] #[[1 2 3] [2 1 4] [3 4 1]])))""": "#[[0 0 3] [0 0 4] [3 4 0]]",
    """(round-to 9 ((gradient (lambda (a) (let ((v (slice (cdr (eigh a)) 2 3 #:axis 1))) (sum (* (matmul v (transpose v))
       #[[0 5 1] [7 0 1] [0 0 0]]))))) #[[1 0 0] [0 1 0] [0 0 2]]))""": "#[[0 0 0.5] [0 0 0.5] [0.5 0.5 0]]",
    # where nothing pulls from one of equal vectors towards another
    "(cdr (jvp-F (lambda (a) (cdr (eigh a))) (eye 2) #[[1 0] [0 2]]))": "#[[0 0] [0 0]]",
    "(hvp (lambda (a) (sum (expt (eigvalsh a) 2))) (eye 2) (eye 2))": "#[[2 0] [0 2]]",
    # not determined by the vectors alone
    "(cdr (eigh (eye 2)))": "#[[1 0] [0 1]]",
    "(cdr (jvp-F (lambda (a) (cdr (eigh a))) (eye 2) (ones '(2 2))))": "#[[+nan.0 +inf.0] [+inf.0 +nan.0]]",
    "(hvp (lambda (a) (sum (expt (eigvalsh a) 2))) (eye 2) (ones '(2 2)))": "#[[+nan.0 +nan.0] [+nan.0 +nan.0]]",
    """((gradient (lambda (a) (let (((cons l v) (eigh a))) (sum (matmul (* v (exp l)) (transpose v)))))) (eye 2))""":
        "#[[+nan.0 +nan.0] [+nan.0 +nan.0]]",
    "(cdr (jvp-F (lambda (a) (car (svd a))) (zeros '(2 2)) (ones '(2 2))))": "#[[+nan.0 +inf.0] [+inf.0 +nan.0]]",
    "((gradient (lambda (a) (sum (square (car (cdr (svd a))))))) (eye 2))": "#[[2 0] [0 2]]",
    # vectors of a singular value that is 0, where there is but one such
    "(round-to 6 ((gradient (lambda (a) (sum (sin (list-ref (svd a) 0))))) #[[1 2] [2 4]]))": printed(
        """(round-to 6 (tensor (map (lambda (d) (tensor (map (lambda (d) (cdr (jvp-F (lambda (a) (sum (sin (list-ref (svd a) 0))))
           #[[1 2] [2 4]] (tensor d)))) d))) '((((1 0) (0 0)) ((0 1) (0 0))) (((0 0) (1 0)) ((0 0) (0 1)))))))""", "evaluate"),
    "((gradient (lambda (a) (sum (sin (list-ref (svd a) 0))))) #[[0]])": "#[[0]]",
    "(svd #[[1 +inf.0]])": "(#[[+nan.0]] #[+nan.0] #[[+nan.0 +nan.0]])",
    "(qr #[[1 +nan.0]])": "(#[[+nan.0]] . #[[+nan.0 +nan.0]])",
    "(car (qr #[[-2]]))": "#[[-1]]", "(car (cdr (svd #[[3 4]])))": "#[5]", "(qr (zeros '(2 0)))": "(#[[] []] . #[])",
    "(eigh #[[1 +nan.0] [0 1]])": "(#[+nan.0 +nan.0] . #[[+nan.0 +nan.0] [+nan.0 +nan.0]])",
    "(car (eigh (stack (list (eye 2) (/ (eye 2) 0)))))": "#[[1 1] [+nan.0 +nan.0]]",
    "(eigh #[[1 2] [0 1]])": printed("(eigh #[[1 1] [1 1]])", "evaluate"),
    "(eigh (> #[[1 0] [0 1]] 0))": "(#[1 1] . #[[1 0] [0 1]])", "(eigvalsh (as-type #[[2 0] [0 1]] 'int64))": "#[1 2]",
}  # fmt: skip


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("text", EQUAL)
def test_at_the_edge(text: str, tier: str) -> None:
    """Where values are equal, and where there is nothing to take apart: docs/conventions.md."""
    assert printed(text, tier).replace("-0 ", "0 ").replace("-0]", "0]") == EQUAL[text]


@pytest.mark.parametrize("tier", TIERS)
def test_values_that_are_equal_to_rounding(tier: str) -> None:
    """After an orthogonal rotation, the space of the other vectors rotates correctly, in both directions."""
    session = vlad.Session(tier=tier)
    session.eval(
        "(define (space a) (let ((v (slice (cdr (eigh a)) 2 4 #:axis 1))) (matmul v (transpose v))))"
    )
    f = session.eval("(lambda (a d) (cdr (jvp-F space a d)))")
    g = session.eval("(lambda (a w) ((gradient (lambda (a) (sum (* w (space a))))) a))")
    for seed in range(10):
        r = np.random.default_rng(seed)
        q = np.linalg.qr(r.normal(size=(4, 4)))[0]
        d, w = (x + x.T for x in r.normal(size=(2, 4, 4)))
        values = np.array([1.0, 1.0, 2.0, 3.0])
        is_across = (np.arange(4) < 2)[:, None] != (np.arange(4) < 2)
        gaps = np.where(is_across, abs(values[:, None] - values), 1)
        across = np.where(is_across, 1 / gaps, 0)
        expected = q @ (across * (q.T @ d @ q)) @ q.T
        a = (q * values) @ q.T
        assert np.allclose(f(a, d), expected, atol=1e-11)
        assert np.sum(g(a, w) * d) == pytest.approx(np.sum(w * expected), abs=1e-11)


@pytest.mark.parametrize("tier", TIERS)
def test_what_is_made_of_equal_vectors_is_never_wrong(tier: str) -> None:
    """LAPACK's values of a matrix that rotations have turned differ by some rounding: that is no difference to divide by."""
    session = vlad.Session(tier=tier)
    f = session.eval("""(lambda (a w) ((gradient (lambda (a)
      (let (((cons l v) (eigh a))) (sum (* w (matmul (* v (sqrt l)) (transpose v))))))) a))""")
    g = session.eval("(lambda (a) (hvp (lambda (a) (sum (square (eigvalsh a)))) a a))")
    w = np.array([[1.0, 2, 3], [2, 5, 6], [3, 6, 8]])
    for seed in range(100):
        q = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
        for values in ([2.0, 2.0, 1.0], [3.0, 1.0, 1.0], [2.0, 2.0, 2.0]):
            a = (q * values) @ q.T
            roots = np.sqrt(values)
            expected = q @ ((q.T @ w @ q) / (roots[:, None] + roots)) @ q.T
            found = f(a, w)
            assert (np.isclose(found, expected, atol=1e-9) | ~np.isfinite(found)).all(), (seed, values)
            found = g(a)
            assert (np.isclose(found, 2 * a, atol=1e-9) | ~np.isfinite(found)).all(), (seed, values)
