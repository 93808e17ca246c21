"""`vlad.vmap`: of Python functions, of procedures, of gradients; with structures, defaults, and inside of functions."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import vlad

pytestmark = pytest.mark.any_compiler


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass(frozen=True)
class Box:
    width: Any
    height: Any


def loss(parameters: Any, x: Any, y: Any) -> Any:
    return (parameters["w"] @ x + parameters["b"] - y) ** 2


PARAMETERS = {"w": np.array([1.0, -0.5]), "b": 0.5}
XS, YS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]), np.array([1.0, 2.0, 3.0])


def test_gradients_of_samples() -> None:
    slope = vlad.grad(loss, argnums=0)
    found = vlad.vmap(slope, axes=(None, 0, 0))(PARAMETERS, XS, YS)
    expected = [slope(PARAMETERS, x, float(y)) for x, y in zip(XS, YS, strict=True)]
    assert np.allclose(found["w"], [one["w"] for one in expected])
    assert np.allclose(found["b"], [one["b"] for one in expected])
    values, slopes = vlad.vmap(vlad.value_and_grad(loss, argnums=(0, 2)), axes=(None, 0, 0))(
        PARAMETERS, XS, YS
    )
    assert np.allclose(values, [loss(PARAMETERS, x, y) for x, y in zip(XS, YS, strict=True)])
    assert np.allclose(slopes[0]["w"], found["w"]) and slopes[1].shape == (3,)


def test_other_derivatives() -> None:
    def total(v: Any) -> Any:
        return (v**3).sum()

    assert np.allclose(vlad.vmap(vlad.hessian(total))(XS), [np.diag(6 * x) for x in XS])
    assert np.allclose(vlad.vmap(vlad.jacobian(lambda v: v**3))(XS), [np.diag(3 * x * x) for x in XS])
    assert np.allclose(vlad.vmap(vlad.vmap(vlad.grad(lambda x: x**3)))(XS), 3 * XS * XS)
    by_each = vlad.vmap(vlad.grad(lambda x, y, z: x * y * z))(YS, 3.0, YS)
    assert [one.tolist() for one in by_each] == [(3 * YS).tolist(), (YS * YS).tolist(), (3 * YS).tolist()]


def test_structures() -> None:
    moved = vlad.vmap(lambda p: Point(2 * p.x, p.x + p.y))(Point(YS, YS))
    assert isinstance(moved, Point) and moved.y.tolist() == [2, 4, 6]
    box = vlad.vmap(lambda b: Box(2 * b.width, b.height))(Box(YS, 2.0))
    assert isinstance(box, Box) and box.height.tolist() == [2, 2, 2]
    slope = vlad.vmap(vlad.grad(lambda b: b.width**2 * b.height))(Box(YS, 2.0))
    assert isinstance(slope, Box) and slope.width.tolist() == [4, 8, 12]
    both = vlad.vmap(lambda x: (x, [x, 2 * x], {"large": x > 1}))(YS)
    assert both[1][1].tolist() == [2, 4, 6] and both[2]["large"].tolist() == [False, True, True]


@vlad.vmap(axes=(0, None))
def doublings(x: Any, end: Any, factor: float = 2.0) -> Any:
    count = 0
    while x < end:
        x, count = factor * x, count + 1
    return count


def test_options_and_defaults() -> None:
    assert doublings(np.array([1.0, 3.0, 100.0]), 50.0).tolist() == [6, 5, 0]
    assert doublings(np.array([1.0, 3.0, 100.0]), end=50.0, factor=10.0).tolist() == [2, 2, 0]
    keys = [vlad.random.key(seed) for seed in range(2)]
    drawn = vlad.vmap(lambda key: vlad.random.uniform(key, size=3), axes="list")(keys)
    assert np.array_equal(drawn, [vlad.random.uniform(key, size=3) for key in keys])
    for axes in (1.5, "rows", (), (0, "x")):
        with pytest.raises(vlad.VladError, match="axes"):
            vlad.vmap(loss, axes=axes)


def test_procedures_of_sessions() -> None:
    session = vlad.Session()
    session.eval("(define (f x k) (* k x x))")
    mapped = vlad.vmap(session["f"])
    assert mapped(YS, 2.0).tolist() == [2, 8, 18]
    assert "vmap" in mapped.__name__


def test_inside_of_functions() -> None:
    @vlad.function
    def inside(x: Any, w: Any) -> Any:
        slopes = vlad.vmap(vlad.grad(lambda a: w * a**2))(x)
        products = vlad.vmap(lambda a, b: a * b, axes=(0, None))(x, w)
        return slopes.sum() + products.sum()

    assert inside(YS, 3.0) == 54
    by_x, by_w = vlad.grad(inside)(YS, 3.0)
    assert by_x.tolist() == [9, 9, 9] and by_w == 18


def test_it_is_pickled() -> None:
    mapped = pickle.loads(pickle.dumps(vlad.vmap(vlad.grad(loss, argnums=0), axes=(None, 0, 0))))
    assert mapped(PARAMETERS, XS, YS)["b"].shape == (3,)


def test_errors_have_the_row() -> None:
    with pytest.raises(vlad.VladError) as caught:
        vlad.vmap(lambda x: [1.0, 2.0][x])(np.arange(3.0))
    assert caught.value.rows == (2,)


def both(x: Any, y: Any) -> Any:
    return x * y


ERRORS: list[tuple[Any, tuple[Any, ...], str, str]] = [
    (lambda: vlad.vmap(both, axes=(0, 3)), (YS, YS), "out of range: 3", "count from 0"),
    (
        lambda: vlad.vmap(both, axes=(0, 0, 0)),
        (YS, YS),
        "do not fit the axes",
        "None for what all rows share",
    ),
    (lambda: vlad.vmap(both, axes=None), (YS, YS), "No argument", "the first axis of arrays"),
    (lambda: vlad.vmap(both), (YS, YS[1:]), "3 and 2 rows", "is None for"),
    (lambda: vlad.vmap(vlad.grad(lambda x, y: x * y)), (YS, YS[1:]), "3 and 2 rows", "is None for"),
    (
        lambda: vlad.vmap(lambda x: x if x > 1 else (x, x)),
        (YS,),
        "different structures",
        "a tuple where this one's has a number",
    ),
    (
        lambda: vlad.vmap(lambda x: None if x > 1 else x),
        (YS,),
        "different structures",
        "a number where this one's has None",
    ),
    (lambda: vlad.vmap(lambda x: {x}), (YS,), "different structures", "sets cannot be"),
    (
        lambda: vlad.function(lambda x: vlad.vmap(both, axes=(0, 0, 0))(x, x)),
        (YS,),
        "do not fit the axes",
        "None for",
    ),
    (lambda: vlad.vmap(None), (YS,), "Python NoneType", "written in Python"),
    (lambda: vlad.checkpointed(None, segments=2), (YS,), "NoneType is not translated", "written in Python"),
    (lambda: vlad.checkpointed(both, segments=0), (YS,), "segments is 0", "from 1 on"),
]


@pytest.mark.parametrize(("make", "arguments", "message", "hint"), ERRORS, ids=range(len(ERRORS)))
def test_errors_are_in_words_of_python(
    make: Any, arguments: tuple[Any, ...], message: str, hint: str
) -> None:
    with pytest.raises(vlad.VladError) as caught:
        make()(*arguments)
    error = caught.value
    assert message in error.message and hint in (error.hint or "")
    assert not any(word in str(error) for word in ("#:", "#f", "%", "tensor", "real"))
