"""The whole numbers of results from those of inputs: how shapes are computed before a call, as far as the model states them.

In: a node.  Out: its result's items (values.Value), or None if they are not known; then the operator's text computes the
result. An item is a number, or the text of one, such as a length that the model leaves open.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from vlad.onnx.values import WHOLE, Item, Node

MOST = 64  # items


def same(n: Node) -> list[Item] | None:
    """Those of the input, whose shape alone changes."""
    return n.items(0)


def cast(n: Node) -> list[Item] | None:
    return n.items(0) if n.result_kind() in WHOLE else None


def lengths(n: Node) -> list[Item]:
    """The lengths of the axes of the first input."""
    n.rank()  # raises VladError if it is not known
    x = n.value(0)
    return [
        f"(list-ref (shape {x.text}) {axis})" if length is None else length
        for axis, length in enumerate(x.dims or ())
    ]


def product_of(items: list[Item]) -> Item:
    known = math.prod([item for item in items if isinstance(item, int)])
    texts = [item for item in items if isinstance(item, str)]
    if not texts or known == 0:
        return known
    factors = ([str(known)] if known != 1 else []) + texts
    return factors[0] if len(factors) == 1 else f"(* {' '.join(factors)})"


def shape(n: Node) -> list[Item]:
    """All lengths, or those from `start` to `end`."""
    return lengths(n)[slice(n.attribute("start", 0), n.attribute("end", n.rank()))]


def size(n: Node) -> list[Item] | None:
    dims = n.value(0).dims
    return None if dims is None or None in dims else [math.prod([one for one in dims if one is not None])]


_OPERATIONS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "Add": ("+", lambda a, b: a + b),
    "Sub": ("-", lambda a, b: a - b),
    "Mul": ("*", lambda a, b: a * b),
    "Div": ("quotient", lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)),
    "Mod": ("modulo", lambda a, b: a % b),
    "Max": ("max", max),
    "Min": ("min", min),
}


def elementwise(n: Node) -> list[Item] | None:
    """Arithmetic, with one number for all where an input has one."""
    if n.value(0).kind not in WHOLE:
        return None
    given = [None if one is None else one.items for one in n.inputs]
    if any(one is None for one in given) or (n.op == "Mod" and n.attribute("fmod", 0)):
        return None
    lists = [one for one in given if one is not None]
    if n.op == "Neg":
        return [-one if isinstance(one, int) else f"(- {one})" for one in lists[0]]
    length = max(map(len, lists))
    if len(lists) < 2 or any(len(one) not in (1, length) for one in lists):
        return None
    operation, compute = _OPERATIONS[n.op]
    total = lists[0] * (length if len(lists[0]) == 1 else 1)
    for one in lists[1:]:
        other = one * (length if len(one) == 1 else 1)
        done: list[Item] = []
        for a, b in zip(total, other, strict=True):
            if isinstance(a, int) and isinstance(b, int):
                if b == 0 and n.op in ("Div", "Mod"):
                    return None
                done.append(compute(a, b))
            else:
                done.append(f"({operation} {a} {b})")
        total = done
    return total


_TESTS = {
    "Equal": "equal", "Greater": "greater", "Less": "less", "GreaterOrEqual": "greater_equal", "LessOrEqual": "less_equal",
    "Not": "logical_not", "And": "logical_and", "Or": "logical_or", "Xor": "logical_xor",
}  # fmt: skip


def test(n: Node) -> list[Item] | None:
    """1 for what is true of constants, 0 for what is not: so a branch is chosen before a call."""
    arrays = [None if one is None else one.constant for one in n.inputs]
    if any(one is None or one.ndim > 1 or one.size > MOST for one in arrays):
        return None
    import numpy

    return [int(one) for one in getattr(numpy, _TESTS[n.op])(*arrays).reshape(-1)]


def product(n: Node) -> list[Item] | None:
    items = n.items(0)
    if items is None or n.rank() != 1 or not all(isinstance(one, int) for one in items):
        return None
    return [math.prod([one for one in items if isinstance(one, int)])]


def reshaped(n: Node) -> list[Item] | None:
    """Only to a vector, or a number."""
    rank = n.outputs[0].rank if n.outputs[0] is not None else None
    return n.items(0) if rank is not None and rank <= 1 else None


def concatenated(n: Node) -> list[Item] | None:
    found: list[Item] = []
    for one in n.inputs:
        if one is None or one.items is None or one.rank != 1 or one.kind not in WHOLE:
            return None
        found += one.items
    return found if len(found) <= MOST else None


def gathered(n: Node) -> list[Item] | None:
    items, index = n.items(0), n.value(1).constant
    if items is None or index is None or index.ndim > 1 or n.rank() != 1:
        return None
    return [items[int(place)] for place in index.reshape(-1)]


def slices(n: Node) -> list[tuple[int, Item, Item, int]]:
    """Axis, start, end and step of each slice of a node."""
    if n.version < 10:
        starts, ends = list(n.attribute("starts")), list(n.attribute("ends"))
        axes, steps = n.attribute("axes"), None
    else:
        starts, ends = _bounds(n, 1), _bounds(n, 2)
        axes = n.whole(3, "the axes") if n.has(3) else None
        steps = n.whole(4, "the steps") if n.has(4) else None
    axes = list(range(len(starts))) if axes is None else [n.axis(axis) for axis in axes]
    return list(zip(axes, starts, ends, steps or [1] * len(starts), strict=True))


def _bounds(n: Node, position: int) -> list[Item]:
    """Items, or the text of each entry of a vector of known length."""
    items = n.items(position)
    if items is not None:
        return items
    dims = n.value(position).dims
    if dims is None or len(dims) != 1 or dims[0] is None:
        raise n.refused("the number of its slices is known in the call only")
    return [f"(tensor-ref {n.text(position)} {place})" for place in range(dims[0])]


def sliced(n: Node) -> list[Item] | None:
    items = n.items(0)
    if items is None or n.rank() != 1:
        return None
    for _, start, end, step in slices(n):
        if not isinstance(start, int) or not isinstance(end, int):
            return None
        # an end beyond the first entry, from the end on, is none in ONNX
        last: int | None = end if end >= -len(items) else (None if step < 0 else 0)
        items = items[start:last:step]
    return items


def filled(n: Node) -> list[Item] | None:
    lengths, value = n.items(0), n.attribute("value")
    if n.result_kind() not in WHOLE or lengths is None or len(lengths) > 1 or value is None:
        return None
    count = lengths[0] if lengths else 1
    return [int(value.reshape(-1)[0])] * count if isinstance(count, int) and count <= MOST else None


def ranged(n: Node) -> list[Item] | None:
    given = [n.items(place) for place in range(3)]
    if any(one is None or not isinstance(one[0], int) for one in given) or n.result_kind() not in WHOLE:
        return None
    start, stop, step = [int(one[0]) for one in given if one is not None]
    found = list(range(start, stop, step)) if step else None
    return None if found is None or len(found) > MOST else list(found)
