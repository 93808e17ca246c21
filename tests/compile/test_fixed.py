"""Numbers among the operands that give shapes: which they are, and that code for one is not taken for another."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import drawn
from hypothesis import given, settings
from hypothesis import strategies as st

import vlad
from vlad.compile.analysis.static_operands import (
    MOST_LOOKED_AT,
    MOST_NUMBERS,
    Fixed,
    needed,
    whole_numbers,
    with_fixed,
)
from vlad.compile.calling import pipeline
from vlad.compile.native.c_extension import border
from vlad.python.convert import from_python

X = np.linspace(-1, 1, 24)


def nested(*values: Any) -> tuple[Any, ...]:
    return tuple([from_python(value) for value in values])


@pytest.mark.parametrize(
    ("operands", "places"),
    [
        ((), ()),
        ((5,), (0,)),
        ((0.5, 5, 2.0), (1, 2)),
        ((X, 3), (0,)),
        (([0.5, [3, 4]], "three", 7), (1, 2, 3)),
        (([], True, -1), (0,)),
        ((1 << 31, 2), (1,)),
        ((float("nan"), float("inf"), 1e300), ()),
        (([*range(MOST_NUMBERS)],), tuple(range(MOST_NUMBERS))),
        (([*range(MOST_NUMBERS + 1)],), ()),
        (([0.5] * MOST_LOOKED_AT, 3), ()),
    ],
)
def test_whole_numbers_by_their_places(operands: tuple[Any, ...], places: tuple[int, ...]) -> None:
    assert whole_numbers(nested(*operands)) == places


def test_the_others_stay_what_they_are() -> None:
    operands = nested(0.5, [3, [4, 5], X], 6)
    found = with_fixed(operands, (1, 3))
    assert found == operands and operands is with_fixed(operands, ())
    (three, ((four, (five, _)), _)), six = found[1], found[2]
    assert [type(one) is Fixed for one in (found[0], three, four, five, six)] == [
        False, True, False, True, False,
    ]  # fmt: skip


@given(places=st.sets(st.integers(0, 15)), wanted=st.sets(st.integers(0, 15)))
def test_no_more_than_are_needed(places: set[int], wanted: set[int]) -> None:
    asked = 0

    def settles(known: tuple[int, ...]) -> bool:
        nonlocal asked
        asked += 1
        return wanted <= set(known)

    everything = tuple(sorted(places | wanted))
    assert set(needed(everything, settles)) == wanted
    assert asked <= 1 + 2 * max(len(wanted), 1) * 5


def compiled(text: str) -> tuple[vlad.Session, Any, Any]:
    """A session, its entry for f, and f on tier 0."""
    session, other = vlad.Session(tier="compile"), vlad.Session(tier="evaluate")
    for one in (session, other):
        one.run_text(f'(import "data")\n{text}')
    return session, session["f"], other["f"]


def entry_of(session: vlad.Session, f: Any) -> Any:
    return session.tiers.entry(f.value)


def places_of(session: vlad.Session, f: Any) -> set[Any]:
    return set(entry_of(session, f).fixed.values())


CALLS: list[tuple[str, tuple[Any, ...], tuple[Any, ...], tuple[int, ...]]] = [
    ("(define (f n) (sum (sin (arange n))))", (5,), (6,), (0,)),
    ("(define (f x n) (sum (* x (arange n))))", (2, 5), (2, 7), (1,)),
    ("(define (f x dims) (* x (ones dims)))", (2, [3, 4]), (2, [4, 3]), (1, 2)),
    ("(define (f x a b) (sum (slice x a b)))", (X, 3, 9), (X, 0, 9), (0, 1)),
    ("(define (f x n) (map sum (batches x n)))", (X, 8), (X, 7), (0,)),
    ("(define (f t axis) (sum t #:axis axis))", (X.reshape(4, 6), 0), (X.reshape(4, 6), 1), (0,)),
    ("(define (f t n) (reshape t (list n -1)))", (X, 4), (X, 6), (0,)),
    ("(define (f a b n) (linspace a b n))", (0, 1, 5), (0, 1, 6), (2,)),
    ("(define (f a n) (tensor (map (lambda (i) (* a i)) (iota n))))", (3, 5), (3, 6), ()),
    ("(define (f seed n) (mean (exp (normal (random-key seed) n))))", (3, 50), (3, 51), (1,)),
    ("(define (f n a b) (random-integer (random-key 1) a b n))", (9, -2, 7), (9, -3, 7), (0, 1, 2)),
    ("(define (f a n) ((nth-derivative (lambda (x) (* x (sin x))) n) a))", (3, 2), (3, 4), (1,)),
    ("(define (f a n) ((gradient (lambda (a) (sum (exp (* a (arange n)))))) a))", (1, 4), (1, 5), (1,)),
    ("(define (f a n) (hvp (lambda (a) (sum (exp (* a (arange n))))) a 1))", (1, 4), (1, 5), (1,)),
]


@pytest.mark.any_compiler
@pytest.mark.parametrize(("text", "first", "second", "places"), CALLS)
def test_calls_with_one_number_and_with_another(
    text: str, first: tuple[Any, ...], second: tuple[Any, ...], places: tuple[int, ...]
) -> None:
    """Each needs code of its own, and only for numbers that must be known. Any length of a list is taken."""
    session, f, evaluated = compiled(text)
    for arguments in (first, second, first, second):
        found, expected = f(*arguments), evaluated(*arguments)
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    entry = entry_of(session, f)
    assert entry.reason is None and places_of(session, f) == {places}
    assert len(entry.variants) == (2 if places else 1)


def test_other_numbers_do_not_matter() -> None:
    session, f, evaluated = compiled("(define (f x n y) (+ y (sum (expt x (arange n)))))")
    for x, y in ((2, 3), (5, 1), (0.5, 7), (-1, 0), (3, 2.5)):
        assert f(x, 4, y) == evaluated(x, 4, y)
    assert places_of(session, f) == {(1,)} and len(entry_of(session, f).variants) == 1


def test_zeros_of_both_signs_are_distinguished() -> None:
    session, f, evaluated = compiled("(define (f n) (list (/ 1 n) (size (arange n))))")
    for n in (0.0, -0.0, 0, 0.0):
        assert f(n) == evaluated(n)
    assert len(entry_of(session, f).variants) == 2


def test_a_number_that_is_no_length() -> None:
    _, f, evaluated = compiled("(define (f n) (sum (ones n)))")
    assert f(3) == 3
    for n in (2.5, -1, float("nan")):
        messages = []
        for one in (f, evaluated):
            with pytest.raises(vlad.VladError) as caught:
                one(n)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
    assert f(4) == 4 and f(3) == 3


@pytest.mark.parametrize("wrong", [2.5, 1e12, float("inf"), True, "a", [1, "b"]])
def test_a_wrong_call_spoils_none_after_it(
    wrong: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In the same process, whether a right one came first or not, and in another one, by the cache."""
    monkeypatch.setenv("VLAD_CACHE_DIR", str(tmp_path))
    for is_first in (True, False):
        session, f, _ = compiled("(define (f n) (if (tensor? n) n (sum (ones n))))")
        if not is_first:
            assert f(2) == 2
        with contextlib.suppress(vlad.VladError):
            f(wrong)
        assert f(3) == 3 and f(4) == 4
        assert entry_of(session, f).variants
    g = vlad.Session(tier="auto").eval("(lambda (n) (if (tensor? n) n (sum (ones n))))")
    with contextlib.suppress(vlad.VladError):
        vlad.compile(g, wrong)
    assert vlad.compile(g, 3)(3) == 3


def test_numbers_in_operands_of_another_form() -> None:
    """A length next to a number may not be one next to an array."""
    session, f, evaluated = compiled("(define (f x y) (if (tensor? x) (sum (* x y)) (sum (* y (ones x)))))")
    ones = np.ones(5)
    for x, y in (
        (3, 0.5),
        (ones, 0.25),
        (ones, float("nan")),
        (ones, float("inf")),
        (ones, 3),
        (ones, 4),
        (4, 7),
        (ones, 5),
    ):
        np.testing.assert_array_equal(f(x, y), evaluated(x, y))
    assert places_of(session, f) == {(0,), ()} and len(entry_of(session, f).variants) == 3


def test_a_range_that_is_too_long(capfd: pytest.CaptureFixture[str]) -> None:
    """It is not made to compute its length."""
    _, f, _ = compiled("(define (f n) (car (shape (arange n))))")
    assert f(3) == 3
    for n in (2**31 - 1, 2**33, 2.0**60):
        with contextlib.suppress(vlad.VladError, vlad.LimitExceeded):
            assert f(n) == n
    assert "fault" not in capfd.readouterr().err


def test_an_array_in_the_place_of_a_number() -> None:
    session, f, evaluated = compiled("(define (f x n) (* x (ones n)))")
    for arguments in ((2, 3), (X, 24), (X, [1, 24]), (2, 24)):
        np.testing.assert_array_equal(f(*arguments), evaluated(*arguments))
    assert entry_of(session, f).reason is None


def test_what_no_number_gives_stays_on_tier_0() -> None:
    text = """(define (f n) (let loop ((t (ones 1)) (i 0))
      (if (< i n) (loop (concatenate (list t t)) (+ i 1)) (size t))))"""
    session, f, evaluated = compiled(text)
    assert [f(n) for n in (6, 12)] == [evaluated(n) for n in (6, 12)]
    assert "known only when the program runs" in entry_of(session, f).reason


def test_python_calls_it_straight() -> None:
    _, f, _ = compiled("(define (f x n) (sum (* x (arange n))))")
    for _ in range(3):
        assert [f(2, n) for n in (4, 5, 0)] == [12, 20, 0]
    assert len(f.quicks) == 2  # which do not distinguish zeros
    in_c = [type(leaves).__module__ == "vlad.compile.native.c_extension" for leaves, _ in f.quicks]
    assert in_c == [border() is not None] * 2


WITHOUT = """
from vlad.compile.native import c_extension as border
border.headers = lambda: None
import numpy as np, vlad
session = vlad.Session(tier="compile")
session.eval("(define (f x n) (sum (expt x (arange n)))) (define (g t n) (* t (ones n)))")
session.eval("(define (h n x) (if (> n 3) x (size (ones n))))")
f, g, h = session["f"], session["g"], session["h"]
session.eval("(define (k x y) (if (tensor? x) (sum (* x y)) (sum (* y (ones x)))))")
k, X = session["k"], np.ones(5)
assert k(3.0, 0.5) == 1.5 and [k(X, y) for y in (0.5, np.inf, 3.0, 3.0)] == [2.5, np.inf, 15, 15]
assert np.isnan([k(X, np.nan), k(X, np.nan), k(X, float("nan"))]).all()
for _ in range(3):
    print(f(2.0, 5.0), f(2.0, 6.0), f(3, 3), g(np.arange(2.0), 2.0).tolist(), h(4.0, 0.5), h(2.0, 0.5))
assert f.quicks and g.quicks and h.quicks and border.border() is None
"""


def test_without_headers_python_calls_it() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "31.0 63.0 13.0 [0.0, 1.0] 0.5 2.0\n" * 3


def test_which_numbers_they_are_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VLAD_CACHE_DIR", str(tmp_path))
    text = "(define (f x n) (sum (* x (arange n))))"
    _, f, _ = compiled(text)
    assert f(2, 4) == 12

    def never(*operands: Any) -> bool:
        raise AssertionError

    monkeypatch.setattr(pipeline, "settles", never)
    monkeypatch.setattr(pipeline, "made", never)
    session, f, _ = compiled(text)
    assert f(2, 4) == 12 and places_of(session, f) == {(1,)}


def test_compiled_on_demand() -> None:
    """A separate library is compiled for the given numbers; nothing falls back."""
    session = vlad.Session(tier="auto")
    f = session.eval("(lambda (x n) (sum (* x (arange n))))")
    fast = vlad.compile(f, 2.0, 4)
    assert [fast(2, 4), fast(3, 4), fast(2, 5)] == [12, 18, 20]
    with pytest.raises(vlad.VladError, match="known only when the program runs"):
        vlad.compile(
            session.eval("(lambda (x) (let loop ((i 1)) (if (> (sum (arange i)) x) i (loop (+ i 1)))))"), 1e6
        )(1e6)


def test_a_procedure_shows_the_reason() -> None:
    session = vlad.Session()
    session.run_text("(define (f n) (sum (arange n)))")
    assert session.tiers.shown(session["f"].value, "types") == (
        "; f : real -> not compiled: a shape or axis is known only when the program runs, "
        "at 1:20, but it may be for a number that is known"
    )


PIECES = st.sampled_from(
    [
        "(slice x 0 n)",
        "(arange n)",
        "(ones n)",
        "(linspace 0 y n)",
        "(slice (* x y) k (+ k n))",
        "(* y (arange n))",
    ]
)


@pytest.mark.any_compiler
@settings(deadline=None, max_examples=drawn(90))
@given(
    first=PIECES,
    second=PIECES,
    op=st.sampled_from(["+", "*", "-"]),
    calls=st.lists(
        st.tuples(st.integers(1, 8), st.integers(0, 9), st.integers(-3, 3)), min_size=1, max_size=4
    ),
)
def test_any_program(first: str, second: str, op: str, calls: list[tuple[int, int, int]]) -> None:
    """Values and gradients, of several calls in turn, are those of tier 0."""
    text = f"""(define (g x n k y) (sum (sin ({op} {first} {second}))))
      (define (f x n k y) (list (g x n k y) ((gradient (lambda (y) (g x n k y))) y) ((gradient (lambda (x) (g x n k y))) x)))"""
    session, f, evaluated = compiled(text)
    for n, k, y in calls:
        for one, other in zip(f(X, n, k, y), evaluated(X, n, k, y), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)
    assert entry_of(session, f).reason is None
