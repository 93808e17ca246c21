"""`import` within a function → the values of its names, as of names outside.

In: the tree of a function.  Out: the same tree, without the statements, and what they import. A module is imported when the
function is translated; where Python's own `import` would fail, or a name is also bound otherwise, the statement stays, and is
refused.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from vlad.translate.names import Function, body_of
from vlad.translate.reads import MISSING
from vlad.translate.trees import Nodes, nodes_in

Imported = Callable[[str, ModuleType, str | None], None]  # a name, and what it is: a module, or a part of one


def with_imports(function: Function, nodes: Nodes, names: Mapping[str, Any], imported: Imported) -> bool:
    """Change the tree of a function, which has these nodes, and return whether that was necessary. `names`: its globals.
    `imported` is called with what is imported.
    """
    statements: list[ast.Import | ast.ImportFrom] = [*nodes.of(ast.Import), *nodes.of(ast.ImportFrom)]
    if not statements:
        return False
    bound = {one.arg for one in nodes.of(ast.arg)}
    bound.update([one.id for one in nodes.of(ast.Name) if not isinstance(one.ctx, ast.Load)])
    bound.update([one.name for one in nodes.of(ast.FunctionDef)])
    own_statements = {id(one) for one in nodes_in(body_of(function))}
    kept: dict[str, tuple[ModuleType, str | None]] = {}
    gone: set[int] = set()
    for statement in statements:
        found = _found(statement, names)
        fits = found and all(
            own not in bound
            and kept.get(own, part) == part
            # elsewhere in the function the name may be another one
            and (id(statement) in own_statements or (own not in names and not hasattr(builtins, own)))
            for own, part in found.items()
        )
        if found is not None and fits:
            kept.update(found)
            gone.add(id(statement))
    for own, part in kept.items():
        imported(own, *part)
    _Without(gone).visit(function)
    return bool(gone)


def _found(
    statement: ast.Import | ast.ImportFrom, names: Mapping[str, Any]
) -> dict[str, tuple[ModuleType, str | None]] | None:
    """What a statement imports, by the names that it binds; None if it cannot."""
    found: dict[str, tuple[ModuleType, str | None]] = {}
    for one in statement.names:
        if isinstance(statement, ast.Import):
            whole = one.name if one.asname else one.name.partition(".")[0]
            if _module(one.name) is None:
                return None
            found[one.asname or whole] = sys.modules[whole], None
            continue
        with contextlib.suppress(ImportError, ValueError):
            package = names.get("__package__") or ""
            path = importlib.util.resolve_name("." * statement.level + (statement.module or ""), package)
            module = _module(path)
            if module is not None and (
                getattr(module, one.name, MISSING) is not MISSING or _module(f"{path}.{one.name}") is not None
            ):
                found[one.asname or one.name] = module, one.name
                continue
        return None
    return found


def _module(path: str) -> ModuleType | None:
    with contextlib.suppress(Exception):  # whatever its text raises
        return importlib.import_module(path)
    return None


class _Without(ast.NodeTransformer):
    def __init__(self, gone: set[int]) -> None:
        self.gone = gone

    def visit_Import(self, node: ast.Import) -> ast.stmt:
        return self._rest(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        return self._rest(node)

    def _rest(self, node: ast.stmt) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node) if id(node) in self.gone else node
