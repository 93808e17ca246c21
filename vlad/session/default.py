"""The session of a process: that of `vlad.function`.

In: Python functions.  Out: procedures of one session, which is made with the first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import cast

from vlad.python.functions import Function, Parameters, Result
from vlad.session.session import Session

_default: list[Session] = []
_lock = threading.Lock()


def function(f: Callable[Parameters, Result]) -> Function[Parameters, Result]:
    """A Python function as a procedure of the language: differentiated by `vlad.grad` and its kin, compiled, limited and saved
    like any other. It is translated when it is first used, with its loops, recursion, closures, lists and tuples; `f.python` is
    the original, `f.text` the translation. Functions that it calls are translated in turn. All functions of a process belong to
    one session; `Session.function` makes one of another. Usable as a decorator. Raises WrongOption if `f` is no function written
    in Python; using it raises VladError, with the place in the Python file, if it is outside the language.
    """
    return cast("Function[Parameters, Result]", default_session().function(f))


def default_session() -> Session:
    """The session of `vlad.function`."""
    with _lock:
        if not _default or _default[0].closed:
            _default[:] = [Session()]
        return _default[0]
