"""`import mymodel` of a file mymodel.vlad: `vlad.install_importer()`; and of a package made by `vlad new`: `exports_of`.

In: the name of a module that Python itself does not find.  Out: a module whose attributes are the file's exports, or all
its definitions if it exports nothing; procedures are Python callables. Each file has a session of its own, `__session__`.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from vlad.data.values import String
from vlad.data.write import written
from vlad.session.default import default_session
from vlad.session.session import Session


def exports_of(file: str, module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a package whose `__init__.py` is `file`, with a module of the language beside it:
    what that exports, or defines. It is in the session of the process, so that functions of `vlad.function` may call its
    procedures.
    """
    path, package = os.path.join(os.path.dirname(file), module), os.path.basename(os.path.dirname(file))
    into: list[Session] = []
    found: dict[str, Any] = {}  # an attribute is the same object each time

    def loaded() -> Session:
        session = default_session()
        if session not in into:
            session.eval(f"(import {written(String(path))} as {module})")
            into[:] = [session]
            found.clear()
        return session

    def names() -> list[str]:
        exported = [name.partition(":") for name in loaded().module.defined]
        return [name.replace("-", "_") for prefix, _, name in exported if prefix == module]

    def attribute(name: str) -> Any:
        if name == "__all__":  # of `from PACKAGE import *`
            return [one for one in names() if one.isidentifier()]
        if name.startswith("__"):  # Python's own
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        session = loaded()
        own = next((one for one in (name.replace("_", "-"), name) if f"{module}:{one}" in session), None)
        if own is None:
            missing = f"module {package!r} has no attribute {name!r}; {module}.vlad does not export it"
            raise AttributeError(missing)
        if name not in found:
            found[name] = session[f"{module}:{own}"]
        return found[name]

    return attribute, names


class Importer(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """`columns`: arguments of the sessions, as for `Session`."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.columns = columns

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        for folder in sys.path if path is None else path:
            file = os.path.join(folder or os.getcwd(), fullname.rpartition(".")[2] + ".vlad")
            if os.path.isfile(file):
                return importlib.machinery.ModuleSpec(fullname, self, origin=file)
        return None

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None and spec.origin is not None
        session = Session(**self.columns)
        module.__file__, module.__session__ = spec.origin, session  # type: ignore[attr-defined]
        session.load(spec.origin)
        for name in session.defined():
            setattr(module, name.replace("-", "_"), session[name])


def install_importer(**columns: Any) -> None:
    """Make `import NAME` also find NAME.vlad, in the folders of sys.path, after all other modules. Hyphens in names become
    underscores. `columns` are arguments of the sessions, as for `Session`.
    """
    if not any(isinstance(finder, Importer) for finder in sys.meta_path):
        sys.meta_path.append(Importer(columns))
