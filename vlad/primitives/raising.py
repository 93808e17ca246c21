"""Errors that programs raise and catch: the rows and codes of `guard` and `raise`.

`guard` runs its body as `%attempt` does, which returns (#t . value), or the value `failed` with the field (v . error): v was
raised, and error is the exception with its place, or #f. So types tell the two apart. An error of the system is raised as an
object that holds the exception. Limits and interrupts are no errors, and pass.

A procedure runs as it is, and `raise` is an exception of Python. In derivatives, and inside `reset`, a guard runs the control
entry of its body instead (ad/control.py): there `raise` returns what it raises to the guard, as `shift` returns a request
(continuations.py). So what is raised has the derivative of any other value. Errors of the system have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vlad.control.safe_import import import_safely
from vlad.data.errors import Exited, RaisedValue, Thrown, VladError
from vlad.data.records import EXCEPTION, exception_parts
from vlad.data.tables import Table
from vlad.data.tensors import Tensor
from vlad.data.values import (
    FALSE,
    NIL,
    TRUE,
    UNSPECIFIED,
    ZERO,
    Opaque,
    Primitive,
    Reference,
    Role,
    String,
    SystemCode,
    Value,
    is_procedure,
    look,
    symbol,
)
from vlad.primitives.continuations import CALLING
from vlad.primitives.control import WRITTEN, abstract_error
from vlad.primitives.numbers import invalid
from vlad.primitives.strings import expect_text
from vlad.primitives.transforms import (
    abstract_test,
    abstract_wrap,
    machine_row,
    record_fields,
    record_rows,
    tag_test,
)

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine, Evaluator

LEAVING = "A continuation was called, which leaves the call from Python"
EXIT = symbol("exit")  # in the place of the cell of an escape
HANDLING = ("current-handler", "leave-handler", "reenter-handler")  # for programs of the library
# Parts of `%attempt` in code that is compiled or differentiated. What they do counts as no steps, as in the row `catch`.
_RULES: dict[str, str] = {
    "attempt-by-control": """(lambda (f)
        (settle-guard (apart (lambda (nothing) (run-guarded f)))))""",
    "pass-by-control": """(lambda (f)
        (settle-guard
          (apart
            (lambda (nothing) (catch-to-pass (lambda (nothing) ((control-entry f) guard-end (quote ()))))))))""",
    "run-guarded": "(lambda (f) (catch-errors (lambda (nothing) ((control-entry f) guard-end (quote ())))))",
    # (cons #t y) is r, of whose type y is known to be nothing that was raised.
    "settle-guard": """(lambda (r)
        (if (car r)
            (let ((y (cdr r)))
              (if (raised? y)
                  (make-failed (raised-field-1 y))
                  (if (shift-request? y) (no-reset (quote shift) (quote reset)) (cons #t y))))
            (make-failed (cdr r))))""",
    "settle-caught": "(lambda (r) (if (car r) r (make-failed (cdr r))))",
    # A shift in the body goes to the reset around the guard. Where its continuation is called, the guard stands around that.
    "finish-guard": """(lambda (k r)
        (if (car r)
            (let ((y (cdr r)))
              (if (raised? y)
                  (k (make-failed (raised-field-1 y)))
                  (if (shift-request? y)
                      (let ((j (shift-request-field-1 y)))
                        (make-shift-request
                          (lambda (v) (finish-guard k (catch-errors (lambda (nothing) (j v)))))
                          (shift-request-field-2 y)))
                      (k (cons #t y)))))
            (k (make-failed (cdr r)))))""",
}


def _catching(name: str, row: str, kept: str) -> dict[str, str]:
    """The texts of the code `name`, which catches by a row, and in whose reverse mode `kept` is evaluated when an error has been
    caught."""
    return {
        "": f"(lambda (f) (if (runs-compiled? f) (cons #t (f (quote ()))) ({row} f)))",
        "stepping": f"(lambda (k n f) (k n (in-one-step (lambda (nothing) ({name} f)))))",
        "tail": f"""(lambda (k f)
             (let ((r ({name} (lambda (nothing) ((tail-entry f) identity (quote ()))))))
               (if (car r)
                   (let* ((both (cdr r)) (back (cdr both)))
                     (cons (cons #t (car both)) (lambda (s) (k zero (car (back (cdr s)))))))
                   (let ((kept {kept}))
                     (cons r (lambda (s) (k zero (no-derivative (cdr r) (cdr s)))))))))""",
        "forward": f"""(lambda (d df f)
             (let ((r ({name} (lambda (nothing) ((forward-entry f) df zero (quote ()))))))
               (if (car r)
                   (let ((both (cdr r))) (cons (cons #t (car both)) (cons zero (cdr both))))
                   (cons r (cons zero (no-derivative (cdr r) 1))))))""",
    }


def _attempting(name: str, row: str, by_control: str) -> dict[str, str]:
    """The texts of the code `name`, which catches by a row, and is `by_control` where it is compiled or differentiated."""
    return {
        "": f"(lambda (f) (if (runs-compiled? f) ({by_control} f) (settle-caught ({row} f))))",
        "control": """(lambda (k f)
                 (if (under-prompt? f) (framed-guard k f) (finish-guard k (run-guarded f))))""",
        "stepping": f"(lambda (k n f) (k n (in-one-step (lambda (nothing) ({name} f)))))",
        "tail": f"(lambda (k f) ((tail-entry {by_control}) k f))",
        "forward": f"(lambda (d df f) ((forward-entry {by_control}) zero df f))",
    }


CODES: dict[str, SystemCode] = {
    "%attempt": (Role.PROCEDURE, "", _attempting("%attempt", "catch", "attempt-by-control")),
    # For `%wind`, which raises an error again (continuations.py): it is no step.
    "attempt-to-pass": (Role.RULE, "", _attempting("attempt-to-pass", "intercept", "pass-by-control")),
    # %attempt of a procedure that raises no value with a derivative; and for `%wind`.
    "catch-errors": (Role.RULE, "", _catching("catch-errors", "catch", "(no-lost-changes (cdr r))")),
    "catch-to-pass": (Role.RULE, "", _catching("catch-to-pass", "intercept", "zero")),
    # What was raised, on its way. It is a code of its own for its derivative.
    "passed": (
        Role.RULE,
        "",
        {
            "": "(lambda (raised) raised)",
            "tail": """(lambda (k raised)
                 (let ((kept (no-lost-changes raised))) (cons raised (lambda (s) (k zero s)))))""",
        },
    ),
    # The continuation of a guard's body.
    "guard-end": (Role.RULE, "", {"": "(lambda (x) x)"}),
    # What `raise` returns to its guard. It is never applied.
    "raised": (Role.PROCEDURE, "v", {"": "(lambda (x) x)"}),
    # What %attempt returns of what was raised. It is never applied.
    "failed": (Role.PROCEDURE, "v", {"": "(lambda (x) x)"}),
    "%capture": (Role.PROCEDURE, "", {"": "(lambda (f) (capture f))"}),
    "%error-told": (Role.PROCEDURE, "", {"": "(lambda (e) (error-told e))"}),
    "%error-irritants": (Role.PROCEDURE, "", {"": "(lambda (e) (error-irritants e))"}),
    # What the continuation of a call raises, to end that. No `guard` takes it, but `with-cleanup` does. `own` is a cell.
    "escape": (Role.PROCEDURE, "own v", {"": "(lambda (x) x)"}),
    # The cell of a handler that may return; compiled code, in which none may, needs none.
    "%handler-cell": (
        Role.RULE,
        "",
        {"": "(lambda (handler) (if (runs-compiled? handler) #f (ref handler)))"},
    ),
    **{f"%{name}": (Role.RULE, "", {"": f"(lambda (x) ({name} x))"}) for name in HANDLING},
    "%exit-at-once": (Role.PROCEDURE, "", {"": "(lambda (n) (exit-at-once n))"}),
    # A program that ends itself raises an escape, too: `own` is the symbol exit, v the status.
    "%escape-of": (Role.PROCEDURE, "", {"": "(lambda (own v) (make-escape own v))"}),
    "%escape?": (Role.PROCEDURE, "", {"": "(lambda (x) (escape? x))"}),
    "%escape-own": (Role.PROCEDURE, "", {"": "(lambda (x) (escape-field-1 x))"}),
    "%escape-value": (Role.PROCEDURE, "", {"": "(lambda (x) (escape-field-2 x))"}),
    # (raised . error) of the result of %attempt, or #f.
    "%failure": (Role.PROCEDURE, "", {"": "(lambda (r) (if (failed? r) (failed-field-1 r) #f))"}),
    "%raise": (
        Role.PROCEDURE,
        "",
        {
            "": "(lambda (v) (throw v #f))",
            "control": "(lambda (k v) (raise-in-control k v))",
        },
    ),
    # What no clause of a guard takes.
    "%raise-again": (
        Role.PROCEDURE,
        "",
        {
            "": "(lambda (v error) (throw v error))",
            "control": "(lambda (k v error) (make-raised (cons v error)))",
        },
    ),
    # (f), with the handler in a cell installed; and (f) in a guard that `raise-continuable` is to see through. The guard around
    # puts back what handled before; a continuation enters both again.
    "%under-handler": (
        Role.RULE,
        "",
        {
            "": """(lambda (own f)
                 (let* ((done (install-handler own)) (y (f (quote ()))) (done (uninstall-handler (quote ())))) y))""",
            "control": """(lambda (k own f)
                 (begin-wind k (lambda (nothing) (install-handler own)) f (lambda (visit) (uninstall-handler (quote ())))))""",
        },
    ),
    "%seen-through": (
        Role.RULE,
        "",
        {
            "": "(lambda (f) (let ((done (uninstall-handler (quote ())))) (f (quote ()))))",
            "control": """(lambda (k f)
                 (begin-wind k (lambda (nothing) (uninstall-handler (quote ()))) f (lambda (visit) visit)))""",
        },
    ),
    **{name: (Role.RULE, "", {"": text}) for name, text in _RULES.items()},
}


def catch(machine: Evaluator, f: Value) -> Value:
    """For a guard, which takes what `raise-continuable` raises in f."""
    handlers = machine.handlers
    machine.handlers = (None, handlers)
    result = intercept(machine, f)
    machine.handlers = handlers
    return result


def intercept(machine: Evaluator, f: Value) -> Value:
    value, error = machine.attempt(f)
    if error is None:
        return (TRUE, value)
    if isinstance(error, Thrown) and error.held is not None:
        return (FALSE, (error.held, Opaque(error)))
    if isinstance(error, Exited):
        return (FALSE, ((machine.codes["escape"], EXIT, float(error.status)), Opaque(error)))
    return (FALSE, (Opaque(error), Opaque(error)))


def _capture(machine: Evaluator, f: Value) -> Value:
    """What `intercept` returns of f, and what f writes, which does not go to the session's output."""
    pieces: list[str] = []
    write = machine.write

    def keep(text: str) -> None:  # of Python, as explain.py looks for the code of what writes
        pieces.append(text)

    machine.write = keep  # type: ignore[method-assign]
    try:
        result = intercept(machine, f)
    finally:
        machine.write = write  # type: ignore[method-assign]
    expect_text(*pieces)
    return (result, String("".join(pieces)))


CALLING[_capture.__code__] = "`with-output-to-string`", "`with-output-to-string`"


def _python_exception(machine: Evaluator, v: Value, parts: tuple[Value, ...]) -> VladError:
    """The exception that a translated Python function raises."""
    own, message, arguments, fields = parts
    words, error = message, None
    if is_procedure(words):
        words, error = machine.attempt(words)
    if error is not None:
        return error
    given = [machine.outward(one) for one in (arguments, fields)]
    made: Thrown = import_safely("vlad.data.raised").python_exception(own.name, look(words).text, *given)
    made.held = v
    return made


def _throw(machine: Evaluator, v: Value, error: Value) -> Value:
    raised = error if type(error) is Opaque else v
    if type(raised) is Opaque and isinstance(raised.object, VladError):
        found = raised.object
        if isinstance(found, Thrown) and found.find_place is not None:
            found.find_place(found)
            found.find_place = None
        raise found
    v = look(v)
    if type(v) is tuple and v and v[0] is machine.codes["escape"]:
        if v[1] is EXIT:
            raise Exited.of(int(look(v[2])))
        leaving = RaisedValue("raised", v, machine.outward)
        leaving.message = LEAVING
        leaving.hint = "Python functions that catch it should raise it again"
        raise leaving
    parts = exception_parts(v)
    if parts is not None:
        raise _python_exception(machine, v, parts)
    raise RaisedValue("raised", v, machine.outward)


# Handlers that may return: `with-exception-handler` makes a cell for each, which has the handler's derivatives. It is installed
# within the guard by which it takes what `raise` raises, so a handler that returns runs outside of that guard, too.


def _install_handler(machine: Evaluator, cell: Value) -> Value:
    machine.handlers = (cell, machine.handlers)
    return UNSPECIFIED


def _uninstall_handler(machine: Evaluator, nothing: Value) -> Value:
    assert machine.handlers is not None
    machine.handlers = machine.handlers[1]
    return UNSPECIFIED


def _current_handler(machine: Evaluator, nothing: Value) -> Value:
    return FALSE if machine.handlers is None or machine.handlers[0] is None else machine.handlers[0]


def _leave_handler(machine: Evaluator, cell: Value) -> Value:
    """What is outside of a handler and its guard handles from here on. Returns what did so far, for `reenter-handler`."""
    handlers = machine.handlers
    around = handlers
    while around is not None and around[0] is not cell:
        around = around[1]
    while around is not None and around[0] is not None:
        around = around[1]
    machine.handlers = None if around is None else around[1]
    return Opaque(handlers)


def _reenter_handler(machine: Evaluator, visit: Value) -> Value:
    machine.handlers = visit.object
    return UNSPECIFIED


def _exit_at_once(n: Value) -> Value:
    raise Exited.of(int(n), at_once=True)


def _abstract_throw(w: AbstractMachine, v: Any, error: Any) -> Any:
    """An error, or the end of the program. (A cell is not compiled, so an escape is one by `exit`.)"""
    return w.each(v, lambda v: _abstract_thrown(w, v))


def _abstract_thrown(w: AbstractMachine, v: Any) -> Any:
    """As the row `error` in compiled code."""
    if v.type.kind == "closure" and v.type.of is w.system("escape"):
        return w.each(w.part(v, 1), lambda status: w.ended(status, False))
    if v.type.kind == "pair" and w.types.canonical(v.type.parts[0]).of is EXCEPTION:
        return abstract_error(w, _told(w, w.part(v, 1)))
    if not w.is_standalone or (w.effect("text", text=RaisedValue.WORDS) and w.recursive(WRITTEN, v)):
        w.raised()
    return None


def _error_of(name: str, x: Value) -> VladError:
    if type(x) is Opaque and isinstance(x.object, VladError):
        return x.object
    raise invalid(name, "an error, as `guard` catches it", x)


def _told(w: AbstractMachine, v: Any) -> Any:
    """What a program that stands alone tells of an exception: its message, its first argument, or else its class."""
    own, rest = w.part(v, 0), w.part(v, 1)
    if rest.type.kind != "pair":
        return own
    message, given = w.part(rest, 0), w.part(rest, 1)
    if message.type.head == "string":
        return message
    if given.type.kind == "pair" and w.part(given, 0).type.kind == "pair":
        first = w.part(w.part(given, 0), 0)
        return first if first.type.head == "string" else own
    return own


def _code(e: Value) -> Value:
    return symbol(_error_of("error-code", e).code)


def _is_refusal(e: Value) -> Value:
    return TRUE if type(e) is Opaque and getattr(e.object, "is_refusal", False) else FALSE


def _message(e: Value) -> Value:
    return String(_error_of("error-message", e).message)


def _told_message(e: Value) -> Value:
    error = _error_of("error-object-message", e)
    return String(error.message) if error.told is None else error.told[0]


def _irritants(e: Value) -> Value:
    error = _error_of("error-object-irritants", e)
    return NIL if error.told is None else error.told[1]


def _place(e: Value) -> Value:
    span = _error_of("error-place", e).span
    return FALSE if span is None else String(str(span))


def _no_derivative(raised: Value, s: Value) -> Value:
    if s is not ZERO and _has_numbers(raised[0]):
        raise VladError(
            "no-derivative", "What is raised inside a derivative has no derivative outside of it",
            hint="put a `guard` into the procedure that is differentiated there, or raise a symbol", irritants=(raised[0],),
        )  # fmt: skip
    return ZERO


def _no_told_derivative(told: Value, s: Value) -> Value:
    if _has_numbers(told) and _has_entries(s):
        raise VladError(
            "no-derivative", "What `error` was given has no derivative",
            hint="`raise` a list or a record in place of `error`: what is raised has the derivative of any other value",
            irritants=(told,),
        )  # fmt: skip
    return ZERO


def _no_lost_changes(raised: Value) -> Value:
    """`raised` is a value and its error, or #f where only a value was raised."""
    error = raised[1]
    if type(error) is Opaque and error.object.has_changed_cells:
        raise VladError(
            "no-derivative", "An error was caught after a cell had been changed: reverse mode has no derivative of that",
            hint="take the derivative in forward mode (`derivative-F`, `jvp`), or `raise` a value", irritants=(raised[0],),
        )  # fmt: skip
    return ZERO


def _has_numbers(value: Value) -> bool:
    """May it have a derivative? Tables are not searched."""
    work = [value]
    while work:
        one = look(work.pop())
        if type(one) in (float, Reference, Table) or (type(one) is Tensor and one.is_real):
            return True
        if type(one) is tuple:
            work += one if len(one) == 2 else one[1 : len(one[0].environment) + 1] if one else ()
    return False


def _has_entries(s: Value) -> bool:
    """Is an entry of a sensitivity not zero? Cells and tables are not searched: they may have one."""
    work = [s]
    while work:
        one = look(work.pop())
        if (type(one) is float and one != 0) or type(one) in (Reference, Table):
            return True
        if type(one) is Tensor and one.is_real and bool((one.array != 0).any()):
            return True
        if type(one) is tuple:
            work += one if len(one) == 2 else one[1 : len(one[0].environment) + 1] if one else ()
    return False


def _is_error(x: Value) -> Value:
    return TRUE if type(x) is Opaque and isinstance(x.object, VladError) else FALSE


def _left_out(w: AbstractMachine, *operands: Any) -> Any:
    """In compiled code no value is an error: where one is raised, tier 0 takes over."""
    w.left_out("catching an error of `error` or of the system is")


def _of_no_error(name: str) -> Any:
    return lambda w, e: w.invalid(name)


def _row(name: str, operands: str, doc: str, value: Any, type: str, **columns: Any) -> Primitive:
    columns = {"abstract": _left_out, "forward": "zero", "reverse": {}, **columns}
    return Primitive(name, operands, doc, value=value, type=type, **columns)


def _handling(name: str, operands: str, doc: str, value: Any, is_compiled: bool = False) -> Primitive:
    """Where no handler may return, as in compiled code, it is nothing to install one."""
    abstract = (
        (lambda w, x: w.unspecified) if is_compiled else (lambda w, x: w.left_out("`raise-continuable` is"))
    )
    return _row(
        name,
        operands,
        doc,
        value,
        "any -> any",
        effect=True,
        hidden=True,
        needs_machine=True,
        abstract=abstract,
    )


def _tagged(tag: str, test: str, making: str) -> list[Primitive]:
    """The test, the constructor and the field of values with a tag that hold one value. `test`, `making`: what they do."""
    return [
        _row(
            f"{tag}?", "x", test, tag_test(tag), "any -> boolean", hidden=True, needs_machine=True, abstract=abstract_test(tag)
        ),
        machine_row(
            f"make-{tag}", "v", making, lambda machine, v: (machine.codes[tag], v, None), type="any -> any", hidden=True,
            forward=f"(make-{tag} dv)", reverse={"v": f"({tag}-field-1 s)"}, abstract=abstract_wrap(tag),
        ),
        *record_fields(tag, 1),
    ]  # fmt: skip


ROWS: list[Primitive] = [
    _row(
        "error?", "x", "Is x an error that `error` or the system raised, and `guard` caught?\n"
        "(guard (e (#t (error? e))) (car 3))  ⇒ #t\n(guard (e (#t (error? e))) (raise 3))  ⇒ #f", _is_error, "any -> boolean",
        abstract=lambda w, x: w.each(x, lambda x: w.truth(False)),
    ),
    _row(
        "python-refusal?", "e", "Is e what a translated function does not do as Python does?", _is_refusal, "any -> boolean",
        hidden=True, abstract=lambda w, x: w.each(x, lambda x: w.truth(False)),
    ),
    _row(
        "error-message", "e", "The message of an error.\n(guard (e (#t (error-message e))) (error \"negative:\" -3))  "
        "⇒ \"negative: -3\"", _message, "any -> string", abstract=_of_no_error("error-message"),
    ),
    _row(
        "error-told", "e", "The message that `error` was given, or else that of the error.", _told_message,
        "any -> any", hidden=True, abstract=_of_no_error("error-object-message"),
        forward="(no-told-derivative r 1)", reverse={"e": "(no-told-derivative r s)"},
    ),
    _row(
        "error-irritants", "e", "The list of what `error` was given besides the message.", _irritants,
        "any -> any", hidden=True, abstract=_of_no_error("error-object-irritants"),
        forward="(no-told-derivative r 1)", reverse={"e": "(no-told-derivative r s)"},
    ),
    _row(
        "error-code", "e", "The kind of an error, a symbol: `vlad doc CODE` explains it. That of `error` is user-error.\n"
        "(guard (e (#t (error-code e))) (car 3))  ⇒ invalid-argument", _code, "any -> symbol",
        abstract=_of_no_error("error-code"),
    ),
    _row(
        "error-place", "e", "The place of an error in the text, as a string; #f if it has none.\n"
        "(guard (e (#t (string? (error-place e)))) (car 3))  ⇒ #t", _place, "any -> any",
        abstract=_of_no_error("error-place"),
    ),
    _row(
        "catch", "f", "(#t . value) of (f), or (#f . (v . error)), for a guard.", catch, "procedure -> pair", effect=True,
        hidden=True, needs_machine=True,
    ),
    _row(
        "intercept", "f", "The same, for what raises the error again.", intercept, "procedure -> pair", effect=True,
        hidden=True, needs_machine=True,
    ),
    _handling("install-handler", "cell", "Installs the handler in a cell, which may return.", _install_handler, True),
    _handling("uninstall-handler", "nothing", "What handled before handles again.", _uninstall_handler, True),
    _handling("current-handler", "nothing", "The cell of the innermost handler; #f if a guard or nothing is.", _current_handler),
    _handling("leave-handler", "cell", "What is outside of a handler handles; returns what did.", _leave_handler),
    _handling("reenter-handler", "visit", "Ends `leave-handler`, which returned `visit`.", _reenter_handler),
    _row(
        "capture", "f", "What `intercept` returns of f, and the text that f writes.", _capture, "procedure -> pair", effect=True,
        hidden=True, needs_machine=True, abstract=lambda w, f: w.left_out("`with-output-to-string` is"),
    ),
    _row(
        "runs-compiled?", "f", "Does this run compiled?", lambda f: FALSE, "procedure -> boolean", hidden=True,
        python="False", abstract=lambda w, f: w.truth(True),
    ),
    _row(
        "throw", "v error", "Raises the error, or v if it is #f.", _throw, "any any -> any", effect=True, hidden=True,
        needs_machine=True, abstract=_abstract_throw,
    ),
    *_tagged("raised", "Does `raise` return x to its guard?", "What `raise` returns to its guard."),
    *_tagged("failed", "Did what led to x, the result of `%attempt`, raise?", "The result of `%attempt` of what raised."),
    _row(
        "exit-at-once", "n", "Ends the program with a status from 0 to 255.", _exit_at_once, "real -> any", effect=True,
        hidden=True, abstract=lambda w, n: w.each(n, lambda n: w.ended(n, True)),
    ),
    _row(
        "escape?", "x", "Did a continuation raise x, to end the call that made it?", tag_test("escape"), "any -> boolean",
        hidden=True, needs_machine=True, abstract=abstract_test("escape"),
    ),
    *record_rows("escape", "own v", "What a continuation raises.", unused=("own",)),
    _row(
        "no-derivative", "raised s", "Zero, if s is or what was raised has none.", _no_derivative, "any any -> any", hidden=True,
        effect=True,
    ),
    _row(
        "no-told-derivative", "told s", "Zero, if s is or what `error` was given has none.",
        _no_told_derivative, "any any -> any", hidden=True, effect=True,
    ),
    _row(
        "no-lost-changes", "raised", "Nothing, if no cell was changed before the error.", _no_lost_changes, "any -> any",
        hidden=True, effect=True,
    ),
]  # fmt: skip

PROCEDURES: dict[str, str] = {
    "raise": """;;; (raise v)
        ;;; Raises any value, which a `guard` around takes. What it catches can be raised again.
        ;;; (guard (e ((symbol? e) (list 'caught e))) (raise 'oops))  ⇒ (caught oops)
        ;;; ((derivative (lambda (x) (guard (y (#t (* y y))) (raise (* 2 x))))) 3)  ⇒ 24
        (lambda (v) (%raise v))""",
}
