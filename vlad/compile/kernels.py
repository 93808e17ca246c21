"""First-order code → first-order code: loops over arrays are put into the loops that read what they made.

In: an optimised Program.  Out: the same, changed in place. A kernel that only finds entries elsewhere (a transposed, repeated or
cut array) is put into all its readers; one that computes, where nothing is computed twice by it, or next to nothing.
What remains to be read by nobody is dead code. Kernels end up with as few axes as they can have. Routines stay as they are:
their operands are arrays that are there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from vlad.compile.first_order import Each, Function, Leaf, Program, Slot, blocks, leaves_read, statements
from vlad.compile.products import as_product
from vlad.core.kernels import Access, Kernel, Output, Read, Step, Write

MOST_STEPS = 200  # of a kernel into which others are put
MOST_READS = 24
MOST_REPEATED = 3  # steps that are cheaper to do again than to store and load
CALL = re.compile(r"\w\(|/")  # what takes more than a few cycles


def fuse_kernels(program: Program) -> Program:
    for function in program.functions:
        if _kernels(function):
            _fuse_function(function)
    return program


def _kernels(function: Function) -> list[Each]:
    """Its statements that are loops."""
    return [s for s in statements(function.body) if type(s) is Each and s.is_loop]


def _fuse_function(function: Function) -> None:
    """Whoever was put into all of its readers is read by nobody, and reads nothing any more: what it read has fewer readers,
    and may be put into the one that is left. So it goes on until nothing changes. First those that compute nothing: a
    transposed matrix that a product reads is not to hold back what computes it."""
    for statement in _kernels(function):
        _distinct_operands(statement)
    while _fuse_once(function, copies=True):
        pass
    while _fuse_once(function, copies=False):
        pass
    for statement in _kernels(function):
        statement.kernel = compact(statement.kernel)


def _fuse_once(function: Function, copies: bool) -> bool:
    """Is there a kernel that was put into another one?"""
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
    changed = False
    for statement in reversed(found):
        again = True
        while again:
            again = False
            for leaf in statement.operands:
                if type(leaf) is Slot and leaf in made:
                    producer, output = made[leaf]
                    if copies and producer.kernel.steps:
                        continue
                    if _pays(producer, statement, len(readers[leaf])):
                        fused = _fused(producer, output, statement, leaf)
                        if fused is not None:
                            statement.kernel, statement.operands = fused
                            for read in statement.operands:
                                readers.setdefault(read, set()).add(id(statement))
                            changed = again = True
                            break
    return changed


def _distinct_operands(statement: Each) -> None:
    builder = _Builder(statement.kernel.extents)
    values = builder.values(statement.kernel, statement.operands)
    statement.kernel, statement.operands = builder.kernel(statement, values)


def _pays(producer: Each, consumer: Each, readers: int) -> bool:
    kernel = producer.kernel
    steps = len(kernel.steps)
    if (
        steps + len(consumer.kernel.steps) > MOST_STEPS
        or len(kernel.reads) + len(consumer.kernel.reads) > MOST_READS
    ):
        return False
    if steps == 0:  # where it is computed where to read, that is done once for each entry
        is_plain = not any(read.access is not None and read.access.at for read in kernel.reads)
        return is_plain or consumer.kernel.turns <= kernel.turns
    if consumer.kernel.turns > kernel.turns:
        return False
    if as_product(consumer.kernel) is not None:
        return False  # the library's products are of matrices that are there
    if all(read.access is None for read in kernel.reads):
        return True  # of reals alone: the C compiler takes it out of the loops
    is_cheap = steps <= MOST_REPEATED and not any(CALL.search(step.row.c) for step in kernel.steps)
    return readers == 1 or is_cheap


def _fused(producer: Each, output: int, consumer: Each, leaf: Slot) -> tuple[Kernel, tuple[Leaf, ...]] | None:
    """The consumer's kernel with the producer's in the place of its output."""
    made, kernel = producer.kernel, consumer.kernel
    place = consumer.operands.index(leaf)
    writes = [write for write in made.writes if write.output == output]
    whole = made.outputs[output]
    if len(writes) != 1 or writes[0].combine or whole.base is not None or whole.fill is not None:
        return None
    (write,) = writes
    if made.steps and any(
        kernel.reads[value].operand == place
        for access in [*[read.access for read in kernel.reads], *[one.access for one in kernel.writes]]
        if access is not None
        for value, _ in access.at
    ):
        return None  # a place is read, not computed
    if any(one.base == place for one in kernel.outputs) or not made.turns or not kernel.turns:
        return None
    if whole.size is None or write.access is None or write.access.at:
        return None  # a real is found before the loops that read it
    for _ in range(len(made.extents) + 1):
        maps: dict[Access, _Map] = {}
        split: tuple[int, int] | None = None
        for read in kernel.reads:
            if read.operand == place and read.access not in maps:
                if read.access is None or read.access.at:
                    return None
                mapped = _mapped(read.access, kernel.extents, write.access, made.extents)
                if isinstance(mapped, _Map):
                    maps[read.access] = mapped
                elif mapped is None:
                    return None
                else:
                    split = mapped
        if split is None:
            return _put_in(producer, write, consumer, kernel, place, maps)
        kernel = _split(kernel, *split)
    return None


class _Map:
    """Where a turn of the consumer is in the producer's loops: index k = offsets[k] + Σ_j steps[k][j] · index j."""

    def __init__(self, offsets: list[int], steps: list[list[int]], axes: int) -> None:
        """`axes`: how many the consumer has."""
        self.offsets = offsets
        self.steps = steps
        self.axes = axes

    def access(self, access: Access) -> Access:
        """An access of the producer, from the consumer's loops."""
        offset = access.offset + sum([s * o for s, o in zip(access.strides, self.offsets, strict=True)])
        strides = [
            sum([s * row[axis] for s, row in zip(access.strides, self.steps, strict=True)])
            for axis in range(self.axes)
        ]
        return Access(offset, tuple(strides), access.at)


def _mapped(
    read: Access, extents: tuple[int, ...], write: Access, made: tuple[int, ...]
) -> _Map | tuple[int, int] | None:
    """How the consumer's access goes through the producer's indices. Where an axis of the consumer goes over several of the
    producer's: that axis and the length of what is to be its inner part."""
    order = sorted([k for k, extent in enumerate(made) if extent > 1], key=lambda k: -write.strides[k])

    def digits(distance: int) -> dict[int, int] | None:
        found = {}
        for k in order:
            found[k], distance = divmod(distance, write.strides[k])
        return found if distance == 0 else None

    if read.offset < write.offset or any(stride < 0 for stride in read.strides):
        return None
    start = digits(read.offset - write.offset)
    columns = [
        digits(stride) if extent > 1 else digits(0)
        for stride, extent in zip(read.strides, extents, strict=True)
    ]
    if start is None or None in columns:
        return None
    for k in order:
        steps = [column[k] for column in columns if column is not None]
        most = start[k] + sum([step * (extent - 1) for step, extent in zip(steps, extents, strict=True)])
        if most < made[k]:
            continue
        for axis, (step, extent) in enumerate(zip(steps, extents, strict=True)):
            if (
                step
                and made[k] % step == 0
                and extent > made[k] // step > 1
                and extent % (made[k] // step) == 0
            ):
                return axis, made[k] // step
        return None
    offsets = [start.get(k, 0) for k in range(len(made))]
    rows = [[column.get(k, 0) for column in columns if column is not None] for k in range(len(made))]
    return _Map(offsets, rows, len(extents))


def _split(kernel: Kernel, axis: int, inner: int) -> Kernel:
    """An axis as two."""

    def access(access: Access | None) -> Access | None:
        if access is None:
            return None
        stride = access.strides[axis]
        strides = (*access.strides[:axis], stride * inner, stride, *access.strides[axis + 1 :])
        return Access(access.offset, strides, access.at)

    extents = (*kernel.extents[:axis], kernel.extents[axis] // inner, inner, *kernel.extents[axis + 1 :])
    return _with_accesses(kernel, extents, access)


def _with_accesses(
    kernel: Kernel, extents: tuple[int, ...], access: Callable[[Access | None], Access | None]
) -> Kernel:
    return Kernel(
        extents,
        tuple([Read(read.operand, access(read.access)) for read in kernel.reads]),
        kernel.steps,
        kernel.outputs,
        tuple(
            [Write(write.output, write.value, access(write.access), write.combine) for write in kernel.writes]
        ),
    )


def _renumbered(access: Access, numbers: Sequence[int] | dict[int, int]) -> Access:
    """The same place, told by values that have other numbers now."""
    if not access.at:
        return access
    return Access(
        access.offset, access.strides, tuple([(numbers[value], stride) for value, stride in access.at])
    )


class _Builder:
    """Gathers a kernel's values; equal ones once."""

    def __init__(self, extents: tuple[int, ...]) -> None:
        self.extents = extents
        self.operands: list[Leaf] = []
        self._places: dict[object, int] = {}
        self._reads: dict[Read, int] = {}
        self._steps: dict[tuple[object, tuple[int, ...]], int] = {}
        self._made: list[Read | Step] = []  # by number; nothing comes before what it needs

    def operand(self, leaf: Leaf) -> int:
        key = ("real", leaf.hex()) if type(leaf) is float else leaf
        if key not in self._places:
            self._places[key] = len(self.operands)
            self.operands.append(leaf)
        return self._places[key]

    def read(self, read: Read) -> int:
        if read not in self._reads:
            self._reads[read] = len(self._made)
            self._made.append(read)
        return self._reads[read]

    def step(self, step: Step) -> int:
        key = (step.row.name, step.values)
        if key not in self._steps:
            self._steps[key] = len(self._made)
            self._made.append(step)
        return self._steps[key]

    def values(
        self,
        kernel: Kernel,
        operands: tuple[Leaf, ...],
        instead: dict[int, int] | None = None,
        mapped: _Map | None = None,
    ) -> list[int]:
        """All values of a kernel, seen from these loops: their numbers here. `instead`: values that are here already."""
        numbers: list[int] = []
        for index, read in enumerate(kernel.reads):
            if instead is not None and index in instead:
                numbers.append(instead[index])
                continue
            access = read.access
            if access is not None:
                access = _renumbered(access if mapped is None else mapped.access(access), numbers)
            operand = None if read.operand is None else self.operand(operands[read.operand])
            numbers.append(self.read(Read(operand, access)))
        for step in kernel.steps:
            numbers.append(self.step(Step(step.row, tuple([numbers[value] for value in step.values]))))
        return numbers

    def kernel(self, like: Each, values: list[int]) -> tuple[Kernel, tuple[Leaf, ...]]:
        """The kernel with the outputs of another one, whose values have these numbers here."""
        roots = [values[write.value] for write in like.kernel.writes]
        roots += [
            values[n] for write in like.kernel.writes if write.access is not None for n, _ in write.access.at
        ]
        kept = self._needed(roots)
        order = [n for n in kept if isinstance(self._made[n], Read)] + [
            n for n in kept if isinstance(self._made[n], Step)
        ]
        numbers = {old: new for new, old in enumerate(order)}
        outputs = []
        for output in like.kernel.outputs:
            base = None if output.base is None else self.operand(like.operands[output.base])
            outputs.append(Output(output.size, output.fill, base))
        writes = []
        for write in like.kernel.writes:
            access = None if write.access is None else _renumbered(_renumbered(write.access, values), numbers)
            writes.append(Write(write.output, numbers[values[write.value]], access, write.combine))
        reads, steps = [], []
        for number in order:
            one = self._made[number]
            if isinstance(one, Read):
                access = None if one.access is None else _renumbered(one.access, numbers)
                reads.append(Read(one.operand, access))
            else:
                steps.append(Step(one.row, tuple([numbers[value] for value in one.values])))
        kernel = Kernel(self.extents, tuple(reads), tuple(steps), tuple(outputs), tuple(writes))
        return _without_idle_operands(kernel, tuple(self.operands))

    def _needed(self, numbers: Iterable[int]) -> list[int]:
        needed: set[int] = set()
        work = list(numbers)
        while work:
            number = work.pop()
            if number not in needed:
                needed.add(number)
                one = self._made[number]
                if isinstance(one, Step):
                    work += one.values
                elif one.access is not None:
                    work += [value for value, _ in one.access.at]
        return sorted(needed)


def _without_idle_operands(kernel: Kernel, operands: tuple[Leaf, ...]) -> tuple[Kernel, tuple[Leaf, ...]]:
    used = {read.operand for read in kernel.reads} | {output.base for output in kernel.outputs}
    kept = [index for index in range(len(operands)) if index in used]
    if len(kept) == len(operands):
        return kernel, operands
    numbers: dict[int | None, int | None] = {old: new for new, old in enumerate(kept)}
    numbers[None] = None
    reads = tuple([Read(numbers[read.operand], read.access) for read in kernel.reads])
    outputs = tuple([Output(output.size, output.fill, numbers[output.base]) for output in kernel.outputs])
    return (
        Kernel(kernel.extents, reads, kernel.steps, outputs, kernel.writes),
        tuple([operands[index] for index in kept]),
    )


def _put_in(
    producer: Each, write: Write, consumer: Each, kernel: Kernel, place: int, maps: dict[Access, _Map]
) -> tuple[Kernel, tuple[Leaf, ...]]:
    builder = _Builder(kernel.extents)
    values = {
        access: builder.values(producer.kernel, producer.operands, None, mapped)[write.value]
        for access, mapped in maps.items()
    }
    instead = {
        index: values[read.access]
        for index, read in enumerate(kernel.reads)
        if read.operand == place and read.access is not None
    }
    numbers = builder.values(kernel, consumer.operands, instead)
    like = Each(consumer.slots, kernel, consumer.operands, consumer.span)
    return builder.kernel(like, numbers)


def compact(kernel: Kernel) -> Kernel:
    """The same turns with as few axes as can be: those of length 1 go, neighbours that are gone through as one are one."""
    axis = len(kernel.extents) - 1
    while axis >= 0:
        if kernel.extents[axis] == 1:
            kernel = _dropped(kernel, axis, 1)
        elif axis + 1 < len(kernel.extents) and _is_one(kernel, axis):
            kernel = _dropped(kernel, axis, kernel.extents[axis])
        axis -= 1
    return kernel


def _is_one(kernel: Kernel, axis: int) -> bool:
    """Does every access go on from one axis into the next?"""
    accesses = [read.access for read in kernel.reads] + [write.access for write in kernel.writes]
    length = kernel.extents[axis + 1]
    return length > 0 and all(
        access is None or access.strides[axis] == access.strides[axis + 1] * length for access in accesses
    )


def _dropped(kernel: Kernel, axis: int, times: int) -> Kernel:
    """Without an axis, whose turns the next one takes over."""
    extents = list(kernel.extents)
    del extents[axis]
    if times != 1:
        extents[axis] *= times

    def access(access: Access | None) -> Access | None:
        if access is None:
            return None
        return Access(access.offset, (*access.strides[:axis], *access.strides[axis + 1 :]), access.at)

    return _with_accesses(kernel, tuple(extents), access)
