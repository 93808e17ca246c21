"""Curves: of procedures over an interval, of lists of numbers or points; in the terminal, or in a file.

In: the operands of `,plot`.  Out: dots in the terminal (eight in a character, as Braille has them; letters where the terminal is
dumb), an SVG that is written here, or whatever else Matplotlib writes, where that is installed.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import escape

from vlad.errors import VladError
from vlad.tensors import Tensor, on_host
from vlad.values import Value, is_procedure, list_of, look
from vlad.write import real_text

from .files import cannot_write, write_text
from .shell import Shell
from .terminal import Terminal, is_dumb

SAMPLES = 240
MOST_POINTS = 100_000
ROWS, LABELS = 16, 10  # of characters: the height of a plot, and the width of what stands beside it
BRAILLE = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
PAINTS = ("36", "33", "35", "32", "31", "34")
HUES = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf")
LETTERS = "*+ox#@"
FARTHEST = 1e300
DEFAULT = (-5.0, 5.0)  # the interval, where none is given


@dataclass
class Curve:
    name: str
    points: list[tuple[float, float]]


def plot(shell: Shell, operands: list[str]) -> None:
    """Draw what the operands of `,plot` say. Raises VladError."""
    file, derivative = None, False
    while len(operands) > 1 and (operands[-1] == "derivative" or is_file(operands[-1])):
        last = operands.pop()
        if last == "derivative":
            derivative = True
        else:
            file = os.path.expanduser(last.strip('"'))
    curves = [curve for curve in curves_of(shell, operands, derivative) if curve.points]
    if not curves:
        raise VladError("invalid-command", "There is no finite number to plot")
    if file is None:
        shell.terminal.line(in_terminal(curves, shell.terminal))
    else:
        save(curves, file)
        shell.remark(f"written: {file}")


def is_file(word: str) -> bool:
    return os.path.splitext(word.strip('"'))[1].lower() in (".svg", ".png", ".pdf", ".jpg")


# What to draw.


def curves_of(shell: Shell, operands: list[str], derivative: bool) -> list[Curve]:
    values = [look(shell.value_of(operand)) for operand in operands]
    if not is_procedure(values[0]):
        return [curve for text, value in zip(operands, values, strict=True) for curve in data(text, value)]
    low, high = DEFAULT
    if len(values) > 2 and type(values[-1]) is type(values[-2]) is float:
        operands, (*values, low, high) = operands[:-2], values
    if not low < high or math.isinf(high - low):
        raise VladError("invalid-command", f"Not an interval: from {real_text(low)} to {real_text(high)}")
    found = []
    for text, value in zip(operands, values, strict=True):
        if not is_procedure(value):
            raise VladError("invalid-command", f"Neither a procedure nor the end of an interval: {text}")
        found.append(sampled(shell, text, value, low, high))
        if derivative:
            slope = shell.session.apply(shell.session.library_value("derivative"), value)
            found.append(sampled(shell, f"{text} ′", slope, low, high))
    return found


def sampled(shell: Shell, name: str, procedure: Value, low: float, high: float) -> Curve:
    """The values of a procedure at places of an interval."""
    places = [low + (high - low) * i / (SAMPLES - 1) for i in range(SAMPLES)]
    with shell.session.limited(shell.limits):
        values = shell.session.apply(shell.session.library_value("map"), (procedure, list_of(places)))
    rows = [numbers_in(value) for value in elements(values)]
    if any(len(row) != 1 for row in rows):
        raise VladError("invalid-command", f"The values of {name} are not numbers", irritants=[values])
    return Curve(name, finite([(place, row[0]) for place, row in zip(places, rows, strict=True)]))


def data(text: str, value: Value) -> list[Curve]:
    """The curves of a list or tensor: of numbers, of points, or of several numbers each."""
    rows = [numbers_in(part) for part in elements(value)]
    if not rows or any(len(row) != len(rows[0]) or not row for row in rows):
        raise VladError(
            "invalid-command", f"Cannot be plotted: {text}", irritants=[value],
            hint="a procedure of a number, a list of numbers, of points (x . y), or of lists of equal length",
        )  # fmt: skip
    if len(rows[0]) == 2:
        return [Curve(text, finite([(row[0], row[1]) for row in rows]))]
    return [
        Curve(
            text if len(rows[0]) == 1 else f"{text} [{column}]",
            finite([(float(i), row[column]) for i, row in enumerate(rows)]),
        )
        for column in range(len(rows[0]))
    ]


def elements(value: Value) -> list[Any]:
    """The elements of a list or tensor."""
    value = look(value)
    if type(value) is Tensor and value.shape:
        return list(on_host(value.array))[:MOST_POINTS]
    found: list[Value] = []
    while type(value) is tuple and len(value) == 2 and len(found) < MOST_POINTS:
        found.append(value[0])
        value = look(value[1])
    return found


def numbers_in(value: Any) -> list[float]:
    """The numbers in an element, in order; none where there is anything else."""
    found: list[float] = []
    work = [value]
    while work:
        item = look(work.pop())
        if type(item) is tuple and len(item) in (0, 2):
            work += reversed(item)
            continue
        array = on_host(item.array) if type(item) is Tensor else item
        try:
            found += [float(array)] if getattr(array, "shape", ()) == () else map(float, array.ravel())
        except (TypeError, ValueError):
            return []
    return found


def finite(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that have a place; so that distances have numbers, too, the farthest are moved a little."""
    return [(near(x), near(y)) for x, y in points if math.isfinite(x) and math.isfinite(y)]


def near(number: float) -> float:
    return max(min(number, FARTHEST), -FARTHEST)


# The frame.


def extent(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 1, high + 1
    return low, high


def frame(curves: list[Curve]) -> tuple[tuple[float, float], tuple[float, float]]:
    points = [point for curve in curves for point in curve.points]
    return extent([x for x, _ in points]), extent([y for _, y in points])


def label(value: float, span: float) -> str:
    """A number beside an axis of a length, without digits that nobody could see there."""
    return f"{0.0 if abs(value) < span * 1e-3 else value:.4g}"


# In the terminal.


def in_terminal(curves: list[Curve], terminal: Terminal) -> str:
    width = max(min(terminal.width, 100) - LABELS - 2, 12)
    grid = [[" "] * width for _ in range(ROWS)]
    (left, right), (low, high) = frame(curves)
    dumb = is_dumb() and terminal.live
    for index, curve in enumerate(curves):
        dots = {
            (
                round((x - left) / (right - left) * (width * 2 - 1)),
                round((high - y) / (high - low) * (ROWS * 4 - 1)),
            )
            for x, y in joined(curve.points, left, right, width * 2)
        }
        cells: dict[tuple[int, int], int] = {}
        for column, row in dots:
            place = (row // 4, column // 2)
            cells[place] = cells.get(place, 0) | BRAILLE[row % 4][column % 2]
        for (row, column), bits in cells.items():
            mark = (
                chr(0x2800 + bits)
                if not dumb and (len(curves) == 1 or terminal.colour)
                else LETTERS[index % len(LETTERS)]
            )
            colour = PAINTS[index % len(PAINTS)]
            grid[row][column] = f"\x1b[{colour}m{mark}\x1b[0m" if terminal.colour else mark
    tall, wide = high - low, right - left
    side = {0: label(high, tall), ROWS // 2: label((low + high) / 2, tall), ROWS - 1: label(low, tall)}
    lines = [f"{side.get(row, ''):>{LABELS}} │{''.join(cells)}".rstrip() for row, cells in enumerate(grid)]
    lines.append(f"{'':>{LABELS}} └" + "─" * width)
    ends = label(left, wide), label(right, wide)
    lines.append(" " * (LABELS + 2) + ends[0] + ends[1].rjust(width - len(ends[0])))
    return "\n".join([*lines, legend(curves, terminal)] if len(curves) > 1 else lines)


def joined(
    points: list[tuple[float, float]], left: float, right: float, columns: int
) -> list[tuple[float, float]]:
    """The points, with those between that a line through them would have, about one for each column."""
    step = (right - left) / columns
    found = list(points)
    for (x, y), (after, level) in pairwise(points):
        count = min(int(abs(after - x) / step), columns)
        found += [(x + (after - x) * i / count, y + (level - y) * i / count) for i in range(1, count)]
    return found


def legend(curves: list[Curve], terminal: Terminal) -> str:
    parts = []
    for index, curve in enumerate(curves):
        mark = (
            f"\x1b[{PAINTS[index % len(PAINTS)]}m━\x1b[0m"
            if terminal.colour
            else LETTERS[index % len(LETTERS)]
        )
        parts.append(f"{mark} {curve.name}")
    return " " * (LABELS + 2) + "   ".join(parts)


# In a file.

WIDTH, HEIGHT, MARGIN = 640, 400, 56


def as_svg(curves: list[Curve]) -> str:
    (left, right), (low, high) = frame(curves)
    wide, tall = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN

    def across(x: float) -> str:
        return f"{MARGIN + (x - left) / (right - left) * wide:.1f}"

    def down(y: float) -> str:
        return f"{MARGIN + (high - y) / (high - low) * tall:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<rect x="{MARGIN}" y="{MARGIN}" width="{wide}" height="{tall}" fill="none" stroke="gray"/>',
    ]
    for i in range(5):
        x, y = left + (right - left) * i / 4, low + (high - low) * i / 4
        parts.append(
            f'<text x="{across(x)}" y="{HEIGHT - MARGIN + 18}" text-anchor="middle">{label(x, right - left)}</text>'
        )
        parts.append(f'<text x="{MARGIN - 6}" y="{down(y)}" text-anchor="end">{label(y, high - low)}</text>')
    for index, curve in enumerate(curves):
        hue = HUES[index % len(HUES)]
        path = " ".join([f"{across(x)},{down(y)}" for x, y in curve.points])
        parts.append(f'<polyline points="{path}" fill="none" stroke="{hue}" stroke-width="1.5"/>')
        parts.append(
            f'<text x="{MARGIN + 8}" y="{MARGIN + 18 + 16 * index}" fill="{hue}">{escape(curve.name)}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def save(curves: list[Curve], path: str) -> None:
    """Write a plot. Raises VladError."""
    if path.lower().endswith(".svg"):
        write_text(path, as_svg(curves))
        return
    try:
        save_by_matplotlib(curves, path)
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from None


def save_by_matplotlib(curves: list[Curve], path: str) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise VladError(
            "no-program",
            f"Only Matplotlib can write {path}, and it is not installed",
            hint="a .svg needs nothing",
        ) from None
    figure = Figure()
    axes = figure.subplots()
    for curve in curves:
        axes.plot(*zip(*curve.points, strict=True), label=curve.name)
    axes.legend()
    figure.savefig(path)
