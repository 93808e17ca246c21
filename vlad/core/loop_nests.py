"""Loops over arrays, as data: what the compiler makes of the rows of tensors.

    Kernel      for every index of a rectangle of known extents: entries of some operands are read, a few scalar rows applied,
                results written, or added up, into new arrays and reals
    Access      where an entry is, as an affine function of the indices. So a transposed, repeated or cut array is not made: who
                reads it, reads the original elsewhere
    Choice      one value in a box of the indices, another one elsewhere. So what is put together of parts is not made, either
    Routine     what is no loop of that kind: matrices taken apart, as LAPACK does it, orders, and sums of all entries so far

Every value has a kind of number, by the name that the array-API standard has for it: one that is read that of its array, one that
is computed that in which its row is applied, to operands that are made numbers of this kind first. Integers wrap, booleans are 0
and 1, and a test answers 0 or 1 of the kind in which it compares. Which kind that is, tier 0's own rules say when they are asked
(primitives/type_rules.py). The rows' type rules make kernels, compile/passes/fuse_loops.py fuses them, compile/loops/ makes
loops of them. Compared by content: equal kernels on the same operands are the same computation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

from vlad.data.values import Primitive

SHORT = 64  # turns of a kernel that is written out, turn by turn


@final
@dataclass(frozen=True, slots=True)
class Access:
    """The entry at offset + Σ strides[k]·index[k] + Σ stride·value of `at`, counted in entries. `at` has numbers of reads that
    come before."""

    offset: int
    strides: tuple[int, ...]
    at: tuple[tuple[int, int], ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Read:
    """A value: an entry of the operand of this number; without an access the operand itself, a real; of no operand (None) the
    position that the access stands for, as a number."""

    operand: int | None
    access: Access | None
    kind: str = "float64"


@final
@dataclass(frozen=True, slots=True)
class Step:
    """A value: a scalar row of values before it. Values are numbered, reads first, then steps and choices. The row `real` makes
    its operand one of another kind: a real without its fraction an integer, and one that is none the least integer."""

    row: Primitive
    values: tuple[int, ...]
    kind: str = "float64"

    @property
    def made_alike(self) -> tuple[bool, ...]:
        """For each value: is it made a number of the step's kind? A condition is taken as it is."""
        return tuple([kind != "any" for kind in self.row.type.split()[: len(self.values)]])


Box: TypeAlias = (
    "tuple[tuple[int, int], ...]"  # of indices: along each axis from one up to but without another
)


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """A value: where the indices are in a box the first of two values before it, elsewhere the second, which is of the same kind.
    Only the one that is taken is found; the other may be a read of what is not there."""

    box: Box
    values: tuple[int, int]


@final
@dataclass(frozen=True, slots=True)
class Output:
    """A new array of so many entries of a kind; None: a real, which was combined as a number of this kind. What it holds before
    the loops: the contents of an operand of the same size (`base`), else `fill`; None where every entry is written. Both: it was
    zeros, to which the base would have been added (compile/passes/sparse.py)."""

    size: int | None
    fill: float | None = None
    base: int | None = None
    kind: str = "float64"


@final
@dataclass(frozen=True, slots=True)
class Write:
    """A value is stored, or combined with what is there: by "+", "*", "max" or "min". A real has no access. A value that is
    stored has the kind of the output, but for 0 and 1 as booleans; one that is combined is made a number of it."""

    output: int
    value: int
    access: Access | None
    combine: str = ""


SIZES = {"float64": 8, "float32": 4, "int64": 8, "int32": 4, "bool": 1}  # bytes of an entry, by kind


def start(combine: str, kind: str) -> float:
    """What numbers of a kind are combined with first."""
    if combine in ("+", "*"):
        return float(combine == "*")
    if not is_whole(kind):
        return -math.inf if combine == "max" else math.inf
    most = 1 << (8 * SIZES[kind] - 1)
    return -most if combine == "max" else most - 1


def is_whole(kind: str) -> bool:
    """Are these integers?"""
    return kind.startswith("int")


def words(size: int, kind: str) -> int:
    """The memory that so many entries take, in words of 8 bytes."""
    return -(-size * SIZES[kind] // 8)


@final
@dataclass(frozen=True, slots=True)
class Kernel:
    extents: tuple[int, ...]
    reads: tuple[Read, ...]
    steps: tuple[Step | Choice, ...]
    outputs: tuple[Output, ...]
    writes: tuple[Write, ...]

    @property
    def turns(self) -> int:
        return math.prod(self.extents)

    def kind_of(self, value: int) -> str:
        if value < len(self.reads):
            return self.reads[value].kind
        step = self.steps[value - len(self.reads)]
        return self.kind_of(step.values[0]) if type(step) is Choice else step.kind


@final
@dataclass(frozen=True, slots=True)
class Routine:
    """A computation on each of several square matrices of so many rows, one behind the other:

        factors         A = P L U of each: L and U in one matrix, and the rows that were exchanged; a real, not 0 where a U is
                        singular
        solution        of A x = b with so many columns, of such factors and of b; or of Aᵀ x = b (`transposed`)
        triangular      the same where A is a lower triangle itself, in the place of the factors
        determinant     of such factors
        triangle        the lower triangular L of A = L Lᵀ, of symmetric matrices; a real, not 0 where one is not definite
        spectrum        the eigenvalues of symmetric matrices, ascending, and the eigenvectors as columns, each with the sign that
                        primitives/decompositions.py says; nan where an entry is not finite

    Or on matrices of so many rows and columns, of as many vectors as the smaller number says; nan where an entry is not finite:

        orthogonal      Q and R of A = Q R, where Q has orthogonal columns and R is an upper triangle, positive on the diagonal
        singular        U, the singular values and Vᵀ of A = U S Vᵀ, with signs by the columns of U

    Or on two vectors of so many rows:

        order           of words of 64 bits, of which the first has the upper halves and the second the lower ones: the places of
                        the words from the least on, equal ones in turn, as integers

    Or along an axis of an array of a kind, float64, float32 or int64: so many rows, each of so many columns, and as many of that
    behind each other as `extents` says:

        places          of the entries of each column, float64 or int64: from the least on, equal ones in turn, nan last
        sums            of the rows up to each, added one after the other; or from the last one back to each (`transposed`)

    `factors` says, for each solution, which of the first operand's matrices it is by: batch i_0, i_1, … of `extents` by the
    matrix Σ factors[k]·i_k."""

    name: str
    outputs: tuple[Output, ...]
    rows: int
    columns: int
    extents: tuple[int, ...]
    factors: tuple[int, ...] = ()
    transposed: bool = False
    kind: str = "float64"

    @property
    def turns(self) -> int:
        """Products and sums, about."""
        if self.name == "order":
            return 8 * self.rows
        if self.name in ("places", "sums"):
            entries = math.prod(self.extents) * self.rows * self.columns
            return 8 * entries if self.name == "places" else entries
        sides = self.rows, self.columns
        if self.name in ("orthogonal", "singular"):
            return math.prod(self.extents) * math.prod(sides) * min(sides)
        return math.prod(self.extents) * self.rows * self.rows * max(sides)


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of an array whose entries lie in their order."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def broadcast(shape: Sequence[int], extents: Sequence[int]) -> Access:
    """An array of a shape, repeated over extents."""
    missing = len(extents) - len(shape)
    strides = [0 if length == 1 else stride for length, stride in zip(shape, contiguous(shape), strict=True)]
    return Access(0, (0,) * missing + tuple(strides))


def is_apart(axes: Iterable[int], strides: Sequence[int], extents: Sequence[int]) -> bool:
    """Does every turn along these axes write to a place of its own? Sure where each steps over all of the smaller ones."""
    reach = 0
    for axis in sorted(axes, key=lambda axis: abs(strides[axis])):
        if abs(strides[axis]) <= reach:
            return False
        reach += abs(strides[axis]) * (extents[axis] - 1)
    return True
