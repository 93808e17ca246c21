"""math, operator, functools and itertools in translated functions: values, gradients, and each public name is known."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sessions import shared

import vlad
from vlad.translate.known import instead_of, known, public_name
from vlad.translate.module_calls import MODULES

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
from python_texts import run
from random_functions import same

X, XS = 1.5, [3.0, 1.0, 2.0]
# Expressions of a number x, a list xs, and `two`, a function of three arguments, two of which have defaults.
EXPRESSIONS = r"""
math.fsum([0.1] * 10)
math.fsum([1e100, 1.0, -1e100, 3.0])
math.fsum(x for x in xs)
math.hypot(3.0, 4.0, 12.0)
math.hypot(x)
math.gcd(12, 18, 8)
math.lcm(4, 6, 10)
math.lcm()
math.isqrt(17)
math.ldexp(x, 3)
math.remainder(x, 0.4)
math.remainder(-5.0, 2.0)
math.remainder(7.0, 2.0)
math.perm(5)
math.perm(5, 2)
math.perm(2, 5)
math.modf(-x)
math.isclose(x, x + 1e-12)
math.isclose(x, x + 1e-3, rel_tol=0.1)
math.isclose(0.0, 1e-12, abs_tol=1e-9)
math.prod(xs)
math.prod(xs, start=2.0)
math.tau + math.e + math.inf
operator.and_(x > 1, x < 2)
operator.xor(True, x < 2)
operator.contains(xs, 2.0)
operator.countOf(xs, 2.0)
operator.indexOf(xs, 2.0)
operator.concat(xs, xs)
operator.truth(xs)
operator.pos(x)
operator.itemgetter(1)(xs)
sorted([(1.0, 3.0), (2.0, 1.0)], key=operator.itemgetter(1))
operator.itemgetter(0, 2)(xs)
functools.reduce(operator.add, xs)
functools.reduce(lambda a, b: a * b, xs, 2.0)
functools.partial(two, x)()
functools.partial(two, b=x)(2.0)
functools.partial(lambda a, b: a - b, x)(2.0)
list(map(functools.partial(two, c=2.0), xs))
functools.partial(operator.sub, 10.0)(x)
list(itertools.accumulate(xs))
list(itertools.accumulate(xs, operator.mul))
list(itertools.accumulate(xs, max))
list(itertools.accumulate(xs, lambda a, b: a * b, initial=2.0))
list(itertools.accumulate(x * i for i in range(3)))
list(itertools.chain(xs, [x], (1.0, 2.0)))
list(itertools.chain.from_iterable([xs, xs]))
list(itertools.chain(range(2), range(3)))
list(itertools.product(xs, [1.0, 2.0]))
list(itertools.product([0, 1], repeat=3))
[a * b for a, b in itertools.product(xs, xs)]
list(itertools.combinations(xs, 2))
sum(a * b for a, b in itertools.combinations(xs, 2))
list(itertools.combinations_with_replacement(xs, 2))
list(itertools.permutations(xs))
list(itertools.permutations(range(3), 2))
list(itertools.islice(xs, 2))
list(itertools.islice(xs, 1, None))
list(itertools.islice(xs, 0, 3, 2))
list(itertools.pairwise(xs))
sum((b - a) ** 2 for a, b in itertools.pairwise(xs))
list(itertools.starmap(pow, [(2.0, 3.0), (3.0, 2.0)]))
list(itertools.starmap(lambda a, b: a + b, zip(xs, xs)))
list(itertools.takewhile(lambda v: v > 1, xs))
list(itertools.dropwhile(lambda v: v > 1, xs))
list(itertools.filterfalse(lambda v: v > 1, xs))
list(itertools.compress(xs, [1, 0, 1]))
list(itertools.zip_longest(xs, [1.0], fillvalue=0.0))
list(itertools.repeat(x, 3))
[(k, list(g)) for k, g in itertools.groupby(sorted(xs + xs))]
[(k, sum(g)) for k, g in itertools.groupby(xs, key=lambda v: v > 1)]
[x & y for x, y in zip([True, False], [True, True])]
math.sumprod(xs, xs)
math.isqrt(9007199254740991)
math.fsum([1e16, 1.0, 1e-16])
math.fsum([])
math.prod([])
functools.reduce(max, xs)
list(itertools.combinations(xs, 4))
list(itertools.permutations(xs, 0))
list(itertools.product())
list(itertools.product(xs, []))
list(itertools.accumulate([]))
""".strip().split("\n")
TWO = "def two(a, b=3.0, c=1.0):\n    return a * b + c\n"
PARTS = [EXPRESSIONS[start : start + 20] for start in range(0, len(EXPRESSIONS), 20)]
MODULES_OF_PYTHON: dict[str, Any] = {
    "math": math, "operator": operator, "functools": functools, "itertools": itertools, "__name__": "modules",
}  # fmt: skip


def function_of(result: str) -> Any:
    names = dict(MODULES_OF_PYTHON)
    run(f"{TWO}def f(x, xs):\n    return {result}\n", f"modules {result}", names)
    return names["f"]


@pytest.mark.any_compiler
@pytest.mark.parametrize("tier", ["evaluate", "compile"])
@pytest.mark.parametrize("part", PARTS, ids=range(len(PARTS)))
def test_expressions_have_the_values_of_python(part: list[str], tier: str) -> None:
    part = [one for one in part if one.partition("(")[0] != "math.sumprod" or hasattr(math, "sumprod")]
    f = function_of(f"[{', '.join(part)}]")
    expected, found = f(X, list(XS)), shared(tier).function(f)(X, list(XS))
    assert [one for one in zip(part, expected, found, strict=True) if not same(one[1], one[2])] == []


# Expressions of x and xs that have derivatives.
SMOOTH = [
    "math.fsum([x * x, 0.1, x])",
    "math.hypot(x, 2.0, xs[0])",
    "math.prod(xs, start=x)",
    "math.remainder(x, 0.4)",
    "math.ldexp(x, 3)",
    "math.modf(x * 1.3)[0]",
    "functools.reduce(operator.mul, xs, x)",
    "functools.partial(two, b=x)(x * x)",
    "sum(a * b for a, b in itertools.combinations(xs, 2)) * x",
    "sum(itertools.accumulate(xs, lambda a, b: a * b, initial=x))",
    "sum(a * b * b for a, b in itertools.product(xs, [x, 2.0]))",
    "sum((b - a) ** 2 for a, b in itertools.pairwise([x] + xs))",
    "sum(itertools.starmap(lambda a, b: a**b, zip(xs, [x, x, x])))",
    "sum(itertools.chain(xs, [x * x]))",
    "operator.itemgetter(0, 2)(xs)[1] * x",
]


def test_gradients_are_those_of_differences() -> None:
    session = vlad.Session(tier="evaluate")
    for expression in SMOOTH:
        f = function_of(expression)
        by_x, by_xs = vlad.grad(session.function(f))(X, list(XS))
        assert by_x == pytest.approx((f(X + 1e-6, XS) - f(X - 1e-6, XS)) / 2e-6, rel=1e-5, abs=3e-6), (
            expression
        )
        for place, slope in enumerate(by_xs):
            moved = [[y + step * (i == place) for i, y in enumerate(XS)] for step in (1e-6, -1e-6)]
            difference = (f(X, moved[0]) - f(X, moved[1])) / 2e-6
            assert slope == pytest.approx(difference, rel=1e-5, abs=3e-6), expression


REFUSED = [
    ("math.frexp(x)", "math.frexp", "doubles"),
    ("math.nextafter(x, 2.0)", "math.nextafter", "doubles"),
    ("operator.iadd(xs, xs)", "operator.iadd", "without i"),
    ("operator.is_(x, x)", "operator.is_", "operator.eq"),
    ("functools.lru_cache(two)", "functools.lru_cache", "outside"),
    ("list(zip(xs, itertools.count()))", "itertools.count", "range"),
    ("itertools.cycle(xs)", "itertools.cycle", "no end"),
    ("itertools.repeat(x)", "without an end", "number of times"),
    ("itertools.accumulate(xs, key=x)", "the argument key", "func, initial"),
    ("itertools.combinations(xs)", "1 arguments", "an iterable and a number"),
    ("functools.partial(xs[0], x)", "functools.partial of this function", "lambda"),
]


@pytest.mark.parametrize(("expression", "message", "hint"), REFUSED)
def test_what_is_missing_is_named(expression: str, message: str, hint: str) -> None:
    with pytest.raises(vlad.VladError) as caught:
        shared("evaluate").function(function_of(expression))(X, list(XS))
    error = caught.value
    assert error.code == "not-translated" and message in error.message and hint in (error.hint or "")
    assert error.span is not None and error.span.line == 4


FAILING = [
    ("math.isqrt(-1)", ValueError),
    ("math.gcd(x, 2)", TypeError),
    ("math.perm(-1, 2)", ValueError),
    ("math.remainder(x, 0.0)", ValueError),
    ("math.isclose(x, x, rel_tol=-1.0)", ValueError),
    ("operator.indexOf(xs, 7.0)", ValueError),
    ("operator.concat(x, x)", TypeError),
    ("list(itertools.combinations(xs, -1))", ValueError),
]


@pytest.mark.parametrize(("expression", "kind"), FAILING)
def test_an_error_of_a_call_is_pythons(expression: str, kind: type[Exception]) -> None:
    f = function_of(expression)
    with pytest.raises(kind):
        f(X, list(XS))
    with pytest.raises(kind) as caught:
        shared("evaluate").function(f)(X, list(XS))
    assert isinstance(caught.value, vlad.VladError) and caught.value.span is not None


@pytest.mark.parametrize("module", [math, operator, functools, itertools], ids=lambda one: one.__name__)
def test_every_public_name_is_known(module: ModuleType) -> None:
    for name in dir(module):
        value = getattr(module, name)
        is_own = getattr(value, "__module__", None) in (module.__name__, f"_{module.__name__}")
        if not name.startswith("_") and callable(value) and is_own:
            assert known(value) or value in MODULES or instead_of(value), name


def test_public_functions_are_known_where_they_are_defined() -> None:
    """Calls of them are syntax, found by the module that defines the public name."""
    names = (
        "grad value_and_grad hessian jacobian jvp vjp hvp vmap stop_gradient custom_derivative checkpointed"
    )
    assert [public_name(getattr(vlad, one)) for one in names.split()] == names.split()


def test_a_partial_function_that_is_made_often_takes_what_it_needs() -> None:
    def f(x: float) -> list[float]:
        found = []
        for i in range(2):
            g = functools.partial(lambda a, b, c=1.0: [a, b, c], i)
            found = g(x, 5.0)
        return found

    with pytest.raises(vlad.VladError, match=r"this call of g") as caught:
        vlad.function(f)(1.0)
    assert "too many positional arguments; it takes b" in str(caught.value.hint)
