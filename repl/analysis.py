"""What an editor asks of the text of a program: errors, documentation, completions, definitions.

In: a text and positions in it, as offsets.  Out: facts, independent of any editor's protocol (language_server.py). Nothing of the
program is executed (vlad/session/survey.py). For a text that is being changed, what the last survey found counts, which may be
older than the text; where names are bound locally is read from the text itself.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple

from vlad.data.source import Origin, Source, Span
from vlad.data.values import is_procedure, look
from vlad.session.session import Session
from vlad.session.survey import Defined, Survey, survey

from .completion import Candidate, binders, in_program
from .editing import Node, around, tree, word_at
from .knowledge import about, known
from .structure import Outline


class Place(NamedTuple):
    """Where something is defined: a file, or "" for the text itself; the line, from 1; what is before it on the line, and its own
    text there."""

    path: str
    line: int
    before: str
    text: str


class Call(NamedTuple):
    """A call around a position: its signature, what it is about, and which operand the position is in."""

    signature: str
    text: str
    operand: int


class Form(NamedTuple):
    """A top-level form: its text, and its offset."""

    text: str
    start: int


class Looked:
    """A text, with what is found out about it on demand."""

    def __init__(self, name: str, text: str) -> None:
        self.source = Source(name, text)

    @cached_property
    def outline(self) -> Outline:
        return Outline(self.source.text.split("\n"))

    def form(self, at: int) -> Form:
        """The top-level form around an offset."""
        starts = self.source.line_starts()
        row = bisect_right(starts, at) - 1
        first, behind = self.outline.from_form(row), self.outline.behind_form(row)
        end = starts[behind] if behind < len(starts) else len(self.source.text)
        return Form(self.source.text[starts[first] : end], starts[first])


class Document:
    """A program in an editor. `path` is its file, by which it finds what it imports."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.session = Session(tier="evaluate", write=lambda text: None)
        self.survey: Survey | None = None
        self.change(text)

    def change(self, text: str) -> None:
        self.looked = Looked(self.path, text)

    def surveyed(self, looked: Looked) -> tuple[Session, Survey]:
        """A survey, which takes a while; another thread may do it."""
        session = Session(tier="evaluate", write=lambda text: None)
        return session, survey(session, looked.source)

    def adopt(self, session: Session, found: Survey) -> None:
        """Use a survey from now on. One of a text with a syntax error knows what is before it only."""
        if found.is_read or self.survey is None:
            self.session.close()
            self.session, self.survey = session, found

    def binder(self, name: str, at: int) -> tuple[int, int] | None:
        """The offsets at which the forms around an offset bind a name for themselves, if they do."""
        form = self.looked.form(at)
        for node in binders(form.text, at - form.start):
            if form.text[node.start : node.end] == name and not is_global(form.text, node):
                return form.start + node.start, form.start + node.end
        return None

    def explained(self, at: int) -> str | None:
        """The documentation of the name at an offset."""
        name, start = word_at(self.looked.source.text, at)
        if not name:
            return None
        bound = self.binder(name, start)
        if bound is not None:
            return f"{name}: bound in line {self.looked.source.position(bound[0])[0]}"
        return about(self.session, name)

    def completed(self, at: int) -> list[Candidate]:
        form = self.looked.form(at)
        return in_program(self.session, form.text[: at - form.start])

    def call(self, at: int) -> Call | None:
        """The innermost call of a known procedure around an offset."""
        form = self.looked.form(at)
        node = around(tree(form.text), at - form.start)
        if node.above is None or not node.children:
            return None
        head = node.children[0]
        entry = known(self.session, form.text[head.start : head.end])
        if entry is None or not entry.signature:
            return None
        operand = len([child for child in node.children[1:] if child.end < at - form.start])
        return Call(entry.signature, " ".join(entry.text), operand)

    def definition(self, at: int) -> Place | None:
        """Where the name at an offset is defined."""
        name, start = word_at(self.looked.source.text, at)
        bound = self.binder(name, start) if name else None
        if bound is not None:
            return placed("", self.looked.source, *bound)
        for one in reversed(self.survey.definitions if self.survey else ()):
            if one.name == name:
                return self._place(one.span)
        cell = self.session.module.lookup(name) if name else None
        value = look(cell.value) if cell is not None else None
        if value is None or not is_procedure(value) or value[0].base.primitive is not None:
            return None
        span: Span | None = self.session.machine.core_of(value[0].base).span
        return None if span is None else self._place(span)

    def _place(self, span: Span) -> Place | None:
        source = span.source
        if source.origin is Origin.SYSTEM:
            return None
        if source.origin is Origin.LIBRARY:
            path = os.path.join(os.path.dirname(self.session._library.folder), source.name)
        else:
            is_own = self.survey is not None and source is self.survey.source
            path = "" if is_own else os.path.abspath(source.name)
        return placed(path, source, span.start, span.end)

    def definitions(self) -> list[Defined]:
        return self.survey.definitions if self.survey else []


def placed(path: str, source: Source, start: int, end: int) -> Place:
    line, column = source.position(start)
    return Place(path, line, source.line(line)[: column - 1], source.text[start:end].split("\n")[0])


def is_global(text: str, node: Node) -> bool:
    """Is this the name in a definition at top level?"""
    while node.above is not None and node.above.children[0] is node:
        node = node.above
    form = node.above
    if form is None or form.above is None or form.above.above is not None:
        return False
    head = form.children[0]
    return text[head.start : head.end] == "define" and form.children[1] is node
