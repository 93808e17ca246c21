"""Which new arrays of a function may reuse the memory of an array that is dead.

In: a function.  Out: for each of its loops, by the number of an output, the number of the operand whose memory it may use. So a
network's layer has one array for its sums and its results, as in handwritten C: if both fit into a
cache, half as much memory traffic goes beyond it.

An operand's memory is free if this loop is the last to read it, and only loops have read it: an array passed to a box, to
a procedure or out of a block may be reachable from elsewhere. A loop that computes an entry of the output only from the operand's
entry at the same position may overwrite it; so may one that does not read the operand, but starts with its contents.
"""

from __future__ import annotations

from vlad.compile.ir.program import Block, Each, Function, Leaf, Slot, inner_blocks, leaves_read, statements
from vlad.core.extents import are_same
from vlad.core.loop_nests import Kernel, Output


def places_taken(function: Function) -> dict[Each, dict[int, int]]:
    made = {
        slot: output
        for one in statements(function.body)
        if type(one) is Each and one.is_loop
        for slot, output in zip(one.slots, one.kernel.outputs, strict=True)
    }
    found: dict[Each, dict[int, int]] = {}
    for loop, free in _last_readers(function.body).items():
        taken: dict[int, int] = {}
        for operand, leaf in enumerate(loop.operands):
            if type(leaf) is Slot and leaf in free and leaf in made and loop.operands.count(leaf) == 1:
                output = next(
                    (
                        number
                        for number in range(len(loop.kernel.outputs))
                        if number not in taken and _fits(loop.kernel, number, operand, made[leaf])
                    ),
                    None,
                )
                if output is not None:
                    taken[output] = operand
        found[loop] = taken
    return found


def _last_readers(body: Block) -> dict[Each, set[Leaf]]:
    """The leaves of which each loop is the last reader in the block where they are made, and which only loops read."""
    found: dict[Each, set[Leaf]] = {}
    _read_within(body, found)
    return found


def _read_within(block: Block, found: dict[Each, set[Leaf]]) -> tuple[set[Leaf], set[Leaf]]:
    """The leaves read within a block, and those read by statements other than loops. Adds to `found`."""
    read: set[Leaf] = set()
    elsewhere = set(leaves_read(block.end))
    made: set[Slot] = set()
    last: dict[Leaf, Each] = {}
    for statement in block.statements:
        own = leaves_read(statement)
        if type(statement) is Each:
            made.update(statement.slots)
            for leaf in own:
                last[leaf] = statement
            read.update(own)
        else:
            elsewhere.update(own)
        for inner in inner_blocks(statement):
            within, beyond = _read_within(inner, found)
            for leaf in within:  # read in one of several arms: the others may come later in the text
                last.pop(leaf, None)
            read |= within
            elsewhere |= beyond
    for leaf, loop in last.items():
        if leaf in made and leaf not in elsewhere and loop.is_loop:
            found.setdefault(loop, set()).add(leaf)
    return read | elsewhere, elsewhere


def _fits(kernel: Kernel, number: int, operand: int, old: Output) -> bool:
    """Whether an output may reuse an operand's memory."""
    output = kernel.outputs[number]
    if output.size is None or output.kind != old.kind or not are_same(output.size, old.size):
        return False
    reads = [read.access for read in kernel.reads if read.operand == operand]
    if output.base is not None:
        return output.base == operand and not reads
    if any(one.base == operand for one in kernel.outputs):
        return False
    writes = [write for write in kernel.writes if write.output == number]
    return (
        len(writes) == 1
        and not writes[0].combine
        and output.fill is None
        and are_same(kernel.turns, output.size)  # each entry is written, so each once
        and writes[0].access is not None
        and not writes[0].access.at
        and all(access == writes[0].access for access in reads)
    )
