"""Translated functions as texts: they take and return what they took and returned before."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import vlad

sys.path.insert(0, str(Path(__file__).parent.parent))
from python_texts import run


class Point(NamedTuple):
    x: float
    y: float


TEXT = """
def scaled(k):
    def f(d, p: Point, n=None):
        return {"r": d["x"] * k + p.x, "p": Point(p.y, d["x"]), "n": n}
    return f

def square(d): return d["x"] * d["x"]
def pair(t): return t[0] * t[1], len(t)
"""


@pytest.fixture
def names() -> dict[str, Any]:
    found: dict[str, Any] = {"Point": Point, "__name__": __name__}
    run(TEXT, "saved.py", found)
    return found


def again(value: Any) -> list[Any]:
    """Loaded from its text, and by pickle."""
    text = vlad.dumps(value)
    session = vlad.Session(tier="evaluate")
    assert vlad.dumps(vlad.loads(text, session)) == text
    return [vlad.loads(text, session), pickle.loads(pickle.dumps(value))]


def test_dicts_records_tuples_and_none(names: dict[str, Any]) -> None:
    session = vlad.Session(tier="evaluate")
    f = session.function(names["scaled"](3.0))
    for one in again(f):
        assert one({"x": 2.0}, Point(1.0, 4.0), None) == {"r": 7.0, "p": Point(4.0, 2.0), "n": None}
    for one in again(session.function(names["pair"])):
        assert one((2.0, 3.0)) == (6.0, 2.0)
    for one in again(vlad.grad(session.function(names["square"]))):
        assert one({"x": 2.0}) == {"x": 4.0}


def test_a_class_that_is_not_imported_is_an_error(names: dict[str, Any]) -> None:
    text = vlad.dumps(vlad.Session(tier="evaluate").function(names["scaled"](3.0)))
    other = text.replace(f"%{__name__}.Point", "%somewhere.else.Point")
    assert other != text
    with pytest.raises(
        vlad.VladError, match=r"the class somewhere\.else\.Point of Python's is not known here"
    ):
        vlad.loads(other, vlad.Session(tier="evaluate"))


def test_what_cannot_be_saved_is_an_error(names: dict[str, Any]) -> None:
    session = vlad.Session(tier="evaluate")
    with pytest.raises(vlad.VladError, match="together"):
        vlad.dumps([session.function(names["pair"]), session.eval("car")])
    run("def g(p): return p.z", "unknown.py", names)
    with pytest.raises(vlad.VladError, match="attribute z"):
        vlad.dumps(session.function(names["g"]))
