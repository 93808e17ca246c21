"""Curves as text, for any terminal, and as self-contained SVG.

In: curves.  Out: dots in characters (eight in one, by Braille patterns; letters on a dumb terminal), or the text of an
SVG.
"""

from __future__ import annotations

from itertools import pairwise
from xml.sax.saxutils import escape

from .curves import Curve, frame, label
from .terminal import Terminal, is_dumb

ROWS, LABELS = 16, 10  # of characters: the height of a plot, and the width of its labels
BRAILLE = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
PAINTS = ("36", "33", "35", "32", "31", "34")
HUES = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf")
LETTERS = "*+ox#@"
WIDTH, HEIGHT, MARGIN = 640, 400, 56  # of an SVG


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
            for x, y in (curve.points if curve.dots else joined(curve.points, left, right, width * 2))
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
    """The points, with interpolated ones between them, about one per column."""
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
        places = [f"{across(x)},{down(y)}" for x, y in curve.points]
        if curve.dots:
            path = "".join([f"M{place}h0" for place in dict.fromkeys(places)])
            parts.append(f'<path d="{path}" stroke="{hue}" stroke-width="2" stroke-linecap="round"/>')
        else:
            line = " ".join(places)
            parts.append(f'<polyline points="{line}" fill="none" stroke="{hue}" stroke-width="1.5"/>')
        parts.append(
            f'<text x="{MARGIN + 8}" y="{MARGIN + 18 + 16 * index}" fill="{hue}">{escape(curve.name)}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"
