"""The rows that sort the entries of tensors along an axis (arrays.py has the conventions).

Sorting is stable, with zeros of both signs equal, and nan comes last, as in NumPy. The position of an entry is
locally constant: so derivatives move tangents as the entries were moved. `ordered` takes
entries from the positions of an order, `unordered` puts them back, and each is the transpose of the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vlad.control.budget import expect_arrays, expect_seconds
from vlad.core.loop_nests import Access, Kernel, Output, Read, Routine, Write, contiguous
from vlad.data.devices import stable_order
from vlad.data.tensors import Array, made, namespace, numbers
from vlad.data.values import Primitive, Value
from vlad.primitives.arrays import LAST, array_of, axis_of, constant, row
from vlad.primitives.type_rules import (
    Shape,
    as_kind,
    as_numbers,
    filled,
    is_number,
    kind_of,
    known,
    shape_of,
)

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine

SECONDS = 6e-9  # per entry and doubling of their number, in an array library


def _order(array: Array, axis: int) -> Array:
    """The order of the entries along an axis, as int64."""
    expect_arrays(2, array.size)
    expect_seconds(SECONDS * array.size * max(1, array.shape[axis]).bit_length())
    xp = namespace(array)
    return xp.astype(stable_order(array, axis), xp.int64, copy=False)


def _taken(array: Array, order: Array, axis: int) -> Value:
    expect_arrays(1, array.size)
    return made(namespace(array).take_along_axis(array, order, axis=axis))


def _argsort(t: Value, axis: Value) -> Value:
    array = array_of("argsort", t)
    at = axis_of("argsort", axis, array.ndim)
    return made(_order(numbers(t), at))


def _sorted(t: Value, axis: Value) -> Value:
    array = array_of("sorted", t)
    at = axis_of("sorted", axis, array.ndim)
    return _taken(array, _order(numbers(t), at), at)


def _ordered(t: Value, order: Value, axis: Value) -> Value:
    array = array_of("sorted", t)
    return _taken(array, order.array, axis_of("sorted", axis, array.ndim))


def _unordered(x: Value, order: Value, axis: Value) -> Value:
    array = array_of("sorted", x)
    at = axis_of("sorted", axis, array.ndim)
    return _taken(array, _order(order.array, at), at)


def _abstract_order(w: AbstractMachine, t: Any, at: int) -> Any:
    shape = shape_of(t)
    result = w.types.tensor(shape, "int64")
    if 0 in shape:
        return filled(w, shape, 0.0, "int64")
    kind = "int64" if kind_of(t) in ("int64", "int32") else "float64"
    columns = math.prod(shape[at + 1 :])
    output = Output(math.prod(shape), kind="int64")
    routine = Routine("places", (output,), shape[at], columns, shape[:at], kind=kind)
    return w.loops(routine, [as_kind(w, as_numbers(w, t), kind)], [result])[0]


def _abstract_argsort(w: AbstractMachine, t: Any, axis: Any) -> Any:
    if not is_number(t):
        return w.invalid("argsort")
    return _abstract_order(w, t, axis_of("argsort", known(w, axis), len(shape_of(t))))


def _abstract_sorted(w: AbstractMachine, t: Any, axis: Any) -> Any:
    if not is_number(t):
        return w.invalid("sorted")
    at = axis_of("sorted", known(w, axis), len(shape_of(t)))
    return _moved(w, t, _abstract_order(w, t, at), at, False)


def _abstract_moving(is_back: bool) -> Callable[..., Any]:
    def abstract(w: AbstractMachine, t: Any, order: Any, axis: Any) -> Any:
        return _moved(w, t, order, axis_of("sorted", known(w, axis), len(shape_of(t))), is_back)

    return abstract


def _moved(w: AbstractMachine, t: Any, order: Any, at: int, is_back: bool) -> Any:
    """The entries of t from the positions of an order along an axis, or moved there. The positions are known to be an order."""
    shape: Shape = shape_of(t)
    kind, size, strides = kind_of(t) or "float64", math.prod(shape), contiguous(shape)
    own = Access(0, strides)
    there = Access(0, (*strides[:at], 0, *strides[at + 1 :]), ((0, strides[at]),))
    reads = (Read(0, own, "int64"), Read(1, own if is_back else there, kind))
    output = Output(size, 0.0 if is_back else None, kind=kind)
    kernel = Kernel(shape, reads, (), (output,), (Write(0, 1, there if is_back else own),))
    return w.loops(kernel, [order, t], [w.types.tensor(shape, kind)])[0]


ROWS: list[Primitive] = [
    constant("argsort", "t axis",
        "The indices that sort the entries along an axis in ascending order, stably; nan is last.\n"
        "(argsort #[30 10 20])  ⇒ #<tensor int64 [1 2 0]>\n(gather #[30 10 20] (argsort #[30 10 20]))  ⇒ #[10 20 30]",
        _argsort, abstract=_abstract_argsort, keywords=LAST),
    row("sorted", "t axis",
        "The entries along an axis in ascending order, sorted stably; nan is last.\n"
        "(sorted #[[3 1 2] [9 7 8]])  ⇒ #[[1 2 3] [7 8 9]]\n"
        "((gradient (lambda (t) (dot (sorted t) #[1 10 100]))) #[3 1 2])  ⇒ #[100 1 10]",
        _sorted, abstract=_abstract_sorted, keywords=LAST, linear="t",
        forward="(ordered dt (argsort t axis) axis)", reverse={"t": "(unordered s (argsort t axis) axis)"}),
    row("ordered", "t order axis", "The entries at the places of an order along an axis.", _ordered, linear="t",
        hidden=True, abstract=_abstract_moving(False), forward="(ordered dt order axis)",
        reverse={"t": "(unordered s order axis)"}),
    row("unordered", "x order axis", "The transpose of ordered: entries put at the places of an order along an axis.", _unordered,
        linear="x", hidden=True, abstract=_abstract_moving(True), forward="(unordered dx order axis)",
        reverse={"x": "(ordered s order axis)"}),
]  # fmt: skip
