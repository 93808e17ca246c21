"""The Python functions of a session: `Session.function`.

In: Python functions.  Out: `Function`s (python/functions.py), whose translations (translate/) are procedures of the session.

The names outside of a function refer to globals of the module `python`, one for each value of Python: other functions, which are
translated in turn, and data. So functions call each other as in Python, and a name that gets another value is noticed: each call
compares the values of the names that its functions read.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import CellType, FunctionType, MethodType
from typing import Any

from vlad.compile.calling.variants import Options
from vlad.data.errors import NoCounterpart, VladError
from vlad.data.records import InUse, Record, is_record, record_of, use
from vlad.data.source import Span
from vlad.data.values import Global, Value
from vlad.evaluate.limits import deep_recursion
from vlad.expand.forms import KEYWORDS
from vlad.expand.items import Expression
from vlad.expand.scope import Module
from vlad.primitives.table import PROCEDURES, TABLE
from vlad.python.convert import OBJECTS, Guard, Procedure, are_current, from_python
from vlad.python.functions import Function, object_called, python_function
from vlad.python.stating import HostPrimitive
from vlad.python.structures import tuple_of
from vlad.reader.parser import Form
from vlad.session.calls import Calls
from vlad.session.top_level import TopLevel, only_lambda
from vlad.translate.counting import Counters
from vlad.translate.names import forget_all
from vlad.translate.refusals import refused
from vlad.translate.source import Node, Text, lines_of, node_of
from vlad.translate.syntax import form, name, text_of
from vlad.translate.translation import Translation, counters, raising, translation


class FunctionCalls(Calls):
    """How Python calls a translated function and its derivatives: with the present values of the names outside."""

    def __init__(self, calls: Calls, linked: LinkedFunction) -> None:
        super().__init__(calls.session, calls.unpickled)
        self.is_of_python = True
        self._linked = linked

    def __call__(self, procedure: Value, argument: Value, options: Options | None = None) -> Value:
        self._linked.refresh()
        return super().__call__(procedure, argument, options)

    def python_result(self, procedure: Value, argument: Value, options: Options | None = None) -> Any:
        self._linked.refresh()
        return super().python_result(procedure, argument, options)

    def use(self, record: Record) -> None:
        self._linked.functions.use(record)


class LinkedFunction:
    """One Python function in a session.

    of           the class that it is a method of, if it is a class method
    handing      the parameters whose values it returns beside its result
    lines        those of its file, when it was defined
    cell         its global
    translation  None until it is needed
    is_linked    have its `apply` the guards of all that it calls? It may have been translated because another one calls it
    uses         the functions that it calls, directly
    is_needed    must it have a translation? It may be a method of a class that is not meant
    refusal      the error of a call, if here or in what it calls there is an attribute that nothing in use has
    """

    def __init__(
        self,
        functions: Functions,
        python: FunctionType,
        cell: Global,
        of: type | None = None,
        handing: tuple[str, ...] | None = None,
    ) -> None:
        self.functions = functions
        self.of = of
        self.handing = handing
        self.python = python
        self.lines = lines_of(python)
        self.cell = cell
        self.translation: Translation | None = None
        self.is_linked = False
        self.uses: dict[LinkedFunction, None] = {}
        self.is_needed = False
        self.refusal: VladError | None = None
        self.apply = FunctionCalls(functions.calls, self)
        self._counters: Counters | None = None  # None until they are needed

    def value(self) -> Value:
        self.refresh()
        return self.cell.value

    def text(self) -> str:
        self.refresh()
        assert self.translation is not None
        span = self.translation.span
        shown, own = self.translation.syntax, name(self.python.__name__, span)
        if self.translation.captured or not isinstance(shown, Form):
            return text_of(form(span, "define", own, shown))
        parameters = shown.items[1]
        assert isinstance(parameters, Form)
        return text_of(form(span, "define", Form((own, *parameters.items), None, span), *shown.items[2:]))

    def counters(self) -> Counters:
        self.refresh()
        if self._counters is None:
            self._counters = counters(self.python, self.lines, self.functions)
        return self._counters

    def refresh(self) -> None:
        """Translate it, and again if a name outside of it, or of a function that it calls, has got another value."""
        if not self.is_linked or not are_current(self.apply.guards):
            with self.functions.lock:
                if self.is_linked and are_current(self.apply.guards):
                    return  # another thread has translated it
                self.functions.link(self)
                guards: dict[Any, Guard] = {}
                for one in self.reached():
                    for read in one.translation.reads if one.translation else ():
                        guards[id(read.cell if read.names is None else read.names), read.key] = read.guard()
                self.apply.guards = list(guards.values())
                self._counters = None
                self.is_linked = True
                refusals = [
                    error
                    for one in self.reached()
                    if one.is_needed and one.translation
                    for error in one.translation.refusals
                ]
                self.refusal = refusals[0] if refusals else None

    def reached(self) -> list[LinkedFunction]:
        """This function, and all that it calls."""
        found: dict[LinkedFunction, None] = {}
        work = [self]
        while work:
            one = work.pop()
            if one not in found:
                found[one] = None
                work += one.uses
        return list(found)

    def texts(self) -> list[tuple[Node, Text]]:
        self.refresh()
        return [node_of(one.python, one.lines) for one in self.reached()]

    def is_current(self) -> bool:
        return self.translation is not None and are_current([read.guard() for read in self.translation.reads])


class Functions:
    """The translated functions of a session."""

    def __init__(self, top_level: TopLevel, calls: Calls) -> None:
        self.top_level = top_level
        self.calls = calls
        self.lock = calls.session._lock
        self.module = Module("python", top_level.library)
        self.module.on_redefine = top_level.module.on_redefine
        # by the ids of the function, and of the class of a class method, and what it hands back; it keeps them alive
        self._linked: dict[tuple[int, int, tuple[str, ...] | None], LinkedFunction] = {}
        self._data: dict[int, tuple[Any, Global]] = {}
        self._library = top_level.library_names()
        self._pending: list[LinkedFunction] = []
        self._done: dict[LinkedFunction, Translation | None] = {}
        self._current: LinkedFunction | None = None
        self.in_use: InUse = {}
        self.effects: dict[int, Any] = {}

    def function(self, f: Any, options: Options | None = None) -> Function[..., Any]:
        """A Python function as a procedure."""
        python = python_function(f)
        return Function(python, self._of(python), options)

    def _of(
        self, python: FunctionType, of: type | None = None, handing: tuple[str, ...] | None = None
    ) -> LinkedFunction:
        key = id(python), id(of), handing
        found = self._linked.get(key)
        if found is None:
            # A text executed without a `__name__` has functions without a module.
            path = (python.__module__, python.__qualname__) if python.__module__ else (python.__qualname__,)
            cell = self.module.define(self._fresh(".".join(path)))
            found = self._linked[key] = LinkedFunction(self, python, cell, of, handing)
        return found

    def _fresh(self, name: str) -> str:
        """The name of a new global."""
        number, found = 1, name
        while found in self.module.defined:
            number += 1
            found = f"{name}.{number}"
        return found

    # What a translation asks (expressions.Outside).

    def lines_of(self, function: FunctionType) -> list[str]:
        linked = self._linked.get((id(function), id(None), None))
        return (linked.lines if linked is not None else None) or lines_of(function)

    def use(self, record: Record) -> None:
        use(record, self.in_use)

    def is_taken(self, name: str) -> bool:
        return name in KEYWORDS or name in TABLE or name in PROCEDURES or name in self._library or name == "J"

    def cell(
        self,
        value: Any,
        name: str,
        span: Span,
        is_optional: bool = False,
        handing: tuple[str, ...] | None = None,
    ) -> str:
        if isinstance(value, Function):
            value = value.python
        of: type | None = None
        if isinstance(value, MethodType) and isinstance(value.__self__, type):
            value, of = value.__func__, value.__self__
        if isinstance(value, MethodType):
            value = python_function(value)
        if isinstance(value, FunctionType):
            linked = self._of(value, of, handing)
            if not is_optional:
                linked.is_needed = True
            if self._current is not None:
                self._current.uses[linked] = None
            if not linked.is_current() and linked not in self._pending and linked not in self._done:
                self._pending.append(linked)
            return linked.cell.name
        kept = self._data.get(id(value))
        if kept is None:
            if (
                callable(value)
                and not isinstance(value, Procedure | HostPrimitive)
                and not is_record(type(value))
            ):
                raise refused(f"a call of {name}", span, hint_for(value))
            if callable(value) and is_record(type(value)):
                self.use(record_of(type(value)))  # now, as it may be called here
            cell = self.module.define(self._fresh(f"python.{name}"))
            try:
                self.top_level.define(
                    cell, from_python(value, self._current.apply if self._current else None)
                )
            except BaseException as error:
                self.module.undefine(cell.name)
                if isinstance(error, NoCounterpart):
                    called = None if self._current is None else object_called(self._current.python, name)
                    error.state_place(called or f"in the value of {name}", None if called else span)
                raise
            kept = self._data[id(value)] = value, cell
        return kept[1].name

    # Linking.

    def link(self, linked: LinkedFunction) -> None:
        """Translate a function, and all that it calls, as far as they are not current."""
        self._pending = [one for one in linked.reached() if not one.is_current()]
        done = self._done = {}
        linked.is_needed = True
        try:
            while self._pending:
                one = self._pending.pop()
                done[one] = None
                self._current, one.uses = one, {}
                with deep_recursion():  # a long function is a deep expression
                    done[one] = translated = self._translation(one)
                self.top_level.define(one.cell, self._value(one, translated))
                if not self._pending:  # a class that came into use has changed what an attribute means
                    self._pending = [
                        other
                        for other, found in done.items()
                        if found and not are_current([read.guard() for read in found.reads])
                    ]
        except BaseException:
            for one in done:
                one.translation = None
                one.is_linked = False
            raise
        finally:
            self._pending, self._done, self._current = [], {}, None
            forget_all()
        for one, found in done.items():  # once all that they call exist
            one.translation = found

    def _translation(self, linked: LinkedFunction) -> Translation:
        """The translation of a function. Instead, a method of a class that may not be meant raises an error when it is called."""
        lines = linked.lines or lines_of(linked.python)
        try:
            return translation(linked.python, lines, self, linked.of, linked.handing)
        except VladError as error:
            if linked.is_needed:
                raise
            return raising(linked.python, lines, error, linked.of)

    def _value(self, linked: LinkedFunction, translated: Translation) -> Value:
        """The procedure of a translation."""
        span, shown = translated.span, linked.python.__name__
        own = name(shown, span)
        syntax = translated.syntax
        if translated.captured:
            assert isinstance(syntax, Form)
            named = form(span, "let", Form((Form((own, syntax.items[2]), None, span),), None, span), own)
            syntax = form(span, "lambda", syntax.items[1], named)
        else:
            syntax = form(span, "let", Form((Form((own, syntax), None, span),), None, span), own)
        (item,) = self.top_level.expanded(syntax, self.module)
        assert isinstance(item, Expression)
        lambda_ = only_lambda(item.body)
        assert lambda_ is not None
        machine = self.top_level.machine
        made = machine.top_level(lambda_)
        if not translated.captured:
            machine.ids_in_python[made[0]] = id(linked.python)
            return made
        closure: Mapping[str, CellType] = dict(
            zip(linked.python.__code__.co_freevars, linked.python.__closure__ or (), strict=True)
        )
        values = []
        for one in translated.captured:
            try:
                values.append(from_python(closure[one].cell_contents, linked.apply))
            except NoCounterpart as error:
                error.state_place(f"in the value of {one}", span)
                raise
        closed = machine.apply(made, tuple_of(values))
        machine.ids_in_python[closed[0]] = id(linked.python)
        return closed


def hint_for(value: Any) -> str:
    """The way for a callable object that a translated function cannot call."""
    kind = value if isinstance(value, type) else type(value)
    if isinstance(value, type) and kind.__module__.partition(".")[0] not in sys.stdlib_module_names:
        return OBJECTS
    if isinstance(vars(kind).get("__call__"), FunctionType):
        return (
            f"if {kind.__name__} is a frozen dataclass, its fields are values, and its methods are translated"
        )
    return "it has no counterpart: write it in Python, or with rules, as a `vlad.primitive`"
