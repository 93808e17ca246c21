"""First-order code → first-order code: what calls, results and boxes carry is a variable value, and as plain as it can be.

In: a Program.  Out: the same, changed in place. Called by order.py. A parameter, a result or a field that is the same constant
wherever it is given becomes that constant where it is read; dead-code removes it. A field that every box negates is stored as it
was before, and negated where it is read: the derivative of a cosine needs a sine, which may then be found in the box.
"""

from __future__ import annotations

from collections.abc import Iterable

from vlad.compile.ir.outlines import Outline, Outlines
from vlad.compile.ir.program import (
    Block,
    Box,
    Compute,
    Function,
    Invoke,
    Leaf,
    Member,
    Program,
    Return,
    Slot,
    Statement,
    TailInvoke,
    Unbox,
    leaves_read,
)
from vlad.compile.ir.rewriting import fixed_cells, same_operands, substitute
from vlad.control.gil_yield import yield_gil

MOST_ROUNDS = 8  # a constant that is found may make others: so many calls or boxes deep


def spread_constants(program: Program, outlines: Outlines | None = None) -> bool:
    """Returns whether there were any."""
    outlines = outlines or Outlines()
    fixed = _fixed(program, outlines)
    rounds = 0
    while rounds < MOST_ROUNDS and _spread_constants(program, fixed, outlines):
        yield_gil()
        rounds += 1
    return rounds > 0


def _fixed(program: Program, outlines: Outlines) -> set[Member]:
    """The members whose boxes callers make or read."""
    return {member for cell in fixed_cells(program, outlines) for member in program.members.get(cell, ())}


def _spread_constants(program: Program, fixed: set[Member], outlines: Outlines) -> bool:
    """Replace what only one constant is given for. Returns whether there was any."""
    given: dict[Function | Member, list[tuple[Leaf | None, ...]]] = {}
    returned: dict[Function, list[tuple[Leaf | None, ...]]] = {}
    for function in program.functions:
        own = function.parameters
        for block in outlines[function].blocks:
            for node in (*block.statements, block.end):
                if type(node) is Box:
                    given.setdefault(node.member, []).append(node.leaves)
                elif type(node) is Return:
                    returned.setdefault(function, []).append(node.leaves)
                elif type(node) is Invoke or type(node) is TailInvoke:
                    leaves: tuple[Leaf | None, ...] = node.operands
                    if node.function is function:  # a loop that passes a parameter on
                        leaves = tuple([None if a is b else a for a, b in zip(leaves, own, strict=True)])
                    given.setdefault(node.function, []).append(leaves)
                    if type(node) is TailInvoke and node.function is not function:
                        returned.setdefault(function, []).append(
                            tuple([Slot("d", "") for _ in function.results])
                        )
    of_given = {
        of: _constants(groups)
        for of, groups in given.items()
        if of not in fixed and of not in program.entries
    }
    of_returned = {function: _constants(groups) for function, groups in returned.items()}
    changed = False
    for function in program.functions:
        known = _at(function.parameters, of_given.get(function))
        outline = outlines[function]
        for statement in outline.statements:
            if type(statement) is Unbox:
                known |= _at(statement.slots, of_given.get(statement.member))
            elif type(statement) is Invoke:
                known |= _at(statement.slots, of_returned.get(statement.function))
        if known and any(leaf in known for leaf in _read(outline)):
            substitute(function.body, known)
            outlines.changed(function)
            changed = True
    return changed


def _constants(groups: list[tuple[Leaf | None, ...]]) -> dict[int, Leaf]:
    """The places where all groups have the same constant, or None."""
    found: dict[int, Leaf] = {}
    for place, leaves in enumerate(zip(*groups, strict=True)):
        others = [leaf for leaf in leaves if leaf is not None]
        first = others[0] if others else None
        if isinstance(first, float | bool) and len(set(same_operands(tuple(others)))) == 1:
            found[place] = first
    return found


def _at(slots: Iterable[Slot], constants: dict[int, Leaf] | None) -> dict[Slot, Leaf]:
    return {slot: constants[i] for i, slot in enumerate(slots) if i in constants} if constants else {}


def _read(outline: Outline) -> Iterable[Leaf]:
    for statement in outline.statements:
        yield from leaves_read(statement)
    for block in outline.blocks:
        yield from leaves_read(block.end)


def store_unnegated(program: Program, outlines: Outlines | None = None) -> bool:
    """Store fields without the negation that all boxes make. Returns whether there were any."""
    outlines = outlines or Outlines()
    fixed = _fixed(program, outlines)
    negations: dict[Slot, Compute] = {}
    boxes: dict[Member, list[Box]] = {}
    for function in program.functions:
        for block in outlines[function].blocks:
            for statement in block.statements:
                if type(statement) is Compute and statement.row.name == "negate":
                    if type(statement.operands[0]) is Slot:
                        negations[statement.slot] = statement
                elif type(statement) is Box and statement.member not in fixed:
                    boxes.setdefault(statement.member, []).append(statement)
    plain: dict[Member, dict[int, Compute]] = {}
    for member, several in boxes.items():
        for place in range(len(member.kinds)):
            made = [
                leaf and negations.get(leaf) for leaf in map(_slot, [box.leaves[place] for box in several])
            ]
            negated = [negation for negation in made if negation]
            if len(negated) < len(several):
                continue
            plain.setdefault(member, {})[place] = negated[0]
            for box, negation in zip(several, negated, strict=True):
                box.leaves = (*box.leaves[:place], negation.operands[0], *box.leaves[place + 1 :])
    if not plain:
        return False
    for function in program.functions:
        for block in outlines[function].blocks:
            _negate_when_read(block, plain)
    outlines.forget()
    return True


def _slot(leaf: Leaf) -> Slot | None:
    return leaf if type(leaf) is Slot else None


def _negate_when_read(block: Block, plain: dict[Member, dict[int, Compute]]) -> None:
    statements: list[Statement] = []
    for statement in block.statements:
        statements.append(statement)
        if type(statement) is Unbox and statement.member in plain:
            for place, negation in plain[statement.member].items():
                slot = statement.slots[place]
                stored = Slot(slot.kind, slot.name)
                slots = statement.slots
                statement.slots = (*slots[:place], stored, *slots[place + 1 :])
                statements.append(Compute(slot, negation.row, (stored,), negation.span))
    block.statements = statements
