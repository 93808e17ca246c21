"""The ladder for looking inside, and facts that no name of a user's is mistaken for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

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


def test_what_another_thread_compiles_is_not_shown() -> None:
    text = "(lambda (x) (let loop ((i 0) (s x)) (if (< i 10) (loop (+ i 1) (* s x)) s)))"
    session = vlad.Session(tier="compile")
    f = session.eval(text).value
    wanted = session.tiers.shown(f, "first-order", (), "inlining")
    ended = threading.Event()

    def compiles() -> None:
        other = vlad.Session(tier="compile")
        number = 0
        while not ended.is_set():
            number += 1
            other.eval(f"((lambda (x) (+ x {number})) 1)")

    thread = threading.Thread(target=compiles)
    thread.start()
    try:
        for _ in range(20):
            assert session.tiers.shown(f, "first-order", (), "inlining") == wanted
    finally:
        ended.set()
        thread.join()


def test_stages_and_passes_are_known_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.vlad"
    path.write_text("(define (f x) (* x x))")
    session = vlad.Session()
    assert list(session.show(str(path), "first-order", after="dead_code"))
    for stage, after in [("first-order", 3), ("first-order", ["x"]), ("core", "dead-code"), ("none", None)]:
        with pytest.raises(WrongOption):
            list(session.show(str(path), stage, after=after))  # type: ignore[arg-type]


def test_the_package_can_be_imported_again() -> None:
    script = "import importlib, vlad; importlib.reload(vlad); print(vlad.compile.__name__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "compile\n"), done.stderr
