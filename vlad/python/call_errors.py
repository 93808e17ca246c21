"""What a call from Python did wrong, in the words of who called: how many arguments there were, and of which procedure.

In: an error that a call ended with, the procedure, and the arguments.  Out: the same error, told so. Called by convert.py and
derivatives.py when something has failed, never before. What a program does wrong in its own text is told there
(evaluate/errors/explain.py); this is for calls that stand in no such text.
"""

from __future__ import annotations

from collections.abc import Sequence

from vlad.data.errors import VladError
from vlad.data.source import Span, in_library, in_stdlib
from vlad.data.values import NIL, Backtrace, Value
from vlad.data.write import written
from vlad.expand.arity import Signature, wrong_number
from vlad.messages.hints import speak_of

TUPLES = "a tuple of Python's is a pair, or several arguments; `[2, 3]` is a list"


def blame(
    error: VladError,
    taken: Signature,
    place: Span | None,
    operands: Sequence[Value],
    tuples: Sequence[Value],
) -> None:
    """Change an error of a call of a procedure that is written at a place, with these operands, some of which are tuples of
    Python's."""
    if error.code == "session-closed":
        return
    _speak_of_tuples(error, taken, operands, tuples)
    if place is not None and in_library(place):
        place = None
    if _is_of_number(error, taken, operands):
        told = wrong_number(taken, len(operands), span=place)
        vars(error).update(vars(told))
        error.args = told.args
    elif error.span is not None and in_library(error.span):
        if not error.backtrace and in_stdlib(error.span):
            error.backtrace.append(Backtrace("the library", error.span))
        error.span = place
        if place is None and error.backtrace:
            speak_of(taken.name, error)


def _speak_of_tuples(
    error: VladError, taken: Signature, operands: Sequence[Value], tuples: Sequence[Value]
) -> None:
    """Where a tuple was given for a list: it is a pair, or counts as several arguments."""
    if error.code == "wrong-number-of-arguments":
        is_so = len(operands) == taken.count and operands[-1] in tuples
    else:  # of a procedure of the library it is its inside that minds
        is_so = error.code in ("invalid-argument", "no-matching-pair") and bool(tuples)
    if is_so and (error.span is None or in_library(error.span)):
        error.hint = f"{error.hint}; {TUPLES}" if error.hint else TUPLES


def _is_of_number(error: VladError, taken: Signature, operands: Sequence[Value]) -> bool:
    """Is it that there were too many operands or too few? By the tuple rule a procedure of a pair may be called with two: then
    what failed is something else, unless the operands that were too many are the value that did not fit."""
    got = len(operands)
    if type(error) is not VladError or taken.rest or got == taken.count or error.code == "user-error":
        return False
    if error.code == "wrong-number-of-arguments":
        return error.span is None or in_library(error.span)
    if got > taken.count > 0 or not got:
        return written(_packed(operands[taken.count - 1 :]) if got else NIL, 200) in error.irritants
    return False


def _packed(values: Sequence[Value]) -> Value:
    *first, packed = values
    for value in reversed(first):
        packed = (value, packed)
    return packed
