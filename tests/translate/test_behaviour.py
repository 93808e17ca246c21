"""A translated function beside Python: names outside that change, closures, arguments by name, derivatives, saving, threads."""

from __future__ import annotations

import inspect
import math
import pickle
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import vlad

sys.path.insert(0, str(Path(__file__).parent.parent))
from python_texts import run


def names_of(text: str, name: str = "behaviour.py") -> dict[str, Any]:
    """The names that a text defines."""
    names: dict[str, Any] = {"vlad": vlad, "__name__": "behaviour"}
    run(text, name, names)
    return names


@pytest.fixture(params=["evaluate", "compile"])
def session(request: pytest.FixtureRequest) -> vlad.Session:
    return vlad.Session(tier=request.param)


@pytest.mark.any_compiler
def test_a_name_outside_that_changes_is_noticed(session: vlad.Session) -> None:
    names = names_of("""
def square(x):
    return x * x

def f(x):
    return RATE * square(x)

RATE = 3.0
""")
    f = session.function(names["f"])
    slope = vlad.grad(f)
    curvature = vlad.grad(slope)
    for _ in range(3):  # the third call may go to machine code directly
        assert (f(2.0), slope(2.0), curvature(2.0)) == (12.0, 12.0, 6.0)
    names["RATE"] = 4.0
    assert (f(2.0), slope(2.0), curvature(2.0)) == (16.0, 16.0, 8.0)
    names["square"] = names_of("def square(x): return x * x * x", "square.py")["square"]
    assert (f(2.0), slope(2.0), curvature(2.0)) == (32.0, 48.0, 48.0)
    names["RATE"] = lambda: 1.0  # another kind of value
    with pytest.raises(vlad.VladError):
        f(2.0)
    del names["RATE"]
    with pytest.raises(NameError):
        f(2.0)
    names["RATE"] = 1.0
    assert (f(2.0), slope(2.0)) == (8.0, 12.0)


def test_a_redefined_function_is_another_one(session: vlad.Session) -> None:
    first = session.function(names_of("def f(x): return x + 1", "cell 1")["f"])
    second = session.function(names_of("def f(x): return x + 2", "cell 2")["f"])
    assert (first(1.0), second(1.0)) == (2.0, 3.0)


def test_a_variable_of_the_enclosing_function_is_captured(session: vlad.Session) -> None:
    names = names_of("""
def maker(a, others):
    def f(x):
        return a * x + sum(others)

    def change(value):
        nonlocal a
        a = value

    return f, change
""")
    python, change = names["maker"](3.0, [1.0, 2.0])
    f = session.function(python)
    slope = vlad.grad(f)
    assert (f(2.0), slope(2.0)) == (9.0, 3.0)
    change(5.0)
    assert (f(2.0), slope(2.0)) == (13.0, 5.0)
    # what it captures has a sensitivity, in the language
    session["f"] = f
    assert session.eval("(map-reals (lambda (x) x) (((gradient (lambda (g) (g 2))) f) 3))") is not None
    assert session.eval("(environment f)") == [5.0, [1.0, 2.0]]


def test_a_decorated_function_is_the_same_as_an_argument(session: vlad.Session) -> None:
    text = "def square(x): return x * x\n\ndef f(g, x): return (g == square, g != square, g in (1.0, square), g(x))"
    names = names_of(text)
    names["square"] = session.function(names["square"])
    f = session.function(names["f"])
    assert f(names["square"], 3.0) == (True, False, True, 9.0)
    assert f(lambda x: x * x, 3.0) == (False, True, False, 9.0)
    assert session.function(
        names_of("import math\n\ndef f(x): return math.sin == math.sin, math.sin != math.cos")["f"]
    )(1.0) == (True, True)


COMPARED = """
import math
def square(x): return x * x
def cube(x): return x**3
class Scale:
    def by(self, x): return x
scale = Scale()
def made(): return lambda x: x
def is_square(g): return g == square, g != square, g in (1.0, square)
def same(g, h): return g == h, g in [h], [g, h].index(h), [g, h].count(g), (g, 1.0) == (h, 1.0), {"a": g} == {"a": h}
def is_sine(g):
    return g == math.sin
def is_lambda(g):
    h = lambda x: x
    return g == h, h == square
def of_records(fs):
    match fs:
        case [g] if g == square: return 1.0
    return fs.count(square)
def removed(g):
    fs = [square, cube, square]
    fs.remove(g)
    return len(fs)
def caught(g):
    try:
        return g == square
    except Exception:
        return 5.0
def of_one_lambda():
    return made() == made()
def of_a_loop():
    fs = []
    for _ in range(2):
        fs.append(lambda x: x)
    return fs[0] in fs[1:]
def as_keys():
    return {square: 1.0}[square]
"""


@pytest.mark.any_compiler
@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_functions_are_compared_by_identity_or_not_at_all(tier: str) -> None:
    """A procedure without captured variables is one value however often it is made, and a plain function that is given is another
    one than its translation: both are refused, and no handler takes that.
    """
    session, names = vlad.Session(tier=tier), names_of(COMPARED)
    session.tiers.notify = lambda notice: None
    square, cube, by = names["square"], names["cube"], [names["scale"].by, names["scale"].by]
    for name, *given in (
        ("same", square, square), ("same", square, cube), ("same", *by), ("same", math.sin, math.sin), ("is_lambda", square),
        ("is_square", cube), ("caught", cube), ("of_records", [cube]),
    ):  # fmt: skip
        f = names[name]
        outcomes = []
        for function in (f, session.function(f)):
            try:
                outcomes.append(function(*given))
            except ValueError as error:
                outcomes.append(type(error).__mro__[-4:])
        assert outcomes[0] == outcomes[1], (name, given, outcomes)
    for name, *given in (
        ("is_square", square), ("is_sine", math.sin), ("of_records", [square]), ("caught", square), ("removed", square),
        ("of_one_lambda",),
        ("of_a_loop",), ("as_keys",),
    ):  # fmt: skip
        with pytest.raises(vlad.VladError, match="in a translated function") as caught:
            session.function(names[name])(*given)
        assert isinstance(caught.value, TypeError) and caught.value.span is not None


def test_arguments_by_name_and_defaults(session: vlad.Session) -> None:
    f = session.function(names_of("def f(x, n=3, *, k=2.0): return x * n + k")["f"])
    assert f(1.0) == f(x=1.0) == f(1.0, 3, k=2.0) == 5.0
    assert f(1.0, k=0.0, n=1) == 1.0
    assert vlad.grad(f, argnums=0)(2.0) == vlad.grad(f, argnums=0)(2.0, k=1.0) == 3.0
    for wrong in (lambda: f(), lambda: f(1.0, 2, 3), lambda: f(1.0, z=1), lambda: f(1.0, x=1.0)):
        with pytest.raises(TypeError):
            wrong()


def test_it_looks_like_the_function(session: vlad.Session) -> None:
    python = names_of('def f(x: float, n: int = 3) -> float:\n    "The text."\n    return x * n')["f"]
    f = session.function(python)
    assert (f.__name__, f.__doc__, f.__module__, f.__wrapped__) == ("f", "The text.", "behaviour", python)
    assert list(inspect.signature(f).parameters) == ["x", "n"] and inspect.signature(f) == inspect.signature(
        python
    )
    assert f.python is python and f == session.function(python) and hash(f) == hash(session.function(python))
    assert f.text == "(define (f x n) (%py-multiply x n))"
    assert repr(f).startswith("<vlad function f(")


def test_values_go_in_and_come_out(session: vlad.Session) -> None:
    f = session.function(names_of("def f(x): return x")["f"])
    for value in (
        1.5,
        True,
        None,
        "a",
        [],
        (),
        [1.0, (2.0, [3.0], ())],
        (1.0,),
        ((), ()),
        (1.0, (2.0, 3.0)),
        (1.0, [2.0]),
    ):
        assert f(value) == value and type(f(value)) is type(value)


def test_gradients_have_the_structure_of_the_arguments(session: vlad.Session) -> None:
    f = session.function(names_of("def f(p, q): return p[0] * p[1] + sum(q[1]) * q[0]")["f"])
    assert vlad.grad(f)((2.0, 3.0), (0.5, [1.0, 2.0])) == ((3.0, 2.0), (3.0, [0.5, 0.5]))
    value, gradient = vlad.value_and_grad(f)((2.0, 3.0), (0.5, [1.0, 2.0]))
    assert value == 7.5 and gradient[1] == (3.0, [0.5, 0.5])
    assert vlad.hessian(session.function(names_of("def f(x): return x ** 3")["f"]))(2.0) == 12.0


def test_a_forgotten_return_is_named(session: vlad.Session) -> None:
    @session.function
    def forgets(x: float) -> None:
        x * x

    with pytest.raises(vlad.VladError, match=r"this one returns None: is a `return` missing\?"):
        vlad.grad(forgets)(2.0)


def test_directional_derivatives_and_backpropagators(session: vlad.Session) -> None:
    names = names_of("def f(x): return x ** 3\n\ndef g(x, y, k=2.0): return k * x * y[0]")
    f, g = session.function(names["f"]), session.function(names["g"])
    for _ in range(3):
        assert vlad.jvp(f, 2.0, 1.0) == (8.0, 12.0) and vlad.hvp(f, 2.0, 0.5) == 6.0
        value, back = vlad.vjp(f, 2.0)
        assert (value, back(2.0)) == (8.0, 24.0)
        assert vlad.jvp(g, (3.0, [5.0], 2.0), (1.0, [0.0], 0.0)) == (30.0, 10.0)
        assert vlad.hvp(g, (3.0, [5.0], 2.0), (1.0, [0.0], 0.0)) == (0.0, [2.0], 5.0)
        value, back = vlad.vjp(g, 3.0, [5.0])
        assert (value, back(1.0)) == (30.0, (10.0, [6.0], 15.0))


def test_a_jacobian_has_the_structure_of_the_result(session: vlad.Session) -> None:
    f = session.function(names_of("def f(x, y): return x * y, [x + y, (x, 1.0)], None")["f"])
    assert vlad.jacobian(f)(2.0, 3.0) == ((3.0, 2.0), [(1.0, 1.0), ((1.0, 0.0), (0.0, 0.0))], None)
    assert vlad.jacobian(f, 0)(2.0, 3.0) == (3.0, [1.0, (1.0, 0.0)], None)


def test_derivatives_inside(session: vlad.Session) -> None:
    f = session.function(
        names_of("def f(x): return vlad.grad(lambda y: y * y * x)(x) + vlad.hessian(lambda y: y ** 3)(x)")[
            "f"
        ]
    )
    assert f(3.0) == 18.0 + 18.0
    assert vlad.grad(f)(3.0) == pytest.approx(12.0 + 6.0)


def test_derivatives_by_several_arguments_are_tuples(session: vlad.Session) -> None:
    f = session.function(
        names_of("""
def f(x):
    value, slope = vlad.value_and_grad(lambda y: y * y)(x)
    by_a, by_b = vlad.grad(lambda a, b: a * b * b)(x, 2.0)
    both, (left, right) = vlad.value_and_grad(lambda a, b: a * b)(x, 5.0)
    return value, slope, by_a, by_b, both, left, right
""")["f"]
    )
    assert f(3.0) == (9.0, 6.0, 4.0, 12.0, 15.0, 5.0, 3.0)


def test_a_lambda_in_a_lambda_is_the_inner_one(session: vlad.Session) -> None:
    outer = names_of(
        "f = lambda x: (lambda y: y * 2)\ng = lambda: (lambda: 5)\nh = [lambda x: x, lambda x: x + 1]"
    )
    assert callable(session.function(outer["f"])(3.0)) and callable(session.function(outer["g"])())
    assert session.function(outer["f"](3.0))(4.0) == 8.0 and session.function(outer["g"]())() == 5.0
    assert [session.function(h)(1.0) for h in outer["h"]] == [1.0, 2.0]


def test_a_long_function_is_translated() -> None:
    lines = [f"    if x > {i + 10}: return {i}" for i in range(300)] + [
        f"    x = x + {i}" for i in range(300)
    ]
    text = "def f(x):\n" + "\n".join(lines) + "\n    return x"
    f = vlad.Session(tier="evaluate").function(names_of(text, "long.py")["f"])
    assert f(3.0) == 3.0 + sum(range(300)) and f(500.0) == 0.0


def test_an_array_that_another_name_has_is_not_changed(session: vlad.Session) -> None:
    import numpy as np

    f = session.function(names_of("def f(a):\n    y = a\n    y += 1.0\n    return a")["f"])
    assert f(1.0) == 1.0
    with pytest.raises(TypeError, match="is not changed"):
        f(np.array([1.0]))
    g = session.function(names_of("def g(a):\n    y = a * 2\n    y += 1.0\n    return y")["g"])
    assert g(np.array([1.0])).tolist() == [3.0]


def test_limits_hold() -> None:
    session = vlad.Session(limits=vlad.Limits(fuel=10_000))
    f = session.function(names_of("def f(x):\n    while True:\n        x = x + 1")["f"])
    with pytest.raises(vlad.LimitExceeded):
        f(1.0)


@pytest.mark.any_compiler
def test_it_is_compiled_on_request() -> None:
    f = vlad.Session(tier="auto").function(names_of("def f(x, n): return x * n")["f"])
    assert vlad.compile(f, 1.0, 2.0)(3.0, 4.0) == 12.0
    assert vlad.compile(vlad.grad(f), 1.0, 2.0)(3.0, 4.0) == (4.0, 3.0)
    g = vlad.Session(tier="auto").function(names_of("def g(x, n=3.0): return x * n")["g"])
    assert vlad.compile(g, 1.0)(3.0) == 9.0 and vlad.compile(vlad.grad(g, argnums=0), 1.0)(3.0) == 3.0


def test_it_is_pickled_by_its_name_or_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("@vlad.function\ndef f(x): return x * 2\n\ng = vlad.function(lambda x: x * 3)")
    module = type(sys)("behaviour")
    vars(module).update(names)
    monkeypatch.setitem(sys.modules, "behaviour", module)
    assert pickle.loads(pickle.dumps(names["f"])) is names["f"]
    assert pickle.loads(pickle.dumps(names["g"]))(2.0) == 6.0


def test_threads_may_share_it(session: vlad.Session) -> None:
    f = session.function(names_of("def f(n):\n    y = 0\n    for i in range(n): y += i\n    return y")["f"])
    found: list[Any] = []
    threads = [threading.Thread(target=lambda n=n: found.append((n, f(n)))) for n in range(50, 58)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(n, n * (n - 1) / 2) for n in range(50, 58)]


def test_a_closed_session_refuses_it(session: vlad.Session) -> None:
    f = session.function(names_of("def f(x): return x")["f"])
    assert f(1.0) == 1.0
    session.close()
    with pytest.raises(vlad.VladError):
        f(1.0)


def test_the_place_is_in_the_text_beside_others(session: vlad.Session) -> None:
    text = """
é = 'ü'

class A:
    @staticmethod
    def f(x, y):
        # ö
        return 'ä', x / y

fs = [lambda x: x, lambda y: 1 / y]
"""
    names = names_of(text, "places.py")
    for function, line, column, marked in ((names["A"].f, 8, 21, "x / y"), (names["fs"][1], 10, 30, "1 / y")):
        f = session.function(function)
        with pytest.raises(ZeroDivisionError) as caught:
            f(*[0.0] * len(inspect.signature(function).parameters)) if marked == "1 / y" else f(1.0, 0.0)
        error = caught.value
        assert isinstance(error, vlad.VladError) and error.span is not None
        assert (error.span.line, error.span.column, error.span.text) == (line, column, marked)


def test_a_loop_takes_constant_time_a_turn() -> None:
    session = vlad.Session(tier="evaluate", metered=True)
    f = session.function(
        names_of("def f(n):\n    xs = []\n    for i in range(n):\n        xs.append(i)\n    return len(xs)")[
            "f"
        ]
    )
    counts = []
    for n in (100, 200, 400):
        before = session.steps
        assert f(n) == n
        counts.append(session.steps - before)
    assert counts[2] - counts[1] < 2.2 * (counts[1] - counts[0])


def test_an_exception_of_ones_own_leaves_as_that_class() -> None:
    names = names_of(
        "class Off(Exception):\n    def __init__(self, code, *, name='none'):\n        self.code = code\n"
        "        self.name = name\n\n\ndef f(x): raise Off(2 * x, name='f')\n\n\ndef g(x): return [Off(x), KeyError('k')]"
    )
    for tier in ("evaluate", "compile"):
        session = vlad.Session(tier=tier)
        with pytest.raises(names["Off"]) as caught:
            session.function(names["f"])(1.5)
        error = caught.value
        assert (error.code, error.name, error.args) == (3.0, "f", (3.0,))
        assert isinstance(error, vlad.VladError) and error.span is not None and "raise Off" in str(error)
        off, lacks = session.function(names["g"])(1.5)
        assert (
            type(off).__name__ == "Off"
            and off.code == 1.5
            and isinstance(lacks, KeyError)
            and lacks.args == ("k",)
        )
    with pytest.raises(ZeroDivisionError) as divided:
        session.function(names_of("def f(x): return 1 / x")["f"])(0.0)
    again = pickle.loads(pickle.dumps(divided.value))
    assert type(again) is type(divided.value) and str(again) == str(divided.value)


COUNTED = """
import functools

@functools.lru_cache
def outside(n):
    print(n)
    return 1.0 if n < 2 else outside(n - 1) + outside(n - 2) * 0.5

def inside(n, x):
    @functools.cache
    def g(k):
        print(k)
        return x if k < 2 else g(k - 1) + g(k - 2) * x
    return g(n)

def both(n, x): return outside(n) * x + inside(n, x)

def real(n, x):
    @functools.cache
    def g(y): return 1.0 if y < 1 else g(y - 1) * x
    return g(x)

@functools.cache
def first(n): return 1.0 if n < 1 else second(n - 1)
def second(n): return first(n - 1)
def by_another(n, x): return first(n) * x

def changing(n, x):
    s = 0.0
    @functools.cache
    def g(k):
        nonlocal s
        s += 1
        return 1.0 if k < 1 else g(k - 1) + g(k - 2)
    return g(n) + s
"""


def test_a_function_with_a_cache_computes_each_result_once(capsys: pytest.CaptureFixture[str]) -> None:
    names = names_of(COUNTED)
    for tier in ("evaluate", "compile"):
        session = vlad.Session(tier=tier)
        both, outside = session.function(names["both"]), session.function(names["outside"])
        capsys.readouterr()
        value = both(30, 0.5)
        assert len(capsys.readouterr().out.splitlines()) == 2 * 31
        slope = (both(30, 0.5 + 1e-6) - both(30, 0.5 - 1e-6)) / 2e-6
        assert vlad.grad(both, argnums=1)(30, 0.5) == pytest.approx(slope, rel=1e-5)
        capsys.readouterr()
        assert outside(30) == session.function(names["outside"].__wrapped__)(30)
        assert len(capsys.readouterr().out.splitlines()) == 2 * 31
        assert value == names["both"](30, 0.5)
        with pytest.raises(vlad.VladError, match="derivative"):
            vlad.grad(outside, argnums=0)(30)
    session = vlad.Session(tier="evaluate")
    for name, words in (
        ("real", "whole numbers, texts"), ("by_another", "the cache of first"), ("changing", "a variable which changes"),
    ):  # fmt: skip
        with pytest.raises(vlad.VladError, match=words):
            session.function(names[name])(3, 1.5)
