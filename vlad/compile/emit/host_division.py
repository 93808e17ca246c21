"""What of a program the host of a GPU executes, whose threads run loops with independent turns (ir/row_loops.py).

In: a program, and its `RowLoop`s.  Out: for each function the body that remains for the host. Called by cuda_unit.py.

A loop of `vmap` begins with the second row, as `rows-begin` stores the first. Its turn for row 0 would store the same, so on a
GPU the loop begins with row 0, and the computation of the first row before it is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from vlad.compile.ir.program import (
    Block,
    Branch,
    Each,
    Function,
    Invoke,
    Leaf,
    Program,
    Slot,
    Statement,
    TailInvoke,
    blocks,
    inner_blocks,
    leaves_read,
    slots_bound,
    statements,
)
from vlad.compile.ir.row_loops import RowLoop, begins_rows, callees
from vlad.core.loop_nests import Kernel

MOST_TURNS = 1 << 10  # of a loop over an array in a turn: the threads of a GPU share longer ones


@final
class Division:
    """The parts of a program: `loops` for the GPU, by function, and `bodies` of what the host executes, by function; `fresh`: the
    loops whose arrays are all made for them."""

    def __init__(self, program: Program, loops: dict[Function, RowLoop]) -> None:
        self.loops = loops
        self.bodies = {
            function: loops[function].after if function in loops else function.body
            for function in program.functions
        }
        others: set[Function] = set()  # loops that some call continues
        for function in self.bodies:
            self._begin(function, others)
        self.fresh = loops.keys() - others
        self.functions = self._reached(program.entries)

    def _begin(self, function: Function, others: set[Function]) -> None:
        """Let the loops that a function calls begin with row 0."""
        body = self.bodies[function]
        nodes = [node for block in blocks(body) for node in (*block.statements, block.end)]
        readers: dict[Leaf, int] = {}
        for node in nodes:
            for leaf in leaves_read(node):
                readers[leaf] = readers.get(leaf, 0) + 1
        made = {slot: one for one in statements(body) for slot in slots_bound(one)}
        begun: dict[Statement, Each] = {}
        anew: dict[Invoke | TailInvoke, tuple[Leaf, ...]] = {}
        for node in nodes:
            is_call = type(node) is Invoke or type(node) is TailInvoke
            loop = self.loops.get(node.function) if is_call else None  # type: ignore[union-attr]  # a call has one
            if loop is None:
                continue
            assert type(node) is Invoke or type(node) is TailInvoke
            makers = [made.get(node.operands[at]) for at in loop.answers]  # type: ignore[arg-type]  # slots
            alone = all(readers[node.operands[at]] == 1 for at in loop.answers)
            if not (alone and node.operands[loop.counter] == 1.0 and all(map(begins_rows, makers))):
                others.add(loop.function)
                continue
            for maker in makers:
                assert type(maker) is Each
                begun[maker] = _blank(maker)
            anew[node] = tuple([0.0 if at == loop.counter else leaf for at, leaf in enumerate(node.operands)])
        if anew:
            self.bodies[function] = _without_firsts(body, begun, anew)

    def _reached(self, entries: Iterable[Function]) -> list[Function]:
        """The functions that the host executes."""
        found = list(entries)
        for function in found:  # grows during the loop
            for callee in callees(self.bodies[function]):
                if callee not in found:
                    found.append(callee)
        return found


def _blank(maker: Each) -> Each:
    """The same arrays without any contents."""
    return Each(maker.slots, Kernel((), (), (), maker.kernel.outputs, ()), (), maker.span)


def _without_firsts(
    body: Block, begun: dict[Statement, Each], anew: dict[Invoke | TailInvoke, tuple[Leaf, ...]]
) -> Block:
    """A body in which arrays begin blank, and calls of loops with other operands; without what computed only first rows."""
    within = statements(body)
    made = {slot: one for one in within for slot in slots_bound(one)}
    first: set[Statement] = set()  # what computes first rows, and perhaps more
    work = list(begun)
    while work:
        one = work.pop()
        inner = [node for block in inner_blocks(one) for node in blocks(block)]
        leaves = [*leaves_read(one)]
        for block in inner:
            leaves += [leaf for node in (*block.statements, block.end) for leaf in leaves_read(node)]
        for leaf in leaves:
            maker = made.get(leaf) if type(leaf) is Slot else None
            if maker is not None and maker not in first and maker not in begun:
                first.add(maker)
                work.append(maker)
    return _rewritten(body, begun, anew, _unread(body, begun, first))


def _unread(body: Block, begun: dict[Statement, Each], first: set[Statement]) -> set[Statement]:
    """Those of `first` that nothing else reads."""
    unread: set[Statement] = set()
    while True:
        read: set[Leaf] = set()
        work = [body]
        while work:
            block = work.pop()
            read.update(leaves_read(block.end))
            for one in block.statements:
                if one not in unread:
                    read.update(() if one in begun else leaves_read(one))
                    work += inner_blocks(one)
        more = {one for one in first - unread if slots_bound(one) and read.isdisjoint(slots_bound(one))}
        if not more:
            return unread
        unread |= more


def _rewritten(
    block: Block,
    begun: dict[Statement, Each],
    anew: dict[Invoke | TailInvoke, tuple[Leaf, ...]],
    unread: set[Statement],
) -> Block:
    found: list[Statement] = []
    for one in block.statements:
        if one in unread:
            continue
        if type(one) is Branch:
            consequent = _rewritten(one.consequent, begun, anew, unread)
            alternative = _rewritten(one.alternative, begun, anew, unread)
            one = Branch(one.slots, one.test, consequent, alternative, one.span)
        elif type(one) is Invoke and one in anew:
            one = Invoke(one.slots, one.function, anew[one], one.span)
        found.append(begun.get(one, one))
    end = block.end
    if type(end) is TailInvoke and end in anew:
        end = TailInvoke(end.function, anew[end], end.span)
    return Block(found, end)
