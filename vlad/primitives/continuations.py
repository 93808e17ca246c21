"""Delimited continuations (Danvy & Filinski 1990): the rows and codes of `reset` and `shift`, and of what stands around them.

`(reset E)` runs the control entry of E (ad/control.py), which takes its continuation k, with the identity as k. A control entry
returns to its reset: the value, if k was called up to the end, or a *request*: `shift` returns one in place of calling k. The
reset then runs the body of the shift, with a procedure that stands for k. So both are loops, whatever the number of shifts, and
a continuation is a closure like any other: derivatives of code with continuations need no rule but those of the closures below.
(The third thing that is returned is what `raise` raises, raising.py.)

`(%wind before f after)`, which `dynamic-wind`, `parameterize` and `with-cleanup` call, is the value of (f). (before) is called
first, and what it returns is given to `after` at the end, however f ends: so both together may hold a state of this visit, such
as the value that a parameter had outside. Where a shift in f ends it, `after` is called before the request goes on to its reset.
Where the continuation is called, it begins with `before`, and what is left of f is wound in the same way. That is R7RS
`dynamic-wind` on delimited continuations (Flatt, Yu, Findler & Felleisen 2007, Adding delimited and composable control to a
production programming environment).

Codes of the system, such as AD values, run as they are (ad/control.direct_entry): the reset of a shift in a procedure that is
differentiated has to be in that procedure, too.
"""

from __future__ import annotations

import itertools
import sys
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from vlad.data.errors import VladError
from vlad.data.values import (
    CONTROL,
    FALSE,
    TRUE,
    UNSPECIFIED,
    Primitive,
    Role,
    SystemCode,
    Value,
    look,
    symbol,
)
from vlad.primitives.transforms import (
    abstract_entry,
    abstract_test,
    abstract_wrap,
    machine_row,
    record_fields,
    tag_test,
)

if TYPE_CHECKING:
    from vlad.core.machines import Evaluator

SHIFT, RESET = symbol("shift"), symbol("reset")

CODES: dict[str, SystemCode] = {
    "%reset": (
        Role.PROCEDURE,
        "",
        {
            "": """(lambda (f)
                 (let* ((frames (hide-frames (quote ()))) (r ((control-entry f) identity (quote ()))) (done (show-frames frames)))
                   (finish-reset r)))""",
            "control": """(lambda (k f)
                 (if (under-prompt? f) (framed-reset k f) (continue-reset k ((control-entry f) identity (quote ())))))""",
        },
    ),
    "%shift": (
        Role.PROCEDURE,
        "",
        {
            "": "(lambda (f) (no-reset (quote shift) (quote reset)))",
            "control": "(lambda (k f) (if (beyond-resets? f) (no-reset (quote shift) (quote reset)) (make-shift-request k f)))",
        },
    ),
    # The shift of a procedure of the library, as `amb`, which belongs to the reset of another one, as `solutions`.
    "%shift-of": (
        Role.PROCEDURE,
        "",
        {
            "": "(lambda (f own reset) (no-reset own reset))",
            "control": "(lambda (k f own reset) (if (beyond-resets? f) (no-reset own reset) (make-shift-request k f)))",
        },
    ),
    # What a shift returns to its reset. It is never applied.
    "shift-request": (Role.PROCEDURE, "k f", {"": "(lambda (x) x)"}),
    # A captured k, with its reset. At the end of another reset's body, that does the same.
    "continuation": (
        Role.PROCEDURE,
        "k",
        {
            "": """(lambda (v)
                 (let* ((frames (hide-frames (quote ()))) (r (k v)) (done (show-frames frames))) (finish-reset r)))""",
            "control": """(lambda (j v)
                 (if (under-prompt? v)
                     (continue-apart j (apart (lambda (nothing) (k v))))
                     (if (identity? j) (k v) (continue-reset j (k v)))))""",
        },
    ),
    # What is done whenever control enters or leaves f.
    "%wind": (
        Role.PROCEDURE,
        "",
        {
            "": """(lambda (before f after)
                 (let* ((visit (before)) (r (attempt-to-pass f)) (done (after visit)))
                   (if (failed? r)
                       (let ((both (passed (failed-field-1 r)))) (throw (car both) (cdr both)))
                       (cdr r))))""",
            "control": "(lambda (k before f after) (begin-wind k before f after))",
        },
    ),
    "begin-wind": (
        Role.RULE,
        "",
        {
            "": """(lambda (k before f after)
                 (if (under-prompt? f)
                     (framed-wind k before f after)
                     (enter-wind k before (lambda (nothing) ((control-entry f) guard-end (quote ()))) after)))""",
        },
    ),
    # (run), wound.
    "enter-wind": (
        Role.RULE,
        "",
        {
            "": """(lambda (k before run after)
                 ((control-entry before)
                   (lambda (visit) (finish-wind k before after visit (catch-to-pass run)))
                   (quote ())))""",
        },
    ),
    "finish-wind": (
        Role.RULE,
        "",
        {
            "": """(lambda (k before after visit r)
                 ((control-entry after)
                   (lambda (done)
                     (if (car r)
                         (let ((y (cdr r)))
                           (if (raised? y)
                               y
                               (if (shift-request? y)
                                   (let ((j (shift-request-field-1 y)))
                                     (make-shift-request
                                       (lambda (v) (enter-wind k before (lambda (nothing) (j v)) after))
                                       (shift-request-field-2 y)))
                                   (k y))))
                         (make-raised (passed (cdr r)))))
                   visit))""",
        },
    ),
}

# What a reset does with the result of its body.
SYSTEM_PROCEDURES: dict[str, str] = {
    "finish-reset": """(lambda (r)
        (if (shift-request? r)
            (let* ((frames (hide-frames (quote ())))
                   (next ((control-entry (shift-request-field-2 r)) identity (make-continuation (shift-request-field-1 r))))
                   (done (show-frames frames)))
              (finish-reset next))
            (if (raised? r)
                (let ((both (raised-field-1 r))) (throw (car both) (cdr both)))
                r)))""",
    # Of a continuation that was made where there are no frames: what is left of it has none, either.
    "continue-apart": """(lambda (k r)
        (if (shift-request? r)
            (continue-apart k
              (apart
                (lambda (nothing)
                  ((control-entry (shift-request-field-2 r)) identity (make-continuation (shift-request-field-1 r))))))
            (if (raised? r) r (k r))))""",
    "continue-reset": """(lambda (k r)
        (if (shift-request? r)
            (continue-reset k
              ((control-entry (shift-request-field-2 r)) identity (make-continuation (shift-request-field-1 r))))
            (if (raised? r) r (k r))))""",
}


# Functions of Python that call procedures as they are: what they are in the language, at the start of a sentence and inside.
CALLING: dict[CodeType, tuple[str, str]] = {}


def _outside(own: Value, reset: Value) -> str:
    if own is SHIFT:
        return "This shift is outside of any reset"
    return f"This call of `{own}` is outside of `{reset}`"


def _is_beyond_resets(machine: Evaluator, x: Value) -> Value:
    frame = machine.frames
    is_alone = frame is not None
    while frame is not None and frame.kind is not RESET:
        frame = frame.outer
    return TRUE if is_alone and frame is None else FALSE


def _no_reset(machine: Evaluator, own: Value, reset: Value) -> Value:
    """A shift that runs outside of control entries. The nearest of those among its callers shows why."""
    message, is_alone = _outside(own, reset), _is_beyond_resets(machine, own) is TRUE
    hint = "`(reset E …)` around it takes the continuation up to there"
    one, around = "shift", "reset"
    if own is not SHIFT:
        hint = f"call it in the procedure that `{reset}` is given"
        one, around = f"`{own}`", f"`{reset}`"
    frame: FrameType | None = None if is_alone else sys._getframe(1)
    between = "A Python function", "Python"
    while frame is not None:
        between = CALLING.get(frame.f_code, between)
        family = frame.f_globals.get("FAMILY")
        emission = None if family is None else family.emissions.get(frame.f_code.co_name)
        code = None if emission is None else emission.code
        if code is not None and (CONTROL in code.transforms or code is code.base.control):
            if machine.codes.get(code.base.name) is code.base:
                message = f"The {around} of this {one} is outside the procedure that is differentiated"
                hint = f"a derivative is that of a procedure with its control: put the `{reset}` into it"
            else:
                message = f"{between[0]} was called between this {one} and its {around}"
                what = between[1]
                hint = f"a continuation holds no calls of {what}: put the `{reset}` into the procedure that {what} calls"
            break
        frame = frame.f_back
    raise VladError("shift-without-reset", message, hint=hint, name=str(own))


# Nested calls in control entries make a chain of continuations, and the machine looks at its length now and then. A cycle takes
# half the time of a counter, whose numbers are objects.
_is_turn = itertools.cycle([False] * 1023 + [True]).__next__


def _note_depth(machine: Evaluator, k: Value) -> Value:
    return machine.check_depth(k) if _is_turn() else UNSPECIFIED


def _control_entry(machine: Evaluator, f: Value) -> Value:
    return machine.control_closure(f)


def _is_identity(machine: Evaluator, k: Value) -> Value:
    return TRUE if look(k)[0] is machine.codes["identity"] else FALSE


def _wrap(code: str) -> Any:
    def wrap(machine: Evaluator, *parts: Value) -> Value:
        return (machine.codes[code], *parts, None) if len(parts) == 1 else (machine.codes[code], *parts)

    return wrap


def _row(name: str, operands: str, doc: str, value: Any, **columns: Any) -> Primitive:
    columns = {"forward": "zero", "reverse": {}, **columns}
    return machine_row(name, operands, doc, value, hidden=True, **columns)


ROWS: list[Primitive] = [
    _row(
        "control-entry", "f", "f as (k . x) to (k y): inside a reset.", _control_entry, type="procedure -> procedure",
        forward="df", reverse={"f": "s"}, abstract=abstract_entry("control"),
    ),
    _row(
        "note-depth", "k", "Raises an error if calls are nested too deeply in the continuation k.", _note_depth,
        type="procedure -> any", effect=True, python="k[0].machine.check_depth(k) if is_turn() else UNSPECIFIED",
        uses={"is_turn": _is_turn, "UNSPECIFIED": UNSPECIFIED}, abstract=lambda w, k: w.unspecified,
    ),
    _row(
        "identity?", "k", "Is the continuation k the end of a reset?", _is_identity, type="procedure -> boolean",
        abstract=abstract_test("identity"),
    ),
    _row(
        "shift-request?", "x", "Does a shift return x to its reset?", tag_test("shift-request"), type="any -> boolean",
        abstract=abstract_test("shift-request"),
    ),
    _row(
        "make-shift-request", "k f", "The request of a shift with the procedure f at k.", _wrap("shift-request"),
        type="procedure procedure -> any", forward="(make-shift-request dk df)",
        reverse={"k": "(shift-request-field-1 s)", "f": "(shift-request-field-2 s)"}, abstract=abstract_wrap("shift-request"),
    ),
    *record_fields("shift-request", 2),
    _row(
        "make-continuation", "k", "k as a procedure for programs.", _wrap("continuation"), type="procedure -> procedure",
        forward="(make-continuation dk)", reverse={"k": "(continuation-field-1 s)"}, abstract=abstract_wrap("continuation"),
    ),
    *record_fields("continuation", 1),
    _row(
        "beyond-resets?", "x", "Does this run by control entries from a prompt on, outside of any reset?", _is_beyond_resets,
        type="any -> boolean", forward="zero", reverse={}, abstract=lambda w, x: w.truth(False),
    ),
    _row(
        "no-reset", "own reset", "The error of a shift outside of any reset.", _no_reset, type="any any -> any", effect=True,
        abstract=lambda w, own, reset: w.fail(_outside(own.type.of, reset.type.of)),
    ),
]  # fmt: skip
