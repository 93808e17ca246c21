"""First-order code → first-order code: a sum with a sparse array adds its few entries, and touches no others.

In: an optimised Program.  Out: the same, changed in place. The sensitivity of one entry of a tensor is zero everywhere else, and
adding it to another array takes time in proportion to the whole tensor. This pass turns the sum into a loop over the entries that
are not zero, which starts from the other array's contents (`base`). If that array is unique (uniqueness.py), no other entry is
touched. So the gradient of a loop over n entries costs as much as n entries, not n tensors.

An array is sparse if it is: zeros with entries written into them; a sparse array with entries added; a sum of two; the result of
a branch all of whose arms are sparse; or the result of a procedure that only adds to its sparse argument. In each case the other
term of the sum takes the place of the zeros.

The file is long because it is one pass: finding sparse arrays and adding them are decided together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from vlad.compile.ir.outlines import Outline, Outlines
from vlad.compile.ir.program import (
    Block,
    Branch,
    Each,
    Function,
    Invoke,
    Leaf,
    Program,
    Return,
    Slot,
    Statement,
    Switch,
    TailInvoke,
    Yield,
    blocks,
    inner_blocks,
    leaves_read,
    slots_bound,
)
from vlad.compile.ir.rewriting import repeated
from vlad.control.gil_yield import yield_gil
from vlad.core.extents import estimate
from vlad.core.loop_nests import Access, Choice, Kernel, Output, Read, Step, Write, is_injective

FEWEST_TO_ONE = 2  # entries of the whole for each that is not zero
# Zeros except at known positions are evaluated by their readers, fused with other loops. Only arrays of at least this size, in
# sums that are carried from iteration to iteration, are better added in place.
FEWEST_CHOSEN = 32


def add_in_places(program: Program, outlines: Outlines | None = None) -> bool:
    """Returns whether there may be such sums."""
    outlines = outlines or Outlines()
    found = any(_puts(outlines[function]) for function in program.functions)
    if found:
        again = repeated(program.functions)
        adding = _adding(program)
        for function in program.functions:
            yield_gil()
            _Sums(function, adding, function in again).rewrite()
        outlines.forget()
    return found


def _puts(outline: Outline) -> bool:
    loops = [s.kernel for s in outline.statements if type(s) is Each and s.is_loop]
    return any(_is_put(kernel) or _adds(kernel) or _chosen(kernel) is not None for kernel in loops)


# What kernels do.


def _one(kernel: Kernel) -> tuple[Output, Write, Access] | None:
    """The single array that a kernel makes, if that is its only output."""
    if len(kernel.outputs) != 1 or len(kernel.writes) != 1 or kernel.outputs[0].size is None:
        return None
    access = kernel.writes[0].access
    return None if access is None else (kernel.outputs[0], kernel.writes[0], access)


def _is_few(kernel: Kernel, size: int) -> bool:
    return estimate(kernel.turns) * FEWEST_TO_ONE <= estimate(size)


def _is_put(kernel: Kernel) -> bool:
    """Whether it makes zeros except at a few positions, each of which is written once."""
    one = _one(kernel)
    if one is None:
        return False
    output, write, access = one
    return (
        output.fill == 0.0
        and output.base is None
        and output.size is not None
        and _is_few(kernel, output.size)
        and (
            write.combine == "+"
            or (
                not write.combine
                and all(
                    number < len(kernel.reads) and kernel.reads[number].access is None
                    for number, _ in access.at
                )
                and is_injective(range(len(kernel.extents)), access.strides, kernel.extents)
            )
        )
    )


def _adds(kernel: Kernel) -> bool:
    """Whether it adds at a few positions of its base."""
    one = _one(kernel)
    if one is None:
        return False
    output, write, _ = one
    return (
        write.combine == "+"
        and output.base is not None
        and all(read.operand != output.base for read in kernel.reads)
        and output.size is not None
        and _is_few(kernel, output.size)
    )


def _is_whole(kernel: Kernel) -> bool:
    """Whether each entry of its only array is written once."""
    one = _one(kernel)
    return (
        one is not None
        and not one[1].combine
        and not one[2].at
        and one[0].base is None
        and one[0].fill is None
        and kernel.turns == one[0].size
    )


def _is_sum(kernel: Kernel) -> bool:
    """Whether it is an entrywise sum of two arrays."""
    if not _is_whole(kernel) or len(kernel.reads) != 2 or len(kernel.steps) != 1:
        return False
    (step,), (write,), kind = kernel.steps, kernel.writes, kernel.outputs[0].kind
    return (
        type(step) is Step
        and step.row.name == "+"
        and step.kind == kind
        and sorted(step.values) == [0, 1]
        and write.value == 2
        and all(read.kind == kind and read.access == write.access for read in kernel.reads)
        and {read.operand for read in kernel.reads} == {0, 1}
    )


def _chosen(kernel: Kernel) -> tuple[int, int] | None:
    """For zeros except at a few known positions: the operand that is chosen there, and the one that is zero."""
    if not _is_whole(kernel) or len(kernel.steps) != 1 or kernel.writes[0].value != len(kernel.reads):
        return None
    (choice,) = kernel.steps
    if type(choice) is not Choice or max(choice.values) >= len(kernel.reads):
        return None
    there, elsewhere = [kernel.reads[value] for value in choice.values]
    size = kernel.outputs[0].size or 0
    turns = 1
    for begin, end in choice.box:
        turns *= end - begin
    if (
        elsewhere.access is not None
        or there.operand is None
        or elsewhere.operand is None
        or (there.access is not None and there.access.at)
        or there.kind != kernel.outputs[0].kind
        or estimate(size) < FEWEST_CHOSEN
        or estimate(turns) * FEWEST_TO_ONE > estimate(size)
    ):
        return None
    return there.operand, elsewhere.operand


def _put_there(kernel: Kernel, there: int) -> Kernel:
    """The same zeros except at known positions, as a loop over these."""
    (choice,), (write,) = kernel.steps, kernel.writes
    assert type(choice) is Choice and write.access is not None
    begins = [begin for begin, _ in choice.box]

    def moved(access: Access) -> Access:
        return Access(
            access.offset + sum([s * begin for s, begin in zip(access.strides, begins, strict=True)]),
            access.strides,
        )

    read = kernel.reads[choice.values[0]]
    return Kernel(
        tuple([end - begin for begin, end in choice.box]),
        (Read(there, None if read.access is None else moved(read.access), read.kind),),
        (),
        (replace(kernel.outputs[0], fill=0.0),),
        (Write(0, 0, moved(write.access)),),
    )


def is_zeros(kernel: Kernel, operands: tuple[Leaf, ...]) -> bool:
    return (
        _is_whole(kernel)
        and not kernel.steps
        and len(kernel.reads) == 1
        and kernel.reads[0].access is None
        and kernel.reads[0].operand is not None
        and operands[kernel.reads[0].operand] == 0.0
        and kernel.reads[0].kind == kernel.outputs[0].kind
    )


# Procedures that only add to an argument.

_Adding = set[tuple[Function, int, int]]  # with the number of a parameter and that of a result


def _adding(program: Program) -> _Adding:
    """The result is the parameter plus something that does not depend on it, and other results do not depend on it. A greatest
    fixed point: all candidates are assumed to qualify until they are refuted.
    """
    tensors = {cell for cell, members in program.members.items() if any(member.entries for member in members)}
    found = {
        (function, at, to)
        for function in program.functions
        for at, cell in enumerate(function.parameter_cells)
        if cell in tensors and function not in program.entries
        for to, result in enumerate(function.result_cells)
        if result is cell
    }
    while True:
        yield_gil()
        less = {one for one in found if not _Linear(*one, found).holds()}
        if not less:
            return found
        found -= less


class _Linear:
    def __init__(self, function: Function, at: int, to: int, adding: _Adding) -> None:
        self.function = function
        self.to = to
        self.adding = adding
        self.sums: set[Leaf] = {function.parameters[at]}  # the parameter plus terms that do not depend on it

    def holds(self) -> bool:
        return self._block(self.function.body)

    def _block(self, block: Block) -> bool:
        return all(self._statement(statement) for statement in block.statements) and self._end(block)

    def _statement(self, statement: Statement) -> bool:
        own = leaves_read(statement)
        of = [place for place, leaf in enumerate(own) if leaf in self.sums]
        if type(statement) is Branch or type(statement) is Switch:
            return not of and self._arms(statement)
        if not of:
            return True
        if len(of) > 1:
            return False
        if type(statement) is Each and statement.is_loop:
            kernel = statement.kernel
            if _is_sum(kernel) or (_adds(kernel) and kernel.outputs[0].base == of[0]):
                self.sums.add(statement.slots[0])
                return True
        if type(statement) is Invoke:
            return self._call(statement, of[0])
        return False

    def _call(self, call: Invoke, place: int) -> bool:
        for to in range(len(call.function.results)):
            if (call.function, place, to) in self.adding:
                self.sums.update(call.slots[to : to + 1])
                return True
        return False

    def _arms(self, statement: Branch | Switch) -> bool:
        arms = inner_blocks(statement)
        if not all(self._block(arm) for arm in arms):
            return False
        results = [arm.end.leaves for arm in arms if type(arm.end) is Yield]
        for slot, *leaves in zip(statement.slots, *results, strict=True) if results else ():
            are = [leaf in self.sums for leaf in leaves]
            if all(are):
                self.sums.add(slot)
            elif any(are):
                return False
        return True

    def _end(self, block: Block) -> bool:
        end = block.end
        own = leaves_read(end)
        of = [place for place, leaf in enumerate(own) if leaf in self.sums]
        if type(end) is Return:
            return of == [self.to]
        if type(end) is TailInvoke:
            return len(of) == 1 and (end.function, of[0], self.to) in self.adding
        return True


# Sums.

_Edit = Callable[[Leaf], None]  # substitutes a leaf for the zeros


class _Sums:
    """The sums of a function. `again`: whether it may run more than once."""

    def __init__(self, function: Function, adding: _Adding, again: bool) -> None:
        self.function = function
        self.adding = adding
        self.again = again
        self.made: dict[Leaf, tuple[Statement, Block]] = {}
        self.reads: Counter[Leaf] = Counter()
        for block in blocks(function.body):
            for statement in block.statements:
                self.reads.update(leaves_read(statement))
                self.made.update(dict.fromkeys(slots_bound(statement), (statement, block)))
            self.reads.update(leaves_read(block.end))

    def rewrite(self) -> None:
        """Inner blocks first, which simplifies their results."""
        for block in reversed(blocks(self.function.body)):
            for statement in list(block.statements):
                if type(statement) is Each and statement.is_loop and _is_sum(statement.kernel):
                    first, second = statement.operands
                    if not self._add(block, statement, first, second):
                        self._add(block, statement, second, first)
            for statement in block.statements:
                if type(statement) is Each and statement.is_loop and _adds(statement.kernel):
                    self._begin_with_zeros(statement)

    def _goes_on(self, leaf: Leaf) -> bool:
        """Whether it is a sum that a loop carries from iteration to iteration."""
        while leaf not in self.function.parameters:
            maker = self.made.get(leaf, (None, None))[0]
            if type(maker) is not Each or not maker.is_loop or not _adds(maker.kernel):
                return False
            leaf = maker.operands[maker.kernel.outputs[0].base or 0]
        return self.again

    def _add(self, block: Block, statement: Each, few: Leaf, other: Leaf) -> bool:
        """Replace a sum, if one of its terms is sparse."""
        found = _Few(self, block, self._goes_on(other))
        if type(few) is not Slot or not found.looks(few):
            return False
        whole = [one for one in block.statements if one in found.makers]
        if not self.is_there(other, block, whole[0]):
            if not all(type(one) is Each for one in whole):
                return False
            _put_before(block, whole, statement)
        found.put(other)
        self.replace(block, statement, few)
        return True

    def replace(self, block: Block, statement: Each, leaf: Slot) -> None:
        """Make the definition of a leaf of this block define the result of a statement instead."""
        maker, _ = self.made[leaf]
        (slot,) = statement.slots
        assert isinstance(maker, Each | Invoke | Branch | Switch)
        maker.slots = tuple([slot if one is leaf else one for one in maker.slots])
        self.made[slot] = maker, block
        block.statements.remove(statement)
        for one in statement.operands:
            self.reads[one] -= 1

    def is_there(self, leaf: Leaf, block: Block, first: Statement) -> bool:
        """Whether a leaf is defined before a statement of a block."""
        if leaf not in self.made or self.made[leaf][1] is not block:
            return True
        return block.statements.index(self.made[leaf][0]) < block.statements.index(first)

    def is_zeros(self, leaf: Leaf) -> bool:
        maker = self.made.get(leaf, (None, None))[0]
        return type(maker) is Each and maker.is_loop and is_zeros(maker.kernel, maker.operands)

    def _begin_with_zeros(self, statement: Each) -> None:
        """Start from `fill` instead of a separate array of zeros."""
        kernel = statement.kernel
        base = kernel.outputs[0].base
        if base is not None and self.is_zeros(statement.operands[base]):
            self.reads[statement.operands[base]] -= 1
            _leave_out(
                statement, replace(kernel, outputs=(replace(kernel.outputs[0], base=None, fill=0.0),)), base
            )


class _Few:
    """Whether a leaf of a block is sparse, and not all zeros. `edits`: substitute something for the
    zeros it starts from. `makers`: the statements that make it, whose results have no other readers. `goes_on`: whether the
    substitute is a sum that a loop carries.
    """

    def __init__(self, sums: _Sums, block: Block, goes_on: bool) -> None:
        self.sums = sums
        self.goes_on = goes_on
        self.blocks = [block]
        self.edits: list[_Edit] = []
        self.makers: set[Statement] = set()
        self.seen: Counter[Leaf] = Counter()  # more than once: by several arms of a branch

    def looks(self, leaf: Leaf) -> bool:
        return self._few(leaf) and all(self.sums.reads[one] == times for one, times in self.seen.items())

    def put(self, leaf: Leaf) -> None:
        for edit in self.edits:
            edit(leaf)

    def _few(self, leaf: Leaf) -> bool:
        maker, block = self.sums.made.get(leaf, (None, None))
        if maker is None or block not in self.blocks:
            return False
        self.seen[leaf] += 1
        if self.seen[leaf] > 1:
            return True
        self.makers.add(maker)
        if type(maker) is Each:
            return maker.is_loop and self._loop(maker)
        if type(maker) is Invoke:
            return self._call(maker, maker.slots.index(leaf))
        return isinstance(maker, Branch | Switch) and self._arms(maker, maker.slots.index(leaf))

    def _loop(self, maker: Each) -> bool:
        kernel = maker.kernel
        chosen = _chosen(kernel) if self.goes_on else None
        if chosen is not None and maker.operands[chosen[1]] == 0.0:
            kernel = _put_there(kernel, chosen[0])
        if _is_put(kernel):

            def begin(leaf: Leaf) -> None:
                self.sums.reads[leaf] += 1
                _begin(maker, kernel, leaf)

            self.edits.append(begin)
            return True
        if _is_sum(kernel):
            return self.goes_on and self._sum(maker)
        base = kernel.outputs[0].base if _adds(kernel) else None
        if base is None:
            return False

        def edit(leaf: Leaf) -> None:
            self.sums.reads[leaf] += 1
            maker.operands = tuple(
                [leaf if place == base else own for place, own in enumerate(maker.operands)]
            )
            maker.kernel = replace(kernel, outputs=(replace(kernel.outputs[0], fill=0.0),))

        return self._begins(maker.operands[base], edit)

    def _sum(self, maker: Each) -> bool:
        """A sum of two sparse arrays: one is added to the other. Except those found here, such sums are already added."""
        _, block = self.sums.made[maker.slots[0]]
        terms: list[_Term] = []
        for leaf in maker.operands:
            term = _Few(self.sums, block, self.goes_on)
            if type(leaf) is not Slot or not term.looks(leaf):
                return False
            self.makers |= term.makers
            whole = [one for one in block.statements if one in term.makers]
            terms.append((leaf, term, whole))
        for one, (leaf, term, whole) in (terms, terms[::-1]):
            moves = not self.sums.is_there(one[0], block, whole[0])
            if not moves or all(type(each) is Each for each in whole):
                self.edits.append(self._added(maker, block, one, (leaf, term, whole if moves else [])))
                return True
        return False

    def _added(self, maker: Each, block: Block, one: _Term, other: _Term) -> _Edit:
        def edit(leaf: Leaf) -> None:
            one[1].put(leaf)
            _put_before(block, other[2], maker)
            other[1].put(one[0])
            self.sums.replace(block, maker, other[0])

        return edit

    def _call(self, maker: Invoke, to: int) -> bool:
        for place, operand in enumerate(maker.operands):
            if (maker.function, place, to) in self.sums.adding:

                def edit(leaf: Leaf, place: int = place) -> None:
                    self.sums.reads[leaf] += 1
                    maker.operands = tuple(
                        [leaf if n == place else own for n, own in enumerate(maker.operands)]
                    )

                return self._begins(operand, edit)
        return False

    def _arms(self, maker: Branch | Switch, number: int) -> bool:
        found = 0
        for arm in inner_blocks(maker):
            end = arm.end
            if type(end) is Yield:
                self.blocks.append(arm)

                def edit(leaf: Leaf, end: Yield = end) -> None:
                    self.sums.reads[leaf] += 1
                    end.leaves = tuple([leaf if n == number else own for n, own in enumerate(end.leaves)])

                if not self._begins(end.leaves[number], edit):
                    return False
                found += self.edits[-1:] != [edit]
        return found > 0

    def _begins(self, leaf: Leaf, edit: _Edit) -> bool:
        """The zeros at its start are replaced."""
        if self.sums.is_zeros(leaf):
            self.edits.append(edit)
            return True
        return self._few(leaf)


_Term = tuple[Slot, _Few, list[Statement]]  # with the statements of a block that make it


def _put_before(block: Block, some: list[Statement], statement: Statement) -> None:
    """Move some of a block's statements, in order, before a later one."""
    block.statements = [one for one in block.statements if one not in some]
    at = block.statements.index(statement)
    block.statements[at:at] = some


def _begin(statement: Each, kernel: Kernel, leaf: Leaf) -> None:
    """Add to a leaf instead of zeros. `fill` still records that it was zeros."""
    (output,), (write,) = kernel.outputs, kernel.writes
    statement.operands = (*statement.operands, leaf)
    output = replace(output, base=len(statement.operands) - 1)
    statement.kernel = replace(kernel, outputs=(output,), writes=(replace(write, combine="+"),))


def _leave_out(statement: Each, kernel: Kernel, operand: int) -> None:
    def number(old: int | None) -> int | None:
        return old if old is None or old < operand else old - 1

    statement.operands = tuple([leaf for place, leaf in enumerate(statement.operands) if place != operand])
    statement.kernel = replace(
        kernel,
        reads=tuple([replace(read, operand=number(read.operand)) for read in kernel.reads]),
        outputs=tuple([replace(output, base=number(output.base)) for output in kernel.outputs]),
    )
