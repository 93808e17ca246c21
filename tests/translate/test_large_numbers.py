"""Whole numbers that are no doubles: an error wherever a translated function meets one; other procedures round them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import vlad

sys.path.insert(0, str(Path(__file__).parent.parent))
from python_texts import function_of

LARGEST = 2**53  # as in values.py
BEYOND = LARGEST + 1


class Point(NamedTuple):
    x: float
    y: float = 1.0


def same(x: Any) -> Any:
    return x


# What is given, and the same with a number that is exact.
GIVEN: dict[str, tuple[Any, Any]] = {
    "int": (BEYOND, 3),
    "negative": (-BEYOND, -3),
    "far": (10**400, 3),
    "np.int64": (np.int64(BEYOND), np.int64(3)),
    "np.uint64": (np.uint64(2**64 - 1), np.uint64(3)),
    "list": ([1.0, BEYOND], [1.0, 3]),
    "tuple": ((1.0, BEYOND), (1.0, 3)),
    "value": ({"a": BEYOND}, {"a": 3}),
    "key": ({BEYOND: 1.0}, {3: 1.0}),
    "set": ({BEYOND}, {3}),
    "record": (Point(BEYOND), Point(3)),
    "list in a list": ([[BEYOND], [2]], [[3], [2]]),
    "array": (np.array([1, -BEYOND]), np.array([1, -LARGEST])),
    "unsigned": (np.array([BEYOND], np.uint64), np.array([LARGEST], np.uint64)),
    "array in a list": ([np.array([BEYOND])], [np.array([3])]),
}
COMPILED = {name: pair for name, pair in GIVEN.items() if name not in ("set", "unsigned")}
PLACE = r"in the argument x of same, has no counterpart"


@pytest.fixture(scope="module")
def sessions() -> dict[str, vlad.Session]:
    return {tier: vlad.Session(tier=tier) for tier in ("evaluate", "compile")}


@pytest.mark.parametrize("name", GIVEN)
def test_an_argument_is_an_error(name: str, sessions: dict[str, vlad.Session]) -> None:
    beyond, exact = GIVEN[name]
    f = sessions["evaluate"].function(same)
    f(exact)
    with pytest.raises(vlad.VladError, match=PLACE) as caught:
        f(beyond)
    assert isinstance(caught.value, TypeError) and caught.value.hint and "2**53" in caught.value.hint
    assert caught.value.span is not None and caught.value.span.source.name == __file__


@pytest.mark.any_compiler
@pytest.mark.parametrize("name", COMPILED)
def test_it_is_one_where_machine_code_takes_the_argument(
    name: str, sessions: dict[str, vlad.Session]
) -> None:
    beyond, exact = COMPILED[name]
    f = sessions["compile"].function(same)
    for _ in range(3):  # from the second call on, c_extension.c reads what is given
        f(exact)
    with pytest.raises(vlad.VladError, match=PLACE):
        f(beyond)


@pytest.mark.any_compiler
def test_derivatives_refuse_it(sessions: dict[str, vlad.Session]) -> None:
    for session in sessions.values():
        f = session.function(lambda x, y: x * y)
        for derivative in (vlad.grad(f), vlad.value_and_grad(f, 0), vlad.jacobian(f), vlad.hessian(f)):
            for _ in range(2):
                derivative(2, 3.0)
            with pytest.raises(vlad.VladError, match="in the argument y of <lambda>, has no counterpart"):
                derivative(2.0, BEYOND)
        with pytest.raises(vlad.VladError, match="in the argument x of <lambda>"):
            vlad.jvp(f, (BEYOND, 1.0), (1.0, 1.0))
        with pytest.raises(vlad.VladError, match="in the argument x of <lambda>"):
            vlad.vjp(f, BEYOND, 1.0)


def test_floats_and_the_largest_exact_number_are_none(sessions: dict[str, vlad.Session]) -> None:
    f = sessions["evaluate"].function(same)
    assert [f(x) for x in (LARGEST, -LARGEST, 1e300, float(BEYOND))] == [2.0**53, -(2.0**53), 1e300, 2.0**53]
    assert f(np.array([1e300]))[0] == 1e300


OUTSIDE = {
    "a global": ("def f(): return N", "in the value of N, has"),
    "an attribute": ("class A:\n    n = N\ndef f(): return A.n", "in the value of n, has"),
    "a list": ("NS = [N]\ndef f(): return NS[0]", "in the value of NS, has"),
    "sys.maxsize": ("import sys\ndef f(): return sys.maxsize", "in the value of maxsize, has"),
    "a default": ("def f(n=N): return n", "in the argument n of f, has"),
    "a default of what is called": (
        "def g(n=N): return n\ndef f(): return g()",
        "cannot have this whole number",
    ),
    "a captured variable": (
        "def make(n):\n    def g(): return n\n    return g\nf = make(N)",
        "in the value of n, has",
    ),
    "a literal": ("def f(): return 9007199254740993", "cannot have this whole number"),
    "a text in a base": (
        "def f(): return int('ffffffffffffffff', 16)",
        "whole numbers beyond 2..53 are not exact",
    ),
    "a power modulo": ("def f(): return pow(12345678, 5, 2**50)", "whole numbers beyond 2..53 are not exact"),
    "a text": ("def f(): return int('9_007_199_254_740_993')", "whole numbers beyond 2..53 are not exact"),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_value_outside_is_an_error_at_its_use(name: str, sessions: dict[str, vlad.Session]) -> None:
    text, message = OUTSIDE[name]
    f = function_of(text + "\n", N=BEYOND)
    with pytest.raises(vlad.VladError, match=message) as caught:
        sessions["evaluate"].function(f)()
    assert caught.value.span is not None


def test_a_value_of_another_kind_has_its_place(sessions: dict[str, vlad.Session]) -> None:
    @dataclass
    class Open:
        x: float

    f = sessions["evaluate"].function(same)
    with pytest.raises(
        vlad.VladError, match="Open, a dataclass that can change, in the argument x of same, has"
    ):
        f(Open(1.0))
    with pytest.raises(vlad.VladError, match="A Python object, in the argument x of same, has no"):
        f([object()])
    with pytest.raises(vlad.VladError, match="A Python object, in the value of THING, has no"):
        sessions["evaluate"].function(function_of("def f(): return THING\n", THING=object()))()


def test_other_procedures_round(sessions: dict[str, vlad.Session]) -> None:
    """A program's own procedure takes a real, as float(n) is."""
    for session in sessions.values():
        session.eval("(define (twice x) (+ x x))")
        for _ in range(3):
            assert session["twice"](BEYOND) == 2.0**54


@vlad.primitive(partials={"x": lambda x: BEYOND if x > 90.0 else 2.0})
def doubled(x: float) -> float:
    return {150.0: BEYOND, 160.0: np.int64(BEYOND), 170.0: LARGEST}.get(x, 2.0 * x)


@vlad.primitive(
    reverse=lambda x, s: BEYOND * s.astype(int) if x[0] > 90.0 else s, example=(np.array([1.0, 2.0]),)
)
def entries(x: Any) -> Any:
    return np.array([1, BEYOND]) if x[0] > 100.0 else x


OF_PRIMITIVES = {
    "int": lambda: vlad.function(lambda x: doubled(x))(150.0),
    "np.int64": lambda: vlad.function(lambda x: doubled(x))(160.0),
    "partial": lambda: vlad.grad(lambda x: doubled(x))(100.0),
    "array": lambda: vlad.function(lambda x: entries(x))(np.array([101.0, 1.0])),
    "sensitivity": lambda: vlad.grad(lambda x: np.sum(entries(x)))(np.array([91.0, 1.0])),
}


@pytest.mark.parametrize("name", OF_PRIMITIVES)
def test_a_result_of_a_primitive_is_an_error(name: str) -> None:
    with pytest.raises(vlad.VladError, match=r"with a whole number beyond|The whole number 9007199254740993"):
        OF_PRIMITIVES[name]()


def test_results_of_primitives_that_are_exact() -> None:
    assert vlad.function(lambda x: doubled(x))(170.0) == LARGEST
    assert vlad.grad(lambda x: doubled(x))(1.0) == 2.0
    assert vlad.grad(lambda x: np.sum(entries(x)))(np.array([2.0, 1.0])).tolist() == [1.0, 1.0]


def test_other_functions_of_a_session_round() -> None:
    session = vlad.Session()
    session["now"] = lambda: BEYOND
    assert session.eval("(now)") == float(LARGEST)
