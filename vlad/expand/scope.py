"""Meanings of names: modules, which hold top-level names, and scopes, which hold local ones.

Made by the session (modules) and by the expander (scopes); independent of files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vlad.data.errors import Notice
from vlad.data.values import Global, Primitive, Symbol, symbol
from vlad.reader.parser import Name


class Module:
    """A namespace of top-level names.

    A name that only a parent defines gets a cell here when it is first used, with the parent's value: so a definition here
    affects this module's code and no code of the parent.

    autoload       called with a name that is not found: may define it here, and returns whether it did
    watched        of a library: do programs that inherit from it show the progress of training, unless they say otherwise?
    remark         of a library: called with a remark on a program's text, where someone reads remarks
    on_redefine    called when a cell that held a known primitive is about to be defined anew
    defined        names defined here, in order
    imported       the modules of those that an import defined, as they are written in the import
    exports        exported names; None exports all defined names
    """

    def __init__(
        self, name: str, parent: Module | None, primitives: Mapping[str, Primitive] | None = None
    ) -> None:
        self.name = name
        self.parent = parent
        self.primitives: Mapping[str, Primitive] = primitives or (parent.primitives if parent else {})
        self.cells: dict[str, Global] = {}
        self.macros: dict[str, Any] = {}
        self.record_types: dict[str, Any] = {}  # record_types.RecordType: their names are no values
        self.defined: dict[str, None] = {}
        self.imported: dict[str, str] = {}
        self.exports: list[str] | None = None
        self.autoload: Callable[[str], bool] | None = None
        self.on_redefine: Callable[[Global], None] | None = None
        self.watched = False
        self.remark: Callable[[Notice], object] | None = None

    def close(self) -> None:
        """Release all names."""
        self.cells, self.macros, self.record_types, self.defined, self.imported = {}, {}, {}, {}, {}
        self.parent = self.autoload = self.on_redefine = self.remark = None

    def cell(self, name: str) -> Global:
        """The cell of a name; its value is unset until the name is defined."""
        found = self.cells.get(name)
        if found is not None and (hasattr(found, "value") or name in self.defined):
            return found
        inherited = self.lookup(name)
        if inherited is not None:
            if found is None:
                found = self.cells.setdefault(name, Global(name))
            if inherited is not found:
                found.value, found.primitive = inherited.value, inherited.primitive
            return found
        if found is None:
            found = self.cells.setdefault(name, Global(name))
        return found

    def library(self) -> Module:
        """The module that programs inherit from and that defines a name when it is first used; without one, the last parent."""
        module = self
        while module.autoload is None and module.parent is not None:
            module = module.parent
        return module

    def lookup(self, name: str) -> Global | None:
        """The cell that gives a name its value, here or in a parent; None if there is none."""
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

    def record_type(self, name: str) -> Any:
        """The type of records of this name, or None."""
        module: Module | None = self
        while module is not None:
            if name in module.record_types:
                return module.record_types[name]
            module = module.parent
        return None

    def define(self, name: str) -> Global:
        """The cell of a name that is about to be defined here."""
        cell = self.cells.get(name)
        if cell is None:
            cell = self.cells.setdefault(name, Global(name))  # the compiler's thread may expand, too
        if cell.primitive is not None or cell.dependents is not None:
            cell.primitive = None
            if self.on_redefine is not None:
                self.on_redefine(cell)
        self.macros.pop(name, None)
        self.imported.pop(name, None)
        self.defined[name] = None
        return cell

    def undefine(self, name: str) -> None:
        """A definition failed: where the name got no value, it means what it does in the parent."""
        if name in self.defined and not hasattr(self.cells[name], "value"):
            del self.defined[name]
            self.cell(name)

    def define_macro(self, name: str, macro: Any) -> None:
        """Bind a name to a macro, or to the meaning of a keyword."""
        self.macros[name] = macro

    def handed_out(self) -> list[str]:
        """The exported names: values and macros."""
        return (
            self.exports if self.exports is not None else list(dict.fromkeys([*self.defined, *self.macros]))
        )

    def redefines(self, cell: Global) -> bool:
        """Whether it is the cell of a name defined here that means something else in the parent, or as a primitive."""
        name = cell.name
        if self.cells.get(name) is not cell:
            return False
        if name in self.primitives:
            return cell.primitive is None
        return name in self.defined and self.parent is not None and self.parent.lookup(name) is not None

    def is_inherited(self, name: str) -> bool:
        """Whether the name still has its standard meaning."""
        return name not in self.defined


Key = tuple[Symbol, tuple[int, ...]]


def key_of(name: Name) -> Key:
    return (name.symbol, name.marks)


class Scope:
    """The local names at one place of a program.

    The open scopes of a top-level form share a table: for each name its meanings with the levels of the
    scopes that bound them, innermost last. So looking up a name costs the same at any depth, and an outer scope
    that a macro captures is the same table up to that scope's level. Scopes are left in reverse order; an error
    discards the table.
    """

    __slots__ = ("table", "module", "level", "keys")

    def __init__(self, module: Module) -> None:
        self.table: dict[Key, list[tuple[int, Any]]] = {}
        self.module = module
        self.level = 0
        self.keys: list[Key] = []

    def inner(self) -> Scope:
        scope = Scope.__new__(Scope)
        scope.table = self.table
        scope.module = self.module
        scope.level = self.level + 1
        scope.keys = []
        return scope

    def leave(self) -> None:
        """Remove the bindings of this scope."""
        for key in self.keys:
            self.table[key].pop()
        self.keys.clear()

    def bind(self, name: Name, meaning: Any) -> None:
        """Bind a name in this scope, replacing its binding in the same scope."""
        key = (name.symbol, name.marks)
        meanings = self.table.setdefault(key, [])
        if meanings and meanings[-1][0] == self.level:
            meanings[-1] = (self.level, meaning)
        else:
            meanings.append((self.level, meaning))
            self.keys.append(key)

    def names(self) -> set[str]:
        """The local names, without those that only macros see."""
        return {
            name.name
            for (name, marks), meanings in self.table.items()
            if not marks and any(at <= self.level for at, _ in meanings)
        }

    def has_own(self, name: Name) -> bool:
        meanings = self.table.get((name.symbol, name.marks))
        return bool(meanings) and meanings is not None and meanings[-1][0] == self.level


class Mark(int):
    """Identifies the names of one expansion of a macro; `scope` is the scope of the macro's definition."""

    scope: Scope


class TopLevel:
    """A name without local binding, as the module in which it is written resolves it."""

    __slots__ = ("module", "name")

    def __init__(self, module: Module, name: str) -> None:
        self.module = module
        self.name = name


def record_type_name(name: Name) -> Name:
    """The name under which a scope has a type of records: a type and a value may have the same name."""
    return Name(symbol(f"record type {name.symbol.name}"), name.span, name.marks)


def local_meaning(name: Name, scope: Scope) -> Any:
    """The innermost binding of a name, or a TopLevel.

    A marked name that is not bound with its marks has the meaning that it has, without its last mark, in the scope in which
    the macro that inserted it was defined.
    """
    table, level, module, marks = scope.table, scope.level, scope.module, name.marks
    while True:
        for at, meaning in reversed(table.get((name.symbol, marks), ())):
            if at <= level:
                return meaning
        if not marks:
            return TopLevel(module, name.symbol.name)
        mark = marks[-1]
        assert isinstance(mark, Mark)
        level, module = mark.scope.level, mark.scope.module
        marks = marks[:-1]
