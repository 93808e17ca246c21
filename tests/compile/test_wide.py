"""Loops of quotients in vectors: the same bits as by divisions, and one division by the wide path itself."""

from __future__ import annotations

import ctypes
import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from agreement import side_by_side
from amounts import THOROUGH
from hypothesis import given, settings
from hypothesis import strategies as st
from loop_cases import given as operands_of
from loop_cases import loop_lines, loops_of, nests, of_type

import vlad
from vlad.compile.calling.pipeline import Unit
from vlad.compile.emit.c_loops import kernel_lines
from vlad.compile.emit.needs import Needs
from vlad.compile.loops.ir import Alias, Allocate, Let, Local
from vlad.compile.loops.order import loops
from vlad.compile.loops.text import loops_text
from vlad.compile.loops.vectorize import FEWEST_WIDE, nonnegative
from vlad.compile.loops.walking import statements
from vlad.compile.native.abi import ffi
from vlad.compile.native.toolchain import build
from vlad.compile.runtime.functions import needed
from vlad.core.loop_nests import Access, Kernel, Output, Read, Step, Write
from vlad.primitives.table import TABLE
from vlad.python.convert import from_python

ALONG = Access(0, (1,))


def kernel(
    *steps: tuple[str, tuple[int, ...]], extent: int = 300, read: Access = ALONG, write: Access = ALONG
) -> Kernel:
    """Of arrays a and b, values 0 and 1, and the number 1.0, value 2; the last step is stored."""
    return Kernel(
        (extent,),
        (Read(0, read), Read(1, ALONG), Read(2, None)),
        tuple([Step(TABLE[name], values) for name, values in steps]),
        (Output(extent),),
        (Write(0, 2 + len(steps), write),),
    )


def lines(given: Kernel) -> list[str]:
    return loop_lines(given, ["a", "b", "1.0"], ["r"])


def turn(*steps: tuple[str, tuple[int, ...]]) -> list[str]:
    """What of a turn is computed, after the quotients q = 1 / b and x4 = a / b."""
    text = lines(kernel(("/", (2, 1)), ("/", (0, 1)), *steps))
    begun = next(index for index, line in enumerate(text) if line.startswith("x4: vector"))
    return list(itertools.takewhile(lambda line: not line.startswith("far"), text[begun + 1 :]))


def test_the_text() -> None:
    text = lines(kernel(("/", (2, 1)), ("/", (0, 1)), ("+", (3, 4))))
    begun = text.index("where vectors")
    assert text[begun : text.index("where fused multiply-add")] == [
        "where vectors",
        "do",
        "var i0: index = 0",
        "start: index = 0",
        "var begin: index = start",
        "before: unsigned = vlad_wide_begin()",
        "for begin to 268 by 32",
        "for part from 0 below 4; unrolled 4",
        "i0: index = begin + 8 * part",
        "x0: vector of float64 = a[i0] as vector",
        "x1: vector of float64 = b[i0] as vector",
        "x3: vector of float64 = vlad_wide_reciprocal(x1, part == 3)",
        "x4: vector of float64 = vlad_wide_divided(x0, x1, x3)",
        "x5: vector of float64 = x3 + x4",
        "r[i0] as vector := x5",
        "far or= vlad_wide_end(before)",
        "for i0 from start ? 0 : begin below 300, then i0 + 1 == start ? begin : i0 + 1",
        "x0: float64 = a[i0]",
        "x1: float64 = b[i0]",
        "x3: float64 = x2 / x1",
        "x4: float64 = x0 / x1",
        "x5: float64 = x3 + x4",
        "r[i0] := x5",
    ]


@pytest.mark.parametrize(
    "steps, expected",
    [
        ([("negate", (4,)), ("*", (5, 0)), ("+", (6, 6)), ("+", (7, 3))],
         ["x5 = x4", "x6 = x5 * x0", "x7 = x6 + x6", "x8 = x3 - x7"]),
        ([("negate", (4,)), ("negate", (3,)), ("+", (5, 6))], ["x5 = x4", "x6 = x3", "x7 = -x5 - x6"]),
        ([("negate", (4,)), ("negate", (3,)), ("-", (5, 6))], ["x5 = x4", "x6 = x3", "x7 = x6 - x5"]),
        ([("negate", (4,)), ("-", (5, 3))], ["x5 = x4", "x6 = -x5 - x3"]),
        ([("negate", (4,)), ("-", (3, 5))], ["x5 = x4", "x6 = x3 + x5"]),
        ([("negate", (4,)), ("+", (3, 5))], ["x5 = x4", "x6 = x3 - x5"]),
        ([("negate", (4,)), ("negate", (5,)), ("+", (6, 3))], ["x5 = x4", "x6 = x5", "x7 = x6 + x3"]),
        ([("negate", (4,)), ("negate", (3,)), ("*", (5, 6))], ["x5 = x4", "x6 = x3", "x7 = x5 * x6"]),
        ([("negate", (4,)), ("/", (5, 0))], ["x5 = x4", "x6 = x5 / x0"]),
        ([("negate", (4,)), ("/", (5, 1))], ["x5 = x4", "x6 = vlad_wide_divided(x5, x1, x3)"]),
    ],
)  # fmt: skip
def test_negations_are_put_off(steps: Any, expected: list[str]) -> None:
    *computed, stored = turn(*steps)
    assert computed == [line.replace(" =", ": vector of float64 =", 1) for line in expected]
    is_negated = steps[-1][0] == "/"
    assert stored == f"r[i0] as vector := {'-' if is_negated else ''}x{4 + len(steps)}"


SUMS = [
    ("*", (0, 1)),
    ("+", (3, 0)),
    ("-", (4, 1)),
    ("*", (5, 0)),
    ("+", (6, 1)),
    ("*", (7, 7)),
    ("-", (8, 0)),
    ("+", (9, 1)),
]


def test_many_sums_and_products_need_no_notes() -> None:
    text = lines(kernel(*SUMS))
    begun = text.index("where vectors")
    assert text[begun + 1 : begun + 11] == [
        "do",
        "var i0: index = 0",
        "start: index = 0",
        "var begin: index = start",
        "for begin to 268 by 32",
        "for part from 0 below 4; unrolled 4",
        "i0: index = begin + 8 * part",
        "x0: vector of float64 = a[i0] as vector",
        "x1: vector of float64 = b[i0] as vector",
        "x3: vector of float64 = x0 * x1",
    ]
    assert not any("before" in line or "far" in line for line in text)
    assert text.count("x3: float64 = x0 * x1") == 2  # what is left over, and where there are no such vectors
    assert not any("vector" in line for line in lines(kernel(*SUMS[:-1])))


def neighbours(*steps: tuple[str, tuple[int, ...]], kind: str = "float64") -> Kernel:
    """Of entries a[i] and a[i + 1], values 0 and 1, and b[i], value 2."""
    reads = (Read(0, ALONG, kind), Read(0, Access(1, (1,)), kind), Read(1, ALONG, kind))
    made = tuple([Step(TABLE[name], values, kind) for name, values in steps])
    return Kernel((600,), reads, made, (Output(600, kind=kind),), (Write(0, 2 + len(steps), ALONG),))


# 3 and 4 are a function of an entry and of the next one; so are 5, with the other sign, and 6; more makes it worth it
BETWEEN = [
    ("*", (0, 0)),
    ("*", (1, 1)),
    ("negate", (3,)),
    ("*", (4, 4)),
    ("*", (5, 3)),
    ("+", (6, 7)),
    ("-", (8, 2)),
]
PADDING = [("+", (9, 2)), ("*", (10, 10)), ("-", (11, 2)), ("+", (12, 2))]


def test_what_was_found_of_an_entry_before_is_taken_from_there() -> None:
    text = lines(neighbours(*BETWEEN, *PADDING))
    begun, end = text.index("var before6: vector of float64"), text.index("r[i0] as vector := x13")
    found = text.index("before6 := -vector(x7)")
    assert (
        text[begun + 1 : begun + 3] == ["do", "i0: index = begin"]
        and "x7: float64 = x5 * x3" in text[begun:found]
    )
    assert (
        [line for line in text[found:end] if line.startswith("x") and "vector" in line]
        == [
            "x1: vector of float64 = a[i0 + 1] as vector",  # what is not needed any more is not there
            "x2: vector of float64 = b[i0] as vector",
            "x4: vector of float64 = x1 * x1",
            "x6: vector of float64 = x4 * x4",
            "x7: vector of float64 = vlad_wide_moved(before6, x6)",  # its negative, which is put off to be subtracted
            "x8: vector of float64 = x6 - x7",
            "x9: vector of float64 = x8 - x2",
            "x10: vector of float64 = x9 + x2",
            "x11: vector of float64 = x10 * x10",
            "x12: vector of float64 = x11 - x2",
            "x13: vector of float64 = x12 + x2",
        ]
    )
    assert text[end + 1] == "before6 := x6"
    assert not any("before" in line for line in lines(kernel(*SUMS)))


def test_of_neighbours_that_are_read_every_other_one_is_moved() -> None:
    both = [
        ("+", (0, 1)),
        ("*", (3, 2)),
        ("-", (4, 0)),
        ("*", (5, 1)),
        ("+", (6, 6)),
        ("-", (7, 1)),
        ("*", (8, 2)),
        ("+", (9, 0)),
    ]
    assert "x0: vector of float64 = vlad_wide_moved(before1, x1)" in lines(neighbours(*both))
    beside = replace(neighbours(*both), reads=(*neighbours(*both).reads[:2], Read(0, Access(2, (1,)))))
    text = lines(beside)
    assert "x0: vector of float64 = vlad_wide_moved(before1, x1)" in text
    assert "x1: vector of float64 = a[i0 + 1] as vector" in text


def test_a_sum_is_no_other_ones_negative() -> None:
    """Where it is zero, -x + -y has no other sign than x - y has: it is not taken for -(x + y)."""
    differences = [("negate", (0,)), ("negate", (2,)), ("+", (3, 4)), ("+", (1, 2)), ("*", (5, 6))]
    text = lines(neighbours(*differences, ("+", (7, 2)), ("*", (8, 8)), ("-", (9, 2)), ("+", (10, 2))))
    assert not any("moved(before6" in line or "moved(before5" in line for line in text)


def test_floats_are_twice_as_many() -> None:
    text = lines(neighbours(*BETWEEN, *PADDING, kind="float32"))
    assert "for begin to 536 by 64" in text
    assert "x7: vector of float32 = vlad_wide_moved(before6, x6)" in text
    assert "r[i0] as vector := x13" in text
    few = replace(neighbours(*BETWEEN, *PADDING, kind="float32"), extents=(2 * FEWEST_WIDE - 2,))
    assert not any("vector" in line for line in lines(few))


def test_rows_that_are_worth_it_begin_where_a_line_of_the_cache_does() -> None:
    begins = "start: index = vlad_wide_start(&r[i0])"
    assert begins in lines(kernel(*SUMS, extent=1 << 11))
    assert begins not in lines(kernel(*SUMS, extent=(1 << 11) - 1))


def test_long_rows_are_fetched_each_once() -> None:
    text = lines(kernel(*SUMS, extent=1 << 15, read=Access(3, (1,))))
    assert [line for line in text if "prefetch" in line] == [
        "prefetch a[i0 + 3] + 384",
        "prefetch b[i0] + 384",
        "prefetch r[i0] + 384",
    ]
    assert not any("prefetch" in line for line in lines(kernel(*SUMS, extent=(1 << 15) - 1)))


@pytest.mark.parametrize("change", [{"combine": "+"}, {"base": 0}])
def test_what_was_there_before_is_left_to_the_c_compiler(change: dict[str, Any]) -> None:
    plain = kernel(*SUMS)
    write = Write(0, plain.writes[0].value, ALONG, change.get("combine", ""))
    given = Kernel(plain.extents, plain.reads, plain.steps, (Output(300, base=change.get("base")),), (write,))
    assert not any("vector" in line for line in lines(given))


def test_a_divisor_has_its_own_sign() -> None:
    text = lines(kernel(("negate", (1,)), ("/", (2, 3)), ("/", (0, 3)), ("+", (4, 5))))
    assert "x3: vector of float64 = -x1" in text
    assert "x5: vector of float64 = vlad_wide_divided(x0, x3, x4)" in text


def test_one_reciprocal_for_divisors_without_one() -> None:
    text = lines(kernel(("/", (0, 1)), ("/", (2, 1)), ("/", (3, 1)), ("+", (4, 5))))
    assert "q1: vector of float64 = vlad_wide_reciprocal(x1, part == 3)" in text
    # of a number that is no vector
    assert "x4: vector of float64 = vlad_wide_divided(vector(x2), x1, q1)" in text


@pytest.mark.parametrize(
    "given",
    [
        kernel(("/", (2, 1)), ("/", (0, 1)), ("+", (3, 4)), extent=FEWEST_WIDE - 1),
        kernel(("/", (2, 1)), ("/", (0, 1)), ("+", (3, 4)), read=Access(0, (2,))),
        kernel(("/", (2, 1)), ("/", (0, 1)), ("+", (3, 4)), write=Access(299, (-1,))),
        kernel(("/", (2, 1)), ("/", (0, 1)), ("+", (3, 4)), ("exp", (5,))),
        kernel(("/", (0, 2)), ("/", (3, 2))),
    ],
)
def test_other_loops_are_left_to_the_c_compiler(given: Kernel) -> None:
    assert not any("vector" in line for line in lines(given))


def test_sums_of_squares_are_not_below_zero() -> None:
    steps = (
        ("*", (0, 0)),
        ("+", (3, 2)),
        ("*", (0, 1)),
        ("+", (4, 5)),
        ("/", (3, 4)),
        ("exp", (0,)),
        ("-", (4, 3)),
    )
    for number, expected in (("1.0", {2, 3, 4, 7, 8}), ("-1.0", {3, 8})):
        (nest,) = nests(kernel(*steps), ["a", "b", number], ["r"], "scaling")
        lets = [one for one in statements(nest.body) if type(one) is Let]
        assert nonnegative(lets) == {f"x{value}" for value in expected}


def numbers(r: np.random.Generator, count: int, width: int) -> Any:
    """Reals of both signs: with any digits, with almost all ones, with few."""
    digits = r.integers(0, 1 << 52, count, dtype=np.int64)
    few = np.int64(1) << r.integers(0, 52, count)
    digits = np.choose(
        r.integers(0, 5, count), [digits, few, few - 1, (1 << 52) - few, (1 << 52) - 1 - few // 2]
    )
    exponents = r.integers(1023 - width, 1023 + width, count)
    signs = r.integers(0, 2, count) << 63
    return (signs | exponents << 52 | digits).view(np.float64)


def test_reciprocals_and_quotients_by_steps_alone() -> None:
    """Where the processor has such vectors; without a note of it, all are right to the last bit."""
    names = ("at", "reciprocal", "reciprocal_of_positive", "divided", "divided_by_positive", "begin", "end")
    text = "\n".join(
        [
            "union vlad_word { double d; long i; void *p; };",
            needed([f"vlad_wide_{name}" for name in names], True),
            "int vlad_call(union vlad_word const *in, union vlad_word *out) {",
            "  const double *a = in[0].p, *y = in[1].p; double *q = in[2].p, *r = in[3].p; int far = 0;",
            "#ifdef VLAD_WIDE",
            "  unsigned before = vlad_wide_begin();",
            "  for (long i = 0; i < in[4].i; i += 8) {",
            "    vlad_wide x = vlad_wide_at(a + i), z = vlad_wide_at(y + i), s = vlad_wide_reciprocal(z, 1);",
            "    *(vlad_wide *)(q + i) = s;",
            "    *(vlad_wide *)(r + i) = vlad_wide_divided(x, z, s);",
            "  }",
            "  far = vlad_wide_end(before);",
            "#else",
            "  for (long i = 0; i < in[4].i; i++) q[i] = 1 / y[i], r[i] = a[i] / y[i];",
            "#endif",
            "  out[0].i = far;",
            "  return 0;",
            "}",
        ]
    )
    library = build(text)
    r = np.random.default_rng(3)
    a, y = numbers(r, 200_000, 400), numbers(r, 200_000, 400)
    a[::17], y[:2048] = (
        -0.0,
        (y[:2048].view(np.int64) | (1 << 52) - 1).view(np.float64),
    )  # digits that are all ones
    q, quotient = np.empty_like(a), np.empty_like(a)
    given, answer = ffi.new("union vlad_word[5]"), ffi.new("union vlad_word[1]")
    for word, array in zip(given, (a, y, q, quotient), strict=False):
        word.p = ffi.from_buffer(array)
    given[4].i = len(a)
    assert library.vlad_call(given, answer) == 0 and answer[0].i == 0
    np.testing.assert_array_equal(q.view(np.int64), (1 / y).view(np.int64))
    np.testing.assert_array_equal(quotient.view(np.int64), (a / y).view(np.int64))


TEXTS = {
    "gradient": "(lambda (a b) ((gradient-R (lambda (a) (sum (/ (* a b) (+ 1 (* a a) (* b b)))))) a))",
    "by either sign": "(lambda (a b) (let ((d (* a b b))) (- (/ b d) (/ (/ a d) d))))",
    "of negatives": "(lambda (a b) (- (/ (- a) (- b)) (/ 1 (- b))))",
    "of a number": "(lambda (a b) (+ (/ -0.0 b) (* (/ a b) (/ 3 b))))",
    "hessian": "(lambda (a b) (hvp (lambda (a) (let ((u (slice a 1 301)) (v (slice a 0 300))) "
    "(sum (+ (square (- 1 v)) (* 100 (square (- u (* v v)))))))) a b))",
    "of rows": "(lambda (a b) (let ((m (reshape (concatenate (list a b)) '(2 301)))) (/ (/ 1 m) (/ m 3) m)))",
    "of neighbours": "(lambda (a b) (let ((u (slice a 0 300)) (v (slice a 1 301)) (w (slice b 0 300))) "
    "(+ (* (* w (* v v)) (* v v)) (- (* (* u u) (- (* u u))) w) (* w w))))",
    "of neighbours' quotients": "(lambda (a b) (let ((u (slice a 0 300)) (v (slice a 1 301)) (w (slice b 0 300))) "
    "(- (* w (/ w (* u u)) (/ u (* u u))) (/ v (* v v)))))",
    "by one number": "(lambda (a b) (/ (* a a) (- (slice b 0 1))))",
}
OF_FLOATS = {name: text.replace("300", "600").replace("301", "601") for name, text in TEXTS.items()}
(COMPILED, EVALUATED), (COMPILED_OF_FLOATS, EVALUATED_OF_FLOATS) = [
    [side_by_side(vlad.Session(tier=tier), [*texts.values()], 2) for tier in ("compile", "evaluate")]
    for texts in (TEXTS, OF_FLOATS)
]
SPECIAL = [
    0.0,
    -0.0,
    math.inf,
    -math.inf,
    math.nan,
    5e-324,
    -1e-310,
    1e-300,
    1e300,
    -1e200,
    1.7e308,
    2.0 - 2**-52,
    1.0,
]


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    widths=st.tuples(*[st.sampled_from([1, 5, 60, 300, 500, 1022])] * 2),
    specials=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 300), st.sampled_from(SPECIAL)), max_size=3
    ),
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_to_the_same_bits(seed: int, widths: tuple[int, int], specials: list[tuple[int, int, float]]) -> None:
    """Of numbers about 1 and of numbers over the whole range, including exceptional ones."""
    r = np.random.default_rng(seed)
    operands = [numbers(r, 301, width) for width in widths]
    for operand, place, value in specials:
        operands[operand][place] = value
    with np.errstate(all="ignore"):
        answers = COMPILED(*operands), EVALUATED(*operands)
    for name, found, expected in zip(TEXTS, *answers, strict=True):
        np.testing.assert_array_equal(found, expected, name)
        if name != "gradient":  # of a zero to which nothing contributed the sign may be another
            zeros = found == 0
            np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]), name)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    width=st.sampled_from([1, 5, 20, 60, 126]),
    special=st.tuples(st.integers(0, 1), st.integers(0, 600), st.sampled_from([1.0, *SPECIAL])),
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_to_the_same_bits_of_floats(seed: int, width: int, special: tuple[int, int, float]) -> None:
    r = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        operands = [numbers(r, 601, width).astype(np.float32) for _ in range(2)]
        operands[special[0]][special[1]] = special[2]
        answers = COMPILED_OF_FLOATS(*operands), EVALUATED_OF_FLOATS(*operands)
    for name, found, expected in zip(OF_FLOATS, *answers, strict=True):
        assert found.dtype == expected.dtype, name
        np.testing.assert_array_equal(found, expected, name)


def test_the_text_of_one_that_writes_over_what_it_divides() -> None:
    given = kernel(("/", (2, 1)), ("/", (0, 1)), ("*", (3, 4)))
    found = loops(given, operands_of(["a", "b", "1.0"]), ["r"], {0: 0}, {})
    lines = loops_text(found).splitlines()
    assert lines[:4] == [
        "where vectors",
        "  r: float64 lies over a",
        "elsewhere",
        "  new r: float64, 300 words",
    ]
    text = [line.strip() for line in lines]
    begun = text.index("if !far")
    assert text[begun : begun + 13] == [
        "if !far",
        "do",
        "var i0: index = 0",
        "start: index = 0",
        "var begin: index = start",
        "array kept0: 1024 float64",
        "for begin to 268",
        "var first: index = begin",
        "var last: index = begin + 992",
        "if last > 268",
        "last := 268",
        "before: unsigned = vlad_wide_begin()",
        "for begin to last by 32",
    ]
    assert "kept0[i0 + -1 * first] as vector := x0" in text
    begun = text.index("if vlad_wide_end(before)")
    assert text[begun : text.index("where fused multiply-add")] == [
        "if vlad_wide_end(before)",
        "for i0 from first below begin; parallel",
        "x0: float64 = kept0[i0 + -1 * first]",
        "x1: float64 = b[i0]",
        "x3: float64 = x2 / x1",
        "x4: float64 = x0 / x1",
        "x5: float64 = x3 * x4",
        "r[i0] := x5",
        "for i0 from start ? 0 : begin below 300, then i0 + 1 == start ? begin : i0 + 1",
        "x0: float64 = a[i0]",
        "x1: float64 = b[i0]",
        "x3: float64 = x2 / x1",
        "x4: float64 = x0 / x1",
        "x5: float64 = x3 * x4",
        "r[i0] := x5",
    ]


# The divisor exists already: its largest entry was computed, and a root is not taken twice. With the number of arrays that reuse
# memory.
ROOTS = "(* a (sqrt (abs b)))"
OVER = {
    "by one number": ("(lambda (a b) (let ((e ROOTS)) (/ e (maximum e #:keep #t))))", 1),
    "by each": ("(lambda (a b) (let ((e ROOTS)) (* (maximum e #:keep #t) (/ e b) (/ 1 b))))", 1),
    "in turn": (
        "(lambda (a b) (let* ((e ROOTS) (f (sqrt (abs (- e (maximum e #:keep #t)))))) (/ f (maximum f #:keep #t))))",
        2,
    ),
    "of rows": ("(lambda (a b) (let ((e (reshape ROOTS '(3 -1)))) (/ e (maximum e #:axis 1 #:keep #t))))", 1),
    "of several": ("(lambda (a b) (let* ((e ROOTS) (m (maximum e #:keep #t))) (cons (/ e m) (/ b m))))", 1),
}
OVER = {name: (text.replace("ROOTS", ROOTS), count) for name, (text, count) in OVER.items()}
BOTH = {
    (name, kind): [vlad.Session(tier=tier).eval(text) for tier in ("compile", "evaluate")]
    for name, (text, _) in OVER.items()
    for kind in ("float64", "float32")
}


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("name", OVER)
def test_these_write_over_what_they_divide(name: str, kind: str) -> None:
    session = vlad.Session(tier="evaluate")
    text, count = OVER[name]
    code, *environment = session.eval(text).value
    for length in (
        1800,
        12_000,
    ):  # the longer result is stored where the host requests, and so is the array it overwrites
        operands = tuple([from_python(np.ones(length, kind))] * 2)
        fields = tuple(environment[: len(code.environment)])
        found = loops_of(lambda: Unit(session.machine, code, fields, operands))  # noqa: B023 - it is called at once
        assert any(local.keeps for local in of_type(found, Local))
        assert len(of_type(found, Alias)) == count
        assert any(new.place is not None for new in of_type(found, Allocate)) == (length > 1800)


# Each is compiled: shorter than a block, longer, and of several.
LENGTHS = [900, 1800, 3075, 4098, 6147, 12_303] if THOROUGH else [900, 4098, 12_303]


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("name", OVER)
@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    length=st.sampled_from(LENGTHS),
    widths=st.tuples(*[st.sampled_from([1, 5, 60, 126])] * 2),
    specials=st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1), st.sampled_from(SPECIAL)), max_size=3),
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_written_over_is_divided_to_the_same_bits(
    name: str,
    kind: str,
    seed: int,
    length: int,
    widths: tuple[int, int],
    specials: list[tuple[int, float, float]],
) -> None:
    """Some of several blocks contain exceptional numbers."""
    r = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        operands = [numbers(r, length, width).astype(kind) for width in widths]
        for operand, place, value in specials:
            operands[operand][int(place * (length - 1))] = value
        given = [operand.copy() for operand in operands]
        found, expected = [f(*operands) for f in BOTH[name, kind]]
    for one, other in zip(*[x if isinstance(x, tuple) else (x,) for x in (found, expected)], strict=True):
        np.testing.assert_array_equal(one, other)
    for operand, before in zip(operands, given, strict=True):
        np.testing.assert_array_equal(operand, before)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_fast_math_keeps_what_zeros_infinities_and_nan_mean() -> None:
    text = "(lambda (a b) (* (/ 1 b) (/ a b)))"
    fast, slow = (
        vlad.Session(tier="compile", fast_math=True).eval(text),
        vlad.Session(tier="evaluate").eval(text),
    )
    r = np.random.default_rng(5)
    a, b = numbers(r, 301, 5), numbers(r, 301, 5)
    for operand, value in itertools.product((a, b), (1.0, 0.0, math.inf, -math.inf, math.nan)):
        operand[r.integers(0, 301, 8)] = value
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(fast(a, b), slow(a, b), rtol=1e-14)


@pytest.mark.parametrize("length", [2048, 2055, 2079, 2080])
def test_wherever_arrays_begin_every_entry_is_written_once(length: int) -> None:
    """In a vector or by itself: the results are slices of one array, so that they begin anywhere in a cache line."""
    texts = [
        "union vlad_word { double d; long i; void *p; };",
        "int vlad_call(union vlad_word const *in, union vlad_word *out) { double *r = in[2].p; void *a = in[0].p, *b = in[1].p;",
    ]
    needs = Needs()
    given = kernel(*SUMS, extent=length)
    _, *loops = kernel_lines(given, operands_of(["a", "b", "1.0"]), ["r"], needs)
    library = build("\n".join([texts[0], needed(needs.functions, True), texts[1], *loops, "return 0; }"]))
    a, b = np.sin(np.arange(length + 16.0)), np.cos(np.arange(length + 16.0))
    expected = np.square((a * b + a - b) * a + b) - a + b
    words, answer = ffi.new("union vlad_word[3]"), ffi.new("union vlad_word[1]")
    for begin, shift in itertools.product(range(8), (0, 3)):
        r = np.full(length + 16, np.nan)
        taken = (
            a[begin : begin + length],
            b[begin : begin + length],
            r[begin + shift : begin + shift + length],
        )
        for word, array in zip(words, taken, strict=True):
            word.p = ffi.from_buffer(array)
        assert library.vlad_call(words, answer) == 0
        np.testing.assert_array_equal(taken[2], expected[begin : begin + length])
        assert np.isnan(r).sum() == 16


def test_the_processors_notes_stay() -> None:
    """Of an overflow before the call and of one in it, as of any other computation's."""
    library = ctypes.CDLL("libm.so.6")
    overflow = 8
    f = vlad.Session(tier="compile").eval(TEXTS["by either sign"])
    ordinary, huge = np.linspace(1, 2, 301), np.full(301, 1e300)
    for before, operand, after in ((0, ordinary, 0), (overflow, ordinary, overflow), (0, huge, overflow)):
        library.feclearexcept(overflow)
        library.feraiseexcept(before)
        f(operand, ordinary if operand is ordinary else huge)
        assert library.fetestexcept(overflow) == after
    library.feclearexcept(overflow)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("length, kind, texts", [(301, "float64", TEXTS), (601, "float32", OF_FLOATS)])
def test_these_are_such_loops(name: str, length: int, kind: str, texts: dict[str, str]) -> None:
    session = vlad.Session(tier="evaluate")
    code, *environment = session.eval(texts[name]).value
    operands = tuple([from_python(np.ones(length, kind))] * 2)
    text = Unit(session.machine, code, tuple(environment[: len(code.environment)]), operands).text
    assert f"*(vlad_wide{'f' if kind == 'float32' else ''} *)&" in text
    assert ("vlad_wide_moved" in text) == (name == "hessian" or name.startswith("of neighbours"))
