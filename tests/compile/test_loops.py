"""Loop-invariant values are computed in the first iteration, if there is one."""

from __future__ import annotations

import math

import pytest

import vlad
from vlad.compile.calling.pipeline import Unit
from vlad.compile.ir.program import Compute, statements

SLOW = """
(define (slow m) (let turn ((i 0) (s 0)) (if (< i m) (turn (+ i 1) (+ s (/ 1 (+ 1 i)))) s)))
(define (first-of l) (if (null? l) (error "no first" l) (car l)))
"""


def unit(session: vlad.Session, name: str) -> Unit:
    f = session.module.cell(name).value
    return Unit(session.machine, f[0], (), (0.5,) * f[0].arity)


@pytest.mark.parametrize(
    "text",
    [
        "(let loop ((i 0) (s 0)) (if (< i n) (loop (+ i 1) (+ s (slow m))) s))",
        "(let loop ((i 0) (s 0)) (let ((k (slow m))) (if (< i n) (loop (+ i 1) (+ s (* i k))) (- s k))))",
        "(let loop ((i 0) (s 0)) (if (< i n) (loop (+ i 1) (slow (+ 1 (* (slow m) 0)))) s))",
        "((derivative-R (lambda (x) (let loop ((i 0) (s x)) (if (< i n) (loop (+ i 1) (* s (/ (slow m) 13))) s)))) 1)",
    ],
)
def test_a_loop_within_a_loop_runs_once(text: str) -> None:
    """Otherwise, each of these takes ten thousand million turns."""
    sessions = [vlad.Session(tier=tier, limits=vlad.Limits(seconds=100)) for tier in ("compile", "evaluate")]
    for session in sessions:
        session.eval(f"{SLOW} (define (f n m) {text})")
    compiled, evaluated = [session["f"] for session in sessions]
    for n, m in ((3.0, 5.0), (0.0, 4.0), (1.0, 1.0), (-1.0, 7.0), (8.0, 0.0)):
        assert compiled(n, m) == pytest.approx(evaluated(n, m), rel=1e-12), (n, m)
    assert math.isfinite(compiled(100_000.0, 100_000.0))


def test_functions_of_the_c_library() -> None:
    session = vlad.Session(tier="evaluate")
    session.eval(
        "(define (f x n) (let loop ((i 0) (s 0)) (if (< i n) (loop (+ i 1) (+ (* 0.5 s) (* (sin x) (cos i)))) s)))"
    )
    first, turns = [
        [statement.row.name for statement in statements(function.body) if type(statement) is Compute]
        for function in unit(session, "f").program.functions[1:]
    ]
    assert "sin" in first and "cos" in first and "cos" in turns and "sin" not in turns


@pytest.mark.parametrize("tier", ["compile", "evaluate"])
def test_nothing_is_done_too_early(tier: str) -> None:
    """What fails, and what never ends, does so where it did, and not if there is no turn."""
    session = vlad.Session(tier=tier, limits=vlad.Limits(seconds=20))
    session.eval(SLOW)
    session.eval("(define (f n l) (let loop ((i 0) (s 0)) (if (< i n) (loop (+ i 1) (+ s (first-of l))) s)))")
    session.eval("(define (g n m) (let loop ((i 0) (s 0)) (if (< i n) (loop (+ i 1) (+ s (slow m))) s)))")
    f, g = session["f"], session["g"]
    assert f(0.0, []) == 0.0
    assert f(3.0, [2.0, 1.0]) == 6.0
    with pytest.raises(vlad.VladError, match="no first"):
        f(1.0, [])
    assert g(0.0, math.inf) == 0.0


def test_what_acts_is_done_in_each_turn() -> None:
    printed: list[str] = []
    session = vlad.Session(tier="compile", write=printed.append)
    session.eval(
        "(define (loud x) (let* ((u (write-real x))) (let turn ((i x)) (if (> i 1) (turn (/ i 2)) i))))"
    )
    session.eval("(define (f n x) (let loop ((i 0) (s 0)) (if (< i n) (loop (+ i 1) (+ s (loud x))) s)))")
    assert session["f"](3.0, 4.0) == 3.0
    assert "".join(printed) == "4\n4\n4\n"
