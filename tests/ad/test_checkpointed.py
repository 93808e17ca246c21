"""Derivatives of checkpointed procedures are those of the procedures, in every mode, and cost what the theory says."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import pytest
from amounts import THOROUGH
from commands import command

import vlad

DEFINITIONS = """
(define (grow depth x) (if (= depth 0) (sin x) (cons (grow (- depth 1) (* 0.9 x)) (grow (- depth 1) (+ 0.1 x)))))
(define (sum-of tree f) (if (pair? tree) (+ (sum-of (car tree) f) (sum-of (cdr tree) f)) (f tree)))
"""
PROGRAMS = {
    "loop": "(lambda (x) (let loop ((x x) (n 0)) (if (= n 12) x (loop (* 0.99 (sin x)) (+ n 1)))))",
    "tree": "(lambda (x) (sum-of (grow 2 x) (lambda (y) (* y y x))))",
    "inner": """(lambda (x)
        (let loop ((i 0) (a x)) (if (= i 4) a (loop (+ i 1) (- a (* 0.1 ((gradient (lambda (y) (* y y x))) a)))))))""",
    "nested": """(lambda (x)
        (let loop ((i 0) (a x))
          (if (= i 4) a (loop (+ i 1) ((checkpointed (lambda (y) (sin (* x y))) #:segments 2) a)))))""",
    "rule": """(lambda (x)
        (let loop ((i 0) (a x))
          (if (= i 4) a
              (loop (+ i 1) ((with-derivative (lambda (y) (* x y)) #:forward (lambda (y dy) (* 7 dy y))) (sin a))))))""",
    "generator": """(lambda (x)
        (list-sum (stream-take (generate (lambda (yield) (let loop ((a x)) (yield a) (loop (* 0.9 a))))) 2)))""",
    "minimum": "(lambda (x) (* x (golden-section (lambda (y) (square (- y (* x x)))) 0 5 1e-9)))",
    "shift": "(lambda (x) (reset (* x (let loop ((i 0) (a x)) (if (= i 4) a (loop (+ i 1) (shift k (k (sin a)))))))))",
    "guard": "(lambda (x) (guard (e (#t (* e x))) (raise (* x x))))",
    "tensor": "(lambda (x) (let loop ((i 0) (v (tensor (list x 1)))) (if (= i 4) (sum (* v v)) (loop (+ i 1) (sin v)))))",
}
MODES = {
    "F": "(derivative-F f)",
    "R": "(derivative-R f)",
    "RR": "(derivative-R (derivative-R f))",
    "FR": "(derivative-F (derivative-R f))",
    "RF": "(derivative-R (derivative-F f))",
    "RcR": "(derivative-R (checkpointed (derivative-R f) #:segments 3))",
}
MADE = ("(checkpointed f)", "(checkpointed f #:segments 5 #:snapshots 2)")


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    session = vlad.Session(tier="evaluate")
    session.run_text(DEFINITIONS, "definitions.vlad")
    return session


@pytest.mark.own_tier
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_mode(session: vlad.Session, name: str) -> None:
    for mode, text in MODES.items():
        expected = session.eval(f"(let ((f {PROGRAMS[name]})) ({text} 0.7))")
        for made in MADE:
            found = session.eval(f"(let* ((f {PROGRAMS[name]}) (f {made})) ({text} 0.7))")
            assert math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12), (mode, made)


def runs(segments: int, snapshots: int) -> int:
    """In how many segments a run is advanced, at the least (Griewank & Walther 2000, proposition 1)."""
    most = 0
    while math.comb(snapshots + most, snapshots) < segments:
        most += 1
    return most * segments - math.comb(snapshots + most, most - 1) if most else 0


@pytest.mark.parametrize(("segments", "snapshots"), [(10, 1), (10, 3), (10, 20), (35, 3), (100, 4)])
def test_steps_are_repeated_as_often_as_is_best(segments: int, snapshots: int) -> None:
    """Here a segment is a step, which is a turn. The last two have no sine; the one before the last is advanced once."""
    session = vlad.Session(metered=True)
    loop = f"(lambda (x) (let loop ((x x) (n 0)) (if (= n {segments - 2}) x (loop (sin x) (+ n 1)))))"
    session.eval(f"((gradient (checkpointed {loop} #:segments {segments} #:snapshots {snapshots})) 0.7)")
    assert session.counts["sin"] == 2 * (segments - 2) + runs(segments, snapshots) - 1


def test_texts_of_the_system_are_complete() -> None:
    """In a session that has used nothing else."""
    loop = "(lambda (x) (let loop ((x x) (n 0)) (if (= n 30) x (loop (sin x) (- n -1)))))"
    session = vlad.Session(tier="evaluate")
    assert session.eval(f"((gradient (checkpointed {loop} #:segments 9)) 0)") == 1.0


@pytest.mark.own_tier
@pytest.mark.any_compiler
@pytest.mark.parametrize("name", ["loop", "tree", "generator", "inner", "shift", "tensor"])
def test_compiled(session: vlad.Session, name: str) -> None:
    """In as many segments as there are by default; tests/language/control/checkpointed.vlad compiles these kinds in seven."""
    compiling = vlad.Session(tier="compile")
    compiling.run_text(DEFINITIONS, "definitions.vlad")
    for made in MADE if THOROUGH else MADE[:1]:
        text = f"(let* ((f {PROGRAMS[name]}) (f {made})) (gradient f))"
        expected, found = session.eval(text)(0.7), compiling.eval(text)(0.7)
        assert math.isclose(found, expected, rel_tol=1e-12), made
    assert {entry.reason for entry in compiling.tiers.entries.values()} == {None}


@pytest.mark.parametrize(("call", "wrong"), [("3 #:segments 0", ["3"]), ("sin #:segments 0", ["0"])])
def test_an_error_shows_the_wrong_operand_alone(session: vlad.Session, call: str, wrong: list[str]) -> None:
    with pytest.raises(vlad.VladError) as caught:
        session.eval(f"(checkpointed {call})")
    assert caught.value.irritants == wrong


LOOP = """
(define (run n) (lambda (x) (let loop ((x x) (i 0)) (if (= i n) x (loop (+ (* 0.99 (sin x)) 1e-3) (+ i 1))))))
(define (plain n x) ((gradient (run n)) x))
(define (frugal n x) ((gradient (checkpointed (run n))) x))
"""


@pytest.mark.own_tier
def test_compiled_loops_take_little_memory() -> None:
    """The tape of three million turns takes 46 megabytes."""
    turns = 3e6
    session = vlad.Session(tier="compile", limits=vlad.Limits(memory=12))
    session.run_text(LOOP, "loop.vlad")
    expected = vlad.Session(tier="compile")
    expected.run_text(LOOP, "loop.vlad")
    with pytest.raises(vlad.VladError, match="memory"):
        session["plain"](turns, 0.7)
    assert math.isclose(
        session["frugal"](turns, 0.7), expected["plain"](turns, 0.7), rel_tol=1e-12, abs_tol=1e-300
    )


@pytest.mark.own_tier
def test_built_programs_have_it(tmp_path: Path) -> None:
    (tmp_path / "it.vlad").write_text(f"{LOOP}(write (frugal 5000 (read-real)))\n(write (plain 5000 0.5))\n")
    assert command("build", "it.vlad", "-o", "it", cwd=tmp_path).returncode == 0
    done = subprocess.run(
        [tmp_path / "it"], input="0.5", text=True, capture_output=True, timeout=60, check=True
    )
    frugal, plain = map(float, done.stdout.split())
    assert math.isclose(frugal, plain, rel_tol=1e-12)
