"""Random numbers: the generator compared with its authors' results, each row with its definition in whole numbers, and
statistics.

The statistics use fixed keys, so they pass always or never; with the bounds one key in a million would fail.
"""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from running import TIERS, printed, refusal

import vlad
from vlad.compile.emit.lapack_calls import ROOM
from vlad.compile.native.abi import ffi
from vlad.compile.native.toolchain import build
from vlad.compile.runtime.functions import needed
from vlad.data.devices import device_named
from vlad.primitives import random
from vlad.primitives.random import _normals, _scaled, philox

pytestmark = pytest.mark.any_compiler

WORD = 1 << 64
words = st.integers(0, WORD - 1)
halves = st.integers(0, (1 << 32) - 1)
keys = st.tuples(halves.map(float), halves.map(float))


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    return vlad.Session()


def test_known_results() -> None:
    """kat_vectors of Random123 1.14, for philox4x32 with ten rounds."""
    full = 0xFFFFFFFF
    pi = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)
    assert philox((0, 0, 0, 0), (0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    assert philox((full,) * 4, (full,) * 2) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)
    assert philox(*pi) == (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)


def word(key: tuple[float, float], purpose: int, place: int) -> int:
    """By the definition, one at a time."""
    block = place // 2
    a, b, c, d = philox((block & 0xFFFFFFFF, block >> 32, purpose, 0), (int(key[0]), int(key[1])))
    return d | c << 32 if place % 2 else b | a << 32


@settings(max_examples=50, deadline=None)
@given(key=keys, count=st.integers(0, 40))
def test_uniform_agrees_with_its_definition(session: vlad.Session, key: Any, count: int) -> None:
    """Few numbers, which are drawn without arrays, and more."""
    expected = [(word(key, random.UNIFORM, place) >> 11) * 2.0**-53 for place in range(count)]
    assert session["uniform"](key, count).tolist() == expected


DRAWN = [
    "(uniform K '(3 70))", "(uniform K '())", "(uniform K 9 #:low -2 #:high 3)", "(normal K 4000)",
    "(random-integer K -5 1000003 '(40 3))", "(random-integer K -9007199254740992 9007199254740992 50)", "(permutation K 300)",
    "(split K 7)", "(uniform (car (cdr (split K 3))) 5)",
]  # fmt: skip


@pytest.mark.parametrize("text", DRAWN)
def test_tiers_draw_the_same_bits(text: str) -> None:
    """`normal` rounds the logarithm of its tails by another library."""
    evaluated, compiled = [vlad.Session(tier=tier).eval(f"(lambda (K) {text})") for tier in TIERS]
    for key in ((0.0, 0.0), (1.0, 4294967295.0), (2863311530.0, 305419896.0)):
        expected, found = evaluated(key), compiled(key)
        assert np.shape(found) == np.shape(expected)
        assert getattr(found, "dtype", None) == getattr(expected, "dtype", None)
        if "normal" in text:
            assert found == pytest.approx(expected, rel=1e-15)
            inner = np.abs(expected) < 1.43
            assert (found == expected)[inner].all()
        else:
            assert np.array_equal(found, expected)


def test_many_numbers_are_drawn_in_parts(session: vlad.Session) -> None:
    found = session["uniform"]((1.0, 2.0), 100_001)
    places = [0, 1, 2**14 - 1, 2**14, 2**15 - 1, 2**15, 65_537, 100_000]
    assert found[places].tolist() == [
        (word((1, 2), random.UNIFORM, place) >> 11) * 2.0**-53 for place in places
    ]
    assert np.array_equal(session["uniform"]((1.0, 2.0), [7, 3]), found[:21].reshape(7, 3))
    for block in (2**32 - 2**13, 2**32):  # the second word of the counter
        drawn = random._words(device_named("cpu"), (1, 2), random.UNIFORM, 2 * block, 3).tolist()
        assert drawn == [word((1, 2), random.UNIFORM, 2 * block + k) for k in range(3)]


@pytest.mark.own_tier
@given(st.lists(words, min_size=1, max_size=20))
@example([0, WORD - 1, WORD // 2, WORD // 2 - 1, 1 << 11, 1 << 30, 1 << 40])
def test_normal_is_the_inverse_of_the_distribution(drawn: list[int]) -> None:
    """Compared with Python's own, which rounds the probability; and exactly symmetric."""
    array = np.array(drawn, dtype=np.uint64)
    found = _normals(np, array)
    for one, got in zip(drawn, found.tolist(), strict=True):
        odd = 2 * (one >> 11) + 1
        low = min(odd, (1 << 54) - odd)  # a probability below a half is exact
        expected = NormalDist().inv_cdf(low * 2.0**-54)
        assert abs(got) == pytest.approx(-expected, rel=1e-14)
        assert (got < 0) == (odd < 1 << 53)
    assert np.array_equal(_normals(np, ~array), -found)


@given(word=words, count=st.one_of(st.integers(1, 10), st.integers(1, 1 << 54)))
@example(word=WORD - 1, count=1 << 54)
@example(word=WORD - 1, count=1)
@example(word=WORD - 1, count=(1 << 32) - 1)
def test_words_are_scaled_to_integers_exactly(word: int, count: int) -> None:
    scaled = _scaled(np.array([word], dtype=np.uint64), count)
    assert scaled.dtype == np.uint64 and int(scaled[0]) == word * count >> 64


@given(
    key=keys,
    bounds=st.lists(st.integers(-(2**53), 2**53), min_size=2, max_size=2, unique=True).map(sorted),
)
def test_random_integer_agrees_with_its_definition(session: vlad.Session, key: Any, bounds: Any) -> None:
    low, high = bounds
    found = session["random-integer"](key, low, high, [2, 2])
    assert found.dtype == np.int64
    assert found.ravel().tolist() == [
        low + (word(key, random.INTEGER, place) * (high - low) >> 64) for place in range(4)
    ]


COMPILED = vlad.Session(tier="compile")
KEY_OF = COMPILED.eval("(lambda (seed) (random-key seed))")


@given(seed=st.integers(0, 2**53))
@example(seed=2**53)
@example(seed=2**32 - 1)
@example(seed=2**32)
def test_keys_of_seeds_that_are_computed(seed: int) -> None:
    assert KEY_OF(float(seed)) == (float(seed % 2**32), float(seed // 2**32))
    (entry,) = COMPILED.tiers.entries.values()
    assert entry.variants and entry.reason is None


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("seed", [-1.0, 0.5, 2.0**53 + 2, 1e300, -math.inf, math.nan])
def test_what_is_computed_and_no_seed(seed: float, tier: str) -> None:
    session = vlad.Session(tier=tier)
    with pytest.raises(
        vlad.VladError, match=r"given to random-key is out of range|Argument to random-key is invalid"
    ):
        session.eval("(lambda (s) (random-key s))")(seed)


@pytest.mark.parametrize("count", [0, 1, 2, 17, 10_000])
def test_permutation_is_one(session: vlad.Session, count: int) -> None:
    found = session["permutation"]((5.0, 0.0), count)
    assert found.dtype == np.int64 and sorted(found.tolist()) == list(range(count))


@pytest.mark.parametrize("count", [random.MOST_RANKED, random.MOST_RANKED + 1, 300, 5_000, 70_000])
def test_a_permutation_that_is_sorted_by_compiled_code(session: vlad.Session, count: int) -> None:
    """Few by their ranks, many by sorting: the same order."""
    compiled = vlad.Session(tier="compile")
    f = compiled.eval(f"(lambda (seed) (permutation (random-key seed) {count}))")
    for seed in (3, 2**40 + 1):
        found, expected = f(seed), session["permutation"]((float(seed % 2**32), float(seed >> 32)), count)
        assert found.dtype == expected.dtype == np.int64
        np.testing.assert_array_equal(found, expected)
    (entry,) = compiled.tiers.entries.values()
    assert entry.reason is None


def test_words_that_are_equal_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "_few_words", lambda key, purpose, count: [7, 3, 7, 3, 7][:count])
    session = vlad.Session(tier="evaluate")
    assert session["permutation"]((5.0, 0.0), 5).tolist() == [1, 3, 0, 2, 4]


@pytest.mark.parametrize("count", [0, 1, 2, 96, 97, 1000])
def test_so_they_do_where_compiled_code_sorts_them(count: int) -> None:
    """Words with all bits, with few that differ, in the upper half or in the lower one, and with the highest bit."""
    text = f"""union vlad_word {{ double d; long i; void *p; }};
{needed(["vlad_order"])}
int vlad_call(union vlad_word const *in, union vlad_word *out) {{
  const volatile int stop = in[5].i;
  vlad_order(in[4].i, in[0].p, in[1].p, in[2].p, in[3].p, &stop);
  return 0;
}}"""
    library, r = build(text), np.random.default_rng(count)
    for most in (1, 2, 3, 1 << 20, 1 << 63):
        for shift in (0, 31, 63):
            words = r.integers(0, most, count, dtype=np.uint64) << np.uint64(shift)
            high, low = ((words >> np.uint64(32)) + 0.0, (words & np.uint64(2**32 - 1)) + 0.0)
            found, room = np.empty(count, np.int64), np.empty(ROOM * count, np.uint64)
            given = ffi.new("union vlad_word[6]")
            for word, array in zip(given, (high, low, found, room), strict=False):
                word.p = ffi.from_buffer(array)
            given[4].i = count
            assert library.vlad_call(given, ffi.new("union vlad_word[1]")) == 0
            np.testing.assert_array_equal(found, np.argsort(words, kind="stable"))
            given[5].i = 1  # a stop is requested: the long work is not done
            assert library.vlad_call(given, ffi.new("union vlad_word[1]")) == 0
            assert count < 1000 or np.array_equal(found, np.arange(count))


def chi_square(found: np.ndarray[Any, Any], cells: int) -> float:
    """How many standard deviations the counts of cells are from even, by the normal limit."""
    counts = np.bincount(found.ravel(), minlength=cells)
    expected = found.size / cells
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return (statistic - (cells - 1)) / math.sqrt(2 * (cells - 1))


def distance(sample: np.ndarray[Any, Any]) -> float:
    """Kolmogorov's and Smirnov's distance of a sample on (0, 1) from the even distribution, times the root of its size."""
    ordered, count = np.sort(sample), sample.size
    above = np.arange(1, count + 1) / count - ordered
    return float(max(above.max(), (1 / count - above).max()) * math.sqrt(count))


@pytest.mark.parametrize("seed", [0, 1, 2, 12345, 2**53])
def test_statistics(session: vlad.Session, seed: int) -> None:
    key, count = session["random-key"](seed), 200_000
    unit = session["uniform"](key, count)
    assert 0 <= unit.min() and unit.max() < 1
    assert abs(unit.mean() - 0.5) < 5 / math.sqrt(12 * count)
    assert distance(unit) < 2.7
    assert chi_square((unit * 256).astype(int), 256) < 6
    pairs = (unit[::2] * 16).astype(int) * 16 + (unit[1::2] * 16).astype(int)
    assert chi_square(pairs, 256) < 6
    normal = session["normal"](key, [count])
    assert abs(normal.mean()) < 5 / math.sqrt(count)
    assert abs(normal.var() - 1) < 5 * math.sqrt(2 / count)
    assert abs((normal**3).mean()) < 5 * math.sqrt(15 / count)
    assert abs((normal**4).mean() - 3) < 5 * math.sqrt(96 / count)
    assert distance(np.vectorize(NormalDist().cdf)(normal)) < 2.7
    die = session["random-integer"](key, 1, 7, count)
    assert chi_square(die - 1, 6) < 6
    low_bits = session["uniform"](key, count) * 2.0**53 % 64
    assert chi_square(low_bits.astype(int), 64) < 6


def test_places_of_a_permutation_are_even(session: vlad.Session) -> None:
    session.eval("(define (orders n) (map (lambda (key) (permutation key 4)) (split (random-key 8) n)))")
    orders = {order: index for index, order in enumerate(itertools.permutations(range(4)))}
    found = np.array([orders[tuple(order.tolist())] for order in session["orders"](4_800)])
    assert chi_square(found, 24) < 6


def test_keys_that_were_split_are_independent(session: vlad.Session) -> None:
    """Of each other, of their origin, of neighbouring seeds; and the draws of different rows with one key."""
    session.eval("""
(define (family seed) (let ((key (random-key seed))) (append (list key) (split key 8) (split (car (split key 1)) 8))))
(define (draws keys) (map (lambda (key) (uniform key 20000)) keys))
(define (samples seed)
  (append (draws (family seed)) (draws (family (+ seed 1)))
          (list (normal (random-key seed) 20000) (random-integer (random-key seed) -5 6 20000))))""")
    samples = np.array(session["samples"](3), dtype=float)
    assert len(samples) == 36
    correlations = np.corrcoef(samples)[~np.eye(36, dtype=bool)]
    assert np.abs(correlations).max() * math.sqrt(20_000) < 5.5


def test_a_key_is_a_value_like_any_other(session: vlad.Session) -> None:
    session.eval("(define key (car (split (random-key 42) 2)))")
    first, second = session["key"]
    assert session.eval(f"(equal? key '({first:.0f} . {second:.0f}))") is True
    assert session.eval(
        "(let ((draw (lambda (shape) (uniform key shape)))) (equal? (draw 3) (uniform key 3)))"
    )
    assert session.eval("(zero key)") == (0.0, 0.0)
    assert session.eval("(split (random-key 1) 3)")[:2] == session.eval("(split (random-key 1) 2)")
    whole = [session.eval(f"(split (random-key 1) {count})") for count in (16, 17, 40_000)]
    assert whole[0] == whole[1][:16] and whole[1] == whole[2][:17] and len(set(whole[2])) == 40_000


NESTED = """
(define (loss state) (sum (* (car state) (car state) (normal (car (split (cdr state) 2)) 2))))
(define state (cons #[1 2] (random-key 4)))
(define noise (normal (car (split (random-key 4) 2)) 2))"""


def test_derivatives_past_a_key(session: vlad.Session) -> None:
    """The reverse phase through a structure that contains a key gives the key a zero, and draws are constant."""
    session.eval(NESTED)
    assert session.eval("(equal? ((gradient-R loss) state) (cons (* 2 noise #[1 2]) '(0 . 0)))")
    along = "(lambda (t) (loss (cons (+ #[1 2] (* t #[1 -1])) (cons (+ 4 (* t 0)) 0))))"
    for name in ("derivative-F", "derivative-R"):
        assert session.eval(f"(close? (({name} {along}) 0) (sum (* 2 noise #[1 -2])) 1e-12)")
    hessian = f"((derivative-F (derivative-R {along})) 0)"
    assert session.eval(f"(close? {hessian} (sum (* 2 noise)) 1e-12)")
    by_seed = "(lambda (t) (sum (uniform (random-key (+ 4 (* 0 t))) 3)))"
    for name in ("derivative-F", "derivative-R"):
        assert session.eval(f"(({name} {by_seed}) 1)") == 0


@pytest.mark.parametrize("shape", ["'()", "1", "3", "'(2 0)", "'(2 3)"])
@pytest.mark.parametrize("modes", ["FF", "FR", "RF", "RR"])
def test_derivatives_by_the_bounds(session: vlad.Session, shape: str, modes: str) -> None:
    session.eval(f"""
(define (drawn low high) (uniform (random-key 9) {shape} #:low low #:high high))
(define unit (uniform (random-key 9) {shape}))
(define (total x) (if (tensor? x) (sum x) x))
(define (along f low high) (lambda (t) (f (drawn (+ low (* 3 t)) (+ high (* t t))))))
(define (cubes x) (total (* x x x)))
(define x (drawn 1 4))
(define slope (total (* 3 x x (* 3 (- 1 unit)))))
(define curve (total (+ (* 6 x (* 9 (- 1 unit) (- 1 unit))) (* 3 x x 2 unit))))""")
    first, second = modes
    assert session.eval(f"(close? ((derivative-{first} (along cubes 1 4)) 0) slope 1e-9)")
    text = f"((derivative-{first} (derivative-{second} (along cubes 1 4))) 0)"
    assert session.eval(f"(close? {text} curve 1e-9)")


PRINTED = {
    "(random-key 42)": "(42 . 0)",
    "(random-key 9007199254740992)": "(0 . 2097152)",
    "(split (random-key 42) 2)": "((671160593 . 3187425363) (328799123 . 780934793))",
    "(split (random-key 42) 0)": "()",
    "(uniform (random-key 1) '(2 2))": "#[[0.8902591729757107 0.5857259483801359] [0.6719982688953429 0.4755932259503992]]",
    "(uniform (random-key 1) '())": "0.8902591729757107",
    "(uniform (random-key 1) 2 #:low -1 #:high 1)": "#[0.7805183459514213 0.17145189676027184]",
    "(random-integer (random-key 1) -5 5 10)": "#<tensor int64 [4 -3 2 -3 0 1 3 0 3 0]>",
    "(permutation (random-key 3) 10)": "#<tensor int64 [0 7 9 2 4 5 8 1 3 6]>",
    "(+ 1 (random-integer (random-key 1) 0 10 '()))": "10",
    "(normal (random-key 0) 0)": "#[]",
    "(real? (normal (random-key 0) '()))": "#t",
    "(gather #[10 20 30] (permutation (random-key 3) 3))": "#[10 30 20]",
    "(map shape (split (zeros '(4 3)) 2))": "((2 3) (2 3))",
}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("text", PRINTED)
def test_prints(text: str, tier: str) -> None:
    assert printed(text, tier) == PRINTED[text]


ERRORS = {
    "(random-key -1)": "Seed given to random-key is out of range: -1",
    "(random-key 1e300)": "Seed given to random-key is out of range",
    "(random-key 0.5)": "Argument to random-key is invalid",
    "(random-key 'a)": "Argument to random-key is invalid",
    "(uniform 42 3)": "Argument to uniform is invalid",
    "(uniform '(1 2) 3)": "Argument to uniform is invalid",
    "(uniform '(1 . 4294967296) 3)": "Argument to uniform is invalid",
    "(uniform '(0.5 . 1) 3)": "Argument to uniform is invalid",
    "(normal (split (random-key 1) 2) 3)": "Argument to normal is invalid",
    "(normal (random-key 1) -1)": "Shape given to normal is impossible: (-1)",
    "(normal (random-key 1) '(1e6 1e6))": "Shape given to normal is impossible: (1000000 1000000)",
    "(uniform (random-key 1) 'a)": "Argument to uniform is invalid",
    "(uniform (random-key 1) 2 #:low 1)": "Bounds given to uniform make no range",
    "(uniform (random-key 1) 2 #:low +nan.0)": "Bounds given to uniform make no range",
    "(uniform (random-key 1) 2 #:low -1e308 #:high 1e308)": "Bounds given to uniform make no range",
    "(uniform (random-key 1) 2 #:low #[0 1])": "Argument to uniform is invalid",
    "(random-integer (random-key 1) 3 3 2)": "Bounds given to random-integer make no range",
    "(random-integer (random-key 1) 0 0.5 2)": "Argument to random-integer is invalid",
    "(random-integer (random-key 1) 0 9007199254740994 2)": "Bounds given to random-integer are out of range",
    "(permutation (random-key 1) -2)": "Shape given to permutation is impossible: (-2)",
    "(permutation (random-key 1) '(2 3))": "Argument to permutation is invalid",
    "(split 'a 2)": "Argument to split is invalid",
    "(split (random-key 1) 0.5)": "Argument to split is invalid",
    "(split '(1 2) 2)": "Argument to split is invalid",
}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("text", ERRORS)
def test_errors(text: str, tier: str) -> None:
    error = refusal(text, tier)
    assert error.message.startswith(ERRORS[text]) and error.hint
