"""First-order code → first-order code: rows that are computed in straight lines become a loop over arrays.

In: an optimised Program.  Out: the same, changed in place. Called for C only: on a GPU each row has a thread. A loop with
independent turns (ir/row_loops.py) whose turns read entries of their own row, or the same ones as all, compute, choose and store
becomes one kernel over the rows. All that is done for such kernels follows: rows side by side in vector lanes, parts in threads,
fusion with loops over the results. Of a choice both arms are computed, so they may have few calls of functions; and what is read
must be there in each row, so no arm reads arrays.
"""

from __future__ import annotations

from dataclasses import replace

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
)
from vlad.compile.ir.reindex import Builder
from vlad.compile.ir.rewriting import replace_leaves
from vlad.compile.ir.row_loops import RowLoop, row_loop
from vlad.core.expressions import functions_called
from vlad.core.extents import AnExtent, Extent, certainly
from vlad.core.loop_nests import Access, Kernel, Output, Read, Step, Write
from vlad.primitives import indexing

MOST_STEPS = 400  # of a row
MOST_CALLS = 2  # of functions in arms, of which only one would run
FEWEST_ROWS = 16
NUMBERS, RESULTS = frozenset({"number", "real"}), frozenset({"number", "real", "boolean"})
(WHERE,) = [row for row in indexing.ROWS if row.name == "where"]


def lay_out(program: Program) -> None:
    loops = [loop for loop in map(row_loop, program.functions) if loop is not None]
    for loop in loops:
        begin = _begin(program, loop)
        if begin is not None:
            kernel = _Rows(loop, begin).kernel()
            if kernel is not None:
                _replace(loop, *kernel)


def _begin(program: Program, loop: RowLoop) -> int | None:
    """The number with which all calls begin, if that is known, and enough rows follow."""
    given = {
        end.operands[loop.counter]
        for function in program.functions
        for block in blocks(function.body)
        for end in (*block.statements, block.end)
        if (type(end) is Invoke or type(end) is TailInvoke)
        and end.function is loop.function
        and not (function is loop.function and type(end) is TailInvoke)
    }
    if len(given) != 1 or loop.function in program.entries:
        return None
    (begin,) = given
    if type(begin) is not float or not begin.is_integer():
        return None
    fewest = 0 if type(loop.end) is Extent else FEWEST_ROWS
    return int(begin) if certainly("<=", int(begin) + fewest, loop.end) else None


class _Unfit(Exception):
    """The rows are not computed in a straight line."""


class _Rows:
    """One loop as a kernel. `values`: the numbers of what slots hold; `stored`: by the slot of a written array, its output and
    what is written there."""

    def __init__(self, loop: RowLoop, begin: int) -> None:
        self.loop, self.begin = loop, begin
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
        outputs, writes, bases = [], [], []
        for number, at in enumerate(loop.answers):
            slot = end.operands[at]
            if type(slot) is not Slot or slot not in self.stored:
                return None
            output, write = self.stored[slot]
            outputs.append(replace(output, base=number))
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
