"""Groups the writes of a kernel that one function on a GPU performs, and finds the axes along which its turns run in parallel.

In: a kernel.  Out: `WriteGroup`s. Called by lower_parallel.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from vlad.compile.loops.values import loop_order
from vlad.core.loop_nests import Kernel, Write, is_injective, start


class Unfit(Exception):
    """A kernel that cannot be run in parallel; `reason` is a text for users."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@final
@dataclass(frozen=True, slots=True)
class WriteGroup:
    """Writes that are performed in the same way. `kept`: the axes whose turns run in parallel; `gathered`: those over which
    values are accumulated; `passed`: those whose turns run in sequence, since they write to the same places."""

    writes: tuple[Write, ...]
    kept: tuple[int, ...]
    gathered: tuple[int, ...]
    passed: tuple[int, ...]

    def gathering(self) -> list[tuple[str, Write]]:
        """The writes, with the variables in which they are accumulated."""
        return [(f"g{number}", write) for number, write in enumerate(self.writes)]


def write_groups(kernel: Kernel) -> list[WriteGroup]:
    """Writes to one output are performed one after the other, since they may write to the same places."""
    if not kernel.turns:
        return []
    found: dict[object, list[Write]] = {}
    ways = [_axes_by_way(kernel, write) for write in kernel.writes]
    for number, write in enumerate(kernel.writes):
        before = sum([other.output == write.output for other in kernel.writes[:number]])
        found.setdefault((ways[number], before if kernel.turns > 1 else 0), []).append(write)
    return [WriteGroup(tuple(writes), *_axes_by_way(kernel, writes[0])) for writes in found.values()]


def _axes_by_way(kernel: Kernel, write: Write) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The fields `kept`, `gathered` and `passed` of the group for a write."""
    axes = loop_order(kernel)
    if write.access is not None and write.access.at:
        if write.combine not in ("", "+"):
            raise Unfit(f"a {write.combine} at places that are computed")
        return tuple(axes), (), ()
    strides = [0] * len(kernel.extents) if write.access is None else write.access.strides
    gathered = [axis for axis in axes if strides[axis] == 0]
    kept: list[int] = []
    for axis in sorted(set(axes) - set(gathered), key=lambda axis: -kernel.extents[axis]):
        if is_injective([*kept, axis], strides, kernel.extents):
            kept.append(axis)
    passed = [axis for axis in axes if axis not in kept and axis not in gathered]
    if not write.combine and (gathered or passed):
        raise Unfit("a place that is written several times")
    return tuple([axis for axis in axes if axis in kept]), tuple(gathered), tuple(passed)


def is_part(kernel: Kernel, write: Write) -> bool:
    """Does a write combine its accumulated value with the present entry of the output?"""
    if not write.combine:
        return False
    alone = sum([other.output == write.output for other in kernel.writes]) == 1
    at_once = kernel.turns and not (write.access is not None and write.access.at)
    return not (
        alone and at_once and kernel.outputs[write.output].base is None and not _axes_by_way(kernel, write)[2]
    )


def first_fill(kernel: Kernel, number: int) -> float | None:
    combined = [write for write in kernel.writes if write.output == number and write.combine]
    if any(is_part(kernel, write) for write in combined):
        return start(combined[0].combine, kernel.outputs[number].kind)
    return kernel.outputs[number].fill
