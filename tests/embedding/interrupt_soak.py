"""Interrupts at random moments, thousands of them: afterwards the session has to be usable and its answers right. A script:

    python tests/embedding/interrupt_soak.py [TIMES] [SEED]

Each turn starts an evaluation of a random kind, on a random tier, and stops it in one of four ways: SIGINT to the main thread, a
limit of time, an interrupt from another thread, a cancelled task. Then the same session evaluates programs whose values are
known, in this thread and in another one, so a lock that was kept shows as well. test_interrupts.py takes a sample.
"""

from __future__ import annotations

import asyncio
import collections
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import vlad
from vlad.evaluate.limits import AsyncException
from vlad.session.session_lock import cancelled

TIERS = ("evaluate", "auto", "compile")
DEFINITIONS = """
(define (turns n) (let loop ((i 0) (x 0.1)) (if (< i n) (loop (+ i 1) (sin (+ x i))) x)))
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(define (deep n) (if (= n 0) 0 (+ 1 (deep (- n 1)))))
(define (descend n) ((derivative (lambda (x) (let loop ((i 0) (y x)) (if (< i n) (loop (+ i 1) (sin (* y x))) y)))) 0.7))
(define (squares t n) (let loop ((i 0) (t t)) (if (< i n) (loop (+ i 1) (tanh (* t t))) (sum t))))
(define (host n) (let loop ((i 0)) (if (< i n) (begin (waits i) (loop (+ i 1))) i)))
(define (printing n) (let loop ((i 0)) (if (< i n) (begin (display i) (loop (+ i 1))) i)))
"""
ENDLESS: dict[str, Callable[[int], str]] = {
    "loop": lambda k: "(turns 1e12)",
    "calls": lambda k: "(fib 60)",
    "recursion": lambda k: "(deep 1e6)",
    "reverse mode": lambda k: "(descend 1e5)",
    "arrays": lambda k: "(squares (ones 20000) 1e9)",
    "host function": lambda k: "(host 1e9)",
    "output": lambda k: "(printing 1e9)",
    # another procedure each time, so that it is expanded, analysed and compiled anew
    "compiling": lambda k: "((derivative (lambda (x) (+ " + " ".join(f"(sin (* x {k}.{i}))" for i in range(60)) + "))) 1)",
    "defining": lambda k: f"(define later {k}) (define (f x) (+ x later)) (turns 1e12)",
}  # fmt: skip
CHECKS: dict[str, Any] = {
    "(fib 12)": 144.0,
    "(deep 1000)": 1000.0,
    "(host 20)": 20.0,
    "(printing 3)": 3.0,
    "((derivative (lambda (x) (* x x x))) 2)": 12.0,
    "(+ 1 2)": 3.0,
}


class Stress:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.is_open = False  # does SIGINT raise?
        self.sessions = {tier: self.session(tier) for tier in TIERS}
        plain = self.session("evaluate")
        self.expected = {text: plain.eval(text) for text in ("(turns 500)", "(descend 300)")}
        self.counts: collections.Counter[tuple[str, str]] = collections.Counter()

    @staticmethod
    def session(tier: str) -> vlad.Session:
        session = vlad.Session(tier=tier, write=lambda text: None)

        def waits(x: float) -> float:
            np.ones(100).sum()
            return x

        session.define(waits)
        session.eval(DEFINITIONS)
        return session

    def turns(self, times: int) -> None:
        handler, hook = signal.signal(signal.SIGINT, self.interrupted), sys.unraisablehook
        sys.unraisablehook = self.dropped
        try:
            for number in range(times):
                self.turn(number)
        finally:
            signal.signal(signal.SIGINT, handler)
            sys.unraisablehook = hook

    def turn(self, number: int) -> None:
        tier, kind = self.random.choice(TIERS), self.random.choice(list(ENDLESS))
        way = self.random.choice([self.by_signal, self.by_limit, self.by_thread, self.by_cancelling])
        session, text = self.sessions[tier], ENDLESS[kind](number)
        ended = way(session, text, self.random.random() ** 3 * 0.1)
        self.counts[way.__name__, "stopped" if ended else "ended"] += 1
        self.check(
            session, f"turn {number}: {kind}, {tier}, {way.__name__}", number if kind == "defining" else None
        )

    def by_signal(self, session: vlad.Session, text: str, seconds: float) -> bool:
        """Sent again until it has ended, as a person would: an exception that is raised in a finalizer is lost."""
        done = threading.Event()

        def send() -> None:
            wait = seconds
            while not done.wait(wait):
                os.kill(os.getpid(), signal.SIGINT)
                wait = 0.25

        sender = threading.Thread(target=send)
        sender.start()
        try:
            self.is_open = True
            session.eval(text)
            self.is_open = False
        except KeyboardInterrupt:
            return True
        finally:
            done.set()
            sender.join()
        return False

    def interrupted(self, *_: object) -> None:
        """The handler of SIGINT. A signal that comes when the evaluation has ended would stop the checks."""
        if self.is_open:
            self.is_open = False
            raise KeyboardInterrupt

    def dropped(self, dropped: Any) -> None:
        if isinstance(dropped.exc_value, KeyboardInterrupt):
            self.counts["by_signal", "dropped by Python"] += 1
            self.is_open = True
        elif not isinstance(dropped.exc_value, AsyncException):
            sys.__unraisablehook__(dropped)

    def by_limit(self, session: vlad.Session, text: str, seconds: float) -> bool:
        try:
            session.eval(text, limits=vlad.Limits(seconds=seconds))
        except vlad.LimitExceeded as error:
            assert error.code == "out-of-time", error
            return True
        return False

    def by_thread(self, session: vlad.Session, text: str, seconds: float) -> bool:
        outcome: list[Any] = []

        def evaluate() -> None:
            try:
                # no call of compiled code that cannot be stopped; see asynchronous.py
                with session.limited(session.machine.limits):
                    outcome.append(session.eval(text))
            except BaseException as error:
                outcome.append(error)

        thread = threading.Thread(target=evaluate)
        thread.start()
        thread.join(seconds)
        while thread.is_alive():
            session.machine.watch.interrupt(cancelled(), thread.ident)
            thread.join(0.1)
        (found,) = outcome
        if isinstance(found, BaseException):
            assert isinstance(found, vlad.VladError) and found.code == "cancelled", repr(found)
            return True
        return False

    def by_cancelling(self, session: vlad.Session, text: str, seconds: float) -> bool:
        async def work() -> bool:
            try:
                await asyncio.wait_for(session.aeval(text), seconds)
            except TimeoutError:
                return True
            return False

        return asyncio.run(work())

    def check(self, session: vlad.Session, where: str, later: int | None) -> None:
        def found() -> dict[str, Any]:
            answers = {text: session.eval(text) for text in [*CHECKS, *self.expected]}
            if later is not None and "later" in session:
                answers["later"] = session["later"]
            return answers

        expected = CHECKS | self.expected
        for answers in (found(), elsewhere(found)):
            for text, value in expected.items():
                assert abs(answers[text] - value) <= 1e-9 * max(1.0, abs(value)), (where, text, answers[text])
        watch = session.machine.watch
        assert watch.active == 0 and session.tiers.job is None, where


def elsewhere(act: Callable[[], Any]) -> Any:
    """The result of a call in another thread; an error where that waits for ever."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(act()), daemon=True)
    thread.start()
    thread.join(60)
    assert results, "the session is locked, or another thread fails in it"
    return results[0]


def main() -> None:
    times, seed = [int(word) for word in (*sys.argv[1:], *("3000", "1")[len(sys.argv) - 1 :])]
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["VLAD_CACHE_DIR"] = folder
        stress = Stress(seed)
        before = sys.getrecursionlimit(), threading.active_count()
        stress.turns(times)
        after = sys.getrecursionlimit(), threading.active_count()
    for (way, outcome), count in sorted(stress.counts.items()):
        print(f"{way:<14} {outcome:<17} {count}")
    print(f"recursion limit and threads: {before} before, {after} after; {time.monotonic() - begun:.0f} s")
    assert after[0] == before[0]


if __name__ == "__main__":
    main()
