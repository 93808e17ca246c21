"""Wrong programs: each ends in one VladError, of the right kind, at the right place, with the right message."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

import vlad


class Case(NamedTuple):
    program: str
    place: str
    code: str
    words: list[str]


def cases() -> list[Case]:
    text = (Path(__file__).parent / "corpus.txt").read_text(encoding="utf-8")
    found = []
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("# ")]
        marks = [i for i, line in enumerate(lines) if line.startswith("--- ")]
        if marks:
            place, code = lines[marks[0]][4:].split()
            found.append(Case("\n".join(lines[: marks[0]]), place, code, lines[marks[0] + 1 :]))
    return found


def test_the_corpus_is_large() -> None:
    assert len(cases()) >= 150


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.program.replace("\n", " ")[:60])
def test_wrong_program(case: Case, tmp_path: Path) -> None:
    file = tmp_path / "wrong.vlad"
    file.write_text(case.program, encoding="utf-8")
    session = vlad.Session(limits=vlad.Limits(depth=20_000), write=lambda text: None)
    with pytest.raises(vlad.VladError) as caught:
        session.run(str(file))
    error = caught.value
    shown = str(error)
    assert "Traceback" not in shown
    for words in case.words:
        assert words in shown, shown
    if case.code != "*":
        assert error.code == case.code, shown
    if case.place != "*":
        line, column = case.place.split(":")
        assert error.span is not None, shown
        assert str(error.span.line) == line, shown
        assert column in ("*", str(error.span.column)), shown
        assert "^" in shown
