"""By which tail calls an error was reached: found out by running the evaluation once more, without its effects."""

from __future__ import annotations

from pathlib import Path

import pytest

import vlad
from vlad.debugging.commands import Commands, folded
from vlad.debugging.debugger import Debugger

PROGRAM = """(define (down n) (if (= n 0) (car n) (down (- n 1))))
(define (even n) (if (= n 0) (car n) (odd (- n 1))))
(define (odd n) (if (= n 0) (car n) (even (- n 1))))
(define (start n) (display "begun ") (even n))
(define (waits n) (+ 1 (odd n)))
(define (asks) (+ 1 (even (read-real))))
(define (folds l) (fold (lambda (a b) (start 0)) 0 l))
(define (straight x) (* 2 (car x)))
"""


class Case:
    """A session with the program, its output, and the last error."""

    def __init__(self, tier: str = "auto", reads: str = "") -> None:
        self.written: list[str] = []
        lines = iter([reads])
        self.session = vlad.Session(write=self.written.append, read=lambda: next(lines, ""), tier=tier)
        self.debugger = Debugger(self.session, write=self.written.append)
        self.debugger.keep_errors()
        self.session.run_text(PROGRAM, "program")

    def fails(self, text: str) -> list[str]:
        """The tail calls that led to the error, the earliest first, as people read them."""
        with pytest.raises(vlad.VladError):
            self.session.run_text(text, "text")
        assert self.debugger.retrace()
        assert self.debugger.error is not None
        return [str(place) for place in self.debugger.error.before]


TOP = "the top level at text:1:1"
EVEN, ODD = "odd at program:3:37", "even at program:2:38"  # the procedure that calls it, and where


@pytest.mark.parametrize("tier", ["evaluate", "auto", "compile"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(down 3)", [TOP, *["down at program:1:38"] * 3]),
        ("(down 1000)", ["down at program:1:38"] * 16),
        ("(even 3)", [TOP, ODD, EVEN, ODD]),
        ("(even 1001)", [EVEN, ODD] * 8),
        ("(+ 2 (start 2))", ["start at program:4:38", ODD, EVEN]),
        ("(list (waits 1))", [EVEN]),  # of the innermost procedure: it was called from inside another
        ("(folds '(1))", ["an anonymous procedure at program:7:39", "start at program:4:38"]),
        ("(straight 3)", [TOP]),
        ("((J start) (*j 1))", ["reverse of start at program:4:38", "reverse of even at program:2:38"]),
        ("((J start) 1)", [TOP]),
    ],
)
def test_the_tail_calls_before_an_error(tier: str, text: str, expected: list[str]) -> None:
    case = Case(tier)
    assert case.fails(text) == expected
    assert case.written == (["begun "] if "(start" in text or "folds" in text or "*j" in text else [])
    assert case.session.machine.instrument is None and case.session.tiers.policy == tier
    assert case.session.eval("(+ 1 2)") == 3


def test_what_was_read_is_not_read_again() -> None:
    case = Case(reads="2 4\n")
    assert case.fails("(asks)") == [ODD, EVEN]
    assert case.session.eval("(read-real)") == 4


def test_files_are_not_written_again(tmp_path: Path) -> None:
    case = Case()
    path = str(tmp_path / "x.npy")
    case.session.eval(f'(save-tensor "{path}" #[1 2])')
    step = f'(save-tensor "{path}" (+ 1 (load-tensor "{path}")))'
    with pytest.raises(vlad.VladError):
        case.session.eval(f"(list {step} (+ 1 (even 2)))")
    assert not case.debugger.retrace()
    assert case.session.eval(f'(tensor->list (load-tensor "{path}"))') == [2, 3]
    assert case.fails(f'(even (* 2 (tensor-ref (load-tensor "{path}") 0)))')[1:] == [ODD, EVEN] * 2


def test_python_functions_are_not_called_again() -> None:
    called: list[float] = []
    session = vlad.Session()
    session["note"] = lambda x: called.append(x) or x
    session["pure"] = vlad.primitive(lambda x: 2 * x, forward=lambda x, dx: 2 * dx)
    debugger = vlad.Debugger(session)
    debugger.keep_errors()
    for name, finds in (("note", False), ("pure", True)):
        with pytest.raises(vlad.VladError):
            session.eval(
                f"(define (f x) (g x)) (define (g x) (h ({name} x))) (define (h x) (car x)) (+ 1 (f 2))"
            )
        assert debugger.retrace() is finds
        assert called == [2.0]
        assert session.eval("(pure 2)") == 4.0


def test_later_evaluations_change_nothing() -> None:
    case = Case(reads="2\n")
    with pytest.raises(vlad.VladError):
        case.session.eval("(asks)")
    case.session.run_text('(display "other") (define k 1)', "text")
    case.written.clear()
    assert case.debugger.retrace() and case.debugger.error is not None
    assert [str(place) for place in case.debugger.error.before] == [ODD, EVEN]
    assert case.written == []


def test_it_gives_up_when_its_time_is_over() -> None:
    case = Case()
    with pytest.raises(vlad.VladError):
        case.session.eval("(down 1000000)")
    assert not case.debugger.retrace(0.01)
    assert case.session.machine.instrument is None
    assert case.debugger.retrace(60)


def test_limits_are_not_looked_into() -> None:
    case = Case()
    with pytest.raises(vlad.VladError, match="fuel"), case.session.limited(vlad.Limits(fuel=100)):
        case.session.eval("(down 1000)")
    assert not case.debugger.retrace()


def test_a_traced_program_needs_no_retracing() -> None:
    case = Case()
    case.debugger.trace("even")
    assert case.fails("(even 1)") == [TOP, ODD]
    assert len(case.written) == 1  # the trace, once


def test_an_error_that_changed_is_none() -> None:
    case = Case()
    with pytest.raises(vlad.VladError):
        case.session.eval("(even 2)")
    case.session.run_text("(define (even n) n)")
    assert not case.debugger.retrace()


def test_the_debugger_retraces_an_error() -> None:
    case = Case()
    answers = iter(["where\n", "quit\n"])
    written: list[str] = []
    commands = Commands(case.session, lambda prompt: next(answers), written.append)
    assert commands.debug() == "there was no error"
    with pytest.raises(vlad.VladError):
        case.session.run_text("(waits 40)", "text")
    commands.debug()
    assert written[1].splitlines() == [
        "> odd at program:3:29",
        "  waits at program:5:24",
        "  the last 16 tail calls, the latest first:",
        "    even at program:2:38",
        "    odd at program:3:37",
        "    … these 2, 8 times",
    ]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("a b c", ["a", "b", "c"]),
        ("a a a b", ["a, 3 times", "b"]),
        ("x a b a b a b", ["x", "a", "b", "    … these 2, 3 times"]),
        ("a b b a b b c c", ["a", "b", "b", "    … these 3, 2 times", "c, 2 times"]),
        ("", []),
    ],
)
def test_repeated_lines_are_shown_once(lines: str, expected: list[str]) -> None:
    assert folded(lines.split()) == expected
