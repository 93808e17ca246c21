"""The extent of a procedure in its text.

Made by the expander, and by record_types.py for the procedures of a type; read by errors and by the debugger.
"""

from __future__ import annotations

from vlad.data.source import Span
from vlad.reader.parser import Syntax


class ProcedureSpan(Span):
    """The extent of a procedure, or of its parameter list, with its name ('' for none) and its parameters as
    written, for errors.
    """

    __slots__ = ("name", "parameters", "use")

    def __init__(self, span: Span, name: str, parameters: Syntax) -> None:
        super().__init__(span.source, span.start, span.end)
        self.name = name
        self.parameters = parameters
        self.use: Span | None = getattr(span, "use", None)  # as in ExpandedSpan
