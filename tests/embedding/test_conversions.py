"""Python values converted there and back: unchanged where docs/embedding.md says “the same”; otherwise as it states."""

from __future__ import annotations

import array
import dataclasses
import enum
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from amounts import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import texts

import vlad

pytestmark = pytest.mark.any_compiler

KINDS = [
    "float64",
    "float32",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint64",
    "uint32",
    "uint16",
    "uint8",
    "bool",
]


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Layer:
    weights: Any
    bias: Any
    count: ClassVar[int] = 7


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    a: Any
    b: Any = dataclasses.field(init=False, default=2.0)


class Thing:
    """An object without counterpart in the language."""


@st.composite
def arrays(draw: Any) -> np.ndarray:
    """Of every kind of number and shape, and laid out in every way."""
    shape = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    numbers = draw(st.lists(st.integers(-100, 100), min_size=math.prod(shape), max_size=math.prod(shape)))
    array = np.array(numbers, dtype=np.int64).reshape(shape).astype(draw(st.sampled_from(KINDS)))
    match draw(st.integers(0, 7)):
        case 0:
            return array[::-1]
        case 1:
            return array.T
        case 2:
            return np.asfortranarray(array)
        case 3:
            return np.broadcast_to(array, (2, *array.shape))
        case 4:
            return array.astype(array.dtype.newbyteorder(">"))
        case 5:  # not aligned
            return np.frombuffer(b"." + array.tobytes(), dtype=array.dtype, offset=1).reshape(array.shape)
        case 6:
            array.setflags(write=False)
            return array
    return array


PLAIN = (
    st.floats() | st.integers(-(2**53), 2**53) | st.booleans() | st.none() | texts(max_size=5) | arrays()
    | st.builds(lambda: vlad.Opaque(Thing()))
)  # fmt: skip
# By the tuple rule a pair whose second part is a list is a list.
NO_LIST = st.deferred(lambda: PLAIN | st.tuples(VALUES, NO_LIST))
VALUES = st.recursive(
    PLAIN, lambda parts: st.lists(parts, max_size=4) | st.tuples(parts, NO_LIST), max_leaves=8
)


def same(found: Any, given: Any) -> bool:
    """Whether both are the same by Python's `==`, and for arrays by kind, shape and entries."""
    if isinstance(given, vlad.Opaque):
        return found is given.object
    if isinstance(given, np.ndarray):
        native = given.dtype.newbyteorder("=")  # entries come back as the machine has them
        return found.dtype == native and found.shape == given.shape and np.array_equal(found, given)
    if isinstance(given, list | tuple):
        return (
            type(found) is type(given)
            and len(found) == len(given)
            and all(same(one, other) for one, other in zip(found, given, strict=True))
        )
    if isinstance(given, float) and math.isnan(given):
        return math.isnan(found)
    if isinstance(given, bool) or not isinstance(given, int | float):
        return type(found) is type(given) and found == given
    return type(found) is float and found == given and math.copysign(1, found) == math.copysign(1, given)


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    session = vlad.Session(tier="evaluate")
    session.eval("(define (same x) x) (define (tail x y) y)")
    return session


@settings(max_examples=drawn(1000), deadline=None)
@given(value=VALUES)
def test_what_goes_there_comes_back(session: vlad.Session, value: Any) -> None:
    assert same(session["same"](value), value)
    session["x"] = value
    assert same(session["x"], value)


@settings(max_examples=50, deadline=None)
@given(value=VALUES)
def test_python_functions_are_handed_the_same(session: vlad.Session, value: Any) -> None:
    seen: list[Any] = []
    session["see"] = lambda x: seen.append(x) or value
    assert same(session.eval("(lambda (x) (see x))")(value), value)
    assert same(seen[0], value)


@settings(max_examples=25, deadline=None)
@given(
    value=st.floats()
    | arrays()
    | st.lists(st.floats(), max_size=3)
    | st.booleans()
    | st.tuples(st.floats(), arrays())
)
def test_compiled_procedures_convert_as_the_evaluator_does(value: Any) -> None:
    compiled = vlad.Session(tier="compile").eval("(lambda (x) x)")
    for _ in range(2):
        assert same(compiled(value), value)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (2, 2.0), ((1.0, 2.0, 3.0), (1.0, (2.0, 3.0))), ((5.0,), 5.0), ((), []), ((1.0, [2.0]), [1.0, 2.0]),
        (Point(1.0, "a"), (1.0, "a")), (Layer([1.0], True), ([1.0], True)), (Frozen(1.0), (1.0, 2.0)),
        ({"a": 1.0, "b": (2.0, 3.0)}, [("a", 1.0), ("b", (2.0, 3.0))]), ({}, []), ({"a": [1.0]}, [["a", 1.0]]),
        (np.float64(2), 2.0), (np.float32(0.5), 0.5), (np.int64(3), 3.0), (np.bool_(True), True), (np.array(1.5), 1.5),
        (2**53 + 1, 2.0**53),
    ],
)  # fmt: skip
def test_what_comes_back_otherwise(session: vlad.Session, given: Any, found: Any) -> None:
    again = session["same"](given)
    assert again == found and type(again) is type(found)


class Color(str, enum.Enum):  # noqa: UP042  # whose `str` is not the text
    RED = "red"


def test_kinds_of_texts_and_numbers_come_back_plain(session: vlad.Session) -> None:
    assert repr(session["same"]([Color.RED, enum.IntEnum("E", "A").A])) == "['red', 1.0]"


def test_symbols_come_back_as_their_names(session: vlad.Session) -> None:
    assert session.eval('\'(a "b" . c)') == ("a", ("b", "c"))


@pytest.mark.parametrize(
    "value",
    [
        1j, b"bytes", {1, 2}, object(), np.array([1j]), np.array(["a"]), np.array([None]),
        np.ma.masked_array([1.0], [True]), np.array(["2020-01-01"], dtype="datetime64[D]"), [1.0, {2.0}], ((), {"a": 1j}),
        10**400, Layer(1.0, {1}),
    ],
    ids=lambda value: f"{type(value).__name__}",
)  # fmt: skip
def test_what_has_no_counterpart(session: vlad.Session, value: Any) -> None:
    with pytest.raises(TypeError, match="no counterpart") as caught:
        session["same"](value)
    assert (
        isinstance(caught.value, vlad.VladError)
        and caught.value.code == "no-counterpart"
        and caught.value.hint
    )


class OfDlpack:
    """An array of another library, as PyTorch's."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Column:
    """A column of a table, as those of pandas and polars."""

    def __init__(self, *entries: Any) -> None:
        self.entries = entries

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.entries, dtype)


class Refusing(OfDlpack):
    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("it records gradients")


class Failing:
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise KeyError("no such column")


class RefusingDlpackOnly(Refusing, Column):
    def __init__(self, *entries: Any) -> None:
        self.entries = entries


@pytest.mark.parametrize(
    ("value", "same"),
    [
        (range(2, 8, 3), [2.0, 5.0]),
        (memoryview(np.array([[1.0, 2.0]])), np.array([[1.0, 2.0]])),
        (array.array("i", [1, 2]), np.array([1, 2], "int32")),
        (np.array([1, 2.5], "float16"), np.array([1, 2.5], "float32")),
        (OfDlpack(np.arange(3.0)), np.arange(3.0)),
        (Column(1.5, 2.5), np.array([1.5, 2.5])),
        (RefusingDlpackOnly(1, 2), np.array([1, 2])),
        ([OfDlpack(np.ones(2)), 1.0], [np.ones(2), 1.0]),
    ],
    ids=["range", "memoryview", "array.array", "float16", "DLPack", "column", "one of both", "inside"],
)
def test_arrays_of_other_libraries(session: vlad.Session, value: Any, same: Any) -> None:
    np.testing.assert_equal(session["same"](value), same)
    found = session["same"](value)
    assert type(found) is type(same) and getattr(found, "dtype", None) == getattr(same, "dtype", None)


def test_an_export_shares_memory(session: vlad.Session) -> None:
    there = np.arange(4.0)
    assert np.shares_memory(session["same"](OfDlpack(there)), there)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Refusing(np.ones(2)), "it records gradients"),
        (Column("a", "b"), "reals, integers or booleans"),
        (Column(1, None), "reals"),
    ],
)
def test_exports_that_are_refused(session: vlad.Session, value: Any, said: str) -> None:
    with pytest.raises(TypeError, match="no counterpart") as caught:
        session["same"](value)
    assert said in str(caught.value)


def nested(depth: int, part: Any, wrap: Any) -> Any:
    for _ in range(depth):
        part = wrap(part)
    return part


@pytest.mark.parametrize(
    ("wrap", "inside"),
    [
        (lambda x: [x], lambda x: x[0]),
        (lambda x: (x, 1.0), lambda x: x[0]),
        (lambda x: {"a": x}, lambda x: x[-1]),
        (lambda x: Layer(x, 1.0), lambda x: x[0]),
    ],
    ids=["lists", "tuples", "dicts", "dataclasses"],
)
def test_deep_values(session: vlad.Session, wrap: Any, inside: Any) -> None:
    session["deep"] = nested(5_000, 1.0, wrap)
    for found in (session["deep"], session["same"](nested(5_000, 1.0, wrap))):
        depth = 0
        while not isinstance(found, float):
            found, depth = inside(found), depth + 1
        assert found == 1.0 and depth >= 5_000


def test_deep_sensitivities(session: vlad.Session) -> None:
    innermost = session.eval("(lambda (x) (let loop ((x x)) (if (pair? x) (loop (car x)) (* x x))))")
    found = vlad.grad(innermost)(nested(5_000, 3.0, lambda x: [x]))
    for _ in range(5_000):
        (found,) = found
    assert found == 6.0


def test_cyclic_data_are_an_error(session: vlad.Session) -> None:
    itself: list[Any] = [1.0]
    itself.append((2.0, itself))
    with pytest.raises(vlad.VladError, match="A list that holds itself has no counterpart"):
        session["same"](itself)
    named: dict[str, Any] = {}
    named["me"] = [named]
    with pytest.raises(vlad.VladError, match=r"A (dict|list) that holds itself"):
        session["x"] = named
    shared = [1.0]
    assert session["same"]([shared, shared]) == [[1.0], [1.0]]


def test_arrays_are_views(session: vlad.Session) -> None:
    array = np.arange(1e6)
    found = session["same"](array)
    assert np.shares_memory(found, array) and not found.flags.writeable and array.flags.writeable
    for view in (array[::2], array.reshape(1000, 1000).T):
        assert np.shares_memory(session["same"](view), array)


def test_sensitivities_of_records(session: vlad.Session) -> None:
    squares = session.eval("(lambda (q) (+ (square (car q)) (* 3 (cdr q))))")
    found = vlad.grad(squares)(Frozen(2.0))
    assert type(found) is Frozen and (found.a, found.b) == (4.0, 3.0)
    found = vlad.grad(squares)(Layer(2.0, 1.0))
    assert (found.weights, found.bias, found.count) == (4.0, 3.0, 7)
    assert vlad.grad(squares)(Point(2.0, 1.0)) == Point(4.0, 3.0)
