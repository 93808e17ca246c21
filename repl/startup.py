"""The start-up file: definitions and settings for every prompt.

In: a new shell.  Out: the same, after executing the file: a program in which lines may be commands of
the prompt. Only prompts at a terminal read it: input through a pipe means the same everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from vlad.session.files import load

from .commands import run
from .shell import Shell
from .structure import Outline


def startup_path() -> str:
    """In the user's configuration folder; $VLAD_STARTUP names another file, or disables it if it is empty."""
    named = os.environ.get("VLAD_STARTUP")
    if named is not None:
        return named
    from platformdirs import user_config_dir

    return os.path.join(user_config_dir("vlad", False), "startup.vlad")


def start_up(shell: Shell, path: str) -> None:
    """Execute a start-up file, up to its end or its first error, which is reported. The file named by $VLAD_STARTUP must
    exist; the default one need not.
    """
    if path and (os.path.exists(path) or "VLAD_STARTUP" in os.environ):
        shell.attempt(lambda: obey(shell, path))


def obey(shell: Shell, path: str) -> None:
    for part in parts(load(path).text):
        if part.startswith(","):
            run(shell, part.strip())
        else:
            shell.run(part, path, shell.show)


def parts(text: str) -> Iterator[str]:
    """Commands, and the programs between them, padded with the preceding lines, so that positions are kept."""
    outline = Outline(text.split("\n"))
    program: list[str] = []
    for row, line in enumerate(outline.lines):
        if outline.depths[row] == 0 and not outline.states[row] and line.text.startswith(","):
            yield "\n".join(program)
            yield line.text
            program = [""] * (row + 1)
        else:
            program.append(line.text)
    yield "\n".join(program)
