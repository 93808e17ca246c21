"""What stands for tables and records of the language in Python: `vlad.Table` and `vlad.Record`.

Made by convert.py, which hands over converted parts; each keeps the value that it stands for, so it goes back as it came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from vlad.data.values import Value


class Table(Mapping[Any, Any]):
    """A table of the language: a mapping that does not change, equal to a dict of the same items.

    One that Python makes, of a mapping or of pairs, is a table where it is handed to a procedure; texts among its keys are
    strings there.
    """

    __slots__ = ("_items", "value", "__weakref__")

    def __init__(
        self, items: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = (), value: Value = None
    ) -> None:
        self._items: dict[Any, Any] = dict(items)
        self.value = value  # in the language, if it comes from there

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"vlad.Table({self._items!r})"

    def __reduce__(self) -> Any:
        return Table, (self._items,)


class Record:
    """A record of a program's `define-record-type`: its fields are attributes, named as Python spells them (`my-field` is
    my_field).

    Records are equal if their type and fields are. They are made by procedures of the language alone.
    """

    __slots__ = ("_apply", "_fields", "_name", "_value", "__weakref__")

    def __init__(self, name: str, fields: dict[str, Any], value: Value, apply: Any) -> None:
        self._name = name
        self._fields = fields
        self._value = value
        self._apply = apply

    def __getattr__(self, name: str) -> Any:
        fields = object.__getattribute__(self, "_fields")
        if name not in fields:
            raise AttributeError(
                f"a record of type {self._name} has no field {name}: it has {', '.join(fields) or 'none'}"
            )
        return fields[name]

    def __dir__(self) -> list[str]:
        return list(self._fields)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._fields.values())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return self._value[0] is other._value[0] and self._fields == other._fields

    def __repr__(self) -> str:
        return f"{self._name}({', '.join([f'{name}={part!r}' for name, part in self._fields.items()])})"

    def __reduce__(self) -> Any:
        return self._apply.reduced(self._value)
