"""The meaning of a line at the prompt: a command, `,name` and its operands, or forms to evaluate.

In: a line, and its shell.  Out: output on the shell's terminal. `COMMANDS` is the one table, made of
the themes of the files above; `,help` prints it, and completion reads from it what may follow a command.
"""

from __future__ import annotations

import re

from vlad.data.errors import VladError

from . import asking, keeping, looking, measuring, settings, watching
from .command import COMMAND_NAMES, NOTHING, Command, Theme
from .knowledge import known
from .shell import Leave, Shell
from .structure import is_blank

# Ways to leave other prompts, unless the program defines such a name.
LEAVING = ("exit", "quit", "(exit)", "(quit)", "exit()", "quit()")
HELPING = ("help", "(help)", "help()", "?")
QUESTION = re.compile(r"\?\s*[^\s()\[\]\"';`,]+")  # ?NAME


def enter(shell: Shell, text: str) -> bool:
    """Execute an input: a command, or forms to evaluate. Returns whether it succeeded. Raises Leave."""
    stripped = text.strip()
    if not stripped or is_blank(stripped):
        return True
    if stripped in (*LEAVING, *HELPING) and stripped.strip("()") not in shell.session.module.defined:
        if stripped in LEAVING:
            raise Leave
        stripped = ",help"
    if QUESTION.fullmatch(stripped) and stripped not in shell.session:
        stripped = ",doc " + stripped[1:].strip()
    if not stripped.startswith(","):
        return shell.evaluate(text)
    return shell.attempt(lambda: run(shell, stripped))


def run(shell: Shell, text: str) -> None:
    """Run a command. Raises VladError."""
    name, _, argument = text[1:].partition(" ")
    found, argument = found_command(shell, name.strip()), argument.strip()
    if found.needs_operand and not argument:
        raise VladError("invalid-command", f"`,{found.name}` needs more", hint=f"write {found.usage}")
    found.run(shell, argument)


def found_command(shell: Shell, name: str) -> Command:
    """The command with a name, or with a name that begins so. Raises VladError."""
    if name in COMMANDS:
        return COMMANDS[name]
    near = beginning_with(name)
    if len(near) == 1:
        return COMMANDS[near[0]]
    import difflib  # 5 ms, only for an error

    if not near and name and known(shell.session, name) is not None:
        near = [f"doc {name}"]
    near = near or difflib.get_close_matches(name, list(COMMANDS), 3, 0.5)
    hint = (
        f"did you mean {' or '.join('`,' + other + '`' for other in near)}?" if near else "`,help` lists them"
    )
    raise VladError("invalid-command", f"There is no command `,{name}`", hint=hint)


def beginning_with(text: str) -> list[str]:
    """The commands whose names begin with a text."""
    return [name for name in COMMANDS if text and name.startswith(text)]


HELP, QUIT = Theme(), Theme()


@HELP.command("help", "[COMMAND]", "list the commands, or say more about one", COMMAND_NAMES)
def _help(shell: Shell, argument: str) -> None:
    if argument:
        if not argument.startswith(",") and not beginning_with(argument) and known(shell.session, argument):
            run(shell, f",doc {argument}")
            return
        found = found_command(shell, argument.removeprefix(","))
        lines = [found.usage, f"  {found.doc}", *[f"  {line}" for line in found.more.split("\n") if line]]
        shell.terminal.line("\n".join(lines))
        return
    width = max(len(each.usage) for each in COMMANDS.values()) + 2
    for each in COMMANDS.values():
        shell.terminal.line(f"{each.usage:<{width}}{shell.terminal.paint(each.doc, 'remark')}")
    shell.terminal.line(
        "\nAnything else is evaluated; then _ is its value, _3 that of input 3, _error the last error's text.\n"
        "The beginning of a command's name will do, and ?NAME for `,doc NAME`. Ctrl-C cancels, Ctrl-D leaves."
    )


@QUIT.command("quit", "", "leave; so does Ctrl-D", NOTHING)
def _quit(shell: Shell, argument: str) -> None:
    raise Leave


COMMANDS: dict[str, Command] = {
    **HELP,
    **asking.THEME,
    **measuring.THEME,
    **looking.THEME,
    **watching.THEME,
    **keeping.THEME,
    **settings.THEME,
    **QUIT,
}
