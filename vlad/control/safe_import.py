"""Imports that cannot be interrupted.

An interrupt, a limit or a change of tier may stop a thread at any bytecode, and a package whose import was stopped halfway stays
broken. So a module that is needed in the middle of an evaluation is imported in a thread of its own.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from typing import Any

from vlad.control.async_exceptions import start_thread
from vlad.control.budget import expect_addresses

_imported: dict[str, Any] = {}


def import_safely(name: str, addresses: int = 0) -> Any:
    """A module, imported in full. Raises what its import raises, and MemoryError if fewer bytes of addresses can be mapped:
    without memory, an import reports its failure in ways of its own.
    """
    if name not in _imported:
        if name not in sys.modules:
            expect_addresses(addresses)
        thread = threading.Thread(target=_import, args=(name,), name=f"vlad-import-{name}")
        start_thread(thread).join()
    return _imported.get(name) or importlib.import_module(name)  # raises the error


def package_of(missing: ModuleNotFoundError) -> str:
    """The package whose installation provides a missing module."""
    return (missing.name or "").removeprefix("_").removesuffix("_backend")


def _import(name: str) -> None:
    with contextlib.suppress(Exception):  # the caller repeats the import, and gets the exception
        _imported[name] = importlib.import_module(name)
