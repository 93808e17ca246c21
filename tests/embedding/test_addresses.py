"""`resource.setrlimit(resource.RLIMIT_AS, …)`: programs run, what takes too much is an error, and no process ends by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import vlad
from vlad.compile.calling import policy, variant_compiler
from vlad.compile.native import reserve
from vlad.compile.native.abi import ARENA_SIZE, STACK_SIZE

sys.path.insert(0, str(Path(__file__).parent.parent))
from amounts import THOROUGH

linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems limit no addresses")
EXPECTED = """loops True
lists 20000.0
recursion 5000.0
recursion without end True
afterwards 5000.0
a list without end True
after it 20000.0
many procedures True
threads True
in a child 1000.0 1000.0
a child 0
"""


@linux
@pytest.mark.parametrize("tier", ["evaluate", "auto", "compile"])
@pytest.mark.parametrize("megabytes", [512, 1024, 2048, 4096] if THOROUGH else [512])
def test_a_process_of_few_addresses(megabytes: int, tier: str) -> None:
    script = str(Path(__file__).parent / "addresses.py")
    for _ in range(2 if tier == "auto" else 1):  # once more, now that the cache says how long the calls take
        done = subprocess.run([sys.executable, script, tier, str(megabytes)], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, EXPECTED), done.stderr[-2000:]
        assert "Traceback" not in done.stderr and "at fault" not in done.stderr


def test_calls_are_compiled_before_they_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (policy, variant_compiler):
        monkeypatch.setattr(module, "has_limited_addresses", lambda: True)
    monkeypatch.setattr(policy, "A_MOMENT", 1e-9)
    monkeypatch.setattr(policy.BACKGROUND, "add", lambda job: pytest.fail("compiles beside an evaluation"))
    session = vlad.Session(tier="auto")
    f = session.eval("(define (f n) (if (= n 0) 1 (* 1.5 (f (- n 1))))) f")
    calls = []
    for _ in range(2):
        assert f(3.0) == 1.5**3
        calls.append(len(session.tiers.entries[id(f.value)].variants))
    assert calls == [0, 1]


@linux
def test_libraries_share_one_reserve() -> None:
    def mapped() -> int:
        with open("/proc/self/statm", encoding="utf-8") as file:
            return int(file.read().split()[0]) * 4096

    session = vlad.Session(tier="compile")
    text = "(define (f{0} n) (if (= n 0) '() (cons {0} (f{0} (- n 1))))) (car (f{0} 100))"
    assert session.eval(text.format(0)) == 0
    assert session["f0"](2.0) == [0, 0]
    before = mapped()
    for number in range(1, 6):
        assert session.eval(text.format(number)) == number
        assert session[f"f{number}"](2.0) == [number, number]
    assert mapped() - before < STACK_SIZE


def test_a_reserve_is_no_larger_than_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"/sys/fs/cgroup/memory.max": 1 << 30}
    monkeypatch.setattr(reserve, "_number", files.get)
    made = reserve.reserve.__wrapped__()
    assert made.arena == 3 << 28 and made.left > ARENA_SIZE
    files["/proc/sys/vm/overcommit_memory"] = 2
    monkeypatch.setattr(reserve, "_entries", lambda path: {"CommitLimit": 3 << 20, "Committed_AS": 1 << 20})
    assert reserve.reserve.__wrapped__().left == 1 << 29
    monkeypatch.setattr(reserve, "addresses_left", lambda: 1 << 28)
    assert reserve.reserve.__wrapped__().left == 1 << 27
