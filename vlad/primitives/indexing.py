"""The rows of tensors by index: entries, slices, gathering and scattering, choosing (arrays.py has the conventions).

The file is long because the rows of one subject stand in one table, with their rules for types.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from vlad.control.budget import expect_arrays
from vlad.core.extents import real_of
from vlad.core.loop_nests import Access, Kernel, Output, Read, Write, broadcast, contiguous, is_whole
from vlad.core.types import has_tangents, is_of_reals, is_real, is_tensor
from vlad.data.devices import add_at, device_of
from vlad.data.errors import Kind, VladError, unsuitable
from vlad.data.tensors import (
    SORT,
    Array,
    Tensor,
    made,
    namespace,
    numbers,
    operands_of,
    put,
    quiet,
    shape_text,
    together,
)
from vlad.data.values import FALSE, TRUE, ZERO, Boolean, Primitive, Value, look
from vlad.primitives.arrays import (
    FIRST,
    array_of,
    axis_of,
    first_entry,
    reshaped_to,
    row,
    whole,
)
from vlad.primitives.elementwise import different_devices, elementwise, is_elementwise
from vlad.primitives.numbers import invalid
from vlad.primitives.type_rules import (
    Shape,
    as_kind,
    as_number,
    broadcast_shape,
    conversion,
    copied,
    distance_between,
    entry_by_entry,
    is_number,
    kind_of,
    known,
    loops,
    output_of,
    provided,
    put_together,
    reduced,
    shape_of,
    unfit,
    within,
)

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine

# Errors of a computed index; an error about a constant index shows it.
OUT_OF_RANGE = {
    name: f"{'Label' if name == 'one-hot' else 'Index'} given to {name} is out of range"
    for name in ("tensor-ref", "tensor-set", "gather", "scatter-add", "one-hot")
} | {name: f"Slice given to {name} is out of range" for name in ("slice", "slice-set")}


def _place(name: str, array: Array, index: Value) -> tuple[Any, ...]:
    index = look(index)
    parts = []
    while type(index) is tuple and len(index) == 2:
        parts.append(index[0])
        index = look(index[1])
    if index != ():
        parts.append(index)
    place = tuple([whole(name, part, "an index") for part in parts])
    if len(place) > array.ndim:
        raise VladError(
            "out-of-range",
            f"Too many indices given to {name}: {len(place)}",
            hint=f"the tensor has rank {array.ndim}",
            name=name,
        )
    for number, length in zip(place, array.shape, strict=False):
        if not -length <= number < length:
            raise VladError(
                "out-of-range", f"Index given to {name} is out of range: {number}",
                hint=f"the tensor has the shape {shape_text(array.shape)}", name=name,
            )  # fmt: skip
    return place if len(place) == array.ndim else (*place, ...)


def _tensor_ref(t: Value, index: Value) -> Value:
    if type(t) is not Tensor:
        raise invalid("tensor-ref", "a tensor and indices", t, of=(Kind.TENSOR,))
    return made(t.array[_place("tensor-ref", t.like, index)])


def _tensor_put(x: Value, like: Value, index: Value) -> Value:
    if like is FALSE:  # the part was the whole
        return x
    place = _place("tensor-ref", like.like, index)
    return put(like, place, numbers(x))


def _abstract_ref(w: AbstractMachine, t: Any, index: Any) -> Any:
    if not is_tensor(t.type):
        return w.invalid("tensor-ref")
    shape = shape_of(t)
    places = _places(w, index)
    if len(places) > len(shape):
        return w.fail(f"Too many indices given to tensor-ref: {len(places)}")
    rest, inner = shape[len(places) :], contiguous(shape)[len(places) :]
    return _at(w, "tensor-ref", shape, places, lambda offset, at: _entries(w, t, offset, at, rest, inner))


def _places(w: AbstractMachine, index: Any) -> list[Any]:
    """The indices: a list, one index, or a list that ends in one."""
    places = []
    while index.type.kind == "pair":
        car, index = w.parts(index)
        places.append(car)
    return places if index.type.of == () else [*places, index]


def _at(
    w: AbstractMachine,
    name: str,
    shape: Shape,
    places: list[Any],
    rule: Callable[..., Any],
    is_tested: bool = True,
) -> Any:
    """Apply the rule to a position: a constant number of entries, and (stride, real) for each computed index. An index
    out of range is an error. `is_tested`: is it tested? A derivative's was, by the primal.
    """
    strides, offset, unknown = contiguous(shape), 0, []
    tests = []
    for place, length, stride in zip(places, shape, strides, strict=False):
        if not is_real(place.type):
            return w.invalid(name)
        if place.type.kind == "constant":
            number = whole(name, known(w, place), "an index")
            if not -length <= number < length:
                return w.fail(f"Index given to {name} is out of range: {number}")
            offset += number % length * stride
            continue
        table, zero, most = w.machine.table, w.constant(0.0), w.constant(real_of(length))
        from_end = w.apply(table["<"], [place, zero])
        place = w.apply(table["where"], [from_end, w.apply(table["+"], [place, most]), place])
        unknown.append((stride, place))
        tests += [
            w.apply(table["<="], [zero, place]),
            w.apply(table["<"], [place, most]),
            _is_whole(w, place),
        ]
    return provided(w, tests if is_tested else [], OUT_OF_RANGE[name], lambda: rule(offset, unknown))


def _is_whole(w: AbstractMachine, x: Any) -> Any:
    return w.apply(w.machine.table["="], [x, w.apply(w.machine.table["floor"], [x])])


def _entries(w: AbstractMachine, t: Any, offset: int, at: list[Any], shape: Shape, inner: Shape) -> Any:
    """The part of a tensor, of shape `shape`, at a position: with strides `inner`, from `offset` on, and further by (stride,
    real).
    """
    if not at:
        return copied(w, t, shape, Access(offset, inner))
    count = len(at)
    indirect = tuple([(number, stride) for number, (stride, _) in enumerate(at)])
    kind = t.type.of.kind
    part = Read(count, Access(offset, inner, indirect), kind)
    reads = (*[Read(number, None) for number in range(count)], part)
    size = math.prod(shape) if shape else None
    write = Write(0, count, Access(0, contiguous(shape)) if shape else None)
    kernel = Kernel(shape, reads, (), (Output(size, kind=kind),), (write,))
    return output_of(w, kernel, [*[place for _, place in at], t], shape, kind)


def _abstract_put(w: AbstractMachine, x: Any, like: Any, index: Any) -> Any:
    if like.type.of is FALSE:
        return x
    if not is_tensor(like.type):
        return unfit(w, x, ())
    if not has_tangents(like.type):
        return w.known_zero
    shape = shape_of(like)
    places = _places(w, index)
    rest, inner = shape[len(places) :], contiguous(shape)[len(places) :]
    return _at(
        w,
        "tensor-ref",
        shape,
        places,
        lambda offset, at: _put(w, x, shape, offset, at, rest, inner, like.type.of.kind),
        is_tested=False,
    )


def _put(
    w: AbstractMachine,
    x: Any,
    whole: Shape,
    offset: int,
    at: list[Any],
    shape: Shape,
    inner: Shape,
    kind: str,
) -> Any:
    """Zeros of a kind except at a position (as in `_entries`), which holds x."""
    if not is_number(x) or broadcast_shape([shape_of(x), shape]) != shape:
        return unfit(w, x, shape)
    missing = len(whole) - len(shape)
    if not at and 0 not in shape and inner == contiguous(whole)[missing:]:
        return put_together(w, whole, [(x, (*[1] * missing, *shape), _index(offset, whole))], kind=kind)
    count = len(at)
    indirect = tuple([(number, stride) for number, (stride, _) in enumerate(at)])
    own = broadcast(shape_of(x), shape) if is_tensor(x.type) else None
    steps = conversion(w, count, kind_of(x), kind)
    reads = (*[Read(number, None) for number in range(count)], Read(count, own, kind_of(x) or "float64"))
    write = Write(0, count + len(steps), Access(offset, inner, indirect))
    kernel = Kernel(shape, reads, tuple(steps), (Output(math.prod(whole), 0.0, kind=kind),), (write,))
    return w.loops(kernel, [*[place for _, place in at], x], [w.types.tensor(whole, kind)])[0]


# A tensor with a part replaced. Its reverse rules have that of the part first: it reads the sensitivity that the other changes,
# in place if nothing reads it later.


def _set_entry(t: Value, index: Value, x: Value) -> Value:
    if type(t) is not Tensor:
        raise invalid("tensor-set", "a tensor, indices and a number", t, of=(Kind.TENSOR,))
    return _replaced("tensor-set", t, _place("tensor-set", t.like, index), x)


def _set_slice(t: Value, start: Value, stop: Value, x: Value, axis: Value, step: Value) -> Value:
    if type(t) is not Tensor:
        raise invalid("slice-set", "a tensor, a slice and a number or tensor", t, of=(Kind.TENSOR,))
    cut = _cut("slice-set", t.shape, start, stop, axis, step)
    if type(x) is Tensor and len(x.shape) == len(
        t.shape
    ):  # compiled code has the length of the slice from it
        at = len(cut) - 1
        room = len(range(*cut[at].indices(t.shape[at])))
        if x.shape[at] != room:
            raise _no_room("slice-set", (*t.shape[:at], room, *t.shape[at + 1 :]), x.shape)
    return _replaced("slice-set", t, (*cut, ...), x)


def _no_room(name: str, room: Sequence[int], shape: Sequence[int]) -> VladError:
    return VladError(
        "wrong-shape", f"Shapes given to {name} do not fit: {shape_text(room)} and {shape_text(shape)}",
        hint="the part that is replaced has the first shape; the other is repeated to it", name=name,
    )  # fmt: skip


def _replaced(name: str, t: Tensor, place: tuple[Any, ...], x: Value) -> Value:
    """A copy with another part, which is repeated along missing axes."""
    array = t.array
    part: Any = 0.0 if x is ZERO else _part(name, x, t)
    if type(part) is not float and not together(array, part):
        raise different_devices(name, array, part)
    xp, sorts = namespace(array), {SORT[array.dtype], "f" if type(part) is float else SORT[part.dtype]}
    keeps = SORT[array.dtype] == "f" or len(sorts) == 1 or not sorts & {"f", "b"}
    kind = array.dtype if keeps else xp.float64
    room = array[place].shape
    if type(part) is not float and broadcast_shape([part.shape, room]) != room:
        raise _no_room(name, room, part.shape)
    expect_arrays(1, array.size)
    total = xp.astype(array, kind)  # a copy
    with quiet():
        total[place] = part if type(part) is float else xp.astype(part, kind, copy=False)
    return made(total)


def _part(name: str, x: Value, t: Tensor) -> Any:
    if type(x) is Boolean:
        return device_of(t.like).asarray(x is TRUE) if SORT[t.like.dtype] == "b" else float(x is TRUE)
    return x if type(x) is float else array_of(name, x, t.like)


def _abstract_set_entry(w: AbstractMachine, t: Any, index: Any, x: Any) -> Any:
    if not is_tensor(t.type):
        return w.invalid("tensor-set")
    shape = shape_of(t)
    places = _places(w, index)
    if len(places) > len(shape):
        return w.fail(f"Too many indices given to tensor-set: {len(places)}")
    rest, inner = shape[len(places) :], contiguous(shape)[len(places) :]

    def replaced(offset: int, at: list[Any]) -> Any:
        return with_part(w, "tensor-set", x, t, offset, at, rest, inner)

    return _at(w, "tensor-set", shape, places, replaced)


def _abstract_set_slice(
    w: AbstractMachine, t: Any, start: Any, stop: Any, x: Any, axis: Any, step: Any
) -> Any:
    if not is_tensor(t.type):
        return w.invalid("slice-set")

    def replaced(offset: int, at: list[Any], own: Shape, inner: Shape) -> Any:
        along = axis_of("slice-set", known(w, axis), len(own))
        if is_tensor(x.type) and len(shape_of(x)) == len(own) and shape_of(x)[along] != own[along]:
            return w.misfit("slice-set", own, shape_of(x))
        return with_part(w, "slice-set", x, t, offset, at, own, inner)

    part = x if is_tensor(x.type) else None
    return _cut_out(w, "slice-set", shape_of(t), part, (start, stop, axis, step), replaced)


def with_part(
    w: AbstractMachine, name: str, x: Any, t: Any, offset: int, at: list[Any], shape: Shape, inner: Shape
) -> Any:
    """A tensor with another part at a position (as in `_entries`)."""
    if x.type.of is ZERO:
        x = w.constant(0.0)
    if x.type.head == "boolean":
        x, more = as_number(w, x), "bool" if t.type.of.kind == "bool" else "float64"
    elif is_number(x):
        more = kind_of(x) or "float64"
    else:
        return w.invalid(name)
    if broadcast_shape([shape_of(x), shape]) != shape:
        return w.misfit(name, shape, shape_of(x))
    kind = t.type.of.kind
    if not has_tangents(t.type) and kind != more and ("bool" in (kind, more) or is_of_reals(more)):
        kind = "float64"
    count = len(at)
    indirect = tuple([(number, stride) for number, (stride, _) in enumerate(at)])
    own = broadcast(shape_of(x), shape) if is_tensor(x.type) else None
    steps = conversion(w, count, kind_of(x), kind)
    reads = (*[Read(number, None) for number in range(count)], Read(count, own, kind_of(x) or "float64"))
    write = Write(0, count + len(steps), Access(offset, inner, indirect))
    output = Output(math.prod(shape_of(t)), None, count + 1, kind)
    kernel = Kernel(shape, reads, tuple(steps), (output,), (write,))
    operands = [*[place for _, place in at], x, as_kind(w, t, kind)]
    return w.loops(kernel, operands, [w.types.tensor(shape_of(t), kind)])[0]


def _cut(name: str, shape: Shape, start: Value, stop: Value, axis: Value, step: Value) -> tuple[slice, ...]:
    at = axis_of(name, axis, len(shape))
    begin, end, by = [whole(name, x, "a bound or step") for x in (start, stop, step)]
    length = shape[at]
    if not 0 <= begin <= end <= length or by < 1:
        raise VladError(
            "out-of-range", f"Slice given to {name} is out of range: from {begin} to {end} by {by}",
            hint=f"axis {at} has the length {length}: 0 <= start <= stop <= {length}, and a step is 1 or more", name=name,
        )  # fmt: skip
    return (*[slice(None)] * at, slice(begin, end, by))


def _slice(t: Value, start: Value, stop: Value, axis: Value, step: Value) -> Value:
    array = array_of("slice", t)
    return made(array[(*_cut("slice", array.shape, start, stop, axis, step), ...)])


def _unslice(x: Value, like: Value, start: Value, stop: Value, axis: Value, step: Value) -> Value:
    return put(like, (*_cut("slice", like.shape, start, stop, axis, step), ...), numbers(x))


def _slice_like(t: Value, part: Value, start: Value, stop: Value, axis: Value, step: Value) -> Value:
    return _slice(t, start, stop, axis, step)


def _cut_out(
    w: AbstractMachine, name: str, shape: Shape, part: Any, bounds: Sequence[Any], rule: Callable[..., Any]
) -> Any:
    """Apply the rule to a slice: its offset, (stride, real) for a computed start, its shape and strides.

    If bounds are computed, the length must be known all the same: because their distance is constant, or because
    the slice is as long as the `part` that derivatives have of it. The program checks at run time that it is.
    """
    if all(w.types.canonical(bound.type).kind == "constant" for bound in bounds):
        cut = _cut(name, shape, *[known(w, bound) for bound in bounds])
        at = len(cut) - 1
        begin, end, by = cut[at].start, cut[at].stop, cut[at].step
        own, inner = _every(shape, at, (end - begin + by - 1) // by, by)
        return rule(begin * contiguous(shape)[at], [], own, inner)
    start, stop, axis, step = bounds
    at, by = axis_of(name, known(w, axis), len(shape)), whole(name, known(w, step), "a bound or step")
    if not is_real(start.type) or not is_real(stop.type) or by < 1:
        return w.invalid(name)
    distance = distance_between(start, stop)
    if distance is not None:
        count = max(distance + by - 1, 0) // by
    elif part is not None and len(shape_of(part)) == len(shape):
        count = shape_of(part)[at]
    else:
        apply: Callable[..., Any] = w.apply
        steps = apply(
            w.machine.table["/"], [apply(w.machine.table["-"], [stop, start]), w.constant(real_of(by))]
        )
        length = w.length_of_number(apply(w.machine.table["ceiling"], [steps]))
        if length is None:
            return w.unbounded(
                "the length of a slice is known only when the program runs",
                for_number=True,
                hint="where the end is the beginning plus a constant, as in (slice t i (+ i 32)), it is known",
            )
        count = length
    table, constant = w.machine.table, w.constant
    difference = w.apply(table["-"], [stop, start])
    tests = [
        w.apply(table["<="], [constant(0.0), start]), w.apply(table["<="], [start, stop]),
        w.apply(table["<="], [stop, constant(real_of(shape[at]))]), _is_whole(w, start),
    ]  # fmt: skip
    if distance is not None:
        tests.append(w.apply(table["="], [difference, constant(real_of(distance))]))
    else:
        tests += [
            w.apply(table["<"], [constant(real_of((count - 1) * by)), difference]),
            w.apply(table["<="], [difference, constant(real_of(count * by))]), _is_whole(w, stop),
        ]  # fmt: skip
    own, inner = _every(shape, at, count, by)
    places = [(contiguous(shape)[at], start)]
    return provided(w, tests, OUT_OF_RANGE[name], lambda: rule(0, places, own, inner))


def _every(shape: Shape, axis: int, count: int, by: int) -> tuple[Shape, Shape]:
    """The shape of `count` parts along an axis at a distance of `by`, and their strides in the whole."""
    own, strides = list(shape), list(contiguous(shape))
    own[axis] = count
    strides[axis] *= by
    return tuple(own), tuple(strides)


def _abstract_slice(w: AbstractMachine, t: Any, *bounds: Any) -> Any:
    return _abstract_slice_like(w, t, None, *bounds)


def _abstract_slice_like(w: AbstractMachine, t: Any, part: Any, *bounds: Any) -> Any:
    def cut(offset: int, at: list[Any], own: Shape, inner: Shape) -> Any:
        return _entries(w, t, offset, at, own, inner)

    if part is not None and not is_number(part):  # it was the whole
        part = t
    return _cut_out(w, "slice", shape_of(t), part, bounds, cut)


def _abstract_unslice(w: AbstractMachine, x: Any, like: Any, *bounds: Any) -> Any:
    if is_tensor(like.type) and not has_tangents(like.type):
        return w.known_zero
    shape = shape_of(like)

    def put_back(offset: int, at: list[Any], own: Shape, inner: Shape) -> Any:
        return _put(w, x, shape, offset, at, own, inner, kind_of(like) or "float64")

    return _cut_out(w, "slice", shape, x, bounds, put_back)


def _index(offset: int, shape: Shape) -> Shape:
    """The index of the entry at an offset."""
    found = []
    for stride in contiguous(shape):
        place, offset = divmod(offset, stride)
        found.append(place)
    return tuple(found)


def _indices(name: str, array: Array, indices: Value, axis: int) -> Array:
    found = array_of(name, indices, array)
    if not together(array, found):
        raise different_devices(name, array, found)
    xp, length = namespace(array), array.shape[axis]
    if SORT[found.dtype] == "f":
        expect_arrays(1.5, found.size)
        is_broken = ~xp.isfinite(found) | (xp.floor(found) != found)
        if bool(xp.any(is_broken)):
            raise unsuitable(name, "indices are whole numbers", (first_entry(found, is_broken),))
    elif SORT[found.dtype] not in "iu":
        raise invalid(name, "whole numbers as indices", indices)
    expect_arrays(0.4, found.size)
    is_outside = (found < -length) | (found >= length)
    if bool(xp.any(is_outside)):
        raise VladError(
            "out-of-range", OUT_OF_RANGE[name], irritants=(first_entry(found, is_outside),),
            hint=f"axis {axis} of the tensor of shape {shape_text(array.shape)} has the length {length}", name=name,
        )  # fmt: skip
    if SORT[found.dtype] != "f":
        return found
    expect_arrays(1, found.size)
    return xp.astype(found, xp.int64)


def _gather(t: Value, indices: Value, axis: Value) -> Value:
    array = array_of("gather", t)
    at = axis_of("gather", axis, array.ndim)
    xp, found = namespace(array), _indices("gather", array, indices, at)
    # NumPy copies read-only indices
    expect_arrays(1, found.size + math.prod(_gathered_shape(array, found, at)))
    taken = xp.take(array, found if found.ndim == 1 else reshaped_to(found, (-1,)), axis=at)
    return made(taken if found.ndim == 1 else xp.reshape(taken, _gathered_shape(array, found, at)))


def _gathered_shape(array: Array, indices: Array, axis: int) -> tuple[int, ...]:
    return (*array.shape[:axis], *indices.shape, *array.shape[axis + 1 :])


def _abstract_indices(
    w: AbstractMachine, name: str, indices: Any, length: int, rule: Callable[..., Any]
) -> Any:
    """Apply the rule to the indices, counted from the start; an index out of range of this axis is an error."""
    if not is_number(indices) or kind_of(indices) == "bool":
        return w.invalid(name)
    table, zero, most = w.machine.table, w.constant(0.0), w.constant(real_of(length))

    def from_start(places: Any) -> Any:
        later = w.apply(table["+"], [places, most])
        return rule(w.apply(table["where"], [w.apply(table["<"], [places, zero]), later, places]))

    return whole_places(w, OUT_OF_RANGE[name], indices, -length, length, from_start)


def whole_places(
    w: AbstractMachine, error: str, places: Any, least: int, end: int, rule: Callable[..., Any]
) -> Any:
    """Apply the rule to whole numbers in [least, end); any other number is an error."""
    table, shape = w.machine.table, shape_of(places)
    tests = within(w, places, real_of(least), real_of(end))
    if tests and not is_whole(kind_of(places) or "float64"):
        rest = w.apply(table["abs"], [w.apply(table["-"], [places, w.apply(table["floor"], [places])])])
        largest = reduced(w, rest, range(len(shape)), False, "max") if shape else rest
        tests.append(w.apply(table["="], [largest, w.constant(0.0)]))
    return provided(w, tests, error, lambda: rule(places))


def _along(shape: Shape, chosen: Shape, at: int) -> tuple[Shape, Access, Access]:
    """For parts chosen along an axis: the shape of all, the access of the indices, and of the parts, where `at` is the first
    read.
    """
    whole = (*shape[:at], *chosen, *shape[at + 1 :])
    strides, rest = contiguous(shape), len(shape) - at - 1
    index = Access(0, (*[0] * at, *contiguous(chosen), *[0] * rest))
    return (
        whole,
        index,
        Access(0, (*strides[:at], *[0] * len(chosen), *strides[at + 1 :]), ((0, strides[at]),)),
    )


def _abstract_gather(w: AbstractMachine, t: Any, indices: Any, axis: Any) -> Any:
    shape = shape_of(t)
    at = axis_of("gather", known(w, axis), len(shape))

    def parts(places: Any) -> Any:
        whole, index, part = _along(shape, shape_of(places), at)
        accesses = [index if is_tensor(places.type) else None, part]
        return loops(w, whole, [places, t], accesses, whole)

    return _abstract_indices(w, "gather", indices, shape[at], parts)


def _abstract_scatter(w: AbstractMachine, t: Any, indices: Any, updates: Any, axis: Any) -> Any:
    if updates.type.of is ZERO:
        return t
    shape = shape_of(t)
    at = axis_of("scatter-add", known(w, axis), len(shape))
    if not is_tensor(t.type) or not is_number(updates):
        return w.invalid("scatter-add")
    kind, more = t.type.of.kind, kind_of(updates) or "float64"
    if not has_tangents(t.type) and ("bool" in (kind, more) or is_of_reals(more)):
        kind = "float64"

    def added(places: Any) -> Any:
        whole, index, part = _along(shape, shape_of(places), at)
        if shape_of(updates) != whole:
            return w.misfit("scatter-add", whole, shape_of(updates))
        own = Access(0, contiguous(whole)) if is_tensor(updates.type) else None
        place = Read(0, index if is_tensor(places.type) else None, kind_of(places) or "float64")
        steps = conversion(w, 1, more, kind)
        outputs = (Output(math.prod(shape), None, 2, kind),)
        kernel = Kernel(
            whole, (place, Read(1, own, more)), tuple(steps), outputs, (Write(0, 1 + len(steps), part, "+"),)
        )
        return w.loops(kernel, [places, updates, as_kind(w, t, kind)], [w.types.tensor(shape, kind)])[0]

    return _abstract_indices(w, "scatter-add", indices, shape[at], added)


def _scatter_add(t: Value, indices: Value, updates: Value, axis: Value) -> Value:
    if updates is ZERO:
        return t
    array = array_of("scatter-add", t)
    at = axis_of("scatter-add", axis, array.ndim)
    found, more = _indices("scatter-add", array, indices, at), array_of("scatter-add", updates, array)
    if not together(array, more):
        raise different_devices("scatter-add", array, more)
    xp, parts = namespace(array), _gathered_shape(array, found, at)
    sorts = (SORT[array.dtype], SORT[more.dtype])
    kind = array.dtype if sorts[0] == "f" or not set("fb") & set(sorts) else xp.float64
    if more.shape != parts:
        raise VladError(
            "wrong-shape",
            f"Shapes given to scatter-add do not fit: {shape_text(parts)} and {shape_text(more.shape)}",
            hint="the updates have the shape that `gather` returns for these indices", name="scatter-add",
        )  # fmt: skip
    in_a_row = reshaped_to(more, (*array.shape[:at], found.size, *array.shape[at + 1 :]))
    expect_arrays(1, array.size + (more.size if more.dtype != kind else 0))
    total = xp.astype(array, kind)  # a copy
    with quiet():
        add_at(total, at, reshaped_to(found, (-1,)), xp.astype(in_a_row, kind, copy=False))
    return made(total)


def _where(c: Value, a: Value, b: Value) -> Value:
    if a is ZERO is b:
        return ZERO
    if c is TRUE or c is FALSE:
        chosen = a if c is TRUE else b
        if {type(a), type(b)} <= {float, type(ZERO)} or _is_beside_zero(a, b):
            return chosen
        c = 1.0 if c is TRUE else 0.0
    operands = (c, a, b)
    if not is_elementwise(operands):
        raise invalid(
            "where",
            "a boolean or a tensor of them, and two reals or tensors",
            *operands,
            of=(Kind.REAL, Kind.TENSOR),
        )
    return elementwise("where", _chosen, _choice, operands, _choice_of)


def _is_beside_zero(a: Value, b: Value) -> bool:
    """Whether one is the known zero and the other a tensor of reals, as in a sensitivity: a choice by one boolean keeps that
    zero.
    """
    return any(x is ZERO and type(y) is Tensor and y.is_real for x, y in ((a, b), (b, a)))


def _choice_of(operands: Sequence[Value]) -> Sequence[Any]:
    """The arrays and floats to choose by and from; the condition may be of any kind."""
    c = operands[0]
    return [c.array if type(c) is Tensor else numbers(c), *operands_of(operands[1:])]


def _chosen(c: float, a: float, b: float) -> float:
    return a if c else b


def _choice(xp: Any, c: Any, a: Array | float, b: Array | float) -> Array:
    """The same of arrays and reals; the standard requires two arrays, the condition and one more."""
    there = device_of(next(x for x in (c, a, b) if type(x) is not float))
    test = there.asarray(c != 0) if type(c) is float else c if SORT[c.dtype] == "b" else c != 0
    return xp.where(test, there.asarray(a) if type(a) is type(b) is float else a, b)


def _abstract_where(w: AbstractMachine, c: Any, a: Any, b: Any) -> Any:
    """A choice of existing values: the result's type is that of the chosen one. Of tensors entry by entry."""

    def of_one(c: Any) -> Any:
        if is_tensor(c.type) or (is_boolean(c) and (is_tensor(a.type) or is_tensor(b.type))):
            return w.each(a, lambda a: w.each(b, lambda b: chosen(c, a, b), "b"), "a")
        if not is_boolean(c):
            return w.invalid("where")
        return picked(c, a, b)

    def picked(c: Any, a: Any, b: Any) -> Any:
        if c.type.kind == "constant":
            return a if c.type.of is TRUE else b
        return w.branch((w.key, "where"), c, lambda: a, lambda: b, False)

    def is_boolean(c: Any) -> bool:
        return bool(c.type.kind == "boolean" or type(c.type.of) is Boolean)

    def chosen(c: Any, a: Any, b: Any) -> Any:
        """A constant condition may choose between shapes, too: then it counts as a number."""
        if a.type.of is ZERO is b.type.of:
            return w.known_zero
        if is_boolean(c) and is_beside_zero(a, b):
            return picked(c, a, b)
        if not is_number(a) or not is_number(b):
            return w.invalid("where")
        return entry_by_entry(w, w.machine.table["where"], [as_number(w, c), a, b])

    def is_beside_zero(a: Any, b: Any) -> bool:
        return any(
            x.type.of is ZERO and has_tangents(y.type) and is_tensor(y.type) for x, y in ((a, b), (b, a))
        )

    for number in (a, b):
        type_ = w.types.canonical(number.type)
        if type_.kind != "union" and not is_number(number) and type_.of is not ZERO:
            return w.invalid("where")
    return w.each(c, of_one)


ROWS: list[Primitive] = [
    row("tensor-ref", "t index",
        "The entry at an index, or the part at fewer of them.\n(tensor-ref #[[1 2] [3 4]] 1 0)  ⇒ 3\n"
        "(tensor-ref #[[1 2] [3 4]] 1)  ⇒ #[3 4]", linear="t", value=_tensor_ref,
         abstract=_abstract_ref,
         forward="(tensor-ref dt index)", reverse={"t": "(tensor-put s ~t index)"}),
    row("tensor-put", "x like index", "Zeros except at an index.", linear="x like", value=_tensor_put, hidden=True,
         abstract=_abstract_put,
         forward="(tensor-put dx like index)", reverse={"x": "(tensor-ref s index)"}),
    row("slice", "t start stop axis step",
        "The part from start up to stop, exclusive, along an axis.\n(slice #[10 20 30 40] 1 3)  ⇒ #[20 30]\n"
        "(slice #[10 20 30 40] 0 4 #:step 2)  ⇒ #[10 30]", linear="t", value=_slice,
         abstract=_abstract_slice,
         keywords={"axis": 0.0, "step": 1.0}, forward="(slice dt start stop axis step)",
         reverse={"t": "(unslice s t start stop axis step)"}),
    row("unslice", "x like start stop axis step", "Zeros except in a slice.", linear="x like", value=_unslice, hidden=True,
         abstract=_abstract_unslice,
         forward="(unslice dx like start stop axis step)",
         reverse={"x": "(slice-like s x start stop axis step)"}),
    row("slice-like", "t part start stop axis step", "A slice that is as long as a part.", linear="t", value=_slice_like,
         abstract=_abstract_slice_like, hidden=True, forward="(slice-like dt part start stop axis step)",
         reverse={"t": "(unslice s t start stop axis step)"}),
    row("set-entry", "t index x", "t with x at an index.", linear="t", value=_set_entry, hidden=True,
         abstract=_abstract_set_entry,
         forward="(set-entry (complete t dt) index (complete x dx))",
         reverse={"x": "(sum-like (tensor-ref s index) ~x)", "t": "(set-entry s index zero)"}),
    row("slice-set", "t start stop x axis step",
        "The tensor with x in the part from start up to stop, exclusive, along an axis: the part that `slice` returns. x is "
        "repeated to it.\n"
        "(slice-set #[10 20 30 40] 1 3 #[0 1])  ⇒ #[10 0 1 40]\n"
        "(slice-set (zeros '(2 3)) 0 3 1 #:axis 1 #:step 2)  ⇒ #[[1 0 1] [1 0 1]]", linear="t", value=_set_slice,
         abstract=_abstract_set_slice,
         keywords={"axis": 0.0, "step": 1.0}, forward="(slice-set (complete t dt) start stop (complete x dx) axis step)",
         reverse={"x": "(sum-like (slice-like s ~x start stop axis step) ~x)",
                  "t": "(slice-set s start stop zero axis step)"}),
    row("gather", "t indices axis",
        "The parts at indices along an axis.\n(gather #[10 20 30] #[2 0 2])  ⇒ #[30 10 30]",
        linear="t", value=_gather,
         abstract=_abstract_gather, keywords=FIRST,
         forward="(gather dt indices axis)", reverse={"t": "(scatter-add (zero t) indices s axis)"}),
    row("scatter-add", "t indices updates axis",
        "t, with updates added at indices along an axis.\n"
        "(scatter-add #[0 0 0] #[2 0 2] #[1 2 3])  ⇒ #[2 0 4]",
         linear="t", value=_scatter_add, abstract=_abstract_scatter,
         keywords=FIRST, forward="(scatter-add (complete t dt) indices (complete updates dupdates) axis)",
         reverse={"t": "s", "updates": "(gather s indices axis)"}),
    row("where", "c a b",
        "a where c is true, else b.\n(where (> #[-1 2 -3] 0) #[1 1 1] 0)  ⇒ #[0 1 0]\n(where #t 1 2)  ⇒ 1",
        _where, type="any number number -> number",
         python="(a if c == TRUE else b) if type(a) is type(b) is float and type(c) is Boolean else where(c, a, b)",
         uses={"where": _where, "Boolean": Boolean},
         forward="(broadcast-like (where c da db) r)",
         reverse={"a": "(sum-like (where c s zero) ~a)", "b": "(sum-like (where c zero s) ~b)"},
         abstract=_abstract_where, c="{c} != 0 ? {a} : {b}"),
]  # fmt: skip
