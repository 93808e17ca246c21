"""One session, watched: the tracer, the breakpoints and the NaN finder together, and what is left after an error.

In: what to watch, by the names of procedures and by lines.  Out: lines of a trace, findings, stops. While something is watched,
all that the session evaluates is emitted with calls of this instrument in it, and nothing is compiled to C; while nothing
is, the session is as without a debugger. What was emitted before is emitted again. Values stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vlad.data.errors import VladError
from vlad.data.source import Source, Span, in_library
from vlad.data.values import Code, Primitive, Value, is_procedure, look
from vlad.debugging.finite import Finder, Finding
from vlad.debugging.frames import Frame, frames_of
from vlad.debugging.instrumented import Activation, Instrument, Place, line_of
from vlad.debugging.retracing import Failure, reached_by, tail_calls_before
from vlad.debugging.stepping import Stepper, Stop, Watcher
from vlad.debugging.tracing import Tracer
from vlad.evaluate.errors.replay import Beginning, Frames
from vlad.messages.hints import names_in
from vlad.messages.spelling import suggestion
from vlad.session.session import Session


class Debugger(Instrument):
    """Watches a session.

    write       is given what the tracer shows, a line at a time
    found       is told of what the NaN finder finds
    watcher     is told where the program stands still, and says how it goes on
    error       the last error, as a Stop, once `keep_errors` was asked for
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
        self._failure: Failure | None = None  # the same, as retracing.py wants it
        self._finding = self._stepping = False
        self._policy = session.tiers.policy

    # What to watch.

    def trace(self, name: str, later: bool = False) -> None:
        """Show the calls of a procedure and of its derivatives. Raises VladError where the name means something else, or nothing
        in the program; `later`: a program that is about to run may define it."""
        self.tracer.trace(name, self._meant(name, later))
        self._renew()

    def untrace(self, name: str | None = None) -> None:
        """No longer; without a name, no procedure."""
        self.tracer.untrace(name)
        self._renew()

    def break_at(self, name: str, later: bool = False) -> None:
        """Stand still where a procedure is entered. Raises VladError as `trace` does."""
        self.stepper.names[name] = self._meant(name, later)
        self._renew()

    def break_on(self, file: str, line: int) -> None:
        """Stand still before the first operation on a line of a file."""
        self.stepper.lines.add(line_of(file, line))
        self._renew()

    def clear(self) -> None:
        """No breakpoints any more."""
        self.stepper.names.clear()
        self.stepper.lines.clear()
        self._renew()

    @contextmanager
    def stepping(self, lasting: bool = False) -> Iterator[None]:
        """Inside, the next evaluation stands still before its first operation. `lasting`: steps go on from one top-level form to
        the next one, until the answer is "continue"."""
        self.stepper.armed, self.stepper.lasting, self._stepping = True, lasting, True
        self._renew()
        try:
            yield
        finally:
            self.stepper.armed = self.stepper.lasting = self._stepping = False
            self._renew()

    def find_nan(self, on: bool = True) -> None:
        """Look for the first operation that answers something that is not finite."""
        self._finding = on
        self._renew()

    def keep_errors(self, on: bool = True) -> None:
        """Keep the frames of the last error, which `error` then is."""
        self.machine.failed = self._failed if on else None
        self.error = self._failure = None
        if on:
            self.session.tiers.keep_effects()

    def close(self) -> None:
        """Watch nothing any more."""
        self.find_nan(False)
        self.untrace()
        self.clear()
        self.keep_errors(False)

    def _meant(self, name: str, later: bool) -> Code | None:
        """The code of the procedure that a name means; None where no global has it, so that procedures inside others may."""
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
        """Raises VladError where a name does not stand in any text that the program's procedures are from."""
        texts = {place.source.text for place in self._places() if not in_library(place)}
        written = {word for text in texts for word in names_in(text)}
        if name not in written:
            hint = suggestion(name, self.session.known_names() | written) or "define it first"
            raise VladError("unbound-variable", f"There is no procedure {name}", hint=hint)

    def _places(self) -> Iterator[Span]:
        """Where the procedures are written that the program's globals hold."""
        for module in self.session.modules():
            for cell in list(module.cells.values()):
                value = look(getattr(cell, "value", None))
                place = self.machine.core_of(value[0].base).span if is_procedure(value) else None
                if place is not None:
                    yield place

    def _renew(self) -> None:
        """Let the machine emit what the instrument wants to know; where it wants nothing, what it always emits."""
        steps = bool(self.stepper.names or self.stepper.lines or self._stepping)
        wanted = (steps or bool(self.tracer.names), steps, self._finding)
        if wanted == (self.follows, self.steps, self.watches):
            return
        if self.machine.instrument not in (None, self):
            raise VladError(
                "already-watched", "The session is watched by another debugger", hint="close that one"
            )
        with self.session.limited(None):  # while nothing is evaluated elsewhere
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

    # What is there to see.

    def _failed(self, error: VladError, frames: Frames, beginning: Beginning | None) -> None:
        """An error passes the border of an evaluation; where Python called on behalf of the program, of several."""
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
        """Find out by which tail calls the last error was reached, which `error.before` then tells, by running its evaluation
        once more, for no longer than so many seconds. Is it known now?"""
        failure, stop = self._failure, self.error
        if failure is None or stop is None:
            return False
        found = stop.before or tail_calls_before(self.session, failure, seconds)
        if found is not None:
            stop.before = found
            self._failure = None  # it holds what the evaluation held
        return found is not None

    @property
    def _is_resting(self) -> bool:
        return self.stepper.resting

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Inside, nothing that is evaluated is watched."""
        before = self.stepper.resting
        depth = self.depth
        self.stepper.resting = self.tracer.resting = self.finder.resting = True
        try:
            yield
        finally:
            self.stepper.resting = self.tracer.resting = self.finder.resting = before
            self.depth = depth

    def evaluate(self, text: str, frame: Frame | None = None) -> Value:
        """The value of an expression, among the variables of a frame. Raises VladError."""
        with self.resting():
            variables = {} if frame is None else frame.variables()
            return self.session.value_of(Source("<debugger>", text), variables)
