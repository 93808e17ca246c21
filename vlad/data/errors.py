"""The kinds of error, their facts, and how they are shown. One exception type for all that goes wrong in a program."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vlad.data.source import Span
from vlad.data.values import Backtrace, Value
from vlad.data.write import written


class VladError(Exception):
    """An error in a program of the language.

    code        a stable name of the kind: "unbound-variable", "invalid-argument", …
    message     one sentence without position
    span        where in the source, or None
    hint        what the user may do about it, or None
    reason      what failed in the language's own terms, where the message has the user's; or None. Shown behind `noticed as`
    irritants   the offending values, as text
    entered     the span, where it is what the wrong call entered, for the call is not known: a form around it is the better place
    backtrace   the user's procedures that were active, innermost first: each has the name of its `procedure` and a `span` or None
    """

    def __init__(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        hint: str | None = None,
        irritants: Iterable[Value] = (),
        reason: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.span = span
        self.entered: Span | None = None
        self.hint = hint
        self.reason = reason
        self.irritants: list[str] = [written(value, limit=200) for value in irritants]
        self.backtrace: list[Backtrace] = []

    def __str__(self) -> str:
        return show(self)

    def __reduce__(self) -> Any:
        """For pickle: another process is told what went wrong in this one."""
        return type(self), (self.code, self.message), vars(self)


class Incomplete(VladError):
    """The text ends before the form does: a prompt asks for more, a file is wrong."""


class LimitExceeded(VladError):
    """A limit (fuel, time, memory, depth) ended the evaluation."""


class UnknownName(VladError, KeyError):
    """Python asked for a name that the program does not define."""


class UnknownAttribute(VladError, AttributeError):
    """The same, asked for as an attribute."""


class NoCounterpart(VladError, TypeError):
    """A value of Python's that the language has no counterpart for."""


class MissingPackage(VladError, ImportError):
    """Something needs a package that is not installed."""


class WrongOption(VladError, ValueError):
    """An option of a session that has no such value."""


def show(error: VladError) -> str:
    """The error as people read it: position and message, excerpt, the values, hint, reason, backtrace."""
    lines = [f"{error.span}: Error: {error.message}" if error.span else f"Error: {error.message}"]
    if error.span:
        lines.append(error.span.excerpt())
        use = getattr(error.span, "use", None)
        if use is not None:
            lines.append(f"  in the expansion of the macro used at {use}")
    lines += [f"  value: {text}" for text in error.irritants]
    if error.hint:
        lines.append(f"  hint: {error.hint}")
    if error.reason:
        # the words of a pattern that did not match say nothing to who does not know that arguments are one
        more = f" (`vlad doc {error.code}`)" if error.reason.startswith("Argument is not ") else ""
        lines.append(f"  noticed as{more}: {error.reason}")
    lines += [f"  in {entry}" for entry in error.backtrace]
    return "\n".join(lines)
