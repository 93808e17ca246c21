"""Commands of the prompt, and themes: tables of commands.

In: nothing.  Out: `Command`, and `Theme`, with which the files of commands are written; commands.py combines the themes. A
command is called with the shell and the text after its name, and raises VladError for wrong operands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vlad.data.errors import WrongOption

from .shell import Shell

NAMES, FILES, MODULES, WORDS, COMMAND_NAMES, EXPRESSION, NOTHING = (
    "names", "files", "modules", "words", "commands", "expression", "",
)  # fmt: skip
Run = Callable[[Shell, str], None]


@dataclass(frozen=True)
class Command:
    """`operands` as displayed; `takes` is what completion offers after the name: one of the kinds above, or words."""

    name: str
    operands: str
    doc: str
    run: Run
    takes: str
    words: tuple[str, ...]
    more: str

    @property
    def usage(self) -> str:
        return f",{self.name} {self.operands}".rstrip()

    @property
    def needs_operand(self) -> bool:
        """Whether it requires an operand."""
        return self.operands != "" and not self.operands.startswith("[")


class Theme(dict[str, Command]):
    """Commands by their names, in the order in which `,help` shows them."""

    def command(
        self,
        name: str,
        operands: str,
        doc: str,
        takes: str = EXPRESSION,
        words: tuple[str, ...] = (),
        more: str = "",
    ) -> Callable[[Run], Run]:
        def add(run: Run) -> Run:
            self[name] = Command(name, operands, doc, run, takes, words, more)
            return run

        return add


def one_of(argument: str, allowed: tuple[str, ...]) -> str:
    """Return the word if it is one of `allowed`. Raises VladError."""
    if argument not in allowed:
        raise WrongOption("invalid-argument", f"One of {', '.join(allowed)}; not {argument}")
    return argument
