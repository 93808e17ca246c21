"""Lists, tuples and their contents, constructed by a loop: compiled, and as on tier 0."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlad

pytestmark = pytest.mark.any_compiler

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("layers", [2, 3, 5])
@pytest.mark.parametrize("kind", ["procedures", "parameters"])
def test_networks_of_several_layers_are_trained_compiled(kind: str, layers: int) -> None:
    """The optimizer's state begins as (), and is a tuple from the first step on: it is no list of its contents."""
    widths = [1, *range(3, 3 + layers)]
    parts = [
        f"(dense-parameters (random-key {n}) {width} {next_width})"
        for n, (width, next_width) in enumerate(itertools.pairwise(widths))
    ]
    if kind == "procedures":
        network = f"(sequential (list {' tanh '.join([f'(dense {part})' for part in parts])}))"
        answer = "(net xs)"
    else:
        network = f"(list {' '.join(parts)})"
        answer = "(fold (lambda (p x) (tanh ((dense p) x))) xs net)"
    text = f"""(import "nn") (import "optimizers")
        (define xs (reshape (linspace -1 1.3 6) '(6 1)))
        (define (loss net) (mean (square (- {answer} xs))))
        (define (trained n) (loss (optimize (adam 0.01) loss {network} n)))"""
    assert_compiled_agrees(text, "trained", 4.0)


def assert_compiled_agrees(text: str, name: str, *operands: Any) -> None:
    """The calls of a program are compiled, and return the same on tier 1 as on tier 0."""
    answers = []
    for tier in ("evaluate", "compile"):
        session = vlad.Session(tier=tier)
        session.eval(text)
        procedure = session[name]
        answers.append(procedure(*operands))
    (entry,) = [entry for entry in session.tiers.entries.values() if entry.f is procedure.value]
    assert entry.variants and entry.reason is None
    assert answers[1] == pytest.approx(answers[0], rel=1e-12)


MEMORY = """
(define (remembered x n)
  (let loop ((i 0) (x x) (memory '()))
    (if (= i n) memory (loop (+ i 1) (* x 1.5) (cons ENTRY memory)))))
(define (total x n) (fold (lambda (PATTERN all) (+ all TERM)) 0 (remembered x n)))
(define (f n) (total #[1 2 3] n))
"""


@pytest.mark.parametrize(
    ("entry", "pattern", "term"),
    [
        ("(list x i)", "(list x i)", "(* i (sum x))"),
        ("(list x x i)", "(list x y i)", "(* i (sum (* x y)))"),
        ("(cons (cons x i) (list i))", "(cons (cons x i) (list j))", "(+ i (* j (sum x)))"),
        ("(list (cons x i) (cons i x) i)", "(list (cons x i) (cons j y) k)", "(* i j k (sum (* x y)))"),
        ("(if (< i 2) (list i) (list i i))", "l", "(length l)"),
        ("(if (< i 2) (list x) (list x x))", "l", "(sum (car l))"),
        ("(list (list (list x)) i)", "(list (list (list x)) i)", "(* i (sum x))"),
    ],
)
def test_a_list_of_tuples_is_no_list_of_what_is_in_them(entry: str, pattern: str, term: str) -> None:
    text = MEMORY.replace("ENTRY", entry).replace("PATTERN", pattern).replace("TERM", term)
    assert_compiled_agrees(text, "f", 5.0)


@pytest.mark.parametrize(
    ("start", "goal"),
    [
        ("#[0 0]", "#[1 2]"),
        ("(cons #[0 0] 0)", "(cons #[1 2] 3)"),
        ("(list #[0 0] #[[1 0] [0 1]] 1)", "(list #[1 2] #[[1 3] [2 1]] 4)"),
        ("(cons (list 0 #[0 1]) 2)", "(cons (list 3 #[1 2]) -1)"),
    ],
)
def test_structures_of_tensors_and_numbers_are_fitted_compiled(start: str, goal: str) -> None:
    text = f"""(import "optimizers")
        (define (loss x) (let* ((d (v- x {goal})) (apart (dot-product d d))) (+ 1 apart (* 0.1 apart apart))))
        (define (fitted tolerance) (dot-product (lbfgs loss {start} tolerance) {goal}))"""
    assert_compiled_agrees(text, "fitted", 1e-9)


def test_third_derivatives_of_a_minimum_are_compiled() -> None:
    """Backpropagators of several orders are in one chain: the zero that is one's sensitivity, and for another would be tagged,
    stays a zero."""
    text = """(define (least x) (argmin (lambda (y) (sum (square (- y (* x x x))))) x 1e-9))
        (define (f x) ((gradient-R (lambda (x) (sum (hvp-R (lambda (x) (sum (least x))) x #[1 1])))) x))
        (define (of-lists x)
          (define (least x) (argmin (lambda (y) (square (- (car y) (* x x x)))) (list x) 1e-9))
          ((derivative-R (derivative-R (derivative-R (lambda (x) (car (least x)))))) x))
        (define (both x) (cons (sum (f (* x #[1 2]))) (of-lists x)))"""
    assert_compiled_agrees(text, "both", 2.0)
    session = vlad.Session(tier="compile")
    session.eval(text)
    assert session["both"](2.0) == pytest.approx((12, 6), rel=1e-7)


GROWN = """
(define (tot s)
  (if (pair? s) (+ (tot (car s)) (* 2 (tot (cdr s)))) (if (real? s) s (if (null? s) 1 3))))
(define (f x) (let loop ((i 0) (s START)) (if (< i (* 2 x)) (loop (+ i 1) STEP) (tot s))))
"""
CAR, CDR = "(if (pair? s) (car s) s)", "(if (pair? s) (cdr s) s)"


@pytest.mark.parametrize("start", ["(list (list x) (list 1 x))", "'()", "(list x)"])
@pytest.mark.parametrize(
    "step",
    [
        f"(list (cons {CDR} (cons x x)) (cons {CAR} (cons x (lambda (y) (cons y s)))) (list 1 i s))",
        f"(list (cons {CAR} (cons x (lambda (y) (cons y s)))) (list 1 i s))",
        f"(list (cons {CDR} 1) (cons {CAR} 1) (list i s))",
        f"(list (cons {CDR} 1) (cons {CAR} (lambda (y) s)))",
        f"(list (cons {CAR} (lambda (y) s)) s)",
        f"(list {CAR} (lambda (y) (cons y s)) s)",
        "(list (lambda (y) s) s)",
        f"(list (cons {CDR} x) (list i s))",
        f"(list {CDR} {CAR} s)",
        f"(list {CAR} (list i s))",
        f"(cons (cons {CDR} {CAR}) (cons s s))",
    ],
)
def test_a_structure_that_each_turn_wraps_once_more(step: str, start: str) -> None:
    """No tuple holds it, so that of the first try, which keeps tuples in lists apart, nothing comes: the next mixes them."""
    assert_compiled_agrees(GROWN.replace("START", start).replace("STEP", step), "f", 1.0)


CHANGED_INSIDE = {  # a recursive procedure returns its list, or tree, with a change somewhere
    "an item of a key": """
        (define (with x l)
          (cond ((null? l) (list (cons x 1)))
                ((= (car (car l)) x) (cons (cons x (* x (cdr (car l)))) (cdr l)))
                (else (cons (car l) (with x (cdr l))))))
        (define (total l w) (fold (lambda (p all) (+ (cdr p) (* w all))) 0 (fold with '() l)))""",
    "one element less": """
        (define (without x l)
          (cond ((null? l) l) ((= x (car l)) (cdr l)) (else (cons (car l) (without x (cdr l))))))
        (define (total l w) (fold (lambda (x all) (+ x (* w all))) 0 (without 2 (without 3 l))))""",
    "a leaf of a tree": """
        (define (insert x t)
          (cond ((null? t) (list '() x '()))
                ((< x (cadr t)) (list (insert x (car t)) (cadr t) (caddr t)))
                (else (list (car t) (cadr t) (insert x (caddr t))))))
        (define (walk t w)
          (if (null? t) 0 (+ (walk (car t) w) (* w (cadr t)) (* w w (walk (caddr t) w)))))
        (define (total l w) (walk (fold insert '() l) w))""",
}


@pytest.mark.parametrize("change", CHANGED_INSIDE)
def test_a_structure_that_grows_by_a_union_for_each_call(change: str) -> None:
    text = f"""{CHANGED_INSIDE[change]}
        (define (f l w)
          (let (((cons dl dw) ((gradient total) l w)))
            (fold (lambda (x all) (+ x (* 2 all))) (total l w) (cons dw dl))))"""
    assert_compiled_agrees(text, "f", [1.0, 2.0, 1.0, 3.0, 2.0, 5.0], 0.75)


TOTAL = "(define (tot s) (cond ((pair? s) (+ (* 2 (tot (car s))) (tot (cdr s)))) ((null? s) 0.5) (else s)))"
CHANGING = {  # a loop carries a number, a pair or () in turn: its start, the next value, and the result
    "number, pair": ("x", "(if (pair? s) (sin 2) (cons s (* y x)))", "(if (pair? s) x (* 2 (tot s)))"),
    "number, copies": ("x", "(if (pair? s) (cdr s) (cons s s))", "x"),
    "number, list": ("x", "(if (pair? s) (+ 2 y) (list s (* 2 x)))", "(tot s)"),
    "(), list": ("'()", "(if (pair? s) s (list s (sin 0.5)))", "(* x (tot s))"),
    "list, number": ("(list x y)", "(if (pair? s) (+ y y) '())", "(* x (tot s))"),
    "list, lists": ("(list x y)", "(if (> i 1) (list (cons x s) x) s)", "(* x (tot s))"),
}
MODES = [
    "((gradient f) x y)",
    "((derivative-F (lambda (x) (f x y))) x)",
    "((gradient (lambda (y) ((gradient (lambda (x) (f x y))) x))) y)",
]


def changing(case: str) -> str:
    start, step, answer = CHANGING[case]
    f = f"(lambda (x y) (let lp ((i n) (s {start})) (if (= i 0) {answer} (lp (- i 1) {step}))))"
    return f"{TOTAL} (define (g x y n) (let ((f {f})) (list (f x y) {' '.join(MODES)})))"


@pytest.mark.parametrize("case", CHANGING)
def test_derivatives_of_what_is_of_another_kind_each_turn(case: str) -> None:
    """A sensitivity to which nothing has contributed is no pair of zeros: where it comes to, there may be a number."""
    sessions = [vlad.Session(tier=tier) for tier in ("evaluate", "compile")]
    for session in sessions:
        session.eval(changing(case))
    for n in (0.0, 1.0, 2.0, 3.0):
        expected, found = [np.hstack(session["g"](0.7, 1.3, n)) for session in sessions]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert sessions[1].tiers.disagreements == 0
    assert {entry.reason for entry in sessions[1].tiers.entries.values()} == {None}


@pytest.mark.system_compiler
@pytest.mark.parametrize("case", ["number, copies", "(), list"])
def test_standalone_without_tier_0(case: str, tmp_path: Path) -> None:
    """A standalone program raises no spurious error, nor does `vlad check` report one."""
    (tmp_path / "it.vlad").write_text(changing(case) + " (map (lambda (n) (g 0.7 1.3 n)) '(0 1 2 3))")
    expected, _, _, found = [
        subprocess.run(
            words,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        ).stdout
        for words in (
            [sys.executable, "-m", "vlad", "--tier", "evaluate", "it.vlad"],
            [sys.executable, "-m", "vlad", "check", "it.vlad"],
            [sys.executable, "-m", "vlad", "build", "it.vlad"],
            ["./it"],
        )
    ]
    assert found == expected and "0.0" not in found
