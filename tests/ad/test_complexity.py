"""The cost of a gradient, counted: a constant times its function's, whatever the size. docs/complexity.md has the whole table."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

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
