"""Programs test the language: every .vlad file below this folder, form by form.

After a top-level expression is its output, `; => TEXT`, or a part of its error, `; error: TEXT`. Both may
be repeated, a line each. `; counts: N NAME` gives the number of applications of a primitive during the expression.
An expression without any of them must print nothing or #t.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from amounts import THOROUGH

import vlad
from vlad.data.source import Source
from vlad.reader.parser import read

pytestmark = pytest.mark.any_compiler

HERE = Path(__file__).parent
PLENTY = vlad.Limits(fuel=1_000_000_000)
PATHS = sorted(HERE.rglob("*.vlad"))
NOTE = re.compile(r";\s*(=>|error:|counts:)\s?(.*)")


def named(path: Path) -> str:
    return str(path.relative_to(HERE))


def forms(path: Path) -> Iterator[tuple[str, int, list[tuple[str, str]]]]:
    """The text of each form, its line, and the notes after it."""
    text = path.read_text(encoding="utf-8")
    data = list(read(Source(str(path), text)))
    for datum, following in zip(data, [*data[1:], None], strict=False):
        end = following.span.start if following else len(text)
        notes = [(m.group(1), m.group(2).rstrip()) for m in NOTE.finditer(text, datum.span.end, end)]
        yield text[datum.span.start : datum.span.end], datum.span.line, notes


# With fuel these take half a minute and more to compile; that they are compiled, and return the same, is tested without.
# An ordinary run compiles every other expression.
LONG = {
    "control/checkpointed.vlad", "control/shift_derivatives.vlad", "mechanics/hamilton.vlad", "mechanics/lagrange.vlad",
}  # fmt: skip
# Transposed forward mode by a record with stated tangents: compiled, the type's rule runs once more, for a zero that is not used.
OTHER_STEPS = {"scheme/tangents.vlad"}
# Programs that compose what others show alone: an ordinary run compiles every third, without fuel.
COMPOSED = {*(HERE / "compositions").glob("*.vlad"), HERE / "mechanics" / "evolution.vlad"}
DEFINING = re.compile(r"\((define|begin|import|include)\b")


class Run:
    """A program in a session, form by form."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.path = path
        self.output: list[str] = []
        self.session = vlad.Session([str(path.parent)], write=self.output.append, **options)

    def form(self, text: str, line: int, notes: list[tuple[str, str]]) -> float:
        """Compare the output or the error with the notes; returns the number of steps."""
        self.output.clear()
        before = self.session.steps
        printed = [note for kind, note in notes if kind == "=>"]
        errors = [note for kind, note in notes if kind == "error:"]
        where = f"{self.path.name}:{line}: {text}"
        try:
            self.session.run_text(text, str(self.path))
        except vlad.VladError as error:
            assert errors, f"{where}\n{error}"
            for expected in errors:
                assert expected in str(error), where
            assert error.span is not None or error.code == "too-deep", where
        else:
            assert not errors, f"{where}: no error, but {self.output}"
            expected_lines = printed or ([] if not self.output else ["#t"])
            assert "".join(self.output).splitlines() == expected_lines, where
        return self.session.steps - before


@functools.cache
def steps_of(path: Path) -> list[tuple[float, bool]]:
    """The steps of each form on tier 0, where its output or its error is what the notes say, and whether the program has cells
    by then.
    """
    run = Run(path, tier="evaluate", limits=PLENTY)
    return [(run.form(*form), run.session.machine.uses_cells) for form in forms(path)]


def compare_counts(path: Path) -> None:
    """The numbers of applications of primitives, where notes give any."""
    notes_of = [(text, line, notes) for text, line, notes in forms(path)]
    if all(kind != "counts:" for _, _, notes in notes_of for kind, _ in notes):
        return
    metered = vlad.Session([str(path.parent)], write=lambda text: None, metered=True, tier="evaluate")
    for text, line, notes in notes_of:
        counts = {
            name: int(number) for kind, note in notes if kind == "counts:" for number, name in [note.split()]
        }
        if counts or DEFINING.match(text):
            metered.eval(text)
            found = dict(metered.counts)
            assert {name: found.get(name, 0) for name in counts} == counts, f"{path.name}:{line}: {text}"


@pytest.mark.parametrize("path", PATHS, ids=named)
@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_program(path: Path, tier: str) -> None:
    """Compiled code takes as many steps as tier 0, which also counts the applications of primitives. (On tier 0
    fuel is counted in lines of their own; the others are the same with and without it.)

    A construct stands in several forms. So of the expressions without an error every other one is compiled with fuel, and its
    steps are compared, the rest without; a thorough run compiles all in both ways.
    """
    if tier == "evaluate":
        assert len(steps_of(path)) == len(list(forms(path)))
        compare_counts(path)
        return
    plain = Run(path, tier=tier)
    fuelled = Run(path, tier=tier, limits=PLENTY)
    is_composed = path in COMPOSED
    is_counted = named(path) not in OTHER_STEPS and (THOROUGH or not (is_composed or named(path) in LONG))
    for number, form in enumerate(forms(path)):
        text, line, notes = form
        each = 3 if is_composed else 2 if named(path) in LONG else 1
        if number % each and not (THOROUGH or DEFINING.match(text)):
            continue
        # what changes the cells of a program is executed in each session, as definitions are
        defines = DEFINING.match(text) is not None or path.parent.name == "state"
        is_right = all(kind != "error:" for kind, _ in notes)
        with_fuel = is_right and is_counted and (THOROUGH or defines or number % 2 == 0)
        if not with_fuel or THOROUGH or defines:
            plain.form(*form)
        if with_fuel:
            steps, has_cells = steps_of(path)[number]
            if has_cells and not fuelled.session.machine.uses_cells:  # by a form that was left out
                fuelled.session.machine.begin_cells()
            assert fuelled.form(*form) == steps, f"{path.name}:{line}: {text}"
    assert plain.session.tiers.disagreements == fuelled.session.tiers.disagreements == 0
