"""A model of ONNX, read and checked: its nodes, inputs, constants and parameters.

In: a file, its contents, or a model of the package onnx.  Out: a `Model`, whose types and shapes ONNX has inferred. Raises
VladError for what is no model, or is inconsistent; the package's own checker finds that. The functions of a model are replaced by
their bodies. The graphs inside nodes, as of If, keep their names, which are unique in a model; their initial values become those
of the model. `inner` infers the types of such a graph, of which the package knows less: the shapes of what a loop carries.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from vlad.data.errors import MissingPackage, VladError
from vlad.onnx.values import KINDS, NAMES_OF_TYPES, Node, Value

if TYPE_CHECKING:
    import onnx

MOST_KNOWN = 64  # entries of a constant of which ONNX's inference of a graph inside knows the numbers
_OWN = ("", "ai.onnx")  # names of the set of operators that ONNX itself defines


@dataclass(frozen=True, slots=True)
class Model:
    """inputs       those of a call, in order
    parameters      the arrays by name, in order
    constants       the arrays of all other initial values
    version         of the set of operators
    """

    name: str
    graph: Any
    version: int
    inputs: list[Any]
    parameters: dict[str, Any]
    constants: dict[str, Any]
    types: Mapping[str, Any]

    def value(self, name: str) -> Value:
        """A value with the kind and the shape that ONNX infers."""
        tensor = self.types.get(name)
        if tensor is None:
            return Value(name, None, None)
        kind = kind_of(tensor.elem_type, name, self.name) if tensor.elem_type else None
        if not tensor.HasField("shape"):
            return Value(name, kind, None)
        dims = [one.dim_value if one.HasField("dim_value") else None for one in tensor.shape.dim]
        return Value(name, kind, tuple(dims))


def package(what: str) -> Any:
    """The package onnx. Raises MissingPackage."""
    try:
        import onnx
        import onnx.checker
        import onnx.inliner
        import onnx.numpy_helper
        import onnx.shape_inference
    except ImportError as error:
        raise MissingPackage(
            "missing-package",
            f"{what} needs ONNX, which is not installed",
            hint="`pip install onnx`",
        ) from error
    return onnx


def kind_of(number: int, name: str, model: str) -> str:
    """The kind of number of a type of ONNX. Raises VladError if there is none."""
    kind = KINDS.get(number)
    if kind is None:
        raise cannot_import(
            model, f"its value {name} is of the type {NAMES_OF_TYPES.get(number, number)}",
            "the types are float (32 and 64 bits), int32, int64 and bool",
        )  # fmt: skip
    return kind


def cannot_import(model: str, reason: str, hint: str | None = None) -> VladError:
    return VladError("cannot-import", f"The model {model} is not imported: {reason}", hint=hint)


def not_read(name: str, error: Exception | str) -> VladError:
    """The error of a file that is no model, with the first line of the reason."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    hint = lines[0].strip() if lines else type(error).__name__
    return VladError("cannot-read", f"Cannot read: {name}, as a model of ONNX", hint=hint)


def load(source: Any) -> tuple[str, onnx.ModelProto]:
    """The name and the model of a path, of bytes or of a model. Raises VladError."""
    onnx = package("a model of ONNX")
    if isinstance(source, onnx.ModelProto):
        return source.graph.name or "model", source
    try:
        if isinstance(source, bytes):
            return "model", onnx.load_model_from_string(source)
        path = os.fspath(source)
        return os.path.basename(path), onnx.load(path)
    except OSError as error:
        raise VladError("cannot-read", f"Cannot read: {source}", hint=error.strerror or str(error)) from None
    except Exception as error:  # the package raises what its parser of messages does
        raise not_read("model" if isinstance(source, bytes) else os.fspath(source), error) from None


def read(source: Any) -> Model:
    """Read and check a model. Raises VladError."""
    name, proto = load(source)
    onnx = package("a model of ONNX")
    try:
        onnx.checker.check_model(proto)
        if proto.functions:
            proto = onnx.inliner.inline_local_functions(proto)
        proto = _hoisted(_completed(proto))
        inferred = onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True, data_prop=True)
    except Exception as error:  # ValidationError, InferenceError, and what C++ raises on damaged messages
        raise not_read(name, error) from None
    graph = inferred.graph
    versions = [one.version for one in proto.opset_import if one.domain in _OWN]
    if not versions:
        raise cannot_import(name, "it names no version of ONNX's own operators")
    if any(one.sparse_initializer for one in (graph, *(inner for _, inner in graphs_in(graph)))):
        raise cannot_import(name, "it has sparse initial values")
    arrays = {}
    for one in graph.initializer:
        kind_of(one.data_type, one.name, name)
        arrays[one.name] = onnx.numpy_helper.to_array(one)
    inputs = [one for one in graph.input if one.name not in arrays]
    return Model(name, graph, versions[0], inputs, {}, arrays, _types(graph))


def _types(graph: Any) -> dict[str, Any]:
    return {
        one.name: one.type.tensor_type
        for one in [*graph.input, *graph.value_info, *graph.output]
        if one.type.HasField("tensor_type")
    }


def graphs_of(node: Any) -> Iterator[Any]:
    """The graphs that are attributes of a node."""
    for one in node.attribute:
        if one.HasField("g"):
            yield one.g


def graphs_in(graph: Any) -> Iterator[tuple[Any, Any]]:
    """All graphs inside a graph, each with the node whose attribute it is."""
    for node in graph.node:
        for inner in graphs_of(node):
            yield node, inner
            yield from graphs_in(inner)


def names_in(nodes: Sequence[Any]) -> Iterator[str]:
    """The names that nodes refer to, also in the graphs inside them."""
    for node in nodes:
        yield from node.input
        for inner in graphs_of(node):
            yield from names_in(inner.node)
            yield from (one.name for one in inner.output)


def _completed(proto: Any) -> Any:
    """The model with the defaults of attributes where ONNX infers types by the body of an operator, in which they would lack."""
    onnx = package("a model of ONNX")
    version = next((one.version for one in proto.opset_import if one.domain in _OWN), 1)
    lacking: dict[str, list[Any]] = {}
    for op in {node.op_type for node in proto.graph.node if node.domain in _OWN}:
        if onnx.defs.has(op, version):
            schema = onnx.defs.get_schema(op, version)
            if schema.has_function and not schema.has_type_and_shape_inference_function:
                lacking[op] = [
                    one.default_value for one in schema.attributes.values() if one.default_value.name
                ]
    if not any(lacking.values()):
        return proto
    made = type(proto)()
    made.CopyFrom(proto)
    for node in made.graph.node:
        given = {one.name for one in node.attribute}
        node.attribute.extend([one for one in lacking.get(node.op_type, ()) if one.name not in given])
    return made


def _hoisted(proto: Any) -> Any:
    """The model with the initial values of inner graphs as its own. Graphs beside each other may use a name each."""
    if not any(inner.initializer for _, inner in graphs_in(proto.graph)):
        return proto
    made = type(proto)()
    made.CopyFrom(proto)
    graph = made.graph
    taken = {one.name for one in (*graph.initializer, *graph.input)} | {
        name for node in graph.node for name in node.output
    }
    for _, inner in list(graphs_in(graph)):
        new: dict[str, str] = {}
        for one in inner.initializer:
            tries = itertools.chain([one.name], (f"{one.name}_{count}" for count in itertools.count(2)))
            new[one.name] = next(name for name in tries if name not in taken)
            taken.add(new[one.name])
            moved = graph.initializer.add()
            moved.CopyFrom(one)
            moved.name = new[one.name]
        del inner.initializer[:]
        changed = {old: name for old, name in new.items() if old != name}
        if changed:
            _rename(inner, changed)
    return made


def _rename(graph: Any, new: Mapping[str, str]) -> None:
    for node in graph.node:
        node.input[:] = [new.get(name, name) for name in node.input]
        for inner in graphs_of(node):
            _rename(inner, new)
    for one in graph.output:
        one.name = new.get(one.name, one.name)


def inner(model: Model, graph: Any, given: Sequence[Value], outer: Mapping[str, Value]) -> Model:
    """A graph inside a node as a model of its own, with types inferred for these inputs; `outer` are the values around it. Raises
    VladError.
    """
    onnx = package("a model of ONNX")
    proto = _empty(model, graph)
    own = proto.graph
    own.name = graph.name
    own.node.extend(graph.node)
    formal = [one.name for one in graph.input]
    for one, its in zip(graph.input, given, strict=True):
        own.input.add().CopyFrom(one if its.kind is None else _declared(one.name, its))
    for name in dict.fromkeys([*names_in(graph.node), *(one.name for one in graph.output)]):
        value = outer.get(name)
        if value is None or name in formal:
            continue
        if value.constant is not None and value.constant.size <= MOST_KNOWN:
            own.initializer.append(onnx.numpy_helper.from_array(value.constant, name))
        elif value.kind is not None:
            own.input.append(_declared(name, value))
    for one in graph.output:
        declared = own.output.add(name=one.name)
        if one.type.HasField("tensor_type"):
            declared.type.tensor_type.elem_type = one.type.tensor_type.elem_type
        else:
            declared.CopyFrom(one)
    try:
        inferred = onnx.shape_inference.infer_shapes(proto, strict_mode=True, data_prop=True)
    except Exception as error:  # as above
        raise not_read(f"the graph {graph.name} in {model.name}", error) from None
    types = _types(inferred.graph)
    return Model(
        model.name, inferred.graph, model.version, list(inferred.graph.input[: len(formal)]), {}, {}, types
    )


def _empty(model: Model, graph: Any) -> Any:
    """A model of the package for the nodes of a graph."""
    proto = package("a model of ONNX").ModelProto()
    proto.ir_version = 10
    nodes = [*graph.node, *(node for _, one in graphs_in(graph) for node in one.node)]
    for domain in {"", *(node.domain for node in nodes)} - {"ai.onnx"}:
        proto.opset_import.add(domain=domain, version=1 if domain else model.version)
    return proto


def _declared(name: str, value: Value) -> Any:
    onnx = package("a model of ONNX")
    number = next(number for number, kind in KINDS.items() if kind == value.kind)
    return onnx.helper.make_tensor_value_info(name, number, None if value.dims is None else list(value.dims))


def learnt(model: Model, values: Sequence[Value]) -> Model:
    """The model with types inferred again, from these values in addition to what was known. Raises VladError."""
    onnx = package("a model of ONNX")
    proto = _empty(model, model.graph)
    graph = proto.graph
    graph.name = model.graph.name
    graph.node.extend(model.graph.node)
    graph.input.extend(model.graph.input)
    graph.output.extend(model.graph.output)
    graph.value_info.extend(model.graph.value_info)
    for one in model.graph.initializer:  # the numbers of few are used, and all of them would be copied
        if math.prod(one.dims) <= MOST_KNOWN:
            graph.initializer.append(one)
        elif one.name not in {given.name for given in graph.input}:
            graph.input.append(onnx.helper.make_tensor_value_info(one.name, one.data_type, one.dims))
    known = {one.name for one in values}
    for place in reversed(range(len(proto.graph.value_info))):
        if proto.graph.value_info[place].name in known:
            del proto.graph.value_info[place]
    outputs = {one.name: one for one in proto.graph.output}
    for value in values:
        declared = _declared(value.name, value)
        if value.name in outputs:
            outputs[value.name].CopyFrom(declared)
        else:
            proto.graph.value_info.append(declared)
    try:
        inferred = onnx.shape_inference.infer_shapes(proto, strict_mode=True, data_prop=True)
    except Exception as error:  # as above
        raise not_read(model.name, error) from None
    return replace(model, graph=inferred.graph, types=_types(inferred.graph))


def attributes_of(node: Any) -> dict[str, Any]:
    """The attributes of a node as Python values, arrays and graphs. A sparse tensor is None."""
    onnx = package("a model of ONNX")
    found: dict[str, Any] = {}
    for one in node.attribute:
        value = onnx.helper.get_attribute_value(one)
        if isinstance(value, bytes):
            value = value.decode()
        elif isinstance(value, onnx.TensorProto):
            value = onnx.numpy_helper.to_array(value)
        elif isinstance(value, onnx.SparseTensorProto):
            value = None
        elif not isinstance(value, int | float | onnx.GraphProto):
            value = [part.decode() if isinstance(part, bytes) else part for part in value]
        found[one.name] = value
    return found


def named(node: Any) -> str:
    """What a node is called in messages: its name, or that of its first output."""
    return node.name or f"that makes {node.output[0]}" if node.output else node.name or "without outputs"


def schema_version(op: str, version: int) -> int:
    """The version of the operator set in which an operator got the meaning that it has in `version`."""
    onnx = package("a model of ONNX")
    return int(onnx.defs.get_schema(op, version, "").since_version)


__all__ = [
    "Model",
    "Node",
    "attributes_of",
    "cannot_import",
    "graphs_in",
    "inner",
    "learnt",
    "load",
    "named",
    "names_in",
    "package",
    "read",
    "schema_version",
]
