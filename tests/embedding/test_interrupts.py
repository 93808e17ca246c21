"""Interrupts of definitions, at each bytecode: what is left is the old meaning or the new one, everywhere. And interrupts of
evaluations at random moments: a sample of interrupt_soak.py."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import interrupt_soak
import pytest

import vlad
from vlad.expand.expander import Expander

# modules in which a definition takes place
PLACES = ("top_level.py", "namespace.py", "policy.py", "variants.py", "scope.py", "machine.py")


def interrupted_at(step: int, act: Callable[[], object]) -> bool:
    """Call `act` with an interrupt at one of its bytecodes, by number; False where it has fewer."""
    remaining = step

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal remaining
        if not frame.f_code.co_filename.endswith(PLACES):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            remaining -= 1
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
    assert step > 20 and f(3.0) == 3.0 * (step + 1)


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
        step += 7
    assert step > 50


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
