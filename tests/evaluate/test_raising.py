"""Exceptions that one thread raises in another: none is lost, and none is raised in a third thread."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import pytest
from amounts import drawn

import vlad
from vlad.control.async_exceptions import (
    Probe,
    masked,
    probe_after,
    probe_main_thread,
    raise_in,
    start_thread,
    withdraw_probe,
)
from vlad.evaluate import limits


class Raised(BaseException):
    pass


def test_masked_exceptions_are_raised_afterwards() -> None:
    me, finished = threading.get_ident(), []

    def act() -> None:
        raiser = threading.Thread(target=raise_in, args=(me, Raised))
        raiser.start()
        raiser.join()
        finished.append(sum(range(1000)))

    with pytest.raises(Raised):
        masked(act)
        finished.clear()
    assert finished == [499500]


def test_withdrawn_exceptions_are_not_raised() -> None:
    me = threading.get_ident()

    def act() -> None:
        for kind in (Raised, None):
            raiser = threading.Thread(target=raise_in, args=(me, kind))
            raiser.start()
            raiser.join()

    masked(act)
    assert sum(range(1000)) == 499500


@pytest.mark.own_tier
def test_a_starting_thread_does_not_receive_the_exception_of_another() -> None:
    """In Python 3.11 a new thread has the identifier of its creator until it runs; an exception that ended it then left the
    creator waiting for ever."""
    begun: list[int] = []
    done, quiet = threading.Event(), threading.Event()

    def starter() -> None:
        for number in range(400):  # (one may begin twice, where the exception came before the join)
            while number not in begun:
                try:
                    start_thread(threading.Thread(target=begun.append, args=(number,))).join()
                except Raised:
                    continue
        masked(done.set)

    def victim() -> None:
        while not quiet.is_set():
            with suppress(Raised):
                if not done.is_set():
                    starter()
                quiet.wait()

    thread = threading.Thread(target=victim, daemon=True)
    thread.start()
    while not done.wait(1e-5):
        assert thread.ident is not None
        raise_in(thread.ident, Raised)
    quiet.set()
    thread.join()
    assert sorted(set(begun)) == list(range(400))


class Gone:
    pass


LEVELS, ENOUGH = 200, drawn(600)


@pytest.mark.own_tier
def test_nothing_is_raised_in_the_callback_of_a_weak_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception there has no caller: Python writes it to the terminal and continues.

    Each exception ends one of many nested calls, since the next one may be raised before a handler in a loop has caught the
    first."""
    lost: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    kept, by_key, by_value = WeakSet[Gone](), WeakKeyDictionary[Gone, int](), WeakValueDictionary[int, Gone]()
    raised, done = 0, False

    def victim(level: int) -> None:
        nonlocal raised
        try:
            if level:
                victim(level - 1)
            while not done:
                gone = Gone()
                kept.add(gone)
                by_key[gone], by_value[1] = 1, gone
        except Raised:
            raised += 1

    while raised < ENOUGH:
        done = False
        thread = start_thread(threading.Thread(target=victim, args=(LEVELS,), daemon=True))
        assert thread.ident is not None
        for _ in range(LEVELS):
            raise_in(thread.ident, Raised)
            time.sleep(1e-4)  # the thread continues meanwhile, so that the next exception is raised elsewhere
        done = True
        thread.join()
    assert raised >= ENOUGH and not lost


def test_a_limit_reaches_a_thread_that_always_imports() -> None:
    session = vlad.Session(tier="evaluate")

    def imports(x: float) -> float:
        with suppress(ImportError):  # each time, since a missing module is not cached
            import no_such_module  # type: ignore[import-not-found] # noqa: F401
        return x

    session["imports"] = imports
    begun = time.monotonic()
    with pytest.raises(vlad.LimitExceeded):
        session.eval(
            "(let loop ((i 0)) (if (< i 1e9) (begin (imports i) (loop (+ i 1))) i))",
            limits=vlad.Limits(seconds=0.1),
        )
    assert time.monotonic() - begun < 2


IMPORTING = """
import sys, threading, time
from vlad.control.async_exceptions import raise_in

class Raised(BaseException):
    pass

turns, failures = 0, []

def importer():
    global turns
    while True:
        try:
            while True:
                sys.modules.pop("colorsys", None)
                import colorsys
                turns += 1
        except Raised:
            continue  # another exception here ends the thread, and a new one replaces it

def other():
    import this_is_no_module

def start_thread(act):
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread

def still_imports():
    "Can an importer complete an import if it is not interrupted, and can other threads?"
    global victim
    before, deadline = turns, time.monotonic() + 10
    while turns == before and time.monotonic() < deadline:
        if not victim.is_alive():
            victim = start_thread(importer)
        time.sleep(0.001)  # releases the interpreter's lock for the importer
    importing = start_thread(other)
    importing.join(10)
    return turns > before and not importing.is_alive()

threading.excepthook = lambda failure: failures.append(failure.exc_type.__name__)
victim = start_thread(importer)
raised = 0
while raised < 2000 and (raised % 50 or still_imports()):
    raise_in(victim.ident, Raised)
    raised += 1
print(raised, set(failures) - {"Raised"}, flush=True)
"""


def test_an_exception_during_an_import_leaves_no_lock_taken() -> None:
    """Python's import is written in Python: interrupted just after it took its lock, it kept the lock for ever, and the next
    import, such as that of the command to report a limit, waited for ever."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("2000 {'ModuleNotFoundError'}\n", "")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_new_thread_of_a_forked_process_masks_nothing() -> None:
    """It often has the identifier of a thread of the parent, which may have masked exceptions at that time."""
    inside, done = threading.Event(), threading.Event()

    def act() -> None:
        inside.set()
        done.wait()

    masking = threading.Thread(target=masked, args=(act,))
    masking.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        outcome = 2
        try:
            outcome = _raised_in_new_threads(masking.ident)
        finally:
            os._exit(outcome)
    done.set()
    masking.join()
    outcome = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert outcome in (
        0,
        NO_SUCH_NUMBER,
    )  # if no new thread has an old identifier, none can mask exceptions by it


NO_SUCH_NUMBER = 77


def _raised_in_new_threads(number: int | None) -> int:
    """0 if an exception is raised in a new thread with that identifier, 1 if not, NO_SUCH_NUMBER if there is no such thread."""
    caught, end = threading.Event(), threading.Event()

    def listen() -> None:
        try:
            while not end.wait(0.001):
                pass
        except Raised:
            caught.set()

    threads = []
    while len(threads) < 50:
        threads.append(threading.Thread(target=listen, daemon=True))
        threads[-1].start()
        if threads[-1].ident == number:
            raise_in(number, Raised)
            return 0 if caught.wait(5) else 1
    return NO_SUCH_NUMBER


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_with_masked_exceptions_raises_them_in_the_child() -> None:
    me, missed = threading.get_ident(), []

    def act() -> None:
        child = os.fork()
        if child == 0:
            raise_in(me, Raised)
        else:
            missed.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    try:
        masked(act)
        sum(range(1000))
    except Raised:
        os._exit(7)
    if not missed:
        os._exit(1)
    assert missed == [7]


@pytest.mark.own_tier
def test_a_limit_reaches_an_evaluation_within_another() -> None:
    """While a session's lock is taken or released, exceptions are masked, and raised right afterwards. And they are raised again
    if a call that just ended has swallowed them."""
    session = vlad.Session(tier="evaluate")
    f = session.eval("(lambda (x) x)")
    session["call"] = lambda k: f(k)
    late = []
    for turn in range(60):
        seconds = 0.01 + turn * 0.0005
        begun = time.monotonic()
        with pytest.raises(vlad.LimitExceeded) as caught:
            session.eval(
                "(let loop ((i 0) (x 1.0)) (if (< i 1e9) (loop (+ i 1) (+ x (call 1))) x))",
                limits=vlad.Limits(seconds=seconds),
            )
        assert caught.value.code == "out-of-time"
        late.append(time.monotonic() - begun - seconds)
    assert sorted(late)[-4] < 0.09  # otherwise it was raised a tenth of a second later, one time of seven


TRACED = """
import sys, threading, vlad

def reach_a_limit():
    try:
        session.eval("(let loop () (loop))", limits=vlad.Limits(seconds=0.1))
    except vlad.LimitExceeded:
        print("out of time")

def be_overtaken():
    f = session.eval("(lambda (n) (let loop ((i 0)) (if (< i n) (loop (+ i 1)) i)))")
    f(1e9)  # a minute on tier 0, so that it is overtaken on a busy machine too
    print(len(session.tiers.entries[id(f.value)].variants))

def follow(*_):
    return follow

session = vlad.Session(tier=sys.argv[1])
thread = threading.Thread(target=reach_a_limit if sys.argv[1] == "evaluate" else be_overtaken)
thread.start()
thread.join()
sys.settrace(follow)
thread.is_alive()
"""


@pytest.mark.parametrize(("tier", "done"), [("evaluate", "out of time\n"), ("auto", "1\n")])
def test_after_an_exception_programs_can_be_traced(tier: str, done: str) -> None:
    run = [sys.executable, "-c", TRACED, tier]
    found = subprocess.run(run, capture_output=True, text=True, timeout=200, check=False)
    assert (found.stdout, found.stderr) == (done, "")


def test_the_reported_limit_is_the_one_that_applies() -> None:
    session = vlad.Session(tier="evaluate")
    session["inside"] = lambda: session.eval(
        "(let loop ((i 0)) (if (< i 1e9) (loop (+ i 1)) i))", limits=vlad.Limits(seconds=77)
    )
    with pytest.raises(vlad.LimitExceeded, match=r"longer than 0\.05 seconds"):
        session.eval("(inside)", limits=vlad.Limits(seconds=0.05))


@pytest.mark.own_tier
def test_a_repeated_exception_at_the_end_is_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deep recursion takes long to end, and the exception is raised again meanwhile: during its cleanup."""
    monkeypatch.setattr(limits, "AGAIN_SECONDS", 0.001)
    session = vlad.Session(tier="evaluate")
    session.eval("(define (deep n) (+ 1 (deep (+ n 1))))")
    for turn in range(10):
        with pytest.raises(vlad.LimitExceeded) as caught:
            session.eval("(deep 0)", limits=vlad.Limits(seconds=0.02 + turn * 0.003))
        assert caught.value.code == "out-of-time"
        assert session.machine.watch.active == 0
        assert session.eval("(+ 1 2)") == 3


# Probes of the main thread, which runs these tests.


@contextmanager
def probing(probe: Probe, times: float = 1) -> Iterator[None]:
    """Inside, another thread schedules a probe, once or repeatedly."""
    done = threading.Event()

    def keep_probing() -> None:
        count = 0
        while count < times and not done.is_set():
            probe_main_thread(probe)
            count += 1
            time.sleep(0.001)  # releases the interpreter's lock for the main thread

    thread = threading.Thread(target=keep_probing)
    try:
        thread.start()
        yield
    finally:
        done.set()
        thread.join()
        withdraw_probe(probe)


def stay(until: list[object]) -> None:
    """Run until there is something in a list."""
    end = time.monotonic() + 20
    while not until and time.monotonic() < end:
        pass


def test_an_exception_of_a_probe_is_raised_in_the_current_frame() -> None:
    def probe(frame: FrameType) -> None:
        if frame.f_code is stay.__code__:
            raise Raised

    with pytest.raises(Raised) as caught, probing(probe, math.inf):
        stay([])
    assert stay.__code__ in [entry.frame.code.raw for entry in caught.traceback]


def test_a_probe_waits_for_the_end_of_a_frame() -> None:
    """It is called once, and again when the frame has ended."""
    begun: list[object] = []
    met: list[object] = []
    ended: list[object] = []

    def waited_for() -> None:
        begun.append(1)
        stay(met)
        ended.append(1)

    def caller() -> None:
        waited_for()
        stay([])

    def probe(frame: FrameType) -> None:
        around = frame.f_back
        if frame.f_code is stay.__code__ and around is not None:
            if around.f_code is caller.__code__:
                raise Raised
            met.append(1)
            probe_after(around)

    def probe_once() -> None:
        stay(begun)
        time.sleep(0.01)  # releases the interpreter's lock
        probe_main_thread(probe)

    thread = threading.Thread(target=probe_once)
    thread.start()
    try:
        with pytest.raises(Raised):
            caller()
    finally:
        thread.join()
        withdraw_probe(probe)
    assert (met, ended) == ([1], [1])


@pytest.mark.own_tier
def test_no_handler_is_lost_to_an_exception_of_a_probe() -> None:
    """A signal arrives, and then the probe: the first step of the handler is the next one at which an exception may be raised."""
    begun, ended, caught = 0, 0, 0
    enough: list[object] = []

    def handle(*_: object) -> None:
        nonlocal begun, ended
        begun += 1
        sum(map(abs, range(20)))
        ended += 1

    def probe(frame: FrameType) -> None:
        if frame.f_code is stay.__code__:
            raise Raised
        if frame.f_code is handle.__code__:
            probe_after(frame)

    def signal_and_probe() -> None:
        for sent in range(300):
            deadline = time.monotonic() + 10
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
            probe_main_thread(probe)
            while ended <= sent and time.monotonic() < deadline:
                time.sleep(1e-5)  # releases the interpreter's lock for the handler
        enough.append(1)

    before = signal.signal(signal.SIGUSR1, handle)
    thread = threading.Thread(target=signal_and_probe)
    try:
        thread.start()
        while not enough:
            try:
                stay(enough)
            except Raised:
                caught += 1
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)
        withdraw_probe(probe)
    assert begun == ended == 300 and caught > 0


def test_tracing_is_not_disturbed_by_a_probe() -> None:
    """A probe that waits for a frame uses the frame's trace function, as debuggers do."""
    met: list[object] = []
    lines: list[str] = []

    def probe(frame: FrameType) -> None:
        around = frame.f_back
        if frame.f_code is stay.__code__ and around is not None:
            probe_after(around)
            met.append(around.f_trace)

    def follow(frame: FrameType, event: str, _: object) -> Any:
        lines.append(event)
        return follow

    def waited_for() -> None:
        stay(met)
        before = sys.gettrace()
        sys.settrace(follow)  # starts while the probe waits for this frame, or again
        try:
            sum([1])
        finally:
            sys.settrace(before)

    with probing(probe, math.inf):
        waited_for()
        assert met[0] not in (None, follow)
        met.clear()
        before = sys.gettrace()
        sys.settrace(follow)
        try:
            waited_for()
        finally:
            sys.settrace(before)
    assert met[0] is follow and lines.count("return") >= 2
