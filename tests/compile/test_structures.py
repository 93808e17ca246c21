"""Lists, tuples and what is in them, where a loop puts them together: compiled, and as on tier 0."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import vlad


@pytest.mark.parametrize("layers", [2, 3, 5])
@pytest.mark.parametrize("kind", ["procedures", "parameters"])
def test_networks_of_several_layers_are_trained_compiled(kind: str, layers: int) -> None:
    """The optimizer's state begins as (), and is a tuple from the first step on: no list of all that is in it."""
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
    """What a program calls so is compiled, and answers on tier 1 what it does on tier 0."""
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
(define (told x n) (fold (lambda (PATTERN all) (+ all TOLD)) 0 (remembered x n)))
(define (f n) (told #[1 2 3] n))
"""


@pytest.mark.parametrize(
    ("entry", "pattern", "told"),
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
def test_a_list_of_tuples_is_no_list_of_what_is_in_them(entry: str, pattern: str, told: str) -> None:
    text = MEMORY.replace("ENTRY", entry).replace("PATTERN", pattern).replace("TOLD", told)
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
