"""Boxes that are only looked into are not made: scalar replacement of sums."""

from __future__ import annotations

from typing import Any

import pytest
from amounts import drawn
from hypothesis import given, settings
from hypothesis.strategies import floats

import vlad
from vlad.compile.calling.pipeline import Unit
from vlad.compile.ir.program import Box, statements

# Reverse modes in which a branch's backpropagator is called at once; and how many boxes are left.
FUNCTIONS = {
    "one branch": ("(lambda (x) (if (> x 0) (exp (* x x)) (/ x (+ 1 (* x x)))))", False),
    "branches in a row": (
        "(lambda (x) (let* ((y (if (> x 1) (* x x) (sin x))) (z (if (< y 0) (- y x) (* y y)))) (* y z)))",
        False,
    ),
    "a branch in a branch": (
        "(lambda (x) (if (> x 0) (if (> x 1) (* x x x) (sin x)) (if (< x -1) (exp x) (* x 3))))",
        False,
    ),
    "a constant arm": ("(lambda (x) (* x (if (> x 0) 2 (sin x))))", False),
    "a choice of pairs": (
        "(lambda (x) (let ((p (if (> x 0) (list x (* x x)) (list x)))) (if (null? (cdr p)) (sin (car p)) (* (car p) (cadr p)))))",
        False,
    ),
    "kept in a list": (
        "(lambda (x) (fold + 0 (map (lambda (y) (if (> y 0) (* x y) (sin (* x x y)))) (iota (floor (+ 3 (abs x)))))))",
        True,
    ),
}
MODES = ("((derivative-R ~) x)", "((derivative-R (derivative-R ~)) x)", "((derivative-F (derivative-R ~)) x)")


def boxes_of(session: vlad.Session, procedure: Any) -> list[Box]:
    code = procedure.value[0]
    program = Unit(session.machine, code, procedure.value[1 : 1 + len(code.environment)], (0.5,)).program
    return [s for function in program.functions for s in statements(function.body) if type(s) is Box]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_backpropagator_called_at_once_is_no_box(name: str) -> None:
    function, keeps = FUNCTIONS[name]
    session = vlad.Session(tier="compile")
    slope = session.eval(f"(lambda (x) {MODES[0].replace('~', function)})")
    assert bool(boxes_of(session, slope)) is keeps


@pytest.mark.any_compiler
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_results_stay(name: str, mode: str) -> None:
    function, _ = FUNCTIONS[name]
    text = f"(lambda (x) {mode.replace('~', function)})"
    compiled, evaluated = (vlad.Session(tier=tier).eval(text) for tier in ("compile", "evaluate"))

    @settings(max_examples=drawn(90), deadline=None)
    @given(floats(-4, 4))
    def agree(x: float) -> None:
        assert compiled(x) == pytest.approx(evaluated(x), rel=1e-12, abs=1e-300)

    agree()


def test_what_is_handed_to_a_call_stays_a_box() -> None:
    """A list that goes round in a loop, chosen by a branch: nothing of it may be lost."""
    text = """(lambda (x)
      (let loop ((i 0) (l '()) (total x))
        (if (= i 9)
            (+ total (length l))
            (loop (+ i 1) (if (> (sin (* i x)) 0) (cons i l) (if (null? l) '(7) (cdr l))) (+ total (length l))))))"""
    compiled, evaluated = (vlad.Session(tier=tier).eval(text) for tier in ("compile", "evaluate"))
    for x in (-2.0, -0.3, 0.1, 0.5, 1.7, 3.0):
        assert compiled(x) == evaluated(x)


def test_a_member_that_is_never_made_is_never_destructured() -> None:
    """An arm that never runs unboxes a member that no arm makes."""
    text = """(lambda (x)
      ((derivative-R (lambda (y)
         (let ((l (if (> y 0) '() (if (> y -1) (list y) '()))))
           (if (null? l) (* y y) (if (null? (cdr l)) (sin (car l)) (* (car l) (cadr l))))))) x))"""
    compiled, evaluated = (vlad.Session(tier=tier).eval(text) for tier in ("compile", "evaluate"))
    for x in (-2.0, -0.3, 0.1, 1.7):
        assert compiled(x) == evaluated(x)


def test_a_member_that_no_box_is_of() -> None:
    """A long tape is a union, and the branch at its end makes one member only; the other is unboxed all the same."""
    for steps in (3, 30):
        backs = []
        for tier in ("compile", "evaluate"):
            session = vlad.Session(tier=tier)
            session.eval("(define (loop x n) (if (= n 0) x (loop (sin x) (- n 1))))")
            backs.append(session.eval(f"(cdr ((J loop) (J (cons 1 {steps}))))"))
        compiled, evaluated = (back(1.0)[1] for back in backs)
        assert compiled == pytest.approx(evaluated, rel=1e-14)
        assert backs[0].session.tiers.entries[id(backs[0].value)].variants
