"""Loops that fill a table from its earlier entries: the entry of the last turn is handed on in place of being read, indices from
tapes are not tested, and what is overwritten takes no memory. Random programs have the results of tier 0.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from agreement import same
from amounts import drawn

import vlad
from vlad.compile.analysis.sizes import Sizes, shapes_of, sizes_between
from vlad.compile.calling.pipeline import made
from vlad.compile.emit.facts import Facts
from vlad.compile.ir.program import Fail, Function, Program, blocks
from vlad.compile.passes.order import NAMES
from vlad.compile.passes.uniqueness import owning
from vlad.core.passes import observing
from vlad.python.convert import from_python

pytestmark = pytest.mark.any_compiler

LENGTH = 7


def recurrence(random_: random.Random) -> str:
    """A procedure of a vector and a real: a loop over a vector, or over rows, reads entries near those that it has written."""
    down = random_.random() < 0.4
    written = random_.choice([-1, 0, 1])
    reads = [random_.choice([-2, -1, 0, 1, 2]) for _ in range(random_.randint(1, 3))]
    shifts = [written, *reads]
    first, last = -min(shifts), LENGTH - 1 - max(shifts)
    begin, test, step = (last, f"(< i {first})", "(- i 1)") if down else (first, f"(> i {last})", "(+ i 1)")
    row = random_.choice(["", "", "k "])

    def entry(shift: int) -> str:
        index = "i" if shift == 0 else f"(- i {-shift})" if shift < 0 else f"(+ i {shift})"
        if random_.random() < 0.3:
            index = f"(+ {index} 0)" if random_.random() < 0.5 else f"(- (+ {index} 1) 1)"
        return f"{row}{index}"

    terms = [
        f"(* {random_.choice(['x', '0.5', 'i', '(sin x)'])} (tensor-ref t {entry(shift)}))" for shift in reads
    ]
    value = terms[0] if len(terms) == 1 else f"(+ {' '.join(terms)})"
    if random_.random() < 0.4:
        value = f"(if (> {value} x) (* x {value}) (tensor-ref t {entry(random_.choice(reads))}))"
    new = f"(tensor-set t {entry(written)} {value})"
    if random_.random() < 0.3:
        new = f"(if (> x (tensor-ref t {entry(random_.choice(reads))})) {new} t)"
    if random_.random() < 0.3:
        new = f"(let ((t {new})) (tensor-set t {entry(random_.choice(reads))} (* 0.5 (tensor-ref t {entry(written)}))))"
    loop = f"(let loop ((i {begin}) (t t)) (if {test} t (loop {step} {new})))"
    if row:
        loop = f"(let rows ((k 0) (t (stack (list t (* 2 t) t)))) (if (= k 3) t (rows (+ k 1) {loop})))"
    return f"(lambda (t x) (sum (* {loop} {loop})))"


# The value, the derivatives by both operands, and one of second order, in all modes.
ALL = """(let ((f {}))
  (lambda (t x)
    (list (f t x)
          ((gradient (lambda (p) (f (car p) (cdr p)))) (cons t x))
          ((derivative-F (lambda (x) (f t x))) x)
          ((derivative-F (lambda (x) ((derivative-R (lambda (x) (f t x))) x))) x))))"""


def test_random_recurrences() -> None:
    evaluated, compiled = vlad.Session(tier="evaluate"), vlad.Session(tier="compile")
    random_ = random.Random(7)
    for _ in range(drawn(90)):
        text = ALL.format(recurrence(random_))
        t, x = np.linspace(-1.5, 2.0, LENGTH), 0.8
        assert same(compiled.eval(text)(t, x), evaluated.eval(text)(t, x)), text
    assert compiled.tiers.disagreements == 0


WARPING = """(lambda (xs ys)
  (let rows ((i 0) (t (tensor-set (* (ones '(7 7)) 1e9) 0 0 0)))
    (if (= i 6)
        (tensor-ref t 6 6)
        (rows (+ i 1)
              (let columns ((j 0) (t t))
                (if (= j 6)
                    t
                    (columns (+ j 1)
                             (let ((least (min (tensor-ref t i j) (tensor-ref t i (+ j 1)) (tensor-ref t (+ i 1) j))))
                               (tensor-set t (+ i 1) (+ j 1)
                                           (+ (square (- (tensor-ref xs i) (tensor-ref ys j))) least))))))))))"""


BOTH = f"(lambda (xs ys) ((gradient (lambda (p) ({WARPING} (car p) (cdr p)))) (cons xs ys)))"


def in_the_end(text: str, *operands: Any, sizes: Sizes | None = None) -> tuple[list[Fail], set[Function]]:
    """The errors that are left in a program after all passes, and the loops that allocate."""
    session = vlad.Session(tier="evaluate")
    f = session.eval(text).value
    found: list[tuple[list[Fail], set[Function]]] = []

    def observe(name: str, program: object) -> None:
        if name == NAMES[-1] and type(program) is Program:
            ends = [block.end for function in program.functions for block in blocks(function.body)]
            facts = Facts(program.functions, owning(program))
            found.append(([end for end in ends if type(end) is Fail], facts.loops & facts.allocates))

    with observing(observe):
        made(session.machine, f[0], f[1 : 1 + len(f[0].environment)], operands, sizes=sizes)
    return found[-1]


XS, YS = np.linspace(0, 1, 6), np.linspace(0, 2, 6) ** 2


def test_a_table_that_is_overwritten_takes_no_memory() -> None:
    assert in_the_end(WARPING, from_python(XS), from_python(YS)) == ([], set())


def test_indices_from_a_tape_are_not_tested() -> None:
    fails, allocating = in_the_end(BOTH, from_python(XS), from_python(YS))
    assert fails == []
    assert len(allocating) == 2  # the loops that write the tape


@pytest.mark.parametrize("test", ["=", ">="])
def test_indices_up_to_a_length_that_the_call_determines_are_not_tested(test: str) -> None:
    text = f"""(gradient (lambda (x)
      (let ((n (car (shape x))))
        (let loop ((i 0) (s 0)) (if ({test} i n) s (loop (+ i 1) (+ s (square (tensor-ref x i)))))))))"""
    short, long = from_python(np.ones(20)), from_python(np.ones(40))
    sizes = sizes_between([shapes_of([short])], [long])
    assert sizes.sizes
    fails, _ = in_the_end(text, long, sizes=sizes)
    assert fails == []


def test_warping_as_in_python() -> None:
    session = vlad.Session(tier="compile")
    f = session.eval(WARPING)
    table = np.full((7, 7), 1e9)
    table[0, 0] = 0
    for i in range(6):
        for j in range(6):
            table[i + 1, j + 1] = (XS[i] - YS[j]) ** 2 + min(table[i, j], table[i, j + 1], table[i + 1, j])
    assert f(XS, YS) == table[6, 6]
