"""Passes over first-order code as text: tests/passes/first-order/PASS/what-it-shows.vlad holds operands, a program that
defines f, `---`, and f's first-order code as the pass leaves it. `pytest --update` rewrites the lower halves; git shows the
difference.

The procedure is run, too: compiled as on tier 0.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import vlad
from vlad.compile.passes.order import NAMES
from vlad.data.values import look
from vlad.python.convert import from_python

CASES = sorted((Path(__file__).parent / "first-order").glob("*/*.vlad"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_pass(path: Path, request: pytest.FixtureRequest) -> None:
    program, _, expected = path.read_text(encoding="utf-8").partition("\n---\n")
    found: list[object] = []
    for tier in ("evaluate", "compile"):
        session = vlad.Session(tier=tier)
        session.run_text(program)
        operands = session.eval(f"(list {program.partition(chr(10))[0].lstrip('; ')})")
        found.append(str(session["f"](*operands)))
    assert found[0] == found[1]
    values = tuple([from_python(operand) for operand in operands])
    text = session.tiers.shown(look(session["f"].value), "first-order", values, path.parent.name)
    if request.config.getoption("--update"):
        path.write_text(f"{program.rstrip()}\n---\n{text}\n", encoding="utf-8")
        return
    assert text + "\n" == expected


def test_passes_have_names_and_cases() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert {path.parent.name for path in CASES} <= set(NAMES)
