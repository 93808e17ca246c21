"""The prompt as people meet it: `vlad` on a pseudo-terminal, and in pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from terminals import DOWN, ESCAPE, LEFT, ROOT, UP, Person

# All of this file by one worker, one prompt after the other.
pytestmark = pytest.mark.xdist_group("terminal")
STARTUP = """; what I always want
,format length 3
(define (twice x)
  (begin "text
,quit" (* 2 x)))
(display "ready") (car 5)
(define never 1)
"""
LOOP = "(let loop ((i 0)) (loop (+ i 1)))"


class TestOnATerminal:
    def test_a_first_session(self) -> None:
        with Person() as person:
            assert "`,help` for commands, Ctrl-D to leave" in person.asks(1)
            person.says("(define (cube x) (* x x x))", "2>")
            person.says("((derivative cube) 2)", "\n12\n")
            person.asks(3)
            person.says("(* _ 10)", "\n120\n")
            person.asks(4)
            person.says("cube", "cube  ; procedure (cube x), <input 1>:1")
            person.asks(5)
            person.says("#[[1 2] [3 4]]", "; tensor of 2×2 float64")
            person.asks(6)
            person.says("(* _2 (lenght '()))", "did you mean `length`?")
            person.asks(7)
            person.says(",doc derivative", "((derivative square) 3)  ⇒ 6")
            person.sees("7>")
            person.type("\x04")
            assert person.leaves() == 0

    def test_lines_completion_and_edits(self) -> None:
        with Person() as person:
            person.asks(1)
            person.type("(define (f x)\r(let ((y 2))\r(* x y)))\r")
            person.asks(2)
            person.type("(f (squ\t 3)")
            person.sees("(f (square 3)")
            person.type(")\r")
            person.sees("\n18\n")
            person.asks(3)
            person.type("(gradient-")
            person.sees("((gradient-F f) x)")  # the menu, with signatures
            person.type("\x03")
            person.asks(3)
            person.type("(list (list 1 2) 3)" + LEFT * 5 + ESCAPE + ")" + "\r")
            person.sees("\n((1 2 3))\n")
            person.asks(4)
            person.type(UP + UP + DOWN + "\r")
            person.sees("\n((1 2 3))\n")

    def test_paste(self) -> None:
        with Person() as person:
            person.asks(1)
            person.type("\x1b[200~(define k 5)\n(define (g x)\n  (+ x k))\n(g 1)\n(g 2)\n\x1b[201~")
            person.sees("(g 2)")
            person.type("\r")
            person.sees("\n6\n7\n")

    def test_interrupting(self) -> None:
        with Person() as person:
            person.asks(1)
            person.type("(+ 1\r(foo")
            person.interrupt()
            person.asks(1)
            person.line(LOOP)
            person.sees("evaluating … 1 s (Ctrl-C ends it)")
            begun = time.monotonic()
            person.interrupt()
            person.sees("Interrupted")
            assert time.monotonic() - begun < 5
            person.asks(2)
            person.line('(begin (display "begun") ' + LOOP + ")")
            person.sees("\nbegun")
            person.interrupt()
            person.sees("Interrupted")
            person.asks(3)
            person.says("(+ 1 2)", "\n3\n")

    def test_a_signal_at_the_prompt(self) -> None:
        with Person() as person:
            person.asks(1)
            person.type("(abc")
            person.sees("(abc")
            os.kill(person.process, signal.SIGINT)
            person.asks(1)
            person.says("(+ 1 2)", "\n3\n")

    def test_compiled_code_is_interrupted(self) -> None:
        with Person("--tier", "compile") as person:
            person.asks(1)
            person.line("(let loop ((i 0)) (if (< i 0) i (loop (+ i 1))))")
            person.sees("evaluating … 2 s")
            person.interrupt()
            person.sees("Interrupted")
            person.asks(2)
            person.says("(+ 1 2)", "\n3\n")

    def test_a_narrow_terminal(self) -> None:
        with Person(columns=24, rows=8) as person:
            person.asks(1)
            person.line("(iota 30)")
            person.sees("29)")
            lines = person.shown[: person.at].splitlines()
            assert max(len(line) for line in lines if line.startswith((" 1", " 2", "(0"))) <= 24
            person.asks(2)
            person.says(",plot sin", "└──")

    @pytest.mark.parametrize("value", ["", "1"])
    def test_no_color(self, value: str) -> None:
        with Person(NO_COLOR=value) as person:
            person.asks(1)
            person.says("(car 1)", "this is a real")
            person.asks(2)
            assert ("\x1b[31;1m" in person.raw) == (not value)
            assert ("34m" in person.raw) == (not value)

    def test_vi(self) -> None:
        with Person(VLAD_KEYS="vi") as person:
            person.asks(1)
            person.type("(+ 1 2)" + ESCAPE)
            time.sleep(1.0)  # an escape is a key of its own only where nothing follows at once
            person.type("0lr*\r")
            person.sees("\n2\n")

    def test_history_is_kept(self, tmp_path: Path) -> None:
        history = str(tmp_path / "state" / "history")
        with Person(VLAD_HISTORY=history) as person:
            person.asks(1)
            person.says("(* 111 3)", "\n333\n")
            person.asks(2)
            person.type("\x04")
            person.leaves()
        with Person(VLAD_HISTORY=history) as person:
            person.asks(1)
            time.sleep(0.5)  # the history is read in another thread
            person.type("\x12111")
            person.sees("(* 111 3)")
            person.type("\r\r")
            person.sees("\n333\n")

    def test_a_file_then_the_prompt(self, tmp_path: Path) -> None:
        (tmp_path / "some.vlad").write_text("(define (f x) (* 2 x)) (f 1) (car 5)")
        with Person("-i", "some.vlad", folder=tmp_path) as person:
            shown = person.asks(1)
            assert "\n2\n" in shown and "some.vlad:1:30: Error: " in shown
            person.says("(f 21)", "\n42\n")
        with Person("-i", "-e", "(define k 7)") as person:
            person.asks(2)
            person.says("k", "\n7\n")

    def test_the_startup_file(self, tmp_path: Path) -> None:
        (tmp_path / "mine.vlad").write_text(STARTUP)
        with Person(VLAD_STARTUP=str(tmp_path / "mine.vlad")) as person:
            shown = person.asks(1)
            assert shown.index("Ctrl-D to leave") < shown.index("\nready\n") and "length   3\n" in shown
            assert "mine.vlad:6:19: Error: Argument to car is invalid" in shown
            person.says("(iota 900)", "\n(0 1 2 …)\n")
            person.asks(2)
            person.says("(twice 4)", "\n8\n")
            person.asks(3)
            person.says("never", "Unbound variable: never")
            person.asks(4)
            person.says("(define (twice x) 0)", "5>")
            person.says(",reset", "\nready\n")
            person.asks(1)
            person.says("(twice 5)", "\n10\n")
        with Person("repl", "--no-init", VLAD_STARTUP=str(tmp_path / "mine.vlad")) as person:
            assert "ready" not in person.asks(1)
            person.says("(twice 4)", "Unbound variable: twice")

    def test_the_startup_file_has_a_place(self, tmp_path: Path) -> None:
        with Person(VLAD_STARTUP=str(tmp_path / "nothing.vlad")) as person:
            assert "nothing.vlad" in person.asks(1)
        home = str(tmp_path)
        found = subprocess.run(
            [sys.executable, "-c", "from vlad.repl.startup import startup_path; print(startup_path())"],
            capture_output=True, text=True, env={"HOME": home, "PYTHONPATH": str(ROOT)},
        ).stdout.strip()  # fmt: skip
        assert found.startswith(home) and found.endswith(os.path.join("vlad", "startup.vlad"))
        os.makedirs(os.path.dirname(found))
        Path(found).write_text("(define mine 21)")
        with Person(HOME=home, VLAD_STARTUP=found) as person:
            person.asks(1)
            person.says("mine", "\n21\n")

    def test_reading_what_is_typed(self) -> None:
        with Person() as person:
            person.asks(1)
            person.line("(* 2 (read-real))")
            time.sleep(0.5)  # otherwise typed text goes to the prompt, not the program
            person.type("21\n")
            person.sees("\n42\n")

    @pytest.mark.parametrize("term", ["dumb", ""])
    def test_a_dumb_terminal(self, term: str) -> None:
        with Person(TERM=term) as person:
            person.asks(1)
            person.type("(define (f x)\n(* x 2))\n")
            person.asks(2)
            person.type("(f 4)\n")
            person.sees("\n8\n")
            person.asks(3)
            person.type(f'(begin (display "begun\\n") {LOOP})\n')
            person.sees("\nbegun")
            person.interrupt()
            person.sees("Interrupted")
            person.asks(4)
            person.type("(car 1)\n")
            person.sees("Argument to car")
            person.asks(5)
            person.type("(+ 1\n")
            person.sees("(+ 1\n")
            time.sleep(0.3)  # since the first one: that may be a hand which trembles
            person.interrupt()
            person.asks(5)
            assert "\x1b" not in person.raw
            person.type("\x04")
            assert person.leaves() == 0

    def test_when_the_terminal_goes_away(self) -> None:
        person = Person()
        person.asks(1)
        os.close(person.terminal)
        end = time.monotonic() + 20
        done = 0
        while not done and time.monotonic() < end:
            done, _ = os.waitpid(person.process, os.WNOHANG)
            time.sleep(0.05)
        assert done == person.process


def piped(text: str, *words: str, folder: Path | None = None, startup: str = "") -> tuple[int, str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VLAD"))}
    done = subprocess.run(
        [sys.executable, "-m", "vlad", *words], input=text.encode("utf-8", "surrogateescape"), capture_output=True,
        cwd=folder, env={**own, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "VLAD_STARTUP": startup}, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class TestInAPipe:
    def test_inputs_and_results(self) -> None:
        text = "(define (f x)\n  (* x 2))\n\n(f 4) (f 5)\n,doc sin\n(car 1)\n_\n"
        status, shown, errors = piped(text, "repl")
        assert (status, errors) == (0, "")
        assert shown.startswith("8\n10\n(sin x)    built in: Numbers\n")
        assert shown.endswith("real\n10\n")

    def test_the_end_comes_early(self) -> None:
        assert piped("(+ 1 2)", "repl")[1] == "3\n"
        assert "The `(` is never closed" in piped("(+ 1\n2", "repl")[1]
        assert piped("1\n,quit\n2\n", "repl") == (0, "1\n", "")
        assert piped("", "repl") == (0, "", "")

    def test_input_of_a_program(self) -> None:
        assert piped("(* 2 (read-real))\n21\n(+ 1 1)\n", "repl")[1] == "42\n2\n"

    def test_no_text(self) -> None:
        status, shown, errors = piped('(string-length "\udcff")\n(+ 1 2)\n', "repl")
        assert (status, shown.splitlines()[-1], errors) == (0, "3", "")

    def test_options(self, tmp_path: Path) -> None:
        assert piped("(f 1)\n", "-i", "-e", "(define (f x) (+ x 1))")[1] == "2\n"
        assert piped("1\n", "repl", "--metered")[0] == 0
        startup = "(define f 1)"
        (tmp_path / "mine.vlad").write_text(startup)
        assert "Unbound" in piped("f\n", "repl", startup=str(tmp_path / "mine.vlad"))[1]  # not in a pipe
        assert "goes with the prompt" in piped("", "--no-init", "-e", "1")[2]
        assert piped("1\n", "--no-init", "repl")[1] == "1\n"
        assert "takes no file" in piped("", "repl", "some.vlad")[2]
        assert "does not go with" in piped("", "-i", "check", "some.vlad")[2]

    def test_what_is_imported(self) -> None:
        """Nothing of the prompt's libraries, where there is no terminal."""
        script = (
            "import sys; from vlad.__main__ import main; main(['repl']); "
            "print([m for m in ('prompt_toolkit', 'pygments', 'numpy', 'asyncio') if m in sys.modules])"
        )
        own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VLAD"))}
        done = subprocess.run(
            [sys.executable, "-c", script], input=b"(+ 1 2)\n(car 1)\n,doc map\n", capture_output=True,
            env={**own, "PYTHONPATH": str(ROOT)}, timeout=60,
        )  # fmt: skip
        assert done.stdout.decode().endswith("\n[]\n"), done

    def test_whoever_reads_stops_reading(self) -> None:
        own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VLAD"))}
        command = f"yes '(iota 1000)' | head -500 | {sys.executable} -m vlad repl | head -1"
        done = subprocess.run(
            ["sh", "-c", command], capture_output=True, env={**own, "PYTHONPATH": str(ROOT)}, timeout=60
        )
        assert done.stdout.startswith(b"(0 1 2") and b"Traceback" not in done.stderr
