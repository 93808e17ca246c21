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


@functools.cache
def metering(path: Path) -> list[tuple[int, dict[str, int]]]:
    """The steps and the applications of primitives of each form without an error. Tier 0 counts them."""
    session = vlad.Session([str(path.parent)], metered=True)
    found = []
    for text, _, notes in forms(path):
        if all(kind != "error:" for kind, _ in notes):
            before = session.steps
            session.eval(text)
            found.append((session.steps - before, dict(session.counts)))
    return found


@pytest.mark.parametrize("path", PATHS, ids=named)
@pytest.mark.parametrize("tier", ["evaluate", "compile"])
def test_program(path: Path, tier: str) -> None:
    output: list[str] = []
    session = vlad.Session([str(path.parent)], write=output.append, tier=tier)
    for text, line, notes in forms(path):
        output.clear()
        printed = [note for kind, note in notes if kind == "=>"]
        errors = [note for kind, note in notes if kind == "error:"]
        where = f"{path.name}:{line}: {text}"
        try:
            session.run_text(text, str(path))
        except vlad.VladError as error:
            assert errors, f"{where}\n{error}"
            for expected in errors:
                assert expected in str(error), where
            assert error.span is not None or error.code == "too-deep", where
        else:
            assert not errors, f"{where}: no error, but {output}"
            expected_lines = printed or ([] if not output else ["#t"])
            assert "".join(output).splitlines() == expected_lines, where
    assert session.tiers.disagreements == 0


# With fuel these take half a minute to compile; that they are compiled, and return the same, is tested above.
LONG = {"control/checkpointed.vlad", "control/shift_derivatives.vlad"}


@pytest.mark.parametrize("path", [one for one in PATHS if THOROUGH or named(one) not in LONG], ids=named)
def test_steps(path: Path) -> None:
    """Compiled code takes as many steps as tier 0, which also counts the applications of primitives. (On tier 0, fuel and meter
    count the same way, in the same lines of emitted code.)
    """
    fuelled = vlad.Session([str(path.parent)], write=lambda text: None, tier="compile", limits=PLENTY)
    metered = iter(metering(path))
    for text, line, notes in forms(path):
        if all(kind != "error:" for kind, _ in notes):
            where = f"{path.name}:{line}: {text}"
            before = fuelled.steps
            fuelled.eval(text)
            steps, counts = next(metered)
            assert fuelled.steps - before == steps, where
            for kind, note in notes:
                if kind == "counts:":
                    number, name = note.split()
                    assert counts.get(name, 0) == int(number), where
