"""Chains of sums of a number with itself, and of products with whole numbers → one product, to the same last bit.

In: a nest.  Out: the same, in which variables are a constant times an earlier one. The derivative of a square is a sum of two
equal terms, and the derivative of c x x doubles a product with c.

For a whole number c, the double nearest to c x is exact if it is subnormal, since then it has no more digits than x. For all
others, a power of two only changes the exponent. So 2 (c x) may be computed as (2 c) x, and so may c (2 x); either both overflow
or neither.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from vlad.compile.loops.ir import Let, Nest, Statement, Value
from vlad.compile.loops.walking import mapped, statements, with_body
from vlad.core.expressions import Binary, Convert, Name, Number, Unary

# By kind: the limit up to which all whole numbers are represented.
WHOLE = {"float64": 2.0**53, "float32": 2.0**24}


def scale(nest: Nest) -> Nest:
    found = multiples(nest)

    def change(statement: Statement) -> Sequence[Statement]:
        if type(statement) is Let and statement.name in found:
            of, factor = found[statement.name]
            return [replace(statement, value=Binary("*", Name(of), Number(factor, statement.kind)))]
        return [statement]

    return with_body(nest, mapped(nest.body, change)) if found else nest


def operand_name(value: Value) -> str:
    """The variable that an operand is, converted to another kind or not; "" if it is none."""
    if type(value) is Convert and not value.rounds:
        value = value.operand
    return value.name if type(value) is Name else ""


def constants(nest: Nest) -> dict[str, float]:
    """The variables with a constant value."""
    return {
        one.name: one.value.value
        for one in statements(nest.body)
        if type(one) is Let and type(one.value) is Number
    }


def multiples(nest: Nest) -> dict[str, tuple[str, float]]:
    """By variable: the one of which it is a multiple, and the factor; only where that saves a step."""
    known = constants(nest)
    kinds = {one.name: one.kind for one in statements(nest.body) if type(one) is Let}
    found: dict[str, tuple[str, float]] = {}
    saving: dict[str, tuple[str, float]] = {}
    for let in statements(nest.body):
        if type(let) is not Let or let.kind not in WHOLE:
            continue
        match let.value:
            case Binary(operator="*" | "+", left=left, right=right):
                names = [operand_name(left), operand_name(right)]
            case Unary(operator="-", operand=operand):
                names = [operand_name(operand)]
            case _:
                continue
        if "" in names:
            continue
        match let.value.operator, [known.get(name) for name in names]:
            case "*", [float(a), float(b)] if let.kind == "float64":
                known[let.name] = a * b
                continue
            case "*", [None, float(b)]:
                of, factor = names[0], b
            case "*", [float(a), None]:
                of, factor = names[1], a
            case "+", [None, None] if names[0] == names[1]:
                of, factor = names[0], 2.0
            case "-", [None]:
                of, factor = names[0], -1.0
            case _:
                continue
        base, before = found.get(of, (of, 1.0))
        if kinds[base] == let.kind and _is_exact(before, factor, WHOLE[let.kind]):
            found[let.name] = base, before * factor
            if abs(before * factor) > 1 and base not in names:
                saving[let.name] = found[let.name]
    return saving


def _is_exact(before: float, factor: float, most: float) -> bool:
    """May two products, first with `before` and then with `factor`, be one?"""
    return (
        factor.is_integer()
        and 1 <= abs(before * factor) <= most
        and (is_power_of_two(before) or is_power_of_two(factor))
    )


def is_power_of_two(factor: float) -> bool:
    return abs(math.frexp(factor)[0]) == 0.5
