"""Quotients by one number: by its reciprocal, to the same bits as by divisions, whatever the numbers are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from agreement import side_by_side
from hypothesis import given, settings
from hypothesis import strategies as st
from loop_cases import loop_lines, nests

import vlad
from vlad.compile.loops.divide_once import quotients
from vlad.core.loop_nests import Access, Kernel, Output, Read, Step, Write
from vlad.primitives.table import TABLE
from vlad.python.convert import from_python

DIVIDE, ADD = TABLE["/"], TABLE["+"]
ALONG = Access(0, (1,))


def kernel(*steps: Step, kind: str = "float64") -> Kernel:
    """Of arrays a and b, values 0 and 1, and the number 1.0, value 2; the last step is stored."""
    return Kernel(
        (200,),
        (Read(0, ALONG, kind), Read(1, ALONG, kind), Read(2, None)),
        steps,
        (Output(200, kind=kind),),
        (Write(0, 2 + len(steps), ALONG),),
    )


def planned(kernel: Kernel, number: str = "1.0") -> Any:
    """By the numbers of values: the divisors, the reciprocals that are there, and how far dividends may be from 1."""
    (nest,) = nests(kernel, ["a", "b", number], ["r"], "scaling")
    found = quotients(nest)
    if found is None:
        return None

    def numbered(names: Any) -> dict[int, Any]:
        return {int(name[1:]): int(one[1:]) if type(one) is str else one for name, one in names.items()}

    return (
        numbered(found.divisors),
        numbered({y: found.reciprocals[y] for y in found.kept}),
        numbered(found.dividends),
    )


def test_a_division_alone_stays_one() -> None:
    assert planned(kernel(Step(DIVIDE, (0, 1)))) is None
    assert planned(kernel(Step(DIVIDE, (2, 1)))) is None


def test_those_that_share_a_divisor() -> None:
    assert planned(kernel(Step(DIVIDE, (2, 1)), Step(DIVIDE, (0, 1)))) == ({4: 1}, {1: 3}, {4: 900})
    assert planned(kernel(Step(DIVIDE, (0, 1)), Step(DIVIDE, (2, 1)))) == ({3: 1, 4: 1}, {}, {3: 900, 4: 900})
    # of a quotient: it is at most that much farther from 1, and is not checked again
    assert planned(kernel(Step(DIVIDE, (0, 1)), Step(DIVIDE, (3, 1)))) == ({3: 1, 4: 1}, {}, {3: 800})


def test_by_what_the_loop_does_not_change() -> None:
    by_first = Kernel(
        (200,), (Read(0, ALONG), Read(1, Access(0, (0,)))), (Step(DIVIDE, (0, 1)),), (Output(200),), (Write(0, 2, ALONG),)
    )  # fmt: skip
    assert planned(by_first) == ({2: 1}, {}, {2: 900})
    assert planned(kernel(Step(DIVIDE, (0, 2))), "4.0") is None  # a product in C as well
    assert planned(kernel(Step(DIVIDE, (0, 2))), "3.0") is not None


def test_what_no_loop_changes_is_found_before_them() -> None:
    fixed = Access(0, (0,))
    given = Kernel(
        (200,), (Read(0, fixed), Read(1, fixed), Read(2, None)), (Step(DIVIDE, (2, 1)), Step(DIVIDE, (0, 1)), Step(ADD, (3, 4))),
        (Output(200),), (Write(0, 5, ALONG),),
    )  # fmt: skip
    assert planned(given) is None


def test_the_negative_of_one_is_by_the_negative_divisor() -> None:
    for name, values in (("negate", (4,)), ("*", (2, 4)), ("*", (4, 2)), ("/", (4, 2))):
        steps = Step(DIVIDE, (0, 1)), Step(DIVIDE, (3, 1)), Step(TABLE[name], values)
        text = loop_lines(kernel(*steps), ["a", "b", "-1.0"], ["r"])
        assert "x5: float64 = vlad_divided(x3, -x1, -q1)" in text


def test_too_many_in_turn_are_divisions() -> None:
    steps = [Step(DIVIDE, (0, 1), "float32"), *[Step(DIVIDE, (n, 1), "float32") for n in range(3, 8)]]
    assert planned(kernel(*steps[:5], kind="float32")) == (dict.fromkeys(range(3, 8), 1), {}, {3: 4})
    assert planned(kernel(*steps, kind="float32")) is None


def test_what_may_not_run_twice_is_left_alone() -> None:
    shared = Step(DIVIDE, (2, 1)), Step(DIVIDE, (0, 1))
    plain = kernel(*shared)
    adding = Kernel(plain.extents, plain.reads, plain.steps, plain.outputs, (Write(0, 4, ALONG, "+"),))
    in_place = Kernel(plain.extents, plain.reads, plain.steps, (Output(200, base=0),), plain.writes)
    assert planned(adding) is None
    assert planned(in_place) is None


def test_the_text() -> None:
    given = kernel(Step(DIVIDE, (2, 1)), Step(DIVIDE, (0, 1)), Step(ADD, (3, 4)))
    assert loop_lines(given, ["a", "b", "1.0"], ["r"], "mark-parallel") == [
        "new r: float64, 200 words",
        "do",
        "x2: float64 = 1.0",
        "try, far where 0",
        "where fused multiply-add",
        "for i0 from 0 below 200; parallel | of far",
        "x0: float64 = a[i0]",
        "x1: float64 = b[i0]",
        "far or= vlad_is_far_divisor(x1, 0x1p100)",
        "x3: float64 = x2 / x1",
        "far or= vlad_is_far(x0, 0x1p900)",
        "x4: float64 = vlad_divided(x0, x1, x3)",
        "x5: float64 = x3 + x4",
        "r[i0] := x5",
        "if far",
        "for i0 from 0 below 200; parallel",
        "x0: float64 = a[i0]",
        "x1: float64 = b[i0]",
        "x3: float64 = x2 / x1",
        "x4: float64 = x0 / x1",
        "x5: float64 = x3 + x4",
        "r[i0] := x5",
    ]


TEXTS = {
    "quotient": "(lambda (a b) (list ((gradient-R (lambda (a) (sum (/ a b)))) a) ((gradient-R (lambda (b) (sum (/ a b)))) b)))",
    "twice": "(lambda (a b) (/ (/ a b) b))",
    "twice, and its negative": "(lambda (a b) (- (/ (/ a b) b)))",
    "times less than nothing": "(lambda (a b) (* -1 (/ (/ a b) b)))",
    "twice negative": "(lambda (a b) (- (* -1 (/ (/ a b) b))))",
    "three times": "(lambda (a b) (/ (/ (/ a b) b) b))",
    "by rows": "(lambda (a b) (let ((m (reshape a '(2 100)))) (/ m (slice (reshape b '(2 100)) 0 1 #:axis 1))))",
    "by a number": "(lambda (a b) (/ a 3))",
    "by a negative number": "(lambda (a b) (/ a -7))",
    "by squares": "(lambda (a b) (let ((s (+ 1 (* b b)))) (/ (/ a s) s)))",
    "by negative squares": "(lambda (a b) (let ((s (- -1 (* b b)))) (/ (/ a s) s)))",
    "by its first": "(lambda (a b) (/ a (tensor-ref b 0)))",
}
COMPILED, FAST, EVALUATED = [
    side_by_side(vlad.Session(tier=tier, fast_math=fast_math), [*TEXTS.values()], 2)
    for tier, fast_math in (("compile", False), ("compile", True), ("evaluate", False))
]
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, -1e-310, 1e-300, 1e300, -1e200, 1e-40, 1e35, 1.0]


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["float64", "float32"]),
    widths=st.tuples(*[st.sampled_from([0.1, 3.0, 20.0, 37.0, 90.0, 308.0])] * 2),
    specials=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 199), st.sampled_from(SPECIAL)), max_size=3
    ),
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_to_the_same_bits(
    seed: int, kind: str, widths: tuple[float, float], specials: list[tuple[int, int, float]]
) -> None:
    """Of numbers about 1 and of numbers all over the range, with some among them for which products do not do."""
    r = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        operands = [
            (r.choice([-1, 1], 200) * 10.0 ** r.uniform(-width, width, 200)).astype(kind) for width in widths
        ]
        for operand, place, value in specials:
            operands[operand][place] = value
    for name, *answers in zip(TEXTS, COMPILED(*operands), EVALUATED(*operands), strict=True):
        for found, expected in zip(*map(parts, answers), strict=True):
            assert found.dtype == expected.dtype == kind, name
            np.testing.assert_array_equal(found, expected, name)
            if name != "quotient":  # of a zero to which nothing contributed the sign may be another
                zeros = found == 0
                np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]), name)


def parts(answer: Any) -> list[Any]:
    return list(answer) if isinstance(answer, (list, tuple)) else [answer]


@pytest.mark.parametrize("kind, tolerance", [("float64", 1e-14), ("float32", 1e-5)])
def test_fast_math_multiplies_by_reciprocals(kind: str, tolerance: float) -> None:
    """To other last digits; and where nothing overflows, to nothing worse."""
    r = np.random.default_rng(1)
    operands = [(r.choice([-1, 1], 200) * 10.0 ** r.uniform(-3, 3, 200)).astype(kind) for _ in range(2)]
    for name, *answers in zip(TEXTS, FAST(*operands), EVALUATED(*operands), strict=True):
        for found, expected in zip(*map(parts, answers), strict=True):
            np.testing.assert_allclose(found, expected, tolerance, err_msg=name)


def test_fast_math_leaves_sums_to_the_c_compiler_but_for_exponentials() -> None:
    """gcc took twice as long for the rows of a product with the pragma, and for those of exponentials without it."""
    x = np.linspace(-1, 1, 30_000).reshape(300, 100)
    for term, is_conditional in (("x", True), ("(exp x)", False)):
        session = vlad.Session(tier="compile", fast_math=True)
        f = session.eval(f"(lambda (x) (sum {term} #:axis 1))")
        c = session.tiers.shown(f.value, "c", (from_python(x),))
        assert ("#ifndef VLAD_FAST_MATH\n#pragma omp simd reduction(+" in c) == is_conditional
        assert "#pragma omp simd reduction(+" in c
        np.testing.assert_allclose(f(x), (x if is_conditional else np.exp(x)).sum(1), rtol=1e-12, atol=1e-12)
