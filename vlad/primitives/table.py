"""The one table: every primitive by name, in the order of lists and metering."""

from __future__ import annotations

from vlad.data.values import Primitive, SystemCode
from vlad.primitives import (
    batches,
    checkpointing,
    continuations,
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
    raising,
    random,
    reading,
    reductions,
    reentry,
    references,
    ropes,
    shaping,
    sorting,
    strings,
    table_types,
    tables,
    tangent_spaces,
    tensors,
    transforms,
    vectors,
    workers,
)

# Procedures of the basis, written in the language over rows of the table.
PROCEDURES: dict[str, str] = {
    **contractions.PROCEDURES,
    **control.PROCEDURES,
    **references.PROCEDURES,
    **tables.PROCEDURES,
    **raising.PROCEDURES,
    **transforms.PROCEDURES,
}

# Procedures that only texts of the system call.
SYSTEM_PROCEDURES: dict[str, str] = {
    **transforms.SYSTEM_PROCEDURES,
    **continuations.SYSTEM_PROCEDURES,
    **checkpointing.SYSTEM_PROCEDURES,
    **batches.SYSTEM_PROCEDURES,
    **vectors.SYSTEM_PROCEDURES,
}

# The codes of the system.
CODES: dict[str, SystemCode] = {
    **transforms.CODES,
    **continuations.CODES,
    **raising.CODES,
    **reentry.CODES,
    **checkpointing.CODES,
    **batches.CODES,
    **ropes.CODES,
    **table_types.CODES,
    **tangent_spaces.CODES,
    **vectors.CODES,
}

ON_A_GPU = {**CODES, **batches.ON_A_GPU}

TABLE: dict[str, Primitive] = {
    row.name: row
    for room in (
        numbers,
        data,
        ropes,
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
        tables,
        transforms,
        levels,
        continuations,
        raising,
        reentry,
        checkpointing,
        batches,
        workers,
        table_types,
        tangent_spaces,
        vectors,
        reading,
    )
    for row in room.ROWS
}
