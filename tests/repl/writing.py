"""A shell that writes into memory, for tests that need no terminal."""

from __future__ import annotations

import io

from vlad.repl.commands import enter
from vlad.repl.interrupts import Interrupts
from vlad.repl.shell import Shell
from vlad.repl.terminal import Terminal

from vlad import Session


class Writing:
    """A shell, and its output."""

    def __init__(self, tier: str = "evaluate") -> None:
        self.stream = io.StringIO()
        terminal = Terminal(self.stream)
        terminal.columns = 80
        self.shell = Shell(lambda write: Session(tier=tier, write=write), terminal, Interrupts())

    def output(self, *inputs: str) -> str:
        """The output for some inputs, one after the other."""
        self.stream.seek(0)
        self.stream.truncate()
        for text in inputs:
            enter(self.shell, text)
        text = self.stream.getvalue()
        assert "Traceback" not in text and "internal" not in text and "mistake in vlad" not in text, text
        return text
