"""Guards in compiled code: what is raised is caught there; an error of the system by tier 0, which runs the call again."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from commands import command

import vlad
from vlad.compile.ir.refusals import CAUGHT

PROGRAM = """
(define (safe x) (if (< x 0) (raise (list 'negative x)) (sqrt x)))
(define (root x) (guard (e ((pair? e) (* (cadr e) (cadr e)))) (safe x)))
(define (total n)
  (let loop ((i 0) (sum 0))
    (if (= i n) sum (loop (+ i 1) (+ sum (guard (e ((pair? e) (cadr e))) (safe (if (even? i) i (- i)))))))))
(define (passed x) (guard (e ((pair? e) 'outer)) (guard (e ((number? e) 'inner)) (safe x) 'none)))
(define (through f x) (guard (e (#t (list 'caught e))) (map (lambda (y) (if (> y x) (raise y) (f y))) '(1 2 3))))
(define (controlled x) (reset (+ 1 (guard (e (#t (* 10 e))) (shift k (+ (k x) (k 1))) (raise x)))))
(define (cleaned x) (guard (e (#t (* 3 x))) (with-cleanup (display "clean ") (raise x))))
(define (deep n) (guard (e (#t e)) (let walk ((n n)) (if (= n 0) (raise 7) (+ 1 (walk (- n 1)))))))
(define (wound x)
  (reset (* x (dynamic-wind (lambda () (display "in ")) (lambda () (shift k (+ (k x) (k 1)))) (lambda () (display "out "))))))
(define (escaping x) (with-escape (lambda (return) (with-cleanup (display "left ") (if (> x 0) (return (* x x)) x)))))
"""

CALLS = (
    "(root 4)",
    "(root -3)",
    "(total 10)",
    "(list (passed 4) (passed -4))",
    "(list (through square 5) (through square 2))",
    "(controlled 2)",
    "(cleaned 2)",
    "(deep 1000)",
    "(list (wound 3) ((derivative wound) 3) ((derivative-F wound) 3))",
    "(list (escaping 3) (escaping -3) ((derivative escaping) 3))",
    "(list ((derivative root) 4) ((derivative root) -3) ((derivative-F root) -3) ((derivative (derivative root)) -3))",
    "((derivative (lambda (x) (guard (e (#t (* x e))) (+ x (raise (* x x)))))) 2)",
)


def session_of(tier: str, output: list[str], text: str) -> vlad.Session:
    session = vlad.Session(tier=tier, write=output.append)
    session.run_text(text)
    return session


@pytest.mark.any_compiler
def test_what_is_raised_is_caught_compiled() -> None:
    found, expected, notices = list[str](), list[str](), list[Any]()
    compiled, evaluated = session_of("compile", found, PROGRAM), session_of("evaluate", expected, PROGRAM)
    compiled.tiers.notify = notices.append
    for call in CALLS:
        assert compiled.eval(call) == evaluated.eval(call), call
    assert found == expected
    assert notices == [] and compiled.tiers.disagreements == 0


ERRORS = """
(define (entry v i)
  (guard (e ((error? e) (error-code e)) ((pair? e) e)) (display "begun ") (if (< i 0) (raise (list i)) (tensor-ref v i))))
(define (large x) (guard (e (#t (error-message e))) (if (> x 2) (error "too large:" x) (* x x))))
(define (always x) (guard (e (#t (list x))) (car 3)))
(define (again x) (guard (e ((symbol? e) e)) (car x)))
"""


@pytest.mark.any_compiler
def test_errors_of_the_system_are_left_to_tier_0() -> None:
    output, notices = list[str](), list[vlad.VladError]()
    session = session_of("compile", output, ERRORS)
    session.tiers.notify = notices.append
    assert session.eval("(list (entry #[1 2] 1) (entry #[1 2] -1))") == [2, [-1]]
    assert notices == []
    assert session.eval("(entry #[1 2] 5)") == "out-of-range"
    assert output == ["begun "] * 3  # once, although the call runs twice
    assert session.eval("(list (large 1) (large 3) (always 4))") == [1, "too large: 3", [4]]
    with pytest.raises(vlad.VladError, match="Argument to car is invalid"):
        session.eval("(again 3)")
    assert all(CAUGHT in str(notice) for notice in notices) and notices
    for _ in range(12):  # no disagreement, and given up after some calls
        assert session.eval("(large 3)") == "too large: 3"
    assert session.tiers.disagreements == 0


def test_check_reports_no_error_that_is_caught(tmp_path: Path) -> None:
    path = tmp_path / "it.vlad"
    path.write_text(
        f"{ERRORS}(large 1)\n(always 4)\n(car 5)\n(define (f x) (guard (e (#t 1)) (if (> x 0) (car x) 2)))\n(f 1)"
    )
    lines, errors = vlad.Session().check(path)
    assert [error.message for error in errors] == ["Argument to car is invalid"] and str(
        errors[0].span
    ).endswith(":9:1")
    assert any("not known: catching an error of `error` or of the system" in line for line in lines)


def test_standalone_programs(tmp_path: Path) -> None:
    path = tmp_path / "it.vlad"
    path.write_text(PROGRAM + "\n".join(CALLS[:-1]))
    done = command("build", str(path), "-o", str(tmp_path / "it"), "--optimize", "0")
    assert (done.returncode, done.stderr) == (0, "")
    alone = subprocess.run([tmp_path / "it"], capture_output=True, text=True, timeout=60)
    assert alone.stdout == command("--tier", "evaluate", str(path)).stdout
    path.write_text(f"{ERRORS}(map large '(1 3))")
    done = command("build", str(path), "-o", str(tmp_path / "it"))
    assert (
        done.returncode == 1
        and "catching an error of `error` or of the system is not compiled yet" in done.stderr
    )


def test_steps_are_counted_as_on_tier_0() -> None:
    """Compiled code runs the control entry of a guard's body, tier 0 the body: continuations are no steps."""
    counts, notices = set(), list[Any]()
    for tier in ("evaluate", "compile"):
        session = vlad.Session(tier=tier, limits=vlad.Limits(fuel=10**6))
        session.tiers.notify = notices.append
        session.run_text(PROGRAM)
        found = []
        for call in CALLS:
            before = session.steps
            session.eval(call)
            found.append(session.steps - before)
        counts.add(tuple(found))
    assert len(counts) == 1 and notices == []


@pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"), reason="only Linux reports the memory of a process"
)
def test_an_error_of_the_system_leaves_nothing_behind() -> None:
    """It ends the call by a jump; the next call uses the same area for its structures, which take some megabytes."""
    session = vlad.Session(tier="compile")
    session.run_text(
        "(define (listed n) (let loop ((i 0) (xs '())) (if (= i n) xs (loop (+ i 1) (cons i xs)))))"
        "(define (failing n) (let ((xs (listed n))) (+ (car xs) (car (list-tail xs n)))))"
    )
    failing = session.eval("failing")

    def fail() -> int:
        with pytest.raises(vlad.VladError, match="car"):
            failing(200000.0)
        with open("/proc/self/statm", encoding="utf-8") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = max([fail() for _ in range(20)])  # the first 16 calls take a megabyte each, whatever they make
    assert max([fail() for _ in range(10)]) - before < 5e6
    assert session.tiers.disagreements == 0


# Each changes n once for each i. The error comes first, so the analysis sees no change behind it.
TURNS = {
    "behind the guard": "(begin (guard (e (#t 0)) (car i)) (add!))",
    "in its clause": "(guard (e (#t (add!))) (car i))",
    "in the cleanup": "(guard (e (#t 0)) (with-cleanup (add!) (car i)))",
    "behind an error of `error`": '(begin (guard (e (#t 0)) (error "no" i)) (add!))',
}


@pytest.mark.parametrize(("turn", "thread"), [*[(turn, False) for turn in TURNS], ("in the cleanup", True)])
def test_a_call_that_has_changed_a_cell_does_not_begin_again(turn: str, thread: bool) -> None:
    """When its compiled form was ready, tier 0 was left for it, and began again at the guard: some turns happened twice."""
    session = vlad.Session(tier="auto")
    session.run_text(
        f"(define n (ref 0)) (define (add!) (set-ref! n (+ 1 (deref n)))) (define (g i) {TURNS[turn]})"
    )
    text = "(let loop ((i 0)) (when (< i 15000) (g i) (loop (+ i 1))))"
    if thread:
        other = threading.Thread(target=session.eval, args=(text,))
        other.start()
        other.join()
    else:
        session.eval(text)
    assert session.eval("(deref n)") == 15000.0
