"""Computes powers with the exponent one half as square roots.

In: a nest.  Out: the same. Runs after vectorize.py, whose vector functions compute powers themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vlad.compile.loops.ir import Let, Nest, Statement, Value
from vlad.compile.loops.scaling import constants, operand_name
from vlad.compile.loops.walking import mapped, with_body
from vlad.core.expressions import Call

POWER, ROOT = "pow", "vlad_root"


def take_roots(nest: Nest) -> Nest:
    known = constants(nest)

    def change(statement: Statement) -> Sequence[Statement]:
        if type(statement) is Let and is_root(statement.value, known):
            power = statement.value
            return [replace(statement, value=Call(ROOT, power.operands[:1], power.kind))]
        return [statement]

    return with_body(nest, mapped(nest.body, change))


def is_root(value: Value, known: Mapping[str, float]) -> bool:
    return (
        type(value) is Call and value.function == POWER and known.get(operand_name(value.operands[1])) == 0.5
    )
