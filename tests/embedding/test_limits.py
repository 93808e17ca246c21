"""Limits, on every tier: each ends in its own exception, and the session goes on."""

from __future__ import annotations

import copy
import pickle
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlad
from vlad.compile.calling.outside import outside_of
from vlad.compile.native.abi import ffi
from vlad.control import watcher as watching
from vlad.evaluate import limits
from vlad.evaluate.limits import Interrupted, out_of_time

pytestmark = pytest.mark.any_compiler

TIERS = ("evaluate", "auto", "compile")
BOMBS = {
    "one line after the other": "(let loop ((i 0)) (if (< i 100000) (begin (write i) (loop (+ i 1))) 3))",
    "a list that shares itself": "(let loop ((i 0) (l '(1))) (if (< i 60) (loop (+ i 1) (cons l l)) (display l)))",
    "a long string": '(let loop ((i 0) (s "ab")) (if (< i 12) (loop (+ i 1) (string-append s s)) (display s)))',
    "a tensor": "(display (list (ones 1000) (ones 1000) (iota 1000)))",
}


def session_of(tier: str, **limits: Any) -> tuple[vlad.Session, list[str]]:
    written: list[str] = []
    return vlad.Session(tier=tier, limits=vlad.Limits(**limits), write=written.append), written


def watchers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "vlad-watcher"]


def test_one_thread_watches_all_evaluations_and_ends_after_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """To start one for each of them took ten times as long as a short evaluation."""
    sessions = [session_of("evaluate", seconds=60)[0] for _ in range(2)]
    for session in sessions * 3:
        assert session.eval("(+ 1 2)") == 3
    (watcher,) = watchers()
    for session in sessions * 3:
        session["name-of"] = lambda: len(watchers())
        assert session.eval("(name-of)") == 1
    assert watchers() == [watcher]
    monkeypatch.setattr(watching, "LINGER_SECONDS", 0.0)
    watcher.join(10)
    assert not watchers()
    assert sessions[0].eval("(+ 1 2)", limits=vlad.Limits(memory=500)) == 3


def test_a_shorter_limit_than_the_one_that_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that waits for the end of one evaluation, or of the next 20 ms, is woken for another."""
    monkeypatch.setattr(watching, "LINGER_SECONDS", 0.0)
    for watcher in watchers():
        watcher.join(10)
    monkeypatch.setattr(watching, "LOOK_SECONDS", 30.0)
    session = session_of("evaluate")[0]
    session.eval("(define (turns n) (if (= n 0) 0 (turns (- n 1))))")
    begun = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        other = session_of("evaluate", seconds=20)[0]
        waits, inside = threading.Event(), threading.Event()
        other["waits"] = lambda: [inside.set(), float(waits.wait(20))][1]
        longer = pool.submit(other.eval, "(waits)")
        inside.wait(20)
        for _ in range(2):
            with pytest.raises(vlad.LimitExceeded, match=re.escape("than 0.05 seconds")):
                session.eval("(turns 1e12)", limits=vlad.Limits(seconds=0.05))
        waits.set()
        assert longer.result() == 1
    assert time.monotonic() - begun < 15


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("bomb", BOMBS)
def test_output(bomb: str, tier: str) -> None:
    session, written = session_of(tier, output=1000)
    with pytest.raises(vlad.LimitExceeded, match="writes more than 1000 characters") as caught:
        session.eval(BOMBS[bomb])
    assert caught.value.code == "too-much-output" and caught.value.span is not None
    assert len("".join(written)) <= 1000
    written.clear()
    session.eval('(display "as much as before, in the next evaluation")')
    assert written == ["as much as before, in the next evaluation"]


@pytest.mark.parametrize("tier", TIERS)
def test_output_up_to_the_last_character(tier: str) -> None:
    session, written = session_of(tier, output=10)
    session.eval('(begin (display "12345") (display "67890"))')
    assert "".join(written) == "1234567890"
    with pytest.raises(vlad.LimitExceeded):
        session.eval('(begin (display "12345") (display "67890") (display "1"))')


DEFINITIONS = """
(define (turns n) (let loop ((i 0) (x 0.1)) (if (< i n) (loop (+ i 1) (sin (+ x i))) x)))
(define (deep n) (if (= n 0) 0 (+ 1 (deep (- n 1)))))
(define (grow n) (let loop ((i 0) (l '())) (if (= i n) (length l) (loop (+ i 1) (cons (list i i i) l)))))
"""
CALLS = {
    "out-of-fuel": ("(turns 1e12)", vlad.Limits(fuel=10_000)),
    "out-of-time": ("(turns 1e12)", vlad.Limits(seconds=0.2)),
    "out-of-memory": ("(grow 1e9)", vlad.Limits(memory=100)),
    "too-deep": ("(deep 1e7)", vlad.Limits(depth=1000)),
}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("code", CALLS)
def test_limits_of_one_call(code: str, tier: str) -> None:
    text, limits = CALLS[code]
    session = vlad.Session(tier=tier)
    session.eval(DEFINITIONS)
    turns = session["turns"]
    expected = turns(1000.0), session.eval("(deep 1000)")
    for _ in range(2):
        with pytest.raises(vlad.LimitExceeded) as caught:
            session.eval(text, limits=limits)
        assert caught.value.code == code
        assert (turns(1000.0), session.eval("(deep 1000)")) == expected
    with session.limited(limits), pytest.raises(vlad.LimitExceeded) as caught:
        session[text[1:].split()[0]](float(text[:-1].split()[1]))
    assert caught.value.code == code
    assert session.eval("(turns 1000)", limits=vlad.Limits(fuel=5000)) == expected[0]
    assert session.eval("(deep 100000)") == 100000


INSIDE = {
    "out-of-time": ("turns", 3e8, vlad.Limits(seconds=1)),  # in which it is also compiled
    "out-of-memory": ("grow", 3e7, vlad.Limits(memory=100)),
    "too-deep": ("deep", 1e6, vlad.Limits(depth=1000)),
}
EACH = "(define (each n) (if (= n 0) '() (cons n (each (- n 1))))) (define (deep n) (length (each n)))"


@pytest.mark.parametrize("code", INSIDE)
def test_limits_hold_for_what_is_first_compiled_inside(code: str) -> None:
    """Machine code that Python calls straight away keeps no limits: there is no such call inside, not the second one either."""
    name, number, limits = INSIDE[code]
    session = vlad.Session(tier="compile")
    session.eval(DEFINITIONS + EACH)
    f = session[name]
    with session.limited(limits):
        with session.limited(vlad.Limits(output=10)):
            assert f(3.0) == f(3.0)
        assert f(3.0) == f(3.0)
        with pytest.raises(vlad.LimitExceeded) as caught:
            f(number)
        assert caught.value.code == code
    assert f(3.0) == f(3.0)
    assert f.quicks  # it need not be slow for ever


def test_a_limit_of_depth_holds_for_the_second_call() -> None:
    session = vlad.Session(tier="compile", limits=vlad.Limits(depth=1000))
    session.eval(EACH)
    deep = session["deep"]
    for _ in range(3):
        assert deep(3.0) == deep(3) == 3.0
        with pytest.raises(vlad.LimitExceeded) as caught:
            deep(1e6)
        assert caught.value.code == "too-deep"


@pytest.mark.parametrize("point", [3.0, np.ones(3)], ids=["real", "array"])
def test_what_is_compiled_is_counted_by_metering(point: Any) -> None:
    session = vlad.Session(tier="compile")
    square = session.eval("(lambda (x) (* x x))")
    values = [square(point) for _ in range(2)]
    gradient = session.eval("(define (double x) (* 2 x)) double")
    for _ in range(2):
        with session.metering():
            values.append(square(point))
            assert session.counts == {"*": 1}
            gradient(point)
            assert session.counts == {"*": 2}
        values.append(square(point))
    assert all(np.array_equal(value, values[0]) for value in values)
    for procedure in (square, gradient):
        procedure(point)
        assert procedure.quicks


def test_a_limit_of_depth_holds_for_a_text_of_several_forms() -> None:
    """Reading and expanding may go deeper than the program may: between its forms the limit is that of the program again."""
    session = vlad.Session(tier="evaluate", limits=vlad.Limits(depth=1000))
    deepest = [0.0]
    session["note"] = lambda n: deepest.__setitem__(0, n) or n
    with pytest.raises(vlad.LimitExceeded) as caught:
        session.eval("(define (deep n) (+ 1 (deep (+ 1 (note n))))) (deep 1)")
    assert caught.value.code == "too-deep"
    assert 500 < deepest[0] < 2500


def test_a_limit_of_depth_on_what_has_no_stack_of_its_own() -> None:
    session = vlad.Session(tier="compile", limits=vlad.Limits(depth=5000))
    f = session.eval("(lambda (x) (* x x))")
    assert f(2.0) == 4.0
    assert session.tiers.entries[id(f.value)].variants


def test_a_redefinition_inside_is_seen_outside() -> None:
    session = vlad.Session(tier="compile")
    session.eval("(define scale 2) (define (f t) (* scale t))")
    f = session["f"]
    values = [f(np.ones(3)) for _ in range(3)]
    assert all(np.array_equal(value, [2, 2, 2]) for value in values)
    with session.limited(vlad.Limits(seconds=10)):
        session.eval("(define scale 5)")
    assert np.array_equal(f(np.ones(3)), [5, 5, 5])


def test_reading_and_converting_count() -> None:
    session = vlad.Session(tier="evaluate")
    with pytest.raises(vlad.LimitExceeded):
        session.eval(
            "(let loop ((i 0) (l '(1))) (if (< i 60) (loop (+ i 1) (cons l l)) l))",
            limits=vlad.Limits(seconds=0.3),
        )
    assert session.eval("(+ 1 2)") == 3


FORBIDDEN = {
    '(load-csv "/etc/passwd")': "read files", '(load-tensor "/etc/no-such-file.npy")': "read files",
    '(save-tensor "/tmp/vlad-forbidden.npy" #[1 2])': "write files", '(include "/etc/passwd")': "include files",
    '(import "/etc/passwd")': "import files", '(import "/etc/no-such-file")': "import files",
    '(import "../vlad/session")': "import files", '(display "x")': "write to the standard output",
    "(read-real)": "read the standard input",
}  # fmt: skip


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("text", FORBIDDEN)
def test_a_confined_session_reaches_nothing(text: str, tier: str) -> None:
    """Nor does it learn which files there are."""
    session = vlad.Session.confined(tier=tier)
    with pytest.raises(vlad.VladError, match=f"may not {FORBIDDEN[text]}") as caught:
        session.eval(text)
    assert caught.value.code == "not-permitted"
    assert session.eval('(import "data" as d) (+ 1 2)') == 3


def test_a_confined_session_imports_the_library_and_not_a_file_of_the_same_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("lists", "test"):
        (tmp_path / f"{name}.vlad").write_text("(define secret 42)")
        assert vlad.Session().eval(f'(import "{name}") secret') == 42
        with vlad.Session.confined() as session:
            session.eval(f'(import "{name}")')
            assert "secret" not in session


def test_what_is_given_to_a_confined_session_is_given() -> None:
    written: list[str] = []
    session = vlad.Session.confined(write=written.append)
    session.eval('(display "x")')
    assert written == ["x"]
    with pytest.raises(vlad.VladError, match="There is no capability network"):
        vlad.Session(capabilities=("network",))


def test_limits_are_values() -> None:
    limits = vlad.Limits(fuel=10, seconds=2.5)
    assert repr(limits) == "Limits(fuel=10, seconds=2.5)"
    assert pickle.loads(pickle.dumps(limits)) == limits == copy.copy(limits) != vlad.Limits(fuel=10)
    assert len({limits, vlad.Limits(fuel=10, seconds=2.5), vlad.Limits()}) == 2
    with pytest.raises(AttributeError, match="do not change"):
        limits.fuel = 20
    assert limits.fuel == 10


def test_an_error_that_is_interrupted_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second interrupt, while the error of the first propagated, replaced it, without the position of the form."""
    session = vlad.Session(tier="evaluate")
    apply = session.tiers.apply

    def interrupted_twice(*operands: Any, **columns: Any) -> Any:
        try:
            return apply(*operands, **columns)
        except vlad.LimitExceeded as error:
            session.machine.watch.reason = error
            error.span = None
            raise Interrupted from None

    monkeypatch.setattr(session.tiers, "apply", interrupted_twice)
    with pytest.raises(vlad.LimitExceeded) as caught:
        session.eval("(let loop ((i 0)) (loop (+ i 1)))", limits=vlad.Limits(seconds=0.05))
    assert caught.value.span is not None and caught.value.span.line == 1


def test_compiled_code_that_a_limit_stops_ends_with_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the call returns before the exception arrives that was raised in its thread."""
    session = vlad.Session(tier="compile")
    session.eval(DEFINITIONS)
    watch, done = session.machine.watch, threading.Event()
    monkeypatch.setattr(limits, "raise_in", lambda thread, kind: None)

    def stop() -> None:
        while not done.is_set():
            watch.interrupt(out_of_time(1))
            time.sleep(0.01)

    stopping = threading.Thread(target=stop)
    stopping.start()
    try:
        for _ in range(3):
            with pytest.raises(vlad.LimitExceeded) as caught:
                session.eval("(turns 1e12)")
            assert caught.value.code == "out-of-time"
    finally:
        done.set()
        stopping.join()


def test_an_exception_at_the_beginning_of_a_callback_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    session = vlad.Session(tier="compile")
    outside = outside_of(session.machine)

    def interrupted(*_: object) -> int:
        raise Interrupted

    for name, operands in {"write": (ffi.NULL, 0), "read": (ffi.NULL,)}.items():
        monkeypatch.setattr(type(outside), f"_{name}", interrupted)
        outside.error = None
        assert getattr(outside, name)(*operands) == 1
        assert type(outside.error) is Interrupted
    assert capfd.readouterr().err == ""
