"""A Python function → a lambda of the language.

In: a Python function, and the session's side (expressions.Outside).  Out: a `Translation`. It has Python's positions, so
what comes after, errors, the debugger, `vlad show`, speaks of the Python file. Called by session/functions.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from vlad.data.source import Span
from vlad.reader.parser import Form, Syntax
from vlad.translate.expressions import Outside, Scope
from vlad.translate.names import counters
from vlad.translate.reads import Read
from vlad.translate.source import node_of
from vlad.translate.statements import Statements
from vlad.translate.syntax import form, name, text_of


@dataclass(frozen=True, slots=True)
class Translation:
    """syntax    a lambda; of the captured variables, if there are any, one that returns it
    captured  the free variables whose values the procedure captures: those that are no functions
    reads     the names outside whose values it depends on
    span      the place of the function
    counters  the parameters that are given to `range`
    """

    syntax: Syntax
    captured: tuple[str, ...]
    reads: tuple[Read, ...]
    span: Span
    counters: frozenset[str]

    @property
    def text(self) -> str:
        return text_of(self.syntax)


def is_code(value: Any) -> bool:
    """Is a value part of the program, and no data? A function does not capture it."""
    return isinstance(value, FunctionType | BuiltinFunctionType | ModuleType | type) or hasattr(
        value, "python"
    )


def translation(function: FunctionType, outside: Outside) -> Translation:
    """Translate a Python function. Raises VladError if it is outside the language, or its text is not to be found."""
    node, text = node_of(function)
    whole = Statements(function, text, outside)
    span = text.span(node)
    for variable, cell in whole.cells.items():
        try:
            if not is_code(cell.cell_contents):
                whole.captured.append(variable)
                whole.global_value(variable)
        except ValueError:  # not assigned yet
            continue
    syntax = whole.procedure(node, Scope({}))
    if whole.captured:
        names = Form(tuple([name(whole.own_name(one), span) for one in whole.captured]), None, span)
        syntax = form(span, "lambda", names, syntax)
    return Translation(
        syntax, tuple(whole.captured), tuple(whole.reads.values()), span, frozenset(counters(node))
    )
