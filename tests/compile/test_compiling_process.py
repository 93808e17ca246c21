"""The process that compiles for another one: what it compiles, what it leaves to this one, and that nothing of it is left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from slow_compiler import is_alive, slow_compiler

import vlad
from vlad.compile.calling import background, compiling_process, notifier, pipeline, policy
from vlad.compile.calling.background import BACKGROUND, Superseded
from vlad.compile.calling.compiling_process import PROCESS, CompilingProcess
from vlad.compile.native import cache, toolchain
from vlad.data.errors import VladError
from vlad.python.dump import write_value
from vlad.python.load import read_value

SECONDS = 20.0  # at most until something happens that does happen
LOOP = "(lambda (n) (let loop ((i 0) (x 0.5)) (if (< i n) (loop (+ i 1) (sin (+ x i))) x)))"


@pytest.fixture(autouse=True)
def moment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Calls are compiled at once, into an empty cache."""
    BACKGROUND.wait_until_idle()
    monkeypatch.setenv("VLAD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(policy, "A_MOMENT", 0.0)
    yield
    BACKGROUND.wait_until_idle()
    PROCESS.end()


@pytest.fixture
def made_here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of procedures that are compiled in this process."""
    made = pipeline.made
    names: list[str] = []

    def noting(machine: Any, code: Any, *rest: Any) -> Any:
        names.append(code.name)
        return made(machine, code, *rest)

    monkeypatch.setattr(pipeline, "made", noting)
    return names


def until(holds: Any) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def overtaken(session: vlad.Session, f: Any, *operands: Any) -> Any:
    """The result of calls until one is overtaken, and the next one."""
    entry = session.tiers.entry(f.value)
    end = time.monotonic() + SECONDS
    while not entry.variants:
        f(*operands)
        assert entry.reason is None and time.monotonic() < end
    return f(*operands)


def test_a_call_is_compiled_in_the_other_process(made_here: list[str]) -> None:
    with vlad.Session(tier="auto") as session:
        f = session.eval(LOOP)
        expected = vlad.Session(tier="evaluate").eval(LOOP)(30_000.0)
        assert overtaken(session, f, 30_000.0) == pytest.approx(expected, rel=1e-12)
    assert made_here == [] and PROCESS._process is not None


@pytest.mark.parametrize("place", ["off", "unusable", "unwritable"])
def test_without_a_cache(
    place: str, made_here: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its entries come by the pipe."""
    if place == "off":
        monkeypatch.setenv("VLAD_CACHE", "off")
    else:
        (tmp_path / "cache").mkdir(mode=0o777 if place == "unusable" else 0o500)
        (tmp_path / "cache").chmod(0o777 if place == "unusable" else 0o500)
    with vlad.Session(tier="auto") as session:
        overtaken(session, session.eval(LOOP), 30_000.0)
    assert made_here == []
    if place != "unwritable" or os.getuid() != 0:
        assert not (tmp_path / "cache").exists() or not os.listdir(tmp_path / "cache")


def test_types_of_records_of_one_request_are_not_those_of_another(made_here: list[str]) -> None:
    """What they state of their tangents refers to globals: those of the request that had them first. Such a call had another key
    in each process, and was analysed beside the evaluation once more: a program with two of them took five times as long.
    """
    with vlad.Session(tier="auto") as session:
        session.run_text('(import "mechanics")')
        first, second = [
            session.eval(
                f"(lambda (n) (let loop ((i 0) (p (up 0 {at}))) (if (< i n) (loop (+ i 1) (+ p (up 1 {at}))) (ref p 1))))"
            )
            for at in (1, 2)
        ]
        made_here.clear()  # by the thread for the definitions
        assert overtaken(session, first, 300.0) == 301 and overtaken(session, second, 300.0) == 602
    assert made_here == []


CALLS = {
    "data": ("(lambda (n l) (let loop ((i 0)) (if (< i n) (loop (+ i 1)) (car l))))", [1.0, 2.0, 3.0]),
    "a captured procedure": ("(let ((g sin)) (lambda (n x) (if (= n 0) x (g (* n x)))))", 2.0),
    "the library": ("(lambda (n x) (list-sum (map (lambda (y) (* x y)) (list 1 2 n))))", 2.0),
    "a large tensor": ("(let ((t (arange 1000))) (lambda (n x) (sum (* t (+ n x)))))", 2.0),
    "a small tensor": ("(let ((t (tensor '(1 2 3)))) (lambda (n x) (sum (* t (+ n x)))))", 2.0),
    "a gradient": ("(lambda (n x) ((derivative-R (lambda (y) (* n (sin y)))) x))", 2.0),
    "names that hold primitives": ("(define relu* relu) (lambda (n x) ((if (< n 0) sin relu*) x))", 2.0),
    "arguments": ("(lambda (n x) (+ x (length (command-line-arguments))))", 2.0),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_the_call_is_the_same_in_the_other_process(call: str, made_here: list[str]) -> None:
    """So that this process finds its entries."""
    text, operand = CALLS[call]
    with vlad.Session(tier="auto", arguments=["one", "two"]) as session:
        f = session.eval(text)
        job = _job(session, f, (4000.0, operand))
        made_here.clear()  # by the thread for the definition of f
        assert job.poll() is not None and job.compiled is not None, session.tiers.entry(f.value).reason
        assert made_here == []
        assert f(4000.0, operand) == vlad.Session(tier="evaluate", arguments=["one", "two"]).eval(text)(
            4000.0, operand
        )


def _job(session: vlad.Session, f: Any, operands: tuple[Any, ...], once: bool = False) -> Any:
    from vlad.compile.calling.preemption import Job
    from vlad.python.convert import from_python

    BACKGROUND.wait_until_idle()  # the process serves one thread at a time
    values = tuple(map(from_python, operands))
    return Job(session.tiers, session.tiers.entry(f.value), values, 0, time.monotonic(), once)


def test_what_only_this_process_has_is_compiled_here(made_here: list[str]) -> None:
    @vlad.primitive(partials="(* 2 x)", c="{x} * {x}")
    def squared(x: float) -> float:
        return x * x

    with vlad.Session(tier="auto") as session:
        session["squared"] = squared
        f = session.eval("(lambda (x) (squared (+ x 1)))")
        job = _job(session, f, (2.0,))
        job.poll()
        assert job.compiled is not None and f(2.0) == 9.0
    assert made_here != []


def test_an_evaluation_with_limited_memory_is_compiled_here(made_here: list[str]) -> None:
    """The other process's memory is not its own."""
    with vlad.Session(tier="auto") as session, session.limited(vlad.Limits(memory=1000)):
        overtaken(session, session.eval(LOOP), 30_000.0)
    assert made_here != []


@pytest.mark.parametrize("path", ["", "/usr/bin/editor-with-python-inside"])
def test_a_program_that_embeds_python_is_not_started_again(
    path: str, made_here: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", path)
    with vlad.Session(tier="auto") as session:
        job = _job(session, session.eval("(lambda (x) (sin x))"), (2.0,))
        job.poll()
        assert job.compiled is not None
    assert made_here != []


def test_a_refusal_has_its_reason() -> None:
    with vlad.Session(tier="auto") as session:
        f = session.eval('(lambda (x) (string->symbol (string-append "x" (number->string x))))')
        job = _job(session, f, (2.0,))
        assert job.poll() is None
        reason = session.tiers.entry(f.value).reason
        assert reason is not None and "string->symbol" in reason


def test_a_failure_of_the_compiler_is_reported_here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLAD_CC", "false")
    with vlad.Session(tier="auto") as session:
        f = session.eval("(lambda (x) (sin x))")
        assert _job(session, f, (2.0,)).poll() is None
    assert capsys.readouterr().err.count("running without compiling: `false`") == 1


def test_a_process_that_ends_is_replaced_or_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was without work ended on purpose; one that is killed may be again."""
    monkeypatch.setattr(notifier, "_warned", set())
    idle = "import vlad.session.compiling as c; c.IDLE_SECONDS = 0.2; "
    monkeypatch.setattr(compiling_process, "MAIN", idle + compiling_process.MAIN)
    with vlad.Session(tier="auto") as session:
        for text in ("(lambda (x) (sin x))", "(lambda (x) (cos x))"):
            f = session.eval(text)
            job = _job(session, f, (2.0,))
            job.poll()
            assert job.compiled is not None
            assert PROCESS._process is not None
            PROCESS._process.wait(SECONDS)
        monkeypatch.setattr(compiling_process, "MAIN", "import os; os.kill(os.getpid(), 9)")
        f = session.eval("(lambda (x) (tan x))")
        assert _job(session, f, (2.0,)).poll() is None
    assert "the process that compiles has ended" in capsys.readouterr().err


def test_another_environment_needs_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    process = CompilingProcess()
    try:
        assert process._is_started() and process._is_started()
        first = process._process
        monkeypatch.setenv("VLAD_CC", "another")
        assert process._is_started() and process._process is not first
        assert first is not None and first.returncode is not None
    finally:
        process.end()


class Waiting:
    """A job for the compiler's thread."""

    def __init__(self, due: float, once: bool = True, worth: float = 0.0) -> None:
        self.tiers, self.thread, self.entry = None, threading.get_ident(), None
        self.due, self.once, self.worth, self.heat = due, once, worth, 0.0
        self.surroundings = None

    def is_needed(self) -> bool:
        return True

    def poll(self) -> float | None:
        raise NotImplementedError


@pytest.mark.parametrize(
    "once, is_over, worth, due, other_worth, is_superseded",
    [
        (True, True, 0.0, 0.0, 0.0, True),
        (True, True, 1.0, 0.0, 2.0, True),
        (True, True, 2.0, 0.0, 1.0, False),  # an earlier run says that this one saves more
        (True, True, 0.0, 1e9, 0.0, False),  # the other one is not due
        (True, False, 0.0, 0.0, 0.0, False),  # its call has not ended
        (False, True, 0.0, 0.0, 0.0, False),  # there may be another call
    ],
)
def test_work_gives_way_where_it_is_of_no_use(
    once: bool, is_over: bool, worth: float, due: float, other_worth: float, is_superseded: bool
) -> None:
    compiler = background.BackgroundCompiler()
    job, other = Waiting(0.0, once, worth), Waiting(time.monotonic() + due, worth=other_worth)
    compiler._at_work = job
    compiler._jobs = {other} if is_over else {job, other}
    with pytest.raises(Superseded) if is_superseded else contextlib.nullcontext():
        compiler.expect_needed()


def test_a_later_request_ends_the_work_on_an_earlier_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The compiler of the first one never ends."""
    monkeypatch.setenv("VLAD_CC", slow_compiler(tmp_path))
    with vlad.Session(tier="auto") as session:
        first = _job(session, session.eval("(lambda (x) (sin x))"), (2.0,))
        begun = threading.Event()

        def check() -> None:
            if (tmp_path / "begun").exists():
                begun.set()
                raise Superseded

        monkeypatch.setattr(BACKGROUND, "expect_needed", check)
        assert first.poll() is None and begun.is_set()
        (tmp_path / "go-on").touch()
        pids = (tmp_path / "begun").read_text().split()
        monkeypatch.setattr(BACKGROUND, "expect_needed", lambda: None)
        second = _job(session, session.eval("(lambda (x) (cos x))"), (2.0,))
        second.poll()
        assert second.compiled is not None
        until(lambda: not is_alive(int(pids[0])))
        assert PROCESS._process is not None and int(pids[1]) == PROCESS._process.pid


ENDINGS = {
    "normally": "",
    "by an error": "raise SystemExit(3)",
    "by Ctrl-C": "import signal; os.kill(os.getpid(), signal.SIGINT); time.sleep(60)",
    "by SIGTERM": "import signal; os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)",
    "killed": "import signal; os.kill(os.getpid(), signal.SIGKILL)",
    "killed, with a forked child that goes on": "import signal\nif os.fork():\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    "open('child', 'w').write(str(os.getpid())); time.sleep(600)",
    "at once": "os._exit(0)",
    "with a closed session": "session.close()",
    "in a limit": "session.eval('(let loop ((i 0)) (loop (+ i 1)))', limits=vlad.Limits(seconds=0.1))",
}  # fmt: skip


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="only Linux lists processes")
@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_is_left_of_it(ending: str, tmp_path: Path) -> None:
    """While it waits for a compiler that does not end, so that nothing else ends it, and no end waits for it."""
    (tmp_path / "tmp").mkdir()
    program = f"""
        import os, time, vlad
        from vlad.compile.calling import policy
        policy.A_MOMENT = 0.0
        session = vlad.Session(tier="auto")
        f = session.eval({LOOP!r})
        while not os.path.exists("begun"):
            f(10_000.0)
    """
    text = textwrap.dedent(program) + ENDINGS[ending]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp"), "VLAD_CC": slow_compiler(tmp_path)}
    subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, timeout=SECONDS, check=False,
    )  # fmt: skip
    compiler, process = map(int, (tmp_path / "begun").read_text().split())
    if "kill" not in ending and "at once" not in ending and "SIGTERM" not in ending:
        assert not is_alive(process) and not is_alive(compiler)
    until(lambda: not is_alive(process) and not is_alive(compiler))
    if (tmp_path / "child").exists():
        os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)
    assert os.listdir(tmp_path / "tmp") == []
    assert not [name for name in os.listdir(tmp_path / "cache") if name.endswith(".tmp")]


def test_a_forked_child_has_a_process_of_its_own() -> None:
    with vlad.Session(tier="auto") as session:
        job = _job(session, session.eval("(lambda (x) (sin x))"), (2.0,))
        job.poll()
        child = os.fork()
        if child == 0:
            try:
                job = _job(session, session.eval("(lambda (x) (cos x))"), (2.0,))
                job.poll()
                os._exit(0 if job.compiled is not None else 1)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        job = _job(session, session.eval("(lambda (x) (tan x))"), (2.0,))
        job.poll()
        assert job.compiled is not None


def test_blank_tensors_are_no_saved_values() -> None:
    with vlad.Session() as session:
        value = session.eval("(lambda (x) (sum (* x (arange 100))))").value
        session.eval("(define t (arange 100))")
        text = write_value(session.module.cells["t"].value, None, 64)
        assert text.split() == ["(vlad-saved", "1", "(blank", "float64", "(100)))"]
        assert read_value(text, session, blank=True).shape == (100,)
        with pytest.raises(VladError, match="Not a saved value"):
            vlad.loads(text, session)
        assert value


def test_carried_entries_are_found_in_their_thread_only(tmp_path: Path) -> None:
    with cache.carried({"key.call": b"carried"}) as entries:
        assert cache.lookup("key", cache.CALL) == b"carried"
        cache.store("other", b"stored", cache.CALL)
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(cache.lookup("key", cache.CALL)))
        thread.start()
        thread.join()
        assert found == [None] and entries["other.call"] == b"stored"
    assert cache.lookup("key", cache.CALL) is None
    with cache.carried({}) as entries:
        assert cache.lookup("other", cache.CALL) == b"stored" and entries == {"other.call": b"stored"}
    assert tempfile.gettempdir()


@pytest.mark.parametrize(
    "text, is_kept",
    [("(lambda (x) (sin x))", True), ("(lambda (x) (string->symbol (number->string x)))", False)],
)
def test_what_no_call_waits_for_is_not_loaded(
    text: str, is_kept: bool, made_here: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result is of use in a later run only, which finds it in the cache."""
    with vlad.Session(tier="auto") as session:
        f = session.eval(text)
        job = _job(session, f, (2.0,), once=True)
        session.tiers.costs.note(f.value, evaluated=1.0)
        loaded: list[str] = []
        monkeypatch.setattr(toolchain, "_loaded", lambda path, digest: loaded.append(path))
        made_here.clear()
        with monkeypatch.context() as patch:
            patch.setattr(BACKGROUND, "_at_work", job)  # and its call is not in progress
            assert job.poll() is None and job.compiled is None
        cost = session.tiers.costs.of(f.value)
        assert cost is not None and (cost.is_kept, cost.is_refused) == (is_kept, not is_kept)
        assert loaded == made_here == [] and not session.tiers.entry(f.value).variants
        assert is_kept == any(entry.name.endswith(cache.LIBRARY) for entry in cache.entries())


def test_the_compiler_is_imported_when_the_other_process_has_replied(tmp_path: Path) -> None:
    """A short program may end before that."""
    program = f"""
        import sys, vlad
        from vlad.compile.calling.compiling_process import PROCESS
        from vlad.compile.calling.background import Superseded
        from vlad.python.convert import from_python

        def compiled(*operands):
            print("vlad.compile.calling.compilation" in sys.modules)
            raise Superseded

        PROCESS.compiled = compiled
        session = vlad.Session(tier="auto")
        f = session.eval({LOOP!r}).value
        session.tiers.compile(session.tiers.entry(f), (from_python(2.0),), apart=True)
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
