"""The start-up file: what a person wants to have at every prompt, definitions and settings.

In: a shell that has just begun.  Out: the same, with all that the file says: it is a program in which lines may be commands of
the prompt. Only prompts at a terminal read it: what other programs send through a pipe means the same everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from vlad.session.files import load

from .commands import run
from .shell import Shell
from .structure import Outline


def startup_path() -> str:
    """In the user's configuration folder; $VLAD_STARTUP names another file, and none at all if it is empty."""
    named = os.environ.get("VLAD_STARTUP")
    if named is not None:
        return named
    from platformdirs import user_config_dir

    return os.path.join(user_config_dir("vlad", False), "startup.vlad")


def start_up(shell: Shell, path: str) -> None:
    """Do what a start-up file says, up to its end or its first mistake, which is told. The file that $VLAD_STARTUP names must be
    there; the other need not."""
    if path and (os.path.exists(path) or "VLAD_STARTUP" in os.environ):
        shell.attempt(lambda: obey(shell, path))


def obey(shell: Shell, path: str) -> None:
    for part in parts(load(path).text):
        if part.startswith(","):
            run(shell, part.strip())
        else:
            shell.run(part, path, shell.show)


def parts(text: str) -> Iterator[str]:
    """Commands, and the programs between them, as long as the lines before, so that places stay what they are."""
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
