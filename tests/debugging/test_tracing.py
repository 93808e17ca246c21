"""Traced calls: which are shown, on which level, tail calls as such, and a limit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import vlad
from vlad.debugging.debugger import Debugger

PROGRAM = """
(define (fact n) (if (= n 0) 1 (* n (fact (- n 1)))))
(define (sum-to n acc) (if (= n 0) acc (sum-to (- n 1) (+ acc n))))
(define (even n) (if (= n 0) #t (odd (- n 1))))
(define (odd n) (if (= n 0) #f (even (- n 1))))
(define (square-plus x y) (+ (* x x) y))
(define (outer x) (inner (* 2 x)))
(define (inner y) (+ y 1))
(define (with-local x) (define (helper y) (* y y)) (+ (helper x) (helper 3)))
(define ((adder a) b) (+ a b))
"""


def traced(names: str, text: str, program: str = PROGRAM) -> list[str]:
    """The lines of a trace."""
    lines: list[str] = []
    session = vlad.Session(write=lambda text: None)
    session.run_text(program, "program")
    debugger = Debugger(session, write=lines.append)
    for name in names.split():
        debugger.trace(name)
    session.run_text(text, "text")
    debugger.untrace()
    session.run_text(text, "text")
    assert session.machine.instrument is None
    return lines


def test_levels() -> None:
    assert traced("fact", "(fact 2)") == [
        "(fact 2)", "| (fact 1)", "| | (fact 0)", "| | => 1", "| => 1", "=> 2",
    ]  # fmt: skip


def test_a_guard_is_on_its_level_again() -> None:
    program = "(define (g x) (if (< x 0) (raise x) (* 2 x))) (define (f x) (+ (guard (e (#t e)) (+ 1 (g x))) (g 3)))"
    assert traced("f g", "(f -2)", program) == ["(f -2)", "| (g -2)", "| (g 3)", "| => 6", "=> 4"]
    program = (
        program.replace("(+ 1 (g x))", "(g x)").replace("(raise x)", "(car x)").replace("(#t e)", "(#t 1)")
    )
    assert traced("f g", "(f -2)", program) == ["(f -2)", "| (g -2)", "| (g 3)", "| => 6", "=> 7"]


def test_calls_that_take_their_continuation_have_no_results() -> None:
    program = (
        "(define (g x) (if (< x 0) (raise x) (* 2 x))) (define (f x) (+ 1 (guard (e (#t e)) (+ 1 (g x)))))"
    )
    text = "(+ 1 (call/cc (lambda (k) (+ (f -2) (f 3)))))"
    assert traced("f g", text, program) == ["(f -2)", "(g -2)", "(f 3)", "(g 3)"]


def test_a_tail_call_takes_the_place_of_its_caller() -> None:
    assert traced("sum-to", "(sum-to 2 0)") == ["(sum-to 2 0)", "(sum-to 1 2)", "(sum-to 0 3)", "=> 3"]
    assert traced("even odd", "(list (even 2))") == ["(even 2)", "(odd 1)", "(even 0)", "=> #t"]


def test_the_result_of_a_tail_call_is_the_result() -> None:
    assert traced("outer", "(+ 1 (outer 5))") == ["(outer 5)", "=> 11"]
    assert traced("even", "(even 3)") == ["(even 3)", "(even 1)", "=> #f"]
    assert traced("inner", "(outer 5) (inner 1)") == ["(inner 10)", "=> 11", "(inner 1)", "=> 2"]


def test_local_procedures_and_closures() -> None:
    session = vlad.Session(write=lambda text: None)
    lines: list[str] = []
    debugger = Debugger(session, write=lines.append)
    debugger.trace("helper", later=True)
    session.run_text(PROGRAM + "(with-local 2)")
    assert lines == ["(helper 2)", "=> 4", "(helper 3)", "=> 9"]
    session.run_text("(define add-two (adder 2))")
    debugger.trace("add-two")
    lines.clear()
    session.run_text("(add-two 3) ((adder 4) 5)")  # two closures of one text
    assert len(lines) == 4 and lines[1] == "=> 5" and lines[3] == "=> 9"


def test_procedures_of_the_library() -> None:
    lines = traced("map", "(map adder '(1 2))")
    assert lines[0] == "(map adder (1 2))" and len(lines) == 2
    assert traced("list-sum", "(list-sum '(1 2))") == ["(list-sum (1 2))", "=> 3"]


def test_derivatives() -> None:
    lines = traced("square-plus", "((gradient square-plus) 3 4)")
    assert lines[0] == "reverse of square-plus: 3 4"
    assert lines[1].startswith("=> (13 . ")
    assert lines[2:] == ["backpropagator of square-plus: 1", "=> (0 6 . 1)"]
    lines = traced("fact", "((derivative fact) 1)")
    assert lines == [
        "forward of fact: 1, tangent 1",
        "| forward of fact: 0, tangent 1",
        "| => (1 . 0)",
        "=> (1 . 1)",
    ]


def test_derivatives_of_derivatives() -> None:
    program = "(define (f x) (* x (sin x)))"
    lines = traced("f", "((derivative (derivative f)) 2)", program)
    assert lines[0].startswith("forward of forward of f: 2") and lines[1].startswith("=> ((1.81")
    lines = traced("f", "((gradient (gradient f)) 2)", program)
    assert lines[0] == "reverse of reverse of f: 2"
    assert any(line.startswith("reverse of backpropagator of f: 1") for line in lines)
    lines = traced("f", "((derivative (gradient f)) 2)", program)
    assert lines[0].startswith("forward of reverse of f: 2")


def test_values_are_cut() -> None:
    lines = traced("inner", "(inner 1) (map (lambda (x) (inner x)) '(2))", "(define (inner l) (iota 1000))")
    assert all(len(line) < 90 for line in lines) and lines[1].endswith("…")


def test_lines_are_limited_and_a_loop_needs_no_memory() -> None:
    lines = traced("sum-to", "(sum-to 20000 0)")
    assert len(lines) == 1001 and lines[-1] == "… (no more than 1000 lines are shown)"
    lines = traced("fact", "(fact 20000)", "(define (fact n) (if (= n 0) 0 (+ 1 (fact (- n 1)))))")
    assert len(lines) == 1001


def test_errors_inside() -> None:
    session = vlad.Session(write=lambda text: None)
    lines: list[str] = []
    debugger = Debugger(session, write=lines.append)
    session.run_text("(define (f x) (+ 1 (g x))) (define (g x) (car x))", "program")
    debugger.trace("f")
    debugger.trace("g")
    for _ in range(2):
        with pytest.raises(vlad.VladError) as caught:
            session.eval("(f 5)")
        assert caught.value.span is not None and caught.value.span.text == "(car x)"
        assert [entry.procedure for entry in caught.value.backtrace] == ["g", "f"]
        assert lines == ["(f 5)", "| (g 5)"]
        lines.clear()
    assert session.eval("(f '(1 2))") == 2
    assert lines == ["(f (1 2))", "| (g (1 2))", "| => 1", "=> 2"]


def test_python_between_procedures() -> None:
    """A Python function calls procedures of the session, and may outlive their errors: levels are right again afterwards."""
    session = vlad.Session()
    lines: list[str] = []

    @session.define
    def attempt(procedure: Callable[[float], float], x: float) -> float:
        try:
            return procedure(x)
        except vlad.VladError:
            return -1.0

    session.eval("(define (f x) (+ 1 (attempt g x))) (define (g x) (if (> x 0) x (car x)))")
    debugger = Debugger(session, write=lines.append)
    debugger.trace("f")
    debugger.trace("g")
    assert session.eval("(list (f 1) (f -1) (f 2))") == [2, 0, 3]
    assert lines == [
        "(f 1)", "| (g 1)", "| => 1", "=> 2",
        "(f -1)", "| (g -1)", "=> 0",
        "(f 2)", "| (g 2)", "| => 2", "=> 3",
    ]  # fmt: skip


def test_what_cannot_be_traced() -> None:
    session = vlad.Session()
    debugger = Debugger(session)
    session.eval("(define five 5) (define (f x) x) (define jf (J f))")
    for name, code in (
        ("five", "not-a-procedure"),
        ("sin", "not-to-be-watched"),
        ("jf", "not-to-be-watched"),
    ):
        with pytest.raises(vlad.VladError) as caught:
            debugger.trace(name)
        assert caught.value.code == code
    assert session.machine.instrument is None
