"""Trees: types of quoted and of given ones recurse, one compiled variant serves all shapes, and the analysis of procedures on
them ends. The values are those of tier 0."""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import agree, same

import vlad
from vlad.compile.analysis.fixpoint import Analysis
from vlad.compile.analysis.trees import MOST_SEEN, Tree, is_plainly_tree, is_tree, nodes
from vlad.compile.calling import pipeline
from vlad.compile.calling.cache_key import identity
from vlad.compile.passes.inlining import LARGE
from vlad.core.type_text import text_of
from vlad.core.types import LONGEST_CHAIN
from vlad.evaluate.limits import deep_recursion
from vlad.python.convert import from_python

pytestmark = pytest.mark.any_compiler

PROGRAMS = Path(__file__).parents[2] / "benchmarks" / "programs" / "compile"
TOTAL = "(define (total t) (cond ((pair? t) (list-sum (map total t))) ((real? t) t) (else 0)))"
TEXT = f"""
(define (encode w tree)
  (if (pair? tree) (tanh (matmul (concatenate (list (encode w (first tree)) (encode w (second tree)))) w)) tree))
(define (slope w tree) ((gradient (lambda (w) (sum (square (encode w tree))))) w))
(define (leaf-slopes w tree) ((gradient (lambda (t) (sum (square (encode w t))))) tree))
(define (depth t) (if (pair? t) (+ 1 (max (depth (first t)) (depth (second t)))) 0))
{TOTAL}
(define total-slope (gradient total))
(define (mixed t) ((gradient (lambda (t) ((derivative (lambda (x) (exp (* x (total t))))) 0.1))) t))
(define (doubled t) (cond ((pair? t) (map doubled t)) ((null? t) '()) (else (* 2 t))))
(define (count t) (cond ((pair? t) (+ (count (car t)) (count (cdr t)))) ((null? t) 0) (else 1)))
"""
DRAW, NUMBERS = random.Random(7), np.random.default_rng(7)
WEIGHTS = NUMBERS.normal(size=(6, 3))


def binary(size: int, leaf: Callable[[], Any]) -> Any:
    if size == 0:
        return leaf()
    left = DRAW.randrange(size)
    return [binary(left, leaf), binary(size - 1 - left, leaf)]


def ragged(size: int) -> Any:
    if size <= 1:
        return float(DRAW.randrange(1, 9))
    return [ragged(size // DRAW.randrange(2, 4)) for _ in range(DRAW.randrange(1, 4))]


def with_words(size: int) -> Any:
    if size <= 1:
        return DRAW.choice([1.5, "leaf", True])
    return [with_words(size // 2) for _ in range(DRAW.randrange(1, 4))]


def vector() -> Any:
    return NUMBERS.normal(size=3)


CALLS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "slope": lambda: (WEIGHTS, binary(DRAW.randrange(1, 12), vector)),
    "leaf-slopes": lambda: (WEIGHTS, binary(DRAW.randrange(1, 9), vector)),
    "depth": lambda: (binary(DRAW.randrange(1, 12), lambda: 1.0),),
    "total": lambda: (ragged(20),),
    "total-slope": lambda: ([ragged(20), 1.0, [2.0]],),
    "mixed": lambda: ([ragged(9), 1.0, [2.0]],),
    "doubled": lambda: ([ragged(20), 1.0, [2.0]],),
    "count": lambda: ([with_words(20), 1.0, [2.0]],),
}


@pytest.mark.parametrize("name", CALLS)
def test_few_variants_serve_all_shapes(name: str) -> None:
    """The first, for one shape, and one for all."""
    evaluating, compiling = vlad.Session(tier="evaluate"), vlad.Session(tier="compile")
    for session in (evaluating, compiling):
        session.run_text(TEXT)
    DRAW.seed(name)
    for _ in range(40):
        operands = CALLS[name]()
        assert same(evaluating[name](*operands), compiling[name](*operands))
    entry = compiling.tiers.entry(compiling[name].value)
    assert entry.reason is None and compiling.tiers.disagreements == 0
    # an atom, and a list of atoms, is no tree; a leaf of another kind is of another type
    assert len(entry.variants) <= {"count": 5}.get(name, 3)


def test_structures_of_parameters_are_no_trees_until_they_change() -> None:
    session = vlad.Session(tier="compile")
    session.run_text("(define (f p t) (+ (car p) (car (cdr (car (cdr p)))) (length t)))")
    for length in range(1, 6):
        assert session["f"]([1.0, [2.0, 3.0]], [1.0] * length) == 4 + length
    assert not session.tiers.entry(session["f"].value).trees


def test_a_plain_tree_is_compiled_once() -> None:
    """Not for the shape of the first one."""
    session = vlad.Session(tier="compile")
    session.run_text(TEXT)
    shapes = [lambda: binary(40, lambda: 1.0), lambda: binary(5, lambda: 2.0)]
    for made in shapes:
        session["depth"](made())
    entry = session.tiers.entry(session["depth"].value)
    assert entry.trees == {0} and len(entry.variants) == 1


def test_what_is_plainly_a_tree() -> None:
    layer, unlike = [1.0, [2.0, 3.0]], [[1.0, [2.0, 3.0]], [[1.0], 2.0], [1.0, [2.0], 3.0], 4.0]
    for value, expected in [
        ([deepcopy(unlike) for _ in range(5)], True),
        ([[*deepcopy(unlike), np.ones(n)] for n in range(5)], False),
        ([[*deepcopy(unlike), np.ones(2)] for _ in range(5)], True),
        ([[*deepcopy(unlike), {"a": 1.0}] for _ in range(5)], False),
        ([deepcopy(layer) for _ in range(40)], False),
        (unlike, False),
    ]:
        assert is_plainly_tree(from_python(value)) is expected, value


def test_a_long_list_is_not_gone_through() -> None:
    """It took 4 s for a million numbers, before the first call."""
    long = from_python([1.0] * 5000)
    assert sum([len(elements) for elements, _, _ in nodes(long, MOST_SEEN)]) == MOST_SEEN
    assert not is_plainly_tree(long) and not is_plainly_tree(from_python([[1.0, (2.0, 3.0)]] * 5000))


def test_what_is_a_tree() -> None:
    for value, expected in [
        ([1.0, 2.0], False),
        ([[1.0, 2.0], [3.0, 4.0]], False),
        ([[[[[1.0]]]]], True),
        ([1.0, [2.0]], True),
        ((1.0, (2.0, 3.0)), False),
        (((1.0, 2.0), 3.0), True),
        ([], False),
        (1.0, False),
    ]:
        assert is_tree(from_python(value)) is expected, value


def test_shared_parts_are_visited_once() -> None:
    value = from_python(1.0)
    for _ in range(60):
        value = (value, (value, ()))
    assert len(list(nodes(value))) < 200
    assert is_tree(value)


def test_trees_of_the_same_parts_have_the_same_key() -> None:
    session = vlad.Session(tier="evaluate")
    session.run_text(TOTAL)
    f = session["total"].value
    keys = {
        identity(session.machine, f, [Tree(from_python(value))], LONGEST_CHAIN).digest
        for value in ([1.0, [2.0, 3.0]], [[1.0, [5.0, [6.0, 7.0]]], 2.0][::-1], [4.0, [[1.0, 2.0], 3.0]])
    }
    assert len(keys) == 1
    other = identity(session.machine, f, [Tree(from_python([1.0, [2.0, "a"]]))], LONGEST_CHAIN).digest
    assert other not in keys


@pytest.mark.parametrize(
    "name",
    ["tree-lstm", "tree-of-tensors", "determinant-6", "connectionist", "edit-distance", "warped-distance", "interpreter"],
)  # fmt: skip
def test_programs_that_did_not_compile(name: str) -> None:
    """Or took long: with trees, lists of known lengths in recursion, tables that are read by entry."""
    written = []
    for tier in ("evaluate", "compile"):
        parts: list[str] = []
        session = vlad.Session(tier=tier, write=parts.append)
        session.run(PROGRAMS / f"{name}.vlad")
        written.append("".join(parts))
    assert written[0] == written[1] != ""
    assert {entry.reason for entry in session.tiers.entries.values()} == {None}


def test_a_leaf_does_not_have_the_type_of_trees() -> None:
    session = vlad.Session(tier="evaluate")
    session.run_text(
        "(define (leftmost t) (if (pair? t) (leftmost (car t)) t))"
        "(define (f n) (leftmost (let loop ((i n)) (if (= i 0) n (cons (loop (- i 1)) 2)))))"
    )
    assert session.tiers.shown(session["f"].value, "types") == "f : real -> real"
    agree(
        "(lambda (n) (let loop ((t '(1 (2 3) 4)) (n n)) (if (pair? t) (loop (car t) (+ n 1)) (+ t n))))", 0.0
    )


@pytest.mark.parametrize(
    "test", ["integer?", "real?", "number?", "tensor?", "pair?", "procedure?", "symbol?", "null?", "string?"]
)
@pytest.mark.parametrize("leaf", ["x", "'a", "'()", '"s"', "#[1 2]", "(lambda (y) (* x y))"])
def test_every_test_of_a_union(test: str, leaf: str) -> None:
    """Whether it is decided by the types of the members, or, as `integer?` of a real, by values."""
    tested = f"(if ({test} p) (list 1 (pair? p) (if (real? p) (* 2 p) 0)) (list 2 (if (real? p) (* 3 p) 0)))"
    text = f"(lambda (n x) (let ((p (if (> n 0) (cons x 1) {leaf}))) {tested}))"
    for n, x in [(1.0, 2.5), (0.0, 2.5), (-1.0, 2.0)]:
        agree(text, n, x)


def runs(text: str, name: str, value: Any) -> int:
    session = vlad.Session(tier="evaluate")
    session.run_text(text)
    f = session[name].value
    analysis = Analysis(session.machine)
    with deep_recursion():
        analysis.solve(f[0], (), (analysis.argument_type(Tree(from_python(value))),))
    return analysis.runs


def test_a_gradient_by_a_tree_takes_few_steps() -> None:
    """Sensitivities of every length were an instance each: the types of this did not settle in 8,000 runs."""
    assert runs(f"{TOTAL}(define (f t) ((gradient total) t))", "f", [1.0, [2.0, [3.0]], 4.0, []]) < 1000


def test_types_that_differ_in_the_identity_of_unions_are_one_in_recursion() -> None:
    text = "(define (f m) (if (null? m) 0 (+ (car (car m)) (f (map (lambda (row) (map sin row)) (cdr m))))))"
    session = vlad.Session(tier="compile")
    session.run_text(text)
    rows = [[float(i + j) for j in range(40)] for i in range(40)]  # longer than what is unrolled
    other = vlad.Session(tier="evaluate")
    other.run_text(text)
    assert np.isclose(session["f"](rows), other["f"](rows), rtol=1e-12)
    (variant,) = session.tiers.entry(session["f"].value).variants
    interface = variant.interface
    assert text_of(interface.layout.types, interface.operands[0]) == "(list of (list of real))"


def test_inlining_ends_where_a_program_is_large() -> None:
    """A procedure of several loops over tensors, which is called at many places."""
    calls = " ".join([f"(g x {n})" for n in range(400)])
    session = vlad.Session(tier="evaluate")
    session.run_text(
        "(define (g x n) (sum (softmax (* n (tanh (concatenate (list x (* x x)))))))) "
        f"(define (f x) (+ {calls}))"
    )
    unit = pipeline.made(session.machine, session["f"].value[0], (), (from_python(np.ones(5)),))
    assert unit.text.count("\n") < 2 * LARGE
