"""The debugger's text interface: the commands of the prompt and the shell, and their output. Plain text in, plain text out.

Called by the prompt's commands and by `vlad debug`. Each command returns the text to show and raises VladError if its operand
does not exist; the output of programs goes where it always goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vlad.data.errors import VladError
from vlad.data.source import Span, in_stdlib
from vlad.data.values import Value, is_procedure
from vlad.debugging.debugger import Debugger
from vlad.debugging.finite import Finding
from vlad.debugging.frames import Frame, closed_over, shortened
from vlad.debugging.instrumented import MOST_BEFORE, Place
from vlad.debugging.stepping import Stop
from vlad.messages.spelling import did_you_mean, nearest
from vlad.session.session import Session

MOST_FRAMES = 20  # shown at once
HELP = """\
step (s)          on to the next operation, into the procedures that are called
next (n)          on to the next operation of this procedure
out (o)           on to the end of this procedure
continue (c)      on to the next breakpoint
where (w)         the procedures that are active
up (u), down (d)  look at the procedure that called this one, and back
locals (l)        the variables of the procedure, and what they hold
print (p) EXPR    the value of an expression among these variables; EXPR alone, if it is no word of this list
inside EXPR       what a procedure is closed over; of a backpropagator also its procedure, argument and value
break PLACE       a breakpoint: a procedure, or FILE:LINE
clear             no breakpoints any more
quit (q)          end the evaluation; after an error, leave the debugger
help (h)          this"""
GOING_ON = {"step": "step", "next": "over", "out": "out", "continue": "continue", "quit": "quit"}
SHORT = {
    "s": "step", "n": "next", "o": "out", "c": "continue", "w": "where", "u": "up", "d": "down", "l": "locals", "p": "print",
    "q": "quit", "h": "help",
}  # fmt: skip
WORDS = (*SHORT.values(), "inside", "break", "clear")


class Commands:
    """Commands over one session. `read` reads a line from the user ("" at the end of the input), `write` is called with lines."""

    def __init__(self, session: Session, read: Callable[[str], str], write: Callable[[str], object]) -> None:
        self.read = read
        self.write = write
        self.debugger = Debugger(session, write, self._found, self)
        self.debugger.keep_errors()

    def _found(self, finding: Finding) -> None:
        self.write(str(finding))

    # Between evaluations.

    def trace(self, names: str = "", later: bool = False) -> str:
        """`trace NAME ...`: show their calls. Without names: list the traced names. `later`: a program may define them later."""
        for name in names.split():
            self.debugger.trace(name, later)
        traced = ", ".join(self.debugger.tracer.names)
        return f"traced: {traced}" if traced else "nothing is traced"

    def untrace(self, names: str = "") -> str:
        """`untrace NAME ...`, or all of them."""
        for name in names.split():
            self.debugger.untrace(name)
        if not names.split():
            self.debugger.untrace()
        return self.trace()

    def break_at(self, places: str = "", later: bool = False) -> str:
        """`break NAME`, `break FILE:LINE`: stop there. Without a place: list the breakpoints."""
        for place in places.split():
            file, colon, line = place.rpartition(":")
            if colon and line.isdigit():
                self.debugger.break_on(file, int(line))
            else:
                self.debugger.break_at(place, later)
        stepper = self.debugger.stepper
        found = [*stepper.names, *[f"{file}:{line}" for file, line in sorted(stepper.lines)]]
        return f"breakpoints: {', '.join(found)}" if found else "there are no breakpoints"

    def clear(self) -> str:
        """`clear`: remove all breakpoints."""
        self.debugger.clear()
        return self.break_at()

    def nan(self, word: str = "") -> str:
        """`nan on`, `nan off`: find the first operation that returns an infinity or a NaN; without operand, the
        present setting.
        """
        if word not in ("", "on", "off"):
            raise VladError("invalid-argument", f"nan is on or off, not {word}")
        if word:
            self.debugger.find_nan(word == "on")
        return (
            "looking for infinities and NaNs"
            if self.debugger.watches
            else "not looking for infinities and NaNs"
        )

    def unseen(self) -> list[str]:
        """The names to trace or to stop at that were never called, and may be misspelt."""
        tracer, stepper = self.debugger.tracer, self.debugger.stepper
        return sorted({*tracer.names, *stepper.names} - tracer.seen - stepper.seen)

    @contextmanager
    def stepping(self, lasting: bool = False) -> Iterator[None]:
        """A context whose evaluations are stepped through from the beginning."""
        with self.debugger.stepping(lasting):
            yield

    def debug(self) -> str:
        """`debug`: inspect the last error: its frames, their variables."""
        error = self.debugger.error
        if error is None:
            return "there was no error"
        self.stopped(error)
        return ""

    def way(self, error: VladError, seconds: float) -> str:
        """The tail calls that led to an error, if it is the last one, the search takes at most `seconds`,
        and there is more to show than the form that was entered.
        """
        stop = self.debugger.error
        if stop is None or stop.error is not error or not self.debugger.retrace(seconds):
            return ""
        return way_text(stop.before)

    # While a program is stopped.

    def stopped(self, stop: Stop) -> str:
        """Read commands until one continues the program."""
        return _Conversation(self, stop).action()


class _Conversation:
    """The dialogue at one stop. `at`: the selected frame."""

    def __init__(self, commands: Commands, stop: Stop) -> None:
        self.commands = commands
        self.debugger = commands.debugger
        self.stop = stop
        self.at = first_looked_at(stop)

    def action(self) -> str:
        self.commands.write(headline(self.stop))
        while True:
            line = self.commands.read("debug> ")
            said = line.strip().removeprefix(",")  # the prefix of commands at the prompt
            word, _, rest = said.partition(" ")
            word = SHORT.get(word, word)
            if not line or word in GOING_ON:
                action = GOING_ON.get(word, "quit") if line else "quit"
                if self.stop.reason != "error" or action == "quit":
                    return action
                self.commands.write("after an error there is no going on; `quit` leaves the debugger")
            elif word:
                try:
                    self.commands.write(self.execute(word, rest.strip(), said))
                except VladError as error:
                    if error.code == "unbound-variable" and error.name == word:
                        meant = nearest(word, WORDS)
                        error.hint = did_you_mean(meant) if meant else error.hint
                    self.commands.write(str(error))

    def execute(self, word: str, rest: str, line: str) -> str:
        match word:
            case "where":
                if self.stop is self.debugger.error:
                    self.debugger.retrace()
                return where(self.stop, self.at)
            case "locals":
                return self.variables()
            case "up" | "down":
                return self.move(1 if word == "up" else -1)
            case "help":
                return HELP
            case "break":
                return self.commands.break_at(rest)
            case "clear":
                return self.commands.clear()
            case "inside":
                return self.inside(rest)
            case "print" if rest:
                return self.value(rest)
        return self.value(line)

    @property
    def frame(self) -> Frame | None:
        return self.stop.frames[self.at] if self.stop.frames else None

    def variables(self) -> str:
        """The variables of the selected frame; for an error in a procedure of the library also that procedure's."""
        lines = [variables_text(self.frame)]
        if self.at and self.at == first_looked_at(self.stop):
            inner = self.stop.frames[0]
            held = inner.variables() if inner.span is not None and in_stdlib(inner.span) else {}
            lines += [f"  inside it, {inner}:", table(held)] if held else []
        return "\n".join(lines)

    def move(self, by: int) -> str:
        """Select the next frame of the user's in a direction."""
        at = self.at + by
        while 0 <= at < len(self.stop.frames) and not self.stop.frames[at].is_users:
            at += by
        if not 0 <= at < len(self.stop.frames):
            return "there is no procedure of the program further that way"
        self.at = at
        frame = self.stop.frames[at]
        return "\n".join([f"in {frame}", *excerpt_of(frame.span)])

    def value(self, text: str) -> str:
        return shortened(self.debugger.evaluate(text, self.frame), 2000)

    def inside(self, text: str) -> str:
        value = self.debugger.evaluate(text, self.frame)
        if not is_procedure(value):
            raise VladError("not-a-procedure", f"{text} is no procedure", irritants=(value,))
        held = closed_over(self.debugger.machine, value)
        return table(held) if held else "it is closed over nothing"


def first_looked_at(stop: Stop) -> int:
    """The frame to select first: for an error in the library, the frame of the program that called it."""
    own = [index for index, frame in enumerate(stop.frames) if frame.is_users]
    return own[0] if own and stop.error is not None else 0


def excerpt_of(span: Span | None) -> list[str]:
    return [] if span is None else [span.excerpt()]


def headline(stop: Stop) -> str:
    """Where and why a program is stopped."""
    if stop.error is not None:
        return str(stop.error)
    lines = []
    if stop.value is not None:
        lines.append(f"=> {shortened(stop.value)}")
    own = stop.frames[0].procedure if stop.frames else ""
    place = f"{stop.span}: " if stop.span is not None else ""
    phase = f" ({stop.phase})" if stop.phase is not None and stop.phase.modes else ""
    why = "breakpoint in " if stop.reason == "breakpoint" else "in "
    lines += [f"{place}{why}{own}{phase}", *excerpt_of(stop.span)]
    return "\n".join(lines)


def where(stop: Stop, at: int = 0) -> str:
    """The frames, innermost first, without those of the library; `>` marks the selected one."""
    shown = [(index, frame) for index, frame in enumerate(stop.frames) if frame.is_users]
    lines = [f"{'>' if index == at else ' '} {frame}" for index, frame in shown[:MOST_FRAMES]]
    if len(shown) > MOST_FRAMES:
        lines.append(f"  … and {len(shown) - MOST_FRAMES} more")
    if stop.before:
        lines += tail_calls_text(stop.before)
    return "\n".join(lines) or "no procedure of the program is active"


def tail_calls_text(before: tuple[Place, ...]) -> list[str]:
    """The tail calls that led to a place: each with its procedure, the latest first; repeated iterations of a loop once, with
    their number.
    """
    lines = [f"    {place}" for place in reversed(before)]
    some = "reached by tail calls" if len(before) < MOST_BEFORE else f"the last {MOST_BEFORE} tail calls"
    return [f"  {some}, the latest first:", *folded(lines)]


def way_text(before: tuple[Place, ...]) -> str:
    """The same lines; "" if there is no more to show than the evaluated top-level form."""
    is_useful = not all(place.is_of_top_level for place in before)
    return "\n".join(tail_calls_text(before)) if is_useful else ""


def folded(lines: list[str]) -> list[str]:
    """Lines without repetitions of the preceding ones, which are replaced by their number."""
    found: list[str] = []
    at = 0
    while at < len(lines):
        best, times = 1, 1
        for size in range(1, (len(lines) - at) // 2 + 1):
            again = 1
            while lines[at + again * size : at + (again + 1) * size] == lines[at : at + size]:
                again += 1
            if again > 1 and again * size > best * times:
                best, times = size, again
        if best == 1:
            found.append(lines[at] if times == 1 else f"{lines[at]}, {times} times")
        else:
            found += [*lines[at : at + best], f"    … these {best}, {times} times"]
        at += best * times
    return found


def variables_text(frame: Frame | None) -> str:
    held = {} if frame is None else frame.variables()
    return table(held) if held else "there are no variables here"


def table(held: dict[str, Value]) -> str:
    """Names and values, one per line."""
    width = max(len(name) for name in held)
    return "\n".join([f"  {name:<{width}}  {shortened(value)}" for name, value in held.items()])
