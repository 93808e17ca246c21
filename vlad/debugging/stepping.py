"""Standing still in a running program: breakpoints, steps, and what one can see there.

In: the calls of instrumented code.  Out: `Stop`s, handed to whoever looks at them; what that answers says how to go on. A stop is
in the midst of the evaluation: its frames are those of Python's stack.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from vlad.data.errors import VladError
from vlad.data.source import Span
from vlad.data.values import Code, Value
from vlad.debugging.frames import Frame, active_frames, frames_of
from vlad.debugging.instrumented import Activation, Place
from vlad.debugging.origins import Phase, phase_of
from vlad.debugging.tracing import names_of

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

ACTIONS = ("step", "over", "out", "continue", "quit")


class Stop:
    """The program stands still.

    reason      "breakpoint", "step", "out" (of a procedure, which answered `value`) or "error"
    span        the place that is next
    phase       what is computed there: a primal, or something of a derivative
    value       what the operation before answered, or the procedure that was left; None for nothing
    before      the places of the tail calls that led here, whose frames are gone, the latest last
    frames      the procedures that are active, innermost first
    error       where it is one
    """

    def __init__(
        self,
        reason: str,
        span: Span | None,
        frames: list[Frame],
        *,
        phase: Phase | None = None,
        value: Value = None,
        before: tuple[Place, ...] = (),
        error: VladError | None = None,
    ) -> None:
        self.reason = reason
        self.span = span
        self.frames = frames
        self.phase = phase
        self.value = value
        self.before = before
        self.error = error


class Watcher(Protocol):
    """Who is told of stops."""

    def stopped(self, stop: Stop) -> str:
        """How to go on: "step" to the next operation, "over" the calls of this one, "out" of the procedure, "continue", or
        "quit", which ends the evaluation with an error."""


class Stepper:
    """
    names   of procedures that have a breakpoint, each with the code that it means, or None (as in tracing.Tracer)
    lines   lines that have one
    mode    "" or the action that is being carried out, begun in `base`
    armed   is the next evaluation to be stepped through from its beginning?
    lasting does a step go on in the evaluation that comes next?
    """

    def __init__(self, machine: Machine, watcher: Watcher | None = None) -> None:
        self.machine = machine
        self.watcher = watcher
        self.names: dict[str, Code | None] = {}
        self.lines: set[tuple[str, int]] = set()
        self.mode = ""
        self.armed = self.lasting = False
        self.base: Activation | None = None
        self.answer: Value = None
        self.seen: set[str] = set()  # of the names, those of which there was a call
        self.resting = False

    def begin(self) -> None:
        self.base = None
        self.answer = None
        self.mode = "step" if self.armed or (self.mode and self.lasting) else ""

    # What instrumented code calls.

    def enter(self, activation: Activation) -> None:
        if not self.names or self.resting:
            return
        code = activation.code
        found = names_of(self.machine, code.base, self.names)
        self.seen |= found
        if found:
            self.stop("breakpoint", activation, Place(code, None, self.machine.core_of(code).span))

    def at(self, activation: Activation, place: Place) -> None:
        if self.resting:
            return
        self.armed = False  # here, for to read and to expand a text are evaluations, too, without operations
        if self.mode and self.is_due(activation):
            reason = "out" if self.mode == "out" else "step"
            self.stop(reason, activation, place)
        elif place.line in self.lines and activation.line != place.line:
            self.stop("breakpoint", activation, place)
        activation.line = place.line

    def leave(self, activation: Activation, value: Value) -> None:
        if self.mode:
            self.answer = value

    def is_due(self, activation: Activation) -> bool:
        base = self.base
        if self.mode == "step" or base is None:
            return True
        if activation.depth < base.depth:
            return True
        # a tail call: another turn of a loop is the same procedure going on
        same = activation is base or activation.code is base.code
        return self.mode == "over" and activation.depth == base.depth and same

    def stop(self, reason: str, activation: Activation, place: Place) -> None:
        if self.watcher is None:
            return
        active = active_frames(sys._getframe(2))
        left = self.base is not None and activation.depth < self.base.depth  # the one where it stood before
        stop = Stop(
            reason,
            place.span,
            frames_of(self.machine, active, library=True),
            phase=None if place.variable is None else phase_of(self.machine, place.code, place.variable),
            value=self.answer if left else activation.value,
            before=activation.before,
        )
        self.mode, self.base, self.answer = "", activation, None
        self.resting = True
        try:
            action = self.watcher.stopped(stop)
        finally:
            self.resting = False
        if action not in ACTIONS:
            raise ValueError(f"an action is one of {', '.join(ACTIONS)}; not {action!r}")
        if action == "quit":
            raise VladError("abandoned", "The evaluation was ended in the debugger")
        self.mode = "" if action == "continue" else action
