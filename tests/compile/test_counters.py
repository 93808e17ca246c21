"""Counters that lead to entries of arrays are integers in C: which ones, and that results are the same."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from agreement import answer, same
from sessions import shared

from vlad.compile.calling import pipeline
from vlad.compile.emit.counters import counters
from vlad.compile.ir.program import Program

pytestmark = pytest.mark.any_compiler

T = np.array([0.1, 0.7, -0.3, 1.9, 2.5, -1.1, 0.2])

# A loop, and the variables of the program that are integers.
LOOPS = {
    "an index": ("(let loop ((i 0) (s 0)) (if (< i 7) (loop (+ i 1) (+ s (tensor-ref t i))) s))", "i"),
    "no index": ("(let loop ((i 0) (s 0)) (if (< i 7) (loop (+ i 1) (+ s (* i x))) s))", ""),
    "down": ("(let loop ((i 6) (s 0)) (if (< i 0) s (loop (- i 1) (+ s (tensor-ref t i)))))", "i"),
    "from the end": ("(let loop ((i 0) (s 0)) (if (< i 7) (loop (+ i 1) (+ s (tensor-ref t (- 6 i)))) s))", "i"),
    "a neighbour": ("(let loop ((i 0) (s 0)) (if (< i 2) (loop (+ i 1) (+ s (tensor-ref t (+ i 4)))) s))", "i"),
    "two counters": (
        "(let loop ((i 0) (j 0) (s 0)) (if (< i 3) (loop (+ i 1) (+ j 2) (+ s (tensor-ref t (- j i)))) s))", "i j"),
    "a choice": (
        "(let loop ((i 0) (n 0) (s 0)) (if (< n 9) (loop (if (= i 6) 0 (+ i 1)) (+ n 1) (+ s (tensor-ref t i))) s))", "i"),
    "a number, too": ("(let loop ((i 0) (s 0)) (if (< i 7) (loop (+ i 1) (+ s (/ (tensor-ref t i) i))) s))", "i"),
    "taken from zero": ("(let loop ((i 0) (s 0)) (if (< i 7) (loop (+ i 1) (+ s (/ (tensor-ref t i) (- 0 i)))) s))", "i"),
    "from a given number": ("(let loop ((i x) (s 0)) (if (< i 7) (loop (+ i 1) (+ s (tensor-ref t i))) s))", ""),
    "minus zero": ("(let loop ((i -0.0) (s 0)) (if (< i 7) (loop (+ i 1) (+ s (/ (tensor-ref t i) i))) s))", ""),
    "large steps": ("(let loop ((i 0) (s 0)) (if (< i 7) (loop (+ i 64) (+ s (tensor-ref t i))) s))", ""),
    "doubled": (
        "(let loop ((i 1) (s 0)) (if (< i 7) (loop (+ (+ i i) 1) (+ s (tensor-ref t i))) s))", ""),
    "a sum of two": (
        "(let loop ((i 0) (j 1) (s 0)) (if (< i 5) (loop j (+ i j) (+ s (tensor-ref t i))) s))", ""),
    "an error": ("(let loop ((i 0) (s 0)) (if (< i 99) (loop (+ i 1) (+ s (tensor-ref t i))) s))", "i"),
    "changes": ("(sum (let loop ((i 0) (u t)) (if (< i 7) (loop (+ i 1) (tensor-set u i (* x (tensor-ref u i)))) u)))", "i"),
    "in a recursion": (
        "(let f ((i 0)) (if (= i 7) 0 (+ (tensor-ref t i) (* x (f (+ i 1))))))", "i"),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_which_numbers_count(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[set[str]] = []
    improved = pipeline.improved

    def seen(program: Program, *options: Any) -> Program:
        program = improved(program, *options)
        found = counters(program.functions, program.entries)
        names.append(
            {one.name for function in program.functions for one in function.parameters if one in found}
        )
        return program

    monkeypatch.setattr(pipeline, "improved", seen)
    monkeypatch.setenv("VLAD_CACHE", "off")
    loop, expected = LOOPS[name]
    text, operands = f"(lambda (t x) {loop})", (T, 3.0)
    compiled = answer(shared("compile"), text, operands)
    assert same(answer(shared("evaluate"), text, operands), compiled, (0.0, 0.0))
    assert names == [set(expected.split())]


def test_gradients_with_counters() -> None:
    """Backpropagators read the numbers from the tape, as doubles."""
    loops = [loop for loop, expected in LOOPS.values() if expected]
    for loop in loops:
        text = f"(lambda (t x) ((gradient (lambda (t) {loop})) t))"
        text = re.sub(r"\s+", " ", text)
        found = [answer(shared(tier), text, (T, 3.0)) for tier in ("evaluate", "compile")]
        assert same(*found, (1e-15, 0.0)), loop
