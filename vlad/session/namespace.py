"""The globals of a session for Python: items, attributes, names.

In: names, and Python values.  Out: Python values. Called by programs, as a base class of sessions
(session.py); top_level.py has the effects of evaluation on globals.

Items are any globals that a program may use, including the language's own; iteration, length and deletion cover those of the
program. Attributes are the same in Python's spelling, underscores for hyphens, after the session's own attributes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from vlad.data.errors import NoCounterpart, UnknownAttribute, UnknownName, unbound_message
from vlad.data.values import Primitive, Value, is_pair, is_procedure, look
from vlad.evaluate.limits import deep_recursion
from vlad.expand.forms import refuse_keyword
from vlad.expand.scope import Module
from vlad.messages.hints import hint_for
from vlad.python.convert import from_python, to_python
from vlad.session.library import Library
from vlad.session.suggestions import known_names
from vlad.session.top_level import TopLevel

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

F = TypeVar("F")


class Namespace:
    """The interface of a session as a dictionary and as a namespace."""

    machine: Machine
    tiers: Any
    basis: Module
    library: Module
    module: Module
    _lock: Any
    _calls: Any
    _library: Library
    _top_level: TopLevel
    _own: ClassVar[frozenset[str]]  # the attributes that the class and its bases declare; they are no globals

    def __init_subclass__(cls) -> None:
        cls._own = frozenset().union(*[getattr(base, "__annotations__", {}) for base in cls.__mro__])

    # Items.

    def __getitem__(self, name: str) -> Any:
        """The value of a global, as a Python value. Raises UnknownName, which is a KeyError."""
        with self._lock:
            if name not in self:
                raise self._unknown(name)
            return self._as_python(self.module.cell(name).value)

    def __setitem__(self, name: str, value: Any) -> None:
        """Define a global. Raises NoCounterpart, which is a TypeError, for a value without counterpart in the language, and
        VladError for a keyword.
        """
        if not isinstance(name, str):
            raise NoCounterpart("invalid-argument", f"A name is a string, not {name!r}")
        refuse_keyword(name)
        with self._lock:
            self.bind(name, from_python(value, self._calls))

    def __delitem__(self, name: str) -> None:
        """Delete a definition of the program. The name is then unbound, or has its standard meaning.
        Raises UnknownName for a name that the program does not define.
        """
        with self._lock:
            if name not in self:
                raise self._unknown(name)
            if self.module.is_inherited(name):
                hint = "names of the language stay; a definition of the same name takes precedence"
                raise UnknownName("unbound-variable", f"Not defined by the program: {name}", hint=hint)
            self.unbind(name)

    def __contains__(self, name: object) -> bool:
        """Whether a name has a value."""
        with self._lock:
            return isinstance(name, str) and hasattr(self.module.cell(name), "value")

    def __iter__(self) -> Iterator[str]:
        """The names that the program has defined, as in `defined`."""
        return iter(self.defined())

    def __len__(self) -> int:
        """The number of names that the program has defined."""
        return len(self.defined())

    def __bool__(self) -> bool:
        """True, even if nothing is defined."""
        return True

    def keys(self) -> list[str]:
        """The names that the program has defined; so `dict(session)` has their values."""
        return self.defined()

    def defined(self) -> list[str]:
        """The names that programs have defined here, or their exports, if there are any."""
        with self._lock:
            names = self.module.exports
            if names is None:
                names = [name for name in self.module.cells if not self.module.is_inherited(name)]
            return [name for name in names if name in self]

    def known_names(self) -> set[str]:
        """Every name that a program may use here: for suggestions and completion."""
        return known_names(self.module, self._library)

    def _unknown(self, name: object) -> UnknownName:
        hint = hint_for(name, self.known_names()) if isinstance(name, str) else "a name is a string"
        return UnknownName("unbound-variable", unbound_message(str(name)), hint=hint, name=str(name))

    # Attributes.

    def __getattr__(self, name: str) -> Any:
        """The value of a global as an attribute, if the session has no attribute of that name; underscores also stand for
        hyphens. Raises UnknownAttribute, which is an AttributeError.
        """
        if not name.startswith("_") and "module" in self.__dict__:
            for known in (name, name.replace("_", "-")):
                if known in self:
                    return self[known]
        raise UnknownAttribute("unbound-variable", f"A session has no attribute or global {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Define the global that the attribute reads, or one of exactly that name. Raises UnknownAttribute if the session
        has a method of that name.
        """
        if name[0] == "_" or name in self._own:
            object.__setattr__(self, name, value)
        elif hasattr(type(self), name):
            raise _is_its_own(name, f'`session["{name}"] = …` defines the global of that name')
        else:
            self[self._spelled(name)] = value

    def __delattr__(self, name: str) -> None:
        """Delete the definition that the attribute reads."""
        if name.startswith("_"):
            object.__delattr__(self, name)
        elif name in self._own or hasattr(type(self), name):
            raise _is_its_own(name, f'`del session["{name}"]` takes a definition of that name back')
        else:
            del self[self._spelled(name)]

    def _spelled(self, name: str) -> str:
        """The global for an attribute: of exactly that name, unless only the one with hyphens exists."""
        hyphened = name.replace("_", "-")
        return hyphened if name not in self and hyphened in self else name

    # Definitions.

    def define(self, function: F) -> F:
        """Define a global by a Python function, or a primitive made of one, under its own name. Returns it, so this is a
        decorator, too.
        """
        name = getattr(function, "__name__", None)
        if not isinstance(name, str):
            hint = "`session[NAME] = …` gives it one"
            raise NoCounterpart(
                "invalid-argument", f"A {type(function).__name__} has no name of its own", hint=hint
            )
        self[name] = function
        return function

    def bind(self, name: str, value: Value) -> None:
        """Define a global by a value of the language, such as the prompt's `_`."""
        with self._lock:
            cell = self.module.define(name)
            self._top_level.define(cell, value)
            cell.primitive = primitive_of(value)

    def unbind(self, name: str) -> None:
        """Delete a definition. The name is then unbound, or has its standard meaning."""
        with self._lock:
            module = self.module
            cell = module.define(name)

            def unbound() -> None:
                del module.defined[name]
                if hasattr(cell, "value"):
                    del cell.value
                module.cell(name)  # restores the standard meaning

            self.tiers.redefine(cell, unbound)

    def library_value(self, name: str) -> Value:
        """The value of a name of the library, even if the program redefines it."""
        with self._lock:
            return self.library.cell(name).value

    def _as_python(self, value: Value) -> Any:
        """The Python value, within the limits: a value with shared parts may expand without bound."""
        if type(value) is float or not is_pair(value):
            return to_python(value, self._calls)

        def convert() -> Any:
            try:
                return to_python(value, self._calls)
            except RecursionError:
                with deep_recursion():
                    return to_python(value, self._calls)

        if not self.machine.limits.are_watched or self.machine.watch.active:
            return convert()
        with (
            self._lock
        ):  # a watch covers one evaluation at a time, and another thread may have set limits meanwhile
            return self.machine.guarded(convert)


def _is_its_own(name: str, hint: str) -> UnknownAttribute:
    return UnknownAttribute("invalid-argument", f"A session has an attribute {name} of its own", hint=hint)


def primitive_of(value: Value) -> Primitive | None:
    """The primitive of a procedure, if it is one: calls of its name apply it directly."""
    if not is_procedure(value):
        return None
    found: Primitive | None = look(value)[0].primitive
    return found
