"""Common mistakes: each ends in an error whose caret is under the faulty form, with a remedy."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import vlad
from vlad.manual.help import kinds


class Mistake(NamedTuple):
    program: str
    start: int
    end: int


def mistakes() -> list[Mistake]:
    text = (Path(__file__).parent / "mistakes.txt").read_text(encoding="utf-8")
    found = []
    for line in text.splitlines():
        if line and not line.startswith("# "):
            before, _, rest = line.partition("«")
            faulty, _, after = rest.partition("»")
            found.append(Mistake(before + faulty + after, len(before), len(before) + len(faulty)))
    return found


def error_of(program: str) -> vlad.VladError:
    session = vlad.Session(write=lambda text: None, limits=vlad.Limits(seconds=30))
    try:
        session.eval(program)
    except vlad.VladError as error:
        return error
    raise AssertionError(f"no error: {program}")


def test_mistakes() -> None:
    cases = mistakes()
    elsewhere, without_advice = [], []
    for case in cases:
        error = error_of(case.program)
        assert error.code in kinds(), case.program
        assert error.span is not None, case.program
        if (error.span.start, error.span.end) != (case.start, case.end):
            elsewhere.append(f"{case.program}: {error}")
        if not error.hint and error.code != "user-error":
            without_advice.append(f"{case.program}: {error}")
    assert len(cases) >= 200
    assert len(elsewhere) <= 0.02 * len(cases), "\n".join(elsewhere)
    assert without_advice == []
