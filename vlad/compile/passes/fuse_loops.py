"""First-order code → first-order code: loops over arrays are fused into the loops that read their results.

In: an optimised Program.  Out: the same, changed in place. A kernel that only copies entries (of an array that is
transposed, repeated, sliced, or concatenated) is fused into all its readers; one that computes, if little is
computed twice. Kernels without remaining readers are dead code. If a loop must store its result for other readers,
sums of that result are computed in the same loop. Kernels end up with as few axes as possible. Routines are not fused:
their operands are arrays in memory.
"""

from __future__ import annotations

import math
from dataclasses import replace

from vlad.compile.ir.matrix_products import by_library, is_whole
from vlad.compile.ir.outlines import Outlines
from vlad.compile.ir.program import (
    Block,
    Each,
    Function,
    Leaf,
    Program,
    Slot,
    Statement,
    blocks,
    leaves_read,
    leaves_within,
    slots_bound,
    statements,
)
from vlad.compile.ir.reindex import Builder, Map, compact, cut, domains, split, turns_of, whole_box
from vlad.control.gil_yield import yield_gil
from vlad.core.expressions import is_costly
from vlad.core.extents import AnExtent, are_same, at_most, divided, estimate, exact_quotient
from vlad.core.loop_nests import SHORT, Access, Box, Kernel, Step, Write
from vlad.data.values import Primitive

MOST_STEPS = 200  # of a kernel into which others are fused
MOST_READS = 24
MOST_PIECES = 16  # into which such a kernel is cut
MOST_REPEATED = 12  # steps that are cheaper to do again than to store and load
MOST_ALONG = 8  # steps of a loop that is as fast with a sum in it as without; more are taken in vectors, if they but store


def fuse_kernels(program: Program, outlines: Outlines | None = None) -> bool:
    """Returns whether there are any loops."""
    outlines = outlines or Outlines()
    found = [function for function in program.functions if _kernels(outlines[function].statements)]
    for function in found:
        _fuse_function(function)
        outlines.changed(function)
    return bool(found)


def _kernels(found: list[Statement]) -> list[Each]:
    """The loops among statements."""
    return [s for s in found if type(s) is Each and s.is_loop]


def _fuse_function(function: Function) -> None:
    """A loop fused into all of its readers is dead, and its operands have fewer readers,
    so they may be fused into the remaining one. Repeats until nothing changes. Loops that compute nothing come first: a
    transposed matrix that a product reads must not prevent fusing the loop that computes it.
    """
    for statement in _kernels(statements(function.body)):
        _distinct_operands(statement)
    while _fuse_once(function, copies=True):
        pass
    while _fuse_once(function, copies=False):
        pass
    for block in blocks(function.body):
        while _sum_along(block):
            pass
    for statement in _kernels(statements(function.body)):
        statement.kernel = compact(statement.kernel)


def _fuse_once(function: Function, copies: bool) -> bool:
    """Fuse one kernel into another. Returns whether there was one."""
    made: dict[Slot, tuple[Each, int]] = {}
    readers: dict[Leaf, set[int]] = {}
    for block in blocks(function.body):
        for leaf in leaves_read(block.end):
            readers.setdefault(leaf, set()).add(id(block.end))
    found: list[Each] = []
    for statement in reversed(statements(function.body)):
        if type(statement) is Each:
            if not any(slot in readers for slot in statement.slots):
                continue
            if statement.is_loop:
                found.append(statement)
                made.update({slot: (statement, index) for index, slot in enumerate(statement.slots)})
        for leaf in leaves_read(statement):
            readers.setdefault(leaf, set()).add(id(statement))
    loops = {id(statement) for statement in found if by_library(statement.kernel) is None}
    changed = False
    for statement in reversed(found):
        again = True
        while again:
            again = False
            for leaf in statement.operands:
                if type(leaf) is Slot and leaf in made:
                    producer, output = made[leaf]
                    if copies and _rows(producer.kernel):
                        continue
                    stays = not readers[leaf] <= loops
                    if _pays(producer, statement, len(readers[leaf]), stays):
                        fused = _fused(producer, output, statement, leaf)
                        if fused is not None:
                            statement.kernel, statement.operands = fused
                            for read in statement.operands:
                                readers.setdefault(read, set()).add(id(statement))
                            changed = again = True
                            break
    return changed


def _distinct_operands(statement: Each) -> None:
    builder = Builder(statement.kernel.extents)
    values = builder.values(statement.kernel, statement.operands)
    assert values is not None
    statement.kernel, statement.operands = builder.kernel(statement.kernel, statement.operands, values)


def _pays(producer: Each, consumer: Each, readers: int, stays: bool) -> bool:
    """`stays`: whether the producer's result is needed in memory by a reader."""
    kernel = producer.kernel
    steps = len(kernel.steps)
    if (
        steps + len(consumer.kernel.steps) > MOST_STEPS
        or len(kernel.reads) + len(consumer.kernel.reads) > MOST_READS
    ):
        return False
    if steps == 0:  # computed at its only read, each entry once
        is_plain = not any(read.access is not None and read.access.at for read in kernel.reads)
        return is_plain or estimate(consumer.kernel.turns) <= estimate(kernel.turns)
    if by_library(consumer.kernel) is not None:
        return False  # the library's products need matrices in memory
    return readers == 1 or (_is_cheap(kernel) and not (stays and _reads_as_much(kernel)))


def _reads_as_much(kernel: Kernel) -> bool:
    """Whether it reads as many entries of an array as it makes. Then loading its result costs as much as computing it."""
    return any(
        read.access is not None
        and math.prod(
            [estimate(n) for n, stride in zip(kernel.extents, read.access.strides, strict=True) if stride]
        )
        >= estimate(kernel.turns)
        for read in kernel.reads
        if read.operand is not None
    )


def _is_cheap(kernel: Kernel) -> bool:
    rows = _rows(kernel)
    if all(read.access is None for read in kernel.reads):
        return True  # of reals alone: the C compiler takes it out of the loops
    return len(rows) <= MOST_REPEATED and not any(is_costly(row.c) for row in rows)


def _rows(kernel: Kernel) -> list[Primitive]:
    """Its operations; choices are free."""
    return [step.row for step in kernel.steps if type(step) is Step]


def _fused(producer: Each, output: int, consumer: Each, leaf: Slot) -> tuple[Kernel, tuple[Leaf, ...]] | None:
    """The consumer's kernel with the producer's values in place of its output."""
    yield_gil()
    made, kernel = producer.kernel, consumer.kernel
    place = consumer.operands.index(leaf)
    writes = [write for write in made.writes if write.output == output]
    whole = made.outputs[output]
    if len(writes) != 1 or writes[0].combine or whole.base is not None or whole.fill is not None:
        return None
    (write,) = writes
    if made.steps and _gives_positions(kernel, place):
        return None
    if any(one.base == place for one in kernel.outputs) or made.turns == 0 or kernel.turns == 0:
        return None
    if whole.size is None or write.access is None or write.access.at:
        return None  # a real is complete only after its loops
    for _ in range(len(made.extents) + 1):
        maps = _maps(kernel, place, write.access, made)
        if maps is None:
            return None
        if type(maps) is dict:
            return _put_in(producer, write, consumer, kernel, maps)
        divided = split(kernel, *maps)
        if divided is None:
            return None
        kernel = divided
    return None


def _gives_positions(kernel: Kernel, place: int) -> bool:
    """Whether entries of an operand are positions of others: an index is read, not computed."""
    return any(
        kernel.reads[value].operand == place
        for access in [*[read.access for read in kernel.reads], *[one.access for one in kernel.writes]]
        if access is not None
        for value, _ in access.at
    )


def _maps(kernel: Kernel, place: int, write: Access, made: Kernel) -> dict[int, Map] | tuple[int, int] | None:
    """For each read of the operand at a position: the map to the indices of the kernel that makes it, if fusing pays;
    or an axis that must first be split, and the length of the inner part.
    """
    reads = {
        index: (read.access, domain)
        for index, (read, domain) in enumerate(zip(kernel.reads, domains(kernel), strict=False))
        if read.operand == place and domain is not None
    }
    if not _is_worth(made, [turns_of(domain) for _, domain in reads.values()]):
        return None
    maps: dict[int, Map] = {}
    axis: tuple[int, int] | None = None
    for index, (access, domain) in reads.items():
        if access is None or access.at:
            return None
        mapped = _mapped(access, domain, kernel.extents, write, made.extents)
        if type(mapped) is Map:
            maps[index] = mapped
        elif type(mapped) is tuple:
            axis = mapped
        else:
            return None
    return maps if axis is None else axis


def _is_worth(made: Kernel, turns: list[AnExtent]) -> bool:
    """Whether little is computed twice if a kernel's values are recomputed in so many iterations for each access."""
    if not made.steps:
        return True
    counts = [estimate(count) for count in turns]
    return max(counts, default=0) <= estimate(made.turns) and (
        _is_cheap(made) or sum(counts) <= estimate(made.turns)
    )


def _mapped(
    read: Access, domain: Box, extents: tuple[int, ...], write: Access, made: tuple[int, ...]
) -> Map | tuple[int, int] | None:
    """The map from the consumer's access to the producer's indices, in the iterations that need it. If an axis of the consumer
    covers several of the producer's: that axis and the length of its inner part.
    """
    order = sorted([k for k, extent in enumerate(made) if extent > 1], key=lambda k: -write.strides[k])

    def digits(distance: int) -> dict[int, int] | None:
        found = {}
        for k in order:
            parts = divided(distance, write.strides[k])
            if parts is None:
                return None
            found[k], distance = parts
        return found if distance == 0 else None

    lengths = [end - begin for begin, end in domain]
    first = read.offset + sum(
        [stride * begin for stride, (begin, _) in zip(read.strides, domain, strict=True)]
    )
    if first < write.offset or any(stride < 0 for stride in read.strides):
        return None
    start = digits(first - write.offset)
    columns = [
        digits(stride) if length > 1 else digits(0)
        for stride, length in zip(read.strides, lengths, strict=True)
    ]
    if start is None or None in columns:
        return None
    for k in order:
        steps = [column[k] for column in columns if column is not None]
        most = start[k] + sum([step * (length - 1) for step, length in zip(steps, lengths, strict=True)])
        if most < made[k]:
            continue
        for axis, (step, length) in enumerate(zip(steps, lengths, strict=True)):
            inner = exact_quotient(made[k], step)
            if (
                inner is not None
                and length == extents[axis]
                and length > inner > 1
                and exact_quotient(length, inner) is not None
            ):
                return axis, inner
        return None
    rows = [[column.get(k, 0) for column in columns if column is not None] for k in range(len(made))]
    offsets = [
        start.get(k, 0) - sum([step * begin for step, (begin, _) in zip(rows[k], domain, strict=True)])
        for k in range(len(made))
    ]
    return Map(offsets, rows, extents)


def _put_in(
    producer: Each, write: Write, consumer: Each, kernel: Kernel, maps: dict[int, Map]
) -> tuple[Kernel, tuple[Leaf, ...]] | None:
    builder = Builder(kernel.extents)
    instead: dict[int, int] = {}
    for index, mapped in maps.items():
        values = builder.values(producer.kernel, producer.operands, mapped)
        if values is None:
            return None
        instead[index] = values[write.value]
    values = builder.values(kernel, consumer.operands, None, instead)
    assert values is not None
    found = builder.kernel(kernel, consumer.operands, values)
    return found if len(cut(found[0])) <= max(MOST_PIECES, len(cut(kernel))) else None


def _sum_along(block: Block) -> bool:
    """Move a sum of stored values into the loop that stores them. Returns whether there was one."""
    made: dict[Leaf, int] = {}
    for index, statement in enumerate(block.statements):
        if type(statement) is not Each or not statement.is_loop:
            continue
        if by_library(statement.kernel) is None:
            if _is_sum(statement.kernel):
                for leaf in statement.operands:
                    if leaf in made and _sum_in(block, made[leaf], index, leaf):
                        return True
            if _is_stored(statement.kernel):
                made[statement.slots[0]] = index
    return False


def _is_sum(kernel: Kernel) -> bool:
    return all(write.combine == "+" for write in kernel.writes) and all(
        output.base is None for output in kernel.outputs
    )


def _is_stored(kernel: Kernel) -> bool:
    """Whether it computes each entry of one array, in a few steps."""
    if len(kernel.writes) != 1 or not all(type(step) is Step for step in kernel.steps):
        return False
    ((write,), (output,)), rows = (kernel.writes, kernel.outputs), _rows(kernel)
    return (
        write.access is not None
        and not write.combine
        and output.base is None
        and output.fill is None
        and are_same(output.size, kernel.turns)
        and not at_most(kernel.turns, SHORT)
        and output.kind == kernel.kind_of(write.value)
        and not any(row.name == "/" for row in rows)
        and _is_summed_as_fast(output.kind, rows)
    )


def _is_summed_as_fast(kind: str, rows: list[Primitive]) -> bool:
    """With what takes more than a few cycles a sum is taken beside it, but one of floats, which is one of reals and so of other
    vectors."""
    if any(is_costly(row.c) for row in rows):
        return kind != "float32"
    return len(rows) < MOST_ALONG


def _sum_in(block: Block, first: int, last: int, leaf: Leaf) -> bool:
    """Move one sum of values that an earlier loop stores into that loop. Returns whether that was possible."""
    storing, summing = block.statements[first], block.statements[last]
    assert type(storing) is Each and type(summing) is Each and type(leaf) is Slot
    between = block.statements[first + 1 : last]
    begun = {slot for one in (storing, *between) for slot in slots_bound(one)}
    if not any(leaf in leaves_within(one) for one in between):
        place = last - 1
    elif begun.isdisjoint(set(summing.operands) - {leaf}):
        place = first
    else:
        return False
    found = _along(storing, summing, leaf)
    if found is None:
        return False
    kernel, operands = found
    both = Each((*summing.slots, *storing.slots), kernel, operands, summing.span)
    block.statements = [one for one in block.statements if one is not storing and one is not summing]
    block.statements.insert(place, both)
    return True


def _along(storing: Each, summing: Each, leaf: Slot) -> tuple[Kernel, tuple[Leaf, ...]] | None:
    """One kernel for both; None if they do not cover the same entries."""
    made, kernel = storing.kernel, summing.kernel
    (write,), (output,) = made.writes, made.outputs
    place = summing.operands.index(leaf)
    reads = [number for number, read in enumerate(kernel.reads) if read.operand == place]
    assert write.access is not None
    if (
        len(reads) != 1
        or not are_same(kernel.turns, made.turns)
        or not all(type(step) is Step for step in kernel.steps)
    ):
        return None
    if made.steps and _gives_positions(kernel, place):
        return None
    for _ in range(len(made.extents) + 1):
        access = kernel.reads[reads[0]].access
        axes = [axis for axis, extent in enumerate(kernel.extents) if extent > 1]
        if access is None or access.at or not is_whole(access, axes, kernel.extents, output.size):
            return None
        mapped = _mapped(access, whole_box(kernel.extents), kernel.extents, write.access, made.extents)
        if type(mapped) is Map:
            builder = Builder(kernel.extents)
            values = builder.values(made, storing.operands, mapped)
            assert values is not None
            values = builder.values(kernel, summing.operands, None, {reads[0]: values[write.value]})
            assert values is not None
            both = replace(
                kernel,
                outputs=(*kernel.outputs, output),
                writes=(*kernel.writes, Write(len(kernel.outputs), reads[0], access)),
            )
            return builder.kernel(both, summing.operands, values)
        divided = split(kernel, *mapped) if type(mapped) is tuple else None
        if divided is None:
            return None
        kernel = divided
    return None
