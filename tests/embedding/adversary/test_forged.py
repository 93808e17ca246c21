"""Texts that resemble saved values: reading one, and calling the result, ends in a value or in one VladError."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlad
from vlad.control import debug
from vlad.primitives.table import TABLE

sys.path.insert(0, str(Path(__file__).parent))
from forged import CALLABLE, UNREADABLE, applied

pytestmark = pytest.mark.any_compiler

ARGUMENTS: list[Any] = [1.0, True, "text", [], [1.0, 2.0], (1.0, "a"), np.ones(2), np.ones((2, 2)), None]
LIMITS = vlad.Limits(seconds=0.5, memory=64, depth=1000, output=1000)
# Operands of the rows in the texts: a value of each kind.
OPERANDS = (
    "zero",
    "(quote ())",
    '"text"',
    "(quote (tensor float64 (2) 1 2))",
    "(quote (list 1 2))",
    "(quote (primitive sin))",
    "x",
)


@pytest.fixture(autouse=True)
def faults_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debug, "rungs", debug.rungs - {debug.TRACEBACKS})


@pytest.mark.parametrize("name", UNREADABLE)
def test_reading(name: str) -> None:
    session = vlad.Session.confined()
    with pytest.raises(vlad.VladError):
        vlad.loads(UNREADABLE[name], session)
    assert session.eval("(+ 1 2)") == 3.0


@pytest.mark.parametrize("tier", ["evaluate", "compile"])
@pytest.mark.parametrize("name", CALLABLE)
def test_calling(name: str, tier: str) -> None:
    session = vlad.Session.confined(tier=tier, limits=LIMITS)
    count = 1 if tier == "compile" or name == "a loop" else len(ARGUMENTS)
    for text in CALLABLE[name]:
        read = vlad.loads(text, session)
        for argument in ARGUMENTS[:count]:
            ends = called(read, argument), called(lambda x, f=read: vlad.grad(f)(x), argument)
            assert name != "a file" or ends[0] == "not-permitted"
            assert name != "a loop" or ends[0] == "out-of-time"
    assert session.eval("(+ 1 2)") == 3.0


def called(f: Any, argument: Any) -> str:
    """The code of its error. Whatever happens, it is no other one."""
    try:
        f(argument)
    except vlad.VladError as error:
        return error.code
    return "none"


def test_every_row_on_every_kind_of_value() -> None:
    """Those that no program can name among them."""
    session = vlad.Session.confined(
        tier="evaluate", limits=LIMITS, capabilities=("streams",), read=lambda: "", write=len
    )
    for name, row in TABLE.items():
        count = len(row.operands)
        for operands in (*[[one] * count for one in OPERANDS], *itertools.islice(mixed(count), 6)):
            f = vlad.loads(applied(name, " ".join(operands)), session)
            called(f, 1.5)
    assert session.eval("(+ 1 2)") == 3.0


def mixed(count: int) -> Any:
    """Operands of different kinds."""
    for first in range(len(OPERANDS)):
        yield [OPERANDS[(first + place) % len(OPERANDS)] for place in range(count)]
