"""A user at a terminal: starts `vlad` on a pseudo-terminal, types, and reads the output."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).parent.parent.parent
CONTROL = re.compile(
    r"\x1b\[[0-9;?>=]*[A-Za-z~]|\x1b[()][A-Z0-9]|\x1b[=>78cM]|\x1b\][^\x07]*\x07|[\x00-\x08\x0b-\x1a]"
)
UNFINISHED = re.compile(r"\x1b[^A-Za-z~]*$")
# Variables that identify the terminal, and whether there is a display.
SCREENS = ("TERM", "LC_TERMINAL", "KITTY", "KONSOLE", "TMUX", "DISPLAY", "WAYLAND")
PATIENCE = 30.0  # seconds: a busy machine is slow
UP, DOWN, RIGHT, LEFT, ESCAPE = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b"


class Person:
    """`with Person("-i", "file.vlad") as person:` types to a `vlad` of its own."""

    def __init__(
        self, *words: str, columns: int = 100, rows: int = 40, folder: Path | None = None, **changes: str
    ) -> None:
        own = {
            name: value for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "VLAD", "NO_COLOR", "COLUMNS", "LINES", *SCREENS))
        }  # fmt: skip
        environment = {
            **own, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", "VLAD_HISTORY": "",
            "VLAD_STARTUP": "", "PYTHONDONTWRITEBYTECODE": "1", "VLAD_CACHE_DIR": os.environ.get("VLAD_CACHE_DIR", ""), **changes,
        }  # fmt: skip
        self.begun = time.monotonic()
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            if folder is not None:
                os.chdir(folder)
            os.execve(sys.executable, [sys.executable, "-m", "vlad", *words], environment)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.raw = ""  # all output
        self.at = 0  # how much of `shown` was looked at
        self.status: int | None = None

    def __enter__(self) -> Person:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.status is None:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        os.close(self.terminal)
        self.forget()

    def forget(self) -> None:
        """Discard the output so far, which must not contain a Python traceback."""
        assert "Traceback" not in self.raw, self.raw
        assert "Unhandled exception" not in self.raw, self.raw
        self.raw, self.at = "", 0

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def line(self, text: str) -> None:
        """Type a line and Enter."""
        self.type(text + "\r")

    def _more(self, seconds: float) -> bool:
        """Read the available output; False at the end."""
        ready, _, _ = select.select([self.terminal], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.terminal, 65536)
        except OSError:  # the other side is closed
            return False
        self.raw += data.decode("utf-8", "replace")
        return bool(data)

    @property
    def shown(self) -> str:
        """All output, without colours and cursor movements."""
        return CONTROL.sub("", UNFINISHED.sub("", self.raw))

    def sees(self, text: str, patience: float = PATIENCE) -> str:
        """Wait until a text appears after the output read so far; returns the output up to its end."""
        end = time.monotonic() + patience
        while True:
            shown = self.shown
            found = shown.find(text, self.at)
            if found >= 0:
                before, self.at = self.at, found + len(text)
                return shown[before : self.at]
            assert time.monotonic() < end, f"not seen: {text!r} in {shown[self.at :]!r}"
            assert self._more(0.1) or text in self.shown[self.at :], f"ended before {text!r}: {shown!r}"

    def settles(self, quiet: float = 0.3) -> None:
        """Wait until there is no output for a while."""
        while True:
            before = len(self.raw)
            assert self._more(quiet), f"ended: {self.shown!r}"
            if len(self.raw) == before:
                return

    def asks(self, number: int) -> str:
        """Wait for the prompt of this number."""
        return self.sees(f"{number}>")

    def says(self, text: str, expected: str) -> str:
        """Type a line, and wait for the result. Returns all output."""
        self.line(text)
        return self.sees(expected)

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.type("\x03")

    def leaves(self) -> int:
        """Wait for the end; its status."""
        end = time.monotonic() + PATIENCE
        while self._more(0.1):
            assert time.monotonic() < end, f"does not end: {self.raw!r}"
            done, status = os.waitpid(self.process, os.WNOHANG)
            if done:
                break
        else:
            _, status = os.waitpid(self.process, 0)
        self.status = os.waitstatus_to_exitcode(status)
        return self.status
