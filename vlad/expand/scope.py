"""What names mean: modules, which hold top-level names, and scopes, which hold local ones.

Made by the session (modules) and by forms.py (scopes); a module knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vlad.core.nodes import Variable
from vlad.reader.parser import Name
from vlad.values import Global, Primitive, Symbol


class Module:
    """A namespace of top-level names.

    A name that only a parent knows gets a cell here when it is first used, with the parent's value: so a definition here
    changes what this module's code sees, and nothing that the parent's code sees.

    autoload       asked for a name found nowhere: may define it here, and answers whether it did
    on_redefine    told when a cell that held a known primitive is about to be defined anew
    defined        names defined here, in order
    exports        names handed out; None hands out all that are defined
    """

    def __init__(
        self, name: str, parent: Module | None, primitives: Mapping[str, Primitive] | None = None
    ) -> None:
        self.name = name
        self.parent = parent
        self.primitives: Mapping[str, Primitive] = primitives or (parent.primitives if parent else {})
        self.cells: dict[str, Global] = {}
        self.macros: dict[str, Any] = {}
        self.defined: dict[str, None] = {}
        self.exports: list[str] | None = None
        self.autoload: Callable[[str], bool] | None = None
        self.on_redefine: Callable[[Global], None] | None = None

    def cell(self, name: str) -> Global:
        """The cell of a name; without a value while nobody has defined it."""
        found = self.cells.get(name)
        if found is not None and (hasattr(found, "value") or name in self.defined):
            return found
        inherited = self.lookup(name)
        if inherited is not None:
            if found is None:
                found = self.cells[name] = Global(name)
            if inherited is not found:
                found.value, found.primitive = inherited.value, inherited.primitive
            return found
        if found is None:
            found = self.cells.setdefault(name, Global(name))
        return found

    def lookup(self, name: str) -> Global | None:
        """The cell that gives a name its value, here or in a parent; None when no one does."""
        found = self.cells.get(name)
        if found is not None and hasattr(found, "value"):
            return found
        if self.autoload is not None and self.autoload(name):
            return self.cells[name]
        return self.parent.lookup(name) if self.parent else None

    def macro(self, name: str) -> Any:
        """The macro of this name, or None."""
        module: Module | None = self
        while module is not None:
            if name in module.macros:
                return module.macros[name]
            if name in module.defined:
                return None
            module = module.parent
        return None

    def define(self, name: str) -> Global:
        """The cell of a name that is about to be defined here."""
        cell = self.cells.get(name)
        if cell is None:
            cell = self.cells[name] = Global(name)
        if cell.primitive is not None:
            cell.primitive = None
            if self.on_redefine is not None:
                self.on_redefine(cell)
        self.macros.pop(name, None)
        self.defined[name] = None
        return cell

    def is_inherited(self, name: str) -> bool:
        """Does the name still mean what it means in every program?"""
        return name not in self.defined


Key = tuple[Symbol, tuple[int, ...]]


def key_of(name: Name) -> Key:
    return (name.symbol, name.marks)


class Scope:
    """Local names, innermost last. The outermost scope has a module instead of a parent."""

    __slots__ = ("bindings", "parent", "module")

    def __init__(self, parent: Scope | None, module: Module) -> None:
        self.bindings: dict[Key, Any] = {}
        self.parent = parent
        self.module = module

    def inner(self) -> Scope:
        return Scope(self, self.module)

    def bind(self, name: Name, variable: Variable) -> Variable:
        self.bindings[key_of(name)] = variable
        return variable

    def find(self, key: Key) -> Any:
        """The local binding, or None."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.bindings.get(key)
            if found is not None:
                return found
            scope = scope.parent
        return None
