"""Structured values that cross to machine code and back in C: which do, what they become, and what does not cross so.

Crossings are counted, never timed: after the first calls no Python function of the package runs.
"""

from __future__ import annotations

import contextlib
import gc
import math
import sys
import threading
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import vlad
from vlad.compile.ir.refusals import MOST_VARIANTS
from vlad.compile.native.c_extension import border

pytestmark = pytest.mark.any_compiler

PACKAGE = str(Path(vlad.__file__).parent)
in_c = pytest.mark.skipif(border() is None, reason="without C there is Python code in between")


class Layer(NamedTuple):
    w: float
    b: float


@dataclass(frozen=True)
class Spring:
    stiffness: float
    length: float = 1.0


@dataclass(frozen=True, slots=True)
class Body:
    place: tuple[float, float]
    springs: list[Spring]


def squares(xs: Any) -> Any:
    total = 0.0
    for x in xs:
        total = total + x * x
    return total


def nested_squares(rows: Any) -> Any:
    total = 0.0
    for row in rows:
        for x in row:
            total = total + x * x
    return total


def of_dict(d: Any) -> Any:
    return d["a"] * d["b"] + d["c"]


def of_arrays(d: Any) -> Any:
    return np.sum(d["w"] * d["x"]) + d["b"]


def of_layer(p: Layer) -> Any:
    return p.w * p.w * p.b


def of_spring(s: Spring) -> Any:
    return s.stiffness * s.length * s.length


def of_body(body: Body, weights: Any) -> Any:
    x, y = body.place
    return sum([weights["k"] * s.stiffness * (x * y - s.length) for s in body.springs])


def of_layers(params: Any, x: Any) -> Any:
    for layer in params["layers"]:
        x = x * layer.w + layer.b
    return x * params["scale"]


def by_numbers(d: Any) -> Any:
    return d[1] * d[2] + d["x"]


def first_and_flag(x: Any, flag: Any) -> Any:
    return 2.0 * x if flag else -x


def maybe(x: Any, y: Any) -> Any:
    return x * x if y is None else x * y


A = np.arange(3.0)
LAYERS = {"layers": [Layer(0.5, 1.0), Layer(2.0, 3.0)], "scale": 2.0}
CALLS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (squares, ([2.0, 3.0],)),
    (squares, ([0.5 * i for i in range(5)],)),
    (squares, ([0.5 * i for i in range(30)],)),
    (squares, ([0.5 * i for i in range(300)],)),
    (squares, ((1.0, 2.0, 3.0),)),
    (squares, (tuple([0.5 * i for i in range(300)]),)),
    (nested_squares, ([[1.0, 2.0], [3.0, 4.0]],)),
    (nested_squares, ([[float(i), 1.0, 2.0] for i in range(200)],)),
    (nested_squares, ([(float(i), 1.0, 2.0) for i in range(200)],)),
    (of_dict, ({"a": 1.0, "b": 2.0, "c": 3.0},)),
    (of_arrays, ({"w": A, "x": A + 1, "b": 2.0},)),
    (of_layer, (Layer(2.0, 3.0),)),
    (of_spring, (Spring(2.0, 3.0),)),
    (of_body, (Body((2.0, 3.0), [Spring(1.0), Spring(2.0, 0.5)]), {"k": 2.0})),
    (of_layers, (LAYERS, 0.5)),
    (of_layers, ({"layers": [Layer(0.5, float(i)) for i in range(200)], "scale": 2.0}, 0.5)),
    (by_numbers, ({1: 2.0, 2: 3.0, "x": 4.0},)),
]


def approximately(found: Any, expected: Any) -> None:
    """Of the same types, and the same numbers up to rounding."""
    assert type(found) is type(expected), (found, expected)
    if isinstance(found, tuple | list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            approximately(one, other)
    elif isinstance(found, dict):
        assert list(found) == list(expected)
        approximately(list(found.values()), list(expected.values()))
    elif isinstance(found, Spring | Body):
        for name in type(found).__dataclass_fields__:
            approximately(getattr(found, name), getattr(expected, name))
    elif isinstance(found, np.ndarray):
        assert (found.dtype, found.flags.writeable) == (expected.dtype, expected.flags.writeable)
        np.testing.assert_allclose(found, expected)
    else:
        assert found == pytest.approx(expected, nan_ok=True)


def calls_of_package(call: Callable[[], Any]) -> list[str]:
    """The Python functions of the package that run during a call."""
    found: list[str] = []

    def count(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            found.append(frame.f_code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


@pytest.fixture(scope="module")
def sessions() -> tuple[vlad.Session, vlad.Session]:
    """One that compiles, and one that evaluates."""
    return vlad.Session(tier="compile"), vlad.Session(tier="evaluate")


@in_c
@pytest.mark.parametrize("f, arguments", CALLS, ids=range(len(CALLS)))
def test_no_function_of_the_package_runs_in_later_calls(
    sessions: tuple[vlad.Session, vlad.Session], f: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    function = sessions[0].function(f)
    for made in (function, vlad.grad(function), vlad.value_and_grad(function), vlad.grad(function, 0)):
        for _ in range(3):
            made(*arguments)
        assert calls_of_package(lambda made=made: made(*arguments)) == []


@pytest.mark.parametrize("f, arguments", CALLS, ids=range(len(CALLS)))
def test_results_are_those_of_python_and_of_the_evaluator(
    sessions: tuple[vlad.Session, vlad.Session], f: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    compiled, evaluated = [session.function(f) for session in sessions]
    for _ in range(3):
        assert compiled(*arguments) == pytest.approx(f(*arguments))
    for make in (vlad.grad, vlad.value_and_grad, lambda f: vlad.grad(f, (0,)), vlad.jacobian):
        expected, found = make(evaluated)(*arguments), make(compiled)
        for _ in range(3):
            approximately(found(*arguments), expected)


def test_results_have_their_structure_back(sessions: tuple[vlad.Session, vlad.Session]) -> None:
    same = sessions[0].function(lambda x: x)
    values = [
        [], (), None, True, False, 2.0, [1.0] * 100, (1.0,), (1.0, [2.0, (3.0, None)]), {}, {"a": {"b": (1.0, True)}},
        {1.0: 2.0, (1.0, 2.0): [3.0], "x": Layer(1.0, 2.0)}, Layer(1.0, [2.0]), Spring(1.0, {"x": 2.0}),
        Body((1.0, 2.0), [Spring(1.0)] * 3), [[1.0] * 30, [2.0] * 40], [Spring(1.0, float(i)) for i in range(50)],
        [{"a": float(i)} for i in range(50)], [None, 1.0] * 20, [True, False, True], [(1.0, True)] * 40,
    ]  # fmt: skip
    for value in values:
        for _ in range(3):
            approximately(same(value), value)
    arrays = [
        A,
        {"a": A, "b": [A, A + 1]},
        [A + i for i in range(40)],
        [np.arange(4), np.ones((2, 2), "float32")],
    ]
    for value in arrays:
        for _ in range(3):
            assert repr(same(value)) == repr(value)


@in_c
def test_results_have_their_structure_back_in_c() -> None:
    same = vlad.Session(tier="compile").function(lambda x: x)
    for value in (
        [1.0] * 100,
        {"a": (1.0, True)},
        [Spring(1.0, 2.0)] * 50,
        [None, 1.0] * 20,
        None,
        (),
        [A] * 30,
    ):
        for _ in range(3):
            same(value)
        assert calls_of_package(lambda value=value: same(value)) == []


class Odd(float):
    def __float__(self) -> float:
        return 42.0


class Whole(int):
    pass


class Words(dict[str, float]):
    pass


class Backwards(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter(self[::-1])


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (vlad.VladError, TypeError, ValueError, AttributeError) as error:
        return type(error), str(error)


def test_numbers_of_other_types_count_as_elsewhere(sessions: tuple[vlad.Session, vlad.Session]) -> None:
    compiled, evaluated = [session.function(squares) for session in sessions]
    long = [1.0] * 40
    for given in ([1.0, 2.0], long, (1.0, 2.0)):
        for _ in range(3):
            compiled(given)
    cases: list[Any] = [
        [1, 2], [1, 2.5], [True, 2.0], [np.float64(1.5), 2], [np.float32(1.5), 2.0], [np.int64(3), 2.0], [Odd(1.0), 2.0],
        [Whole(3), 2.0], [10**400, 1.0], ["a", 1.0], [None, 1.0], [math.nan, 1.0], [math.inf, -0.0], (1, 2), (True, 2.0),
        [*long[1:], 3], [*long[1:], np.float64(3)], [*long[1:], Odd(3)], [*long[1:], True], [*long[1:], "a"], [*long[1:], [1.0]],
        Backwards([1.0, 2.0]), [1.0], [], (), [[1.0], [2.0]], {"a": 1.0}, A, 1.0, None, "text", [1.0, (2.0,)], {1.0, 2.0},
    ]  # fmt: skip
    for given in cases:
        for _ in range(3):
            found, expected = (
                outcome(lambda given=given: compiled(given)),
                outcome(lambda given=given: evaluated(given)),
            )
            assert repr(found) == repr(expected), given


@in_c
def test_scalars_of_numpy_cross_in_c() -> None:
    session = vlad.Session(tier="compile")
    squared, total, flagged = [session.function(f) for f in (lambda x: x * x, squares, first_and_flag)]
    for x in (2.0, np.float64(2.0), np.float32(2.0), np.int64(2), np.uint8(2)):
        for _ in range(3):
            assert squared(x) == 4.0 and total([x, 1.0]) == 5.0 and vlad.grad(total)([x, 1.0]) == [4.0, 2.0]
        slope = vlad.grad(squared)
        for call in (lambda x=x: squared(x), lambda x=x: total([x, 1.0]), lambda x=x, slope=slope: slope(x)):
            call()
            assert calls_of_package(call) == []
    for flag in (np.bool_(True), np.bool_(False)):
        for _ in range(3):
            assert flagged(2.0, flag) == (4.0 if flag else -2.0)
        assert calls_of_package(lambda flag=flag: flagged(2.0, flag)) == []


def test_keys_and_fields_are_those_of_the_call(sessions: tuple[vlad.Session, vlad.Session]) -> None:
    def listed(d: Any) -> Any:
        return [(k, d[k]) for k in d], d["a"]

    functions = [
        [session.function(f) for session in sessions] for f in (listed, of_dict, of_spring, of_layer)
    ]
    given: list[Any] = [
        {"a": 1.0, "b": 2.0, "c": 3.0}, {"c": 3.0, "b": 2.0, "a": 1.0}, {"a": 1.0, "b": 2.0},
        {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0},
        {"a": 1, "b": True, "c": 3}, {"b": 2.0}, {}, {"%dict": 1.0, "a": 2.0}, {"a": 1.0, 2: 3.0}, {None: 1.0, "a": 2.0},
        OrderedDict(a=1.0, b=2.0, c=3.0), defaultdict(float, a=1.0, b=2.0, c=3.0), Words(a=1.0, b=2.0, c=3.0),
        {"".join(["a", ""]): 1.0, "b": 2.0, "c": 3.0}, {"a": "text", "b": 2.0, "c": 1.0},
        Spring(1.0, 2.0), Spring(1), Layer(2.0, 3.0), Layer(2, 3), (2.0, 3.0), [2.0, 3.0], Body((1.0, 2.0), []),
    ]  # fmt: skip
    for compiled, evaluated in functions:
        for one in given:
            for _ in range(3):
                found, expected = (
                    outcome(lambda one=one, f=compiled: f(one)),
                    outcome(lambda one=one, f=evaluated: f(one)),
                )
                assert repr(found) == repr(expected), one


def test_the_order_of_keys_is_that_of_the_dict(sessions: tuple[vlad.Session, vlad.Session]) -> None:
    def ordered(d: Any) -> Any:
        return [d[k] for k in d], d

    function = sessions[0].function(ordered)
    ways = [{"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}]
    for _ in range(4):
        for one in ways:
            values, whole = function(one)
            assert values == list(one.values()) and list(whole) == list(one)
    slope = vlad.grad(sessions[0].function(lambda d: d["a"] * d["a"] * d["b"]))
    for _ in range(4):
        for one in ways:
            assert list(slope(one).items()) == [(k, {"a": 4.0, "b": 1.0}[k]) for k in one]


def test_arguments_are_counted_as_in_python(sessions: tuple[vlad.Session, vlad.Session]) -> None:
    """The tuple rule of the language would take a number and a list for a longer list."""
    function = sessions[0].function(squares)
    both = sessions[0].function(lambda x, xs: x * xs[0])
    for _ in range(3):
        assert function([1.0, 2.0]) == 5.0 and both(2.0, [3.0]) == 6.0
    for wrong in (
        lambda: function(1.0, [2.0]),
        lambda: both([2.0, 3.0]),
        lambda: function(),
        lambda: both(2.0, [3.0], 1.0),
    ):
        with pytest.raises(TypeError):
            wrong()


def test_defaults_and_names(sessions: tuple[vlad.Session, vlad.Session]) -> None:
    def f(x: Any, n: Any = 2.0, /, *, scale: Any = 1.0) -> Any:
        return x * n * scale

    def g(x: Any, n: Any = 2.0, scale: Any = None) -> Any:
        return x * n if scale is None else x * n * scale["s"]

    compiled = sessions[0].function(g)
    slope = vlad.grad(compiled, "x")
    for _ in range(3):
        assert compiled(3.0) == compiled(x=3.0) == compiled(n=2.0, x=3.0) == compiled(3.0, scale=None) == 6.0
        assert compiled(3.0, n=1.0) == compiled(1.0, n=3, scale={"s": 1.0}) == 3.0
        assert slope(3.0) == slope(x=3.0) == slope(3.0, scale={"s": 1.0}) == 2.0
    wrong: list[Callable[[], Any]] = [
        lambda: compiled(), lambda: compiled(n=1.0), lambda: compiled(3.0, x=1.0), lambda: compiled(3.0, y=1.0),
        lambda: compiled(1.0, 2.0, None, 4.0),
    ]  # fmt: skip
    for call in wrong:
        with pytest.raises(TypeError):
            call()
    if border() is not None:
        for call in (lambda: compiled(3.0), lambda: compiled(x=3.0, n=1.0), lambda: slope(3.0)):
            assert calls_of_package(call) == []
    keyword = sessions[0].function(f)
    for _ in range(3):
        assert keyword(3.0) == 6.0 and keyword(3.0, scale=2.0) == 12.0
        with pytest.raises(TypeError):
            keyword(3.0, n=1.0)


def test_a_default_that_is_read_as_it_is(sessions: tuple[vlad.Session, vlad.Session]) -> None:
    shared = [1.0, 2.0]

    def f(x: Any, xs: Any = shared) -> Any:
        return x * sum(xs)

    function = sessions[0].function(f)
    for _ in range(3):
        assert function(2.0) == 6.0
    shared.append(3.0)
    for _ in range(3):
        assert function(2.0) == 12.0


def test_booleans_and_none(sessions: tuple[vlad.Session, vlad.Session]) -> None:
    flagged, optional = sessions[0].function(first_and_flag), sessions[0].function(maybe)
    for _ in range(3):
        assert flagged(2.0, True) == 4.0 and flagged(2.0, False) == -2.0
        assert optional(3.0, None) == 9.0 and optional(3.0, 2.0) == 6.0
        assert vlad.grad(flagged)(2.0, True) == (2.0, True)
        assert vlad.grad(optional, 0)(3.0, None) == 6.0
    if border() is not None:
        for call in (lambda: flagged(2.0, True), lambda: optional(3.0, None)):
            assert calls_of_package(call) == []


def test_lists_of_all_lengths_have_few_variants() -> None:
    session = vlad.Session(tier="compile")
    function = session.function(squares)
    slope = vlad.grad(function)
    for _ in range(2):
        for length in [*range(1, 60), 200, 1000]:
            assert function([2.0] * length) == 4.0 * length
            assert slope([2.0] * length) == [4.0] * length
    assert max([len(entry.variants) for entry in session.tiers.entries.values()]) <= 5 < MOST_VARIANTS
    if border() is not None:
        for length in (7, 33, 500):
            for call in (function, slope):
                assert calls_of_package(lambda call=call, length=length: call([2.0] * length)) == []


@pytest.mark.filterwarnings("error::vlad.NotCompiledWarning")
def test_a_list_of_another_length_within_a_dict_is_compiled() -> None:
    """Its key is no element of the recursive list: keys were to be compared with structures, which is not compiled."""
    function = vlad.Session(tier="compile").function(of_layers)
    for length in (2, 200, 3, 40, 50):
        given = {"layers": [Layer(0.5, float(i)) for i in range(length)], "scale": 2.0}, 0.5
        assert function(*given) == pytest.approx(of_layers(*given))


def test_a_structure_of_constants_is_not_taken_for_another_one() -> None:
    """In a list of mixed elements it has no words, so that only its type tells what it is."""
    same = vlad.Session(tier="compile").function(lambda x: x)
    for element in ({}, (True, 1.0), {"a": None}, (), {"b": None}, {"a": 1.0}, [None], {}):
        given = [*[1.0] * 200, element, 2.0]
        for _ in range(2):
            assert same(given) == given


def test_values_that_are_nested_deeply_take_the_general_path(
    sessions: tuple[vlad.Session, vlad.Session],
) -> None:
    def depth(x: Any) -> Any:
        return 1.0 + max([depth(y) for y in x]) if x else 0.0

    compiled, same = sessions[0].function(depth), sessions[0].function(lambda x: x)
    for levels in (3, 20, 100, 250):
        nested: Any = []
        for _ in range(levels):
            nested = [nested]
        for _ in range(3):
            assert compiled(nested) == levels
            assert same(nested) == nested
    around: list[Any] = []
    around.append(around)
    with pytest.raises(vlad.VladError):
        compiled(around)


def test_a_field_that_is_missing_is_an_error_as_before(sessions: tuple[vlad.Session, vlad.Session]) -> None:
    function = sessions[0].function(of_body)
    body, weights = Body((2.0, 3.0), [Spring(1.0), Spring(2.0, 0.5)]), {"k": 2.0}
    for _ in range(3):
        expected = function(body, weights)
    broken = Spring(1.0)
    object.__delattr__(broken, "length")
    object.__delattr__(broken, "stiffness")
    for _ in range(3):
        with pytest.raises(AttributeError):
            function(Body((2.0, 3.0), [Spring(1.0), broken]), weights)
        assert function(body, weights) == expected


def test_a_class_that_cannot_be_made_again_raises_its_error(
    sessions: tuple[vlad.Session, vlad.Session],
) -> None:
    """The class is called for a result, as any code of Python's may be."""

    @dataclass(frozen=True)
    class Refusing:
        x: float

    same = sessions[0].function(lambda p: p)
    given = Refusing(1.0)
    for _ in range(3):
        assert same(given) == given

    def refuse(*_: Any, **__: Any) -> None:
        raise ValueError("no more")

    Refusing.__init__ = refuse  # type: ignore[method-assign]
    for _ in range(3):
        with pytest.raises(ValueError, match="no more"):
            same(given)


def test_a_list_that_another_thread_changes(sessions: tuple[vlad.Session, vlad.Session]) -> None:
    function, given = sessions[0].function(squares), [1.0] * 50
    slope = vlad.grad(function)
    for length in (10, 50, 100, 50):
        function([1.0] * length)
        slope([1.0] * length)
    ending = threading.Event()

    def change() -> None:
        while not ending.is_set():
            given.append(1.0)
            given.pop()
            del given[40:]
            given.extend([1.0] * 10)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(2000):
            with contextlib.suppress(vlad.VladError, ValueError):
                assert 40.0 <= function(given) <= 51.0
                assert set(slope(given)) == {2.0}
    finally:
        ending.set()
        thread.join()


def test_threads_that_call_with_structures(sessions: tuple[vlad.Session, vlad.Session]) -> None:
    function = sessions[0].function(of_layers)
    slope = vlad.value_and_grad(function)
    given = [({"layers": [Layer(0.5, float(i))] * 30, "scale": 2.0}, float(i)) for i in range(4)]
    expected = [slope(*one) for one in given for _ in range(3)][::3]
    wrong: list[Any] = []

    def call(number: int) -> None:
        for _ in range(500):
            if slope(*given[number]) != expected[number] or function(*given[number]) != expected[number][0]:
                wrong.append(number)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_nothing_is_left_behind(sessions: tuple[vlad.Session, vlad.Session]) -> None:
    """Reference counts are balanced after ten thousand calls, also of those that are refused."""
    functions = [sessions[0].function(f) for f in (of_body, of_dict, squares, lambda x: x)]
    body, weights = Body((2.0, 3.0), [Spring(1.0), Spring(2.0, 0.5)]), {"k": 2.0}
    plain, long, array, key = {"a": 1.5, "b": 2.5, "c": 3.5}, [0.25] * 60, np.ones(3), "a"
    broken = {"a": 1.0, "b": 2.0}

    def calls() -> None:
        functions[0](body, weights)
        vlad.grad(functions[0])(body, weights)
        functions[1](plain)
        vlad.value_and_grad(functions[1])(plain)
        functions[2](long)
        vlad.grad(functions[2])(long)
        functions[3]({"x": array, "y": [array] * 3})
        functions[3](body)

    for _ in range(5):
        calls()
        with pytest.raises(KeyError):
            functions[1](broken)
    watched = (
        body,
        weights,
        plain,
        long,
        array,
        array.dtype,
        key,
        Spring,
        Body,
        broken,
        body.springs[0],
        body.springs,
        0.25,
    )
    gc.collect()
    before = [sys.getrefcount(one) for one in watched]
    for turn in range(10_000):
        calls()
        if turn % 1000 == 0:
            with pytest.raises(KeyError):
                functions[1](broken)
    gc.collect()
    after = [sys.getrefcount(one) for one in watched]
    assert max([abs(one - other) for one, other in zip(before, after, strict=True)]) < 50


def test_results_are_not_kept(sessions: tuple[vlad.Session, vlad.Session]) -> None:
    same = sessions[0].function(lambda x: x)
    for _ in range(3):
        same([A] * 30)
    results = [weakref.ref(array) for array in same([A] * 30)]
    gc.collect()
    assert not any(result() is not None for result in results)


PROCEDURES: list[tuple[str, tuple[Any, ...]]] = [
    (
        "(lambda (l) (let loop ((l l) (s 0)) (if (pair? l) (loop (cdr l) (+ s (* (car l) (car l)))) s)))",
        ([0.5] * 300,),
    ),
    (
        "(lambda (l) (let loop ((l l) (s 0)) (if (pair? l) (loop (cdr l) (+ s (* (car l) (car l)))) s)))",
        ([0.5, 1.5],),
    ),
    ("(lambda ((cons* a b c)) (+ (* a b) c))", ((1.0, 2.0, 3.0),)),
    ("(lambda ((cons a b)) (* a b))", (Layer(2.0, 3.0),)),
    ("(lambda (m) (fold-left + 0 (map (lambda (r) (* (car r) (cdr r))) m)))", ([(1.0, 2.0)] * 100,)),
    ("(lambda (x y) (* x x y))", (2.0, 3.0)),
]


@in_c
@pytest.mark.parametrize("text, arguments", PROCEDURES, ids=range(len(PROCEDURES)))
def test_procedures_of_a_session_cross_in_c(
    sessions: tuple[vlad.Session, vlad.Session], text: str, arguments: tuple[Any, ...]
) -> None:
    compiled, evaluated = [session.eval(text) for session in sessions]
    for make in (lambda f: f, vlad.grad, vlad.value_and_grad):
        found = make(compiled)
        for _ in range(3):
            approximately(found(*arguments), make(evaluated)(*arguments))
        assert calls_of_package(lambda found=found: found(*arguments)) == []


@in_c
def test_lists_and_booleans_of_procedures_come_back_in_c(sessions: tuple[vlad.Session, vlad.Session]) -> None:
    cases: list[tuple[str, Any, Any]] = [
        ("(lambda (l) (map (lambda (x) (* 2 x)) l))", [1.0] * 100, [2.0] * 100),
        ("(lambda (l) (map (lambda (x) (cons x (> x 0))) l))", [1.0] * 100, [(1.0, True)] * 100),
        ("(lambda (x) (list (> x 0) 'yes (if (> x 0) '() x)))", 1.0, [True, "yes", []]),
        ("(lambda (x) (if (> x 0) (list x) 'no))", -1.0, "no"),
    ]
    for text, given, expected in cases:
        procedure = sessions[0].eval(text)
        for _ in range(3):
            assert procedure(given) == expected
        assert calls_of_package(lambda procedure=procedure, given=given: procedure(given)) == [], text
