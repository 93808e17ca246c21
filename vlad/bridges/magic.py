"""`%%vlad` in IPython and Jupyter, after `%load_ext vlad.bridges.magic`.

All cells are evaluated in one session, `vlad_session` among the notebook's names; a cell has the value of its last form.
`%vlad FORM` evaluates a line. An error fails the cell, and is shown without Python frames.
`vlad_session["name"] = value` passes a value of the notebook to it.
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
            # A failing cell must end with an exception, or "Run all" would continue. IPython prints it by
            # this method, if it exists: the error is in the cell's own text, so Python's frames are irrelevant.
            error._render_traceback_ = partial(_rendered, error)  # type: ignore[attr-defined]
            raise

    shell.register_magic_function(vlad, "line_cell", "vlad")
