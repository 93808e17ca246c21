"""The rows of tensors that rearrange entries: reshaping, axes, joining and splitting (arrays.py has the conventions)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from vlad.control.budget import expect_array
from vlad.core.extents import Extent
from vlad.core.loop_nests import Access, Kernel, Output, Read, Write, contiguous
from vlad.core.types import is_tensor
from vlad.data.errors import Kind, VladError
from vlad.data.tensors import (
    Array,
    Tensor,
    in_one_array,
    made,
    namespace,
    shape_text,
)
from vlad.data.values import FALSE, NIL, Primitive, Value, list_of, look
from vlad.primitives.arrays import (
    FIRST,
    MOST_AXES,
    array_of,
    axes_of,
    axis_of,
    constant,
    dimensions,
    elements,
    lengths_of,
    part_at,
    reshaped_to,
    row,
    too_many_axes,
    whole,
)
from vlad.primitives.elementwise import library, unlike
from vlad.primitives.numbers import invalid
from vlad.primitives.open_lists import (
    element_of,
    is_open,
    joined_open,
    split_open,
    stacked_open,
    unstacked_open,
)
from vlad.primitives.type_rules import (
    Shape,
    as_number,
    broadcast_shape,
    copied,
    is_number,
    kind_of,
    known,
    known_lengths,
    list_parts,
    put_together,
    repeated,
    reshaped,
    result_kind,
    shape_of,
    unfit,
)

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine


def _reshape(t: Value, dims: Value) -> Value:
    array = array_of("reshape", t)
    return made(reshaped_to(array, _new_shape(array.shape, dims)))


def _new_shape(old: tuple[int, ...], dims: Value) -> tuple[int, ...]:
    given = [dims] if type(dims) in (float, Extent) else elements("reshape", dims)
    free = [index for index, part in enumerate(given) if part == -1.0]
    shape = dimensions("reshape", list_of([1.0 if part == -1.0 else part for part in given]))
    count, size = math.prod(old), math.prod(shape)
    if len(free) == 1 and size and count % size == 0:
        shape = (*shape[: free[0]], count // size, *shape[free[0] + 1 :])
        size = count
    if size != count or len(free) > 1:
        raise _other_count(old, [int(part) for part in given])
    return shape


def _other_count(old: tuple[int, ...], wanted: Sequence[int]) -> VladError:
    return VladError(
        "wrong-shape", f"Shapes given to reshape do not fit: {shape_text(old)} and {shape_text(wanted)}",
        hint=f"the tensor has {math.prod(old)} entries; at most one length may be left open, as -1", name="reshape",
    )  # fmt: skip


def in_shape(name: str, operands: str, doc: str, shape: Callable[..., Shape]) -> Primitive:
    """A hidden row: the first operand in the shape that `shape` computes from the shapes of all. The others are tensors rather
    than lists of lengths: if the compiler has several shapes of a tensor, it has no one list.
    """
    first, *others = operands.split()

    def value(x: Value, *rest: Value) -> Value:
        array, wanted = array_of("reshape", x), shape(*map(lengths_of, (x, *rest)))
        if math.prod(wanted) != array.size:
            raise _other_count(array.shape, wanted)
        return made(reshaped_to(array, wanted))

    def abstract(w: AbstractMachine, x: Any, *rest: Any) -> Any:
        wanted = shape(*map(shape_of, (x, *rest)))
        fits = is_number(x) and math.prod(wanted) == math.prod(shape_of(x))
        return reshaped(w, x, wanted) if fits else unfit(w, x, wanted)

    return row(
        name, operands, doc, value, hidden=True, linear=operands, abstract=abstract,
        forward=f"({' '.join([name, f'd{first}', *others])})", reverse={first: f"(reshape-like s {first})"},
    )  # fmt: skip


def _abstract_reshape(w: AbstractMachine, t: Any, dims: Any) -> Any:
    if not is_number(t):
        return w.invalid("reshape")
    return reshaped(w, t, _new_shape(shape_of(t), known_lengths(w, dims)))


def _abstract_transpose(w: AbstractMachine, t: Any, axes: Any) -> Any:
    if not is_number(t):
        return w.invalid("transpose")
    shape = shape_of(t)
    order = _order(shape, known(w, axes))
    strides = contiguous(shape)
    access = Access(0, tuple([strides[axis] for axis in order]))
    return copied(w, t, tuple([shape[axis] for axis in order]), access)


def _abstract_swap(w: AbstractMachine, t: Any) -> Any:
    shape, strides = shape_of(t), contiguous(shape_of(t))
    if len(shape) < 2:
        return t
    access = Access(0, (*strides[:-2], strides[-1], strides[-2]))
    swapped = copied(w, t, (*shape[:-2], shape[-1], shape[-2]), access)
    swapped.transposed = t
    return swapped


def _flipped(t: Value, axis: Value) -> Value:
    array = array_of("flipped", t)
    return made(namespace(array).flip(array, axis=axis_of("flipped", axis, array.ndim)))


def _abstract_flipped(w: AbstractMachine, t: Any, axis: Any) -> Any:
    if not is_number(t):
        return w.invalid("flipped")
    shape, strides = shape_of(t), contiguous(shape_of(t))
    at = axis_of("flipped", known(w, axis), len(shape))
    last = (shape[at] - 1) * strides[at]
    return copied(w, t, shape, Access(last, (*strides[:at], -strides[at], *strides[at + 1 :])))


def _abstract_broadcast_to(w: AbstractMachine, t: Any, dims: Any) -> Any:
    shape, whole = shape_of(t), dimensions("broadcast-to", known_lengths(w, dims))
    if broadcast_shape([shape, whole]) != whole or not is_number(t):
        return w.misfit("broadcast-to", shape, whole)
    return repeated(w, t, whole)


def _transpose(t: Value, axes: Value) -> Value:
    array = array_of("transpose", t)
    return made(namespace(array).permute_dims(array, _order(array.shape, axes)))


def _order(shape: tuple[int, ...], axes: Value) -> tuple[int, ...]:
    rank = len(shape)
    order = axes_of("transpose", axes, rank)
    if order is None:
        return tuple(reversed(range(rank)))
    if sorted(order) != list(range(rank)):
        raise VladError(
            "wrong-shape", "Axes given to transpose are no order of all", hint=f"the tensor has rank {rank}",
            irritants=(axes,), name="transpose",
        )  # fmt: skip
    return order


def _inverse_axes(axes: Value) -> Value:
    if axes is FALSE:
        return FALSE
    order = axes_of("transpose", axes, len(elements("transpose", axes)))
    assert order is not None
    return list_of([float(order.index(axis)) for axis in range(len(order))])


def _swap(t: Value) -> Value:
    array = array_of("swap", t)
    return made(namespace(array).matrix_transpose(array) if array.ndim > 1 else array)


def _broadcast_to(t: Value, dims: Value) -> Value:
    array, shape = array_of("broadcast-to", t), dimensions("broadcast-to", dims)
    try:
        return made(namespace(array).broadcast_to(array, shape))
    except ValueError:
        raise VladError(
            "wrong-shape", f"Shapes given to broadcast-to do not fit: {shape_text(array.shape)} and {shape_text(shape)}",
            hint="lengths of axes, counted from the last, have to be equal, or 1 in the tensor", name="broadcast-to",
        ) from None  # fmt: skip


def _arrays(name: str, ts: Value) -> tuple[Any, list[Value], Sequence[Array]]:
    values = [look(part) for part in elements(name, ts)]
    if not values:
        raise VladError(
            "wrong-shape",
            f"List given to {name} is empty",
            hint=f"{name} takes one tensor or more",
            name=name,
        )
    xp = library(name, *values)
    beside = next((value.like for value in values if type(value) is Tensor), None)
    return xp, values, in_one_array([array_of(name, value, beside) for value in values])


def _concatenate(ts: Value, axis: Value) -> Value:
    xp, values, arrays = _arrays("concatenate", ts)
    if any(array.ndim == 0 for array in arrays):
        raise invalid(
            "concatenate",
            "tensors",
            *[value for value in values if type(value) is float][:1],
            of=(Kind.TENSOR,),
        )
    at = axis_of("concatenate", axis, arrays[0].ndim)
    expect_array((sum([array.size for array in arrays]),))
    try:
        return made(xp.concat(arrays, axis=at))
    except ValueError:
        raise unlike("concatenate", tuple(values), f"all axes but {at} have to be equal") from None


def stacked(w: AbstractMachine, name: str, parts: list[Any], axis: int) -> Any:
    """Parts of one shape, along a new axis."""
    shape = shape_of(parts[0]) if parts else ()
    for part in parts:
        if not is_number(part) and (name != "tensor" or part.type.head != "boolean"):
            return w.invalid(name)
        if shape_of(part) != shape:
            return w.misfit(name, shape, shape_of(part))
    if not shape:
        return row_of(w, parts)
    return joined(w, [reshaped(w, part, (*shape[:axis], 1, *shape[axis:])) for part in parts], axis)


def row_of(w: AbstractMachine, parts: list[Any]) -> Any:
    """A tensor of these reals and booleans."""
    count = len(parts)
    kind = "bool" if parts and all(part.type.head == "boolean" for part in parts) else "float64"
    reads = tuple([Read(index, None) for index in range(count)])
    writes = tuple([Write(0, index, Access(index, ())) for index in range(count)])
    kernel = Kernel((), reads, (), (Output(count, kind=kind),), writes)
    return w.loops(kernel, [as_number(w, part) for part in parts], [w.types.tensor((count,), kind)])[0]


def joined(w: AbstractMachine, parts: list[Any], axis: int) -> Any:
    """Concatenate parts along an axis."""
    kind = result_kind(_joined, tuple([kind_of(part) for part in parts]))
    shape, begin, placed = shape_of(parts[0]), 0, []
    for part in parts:
        own = shape_of(part)
        placed.append((part, own, (*[0] * axis, begin, *[0] * (len(own) - axis - 1))))
        begin += own[axis]
    return put_together(w, (*shape[:axis], begin, *shape[axis + 1 :]), placed, kind=kind)


def _joined(*parts: Value) -> Value:
    return _concatenate(list_of(parts), 0.0)


def _abstract_concatenate(w: AbstractMachine, ts: Any, axis: Any) -> Any:
    if is_open(w, ts):
        rank = len(element_of(w, ts)[0])
        return (
            joined_open(w, ts, axis_of("concatenate", known(w, axis), rank))
            if rank
            else w.invalid("concatenate")
        )
    parts = list_parts(w, ts)
    if not parts or not all(is_tensor(part.type) for part in parts):
        return w.invalid("concatenate")
    shapes = [shape_of(part) for part in parts]
    at = axis_of("concatenate", known(w, axis), len(shapes[0]))
    if not joins(shapes, at):
        return w.misfit("concatenate", *shapes)
    return joined(w, parts, at)


def _abstract_split_like(w: AbstractMachine, x: Any, ts: Any, axis: Any) -> Any:
    if is_open(w, ts):
        return split_open(w, x, ts, axis_of("concatenate", known(w, axis), len(shape_of(x))))
    parts = list_parts(w, ts)
    shape = shape_of(x)
    at = axis_of("concatenate", known(w, axis), len(shape))
    shapes = [shape_of(part) for part in parts or ()]
    if not joins(shapes, at) or sum([one[at] for one in shapes]) != shape[at]:
        return unfit(w, x, shapes[0] if shapes else ())
    return cut_up(w, x, at, [one[at] for one in shapes])


def joins(shapes: Sequence[Shape], axis: int) -> bool:
    """Whether these shapes of tensors agree except along an axis, so that they can be concatenated."""
    if not shapes:
        return False
    first, *others = [(*shape[:axis], *shape[axis + 1 :]) for shape in shapes]
    return all(len(one) == len(first) and one == first for one in others)


def cut_up(w: AbstractMachine, x: Any, axis: int, lengths: Sequence[int]) -> Any:
    """Split into a list of parts of these lengths along an axis."""
    shape, strides = shape_of(x), contiguous(shape_of(x))
    result, begin = w.constant(NIL), sum(lengths)
    for length in reversed(lengths):
        begin -= length
        access = Access(begin * strides[axis], strides)
        result = w.pair(copied(w, x, (*shape[:axis], length, *shape[axis + 1 :]), access), result)
    return result


def _abstract_stack(w: AbstractMachine, ts: Any, axis: Any) -> Any:
    if is_open(w, ts):
        at = axis_of("stack", known(w, axis), len(element_of(w, ts)[0]) + 1)
        return stacked_open(w, ts, at)
    parts = list_parts(w, ts)
    if not parts:
        return w.fail("List given to stack is empty")
    return stacked(w, "stack", parts, axis_of("stack", known(w, axis), len(shape_of(parts[0])) + 1))


def _abstract_unstack(w: AbstractMachine, x: Any, axis: Any) -> Any:
    shape, strides = shape_of(x), contiguous(shape_of(x))
    at = axis_of("unstack", known(w, axis), len(shape))
    if not w.is_listed(shape[at]):
        return unstacked_open(w, x, at)
    rest, steps = (*shape[:at], *shape[at + 1 :]), (*strides[:at], *strides[at + 1 :])
    result = w.constant(NIL)
    for index in reversed(range(shape[at])):
        result = w.pair(copied(w, x, rest, Access(index * strides[at], steps)), result)
    return result


def abstract_split(w: AbstractMachine, t: Any, n: Any, axis: Any) -> Any:
    shape = shape_of(t)
    at = axis_of("split", known(w, axis), len(shape))
    count = whole("split", known(w, n), "the number of parts")
    if count < 1 or shape[at] % count:
        return w.fail(f"An axis of length {shape[at]} cannot be split into {count}")
    return cut_up(w, t, at, [shape[at] // count] * count)


def _split_like(x: Value, ts: Value, axis: Value) -> Value:
    _, _, arrays = _arrays("concatenate", ts)
    array = array_of("concatenate", x)
    at = axis_of("concatenate", axis, array.ndim)
    found, begin = [], 0
    for one in arrays:
        end = begin + one.shape[at]
        found.append(made(part_at(array, at, slice(begin, end))))
        begin = end
    return list_of(found)


def _stack(ts: Value, axis: Value) -> Value:
    xp, values, arrays = _arrays("stack", ts)
    at = axis_of("stack", axis, arrays[0].ndim + 1)
    if arrays[0].ndim == MOST_AXES:
        raise too_many_axes("stack")
    expect_array((len(arrays), arrays[0].size))
    try:
        return made(xp.stack(arrays, axis=at))
    except ValueError:
        raise unlike("stack", tuple(values), "all have one shape") from None


BYTES_A_PART = 400  # memory of a part in a list, besides its entries


def _unstack(x: Value, axis: Value) -> Value:
    array = array_of("unstack", x)
    at = axis_of("unstack", axis, array.ndim)
    expect_array((array.shape[at],), BYTES_A_PART)
    return list_of([made(part_at(array, at, index)) for index in range(array.shape[at])])


def split_tensor(t: Value, n: Value, axis: Value) -> Value:
    array, count = array_of("split", t), whole("split", n, "the number of parts")
    at = axis_of("split", axis, array.ndim)
    if count < 1 or array.shape[at] % count:
        raise VladError(
            "wrong-shape",
            f"An axis of length {array.shape[at]} cannot be split into {count}",
            hint="parts are equal",
        )
    expect_array((count,), BYTES_A_PART)
    length = array.shape[at] // count
    places = [slice(begin, begin + length) for begin in range(0, array.shape[at], length or 1)] or [
        slice(0)
    ] * count
    return list_of([made(part_at(array, at, place)) for place in places])


ROWS: list[Primitive] = [
    row("reshape", "t dims",
        "The entries, in the same order, with another shape; one length may be -1, which is inferred.\n"
        "(reshape #[1 2 3 4 5 6] '(2 3))  ⇒ #[[1 2 3] [4 5 6]]\n"
        "(reshape #[1 2 3 4 5 6] '(3 -1))  ⇒ #[[1 2] [3 4] [5 6]]",
         linear="t dims", value=_reshape, abstract=_abstract_reshape,
         forward="(reshape dt dims)", reverse={"t": "(reshape-like s t)"}),
    in_shape("reshape-like", "x t", "The entries of x in the shape of t.", lambda x, t: t),
    row("transpose", "t axes",
        "The axes in another order, by default reversed.\n"
        "(transpose #[[1 2 3] [4 5 6]])  ⇒ #[[1 4] [2 5] [3 6]]",
         linear="t", value=_transpose, keywords={"axes": FALSE}, abstract=_abstract_transpose,
         forward="(transpose dt axes)", reverse={"t": "(transpose s (inverse-axes axes))"}),
    constant("inverse-axes", "axes", "The order that undoes an order of axes.", _inverse_axes, hidden=True,
              abstract=lambda w, axes: w.value(_inverse_axes(known(w, axes)))),
    row("swap", "t", "The last two axes exchanged.",
         linear="t", value=_swap, hidden=True, abstract=_abstract_swap, forward="(swap dt)", reverse={"t": "(swap s)"}),
    row("flipped", "t axis",
        "The entries in reverse order along an axis.\n(flipped #[1 2 3])  ⇒ #[3 2 1]\n"
        "(flipped #[[1 2] [3 4]] #:axis 1)  ⇒ #[[2 1] [4 3]]", linear="t", value=_flipped, keywords=FIRST,
        abstract=_abstract_flipped, forward="(flipped dt axis)", reverse={"t": "(flipped s axis)"}),
    row("broadcast-to", "t dims",
        "The tensor repeated to a shape.\n(broadcast-to #[1 2] '(3 2))  ⇒ #[[1 2] [1 2] [1 2]]",
         linear="t", value=_broadcast_to, abstract=_abstract_broadcast_to, forward="(broadcast-to dt dims)",
         reverse={"t": "(sum-like s t)"}),
    row("concatenate", "ts axis",
        "A list of tensors, joined along an axis.\n"
        "(concatenate (list #[1 2] #[3]))  ⇒ #[1 2 3]\n"
        "(concatenate (list #[[1] [2]] #[[3] [4]]) #:axis 1)  ⇒ #[[1 3] [2 4]]",
         linear="ts", value=_concatenate, abstract=_abstract_concatenate, keywords=FIRST,
         forward="(concatenate (complete ts dts) axis)", reverse={"ts": "(split-like s ts axis)"}),
    row("split-like", "x ts axis", "The inverse of concatenate.", linear="x ts", value=_split_like,
         abstract=_abstract_split_like, hidden=True,
         forward="(split-like dx ts axis)", reverse={"x": "(concatenate (complete r s) axis)"}),
    row("stack", "ts axis",
        "A list of tensors along a new axis.\n(stack (list #[1 2] #[3 4]))  ⇒ #[[1 2] [3 4]]",
        linear="ts", value=_stack,
         abstract=_abstract_stack, keywords=FIRST,
         forward="(stack (complete ts dts) axis)", reverse={"ts": "(unstack s axis)"}),
    row("unstack", "t axis",
        "The list of the parts along an axis.\n(unstack #[[1 2] [3 4]])  ⇒ (#[1 2] #[3 4])",
        linear="t", value=_unstack,
         abstract=_abstract_unstack, keywords=FIRST,
         forward="(unstack dt axis)", reverse={"t": "(if (null? r) (zero t) (stack (complete r s) axis))"}),
]  # fmt: skip
