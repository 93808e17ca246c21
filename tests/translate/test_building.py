"""`vlad.build`: C libraries of Python functions, loaded and compared with the functions."""

from __future__ import annotations

import ctypes
import dataclasses
import math
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import vlad

sys.path.insert(0, str(Path(__file__).parent.parent))
from python_texts import run

pytestmark = pytest.mark.any_compiler

TEXT = """
import math

def root(a, steps=20):
    x = a
    for _ in range(steps):
        if abs(x * x - a) < 1e-12:
            break
        x = 0.5 * (x + a / x)
    return x

def shaped(place, weights, negative=False, label="a", nothing=None):
    (x, y), z = place
    total = sum([w * (x * x + y) for w in weights])
    return (-total if negative else total), [z, x if nothing is None else y]

def failing(x):
    if x < 0:
        raise ValueError("x is negative")
    return math.sqrt(x)
"""


GUARDED = """
import math

def _checked(x):
    if x < 0:
        raise ValueError(f"negative: {x:.1f}")
    return math.sqrt(x)

def root(x, y):
    try:
        return _checked(x) / y
    except ValueError:
        return x * x * y
    except ZeroDivisionError:
        return 7.0 * x

def total(x, y):
    s, d = 0.0, {"a": x}
    for i in range(9):
        try:
            s += _checked(y if i % 3 else -x)
            s += d["b"] if i == 7 else [x, y][i - 3]
        except (ValueError, KeyError):
            s += x * i
        except LookupError:
            s += y
    return s

def until(x, y):
    n = s = 0.0
    try:
        while True:
            s += x / (y - n)
            n += 1
    except ArithmeticError:
        s += n
    finally:
        s *= 2
    return s

def passed_on(x, y):
    try:
        try:
            assert x > y, "less"
            return x
        except AssertionError as error:
            raise RuntimeError("not more: " + str(error)) from None
    except Exception:
        return x * y
"""


def test_caught_exceptions_are_compiled_and_built(tmp_path: Path) -> None:
    names: dict[str, Any] = {"__name__": "guarded"}
    run(GUARDED, "guarded.py", names)
    compiled, notices = vlad.Session(tier="compile"), list[Any]()
    compiled.tiers.notify = notices.append
    points = ((4.0, 2.0), (-3.0, 2.0), (4.0, 0.0), (5.0, 3.0))
    for name in ("root", "total", "until", "passed_on"):
        f, written = compiled.function(names[name]), names[name]
        for x, y in points:
            assert f(x, y) == pytest.approx(written(x, y), rel=1e-15)
            slope = (written(x + 1e-6, y) - written(x - 1e-6, y)) / 2e-6
            assert vlad.grad(f, 0)(x, y) == pytest.approx(slope, rel=1e-5, abs=1e-7)
    assert notices == [] and compiled.tiers.disagreements == 0
    total, by_x = compiled.function(names["total"]), vlad.grad(compiled.function(names["root"]), 0)
    files = vlad.build(total, 1.0, 2.0, path=tmp_path / "total.so")
    of_gradient = vlad.build(by_x, 1.0, 2.0, path=tmp_path / "slope.so")
    for x, y in points:
        assert called(files, "total", [x, y], 1) == [total(x, y)]
        assert called(of_gradient, "root_gradient", [x, y], 1) == [by_x(x, y)]


@pytest.fixture
def names() -> dict[str, Any]:
    found: dict[str, Any] = {"__name__": "building"}
    run(TEXT, "building.py", found)
    return found


def called(files: list[str], name: str, arguments: list[float], count: int) -> list[float]:
    """The results of a function of a library."""
    results = (ctypes.c_double * count)()
    status = getattr(ctypes.CDLL(files[0]), name)(*map(ctypes.c_double, arguments), results)
    assert status == 0
    return list(results)


def test_a_function_and_its_derivatives(names: dict[str, Any], tmp_path: Path) -> None:
    root = vlad.Session().function(names["root"])
    files = vlad.build(root, 2.0, path=tmp_path / "root.so", derivatives=True)
    assert files == [str(tmp_path / "root.so"), str(tmp_path / "root.h")]
    header = Path(files[1]).read_text()
    assert "int root(double a, double steps, double *results);" in header and "root_vjp(" in header
    for a in (2.0, 9.0, 0.25):
        assert called(files, "root", [a, 20.0], 1) == [names["root"](a)]
        value, by_a, by_steps = called(files, "root_vjp", [a, 20.0, 1.0], 3)
        assert (value, by_a, by_steps) == pytest.approx((math.sqrt(a), 0.5 / math.sqrt(a), 0.0), rel=1e-9)
    rows, results = (ctypes.c_double * 4)(4.0, 20.0, 9.0, 20.0), (ctypes.c_double * 2)()
    assert ctypes.CDLL(files[0]).root_rows(ctypes.c_long(2), rows, results) == 0
    assert list(results) == pytest.approx([2.0, 3.0])


def test_a_gradient(names: dict[str, Any], tmp_path: Path) -> None:
    root = vlad.Session().function(names["root"])
    for derivative, name, expected in (
        (vlad.grad(root, 0), "root_gradient", [vlad.grad(root, 0)(3.0)]),
        (vlad.value_and_grad(root, 0), "root_value_and_gradient", [root(3.0), vlad.grad(root, 0)(3.0)]),
        (vlad.grad(vlad.grad(root, 0), 0), "root_gradient_gradient", [vlad.hessian(root, 0)(3.0)]),
        (vlad.hessian(root, 0), "root_hessian", [vlad.hessian(root, 0)(3.0)]),
    ):
        files = vlad.build(derivative, 3.0, path=tmp_path / f"{name}.so")
        assert called(files, name, [3.0, 20.0], len(expected)) == pytest.approx(expected, rel=1e-12)
        assert "_vjp" not in Path(files[1]).read_text()


def test_structures_are_numbers_and_the_rest_is_fixed(names: dict[str, Any], tmp_path: Path) -> None:
    session = vlad.Session()
    shaped = session.function(names["shaped"])
    place, weights = ((1.0, 2.0), 3.0), [0.5, 1.5]
    numbers = [1.0, 2.0, 3.0, 0.5, 1.5]
    for more in ((), (True,), (True, "b", 4.0)):
        files = vlad.build(shaped, place, weights, *more, path=tmp_path / f"shaped{len(more)}.so")
        total, (z, x) = names["shaped"](place, weights, *more)
        extra = [float(one) for one in more[2:]]
        assert called(files, "shaped", [*numbers, *extra], 3) == [total, z, x]
    wanted = "shaped(double place_0_0, double place_0_1, double place_1, double weights_0, double weights_1, double *results);"
    assert wanted in (tmp_path / "shaped0.h").read_text()


class Pair(NamedTuple):
    left: float
    right: list[float]


@dataclasses.dataclass(frozen=True)
class Scale:
    by: float
    label: str = "a"


def test_numbers_in_dicts_and_records_are_parameters(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    text = (
        "def f(p, q, s, k):\n"
        "    return {'a': p['w'] * q.left + p[2][0] - p['tag y'], 'b': q.right[1] * s.by * k}\n\n\n"
        "def g(p, x):\n    return p['w'] * x * x + p['b'][0]\n"
    )
    run(text, "records.py", names)
    p, q, s = {"w": 2.0, 2: [3.0], "tag y": 5.0}, Pair(7.0, [11.0, 13.0]), Scale(17.0)
    session = vlad.Session()
    files = vlad.build(session.function(names["f"]), p, q, s, np.float64(19.0), path=tmp_path / "f.so")
    wanted = "double p_w, double p_2_0, double p_tag_y, double q_left, double q_right_0, double q_right_1, double s_by, double k,"
    assert wanted in Path(files[1]).read_text()
    for shift in (0.0, 1.0):
        numbers = [one + shift for one in (2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0)]
        w, first, tag, left, _, second, by, k = numbers
        assert called(files, "f", numbers, 2) == [w * left + first - tag, second * by * k]
    g = session.function(names["g"])
    files = vlad.build(vlad.grad(g, 0), {"w": 2.0, "b": [1.0]}, 3.0, path=tmp_path / "g.so")
    assert called(files, "g_gradient", [2.0, 1.0, 4.0], 2) == [16.0, 1.0]


def test_a_lambda_a_procedure_and_a_name(names: dict[str, Any], tmp_path: Path) -> None:
    files = vlad.build(lambda x: x * 3.0, 1.0, path=tmp_path / "a.so", name="tripled")
    assert called(files, "tripled", [2.0], 1) == [6.0]
    session = vlad.Session()
    session.eval("(define (by-first x l) (* x (car l)))")
    files = vlad.build(session["by-first"], 1.0, [1.0, 2.0], path=tmp_path / "b.so", name="first")
    assert called(files, "first", [2.0, 5.0, 0.0], 1) == [10.0]


def test_an_error_of_the_function_is_a_status(names: dict[str, Any], tmp_path: Path) -> None:
    files = vlad.build(vlad.Session().function(names["failing"]), 1.0, path=tmp_path / "failing.so")
    library = ctypes.CDLL(files[0])
    library.failing_error.restype = ctypes.c_char_p
    status = library.failing(ctypes.c_double(-1.0), (ctypes.c_double * 1)())
    assert status != 0 and b"x is negative" in library.failing_error(status)


@pytest.mark.parametrize(
    ("text", "example", "code", "message"),
    [
        ("lambda x: x > 2", (1.0,), "not-exported", "its result is a boolean"),
        ("lambda x: (lambda y: x)", (1.0,), "not-exported", "its result is a procedure"),
        ("lambda x: {x, 2.0}", (1.0,), "not-exported", "its result is a set: return a list"),
        ("lambda a: a[0]", (np.ones(3),), "not-exported", "its argument a is an array"),
        ("lambda x: x", (True,), "not-exported", "there is no number in the example"),
        ("lambda xs: xs[0]", ([1.0] * 65,), "not-exported", "more than 64 numbers"),
        ("lambda x: [x for _ in range(x)]", (1.0,), "not-exported", "a structure whose size is not known"),
    ],
)
def test_what_cannot_be_built_is_an_error(
    text: str, example: Any, code: str, message: str, tmp_path: Path
) -> None:
    names: dict[str, Any] = {}
    run(f"f = {text}", "refused.py", names)
    with pytest.raises(vlad.VladError, match=message) as caught:
        vlad.build(vlad.Session().function(names["f"]), *example, path=tmp_path / "f.so")
    assert caught.value.code == code and not list(tmp_path.iterdir())


def test_wrong_options_and_paths(names: dict[str, Any], tmp_path: Path) -> None:
    root = vlad.Session().function(names["root"])
    with pytest.raises(vlad.VladError, match="name is a name of C"):
        vlad.build(root, 2.0, path=tmp_path / "f.so", name="a-b")
    with pytest.raises(vlad.VladError, match="Cannot write"):
        vlad.build(root, 2.0, path=tmp_path / "missing" / "f.so")
    with pytest.raises(TypeError):
        vlad.build(root, path=tmp_path / "f.so")
    with pytest.raises(vlad.VladError, match="this is a Python int"):
        vlad.build(3, path=tmp_path / "f.so")


def test_a_record_of_an_example_is_of_a_class_that_comes_into_use(tmp_path: Path) -> None:
    for number in range(3):
        names: dict[str, Any] = {"NamedTuple": NamedTuple, "vlad": vlad}
        text = "class S(NamedTuple):\n    a: float\n    b: float\n\n\ndef f(s, k=2.0):\n    return s.a * k + s.b**2\n"
        run(text, f"record{number}.py", names)
        f, example = vlad.Session(tier="compile").function(names["f"]), names["S"](1.0, 2.0)
        if number == 0:
            assert vlad.compile(vlad.grad(f), example)(example) == (names["S"](2.0, 4.0), 1.0)
        elif number == 1:
            assert vlad.compile(f, example)(example) == 6.0
        else:
            assert len(vlad.build(vlad.grad(f, 0), example, path=tmp_path / "f.so")) == 2
