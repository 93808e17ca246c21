"""Scripts of people who mean harm: each ends within its limits, in the right way, and the session goes on."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vlad
import vlad.evaluate.explain

sys.path.insert(0, str(Path(__file__).parent))
import operations
import programs
import secrets_
import texts
from scripts import FINE, Script

CORPUS: dict[str, Script] = {
    f"{theme}: {name}": script
    for theme, scripts in {
        "loops": programs.LOOPS, "memory": programs.MEMORY, "derivatives": programs.DERIVATIVES, "reading": texts.READING,
        "expanding": texts.EXPANDING, "printing": texts.PRINTING, "tensors": operations.TENSORS,
        "names": secrets_.HOSTILE_NAMES, "reaching": secrets_.REACHING,
    }.items()
    for name, script in scripts.items()
}  # fmt: skip
TIERS = ("evaluate", "compile")
OWN = {"seconds": 5.0, "memory": 256.0, "depth": 10_000, "output": 10_000}  # limits
GRACE = 2.0  # seconds: other processes run on the machine
KEPT = "(define kept 42) (define (keeper x) (+ x kept))"


@pytest.fixture(autouse=True)
def faults_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is for a host: what would be a fault of the evaluator ends in an error of ours."""
    monkeypatch.setattr(vlad.evaluate.explain, "RAISING", False)


def host() -> dict[str, Any]:
    """What is given to scripts here."""

    def failure(x: Any) -> Any:
        raise ValueError(x)

    return {"host-object": vlad.Opaque(sys), "host-function": lambda x: 2 * x, "host-failure": failure,
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


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", CORPUS)
def test_script(name: str, tier: str) -> None:
    script, session = CORPUS[name], session_for(tier)
    ends, value, seconds = outcome(session, script)
    assert ends in script.ends.split("|"), f"{ends}: {str(value)[:500]}"
    assert seconds < dict(script.limits).get("seconds", OWN["seconds"]) + GRACE
    if ends == FINE and script.value is not None:
        assert value == script.value
    assert is_usable(session)
