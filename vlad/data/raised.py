"""The exceptions that translated Python functions raise: each is a VladError, and of a class of Python's.

In: the name of a class, and a message.  Out: the exception. Imported when the first is raised. A refusal says that vlad does not
do here what Python does; so no handler of a translated function takes it.
"""

from __future__ import annotations

from typing import Any

from vlad.data.errors import Thrown


class Raised(Thrown):
    """An exception that a translated Python function raises; its subclasses are also the classes of Python."""

    is_refusal = False

    def __reduce__(self) -> Any:
        """Without what only handlers in the session use."""
        state = {name: value for name, value in vars(self).items() if name not in ("held", "find_place")}
        return type(self), (self.code, self.message), state


def _raised(kind: type[Exception]) -> type[Raised]:
    return type(f"Raised{kind.__name__}", (Raised, kind), {"__module__": __name__, "__doc__": kind.__doc__})


RAISED = {
    kind.__name__: _raised(kind)
    for kind in (
        ArithmeticError, AssertionError, AttributeError, Exception, FloatingPointError, IndexError, KeyError, LookupError,
        NameError, NotImplementedError, OverflowError, RecursionError, RuntimeError, StopIteration, TypeError,
        UnboundLocalError, ValueError, ZeroDivisionError,
    )
}  # fmt: skip
globals().update({made.__name__: made for made in RAISED.values()})  # where pickle finds them


def python_exception(kind: str, message: str) -> Raised:
    """The exception of Python's class `kind` that a translated function raises; others are Exceptions that name it."""
    if kind not in RAISED:
        kind, message = "Exception", f"{kind}: {message}"
    raised: type[Raised] = RAISED[kind]
    return raised("python-exception", message or kind)


def refusal(kind: str, message: str) -> Raised:
    """The exception of what vlad does not do as Python does."""
    raised = python_exception(kind, message)
    raised.is_refusal = True
    return raised
