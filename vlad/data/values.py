"""The values that programs compute with. Data only; the rules of the language are elsewhere.

Representation. Speed and memory of the evaluator follow from these choices:

    real                 float, exactly that type
    boolean              TRUE, FALSE: not Python's, so that arithmetic on them fails
    empty list           NIL, the empty Python tuple
    pair                 a Python tuple of two: (car, cdr)
    procedure            a Python tuple headed by its Code, then the values of its environment, in the order of
                         `Code.environment`; never of length two: a closure over one value is padded
    AD values            procedures too: (*j v) is a closure of the code `reverse` over v, and so on; these codes are
                         written in the language itself (primitives/transforms.py)
    symbol, string       Symbol, String; a character is a string of one
    tensor               tensors.Tensor
    table                tables.Table
    vector               a closure of the code VECTOR_CODE over the table of its elements (primitives/vectors.py)
    host object          Opaque
    mutable cell         Reference
    known zero           ZERO, the sensitivity or tangent of anything to which nothing contributed
    not yet computed     Deferred: the zero of a structure, a sum of two; becomes a tuple on first access

Python builds a tuple and takes it apart by single instructions: 18 ns and 56 bytes a pair, where a
class with slots costs four times as much (measured, 3.11). Values are immutable and acyclic, but for
cells; a recursive procedure finds itself through its code, never through its environment, so reference counts free everything.

The file is long because it states every kind of value, with the cost of its representation.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import ReferenceType, WeakValueDictionary, ref

from vlad.control.budget import expect_bytes

if TYPE_CHECKING:
    from vlad.data.source import Span

Value = Any
NIL: tuple[()] = ()
LARGEST_WHOLE = 2**53  # beyond it, not every whole number is a real
NUMBERS = frozenset({"real", "number"})  # in the types of primitives: a real, and a real or a tensor


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


# Keyed by the hash of the name. Only the symbol holds the name, so a name of megabytes is freed with the last reference to its
# symbol. Entries of dead symbols are removed now and then. Hash collisions are rare
_symbols: dict[int, tuple[ReferenceType[Symbol], ...]] = {}
_naming = threading.Lock()
FEWEST_SWEPT = 10_000
_most = FEWEST_SWEPT


def symbol(name: str) -> Symbol:
    """Return the unique symbol of this name, while a reference to it exists."""
    for reference in _symbols.get(hash(name), ()):  # as `_known`, which would cost as much again
        found = reference()
        if found is not None and found.name == name:
            return found
    return _named(name)


# By the symbols of their classes: the records of translated Python functions (records.py, which few programs need).
RECORDS: dict[Symbol, Any] = {}


def _known(name: str) -> Symbol | None:
    for reference in _symbols.get(hash(name), ()):
        found = reference()
        if found is not None and found.name == name:
            return found
    return None


def _named(name: str) -> Symbol:
    """Find or make a symbol, under the lock. Weak references have no callback: an asynchronous exception raised in one would be
    lost.
    """
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
    """The number of symbols that are referenced."""
    return sum([one() is not None for of in list(_symbols.values()) for one in of])


class String:
    """Text as a value; not a Python str, so that arithmetic on it fails."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


BYTES_LISTED = 200  # memory of a character in a list, or in a rope


def character_list(text: str) -> Value:
    """The characters of a text as a list of reals, their code points. Raises NoRoom if there is no memory for it."""
    result: Value = NIL
    expect_bytes(BYTES_LISTED * len(text))
    for character in reversed(text):
        result = (float(ord(character)), result)
    return result


def list_of(values: Sequence[Value]) -> Value:
    """A list of these values."""
    result: Value = NIL
    for value in reversed(values):
        result = (value, result)
    return result


Rope: TypeAlias = (
    Any  # a text in compiled code: (), a code point, or (length, (left, right)) (primitives/ropes.py)
)


def rope_size(rope: Rope) -> float:
    """The number of characters."""
    return (rope[0] if rope else 0.0) if type(rope) is tuple else 1.0


def rope_node(left: Rope, right: Rope) -> Rope:
    """Two ropes in a row, neither of which is empty."""
    return (rope_size(left) + rope_size(right), (left, right))


def rope_of(text: str) -> Rope:
    """The balanced rope of a text, in which equal characters are one value. Raises NoRoom if there is no memory for it."""
    expect_bytes(BYTES_LISTED * len(text))
    characters = {character: float(ord(character)) for character in set(text)}

    def between(start: int, end: int) -> Rope:
        if end - start == 1:
            return characters[text[start]]
        half = (start + end) // 2
        return (float(end - start), (between(start, half), between(half, end)))

    return between(0, len(text)) if text else NIL


class Opaque:
    """An opaque Python object: programs can hold it, pass it on and compare it by identity.

    An object has one wrapper while that wrapper is referenced, so wrappers compare by identity, too. It has no tangents.
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
        if isinstance(self.object, Exception):
            return f"#<error {self.object.args[0] if self.object.args else ''}>"
        return f"#<host {type(self.object).__name__}>"


class Reference:
    """A mutable cell, made by `ref`; compared by identity. It is the one value that changes. Its tangent or sensitivity is a cell
    that holds that of its content. `born`: later cells have larger numbers.
    """

    __slots__ = ("content", "born", "__weakref__")
    births = count()

    def __init__(self, content: Value) -> None:
        self.content = content
        self.born = next(self.births)

    def __repr__(self) -> str:
        return "#<ref>"


_wrappers: WeakValueDictionary[int, Opaque] = WeakValueDictionary()  # by the id of the wrapped object
_wrapping = threading.RLock()  # re-entrant: a finaliser that runs meanwhile may wrap an object


def _reset_after_fork() -> None:
    """Replace the locks in a forked child, where the threads that may have held them do not exist."""
    global _naming, _wrapping
    _naming, _wrapping = threading.Lock(), threading.RLock()


os.register_at_fork(after_in_child=_reset_after_fork)


class Zero:
    """The known zero. It adds to anything and each part of it is itself, so speculative code can operate on it."""

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
    """A structure whose parts are computed on first access: `force()` returns a tuple, the same each time.

    `parts` is called once, without arguments, after the values in `needs` are forced. Forcing one level costs O(1), so a
    zero, a sum of sensitivities or a completed sensitivity costs nothing for parts that are never accessed. Never stands for a
    real: those are immediate. `zero_of` is the primal if this is its zero (`plus` then need not force it), else None.
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
        """Force without recursion: a chain of sums may be as long as a loop, so `needs` are forced first."""
        work = [self]
        while work:
            top = work[-1]
            parts = top._parts  # read once: another thread may be forcing it too
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
    """The value itself, with its first level computed if it was deferred."""
    return value.force() if type(value) is Deferred else value


def is_pair(value: Value) -> bool:
    if type(value) is Deferred:  # `look`, inlined: this is the most frequent test
        value = value.force()
    return type(value) is tuple and len(value) == 2


def is_procedure(value: Value) -> bool:
    """Whether a value is a procedure: closures, primitives, AD values of procedures (and, formally, of anything)."""
    if type(value) is Deferred:
        value = value.force()
    return type(value) is tuple and len(value) not in (0, 2)


def closure(code: Code, *environment: Value) -> tuple[Value, ...]:
    """A procedure: its code over the values of its environment. Emitted code builds the same tuple in place."""
    return (code, *environment) if len(environment) != 1 else (code, environment[0], None)


VECTOR_CODE = "vector-items"  # of vectors
FILLED = "%list->vector"  # of the procedure that makes one of a list
CONTROL = "control"  # the transform of code that runs inside a `reset`: the same procedure
STEPPING = "stepping"  # the transform of code that runs step by step: the same procedure


class Role(Enum):
    """The role of the closures of a code. The stage `types` displays the values."""

    RECORD = "record"  # no procedure: its environment are the fields of a record
    RULE = "rule"  # a part of what the system does for a program: its calls are no steps
    TABLE = "table"  # no procedure: a table, as compiled code has it
    VECTOR = "vector"  # no procedure: a vector, which holds the table of its elements
    PROCEDURE = ""  # of a program or of the library, or the result of transforming one
    TAG = "tag"  # an AD value, which wraps another value
    BACKPROPAGATOR = (
        "backpropagator"  # passed by J to programs; it wraps the procedure that the reverse transform made
    )


class RestField(str):
    """The name of the field that takes the rest of a constructor's arguments."""

    __slots__ = ()


SystemCode: TypeAlias = tuple[
    Role, str, dict[str, str]
]  # of a code of the system: its role, the names it is closed over, and texts: of its lambda (""), and of entries by kind


class TangentSpace:
    """What a type of records states of its tangents: each a procedure (on a `Code`), a lambda over nothing (on the Lambda that
    owns the records), or None.

    zero      of the fields of a record, as one argument: the zero of its tangents
    plus      of two tangents that are records of the type: their sum
    tangent   of the fields of a record and their tangents, each as one argument: the tangent of the record; linear in these
    fields    of the fields of a record and its tangent: the list of the tangents of its fields; linear in the tangent

    They are given the fields, not the record, as reverse mode transposes the last two by their reverse derivatives: these are
    by the fields, too, and with a record would be those of reading a field, and so without an end.
    """

    __slots__ = ("fields", "plus", "tangent", "zero")

    def __init__(self, zero: Any, plus: Any, tangent: Any, fields: Any) -> None:
        self.zero = zero
        self.plus = plus
        self.tangent = tangent
        self.fields = fields

    def rules(self) -> tuple[Any, Any, Any, Any]:
        return self.zero, self.plus, self.tangent, self.fields


class Code:
    """The data of one lambda expression: the one mutable record, shared by all its closures.

    `entry1` … `entry4` take the closure and that many operands (the tuple rule covers the rest; a procedure with another number
    of parameters has adapters there); `native` takes the closure and exactly the parameters. All are compiled on first use, and
    tier 1 replaces them. `tail`, `forward`, `control` and `stepping` are the codes of the transformed lambda, over the same
    environment, or None until they are first used. `base` is the code from which transforms derived this one, or itself;
    `transforms` are those that were applied, the last one first. (Handwritten entries, such as those of AD values, have none.)
    `backpropagator_of` is that of its lambda. These fields and `role` identify a code; its name is arbitrary. `counts`: is each
    entry a step of the program? `space`: what the type of records states of its tangents, if it does.
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
        "control",
        "stepping",
        "role",
        "transforms",
        "backpropagator_of",
        "counts",
        "make_lambda",
        "closed",
        "space",
        "__weakref__",
    )

    machine: Any  # the evaluate.machine.Machine it belongs to
    family: Any  # shared by the codes of one top-level form: evaluate.emit_python.Family
    lambda_: Any  # core.nodes.Lambda; None until first needed, then `make_lambda` makes it
    make_lambda: Callable[[], Any] | None
    name: str  # as the user wrote it; '' if anonymous
    arity: int  # number of parameters
    counts: bool
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
    control: Code | None
    stepping: Code | None
    role: Role
    transforms: tuple[str, ...]  # of "reverse", "forward", "control" and "stepping"
    backpropagator_of: str | None
    closed: tuple[Value, ...] | None  # the one closure, where the environment is empty
    space: TangentSpace | None

    @property
    def is_derived(self) -> bool:
        """Did differentiation make it? Not true of a lambda within what a transform made."""
        return self.role is not Role.PROCEDURE or any(
            one not in (CONTROL, STEPPING) for one in self.transforms
        )

    @property
    def is_inside(self) -> bool:
        """Is its lambda inside another one?"""
        outermost = None if self.family is None else self.family.outermost
        return outermost is not None and outermost is not self

    @property
    def derivation(self) -> str:
        """The derivatives in words, to stand before the name: "forward of reverse of "."""
        return "".join([f"{one} of " for one in self.transforms if one not in (CONTROL, STEPPING)])

    def __repr__(self) -> str:
        return f"#<code {self.derivation}{self.name}>"


class Global:
    """A top-level name's cell. `value` is unset until the name is defined."""

    __slots__ = ("name", "value", "primitive", "dependents", "__weakref__")

    def __init__(self, name: str) -> None:
        self.name = name
        self.primitive: Primitive | None = None  # the primitive it holds, until the name is redefined
        self.dependents: Any = None  # codes compiled under the assumption that `primitive` holds

    value: Value

    def __repr__(self) -> str:
        return f"#<global {self.name}>"


class PrimitiveType:
    """The type of a primitive: of its operands (`parameters`) and of its result, each a word such as "real" or "any"."""

    __slots__ = ("parameters", "result")

    def __init__(self, parameters: Sequence[str], result: str) -> None:
        self.parameters = tuple(parameters)
        self.result = result

    def __repr__(self) -> str:
        return " ".join([*self.parameters, "->", self.result])


def primitive_type(text: str) -> PrimitiveType:
    """The type that a row's text states: "real real -> real". The one reader of that notation; equal texts are read once."""
    found = _types.get(text)
    if found is None:
        parameters, arrow, result = text.partition("->")
        if not arrow or not result.strip():
            raise ValueError(f"this is not the type of a primitive: {text}")
        found = _types[text] = PrimitiveType(parameters.split(), result.strip())
    return found


_types: dict[str, PrimitiveType] = {}


class Primitive:
    """A row of the one table: all columns of a primitive operation, side by side.

    operands    names of the operands, which the texts below use: "y x"
    doc         a sentence or two, followed by lines (`examples`) with calls and their output, `CALL  ⇒ VALUE`, and a line
                `⇒ VALUE` for each further line of output; tests/test_help.py runs them
    value       Python function of the operands; the complete rule, raising VladError on a wrong kind. Rows that call
                procedures or need the machine take it as first argument (`needs_machine`)
    python      the fast form as a Python expression over the operands' names. It may raise any Python exception where
                `value` would raise VladError or return a value; then `value` is called. May use the names in `uses`
    type        a PrimitiveType, which tables state as text: "real real -> real". A result "boolean" means `python` gives a
                Python bool. A "number" is a real or a tensor
    partials    for a real function of reals: each operand's partial derivative, as language text over the operands
                and r, the result. Both modes are derived from it. If the derivative alone may overflow or underflow, the
                text is a product with t, a tangent or a sensitivity, in an order that does not; or there are
                several texts, the factors of the derivative, from the operand to the result (ad/rules.steps_of)
    forward     otherwise: text for the result's tangent, over the operands, r, and the tangents, named d + operand
    reverse     otherwise: text for each operand's sensitivity, over the operands, r, and s, the result's sensitivity;
                ~x is the operand x if its shape differs from the result's, else #f, which costs nothing to keep;
                an operand without sensitivity is left out. A constant has `zero` for forward and {} for reverse
    variadic    "left" folds more operands from the left, "chain" compares neighbours; `unary` is then the text of a
                call on x alone and `nullary` the value of a call on nothing
    effect      True: may not be dropped, repeated or moved
    io          "out": it writes text or a file, and returns its operand or nothing; "in": it reads the input
    state       True: it reads or changes a cell. Its derivatives do the same to a cell's shadow (`level` in their texts is the
                place of the level's shadows), so they stand in the transformed code whatever tangents its operands have
    keywords    names and default values of `#:name` operands, in the order of the last operands
    c           for the compiler: a C expression over {operand}s that are doubles, of type double, or int for a boolean.
                core/expressions.py reads it; for floats it is the same, with functions and constants of floats
    whole       the same for integers, over {operand}s of type unsigned long, if it differs from `c`
    with_zero   for a row with `c`: the abstract result if an operand is the known zero (the AbstractMachine is the first
                argument); None if nothing is known
    range_of    for a row of reals: the range of the result from those of the operands, which are not nan (core/ranges.py), or
                None if nothing is known; of one operand the same object only if the result is that operand
    abstract    for a row whose operands are not only reals: its rule on abstract operands, AbstractMachine first
    array       for a function of numbers: the function entry by entry (primitives/elementwise.py)
    rows        for a row that is made when a program runs (host.py) and has its own texts: the rows, by name, that they may use
                besides those of the table
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
        "io",
        "state",
        "needs_machine",
        "keywords",
        "hidden",
        "c",
        "whole",
        "with_zero",
        "range_of",
        "abstract",
        "array",
        "rows",
        "display_name",
        "__weakref__",
    )

    def __init__(
        self,
        name: str,
        operands: str,
        doc: str,
        *,
        value: Callable[..., Value],
        type: str | PrimitiveType,
        python: str = "",
        uses: dict[str, Any] | None = None,
        partials: Mapping[str, str | tuple[str, ...]] | None = None,
        forward: str = "",
        reverse: dict[str, str] | None = None,
        variadic: str = "",
        unary: str = "",
        nullary: Value = None,
        effect: bool = False,
        io: str = "",
        state: bool = False,
        needs_machine: bool = False,
        keywords: dict[str, Value] | None = None,
        hidden: bool = False,
        c: str = "",
        whole: str = "",
        with_zero: Callable[..., Any] | None = None,
        range_of: Callable[..., Any] | None = None,
        abstract: Callable[..., Any] | None = None,
        array: str = "",
        rows: Mapping[str, Primitive] | None = None,
        display_name: str = "",
    ) -> None:
        if (partials is None) == (not forward or reverse is None):
            raise ValueError(f"{name}: state either partials, or both forward and reverse")
        self.name = name
        self.operands = tuple(operands.split())
        self.doc, _, self.examples = doc.partition("\n")
        self.value = value
        self.python = python
        self.uses = uses or {}
        self.type = primitive_type(type) if isinstance(type, str) else type
        self.partials = partials
        self.forward = forward
        self.reverse = reverse
        self.variadic = variadic
        self.unary = unary
        self.nullary = nullary
        self.effect = effect
        self.io = io
        self.state = state
        self.needs_machine = needs_machine
        self.keywords = keywords or {}
        self.hidden = hidden  # only emitted by the system; not bound to a global
        self.c = c
        self.whole = whole
        self.with_zero = with_zero
        self.range_of = range_of
        self.abstract = abstract
        self.array = array
        self.rows = rows or {}
        self.display_name = display_name or name

    def __repr__(self) -> str:
        return f"#<primitive {self.name}>"


class Backtrace:
    """A line of an error's backtrace: the displayed name of a procedure, and its position. `code`: the code that it represents,
    if any, from which the other fields are taken."""

    __slots__ = ("procedure", "span", "name", "derivation", "backpropagator_of")

    def __init__(self, procedure: str, span: Span | None, code: Code | None = None) -> None:
        self.procedure = procedure
        self.span = span
        self.name = procedure if code is None else code.name
        self.derivation = "" if code is None else code.derivation
        self.backpropagator_of = None if code is None else code.backpropagator_of

    def __str__(self) -> str:
        return f"{self.procedure} at {self.span}" if self.span else self.procedure

    def __repr__(self) -> str:
        return f"<{self}>"
