"""The code of a procedure at each stage of the compiler, for `vlad show`.

In: a procedure, operands, and a stage.  Out: its text. Called by policy.py, and imported only then, with the compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlad.compile.analysis.fixpoint import Analysis
from vlad.compile.calling.pipeline import made
from vlad.compile.emit.c_text import comment
from vlad.compile.ir.program import Program
from vlad.compile.ir.refusals import Unbounded
from vlad.compile.ir.text import program_text
from vlad.compile.loops import order as loop_order
from vlad.compile.loops.ir import GridFunction, Loops
from vlad.compile.loops.text import function_text, loops_text
from vlad.compile.passes.order import NAMES
from vlad.core.passes import observing
from vlad.core.type_text import TypeText, heading, line
from vlad.data.errors import WrongOption
from vlad.data.source import in_library
from vlad.data.values import Code, Value

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine


def shown(
    machine: Machine, f: Value, stage: str, operands: tuple[Value, ...] = (), after: str | None = None
) -> str:
    """The types of a procedure, its first-order code, its loops over tensors, or its C or CUDA text, for operands like these,
    or reals; or why there are none. `after`: first-order code as the pass of that name leaves it the last time, or the
    loops. Raises WrongOption where there is no such pass."""
    code: Code = f[0]
    of_reals = "" if operands else " for reals"
    operands = operands or tuple([0.5] * code.arity)
    analysis = Analysis(machine)
    given = TypeText(analysis.types)
    takes = [given.of(analysis.argument_type(operand)) for operand in operands]
    name = code.name or "lambda"
    begins = heading(name, takes)
    after = after.replace("_", "-") if isinstance(after, str) else after
    names = loop_order.NAMES if stage == "loops" else NAMES
    if after is not None and after not in names:
        raise WrongOption("invalid-argument", f"No pass of that name: {after}", hint=", ".join(names))
    found: dict[str, str] = {}
    nests: list[str] = []

    def observe(name: str, result: object) -> None:
        if type(result) is Program:
            nests.clear()  # of an attempt before
            if name == after:
                found[name] = program_text(result)
        elif name == (after or loop_order.LAST):
            if type(result) is Loops:
                nests.append(loops_text(result))
            elif type(result) is GridFunction:
                nests.append(function_text(result))

    try:
        with observing(observe):
            unit = made(machine, code, f[1 : 1 + len(code.environment)], operands)
    except Unbounded as unbounded:
        otherwise = ", but it may be for a number that is known" if unbounded.for_number else ""
        span = unbounded.span
        place = f", at {span.line}:{span.column}" if span is not None and not in_library(span) else ""
        return f"; {begins} -> not compiled: {unbounded.reason}{place}{otherwise}"
    if stage == "first-order":
        text = program_text(unit.program) if after is None else found.get(after, "; this pass was not run")
        return f"; {begins}\n{text}"
    if stage == "loops":
        return "\n\n".join([f"; {begins}", *nests])
    if stage == "c":
        return f"/* {comment(code.name)} */\n{unit.text}"
    if unit.interface.result is None:
        return line(name, f"never returns{of_reals}", takes)
    gives = TypeText(unit.interface.layout.types)
    return line(name, gives.of(unit.interface.result, is_part=False) + gives.where(), takes)
