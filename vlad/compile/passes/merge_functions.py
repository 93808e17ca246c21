"""First-order code → first-order code: equivalent functions are merged.

In: a Program.  Out: the same, changed in place. Called by order.py. Equivalent functions are found as in the minimisation of
automata: a derivative whose sensitivities are dead is equivalent to its primal function.
"""

from __future__ import annotations

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
    blocks,
    leaves_read,
    statements,
)
from vlad.compile.ir.rewriting import reachable


def merge(program: Program) -> None:
    """Merge equivalent functions (Moore's partition refinement, from signatures by bodies)."""
    functions = program.functions
    entries = {entry: number for number, entry in enumerate(program.entries)}  # entries keep their own names
    numbers: dict[object, int] = {}
    group: dict[Function, int] = {}
    called: dict[Function, list[Function]] = {}
    for f in functions:
        kinds = "".join([slot.kind for slot in f.parameters])
        cells = *f.parameter_cells, *f.result_cells  # where a collection looks for boxes
        body, called[f] = _shape(f)
        group[f] = numbers.setdefault((kinds, f.results, cells, entries.get(f, 0), body), len(numbers))
    while True:
        count, numbers = len(numbers), {}
        refined = {f: (group[f], *[group[callee] for callee in called[f]]) for f in functions}
        group = {f: numbers.setdefault(refined[f], len(numbers)) for f in functions}
        if len(numbers) == count:
            break
    first: dict[int, Function] = {}
    chosen = {f: first.setdefault(group[f], f) for f in functions}
    if len(first) == len(functions):
        return
    for function in first.values():
        for statement in statements(function.body):
            if type(statement) is Invoke:
                statement.function = chosen[statement.function]
        for block in blocks(function.body):
            if type(block.end) is TailInvoke:
                block.end.function = chosen[block.end.function]
    program.functions = reachable(program)


def _shape(function: Function) -> tuple[object, list[Function]]:
    """A function's body with numbered slots and without its callees, and the callees in order."""
    called: list[Function] = []
    numbers: dict[Slot, int] = {slot: index for index, slot in enumerate(function.parameters)}

    def leaf(leaf: Leaf) -> object:
        if type(leaf) is Slot:
            return ("slot", numbers[leaf])
        if type(leaf) is float:
            return ("real", leaf.hex())
        return leaf if type(leaf) is not Static else id(leaf)

    def define(slots: tuple[Slot, ...]) -> None:
        for slot in slots:
            numbers[slot] = len(numbers)

    def block(one: Block) -> tuple[object, ...]:
        return (*[statement(s) for s in one.statements], end(one.end))

    def end(one: End) -> object:
        match one:
            case TailInvoke():
                called.append(one.function)
                return ("tail", *[leaf(x) for x in one.operands])
            case Fail():
                return ("fail", one.what, id(one.span))
        return (type(one).__name__, *[leaf(x) for x in leaves_read(one)])

    def statement(one: Statement) -> object:
        read = tuple([leaf(x) for x in leaves_read(one)])
        match one:
            case Compute():
                described: object = ("compute", one.row.name, read)
                define((one.slot,))
            case Each():
                described = ("each", one.work, read)
                define(one.slots)
            case Invoke():
                described = ("invoke", len(one.slots), read)
                called.append(one.function)
                define(one.slots)
            case Load():
                described = ("load", id(one.cell))
                define(one.slots)
            case Store():
                described = ("store", id(one.cell), read)
            case Effect():
                described = ("effect", one.what, one.text, one.shape, read)
                define(one.slots)
            case Box():
                described = ("box", id(one.member), read)
                define((one.slot,))
            case Unbox():
                described = ("unbox", id(one.member), read)
                define(one.slots)
            case Branch():
                described = ("branch", read, block(one.consequent), block(one.alternative), len(one.slots))
                define(one.slots)
            case Switch():
                described = ("switch", read, *[(id(m), block(b)) for m, b in one.cases], len(one.slots))
                define(one.slots)
        return described

    return block(function.body), called
