"""Imports that nobody interrupts.

An interrupt, a limit or a change of tier may end whatever a thread is at, and nobody mends a package that is there by half. So
what is imported in the middle of an evaluation is imported by a thread of its own.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from typing import Any

from vlad.control.async_exceptions import started

_whole: dict[str, Any] = {}


def whole(name: str) -> Any:
    """A module, all of it. Raises what its import raises."""
    if name not in _whole:
        thread = threading.Thread(target=_import, args=(name,), name=f"vlad-import-{name}")
        started(thread).join()
    return _whole.get(name) or importlib.import_module(name)  # which says what is wrong with it


def package_of(missing: ModuleNotFoundError) -> str:
    """The package that has to be installed for a module to be there."""
    return (missing.name or "").removeprefix("_").removesuffix("_backend")


def _import(name: str) -> None:
    with contextlib.suppress(Exception):  # whoever asked for it imports it again, and is told
        _whole[name] = importlib.import_module(name)
