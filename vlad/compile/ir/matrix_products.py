"""Kernels that are products of matrices, which a BLAS library computes: the parameters of cblas_dgemm or cblas_sgemm, derived
from the strides.

In: a kernel.  Out: a `Product`, or None if it is too small for a call to pay, or has another layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vlad.core.extents import at_most
from vlad.core.loop_nests import Access, Kernel, Step

FEWEST = 1 << 13  # multiplications


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


def as_product(kernel: Kernel) -> Product | None:
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
    kinds: dict[tuple[bool, bool, bool], list[int]] = {}
    for axis, extent in enumerate(kernel.extents):
        if extent != 1:
            strides = (a.access.strides[axis], b.access.strides[axis], write.access.strides[axis])
            kinds.setdefault((strides[0] != 0, strides[1] != 0, strides[2] != 0), []).append(axis)
    batch = kinds.pop((True, True, True), [])
    row, column, term = (
        kinds.pop(kind, []) for kind in ((True, False, True), (False, True, True), (True, True, False))
    )
    if kinds or not len(row) == len(column) == len(term) == 1:
        return None
    (i,), (j,), (k,) = row, column, term
    if write.access.strides[j] != 1:  # the transposed product, with exchanged operands
        a, b, i, j = b, a, j, i
    assert a.access is not None and b.access is not None
    assert a.operand is not None and b.operand is not None
    extents = kernel.extents
    left, right = _matrix(a.operand, a.access, i, k, extents), _matrix(b.operand, b.access, k, j, extents)
    result = _matrix(-1, write.access, i, j, extents)
    if left is None or right is None or result is None or result.transposed:
        return None
    if not is_whole(write.access, [i, j, *batch], extents, output.size):
        return None
    return Product(left, right, result, extents[i], extents[j], extents[k], tuple(batch), output.kind)


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
