"""`%%vlad` in IPython and Jupyter, after `%load_ext vlad.bridges.magic`.

A cell is evaluated in one session, `vlad_session` among the notebook's names; the value of its last form is the cell's.
`%vlad FORM` is for a line. An error fails the cell, and is shown without frames of Python.
`vlad_session["name"] = value` gives a value of the notebook to it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from vlad.data.errors import VladError
from vlad.session.session import Session

NAME = "vlad_session"


def _rendered(error: VladError) -> list[str]:
    return str(error).split("\n")


def load_ipython_extension(shell: Any) -> None:
    shell.push({NAME: Session()})

    def vlad(line: str, cell: str | None = None) -> Any:
        session = shell.user_ns.setdefault(NAME, Session())
        try:
            return session.eval(line if cell is None else cell, "<cell>")
        except VladError as error:
            # A cell that fails has to end with an exception, or "Run all" would go on. What IPython prints of one is asked of
            # this method, where there is one: the cell's own text is wrong, so Python's frames say nothing.
            error._render_traceback_ = partial(_rendered, error)  # type: ignore[attr-defined]
            raise

    shell.register_magic_function(vlad, "line_cell", "vlad")
