"""`vlad test`: what passes, what fails and how it is reported."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from commands import command

from vlad import Session, VladError
from vlad.tools.testing import Outcome, files_with_tests, outcomes, same_text

PASSING = """\
(import "test")
(define (square x) (* x x))
(test "square" (square 3) 9)
(test 'symbols '(a "b" #t) (list 'a "b" #t))
(test "close" #[0.1 0.3] (+ #[0 0.1] #[0.1 0.2]))
(test-error "car" (car 5))
(test-error "its kind" (car 5) 'invalid-argument)
(test-error "raised" (raise 'oops))
(check-gradient (lambda ((list x y) n) (+ (sum (* x (exp x))) (sin (* y n)))) '((#[1 2] 3) . 2))
(begin (display (square 4)) (newline) 'done)
; => 16
; => done
(/ 1 3) ; => 0.33333333333
(car 4) ; error: Argument to car
;;; (cubed x)
;;; The cube of x: a map a ⇒ b.
;;; (cubed 3)  ⇒ 27
;;; (begin (write 1) (cubed 2))  ⇒ 1
;;; ⇒ 8
;;; (cubed 'a)  ⇒ Error: Argument to * is invalid
(define (cubed x) (* x x x))
"""
FAILING = {
    '(test "square of three" (square 3) 10)': ("square of three", "expected 10 but found 9"),
    "(test 'lists (list 1 2) '(1 \"b\"))": ("lists", 'expected (1 "b") but found (1 2)'),
    "(test 'text \"a\" 'a)": ("text", 'expected a but found "a"'),
    "(test 1 2)": ("1", "Invalid expression: (test 1 2)\n  hint: test is used as (test name expression expected)"),
    '(test "error" (car 5) 1)': ("error", "Argument to car is invalid (at f.vlad:3:15)"),
    '(test-error "no error" (square 2))': ("no error", "expected error but found 4"),
    '(test-error "kind" (car 5) \'user-error)': ("kind", "expected user-error but found invalid-argument"),
    "(square 5) ; => 26": ("(square 5)", "expected: 26; found: 25"),
    "(square 5)\n; => 25\n; => 26": ("(square 5)", "expected: 25 ⏎ 26; found: 25"),
    "(car 5) ; => 2": (
        "(car 5)",
        "expected: 2; found the error: Argument to car is invalid\n  hint: car takes a pair; this is a real",
    ),
    "(square 5) ; error: car": ("(square 5)", "expected an error with: car; found: 25"),
    "(car 5) ; error: cdr": ("(car 5)", "expected an error with: cdr; found: Argument to car is invalid"),
    "(define x (car 5))": ("(define x (car 5))", "Argument to car is invalid (at f.vlad:3:11)"),
}  # fmt: skip


def of(text: str, folder: Path, pattern: str = "") -> list[Outcome]:
    (folder / "f.vlad").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return list(outcomes("f.vlad", lambda write: Session(write=write), pattern))


def test_what_passes(tmp_path: Path) -> None:
    found = of(PASSING, tmp_path)
    assert [(outcome.name, outcome.failure) for outcome in found if outcome.failure] == []
    assert len(found) == 13
    assert [outcome.place for outcome in found[:2]] == ["f.vlad:3:1", "f.vlad:4:1"]


def test_an_example_of_a_doc_comment_that_fails(tmp_path: Path) -> None:
    (found,) = of("(export twice)\n;;; (twice x)\n;;; (twice 4)  ⇒ 9\n(define (twice x) (* 2 x))\n", tmp_path)
    assert str(found) == "f.vlad:3:5: (twice 4): expected: 9; found: 8"
    assert [*files_with_tests([str(tmp_path)])] == [str(tmp_path / "f.vlad")]


def test_what_fails_and_that_the_rest_is_tested(tmp_path: Path) -> None:
    forms = "\n".join(FAILING)
    found = of(f'(import "test") (define (square x) (* x x))\n\n{forms}\n(square 6) ; => 36\n', tmp_path)
    wrong = [(outcome.name, str(outcome).partition(f": {outcome.name}: ")[2]) for outcome in found[:-1]]
    lines = {f":{outcome.place.split(':')[1]}:" for outcome in found}
    assert [name for name, _ in wrong] == [name for name, _ in FAILING.values()]
    for (_, failure), (_, expected) in zip(wrong, FAILING.values(), strict=True):
        assert failure.partition(" (at")[0] == expected.partition(" (at")[0]
        assert (" (at f.vlad:" in failure) == (" (at" in expected)
    assert len(lines) == len(found) and found[-1].failure == ""


@pytest.mark.parametrize(
    "rule",
    ["#:reverse (lambda (x) (cons (* x x) (lambda (s) (* s x))))", "#:forward (lambda (x dx) (* x dx))"],
)
def test_a_wrong_derivative_is_found(rule: str) -> None:
    session = Session()
    session.eval('(import "test")')
    session.eval(f"(define f (with-derivative (lambda (x) (* x x)) {rule}))")
    with pytest.raises(VladError, match="the slopes differ"):
        session.eval("(check-gradient f 3)")
    with pytest.raises(VladError, match=r"the value of the procedure is a real; here it is \(3 3\)"):
        session.eval("(check-gradient (lambda (x) (list x x)) 3)")


def test_in_a_program_the_first_that_fails_is_its_error(tmp_path: Path) -> None:
    (tmp_path / "a.vlad").write_text('(import "test")\n(test "one" 1 1)\n(test "two" 1 2)\n3\n')
    done = command("a.vlad", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("a.vlad:3:1: Error: two: expected 2 but found 1\n")
    assert "stdlib" not in done.stderr


def test_the_command(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    np.save(inner / "data.npy", np.ones((2, 2)))
    (inner / "shapes.vlad").write_text("(define (area side) (* side side))")
    (inner / "a-test.vlad").write_text(
        '(import "shapes")\n(area 3) ; => 9\n(shape (load-tensor "data.npy")) ; => (2 2)\n(area 2) ; => 5\n'
    )
    (inner / "b-test.vlad").write_text("(area 1) ; error: Unbound\n(command-line-arguments) ; => ()\n")
    (inner / "c.vlad").write_text("1 ; => 2\n")
    done = command("test", "--junit", "out.xml", cwd=tmp_path)
    assert done.stderr == ""
    assert done.stdout == "inner/a-test.vlad:4:1: (area 2): expected: 5; found: 4\n4 passed, 1 failed\n"
    assert done.returncode == 1
    suites = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert [dict(suite.attrib) for suite in suites] == [
        {"name": "inner/a-test.vlad", "tests": "3", "failures": "1", "skipped": "0"},
        {"name": "inner/b-test.vlad", "tests": "2", "failures": "0", "skipped": "0"},
    ]
    (failure,) = suites.iter("failure")
    assert failure.attrib["message"] == "expected: 5; found: 4"
    done = command("test", "-k", "zzz", "inner", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "0 passed, 5 not selected; no name contains zzz\n")
    done = command("test", "-k", "AREA 3", "inner", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "1 passed, 4 not selected\n")
    done = command("test", "inner/c.vlad", "missing.vlad", cwd=tmp_path)
    assert done.returncode == 1 and done.stdout.splitlines() == [
        "inner/c.vlad:1:1: 1: expected: 2; found: 1", "missing.vlad: reading: Cannot read: missing.vlad", "0 passed, 2 failed",
    ]  # fmt: skip
    (tmp_path / "inner" / "a-test.vlad").write_text("(f")
    done = command("test", "inner/a-test.vlad", cwd=tmp_path)
    assert done.stdout.startswith("inner/a-test.vlad:1:1: reading: The `(` is never closed\n")
    (tmp_path / "empty").mkdir()
    done = command("test", "empty", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (
        1,
        "no tests; in folders they are in files named NAME-test.vlad, and examples in modules\n",
    )


def test_texts_may_differ_in_last_digits_only() -> None:
    assert same_text("(1 0.30000000000000004 a)", "(1 0.3 a)")
    assert not same_text("(1 0.3001)", "(1 0.3)")
    assert not same_text("(1 2)", "(1 2 3)")
    assert not same_text("a1", "a2")


def test_a_form_that_fails_and_is_not_selected(tmp_path: Path) -> None:
    (tmp_path / "a-test.vlad").write_text("(car '())\n(define x (cdr '()))\n1 ; => 1\n")
    done = command("test", "-k", "zzz", "a-test.vlad", cwd=tmp_path)
    assert done.stdout.endswith("0 passed, 1 failed, 2 not selected\n") and "2:1" in done.stdout
