"""Loops over arrays, as data: what the compiler makes of the rows of tensors.

    Kernel      for every index of a rectangle of known extents: entries of some operands are read, a few scalar rows applied,
                results written, or added up, into new arrays and reals
    Access      where an entry is, as an affine function of the indices. So a transposed, repeated or cut array is not made: who
                reads it, reads the original elsewhere
    Routine     what is no loop of that kind: matrices taken apart, as LAPACK does it

Entries are doubles, whatever their kind is to the language (booleans are 0 and 1). The rows' type rules (primitives/kernels.py)
make kernels, compile/kernels.py puts them into each other, compile/emit_kernels.py writes them out. Compared by content: equal
kernels on the same operands are the same computation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from vlad.values import Primitive


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


@final
@dataclass(frozen=True, slots=True)
class Step:
    """A value: a scalar row of values before it. Values are numbered, reads first, then steps."""

    row: Primitive
    values: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Output:
    """A new array of so many entries; None: a real. What it holds before the loops: the contents of an operand of the same
    size (`base`), else `fill`; None where every entry is written."""

    size: int | None
    fill: float | None = None
    base: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Write:
    """A value is stored, or combined with what is there: by "+", "*", "max" or "min". A real has no access."""

    output: int
    value: int
    access: Access | None
    combine: str = ""


START = {"+": 0.0, "*": 1.0, "max": -math.inf, "min": math.inf}  # of what is combined


@final
@dataclass(frozen=True, slots=True)
class Kernel:
    extents: tuple[int, ...]
    reads: tuple[Read, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Output, ...]
    writes: tuple[Write, ...]

    @property
    def turns(self) -> int:
        return math.prod(self.extents)


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
        singular        U, the singular values and Vᵀ of A = U S Vᵀ; nan where that is not found

    `factors` says, for each solution, which of the first operand's matrices it is by: batch i_0, i_1, … of `extents` by the
    matrix Σ factors[k]·i_k."""

    name: str
    outputs: tuple[Output, ...]
    rows: int
    columns: int
    extents: tuple[int, ...]
    factors: tuple[int, ...] = ()
    transposed: bool = False


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
