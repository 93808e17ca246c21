"""First-order code → first-order code: systems whose matrix is a Cholesky factor are solved as triangular ones.

In: an optimised Program.  Out: the same, changed in place. A triangle needs no decomposition, and is not singular; its LU factors
become dead code. Most such systems come from derivatives of the factor, and from work with covariances.
"""

from __future__ import annotations

from dataclasses import replace

from vlad.compile.ir.outlines import Outline, Outlines
from vlad.compile.ir.program import Each, Function, Leaf, Program, Slot
from vlad.compile.ir.rewriting import substitute
from vlad.core.loop_nests import Routine


def solve_triangles(program: Program, outlines: Outlines | None = None) -> bool:
    """Returns whether there are any."""
    outlines = outlines or Outlines()
    changed = [function for function in program.functions if _solve_triangles(function, outlines[function])]
    for function in changed:
        outlines.changed(function)
    return bool(changed)


def _solve_triangles(function: Function, outline: Outline) -> bool:
    triangles: set[Leaf] = set()
    factors: dict[Leaf, Leaf] = {}  # with their triangular matrices
    regular: dict[Slot, Leaf] = {}
    for statement in outline.statements:
        if type(statement) is not Each or type(statement.work) is not Routine:
            continue
        name, operand = statement.work.name, statement.operands[0]
        if name == "triangle":
            triangles.add(statement.slots[0])
        elif name == "factors" and operand in triangles:
            found, status = statement.slots
            factors[found], regular[status] = operand, 0.0
        elif name == "solution" and operand in factors:
            statement.work = replace(statement.work, name="triangular")
            statement.operands = (factors[operand], *statement.operands[1:])
    substitute(function.body, regular)
    return bool(factors)
