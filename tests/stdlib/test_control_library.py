"""stdlib/control.vlad: reverse mode as a program agrees with `gradient`, and what continuations are for holds at length."""

from __future__ import annotations

import math
from typing import Any

import pytest

import vlad

# Procedures of one number: with the operations of `penultimate-gradient`, and with ordinary ones.
PAIRS = {
    "polynomial": ("(lambda (x) (t+ (t* x (t* x x)) (t- (t* 2 x) 5)))", "(lambda (x) (+ (* x x x) (- (* 2 x) 5)))"),
    "quotient": ("(lambda (x) (t/ (tsin x) (t+ 1 (texp x))))", "(lambda (x) (/ (sin x) (+ 1 (exp x))))"),
    "shared": ("(lambda (x) (let ((y (t* x x))) (t* y (t+ y x))))", "(lambda (x) (let ((y (* x x))) (* y (+ y x))))"),
    "branch": (
        "(lambda (x) (if (< (tracked-value x) 1) (t* -1 (t* x x)) (tlog x)))",
        "(lambda (x) (if (< x 1) (* -1 x x) (log x)))",
    ),
    "loop": (
        "(lambda (x) (let loop ((t x) (n 0)) (if (or (> (tracked-value t) 50) (= n 9)) t (loop (t* t (tcos t)) (+ n 1)))))",
        "(lambda (x) (let loop ((t x) (n 0)) (if (or (> t 50) (= n 9)) t (loop (* t (cos t)) (+ n 1)))))",
    ),
    "tree": (
        "(lambda (x) (let walk ((t '((1 . 2) . (3 . 4)))) (if (pair? t) (t* (walk (car t)) (walk (cdr t))) (t+ t x))))",
        "(lambda (x) (let walk ((t '((1 . 2) . (3 . 4)))) (if (pair? t) (* (walk (car t)) (walk (cdr t))) (+ t x))))",
    ),
    "procedures": (
        "(lambda (x) (fold (lambda (a s) (t* s (t+ a x))) 1 (map (lambda (n) (t* n x)) '(1 2 3))))",
        "(lambda (x) (fold (lambda (a s) (* s (+ a x))) 1 (map (lambda (n) (* n x)) '(1 2 3))))",
    ),
    "constant": ("(lambda (x) 3)", "(lambda (x) 3)"),
}  # fmt: skip


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    return vlad.Session(tier="evaluate")


def close(a: Any, b: Any) -> bool:
    return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.own_tier
@pytest.mark.parametrize("name", PAIRS)
def test_the_gradient_as_a_program_is_the_gradient(session: vlad.Session, name: str) -> None:
    tracked, plain = PAIRS[name]
    for point in (0.3, 1.7):
        found = session.eval(f"((penultimate-gradient {tracked}) {point})")
        assert close(found, session.eval(f"((gradient {plain}) {point})"))
        for mode in ("derivative-F", "derivative-R"):
            second = session.eval(f"(({mode} (penultimate-gradient {tracked})) {point})")
            assert close(second, session.eval(f"((derivative (derivative {plain})) {point})")), mode


def test_the_gradient_of_a_structure(session: vlad.Session) -> None:
    session.eval("(define (f l) (t+ (t* (car l) (t* (cadr l) (cadr l))) (tsin (car l))))")
    session.eval("(define (g l) (+ (* (car l) (cadr l) (cadr l)) (sin (car l))))")
    assert session.eval("((penultimate-gradient f) '(2 3))") == session.eval("((gradient g) '(2 3))")
    assert session.eval("((penultimate-gradient (lambda (l) (t* (caar l) (cdr l)))) '((2 a) . 5))") == (
        [5, "a"],
        2,
    )


@pytest.mark.own_tier
def test_lengths(session: vlad.Session) -> None:
    """Neither the tape nor what is generated needs a stack."""
    session.eval("(define (powers x) (let loop ((i 0) (p x)) (if (= i 5000) p (loop (+ i 1) (t* p 1)))))")
    assert session.eval("((penultimate-gradient powers) 2)") == 1
    session.eval("(define numbers (generate (lambda (yield) (let loop ((n 0)) (yield n) (loop (+ n 1))))))")
    assert session.eval("(stream-ref numbers 5000)") == 5000
    assert session.eval("(length (solutions (lambda () (list (amb (iota 50)) (amb (iota 50))))))") == 2500
    counted = "(with-state 0 (lambda () (let loop ((i 0)) (when (< i 3000) (put-state (+ 1 (get-state))) (loop (+ i 1))))))"
    assert session.eval(f"(cdr {counted})") == 3000
