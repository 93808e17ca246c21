"""Stopping a running program: breakpoints, steps, and the state at a stop.

In: the calls of instrumented code.  Out: `Stop`s, passed to a watcher, whose result selects how to continue. A stop is
in the midst of the evaluation: its frames are those of Python's stack.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from vlad.data.errors import Abandoned, VladError
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
    """A stop of the program.

    reason      "breakpoint", "step", "out" (of a procedure, which returned `value`) or "error"
    span        the place of the next operation
    phase       what is computed there: a primal, or a part of a derivative
    value       the result of the previous operation, or of the procedure that was left; None for nothing
    before      the places of the tail calls that led here, whose frames are gone, the latest last
    frames      the active procedures, innermost first
    error       the error, if the reason is one
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
    """The receiver of stops."""

    def stopped(self, stop: Stop) -> str:
        """How to continue: "step" to the next operation, "over" the calls of this one, "out" of the procedure, "continue", or
        "quit", which ends the evaluation with an error.
        """


class Stepper:
    """names   of procedures that have a breakpoint, each with its code, or None (as in tracing.Tracer)
    lines   lines that have one
    mode    "" or the action that is being carried out, begun in `base`
    armed   whether the next evaluation is stepped through from its beginning
    lasting whether a step continues in the next evaluation
    """

    def __init__(self, machine: Machine, watcher: Watcher | None = None) -> None:
        self.machine = machine
        self.watcher = watcher
        self.names: dict[str, Code | None] = {}
        self.lines: set[tuple[str, int]] = set()
        self.mode = ""
        self.armed = self.lasting = False
        self.base: Activation | None = None
        self.result: Value = None
        self.seen: set[str] = set()  # the names that were called
        self.resting = False

    def begin(self) -> None:
        self.base = None
        self.result = None
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
        self.armed = (
            False  # not earlier: reading and expanding a text are evaluations, too, without operations
        )
        if self.mode and self.is_due(activation):
            reason = "out" if self.mode == "out" else "step"
            self.stop(reason, activation, place)
        elif place.line in self.lines and activation.line != place.line:
            self.stop("breakpoint", activation, place)
        activation.line = place.line

    def leave(self, activation: Activation, value: Value) -> None:
        if self.mode:
            self.result = value

    def is_due(self, activation: Activation) -> bool:
        base = self.base
        if self.mode == "step" or base is None:
            return True
        if activation.depth < base.depth:
            return True
        # a tail call: another iteration of a loop belongs to the same procedure
        same = activation is base or activation.code is base.code
        return self.mode == "over" and activation.depth == base.depth and same

    def stop(self, reason: str, activation: Activation, place: Place) -> None:
        if self.watcher is None:
            return
        active = active_frames(sys._getframe(2))
        left = self.base is not None and activation.depth < self.base.depth  # the one of the previous stop
        stop = Stop(
            reason,
            place.span,
            frames_of(self.machine, active, library=True),
            phase=None if place.variable is None else phase_of(self.machine, place.code, place.variable),
            value=self.result if left else activation.value,
            before=activation.before,
        )
        self.mode, self.base, self.result = "", activation, None
        self.resting = True
        try:
            action = self.watcher.stopped(stop)
        finally:
            self.resting = False
        if action not in ACTIONS:
            raise ValueError(f"an action is one of {', '.join(ACTIONS)}; not {action!r}")
        if action == "quit":
            raise Abandoned("abandoned", "The evaluation was ended in the debugger")
        self.mode = "" if action == "continue" else action
