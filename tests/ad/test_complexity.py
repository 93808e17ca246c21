"""The cost of a gradient, counted: a constant factor more than its function's, for any size; and it retains no memory.

docs/complexity.md has the whole table.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from vlad.ad.vector_space import complete, zero
from vlad.data.values import ZERO, Value

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from make_complexity import PROGRAMS, Program, ratios


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_ratio_is_flat(program: Program) -> None:
    measured = [ratios(program, size)[1:] for size in (100, 1_000, 10_000)]
    for kind in (0, 1):
        values = [ratio[kind] for ratio in measured]
        assert max(values) <= 1.1 * min(values), (program.name, values)
        assert max(values) < 25, (program.name, values)


def test_the_published_table_names_every_program() -> None:
    text = (Path(__file__).parents[2] / "docs" / "complexity.md").read_text(encoding="utf-8")
    for program in PROGRAMS:
        assert f"| {program.name} |" in text


@pytest.mark.parametrize("make", [zero, lambda x: complete(x, (1.0, (ZERO, ZERO)))], ids=["zero", "complete"])
def test_unused_values_are_freed_at_once(make: Callable[[Value], Value]) -> None:
    """Although cycles are not collected during an evaluation: otherwise a loop would retain a part of each gradient that it
    computes.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        made = make((1.0, ((2.0, ()), (3.0, ()))))
        parts = [weakref.ref(part) for part in (made, made[1], made[1][0])]
        assert all(part() is not None for part in parts)
        del made
        assert [part() for part in parts] == [None] * 3
    finally:
        if collects:
            gc.enable()
