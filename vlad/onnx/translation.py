"""A model of ONNX as the text of a procedure: of its parameters, then of its inputs.

In: a model (model.py).  Out: the text, and the constants that it refers to; evaluated in the library's module it is a procedure
like any other, which is transformed, compiled and printed. One line binds one node's results; the text is straight-line code of
the library's tensor operations, of which compiled code knows all shapes. The initial values that are tensors of reals are
parameters. All others are constants, and so are numbers without axes, such as exponents, and tensors where an operator needs to
know the numbers (`constants` in operators.py). A graph inside a node, as a branch of If or the body of Loop, is an expression in
the scope of that node: so it refers to the values around it by their names, like any expression.
"""

from __future__ import annotations

import os
import re
from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from vlad.data.errors import VladError
from vlad.data.write import string_text, symbol_text
from vlad.messages.spelling import suggestion
from vlad.onnx.model import (
    Model,
    attributes_of,
    cannot_import,
    graphs_in,
    inner,
    kind_of,
    learnt,
    named,
    names_in,
    read,
    schema_version,
)
from vlad.onnx.operators import OPERATORS, Operator, finished
from vlad.onnx.values import REALS, Item, Node, Part, Value, constant_text, list_text, together

PARAMETERS = "parameters"
WRONG = "The parameters are those that the import returns, by name and in its order; expected here, with their shapes:"
TOGETHER = 12  # parameters that are compared with the model's at a time


class Translated(NamedTuple):
    """names        of the constants in the text
    constants       their arrays
    text            of the procedure
    parameters      the arrays by name, in their order
    inputs          the names of the model's inputs
    """

    name: str
    names: list[str]
    constants: list[Any]
    text: str
    parameters: dict[str, Any]
    inputs: list[str]


def translated(source: Any) -> Translated:
    """Translate a model: a path, bytes, or a model of the package onnx. Raises VladError."""
    return _Translation(read(source)).translated()


class _Translation:
    """What all graphs of a model share: names, and constants."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.taken = {PARAMETERS}
        self.names: list[str] = []
        self.constants: list[Any] = []

    def translated(self) -> Translated:
        self._divide()
        graph = _Graph(self, self.model, {})
        parameters = self.model.parameters
        bound = []
        for name, array in parameters.items():
            value = graph.values[name] = Value(name, str(array.dtype), array.shape)
            value.text = self.name(name)
            bound.append(value.text)
        for name, array in self.model.constants.items():
            graph.values[name] = self.constant(name, array)
        inputs, checks = [], []
        for one in self.model.inputs:
            value = graph.values[one.name] = self._input(one)
            inputs.append(value.text)
            if value.dims is not None:
                checks.append(_check(value))
        results = graph.results()
        keys = [self.name(f"{name}_name") for name in parameters]
        patterns = " ".join([f"(cons {key} {name})" for key, name in zip(keys, bound, strict=True)])
        checks = [*self._parameter_checks(bound, keys), *checks]
        lines = "\n".join([f"         {line}" for line in [*checks, *graph.lines]])
        name = self.name(os.path.splitext(self.model.name)[0])
        text = (
            f"(let (({name}\n"
            f"  (lambda ({' '.join([PARAMETERS, *inputs])})\n"
            f"  (let* (((list {patterns}) (%onnx-parameters {PARAMETERS}))\n{lines})\n    {together(results)}))))\n"
            f"  {name})\n"
        )
        return Translated(
            self.model.name,
            self.names,
            self.constants,
            text,
            parameters,
            [one.name for one in self.model.inputs],
        )

    def _parameter_checks(self, bound: list[str], keys: list[str]) -> list[str]:
        """Bindings that compare the names and shapes of parameters with the model's, so many at a time as are known to compiled
        code one by one.
        """
        found = []
        names = list(self.model.parameters)
        for start in range(0, len(names), TOGETHER):
            some = slice(start, start + TOGETHER)
            given, first = " ".join(keys[some]), bound[start]
            words = " ".join([string_text(name) for name in names[some]])
            symbols = " ".join([symbol_text(name) for name in names[some]])
            shapes = " ".join([list_text(self.model.parameters[name].shape)[1:] for name in names[some]])
            tensors = " ".join([f"(shape {name})" for name in bound[some]])
            expected = " ".join(
                [
                    f"({string_text(name)} {list_text(self.model.parameters[name].shape)[2:-1]})"
                    for name in names[some]
                ]
            )
            found.append(
                f"({first} (if (and (equal? (list {given}) (if (symbol? {keys[start]}) '({symbols}) '({words})))\n"
                f"                        (equal? (list {tensors}) '({shapes})))\n"
                f"                   {first}\n"
                f"                   (error {string_text(WRONG)} '({expected}))))"
            )
        return found

    def _divide(self) -> None:
        """Divide the initial values into parameters and constants."""
        elsewhere = {one.name for _, graph in graphs_in(self.model.graph) for one in graph.output}
        inside = [node for _, graph in graphs_in(self.model.graph) for node in graph.node]
        for node in [*self.model.graph.node, *inside]:
            operator = OPERATORS.get(node.op_type)
            known = () if operator is None else operator.constants
            elsewhere |= {name for place, name in enumerate(node.input) if place not in known}
        for name, array in list(self.model.constants.items()):
            if name in elsewhere and array.ndim and str(array.dtype) in REALS:
                self.model.parameters[name] = self.model.constants.pop(name)

    def _input(self, one: Any) -> Value:
        if not one.type.HasField("tensor_type"):
            raise cannot_import(self.model.name, f"its input {one.name} is no tensor")
        value = self.model.value(one.name)
        kind_of(one.type.tensor_type.elem_type, one.name, self.model.name)
        value.text = self.name(one.name)
        return value

    def name(self, name: str) -> str:
        """A variable for a value: no name of the library has an underscore."""
        base = re.sub(r"[^A-Za-z0-9_./-]", "_", name)
        if not re.match(r"[A-Za-z_]", base):
            base = f"t_{base}"
        if "_" not in base:
            base += "_"
        found, count = base, 1
        while found in self.taken:
            count += 1
            found = f"{base}{count}"
        self.taken.add(found)
        return found

    def constant(self, name: str, array: Any) -> Value:
        kind = {"bool": "boolean"}.get(str(array.dtype), str(array.dtype))
        value = Value(name, kind, array.shape, constant=array)
        text = constant_text(array, kind)
        if text is None and value.items is None:
            text = self.name(name)
            self.names.append(text)
            self.constants.append(array)
        if text is not None:
            value.text = text
        return value


class _Graph:
    """The translation of a graph. `lines` bind the results of its nodes; `outer` are the values around it."""

    def __init__(self, translation: _Translation, model: Model, outer: Mapping[str, Value]) -> None:
        self.translation, self.model = translation, model
        self.values: ChainMap[str, Value] = ChainMap({}, outer)  # type: ignore[arg-type]  # only the first is changed
        self.lines: list[str] = []
        self.used = {*names_in(model.graph.node), *(one.name for one in model.graph.output)}

    def results(self) -> list[Value]:
        """Translate all nodes; the outputs."""
        for node in self.model.graph.node:
            self._add(node)
        return [self.values[one.name] for one in self.model.graph.output]

    def _add(self, node: Any) -> None:
        """Bind the results of a node."""
        if not any(name in self.used for name in node.output if name):
            return
        operator = self._operator(node)
        attributes = attributes_of(node)
        if node.op_type == "Constant":
            self.values[node.output[0]] = self.translation.constant(
                node.output[0], _constant_array(node, attributes, self.model)
            )
            return
        attributes |= {
            key: _Inner(self, value)
            for key, value in attributes.items()
            if type(value) is type(self.model.graph)
        }
        inputs = [self.values[name] if name else None for name in node.input]
        outputs = [self.model.value(name) if name and name in self.used else None for name in node.output]
        while outputs[-1] is None and not operator.counts_outputs:
            outputs.pop()
        one = Node(node.op_type, named(node), self.model.version, inputs, outputs, attributes)
        folded = None if operator.folds is None else operator.folds(one)
        if folded is not None and outputs[0] is not None:
            self._bind_items(outputs[0], folded)
            return
        before = [None if value is None else value.dims for value in outputs]
        self._bind(one, operator, operator.rule(one))
        new = [value for value, dims in zip(outputs, before, strict=True) if value and value.dims != dims]
        if new:
            self.model = learnt(self.model, new)

    def _bind_items(self, result: Value, items: list[Any]) -> None:
        """Lengths are bound to names, so that a text does not grow with the number of operations on it."""
        if result.kind == "boolean":
            from numpy import asarray

            truth = asarray(items, bool).reshape(() if result.rank == 0 else -1)
            self.values[result.name] = self.translation.constant(result.name, truth)
            return
        names: list[Item] = []
        for item in items:
            if isinstance(item, str) and "(" in item:
                name = self.translation.name(f"{result.name}_item")
                self.lines.append(f"({name} {item})")
                names.append(name)
            else:
                names.append(item)
        result.items = names
        if all(isinstance(item, int) for item in names):
            from numpy import asarray

            array = asarray(names, result.kind or "int64")
            result.constant = array.reshape(()) if result.rank == 0 else array
        self.values[result.name] = result

    def _bind(self, node: Node, operator: Operator, text: str) -> None:
        outputs = node.outputs
        new_name = self.translation.name
        count = _outputs_of(node, operator)
        if count == 1:
            (result,) = [one for one in outputs if one is not None]
            result.text = new_name(result.name)
            self.lines.append(f"({result.text} {finished(node, operator, text, result)})")
        else:
            names = [new_name("unused" if one is None else one.name) for one in outputs]
            names += [new_name("unused") for _ in range(count - len(names))]
            for one, name in zip(outputs, names, strict=False):
                if one is not None:
                    one.text = name
            self.lines.append(f"((list {' '.join(names)}) {text})")
        for one in outputs:
            if one is not None:
                self.values[one.name] = one

    def _operator(self, node: Any) -> Operator:
        """The entry of a node's operator. Raises VladError if there is none, or only one for later versions."""
        if node.domain not in ("", "ai.onnx"):
            raise _missing(node, f"of the set {node.domain}, which is not ONNX's own")
        if node.op_type == "Constant":
            return Operator(lambda n: "")
        operator = OPERATORS.get(node.op_type)
        if operator is None:
            raise _missing(node, "which vlad does not have")
        version = schema_version(node.op_type, self.model.version)
        if version < operator.since:
            raise _missing(node, f"of version {version}; it is imported from version {operator.since} on")
        return operator


class _Inner:
    """A graph inside a node, for the rule of its operator (values.Inner)."""

    def __init__(self, outside: _Graph, graph: Any) -> None:
        self.outside, self.graph = outside, graph
        self.inputs = [one.name for one in graph.input]

    def inferred(self, given: Sequence[Value]) -> list[Value]:
        model = inner(self.outside.model, self.graph, given, self.outside.values)
        return [model.value(one.name) for one in model.graph.output]

    def translated(self, given: Sequence[Value]) -> Part:
        translation = self.outside.translation
        model = inner(self.outside.model, self.graph, given, self.outside.values)
        graph = _Graph(translation, model, self.outside.values)
        names = []
        for name, value in zip(self.inputs, given, strict=True):
            own = graph.values[name] = Value(name, value.kind, value.dims, translation.name(name))
            names.append(own.text)
        results = graph.results()
        return Part(names, graph.lines, results)


def _outputs_of(node: Node, operator: Operator) -> int:
    """How many values the text has: a list of them for more than one."""
    return operator.outputs if operator.outputs > 1 else len(node.outputs)


def _constant_array(node: Any, attributes: dict[str, Any], model: Model) -> Any:
    from numpy import asarray

    (name, value), *_ = attributes.items()
    if name == "value" and value is not None:
        kind_of(next(one.t.data_type for one in node.attribute), node.output[0], model.name)
        return value
    kinds = {"value_float": "float32", "value_floats": "float32", "value_int": "int64", "value_ints": "int64"}
    if name not in kinds:
        raise _missing(node, f"with the attribute {name}")
    return asarray(value, kinds[name])


def _check(value: Value) -> str:
    dims = " ".join(["#f" if length is None else str(length) for length in value.dims or ()])
    return f"({value.text} (%onnx-input {string_text(value.name)} {value.text} '({dims})))"


def _missing(node: Any, what: str) -> VladError:
    hint = "docs/onnx.md has the operators that are imported"
    near = suggestion(node.op_type, OPERATORS)
    return VladError(
        "cannot-import", f"The node {named(node)} is of the operator {node.op_type}, {what}",
        hint=f"{near}; {hint}" if near and node.op_type not in OPERATORS else hint, name=node.op_type,
    )  # fmt: skip


__all__ = ["Translated", "list_text", "translated"]
