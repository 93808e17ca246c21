"""What an editor asks of the text of a program: errors, documentation, completions, definitions.

In: a text and positions in it, as offsets.  Out: facts, independent of any editor's protocol (language_server.py). Nothing of the
program is executed (vlad/session/survey.py). For a text that is being changed, what the last survey found counts, which may be
older than the text; where names are bound locally is read from the text itself.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from vlad.data.errors import VladError
from vlad.data.source import Origin, Source, Span
from vlad.data.values import is_procedure, look
from vlad.expand.forms import KEYWORDS
from vlad.manual.help import Entry, lines_of
from vlad.reader.parser import looks_like_number
from vlad.session.session import Session
from vlad.session.survey import Defined, Survey, survey

from .bindings import Form, atoms, binder_in
from .checking_process import Typing
from .colouring import Coloured, coloured
from .completion import Candidate, in_program
from .editing import Node, around, tree, word_at
from .knowledge import about, known
from .structure import Outline
from .typed_text import Hint, Present, TypedText

# forms with names or data of their own, which binders() does not know
UNFOLLOWED = frozenset(
    [
        "case",
        "case-lambda",
        "define-record-type",
        "define-syntax",
        "define-values",
        "guard",
        "let*-values",
        "let-syntax",
        "let-values",
        "letrec-syntax",
        "match",
        "quasiquote",
        "receive",
        "shift",
        "syntax-rules",
    ]
)


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


class Explanation(NamedTuple):
    """What a name is. `heading`: lines of a program, its signature and types; `text`: documentation as plain lines; `entry`: the
    same as data, if the name has an entry."""

    heading: tuple[str, ...]
    text: str
    entry: Entry | None = None


class Looked:
    """A text, with what is found out about it on demand."""

    def __init__(self, name: str, text: str) -> None:
        self.source = Source(name, text)

    @cached_property
    def outline(self) -> Outline:
        return Outline(self.source.text.split("\n"))

    def forms(self) -> Iterator[Form]:
        """All forms at top level, and what is between them."""
        at, text = 0, self.source.text
        while at < len(text):
            form = self.form(at)
            yield form
            at = form.start + max(len(form.text), 1)

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
        self.typed: TypedText | None = None
        self.whole: TypedText | None = None  # the last one of a text without errors
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

    def adopt_types(self, looked: Looked, typing: Typing, is_wrong: bool) -> None:
        """Use the types of a text from now on. Of one with errors, some may be missing."""
        self.typed = TypedText(looked.source, typing, self.whole if is_wrong else None)
        if not is_wrong:
            self.whole = self.typed

    def binder(self, name: str, at: int) -> tuple[int, int] | None:
        """The offsets at which the forms around an offset bind a name for themselves, if they do."""
        form = self.looked.form(at)
        return binder_in(form, tree(form.text), name, at)

    def occurrences(self, at: int) -> list[tuple[int, int]]:
        """Where the name at an offset occurs with the same meaning in this text."""
        source = self.looked.source
        name, start = word_at(source.text, at)
        if not name:
            return []
        own = self.binder(name, start)
        forms = [self.looked.form(at)] if own is not None else self.looked.forms()
        found = []
        for form in forms:
            if name in form.text:
                root = tree(form.text)
                for node in atoms(form.text, root):
                    offset = form.start + node.start
                    if (
                        form.text[node.start : node.end] == name
                        and binder_in(form, root, name, offset) == own
                    ):
                        found.append((offset, form.start + node.end))
        return found if any(first <= at <= last for first, last in found) else []

    def renamed(self, at: int, new: str) -> list[tuple[int, int]]:
        """The occurrences to replace by another name. Raises VladError if the program would mean something else."""
        name, start = word_at(self.looked.source.text, at)
        found = self.occurrences(at)
        is_local = bool(name) and self.binder(name, start) is not None
        if not found or not (is_local or any(one.name == name for one in self.definitions())):
            raise VladError("invalid-command", f"Only names that this text binds can be renamed, not {name}")
        if word_at(new, 0)[0] != new or not new or looks_like_number(new):
            raise VladError("invalid-command", f"Not a name: {new}")
        is_taken = new in KEYWORDS or any(one.name == new for one in self.definitions())
        is_taken |= not is_local and new in self.session.known_names()
        for first, _ in found:
            form = self.looked.form(first)
            root = tree(form.text)
            is_taken |= is_local and any(
                form.text[node.start : node.end] == new for node in atoms(form.text, root)
            )
            is_taken |= binder_in(form, root, new, first) is not None
            unclear = self._unfollowed(form, root, first)
            if unclear:
                raise VladError(
                    "invalid-command",
                    f"Not renamed, as {name} is used in `{unclear}`, which may bind names of its own",
                )
        if is_taken:
            raise VladError("invalid-command", f"The name {new} has a meaning there already")
        return found

    def types(self) -> Present | None:
        """The types of this text, as far as they are known."""
        return None if self.typed is None else self.typed.in_text(self.looked.source.text)

    def explained(self, at: int) -> Explanation | None:
        """What the name at an offset is, or the type of the list that begins there."""
        text, types = self.looked.source.text, self.types()
        name, start = word_at(text, at)
        if not name:
            type_ = (
                types.of_expression(at) if types is not None and text[at : at + 1] in tuple("([") else None
            )
            return None if type_ is None else Explanation((f": {type_}",), "")
        bound = self.binder(name, start)
        if bound is not None:
            type_ = None if types is None else types.of_local(name, bound)
            line = self.looked.source.position(bound[0])[0]
            return Explanation((name if type_ is None else f"{name} : {type_}",), f"bound in line {line}")
        entry = known(self.session, name)
        if entry is not None:
            heading = types.of_global(name) if types is not None else []
            lines = [line for one in heading for line in one.split("\n")]
            return Explanation(
                (entry.signature, *lines), "\n".join([*lines_of(entry)][1:]).strip("\n"), entry
            )
        found = about(self.session, name)
        return None if found is None else Explanation((), found)

    def hints(self, first: int, last: int) -> list[Hint]:
        """Types to display between two offsets."""
        types = self.types()
        if types is None:
            return []
        forms = [
            form for form in self.looked.forms() if form.start < last and first < form.start + len(form.text)
        ]
        return [hint for hint in types.hints(forms) if first <= hint.at <= last]

    def coloured(self, looked: Looked, first: int, last: int) -> Iterator[tuple[int, Coloured, str]]:
        """The words of a text between two lines, counted from 0, with their kinds, and the lines of their forms. What is known
        now counts, also if another thread takes the words, after a later survey has replaced the session."""
        kinds = {one.name: "function" if one.is_procedure else "variable" for one in self.definitions()}
        kinds = dict.fromkeys(self.session.module.macros, "macro") | kinds  # the library's are its own forms

        def kind_of(name: str) -> str:
            return kinds.get(name, "")

        def found() -> Iterator[tuple[int, Coloured, str]]:
            for form in looked.forms():
                line = looked.source.position(form.start)[0] - 1
                if line <= last and first <= line + form.text.count("\n"):
                    for word, kind in coloured(form.text, kind_of):
                        if first <= line + word.row <= last:
                            yield line, word, kind

        return found()

    def _unfollowed(self, form: Form, root: Node, at: int) -> str:
        """The form around an offset whose names are not followed here, if there is one."""
        node: Node | None = around(root, at - form.start)
        while node is not None and node.above is not None:
            head = form.text[node.children[0].start : node.children[0].end] if node.children else ""
            if head in UNFOLLOWED or self.session.module.macro(head) is not None:
                return head
            node = node.above
        return ""

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
