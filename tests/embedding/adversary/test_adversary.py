"""Malicious scripts: each ends within its limits, in the expected way, and the session remains usable."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlad
import vlad.data.values
from vlad.control import debug
from vlad.control.budget import resident_bytes
from vlad.data.values import living_symbols

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))
import hostile_programs as programs
import operations
import reaching
import texts
from amounts import THOROUGH
from scripts import FINE, Script

pytestmark = pytest.mark.any_compiler

CORPUS: dict[str, Script] = {
    f"{theme}: {name}": script
    for theme, scripts in {
        "loops": programs.LOOPS, "memory": programs.MEMORY, "derivatives": programs.DERIVATIVES, "reading": texts.READING,
        "expanding": texts.EXPANDING, "printing": texts.PRINTING, "tensors": operations.TENSORS,
        "names": reaching.HOSTILE_NAMES, "reaching": reaching.REACHING,
    }.items()
    for name, script in scripts.items()
}  # fmt: skip
TIERS = ("evaluate", "compile", "auto")
OWN = {"seconds": 5.0, "memory": 256.0, "depth": 10_000, "output": 10_000}  # limits
GRACE = 5.0  # seconds: other processes run on the machine; measure.py prints how much is needed
KEPT = "(define kept 42) (define (keeper x) (+ x kept))"
BIG = np.full(1 << 22, 0.5)  # 32 MB
WIDE = "x" * (1 << 20)


@pytest.fixture(autouse=True)
def faults_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a host: faults of the evaluator become internal errors."""
    monkeypatch.setattr(debug, "rungs", debug.rungs - {debug.TRACEBACKS})


def host() -> dict[str, Any]:
    """Host objects passed to scripts."""

    def failure(x: Any) -> Any:
        raise ValueError(x)

    return {"big": BIG, "wide": WIDE, "host-object": vlad.Opaque(sys), "host-function": lambda x: 2 * x, "host-failure": failure,
            "host-call": lambda f, x: f(x)}  # fmt: skip


def session_for(tier: str) -> vlad.Session:
    written: list[str] = []
    session = vlad.Session.confined(tier=tier, write=written.append, limits=vlad.Limits(**OWN))
    for name, value in host().items():
        session[name] = value
    session["host-again"] = lambda text: session.eval(text)
    session.eval(KEPT)
    return session


def outcome(session: vlad.Session, script: Script) -> tuple[str, Any, float]:
    """How it ends, with which value, and how long that takes."""
    limits, program = vlad.Limits(**{**OWN, **dict(script.limits)}), script.program
    begun = time.monotonic()
    try:
        ends, value = FINE, session.eval(program, limits=limits)
    except vlad.VladError as error:
        ends, value = error.code, error
    return ends, value, time.monotonic() - begun


def is_usable(session: vlad.Session) -> bool:
    return (session.eval("(+ 1 2)"), session["keeper"](1.0)) in ((3.0, 43.0), (3.0, 44.0))


UNREAD = ("incomplete", "invalid-syntax")  # what ends so reaches no tier
BEFORE_TIERS = ("reading", "expanding")  # themes of scripts that, unless they are fine, end before any tier
ON_ALL = ("makes on the way", "of megabytes")


def tiers_of(name: str) -> tuple[str, ...]:
    """Those on which a script is run. `auto` begins on one and goes on on the other: all scripts do so when there is time."""
    if CORPUS[name].ends in UNREAD or (
        name.startswith(BEFORE_TIERS) and FINE not in CORPUS[name].ends.split("|")
    ):
        return TIERS[:1]
    return TIERS if THOROUGH or any(words in name for words in ON_ALL) else TIERS[:2]


@pytest.mark.parametrize(
    ("name", "tier"),
    [(name, tier) for name in CORPUS for tier in tiers_of(name)],
)
def test_script(name: str, tier: str) -> None:
    script, session = CORPUS[name], session_for(tier)
    ends, value, seconds = outcome(session, script)
    assert ends in script.ends.split("|"), f"{ends}: {str(value)[:500]}"
    assert seconds < dict(script.limits).get("seconds", OWN["seconds"]) + GRACE
    if ends == FINE and script.value is not None:
        assert value == script.value
    assert is_usable(session)


def test_it_is_large_enough() -> None:
    assert len(CORPUS) >= 120


@pytest.mark.parametrize("tier", TIERS)
def test_nothing_is_left(tier: str) -> None:
    """After scripts of every kind, run repeatedly in one session, nothing remains: no memory, no thread, no name."""
    sample = [
        script for script in list(CORPUS.values())[::29] if dict(script.limits).get("seconds", 1.0) <= 1.0
    ]
    session = session_for(tier)

    def run() -> tuple[float, int, int]:
        for script in sample:
            outcome(session, script)
        gc.collect()
        with contextlib.suppress(AttributeError):  # other C libraries: freed memory that they retain counts
            ctypes.CDLL(None).malloc_trim(0)
        return (
            resident_bytes() / 1e6,
            threading.active_count(),
            living_symbols(),
        )

    run()
    before = run()
    after = run()
    assert after[0] - before[0] < 16
    assert after[1:] == before[1:]


def test_the_tier_that_changes() -> None:
    """A long computation is compiled in the background: a limit ends both."""
    session = session_for("auto")
    for name in ("loops: a loop without end", "loops: two that recurse", "memory: a list that grows"):
        ends, _, seconds = outcome(session, CORPUS[name])
        assert ends in CORPUS[name].ends.split("|") and seconds < 20 + GRACE
        assert is_usable(session)
