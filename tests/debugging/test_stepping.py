"""Breakpoints, steps, and what one can see where a program stands still or has failed."""

from __future__ import annotations

import gc
import sys
import threading
import time
import weakref
from types import CodeType

import pytest

import vlad
from vlad.control.async_exceptions import raise_in
from vlad.debugging.debugger import Debugger
from vlad.debugging.frames import closed_over, shortened
from vlad.debugging.stepping import Stop

PROGRAM = """(define (mean l)
  (let ((total (list-sum l)))
    (/ total (length l))))
(define (spread l)
  (let* ((m (mean l))
         (off (map (lambda (x) (- x m)) l)))
    (sqrt (mean (map square off)))))
(define (count-down n)
  (if (= n 0) 'done (count-down (- n 1))))
(define (deep n)
  (if (= n 0) 0 (+ 1 (deep (- n 1)))))
(define (product x y)
  (let ((s (sin x)))
    (* s y)))
"""


class Script:
    """Responds to stops with a list of actions, then with "continue", and records them."""

    def __init__(self, *actions: str) -> None:
        self.actions = list(actions)
        self.stops: list[Stop] = []
        self.places: list[str] = []
        self.variables: list[dict[str, str]] = []

    def stopped(self, stop: Stop) -> str:
        self.stops.append(stop)
        self.places.append("" if stop.span is None else stop.span.text.partition("\n")[0])
        frame = stop.frames[0]
        self.variables.append({name: shortened(value) for name, value in frame.variables().items()})
        return self.actions.pop(0) if self.actions else "continue"


def session_with(script: Script, program: str = PROGRAM) -> tuple[vlad.Session, Debugger]:
    session = vlad.Session(write=lambda text: None)
    debugger = Debugger(session, watcher=script)
    session.run_text(program, "/tmp/somewhere/program.vlad")
    return session, debugger


def test_a_breakpoint_at_a_procedure() -> None:
    script = Script()
    session, debugger = session_with(script)
    debugger.break_at("mean")
    assert session.eval("(+ 1 (spread '(1 3)))") == 2
    assert [stop.reason for stop in script.stops] == ["breakpoint", "breakpoint"]
    assert [variables["l"] for variables in script.variables] == ["(1 3)", "(1 1)"]
    names = [[frame.procedure for frame in stop.frames if frame.is_users] for stop in script.stops]
    assert names == [["mean", "spread", "the top level"]] * 2
    debugger.clear()
    session.eval("(spread '(1 3))")
    assert len(script.stops) == 2 and session.machine.instrument is None


def test_a_breakpoint_on_a_line() -> None:
    script = Script()
    session, debugger = session_with(script)
    debugger.break_on("program.vlad", 3)
    session.eval("(mean '(1 2 3))")
    assert script.places == ["(length l)"]  # once, though there are two operations on the line
    assert script.variables == [{"l": "(1 2 3)", "total": "6"}]


def test_each_turn_of_a_loop_is_a_stop() -> None:
    script = Script()
    session, debugger = session_with(script)
    debugger.break_on("program.vlad", 9)
    session.eval("(count-down 3)")
    assert [variables["n"] for variables in script.variables] == ["3", "2", "1", "0"]
    assert len(script.stops[-1].frames) == len(script.stops[0].frames)
    before = [place.span.text for place in script.stops[-1].before if place.span is not None]
    assert before == ["(count-down 3)", *["(count-down (- n 1))"] * 3]


def test_the_last_tail_calls_only() -> None:
    script = Script()
    session, debugger = session_with(script)
    debugger.break_at("count-down")
    session.eval("(count-down 40)")
    assert max(len(stop.before) for stop in script.stops) == 16


def test_steps_go_into_procedures() -> None:
    script = Script(*["step"] * 20)
    session, debugger = session_with(script)
    with debugger.stepping():
        session.eval("(mean '(1 2))")
    assert script.places == ["(mean '(1 2))", "(list-sum l)", "(length l)", "(/ total (length l))"]
    assert [None if stop.value is None else shortened(stop.value) for stop in script.stops] == [
        None,
        None,
        "3",
        "2",
    ]


def test_over_and_out() -> None:
    script = Script("over", "over", "over", "over", "step", "out", "over")
    session, debugger = session_with(script)
    debugger.break_at("spread")
    session.eval("(list (spread '(1 3)))")
    assert script.places == [
        "(define (spread l)",
        "(mean l)",
        "(map (lambda (x) (- x m)) l)",
        "(map square off)",
        "(mean (map square off))",
        "(list-sum l)",
        "(sqrt (mean (map square off)))",
        "(list (spread '(1 3)))",
    ]
    assert script.stops[-1].value == 1.0


def test_over_a_tail_call_to_itself_is_the_next_turn() -> None:
    script = Script("over", "over", "over", "over", "out")
    session, debugger = session_with(script)
    debugger.break_on("program.vlad", 9)
    session.eval("(list (count-down 2))")
    assert script.places[:4] == ["(= n 0)", "(- n 1)", "(count-down (- n 1))", "(= n 0)"]
    assert [variables["n"] for variables in script.variables[:4]] == ["2", "2", "2", "1"]


def test_the_end_of_a_step_is_the_end_of_the_evaluation() -> None:
    script = Script("over", "out")
    session, debugger = session_with(script)
    with debugger.stepping():
        session.eval("(mean '(1 2))")
        session.eval("(mean '(3 4))")
    assert len(script.stops) == 1
    script = Script(*["over"] * 3)
    session, debugger = session_with(script)
    with debugger.stepping(lasting=True):
        session.run_text("(mean '(1 2)) (mean '(3 4)) (mean '(5 6)) (mean '(7 8))", "text")
    assert script.places == ["(mean '(1 2))", "(mean '(3 4))", "(mean '(5 6))", "(mean '(7 8))"]


def test_quit_is_an_error_and_the_session_goes_on() -> None:
    script = Script("quit")
    session, debugger = session_with(script)
    debugger.break_at("mean")
    with pytest.raises(vlad.VladError) as caught:
        session.eval("(+ 1 (mean '(1 2)))")
    assert caught.value.code == "abandoned"
    assert session.eval("(mean '(1 2))") == 1.5


def test_expressions_in_a_frame() -> None:
    session = vlad.Session(write=lambda text: None)
    seen: list[object] = []

    class Asker:
        def stopped(self, stop: Stop) -> str:
            frames = [frame for frame in stop.frames if frame.is_users]
            seen.append(debugger.evaluate("(* 2 total)", frames[0]))
            seen.append(debugger.evaluate("(mean (cdr l))", frames[0]))  # which has the breakpoint itself
            with pytest.raises(vlad.VladError, match="Unbound variable: nobody"):
                debugger.evaluate("(+ nobody 1)", frames[0])
            with pytest.raises(vlad.VladError, match="off"):
                debugger.evaluate("off", frames[0])
            seen.append(shortened(debugger.evaluate("(list l 1)", frames[1])))
            return "continue"

    debugger = Debugger(session, watcher=Asker())
    session.run_text(PROGRAM, "program.vlad")
    debugger.break_on("program.vlad", 3)
    session.eval("(define (twice l) (* 2 (mean l)))")
    assert session.eval("(twice '(1 2 6))") == 6
    assert seen == [18.0, 4.0, "((1 2 6) 1)"]


def test_variables_of_a_backpropagator() -> None:
    script = Script(*["step"] * 6)
    session, debugger = session_with(script)
    debugger.break_at("product")
    assert session.eval("((gradient product) 2 3)") == (
        pytest.approx(-1.2484405096414273),
        pytest.approx(0.9092974268256817),
    )
    found = [stop for stop in script.stops if stop.frames[0].procedure == "backpropagator of product"]
    assert found, [stop.frames[0].procedure for stop in script.stops]
    variables = found[-1].frames[0].variables()
    assert variables["x"] == 2.0 and variables["y"] == 3.0
    assert variables["result.sensitivity"] == 1.0
    assert str(found[-1].phase) == "sensitivity, in reverse mode"
    assert [frame.procedure for frame in found[-1].frames if frame.is_users] == ["backpropagator of product"]
    assert {str(stop.phase) for stop in script.stops if stop.frames[0].procedure == "reverse of product"} <= {
        "None",
        "primal",
    }


def test_what_a_backpropagator_is_closed_over() -> None:
    session = vlad.Session(write=lambda text: None)
    session.run_text(PROGRAM)
    session.run_text("(define back (cdr ((J product) (J (cons 2 3)))))")
    value = session.module.cell("back").value
    held = closed_over(session.machine, value)
    assert shortened(held["procedure"]) == "product"
    assert shortened(held["argument"]) == "(2 . 3)" and shortened(held["value"]).startswith("2.727")
    assert held["y"] == 3.0
    assert closed_over(session.machine, 5.0) == {}


def test_after_an_error() -> None:
    session = vlad.Session(write=lambda text: None)
    debugger = Debugger(session)
    session.run_text(PROGRAM, "program.vlad")
    session.eval("(mean '(1 2))")
    debugger.keep_errors()
    with pytest.raises(vlad.VladError) as caught:
        session.eval("(+ 1 (spread '(1 q 3)))", "text")
    stop = debugger.error
    assert stop is not None and stop.error is caught.value and stop.reason == "error"
    assert [frame.procedure for frame in stop.frames if frame.is_users] == ["mean", "spread", "the top level"]
    frame = stop.frames[[frame.procedure for frame in stop.frames].index("mean")]
    assert shortened(frame.variables()["l"]) == "(1 q 3)"
    assert debugger.evaluate("(car l)", frame) == 1.0
    debugger.keep_errors(False)
    with pytest.raises(vlad.VladError):
        session.eval("(car 1)")
    assert debugger.error is None


@pytest.mark.parametrize("tier", ["evaluate", "auto", "compile"])
def test_after_an_error_on_every_tier(tier: str) -> None:
    session = vlad.Session(tier=tier, write=lambda text: None)
    debugger = Debugger(session)
    debugger.keep_errors()
    session.run_text("(define (f x n) (if (= n 0) (car x) (* 2 (f x (- n 1)))))", "program")
    with pytest.raises(vlad.VladError):
        session.eval("(f 5 3)")
    assert debugger.error is not None
    frames = [frame for frame in debugger.error.frames if frame.procedure == "f"]
    assert [frame.variables()["n"] for frame in frames] == [0.0, 1.0, 2.0, 3.0]


def test_errors_of_limits_and_depth_have_frames_too() -> None:
    session = vlad.Session(tier="evaluate", limits=vlad.Limits(depth=2000), write=lambda text: None)
    debugger = Debugger(session)
    debugger.keep_errors()
    session.run_text(PROGRAM, "program.vlad")
    with pytest.raises(vlad.LimitExceeded):
        session["deep"](100000.0)
    assert debugger.error is not None and len(debugger.error.frames) > 1000
    with pytest.raises(vlad.LimitExceeded):
        session.eval("(count-down 1e12)", limits=vlad.Limits(seconds=0.2))
    assert debugger.error.frames[0].procedure == "count-down"


def test_deep_recursion_and_long_loops_while_watching() -> None:
    script = Script()
    session, debugger = session_with(script)
    debugger.break_at("mean")
    debugger.find_nan()
    assert session.eval("(deep 100000)") == 100000
    assert session.eval("(count-down 100000)") == "done"
    debugger.break_on("program.vlad", 8)
    session.eval("(deep 3000)")
    assert script.stops == []


def test_limits_hold_while_watching() -> None:
    script = Script()
    session, debugger = session_with(script)
    debugger.break_at("mean")
    debugger.find_nan()
    for limits, code in ((vlad.Limits(fuel=1000), "out-of-fuel"), (vlad.Limits(seconds=0.2), "out-of-time")):
        with pytest.raises(vlad.LimitExceeded) as caught:
            session.eval("(count-down 1e12)", limits=limits)
        assert caught.value.code == code
    assert session.eval("(deep 1000)", limits=vlad.Limits(fuel=5000)) == 1000
    steps = session.steps
    session.eval("(count-down 100)", limits=vlad.Limits(fuel=5000))
    watched = session.steps - steps
    debugger.close()
    steps = session.steps
    session.eval("(count-down 100)", limits=vlad.Limits(fuel=5000))
    assert session.steps - steps == watched  # a turn of a loop is a step, watched or not


def test_a_stop_deep_in_a_recursion() -> None:
    script = Script()
    session, debugger = session_with(script, PROGRAM.replace("(if (= n 0) 0 ", "(if (= n 0) (mean '(0)) "))
    debugger.break_at("mean")
    assert session.eval("(deep 50000)") == 50000
    (stop,) = script.stops
    assert [frame.procedure for frame in stop.frames][:2] == ["mean", "deep"] and len(stop.frames) <= 1000


def test_an_interrupt_while_watching() -> None:
    script = Script()
    session, debugger = session_with(script)
    debugger.break_at("mean")
    thread = threading.get_ident()
    timer = threading.Timer(0.3, lambda: raise_in(thread, KeyboardInterrupt))
    timer.start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        session.eval("(count-down 1e12)")
    assert time.monotonic() - begun < 20
    assert session.eval("(mean '(1 2))") == 1.5
    assert len(script.stops) == 1


def test_watching_leaves_no_trace() -> None:
    """When off, the emitted code is exactly that without a debugger."""

    def codes(session: vlad.Session) -> list[CodeType]:
        names = ("mean", "spread", "count-down", "deep", "product")
        return [session.module.cell(name).value[0].native.__code__ for name in names]

    def instructions(session: vlad.Session) -> list[tuple[bytes, tuple[object, ...]]]:
        return [(code.co_code, code.co_consts) for code in codes(session)]

    program = "(list (mean '(1 2)) (spread '(1 2)) (count-down 3) (deep 3) (product 1 2))"
    plain = vlad.Session(tier="evaluate", write=lambda text: None)
    plain.run_text(PROGRAM)
    plain.eval(program)
    expected = instructions(plain)
    session = vlad.Session(tier="evaluate", write=lambda text: None)
    session.run_text(PROGRAM)
    session.eval(program)
    assert instructions(session) == expected
    debugger = Debugger(session, watcher=Script())
    debugger.break_at("mean")
    debugger.find_nan()
    session.eval(program)
    assert all("enter" in code.co_names for code in codes(session))
    debugger.close()
    session.eval(program)
    assert instructions(session) == expected
    assert session.tiers.policy == plain.tiers.policy
    assert sys.getrecursionlimit() < 100_000


def test_the_debugger_is_not_imported_unless_used() -> None:
    import subprocess

    program = "import sys, vlad; vlad.Session().eval('((gradient sin) 1)'); print([m for m in sys.modules if 'debugging' in m])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_kept_error_does_not_keep_a_deep_stack() -> None:
    class Thing:
        """A captured value of a frame."""

    things: weakref.WeakSet[Thing] = weakref.WeakSet()
    session = vlad.Session(tier="evaluate", write=lambda text: None)

    @session.define
    def thing(n: float) -> vlad.Opaque:
        made = Thing()
        things.add(made)
        return vlad.Opaque(made)

    debugger = Debugger(session)
    debugger.keep_errors()
    session.run_text("(define (deep n l) (if (= n 0) (car l) (+ 1 (deep (- n 1) (thing n)))))", "program")
    with pytest.raises(vlad.VladError) as caught:
        session.eval("(deep 5000 1)")
    del caught
    gc.collect()
    assert debugger.error is not None and len(debugger.error.frames) <= 1100
    assert debugger.error.frames[0].variables()["n"] == 0.0
    assert debugger.error.frames[-2].variables()["n"] > 4900
    assert len(things) <= 1200
