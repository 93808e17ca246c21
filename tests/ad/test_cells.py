"""Cells under differentiation mean what the store-passing program means, on random programs."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from amounts import THOROUGH
from cell_programs import HELPERS, programs, with_cells, with_store
from hypothesis import HealthCheck, given, settings

import vlad

POINTS = (0.7, -0.4)
ANSWERS = Path(__file__).with_name("cell_answers.vlad").read_text(encoding="utf-8")
GIVEN = "(lambda (x) (let* ((c (ref x)) (f (with-derivative {}))) (f {}) (deref c)))"
REFUSED = [
    GIVEN.format("(lambda (y) (set-ref! c (* y y)) y) #:forward (lambda (y dy) dy)", "x"),
    GIVEN.format("(lambda (y) (* y (deref c))) #:reverse (lambda (y) (cons (* y (deref c)) *))", "x"),
    GIVEN.format("square #:forward (lambda (y dy) (set-ref! c 5) dy)", "x"),
    GIVEN.format("square #:reverse (lambda (y) (cons (* y y) (lambda (s) (set-ref! c 5) s)))", "x"),
    GIVEN.format("deref #:forward (lambda (c dc) (deref dc))", "c"),
    GIVEN.format("deref #:reverse (lambda (c) (cons 3 ref))", "c"),
    GIVEN.format("ref #:forward (lambda (x dx) (ref dx))", "x"),
]
MODES = {
    "": "f",
    "F": "(derivative-F f)",
    "R": "(derivative-R f)",
    "RR": "(derivative-R (derivative-R f))",
    "FR": "(derivative-F (derivative-R f))",
    "RF": "(derivative-R (derivative-F f))",
    "FF": "(derivative-F (derivative-F f))",
}


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    made = vlad.Session(tier="evaluate")
    made.eval(HELPERS)
    return made


def agree(a: float, b: float) -> bool:
    return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or (a != a and b != b)


@pytest.mark.own_tier
@settings(
    max_examples=2500 if THOROUGH else 40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(tree=programs())
def test_derivatives_are_those_of_the_store_passing_program(session: vlad.Session, tree: object) -> None:
    session.eval(f"(define (with-cells x) {with_cells(tree)})")
    session.eval(f"(define (with-store x) (let ((s '())) (car {with_store(tree)})))")
    for mode, text in MODES.items():
        # the modes of the pure program agree with each other elsewhere
        order = "F" * len(mode)
        pure, impure = (session.eval(f"(lambda (f) {t})") for t in (MODES[order], text))
        for point in POINTS:
            wanted, found = pure(session["with-store"])(point), impure(session["with-cells"])(point)
            if abs(wanted) < 1e100:
                assert agree(wanted, found), (mode, point, wanted, found, with_cells(tree))


@pytest.mark.own_tier
def test_answers() -> None:
    shown: list[str] = []
    answering = vlad.Session(tier="evaluate", write=shown.append)
    answering.run_text(ANSWERS, "cell_answers.vlad")
    wanted = re.findall("^; => (.*)$", ANSWERS, re.MULTILINE)
    assert "".join(shown).splitlines() == wanted and len(wanted) > 40


@pytest.mark.parametrize("mode", ["derivative-F", "derivative-R"])
@pytest.mark.parametrize("text", REFUSED)
def test_given_derivatives_refuse_cells_from_outside(session: vlad.Session, text: str, mode: str) -> None:
    """Their shadows would be missed, which would be a wrong derivative without notice."""
    if mode == "derivative-F" and "(lambda (s) (set-ref! c" in text:
        text = text.replace("(f x)", "((derivative-R f) x)")
    with pytest.raises(vlad.VladError) as caught:
        session.eval(f"(({mode} {text}) 3)")
    assert caught.value.code == "cell-outside-rule"


def test_reverse_by_a_sensitivity_with_cells_is_refused(session: vlad.Session) -> None:
    back = "((cdr (vjp (lambda (y) (ref (* y y x))) x)) (ref (square x)))"
    with pytest.raises(vlad.VladError) as caught:
        session.eval(f"((derivative-R (lambda (x) {back})) 3)")
    assert caught.value.code == "cells-in-sensitivity"


STATED = """
(define-record-type holder (make-holder n c) holder? (n holder-n) (c holder-c)
  #:tangent (lambda (n c dn dc) dc) #:fields (lambda (n c t) (list 0 t)))
(define-record-type added (make-added c) added? (c added-c) #:plus (lambda (a b) a))
(define (changed x)
  (let ((h (make-holder 2 (ref x)))) (set-ref! (holder-c h) (* x (deref (holder-c h)))) (* (holder-n h) (deref (holder-c h)))))
(define (captured x)
  (let ((h (make-holder 2 (ref x))))
    ((derivative (lambda (y) (set-ref! (holder-c h) (* y (deref (holder-c h)))) (* y (deref (holder-c h))))) x)))
(define (looped x)
  (let ((h (make-holder 2 (ref x))))
    (let loop ((i 0)) (when (< i 3) (set-ref! (holder-c h) (* x (sin (deref (holder-c h))))) (loop (+ i 1))))
    (deref (holder-c h))))
(define (as-variables x) (let loop ((i 0) (c x)) (if (= i 3) c (loop (+ i 1) (* x (sin c))))))
"""  # fmt: skip


@pytest.mark.own_tier
def test_cells_in_records_that_state_their_tangents() -> None:
    """Inside of a procedure they are cells like others; what they get is in no tangent of a record."""
    session = vlad.Session(tier="evaluate")
    session.run_text(STATED, "stated.vlad")
    known = {"changed": (2.8, 4.0), "captured": (2.8, 4.0)}
    looped = [session.eval(f"({'(derivative-F ' * n}as-variables{')' * n} 0.7)") for n in (1, 2)]
    for name, (first, second) in {**known, "looped": tuple(looped)}.items():
        for mode in ("F", "R"):
            assert session.eval(f"((derivative-{mode} {name}) 0.7)") == pytest.approx(first), (name, mode)
            for outer in ("F", "R"):
                text = f"((derivative-{outer} (derivative-{mode} {name})) 0.7)"
                assert session.eval(text) == pytest.approx(second), text
    for text in (
        "((gradient (lambda (h) (deref (holder-c h)))) (make-holder 2 (ref 3)))",
        "((gradient-F (lambda (h) (deref (holder-c h)))) (make-holder 2 (ref 3)))",
        "((gradient (lambda (l) (deref (added-c (car l))))) (list (make-added (ref 3))))",
        "(jvp (lambda (h) (deref (holder-c h))) (make-holder 2 (ref 3)) (ref 1))",
        "(jvp (lambda (x) (list (make-holder 2 (ref x)))) 3 1)",
        "((cdr (vjp (lambda (x) (make-holder 2 (ref x))) 3)) (ref 1))",
    ):
        with pytest.raises(vlad.VladError) as caught:
            session.eval(text)
        assert caught.value.code == "cells-in-record", text


THROUGH_THE_LIBRARY = """
(define (total l) (let ((c (ref 0))) (for-each (lambda (x) (set-ref! c (+ (deref c) x))) l) (deref c)))
(define (counted l) (let ((c (ref 0))) (map (lambda (x) (update-ref! c (lambda (n) (+ n 1))) (* x (deref c))) l)))
(define (most l)
  (let ((c (ref 0))) (cons (fold (lambda (x s) (when (> x (deref c)) (set-ref! c x)) (+ s x)) 0 l) (deref c))))
(define (nested l)
  (let ((c (ref 1)))
    (append-map (lambda (x) (for-each (lambda (y) (set-ref! c (* y (deref c)))) (list x 2)) (list x (deref c))) l)))
(define (again x) (let ((c (ref x))) (iterate (lambda (y) (set-ref! c (* y (deref c))) y) 3 2) (deref c)))
(define (itself l)
  (let ((c (ref 0)))
    (if (pair? l) (+ (itself (cdr l)) (begin (for-each (lambda (x) (set-ref! c x)) l) (deref c))) 0)))
(define (f x) (+ (total (counted (list x (* x x) 3))) (car (most (nested (list x 2)))) (again x) (itself (list x (* x x)))))
"""


@pytest.mark.any_compiler
def test_cells_in_procedures_for_the_library_are_variables(tmp_path: Path) -> None:
    """Their loops are copied, until a name of one is defined anew."""
    results = []
    for tier in ("evaluate", "compile"):
        made = vlad.Session(tier=tier)
        notices: list[vlad.VladError] = []
        made.tiers.notify = notices.append
        made.run_text(THROUGH_THE_LIBRARY)
        results.append(
            [
                made.eval(f"(list (f 2) {' '.join(f'({MODES[mode]} 2)' for mode in ('F', 'R', 'FR'))})"),
                made.eval(
                    "(list (total '(1 2 3)) (counted '(1 2 3)) (most '(3 1 4 1)) (nested '(1 2 3)) (again 2))"
                ),
            ]
        )
        assert notices == []
    path = tmp_path / "it.vlad"
    path.write_text(THROUGH_THE_LIBRARY)
    assert "ref" not in "".join(made.show(path, "core"))
    assert results[0] == results[1]
    assert results[0][1] == [6, [1, 4, 9], (9, 4), [1, 2, 2, 8, 3, 48], 16]
    made.eval("(define (for-each f l) (f 100))")
    assert made.eval("(total '(1 2 3))") == 100


def test_a_handler_that_is_first_mentioned_within_a_derivative() -> None:
    """The library's definition has a cell, which the transforms of the session must know of before they begin."""
    session = vlad.Session(tier="evaluate")
    program = (
        "(lambda (x) (with-exception-handler (lambda (e) (* 2 x)) (lambda () (* x (raise-continuable x)))))"
    )
    assert session.eval(f"((derivative {program}) 3)") == pytest.approx(12)
