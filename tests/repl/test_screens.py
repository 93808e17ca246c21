"""The pictures in docs/screens show the prompt's behaviour: their scenes are repeated."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any
from xml.dom import minidom

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"
sys.path.insert(0, str(DOCS))
from make_screens import COLUMNS, FOLDER, SCENES, drawn, played, rows_of, text_of  # noqa: E402

pytestmark = pytest.mark.xdist_group("terminal")


def text_in(path: Path) -> list[str]:
    """What stands in a picture, line by line."""
    lines = []
    for row in minidom.parse(str(path)).getElementsByTagName("g"):
        line = [" "] * COLUMNS
        for run in row.getElementsByTagName("text"):
            text, column = run.firstChild.data, int(run.getAttribute("data-column"))
            line[column : column + len(text)] = text
        lines.append("".join(line).rstrip())
    return lines


def calmly(name: str) -> Any:
    """The rows of a scene, repeated if the machine was so busy that the prompt showed a time."""
    for _ in range(4):
        rows = rows_of(played(SCENES[name]))
        if not any(re.fullmatch(r"; [\d.]+ s", line) for line in text_of(rows)):
            break
    return rows


@pytest.mark.parametrize("name", SCENES)
def test_a_picture_is_up_to_date(name: str, tmp_path: Path) -> None:
    rows = calmly(name)
    assert text_in(FOLDER / f"{name}.svg") == text_of(rows), f"run: python docs/make_screens.py {name}"
    fresh = tmp_path / "fresh.svg"
    fresh.write_text(drawn(SCENES[name], rows), encoding="utf-8")
    assert text_in(fresh) == text_of(rows)


def test_the_pictures_are_those_of_the_scenes_and_shown() -> None:
    page = (DOCS / "repl.md").read_text(encoding="utf-8")
    assert {path.stem for path in FOLDER.iterdir()} == set(SCENES)
    for name, scene in SCENES.items():
        assert f"![{scene.title}](screens/{name}.svg)" in page


def test_colours_are_kept() -> None:
    svg = (FOLDER / "error.svg").read_text(encoding="utf-8")
    assert 'fill="#e06c75" font-weight="bold">&lt;input 1&gt;:1:7: Error: Unbound variable: lenght' in svg
    assert len({line.partition('fill="')[2][:7] for line in svg.splitlines() if "<text" in line}) >= 5
