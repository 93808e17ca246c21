"""Tier auto compared with tier 0: it is not observable that a call restarted, compiled, halfway, nor that another was not
compiled at all, however long it took.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis.strategies import sampled_from

import vlad
from vlad.compile.calling import compilation, policy, preemption
from vlad.compile.calling.background import BACKGROUND, SWITCH_INTERVAL, Abandoned
from vlad.compile.calling.compiling_process import PROCESS
from vlad.compile.calling.costs import Costs
from vlad.compile.ir.refusals import Unbounded
from vlad.control import debug, gil_yield
from vlad.evaluate.limits import out_of_time

sys.path.insert(0, str(Path(__file__).parent.parent / "ad"))
from programs import functions

TURNS, OVERTAKEN = 40.0, 20.0
# Calls a procedure in each iteration, reports when it may be overtaken, and fails in a chosen iteration.
DRIVER = f"""(lambda (n bad)
  (let turning ((i 0) (total 0) (kept '()))
    (if (= i n)
        (list total (length kept))
        (let* ((done (if (= i {OVERTAKEN}) (display "|") (when (= (modulo i 8) 0) (write i))))
               (x (- (/ i 16) 1))
               (y MODE))
          (turning (+ i 1)
                   (+ total (if (= i bad) (car y) y))
                   (if (> y 0) (cons y kept) kept))))))"""
MODES = [
    "(f x (- 1 x))",
    "((derivative-R (lambda (v) (f x v))) (- 1 x))",
    "((derivative-F (lambda (v) (f v x))) (- 1 x))",
]

# The length of a tensor is known only when this runs, so what calls it is not compiled.
UNSTEADY = "(define (unsteady i) (+ (/ i 1000) (size (sum (ones (list 2 3)) #:axis (modulo i 2)))))"


class Outside:
    """A session's output. At a bar, it waits until the compiler is done."""

    def __init__(self, **columns: Any) -> None:
        self.written: list[str] = []
        self.session = vlad.Session(write=self.write, optimize=1, **columns)

    def write(self, text: str) -> None:
        self.written.append(text)
        end = time.monotonic() + 30
        while text == "|" and self.session.tiers.policy == "auto" and time.monotonic() < end:
            entries = self.session.tiers.entries.values()
            if any(entry.variants or entry.reason for entry in entries):
                return
            time.sleep(0.001)  # until the compiler, in its thread, has a result

    def outcome(self, f: Any, *operands: float) -> tuple[Any, str]:
        """The result of a call, or the facts of its error; and its output."""
        self.written.clear()
        try:
            answer = f(*operands)
        except vlad.VladError as error:
            backtrace = [(line.procedure, str(line.span)) for line in error.backtrace]
            answer = error.code, error.message, str(error.span), error.hint, backtrace
        return answer, "".join(self.written)


def alike(a: Any, b: Any) -> bool:
    """Up to the rounding of sums whose terms come in another order."""
    if isinstance(a, float) and isinstance(b, float):
        return (a != a and b != b) or a == b or math.isclose(a, b, rel_tol=1e-11, abs_tol=1e-12)
    if isinstance(a, list | tuple) and type(a) is type(b):
        return len(a) == len(b) and all(map(alike, a, b))
    return bool(a == b)


@pytest.fixture
def no_earlier_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From which it would be known that there is no code for a call."""
    monkeypatch.setenv("VLAD_CACHE_DIR", str(tmp_path / "cache"))


@settings(max_examples=15, deadline=None)
@given(functions(2), sampled_from(MODES), sampled_from([-1.0, 5.0, 30.0]))
def test_random_programs_that_are_overtaken(text: str, mode: str, bad: float) -> None:
    plain, overtaken = Outside(tier="evaluate"), Outside(tier="auto")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy, "A_MOMENT", 0.0)
        outcomes = []
        for side in (plain, overtaken):
            f = side.session.eval(f"(define f {text}) {DRIVER.replace('MODE', mode)}")
            outcomes.append(
                [
                    side.outcome(f, TURNS, bad),  # overtaken on the way, if it comes so far
                    side.outcome(f, TURNS, bad),  # machine code from the start
                    side.outcome(f, TURNS, -1.0),
                ]
            )
        BACKGROUND.wait_until_idle()
    expected, answer = outcomes
    assert alike(answer, expected)
    assert "|" in expected[2][1]


@pytest.mark.usefixtures("no_earlier_run")
def test_uncompiled_calls_return_the_same_to_the_last_bit() -> None:
    """The procedure that takes all of the time could be compiled by itself. But then the result, which depends on the last bit of
    a sum, would depend on timing.
    """
    text = f"""{UNSTEADY}
      (define table (tensor (linear-range -2 2 10000)))
      (define (smooth x) (sum (exp (sin (* x table)))))
      (lambda (n)
        (let turning ((i 0) (x 0.3))
          (if (= i n)
              x
              (let ((s (smooth (* x (+ 1 (* 0 (unsteady i)))))))
                (turning (+ i 1) (* 3.9 (* (abs (- s (floor s))) (- 1 (abs (- s (floor s)))))))))))"""
    expected = vlad.Session(tier="evaluate").eval(text)(1500.0)
    session = vlad.Session(tier="auto")
    f = session.eval(text)
    assert [f(1500.0) for _ in range(3)] == [expected] * 3
    BACKGROUND.wait_until_idle()
    assert session.tiers.entries[id(f.value)].reason is not None


@pytest.mark.usefixtures("no_earlier_run")
def test_what_is_handed_through_stays_the_same() -> None:
    """A pair that a procedure returns unchanged keeps its identity, however often it is called."""
    text = f"""{UNSTEADY}
      (define (slowly x n) (if (= n 0) x (slowly (sin (+ x 0.1)) (- n 1))))
      (define (keep p) (if (> (slowly (car p) 300) -10) p (cons 0 0)))
      (lambda (n)
        (let turning ((i 0) (same 0))
          (if (= i n)
              same
              (let ((p (cons (unsteady i) i)))
                (turning (+ i 1) (if (eq? p (keep p)) (+ same 1) same))))))"""
    session = vlad.Session(tier="auto")
    f = session.eval(text)
    assert [f(1500.0) for _ in range(3)] == [1500.0] * 3
    BACKGROUND.wait_until_idle()
    assert session.tiers.entries[id(f.value)].reason is not None


def test_what_is_compiled_does_not_take_over_what_is_to_end() -> None:
    """Python keeps one pending exception per thread: a later one would replace the limit's, which is raised again only
    after a while.
    """
    session = vlad.Session(tier="auto")
    interrupted, done = threading.Event(), threading.Event()

    def interrupt() -> None:
        interrupted.wait()
        job, watch = session.tiers.job, session.machine.watch
        assert job is not None
        job.compiled = object()  # there is something to start instead
        watch.interrupt(out_of_time(1), job.thread)
        job.request_switch()
        done.set()

    def wait() -> None:
        """Without a step between the two, as a thread that has Python's lock."""
        interrupted.set()
        done.wait()

    session["wait"] = wait
    thread = threading.Thread(target=interrupt)
    thread.start()
    usual = sys.getswitchinterval()
    sys.setswitchinterval(10)
    try:
        with pytest.raises(vlad.LimitExceeded) as caught:
            session.eval("(begin (wait) (let loop ((i 0)) (if (< i 1000) (loop (+ i 1)) i)))")
    finally:
        sys.setswitchinterval(usual)
        thread.join()
    assert caught.value.code == "out-of-time"
    assert session.eval("(+ 1 2)") == 3


# Of what this calls there is C as well.
SQUARING = "(lambda (n x) (let loop ((i 0) (x x)) (if (= i n) x (loop (+ i 1) (* 0.5 (squared x))))))"


def squaring(session: vlad.Session, meanwhile: Callable[[], object]) -> list[int]:
    """How often the Python function came to its end, and how often it was called."""
    counts = [0, 0]

    @vlad.primitive(partials="(* 2 x)", c="{x} * {x}")
    def squared(x: float) -> float:
        counts[1] += 1
        meanwhile()
        counts[0] += 1
        return x * x

    session["squared"] = squared
    return counts


def long_work() -> None:
    for turn in range(5000):
        len([turn])


def waiting() -> None:
    time.sleep(0.001)  # others have Python meanwhile, and never else
    sum(map(abs, range(100)))


class Finalized:
    begun = ended = 0

    def __del__(self) -> None:
        Finalized.begun += 1
        long_work()
        Finalized.ended += 1


@pytest.mark.parametrize("meanwhile", [int, long_work, waiting, Finalized], ids=lambda act: act.__name__)
def test_what_takes_over_does_not_cut_short_what_the_program_calls(
    meanwhile: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes over at once when that has ended: the request is made only once."""
    monkeypatch.setattr(preemption, "AGAIN_SECONDS", 1000.0)
    monkeypatch.setattr(policy, "A_MOMENT", 0.0)
    for _ in range(5):
        session = vlad.Session(tier="auto")
        counts = squaring(session, meanwhile)
        assert session.eval(SQUARING)(1e8, 0.5) == 0
        assert counts[0] == counts[1] < 1e8
        assert Finalized.ended == Finalized.begun
        session.close()


def test_what_is_evaluated_inside_writes_and_does_not_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal handler's evaluation, for example, is not part of the restarted one."""
    monkeypatch.setattr(policy, "A_MOMENT", 0.0)
    written: list[str] = []
    session = vlad.Session(tier="auto", write=written.append)
    counts = squaring(session, lambda: session.eval("(display 1)"))
    assert session.eval(SQUARING)(1e8, 0.5) == 0
    assert len(written) == counts[0] == counts[1] < 1e8


@pytest.fixture
def compiles_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, as another one takes longer to start than the calls take; and beside tier 0 in each session, though the
    first has found out that compiled code is quicker.
    """
    monkeypatch.setattr(PROCESS, "compiled", lambda *operands: None)
    monkeypatch.setattr(Costs, "of", lambda *operands: None)
    monkeypatch.setattr(preemption, "AGAIN_SECONDS", 0.001)
    monkeypatch.setattr(policy, "A_MOMENT", 0.0)


def give_way() -> None:
    """From a deep recursion, which takes its time."""
    switched = 0
    for depth in range(100_000, 400_000, 10_000):
        session = vlad.Session(tier="auto")
        f = session.eval("(define (depth n) (if (= n 0) 0 (+ 1 (depth (- n 1))))) depth")
        assert [f(float(depth)) for _ in range(3)] == [depth] * 3
        assert session.tiers.job is None
        switched += bool(session.tiers.entries[id(f.value)].variants)
        session.close()
    assert switched > 0


@pytest.mark.usefixtures("compiles_at_once")
def test_a_thread_that_was_switched_may_be_switched_again() -> None:
    give_way()


@pytest.mark.usefixtures("compiles_at_once")
def test_a_switch_in_another_thread_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be interrupted during its cleanup."""
    # what arrives in a finalizer is dropped; while pytest reports that, the next may arrive
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    failed: list[BaseException] = []

    def in_thread() -> None:
        try:
            give_way()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    assert not failed


@pytest.mark.parametrize("ends_by", [None, Abandoned(), ValueError("not at fault")])
def test_an_evaluation_waits_less_for_the_compiler(
    ends_by: BaseException | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only while it is at work, however that ends."""
    turns: list[float] = []
    makes_way: list[bool] = []

    def compile_call(*operands: Any, **columns: Any) -> Any:
        makes_way.append(gil_yield._this_thread.since < math.inf)
        turns.append(sys.getswitchinterval())
        if ends_by is not None:
            raise ends_by
        raise Unbounded("it is only asked how long turns are")

    BACKGROUND.wait_until_idle()
    monkeypatch.setattr(compilation, "compile_call", compile_call)
    monkeypatch.setattr(policy, "A_MOMENT", 0.0)
    monkeypatch.setattr(debug, "rungs", debug.rungs - {debug.TRACEBACKS})
    usual = sys.getswitchinterval()
    side = Outside(tier="auto")
    f = side.session.eval("(lambda (n) (let turning ((i 0)) (if (< i n) (turning (+ i 1)) i)))")
    while not turns:
        f(10000.0)
    BACKGROUND.wait_until_idle()
    assert makes_way[0]
    assert turns[0] == SWITCH_INTERVAL < usual
    assert sys.getswitchinterval() == usual
