"""First-order code: a program after specialisation. No closures, no pairs, no dispatch on known tags.

    leaf    a double 'd', a boolean 'b' or a pointer 'p' to a union's box or a tensor's entries; a constant, or a Slot that is
            bound once
    block   statements, then an end: a result for the branch of which it is an arm, a return, or a tail call

Made by specialize.py, improved by the passes, emitted by c_unit.py. Compared by identity; passes may change statements
in place, but not slots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from operator import attrgetter
from typing import Any, TypeAlias, final

from vlad.core.extents import AnExtent, Extent
from vlad.core.loop_nests import Kernel, Routine
from vlad.core.types import Cell, Recursion, Sharing, Type
from vlad.data.source import Span
from vlad.data.tensors import Tensor
from vlad.data.values import Global, Primitive


@final
class Slot:
    """A leaf that is known at run time only; bound once. `name` is for display."""

    __slots__ = ("kind", "name")

    def __init__(self, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name

    def __repr__(self) -> str:
        return f"{self.name}:{self.kind}"


@final
@dataclass(frozen=True, slots=True)
class Immediate:
    """A union's member without leaves: its number is used in place of a pointer."""

    member: int


@final
@dataclass(frozen=True, slots=True, eq=False)
class Static:
    """A box that is part of the program, such as a quoted list."""

    member: Member
    leaves: tuple[Leaf, ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """The entries of a tensor that is part of the program."""

    tensor: Tensor


Leaf: TypeAlias = "Slot | float | bool | Immediate | Static | Data | Extent"


@final
class Member:
    """One member of a union: its number, the kinds of its leaves, and for pointers their target cells. The only member of a
    tensor's cell has no leaves, but a number of words for its entries.
    """

    __slots__ = ("cell", "index", "kinds", "cells", "tagged", "name", "entries")

    def __init__(
        self, cell: Cell, index: int, kinds: str, cells: tuple[Cell, ...], name: str, entries: AnExtent = 0
    ) -> None:
        self.cell = cell
        self.index = index
        self.kinds = kinds
        self.cells = cells
        self.tagged = False  # does a box need the member's number?
        self.name = name
        self.entries = entries

    @property
    def boxed(self) -> bool:
        return bool(self.kinds)

    @property
    def size(self) -> AnExtent:
        return 8 * (len(self.kinds) + self.tagged + self.entries)


@final
@dataclass(slots=True, eq=False)
class Compute:
    """slot = a scalar primitive of leaves; always returns."""

    slot: Slot
    row: Primitive
    operands: tuple[Leaf, ...]
    span: Span | None


@final
@dataclass(slots=True, eq=False)
class Each:
    """slots = the outputs of a kernel or routine of leaves: pointers to new arrays, and reals. Always returns."""

    slots: tuple[Slot, ...]
    work: Kernel | Routine
    operands: tuple[Leaf, ...]
    span: Span | None

    @property
    def is_loop(self) -> bool:
        return type(self.work) is Kernel

    @property
    def kernel(self) -> Kernel:
        assert type(self.work) is Kernel
        return self.work

    @kernel.setter
    def kernel(self, kernel: Kernel) -> None:
        self.work = kernel

    @property
    def routine(self) -> Routine:
        assert type(self.work) is Routine
        return self.work

    @property
    def allocates(self) -> bool:
        return any(slot.kind == "p" for slot in self.slots)


@final
@dataclass(slots=True, eq=False)
class Invoke:
    """slots = a function's results."""

    slots: tuple[Slot, ...]
    function: Function
    operands: tuple[Leaf, ...]
    span: Span | None


@final
@dataclass(slots=True, eq=False)
class Effect:
    """An external effect, which happens once, in order; AbstractInterpreter.effect lists the kinds. slots = its result. For a
    tensor, `text` is the kind of its numbers, and `shape` its shape."""

    what: str
    slots: tuple[Slot, ...]
    operands: tuple[Leaf, ...]
    text: str
    span: Span | None
    shape: tuple[AnExtent, ...] | None = None


@final
@dataclass(slots=True, eq=False)
class Load:
    """slots = the leaves of a global that was stored before."""

    slots: tuple[Slot, ...]
    cell: Global
    span: Span | None


@final
@dataclass(slots=True, eq=False)
class Store:
    """The one definition of a global that is computed when the program runs."""

    cell: Global
    leaves: tuple[Leaf, ...]


@final
@dataclass(slots=True, eq=False)
class Box:
    """slot = a new box of a union's member."""

    slot: Slot
    member: Member
    leaves: tuple[Leaf, ...]


@final
@dataclass(slots=True, eq=False)
class Unbox:
    """slots = the leaves in a box that is known to be of this member."""

    slots: tuple[Slot, ...]
    member: Member
    pointer: Leaf


@final
@dataclass(slots=True, eq=False)
class Branch:
    """slots = the leaves that the chosen arm yields."""

    slots: tuple[Slot, ...]
    test: Leaf
    consequent: Block
    alternative: Block
    span: Span | None


@final
@dataclass(slots=True, eq=False)
class Switch:
    """slots = what the case of the pointer's member yields."""

    slots: tuple[Slot, ...]
    pointer: Leaf
    cases: list[tuple[Member, Block]]
    span: Span | None


@final
@dataclass(slots=True, eq=False)
class Yield:
    """The block's result for the branch or switch it belongs to."""

    leaves: tuple[Leaf, ...]


@final
@dataclass(slots=True, eq=False)
class Return:
    leaves: tuple[Leaf, ...]


@final
@dataclass(slots=True, eq=False)
class TailInvoke:
    """A tail call: return the results of a function."""

    function: Function
    operands: tuple[Leaf, ...]
    span: Span | None


class Failure(Enum):
    """The kinds of errors of a program that the compiler distinguishes."""

    MISFIT = "an operand is of another kind or shape than the operation takes"
    UNLIKE = "two operands that must have one shape do not conform"
    RAISED = "the program itself raises it, by `error`"
    REFUSED = "vlad does not do what the program means, which no handler takes"
    ENDED = "the program ends itself, by `exit`"
    VALUE = "a value that is known only when the program runs is not one that the operation takes"
    INPUT = "what is read is no number"
    UNDEFINED = "a variable is used before its definition has been evaluated"
    UNBOUND = "a name has no definition"
    UNSUPPORTED = "machine code does not do this for these values, but tier 0 does"
    UNFIT = "lengths that the call determines compare otherwise than in machine code"
    LENGTH = "a list has another length than one that was counted at the same place before, in the same call"
    OTHER = "anything else"


@final
@dataclass(slots=True, eq=False)
class Fail:
    """An error of the program, which tier 0 will explain. `name`: of what has no definition. `given`: the types of the operands
    of the row that fails; without a row, of what is called."""

    what: str
    span: Span | None
    about: Failure = Failure.OTHER
    name: str | None = None
    given: tuple[Type, ...] = ()
    row: Primitive | None = None


@final
@dataclass(slots=True, eq=False)
class Unreachable:
    """After a call that never returns."""


Statement: TypeAlias = Compute | Each | Invoke | Effect | Load | Store | Box | Unbox | Branch | Switch
End: TypeAlias = Yield | Return | TailInvoke | Fail | Unreachable


@final
@dataclass(slots=True, eq=False)
class Block:
    statements: list[Statement] = field(default_factory=list)
    end: End = field(default_factory=Unreachable)


@final
@dataclass(slots=True, eq=False)
class Function:
    """Parameters and results are leaves; `parameter_cells` and `result_cells` hold the targets of those that are pointers."""

    name: str
    serial: int
    parameters: list[Slot]
    parameter_cells: list[Cell | None]
    results: str
    result_cells: list[Cell | None]
    body: Block
    span: Span | None
    origin: Any = None  # the instance from which it was made


def sharing_of(function: Function) -> Sharing | None:
    """The sharing of the structural operation that a function is a part of, if it is."""
    callee = None if function.origin is None else function.origin.callee
    return callee.sharing if type(callee) is Recursion else None


@final
@dataclass(slots=True, eq=False)
class Program:
    """All functions, entries first; the members of each union; the kinds of each computed global."""

    functions: list[Function]
    members: dict[Cell, list[Member]]
    entries: list[Function]
    variables: dict[Global, str] = field(default_factory=dict)


def statements(block: Block) -> list[Statement]:
    """All statements of a block, including those of its inner blocks, in order."""
    if _CHOICES.isdisjoint(map(type, block.statements)):
        return block.statements[:]
    found: list[Statement] = []  # almost every pass asks for them, of every function: no call for each branch
    append = found.append
    work: list[Block | Iterator[Statement]] = [block]
    while work:
        at = work.pop()
        if type(at) is Block:
            if _CHOICES.isdisjoint(map(type, at.statements)):
                found += at.statements
                continue
            at = iter(at.statements)
        for statement in at:  # half of all blocks are empty
            append(statement)
            if type(statement) is Branch:
                if statement.consequent.statements or statement.alternative.statements:
                    work += (at, statement.alternative, statement.consequent)
                    break
            elif type(statement) is Switch:
                inner = [block for _, block in reversed(statement.cases) if block.statements]
                if inner:
                    work.append(at)
                    work += inner
                    break
    return found


_CHOICES = frozenset([Branch, Switch])


def inner_blocks(statement: Statement) -> list[Block]:
    if type(statement) is Branch:
        return [statement.consequent, statement.alternative]
    if type(statement) is Switch:
        return [block for _, block in statement.cases]
    return []


def blocks(block: Block) -> list[Block]:
    """The block and all inside it, outer ones first."""
    found = [block]
    append = found.append
    for one in found:
        within = one.statements
        if not within or _CHOICES.isdisjoint(map(type, within)):
            continue
        for statement in within:
            if type(statement) is Branch:
                found += (statement.consequent, statement.alternative)
            elif type(statement) is Switch:
                for _, inner in statement.cases:
                    append(inner)
    return found


def returns(block: Block) -> bool:
    """Does every path of a body end, rather than in `Unreachable`?"""
    if type(block.end) is not Unreachable:
        return True
    last = block.statements[-1] if block.statements else None
    return type(last) in (Branch, Switch) and all(returns(inner) for inner in inner_blocks(last))  # type: ignore[arg-type]


def makes(statement: Statement) -> bool:
    """Whether the statement itself allocates."""
    return type(statement) is Box or (type(statement) is Each and statement.allocates)


def slots_bound(statement: Statement) -> tuple[Slot, ...]:
    if type(statement) is Compute or type(statement) is Box:
        return (statement.slot,)
    return () if type(statement) is Store else statement.slots


def leaves_read(node: Statement | End) -> tuple[Leaf, ...]:
    """The leaves that a statement or end reads itself."""
    return READ[type(node)](node)


# A table lookup, as almost every pass reads this for every statement; patterns would be tried one after the other.
READ: dict[type, Callable[[Any], tuple[Leaf, ...]]] = {
    **dict.fromkeys((Compute, Each, Invoke, Effect, TailInvoke), attrgetter("operands")),
    **dict.fromkeys((Box, Store, Yield, Return), attrgetter("leaves")),
    **dict.fromkeys((Unbox, Switch), lambda node: (node.pointer,)),
    Branch: lambda node: (node.test,),
    **dict.fromkeys((Load, Fail, Unreachable), lambda node: ()),
}


def leaves_within(statement: Statement) -> set[Leaf]:
    """The leaves that a statement reads, including its inner blocks."""
    inner = [block for one in inner_blocks(statement) for block in blocks(one)]
    nodes = [statement, *[node for block in inner for node in (*block.statements, block.end)]]
    return {leaf for node in nodes for leaf in leaves_read(node)}


def components(functions: list[Function], callees: dict[Function, list[Function]]) -> dict[Function, int]:
    """Strongly connected components of the call graph, numbered callees first (Tarjan 1972), without recursion."""
    index: dict[Function, int] = {}
    low: dict[Function, int] = {}
    component: dict[Function, int] = {}
    stack: list[Function] = []
    count = 0
    for root in functions:
        if root in index:
            continue
        work = [(root, 0)]
        while work:
            function, at = work.pop()
            if at == 0:
                index[function] = low[function] = len(index)
                stack.append(function)
            targets = callees[function]
            if at > 0 and targets[at - 1] not in component:
                low[function] = min(low[function], low[targets[at - 1]])
            while at < len(targets):
                target = targets[at]
                at += 1
                if target not in index:
                    work.append((function, at))
                    work.append((target, 0))
                    break
                if target not in component:
                    low[function] = min(low[function], index[target])
            else:
                if low[function] == index[function]:
                    number = count
                    count += 1
                    while True:
                        member = stack.pop()
                        component[member] = number
                        if member is function:
                            break
    return component
