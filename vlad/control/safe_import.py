"""Imports that cannot be interrupted.

An interrupt, a limit or a change of tier may stop a thread at any bytecode, and a package whose import was stopped halfway stays
broken. So a module that is needed in the middle of an evaluation is imported by a thread of its own.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from typing import Any

from vlad.control.async_exceptions import started

_whole: dict[str, Any] = {}


def whole(name: str) -> Any:
    """A module, imported completely. Raises what its import raises."""
    if name not in _whole:
        thread = threading.Thread(target=_import, args=(name,), name=f"vlad-import-{name}")
        started(thread).join()
    return _whole.get(name) or importlib.import_module(name)  # raises what is wrong


def package_of(missing: ModuleNotFoundError) -> str:
    """The package that has to be installed for a module to be there."""
    return (missing.name or "").removeprefix("_").removesuffix("_backend")


def _import(name: str) -> None:
    with contextlib.suppress(Exception):  # the caller imports it again, and gets the exception
        _whole[name] = importlib.import_module(name)
