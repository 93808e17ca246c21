"""Long kernels in parts, which several threads may run: the kernel of one part, and what is joined after all.

In: a kernel without choices.  Out: the same over some of the indices of one axis, or None. Called by lower.py.

The number of parts depends on the extents only, so each reduction is the same tree for any number of threads. Parts write to
different places: along the axis, the positions of each write lie further apart than along all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from vlad.compile.loops.ir import Parts
from vlad.compile.loops.values import loop_order
from vlad.compile.loops.walking import within
from vlad.core.expressions import Call, read
from vlad.core.extents import LEAST, AnExtent, Extent, Guards, Size, are_same, estimate
from vlad.core.loop_nests import Access, Kernel, Step, contiguous, is_injective

# Some 25 us a part, and 100 us of a kernel that is divided; a call of a function counts as several steps.
STEPS_OF_A_PART, FEWEST_STEPS, STEPS_OF_A_CALL = 1 << 16, 1 << 18, 8
# Of a kernel bound by memory as many times more: of 10^6 entries one processor takes them faster than two from the other's cache.
TIMES_MOVING = 8
MOST_PARTS = 256
FEWEST_ROWS = 32  # along the outermost axis; otherwise the longest one is divided
FEWEST_INSIDE = 512  # in a part of the innermost of several axes, along which arrays are contiguous
FIRST, COUNT = "vlad_first", "vlad_count"  # variables of C: the first index of a part, and how many


class Part(NamedTuple):
    kernel: Kernel
    parts: Parts


def may_be_divided(kernel: Kernel) -> bool:
    """Has it enough steps? That of a size in code for many sizes is the one of the call at hand."""
    turns = kernel.turns
    if type(turns) is Extent and turns.late:
        return False
    fewest = FEWEST_STEPS * (TIMES_MOVING if _moves(kernel) else 1)
    return (turns.now if type(turns) is Extent else turns) * _steps(kernel) >= fewest


def _moves(kernel: Kernel) -> bool:
    """Does it little more than to read and to write entries?"""
    if any(type(step) is Step and _calls(step) for step in kernel.steps):
        return False
    accesses = [one.access for one in kernel.reads] + [one.access for one in kernel.writes]
    entries = len([access for access in accesses if access is not None])
    return len(kernel.steps) < entries + len([write for write in kernel.writes if write.combine])


def _steps(kernel: Kernel) -> int:
    calls = [step for step in kernel.steps if type(step) is Step and _calls(step)]
    return 1 + STEPS_OF_A_CALL * len(calls)


def _calls(step: Step) -> bool:
    return any(type(part) is Call for part in within(read(step.row.c)))


def divided(kernel: Kernel) -> Part | None:
    if not may_be_divided(kernel) or _meet(kernel):
        return None
    axes = [axis for axis in loop_order(kernel) if _is_apart(kernel, axis)]
    if not axes:
        return None
    lengths = {axis: estimate(kernel.extents[axis]) for axis in axes}
    axis = next((axis for axis in axes if lengths[axis] >= FEWEST_ROWS), max(axes, key=lengths.__getitem__))
    rows = kernel.extents[axis]
    others = [extent for other, extent in enumerate(kernel.extents) if other != axis]
    steps: AnExtent = _steps(kernel)
    for extent in others:
        steps = steps * extent
    is_inside = len(kernel.extents) > 1 and axis == loop_order(kernel)[-1]
    parts = Parts(rows, steps, FEWEST_INSIDE if is_inside else LEAST)
    each = rows_of_part(parts)
    if estimate(rows) < 2 * each:
        return None
    first, count = _sizes(each, each if type(rows) is int and type(steps) is int else LEAST)

    def moved(access: Access | None) -> Access | None:
        return access and replace(access, offset=access.offset + first * access.strides[axis])

    extents = tuple([count if one == axis else extent for one, extent in enumerate(kernel.extents)])
    reads = tuple([replace(one, access=moved(one.access)) for one in kernel.reads])
    writes = tuple([replace(one, access=moved(one.access)) for one in kernel.writes])
    return Part(replace(kernel, extents=extents, reads=reads, writes=writes), parts)


def rows_of_part(parts: Parts) -> int:
    """The indices of a part, about, if sizes are not known. The last part has the rest, too. `vlad_rows_of_part` in runtime.c."""
    return max(
        parts.least, -(-STEPS_OF_A_PART // estimate(parts.steps)), -(-estimate(parts.rows) // MOST_PARTS)
    )


def _sizes(each: int, least: int) -> tuple[Extent, Extent]:
    """The first index of a part, not known to be 0, and the number of them."""
    guards = Guards()
    guards.closed = True
    first, count = Size(-1, each, 1, name=FIRST), Size(-2, each, least, name=COUNT)
    return Extent(guards, {(first,): 1}), Extent(guards, {(count,): 1})


def _meet(kernel: Kernel) -> bool:
    """Do several writes combine what they write in one array, at places of their own? Those of two parts may be the same."""
    return any(
        write.combine and other.output == write.output and other.access != write.access
        for write in kernel.writes
        for other in kernel.writes
    )


def _is_apart(kernel: Kernel, axis: int) -> bool:
    """Do different indices along the axis write to different places, or combine what they write in a real?"""
    return all(
        bool(write.combine) if write.access is None else _writes_apart(write.access, axis, kernel.extents)
        for write in kernel.writes
    )


def _writes_apart(access: Access, axis: int, extents: Sequence[AnExtent]) -> bool:
    moving = [
        at
        for at, stride in enumerate(access.strides)
        if not are_same(extents[at], 1) and not are_same(stride, 0)
    ]
    if access.at or axis not in moving:
        return False
    strides, lengths = [access.strides[at] for at in moving], [extents[at] for at in moving]
    if all(type(one) is int for one in (*strides, *lengths)):
        is_widest = abs(access.strides[axis]) == max(map(abs, strides))
        return is_widest and is_injective(range(len(moving)), strides, lengths)
    return axis == moving[0] and all(map(are_same, strides, contiguous(lengths)))
