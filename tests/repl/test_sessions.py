"""Saved sessions: they bring back definitions with their source, and values that are not computed again."""

from __future__ import annotations

from pathlib import Path

import pytest
from writing import Writing

import vlad

INPUTS = (
    "; Thrice a number.\n(define (thrice x) (* k x))",
    "(define k 3)",
    '(define weights (begin (display "trained ") #[1 2.5]))',
    "(define-syntax swap (syntax-rules () ((_ a b) (list b a))))",
    "(define add (let ((n (thrice 2))) (lambda (x) (+ x n))))",
    "(begin (define (twice f) (lambda (x) (f (f x)))) (define four (thrice 4)) (swap 1 2))",
    "(car 5)",
    "(define ((curried a) b) (- a b))",
    "((derivative thrice) 1)",
)


@pytest.fixture
def again(writing: Writing) -> Writing:
    """Another prompt, with the session of one that has ended."""
    text = writing.output(*INPUTS, ",save it.saved")
    assert text.endswith("; written: it.saved\n")
    fresh = Writing()
    assert fresh.output(",load it.saved") == "; the session is back\n"  # nothing is printed again
    return fresh


def test_values_are_back(again: Writing) -> None:
    assert again.output("weights") == "#[1 2.5]  ; tensor of 2 float64\n"
    assert again.output("(add 1)", "four", "((curried 5) 2)", "((twice thrice) 1)") == "7\n12\n3\n9\n"


def test_results_and_numbers_are_back(again: Writing) -> None:
    assert again.output("_", "_9", "_6") == "3\n3\n(2 1)\n"
    assert again.shell.number == 13


def test_procedures_are_what_was_entered(again: Writing) -> None:
    assert again.output(",source thrice").endswith("(define (thrice x) (* k x))\n")
    assert "Thrice a number." in again.output(",doc thrice")
    assert again.output("(define k 10)", "(thrice 2)", "(swap 1 2)") == "20\n(2 1)\n"
    assert "\n  in thrice at <saved input>:2:20\n" in again.output("(thrice 'a)")


def test_what_a_computed_procedure_uses_stays_as_it_was(again: Writing) -> None:
    assert again.output("(define (thrice x) 0)", "(add 1)") == "7\n"


def test_it_can_be_saved_again(again: Writing) -> None:
    again.output("(define more (list weights k))", ",save it.saved")
    assert Writing().output(",load it.saved", "more", "(thrice 1)").endswith("(#[1 2.5] 3)\n3\n")


def test_the_last_definition_counts(writing: Writing) -> None:
    writing.output("(define (f x) 1)", "(define f 5)", "(define g 5)", "(define (g x) 1)", ",save it.saved")
    fresh = Writing()
    assert fresh.output(",load it.saved", "f", "(g 0)") == "; the session is back\n5\n1\n"
    assert "(define (g x) 1)" in fresh.output(",source g")


def test_files_and_modules(writing: Writing, tmp_path: Path) -> None:
    (tmp_path / "one.vlad").write_text("(define one 1)")
    (tmp_path / "two.vlad").write_text("(define two 2)")
    writing.output(",load one.vlad", ",import two as m", "(define sum (+ one m:two))", ",save it.saved")
    fresh = Writing()
    assert fresh.output(",load it.saved", "(list one m:two sum)") == "; the session is back\n(1 2 3)\n"
    (tmp_path / "one.vlad").unlink()
    assert "one.vlad" in Writing().output(",load it.saved")


@pytest.mark.parametrize("value", [[], 5, ["session of the prompt, 1"], [1, 2, 3, 4, 5]])
def test_other_saved_values_are_refused(writing: Writing, tmp_path: Path, value: object) -> None:
    (tmp_path / "other.saved").write_text(vlad.dumps(value))
    assert "Error: No saved session of the prompt" in writing.output(",load other.saved")


HEAD = "session of the prompt, 1"


@pytest.mark.parametrize(
    "value",
    [[HEAD, "1", [], [], []], [HEAD, 1, [5], [], []], [HEAD, 1, [], [[]], []], [HEAD, 1, [], [], [5]],
     [HEAD, 1, [], [], [[5, 6]]]],
)  # fmt: skip
def test_broken_sessions_are_refused(writing: Writing, tmp_path: Path, value: object) -> None:
    (tmp_path / "other.saved").write_text(vlad.dumps(value))
    assert "Error: No saved session of the prompt" in writing.output(",load other.saved", "(define x 1)", "x")


def test_nothing_but_definitions_is_evaluated(writing: Writing, tmp_path: Path) -> None:
    inputs = ["(display 1) (define x (display 2)) (begin (display 3))"]
    (tmp_path / "other.saved").write_text(vlad.dumps([HEAD, 1, [], inputs, []]))
    assert writing.output(",load other.saved") == "; the session is back\n"


def test_values_that_cannot_be_saved_are_reported(writing: Writing) -> None:
    writing.shell.session["opaque"] = vlad.Opaque({1})
    assert "Cannot be saved: a Python set" in writing.output("(define x opaque)", ",save it.saved")
    assert "no such file" in writing.output(",load nothing.saved").lower()
