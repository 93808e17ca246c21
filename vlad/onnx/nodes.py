"""The nodes of ONNX for the primitives of the language: one entry of one table each; and the model that they make up.

In: a row and its operands, some of which are traced (tracing.py).  Out: nodes, and the traced result. The kind of number of a
tensor is that of the language's result; of a real, which has none, that of the tensors it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vlad.data.source import Span
from vlad.data.tensors import Tensor, on_host
from vlad.data.values import FALSE, TRUE, ZERO, Boolean, Primitive, Symbol, Value, is_pair, look
from vlad.onnx.model import package
from vlad.onnx.tracing import Traced, Tracer, example_of, holds_traced, refuse
from vlad.onnx.values import KINDS, REALS

VERSION = 18  # of the operator set
IR = 9  # the version of the format in which it came
NUMBERS = {kind: number for number, kind in KINDS.items()}


class Graph:
    """The nodes so far, and what they refer to. `rows` is the table, which derivative_nodes.py completes."""

    def __init__(self, machine: Tracer, rows: Mapping[str, Rule]) -> None:
        self.onnx = package("vlad.to_onnx")
        self.machine, self.rows = machine, rows
        self.nodes: list[Any] = []
        self.initial: list[Any] = []
        self.taken: set[str] = set()

    def name(self, base: str) -> str:
        name, count = base, 1
        while name in self.taken:
            count += 1
            name = f"{base}_{count}"
        self.taken.add(name)
        return name

    def add(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """The name of a new node's output."""
        names = [self.name(op.lower()) for _ in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(op, list(inputs), names, name=names[0], **attributes))
        return names[0] if outputs == 1 else names

    def stored(self, array: Any, base: str = "constant") -> str:
        """The name of an initial value."""
        name = self.name(base)
        self.initial.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def ints(self, numbers: Sequence[int]) -> str:
        import numpy

        return self.stored(numpy.asarray(numbers, "int64").reshape(len(numbers)))

    def of(self, value: Any, kind: str) -> str:
        """The name of a value as one of this kind of number."""
        if type(value) is Traced:
            return value.name if value.kind == kind else self.add("Cast", value.name, to=NUMBERS[kind])
        return self.stored(array_of(value, kind))

    def emit(self, row: Primitive, operands: Sequence[Any], span: Span | None) -> Any:
        """The nodes of an application, and its result. Raises VladError."""
        rule = self.rows.get(row.name)
        if rule is None:
            refuse(
                f"`{row.display_name or row.name}`", span, "docs/onnx.md has the operations that are exported"
            )
        example = self.machine.rule(row)(*[example_of(one) for one in operands])
        if example is ZERO:
            return ZERO
        return rule(Application(self, row.name, list(operands), example, span))


def array_of(value: Value, kind: str) -> Any:
    """The array of a tensor, a real or a boolean."""
    import numpy

    value = look(value)
    if isinstance(value, Boolean):
        value = value is TRUE
    array = on_host(value.array) if type(value) is Tensor else value
    return numpy.asarray(array, "bool" if kind == "boolean" else kind)


class Application:
    """A row's application: what the rules below write nodes of."""

    def __init__(
        self, graph: Graph, name: str, operands: list[Any], example: Value, span: Span | None
    ) -> None:
        self.graph, self.row, self.operands, self.example, self.span = graph, name, operands, example, span

    def kind(self) -> str:
        """The kind of number of the result; of a real, that of what it is computed from."""
        example = look(self.example)
        if isinstance(example, Boolean):
            return "boolean"
        return kind_of(example) if type(example) is Tensor else real_kind(self.operands)

    def result(self, name: str, example: Value | None = None, kind: str | None = None) -> Traced:
        return Traced(name, kind or self.kind(), self.example if example is None else example)

    def known(self, place: int) -> Any:
        """An operand that has to be known, in Python's terms. Raises VladError."""
        value = self.operands[place]
        if holds_traced(value):
            refuse(f"`{self.row}` by a number that is known in the call only", self.span)
        return plain(value)

    def axis(self, place: int, rank: int) -> int:
        axis = int(self.known(place))
        return axis + rank if axis < 0 else axis


def plain(value: Value) -> Any:
    """A number, symbol, boolean or list as Python has it; numbers are whole."""
    value = look(value)
    if type(value) is float:
        return int(value)
    if isinstance(value, Boolean):
        return value is TRUE
    if type(value) is Symbol:
        return value.name
    if type(value) is Tensor:
        return [int(one) for one in on_host(value.array).reshape(-1)]
    found = []
    while is_pair(value):
        found.append(plain(value[0]))
        value = look(value[1])
    return found if value == () else [*found, plain(value)]  # several operands are a tuple


def kind_of(tensor: Tensor) -> str:
    kind = str(tensor.array.dtype)
    return "boolean" if kind == "bool" else kind


def real_kind(operands: Sequence[Any]) -> str:
    """The kind of number of a real that is computed from these."""
    kinds = {one.kind for one in _leaves(operands) if one.kind in REALS}
    return "float32" if kinds == {"float32"} else "float64"


def _leaves(values: Sequence[Any]) -> list[Traced]:
    found: list[Traced] = []
    for value in values:
        if type(value) is Traced:
            found.append(value)
        elif type(value) is tuple:
            found += _leaves([part for part in value if type(part) in (tuple, Traced)])
    return found


def dims_of(value: Any) -> tuple[int, ...]:
    example = look(example_of(value))
    return tuple(example.array.shape) if type(example) is Tensor else ()


Rule = Callable[[Application], Any]
ROWS: dict[str, Rule] = {}


def row(*names: str) -> Callable[[Rule], Rule]:
    def add(rule: Rule) -> Rule:
        ROWS.update(dict.fromkeys(names, rule))
        return rule

    return add


def _simple(op: str) -> Rule:
    """An operator entry by entry, of operands of the result's kind."""

    def rule(a: Application) -> Traced:
        kind = a.kind()
        return a.result(a.graph.add(op, *[a.graph.of(one, kind) for one in a.operands]))

    return rule


for _name, _op in {
    "+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "expt": "Pow", "max": "Max", "min": "Min", "negate": "Neg",
    "reciprocal": "Reciprocal", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan",
    "asin": "Asin", "acos": "Acos", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh",
    "atanh": "Atanh", "erf": "Erf", "sigmoid": "Sigmoid", "relu": "Relu", "softplus": "Softplus", "abs": "Abs",
    "floor": "Floor", "ceiling": "Ceil", "round": "Round", "sign": "Sign", "matmul": "MatMul", "dot": "MatMul",
    "det": "Det",
}.items():  # fmt: skip
    ROWS[_name] = _simple(_op)


def _compared(op: str) -> Rule:
    def rule(a: Application) -> Traced:
        tensors = [one for one in map(example_of, a.operands) if type(one) is Tensor]
        kinds = {kind_of(one) for one in tensors} | ({real_kind(a.operands)} if not tensors else set())
        kind = kinds.pop() if len(kinds) == 1 else "float64"
        kind = "int64" if kind == "boolean" else kind
        return a.result(a.graph.add(op, *[a.graph.of(one, kind) for one in a.operands]), kind="boolean")

    return rule


for _name, _op in {
    "=": "Equal",
    "<": "Less",
    ">": "Greater",
    "<=": "LessOrEqual",
    ">=": "GreaterOrEqual",
}.items():
    ROWS[_name] = _compared(_op)


@row("where")
def _where(a: Application) -> Traced:
    kind = a.kind()
    c, x, y = a.operands
    return a.result(a.graph.add("Where", a.graph.of(c, "boolean"), a.graph.of(x, kind), a.graph.of(y, kind)))


@row("gelu")
def _gelu(a: Application) -> Traced:
    """In version 18 there is no operator: x (1 + erf (x / sqrt 2)) / 2."""
    g, kind, (x,) = a.graph, a.kind(), a.operands
    erf = g.add("Erf", g.add("Mul", g.of(x, kind), g.of(0.5**0.5, kind)))
    half = g.add("Mul", g.of(x, kind), g.of(0.5, kind))
    return a.result(g.add("Mul", half, g.add("Add", erf, g.of(1.0, kind))))


@row("log1p")
def _log1p(a: Application) -> Traced:
    kind = a.kind()
    return a.result(
        a.graph.add("Log", a.graph.add("Add", a.graph.of(a.operands[0], kind), a.graph.of(1.0, kind)))
    )


@row("as-type")
def _as_type(a: Application) -> Traced:
    return a.result(a.graph.of(a.operands[0], a.known(1)), kind=a.known(1))


# Shapes.


@row("reshape", "broadcast-to")
def _reshape(a: Application) -> Traced:
    a.known(1)
    dims = a.graph.ints(dims_of(a.example))
    op = "Reshape" if a.row == "reshape" else "Expand"
    return a.result(a.graph.add(op, a.graph.of(a.operands[0], a.kind()), dims))


@row("transpose")
def _transpose(a: Application) -> Traced:
    rank = len(dims_of(a.operands[0]))
    order = (
        list(range(rank))[::-1] if a.operands[1] is FALSE else [k + rank if k < 0 else k for k in a.known(1)]
    )
    return a.result(a.graph.add("Transpose", a.graph.of(a.operands[0], a.kind()), perm=order))


def elements(a: Application, place: int) -> list[Any]:
    found, value = [], a.operands[place]
    while is_pair(value):
        found.append(value[0])
        value = look(value[1])
    return found


@row("concatenate", "stack")
def _joined(a: Application) -> Traced:
    g, kind, parts = a.graph, a.kind(), elements(a, 0)
    axis = a.axis(1, len(dims_of(a.example)))
    names = [g.of(part, kind) for part in parts]
    if a.row == "stack":
        names = [g.add("Unsqueeze", name, g.ints([axis])) for name in names]
    return a.result(g.add("Concat", *names, axis=axis))


def slice_node(g: Graph, name: str, axis: int, start: int, stop: int, step: int = 1) -> str:
    made: str = g.add("Slice", name, g.ints([start]), g.ints([stop]), g.ints([axis]), g.ints([step]))
    return made


@row("slice")
def _sliced(a: Application) -> Traced:
    start, stop, step = a.known(1), a.known(2), a.known(4)
    axis = a.axis(3, len(dims_of(a.operands[0])))
    return a.result(slice_node(a.graph, a.graph.of(a.operands[0], a.kind()), axis, start, stop, step))


@row("flipped")
def _flipped(a: Application) -> Traced:
    axis = a.axis(1, len(dims_of(a.operands[0])))
    return a.result(slice_node(a.graph, a.graph.of(a.operands[0], a.kind()), axis, -1, -(2**31), -1))


@row("tensor-ref")
def _part(a: Application) -> Traced:
    import numpy

    index, name = a.known(1), a.graph.of(a.operands[0], a.operands[0].kind)
    for place in index if isinstance(index, list) else [index]:
        name = a.graph.add("Gather", name, a.graph.stored(numpy.asarray(place, "int64")), axis=0)
    return a.result(name, kind=a.operands[0].kind)


@row("unstack", "split")
def _parts(a: Application) -> Any:
    """A list; its elements are traced."""
    t = a.operands[0]
    if type(t) is not Traced:
        refuse(f"`{a.row}` of a list", a.span)
    axis = a.axis(len(a.operands) - 1, len(dims_of(t)))
    examples, value = [], look(a.example)
    while is_pair(value):
        examples.append(value[0])
        value = look(value[1])
    length = dims_of(t)[axis] // max(len(examples), 1)
    made: Any = ()
    for place in reversed(range(len(examples))):
        name = slice_node(a.graph, t.name, axis, place * length, (place + 1) * length)
        if a.row == "unstack":
            name = a.graph.add("Squeeze", name, a.graph.ints([axis]))
        made = Traced(name, t.kind, examples[place]), made
    return made


@row("gather")
def _gather(a: Application) -> Traced:
    t, kind = a.operands[0], a.operands[0].kind if type(a.operands[0]) is Traced else a.kind()
    axis = a.axis(2, len(dims_of(t)))
    return a.result(
        a.graph.add("Gather", a.graph.of(t, kind), a.graph.of(a.operands[1], "int64"), axis=axis), kind=kind
    )


# Reductions.


def _reducing(op: str) -> Rule:
    def rule(a: Application) -> Traced:
        g, kind = a.graph, a.kind()
        return a.result(_reduced(a, op, g.of(a.operands[0], kind), a.known(2)))

    return rule


def _reduced(a: Application, op: str, name: str, keep: bool) -> str:
    rank = len(dims_of(a.operands[0]))
    given = a.known(1)
    axes = list(range(rank)) if given is False else given if isinstance(given, list) else [given]
    if not axes:
        return name
    made: str = a.graph.add(
        op, name, a.graph.ints([k + rank if k < 0 else k for k in axes]), keepdims=int(keep)
    )
    return made


for _name, _op in {
    "sum": "ReduceSum", "mean": "ReduceMean", "maximum": "ReduceMax", "minimum": "ReduceMin", "prod": "ReduceProd",
    "logsumexp": "ReduceLogSumExp",
}.items():  # fmt: skip
    ROWS[_name] = _reducing(_op)


@row("variance")
def _variance(a: Application) -> Traced:
    g, kind = a.graph, a.kind()
    x = g.of(a.operands[0], kind)
    off = g.add("Sub", x, _reduced(a, "ReduceMean", x, True))
    return a.result(_reduced(a, "ReduceMean", g.add("Mul", off, off), a.known(2)))


@row("softmax", "log-softmax")
def _softmax(a: Application) -> Traced:
    op = "Softmax" if a.row == "softmax" else "LogSoftmax"
    axis = a.axis(1, len(dims_of(a.operands[0])))
    return a.result(a.graph.add(op, a.graph.of(a.operands[0], a.kind()), axis=axis))


@row("argmax", "argminimum")
def _argmax(a: Application) -> Traced:
    g, t = a.graph, a.operands[0]
    name, axis = t.name, 0
    if a.operands[1] is FALSE:
        name = g.add("Reshape", name, g.ints([-1]))
    else:
        axis = a.axis(1, len(dims_of(t)))
    op = "ArgMax" if a.row == "argmax" else "ArgMin"
    return a.result(g.add(op, name, axis=axis, keepdims=0), kind="int64")


@row("norm")
def _norm(a: Application) -> Traced:
    return a.result(a.graph.add("ReduceL2", a.graph.of(a.operands[0], a.kind()), keepdims=0))


@row("set-entry")
def _set_entry(a: Application) -> Traced:
    """An entry or a part at known indices, to which x is repeated."""
    import numpy

    g, kind, index = a.graph, a.kind(), a.known(1)
    index = index if isinstance(index, list) else [index]
    dims = dims_of(a.operands[0])
    places = [place + length if place < 0 else place for place, length in zip(index, dims, strict=False)]
    part = g.add("Expand", g.of(a.operands[2], kind), g.ints([1, *dims[len(index) :]]))
    at = g.stored(numpy.asarray([places], "int64"))
    return a.result(g.add("ScatterND", g.of(a.operands[0], kind), at, part))


@row("cumsum")
def _cumsum(a: Application) -> Traced:
    import numpy

    axis = a.graph.stored(numpy.asarray(a.axis(1, len(dims_of(a.operands[0]))), "int64"))
    return a.result(a.graph.add("CumSum", a.graph.of(a.operands[0], a.kind()), axis, reverse=int(a.known(2))))


@row("outer")
def _outer(a: Application) -> Traced:
    g, kind, (x, y) = a.graph, a.kind(), a.operands
    return a.result(g.add("Mul", g.add("Unsqueeze", g.of(x, kind), g.ints([1])), g.of(y, kind)))


# Layers.


def two(value: Any) -> list[int]:
    return value if isinstance(value, list) else [value, value]


def _padding(value: Any) -> dict[str, Any]:
    if value in ("same", "valid"):
        return {"auto_pad": "SAME_UPPER" if value == "same" else "VALID"}
    return {"pads": two(value) * 2}


@row("conv2d")
def _conv2d(a: Application) -> Traced:
    kind = a.kind()
    return a.result(a.graph.add(
        "Conv", a.graph.of(a.operands[0], kind), a.graph.of(a.operands[1], kind), strides=two(a.known(2)),
        dilations=two(a.known(4)), group=a.known(5), **_padding(a.known(3))))  # fmt: skip


@row("max-pool", "avg-pool")
def _pool(a: Application) -> Traced:
    """Over the last two axes of any tensor; ONNX has two axes before them."""
    g, kind, dims = a.graph, a.kind(), dims_of(a.operands[0])
    window = two(a.known(1))
    stride = window if a.operands[2] is FALSE else two(a.known(2))
    x = g.of(a.operands[0], kind)
    x = x if len(dims) == 4 else g.add("Reshape", x, g.ints([1, -1, *dims[-2:]]))
    op = "MaxPool" if a.row == "max-pool" else "AveragePool"
    made = g.add(op, x, kernel_shape=window, strides=stride, **_padding(a.known(3)))
    return a.result(made if len(dims) == 4 else g.add("Reshape", made, g.ints(dims_of(a.example))))
