"""Says of innermost loops whose turns do not wait for each other that they may be taken in parallel, and of short nests that they
are written out.

In: a nest.  Out: the same, its loops marked. Sums may be taken in any order, which `#pragma omp simd` says without leave for
anything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vlad.compile.emit.functions import function_name, is_vectored
from vlad.compile.loops.ir import (
    Accumulate,
    Body,
    Element,
    For,
    Let,
    Nest,
    Scalar,
    Simd,
    Statement,
    StoreElement,
    Value,
    is_innermost,
    mapped,
    within,
)
from vlad.compile.loops.scaling import operand_name
from vlad.core.expressions import Binary, Call, Name, Number, Unary
from vlad.core.loop_nests import SHORT

FEWEST_SIMD = 8  # turns of an innermost loop that are worth taking in parallel
# Four turns at once are a tenth less where turns are long and wait for nothing. What says so does not go with `omp simd`, and so
# it is for the highest level of optimisation: with -O2 gcc 12 does not vectorise of itself.
UNROLLS, FEWEST_UNROLLED, FEWEST_STEPS_UNROLLED = 4, 256, 8
REDUCTIONS = {"+": "+", "add": "+", "*": "*", "greater": "max", "less": "min", "or": "|"}


def mark_parallel(nest: Nest) -> Nest:
    def change(statement: Statement) -> Sequence[Statement]:
        if type(statement) is not For:
            return [statement]
        if nest.turns <= SHORT:
            return [replace(statement, unroll=statement.extent)]
        if is_innermost(statement) and statement.extent >= FEWEST_SIMD and _is_parallel(statement.body):
            return [replace(statement, simd=_simd(statement))]
        return [statement]

    return replace(nest, body=mapped(nest.body, change))


def _is_parallel(body: Body) -> bool:
    """Outputs are new arrays, so turns do not meet there; at places that are computed, they may."""
    targets = [
        one.entry if type(one) is StoreElement else one.target
        for one in body
        if isinstance(one, StoreElement | Accumulate)
    ]
    return not any(type(target) is Element and target.position.at for target in targets)


def _simd(loop: For) -> Simd:
    reductions: dict[str, list[str]] = {}
    for statement in loop.body:
        if type(statement) is Accumulate and type(statement.target) is Name:
            names = reductions.setdefault(REDUCTIONS[statement.combine], [])
            if statement.target.name not in names:
                names.append(statement.target.name)
    found = tuple([(sign, tuple(names)) for sign, names in reductions.items()])
    is_left = bool(reductions) and reductions.keys() <= {"+", "*"} and is_left_to_the_compiler(loop.body)
    return Simd(found, is_left, UNROLLS if is_long_sum(loop) and not reductions else 0)


def is_left_to_the_compiler(body: Body) -> bool:
    """Where it may reorder sums, it does so by itself, and better: gcc took twice as long with the pragma. But without that,
    it takes an exponential at a time in short rows."""
    return not calls_vectors(body)


def calls_vectors(body: Body) -> bool:
    """Does a turn call functions that take vectors?"""
    calls = [part for let in body if type(let) is Let for part in within(let.value) if type(part) is Call]
    return is_vectored([function_name(call.function, call.kind) for call in calls])


def is_step(let: Let) -> bool:
    """Is a value computed, and not just read?"""
    return type(let.value) not in (Element, Scalar, Number)


def is_long_sum(loop: For) -> bool:
    """Are there many turns of many sums and products, and of nothing else?"""
    steps = [let for let in loop.body if type(let) is Let and is_step(let)]
    is_long = loop.extent >= FEWEST_UNROLLED and len(steps) >= FEWEST_STEPS_UNROLLED
    return is_long and all(is_sum(let.value) for let in steps)


def is_sum(value: Value) -> bool:
    """A sum or product of two variables, or the negative of one."""
    match value:
        case Binary(operator="*", left=left, right=Number()):
            return bool(operand_name(left))
        case Binary(operator="+" | "-" | "*", left=left, right=right):
            return bool(operand_name(left)) and bool(operand_name(right))
        case Unary(operator="-", operand=operand):
            return bool(operand_name(operand))
    return False
