"""What programs compute with. Data only: no rule of the language is decided here.

Representation. Speed and memory of the evaluator follow from these choices, so they are stated once, here:

    real                 float, exactly that type
    boolean              TRUE, FALSE: not Python's, so that no arithmetic accepts them
    empty list           NIL, the empty Python tuple
    pair                 a Python tuple of two: (car, cdr)
    procedure            a Python tuple headed by its Code, then the values of its environment, in the order of
                         `Code.environment`; never of length two, for a closure over one value is padded
    AD values            procedures too: (*j v) is a closure of the code `reverse` over v, and so on; these codes are
                         written in the language itself (primitives/transforms.py)
    symbol, string       Symbol, String
    tensor               tensors.Tensor
    host object          Opaque
    known zero           ZERO, the sensitivity or tangent of anything to which nothing contributed
    not yet looked at    Deferred: the zero of a structure, a sum of two; becomes a tuple when somebody looks

Tuples are built and taken apart by single instructions of Python's machine: 18 ns and 56 bytes a pair, where a
class with slots costs four times as much (measured, 3.11). Values are immutable and acyclic; a recursive procedure finds
itself through its code, never through its environment, so reference counts free everything.

The file is long because every kind of value is stated here, with what its representation costs.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType, WeakValueDictionary, ref

from vlad.control.budget import expect_bytes

if TYPE_CHECKING:
    from vlad.data.source import Span

Value = Any
NIL: tuple[()] = ()
NUMBERS = frozenset({"real", "number"})  # in rows' types: a real, and a real or a tensor


class Boolean:
    """TRUE or FALSE; compare by identity. Only FALSE is false."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


TRUE = Boolean("#t")
FALSE = Boolean("#f")


class Unspecified:
    """The value of a `define`, an `import` or an effect; the prompt does not print it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "#<unspecified>"


UNSPECIFIED = Unspecified()


class Symbol:
    """An interned name as data: equal names are the same object. Made by `symbol`."""

    __slots__ = ("name", "__weakref__")

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


# By the hash of the name, which alone the symbol holds: a name of megabytes goes with the last who holds its symbol. What is left
# of a dead one is swept out now and then. Names of one hash are rare
_symbols: dict[int, tuple[ReferenceType[Symbol], ...]] = {}
_naming = threading.Lock()
FEWEST_SWEPT = 10_000
_most = FEWEST_SWEPT


def symbol(name: str) -> Symbol:
    """The one symbol of this name, as long as anybody holds it."""
    return _known(name) or _named(name)


def _known(name: str) -> Symbol | None:
    for reference in _symbols.get(hash(name), ()):
        found = reference()
        if found is not None and found.name == name:
            return found
    return None


def _named(name: str) -> Symbol:
    """No callback tells of the dead: what interrupts an evaluation would be lost in it."""
    global _most
    with _naming:
        found = _known(name)
        if found is None:
            if len(_symbols) > _most:
                for dead in [key for key, of in _symbols.items() if not any(one() for one in of)]:
                    del _symbols[dead]
                _most = max(FEWEST_SWEPT, 2 * len(_symbols))
            found, key = Symbol(name), hash(name)
            _symbols[key] = (*[one for one in _symbols.get(key, ()) if one() is not None], ref(found))
    return found


def living_symbols() -> int:
    """How many symbols are held by anybody."""
    return sum([one() is not None for of in list(_symbols.values()) for one in of])


class String:
    """Text as a value; not a Python str, so that no arithmetic accepts it."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


BYTES_LISTED = 80  # that a character takes in a list


def character_list(text: str) -> Value:
    """The characters of a text as a list of reals, their numbers in Unicode."""
    result: Value = NIL
    expect_bytes(BYTES_LISTED * len(text))
    for character in reversed(text):
        result = (float(ord(character)), result)
    return result


def list_of(values: Sequence[Value]) -> Value:
    """The list of these."""
    result: Value = NIL
    for value in reversed(values):
        result = (value, result)
    return result


def text_of(characters: Value) -> str:
    """The text of a list of characters."""
    text = []
    while characters:
        text.append(chr(int(characters[0])))
        characters = characters[1]
    return "".join(text)


class Opaque:
    """A Python object that the language does not look into: it can be held, passed on and compared by identity.

    One object has one wrapper as long as anybody holds it, so wrappers are compared by identity, too. It has no tangents.
    """

    __slots__ = {"object": "What it holds.", "__weakref__": None}

    object: Any

    def __new__(cls, object: Any) -> Opaque:
        with _wrapping:
            wrapper = _wrappers.get(id(object))
            if wrapper is None:
                wrapper = super().__new__(cls)
                wrapper.object = object
                _wrappers[id(object)] = wrapper
            return wrapper

    def __reduce__(self) -> Any:
        return Opaque, (self.object,)

    def __repr__(self) -> str:
        return f"#<host {type(self.object).__name__}>"


_wrappers: WeakValueDictionary[int, Opaque] = WeakValueDictionary()  # by the id of what they hold
_wrapping = threading.RLock()  # what is wrapped may come to an end meanwhile, and its end wrap something


def _alone() -> None:
    """In a process that was forked: the other threads are not there."""
    global _naming, _wrapping
    _naming, _wrapping = threading.Lock(), threading.RLock()


os.register_at_fork(after_in_child=_alone)


class Zero:
    """The known zero. It adds to anything and is every part of itself, so optimistic code may meet it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ZERO"

    def _zero(self, *_: Value) -> Zero:
        return self

    def _other(self, other: Value) -> Value:
        return other

    __mul__ = __rmul__ = __truediv__ = __neg__ = __getitem__ = _zero
    __add__ = __radd__ = __rsub__ = _other

    def __sub__(self, other: Value) -> Value:
        return self if other is self else -other

    def __float__(self) -> float:
        return 0.0

    def __bool__(self) -> bool:
        return False

    def __rtruediv__(self, other: float) -> float:
        return other * math.inf

    def __lt__(self, other: Value) -> bool:
        return bool(0.0 < other)

    def __gt__(self, other: Value) -> bool:
        return bool(0.0 > other)

    def __le__(self, other: Value) -> bool:
        return bool(0.0 <= other)

    def __ge__(self, other: Value) -> bool:
        return bool(0.0 >= other)

    def __iter__(self) -> Any:
        return iter((self, self))


ZERO = Zero()


class Deferred:
    """A structure whose parts are computed when somebody looks: `force()` answers a tuple, each time the same.

    `parts` is called once, with no argument, when what it `needs` has been looked at. Looking one level deep costs O(1); so a
    zero, a sum of sensitivities or a completed sensitivity costs nothing for what is never looked at. Never stands for a real:
    those are immediate. `zero_of` is the primal when this is its zero (so that `plus` need not look), else None.
    """

    __slots__ = ("_forced", "_needs", "_parts", "zero_of", "__weakref__")

    def __init__(
        self, parts: Callable[[], tuple[Value, ...]], needs: tuple[Value, ...] = (), zero_of: Value = None
    ) -> None:
        self._parts: Callable[[], tuple[Value, ...]] | None = parts
        self._needs = needs
        self._forced: tuple[Value, ...] = ()
        self.zero_of = zero_of

    def force(self) -> tuple[Value, ...]:
        if self._parts is not None:
            self._force()
        return self._forced

    def _force(self) -> None:
        """A sum of sums of sums may be as long as a loop: what is needed is forced first, without recursion."""
        work = [self]
        while work:
            top = work[-1]
            parts = top._parts  # once: another thread may be at the same
            if parts is None:
                work.pop()
                continue
            needed = [v for v in top._needs if type(v) is Deferred and v._parts is not None]
            if needed:
                work += needed
            else:
                top._forced = parts()
                top._parts = None
                top._needs = ()
                work.pop()

    def __iter__(self) -> Any:
        return iter(self.force())

    def __getitem__(self, index: Any) -> Value:
        return self.force()[index]


def look(value: Value) -> Value:
    """The value itself, one level of it computed if it was deferred."""
    return value.force() if type(value) is Deferred else value


def is_pair(value: Value) -> bool:
    if type(value) is Deferred:  # `look`, without a call: nothing is asked more often
        value = value.force()
    return type(value) is tuple and len(value) == 2


def is_procedure(value: Value) -> bool:
    """Anything that can be applied: closures, primitives, AD values of procedures (and, formally, of anything)."""
    if type(value) is Deferred:
        value = value.force()
    return type(value) is tuple and len(value) not in (0, 2)


def closure(code: Code, *environment: Value) -> tuple[Value, ...]:
    """A procedure: its code over the values of its environment. Emitted code builds the same tuple in place."""
    return (code, *environment) if len(environment) != 1 else (code, environment[0], None)


class Code:
    """All that belongs to one lambda expression: the one mutable record, shared by all its closures.

    `entry1` … `entry4` take the closure and as many operands (the tuple rule makes the rest; a procedure of another
    number of parameters has adapters there); `native` takes the closure and exactly the parameters. All compile on first
    use, and tier 1 replaces them. `tail` and `forward` are the codes of the transformed lambda, over the same environment,
    or None until somebody asks. `base` is the code this one was derived from by transforming, or itself.
    """

    __slots__ = (
        "machine",
        "family",
        "lambda_",
        "name",
        "arity",
        "environment",
        "group",
        "base",
        "primitive",
        "native",
        "entry1",
        "entry2",
        "entry3",
        "entry4",
        "tail",
        "forward",
        "derived",
        "make_lambda",
        "closed",
        "__weakref__",
    )

    machine: Any  # the evaluate.machine.Machine it belongs to
    family: Any  # what the codes of one top-level form share: evaluate.emit_python.Family
    lambda_: Any  # core.nodes.Lambda; None until first needed, then `make_lambda` makes it
    make_lambda: Callable[[], Any] | None
    name: str  # as the user wrote it; '' for an anonymous lambda
    arity: int  # number of parameters
    environment: tuple[Any, ...]  # core.nodes.Variable
    group: tuple[Any, ...]  # the members (Variable, Lambda) of the letrec it was bound by, itself included
    base: Code
    primitive: Primitive | None
    native: Callable[..., Value]
    entry1: Callable[..., Value]
    entry2: Callable[..., Value]
    entry3: Callable[..., Value]
    entry4: Callable[..., Value]
    tail: Code | None
    forward: Code | None
    derived: str  # '', 'reverse', 'forward', 'tag', 'backpropagator': how its name is told to people
    closed: tuple[Value, ...] | None  # the one closure, where the environment is empty

    def __repr__(self) -> str:
        return f"#<code {self.derived} {self.name}>"


class Global:
    """A top-level name's cell. `value` is unset until the name is defined."""

    __slots__ = ("name", "value", "primitive", "dependents", "__weakref__")

    def __init__(self, name: str) -> None:
        self.name = name
        self.primitive: Primitive | None = None  # the known primitive it holds, while nobody has redefined it
        self.dependents: Any = None  # codes that were compiled on the strength of `primitive`

    value: Value

    def __repr__(self) -> str:
        return f"#<global {self.name}>"


class Primitive:
    """A row of the one table: everything that is known of a primitive operation, side by side.

    operands    their names, which the texts below use: "y x"
    doc         a sentence or two, and on the lines behind it (`examples`) what calls print, `CALL  ⇒ VALUE`, a line `⇒ VALUE` for
                each line more; tests/test_help.py runs them
    value       Python function of the operands; the complete rule, raising VladError on a wrong kind. Rows that call
                procedures or need the machine take it as first argument (`needs_machine`)
    python      the fast form as a Python expression over the operands' names. It may raise any Python exception where
                `value` would raise VladError or answer otherwise; then `value` is asked. May use the names in `uses`
    type        operand kinds and result kind: "real real -> real". A result "boolean" means `python` gives a Python bool.
                A "number" is a real or a tensor
    partials    for a real function of reals: each operand's partial derivative, as language text over the operands
                and r, the result. Both directions follow. Where the derivative alone may be too large or too small for a
                number, the text is a product with t, a tangent or a sensitivity, in an order that is not; or there are
                several texts, whose product it is, from the operand to the result (ad/rules.steps_of)
    forward     otherwise: text for the result's tangent, over the operands, r, and the tangents, named d + operand
    reverse     otherwise: for each operand text for its sensitivity, over the operands, r, and s, the result's sensitivity;
                ~x is the operand x where it is not shaped like the result, else #f, which costs nothing to keep;
                an operand that receives nothing is left out. `zero` for forward and {} for reverse say: constant
    variadic    "left" folds more operands from the left, "chain" compares neighbours; `unary` is then the text of a
                call on x alone and `nullary` the value of a call on nothing
    effect      True: may not be dropped, repeated or moved
    keywords    names and default values of `#:name` operands, in the order of the last operands
    c           for the compiler: a C expression over {operand}s that are doubles, of type double, or int for a boolean.
                core/expressions.py reads it; of floats it is the same, with functions and constants of floats
    whole       the same for integers, of {operand}s of type unsigned long, where `c` is not that
    with_zero   for a row with `c`: what is known when an operand is the known zero (the AbstractInterpreter is the first
                argument); None where nothing is
    abstract    for a row whose operands are not just reals: its rule on what is known of them, AbstractInterpreter first
    array       for a function of numbers: what it is entry by entry (primitives/elementwise.py)
    rows        of a row that is made when a program runs (host.py) and has texts of its own: the rows, by name, that they know
                besides the table's
    """

    __slots__ = (
        "name",
        "operands",
        "doc",
        "examples",
        "value",
        "python",
        "uses",
        "type",
        "partials",
        "forward",
        "reverse",
        "variadic",
        "unary",
        "nullary",
        "effect",
        "needs_machine",
        "keywords",
        "hidden",
        "c",
        "whole",
        "with_zero",
        "abstract",
        "array",
        "rows",
        "__weakref__",
    )

    def __init__(
        self,
        name: str,
        operands: str,
        doc: str,
        *,
        value: Callable[..., Value],
        type: str,
        python: str = "",
        uses: dict[str, Any] | None = None,
        partials: Mapping[str, str | tuple[str, ...]] | None = None,
        forward: str = "",
        reverse: dict[str, str] | None = None,
        variadic: str = "",
        unary: str = "",
        nullary: Value = None,
        effect: bool = False,
        needs_machine: bool = False,
        keywords: dict[str, Value] | None = None,
        hidden: bool = False,
        c: str = "",
        whole: str = "",
        with_zero: Callable[..., Any] | None = None,
        abstract: Callable[..., Any] | None = None,
        array: str = "",
        rows: Mapping[str, Primitive] | None = None,
    ) -> None:
        if (partials is None) == (not forward or reverse is None):
            raise ValueError(f"{name}: state either partials, or both forward and reverse")
        self.name = name
        self.operands = tuple(operands.split())
        self.doc, _, self.examples = doc.partition("\n")
        self.value = value
        self.python = python
        self.uses = uses or {}
        self.type = type
        self.partials = partials
        self.forward = forward
        self.reverse = reverse
        self.variadic = variadic
        self.unary = unary
        self.nullary = nullary
        self.effect = effect
        self.needs_machine = needs_machine
        self.keywords = keywords or {}
        self.hidden = hidden  # emitted by the system only; no global bears its name
        self.c = c
        self.whole = whole
        self.with_zero = with_zero
        self.abstract = abstract
        self.array = array
        self.rows = rows or {}

    def __repr__(self) -> str:
        return f"#<primitive {self.name}>"


class Backtrace:
    """A line of an error's backtrace: a procedure as people know it, and where it was."""

    __slots__ = ("procedure", "span")

    def __init__(self, procedure: str, span: Span | None) -> None:
        self.procedure = procedure
        self.span = span

    def __str__(self) -> str:
        return f"{self.procedure} at {self.span}" if self.span else self.procedure

    def __repr__(self) -> str:
        return f"<{self}>"
