"""The types of a text, found in another process: an analysis may take seconds, and is abandoned when the text changes.

In: texts with their names, each a line of JSON on standard input.  Out: for each a line of JSON, the fields of `Typing`; places
are offsets. language_server.py starts the process, ends it to cancel an analysis, and reads its lines by `Typing.of`. What is
analysed is not run (vlad/compile/programs/check.py).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from vlad.compile.programs.noting import Typed
from vlad.data.errors import Notice, VladError
from vlad.data.source import Source, Span
from vlad.session.programs import Program
from vlad.session.session import Session

# what the process runs, with the folders in which modules are found as arguments
CHECKING = "import sys; sys.path[:] = sys.argv[1:]; from vlad.repl.checking_process import main; main()"


class At(NamedTuple):
    """The type of what is at a place: see Typed. `lines`: its `text`."""

    start: int
    end: int
    name: str
    type: str
    lines: str
    is_procedure: bool
    has_shape: bool


class Wrong(NamedTuple):
    """An error, or with `is_notice` a notice, as of something that is not compiled."""

    start: int
    end: int
    code: str
    message: str
    hint: str
    is_notice: bool


@dataclass(frozen=True)
class Typing:
    """globals    what the text defines at top level, and its expressions there
    locals     its local variables
    values     its expressions
    wrong      errors of types, and what is not compiled
    """

    globals: list[At] = field(default_factory=list)
    locals: list[At] = field(default_factory=list)
    values: list[At] = field(default_factory=list)
    wrong: list[Wrong] = field(default_factory=list)

    @classmethod
    def of(cls, line: str) -> Typing:
        parts = json.loads(line)
        placed = {part: [At(*one) for one in parts[part]] for part in ("globals", "locals", "values")}
        return cls(**placed, wrong=[Wrong(*one) for one in parts["wrong"]])


def typing_of(source: Source) -> Typing:
    """The types of a text."""
    session = Session(tier="evaluate", write=lambda text: None)
    try:
        program = Program(session._top_level, source)
        report = program.typed()
    except VladError as error:
        return Typing(wrong=[_wrong(source, error)])
    finally:
        session.close()
    own = [one for one in program.errors if one.span is not None and one.span.source is source]
    notices = [
        Notice("not-compiled", f"Not compiled: {refusal.reason}", span, hint=refusal.hint)
        for refusal, span in report.refusals
    ]
    return Typing(
        _placed(source, report.types),
        _placed(source, report.variables),
        _placed(source, report.values),
        [_wrong(source, one) for one in (*own, *report.errors, *notices)],
    )


def _placed(source: Source, found: Iterable[Typed]) -> list[At]:
    return [
        At(
            one.span.start,
            one.span.end,
            one.name,
            one.type,
            one.text,
            one.of_procedure,
            one.has_shape,
        )
        for one in found
        if one.span.source is source
    ]


def _wrong(source: Source, error: VladError) -> Wrong:
    """An error at its place in a text; one in a file that it imports is at the beginning."""
    span: Span | None = error.span
    start, end = (span.start, span.end) if span is not None and span.source is source else (0, 0)
    message = error.message if span is None or span.source is source else f"{error.message}, at {span}"
    return Wrong(start, end, error.code, message, error.hint or "", isinstance(error, Notice))


def main() -> None:
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        found = typing_of(Source(request["name"], request["text"]))
        sys.stdout.write(json.dumps(asdict(found)) + "\n")
        sys.stdout.flush()
