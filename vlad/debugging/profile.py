"""`vlad profile`: where a program spends its time, by procedure and by line.

In: the samples of an evaluation (debugging/sampling.py).  Out: a table, speedscope's JSON, and stacks for flame graphs.
https://github.com/jlfwong/speedscope/blob/main/src/lib/file-format-spec.ts defines the JSON;
https://github.com/brendangregg/FlameGraph the stacks: a line each, with procedures from the outermost on, and a number.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vlad import __version__
from vlad.data.source import Span, in_library
from vlad.debugging.naming import Procedures
from vlad.debugging.sampling import Place, Sample

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

MOST_ROWS = 20  # of each part of the table
LEAST_SHARE = 0.001  # of the time, for a row
LONGEST_LINE = 60  # characters of a program's line
LONGEST_NAME = 44  # of a procedure's name
OTHERS = {
    "tier 0": "(evaluating)",
    "compiled": "(compiled code)",
    "passing": "(passing values)",
    "compiling": "(compiling)",
    "other": "(starting and reading)",
}  # for samples in which no procedure is known


@dataclass(frozen=True, slots=True)
class Frame:
    """A procedure in a stack: its name, its file and line; or what vlad does otherwise."""

    name: str
    file: str = ""
    line: int = 0

    @property
    def place(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}" if self.file else ""


@dataclass(slots=True)
class Row:
    """Seconds of a procedure or of a line: its own, and with those of what it calls."""

    own: float = 0.0
    all: float = 0.0


@dataclass(slots=True)
class Profile:
    """`stacks`: in the order of time, with seconds; procedures, outermost first. `lines`: by file, number and text."""

    stacks: list[tuple[tuple[Frame, ...], float]] = field(default_factory=list)
    kinds: dict[str, float] = field(default_factory=dict)
    procedures: dict[Frame, Row] = field(default_factory=dict)
    lines: dict[tuple[str, int, str], Row] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return sum(self.kinds.values())


def profile(samples: Iterable[Sample], machine: Machine) -> Profile:
    found, procedures = Profile(), Procedures(machine)
    frames: dict[Place, tuple[Frame, ...]] = {}
    for sample in samples:
        stack: list[Frame] = [Frame("…")] if sample.is_cut else []
        lines: list[tuple[str, int, str]] = []
        for place in sample.places:
            if place not in frames:
                frames[place] = tuple(
                    [
                        Frame(name, span.source.name, span.line)
                        for name, span in procedures.names(place.code, place.span)
                    ]
                )
            stack += frames[place]
            line = line_of(place)
            if line is not None:
                lines.append(line)
        if not stack or sample.kind in ("passing", "compiling", "other"):
            stack.append(Frame(OTHERS[sample.kind]))
        seconds = sample.seconds
        found.kinds[sample.kind] = found.kinds.get(sample.kind, 0.0) + seconds
        found.stacks.append((tuple(stack), seconds))
        _count(found.procedures, stack, seconds)
        _count(found.lines, lines, seconds)
    return found


def _count(rows: dict[Any, Row], stack: Sequence[Any], seconds: float) -> None:
    for one in dict.fromkeys(stack):
        rows.setdefault(one, Row()).all += seconds
    if stack:
        rows[stack[-1]].own += seconds


def line_of(place: Place) -> tuple[str, int, str] | None:
    """The line of the user's at a place: of the library's code, that which calls it."""
    span: Span | None = place.span
    if span is None or in_library(span):
        span = place.near
    if span is None:
        return None
    return span.source.name, span.line, span.source.line(span.line).strip()


def table(found: Profile, is_short: bool = False) -> str:
    """The profile as text: a summary, the procedures, the lines. `is_short`: did an error end the program?"""
    total = found.seconds
    if not found.stacks:
        return "too quick to tell: it ended before the first sample"
    words = {
        "tier 0": "evaluated",
        "compiled": "compiled",
        "passing": "passing values",
        "compiling": "compiling",
        "other": "starting and reading",
    }
    shares = [
        f"{100 * found.kinds[kind] / total:.0f}% {word}"
        for kind, word in words.items()
        if kind in found.kinds
    ]
    end = " until the error" if is_short else ""
    lines = [f"{total:.3f} s{end}: {', '.join(shares)}", "", "    own  own   all  procedure"]
    procedures = [
        (row, _cut(frame.name, LONGEST_NAME), frame.place) for frame, row in _largest(found.procedures, total)
    ]
    lines += _rows(procedures, total)
    if found.lines:
        lines += ["", "    own  own   all  line"]
    of_lines = [
        (row, f"{os.path.basename(file)}:{number}", _cut(text, LONGEST_LINE))
        for (file, number, text), row in _largest(found.lines, total)
    ]
    return "\n".join([*lines, *_rows(of_lines, total)])


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _rows(rows: list[tuple[Row, str, str]], total: float) -> list[str]:
    """Lines of two columns behind the times."""
    width = max([len(first) for _, first, _ in rows], default=0)
    return [_row(row, total, f"{first:<{width}}  {second}".rstrip()) for row, first, second in rows]


def _largest(rows: dict[Any, Row], total: float) -> list[tuple[Any, Row]]:
    ordered = sorted(rows.items(), key=lambda item: (-item[1].own, -item[1].all))
    return [(key, row) for key, row in ordered if row.all >= LEAST_SHARE * total][:MOST_ROWS]


def _row(row: Row, total: float, what: str) -> str:
    return f"{row.own:7.3f} {100 * row.own / total:3.0f}%  {100 * row.all / total:3.0f}%  {what}"


def speedscope(found: Profile, name: str) -> str:
    """The profile in the file format of https://www.speedscope.app."""
    numbers: dict[Frame, int] = {}
    samples = [[numbers.setdefault(frame, len(numbers)) for frame in stack] for stack, _ in found.stacks]
    frames = [
        {"name": frame.name} | ({"file": frame.file, "line": frame.line} if frame.file else {})
        for frame in numbers
    ]
    one = {
        "type": "sampled",
        "name": name,
        "unit": "seconds",
        "startValue": 0,
        "endValue": found.seconds,
        "samples": samples,
        "weights": [seconds for _, seconds in found.stacks],
    }
    file = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": f"vlad {__version__}",
        "name": name,
        "activeProfileIndex": 0,
        "shared": {"frames": frames},
        "profiles": [one],
    }
    return json.dumps(file, ensure_ascii=False) + "\n"


def folded(found: Profile) -> str:
    """The stacks, one a line, with their microseconds."""
    sums: dict[str, float] = {}
    for stack, seconds in found.stacks:
        words = [f"{frame.name} ({frame.place})" if frame.place else frame.name for frame in stack]
        text = ";".join([word.replace(";", ",") for word in words])
        sums[text] = sums.get(text, 0.0) + seconds
    return "".join([f"{text} {round(1e6 * seconds)}\n" for text, seconds in sums.items()])
