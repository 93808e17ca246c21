"""What vlad cannot do as Python does it is an error at translation: never another result.

Each text is a module with a function f of no arguments, compared with plain Python: it is refused, or has the same result.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlad

sys.path.insert(0, str(Path(__file__).parent.parent))
from python_texts import run

NUMBERS = itertools.count()

# Definitions and the lines of f, separated by `; ` and `|`, as in test_aliases.py. A first part before `::` stands outside of f.
REFUSED = """
def list(x): return x:: a = [1.]; b = list(a); b.append(2.); return a
def sorted(x): return x:: a = [1.]; b = sorted(a); b.append(2.); return a
def dict(x): return x:: a = {"a": 1.}; b = dict(a); b["b"] = 2.; return a
def array(x): return x|class M:|    array = staticmethod(array):: a = np.zeros(2); b = M.array(a); b[0] = 2.; return a
:: list = lambda x: x; a = [1.]; b = list(a); b.append(2.); return a
:: def sorted(x): return x|a = [1.]; b = sorted(a); b.append(2.); return a
:: a = [1.]; b = sum([], a); b.append(2.); return a
def g(xss, start): return sum(xss, start):: a = [1.]; b = g([], a); b.append(2.); return a
:: a = [1.]; s = 0.|for x in sum([], a):|    s += x|    if s < 5.:|        a.append(x)|return s
"""
SAME = """
from builtins import list as listed:: a = [1.]; b = listed(a); b.append(2.); return [a, b]
from numpy import zeros as nil:: a = nil(2); a[0] = 1.; return a
:: a = np.copy(np.zeros(2)); b = np.copy(a); b[0] = 1.; return [a, b]
:: a = [1.]; b = sum([[1.], [2.]], [3.]); return [a, b]
"""


def function(text: str) -> Any:
    outside, _, body = text.partition("::")
    lines = body.strip().replace("; ", "|").split("|")
    whole = (
        outside.replace("|", "\n")
        + "\ndef f():\n"
        + "\n".join(["    " + one.rstrip() for one in lines])
        + "\n"
    )
    names: dict[str, Any] = {
        "np": np,
        "math": math,
        "vlad": vlad,
        "functools": functools,
        "operator": operator,
        "__name__": "silent",
    }
    run(whole, f"silent{next(NUMBERS)}.py", names)
    return names["f"]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    return bool(a == b)


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    return vlad.Session(tier="evaluate")


def _cases(texts: str) -> list[str]:
    return [one for one in texts.split("\n") if one]


@pytest.mark.parametrize("text", _cases(REFUSED))
def test_what_differs_from_python_is_refused(text: str, session: vlad.Session) -> None:
    with pytest.raises(vlad.VladError) as caught:
        session.function(function(text))()
    assert caught.value.code in ("not-translated", "python-exception") and caught.value.span is not None


@pytest.mark.parametrize("text", _cases(SAME))
def test_the_result_is_that_of_python(text: str, session: vlad.Session) -> None:
    expected = function(text)()
    found = session.function(function(text))()
    assert same(expected, found), (expected, found)
