"""The rows of tensors: predicates, construction, broadcasting (arrays.py has the conventions).

The file is long because the rows of one subject stand in one table, with their rules for types.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from vlad.control.budget import expect_array, expect_arrays, expect_bytes
from vlad.core.extents import Extent, real_of
from vlad.core.loop_nests import SIZES, Access, Kernel, Output, Read, Step, Write, contiguous, is_whole, start
from vlad.core.types import has_tangents, is_real, is_tensor
from vlad.data.devices import current, device_named, device_of, moved, name_of, outline_of
from vlad.data.errors import Kind, VladError
from vlad.data.tensors import (
    SORT,
    Array,
    Tensor,
    dtype_name,
    in_one_array,
    kind_name,
    made,
    namespace,
    numbers,
    on_host,
    quiet,
    shape_text,
    together,
)
from vlad.data.values import FALSE, NIL, TRUE, ZERO, Boolean, Primitive, String, Value, list_of, look, symbol
from vlad.primitives.arrays import (
    MOST_AXES,
    MOST_ENTRIES,
    array_of,
    constant,
    dimensions,
    dtype_of,
    elements,
    first_entry,
    kind_text,
    length_of,
    named_kind,
    part_at,
    repeated_like,
    row,
    too_many_axes,
)
from vlad.primitives.data import boolean, constant_row
from vlad.primitives.elementwise import different_devices, unlike
from vlad.primitives.numbers import invalid
from vlad.primitives.open_lists import element_of, is_open, list_of_parts, stacked_open, unstacked_open
from vlad.primitives.shaping import stacked
from vlad.primitives.type_rules import (
    are_alike,
    as_kind,
    broadcast_shape,
    copied,
    filled,
    is_number,
    kind_of,
    known,
    known_lengths,
    list_parts,
    loops,
    provided,
    reduced,
    repeated,
    reshaped,
    shape_of,
    unfit,
    within,
)

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine


def tensor_of(data: Value) -> Value:
    return made(_stacked(data))


BYTES_LISTED = 128  # memory of an entry in a list, and in the Python list from which it is made


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
        raise invalid(
            "tensor", "numbers, booleans, tensors, and lists of such", data, of=(Kind.TENSOR, Kind.LIST)
        )
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
                hint="all parts of a tensor have one shape", name="tensor",
            )  # fmt: skip
        if not together(arrays[0], array):
            raise different_devices("tensor", arrays[0], array)
    expect_array((len(arrays), *arrays[0].shape))  # parts may be the same object
    return namespace(arrays[0]).stack(in_one_array(arrays))


def _abstract_tensor(w: AbstractMachine, data: Any) -> Any:
    """Reals are stored in a new array one by one; parts that are tensors, one after the other."""
    if is_open(w, data):
        return stacked_open(w, data, 0)
    parts = list_parts(w, data)
    if parts is None:
        return data if is_number(data) or data.type.head == "boolean" else w.invalid("tensor")
    tensors = [
        _abstract_tensor(w, part) if part.type.kind != "constant" or not is_real(part.type) else part
        for part in parts
    ]
    if None in tensors:
        return None
    return stacked(w, "tensor", tensors, 0)


def _part(w: AbstractMachine, t: Any, index: int) -> Any:
    """The part at an index of the first axis."""
    rest = shape_of(t)[1:]
    return copied(w, t, rest, Access(index * math.prod(rest), contiguous(rest)))


def _abstract_parts(w: AbstractMachine, x: Any, data: Any) -> Any:
    if is_open(w, data):
        fits = is_tensor(x.type) and shape_of(x)[1:] == element_of(w, data)[0]
        return unstacked_open(w, x, 0) if fits else unfit(w, x, ())
    parts = list_parts(w, data)
    if parts is None:
        return data if data.type.head == "boolean" else x
    shape = shape_of(x)
    if shape[:1] != (len(parts),):
        return unfit(w, x, (len(parts),))
    result = w.constant(NIL)
    for index in reversed(range(len(parts))):
        result = w.pair(_abstract_parts(w, _part(w, x, index), parts[index]), result)
    return result


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

    array = array_of("tensor->list", t)
    expect_array(array.shape, BYTES_LISTED)
    return nested(on_host(array).tolist())


def _abstract_to_list(w: AbstractMachine, t: Any) -> Any:
    if not is_number(t):
        return w.invalid("tensor->list")
    return _listed(w, t)


def _listed(w: AbstractMachine, t: Any) -> Any:
    """The entries, which may be booleans, as nested lists."""
    shape = shape_of(t)
    if not shape:
        return t
    if not w.is_listed(math.prod(shape)):
        return unstacked_open(w, t, 0, ENTRIES)
    result = w.constant(NIL)
    for index in reversed(range(shape[0])):
        result = w.pair(_listed(w, _part(w, t, index)), result)
    return result


ENTRIES = list_of_parts("tensor->list", _listed)


def _filled(name: str) -> Callable[..., Value]:
    def value(dims: Value, dtype: Value) -> Value:
        return made(current().make(name, dimensions(name, dims), dtype=dtype_of(name, dtype, current().xp)))

    return value


def _full(dims: Value, x: Value) -> Value:
    if type(x) is not float:
        raise invalid("full", "a real", x, of=(Kind.REAL,))
    return made(current().make("full", dimensions("full", dims), x))


def _eye(n: Value) -> Value:
    length_of("eye", n)
    rows, _ = dimensions("eye", list_of([n, n]))
    return made(current().make("eye", rows))


def _arange(stop: Value, start: Value, step: Value) -> Value:
    _entries_of_range(stop, start, step)
    return made(current().make("arange", start, stop, step))


def _entries_of_range(stop: Value, start: Value, step: Value) -> int:
    """The number of entries of `arange`, as NumPy counts them. Raises VladError, or NoRoom if there is no memory for them."""
    if Extent in (type(stop), type(start), type(step)):
        if not step > 0:
            return _entries_of_range(float(stop), float(start), float(step))
        return max(stop - start + step - 1, 0) // step  # type: ignore[no-any-return]  # of extents, too
    if not type(stop) is type(start) is type(step) is float:
        raise invalid("arange", "reals", stop, start, step, of=(Kind.REAL,))
    if step == 0 or not abs((stop - start) / step) < MOST_ENTRIES:
        raise VladError(
            "out-of-range",
            "Range given to arange has no end",
            hint="its step leads to its end",
            name="arange",
        )
    count = max(0, math.ceil((stop - start) / step))
    expect_array((count,))
    return count


def _linspace(a: Value, b: Value, n: Value) -> Value:
    if type(a) is not float or type(b) is not float:
        raise invalid("linspace", "two reals and a number of points", a, b, n, of=(Kind.REAL,))
    count = length_of("linspace", n)
    expect_arrays(2, count)
    w = current().make("arange", float(count)) / max(count - 1, 1)
    with quiet():
        points = 1 - w
        points *= a
        w *= b
        points += w
        return made(points)


def _is_real(x: Value) -> bool:
    return type(x) is Tensor and x.is_real


def _list_of_lengths(shape: Sequence[int]) -> Value:
    return list_of([float(length) for length in shape])


def _shape(t: Value) -> Value:
    return _list_of_lengths(t.shape if type(t) is Tensor else array_of("shape", t).shape)


def _of_number(name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    """A type rule for a tensor or a real."""
    return lambda w, t: rule(w, t) if is_number(t) else w.invalid(name)


def _abstract_dtype(w: AbstractMachine, t: Any) -> Any:
    return w.constant(symbol(dtype_name(kind_of(t) or "float64")))


def _abstract_filled(name: str, number: float) -> Callable[..., Any]:
    def rule(w: AbstractMachine, dims: Any, dtype: Any) -> Any:
        return filled(w, dimensions(name, known_lengths(w, dims)), number, named_kind(name, known(w, dtype)))

    return rule


def _abstract_full(w: AbstractMachine, dims: Any, x: Any) -> Any:
    if not is_real(x.type):
        return w.invalid("full")
    return repeated(w, x, dimensions("full", known_lengths(w, dims)))


def _abstract_eye(w: AbstractMachine, n: Any) -> Any:
    count = length_of("eye", known_lengths(w, n))
    one = Write(0, 0, Access(0, (count + 1,)))
    kernel = Kernel((count,), (Read(0, None),), (), (Output(count * count, 0.0),), (one,))
    return w.loops(kernel, [w.constant(1.0)], [w.types.tensor((count, count))])[0]


def _abstract_arange(w: AbstractMachine, stop: Any, start: Any, step: Any) -> Any:
    """start + i·step, with NumPy's step: the difference of the first two entries."""
    first, distance = known(w, start), known(w, step)
    count = _entries_of_range(known_lengths(w, stop), first, distance)
    return _counted(w, count, start, w.constant(first + distance - first))


def _counted(w: AbstractMachine, count: int, start: Any, step: Any) -> Any:
    reads = (Read(None, Access(0, (1,))), Read(0, None), Read(1, None))
    table = w.machine.table
    steps = (Step(table["*"], (0, 2)), Step(table["+"], (1, 3)))
    kernel = Kernel((count,), reads, steps, (Output(count),), (Write(0, 4, Access(0, (1,))),))
    return w.loops(kernel, [start, step], [w.types.tensor((count,))])[0]


def _abstract_linspace(w: AbstractMachine, a: Any, b: Any, n: Any) -> Any:
    """a·(1 - w) + b·w for w = i / (n - 1)."""
    if not is_real(a.type) or not is_real(b.type):
        return w.invalid("linspace")
    count, table = length_of("linspace", known_lengths(w, n)), w.machine.table
    steps = (
        Step(table["/"], (0, 1)), Step(table["-"], (2, 5)), Step(table["*"], (3, 6)), Step(table["*"], (4, 5)),
        Step(table["+"], (7, 8)),
    )  # fmt: skip
    reads = (Read(None, Access(0, (1,))), *[Read(index, None) for index in range(4)])
    kernel = Kernel((count,), reads, steps, (Output(count),), (Write(0, 9, Access(0, (1,))),))
    operands = [w.constant(real_of(max(count - 1, 1))), w.constant(1.0), a, b]
    return w.loops(kernel, operands, [w.types.tensor((count,))])[0]


def _dtype(t: Value) -> Value:
    return symbol(dtype_name(kind_name(array_of("dtype", t).dtype)))


NO_INTEGER = "A value given to as-type is no {}"


def _as_type(t: Value, dtype: Value) -> Value:
    array = array_of("as-type", t)
    xp = namespace(array)
    kind, name = dtype_of("as-type", dtype, xp), kind_text(dtype)
    with quiet():
        if is_whole(name) and array.size and SORT[array.dtype] != "b":
            extremes = xp.stack([xp.min(array), xp.max(array)])  # nan where one is
            if bool(xp.any(_outside(extremes, kind))):
                expect_arrays(2, array.size)
                is_outside = _outside(array, kind)
                raise VladError(
                    "out-of-range", NO_INTEGER.format(name), irritants=(first_entry(array, is_outside),),
                    hint=f"{name} holds the whole numbers from {xp.iinfo(kind).min} to {xp.iinfo(kind).max}", name="as-type",
                )  # fmt: skip
        expect_bytes(float(array.size) * SIZES[named_kind("as-type", dtype)])
        return made(xp.astype(array, kind))


def _outside(array: Array, kind: Any) -> Array:
    """Whether each number, truncated, is out of range of a kind of integers."""
    xp = namespace(array)
    low, high = xp.iinfo(kind).min, xp.iinfo(kind).max
    if SORT[array.dtype] == "f":
        cut = xp.trunc(array)
        return ~((cut >= float(low)) & (cut < float(high) + 1.0))  # also true for nan
    own = xp.iinfo(array.dtype)
    return (array < max(low, own.min)) | (array > min(high, own.max))


def _device(x: Value) -> Value:
    return String(name_of(x.like if type(x) is Tensor else array_of("device", x)))


def _to_device(x: Value, device: Value) -> Value:
    if type(device) is not String:
        raise invalid(
            "to-device", "a tensor and the name of a device as a string", x, device, of=(Kind.TENSOR,)
        )
    target = device_named(device.text)
    array = array_of("to-device", x)
    return Tensor(moved(array, target)) if type(x) is Tensor else x


def _device_like(x: Value, like: Value) -> Value:
    return Tensor(moved(x.array, device_of(like.like))) if type(x) is type(like) is Tensor else x


def _inside(w: AbstractMachine, t: Any, kind: str) -> list[Any]:
    """Tests whether all numbers, truncated if it is a kind of integers, are in the range of a kind."""
    own = kind_of(t) or "float64"
    if not is_whole(kind) or own in ("bool", "int32"):
        return []
    cut = t if is_whole(own) else w.apply(w.machine.table["truncate"], [t])
    return within(w, cut, float(start("max", kind)), start("min", kind) + 1.0)


def _abstract_as_type(w: AbstractMachine, t: Any, dtype: Any) -> Any:
    kind, shape = named_kind("as-type", known(w, dtype)), shape_of(t)
    if not is_number(t):
        return w.invalid("as-type")
    if kind == (kind_of(t) or "float64"):
        return t
    own = Access(0, contiguous(shape)) if shape else None
    if kind != "bool":
        return provided(
            w,
            _inside(w, t, kind),
            NO_INTEGER.format(kind),
            lambda: loops(w, shape, [t], [own], shape, kind=kind),
        )
    numbers, steps = [w.constant(1.0), w.constant(0.0)], [(w.machine.table["where"], (0, 1, 2))]
    return loops(w, shape, [t, *numbers], [own, None, None], shape, steps=steps, kind=kind)


def _abstract_sum_like(w: AbstractMachine, x: Any, like: Any) -> Any:
    if like.type.of is ZERO or (is_tensor(like.type) and not has_tangents(like.type)):
        return w.known_zero
    if like.type.head == "boolean" or is_real(x.type):  # a witness that may be #f counts as true
        return x
    whole, shape = shape_of(x), shape_of(like)
    if not is_number(x) or broadcast_shape([whole, shape]) != whole:
        return unfit(w, x, shape)
    missing = len(whole) - len(shape)
    axes = [i for i, length in enumerate(whole) if i < missing or (shape[i - missing] == 1 != length)]
    total = reduced(w, x, axes, True, "+") if axes else x
    return as_kind(w, reshaped(w, total, shape), kind_of(like) if shape else None)


def _abstract_broadcast_like(w: AbstractMachine, x: Any, like: Any) -> Any:
    if like.type.of is ZERO or x.type.of is ZERO:
        return w.known_zero
    if not is_tensor(like.type):
        return x
    if not has_tangents(like.type):
        return w.known_zero
    return x if are_alike(x, like) else repeated(w, x, shape_of(like), kind_of(like))


def _abstract_witness(w: AbstractMachine, x: Any, r: Any) -> Any:
    if x.type.of is ZERO:
        return x
    return w.truth(False) if are_alike(x, r) else x


def _sum_like(x: Value, like: Value) -> Value:
    """The transpose of broadcasting: sums over repeated axes, of the kind of `like`; ZERO if `like` has no tangents."""
    if like is ZERO or (type(like) is Tensor and not like.is_real):
        return ZERO
    if like is FALSE or x is ZERO or type(x) is float:
        return x
    array, shape = array_of("sum-like", x), like.shape if type(like) is Tensor else ()
    if array.shape != shape:
        expect_array(shape)
        with quiet():
            array = _summed(array, shape)
        if array.shape != shape:
            raise unlike("sum-like", (x, like))
    if type(like) is Tensor and array.dtype != like.like.dtype:
        with quiet():
            array = namespace(array).astype(array, like.like.dtype)
    return made(array)


def _summed(array: Array, shape: Sequence[int]) -> Array:
    """The sums over the axes along which this shape was broadcast."""
    xp = namespace(array)
    if array.ndim > len(shape):
        array = xp.sum(array, axis=tuple(range(array.ndim - len(shape))))
    repeated = tuple([i for i, length in enumerate(shape) if length == 1 != array.shape[i]])
    return xp.sum(array, axis=repeated, keepdims=True) if repeated else array


def _shape_witness(x: Value, r: Value) -> Value:
    """The shape that the reverse phase needs to undo broadcasting: mostly none; for the known zero, one that receives nothing."""
    if x is ZERO:
        return ZERO
    if type(x) is type(r) is Tensor and x.shape == r.shape and x.like.dtype == r.like.dtype:
        return FALSE
    return outline_of(x) if type(x) is Tensor else x if type(r) is Tensor else FALSE


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


_FLOAT64: dict[str, Value] = {"dtype": symbol("float64")}


ROWS: list[Primitive] = [
    row("tensor", "data",
        "The tensor of nested lists of one shape.\n(tensor '((1 2) (3 4)))  ⇒ #[[1 2] [3 4]]",
        linear="data", value=tensor_of, abstract=_abstract_tensor,
         forward="(tensor (complete data ddata))", reverse={"data": "(tensor-parts s data)"}),
    row("tensor-parts", "x data", "The inverse of tensor.", linear="x data", value=_tensor_parts, hidden=True,
         abstract=_abstract_parts,
         forward="(tensor-parts dx data)", reverse={"x": "(tensor (complete r s))"}),
    row("tensor->list", "t",
        "The entries as nested lists.\n(tensor->list #[[1 2] [3 4]])  ⇒ ((1 2) (3 4))",
        linear="t", value=_tensor_to_list,
         abstract=_abstract_to_list, forward="(tensor->list dt)",
         reverse={"t": "(reshape-like (tensor (complete r s)) t)"}),
    constant_row("tensor?", "x",
        "Is x a tensor?\n(tensor? #[1 2])  ⇒ #t\n(tensor? '(1 2))  ⇒ #f",
        lambda x: boolean(type(x) is Tensor), "any -> boolean",
                 python="type(x) is Tensor", uses={"Tensor": Tensor},
                 abstract=lambda w, x: w.each(x, lambda x: w.truth(is_tensor(x.type)))),
    constant_row("real-tensor?", "x",
        "Is x a tensor of reals, which has derivatives?\n(real-tensor? #[1 2])  ⇒ #t\n"
        "(real-tensor? (as-type #[1 2] 'int64))  ⇒ #f",
                 lambda x: boolean(_is_real(x)), "any -> boolean", python="is_real(x)", uses={"is_real": _is_real},
                 abstract=lambda w, x: w.each(x, lambda x: w.truth(is_tensor(x.type) and has_tangents(x.type)))),
    constant("shape", "t", "The lengths of the axes.\n(shape #[[1 2 3] [4 5 6]])  ⇒ (2 3)", linear="t", value=_shape,
              abstract=_of_number("shape", lambda w, t: w.value(list_of(list(map(real_of, shape_of(t))))))),
    constant("rank", "t",
        "The number of axes.\n(rank #[[1 2] [3 4]])  ⇒ 2",
        linear="t", value=lambda t: float(array_of("rank", t).ndim),
              abstract=_of_number("rank", lambda w, t: w.constant(float(len(shape_of(t)))))),
    constant("size", "t",
        "The number of entries.\n(size #[[1 2 3] [4 5 6]])  ⇒ 6",
        linear="t", value=lambda t: float(array_of("size", t).size),
              abstract=_of_number("size", lambda w, t: w.constant(real_of(math.prod(shape_of(t)))))),
    constant("dtype", "t",
        "The kind of number: float64, float32, int64, int32 or boolean.\n(dtype #[1 2])  ⇒ float64", _dtype,
              abstract=_of_number("dtype", _abstract_dtype)),
    row("as-type", "t dtype",
        "The same numbers as another kind.\n(as-type #[1.7 -1.7] 'int64)  ⇒ #<tensor int64 [1 -1]>",
        linear="t", value=_as_type, abstract=_abstract_as_type,
         forward="(broadcast-like dt r)",
         reverse={"t": "(sum-like (broadcast-like s r) t)"}),
    constant("device", "x",
        "The name of the device that a tensor is on.\n(device #[1 2])  ⇒ \"cpu\"", linear="x", value=_device),
    row("to-device", "x device",
        "The tensor on the device of a name.\n(to-device #[1 2] \"cpu\")  ⇒ #[1 2]", linear="x", value=_to_device,
         forward="(to-device dx device)", reverse={"x": "(device-like s x)"}),
    row("device-like", "x like", "x on the device of another tensor.", linear="x like", value=_device_like, hidden=True,
         forward="(device-like dx like)", reverse={"x": "(device-like s x)"}),
    constant("zeros", "dims dtype",
        "Zeros of a shape.\n(zeros '(2 3))  ⇒ #[[0 0 0] [0 0 0]]\n"
        "(zeros 2 #:dtype 'int64)  ⇒ #<tensor int64 [0 0]>", _filled("zeros"), keywords=_FLOAT64,
              abstract=_abstract_filled("zeros", 0.0)),
    constant("ones", "dims dtype", "Ones of a shape.\n(ones 3)  ⇒ #[1 1 1]", _filled("ones"), keywords=_FLOAT64,
              abstract=_abstract_filled("ones", 1.0)),
    row("full", "dims x", "x in every entry of a shape.\n(full '(2 2) 7)  ⇒ #[[7 7] [7 7]]", _full,
        abstract=_abstract_full,
        forward="(broadcast-like dx r)",
         reverse={"x": "(sum-like s x)"}),
    constant("eye", "n", "The unit matrix of n rows.\n(eye 2)  ⇒ #[[1 0] [0 1]]", _eye, abstract=_abstract_eye),
    constant("arange", "stop start step",
        "start, start + step, … up to stop, exclusive.\n(arange 4)  ⇒ #[0 1 2 3]\n"
        "(arange 10 #:start 4 #:step 2)  ⇒ #[4 6 8]", _arange,
              keywords={"start": 0.0, "step": 1.0}, abstract=_abstract_arange),
    row("linspace", "a b n",
        "n evenly spaced numbers from a to b.\n(linspace 0 1 5)  ⇒ #[0 0.25 0.5 0.75 1]", _linspace,
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
]  # fmt: skip
