"""Kernels that are products of matrices, which a BLAS library computes: the parameters of cblas_dgemm or cblas_sgemm, derived
from the strides.

In: a kernel.  Out: a `Product`, or None if it is too small for a call to pay, or has another layout. A `Contraction` is a sum of
products over any axes, such as a convolution and its transposes: its blocks are products of matrices (section `contractions` of
runtime.c).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from vlad.core.extents import AnExtent, are_same, at_most, estimate
from vlad.core.loop_nests import Access, Kernel, Read, Step, Write

FEWEST = 1 << 13  # multiplications
FEWEST_OF_BLOCKS = 1 << 14  # the same, of a contraction
NARROW = 4  # rows, columns or terms: with fewer, packing costs more than the library gains


@dataclass(frozen=True, slots=True)
class Matrix:
    """An operand by number, or the result, in rows `leading` entries apart; `transposed`: in columns."""

    operand: int
    access: Access
    transposed: bool
    distance: int


@dataclass(frozen=True, slots=True)
class Product:
    left: Matrix
    right: Matrix
    result: Matrix
    rows: int
    columns: int
    terms: int
    batch: tuple[int, ...]  # axes of the kernel; there is a product for each of their indices
    kind: str  # of all entries


class Axis(NamedTuple):
    """An axis of a contraction: its length, and its strides in the left operand, the right one and the result."""

    length: AnExtent
    left: int
    right: int
    result: int


class Axes(NamedTuple):
    """Axes, outer ones first. Indices of those before `whole` write to places of their own."""

    of: tuple[Axis, ...]
    whole: int


@dataclass(frozen=True, slots=True)
class Contraction:
    """`left`, `right`: the numbers of the operands; `starts`: the offsets of the first entries of both, and of the result;
    `adds`: several products are added in one place; `clears`: the result is zero before."""

    left: int
    right: int
    starts: tuple[AnExtent, AnExtent, AnExtent]
    batch: Axes
    rows: Axes
    columns: Axes
    terms: Axes
    adds: bool
    clears: bool
    kind: str


class _Sum(NamedTuple):
    """A sum of products of the entries of two arrays: both, and the write. Axes of more than one turn, by kind: whether the first
    array, the second one and the result move along them."""

    a: Read
    b: Read
    write: Write
    axes: dict[tuple[bool, bool, bool], list[int]]

    @property
    def accesses(self) -> tuple[Access, Access, Access]:
        assert self.a.access is not None and self.b.access is not None and self.write.access is not None
        return self.a.access, self.b.access, self.write.access


_BATCH, _OF_A, _OF_B, _SUMMED = (
    (True, True, True),
    (True, False, True),
    (False, True, True),
    (True, True, False),
)


def by_library(kernel: Kernel) -> Product | Contraction | None:
    """How a kernel is computed by products of the library, on a processor."""
    return as_product(kernel) or as_contraction(kernel)


def as_product(kernel: Kernel) -> Product | None:
    found = _sum_of(kernel)
    if found is None:
        return None
    a, b, write, axes = found
    row, column, term = [axes.get(kind, []) for kind in (_OF_A, _OF_B, _SUMMED)]
    if not (axes.keys() <= {_BATCH, _OF_A, _OF_B, _SUMMED} and len(row) == len(column) == len(term) == 1):
        return None
    batch, (i,), (j,), (k,) = axes.get(_BATCH, []), row, column, term
    assert write.access is not None
    if write.access.strides[j] != 1:  # the transposed product, with exchanged operands
        a, b, i, j = b, a, j, i
    assert a.access is not None and b.access is not None
    assert a.operand is not None and b.operand is not None
    extents, (output,) = kernel.extents, kernel.outputs
    left, right = _matrix(a.operand, a.access, i, k, extents), _matrix(b.operand, b.access, k, j, extents)
    result = _matrix(-1, write.access, i, j, extents)
    if left is None or right is None or result is None or result.transposed:
        return None
    if not is_whole(write.access, [i, j, *batch], extents, output.size):
        return None
    return Product(left, right, result, extents[i], extents[j], extents[k], tuple(batch), output.kind)


def _sum_of(kernel: Kernel) -> _Sum | None:
    """A kernel that computes a large sum of products of reals of one kind, and nothing else."""
    if (
        at_most(kernel.turns, FEWEST - 1) or len(kernel.reads) != 2 or len(kernel.steps) != 1 or len(kernel.writes) != 1
    ):  # fmt: skip
        return None
    (step,) = kernel.steps
    if type(step) is not Step or step.row.name != "*" or set(step.values) != {0, 1}:
        return None
    (write,), (output,) = kernel.writes, kernel.outputs
    a, b = kernel.reads
    kinds_of_number = {a.kind, b.kind, step.kind, output.kind}
    if kinds_of_number not in ({"float64"}, {"float32"}):
        return None
    is_plain = write.combine == "+" and write.value == 2 and write.access is not None and output.base is None
    if not is_plain or write.access is None or a.access is None or b.access is None:
        return None
    if a.operand is None or b.operand is None or a.access.at or b.access.at or write.access.at:
        return None
    axes: dict[tuple[bool, bool, bool], list[int]] = {}
    for axis, extent in enumerate(kernel.extents):
        if extent != 1:
            strides = (a.access.strides[axis], b.access.strides[axis], write.access.strides[axis])
            axes.setdefault((strides[0] != 0, strides[1] != 0, strides[2] != 0), []).append(axis)
    return _Sum(a, b, write, axes)


def as_contraction(kernel: Kernel) -> Contraction | None:
    if at_most(kernel.turns, FEWEST_OF_BLOCKS - 1):
        return None
    found = _sum_of(kernel)
    if found is None or not found.axes.keys() <= {_BATCH, _OF_A, _OF_B, _SUMMED}:
        return None
    a, b, to = found.accesses
    if not all(type(stride) is int and stride >= 0 for one in (a, b, to) for stride in one.strides):
        return None
    extents, (output,) = kernel.extents, kernel.outputs
    batch, row, column, term = [found.axes.get(kind, []) for kind in (_BATCH, _OF_A, _OF_B, _SUMMED)]
    if min([_count(axes, extents) for axes in (row, column, term)]) < NARROW:
        return None
    left, right = found.a.operand, found.b.operand
    assert left is not None and right is not None

    def innermost(axes: Sequence[int]) -> tuple[int, int]:
        axis = min(axes, key=lambda axis: (to.strides[axis], -estimate(extents[axis])))
        return to.strides[axis], -estimate(extents[axis])

    if innermost(row) < innermost(column):  # the transposed product
        a, b, left, right, row, column = b, a, right, left, column, row
    apart, covers = _apart([*batch, *row, *column], to, extents, output.size)
    alone = apart.union(term)
    if not apart.issuperset(batch):
        return None

    def group(axes: Sequence[int]) -> Axes:
        moving = sorted(axes, key=lambda axis: (-to.strides[axis], -max(a.strides[axis], b.strides[axis])))
        made = [Axis(extents[axis], a.strides[axis], b.strides[axis], to.strides[axis]) for axis in moving]
        return Axes(tuple(made), len([axis for axis in moving if axis in alone]))

    adds = len(apart) < len(batch) + len(row) + len(column)
    return Contraction(
        left, right, (a.offset, b.offset, to.offset), group(batch), group(row), group(column), group(term), adds,
        adds or not covers, output.kind,
    )  # fmt: skip


def _count(axes: Sequence[int], extents: Sequence[AnExtent]) -> int:
    return math.prod([estimate(extents[axis]) for axis in axes])


def _apart(
    axes: Sequence[int], to: Access, extents: Sequence[AnExtent], size: AnExtent | None
) -> tuple[set[int], bool]:
    """The axes of the largest strides whose indices write to places of their own, whatever the other indices are; and whether
    each entry of the array is written once."""
    order = sorted(axes, key=lambda axis: to.strides[axis])
    reach: AnExtent = 0
    count: AnExtent = 1
    is_apart, covers = [], to.offset == 0
    for place, axis in enumerate(order):
        stride = to.strides[axis]
        is_next = place + 1 < len(order) and to.strides[order[place + 1]] == stride
        is_apart.append(type(reach) is int and stride > reach and not is_next)
        covers = covers and are_same(stride, count)
        reach, count = reach + stride * (extents[axis] - 1), count * extents[axis]
    first = max([place + 1 for place, one in enumerate(is_apart) if not one], default=0)
    return set(order[first:]), covers and are_same(count, size)


def _matrix(operand: int, access: Access, row: int, column: int, extents: Sequence[int]) -> Matrix | None:
    """The matrix if its rows, or columns, are contiguous and regularly spaced."""
    down, along = access.strides[row], access.strides[column]
    if along == 1 and down >= extents[column]:
        return Matrix(operand, access, False, down)
    return Matrix(operand, access, True, along) if down == 1 and along >= extents[row] else None


def is_whole(access: Access, axes: Sequence[int], extents: Sequence[int], size: int | None) -> bool:
    """Whether the access covers every entry of an array of this size exactly once, as a library's product does."""
    count = 1
    for axis in sorted(axes, key=lambda axis: access.strides[axis]):
        if access.strides[axis] != count:
            return False
        count *= extents[axis]
    return access.offset == 0 and count == size
