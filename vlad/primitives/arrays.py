"""What the rows of tensors have in common: operands as arrays, shapes, axes, kinds of number, and how a row is stated.

Values come from the array library of the operands, and what has no tensor among them from that of the session's device; only
functions of the array-API standard are used, except in devices.py. Derivatives are language text over rows of this table, so
each has derivatives of its own. An axis counts from 0, or from the end when it is negative; #f as axis is all of them. A result
of rank 0 is a real.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from vlad.control.budget import budget, expect_array, expect_arrays
from vlad.data.devices import current, device_of
from vlad.data.errors import Kind, VladError, unsuitable
from vlad.data.tensors import SORT, Array, Tensor, made, namespace, on_host, quiet, shape_text
from vlad.data.values import FALSE, ZERO, Boolean, Primitive, PrimitiveType, String, Symbol, Value, look
from vlad.primitives.numbers import invalid
from vlad.primitives.type_rules import plain

KINDS = {"boolean": "bool"} | {name: name for name in ("float64", "float32", "int64", "int32")}
MOST_AXES = 32
MOST_ENTRIES = 1 << 34  # of a tensor that a program asks for by its shape


def array_of(name: str, value: Value, beside: Array | None = None) -> Array:
    """The array of a tensor or a real; a real's is where another array is, or on the session's device. Raises VladError."""
    if type(value) is Tensor:
        return value.array
    if type(value) is float:
        return (current() if beside is None else device_of(beside)).asarray(value)
    raise invalid(name, "a tensor", value, of=(Kind.TENSOR,))


def lengths_of(value: Value) -> tuple[int, ...]:
    """The shape of a tensor; () of what is none."""
    return value.shape if type(value) is Tensor else ()


def first_entry(array: Array, wrong: Array) -> Value:
    """The first entry of an array at which another, of booleans, holds: for an error."""
    xp = namespace(array)
    return made(on_host(xp.reshape(array, (-1,)))[on_host(xp.reshape(wrong, (-1,)))][0])


def part_at(array: Array, axis: int, index: int | slice) -> Array:
    """What an array has at an index, or in a slice, of an axis."""
    return array[(*[slice(None)] * axis, index, ...)]


def repeated_like(x: Array | float, like: Array, dtype: Any) -> Array:
    """A real or an array, repeated to the shape of another, where that is."""
    xp = namespace(like)
    expect_array(like.shape)
    with quiet():
        array = device_of(like).asarray(x, dtype) if type(x) is float else xp.astype(x, dtype, copy=False)
    return xp.broadcast_to(array, like.shape)


def reshaped_to(array: Array, shape: tuple[int, ...]) -> Array:
    """The entries in their order as another shape. Raises NoRoom where they have to be copied for that, and it is too much."""
    flags = getattr(array, "flags", None)
    if flags is None or not flags.c_contiguous:
        expect_arrays(1, array.size)
    return namespace(array).reshape(array, shape)


def reals(array: Array) -> Array:
    """The entries as reals."""
    if SORT[array.dtype] == "f":
        return array
    xp = namespace(array)
    expect_arrays(1, array.size)
    return xp.astype(array, xp.float64)


def whole(name: str, value: Value, what: str) -> int:
    if type(value) is not float or value % 1:
        raise unsuitable(name, f"{what} is a whole number", (value,))
    return int(value)


def elements(name: str, value: Value) -> list[Value]:
    """Of a list. Raises VladError."""
    found = []
    rest = look(value)
    while type(rest) is tuple and len(rest) == 2:
        found.append(rest[0])
        rest = look(rest[1])
    if rest != ():
        raise invalid(name, "a list", value, of=(Kind.LIST,))
    return found


def dimensions(name: str, value: Value) -> tuple[int, ...]:
    """A shape: a list of whole numbers, or one of them. Raises VladError; or NoRoom, where an evaluation may not make so much.
    What is only repeated counts like what is there, for whoever computes with it makes it so."""
    value = look(value)
    parts = [value] if type(value) is float else elements(name, value)
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
    expect_array(shape)
    return shape


def too_many_axes(name: str) -> VladError:
    return VladError(
        "wrong-shape", f"Too many axes given to {name}", hint=f"a tensor has at most {MOST_AXES}", name=name
    )


def length_of(name: str, value: Value) -> int:
    if type(value) is not float:
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
    """One axis, several, or None for all."""
    axis = look(axis)
    if axis is FALSE:
        return None
    parts = [axis] if type(axis) is float else elements(name, axis)
    found = tuple([axis_of(name, part, rank) for part in parts])
    if len(set(found)) < len(found):
        raise unsuitable(name, "each axis is named once", (axis,))
    return found


def flag(name: str, operand: str, value: Value) -> bool:
    """Is a flag set? Raises VladError where it is none: a number would be true, 0 as well."""
    if type(value) is not Boolean:
        hint = f"#:{operand} is #t or #f"
        raise unsuitable(name, hint, (value,))
    return value is not FALSE


def dtype_of(name: str, dtype: Value, xp: Any) -> Any:
    """The library's object for a kind of number. Raises VladError."""
    return getattr(xp, named_kind(name, dtype))


def named_kind(name: str, dtype: Value) -> str:
    """The array-API standard's name of a kind of number. Raises VladError."""
    kind = KINDS.get(kind_text(dtype))
    if kind is None:
        raise unsuitable(name, f"the kinds of number are {', '.join(KINDS)}", (dtype,))
    return kind


def kind_text(dtype: Value) -> str:
    """How a kind of number is called: by a symbol, or by a string, for Python has no symbols."""
    if type(dtype) is Symbol:
        return dtype.name
    return dtype.text if type(dtype) is String else ""


def _left_out(name: str) -> Callable[..., Any]:
    """The type rule of a row that only tier 0 has."""
    return lambda w, *operands: w.left_out(f"`{name}` is")


def _known_zeros(value: Callable[..., Value], places: tuple[int, ...]) -> Callable[..., Value]:
    """In derivatives an operand may be the known zero: then so is the answer."""

    @functools.wraps(value)
    def rule(*operands: Value) -> Value:
        for place in places:
            if operands[place] is ZERO:
                return ZERO
        return value(*operands)

    return rule


def _with_room(value: Callable[..., Value], room: float) -> Callable[..., Value]:
    """A rule that asks beforehand whether there is room."""

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
    """`linear`: operands of which a known zero makes the result one. `room`: how many arrays of as many reals as its largest
    operand has are there at once while the rule runs, its answer among them and the operands not; 0 for a rule that asks."""
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
