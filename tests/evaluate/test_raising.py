"""What one thread raises in another: never lost, never in a third one."""

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


class Told(BaseException):
    pass


def test_who_is_not_to_be_disturbed_is_told_afterwards() -> None:
    me, finished = threading.get_ident(), []

    def act() -> None:
        teller = threading.Thread(target=raise_in, args=(me, Told))
        teller.start()
        teller.join()
        finished.append(sum(range(1000)))

    with pytest.raises(Told):
        masked(act)
        finished.clear()
    assert finished == [499500]


def test_what_is_taken_back_meanwhile_is_not_told() -> None:
    me = threading.get_ident()

    def act() -> None:
        for kind in (Told, None):
            teller = threading.Thread(target=raise_in, args=(me, kind))
            teller.start()
            teller.join()

    masked(act)
    assert sum(range(1000)) == 499500


def test_a_thread_that_begins_is_not_told_in_place_of_another() -> None:
    """In Python 3.11 it bears the number of who made it, until it runs; what killed it then, left that one waiting for ever."""
    begun: list[int] = []
    done, quiet = threading.Event(), threading.Event()

    def starter() -> None:
        for number in range(400):
            while len(begun) <= number:
                try:
                    start_thread(threading.Thread(target=begun.append, args=(number,))).join()
                except Told:
                    continue
        masked(done.set)

    def victim() -> None:
        while not quiet.is_set():
            with suppress(Told):
                if not done.is_set():
                    starter()
                quiet.wait()

    told = threading.Thread(target=victim, daemon=True)
    told.start()
    while not done.wait(1e-5):
        assert told.ident is not None
        raise_in(told.ident, Told)
    quiet.set()
    told.join()
    assert sorted(set(begun)) == list(range(400))


class Gone:
    pass


LEVELS, ENOUGH = 200, 300


def test_nothing_is_raised_in_the_callback_of_a_weak_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception there has no caller: Python writes it to the terminal and goes on.

    Each exception ends one of many nested calls, for the next one may come before a handler in a loop has caught the first."""
    lost: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    kept, by_key, by_value = WeakSet[Gone](), WeakKeyDictionary[Gone, int](), WeakValueDictionary[int, Gone]()
    told, done = 0, False

    def victim(level: int) -> None:
        nonlocal told
        try:
            if level:
                victim(level - 1)
            while not done:
                gone = Gone()
                kept.add(gone)
                by_key[gone], by_value[1] = 1, gone
        except Told:
            told += 1

    while told < ENOUGH:
        done = False
        thread = start_thread(threading.Thread(target=victim, args=(LEVELS,), daemon=True))
        assert thread.ident is not None
        for _ in range(LEVELS):
            raise_in(thread.ident, Told)
            time.sleep(1e-4)  # the thread runs on meanwhile, and is told somewhere else the next time
        done = True
        thread.join()
    assert told >= ENOUGH and not lost


def test_a_limit_reaches_who_imports_all_the_time() -> None:
    session = vlad.Session(tier="evaluate")

    def asked(x: float) -> float:
        with suppress(ImportError):  # each time anew, for what is not there is not remembered
            import no_such_module  # type: ignore[import-not-found] # noqa: F401
        return x

    session["asked"] = asked
    begun = time.monotonic()
    with pytest.raises(vlad.LimitExceeded):
        session.eval(
            "(let loop ((i 0)) (if (< i 1e9) (begin (asked i) (loop (+ i 1))) i))",
            limits=vlad.Limits(seconds=0.1),
        )
    assert time.monotonic() - begun < 2


IMPORTING = """
import sys, threading, time
from vlad.control.async_exceptions import raise_in

class Told(BaseException):
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
        except Told:
            continue  # told once more here, it ends, and another takes its place

def other():
    import this_is_no_module

def start_thread(act):
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread

def still_imports():
    "Left alone, does an importer get to the end of an import, and does everybody else?"
    global victim
    before, patience = turns, time.monotonic() + 10
    while turns == before and time.monotonic() < patience:
        if not victim.is_alive():
            victim = start_thread(importer)
        time.sleep(0.001)  # Python is left to the importer
    asking = start_thread(other)
    asking.join(10)
    return turns > before and not asking.is_alive()

threading.excepthook = lambda failure: failures.append(failure.exc_type.__name__)
victim = start_thread(importer)
told = 0
while told < 2000 and (told % 50 or still_imports()):
    raise_in(victim.ident, Told)
    told += 1
print(told, set(failures) - {"Told"}, flush=True)
"""


def test_who_imports_does_not_keep_its_locks_by_what_he_is_told() -> None:
    """Python's own import is written in Python: cut short where it has just taken its lock, it kept that for ever, and who next
    imported anything, such as the command to tell of a limit, waited for ever."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("2000 {'ModuleNotFoundError'}\n", "")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_new_thread_of_a_forked_process_is_not_deaf() -> None:
    """It often bears the number of a thread that was in the parent, which may have been deaf just then."""
    inside, done = threading.Event(), threading.Event()

    def act() -> None:
        inside.set()
        done.wait()

    deaf = threading.Thread(target=masked, args=(act,))
    deaf.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        outcome = 2
        try:
            outcome = _told_in_new_threads(deaf.ident)
        finally:
            os._exit(outcome)
    done.set()
    deaf.join()
    outcome = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert outcome in (0, NO_SUCH_NUMBER)  # where no new thread bears an old number, none can be deaf by it


NO_SUCH_NUMBER = 77


def _told_in_new_threads(number: int | None) -> int:
    """0 if a new thread of that number is told what is raised in it, 1 if not."""
    told, end = threading.Event(), threading.Event()

    def listen() -> None:
        try:
            while not end.wait(0.001):
                pass
        except Told:
            told.set()

    threads = []
    while len(threads) < 50:
        threads.append(threading.Thread(target=listen, daemon=True))
        threads[-1].start()
        if threads[-1].ident == number:
            raise_in(number, Told)
            return 0 if told.wait(5) else 1
    return NO_SUCH_NUMBER


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_who_forks_undisturbed_is_told_afterwards_in_the_child() -> None:
    me, missed = threading.get_ident(), []

    def act() -> None:
        child = os.fork()
        if child == 0:
            raise_in(me, Told)
        else:
            missed.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    try:
        masked(act)
        sum(range(1000))
    except Told:
        os._exit(7)
    if not missed:
        os._exit(1)
    assert missed == [7]


def test_a_limit_reaches_who_evaluates_within_an_evaluation() -> None:
    """Where a session's turn is taken and given back, nobody is told; so it is told right after that. And again, where a call
    that just ended let it pass."""
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
    assert sorted(late)[-4] < 0.09  # else it came a tenth of a second later, one time of seven


TRACED = """
import sys, threading, vlad

def reach_a_limit():
    try:
        session.eval("(let loop () (loop))", limits=vlad.Limits(seconds=0.1))
    except vlad.LimitExceeded:
        print("out of time")

def be_overtaken():
    f = session.eval("(lambda (n) (let loop ((i 0)) (if (< i n) (loop (+ i 1)) i)))")
    f(3e7)
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
def test_where_somebody_was_told_programs_can_be_traced(tier: str, done: str) -> None:
    run = [sys.executable, "-c", TRACED, tier]
    found = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert (found.stdout, found.stderr) == (done, "")


def test_the_limit_that_is_told_is_the_one_that_holds() -> None:
    session = vlad.Session(tier="evaluate")
    session["inside"] = lambda: session.eval(
        "(let loop ((i 0)) (if (< i 1e9) (loop (+ i 1)) i))", limits=vlad.Limits(seconds=77)
    )
    with pytest.raises(vlad.LimitExceeded, match=r"longer than 0\.05 seconds"):
        session.eval("(inside)", limits=vlad.Limits(seconds=0.05))


def test_who_ends_is_told_again_and_leaves_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deep recursion takes its time to end, and is told again meanwhile: then right where it tidies up."""
    monkeypatch.setattr(limits, "AGAIN_SECONDS", 0.001)
    session = vlad.Session(tier="evaluate")
    session.eval("(define (deep n) (+ 1 (deep (+ n 1))))")
    for turn in range(10):
        with pytest.raises(vlad.LimitExceeded) as caught:
            session.eval("(deep 0)", limits=vlad.Limits(seconds=0.02 + turn * 0.003))
        assert caught.value.code == "out-of-time"
        assert session.machine.watch.active == 0
        assert session.eval("(+ 1 2)") == 3


# Asking the main thread, which runs these tests.


@contextmanager
def asking(question: Probe, times: float = 1) -> Iterator[None]:
    """Inside, another thread asks, once or again and again."""
    done = threading.Event()

    def keep_asking() -> None:
        asked = 0
        while asked < times and not done.is_set():
            probe_main_thread(question)
            asked += 1
            time.sleep(0.001)  # the one that is asked has Python meanwhile

    thread = threading.Thread(target=keep_asking)
    try:
        thread.start()
        yield
    finally:
        done.set()
        thread.join()
        withdraw_probe(question)


def stay(until: list[object]) -> None:
    """Until there is something in a list."""
    end = time.monotonic() + 20
    while not until and time.monotonic() < end:
        pass


def test_what_a_question_raises_is_raised_where_the_thread_is() -> None:
    def question(frame: FrameType) -> None:
        if frame.f_code is stay.__code__:
            raise Told

    with pytest.raises(Told) as caught, asking(question, math.inf):
        stay([])
    assert stay.__code__ in [entry.frame.code.raw for entry in caught.traceback]


def test_a_question_waits_for_what_is_to_get_to_its_end() -> None:
    """It is asked once, and again when that has ended."""
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

    def question(frame: FrameType) -> None:
        around = frame.f_back
        if frame.f_code is stay.__code__ and around is not None:
            if around.f_code is caller.__code__:
                raise Told
            met.append(1)
            probe_after(around)

    def ask_once() -> None:
        stay(begun)
        time.sleep(0.01)  # others have Python meanwhile
        probe_main_thread(question)

    thread = threading.Thread(target=ask_once)
    thread.start()
    try:
        with pytest.raises(Told):
            caller()
    finally:
        thread.join()
        withdraw_probe(question)
    assert (met, ended) == ([1], [1])


def test_no_handler_is_lost_to_what_a_question_raises() -> None:
    """A signal comes, and then the question: the first step of the handler is the next one at which anything is raised."""
    begun, ended, told = 0, 0, 0
    enough: list[object] = []

    def handle(*_: object) -> None:
        nonlocal begun, ended
        begun += 1
        sum(map(abs, range(20)))
        ended += 1

    def question(frame: FrameType) -> None:
        if frame.f_code is stay.__code__:
            raise Told
        if frame.f_code is handle.__code__:
            probe_after(frame)

    def signal_and_ask() -> None:
        for sent in range(300):
            patience = time.monotonic() + 10
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
            probe_main_thread(question)
            while ended <= sent and time.monotonic() < patience:
                time.sleep(1e-5)  # the handler has Python meanwhile
        enough.append(1)

    before = signal.signal(signal.SIGUSR1, handle)
    thread = threading.Thread(target=signal_and_ask)
    try:
        thread.start()
        while not enough:
            try:
                stay(enough)
            except Told:
                told += 1
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)
        withdraw_probe(question)
    assert begun == ended == 300 and told > 0


def test_who_goes_through_frames_is_not_disturbed_by_a_question() -> None:
    """A frame that is waited for bears that where debuggers have what follows its lines."""
    met: list[object] = []
    lines: list[str] = []

    def question(frame: FrameType) -> None:
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
        sys.settrace(follow)  # what follows comes while it is waited for, or again
        try:
            sum([1])
        finally:
            sys.settrace(before)

    with asking(question, math.inf):
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
