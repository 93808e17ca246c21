"""`%%vlad` in IPython and Jupyter, after `%load_ext vlad.bridges.magic`.

A cell is evaluated in one session, `vlad_session` among the notebook's names; the value of its last form is the cell's.
`%vlad FORM` is for a line. `vlad_session["name"] = value` gives a value of the notebook to it.
"""

from __future__ import annotations

import sys
from typing import Any

from vlad.errors import VladError
from vlad.session import Session

NAME = "vlad_session"


def load_ipython_extension(shell: Any) -> None:
    shell.push({NAME: Session()})

    def vlad(line: str, cell: str | None = None) -> Any:
        session = shell.user_ns.setdefault(NAME, Session())
        try:
            return session.eval(line if cell is None else cell, "<cell>")
        except VladError as error:
            print(error, file=sys.stderr)
            return None

    shell.register_magic_function(vlad, "line_cell", "vlad")
