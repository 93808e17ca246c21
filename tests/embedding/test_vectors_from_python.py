"""Vectors of the language at the border to Python: results, captured values, saved values; slopes against differences."""

from __future__ import annotations

import math
import pickle

import pytest

import vlad

pytestmark = pytest.mark.any_compiler


def test_a_vector_arrives_as_a_list() -> None:
    session = vlad.Session()
    assert session.eval('(vector 1 "x" #t #(2 (3 . 4)))') == [1.0, "x", True, [2.0, (3.0, 4.0)]]
    assert session.eval("#()") == []
    session["l"] = [1.0, 2.0]
    assert session.eval("(vector-ref (list->vector l) 1)") == 2.0


def test_a_procedure_that_captures_a_vector_is_saved() -> None:
    session = vlad.Session()
    procedure = session.eval("(let ((v #(1 (2 a) 3))) (lambda (x) (* x (car (vector-ref v 1)))))")
    assert pickle.loads(pickle.dumps(procedure))(4.0) == procedure(4.0) == 8.0


SMOOTH = """
(define (f v)
  (let loop ((k 1) (w v) (total 0))
    (if (= k (vector-length w))
        (+ total (vector-ref w 0))
        (loop (+ k 1) (vector-set w 0 (sin (* (vector-ref w 0) (vector-ref w k)))) (+ total (exp (vector-ref w k)))))))
(define (at l) (f (list->vector l)))
"""


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
@pytest.mark.parametrize("mode", ["gradient-F", "gradient-R"])
def test_slopes_are_those_of_differences(tier: str, mode: str) -> None:
    session = vlad.Session(tier=tier)
    session.run_text(SMOOTH)
    point, step = [0.3, -0.7, 1.1, 0.4], 1e-5
    session["x"] = point
    slopes = session.eval(f"(vector->list (({mode} f) (list->vector x)))")
    for index in range(len(point)):
        around = []
        for sign in (1, -1):
            session["x"] = [x + sign * step * (index == at) for at, x in enumerate(point)]
            around.append(session.eval("(at x)"))
        assert math.isclose(slopes[index], (around[0] - around[1]) / (2 * step), rel_tol=1e-7, abs_tol=1e-9)


def test_the_cost_of_a_gradient_grows_with_the_length_only() -> None:
    """A sensitivity of an element is that of one element, not of a whole vector."""
    counts = []
    for n in (200, 400):
        session = vlad.Session(metered=True, tier="evaluate")
        session.run_text(SMOOTH)
        session.eval(f"(define v (build-vector {n} (lambda (k) (/ k {n}))))")
        before = sum(session.counts.values())
        session.eval("((gradient f) v)")
        counts.append(sum(session.counts.values()) - before)
    assert counts[1] < 2.1 * counts[0]
