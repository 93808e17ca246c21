"""Continuations of `call/cc`, which may be called again: the rows and codes by which a call from outside is a prompt.

A call from outside that may capture such a continuation (evaluate/prompts.py) runs the control entry of its procedure. There the
continuation is k, up to the nearest reset, guard or wind, and what is around that: the machine's list of *frames*, the innermost
first, whose last is the prompt. Each of the three enters a frame of its own, which holds what it takes to run something in it
again. So `call/cc` keeps k and the frames, and unwinds nothing.

A call of a continuation from where it was made is a call of k. From elsewhere it is a jump: an escape, which goes outward through
guards and past winds, whose `after` is called, up to the innermost frame that both have in common. There the frames that are
inside of that one are entered again, the outermost first, and then k is called. Frames that a jump enters again are the same
*activation*. Where a continuation of `shift` enters frames again, that is another one, of the same *origin*. A frame of that
origin is common to both, too, as the reset of `shift` is where it is a prompt (Flatt, Yu, Findler & Felleisen 2007, Adding
delimited and composable control to a production programming environment), unless the one that was captured still runs.

Frames are for code that runs by control entries only. What runs as it is, such as derivatives and what rows call, has none that
it belongs to: a reset there hides the frames. A continuation that is made there ends the call that made it, and no more. So it is
in derivatives, whose texts are given below, and in compiled code, which has no frames.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vlad.data.errors import EndedContinuation
from vlad.data.values import (
    FALSE,
    TRUE,
    UNSPECIFIED,
    Opaque,
    Primitive,
    Role,
    SystemCode,
    Value,
    list_of,
    look,
    symbol,
)
from vlad.primitives.raising import catch, intercept
from vlad.primitives.transforms import machine_row

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine, Evaluator

CAPTURING = frozenset(["call-with-current-continuation", "call/cc"])  # procedures of the library
CONTINUATION = "continuation-of-call/cc"
RAISING, BEGINNING = "raise-in-control", "begin-capture"
TAKING = frozenset([RAISING, BEGINNING])  # codes that may raise an error, and take a continuation as they are


class Activation:
    """What runs in a frame, from where that was first entered: how often is it on the stack?"""

    __slots__ = ("running",)

    def __init__(self) -> None:
        self.running = 0


class Frame:
    """What is around code that runs by control entries: a reset, a guard or a wind, with the operands of what runs code in it
    again; or the prompt, which has none.
    """

    __slots__ = ("kind", "parts", "outer", "origin", "activation", "is_active", "stand_in")

    def __init__(
        self, kind: str, parts: Value, outer: Frame | None, origin: object, activation: Activation
    ) -> None:
        self.kind = symbol(kind)
        self.parts = parts
        self.outer = outer
        self.origin = origin
        self.activation = activation
        self.is_active = True  # of a prompt: has it not ended?
        self.stand_in: Frame | None = (
            None  # of a prompt that has ended: the one that has run its rest again last
        )

    def standing(self) -> Frame:
        """Of a prompt: the one that has run its rest again last."""
        frame = self
        while frame.stand_in is not None:
            frame = frame.stand_in
        return frame


class Captured:
    """A continuation: k, and the frames around it."""

    __slots__ = ("k", "frame")

    def __init__(self, k: Value, frame: Frame) -> None:
        self.k = k
        self.frame = frame

    def prompt(self) -> Frame:
        frame = self.frame
        while frame.outer is not None:
            frame = frame.outer
        return frame

    def within(self, around: Frame) -> list[Frame] | None:
        """If a jump to this continuation ends in the frame `around`: the frames to enter there, the outermost first."""
        inside, in_another = list[Frame](), None
        frame: Frame | None = self.frame
        is_seen = False
        while frame is not None:
            if frame.activation is around.activation:
                return inside[::-1]
            if frame.origin is around.origin and not is_seen:
                is_seen = True
                if not frame.activation.running:
                    in_another = inside[::-1]
            inside.append(frame)
            frame = frame.outer
        return in_another


def jump_of(machine: Evaluator, raised: Value) -> tuple[Captured, Value] | None:
    """The continuation and the value of a jump; None if what was raised is none."""
    raised = look(raised)
    if type(raised) is tuple and raised and raised[0] is machine.codes["escape"]:
        target = look(raised[1])
        if type(target) is Opaque and isinstance(target.object, Captured):
            return target.object, raised[2]
    return None


def _by_value(name: str, parameters: str, value: str) -> dict[str, str]:
    """The derivatives of the code `name`, which are those of the code `value`."""
    return {
        "tail": f"(lambda (r {parameters}) ((tail-entry {value}) r {parameters}))",
        "forward": f"(lambda (d d-all {parameters}) ((forward-entry {value}) d d-all {parameters}))",
    }


_RULES: dict[str, str] = {
    # (run), without frames: what enters control entries from code that runs as it is.
    "apart": """(lambda (run)
        (let* ((frames (hide-frames (quote ()))) (r (run (quote ()))) (done (show-frames frames))) r))""",
    "framed-reset": """(lambda (k f)
        (run-reset k (make-frame (quote reset) (cons k (quote ())))
          (lambda (nothing) ((control-entry f) identity (quote ())))))""",
    "run-reset": "(lambda (k frame run) (finish-framed-reset k frame (run-in frame run)))",
    "finish-framed-reset": """(lambda (k frame r)
        (if (shift-request? r)
            (run-reset k (frame-like frame (frame-parts frame))
              (lambda (nothing)
                ((control-entry (shift-request-field-2 r)) identity
                  (make-continuation-in-frame (shift-request-field-1 r) frame))))
            (if (raised? r)
                (let ((jump (jump-into frame (car (raised-field-1 r)))))
                  (if jump (run-reset k frame (lambda (nothing) (resume (car jump) (car (cdr jump)) (cdr (cdr jump))))) r))
                (k r))))""",
    "framed-guard": """(lambda (k f)
        (run-guard k (make-frame (quote guard) (cons k (quote ())))
          (lambda (nothing) ((control-entry f) guard-end (quote ())))))""",
    "run-guard": "(lambda (k frame run) (finish-framed-guard k frame (catch-in frame run)))",
    "finish-framed-guard": """(lambda (k frame r)
        (if (car r)
            (let ((y (cdr r)))
              (if (raised? y)
                  (k (make-failed (raised-field-1 y)))
                  (if (shift-request? y)
                      (let ((j (shift-request-field-1 y)))
                        (make-shift-request
                          (lambda (v)
                            (if (under-prompt? v)
                                (run-guard k (frame-like frame (cons k (quote ()))) (lambda (nothing) (j v)))
                                (finish-guard k (catch-errors (lambda (nothing) (j v))))))
                          (shift-request-field-2 y)))
                      (k (cons #t y)))))
            (k (make-failed (cdr r)))))""",
    "framed-wind": """(lambda (k before f after)
        (enter-framed-wind k before after (make-frame (quote wind) (cons k (cons before after)))
          (lambda (nothing) ((control-entry f) guard-end (quote ())))))""",
    "enter-framed-wind": """(lambda (k before after frame run)
        ((control-entry before)
          (lambda (visit) (run-wind k before after frame visit run))
          (quote ())))""",
    "run-wind": """(lambda (k before after frame visit run)
        (finish-framed-wind k before after frame visit (intercept-in frame run)))""",
    "finish-framed-wind": """(lambda (k before after frame visit r)
        (let ((jump (jump-into frame (if (car r) (if (raised? (cdr r)) (car (raised-field-1 (cdr r))) #f) (car (cdr r))))))
          (if jump
              (run-wind k before after frame visit
                (lambda (nothing) (resume (car jump) (car (cdr jump)) (cdr (cdr jump)))))
              ((control-entry after)
                (lambda (done)
                  (if (car r)
                      (let ((y (cdr r)))
                        (if (raised? y)
                            y
                            (if (shift-request? y)
                                (let ((j (shift-request-field-1 y)))
                                  (make-shift-request
                                    (lambda (v)
                                      (if (under-prompt? v)
                                          (enter-framed-wind k before after
                                            (frame-like frame (cons k (cons before after)))
                                            (lambda (nothing) (j v)))
                                          (enter-wind k before (lambda (nothing) (j v)) after)))
                                    (shift-request-field-2 y)))
                                (k y))))
                      (make-raised (passed (cdr r)))))
                visit))))""",
    # (k v) in these frames, the outermost first, within those that are entered.
    "resume": """(lambda (frames k v)
        (if (null? frames)
            (k v)
            (let* ((frame (frame-in (car frames)))
                   (kind (frame-kind frame))
                   (parts (frame-parts frame))
                   (run (lambda (nothing) (resume (cdr frames) k v))))
              (if (eq? kind (quote reset))
                  (run-reset (car parts) frame run)
                  (if (eq? kind (quote guard))
                      (run-guard (car parts) frame run)
                      (enter-framed-wind (car parts) (car (cdr parts)) (cdr (cdr parts)) frame run))))))""",
    "capture-by-escape": "(lambda (k f otherwise) ((control-entry otherwise) k (quote ())))",
    "jump-away": "(lambda (target v) (make-raised (cons (make-escape target v) #f)))",
    "raise-by-value": "(lambda (k v) (make-raised (cons v #f)))",
}

CODES: dict[str, SystemCode] = {
    # The value of (f k); or (otherwise), where k can only be left.
    "%call/cc": (
        Role.RULE,
        "",
        {
            "": "(lambda (f otherwise) (otherwise (quote ())))",
            "control": "(lambda (k f otherwise) (begin-capture k f otherwise))",
            "stepping": "(lambda (k n f otherwise) ((stepping-entry otherwise) k n (quote ())))",
        },
    ),
    BEGINNING: (
        Role.RULE,
        "",
        {
            "": f"""(lambda (k f otherwise)
                 (if (under-prompt? f)
                     ((control-entry f) k (make-{CONTINUATION} (capture-here k)))
                     (capture-by-escape k f otherwise)))""",
            **_by_value(BEGINNING, "k f otherwise", "capture-by-escape"),
        },
    ),
    CONTINUATION: (
        Role.PROCEDURE,
        "target",
        {
            "": "(lambda (v) (throw (make-escape target v) #f))",
            "control": "(lambda (j v) (jump target v))",
        },
    ),
    "jump": (
        Role.RULE,
        "",
        {
            "": "(lambda (target v) (if (is-here? target) ((captured-k target) v) (jump-away target v)))",
            **_by_value("jump", "target v", "jump-away"),
        },
    ),
    # Where nothing has to be differentiated, an exception of Python, which has the place.
    RAISING: (
        Role.RULE,
        "",
        {
            "": "(lambda (k v) (if (under-prompt? v) (throw v #f) (raise-by-value k v)))",
            **_by_value(RAISING, "k v", "raise-by-value"),
        },
    ),
    # As `continuation`, of a reset in a frame.
    "continuation-in-frame": (
        Role.PROCEDURE,
        "k frame",
        {
            "": "(lambda (v) (finish-reset (apart (lambda (nothing) (k v)))))",
            "control": """(lambda (j v)
                 (if (if (identity? j) (is-innermost? frame) #f)
                     (k v)
                     (if (under-prompt? v)
                         (run-reset j (frame-like frame (cons j (quote ()))) (lambda (nothing) (k v)))
                         (continue-reset j (k v)))))""",
        },
    ),
    **{name: (Role.RULE, "", {"": text}) for name, text in _RULES.items()},
}


def _wrapped(frame: Frame) -> Opaque:
    """A wrapper of its own, in less time than the common one: what uses it compares frames."""
    wrapper: Opaque = object.__new__(Opaque)
    wrapper.object = frame
    return wrapper


def _is_under_prompt(machine: Evaluator, x: Value) -> Value:
    return FALSE if machine.frames is None else TRUE


def _hide_frames(machine: Evaluator, nothing: Value) -> Value:
    frames = machine.frames
    if frames is None:
        return FALSE
    machine.frames = None
    return _wrapped(frames)


def _show_frames(machine: Evaluator, frames: Value) -> Value:
    machine.frames = None if frames is FALSE else frames.object
    return UNSPECIFIED


def _in_frame(
    machine: Evaluator, frame: Value, run: Value, call: Callable[[Evaluator, Value], Value]
) -> Value:
    """What `call` returns of `run`, with this frame around."""
    entered: Frame = frame.object
    machine.frames, activation = entered, entered.activation
    activation.running += 1
    try:
        result = call(machine, run)
    finally:
        activation.running -= 1
    machine.frames = entered.outer
    return result


def _run_in(machine: Evaluator, frame: Value, run: Value) -> Value:
    """What (run) returns, with this frame of a reset around. A jump that an exception carries, as code raises it that runs as
    it is, is returned as control entries return it if it ends in this frame.
    """
    entered: Frame = frame.object
    machine.frames, activation = entered, entered.activation
    activation.running += 1
    try:
        result, raised = machine.attempt_but(run, _ends_in, entered)
    finally:
        activation.running -= 1
    machine.frames = entered.outer
    return result if raised is None else (machine.codes["raised"], (raised, FALSE), None)


def _ends_in(machine: Evaluator, frame: Frame, raised: Value) -> bool:
    jump = jump_of(machine, raised)
    return jump is not None and jump[0].within(frame) is not None


def _make_frame(machine: Evaluator, kind: Value, parts: Value) -> Value:
    return _wrapped(Frame(kind.name, parts, machine.frames, object(), Activation()))


def _frame_like(machine: Evaluator, frame: Value, parts: Value) -> Value:
    like = frame.object
    return _wrapped(Frame(like.kind.name, parts, machine.frames, like.origin, Activation()))


def _frame_in(machine: Evaluator, frame: Value) -> Value:
    like, outer = frame.object, machine.frames
    if like.outer is outer:
        return frame
    assert outer is not None
    is_same = like.outer.activation is outer.activation or like.outer.standing() is outer
    activation = like.activation if is_same else Activation()
    return _wrapped(Frame(like.kind.name, like.parts, outer, like.origin, activation))


def _jump_into(machine: Evaluator, frame: Value, raised: Value) -> Value:
    """(frames . (k . v)) of a jump that ends in the frame; #f if what was raised is none."""
    jump = jump_of(machine, raised)
    if jump is None:
        return FALSE
    captured, v = jump
    inside = captured.within(frame.object)
    return FALSE if inside is None else resumed(captured, inside, v)


def resumed(captured: Captured, inside: list[Frame], v: Value) -> Value:
    """What `resume` needs to call a continuation in these frames."""
    return (list_of([_wrapped(frame) for frame in inside]), (captured.k, v))


def _capture(machine: Evaluator, k: Value) -> Value:
    assert machine.frames is not None
    return Opaque(Captured(k, machine.frames))


def _is_here(machine: Evaluator, target: Value) -> Value:
    return TRUE if target.object.frame is machine.frames else FALSE


def _is_innermost(machine: Evaluator, frame: Value) -> Value:
    frames = machine.frames
    return TRUE if frames is None or frames.origin is frame.object.origin else FALSE


def _make_continuation(machine: Evaluator, target: Value) -> Value:
    return (machine.codes[CONTINUATION], target, None)


def _make_framed(machine: Evaluator, k: Value, frame: Value) -> Value:
    return (machine.codes["continuation-in-frame"], k, frame)


def _no_reentry(nothing: Value) -> Value:
    raise EndedContinuation(
        "ended-continuation", "The call that made this continuation has ended, or a `shift` has left it",
        hint="in a derivative, in `checkpointed` and in `with-output-to-string`, a continuation of `call/cc` can only end the "
        "call that made it; one of `shift` can be called again",
    )  # fmt: skip


def _not_compiled(w: AbstractMachine, *operands: Any) -> Any:
    w.left_out("a continuation of `call/cc` is")


def _row(name: str, operands: str, doc: str, value: Any, **columns: Any) -> Primitive:
    type_ = "any " * len(operands.split()) + "-> any"
    columns = {"type": type_, "forward": "zero", "reverse": {}, "abstract": _not_compiled, **columns}
    return machine_row(name, operands, doc, value, hidden=True, **columns)


def _effect(name: str, operands: str, doc: str, value: Any, **columns: Any) -> Primitive:
    return _row(name, operands, doc, value, effect=True, **columns)


ROWS: list[Primitive] = [
    Primitive(
        "no-reentry", "nothing", "The error of a continuation that only ends the call that made it.", value=_no_reentry,
        type="any -> any", forward="zero", reverse={}, hidden=True, effect=True, abstract=_not_compiled,
    ),
    _row(
        "under-prompt?", "x", "Does this run by control entries from a prompt on?", _is_under_prompt, type="any -> boolean",
        abstract=lambda w, x: w.truth(False),
    ),
    _effect(
        "hide-frames", "nothing", "Leaves all frames, which it returns.", _hide_frames, abstract=lambda w, x: w.unspecified,
    ),
    _effect(
        "show-frames", "frames", "Enters the frames that `hide-frames` left.", _show_frames, abstract=lambda w, x: w.unspecified,
    ),
    _effect("run-in", "frame run", "What (run) returns in this frame of a reset; a jump that it raises, as one.", _run_in),
    _effect(
        "catch-in", "frame run", "What `catch` returns of (run), with this frame around.",
        lambda machine, frame, run: _in_frame(machine, frame, run, catch),
    ),
    _effect(
        "intercept-in", "frame run", "What `intercept` does.",
        lambda machine, frame, run: _in_frame(machine, frame, run, intercept),
    ),
    _effect("make-frame", "kind parts", "A frame of a reset, a guard or a wind, in those that are entered.", _make_frame),
    _effect("frame-like", "frame parts", "One of the same kind and origin, in those that are entered.", _frame_like),
    _effect("frame-in", "frame", "The frame, if it is in those that are entered, else one like it.", _frame_in),
    _row("frame-kind", "frame", "Its kind, a symbol.", lambda machine, frame: frame.object.kind),
    _row("frame-parts", "frame", "What it holds.", lambda machine, frame: frame.object.parts),
    _row("jump-into", "frame raised", "(frames . (k . v)) of a jump that ends in this frame; or #f.", _jump_into),
    _effect("capture-here", "k", "The continuation k in the frames that are entered.", _capture),
    _effect("is-here?", "target", "Are its frames those that are entered?", _is_here, type="any -> boolean"),
    _row(
        "is-innermost?", "frame", "Are those that are entered in one of its origin, or none?", _is_innermost,
        type="any -> boolean",
    ),
    _row("captured-k", "target", "The k of `capture-here`.", lambda machine, target: target.object.k),
    _row(f"make-{CONTINUATION}", "target", "A procedure that jumps to `capture-here`.", _make_continuation),
    _row(
        "make-continuation-in-frame", "k frame", "k as a procedure for programs.", _make_framed,
        forward="(make-continuation-in-frame dk dframe)", reverse={"k": "(continuation-in-frame-field-1 s)"},
    ),
    _row(
        "continuation-in-frame-field-1", "b", "A field of its sensitivity.", lambda machine, b: look(b)[1],
        forward="(continuation-in-frame-field-1 db)", reverse={"b": "(make-continuation-in-frame s zero)"},
    ),
]  # fmt: skip
