"""First-order code → first-order code: systems whose matrix is a Cholesky factor are solved as the triangles they are.

In: an optimised Program.  Out: the same, changed in place. A triangle need not be taken apart, and is not singular; its factors
become dead code. Derivatives of the factor, and whoever works with covariances, solve mostly such systems.
"""

from __future__ import annotations

from dataclasses import replace

from vlad.compile.ir.program import Each, Function, Leaf, Program, Slot, statements
from vlad.compile.ir.rewriting import substitute
from vlad.core.loop_nests import Routine


def solve_triangles(program: Program) -> Program:
    for function in program.functions:
        _solve_triangles(function)
    return program


def _solve_triangles(function: Function) -> None:
    triangles: set[Leaf] = set()
    factors: dict[Leaf, Leaf] = {}  # with the triangle that they are of
    regular: dict[Slot, Leaf] = {}
    for statement in statements(function.body):
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
