"""Long loops over tensors in parts, which several threads run: the same bits for any number of them, and all limits."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import command
from test_row_loops import flat

import vlad
from vlad import LimitExceeded, Limits
from vlad.compile.calling.pipeline import Unit
from vlad.python.convert import from_python

PROGRAM = """
(define (loss w x y) (+ (sum (square (- (* w (tanh x)) y))) (* 1e-3 (maximum (* w w)))))
(define (all w x y m)
  (define e (exp (- (square x))))
  (list (loss w x y) ((gradient loss) w x y) (prod (+ 1 (* 1e-9 x))) (minimum (* x e)) (/ e (sum e)) (sin (arange 400000))
        (sum (as-type (* 100 (tanh x)) 'int64)) (sum (sin m) #:axis 0) (sum (sin m) #:axis 1) (softmax m #:axis 1)
        (transpose (sin m)) (stack (list (sin x) (exp (- y)))) (where (> x y) (sin x) y)))
"""
THREADS = (1, 2, 3, 8)
rng = np.random.default_rng(7)
W, X, Y = rng.normal(size=(3, 400_003))
M = rng.normal(size=(700, 1300))


def session_of(threads: int, tier: str = "compile") -> vlad.Session:
    session = vlad.Session(tier=tier, threads=threads)
    session.run_text(PROGRAM, "program.vlad")
    return session


@pytest.fixture(scope="module")
def sessions() -> dict[int, vlad.Session]:
    return {count: session_of(count) for count in THREADS}


def test_the_bits_are_the_same(sessions: dict[int, vlad.Session]) -> None:
    expected = flat(session_of(1, "evaluate")["all"](W, X, Y, M))
    found = [flat(session["all"](W, X, Y, M)) for session in sessions.values()]
    for other in found[1:]:
        assert [leaf.tobytes() for leaf in other] == [leaf.tobytes() for leaf in found[0]]
    for one, other in zip(found[0], expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-300)
    assert {entry.reason for session in sessions.values() for entry in session.tiers.entries.values()} == {
        None
    }


def test_threads_do_the_work(sessions: dict[int, vlad.Session]) -> None:
    """Processor time is spent outside of the thread that calls, if there is to be more than one."""
    x = np.tile(X, 8)
    for count, session in sessions.items():
        f = session.eval("(lambda (x) (sum (sin (exp (tanh x)))))")
        f(x)
        own, all_ = time.thread_time(), time.process_time()
        f(x)
        own, all_ = time.thread_time() - own, time.process_time() - all_
        assert (all_ - own > 0.05 * all_) == (count > 1), (count, own, all_)


def test_any_number_of_entries() -> None:
    """Compiled once for many lengths, too: below that of a part, and around whole numbers of parts."""
    text = (
        "(lambda (x) (list (sum (sin x)) (* 2 (sin x)) (maximum (sin x)) (sum (outer x #[1 2 3]) #:axis 1)))"
    )
    several = [vlad.Session(tier="compile", threads=count).eval(text) for count in (1, 3)]
    exact = vlad.Session(tier="evaluate").eval(text)
    for length in (300_000, 262_144, 29_128, 7281, 65_536, 131_071, 2, 100_001, 14_563, 524_288):
        x = rng.normal(size=length)
        one, other, expected = [flat(f(x)) for f in (*several, exact)]
        assert [leaf.tobytes() for leaf in one] == [leaf.tobytes() for leaf in other], length
        for found, right in zip(one, expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("count", [1, 3])
def test_ends_between_parts(count: int, sessions: dict[int, vlad.Session]) -> None:
    """By a limit of time, and by Ctrl-C, also where there is one loop only."""
    session = sessions[count]
    text = "(lambda (x) (let loop ((i 0) (x x)) (if (= i 100000) x (loop (+ i 1) (sin (+ x 1))))))"
    f = session.eval(text)
    x = np.tile(X, 10)
    with pytest.raises(LimitExceeded, match="seconds"), session.limited(Limits(seconds=0.3)):
        f(x)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        f(x)
    timer.join()
    assert session.eval("(sum (ones 300000))") == 300_000


def test_nan_and_infinities_pass_parts(sessions: dict[int, vlad.Session]) -> None:
    x = X.copy()
    for value in (np.nan, np.inf, -np.inf):
        x[200_000] = value
        answers: list[Any] = [
            session.eval("(lambda (x) (list (maximum x) (minimum x) (sum x)))")(x)
            for session in sessions.values()
        ]
        for found in answers:
            np.testing.assert_array_equal(found[:2], [np.max(x), np.min(x)])
            np.testing.assert_array_equal(np.isfinite(found[2]), False)


def test_a_program_alone(tmp_path: Path) -> None:
    source, program = tmp_path / "program.vlad", tmp_path / "program"
    source.write_text(
        "(define x (sin (arange 600000)))\n(sum (exp (* x x)))\n((gradient (lambda (a) (sum (tanh (* a x))))) 0.5)\n"
        "(maximum (cumsum (square x)))\n"
    )
    assert command("build", str(source), "-o", str(program)).returncode == 0
    found = [
        subprocess.run([str(program)], env={**os.environ, **threads}, capture_output=True, text=True).stdout
        for threads in ({}, {"VLAD_THREADS": "1"}, {"VLAD_THREADS": "7"})
    ]
    assert len(found[0].split()) == 3 and set(found) == {found[0]}


@pytest.mark.parametrize(
    ("text", "fewest"),
    [
        ("(lambda (x) (sum x))", 1 << 21),  # what reads and writes alone has threads from more entries on
        ("(lambda (x) (maximum (square x)))", 1 << 21),
        ("(lambda (x) (+ x 1))", 1 << 21),
        ("(lambda (x) (+ 1 (* x x x)))", 1 << 18),
        ("(lambda (x) (sin x))", 29_128),
    ],
)
def test_fewest_entries(text: str, fewest: int) -> None:
    session = vlad.Session(tier="compile")
    code, *environment = session.eval(text).value
    for length in (fewest - 1, fewest):
        unit = Unit(
            session.machine,
            code,
            tuple(environment[: len(code.environment)]),
            (from_python(np.zeros(length)),),
        )
        assert ("_in_parts" in unit.text) == (length == fewest), length
