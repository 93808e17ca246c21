"""The background compiler's queue: which procedures it compiles for later calls, in which order, in which surroundings, and when
it gives up. Counted, never timed."""

from __future__ import annotations

import gc
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from slow_compiler import is_alive, slow_compiler

import vlad
from vlad.compile.calling import background, compilation, policy, preemption
from vlad.compile.calling.background import BACKGROUND, BackgroundCompiler, Superseded
from vlad.compile.calling.compiling_process import PROCESS
from vlad.compile.native import cache, cache_folder, toolchain
from vlad.control.surroundings import Surroundings, setting, within

SECONDS = 60.0  # at most until something happens that does happen
LOOP = "(lambda (n) (let loop ((i 0) (s 0)) (if (< i n) (loop (+ i 1) (+ s (sin (* i 1.25)))) s)))"


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    BACKGROUND.wait_until_idle()
    monkeypatch.setenv("VLAD_CACHE_DIR", str(tmp_path / "cache"))
    yield
    BACKGROUND.wait_until_idle()
    PROCESS.end()


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.002)


class Gate:
    """Compiling in this process: what is compiled, in order, and when that may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open = threading.Event()
        self.begun: list[Any] = []  # the operands of each
        self.settings: list[str | None] = []
        monkeypatch.setattr(PROCESS, "compiled", lambda *operands: None)
        compile_call = compilation.compile_call

        def waiting(machine: Any, f: Any, operands: Any, **columns: Any) -> Any:
            if not columns["only_kept"] and BACKGROUND._thread is threading.current_thread():
                self.begun.append(operands)
                while not self.open.is_set():
                    time.sleep(0.001)  # where it may be abandoned
                self.settings.append(setting("VLAD_CC"))
            return compile_call(machine, f, operands, **columns)

        monkeypatch.setattr(compilation, "compile_call", waiting)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    found = Gate(monkeypatch)
    yield found
    found.open.set()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "A_MOMENT", 0.0)


def entry_of(session: vlad.Session, f: Any) -> Any:
    return session.tiers.entry(f.value)


def test_many_calls_that_are_short_are_compiled() -> None:
    """Each of them ends before the compiler has begun."""
    with vlad.Session(tier="auto") as session:
        f = session.eval(LOOP)
        expected = f(10.0)
        entry = entry_of(session, f)
        end = time.monotonic() + SECONDS
        while not entry.variants:
            assert f(10.0) == expected and time.monotonic() < end
        assert f(10.0) == expected


def test_a_procedure_is_compiled_once_its_calls_have_taken_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """In all; and if it is called once more. The call that comes to that could be the last one."""
    monkeypatch.setattr(policy, "A_MOMENT", 1e9)
    with vlad.Session(tier="auto") as session:
        f = session.eval(LOOP)
        f(10.0)
        entry = entry_of(session, f)
        entry.seconds = 0.75e9
        f(10.0)
        assert BACKGROUND.waiting(session.tiers) == [] and not entry.variants
        entry.seconds = 1.25e9
        f(10.0)
        until(lambda: entry.variants)


def test_a_form_that_runs_once_is_not_compiled_for_later(at_once: None, gate: Gate) -> None:
    with vlad.Session(tier="auto") as session:
        session.eval("(define (f x) (+ x 1)) (f 1) (f 2)")
        assert BACKGROUND.waiting(session.tiers) == []


def test_calls_of_a_procedure_wait_once(at_once: None, gate: Gate) -> None:
    with vlad.Session(tier="auto") as session:
        f = session.eval(LOOP)
        g = session.eval(LOOP)
        f(10.0)
        until(lambda: gate.begun)
        for n in range(20):
            assert f(float(n)) is not None and g(float(n)) is not None
        assert [job.entry for job in BACKGROUND.waiting(session.tiers)] == [entry_of(session, g)]
        gate.open.set()
        until(lambda: entry_of(session, f).variants and entry_of(session, g).variants)
    assert len(gate.begun) == 2


def test_few_procedures_wait_and_the_hottest_is_first(at_once: None, gate: Gate) -> None:
    with vlad.Session(tier="auto") as session:
        first = session.eval(LOOP)
        first(10.0)
        until(lambda: gate.begun)
        procedures = [session.eval(LOOP) for _ in range(3 * background.MOST_WAITING)]
        for number, f in enumerate(procedures):
            entry_of(session, f).seconds = 1e6 + (number * 7) % len(procedures)
            f(float(number))
        waiting = BACKGROUND.waiting(session.tiers)
        hottest = sorted(procedures, key=lambda f: -entry_of(session, f).seconds)
        assert [job.entry for job in waiting] == [
            entry_of(session, f) for f in hottest[: background.MOST_WAITING]
        ]
        gate.open.set()
        until(lambda: entry_of(session, hottest[0]).variants)
        assert gate.begun[1] == (float(procedures.index(hottest[0])),)


def test_the_queue_is_of_its_session(at_once: None, gate: Gate) -> None:
    with vlad.Session(tier="auto") as one, vlad.Session(tier="auto") as other:
        f, g, h = one.eval(LOOP), one.eval(LOOP), other.eval(LOOP)
        f(10.0)
        until(lambda: gate.begun)
        g(10.0), h(10.0)
        one.close()
        until(lambda: len(gate.begun) == 2)
        assert BACKGROUND.waiting(other.tiers) == [] and not gate.open.is_set()
        gate.open.set()
        until(lambda: entry_of(other, h).variants)


def test_a_session_that_is_closed_ends_its_job(at_once: None, gate: Gate) -> None:
    session = vlad.Session(tier="auto")
    tiers = session.tiers
    f, g = session.eval(LOOP), session.eval(LOOP)
    f(10.0)
    until(lambda: gate.begun)
    g(10.0)
    assert len(BACKGROUND.waiting(tiers)) == 1
    session.close()
    assert BACKGROUND.waiting(tiers) == [] and BACKGROUND.thread_compiling_for(tiers) is None
    assert len(gate.begun) == 1 and gate.settings == []


def test_a_session_that_is_collected_leaves_no_job(at_once: None, gate: Gate) -> None:
    """The one at work, of another session, does not keep it."""
    with vlad.Session(tier="auto") as other:
        f = other.eval(LOOP)
        f(10.0)
        until(lambda: gate.begun)
        session = vlad.Session(tier="auto")
        tiers = weakref.ref(session.tiers)
        g = session.eval(LOOP)
        g(10.0)
        assert len(BACKGROUND.waiting(session.tiers)) == 1
        del session, g
        gc.collect()
        assert tiers() is None
        gate.open.set()
        until(lambda: BACKGROUND._at_work is None)
    assert len(gate.begun) == 1


def test_a_procedure_that_is_not_called_any_more_is_not_compiled(
    at_once: None, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of a session that is dropped, and not collected yet."""
    monkeypatch.setattr(preemption, "STILL_CALLED_SECONDS", -1.0)
    with vlad.Session(tier="auto") as session:
        f, g = session.eval(LOOP), session.eval(LOOP)
        with monkeypatch.context() as patch:
            patch.setattr(preemption, "STILL_CALLED_SECONDS", 1e9)
            f(10.0)
            until(lambda: gate.begun)
        g(10.0)
        gate.open.set()
        assert BACKGROUND.wait_until_idle()
    assert len(gate.begun) == 1


def test_who_waits_for_the_end_of_work_learns_that_there_is_none(
    at_once: None, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where what waited is not needed any more."""
    gate.open.set()
    with vlad.Session(tier="auto") as session:
        f = session.eval(LOOP)
        until(lambda: f(10.0) and entry_of(session, f).variants)
        assert BACKGROUND.wait_until_idle()
        job = preemption.Job(session.tiers, entry_of(session, f), (10.0,), 0, 0.0)
        job.is_for_later = True
        monkeypatch.setattr(preemption.Job, "is_needed", lambda job: time.sleep(0.1))
        BACKGROUND.keep(job)
        assert BACKGROUND.wait_until_idle()


def test_the_other_process_stops_with_the_session(
    at_once: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """While it waits for a C compiler that does not end."""
    monkeypatch.setenv("VLAD_CC", slow_compiler(tmp_path))
    session = vlad.Session(tier="auto")
    f = session.eval(LOOP)
    f(10.0)
    until((tmp_path / "begun").exists)
    session.close()
    compiler, process = map(int, (tmp_path / "begun").read_text().split())
    until(lambda: not is_alive(process) and not is_alive(compiler))


def test_another_tier_ends_what_waits(at_once: None, gate: Gate) -> None:
    with vlad.Session(tier="auto") as session:
        f, g = session.eval(LOOP), session.eval(LOOP)
        f(10.0)
        until(lambda: gate.begun)
        g(10.0)
        session.tiers.choose("evaluate")
        assert BACKGROUND.waiting(session.tiers) == []


def test_what_is_redefined_is_not_compiled_for_later(at_once: None, gate: Gate) -> None:
    with vlad.Session(tier="auto") as session:
        session.eval("(define k 2)")
        f, g = session.eval(LOOP), session.eval("(lambda (n) (* k n))")
        f(10.0)
        until(lambda: gate.begun)
        g(10.0)
        session.tiers.forget()
        gate.open.set()
        until(lambda: BACKGROUND._at_work is None and not BACKGROUND.waiting(session.tiers))
    assert len(gate.begun) == 1


def test_a_job_has_the_settings_it_was_asked_under(
    at_once: None, gate: Gate, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with vlad.Session(tier="auto") as session:
        f, g = session.eval(LOOP), session.eval(LOOP)
        with monkeypatch.context() as patch:
            patch.setenv("VLAD_CC", "cc")
            patch.setenv("VLAD_CACHE_DIR", str(tmp_path / "one"))
            f(10.0)
            until(lambda: gate.begun)
            g(10.0)
        monkeypatch.setenv("VLAD_CC", "/nowhere/cc")
        monkeypatch.setenv("VLAD_CACHE_DIR", str(tmp_path / "other"))
        gate.open.set()
        until(lambda: entry_of(session, f).variants and entry_of(session, g).variants)
    assert gate.settings == ["cc", "cc"]
    assert any(name.endswith(".so") for name in os.listdir(tmp_path / "one"))
    assert not (tmp_path / "other").exists()


def test_the_other_process_has_the_settings_a_job_was_asked_under(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("VLAD_CACHE_DIR", "relative")
    surroundings = Surroundings()
    monkeypatch.setenv("VLAD_CC", "/nowhere/cc")
    monkeypatch.setenv("VLAD_CACHE_DIR", str(tmp_path / "other"))
    monkeypatch.chdir(tmp_path)
    with vlad.Session(tier="auto") as session, within(surroundings):
        f = session.eval(LOOP)
        entry = entry_of(session, f)
        assert session.tiers.compile(entry, (10.0,), apart=True) is not None, entry.reason
    assert any(name.endswith(".so") for name in os.listdir(tmp_path / "here" / "relative"))
    assert not (tmp_path / "other").exists()


def test_settings_within_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VLAD_CC", "cc")
    monkeypatch.delenv("VLAD_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    before = Surroundings()
    compiler, signature, place = toolchain.find_compiler(), toolchain.signature(), cache.folder()
    assert place.startswith(str(tmp_path))
    monkeypatch.setenv("VLAD_CC", "false")
    monkeypatch.setenv("VLAD_CACHE", "off")
    monkeypatch.setenv("HOME", "/elsewhere")
    with within(before):
        assert toolchain.find_compiler() == compiler and toolchain.signature() == signature
        assert cache.folder() == place and not cache_folder.is_off()
        found: list[str | None] = []
        thread = threading.Thread(target=lambda: found.append(setting("VLAD_CC")))
        thread.start()
        thread.join()
        assert found == ["false"]  # of its thread only
    assert setting("VLAD_CC") == "false" and cache_folder.is_off() and cache.folder() != place


class Asked:
    """A job for the queue."""

    def __init__(self, heat: float, is_over: bool = True, once: bool = False) -> None:
        self.tiers, self.thread, self.entry = self, threading.get_ident(), object()
        self.due, self.once, self.worth, self.heat = 0.0, once, 0.0, heat
        self.is_over, self.surroundings, self.closed = is_over, None, False

    def is_needed(self) -> bool:
        return True

    def poll(self) -> float | None:
        raise NotImplementedError


@pytest.mark.parametrize(
    "heat, is_over, is_superseded",
    [
        (2.5, True, True),
        (1.5, True, False),  # jobs that are alike do not supersede each other in turn
        (2.5, False, False),  # its call waits for it
    ],
)
def test_work_gives_way_to_a_call_that_is_twice_as_hot(
    heat: float, is_over: bool, is_superseded: bool
) -> None:
    compiler = BackgroundCompiler()
    job, other = Asked(1.0), Asked(heat, is_over=False)
    compiler._at_work = job  # type: ignore[assignment]
    compiler._jobs = {other} if is_over else {job, other}  # type: ignore[arg-type]
    if is_superseded:
        with pytest.raises(Superseded):
            compiler.expect_needed()
    else:
        compiler.expect_needed()


def test_a_forked_child_compiles_nothing_for_its_parent(at_once: None, gate: Gate) -> None:
    with vlad.Session(tier="auto") as session:
        f, g = session.eval(LOOP), session.eval(LOOP)
        f(10.0)
        until(lambda: gate.begun)
        g(10.0)
        child = os.fork()
        if child == 0:
            os._exit(len(BACKGROUND.waiting(session.tiers)))
        assert os.waitpid(child, 0)[1] == 0
        assert len(BACKGROUND.waiting(session.tiers)) == 1


def test_a_limit_on_time_holds_for_what_is_compiled_later(at_once: None, gate: Gate) -> None:
    """By the end of the limit of the call that asked, nothing works for it any more."""
    with vlad.Session(tier="auto") as session:
        f, g = session.eval(LOOP), session.eval(LOOP)
        f(10.0)
        until(lambda: gate.begun)
        with session.limited(vlad.Limits(seconds=0.2)):
            g(10.0)
        (job,) = BACKGROUND.waiting(session.tiers)
        until(lambda: time.monotonic() > job.budget.end)
        gate.open.set()
        until(lambda: BACKGROUND._at_work is None and not BACKGROUND.waiting(session.tiers))
        assert len(gate.begun) == 1 and entry_of(session, g).reason is None


def test_work_that_is_abandoned_repeatedly_goes_on_with_the_next(at_once: None, gate: Gate) -> None:
    """Wherever the exceptions arrive: in the work, after it, or between two jobs."""
    with vlad.Session(tier="auto") as other:
        for _ in range(20):
            with vlad.Session(tier="auto") as session:
                f = session.eval(LOOP)
                begun = len(gate.begun)
                f(10.0)
                until(lambda begun=begun: len(gate.begun) > begun)
                for _ in range(3):
                    BACKGROUND.cancel(session.tiers)
        gate.open.set()
        g = other.eval(LOOP)
        g(10.0)
        until(lambda: entry_of(other, g).variants)
        assert BACKGROUND._thread is not None and BACKGROUND._thread.is_alive()


def test_a_call_that_is_never_due_does_not_end_the_thread() -> None:
    """No wait is that long."""
    polled = threading.Event()
    never, now = Asked(0.0, is_over=False), Asked(0.0, is_over=False)
    never.due = math.inf
    now.poll = polled.set  # type: ignore[method-assign]
    BACKGROUND.add(never)  # type: ignore[arg-type]
    try:
        until(lambda: BACKGROUND._changed._waiters)  # type: ignore[attr-defined]
        BACKGROUND.add(now)  # type: ignore[arg-type]
        until(polled.is_set)
    finally:
        BACKGROUND.remove(never)  # type: ignore[arg-type]
