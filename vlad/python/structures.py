"""The parts of Python's structures and of the language's: of tuples, dicts, named tuples and dataclasses.

In: a structure.  Out: its parts, or the structure that these make. Called by convert.py, which converts the parts.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from vlad.data.errors import VladError
from vlad.data.records import DICT, EXCEPTION, HEADS_OF_SETS
from vlad.data.tensors import is_array
from vlad.data.values import NIL, RECORDS, Symbol, Value, look
from vlad.python.handles import Table


def tuple_of(values: list[Value]) -> Value:
    """One argument for several values: (a . (b . c)); () for none."""
    if not values:
        return NIL
    packed = values[-1]
    for value in reversed(values[:-1]):
        packed = (value, packed)
    return packed


def parts_of(value: Value, count: int) -> list[Value]:
    """The `count` parts of a tuple, by the tuple rule."""
    parts = []
    for _ in range(count - 1):
        part, value = look(value)
        parts.append(part)
    return [*parts, value] if count else []


def parts_held(value: Any) -> list[Any]:
    """The parts of a Python value that `from_python` converts in turn."""
    if isinstance(value, dict | Table):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return list(value)
    return list(fields_of(value).values()) if hasattr(type(value), "__dataclass_fields__") else []


def fields_of(record: Any) -> dict[str, Any]:
    """The fields of a dataclass, in their order."""
    return {name: getattr(record, name) for name in _names_of_fields(type(record))}


_NO_RECORDS = (float, int, str, list, tuple, dict)  # which are converted as such


def record_fields(value: Any) -> tuple[Any, ...] | None:
    """The fields of an object that is converted as a dataclass: of one that is nothing else."""
    is_dataclass = hasattr(type(value), "__dataclass_fields__")
    if not is_dataclass or isinstance(value, _NO_RECORDS) or is_array(value):
        return None
    return tuple([getattr(value, name) for name in _names_of_fields(type(value))])


_known_names: weakref.WeakKeyDictionary[type, tuple[str, ...]] = weakref.WeakKeyDictionary()


def _names_of_fields(kind: type) -> tuple[str, ...]:
    """Those of a dataclass, in their order; kept, as Python's function takes a microsecond."""
    is_hashable = type(kind).__hash__ is not None
    names = _known_names.get(kind) if is_hashable else None
    if names is None:
        from dataclasses import fields  # 10 ms, already imported if there is a dataclass

        names = tuple([field.name for field in fields(kind)])
        if is_hashable:
            _known_names[kind] = names
    return names


def copied(model: Any, parts: Sequence[Any]) -> Any:
    """A copy of a dataclass, with other values for its fields."""
    from copy import copy

    record = copy(model)
    for name, part in zip(_names_of_fields(type(model)), parts, strict=True):
        object.__setattr__(record, name, part)  # works for a frozen one, too
    return record


def none_of_sets() -> VladError:
    """The error of a derivative by a set, or of one: elements may become equal."""
    hint = "`argnums` chooses other arguments; a list has a derivative"
    return VladError("no-derivative", "There is no derivative by a set, or of one", hint=hint)


_HEADS = (DICT, EXCEPTION, *HEADS_OF_SETS)


def head_of(value: Value) -> Symbol | None:
    """The symbol that a dict, a set or a record of a translated function begins with; None for other values."""
    if type(value) is not tuple or len(value) != 2:
        return None
    head = look(value[0])
    return head if type(head) is Symbol and (head in _HEADS or head in RECORDS) else None


def headed(head: Symbol, keys: Sequence[Any], parts: Sequence[Any]) -> Any:
    """A dict of keys and values, or a record of its fields."""
    if head is DICT:
        return dict(zip(keys, parts, strict=True))
    record = RECORDS[head]
    made: Any = record.kind
    return made._make(parts) if record.is_tuple else made(**dict(zip(record.fields, parts, strict=True)))
