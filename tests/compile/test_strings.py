"""Strings that are computed: both tiers spell them alike."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from amounts import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import texts as texts_up_to

import vlad
from vlad.compile.calling.compilation import compile_call
from vlad.core.types import LONGEST_CHAIN
from vlad.python.convert import from_python

DEFINITIONS = """
(define (append a b) (string-append a b))
(define (length a) (string-length a))
(define (same a b) (list (string=? a b) (equal? a b) (eq? a b)))
(define (before a b) (string<? a b))
(define (part a i j) (substring a i j))
(define (place a b) (string-search a b))
(define (spelt x) (number->string x))
(define (read a) (string->number a))
(define (capitals a) (string-upcase a))
(define (small a) (string-downcase a))
(define (shown a) (begin (write (list a a)) (display a) (write-string a)))
(define (chosen a x) (let ((b (if (> x 0) a "none"))) (cons b (if (string=? b "none") #f (string-length b)))))
(define (kinds a) (map string? (list a (string-append a a) 1 'a)))
(define (slope a) ((derivative (lambda (x) (if (string=? a "") (* x x) (* x (string-length a))))) 3))
"""
texts = texts_up_to(12)
short = st.text(alphabet="ab", max_size=5)


@pytest.fixture(scope="module")
def both() -> tuple[vlad.Session, vlad.Session]:
    pair = vlad.Session(tier="evaluate", write=len), vlad.Session(tier="compile", write=len)
    for session in pair:
        session.eval(DEFINITIONS)
    return pair


def outcomes(both: tuple[vlad.Session, vlad.Session], name: str, *operands: object) -> list[object]:
    found: list[object] = []
    for session in both:
        try:
            found.append(session[name](*operands))
        except vlad.VladError as error:
            found.append((error.code, error.message))
    return found


@pytest.mark.any_compiler
@settings(max_examples=drawn(200), deadline=None)
@given(texts, texts, st.integers(-1, 13), st.integers(-1, 13), st.floats(allow_subnormal=True))
def test_both_tiers(
    both: tuple[vlad.Session, vlad.Session], a: str, b: str, i: int, j: int, x: float
) -> None:
    calls: list[tuple[object, ...]] = [("append", a, b), ("length", a), ("same", a, b), ("same", a, a), ("before", a, b),
             ("part", a, float(i), float(j)), ("place", a[:2], b), ("capitals", a), ("small", a), ("chosen", a, x),
             ("kinds", a), ("slope", a)]  # fmt: skip
    if x == x:
        calls.append(("spelt", x))
    for name, *operands in calls:
        expected, got = outcomes(both, str(name), *operands)
        assert got == expected, (name, operands)
    tiers = both[1].tiers
    assert not [
        entry.reason for entry in tiers.entries.values() if entry.reason and "not compiled" in entry.reason
    ]


@settings(max_examples=drawn(100), deadline=None)
@given(short, short)
def test_search_and_order(both: tuple[vlad.Session, vlad.Session], a: str, b: str) -> None:
    for name in ("place", "before", "same"):
        expected, got = outcomes(both, name, a, b)
        assert got == expected, (name, a, b)


@pytest.mark.parametrize("text", ["", "plain", 'quo"te\\', "tab\tline\nbell\a", "é€𝄞", "\x01\x7f\x85\xad"])
def test_what_is_printed(text: str) -> None:
    printed = []
    for tier in ("evaluate", "compile"):
        lines: list[str] = []
        session = vlad.Session(tier=tier, write=lines.append)
        session.eval(DEFINITIONS)
        session["shown"](text)
        printed.append("".join(lines))
    assert printed[0] == printed[1]


def test_two_strings_are_two(both: tuple[vlad.Session, vlad.Session]) -> None:
    """The list of the first one's characters was gone, and its place taken, when the second one's was made."""
    append = both[1]["append"]
    for number in range(200):
        a, b = chr(97 + number % 26) * (number % 7), chr(65 + number % 26) * (number % 5)
        assert append(a, b) == a + b


def test_a_variant_is_for_all_strings() -> None:
    session = vlad.Session(tier="evaluate")
    session.eval(DEFINITIONS)
    f = session.module.cell("append").value
    operands = (from_python("ab"), from_python(""))
    compiled = compile_call(session.machine, f, operands)
    for a, b in (
        ("", ""),
        ("x" * 1000, "yé"),
        ("a", "b" * LONGEST_CHAIN),
        ("", "a" * 9 + "b"),
        ("ab" * 30_000, "c"),
    ):
        assert compiled(from_python(a), from_python(b)).text == a + b


def test_long_loops_of_strings_are_collected() -> None:
    """And a text that grows takes the logarithm of its length for each character (primitives/test_ropes.py counts)."""
    session = vlad.Session(tier="compile", limits=vlad.Limits(memory=300))
    session.eval('(define (f n) (let loop ((i 0) (s "")) (if (< i n) (loop (+ i 1) (number->string i)) s)))')
    assert session["f"](900_000.0) == "899999"
    session.eval("""(define (g n)
      (let loop ((i 0) (s ""))
        (cond ((< i n) (loop (+ i 1) (string-append s "x")))
              ((< i (* 2 n)) (loop (+ i (if (string=? (string-ref s (- i n)) "x") 1 n)) s))
              (else (length (string->list s))))))""")
    assert session["g"](50_000.0) == 50_000
    # a rope with shared parts is read in the time of its nodes, refused by its length, and one String as often as it occurs
    session.eval("""(define (double s i) (if (= i 0) (list s s) (double (string-append s s) (- i 1))))""")
    one, other = session["double"]("ab", 20.0)
    assert one is other and one == "ab" * 2**20
    with pytest.raises(vlad.VladError, match="needs more than 300 megabytes"):
        session["double"]("ab", 60.0)


def test_a_program_alone(tmp_path: Path) -> None:
    (tmp_path / "it.vlad").write_text(
        '(define (label x) (string-append "f(" (number->string x) ") = "))\n'
        "(define x (real 2.5))\n(display (label x))\n(write (* x x))\n(substring (label x) 2 9)\n",
        encoding="utf-8",
    )
    vlad.Session().build(str(tmp_path / "it.vlad"), str(tmp_path / "it"))
    done = subprocess.run([tmp_path / "it"], capture_output=True, text=True)
    assert done.stdout == 'f(2.5) = 6.25\n"2.5) = "\n' and done.returncode == 0, done


numerals = st.one_of(
    st.floats().map(lambda x: repr(x).replace("inf", "+inf.0").replace("nan", "+nan.0").replace("-+", "-")),
    st.text(alphabet="0123456789+-.eEinfa", max_size=9),
    st.from_regex(r"[+-]?[0-9]{0,40}\.?[0-9]{0,40}([eE][+-]?[0-9]{0,4})?", fullmatch=True),
    st.sampled_from(["+inf.0", "-inf.0", "+nan.0", "-nan.0", "inf.0", "+inf.5", "-", "", ".", "+.5", "1.", "-0", "1e-400"]),
)  # fmt: skip


@settings(max_examples=drawn(1500), deadline=None)
@given(numerals)
def test_read_numbers(both: tuple[vlad.Session, vlad.Session], text: str) -> None:
    expected, got = outcomes(both, "read", text)
    assert repr(got) == repr(expected), text


def test_the_first_thirty_digits_decide(both: tuple[vlad.Session, vlad.Session]) -> None:
    """Halfway between two reals, and a little more."""
    texts = ["1174660986676400421843324895232", "136560788925310629212420308992.000000001",
             "6257.16808219056792950141243636608123779296875", "9007199254740993",
             "9007199254740993." + "0" * 30 + "1", "0." + "0" * 400 + "1", "1" * 400]  # fmt: skip
    for text in texts:
        expected, got = outcomes(both, "read", text)
        assert got == expected, text


TIE = "9007199254740993"  # halfway between two reals


@pytest.mark.parametrize("surely", [False, True])
@pytest.mark.parametrize(
    ("body", "good", "bad"),
    [
        ("(string->number t)", "12.5", [TIE + "." + "0" * 30 + "1"]),
        ("(string-upcase t)", "abc", ["é", "ß"]),
    ],
)
def test_values_known_only_to_tier_0_belong_to_one_call(
    body: str, good: str, bad: list[str], surely: bool
) -> None:
    """The calls that follow run compiled."""
    session = vlad.Session(tier="compile")
    f = session.eval(f"(lambda (t) {body})")
    f = vlad.compile(f, good) if surely else f
    known = vlad.Session(tier="evaluate").eval(f"(lambda (t) {body})")
    for text in (good, *bad, good):
        if surely and text != good:
            with pytest.raises(vlad.VladError, match="does not run compiled for this argument") as caught:
                f(text)
            assert caught.value.code == "not-compiled"
        else:
            assert f(text) == known(text)
    assert session.tiers.disagreements == 0
    assert all(entry.variants and entry.reason is None for entry in session.tiers.entries.values())


def test_long_numerals_run_compiled() -> None:
    session = vlad.Session(tier="auto")
    f = vlad.compile(session.eval("(lambda (t) (string->number t))"), "12.5")
    texts = ["1" * 40, "0." + "9" * 40, "9" * 31, "9" * 400 + ".5", "-0." + "3" * 50, "1." + "9" * 60 + "e-300", "7.5",
             "999999999999999" + "9" * 15 + "1e5", "0.1" + "0" * 40, "1" * 400 + "e-300",
             "4.9406564584124654417656879286822e-324"]  # fmt: skip
    for text in texts:
        assert f(text) == float(text), text


def test_printable_characters_are_those_of_python(both: tuple[vlad.Session, vlad.Session]) -> None:
    printed = []
    for tier in ("evaluate", "compile"):
        session = vlad.Session(tier=tier, write=printed.append)
        session.eval("(define (f a) (write a))")
        session["f"]("\u200b\u0378\u2028é\U0010ffff\ue000\x00\x7f\xa0\xad\ud800")
    assert len(printed) == 2 and printed[0] == printed[1]
