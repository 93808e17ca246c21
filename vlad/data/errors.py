"""The error type, its attributes, and how errors are displayed. All errors of programs are one exception type."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING, Any

from vlad.control import debug
from vlad.control.surroundings import ipython
from vlad.data.source import Origin, Span
from vlad.data.values import Backtrace, Value
from vlad.data.write import symbol_text, written_in_message

if TYPE_CHECKING:
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")


class Kind(Enum):
    """The kind of a value, as named in hints; for a tensor they add its shape."""

    REAL = "a real"
    TENSOR = "a tensor of shape"
    NIL = "()"
    LIST = "a list"
    PAIR = "a pair"
    PROCEDURE = "a procedure"
    RECORD = "a record"
    BOOLEAN = "a boolean"
    SYMBOL = "a symbol"
    STRING = "a string"
    HOST = "a host object"
    TABLE = "a table"
    VECTOR = "a vector"
    NONE = "None"
    TUPLE = "a tuple"
    DICT = "a dict"
    SET = "a set"
    OTHER = "something else"


# What `read-real` says, in built programs, too.
INPUT_NOT_REAL = "Value read is not real"
INPUT_ENDED = "The input has ended"
# Codes of errors by the tuple rule: an argument does not match the parameters.
OF_TUPLES = frozenset({"no-matching-pair", "not-equivalent"})


NO_WAYS = ("", "")


class VladError(Exception):
    """An error in a program of the language.

    code        a stable name of the kind: "unbound-variable", "invalid-argument", …
    message     one sentence without position
    span        the place in the source, or None
    hint        a remedy, or None
    reason      the failure in terms of the language, if `message` uses the user's terms; else None. Shown after `in detail`
    irritants   the offending values, as text
    entered     the span, if it is inside the procedure that was called wrongly and the call is unknown; an enclosing form
                locates it better
    backtrace   the active procedures of the user, innermost first: each has a `procedure` name and a `span` or None
    began       the places of the user's calls around it in procedures without a name, the innermost of each text
    rows        the numbers of the rows on which the procedures of `vmap` were active, innermost first

    Code that extends the error uses the following facts; it never searches messages.

    name        the unbound variable, the operation, or the procedure that was called; or None
    wording     the message with {} in place of the name, if another name may replace it; or None
    names_itself  does the hint begin with the name?
    kinds       the kinds of the unsuitable operands, if they are known
    about       of an operation with several errors of one code: which it is; or None
    expected    the number of arguments that the procedure takes, if it was called with another number, which is `got`
    is_of_list  is the error about a parameter that is the pattern of a list?
    reason_code  the code of the error whose message is the reason; or None
    has_changed_cells  was a cell changed in a `guard` before the error, that is older?
    told        of an error that `error` raised: the message as a value, and the list of the values behind it; else None
    ways        the end of the hint, which says what the operands are for, or how they come to be suitable: in the language, and
                in Python, for a place in a Python function
    choices     if `name` should have been one of few words: those, each with what to write instead
    hinted      pieces of the hint that are not added again, such as the signature of a procedure
    """

    label = "Error"  # before the message

    def __init__(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        hint: str | None = None,
        irritants: Iterable[Value] = (),
        reason: str | None = None,
        *,
        name: str | None = None,
    ) -> None:
        Exception.__init__(self, message)  # a class of Python's beside it may take other arguments
        self.name = name
        self.wording: str | None = None
        self.names_itself = False
        self.kinds: tuple[Kind, ...] = ()
        self.about: str | None = None
        self.expected: int | None = None
        self.got: int | None = None
        self.is_of_list = False
        self.reason_code: str | None = None
        self.has_changed_cells = False
        self.ways = NO_WAYS
        self.choices: dict[str, str] = {}
        self.hinted: tuple[str, ...] = ()
        self.told: tuple[Value, Value] | None = None
        self.code = code
        self.message = message
        self.span = span
        self.entered: Span | None = None
        self.hint = hint
        self.reason = reason
        self.irritants: list[str] = [written_in_message(value, limit=200) for value in irritants]
        self.backtrace: list[Backtrace] = []
        self.began: list[Span] = []
        self.rows: tuple[int, ...] = ()

    def reword(self, message: str) -> None:
        """Replace the message."""
        self.message = message
        self.args = (message,)

    def add_hint(self, text: str, piece: str | None = None) -> None:
        """Append a text to the hint. `piece`: an identifier of the text, by which it is not added twice."""
        if piece is not None:
            if piece in self.hinted:
                return
            self.hinted = (*self.hinted, piece)
        self.hint = f"{self.hint}; {text}" if self.hint else text

    def lead_here(self, what: str, place: Span) -> None:
        """Add a line for a form at top level that led here, if neither the error nor a line is in it. If the whole text is one
        call, its place says nothing.
        """
        inside = [span for span in self.began if place.contains(span)]
        span = [*inside, place][0]
        if (
            self.span is None
            or place.source.origin is not Origin.PROGRAM
            or span.text == span.source.text.strip()
        ):
            return
        if all(one is None or not place.contains(one) for one in self._places()):
            self.backtrace.append(Backtrace(what, span))

    def _places(self) -> list[Span | None]:
        return [self.span, *[line.span for line in self.backtrace]]

    def __str__(self) -> str:
        return show(self)

    def _render_traceback_(self) -> list[str]:
        """What IPython and notebooks show: without the frames of vlad itself, which are many."""
        own = self._frames_of_users()
        lines: list[str] = ipython().InteractiveTB.structured_traceback(type(self), self, own, tb_offset=1)
        return lines

    def _frames_of_users(self) -> TracebackType | None:
        """The traceback without the frames of vlad itself."""
        around: list[TracebackType] = []
        at = self.__traceback__
        while at is not None:
            package = at.tb_frame.f_globals.get("__name__", "vlad").partition(".")[0]
            around += [at] if package != "vlad" else []
            at = at.tb_next
        own: TracebackType | None = None
        for one in reversed(around):
            own = TracebackType(own, one.tb_frame, one.tb_lasti, one.tb_lineno)
        return own

    def leave(self) -> None:
        """The error goes on to a program in Python: its traceback gets that program's frames, with VLAD_DEBUG it has all."""
        if not debug.is_on(debug.TRACEBACKS):
            self.__traceback__ = self._frames_of_users()

    def __reduce__(self) -> Any:
        """Support pickle, so that errors reach other processes: without values, which may be procedures of a session."""
        return type(self), (self.code, self.message), {**vars(self), "told": None}


def leaving(function: Callable[P, R]) -> Callable[P, R]:
    """A function that programs in Python call: a VladError leaves it with a traceback of their frames."""

    @functools.wraps(function)
    def called(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return function(*arguments, **named)
        except VladError as error:
            error.leave()
            raise

    return called


def unsuitable(
    name: str, hint: str | None = None, irritants: Iterable[Value] = (), names_itself: bool = False
) -> VladError:
    """An operation of this name does not take these operands."""
    wording = "Argument to {} is invalid"
    error = VladError("invalid-argument", wording.format(name), hint=hint, irritants=irritants, name=name)
    error.wording, error.names_itself = wording, names_itself
    return error


def unbound_variable(name: str, span: Span | None = None, hint: str | None = None) -> VladError:
    return VladError("unbound-variable", unbound_message(name), span, hint=hint, name=name)


def unbound_message(name: str) -> str:
    return f"Unbound variable: {symbol_text(name)}"


class Notice(VladError):
    """What is displayed like an error, and is none: it is not raised."""

    label = "Note"


class Incomplete(VladError):
    """The text ends inside a form: the prompt reads another line, a file is invalid."""


class Thrown(VladError):
    """A program raised `held`, and no `guard` took it. Most are caught: the place of a caught one is found by `find_place`, when
    it is raised again.
    """

    held: Value = None
    find_place: Callable[[VladError], object] | None = None


class RaisedValue(Thrown):
    """A value that a program raised, and no `guard` took. `value` is its counterpart in Python. The message is made when it is
    read.
    """

    WORDS = "Raised: "

    def __init__(self, code: str, held: Value, outward: Callable[[Value], Any]) -> None:
        super().__init__(code, "")
        self.held = held
        self._outward = outward

    @property
    def message(self) -> str:
        if not self._message:
            self.reword(self.WORDS + written_in_message(self.held, limit=200))
        return self._message

    @message.setter
    def message(self, text: str) -> None:
        self._message = text

    @property
    def value(self) -> Any:
        return self._outward(self.held)

    def __reduce__(self) -> Any:
        """As a VladError, since values may be procedures of a session."""
        own = ("held", "_outward", "_message", "find_place")
        state = {name: value for name, value in vars(self).items() if name not in own}
        return VladError, (self.code, self.message), state


class Exited(VladError):
    """The program ended itself, by `exit`. No `guard` takes it. `status`: that of the process of a program."""

    status: int

    @staticmethod
    def of(status: int, at_once: bool = False) -> Exited:
        """The error for an exit status; `at_once`: by `emergency-exit`."""
        message = f"The program ended itself, with status {status}"
        found = ExitedAtOnce("exited", message) if at_once else Exited("exited", message)
        found.hint = "a Python program that is to end, too, calls sys.exit with the error's `status`"
        found.status = status
        return found


class ExitedAtOnce(Exited):
    """By `emergency-exit`: nothing that is to be done on the way is done."""


class Abandoned(VladError):
    """The evaluation was ended from outside. No `guard` takes it."""


class OutsideStep(VladError):
    """A step of a checkpointed procedure uses a cell from outside. The guards of that step do not take it, as the procedure would
    then go on and have other derivatives than its values."""


class EndedContinuation(VladError):
    """A continuation of `call/cc` is called again where it can only end the call that made it. No guard takes it: the program
    means that the call returns again, and would go on with another value than that."""


class LimitExceeded(VladError):
    """A limit (fuel, time, memory, depth) ended the evaluation."""


class UnknownName(VladError, KeyError):
    """Python code used a name that the program does not define."""


class UnknownAttribute(VladError, AttributeError):
    """The same, used as an attribute."""


class NoCounterpart(VladError, TypeError):
    """A Python value without a counterpart in the language. `what`: the value in words; None if the message is about something
    else.
    """

    what: str | None = None

    def state_place(self, where: str, span: Span | None) -> None:
        """Say where the value was found: "in the argument x of f"."""
        if self.what is not None:
            self.reword(NO_COUNTERPART.format(f"{self.what.rstrip(',')}, {where},"))
            self.what = None
        self.span = self.span or span


class WrongCall(VladError, TypeError):
    """A call of a Python function with other arguments than it takes."""


NO_COUNTERPART = "{} has no counterpart in the language"


def no_counterpart(what: str, hint: str) -> NoCounterpart:
    error = NoCounterpart("no-counterpart", NO_COUNTERPART.format(what), hint=hint)
    error.what = what
    return error


class MissingPackage(VladError, ImportError):
    """A feature needs a package that is not installed."""


class WrongOption(VladError, ValueError):
    """An invalid value of a session option."""


def show(error: VladError) -> str:
    """The text of an error: position and message, excerpt, values, hint, reason, backtrace."""
    return "\n".join([text for _, text in parts(error)])


def parts(error: VladError) -> Iterator[tuple[str, str]]:
    """The parts of the output of `show`, each with its role: "message", "place", "value", "hint", "reason" or "backtrace"."""
    yield (
        "message",
        f"{error.span}: {error.label}: {error.message}" if error.span else f"{error.label}: {error.message}",
    )
    if error.span:
        yield "place", error.span.excerpt()
        use = getattr(error.span, "use", None)
        if use is not None:
            yield "place", f"  in the expansion of the macro used at {use}"
    for text in error.irritants:
        yield "value", f"  value: {text}"
    if error.hint:
        yield "hint", f"  hint: {error.hint}"
    if error.reason:
        # a reason about patterns makes no sense without the tuple rule, which the manual's entry explains
        more = f" (`vlad doc {error.code}`)" if error.reason_code in OF_TUPLES else ""
        yield "reason", f"  in detail{more}: {error.reason}"
    for entry in error.backtrace:
        yield "backtrace", f"  in {entry}"
    for row in error.rows:
        yield "backtrace", f"  in row {row} of vmap"
