"""Arrays that reuse memory: which ones, and that no array is read after its memory was reused."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from loop_cases import loops_of, of_type

import vlad
from vlad.compile.calling.pipeline import Unit
from vlad.compile.loops.ir import Alias
from vlad.python.convert import from_python

pytestmark = pytest.mark.any_compiler

M = np.cos(np.arange(128.0 * 128)).reshape(128, 128)


def unit(text: str, *operands: Any) -> Unit:
    session = vlad.Session(tier="evaluate")
    f = session.eval(text).value
    given = tuple([from_python(operand) for operand in operands])
    return Unit(session.machine, f[0], f[1 : 1 + len(f[0].environment)], given)


def over(text: str, *operands: Any) -> int:
    """How many arrays lie over others."""
    return len(of_type(loops_of(lambda: unit(text, *operands)), Alias))


# A product of the library makes the array, and something that is no loop over its entries alone comes after.
CASES: dict[str, int] = {
    "(lambda (a) (matmul (relu (matmul a a)) a))": 1,
    "(lambda (a) (matmul (+ 1 (transpose (matmul a a))) a))": 0,  # of other entries
    "(lambda (a) (let ((b (matmul a a))) (cons b (matmul (+ 1 b) a))))": 0,  # it is a result
    "(lambda (a) (let ((b (matmul a a))) (matmul (+ (matmul (+ 1 b) a) b) a)))": 1,  # where it is read last
    "(lambda (a) (let ((b (matmul a a))) (if (> (sum b) 0) (matmul (+ 1 b) a) (- b 1))))": 0,  # other readers are possible
    # where the loop may be run twice, the numbers it divides have to be there, or to be kept, as a loop of vectors does
    "(lambda (a) (let ((b (matmul a a))) (matmul (floor (/ (/ 2 b) b)) a)))": 0,
    "(lambda (a) (let ((b (matmul a a))) (matmul (/ (/ 2 b) b) a)))": 1,
    # floats are no reals
    "(lambda (a) (matmul (as-type (matmul a a) 'float32) (as-type a 'float32)))": 0,
    "(lambda (a) (matmul (+ 1 (slice (matmul a a) 0 64)) a))": 0,  # of another size
    # a network's layers, forward and back: both sides of relu, of its derivative, and of that of square
    "(lambda (w a) ((gradient-R (lambda (w) (sum (square (matmul (relu (matmul a w)) a))))) w))": 3,
}


def alike(text: str, *operands: Any) -> None:
    """On both tiers, and the operands are unchanged."""
    given = [operand.copy() for operand in operands]
    found, expected = [
        vlad.Session(tier=tier, optimize=optimize).eval(text)(*operands)
        for tier, optimize in (("compile", 3), ("evaluate", 2))
    ]
    parts = [answer if isinstance(answer, tuple) else (answer,) for answer in (found, expected)]
    for one, other in zip(*parts, strict=True):
        # single precision: the library's sums depend on how many threads share a product
        close = 1e-6 if getattr(other, "dtype", None) == np.float32 else 1e-9
        np.testing.assert_allclose(one, other, rtol=close, atol=close)
    for operand, original in zip(operands, given, strict=True):
        assert np.array_equal(operand, original)


@pytest.mark.parametrize("text", CASES)
def test_dead_arrays_are_overwritten(text: str) -> None:
    operands = (M / 8, M / 9)[: text.count("(lambda (w a)") + 1]
    assert over(text, *operands) == CASES[text]
    alike(text, *operands)


def a_program(pick: Callable[[Any], Any]) -> str:
    """Of matrices of twelve rows and columns, each made of some earlier ones, some of which are results."""
    names, lines = ["a", "b"], []
    for number in range(pick(range(4, 12))):
        x, y = pick(names[-3:]), pick(names)
        lines.append(f"(x{number} " + pick([
            f"(matmul {x} {y})", f"(matmul {x} {y})", f"(matmul {x} {y})", f"(* 0.1 (matmul (transpose {x}) {y}))",
            f"(relu {x})", f"(+ 1 (* {x} {x}))", f"(- {x} {y})", f"(* {x} (transpose {y}))", f"(tanh (+ {x} {y}))",
            f"(/ {x} (+ 1 (* {y} {y})))", f"(/ {x} (sum (square {y})))", f"(+ {x} (sum {x} #:axis 0))",
            f"(concatenate (list (slice {x} 3 12) (slice {y} 0 3)))", f"(* {x} (if (> (sum {y}) 0) {x} {y}))",
        ]) + ")")  # fmt: skip
        names.append(f"x{number}")
    return f"(lambda (a b) (let* ({' '.join(lines)}) (cons {names[-1]} {pick(names)})))"


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed: int) -> None:
    pick, found = random.Random(seed).choice, 0
    operands = M[:12, :12] / 4, M[20:32, 7:19] / 5
    for _ in range(4):
        text = a_program(pick)
        found += over(text, *operands)
        alike(text, *operands)
    assert found


def test_short_loops_have_arrays_of_their_own() -> None:
    """They are unrolled, and the C compiler vectorises stores that do not alias."""
    text = "(lambda (a) (matmul (relu (matmul a a)) a))"
    assert over(text, M[:9, :9]) == 1
    assert over(text, M[:8, :8]) == 0
