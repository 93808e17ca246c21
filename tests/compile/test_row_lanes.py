"""Rows that are computed in straight lines run in vector lanes: the values are those of tier 0, whatever they read and choose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_row_loops import flat

import vlad

PROGRAM = """
(define (chosen x y) (if (< x 0.5) (* x (sin y)) (if (> y x) (/ 1 x) (sqrt (- x 3)))))
(define (several x y w) (list (+ (* x (tensor-ref w 1)) y) (> x y) 3 (if (> x 0.3) #t (< y 0.2))))
(define (long-arms x y) (if (< x 0.5) (exp (sin (* x y))) (log (abs (cos x)))))
(define (guarded x v) (if (< x 1) (tensor-ref v x) (* 2 x)))
(define (price s v) (let ((w (* v (sqrt s)))) (* s (erfc (/ (log s) w)))))
(define (second f) (lambda (x y) ((derivative-F (lambda (x) ((derivative-F (lambda (y) (f x y))) y))) x)))

(define (reals w xs ys)
  (list ((vmap chosen) xs ys) ((vmap several #:axes '(0 0 #f)) xs ys w) ((vmap long-arms) xs ys)
        ((vmap guarded #:axes '(0 #f)) (round (* 1.4 xs)) w) ((vmap (second price)) (+ 1 (abs xs)) (+ 0.2 (abs ys)))
        ((vmap (gradient chosen)) xs ys) ((vmap (vmap chosen)) (outer xs #[1 2 3]) (outer ys #[1 0.5 2]))))
(define (kinds w xs ys)
  (list ((vmap (lambda (n x) (if (> n 2) x (* n x)))) (as-type (round (* 4 xs)) 'int64) ys)
        ((vmap (lambda (x y) (if (> x y) x (+ x y)))) (as-type xs 'float32) ys)
        ((vmap (lambda (b x) (if b x (- x)))) (> xs ys) xs)
        (sum ((vmap (lambda (x y) (square (- x y)))) xs ys))))
(define (zeros-apart w xs ys) ((vmap (lambda (x) (if (= x 0) x (- x)))) (* 0 (- xs))))
"""
rng = np.random.default_rng(3)


def same(found: Any, expected: Any) -> None:
    for one, other in zip(flat(found), flat(expected), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
        if other.dtype.kind == "f":
            assert (np.signbit(one) == np.signbit(other))[~np.isnan(other)].all()


@pytest.mark.parametrize("name", ["reals", "kinds", "zeros-apart"])
def test_rows_have_the_values_of_tier_0(name: str) -> None:
    """Of numbers of rows for which code exists, and in code for any number: few are run one by one."""
    evaluating, compiling = [vlad.Session(tier=tier) for tier in ("evaluate", "compile")]
    for session in (evaluating, compiling):
        session.run_text(PROGRAM, "rows.vlad")
    w = np.array([0.5, -2])
    for rows in (40, 2, 17, 333):
        xs, ys = rng.uniform(0, 1.4, rows), rng.normal(size=rows)
        same(compiling[name](w, xs, ys), evaluating[name](w, xs, ys))
    (entry,) = [one for one in compiling.tiers.entries.values() if one.variants]
    assert entry.reason is None
    assert compiling.tiers.disagreements == 0
