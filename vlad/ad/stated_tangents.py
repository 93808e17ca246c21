"""What types of records state of their tangents (data/values.TangentSpace), applied to values. Used by vector_space.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vlad.data.errors import VladError
from vlad.data.values import TangentSpace, Value, look


def space_of(value: Value) -> TangentSpace | None:
    """What the type of a value, which is computed, states of its tangents."""
    if type(value) is not tuple or len(value) < 3:
        return None
    space: TangentSpace | None = value[0].space
    return space


def is_of_type(value: Value, record: Value) -> bool:
    """Is a value that is computed a record of the type of another one?"""
    return type(value) is tuple and len(value) == len(record) > 2 and value[0].base is record[0].base


def stated_zero(record: Value, zero: Callable[[Value], Value]) -> Value | None:
    """The zero of a record's tangents, by what its type states; None if that is by field."""
    space = space_of(record)
    if space is None:
        return None
    fields = record[1 : 1 + len(record[0].environment)]
    if space.zero is not None:
        found = _called(space.zero, _packed(fields))
        if space.tangent is None and not is_of_type(look(found), record):
            raise wrong_tangent("zero", record, found, f"a record of type {record[0].name}")
        return found
    if space.tangent is None:
        return None
    return _called(space.tangent, (_packed(fields), _packed([zero(field) for field in fields])))


def _packed(fields: Sequence[Value]) -> Value:
    *others, packed = fields
    for field in reversed(others):
        packed = (field, packed)
    return packed


def stated_plus(a: Value, b: Value) -> Value:
    """The sum of two records of a type that states `plus`."""
    total = _called(a[0].space.plus, (a, b))
    if not is_of_type(look(total), a):
        raise wrong_tangent("plus", a, total, f"a record of type {a[0].name}")
    return total


def wrong_tangent(rule: str, record: Value, found: Value, expected: str) -> VladError:
    return VladError(
        "wrong-tangent", f"Result of #:{rule} of {record[0].name} is not {expected}", irritants=(found,),
        name=record[0].name,
    )  # fmt: skip


def _called(f: Value, argument: Value) -> Value:
    machine: Any = f[0].machine
    T = machine.T
    on_its_way = T.kept()  # a tail call, of which the sum or the zero is an operand
    try:
        result = f[0].entry1(f, argument)
        return machine.bounce() if result is T else result
    finally:
        T.take_back(on_its_way)
