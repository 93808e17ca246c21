"""The names outside of a Python function whose values its translation depends on.

In: a dictionary of globals, a module's or a closure's cell.  Out: `Read`, of which calls compare the value (python/convert.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import CellType
from typing import Any, NamedTuple

MISSING = object()  # the value of a name that has none


class Read(NamedTuple):  # it is made in a third of the time of a frozen dataclass
    """A name that was read, in a dictionary or of a closure's cell, and its value."""

    names: Mapping[str, Any] | None
    key: str
    cell: CellType | None
    value: Any

    def guard(self) -> tuple[Any, ...]:
        """The same, as calls compare it (convert.are_current)."""
        if self.names is None:
            return self.cell, self.value
        return (self.names, self.key) if self.value is MISSING else (self.names, self.key, self.value)

    def is_current(self) -> bool:
        """Has the name still this value?"""
        if self.cell is None:
            assert self.names is not None
            return self.names.get(self.key, MISSING) is self.value
        try:
            return self.cell.cell_contents is self.value
        except ValueError:
            return self.value is MISSING
