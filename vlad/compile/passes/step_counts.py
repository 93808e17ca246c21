"""First-order code → first-order code: the steps of a straight-line piece of code are counted together.

In: a Program with step counts, for a fuel limit.  Out: the same, changed in place. Called by order.py, last.
"""

from __future__ import annotations

from vlad.compile.ir.outlines import Outlines
from vlad.compile.ir.program import Box, Compute, Each, Effect, Load, Program, Statement, Unbox


def coalesce_steps(program: Program, outlines: Outlines | None = None) -> bool:
    """Count the steps of a straight-line piece of code at its beginning. Returns whether there are any."""
    outlines = outlines or Outlines()
    acting = [function for function in program.functions if outlines[function].acts]
    for function in acting:
        for block in outlines[function].blocks:
            first: Effect | None = None
            kept: list[Statement] = []
            for statement in block.statements:
                if type(statement) is Effect and statement.what == "step":
                    if first is not None:
                        (count,), (more,) = first.operands, statement.operands
                        assert type(count) is type(more) is float
                        first.operands = (count + more,)
                        continue
                    first = statement
                elif type(statement) not in (Compute, Each, Box, Unbox, Load):
                    first = None
                kept.append(statement)
            block.statements = kept
        outlines.changed(function)
    return bool(acting)
