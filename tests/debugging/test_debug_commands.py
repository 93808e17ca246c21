"""The debugger's text interface: dialogue and output at a prompt, and `vlad debug`, `--trace`, `--find-nan`."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import command

import vlad
from vlad.debugging.commands import HELP, Commands

PROGRAM = """(define (f x)
  (let ((y (sqrt x)))
    (* y (g y))))
(define (g y) (+ 1 (log y)))
"""


class Person:
    """Types lines, and records the output."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.seen: list[str] = []
        self.session = vlad.Session(write=lambda text: None)
        self.commands = Commands(self.session, self.read, self.seen.append)
        self.session.run_text(PROGRAM, "program.vlad")

    def read(self, prompt: str) -> str:
        assert prompt == "debug> "
        return self.lines.pop(0) + "\n" if self.lines else ""


def test_trace_and_untrace() -> None:
    person = Person()
    commands = person.commands
    assert commands.trace() == "nothing is traced"
    assert commands.trace("f g") == "traced: f, g"
    person.session.eval("(f 1)")
    assert person.seen == ["(f 1)", "| (g 1)", "| => 1", "=> 1"]
    assert commands.untrace("f") == "traced: g"
    assert commands.untrace() == "nothing is traced"


@pytest.mark.parametrize("command", ["trace", "break_at"])
def test_names_that_nothing_has_are_not_watched(command: str) -> None:
    person = Person()
    person.session.eval("(define (outer x) (let helper ((quxx x)) (if (> quxx 3) quxx (helper (+ quxx 1)))))")
    watch = getattr(person.commands, command)
    with pytest.raises(vlad.VladError, match="There is no procedure outr") as caught:
        watch("outr")
    assert caught.value.code == "unbound-variable" and caught.value.hint == "did you mean `outer`?"
    for word, hint in (("helpre", "did you mean `helper`?"), ("quxo", "define it first")):
        with pytest.raises(vlad.VladError) as caught:
            watch(word)
        assert caught.value.hint == hint  # `quxx` is no procedure
    with pytest.raises(vlad.VladError, match="There is no procedure quxfrobnicate"):
        watch("quxfrobnicate")
    assert "helper" in watch("helper")  # it is inside another
    assert "quxfrobnicate" in watch("quxfrobnicate", later=True)


def test_nan() -> None:
    person = Person()
    assert person.commands.nan() == "not looking for infinities and NaNs"
    assert person.commands.nan("on") == "looking for infinities and NaNs"
    person.session.eval("(f 0)")
    assert person.seen[0].splitlines()[:2] == [
        "program.vlad:4:20: The first infinity: (log 0) is -inf.0",
        "    4 | (define (g y) (+ 1 (log y)))",
    ]
    assert person.commands.nan("off") == "not looking for infinities and NaNs"
    with pytest.raises(vlad.VladError, match="on or off"):
        person.commands.nan("maybe")


def test_breakpoints() -> None:
    person = Person("continue", "continue")
    commands = person.commands
    assert commands.break_at() == "there are no breakpoints"
    assert commands.break_at("g program.vlad:2") == "breakpoints: g, program.vlad:2"
    person.session.eval("(+ 0 (f 4))")
    assert [text.splitlines()[0] for text in person.seen] == [
        "program.vlad:2:12: breakpoint in f",
        "program.vlad:4:1: breakpoint in g",
    ]
    assert commands.clear() == "there are no breakpoints"
    assert person.session.machine.instrument is None


def test_a_conversation() -> None:
    person = Person(
        "where", "locals", "print (* y 10)", "up", "l", "x", "up", "up", "down", "down", "nobody", "inside car",
        "p inside", "inside 5", "", "help", "break f", "clear", "n", "c",
    )  # fmt: skip
    person.commands.break_at("g")
    person.session.eval("(+ 0 (f 4))", "text")
    seen = iter(person.seen)
    assert next(seen).startswith("program.vlad:4:1: breakpoint in g\n")
    assert next(seen) == "> g at program.vlad:4:1\n  f at program.vlad:3:10\n  the top level at text:1:6"
    assert next(seen) == "  y  2"
    assert next(seen) == "20"
    assert next(seen).startswith("in f at program.vlad:3:10\n    3 |     (* y (g y))))\n")
    assert next(seen) == "  x  4\n  y  2"
    assert next(seen) == "4"
    assert next(seen).startswith("in the top level at text:1:6")
    assert next(seen) == "there is no procedure of the program further that way"
    assert next(seen).startswith("in f")
    assert next(seen).startswith("in g")
    assert "Unbound variable: nobody" in next(seen)
    assert next(seen) == "it is closed over nothing"
    assert "Unbound variable: inside" in next(seen)
    assert "5 is no procedure" in next(seen)
    assert next(seen) == HELP
    assert next(seen) == "breakpoints: g, f"
    assert next(seen) == "there are no breakpoints"
    assert next(seen).startswith("program.vlad:4:20: in g\n")
    assert list(seen) == []


def test_after_an_error_in_the_library_the_users_procedure_is_selected_first() -> None:
    person = Person("locals", "a", "where", "up", "locals", "down", "down", "q")
    person.session.run_text("(define (mine a b) (* 2 (last (cddr (list a b)))))", "mine.vlad")
    with pytest.raises(vlad.VladError):
        person.session.eval("(+ 0 (mine 5 6))", "text")
    person.commands.debug()
    seen = iter(person.seen[1:])
    own, inside, *rest = next(seen).split("\n  inside it, last at ")
    assert own == "  a  5\n  b  6" and rest == []
    assert inside.startswith("stdlib/prelude.vlad:") and inside.splitlines()[1:] == ["  l  ()"]
    assert next(seen) == "5"
    assert next(seen) == "> mine at mine.vlad:1:25\n  the top level at text:1:6"
    assert next(seen).startswith("in the top level")
    assert next(seen) == "there are no variables here"
    assert next(seen).startswith("in mine")
    assert next(seen) == "there is no procedure of the program further that way"


def test_a_breakpoint_in_the_library_shows_what_is_there() -> None:
    person = Person("locals", "locls", "clear", "c")
    person.commands.break_at("list-ref")
    person.session.eval("(+ 0 (list-ref '(1 2) 1))")
    assert person.seen[1] == "  l  (1 2)\n  k  1"
    assert "Unbound variable: locls" in person.seen[2] and "did you mean `locals`?" in person.seen[2]


def test_after_an_error() -> None:
    person = Person("c", "up", "y", "q")
    assert person.commands.debug() == "there was no error"
    with pytest.raises(vlad.VladError):
        person.session.eval("(+ 0 (f 'four))", "text")
    person.commands.debug()
    assert person.seen[0].startswith("program.vlad:2:12: Error: Argument to sqrt is invalid")
    assert person.seen[1] == "after an error there is no going on; `quit` leaves the debugger"
    assert person.seen[2].startswith("in the top level")
    assert "Unbound variable: y" in person.seen[3]


def test_commands_may_begin_as_at_the_prompt() -> None:
    person = Person(",help", ",print (+ x 1)", ",quit")
    person.commands.break_at("g")
    person.session.eval("(define (g x) x)")
    with pytest.raises(vlad.VladError, match="ended in the debugger"):
        person.session.eval("(g 2)")
    assert person.seen[1:] == [HELP, "3"]


def test_no_guard_takes_the_end() -> None:
    person = Person(",quit")
    person.commands.break_at("g")
    with pytest.raises(vlad.VladError, match="ended in the debugger"):
        person.session.eval("(guard (e (#t 1)) (+ 1 (g 2)))")


def test_the_end_of_the_input_ends_the_evaluation() -> None:
    person = Person()
    person.commands.break_at("g")
    with pytest.raises(vlad.VladError) as caught:
        person.session.eval("(f 4)")
    assert caught.value.code == "abandoned"


# The command.


def shell(folder: Path, *words: str, typed: str = "") -> tuple[int, str, str]:
    done = command(*words, cwd=folder, text=typed, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.vlad").write_text(PROGRAM + "(f 4)\n((gradient f) 0)\n", encoding="utf-8")
    return tmp_path


def test_trace_and_find_nan_in_the_shell(folder: Path) -> None:
    status, output, errors = shell(folder, "--find-nan", "program.vlad")
    assert (status, output.splitlines()) == (0, ["3.386294361119891", "+nan.0"])
    assert errors.startswith("program.vlad:4:20: The first infinity: (log 0) is -inf.0\n")
    status, output, errors = shell(folder, "--trace", "g", "--trace", "nobody", "program.vlad")
    assert status == 0 and errors.splitlines()[:2] == ["(g 2)", "=> 1.6931471805599454"]
    assert errors.splitlines()[-1] == "--trace nobody: there was no call of it"
    status, _, errors = shell(folder, "check", "--trace", "g", "program.vlad")
    assert status == 2 and "go with programs that run" in errors


def test_debug_in_the_shell(folder: Path) -> None:
    status, output, _ = shell(folder, "debug", "--break", "g", "program.vlad", typed="l\nclear\nc\n")
    assert status == 0
    assert output.splitlines()[:5] == [
        "program.vlad:4:1: breakpoint in g",
        "    4 | (define (g y) (+ 1 (log y)))",
        "      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        "debug> l",
        "  y  2",
    ]
    status, output, _ = shell(folder, "debug", "program.vlad", typed="s\ns\nn\nc\n")
    assert status == 0 and output.count("debug> ") == 4
    status, output, errors = shell(folder, "debug", "--break", "nobody", "program.vlad")
    assert (status, output.splitlines()[-1]) == (0, "there was no call of nobody")
    (folder / "program.vlad").write_text(PROGRAM + "(f 'a)", encoding="utf-8")
    status, output, errors = shell(folder, "debug", "--break", "g", "program.vlad", typed="w\nx\nq\n")
    assert status == 1 and "> f at program.vlad:2:12" in output and "\na\n" in output
    status, output, errors = shell(folder, "debug", "program.vlad", typed="q\n")
    assert (status, errors) == (1, "")
