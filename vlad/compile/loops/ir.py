"""The loop language: what loops over arrays do, typed, before they are text in C or CUDA.

    expressions     core/expressions.py's trees, and here entries of arrays at affine positions, and vectors
    statements      variables, stores, what is combined with what is there, loops, branches, versions for the C compiler to choose
    GPUs            which turn is a thread's, and what the threads of a block combine

Kinds of number are those of core/loop_nests.py, and beside them uint64 (integers that wrap), index, flag (a C int) and vectors of
reals. Nodes are immutable; a pass answers new ones. lower.py and lower_parallel.py make them of kernels, order.py lists the
passes, emit/c_loops.py and emit/cuda_loops.py print them and decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, final

from vlad.core.expressions import Expression, Name, Number, parts, with_parts

VECTORS = {"float64": "vector of float64", "float32": "vector of float32"}
ENTRIES = {vector: kind for kind, vector in VECTORS.items()}
WRAPPING = "uint64"  # the kind in which integers are computed


# Expressions.


@final
@dataclass(frozen=True, slots=True)
class Array:
    """`name`: the C for where it begins; `is_given`: an operand, which is only read; `number`: a GPU's parameter."""

    name: str
    kind: str
    is_given: bool = False
    number: int = -1


@final
@dataclass(frozen=True, slots=True)
class Position:
    """offset + Σ stride · index + Σ stride · value, counted in entries."""

    offset: int
    strides: tuple[tuple[str, int], ...] = ()
    at: tuple[tuple[str, int], ...] = ()

    def stride(self, index: str) -> int:
        return dict(self.strides).get(index, 0)


@final
@dataclass(frozen=True, slots=True)
class Element:
    """Of an array; with `is_vector` as many from there on as a vector has."""

    array: Array
    position: Position
    is_vector: bool = False


@final
@dataclass(frozen=True, slots=True)
class Scalar:
    """A real that the loops are given: its C; on a GPU a parameter, which may lie in its memory."""

    name: str
    number: int = -1
    is_there: bool = False


@final
@dataclass(frozen=True, slots=True)
class Spread:
    """A number as a vector of a kind, a zero's sign included."""

    value: Any
    kind: str


@final
@dataclass(frozen=True, slots=True)
class Lane:
    """An entry of a vector."""

    vector: str
    index: str


@final
@dataclass(frozen=True, slots=True)
class Address:
    """Where an entry is in memory."""

    entry: Element


Value: TypeAlias = "Expression | Position | Element | Scalar | Spread | Lane | Address"
LEAVES = (Position, Element, Scalar, Spread, Lane, Address)


# Statements.


@final
@dataclass(frozen=True, slots=True)
class Let:
    """A variable that does not change."""

    name: str
    kind: str
    value: Any


@final
@dataclass(frozen=True, slots=True)
class Variables:
    """Variables that change, and what they hold first, if anything."""

    names: tuple[str, ...]
    kind: str
    start: Any = None


@final
@dataclass(frozen=True, slots=True)
class Local:
    """An array of so many entries of its own; `keeps`: it is the same in all calls."""

    array: Array
    size: int
    start: Any = None
    keeps: bool = False


@final
@dataclass(frozen=True, slots=True)
class Allocate:
    """A new array of so many words; at a place, if that is not null."""

    array: Array
    words: int
    place: str = ""


@final
@dataclass(frozen=True, slots=True)
class Alias:
    """An array that lies where another one does."""

    array: Array
    of: str


@final
@dataclass(frozen=True, slots=True)
class Assign:
    name: str
    value: Any


@final
@dataclass(frozen=True, slots=True)
class StoreElement:
    entry: Element
    value: Any


# How a value is combined with what is there: sums and products of numbers of the kind; the greatest or least, where nan stays,
# whatever comes, or where nan is looked for elsewhere; and C's own assignments.
COMBINES = ("+", "*", "max", "min", "greater", "less", "add", "subtract", "or")


@final
@dataclass(frozen=True, slots=True)
class Accumulate:
    """`is_atomic`: threads meet there."""

    target: Name | Element
    value: Any
    combine: str
    kind: str
    is_atomic: bool = False


@final
@dataclass(frozen=True, slots=True)
class Simd:
    """The turns of a loop may be taken in parallel, though they combine something in variables. `is_left`: not where the C
    compiler may reorder sums; `unrolls`: where it is asked to, it takes several turns at a time instead."""

    reductions: tuple[tuple[str, tuple[str, ...]], ...] = ()
    is_left: bool = False
    unrolls: int = 0


@final
@dataclass(frozen=True, slots=True)
class For:
    """A loop, up to but without `end` (with it, where `is_closed`); `begin` None: the index goes on from what it is. `unroll`:
    all that many turns are written out."""

    index: str
    begin: Any
    end: Any
    body: tuple[Statement, ...]
    step: Any = 1
    is_closed: bool = False
    declares: bool = True
    simd: Simd | None = None
    unroll: int = 0

    @property
    def extent(self) -> int:
        """Of a loop whose ends are known."""
        return int(self.end.value) - int(self.begin.value)


@final
@dataclass(frozen=True, slots=True)
class Scope:
    body: tuple[Statement, ...]


@final
@dataclass(frozen=True, slots=True)
class If:
    test: Any
    consequent: tuple[Statement, ...]
    alternative: tuple[Statement, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Versions:
    """The first whose condition the C compiler finds true when it compiles, else the other."""

    cases: tuple[tuple[str, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Speculate:
    """The flag is set at first where `far` holds. The first of the attempts whose condition the C compiler finds true (no
    condition: always) may set it; where there is none it is set. Where it is set, the rest is done, as if nothing had been."""

    flag: str
    far: Any
    attempts: tuple[tuple[str, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]


@final
@dataclass(frozen=True, slots=True)
class Poll:
    """Asks whether to end: every so many turns of the loop of that index."""

    index: str = ""
    every: int = 1


@final
@dataclass(frozen=True, slots=True)
class Prefetch:
    entry: Element
    ahead: int


# Of GPUs.


@final
@dataclass(frozen=True, slots=True)
class Thread:
    """The number of a thread among all, of which so many have something to do."""

    name: str
    count: int


@final
@dataclass(frozen=True, slots=True)
class Together:
    """What so many threads of a block hold in a variable is combined in pairs; all of them have it then."""

    name: str
    kind: str
    combine: str
    gathering: str
    threads: int


@final
@dataclass(frozen=True, slots=True)
class Leader:
    """What follows is done by the first thread of a block."""


Statement: TypeAlias = (
    "Let | Variables | Local | Allocate | Alias | Assign | StoreElement | Accumulate | For | Scope | If | Versions | "
    "Speculate | Poll | Prefetch | Thread | Together | Leader"
)
Body: TypeAlias = "tuple[Statement, ...]"


@final
@dataclass(frozen=True, slots=True)
class Nest:
    """Loops over one piece of a kernel. `turns`: of all of them; `outputs`: the kinds of all arrays and reals that the kernel
    answers; `in_place`: may any of them hold something before; `gathered`: the variables outside in which reals are gathered, and
    their kinds; `over`: the operands over which outputs lie though a loop may be run twice; `steps`: how many values a turn
    computes."""

    body: Body
    turns: int
    outputs: tuple[str, ...]
    in_place: bool = False
    gathered: tuple[tuple[str, str], ...] = ()
    over: frozenset[str] = field(default_factory=frozenset)
    steps: int = 0


# Walking.


NESTING = frozenset({For, Scope, If, Versions, Speculate})  # what has statements within it


def inner_bodies(statement: Statement) -> Sequence[Body]:
    if type(statement) not in NESTING:
        return ()
    match statement:
        case For() | Scope():
            return (statement.body,)
        case If():
            return statement.consequent, statement.alternative
        case Versions():
            return *[body for _, body in statement.cases], statement.otherwise
        case Speculate():
            return *[body for _, body in statement.attempts], statement.otherwise
    return ()


def with_bodies(statement: Statement, found: Sequence[Body]) -> Statement:
    """The same of other bodies; itself where these are its own."""
    if all(one is other for one, other in zip(inner_bodies(statement), found, strict=True)):
        return statement
    match statement:
        case For() | Scope():
            return replace(statement, body=found[0])
        case If():
            return If(statement.test, *found)
        case Versions():
            cases = zip([condition for condition, _ in statement.cases], found, strict=False)
            return Versions(tuple(cases), found[-1])
        case Speculate():
            attempts = zip([condition for condition, _ in statement.attempts], found, strict=False)
            return replace(statement, attempts=tuple(attempts), otherwise=found[-1])
    return statement


def statements(body: Body) -> Iterator[Statement]:
    """All, those within others included, in the order of the text."""
    for statement in body:
        yield statement
        if type(statement) in NESTING:
            for inner in inner_bodies(statement):
                yield from statements(inner)


def mapped(body: Body, change: Callable[[Statement], Sequence[Statement]]) -> Body:
    """Each statement replaced by others, the inner ones first."""
    found: list[Statement] = []
    for statement in body:
        inner = inner_bodies(statement)
        changed = with_bodies(statement, [mapped(one, change) for one in inner]) if inner else statement
        found += change(changed)
    is_same = len(found) == len(body) and all(one is other for one, other in zip(found, body, strict=True))
    return body if is_same else tuple(found)


def is_innermost(statement: Statement) -> bool:
    return type(statement) is For and not any(type(one) is For for one in statements(statement.body))


def values_of(statement: Statement) -> Sequence[Value]:
    """The expressions of a statement itself."""
    match statement:
        case Let():
            return (statement.value,)
        case Variables():
            return () if statement.start is None else (statement.start,)
        case Local():
            return () if statement.start is None else (statement.start,)
        case Assign():
            return (statement.value,)
        case StoreElement():
            return statement.entry, statement.value
        case Accumulate():
            return statement.target, statement.value
        case For():
            ends = [statement.begin, statement.end, statement.step]
            return [one for one in ends if one is not None and type(one) is not int]
        case If():
            return (statement.test,)
        case Speculate():
            return (statement.far,)
        case Prefetch():
            return (statement.entry,)
    return ()


def within(value: Value) -> Iterator[Value]:
    """A value and all within it."""
    yield value
    match value:
        case Element():
            yield value.position
        case Spread():
            yield from within(value.value)
        case Address():
            yield from within(value.entry)
        case Position() | Scalar() | Lane():
            pass
        case _:
            for part in parts(value):
                yield from within(part)


def operands_of(value: Value) -> Sequence[Expression]:
    """What an operation is applied to; of what is none, nothing."""
    return () if isinstance(value, LEAVES) else parts(value)


def names_in(value: Value) -> Iterator[str]:
    """The variables that a value is found from."""
    for one in within(value):
        match one:
            case Name():
                yield one.name
            case Position():
                yield from [name for name, _ in (*one.strides, *one.at)]
            case Lane():
                yield from (one.vector, one.index)


def replaced(value: Any, instead: Callable[[Any], Any]) -> Any:
    """A value in which some parts are others: `instead` answers None for those that stay."""
    found = instead(value)
    if found is not None:
        return found
    match value:
        case Element() | Position() | Scalar() | Lane() | Address():
            return value
        case Spread():
            return replace(value, value=replaced(value.value, instead))
    inner = parts(value)
    return with_parts(value, [replaced(part, instead) for part in inner]) if inner else value


def retargeted(body: Body, targets: Mapping[str, Name | Element]) -> Body:
    """What is combined in some variables is combined elsewhere."""

    def change(statement: Statement) -> Sequence[Statement]:
        if (
            type(statement) is Accumulate
            and type(statement.target) is Name
            and statement.target.name in targets
        ):
            return [replace(statement, target=targets[statement.target.name])]
        return [statement]

    return mapped(body, change)


def definitions(body: Body) -> dict[str, Let]:
    return {one.name: one for one in statements(body) if type(one) is Let}


def counted(number: int) -> Number:
    return Number(number, "int")


def counting(index: str, extent: int, body: Sequence[Statement], begin: int = 0, **marks: Any) -> For:
    """A loop over so many turns."""
    return For(index, counted(begin), counted(extent), tuple(body), **marks)
