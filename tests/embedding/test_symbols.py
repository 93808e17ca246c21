"""Symbols: equal names are one object while it is referenced, and nothing remains of unreferenced ones."""

from __future__ import annotations

import gc
import sys
import threading
from typing import Any

import pytest

import vlad
from vlad.control.budget import resident_bytes
from vlad.data import values
from vlad.data.values import living_symbols, symbol

pytestmark = pytest.mark.any_compiler

TIERS = ("evaluate", "auto", "compile")
LONG = "x" * 5000
MEGABYTES = """
(define (long n s) (if (= n 0) s (long (- n 1) (string-append s s))))
(define kept (string->symbol (string-append "{0}" (long 20 "abcdefgh"))))
(eq? kept (string->symbol (symbol->string kept)))
"""


@pytest.mark.parametrize("tier", ["evaluate", "auto"])
def test_names_of_closed_sessions_leave_nothing(tier: str) -> None:
    def session(number: int) -> float:
        with vlad.Session.confined(tier=tier) as session:
            assert session.eval(MEGABYTES.format(number)) is True
        return resident_bytes() / 1e6

    first = [session(number) for number in range(2)][-1]
    alive = living_symbols()
    last = [session(number) for number in range(2, 12)][-1]  # 84 MB of names
    assert last - first < 12
    assert living_symbols() <= alive


@pytest.mark.parametrize("tier", TIERS)
def test_what_holds_a_symbol_holds_the_one_of_its_name(tier: str) -> None:
    """A session's globals, compiled code, saved values, Python."""
    session = vlad.Session(tier=tier)
    session.eval(
        f"(define (is x) (if (eq? x '{LONG}) 1 2)) (define (same) '{LONG}) (define kept (list '{LONG}))"
    )
    turned = session.eval(f'(lambda (x) (eq? x (string->symbol "{LONG}")))')
    saved = vlad.dumps(session["is"])
    for _ in range(2):
        assert session.eval(f"(is '{LONG})") == 1.0 and session.eval("(is 'y)") == 2.0
        assert session.eval("(is (same))") == 1.0 and session.eval("(is (car kept))") == 1.0
        assert session.eval(f'(is (string->symbol "{LONG}"))') == 1.0
        gc.collect()
    is_same = vlad.loads(saved, session)
    session["read"] = is_same
    assert session.eval("(read (same))") == 1.0
    session["turned"] = turned
    assert session.eval("(turned (car kept))") is True
    with vlad.Session(tier=tier) as other:  # compiled code is in the cache
        other.eval(f"(define (is x) (if (eq? x '{LONG}) 1 2))")
        assert other.eval(f"(is '{LONG})") == 1.0


class Alike(str):
    """Names of one hash."""

    def __hash__(self) -> int:
        return 7


def test_names_with_equal_hashes_are_distinguished() -> None:
    names = [Alike(f"alike-{number}") for number in range(5)]
    found = [symbol(name) for name in names]
    assert len(set(map(id, found))) == 5
    assert all(symbol(name) is one for name, one in zip(names, found, strict=True))
    del found[1:]
    gc.collect()
    assert symbol(names[0]) is found[0] and symbol(names[3]).name == "alike-3"
    assert len(values._symbols[7]) <= 2


def test_dead_symbols_are_swept_and_living_ones_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "_most", 0)
    monkeypatch.setattr(values, "FEWEST_SWEPT", len(values._symbols) + 500)
    kept = [symbol(f"kept-{number}") for number in range(100)]
    for number in range(5000):
        symbol(f"dropped-{number}")
    assert len(values._symbols) <= values._most + 1 <= 2 * values.FEWEST_SWEPT
    assert all(symbol(one.name) is one for one in kept)


def test_threads_that_name_at_once_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "_most", 0)
    monkeypatch.setattr(values, "FEWEST_SWEPT", 0)  # sweep as often as possible
    before = sys.getswitchinterval()
    found: list[list[Any]] = [[] for _ in range(4)]
    started = threading.Barrier(4)

    def run(own: list[Any]) -> None:
        started.wait()
        for number in range(300):
            for _ in range(3):
                symbol(f"passing-{number % 7}")
            own.append(symbol(f"shared-{number}"))

    threads = [threading.Thread(target=run, args=(own,)) for own in found]
    try:
        sys.setswitchinterval(1e-5)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert all(len(set(map(id, ones))) == 1 for ones in zip(*found, strict=True))
