"""Threads that call compiled code in every way, for tests/compile/thread-sanitize: races.py THREADS EVALUATIONS

`races.py known` runs two threads in one unit past its lock, whose race must be reported: otherwise nothing was checked.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

import vlad

sys.path.insert(0, str(Path(__file__).parent.parent / "embedding"))
sys.path.insert(0, str(Path(__file__).parent.parent))
import session_soak
import test_loop_parts
import test_row_loops


def in_threads(count: int, work: Callable[[int], object]) -> None:
    failures: list[BaseException] = []

    def run(index: int) -> None:
        try:
            work(index)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def past_the_session(count: int, each: int) -> None:
    """Machine code that callables call themselves, of one procedure: with reals, with arrays, with a loop."""
    session = session_soak.session_of("compile")
    square, loss, turns = session["square-of"], session["loss"], session["turns"]
    slope = vlad.grad(square)
    points = np.linspace(0, 1, 8)

    def work(index: int) -> None:
        for i in range(each):
            x = i * 0.5
            assert square(x) == x * x and slope(x) == 2 * x
            assert square(points + i).shape == (8,) and loss(x, points) >= 0
            assert turns(float(i % 30)) < 2

    work(0)
    in_threads(count, work)
    session.close()


def while_it_changes(count: int, each: int) -> None:
    """Procedures are redefined while others call them, and limits and closing end calls."""
    session = vlad.Session(tier="compile", optimize=0)
    session.eval("(define k 1) (define (f x) (* k x)) (define (turns n) (if (= n 0) 1 (turns (- n 1))))")
    f, turns = session["f"], session["turns"]

    def work(index: int) -> None:
        for i in range(each // 20):
            if index == 0:
                session["k"] = float(i % 2 + 1)
            elif index == 1:
                try:
                    session.eval("(turns 1e15)", limits=vlad.Limits(seconds=0.02))
                except vlad.LimitExceeded:
                    assert turns(10.0) == 1
            else:
                assert f(2.0) in (2, 4) and f(points).shape == (4,)
                with vlad.Session(tier="compile", optimize=0) as other:
                    assert other.eval("((lambda (n) (* n n)) 3)") == 9

    points = np.ones(4)
    in_threads(count, work)
    session.close()


def rows_in_threads() -> None:
    """Loops over rows: values, derivatives, recursion, memory, errors and limits."""
    w, xs, vs = test_row_loops.W, test_row_loops.XS, test_row_loops.VS
    for limits in (None, vlad.Limits(fuel=10**7)):
        session = test_row_loops.session_of(5, limits)
        found = [test_row_loops.flat(session["all"](w, xs, vs)) for _ in range(3)]
        assert all((one == other).all() for one, other in zip(found[0], found[-1], strict=True))
        bad = xs.copy()
        bad[300:302] = -9
        bad[310:] = 9
        for _ in range(3):
            try:
                session["checked"](w, bad, vs)
            except vlad.VladError as error:
                assert error.rows == (300,)
        try:
            with session.limited(vlad.Limits(seconds=0.2)):
                session["checked"](w, xs + 6, vs)
        except vlad.LimitExceeded:
            session.close()


def loops_in_parts() -> None:
    """Long loops over tensors."""
    given = test_loop_parts.W, test_loop_parts.X, test_loop_parts.Y, test_loop_parts.M
    session = test_loop_parts.session_of(5)
    one, *others = [test_loop_parts.flat(session["all"](*given)) for _ in range(4)]
    assert all(other.tobytes() == leaf.tobytes() for other, leaf in zip(others[-1], one, strict=True))


def known_race() -> None:
    """Two threads in one unit at a time."""
    session = session_soak.session_of("compile")
    f = session["numbers"]
    f(3.0)
    (compiled,) = session.tiers.entries[id(f.value)].variants
    handle, ffi = compiled.handle, sys.modules["vlad.compile.native.abi"].ffi

    def work(index: int) -> None:
        words, answers = ffi.new("union vlad_word[]", 8), ffi.new("union vlad_word[]", 8)
        for _ in range(20000):
            words[0].d = 3.0
            handle.vlad_call(words, answers)

    in_threads(2, work)


if __name__ == "__main__":
    if sys.argv[1] == "known":
        known_race()
    else:
        threads, evaluations = int(sys.argv[1]), int(sys.argv[2])
        rows_in_threads()
        loops_in_parts()
        for shared in (False, True):
            session_soak.threads("compile", shared, threads, evaluations)
        past_the_session(threads, evaluations)
        while_it_changes(threads, evaluations)
