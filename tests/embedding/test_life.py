"""The end of a session: what it held is freed, and later use raises an error. And sessions in forked processes."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlad
from vlad.compile.calling import notifier

TIERS = ("evaluate", "auto", "compile")
DEFINITIONS = """
(define (square-of x) (* x x))
(define (numbers n) (if (= n 0) '() (cons n (numbers (- n 1)))))
(define (shown x) (begin (display x) x))
(define (turns n) (let loop ((i 0) (x 0.1)) (if (< i n) (loop (+ i 1) (sin (+ x i))) x)))
"""
linux = pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="only Linux lists what is mapped")


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Memory is freed without Python's cycle collector."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def session_of(tier: str, **columns: Any) -> vlad.Session:
    session = vlad.Session(tier=tier, **columns)
    session.eval(DEFINITIONS)
    return session


USES: dict[str, Callable[[vlad.Session, Any], Any]] = {
    "a call": lambda session, f: f(2.0),
    "a call with an array": lambda session, f: f(np.ones(2)),
    "a gradient": lambda session, f: vlad.grad(f),
    "a product": lambda session, f: vlad.jvp(f, 1.0, 1.0),
    "eval": lambda session, f: session.eval("1"),
    "run_text": lambda session, f: session.run_text("1"),
    "a value": lambda session, f: session["square-of"],
    "is there a value?": lambda session, f: "square-of" in session,
    "a definition": lambda session, f: session.__setitem__("x", 1),
    "a function": lambda session, f: session.define(lambda x: x),
    "names": lambda session, f: session.known_names(),
    "defined": lambda session, f: session.defined(),
    "counts": lambda session, f: session.counts,
    "limited": lambda session, f: session.limited(None).__enter__(),
    "saving": lambda session, f: vlad.dumps(f),
    "loading": lambda session, f: vlad.loads(vlad.dumps(3.0), session),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("tier", TIERS)
def test_a_closed_session_is_an_error_to_whoever_uses_it(tier: str, use: str) -> None:
    session = session_of(tier)
    f = session["square-of"]
    for argument in (
        2.0,
        np.ones(2),
        2.0,
        np.ones(2),
    ):  # by now machine code is called directly where there is some
        f(argument)
    assert not session.closed
    session.close()
    session.close()
    assert session.closed
    with pytest.raises(vlad.VladError, match="The session is closed") as caught:
        USES[use](session, f)
    assert caught.value.code == "session-closed" and caught.value.hint
    assert repr(f) == f"<vlad procedure {f.__name__} of a closed session>" and f.__name__ == "square-of"


def test_a_context_is_closed_at_its_end() -> None:
    with pytest.raises(vlad.VladError, match="Unbound"), vlad.Session() as session:
        session.eval("nothing")
    assert session.closed
    with vlad.Session.confined() as session, session.limited(vlad.Limits(fuel=1000)):
        session.close()
    assert session.closed


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("tier", TIERS)
def test_what_a_session_held_is_free(tier: str) -> None:
    def write(text: str) -> None:
        written.append(text)

    class Host:
        def __call__(self, x: float) -> float:
            return x + 1

    written: list[str] = []
    host = Host()
    session = session_of(tier, write=write)
    session["host"] = host
    f = session["shown"]
    assert session.eval("(begin (shown (host 2)) (turns 10) (numbers 3))") == [3, 2, 1] and f(2.0) == 2.0
    watched = [weakref.ref(thing) for thing in (session.machine, session.tiers, session.module, write, host)]
    session.close()
    assert repr(f) == "<vlad procedure shown of a closed session>"
    del write, host
    assert [thing() for thing in watched] == [None] * 5
    whole = weakref.ref(session)
    del f, session
    assert whole() is None


def test_a_session_that_reached_call_cc_and_is_dropped_is_free() -> None:
    session = vlad.Session(tier="evaluate")
    session.eval("(define big (iota 20)) (define (f x) (+ (car big) (call/cc (lambda (k) (k x)))))")
    assert session.eval("f")(3.0) == 3.0
    machine = weakref.ref(session.machine)
    del session
    gc.collect()
    assert machine() is None


def mapped() -> tuple[int, int]:
    """The number of memory mappings of this process, and their total in megabytes."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        areas = [line.split()[0].split("-") for line in file]
    return len(areas), sum(int(end, 16) - int(start, 16) for start, end in areas) // 1_000_000


@linux
@pytest.mark.parametrize("ending", ["closed", "collected", "redefined"])
def test_libraries_are_unloaded(ending: str) -> None:
    """Each session has some with a stack, an arena, a line of text, and calls from Python."""

    def session() -> None:
        session = session_of("compile", write=lambda text: None)
        assert session["square-of"](3.0) == 9
        assert session["numbers"](3.0) == [3, 2, 1] and session["turns"](10.0)
        assert session["shown"](2.0) == 2
        if ending == "closed":
            session.close()
        elif ending == "redefined":
            session.eval(DEFINITIONS)
            gc.collect()

    def sessions(count: int) -> tuple[int, int, int]:
        for _ in range(count):
            session()
        gc.collect()
        return *mapped(), len(os.listdir("/proc/self/fd"))

    gc.collect()
    gc.freeze()  # what other tests have left need not be gone through in each session
    areas, megabytes, files = sessions(3)
    for _ in range(2):
        more_areas, more_megabytes, more_files = sessions(6)
    # the allocator of C may map an area for itself; a library has five
    assert more_areas <= areas + 4 and more_megabytes < megabytes + 100 and more_files == files


@linux
def test_a_thousand_sessions_take_no_memory() -> None:
    def resident() -> int:
        gc.collect()
        with open("/proc/self/statm", encoding="utf-8") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def sessions(count: int) -> None:
        for index in range(count):
            with vlad.Session() as session:
                assert session.eval(f"(let ((f (lambda (x) (+ x {index})))) (f 1))") == index + 1

    sessions(100)
    before = resident()
    sessions(1000)
    assert resident() - before < 2_000_000


def test_close_waits_for_an_evaluation() -> None:
    session = session_of("evaluate")
    begun, go_on = threading.Event(), threading.Event()

    def pause() -> float:
        begun.set()
        go_on.wait()
        return 1.0

    session["pause"] = pause
    answers: list[Any] = []
    evaluating = threading.Thread(target=lambda: answers.append(session.eval("(+ 1 (pause))")))
    evaluating.start()
    begun.wait()
    closing = threading.Thread(target=session.close)
    closing.start()
    closing.join(0.05)
    assert not session.closed
    go_on.set()
    evaluating.join()
    closing.join()
    assert session.closed and answers == [2.0]


@pytest.mark.parametrize("tier", TIERS)
def test_a_session_is_not_closed_within_its_evaluation(tier: str) -> None:
    session = session_of(tier)
    session["close"] = session.close
    with pytest.raises(vlad.VladError, match="The session is evaluating") as caught:
        session.eval("(begin (close) 1)")
    assert caught.value.code == "in-use"
    assert session.eval("(square-of 3)") == 9


def test_the_compiler_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is stopped, silently."""
    compiler = tmp_path / "cc"
    compiler.write_text(
        '#!/bin/sh\ncase "$1" in --version) echo cc 1;; *) '
        f"echo $$ > {tmp_path}/pid.tmp; mv {tmp_path}/pid.tmp {tmp_path}/pid; sleep 60;; esac\n"
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("VLAD_CC", str(compiler))
    monkeypatch.setenv("VLAD_CACHE", "off")
    monkeypatch.setattr(notifier, "_warned", set())
    monkeypatch.setattr(notifier, "write_message", lambda message: pytest.fail(message))
    session = session_of("auto")
    while not (tmp_path / "pid").exists():
        session.eval("(turns 1000000)")
    begun = time.monotonic()
    session.close()
    assert time.monotonic() - begun < 30
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


# Processes that are forked: one that is alone, for pytest has threads.


def child(text: str, **environment: str) -> str:
    """The output of a program in which `in_child(work)` runs `work` in a fork, and prints its result or its VladError."""
    head = f"""
        import os, sys, threading, time, vlad
        def in_child(work):
            sys.stdout.flush()
            pid = os.fork()
            if pid == 0:
                try:
                    print(work())
                except vlad.VladError as error:
                    print(error.code)
                sys.stdout.flush()
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
        session = vlad.Session()
        session.eval({DEFINITIONS!r})
    """
    program = textwrap.dedent(head) + textwrap.dedent(text)
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program], capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path(vlad.__file__).parent.parent), **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("tier", TIERS)
def test_a_forked_process_goes_on(tier: str) -> None:
    text = """
        import gc
        f, slope = session["turns"], vlad.grad(session["square-of"])
        expected = f(1e5), slope(3.0)
        other = vlad.Session()
        in_child(lambda: (f(1e5), slope(3.0)) == expected and other.eval("(+ 1 2)") == 3)
        def forks():
            in_child(lambda: session.eval("(square-of 4)"))
            return 1.0
        session["forks"] = forks
        print(session.eval("(+ 1 (forks))"), f(1e5) == expected[0], gc.isenabled(), sys.getrecursionlimit())
        in_child(lambda: (gc.isenabled(), sys.getrecursionlimit()))
        parent = os.getpid()
        def fork_once():
            pid = os.fork()
            return 1.0 if pid == 0 else float(os.waitpid(pid, 0)[1] == 0)
        session["fork-once"] = fork_once
        try:  # both processes evaluate on, and both reach the limit
            session.eval("(begin (fork-once) (turns 1e12))", limits=vlad.Limits(seconds=0.2))
        except vlad.LimitExceeded as error:
            print(error.code, flush=True)
            if os.getpid() != parent:
                os._exit(0)
    """
    assert child(text, VLAD_TIER=tier).split("\n")[:6] == [
        "True",
        "16.0",
        "2.0 True True 1000",
        "(True, 1000)",
        "out-of-time",
        "out-of-time",
    ]


@pytest.mark.parametrize("tier", TIERS)
def test_a_session_that_another_thread_evaluates_in_is_lost_to_a_fork(tier: str) -> None:
    text = """
        import gc
        f = session["square-of"]
        f(2.0)
        begun = threading.Event()
        def begin():
            begun.set()
            return 1.0
        session["begin-it"] = begin
        other = vlad.Session()
        def work():
            try:
                session.eval("(begin (begin-it) (turns 1e12))", limits=vlad.Limits(seconds=1.5))
            except vlad.LimitExceeded as error:
                print(error.code)
        thread = threading.Thread(target=work)
        thread.start()
        begun.wait()
        in_child(lambda: f(3.0))
        in_child(lambda: session.eval("1"))
        in_child(lambda: (other.eval("(+ 1 2)"), gc.isenabled(), sys.getrecursionlimit()))
        thread.join()
        print(session.eval("(square-of 4)"))
    """
    assert child(text, VLAD_TIER=tier).split("\n")[:5] == [
        "session-closed",
        "session-closed",
        "(3.0, True, 1000)",
        "out-of-time",
        "16.0",
    ]


def test_the_compiler_of_the_parent_is_left_alone() -> None:
    """A compilation in the background continues, and the child starts its own."""
    text = """
        begun = threading.Event()
        def begin():
            begun.set()
            return 1.0
        session["begin-it"] = begin
        def work():
            session.eval("(turns 5e6)")
        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.1)  # it is in the middle of it
        pid = os.fork()
        if pid == 0:
            other = vlad.Session(tier="auto")
            other.eval("(define (turns n) (let loop ((i 0) (x 0.1)) (if (< i n) (loop (+ i 1) (cos (+ x i))) x)))")
            other.eval("(turns 5e6)")
            sys.exit(0)  # with all that is done at exit
        assert os.waitpid(pid, 0)[1] == 0
        thread.join()
        print(session.eval("(square-of 4)"))
    """
    assert child(text, VLAD_TIER="auto", VLAD_CACHE="off") == "16.0\n"


def test_a_closed_session_is_not_entered_again() -> None:
    session = vlad.Session()
    with session:
        assert session.eval("1") == 1.0
    assert repr(session) == "<vlad session, closed>"
    with pytest.raises(vlad.VladError, match="The session is closed"), session:
        raise AssertionError("it was entered")


def test_a_session_is_closed_by_async_with() -> None:
    async def main() -> vlad.Session:
        async with vlad.Session() as session:
            waiting = asyncio.ensure_future(
                session.aeval("(let loop ((i 0)) (if (< i 20000) (loop (+ i 1)) i))")
            )
            await asyncio.sleep(0)
            assert await session.aeval("(+ 1 2)") == 3.0
        assert await waiting == 20000.0
        return session

    session = asyncio.run(main())
    assert session.closed
    with pytest.raises(vlad.VladError, match="The session is closed"):
        asyncio.run(session.__aenter__())
