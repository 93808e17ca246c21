"""Cells that become variables (core/cells.py): random programs mean what they mean where all cells stay cells."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count

import pytest
from amounts import THOROUGH
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vlad
from vlad.core.nodes import Apply, Lambda
from vlad.core.simplify import walk
from vlad.evaluate import machine

MODES = ["f", "(derivative-F f)", "(derivative-R f)", "(derivative-F (derivative-R f))"]


@pytest.fixture(scope="module")
def promoting() -> vlad.Session:
    return vlad.Session(tier="evaluate")


@pytest.fixture(scope="module")
def plain() -> Iterator[vlad.Session]:
    yield vlad.Session(tier="evaluate")


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A procedure of x that makes cells, and changes them in branches, loops and local procedures, in tail position and not."""
    numbers = count()

    def number(depth: int, cells: list[str], procedures: list[str]) -> str:
        kinds = ["x", "constant", "deref", "deref"] + (
            ["sum", "product", "after", "call"] if depth > 0 else []
        )
        match draw(st.sampled_from(kinds)):
            case "x":
                return "x"
            case "constant":
                return draw(st.sampled_from(["2", "-1", "0.5"]))
            case "sum":
                return f"(+ {number(depth - 1, cells, procedures)} {number(depth - 1, cells, procedures)})"
            case "product":
                return (
                    f"(sin (* {number(depth - 1, cells, procedures)} {number(depth - 1, cells, procedures)}))"
                )
            case "after":
                return (
                    f"(begin {change(depth - 1, cells, procedures)} {number(depth - 1, cells, procedures)})"
                )
            case "call" if procedures:
                return f"({draw(st.sampled_from(procedures))} {draw(st.integers(0, 2))})"
        return f"(deref {draw(st.sampled_from(cells))})"

    def change(depth: int, cells: list[str], procedures: list[str]) -> str:
        def more(*own: str) -> str:
            return change(depth - 1, [*cells, *own], procedures)

        kinds = ["set", "set", "update"] + (
            ["if", "both", "let", "loop", "back", "local", "kept"] if depth > 0 else []
        )
        cell, k = draw(st.sampled_from(cells)), next(numbers)
        match draw(st.sampled_from(kinds)):
            case "update":
                return f"(update-ref! {cell} (lambda (v) (+ v {number(depth - 1, cells, procedures)})))"
            case "if":
                tested = f"(< {number(depth - 1, cells, procedures)} {number(0, cells, procedures)})"
                return f"(if {tested} {more()} {more()})"
            case "both":
                return f"(begin {more()} {more()})"
            case "let":
                return f"(let ((c{k} (ref {number(depth - 1, cells, procedures)}))) {more(f'c{k}')} {more(f'c{k}')})"
            case "loop":
                return f"(let loop ((i {draw(st.integers(0, 3))})) (if (= i 0) {more()} (begin {more()} (loop (- i 1)))))"
            case "back":
                return f"(let loop ((i {draw(st.integers(0, 3))})) (when (> i 0) (loop (- i 1)) {more()}))"
            case "local":
                return local(depth, cells, procedures, k)
            case "kept":  # a cell that a procedure captures, which stays a cell
                return f"(for-each (lambda (v) (set-ref! {cell} (* v {number(0, cells, procedures)}))) (list 1 x))"
        return f"(set-ref! {cell} {number(depth - 1, cells, procedures)})"

    def local(depth: int, cells: list[str], procedures: list[str], k: int) -> str:
        """Two procedures that call each other in tail position, and uses of them."""
        own = [*procedures, f"p{k}", f"q{k}"]
        bodies = []
        for name, other in ((f"p{k}", f"q{k}"), (f"q{k}", f"p{k}")):
            last = number(depth - 1, cells, procedures)
            bodies.append(
                f"(define ({name} n) (if (<= n 0) {last} (begin {change(depth - 1, cells, procedures)} ({other} (- n 1)))))"
            )
        return f"(let () {' '.join(bodies)} {change(depth - 1, cells, own)} {number(1, cells, own)})"

    cells = ["a", "b"]
    changes = " ".join([change(3, cells, []) for _ in range(draw(st.integers(1, 2)))])
    return f"(lambda (x) (let ((a (ref x)) (b (ref 1))) {changes} (+ (deref a) (* 2 (deref b)))))"


@settings(
    max_examples=1500 if THOROUGH else 40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(text=programs())
def test_nothing_shows(
    promoting: vlad.Session, plain: vlad.Session, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    x = 0.7
    found = [promoting.eval(f"((lambda (f) {mode}) {text})")(x) for mode in MODES]
    with monkeypatch.context() as patch:
        patch.setattr(machine, "promote", lambda lambda_, *more: lambda_)
        expected = [plain.eval(f"((lambda (f) {mode}) {text})")(x) for mode in MODES]
    assert all(
        math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) for a, b in zip(found, expected, strict=True)
    ), text


def cells_left(session: vlad.Session, text: str) -> int:
    """The cells that the code of a procedure makes."""
    made = 0

    def visit(rhs: object) -> None:
        nonlocal made
        made += isinstance(rhs, Apply) and rhs.primitive.name == "ref"

    lambda_: Lambda = session.machine.core_of(session.eval(text).value[0])
    walk(lambda_, visit, lambda _: True)
    return made


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("(lambda (x) (let ((r (ref x))) (set-ref! r 2) (deref r)))", 0),
        ("(lambda (x) (let ((r (ref x))) (update-ref! r square) (ref? r)))", 0),
        (
            "(lambda (x) (let ((r (ref 0))) (do ((i 0 (+ i 1))) ((= i x) (deref r)) (update-ref! r (lambda (v) (+ v i))))))",
            0,
        ),
        (
            "(lambda (x) (let ((r (ref 0))) (do ((i 0 (+ i 1))) ((= i x)) (update-ref! r (lambda (v) (+ v i)))) (deref r)))",
            0,
        ),
        (
            "(lambda (x) (let ((r (ref 0))) (define (add! y) (set-ref! r (+ y (deref r)))) (add! x) (add! 1) (deref r)))",
            0,
        ),
        ("(lambda (x) (let ((r (ref 0))) (when (> x 0) (set-ref! r x)) (if (> x 1) (deref r) 5)))", 0),
        (
            "(lambda (x) (let ((r (ref 0))) (define (add! y) (for-each write (list y)) (set-ref! r (+ y (deref r))) (deref r)) "
            "(add! (add! x))))",
            0,
        ),
        ("(lambda (x) (let ((r (ref 0))) r))", 1),
        ("(lambda (x) (let ((r (ref 0))) (list r)))", 1),
        ("(lambda (x) (let ((r (ref 0))) (set-ref! r r) 1))", 1),
        ("(lambda (x) (let ((r (ref 0))) (lambda () (deref r))))", 1),
        ("(lambda (x) (let ((r (ref 0))) (for-each (lambda (y) (set-ref! r y)) x) (deref r)))", 0),
        ("(lambda (x) (let ((r (ref 0))) (define (f y) (deref r)) (map f x)))", 0),
        ("(lambda (x) (let ((r (ref 0))) (update-ref! r (lambda (v) (lambda () (deref r))))))", 1),
    ],
)
def test_which_cells_become_variables(promoting: vlad.Session, text: str, left: int) -> None:
    assert cells_left(promoting, text) == left


def test_tail_calls_stay_tail_calls() -> None:
    flat = vlad.Session(tier="evaluate", limits=vlad.Limits(depth=200))
    flat.run_text("""
        (define (count-down n)
          (let ((r (ref 0)) (s (ref 0)))
            (define (odd n) (set-ref! r (+ 1 (deref r))) (if (= n 0) 'odd (even (- n 1))))
            (define (even n) (set-ref! s (+ 2 (deref s))) (if (= n 0) 'even (odd (- n 1))))
            (let ((found (even n))) (list found (deref r) (deref s)))))
    """)
    assert flat.eval("(count-down 10001)") == ["odd", 5001.0, 10002.0]
    assert flat.eval("((derivative-R (lambda (x) (* x (cadr (count-down 10001))))) 2)") == 5001.0


def test_they_are_compiled() -> None:
    """Also those of a loop's turn. Compiled code has no other cells, so it would not be made."""
    compiled = vlad.Session(tier="compile")
    compiled.run_text("""
        (define (f x n)
          (let ((r (ref 0)) (best (ref -1)))
            (do ((i 0 (+ i 1))) ((= i n))
              (let ((turn (ref i)))
                (update-ref! turn (lambda (v) (* v x)))
                (update-ref! r (lambda (v) (+ v (deref turn)))))
              (when (> (deref r) (deref best)) (set-ref! best (deref r))))
            (* (deref r) (deref best))))
        (define (slope x n) ((derivative-R (lambda (x) (f x n))) x))
    """)
    f, slope = vlad.compile(compiled["f"], 2.0, 10.0), vlad.compile(compiled["slope"], 2.0, 10.0)
    assert f(2.0, 10.0) == 8100.0 and slope(2.0, 10.0) == 8100.0


def test_a_continuation_that_runs_twice_shares_its_cells(promoting: vlad.Session) -> None:
    """Inside a `reset` cells stay cells."""
    text = "(let ((r (ref 0))) (shift k (k (k 1))) (set-ref! r (+ (deref r) x)) (deref r))"
    assert promoting.eval(f"(lambda (x) (reset {text}))")(3.0) == 6.0
    outside = "(lambda (x) (let ((r (ref 0))) (reset (begin (shift k (k (k 1))) (set-ref! r (+ (deref r) x)))) (deref r)))"
    assert promoting.eval(outside)(3.0) == 6.0
