"""Sums of a number with itself, and products with whole numbers, one after the other → one product, to the same last bit.

In: a kernel, and what is known of its values.  Out: which of its steps are a value before them times a constant. The derivative
of a square is a sum of two that are alike, and that of c x x doubles what it has multiplied by c.

A double nearest to c x, for a whole number c, is exact where it is so small that doubles lie evenly: there it has no other digits
than x. Everywhere else a power of two only moves the exponent. So c x may be doubled by doubling c, and 2 x multiplied by c by
multiplying with 2 c; what is too great in one way is too great in the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from vlad.core.loop_nests import Kernel, Step

# By kind: up to where every whole number is one.
WHOLE = {"float64": 2.0**53, "float32": 2.0**24}


def scaled(kernel: Kernel, known: Mapping[int, float]) -> dict[int, tuple[int, float]]:
    """By the numbers of steps: the value that they are a multiple of, and the factor; only of those that save a step."""
    constants = dict(known)
    multiples: dict[int, tuple[int, float]] = {}
    for number, step in enumerate(kernel.steps, start=len(kernel.reads)):
        if type(step) is not Step or step.kind not in WHOLE:
            continue
        values = step.values
        known_here = [constants.get(value) for value in values]
        match step.row.name, known_here:
            case "*", [float(a), float(b)] if step.kind == "float64":
                constants[number] = a * b
                continue
            case "*", [None, float(factor)]:
                of = values[0]
            case "*", [float(factor), None]:
                of = values[1]
            case "+", [None, None] if values[0] == values[1]:
                of, factor = values[0], 2.0
            case "negate", [None]:
                of, factor = values[0], -1.0
            case _:
                continue
        base, before = multiples.get(of, (of, 1.0))
        if kernel.kind_of(base) == step.kind and _is_exact(before, factor, WHOLE[step.kind]):
            multiples[number] = base, before * factor
    return {
        number: found
        for number, found in multiples.items()
        if abs(found[1]) > 1 and found[0] not in kernel.steps[number - len(kernel.reads)].values
    }


def _is_exact(before: float, factor: float, most: float) -> bool:
    """May a product with one, and then with the other, be one with both?"""
    return (
        factor.is_integer() and 1 <= abs(before * factor) <= most and (_is_power(before) or _is_power(factor))
    )


def _is_power(factor: float) -> bool:
    return abs(math.frexp(factor)[0]) == 0.5
