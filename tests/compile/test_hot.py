"""Hot procedures of a call that is not compiled as a whole: found, compiled and used; and nobody can tell."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

import vlad
from vlad.compile import hot, tiers
from vlad.errors import LimitExceeded, VladError
from vlad.values import Deferred

pytestmark = pytest.mark.timeout(60)

# Tensors of lengths that only the run knows are not compiled, so what `unsteady` stands in is not; it answers a number
DEFINITIONS = """
(define table (tensor '(0.5 1.5 2.5)))
(define (unsteady i) (+ (/ i 1000) (sum (ones (list (+ 1 (modulo i 3)))))))
(define scale 1)
(define (slow x) (let slowly ((i 0) (x x)) (if (= i 300) (* scale x) (slowly (+ i 1) (sin (+ x 0.1))))))
(define (many f n) (let again ((i 0) (total 0)) (if (= i n) total (again (+ i 1) (+ total (f (unsteady i)))))))
(define (deep n x) (if (= n 0) (slow x) (+ 0 (deep (- n 1) x))))
(define (at i) (let adding ((n 0) (x 0)) (if (= n 300) x (adding (+ n 1) (+ x (tensor-ref table i))))))
(define (telling x) (let ((y (slow x))) (display "*") y))
"""


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as something is seen, it is compiled."""
    monkeypatch.setattr(tiers, "HOT", True)
    monkeypatch.setattr(tiers, "A_MOMENT", 0.005)
    monkeypatch.setattr(hot, "SHORTEST_PAUSE", 0.002)
    monkeypatch.setattr(hot, "LONGEST_PAUSE", 0.004)
    monkeypatch.setattr(hot, "FEWEST_LOOKS", 1)
    monkeypatch.setattr(hot, "LEAST_TOTAL", 0.0)
    monkeypatch.setattr(hot, "LEAST_MEAN", 0.0)
    monkeypatch.setattr(hot, "TRIALS", 1_000_000)  # they are not judged


def make(tier: str, **columns: Any) -> vlad.Session:
    session = vlad.Session(tier=tier, **columns)
    session.eval(DEFINITIONS)
    return session


def used(session: vlad.Session) -> set[str]:
    """The procedures that are called as machine code."""
    spots = session.tiers.hot.spots.values() if session.tiers.hot is not None else ()
    return {spot.code.name for spot in spots if spot.met and spot.code.native is spot.watcher}


def until_used(session: vlad.Session, text: str, name: str = "", seconds: float = 20.0) -> list[Any]:
    """The answers of a text, evaluated until a procedure is machine code, and once more."""
    answers, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        answers.append(session.eval(text))
        if any(name in found for found in used(session)):
            return [*answers, session.eval(text)]
    raise AssertionError(f"{name} is not compiled: {used(session)}")


PROGRAMS = {  # of k; how often they are called
    "values": ("(slow k)", 3000),
    "closures made anew": ("((lambda (x) (* k (slow (* k x)))) 2)", 3000),
    "derivatives": ("((derivative (lambda (x) (slow (* k x)))) 2)", 1500),
    "reverse mode": ("((derivative-R (lambda (x) (slow (* k x)))) 2)", 500),
    "second order": ("((derivative-R (derivative-R (lambda (x) (slow (* k x))))) 2)", 100),
    "tensors": ("(sum ((gradient (lambda (t) (sum (exp (sin (* k (* t t))))))) table))", 600),
    "structures": ("(car (cdr (cons 1 (list (slow k) 2))))", 3000),
}


@pytest.mark.parametrize("tier", ["auto", "compile"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_on_tier_0(name: str, tier: str) -> None:
    body, count = PROGRAMS[name]
    one, other = make("evaluate"), make(tier)
    for session in (one, other):
        session.eval(f"(define (target k) {body})")
    expected = one.eval(f"(many target {count})")
    for answer in until_used(other, f"(many target {count})"):
        assert answer == pytest.approx(expected, rel=1e-12)


def test_machine_code_is_called() -> None:
    session = make("auto")
    until_used(session, "(many slow 1000)", "slow")
    spot = next(s for s in session.tiers.hot.spots.values() if s.code.name in used(session) and s.met)
    natively: list[None] = []
    native = spot.native

    def counted(*operands: Any) -> Any:
        natively.append(None)
        return native(*operands)

    spot.native = counted
    hot.install(spot.code, hot._watcher(spot, session.tiers.hot, spot.code.arity))
    session.eval("(many slow 1000)")
    assert not natively


def test_a_redefinition_is_obeyed() -> None:
    session = make("auto")
    before = until_used(session, "(many slow 1000)", "slow")[-1]
    session.eval("(define scale 10)")
    assert session.eval("(many slow 1000)") == pytest.approx(10 * before)
    assert until_used(session, "(many slow 1000)", "slow")[-1] == pytest.approx(10 * before)
    session.eval("(define (sin x) 0)")
    assert session.eval("(many slow 1000)") == 0


def test_other_kinds_of_operands() -> None:
    session, plain = make("auto"), make("evaluate")
    until_used(session, "(many slow 1000)", "slow")
    text = "(many (lambda (i) (sum (slow (* i table)))) 50)"
    for _ in range(5):
        assert session.eval(text) == pytest.approx(plain.eval(text))
    assert until_used(session, "(many slow 1000)", "slow")[-1] == pytest.approx(
        plain.eval("(many slow 1000)")
    )


def test_errors_are_those_of_tier_0() -> None:
    session, plain = make("auto"), make("evaluate")
    until_used(session, "(many (lambda (i) (at 1)) 1000)", "adding")
    told = []
    for one in (plain, session):
        with pytest.raises(VladError) as raised:
            one.eval("(many (lambda (i) (at (floor (* 20 i)))) 300)")
        told.append((raised.value.code, raised.value.message, raised.value.span.start, raised.value.hint))
    assert told[0] == told[1]
    assert session.eval("(many (lambda (i) (at 1)) 1000)") == plain.eval("(many (lambda (i) (at 1)) 1000)")


def test_effects_happen_once_and_in_order() -> None:
    written: list[str] = []
    session = make("auto", write=written.append)
    for _ in range(10):
        written.clear()
        session.eval("(many (lambda (i) (telling i)) 300)")
        assert "".join(written) == "*" * 300
    assert "telling" not in used(session)


def test_deep_recursion_takes_no_stack_of_c() -> None:
    session = make("auto")
    expected = make("evaluate").eval("(deep 200000 1)")
    for _ in range(4):
        assert session.eval("(+ (* 0 (unsteady 1)) (deep 200000 1))") == expected


def test_a_procedure_that_is_no_faster_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """To hand two hundred elements over takes longer than to look at ten of them."""
    monkeypatch.setattr(hot, "TRIALS", 16)
    session = make("auto")
    session.eval("(define (tenth l) (let walk ((i 0) (l l)) (if (= i 10) (car l) (walk (+ i 1) (cdr l)))))")
    session.eval("(define long (iota 200)) (define (run n) (many (lambda (i) (tenth long)) n))")
    end = time.monotonic() + 40
    settled: list[Any] = []
    while time.monotonic() < end and not settled:
        session.eval("(run 3000)")
        found = session.tiers.hot.spots.values() if session.tiers.hot is not None else ()
        settled = [spot for spot in found if spot.is_settled and spot.code.name in ("tenth", "walk")]
    assert settled and settled[0].code.name not in used(session)
    assert settled[0].code.native is settled[0].native


def test_limits_hold_in_machine_code() -> None:
    session = make("auto", limits=vlad.Limits(seconds=2.0))
    session.eval(
        "(define (turns n) (let turning ((i 0) (x 0.1)) (if (< i n) (turning (+ i 1) (sin (+ x i))) x)))"
    )
    until_used(session, "(many (lambda (i) (turns 300)) 1000)", "turning")
    begun = time.monotonic()
    with pytest.raises(LimitExceeded):
        session.eval("(many (lambda (i) (turns 1e12)) 3)")
    assert time.monotonic() - begun < 3.0
    assert session.eval("(turns 0)") == 0.1


def test_fuel_holds_in_machine_code() -> None:
    session = make("auto", limits=vlad.Limits(fuel=10_000_000))
    session.eval(
        "(define (turns n) (let turning ((i 0) (x 0.1)) (if (< i n) (turning (+ i 1) (sin (+ x i))) x)))"
    )
    until_used(session, "(many (lambda (i) (turns 300)) 1000)", "turning")
    with pytest.raises(LimitExceeded):
        session.eval("(many (lambda (i) (turns 1e12)) 3)")
    assert session.eval("(turns 0)") == 0.1


def test_an_interrupt_ends_machine_code() -> None:
    session = make("auto")
    session.eval(
        "(define (turns n) (let turning ((i 0) (x 0.1)) (if (< i n) (turning (+ i 1) (sin (+ x i))) x)))"
    )
    until_used(session, "(many (lambda (i) (turns 300)) 1000)", "turning")
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        session.eval("(many (lambda (i) (turns 1e12)) 3)")
    assert session.eval("(turns 0)") == 0.1


def test_two_sessions_do_not_mix() -> None:
    one, other = make("auto"), make("auto")
    other.eval("(define scale 3)")
    expected = make("evaluate").eval("(many slow 1000)")
    until_used(one, "(many slow 1000)", "slow")
    until_used(other, "(many slow 1000)", "slow")
    assert one.eval("(many slow 1000)") == pytest.approx(expected)
    assert other.eval("(many slow 1000)") == pytest.approx(3 * expected)


def test_what_the_compiler_looks_at_in_its_thread_is_a_copy() -> None:
    """Sums of sensitivities are computed, and added to in place, where the program runs: nobody else may touch them."""
    array = np.arange(3.0)
    value = (hot.made(array), (Deferred(lambda: (1.0, 2.0)), ()))
    copy = hot._inert(value)
    assert copy[1] == ((1.0, 2.0), ()) and type(copy[1][0]) is tuple
    assert np.array_equal(copy[0].array, array) and not np.shares_memory(copy[0].array, array)
