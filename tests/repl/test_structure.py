"""Brackets of texts that are being written: nesting, pairs, indentation, edits."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vlad.repl.editing import EDITS
from vlad.repl.indentation import indentation, indented
from vlad.repl.structure import Outline, Place, is_complete, line_of

from vlad import Incomplete, VladError
from vlad.data.source import Source
from vlad.reader.lexer import tokens
from vlad.reader.parser import read

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = sorted([*(ROOT / "stdlib").glob("*.vlad"), *(ROOT / "examples").glob("*.vlad")])
TEXTS = st.text(alphabet="()[]#|;\"\\'`, \nab1.", max_size=60)


class TestOutline:
    @pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
    def test_programs_are_closed(self, path: Path) -> None:
        outline = Outline(path.read_text().split("\n"))
        assert not outline.is_open() and min(outline.depths) == 0

    @given(TEXTS)
    def test_lines_give_the_brackets_of_the_reader(self, text: str) -> None:
        """Except if a symbol in bars ends in another line, which the reader's tokens allow but is never written."""
        outside = [text[t.start : t.end] for t in tokens(text) if t.kind not in ("comment", "open-comment")]
        if "|" in text.replace("#|", "").replace("|#", "") or "|" in "".join(outside):
            return
        starts = [0]
        for line in text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        outline = Outline(text.split("\n"))
        found = [starts[row] + at for row in range(len(outline.lines)) for at, _ in outline.brackets(row)]
        expected = [
            token.end - 1 if token.kind in ("tensor", "vector") else token.start
            for token in tokens(text)
            if token.kind in ("open", "close", "tensor", "vector", "bracket")
        ]
        assert found == expected

    @given(TEXTS)
    def test_the_tokens_of_a_line_tile_it(self, text: str) -> None:
        state = ""
        for part in text.split("\n"):
            line = line_of(part, state)
            assert "".join([part[token.start : token.end] for token in line.tokens]) == part
            state = line.after

    @given(TEXTS)
    def test_complete_is_what_the_reader_calls_so(self, text: str) -> None:
        try:
            read(Source("", text))
            expected = True
        except Incomplete:
            expected = False
        except VladError:
            expected = True
        assert is_complete(text) == expected

    @given(TEXTS)
    def test_pairs_belong_to_each_other(self, text: str) -> None:
        outline = Outline(text.split("\n"))
        for row in range(len(outline.lines)):
            for column, step in outline.brackets(row):
                pair = outline.pair(row, column)
                if pair is not None:
                    other = pair[1]
                    back = (
                        outline.closing(other.row, other.column + 1) if step < 0 else outline.opening(*other)
                    )
                    assert back == Place(row, column)

    def test_the_pair_at_the_cursor(self) -> None:
        outline = Outline(["(a", ' ")" (b)', "c)"])
        assert outline.pair(0, 0) == (Place(0, 0), Place(2, 1))
        assert outline.pair(2, 2) == (Place(2, 1), Place(0, 0))
        assert outline.pair(1, 5) == (Place(1, 5), Place(1, 7))
        assert outline.pair(1, 2) is None  # inside a string


class TestIndentation:
    @pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
    def test_it_agrees_with_the_style_of_the_library(self, path: Path) -> None:
        """Lines of code stand where it would put them; the few of `with-derivative` have a style of their own."""
        lines = path.read_text().split("\n")
        outline = Outline(lines)
        wrong = []
        for row, line in enumerate(lines):
            column = indentation(outline, row)
            is_code = line.strip() and not line.lstrip().startswith(
                (";", "#:forward", "#:reverse", "(lambda")
            )
            if is_code and column is not None and column != len(line) - len(line.lstrip()):
                wrong.append(f"{row + 1}: {column} {line}")
        assert wrong == []

    @pytest.mark.parametrize(
        ("text", "column"),
        [
            ("(define (f x)", 2),
            ("(let loop ((i 0)", 11),
            ("(let loop ((i 0))", 2),
            ("(let ((x 1)", 6),
            ("(lambda (x)", 2),
            ("(if (a)", 4),
            ("(f x", 3),
            ("(f", 1),
            ("'(a b", 2),
            ("(1 2", 1),
            ("((f x)", 1),
            ("#[1 2", 2),
            ("(do ((i 0 (+ i 1)))", 4),
            ("(cond ((a) 1)", 6),
            ('(f "a', None),
            ("(f) ; (", 0),
        ],
    )
    def test_the_next_line(self, text: str, column: int | None) -> None:
        lines = [*text.split("\n"), ""]
        assert indentation(Outline(lines), len(lines) - 1) == column

    def test_a_form_is_indented(self) -> None:
        lines = ["(define (f x)", "(let ((y 1)", "(z 2))", "", "(if y", "z", '"a', 'b")))']
        assert indented(lines, 0, len(lines)) == [
            "(define (f x)", "  (let ((y 1)", "        (z 2))", "", "    (if y", "        z", '        "a', 'b")))',
        ]  # fmt: skip


class TestEdits:
    @pytest.mark.parametrize(
        ("name", "before", "after"),
        [
            ("slurp", "(a (b| c) d e)", "(a (b| c d) e)"),
            ("slurp", "(a (b| c)) d", "(a (b| c) d)"),
            ("slurp", "(|) (a b)", "(|(a b))"),
            ("slurp", "#[1| 2] 3", "#[1| 2 3]"),
            ("slurp", "(a|)", None),
            ("barf", "(a (b| c d) e)", "(a (b| c) d e)"),
            ("barf", "(a|)", "(|) a"),
            ("barf", "a|", None),
            ("wrap", "(a |b c)", "(a (|b) c)"),
            ("wrap", "(a '|(b) c)", "(a ('|(b)) c)"),
            ("wrap", "|", "(|)"),
            ("splice", "(a (b| c) d)", "(a b| c d)"),
            ("raise", "(a (b |(c d) e))", "(a |(c d))"),
            ("raise", "|a", None),
            ("kill", "(a |b c)", "(a | c)"),
            ("kill", "(a (b|) c)", None),
            ("forward", "(a |(b c) d)", "(a (b c)| d)"),
            ("backward", "(a (b c)| d)", "(a |(b c) d)"),
            ("up", "(a (b| c) d)", "(a |(b c) d)"),
            ("down", "(a |b (c))", "(a b (|c))"),
            ("down", "a |b", None),
        ],
    )
    def test_an_edit(self, name: str, before: str, after: str | None) -> None:
        at = before.index("|")
        result = EDITS[name](before.replace("|", ""), at)
        assert (None if result is None else result[0][: result[1]] + "|" + result[0][result[1] :]) in (
            after, None if after is None else after.replace("('|(", "(|'("),
        )  # fmt: skip

    @given(TEXTS, st.integers(0, 60), st.sampled_from(sorted(EDITS)))
    def test_edits_keep_to_the_text(self, text: str, at: int, name: str) -> None:
        """They change only brackets (or, for `kill` and `raise`, the intended text), and the cursor stays inside."""
        at = min(at, len(text))
        result = EDITS[name](text, at)
        if result is None:
            return
        assert 0 <= result[1] <= len(result[0])
        if name in ("forward", "backward", "up", "down"):
            assert result[0] == text
        elif name in ("slurp", "barf", "wrap"):
            assert sorted(result[0].replace(" ", "").replace("\n", "")) == sorted(
                (text + ("()" if name == "wrap" else "")).replace(" ", "").replace("\n", "")
            )

    @given(st.recursive(st.sampled_from(["a", "1", '"s"', "#t"]), lambda inner: st.lists(inner, max_size=4).map(
        lambda parts: f"({' '.join(parts)})"), max_leaves=12), st.integers(0, 80), st.sampled_from(sorted(EDITS)))  # fmt: skip
    def test_what_was_balanced_stays_so(self, text: str, at: int, name: str) -> None:
        result = EDITS[name](text, min(at, len(text)))
        if result is not None and not _in_string(text, min(at, len(text))):
            assert is_complete(result[0])
            assert not Outline(result[0].split("\n")).is_open()


def _in_string(text: str, at: int) -> bool:
    return any(token.kind == "string" and token.start < at < token.end for token in tokens(text))
