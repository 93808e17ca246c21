"""Texts that a session evaluates again and again: they mean what they do when they are read anew, and become procedures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import vlad
from vlad.data.source import Source
from vlad.session.repeated import LONGEST, MOST_TEXTS
from vlad.session.top_level import TopLevel

TIERS = ("evaluate", "compile")


@pytest.fixture(params=TIERS)
def session(request: pytest.FixtureRequest) -> Iterator[vlad.Session]:
    with vlad.Session(tier=request.param) as session:
        yield session


def of_repeated(session: vlad.Session, text: str, times: int = 4) -> list[object]:
    """The values of a text that is evaluated so many times."""
    return [session.eval(text) for _ in range(times)]


def test_it_is_read_twice_and_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    items = TopLevel.items
    monkeypatch.setattr(
        TopLevel,
        "items",
        lambda self, source, module: [read.append(source.text), items(self, source, module)][1],
    )
    with vlad.Session(tier="compile") as session:
        session.eval("(define (f x) (let loop ((i 0) (y x)) (if (= i 9) y (loop (+ i 1) (sin y)))))")
        assert len(set(of_repeated(session, "(f 0.5)", 10))) == 1
        assert read.count("(f 0.5)") == 2
        kept = session._top_level._repeated.get(Source("<expression>", "(f 0.5)"))
        assert kept is not None and len(session.tiers.entry(kept[0]).variants) == 1
        long = f"(+ 1 (begin 0{' ' * LONGEST}))"
        of_repeated(session, long, 3)
        assert read.count(long) == 3
        for n in range(MOST_TEXTS):
            session.eval(f"(+ {n} 1)")
        of_repeated(session, "(f 0.5)", 1)
        assert read.count("(f 0.5)") == 3  # it was forgotten, the oldest


def test_it_sees_what_names_mean_now(session: vlad.Session) -> None:
    session.eval("(define (f x) (* 2 x)) (define k 1)")
    assert of_repeated(session, "(f (+ k 1))") == [4.0] * 4
    session.eval("(define (f x) (* 3 x))")
    session["k"] = 2.0
    assert of_repeated(session, "(f (+ k 1))") == [9.0] * 4
    del session["k"]
    for _ in range(3):
        with pytest.raises(vlad.VladError, match="Unbound variable: k"):
            session.eval("(f (+ k 1))")
    assert of_repeated(session, "(list (+ 1 2) (square 3))") == [[3.0, 9.0]] * 4
    session.eval("(define (square x) x) (define (+ x y) (* x y)) (define (list a b) (cons a b))")
    assert of_repeated(session, "(list (+ 1 2) (square 3))") == [(2.0, 3.0)] * 4
    del session["+"], session["square"], session["list"]
    assert of_repeated(session, "(list (+ 1 2) (square 3))") == [[3.0, 9.0]] * 4


def test_it_sees_what_keywords_mean_now(session: vlad.Session) -> None:
    session.eval("(define-syntax twice (syntax-rules () ((_ x) (* 2 x))))")
    session.eval("(define-record-type point (make-point x y) point? (x) (y))")
    assert of_repeated(session, "(twice 4)") == [8.0] * 4
    assert of_repeated(session, "(match (make-point 1 2) ((point a b) (- a b)))") == [-1.0] * 4
    session.eval("(define-syntax twice (syntax-rules () ((_ x) (* 20 x))))")
    session.eval("(define-record-type point (make-point y x z) point? (y) (x) (z))")
    assert of_repeated(session, "(twice 4)") == [80.0] * 4
    assert of_repeated(session, "(match (make-point 1 2 3) ((point a b c) (- a c)))") == [-2.0] * 4
    session.eval("(define (twice x) x)")
    assert of_repeated(session, "(twice 4)") == [4.0] * 4


def test_effects_errors_and_procedures_are_as_at_first() -> None:
    written: list[str] = []
    with vlad.Session(tier="compile", write=written.append) as session:
        of_repeated(session, '(begin (write "a") 1)', 3)
        assert len(written) == 3 * len(set(written))
        errors = []
        for _ in range(3):
            with pytest.raises(vlad.VladError) as caught:
                session.eval("(+ 1\n  (car '()))")
            errors.append(str(caught.value))
        assert len(set(errors)) == 1 and "2:3" in errors[0]
        first, second = of_repeated(session, "(lambda (x) x)", 2)
        assert first is not second
    with vlad.Session(metered=True) as session:
        session.eval("(define (f x) (* x x))")
        for _ in range(3):
            session.eval("(f 2)")
            assert session.counts == {"*": 1}
        with pytest.raises(vlad.VladError, match="ran out of fuel"):
            session.eval("(let loop ((i 0)) (loop i))", limits=vlad.Limits(fuel=1000))
        for _ in range(3):
            with pytest.raises(vlad.VladError, match="ran out of fuel"):
                session.eval(
                    "(let loop ((i 0)) (if (= i 1000) i (loop (+ i 1))))", limits=vlad.Limits(fuel=100)
                )
            assert session.eval("(let loop ((i 0)) (if (= i 1000) i (loop (+ i 1))))") == 1000
