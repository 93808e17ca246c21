"""The one table: every primitive by name, in the order of lists and metering."""

from __future__ import annotations

from vlad.data.values import Primitive
from vlad.primitives import (
    contractions,
    control,
    data,
    decompositions,
    determinants,
    files,
    indexing,
    levels,
    linear_algebra,
    networks,
    norms,
    numbers,
    numerals,
    random,
    reductions,
    references,
    shaping,
    sorting,
    strings,
    tensors,
    transforms,
)

# Procedures of the basis, written in the language over rows of the table.
PROCEDURES: dict[str, str] = {
    **contractions.PROCEDURES,
    **control.PROCEDURES,
    **references.PROCEDURES,
    **transforms.PROCEDURES,
}

TABLE: dict[str, Primitive] = {
    row.name: row
    for room in (
        numbers,
        data,
        strings,
        numerals,
        tensors,
        shaping,
        indexing,
        reductions,
        sorting,
        linear_algebra,
        determinants,
        decompositions,
        norms,
        contractions,
        networks,
        random,
        files,
        control,
        references,
        transforms,
        levels,
    )
    for row in room.ROWS
}
