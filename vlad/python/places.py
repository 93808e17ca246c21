"""The places of a saved procedure's core → bytes, and back: so errors in another process are where the program is written.

In: the places that dump.py notes, in the order of the text.  Out: bytes beside that text, for load.py. Only pickle has them
(session/calls.py); a text that is kept may be read long after the program was changed.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable

from vlad.data.source import Span
from vlad.expand.macros import ProcedureSpan
from vlad.reader.parser import Form, Name, Syntax

Places = list[Span | None]


def packed(places: Iterable[Span | None]) -> bytes:
    known: dict[int, Syntax] = {}
    plain = [_plain(one, known) if type(one) is ProcedureSpan else one for one in places]
    return zlib.compress(pickle.dumps(plain, pickle.HIGHEST_PROTOCOL), 1)


def unpacked(places: bytes) -> Places:
    found: Places = pickle.loads(zlib.decompress(places))
    return found


def _plain(span: ProcedureSpan, known: dict[int, Syntax]) -> ProcedureSpan:
    """A place whose parameters are the same object where they were it, without the marks of macros, which lead to scopes."""
    parameters = known.setdefault(id(span.parameters), _unmarked(span.parameters))
    found = ProcedureSpan(span, span.name, parameters)
    found.use = span.use
    return found


def _unmarked(syntax: Syntax) -> Syntax:
    if isinstance(syntax, Name):
        return Name(syntax.symbol, syntax.span)
    if not isinstance(syntax, Form):
        return syntax
    tail = None if syntax.tail is None else _unmarked(syntax.tail)
    return Form(tuple([_unmarked(item) for item in syntax.items]), tail, syntax.span)
