"""Commands of the debugger, implemented in vlad/debugging/commands.py."""

from __future__ import annotations

from .command import NAMES, NOTHING, WORDS, Theme
from .shell import Shell

THEME = Theme()


@THEME.command("trace", "[NAME ...]", "show the calls of procedures, and of their derivatives", NAMES)
def _trace(shell: Shell, argument: str) -> None:
    shell.terminal.line(shell.debugger.trace(argument))


@THEME.command("untrace", "[NAME ...]", "stop tracing", NAMES)
def _untrace(shell: Shell, argument: str) -> None:
    shell.terminal.line(shell.debugger.untrace(argument))


@THEME.command("break", "[NAME|FILE:LINE ...]", "stop there, and inspect variables", NAMES)
def _break(shell: Shell, argument: str) -> None:
    shell.terminal.line(shell.debugger.break_at(argument))


@THEME.command("clear", "", "remove all breakpoints", NOTHING)
def _clear(shell: Shell, argument: str) -> None:
    shell.terminal.line(shell.debugger.clear())


@THEME.command("step", "EXPRESSION", "evaluate step by step")
def _step(shell: Shell, argument: str) -> None:
    with shell.debugger.stepping():
        shell.run(argument, "<command>", shell.show)


@THEME.command(
    "nan", "[on|off]", "find the operation that makes the first NaN or infinity", WORDS, ("on", "off")
)
def _nan(shell: Shell, argument: str) -> None:
    shell.terminal.line(shell.debugger.nan(argument))


@THEME.command("debug", "", "inspect the last error", NOTHING)
def _debug(shell: Shell, argument: str) -> None:
    text = shell.debugger.debug()
    if text:
        shell.terminal.line(text)
