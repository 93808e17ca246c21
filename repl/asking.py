"""Commands that show documentation and definitions of names."""

from __future__ import annotations

import textwrap

from vlad.data.errors import VladError
from vlad.manual.help import KINDS, Entry, documentation, is_elsewhere, lines_of, words
from vlad.messages.hints import hint_for, hint_to_import
from vlad.messages.spelling import did_you_mean, nearest
from vlad.session.library import the_library

from .command import NAMES, NOTHING, Theme
from .knowledge import first_sentence, known, names
from .shell import Shell

MOST_FOUND = 40  # names that apropos shows

THEME = Theme()


@THEME.command("doc", "NAME", "explain a name, or the code of an error", NAMES)
def _doc(shell: Shell, argument: str) -> None:
    name = argument
    if known(shell.session, name) is None and (is_elsewhere(name) or name in words()):
        shell.terminal.line(documentation(name))
        return
    first, *others = lines_of(wanted(shell, name))
    shell.terminal.line("\n".join([shell.terminal.paint(first, "name"), *others]))


def wanted(shell: Shell, name: str) -> Entry:
    """The documentation of a name. Raises VladError if there is none."""
    found = known(shell.session, name)
    if found is None:
        module = the_library().exporting(name)
        hint = hint_for(name, set(names(shell.session))) if module is None else hint_to_import(name, module)
        raise VladError("unbound-variable", f"Nothing is known of {name}", hint=hint)
    return found


@THEME.command("apropos", "TEXT", "names that contain a text, or whose description does", NAMES)
def _apropos(shell: Shell, argument: str) -> None:
    text = argument.lower()
    found = [each for name in names(shell.session) if (each := known(shell.session, name)) is not None]
    by_name = [each for each in found if text in each.name.lower()]
    others = [each for each in found if each not in by_name and text in " ".join(each.text).lower()]
    every = [*by_name, *others]
    for each in every[:MOST_FOUND]:
        head = each.signature or each.name
        room = max(shell.terminal.width - len(head) - 2, 10)
        shell.terminal.line(
            f"{head}  {shell.terminal.paint(textwrap.shorten(first_sentence(each), room, placeholder=' …'), 'remark')}"
        )
    if len(every) > MOST_FOUND:
        shell.remark(f"and {len(every) - MOST_FOUND} more")
    if not every:
        near = nearest(text, [*names(shell.session)])
        shell.remark("nothing found" + (f"; {did_you_mean(near)}" if near else ""))


@THEME.command("source", "NAME", "the text of a definition", NAMES)
def _source(shell: Shell, argument: str) -> None:
    found = wanted(shell, argument)
    if not found.source:
        raise VladError(
            "invalid-command",
            f"{found.name} has no text: it is {KINDS[found.kind]}",
            hint=f"try `,doc {found.name}`",
        )
    shell.remark(found.place)
    shell.terminal.line(found.source)


@THEME.command("names", "", "what you have defined", NOTHING)
def _names(shell: Shell, argument: str) -> None:
    for macro in shell.session.module.macros:
        shell.terminal.line(f"{macro}  {shell.terminal.paint('macro', 'remark')}")
    for name in shell.session.module.defined:
        found = known(shell.session, name)
        if not name.startswith("_") and (found is None or found.kind != "library"):
            shell.terminal.line((found.signature if found is not None else "") or name)


@THEME.command("error", "", "the last error again", NOTHING)
def _error(shell: Shell, argument: str) -> None:
    shell.terminal.line("there was none" if shell.error is None else str(shell.error))
    if shell.way:
        shell.terminal.line(shell.way)
