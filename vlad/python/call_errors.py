"""Errors of calls from Python, in terms of the call: the number of arguments, and the procedure.

In: an error of a call, the procedure, and the arguments.  Out: the same error, reworded. Called by convert.py and
derivatives.py after a failure only. Errors in the text of a program are reworded in
evaluate/errors/explain.py; this module is for calls without such a text.
"""

from __future__ import annotations

from collections.abc import Sequence

from vlad.data.errors import Kind, VladError
from vlad.data.source import Span, in_library, in_stdlib
from vlad.data.values import NIL, Backtrace, Value
from vlad.data.write import written_in_message
from vlad.expand.arity import Signature, wrong_number
from vlad.messages.hints import attribute_to

TUPLES = "a tuple of Python's is a pair, or several arguments; `[2, 3]` is a list"


def reword_call(
    error: VladError,
    taken: Signature,
    place: Span | None,
    operands: Sequence[Value],
    tuples: Sequence[Value],
    is_of_python: bool = False,
) -> None:
    """Reword an error of a call of the procedure at `place` with these operands; `tuples` are those that are Python tuples.
    `is_of_python`: is it a Python function's, to which places in the library say nothing?"""
    if error.code == "session-closed":
        return
    _hint_at_tuples(error, taken, operands, tuples)
    if place is not None and in_library(place):
        place = None
    if _is_of_number(error, taken, operands):
        replacement = wrong_number(taken, len(operands), span=place)
        vars(error).update(vars(replacement))
        error.args = replacement.args
    elif error.span is not None and in_library(error.span):
        is_inside = bool(error.backtrace) or in_stdlib(error.span)
        if is_inside and not (error.backtrace or is_of_python):
            error.backtrace.append(Backtrace("the library", error.span))
        error.span = place
        if place is None and is_inside:
            attribute_to(taken.name, error)


def _hint_at_tuples(
    error: VladError, taken: Signature, operands: Sequence[Value], tuples: Sequence[Value]
) -> None:
    """Add a hint if a tuple was passed for a list: it is a pair, or counts as several arguments."""
    if error.code == "wrong-number-of-arguments":
        is_so = len(operands) == taken.count and operands[-1] in tuples
    else:  # for a procedure of the library, its body raises the error
        is_so = error.code in ("invalid-argument", "no-matching-pair") and bool(tuples)
    if is_so and (error.span is None or in_library(error.span)):
        error.hint = f"{error.hint}; {TUPLES}" if error.hint else TUPLES


def _is_of_number(error: VladError, taken: Signature, operands: Sequence[Value]) -> bool:
    """Whether there were too many operands or too few. By the tuple rule a procedure of a pair may be called with two: then
    something else failed, unless the excess operands are the value that did not match.
    """
    got = len(operands)
    if type(error) is not VladError or taken.rest or got == taken.count or error.code == "user-error":
        return False
    if error.code == "wrong-number-of-arguments":
        return error.span is None or in_library(error.span)
    if got > taken.count > 0 or not got:
        return (
            written_in_message(_packed(operands[taken.count - 1 :]) if got else NIL, 200) in error.irritants
        )
    return False


KINDS = {
    Kind.REAL: "a number", Kind.TENSOR: "an array", Kind.NIL: "an empty list", Kind.LIST: "a list",
    Kind.PAIR: "a tuple or a dict", Kind.BOOLEAN: "a boolean", Kind.STRING: "a text", Kind.PROCEDURE: "a function",
    Kind.NONE: "None", Kind.TUPLE: "a tuple", Kind.DICT: "a dict", Kind.SET: "a set",
}  # fmt: skip
AXES = (
    'the number of an axis, None for what all rows share, "list" for a list of rows, or a sequence of these'
)


def reword_rows(error: VladError) -> None:
    """Reword an error of `vlad.vmap` itself, in words of Python."""
    if error.name != "vmap":
        return
    if error.code == "out-of-range":
        error.hint = "an argument has fewer axes, which count from 0 on"
    if error.about is None:
        return
    error.irritants = []
    match error.about:
        case "axes":
            error.reword("The arguments do not fit the axes of vmap")
            error.hint = f"axes= is {AXES}, one for each argument"
        case "lengths":
            error.hint = "each array has as many rows: axes= says along which axis, and is None for what all rows share"
        case "no rows":
            error.reword("No argument of vmap has rows")
            error.hint = 'it maps over the first axis of arrays, and over lists where axes= is "list"'
        case "answers":
            error.reword("The results for the rows of vmap have different structures")
            first, this = [KINDS.get(kind, "another value") for kind in error.kinds]
            error.hint = (
                f"the first row's result has {first} where this one's has {this}"
                if first != this
                else "they are put together part by part: arrays in them have one shape, and sets cannot be"
            )


def _packed(values: Sequence[Value]) -> Value:
    *first, packed = values
    for value in reversed(first):
        packed = (value, packed)
    return packed
