"""Which variables of a program count, so that C keeps them as integers.

In: the functions of a program, and its entries.  Out: the slots. Used by definitions.py.

A counter of a loop begins at a whole number, and each turn adds a small whole number to it. As a double it is converted to an
integer for each entry of an array that it leads to, and the C compiler finds no address that moves on by a constant: a loop over
a table takes up to twice the time. So those that lead to an entry are integers. None is -0.0, which no sum of others is, or above
2**53, from where on doubles are not exact: by steps of at most `MOST_STEP`, a loop gets there in days.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vlad.compile.ir.program import (
    Branch,
    Compute,
    Each,
    Function,
    Invoke,
    Leaf,
    Slot,
    Switch,
    TailInvoke,
    Yield,
    blocks,
    inner_blocks,
)
from vlad.core.extents import Extent
from vlad.core.loop_nests import Kernel

MOST_STEP = 16.0  # what a turn adds
MOST = float(1 << 31)  # where a counter begins, and what is added to one for an entry of its own
SUMS = ("+", "-")


def counters(functions: Sequence[Function], entries: Sequence[Function]) -> frozenset[Slot]:
    """The numbers that lead to entries of arrays, and all that these are made of, as far as they are counted. Callers pass
    doubles to `entries`."""
    wanted = {slot for function in functions for slot in _places(function)}
    if not wanted:
        return frozenset()
    sources = _Sources(functions, set(entries))
    found: dict[Slot, list[Slot]] = {}  # what is made of each
    failed: list[Slot] = []
    work = list(wanted)
    for slot in work:
        found.setdefault(slot, [])
    while work:
        slot = work.pop()
        parts = sources.parts(slot)
        if parts is None:
            failed.append(slot)
            continue
        for part in parts:
            if part not in found:
                found[part] = []
                work.append(part)
            found[part].append(slot)
    fails = set(failed)
    while failed:
        for made in found[failed.pop()]:
            if made not in fails:
                fails.add(made)
                failed.append(made)
    return frozenset(found.keys() - fails)


def _values_of_places(kernel: Kernel) -> set[int]:
    """The values of a kernel that lead to entries."""
    accesses = [read.access for read in kernel.reads] + [write.access for write in kernel.writes]
    return {value for access in accesses if access is not None for value, _ in access.at}


def _places(function: Function) -> Iterable[Slot]:
    for block in blocks(function.body):
        for one in block.statements:
            if type(one) is Each and one.is_loop:
                reads = one.kernel.reads
                for value in _values_of_places(one.kernel):
                    read = reads[value] if value < len(reads) else None
                    if read is not None and read.operand is not None and read.access is None:
                        leaf = one.operands[read.operand]
                        if type(leaf) is Slot:
                            yield leaf


class _Sources:
    """Of what each slot is made. `given`: parameters, of the operands of all calls; `made`: sums, and results of branches."""

    def __init__(self, functions: Sequence[Function], entries: set[Function]) -> None:
        self.given: dict[Slot, list[Leaf]] = {}
        self.made: dict[Slot, Compute | list[Leaf]] = {}
        for function in functions:
            if function not in entries:
                self.given.update({slot: [] for slot in function.parameters})
        for function in functions:
            for block in blocks(function.body):
                for one in (*block.statements, block.end):
                    if type(one) is Compute:
                        if one.row.name in SUMS and len(one.operands) == 2:
                            self.made[one.slot] = one
                    elif type(one) is Branch or type(one) is Switch:
                        ends = [inner.end for inner in inner_blocks(one)]
                        yielded = [end.leaves for end in ends if type(end) is Yield]
                        self.made |= {slot: [own[at] for own in yielded] for at, slot in enumerate(one.slots)}
                    elif (type(one) is Invoke or type(one) is TailInvoke) and one.function not in entries:
                        for slot, leaf in zip(one.function.parameters, one.operands, strict=True):
                            self.given[slot].append(leaf)

    def parts(self, slot: Slot) -> list[Slot] | None:
        """The slots of which a counter is made; None if it does not count."""
        given = self.given.get(slot)
        leaves = _operands(self.made.get(slot)) if given is None else given
        slots = [leaf for leaf in leaves if type(leaf) is Slot]
        if not leaves or not all(type(leaf) is Slot or _is_whole(leaf) for leaf in leaves):
            return None
        return slots if given is None or all(map(self._is_step, slots)) else None

    def _is_step(self, slot: Slot) -> bool:
        """May a turn pass it to the next one? A sum of two counters might double in each turn."""
        work, seen = [slot], {slot}
        while work:
            made = self.made.get(work.pop())
            operands = _operands(made)
            if isinstance(made, Compute):
                x, y = operands if type(operands[0]) is Slot or made.row.name == "-" else operands[::-1]
                if type(x) is not Slot or type(y) is not float or abs(y) > MOST_STEP:
                    return False
            new = [leaf for leaf in operands if type(leaf) is Slot and leaf not in seen]
            seen.update(new)
            work += new
        return True


def _operands(made: Compute | list[Leaf] | None) -> Sequence[Leaf]:
    return made.operands if isinstance(made, Compute) else made or ()


def _is_whole(leaf: Leaf) -> bool:
    """Is a constant a whole number that is not large, and not -0.0?"""
    if type(leaf) is Extent:
        return True
    return type(leaf) is float and leaf.is_integer() and abs(leaf) <= MOST and str(leaf) != "-0.0"
