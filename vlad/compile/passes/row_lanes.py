"""First-order code → first-order code: rows that are computed in straight lines become a loop over arrays.

In: an optimised Program.  Out: the same, changed in place. Called for C only: on a GPU each row has a thread. A loop with
independent turns (ir/row_loops.py) whose turns read entries of their own row, or the same ones as all, compute, choose and store
becomes one kernel over the rows. All that is done for such kernels follows: rows side by side in vector lanes, parts in threads,
fusion with loops over the results. Of a choice both arms are computed, so they may have few calls of functions; and what is read
must be there in each row, so no arm reads arrays.
"""

from __future__ import annotations

from dataclasses import replace

from vlad.compile.ir.outlines import Outlines
from vlad.compile.ir.program import (
    Block,
    Branch,
    Compute,
    Each,
    Invoke,
    Leaf,
    Program,
    Slot,
    TailInvoke,
    Yield,
    blocks,
    leaves_read,
    slots_bound,
    statements,
)
from vlad.compile.ir.reindex import Builder
from vlad.compile.ir.rewriting import replace_leaves
from vlad.compile.ir.row_loops import RowLoop, begins_rows, row_loop
from vlad.core.expressions import functions_called
from vlad.core.extents import AnExtent, Extent, certainly
from vlad.core.loop_nests import Access, Kernel, Output, Read, Step, Write
from vlad.primitives import indexing

MOST_STEPS = 400  # of a row
MOST_CALLS = 2  # of functions in arms, of which only one would run
FEWEST_ROWS = 16
NUMBERS, RESULTS = frozenset({"number", "real"}), frozenset({"number", "real", "boolean"})
(WHERE,) = [row for row in indexing.ROWS if row.name == "where"]


def lay_out(program: Program, outlines: Outlines | None = None) -> bool:
    """Returns whether there were such loops."""
    found = False
    for loop in [loop for loop in map(row_loop, program.functions) if loop is not None]:
        first = _first(program, loop)
        if first is not None:
            kernel = _Rows(loop, *first).kernel()
            if kernel is not None:
                _replace(loop, *kernel)
                found = True
    if found and outlines is not None:
        outlines.forget()
    return found


def _first(program: Program, loop: RowLoop) -> tuple[int, bool] | None:
    """The first row, and whether the answers begin as arrays without contents; None if that is not known, or too few rows follow.
    `rows-begin` puts the first row into such arrays, which its turn would store again. So that turn runs, too."""
    begins: set[Leaf] = set()
    are_blank = True
    for function in program.functions:
        nodes = [node for block in blocks(function.body) for node in (*block.statements, block.end)]
        for node in nodes:
            if type(node) is not Invoke and type(node) is not TailInvoke:
                continue
            if node.function is not loop.function or function is loop.function:
                continue
            begins.add(node.operands[loop.counter])
            made = {slot: one for one in statements(function.body) for slot in slots_bound(one)}
            read = [leaf for one in nodes for leaf in leaves_read(one)]
            given = [node.operands[at] for at in loop.answers]
            are_blank &= all(
                type(leaf) is Slot and begins_rows(made.get(leaf)) and read.count(leaf) == 1 for leaf in given
            )
    if len(begins) != 1 or loop.function in program.entries:
        return None
    (begin,) = begins
    if type(begin) is not float or not begin.is_integer():
        return None
    fewest = 0 if type(loop.end) is Extent else FEWEST_ROWS
    if not certainly("<=", int(begin) + fewest, loop.end):
        return None
    return (0, True) if are_blank and begin == 1.0 else (int(begin), False)


class _Unfit(Exception):
    """The rows are not computed in a straight line."""


class _Rows:
    """One loop as a kernel. `values`: the numbers of what slots hold; `stored`: by the slot of a written array, its output and
    what is written there."""

    def __init__(self, loop: RowLoop, begin: int, are_blank: bool) -> None:
        self.loop, self.begin, self.are_blank = loop, begin, are_blank
        parameters = loop.function.parameters
        self.counter = parameters[loop.counter]
        self.shared = {slot for at, slot in enumerate(parameters) if at not in loop.answers}
        end: AnExtent = loop.end if type(loop.end) is Extent else int(loop.end)
        self.builder = Builder((end - begin,))
        self.values: dict[Slot, int] = {}
        self.stored: dict[Slot, tuple[Output, Write]] = {}
        self.calls = 0
        self.steps = 0

    def kernel(self) -> tuple[Kernel, tuple[Leaf, ...]] | None:
        """The kernel, with an output for each of the answers, in their order; None if the rows are of another kind."""
        loop = self.loop
        try:
            self._block(loop.again, within=False)
        except _Unfit:
            return None
        end = loop.again.end
        assert type(end) is TailInvoke
        if not loop.answers or self.steps > MOST_STEPS or self.calls > MOST_CALLS:
            return None
        if len(loop.answers) > 1 and not self.are_blank:
            return None  # a loop writes over one array only
        outputs, writes, bases = [], [], []
        for number, at in enumerate(loop.answers):
            slot = end.operands[at]
            if type(slot) is not Slot or slot not in self.stored:
                return None
            output, write = self.stored[slot]
            if self.are_blank and write.access != Access(0, (1,)):
                return None
            outputs.append(replace(output, base=None if self.are_blank else number))
            writes.append(replace(write, output=number))
            bases.append(loop.function.parameters[at])
        like = Kernel(self.builder.extents, (), (), tuple(outputs), tuple(writes))
        return self.builder.kernel(like, bases, self.builder.numbers())

    def _block(self, block: Block, within: bool) -> None:
        for one in block.statements:
            if type(one) is Compute:
                self._compute(one, within)
            elif type(one) is Branch:
                self._choose(one)
            elif type(one) is Each and one.is_loop and not within:
                self._each(one)
            else:
                raise _Unfit

    def _compute(self, one: Compute, within: bool) -> None:
        type_ = one.row.type
        if not (one.row.c and NUMBERS.issuperset(type_.parameters) and type_.result in RESULTS):
            raise _Unfit
        self.steps += 1
        self.calls += within * len(functions_called(one.row.c))
        values = tuple([self._value(leaf) for leaf in one.operands])
        self.values[one.slot] = self.builder.step(Step(one.row, values))

    def _choose(self, one: Branch) -> None:
        test = self._value(one.test)
        arms = [self._arm(arm) for arm in (one.consequent, one.alternative)]
        for slot, *leaves in zip(one.slots, *arms, strict=True):
            first, second = map(self._value, leaves)
            step = Step(WHERE, (test, first, second))
            self.values[slot] = first if first == second else self.builder.step(step)

    def _arm(self, arm: Block) -> tuple[Leaf, ...]:
        self._block(arm, within=True)
        if type(arm.end) is not Yield:
            raise _Unfit
        return arm.end.leaves

    def _value(self, leaf: Leaf) -> int:
        """The number of a real or a test."""
        if leaf is self.counter:
            return self.builder.read(Read(None, Access(self.begin, (1,))))
        if type(leaf) is Slot and leaf in self.values:
            return self.values[leaf]
        is_given = type(leaf) is Slot and leaf in self.shared and leaf.kind == "d"
        if not is_given and type(leaf) is not float:
            raise _Unfit
        return self.builder.read(Read(self.builder.operand(leaf), None))

    def _each(self, one: Each) -> None:
        """A loop of one turn, which reads entries, computes with them, and stores or yields numbers."""
        kernel, stores = one.kernel, self.loop.writes.get(one, {})
        if kernel.extents:
            raise _Unfit
        made: list[int] = []
        for each in kernel.reads:
            made.append(self._read(each, one))
        for step in kernel.steps:
            if type(step) is not Step:
                raise _Unfit
            self.steps += 1
            made.append(
                self.builder.step(replace(step, values=tuple([made[value] for value in step.values])))
            )
        for number, (slot, output) in enumerate(zip(one.slots, kernel.outputs, strict=True)):
            writes = [write for write in kernel.writes if write.output == number]
            if len(writes) != 1 or writes[0].combine:
                raise _Unfit
            (write,) = writes
            if number in stores and write.access is not None:
                self.stored[slot] = output, Write(0, made[write.value], self._access(write.access, one))
            elif output.size is None and output.kind == self.builder.kind(made[write.value]) == "float64":
                self.values[slot] = made[write.value]
            else:
                raise _Unfit

    def _read(self, read: Read, one: Each) -> int:
        if read.operand is None:
            raise _Unfit
        leaf = one.operands[read.operand]
        if read.access is None:
            value = self._value(leaf)
            if read.kind != "float64" or self.builder.kind(value) != "float64":
                raise _Unfit
            return value
        if type(leaf) is Slot and leaf not in self.shared:
            raise _Unfit
        return self.builder.read(Read(self.builder.operand(leaf), self._access(read.access, one), read.kind))

    def _access(self, access: Access, one: Each) -> Access:
        """The same, by the number of the row."""
        offset, stride = access.offset, 0
        for value, step in access.at:
            read = one.kernel.reads[value]
            if (
                read.operand is None
                or read.access is not None
                or one.operands[read.operand] is not self.counter
            ):
                raise _Unfit
            offset, stride = offset + self.begin * step, stride + step
        return Access(offset, (stride,))


def _replace(loop: RowLoop, kernel: Kernel, operands: tuple[Leaf, ...]) -> None:
    """The kernel in the place of the loop, and then what came after it."""
    parameters = loop.function.parameters
    slots = tuple([Slot("p", parameters[at].name) for at in loop.answers])
    instead: dict[Leaf, Leaf] = {parameters[loop.counter]: loop.end}
    instead.update(zip([parameters[at] for at in loop.answers], slots, strict=True))
    for block in blocks(loop.after):
        for node in (*block.statements, block.end):
            replace_leaves(node, lambda leaf: instead.get(leaf, leaf) if type(leaf) is Slot else leaf)
    each = Each(slots, kernel, operands, loop.function.span)
    loop.function.body = Block([each, *loop.after.statements], loop.after.end)
