"""Interrupts of definitions and calls at each bytecode: what is left is the old meaning or the new one, everywhere, and nothing
of the call. And interrupts of evaluations at random moments: a sample of interrupt_soak.py."""

from __future__ import annotations

import dis
import functools
import gc
import itertools
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import interrupt_soak
import pytest

import vlad
from vlad.control.budget import UNLIMITED, budget
from vlad.core.types import Types
from vlad.data.values import TRUE
from vlad.evaluate.limits import evaluating
from vlad.expand.expander import Expander

# modules in which a definition takes place
PLACES = (
    "top_level.py",
    "namespace.py",
    "policy.py",
    "entry_table.py",
    "variants.py",
    "scope.py",
    "machine.py",
)


def check_points(code: CodeType) -> set[int]:
    """The bytecodes before which CPython checks whether there is something to raise."""
    bytecodes = list(dis.get_instructions(code))
    return {
        after.offset
        for before, after in itertools.pairwise(bytecodes)
        if before.opname == "RESUME" or before.opname.startswith("CALL") or after.opname == "JUMP_BACKWARD"
    }


def interrupted_at(step: int, act: Callable[[], object], places: tuple[str, ...] = PLACES) -> bool:
    """Call `act` with an interrupt at one of the bytecodes of these modules at which CPython may raise one, by number; False
    where there are fewer. (It does when a function begins, a call has returned, or a loop jumps back.)"""
    remaining = step
    points: dict[CodeType, set[int]] = {}
    called: set[FrameType] = (
        set()
    )  # in which the last call was one of a Python function: it checks when that begins

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal remaining
        code = frame.f_code
        if event == "call" and frame.f_back is not None:
            called.add(frame.f_back)
        if not code.co_filename.endswith(places):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            if code not in points:
                points[code] = check_points(code)
            remaining -= frame.f_lasti in points[code] and frame not in called
            called.discard(frame)
            if remaining < 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_a_global_that_is_defined_anew(tier: str) -> None:
    session = vlad.Session(tier=tier)
    session.eval("(define scale 0) (define (f x) (* scale x))")
    f = session["f"]
    step = 0
    while interrupted_at(step, functools.partial(session.bind, "scale", step + 1.0)):
        assert f(3.0) == f(3.0) == 3.0 * session["scale"], step
        step += 1
    assert step > 10 and f(3.0) == 3.0 * (step + 1)


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_a_primitive_that_is_defined_anew(tier: str) -> None:
    """Also where the definition is repeated."""
    step, was_interrupted = 0, True
    while was_interrupted:
        session = vlad.Session(tier=tier)
        f = session.eval("(define (f x) (- (abs x) 1)) f")
        double = session.eval("(lambda (x) (* 2 x))")
        assert f(3.0) == f(3.0) == 2.0
        was_interrupted = interrupted_at(step, functools.partial(session.bind, "abs", double.value))
        assert f(3.0) == session.eval("(- (abs 3) 1)"), step
        session.bind("abs", double.value)
        assert f(3.0) == 5.0, step
        step += 1
    assert step > 10


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
@pytest.mark.parametrize("name", ["abs", "compose"])
@pytest.mark.parametrize("is_used", [False, True])
@pytest.mark.parametrize("value", ["(car 1)", "(let loop () (loop))", "(no-such-name)"])
def test_a_definition_that_fails_leaves_the_name_as_it_was(
    value: str, is_used: bool, name: str, tier: str
) -> None:
    session = vlad.Session(tier=tier)
    use = {"abs": "(abs -3)", "compose": "((compose sqrt sqrt) 81)"}[name]
    if is_used:
        assert session.eval(use) == 3
    with pytest.raises(vlad.VladError):
        session.eval(f"(define {name} {value})", limits=vlad.Limits(seconds=0.1))
    assert session.eval(use) == 3
    session.eval(f"(define ({name} . l) 5)")
    assert session.eval(f"({name} 1)") == 5


@pytest.mark.parametrize("name", ["abs", "compose", "own"])
def test_an_expansion_that_is_interrupted_defines_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = vlad.Session(tier="evaluate")
    before = list(session.module.defined)

    def interrupted(*_: object) -> object:
        raise KeyboardInterrupt

    with monkeypatch.context() as here, pytest.raises(KeyboardInterrupt):
        here.setattr(Expander, "expression", interrupted)
        session.eval(f"(define {name} 1)")
    assert list(session.module.defined) == before


def test_evaluations_that_are_interrupted_at_random_moments() -> None:
    stress = interrupt_soak.Stress(1)
    stress.turns(25)
    assert sum(count for (_, outcome), count in stress.counts.items() if outcome == "stopped") > 15


EVALUATING = (
    "session.py", "top_level.py", "calls.py", "session_lock.py", "limits.py", "machine.py", "entries.py", "policy.py",
    "entry_table.py", "variant_compiler.py", "variant_runner.py", "preemption.py", "background.py", "effects.py",
    "compilation.py", "code_cache.py", "executable.py", "marshal.py", "native_interrupts.py",
)  # fmt: skip
ACTS: dict[str, Callable[[vlad.Session], object]] = {
    "text": lambda session: session.eval("(f 3)"),
    "writing": lambda session: session.eval("(noisy 3)"),
    "limits": lambda session: session.eval("(f 3)", limits=vlad.Limits(seconds=50)),
    "procedure": lambda session: session["f"](3.0),
    "derivative": lambda session: vlad.grad(session["f"])(3.0),
}


@pytest.mark.parametrize(
    ("tier", "act"),
    [*(("evaluate", act) for act in ACTS), ("auto", "text"), ("compile", "text"), ("auto", "writing")],
)
def test_a_call_that_is_interrupted_leaves_nothing_behind(tier: str, act: str) -> None:
    written: list[str] = []
    session = vlad.Session(tier=tier, write=written.append)
    session.eval("(define (f x) (+ (* x x) 1)) (define (noisy x) (begin (display x) (f x)))")
    before = sys.getrecursionlimit(), gc.isenabled()
    ACTS[act](session)
    step = 0
    while interrupted_at(step, functools.partial(ACTS[act], session), EVALUATING):
        assert (sys.getrecursionlimit(), gc.isenabled()) == before, step
        assert not evaluating and session.machine.watch.active == 0 and session.machine.T.e is None, step
        assert session.tiers.job is None and session._lock.owner() == 0, step
        assert session.machine.limits == vlad.Limits() and budget() == UNLIMITED, step
        written.clear()
        assert session.eval("(noisy 2)") == 5 and "".join(written) == "2", step
        step += 1
    assert step > 40


def test_an_analysis_that_is_interrupted_can_be_closed() -> None:
    """Types are in the table when they are complete."""
    types = Types()

    def act() -> None:
        pair = types.pair(types.real, types.union(types.nil))
        types.pair(types.tensor((2, 3)), types.pair(pair, types.constant(TRUE)))

    step = 0
    while interrupted_at(step, act, ("types.py",)):
        types.forget_readers()
        types, step = Types(), step + 1
    assert step > 20
