"""`vlad.to_onnx`: a procedure of a session as a model of ONNX.

In: a procedure, and example arguments.  Out: a model of the package onnx, which its checker has accepted.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from vlad.data.errors import VladError
from vlad.data.source import is_internal
from vlad.data.tensors import Tensor
from vlad.data.values import Boolean, String, Symbol, Value, is_pair, look
from vlad.data.write import displayed
from vlad.onnx.derivative_nodes import ROWS
from vlad.onnx.nodes import IR, NUMBERS, VERSION, Graph, array_of, kind_of
from vlad.onnx.tracing import Traced, Tracing
from vlad.python.convert import from_python
from vlad.python.derivatives import session_procedure


def to_onnx(f: Any, *examples: Any, stored: Collection[int] = ()) -> Any:
    """Export a procedure, or a function of `vlad.function`, as a model of the package onnx. Examples, an argument each, give the
    shapes and kinds of numbers; structures of arrays, such as dicts, are an input for each array. The arrays of the arguments
    whose numbers are in `stored` become initial values of the model. A list or pair as result is an output for each part.

    Derivatives are exported like other procedures: `vlad.to_onnx(vlad.grad(f), x)`.

    The values of other arguments do not matter. So a choice or a loop that depends on them is refused, as is an operation
    without counterpart: VladError names it, with its place. A loop whose number of turns is known is as many nodes.
    """
    procedure = session_procedure(f, "exported")
    session = procedure.session
    parameters = procedure.taken().parameters
    with session._lock:
        graph = Graph(session.machine, ROWS)
        inputs: list[Any] = []
        arguments = []
        for number, example in enumerate(examples):
            base = parameters[number] if number < len(parameters) else f"argument_{number}"
            value = from_python(example, procedure._apply)
            arguments.append(_argument(graph, value, str(base), None if number in stored else inputs))
        tracing = Tracing(session.machine, session.apply, graph.emit)
        result = tracing.call(procedure.renewed(), arguments, None)
        return _model(graph, inputs, result, procedure.__name__)


def _argument(graph: Graph, value: Any, base: str, inputs: list[Any] | None) -> Any:
    """The value with its tensors and reals traced, as inputs or, without a list of those, as initial values. Their names are the
    keys before them, or numbered."""
    value = look(value)
    if type(value) in (Tensor, float):
        return _leaf(graph, value, base, inputs)
    if not is_pair(value):
        return value
    if type(look(value[0])) in (Symbol, String):  # a key, or the mark of a structure of Python
        word = displayed(value[0])
        return value[0], _argument(graph, value[1], base if is_internal(word) else word, inputs)
    parts: list[Any] = []
    while is_pair(value):
        parts.append(_argument(graph, value[0], f"{base}_{len(parts)}", inputs))
        value = look(value[1])
    made = _argument(graph, value, f"{base}_{len(parts)}", inputs)
    for part in reversed(parts):
        made = part, made
    return made


def _leaf(graph: Graph, value: Value, base: str, inputs: list[Any] | None) -> Traced:
    kind = kind_of(value) if type(value) is Tensor else "float64"
    if kind not in NUMBERS:
        raise VladError(
            "cannot-export", f"An example has numbers of the kind {kind}", hint=", ".join(NUMBERS)
        )
    if inputs is None:
        return Traced(graph.stored(array_of(value, kind), base), kind, value)
    name = graph.name(base)
    inputs.append(graph.onnx.helper.make_tensor_value_info(name, NUMBERS[kind], _dims(value)))
    return Traced(name, kind, value)


def _dims(value: Value) -> list[int]:
    return list(value.array.shape) if type(value) is Tensor else []


def _model(graph: Graph, inputs: list[Any], result: Any, name: str) -> Any:
    onnx = graph.onnx
    outputs = []
    for key, part in _parts(result, "output"):
        if type(part) is not Traced:
            kind = (
                kind_of(part)
                if type(part) is Tensor
                else "boolean"
                if isinstance(part, Boolean)
                else "float64"
            )
            part = Traced(graph.of(part, kind), kind, part)
        output = graph.name(key)
        graph.nodes.append(onnx.helper.make_node("Identity", [part.name], [output]))
        outputs.append(
            onnx.helper.make_tensor_value_info(output, NUMBERS[part.kind], _dims(look(part.example)))
        )
    made = onnx.helper.make_graph(graph.nodes, name or "procedure", inputs, outputs, graph.initial)
    model = onnx.helper.make_model(
        made, opset_imports=[onnx.helper.make_opsetid("", VERSION)], ir_version=IR, producer_name="vlad"
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def _parts(result: Any, key: str) -> list[tuple[str, Any]]:
    """The tensors, reals and booleans of a result, in order, with the names of their outputs, for which keys of dicts are used.
    Raises VladError for other values.
    """
    if type(result) is Traced:
        return [(key, result)]
    result = look(result)
    if type(result) in (Tensor, float) or isinstance(result, Boolean):
        return [(key, result)]
    if is_pair(result):
        first = look(result[0])
        if type(first) is String or (type(first) is Symbol and not is_internal(first.name)):
            return _parts(result[1], f"output_{displayed(first)}")
        return [*_parts(first, key), *_parts(result[1], key)]
    if result == () or (type(result) is Symbol and is_internal(result.name)):  # the mark of a tuple of Python
        return []
    raise VladError("cannot-export", "The result has parts that are neither tensors nor reals nor booleans")
