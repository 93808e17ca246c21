"""The kinds of error: the codes in the sources are the documented ones, and each is provoked by the example of its entry.

The output of the examples is tested with the other pages (tests/test_documentation.py); this file tests their kinds of error.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import vlad
from vlad.__main__ import main
from vlad.data.errors import VladError
from vlad.manual.help import Kind, kinds

sys.path.insert(0, str(Path(__file__).parent.parent))
from python_texts import name_of, run

ROOT = Path(__file__).resolve().parents[2]
CLASSES = {
    "VladError",
    "Incomplete",
    "Notice",
    "Abandoned",
    "LimitExceeded",
    "Exited",
    "ExitedAtOnce",
    "RaisedValue",
    "EndedContinuation",
    "UnknownName",
    "NoCounterpart",
    "WrongCall",
    "WrongOption",
    "raised",  # of one of the classes of Python's exceptions
    "MissingPackage",
}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Kinds that no short example can provoke on this machine: with tests that use a mock of a GPU, for example, or threads.
PRETENDED = {
    "lost-worker": "tests/embedding/test_parallel.py",
    "deadlock": "tests/embedding/test_threads.py",
    "cancelled": "tests/embedding/test_threads.py",
    "internal-error": "tests/repl/test_shell.py",
    "wrong-device": "tests/primitives/test_array_libraries.py",
    "device-failed": "tests/compile/test_cuda_programs.py",
}


def codes_in(tree: ast.AST) -> Iterator[str]:
    """The codes of the errors that a module makes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            first = node.args[0]
            if name == "nonconforming" and isinstance(first, ast.Constant):
                yield f"{first.value}-do-not-conform"
            elif name in CLASSES:
                if isinstance(first, ast.Constant):
                    yield str(first.value)
                else:
                    assert ast.unparse(first) == "f'{name}-do-not-conform'", ast.unparse(first)


def codes_in_the_sources() -> set[str]:
    found: set[str] = set()
    for folder in ("vlad", "repl"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if any(name in text for name in (*CLASSES, "nonconforming")):
                found |= set(codes_in(ast.parse(text)))
    return found


@pytest.mark.own_tier
def test_the_codes_in_the_sources_are_those_that_are_documented() -> None:
    assert codes_in_the_sources() == set(kinds())


def test_the_codes_are_words() -> None:
    assert [code for code in kinds() if not re.fullmatch(r"[a-z]+(-[a-z]+)*", code)] == []
    assert len(kinds()) >= 57


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The codes of all errors that are made while a test runs."""
    codes: list[str] = []
    original = VladError.__init__

    def noting(self: VladError, code: str, *rest: object, **more: object) -> None:
        codes.append(code)
        original(self, code, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(VladError, "__init__", noting)
    return codes


def python_names() -> dict[str, object]:
    """Names that the page's blocks may use: those of its first block, before the entries."""
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    first = next(block for block in BLOCK.finditer(page) if block.group(1) == "python")
    exec(first.group(2), names)
    return names


def run_command(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of a console, as far as it calls vlad."""
    entered, pipe, command = line.partition(" | ")
    if pipe and entered.startswith("echo "):
        monkeypatch.setattr("sys.stdin", io.StringIO(shlex.split(entered)[1] + "\n"))
        line = command
    words = shlex.split(line.partition("&&")[0])
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        monkeypatch.setenv(name, value)
    assert words.pop(0) == "vlad"
    main(words)


@pytest.mark.parametrize(
    "kind", [kind for kind in kinds().values() if kind.code not in PRETENDED], ids=lambda kind: kind.code
)
def test_the_example_provokes_the_error(
    kind: Kind, made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = python_names()
    session = vlad.Session(write=lambda text: None)
    provoked = []
    for language, text in BLOCK.findall("\n".join(kind.lines)):
        if file := re.match(r"; (\S+\.vlad)\n", text):
            (tmp_path / file.group(1)).write_text(text, encoding="utf-8")
        elif language == "vlad":
            with pytest.raises(VladError) as caught:
                session.run_text(text)
            provoked.append(caught.value.code)
        elif language in ("python", "console"):
            made.clear()
            with contextlib.redirect_stdout(io.StringIO()):
                if language == "python":
                    run(text, name_of(text), names)
                else:
                    run_command(text.splitlines()[0].removeprefix("$ "), monkeypatch)
            provoked.append(kind.code if kind.code in made else "")
    assert set(provoked) == {kind.code}


@pytest.mark.parametrize("code", PRETENDED)
def test_what_needs_another_device_is_tested_elsewhere(code: str) -> None:
    assert f'"{code}"' in (ROOT / PRETENDED[code]).read_text(encoding="utf-8")
    assert code in kinds()


@pytest.mark.parametrize("program", ["(+ 1 (adam 0.1))", f'(+ 1 "{"x" * 5000}")', "(car (zeros 900))"])
def test_values_are_cut(program: str) -> None:
    with pytest.raises(vlad.VladError) as caught:
        vlad.Session().eval(program)
    assert caught.value.irritants[-1].endswith("…")
    assert all(len(text) < 210 for text in caught.value.irritants)
