"""The nodes of ONNX for the primitives of which derivatives are made: the transposes of shapes, products and windows.

In: as for nodes.py, which has the other primitives.  Out: entries of its table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from vlad.data.values import look
from vlad.onnx.nodes import ROWS, Application, dims_of, elements, row, slice_node, two
from vlad.onnx.tracing import Traced

__all__ = ["ROWS"]


def _first(a: Application) -> str:
    name: str = a.graph.of(a.operands[0], a.kind())
    return name


def _in_shape(a: Application, name: str, dims: Sequence[int]) -> str:
    made: str = a.graph.add("Reshape", name, a.graph.ints(dims))
    return made


@row("as-row", "as-column", "as-product", "reshape-like")
def _reshaped(a: Application) -> Traced:
    dims = dims_of(a.example)
    return a.result(_first(a) if dims_of(a.operands[0]) == dims else _in_shape(a, _first(a), dims))


@row("swap")
def _swapped(a: Application) -> Traced:
    rank = len(dims_of(a.operands[0]))
    order = [*range(rank - 2), rank - 1, rank - 2]
    return a.result(a.graph.add("Transpose", _first(a), perm=order))


@row("broadcast-like")
def _repeated(a: Application) -> Traced:
    dims = dims_of(a.example)
    return a.result(a.graph.add("Expand", _first(a), a.graph.ints(dims)) if dims else _first(a))


@row("spread")
def _spread(a: Application) -> Traced:
    """The result of a reduction over axes, which it may lack, in the shape before."""
    dims, name = dims_of(a.example), _first(a)
    if not dims:
        return a.result(name)
    given = a.known(2)
    if len(dims_of(a.operands[0])) < len(dims) and given is not False:
        axes = {k % len(dims) for k in (given if isinstance(given, list) else [given])}
        name = _in_shape(a, name, [1 if k in axes else length for k, length in enumerate(dims)])
    return a.result(a.graph.add("Expand", name, a.graph.ints(dims)))


@row("repeated")
def _all_along(a: Application) -> Traced:
    """Each entry of an axis replaced by all of them, on a new last axis."""
    dims = dims_of(a.example)
    axis, rank = a.axis(1, len(dims) - 1), len(dims) - 1
    last = a.graph.add("Transpose", _first(a), perm=[*[k for k in range(rank) if k != axis], axis])
    return a.result(
        a.graph.add("Expand", a.graph.add("Unsqueeze", last, a.graph.ints([axis])), a.graph.ints(dims))
    )


@row("sum-like")
def _summed(a: Application) -> Traced:
    """Over the axes along which the other operand was repeated."""
    g, name, own, dims = a.graph, _first(a), dims_of(a.operands[0]), dims_of(a.example)
    if own == dims:
        return a.result(name)
    more = len(own) - len(dims)
    axes = [k for k in range(len(own)) if k < more or (dims[k - more] == 1 != own[k])]
    name = g.add("ReduceSum", name, g.ints(axes), keepdims=1) if axes else name
    return a.result(_in_shape(a, name, dims))


# Entry by entry.


def _entrywise(build: Callable[..., str]) -> Callable[[Application], Traced]:
    """`build` writes nodes by a function of an operator and names or numbers."""

    def rule(a: Application) -> Traced:
        kind = a.kind()

        def name(value: Any) -> str:
            made: str = value if isinstance(value, str) else a.graph.of(value, kind)
            return made

        def node(op: str, *operands: Any) -> str:
            made: str = a.graph.add(op, *map(name, operands))
            return made

        return a.result(build(node, *a.operands))

    return rule


def _inverse_square(op: str) -> Callable[..., str]:
    def build(node: Any, x: Any) -> str:
        y = node(op, x)
        made: str = node("Div", 1.0, node("Mul", y, y))
        return made

    return build


def _sech_squared(node: Any, x: Any) -> str:
    y = node("Tanh", x)
    made: str = node("Sub", 1.0, node("Mul", y, y))
    return made


def _conic(node: Any, c: Any, d: Any, j: Any, k: Any, x: Any) -> str:
    root = node("Sqrt", node("Add", c, node("Mul", d, node("Mul", x, x))))
    below = node("Pow", root, node("Neg", k))
    made: str = below if look(j) == 0.0 else node("Mul", node("Pow", x, j), below)
    return made


def _conic_slope(node: Any, c: Any, d: Any, j: Any, k: Any, x: Any) -> str:
    """The derivative of conic, for j from 1 on."""
    inner = node("Add", c, node("Mul", d, node("Mul", x, x)))
    left = node("Mul", j, node("Mul", node("Pow", x, node("Sub", j, 1.0)), inner))
    right = node("Mul", node("Mul", k, d), node("Pow", x, node("Add", j, 1.0)))
    below = node("Pow", node("Sqrt", inner), node("Neg", node("Add", k, 2.0)))
    made: str = node("Mul", node("Sub", left, right), below)
    return made


def _tanh_second(node: Any, x: Any) -> str:
    y = node("Tanh", x)
    made: str = node("Mul", node("Mul", -2.0, y), node("Sub", 1.0, node("Mul", y, y)))
    return made


def _heading(node: Any, t: Any, size: Any) -> str:
    made: str = node("Div", t, node("Max", size, 1e-30))
    return made


def _power_log(node: Any, x: Any, y: Any, n: Any, m: Any, w: Any, v: Any) -> str:
    made: str = node("Pow", x, node("Sub", y, n))
    if look(m) != 0.0:
        made = node("Mul", made, node("Pow", node("Log", x), m))
    return made if look(w) == 0.0 else node("Div", made, node("Pow", v, w))


_BUILDS: dict[str, Callable[..., str]] = {
    "sech-squared": _sech_squared, "tanh-second": _tanh_second, "sec-squared": _inverse_square("Cos"), "conic": _conic,
    "conic-slope": _conic_slope, "heading": _heading, "power-log": _power_log,
    "gaussian": lambda node, x: node("Exp", node("Neg", node("Mul", x, x))),
    "half-over-root": lambda node, x: node("Div", 0.5, node("Sqrt", x)),
    "erfc": lambda node, x: node("Sub", 1.0, node("Erf", x)),
    "one-plus-power": lambda node, k, u, x: node("Pow", node("Add", u, x), node("Neg", k)),
}  # fmt: skip
for _name, _build in _BUILDS.items():
    row(_name)(_entrywise(_build))


@row("power-scale", "binary-scale")
def _unscaled(a: Application) -> Traced:
    """1: a scale only keeps numbers in range."""
    import numpy

    return a.result(a.graph.stored(numpy.ones(dims_of(a.example), a.kind())))


# Parts.


@row("unslice")
def _unsliced(a: Application) -> Traced:
    """Zeros but for a slice: each entry is one of the slice, or the zero behind them."""
    import numpy

    g, dims = a.graph, dims_of(a.example)
    axis, start, step = a.axis(4, len(dims)), a.known(2), a.known(5)
    count = dims_of(a.operands[0])[axis]
    start = start + dims[axis] if start < 0 else start
    places = numpy.full(dims[axis], count, "int64")
    places[start : start + count * step : step] = numpy.arange(count)
    behind = [0] * (2 * len(dims))
    behind[len(dims) + axis] = 1
    longer = g.add("Pad", _first(a), g.ints(behind))
    return a.result(g.add("Gather", longer, g.stored(places), axis=axis))


@row("slice-like")
def _sliced(a: Application) -> Traced:
    axis = a.axis(4, len(dims_of(a.operands[0])))
    start, step, count = a.known(2), a.known(5), dims_of(a.example)[axis]
    start = start + dims_of(a.operands[0])[axis] if start < 0 else start
    return a.result(slice_node(a.graph, _first(a), axis, start, start + step * (count - 1) + 1, step))


@row("tensor-put")
def _put(a: Application) -> Traced:
    import numpy

    g, kind, index, dims = a.graph, a.kind(), a.known(2), dims_of(a.example)
    index = index if isinstance(index, list) else [index]
    places = [place % length for place, length in zip(index, dims, strict=False)]
    part = g.add("Reshape", _first(a), g.ints([1, *dims[len(index) :]]))
    zeros = g.stored(numpy.zeros(dims, kind))
    return a.result(g.add("ScatterND", zeros, g.stored(numpy.asarray([places], "int64")), part))


@row("split-like")
def _split(a: Application) -> Any:
    parts, axis, made, end = elements(a, 1), a.axis(2, len(dims_of(a.operands[0]))), (), 0
    found, value = [], look(a.example)
    for part in parts:
        start, end = end, end + dims_of(part)[axis]
        name = slice_node(a.graph, _first_of(a), axis, start, end)
        found.append(Traced(name, a.operands[0].kind, value[0]))
        value = look(value[1])
    for one in reversed(found):
        made = one, made  # type: ignore[assignment]  # nested pairs, which have no type
    return made


def _first_of(a: Application) -> str:
    name: str = a.operands[0].name
    return name


@row("scatter-add")
def _scattered(a: Application) -> Traced:
    g, kind = a.graph, a.kind()
    dims, index = dims_of(a.example), dims_of(a.operands[1])
    axis = a.axis(3, len(dims))
    count = 1
    for length in index:
        count *= length
    flat = [*dims[:axis], count, *dims[axis + 1 :]]
    updates = g.add(
        "Reshape",
        g.add("Expand", g.of(a.operands[2], kind), g.ints(_updates(dims, index, axis))),
        g.ints(flat),
    )
    along = [count if k == axis else 1 for k in range(len(dims))]
    places = g.add("Expand", g.add("Reshape", g.of(a.operands[1], "int64"), g.ints(along)), g.ints(flat))
    return a.result(
        g.add("ScatterElements", g.of(a.operands[0], kind), places, updates, axis=axis, reduction="add")
    )


def _updates(dims: Sequence[int], index: Sequence[int], axis: int) -> list[int]:
    return [*dims[:axis], *index, *dims[axis + 1 :]]


# Windows.


def _pads(
    a: Application, place: int, lengths: Sequence[int], reach: Sequence[int], stride: Sequence[int]
) -> list[int]:
    """The padding before both axes, then behind."""
    given = a.known(place)
    if given == "same":
        all_ = [max(0, r + s * (-(-n // s) - 1) - n) for n, r, s in zip(lengths, reach, stride, strict=True)]
        return [one // 2 for one in all_] + [one - one // 2 for one in all_]
    return [0] * 4 if given == "valid" else two(given) * 2


def _geometry(
    a: Application, image: Sequence[int], window: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """The stride, the dilation and the padding of a convolution; from the fourth operand on."""
    stride, dilation = two(a.known(3)), two(a.known(5))
    reach = [d * (w - 1) + 1 for d, w in zip(dilation, window, strict=True)]
    return stride, dilation, _pads(a, 4, image, reach, stride)


@row("conv2d-images")
def _images(a: Application) -> Traced:
    g, kind = a.graph, a.kind()
    y, w = dims_of(a.operands[0])[-2:], dims_of(a.operands[1])[-2:]
    image = dims_of(a.example)[-2:]
    stride, dilation, pads = _geometry(a, image, w)
    more = [
        n - (s * (m - 1) + d * (k - 1) + 1 - pads[at] - pads[at + 2])
        for at, (n, s, m, d, k) in enumerate(zip(image, stride, y, dilation, w, strict=True))
    ]
    return a.result(g.add(
        "ConvTranspose", g.of(a.operands[0], kind), g.of(a.operands[1], kind), strides=stride, dilations=dilation, pads=pads,
        output_padding=more, group=a.known(6)))  # fmt: skip


@row("conv2d-filters")
def _filters(a: Application) -> Traced:
    """The products of images and results, with channels and batch exchanged, group by group."""
    g, kind, dims = a.graph, a.kind(), dims_of(a.example)
    y, x = g.of(a.operands[0], kind), g.of(a.operands[1], kind)
    out, image = dims_of(a.operands[0])[1], dims_of(a.operands[1])
    stride, dilation, pads = _geometry(a, image[-2:], dims[-2:])
    groups = a.known(6)
    made = []
    for k in range(groups):
        own, part = x, y
        if groups > 1:
            own = slice_node(g, x, 1, k * image[1] // groups, (k + 1) * image[1] // groups)
            part = slice_node(g, y, 1, k * out // groups, (k + 1) * out // groups)
        turned = [g.add("Transpose", one, perm=[1, 0, 2, 3]) for one in (own, part)]
        found = g.add("Conv", *turned, strides=dilation, dilations=stride, pads=pads)
        for axis in (2, 3):  # a window that the stride leaves out gives more entries
            found = slice_node(g, found, axis, 0, dims[axis])
        made.append(g.add("Transpose", found, perm=[1, 0, 2, 3]))
    return a.result(made[0] if groups == 1 else g.add("Concat", *made, axis=0))


def _pool(a: Application, first: int, image: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """The window, the stride and the padding of a pool."""
    window = two(a.known(first))
    given = a.known(first + 1)
    stride = window if given is False else two(given)
    return window, stride, _pads(a, first + 2, image, window, stride)


def _windows(window: list[int], stride: list[int], starts: Sequence[int]) -> list[list[tuple[int, int, int]]]:
    """For each place in a window the slices, one for each axis, of what is there in all windows."""
    return [
        [(at, at + s * (n - 1) + 1, s) for at, s, n in zip((i, j), stride, starts, strict=True)]
        for i in range(window[0])
        for j in range(window[1])
    ]


@row("pool-patches")
def _patches(a: Application) -> Traced:
    g, kind, dims = a.graph, a.kind(), dims_of(a.operands[0])
    window, stride, pads = _pool(a, 2, dims[-2:])
    rank = len(dims)
    x = g.of(a.operands[0], kind)
    if any(pads):
        around = [0] * (rank - 2)
        x = g.add("Pad", x, g.ints([*around, *pads[:2], *around, *pads[2:]]), g.of(a.operands[1], kind))
    parts = []
    for slices in _windows(window, stride, dims_of(a.example)[-2:]):
        part = x
        for axis, (start, end, step) in zip((rank - 2, rank - 1), slices, strict=True):
            part = slice_node(g, part, axis, start, end, step)
        parts.append(g.add("Unsqueeze", part, g.ints([rank - 2])))
    return a.result(g.add("Concat", *parts, axis=rank - 2))


@row("pool-unpatched", "avg-unpool")
def _unpatched(a: Application) -> Traced:
    """The sum of what windows give to each entry; of means, each gives equal shares to all that it has."""
    import numpy

    g, kind, dims = a.graph, a.kind(), dims_of(a.example)
    window, stride, pads = _pool(a, 2, dims[-2:])
    starts = dims_of(a.operands[0])[-2:]
    room = [dims[-2] + pads[0] + pads[2], dims[-1] + pads[1] + pads[3]]
    inside = numpy.zeros(room, bool)
    inside[pads[0] : pads[0] + dims[-2], pads[1] : pads[1] + dims[-1]] = True
    entries = numpy.arange(inside.size).reshape(room)
    each = [tuple([slice(*one) for one in slices]) for slices in _windows(window, stride, starts)]
    y = _first(a)
    if a.row == "avg-unpool":
        counts = sum([inside[one].astype(kind) for one in each])
        y = g.add("Unsqueeze", g.add("Div", y, g.stored(counts)), g.ints([len(dims) - 2]))
        y = g.add("Expand", y, g.ints([*dims[:-2], len(each), *starts]))
    batch = math.prod(dims[:-2])
    places = numpy.stack([entries[one] for one in each]).reshape(1, -1)
    updates = g.add("Reshape", y, g.ints([batch, places.size]))
    at = g.add("Expand", g.stored(places.astype("int64")), g.ints([batch, places.size]))
    total = g.add(
        "ScatterElements",
        g.stored(numpy.zeros((batch, inside.size), kind)),
        at,
        updates,
        axis=1,
        reduction="add",
    )
    made = g.add("Reshape", total, g.ints([batch, *room]))
    for axis in (0, 1):
        made = slice_node(g, made, axis + 1, pads[axis], pads[axis] + dims[axis - 2])
    return a.result(g.add("Reshape", made, g.ints(dims)))
