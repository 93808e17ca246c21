"""Threads: sessions of their own, or one that they share; what waits for each other; samples of session_soak.py."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vlad
from vlad.session.session_lock import cancelled

sys.path.insert(0, str(Path(__file__).parent))
import session_soak

pytestmark = pytest.mark.any_compiler

TIERS = session_soak.TIERS
LONG = "(define (turns n) (let loop ((i 0) (x 0.1)) (if (< i n) (loop (+ i 1) (sin (+ x i))) x)))"


def in_threads(*works: Callable[[], Any]) -> list[Any]:
    """The results, or errors, of functions, each in a thread of its own."""
    answers: list[Any] = [None] * len(works)

    def run(index: int, work: Callable[[], Any]) -> None:
        try:
            answers[index] = work()
        except BaseException as error:
            answers[index] = error

    threads = [threading.Thread(target=run, args=item) for item in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@pytest.mark.timeout(60)
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("tier", TIERS)
def test_threads_return_the_same_as_one_thread(tier: str, shared: bool) -> None:
    session_soak.threads(tier, shared, 4 if shared else 3, 200)


@pytest.mark.timeout(60)
def test_compiled_calls_let_others_run() -> None:
    """While machine code of two sessions runs, so does Python."""
    sessions = [vlad.Session(tier="compile", optimize=0) for _ in range(2)]
    for session in sessions:
        session.eval(LONG)
        assert session["turns"](10.0)
    running = [0, 0]
    both: list[int] = []
    ended = threading.Event()

    def call(index: int) -> float:
        running[index] = 1
        try:
            return sessions[index]["turns"](1e7)
        finally:
            running[index] = 0
            ended.set()

    def watch() -> int:
        count = 0
        while not ended.is_set():
            count += 1
            both.append(sum(running))
            time.sleep(0.001)  # between two looks
        return count

    first, second, steps = in_threads(lambda: call(0), lambda: call(1), watch)
    assert first == second
    assert steps > 10 and both.count(2) > 10  # a call that held Python's lock would prevent counting


@pytest.mark.timeout(60)
def test_sessions_that_wait_for_each_other() -> None:
    """Each thread evaluates in a session and calls the other's: one of them gets an error, and all of it ends."""
    a, b = vlad.Session(), vlad.Session()
    meet = threading.Barrier(2)
    for session, other in ((a, b), (b, a)):
        session.eval("(define (own x) (+ x 1))")

        def call(x: float, session: vlad.Session = session, other: vlad.Session = other) -> Any:
            meet.wait()
            return other.eval(f"(own {x})")

        session["call"] = call
    answers = in_threads(lambda: a.eval("(call 1)"), lambda: b.eval("(call 1)"))
    errors = [answer for answer in answers if isinstance(answer, vlad.VladError)]
    assert [error.code for error in errors] == ["deadlock"] and errors[0].span is not None
    assert 2.0 in answers
    assert a.eval("(own 1)") == b.eval("(own 1)") == 2


@pytest.mark.timeout(60)
def test_a_long_wait_is_no_deadlock() -> None:
    a, b = vlad.Session(), vlad.Session()
    a["ask"] = lambda: b.eval("(+ 1 (slowly))")
    b["slowly"] = lambda: time.sleep(0.6) or 1.0
    assert in_threads(lambda: b.eval("(slowly)"), lambda: a.eval("(ask)"), lambda: a.eval("(ask)")) == [
        1,
        2,
        2,
    ]


@pytest.mark.parametrize("tier", TIERS)
def test_what_is_written_to_may_call_the_procedure_that_writes(tier: str) -> None:
    written: list[str] = []

    def write(text: str) -> None:
        written.append(text)
        if len(written) < 5:
            assert shown(len(written) * 1.0) == len(written) * 2.0 or len(written) == 5

    session = vlad.Session(tier=tier, write=write)
    shown = session.eval("(lambda (x) (begin (display x) (* 2 x)))")
    assert shown(0.5) == 1.0
    assert written == ["0.5", "1", "2", "3", "4"]


@pytest.mark.parametrize("tier", TIERS)
def test_finalizers_and_handlers_evaluate_in_between(tier: str) -> None:
    """Wherever an evaluation is, another one in the same thread does not disturb it."""
    session = vlad.Session(tier=tier)
    session.eval(
        """(define (down n x) (if (= n 0) x (up (- n 1) (+ x 1) n)))
           (define (up n x m) (if (= n 0) (+ x m) (down (- n 1) (- x 1))))
           (define (count n) (down n 0))"""
    )
    count = session["count"]
    expected = count(1001.0)
    small = session.eval("(lambda (x) (down (real x) 100))")
    answers: list[float] = []
    before = signal.signal(signal.SIGPROF, lambda *_: answers.append(small(5.0)))
    try:
        for fired in range(40):
            signal.setitimer(signal.ITIMER_PROF, 0.0003)  # once
            begun = time.monotonic()
            while len(answers) == fired:
                assert count(1001.0) == expected
                assert time.monotonic() < begun + 20  # it was lost
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert set(answers) == {small(5.0)}

    class Ending:
        def __init__(self, x: float) -> None:
            self.x = x

        def __del__(self) -> None:
            answers.append(small(5.0))

    answers.clear()
    session["make"] = lambda x: vlad.Opaque(Ending(x))
    session["value"] = lambda held: held.x
    assert (
        session.eval("(let loop ((i 0) (s 0)) (if (= i 50) s (loop (+ i 1) (+ s (value (make i))))))") == 1225
    )
    assert len(answers) == 50


@pytest.mark.parametrize("tier", TIERS)
def test_what_is_redefined_by_another_thread(tier: str) -> None:
    """Each call uses the old meaning or the new one, and after the last definition has returned, the last one."""
    session = vlad.Session(tier=tier)
    session.eval("(define k 0) (define (f x) (+ x k))")
    f = session["f"]
    done = threading.Event()

    def redefine() -> None:
        for k in range(1, 10 if tier == "compile" else 100):
            session["k"] = float(k)
            assert f(0.5) == k + 0.5
        done.set()

    def call() -> list[float]:
        answers = []
        while not done.is_set():
            answers.append(f(0.5))
        return answers

    _, first, second = in_threads(redefine, call, call)
    assert sorted(first) == first and sorted(second) == second
    assert f(0.5) == session["k"] + 0.5


def test_a_procedure_of_another_session_is_refused() -> None:
    one, other = vlad.Session(), vlad.Session()
    one.eval("(define (g x) (* 2 x)) (define (f x) (g x))")
    for use in (lambda: other.__setitem__("f", one["f"]), lambda: other.eval("(lambda (f) (f 1))")(one["f"])):
        with pytest.raises(vlad.VladError, match="f is a procedure of another session") as caught:
            use()
        assert caught.value.code == "other-session"
    other["f"] = vlad.loads(vlad.dumps(one["f"]), other)
    assert other.eval("(f 4)") == 8


# Awaiting.


def run(work: Callable[[vlad.Session], Any], tier: str) -> None:
    with vlad.Session(tier=tier) as session:
        session.eval(LONG)
        session.eval("(define (square-of x) (* x x))")
        asyncio.run(work(session))
        assert session.eval("(turns 3)") == pytest.approx(0.24785047316783965)
    assert "vlad-evaluation" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.parametrize("tier", TIERS)
def test_awaited_evaluations(tier: str) -> None:
    async def work(session: vlad.Session) -> None:
        assert await session.aeval("(+ 1 2)") == 3
        assert await session.acall(session["square-of"], 3.0) == 9
        assert await session.acall(vlad.grad(session["square-of"]), 3.0) == 6
        assert await session.acall(vlad.jvp, session["square-of"], 3.0, 1.0) == (9, 6)
        many = await asyncio.gather(*[session.aeval(f"(square-of {i})") for i in range(50)])
        assert many == [i * i for i in range(50)]
        with pytest.raises(vlad.VladError, match="Unbound variable: x"):
            await session.aeval("x")
        for awaited in (
            session.aeval("(turns 1e12)", limits=vlad.Limits(seconds=0.1)),
            session.acall(session["turns"], 1e12, limits=vlad.Limits(seconds=0.1)),
        ):
            with pytest.raises(vlad.LimitExceeded):
                await awaited

    run(work, tier)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("tier", TIERS)
def test_the_event_loop_goes_on_and_cancels(tier: str) -> None:
    async def work(session: vlad.Session) -> None:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.005)
                ticks += 1

        ticking = asyncio.create_task(tick())
        turns = session["turns"]
        for awaited in (
            lambda: session.aeval("(turns 1e12)"),
            lambda: session.acall(turns, 1e12),
            lambda: session.aeval("(turns 1e12)", limits=vlad.Limits(seconds=50)),
        ):
            for most in (0, 20):
                before = ticks
                evaluation = asyncio.ensure_future(awaited())
                waiting = [asyncio.ensure_future(awaited()) for _ in range(3)]
                while ticks - before < most:
                    await asyncio.sleep(0.01)
                assert not evaluation.done()
                for task in (*waiting, evaluation):
                    task.cancel()
                done = await asyncio.gather(evaluation, *waiting, return_exceptions=True)
                assert [type(error) for error in done] == [asyncio.CancelledError] * 4
                assert await session.aeval("(square-of 3)") == 9
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(session.aeval("(turns 1e12)"), 0.1)
        ticking.cancel()

    run(work, tier)


@pytest.mark.timeout(60)
def test_a_task_that_waits_for_another_thread_is_cancelled_at_once() -> None:
    begun, go_on = threading.Event(), threading.Event()

    async def work(session: vlad.Session) -> None:
        def pause() -> float:
            begun.set()
            go_on.wait(30)
            return 1.0

        session["pause"] = pause
        other = threading.Thread(target=session.eval, args=("(pause)",))
        other.start()
        begun.wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(session.aeval("(+ 1 2)"), 0.1)
        assert other.is_alive()
        go_on.set()
        assert await session.aeval("(+ 1 2)") == 3
        other.join()

    run(work, "evaluate")


def test_a_cancelled_evaluation_ends_with_its_own_error() -> None:
    session, begun = vlad.Session(tier="evaluate"), threading.Event()
    session["begin-now"] = lambda x: begun.set()
    errors: list[str] = []

    def evaluate() -> None:
        with pytest.raises(vlad.VladError) as caught:
            session.eval("(begin (begin-now 1) (let loop () (loop)))")
        errors.append(caught.value.code)

    thread = threading.Thread(target=evaluate)
    thread.start()
    begun.wait()
    while thread.is_alive():
        session.machine.watch.interrupt(cancelled(), thread.ident)
        thread.join(0.25)
    assert errors == ["cancelled"] and session.eval("(+ 1 2)") == 3


def test_what_is_awaited_belongs_to_the_session() -> None:
    async def work(session: vlad.Session) -> None:
        with vlad.Session() as other:
            f = other.eval("(lambda (x) x)")
            with pytest.raises(vlad.VladError, match="is a procedure of another session"):
                await session.acall(f, 1.0)
        with pytest.raises(vlad.VladError, match="The session is closed"):
            await other.aeval("1")

    run(work, "evaluate")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_many_tasks(tier: str) -> None:
    asyncio.run(session_soak.tasks(tier, 60))


def test_asyncio_is_not_imported_without_await() -> None:
    import subprocess

    text = "import sys, vlad; vlad.Session().eval('(+ 1 2)'); print('asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_result_is_converted_in_turn_if_another_thread_has_set_limits() -> None:
    """After the call has ended: the watch of an evaluation belongs to one thread at a time."""
    session = vlad.Session()
    begun, ending = threading.Event(), threading.Event()

    def limit() -> None:
        with session.limited(vlad.Limits(seconds=60)):
            begun.set()
            ending.wait()

    found: list[object] = []
    threads = [
        threading.Thread(target=limit),
        threading.Thread(target=lambda: found.append(session._as_python((1.0, (2.0, ()))))),
    ]
    threads[0].start()
    begun.wait()
    threads[1].start()
    threads[1].join(0.2)
    waited = not found
    ending.set()
    for thread in threads:
        thread.join()
    assert waited and found == [[1.0, 2.0]]
