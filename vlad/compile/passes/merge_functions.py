"""First-order code → first-order code: equivalent functions are merged.

In: a Program.  Out: the same, changed in place. Called by order.py. Equivalent functions are found as in the minimisation of
automata: a derivative whose sensitivities are dead is equivalent to its primal function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from vlad.compile.ir.outlines import Outlines
from vlad.compile.ir.program import (
    Block,
    Box,
    Branch,
    Compute,
    Each,
    Effect,
    End,
    Fail,
    Function,
    Invoke,
    Leaf,
    Load,
    Program,
    Slot,
    Statement,
    Static,
    Store,
    Switch,
    TailInvoke,
    Unbox,
    leaves_read,
    sharing_of,
    slots_bound,
)
from vlad.compile.ir.rewriting import reachable


def merge(program: Program, outlines: Outlines | None = None) -> bool:
    """Merge equivalent functions (Moore's partition refinement, from signatures by bodies). Returns whether there are any."""
    outlines = outlines or Outlines()
    functions = program.functions
    entries = {entry: number for number, entry in enumerate(program.entries)}  # entries keep their own names
    numbers: dict[object, int] = {}
    group: dict[Function, int] = {}
    called: dict[Function, list[Function]] = {}
    alike = Counter([_likeness(f, outlines) for f in functions])
    for f in functions:
        outline = outlines[f]
        likeness = _likeness(f, outlines)
        if alike[likeness] == 1:
            number, called[f] = -1 - likeness, outline.callees
        else:
            if outline.shape is None:
                outline.shape = _signature(f, outlines)
            number, called[f] = outline.shape
        group[f] = numbers.setdefault((number, entries.get(f, 0)), len(numbers))
    while True:
        count, numbers = len(numbers), {}
        refined = {f: (group[f], *[group[callee] for callee in called[f]]) for f in functions}
        group = {f: numbers.setdefault(refined[f], len(numbers)) for f in functions}
        if len(numbers) == count:
            break
    first: dict[int, Function] = {}
    chosen = {f: first.setdefault(group[f], f) for f in functions}
    if len(first) == len(functions):
        return False
    for function in first.values():
        outline = outlines[function]
        if any(chosen[callee] is not callee for callee in outline.called):
            for call in outline.calls:
                call.function = chosen[call.function]
            outlines.changed(function)
    program.functions = reachable(program, outlines.calls_of(first.values()))
    return True


def _likeness(f: Function, outlines: Outlines) -> int:
    """A number, equal for functions of one shape; found in less time than that."""
    outline = outlines[f]
    if outline.likeness is None:
        kinds = "".join([slot.kind for slot in f.parameters])
        cells = *f.parameter_cells, *f.result_cells  # where a collection looks for boxes
        sharing = sharing_of(f)  # or what visits a part once would follow each path to it
        words = tuple(map(type, outline.statements))
        outline.likeness = outlines.number((kinds, f.results, cells, sharing, words))
    return outline.likeness


def _signature(f: Function, outlines: Outlines) -> tuple[int, list[Function]]:
    """A number, equal for functions of one shape, and the callees, in order."""
    shape = _Shape(f)
    body = shape.block(f.body)
    return outlines.number((_likeness(f, outlines), body)), shape.called


class _Shape:
    """Describes a function's body with numbered slots and without its callees."""

    __slots__ = ("called", "numbers")

    def __init__(self, function: Function) -> None:
        self.called: list[Function] = []  # the callees, in order
        self.numbers: dict[Slot, object] = {}
        self.define(function.parameters)

    def leaf(self, leaf: Leaf) -> object:
        if type(leaf) is Slot:
            return self.numbers[leaf]
        if type(leaf) is float:
            return ("real", leaf.hex())
        return leaf if type(leaf) is not Static else id(leaf)

    def leaves(self, leaves: tuple[Leaf, ...]) -> tuple[object, ...]:
        return tuple([self.leaf(leaf) for leaf in leaves])

    def define(self, slots: Iterable[Slot]) -> None:
        for slot in slots:
            self.numbers[slot] = ("slot", len(self.numbers))

    def block(self, one: Block) -> tuple[object, ...]:
        return (*[self.statement(s) for s in one.statements], self.end(one.end))

    def end(self, one: End) -> object:
        match one:
            case TailInvoke():
                self.called.append(one.function)
                return ("tail", *self.leaves(one.operands))
            case Fail():
                return ("fail", one.what, id(one.span))
        return (type(one).__name__, *self.leaves(leaves_read(one)))

    def statement(self, one: Statement) -> object:
        read = self.leaves(leaves_read(one))
        match one:
            case Compute():
                described: object = ("compute", one.row.name, read)
            case Each():
                described = ("each", one.work, read)
            case Invoke():
                described = ("invoke", len(one.slots), read)
                self.called.append(one.function)
            case Load():
                described = ("load", id(one.cell))
            case Store():
                described = ("store", id(one.cell), read)
            case Effect():
                described = ("effect", one.what, one.text, one.shape, read)
            case Box():
                described = ("box", id(one.member), read)
            case Unbox():
                described = ("unbox", id(one.member), read)
            case Branch():
                arms = self.block(one.consequent), self.block(one.alternative)
                described = ("branch", read, *arms, len(one.slots))
            case Switch():
                cases = [(id(member), self.block(block)) for member, block in one.cases]
                described = ("switch", read, *cases, len(one.slots))
        self.define(slots_bound(one))
        return described
