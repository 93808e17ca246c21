"""Reverse mode from few snapshots of the running program: the rows, codes and procedures of `checkpointed`.

`(checkpointed f)` is f. Its reverse phase has no tape of the whole run. The forward phase runs the stepping entry of f
(ad/stepping.py), which counts the steps, and keeps nothing. The reverse phase divides the run into segments of equally many
steps, and goes back from one to the one before: it runs f up to the start of the segment, from the last snapshot, and then takes
the reverse derivative of the segment, as a procedure from the state of the program at its start to that at its end. A state is a
closure, so its sensitivity is that of any closure (Siskind & Pearlmutter 2018, Divide-and-conquer checkpointing for arbitrary
programs with no user annotation). Snapshots are where they save the most work (Griewank & Walther 2000, Algorithm 799: Revolve).

All of it is code of the language, so it has derivatives, and is compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vlad.data.errors import VladError, unsuitable
from vlad.data.values import FALSE, TRUE, ZERO, Primitive, Role, SystemCode, Value, is_procedure
from vlad.primitives.references import outside_step
from vlad.primitives.transforms import (
    abstract_entry,
    machine_row,
    record_rows,
)

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine, Evaluator

CODES: dict[str, SystemCode] = {
    "checkpointed": (
        Role.PROCEDURE,
        "f snapshots segments",
        {
            "": "(lambda (x) (f x))",
            "control": """(lambda (k x)
                 (continue-checkpointed k
                   (apart (lambda (nothing) ((make-checkpointed (control-entry f) snapshots segments) guard-end x)))))""",
            "tail": """(lambda (k x)
                 (let* ((start (make-start f x))
                        (end (apart (lambda (nothing) (start 9007199254740992))))
                        (steps (- 9007199254740992 (finished-field-1 end)))
                        (y (finished-field-2 end)))
                   (cons y (lambda (s)
                     (let ((d (apart
                                (lambda (nothing)
                                  (reverse-run (make-paused start) steps snapshots segments (make-finished 0 s))))))
                       (k (make-checkpointed (start-field-1 d) zero zero) (start-field-2 d)))))))""",
        },
    ),
    # A run that is to begin.
    "start": (Role.PROCEDURE, "f x", {"": "(lambda (n) ((stepping-entry f) finish n x))"}),
    # The continuation of a run.
    "finish": (Role.PROCEDURE, "", {"": "(lambda (n y) (make-finished n y))"}),
    # The value of (f), as a part of one step: what catches errors cannot pause.
    "in-one-step": (
        Role.RULE,
        "",
        {"": "(lambda (f) (let* ((begun (begin-step (quote ()))) (y (f)) (end (end-step begun))) y))"},
    ),
    "%one-step": (
        Role.RULE,
        "",
        {
            "": "(lambda (f) (f))",
            "control": "(lambda (k f) ((control-entry f) k (quote ())))",
            "stepping": "(lambda (k n f) (k n (in-one-step f)))",
        },
    ),
    # The states of a run: of one that goes on with (resume n); of one that has ended, with n steps left. Neither is applied.
    "paused": (Role.PROCEDURE, "resume", {"": "(lambda (x) x)"}),
    "finished": (Role.PROCEDURE, "n y", {"": "(lambda (x) x)"}),
}

SYSTEM_PROCEDURES: dict[str, str] = {
    # What follows a checkpointed procedure in a reset. Where the continuation of a shift in it is called, that follows, too.
    "continue-checkpointed": """(lambda (k r)
        (if (shift-request? r)
            (let ((j (shift-request-field-1 r)))
              (make-shift-request
                (lambda (v) (continue-checkpointed k (apart (lambda (nothing) (j v)))))
                (shift-request-field-2 r)))
            (if (raised? r) r (k r))))""",
    # From state z, n steps.
    "advance": "(lambda (z n) ((paused-field-1 z) n))",
    # The sensitivity of the start of a run, by that of its end.
    "reverse-run": """(lambda (start steps snapshots segments s)
        (let* ((size (max 1 (ceiling (/ steps (if segments segments (segments-of steps))))))
               (count (max 1 (ceiling (/ steps size)))))
          (paused-field-1 (reverse-segments start count size (if snapshots snapshots (snapshots-of count)) s))))""",
    # The sensitivity of z, by that of the state `count` segments later, with so many snapshots, of which z is one.
    "reverse-segments": """(lambda (z count size snapshots s)
        (if (= count 1)
            (car (cdr ((cdr ((tail-entry advance) identity z size)) s)))
            (let* ((first (first-part count snapshots 0 1))
                   (later (advance z (* first size))))
              (reverse-segments z first size snapshots
                (reverse-segments later (- count first) size (max 1 (- snapshots 1)) s)))))""",
    # Of `count` segments with that many snapshots: how many to the next snapshot. `reach` is the number of segments that can be
    # reversed so that none is run more than `runs` times.
    "first-part": """(lambda (count snapshots runs reach)
        (if (< reach count)
            (first-part count snapshots (+ runs 1) (/ (* reach (+ snapshots (+ runs 1))) (+ runs 1)))
            (let* ((once-less (/ (* reach runs) (+ snapshots runs)))
                   (twice-less (/ (* once-less (- runs 1)) (max 1 (+ snapshots (- runs 1)))))
                   (with-less (/ (* reach snapshots) (+ snapshots runs))))
              (max 1 (max twice-less (- count with-less))))))""",
    "segments-of": "(lambda (steps) (max 1 (ceiling (/ steps 1000))))",
    "snapshots-of": "(lambda (count) (ceiling (* 2 (/ (log (+ 1 count)) (log 2)))))",
}


def _checkpointed(machine: Evaluator, f: Value, snapshots: Value, segments: Value) -> Value:
    wrong = [f] if not is_procedure(f) else [count for count in (snapshots, segments) if not _is_count(count)]
    if wrong:
        hint = "(checkpointed f #:snapshots k #:segments m): a procedure, and whole numbers from 1 on"
        raise unsuitable("checkpointed", hint, wrong)
    return (machine.codes["checkpointed"], f, snapshots, segments)


def _is_count(x: Value) -> bool:
    return x is FALSE or (type(x) is float and x >= 1 and x.is_integer())


def _abstract_checkpointed(w: AbstractMachine, f: Any, snapshots: Any, segments: Any) -> Any:
    for option in (snapshots, segments):
        type_ = option.type
        is_count = _is_count(type_.of) if type_.kind == "constant" else type_.head == "real"
        if not is_count:
            return w.invalid("checkpointed")
    if w.types.canonical(f.type).kind != "closure":
        return w.invalid("checkpointed")
    return w.closure(w.system("checkpointed"), [f, snapshots, segments])


def _refuse_step(is_of_cell: Value) -> Value:
    if is_of_cell is TRUE:
        raise outside_step(ZERO)
    raise VladError(
        "cannot-checkpoint", "A checkpointed procedure reads its input", name="checkpointed",
        hint="its reverse mode runs parts of it again: call what does that outside of `checkpointed`",
    )  # fmt: skip


def _stepping_entry(machine: Evaluator, f: Value) -> Value:
    return machine.stepping_closure(f)


def _row(name: str, operands: str, doc: str, value: Any, **columns: Any) -> Primitive:
    columns = {"forward": "zero", "reverse": {}, "hidden": True, **columns}
    return machine_row(name, operands, doc, value, **columns)


ROWS: list[Primitive] = [
    machine_row(
        "checkpointed", "f snapshots segments",
        "f, whose reverse mode needs little memory: it keeps few states of the running program, and computes again what is "
        "between them. #:snapshots is the number of states, #:segments that of the parts that are differentiated one by one.\n"
        "((gradient (checkpointed (lambda (x) (let loop ((x x) (n 0)) (if (= n 100) x (loop (sin x) (+ n 1))))))) 0)  ⇒ 1",
        _checkpointed, type="procedure any any -> procedure", keywords={"snapshots": FALSE, "segments": FALSE},
        forward="(make-checkpointed df dsnapshots dsegments)", reverse={"f": "(checkpointed-field-1 s)"},
        abstract=_abstract_checkpointed,
    ),
    _row(
        "stepping-entry", "f", "f as (k . (n . x)) to the state after n steps, or what (k n y) returns.", _stepping_entry,
        type="procedure -> procedure", forward="df", reverse={"f": "s"}, abstract=abstract_entry("stepping"),
    ),
    Primitive(
        "refuse-step", "of-cell", "The error of a step that uses a cell, or reads the input.", value=_refuse_step,
        type="any -> any", effect=True, hidden=True, forward="zero", reverse={},
        abstract=lambda w, is_of_cell: w.fail("A step cannot be repeated"),
    ),
    *record_rows("checkpointed", "f snapshots segments", "f as a checkpointed procedure."),
    *record_rows("start", "f x", "The run of f on x, to begin."),
    *record_rows("paused", "resume", "The state of a run that goes on with (resume n)."),
    *record_rows("finished", "n y", "The state of a run that has ended, with value y.", unused=("n",)),
]  # fmt: skip
