"""The globals of a session, as Python sees them: items, attributes, names.

In: names, and values of Python's.  Out: values of Python's. Called by programs, as the part of a session that this is
(session.py); what evaluating does to globals is in top_level.py.

Items are any global that a program may use, the language's own included; what is iterated, counted and deleted are those of the
program. Attributes are the same in Python's spelling, underscores for hyphens, behind what a session has of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from vlad.data.errors import NoCounterpart, UnknownAttribute, UnknownName
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
    """What a session has of a dictionary and of a namespace."""

    machine: Machine
    tiers: Any
    basis: Module
    library: Module
    module: Module
    _lock: Any
    _calls: Any
    _library: Library
    _top_level: TopLevel
    _own: ClassVar[
        frozenset[str]
    ]  # the attributes that the class and those above it declare; they are no globals

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
        """Define a global. Raises NoCounterpart, which is a TypeError, for a value that the language has not, and VladError for
        a keyword."""
        if not isinstance(name, str):
            raise NoCounterpart("invalid-argument", f"A name is a string, not {name!r}")
        refuse_keyword(name)
        with self._lock:
            self.bind(name, from_python(value, self._calls))

    def __delitem__(self, name: str) -> None:
        """Take a definition of the program back. Who uses the name from now on is told that it is unbound, or has what it means
        in every program. Raises UnknownName for a name that the program does not define."""
        with self._lock:
            if name not in self:
                raise self._unknown(name)
            if self.module.is_inherited(name):
                hint = "what every program knows stays; a definition of the same name goes before it"
                raise UnknownName("unbound-variable", f"Not defined by the program: {name}", hint=hint)
            self.unbind(name)

    def __contains__(self, name: object) -> bool:
        """Does a name have a value?"""
        with self._lock:
            return isinstance(name, str) and hasattr(self.module.cell(name), "value")

    def __iter__(self) -> Iterator[str]:
        """The names that the program has defined, as `defined` has them."""
        return iter(self.defined())

    def __len__(self) -> int:
        """How many names the program has defined."""
        return len(self.defined())

    def __bool__(self) -> bool:
        """A session is one, though nothing be defined in it."""
        return True

    def keys(self) -> list[str]:
        """The names that the program has defined; so `dict(session)` has their values."""
        return self.defined()

    def defined(self) -> list[str]:
        """The names that programs have defined here, or those that they export, if they export any."""
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
        return UnknownName("unbound-variable", f"Unbound variable: {name}", hint=hint, name=str(name))

    # Attributes.

    def __getattr__(self, name: str) -> Any:
        """The value of a global as an attribute, where the session has none of that name; underscores stand for hyphens, too.
        Raises UnknownAttribute, which is an AttributeError."""
        if not name.startswith("_") and "module" in self.__dict__:
            for known in (name, name.replace("_", "-")):
                if known in self:
                    return self[known]
        raise UnknownAttribute("unbound-variable", f"A session has no attribute or global {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Define the global that the attribute is read as, or one of that very name. Raises UnknownAttribute where the session
        has a method of that name."""
        if name[0] == "_" or name in self._own:
            object.__setattr__(self, name, value)
        elif hasattr(type(self), name):
            raise _is_its_own(name, f'`session["{name}"] = …` defines the global of that name')
        else:
            self[self._spelled(name)] = value

    def __delattr__(self, name: str) -> None:
        """Take the definition back that the attribute is read as."""
        if name.startswith("_"):
            object.__delattr__(self, name)
        elif name in self._own or hasattr(type(self), name):
            raise _is_its_own(name, f'`del session["{name}"]` takes a definition of that name back')
        else:
            del self[self._spelled(name)]

    def _spelled(self, name: str) -> str:
        """The global that an attribute stands for: of its very name, unless only that with hyphens is there."""
        hyphened = name.replace("_", "-")
        return hyphened if name not in self and hyphened in self else name

    # Definitions.

    def define(self, function: F) -> F:
        """Define a global by a Python function, or a primitive made of one, under its own name. Answers it, so this is a
        decorator, too."""
        name = getattr(function, "__name__", None)
        if not isinstance(name, str):
            hint = "`session[NAME] = …` gives it one"
            raise NoCounterpart(
                "invalid-argument", f"A {type(function).__name__} has no name of its own", hint=hint
            )
        self[name] = function
        return function

    def bind(self, name: str, value: Value) -> None:
        """Define a global by a value of the language: what the prompt calls `_`, say."""
        with self._lock:
            cell = self.module.define(name)
            self._top_level.define(cell, value)
            cell.primitive = primitive_of(value)

    def unbind(self, name: str) -> None:
        """Take a definition back. Who uses the name from now on is told that it is unbound, if nothing else gives it a value."""
        with self._lock:
            module = self.module
            cell = module.define(name)

            def unbound() -> None:
                del module.defined[name]
                if hasattr(cell, "value"):
                    del cell.value
                module.cell(name)  # what it means in every program

            self.tiers.redefine(cell, unbound)

    def library_value(self, name: str) -> Value:
        """What a name of the library means, whatever the program made of it."""
        with self._lock:
            return self.library.cell(name).value

    def _as_python(self, value: Value) -> Any:
        """The Python value, within the limits: of what shares its parts it may be large without end."""
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
        ):  # who watches is of one evaluation at a time, and another thread may have set limits meanwhile
            return self.machine.guarded(convert)


def _is_its_own(name: str, hint: str) -> UnknownAttribute:
    return UnknownAttribute("invalid-argument", f"A session has an attribute {name} of its own", hint=hint)


def primitive_of(value: Value) -> Primitive | None:
    """The primitive that a procedure is, if it is one: calls of its name apply it at once."""
    if not is_procedure(value):
        return None
    found: Primitive | None = look(value)[0].primitive
    return found
