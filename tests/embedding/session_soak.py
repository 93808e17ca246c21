"""Long-running tests of sessions: python tests/embedding/session_soak.py [sessions | libraries | threads] ...

    sessions    100,000 sessions are made, used and closed; memory does not grow
    libraries   2,000 sessions compile, and are closed or dropped; neither memory, files nor mappings grow
    threads     8 threads with 10,000 mixed evaluations each, in sessions of their own and all in one, on each tier, return the
                results of one thread
    tasks       9,000 awaited evaluations, a third of them cancelled; no thread is left

All of them without an argument. The tests take samples of these (test_threads.py).
"""

from __future__ import annotations

import asyncio
import gc
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import vlad

TIERS = ("evaluate", "auto", "compile")
DEFINITIONS = """
(define (square-of x) (* x x))
(define (numbers n) (if (= n 0) '() (cons n (numbers (- n 1)))))
(define (total l) (if (null? l) 0 (+ (car l) (total (cdr l)))))
(define (turns n) (let loop ((i 0) (x 0.1)) (if (< i n) (loop (+ i 1) (sin (+ x i))) x)))
(define (even-steps? n) (if (= n 0) #t (odd-steps? (- n 1))))
(define (odd-steps? n) (if (= n 0) #f (even-steps? (- n 1))))
(define (loss w x) (sum (square (- (* w x) 1))))
(define (twice f) (lambda (x) (f (f x))))
"""


def refused(work: Callable[[], Any]) -> str:
    try:
        work()
    except vlad.VladError as error:
        return error.code
    return "nothing"


# Work of a thread in a session, by iteration. Defined names are the thread's own.
MIXED: list[Callable[[vlad.Session, int, str], Any]] = [
    lambda s, i, own: s.eval(f"(+ {i} (square-of {i % 7}))"),
    lambda s, i, own: s["square-of"](i * 0.5),
    lambda s, i, own: s["numbers"](float(i % 9)),
    lambda s, i, own: s["total"]([1.0, 2.0, i * 1.0]),
    lambda s, i, own: s["turns"](float(i % 50)),
    lambda s, i, own: s["even-steps?"](float(i % 20)),
    lambda s, i, own: vlad.grad(s["square-of"])(i * 0.25),
    lambda s, i, own: vlad.grad(s["turns"])(3.0) if i % 10 == 0 else None,
    lambda s, i, own: s["loss"](i * 0.1, np.array([1.0, 2.0, 3.0])),
    lambda s, i, own: vlad.grad(s["loss"], 1)(0.5, np.array([1.0, i * 1.0])).tolist(),
    lambda s, i, own: s.eval("(twice (lambda (x) (+ x 1)))")(i * 1.0),
    lambda s, i, own: s.eval(f"(begin (define {own} (lambda (x) (+ x {i}))) ({own} 2))") if i % 20 == 0 else None,
    lambda s, i, own: refused(lambda: s.eval("(car 3)")),
    lambda s, i, own: refused(lambda: s.eval("(turns 1e9)", limits=vlad.Limits(fuel=100))) if i % 50 == 0 else None,
    lambda s, i, own: s.eval(f'(string-append "a" (if (> {i} 3) "b" "c"))'),
    lambda s, i, own: s["apply-it"](float(i)),
]  # fmt: skip


def session_of(tier: str) -> vlad.Session:
    session = vlad.Session(tier=tier, optimize=0, write=lambda text: None)
    session.eval(DEFINITIONS)
    square = session["square-of"]
    session["host"] = lambda x: square(x) + 1  # from Python back into the session
    session.eval("(define (apply-it x) (* 2 (host x)))")
    return session


def work(session: vlad.Session, count: int, own: str) -> list[Any]:
    return [MIXED[i % len(MIXED)](session, i // len(MIXED), own) for i in range(count)]


def same(a: Any, b: Any) -> bool:
    """Equal except for the last digits, which tiers may round differently."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-300)
    return bool(a == b)


def threads(tier: str, shared: bool, count: int = 8, each: int = 10_000) -> float:
    """Seconds. Raises AssertionError if threads return other results than one thread."""
    begun = time.monotonic()
    with session_of(tier) as session:
        expected = work(session, each, "own")
    sessions = [session_of(tier)] * count if shared else [session_of(tier) for _ in range(count)]
    answers: list[Any] = [None] * count

    def run(index: int) -> None:
        try:
            answers[index] = work(sessions[index], each, f"own-{index}")
        except BaseException as error:
            answers[index] = error

    running = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
        wrong = [i for i in range(each) if not same(answer[i], expected[i])]
        assert not wrong, [(i, answer[i], expected[i]) for i in wrong[:3]]
    for session in sessions:
        session.close()
    return time.monotonic() - begun


async def tasks(tier: str, count: int) -> None:
    """Evaluations that are awaited, every third cancelled, of three sessions at a time."""
    sessions = [session_of(tier) for _ in range(3)]

    async def one(index: int) -> Any:
        session = sessions[index % 3]
        if index % 9 in (0, 4, 8):
            evaluation = asyncio.ensure_future(session.aeval("(turns 1e12)"))
            await asyncio.sleep(0.0001 * (index % 50))
            evaluation.cancel()
            try:
                await evaluation
            except asyncio.CancelledError:
                return await session.aeval(f"(square-of {index})")
        return await session.acall(session["square-of"], float(index))

    for begin in range(0, count, 30):
        answers = await asyncio.gather(*[one(index) for index in range(begin, begin + 30)])
        assert answers == [float(index * index) for index in range(begin, begin + 30)]
    for session in sessions:
        session.close()


def resident() -> float:
    """Megabytes of memory."""
    gc.collect()
    with open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def mapped() -> tuple[int, int]:
    """The number of memory mappings of this process, and their total in megabytes."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        areas = [line.split()[0].split("-") for line in file]
    return len(areas), sum(int(end, 16) - int(start, 16) for start, end in areas) // 1_000_000


def sessions(count: int, close: bool = True) -> None:
    for index in range(count):
        session = vlad.Session()
        assert (
            session.eval(f"(let ((f (lambda (x) (+ x {index}))) (g (lambda (x) x))) (f (g 1)))") == index + 1
        )
        if close:
            session.close()


def libraries(count: int, ending: str) -> None:
    """Sessions with libraries that have a stack, an arena, a line of text, and calls from Python."""
    for _ in range(count):
        session = session_of("compile")
        assert session["square-of"](3.0) == 9
        assert session["numbers"](3.0) == [3, 2, 1] and session["turns"](10.0)
        assert session.eval("(begin (display (list 1 2)) 2)") == 2
        if ending == "closed":
            session.close()
        elif ending == "redefined":
            session.eval(DEFINITIONS)


def main(wanted: list[str]) -> None:
    wanted = wanted or ["sessions", "libraries", "threads", "tasks"]
    if "sessions" in wanted:
        sessions(2000)
        before, begun = resident(), time.monotonic()
        for part in range(1, 11):
            sessions(10_000)
            milliseconds = (time.monotonic() - begun) / part / 10
            print(
                f"{part * 10_000} sessions, {milliseconds:.2f} ms each: {resident() - before:+.1f} MB",
                flush=True,
            )
    if "libraries" in wanted:
        for ending in ("closed", "collected", "redefined"):
            libraries(100, ending)
            begun_at = resident(), *mapped(), len(os.listdir("/proc/self/fd"))
            libraries(700, ending)
            now = resident(), *mapped(), len(os.listdir("/proc/self/fd"))
            changes = ", ".join(f"{b - a:+.1f} {what}" for a, b, what in
                             zip(begun_at, now, ("MB", "areas", "MB of addresses", "files"), strict=True))  # fmt: skip
            print(f"700 sessions that compile, {ending}: {changes}", flush=True)
    if "threads" in wanted:
        for tier in TIERS:
            for shared in (False, True):
                seconds = threads(tier, shared)
                print(f"8 threads, tier {tier}, {'one session' if shared else 'a session each'}: the same in {seconds:.0f} s",
                      flush=True)  # fmt: skip
    if "tasks" in wanted:
        for tier in TIERS:
            before_it = threading.active_count()
            asyncio.run(tasks(tier, 3000))
            left = [thread.name for thread in threading.enumerate() if thread.name == "vlad-evaluation"]
            print(f"3000 tasks, tier {tier}: {threading.active_count() - before_it:+d} threads", flush=True)
            assert not left


if __name__ == "__main__":
    main(sys.argv[1:])
