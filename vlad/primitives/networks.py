"""The rows of neural networks: convolution and pooling of images, one-hot classes (arrays.py has the conventions).

Images have the axes (number of images, channels, height, width), filters (channels out, channels in, height, width); pooling
takes any leading axes. The windows over an image are `patches` of it: one strided slice for each position in the window, so the
array library does all work. Patches are linear, and so are the three sums of products of an image, filters and the
sensitivity of their convolution, each of which is the derivative of the others.

The file is long because the rows of one subject stand in one table, with their rules for types.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from vlad.control.budget import expect_array
from vlad.core.loop_nests import Access, Kernel, Output, Read, Step, Write, contiguous
from vlad.data.devices import device_named, device_of
from vlad.data.errors import VladError, unsuitable
from vlad.data.tensors import SORT, Array, Tensor, made, numbers, operands_of, quiet, shape_text
from vlad.data.values import FALSE, Primitive, String, Symbol, Value, look
from vlad.primitives.arrays import (
    array_of,
    constant,
    elements,
    first_entry,
    length_of,
    lengths_of,
    reals,
    row,
    whole,
)
from vlad.primitives.elementwise import library
from vlad.primitives.indexing import OUT_OF_RANGE, whole_places
from vlad.primitives.numbers import invalid
from vlad.primitives.products import product
from vlad.primitives.type_rules import (
    Shape,
    as_numbers,
    as_reals,
    copied,
    is_number,
    kind_of,
    known,
    known_lengths,
    loops,
    put_together,
    result_kind,
    shape_of,
)

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine

Pair = tuple[int, int]


class Axis(NamedTuple):
    """The windows along an axis of an image.

    padding     entries added before and behind the axis
    starts      number of windows; positions of one window are `dilation` apart, windows `stride`
    """

    length: int
    window: int
    stride: int
    dilation: int
    padding: Pair
    starts: int

    def places(self, offset: int) -> slice:
        """The entries of the padded axis that the windows have at an offset."""
        first = offset * self.dilation
        return slice(
            first, first + (self.starts - 1) * self.stride + 1 if self.starts else first, self.stride
        )

    @property
    def padded(self) -> int:
        return self.length + sum(self.padding)


def _pair(name: str, value: Value, what: str, least: int) -> Pair:
    """Two whole numbers, for height and width, or one for both."""
    hint = f"{what} is a whole number from {least} on, or a list of two: for the height and the width"
    wrong = unsuitable(name, hint, (value,))
    value = look(value)
    if type(value) is not float and type(value) is not tuple:
        raise wrong
    parts = [value, value] if type(value) is float else elements(name, value)
    found = [whole(name, part, what) for part in parts]
    if len(found) != 2 or min(found) < least:
        raise wrong
    return found[0], found[1]


def _paddings(name: str, padding: Value, axes: list[tuple[int, int, int, int]]) -> list[Pair]:
    """For each axis (its length, and window, stride, dilation): the padding before and behind it."""
    if type(padding) is Symbol and padding.name in ("same", "valid"):
        if padding.name == "valid":
            return [(0, 0)] * len(axes)
        missing = [
            max((-(-length // stride) - 1) * stride + (window - 1) * dilation + 1 - length, 0)
            for length, window, stride, dilation in axes
        ]
        return [(number // 2, number - number // 2) for number in missing]
    if type(padding) is Symbol or type(padding) is String:
        raise unsuitable(name, "the padding is 'valid, 'same, a whole number, or a list of two", (padding,))
    return [(number, number) for number in _pair(name, padding, "the padding", 0)]


def _axes(
    name: str, shape: tuple[int, ...], window: Pair, stride: Value, padding: Value, dilation: Value
) -> list[Axis]:
    """The windows over the last two axes."""
    strides, dilations = _pair(name, stride, "the stride", 1), _pair(name, dilation, "the dilation", 1)
    given = list(zip(shape[-2:], window, strides, dilations, strict=True))
    found = []
    pads = _paddings(name, padding, given)
    for what, (length, size, step, spacing), pad in zip(("height", "width"), given, pads, strict=True):
        room = length + sum(pad) - (size - 1) * spacing - 1
        if room < 0:
            raise VladError(
                "wrong-shape", f"Window given to {name} does not fit: {shape_text(window)} in {shape_text(shape[-2:])}",
                hint=f"the {what} of the image with its padding is {length + sum(pad)}, and a window needs "
                f"{(size - 1) * spacing + 1}" + (f" with a dilation of {spacing}" if spacing > 1 else ""), name=name,
            )  # fmt: skip
        found.append(Axis(length, size, step, spacing, pad, room // step + 1))
    return found


def _patches_of(xp: Any, x: Array, axes: list[Axis], fill: float, along: int = -3) -> Array:
    """The windows of each image: (…, windows down, windows across), with the positions in the window along an axis."""
    height, width = axes
    expect_array((*x.shape[:-2], height.padded, width.padded))
    expect_array((*x.shape[:-2], height.window * width.window, height.starts, width.starts))
    padded = x
    if any(sum(axis.padding) for axis in axes):
        padded = device_of(x).make("full", (*x.shape[:-2], height.padded, width.padded), fill, dtype=x.dtype)
        padded[(..., *_inside(axes))] = x
    return xp.stack([padded[(..., *place)] for place in _offsets(axes)], axis=along)


def _unpatched(y: Array, axes: list[Axis]) -> Array:
    """The transpose: the entries of the windows, added up in images."""
    total = _with_room(y, y.shape[:-3], axes)
    _add_patches(total, slice(None), y, axes)
    return total[(..., *_inside(axes))]


def _with_room(like: Array, leading: tuple[int, ...], axes: list[Axis]) -> Array:
    """Zeros for images with their padding."""
    shape = (*leading, axes[0].padded, axes[1].padded)
    expect_array(shape)
    return device_of(like).make("zeros", shape, dtype=like.dtype)


def _add_patches(total: Array, part: slice, y: Array, axes: list[Axis]) -> None:
    """Add the windows of a part of the images; a single image has no axis for that."""
    first = () if total.ndim == 2 else (part,)
    for number, place in enumerate(_offsets(axes)):
        total[(*first, ..., *place)] += y[..., number, :, :]


def _offsets(axes: list[Axis]) -> list[tuple[slice, slice]]:
    height, width = axes
    return [(height.places(i), width.places(j)) for i in range(height.window) for j in range(width.window)]


def _inside(axes: list[Axis]) -> list[slice]:
    """The image within its padding."""
    return [slice(axis.padding[0], axis.padding[0] + axis.length) for axis in axes]


# Convolution. `x` is an image, `w` are filters, `s` is of the shape of their convolution; each of the three rules computes
# one of them from the other two.


class Convolution(NamedTuple):
    """The geometry of a convolution, from the shapes of an image and of filters."""

    images: int
    groups: int
    channels: int  # of an image, in a group
    filters: int  # in a group
    axes: list[Axis]

    @property
    def places(self) -> int:
        return self.channels * self.axes[0].window * self.axes[1].window

    @property
    def windows(self) -> Pair:
        return self.axes[0].starts, self.axes[1].starts


def _misfit(x: tuple[int, ...], w: tuple[int, ...], groups: int) -> str:
    """Why images and filters of these shapes cannot be convolved; '' if they can."""
    if len(x) != 4 or len(w) != 4:
        return (
            f"images have 4 axes, (number, channels, height, width), and here {len(x)}; "
            f"filters (channels out, channels in, height, width), and here {len(w)}"
        )
    if x[1] != w[1] * groups:
        divided = f" divided by the {groups} groups" if groups > 1 else ""
        return f"the channels of the images, axis 1, are {x[1]}{divided}; those that a filter takes, its axis 1, are {w[1]}"
    return f"{w[0]} filters, axis 0, cannot be divided into {groups} groups" if w[0] % groups else ""


def _convolution(x: tuple[int, ...], w: tuple[int, ...], geometry: tuple[Value, ...]) -> Convolution:
    stride, padding, dilation, groups = geometry
    parts = whole("conv2d", groups, "the number of groups")
    if parts < 1:
        raise unsuitable("conv2d", "the number of groups is a whole number from 1 on", (groups,))
    hint = _misfit(x, w, parts)
    if hint:
        raise VladError(
            "wrong-shape",
            f"Shapes given to conv2d do not fit: {shape_text(x)} and {shape_text(w)}",
            hint=hint,
            name="conv2d",
        )
    if not w[2] * w[3]:
        raise VladError(
            "wrong-shape",
            f"Filters given to conv2d are empty: {shape_text(w)}",
            hint="they have entries",
            name="conv2d",
        )
    axes = _axes("conv2d", x, (w[2], w[3]), stride, padding, dilation)
    return Convolution(x[0], parts, w[1], w[0] // parts, axes)


def _columns(xp: Any, x: Array, by: Convolution) -> Array:
    """The windows of each image as columns of a matrix, by group."""
    return xp.reshape(
        _windows(xp, x, by.axes), (x.shape[0], by.groups, by.places, by.windows[0] * by.windows[1])
    )


def _windows(xp: Any, x: Array, axes: list[Axis], along: int = -3) -> Array:
    """As `_patches_of`; of windows of one entry a part of the image."""
    return x[(..., *_offsets(axes)[0])] if _are_entries(axes) else _patches_of(xp, x, axes, 0.0, along)


def _are_entries(axes: list[Axis]) -> bool:
    """Is each window one entry of the image?"""
    return all(axis.window == 1 and not any(axis.padding) for axis in axes)


def _rows(xp: Any, w: Array, by: Convolution) -> Array:
    """Each filter as the row of a matrix, by group."""
    return xp.reshape(w, (by.groups, by.filters, by.places))


def _result_rows(xp: Any, s: Array, by: Convolution) -> Array:
    return xp.reshape(s, (s.shape[0], by.groups, by.filters, by.windows[0] * by.windows[1]))


AT_A_TIME = 1 << 17  # entries of windows: a processor's cache still has them when they are multiplied


def _parts(by: Convolution) -> list[slice]:
    """Some images at a time."""
    each = max(AT_A_TIME // max(by.groups * by.places * by.windows[0] * by.windows[1], 1), 1)
    return [slice(first, min(first + each, by.images)) for first in range(0, max(by.images, 1), each)]


def _joined(xp: Any, parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)


def _conv2d(x: Value, w: Value, *geometry: Value) -> Value:
    images, filters = array_of("conv2d", x), array_of("conv2d", w)
    by = _convolution(images.shape, filters.shape, geometry)
    xp = library("conv2d", x, w)
    with quiet():
        images, filters = operands_of((x, w))
        rows = _rows(xp, filters, by)
        found = [product(xp, rows, _columns(xp, images[part, ...], by)) for part in _parts(by)]
        return made(xp.reshape(_joined(xp, found), (by.images, by.groups * by.filters, *by.windows)))


def _conv2d_images(s: Value, w: Value, like: Value, *geometry: Value) -> Value:
    """The transpose of a convolution with respect to its images, which have the shape of `like`."""
    results, filters = operands_of((s, w))
    shape = lengths_of(like)
    by = _convolution(shape, filters.shape, geometry)
    xp = library("conv2d", s, w)
    columns, places = xp.matrix_transpose(_rows(xp, filters, by)), by.axes[0].window * by.axes[1].window
    are_all, total, found = _are_entries(by.axes) and all(axis.stride == 1 for axis in by.axes), None, []
    with quiet():
        for part in _parts(by):
            products = product(xp, columns, _result_rows(xp, results[part, ...], by))
            windows = (products.shape[0], by.groups * by.channels, places, *by.windows)
            patches = xp.reshape(products, windows)
            if are_all:
                found.append(patches[..., 0, :, :])
                continue
            total = _with_room(patches, shape[:2], by.axes) if total is None else total
            _add_patches(total, part, patches, by.axes)
    return made(_joined(xp, found) if total is None else total[(..., *_inside(by.axes))])


def _conv2d_filters(s: Value, x: Value, like: Value, *geometry: Value) -> Value:
    """The transpose with respect to its filters, which have the shape of `like`: over all windows of some images at once."""
    results, images = operands_of((s, x))
    shape = lengths_of(like)
    by = _convolution(images.shape, shape, geometry)
    xp = library("conv2d", s, x)
    results, total = _result_rows(xp, results, by), None
    with quiet():
        for part in _parts(by):
            by_group = xp.permute_dims(results[part, ...], (1, 2, 0, 3))
            flat = by_group.shape[2] * by_group.shape[3]
            by_channel = xp.permute_dims(images[part, ...], (1, 0, 2, 3))
            columns = xp.reshape(_windows(xp, by_channel, by.axes, 1), (by.groups, by.places, flat))
            found = product(
                xp, xp.reshape(by_group, (by.groups, by.filters, flat)), xp.matrix_transpose(columns)
            )
            total = found if total is None else total + found
        return made(xp.reshape(total, shape))


# The same as loops: windows are not materialised, but iterate over an image with its padding.


def _with_padding(w: AbstractMachine, x: Any, axes: list[Axis], fill: float = 0.0) -> Any:
    """Images with the padding of the windows."""
    shape, (height, width) = shape_of(x), axes
    if not any(sum(axis.padding) for axis in axes):
        return x
    room = (*shape[:-2], height.padded, width.padded)
    first = (*[0] * len(shape[:-2]), height.padding[0], width.padding[0])
    return put_together(w, room, [(x, shape, first)], fill)


def _without_padding(w: AbstractMachine, x: Any, axes: list[Axis]) -> Any:
    shape, (height, width) = shape_of(x), axes
    first = height.padding[0] * width.padded + width.padding[0]
    return copied(w, x, (*shape[:-2], height.length, width.length), Access(first, contiguous(shape)))


def _turns(by: Convolution) -> tuple[Shape, Access, Access, Access]:
    """The loops of a convolution: over images, groups, filters, windows down and across, channels, positions down and across; and
    the accesses of the images (with their padding), the filters and the results.
    """
    height, width = by.axes
    extents = (by.images, by.groups, by.filters, *by.windows, by.channels, height.window, width.window)
    line, plane = width.padded, height.padded * width.padded
    image = (
        by.groups * by.channels * plane, by.channels * plane, 0, height.stride * line, width.stride, plane,
        height.dilation * line, width.dilation,
    )  # fmt: skip
    filter_ = (0, by.filters * by.places, by.places, 0, 0, height.window * width.window, width.window, 1)
    result = (*contiguous((by.images, by.groups, by.filters, *by.windows)), 0, 0, 0)
    return extents, Access(0, image), Access(0, filter_), Access(0, result)


def _abstract_conv2d(w: AbstractMachine, x: Any, f: Any, *geometry: Any) -> Any:
    by = _convolution(shape_of(x), shape_of(f), tuple([known(w, part) for part in geometry]))
    extents, image, filter_, result = _turns(by)
    shape = (by.images, by.groups * by.filters, *by.windows)
    operands = [_with_padding(w, as_numbers(w, x), by.axes), f]
    return _summed(w, extents, operands, [image, filter_], shape, result)


def _abstract_images(w: AbstractMachine, s: Any, f: Any, like: Any, *geometry: Any) -> Any:
    shape = shape_of(like)
    by = _convolution(shape, shape_of(f), tuple([known(w, part) for part in geometry]))
    extents, image, filter_, result = _turns(by)
    room = (*shape[:2], *[axis.padded for axis in by.axes])
    return _without_padding(w, _summed(w, extents, [s, f], [result, filter_], room, image), by.axes)


def _abstract_filters(w: AbstractMachine, s: Any, x: Any, like: Any, *geometry: Any) -> Any:
    shape = shape_of(like)
    by = _convolution(shape_of(x), shape, tuple([known(w, part) for part in geometry]))
    extents, image, filter_, result = _turns(by)
    operands = [s, _with_padding(w, as_numbers(w, x), by.axes)]
    return _summed(w, extents, operands, [result, image], shape, filter_)


def _summed(
    w: AbstractMachine,
    extents: Shape,
    operands: list[Any],
    accesses: list[Access],
    shape: Shape,
    write: Access,
) -> Any:
    steps = [(w.machine.table["*"], (0, 1))]
    return loops(w, extents, operands, accesses, shape, steps=steps, write=write, combine="+", fill=0.0)


def _window_turns(shape: Shape, axes: list[Axis]) -> tuple[Shape, Access]:
    """The loops of a pool: over the leading axes, windows down and across, positions down and across; and the access of
    images of this shape, with their padding.
    """
    height, width = axes
    line, plane = width.padded, height.padded * width.padded
    extents = (*shape[:-2], height.window, width.window, height.starts, width.starts)
    lead = tuple([stride * plane for stride in contiguous(shape[:-2])])
    strides = (height.dilation * line, width.dilation, height.stride * line, width.stride)
    return extents, Access(0, (*lead, *strides))


def _geometry(w: AbstractMachine, name: str, shape: Shape, geometry: tuple[Any, ...]) -> list[Axis]:
    return _pooling(name, shape, *[known(w, part) for part in geometry])


def _results_of(extents: Shape) -> tuple[Shape, Access]:
    """The shape of a pool's results, and their access in its loops."""
    shape = (*extents[:-4], *extents[-2:])
    strides = contiguous(shape)
    return shape, Access(0, (*strides[:-2], 0, 0, *strides[-2:]))


def _abstract_max_pool(w: AbstractMachine, x: Any, *geometry: Any) -> Any:
    axes = _geometry(w, "max-pool", shape_of(x), geometry)
    extents, image = _window_turns(shape_of(x), axes)
    shape, result = _results_of(extents)
    padded = _with_padding(w, as_reals(w, x), axes, -math.inf)
    return loops(w, extents, [padded], [image], shape, write=result, combine="max")


def _abstract_patches(w: AbstractMachine, x: Any, fill: Any, *geometry: Any) -> Any:
    axes = _geometry(w, "max-pool", shape_of(x), geometry)
    extents, image = _window_turns(shape_of(x), axes)
    shape = (*extents[:-4], extents[-4] * extents[-3], *extents[-2:])
    padded = _with_padding(w, as_reals(w, x), axes, float(known(w, fill)))
    return loops(w, extents, [padded], [image], shape, write=Access(0, contiguous(extents)))


def _abstract_unpatched(w: AbstractMachine, y: Any, like: Any, *geometry: Any) -> Any:
    shape = shape_of(like)
    axes = _geometry(w, "max-pool", shape, geometry)
    extents, image = _window_turns(shape, axes)
    return _unpooled(w, y, Access(0, contiguous(extents)), shape, axes, extents, image)


def _unpooled(
    w: AbstractMachine, y: Any, read: Access, shape: Shape, axes: list[Axis], extents: Shape, image: Access
) -> Any:
    room = (*shape[:-2], *[axis.padded for axis in axes])
    total = loops(w, extents, [as_numbers(w, y)], [read], room, write=image, combine="+", fill=0.0)
    return _without_padding(w, total, axes)


def _counted(w: AbstractMachine, like: Any, axes: list[Axis]) -> Any:
    """The number of entries of the image in each window, of the kind of a tensor."""
    there, kind = device_named(w.machine.device), like.type.of.kind
    expect_array((axes[0].starts, axes[1].starts))
    down, across = [there.asarray(list(_entries(axis)), getattr(there.xp, kind)) for axis in axes]
    return w.value(Tensor(down[:, None] * across[None, :]))


def _abstract_avg_pool(w: AbstractMachine, x: Any, *geometry: Any) -> Any:
    axes = _geometry(w, "avg-pool", shape_of(x), geometry)
    extents, image = _window_turns(shape_of(x), axes)
    shape, result = _results_of(extents)
    padded = _with_padding(w, as_numbers(w, x), axes)
    kind = result_kind(w.machine.table["sum"].value, (kind_of(padded),), -1.0, FALSE)
    total = loops(w, extents, [padded], [image], shape, write=result, combine="+", fill=0.0, kind=kind)
    return w.apply(w.machine.table["/"], [total, _counted(w, total, axes)])


def _abstract_unpool(w: AbstractMachine, s: Any, like: Any, *geometry: Any) -> Any:
    shape = shape_of(like)
    axes = _geometry(w, "avg-pool", shape, geometry)
    extents, image = _window_turns(shape, axes)
    s = as_numbers(w, s)
    shares = w.apply(w.machine.table["/"], [s, _counted(w, s, axes)])
    return _unpooled(w, shares, _results_of(extents)[1], shape, axes, extents, image)


def _abstract_one_hot(w: AbstractMachine, labels: Any, n: Any) -> Any:
    count, shape = length_of("one-hot", known_lengths(w, n)), shape_of(labels)
    if not is_number(labels) or kind_of(labels) == "bool":
        return w.by_value(OUT_OF_RANGE["one-hot"])

    def of_places(places: Any) -> Any:
        room = (*shape, count)
        own = Access(0, (*contiguous(shape), 0)) if shape else None
        entry = Access(0, (*[0] * len(shape), 1))
        kernel = Kernel(
            room, (Read(0, own, kind_of(places) or "float64"), Read(None, entry)), (Step(w.machine.table["="], (0, 1)),),
            (Output(math.prod(room)),), (Write(0, 2, Access(0, contiguous(room))),),
        )  # fmt: skip
        return w.loops(kernel, [places], [w.types.tensor(room)])[0]

    return whole_places(w, OUT_OF_RANGE["one-hot"], labels, 0, count, of_places)


# Pooling.


def _pooling(name: str, shape: tuple[int, ...], window: Value, stride: Value, padding: Value) -> list[Axis]:
    """The windows of a pool, each of which must contain an entry of the image."""
    if len(shape) < 2:
        raise VladError(
            "wrong-shape", f"Shape given to {name} is too short: {shape_text(shape)}",
            hint=f"{name} takes a height and a width as last axes", name=name,
        )  # fmt: skip
    size = _pair(name, window, "the window", 1)
    if stride is FALSE:
        stride = window
    axes = _axes(name, shape, size, stride, padding, 1.0)
    if any(max(axis.padding) >= axis.window for axis in axes):
        hint = "the padding is less than the window, so that each window has an entry"
        raise unsuitable(name, hint, (padding,))
    return axes


def _max_pool(x: Value, *geometry: Value) -> Value:
    xp, array = library("max-pool", x), array_of("max-pool", x)
    axes = _pooling("max-pool", array.shape, *geometry)
    return made(xp.max(_patches_of(xp, reals(array), axes, -xp.inf), axis=-3))


def _pool_patches(x: Value, fill: Value, *geometry: Value) -> Value:
    xp, array = library("max-pool", x), array_of("max-pool", x)
    axes = _pooling("max-pool", array.shape, *geometry)
    return made(_patches_of(xp, reals(array), axes, float(fill)))


def _pool_unpatched(y: Value, like: Value, *geometry: Value) -> Value:
    axes = _pooling("max-pool", lengths_of(like), *geometry)
    return made(_unpatched(numbers(y), axes))


def _avg_pool(x: Value, *geometry: Value) -> Value:
    xp, array = library("avg-pool", x), array_of("avg-pool", x)
    axes = _pooling("avg-pool", array.shape, *geometry)
    with quiet():
        total = reals(xp.sum(_patches_of(xp, numbers(x), axes, 0.0), axis=-3))
        return made(total / _counts(total, axes))


def _avg_unpool(s: Value, like: Value, *geometry: Value) -> Value:
    axes = _pooling("avg-pool", lengths_of(like), *geometry)
    xp, array = library("avg-pool", s), numbers(s)
    shares = array / _counts(array, axes)
    repeated = xp.broadcast_to(
        shares[..., None, :, :], (*array.shape[:-2], axes[0].window * axes[1].window, *array.shape[-2:])
    )
    return made(_unpatched(repeated, axes))


def _counts(like: Array, axes: list[Axis]) -> Array:
    """The number of entries of the image in each window."""
    down, across = [device_of(like).asarray(list(_entries(axis)), like.dtype) for axis in axes]
    return down[:, None] * across[None, :]


def _entries(axis: Axis) -> tuple[int, ...]:
    """The number of entries of the image in each window along an axis; cached if it is short."""
    return _few_entries(axis) if axis.starts <= MOST_KEPT else _few_entries.__wrapped__(axis)


MOST_KEPT = 4096


@lru_cache(1024)
def _few_entries(axis: Axis) -> tuple[int, ...]:
    first, end = axis.padding[0], axis.padding[0] + axis.length
    starts = [number * axis.stride for number in range(axis.starts)]
    return tuple([min(start + axis.window, end) - max(start, first) for start in starts])


def _one_hot(labels: Value, n: Value) -> Value:
    found = array_of("one-hot", labels)
    count = length_of("one-hot", n)
    xp = library("one-hot", labels)
    if SORT[found.dtype] == "b":
        raise invalid("one-hot", "labels that are whole numbers", labels)
    is_none = (found < 0) | (found >= count) | (found != xp.round(found))
    if bool(xp.any(is_none)):
        raise VladError(
            "out-of-range", OUT_OF_RANGE["one-hot"], irritants=(first_entry(found, is_none),),
            hint=f"labels are whole numbers from 0 to {count - 1}", name="one-hot",
        )  # fmt: skip
    expect_array((*found.shape, count))
    places = xp.astype(found, xp.int64)[..., None]
    return made(xp.astype(places == device_of(found).make("arange", count, dtype=xp.int64), xp.float64))


_GEOMETRY = "stride padding dilation groups"
_POOL = "window stride padding"
_ONCE: dict[str, Value] = {"stride": 1.0, "padding": 0.0, "dilation": 1.0, "groups": 1.0}
_APART: dict[str, Value] = {"stride": FALSE, "padding": 0.0}


def _product(
    name: str,
    x: str,
    y: str,
    doc: str,
    value: Callable[..., Value],
    abstract: Callable[..., Any],
    x_is: str,
    y_is: str,
    **columns: Any,
) -> Primitive:
    """A rule of convolutions: linear in x and in y, whose sensitivities two rules compute from that of the result, `s`."""
    rest = _GEOMETRY if columns else f"like {_GEOMETRY}"
    return row(
        name, f"{x} {y} {rest}", doc, value, abstract=abstract, linear=f"{x} {y}" if columns else f"{x} {y} like",
        forward=f"(accumulate ({name} d{x} {y} {rest}) ({name} {x} d{y} {rest}))",
        reverse={x: f"(sum-like ({x_is} {_GEOMETRY}) {x})", y: f"(sum-like ({y_is} {_GEOMETRY}) {y})"},
        **(columns or {"hidden": True}),
    )  # fmt: skip


# The share of each entry of x in the largest entry of its window: equal ones share equally.
_SHARES = f"""(let* ((p (pool-patches x -inf.0 {_POOL})) (m (where (= p (spread r p -3)) 1 0)) (shares (/ m (sum m -3 #t))))"""

ROWS: list[Primitive] = [
    _product("conv2d", "x", "w",
        "The sums of the products of filters and the windows of images.\n"
        "(conv2d (ones '(1 1 3 3)) (ones '(1 1 2 2)))  ⇒ #[[[[4 4] [4 4]]]]", _conv2d, _abstract_conv2d,
             x_is="conv2d-images s w x", y_is="conv2d-filters s x w", keywords=_ONCE),
    _product("conv2d-images", "y", "w", "The transpose of conv2d by the images.", _conv2d_images, _abstract_images,
             x_is="conv2d s w", y_is="conv2d-filters y s w"),
    _product("conv2d-filters", "y", "x", "The transpose of conv2d by the filters.", _conv2d_filters, _abstract_filters,
             x_is="conv2d x s", y_is="conv2d-images y s x"),
    row("max-pool", f"x {_POOL}",
        "The largest entry of each window.\n"
        "(max-pool (reshape (arange 16) '(1 1 4 4)) '(2 2))  ⇒ #[[[[5 7] [13 15]]]]",
        _max_pool, abstract=_abstract_max_pool, keywords=_APART,
         forward=f"{_SHARES} (sum (* shares (pool-patches dx 0 {_POOL})) -3 #f))",
         reverse={"x": f"{_SHARES} (sum-like (pool-unpatched (* (spread s p -3) shares) x {_POOL}) x))"}),
    row("pool-patches", f"x fill {_POOL}", "The entries of each window.", _pool_patches,
         abstract=_abstract_patches, linear="x", hidden=True,
         forward=f"(pool-patches dx 0 {_POOL})", reverse={"x": f"(pool-unpatched s x {_POOL})"}),
    row("pool-unpatched", f"y like {_POOL}", "The transpose of pool-patches.", _pool_unpatched,
         abstract=_abstract_unpatched, linear="y like", hidden=True,
         forward=f"(pool-unpatched dy like {_POOL})", reverse={"y": f"(pool-patches s 0 {_POOL})"}),
    row("avg-pool", f"x {_POOL}",
        "The mean of the entries of each window.\n"
        "(avg-pool (reshape (arange 16) '(1 1 4 4)) '(2 2))  ⇒ #[[[[2.5 4.5] [10.5 12.5]]]]", _avg_pool,
         abstract=_abstract_avg_pool, linear="x", keywords=_APART,
         forward=f"(avg-pool dx {_POOL})", reverse={"x": f"(sum-like (avg-unpool s x {_POOL}) x)"}),
    row("avg-unpool", f"y like {_POOL}", "The transpose of avg-pool.", _avg_unpool,
         abstract=_abstract_unpool, linear="y like", hidden=True,
         forward=f"(avg-unpool dy like {_POOL})", reverse={"y": f"(avg-pool s {_POOL})"}),
    constant("one-hot", "labels n",
        "For each label a vector of n entries, 1 at the label and 0 elsewhere.\n"
        "(one-hot #[2 0] 3)  ⇒ #[[0 0 1] [1 0 0]]", _one_hot,
         abstract=_abstract_one_hot),
]  # fmt: skip
