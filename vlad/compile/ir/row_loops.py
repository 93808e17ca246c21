"""Loops whose turns are independent, such as those of `vmap`: a GPU runs them in a thread for each row, C in several threads, or
in vector lanes.

In: a function.  Out: its `RowLoop`, if it is such a loop. emit/c_function.py prints it, or emit/cuda_functions.py, or
passes/row_lanes.py makes it a loop over arrays.

A loop has independent turns if it counts by one to a number, and each of its other parameters either stays as it is, or is an
array in which a turn stores the row of its own number, and which it does not read. `rows-begin` makes such an array, with the
first row in it, so that the loop begins with the second. Since a turn hands nothing on, what it allocates is free at its end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from vlad.compile.ir.program import (
    Block,
    Branch,
    Compute,
    Each,
    Effect,
    End,
    Function,
    Invoke,
    Leaf,
    Return,
    Slot,
    Statement,
    Switch,
    TailInvoke,
    Unreachable,
    Yield,
    blocks,
    leaves_read,
    slots_bound,
    statements,
)
from vlad.core.extents import AnExtent, Extent, are_same
from vlad.core.loop_nests import Access, contiguous


@final
@dataclass(frozen=True, slots=True, eq=False)
class RowLoop:
    """`counter`: the number of the parameter that counts to `end`; `answers`: by number, the parameters that are written; `turn`:
    the loop's body in a turn, which ends in a return; `again`: the same, which ends in the next turn, and tests whether rows
    exist, as a counter may begin beyond the end; `writes`: the loops over arrays that store rows, with their outputs."""

    function: Function
    counter: int
    end: float | Extent
    answers: tuple[int, ...]
    again: Block
    turn: Block
    writes: dict[Each, dict[int, int]]
    after: Block

    @property
    def given(self) -> list[int]:
        """The parameters besides the counter."""
        return [at for at in range(len(self.function.parameters)) if at != self.counter]


def row_loop(function: Function) -> RowLoop | None:
    """The function as such a loop, if it is one."""
    body = function.body
    if not body.statements or type(body.end) is not Unreachable:
        return None
    *before, last = body.statements
    if (
        type(last) is not Branch
        or last.slots
        or not all(type(one) is Compute or _is_step(one) for one in before)
    ):
        return None
    test = next((one for one in before if type(one) is Compute and one.slot is last.test), None)
    if test is None or test.row.name != "=":
        return None
    counted = _counted(function, test.operands)
    if counted is None or _turns(last.consequent, function) or not _turns(last.alternative, function):
        return None
    counter, end = counted
    found = _Turns(function, counter, end, before, last.alternative)
    if not found.are_independent():
        return None
    again = Block([*before, *last.alternative.statements], last.alternative.end)
    turn = Block([*before, *found.turn.statements], found.turn.end)
    after = Block([*before, *last.consequent.statements], last.consequent.end)
    return RowLoop(function, counter, end, tuple(sorted(found.answers)), again, turn, found.writes, after)


def _is_step(statement: Statement) -> bool:
    return type(statement) is Effect and statement.what == "step"


def _counted(function: Function, operands: tuple[Leaf, ...]) -> tuple[int, float | Extent] | None:
    """The parameter that is compared with a whole number, and that number."""
    for one, other in (operands, operands[::-1]):
        if one in function.parameters and (
            (type(other) is float and other.is_integer()) or type(other) is Extent
        ):
            return function.parameters.index(one), other  # type: ignore[arg-type]
    return None


def _turns(block: Block, function: Function) -> list[TailInvoke]:
    ends = [inner.end for inner in blocks(block)]
    return [end for end in ends if type(end) is TailInvoke and end.function is function]


class _Turns:
    """What a loop's turns do with its parameters."""

    def __init__(
        self, function: Function, counter: int, end: float | Extent, before: list[Statement], body: Block
    ) -> None:
        self.function = function
        self.counter, self.end = counter, end
        self.before, self.body = before, body
        self.within = [*before, *statements(body)]
        self.answers: set[int] = set()
        self.writes: dict[Each, dict[int, int]] = {}
        self.turn = body

    def are_independent(self) -> bool:
        ends = [block.end for block in blocks(self.body)]
        if any(type(end) is Return for end in ends):
            return False
        turns = [end for end in ends if type(end) is TailInvoke]
        if any(end.function is not self.function for end in turns):
            return False
        made = {slot: one for one in self.within for slot in slots_bound(one)}
        for end in turns:
            for at, leaf in enumerate(end.operands):
                if not self._passes(at, leaf, made):
                    return False
        if any(self._is_read(self.function.parameters[at], turns) for at in self.answers):
            return False
        self.turn = _returning(self.body, self._within_rows())
        return True

    def _within_rows(self) -> set[Leaf]:
        """The tests of whether the counter is below a number that hold in each turn, as that of whether a row exists does."""
        counter = self.function.parameters[self.counter]
        return {
            one.slot
            for one in self.within
            if type(one) is Compute and one.row.name == "<" and one.operands[0] is counter
            and type(one.operands[1]) is float and type(self.end) is float and one.operands[1] >= self.end
        }  # fmt: skip

    def _passes(self, at: int, leaf: Leaf, made: dict[Slot, Statement]) -> bool:
        parameter = self.function.parameters[at]
        maker = made.get(leaf) if type(leaf) is Slot else None
        if at == self.counter:
            counts = type(maker) is Compute and maker.row.name == "+"
            return (
                counts and type(maker) is Compute and set(map(id, maker.operands)) >= {id(parameter)}
                and 1.0 in [one for one in maker.operands if type(one) is float]
            )  # fmt: skip
        if leaf is parameter:
            return True
        if type(maker) is not Each or not maker.is_loop:
            return False
        output = maker.slots.index(leaf)
        base = maker.kernel.outputs[output].base
        if base is None or maker.operands[base] is not parameter or not self._stores_row(maker, output):
            return False
        self.answers.add(at)
        self.writes.setdefault(maker, {})[output] = base
        return True

    def _stores_row(self, loop: Each, number: int) -> bool:
        """Does a loop over arrays store into the turn's own row of the output's base, and in no other?"""
        kernel, output = loop.kernel, loop.kernel.outputs[number]
        if output.fill is not None or output.size is None or not self.end:
            return False
        return all(
            write.access is not None
            and not write.combine
            and self._is_own_row(loop, write.access, output.size)
            for write in kernel.writes
            if write.output == number
        )

    def _is_own_row(self, loop: Each, access: Access, size: AnExtent) -> bool:
        """Are the positions of an access, in an array of a size, in the turn's own row?"""
        kernel = loop.kernel
        if len(access.at) != 1:
            return False
        ((value, stride),) = access.at
        read = kernel.reads[value] if value < len(kernel.reads) else None
        is_counted = (
            read is not None and read.operand is not None and read.access is None
            and loop.operands[read.operand] is self.function.parameters[self.counter]
        )  # fmt: skip
        end: AnExtent = self.end if type(self.end) is Extent else int(self.end)
        if not is_counted or not are_same(stride * end, size):
            return False
        steps = list(zip(access.strides, kernel.extents, strict=True))
        if type(stride) is int and all(type(part) is int for pair in steps for part in pair):
            low = access.offset + sum([min(0, step * (count - 1)) for step, count in steps])
            high = access.offset + sum([max(0, step * (count - 1)) for step, count in steps])
            return type(low) is int and 0 <= low <= high < stride
        shape = tuple([count for step, count in steps if step != 0 or count != 1])
        moving = [step for step, count in steps if step != 0 or count != 1]
        return (
            access.offset == 0
            and are_same(stride, math.prod(shape))
            and all(map(are_same, moving, contiguous(shape)))
        )

    def _is_read(self, parameter: Slot, turns: list[TailInvoke]) -> bool:
        """Is the array read other than as what a row is stored in?"""
        for node in [*self.within, *[block.end for block in blocks(self.body)]]:
            times = leaves_read(node).count(parameter)
            if not times or (type(node) is TailInvoke and node in turns):
                continue
            bases = self.writes.get(node, {}) if type(node) is Each else {}
            if (
                type(node) is not Each
                or times > 1
                or not any(node.operands[one] is parameter for one in bases.values())
            ):
                return True
            if any(
                read.operand is not None and node.operands[read.operand] is parameter
                for read in node.kernel.reads
            ):
                return True
        return False


def _returning(block: Block, true: set[Leaf]) -> Block:
    """A copy in which each turn returns, without checks of what is true."""
    end: End = Return(()) if type(block.end) is TailInvoke else block.end
    found: list[Statement] = []
    for one in block.statements:
        if type(one) is Branch:
            if one.test in true and not one.slots and _is_empty(one.consequent):
                continue
            arms = _returning(one.consequent, true), _returning(one.alternative, true)
            found.append(Branch(one.slots, one.test, *arms, one.span))
        elif type(one) is Switch:
            cases = [(member, _returning(inner, true)) for member, inner in one.cases]
            found.append(Switch(one.slots, one.pointer, cases, one.span))
        else:
            found.append(one)
    return Block(found, end)


def _is_empty(block: Block) -> bool:
    return not block.statements and type(block.end) is Yield


def callees(body: Block) -> list[Function]:
    nodes = [node for block in blocks(body) for node in (*block.statements, block.end)]
    return [node.function for node in nodes if type(node) is Invoke or type(node) is TailInvoke]


def begins_rows(maker: Statement | None) -> bool:
    """Does a statement make arrays of which only a part has contents, as `rows-begin` does? Each of its outputs has to be one."""
    return (
        type(maker) is Each and maker.is_loop
        and all(
            output.size is not None and output.fill is None and output.base is None
            and math.prod(maker.kernel.extents) < output.size
            for output in maker.kernel.outputs
        )
    )  # fmt: skip
