"""The debugger of one session: the tracer, the breakpoints and the NaN finder together, and the last error.

In: names of procedures and lines to observe.  Out: lines of a trace, findings, stops. While anything is observed,
all code that the session evaluates is emitted with calls of this instrument, and nothing is compiled to C; otherwise
the session is as without a debugger. Code emitted before is emitted again. Values are unaffected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from vlad.core.names import lambdas_within
from vlad.core.nodes import Lambda
from vlad.data.errors import VladError
from vlad.data.source import Source, in_library
from vlad.data.values import Code, Primitive, Value, is_procedure, look
from vlad.debugging.finite import Finder, Finding
from vlad.debugging.frames import Frame, frames_of
from vlad.debugging.instrumented import Activation, Instrument, Place, line_of
from vlad.debugging.retracing import Failure, reached_by, tail_calls_before
from vlad.debugging.stepping import Stepper, Stop, Watcher
from vlad.debugging.tracing import Tracer
from vlad.evaluate.errors.replay import Beginning, Frames
from vlad.expand.macros import ProcedureSpan
from vlad.messages.hints import names_in
from vlad.messages.spelling import suggestion
from vlad.session.session import Session


class Debugger(Instrument):
    """Observes a session.

    write       called with the tracer's output, a line at a time
    found       called with the NaN finder's findings
    watcher     called when the program stops; its result selects how to continue
    error       the last error, as a Stop, once `keep_errors` was called
    """

    def __init__(
        self,
        session: Session,
        write: Callable[[str], object] = print,
        found: Callable[[Finding], object] = print,
        watcher: Watcher | None = None,
    ) -> None:
        super().__init__()
        self.session = session
        self.machine = session.machine
        self.tracer = Tracer(self.machine, write)
        self.stepper = Stepper(self.machine, watcher)
        self.finder = Finder(self.machine, found)
        self.error: Stop | None = None
        self._failure: Failure | None = None  # the same, for retracing.py
        self._finding = self._stepping = False
        self._policy = session.tiers.policy

    # What to observe.

    def trace(self, name: str, later: bool = False) -> None:
        """Show the calls of a procedure and of its derivatives. Raises VladError if the name means something else, or is unbound;
        `later`: a program that is about to run may define it.
        """
        self.tracer.trace(name, self._meant(name, later))
        self._renew()

    def untrace(self, name: str | None = None) -> None:
        """Stop tracing a procedure; without a name, all."""
        self.tracer.untrace(name)
        self._renew()

    def break_at(self, name: str, later: bool = False) -> None:
        """Stop at the entry of a procedure. Raises VladError like `trace`."""
        self.stepper.names[name] = self._meant(name, later)
        self._renew()

    def break_on(self, file: str, line: int) -> None:
        """Stop before the first operation on a line of a file."""
        self.stepper.lines.add(line_of(file, line))
        self._renew()

    def clear(self) -> None:
        """Remove all breakpoints."""
        self.stepper.names.clear()
        self.stepper.lines.clear()
        self._renew()

    @contextmanager
    def stepping(self, lasting: bool = False) -> Iterator[None]:
        """A context in which the next evaluation stops before its first operation. `lasting`: stepping continues from one
        top-level form to the next, until the command "continue".
        """
        self.stepper.armed, self.stepper.lasting, self._stepping = True, lasting, True
        self._renew()
        try:
            yield
        finally:
            self.stepper.armed = self.stepper.lasting = self._stepping = False
            self._renew()

    def find_nan(self, on: bool = True) -> None:
        """Find the first operation whose result is not finite."""
        self._finding = on
        self._renew()

    def keep_errors(self, on: bool = True) -> None:
        """Keep the frames of the last error, as `error`."""
        self.machine.failed = self._failed if on else None
        self.error = self._failure = None
        if on:
            self.session.tiers.keep_effects()

    def close(self) -> None:
        """Stop observing."""
        self.find_nan(False)
        self.untrace()
        self.clear()
        self.keep_errors(False)

    def _meant(self, name: str, later: bool) -> Code | None:
        """The code of the procedure bound to a name; None if no global has the name, so that inner procedures may."""
        if name not in self.session:
            if not later:
                self._expect_written(name)
            return None
        value = look(self.session.module.cell(name).value)
        if later and not (is_procedure(value) and self.machine.system.origin(value[0].base) is None):
            return None
        if not is_procedure(value):
            raise VladError("not-a-procedure", f"{name} is no procedure", irritants=(value,))
        code: Code = value[0].base
        if self.machine.system.origin(code) is not None:
            hint = "a procedure that is written in the language, in your program or in the library, can be watched"
            raise VladError(
                "not-to-be-watched", f"{name} is built in, or what J made of a procedure", hint=hint
            )
        return code

    def _expect_written(self, name: str) -> None:
        """Raise VladError if a name does not occur in any text of the program's procedures."""
        own = [one for one in self._procedures() if one.span is not None and not in_library(one.span)]
        texts = {one.span.source.text for one in own if one.span is not None}
        written = {word for text in texts for word in names_in(text)}
        if name not in written:
            hint = suggestion(name, self.session.known_names() | _names_within(own)) or "define it first"
            raise VladError("unbound-variable", f"There is no procedure {name}", hint=hint)

    def _procedures(self) -> Iterator[Lambda]:
        """The procedures that the program's globals hold."""
        for module in self.session.modules():
            for cell in list(module.cells.values()):
                value = look(getattr(cell, "value", None))
                if is_procedure(value):
                    yield self.machine.core_of(value[0].base)

    def _renew(self) -> None:
        """Let the machine emit code with the calls that the instrument needs, or plain code if it needs none."""
        steps = bool(self.stepper.names or self.stepper.lines or self._stepping)
        wanted = (steps or bool(self.tracer.names), steps, self._finding)
        if wanted == (self.follows, self.steps, self.watches):
            return
        if self.machine.instrument not in (None, self):
            raise VladError(
                "already-watched", "The session is watched by another debugger", hint="close that one"
            )
        with self.session.limited(None):  # while no other thread evaluates
            self.follows, self.steps, self.watches = wanted
            tiers = self.session.tiers
            if self.machine.instrument is None:
                self._policy = tiers.policy
            self.machine.instrument = self if any(wanted) else None
            tiers.policy = "evaluate" if any(wanted) else self._policy
            tiers.forget()
            self.machine.emit_again()

    # What instrumented code calls.

    def begin(self, beginning: tuple[Value, Value] | None) -> None:
        super().begin(beginning)
        self.tracer.begin()
        self.stepper.begin()
        self.finder.begin(beginning)

    def pending(self) -> tuple[Any, ...]:
        return *super().pending(), self.tracer.level, self.tracer.owed

    def caught(self, pending: tuple[Any, ...]) -> None:
        *own, self.tracer.level, self.tracer.owed = pending
        super().caught(tuple(own))

    def enter(self, code: Code, closure: Value, operands: tuple[Value, ...]) -> Activation:
        activation = super().enter(code, closure, operands)
        self.tracer.enter(activation, operands)
        self.stepper.enter(activation)
        return activation

    def at(self, activation: Activation, place: Place) -> None:
        self.depth = activation.depth
        self.stepper.at(activation, place)

    def tail(self, activation: Activation, place: Place | None) -> None:
        super().tail(activation, place)
        self.tracer.tail(activation)

    def leave(self, activation: Activation, value: Value) -> Value:
        self.depth = activation.depth - 1
        self.tracer.leave(activation, value)
        self.stepper.leave(activation, value)
        return value

    def observed(self, place: Place, row: Primitive, rule: Callable[..., Value]) -> Callable[..., Value]:
        return self.finder.observed(place, row, rule)

    def observed_part(self, place: Place, part: Callable[[Value], Value]) -> Callable[[Value], Value]:
        return self.finder.observed_part(place, part)

    # Inspection.

    def _failed(self, error: VladError, frames: Frames, beginning: Beginning | None) -> None:
        """Called when an error leaves an evaluation, or several, if Python called back on behalf of the program."""
        if self._is_resting:
            return
        found = frames_of(self.machine, frames, library=True)
        before = reached_by(self.session, frames)
        if self.error is not None and self.error.error is error:
            found, before = self.error.frames + found, self.error.before or before
        else:
            self._failure = None
        self.error = Stop("error", error.span, found, before=before, error=error)
        if beginning is not None:
            self._failure = Failure(error, beginning, self.session.tiers.words_read())

    def retrace(self, seconds: float | None = None) -> bool:
        """Find the tail calls that led to the last error, and set `error.before`, by running its evaluation
        again, for at most `seconds`. Returns whether they are known now.
        """
        failure, stop = self._failure, self.error
        if failure is None or stop is None:
            return False
        found = stop.before or tail_calls_before(self.session, failure, seconds)
        if found is not None:
            stop.before = found
            self._failure = None  # it holds references to the evaluation's values
        return found is not None

    @property
    def _is_resting(self) -> bool:
        return self.stepper.resting

    @contextmanager
    def resting(self) -> Iterator[None]:
        """A context in which evaluations are not observed."""
        before = self.stepper.resting
        depth = self.depth
        self.stepper.resting = self.tracer.resting = self.finder.resting = True
        try:
            yield
        finally:
            self.stepper.resting = self.tracer.resting = self.finder.resting = before
            self.depth = depth

    def evaluate(self, text: str, frame: Frame | None = None) -> Value:
        """The value of an expression, with the variables of a frame in scope. Raises VladError."""
        with self.resting():
            variables = {} if frame is None else frame.variables()
            return self.session.value_of(Source("<debugger>", text), variables)


def _names_within(procedures: Iterable[Lambda]) -> set[str]:
    """The names of procedures and of those inside."""
    every = [*procedures]
    for one in every:  # grows during the loop
        every += lambdas_within(one.body)
    return {one.span.name for one in every if isinstance(one.span, ProcedureSpan)}
