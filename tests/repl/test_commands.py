"""The commands of the prompt."""

from __future__ import annotations

import re
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest
from vlad.repl.commands import COMMANDS, enter
from vlad.repl.shell import Leave
from writing import Writing

from vlad.manual.help import documentation

PRODUCT = "(define (product l) (if (null? l) 1 (* (car l) (product (cdr l)))))"


class TestHelp:
    def test_each_command_has_its_line(self, writing: Writing) -> None:
        lines = writing.output(",help").splitlines()
        for name, command in COMMANDS.items():
            assert sum(bool(re.match(rf",{name}(\s|$)", line)) for line in lines) == 1
            assert command.doc in writing.output(f",help {name}")
        assert max(map(len, lines)) <= 100

    def test_the_pages_describe_these_commands_and_no_others(self) -> None:
        docs = Path(__file__).parent.parent.parent / "docs"
        pages = {
            name: (docs / f"{name}.md").read_text(encoding="utf-8") for name in ("repl", "prompt-features")
        }
        spoken = {name: set(re.findall(r"`,([a-z]+)", text)) for name, text in pages.items()}
        assert spoken["repl"] - set(COMMANDS) == set() and spoken["prompt-features"] - set(COMMANDS) == set()
        assert set(COMMANDS) <= spoken["repl"]

    def test_the_beginning_of_a_name_will_do(self, writing: Writing) -> None:
        assert writing.output(",do sin") == writing.output(",doc sin")

    def test_names_of_python_are_documented(self, writing: Writing) -> None:
        assert writing.output(",doc vlad.grad").startswith(
            "vlad.grad(f, argnums=None, *, has_aux=False)    Python: a function\n"
        )
        assert "did you mean" not in writing.output(",doc vlad.Session.eval")

    @pytest.mark.parametrize(
        ("text", "hint"),
        [
            (",trace nosuch", "There is no procedure nosuch"),
            (",co 1", "`,count` or `,core`"),
            (",doxc map", "`,doc`"),
            (",", "`,help` lists them"),
            (",zzz", "`,help` lists"),
            (",gradient", "did you mean `,doc gradient`?"),
        ],
    )
    def test_a_wrong_name(self, writing: Writing, text: str, hint: str) -> None:
        assert hint in writing.output(text)

    def test_help_with_a_name_of_the_language(self, writing: Writing) -> None:
        assert writing.output(",help gradient") == writing.output(",doc gradient")
        assert "There is no command `,gradient`" in writing.output(",help ,gradient")
        assert "There is no command `,zzz`" in writing.output(",help zzz")

    @pytest.mark.parametrize("text", ["help", "help()", "(help)", "?"])
    def test_words_for_help(self, writing: Writing, text: str) -> None:
        assert writing.output(text) == writing.output(",help")

    @pytest.mark.parametrize("name", sorted(COMMANDS))
    def test_no_command_breaks_on_odd_operands(self, writing: Writing, name: str) -> None:
        if name in ("shell", "edit"):  # they access the system
            return
        for operand in (
            "",
            "(",
            '"',
            "nope",
            "5",
            "car cdr",
            "(error 'x)",
            "\x00",
            "as",
            "seconds -1",
            "depth 0",
            "/dev/null/x",
        ):
            try:
                writing.output(f",{name} {operand}")
            except Leave:
                assert name == "quit"
        assert writing.output("(+ 1 2)") == "3\n"


class TestDoc:
    def test_documentation_is_that_of_the_command(self, writing: Writing) -> None:
        for name in ("sin", "map", "define", "unbound-variable", "J"):
            assert writing.output(f",doc {name}") == documentation(name) + "\n"

    def test_by_a_question_mark(self, writing: Writing) -> None:
        assert writing.output("?hypot") == writing.output("? hypot") == writing.output(",doc hypot")
        assert "did you mean `length`?" in writing.output("?lenght")
        assert writing.output("(define ?x 5)", "?x", "'?y") == "5\n?y\n"

    def test_of_what_one_wrote(self, writing: Writing) -> None:
        text = writing.output("; Twice a number.\n; (twice 2)  ⇒ 4\n(define (twice x) (* 2 x))", ",doc twice")
        assert text == (
            "(twice x)    of the program\n\n  Twice a number.\n\nExamples\n  (twice 2)  ⇒ 4\n\n"
            "Defined in <input 1>:3\n  (define (twice x) (* 2 x))\n"
        )
        text = writing.output(
            ";;; ((sent f) x)\n;;; The value of f.\n(define ((sent f) x) (f x))", ",doc sent"
        )
        assert text.startswith("((sent f) x)    of the program\n\n  The value of f.\n\nDefined in")

    def test_a_name_of_the_library_with_another_meaning(self, writing: Writing) -> None:
        assert writing.output("(define (sin x) 5)", ",doc sin").startswith("(sin x)    of the program\n")

    def test_of_nothing(self, writing: Writing) -> None:
        assert "did you mean `length`?" in writing.output(",doc lenght")
        assert 'hint: `(import "test")` defines it; otherwise, ' in writing.output(",doc check-gradient")
        assert writing.output("(L-pend 1)").endswith('  hint: `(import "mechanics")` defines it\n')

    def test_apropos(self, writing: Writing) -> None:
        text = writing.output(",apropos hessian")
        assert text.startswith("((hessian f) x)  ") and "(hvp f x v)" in text
        assert writing.output(",apropos qqqqq") == "; nothing found\n"
        assert writing.output(",apropos jacobain") == "; nothing found; did you mean `jacobian`?\n"

    def test_source(self, writing: Writing) -> None:
        assert "(define ((jacobian-R f) x)\n  (let ((both" in writing.output(",source jacobian-R")
        assert writing.output("(define (f x)\n  x)", ",source f") == "; <input 1>:1\n(define (f x)\n  x)\n"
        assert "no text: it is built in" in writing.output(",source sin")

    def test_names(self, writing: Writing) -> None:
        text = writing.output("(define (f x) (* x 2))", "(define k 3)", "(f k)", ",names")
        assert text == "6\n(f x)\nk\n"

    def test_names_are_ones_own(self, writing: Writing) -> None:
        """Macros, and names that hide a name of the library; not those of a module."""
        defined = "(define-syntax twice (syntax-rules () ((_ e) (+ e e)))) (define (square x) (* x x x))"
        text = writing.output('(import "optimizers")', defined, ",names")
        assert text.endswith("twice  macro\n(square x)\n") and "adam" not in text


class TestCosts:
    def test_time(self, writing: Writing) -> None:
        assert re.fullmatch(r"3\n; [\d.]+ (µs|s)\n", writing.output(",time (+ 1 2)"))

    def test_count(self, writing: Writing) -> None:
        counted = "24\n        3 *\n        3 car\n        3 cdr\n        4 null?\n; 13 in all\n"
        assert writing.output(PRODUCT, ",count (product '(2 3 4))") == counted
        assert writing.output("(product '(2 3 4))", ",count (product '(2 3 4))") == "24\n" + counted

    def test_profile(self, writing: Writing) -> None:
        text = writing.output(
            "(define (f n) (if (= n 0) 0 (+ 1 (f (- n 1)))))",
            ",profile (fold + 0 (map f (make-list 300 900)))",
        )
        lines = text.splitlines()
        assert lines[0] == "270000" and lines[3] == "    own  own   all  procedure"
        assert re.search(r"^ *[\d.]+ +\d+% +\d+%  f +<input 1>:1$", text, re.MULTILINE)

    @pytest.mark.parametrize("before", ["", "(product '(2 3 4))"])
    def test_counting_with_the_compiler_on(self, before: str) -> None:
        writing = Writing("compile")
        writing.output(PRODUCT, before)
        assert "3 *\n" in writing.output(",count (product '(2 3 4))")
        assert writing.output("(product '(2 3 4))") == "24\n"


class TestLooking:
    def test_core_and_derivatives(self, writing: Writing) -> None:
        writing.output("(define (f x) (* x (sin x)))")
        assert writing.output(",core f").startswith("(define f (lambda (x)\n")
        assert "result.sensitivity" in writing.output(",reverse f")
        assert "(cos x)" in writing.output(",forward f")
        assert writing.output(",core (lambda (x) x)") == "(lambda (x) x)\n"
        assert "Not a procedure: 5" in writing.output(",core 5")

    def test_expand(self, writing: Writing) -> None:
        assert writing.output(",expand (let ((x 1)) (+ x x))") == "(let* ((x 1))\n  (+ x x))\n"

    def test_types_and_c(self, writing: Writing) -> None:
        writing.output("(define (f x) (* x 2))")
        assert writing.output(",types f") == "f : real -> real\n"
        assert writing.output(",types f #[1 2]") == "f : tensor (2) -> tensor (2)\n"
        assert "double" in writing.output(",c f")

    def test_graph(self, writing: Writing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        writing.output(
            "(define (f x) (if (> x 0) (/ 1 x) (let ((g (lambda (y) (* x y)))) (map g (list x)))))"
        )
        text = writing.output(",graph f")
        assert text.startswith("f of x\n└─ if\n   ├─ test = >\n") and "of y" in text
        assert "x.sensitivity" in writing.output(",graph f reverse")
        assert writing.output(",graph f out.dot") == "; written: out.dot\n"
        dot = (tmp_path / "out.dot").read_text()
        assert (
            dot.startswith('digraph "f" {') and '[label="/ 1 ·"]' in dot and dot.count("{") == dot.count("}")
        )
        monkeypatch.setenv("PATH", str(tmp_path))
        assert "there is no Graphviz here" in writing.output(",graph f other.svg")
        program = tmp_path / "dot"
        program.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\n/bin/cat > "$2"\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        assert writing.output(",graph f other.svg") == "; written: other.svg\n"
        assert (tmp_path / "other.svg").read_text() == dot


class TestWatching:
    PROGRAM = "(define (g x) (* x 0))\n(define (f x) (/ x (g x)))"

    def test_nan(self, writing: Writing) -> None:
        writing.output(self.PROGRAM, ",nan on")
        assert "The first NaN: (/ 0 0) is +nan.0" in writing.output("(f 0)")
        assert writing.output(",nan off", "(f 0)") == "not looking for infinities and NaNs\n+nan.0\n"

    def test_trace(self, writing: Writing) -> None:
        assert writing.output(self.PROGRAM, ",trace g", "(f 3)") == "traced: g\n(g 3)\n=> 0\n+inf.0\n"
        assert "Nothing is compiled while something is watched" in writing.output(",tier auto")
        assert writing.output(",untrace", "(f 3)", ",tier auto") == "nothing is traced\n+inf.0\nauto\n"

    def test_break_and_step(self, writing: Writing) -> None:
        answers = iter(["locals\n", "continue\n", "step\n", "where\n", "quit\n"])
        writing.shell.read = lambda: next(answers)
        text = writing.output(self.PROGRAM, ",break g", "(f 2)", ",clear")
        assert "breakpoint in g" in text and "\ndebug> locals\n  x  2\ndebug> continue\n+inf.0\n" in text
        text = writing.output(",step (f 2)")
        assert "debug> where\n> f at <input 1>:2:20\n" in text and "was ended in the debugger" in text
        assert writing.output("(+ 1 2)") == "3\n"

    def test_the_time_of_an_input_is_without_that_of_typing(
        self, writing: Writing, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = [0.0]

        def read() -> str:
            now[0] += 100.0
            return "continue\n"

        writing.shell.read = read
        monkeypatch.setattr("vlad.repl.shell.time", SimpleNamespace(monotonic=lambda: now[0]))
        writing.output(self.PROGRAM, ",break g", "(f 2)")
        assert (now[0], writing.shell.seconds) == (100.0, 0.0)

    def test_after_an_error(self, writing: Writing) -> None:
        answers = iter(["locals\n", "(* x 2)\n", ""])
        writing.shell.read = lambda: next(answers)
        writing.output("(define (h x) (* x (car x)))", "(h 21)")
        assert "debug> locals\n  x  21\ndebug> (* x 2)\n42\n" in writing.output(",debug")
        assert writing.output(",reset", ",debug") == "there was no error\n"


class TestFiles:
    def test_load_and_reload(self, writing: Writing, tmp_path: Path) -> None:
        (tmp_path / "part.vlad").write_text("(define part 1)")
        (tmp_path / "whole.vlad").write_text('(import "part") (define whole (* 10 part)) whole')
        assert writing.output(",load whole", "whole") == "10\n"
        (tmp_path / "part.vlad").write_text("(define part 2)")
        assert writing.output(",reload", "whole") == "; reloaded: part, whole\n20\n"

    def test_import(self, writing: Writing, tmp_path: Path) -> None:
        (tmp_path / "m.vlad").write_text("(define one 1)")
        assert writing.output(",import m", "one", ",import m as n", "n:one") == "1\n1\n"
        (tmp_path / "m.vlad").write_text("(define one 11)")
        assert writing.output(",reload", "one", "n:one") == "; reloaded: m, m\n11\n11\n"
        assert "Cannot find: nope" in writing.output(",import nope")

    def test_save(self, writing: Writing, tmp_path: Path) -> None:
        (tmp_path / "given.vlad").write_text("(define given 5)")
        writing.output(",load given", "(define (f x) (* x given))", "(car 1)", "(f 2)", ",save kept")
        assert Writing().output(f",load {tmp_path / 'kept'}", "(f 3)") == "15\n"
        assert "Cannot write: /nope/x.vlad" in writing.output(",save /nope/x")

    def test_reset(self, writing: Writing) -> None:
        assert "Unbound variable: x" in writing.output("(define x 1)", ",reset", "x")

    def test_edit(self, writing: Writing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        editor = tmp_path / "editor"
        editor.write_text('#!/bin/sh\nsed -i s/2/3/ "$1"\n')
        editor.chmod(0o755)
        monkeypatch.setenv("EDITOR", str(editor))
        monkeypatch.delenv("VISUAL", raising=False)
        writing.output("(define (f x) (* x 2))")
        assert writing.output(",edit f", "(f 10)") == "30\n"
        (tmp_path / "file.vlad").write_text("(define k 2)")
        assert writing.output(",edit file.vlad", "k") == "3\n"
        monkeypatch.setenv("EDITOR", "/nope/editor")
        assert "Cannot start the editor: /nope/editor" in writing.output(",edit f")

    def test_shell(self, writing: Writing) -> None:
        assert writing.output(",shell exit 3") == "; status 3\n"


class TestSettings:
    def test_tier(self, writing: Writing) -> None:
        assert writing.output(",tier") == "evaluate\n"
        assert (
            writing.output(",tier compile", PRODUCT, "(product '(2 3))", ",tier evaluate")
            == "compile\n6\nevaluate\n"
        )
        assert writing.shell.session.tiers.entries
        assert "One of auto, compile, evaluate; not quick" in writing.output(",tier quick")

    def test_output_is_not_repeated_after_the_tier_has_changed(self, writing: Writing) -> None:
        assert writing.output(",tier compile", '(begin (display "once\n") (car 1))').count("once") == 1

    def test_device(self, writing: Writing) -> None:
        assert writing.output(",device") == "cpu\n"
        assert "no device nope" in writing.output(",device nope")

    def test_limits(self, writing: Writing) -> None:
        assert "fuel     1000\n" in writing.output(",limits fuel 1000")
        assert "ran out of fuel" in writing.output("(let loop ((i 0)) (loop (+ i 1)))")
        assert "ran out of fuel" not in writing.output(
            ",limits fuel off", "(let loop ((i 0)) (if (= i 2000) i (loop (+ i 1))))"
        )
        assert "A limit is a positive number" in writing.output(",limits seconds soon")
        assert "off; write `,limits seconds N`" in writing.output(",limits seconds")
        assert (
            "1000"
            not in writing.output(",limits fuel 1000", ",limits depth 10", ",limits off").split(
                "depth    10\n"
            )[1]
        )

    def test_format(self, writing: Writing) -> None:
        assert writing.output(",format length 3")
        assert writing.output("(iota 1000)") == "(0 1 2 …)\n"
        writing.output(",format columns 30")
        assert max(map(len, writing.output("(map iota (iota 20))").splitlines())) <= 30

    def test_keys(self, writing: Writing) -> None:
        assert writing.output(",keys vi") == "vi\n"
        assert "One of emacs, vi; not nano" in writing.output(",keys nano")

    def test_quit(self, writing: Writing) -> None:
        with pytest.raises(Leave):
            enter(writing.shell, ",quit")
