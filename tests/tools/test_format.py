"""`vlad format`: layout of programs."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from amounts import THOROUGH
from commands import command
from hypothesis import given
from hypothesis import strategies as st
from random_programs import program
from vlad.repl.indentation import indentation
from vlad.repl.structure import Outline

from vlad import VladError
from vlad.data.source import Source
from vlad.data.write import written
from vlad.reader.lexer import tokens
from vlad.reader.parser import Form, Keyword, Literal, Name, Syntax, TensorLiteral, read
from vlad.tools.layout import WIDTH, laid_out

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = sorted(
    path
    for room in ("stdlib", "examples", "tests/language", "tests/ad", "benchmarks")
    for path in (ROOT / room).rglob("*.vlad")
)
FORMATTED = sorted((ROOT / "examples").glob("*.vlad"))


def formatted(text: str, width: int = WIDTH) -> str:
    return laid_out(Source("<test>", text), width)


def datum(syntax: Syntax) -> object:
    """A datum as Python data that compare by contents."""
    if isinstance(syntax, Form):
        tail = None if syntax.tail is None else datum(syntax.tail)
        return "form", [datum(item) for item in syntax.items], tail
    if isinstance(syntax, TensorLiteral):
        return "tensor", [datum(item) for item in syntax.items]
    if isinstance(syntax, Literal):
        return written(syntax.value)
    assert isinstance(syntax, Name | Keyword)
    return type(syntax).__name__, syntax.name if isinstance(syntax, Keyword) else syntax.symbol.name


def data(text: str) -> list[object]:
    return [datum(syntax) for syntax in read(Source("<test>", text))]


def comments(text: str) -> list[str]:
    return [text[token.start : token.end].rstrip() for token in tokens(text) if token.kind == "comment"]


def expect_laws(text: str, width: int = WIDTH) -> str:
    """The data, the comments, and a second time; the layout."""
    result = formatted(text, width)
    assert data(result) == data(text)
    assert comments(result) == comments(text)
    assert formatted(result, width) == result
    assert result == "" or (result.endswith("\n") and not result.endswith("\n\n"))
    return result


def expect_indentation_of_the_prompt(text: str) -> None:
    lines = text.split("\n")
    outline = Outline(lines)
    for row, line in enumerate(lines):
        column = indentation(outline, row)
        assert not line.strip() or column in (None, len(line) - len(line.lstrip())), (row, column, line)


@pytest.mark.parametrize("path", PROGRAMS if THOROUGH else PROGRAMS[::4], ids=lambda path: path.stem)
def test_programs_of_the_project(path: Path) -> None:
    result = expect_laws(path.read_text(encoding="utf-8"))
    expect_indentation_of_the_prompt(result)
    code = [line for line in result.split("\n") if ";" not in line and '"' not in line]
    assert max(map(len, code)) <= WIDTH


@pytest.mark.parametrize("path", FORMATTED, ids=lambda path: path.stem)
def test_the_examples_are_laid_out(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert formatted(text) == text


def test_random_programs() -> None:
    for seed in range(10_000 if THOROUGH else 12):
        result = expect_laws(program(seed), width=(40, 70, 100)[seed % 3])
        if "#;" not in result:  # what is not read is left as it is, on whatever lines
            expect_indentation_of_the_prompt(result)


@given(st.text("()[]'`,;#|\"\\ \n\rax1.:t", max_size=30))
def test_any_text(text: str) -> None:
    """It is laid out, or the reader's error is raised."""
    try:
        read(Source("<test>", text))
    except VladError as error:
        with pytest.raises(VladError) as raised:
            formatted(text)
        assert (raised.value.code, str(raised.value)) == (error.code, str(error))
    else:
        expect_laws(text)


SHORT = 30
LAYOUTS = {
    "indentation": (
        "(define (f x)\n(let ((y 1)\n(z 2))\n\n(if y\nz\n\"a\n b\")))",
        "(define (f x)\n  (let ((y 1)\n        (z 2))\n\n    (if y\n        z\n        \"a\n b\")))\n",
    ),
    "space": ("( f  x(g)\t#[1   2] . y )\n\n\n\n\n\n(a)(b)", "(f x (g) #[1 2] . y)\n\n\n(a) (b)\n"),
    "brackets on a line": ("(f\n x\n )", "(f\n x)\n"),
    "what fits stays as it is": ("(f a\n   b)\n(g a b)", "(f a\n   b)\n(g a b)\n"),
    "operands": (
        "(first-operator (f a) (g b) #:key 1)",
        "(first-operator (f a)\n                (g b)\n                #:key 1)\n",
    ),
    "after the operator": (
        "(operator-with-long-name (f a) (long-operand b))",
        "(operator-with-long-name\n (f a)\n (long-operand b))\n",
    ),
    "a body": ("(define (f x) (+ x 1) (* 2 x 4))", "(define (f x)\n  (+ x 1)\n  (* 2 x 4))\n"),
    "a named let": (
        "(let loop ((i 0)) (if (< i 10) (loop (+ i 1))))",
        "(let loop ((i 0))\n  (if (< i 10)\n      (loop (+ i 1))))\n",
    ),
    "do": (
        "(do ((i 0 (+ i 1))) ((= i 10) i) (display i))",
        "(do ((i 0 (+ i 1)))\n    ((= i 10) i)\n  (display i))\n",
    ),
    "clauses": ("(cond ((= x 1) 'one) (else 'other))", "(cond ((= x 1) 'one)\n      (else 'other))\n"),
    "match": ("(match x ((list a b) (+ a b)) (_ 0))", "(match x\n  ((list a b) (+ a b))\n  (_ 0))\n"),
    "short words fill lines": (
        "'(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)",
        "'(1 2 3 4 5 6 7 8 9 10 11 12\n  13 14 15)\n",
    ),
    "the writer's lines are filled": (
        "(case x\n  ((1) 1) ((2) 2) ((3) 3) ((4) 4)\n  (else 0))",
        "(case x\n  ((1) 1) ((2) 2) ((3) 3)\n  ((4) 4)\n  (else 0))\n",
    ),
    "an operand's name stays with it": (
        "(sum (matmul a b c d) #:axis (f x))",
        "(sum (matmul a b c d)\n     #:axis (f x))\n",
    ),
    "comments": (
        "(f a ; one\n; two\nb; three\n)\n   ; four  \n#| five\n   |# x #;(a\n  b) y",
        "(f a ; one\n   ; two\n   b ; three\n   )\n; four\n#| five\n   |#\nx\n#;(a\n  b)\ny\n",
    ),
    "a comment first": ("( ; why\nf)", "( ; why\n f)\n"),
    "a quotation apart": ("' \n x ' ; c\ny", "'x\n' ; c\ny\n"),
    "what cannot fit": ('(f "a string that is longer than the width")', '(f "a string that is longer than the width")\n'),
    "the system's line": ("#!/usr/bin/env vlad\n(f  x)", "#!/usr/bin/env vlad\n(f x)\n"),
    "ends of lines": ("(f\r\na)\r\n", "(f\r\n a)\r\n"),
    "nothing": (" \n\n", ""),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), LAYOUTS.values(), ids=list(LAYOUTS))
def test_layouts(text: str, expected: str) -> None:
    assert expect_laws(text, SHORT) == expected


def test_deep_nests_take_no_stack() -> None:
    text = "(f x " * 1_000 + ")" * 1_000
    assert formatted(text).count("\n") == 1_000


class TestCommand:
    def test_files_folders_and_modes(self, tmp_path: Path) -> None:
        inner = tmp_path / "inner"
        inner.mkdir()
        for path, text in (
            ("a.vlad", "( f)"),
            ("inner/b.vlad", "(f)\n"),
            ("inner/c.txt", "( f)"),
            ("d", "( g)"),
        ):
            (tmp_path / path).write_text(text)
        (tmp_path / "a.vlad").chmod(0o751)
        (tmp_path / "link.vlad").symlink_to("d")
        done = command("format", "--check", "inner", "a.vlad", "link.vlad", cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (1, "a.vlad\nlink.vlad\n", "")
        assert (tmp_path / "a.vlad").read_text() == "( f)"
        done = command("format", ".", cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "a.vlad\nlink.vlad\n", "")
        assert (tmp_path / "a.vlad").read_text() == "(f)\n"
        assert stat.S_IMODE(os.stat(tmp_path / "a.vlad").st_mode) == 0o751
        assert (tmp_path / "link.vlad").is_symlink() and (tmp_path / "d").read_text() == "(g)\n"
        assert command("format", "--check", ".", cwd=tmp_path).returncode == 0
        assert sorted(os.listdir(tmp_path)) == ["a.vlad", "d", "inner", "link.vlad"]

    def test_a_wrong_file_is_left_and_the_others_are_laid_out(self, tmp_path: Path) -> None:
        (tmp_path / "a.vlad").write_text("(f\n")
        (tmp_path / "b.vlad").write_bytes(b"\xef\xbb\xbf( f)")
        done = command("format", "a.vlad", "missing.vlad", "b.vlad", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "b.vlad\n")
        assert "a.vlad:1:1: Error: The `(` is never closed\n" in done.stderr
        assert "Cannot read: missing.vlad" in done.stderr
        assert (tmp_path / "a.vlad").read_text() == "(f\n"
        assert (tmp_path / "b.vlad").read_bytes() == b"\xef\xbb\xbf(f)\n"

    def test_standard_input(self) -> None:
        done = command("format", "-", text="( f)")
        assert (done.returncode, done.stdout, done.stderr) == (0, "(f)\n", "")
        done = command("format", "--check", "-", text="( f)")
        assert (done.returncode, done.stdout, done.stderr) == (1, "<standard input>\n", "")

    def test_an_error_of_its_own_changes_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It compares what it made with the program."""
        monkeypatch.setattr("vlad.tools.layout._Layout.text", lambda self, items: "(g)\n")
        with pytest.raises(RuntimeError, match="would change the program"):
            formatted("(f)")
