"""Which new arrays of a function may lie where another one lies that nobody reads any more.

In: a function.  Out: for each of its loops, by the number of an output, the number of the operand in whose place it may be. So a
network's layer holds one array for what it sums and what it answers, as who writes C by hand has it: where both fit into a
cache, half as much has to come from beyond it.

An operand's place is free where this loop is the last that reads it, and nobody but loops has read it: what went into a box, to
a procedure or out of a block may be elsewhere, too. A loop that computes an entry of the output from the operand's entry in the
same place alone may write over it; so may one that does not read the operand, but begins with its contents.
"""

from __future__ import annotations

from vlad.compile.ir.program import Block, Each, Function, Leaf, Slot, inner_blocks, leaves_read, statements
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
            if leaf in free and leaf in made and loop.operands.count(leaf) == 1:
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
    """The leaves of which each loop is the last reader in the block where they are made, and which none but loops read."""
    found: dict[Each, set[Leaf]] = {}

    def walk(block: Block) -> tuple[set[Leaf], set[Leaf]]:
        """What is read within, and what of it by others than loops."""
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
                within, beyond = walk(inner)
                for leaf in within:  # in one of several arms: the others may come later by the text
                    last.pop(leaf, None)
                read |= within
                elsewhere |= beyond
        for leaf, loop in last.items():
            if leaf in made and leaf not in elsewhere and loop.is_loop:
                found.setdefault(loop, set()).add(leaf)
        return read | elsewhere, elsewhere

    walk(body)
    return found


def _fits(kernel: Kernel, number: int, operand: int, old: Output) -> bool:
    """May an output lie where an operand was?"""
    output = kernel.outputs[number]
    if output.size is None or (output.size, output.kind) != (old.size, old.kind):
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
        and kernel.turns == output.size  # each entry is written, so each once
        and writes[0].access is not None
        and not writes[0].access.at
        and all(access == writes[0].access for access in reads)
    )
