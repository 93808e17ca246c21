"""The error type, its attributes, and how errors are displayed. All errors of programs are one exception type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vlad.data.source import Span
from vlad.data.values import Backtrace, Value
from vlad.data.write import written


class VladError(Exception):
    """An error in a program of the language.

    code        a stable name of the kind: "unbound-variable", "invalid-argument", … message     one sentence without position
    span        the place in the source, or None hint        what the user can do about it, or None reason      the failure in
    terms of the language, if `message` uses the user's terms; else None. Shown after `noticed as` irritants   the offending
    values, as text entered     the span, if it is inside the procedure that was called wrongly and the call is unknown; an
    enclosing form locates it better backtrace   the active procedures of the user, innermost first: each has a `procedure` name
    and a `span` or None
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
        """Support pickle, so that errors reach other processes."""
        return type(self), (self.code, self.message), vars(self)


class Incomplete(VladError):
    """The text ends inside a form: the prompt reads another line, a file is invalid."""


class LimitExceeded(VladError):
    """A limit (fuel, time, memory, depth) ended the evaluation."""


class UnknownName(VladError, KeyError):
    """Python code used a name that the program does not define."""


class UnknownAttribute(VladError, AttributeError):
    """The same, used as an attribute."""


class NoCounterpart(VladError, TypeError):
    """A Python value without a counterpart in the language."""


class MissingPackage(VladError, ImportError):
    """A feature needs a package that is not installed."""


class WrongOption(VladError, ValueError):
    """An invalid value of a session option."""


def show(error: VladError) -> str:
    """The text of an error: position and message, excerpt, values, hint, reason, backtrace."""
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
        # a reason about patterns makes no sense without the tuple rule, which the manual's entry explains
        more = f" (`vlad doc {error.code}`)" if error.reason.startswith("Argument is not ") else ""
        lines.append(f"  noticed as{more}: {error.reason}")
    lines += [f"  in {entry}" for entry in error.backtrace]
    return "\n".join(lines)
