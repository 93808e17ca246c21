"""Structures that mix reals with other values, built at run time: compiled as on tier 0, and without its help."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import mixed_structures
import numpy as np
import pytest
from agreement import agree
from amounts import THOROUGH
from test_several_shapes import monitored, over_batches

import vlad
from vlad.compile.analysis import fixpoint
from vlad.compile.calling.background import BACKGROUND
from vlad.compile.ir.refusals import Unbounded
from vlad.compile.ir.representation import Representation
from vlad.core.types import FROM_ALL, Types

pytestmark = pytest.mark.any_compiler

ROOT = Path(__file__).parents[2]
FIRST, COUNT = (0, 20_000) if THOROUGH else (23, 11)  # programs of each kind; a few quick ones by default

TURNS = "(define (turns n make) (if (< n 1) '() (cons (make n) (turns (- n 1) make))))"
OF_REALS = "(define (of-reals s) (fold (lambda (e all) (if (real? e) (+ all (* e e)) all)) 0 s))"
MADE = [
    "(list n)",
    "#[1 2]",
    "'a",
    "(> n 3)",
    '"s"',
    "((curry *) n)",
    "(if (> n 2) #[1 2] #[3 4 5])",
    "(if (> n 2) 'a (list n 'a))",
]


def zeros_of(other: str) -> str:
    """A gradient by a list of reals and of others."""
    return f"""(lambda (n) {TURNS} {OF_REALS}
      (let* ((s (turns n (lambda (n) (if (> n 1) {other} n)))) (g ((gradient of-reals) s)))
        (list (filter real? g) (map (lambda (e) (if (procedure? e) (e 10) e)) g))))"""


@pytest.mark.parametrize("other", MADE)
def test_zeros_of_elements_of_another_kind_need_no_tier_0(other: str) -> None:
    """The known zero of one is not the number that is the sensitivity of another."""
    agree(zeros_of(other), 4.0)


@pytest.mark.parametrize("is_cached", [False, True])
def test_zeros_are_kept_distinct_once_operands_do_not_fit(
    is_cached: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Not before: to analyse a program again takes as long as the first time. Effects are not repeated."""
    monkeypatch.setenv("VLAD_CACHE_DIR", str(tmp_path))
    text = f'(define (f n) (display "once") ({zeros_of("(list n)")} n))'
    for turn in range(1 + is_cached):
        printed: list[str] = []
        session = vlad.Session(tier="compile", write=printed.append)
        session.eval(text)
        with monitored() as strategies:
            found = session["f"](4.0)
            assert session["f"](5.0) == [[2.0], [[0.0], [0.0], [0.0], [0.0], 2.0]]
        assert [strategy.zeros_distinct for strategy in strategies] == ([] if turn else [0, 1, 2])
        assert found == [[2.0], [[0.0], [0.0], [0.0], 2.0]] and "".join(printed) == "onceonce"
        assert session.tiers.disagreements == 0
        assert session.tiers.entry(session["f"].value).reason is None


def test_what_did_not_fit_is_compiled_again_beside_tier_0() -> None:
    session = vlad.Session(tier="auto", optimize=1)
    f = session.eval(zeros_of("(list n)"))
    entry = session.tiers.entry(f.value)
    session.tiers.compile(entry, (4.0,))
    entry.seconds = 1.0
    assert f(4.0) == [[2.0], [[0.0], [0.0], [0.0], 2.0]]
    assert BACKGROUND.wait_until_idle(session.tiers, 60)
    (variant,) = entry.variants
    assert variant.interface.zeros_distinct == FROM_ALL and session.tiers.disagreements == 0


def test_zeros_are_kept_distinct_from_numbers_once_a_structure_is_taken_apart() -> None:
    """The zero of a part, a list, meets the zeros of numbers in the list of sensitivities."""
    text = """
      (lambda (n)
        (define (total s) (fold (lambda (e all) (if (real? e) (+ e all) all)) 0 s))
        ((gradient-R (lambda (q) (total (map-reals (lambda (u) (* u u)) q))))
         (append (map (lambda (n) 0.5) (iota n)) (list (list 'b)))))"""
    session = vlad.Session(tier="compile")
    assert session.eval(text)(2.0) == [1.0, 1.0, ["b"]] and session.tiers.disagreements == 0


def test_tensors_of_integers_that_the_analysis_meets_late() -> None:
    """What ran before, for tangents of other values, runs again: without tensors of integers nothing has to be left out."""
    text = """
      (lambda (x l)
        (let* ((s (list (- x 1) (filter (lambda (e) (not (real? e))) (reverse l))))
               (both (vjp-F (lambda (q) (list-tail q 1)) s)))
          (equal? ((cdr both) (car both)) s)))"""
    session = vlad.Session(tier="compile")
    f = session.eval(text)
    matrix = np.array([[1.0, 2.0]])
    for items in ([2.0, np.array([1, 2])], [1.0, np.array([1.0])], [matrix[0], 0.25, [1.5, "a"], matrix]):
        expected = vlad.Session(tier="evaluate").eval(text)(1.0, items)
        assert f(1.0, items) is expected
        assert session.tiers.entry(f.value).reason is None


def test_other_variants_are_not_analysed_in_a_way_that_took_too_long(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VLAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(fixpoint, "MOST_RUNS", 2)
    monkeypatch.setattr(fixpoint, "MOST_RUNS_EACH", 0)
    for turn in range(2):  # in the second one all is in the cache
        session = vlad.Session(tier="compile")
        session.eval("(define (f s) (if (pair? s) (+ (f (car s)) (f (cdr s))) (if (real? s) s 0)))")
        with monitored() as strategies:
            assert session["f"]([1.0, 2.0]) == 3 and session["f"](((1.0, 2.0), 3.0)) == 6
        assert [bool(strategy.unroll) for strategy in strategies] == ([] if turn else [False, True, True])
        assert len(session.tiers.entry(session["f"].value).variants) == 2


@pytest.mark.parametrize("tier", ["evaluate", "compile", "auto"])
@pytest.mark.parametrize("is_wrong", [False, True])
def test_calls_by_a_function_that_writes_lose_no_output(tier: str, is_wrong: bool) -> None:
    """A call that begins again, or fails, skips none of the effects of the one around it."""
    written: list[str] = []

    def write(text: str) -> None:
        written.append(text)
        if text == "a" and written.count("a") < 3:
            with contextlib.suppress(vlad.VladError):
                session["f"](-1.0 if is_wrong else 3.0)
            written.append("R")

    session = vlad.Session(tier=tier, write=write)
    body = (
        '(display "c") (if (< n 0) (error "no") n)'
        if is_wrong
        else f'(display "c") ({zeros_of("(list n)")} n)'
    )
    session.eval(f'(define (f n) (display "a") (let ((r (begin {body}))) (display "b") r))')
    session["f"](4.0)
    assert "".join(written) == ("aaacRcRcb" if is_wrong else "aaacbRcbRcb")


def test_operands_of_many_values_leave_nothing_behind() -> None:
    """Whether a value is a constant of a type is asked without making a type of it."""
    session = vlad.Session(tier="compile")
    session.eval(
        "(define (total s) (cond ((real? s) s) ((pair? s) (+ (total (car s)) (total (cdr s)))) (else 0)))"
    )
    total = session["total"]
    for count in range(5):
        total([count + 0.5, [[float(count), [1.0, None]]], 1.0])
    (variant,) = session.tiers.entry(total.value).variants
    before = len(variant.types._table)
    for count in range(200):
        assert total([count + 0.5, [[float(count), [1.0, None]]], 1.0]) == 2 * count + 2.5
    assert len(variant.types._table) == before


def test_operands_that_could_not_fit_but_are_never_combined_need_one_analysis() -> None:
    session = vlad.Session(tier="compile")
    session.run_text(f'(import "data")\n{over_batches("product of vectors", "(g w)")}')
    with monitored() as strategies:
        session["f"](np.ones((4, 2)), np.ones((23, 4)))
    assert [strategy.zeros_distinct for strategy in strategies] == [0]
    (variant,) = session.tiers.entry(session["f"].value).variants
    assert variant.interface.zeros_distinct == 1


def test_what_only_goes_through_is_known_to_the_collector() -> None:
    """No part of the program reads the elements of its operand."""
    given = [[], [0.5], [[1.0, 2.0], "s"]]
    agree("(lambda (n l) (map (lambda (i) (list l i)) (iota n)))", 3.0, given)
    agree(
        "(lambda (n l) (let loop ((i 0) (s '())) (if (= i n) s (loop (+ i 1) (list (list i l) i)))))",
        2e5,
        given,
    )


def test_the_zero_of_a_text_stands_for_nothing() -> None:
    agree(
        "(lambda (l x) (let* ((s (if (> x 1) '() l)) (both (vjp reverse s))) ((cdr both) (car both))))",
        [1.0, "text", 2.0],
        0.5,
    )


@pytest.mark.system_compiler
def test_a_standalone_program_reports_no_false_error(tmp_path: Path) -> None:
    (tmp_path / "it.vlad").write_text(
        f"{TURNS} {OF_REALS} (map (lambda (n) ((gradient of-reals) (turns n (lambda (n) (if (> n 1) (list n) n))))) '(0 1 3))"
    )
    outputs = [
        subprocess.run(
            words,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for words in (
            [sys.executable, "-m", "vlad", "check", "it.vlad"],
            [sys.executable, "-m", "vlad", "build", "it.vlad"],
            ["./it"],
        )
    ]
    assert outputs[-1].stdout == "(() (2) ((0) (0) 2))\n"


@pytest.mark.parametrize("loops", [False, True], ids=["structures", "loops"])
def test_random_programs(loops: bool) -> None:
    reported: list[str] = []
    ends = mixed_structures.run(COUNT, FIRST, loops, reported.append)
    assert not reported, "\n".join(reported)
    assert ends["compiled"] > COUNT / 2


@pytest.mark.parametrize(
    "operator", ["gradient-F", "jacobian-F", "hessian", "hessian-F", "laplacian", "laplacian-F"]
)
def test_each_number_of_a_list_of_any_length_has_a_direction(operator: str) -> None:
    """A direction has the type of the list: `hessian` of such a list had types without bound."""
    other = "(if (> n 2) 'a (list n 'a))"
    agree(
        f"""(lambda (n) {TURNS} {OF_REALS}
          (let ((s (turns n (lambda (n) (if (> n 1) {other} n)))))
            (({operator} (lambda (q) (square (of-reals q)))) s)))""",
        4.0,
    )


def test_the_zero_of_a_union_of_which_it_is_part_ends() -> None:
    """The sensitivity of a list that may be empty was a pair of a number and of another such sensitivity."""
    text, calls = mixed_structures.program(5056, False)
    assert mixed_structures.Pair().compared(text, calls[:1]) == ("compiled", None)


def test_the_zero_of_a_union_without_end_is_refused() -> None:
    """No value is of such a type."""
    types = Types()
    union = types.union()
    types.join_both(union, types.pair(types.real, union))
    with pytest.raises(Unbounded, match="no end"):
        Representation(types).member_for(types.canonical(union), types.zero)


def test_the_comparison_of_programs_finds_differences() -> None:
    """Of shapes, kinds and the places of errors."""
    pair = mixed_structures.Pair()
    compared = [pair.compared("(lambda (n x l) (list n x l))", [(1.0, 2.0, np.float32([3.0]))])[0]]
    pair.answers = lambda tier, text, calls: [tier]  # type: ignore[method-assign]
    compared.append(pair.compared("", [])[0])
    assert compared == ["compiled", "differs"]
