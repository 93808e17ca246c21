"""The operands with which the expressions of a program call its procedures, for `vlad show`.

In: expressions, not evaluated.  Out: for each procedure, operands of the types with which it is called. Called by
session/showing.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from vlad.compile.analysis.strategy import Settled, Strategy, best
from vlad.compile.ir.refusals import Unbounded
from vlad.compile.programs.whole import Step, Steps, Whole
from vlad.core.types import Type, is_table, is_tensor
from vlad.data.devices import current
from vlad.data.errors import VladError
from vlad.data.tables import table_of_form
from vlad.data.tensors import made
from vlad.data.values import TRUE, Code, Value, closure
from vlad.primitives.files import Files

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine

Uses = dict[Code, list[tuple[Value, ...]]]
SOME_REAL = 0.5


def uses_with_tensors(machine: Machine, steps: list[Step], codes: Collection[Code]) -> Uses:
    """By code: operands, some of them with tensors, one tuple for each use. Steps whose analysis does not terminate are left
    out, and so are uses whose operands have no certain structure."""
    try:
        return best(lambda strategy: _uses(machine, steps, codes, strategy), leaves_out=True)
    except (Unbounded, VladError):
        return {}


def _uses(
    machine: Machine, steps: list[Step], codes: Collection[Code], strategy: Strategy
) -> tuple[Uses, Settled]:
    """Raises Unbounded."""
    left_out = {unbounded.part for unbounded in strategy.left_out}
    bounded = [step for step in steps if step not in left_out]
    missing = [step for step in steps if step in left_out]
    analysis = Whole(machine, Steps(bounded, [], []), strategy, missing, Files()).analysis
    found: Uses = {}
    for instance in analysis.instances:
        callee = instance.callee
        if type(callee) is not Code or callee not in codes:
            continue
        types = [analysis.types.canonical(one) for one in instance.operands]
        operands = [_operand(one) for one in types]
        if _is_complete(operands) and any(map(_has_tensors, types)):
            found.setdefault(callee, []).append(tuple(operands))
    return found, Settled()


def _operand(type_: Type) -> Value | None:
    """A value of a type; None for a union, of whose members it would be one only."""
    match type_.kind:
        case "real":
            return SOME_REAL
        case "boolean":
            return TRUE
        case "constant":
            return type_.of
        case "tensor":
            device = current()
            return made(device.make("zeros", type_.of.shape, dtype=getattr(device.xp, type_.of.kind)))
        case "pair" | "closure":
            parts = tuple([_operand(part) for part in type_.parts])
            if not _is_complete(parts):
                return None
            if type_.kind == "pair":
                return parts
            whole = closure(type_.of, *parts)
            return table_of_form(whole) if is_table(type_) else whole
    return None


def _is_complete(values: Iterable[Value | None]) -> bool:
    return not any(value is None for value in values)


def _has_tensors(type_: Type) -> bool:
    return is_tensor(type_) or any(map(_has_tensors, type_.parts))
