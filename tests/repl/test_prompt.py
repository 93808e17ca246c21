"""The prompt's keys, through a pipe in place of a terminal; history, completion and the Pygments lexer by themselves."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import threading
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput
from pygments.token import Error
from vlad.repl.completion import candidates, locals_of
from vlad.repl.editing import EDITS
from vlad.repl.history import MOST, HistoryFile
from vlad.repl.lexer import VladLexer
from vlad.repl.prompt import KEYS, Prompt, run_prompt
from writing import Writing

ROOT = Path(__file__).parent.parent.parent
UP, DOWN, LEFT, RIGHT, TAB, ENTER, ESCAPE, HOME = (
    "\x1b[A",
    "\x1b[B",
    "\x1b[D",
    "\x1b[C",
    "\t",
    "\r",
    "\x1b",
    "\x01",
)
END = "\x04"  # Ctrl-D


class Keys:
    """Types into prompts of a shell, and returns their inputs."""

    def __init__(self, writing: Writing, path: Path | None = None) -> None:
        self.writing = writing
        self.history = HistoryFile("" if path is None else str(path))

    def typed(self, *parts: str) -> str:
        """The input from keys. Between the parts, pending work of the keys is finished."""
        with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
            prompt = Prompt(self.writing.shell, keys, DummyOutput(), self.history)
            return asyncio.run(self._typed(prompt, keys, parts))

    async def _typed(self, prompt: Prompt, keys: PipeInput, parts: tuple[str, ...]) -> str:
        reading = asyncio.ensure_future(prompt.session.prompt_async())
        for part in parts:
            await asyncio.sleep(0.05)
            keys.send_text(part)
        return await asyncio.wait_for(reading, 8)


@pytest.fixture
def keys(writing: Writing) -> Keys:
    return Keys(writing)


class TestEditing:
    def test_enter_accepts_what_is_complete(self, keys: Keys) -> None:
        assert keys.typed("(+ 1 2)\r") == "(+ 1 2)"
        assert keys.typed('"a\rb"\r') == '"a\nb"'
        assert keys.typed("#| a\r|# 1\r") == "#| a\n|# 1"

    def test_lines_are_indented(self, keys: Keys) -> None:
        assert keys.typed("(define (f x)\r(let ((y 1)\r(z 2))\r(g y\rz)))\r") == (
            "(define (f x)\n  (let ((y 1)\n        (z 2))\n    (g y\n       z)))"
        )

    def test_enter_in_the_middle_of_a_line_accepts_it(self, keys: Keys) -> None:
        assert keys.typed("(+ 1 2)" + LEFT * 3 + ENTER) == "(+ 1 2)"

    def test_enter_in_the_middle_of_lines_begins_one(self, keys: Keys) -> None:
        assert keys.typed("(f\ra\rb)" + UP + ENTER + "x" + DOWN * 3 + ENTER) == "(f\n a\n x\n b)"

    def test_what_no_more_text_can_mend_is_accepted(self, keys: Keys) -> None:
        assert keys.typed("(f ])\r") == "(f ])"

    def test_a_command_is_one_line(self, keys: Keys) -> None:
        assert keys.typed(",doc (\r") == ",doc ("

    def test_tab_indents_at_the_beginning_of_a_line(self, keys: Keys) -> None:
        assert keys.typed("(define (f)\r" + "\x7f" * 2 + TAB + "1)\r") == "(define (f)\n  1)"

    def test_a_form_is_indented(self, keys: Keys) -> None:
        assert keys.typed("\x1b[200~(define (f)\n1)\x1b[201~", ESCAPE + "q", ENTER) == "(define (f)\n  1)"

    def test_paste_of_many_forms(self, keys: Keys) -> None:
        pasted = "(define (f x)\n\t(* x 2))\n; a comment\n(f 1)\n\n(f 2)\n"
        assert keys.typed(f"\x1b[200~{pasted}\x1b[201~", ENTER) == pasted
        assert keys.writing.output(pasted) == "2\n4\n"

    @pytest.mark.parametrize(
        ("name", "begun", "result"),
        [
            ("slurp", "(a) b)" + LEFT * 4, "(a b))"),
            ("barf", "((a b c) d)" + LEFT * 5, "((a b) c d)"),
            ("wrap", "(a b)" + LEFT * 2, "(a (b))"),
            ("splice", "(a (b c) d)" + LEFT * 5, "(a b c d)"),
            ("raise", "(a (b c) d)" + LEFT * 7, "(a b d)"),
            ("kill", "(a (b c) d)" + LEFT * 8, "(a  d)"),
        ],
    )
    @pytest.mark.parametrize("mode", ["emacs", "vi"])
    def test_structural_edits(self, keys: Keys, name: str, begun: str, result: str, mode: str) -> None:
        (key,) = [key for key, edit in KEYS.items() if edit == name]
        key = {"c-k": "\x0b"}.get(key, key)
        keys.writing.shell.keys = mode
        assert (
            keys.typed(
                begun,
                ("\x18" if mode == "vi" else ESCAPE) + key,
                ESCAPE + ENTER if mode == "emacs" else ENTER,
            )
            == result
        )

    def test_structural_moves(self, keys: Keys) -> None:
        forward, backward, up, down = (ESCAPE + key for key in "\x06\x02\x15\x04")
        assert keys.typed("(a (b c) d)", backward + "1", ENTER) == "1(a (b c) d)"
        assert (
            keys.typed("(a (b) d)" + HOME, down + "1", forward * 2 + "2", up + "3", ENTER) == "3(1a (b)2 d)"
        )

    def test_edits_can_be_undone(self, keys: Keys) -> None:
        assert keys.typed("(a (b c) d)" + LEFT * 5, ESCAPE + "s", "\x1f", ENTER) == "(a (b c) d)"

    def test_vi(self, keys: Keys) -> None:
        keys.writing.shell.keys = "vi"
        assert keys.typed("(+ 1 2)", ESCAPE, "0lxi*", ENTER) == "(* 1 2)"

    def test_interrupts_and_the_end(self, keys: Keys) -> None:
        with pytest.raises(KeyboardInterrupt):
            keys.typed("(+ 1\x03")
        with pytest.raises(EOFError):
            keys.typed(END)

    def test_a_session_by_keys(self, writing: Writing) -> None:
        with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
            pipe.send_text("(define (f x)\r(* x x))\r(f 3)\r(car 1)\r(g\x03(+ _ 1)\r,quit\r")
            run_prompt(writing.shell, pipe, DummyOutput(), HistoryFile(""))
        text = writing.stream.getvalue()
        assert text.startswith("9\n<input 3>:1:1: Error: Argument to car") and text.endswith("\n10\n")

    @pytest.mark.timeout(30)
    def test_an_input_that_ends_while_something_is_searched(
        self, writing: Writing, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Ctrl-X Ctrl-E, and Ctrl-R before the editor is back, which ends the input: the next one is typed where it belongs."""
        monkeypatch.setenv("VISUAL", "true")
        with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
            pipe.send_text("(+ 1 2)\x18\x05\x12")
            threading.Timer(0.5, pipe.send_text, ["\x07\x03(* 6 7)\r,quit\r"]).start()
            run_prompt(writing.shell, pipe, DummyOutput(), HistoryFile(""))
        assert writing.stream.getvalue().endswith("3\n42\n")


class TestCompletion:
    def offered(self, writing: Writing, before: str) -> list[str]:
        return [candidate.text for candidate in candidates(writing.shell, before)]

    def test_names(self, writing: Writing) -> None:
        writing.output("(define (squeeze x) x) (define-syntax square-of (syntax-rules () ((_ x) (* x x))))")
        assert self.offered(writing, "(squ") == ["square", "square-of", "squeeze"]
        assert "let*" in self.offered(writing, "(le")
        assert self.offered(writing, "(map-ten") == ["map-tensor"]
        assert "hessian" in self.offered(writing, "(ssian")  # no name begins so

    def test_names_behind_a_question_mark(self, writing: Writing) -> None:
        assert self.offered(writing, "?squ") == self.offered(writing, "(squ") == ["square"]
        assert self.offered(writing, "? hyp") == ["hypot"]

    def test_beside_a_name_stand_signature_and_sentence(self, writing: Writing) -> None:
        beside = {candidate.text: candidate.beside for candidate in candidates(writing.shell, "(ma")}
        assert beside["map"] == "(map f l ...)  The values of f at the elements, in order."
        assert beside["matmul"].startswith("(matmul a b)  The product")

    @pytest.mark.parametrize(
        ("form", "expected"),
        [
            ("(lambda (alpha beta) (", ["alpha", "beta"]),
            ("(define ((f a) b) ", ["f", "a", "b"]),
            ("(let ((x 1) ((cons y z) 2)) (+ ", ["x", "y", "z"]),
            ("(let loop ((i 0)) (f ", ["loop", "i"]),
            ("(let* ((x 1)) (let ((y 2)) ", ["y", "x"]),
            ("(do ((i 0 (+ i 1))) (", ["i"]),
            ("(define (f) (define (helper q) q) (", ["f", "helper"]),
            ("(let ((x 1)) x) (", []),
            ("(lambda ((list a . rest)) (", ["a", "rest"]),
        ],
    )
    def test_locals(self, form: str, expected: list[str]) -> None:
        assert locals_of(form) == expected

    def test_locals_come_first(self, writing: Writing) -> None:
        assert self.offered(writing, "(define (f sinus)\n  (* (sin")[0] == "sinus"

    def test_operands_by_name(self, writing: Writing) -> None:
        assert self.offered(writing, "(sum t #:") == ["#:axis", "#:keep"]
        assert self.offered(writing, "(+ 1 (histogram t 3 #:low 0 #") == ["#:high"]
        assert self.offered(writing, "(sum (exp t) #:a") == ["#:axis"]
        assert (
            self.offered(writing, "(square #:")
            == self.offered(writing, "(let ((x #:")
            == self.offered(writing, "#:")
            == []
        )
        (candidate,) = candidates(writing.shell, "(convolve a b #:mo")
        assert (candidate.length, candidate.beside) == (4, "default full")
        writing.output("(define (histogram t) t)")
        assert self.offered(writing, "(histogram t #:") == []

    def test_commands_and_their_operands(self, writing: Writing) -> None:
        assert self.offered(writing, ",re") == ["reverse", "reload", "reset"]
        assert self.offered(writing, ",tier c") == ["compile"]
        assert self.offered(writing, ",limits f") == ["fuel"]
        assert "gradient" in self.offered(writing, ",doc grad")
        assert "square" in self.offered(writing, ",time (squ")
        assert self.offered(writing, ",help pl") == ["plot"]
        assert self.offered(writing, ",quit ") == []

    def test_files_and_modules(self, writing: Writing, tmp_path: Path) -> None:
        (tmp_path / "mine.vlad").touch()
        (tmp_path / "notes.txt").touch()
        (tmp_path / "more").mkdir()
        assert self.offered(writing, '(load-csv "') == ["mine.vlad", "more/", "notes.txt"]
        assert self.offered(writing, '(import "m')[:1] == ["mine"]
        assert "nn" in self.offered(writing, ",import ")
        assert self.offered(writing, ",load mi") == ["mine.vlad"]
        assert self.offered(writing, f'(load-csv "{tmp_path}/no') == ["notes.txt"]

    def test_none_in_comments(self, writing: Writing) -> None:
        assert self.offered(writing, "; squ") == []
        assert self.offered(writing, "#| squ") == []

    def test_by_the_key(self, keys: Keys) -> None:
        assert keys.typed("(unif" + TAB, " 1)\r") == "(uniform 1)"
        assert keys.typed("(gradi" + TAB + ")\r") == "(gradient)"  # their common prefix
        assert keys.typed("(gradient-" + TAB + TAB, ENTER, ")\r").startswith("(gradient-")
        assert keys.typed(",tier e" + TAB + ENTER) == ",tier evaluate"

    def test_never_breaks(self, writing: Writing) -> None:
        random.seed(3)
        for _ in range(300):
            candidates(
                writing.shell, "".join(random.choices("()[]#|;\"'`,. \nadefilt", k=random.randrange(20)))
            )


class TestHistory:
    def test_the_next_prompt_has_the_history(self, writing: Writing, tmp_path: Path) -> None:
        keys = Keys(writing, tmp_path / "state" / "history")
        assert keys.typed("(define x\r1)\r") == "(define x\n  1)"
        assert keys.typed("2\r") == "2"
        again = Keys(Writing(), tmp_path / "state" / "history")
        assert again.typed("", UP + UP, ENTER) == "(define x\n  1)"
        assert (tmp_path / "state" / "history").stat().st_mode & 0o777 == 0o600

    def test_by_prefix_and_by_search(self, writing: Writing, tmp_path: Path) -> None:
        file = HistoryFile(str(tmp_path / "history"))
        for entry in ("(sin 1)", "(cos 2)", "(sin 3)", "(tan 4)"):
            file.add(entry)
        keys = Keys(writing, tmp_path / "history")
        assert keys.typed("(si", UP, UP, ENTER) == "(sin 1)"
        assert keys.typed("(si", UP, UP, ENTER) == "(sin 3)"  # the newest is now the one above
        assert keys.typed("", "\x12co", ENTER, ENTER) == "(cos 2)"

    def test_not_the_same_twice_nor_blanks(self, writing: Writing, tmp_path: Path) -> None:
        keys = Keys(writing, tmp_path / "history")
        for text in ("1\r", "1\r", " 2\r", "3\r"):
            keys.typed(text)
        assert HistoryFile(str(tmp_path / "history")).load() == ["1", "3"]

    def test_the_command(self, writing: Writing, tmp_path: Path) -> None:
        Keys(writing, tmp_path / "history").typed("(sin 1)\r")
        assert writing.output(",history sin") == "(sin 1)\n"
        assert writing.output(",history cos") == ""

    def test_what_is_no_entry_is_passed_over(self, tmp_path: Path) -> None:
        path = tmp_path / "history"
        path.write_bytes(b'"one"\n\xff\xfe\nnot json\n{"a": 1}\n12\n"two"\n"cut of')
        assert HistoryFile(str(path)).load() == ["one", "two"]

    def test_it_does_not_grow_without_end(self, tmp_path: Path) -> None:
        path = tmp_path / "history"
        path.write_text("".join([json.dumps(str(i)) + "\n" for i in range(2 * MOST + 5)]))
        assert HistoryFile(str(path)).load() == [str(i) for i in range(MOST + 5, 2 * MOST + 5)]
        assert len(path.read_text().splitlines()) == MOST

    @pytest.mark.parametrize("place", ["/proc/nope/history", "/dev/null/history"])
    def test_where_it_cannot_be_kept_there_is_none(self, place: str) -> None:
        file = HistoryFile(place)
        file.add("x")
        assert file.load() == [] and file.trouble

    def test_a_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "history")
        file = HistoryFile(str(tmp_path / "history"))
        file.add("x")
        assert file.load() == [] and file.trouble
        nothing = HistoryFile(os.devnull)
        nothing.add("x")
        assert nothing.load() == [] and not nothing.trouble

    def test_many_processes_write_at_once(self, tmp_path: Path) -> None:
        path = str(tmp_path / "history")
        context = multiprocessing.get_context("spawn")
        with context.Pool(3) as pool:
            pool.starmap(write_entries, [(path, number) for number in range(3)])
        assert sorted(HistoryFile(path).load()) == sorted(
            f"{n} {i}\nmore" for n in range(3) for i in range(100)
        )


def write_entries(path: str, number: int) -> None:
    file = HistoryFile(path)
    for i in range(100):
        file.add(f"{number} {i}\nmore")


def random_keys(seed: int, count: int) -> str:
    from soak import some_keys

    return some_keys(random.Random(seed), count)


@pytest.mark.parametrize("mode", ["emacs", "vi"])
@pytest.mark.parametrize("seed", range(2))
def test_random_keys_do_no_harm(writing: Writing, mode: str, seed: int) -> None:
    """The script soak.py does this with a hundred thousand of them."""
    from soak import survives

    assert survives(writing.shell, mode, random_keys(seed, 700))
    assert "mistake in vlad" not in writing.stream.getvalue()


def test_a_failing_key_binding_is_reported(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a traceback nor the end: the prompt shows the error and continues, with the typed text."""
    writing = keys.writing
    monkeypatch.setitem(EDITS, "wrap", lambda text, at: [][at])
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        pipe.send_text("(+ 1 2)" + ESCAPE + "(" + ENTER + END)
        run_prompt(writing.shell, pipe, DummyOutput(), HistoryFile(""))
    assert "A mistake in vlad itself: IndexError" in writing.stream.getvalue()
    assert writing.stream.getvalue().endswith("\n3\n")


class TestPygments:
    @pytest.mark.parametrize("path", sorted(ROOT.glob("*/*.vlad")), ids=lambda path: path.stem)
    def test_every_program_is_understood(self, path: Path) -> None:
        text = path.read_text()
        found = list(VladLexer(stripnl=False, ensurenl=False).get_tokens(text))
        assert "".join([word for _, word in found]) == text
        assert [word for kind, word in found if kind is Error] == []

    def test_kinds(self) -> None:
        found = [
            (str(kind), word)
            for kind, word in VladLexer().get_tokens('(define (f x) "s" #t 1.5 sin) ; c')
            if word.strip()
        ]
        assert found == [
            ("Token.Punctuation", "("), ("Token.Keyword", "define"), ("Token.Punctuation", "("), ("Token.Name.Function", "f"),
            ("Token.Name", "x"), ("Token.Punctuation", ")"), ("Token.Literal.String.Double", '"s"'),
            ("Token.Keyword.Constant", "#t"), ("Token.Literal.Number", "1.5"), ("Token.Name.Builtin", "sin"),
            ("Token.Punctuation", ")"), ("Token.Comment", "; c"),
        ]  # fmt: skip

    def test_it_is_announced(self) -> None:
        text = (ROOT / "pyproject.toml").read_text()
        assert '[project.entry-points."pygments.lexers"]\nvlad = "vlad.repl.lexer:VladLexer"\n' in text
