"""`vlad.check`: the types in a call of a translated function, by line, as text and as data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import vlad

sys.path.insert(0, str(Path(__file__).parent.parent))
from python_texts import run


class Layer(NamedTuple):
    w: float
    b: list[float]


def function_of(text: str, name: str = "f", session: vlad.Session | None = None) -> Any:
    """A function of a text, translated."""
    names: dict[str, Any] = {"vlad": vlad, "np": np, "Layer": Layer, "__name__": "checking"}
    run(text, "checked.py", names)
    return (session or vlad.Session()).function(names[name])


def types(report: vlad.Checked) -> dict[tuple[int, str], str]:
    return {(line.line, line.name): line.type for line in report.lines}


def test_each_variable_has_a_type_in_its_line() -> None:
    f = function_of("""
def helper(z, k):
    return z if k else -z

def f(x, ys, m):
    def inner(z):
        return z * x
    total = 0.0
    for i, y in enumerate(ys):
        w = inner(y)
        total += w
    pair = total, (total, 1.0)
    a, (b, c) = pair
    k = m @ m
    q = [y * x for y in ys if y > 0]
    n = None
    if x > 3:
        n = helper(2.0, x > 4)
    text = "a" if x > 0 else "b"
    flag = x > 2
    copy = total
    return pair, k, q, n, flag, text, b, copy
""")
    report = vlad.check(f, 2.0, [1.0, 2.0, 3.0], np.ones((3, 3)))
    assert report.compiled and report.reason is None and report.errors == ()
    assert report.parameters == {"x": "float", "ys": "list[float] of 3", "m": "array[3, 3]"}
    assert report.result == (
        "tuple[tuple[float, tuple[float, float]], array[3, 3], list[float], float | None, bool, str, float, float]"
    )
    assert types(report) == {
        (2, "z"): "float", (2, "k"): "bool", (3, "return"): "float",
        (7, "return"): "float", (8, "total"): "float", (9, "y"): "float", (10, "w"): "float", (11, "total"): "float",
        (12, "pair"): "tuple[float, tuple[float, float]]", (13, "a"): "float", (13, "b"): "float", (13, "c"): "float",
        (14, "k"): "array[3, 3]", (15, "q"): "list[float]", (15, "y"): "float", (16, "n"): "None", (18, "n"): "float",
        (19, "text"): "str", (20, "flag"): "bool", (21, "copy"): "float", (22, "return"): report.result,
    }  # fmt: skip
    shown = str(report).splitlines()
    assert shown[0] == f"f(x: float, ys: list[float] of 3, m: array[3, 3]) -> {report.result}"
    assert (
        shown[1] == "checked.py" and "    8 | total = 0.0" in shown[3] and shown[3].endswith("total: float")
    )


def test_a_derivative_has_the_types_of_its_function() -> None:
    f = function_of("""
def f(x, p):
    y = x * p[0]
    return y * y + p[1]
""")
    lines = {(3, "y"): "float", (4, "return"): "float"}
    for derivative, result in (
        (vlad.grad(f), "tuple[float, tuple[float, float]]"),
        (vlad.grad(f, 0), "float"),
        (vlad.value_and_grad(f, 1), "tuple[float, tuple[float, float]]"),
        (vlad.hessian(f, 0), "float"),
    ):
        report = vlad.check(derivative, 2.0, (1.0, 3.0))
        assert types(report) == lines and report.compiled
        assert report.result == result and report.parameters == {"x": "float", "p": "tuple[float, float]"}


def test_second_derivatives_and_jacobians() -> None:
    f = function_of("def f(x, y): return x * y, x + y")
    both = "tuple[float, float]"
    assert vlad.check(vlad.jacobian(f), 1.0, 2.0).result == f"tuple[{both}, {both}]"
    assert vlad.check(vlad.jacobian(f, 0), 1.0, 2.0).result == both
    g = function_of("def g(x, y): return x * y[0] * y[1]", "g")
    assert vlad.check(vlad.hessian(g, 1), 1.0, [1.0, 2.0]).result == "list[list[float] of 2] of 2"
    h = function_of("def h(x, y, z): return x * y * z", "h")
    row = "tuple[float, float, float]"
    assert vlad.check(vlad.hessian(h), 1.0, 2.0, 3.0).result == f"tuple[{row}, {row}, {row}]"


def test_an_exception_that_is_certain_is_told() -> None:
    report = vlad.check(function_of("def f(x):\n    raise ValueError('no')"), 2.0)
    assert report.result == "never returns: it raises an error: no, at 2:5"
    assert [error.code for error in report.errors] == ["user-error"]
    report = vlad.check(function_of("def f(x):\n    while True:\n        x = x + 1"), 2.0)
    assert report.result.startswith("never returns: ") and "calls itself without end" in report.result


def test_arguments_have_defaults_as_in_a_call() -> None:
    f = function_of("def f(x, n=3, *, k=True): return x * n if k else x")
    assert vlad.check(f, 2.0).parameters == {"x": "float", "n": "float", "k": "bool"}
    with pytest.raises(TypeError):
        vlad.check(f)


def test_a_plain_function_is_checked_in_the_default_session() -> None:
    assert vlad.check(function_of("def f(x): return x * 2").python, 2.0).result == "float"
    with pytest.raises(vlad.VladError, match="this is a Python int"):
        vlad.check(3)


def test_a_procedure_of_the_language_has_lines_too() -> None:
    session = vlad.Session()
    session.eval("(define (f x l)\n  (let ((y (* x 2)))\n    (+ y (car l))))")
    report = vlad.check(session["f"], 2.0, [1.0, 2.0])
    assert (report.result, types(report)[2, "y"]) == ("float", "float")


def test_an_error_that_is_certain_is_in_the_report() -> None:
    report = vlad.check(function_of("def f(x, m):\n    y = m @ m\n    return y + x"), 2.0, np.ones((3, 2)))
    (error,) = report.errors
    assert (
        report.result == "never returns: Shapes given to matmul do not fit: (3 2) and (3 2), at 2:9"
        and error.span is not None
    )
    assert (error.span.line, error.span.column, error.span.text) == (2, 9, "m @ m")
    assert "do not fit: (3 2) and (3 2)" in str(report)


def test_what_stays_on_tier_0_is_said_with_place_and_reason() -> None:
    text = """
def order(f, n, x):
    if n == 0:
        return f(x)
    return order(vlad.grad(f), n - 1, x)

def f(n, x):
    return order(lambda y: y ** 3, n, x)
"""
    assert vlad.check(function_of(text), 2.0, 1.0).compiled  # for this order
    text = text.replace("def f(n, x):", "def f(orders, x):\n    n = orders[0]")
    report = vlad.check(function_of(text), np.array([2.0]), 1.0)
    with pytest.raises(vlad.VladError, match=str(report.reason)):
        vlad.compile(function_of(text, session=vlad.Session(tier="compile")), np.array([2.0]), 1.0)
    assert not report.compiled and report.result == "not known"
    assert report.reason == "the order of its derivatives is not known before it runs"
    assert report.place == "checked.py:4:16" and report.hint is not None
    assert str(report).splitlines()[-2] == f"stays on tier 0: {report.reason}, at {report.place}"
    assert function_of(text)(np.array([2.0]), 1.0) == 6.0  # it runs all the same


def test_nothing_is_run() -> None:
    printed: list[str] = []
    session = vlad.Session(write=printed.append)
    assert vlad.check(function_of("def f(x):\n    print(x)\n    return x", session=session), 2.0).compiled
    assert printed == []


def test_lists_of_any_length_and_loops_of_changing_types() -> None:
    f = function_of("""
def f(n):
    xs, last = [], None
    for i in range(n):
        xs.append((i, last))
        last = i * 0.5
    return xs
""")
    report = vlad.check(f, 5.0)
    assert report.result == "list[tuple[float, float | None]]"
    assert types(report)[4, "i"] == "float" and types(report)[6, "last"] == "float"


def test_dicts_and_records_are_those_of_python() -> None:
    text = """
def f(p, x, k):
    d = {"s": x, "l": p["layers"]}
    d["t"] = {"a": x}
    for one in p["layers"]:
        x = x * one.w + one.b[0]
    return Layer(x, [d["s"]]), {}
"""
    f = function_of(text)
    report = vlad.check(f, {"layers": [Layer(1.0, [2.0])], 2: (3.0,)}, 1.0, "a")
    assert (
        report.parameters["p"]
        == "dict[float | str, list[Layer(w: float, b: list[float] of 1)] of 1 | tuple[float]]"
    )
    shown = {one.name: one.type for one in report.lines}
    assert shown["one"] == "Layer(w: float, b: list[float] of 1)"
    assert shown["d"].startswith("{'s': float, 'l': list[Layer(") and shown["d"].endswith("of 1}")
    assert report.result == "tuple[Layer(w: float, b: list[float] of 1), {}]"
    assert vlad.check(function_of("def f(d):\n    return d['a'] * 2.0"), {"a": 1.0}).parameters == {
        "d": "{'a': float}"
    }


@pytest.mark.any_compiler
def test_what_compile_compiles_is_said_to_be_compiled() -> None:
    text = """
def f(n, x):
    t = np.zeros(n)
    t[0] = x
    for i in range(1, n):
        t[i] = t[i - 1] * x
    return t[n - 1]

def g(x):
    total, xs = 0.0, []
    while x < 100:
        xs.append(x)
        x = x * 2
    return np.sum(np.array(xs))
"""
    session = vlad.Session(tier="compile")
    for f, example in (
        (function_of(text, "f", session), (4.0, 2.0)),
        (function_of(text, "g", session), (3.0,)),
    ):
        for made in (
            f,
            vlad.grad(f, argnums=f.taken().count - 1),
            vlad.hessian(f, argnums=f.taken().count - 1),
        ):
            vlad.compile(made, *example)
            assert vlad.check(made, *example).compiled
