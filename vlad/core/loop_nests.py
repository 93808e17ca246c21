"""Loops over arrays, as data: what the compiler makes of the rows of tensors.

    Kernel      for every index of a rectangle of known extents: entries of some operands are read, a few scalar rows applied,
                results written, or combined, into new arrays and reals
    Access      the position of an entry, an affine function of the indices. A transposed, repeated or sliced array is therefore
                not materialised: its reader reads the original at other positions
    Choice      one value in a box of the indices, another one elsewhere. A concatenation is therefore not materialised, either
    Routine     other computations: matrix decompositions as in LAPACK, sorting, and cumulative sums

Every value has a kind of number, by its name in the array-API standard: a read value that of its array, a computed value
that of its row's application, to operands that are first converted to this kind. Integers wrap, booleans are 0
and 1, and a test gives 0 or 1 of the kind in which it compares. Tier 0's own rules determine the kinds
(primitives/type_rules.py). The rows' type rules make kernels, compile/passes/fuse_loops.py fuses them, compile/loops/ lowers
them to loops. Compared by content: equal kernels on the same operands are the same computation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

from vlad.core.extents import AnExtent
from vlad.data.values import Primitive

SHORT = 64  # iterations of a kernel that is unrolled completely


@final
@dataclass(frozen=True, slots=True)
class Access:
    """The entry at offset + Σ strides[k]·index[k] + Σ stride·value of `at`, counted in entries. `at` has the numbers of earlier
    reads.
    """

    offset: AnExtent
    strides: tuple[AnExtent, ...]
    at: tuple[tuple[int, AnExtent], ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Read:
    """A value: an entry of the operand of this number; without an access the operand itself, a real; without operand (None) the
    position of the access, as a number.
    """

    operand: int | None
    access: Access | None
    kind: str = "float64"


@final
@dataclass(frozen=True, slots=True)
class Step:
    """A value: a scalar row applied to earlier values. Values are numbered, reads first, then steps and choices. The row `real`
    converts its operand to another kind: a real is truncated to an integer, and nan becomes the least integer.
    """

    row: Primitive
    values: tuple[int, ...]
    kind: str = "float64"

    @property
    def made_alike(self) -> tuple[bool, ...]:
        """For each value: whether it is converted to the step's kind. A condition is taken as it is."""
        return tuple([type_ != "any" for type_ in self.row.type.parameters])


Box: TypeAlias = "tuple[tuple[AnExtent, AnExtent], ...]"  # of indices: along each axis a half-open range


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """A value: the first of two earlier values inside a box of the indices, elsewhere the second, which is of the same kind.
    Only the chosen one is evaluated; the other may be a read out of bounds.
    """

    box: Box
    values: tuple[int, int]


@final
@dataclass(frozen=True, slots=True)
class Output:
    """A new array of `size` entries of a kind; None: a real, which was combined as a number of this kind. Its contents before
    the loops: those of an operand of the same size (`base`), else `fill`; None if every entry is written. Both: an array of
    zeros to which the base would have been added (compile/passes/sparse.py).
    """

    size: AnExtent | None
    fill: float | None = None
    base: int | None = None
    kind: str = "float64"


@final
@dataclass(frozen=True, slots=True)
class Write:
    """Store a value, or combine it with the present one: by "+", "*", "max" or "min". A real has no access. A stored
    value has the kind of the output, except 0 and 1 for booleans; a combined one is converted to it.
    """

    output: int
    value: int
    access: Access | None
    combine: str = ""


SIZES = {"float64": 8, "float32": 4, "int64": 8, "int32": 4, "bool": 1}  # bytes of an entry, by kind


def start(combine: str, kind: str) -> float:
    """The neutral element of a combination of numbers of this kind."""
    if combine in ("+", "*"):
        return float(combine == "*")
    if not is_whole(kind):
        return -math.inf if combine == "max" else math.inf
    most = 1 << (8 * SIZES[kind] - 1)
    return -most if combine == "max" else most - 1


WHOLE = frozenset({"int64", "int32"})


def is_whole(kind: str) -> bool:
    """Whether numbers of this kind are integers."""
    return kind in WHOLE


def words(size: AnExtent, kind: str) -> AnExtent:
    """The memory of `size` entries, in words of 8 bytes."""
    return (size * SIZES[kind] + 7) // 8


@final
@dataclass(frozen=True, slots=True)
class Kernel:
    extents: tuple[AnExtent, ...]
    reads: tuple[Read, ...]
    steps: tuple[Step | Choice, ...]
    outputs: tuple[Output, ...]
    writes: tuple[Write, ...]

    @property
    def turns(self) -> AnExtent:
        return math.prod(self.extents)

    def kind_of(self, value: int) -> str:
        if value < len(self.reads):
            return self.reads[value].kind
        step = self.steps[value - len(self.reads)]
        return self.kind_of(step.values[0]) if type(step) is Choice else step.kind


@final
@dataclass(frozen=True, slots=True)
class Routine:
    """A computation on each of several square matrices of `rows` rows, stored one after the other:

        factors         A = P L U of each: L and U in one matrix, and the row exchanges; a real, not 0 if a U is
                        singular
        solution        of A x = b with `columns` columns, from such factors and b; or of Aᵀ x = b (`transposed`)
        triangular      the same where A itself is lower triangular, in the place of the factors
        determinant     from such factors
        triangle        the lower triangular L of A = L Lᵀ, of symmetric matrices; a real, not 0 if one is not definite
        spectrum        the eigenvalues of symmetric matrices, ascending, and the eigenvectors as columns, with the signs of
                        primitives/decompositions.py; nan if an entry is not finite

    Or on matrices of `rows` rows and `columns` columns, with as many vectors as the smaller number; nan if an entry is not
    finite:

        orthogonal      Q and R of A = Q R, where Q has orthogonal columns and R is upper triangular, positive on the diagonal
        singular        U, the singular values and Vᵀ of A = U S Vᵀ, with signs by the columns of U

    Or on two vectors of `rows` rows:

        order           of words of 64 bits, whose upper and lower halves are in the first and the second vector: the positions of
                        the words in ascending order, stably, as integers

    Or along an axis of an array of a kind, float64, float32 or int64, of `rows` rows and `columns` columns, `extents` times
    one after the other:

        places          of the entries of each column, float64 or int64: in ascending order, stably, nan last
        sums            cumulative sums of the rows, added in sequence; or from the last row backwards (`transposed`)

    `factors` maps each solution to one of the first operand's matrices: batch i_0, i_1, … of `extents` to the
    matrix Σ factors[k]·i_k.
    """

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
        """The approximate number of multiplications and additions."""
        if self.name == "order":
            return 8 * self.rows
        if self.name in ("places", "sums"):
            entries = math.prod(self.extents) * self.rows * self.columns
            return 8 * entries if self.name == "places" else entries
        sides = self.rows, self.columns
        if self.name in ("orthogonal", "singular"):
            return math.prod(self.extents) * math.prod(sides) * min(sides)
        return math.prod(self.extents) * self.rows * self.rows * max(sides)


def contiguous(shape: Sequence[AnExtent]) -> tuple[AnExtent, ...]:
    """The strides of a contiguous array in row-major order."""
    strides: list[AnExtent] = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def broadcast(shape: Sequence[AnExtent], extents: Sequence[AnExtent]) -> Access:
    """The access of an array of a shape, broadcast to `extents`."""
    missing = len(extents) - len(shape)
    strides = [0 if length == 1 else stride for length, stride in zip(shape, contiguous(shape), strict=True)]
    return Access(0, (0,) * missing + tuple(strides))


def is_injective(axes: Iterable[int], strides: Sequence[AnExtent], extents: Sequence[AnExtent]) -> bool:
    """Whether all iterations along these axes write to distinct positions. Sufficient: each stride exceeds the span of the
    smaller ones.
    """
    reach = 0
    for axis in sorted(axes, key=lambda axis: abs(strides[axis])):
        if abs(strides[axis]) <= reach:
            return False
        reach += abs(strides[axis]) * (extents[axis] - 1)
    return True
