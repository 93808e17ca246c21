"""The ladder for looking inside, and facts that no name of a user's is mistaken for."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import vlad
from vlad.compile.passes.order import NAMES
from vlad.control import debug
from vlad.data.errors import WrongOption


def looked(rung: str, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "vlad", "--tier", "compile", "-e", text],
        capture_output=True,
        text=True,
        env={**os.environ, "VLAD_DEBUG": rung, "VLAD_CACHE": "off"},
    )


@pytest.mark.parametrize("rung", ["", "0", "1", "2", "3", "4", "5", "x"])
def test_each_rung_does_what_those_below_it_do(rung: str) -> None:
    done = looked(rung, "((derivative sin) 0)")
    assert (done.returncode, done.stdout) == (0, "1\n")
    lines = done.stderr.splitlines()
    rows = [line.split() for line in lines if " ms " in line]
    assert bool(rows) == (rung in ("2", "3", "4", "5"))
    if rows:
        assert {"resolve", "simplify", "inlining", "uniqueness"} <= {row[-1] for row in rows}
    assert ("; after inlining" in lines) == (rung in ("4", "5"))


def test_the_tests_check_what_passes_make_and_raise_faults() -> None:
    assert debug.rungs == {debug.TRACEBACKS, debug.CHECKS}


def test_a_pass_is_named_or_refused() -> None:
    session = vlad.Session(tier="compile")
    f = session.eval("(lambda (x) (* x x))")
    shown = session.tiers.shown(f.value, "first-order", (), "inlining")
    assert shown.splitlines()[1].startswith("(function")
    with pytest.raises(WrongOption) as caught:
        session.tiers.shown(f.value, "first-order", (), "no-such-pass")
    assert all(name in str(caught.value) for name in NAMES)


MISLEADING = """
(define (does-not-conform invalid) (* invalid invalid))
(define (|a of b is invalid| x) (does-not-conform x))
(define (fit misfit) (let loop ((conform 0) (s misfit)) (if (= conform 2) s (loop (+ conform 1) (|a of b is invalid| s)))))
"""


def test_names_that_are_words_of_errors_change_nothing() -> None:
    plain = MISLEADING
    for number, name in enumerate(
        ["does-not-conform", "|a of b is invalid|", "misfit", "conform", "invalid", "fit"]
    ):
        plain = plain.replace(name, f"p{number}")
    texts = []
    for program, name in ((MISLEADING, "fit"), (plain, "p5")):
        session = vlad.Session(tier="compile")
        session.run_text(program)
        assert session[name](1.5) == 1.5**4
        assert vlad.grad(session[name])(1.5) == 4 * 1.5**3
        texts.append(session.tiers.shown(session[name].value, "first-order"))
    assert texts[0].count("\n") == texts[1].count("\n")
