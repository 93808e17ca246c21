"""Shared by the rows of tensors: operands as arrays, shapes, axes, kinds of number, and a constructor of rows.

Results are computed by the array library of the operands, or on the session's device if no operand is a tensor; only
functions of the array-API standard are used, except in devices.py. Derivatives are language text over rows of this table, so
they have derivatives, too. An axis counts from 0, or from the end if it is negative; #f as axis means all axes. A result
of rank 0 is a real.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from vlad.control.budget import budget, expect_array, expect_arrays
from vlad.core.extents import Extent, now
from vlad.data.devices import current, device_of
from vlad.data.errors import Kind, VladError, unsuitable
from vlad.data.tensors import SORT, Array, Tensor, made, namespace, on_host, quiet, shape_text
from vlad.data.values import FALSE, ZERO, Boolean, Primitive, PrimitiveType, String, Symbol, Value, look
from vlad.primitives.numbers import invalid
from vlad.primitives.type_rules import plain

KINDS = {"boolean": "bool"} | {name: name for name in ("float64", "float32", "int64", "int32")}
MOST_AXES = 32
MOST_ENTRIES = 1 << 34  # of a tensor that a program makes by its shape


def array_of(name: str, value: Value, beside: Array | None = None) -> Array:
    """The array of a tensor or a real; a real's is on the device of `beside`, or the session's. Raises VladError."""
    if type(value) is Tensor:
        return value.array
    if type(value) is float:
        return (current() if beside is None else device_of(beside)).asarray(value)
    raise invalid(name, "a tensor", value, of=(Kind.TENSOR,))


def lengths_of(value: Value) -> tuple[int, ...]:
    """The shape of a tensor; () for any other value."""
    return value.shape if type(value) is Tensor else ()


def first_entry(array: Array, wrong: Array) -> Value:
    """The first entry of an array at which `wrong`, an array of booleans, is true: for an error."""
    xp = namespace(array)
    return made(on_host(xp.reshape(array, (-1,)))[on_host(xp.reshape(wrong, (-1,)))][0])


def part_at(array: Array, axis: int, index: int | slice) -> Array:
    """The part of an array at an index, or in a slice, of an axis."""
    return array[(*[slice(None)] * axis, index, ...)]


def repeated_like(x: Array | float, like: Array, dtype: Any) -> Array:
    """A real or an array, broadcast to the shape of `like`, on its device."""
    xp = namespace(like)
    expect_array(like.shape)
    with quiet():
        array = device_of(like).asarray(x, dtype) if type(x) is float else xp.astype(x, dtype, copy=False)
    return xp.broadcast_to(array, like.shape)


def reshaped_to(array: Array, shape: tuple[int, ...]) -> Array:
    """The array in another shape. Raises NoRoom if that needs a copy for which there is no memory."""
    flags = getattr(array, "flags", None)
    if flags is None or not flags.c_contiguous:
        expect_arrays(1, array.size)
    return namespace(array).reshape(array, shape)


def reals(array: Array) -> Array:
    """The entries converted to reals."""
    if SORT[array.dtype] == "f":
        return array
    xp = namespace(array)
    expect_arrays(1, array.size)
    return xp.astype(array, xp.float64)


def whole(name: str, value: Value, what: str) -> int:
    if type(value) is not float or value % 1:
        if type(value) is Extent:
            return value
        raise unsuitable(name, f"{what} is a whole number", (value,))
    return int(value)


def elements(name: str, value: Value) -> list[Value]:
    """The elements of a list. Raises VladError."""
    found = []
    rest = look(value)
    while type(rest) is tuple and len(rest) == 2:
        found.append(rest[0])
        rest = look(rest[1])
    if rest != ():
        raise invalid(name, "a list", value, of=(Kind.LIST,))
    return found


def dimensions(name: str, value: Value) -> tuple[int, ...]:
    """A shape: a list of whole numbers, or one number. Raises VladError, or NoRoom if the evaluation may not use that much
    memory. A broadcast array counts in full, as computing with it materialises it.
    """
    value = look(value)
    parts = [value] if type(value) in (float, Extent) else elements(name, value)
    shape = tuple([whole(name, part, "the length of an axis") for part in parts])
    if len(shape) > MOST_AXES:
        raise too_many_axes(name)
    total = 1
    for length in shape:
        total *= length
        if not 0 <= length <= MOST_ENTRIES or total > MOST_ENTRIES:
            raise VladError(
                "wrong-shape", f"Shape given to {name} is impossible: {shape_text(shape)}",
                hint="lengths are not negative, and a tensor has to fit in the memory", name=name,
            )  # fmt: skip
    expect_array(tuple(map(now, shape)))
    return shape


def too_many_axes(name: str) -> VladError:
    return VladError(
        "wrong-shape", f"Too many axes given to {name}", hint=f"a tensor has at most {MOST_AXES}", name=name
    )


def length_of(name: str, value: Value) -> int:
    if type(value) not in (float, Extent):
        raise invalid(name, "a number of entries", value)
    return dimensions(name, value)[0]


def axis_of(name: str, axis: Value, rank: int) -> int:
    number = whole(name, axis, "an axis")
    if not -rank <= number < rank:
        raise VladError(
            "out-of-range",
            f"Axis given to {name} is out of range: {number}",
            hint=f"the tensor has rank {rank}" if rank else "a number has no axes",
            name=name,
        )
    return number % rank


def axes_of(name: str, axis: Value, rank: int) -> tuple[int, ...] | None:
    """One axis, several, or None for all. Raises VladError."""
    axis = look(axis)
    if axis is FALSE:
        return None
    parts = [axis] if type(axis) is float else elements(name, axis)
    found = tuple([axis_of(name, part, rank) for part in parts])
    if len(set(found)) < len(found):
        raise unsuitable(name, "each axis is named once", (axis,))
    return found


def flag(name: str, operand: str, value: Value) -> bool:
    """The value of a flag. Raises VladError unless it is a boolean: any number, even 0, would count as true."""
    if type(value) is not Boolean:
        hint = f"#:{operand} is #t or #f"
        raise unsuitable(name, hint, (value,))
    return value is not FALSE


def dtype_of(name: str, dtype: Value, xp: Any) -> Any:
    """The library's dtype for a kind of number. Raises VladError."""
    return getattr(xp, named_kind(name, dtype))


def named_kind(name: str, dtype: Value) -> str:
    """The array-API standard's name of a kind of number. Raises VladError."""
    kind = KINDS.get(kind_text(dtype))
    if kind is None:
        raise unsuitable(name, f"the kinds of number are {', '.join(KINDS)}", (dtype,))
    return kind


def kind_text(dtype: Value) -> str:
    """The name of a kind of number: a symbol, or a string, as Python has no symbols."""
    if type(dtype) is Symbol:
        return dtype.name
    return dtype.text if type(dtype) is String else ""


def _left_out(name: str) -> Callable[..., Any]:
    """The type rule of a row that is not compiled."""
    return lambda w, *operands: w.left_out(f"`{name}` is")


def _known_zeros(value: Callable[..., Value], places: tuple[int, ...]) -> Callable[..., Value]:
    """In derivatives an operand may be the known zero: then so is the result."""

    @functools.wraps(value)
    def rule(*operands: Value) -> Value:
        for place in places:
            if operands[place] is ZERO:
                return ZERO
        return value(*operands)

    return rule


def _with_room(value: Callable[..., Value], room: float) -> Callable[..., Value]:
    """A rule that checks for memory beforehand."""

    @functools.wraps(value)
    def rule(*operands: Value) -> Value:
        if budget().most < math.inf:
            sizes = [operand.like.size for operand in operands if type(operand) is Tensor]
            expect_arrays(room, max(sizes, default=0))
        return value(*operands)

    return rule


def row(
    name: str,
    operands: str,
    doc: str,
    value: Callable[..., Value],
    linear: str = "",
    room: float = 0.0,
    **columns: Any,
) -> Primitive:
    """`linear`: operands of which a known zero makes the result one. `room`: the number of arrays of reals, of the size of the
    largest operand, that exist at once while the rule runs, the result included and the operands not; 0 if the rule checks
    itself.
    """
    if room:
        value = _with_room(value, room)
    places = tuple([operands.split().index(one) for one in linear.split()])
    columns["abstract"] = plain(columns["abstract"], places) if "abstract" in columns else _left_out(name)
    if linear:
        value = _known_zeros(value, places)
    columns.setdefault("type", PrimitiveType(["any"] * len(operands.split()), "any"))
    return Primitive(name, operands, doc, value=value, **columns)


def constant(name: str, operands: str, doc: str, value: Callable[..., Value], **columns: Any) -> Primitive:
    return row(name, operands, doc, value, forward="zero", reverse={}, **columns)


REDUCED: dict[str, Value] = {"axis": FALSE, "keep": FALSE}
FIRST: dict[str, Value] = {"axis": 0.0}
LAST: dict[str, Value] = {"axis": -1.0}
