"""`%%vlad` in IPython and Jupyter, after `%load_ext vlad`.

All cells are evaluated in one session, `vlad_session` among the notebook's names. The value of each expression of a cell is
displayed, as a program prints it; that of the last one is the cell's.
`%vlad FORM` evaluates a line. An error fails the cell, and is shown without Python frames. `%%vlad -i NAME` passes a variable of
the notebook to the session before, `-o NAME` back after. A cell or line that begins with a comma is a command of the prompt, such
as `%vlad ,plot sin -3 3`, which draws in the notebook. Procedures are displayed with their documentation.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

from vlad.control.surroundings import shown_file
from vlad.data.errors import VladError
from vlad.data.values import UNSPECIFIED, Value
from vlad.python.convert import Procedure
from vlad.repl.html import as_html
from vlad.repl.notebook import Bundle, Failure, Notebook
from vlad.repl.shell import Leave
from vlad.repl.terminal import Terminal
from vlad.session.session import Session

NAME = "vlad_session"


class CommandFailed(Exception):
    """A command of the prompt failed; the text is its message."""


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext`."""
    shell.push({NAME: Session()})

    def vlad(line: str, cell: str | None = None) -> Any:
        session = shell.user_ns.setdefault(NAME, Session())
        taken, given = ([], []) if cell is None else _names(line)
        text = line if cell is None else cell
        for name in taken:
            if name not in shell.user_ns:
                raise _shown(VladError("invalid-argument", f"The notebook has no variable {name}"))
            session[name] = shell.user_ns[name]
        try:
            if text.lstrip().startswith(","):
                return _command(shell, session, text.strip())
            value = session.eval(text, _cell()) if cell is None else _shown_values(shell, session, text)
            shell.push({name: session[name] for name in given})
        except VladError as error:
            raise _shown(error) from None
        return value

    shell.register_magic_function(vlad, "line_cell", "vlad")
    formatter = getattr(shell, "display_formatter", None)
    if formatter is not None:
        formatter.formatters["text/html"].for_type(Procedure, _html)


def _shown_values(shell: Any, session: Session, text: str) -> Any:
    """The value of the last expression; those before are displayed."""
    last: list[Any] = []

    def show(value: Value) -> None:
        if value is not UNSPECIFIED:
            for one in last:
                data, metadata = shell.display_formatter.format(one)
                shell.display_pub.publish(data=data, metadata=metadata)
            last[:] = [session._as_python(value)]

    with session.limited(None):
        session.run_text("\n" + text, _cell(), show)  # the cell's first line is that of `%%vlad`
    return last[0] if last else None


def _cell() -> str:
    """The name of the cell that runs: its frame is around, between those of IPython."""
    at: FrameType | None = sys._getframe(1)
    while at is not None:
        shown = shown_file(at.f_code.co_filename)
        if shown != at.f_code.co_filename:
            return shown
        at = at.f_back
    return "<cell>"


def _names(line: str) -> tuple[list[str], list[str]]:
    """The names behind -i and -o. Raises VladError."""
    parser = argparse.ArgumentParser(prog="%%vlad", add_help=False, exit_on_error=False)
    parser.add_argument("-i", dest="taken", action="append", default=[])
    parser.add_argument("-o", dest="given", action="append", default=[])
    try:
        found, rest = parser.parse_known_args(shlex.split(line))
    except (argparse.ArgumentError, ValueError) as error:
        raise _shown(VladError("invalid-argument", f"%%vlad {line}: {error}", hint=OPTIONS)) from None
    if rest:
        raise _shown(VladError("invalid-argument", f"%%vlad does not take {' '.join(rest)}", hint=OPTIONS))
    return _split(found.taken), _split(found.given)


OPTIONS = (
    "%%vlad -i NAME passes a variable to the cell, -o NAME one from it; the program is on the next lines"
)


def _split(words: list[str]) -> list[str]:
    return [name for word in words for name in word.split(",") if name]


def _command(shell: Any, session: Session, text: str) -> None:
    """Execute a command of the prompt in the session of the notebook. Raises CommandFailed."""
    sessions = [session]

    def make_session(write: Callable[[str], object]) -> Session:
        if not sessions:  # the command forgets all definitions
            shell.push({NAME: Session()})
        made: Session = sessions.pop() if sessions else shell.user_ns[NAME]
        return made

    def publish(bundle: Bundle, is_result: bool) -> None:
        shell.display_pub.publish(data=bundle)

    notebook = Notebook(make_session, Terminal(sys.stdout), publish)
    notebook.read = _line
    try:
        failure = notebook.execute(text, 1)
    except Leave:
        print("; the session goes on, in the notebook's own process; `,reset` discards its definitions")
        return
    if failure is not None:
        raise _shown(CommandFailed(failure.message), failure)


def _line() -> str:
    """A line from the user, whom the notebook asks; "" where it cannot."""
    try:
        return input() + "\n"
    except (EOFError, RuntimeError, OSError):  # RuntimeError: ipykernel's, where a frontend asks for nothing
        return ""


def _html(procedure: Procedure) -> str | None:
    with procedure.session._lock:
        found: str | None = as_html(procedure.value, procedure.session)
    return found


def _shown(error: Exception, failure: Failure | None = None) -> Exception:
    """A failing cell must end with an exception, or "Run all" would continue. IPython prints it by this method, if it exists: the
    error is in the cell's own text, so Python's frames are irrelevant."""
    lines = str(error).split("\n") if failure is None else failure.lines
    error._render_traceback_ = partial(list, lines)  # type: ignore[attr-defined]
    return error
