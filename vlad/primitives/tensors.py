"""The rows of tensors: what they are, making them, shaping them (arrays.py has the conventions)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    library,
    numpy,
    row,
    too_many_axes,
    whole,
)
from vlad.primitives.data import boolean, constant_row
from vlad.primitives.elementwise import unlike
from vlad.primitives.numbers import invalid
from vlad.tensors import Array, Tensor, made, namespace, numbers, quiet, shape_text
from vlad.values import FALSE, TRUE, ZERO, Boolean, Primitive, Value, list_of, look, symbol


def _tensor(data: Value) -> Value:
    return made(_stacked(data))


def _stacked(data: Value, depth: int = 0) -> Array:
    data = look(data)
    if depth > MOST_AXES:
        raise too_many_axes("tensor")
    if type(data) is Tensor:
        return data.array
    if type(data) is float:
        return numpy().asarray(data)
    if type(data) is Boolean:
        return numpy().asarray(data is TRUE)
    if type(data) is not tuple:
        raise invalid("tensor", "numbers, booleans, tensors, and lists of such", data)
    parts = elements("tensor", data)
    if parts and all(type(part) is float for part in parts):
        return numpy().asarray(parts)
    arrays = [_stacked(part, depth + 1) for part in parts]
    if not arrays:
        return numpy().zeros(0)
    for array in arrays[1:]:
        if array.shape != arrays[0].shape:
            raise VladError(
                "wrong-shape", f"Shapes given to tensor do not fit: {shape_text(arrays[0].shape)} and {shape_text(array.shape)}",
                hint="all parts of a tensor have one shape",
            )  # fmt: skip
    first = next((array for array in arrays if array.ndim), arrays[0])
    return namespace(first).stack(arrays)


def _tensor_parts(x: Value, data: Value) -> Value:
    """A sensitivity of `(tensor data)` in the structure of the data."""
    data = look(data)
    if type(data) is tuple:
        array = array_of("tensor", x)
        return list_of(
            [_tensor_parts(made(array[index]), part) for index, part in enumerate(elements("tensor", data))]
        )
    return data if type(data) is Boolean else x


def _tensor_to_list(t: Value) -> Value:
    def nested(part: Any) -> Value:
        if isinstance(part, list):
            return list_of([nested(one) for one in part])
        return boolean(part) if isinstance(part, bool) else float(part)

    return nested(array_of("tensor->list", t).tolist())


def _filled(name: str, number: float) -> Callable[..., Value]:
    def value(dims: Value, dtype: Value) -> Value:
        return made(numpy().full(dimensions(name, dims), number, dtype=dtype_of(name, dtype)))

    return value


def _full(dims: Value, x: Value) -> Value:
    if type(x) is not float:
        raise invalid("full", "a real", x)
    return made(numpy().full(dimensions("full", dims), x))


def _eye(n: Value) -> Value:
    count = length_of("eye", n)
    return made(numpy().eye(count))


def _arange(stop: Value, start: Value, step: Value) -> Value:
    if not type(stop) is type(start) is type(step) is float:
        raise invalid("arange", "reals", stop, start, step)
    if step == 0 or not abs((stop - start) / step) < MOST_ENTRIES:
        raise VladError("out-of-range", "Range given to arange has no end", hint="its step leads to its end")
    return made(numpy().arange(start, stop, step))


def _linspace(a: Value, b: Value, n: Value) -> Value:
    if type(a) is not float or type(b) is not float:
        raise invalid("linspace", "two reals and a number of points", a, b, n)
    count = length_of("linspace", n)
    w = numpy().arange(count) / max(count - 1, 1)
    with quiet():
        return made(a * (1 - w) + b * w)


def _is_real(x: Value) -> bool:
    return type(x) is Tensor and x.is_real


def _shape(t: Value) -> Value:
    return list_of(
        [float(length) for length in (t.shape if type(t) is Tensor else array_of("shape", t).shape)]
    )


def _dtype(t: Value) -> Value:
    name = str(array_of("dtype", t).dtype)
    return symbol("boolean" if name == "bool" else name)


def _as_type(t: Value, dtype: Value) -> Value:
    kind = dtype_of("as-type", dtype)
    with quiet():
        return made(array_of("as-type", t).astype(kind))


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
        array = array.astype(like.like.dtype)
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
    array = numbers(x)
    xp = namespace(like.like)
    try:
        return made(xp.broadcast_to(xp.asarray(array, dtype=like.like.dtype), like.shape))
    except ValueError:
        raise unlike("broadcast-like", (x, like)) from None


def _reshape(t: Value, dims: Value) -> Value:
    array = array_of("reshape", t)
    given = [dims] if type(dims) is float else elements("reshape", dims)
    free = [index for index, part in enumerate(given) if part == -1.0]
    known = dimensions("reshape", list_of([1.0 if part == -1.0 else part for part in given]))
    size = 1
    for length in known:
        size *= length
    if len(free) == 1 and size and array.size % size == 0:
        known = (*known[: free[0]], array.size // size, *known[free[0] + 1 :])
        size = array.size
    if size != array.size or len(free) > 1:
        raise VladError(
            "wrong-shape", f"Shapes given to reshape do not fit: {shape_text(array.shape)} and {shape_text(known)}",
            hint=f"the tensor has {array.size} entries; at most one length may be left open, as -1",
        )  # fmt: skip
    return made(array.reshape(known))


def _transpose(t: Value, axes: Value) -> Value:
    array = array_of("transpose", t)
    order = axes_of("transpose", axes, array.ndim)
    if order is not None and sorted(order) != list(range(array.ndim)):
        raise VladError(
            "wrong-shape", "Axes given to transpose are no order of all", hint=f"the tensor has rank {array.ndim}",
            irritants=(axes,),
        )  # fmt: skip
    return made(array.transpose(order) if order is not None else array.transpose())


def _inverse_axes(axes: Value) -> Value:
    if axes is FALSE:
        return FALSE
    order = axes_of("transpose", axes, len(elements("transpose", axes)))
    assert order is not None
    return list_of([float(order.index(axis)) for axis in range(len(order))])


def _swap(t: Value) -> Value:
    array = array_of("swap", t)
    return made(namespace(array).swapaxes(array, -1, -2) if array.ndim > 1 else array)


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
    return library(*values), values, [array_of(name, value) for value in values]


def _concatenate(ts: Value, axis: Value) -> Value:
    xp, values, arrays = _arrays("concatenate", ts)
    if any(array.ndim == 0 for array in arrays):
        raise invalid("concatenate", "tensors", *[value for value in values if type(value) is float][:1])
    at = axis_of("concatenate", axis, arrays[0].ndim)
    try:
        return made(xp.concatenate(arrays, axis=at))
    except ValueError:
        raise unlike("concatenate", tuple(values), f"all axes but {at} have to be equal") from None


def _split_like(x: Value, ts: Value, axis: Value) -> Value:
    _, _, arrays = _arrays("concatenate", ts)
    array = array_of("concatenate", x)
    at = axis_of("concatenate", axis, array.ndim)
    found, begin = [], 0
    for part in arrays:
        end = begin + part.shape[at]
        found.append(made(array[(slice(None),) * at + (slice(begin, end),)]))
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
    return list_of([made(array[(slice(None),) * at + (index,)]) for index in range(array.shape[at])])


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
    return list_of([made(array[(slice(None),) * at + (place,)]) for place in places])


_FLOAT64: dict[str, Value] = {"dtype": symbol("float64")}


ROWS: list[Primitive] = [
    row("tensor", "data", "The tensor of nested lists of one shape.", linear="data", value=_tensor,
         forward="(tensor (complete data ddata))", reverse={"data": "(tensor-parts s data)"}),
    row("tensor-parts", "x data", "The inverse of tensor.", linear="x data", value=_tensor_parts, hidden=True,
         forward="(tensor-parts dx data)", reverse={"x": "(tensor (complete r s))"}),
    row("tensor->list", "t", "The entries as nested lists.", linear="t", value=_tensor_to_list, forward="(tensor->list dt)",
         reverse={"t": "(reshape (tensor (complete r s)) (shape t))"}),
    constant_row("tensor?", "x", "Is x a tensor?", lambda x: boolean(type(x) is Tensor), "any -> boolean",
                 python="type(x) is Tensor", uses={"Tensor": Tensor}, abstract=lambda w, x: w.truth(False)),
    constant_row("real-tensor?", "x", "Is x a tensor of reals, which has derivatives?",
                 lambda x: boolean(_is_real(x)), "any -> boolean", python="is_real(x)", uses={"is_real": _is_real},
                 abstract=lambda w, x: w.truth(False)),
    constant("shape", "t", "The lengths of the axes.", linear="t", value=_shape),
    constant("rank", "t", "The number of axes.", linear="t", value=lambda t: float(array_of("rank", t).ndim)),
    constant("size", "t", "The number of entries.", linear="t", value=lambda t: float(array_of("size", t).size)),
    constant("dtype", "t", "The kind of number: float64, float32, int64, int32 or boolean.", _dtype),
    row("as-type", "t dtype", "The same numbers as another kind.", linear="t", value=_as_type, forward="(broadcast-like dt r)",
         reverse={"t": "(sum-like (broadcast-like s r) t)"}),
    constant("zeros", "dims dtype", "Zeros of a shape.", _filled("zeros", 0.0), keywords=_FLOAT64),
    constant("ones", "dims dtype", "Ones of a shape.", _filled("ones", 1.0), keywords=_FLOAT64),
    row("full", "dims x", "x in every entry of a shape.", _full, forward="(broadcast-like dx r)",
         reverse={"x": "(sum-like s x)"}),
    constant("eye", "n", "The unit matrix of n rows.", _eye),
    constant("arange", "stop start step", "start, start + step, … up to but without stop.", _arange,
              keywords={"start": 0.0, "step": 1.0}),
    row("linspace", "a b n", "n numbers from a to b, at equal distances.", _linspace,
         forward="(broadcast-like (accumulate (* da (linspace 1 0 n)) (* db (linspace 0 1 n))) r)",
         reverse={"a": "(sum-like (* s (linspace 1 0 n)) a)", "b": "(sum-like (* s (linspace 0 1 n)) b)"}),
    # broadcasting and its transpose
    row("sum-like", "x like", "x summed over the axes along which `like` was repeated.", _sum_like, hidden=True,
         python="x if like is FALSE else sum_like(x, like)", uses={"sum_like": _sum_like},
         type="any any -> number", forward="(sum-like dx like)", reverse={"x": "(broadcast-like s ~x)"},
         abstract=lambda w, x, like: x),
    row("broadcast-like", "x like", "x repeated to the shape of `like`.", _broadcast_like, hidden=True,
         uses={"broadcast_like": _broadcast_like},
         python="x if like is FALSE or type(like) is float else broadcast_like(x, like)",
         type="any any -> number", forward="(broadcast-like dx like)", reverse={"x": "(sum-like s ~x)"},
         abstract=lambda w, x, like: x),
    constant("shape-witness", "x result", "x, where it is not shaped like the result; else #f.", _shape_witness, hidden=True,
              python="FALSE if type(x) is type(result) is float else shape_witness(x, result)",
              uses={"shape_witness": _shape_witness},
              abstract=lambda w, x, r: w.truth(False)),
    row("reshape", "t dims", "The entries in their order as another shape; one length may be -1, the rest.",
         linear="t dims", value=_reshape,
         forward="(reshape dt dims)", reverse={"t": "(reshape s (shape t))"}),
    row("transpose", "t axes", "The axes in another order; without one, backwards.",
         linear="t", value=_transpose, keywords={"axes": FALSE},
         forward="(transpose dt axes)", reverse={"t": "(transpose s (inverse-axes axes))"}),
    constant("inverse-axes", "axes", "The order that undoes an order of axes.", _inverse_axes, hidden=True),
    row("swap", "t", "The last two axes exchanged.",
         linear="t", value=_swap, hidden=True, forward="(swap dt)", reverse={"t": "(swap s)"}),
    row("broadcast-to", "t dims", "The tensor repeated to a shape.",
         linear="t", value=_broadcast_to, forward="(broadcast-to dt dims)",
         reverse={"t": "(sum-like s t)"}),
    row("concatenate", "ts axis", "A list of tensors, one behind the other along an axis.",
         linear="ts", value=_concatenate, keywords=FIRST,
         forward="(concatenate (complete ts dts) axis)", reverse={"ts": "(split-like s ts axis)"}),
    row("split-like", "x ts axis", "The inverse of concatenate.", linear="x ts", value=_split_like, hidden=True,
         forward="(split-like dx ts axis)", reverse={"x": "(concatenate (complete r s) axis)"}),
    row("stack", "ts axis", "A list of tensors along a new axis.", linear="ts", value=_stack, keywords=FIRST,
         forward="(stack (complete ts dts) axis)", reverse={"ts": "(unstack s axis)"}),
    row("unstack", "t axis", "The list of the parts along an axis.", linear="t", value=_unstack, keywords=FIRST,
         forward="(unstack dt axis)", reverse={"t": "(if (null? r) (zero t) (stack (complete r s) axis))"}),
]  # fmt: skip
