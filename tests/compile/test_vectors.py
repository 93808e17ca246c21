"""Long loops of exponentials, logarithms and powers, by functions of vectors: our own, or those that NumPy has brought along."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np
import pytest
from agreement import side_by_side
from amounts import THOROUGH
from hypothesis import given, settings
from hypothesis import strategies as st
from loop_cases import loop_lines

import vlad
from vlad.compile.calling.pipeline import Unit
from vlad.compile.loops.vectorize import FEWEST_WIDE
from vlad.compile.native import vectors
from vlad.compile.native.abi import ffi
from vlad.compile.native.toolchain import build
from vlad.compile.runtime.functions import needed
from vlad.core.loop_nests import Access, Kernel, Output, Read, Step, Write
from vlad.primitives.table import TABLE
from vlad.python.convert import from_python

ALONG, SAME = Access(0, (1,)), Access(0, (0,))
TEXTS = {
    "exp": "(lambda (x y) (exp x))",
    "log": "(lambda (x y) (log (* x x)))",
    "expt": "(lambda (x y) (expt (+ 0.1 (* x x)) y))",
    "by one exponent": "(lambda (x y) (expt (* x x) 0.3))",
    "of one number": "(lambda (x y) (expt 1.1 x))",
    "of a negative": "(lambda (x y) (exp (- (* x y))))",
    "of a difference": "(lambda (x y) (- (exp x) (exp y)))",
    "divided": "(lambda (x y) (/ (log (+ 1 (* x x))) (exp y)))",
    "of neighbours": "(lambda (x y) (let ((n (size x))) (* (exp (slice x 1 n)) (exp (slice x 0 (- n 1))))))",
}
SUMS = {
    "sum": "(lambda (x y) (sum (exp x)))",
    "sum of negatives": "(lambda (x y) (- 1 (sum (- (exp x)))))",
    "two sums": "(lambda (x y) (let ((t (exp x))) (list (sum t) (sum (* t y)))))",
    "softmax": "(lambda (x y) (let ((t (exp (- x (maximum x))))) (/ t (sum t))))",
    "logsumexp": "(lambda (x y) (logsumexp x))",
    "its gradient": "(lambda (x y) ((gradient logsumexp) x))",
    "its product": "(lambda (x y) (hvp logsumexp x y))",
    "of rows": "(lambda (x y) (sum (exp (stack (list x y))) #:axis 1))",
    "of logarithms": "(lambda (x y) ((gradient (lambda (x) (sum (log (+ 1 (exp (* x y))))))) x))",
    "of powers": "(lambda (x y) (sum (expt (+ 1 (* x x)) y)))",
}
COMPILED, EVALUATED = vlad.Session(tier="compile"), vlad.Session(tier="evaluate")


ALL = {**TEXTS, **SUMS}
OF_FLOATS = ["exp", "log", "expt", "of a negative", "divided"]


@functools.cache
def procedures(*names: str) -> list[Any]:
    """These, on each tier."""
    return [side_by_side(session, [ALL[name] for name in names], 2) for session in (COMPILED, EVALUATED)]


def unit(text: str, *operands: Any) -> str:
    code, *environment = EVALUATED.eval(text).value
    values = tuple([from_python(operand) for operand in operands])
    return Unit(EVALUATED.machine, code, tuple(environment[: len(code.environment)]), values).text


def test_the_text() -> None:
    """Of exponentials that are stored and summed; the last entries are computed one by one."""
    kernel = Kernel(
        (2050,),
        (Read(0, ALONG), Read(1, None)),
        (Step(TABLE["-"], (0, 1)), Step(TABLE["exp"], (2,))),
        (Output(2050), Output(1)),
        (Write(0, 3, ALONG), Write(1, 3, SAME, "+")),
    )
    lines = loop_lines(kernel, ["a", "b"], ["r", "s"])
    begun = lines.index("where vectors")
    assert lines[begun : lines.index("s[0] := s__3")] == [
        "where vectors",
        "do",
        "var i0: index = 0",
        "start: index = vlad_wide_start(&r[i0])",
        "var begin: index = start",
        "var sum0: vector of float64 = 0",
        "for begin to 2042 by 8",
        "for part from 0 below 1; unrolled 1",
        "i0: index = begin + 8 * part",
        "x0: vector of float64 = a[i0] as vector",
        "x2: vector of float64 = x0 - x1",
        "x3: vector of float64 = vlad_wide_exp(x2)",
        "r[i0] as vector := x3",
        "sum0 add= x3",
        "for lane from 0 below 8",
        "s__3 add= sum0[lane]",
        "for i0 from start ? 0 : begin below 2050, then i0 + 1 == start ? begin : i0 + 1",
        "x0: float64 = a[i0]",
        "x2: float64 = x0 - x1",
        "x3: float64 = exp(x2)",
        "r[i0] := x3",
        "s__3 += x3",
        "elsewhere",
        "for i0 from 0 below 2050; parallel + of s__3",
        "x0: float64 = a[i0]",
        "x2: float64 = x0 - x1",
        "x3: float64 = exp(x2)",
        "r[i0] := x3",
        "s__3 += x3",
    ]


@pytest.mark.parametrize("name", ALL)
def test_these_are_such_loops(name: str) -> None:
    """And they use the host's functions where our own are missing."""
    lisp = ALL[name]
    text = unit(lisp, np.ones(301), np.ones(301))
    asks_host = ("log " in lisp or "expt " in lisp) and name != "of logarithms"  # whose gradient has none
    assert "vlad_wide_exp(" in text or asks_host
    assert ("if (vlad_has_vectors())" in text) == ("vlad_vectors = vlad_in[" in text) == asks_host
    assert ("vlad_wide_moved" in text) == (name == "of neighbours")


def test_short_rows_are_not() -> None:
    text = unit("(lambda (x) (exp x))", np.ones(FEWEST_WIDE - 1))
    assert "vlad_vectors" not in text


# Each is compiled. Whole vectors, with and without some entries after them, of a few vectors and of many.
LENGTHS = [256, 257, 263, 264, 1000, 2048, 2055, 2061] if THOROUGH else [256, 263, 1000, 2061]


@pytest.mark.parametrize("texts", [TEXTS, SUMS], ids=["stored", "summed"])
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), length=st.sampled_from(LENGTHS))
def test_they_compute_what_tier_0_does(texts: dict[str, str], seed: int, length: int) -> None:
    r = np.random.default_rng(seed)
    x, y = r.normal(0, 5, length), r.normal(0, 1, length)
    answers = [procedure(x, y) for procedure in procedures(*texts)]
    for name, *both in zip(texts, *answers, strict=True):
        expect_alike(name, *map(np.asarray, both), length, x)


def expect_alike(name: str, found: Any, expected: Any, length: int, x: Any) -> None:
    units = 4 if name in TEXTS else 4 * math.sqrt(length)
    if name in ("of a difference", "of neighbours", "divided"):  # two of them
        units = 16
    scale = (
        np.abs(expected)
        if name not in ("of a difference", "its product")
        else np.max(np.abs(expected)) + np.exp(np.max(x))
    )
    assert np.shape(found) == np.shape(expected), name
    assert np.all(np.abs(found - expected) <= units * np.finfo(float).eps * scale), name


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), length=st.sampled_from([512, 513, 527, 4096, 4111]))
def test_so_they_do_of_floats(seed: int, length: int) -> None:
    r = np.random.default_rng(seed)
    x, y = r.normal(0, 2, length).astype(np.float32), r.normal(0, 1, length).astype(np.float32)
    answers = [procedure(x, y) for procedure in procedures(*OF_FLOATS)]
    for name, found, expected in zip(OF_FLOATS, *answers, strict=True):
        assert found.dtype == expected.dtype == np.float32
        np.testing.assert_allclose(found, expected, 16 * np.finfo(np.float32).eps, err_msg=name)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, 3.0, -3.0, 0.5, -0.5, 1e-310, -1e-310, 5e-324, 1e308, -1e308, 709.0, 710.0, -745.0, -746.0,
           -720.0, math.inf, -math.inf, math.nan]  # fmt: skip


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize(
    "text", ["(lambda (x y) (exp x))", "(lambda (x y) (log (abs x)))", "(lambda (x y) (expt x y))"]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_at_the_ends(text: str, kind: str) -> None:
    """Zeros, infinities, nan, and subnormal numbers, in all pairs."""
    with np.errstate(all="ignore"):
        pairs = np.array([*itertools.product(SPECIAL, SPECIAL)] * 2).astype(kind)
    x, y = np.ascontiguousarray(pairs.T)
    if "expt" in text:  # of a number below zero a broken power is refused, by both
        is_real = (x >= 0) | (y == np.floor(y)) | np.isnan(x)
        x, y = np.resize(x[is_real], len(x)), np.resize(y[is_real], len(x))
    found, expected = COMPILED.eval(text)(x, y), EVALUATED.eval(text)(x, y)
    assert found.dtype == expected.dtype == kind
    tiny = np.finfo(kind).smallest_subnormal
    np.testing.assert_allclose(found, expected, rtol=8 * np.finfo(kind).eps, atol=4 * tiny)
    np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(expected[found == 0]))


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("length", [4, 100, 300, 600])
def test_a_power_that_is_a_root(length: int, kind: str) -> None:
    """As in C, also where powers are computed as roots, as by C compilers in vectorized code, and by NumPy."""
    x = np.resize(np.array([-math.inf, -0.0, 4.0, math.inf, -1.0, 2.0, math.nan]), length).astype(kind)
    finite = x[np.isfinite(x)]
    texts = [
        "(expt x 0.5)",
        "(expt x half)",
        "(expt x (stack (list half)))",
        "(expt finite (+ half (* 0 finite)))",
    ]
    for session in (COMPILED, EVALUATED):
        roots = side_by_side(session, [f"(lambda (x finite half) {text})" for text in texts], 3)
        answers = roots(x, finite, 0.5)
        for text, found in zip(texts, answers, strict=True):
            expected = np.array([root_of(y) for y in (finite if "finite" in text else x).tolist()], kind)
            np.testing.assert_allclose(found, expected, 4 * np.finfo(kind).eps, err_msg=text)
            np.testing.assert_array_equal(np.signbit(found[found == 0]), False, text)


def root_of(y: float) -> float:
    return math.inf if y == -math.inf else math.nan if not y >= 0 else math.sqrt(y) + 0.0


def test_the_functions_of_vectors_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are any: by a table in which exponential and logarithm of floats have changed places."""
    known = vectors.functions()
    monkeypatch.setattr(vectors, "functions", lambda: (*known[:2], *known[3:4], *known[2:3], *known[4:]))
    changed = 592 if known else 0
    x = np.linspace(1, 2, 600, dtype=np.float32)
    found = vlad.Session(tier="compile").eval("(lambda (x) (exp (* x 1)))")(x)
    np.testing.assert_allclose(found[:changed], np.log(x)[:changed], rtol=1e-6)
    np.testing.assert_allclose(found[changed:], np.exp(x)[changed:], rtol=1e-6)


def test_without_them_the_c_library_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "functions", tuple)
    x = np.linspace(1, 3, 1000)
    session = vlad.Session(tier="compile")
    np.testing.assert_allclose(session.eval("(lambda (x) (log (- x -1)))")(x), np.log(x + 1), rtol=1e-15)
    np.testing.assert_allclose(session.eval("(lambda (x) (sum (log x)))")(x), np.log(x).sum(), rtol=1e-13)


def test_switching_them_off_for_numpy_applies_here(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy._core._multiarray_umath as within

    assert len(vectors.functions.__wrapped__()) in (0, len(vectors.SYMBOLS))
    monkeypatch.setitem(within.__cpu_features__, vectors.NEEDED, False)
    assert vectors.functions.__wrapped__() == ()


def exponentials(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Ours, where the processor has such vectors; else the C library's, one by one. As many as are a multiple of eight."""
    text = f"""union vlad_word {{ double d; long i; void *p; }};
{needed(["vlad_wide_at", "vlad_wide_exp", "exp"])}
int vlad_call(union vlad_word const *in, union vlad_word *out) {{
  const double *x = in[0].p; double *r = in[1].p; long n = in[2].i;
#ifdef VLAD_WIDE
  for (long i = 0; i < n; i += 8) *(vlad_wide *)(r + i) = vlad_wide_exp(vlad_wide_at(x + i));
#else
  for (long i = 0; i < n; i++) r[i] = exp(x[i]);
#endif
  return 0;
}}"""
    found, given = np.empty_like(x), ffi.new("union vlad_word[3]")
    given[0].p, given[1].p, given[2].i = ffi.from_buffer(x), ffi.from_buffer(found), len(x)
    assert len(x) % 8 == 0 and build(text).vlad_call(given, ffi.new("union vlad_word[1]")) == 0
    return found


def units_off(x: np.ndarray[Any, Any], found: np.ndarray[Any, Any]) -> Any:
    """By how many units in the last place exponentials differ from those in longer numbers."""
    longer = np.exp(x.astype(np.longdouble))
    return np.max(np.abs(found - longer) / np.spacing(longer.astype(np.float64)))


@pytest.mark.parametrize(
    ("least", "most", "units"),
    [(-1, 1, 0.65), (-30, 30, 0.65), (-708, 709.78, 0.65), (-745.2, -708, 0.82), (-1e-5, 1e-5, 0.51)],
)
def test_our_exponentials_are_right_to_the_last_place(least: float, most: float, units: float) -> None:
    x = np.random.default_rng(5).uniform(least, most, 1 << 18)
    assert units_off(x, exponentials(x)) < units


def test_our_exponentials_between_two_places_of_the_table() -> None:
    """At the powers of 2^(1/16), and where one gives way to the next."""
    steps = np.arange(-16 * 1022, 16 * 1023)
    middle = np.concatenate([steps, steps + 0.5]) * (np.log(2) / 16)
    x = np.concatenate([middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)])
    found = exponentials(np.resize(x, len(x) // 8 * 8))
    assert units_off(x[: len(found)], found) < 0.65


def test_our_exponentials_of_what_is_no_power() -> None:
    x = np.array([0.0, -0.0, 5e-324, 1e-17, 709.782712893384, 709.7827128933841, 710, 1e308,
                  math.inf, math.nan, -math.nan, -745.1332191019411, -745.1332191019412, -746, -1e308, -math.inf])  # fmt: skip
    least, most = 5e-324, 1.7976931348622732e308
    expected = [1, 1, 1, 1, most, *[math.inf] * 4, math.nan, math.nan, least, 0, 0, 0, 0]
    np.testing.assert_array_equal(exponentials(x), expected)


def test_beside_everything_else_that_is_handed_over() -> None:
    """Products, routines, tensors of the program, functions, and places for the results."""
    text = """
      (define table (sin (arange 300)))
      (define (f a b x)
        (list (matmul a b) (solve a b) (* table (exp x)) (sum (exp (* table x))) (log (+ 2 table))))"""
    r = np.random.default_rng(3)
    a, b, x = r.normal(size=(40, 40)) + 9 * np.eye(40), r.normal(size=(40, 40)), r.normal(size=300)
    answers = []
    for tier in ("compile", "evaluate"):
        session = vlad.Session(tier=tier)
        session.run_text(text)
        answers.append([session["f"](a, b, x) for _ in range(2)])
    for found, expected in zip(*answers, strict=True):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


def test_a_call_before_the_loop_does_not_make_its_turns_short() -> None:
    rows, along = Access(0, (1, 0)), Access(0, (300, 1))
    steps = [
        Step(TABLE["exp"], (0,)),
        *[Step(TABLE["*" if n % 2 else "+"], (n + 2 if n else 1, 2)) for n in range(8)],
    ]
    given = Kernel(
        (5, 300),
        (Read(0, rows), Read(1, along)),
        tuple(steps),
        (Output(1500),),
        (Write(0, 1 + len(steps), along),),
    )
    assert "for begin to 268 by 32" in loop_lines(given, ["a", "b"], ["r"])
