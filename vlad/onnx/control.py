"""The operators of ONNX whose attributes are graphs: If, Loop and Scan.

In: a node (values.py).  Out: the text of an expression. A branch is an operand of `if`; the body of a loop is a procedure, which
stdlib/onnx-control.vlad calls until the loop ends. Both stand in the scope of the node. ONNX's inference of types leaves open the
shapes of what a loop carries: here they are those with which it begins, as far as no turn changes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vlad.onnx.values import Inner, Node, Part, Value, list_text, together

Dims = tuple[int | None, ...] | None


def branches(n: Node) -> str:
    then: Inner = n.attribute("then_branch")
    otherwise: Inner = n.attribute("else_branch")
    test = n.value(0)
    if test.constant is not None:
        part = (then if test.constant.item() else otherwise).translated([])
        _shaped(n, [one.dims for one in part.results])
        return part.expression(together(part.results))
    parts = [one.translated([]) for one in (then, otherwise)]
    _shaped(n, [_common(a.dims, b.dims) for a, b in zip(parts[0].results, parts[1].results, strict=True)])
    texts = [part.expression(together(part.results)) for part in parts]
    return f"(if {_one(test)} {texts[0]} {texts[1]})"


def loop(n: Node) -> str:
    """Its turns are as many as the first input says, or until the condition is false."""
    body: Inner = n.attribute("body")
    states = [n.value(place) for place in range(2, len(n.inputs))]
    first = [Value("turn", "int64", ()), Value("condition", "boolean", ())]
    carried, part = _body(body, states, lambda states: [*first, *states], 1)
    test, results, made = part.results[0], part.results[1 : 1 + len(states)], part.results[1 + len(states) :]
    turn, going, *names = part.names
    limit = _one(n.value(0)) if n.has(0) else "+inf.0"
    begun = _one(n.value(1)) if n.has(1) else "#t"
    kept = f" (list {_texts(made)})" if made else ""
    inside = part.expression(f"(list {_one(test)} (list {_texts(results)}){kept})")
    procedure = f"(lambda ({turn} {going} {_pattern(names)}) {inside})"
    call = f"(%onnx-{'loop' if made else 'repeat'} {procedure} {limit} {begun} (list {_texts(states)}))"
    _shaped(n, [*carried, *[None if one.dims is None else (None, *one.dims) for one in made]])
    return _taken(n, _stacked(call, made), len(states) + len(made))


def scan(n: Node) -> str:
    """A turn for each part of its last inputs along an axis."""
    body: Inner = n.attribute("body")
    count = n.attribute("num_scan_inputs")
    states = [n.value(place) for place in range(len(n.inputs) - count)]
    scanned = [n.value(place) for place in range(len(n.inputs) - count, len(n.inputs))]
    axes = [
        n.axis(axis, len(states) + k) for k, axis in enumerate(n.attribute("scan_input_axes") or [0] * count)
    ]
    backs = n.attribute("scan_input_directions") or [0] * count
    parts = [
        Value(one.name, one.kind, None if one.dims is None else (*one.dims[:axis], *one.dims[axis + 1 :]))
        for one, axis in zip(scanned, axes, strict=True)
    ]
    carried, part = _body(body, states, lambda states: [*states, *parts], 0)
    results, made = part.results[: len(states)], part.results[len(states) :]
    names, given = part.names[: len(states)], part.names[len(states) :]
    kept = f" (list {_texts(made)})" if made else ""
    inside = part.expression(f"(list (list {_texts(results)}){kept})")
    procedure = f"(lambda ({_pattern(names)} {_pattern(given)}) {inside})"
    inputs = " ".join([
        f"(%onnx-parts-along {one.text} {axis} {'#t' if back else '#f'})"
        for one, axis, back in zip(scanned, axes, backs, strict=True)
    ])  # fmt: skip
    call = f"(%onnx-scan-{'parts' if made else 'states'} {procedure} (list {_texts(states)}) (list {inputs}))"
    places = [axis if axis >= 0 else axis + 1 + (one.rank or 0)
        for axis, one in zip(n.attribute("scan_output_axes") or [0] * len(made), made, strict=True)]  # fmt: skip
    turns = next((one.dims[axis] for one, axis in zip(scanned, axes, strict=True) if one.dims), None)
    shapes: list[Dims] = [
        None if one.dims is None else (*one.dims[:axis], turns, *one.dims[axis:])
        for one, axis in zip(made, places, strict=True)
    ]
    _shaped(n, [*carried, *shapes])
    turned = n.attribute("scan_output_directions") or [0] * len(made)
    return _taken(n, _stacked(call, made, places, turned), len(states) + len(made))


def _body(body: Inner, states: Sequence[Value], inputs: Any, before: int) -> tuple[list[Dims], Part]:
    """The shapes of what is carried, that no turn changes, and the body with these. `before`: results before the states."""
    dims = [one.dims for one in states]
    while True:
        given = inputs([Value(one.name, one.kind, own) for one, own in zip(states, dims, strict=True)])
        found = body.inferred(given)[before : before + len(states)]
        common = [_common(own, one.dims) for own, one in zip(dims, found, strict=True)]
        if common == dims:
            return dims, body.translated(given)
        dims = common


def _common(a: Dims, b: Dims) -> Dims:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple([one if one == other else None for one, other in zip(a, b, strict=True)])


def _shaped(n: Node, dims: Sequence[Dims]) -> None:
    """State the shapes of the outputs, where ONNX infers less."""
    for one, own in zip(n.outputs, dims, strict=False):
        if one is not None and own is not None:
            one.dims = own


def _one(value: Value) -> str:
    """The text of a number or boolean that may be a tensor with one entry."""
    if value.items is not None and len(value.items) == 1:
        return str(value.items[0])
    if value.constant is not None and value.constant.dtype == bool:
        return "#t" if value.constant.item() else "#f"
    return value.text if value.rank == 0 else f"(%onnx-scalar {value.text})"


def _texts(values: Sequence[Value]) -> str:
    return " ".join([one.text for one in values])


def _pattern(names: Sequence[str]) -> str:
    return f"(list {' '.join(names)})" if names else "none"


def _stacked(
    call: str, made: Sequence[Value], axes: Sequence[int] | None = None, backs: Sequence[int] | None = None
) -> str:
    """The list of the last states and of what the turns have made, together in a tensor each."""
    if not made:
        return call
    each = []
    for place, one in enumerate(made):
        axis, back = axes[place] if axes else 0, backs[place] if backs else 0
        known = one.dims is not None and None not in one.dims
        dims = list_text(one.dims or ()) if known else "#f"  # type: ignore[arg-type]  # none of them is None
        kind = f"'{one.kind}" if one.rank == 0 or one.kind == "boolean" else "#f"
        each.append(f"(%onnx-stacked made {place} {axis} {'#t' if back else '#f'} {dims} {kind})")
    return f"(let (((list states made) {call})) (append states (list {' '.join(each)})))"


def _taken(n: Node, text: str, count: int) -> str:
    """As many values of a list as the node has outputs."""
    wanted = len(n.outputs)
    return f"(first {text})" if wanted == 1 else text if wanted == count else f"(take {text} {wanted})"
