"""Models of ONNX for tests and benchmarks: the architectures that users import, built node by node with random weights.

Each function returns a model of the package onnx and example inputs. The sizes are arguments, as the tests need small ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = Any


class Builder:
    """The nodes and the initial values of a graph; methods append nodes, and return the name of the result. `model` takes the
    inputs with their kinds and shapes, and the outputs with their ranks."""

    def __init__(self, seed: int = 0, version: int = 17) -> None:
        self.rng = numpy.random.default_rng(seed)
        self.version = version
        self.nodes: list[Any] = []
        self.initial: list[Any] = []

    def add(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        names = [
            f"{op.lower()}_{len(self.nodes)}_{k}" if k else f"{op.lower()}_{len(self.nodes)}"
            for k in range(outputs)
        ]
        self.nodes.append(
            helper.make_node(op, list(inputs), names, name=f"{op}_{len(self.nodes)}", **attributes)
        )
        return names[0] if outputs == 1 else names

    def value(self, array: Any, name: str | None = None) -> str:
        name = name or f"value_{len(self.initial)}"
        self.initial.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def ints(self, *numbers: int) -> str:
        return self.value(numpy.array(numbers, numpy.int64))

    def weight(self, *shape: int, scale: float | None = None) -> str:
        fan = math.prod(shape[1:]) or 1
        return self.value(
            (self.rng.normal(size=shape) * (scale or (2 / fan) ** 0.5)).astype(numpy.float32),
            f"w{len(self.initial)}",
        )

    def conv(
        self, x: str, shape: tuple[int, int, int], stride: int = 1, pad: int = 0, groups: int = 1
    ) -> str:
        out, into, width = shape
        bias = self.weight(out, scale=0.1)
        return self.add("Conv", x, self.weight(out, into // groups, width, width), bias,
            strides=[stride] * 2, pads=[pad] * 4, kernel_shape=[width] * 2, group=groups)  # fmt: skip

    def norm(self, x: str, channels: int) -> str:
        one = self.value(
            (1 + 0.1 * self.rng.normal(size=channels)).astype(numpy.float32), f"scale{len(self.initial)}"
        )
        variance = self.value(
            self.rng.uniform(0.5, 2, channels).astype(numpy.float32), f"variance{len(self.initial)}"
        )
        return self.add(
            "BatchNormalization",
            x,
            one,
            self.weight(channels, scale=0.1),
            self.weight(channels, scale=0.1),
            variance,
        )

    def model(self, inputs: dict[str, tuple[int, list[Any]]], outputs: dict[str, int]) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes, "network",
            [helper.make_tensor_value_info(name, kind, dims) for name, (kind, dims) in inputs.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * rank) for name, rank in outputs.items()],
            self.initial,
        )  # fmt: skip
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.version)], ir_version=9)
        onnx.checker.check_model(made)
        return made

    def image(self, size: int, batch: int = 1) -> Array:
        return self.rng.normal(size=(batch, 3, size, size)).astype(numpy.float32)


def squeezenet(size: int = 64, divide: int = 1, classes: int = 1000) -> tuple[onnx.ModelProto, list[Array]]:
    """SqueezeNet 1.1 (Iandola and others 2016); `divide` the numbers of channels."""
    b = Builder()
    x = b.add("Relu", b.conv("data", (64 // divide, 3, 3), stride=2))
    x, width = b.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2]), 64 // divide
    for number, (squeeze, expand) in enumerate(
        [(16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256)]
    ):
        squeeze, expand = squeeze // divide, expand // divide
        s = b.add("Relu", b.conv(x, (squeeze, width, 1)))
        sides = [b.add("Relu", b.conv(s, (expand, squeeze, k), pad=k // 2)) for k in (1, 3)]
        x, width = b.add("Concat", *sides, axis=1), 2 * expand
        if number in (1, 3):
            x = b.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2])
    x = b.add("Relu", b.conv(b.add("Dropout", x), (classes, width, 1)))
    x = b.add("Softmax", b.add("Flatten", b.add("GlobalAveragePool", x)), axis=1)
    return b.model({"data": (TensorProto.FLOAT, ["batch", 3, size, size])}, {x: 2}), [b.image(size)]


def resnet(
    size: int = 64, layers: tuple[int, ...] = (3, 4, 6, 3), width: int = 64, classes: int = 1000
) -> tuple[onnx.ModelProto, list[Array]]:
    """ResNet50 v1 (He and others 2015), with these numbers of bottlenecks."""
    b = Builder(1)
    x = b.add("Relu", b.norm(b.conv("data", (width, 3, 7), stride=2, pad=3), width))
    x, into = b.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), width
    for stage, count in enumerate(layers):
        inner = width * 2**stage
        for block in range(count):
            stride = 2 if stage and not block else 1
            y = b.add("Relu", b.norm(b.conv(x, (inner, into, 1), stride=stride), inner))
            y = b.add("Relu", b.norm(b.conv(y, (inner, inner, 3), pad=1), inner))
            y = b.norm(b.conv(y, (4 * inner, inner, 1)), 4 * inner)
            if not block:
                x = b.norm(b.conv(x, (4 * inner, into, 1), stride=stride), 4 * inner)
            x, into = b.add("Relu", b.add("Add", x, y)), 4 * inner
    x = b.add("Flatten", b.add("GlobalAveragePool", x))
    x = b.add("Gemm", x, b.weight(classes, into), b.weight(classes, scale=0.1), transB=1)
    return b.model({"data": (TensorProto.FLOAT, ["batch", 3, size, size])}, {x: 2}), [b.image(size)]


def mobilenet(
    size: int = 64,
    settings: tuple[tuple[int, int, int, int], ...] = (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    ),
    first: int = 32, last: int = 1280, classes: int = 1000,
) -> tuple[onnx.ModelProto, list[Array]]:  # fmt: skip
    """MobileNet v2 (Sandler and others 2018): expansion, channels, repetitions and stride of each stage."""
    b = Builder(2)
    low, high = b.value(numpy.float32(0)), b.value(numpy.float32(6))

    def capped(x: str) -> str:
        return b.add("Clip", x, low, high)

    x, into = capped(b.norm(b.conv("data", (first, 3, 3), stride=2, pad=1), first)), first
    for expansion, out, count, stride in settings:
        for block in range(count):
            wide = into * expansion
            y = x if expansion == 1 else capped(b.norm(b.conv(x, (wide, into, 1)), wide))
            y = capped(
                b.norm(b.conv(y, (wide, wide, 3), stride=1 if block else stride, pad=1, groups=wide), wide)
            )
            y = b.norm(b.conv(y, (out, wide, 1)), out)
            x, into = b.add("Add", x, y) if block else y, out
    x = capped(b.norm(b.conv(x, (last, into, 1)), last))
    x = b.add("ReduceMean", x, axes=[2, 3], keepdims=0)
    x = b.add("Gemm", x, b.weight(classes, last), b.weight(classes, scale=0.1), transB=1)
    return b.model({"data": (TensorProto.FLOAT, ["batch", 3, size, size])}, {x: 2}), [b.image(size)]


def bert(
    words: int = 50, width: int = 16, heads: int = 2, layers: int = 2, steps: int = 6
) -> tuple[onnx.ModelProto, list[Array]]:
    """A BERT encoder (Devlin and others 2018) as exporters write it: lengths are computed from the shape of the input, `gelu`
    and normalisation are composed of arithmetic.
    """
    b = Builder(3)
    two, half = b.value(numpy.float32(2)), b.value(numpy.float32(0.5))

    def number(x: float) -> str:
        return b.value(numpy.float32(x))

    def normal(x: str) -> str:
        off = b.add("Sub", x, b.add("ReduceMean", x, axes=[-1]))
        variance = b.add("ReduceMean", b.add("Pow", off, two), axes=[-1])
        scaled = b.add("Div", off, b.add("Sqrt", b.add("Add", variance, number(1e-12))))
        return b.add(
            "Add",
            b.add("Mul", scaled, b.value(numpy.ones(width, numpy.float32), f"gain{len(b.initial)}")),
            b.weight(width, scale=0.1),
        )

    def dense(x: str, into: int, out: int) -> str:
        return b.add("Add", b.add("MatMul", x, b.weight(into, out)), b.weight(out, scale=0.1))

    def length(x: str, axis: int) -> str:
        picked = b.add("Gather", b.add("Shape", x), b.value(numpy.array(axis, numpy.int64)), axis=0)
        return b.add("Unsqueeze", picked, b.ints(0))

    def split(x: str) -> str:
        dims = b.add("Concat", length(x, 0), length(x, 1), b.ints(heads), b.ints(width // heads), axis=0)
        return b.add("Transpose", b.add("Reshape", x, dims), perm=[0, 2, 1, 3])

    positions = b.add("Range", b.value(numpy.array(0, numpy.int64)),
        b.add("Squeeze", length("words", 1), b.ints(0)), b.value(numpy.array(1, numpy.int64)))  # fmt: skip
    x = b.add("Gather", b.weight(words, width, scale=1), "words")
    x = b.add("Add", x, b.add("Gather", b.weight(32, width, scale=1), positions))
    x = normal(b.add("Add", x, b.add("Gather", b.weight(2, width, scale=1), "types")))
    mask = b.add("Cast", b.add("Unsqueeze", "mask", b.ints(1, 2)), to=TensorProto.FLOAT)
    mask = b.add("Mul", b.add("Sub", number(1), mask), number(-10000))
    for _ in range(layers):
        queries, keys, values = [split(dense(x, width, width)) for _ in range(3)]
        scores = b.add("MatMul", queries, b.add("Transpose", keys, perm=[0, 1, 3, 2]))
        scores = b.add("Add", b.add("Div", scores, number(math.sqrt(width // heads))), mask)
        mixed = b.add(
            "Transpose", b.add("MatMul", b.add("Softmax", scores, axis=-1), values), perm=[0, 2, 1, 3]
        )
        dims = b.add("Concat", length(mixed, 0), length(mixed, 1), b.ints(width), axis=0)
        x = normal(b.add("Add", dense(b.add("Reshape", mixed, dims), width, width), x))
        wide = dense(x, width, 4 * width)
        erf = b.add("Erf", b.add("Div", wide, number(math.sqrt(2))))
        active = b.add("Mul", b.add("Mul", wide, b.add("Add", erf, number(1))), half)
        x = normal(b.add("Add", dense(active, 4 * width, width), x))
    first = b.add("Slice", x, b.ints(0), b.ints(1), b.ints(1))
    pooled = b.add("Tanh", dense(b.add("Squeeze", first, b.ints(1)), width, width))
    kinds = {name: (TensorProto.INT64, ["batch", "steps"]) for name in ("words", "types", "mask")}
    given = [
        b.rng.integers(0, words, (2, steps)),
        b.rng.integers(0, 2, (2, steps)),
        numpy.ones((2, steps), numpy.int64),
    ]
    given[2][1, steps - 2 :] = 0
    return b.model(kinds, {x: 3, pooled: 2}), given


def gru(
    features: int = 3, width: int = 4, steps: int = 5, batch: int = 2
) -> tuple[onnx.ModelProto, list[Array]]:
    """Two layers of a GRU, the first in both directions, and a dense layer on the last state."""
    b = Builder(4)
    y, _ = b.add("GRU", "x", b.weight(2, 3 * width, features), b.weight(2, 3 * width, width), b.weight(2, 6 * width, scale=0.1),
        outputs=2, hidden_size=width, direction="bidirectional", linear_before_reset=1)  # fmt: skip
    y = b.add("Reshape", b.add("Transpose", y, perm=[0, 2, 1, 3]), b.ints(0, 0, -1))
    _, last = b.add("GRU", y, b.weight(1, 3 * width, 2 * width), b.weight(1, 3 * width, width), b.weight(1, 6 * width, scale=0.1),
        outputs=2, hidden_size=width, linear_before_reset=1)  # fmt: skip
    z = b.add("Gemm", b.add("Squeeze", last, b.ints(0)), b.weight(width, 2), b.weight(2, scale=0.1))
    x = b.rng.normal(size=(steps, batch, features)).astype(numpy.float32)
    return b.model({"x": (TensorProto.FLOAT, ["steps", batch, features])}, {z: 2}), [x]


CONTROL = """
<ir_version: 9, opset_import: ["" : 17]>
control (float[n, 3] x, bool flag) => (float[n, 3] last, float[k, n, 3] all, float[k] means, float[n, j, 3] sums)
<int64 five = {5}, int64 two = {2}, int64 zero = {0}, float most = {1000}> {
    h = If (flag) <
        then_branch = then () => (float[n, 3] a)
            <float[3, 3] w = {0.5, 0.2, -0.3, 0.1, 0.7, 0.4, -0.6, 0.3, 0.2}> { a = MatMul (x, w) },
        else_branch = otherwise () => (float[n, 3] b)
            <float[3] w = {0.5, -0.2, 0.9}> { c = Mul (x, w)  b = Tanh (c) }
    >
    turned, all, means = Loop (five, , h) <
        body = body (int64 k, bool going, float[n, 3] before) => (bool goes, float[n, 3] after, float[n, 3] one, float mean) {
            product = MatMul (before, u)
            new = Tanh (product)
            rest = Mod (k, two)
            even = Equal (rest, zero)
            after = If (even) <
                then_branch = even_turn () => (float[n, 3] d) { d = Add (new, bias) },
                else_branch = odd_turn () => (float[n, 3] e) { e = Identity (new) }
            >
            one = Mul (after, after)
            mean = ReduceMean <keepdims = 0> (one)
            size = ReduceSum <keepdims = 0> (one)
            goes = Less (size, most)
        }
    >
    last, sums = Scan (turned, all, all) <
        num_scan_inputs = 2, scan_input_directions = [1, 0], scan_output_axes = [1], scan_output_directions = [1],
        body = step (float[n, 3] state, float[n, 3] from_end, float[n, 3] from_start)
            => (float[n, 3] next, float[n, 3] sum) {
            scaled = Mul (from_end, bias)
            more = Add (state, scaled)
            next = Sigmoid (more)
            sum = Add (next, from_start)
        }
    >
}
"""


def control() -> tuple[onnx.ModelProto, list[Array]]:
    """Branches and loops, in one another, that refer to values around them; both branches have a weight of the same name."""
    rng = numpy.random.default_rng(5)
    model = onnx.parser.parse_model(CONTROL)
    for name, shape in {"u": (3, 3), "bias": (3,)}.items():
        model.graph.initializer.append(
            numpy_helper.from_array(rng.normal(size=shape).astype(numpy.float32), name)
        )
    onnx.checker.check_model(model)
    return model, [rng.normal(size=(2, 3)).astype(numpy.float32), numpy.array(True)]
