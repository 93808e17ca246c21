"""What is known of a name: how it is called, what it does, examples, its derivative, where it is written, its text.

In: a session and a name.  Out: what the table, the library's comments or the user's own text say. Called by the commands and by
completion. Nothing is evaluated for it but, where a library procedure was never used, its definition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from vlad.expand.arity import of_row, signature
from vlad.expand.forms import KEYWORDS
from vlad.primitives.table import PROCEDURES, TABLE
from vlad.session import Session, comment_above
from vlad.source import Span
from vlad.values import Primitive, Value, is_procedure

ARROW = "⇒"


@dataclass
class Known:
    """Of one name. `kind`: keyword, macro, primitive, library, yours, value."""

    name: str
    kind: str
    signature: str = ""
    text: list[str] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    derivative: list[str] = field(default_factory=list)
    place: str = ""
    source: str = ""

    @property
    def summary(self) -> str:
        """The first sentence, in one line."""
        words = " ".join(self.text)
        end = words.find(". ")
        return words if end < 0 else words[: end + 1]


def known(session: Session, name: str) -> Known | None:
    """What is known of a name; None where nobody has defined it."""
    module = session.module
    cell = module.cells.get(name)
    if name in module.defined and cell is not None and hasattr(cell, "value"):
        return _defined(session, name, cell.value)
    if module.macro(name) is not None:
        return Known(name, "macro")
    if name in KEYWORDS and session._library.definition(name) is None:
        return Known(name, "keyword")
    name = "*j" if name == "J" else name
    row = TABLE.get(name)
    if row is not None and not row.hidden:
        return _primitive(row)
    if name in PROCEDURES:
        return Known(name, "primitive", signature(session.machine, session.library_value(name)[0]).text)
    return _in_library(session, name)


def names(session: Session) -> list[str]:
    """Every name that can be written here, keywords included, in order."""
    return sorted({*session.known_names(), *KEYWORDS, *session.module.macros})


def _defined(session: Session, name: str, value: Value) -> Known:
    if not is_procedure(value):
        return Known(name, "value")
    found = Known(name, "yours", signature(session.machine, value[0]).text)
    span: Span | None = session.machine.core_of(value[0].base).span
    if span is not None:
        found.place = f"{span.source.name}:{span.line}"
        found.source = span.text
        _add_comment(found, comment_above(span.source.text, span.start))
    return found


def _primitive(row: Primitive) -> Known:
    found = Known(row.name, "primitive", of_row(row).text, [row.doc])
    if row.partials is not None:
        found.derivative = [f"by {operand}: {text}" for operand, text in row.partials.items()]
    else:
        found.derivative = [f"forward: {row.forward}"]
        found.derivative += [
            f"sensitivity of {operand}: {text}" for operand, text in (row.reverse or {}).items()
        ]
    return found


def _in_library(session: Session, name: str) -> Known | None:
    source = session._library.definition(name)
    if source is None or name.startswith("%"):
        return None
    found = Known(name, "library", f"({name})")
    text = source.text.lstrip("\n")
    found.source = "\n".join(_definition_lines(text))
    found.place = f"{source.name}:{len(source.text) - len(text) + 1}"
    lines = session._library.comment(name)
    if lines:
        found.signature, *lines = lines
    _add_comment(found, lines)
    return found


def _definition_lines(text: str) -> Iterator[str]:
    """The lines of a definition, without what stands between it and the next one."""
    lines = text.splitlines()
    while lines and (not lines[-1].strip() or lines[-1].startswith(";")):
        lines.pop()
    yield from lines


def _add_comment(found: Known, lines: list[str]) -> None:
    for line in lines:
        (found.examples if f" {ARROW} " in line else found.text).append(line.strip())
