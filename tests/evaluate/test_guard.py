"""What `guard` catches and what passes it: limits, interrupts, and errors on their way through Python."""

from __future__ import annotations

import pickle
import signal
import sys
import threading
import time
import weakref
from typing import Any

import pytest

import vlad
from vlad.data.errors import RaisedValue
from vlad.evaluate.errors import explain


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    made = vlad.Session(tier="evaluate")

    def fails(x: float) -> float:
        raise KeyError("no such key")

    def calls(f: Any) -> Any:
        return f(3.0)

    def turns(f: Any) -> Any:
        try:
            return f(3.0)
        except vlad.VladError as error:
            raise ValueError(f"turned {error.code}") from None

    made["fails"], made["calls"], made["turns"] = fails, calls, turns
    return made


@pytest.mark.own_tier
@pytest.mark.parametrize(
    ("limits", "body", "code"),
    [
        ({"fuel": 1000}, "(let loop () (loop))", "out-of-fuel"),
        ({"seconds": 0.2}, "(let loop () (loop))", "out-of-time"),
        ({"depth": 1000}, "(let loop () (+ 1 (loop)))", "too-deep"),
        ({"memory": 30}, "(let loop ((l '())) (loop (cons 1 l)))", "out-of-memory"),
        ({"output": 10}, "(let loop () (display 1) (loop))", "too-much-output"),
    ],
)
def test_limits_pass(limits: dict[str, Any], body: str, code: str) -> None:
    session = vlad.Session(tier="evaluate", limits=vlad.Limits(**limits), write=lambda text: None)
    for text in (
        f"(guard (e (#t 1)) {body})",
        f"(with-cleanup 1 {body})",
        f"(guard (e (#t 1)) (reset {body}))",
    ):
        with pytest.raises(vlad.LimitExceeded) as raised:
            session.eval(text)
        assert raised.value.code == code


@pytest.mark.own_tier
@pytest.mark.parametrize("tier", ["evaluate", "auto"])
@pytest.mark.parametrize(
    "body",
    [
        "(parameterize ((p 2)) (loop))",
        "(parameterize ((p 2)) (parameterize ((p 3) (q 4)) (guard (e (#t 1)) (loop))))",
        "(reset (parameterize ((p 2)) (shift k (parameterize ((q 3)) (k 1))) (loop)))",
        "(solutions (lambda () (parameterize ((p (amb '(2 3)))) (when (= (p) 3) (loop)) (p))))",
        "((derivative (lambda (x) (parameterize ((p x)) (loop) (* x (p))))) 3)",
        "(parameterize ((q 4)) (calling (lambda (x) (parameterize ((p x)) (loop)))))",
    ],
)
def test_parameters_have_their_values_again_after_a_limit(tier: str, body: str) -> None:
    session = vlad.Session(tier=tier, limits=vlad.Limits(fuel=20_000))
    session["calling"] = lambda f: f(7.0)
    session.run_text("(define p (make-parameter 1)) (define q (make-parameter 10)) (define (loop) (loop))")
    with pytest.raises(vlad.LimitExceeded):
        session.eval(body)
    assert session.eval("(list (p) (q))") == [1, 10]
    assert session.eval("(list (parameterize ((p 5)) (calling (lambda (x) (+ x (p))))) (p))") == [12, 1]


def test_an_interrupt_passes(session: vlad.Session) -> None:
    main = threading.main_thread()
    assert threading.current_thread() is main and main.ident is not None
    timer = threading.Timer(0.2, lambda: signal.pthread_kill(main.ident or 0, signal.SIGINT))
    began = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        session.eval("(let again () (guard (e (#t (again))) (let loop () (loop))))")
    assert time.monotonic() - began < 60
    assert session.eval("(guard (e (#t e)) (raise 1))") == 1


def test_errors_pass_through_python(session: vlad.Session) -> None:
    assert session.eval("(guard (e (#t (error-code e))) (fails 3))") == "python-error"
    assert "KeyError" in session.eval("(guard (e (#t (error-message e))) (fails 3))")
    assert session.eval("(guard (e (#t (list 'got e))) (calls (lambda (x) (raise (* 2 x)))))") == ["got", 6]
    assert session.eval("(guard (e (#t (error-code e))) (calls (lambda (x) (car x))))") == "invalid-argument"
    assert "turned raised" in session.eval(
        "(guard (e (#t (error-message e))) (turns (lambda (x) (raise x))))"
    )
    assert session.eval("(calls (lambda (x) (guard (e (#t (* 2 e))) (raise x))))") == 6


def test_an_uncaught_value_is_one_error_with_the_facts(session: vlad.Session) -> None:
    with pytest.raises(vlad.VladError) as raised:
        session.eval("(define (f x) (+ 1 (raise (list x 'bad))))\n(f 1)", "program.vlad")
    error = raised.value
    assert isinstance(error, RaisedValue)
    assert (error.code, error.message) == ("raised", "Raised: (1 bad)")
    assert error.value == [1.0, "bad"]
    assert error.span is not None and str(error.span) == "program.vlad:1:20"
    assert "(+ 1 (raise (list x 'bad)))" in str(error) and "in f at" in str(error)
    copied = pickle.loads(pickle.dumps(error))
    assert (copied.code, str(copied)) == ("raised", str(error))


def test_a_caught_error_is_the_exception_in_python(session: vlad.Session) -> None:
    error = session.eval("(guard (e (#t e)) (car 3))")
    assert isinstance(error, vlad.VladError) and error.code == "invalid-argument"
    assert session.eval("error-code")(vlad.Opaque(error)) == "invalid-argument"


def test_a_guard_that_catches_holds_no_values(session: vlad.Session) -> None:
    """The frames of an error would hold what they compute with, in a cycle, while the collector is off."""

    class Held:
        pass

    kept: list[weakref.ref[Held]] = []

    def make(x: float) -> Any:
        held = Held()
        kept.append(weakref.ref(held))
        return vlad.Opaque(held)

    session["make"] = make
    session.eval("(define (f x) (guard (e (#t 1)) (let ((held (make x))) (+ 1 (raise held)))))")
    session.eval("(define (g x) (guard (e (#t 1)) (let ((held (make x))) (+ 1 (car held)))))")
    session["alive"] = lambda x: float(sum(held() is not None for held in kept))
    assert session.eval("(begin (f 1) (g 1) (f 1) (g 1) (alive 0))") <= 1


def test_the_place_of_what_is_raised_is_found_only_if_it_is_raised_again(
    session: vlad.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []
    before = explain.placed
    monkeypatch.setattr(explain, "placed", lambda *parts: found.append(1) or before(*parts))
    session.run_text("(define (safe x) (if (< x 0) (raise (list 'negative x)) (sqrt x)))", "safe.vlad")
    session.run_text(
        "(define (h x) (+ 1 (guard (e ((symbol? e) 1)) (+ 1 (safe x)))))\n"
        "(define (g x) (+ 1 (guard (e ((number? e) 2)) (+ 1 (h x)))))",
        "g.vlad",
    )
    session.eval("(guard (e ((pair? e) 0)) (map safe '(1 4 -9)))")
    assert found == []
    with pytest.raises(vlad.VladError, match=r"Raised: \(negative -3\)") as raised:
        session.eval("(g -3)")
    assert str(raised.value.span) == "safe.vlad:1:30"
    assert [one.procedure for one in raised.value.backtrace] == ["safe", "h", "g"]
    assert found


@pytest.mark.own_tier
def test_calls_in_a_reset_are_as_deep_as_others() -> None:
    """There, what follows a call is no frame, but a value: a chain of continuations. Only its length counts, not their number."""
    session = vlad.Session(tier="evaluate", limits=vlad.Limits(depth=300_000))
    session.run_text("""
      (define (count n) (if (= n 0) 0 (+ 1 (count (- n 1)))))
      (define (walk n) (let ((l (if (= n 0) '() (list (walk (- n 1)))))) (cons n l)))
      (define (escapes n) (if (= n 0) 'done (begin (reset (+ 1 (shift k n))) (count 2) (escapes (- n 1)))))
    """)
    assert session.eval("(reset (count 200000))") == 200_000
    assert session.eval("(reset (escapes 100000))") == "done"
    assert session.eval("((derivative (lambda (x) (reset (* x (count 1000))))) 2)") == 1000
    for text in ("(reset (count -1))", "(reset (walk -1))", "(reset (+ 1 (shift k (k (count -1)))))"):
        with pytest.raises(vlad.LimitExceeded) as raised:
            session.eval(text)
        assert raised.value.code == "too-deep" and raised.value.span is not None
    assert session.eval("(reset (count 10))") == 10


CATCHING = {
    "car": "(let loop ((i 0) (s x)) (if (= i n) s (loop (+ i 1) (+ s (guard (e ((error? e) (* 0.1 x))) (car i))))))",
    "error": '(let loop ((i 0) (s x)) (if (= i n) s (loop (+ i 1) (guard (e (#t (* 1.01 s))) (error "bad:" i)))))',
    "library": "(let loop ((i 0) (s x)) (if (= i n) s (loop (+ i 1) (guard (e (#t (* 1.01 s))) (list-ref '(1) i)))))",
    "map": "(list-sum (map (lambda (i) (guard (e (#t (* 2 x))) (car i))) (iota n)))",
    "recursion": "(let loop ((i 0)) (if (= i n) x (+ (* 0.5 (loop (+ i 1))) (guard (e (#t (* 1.01 x))) (car i)))))",
    "in a reset": "(reset (let loop ((i 0) (s x)) (if (= i n) s (loop (+ i 1) (guard (e (#t (* 1.01 s))) (car s))))))",
    "cleanup": "(let loop ((i 0) (s x)) (if (= i n) s (loop (+ i 1) (guard (e (#t (* 1.01 s))) (with-cleanup 0 (car s))))))",
}


@pytest.mark.own_tier
@pytest.mark.parametrize("body", CATCHING.values(), ids=list(CATCHING))
@pytest.mark.parametrize("mode", ["(derivative-R f)", "(derivative-R (derivative-R f))"])
def test_catching_errors_takes_linear_work_in_reverse_mode(body: str, mode: str) -> None:
    """Counted: the calls of Python functions, those in C among them."""
    session = vlad.Session(tier="evaluate")
    session.run_text(f"(define (catching n) (lambda (x) {body}))")

    def calls(n: int) -> int:
        slope = session.eval(f"(let ((f (catching {n}))) {mode})")
        slope(0.5)  # what is made on first use
        counted = 0

        def count(frame: Any, event: str, argument: Any) -> None:
            nonlocal counted
            counted += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            slope(0.5)
        finally:
            sys.setprofile(None)
        return counted

    first, second, third = calls(20), calls(60), calls(140)
    assert third - second <= 2.1 * (second - first)
