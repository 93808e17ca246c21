"""Shared by passes over first-order code: substitution of leaves, inlining, the call graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from vlad.compile.ir.outlines import Calls, Outlines
from vlad.compile.ir.program import (
    Block,
    Box,
    Branch,
    Compute,
    Each,
    Effect,
    End,
    Function,
    Invoke,
    Leaf,
    Load,
    Program,
    Return,
    Slot,
    Statement,
    Static,
    Store,
    Switch,
    TailInvoke,
    Unbox,
    Unreachable,
    Yield,
    blocks,
    components,
    inner_blocks,
    leaves_read,
    statements,
)
from vlad.control.gil_yield import yield_gil
from vlad.core.extents import Extent
from vlad.core.types import Cell


def reachable(program: Program, called: Calls | None = None) -> list[Function]:
    """The functions that can be reached from the entries, the entries first. `called`: the callees of each, if they are known."""
    found = dict.fromkeys(program.entries)
    work = list(reversed(program.entries))
    while work:
        function = work.pop()
        for callee in callees(function) if called is None else called[function]:
            if callee not in found:
                found[callee] = None
                work.append(callee)
    return list(found)


def callees(function: Function) -> list[Function]:
    body = function.body
    found = [s.function for s in statements(body) if type(s) is Invoke]
    return found + [b.end.function for b in blocks(body) if type(b.end) is TailInvoke]


def calls_of(functions: Iterable[Function]) -> Calls:
    """The callees of each, for passes that ask for them several times."""
    return {function: callees(function) for function in functions}


def calling(
    found: Iterable[Function], functions: list[Function], called: Calls | None = None
) -> set[Function]:
    """These functions, and those that call one of them, directly or not. `called`: as of `reachable`."""
    all = set(found)
    if not all:
        return all
    callers: dict[Function, list[Function]] = {}
    for function in functions:
        for callee in callees(function) if called is None else called[function]:
            callers.setdefault(callee, []).append(function)
    work = list(all)
    while work:
        for caller in callers.get(work.pop(), ()):
            if caller not in all:
                all.add(caller)
                work.append(caller)
    return all


def looping(functions: list[Function], called: Calls | None = None) -> dict[Function, int]:
    """The recursive functions, each with the number of its component of the call graph. `called`: as of `reachable`."""
    called = calls_of(functions) if called is None else called
    return recursive(called, components(functions, called))


def recursive(called: dict[Function, list[Function]], component: dict[Function, int]) -> dict[Function, int]:
    """`looping`, from the callees of all functions and the components of the call graph."""
    sizes = Counter(component.values())
    return {f: component[f] for f in called if sizes[component[f]] > 1 or f in called[f]}


def repeated(functions: list[Function]) -> set[Function]:
    """The functions that may run more than once in a call: loops, and functions called from them."""
    found = set(looping(functions))
    work = list(found)
    while work:
        new = set(callees(work.pop())) - found
        found |= new
        work += new
    return found


def leaf_kind(leaf: Leaf) -> str:
    if type(leaf) is Slot:
        return leaf.kind
    return "d" if type(leaf) in (float, Extent) else "b" if type(leaf) is bool else "p"


def substitute(block: Block, leaves: dict[Slot, Leaf], begin: int = 0) -> None:
    """Replace slots in a block, in place, beginning with a statement."""
    if not leaves:
        return

    def new(leaf: Leaf) -> Leaf:
        return leaves.get(leaf, leaf) if type(leaf) is Slot else leaf

    work: list[tuple[Block, int]] = [(block, begin)]
    while work:
        current, start = work.pop()
        for statement in current.statements[start:]:
            replace_leaves(statement, new)
            work += [(inner, 0) for inner in inner_blocks(statement)]
        replace_leaves(current.end, new)


def replace_leaves(node: Statement | End, new: Callable[[Leaf], Leaf]) -> None:
    where = _READS.get(type(node))
    if where is not None:
        name, has_many = where
        leaves = getattr(node, name)
        setattr(node, name, tuple([new(leaf) for leaf in leaves]) if has_many else new(leaves))


# Where a statement or end has the leaves that it reads, and whether that is a tuple.
_READS: dict[type, tuple[str, bool]] = {
    **dict.fromkeys((Compute, Each, Invoke, Effect, TailInvoke), ("operands", True)),
    **dict.fromkeys((Box, Store, Yield, Return), ("leaves", True)),
    **dict.fromkeys((Unbox, Switch), ("pointer", False)),
    Branch: ("test", False),
}


def inline_calls(function: Function, is_chosen: Callable[[Invoke], bool]) -> None:
    """Replace calls within a function by the bodies of their callees; not the calls within these bodies. Code after a call that
    never returns is removed.
    """
    replaced: dict[Slot, Leaf] = {}

    def new(leaf: Leaf) -> Leaf:
        return replaced.get(leaf, leaf) if type(leaf) is Slot else leaf

    for block in blocks(function.body):
        made = Block()
        for statement in block.statements:
            if replaced:
                replace_leaves(statement, new)
            if type(statement) is not Invoke or not is_chosen(statement):
                made.statements.append(statement)
                continue
            yield_gil()
            called = statement.function
            copy = Copy(dict(zip(called.parameters, statement.operands, strict=True)))
            results = copy.inlined(called.body, made)
            if results is None:
                block.end = made.end
                break
            replaced.update(zip(statement.slots, results, strict=False))
        else:
            replace_leaves(block.end, new)
        block.statements = made.statements


def put_last(block: Block, call: TailInvoke) -> None:
    """Inline a tail call."""
    copy = Copy(dict(zip(call.function.parameters, call.operands, strict=True)))
    made = copy.block(call.function.body)
    block.statements += made.statements
    block.end = made.end


class Copy:
    """Copies of code with new slots."""

    def __init__(self, leaves: dict[Slot, Leaf]) -> None:
        self.leaves = leaves

    def leaf(self, leaf: Leaf) -> Leaf:
        return self.leaves.get(leaf, leaf) if type(leaf) is Slot else leaf

    def all(self, leaves: tuple[Leaf, ...]) -> tuple[Leaf, ...]:
        return tuple([self.leaf(leaf) for leaf in leaves])

    def new(self, slot: Slot) -> Slot:
        made = Slot(slot.kind, slot.name)
        self.leaves[slot] = made
        return made

    def statement(self, statement: Statement) -> Statement:
        read = self.all(leaves_read(statement))
        match statement:
            case Compute():
                return Compute(self.new(statement.slot), statement.row, read, statement.span)
            case Each():
                slots = tuple([self.new(slot) for slot in statement.slots])
                return Each(slots, statement.work, read, statement.span)
            case Invoke():
                slots = tuple([self.new(slot) for slot in statement.slots])
                return Invoke(slots, statement.function, read, statement.span)
            case Effect():
                slots = tuple([self.new(slot) for slot in statement.slots])
                return Effect(statement.what, slots, read, statement.text, statement.span, statement.shape)
            case Load():
                slots = tuple([self.new(slot) for slot in statement.slots])
                return Load(slots, statement.cell, statement.span)
            case Store():
                return Store(statement.cell, read)
            case Box():
                return Box(self.new(statement.slot), statement.member, read)
            case Unbox():
                return Unbox(tuple([self.new(slot) for slot in statement.slots]), statement.member, read[0])
            case Branch():
                arms = [self.block(statement.consequent), self.block(statement.alternative)]
                slots = tuple([self.new(slot) for slot in statement.slots])
                return Branch(slots, read[0], arms[0], arms[1], statement.span)
        cases = [(member, self.block(block)) for member, block in statement.cases]
        return Switch(tuple([self.new(slot) for slot in statement.slots]), read[0], cases, statement.span)

    def block(self, block: Block) -> Block:
        """A copy of a block with the same end."""
        made = Block()
        for statement in block.statements:
            made.statements.append(self.statement(statement))
        read = self.all(leaves_read(block.end))
        match block.end:
            case Yield():
                made.end = Yield(read)
            case Return():
                made.end = Return(read)
            case TailInvoke():
                made.end = TailInvoke(block.end.function, read, block.end.span)
            case end:
                made.end = end
        return made

    def inlined(self, block: Block, made: Block) -> tuple[Leaf, ...] | None:
        """Copy a body in tail position into `made`; returns the leaves of its result, None if it has none."""
        end = block.end
        last = len(block.statements) - 1
        for index, statement in enumerate(block.statements):
            if index == last and type(end) is Unreachable and type(statement) in (Branch, Switch):
                return self._arms(statement, made)
            made.statements.append(self.statement(statement))
        match end:
            case Return():
                return self.all(end.leaves)
            case TailInvoke():
                slots = tuple([Slot(kind, "t") for kind in end.function.results])
                made.statements.append(Invoke(slots, end.function, self.all(end.operands), end.span))
                return slots if end.function.origin.result is not None else None  # it may never return
        made.end = end
        return None

    def _arms(self, statement: Statement, made: Block) -> tuple[Leaf, ...] | None:
        """A branch whose arms return becomes one whose arms yield."""
        arms = []
        for block in inner_blocks(statement):
            arm = Block()
            leaves = self.inlined(block, arm)
            if leaves is not None:
                arm.end = Yield(leaves)
            arms.append(arm)
        yields = [arm.end.leaves for arm in arms if type(arm.end) is Yield]
        kinds = [leaf_kind(leaf) for leaf in yields[0]] if yields else []
        slots = tuple([Slot(kind, "t") for kind in kinds])
        test = self.leaf(leaves_read(statement)[0])
        if type(statement) is Branch:
            made.statements.append(Branch(slots, test, arms[0], arms[1], statement.span))
        else:
            assert type(statement) is Switch
            cases = [(member, arm) for (member, _), arm in zip(statement.cases, arms, strict=True)]
            made.statements.append(Switch(slots, test, cases, statement.span))
        return slots if yields else None


def operation(statement: Statement, operands: tuple[Leaf, ...]) -> object:
    """A key, equal for statements that compute the same of equal operands; None if doing it once does not suffice."""
    match statement:
        case Compute():
            return ("compute", statement.row.name, *same_operands(operands))
        case Each():
            return ("each", statement.work, *same_operands(operands))
        case Invoke():
            return ("invoke", statement.function, *same_operands(operands))
        case Unbox():
            return ("unbox", statement.member, *same_operands(operands))
        case Load():
            return ("load", id(statement.cell))
        case Box():
            return ("box", statement.member, *same_operands(operands))
    return None


def same_operands(leaves: tuple[Leaf, ...]) -> tuple[object, ...]:
    """A key, equal for equal leaves."""
    return tuple(
        [
            leaf.hex() if type(leaf) is float else leaf if type(leaf) is not Static else id(leaf)
            for leaf in leaves
        ]
    )


def fixed_cells(program: Program, outlines: Outlines | None = None) -> set[Cell]:
    """The unions with members whose boxes callers make or read: their layout is fixed."""
    outlines = outlines or Outlines()
    found: set[Cell] = set()
    if not program.members:
        return found
    work = [c for e in program.entries for c in (*e.parameter_cells, *e.result_cells) if c is not None]
    work += [cell for f in program.functions for cell in outlines[f].static_cells]
    while work:
        cell = work.pop()
        if cell not in found:
            found.add(cell)
            work += [inner for member in program.members.get(cell, ()) for inner in member.cells]
    return found
