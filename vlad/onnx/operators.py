"""The operators of ONNX that are imported: one entry of one table each.

In: a node with its values (values.py).  Out: the text of an expression of the language, or None if the node's result is known by
its items alone. An entry is a text over the inputs, {0} {1} …, or a rule, a function from the node to a text. What takes more
than a call of the library is in stdlib/onnx.vlad. The table is long because all operators stand in one place.

    since       the first version of an operator set from which its entry has the operator's meaning
    outputs     how many outputs the text has; more than one are a list
    result      whose kind the text has: "right" as it stands; "reals", but for operands without axes; "number", whatever the kind
                that ONNX infers, which `finished` then converts to
    fixed       inputs of which the numbers must be in the model, such as axes
    constants   inputs that are no parameters, if they are numbers in the model's file
    counts_outputs  does the meaning depend on the number of outputs?
    folds       the items of the result from those of the inputs, for computations of shapes
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from vlad.onnx import attention, control, images, selections, shapes
from vlad.onnx.values import REALS, WHOLE, Item, Node, Value, list_text, number_text

Rule = Callable[[Node], str]
Folds = Callable[[Node], list[Item] | None]


class Operator(NamedTuple):
    """An entry."""

    rule: Rule
    since: int = 1
    outputs: int = 1
    result: str = "reals"
    fixed: tuple[int, ...] = ()
    constants: tuple[int, ...] = ()
    counts_outputs: bool = False
    folds: Folds | None = None


OPERATORS: dict[str, Operator] = {}


def _add(name: str, rule: str | Rule, **columns: Any) -> None:
    if isinstance(rule, str):
        text = rule

        def filled(node: Node) -> str:
            return text.format(*node.texts())

        OPERATORS[name] = Operator(filled, **columns)
    else:
        OPERATORS[name] = Operator(rule, **columns)


def finished(node: Node, operator: Operator, text: str, result: Value) -> str:
    """The text, of the kind of number that the result has in ONNX: a number without axes is a real here, which takes on the kind
    of what it meets, and arithmetic of whole numbers and such reals gives reals."""
    kind = result.kind
    if operator.result == "right" or kind is None:
        return text
    if operator.result == "number" or kind not in REALS:
        return text if kind == "boolean" else f"(as-type {text} '{kind})"
    if result.rank == 0 or any(one is not None and one.rank != 0 and one.kind == kind for one in node.inputs):
        return text  # of tensors of reals: also of those that are more precise than the model's
    return f"(as-type {text} '{kind})"


def number(value: Value) -> str:
    """The text of a value for arithmetic: of booleans only tensors are 0 and 1 there."""
    return f"(%onnx-number {value.text})" if value.kind == "boolean" and not value.rank else value.text


def converted(value: Value, kind: str) -> str:
    """The text of a value as another kind of number."""
    operation = "%onnx-as-type" if value.kind == "boolean" and not value.rank else "as-type"
    return f"({operation} {value.text} '{kind})"


def is_whole(node: Node, position: int = 0) -> bool:
    return node.value(position).kind in WHOLE


# Entry by entry.

for _name, _text in {
    "Abs": "(abs {0})", "Acos": "(acos {0})", "Acosh": "(acosh {0})", "Asin": "(asin {0})", "Asinh": "(asinh {0})",
    "Atan": "(atan {0})", "Atanh": "(atanh {0})", "Ceil": "(ceiling {0})", "Cos": "(cos {0})", "Cosh": "(cosh {0})",
    "Erf": "(erf {0})", "Exp": "(exp {0})", "Floor": "(floor {0})", "HardSwish": "(* {0} (max 0 (min 1 (+ (/ {0} 6) 0.5))))",
    "Log": "(log {0})", "Mish": "(* {0} (tanh (softplus {0})))", "Reciprocal": "(/ 1 {0})", "Relu": "(relu {0})",
    "Round": "(round {0})", "Sigmoid": "(sigmoid {0})", "Sign": "(sign {0})", "Sin": "(sin {0})", "Sinh": "(sinh {0})",
    "Softplus": "(softplus {0})", "Softsign": "(/ {0} (+ 1 (abs {0})))", "Sqrt": "(sqrt {0})", "Tan": "(tan {0})",
    "Tanh": "(tanh {0})",
}.items():  # fmt: skip
    _add(_name, _text)

_add("PRelu", "(where (< {0} 0) (* {0} {1}) {0})", since=7)
_add("Identity", "{0}", since=1, result="right", folds=shapes.same)
_add("IsNaN", "(%onnx-truth (- 1 (%onnx-number (= {0} {0}))))", since=9, result="right")
_add("Not", lambda n: f"(= {number(n.value(0))} 0)", since=1, result="right", folds=shapes.test)
_add("Neg", "(- {0})", folds=shapes.elementwise)
_add("Add", "(+ {0} {1})", since=7, folds=shapes.elementwise)
_add("Sub", "(- {0} {1})", since=7, folds=shapes.elementwise)
_add("Mul", "(* {0} {1})", since=7, folds=shapes.elementwise)


def _power(n: Node) -> str:
    text = f"(expt {n.text(0)} {n.text(1)})"
    return text if n.value(0).kind == n.value(1).kind else f"(as-type {text} '{n.result_kind()})"


_add("Pow", _power, since=7)


def _divided(n: Node) -> str:
    return f"({'quotient' if is_whole(n) else '/'} {n.text(0)} {n.text(1)})"


_add("Div", _divided, since=7, folds=shapes.elementwise)


def _modulo(n: Node) -> str:
    return f"({'remainder' if n.attribute('fmod', 0) else 'modulo'} {n.text(0)} {n.text(1)})"


_add("Mod", _modulo, since=10, folds=shapes.elementwise)


def _several(operation: str) -> Rule:
    return lambda n: n.text(0) if len(n.inputs) == 1 else f"({operation} {' '.join(n.texts())})"


_add("Max", _several("max"), folds=shapes.elementwise)
_add("Min", _several("min"), folds=shapes.elementwise)
_add("Sum", _several("+"))
_add("Mean", lambda n: f"(/ {_several('+')(n)} {len(n.inputs)})")


def _compared(operation: str) -> Rule:
    def rule(n: Node) -> str:
        if n.value(0).kind == "boolean":
            return f"({operation} {number(n.value(0))} {number(n.value(1))})"
        return f"({operation} {n.text(0)} {n.text(1)})"

    return rule


for _name, _operation in {
    "Equal": "=", "Greater": ">", "Less": "<", "GreaterOrEqual": ">=", "LessOrEqual": "<=",
}.items():  # fmt: skip
    _add(
        _name, _compared(_operation), since=7 if "Or" not in _name else 12, result="right", folds=shapes.test
    )


def _logical(text: str) -> Rule:
    return lambda n: text.format(number(n.value(0)), number(n.value(1)))


_add("And", _logical("(= (+ {0} {1}) 2)"), since=7, result="right", folds=shapes.test)
_add("Or", _logical("(> (+ {0} {1}) 0)"), since=7, result="right", folds=shapes.test)
_add("Xor", _logical("(= (+ {0} {1}) 1)"), since=7, result="right", folds=shapes.test)


def _chosen(n: Node) -> str:
    text = f"(where {n.text(0)} {number(n.value(1))} {number(n.value(2))})"
    return f"(as-type {text} '{n.result_kind()})"


_add("Where", _chosen, since=9, result="right")


def _is_infinite(n: Node) -> str:
    x, up, down = n.text(0), n.attribute("detect_positive", 1), n.attribute("detect_negative", 1)
    if up and down:
        return f"(= (abs {x}) +inf.0)"
    return f"(= {x} {'+inf.0' if up else '-inf.0'})" if up or down else f"(< {x} {x})"


_add("IsInf", _is_infinite, since=10, result="right")


# Activations: for nodes, and for the gates of recurrent layers, whose names are in other letters there.


def _leaky(x: str, alpha: str) -> str:
    return f"(where (< {x} 0) (* {alpha} {x}) {x})"


def _elu(x: str, alpha: str) -> str:
    return f"(where (< {x} 0) (* {alpha} (expm1 (min 0 {x}))) {x})"


def _selu(x: str, alpha: str, gamma: str) -> str:
    return f"(* {gamma} {_elu(x, alpha)})"


def _celu(x: str, alpha: str) -> str:
    return f"(where (< {x} 0) (* {alpha} (expm1 (/ (min 0 {x}) {alpha}))) {x})"


def _hard_sigmoid(x: str, alpha: str, beta: str) -> str:
    return f"(max 0 (min 1 (+ (* {alpha} {x}) {beta})))"


_add("LeakyRelu", lambda n: _leaky(n.text(0), n.number("alpha", 0.01)), since=1)
_add("Elu", lambda n: _elu(n.text(0), n.number("alpha", 1)), since=1)
_add("Selu", lambda n: _selu(
    n.text(0), n.number("alpha", 1.6732632423543772), n.number("gamma", 1.0507009873554805)), since=6)  # fmt: skip
_add("Celu", lambda n: _celu(n.text(0), n.number("alpha", 1)), since=12)
_add(
    "HardSigmoid", lambda n: _hard_sigmoid(n.text(0), n.number("alpha", 0.2), n.number("beta", 0.5)), since=1
)
_add("ThresholdedRelu", lambda n: f"(where (> {n.text(0)} {n.number('alpha', 1)}) {n.text(0)} 0)", since=10)
_add("Swish", lambda n: f"(* {n.text(0)} (sigmoid (* {n.number('alpha', 1)} {n.text(0)})))", since=24)


def _gelu(n: Node) -> str:
    x = n.text(0)
    if n.attribute("approximate", "none") == "tanh":
        return f"(* 0.5 {x} (+ 1 (tanh (* {number_text(math.sqrt(2 / math.pi))} (+ {x} (* 0.044715 {x} {x} {x}))))))"
    return f"(gelu {x})"


_add("Gelu", _gelu, since=20)


def _shrink(n: Node) -> str:
    x, most, bias = n.text(0), n.number("lambd", 0.5), n.number("bias", 0)
    return f"(where (< {x} (- {most})) (+ {x} {bias}) (where (> {x} {most}) (- {x} {bias}) 0))"


_add("Shrink", _shrink, since=9)


def _clip(n: Node) -> str:
    x = n.text(0)
    if n.version < 11:
        low, high = n.attribute("min"), n.attribute("max")
        low, high = [None if one is None else number_text(one) for one in (low, high)]
    else:
        low, high = [n.text(place) if n.has(place) else None for place in (1, 2)]
    x = x if low is None else f"(max {x} {low})"
    return x if high is None else f"(min {x} {high})"


_add("Clip", _clip, constants=(1, 2))


def _cast(n: Node) -> str:
    return converted(n.value(0), n.result_kind())


_add("Cast", _cast, since=6, result="right", folds=shapes.cast)
_add("CastLike", _cast, since=15, result="right")


def _dropout(n: Node) -> str:
    """In inference only: a training step draws numbers, for which vlad has keys."""
    if n.has(2) and n.value(2).constant is not None and n.value(2).constant.item():
        raise n.refused("training_mode is true; `dropout` of the library takes a key")
    if n.has(2) and n.value(2).constant is None:
        raise n.refused("training_mode is known in the call only")
    if len(n.outputs) > 1 and n.outputs[1] is not None:
        return f"(list {n.text(0)} (= (* 0 {n.text(0)}) 0))"
    return n.text(0)


_add("Dropout", _dropout, since=7, result="right", constants=(1, 2))


# Reductions.


def _axes(n: Node, by_input_since: int) -> list[int] | None:
    """The axes of a reduction, by an attribute or, later, by an input; None for all."""
    if n.version >= by_input_since:
        given = n.whole(1, "the axes") if n.has(1) else None
    else:
        given = n.attribute("axes")
    if given is not None and not len(given):
        return [] if n.attribute("noop_with_empty_axes", 0) else None
    if given is None and n.version >= by_input_since and n.attribute("noop_with_empty_axes", 0):
        return []
    return None if given is None else [n.axis(axis) for axis in given]


def _reduced(operation: str, by_input_since: int = 18, before: str = "{}", after: str = "{}") -> Rule:
    def rule(n: Node) -> str:
        axes = _axes(n, by_input_since)
        x = before.format(n.text(0))
        if axes is None:
            axes = list(range(n.rank()))
        if n.rank() == 0 or not axes:
            return after.format(x) if (before, after) != ("{}", "{}") else x
        keep = " #:keep #t" if n.attribute("keepdims", 1) else ""
        return after.format(f"({operation} {x} #:axis {list_text(axes)}{keep})")

    return rule


_add("ReduceSum", _reduced("sum", 13), since=1, fixed=(1,))
_add("ReduceMean", _reduced("mean"), since=1, fixed=(1,))
_add("ReduceL1", _reduced("sum", before="(abs {})"), since=1, fixed=(1,))
_add("ReduceL2", _reduced("sum", before="(square {})", after="(sqrt {})"), since=1, fixed=(1,))
_add("ReduceLogSum", _reduced("sum", after="(log {})"), since=1, fixed=(1,))
_add("ReduceSumSquare", _reduced("sum", before="(square {})"), since=1, fixed=(1,))


def _extreme(operation: str, empty: str) -> Rule:
    def rule(n: Node) -> str:
        if n.value(0).kind == "boolean":
            return f"(%onnx-truth {_reduced(operation)(_with_number(n))})"
        return _reduced(operation)(n)

    return rule


def _with_number(n: Node) -> Node:
    """The node with 0 and 1 as its first input, which are booleans."""
    first = n.value(0)
    number = Value(first.name, "int64", first.dims, f"(%onnx-number {first.text})")
    return Node(n.op, n.name, n.version, [number, *n.inputs[1:]], n.outputs, n.attributes)


_add("ReduceMax", _extreme("maximum", "-inf.0"), since=1, fixed=(1,))
_add("ReduceMin", _extreme("minimum", "+inf.0"), since=1, fixed=(1,))
_add("ReduceLogSumExp", _reduced("logsumexp", before="{}"), since=1, fixed=(1,))


def _product(n: Node) -> str:
    """`prod` takes one axis, so a product over several is one after the other, from the last on."""
    axes = _axes(n, 18)
    text = n.text(0)
    keep = " #:keep #t" if n.attribute("keepdims", 1) else ""
    for axis in sorted(range(n.rank()) if axes is None else axes, reverse=True):
        text = f"(prod {text} #:axis {axis}{keep})"
    return text


_add("ReduceProd", _product, since=1, fixed=(1,), folds=shapes.product)


def _argument(operation: str) -> Rule:
    def rule(n: Node) -> str:
        axis, x = n.axis(n.attribute("axis", 0)), n.text(0)
        if n.attribute("select_last_index", 0):
            length = f"(list-ref (shape {x}) {axis})"
            found = f"(- {length} 1 ({operation} (flipped {x} #:axis {axis}) #:axis {axis}))"
        else:
            found = f"({operation} {x} #:axis {axis})"
        if n.attribute("keepdims", 1):
            dims = shapes.lengths(n)
            dims[axis] = 1
            return f"(reshape {found} {list_text(dims)})"
        return found

    return rule


_add("ArgMax", _argument("argmax"), since=1)
_add("ArgMin", _argument("argminimum"), since=1)


def _along(operation: str) -> Rule:
    """Softmax and its kin: before version 13 over all axes from one on."""

    def rule(n: Node) -> str:
        if n.version >= 13:
            return f"({operation} {n.text(0)} #:axis {n.axis(n.attribute('axis', -1))})"
        axis, x = n.axis(n.attribute("axis", 1)), n.text(0)
        if axis == n.rank() - 1:
            return f"({operation} {x} #:axis {axis})"
        rest = list_text([-1, shapes.product_of(shapes.lengths(n)[axis:])])
        return f"(reshape ({operation} (reshape {x} {rest}) #:axis 1) (shape {x}))"

    return rule


_add("Softmax", _along("softmax"), since=1)
_add("LogSoftmax", _along("log-softmax"), since=1)
_add("Hardmax", lambda n: f"(%onnx-hardmax {n.text(0)} {n.axis(n.attribute('axis', -1))})", since=13)


def _cumulative(n: Node) -> str:
    axis = n.axis(n.whole(1, "the axis")[0])
    flags = [" #t" if n.attribute(name, 0) else " #f" for name in ("reverse", "exclusive")]
    return f"(%onnx-cumsum {n.text(0)} {axis}{''.join(flags)})"


_add("CumSum", _cumulative, since=11, fixed=(1,))


# Products.

_add("MatMul", "(matmul {0} {1})", since=1)
_add(
    "Einsum",
    lambda n: f'(einsum "{n.attribute("equation").replace(" ", "")}" {" ".join(n.texts())})',
    since=12,
)
_add("Det", "(det {0})", since=11)


def _gemm(n: Node) -> str:
    a, b = [
        f"(transpose {n.text(place)})" if n.attribute(name, 0) else n.text(place)
        for place, name in enumerate(("transA", "transB"))
    ]
    alpha, beta = n.attribute("alpha", 1.0), n.attribute("beta", 1.0)
    product = f"(matmul {a} {b})" if alpha == 1 else f"(* {number_text(alpha)} (matmul {a} {b}))"
    if not n.has(2):
        return product
    c = n.text(2) if beta == 1 else f"(* {number_text(beta)} {n.text(2)})"
    return f"(+ {product} {c})"


_add("Gemm", _gemm, since=7)


# Shapes.

_add("Shape", lambda n: "", since=1, result="right", folds=shapes.shape)
_add("Size", lambda n: f"(size {n.text(0)})", since=1, result="right", folds=shapes.size)


def _shaped(n: Node, dims: Sequence[Item]) -> str:
    """The input with these lengths."""
    text = f"(reshape {number(n.value(0))} {list_text(dims)})"
    return f"(as-type {text} 'boolean)" if n.value(0).kind == "boolean" and n.rank() == 0 else text


def _reshaped(n: Node) -> str:
    """A length 0 is that of the input, unless `allowzero` is set."""
    items = n.attribute("shape") if n.version < 5 else n.items(1)
    if items is None:
        return f"(%onnx-reshape-by {n.text(0)} {n.text(1)} {'#t' if n.attribute('allowzero', 0) else '#f'})"
    if n.attribute("allowzero", 0) or 0 not in items:
        return f"(reshape {n.text(0)} {list_text(items)})"
    dims = shapes.lengths(n)
    own = [dims[place] if item == 0 else item for place, item in enumerate(items)]
    return f"(reshape {n.text(0)} {list_text(own)})"


_add("Reshape", _reshaped, folds=shapes.reshaped)


def _flattened(n: Node) -> str:
    axis = n.attribute("axis", 1)
    axis = axis + n.rank() if axis < 0 else axis
    dims = shapes.lengths(n)
    both = [shapes.product_of(dims[:axis]), shapes.product_of(dims[axis:])]
    return _shaped(n, both)


_add("Flatten", _flattened, since=1)


def _transposed(n: Node) -> str:
    order = n.attribute("perm")
    return f"(transpose {n.text(0)}{'' if order is None else f' #:axes {list_text(order)}'})"


_add("Transpose", _transposed, since=1)


def _given_axes(n: Node, more: bool = False) -> list[int] | None:
    """The axes of Squeeze and Unsqueeze: an attribute, and from version 13 on an input."""
    given = n.attribute("axes") if n.version < 13 else n.whole(1, "the axes") if n.has(1) else None
    return None if given is None else [n.axis(axis, more=len(given) if more else 0) for axis in given]


def _squeezed(n: Node) -> str:
    axes, x = _given_axes(n), n.text(0)
    if axes is None:
        return f"(%onnx-squeeze {x})"
    kept = [length for axis, length in enumerate(shapes.lengths(n)) if axis not in axes]
    return f"(reshape {x} {list_text(kept)})"


def _unsqueezed(n: Node) -> str:
    axes = _given_axes(n, more=True)
    assert axes is not None
    dims: list[Item] = shapes.lengths(n)
    for axis in sorted(axes):
        dims.insert(axis, 1)
    return converted(n.value(0), n.result_kind()) if not dims else _shaped(n, dims)


_add("Squeeze", _squeezed, since=1, fixed=(1,), folds=shapes.same)
_add("Unsqueeze", _unsqueezed, since=1, fixed=(1,), folds=shapes.same)


def _concatenated(n: Node) -> str:
    texts = n.texts()
    if len(texts) == 1:
        return texts[0]
    return f"(concatenate (list {' '.join(texts)}) #:axis {n.axis(n.attribute('axis', 1))})"


_add("Concat", _concatenated, folds=shapes.concatenated)


def _parts(n: Node) -> str:
    axis, x, count = n.axis(n.attribute("axis", 0)), n.text(0), len(n.outputs)
    lengths = n.attribute("split") if n.version < 13 else n.whole(1, "the lengths") if n.has(1) else None
    if lengths is None:
        parts = f"(%onnx-split-evenly {x} {axis} {count})"
    else:
        ends = [sum(lengths[: place + 1]) for place in range(len(lengths))]
        slices = [
            f"(slice {x} {end - length} {end} #:axis {axis})"
            for length, end in zip(lengths, ends, strict=True)
        ]
        parts = f"(list {' '.join(slices)})"
    return parts if count > 1 else f"(first {parts})"


_add("Split", _parts, since=2, fixed=(1,), result="right", counts_outputs=True)


def _slices(n: Node) -> str:
    text, dims = n.text(0), n.value(0).dims or ()
    for axis, start, end, step in shapes.slices(n):
        length = dims[axis] if axis < len(dims) else None
        if length is None or step < 0 or isinstance(start, str) or isinstance(end, str):
            text = f"(%onnx-slice {text} {axis} {start} {end} {step})"
        else:
            first, last, _ = slice(start, end).indices(length)
            text = f"(slice {text} {first} {max(first, last)} #:axis {axis}{f' #:step {step}' if step > 1 else ''})"
    return text


_add("Slice", _slices, since=1, fixed=(3, 4), result="right", folds=shapes.sliced)
_add(
    "Expand", lambda n: f"(%onnx-expand {n.text(0)} {n.list(1)} '{n.value(0).kind})", since=8, result="right"
)


def _tiled(n: Node) -> str:
    return f"(%onnx-tile {n.text(0)} {n.list(1)})"


_add("Tile", _tiled, since=6, result="right")


def _gathered(n: Node) -> str:
    return f"(gather {n.text(0)} {n.text(1)} #:axis {n.axis(n.attribute('axis', 0))})"


_add("Gather", _gathered, since=1, result="right", folds=shapes.gathered)
_add("GatherElements", lambda n: (
    f"(%onnx-gather-elements {n.text(0)} {n.text(1)} {n.axis(n.attribute('axis', 0))})"), since=11, result="right")  # fmt: skip
_add("GatherND", lambda n: f"(%onnx-gather-nd {n.text(0)} {n.text(1)} {n.attribute('batch_dims', 0)})", since=11,
    result="right")  # fmt: skip


def _reduction(n: Node) -> str:
    return f"'{n.attribute('reduction', 'none')}"


def _scattered(n: Node) -> str:
    axis = n.axis(n.attribute("axis", 0))
    return f"(%onnx-scatter-elements {n.text(0)} {n.text(1)} {n.text(2)} {axis} {_reduction(n)})"


_add("ScatterElements", _scattered, since=11)
_add("Scatter", _scattered, since=9)
_add(
    "ScatterND", lambda n: f"(%onnx-scatter-nd {n.text(0)} {n.text(1)} {n.text(2)} {_reduction(n)})", since=11
)


def _padded(n: Node) -> str:
    mode = n.attribute("mode", "constant")
    if n.version < 11:
        widths, value = list(n.attribute("pads")), n.number("value", 0)
    else:
        widths, value = n.whole(1, "the padding"), n.text(2, "0")
    rank = n.rank()
    axes = [n.axis(axis) for axis in n.whole(3, "the axes")] if n.has(3) else list(range(rank))
    count = len(widths) // 2
    each = {axis: (widths[place], widths[place + count]) for place, axis in enumerate(axes)}
    pairs = " ".join(
        [f"({before} . {behind})" for before, behind in [each.get(axis, (0, 0)) for axis in range(rank)]]
    )
    return f"(%onnx-pad {n.text(0)} '({pairs}) {value} '{mode} '{n.value(0).kind})"


_add("Pad", _padded, since=2, fixed=(1, 3), result="right", constants=(2,))


def _filled(n: Node) -> str:
    given = n.attribute("value")
    value, kind = ("0", "float32") if given is None else (number_text(given.reshape(-1)[0]), n.result_kind())
    if kind == "boolean":
        value = "1" if given.reshape(-1)[0] else "0"
    return f"(%onnx-as-type (full {n.list(0)} {value}) '{kind})"


_add("ConstantOfShape", _filled, since=9, result="right", folds=shapes.filled)


def _ranged(n: Node) -> str:
    start, stop, step = n.texts()
    return f"(as-type (%onnx-range {start} {stop} {step}) '{n.result_kind()})"


_add("Range", _ranged, since=11, result="right", constants=(0, 1, 2), folds=shapes.ranged)


def _hot(n: Node) -> str:
    axis = n.axis(n.attribute("axis", -1), more=1)
    depth = n.whole(1, "the depth")[0] if n.items(1) is not None else f"(%onnx-scalar {n.text(1)})"
    return f"(as-type (%onnx-one-hot {n.text(0)} {depth} {n.text(2)} {axis}) '{n.result_kind()})"


_add("OneHot", _hot, since=9, result="right", constants=(1, 2))


def _triangle(n: Node) -> str:
    k = n.whole(1, "the diagonal")[0] if n.has(1) else 0
    return f"(as-type (%onnx-trilu {n.text(0)} {k} {'#t' if n.attribute('upper', 1) else '#f'}) '{n.result_kind()})"


_add("Trilu", _triangle, since=14, fixed=(1,), result="right")


def _unit(n: Node) -> str:
    return f"(as-type (%onnx-eye (shape {n.text(0)}) {n.attribute('k', 0)}) '{n.result_kind()})"


_add("EyeLike", _unit, since=9, result="right")
_add("DepthToSpace", lambda n: (
    f"(%onnx-depth-to-space {n.text(0)} {n.attribute('blocksize')} {'#t' if n.attribute('mode', 'DCR') == 'CRD' else '#f'})"),
    since=1, result="right")  # fmt: skip
_add("SpaceToDepth", lambda n: (
    f"(%onnx-space-to-depth {n.text(0)} {n.attribute('blocksize')} {'#t' if n.attribute('mode', 'DCR') == 'CRD' else '#f'})"),
    since=1, result="right")  # fmt: skip


def _largest(n: Node) -> str:
    if n.version < 10:
        k: Any = n.attribute("k")
    else:
        items = n.items(1)
        k = f"(%onnx-scalar {n.text(1)})" if items is None else items[0]
    axis = n.axis(n.attribute("axis", -1))
    return f"(%onnx-top-k {n.text(0)} {k} {axis} {'#t' if n.attribute('largest', 1) else '#f'})"


_add("TopK", _largest, since=1, outputs=2, result="right")


# Layers.


def _pairs(values: Sequence[int], count: int) -> str:
    """Padding as ONNX has it, first all numbers before, then all behind, as a list of pairs."""
    pads = list(values) if values else [0] * (2 * count)
    return "'(" + " ".join([f"({pads[k]} . {pads[k + count]})" for k in range(count)]) + ")"


def _geometry(n: Node, window: Sequence[int]) -> str:
    """The stride, dilation, padding, and how the padding is chosen."""
    count = len(window)
    strides = n.attribute("strides") or [1] * count
    dilations = n.attribute("dilations") or [1] * count
    automatic = n.attribute("auto_pad", "NOTSET").lower().replace("_", "-")
    return (
        f"{list_text(strides)} {list_text(dilations)} {_pairs(n.attribute('pads', []), count)} '{automatic}"
    )


def _by_channel(n: Node, text: str, channels: Any) -> str:
    """A vector with an entry for each channel, axis 1 of the input."""
    return f"(reshape {text} {list_text([channels, *[1] * (n.rank() - 2)])})"


def _with_bias(n: Node, text: str) -> str:
    if not n.has(2):
        return text
    dims = n.value(2).dims
    count = dims[0] if dims and dims[0] is not None else f"(size {n.text(2)})"
    return f"(+ {text} {_by_channel(n, n.text(2), count)})"


def _even(n: Node, count: int) -> str | None:
    """The operands of `conv2d` and the pools; None if they do not take this padding, or not so many axes."""
    automatic = n.attribute("auto_pad", "NOTSET")
    pads = n.attribute("pads") or [0] * (2 * count)
    if automatic == "SAME_UPPER":
        padding = "'same"
    elif automatic == "VALID":
        padding = "0"
    elif automatic == "SAME_LOWER" or pads[:count] != pads[count:]:
        return None
    else:
        padding = list_text(pads[:count])
    return (
        f"#:stride {list_text(n.attribute('strides') or [1] * count)} #:padding {padding}"
        if count == 2
        else None
    )


def _convolved(n: Node) -> str:
    count, groups = n.rank() - 2, n.attribute("group", 1)
    even = _even(n, count)
    if even is None:
        text = f"(%onnx-conv {n.text(0)} {n.text(1)} {_geometry(n, [1] * count)} {groups})"
    else:
        dilations = n.attribute("dilations") or [1, 1]
        text = f"(conv2d {n.text(0)} {n.text(1)} {even}"
        text += f" #:dilation {list_text(dilations)}" if set(dilations) != {1} else ""
        text += f" #:groups {groups})" if groups != 1 else ")"
    return _with_bias(n, text)


_add("Conv", _convolved, since=1)


def _transposed_convolution(n: Node) -> str:
    count = n.rank() - 2
    shape, more = n.attribute("output_shape"), n.attribute("output_padding") or [0] * count
    text = (
        f"(%onnx-conv-transpose {n.text(0)} {n.text(1)} {_geometry(n, [1] * count)} {n.attribute('group', 1)} "
        f"{list_text(more)} {'#f' if shape is None else list_text(shape[-count:])})"
    )
    return _with_bias(n, text)


_add("ConvTranspose", _transposed_convolution, since=1)


def _pooled(operation: str, last: Callable[[Node], str], simple: str = "") -> Rule:
    """`simple`: what the library has for two axes."""

    def rule(n: Node) -> str:
        window = n.attribute("kernel_shape")
        even = _even(n, len(window))
        is_plain = not n.attribute("ceil_mode", 0) and set(n.attribute("dilations") or [1]) == {1}
        if simple and even and is_plain and last(n) in ("", " #f"):
            return f"({simple} {n.text(0)} {list_text(window)} {even})"
        beyond = "#t" if n.attribute("ceil_mode", 0) else "#f"
        return f"({operation} {n.text(0)} {list_text(window)} {_geometry(n, window)} {beyond}{last(n)})"

    return rule


_largest_pooled = _pooled("%onnx-max-pool", lambda n: "", "max-pool")


def _max_pooled(n: Node) -> str:
    """The second output has the places of the first among all entries, counted by columns if `storage_order` says so."""
    if len(n.outputs) == 1:
        return _largest_pooled(n)
    window = n.attribute("kernel_shape")
    flags = " ".join(["#t" if n.attribute(name, 0) else "#f" for name in ("ceil_mode", "storage_order")])
    return f"(%onnx-max-pool-places {n.text(0)} {list_text(window)} {_geometry(n, window)} {flags})"


_add("MaxPool", _max_pooled, since=1, result="right")


def _counting(n: Node) -> str:
    return " #t" if n.attribute("count_include_pad", 0) and any(n.attribute("pads") or [0]) else " #f"


_add("AveragePool", _pooled("%onnx-avg-pool", _counting, "avg-pool"), since=7)
_add("LpPool", _pooled("%onnx-lp-pool", lambda n: f" {n.attribute('p', 2)}"), since=2)


def _over_places(operation: str) -> Rule:
    return lambda n: f"({operation} {n.text(0)} #:axis {list_text(range(2, n.rank()))} #:keep #t)"


_add("GlobalAveragePool", _over_places("mean"), since=1)
_add("GlobalMaxPool", _over_places("maximum"), since=1)


def _batch_normed(n: Node) -> str:
    epsilon = n.number("epsilon", 1e-5)
    if n.version >= 14 and n.attribute("training_mode", 0):
        text = f"(%onnx-batch-norm-training {' '.join(n.texts())} {epsilon} {n.number('momentum', 0.9)})"
        return text if len(n.outputs) > 1 else f"(first {text})"
    if len(n.outputs) > 1:
        raise n.refused("outputs of training in inference")
    x, scale, bias, mean, variance = n.texts()
    dims = n.value(1).dims
    channels = dims[0] if dims and dims[0] is not None else f"(size {scale})"
    shift = _by_channel(n, f"(- {bias} (* factor {mean}))", channels)
    factor = f"(/ {scale} (sqrt (+ {variance} {epsilon})))"
    return f"(let ((factor {factor})) (+ (* {x} {_by_channel(n, 'factor', channels)}) {shift}))"


_add("BatchNormalization", _batch_normed, since=7)


def _layer_normed(n: Node) -> str:
    axes = list_text(range(n.axis(n.attribute("axis", -1)), n.rank()))
    text = f"(%onnx-layer-norm {n.text(0)} {n.text(1)} {n.text(2, '0')} {axes} {n.number('epsilon', 1e-5)})"
    return text if len(n.outputs) > 1 else f"(first {text})"


_add("LayerNormalization", _layer_normed, since=17)


def _rms_normed(n: Node) -> str:
    axes = list_text(range(n.axis(n.attribute("axis", -1)), n.rank()))
    power = f"(mean (square {n.text(0)}) #:axis {axes} #:keep #t)"
    return f"(* {n.text(1)} (/ {n.text(0)} (sqrt (+ {power} {n.number('epsilon', 1e-5)}))))"


_add("RMSNormalization", _rms_normed, since=23)
_add(
    "InstanceNormalization",
    lambda n: f"(%onnx-instance-norm {' '.join(n.texts())} {n.number('epsilon', 1e-5)})",
    since=1,
)


def _group_normed(n: Node) -> str:
    if n.version < 21:
        raise n.refused("before version 21 its scale was by group")
    return f"(%onnx-group-norm {' '.join(n.texts())} {n.attribute('num_groups')} {n.number('epsilon', 1e-5)})"


_add("GroupNormalization", _group_normed, since=21)
_add("LRN", lambda n: (
    f"(%onnx-lrn {n.text(0)} {n.attribute('size')} {n.number('alpha', 1e-4)} {n.number('beta', 0.75)} {n.number('bias', 1)})"),
    since=1)  # fmt: skip


def _lp_normed(n: Node) -> str:
    axis, x = n.axis(n.attribute("axis", -1)), n.text(0)
    inner, outer = ("(abs {})", "{}") if n.attribute("p", 2) == 1 else ("(square {})", "(sqrt {})")
    length = outer.format(f"(sum {inner.format(x)} #:axis {axis} #:keep #t)")
    return f"(let ((length {length})) (/ {x} (where (= length 0) 1 length)))"


_add("LpNormalization", _lp_normed, since=1)


# Recurrent layers.

_GATES = {
    "sigmoid": "sigmoid", "tanh": "tanh", "relu": "relu", "softplus": "softplus",
    "softsign": "(lambda (x) (/ x (+ 1 (abs x))))",
}  # fmt: skip
_PARAMETERS: dict[str, tuple[Callable[..., str], tuple[float, ...]]] = {
    "leakyrelu": (_leaky, (0.01,)),
    "elu": (_elu, (1.0,)),
    "hardsigmoid": (_hard_sigmoid, (0.2, 0.5)),
    "thresholdedrelu": (lambda x, alpha: f"(where (> {x} {alpha}) {x} 0)", (1.0,)),
    "affine": (lambda x, alpha, beta: f"(+ (* {alpha} {x}) {beta})", (1.0, 0.0)),
    "scaledtanh": (lambda x, alpha, beta: f"(* {alpha} (tanh (* {beta} {x})))", (1.0, 1.0)),
}


def _activations(n: Node, default: list[str], directions: int) -> list[str]:
    names = n.attribute("activations") or default * directions
    given = [list(n.attribute("activation_alpha") or []), list(n.attribute("activation_beta") or [])]
    made = []
    for name in [one.lower() for one in names]:
        if name in _GATES:
            made.append(_GATES[name])
        elif name in _PARAMETERS:
            write, defaults = _PARAMETERS[name]
            numbers = [given[k].pop(0) if given[k] else default for k, default in enumerate(defaults)]
            made.append(f"(lambda (x) {write('x', *[number_text(one) for one in numbers])})")
        else:
            raise n.refused(f"the activation {name}")
    return made


def _recurrent(operation: str, default: list[str], states: int, more: Callable[[Node], str]) -> Rule:
    """An RNN, GRU or LSTM: one call for each direction, whose outputs are stacked behind the axis of time."""

    def rule(n: Node) -> str:
        if n.attribute("clip") is not None:
            raise n.refused("the attribute clip")
        if n.attribute("input_forget", 0):
            raise n.refused("the attribute input_forget")
        direction = n.attribute("direction", "forward")
        backs = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
        gates = _activations(n, default, len(backs))
        batch_first = n.attribute("layout", 0)
        x = f"(transpose {n.text(0)} #:axes '(1 0 2))" if batch_first else n.text(0)
        calls = []
        for place, back in enumerate(backs):
            starts = []
            for state in range(states):
                if n.has(5 + state):
                    axis = " #:axis 1" if batch_first else ""
                    starts.append(f"(%onnx-part {n.text(5 + state)} {place}{' 1' if axis else ' 0'})")
                else:
                    starts.append(f"(%onnx-start x (tensor-ref {n.text(2)} {place}))")
            bias = f"(tensor-ref {n.text(3)} {place})" if n.has(3) else "#f"
            peepholes = (
                f" {f'(tensor-ref {n.text(7)} {place})' if n.has(7) else '#f'}" if operation == "lstm" else ""
            )
            count = len(default)
            own = " ".join(gates[place * count : (place + 1) * count])
            calls.append(
                f"(%onnx-{operation} x (tensor-ref {n.text(1)} {place}) (tensor-ref {n.text(2)} {place}) {bias} "
                f"{' '.join(starts)}{peepholes} {n.text(4, '#f')} {'#t' if back else '#f'} {own}{more(n)})"
            )
        text = f"(let ((x {x})) (%onnx-directions (list {' '.join(calls)}) {'#t' if batch_first else '#f'}))"
        return text

    return rule


def _linear_first(n: Node) -> str:
    return " #t" if n.attribute("linear_before_reset", 0) else " #f"


_add("RNN", _recurrent("rnn", ["Tanh"], 1, lambda n: ""), since=7, outputs=2)
_add("GRU", _recurrent("gru", ["Sigmoid", "Tanh"], 1, _linear_first), since=7, outputs=2)
_add("LSTM", _recurrent("lstm", ["Sigmoid", "Tanh", "Tanh"], 2, lambda n: ""), since=7, outputs=3)


# Losses, signals, and entries that are chosen.

_add("NegativeLogLikelihoodLoss", selections.likelihood, since=12)
_add("SoftmaxCrossEntropyLoss", selections.cross_entropy, since=12)
_add("MeanVarianceNormalization", selections.normalized, since=9)
_add("CumProd", selections.cumulative_product, since=26, fixed=(1,))
_add("ReverseSequence", selections.reversed_sequences, since=10, result="right")
_add("Compress", selections.compressed, since=9, result="right")
_add("NonZero", lambda n: f"(%onnx-non-zero {n.text(0)})", since=9)
_add("NonMaxSuppression", selections.suppressed, since=10, constants=(2, 3, 4))
_add("HannWindow", selections.window(0.5, -0.5, 0), since=17, result="right")
_add("HammingWindow", selections.window(25 / 46, -21 / 46, 0), since=17, result="right")
_add("BlackmanWindow", selections.window(0.42, -0.5, 0.08), since=17, result="right")
_add("DFT", selections.fourier, since=17, fixed=(2,), constants=(1, 2))
_add("STFT", selections.short_time, since=17, constants=(1, 3))
_add("DeformConv", images.deformed, since=19)

# Transformers.

_add("Attention", attention.attended, since=23, outputs=4, result="right")
_add("RotaryEmbedding", attention.rotated, since=23)
_add("LinearAttention", attention.linear, since=27, outputs=2)
_add("CausalConvWithState", attention.causal, since=27, outputs=2)
_add("SwiGLU", attention.gated, since=27)
_add("TensorScatter", attention.cached, since=24, result="right")

# Images.

_add("Resize", images.resized, since=10, fixed=(1, 2, 3), constants=(1, 2, 3), result="right")
_add("Upsample", images.resized, since=7, fixed=(1,), constants=(1,), result="right")
_add("GridSample", images.sampled, since=16)
_add("AffineGrid", images.grid, since=20, fixed=(1,))
_add("RoiAlign", images.aligned, since=10)
_add("Col2Im", images.from_columns, since=18, fixed=(1, 2))
_add("CenterCropPad", images.centred, since=18, fixed=(1,), result="right")
_add("MaxUnpool", images.unpooled, since=9, fixed=(2,))

# Graphs inside.

_add("If", control.branches, since=1, result="right", counts_outputs=True)
_add("Loop", control.loop, since=1, result="right", counts_outputs=True)
_add("Scan", control.scan, since=9, result="right", counts_outputs=True)
