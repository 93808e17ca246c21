"""The prompt without its keys: evaluates one input after the other, shows results, keeps them, and survives every error.

In: texts of forms, from a reader (plain.py, prompt.py).  Out: output on a `Terminal`. Commands operate on
it. Every error of a program becomes a message, never a Python traceback.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, Protocol

from vlad.control.standard_streams import read_line
from vlad.data.errors import Exited, Notice, VladError, parts
from vlad.data.source import Source
from vlad.data.values import UNSPECIFIED, String, Value
from vlad.debugging.commands import Commands as Debugging
from vlad.debugging.retracing import A_MOMENT
from vlad.expand.expander import in_prefix
from vlad.reader.parser import read
from vlad.session.session import Session
from vlad.tools.progress import Progress

from .display import Format, shown
from .interrupts import Interrupts
from .terminal import Terminal

MOST_RESULTS = 100  # that are kept as _1, _2, …
PAINTED = {"message": "error", "hint": "hint"}  # parts of an error, and their styles
SLOW = 0.5  # seconds, after which the time of an evaluation is displayed


class Leave(Exception):
    """The user leaves, or a program that called `exit`."""


class Closed(Protocol):
    """A resource to close at the end."""

    def close(self) -> None: ...


class Shell:
    """A session and its state at a prompt. `make_session` is called with the output function of a new session."""

    def __init__(
        self,
        make_session: Callable[[Callable[[str], object]], Session],
        terminal: Terminal,
        interrupts: Interrupts,
        progress: Progress | None = None,
    ) -> None:
        self.make_session = make_session
        self.terminal = terminal
        self.interrupts = interrupts
        self.progress = progress  # of training, which the status line shows
        if progress is not None:
            terminal.about = progress.text
        self.format = Format()
        self.attended = False  # is it interactive, with additional messages?
        self.status = 0  # of `exit`
        self.read: Callable[[], str] = read_line
        self.begun: Callable[[], object] = lambda: None  # called when a session has begun
        self.picture: Callable[[str], object] | None = (
            None  # shows an SVG, where there is more than a terminal
        )
        self.has_screen = True  # which other programs, such as an editor, may use
        self.windows: list[Closed] = []  # of plots, which the prompt closes at its end
        self.keys = os.environ.get("VLAD_KEYS", "emacs")
        self.recall: Callable[[str], list[str]] = (
            lambda text: []
        )  # entries of the history that contain a text
        self.start()

    def start(self) -> None:
        """Begin with a session without definitions."""
        self.session = self.make_session(self.terminal.write)
        if self.progress is not None:
            self.session.watch(self.progress)
        self.session.tiers.notify = self.display  # of what runs on tier 0 although it is to be compiled
        self.session.library.remark = self.display
        self.debugger = Debugging(self.session, self.ask, self.terminal.line)
        self.limits = self.session.machine.limits
        self.number = 1  # of the next input
        self.inputs: list[str] = []  # successful ones, in order
        self.loaded: list[str] = []  # files, in order
        self.results: list[str] = []  # names
        self.error: VladError | None = None
        self.way = ""  # the tail calls that led to the last error, if known
        self.seconds = 0.0  # of the last input, without those in which the user was asked
        self.asked = 0.0

    # Evaluating.

    def evaluate(self, text: str) -> bool:
        """Evaluate the forms of an input, show their values, keep the last one. Returns whether all succeeded."""
        name = f"<input {self.number}>"
        values: list[Value] = []

        def show(value: Value) -> None:
            values.append(value)
            self.show(value)

        number, self.number = self.number, self.number + 1
        defined = set(self.session.module.defined)
        went_well = self.attempt(lambda: self.run(text, name, show))
        if went_well:
            self.inputs.append(text)
        kept = [value for value in values if value is not UNSPECIFIED]
        if kept:
            self.keep(number, kept[-1])
        if self.attended:
            self.report_hidden(defined)
            call = in_prefix(read(Source(name, text))) if went_well and len(values) > 1 else ""
            if call:
                self.remark(
                    f"these are {len(values)} expressions; the procedure comes first in a call: `{call}`"
                )
        if self.attended and self.seconds > SLOW:
            self.remark(f"{self.seconds:.2f} s")
        return went_well

    def run(self, text: str, name: str, show: Callable[[Value], None]) -> None:
        with self.session.limited(self.limits):
            self.session.run_text(text, name, show)

    def value_of(self, text: str, name: str = "<command>") -> Value:
        """The value of the last form of a text. Raises VladError."""
        values: list[Value] = [UNSPECIFIED]
        self.run(text, name, values.append)
        return values[-1]

    def attempt(self, work: Callable[[], Any]) -> bool:
        """Do work that may fail or be interrupted, and report that. Returns whether it succeeded. Raises Leave."""
        begun, self.asked = time.monotonic(), 0.0
        if self.progress is not None:
            self.progress.end()
        try:
            with self.terminal.busy():
                self.interrupts.run(work)
            return True
        except Exited as exited:
            self.status = exited.status
            raise Leave from None
        except VladError as error:
            self.complain(error)
            self.retrace(error)
        except KeyboardInterrupt:
            self.interrupts.close()
            self.interrupted()
        except Leave:
            raise
        except BrokenPipeError:
            raise
        except Exception as error:
            self.complain(unexpected(error))
        finally:
            self.seconds = time.monotonic() - begun - self.asked
            self.terminal.fresh_line()
        return False

    def ask(self, prompt: str) -> str:
        """A line from the user during an evaluation, for the debugger; "" at the end of the input."""
        self.terminal.fresh_line()
        self.terminal.write(prompt)
        self.terminal.flush()
        begun = time.monotonic()
        try:
            with self.terminal.quiet():
                line = self.read()
        finally:
            self.asked += time.monotonic() - begun
        if self.attended:  # the user has typed it, and Enter
            self.terminal.echoed()
        else:
            self.terminal.write(line or "\n")
        return line

    # Showing.

    def show(self, value: Value) -> None:
        self.format.width = self.terminal.width
        text, remark = shown(value, self.session.machine, self.format)
        if text:
            gap = "  " if "\n" not in text and len(text) + len(remark) + 4 <= self.terminal.width else "\n"
            ending = self.terminal.paint(f"; {remark}", "remark") if remark else ""
            self.terminal.line(text + (gap + ending if ending else ""))

    def remark(self, text: str) -> None:
        self.terminal.line(self.terminal.paint(f"; {text}", "remark"))

    def report_hidden(self, before: set[str]) -> None:
        """Report standard names that now have another meaning; `before` were defined already."""
        module = self.session.module
        new = [
            name
            for name in module.defined
            if name not in before
            and not name.startswith("_")
            and self.session.library.lookup(name) is not None
        ]
        imports: dict[str, list[str]] = {}
        for name in new:
            if name in module.imported:
                imports.setdefault(module.imported[name], []).append(name)
            else:
                self.remark(
                    f"{name} is your own from here on, no longer vlad's; `,reset` forgets your definitions"
                )
        for path, names in imports.items():
            self.remark(f"{path} gives new meanings to {' '.join(names)}")

    def complain(self, error: VladError) -> None:
        """Show an error, and keep it."""
        self.error, self.way = error, ""
        self.session.bind("_error", String(str(error)))
        self.display(error)

    def display(self, error: VladError) -> None:
        """Show an error or a notice."""
        lines: list[str] = []
        for part, text in parts(error):
            first, *others = text.split("\n")
            style = "remark" if isinstance(error, Notice) and part == "message" else PAINTED.get(part)
            lines += [first if style is None else self.terminal.paint(first, style), *others]
        self.terminal.line("\n".join(lines))

    def retrace(self, error: VladError) -> None:
        """Show the tail calls that led to an error, if they are found quickly."""
        self.terminal.flush()
        try:
            self.way = self.interrupts.run(lambda: self.debugger.way(error, A_MOMENT))
        except KeyboardInterrupt:
            self.interrupts.close()
        if self.way:
            self.show_way()

    def show_way(self) -> None:
        """Show the tail calls that led to the last error."""
        self.terminal.line(self.way)

    def interrupted(self) -> None:
        """Show that the user ended an evaluation."""
        self.terminal.line(self.terminal.paint("Interrupted", "error"))

    def keep(self, number: int, value: Value) -> None:
        """Give a result its names. The oldest ones are deleted."""
        self.session.bind("_", value)
        self.session.bind(f"_{number}", value)
        self.results.append(f"_{number}")
        if len(self.results) > MOST_RESULTS:
            self.session.unbind(self.results.pop(0))


def unexpected(error: Exception) -> VladError:
    """An internal error, or one of the machine, rather than of the program."""
    if isinstance(error, MemoryError):
        return VladError("out-of-memory", "The program needs more memory than there is")
    if isinstance(error, RecursionError):
        return VladError("too-deep", "That nests too deeply")
    if os.environ.get("VLAD_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    return VladError(
        "internal-error",
        f"A mistake in vlad itself: {type(error).__name__}: {error}",
        hint="please report it; VLAD_DEBUG=1 in the environment shows where it happened",
    )
