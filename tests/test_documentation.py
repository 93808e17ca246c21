"""Every example in README.md and docs/ is run, and must print the page's output.

A page is read from top to bottom. Its blocks, by their language:

    vlad      evaluated; all of a page share one session. Output is in `; => value` comments, or in the `text` block
              that follows. A block whose first line is `; NAME.vlad` is that file, and is not evaluated by itself
    python    executed; all of a page share their names. Output is in the `text` block that follows
    repl      a session at the prompt: `N> ` before each input, its output below; all of a page are one session
    console   lines `$ COMMAND`, each with its output, errors included; run in a folder that has the page's files

Numbers may differ in the last digits, as C libraries of other machines may.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import command
from vlad.repl.commands import enter
from vlad.repl.interrupts import Interrupts
from vlad.repl.shell import Shell
from vlad.repl.structure import is_complete
from vlad.repl.terminal import Terminal

from vlad import Session, VladError
from vlad.tools.testing import same_text

sys.path.insert(0, str(Path(__file__).parent))
from python_texts import name_of, run

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").glob("**/*.md")),
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r";\s*=>\s*(.*)$", re.MULTILINE)
STATUS = '; echo "status $?"'
# A line of `vlad` with words in single quotes, or in double quotes without what a shell replaces there.
PLAIN = re.compile(rf"""vlad( ([\w./:,+=-]+|'[^']*'|"[^"$`\\]*"))*({re.escape(STATUS)})?""")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
CHAOTIC = {"section.svg", "energy.svg", "standard.svg", "exponent.svg"}
# `sh` sets up machines and is not run. `scheme` is in the pages that docs/make_reference.py makes, from texts whose examples
# tests/test_help.py runs, and marks the grammar in docs/saving.md.
LANGUAGES = {"vlad", "python", "repl", "console", "text", "sh", "scheme"}


@dataclass
class Block:
    page: Path
    line: int
    language: str
    text: str
    follower: str | None  # the text of a `text` block directly after it


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = list(BLOCK.finditer(text))
    result = []
    for match, following in zip(found, [*found[1:], None], strict=False):
        near = following is not None and not text[match.end() : following.start()].strip()
        follower = following.group(2) if near and following and following.group(1) == "text" else None
        line = text.count("\n", 0, match.start()) + 1
        result.append(Block(page, line, match.group(1), match.group(2), follower))
    return result


def hidden_names(session: Session) -> list[str]:
    """Standard names that a program has redefined. The prompt reports them each time; the pages omit that. What a module gives a
    new meaning is what the page is about."""
    module = session.module
    return [
        name
        for name in module.defined
        if session.library.lookup(name) is not None and name not in module.imported
    ]


def check(block: Block, printed: str, expected: str) -> None:
    place = f"{block.page.relative_to(ROOT)}, line {block.line}"
    assert same_text(printed, expected), f"{place}\n--- printed\n{printed}\n--- expected\n{expected}"


class Page:
    """State shared by the blocks of one page."""

    def __init__(self, folder: Path, tier: str | None = None) -> None:
        self.folder = folder
        self.printed: list[str] = []
        self.session = Session(write=self.printed.append)
        self.names: dict[str, object] = {}
        self.shown = io.StringIO()
        terminal = Terminal(self.shown)
        terminal.columns = 100
        self.shell = Shell(lambda write: Session(write=write, tier=tier), terminal, Interrupts())
        (folder / "bin").mkdir()
        shim = folder / "bin" / "vlad"
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m vlad "$@"\n')
        shim.chmod(0o755)
        (folder / "examples").symlink_to(ROOT / "examples")

    def vlad(self, block: Block) -> None:
        name = re.match(r"; (\S+\.vlad)\n", block.text)
        if name is not None:
            (self.folder / name.group(1)).write_text(block.text, encoding="utf-8")
            return
        expected = block.follower
        if expected is None:
            expected = "\n".join(SHOWN.findall(block.text))
        self.printed.clear()
        try:
            with contextlib.chdir(self.folder):
                self.session.run_text(block.text)
        except VladError as error:
            self.printed.append(str(error))
        check(block, "".join(self.printed), expected)

    def python(self, block: Block) -> None:
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.chdir(self.folder):
            run(block.text, name_of(block.text), self.names)
        check(block, output.getvalue(), block.follower or "")

    def repl(self, block: Block) -> None:
        for part in re.split(r"^(?=\d+> )", block.text, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            assert lines[0].startswith(f"{self.shell.number}> "), (
                f"{block.page}: the next prompt is {self.shell.number}>"
            )
            entered = lines.pop(0).partition("> ")[2]
            while lines and not entered.startswith(",") and not is_complete(entered):
                entered += "\n" + lines.pop(0)
            self.shown.seek(0)
            self.shown.truncate()
            with contextlib.chdir(self.folder):
                enter(self.shell, entered)
            check(block, self.shown.getvalue(), "\n".join(lines))

    def console(self, block: Block) -> None:
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            line, _, expected = part.partition("\n")
            printed = self.forked(line) if PLAIN.fullmatch(line) else self.in_shell(line)
            check(block, f"$ {line}\n{printed}", f"$ {line}\n{expected}")

    def forked(self, line: str) -> str:
        """The output of a line that needs no shell."""
        words = shlex.split(line.removesuffix(STATUS))
        done = command(*words[1:], cwd=self.folder, is_joined=True, timeout=120)
        return done.stdout + (f"status {done.returncode}\n" if line.endswith(STATUS) else "")

    def in_shell(self, line: str) -> str:
        own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        path = f"{self.folder / 'bin'}{os.pathsep}{own['PATH']}"
        done = subprocess.run(
            ["sh", "-c", line],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            env={**own, "PATH": path, "PYTHONPATH": str(ROOT)},
            timeout=120,
        )
        return done.stdout.decode()


def check_pictures(page: Path, folder: Path) -> None:
    """The pictures of a gallery are those that the page's `,plot`s wrote. A chaotic orbit is another one where a C library rounds
    otherwise: it has as many shapes."""
    gallery = page.with_suffix("")
    if not gallery.is_dir():
        return
    drawn = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.svg")}
    kept = {path.name: path.read_text(encoding="utf-8") for path in gallery.glob("*.svg")}
    linked = {
        Path(link).name for link in LINK.findall(page.read_text(encoding="utf-8")) if link.endswith(".svg")
    }
    assert drawn.keys() == kept.keys() == linked, "run: python docs/make_gallery.py"
    for name, text in drawn.items():
        shapes = [re.sub(r"[-\d.e]+", "", line)[:20] for line in text.splitlines()]
        assert shapes == [re.sub(r"[-\d.e]+", "", line)[:20] for line in kept[name].splitlines()], name
        if name not in CHAOTIC:
            numbers = [[float(n) for n in NUMBER.findall(one)] for one in (text, kept[name])]
            assert numbers[0] == pytest.approx(numbers[1], abs=0.5), name  # of 640 points


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page(page: Path, tmp_path: Path) -> None:
    # as users run it, compiled where that pays: pictures take thousands of steps
    runner = Page(tmp_path, "compile" if page.with_suffix("").is_dir() else None)
    for block in blocks(page):
        if block.language in ("vlad", "python", "repl", "console"):
            getattr(runner, block.language)(block)
            hidden = hidden_names(runner.session) + hidden_names(runner.shell.session)
            assert hidden == [], f"{page.name}, line {block.line}: another name would not hide the library's"
    check_pictures(page, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_states_its_kind(page: Path) -> None:
    found = blocks(page)
    assert {block.language for block in found} <= LANGUAGES
    followed = sum(block.follower is not None for block in found)
    assert followed == sum(block.language == "text" for block in found)  # no output without its program
    assert page.read_text(encoding="utf-8").count("```") == 2 * len(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    prose = BLOCK.sub("", page.read_text(encoding="utf-8"))
    links = [link for link in LINK.findall(prose) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_tests_that_a_page_names_are_there() -> None:
    """SECURITY.md names a test, after the link to its file, for each claim."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"\]\((tests/\S+?)\)((?:, `test_\w+`(?: and `test_\w+`)?)?)", text)
    tests = [(file, name) for file, names in named for name in re.findall(r"test_\w+", names)]
    assert len(tests) >= 4
    for file, name in tests:
        assert f"\ndef {name}(" in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["compared.md", "prompt-features.md"])
def test_each_feature_names_a_test_that_is_there(name: str) -> None:
    """The last column of the tables of features."""
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    tables = [table.split("\n") for table in re.findall(r"^\|.*\| test \|\n(?:\|.*\n)+", page, re.MULTILINE)]
    rows = [row.split(" | ") for table in tables for row in table[2:] if row]
    shown = [row[-1].strip(" |`") for row in rows if not row[-2].startswith("no") or row[-1] != "– |"]
    assert len(shown) > 25
    for file, function in (one.split("::") for one in shown):
        (path,) = (ROOT / "tests").glob(f"**/{file}.py")
        assert f"def {function}(" in path.read_text(encoding="utf-8"), (file, function)


def test_each_claim_about_another_system_is_one_of_the_script() -> None:
    """docs/compared.md names each function of benchmarks/peers/claims.py, and its result; the script needs JAX and PyTorch."""
    page = (ROOT / "docs" / "compared.md").read_text(encoding="utf-8")
    script = (ROOT / "benchmarks" / "peers" / "claims.py").read_text(encoding="utf-8")
    claims = {name.replace("_", " ") for name in re.findall(r"^def (\w+_in_\w+)\(", script, re.MULTILINE)}
    assert claims == set(re.findall(r"^# ([\w ]+ in \w+): ", page, re.MULTILINE))
    assert claims == set(re.findall(r"\*([\w ]+ in \w+)\*", page.replace("\n", " ")))
    for named in re.findall(r"`python (benchmarks/[\w/.]+)", page):
        assert (ROOT / named).is_file(), named


def test_the_pages_have_examples() -> None:
    """So that a change of the marks above cannot make this file test nothing."""
    counted = {
        page.name: sum(b.language in ("vlad", "python", "console") for b in blocks(page)) for page in PAGES
    }
    assert counted["README.md"] >= 7
    assert counted["language-tour.md"] >= 15
    assert counted["command.md"] >= 8


def test_every_page_of_the_site_is_in_its_navigation_and_on_its_first_page() -> None:
    pages = sorted(path.name for path in (ROOT / "docs").glob("*.md"))
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    assert sorted(re.findall(r"[\w-]+\.md", navigation)) == pages
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert {*LINK.findall(index), "index.md"} >= set(pages)


def test_the_commands_of_the_readme_are_those_of_the_checks() -> None:
    """The set-up commands run an example that is there, and the tests by the command that .ci/run uses."""
    (setup,) = (block.text for block in blocks(ROOT / "README.md") if block.language == "sh")
    install, test = setup.splitlines()
    assert (ROOT / install.split()[-1]).is_file()
    assert test == ".venv/bin/pip install -e '.[test]' && .venv/bin/python -m pytest"
    assert (ROOT / ".ci" / "run").read_text().endswith("\npython -m pytest\n")


def test_the_comparison_itself() -> None:
    assert same_text("(1 2.0000000000001 x1)", "(1 2 x1)")
    assert same_text("1e-13", "0")
    assert not same_text("(1 2)", "(1 3)")
    assert not same_text("(1 2 x1)", "(1 2 x2)")
    assert not same_text("(1 2)", "(1 2 3)")
    assert not same_text("#t", "#f")
