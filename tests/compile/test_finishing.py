"""Long C texts: a call runs code that is not optimised, until other code is made beside it, and nothing else is to be noticed."""

from __future__ import annotations

import gc
import os
import stat
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
from vlad.compile.calling import compilation, libraries, notifier, pipeline, variant_compiler
from vlad.compile.calling.background import BACKGROUND
from vlad.compile.calling.policy import operands_of
from vlad.compile.ir.refusals import Unavailable
from vlad.compile.native import toolchain

pytestmark = pytest.mark.skipif("VLAD_CC" in os.environ, reason="it may not optimise")
SECONDS = 60
TURNS = "(define (turns n) (let loop ((i 0) (x 0.1)) (if (< i n) (loop (+ i 1) (cos (+ x i))) x)))"


class Gate:
    """The libraries that are made: their levels of optimisation, in order. Those made beside calls wait until it is opened."""

    def __init__(self) -> None:
        self.made: list[int] = []
        self.event = threading.Event()
        self.is_ended = False
        self._build = toolchain.build

    def build(self, text: str, **options: Any) -> Any:
        if "include" in options:  # no code of the language
            return self._build(text, **options)
        self.made.append(options["optimize"])
        if threading.current_thread().name == "vlad-compiler":
            end = time.monotonic() + SECONDS
            # a forked child has another event, perhaps only after this thread has begun there
            while not self.event.wait(0.05):
                assert time.monotonic() < end
            if self.is_ended:
                raise Unavailable("it was ended")
        return self._build(text, **options)

    def end(self) -> None:
        """End what is being made."""
        self.is_ended = True
        self.open()
        self.is_ended = False

    def open(self) -> None:
        """Let the libraries be made, and wait until they are in use."""
        self.event.set()
        finish()


def finish() -> None:
    end = time.monotonic() + SECONDS
    while BACKGROUND._jobs:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each text is long, and none is in the cache."""
    monkeypatch.setattr(compilation, "LONG_TEXT", 0)
    monkeypatch.setattr(libraries, "_without_quick", set())
    monkeypatch.setenv("VLAD_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def gate(fresh: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate()
    monkeypatch.setattr(toolchain, "build", gate.build)
    yield gate
    gate.open()


def session_of(text: str, tier: str = "compile", **columns: Any) -> vlad.Session:
    session = vlad.Session(tier=tier, **columns)
    session.eval(text)
    return session


def variants(session: vlad.Session) -> list[Any]:
    return [variant for entry in session.tiers.entries.values() for variant in entry.variants]


def compiler(tmp_path: Path, quick: str = "", slow: str = "") -> str:
    """A C compiler that runs a line of shell first, according to whether it optimises."""
    path = tmp_path / "cc"
    path.write_text(f"""#!/bin/sh
case "$*" in --version|*" -I"*) ;; "-O0 "*) {quick or ":"} ;; *) {slow or ":"} ;; esac
exec cc "$@"
""")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def entries(tmp_path: Path, suffix: str) -> int:
    return len(list((tmp_path / "cache").glob(f"*{suffix}")))


def test_the_next_call_runs_the_optimised_code(gate: Gate, tmp_path: Path) -> None:
    f = session_of("(define (f x) (+ (sin x) (* 2 x)))")["f"]
    first = f(0.7)
    assert gate.made[0] == 0 and entries(tmp_path, ".text") == 1
    assert f(0.7) == first
    gate.open()
    assert f(0.7) == first and gate.made == [0, 2]
    assert entries(tmp_path, ".so") == 1 and entries(tmp_path, ".text") == 0


def test_the_library_that_is_not_optimised_is_unloaded(gate: Gate) -> None:
    session = session_of("(define (f x) (+ (sin x) (* 2 x)))")
    f = session["f"]
    gc.collect()
    gc.disable()
    try:
        for x in (1.0, 2.0, 3.0):
            f(x)
        quick = weakref.ref(variants(session)[0])
        gate.open()
        await_(lambda: quick() is None)  # the compiler's thread ends its turn
        assert f(2.0) == pytest.approx(4.909297426825682)
    finally:
        gc.enable()


def test_direct_calls_are_bound_to_the_new_library(gate: Gate) -> None:
    session = session_of("(define (f x y) (+ (exp x) (* x y)))")
    f = session["f"]
    results = [f(0.3, 2.0) for _ in range(4)]
    (entry,) = [entry for entry in session.tiers.entries.values() if entry.variants]
    (quick,) = entry.quicks
    gate.open()
    (better,) = entry.quicks
    assert better is not quick and better is entry.variants[0].quick
    assert {f(0.3, 2.0), *results} == {results[0]}


MATHEMATICS = """
(define (sums x)
  (let loop ((i 0) (total 0))
    (if (< i 12)
        (loop (+ i 1)
              (+ total (sin (+ x i)) (* (cos x) (sin x)) (exp (- 0 (* x i))) (log (+ 1.1 i)) (expt (+ 1.3 x) 2)
                 (expt 1.7 i) (atan x (+ i 0.3)) (tan (* 0.3 i)) (tanh (- x i)) (sqrt (+ i 0.1)) (/ x (+ i 3)) (abs (- x i))
                 (log 7.3) (sin 0.7) (floor (* x i)) (max x i) (gamma (+ x 2.5)) (erf (* 0.1 i))))
        total)))
(define (steps x) (let loop ((i 0) (y x)) (if (= i 3) y (loop (+ i 1) (tanh (+ y (* 0.377 x)))))))
(define (all x)
  (list (sums x) ((derivative-R sums) x) ((derivative-F (derivative-R sums)) x) ((derivative-R steps) x)
        (sums 0.3) ((derivative-R sums) 1.9) (sums -0.0)))
"""


def test_both_give_the_same_bits(gate: Gate) -> None:
    """Also where the C compiler finds that an operand is constant, and knows its sine better than the C library."""
    f = session_of(MATHEMATICS)["all"]
    points = [0.1, 0.7, -1.3, 3.9, 1e-9, 12.25, -0.0, 1e300, float("inf")]
    before = np.array([f(x) for x in points])
    assert set(gate.made[:1]) == {0}
    gate.open()
    after = np.array([f(x) for x in points])
    assert 2 in gate.made
    is_number = ~np.isnan(before)
    assert (is_number == ~np.isnan(after)).all()
    assert (before.view(np.int64) == after.view(np.int64))[is_number].all()


CODE: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "of tensors": ("(define (f x) (sum (* x (sin x))))", np.arange(9.0), {}),
    "with effects": ('(define (f x) (begin (display "") (sin x)))', 0.5, {}),
    "whose sums may be reordered": ("(define (f x) (+ x (sin x)))", 0.5, {"fast_math": True}),
}


@pytest.mark.parametrize("kind", CODE)
def test_other_code_is_optimised_before_the_call(kind: str, gate: Gate) -> None:
    text, operand, columns = CODE[kind]
    f = session_of(text, write=lambda text: None, **columns)["f"]
    f(operand)
    assert gate.made == [2]


def test_code_of_usual_length_is_optimised_before_the_call(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilation, "LONG_TEXT", 400_000)
    assert session_of("(define (f x) (+ x (sin x)))")["f"](0.0) == 0 and gate.made == [2]


def test_what_is_compiled_ahead_of_calls_is_optimised(gate: Gate) -> None:
    f = vlad.compile(session_of("(define (f x) (+ x (sin x)))")["f"], 0.5, optimize=1)
    assert gate.made == [1] and f(0.0) == 0.0


def test_options_hold_for_the_code_that_is_made_beside(gate: Gate) -> None:
    session = session_of("(define (f x) (if (pair? x) (sin (car x)) x))")
    f = vlad.compile(session["f"], 0.5, optimize=3)
    assert f([0.0, 1.0]) == 0.0  # of another type than the example
    gate.open()
    assert gate.made == [3, 0, 3] and f([0.0, 1.0]) == 0.0


def test_code_made_beside_an_evaluation_is_optimised(gate: Gate) -> None:
    session = session_of("(define (f x) (+ x (sin x)))", tier="auto")
    f = session["f"].value
    gate.event.set()
    compiled = session.tiers.compile(session.tiers.entry(f), operands_of(f[0], 0.5), apart=True)
    assert compiled.later is None and 0 not in gate.made


def test_limited_addresses(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variant_compiler, "has_limited_addresses", lambda: True)
    assert session_of("(define (f x) (+ x (sin x)))")["f"](0.0) == 0 and gate.made == [2]


def test_a_call_in_progress_begins_again(gate: Gate) -> None:
    """It would take centuries: both codes have to be stopped."""
    session = session_of(TURNS)
    f = session["turns"]
    expected = f(10.0)
    caught: list[BaseException] = []

    def call() -> None:
        try:
            f(1e18)
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    try:
        await_(lambda: any(variant.is_taken() for variant in variants(session)))
        (quick,) = variants(session)
        gate.open()
        await_(lambda: quick.replacement is not None)
        better = quick.replacement
        await_(lambda: bool(better.busy) and not quick.busy)
    finally:
        end = time.monotonic() + SECONDS
        while thread.is_alive() and time.monotonic() < end:
            for variant in variants(session):
                variant.stop()
            thread.join(0.05)
    assert [type(error) for error in caught] == [KeyboardInterrupt]
    assert f(10.0) == expected


def await_(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_deep_recursion_runs_on_tier_0_meanwhile(gate: Gate) -> None:
    """Frames of code that is not optimised are larger, so that a limit of depth leaves room for fewer."""
    session = session_of("(define (f n) (if (< n 1) 0 (+ n (sin (f (- n 1))))))")
    f = session["f"]
    expected = session_of("(define (f n) (if (< n 1) 0 (+ n (sin (f (- n 1))))))", tier="evaluate")["f"](
        900.0
    )
    assert f(900.0) == expected and gate.made[0] == 0
    (quick,) = variants(session)
    quick.handle.vlad_deepest = 10_000
    assert f(900.0) == expected and variants(session) == [quick]
    gate.open()
    assert f(900.0) == expected and quick not in variants(session)
    assert session.tiers.disagreements == 0


def test_limits_hold_for_code_that_is_not_optimised(gate: Gate) -> None:
    session = session_of(TURNS)
    with session.limited(vlad.Limits(seconds=0.5)), pytest.raises(vlad.VladError, match="took longer"):
        session["turns"](1e18)


def test_a_later_process_goes_on_without_analysis(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "(define (f x) (+ (sin x) (* 3 x)))"
    session = session_of(text)
    expected = session["f"](0.7)
    session.tiers.closed = True
    gate.end()
    session.close()
    monkeypatch.setattr(pipeline, "made", lambda *operands: pytest.fail("it is in the cache"))
    gate.made.clear()
    assert session_of(text)["f"](0.7) == expected
    gate.open()
    assert gate.made == [2]
    assert session_of(text)["f"](0.7) == expected and gate.made == [2]


def test_a_session_that_waits_for_better_code_is_closed_at_once(
    fresh: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VLAD_CC", compiler(tmp_path, slow="sleep 1000"))
    session = session_of("(define (f x) (+ x (sin x)))")
    assert session["f"](0.0) == 0.0
    await_(toolchain.is_compiling)
    machine = weakref.ref(session.machine)
    begun = time.monotonic()
    session.close()
    assert time.monotonic() - begun < SECONDS / 2 and not toolchain.is_compiling()
    del session
    await_(lambda: machine() is None)


def test_a_program_that_waits_for_better_code_ends_at_once(fresh: None, tmp_path: Path) -> None:
    program = textwrap.dedent("""
        import vlad
        from vlad.compile.calling import compilation
        from vlad.compile.native import toolchain
        import time
        compilation.LONG_TEXT = 0
        session = vlad.Session(tier="compile")
        session.eval("(define (f x) (+ x (sin x)))")
        print(session["f"](0.0))
        while not toolchain.is_compiling():
            time.sleep(0.01)
        print(*[process.pid for process in toolchain._running])
    """)
    folder = tmp_path / "temporary"
    folder.mkdir()
    environment = {
        **os.environ, "VLAD_CC": compiler(tmp_path, slow="sleep 1000"), "TMPDIR": str(folder),
        "PYTHONPATH": str(Path(__file__).parent.parent.parent),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    result, process = done.stdout.split()
    assert (result, done.stderr, done.returncode) == ("0.0", "", 0)
    assert not os.path.exists(f"/proc/{process}") and not list(folder.iterdir())


def test_redefinition_discards_what_is_being_made(gate: Gate) -> None:
    session = session_of("(define (g x) (* 2 x)) (define (f x) (+ 1 (g x)))")
    f = session["f"]
    assert f(3.0) == 7
    session.eval("(define (g x) (* 5 x))")
    assert f(3.0) == 16
    gate.open()
    assert f(3.0) == 16 and len(variants(session)) == 1


@pytest.mark.usefixtures("fresh")
def test_a_compiler_that_has_to_optimise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = tmp_path / "log"
    monkeypatch.setenv("VLAD_CC", compiler(tmp_path, f"echo quick >> {log}; exit 1", f"echo slow >> {log}"))
    session = session_of("(define (f x) (+ x (sin x))) (define (g x) (cos x))")
    assert session["f"](0.0) == 0.0 and session["g"](0.0) == 1.0
    assert log.read_text().split() == ["quick", "slow", "slow"]  # the failure is remembered


@pytest.mark.usefixtures("fresh")
def test_a_compiler_that_cannot_optimise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(notifier, "_warned", set())
    monkeypatch.setenv("VLAD_CC", compiler(tmp_path, slow="exit 1"))
    text = "(define (f x) (+ x (sin x)))"
    for _ in range(2):  # the second session finds the first one's library
        f = session_of(text)["f"]
        assert f(0.0) == 0.0
        finish()
        assert f(0.0) == 0.0
    said = capsys.readouterr().err
    assert said.count("running code that is not optimised") == 1 and "failed with status 1" in said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_makes_its_own(gate: Gate) -> None:
    session = session_of("(define (f x) (+ x (sin x)))")
    assert session["f"](0.0) == 0.0
    child = os.fork()
    if child == 0:
        code = 1
        try:
            gate.event = threading.Event()
            gate.open()
            code = 0 if session["f"](0.0) == 0.0 and gate.made[-1] == 2 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.usefixtures("fresh")
def test_sessions_with_the_same_text_compile_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    options_of: list[bool] = []
    compiled = toolchain._compiled

    def counting(text: str, compiler: Any, options: list[str], *rest: Any) -> str:
        options_of.append("-O0" in options)
        return compiled(text, compiler, options, *rest)

    monkeypatch.setattr(toolchain, "_compiled", counting)
    procedures = [session_of("(define (f x) (+ x (sin x)))")["f"] for _ in range(2)]
    threads = [threading.Thread(target=f, args=(0.5,)) for f in procedures]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    finish()
    assert options_of.count(False) == 1
    assert len({f(0.5) for f in procedures}) == 1
