"""Why something is not compiled, or does not run compiled. Light, for policy.py is imported at every start."""

from __future__ import annotations

from vlad.data.source import Span

# Of one procedure, by the types of its operands: shapes of tensors are part of these. After so many for lists of some length, one
# is for lists of any.
MOST_VARIANTS, MOST_LENGTHS = 16, 3


class Unbounded(Exception):
    """The analysis cannot bound, or the compiler not yet translate, a program: it stays on tier 0. `reason` is for people;
    `for_number`: is it for want of a number, of a length or an axis, say, which one of the operands may be?"""

    def __init__(self, reason: str, span: Span | None = None, for_number: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span
        self.for_number = for_number


class Unsettled(Unbounded):
    """The analysis cannot bound a program; more patience may help."""


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
