"""`vlad profile`: where time is spent, by procedure and by line, on both tiers, and the files that show it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import command

import vlad
from vlad.debugging.origins import described
from vlad.debugging.profile import Profile, folded, profile, speedscope, table
from vlad.debugging.sampling import sampled

# line 8 takes four times as long as line 9, and this more than the derivative
PROGRAM = """\
(define (turns n x)
  (let loop ((i 0) (s x))
    (if (= i n)
        s
        (loop (+ i 1) (sin (+ s i))))))
(define (all n)
  (define (heavy x)
    (turns (* 16 n) x))
  (define (light x) (turns (* 4 n) x))
  (+ (heavy 1)
     (light 2)
     ((derivative (lambda (x)
                    (turns n x)))
      3)))
(all {n})
"""


def of(text: str, tier: str) -> tuple[Profile, list[str]]:
    shown: list[str] = []
    session = vlad.Session(tier=tier, write=shown.append)
    session.tiers.notify = lambda notice: pytest.fail(str(notice))
    with sampled(session) as samples:
        session.run_text(text, "p.vlad")
    return profile(samples, session.machine), shown


@pytest.mark.parametrize(("tier", "n"), [("evaluate", 12_000), ("compile", 1_500_000)])
def test_shares_by_procedure_and_line(tier: str, n: int) -> None:
    text = PROGRAM.replace("{n}", str(n))
    kind = "tier 0" if tier == "evaluate" else "compiled"
    for _ in range(5):  # a phase may wait for its memory, or for the processor: then it is measured again
        found, shown = of(text, tier)
        own = {frame.name: row.own / found.kinds[kind] for frame, row in found.procedures.items()}
        if own.get("loop in turns", 0) > 0.5 and 0.02 < own.get("forward of loop in turns", 0) < 0.4:
            break
    spent = found.kinds[kind]
    plain: list[str] = []
    vlad.Session(tier=tier, write=plain.append).run_text(text, "p.vlad")
    assert shown == plain
    lines = {line: row for (file, line, _), row in found.lines.items()}
    # most of the work is in the loop, lines 2 to 5; on tier 0 its callers are on the stack
    assert lines[5].own > 0.5 * spent
    names = {frame.name: row for frame, row in found.procedures.items()}
    assert names["loop in turns"].own > 0.5 * spent
    assert 0.02 * spent < names["forward of loop in turns"].own < 0.4 * spent
    if tier == "evaluate":
        assert lines[8].all > 1.3 * lines[9].all > 0
        assert names["all"].all > 0.9 * spent
    assert "loop in turns" in table(found) and "p.vlad:5" in table(found)


def test_lines_of_operations_on_tensors() -> None:
    """Four products are on one line, one on another, and all of them in one expression."""
    program = """\
(define (f a)
  (+ (sum (matmul a
                  a))
     (sum (matmul (matmul (matmul (matmul a a) a) a) a))))
(define a (ones '(200 200)))
(let loop ((i 0)) (if (< i 30) (begin (f (* a i)) (loop (+ i 1))) i))
"""
    found, _ = of(program, "evaluate")
    lines = {line: row.own for (_, line, _), row in found.lines.items()}
    assert lines[4] > lines[2] > 0


def test_a_reverse_derivative_is_named_by_its_phases() -> None:
    program = """\
(define (f x) (let loop ((i 0) (s x)) (if (= i 3000) s (loop (+ i 1) (sin s)))))
(let again ((n 0)) (if (< n 30) (begin ((gradient f) 0.5) (again (+ n 1))) n))
"""
    names = {frame.name for frame in of(program, "evaluate")[0].procedures}
    assert {"reverse of loop in f", "backpropagator of loop in f"} <= names


def test_what_compiled_code_costs_outside() -> None:
    """Most of the time is for compiling, and then for a large list as a result."""
    text = """\
(define (root x)
  (let loop ((y 1)) (let ((z (* 0.5 (+ y (/ x y))))) (if (< (abs (- z y)) 1e-15) z (loop z)))))
(define third ((derivative (derivative (derivative root))) 2))
(define (g n) (iota n))
(define l (g 200000))
"""
    found, _ = of(text, "compile")
    assert found.kinds["compiling"] > found.kinds.get("other", 0.0)
    assert found.kinds["passing"] > found.kinds.get("compiled", 0.0)
    names = {frame.name for frame in found.procedures}
    assert {"(compiling)", "(passing values)"} <= names


def test_a_session_is_afterwards_as_before() -> None:
    session = vlad.Session(tier="compile")
    session.run_text("(define (f x) (if (< x 1) x (+ 1 (f (- x 1)))))")
    with sampled(session) as samples:
        assert session.eval("(f 1000)") == 1000
    (placed,) = [one for entry in session.tiers.entries.values() for one in entry.variants] or [None]
    assert placed is None
    assert session.eval("(f 1000)") == 1000
    assert all(one.sites is None for entry in session.tiers.entries.values() for one in entry.variants)
    assert samples


def test_the_formats() -> None:
    found, _ = of(PROGRAM.replace("{n}", "3000"), "evaluate")
    # the format's definition: file-format-spec.ts of speedscope
    file = json.loads(speedscope(found, "p.vlad"))
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames, (one,) = file["shared"]["frames"], file["profiles"]
    assert set(one) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
    assert one["type"] == "sampled" and one["unit"] == "seconds" and one["name"] == "p.vlad"
    assert len(one["samples"]) == len(one["weights"]) > 0
    assert one["endValue"] == pytest.approx(sum(one["weights"])) and one["startValue"] == 0
    assert {number for stack in one["samples"] for number in stack} == set(range(len(frames)))
    for frame in frames:
        assert set(frame) in ({"name"}, {"name", "file", "line"})
        assert type(frame["name"]) is str and type(frame.get("line", 1)) is int
    assert {"name": "all", "file": "p.vlad", "line": 6} in frames
    stacks = [line.rsplit(" ", 1) for line in folded(found).splitlines()]
    assert sum(int(number) for _, number in stacks) == pytest.approx(1e6 * found.seconds, rel=0.01)
    assert any("all (p.vlad:6);loop in turns (p.vlad:2)" in stack for stack, _ in stacks)


LONG = "counted-down-until-there-is-nothing-left-to-count"


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "p.vlad").write_text(
        f"(define ({LONG} n) (if (= n 0) (car n) ({LONG} (- n 1))))\n(car (command-line-arguments))\n({LONG} 300000)\n"
    )
    done = command("profile", "--folded", "p.txt", "--speedscope=p.json", "p.vlad", "--folded", cwd=tmp_path)
    assert done.returncode == 1 and done.stdout == '"--folded"\n'
    assert " s until the error: " in done.stderr and "Argument to car is invalid" in done.stderr
    assert "  own  own   all  procedure\n" in done.stderr and f"  {LONG[:43]}…  p.vlad:1\n" in done.stderr
    missing = command("profile", "q.vlad", cwd=tmp_path).stderr
    assert missing.startswith("Error: Cannot find: q.vlad\n")
    assert json.loads((tmp_path / "p.json").read_text())["name"] == "p.vlad"
    assert (tmp_path / "p.txt").read_text().endswith("\n")
    refused = command("profile", "--folded", "no/p.txt", "p.vlad", cwd=tmp_path)
    assert refused.returncode == 1 and refused.stdout == ""
    assert refused.stderr.startswith("Error: Cannot write: no/p.txt")
    assert "`vlad profile` needs a file" in command("profile").stderr
    assert "--folded belongs to `vlad profile`" in command("test", "--folded", "x").stderr


def test_procedures_are_named_when_their_derivatives_are_made_anew() -> None:
    """The first cell of a session makes all transforms anew (Machine.begin_cells); the old ones may be on a stack."""
    session = vlad.Session(tier="evaluate")
    session.eval("(define (f x) (let loop ((i 0) (s x)) (if (= i 3) s (loop (+ i 1) (* s s)))))")
    session.eval("((gradient f) 3)")
    old = [code for code in session.machine.made() if code.base is not code]
    session.eval("(deref (ref 1))")
    assert old
    for code in [*old, *session.machine.made()]:
        assert described(session.machine, code)
