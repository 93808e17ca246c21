"""The loop language: a typed representation of loops over arrays, from which C and CUDA are printed.

    expressions     the trees of core/expressions.py, with entries of arrays at affine positions, and vectors
    statements      variables, stores, accumulation, loops, branches, versions among which the C compiler chooses
    GPUs            the turn of a thread, and reductions over the threads of a block

The kinds of number are those of core/loop_nests.py, uint64 (integers that wrap), index, flag (a C int) and vectors of reals.
Nodes are immutable; a pass returns new ones. lower.py and lower_parallel.py make them from kernels, order.py lists the passes,
emit/c_loops.py and emit/cuda_loops.py print them and make no decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias, final

from vlad.core.expressions import Expression, Name, Number
from vlad.core.extents import AnExtent

VECTORS = {"float64": "vector of float64", "float32": "vector of float32"}
ENTRIES = {vector: kind for kind, vector in VECTORS.items()}
WRAPPING = "uint64"  # the kind in which integers are computed
# Variables of every function for a GPU: the numbers of the block, and of the thread in it.
BLOCK_INDEX, THREAD_INDEX = "block", "thread"


# Expressions.


class Origin(Enum):
    """What an array is; the values are for display."""

    OPERAND = "a"  # of the kernel, by number; it is only read
    OUTPUT = "o"  # of the kernel, by number
    PART = "p"  # a temporary array of a GPU, by number
    COPY = "kept"  # of the entries of an operand in a block, by the number of the kernel's value
    LANES = "lanes"  # accumulators, by the variable into which they are combined
    SHARED = "shared"  # by the threads of a block, by the variable that is reduced


@final
@dataclass(frozen=True, slots=True)
class Array:
    """`of`: a number or a variable, as its origin says."""

    origin: Origin
    of: int | str
    kind: str

    @property
    def is_given(self) -> bool:
        return self.origin is Origin.OPERAND


@final
@dataclass(frozen=True, slots=True)
class Position:
    """offset + Σ stride · index + Σ stride · value, counted in entries."""

    offset: AnExtent
    strides: tuple[tuple[str, AnExtent], ...] = ()
    at: tuple[tuple[str, AnExtent], ...] = ()

    def stride(self, index: str) -> AnExtent:
        return dict(self.strides).get(index, 0)


@final
@dataclass(frozen=True, slots=True)
class Element:
    """An entry of an array; with `is_vector`, the vector of entries that begins there."""

    array: Array
    position: Position
    is_vector: bool = False


@final
@dataclass(frozen=True, slots=True)
class Scalar:
    """A real operand, by number. `is_there`: on a GPU, where that is an address in its memory."""

    number: int
    is_there: bool = False


@final
@dataclass(frozen=True, slots=True)
class Spread:
    """A vector of a kind, with a number in every lane; the sign of a zero is kept."""

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
    """The address of an entry."""

    entry: Element


Value: TypeAlias = "Expression | Position | Element | Scalar | Spread | Lane | Address"
LEAVES = (Position, Element, Scalar, Spread, Lane, Address)


# Statements.


@final
@dataclass(frozen=True, slots=True)
class Let:
    """A variable that does not change. `number`: of the kernel's value that it holds, if it does."""

    name: str
    kind: str
    value: Any
    number: int = -1


@final
@dataclass(frozen=True, slots=True)
class Variables:
    """Variables that change, and their initial value, if any."""

    names: tuple[str, ...]
    kind: str
    start: Any = None


@final
@dataclass(frozen=True, slots=True)
class Local:
    """A local array of so many entries; `keeps`: it is static, one for each thread."""

    array: Array
    size: int
    start: Any = None
    keeps: bool = False


@final
@dataclass(frozen=True, slots=True)
class Allocate:
    """A new array of so many words; if the caller requests the entries of result `place`, at the address that it passes."""

    array: Array
    words: AnExtent
    place: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Alias:
    """An array at the address of another one."""

    array: Array
    of: Array


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


# How a value is combined with the target: sums and products of numbers of the kind; maximum and minimum, which propagate nan, or
# `greater` and `less`, which do not; and C's own assignments.
COMBINES = ("+", "*", "max", "min", "greater", "less", "add", "subtract", "or")


@final
@dataclass(frozen=True, slots=True)
class Accumulate:
    """Combines a value with its target. `is_atomic`: several threads may have the same target."""

    target: Name | Element
    value: Any
    combine: str
    kind: str
    is_atomic: bool = False


@final
@dataclass(frozen=True, slots=True)
class Simd:
    """The turns of a loop may run in parallel, although they accumulate in variables (`reductions`). `is_left`: the mark is left
    out where the C compiler may reorder sums; `unrolls`: where VLAD_UNROLLS is defined, so many turns are unrolled instead."""

    reductions: tuple[tuple[str, tuple[str, ...]], ...] = ()
    is_left: bool = False
    unrolls: int = 0


@final
@dataclass(frozen=True, slots=True)
class For:
    """A loop up to `end`, exclusive (inclusive if `is_closed`); `begin` None: from the present value of the index. `unroll`: the
    number of turns to unroll, which is all of them."""

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
    def extent(self) -> AnExtent:
        """The number of turns of a loop with known ends."""
        return self.end.value - self.begin.value  # type: ignore[no-any-return]  # values of constants

    @property
    def begins_at_zero(self) -> bool:
        """Does it begin at 0? A loop over what another one has left over does not."""
        return type(self.begin) is Number and type(self.begin.value) is int and self.begin.value == 0


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


class Condition(Enum):
    """What the C compiler or its preprocessor tests to choose a version; the values are for display."""

    ALWAYS = "always"
    VECTORS = (
        "vectors"  # the explicit vectors and the functions on them, which begin with vlad_wide in functions.c
    )
    FAST_MATH = "fast math"  # sums may be reordered
    # A fused multiply-add that is not a call; for floats, also the widest vectors.
    FUSED = "fused multiply-add"
    FUSED_FLOATS = "fused multiply-add of floats"


@final
@dataclass(frozen=True, slots=True)
class Versions:
    """The first case whose condition is true, or `otherwise`."""

    cases: tuple[tuple[Condition, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Speculate:
    """The flag starts as `far`. The first attempt whose condition is true runs, and may set the flag; if there is none, the flag
    is set. If it is set, `otherwise` runs, and replaces all results of the attempt."""

    flag: str
    far: Any
    attempts: tuple[tuple[Condition, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]


@final
@dataclass(frozen=True, slots=True)
class Poll:
    """Ends the call if `vlad_stop` is set; polled every so many turns of the loop with this index. `turns`: of the whole nest."""

    index: str = ""
    every: int = 1
    turns: AnExtent = 0


@final
@dataclass(frozen=True, slots=True)
class Prefetch:
    entry: Element
    ahead: int


# Of GPUs.


@final
@dataclass(frozen=True, slots=True)
class Thread:
    """The number of a thread; those from `count` on return."""

    name: str
    count: int


@final
@dataclass(frozen=True, slots=True)
class Together:
    """Reduces a variable over the threads of a block, as a tree; all of them then have the result."""

    name: str
    kind: str
    combine: str
    gathering: str
    threads: int


@final
@dataclass(frozen=True, slots=True)
class Leader:
    """The following statements are executed by the first thread of a block only."""


Statement: TypeAlias = (
    "Let | Variables | Local | Allocate | Alias | Assign | StoreElement | Accumulate | For | Scope | If | Versions | "
    "Speculate | Poll | Prefetch | Thread | Together | Leader"
)
Body: TypeAlias = "tuple[Statement, ...]"


@final
@dataclass(frozen=True, slots=True)
class Gathered:
    """A variable outside of a nest in which a real is accumulated. `kind`: its own; `of`: that of the numbers."""

    name: str
    kind: str
    of: str
    combine: str
    start: Number


@final
@dataclass(frozen=True, slots=True)
class Parts:
    """A nest is for a part of the `rows` indices of an axis (parts.py), whose loops have `steps` steps for each. `least`: the
    fewest indices of a part."""

    rows: AnExtent
    steps: AnExtent
    least: int


@final
@dataclass(frozen=True, slots=True)
class Nest:
    """Loops over one piece of a kernel. `turns`: their total number; `outputs`: the kinds of all arrays and reals that are
    results of the kernel; `in_place`: does any of them start from another array? `over`: the numbers of operands that outputs
    overwrite although a loop may be repeated; `steps`: the number of values that a turn computes; `parts`: if it is only for a
    part of the kernel."""

    body: Body
    turns: AnExtent
    outputs: tuple[str, ...]
    in_place: bool = False
    gathered: tuple[Gathered, ...] = ()
    over: frozenset[int] = field(default_factory=frozenset)
    steps: int = 0
    parts: Parts | None = None


@final
@dataclass(frozen=True, slots=True)
class Loops:
    """The loops of a kernel for a processor. `declared`: its outputs, with their initial values; `converted`: assigns the reals
    that were accumulated as numbers of another kind. `operands`, `outputs`: their names, for printers only."""

    declared: Body
    nests: tuple[Nest, ...]
    converted: Body
    operands: tuple[str, ...]
    outputs: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """An array, or a real that is passed by value. `number`: the kernel's operands, then its outputs, then the temporary arrays
    for parts."""

    number: int
    array: Array
    is_array: bool = True

    @property
    def is_written(self) -> bool:
        return not self.array.is_given


@final
@dataclass(frozen=True, slots=True)
class GridFunction:
    """A function that is run in so many blocks of threads, `passes` times in sequence; if that is more than once, the number of
    the run is its last argument. `is_long`: its indices need more than 32 bits."""

    name: str
    nest: Nest
    blocks: int
    threads: int
    parameters: tuple[Parameter, ...]
    passes: int
    is_long: bool


# Constructors.


def counted(number: AnExtent) -> Number:
    return Number(number, "int")


def counting(
    index: str, extent: AnExtent, body: Sequence[Statement], begin: AnExtent = 0, **marks: Any
) -> For:
    """A loop from `begin` up to `extent`."""
    return For(index, counted(begin), counted(extent), tuple(body), **marks)
