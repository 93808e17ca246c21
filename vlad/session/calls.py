"""Calls from Python: the interface that a session gives to its procedures, by which they call back into it.

In: procedures and arguments, as values of the language.  Out: results, as values of the language or of Python. Called by
`Procedure` (python/convert.py) and by code that makes procedures of Python functions (python/host.py); made by session.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vlad.compile.calling.policy import Tiers
from vlad.compile.calling.variants import Options
from vlad.data.values import Primitive, Value
from vlad.expand.arity import NAMED, Named
from vlad.python.convert import Guard, Procedure, to_python
from vlad.python.procedure_docs import code_of

if TYPE_CHECKING:
    from vlad.data.records import Record


class Calls:
    """How Python calls procedures of a session: the interface `convert.Procedure` uses.

    unpickled   the function with which pickle restores a procedure from a text, and the settings of its session
    """

    def __init__(self, session: Any, unpickled: Callable[..., Any]) -> None:
        self.session = session
        self.unpickled = unpickled
        self.repeats = False
        self.is_of_python = False
        self.guards: Sequence[Guard] = ()
        # derivatives.py's: procedures, and those made from them
        self.derived: dict[Any, tuple[Value, Value]] = {}
        self._of_python: Calls | None = None
        self._host: Any = None  # host.Host, made with the first procedure of a Python function

    def of_python(self) -> Calls:
        """The same for translated Python functions that were saved."""
        if self._of_python is None:
            self._of_python = Calls(self.session, self.unpickled)
            self._of_python.is_of_python = True
        return self._of_python

    def procedure(self, function: Callable[..., Any]) -> Value:
        """A Python function, or a primitive made of one, as a procedure of the session."""
        with self.session._lock:  # rules are checked
            if self._host is None:
                from vlad.python.host import Host

                self._host = Host(self.session.machine, self)
            return self._host.procedure(function)

    def named_of(self, procedure: Value) -> Named | None:
        """What a procedure takes by name, if it is one of the library; else None."""
        named = NAMED.get(code_of(procedure).name)
        is_this = named is not None and code_of(self._of_library(named.name)) is code_of(procedure)
        return named if is_this else None

    def with_names(self, takes: Primitive | Named, named: Mapping[str, Value]) -> Value:
        """A primitive as a procedure that also takes keyword operands (SystemProcedures.with_names); or the procedure of the
        library that takes all operands by place."""
        if isinstance(takes, Named):
            return self._of_library(takes.procedure)
        with self.session._lock:
            return self.session.machine.system.with_names(takes, named)

    def _of_library(self, name: str) -> Value:
        """The value of a name that the library defines."""
        with self.session._lock:
            found = self.session.library.library().lookup(name)
        assert found is not None, name
        return found.value

    def __call__(self, procedure: Value, argument: Value, options: Options | None = None) -> Value:
        return self.session.apply(procedure, argument, options)

    def python_result(self, procedure: Value, argument: Value, options: Options | None = None) -> Any:
        """The result of a call, as a Python value. The limits hold for call and conversion together."""
        session = self.session
        if session.machine.limits.are_watched:
            with session._lock:
                return session.machine.guarded(
                    lambda: session._as_python(session.apply(procedure, argument, options))
                )
        value = session.apply(procedure, argument, options)
        return value if type(value) is float else session._as_python(value)

    def use(self, record: Record) -> None:
        """Note that a record of Python's is in use (functions.py)."""

    def quicken(self, procedure: Procedure) -> None:
        """Let a procedure call machine code directly, while that is up to date; if another thread holds the lock, after a later
        call."""
        tiers, lock = self.session.tiers, self.session._lock
        if not isinstance(tiers, Tiers) or not tiers.has(procedure) or not lock.enter_if_free():
            return
        try:
            tiers.quicken(procedure)
        finally:
            lock.release()

    def prepare(self, procedure: Procedure, operands: tuple[Value, ...]) -> None:
        """Compile a procedure that has options for it. Raises VladError if that is impossible."""
        session, options = self.session, procedure.options
        assert options is not None
        with session._lock:
            session._top_level.suggesting(session.tiers.prepare, procedure.value, operands, options)
            session.tiers.quicken(procedure)

    def close(self) -> None:
        self._host = None
        self.derived.clear()

    def reduced(self, procedure: Value) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The function and arguments with which pickle restores a procedure."""
        from vlad.python.dump import dumps_with_places

        text, places = dumps_with_places(to_python(procedure, self))
        return self.unpickled, (text, self.session._settings, places)
