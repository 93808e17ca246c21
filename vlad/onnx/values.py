"""The values of an ONNX graph during its translation, and a node of it with the values that it takes.

In: names, kinds and shapes, as ONNX infers them.  Out: what operators.py writes texts of. A value is known in up to three ways:
by the text of an expression; as a constant; and, if it is a whole number or a vector of them, by an item for each, a number or
the text of one. Items are how shapes are computed: `(shape x)` in a text stands for lengths that the model leaves open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from vlad.data.errors import VladError
from vlad.data.write import real_text

Item = int | str
KINDS = {1: "float32", 6: "int32", 7: "int64", 9: "boolean", 11: "float64"}  # by ONNX's number of a type
NAMES_OF_TYPES = {
    2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 8: "string", 10: "float16", 12: "uint32", 13: "uint64", 14: "complex64",
    15: "complex128", 16: "bfloat16",
}  # fmt: skip
REALS = ("float32", "float64")
WHOLE = ("int64", "int32")
MOST_WRITTEN = 16  # entries of a tensor that stands in the text


def number_text(number: float) -> str:
    """A number as programs write it."""
    return real_text(float(number))


class Value:
    """A value of a graph.

    kind        of number; None if ONNX does not infer it
    dims        the lengths of the axes, None for one that is open; None if not even their number is known
    constant    the array, if it is the same in all calls
    items       if it is a whole number or a vector of them: each
    text        of the expression; a name, once it is bound
    """

    __slots__ = ("_text", "constant", "dims", "items", "kind", "name")

    def __init__(
        self,
        name: str,
        kind: str | None,
        dims: tuple[int | None, ...] | None,
        text: str | None = None,
        constant: Any = None,
        items: list[Item] | None = None,
    ) -> None:
        self.name, self.kind, self.dims = name, kind, dims
        self._text, self.constant, self.items = text, constant, items
        if constant is not None:
            self.dims = constant.shape
            if items is None and constant.dtype.kind in "i" and constant.ndim <= 1 and constant.size <= 64:
                self.items = [int(entry) for entry in constant.reshape(-1)]

    @property
    def rank(self) -> int | None:
        return None if self.dims is None else len(self.dims)

    @property
    def text(self) -> str:
        if self._text is None:
            assert self.items is not None, self.name
            self._text = items_text(self)
        return self._text

    @text.setter
    def text(self, text: str) -> None:
        self._text = text

    @property
    def has_text(self) -> bool:
        return self._text is not None


def items_text(value: Value) -> str:
    """The expression of whole numbers that are known by their items."""
    assert value.items is not None
    parts = [str(item) for item in value.items]
    if value.rank == 0:
        return parts[0]
    return f"(as-type {_vector(parts)} '{value.kind or 'int64'})"


def _vector(parts: list[str]) -> str:
    return (
        f"(tensor (list {' '.join(parts)}))"
        if any("(" in part for part in parts)
        else f"#[{' '.join(parts)}]"
    )


def constant_text(array: Any, kind: str) -> str | None:
    """The expression of a constant; None if it is too large to stand in a text."""
    if array.ndim == 0:
        return ("#t" if array else "#f") if kind == "boolean" else number_text(array)
    if array.size > MOST_WRITTEN or array.size == 0:
        return None
    return f"(as-type {_entries(array)} '{kind})"


def _entries(array: Any) -> str:
    """The literal of a tensor of reals."""

    def nested(part: Any) -> str:
        return f"[{' '.join([nested(one) for one in part])}]" if part.ndim else number_text(part)

    return "#" + nested(array)


class Part(NamedTuple):
    """A graph inside a node, translated: the names of its inputs, bindings, and its results."""

    names: list[str]
    lines: list[str]
    results: list[Value]

    def expression(self, result: str) -> str:
        """An expression with the bindings in scope."""
        lines = "\n               ".join(self.lines)
        return f"(let* ({lines})\n          {result})" if self.lines else result


class Inner(Protocol):
    """A graph inside a node. Both methods take its inputs, of which kind and shape count, and raise VladError.

    inferred        the results, of which kind and shape are known
    translated      the graph as bindings
    """

    inputs: list[str]

    def inferred(self, given: Sequence[Value]) -> list[Value]: ...
    def translated(self, given: Sequence[Value]) -> Part: ...


def together(values: Sequence[Value]) -> str:
    """The expression of one value, or of a list of several."""
    return values[0].text if len(values) == 1 else f"(list {' '.join([one.text for one in values])})"


class Node:
    """A node of a graph: what a rule of an operator writes the text of.

    version     of ONNX's operators (the opset), on which the meaning may depend
    inputs      None for one that is left out
    outputs     None for one that nothing uses
    """

    def __init__(
        self,
        op: str,
        name: str,
        version: int,
        inputs: Sequence[Value | None],
        outputs: Sequence[Value | None],
        attributes: Mapping[str, Any],
    ) -> None:
        self.op, self.name, self.version = op, name, version
        self.inputs, self.outputs, self.attributes = inputs, outputs, attributes

    def result_kind(self) -> str:
        """The kind of number of the first output."""
        kind = None if not self.outputs or self.outputs[0] is None else self.outputs[0].kind
        if kind is None:
            raise self.refused("the type of its output is not known")
        return kind

    def has(self, position: int) -> bool:
        """Is there an input at this position?"""
        return position < len(self.inputs) and self.inputs[position] is not None

    def value(self, position: int) -> Value:
        if not self.has(position):
            raise self.refused(f"input {position} is missing")
        value = self.inputs[position]
        assert value is not None
        return value

    def text(self, position: int, default: str | None = None) -> str:
        """The expression of an input."""
        if default is not None and not self.has(position):
            return default
        return self.value(position).text

    def texts(self) -> list[str]:
        return [one.text for one in self.inputs if one is not None]

    def attribute(self, name: str, default: Any = None) -> Any:
        return self.attributes.get(name, default)

    def number(self, name: str, default: float) -> str:
        """An attribute as the text of a number."""
        return number_text(self.attribute(name, default))

    def rank(self, position: int = 0) -> int:
        rank = self.value(position).rank
        if rank is None:
            raise self.refused(f"the number of axes of its input {self.value(position).name} is not known")
        return rank

    def axis(self, axis: int, position: int = 0, more: int = 0) -> int:
        """An axis of an input, counted from 0; `more`: axes that a result has beyond."""
        rank = self.rank(position) + more
        if not -rank <= axis < max(rank, 1):
            raise self.refused(f"axis {axis} of a tensor with {rank} axes")
        return axis + rank if axis < 0 else axis

    def items(self, position: int) -> list[Item] | None:
        """The whole numbers of an input; None if they are known in the call only."""
        return self.value(position).items

    def constant(self, position: int, what: str) -> Any:
        """The array of an input that has to be a constant. Raises VladError."""
        found = self.value(position).constant
        if found is None:
            raise self.refused(f"{what} is known in the call only: {self.value(position).name}")
        return found

    def whole(self, position: int, what: str) -> list[int]:
        """The whole numbers of an input that has to be a constant. Raises VladError."""
        items = self.items(position)
        if items is None or not all(isinstance(item, int) for item in items):
            raise self.refused(f"{what} is known in the call only: {self.value(position).name}")
        return [item for item in items if isinstance(item, int)]

    def list(self, position: int) -> str:
        """The expression of a list of the whole numbers of an input, as of lengths."""
        items = self.items(position)
        return f"(tensor->list {self.text(position)})" if items is None else list_text(items)

    def refused(self, reason: str) -> VladError:
        """The error that this node is not translated."""
        return VladError(
            "cannot-import", f"The node {self.name} of operator {self.op} is not imported: {reason}",
            hint="docs/onnx.md has the operators, and what of each is left out", name=self.op,
        )  # fmt: skip


def list_text(items: Sequence[Item]) -> str:
    """The expression of a list."""
    if all(isinstance(item, int) for item in items):
        return f"'({' '.join([str(item) for item in items])})"
    return f"(list {' '.join([str(item) for item in items])})"
