"""Which arrays a procedure has for itself, so that what begins as one of them may be it.

In: a program.  Out: the loops over arrays that may write over their base (`owning`). `own` has copies made where a loop of the
program is begun with an array that others may read, so that its turns have one to themselves: a copy for the loop, not for each
turn.

The slot that holds an array owns it, if nobody else can reach it. Who makes an array owns it. It is handed on where the slot is
read last: to what begins as the array, to a parameter that owns, as the answer of a branch or of a procedure. What goes into a
box, to the outside or to a parameter that does not own may be elsewhere from then on; what comes out of a box is nobody's own.
Which parameters, branches and results own depends on each other: all are taken for owning, until something is found to be handed
to them that is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

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
Owning = dict[Each, int]  # loops that may write over their base: the output's number
NO_LOOPS: Mapping[Function, int] = {}


def owning(program: Program) -> Owning:
    """The loops that may write over what they begin with."""
    return {} if not _has_bases(program) else _Ownership(program).owning()


def own(program: Program) -> Program:
    """Make copies of what loops are begun with, where these then own what they add to."""
    if not _has_bases(program):
        return program
    loops = looping(program.functions)
    for function in program.functions:
        _make_apart(function)
    hoped = {(function, number) for function in loops for number in range(len(function.parameters))}
    while hoped:
        ownership = _Ownership(program, loops, hoped)
        wanted = ownership.wanted()
        if wanted.keys() >= hoped:
            ownership.copy(wanted)
            break
        hoped &= wanted.keys()
    return program


def _make_apart(function: Function) -> None:
    """Of zeros that are several answers, or several parameters, each has its own."""
    zeros = {
        s.slots[0]: s
        for s in statements(function.body)
        if type(s) is Each and s.is_loop and is_zeros(s.kernel, s.operands)
    }
    for block in blocks(function.body) if zeros else ():
        for node in (*block.statements, block.end):
            own: set[Leaf] = set()

            def apart(
                leaf: Leaf, node: Statement | End = node, block: Block = block, own: set[Leaf] = own
            ) -> Leaf:
                if leaf in own and type(leaf) is Slot and leaf in zeros:
                    made, zero = Slot("p", leaf.name), zeros[leaf]
                    _put_before(block, node, Each((made,), zero.kernel, zero.operands, zero.span))
                    return made
                own.add(leaf)
                return leaf

            if isinstance(node, Yield | Return | Invoke | TailInvoke):
                replace_leaves(node, apart)


def _has_bases(program: Program) -> bool:
    return any(_base(s) is not None for function in program.functions for s in statements(function.body))


def _base(statement: Statement) -> int | None:
    """The operand that a loop may write over, if it is its own: another one is not needed, or read."""
    if type(statement) is not Each or not statement.is_loop:
        return None
    bases = [output.base for output in statement.kernel.outputs if output.base is not None]
    if len(bases) != 1 or any(read.operand == bases[0] for read in statement.kernel.reads):
        return None
    return bases[0]


class _Ownership:
    """`loops`: which loop a procedure is of. `hoped`: parameters to which whoever begins a loop will give arrays of their own."""

    def __init__(
        self, program: Program, loops: Mapping[Function, int] = NO_LOOPS, hoped: Set[Owner] = frozenset()
    ) -> None:
        self.program = program
        self.loops = loops
        self.hoped = hoped
        self.last: dict[Statement | End, set[Leaf]] = {}  # what is not read after a statement or end
        self.inner: dict[Yield, Branch | Switch] = {}
        self.made: dict[Slot, tuple[Statement, int]] = {}
        self.shared: set[Slot] = set()  # what may be elsewhere, too
        self.parameters: dict[Slot, Owner] = {}
        self.disowned: set[Owner] = set()
        self.not_fresh: set[Owner] = set()
        self.not_answered: set[Slot] = set()  # of branches
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
        """What is read last by each of a block's, if so much is read later; answers what is read from its beginning on."""
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

    # What hands on.

    def _handed(self, function: Function) -> Iterator[tuple[Statement | End, int, Leaf, Owner | Slot | None]]:
        """What reads an array not only while it runs: with the place of a leaf there, and to what it is handed: a parameter or
        result, a branch's answer, or nobody who owns."""
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
        """Is what a slot holds reached by nothing else, until it is handed on?"""
        if type(slot) is not Slot or slot.kind != "p" or slot in self.shared:
            return False
        if slot in self.parameters:
            return self.parameters[slot] not in self.disowned
        statement, number = self.made.get(slot, (None, 0))
        if type(statement) is Each:
            return True
        if type(statement) is Invoke:
            return (statement.function, number) not in self.not_fresh
        return type(statement) in (Branch, Switch) and slot not in self.not_answered

    def _gives(self, node: Statement | End, leaf: Leaf) -> bool:
        """Does it hand on an array that is its own?"""
        return leaf in self.last[node] and leaves_read(node).count(leaf) == 1 and self.owns(leaf)

    def _takes(self, to: Owner | Slot | None) -> bool:
        if to is None:
            return False
        return to not in self.not_answered if type(to) is Slot else to not in self.disowned

    def _less(self) -> bool:
        """Is there less that owns than was thought?"""
        before = len(self.disowned) + len(self.not_fresh) + len(self.not_answered) + len(self.shared)
        for function in self.program.functions:
            for node, _, leaf, to in self._handed(function):
                if type(leaf) is not Slot:
                    if type(to) is Slot:
                        self.not_answered.add(to)
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
        return before != len(self.disowned) + len(self.not_fresh) + len(self.not_answered) + len(self.shared)

    def _hand(self, function: Function, node: Statement | End, leaf: Slot, to: Owner | Slot | None) -> None:
        if self._takes(to):
            if self._gives(node, leaf):
                return
            if type(to) is Slot:
                self.not_answered.add(to)
            elif to is not None and self._is_begun(function, to):
                return  # it will be a copy
            elif to is not None:
                self.disowned.add(to)
        if type(node) is not TailInvoke:  # nothing comes after that
            self.shared.add(leaf)

    def _is_begun(self, caller: Function, to: Owner) -> bool:
        """Is it a loop that the caller begins, which is to have a copy?"""
        return to in self.hoped and self.loops.get(caller) != self.loops[to[0]]

    # What is made of it.

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
        """Parameters that own, and come to where they are written over: with what they are then."""
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
        for leaf in work:  # grows
            for source in sources.get(self.parameters.get(leaf, leaf), ()):
                if source not in found:
                    found[source] = found[leaf]
                    work.append(source)
        return {self.parameters[leaf]: output for leaf, output in found.items() if leaf in self.parameters}

    def copy(self, wanted: Mapping[Owner, Output]) -> None:
        """Let loops begin with copies of what is not given to them."""
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
