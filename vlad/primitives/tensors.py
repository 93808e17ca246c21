"""The rows of tensors: making, shaping, indexing, reducing and multiplying them.

Values come from the array library of the operands. Derivatives are language text over rows of this table, so each has derivatives
of its own. An axis counts from 0, or from the end when it is negative; #f as axis is all of them. A result of rank 0 is a real.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from vlad.core.types import is_known_zero, is_real
from vlad.errors import VladError
from vlad.primitives.data import boolean, constant_row
from vlad.primitives.elementwise import elementwise, formula, is_elementwise, unlike
from vlad.primitives.numbers import invalid
from vlad.tensors import Array, Tensor, made, namespace, numbers, put, quiet
from vlad.values import FALSE, TRUE, ZERO, Boolean, Primitive, Symbol, Value, list_of, look, symbol

KINDS = {"float64": "f8", "float32": "f4", "int64": "i8", "int32": "i4", "boolean": "bool"}
MOST_AXES = 32
MOST_ENTRIES = 1 << 34  # of a tensor that a program asks for by its shape


def _numpy() -> Any:
    import numpy

    return numpy


def array_of(name: str, value: Value) -> Array:
    """The array of a tensor or a real. Raises VladError."""
    if type(value) is Tensor:
        return value.array
    if type(value) is float:
        return _numpy().asarray(value)
    raise invalid(name, "a tensor", value)


def _library(*values: Value) -> Any:
    """The array library of the first tensor among some values."""
    for value in values:
        if type(value) is Tensor:
            return namespace(value.like)
    return _numpy()


def whole(name: str, value: Value, what: str) -> int:
    if type(value) is not float or value % 1:
        raise VladError(
            "invalid-argument",
            f"Argument to {name} is invalid",
            hint=f"{what} is a whole number",
            irritants=(value,),
        )
    return int(value)


def elements(name: str, value: Value) -> list[Value]:
    """Of a list. Raises VladError."""
    found = []
    rest = look(value)
    while type(rest) is tuple and len(rest) == 2:
        found.append(rest[0])
        rest = look(rest[1])
    if rest != ():
        raise invalid(name, "a list", value)
    return found


def dimensions(name: str, value: Value) -> tuple[int, ...]:
    """A shape: a list of whole numbers, or one of them."""
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
                "wrong-shape", f"Shape given to {name} is impossible: ({' '.join(map(str, shape))})",
                hint="lengths are not negative, and a tensor has to fit in the memory",
            )  # fmt: skip
    return shape


def too_many_axes(name: str) -> VladError:
    return VladError(
        "wrong-shape", f"Too many axes given to {name}", hint=f"a tensor has at most {MOST_AXES}"
    )


def _length(name: str, value: Value) -> int:
    if type(value) is not float:
        raise invalid(name, "a number of entries", value)
    return dimensions(name, value)[0]


def _axis(name: str, axis: Value, rank: int) -> int:
    number = whole(name, axis, "an axis")
    if not -rank <= number < rank:
        raise VladError(
            "out-of-range",
            f"Axis given to {name} is out of range: {number}",
            hint=f"the tensor has rank {rank}",
        )
    return number % rank


def _axes(name: str, axis: Value, rank: int) -> tuple[int, ...] | None:
    """One axis, several, or None for all."""
    axis = look(axis)
    if axis is FALSE:
        return None
    parts = [axis] if type(axis) is float else elements(name, axis)
    found = tuple([_axis(name, part, rank) for part in parts])
    if len(set(found)) < len(found):
        raise VladError("invalid-argument", f"Argument to {name} is invalid", hint="each axis is named once")
    return found


def _kind_of(name: str, dtype: Value) -> str:
    kind = KINDS.get(dtype.name) if type(dtype) is Symbol else None
    if kind is None:
        raise VladError(
            "invalid-argument", f"Argument to {name} is invalid",
            hint=f"the kinds of number are {', '.join(KINDS)}", irritants=(dtype,),
        )  # fmt: skip
    return kind


# Making.


def _tensor(data: Value) -> Value:
    return made(_stacked(data))


def _stacked(data: Value, depth: int = 0) -> Array:
    data = look(data)
    if depth > MOST_AXES:
        raise too_many_axes("tensor")
    if type(data) is Tensor:
        return data.array
    if type(data) is float:
        return _numpy().asarray(data)
    if type(data) is Boolean:
        return _numpy().asarray(data is TRUE)
    if type(data) is not tuple:
        raise invalid("tensor", "numbers, booleans, tensors, and lists of such", data)
    parts = elements("tensor", data)
    if parts and all(type(part) is float for part in parts):
        return _numpy().asarray(parts)
    arrays = [_stacked(part, depth + 1) for part in parts]
    if not arrays:
        return _numpy().zeros(0)
    for array in arrays[1:]:
        if array.shape != arrays[0].shape:
            raise VladError(
                "wrong-shape", f"Shapes given to tensor do not fit: {_text(arrays[0])} and {_text(array)}",
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


def _text(array: Array) -> str:
    return f"({' '.join(map(str, array.shape))})"


def _tensor_to_list(t: Value) -> Value:
    def nested(part: Any) -> Value:
        if isinstance(part, list):
            return list_of([nested(one) for one in part])
        return boolean(part) if isinstance(part, bool) else float(part)

    return nested(array_of("tensor->list", t).tolist())


def _filled(name: str, number: float) -> Callable[..., Value]:
    def value(dims: Value, dtype: Value) -> Value:
        return made(_numpy().full(dimensions(name, dims), number, dtype=_kind_of(name, dtype)))

    return value


def _full(dims: Value, x: Value) -> Value:
    if type(x) is not float:
        raise invalid("full", "a real", x)
    return made(_numpy().full(dimensions("full", dims), x))


def _eye(n: Value) -> Value:
    count = _length("eye", n)
    return made(_numpy().eye(count))


def _arange(stop: Value, start: Value, step: Value) -> Value:
    if not type(stop) is type(start) is type(step) is float:
        raise invalid("arange", "reals", stop, start, step)
    if step == 0 or not abs((stop - start) / step) < MOST_ENTRIES:
        raise VladError("out-of-range", "Range given to arange has no end", hint="its step leads to its end")
    return made(_numpy().arange(start, stop, step))


def _linspace(a: Value, b: Value, n: Value) -> Value:
    if type(a) is not float or type(b) is not float:
        raise invalid("linspace", "two reals and a number of points", a, b, n)
    count = _length("linspace", n)
    w = _numpy().arange(count) / max(count - 1, 1)
    with quiet():
        return made(a * (1 - w) + b * w)


# What they are.


def _shape(t: Value) -> Value:
    return list_of(
        [float(length) for length in (t.shape if type(t) is Tensor else array_of("shape", t).shape)]
    )


def _dtype(t: Value) -> Value:
    name = str(array_of("dtype", t).dtype)
    return symbol("boolean" if name == "bool" else name)


def _as_type(t: Value, dtype: Value) -> Value:
    kind = _kind_of("as-type", dtype)
    with quiet():
        return made(array_of("as-type", t).astype(kind))


# Shaping.


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
    """What the way back needs to undo broadcasting: nothing, mostly."""
    if type(x) is type(r) is Tensor and x.shape == r.shape and x.like.dtype == r.like.dtype:
        return FALSE
    return x if type(r) is Tensor else FALSE


def _broadcast_like(x: Value, like: Value) -> Value:
    if type(like) is not Tensor:
        return x
    if x is ZERO or not like.is_real:
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
            "wrong-shape", f"Shapes given to reshape do not fit: {_text(array)} and ({' '.join(map(str, known))})",
            hint=f"the tensor has {array.size} entries; at most one length may be left open, as -1",
        )  # fmt: skip
    return made(array.reshape(known))


def _transpose(t: Value, axes: Value) -> Value:
    array = array_of("transpose", t)
    order = _axes("transpose", axes, array.ndim)
    if order is not None and sorted(order) != list(range(array.ndim)):
        raise VladError(
            "wrong-shape", "Axes given to transpose are no order of all", hint=f"the tensor has rank {array.ndim}",
            irritants=(axes,),
        )  # fmt: skip
    return made(array.transpose(order) if order is not None else array.transpose())


def _inverse_axes(axes: Value) -> Value:
    if axes is FALSE:
        return FALSE
    order = _axes("transpose", axes, len(elements("transpose", axes)))
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
            "wrong-shape", f"Shapes given to broadcast-to do not fit: {_text(array)} and ({' '.join(map(str, shape))})",
            hint="axes, counted from the last, have to be equal, or 1 in the tensor",
        ) from None  # fmt: skip


def _arrays(name: str, ts: Value) -> tuple[Any, list[Value], list[Array]]:
    values = [look(part) for part in elements(name, ts)]
    if not values:
        raise VladError(
            "wrong-shape", f"List given to {name} is empty", hint=f"{name} takes one tensor or more"
        )
    return _library(*values), values, [array_of(name, value) for value in values]


def _concatenate(ts: Value, axis: Value) -> Value:
    xp, values, arrays = _arrays("concatenate", ts)
    if any(array.ndim == 0 for array in arrays):
        raise invalid("concatenate", "tensors", *[value for value in values if type(value) is float][:1])
    at = _axis("concatenate", axis, arrays[0].ndim)
    try:
        return made(xp.concatenate(arrays, axis=at))
    except ValueError:
        raise unlike("concatenate", tuple(values), f"all axes but {at} have to be equal") from None


def _split_like(x: Value, ts: Value, axis: Value) -> Value:
    _, _, arrays = _arrays("concatenate", ts)
    array = array_of("concatenate", x)
    at = _axis("concatenate", axis, array.ndim)
    found, begin = [], 0
    for part in arrays:
        end = begin + part.shape[at]
        found.append(made(array[(slice(None),) * at + (slice(begin, end),)]))
        begin = end
    return list_of(found)


def _stack(ts: Value, axis: Value) -> Value:
    xp, values, arrays = _arrays("stack", ts)
    at = _axis("stack", axis, arrays[0].ndim + 1)
    if arrays[0].ndim == MOST_AXES:
        raise too_many_axes("stack")
    try:
        return made(xp.stack(arrays, axis=at))
    except ValueError:
        raise unlike("stack", tuple(values), "all have one shape") from None


def _unstack(x: Value, axis: Value) -> Value:
    array = array_of("unstack", x)
    at = _axis("unstack", axis, array.ndim)
    return list_of([made(array[(slice(None),) * at + (index,)]) for index in range(array.shape[at])])


def _split(t: Value, n: Value, axis: Value) -> Value:
    array, count = array_of("split", t), whole("split", n, "the number of parts")
    at = _axis("split", axis, array.ndim)
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


# Indexing.


def _place(name: str, array: Array, index: Value) -> tuple[int, ...]:
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
                hint=f"the tensor has the shape {_text(array)}",
            )  # fmt: skip
    return place


def _tensor_ref(t: Value, index: Value) -> Value:
    if type(t) is not Tensor:
        raise invalid("tensor-ref", "a tensor and indices", t)
    return made(t.array[_place("tensor-ref", t.like, index)])


def _tensor_put(x: Value, like: Value, index: Value) -> Value:
    place = _place("tensor-ref", like.like, index)
    return put(like, place, numbers(x))


def _cut(name: str, array: Array, start: Value, stop: Value, axis: Value, step: Value) -> tuple[slice, ...]:
    at = _axis(name, axis, array.ndim)
    begin, end, by = [whole(name, x, "a bound or step") for x in (start, stop, step)]
    length = array.shape[at]
    if not 0 <= begin <= end <= length or by < 1:
        raise VladError(
            "out-of-range", f"Slice given to {name} is out of range: from {begin} to {end} by {by}",
            hint=f"axis {at} has the length {length}",
        )  # fmt: skip
    return (*[slice(None)] * at, slice(begin, end, by))


def _slice(t: Value, start: Value, stop: Value, axis: Value, step: Value) -> Value:
    array = array_of("slice", t)
    return made(array[_cut("slice", array, start, stop, axis, step)])


def _unslice(x: Value, like: Value, start: Value, stop: Value, axis: Value, step: Value) -> Value:
    return put(like, _cut("slice", like.like, start, stop, axis, step), numbers(x))


def _indices(name: str, array: Array, indices: Value, axis: int) -> Array:
    found = array_of(name, indices)
    length = array.shape[axis]
    if found.dtype.kind == "f":
        with quiet():
            rounded = found.astype("i8")
        if not bool((rounded == found).all()):
            raise VladError(
                "invalid-argument", f"Argument to {name} is invalid", hint="indices are whole numbers"
            )
        found = rounded
    if found.dtype.kind not in "iu":
        raise invalid(name, "whole numbers as indices", indices)
    if found.size and not bool(((found >= -length) & (found < length)).all()):
        raise VladError(
            "out-of-range", f"Index given to {name} is out of range",
            hint=f"axis {axis} of the tensor of shape {_text(array)} has the length {length}",
        )  # fmt: skip
    return found


def _gather(t: Value, indices: Value, axis: Value) -> Value:
    array = array_of("gather", t)
    at = _axis("gather", axis, array.ndim)
    return made(namespace(array).take(array, _indices("gather", array, indices, at), axis=at))


def _scatter_add(t: Value, indices: Value, updates: Value, axis: Value) -> Value:
    if updates is ZERO:
        return t
    array = array_of("scatter-add", t)
    at = _axis("scatter-add", axis, array.ndim)
    found, more = _indices("scatter-add", array, indices, at), array_of("scatter-add", updates)
    xp = namespace(array)
    kind = "f8" if array.dtype.kind != "f" and more.dtype.kind == "f" else array.dtype
    total = array.astype(kind)  # a copy
    place = (slice(None),) * at + (found,)
    if more.shape != total[place].shape:
        raise VladError(
            "wrong-shape", f"Shapes given to scatter-add do not fit: {_text(total[place])} and {_text(more)}",
            hint="the updates have the shape that `gather` answers for these indices",
        )  # fmt: skip
    xp.add.at(total, place, more)
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
    return elementwise("where", _chosen, _CHOICE, operands)


def _chosen(c: float, a: float, b: float) -> float:
    return a if c else b


_CHOICE = formula("xp.where(c != 0, a, b)", ("c", "a", "b"))


# Reducing.


def _reduction(
    name: str, rule: Callable[..., Array], empty: bool = True, most_axes: int = 99
) -> Callable[..., Value]:
    def value(t: Value, axis: Value, keep: Value) -> Value:
        array = array_of(name, t)
        axes = _axes(name, axis, array.ndim)
        if axes is not None and len(axes) > most_axes:
            raise VladError(
                "invalid-argument", f"Argument to {name} is invalid", hint=f"{name} takes one axis, or all"
            )
        over = range(array.ndim) if axes is None else axes
        if not empty and any(array.shape[one] == 0 for one in over):
            raise VladError(
                "wrong-shape", f"{name} of nothing", hint=f"the tensor has the shape {_text(array)}"
            )
        if array.dtype.kind == "b":
            array = array.astype("f8")
        with quiet():
            return made(rule(namespace(array), array, axes, keep is not FALSE))

    return value


def _repeated(t: Value, axis: Value) -> Value:
    array = array_of("prod", t)
    xp, at = namespace(array), _axis("prod", axis, array.ndim)
    whole = xp.expand_dims(xp.moveaxis(array, at, -1), at)
    return made(xp.broadcast_to(whole, (*array.shape, array.shape[at])))


def _gathered(x: Value, axis: Value) -> Value:
    array = array_of("prod", x)
    at = _axis("prod", axis, array.ndim - 1)
    return made(namespace(array).moveaxis(array.sum(axis=at), -1, at))


def _is_own(t: Value, axis: Value) -> Value:
    array = array_of("prod", t)
    xp, at = namespace(array), _axis("prod", axis, array.ndim)
    length = array.shape[at]
    own = xp.arange(length).reshape((length,) + (1,) * (array.ndim - at)) == xp.arange(length)
    return made(xp.broadcast_to(own, (*array.shape, length)))


def _spread(x: Value, t: Value, axis: Value) -> Value:
    """What a reduction of t answered, repeated over t."""
    if type(t) is not Tensor:
        return x
    axes = _axes("spread", axis, len(t.shape))
    array = numbers(x)
    if type(x) is Tensor and axes is not None and array.ndim < len(t.shape):
        array = namespace(array).expand_dims(array, tuple(sorted(axes)))
    xp = namespace(t.like)
    return made(xp.broadcast_to(xp.asarray(array, dtype=t.like.dtype if t.is_real else None), t.shape))


def _top(xp: Any, array: Array, axes: Any) -> Array:
    """The largest entries, where exp(x - top) cannot overflow."""
    top = xp.max(array, axis=axes, keepdims=True)
    return xp.where(xp.isfinite(top), top, 0.0)


def _logsumexp(xp: Any, array: Array, axes: Any, keep: bool) -> Array:
    top = _top(xp, array, axes)
    total = xp.log(xp.sum(xp.exp(array - top), axis=axes, keepdims=True)) + top
    return total if keep else xp.squeeze(total, axis=tuple(range(array.ndim)) if axes is None else axes)


def _argmax(t: Value, axis: Value) -> Value:
    array = array_of("argmax", t)
    if array.size == 0:
        raise VladError("wrong-shape", "argmax of nothing", hint=f"the tensor has the shape {_text(array)}")
    at = None if axis is FALSE else _axis("argmax", axis, array.ndim)
    return made(namespace(array).argmax(array, axis=at))


# Multiplying.


def _matmul(a: Value, b: Value) -> Value:
    x, y = array_of("matmul", a), array_of("matmul", b)
    if not x.ndim or not y.ndim:
        raise invalid("matmul", "tensors", a, b)
    try:
        with quiet():
            return made(_library(a, b).matmul(numbers(a), numbers(b)))
    except ValueError:
        hint = "the last axis of the first and the last but one of the second have to be equal"
        raise unlike("matmul", (a, b), hint) from None


def _matrix_dims(t: Value, as_row: Value) -> Value:
    """The shape of a tensor as matmul takes it: a vector is a row or a column."""
    shape = t.shape
    if len(shape) == 1:
        shape = (1, *shape) if as_row is TRUE else (*shape, 1)
    return list_of([float(length) for length in shape])


def _product_dims(a: Value, b: Value) -> Value:
    """The shape of a product, had vectors been matrices."""
    left = a.shape if len(a.shape) > 1 else (1, *a.shape)
    right = b.shape if len(b.shape) > 1 else (*b.shape, 1)
    batch = _numpy().broadcast_shapes(left[:-2], right[:-2])
    return list_of([float(length) for length in (*batch, left[-2], right[-1])])


def _dot(a: Value, b: Value) -> Value:
    x, y = array_of("dot", a), array_of("dot", b)
    if x.ndim != 1 or x.shape != y.shape:
        raise unlike("dot", (a, b), "dot takes two vectors of one length")
    with quiet():
        return made(_library(a, b).vecdot(numbers(a), numbers(b)))


def _outer(a: Value, b: Value) -> Value:
    x, y = array_of("outer", a), array_of("outer", b)
    if x.ndim != 1 or y.ndim != 1:
        raise unlike("outer", (a, b), "outer takes two vectors")
    return made(numbers(a)[:, None] * numbers(b)[None, :])


def _solve(a: Value, b: Value) -> Value:
    x, y = array_of("solve", a), array_of("solve", b)
    if x.ndim != 2 or x.shape[0] != x.shape[1] or y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise unlike("solve", (a, b), "solve takes a square matrix and a vector or matrix of as many rows")
    return _solved("solve", lambda: _library(a, b).linalg.solve(x, y))


def _inverse(a: Value) -> Value:
    x = array_of("inverse", a)
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise unlike("inverse", (a,), "inverse takes a square matrix")
    return _solved("inverse", lambda: namespace(x).linalg.inv(x))


def _solved(name: str, rule: Callable[[], Array]) -> Value:
    try:
        return made(rule())
    except _numpy().linalg.LinAlgError:
        raise VladError(
            "singular-matrix", f"Matrix given to {name} is singular", hint="its determinant is 0"
        ) from None


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


def _shifted(name: str, t: Value, axis: Value, exponential: bool) -> Value:
    array = numbers(t) if type(t) is Tensor else array_of(name, t)
    xp = namespace(array)
    axes = _axes(name, axis, array.ndim)
    if not array.size:
        return made(array)
    with quiet():
        below = array - _top(xp, array, axes)
        powers = xp.exp(below)
        total = xp.sum(powers, axis=axes, keepdims=True)
        return made(powers / total if exponential else below - xp.log(total))


def _norm(t: Value) -> Value:
    array = array_of("norm", t)
    with quiet():
        return float(_library(t).linalg.norm(numbers(t).reshape(-1) if array.ndim else array.reshape(-1)))


def _solve_slope(g: Value, x: Value) -> Value:
    a, b = g.array, x.array
    return made(-(a[:, None] * b[None, :]) if a.ndim == 1 else -(a @ b.T))


def _left_out(w: Any, *operands: Any) -> Any:
    return w.left_out("tensors are")


def _linear(value: Callable[..., Value], places: tuple[int, ...]) -> Callable[..., Value]:
    """In derivatives an operand may be the known zero: then so is the answer."""

    @functools.wraps(value)
    def rule(*operands: Value) -> Value:
        for place in places:
            if operands[place] is ZERO:
                return ZERO
        return value(*operands)

    return rule


def _row(
    name: str, operands: str, doc: str, value: Callable[..., Value], linear: str = "", **columns: Any
) -> Primitive:
    """`linear`: operands of which a known zero makes the result one."""
    columns.setdefault("abstract", _left_out)
    if linear:
        names = operands.split()
        value = _linear(value, tuple([names.index(one) for one in linear.split()]))
    columns.setdefault("type", f"{' '.join(['any'] * len(operands.split()))} -> any")
    return Primitive(name, operands, doc, value=value, **columns)


def _constant(name: str, operands: str, doc: str, value: Callable[..., Value], **columns: Any) -> Primitive:
    return _row(name, operands, doc, value, forward="zero", reverse={}, **columns)


_REDUCED: dict[str, Value] = {"axis": FALSE, "keep": FALSE}
_FIRST: dict[str, Value] = {"axis": 0.0}
_LAST: dict[str, Value] = {"axis": -1.0}
_FLOAT64: dict[str, Value] = {"dtype": symbol("float64")}
_HOLDS = "(let ((m (where (= t (spread r t axis)) 1 0)))"


# For each entry the product of the others: exact where entries are zero, which the product by the entry is not.
_OTHERS = """(if axis (prod (where (is-own t axis) 1 (repeated t axis)) -1 #f)
    (let ((u (reshape t -1))) (reshape (prod (where (is-own u 0) 1 (repeated u 0)) -1 #f) (shape t))))"""


def _extreme(name: str, doc: str, rule: Callable[..., Array]) -> Primitive:
    return _row(
        name, "t axis keep", doc, _reduction(name, rule, empty=False), keywords=_REDUCED,
        forward=f"{_HOLDS} (/ (sum (* m dt) axis keep) (sum m axis keep)))",
        reverse={"t": f"{_HOLDS} (* (spread s t axis) (/ m (spread (sum m axis keep) t axis))))"},
    )  # fmt: skip


ROWS: list[Primitive] = [
    _row("tensor", "data", "The tensor of nested lists of one shape.", linear="data", value=_tensor,
         forward="(tensor (complete data ddata))", reverse={"data": "(tensor-parts s data)"}),
    _row("tensor-parts", "x data", "The inverse of tensor.", linear="x data", value=_tensor_parts, hidden=True,
         forward="(tensor-parts dx data)", reverse={"x": "(tensor (complete r s))"}),
    _row("tensor->list", "t", "The entries as nested lists.", linear="t", value=_tensor_to_list, forward="(tensor->list dt)",
         reverse={"t": "(reshape (tensor (complete r s)) (shape t))"}),
    constant_row("tensor?", "x", "Is x a tensor?", lambda x: boolean(type(x) is Tensor), "any -> boolean",
                 python="type(x) is Tensor", uses={"Tensor": Tensor}, abstract=lambda w, x: w.truth(False)),
    _constant("shape", "t", "The lengths of the axes.", linear="t", value=_shape),
    _constant("rank", "t", "The number of axes.", linear="t", value=lambda t: float(array_of("rank", t).ndim)),
    _constant("size", "t", "The number of entries.", linear="t", value=lambda t: float(array_of("size", t).size)),
    _constant("dtype", "t", "The kind of number: float64, float32, int64, int32 or boolean.", _dtype),
    _row("as-type", "t dtype", "The same numbers as another kind.", linear="t", value=_as_type, forward="(broadcast-like dt r)",
         reverse={"t": "(sum-like (broadcast-like s r) t)"}),
    _constant("zeros", "dims dtype", "Zeros of a shape.", _filled("zeros", 0.0), keywords=_FLOAT64),
    _constant("ones", "dims dtype", "Ones of a shape.", _filled("ones", 1.0), keywords=_FLOAT64),
    _row("full", "dims x", "x in every entry of a shape.", _full, forward="(broadcast-like dx r)",
         reverse={"x": "(sum-like s x)"}),
    _constant("eye", "n", "The unit matrix of n rows.", _eye),
    _constant("arange", "stop start step", "start, start + step, … up to but without stop.", _arange,
              keywords={"start": 0.0, "step": 1.0}),
    _row("linspace", "a b n", "n numbers from a to b, at equal distances.", _linspace,
         forward="(broadcast-like (accumulate (* da (linspace 1 0 n)) (* db (linspace 0 1 n))) r)",
         reverse={"a": "(sum-like (* s (linspace 1 0 n)) a)", "b": "(sum-like (* s (linspace 0 1 n)) b)"}),
    # broadcasting and its transpose
    _row("sum-like", "x like", "x summed over the axes along which `like` was repeated.", _sum_like, hidden=True,
         python="x if like is FALSE else sum_like(x, like)", uses={"sum_like": _sum_like},
         type="any any -> number", forward="(sum-like dx like)", reverse={"x": "(broadcast-like s ~x)"},
         abstract=lambda w, x, like: x),
    _row("broadcast-like", "x like", "x repeated to the shape of `like`.", _broadcast_like, hidden=True,
         uses={"broadcast_like": _broadcast_like},
         python="x if like is FALSE or type(like) is float else broadcast_like(x, like)",
         type="any any -> number", forward="(broadcast-like dx like)", reverse={"x": "(sum-like s ~x)"},
         abstract=lambda w, x, like: x),
    _constant("shape-witness", "x result", "x, where it is not shaped like the result; else #f.", _shape_witness, hidden=True,
              python="FALSE if type(result) is float else shape_witness(x, result)", uses={"shape_witness": _shape_witness},
              abstract=lambda w, x, r: w.truth(False)),
    _row("reshape", "t dims", "The entries in their order as another shape; one length may be -1, the rest.",
         linear="t dims", value=_reshape,
         forward="(reshape dt dims)", reverse={"t": "(reshape s (shape t))"}),
    _row("transpose", "t axes", "The axes in another order; without one, backwards.",
         linear="t", value=_transpose, keywords={"axes": FALSE},
         forward="(transpose dt axes)", reverse={"t": "(transpose s (inverse-axes axes))"}),
    _constant("inverse-axes", "axes", "The order that undoes an order of axes.", _inverse_axes, hidden=True),
    _row("swap", "t", "The last two axes exchanged.",
         linear="t", value=_swap, hidden=True, forward="(swap dt)", reverse={"t": "(swap s)"}),
    _row("broadcast-to", "t dims", "The tensor repeated to a shape.",
         linear="t", value=_broadcast_to, forward="(broadcast-to dt dims)",
         reverse={"t": "(sum-like s t)"}),
    _row("concatenate", "ts axis", "A list of tensors, one behind the other along an axis.",
         linear="ts", value=_concatenate, keywords=_FIRST,
         forward="(concatenate (complete ts dts) axis)", reverse={"ts": "(split-like s ts axis)"}),
    _row("split-like", "x ts axis", "The inverse of concatenate.", linear="x ts", value=_split_like, hidden=True,
         forward="(split-like dx ts axis)", reverse={"x": "(concatenate (complete r s) axis)"}),
    _row("stack", "ts axis", "A list of tensors along a new axis.", linear="ts", value=_stack, keywords=_FIRST,
         forward="(stack (complete ts dts) axis)", reverse={"ts": "(unstack s axis)"}),
    _row("unstack", "t axis", "The list of the parts along an axis.", linear="t", value=_unstack, keywords=_FIRST,
         forward="(unstack dt axis)", reverse={"t": "(stack (complete r s) axis)"}),
    _row("split", "t n axis", "The list of n equal parts along an axis.", linear="t", value=_split, keywords=_FIRST,
         forward="(split dt n axis)", reverse={"t": "(concatenate (complete r s) axis)"}),
    _row("tensor-ref", "t index", "The entry at an index, or the part at fewer of them.", linear="t", value=_tensor_ref,
         forward="(tensor-ref dt index)", reverse={"t": "(tensor-put s t index)"}),
    _row("tensor-put", "x like index", "Zeros but at an index.", linear="x like", value=_tensor_put, hidden=True,
         forward="(tensor-put dx like index)", reverse={"x": "(tensor-ref s index)"}),
    _row("slice", "t start stop axis step", "The part from start up to stop along an axis.", linear="t", value=_slice,
         keywords={"axis": 0.0, "step": 1.0}, forward="(slice dt start stop axis step)",
         reverse={"t": "(unslice s t start stop axis step)"}),
    _row("unslice", "x like start stop axis step", "Zeros but in a slice.", linear="x like", value=_unslice, hidden=True,
         forward="(unslice dx like start stop axis step)", reverse={"x": "(slice s start stop axis step)"}),
    _row("gather", "t indices axis", "The parts at indices along an axis.", linear="t", value=_gather, keywords=_FIRST,
         forward="(gather dt indices axis)", reverse={"t": "(scatter-add (zero t) indices s axis)"}),
    _row("scatter-add", "t indices updates axis", "t, with updates added at indices along an axis.",
         linear="t", value=_scatter_add,
         keywords=_FIRST, forward="(scatter-add (complete t dt) indices (complete updates dupdates) axis)",
         reverse={"t": "s", "updates": "(gather s indices axis)"}),
    _row("where", "c a b", "a where c holds, else b.", _where, type="any number number -> number",
         python="(a if c == TRUE else b) if type(a) is type(b) is float and type(c) is Boolean else where(c, a, b)",
         uses={"where": _where, "Boolean": Boolean},
         forward="(broadcast-like (where c da db) r)",
         reverse={"a": "(sum-like (where c s zero) ~a)", "b": "(sum-like (where c zero s) ~b)"},
         abstract=_abstract_where),
    _row("sum", "t axis keep", "The sum of the entries.", linear="t", keywords=_REDUCED,
         value=_reduction("sum", lambda xp, a, axes, keep: xp.sum(a, axis=axes, keepdims=keep)),
         forward="(sum dt axis keep)", reverse={"t": "(spread s t axis)"}),
    _row("mean", "t axis keep", "The mean of the entries.", linear="t", keywords=_REDUCED,
         value=_reduction("mean", lambda xp, a, axes, keep: xp.mean(a, axis=axes, keepdims=keep), empty=False),
         forward="(mean dt axis keep)", reverse={"t": "(/ (spread s t axis) (/ (size t) (size r)))"}),
    _extreme("maximum", "The largest entry.", lambda xp, a, axes, keep: xp.max(a, axis=axes, keepdims=keep)),
    _extreme("minimum", "The least entry.", lambda xp, a, axes, keep: xp.min(a, axis=axes, keepdims=keep)),
    _constant("argmax", "t axis", "The index of the largest entry, the first of several.", _argmax,
              keywords={"axis": FALSE}),
    _row("spread", "x t axis", "What a reduction answered, repeated over what it reduced.",
         linear="x t", value=_spread, hidden=True,
         forward="(spread dx t axis)", reverse={"x": "(sum-like (sum s axis (same-rank x t)) x)"}),
    _constant("same-rank", "x t", "Have two tensors as many axes?", hidden=True,
              value=lambda x, t: boolean(type(x) is Tensor is type(t) and len(x.shape) == len(t.shape))),
    _row("logsumexp", "t axis keep", "log of the sum of exp, without overflow.", _reduction("logsumexp", _logsumexp, False),
         keywords=_REDUCED, forward="(sum (* (softmax t axis) dt) axis keep)",
         reverse={"t": "(* (spread s t axis) (softmax t axis))"}),
    _row("softmax", "t axis", "exp, divided by its sum along an axis.", keywords=_LAST,
         value=lambda t, axis: _shifted("softmax", t, axis, True),
         forward="(* r (- dt (sum (* r dt) axis #t)))", reverse={"t": "(* r (- s (sum (* r s) axis #t)))"}),
    _row("log-softmax", "t axis", "The logarithm of softmax.", keywords=_LAST,
         value=lambda t, axis: _shifted("log-softmax", t, axis, False),
         forward="(- dt (sum (* (exp r) dt) axis #t))", reverse={"t": "(- s (* (exp r) (sum s axis #t)))"}),
    _row("dot", "a b", "The inner product of two vectors.",
         linear="a b", value=_dot, forward="(accumulate (dot da b) (dot a db))",
         reverse={"a": "(sum-like (* s b) a)", "b": "(sum-like (* s a) b)"}),
    _row("matmul", "a b", "The product of matrices; a vector is a row on the left, a column on the right.",
         linear="a b", value=_matmul,
         forward="(accumulate (matmul da b) (matmul a db))",
         reverse={
             "a": """(let ((m (reshape s (product-dims a b))))
                (let ((g (matmul m (swap (reshape b (matrix-dims b #f))))))
                  (reshape (sum-like g (reshape a (matrix-dims a #t))) (shape a))))""",
             "b": """(let ((m (reshape s (product-dims a b))))
                (let ((g (matmul (swap (reshape a (matrix-dims a #t))) m)))
                  (reshape (sum-like g (reshape b (matrix-dims b #f))) (shape b))))""",
         }),
    _constant("matrix-dims", "t as-row", "The shape of a vector as a matrix.", linear="t", value=_matrix_dims, hidden=True),
    _constant("product-dims", "a b", "The shape of a product of matrices.", linear="a b", value=_product_dims, hidden=True),
    _row("outer", "a b", "The products of all entries of two vectors.", linear="a b", value=_outer,
         forward="(accumulate (outer da b) (outer a db))",
         reverse={"a": "(sum-like (matmul s b) a)", "b": "(sum-like (matmul a s) b)"}),
    _row("prod", "t axis keep", "The product of the entries; of one axis, or of all.", keywords=_REDUCED, linear="t",
         value=_reduction("prod", lambda xp, a, axes, keep: xp.prod(a, axis=axes, keepdims=keep), most_axes=1),
         forward=f"(let ((others {_OTHERS})) (sum (* others dt) axis keep))",
         reverse={"t": f"(let ((others {_OTHERS})) (* (spread s t axis) others))"}),
    _row("repeated", "t axis", "The tensor, with each entry of an axis replaced by all of them, on a new last axis.", _repeated,
         linear="t", hidden=True, forward="(repeated dt axis)", reverse={"t": "(gathered s axis)"}),
    _row("gathered", "x axis", "The transpose of repeated.", _gathered, linear="x", hidden=True,
         forward="(gathered dx axis)", reverse={"x": "(repeated s axis)"}),
    _constant("is-own", "t axis", "Where repeated has the entry itself.", _is_own, hidden=True, linear="t"),
    _row("norm", "t", "The square root of the sum of the squares.", forward="(/ (sum (* t dt) #f #f) (where (= r 0) 1 r))",
         value=_norm, reverse={"t": "(* s (/ t (where (= r 0) 1 r)))"}),
    _row("solve", "a b", "The x for which a x = b, a square matrix.", linear="b", value=_solve,
         forward="(solve a (complete r (accumulate db (negate (matmul da r)))))",
         reverse={"a": "(solve-slope (solve (swap a) s) r)", "b": "(solve (swap a) s)"}),
    _row("solve-slope", "g x", "Minus g times x transposed.", linear="g x", hidden=True, value=_solve_slope,
         forward="(accumulate (solve-slope dg x) (solve-slope g dx))",
         reverse={"g": "(negate (matmul s x))", "x": "(negate (matmul (swap s) g))"}),
    _row("inverse", "a", "The inverse of a square matrix.", _inverse, forward="(negate (matmul r (matmul da r)))",
         reverse={"a": "(negate (matmul (swap r) (matmul s (swap r))))"}),
]  # fmt: skip
