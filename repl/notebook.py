"""The prompt's shell for a notebook: what a cell means, shows, completes and explains, without Jupyter's messages.

In: the text of a cell.  Out: results and pictures, as texts by media type, through `publish`; errors, kept as `failure`.
kernel.py connects it to Jupyter. Cells are the inputs of the prompt: forms, or a command such as `,doc fold`.
"""

from __future__ import annotations

from collections.abc import Callable

from vlad.data.errors import Incomplete, Notice, VladError
from vlad.data.source import Source
from vlad.data.values import UNSPECIFIED, Value
from vlad.reader.parser import read
from vlad.session.session import Session
from vlad.tools.progress import Progress

from .commands import enter
from .completion import Candidate, candidates
from .display import shown
from .editing import around, tree, word_at
from .html import as_html
from .indentation import indentation
from .interrupts import Interrupts
from .knowledge import about
from .shell import Shell
from .structure import Outline
from .terminal import Terminal

WIDTH = 100  # columns of a cell
Bundle = dict[str, str]  # a value, by media type


class Failure:
    """Why a cell failed: the kind of error, its message, all lines."""

    def __init__(self, kind: str, message: str, lines: list[str]) -> None:
        self.kind, self.message, self.lines = kind, message, lines


class Notebook(Shell):
    """`publish` is called with a value and whether it is a result (pictures are not), `publish_progress` with a text that
    says how far training is, and whether it is the first one of a cell, whose place the others take; "" erases the cell's
    output, which is nothing else then: a notebook keeps what is shown behind other output."""

    def __init__(
        self,
        make_session: Callable[[Callable[[str], object]], Session],
        terminal: Terminal,
        publish: Callable[[Bundle, bool], object],
        publish_progress: Callable[[str, bool], object] | None = None,
    ) -> None:
        self.publish = publish
        self.failure: Failure | None = None
        self.is_silent = self.is_watched = self.has_output = False
        self.publish_progress = publish_progress
        progress = None if publish_progress is None else Progress(self.show_progress)
        terminal.writing = self.begin_output
        super().__init__(make_session, terminal, Interrupts(), progress)
        self.terminal.columns = WIDTH
        self.picture = self.show_picture
        self.has_screen = False

    def execute(self, text: str, number: int, silent: bool = False) -> Failure | None:
        """Execute a cell. Returns why it failed, if it did. Raises Leave."""
        self.number, self.failure, self.is_silent, self.has_output = number, None, silent, False
        with self.interrupts:
            if not enter(self, text) and self.failure is None:
                self.failure = Failure("error", "The cell failed", ["The cell failed"])
        self.begin_output()
        self.terminal.flush()
        return self.failure

    # What the shell shows.

    def show(self, value: Value) -> None:
        self.format.width = WIDTH
        text, remark = shown(value, self.session.machine, self.format)
        if value is UNSPECIFIED or not text or self.is_silent:
            return
        self.begin_output()
        self.terminal.fresh_line()  # behind what the program has written so far
        self.terminal.flush()
        self.publish(self.bundle(value, text, remark), True)

    def show_progress(self, text: str) -> None:
        if text and not (self.is_silent or self.has_output) and self.publish_progress is not None:
            self.publish_progress(text, not self.is_watched)
            self.is_watched = True

    def begin_output(self) -> None:
        """Erase the progress that is shown, for the cell has output from now on, or ends."""
        self.has_output = True
        if self.is_watched and self.publish_progress is not None:
            self.is_watched = False
            self.publish_progress("", False)

    def show_picture(self, svg: str) -> None:
        if not self.is_silent:
            self.begin_output()
            self.terminal.flush()
            self.publish({"image/svg+xml": svg, "text/plain": "a plot"}, False)

    def bundle(self, value: Value, text: str, remark: str) -> Bundle:
        found = {"text/plain": f"{text}  ; {remark}" if remark and "\n" not in text else text}
        html = as_html(value, self.session)
        if html is not None:
            found["text/html"] = html
        return found

    def display(self, error: VladError) -> None:
        """An error fails the cell, which shows it; a notice is output."""
        if isinstance(error, Notice):
            super().display(error)
        else:
            self.failure = Failure(error.code, error.message, str(error).split("\n"))

    def interrupted(self) -> None:
        self.failure = Failure("interrupted", "Interrupted", ["Interrupted"])

    def show_way(self) -> None:
        if self.failure is not None:
            self.failure.lines += self.way.split("\n")

    # Looking at a text that is being written.

    def candidates(self, before: str) -> list[Candidate]:
        return candidates(self, before)

    def explained(self, text: str, at: int) -> str | None:
        """The documentation of the name at a position, or else of the procedure whose operands are there."""
        name, _ = word_at(text, at)
        if not name or not about(self.session, name):
            node = around(tree(text), at)
            while node.above is not None and not node.children:  # a list that begins here
                node = node.above
            is_call = node.above is not None
            name = text[node.children[0].start : node.children[0].end] if is_call else ""
        return about(self.session, name) if name else None


def state_of(text: str) -> tuple[str, str]:
    """Whether a text is "complete", "incomplete" or "invalid", and, if it is incomplete, the space before its next line."""
    if text.lstrip().startswith(","):
        return "complete", ""
    try:
        read(Source("<cell>", text))
    except Incomplete:
        lines = text.split("\n")
        return "incomplete", " " * (indentation(Outline([*lines, ""]), len(lines)) or 0)
    except VladError:
        return "invalid", ""
    return "complete", ""
