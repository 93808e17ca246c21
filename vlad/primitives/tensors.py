"""The rows of tensors: what they are, making them, shaping them (arrays.py has the conventions)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from vlad.core.kernels import Access, Kernel, Output, Read, Step, Write, contiguous
from vlad.core.types import DTYPES, has_tangents, is_known_zero, is_real, is_tensor
from vlad.devices import current, device_named, device_of, moved, name_of
from vlad.errors import VladError
from vlad.primitives.arrays import (
    FIRST,
    MOST_AXES,
    MOST_ENTRIES,
    array_of,
    axes_of,
    axis_of,
    constant,
    dimensions,
    dtype_of,
    elements,
    length_of,
    part_at,
    repeated_like,
    row,
    too_many_axes,
    whole,
)
from vlad.primitives.data import boolean, constant_row
from vlad.primitives.elementwise import apart, library, unlike
from vlad.primitives.kernels import (
    Shape,
    broadcast_shape,
    copied,
    filled,
    is_number,
    known,
    list_parts,
    loops,
    reduced,
    repeated,
    reshaped,
    shape_of,
    unfit,
)
from vlad.primitives.numbers import invalid
from vlad.tensors import (
    Array,
    Tensor,
    kind_name,
    made,
    namespace,
    numbers,
    on_host,
    quiet,
    shape_text,
    together,
)
from vlad.values import FALSE, NIL, TRUE, ZERO, Boolean, Primitive, String, Value, list_of, look, symbol


def _tensor(data: Value) -> Value:
    return made(_stacked(data))


def _stacked(data: Value, depth: int = 0) -> Array:
    data = look(data)
    if depth > MOST_AXES:
        raise too_many_axes("tensor")
    if type(data) is Tensor:
        return data.array
    if type(data) is float:
        return current().asarray(data)
    if type(data) is Boolean:
        return current().asarray(data is TRUE)
    if type(data) is not tuple:
        raise invalid("tensor", "numbers, booleans, tensors, and lists of such", data)
    parts = elements("tensor", data)
    if all(type(one) is float for one in parts):
        return current().asarray(parts, current().xp.float64)
    if all(type(one) in (float, Boolean) for one in parts):
        mixed = any(type(one) is float for one in parts)
        entries = [one if type(one) is float else one is TRUE for one in parts]
        return current().asarray(entries, current().xp.float64 if mixed else current().xp.bool)
    arrays = [_stacked(part, depth + 1) for part in parts]
    for array in arrays[1:]:
        if array.shape != arrays[0].shape:
            raise VladError(
                "wrong-shape", f"Shapes given to tensor do not fit: {shape_text(arrays[0].shape)} and {shape_text(array.shape)}",
                hint="all parts of a tensor have one shape",
            )  # fmt: skip
        if not together(arrays[0], array):
            raise apart("tensor", arrays[0], array)
    return namespace(arrays[0]).stack(arrays)


def _abstract_tensor(w: Any, data: Any) -> Any:
    """Reals are put into a new array one by one; parts that are tensors behind each other."""
    parts = list_parts(w, data)
    if parts is None:
        return data if is_number(data) else w.fail("Argument to tensor is invalid")
    tensors = [
        _abstract_tensor(w, part) if part.type.kind != "constant" or not is_real(part.type) else part
        for part in parts
    ]
    if None in tensors:
        return None
    return stacked(w, "tensor", tensors, 0)


def _part(w: Any, t: Any, index: int) -> Any:
    """What is at an index of the first axis."""
    rest = shape_of(t)[1:]
    return copied(w, t, rest, Access(index * math.prod(rest), contiguous(rest)))


def _abstract_parts(w: Any, x: Any, data: Any) -> Any:
    parts = list_parts(w, data)
    if parts is None:
        return x
    shape = shape_of(x)
    if shape[:1] != (len(parts),):
        return unfit(w, x, (len(parts),))
    answer = w.constant(NIL)
    for index in reversed(range(len(parts))):
        answer = w.pair(_abstract_parts(w, _part(w, x, index), parts[index]), answer)
    return answer


def _tensor_parts(x: Value, data: Value) -> Value:
    """A sensitivity of `(tensor data)` in the structure of the data."""
    data = look(data)
    if type(data) is tuple:
        array = array_of("tensor", x)
        return list_of(
            [
                _tensor_parts(made(part_at(array, 0, place)), one)
                for place, one in enumerate(elements("tensor", data))
            ]
        )
    return data if type(data) is Boolean else x


def _tensor_to_list(t: Value) -> Value:
    def nested(entries: Any) -> Value:
        if isinstance(entries, list):
            return list_of([nested(one) for one in entries])
        return boolean(entries) if isinstance(entries, bool) else float(entries)

    return nested(on_host(array_of("tensor->list", t)).tolist())


def _abstract_to_list(w: Any, t: Any) -> Any:
    shape = shape_of(t)
    if not shape:
        return t
    if math.prod(shape) > MOST_LISTED or t.type.of.kind == "b":
        return w.left_out("lists of so many entries, or of booleans, are")
    answer = w.constant(NIL)
    for index in reversed(range(shape[0])):
        answer = w.pair(_abstract_to_list(w, _part(w, t, index)), answer)
    return answer


def _filled(name: str) -> Callable[..., Value]:
    def value(dims: Value, dtype: Value) -> Value:
        return made(current().make(name, dimensions(name, dims), dtype=dtype_of(name, dtype, current().xp)))

    return value


def _full(dims: Value, x: Value) -> Value:
    if type(x) is not float:
        raise invalid("full", "a real", x)
    return made(current().make("full", dimensions("full", dims), x))


def _eye(n: Value) -> Value:
    count = length_of("eye", n)
    return made(current().make("eye", count))


def _arange(stop: Value, start: Value, step: Value) -> Value:
    if not type(stop) is type(start) is type(step) is float:
        raise invalid("arange", "reals", stop, start, step)
    if step == 0 or not abs((stop - start) / step) < MOST_ENTRIES:
        raise VladError("out-of-range", "Range given to arange has no end", hint="its step leads to its end")
    return made(current().make("arange", start, stop, step))


def _linspace(a: Value, b: Value, n: Value) -> Value:
    if type(a) is not float or type(b) is not float:
        raise invalid("linspace", "two reals and a number of points", a, b, n)
    count = length_of("linspace", n)
    w = current().make("arange", float(count)) / max(count - 1, 1)
    with quiet():
        return made(a * (1 - w) + b * w)


def _is_real(x: Value) -> bool:
    return type(x) is Tensor and x.is_real


def _list_of_lengths(shape: Sequence[int]) -> Value:
    return list_of([float(length) for length in shape])


def _shape(t: Value) -> Value:
    return _list_of_lengths(t.shape if type(t) is Tensor else array_of("shape", t).shape)


def _of_number(name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    """A type rule for a tensor or a real."""
    return lambda w, t: rule(w, t) if is_number(t) else w.fail(f"Argument to {name} is invalid")


def _abstract_dtype(w: Any, t: Any) -> Any:
    return w.constant(symbol(DTYPES[t.type.of.kind if is_tensor(t.type) else "f"]))


def _abstract_filled(name: str, number: float) -> Callable[..., Any]:
    def rule(w: Any, dims: Any, dtype: Any) -> Any:
        if known(w, dtype) is not symbol("float64"):
            return w.left_out("tensors of other kinds than float64 are")
        return filled(w, dimensions(name, known(w, dims)), number)

    return rule


def _abstract_full(w: Any, dims: Any, x: Any) -> Any:
    if not is_real(x.type):
        return w.fail("Argument to full is invalid")
    return repeated(w, x, dimensions("full", known(w, dims)))


def _abstract_eye(w: Any, n: Any) -> Any:
    count = length_of("eye", known(w, n))
    one = Write(0, 0, Access(0, (count + 1,)))
    kernel = Kernel((count,), (Read(0, None),), (), (Output(count * count, 0.0),), (one,))
    return w.loops(kernel, [w.constant(1.0)], [w.types.tensor((count, count))])[0]


def _abstract_arange(w: Any, stop: Any, start: Any, step: Any) -> Any:
    """start + i·step, with the step that NumPy takes: from the first entry to the second."""
    first, distance = known(w, start), known(w, step)
    array = numbers(_arange(known(w, stop), first, distance))
    return _counted(w, array.shape[0], start, w.constant(first + distance - first))


def _counted(w: Any, count: int, start: Any, step: Any) -> Any:
    reads = (Read(None, Access(0, (1,))), Read(0, None), Read(1, None))
    table = w.machine.table
    steps = (Step(table["*"], (0, 2)), Step(table["+"], (1, 3)))
    kernel = Kernel((count,), reads, steps, (Output(count),), (Write(0, 4, Access(0, (1,))),))
    return w.loops(kernel, [start, step], [w.types.tensor((count,))])[0]


def _abstract_linspace(w: Any, a: Any, b: Any, n: Any) -> Any:
    """a·(1 - w) + b·w for w = i / (n - 1)."""
    if not is_real(a.type) or not is_real(b.type):
        return w.fail("Argument to linspace is invalid")
    count, table = length_of("linspace", known(w, n)), w.machine.table
    steps = (
        Step(table["/"], (0, 1)), Step(table["-"], (2, 5)), Step(table["*"], (3, 6)), Step(table["*"], (4, 5)),
        Step(table["+"], (7, 8)),
    )  # fmt: skip
    reads = (Read(None, Access(0, (1,))), *[Read(index, None) for index in range(4)])
    kernel = Kernel((count,), reads, steps, (Output(count),), (Write(0, 9, Access(0, (1,))),))
    operands = [w.constant(float(max(count - 1, 1))), w.constant(1.0), a, b]
    return w.loops(kernel, operands, [w.types.tensor((count,))])[0]


def _dtype(t: Value) -> Value:
    name = kind_name(array_of("dtype", t).dtype)
    return symbol("boolean" if name == "bool" else name)


def _as_type(t: Value, dtype: Value) -> Value:
    array = array_of("as-type", t)
    xp = namespace(array)
    kind = dtype_of("as-type", dtype, xp)
    with quiet():
        return made(xp.astype(array, kind))


def _device(x: Value) -> Value:
    return String(name_of(x.like if type(x) is Tensor else array_of("device", x)))


def _to_device(x: Value, device: Value) -> Value:
    if type(device) is not String:
        raise invalid("to-device", "a tensor and the name of a device as a string", x, device)
    target = device_named(device.text)
    array = array_of("to-device", x)
    return Tensor(moved(array, target)) if type(x) is Tensor else x


def _device_like(x: Value, like: Value) -> Value:
    return Tensor(moved(x.array, device_of(like.like))) if type(x) is type(like) is Tensor else x


def _abstract_as_type(w: Any, t: Any, dtype: Any) -> Any:
    if known(w, dtype) is not symbol("float64") or not is_number(t):
        return w.left_out("tensors of other kinds than float64 are")
    return type(t)(w.types.tensor(shape_of(t)), t.leaves) if is_tensor(t.type) else t


def _abstract_sum_like(w: Any, x: Any, like: Any) -> Any:
    if like.type.of is ZERO or (is_tensor(like.type) and not has_tangents(like.type)):
        return w.known_zero
    if like.type.of is FALSE or is_real(x.type):
        return x
    whole, shape = shape_of(x), shape_of(like)
    if not is_number(x) or broadcast_shape([whole, shape]) != whole:
        return unfit(w, x, shape)
    missing = len(whole) - len(shape)
    axes = [i for i, length in enumerate(whole) if i < missing or (shape[i - missing] == 1 != length)]
    total = reduced(w, x, axes, True, "+") if axes else x
    return reshaped(w, total, shape)


def _abstract_broadcast_like(w: Any, x: Any, like: Any) -> Any:
    if not is_tensor(like.type):
        return x
    if is_known_zero(x.type) or not has_tangents(like.type):
        return w.known_zero
    return x if is_tensor(x.type) and shape_of(x) == shape_of(like) else repeated(w, x, shape_of(like))


def _abstract_witness(w: Any, x: Any, r: Any) -> Any:
    is_spread = (is_tensor(x.type) or is_tensor(r.type)) and shape_of(x) != shape_of(r)
    return x if is_spread else w.truth(False)


def _sum_like(x: Value, like: Value) -> Value:
    """The transpose of broadcasting. A sum of what is repeated, of the kind of `like`; ZERO where that has no tangents."""
    if like is ZERO or (type(like) is Tensor and not like.is_real):
        return ZERO
    if like is FALSE or x is ZERO or type(x) is float:
        return x
    array, shape = array_of("sum-like", x), like.shape if type(like) is Tensor else ()
    xp = namespace(array)
    if array.shape != shape:
        if array.ndim > len(shape):
            array = xp.sum(array, axis=tuple(range(array.ndim - len(shape))))
        repeated = tuple([i for i, length in enumerate(shape) if length == 1 != array.shape[i]])
        if repeated:
            array = xp.sum(array, axis=repeated, keepdims=True)
        if array.shape != shape:
            raise unlike("sum-like", (x, like))
    if type(like) is Tensor and array.dtype != like.like.dtype:
        array = xp.astype(array, like.like.dtype)
    return made(array)


def _shape_witness(x: Value, r: Value) -> Value:
    """What the way back needs to undo broadcasting: nothing, mostly; of the known zero, that it receives nothing."""
    if x is ZERO:
        return ZERO
    if type(x) is type(r) is Tensor and x.shape == r.shape and x.like.dtype == r.like.dtype:
        return FALSE
    return x if Tensor in (type(x), type(r)) else FALSE


def _broadcast_like(x: Value, like: Value) -> Value:
    if x is ZERO or like is ZERO:
        return ZERO
    if type(like) is not Tensor:
        return x
    if not like.is_real:
        return ZERO
    if type(x) is Tensor and x.shape == like.shape and x.like.dtype == like.like.dtype:
        return x
    try:
        return made(repeated_like(numbers(x), like.like, like.like.dtype))
    except ValueError:
        raise unlike("broadcast-like", (x, like)) from None


def _reshape(t: Value, dims: Value) -> Value:
    array = array_of("reshape", t)
    return made(namespace(array).reshape(array, _new_shape(array.shape, dims)))


def _new_shape(old: tuple[int, ...], dims: Value) -> tuple[int, ...]:
    given = [dims] if type(dims) is float else elements("reshape", dims)
    free = [index for index, part in enumerate(given) if part == -1.0]
    shape = dimensions("reshape", list_of([1.0 if part == -1.0 else part for part in given]))
    count, size = math.prod(old), math.prod(shape)
    if len(free) == 1 and size and count % size == 0:
        shape = (*shape[: free[0]], count // size, *shape[free[0] + 1 :])
        size = count
    if size != count or len(free) > 1:
        wanted = shape_text([int(part) for part in given])
        raise VladError(
            "wrong-shape", f"Shapes given to reshape do not fit: {shape_text(old)} and {wanted}",
            hint=f"the tensor has {count} entries; at most one length may be left open, as -1",
        )  # fmt: skip
    return shape


def _abstract_reshape(w: Any, t: Any, dims: Any) -> Any:
    if not is_number(t):
        return w.fail("Argument to reshape is invalid")
    return reshaped(w, t, _new_shape(shape_of(t), known(w, dims)))


def _abstract_transpose(w: Any, t: Any, axes: Any) -> Any:
    shape = shape_of(t)
    order = _order(shape, known(w, axes))
    strides = contiguous(shape)
    access = Access(0, tuple([strides[axis] for axis in order]))
    return copied(w, t, tuple([shape[axis] for axis in order]), access)


def _abstract_swap(w: Any, t: Any) -> Any:
    shape, strides = shape_of(t), contiguous(shape_of(t))
    if len(shape) < 2:
        return t
    access = Access(0, (*strides[:-2], strides[-1], strides[-2]))
    swapped = copied(w, t, (*shape[:-2], shape[-1], shape[-2]), access)
    swapped.transposed = t
    return swapped


def _abstract_broadcast_to(w: Any, t: Any, dims: Any) -> Any:
    shape, whole = shape_of(t), dimensions("broadcast-to", known(w, dims))
    if broadcast_shape([shape, whole]) != whole or not is_number(t):
        return w.fail(f"Shapes given to broadcast-to do not fit: {shape_text(shape)} and {shape_text(whole)}")
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
            irritants=(axes,),
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
            hint="axes, counted from the last, have to be equal, or 1 in the tensor",
        ) from None  # fmt: skip


def _arrays(name: str, ts: Value) -> tuple[Any, list[Value], list[Array]]:
    values = [look(part) for part in elements(name, ts)]
    if not values:
        raise VladError(
            "wrong-shape", f"List given to {name} is empty", hint=f"{name} takes one tensor or more"
        )
    xp = library(name, *values)
    beside = next((value.like for value in values if type(value) is Tensor), None)
    return xp, values, [array_of(name, value, beside) for value in values]


def _concatenate(ts: Value, axis: Value) -> Value:
    xp, values, arrays = _arrays("concatenate", ts)
    if any(array.ndim == 0 for array in arrays):
        raise invalid("concatenate", "tensors", *[value for value in values if type(value) is float][:1])
    at = axis_of("concatenate", axis, arrays[0].ndim)
    try:
        return made(xp.concat(arrays, axis=at))
    except ValueError:
        raise unlike("concatenate", tuple(values), f"all axes but {at} have to be equal") from None


def stacked(w: Any, name: str, parts: list[Any], axis: int) -> Any:
    """Parts of one shape, along a new axis."""
    shape = shape_of(parts[0]) if parts else ()
    for part in parts:
        if part.type.head == "boolean":
            return w.left_out("tensors of booleans from lists are")
        if not is_number(part):
            return w.fail(f"Argument to {name} is invalid")
        if shape_of(part) != shape:
            return w.fail(
                f"Shapes given to {name} do not fit: {shape_text(shape)} and {shape_text(shape_of(part))}"
            )
    if not shape:
        return row_of(w, parts)
    return joined(w, [reshaped(w, part, (*shape[:axis], 1, *shape[axis:])) for part in parts], axis)


def row_of(w: Any, reals: list[Any]) -> Any:
    """The tensor of these reals."""
    count = len(reals)
    reads = tuple([Read(index, None) for index in range(count)])
    writes = tuple([Write(0, index, Access(index, ())) for index in range(count)])
    kernel = Kernel((), reads, (), (Output(count),), writes)
    return w.loops(kernel, reals, [w.types.tensor((count,))])[0]


def joined(w: Any, parts: list[Any], axis: int) -> Any:
    """Parts one behind the other along an axis: each is written into what holds those before it."""
    if any(is_tensor(part.type) and part.type.of.kind != "f" for part in parts):
        return w.left_out("tensors of integers and booleans, joined, are")
    length = sum([shape_of(part)[axis] for part in parts])
    shape = (*shape_of(parts[0])[:axis], length, *shape_of(parts[0])[axis + 1 :])
    strides, begin = contiguous(shape), 0
    whole: Any = None
    for part in parts:
        own = shape_of(part)
        write = Access(begin * strides[axis], strides)
        accesses = [Access(0, contiguous(own)), None]
        if whole is None:
            whole = loops(w, own, [part], accesses[:1], shape, write=write, fill=0.0)
        else:
            whole = loops(w, own, [part, whole], accesses, shape, write=write, base=1)
        begin += own[axis]
    return whole


def _abstract_concatenate(w: Any, ts: Any, axis: Any) -> Any:
    parts = list_parts(w, ts)
    if not parts or not all(is_tensor(part.type) for part in parts):
        return w.fail("Argument to concatenate is invalid")
    shapes = [shape_of(part) for part in parts]
    at = axis_of("concatenate", known(w, axis), len(shapes[0]))
    if not joins(shapes, at):
        return w.fail(f"Shapes given to concatenate do not fit: {' and '.join(map(shape_text, shapes))}")
    return joined(w, parts, at)


def _abstract_split_like(w: Any, x: Any, ts: Any, axis: Any) -> Any:
    parts = list_parts(w, ts)
    shape = shape_of(x)
    at = axis_of("concatenate", known(w, axis), len(shape))
    shapes = [shape_of(part) for part in parts or ()]
    if not joins(shapes, at) or sum([one[at] for one in shapes]) != shape[at]:
        return unfit(w, x, shapes[0] if shapes else ())
    return cut_up(w, x, at, [one[at] for one in shapes])


def joins(shapes: Sequence[Shape], axis: int) -> bool:
    """Are these shapes of tensors the same but for an axis, along which they can be joined?"""
    return len({(*shape[:axis], *shape[axis + 1 :], len(shape)) for shape in shapes}) == 1


def cut_up(w: Any, x: Any, axis: int, lengths: Sequence[int]) -> Any:
    """The list of parts of these lengths along an axis."""
    shape, strides = shape_of(x), contiguous(shape_of(x))
    answer, begin = w.constant(NIL), sum(lengths)
    for length in reversed(lengths):
        begin -= length
        access = Access(begin * strides[axis], strides)
        answer = w.pair(copied(w, x, (*shape[:axis], length, *shape[axis + 1 :]), access), answer)
    return answer


def _abstract_stack(w: Any, ts: Any, axis: Any) -> Any:
    parts = list_parts(w, ts)
    if not parts:
        return w.fail("List given to stack is empty")
    return stacked(w, "stack", parts, axis_of("stack", known(w, axis), len(shape_of(parts[0])) + 1))


def _abstract_unstack(w: Any, x: Any, axis: Any) -> Any:
    shape, strides = shape_of(x), contiguous(shape_of(x))
    at = axis_of("unstack", known(w, axis), len(shape))
    if shape[at] > MOST_LISTED:
        return w.left_out("lists of so many tensors are")
    rest, steps = (*shape[:at], *shape[at + 1 :]), (*strides[:at], *strides[at + 1 :])
    answer = w.constant(NIL)
    for index in reversed(range(shape[at])):
        answer = w.pair(copied(w, x, rest, Access(index * strides[at], steps)), answer)
    return answer


def abstract_split(w: Any, t: Any, n: Any, axis: Any) -> Any:
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
    try:
        return made(xp.stack(arrays, axis=at))
    except ValueError:
        raise unlike("stack", tuple(values), "all have one shape") from None


def _unstack(x: Value, axis: Value) -> Value:
    array = array_of("unstack", x)
    at = axis_of("unstack", axis, array.ndim)
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
    length = array.shape[at] // count
    places = [slice(begin, begin + length) for begin in range(0, array.shape[at], length or 1)] or [
        slice(0)
    ] * count
    return list_of([made(part_at(array, at, place)) for place in places])


MOST_LISTED = 128  # entries that become elements of a list in compiled code
_FLOAT64: dict[str, Value] = {"dtype": symbol("float64")}


ROWS: list[Primitive] = [
    row("tensor", "data", "The tensor of nested lists of one shape.", linear="data", value=_tensor, abstract=_abstract_tensor,
         forward="(tensor (complete data ddata))", reverse={"data": "(tensor-parts s data)"}),
    row("tensor-parts", "x data", "The inverse of tensor.", linear="x data", value=_tensor_parts, hidden=True,
         abstract=_abstract_parts,
         forward="(tensor-parts dx data)", reverse={"x": "(tensor (complete r s))"}),
    row("tensor->list", "t", "The entries as nested lists.", linear="t", value=_tensor_to_list,
         abstract=_abstract_to_list, forward="(tensor->list dt)",
         reverse={"t": "(reshape (tensor (complete r s)) (shape t))"}),
    constant_row("tensor?", "x", "Is x a tensor?", lambda x: boolean(type(x) is Tensor), "any -> boolean",
                 python="type(x) is Tensor", uses={"Tensor": Tensor},
                 abstract=lambda w, x: w.each(x, lambda x: w.truth(is_tensor(x.type)))),
    constant_row("real-tensor?", "x", "Is x a tensor of reals, which has derivatives?",
                 lambda x: boolean(_is_real(x)), "any -> boolean", python="is_real(x)", uses={"is_real": _is_real},
                 abstract=lambda w, x: w.each(x, lambda x: w.truth(is_tensor(x.type) and has_tangents(x.type)))),
    constant("shape", "t", "The lengths of the axes.", linear="t", value=_shape,
              abstract=_of_number("shape", lambda w, t: w.value(_list_of_lengths(shape_of(t))))),
    constant("rank", "t", "The number of axes.", linear="t", value=lambda t: float(array_of("rank", t).ndim),
              abstract=_of_number("rank", lambda w, t: w.constant(float(len(shape_of(t)))))),
    constant("size", "t", "The number of entries.", linear="t", value=lambda t: float(array_of("size", t).size),
              abstract=_of_number("size", lambda w, t: w.constant(float(math.prod(shape_of(t)))))),
    constant("dtype", "t", "The kind of number: float64, float32, int64, int32 or boolean.", _dtype,
              abstract=_of_number("dtype", _abstract_dtype)),
    row("as-type", "t dtype", "The same numbers as another kind.", linear="t", value=_as_type, abstract=_abstract_as_type,
         forward="(broadcast-like dt r)",
         reverse={"t": "(sum-like (broadcast-like s r) t)"}),
    constant("device", "x", "The name of the device that a tensor is on.", linear="x", value=_device),
    row("to-device", "x device", "The tensor on the device of a name.", linear="x", value=_to_device,
         forward="(to-device dx device)", reverse={"x": "(device-like s x)"}),
    row("device-like", "x like", "x on the device of another tensor.", linear="x like", value=_device_like, hidden=True,
         forward="(device-like dx like)", reverse={"x": "(device-like s x)"}),
    constant("zeros", "dims dtype", "Zeros of a shape.", _filled("zeros"), keywords=_FLOAT64,
              abstract=_abstract_filled("zeros", 0.0)),
    constant("ones", "dims dtype", "Ones of a shape.", _filled("ones"), keywords=_FLOAT64,
              abstract=_abstract_filled("ones", 1.0)),
    row("full", "dims x", "x in every entry of a shape.", _full,
        abstract=_abstract_full,
        forward="(broadcast-like dx r)",
         reverse={"x": "(sum-like s x)"}),
    constant("eye", "n", "The unit matrix of n rows.", _eye, abstract=_abstract_eye),
    constant("arange", "stop start step", "start, start + step, … up to but without stop.", _arange,
              keywords={"start": 0.0, "step": 1.0}, abstract=_abstract_arange),
    row("linspace", "a b n", "n numbers from a to b, at equal distances.", _linspace,
         abstract=_abstract_linspace,
         forward="(broadcast-like (accumulate (* da (linspace 1 0 n)) (* db (linspace 0 1 n))) r)",
         reverse={"a": "(sum-like (* s (linspace 1 0 n)) a)", "b": "(sum-like (* s (linspace 0 1 n)) b)"}),
    # broadcasting and its transpose
    row("sum-like", "x like", "x summed over the axes along which `like` was repeated.", _sum_like, hidden=True,
         python="x if like is FALSE else sum_like(x, like)", uses={"sum_like": _sum_like},
         type="any any -> number", forward="(sum-like dx like)", reverse={"x": "(broadcast-like s ~x)"},
         abstract=_abstract_sum_like),
    row("broadcast-like", "x like", "x repeated to the shape of `like`.", _broadcast_like, hidden=True,
         uses={"broadcast_like": _broadcast_like},
         python="x if like is FALSE or type(like) is float else broadcast_like(x, like)",
         type="any any -> number", forward="(broadcast-like dx like)", reverse={"x": "(sum-like s ~x)"},
         abstract=_abstract_broadcast_like),
    constant("shape-witness", "x result", "x, where it is not shaped like the result; else #f.", _shape_witness, hidden=True,
              python="FALSE if type(x) is type(result) is float else shape_witness(x, result)",
              uses={"shape_witness": _shape_witness},
              abstract=_abstract_witness),
    row("reshape", "t dims", "The entries in their order as another shape; one length may be -1, the rest.",
         linear="t dims", value=_reshape, abstract=_abstract_reshape,
         forward="(reshape dt dims)", reverse={"t": "(reshape s (shape t))"}),
    row("transpose", "t axes", "The axes in another order; without one, backwards.",
         linear="t", value=_transpose, keywords={"axes": FALSE}, abstract=_abstract_transpose,
         forward="(transpose dt axes)", reverse={"t": "(transpose s (inverse-axes axes))"}),
    constant("inverse-axes", "axes", "The order that undoes an order of axes.", _inverse_axes, hidden=True,
              abstract=lambda w, axes: w.value(_inverse_axes(known(w, axes)))),
    row("swap", "t", "The last two axes exchanged.",
         linear="t", value=_swap, hidden=True, abstract=_abstract_swap, forward="(swap dt)", reverse={"t": "(swap s)"}),
    row("broadcast-to", "t dims", "The tensor repeated to a shape.",
         linear="t", value=_broadcast_to, abstract=_abstract_broadcast_to, forward="(broadcast-to dt dims)",
         reverse={"t": "(sum-like s t)"}),
    row("concatenate", "ts axis", "A list of tensors, one behind the other along an axis.",
         linear="ts", value=_concatenate, abstract=_abstract_concatenate, keywords=FIRST,
         forward="(concatenate (complete ts dts) axis)", reverse={"ts": "(split-like s ts axis)"}),
    row("split-like", "x ts axis", "The inverse of concatenate.", linear="x ts", value=_split_like,
         abstract=_abstract_split_like, hidden=True,
         forward="(split-like dx ts axis)", reverse={"x": "(concatenate (complete r s) axis)"}),
    row("stack", "ts axis", "A list of tensors along a new axis.", linear="ts", value=_stack,
         abstract=_abstract_stack, keywords=FIRST,
         forward="(stack (complete ts dts) axis)", reverse={"ts": "(unstack s axis)"}),
    row("unstack", "t axis", "The list of the parts along an axis.", linear="t", value=_unstack,
         abstract=_abstract_unstack, keywords=FIRST,
         forward="(unstack dt axis)", reverse={"t": "(if (null? r) (zero t) (stack (complete r s) axis))"}),
]  # fmt: skip
