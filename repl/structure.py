"""The brackets of a text being written: nesting, pairs, whether it is complete.

In: lines.  Out: an `Outline`: for each line its tokens (the reader's own), the state in which it begins (inside a string, a
comment, …) and the depth of brackets there. A line is tokenised once and cached by its text and state, so that a key
pressed in a text of thousands of lines costs one line, and a look-up for each of the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from vlad.data.errors import Incomplete, VladError
from vlad.data.source import Source
from vlad.reader.lexer import Token, tokens
from vlad.reader.parser import read

# The state at the beginning of a line: "" outside everything, '"' in a string, "|" in a symbol's bars, "##" in two comments.
_ENDS = {'"': re.compile(r'(?:[^"\\]|\\.)*"'), "|": re.compile(r"(?:[^|\\]|\\.)*\|")}
_COMMENT_EDGE = re.compile(r"#\||\|#")
OPENING, CLOSING = "([", ")]"
LARGE = 20_000  # characters from which on only brackets decide whether a text is complete


class Line(NamedTuple):
    """One line: its tokens, the state after it, the change of depth by its brackets, and their lowest depth."""

    text: str
    tokens: tuple[Token, ...]
    after: str
    change: int
    lowest: int


class Place(NamedTuple):
    row: int
    column: int


@lru_cache(maxsize=50_000)
def line_of(text: str, state: str) -> Line:
    """Tokenise a line that begins in a state."""
    found: list[Token] = []
    at = 0
    if state:
        at, state = _continued(text, state)
        found.append(
            Token("comment" if state.startswith("#") or text[:at].endswith("|#") else "string", 0, at)
        )
    if not state:
        for token in tokens(text, at):
            kind, start = token.kind, token.start
            if kind == "open-string":
                state = '"'
                token = Token("string", start, token.end)
            elif kind == "open-comment":
                _, state = _comment(text, start, 0)
                token = Token("comment", start, token.end)
            elif kind == "wrong" and text[start] == "|":
                state = "|"
                found.append(Token("symbol", start, len(text)))
                break
            found.append(token)
    change = lowest = 0
    for token in found:
        if is_opening(token, text):
            change += 1
        elif is_closing(token, text):
            change -= 1
            lowest = min(lowest, change)
    return Line(text, tuple(found), state, change, lowest)


def _continued(text: str, state: str) -> tuple[int, str]:
    """The end of the construct in which the line begins, and the state there."""
    if state.startswith("#"):
        return _comment(text, 0, len(state))
    end = _ENDS[state].match(text)
    return (len(text), state) if end is None else (end.end(), "")


def _comment(text: str, at: int, depth: int) -> tuple[int, str]:
    for edge in _COMMENT_EDGE.finditer(text, at):
        depth += 1 if edge.group() == "#|" else -1
        if depth == 0:
            return edge.end(), ""
    return len(text), "#" * depth


def is_opening(token: Token, text: str) -> bool:
    return token.kind in ("open", "tensor", "vector") or (
        token.kind == "bracket" and text[token.start] == "["
    )


def is_closing(token: Token, text: str) -> bool:
    return token.kind == "close" or (token.kind == "bracket" and text[token.start] == "]")


class Outline:
    """The brackets of a text, given as lines."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines: list[Line] = []
        self.depths: list[int] = []  # at the beginning of each line
        self.states: list[str] = []
        state, depth = "", 0
        for text in lines:
            line = line_of(text, state)
            self.lines.append(line)
            self.states.append(state)
            self.depths.append(depth)
            state = line.after
            depth += line.change
        self.state, self.depth = state, depth  # at the end

    def is_open(self) -> bool:
        """Whether the text ends inside a construct."""
        return self.depth > 0 or bool(self.state)

    def brackets(self, row: int) -> list[tuple[int, int]]:
        """Columns of the brackets of a line, each with 1 or -1."""
        line = self.lines[row]
        found = []
        for token in line.tokens:
            if is_opening(token, line.text):
                found.append((token.end - 1, 1))
            elif is_closing(token, line.text):
                found.append((token.start, -1))
        return found

    def opening(self, row: int, column: int) -> Place | None:
        """The innermost bracket that is open at a place, before the column."""
        pending = 0
        for at, step in reversed([each for each in self.brackets(row) if each[0] < column]):
            if step > 0 and pending == 0:
                return Place(row, at)
            pending -= step
        while row > 0:
            row -= 1
            line = self.lines[row]
            if line.change - line.lowest <= pending:  # all that it opens is closed again before the place
                pending -= line.change
                continue
            for at, step in reversed(self.brackets(row)):
                if step > 0 and pending == 0:
                    return Place(row, at)
                pending -= step
        return None

    def closing(self, row: int, column: int) -> Place | None:
        """The bracket that closes the innermost one open at a place, at the column or after it."""
        pending = 0
        for at, step in [each for each in self.brackets(row) if each[0] >= column]:
            if step < 0 and pending == 0:
                return Place(row, at)
            pending += step
        while row + 1 < len(self.lines):
            row += 1
            line = self.lines[row]
            if -line.lowest <= pending:
                pending += line.change
                continue
            for at, step in self.brackets(row):
                if step < 0 and pending == 0:
                    return Place(row, at)
                pending += step
        return None

    def pair(self, row: int, column: int) -> tuple[Place, Place] | None:
        """The bracket at a column, or else right before it, and its partner."""
        here = dict(self.brackets(row))
        for at in (column, column - 1):
            if at in here:
                other = self.closing(row, at + 1) if here[at] > 0 else self.opening(row, at)
                return None if other is None else (Place(row, at), other)
        return None

    def from_form(self, row: int) -> int:
        """The first line of the top-level form that contains a line."""
        while row > 0 and (self.depths[row] > 0 or self.states[row]):
            row -= 1
        return row

    def behind_form(self, row: int) -> int:
        """The number of the first line after the top-level form that contains a line."""
        row += 1
        while row < len(self.lines) and (self.depths[row] > 0 or self.states[row]):
            row += 1
        return row


def is_complete(text: str) -> bool:
    """Whether a text is complete, or so wrong that no continuation makes it valid, by the reader."""
    if len(text) > LARGE:
        return not Outline(text.split("\n")).is_open()
    try:
        read(Source("<input>", text))
    except Incomplete:
        return False
    except VladError:
        return True
    return True


def is_blank(text: str) -> bool:
    """Whether a text contains only space and comments."""
    return all(token.kind in ("space", "comment") for token in tokens(text))


def significant(line: Line) -> Iterator[Token]:
    """The tokens of a line that are not space or comment."""
    return (token for token in line.tokens if token.kind not in ("space", "comment"))
