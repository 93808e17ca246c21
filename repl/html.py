"""Values → HTML, for notebooks: tensors as tables, procedures with signature and documentation.

In: a value.  Out: HTML, or None for values whose text says it all. Like display.py, it shows a bounded part of large values, with
`…` for the rest. All text of programs is escaped.
"""

from __future__ import annotations

from html import escape
from itertools import islice, product
from typing import Any

from vlad.data.tensors import Tensor, on_host
from vlad.data.values import Value, is_procedure, look
from vlad.data.write import entry_text
from vlad.manual.help import Entry
from vlad.session.session import Session

from .display import described, remark
from .knowledge import known

MOST_ROWS, MOST_COLUMNS, MOST_TABLES = 20, 12, 4
GAP = "…"


def as_html(value: Value, session: Session) -> str | None:
    value = look(value)
    if type(value) is Tensor and value.shape:
        return _tensor(value, session)
    if is_procedure(value):
        return _procedure(value, session)
    return None


def _tensor(value: Tensor, session: Session) -> str:
    """A table for the last two axes; of several, the first ones, each below its indices."""
    array, caption = on_host(value.array), escape(remark(value, session.machine))
    if array.ndim <= 2:
        tables = [_table(array.reshape(-1, array.shape[-1]), "")]
    else:
        outer = array.shape[:-2]
        tables = [
            _table(array[at], " ".join(map(str, at)))
            for at in islice(product(*[range(length) for length in outer]), MOST_TABLES)
        ]
        count = 1
        for length in outer:
            count *= length
        if count > MOST_TABLES:
            tables.append(f"<p>{GAP} {count - MOST_TABLES} more</p>")
    return f"<div>{''.join(tables)}<p>{caption}</p></div>"


def _table(matrix: Any, above: str) -> str:
    head = f"<caption>[{above}]</caption>" if above else ""
    columns = _shown(matrix.shape[1], MOST_COLUMNS)
    rows = []
    for row in _shown(matrix.shape[0], MOST_ROWS):
        cells = [
            GAP if row is None or column is None else escape(entry_text(matrix[row, column]))
            for column in columns
        ]
        rows.append("<tr>" + "".join([f"<td>{cell}</td>" for cell in cells]) + "</tr>")
    return f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"


def _shown(length: int, most: int) -> list[int | None]:
    """The indices that are shown of so many: all, or the first and the last, with None for those between."""
    if length <= most:
        return list(range(length))
    half = most // 2
    return [*range(half), None, *range(length - half, length)]


def _procedure(value: Value, session: Session) -> str:
    code = value[0]
    entry = known(session, code.name) if code.name and not code.is_derived else None
    text = f"<p>{escape(described(value, session.machine))}</p>"
    return text + documentation(entry) if entry is not None and _is_of(entry, value, session) else text


def _is_of(entry: Entry, value: Value, session: Session) -> bool:
    """Does the name mean this procedure? It may be a local one's."""
    cell = session.module.cells.get(entry.name)
    return cell is None or getattr(cell, "value", None) is value or entry.kind != "program"


def documentation(entry: Entry) -> str:
    """Signature and text of an entry."""
    text = escape(" ".join(entry.text))
    head = f"<p><code>{escape(entry.signature or entry.name)}</code></p>"
    return f"{head}<p>{text}</p>" if text else head
