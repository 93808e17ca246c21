"""The number of arguments of a procedure, and the errors for another number.

The tuple rule does not count arguments: `(f a b c)` is f of (a . (b . c)), and a parameter list destructures that as far as
it goes. So nothing is counted while a program runs. After an error, evaluate/errors/explain.py and
compile/analysis/abstract_interpreter.py use this module to describe calls in terms of arguments; expander.py uses it for calls
with keywords.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vlad.core.nodes import WrittenName
from vlad.data.errors import VladError
from vlad.data.source import Span
from vlad.data.values import FALSE, NIL, Code, Primitive, Symbol, Value, look
from vlad.expand.macros import ProcedureSpan, text_of
from vlad.reader.parser import Form

if TYPE_CHECKING:
    from vlad.core.machines import Evaluator

NAMELESS = "an anonymous procedure"
LIST_PATTERN = "`(list x y …)`"
NO_PAIR = "A pair was expected here"
# Counterparts for tensors of procedures of the library that take lists or procedures.
FOR_TENSORS = {
    "argmin": "`(argminimum t)` is for tensors",
    "reverse": "`(flipped t)` is for tensors",
    "sort": "`(sorted t)` is for tensors",
}


class Signature:
    """How a procedure is called: its name, its call as text, its parameters as written, and whether the
    last parameter takes all remaining arguments (`rest`). A plain class, as a dataclass costs time when programs start.
    """

    __slots__ = ("name", "parameters", "rest", "text")

    def __init__(self, name: str, text: str, parameters: tuple[str, ...], rest: bool) -> None:
        self.name = name
        self.text = text
        self.parameters = parameters
        self.rest = rest

    @property
    def count(self) -> int:
        return len(self.parameters)

    def takes_as_many(self, number: int) -> bool:
        """Does a call with this number of arguments match?"""
        return number == self.count or (self.rest and number > self.count)

    @property
    def takes(self) -> str:
        """`2 arguments`, to follow the word `takes`."""
        if self.count == 0:
            return "no arguments"
        return f"{'at least ' if self.rest else ''}{self.count} argument{'s' if self.count > 1 else ''}"


class Usage:
    """How a procedure of the library is called, as the first line of its doc comment has it: that text, how many operands stand
    in it by place; may the last of them stand for several?"""

    __slots__ = ("count", "takes_more", "text")

    def __init__(self, text: str, count: int, takes_more: bool) -> None:
        self.text = text
        self.count = count
        self.takes_more = takes_more


def usage(text: str) -> Usage:
    """The one reader of that line."""
    by_place = text.partition(" #:")[0]
    return Usage(text, by_place.count(" "), "…" in by_place or "..." in by_place or " . " in by_place)


def signature(machine: Evaluator, code: Code) -> Signature:
    """The signature of a procedure, or of the procedure whose derivative it is."""
    row = code.base.primitive
    if row is not None and machine.table.get(row.name) is row:
        return of_row(row)
    lambda_ = machine.core_of(code.base)
    if isinstance(lambda_.span, ProcedureSpan):
        return as_written(lambda_.span)
    names = [parameter.name for parameter in lambda_.parameters]
    has_none = names == ["nothing"] and not isinstance(names[0], WrittenName)  # its argument, which is ()
    return _signature(code.base.name, [] if has_none else names)


def of_row(row: Primitive) -> Signature:
    """Of a primitive: what has a name of its own may be left out."""
    name = row.display_name
    names = list(row.operands[: len(row.operands) - len(row.keywords)])
    if row.type.parameters == ("null",):
        return _signature(name, [])
    if row.variadic:
        return Signature(name, f"({name} {names[0]} …)", (names[0],), True)
    return _signature(name, names, [f"#:{name} …" for name in row.keywords])


def of_named(named: Named) -> Signature:
    """Of a procedure of the library that takes operands by name."""
    return _signature(named.name, list(named.operands), [f"#:{name} …" for name in named.keywords])


def as_written(span: ProcedureSpan) -> Signature:
    """The signature of a procedure in a program."""
    parameters = span.parameters
    if not isinstance(parameters, Form):
        whole = text_of(parameters)
        return Signature(span.name or NAMELESS, whole, (whole,), True)
    names = [text_of(parameter) for parameter in parameters.items]
    if parameters.tail is None:
        return _signature(span.name, names)
    return _signature(span.name, names, [".", text_of(parameters.tail)], rest=True)


def _signature(name: str, names: list[str], more: Sequence[str] = (), rest: bool = False) -> Signature:
    """`more` follows the names; if there is a `rest`, it is the last of `more`."""
    text = " ".join([name, *names, *more] if name else [*names, *more])
    return Signature(name or NAMELESS, f"({text})", (*names, *more[-1:]) if rest else tuple(names), rest)


# Procedures of the library of two operands, of which calls take any number but one, nested from the right; and what a call
# without operands returns.
NESTED: dict[str, Value] = {"append": NIL, "gcd": 0.0, "lcm": 1.0}
# Calls with another number of operands than the parameter list has, and the procedure that takes so many.
TAKING: dict[tuple[str, int], str] = {
    ("map", 3): "map2",
    ("map", 4): "map3",
    ("for-each", 3): "for-each2",
    ("for-each", 4): "for-each3",
    ("member", 3): "member-by",
    ("assoc", 3): "assoc-by",
    ("log", 2): "log-in-base",
    ("atan", 1): "arctangent",
    ("gcd", 2): "%gcd",
    ("lcm", 2): "%lcm",
    ("display", 2): "display-to",
    ("write", 2): "write-to",
    ("newline", 1): "newline-to",
    ("write-char", 2): "write-string-to",
    ("write-string", 2): "write-string-to",
    ("number->string", 2): "number->string-in-radix",
    ("string->number", 2): "string->number-in-radix",
    ("vector-map", 3): "vector-map2",
    ("vector-for-each", 3): "vector-for-each2",
    ("string-map", 3): "string-map2",
    ("string-for-each", 3): "string-for-each2",
    ("covariance", 2): "%covariance-of-two",
    ("correlation", 2): "%correlation-of-two",
}

# What stands for a name that is no operator: a procedure that takes as many operands as calls of the name.
AS_VALUE = {"atan": "arctangent"}
# Those of any number of lists, for calls that `TAKING` lacks: the procedure of the first operand and the list of the others.
OF_MANY = {
    name: f"%{name}-lists"
    for name in ("map", "for-each", "vector-map", "vector-for-each", "string-map", "string-for-each")
}
# What `(apply NAME l)` calls with the list: by the tuple rule alone `(apply append (list a b c))` would be (append a (cons b c)).
APPLIED = {"append": "append*", "gcd": "%gcd-of", "lcm": "%lcm-of", "string-append": "%string-append-of"}


class Named:
    """A procedure of the library that takes operands by name: the others, the operands by name with their defaults, and the
    procedure that takes them behind the others. A plain class, as `Signature`."""

    __slots__ = ("keywords", "name", "operands", "procedure")

    def __init__(
        self, name: str, operands: tuple[str, ...], keywords: dict[str, Value], procedure: str
    ) -> None:
        self.name = name
        self.operands = operands
        self.keywords = keywords
        self.procedure = procedure


_GEOMETRY: dict[str, Value] = {
    "stride": 1.0,
    "padding": 0.0,
    "dilation": 1.0,
    "groups": 1.0,
}  # as that of conv2d
PROGRESS = "progress"
# That is true by default where there is someone to watch (Module.watched).
_SEARCH: dict[str, Value] = {"report": FALSE, "every": 1.0, "stop-when": FALSE, PROGRESS: FALSE}
_TRAINING: dict[str, Value] = {
    "report": FALSE,
    "every": 1.0,
    "stop-when": FALSE,
    "patience": FALSE,
    "checkpoint": FALSE,
    "checkpoint-every": 1000.0,
    PROGRESS: FALSE,
}
NAMED = {
    one.name: one
    for one in (
        Named("diff", ("t",), {"axis": -1.0}, "%diff"),
        Named("cumprod", ("t",), {"axis": 0.0}, "%cumprod"),
        Named("roll", ("t", "k"), {"axis": 0.0}, "%roll"),
        Named("repeat", ("t", "n"), {"axis": 0.0}, "%repeat"),
        Named("top-k", ("t", "k"), {"axis": -1.0}, "%top-k"),
        Named("searchsorted", ("a", "x"), {"right": FALSE}, "%searchsorted"),
        Named("median", ("t",), {"axis": FALSE}, "%median"),
        Named("quantile", ("t", "q"), {"axis": FALSE}, "%quantile"),
        Named("bincount", ("t",), {"weights": 1.0, "length": FALSE}, "%bincount"),
        Named("histogram", ("t", "n"), {"low": FALSE, "high": FALSE}, "%histogram"),
        Named("interp", ("x", "xs", "ys"), {"left": FALSE, "right": FALSE}, "%interp"),
        Named("trapezoid", ("y",), {"x": FALSE, "dx": 1.0, "axis": -1.0}, "%trapezoid"),
        Named("convolve", ("a", "b"), {"mode": Symbol("full")}, "%convolve"),
        Named("tensordot", ("a", "b"), {"axes": 2.0}, "%tensordot"),
        Named("fft", ("x",), {"axis": -1.0}, "%fft"),
        Named("ifft", ("x",), {"axis": -1.0}, "%ifft"),
        Named("rfft", ("x",), {"axis": -1.0}, "%rfft"),
        Named("irfft", ("x",), {"length": FALSE, "axis": -1.0}, "%irfft"),
        Named("optimize", ("optimizer", "f", "x", "n"), _TRAINING, "%optimize"),
        Named("train", ("optimizer", "loss", "start", "batches"), _TRAINING, "%train"),
        Named(
            "train-epochs",
            ("optimizer", "loss", "start", "data", "n", "key", "times"),
            _TRAINING,
            "%train-epochs",
        ),
        *(
            Named(name, ("f", start, "tolerance"), _SEARCH, f"%watched-{name}")
            for name, start in (
                ("gradient-descent", "x0"),
                ("conjugate-gradients", "x0"),
                ("newton", "x0"),
                ("lbfgs", "x"),
            )
        ),
        Named("conv1d", ("x", "w"), _GEOMETRY, "%conv1d"),
        Named("conv-transpose2d", ("x", "w"), _GEOMETRY, "%conv-transpose2d"),
        Named("ctc-loss", ("logits", "labels"), {"blank": 0.0}, "%ctc-loss"),
    )
}


# Those that depend on the number of operands as written (`Expander.by_number`).
BY_NUMBER = frozenset(
    ("apply", "table", "update-ref!", "table-ref", "string-append", *NESTED, *(name for name, _ in TAKING))
)


def has_own_form(name: str, count: int) -> bool:
    """Whether it is a call of a procedure that every program has with another number of operands than in its parameter list."""
    return is_nested(name, count) or (name, count) in TAKING


def is_nested(name: str, count: int) -> bool:
    """A lone operand is a tuple of two, but for `append`, of which it is what is returned."""
    return name in NESTED and count != 2 and (count != 1 or name == "append")


# How many operands take, by place, what returns a procedure, other than what is called as `((gradient f) x)`.
RETURNING = {"vmap": 1, "nth-derivative": 2}
LONGEST_SHOWN = 60  # characters of a call in a hint


def too_few(machine: Evaluator, code: Code, parts: int, given: int, is_end: bool) -> VladError:
    """The error of a call with `given` operands that made `parts` parts, the last of which is no pair. `is_end`: whether it is
    ().
    """
    taken, more = (
        signature(machine, code),
        code.arity - code.base.arity,
    )  # parameters of derivatives come first
    got = parts - more
    if is_end:  # a list counts as one argument, and () as none
        got = given - more if parts > given or got > 1 else 0
    if got < taken.count:
        return wrong_number(taken, got, no_pair(), of_list=is_end and got == 1 and parts > given)
    hint = f"its parameter list is {taken.text}"  # a pattern among the parameters did not match
    return no_pair(hint)


def no_pair(hint: str | None = None) -> VladError:
    """What a parameter list takes apart is no pair."""
    return VladError("no-matching-pair", NO_PAIR, hint=hint)


def wrong_number(
    signature: Signature,
    got: int,
    failed: VladError | None = None,
    span: Span | None = None,
    of_list: bool = False,
    is_placed: bool = False,
) -> VladError:
    """The error that a procedure was given so many arguments. `failed`: what failed by that, in the language's own terms; it
    becomes the reason, with its place if `is_placed`. `of_list`: is the one argument a list, perhaps of as many elements as there
    are parameters?"""
    more = ""
    if of_list:
        more = f"; a list is one argument, which a parameter {LIST_PATTERN} takes apart{_as_one(signature)}"
    elif got > signature.count and signature.parameters[-1:] == ("dims",):
        more = "; dims is one argument, a list"
    error = VladError(
        "wrong-number-of-arguments",
        f"{signature.name} takes {signature.takes} and got {got or 'none'}",
        span,
        hint=f"its parameter list is {signature.text}{more}",
        name=signature.name,
    )
    error.expected, error.got, error.hinted = signature.count, got, (signature.text,)
    if failed is not None:
        place = f", at {failed.span}" if is_placed and failed.span is not None else ""
        error.reason, error.reason_code = f"{failed.message}{place}", failed.code
    return error


def hint_to_call_result(error: VladError, name: str, taken: int, operands: list[str]) -> None:
    """Add the call that was meant by `(gradient f 3)`: that of the procedure which is returned. `operands`: their texts."""
    call = f"(({' '.join([name, *operands[:taken]])}) {' '.join(operands[taken:])})"
    shown = call if len(call) <= LONGEST_SHOWN and "\n" not in call else f"(({name} …) …)"
    error.add_hint(f"it returns a procedure, which takes the rest: `{shown}`", piece=shown)


def _as_one(signature: Signature) -> str:
    """How to write one value in place of all arguments, if there are only a few."""
    *first, last = signature.parameters or [""]
    if signature.rest or not 0 < len(first) < 4:
        return ""
    for parameter in reversed(first):
        last = f"(cons {parameter} {last})"
    return f"; `{last}` stands for {signature.count}"


def arguments_in(operand: Value) -> int:
    """The number of arguments in the last operand of a call: a list counts as one, other pairs are tuples."""
    count, value = 1, look(operand)
    while type(value) is tuple and len(value) == 2:
        count += 1
        value = look(value[1])
    return 1 if value == () else count
