"""Results, errors and interrupts at the prompt, without a terminal."""

from __future__ import annotations

import signal
import sys
import threading
import time

import pytest
from vlad.repl.commands import enter
from vlad.repl.display import Format, laid_out
from vlad.repl.interrupts import Interrupts
from vlad.repl.shell import MOST_RESULTS, Leave
from writing import Writing

from vlad import Session
from vlad.data.values import Value


def value_of(text: str, session: Session | None = None) -> Value:
    values: list[Value] = []
    (session or Session(tier="evaluate")).run_text(text, "<test>", values.append)
    return values[-1]


class TestResults:
    def test_a_value_is_shown_and_kept(self, writing: Writing) -> None:
        assert writing.output("(+ 1 2)", "(* _ 10)", "(- _2 _1)") == "3\n30\n27\n"

    def test_definitions_and_effects_show_nothing(self, writing: Writing) -> None:
        assert writing.output("(define x 2)", '(display "hi")', "x") == "hi\n2\n"

    def test_a_definition_does_not_change_the_last_result(self, writing: Writing) -> None:
        assert writing.output("7", "(define x 2)", "_") == "7\n7\n"

    def test_many_forms_in_one_input(self, writing: Writing) -> None:
        assert writing.output("(define x 2) x\n(* x x)", "_1") == "2\n4\n4\n"

    def test_the_forms_before_an_error_are_done(self, writing: Writing) -> None:
        text = writing.output("(define x 2) x (car x) (define y 1)", "x", "y")
        assert text.startswith("2\n<input 1>:1:16: Error: Argument to car is invalid\n")
        assert "\n2\n<input 3>:1:1: Error: Unbound variable: y\n" in text

    def test_compiled_code_uses_the_new_result(self) -> None:
        writing = Writing("compile")
        assert writing.output("1", "(define (f x) (* x _))", "(f 5)", "(f 2)") == "1\n5\n10\n"

    def test_a_redefined_name_of_the_library_is_reported_once(self, writing: Writing) -> None:
        writing.shell.attended = True
        message = "; {} is your own from here on, no longer vlad's; `,reset` forgets your definitions\n"
        assert writing.output("(define (mean l) 1) (define (car x) 2)") == message.format(
            "mean"
        ) + message.format("car")
        assert writing.output("(define (mean l) 3)", "(define (average l) 4)", "(mean 5)", "_") == "3\n3\n"
        writing.shell.attended = False
        assert writing.output("(define (mean l) 3)", ",reset", "(mean #[1 2 3])") == "2\n"

    def test_infix_arithmetic_is_several_expressions(self, writing: Writing) -> None:
        writing.shell.attended = True
        assert writing.output("(define x 2)", "x + 3").endswith(
            "; these are 3 expressions; the procedure comes first in a call: `(+ x 3)`\n"
        )
        for text in ("1 2 3", "x car 3", "x + 3 4", "2 -3", "+ 1 2", "2 + 3 * 4"):
            assert "procedure comes first" not in writing.output(text)

    def test_what_a_module_gives_new_meanings_is_reported_in_one_line(self, writing: Writing) -> None:
        writing.shell.attended = True
        assert writing.output('(import "mechanics")').startswith(
            "; mechanics gives new meanings to + - * / square "
        )

    def test_old_results_are_forgotten(self, writing: Writing) -> None:
        writing.output(*[str(i) for i in range(MOST_RESULTS + 3)])
        assert writing.output("_1").startswith(
            f"<input {MOST_RESULTS + 4}>:1:1: Error: Unbound variable: _1\n"
        )
        assert writing.output("_4") == "3\n"

    def test_tensors_show_shape_and_kind(self, writing: Writing) -> None:
        assert writing.output("#[[1 2] [3 4]]") == "#[[1 2] [3 4]]  ; tensor of 2×2 float64\n"

    def test_procedures_show_parameters_and_place(self, writing: Writing) -> None:
        text = writing.output("(define (f x . y) x)", "f", "sin", "(lambda (a b) a)", "(derivative sin)")
        assert text.splitlines() == [
            "f  ; procedure (f x . y), <input 1>:1",
            "sin  ; primitive (sin x)",
            "(lambda (a b) a)  ; procedure (a b), <input 4>:1",
            "#<procedure (x)>  ; procedure (x), stdlib/calculus.vlad:100",
        ]

    def test_values_that_are_no_procedures_have_no_remark(self, writing: Writing) -> None:
        text = writing.output(
            "(define-record-type point (at x) point? (x x-of))",
            "(at 1)",
            "#(1 2)",
            "(table 1 2)",
            '(import "mechanics")',
            "(up 1 2)",
        )
        assert text.splitlines() == ["#<point x: 1>", "#(1 2)", "#<table 1: 2>", "#<up 1 2>"]

    def test_transformed_values_are_readable(self, writing: Writing) -> None:
        text = writing.output("(define (f x) x)", "(*j f)", "(*j '(1 2))", "(cdr ((J f) (J 2)))")
        assert text.splitlines() == [
            "(reverse f)  ; reverse of procedure (f x), <input 1>:1",
            "(reverse (1 2))  ; reverse of (1 2)",
            "#<backpropagator of f>",
            "; takes the sensitivity of the result; gives those of procedure and argument",
        ]

    def test_slow_inputs_are_timed(self, writing: Writing, monkeypatch: pytest.MonkeyPatch) -> None:
        writing.shell.attended = True
        monkeypatch.setattr("vlad.repl.shell.SLOW", 0.0)
        assert writing.output("1").startswith("1\n; 0.0")


class TestLayout:
    @pytest.mark.parametrize("width", [1, 20, 37, 80, 200])
    @pytest.mark.parametrize(
        "text",
        ["(iota 300)", "(map iota (iota 40))", "(list 'a (iota 50) \"text\" sin #[1 2])", "(cons (iota 30) 5)",
         "(reshape (arange 4000) '(40 100))", "(reshape (arange 120) '(2 3 20))", "(list (lambda (x) (sin (cos (tan x)))))",
         "(list->vector (map iota (iota 40)))",
         "(define-record-type tree (tree . parts) tree? (parts of-tree)) (tree (tree (iota 60)) (iota 60) 5)"],
    )  # fmt: skip
    def test_it_keeps_to_the_width(self, text: str, width: int) -> None:
        shown = laid_out(value_of(text), Format(width))
        assert max(map(len, shown.split("\n"))) <= max(width, 45)  # numbers are not cut
        assert shown.count("(") == shown.count(")") and shown.count("[") == shown.count("]")

    @pytest.mark.parametrize(
        "text", ["(iota 60)", "(map iota (iota 12))", "'((a . 1) (b . (2 . 3)) ((c)) . end-of-it)"]
    )
    def test_what_is_not_cut_reads_back(self, text: str) -> None:
        session = Session(tier="evaluate")
        shown = laid_out(value_of(text, session), Format(30))
        assert "\n" in shown
        assert laid_out(value_of("'" + shown, session), Format(10_000)) == laid_out(
            value_of(text, session), Format(10_000)
        )

    def test_long_and_deep_values_are_cut(self) -> None:
        deep = "(let loop ((n 0) (l '())) (if (= n 100000) l (loop (+ n 1) (list 'a l))))"
        assert laid_out(value_of(deep), Format(60, depth=3)) == "(a (a (a (…))))"
        assert laid_out(value_of("(iota 1000000)"), Format(60, length=5)) == "(0 1 2 3 4 …)"
        assert laid_out(value_of("(list->vector (iota 1000))"), Format(60, length=5)) == "#(0 1 2 3 4 …)"
        tree = "(let loop ((n 12)) (if (= n 0) '() (let ((l (loop (- n 1)))) (list l l l l))))"
        assert len(laid_out(value_of(tree), Format(60))) < 100_000

    def test_records_have_lines(self) -> None:
        types = """(define-record-type up (up . parts) up? (parts of-up))
                   (define-record-type point (point x y) point? (x px) (y py))"""
        shown = laid_out(value_of(f"{types} (up 1 (point (iota 12) 'b) (up (iota 12)))"), Format(30))
        assert shown.split("\n") == [
            "#<up 1",
            "     #<point x: (0 1 2 3 4",
            "                 5 6 7 8 9",
            "                 10 11)",
            "             y: b>",
            "     #<up 0 1 2 3 4 5 6 7 8",
            "          9 10 11>>",
        ]

    def test_a_row_is_cut_in_the_middle(self) -> None:
        assert laid_out(value_of("(arange 1000)"), Format(40)) == "#[0 1 2 3 4 … 995 996 997 998 999]"


class TestErrors:
    def test_an_error_is_shown_and_kept(self, writing: Writing) -> None:
        text = writing.output("(car 5)")
        assert text.startswith("<input 1>:1:1: Error: Argument to car is invalid\n    1 | (car 5)\n")
        assert writing.output("(string-length _error)") == f"{len(text) - 1}\n"
        assert writing.output(",error") == text

    @pytest.mark.parametrize(
        "text",
        ["(", ")", '"', "#|", "(1 . )", "#\\spaces", "[", "(if)", "(define)", "nope", "\x00", "(error 'x)", "|",
         "(let loop ((i 0)) (+ 1 (loop i)))"],
    )  # fmt: skip
    def test_the_session_survives(self, writing: Writing, text: str) -> None:
        assert "Error: " in writing.output(",limits depth 1000", text)
        assert writing.output("(+ 1 2)") == "3\n"

    def test_internal_errors_are_reported_as_such(
        self, writing: Writing, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object) -> None:
            raise ZeroDivisionError("oops")

        monkeypatch.setattr(Session, "run_text", broken)
        writing.shell.evaluate("1")
        assert "A mistake in vlad itself: ZeroDivisionError: oops" in writing.stream.getvalue()
        assert writing.shell.error is not None and writing.shell.error.code == "internal-error"

    def test_an_interrupt_ends_only_the_evaluation(self, writing: Writing) -> None:
        with writing.shell.interrupts as interrupts:
            threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,)).start()
            assert "Interrupted" in writing.output("(let loop ((i 0)) (loop (+ i 1)))")
            signal.raise_signal(signal.SIGINT)  # before an input is read: it does not apply to the next one
            interrupts.expect()
            assert writing.output("(+ 1 2)") == "3\n"
            interrupts.expect()
            signal.raise_signal(signal.SIGINT)  # the input was read: it is
            assert writing.output("(+ 1 2)") == "Interrupted\n"
        assert writing.output("(+ 1 2)") == "3\n"


class TestTheWayToAnError:
    PROGRAM = (
        "(define (down n) (if (= n 0) (car n) (down (- n 1))))",
        '(define (start n) (display "begun") (down n))',
    )

    def test_the_last_tail_calls_are_shown(self, writing: Writing) -> None:
        text = writing.output(*self.PROGRAM, "(start 40)")
        assert text.count("begun") == 1
        assert text.endswith(
            "\n  in down at <input 1>:1:30\n"
            "  the last 16 tail calls, the latest first:\n    down at <input 1>:1:38, 16 times\n"
        )
        assert writing.output(",error") == text.partition("begun\n")[2]
        assert writing.output("(+ 1 (start 1))").endswith(
            "\n  reached by tail calls, the latest first:\n"
            "    down at <input 1>:1:38\n    start at <input 2>:1:37\n"
        )

    def test_not_the_form_that_was_just_entered(self, writing: Writing) -> None:
        assert writing.output(*self.PROGRAM, "(down 0)").endswith("\n  in down at <input 1>:1:30\n")
        assert writing.output("(car 5)").endswith("this is a real\n")

    def test_only_where_that_takes_a_moment(self, writing: Writing, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("vlad.repl.shell.A_MOMENT", 0.01)
        assert "tail calls" not in writing.output(*self.PROGRAM, "(start 300000)")
        answers = iter(["where\n", "quit\n"])
        writing.shell.read = lambda: next(answers)
        assert "\n    down at <input 1>:1:38, 16 times\n" in writing.output(",debug")

    def test_ctrl_c_ends_the_search(self, writing: Writing, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("vlad.repl.shell.A_MOMENT", 60.0)
        searching = writing.shell.debugger.debugger.retrace

        def interrupted(seconds: float) -> bool:
            threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,)).start()
            return searching(seconds)

        monkeypatch.setattr(writing.shell.debugger.debugger, "retrace", interrupted)
        with writing.shell.interrupts:
            assert "tail calls" not in writing.output(*self.PROGRAM, "(start 1000000)")
        assert writing.output("(+ 1 2)") == "3\n"
        assert writing.shell.session.machine.instrument is None


class TestLeaving:
    @pytest.mark.parametrize("text", [",quit", "exit", "quit", "(exit)", " (quit) ", "exit()"])
    def test_words_that_leave(self, writing: Writing, text: str) -> None:
        with pytest.raises(Leave):
            enter(writing.shell, text)

    def test_exit_leaves_with_a_status(self, writing: Writing) -> None:
        assert writing.output("(define (leave) (guard (e (#t 1)) (exit 3)))") == ""
        with pytest.raises(Leave):
            enter(writing.shell, "(leave)")
        assert writing.shell.status == 3

    def test_not_when_they_mean_something(self, writing: Writing) -> None:
        assert writing.output("(define (exit) 5)", "(exit)") == "5\n"
        assert writing.output("(define help 7)", "help") == "7\n"


def test_an_interrupt_in_a_finalizer_is_raised_again(capfd: pytest.CaptureFixture[str]) -> None:
    """Python drops and prints exceptions there: for example, an event loop of the previous prompt, collected
    amid an evaluation.
    """

    class Late:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def work() -> str:
        Late()
        end = time.monotonic() + 5
        while time.monotonic() < end:
            time.sleep(0.001)  # where the interrupt arrives
        return "went on"

    usual = sys.unraisablehook
    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        interrupts.run(work)
    assert capfd.readouterr().err == "" and sys.unraisablehook is usual
