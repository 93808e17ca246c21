"""Documentation at the prompt: of the standard names (vlad/manual/help.py), and of this session's definitions.

In: a session and a name.  Out: an `Entry` of help.py. Called by the commands and by completion. A procedure of the program is
documented by the comment above its definition, like those of the library.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from vlad.data.source import Span
from vlad.data.values import Value, is_procedure
from vlad.expand.arity import NAMED, signature
from vlad.expand.forms import KEYWORDS
from vlad.manual.help import Entry, documentation, entry_of, is_elsewhere, lines_of, text_and_examples
from vlad.session.session import Session


def known(session: Session, name: str) -> Entry | None:
    """The entry of a name; None if it is undefined."""
    module = session.module
    cell = module.cells.get(name)
    if not module.is_inherited(name) and cell is not None and hasattr(cell, "value"):
        return _of_program(session, name, cell.value)
    if module.macro(name) is not None:
        return Entry(name, "macro", "", name, (), ())
    entry = entry_of(name)
    return None if entry is None or entry.hidden else entry


def keywords_of(session: Session, name: str) -> Mapping[str, Value]:
    """The operands that the procedure of a name takes by name, with their defaults."""
    cell = session.module.lookup(name)
    if cell is not None and cell.primitive is not None:
        return cell.primitive.keywords
    named = NAMED.get(name) if session.module.is_inherited(name) else None
    return {} if named is None else named.keywords


def about(session: Session, name: str) -> str | None:
    """All documentation of a name, or of the code of an error; None if there is none."""
    entry = known(session, name)
    if entry is not None:
        return "\n".join(lines_of(entry))
    return documentation(name) if is_elsewhere(name) else None


def names(session: Session) -> list[str]:
    """Every name that can be used here, including keywords, in order."""
    return sorted({*session.known_names(), *KEYWORDS, *session.module.macros})


def _of_program(session: Session, name: str, value: Value) -> Entry:
    if not is_procedure(value):
        return Entry(name, "program", "", name, (), ())
    shape = signature(session.machine, value[0]).text
    span: Span | None = session.machine.core_of(value[0].base).span
    if span is None:
        return Entry(name, "program", "", shape, (), ())
    lines = comment_above(span.source.text, span.start)
    if lines and re.fullmatch(
        rf"\(+{re.escape(name)}[\s()].*\)", lines[0]
    ):  # the shape of a call, as in the library
        shape, *lines = lines
    text, examples = text_and_examples(lines)
    place = f"{span.source.name}:{span.line}"
    return Entry(name, "program", "", shape, text, examples, place=place, source=span.text)


def comment_above(text: str, start: int) -> list[str]:
    """The lines of the comment that ends right above the line of an offset."""
    lines: list[str] = []
    for line in reversed(text[:start].split("\n")[:-1]):
        if not line.lstrip().startswith(";"):
            break
        lines.append(line.lstrip().lstrip(";").removeprefix(" "))
    return lines[::-1]


def beside(session: Session, name: str) -> str:
    """Signature and first sentence of a name, on one line."""
    found = known(session, name)
    if found is None:
        return ""
    return "  ".join([part for part in (found.signature, first_sentence(found)) if part])


def first_sentence(entry: Entry) -> str:
    words = " ".join(entry.text)
    end = words.find(". ")
    return words if end < 0 else words[: end + 1]
