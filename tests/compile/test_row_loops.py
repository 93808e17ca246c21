"""Loops over rows in several threads: the same bits for any number of them, the first error in their order, and all limits."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import command

import vlad
from vlad import LimitExceeded, Limits, VladError
from vlad.compile.calling.pipeline import Unit
from vlad.python.convert import from_python

PROGRAM = """
(define (turns n x) (let loop ((i 0) (x x)) (if (< i n) (loop (+ i 1) (- x (* 0.01 (sin (+ x i))))) x)))
(define (root a)
  (let loop ((x (+ a 1))) (let ((step (/ (- (* x x) a) (* 2 x)))) (if (< (abs step) 1e-9) x (loop (- x step))))))
(define (deep n x) (if (< n 1) x (* 0.99 (+ 0.01 (deep (- n 1) (cos x))))))
(define (listed x) (let loop ((i 0) (l '())) (if (< i 400) (loop (+ i 1) (cons (* x i) l)) (list-sum l))))
(define (misfit w x v) (square (- (turns 40 (dot w v)) x)))

(define (values-of w xs vs) ((vmap (lambda (x v) (list (turns (* 40 x) (sum v)) (root x) (deep 30 x) (listed x) (* x v)))) xs vs))
(define (gradients w xs vs) ((vmap (gradient (lambda (x v) (misfit w x v)))) xs vs))
(define (nested w xs vs)
  ((vmap (lambda (x v) ((derivative (lambda (y) ((derivative (lambda (z) (turns 30 (* y z (sum v))))) y))) x))) xs vs))
(define (inner w xs vs) ((vmap (lambda (x) ((vmap (lambda (v) (turns 3 (* x (sum v))))) vs))) xs))
(define (summed w xs vs) ((gradient (lambda (w) (sum ((vmap (lambda (x v) (misfit w x v))) xs vs)))) w))
(define (frugal f) (checkpointed f #:segments 4))
(define (recomputed w xs vs) ((vmap (gradient (frugal (lambda (x v) (misfit w x v))))) xs vs))
(define (summed-again w xs vs) ((gradient (lambda (w) (sum ((vmap (frugal (lambda (x v) (misfit w x v)))) xs vs)))) w))
(define (again w xs vs) (list (recomputed w xs vs) (summed-again w xs vs)))
(define (all w xs vs)
  (list (values-of w xs vs) (gradients w xs vs) (nested w xs vs) (inner w xs vs) (summed w xs vs) (again w xs vs)))

(define (one x) (let ((y (turns 300 x))) (if (> x 5) (forever y) y)))
(define (checked w xs vs) ((vmap (lambda (x) (if (< x 0) (tensor-ref w x) (one x)))) xs))
(define (forever x) (if (< x 1e9) (forever (cos x)) x))
(define (room n x) (let loop ((i 0) (l '())) (if (< i n) (loop (+ i 1) (cons (* x i) l)) (list-sum l))))
(define (rooms xs) ((vmap (lambda (x) (room 1.6e6 x))) xs))
"""
THREADS = (1, 2, 3, 8)
COUNT = 700
rng = np.random.default_rng(1)
W, XS, VS = rng.normal(size=3), rng.random(COUNT) + 0.5, rng.normal(size=(COUNT, 3))


def flat(result: Any) -> list[np.ndarray]:
    if isinstance(result, list | tuple):
        return [leaf for part in result for leaf in flat(part)]
    return [np.asarray(result)]


def session_of(threads: int, limits: Limits | None = None) -> vlad.Session:
    session = vlad.Session(tier="compile", threads=threads, limits=limits)
    session.run_text(PROGRAM, "program.vlad")
    return session


@pytest.fixture(scope="module")
def sessions() -> dict[int, vlad.Session]:
    return {count: session_of(count) for count in THREADS}


def test_the_bits_are_the_same(sessions: dict[int, vlad.Session]) -> None:
    expected, *others = [
        [leaf.tobytes() for leaf in flat(vlad.compile(session["all"], W, XS, VS)(W, XS, VS))]
        for session in sessions.values()
    ]
    assert all(other == expected for other in others)


def test_checkpointed_gradients_of_rows(sessions: dict[int, vlad.Session]) -> None:
    """They recompute with tapes of their own in each thread, and are the gradients without checkpoints."""
    for session in sessions.values():
        _, gradients, _, _, summed, again = session["all"](W, XS, VS)
        for found, expected in zip(flat(again), flat([gradients, summed]), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_threads_do_the_work(sessions: dict[int, vlad.Session]) -> None:
    """Processor time is spent outside of the thread that calls, if there is to be more than one."""
    xs = np.tile(XS, 12)
    for count, session in sessions.items():
        f = vlad.compile(session["checked"], W, xs, VS)
        f(W, xs, VS)
        own, all_ = time.thread_time(), time.process_time()
        f(W, xs, VS)
        own, all_ = time.thread_time() - own, time.process_time() - all_
        assert (all_ - own > 0.05 * all_) == (count > 1), (count, own, all_)


def test_the_first_error_in_order(sessions: dict[int, vlad.Session]) -> None:
    """Rows that come after it, which never end, are stopped."""
    xs = XS.copy()
    xs[[411, 500]] = -7, -8
    xs[[450, 699]] = 9
    errors = []
    for session in sessions.values():
        with pytest.raises(VladError) as caught:
            session["checked"](W, xs, VS)
        errors.append((str(caught.value), caught.value.rows))
    assert errors == errors[:1] * len(errors)
    assert errors[0][1] == (411,)


def test_steps_are_counted_as_by_one_thread() -> None:
    """The least fuel that is enough is the same."""

    def is_enough(session: vlad.Session, fuel: int) -> bool:
        try:
            with session.limited(Limits(fuel=fuel)):
                session["gradients"](W, XS, VS)
        except LimitExceeded as error:
            assert error.code == "out-of-fuel"
            return False
        return True

    one, three = [session_of(count, Limits(fuel=10**9)) for count in (1, 3)]
    least, most = 0, 10**6
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if is_enough(one, middle) else (middle, most)
    assert most > 40 * COUNT
    assert is_enough(three, most)
    assert not is_enough(three, most - 1)
    assert not is_enough(three, most // 2)


@pytest.mark.parametrize("count", [1, 3])
def test_what_never_ends_is_stopped(count: int, sessions: dict[int, vlad.Session]) -> None:
    """By a limit of time, and by Ctrl-C."""
    session = sessions[count]
    session["checked"](W, XS, VS)  # compiled
    with pytest.raises(LimitExceeded, match="seconds"), session.limited(Limits(seconds=0.2)):
        session["checked"](W, XS + 6, VS)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        session["checked"](W, XS + 6, VS)
    timer.join()
    assert session["checked"](W, XS, VS).shape == (COUNT,)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_divisions_repeated_in_rows() -> None:
    """What a loop has written over is kept until its divisions are known to be right, in an array of each thread."""
    text = """(lambda (xs ys)
        ((vmap (lambda (a b)
           (let* ((b (cumsum b)) (e (* a (sqrt (abs b)))) (f (* (maximum e #:keep #t) (/ e b) (/ 1 b))))
             (dot f (cumsum f))))) xs ys))"""
    xs, ys = rng.normal(size=(2, 40, 4098))
    xs[:, ::100] = 1e-310
    sessions = [vlad.Session(tier="compile", threads=count) for count in (1, 2)]
    one, two = [session.eval(text)(xs, ys) for session in sessions]
    assert one.tobytes() == two.tobytes()
    code, *environment = sessions[0].eval(text).value
    operands = tuple(map(from_python, (xs, ys)))
    emitted = Unit(sessions[0].machine, code, tuple(environment[: len(code.environment)]), operands).text
    assert "#define VLAD_STATIC static _Thread_local" in emitted and "VLAD_STATIC double" in emitted


def test_loops_that_recursions_run_in_rows() -> None:
    """Each thread knows which of them keep what they make."""
    text = """(define (run x) (let loop ((x x) (n 0)) (if (= n 2000) x (loop (+ x (* 0.001 (sin (* 3 x)))) (+ n 1)))))
        (define slopes (vmap (gradient (checkpointed run))))"""
    found = []
    for count in (1, 3):
        session = vlad.Session(tier="compile", threads=count)
        session.run_text(text, "rows.vlad")
        found.append(session["slopes"](np.linspace(0.1, 1, 48)))
        assert {entry.reason for entry in session.tiers.entries.values()} == {None}
    assert found[0].tobytes() == found[1].tobytes()
    assert found[0][0] == pytest.approx(session.eval("((derivative-F run) 0.1)"), rel=1e-9)


def test_memory_is_limited_as_a_whole() -> None:
    """26 megabytes a row: one row at a time has room in 60, eight have not: what has none is done again by the caller."""
    found = []
    for count in (1, 8):
        session = session_of(count)
        f = vlad.compile(session["rooms"], XS[:9])
        with session.limited(Limits(memory=60)):
            found.append(session["rooms"](XS[:9]).tobytes())
        assert f(XS[:9]).tobytes() == found[0]
        with pytest.raises(LimitExceeded, match="memory"), session.limited(Limits(memory=10)):
            session["rooms"](XS[:9])


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_pages_are_kept_up_to_a_size() -> None:
    """Wherever the top of the area is at the end: rows free what they allocate. 128 megabytes are kept, of 240."""

    def megabytes() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    session = session_of(1)
    rooms = session.eval("(lambda (n xs) ((vmap (lambda (x) (room n x))) xs))")

    def grown() -> float:
        rooms(10.0, XS[:3])
        before = megabytes()
        rooms(1.5e7, XS[:3])
        return megabytes() - before

    with ThreadPoolExecutor(1) as pool:  # whose thread has an area of its own, of which no test has used any
        assert 60 < pool.submit(grown).result() < 180


def test_effects_are_in_order() -> None:
    written: list[str] = []
    session = vlad.Session(tier="compile", threads=3, write=written.append)
    session.run_text(PROGRAM, "program.vlad")
    session.eval("((vmap (lambda (i) (begin (write-real i) (turns 3000 i)))) (arange 100))")
    assert "".join(written).split() == [str(i) for i in range(100)]


def test_a_program_alone(tmp_path: Path) -> None:
    """It counts processors itself, or reads $VLAD_THREADS."""
    source, program = tmp_path / "program.vlad", tmp_path / "program"
    tests = "(define w #[0.5 -1 2]) (define xs (+ 1 (arange 3000))) (define vs (reshape (sin (arange 9000)) '(3000 3)))"
    calls = "(sum (car (gradients w xs vs))) (sum (caddr (values-of w xs vs))) ((vmap (lambda (x) (tensor-ref w (- x 2000)))) xs)"
    source.write_text(f"{PROGRAM}{tests}{calls}")
    assert command("build", str(source), "-o", str(program)).returncode == 0
    found = [
        subprocess.run([str(program)], env={**os.environ, **threads}, capture_output=True, text=True)
        for threads in ({}, {"VLAD_THREADS": "1"}, {"VLAD_THREADS": "7"})
    ]
    assert len(found[0].stdout.split()) == 2 and "out of range" in found[0].stderr
    assert {(one.stdout, one.stderr) for one in found} == {(found[0].stdout, found[0].stderr)}


def test_a_library_alone(tmp_path: Path) -> None:
    """Libraries are linked with nothing but the C library."""
    source, library = tmp_path / "sums.vlad", tmp_path / "sums"
    source.write_text(
        f"{PROGRAM}(define (sums n) (sum ((vmap (lambda (x) (turns 90 x))) (* n (arange 4000)))))"
    )
    assert (
        command("build", str(source), "--lib", "--export-value", "sums", "-o", str(library)).returncode == 0
    )
    results = (ctypes.c_double * 1)()
    assert ctypes.CDLL(str(library)).sums(ctypes.c_double(0.5), results) == 0
    expected = session_of(1).eval("(sum ((vmap (lambda (x) (turns 90 x))) (* 0.5 (arange 4000))))")
    assert results[0] == pytest.approx(expected, rel=1e-12)  # for another processor than this one


def test_numbers_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLAD_THREADS", "3")
    assert vlad.Session().machine.threads == 3 and vlad.Session(threads=5).machine.threads == 5
    monkeypatch.setenv("VLAD_THREADS", "two")
    with pytest.raises(VladError, match=r"\$VLAD_THREADS is a positive whole number, not 'two'"):
        vlad.Session()
    with pytest.raises(VladError, match="threads is a positive whole number, not 0"):
        vlad.Session(threads=0)
