"""First-order code → first-order code: unions of one layout are merged.

In: a Program.  Out: the same, changed in place. Called by order.py. Each specialisation of a loop and of its derivatives has a
tape with a type of its own; many of these types have equal members. Found as equivalent states of an automaton are: unions are
equal if their members have equal fields, and pointers lead to equal unions. So functions that differ in the unions alone are
equivalent, and boxes of equal fields are equal.
"""

from __future__ import annotations

from vlad.compile.ir.outlines import Outlines
from vlad.compile.ir.program import Box, Member, Program, Switch, Unbox
from vlad.compile.ir.rewriting import fixed_cells
from vlad.core.types import Cell


def merge_unions(program: Program, outlines: Outlines | None = None) -> bool:
    """Merge equal unions (Moore's partition refinement). Returns whether there were any. A union whose boxes callers make or
    read stays as it is: its fields are live, whether the program reads them or not.
    """
    outlines = outlines or Outlines()
    chosen = _representatives(program, fixed_cells(program, outlines))
    if all(cell is first for cell, first in chosen.items()):
        return False
    members: dict[Member, Member] = {}
    for cell, first in chosen.items():
        members.update(zip(program.members[cell], program.members[first], strict=True))
        for member in program.members[cell]:
            member.cells = tuple([chosen[inner] for inner in member.cells])
    tags: dict[tuple[Cell, int], Member] = {}  # the members without boxes of switches by number

    def new(member: Member) -> Member:
        if member not in members:
            member.cell = chosen[member.cell]
            members[member] = tags.setdefault((member.cell, member.index), member)
        return members[member]

    for function in program.functions:
        for cells in (function.parameter_cells, function.result_cells):
            cells[:] = [None if cell is None else chosen[cell] for cell in cells]
        for statement in outlines[function].statements:
            if type(statement) is Box or type(statement) is Unbox:
                statement.member = new(statement.member)
            elif type(statement) is Switch:
                statement.cases = [(new(member), block) for member, block in statement.cases]
    outlines.forget()
    program.members = {cell: found for cell, found in program.members.items() if chosen[cell] is cell}
    return True


def _representatives(program: Program, fixed: set[Cell]) -> dict[Cell, Cell]:
    """The first union equal to each."""
    unions = program.members
    numbers: dict[object, int] = {}
    group: dict[Cell, int] = {}
    for cell, members in unions.items():
        is_alone = cell in fixed or any(member.entries for member in members)
        layout = cell if is_alone else tuple([(m.name, m.kinds, m.tagged) for m in members])
        group[cell] = numbers.setdefault(layout, len(numbers))
    while True:
        count, numbers = len(numbers), {}
        refined = {
            cell: (group[cell], *[group[inner] for member in members for inner in member.cells])
            for cell, members in unions.items()
        }
        group = {cell: numbers.setdefault(refined[cell], len(numbers)) for cell in unions}
        if len(numbers) == count:
            break
    first: dict[int, Cell] = {}
    return {cell: first.setdefault(group[cell], cell) for cell in unions}
