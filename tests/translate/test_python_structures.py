"""Dicts, named tuples and dataclasses across the border: arguments, results, gradients; and what is refused of them."""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import vlad

sys.path.insert(0, str(Path(__file__).parent.parent))
from python_texts import run


class Point(NamedTuple):
    x: float
    y: float = 2.0


@dataclass(frozen=True)
class Model:
    w: Any
    b: float
    name: str = "m"

    def predict(self, x: float, k: float = 1.0) -> float:
        return self.w * x * k + self.b

    @vlad.function
    def loss(self, xs: list[float]) -> float:
        return sum((self.predict(x) - 2 * x) ** 2 for x in xs)


@dataclass
class Changing:
    x: float


@dataclass(frozen=True, eq=False)
class Identical:
    x: float


class Sized(NamedTuple):
    x: float

    def __len__(self) -> int:
        return 7


def names_of(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {**globals(), "__name__": "structures"}
    run(text, f"structures-{next(SERIAL)}.py", names)
    return names


def of(text: str, session: vlad.Session, name: str = "f") -> Any:
    return session.function(names_of(text)[name])


@pytest.fixture(params=["evaluate", "compile"])
def session(request: pytest.FixtureRequest) -> vlad.Session:
    return vlad.Session(tier=request.param)


SERIAL = itertools.count()
VALUES = [
    {"w": 1.0, "b": [1.0, {}], 3: (1.0, 2.0), (1, 2): None},
    {},
    [{"a": {"a": 1.0}}],
    Point(1.0, 2.0),
    Model(Point(1.0), 2.0),
    [Model(1.0, 2.0), None],
    (Point(1.0), {"p": Point(2.0)}),
    (None, 1.0),
    ((), None),
    {"n": None, "t": ()},
]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_values_go_in_and_come_out(value: Any, session: vlad.Session) -> None:
    f = of("def f(x): return x", session)
    assert f(value) == value and type(f(value)) is type(value)


@pytest.mark.any_compiler
def test_gradients_have_the_structure_of_the_arguments(session: vlad.Session) -> None:
    f = of("def f(d): return d['w'] ** 2 * d['n']['k'][0] + d['p'].x * d['m'].b", session)
    d = {"w": 3.0, "n": {"k": [2.0, 1.0]}, "p": Point(5.0), "m": Model(1.0, 7.0), "s": "text"}
    expected = {
        "w": 12.0, "n": {"k": [9.0, 0.0]}, "p": Point(7.0, 0.0), "m": Model(0.0, 5.0), "s": "text",
    }  # fmt: skip
    for _ in range(3):
        assert vlad.grad(f)(d) == expected
        assert vlad.value_and_grad(f)(d) == (53.0, expected)
    g = of("def g(p): return p.x ** 2 * p.y", session, "g")
    assert vlad.hessian(g)(Point(3.0, 5.0)) == Point(Point(10.0, 6.0), Point(6.0, 0.0))
    h = of("def h(m): return {'a': m.w * m.b, 'p': Point(m.w, m.b), 't': (m.w,)}", session, "h")
    assert vlad.jacobian(h)(Model(2.0, 3.0)) == {
        "a": Model(3.0, 2.0), "p": Point(Model(1.0, 0.0), Model(0.0, 1.0)), "t": (Model(1.0, 0.0),),
    }  # fmt: skip
    assert vlad.jvp(g, Point(3.0, 5.0), Point(1.0, 0.0)) == (45.0, 30.0)
    value, back = vlad.vjp(g, Point(3.0, 5.0))
    assert (value == 45.0 and back(1.0) == (Point(30.0, 9.0),)) or back(1.0) == Point(30.0, 9.0)


@pytest.mark.any_compiler
def test_a_step_of_training(session: vlad.Session) -> None:
    names = names_of("""
def network(params, x):
    for layer in params["hidden"]:
        x = np.tanh(x @ layer["w"] + layer["b"])
    return x @ params["out"]["w"] + params["out"]["b"]

def loss(params, x, y):
    return np.mean((network(params, x) - y) ** 2)

def step(params, x, y, rate=0.1):
    grads = vlad.grad(lambda p: loss(p, x, y))(params)
    hidden = [{k: l[k] - rate * g[k] for k in l} for l, g in zip(params["hidden"], grads["hidden"])]
    return {"hidden": hidden, "out": {k: v - rate * grads["out"][k] for k, v in params["out"].items()}}
""")
    random = np.random.default_rng(0)
    layers = [
        {"w": random.normal(size=(3, 4)), "b": np.zeros(4)},
        {"w": random.normal(size=(4, 4)), "b": np.zeros(4)},
    ]
    params = {"hidden": layers, "out": {"w": random.normal(size=4), "b": 0.0}}
    x, y = random.normal(size=(10, 3)), random.normal(size=10)
    step, loss = session.function(names["step"]), session.function(names["loss"])
    gradient = vlad.grad(loss, argnums=0)(params, x, y)
    moved = step(params, x, y)
    assert moved["out"]["b"] == pytest.approx(-0.1 * gradient["out"]["b"])
    assert moved["hidden"][1]["w"] == pytest.approx(layers[1]["w"] - 0.1 * gradient["hidden"][1]["w"])
    h = 1e-6
    near = [{**params, "out": {**params["out"], "b": b}} for b in (h, -h)]
    slope = (names["loss"](near[0], x, y) - names["loss"](near[1], x, y)) / (2 * h)
    assert gradient["out"]["b"] == pytest.approx(slope, rel=1e-6)
    assert names["loss"](moved, x, y) < names["loss"](params, x, y)


def test_parameters_change_in_a_loop(session: vlad.Session) -> None:
    names = names_of("""
def f(x, steps=5):
    params = {"w": x, "b": 0.0}
    data = [(1.0, 2.0), (2.0, 3.0)]
    for _ in range(steps):
        value, grads = vlad.value_and_grad(lambda p: sum((p["w"] * a + p["b"] - b) ** 2 for a, b in data))(params)
        for k in params:
            params[k] -= 0.05 * grads[k]
    return params

def g(x, steps=5):
    w, b = x, 0.0
    for _ in range(steps):
        dw, db = 2 * (w + b - 2) + 4 * (2 * w + b - 3), 2 * (w + b - 2) + 2 * (2 * w + b - 3)
        w, b = w - 0.05 * dw, b - 0.05 * db
    return {"w": w, "b": b}
""")
    assert session.function(names["f"])(3.0) == pytest.approx(names["g"](3.0))


@pytest.mark.any_compiler
def test_dicts_and_records_are_compiled() -> None:
    session = vlad.Session(tier="auto")
    f = of("def f(d, m): return {k: m.predict(v) for k, v in d.items()}", session)
    example = {"a": 1.0, "b": 2.0}, Model(2.0, 1.0)
    assert vlad.compile(f, *example)(*example) == {"a": 3.0, "b": 5.0}


@pytest.mark.any_compiler
def test_a_dict_whose_keys_are_known_only_in_a_call_is_compiled() -> None:
    session = vlad.Session(tier="auto")
    f = of(
        "def f(xs, w):\n    d = {x: w * x for x in xs}\n    return sum([d[x] for x in xs]) + len(d)", session
    )
    example = [1.0, 2.0, 3.0, 2.0], 2.0
    assert vlad.compile(f, *example)(*example) == 19.0


def test_a_missing_key_is_a_key_error(session: vlad.Session) -> None:
    f = of("def f(d):\n    return d['b']", session)
    with pytest.raises(KeyError) as caught:
        f({"a": 1.0})
    error = caught.value
    assert isinstance(error, vlad.VladError) and "'b'" in error.message
    assert error.span is not None and error.span.text == "d['b']"


def test_a_caller_keeps_its_dict(session: vlad.Session) -> None:
    f = of("def f(d):\n    d['a'] = 5.0\n    d.update(b=1.0)\n    return d", session)
    d = {"a": 1.0}
    assert f(d) == {"a": 5.0, "b": 1.0} and d == {"a": 1.0}


def test_a_method_is_a_function(session: vlad.Session) -> None:
    model = Model(1.5, 0.5)
    assert model.loss([1.0, 2.0]) == Model.loss(model, [1.0, 2.0]) == 0.25
    assert vlad.grad(Model.loss, argnums=0)(model, [1.0, 2.0]) == Model(-2.0, -1.0)
    f = of("def f(m, x): return m.loss([x]) + m.predict(x, k=2.0)", session)
    assert f(model, 1.0) == model.loss([1.0]) + model.predict(1.0, k=2.0)


def test_a_class_that_nothing_named_comes_with_an_argument(session: vlad.Session) -> None:
    own = f"breadth{next(SERIAL)}"  # of no class that is known yet
    f = of(f"def f(p): return p.{own} * 2", session)
    with pytest.raises(vlad.VladError, match=f"the attribute {own}"):
        f(1.0)
    one = names_of(f"class One(NamedTuple):\n    {own}: float")["One"]
    assert f(one(3.0)) == 6.0
    two = names_of(f"class Two(NamedTuple):\n    other: float\n    {own}: float")["Two"]
    assert f(two(0.0, 4.0)) == 8.0 and f(one(3.0)) == 6.0
    assert vlad.grad(f)(two(0.0, 4.0)) == two(0.0, 2.0)
    three = names_of(f"class Three(NamedTuple):\n    a: float\n    b: float\n    {own}: float")["Three"]
    assert vlad.grad(f)(three(0.0, 0.0, 4.0)) == three(0.0, 0.0, 2.0)
    with pytest.raises(AttributeError):
        f(1.0)


def test_a_class_that_is_defined_again(session: vlad.Session) -> None:
    text = "class C(NamedTuple):\n    a: float\n    def value(self): return self.a * {}\ndef f(x): return C(x).value()"
    first, second = names_of(text.format(2)), names_of(text.format(3))
    assert session.function(first["f"])(1.0) == 2.0
    assert session.function(second["f"])(1.0) == 3.0
    assert session.function(first["f"])(1.0) == 2.0
    assert type(of("def f(x): return x", session)(first["C"](1.0))) is first["C"]


def test_a_method_without_translation_is_an_error_where_it_is_called(session: vlad.Session) -> None:
    names = names_of("""
class Good(NamedTuple):
    a: float
    def total(self): return self.a

class Bad(NamedTuple):
    a: float
    def total(self):
        with open("x"): return self.a

def f(x):
    return Good(x).total()

def g(x):
    return Bad(x).total()
""")
    assert session.function(names["f"])(1.0) == 1.0
    assert session.function(names["f"])(2.0) == 2.0
    with pytest.raises((TypeError, vlad.VladError), match="`with`"):
        session.function(names["g"])(1.0)


def test_arguments_of_any_number(session: vlad.Session) -> None:
    f = of("def f(a, *xs, k=1.0, **named): return a * k + sum(xs) + sum(named.values())", session)
    for _ in range(3):
        assert f(1.0) == 1.0 and f(1.0, 2.0, 3.0) == 6.0 and f(1.0, 2.0, k=2.0, z=5.0) == 9.0
        assert vlad.grad(f)(1.0, 2.0, 3.0, k=2.0, z=5.0) == (2.0, (1.0, 1.0), 1.0, {"z": 1.0})
    with pytest.raises(TypeError):
        f()


# A function f of a real and a list; the text that is marked; a part of the message, and of the hint.
REFUSED = [
    ("def f(x, xs): return Changing(x)", "Changing", "Changing, a dataclass that can change", "frozen=True"),
    ("def f(x, xs): return Identical(x)", "Identical", "eq=False", "compared by their fields"),
    ("def f(x, xs): return Sized(x)", "Sized", "defines __len__", "their fields"),
    ("def f(x, xs): return isinstance(x, Changing)", "Changing", "a dataclass that can change", "frozen"),
    ("def f(x, xs): return Point(x, 1, 2)", "Point(x, 1, 2)", "this call of Point", "it takes x, y"),
    ("def f(x, xs): return Point(z=x)", "Point(z=x)", "this call of Point", "it takes x, y"),
    ("def f(x, xs): return Model(x, x).predict(1, 2, 3)", "Model(x, x).predict(1, 2, 3)", "this call", "it takes self, x, k"),
    ("def f(x, xs): return Point(x).nothing", "Point(x).nothing", "the attribute nothing", "an array has"),
    ("def f(x, xs): return Point(x).nothing()", "Point(x).nothing()", "the method nothing", "there are"),
    ("def f(x, xs): return {'%a': x}", "'%a'", "this key", "begin with %"),
    ("def f(x, xs):\n    d = {'a': x}\n    e = d\n    e['a'] = 1.0\n    return d", "e['a'] = 1.0", "line 3 shares", ".copy()"),
    ("def f(x, xs):\n    d = {'a': x}\n    e = [d]\n    d['a'] = 1.0\n    return e", "d['a'] = 1.0", "line 3 shares", ".copy()"),
    ("def f(x, xs):\n    d = {'a': x}\n    v = d.keys()\n    d['b'] = 1\n    return v", "d['b'] = 1", "line 3 shares", "copy"),
    ("def f(x, xs):\n    d = {'a': x}\n    for k in d:\n        d['b'] = 1.0\n    return d", "d", "in the loop", "list(d)"),
    ("def f(x, xs):\n    d = {'a': x}\n    for k, v in d.items():\n      d[v] = 1\n    return x", "d", "in the loop", "list(d)"),
    (
        "def f(x, xs):\n    d = {'a': xs}\n    d['a'][0] = 1.0\n    return d", "d['a'][0] = 1.0", "parts line 2 shares",
        "value of its own",
    ),
    ("def f(x, xs): return dict(1, 2)", "dict(1, 2)", "this call of dict", "pairs"),
    ("def f(x, xs): return xs(**{'a': x})", "**{'a': x}", "`**` in this call", "one by one"),
    ("def f(x, xs):\n    match x:\n        case Point(1, 2, 3): return 1\n    return 2", "3", "so many patterns", "x, y"),
    ("def f(x, xs): return vlad.grad(lambda *a: sum(a))(x)", "lambda *a: sum(a)", "any number of arguments", "lambda"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "marked", "message", "hint"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(text: str, marked: str, message: str, hint: str) -> None:
    f = of(text, vlad.Session(tier="evaluate"))
    with pytest.raises(vlad.VladError) as caught:
        f(1.0, [1.0, 2.0])
    error = caught.value
    assert error.code == "not-translated" and error.span is not None
    assert error.span.text == marked and message in error.message and hint in (error.hint or "")


def test_what_does_not_cross_says_why(session: vlad.Session) -> None:
    f = of("def f(x): return x", session)
    for value, why in (
        (Changing(1.0), "frozen=True"),
        (Identical(1.0), "compared by their fields"),
        (Sized(1.0), "their fields"),
        ({"%a": 1.0}, "do not begin with %"),
        ({None: 1.0}, "texts"),
    ):
        with pytest.raises(TypeError) as caught:
            f(value)
        assert isinstance(caught.value, vlad.VladError) and why in (caught.value.hint or "")


def test_replace_is_pythons(session: vlad.Session) -> None:
    f = session.function(replaced)
    assert f(Model(1.0, 2.0), 3.0) == replaced(Model(1.0, 2.0), 3.0)
    with pytest.raises(TypeError):
        f(1.0, 2.0)


def replaced(m: Model, x: float) -> Model:
    return replace(m, b=x)


@pytest.mark.any_compiler
def test_machine_code_for_a_list_takes_no_tuple_and_no_record(session: vlad.Session) -> None:
    f = of("def f(xs): return sum(xs)", session)
    for _ in range(3):
        assert f([1.0, 2.0]) == 3.0 and vlad.grad(f)([1.0, 2.0]) == [1.0, 1.0]
    for other in ((1.0, [2.0]), Model(1.0, [2.0])):  # type: ignore[arg-type]  # as in the language they are pairs
        with pytest.raises(vlad.VladError):
            f(other)
        with pytest.raises(vlad.VladError):
            vlad.grad(f)(other)


SETS = (
    set(), {1.0, 2.0}, frozenset({"a", "b"}), {(1.0, True), ()}, {frozenset({1.0}), None}, {Point(1.0), (3.0, 4.0)},
    {Model(1.0, 2.0)},
)  # fmt: skip


def test_sets_cross_as_what_they_are() -> None:
    f = of("def f(s, x): return s, len(s), x in s, [s], {'s': s}, s | {x}", vlad.Session(tier="evaluate"))
    for one in SETS:
        for x in (True, "a", (1, 1), frozenset({True}), (1, 2), Model(1.0, 2.0), None, ()):
            found = f(one, x)
            assert found == f.python(one, x) and type(found[0]) is type(found[5]) is type(one), (one, x)


def test_sets_cross_to_compiled_code_and_back() -> None:
    f = of("def f(s, x): return s, {x: s}, x in s", vlad.Session(tier="compile"))
    for one in SETS:
        assert f(one, 1.0) == f.python(one, 1.0)


def test_there_is_no_derivative_by_a_set_or_of_one(session: vlad.Session) -> None:
    f = of("def f(s, x): return x * len(s) * (2.0 if x in s else 3.0)", session)
    g = of("def f(x): return {x, 2 * x}", session)
    assert vlad.grad(f, argnums="x")({1.0, 2.0}, 1.0) == 4.0
    assert vlad.value_and_grad(f, argnums=1)(frozenset({1.0}), 2.0) == (6.0, 3.0)
    for derivative in (
        lambda: vlad.grad(f)({1.0}, 2.0),
        lambda: vlad.grad(f, argnums=0)({1.0}, 2.0),
        lambda: vlad.jacobian(g)(1.0),
        lambda: vlad.jvp(g, (1.0,), (1.0,)),
    ):
        with pytest.raises(vlad.VladError) as caught:
            derivative()
        assert caught.value.code == "no-derivative" and "a list has" in (caught.value.hint or "")


def test_types_of_sets_are_in_words_of_python(session: vlad.Session) -> None:
    f = of("def f(s, x):\n    t = frozenset(s)\n    return {x}, set(), t, {y * x for y in s}", session)
    assert "t: frozenset[float]" in str(vlad.check(f, {1.0, 2.0}, 3.0))
    assert "-> tuple[set[float], set, frozenset[float], set[float]]" in str(vlad.check(f, {1.0, 2.0}, 3.0))


def test_directions_of_plain_functions() -> None:
    assert vlad.jvp(lambda x: x * x, (2.0,), (1.0,)) == (4.0, 4.0)
    assert vlad.hvp(lambda x: x**3, (2.0,), (1.0,)) == 12.0


def test_functions_know_sets_that_others_return(session: vlad.Session) -> None:
    """`-` is that of numbers until sets come into use."""
    names = names_of(
        "def less(a, b): return a - b\ndef f(a): return less(less(a, {1.0}), {x for x in [2.0]})"
    )
    less, f = session.function(names["less"]), session.function(names["f"])
    assert less(3.0, 1.0) == 2.0 and "(- a b)" in less.text
    assert f({1.0, 2.0, 3.0}) == {3.0} and less(3.0, 1.0) == 2.0 and less({1.0}, {1.0}) == set()
