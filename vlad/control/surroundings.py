"""The surroundings in which a thread works: the environment of the process and its working folder, or those of an earlier moment.

In: names of settings ($VLAD_CC, for example), and paths.  Out: their values. A thread that works for another one later uses
what held when it was asked: a program may have changed its environment meanwhile, for other work.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


class Surroundings:
    """Those at the moment when this is made. `folder`: None if it was removed."""

    __slots__ = ("environment", "folder")

    def __init__(self) -> None:
        self.environment: dict[str, str] = dict(environment())
        self.folder = working_folder()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Surroundings)
            and self.environment == other.environment
            and self.folder == other.folder
        )

    __hash__ = None  # type: ignore[assignment]


class _PerThread(threading.local):
    surroundings: Surroundings | None = None


_this_thread = _PerThread()


def use(surroundings: Surroundings | None) -> None:
    """Use surroundings in this thread from here on; with None those of the process, as they are at each moment."""
    _this_thread.surroundings = surroundings


@contextmanager
def within(surroundings: Surroundings) -> Iterator[None]:
    """A context in which this thread uses surroundings."""
    before = _this_thread.surroundings
    use(surroundings)
    try:
        yield
    finally:
        use(before)


def environment() -> Mapping[str, str]:
    """The environment for this thread."""
    found = _this_thread.surroundings
    return os.environ if found is None else found.environment


def setting(name: str) -> str | None:
    """A variable of the environment for this thread."""
    return environment().get(name)


def working_folder() -> str | None:
    """The working folder for this thread; None if it was removed."""
    found = _this_thread.surroundings
    if found is not None:
        return found.folder
    try:
        return os.getcwd()
    except OSError:
        return None


def located(path: str) -> str:
    """A path, from the working folder for this thread."""
    found = _this_thread.surroundings
    return path if found is None else os.path.join(found.folder or "", path)


def ipython() -> Any:
    """IPython's shell, which notebooks have, too; None if this is none."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def shown_file(file: str) -> str:
    """The name of a file for people: that of a cell of IPython or a notebook, which is compiled as a file, is `In[3]`."""
    shell = ipython()
    cell = None if shell is None else shell.compile.format_code_name(file)
    return file if cell is None else str(cell[1])
