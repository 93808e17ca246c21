"""A model of ONNX, read and checked: its nodes, inputs, constants and parameters.

In: a file, its contents, or a model of the package onnx.  Out: a `Model`, whose types and shapes ONNX has inferred. Raises
VladError for what is no model, or is inconsistent; the package's own checker finds that.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vlad.data.errors import MissingPackage, VladError
from vlad.onnx.values import KINDS, NAMES_OF_TYPES, Node, Value

if TYPE_CHECKING:
    import onnx

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
        inferred = onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True, data_prop=True)
    except Exception as error:  # ValidationError, InferenceError, and what C++ raises on damaged messages
        raise not_read(name, error) from None
    graph = inferred.graph
    versions = [one.version for one in proto.opset_import if one.domain in _OWN]
    if not versions:
        raise cannot_import(name, "it names no version of ONNX's own operators")
    types = {
        one.name: one.type.tensor_type
        for one in [*graph.input, *graph.value_info, *graph.output]
        if one.type.HasField("tensor_type")
    }
    if graph.sparse_initializer:
        raise cannot_import(name, "it has sparse initial values")
    arrays = {}
    for one in graph.initializer:
        kind_of(one.data_type, one.name, name)
        arrays[one.name] = onnx.numpy_helper.to_array(one)
    return Model(
        name, graph, versions[0], [one for one in graph.input if one.name not in arrays], {}, arrays, types
    )


def attributes_of(node: Any) -> dict[str, Any]:
    """The attributes of a node as Python values and arrays. A graph is None."""
    onnx = package("a model of ONNX")
    found: dict[str, Any] = {}
    for one in node.attribute:
        value = onnx.helper.get_attribute_value(one)
        if isinstance(value, bytes):
            value = value.decode()
        elif isinstance(value, onnx.TensorProto):
            value = onnx.numpy_helper.to_array(value)
        elif isinstance(value, onnx.GraphProto | onnx.SparseTensorProto):
            value = None
        elif not isinstance(value, int | float):
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
    "load",
    "named",
    "package",
    "read",
    "schema_version",
]
