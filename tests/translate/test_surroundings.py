"""Translated functions among Python's tools: notebooks, changed texts, limits, threads, tracers, saved values, type checkers."""

from __future__ import annotations

import copy
import linecache
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import vlad

sys.path.insert(0, str(Path(__file__).parent.parent))
from python_texts import run


@pytest.fixture(params=["evaluate", "compile"])
def session(request: pytest.FixtureRequest) -> vlad.Session:
    return vlad.Session(tier=request.param)


class Notebook:
    """Cells that share their names. Each has a file of its own, unless the test names one."""

    def __init__(self, session: vlad.Session) -> None:
        self.names: dict[str, Any] = {"vlad": vlad, "function": session.function, "__name__": "notebook"}
        self.count = 0

    def __call__(self, text: str, name: str | None = None) -> None:
        self.count += 1
        run(text, name or f"<cell {self.count}>", self.names)

    def __getitem__(self, name: str) -> Any:
        return self.names[name]


@pytest.mark.any_compiler
def test_the_newest_definition_wins_and_callers_see_it(session: vlad.Session) -> None:
    cell = Notebook(session)
    cell("RATE = 2.0\n\n@function\ndef f(x):\n    return x * RATE")
    cell("@function\ndef g(x):\n    return f(x) + 1.0\n\nslope, curvature = vlad.grad(g), vlad.hessian(g)")

    def values() -> tuple[float, ...]:
        return cell["g"](3.0), cell["slope"](3.0), cell["curvature"](3.0)

    first, old = values(), cell["f"]
    assert first == values() == values() == (7.0, 2.0, 0.0)
    cell("@function\ndef f(x):\n    return x * x * RATE")
    assert values() == values() == (19.0, 12.0, 4.0)
    cell("def f(x):\n    return helper(x) * x\n\ndef helper(x):\n    return x * x")  # no decorator is needed
    assert values() == (28.0, 27.0, 18.0)
    cell("def helper(x):\n    return x")
    assert values() == (10.0, 6.0, 2.0)
    cell("RATE = 5.0")
    assert old(3.0) == 15.0  # the old one stays as it was
    cell("del f")
    with pytest.raises(NameError):
        cell["g"](3.0)
    cell("from math import sqrt as f")
    assert cell["g"](4.0) == 3.0


def test_a_function_keeps_the_text_that_it_was_defined_with(session: vlad.Session) -> None:
    """It is translated when it is first used: the cell may have been run again then, with another text."""
    cell = Notebook(session)
    cell("@function\ndef f(x):\n    return x + 1.0", "same.py")
    cell("first = function(lambda x: x + 1.0)", "same-lambda.py")
    old = cell["f"]
    cell("@function\ndef f(x):\n    y = x\n    return y * 5.0", "same.py")
    cell("second = function(lambda x: x * 3.0)", "same-lambda.py")
    assert (old(3.0), cell["f"](3.0)) == (old.python(3.0), cell["f"].python(3.0)) == (4.0, 15.0)
    assert (cell["first"](2.0), cell["second"](2.0)) == (3.0, 6.0)
    assert old.text == "(define (f x) (+ x 1))"
    with pytest.raises(vlad.VladError) as caught:
        old("text")
    assert caught.value.span is not None and caught.value.span.source.line(3) == "    return x + 1.0"


def test_a_file_that_is_edited_meanwhile(session: vlad.Session, tmp_path: Path) -> None:
    file = tmp_path / "edited.py"
    file.write_text("def f(x):\n    return x + 1.0\n")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    f = session.function(names["f"])
    file.write_text("def f(x):\n    return x + 2.0\n")
    linecache.checkcache(str(file))
    assert f(1.0) == names["f"](1.0) == 2.0


def test_functions_of_a_text_without_a_name(session: vlad.Session) -> None:
    names: dict[str, Any] = {}
    run("def helper(x):\n    return 2 * x\n\ndef f(x):\n    return helper(x) + 1", "nameless.py", names)
    f = session.function(names["f"])
    assert f(2.0) == 5.0 and vlad.grad(f)(2.0) == 2.0 and "(helper x)" in f.text


TO_THE_LEFT = {
    "a string": 'def f(x):\n    text = """\nreturn 1\n  """\n    return x + len(text)\n',
    "a bracket": "def f(x):\n    y = max(\nx,\n2.0\n)\n    return y * x\nz = 1\n",
    "a header": "def f(\nx,\n):\n    return x * x\ng = f\n",
    "a comment": "def f(x):\n    y = x\n# no end\n\n    return y + x\n",
    "a backslash": "def f(x):\n    y = x + \\\n2.0\n    return y\n",
    "a decorator": "def keep(*_):\n    return lambda f: f\n@keep(\n'def g(x):',\n2\n)\ndef f(x):\n    return x + 3\n",
    "tabs": "if True:\n\tdef f(x):\n\t\ty = x\n\t\treturn y + 1\nelse:\n\tf = None\n",
    "an else": "if True:\n    def f(x):\n        return x - 1\nelse:\n    f = None\n",
    "a line": "def f(x): return x + 5\ndef g(x): return x\n",
    "a semicolon": "def f(x): y = x; return y + 5\nclass A:\n    def f(self):\n        return 1\n",
}


@pytest.mark.own_tier
@pytest.mark.parametrize("what", TO_THE_LEFT)
def test_where_a_definition_ends(what: str) -> None:
    names: dict[str, Any] = {"__name__": "ends"}
    run(TO_THE_LEFT[what], f"<{what} to the left>", names)
    assert vlad.Session(tier="evaluate").function(names["f"])(3.0) == names["f"](3.0)


def test_it_calls_functions_that_stay_in_python(session: vlad.Session) -> None:
    @vlad.primitive(partials={"x": "(* 2 y)", "y": "(* 2 x)"})
    def twice(x: float, y: float) -> float:
        return 2 * x * y

    cell = Notebook(session)
    cell.names.update(twice=twice, int_from=int.from_bytes)
    cell("@function\ndef f(x):\n    return sum([twice(x, y) for y in [x, 3.0]])")
    f = cell["f"]
    for _ in range(3):
        assert (f(2.0), vlad.grad(f)(2.0), vlad.hessian(f)(2.0)) == (20.0, 14.0, 4.0)
    cell("@function\ndef g(x):\n    return int_from(x)")
    with pytest.raises(vlad.VladError, match=r"as a `vlad\.primitive`"):
        cell["g"](2.0)


ENDLESS = """
def f(x):
    while x > 0:
        x = x * 1.0
    return x

def deep(x):
    return x + deep(x) if x > 0 else 0.0

def large(x):
    xs = [x]
    while True:
        xs = xs + xs
    return xs[0]

def finite(x):
    total = 0.0
    for i in range(100):
        total += x
    return total
"""


@pytest.mark.any_compiler
@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_limits_of_time_depth_and_steps(tier: str) -> None:
    names: dict[str, Any] = {}
    run(ENDLESS, "endless.py", names)
    for limits, name in (
        (vlad.Limits(seconds=0.4), "f"),
        (vlad.Limits(fuel=10_000), "f"),
        (vlad.Limits(depth=1_000), "deep"),
        # a process that has freed much memory fills that first, and may need seconds for it: both limits are right
        (vlad.Limits(memory=64.0, seconds=4.0), "large"),
    ):
        confined = vlad.Session(tier=tier, limits=limits)
        f = confined.function(names[name])
        with pytest.raises(vlad.LimitExceeded):
            f(1.0)
        with pytest.raises(vlad.LimitExceeded):
            vlad.grad(f)(1.0)  # to compile it takes time, too
        assert confined.function(names["finite"])(2.0) == 200.0  # the session goes on
        confined.close()


def test_a_session_without_capabilities_prints_nothing_and_calls_no_python() -> None:
    printed: list[str] = []
    names: dict[str, Any] = {"calls": [], "open": open}
    run("def f(x):\n    print(x)\n    return x\n\ndef g(x):\n    return open(x)", "confined.py", names)
    confined = vlad.Session.confined(write=printed.append)
    assert confined.function(names["f"])(2.0) == 2.0 and "".join(printed).strip() in ("2", "2.0")
    with pytest.raises(vlad.VladError, match="call of open"):
        confined.function(names["g"])("file")


@pytest.mark.any_compiler
def test_threads_while_a_name_changes(session: vlad.Session) -> None:
    """Each call sees one value of a name, the old or the new one, and calls afterwards the new one."""
    cell = Notebook(session)
    cell(
        "RATE = 1.0\n\n@function\ndef f(n):\n    total = 0.0\n    for i in range(n): total += RATE\n    return total * RATE"
    )
    f, slope = cell["f"], vlad.grad(session.function(lambda_of_rate(cell)))
    f(10.0), slope(1.0)
    found: list[float] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def calling() -> None:
        try:
            while not done.is_set():
                found.append(f(10.0))
                found.append(slope(1.0) * 10.0)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=calling) for _ in range(3)]
    for thread in threads:
        thread.start()
    for rate in (2.0, 3.0, 4.0):
        before = len(found)
        while len(found) < before + 6 and not errors:
            done.wait(0.001)
        cell.names["RATE"] = rate
    done.set()
    for thread in threads:
        thread.join()
    assert errors == [] and set(found) <= {10.0, 40.0, 90.0, 160.0} and (f(10.0), slope(1.0)) == (160.0, 16.0)


def lambda_of_rate(cell: Notebook) -> Any:
    cell("def scaled(x):\n    return x * RATE * RATE")
    return cell["scaled"]


@pytest.mark.any_compiler
def test_tracers_and_profilers_stay_and_change_nothing(session: vlad.Session) -> None:
    cell = Notebook(session)
    cell("@function\ndef f(x):\n    y = x\n    for _ in range(3):\n        y = y * x\n    return y")
    seen: list[str] = []

    def tracer(frame: FrameType, event: str, argument: Any) -> Any:
        seen.append(frame.f_code.co_filename)
        return tracer

    before, profiled = sys.gettrace(), sys.getprofile()
    sys.settrace(tracer)
    sys.setprofile(tracer)
    try:
        found = cell["f"](2.0), vlad.grad(cell["f"])(2.0), cell["f"](2.0)
        with pytest.raises(vlad.VladError):
            cell["f"]("text")
        kept = sys.gettrace() is tracer, sys.getprofile() is tracer
        python = cell["f"].python(2.0)
    finally:
        sys.settrace(before)
        sys.setprofile(profiled)
    assert found == (16.0, 32.0, 16.0) and kept == (True, True) and python == 16.0
    assert f"<cell {cell.count}>" in seen  # the original is Python's, and is seen line by line


def test_a_function_is_saved_with_all_that_it_calls(session: vlad.Session) -> None:
    cell = Notebook(session)
    cell(
        "RATE = 3.0\n\ndef helper(x):\n    return x * RATE\n\n@function\ndef f(x, k=2.0):\n    return helper(x) * k"
    )
    f = cell["f"]
    text = vlad.dumps(f)
    cell("RATE = 100.0")
    other = vlad.Session(tier=session.tiers.policy)
    again = vlad.loads(text, other)
    assert (
        again(2.0, 2.0) == 12.0 and vlad.grad(again, 0)(2.0, 2.0) == 6.0
    )  # as it was then, in another session
    assert f(2.0) == 400.0
    slope = pickle.loads(pickle.dumps(vlad.grad(f, 0)))
    assert slope(2.0, 2.0) == 200.0
    assert copy.copy(f)(1.0) == copy.deepcopy(f)(1.0) == 200.0


def test_a_function_goes_to_another_process(tmp_path: Path) -> None:
    (tmp_path / "far.py").write_text(
        "import vlad\n\n\n@vlad.function\ndef f(x, k=2.0):\n    return x * x * k\n\n\nslope = vlad.grad(f, 0)\n"
    )
    program = """
import pickle, sys
import far
if sys.argv[1] == "write":
    sys.stdout.buffer.write(pickle.dumps((far.f, far.slope)))
else:
    f, slope = pickle.loads(sys.stdin.buffer.read())
    print(f is far.f, f(3.0), slope(3.0), slope(3.0, k=1.0))
"""
    run_in = [sys.executable, "-c", program]
    path = {"PYTHONPATH": f"{tmp_path}:{Path(__file__).parent.parent.parent}", "PATH": ""}
    sent = subprocess.run([*run_in, "write"], env=path, capture_output=True, check=True).stdout
    done = subprocess.run([*run_in, "read"], env=path, input=sent, capture_output=True, check=True)
    assert done.stdout.decode() == "True 18.0 12.0 6.0\n"


TYPED = """
import vlad

@vlad.function
def scaled(x: float, n: int = 2, *, name: str = "") -> list[float]:
    return [x] * n

session = vlad.Session()

@session.function
def flag(x: float) -> bool:
    return x > 0

reveal_type(scaled(1.0, n=3))
reveal_type(flag(1.0))
reveal_type(scaled)
scaled("text")
scaled(1.0, 2, 3)
flag()
report: vlad.Checked = vlad.check(scaled, 1.0)
reveal_type(report.lines[0].type)
reveal_type(vlad.build(flag, 1.0, path="flag.so"))
"""


def test_type_checkers_see_the_signature(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    file = tmp_path / "typed.py"
    file.write_text(TYPED)
    cache = Path(__file__).parent.parent.parent / ".mypy_cache"
    limit = sys.getrecursionlimit()
    try:
        shown, _, _ = api.run(
            ["--strict", "--no-error-summary", f"--cache-dir={cache}", "--hide-error-context", str(file)]
        )
    finally:
        sys.setrecursionlimit(limit)  # it sets one of its own, which would hold for the tests that follow
    said = [line.partition("typed.py:")[2] for line in shown.splitlines() if "typed.py:" in line]
    assert [line for line in said if "note: Revealed" in line] == [
        '14: note: Revealed type is "list[float]"',
        '15: note: Revealed type is "bool"',
        '16: note: Revealed type is "vlad.python.functions.Function[[x: float, n: int =, *, name: str =], list[float]]"',
        '21: note: Revealed type is "str"',
        '22: note: Revealed type is "list[str]"',
    ]
    errors = [line for line in said if "error:" in line]
    assert sorted({line.partition(":")[0] for line in errors}) == ["17", "18", "19"], shown
