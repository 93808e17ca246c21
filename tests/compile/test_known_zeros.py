"""A tangent or sensitivity to which nothing contributed is known to be zero, and stays zero whatever it is multiplied by: on both
tiers, in both modes, where paths meet, in calls and in what is captured. A zero that was computed times infinity is no number."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import agree, same
from amounts import drawn
from hypothesis import given, settings
from hypothesis import strategies as st

import vlad

DEAD = [  # slopes that are infinite at 0, of what does not contribute there
    "(sqrt (if (= x 0) 0 x))", "(sqrt (where (= x 0) 0 x))", "(if (= x 0) 0 (sqrt x))", "(where (= x 0) 0 (* 2 (sqrt x)))",
    "(sqrt (fold (lambda (e total) (if (> e 5) (* e x) total)) 0 (list x x)))",
    "(sqrt (let loop ((i 0) (y 0)) (if (> i 2) y (loop (+ i 1) (if (> i 5) x y)))))",
    "(fold (lambda (e total) (where (= e 0) total (+ total (log e)))) 0 (list x x))",
    "(where (= x 0) x (sqrt (+ x (* x x))))",
    "(sum (sqrt (if (= x 0) (zeros 2) (* x (ones 2)))))", "(where (>= x 0) (* 3 x) (sum (log (* x (ones 2)))))",
    "(where (>= x 0) 0 (norm (* x (ones 2))))", "(where (>= x 0) 0 (tensor-ref (sqrt (* x (ones 2))) 0))",
    "(sum (map-tensor (lambda (e) (where (= e 0) 0 (sqrt e))) (* x (ones 2))))",
    "(sum (map-tensor (lambda (e) (sqrt (if (= e 0) 0 e))) (* x (ones 2))))",
    "(log (log (if (= x 0) (exp 1) (- x x))))", "(sum (where (= x 0) (* x (ones 2)) (sqrt (* x (ones 2)))))",
    "(sum (where (> x 0) (log (* x (ones 2))) (* x #[2 3])))", "(sum (where #t (* x (ones 2)) (* 1e308 1e308 (* x (ones 2)))))",
    "(let loop ((i 0) (a (if (> x 0) (- x x) 1))) (if (= i 2) a (loop (+ i 1) (log a))))",
]  # fmt: skip


@pytest.mark.parametrize("text", DEAD)
def test_what_is_known_to_be_zero_stays_zero(text: str) -> None:
    """Also where paths meet on which it is not: zero times infinity is no number only for a zero that was computed."""
    f = f"(lambda (x) {text})"
    found = agree(
        f"""(lambda (a) (list ((derivative-F {f}) a) ((derivative-R {f}) a) ((derivative-F (derivative-R {f})) a)
          ((derivative-R (derivative-F {f})) a) ((derivative-R (derivative-R {f})) a)))""",
        0.0,
    )[0]
    assert found[0] == found[1] and np.isfinite(found).all()


CAPTURED = [
    "(log y)", "(log (abs y))", "(/ 1 y)", "(square (/ 0 y))", "(/ x (* 2 y))", "(expt y -2)", "(sum (log (* y (ones 2))))",
    "(let ((g (lambda (z) (/ z y)))) (g 1))", "(fold + 0 (map log (list y y)))", "(norm (* y #[1 1]))",
]  # fmt: skip


@pytest.mark.parametrize("text", CAPTURED)
def test_what_a_procedure_has_captured_has_no_tangent(text: str) -> None:
    """Nothing contributed to it, be it a number of the program or one that came in."""
    taken = text.replace("(/ x", "(/ 3")
    found = agree(
        f"""(lambda (y) (let ((f (lambda (x y) {taken}))) (list ((derivative-F (lambda (x) (f x y))) 0)
          ((derivative-R (lambda (x) (f x y))) 0) ((derivative-F (lambda (x) {taken})) 0)
          ((derivative-F (derivative-R (lambda (x) (f x y)))) 0) ((derivative-F (derivative-F (lambda (x) {taken}))) 0))))""",
        0.0,
    )[0]
    assert found == [0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "arms", ["x y", "y x", "(* x x) y", "3 y", "(- y y) x", "(- x x) y", "y (list-ref (list x y) 0)"]
)
def test_the_zero_of_one_path_is_not_the_number_of_another(arms: str) -> None:
    """Also where that is the same number on all its paths."""
    text = f"(lambda (x y) (square (if (<= x 1) {arms})))"
    derivatives = "".join(
        f"((derivative-{mode} (lambda ({v}) (f x y))) {v}) ((derivative-{mode} (derivative-{mode} (lambda ({v}) (f x y)))) {v})"
        for mode in "FR"
        for v in "xy"
    )
    for x in (0.5, 2.0):
        found = agree(f"(lambda (x y) (let ((f {text})) (list {derivatives})))", x, 3.0)[0]
        assert found[:4] == found[4:]


def of_two(draw: st.DrawFn, depth: int, names: tuple[str, ...]) -> str:
    """An expression that branches at 0 and 1, where many of its slopes are infinite."""

    def part(*more: str) -> str:
        return of_two(draw, depth - 1, names + more)

    if depth == 0:
        return draw(st.sampled_from(["0", "1", "0.5", "(- x x)", "(* 0 x)", *names, *names]))
    sign, with_, at = (
        draw(st.sampled_from(signs)) for signs in (["=", "<", ">", "<="], names, ("0", "1", *names))
    )
    test = f"({sign} {with_} {at})"
    forms = [
        lambda: (
            f"({draw(st.sampled_from(['sqrt', 'log', 'abs', 'exp', 'square', 'tanh', 'relu']))} {part()})"
        ),
        lambda: f"({draw(st.sampled_from(['+', '*', '-', '/', 'max', 'expt']))} {part()} {part()})",
        lambda: f"(if {test} {part()} {part()})",
        lambda: f"(where {test} {part()} {part()})",
        lambda: f"(let ((u {part()})) {part('u')})",
    ]
    return draw(st.sampled_from(forms))()


@st.composite
def branching(draw: st.DrawFn) -> str:
    return of_two(draw, draw(st.integers(2, 4)), ("x", "y"))


@given(branching())
@settings(max_examples=drawn(50), deadline=None)
def test_derivatives_of_what_branches(body: str) -> None:
    """Without loops, and without one reverse derivative within another: compiled, what a call answers that may be of several
    procedures, as a backpropagator may, is a number, and a zero that was known in one of them may be no number beyond it."""
    derivatives = [
        *[f"((derivative-{mode} (lambda ({v}) (f x y))) {v})" for mode in "RF" for v in "xy"],
        "((derivative-F (derivative-R (lambda (x) (f x y)))) x)",
        "((derivative-R (derivative-F (lambda (x) (f x y)))) x)",
    ]
    text = f"(lambda (x y) (let ((f (lambda (x y) {body}))) (list {' '.join(derivatives)})))"
    evaluated, compiled = [vlad.Session(tier=tier).eval(text) for tier in ("evaluate", "compile")]
    for x, y in [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (-1.0, 0.5)]:
        assert same(evaluated(x, y), compiled(x, y)), (body, x, y)
