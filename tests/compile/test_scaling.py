"""Sums of a number with itself and products with whole numbers as one product: exactly the same, for all numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loop_cases import given as operands_of
from loop_cases import loop_lines

import vlad
from vlad.compile.loops.lower import lower
from vlad.compile.loops.scaling import multiples as multiples_of
from vlad.core.loop_nests import Access, Kernel, Output, Read, Step, Write
from vlad.primitives.table import TABLE

A, C = 0, 1  # the values that are read: an entry, and a number that is known


def multiples(*steps: tuple[str, tuple[int, ...]], c: float = 100.0) -> dict[int, tuple[int, float]]:
    lowered = lower(kernel(*steps), operands_of(["a", repr(c)]), ["r"], None, {}, {})
    found = multiples_of(lowered.nests[0])
    return {int(name[1:]): (int(of[1:]), factor) for name, (of, factor) in found.items()}


def kernel(*steps: tuple[str, tuple[int, ...]], kind: str = "float64") -> Kernel:
    return Kernel(
        (1000,),
        (Read(0, Access(0, (1,)), kind), Read(1, None)),
        tuple([Step(TABLE[name], values, kind) for name, values in steps]),
        (Output(1000, kind=kind),),
        (Write(0, len(steps) + 1, Access(0, (1,))),),
    )


def test_what_is_a_multiple_of_what() -> None:
    assert multiples(("*", (A, C)), ("+", (2, 2))) == {3: (A, 200.0)}
    assert multiples(("*", (C, A)), ("negate", (2,)), ("+", (3, 3))) == {3: (A, -100.0), 4: (A, -200.0)}
    assert multiples(("+", (A, A)), ("*", (2, C))) == {3: (A, 200.0)}
    assert multiples(("*", (C, C)), ("*", (A, 2)), ("+", (3, 3))) == {4: (A, 20000.0)}
    assert multiples(("+", (A, A)), ("+", (2, 2))) == {3: (A, 4.0)}


def test_what_would_be_rounded_otherwise() -> None:
    assert multiples(("*", (A, C)), ("*", (2, C))) == {}  # twice there, once then
    assert multiples(("*", (A, C)), ("+", (2, 2)), c=0.5) == {}  # half of the least number is none
    assert multiples(("*", (A, C)), ("+", (2, 2)), c=0.3) == {}
    assert multiples(("*", (A, C)), ("+", (2, 2)), c=math.inf) == {}
    assert multiples(("*", (A, C)), ("+", (2, 2)), c=math.nan) == {}
    assert (
        multiples(("*", (A, C)), ("+", (2, 2)), c=0.0) == {}
    )  # of infinity it is no number, as before; left alone
    assert multiples(("*", (A, C)), ("+", (2, 2)), c=2.0**53) == {}
    assert multiples(("*", (A, C)), ("+", (2, A))) == {}


def test_text() -> None:
    steps = ("*", (A, C)), ("+", (2, 2))
    for kind in ("float64", "float32"):
        assert f"x3: {kind} = x0 * 200.0" in loop_lines(kernel(*steps, kind=kind), ["a", "100.0"], ["r"])


def test_long_loops_of_sums_and_products_take_several_turns_at_once() -> None:
    several = [("*" if value % 2 else "+", (value, A)) for value in range(2, 10)]
    lines = loop_lines(kernel(("*", (A, C)), *several), ["a", "c"], ["r"])
    assert "for i0 from 0 below 1000; parallel; 4 turns at once" in lines
    with_root = [*several, ("sqrt", (10,))]
    lines = loop_lines(kernel(("*", (A, C)), *with_root), ["a", "c"], ["r"])
    assert "for i0 from 0 below 1000; parallel" in lines and "turns at once" not in "".join(lines)


TEXTS = [
    "(lambda (a) (let ((c (* 3 a))) (+ c c)))",
    "(lambda (a) (* 3 (+ a a)))",
    "(lambda (a) (let ((c (- (* a 100)))) (- (+ c c))))",
    "(lambda (a) (* -8 (* 3 (+ a a))))",
    "(lambda (a) ((gradient-R (lambda (a) (sum (* 100 (* a a))))) a))",
    "(lambda (a) (hvp (lambda (a) (sum (* 7 (* a (* a a))))) a a))",
    "(lambda (a) (let* ((b (- (* a a) (sum (slice a 0 2)))) (c (* 200 (* b b)))) (+ (- c b) (* 3 (+ c c)))))",
]
SESSIONS = [vlad.Session(tier="evaluate"), *[vlad.Session(tier="compile", optimize=n) for n in (2, 3)]]
EVALUATED, *COMPILED = [{text: session.eval(text) for text in TEXTS} for session in SESSIONS]
LEAST, GREATEST = 5e-324, 1.7976931348623157e308
SPECIAL = [
    0.0,
    -0.0,
    math.inf,
    -math.inf,
    math.nan,
    LEAST,
    -LEAST,
    3 * LEAST,
    2.3e-308,
    1e-310,
    GREATEST,
    -GREATEST / 2,
]


@pytest.mark.parametrize("text", TEXTS)
@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["float64", "float32"]),
    about=st.sampled_from([-323.0, -309.0, -160.0, -45.0, -38.0, 0.0, 18.0, 38.0, 150.0, 307.0]),
    specials=st.lists(st.tuples(st.integers(0, 599), st.sampled_from(SPECIAL)), max_size=3),
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_to_the_same_bits(
    text: str, seed: int, kind: str, about: float, specials: list[tuple[int, float]]
) -> None:
    """Of numbers of every size, those that are nearly nothing and those that are nearly too great too."""
    r = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        operand = (r.choice([-1, 1], 600) * 10.0 ** (about + r.uniform(-2, 2, 600))).astype(kind)
        for place, value in specials:
            operand[place] = value
    expected = EVALUATED[text](operand)
    for compiled in COMPILED:
        found = compiled[text](operand)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        zeros = (found == 0) & (expected == 0)
        np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))
