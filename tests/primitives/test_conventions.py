"""Every line of the tables in docs/conventions.md: the value, the slope in both modes, the second slope in all four."""

from __future__ import annotations

from pathlib import Path

import pytest

import vlad
from vlad.data.write import real_text
from vlad.reader.parser import number

TEXT = (Path(__file__).parents[2] / "docs" / "conventions.md").read_text(encoding="utf-8")
SLOPES = """
(define ((slope-R f) x) (cdr ((cdr ((*j f) (*j x))) 1)))
(define ((slope-F f) x) (unperturb (tangent ((bundle f (perturb (zero f))) (bundle x (perturb 1))))))
"""


def lines() -> list[tuple[str, str, str, str, str]]:
    found = []
    for line in TEXT.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 5:
            found.append((cells[0].strip("`"), cells[1], cells[2], cells[3], cells[4]))
    return found


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    session = vlad.Session()
    session.eval(SLOPES)
    return session


def test_the_tables_are_there() -> None:
    assert len(lines()) > 70
    for name in ("abs", "max", "min", "sqrt", "expt", "atan", "hypot", "floor", "modulo", "sign", "(/ "):
        assert any(name in line[0] for line in lines()), name


@pytest.mark.parametrize("line", lines(), ids=lambda line: f"{line[0]} at {line[1]}")
def test_line(session: vlad.Session, line: tuple[str, str, str, str, str]) -> None:
    procedure, at, value, slope, second = line
    for text, expressions in zip((value, slope, second), groups(procedure), strict=True):
        for expression in expressions:
            found = session.eval(f"({expression} {at})")
            assert same(found, text), f"({expression} {at}) is {found}, not {text}"


def groups(procedure: str) -> tuple[list[str], list[str], list[str]]:
    first = [f"(slope-R {procedure})", f"(slope-F {procedure})"]
    second = [f"(slope-{a} (slope-{b} {procedure}))" for a in "RF" for b in "RF"]
    return [procedure], first, second


def same(found: object, text: str) -> bool:
    """0 and -0 are the same here; everything else to the last digit."""
    expected = number(text)
    assert isinstance(found, float) and expected is not None, (found, text)
    return found == expected or real_text(found) == real_text(expected)
