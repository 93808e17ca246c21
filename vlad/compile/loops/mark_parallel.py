"""Marks innermost loops with independent turns as parallel, and the loops of short nests to be unrolled.

In: a nest.  Out: the same, its loops marked. Sums may be computed in any order: `#pragma omp simd` permits that, and no other
inexact transformation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
)
from vlad.compile.loops.scaling import operand_name
from vlad.compile.loops.walking import is_innermost, mapped, statements, with_body, within
from vlad.compile.runtime.functions import function_name, is_vectored
from vlad.core.expressions import Binary, Call, Name, Number, Unary
from vlad.core.extents import at_most, estimate
from vlad.core.loop_nests import SHORT

FEWEST_SIMD = 8  # turns of an innermost loop that is worth vectorizing
# Unrolling four long and independent turns saves a tenth of the time. Its pragma excludes `omp simd`, so it is used only at the
# highest level of optimization: with -O2, gcc 12 does not vectorize without `omp simd`.
UNROLLS, FEWEST_UNROLLED, FEWEST_STEPS_UNROLLED = 4, 256, 8
# Short nests are unrolled, so that arrays stay in registers, unless gcc would take long: the limit is on the steps in all turns.
MOST_STEPS_UNROLLED, STEPS_OF_A_CALL = 400, 16
REDUCTIONS = {"+": "+", "add": "+", "*": "*", "greater": "max", "less": "min", "or": "|"}


def mark_parallel(nest: Nest) -> Nest:
    is_light = at_most(nest.turns * _steps(nest), MOST_STEPS_UNROLLED)

    def change(statement: Statement) -> Sequence[Statement]:
        if type(statement) is not For:
            return [statement]
        if at_most(nest.turns, SHORT):
            return [replace(statement, unroll=int(statement.extent))] if is_light else [statement]
        if (
            is_innermost(statement)
            and estimate(statement.extent) >= FEWEST_SIMD
            and _is_parallel(statement.body)
        ):
            return [replace(statement, simd=_simd(statement))]
        return [statement]

    return with_body(nest, mapped(nest.body, change))


def _steps(nest: Nest) -> int:
    """The number of steps in a turn; a call counts as several."""
    values = [one.value for one in statements(nest.body) if type(one) is Let and is_step(one)]
    return sum([1 + STEPS_OF_A_CALL * (type(part) is Call) for value in values for part in within(value)])


def _is_parallel(body: Body) -> bool:
    """Are the turns independent? Outputs are new arrays, so that turns write to different places, except computed ones."""
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
    """Should the C compiler vectorize a sum by itself, where it may reorder sums? gcc's code took twice as long with the pragma.
    But without the pragma, it computes exponentials of short rows one at a time."""
    return not calls_vectors(body)


def calls_vectors(body: Body) -> bool:
    """Does a turn call functions that have vector versions?"""
    calls = [part for let in body if type(let) is Let for part in within(let.value) if type(part) is Call]
    return is_vectored([function_name(call.function, call.kind) for call in calls])


def is_step(let: Let) -> bool:
    """Is a value computed, rather than read?"""
    return type(let.value) not in (Element, Scalar, Number)


def is_long_sum(loop: For) -> bool:
    """Does a loop have many turns with many sums and products, and nothing else?"""
    steps = [let for let in loop.body if type(let) is Let and is_step(let)]
    is_long = estimate(loop.extent) >= FEWEST_UNROLLED and len(steps) >= FEWEST_STEPS_UNROLLED
    return is_long and all(is_sum(let.value) for let in steps)


def is_sum(value: Value) -> bool:
    """Is a value a sum or product of two variables, or the negative of one?"""
    match value:
        case Binary(operator="*", left=left, right=Number()):
            return bool(operand_name(left))
        case Binary(operator="+" | "-" | "*", left=left, right=right):
            return bool(operand_name(left)) and bool(operand_name(right))
        case Unary(operator="-", operand=operand):
            return bool(operand_name(operand))
    return False
