"""The rows of tensors by index: entries, slices, gathering and scattering, choosing (arrays.py has the conventions)."""

from __future__ import annotations

from typing import Any

from vlad.core.types import is_known_zero, is_real
from vlad.devices import add_at, device_of
from vlad.errors import VladError
from vlad.primitives.arrays import (
    FIRST,
    array_of,
    axis_of,
    row,
    whole,
)
from vlad.primitives.elementwise import apart, elementwise, is_elementwise
from vlad.primitives.numbers import invalid
from vlad.tensors import SORT, Array, Tensor, made, namespace, numbers, put, quiet, shape_text, together
from vlad.values import FALSE, TRUE, ZERO, Boolean, Primitive, Value, look


def _place(name: str, array: Array, index: Value) -> tuple[Any, ...]:
    index = look(index)
    parts = []
    while type(index) is tuple and len(index) == 2:
        parts.append(index[0])
        index = look(index[1])
    if type(index) is float:
        parts.append(index)
    place = tuple([whole(name, part, "an index") for part in parts])
    if len(place) > array.ndim:
        raise VladError(
            "out-of-range",
            f"Too many indices given to {name}: {len(place)}",
            hint=f"the tensor has rank {array.ndim}",
        )
    for number, length in zip(place, array.shape, strict=False):
        if not -length <= number < length:
            raise VladError(
                "out-of-range", f"Index given to {name} is out of range: {number}",
                hint=f"the tensor has the shape {shape_text(array.shape)}",
            )  # fmt: skip
    return place if len(place) == array.ndim else (*place, ...)


def _tensor_ref(t: Value, index: Value) -> Value:
    if type(t) is not Tensor:
        raise invalid("tensor-ref", "a tensor and indices", t)
    return made(t.array[_place("tensor-ref", t.like, index)])


def _tensor_put(x: Value, like: Value, index: Value) -> Value:
    place = _place("tensor-ref", like.like, index)
    return put(like, place, numbers(x))


def _cut(name: str, array: Array, start: Value, stop: Value, axis: Value, step: Value) -> tuple[Any, ...]:
    at = axis_of(name, axis, array.ndim)
    begin, end, by = [whole(name, x, "a bound or step") for x in (start, stop, step)]
    length = array.shape[at]
    if not 0 <= begin <= end <= length or by < 1:
        raise VladError(
            "out-of-range", f"Slice given to {name} is out of range: from {begin} to {end} by {by}",
            hint=f"axis {at} has the length {length}",
        )  # fmt: skip
    return (*[slice(None)] * at, slice(begin, end, by), ...)


def _slice(t: Value, start: Value, stop: Value, axis: Value, step: Value) -> Value:
    array = array_of("slice", t)
    return made(array[_cut("slice", array, start, stop, axis, step)])


def _unslice(x: Value, like: Value, start: Value, stop: Value, axis: Value, step: Value) -> Value:
    return put(like, _cut("slice", like.like, start, stop, axis, step), numbers(x))


def _indices(name: str, array: Array, indices: Value, axis: int) -> Array:
    found = array_of(name, indices, array)
    if not together(array, found):
        raise apart(name, array, found)
    xp, length = namespace(array), array.shape[axis]
    if SORT[found.dtype] == "f":
        with quiet():
            rounded = xp.astype(found, xp.int64)
        if not bool(xp.all(xp.astype(rounded, found.dtype) == found)):
            raise VladError(
                "invalid-argument", f"Argument to {name} is invalid", hint="indices are whole numbers"
            )
        found = rounded
    if SORT[found.dtype] not in "iu":
        raise invalid(name, "whole numbers as indices", indices)
    if found.size and not bool(xp.all((found >= -length) & (found < length))):
        raise VladError(
            "out-of-range", f"Index given to {name} is out of range",
            hint=f"axis {axis} of the tensor of shape {shape_text(array.shape)} has the length {length}",
        )  # fmt: skip
    return found


def _gather(t: Value, indices: Value, axis: Value) -> Value:
    array = array_of("gather", t)
    at = axis_of("gather", axis, array.ndim)
    xp, found = namespace(array), _indices("gather", array, indices, at)
    taken = xp.take(array, found if found.ndim == 1 else xp.reshape(found, (-1,)), axis=at)
    return made(taken if found.ndim == 1 else xp.reshape(taken, _gathered_shape(array, found, at)))


def _gathered_shape(array: Array, indices: Array, axis: int) -> tuple[int, ...]:
    return (*array.shape[:axis], *indices.shape, *array.shape[axis + 1 :])


def _scatter_add(t: Value, indices: Value, updates: Value, axis: Value) -> Value:
    if updates is ZERO:
        return t
    array = array_of("scatter-add", t)
    at = axis_of("scatter-add", axis, array.ndim)
    found, more = _indices("scatter-add", array, indices, at), array_of("scatter-add", updates, array)
    if not together(array, more):
        raise apart("scatter-add", array, more)
    xp, parts = namespace(array), _gathered_shape(array, found, at)
    kind = xp.float64 if SORT[array.dtype] != "f" and SORT[more.dtype] == "f" else array.dtype
    if more.shape != parts:
        raise VladError(
            "wrong-shape",
            f"Shapes given to scatter-add do not fit: {shape_text(parts)} and {shape_text(more.shape)}",
            hint="the updates have the shape that `gather` answers for these indices",
        )  # fmt: skip
    total = xp.astype(array, kind)  # a copy
    in_a_row = xp.reshape(more, (*array.shape[:at], found.size, *array.shape[at + 1 :]))
    add_at(total, at, xp.reshape(found, (-1,)), xp.astype(in_a_row, kind, copy=False))
    return made(total)


def _where(c: Value, a: Value, b: Value) -> Value:
    if a is ZERO is b:
        return ZERO
    if c is TRUE or c is FALSE:
        if {type(a), type(b)} <= {float, type(ZERO)}:
            return a if c is TRUE else b
        c = 1.0 if c is TRUE else 0.0
    operands = (c, a, b)
    if not is_elementwise(operands):
        raise invalid("where", "a boolean or a tensor of them, and two reals or tensors", *operands)
    return elementwise("where", _chosen, _choice, operands)


def _chosen(c: float, a: float, b: float) -> float:
    return a if c else b


def _choice(xp: Any, c: Array | float, a: Array | float, b: Array | float) -> Array:
    """The same of arrays and reals, of which the standard wants the condition and one more to be arrays."""
    there = device_of(next(x for x in (c, a, b) if type(x) is not float))
    test = there.asarray(c != 0) if type(c) is float else c != 0
    return xp.where(test, there.asarray(a) if type(a) is type(b) is float else a, b)


def _abstract_where(w: Any, c: Any, a: Any, b: Any) -> Any:
    """A test between two values that are there: what follows knows which."""

    def of_one(c: Any) -> Any:
        if c.type.kind == "constant" and type(c.type.of) is Boolean:
            return a if c.type.of is TRUE else b
        if c.type.kind != "boolean":
            return w.fail("Argument to where is invalid")
        return w.branch((w.key, "where"), c, lambda: a, lambda: b, False)

    for number in (a, b):
        type_ = w.types.canonical(number.type)
        if type_.kind != "union" and not is_real(type_) and not is_known_zero(type_):
            return w.fail("Argument to where is invalid")
    return w.each(c, of_one)


ROWS: list[Primitive] = [
    row("tensor-ref", "t index", "The entry at an index, or the part at fewer of them.", linear="t", value=_tensor_ref,
         forward="(tensor-ref dt index)", reverse={"t": "(tensor-put s t index)"}),
    row("tensor-put", "x like index", "Zeros but at an index.", linear="x like", value=_tensor_put, hidden=True,
         forward="(tensor-put dx like index)", reverse={"x": "(tensor-ref s index)"}),
    row("slice", "t start stop axis step", "The part from start up to stop along an axis.", linear="t", value=_slice,
         keywords={"axis": 0.0, "step": 1.0}, forward="(slice dt start stop axis step)",
         reverse={"t": "(unslice s t start stop axis step)"}),
    row("unslice", "x like start stop axis step", "Zeros but in a slice.", linear="x like", value=_unslice, hidden=True,
         forward="(unslice dx like start stop axis step)", reverse={"x": "(slice s start stop axis step)"}),
    row("gather", "t indices axis", "The parts at indices along an axis.", linear="t", value=_gather, keywords=FIRST,
         forward="(gather dt indices axis)", reverse={"t": "(scatter-add (zero t) indices s axis)"}),
    row("scatter-add", "t indices updates axis", "t, with updates added at indices along an axis.",
         linear="t", value=_scatter_add,
         keywords=FIRST, forward="(scatter-add (complete t dt) indices (complete updates dupdates) axis)",
         reverse={"t": "s", "updates": "(gather s indices axis)"}),
    row("where", "c a b", "a where c holds, else b.", _where, type="any number number -> number",
         python="(a if c == TRUE else b) if type(a) is type(b) is float and type(c) is Boolean else where(c, a, b)",
         uses={"where": _where, "Boolean": Boolean},
         forward="(broadcast-like (where c da db) r)",
         reverse={"a": "(sum-like (where c s zero) ~a)", "b": "(sum-like (where c zero s) ~b)"},
         abstract=_abstract_where),
]  # fmt: skip
