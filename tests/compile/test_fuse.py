"""A procedure and its derivative at the same point: one run, with the values and derivatives of two."""

from __future__ import annotations

import pytest

import vlad
from vlad.compile.calling.compilation import compile_call
from vlad.compile.calling.pipeline import Unit
from vlad.compile.ir.program import Program
from vlad.compile.ir.rewriting import callees
from vlad.compile.passes import fuse_derivatives

DEFINITIONS = """
(define (cost x) (let loop ((i 0) (y x)) (if (= i 100) y (loop (+ i 1) (- y (* 0.1 (sin y)))))))
(define (descend f slope x n)
  (let loop ((x x) (fx (f x)) (eta 0.5) (n n))
    (if (= n 0)
        x
        (let* ((y (- x (* eta ((slope f) x)))) (fy (f y)))
          (if (< fy fx) (loop y fy eta (- n 1)) (loop x fx (/ eta 2) (- n 1)))))))
(define (both mode) (lambda (x) (let ((value (cost x))) (if (> value -9) (* value ((mode cost) x)) 0))))
(define (after mode) (lambda (x) (let ((slope ((mode cost) x))) (* slope (cost x)))))
(define (elsewhere mode) (lambda (x) (+ (cost x) ((mode cost) (* 2 x)))))
(define (talking mode) (lambda (x) (let ((f (lambda (y) (begin (write y) (* y y))))) (+ (f x) ((mode f) x)))))
"""
MODES = ["derivative-F", "derivative-R"]


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    session = vlad.Session(tier="evaluate", write=lambda text: None)
    session.eval(DEFINITIONS)
    return session


def calls_of_loops(program: Program) -> int:
    """How many calls of procedures that loop there are, from outside of themselves."""
    calls = [(caller, callee) for caller in program.functions for callee in callees(caller)]
    loops = {caller for caller, callee in calls if caller is callee}
    return len([caller for caller, callee in calls if callee in loops and caller is not callee])


@pytest.mark.parametrize("mode", [*MODES, "gradient", "gradient-R", "jacobian-R"])
@pytest.mark.parametrize(("name", "runs"), [("both", 1), ("after", 1), ("elsewhere", 2)])
def test_the_cost_is_run_once(session: vlad.Session, name: str, runs: int, mode: str) -> None:
    f = session.eval(f"({name} {mode})")
    unit = Unit(session.machine, f.value[0], f.value[1:2], (0.7,))
    forward_loops = [f for f in unit.program.functions if f.name == "loop"]
    assert calls_of_loops(unit.program) == runs + (mode != "derivative-F"), unit.text
    assert len(forward_loops) == runs
    compiled = compile_call(session.machine, f.value, (0.7,))
    for x in (0.7, -3.0, 2.5, 100.0):
        assert compiled(x) == pytest.approx(f(x), rel=1e-13)


@pytest.mark.parametrize("mode", MODES)
def test_a_line_search(session: vlad.Session, mode: str) -> None:
    f = session.eval(f"(lambda (x) (descend (lambda (y) (let ((z (- (cost y) 3))) (* z z))) {mode} x 30))")
    compiled = compile_call(session.machine, f.value, (4.0,))
    assert compiled(4.0) == pytest.approx(f(4.0), rel=1e-12)


@pytest.mark.parametrize("outer", MODES)
@pytest.mark.parametrize("inner", MODES)
def test_below_another_derivative(session: vlad.Session, outer: str, inner: str) -> None:
    f = session.eval(f"(lambda (x) (({outer} (both {inner})) x))")
    compiled = compile_call(session.machine, f.value, (0.7,))
    for x in (0.7, -3.0, 2.5):
        assert compiled(x) == pytest.approx(f(x), rel=1e-12)


def test_under_a_forward_derivative_it_is_fused_too(
    session: vlad.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []
    pairs_of = fuse_derivatives._pairs

    def counted(program: Program, layout: fuse_derivatives.Representation) -> fuse_derivatives.Pairs:
        pairs = pairs_of(program, layout)
        found.append(len(pairs))
        return pairs

    monkeypatch.setattr(fuse_derivatives, "_pairs", counted)
    for inner in MODES:
        f = session.eval(f"(lambda (x) ((derivative-F (both {inner})) x))")
        Unit(session.machine, f.value[0], (), (0.7,))
    assert min(found) >= 1


@pytest.mark.parametrize("inner", ["gradient-R", "gradient-F"])
@pytest.mark.parametrize("outer", ["directional-derivative", "hvp"])
def test_tangents_that_are_known_numbers_are_not_one(outer: str, inner: str) -> None:
    """They have no leaves: a derivative along 2.5 does not contain one of lower order along 1.1."""
    f, more = ("sin", inner) if outer == "hvp" else (f"({inner} sin)", "gradient-R")
    calls = [f"({outer} ({more} {f}) 0.7 2.5)", f"({outer} {f} 0.7 1.1)"]
    for one in (calls, calls[::-1]):
        text = f"((lambda () (list {' '.join(one)})))"
        assert vlad.Session(tier="compile").eval(text) == pytest.approx(
            [vlad.Session(tier="evaluate").eval(call) for call in one], rel=1e-13
        )


def test_effects_stay_two(session: vlad.Session) -> None:
    printed: list[str] = []
    session = vlad.Session(tier="compile", write=printed.append)
    session.eval(DEFINITIONS)
    assert session.eval("((talking derivative-F) (real 3))") == 15.0
    assert "".join(printed).split() == ["3", "3"]
