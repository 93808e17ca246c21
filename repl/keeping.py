"""Commands about files, and about the session as a whole."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile

from vlad.data.errors import VladError
from vlad.data.write import string_text
from vlad.session.files import load as read_text

from .asking import wanted
from .command import FILES, MODULES, NOTHING, Theme
from .files import file_name, write_text
from .sessions import ENDING, restore, session_text
from .shell import Shell

THEME = Theme()


@THEME.command("load", "FILE", "evaluate a file, or restore a saved session", FILES)
def _load(shell: Shell, argument: str) -> None:
    path = file_name(argument)
    if path.endswith(ENDING):
        restore(shell, read_text(path).text)
        shell.remark("the session is back")
        return
    with shell.session.limited(shell.limits):
        shell.session.load(path)
    if path not in shell.loaded:
        shell.loaded.append(path)


@THEME.command("reload", "", "evaluate loaded files and imported modules again", NOTHING)
def _reload(shell: Shell, argument: str) -> None:
    with shell.session.limited(shell.limits):
        again = shell.session.import_again()
        for path in shell.loaded:
            shell.session.load(path)
    shell.remark(f"reloaded: {', '.join([*again, *shell.loaded]) or 'nothing was loaded'}")


@THEME.command("import", "MODULE [as PREFIX]", "bind the names of a module", MODULES)
def _import(shell: Shell, argument: str) -> None:
    module, _, prefix = argument.partition(" as ")
    named = f" as {prefix.strip()}" if prefix.strip() else ""
    text = f"(import {string_text(file_name(module))}{named})"
    shell.run(text, "<command>", shell.show)
    shell.inputs.append(text)


@THEME.command("reset", "", "discard all definitions and results", NOTHING)
def _reset(shell: Shell, argument: str) -> None:
    shell.start()
    shell.begun()


SAVING = """\
,save morning          what you entered, as far as it went well, as a program: morning.vlad
,save morning.saved    the session, with the values that it has computed; `,load morning.saved` brings it back"""


@THEME.command(
    "save", "FILE", "write what you entered as a program, or, NAME.saved, the session", FILES, more=SAVING
)
def _save(shell: Shell, argument: str) -> None:
    path = file_name(argument)
    if path.endswith(ENDING):
        write_text(path, session_text(shell))
        shell.remark(f"written: {path}")
        return
    path = path if path.endswith(".vlad") else path + ".vlad"
    loads = [f"(include {string_text(os.path.abspath(loaded))})" for loaded in shell.loaded]
    write_text(path, "\n".join(["; entered at the prompt of vlad", *loads, *shell.inputs]) + "\n")
    shell.remark(f"written: {path}")


@THEME.command("edit", "[NAME|FILE]", "write in your editor ($VISUAL, $EDITOR), then evaluate", FILES)
def _edit(shell: Shell, argument: str) -> None:
    if not shell.has_screen:
        hint = "`,source NAME` shows a definition, which another cell can change"
        raise VladError("no-program", "An editor needs a terminal: `,edit` is for the prompt", hint=hint)
    path = file_name(argument)
    if argument and (os.path.exists(path) or path.endswith(".vlad")):
        edit_file(path)
        _load(shell, path)
        return
    begun = wanted(shell, argument).source if argument else (shell.inputs[-1] if shell.inputs else "")
    with tempfile.TemporaryDirectory(prefix="vlad-") as folder:
        scratch = os.path.join(folder, "input.vlad")
        write_text(scratch, begun + "\n")
        edit_file(scratch)
        with open(scratch, encoding="utf-8", errors="replace") as file:
            text = file.read()
    if text.strip() and text.strip() != begun.strip():
        shell.run(text, f"<input {shell.number}>", shell.show)
        shell.number += 1
        shell.inputs.append(text.strip())


def edit_file(path: str) -> None:
    """Open a file in the user's editor. Raises VladError."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        status = subprocess.run([*shlex.split(editor), path]).returncode
    except (OSError, ValueError) as error:
        raise VladError("no-program", f"Cannot start the editor: {editor}", hint=str(error)) from None
    if status:
        raise VladError("no-program", f"The editor ended with status {status}: {editor}")


@THEME.command("shell", "COMMAND", "run a command of the system's shell", FILES)
def _shell(shell: Shell, argument: str) -> None:
    shell.terminal.flush()
    if shell.has_screen:
        done = subprocess.run(argument, shell=True)
    else:
        done = subprocess.run(
            argument, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        shell.terminal.write(done.stdout.decode(errors="replace"))
    if done.returncode:
        shell.remark(f"status {done.returncode}")


@THEME.command("history", "[TEXT]", "earlier inputs, or those that contain a text", NOTHING)
def _history(shell: Shell, argument: str) -> None:
    for entry in shell.recall(argument):
        shell.terminal.line(entry)
