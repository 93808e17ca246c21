"""Reasons why something is not compiled, or does not run compiled. Small, as policy.py imports it at every start."""

from __future__ import annotations

from vlad.data.source import Span

# Variants of one procedure, by the types of its operands, which include the shapes of tensors. After that many for lists of a
# fixed length, one for lists of any length is made.
UNKNOWN_LENGTH = "the length of a list of tensors or reals is known only when the program runs"
OTHER_LENGTH = "its lists of tensors or reals change their lengths within a call"
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
    """The analysis did not terminate; unrolling certain calls may help."""


class NotWorthwhile(Unbounded):
    """Following certain calls bounds a program, but leads to too much code."""


class Unavailable(Exception):
    """There is no compiler, or it failed; the text is a one-line message."""


class Failed(Exception):
    """The program raised an error; `what` is the compiler's description. `may_fit`: are its operands expected to fit if the known
    zero stays distinct from more (analysis/strategy.py)?"""

    def __init__(self, what: str, may_fit: bool = False) -> None:
        super().__init__(what)
        self.what = what
        self.may_fit = may_fit


class Unsupported(Failed):
    """Machine code does not do this for these values, but tier 0 does. `is_frequent`: it may be so in each call, and then machine
    code is of no use."""

    def __init__(self, what: str, is_frequent: bool = False) -> None:
        super().__init__(what)
        self.is_frequent = is_frequent


class Narrow(Failed):
    """It ran out of memory, which is small only because the process's addresses are limited: tier 0 may need less."""


class Mismatch(Exception):
    """An argument does not have the type for which the code was compiled."""
