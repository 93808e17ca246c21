"""The prompt without terminal features: lines in, lines out. For pipes, dumb terminals, and editors that drive it."""

from __future__ import annotations

from collections.abc import Callable

from .commands import enter
from .shell import Leave, Shell
from .structure import is_complete, line_of


class Collector:
    """Collects lines until they form an input."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.lines: list[str] = []
        self._state, self._depth = "", 0

    def add(self, line: str) -> bool:
        """Add a line. Returns whether the input is complete."""
        if not self.lines and not line.strip():
            return False
        self.lines.append(line)
        if self.lines[0].lstrip().startswith(","):
            return True
        taken = line_of(line, self._state)
        self._state, self._depth = taken.after, self._depth + taken.change
        if self._state or self._depth > 0:
            return False
        return is_complete(self.text)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def run_plain(shell: Shell, read: Callable[[], str], prompting: bool) -> None:
    """Evaluate inputs until the lines end or the user leaves. `read` returns a line, "" at the end."""
    collected = Collector()
    while True:
        if prompting:
            shell.terminal.fresh_line()
            shell.terminal.write(continuation(shell) if collected.lines else prompt(shell))
        shell.terminal.flush()
        shell.interrupts.expect()
        try:
            line = shell.interrupts.run(read)
        except KeyboardInterrupt:
            shell.interrupts.close()
            collected.clear()
            shell.terminal.line("")
            continue
        if prompting and line.endswith("\n"):
            shell.terminal.echoed()
        try:
            if not line:
                if collected.lines:
                    enter(shell, collected.text)
                return
            if collected.add(line.rstrip("\r\n")):
                text = collected.text
                collected.clear()
                enter(shell, text)
        except Leave:
            return


def prompt(shell: Shell) -> str:
    return f"{shell.number}> "


def continuation(shell: Shell) -> str:
    return " " * len(prompt(shell))
