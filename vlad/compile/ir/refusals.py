"""Why something is not compiled, or does not run compiled. Light, for policy.py is imported at every start."""

from __future__ import annotations

from vlad.data.source import Span

# Of one procedure, by the types of its operands: shapes of tensors are part of these. After so many for lists of some length, one
# is for lists of any.
MOST_VARIANTS, MOST_LENGTHS = 16, 3

CALL = "the call"  # the one part of a program that is a single call


class Unbounded(Exception):
    """The analysis cannot bound, or the compiler not yet translate, a program: it stays on tier 0. `reason` is for people;
    `for_number`: is it for want of a number, of a length or an axis, say, which one of the operands may be? `part`: a step of
    the program, or CALL."""

    def __init__(
        self, reason: str, span: Span | None = None, for_number: bool = False, part: object = CALL
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span
        self.for_number = for_number
        self.part = part


class Unsettled(Unbounded):
    """The analysis cannot bound a program; more patience may help."""


class NotWorthwhile(Unbounded):
    """More patience bounds a program, but to more code than pays."""


class Unavailable(Exception):
    """There is no compiler, or it failed; the text is one line for people."""


class Failed(Exception):
    """The program ended in an error; `what` is the compiler's word for it."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class Narrow(Failed):
    """It ran out of memory that is small only because the process may have few addresses: tier 0 may do with less."""


class Mismatch(Exception):
    """An argument is not of the type that was compiled for."""
