"""The operators of ONNX that take an image at places between its entries, and their kin: Resize, GridSample, RoiAlign, Col2Im.

In: a node (values.py).  Out: the text of an expression, of procedures of stdlib/onnx-images.vlad. An image has any number
of axes.
"""

from __future__ import annotations

from vlad.onnx import shapes
from vlad.onnx.values import Item, Node, list_text, number_text

_POLICIES = {"not_larger": "min", "not_smaller": "max"}


def resized(n: Node) -> str:
    """Axis by axis. Before version 11, as Upsample, it had scales only, and places that began at 0."""
    mode, old = n.attribute("mode", "nearest"), n.version < 11
    coordinates = "asymmetric" if old else n.attribute("coordinate_transformation_mode", "half_pixel")
    nearest = "floor" if old else n.attribute("nearest_mode", "round_prefer_floor")
    axes = [n.axis(axis) for axis in n.attribute("axes") or range(n.rank())]
    crops = coordinates == "tf_crop_and_resize"
    flags = " ".join(["#t" if n.attribute(name, 0) else "#f" for name in ("exclude_outside", "antialias")])
    beyond = n.number("extrapolation_value", 0) if crops else "#f"
    ways = f"'{mode.removeprefix('bi')} '{coordinates} '{nearest} {n.number('cubic_coeff_a', -0.75)} {flags} {beyond}"
    lengths = shapes.lengths(n)
    outs, scales, known = _sizes(n, [lengths[axis] for axis in axes], 1 if old else 2)
    regions = _numbers(n, 1, 2 * len(axes)) if crops else ["0"] * len(axes) + ["1"] * len(axes)
    text = n.text(0)
    for place, (axis, out, scale) in enumerate(zip(axes, outs, scales, strict=True)):
        if crops or not known or scale != "1":
            region = f"{regions[place]} {regions[place + len(axes)]}"
            text = f"(%onnx-resize {text} {axis} {out} {scale} {region} {ways})"
    return text if n.result_kind() == "float32" else f"(as-type {text} '{n.result_kind()})"


def _sizes(n: Node, lengths: list[Item], place: int) -> tuple[list[Item], list[str], bool]:
    """The new lengths, the factors, and whether the factors are numbers in the model."""
    count = len(lengths)
    if n.has(place + 1):
        items = n.items(place + 1)
        new = [f"(tensor-ref {n.text(place + 1)} {k})" for k in range(count)] if items is None else items
        scales = [_quotient(a, b) for a, b in zip(new, lengths, strict=True)]
        policy = _POLICIES.get(n.attribute("keep_aspect_ratio_policy", "stretch"))
        if policy:
            scale = f"({policy} {' '.join(scales)})" if count > 1 else scales[0]
            return [f"(floor (+ (* {scale} {length}) 0.5))" for length in lengths], [scale] * count, False
        return list(new), scales, True
    if not n.has(place):
        return _given(n, lengths)
    scales = _numbers(n, place, count)
    return (
        [f"(floor (* {scale} {length}))" for scale, length in zip(scales, lengths, strict=True)],
        scales,
        True,
    )


def _given(n: Node, lengths: list[Item]) -> tuple[list[Item], list[str], bool]:
    """By the attribute of Upsample, before version 9."""
    scales = [number_text(one) for one in n.attribute("scales")]
    return (
        [f"(floor (* {scale} {length}))" for scale, length in zip(scales, lengths, strict=True)],
        scales,
        True,
    )


def _quotient(a: Item, b: Item) -> str:
    return number_text(a / b) if isinstance(a, int) and isinstance(b, int) else f"(/ {a} {b})"


def _numbers(n: Node, place: int, count: int) -> list[str]:
    """The texts of the numbers of an input."""
    constant = n.value(place).constant
    if constant is not None:
        return [number_text(one) for one in constant.reshape(-1)]
    return [f"(tensor-ref {n.text(place)} {k})" for k in range(count)]


def sampled(n: Node) -> str:
    mode = n.attribute("mode", "linear").removeprefix("bi")
    corners = "#t" if n.attribute("align_corners", 0) else "#f"
    return f"(%onnx-grid-sample {n.text(0)} {n.text(1)} '{mode} '{n.attribute('padding_mode', 'zeros')} {corners})"


def aligned(n: Node) -> str:
    half = "half_pixel" if n.version >= 16 else "output_half_pixel"
    offset = "0.5" if n.attribute("coordinate_transformation_mode", half) == "half_pixel" else "0"
    size = f"{n.attribute('output_height', 1)} {n.attribute('output_width', 1)}"
    return (
        f"(%onnx-roi-align {n.text(0)} {n.text(1)} {n.text(2)} {size} {n.attribute('sampling_ratio', 0)} "
        f"{n.number('spatial_scale', 1)} {offset} '{n.attribute('mode', 'avg')})"
    )


def from_columns(n: Node) -> str:
    image, block = n.list(1), n.list(2)
    count = (n.value(1).dims or (None,))[0]
    if count is None:
        raise n.refused("the number of axes of the image is not known")
    pads = list(n.attribute("pads") or [0] * (2 * count))
    pairs = " ".join([f"({pads[k]} . {pads[k + count]})" for k in range(count)])
    ways = " ".join([list_text(n.attribute(name) or [1] * count) for name in ("strides", "dilations")])
    return f"(%onnx-col2im {n.text(0)} {image} {block} {ways} '({pairs}))"


def grid(n: Node) -> str:
    corners = "#t" if n.attribute("align_corners", 0) else "#f"
    return f"(%onnx-affine-grid {n.text(0)} {n.list(1)} {corners})"


def centred(n: Node) -> str:
    """Cut off or padded evenly on both sides, along each axis."""
    axes = [n.axis(axis) for axis in n.attribute("axes") or range(n.rank())]
    items = n.items(1)
    new = [f"(tensor-ref {n.text(1)} {k})" for k in range(len(axes))] if items is None else items
    text = n.text(0)
    for axis, length in zip(axes, new, strict=True):
        text = f"(%onnx-centred {text} {axis} {length})"
    return text


def unpooled(n: Node) -> str:
    window = n.attribute("kernel_shape")
    count = len(window)
    strides, pads = n.attribute("strides") or [1] * count, n.attribute("pads") or [0] * (2 * count)
    lengths = shapes.lengths(n)
    own = [
        f"(+ (* {strides[k]} (- {lengths[k + 2]} 1)) {window[k] - pads[k] - pads[k + count]})"
        for k in range(count)
    ]
    wanted = n.list(2) if n.has(2) else "#f"
    return f"(%onnx-unpool {n.text(0)} {n.text(1)} {list_text([*lengths[:2], *own])} {wanted})"


def deformed(n: Node) -> str:
    count = n.rank() - 2
    if count != 2:
        raise n.refused(f"images with {count} axes; there are those with two")
    pads = list(n.attribute("pads") or [0] * (2 * count))
    pairs = " ".join([f"({pads[k]} . {pads[k + count]})" for k in range(count)])
    ways = " ".join([list_text(n.attribute(name) or [1] * count) for name in ("strides", "dilations")])
    inputs = f"{n.text(0)} {n.text(1)} {n.text(2)} {n.text(3, '#f')} {n.text(4, '#f')}"
    return f"(%onnx-deform-conv {inputs} {ways} '({pairs}) {n.attribute('group', 1)} {n.attribute('offset_group', 1)})"
