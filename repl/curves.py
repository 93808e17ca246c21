"""Curves to plot: of procedures over an interval, of lists of numbers or points.

In: the operands of `,plot`.  Out: `Curve`s, names with finite points, and the frame around them. Independent of how they are
drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from vlad.data.errors import VladError
from vlad.data.source import in_library
from vlad.data.tensors import Tensor, on_host
from vlad.data.values import Value, is_procedure, list_of, look
from vlad.data.write import real_text

from .display import has_parts, parts_of
from .shell import Shell

SAMPLES = 240
MOST_POINTS = 100_000
FARTHEST = 1e300
DEFAULT = (-5.0, 5.0)  # the default interval


@dataclass
class Curve:
    """`dots`: the points are drawn alone, without a line through them, as those of a surface of section are."""

    name: str
    points: list[tuple[float, float]]
    dots: bool = False


def curves_of(shell: Shell, operands: list[str], derivative: bool) -> list[Curve]:
    values = [look(shell.value_of(operand)) for operand in operands]
    if not is_procedure(values[0]) or has_parts(values[0]):
        return [curve for text, value in zip(operands, values, strict=True) for curve in data(text, value)]
    low, high = DEFAULT
    if len(values) > 2 and type(values[-1]) is type(values[-2]) is float:
        operands, (*values, low, high) = operands[:-2], values
    if not low < high or math.isinf(high - low):
        raise VladError("invalid-command", f"Not an interval: from {real_text(low)} to {real_text(high)}")
    found = []
    for text, value in zip(operands, values, strict=True):
        if not is_procedure(value) or has_parts(value):
            raise VladError(
                "invalid-command",
                f"Neither a procedure nor the end of an interval: {text}",
                hint="an interval has two ends, as in `,plot sin 0 6`",
            )
        found.append(sampled(shell, text, value, low, high))
        if derivative:
            slope = shell.session.apply(shell.session.library_value("derivative"), value)
            found.append(sampled(shell, f"{text} ′", slope, low, high))
    return found


def sampled(shell: Shell, name: str, procedure: Value, low: float, high: float) -> Curve:
    """The values of a procedure at points of an interval."""
    places = [low + (high - low) * i / (SAMPLES - 1) for i in range(SAMPLES)]
    try:
        with shell.session.limited(shell.limits):
            values = shell.session.apply(shell.session.library_value("map"), (procedure, list_of(places)))
    except VladError as error:
        if error.span is not None and in_library(error.span):
            error.span = None
            error.hint = f"`,plot` calls {name} with one number, from {real_text(low)} to {real_text(high)}"
            error.backtrace = [line for line in error.backtrace if line.span and not in_library(line.span)]
        raise
    rows = [numbers_in(value) for value in elements(values)]
    if any(len(row) != 1 for row in rows):
        raise VladError("invalid-command", f"The values of {name} are not numbers", irritants=[values])
    return Curve(name, finite([(place, row[0]) for place, row in zip(places, rows, strict=True)]))


def data(text: str, value: Value) -> list[Curve]:
    """The curves of a list or tensor: of numbers, of points, or of several numbers each; for a list of two, one against the
    other.
    """
    rows = [numbers_in(part) for part in elements(value)]
    if not rows or any(len(row) != len(rows[0]) or not row for row in rows):
        raise VladError(
            "invalid-command", f"Cannot be plotted: {text}", irritants=[value],
            hint="a procedure of a number, a list of numbers, of points (x . y), (up x y), or of equal lists; (list xs ys)",
        )  # fmt: skip
    if len(rows[0]) == 2:
        return [Curve(text, finite([(row[0], row[1]) for row in rows]))]
    if len(rows) == 2 and len(rows[0]) > 2 and type(value) is tuple:
        return [Curve(text, finite(list(zip(*rows, strict=True))))]
    return [
        Curve(
            text if len(rows[0]) == 1 else f"{text} [{column}]",
            finite([(float(i), row[column]) for i, row in enumerate(rows)]),
        )
        for column in range(len(rows[0]))
    ]


def elements(value: Value) -> list[Any]:
    """The elements of a list, vector, record or tensor."""
    value = look(value)
    if has_parts(value):
        return parts_of(value)[:MOST_POINTS]
    if type(value) is Tensor and value.shape:
        return list(on_host(value.array))[:MOST_POINTS]
    found: list[Value] = []
    while type(value) is tuple and len(value) == 2 and len(found) < MOST_POINTS:
        found.append(value[0])
        value = look(value[1])
    return found


def numbers_in(value: Any) -> list[float]:
    """The numbers in an element, in order; none if there is anything else."""
    found: list[float] = []
    work = [value]
    while work:
        item = look(work.pop())
        if type(item) is tuple and len(item) in (0, 2):
            work += reversed(item)
            continue
        if has_parts(item):
            work += reversed(parts_of(item))
            continue
        array = on_host(item.array) if type(item) is Tensor else item
        try:
            found += [float(array)] if getattr(array, "shape", ()) == () else map(float, array.ravel())
        except (TypeError, ValueError):
            return []
    return found


def finite(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The finite points; the farthest are moved a little so that distances are finite, too."""
    return [(near(x), near(y)) for x, y in points if math.isfinite(x) and math.isfinite(y)]


def near(number: float) -> float:
    return max(min(number, FARTHEST), -FARTHEST)


def extent(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 1, high + 1
    return low, high


def frame(curves: list[Curve]) -> tuple[tuple[float, float], tuple[float, float]]:
    points = [point for curve in curves for point in curve.points]
    return extent([x for x, _ in points]), extent([y for _, y in points])


def label(value: float, span: float) -> str:
    """A number beside an axis of length `span`, without digits that would be invisible there."""
    return f"{0.0 if abs(value) < span * 1e-3 else value:.4g}"
