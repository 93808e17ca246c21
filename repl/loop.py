"""Start of the prompt, in one of its two forms.

In: a function that makes a session, and what to run before the first prompt.  Out: the exit status, when the user leaves.
Called by the `vlad` command. The form with keys, colours and completion (prompt.py) needs a capable terminal; otherwise
plain.py reads lines, and prompt-toolkit is not imported.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress

from vlad import __version__
from vlad.session.session import Session
from vlad.tools.progress import Progress

from .interrupts import Interrupts
from .plain import run_plain
from .shell import Leave, Shell
from .startup import start_up, startup_path
from .terminal import Terminal, is_dumb

GREETING = f"vlad {__version__}: type an expression, `,help` for commands, Ctrl-D to leave"


def start(
    make_session: Callable[[Callable[[str], object]], Session],
    file: str | None = None,
    expressions: Iterable[str] = (),
    init: bool = True,
    quiet: bool = False,
) -> int:
    """Run a file or expressions, if there are any, then prompt until the user leaves. `init`: run the start-up file first;
    `quiet`: do not show the progress of training."""
    reads = sys.stdin is not None and sys.stdin.isatty()
    able = reads and sys.stdout.isatty() and not is_dumb()
    with Interrupts() as interrupts:
        shell = Shell(
            make_session, Terminal(live=able), interrupts, Progress() if able and not quiet else None
        )
        if reads:
            shell.attended = True
            shell.terminal.line(GREETING)
            if init:
                shell.begun = lambda: start_up(shell, startup_path())
        with suppress(Leave):
            shell.begun()
            if file is not None:
                shell.attempt(lambda: shell.session.run(file))
            for expression in expressions:
                shell.evaluate(expression)
            if able:
                from .prompt import run_prompt  # 0.1 s

                run_prompt(shell)
            elif sys.stdin is not None:
                if isinstance(sys.stdin, io.TextIOWrapper):
                    sys.stdin.reconfigure(encoding="utf-8", errors="replace")
                run_plain(shell, sys.stdin.readline, prompting=reads)
        for window in shell.windows:
            window.close()
        if reads:
            shell.terminal.fresh_line()
        shell.terminal.flush()
        return shell.status
