"""The one table: every primitive by name, in the order in which it is listed and metered."""

from __future__ import annotations

from vlad.primitives import (
    control,
    data,
    indexing,
    linear_algebra,
    numbers,
    numerals,
    random,
    reductions,
    strings,
    tensors,
    transforms,
)
from vlad.values import Primitive

TABLE: dict[str, Primitive] = {
    row.name: row
    for room in (
        numbers,
        data,
        strings,
        numerals,
        tensors,
        indexing,
        reductions,
        linear_algebra,
        random,
        control,
        transforms,
    )
    for row in room.ROWS
}
