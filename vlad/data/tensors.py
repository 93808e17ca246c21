"""Tensors as values: immutable arrays of numbers of one kind.

    Tensor      a rectangular array of rank 1 or more: reals (float64, float32), integers (int64, …) or booleans. A result of
                rank 0 is a real or a boolean
    array       its array, of NumPy or another library that follows the array-API standard; never modified
    terms       until `array` is read: the terms of which the tensor is the sum. A sum of sensitivities that are zero
                except at one index costs O(1) per term, and one array in all

Python's operators between tensors and reals mean the same as the language's, with broadcasting; other operands raise
TypeError or ValueError, which evaluate/errors/explain.py converts into an error of the language. Only tensors of reals have
tangents: any other is its own zero. NumPy is imported when the first tensor is made.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from vlad.control.budget import REAL, UNCHECKED_BYTES, expect_array, expect_arrays
from vlad.control.safe_import import import_safely
from vlad.data.values import FALSE, TRUE, ZERO, Value

Array = Any


# bytes; its BLAS takes another 32 MB per processor, and ends the process if it gets none
NUMPY_ADDRESSES = 128 << 20


@functools.cache  # to ask for the number of processors takes longer than an operation
def load_numpy() -> Any:
    return import_safely("numpy", NUMPY_ADDRESSES + (32 << 20) * (os.cpu_count() or 1))


class _Sorts(dict[Any, str]):
    """Maps a dtype object to the sort of its numbers: f for reals, i or u for integers, b for booleans, else ""."""

    def __missing__(self, dtype: Any) -> str:
        name = kind_name(dtype)
        known = name in ("bool", "float32", "float64") or name.rstrip("123468") in ("int", "uint")
        self[dtype] = name[0] if known else ""
        return self[dtype]


SORT = _Sorts()


@functools.cache
def kind_name(dtype: Any) -> str:
    """The array-API standard's name of a dtype."""
    return str(getattr(dtype, "name", dtype)).rpartition(".")[2]


def dtype_name(kind: str) -> str:
    """The language's name of a dtype."""
    return "boolean" if kind == "bool" else kind


class NoCondition(TypeError):
    """A tensor of booleans was used as a condition."""


class Booleans(dict[Any, Value]):
    """Maps Python's booleans to the language's. Other values, such as the tensor that a comparison of tensors returns, map to
    themselves.
    """

    def __missing__(self, value: Value) -> Value:
        return value


def condition(value: Value) -> bool:
    """The result of a test as a Python bool. Raises NoCondition if it is not a boolean."""
    if value is not TRUE and value is not FALSE:
        raise NoCondition
    return value is TRUE


def holds(value: Value) -> bool:
    """Whether a value that is no boolean counts as true: always. Raises NoCondition for a tensor of booleans."""
    if type(value) is Tensor and SORT[value.like.dtype] == "b":
        raise NoCondition
    return True


class Put:
    """A sensitivity that is zero except at `index`, where it is `array`."""

    __slots__ = ("index", "array")

    def __init__(self, index: Any, array: Array) -> None:
        self.index = index
        self.array = array


class Tensor:
    """A tensor value (see the module's docstring). Made by `tensor` or, for rank 1 and more, by `Tensor(array)`."""

    __slots__ = ("_array", "_terms", "outline", "shape", "is_real")

    def __init__(self, array: Array, terms: tuple[Tensor | Put, ...] = ()) -> None:
        """With `terms`, `array` gives only the shape and kind."""
        self._array = array
        self._terms = terms
        self.outline: Tensor | None = None  # devices.outline_of
        self.shape: tuple[int, ...] = array.shape
        self.is_real: bool = SORT[array.dtype] == "f"

    @property
    def array(self) -> Array:
        if self._terms:
            self._array, self._terms = _total(self), ()
        return self._array

    @property
    def is_sum(self) -> bool:
        """Whether this is a sum whose terms have not been added up."""
        return bool(self._terms)

    @property
    def like(self) -> Array:
        """An array of the same shape and kind."""
        return self._array

    def __bool__(self) -> bool:
        raise NoCondition

    def __add__(self, other: Value) -> Value:
        return _operated(operator.add, self, other)

    def __radd__(self, other: Value) -> Value:
        return _operated(operator.add, other, self)

    def __sub__(self, other: Value) -> Value:
        return _operated(operator.sub, self, other)

    def __rsub__(self, other: Value) -> Value:
        return _operated(operator.sub, other, self)

    def __mul__(self, other: Value) -> Value:
        return _operated(operator.mul, self, other)

    def __rmul__(self, other: Value) -> Value:
        return _operated(operator.mul, other, self)

    def __truediv__(self, other: Value) -> Value:
        return _operated(operator.truediv, self, other)

    def __rtruediv__(self, other: Value) -> Value:
        return _operated(operator.truediv, other, self)

    def __neg__(self) -> Value:
        array = numbers(self)
        expect_arrays(1, array.size)
        return Tensor(-array)

    def __lt__(self, other: Value) -> Value:
        return _operated(operator.lt, self, other)

    def __gt__(self, other: Value) -> Value:
        return _operated(operator.gt, self, other)

    def __le__(self, other: Value) -> Value:
        return _operated(operator.le, self, other)

    def __ge__(self, other: Value) -> Value:
        return _operated(operator.ge, self, other)


def _operated(operation: Callable[[Any, Any], Any], a: Value, b: Value) -> Value:
    for operand in (a, b):
        if type(operand) is not Tensor and type(operand) is not float:
            return NotImplemented
    x, y = numbers(a), numbers(b)
    if not ((type(a) is float or a.is_real) and (type(b) is float or b.is_real)):
        x, y = as_reals((x, y)) if operation is operator.truediv else alike((x, y))
    if (1 if type(x) is float else x.size) * (1 if type(y) is float else y.size) >= SMALL:
        expect_together(x, y)
    with quiet():
        return Tensor(operation(x, y))


SMALL = UNCHECKED_BYTES // REAL  # entries below which memory is not checked beforehand


def expect_together(*operands: Any) -> None:
    """Raise NoRoom unless there is memory for an array of the shape to which these arrays and reals broadcast."""
    most = 1
    for operand in operands:
        if type(operand) is not float:
            most *= operand.size
    if most >= SMALL:
        shapes = [operand.shape for operand in operands if type(operand) is not float]
        with contextlib.suppress(ValueError):  # the shapes do not match: no array is made
            expect_array(load_numpy().broadcast_shapes(*shapes))


def quiet() -> Any:
    """A context without NumPy's warnings: values follow IEEE arithmetic, where overflow and division by zero are no errors."""
    numpy = load_numpy()

    return numpy.errstate(all="ignore")


def numbers(value: Value) -> Any:
    """The array to compute with, or the float. Booleans become 0 and 1."""
    if type(value) is not Tensor:
        return 0.0 if value is ZERO else value
    array = value.array
    if not value.is_real and SORT[array.dtype] == "b":
        xp = namespace(array)
        expect_arrays(1, array.size)
        return xp.astype(array, xp.float64)
    return array


def operands_of(values: Sequence[Value]) -> Sequence[Any]:
    """The arrays and floats of several operands. Integers next to reals become reals, as the standard leaves mixed kinds
    undefined and a library may reject them.
    """
    arrays = [numbers(value) for value in values]
    for value in values:
        if type(value) is Tensor and not value.is_real:
            return alike(arrays)
    return arrays


def reals_of(values: Sequence[Value]) -> Sequence[Any]:
    """The same for a function of reals. The standard defines no roots of integers, and NumPy's roots of small integers have half
    precision.
    """
    arrays = [numbers(value) for value in values]
    for value in values:
        if type(value) is Tensor and not value.is_real:
            return as_reals(arrays)
    return arrays


def alike(arrays: Sequence[Any]) -> Sequence[Any]:
    """Convert results of `numbers` to a common sort: if one is real, all become real."""
    for array in arrays:
        if type(array) is float or SORT[array.dtype] == "f":
            return as_reals(arrays)
    return arrays


def as_reals(arrays: Sequence[Any]) -> Sequence[Any]:
    """Convert arrays and floats to reals."""
    return [
        array if type(array) is float or SORT[array.dtype] == "f" else _real_beside(array, arrays)
        for array in arrays
    ]


def _real_beside(array: Array, others: Sequence[Any]) -> Array:
    """Convert integers to float64, or small integers next to float32 alone to float32, which represents all of them."""
    xp = namespace(array)
    kind = xp.float64
    if kind_name(array.dtype) in SMALL_KINDS:
        kinds = {kind_name(other.dtype) for other in others if type(other) is not float}
        if "float32" in kinds and "float64" not in kinds:
            kind = xp.float32
    expect_arrays(1, array.size)
    return xp.astype(array, kind)


SMALL_KINDS = ("int8", "uint8", "int16", "uint16")


def in_one_array(arrays: list[Array]) -> Sequence[Array]:
    """Convert arrays to the sort of the one array that will contain them. Booleans stay booleans among themselves, else become 0
    and 1.
    """
    if len({SORT[array.dtype] for array in arrays}) == 1:
        return arrays
    return operands_of([Tensor(array) for array in arrays])


def is_array(value: Any) -> bool:
    """Whether a value is an array of a library that follows the standard. CuPy's do, but lack its attribute."""
    return hasattr(value, "__array_namespace__") or type(value).__module__.partition(".")[0] == "cupy"


def namespace(array: Array) -> Any:
    """The array-API namespace of an array."""
    find = getattr(array, "__array_namespace__", None)
    return find() if find is not None else sys.modules["cupy"]


def together(a: Array, b: Array) -> bool:
    """Whether two arrays have the same library and device."""
    return type(a) is type(b) and a.device == b.device


def is_on_host(tensor: Tensor) -> bool:
    """Whether the entries are a NumPy array, which compiled code can read."""
    numpy = load_numpy()

    return type(tensor.like) is numpy.ndarray


def on_host(array: Array) -> Array:
    """Convert an array to NumPy."""
    numpy = load_numpy()

    if isinstance(array, numpy.ndarray):
        return array
    if hasattr(array, "get"):  # CuPy
        return array.get()
    default = namespace(array).__array_namespace_info__().default_device()
    return numpy.from_dlpack(array.to_device(default))


def entries(tensor: Tensor) -> Array:
    """The entries in row-major order, in the memory of this process."""
    numpy = load_numpy()

    array = numpy.asarray(tensor.array)
    if not array.flags.c_contiguous:
        expect_arrays(1, array.size)
    return numpy.ascontiguousarray(array)


def entries_there(tensor: Tensor, xp: Any) -> Array:
    """The same in the memory of `xp`'s device."""
    array = tensor.array if namespace(tensor.like) is xp else entries(tensor)
    return xp.reshape(xp.ascontiguousarray(xp.asarray(array)), (-1,))


def from_entries(data: Any, shape: tuple[int, ...], kind: str) -> Tensor:
    """Make a tensor from a copy of such entries."""
    numpy = load_numpy()

    return Tensor(numpy.frombuffer(data, dtype=kind).reshape(shape).copy())


def shape_text(shape: Iterable[int]) -> str:
    """A shape in the language's notation."""
    return f"({' '.join(map(str, shape))})"


def made(array: Array) -> Value:
    """The value of an array: a tensor, or a real or a boolean if its rank is 0."""
    if array.ndim:
        return Tensor(array)
    if SORT[array.dtype] == "b":
        return TRUE if bool(array) else FALSE
    return float(array)


def frozen(array: Array) -> Array:
    """A read-only view of an array."""
    view = array[...]
    if hasattr(view, "setflags"):
        view.setflags(False)  # positional: a third of the cost of the keyword
    return view


def zeros_like(value: Tensor) -> Tensor:
    """The zero of the tangent space of a tensor of reals."""
    expect_arrays(1, value.like.size)
    return Tensor(namespace(value.like).zeros_like(value.like))


def as_kind_of(tensor: Tensor, like: Tensor) -> Tensor:
    """The same numbers, converted to the kind of another tensor."""
    kind = kind_name(like.like.dtype)
    if kind_name(tensor.like.dtype) == kind:
        return tensor
    xp = namespace(tensor.like)
    expect_arrays(1, tensor.like.size)
    with quiet():
        return Tensor(xp.astype(tensor.array, getattr(xp, kind)))


def put(like: Tensor, index: Any, array: Array) -> Value:
    """A sensitivity like `like`, zero except at `index`; ZERO if `like` has no tangents."""
    return Tensor(like.like, (Put(index, array),)) if like.is_real else ZERO


def added(a: Tensor, b: Tensor) -> Tensor:
    """The sum of two sensitivities of one tensor."""
    if a._terms or b._terms:
        return Tensor(a._array, (a, b))
    if not a.is_real:
        return a
    expect_arrays(1, a._array.size)
    with quiet():
        return Tensor(a._array + b._array)


def _total(tensor: Tensor) -> Array:
    """Add up all terms in one array, however deep the sums nest. A sum that occurs in several others is added up once."""
    for shared in _shared(tensor):
        shared._array, shared._terms = _added_up(shared), ()
    return _added_up(tensor)


def _shared(tensor: Tensor) -> list[Tensor]:
    """The sums that occur more than once within a sum, inner ones first."""
    counts: dict[int, int] = {}
    order: list[Tensor] = []
    work: list[tuple[Tensor, bool]] = [(tensor, False)]
    while work:
        node, done = work.pop()
        if done:
            order.append(node)
            continue
        counts[id(node)] = counts.get(id(node), 0) + 1
        if counts[id(node)] == 1:
            work.append((node, True))
            work += [(term, False) for term in node._terms if isinstance(term, Tensor) and term._terms]
    return [node for node in order if counts[id(node)] > 1]


def _added_up(tensor: Tensor) -> Array:
    like = tensor._array
    expect_arrays(1, like.size)
    total = namespace(like).zeros_like(like)
    work: list[Tensor | Put] = list(tensor._terms)
    with quiet():
        while work:
            term = work.pop()
            if isinstance(term, Put):
                total[term.index] += term.array
            elif term._terms:
                work += term._terms
            else:
                total += term._array
    return total


def same_numbers(a: Tensor, b: Tensor) -> bool:
    """Whether shapes, kinds and entries are equal; nan equals nan, as for reals."""
    x, y = a.array, b.array
    if x.shape != y.shape or kind_name(x.dtype) != kind_name(y.dtype):
        return False
    if not together(x, y):
        x, y = on_host(x), on_host(y)
    expect_arrays(0.5, x.size)  # three of booleans, and one more
    return bool(namespace(x).all((x == y) | ((x != x) & (y != y))))
