"""The exceptions that translated Python functions raise: each is a VladError, and of a class of Python's.

In: the symbol of a class, a message, and the exception's arguments and attributes.  Out: the exception. Imported when the first
is raised. A refusal says that vlad does not do here what Python does; so no handler of a translated function takes it.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from vlad.data.errors import Thrown
from vlad.data.records import EXCEPTIONS
from vlad.data.values import symbol


class Raised(Thrown):
    """An exception that a translated Python function raises; its subclasses are also the classes of Python."""

    is_refusal = False

    def __reduce__(self) -> Any:
        """Without what only handlers in the session use."""
        state = {name: value for name, value in vars(self).items() if name not in ("held", "find_place")}
        return _again, (type(self).__mro__[_PLACE], self.args), state


_PLACE = 1 + len(Raised.__mro__) - len(Exception.__mro__)  # of Python's class among the bases


def _again(kind: type[Exception], arguments: tuple[Any, ...]) -> Raised:
    """An exception that is unpickled."""
    made = raised_class(kind)("", "")
    made.args = arguments
    return made


def raised_class(kind: type[Exception]) -> type[Raised]:
    """The class of the exceptions of a class of Python's that translated functions raise."""
    found = _made.get(kind)
    if found is None:
        own = {"__module__": kind.__module__, "__doc__": kind.__doc__}
        found = _made[kind] = type(kind.__name__, (Raised, kind), own)
    return found


_made: weakref.WeakKeyDictionary[type, type[Raised]] = weakref.WeakKeyDictionary()

# The classes of the exceptions that Python's operators and functions raise, and their bases.
RAISED: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        ArithmeticError, AssertionError, AttributeError, Exception, FloatingPointError, IndexError, KeyError, LookupError,
        NameError, NotImplementedError, OverflowError, RecursionError, RuntimeError, StopIteration, TypeError,
        UnboundLocalError, ValueError, ZeroDivisionError,
    )
}  # fmt: skip


def python_exception(
    own: str, message: str, arguments: tuple[Any, ...] | None = None, parts: Iterable[Any] = ()
) -> Raised:
    """The exception of a class that a translated function raises. `own`: the name of its symbol; `parts`: its fields."""
    record = EXCEPTIONS.get(symbol(own))
    kind = RAISED.get(own, Exception) if record is None else record.kind
    made = raised_class(kind)("python-exception", message or kind.__name__)
    made.args = (message,) if arguments is None else arguments
    if record is not None:
        vars(made).update(zip(record.fields, parts, strict=False))
    return made


def refusal(kind: str, message: str) -> Raised:
    """The exception of what vlad does not do as Python does."""
    raised = python_exception(kind, message)
    raised.is_refusal = True
    return raised
