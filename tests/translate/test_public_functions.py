"""vlad's public functions inside of translated functions, and outside: derivatives, own derivatives, random numbers."""

from __future__ import annotations

import functools
import math
import operator
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlad

sys.path.insert(0, str(Path(__file__).parent.parent))
from python_texts import run

HELPERS = """
import math
import numpy as np
import vlad

def product(x, y):
    return x * x * y

def cube(x):
    return x**3

def repeated(x, steps=3):
    for _ in range(steps):
        x = math.sin(x) * x
    return x

def counting(n):
    return sum([0.5 for _ in range(n)])

def both(f, *arguments):
    return f

def rule(x, y):
    def back(s):
        return 7.0 * s * y, 8.0 * s
    return product(x, y), back
""".replace("def both(f, *arguments):\n    return f\n\n", "")
# Expressions of a, which is 2, and their values.
EXPRESSIONS: list[tuple[str, Any]] = [
    ("vlad.grad(lambda x, y: x * x * y, argnums=0)(a, 3.0)", 12.0),
    ("vlad.grad(product, argnums='y')(a, 3.0)", 4.0),
    ("vlad.grad(product, argnums=-1)(a, 3.0)", 4.0),
    ("vlad.grad(product, argnums=(0, 1))(a, 3.0)", (12.0, 4.0)),
    ("vlad.grad(product, argnums=('y',))(a, 3.0)", (4.0,)),
    ("vlad.grad(product)(a, 3.0)", (12.0, 4.0)),
    ("vlad.grad(product, 1)(y=a, x=3.0)", 9.0),
    ("vlad.value_and_grad(product, 0)(a, 3.0)", (12.0, 12.0)),
    ("vlad.value_and_grad(product, (0,))(a, 3.0)", (12.0, (12.0,))),
    ("vlad.value_and_grad(product)(a, 3.0)", (12.0, (12.0, 4.0))),
    ("vlad.hessian(product, argnums=0)(a, 3.0)", 6.0),
    ("vlad.jacobian(lambda v, w: v * v * w, argnums=0)(np.array([a, 3.0]), 2.0).tolist()", [[8.0, 0.0], [0.0, 12.0]]),
    ("vlad.jvp(cube, a, 1.0)", (8.0, 12.0)),
    ("vlad.jvp(cube, (a,), (1.0,))", (8.0, 12.0)),
    ("vlad.jvp(product, (a, 2.0), (1.0, 0.5))", (8.0, 10.0)),
    ("vlad.jvp(lambda v: v[0] * v[1], [a, 3.0], [1.0, 0.0])", (6.0, 3.0)),
    ("vlad.hvp(cube, a, 0.5)", 6.0),
    ("vlad.hvp(product, (a, 2.0), (1.0, 0.0))", (4.0, 4.0)),
    ("vlad.vjp(product, a, 3.0)[1](2.0)", (24.0, 8.0)),
    ("vlad.vjp(cube, a)[1](2.0)", 24.0),
    ("vlad.vjp(cube, a)[0]", 8.0),
    ("vlad.grad(vlad.grad(cube))(a)", 12.0),
    ("vlad.grad(lambda x: vlad.grad(product, argnums=1)(x, x))(a)", 4.0),
    ("[vlad.grad(lambda x: x**n)(a) for n in (1.0, 2.0, 3.0)]", [1.0, 4.0, 12.0]),
    ("vlad.grad(repeated, argnums=0)(a) - vlad.grad(lambda x: repeated(x))(a)", 0.0),
    ("vlad.grad(repeated, argnums=0)(a, steps=1) - math.cos(a) * a - math.sin(a)", 0.0),
    ("vlad.grad(lambda x: x * vlad.stop_gradient(x))(a)", 2.0),
    ("vlad.stop_gradient([a, 1.0])", [2.0, 1.0]),
    ("vlad.grad(vlad.custom_derivative(lambda x: x * x, forward=lambda x, dx: 100.0 * dx))(a)", 100.0),
    ("vlad.grad(lambda x: vlad.custom_derivative(cube, forward=lambda x, dx: a * x * dx)(x))(a)", 4.0),
    ("vlad.grad(lambda x, y: vlad.custom_derivative(product, reverse=rule)(x, y))(a, 3.0)", (21.0, 8.0)),
    ("vlad.custom_derivative(product, reverse=rule)(a, 3.0)", 12.0),
    ("vlad.checkpointed(repeated)(a) - repeated(a)", 0.0),
    ("vlad.grad(lambda c: vlad.checkpointed(lambda x: c * x * x)(a))(3.0)", 4.0),
    ("vlad.hessian(vlad.checkpointed(cube))(a)", 12.0),
    ("vlad.grad(vlad.checkpointed(lambda x: repeated(x), segments=3, snapshots=2))(a) - vlad.grad(repeated, 0)(a)", 0.0),
]  # fmt: skip


def function_of(text: str) -> Any:
    names: dict[str, Any] = {"__name__": "public"}
    run(f"{HELPERS}\n{text}\n", f"public {text}", names)
    return names["f"]


def close(a: Any, b: Any) -> bool:
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(close, a, b))
    return bool(a == pytest.approx(b, abs=1e-12))


@pytest.mark.any_compiler
@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_derivatives_inside(tier: str) -> None:
    f = function_of(f"def f(a):\n    return [{', '.join([text for text, _ in EXPRESSIONS])}]")
    found = vlad.Session(tier=tier).function(f)(2.0)
    assert [
        (text, value)
        for (text, expected), value in zip(EXPRESSIONS, found, strict=True)
        if not close(value, expected)
    ] == []


REFUSED = [
    ("vlad.grad(product, argnums=2)(a, 3.0)", "this argnums", "x, y"),
    ("vlad.grad(product, argnums='z')(a, 3.0)", "this argnums", "x, y"),
    ("vlad.grad(product, argnums=(0, 0))(a, 3.0)", "this argnums", "once"),
    ("vlad.grad(product, argnums=int(a))(a, 3.0)", "this argnums", "number or the name"),
    ("vlad.grad(product, has_aux=True)(a, 3.0)", "this call", "argnums"),
    ("vlad.grad((product, cube)[0], argnums=0)(a, 3.0)", "of this function", "lambda"),
    ("vlad.hessian(product)(a, 3.0)", "hessian by several", "argnums=0"),
    ("vlad.jvp(cube, a)", "this call", "tangents"),
    ("vlad.jvp(cube, (a, a), (1.0, 0.0))", "this call", "takes x"),
    ("vlad.custom_derivative(cube)(a)", "this call", "reverse="),
    ("vlad.custom_derivative(cube, forward=cube)(a)", "forward takes 2 arguments here, not (x)", "then their tangents"),
    ("vlad.custom_derivative(cube, reverse=lambda x, s: x)(a)", "reverse takes 1 argument here, not (x, s)", "arguments"),
    ("list(map(vlad.grad, [cube]))", "vlad.grad as a value", "lambda"),
    ("[vlad.grad(g, argnums=1)(a, 2) for g in [lambda x, n: x * sum(x for _ in range(n))]]", "chosen", "lambda"),
    ("vlad.grad(lambda x, n: x * sum([x for _ in range(n)]), argnums=1)(a, 2)", "by a counter", "no derivative"),
    ("vlad.grad(lambda n: a * sum([a for _ in range(n)]))(2)", "by a counter", "n is a whole number in line 2"),
    ("vlad.value_and_grad(counting)(2)", "by a counter", "no derivative"),
    ("vlad.jacobian(repeated, argnums='steps')(a, 2)", "by a counter", "no derivative"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "message", "hint"), REFUSED)
def test_what_is_refused_inside(expression: str, message: str, hint: str) -> None:
    f = vlad.Session(tier="evaluate").function(function_of(f"def f(a):\n    return {expression}"))
    with pytest.raises(vlad.VladError) as caught:
        f(2.0)
    error = caught.value
    assert error.code == "not-translated" and message in error.message and hint in (error.hint or "")


def test_arguments_are_chosen_by_name_outside() -> None:
    f = vlad.function(
        function_of("def f(x, y, steps=2):\n    for _ in range(steps):\n        x = x * y\n    return x")
    )
    assert vlad.grad(f, argnums="x")(2.0, 3.0) == 9.0
    assert vlad.grad(f, argnums=("y", 0))(2.0, 3.0) == (12.0, 9.0)
    assert vlad.hessian(f, argnums="y")(2.0, 3.0) == 4.0
    procedure = vlad.Session().eval("(lambda (a b) (* a a b))")
    assert vlad.grad(procedure, argnums="b")(2.0, 3.0) == 4.0
    with pytest.raises(vlad.VladError, match="by argnums 'z'"):
        vlad.grad(f, argnums="z")
    with pytest.raises(vlad.VladError, match="takes a whole number for it"):
        vlad.grad(f, argnums=2)
    assert vlad.grad(f)(2.0, 3.0) == (9.0, 12.0, 0.0)  # silent where it is not asked for


# A function of a counter n: its text, and the line and column of the use that an error shows.
COUNTERS = {
    "range": ("def f(n):\n    return sum([0.5 * i for i in range(n)])", (2, 34)),
    "arithmetic": ("def f(n):\n    s = 0.0\n    for i in range(1, 2 * n + 1):\n        s += i\n    return s", (3, 14)),
    "index": ("XS = [1.0, 2.0, 3.0, 4.0]\ndef f(n):\n    return XS[n]", (3, 12)),
    "slice": ("XS = [1.0, 2.0, 3.0, 4.0]\ndef f(n):\n    return sum(XS[:n]) * n", (3, 16)),
    "axes": ("XS = np.eye(3)\ndef f(n):\n    return XS[n - 1, 0]", (3, 12)),
    "length": ("def f(n):\n    return np.sum(np.ones((n, 2)))", (2, 19)),
    "copies": ("def f(n):\n    return sum([0.5] * n)", (2, 16)),
    "called": ("def g(x, k):\n    return [x] * k\ndef f(n):\n    return sum(g(1.5, k=n + 1))", (2, 12)),
    "inner": ("def f(n):\n    def g(k): return sum([0.5 for _ in range(k)])\n    return g(n)", (2, 40)),
    "recursive": ("def f(n):\n    return g(n)\ndef g(n):\n    return n if n < 1 else sum([f(n - 1) for _ in range(n)])", (4, 51)),
    "cached": ("@functools.cache\ndef f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)", (2, 1)),
}  # fmt: skip
ASKED: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: vlad.grad(f)(3),
    "argnums": lambda f: vlad.grad(f, argnums="n"),
    "value_and_grad": lambda f: vlad.value_and_grad(f)(3),
    "jacobian": lambda f: vlad.jacobian(f)(3),
    "hessian": lambda f: vlad.hessian(f)(3),
    "vjp": lambda f: vlad.vjp(f, 3),
    "jvp": lambda f: vlad.jvp(f, 3, 1.0),
    "hvp": lambda f: vlad.hvp(f, (3,), (1.0,)),
    "compile": lambda f: vlad.compile(vlad.grad(f), 3),
    "check": lambda f: vlad.check(vlad.grad(f), 3),
}


def alone(text: str) -> Any:
    names: dict[str, Any] = {}
    run(f"import functools; import numpy as np\n{text}", "counter.py", names)
    return names["f"]


@pytest.mark.parametrize("use", COUNTERS)
def test_a_derivative_by_a_counter_is_an_error_at_its_use(use: str) -> None:
    text, place = COUNTERS[use]
    f = vlad.Session(tier="evaluate").function(alone(text))
    assert f(3) == f.python(3)
    for asked in ASKED.values() if use == "range" else [ASKED["grad"], ASKED["argnums"]]:
        with pytest.raises(
            vlad.VladError, match="No derivative by n: f takes a whole number for it"
        ) as caught:
            asked(f)
        assert (
            caught.value.span is not None and (caught.value.span.line - 1, caught.value.span.column) == place
        )


# Whole numbers by which there is a derivative: they are numbers like others.
NUMBERS = {
    "def f(n):\n    return n * n": 6.0,
    "def f(n):\n    return n if n < 2 else n * f(n - 1)": 11.0,
    "def f(n):\n    x = 0.0\n    i = 0\n    while i < n:\n        x += n\n        i += 1\n    return x": 3.0,
    "def f(n):\n    return n * sum([1.0 for _ in range(int(n))])": 3.0,
    "def f(n):\n    g = lambda n: sum([1.0 for _ in range(n)])\n    return n * g(2)": 2.0,
    "def f(n):\n    return n * sum([[2.0, 3.0][n] for n in range(2)])": 5.0,
    "def f(n):\n    def range(k): return [k]\n    return sum(range(n))": 1.0,
}


@pytest.mark.parametrize("text", NUMBERS)
def test_a_whole_number_that_counts_nothing_has_a_derivative(text: str) -> None:
    f = vlad.Session(tier="evaluate").function(function_of(text))
    assert vlad.grad(f)(3) == vlad.vjp(f, 3)[1](1.0) == vlad.jvp(f, 3, 1.0)[1] == NUMBERS[text]


def test_a_counter_beside_others_has_the_derivative_zero() -> None:
    f = vlad.function(function_of("def f(x, n):\n    return x * sum([x for _ in range(n)])"))
    assert vlad.grad(f)(2.0, 3) == (12.0, 0.0) == vlad.vjp(f, 2.0, 3)[1](1.0)
    assert vlad.jvp(f, (2.0, 3), (1.0, 0.0)) == (12.0, 12.0)
    with pytest.raises(vlad.VladError, match="No derivative by n"):
        vlad.jvp(f, (2.0, 3), (1.0, 1.0))
    with pytest.raises(vlad.VladError, match="No derivative by n"):
        vlad.grad(f, argnums=(0, 1))


def test_directions_are_of_all_parameters() -> None:
    """A default does not vary, several arguments are those of `*xs`, and no argument is taken for a part of another one."""
    power = vlad.function(function_of("def f(x, n=2.0, *, word='a', c=(1.0, 2.0)):\n    return c[1] * x**n"))
    assert vlad.jvp(power, 3.0, 1.0) == (18.0, 12.0)
    assert vlad.jvp(power, (3.0, 3.0), (1.0, 0.0)) == (54.0, 54.0)
    assert vlad.hvp(power, 3.0, 1.0)[0] == 4.0
    several = vlad.function(function_of("def f(*xs):\n    return xs[0] * sum(xs)"))
    assert vlad.jvp(several, 3.0, 1.0) == (9.0, 6.0)
    assert vlad.jvp(several, (3.0, 4.0), (0.0, 1.0)) == (21.0, 3.0)
    assert vlad.jvp(several, (np.array([1.0, 2.0]),), (np.ones(2),))[1].tolist() == [2.0, 4.0]
    joined = vlad.function(function_of("def f(xs):\n    return np.concatenate(xs)"))
    pair = (np.array([1.0, 2.0]), np.array([3.0]))
    assert vlad.jvp(joined, (pair,), (pair,))[1].tolist() == [1.0, 2.0, 3.0]
    for derivative in (vlad.jvp, vlad.hvp):
        with pytest.raises(TypeError, match="positional argument"):
            derivative(joined, pair, pair)


@pytest.mark.any_compiler
@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_the_jacobian_of_a_tuple_is_a_tuple(tier: str) -> None:
    f = vlad.Session(tier=tier).function(function_of("def f(x):\n    return x * x, [x, 2.0 * x], ()"))
    for _ in range(3):
        assert vlad.jacobian(f)(3.0) == (6.0, [1.0, 2.0], ())


@vlad.custom_derivative(forward=lambda x, dx: dx / (1.0 + x * x))
def step(x: float) -> float:
    """1 above 0."""
    return 1.0 if x > 0 else 0.0


@vlad.custom_derivative(reverse=lambda x, y: (x * y, lambda s: (10.0 * s, 20.0 * s)))
def times(x: float, y: float = 2.0) -> float:
    return x * y


@vlad.checkpointed
def segment(x: float, turns: int = 3) -> float:
    for _ in range(turns):
        x = 2.0 * math.sin(x)
    return x


def plain_segment(x: float, turns: int = 3) -> float:
    for _ in range(turns):
        x = 2.0 * math.sin(x)
    return x


def test_own_derivatives_outside() -> None:
    assert step(2.0) == 1.0 and vlad.grad(step)(2.0) == 0.2
    assert vlad.hessian(step)(2.0) == pytest.approx(-4 / 25)
    assert step.__name__ == "step" and step.__doc__ == "1 above 0."
    assert times(3.0) == 6.0 and vlad.grad(times)(3.0, 4.0) == (10.0, 20.0)
    assert vlad.grad(times, argnums="y")(3.0) == 20.0
    assert vlad.grad(vlad.function(lambda x: step(x) * x))(2.0) == 1.4
    assert vlad.custom_derivative(vlad.function(lambda x: x), forward=lambda x, dx: 3.0 * dx)(5.0) == 5.0
    with pytest.raises(vlad.VladError, match="takes a rule"):
        vlad.custom_derivative(math.sin)
    assert vlad.grad(vlad.custom_derivative(math.sin, forward=lambda x, dx: 7.0 * dx))(5.0) == 7.0


def bent(slope: float) -> Any:
    """A function with a rule, both of which capture a variable."""

    @vlad.custom_derivative(forward=lambda x, dx: slope * dx)
    def f(x: float) -> float:
        return x * x + slope

    return f


SLOPE = 5.0


def global_rule(x: float, dx: float) -> float:
    return SLOPE * dx


def test_rules_see_the_variables_around_them() -> None:
    global SLOPE
    first, second = bent(3.0), bent(4.0)
    assert [first(2.0), vlad.grad(first)(2.0), second(2.0), vlad.grad(second)(2.0)] == [7.0, 3.0, 8.0, 4.0]
    f = vlad.custom_derivative(lambda x: x * SLOPE, forward=global_rule)
    assert (f(2.0), vlad.grad(f)(2.0)) == (10.0, 5.0)
    SLOPE = 7.0
    assert (f(2.0), vlad.grad(f)(2.0)) == (14.0, 7.0)


def test_checkpoints_outside() -> None:
    plain = vlad.function(plain_segment)
    assert segment(1.0) == plain(1.0) == plain_segment(1.0)
    for turns in (1, 4):
        assert vlad.grad(segment, argnums=0)(1.0, turns) == pytest.approx(
            vlad.grad(plain, argnums=0)(1.0, turns)
        )
    assert vlad.hessian(segment, argnums="x")(1.0) == pytest.approx(vlad.hessian(plain, argnums="x")(1.0))
    assert vlad.jvp(segment, (1.0, 3), (1.0, 0.0))[1] == pytest.approx(vlad.grad(plain, argnums=0)(1.0))
    assert vlad.stop_gradient(3) == 3


def test_options_of_checkpoints() -> None:
    for options in ({"segments": 5}, {"segments": 7, "snapshots": 2}, {"snapshots": None}):
        frugal = vlad.checkpointed(**options)(lambda x: plain_segment(x, 4))
        assert vlad.grad(frugal)(1.0) == pytest.approx(vlad.grad(plain_segment, 0)(1.0, 4))
    with pytest.raises(vlad.VladError, match="snapshots is 0"):
        vlad.checkpointed(plain_segment, snapshots=0)


def test_a_checkpointed_function_is_pickled() -> None:
    assert pickle.loads(pickle.dumps(segment))(1.0) == segment(1.0)


def test_random_numbers() -> None:
    key = vlad.random.key(7)
    assert key == vlad.random.key(7) != vlad.random.key(8)
    first, second, third = vlad.random.split(key, 3)
    assert len({key, first, second, third}) == 4
    drawn = vlad.random.normal(first, 1.0, 2.0, size=20_000)
    assert drawn.mean() == pytest.approx(1.0, abs=0.05) and drawn.std() == pytest.approx(2.0, abs=0.05)
    assert np.array_equal(drawn, vlad.random.normal(first, 1.0, 2.0, size=20_000))
    assert vlad.random.uniform(second, 2.0, 3.0, (2, 5)).shape == (2, 5)
    assert isinstance(vlad.random.uniform(second), float)
    evenly = vlad.random.uniform(second, 2.0, 3.0, 10_000)
    assert 2.0 <= evenly.min() and evenly.max() < 3.0 and evenly.mean() == pytest.approx(2.5, abs=0.02)
    assert vlad.random.exponential(third, 3.0, 20_000).mean() == pytest.approx(3.0, abs=0.1)
    whole = vlad.random.integers(third, 2, 5, 1000)
    assert set(np.asarray(whole).tolist()) == {2, 3, 4}
    assert sorted(np.asarray(vlad.random.permutation(key, 5)).tolist()) == [0, 1, 2, 3, 4]
    assert set(np.asarray(vlad.random.choice(key, [1.5, 2.5], 50)).tolist()) == {1.5, 2.5}


@pytest.mark.any_compiler
@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_random_numbers_inside(tier: str) -> None:
    text = """
def f(key, scale):
    first, second = vlad.random.split(key)
    noise = vlad.random.normal(first, scale=scale, size=(3,))
    for one in vlad.random.split(second, 2):
        noise = noise + vlad.random.uniform(one, high=scale)
    return np.sum(noise)
"""
    python, key = function_of(text), vlad.random.key(3)
    f = vlad.Session(tier=tier).function(python)
    assert f(key, 2.0) == pytest.approx(python(key, 2.0))
    assert vlad.grad(f, argnums="scale")(key, 2.0) == pytest.approx(f(key, 2.0) / 2.0)


@dataclass(frozen=True)
class Scaled:
    scale: float

    def of(self, x: float) -> float:
        return self.scale * x * x

    def __call__(self, x: float) -> float:
        return self.scale * x

    @classmethod
    def doubled(cls, x: float) -> float:
        return 2.0 * x


SCALED = Scaled(3.0)
OF_SCALED = SCALED.of


class Changing:
    def __init__(self) -> None:
        self.scale = 3.0

    def of(self, x: float) -> float:
        return self.scale * x

    def __call__(self, x: float) -> float:
        return self.scale * x


def test_what_is_called_like_a_function_is_differentiated() -> None:
    cases: list[tuple[Any, float]] = [
        (SCALED.of, 12.0),
        (SCALED, 3.0),
        (Scaled.doubled, 2.0),
        (lambda x: SCALED(x) + OF_SCALED(x), 15.0),
        (np.sin, math.cos(2.0)),
        (math.sin, math.cos(2.0)),
        (functools.partial(math.atan2, 1.0), -1.0 / 5.0),
        (functools.partial(lambda x, scale: scale * x, scale=3.0), 3.0),
        (functools.lru_cache(lambda x: x * x), 4.0),
        (operator.neg, -1.0),
    ]
    for f, slope in cases:
        assert vlad.grad(f)(2.0) == pytest.approx(slope)
        assert vlad.function(f)(2.0) == pytest.approx(f(2.0))
    assert vlad.function(SCALED.of) == vlad.function(SCALED.of)
    refused: list[tuple[Any, str]] = [
        (Changing().of, "frozen dataclass"),
        (Changing(), "frozen dataclass"),
        (max, r"lambda x, y: max\(x, y\)"),
        (np.vectorize(lambda x: x), "lambda x, y: f"),
    ]
    for other, way in refused:
        with pytest.raises(vlad.VladError, match=way):
            vlad.grad(other)(2.0)


def with_rest(w: Any, x: float = 3.0) -> Any:
    return np.sum((w * x - 1.0) ** 2), {"seen": [w * x, "text"]}


def test_gradients_of_functions_that_return_more() -> None:
    grad, both = vlad.grad(with_rest, has_aux=True), vlad.value_and_grad(with_rest, has_aux=True)
    for _ in range(2):  # the second call is by compiled code, or by places
        assert grad(2.0) == ((30.0, 20.0), {"seen": [6.0, "text"]})
        assert both(2.0) == ((25.0, {"seen": [6.0, "text"]}), (30.0, 20.0))
    assert vlad.grad(with_rest, "w", has_aux=True)(2.0)[0] == 30.0
    (value, rest), slope = vlad.value_and_grad(with_rest, argnums=(0,), has_aux=True)(np.array([1.0, 2.0]))
    assert value == 29.0 and rest["seen"][0].tolist() == [3.0, 6.0] and slope[0].tolist() == [12.0, 30.0]
    assert pickle.loads(pickle.dumps(both))(2.0, 3.0) == both(2.0)
    session = vlad.Session()
    session.eval("(define (f x) (cons (* x x) (list x 1)))")
    assert vlad.grad(session["f"], has_aux=True)(3.0) == (6.0, (3.0, 1.0))
    for f, message in (
        (lambda x: x * x, "a function returns a pair, of a real and of the rest, not"),
        (lambda x: ((x, x), x), "real"),
    ):
        with pytest.raises(vlad.VladError, match=message):
            vlad.grad(f, has_aux=True)(2.0)
    with pytest.raises(ValueError, match="without has_aux"):
        vlad.value_and_grad(with_rest, has_aux=True, data=np.ones(3))


def test_what_is_no_key_is_an_error() -> None:
    for key in (3, [1.0, 2.0], (1.0, 2.0, 3.0)):
        with pytest.raises(TypeError, match=r"vlad\.random\.key"):
            vlad.random.normal(key)  # type: ignore[arg-type]


def test_rules_and_functions_that_do_not_fit_are_errors_at_once() -> None:
    for f, rules in (
        (lambda x: x, {"forward": lambda x: x}),
        (lambda x, y: x, {"reverse": lambda x: x}),
        (lambda x: x, {"forward": lambda x, dx, more: x}),
        (lambda *x: x, {"forward": lambda x, dx: x}),
        (lambda x, *, k=1.0: x, {"forward": lambda x, k, dx, dk: x}),
    ):
        with pytest.raises(ValueError, match="takes"):
            vlad.custom_derivative(f, **rules)


def test_a_procedure_of_a_session_is_checkpointed() -> None:
    session = vlad.Session()
    session.eval("(define (turns x n) (if (= n 0) x (turns (+ x (* 0.1 (sin x))) (- n 1))))")
    turns = session["turns"]
    slope = vlad.grad(turns, 0)(1.0, 30)
    for frugal in (
        vlad.checkpointed(turns),
        vlad.checkpointed(turns, segments=3),
        vlad.checkpointed(snapshots=2)(turns),
    ):
        assert frugal(1.0, 30) == turns(1.0, 30)
        assert vlad.grad(frugal, 0)(1.0, 30) == pytest.approx(slope)
        assert vlad.hessian(frugal, 0)(1.0, 3) == pytest.approx(vlad.hessian(turns, 0)(1.0, 3))
        twice = session.function(lambda x, frugal=frugal: 2.0 * frugal(x, 30))
        assert vlad.grad(twice, 0)(1.0) == pytest.approx(2.0 * slope)
    assert vlad.grad(vlad.checkpointed(vlad.grad(lambda x: x**3)))(2.0) == pytest.approx(12.0)


def test_an_error_has_what_an_operation_was_given_and_the_function() -> None:
    @vlad.function
    def distance(speed, steps=2):
        x = 0.0
        for _ in range(steps):
            x = x + 0.5 * speed
        return x

    cases: dict[Any, list[str]] = {
        ("a",): ["a text is not multiplied", "0.5 * speed\n", '  value: "a"', "in distance.loop.1"],
        (1.0, "many"): ["a whole number is expected", 'value: "many"', "in distance at"],
    }
    for arguments, words in cases.items():
        with pytest.raises(TypeError) as caught:
            distance(*arguments)
        assert [one for one in words if one not in str(caught.value)] == [], caught.value


def test_an_error_has_structures_as_python_has_them() -> None:
    @vlad.function
    def added(x):
        return x + (1.0, 2.0)  # noqa: RUF005 - the sum of two tuples is tested

    @vlad.function
    def of_dict(x):
        d = {"a": x, "b": (x,), "c": None, "d": {x}}
        return d + 1.0

    @vlad.function
    def root(x):
        return math.sqrt(x)

    cases: dict[Any, str] = {
        added: "value: 2\n  value: (1, 2)\n  hint: + takes reals; these are a real and a tuple\n",
        of_dict: 'value: {"a": 2, "b": (2,), "c": None, "d": {2}}\n  value: 1\n  hint: + takes reals; these are a dict and',
        root: "value: None\n",
    }
    for f, words in cases.items():
        with pytest.raises(vlad.VladError) as caught:
            f(None if f is root else 2.0)
        assert words in str(caught.value)
    with pytest.raises(vlad.VladError, match=r"there is `jacobian`. Not: \(2, 1\)") as caught:
        vlad.grad(vlad.function(lambda x: (x, 1.0)))(2.0)
    assert "in the library" not in str(caught.value)
    for forged in ("(%dict 1 2)", "(%set . 1)", "(%dict (a . 1) . 3)"):
        with pytest.raises(vlad.VladError) as caught:
            vlad.Session(tier="evaluate").eval(f"(sin '{forged})")
        assert f"value: {forged}\n" in str(caught.value)
