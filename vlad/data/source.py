"""Source texts, spans in them, and excerpts with carets.

In: the text of a file, prompt line or string.  Out: `Span`s, which every later stage carries along.
It imports no other module of vlad.
"""

from __future__ import annotations

from bisect import bisect_right
from enum import Enum


class Origin(Enum):
    """Whose a text is. Its name does not say: a program may have a folder `stdlib`."""

    PROGRAM = "a program's"
    LIBRARY = "the library's, which people can look up"
    SYSTEM = "made by the system, shown to no one"


class Source:
    """A text with a name (a path as the user wrote it, or `<expression>`). `is_python`: it is Python, so its errors speak of
    what Python has."""

    __slots__ = ("name", "text", "origin", "is_python", "_line_starts")

    def __init__(
        self, name: str, text: str, origin: Origin = Origin.PROGRAM, is_python: bool = False
    ) -> None:
        self.name = name
        self.text = text
        self.origin = origin
        self.is_python = is_python
        self._line_starts: list[int] | None = None

    def line_starts(self) -> list[int]:
        """Offsets at which lines begin, computed on first use."""
        if self._line_starts is None:
            starts, at = [0], self.text.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = self.text.find("\n", at + 1)
            self._line_starts = starts
        return self._line_starts

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1."""
        starts = self.line_starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Line `number` of the text, counted from 1, without its line end."""
        starts = self.line_starts()
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r")


class Span:
    """The extent `[start, end)` of something in a source."""

    __slots__ = ("source", "start", "end")

    def __init__(self, source: Source, start: int, end: int) -> None:
        self.source = source
        self.start = start
        self.end = end

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def contains(self, other: Span) -> bool:
        return self.source is other.source and self.start <= other.start and other.end <= self.end

    def __str__(self) -> str:
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"

    def __repr__(self) -> str:
        return f"<{self}>"

    def excerpt(self, width: int = 100) -> str:
        """The line on which the span starts, with carets below the span, cut to `width` characters around it."""
        line, column = self.source.position(self.start)
        text = self.source.line(line).replace("\t", " ")
        length = max(1, min(self.end - self.start, len(text) - column + 1))
        if len(text) > width:
            first = max(0, column - 1 - width // 3)
            text = ("…" if first else "") + text[first : first + width]
            column -= first - (1 if first else 0)
            length = max(1, min(length, len(text) - column + 1))
        margin = f"{line:>5} | "
        shown = "".join(c if c.isprintable() else "�" for c in text)
        return f"{margin}{shown}\n{' ' * 5} | {' ' * (column - 1)}{'^' * length}"


def in_library(span: Span) -> bool:
    """Whether the span is outside the user's own texts."""
    return in_stdlib(span) or is_ours(span)


def is_ours(span: Span) -> bool:
    """Whether the span is in a generated text, which users cannot read."""
    return span.source.origin is Origin.SYSTEM


def in_stdlib(span: Span) -> bool:
    """Whether the span is in the standard library, which users can read."""
    return span.source.origin is Origin.LIBRARY


def is_internal(name: str) -> bool:
    """Is it, in the library, the name of a helper, which is for the library alone? A program may name things so, too."""
    return name.startswith("%")
