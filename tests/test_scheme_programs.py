"""The programs of benchmarks/scheme.py at small sizes: their values on the evaluator and compiled."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from amounts import THOROUGH

import vlad

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from scheme import FOLDER, PROGRAMS

pytestmark = pytest.mark.any_compiler


# Its terms are unions of twenty symbols with themselves: 27,000 lines of C.
LONG_TO_COMPILE = {"boyer"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_on_both_tiers(name: str) -> None:
    program = PROGRAMS[name]
    for tier in ("evaluate",) if name in LONG_TO_COMPILE and not THOROUGH else ("evaluate", "compile"):
        session = vlad.Session(tier=tier)
        session.run(str(FOLDER / f"{name}.vlad"))
        main = session["main"]
        assert main(*program.small) == pytest.approx(program.value, rel=1e-12), tier
        if tier == "compile":
            assert session.tiers.entries[id(main.value)].reason is None


def test_each_file_is_a_program() -> None:
    assert sorted(PROGRAMS) == sorted(path.stem for path in FOLDER.glob("*.vlad"))
