"""Which arrays are referenced only once, so that a loop may update them in place.

In: a program.  Out: the loops over arrays that may overwrite their base (`owning`). `own` inserts copies before a loop of the
program whose initial array may be shared, so that its iterations have a unique one: one copy for the loop, not one for each
iteration.

A slot owns its array if nothing else references it. The statement that makes an array owns it. The last read of the slot
transfers ownership: to a result that starts as the array, to an owning parameter, to the result of a branch or of a procedure. An
array passed to a box, to the outside or to a parameter that does not own is shared from then on; an array from a box is never
owned. Ownership of parameters, branches and results is mutually dependent: a greatest fixed point, in which all own until a
shared array is found to be passed to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from vlad.compile.ir.outlines import Outlines
from vlad.compile.ir.program import (
    Block,
    Box,
    Branch,
    Each,
    Effect,
    End,
    Function,
    Invoke,
    Leaf,
    Program,
    Return,
    Slot,
    Statement,
    Store,
    Switch,
    TailInvoke,
    Yield,
    blocks,
    inner_blocks,
    leaves_read,
    statements,
)
from vlad.compile.ir.rewriting import looping, replace_leaves
from vlad.compile.passes.sparse import is_zeros
from vlad.control.gil_yield import yield_gil
from vlad.core.loop_nests import Access, Kernel, Output, Read, Write

Owner = tuple[Function, int]  # with the number of a parameter, or of a result
Owning = dict[Each, int]  # loops that may overwrite their base: the output's number
NO_LOOPS: Mapping[Function, int] = {}


def owning(program: Program) -> Owning:
    """The loops that may overwrite their base."""
    return {} if not _has_bases(program) else _Ownership(program).owning()


def own(program: Program, outlines: Outlines | None = None) -> bool:
    """Copy the initial arrays of loops that then own the arrays they add to. Returns whether there may be any."""
    if not _has_bases(program, outlines):
        return False
    loops = looping(program.functions)
    for function in program.functions:
        _separate_zeros(function)
    hoped = {(function, number) for function in loops for number in range(len(function.parameters))}
    while hoped:
        ownership = _Ownership(program, loops, hoped)
        wanted = ownership.wanted()
        if wanted.keys() >= hoped:
            ownership.copy(wanted)
            break
        hoped &= wanted.keys()
    if outlines is not None:
        outlines.forget()
    return True


def _separate_zeros(function: Function) -> None:
    """If one array of zeros is several results, or several parameters, make one for each."""
    zeros = {
        s.slots[0]: s
        for s in statements(function.body)
        if type(s) is Each and s.is_loop and is_zeros(s.kernel, s.operands)
    }
    for block in blocks(function.body) if zeros else ():
        for node in (*block.statements, block.end):
            own: set[Leaf] = set()

            def separated(
                leaf: Leaf, node: Statement | End = node, block: Block = block, own: set[Leaf] = own
            ) -> Leaf:
                if leaf in own and type(leaf) is Slot and leaf in zeros:
                    made, zero = Slot("p", leaf.name), zeros[leaf]
                    _put_before(block, node, Each((made,), zero.kernel, zero.operands, zero.span))
                    return made
                own.add(leaf)
                return leaf

            if isinstance(node, Yield | Return | Invoke | TailInvoke):
                replace_leaves(node, separated)


def _has_bases(program: Program, outlines: Outlines | None = None) -> bool:
    outlines = outlines or Outlines()
    return any(_base(s) is not None for function in program.functions for s in outlines[function].statements)


def _base(statement: Statement) -> int | None:
    """The operand that a loop may overwrite if it owns it: the only one, read by nothing else."""
    if type(statement) is not Each or not statement.is_loop:
        return None
    bases = [output.base for output in statement.kernel.outputs if output.base is not None]
    if len(bases) != 1 or any(read.operand == bases[0] for read in statement.kernel.reads):
        return None
    return bases[0]


class _Ownership:
    """`loops`: the loop to which a procedure belongs. `hoped`: parameters that will get unique arrays at the
    start of the loop.
    """

    def __init__(
        self, program: Program, loops: Mapping[Function, int] = NO_LOOPS, hoped: Set[Owner] = frozenset()
    ) -> None:
        self.program = program
        self.loops = loops
        self.hoped = hoped
        self.last: dict[
            Statement | End, set[Leaf]
        ] = {}  # the leaves that are not read after a statement or end
        self.inner: dict[Yield, Branch | Switch] = {}
        self.made: dict[Slot, tuple[Statement, int]] = {}
        self.shared: set[Slot] = set()  # slots whose arrays may be referenced elsewhere
        self.parameters: dict[Slot, Owner] = {}
        self.disowned: set[Owner] = set()
        self.not_fresh: set[Owner] = set()
        self.not_yielded: set[Slot] = set()  # results of branches
        for function in program.functions:
            self._look(function)
        for entry in program.entries:
            self.disowned |= {(entry, number) for number in range(len(entry.parameters))}
        while self._less():
            yield_gil()

    def _look(self, function: Function) -> None:
        self.parameters.update({slot: (function, n) for n, slot in enumerate(function.parameters)})
        for statement in statements(function.body):
            if (
                type(statement) is Each
                or type(statement) is Invoke
                or type(statement) is Branch
                or type(statement) is Switch
            ):
                self.made.update({slot: (statement, n) for n, slot in enumerate(statement.slots)})
            for block in inner_blocks(statement):
                if type(block.end) is Yield:
                    assert type(statement) is Branch or type(statement) is Switch
                    self.inner[block.end] = statement
        self._look_back(function.body, set())

    def _look_back(self, block: Block, later: set[Leaf]) -> set[Leaf]:
        """Record the last reads in a block, given the leaves read later; returns the leaves read from its beginning on."""
        later = set(later)
        for node in (block.end, *reversed(block.statements)):
            own: set[Leaf] = {leaf for leaf in leaves_read(node) if type(leaf) is Slot and leaf.kind == "p"}
            arms = (
                [self._look_back(arm, later) for arm in inner_blocks(node)]
                if not isinstance(node, End)
                else []
            )
            self.last[node] = own - later
            later |= own.union(*arms)
        return later

    # Transfers.

    def _handed(self, function: Function) -> Iterator[tuple[Statement | End, int, Leaf, Owner | Slot | None]]:
        """The statements that keep an array beyond their execution: with the position of the leaf, and its destination: a
        parameter or result, a branch's result, or None, which does not own.
        """
        for block in blocks(function.body):
            for node in (*block.statements, block.end):
                match node:
                    case Box() | Store() | Effect():
                        for place, leaf in enumerate(leaves_read(node)):
                            yield node, place, leaf, None
                    case Invoke() | TailInvoke():
                        for place, leaf in enumerate(node.operands):
                            yield node, place, leaf, (node.function, place)
                    case Yield():
                        for place, leaf in enumerate(node.leaves):
                            yield node, place, leaf, self.inner[node].slots[place]
                    case _:
                        pass

    def owns(self, slot: Leaf) -> bool:
        """Whether a slot's array has no other reference until it is transferred."""
        if type(slot) is not Slot or slot.kind != "p" or slot in self.shared:
            return False
        if slot in self.parameters:
            return self.parameters[slot] not in self.disowned
        statement, number = self.made.get(slot, (None, 0))
        if type(statement) is Each:
            return True
        if type(statement) is Invoke:
            return (statement.function, number) not in self.not_fresh
        return type(statement) in (Branch, Switch) and slot not in self.not_yielded

    def _gives(self, node: Statement | End, leaf: Leaf) -> bool:
        """Whether the statement transfers an array that is owned."""
        return leaf in self.last[node] and leaves_read(node).count(leaf) == 1 and self.owns(leaf)

    def _takes(self, to: Owner | Slot | None) -> bool:
        if to is None:
            return False
        return to not in self.not_yielded if type(to) is Slot else to not in self.disowned

    def _less(self) -> bool:
        """Remove refuted assumptions of ownership. Returns whether there were any."""
        before = len(self.disowned) + len(self.not_fresh) + len(self.not_yielded) + len(self.shared)
        for function in self.program.functions:
            for node, _, leaf, to in self._handed(function):
                if type(leaf) is not Slot:
                    if type(to) is Slot:
                        self.not_yielded.add(to)
                    elif to is not None and not self._is_begun(function, to):
                        self.disowned.add(to)
                elif leaf.kind == "p":
                    self._hand(function, node, leaf, to)
            for block in blocks(function.body):
                if type(block.end) is Return:
                    for number, leaf in enumerate(block.end.leaves):
                        if not self._gives(block.end, leaf):
                            self.not_fresh.add((function, number))
                elif type(block.end) is TailInvoke:
                    for number in range(len(function.results)):
                        if (block.end.function, number) in self.not_fresh:
                            self.not_fresh.add((function, number))
        return before != len(self.disowned) + len(self.not_fresh) + len(self.not_yielded) + len(self.shared)

    def _hand(self, function: Function, node: Statement | End, leaf: Slot, to: Owner | Slot | None) -> None:
        if self._takes(to):
            if self._gives(node, leaf):
                return
            if type(to) is Slot:
                self.not_yielded.add(to)
            elif to is not None and self._is_begun(function, to):
                return  # it will be a copy
            elif to is not None:
                self.disowned.add(to)
        if type(node) is not TailInvoke:  # nothing comes after a tail call
            self.shared.add(leaf)

    def _is_begun(self, caller: Function, to: Owner) -> bool:
        """Whether it is a loop that the caller enters, and that gets a copy."""
        return to in self.hoped and self.loops.get(caller) != self.loops[to[0]]

    # Results.

    def owning(self) -> Owning:
        found = {}
        for function in self.program.functions:
            for statement in statements(function.body):
                base = _base(statement)
                if (
                    base is not None
                    and type(statement) is Each
                    and self._gives(statement, statement.operands[base])
                ):
                    found[statement] = next(
                        n for n, output in enumerate(statement.kernel.outputs) if output.base == base
                    )
        return found

    def wanted(self) -> dict[Owner, Output]:
        """Parameters that would own, and whose arrays are then overwritten: with the arrays' outputs."""
        found: dict[Slot, Output] = {}
        for loop, number in self.owning().items():
            output = loop.kernel.outputs[number]
            assert output.base is not None
            leaf = loop.operands[output.base]
            assert type(leaf) is Slot
            found[leaf] = output
        sources: dict[Owner | Slot, list[Slot]] = {}
        for function in self.program.functions:
            for node, _, leaf, to in self._handed(function):
                if to is not None and type(leaf) is Slot and self._takes(to) and self._gives(node, leaf):
                    sources.setdefault(to, []).append(leaf)
        work = list(found)
        for leaf in work:  # grows during the loop
            for source in sources.get(self.parameters.get(leaf, leaf), ()):
                if source not in found:
                    found[source] = found[leaf]
                    work.append(source)
        return {self.parameters[leaf]: output for leaf, output in found.items() if leaf in self.parameters}

    def copy(self, wanted: Mapping[Owner, Output]) -> None:
        """Insert copies of arrays that loops do not own."""
        for function in self.program.functions:
            for block in blocks(function.body):
                for node in (*block.statements, block.end):
                    if isinstance(node, Invoke | TailInvoke):
                        for place, leaf in enumerate(node.operands):
                            to = node.function, place
                            if to in wanted and self._is_begun(function, to) and not self._gives(node, leaf):
                                _copy(block, node, place, wanted[to])


def _copy(block: Block, node: Statement | End, place: int, like: Output) -> None:
    assert isinstance(node, Invoke | TailInvoke) and like.size is not None
    access = Access(0, (1,))
    kernel = Kernel(
        (like.size,),
        (Read(0, access, like.kind),),
        (),
        (Output(like.size, kind=like.kind),),
        (Write(0, 0, access),),
    )
    leaf = node.operands[place]
    made = Slot("p", leaf.name if type(leaf) is Slot else "t")
    _put_before(block, node, Each((made,), kernel, (leaf,), node.span))
    node.operands = tuple([made if n == place else own for n, own in enumerate(node.operands)])


def _put_before(block: Block, node: Statement | End, statement: Each) -> None:
    at = len(block.statements) if node is block.end else [one is node for one in block.statements].index(True)
    block.statements.insert(at, statement)
