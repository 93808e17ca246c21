"""The prompt's output: colours, width, and a status line for long evaluations.

In: texts from programs and from the prompt.  Out: the same on a stream, in order; in between, on a terminal, a line that is
erased before anything else is written. Colours and that line are omitted if the stream is no terminal.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

COLOURS = {"remark": "2", "error": "31;1", "hint": "36", "name": "1", "place": "2"}
PATIENCE = 1.0  # seconds until the status line appears
EACH = 0.5  # seconds between two updates


def is_dumb() -> bool:
    return os.environ.get("TERM", "") in ("", "dumb", "unknown")


class Terminal:
    """A stream. `live`: whether it is a terminal on which a line can be erased."""

    def __init__(self, stream: TextIO | None = None, live: bool = False, colour: bool | None = None) -> None:
        self.stream = stream or sys.stdout
        self.live = live
        self.colour = live and not os.environ.get("NO_COLOR") if colour is None else colour
        self.about: Callable[[], str] = lambda: (
            ""
        )  # what the status line says of the evaluation, if anything is known
        self.writing: Callable[[], object] = lambda: None  # called before anything is written
        self.columns: int | None = None  # overrides the terminal's width
        self._lock = threading.RLock()
        self._fresh = True  # is the next character at the beginning of a line?
        self._shown = False  # is there a status line to erase?
        self._asking = False

    @property
    def width(self) -> int:
        return self.columns or shutil.get_terminal_size().columns

    def paint(self, text: str, role: str) -> str:
        return f"\x1b[{COLOURS[role]}m{text}\x1b[0m" if self.colour and text else text

    def write(self, text: str) -> None:
        """Write a program's output unchanged."""
        if text:
            self.writing()
            with self._lock:
                self._wipe()
                self.stream.write(text)
                self._fresh = text.endswith("\n")

    def line(self, text: str) -> None:
        """Write a text on lines of its own."""
        self.fresh_line()
        self.write(text + "\n")

    def fresh_line(self) -> None:
        """Begin a line, unless one has just begun."""
        if not self._fresh:
            self.write("\n")

    def echoed(self) -> None:
        """The user has ended a line, which the terminal echoed."""
        self._fresh = True

    def flush(self) -> None:
        with self._lock:
            self.stream.flush()

    # The status line.

    @contextmanager
    def busy(self) -> Iterator[None]:
        """A context in which a line appears after a while with the elapsed time."""
        if not self.live:
            yield
            return
        done = threading.Event()
        watcher = threading.Thread(target=self._show_status, args=(done,), daemon=True, name="vlad-progress")
        watcher.start()
        try:
            yield
        finally:
            done.set()
            with self._lock:
                self._wipe()

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """A context in which the user enters something: the status line is off."""
        self._asking = True
        try:
            yield
        finally:
            self._asking = False

    def _show_status(self, done: threading.Event) -> None:
        begun = time.monotonic()
        waiting = PATIENCE
        while not done.wait(waiting):
            waiting = EACH
            with self._lock:
                if self._asking or not self._fresh:
                    self.stream.flush()  # an unfinished line of the program
                elif not done.is_set():
                    self._shown = True
                    text = f"{self.about() or activity()} … {time.monotonic() - begun:.0f} s (Ctrl-C ends it)"
                    self.stream.write("\r\x1b[K" + self.paint(text[: self.width - 1], "remark"))
                    self.stream.flush()

    def _wipe(self) -> None:
        if self._shown:
            self._shown = False
            self.stream.write("\r\x1b[K")
            self.stream.flush()


def activity() -> str:
    """The current activity, in a word."""
    from vlad.compile.native.toolchain import is_compiling  # already loaded if it is in use

    return "compiling" if is_compiling() else "evaluating"
