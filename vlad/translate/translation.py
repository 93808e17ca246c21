"""A Python function → a lambda of the language.

In: a Python function, and the session's side (expressions.Outside).  Out: a `Translation`. It has Python's positions, so
what comes after, errors, the debugger, `vlad show`, speaks of the Python file. Called by session/functions.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from vlad.data.errors import VladError
from vlad.data.python_functions import is_translated
from vlad.data.source import Span
from vlad.reader.parser import Form, Syntax
from vlad.translate.constructors import CONSTRUCTING, constructing
from vlad.translate.counting import Counters
from vlad.translate.decorators import own_cache
from vlad.translate.expressions import NOWHERE, Outside
from vlad.translate.handing import handing_back
from vlad.translate.memos import keeping
from vlad.translate.names import forget_all, parameters
from vlad.translate.reads import Read
from vlad.translate.records import note_records
from vlad.translate.refusals import refused
from vlad.translate.source import node_of
from vlad.translate.statements import Statements
from vlad.translate.syntax import form, name, string, text_of
from vlad.translate.versions import LAZILY


@dataclass(frozen=True, slots=True)
class Translation:
    """syntax    a lambda; of the captured variables, if there are any, one that returns it
    captured  the free variables whose values the procedure captures: those that are no functions
    reads     the names outside whose values it depends on
    span      the place of the function
    refusals  errors, if no class has come into use that has an attribute
    """

    syntax: Syntax
    captured: tuple[str, ...]
    reads: tuple[Read, ...]
    span: Span
    refusals: tuple[VladError, ...] = ()

    @property
    def text(self) -> str:
        return text_of(self.syntax)


def is_code(value: Any) -> bool:
    """Is a value part of the program, and no data? A function does not capture it."""
    return isinstance(value, FunctionType | BuiltinFunctionType | ModuleType | type) or is_translated(value)


def translation(
    function: FunctionType,
    lines: list[str],
    outside: Outside,
    of: type | None = None,
    handing: tuple[str, ...] | None = None,
) -> Translation:
    """Translate a Python function in a file of these lines. `of`: the class, if it is a class method, or a constructor.
    `handing`: the parameters whose values it returns, too, or `LAZILY`, or `CONSTRUCTING`. Raises VladError if it is outside the
    language, or its text is not to be found.
    """
    node, text = node_of(function, lines)
    span = text.span(node)
    if handing == CONSTRUCTING:
        assert of is not None
        node = constructing(node, function, of, outside.lines_of, text.span)
    elif (own := own_cache(function)) is not None:
        if handing is not None:
            raise refused(
                "a cache of a function that changes an argument, or yields", span, "make the value inside"
            )
        node = keeping(node, own)
    elif handing is not None and handing != LAZILY:
        node = handing_back(node, handing)
    note_records(function, outside)
    whole = Statements(function, text, outside)
    if of is not None and handing != CONSTRUCTING:
        by_place = node.args.posonlyargs or node.args.args
        whole.fixed[by_place.pop(0).arg] = of
    for variable, cell in whole.cells.items():
        try:
            if not is_code(cell.cell_contents):
                whole.captured.append(variable)
                whole.global_value(variable)
        except ValueError:  # not assigned yet
            continue
    syntax = whole.procedure(whole.desugared(node, handing == LAZILY), NOWHERE)
    if whole.captured:
        names = Form(tuple([name(whole.own_name(one), span) for one in whole.captured]), None, span)
        syntax = form(span, "lambda", names, syntax)
    return Translation(
        syntax,
        tuple(whole.captured),
        tuple(whole.reads.values()),
        span,
        tuple(whole.refusals),
    )


def counters(function: FunctionType, lines: list[str], outside: Outside) -> Counters:
    """The parameters of a function that are counters, each with the place of a use."""
    try:
        return Statements(function, node_of(function, lines)[1], outside).counters_of(function)
    finally:
        forget_all()


def raising(
    function: FunctionType, lines: list[str], error: VladError, of: type | None = None
) -> Translation:
    """What stands for a function without a translation: a procedure of its parameters that raises a TypeError."""
    node, text = node_of(function, lines)
    span = text.span(node)
    place = "" if error.span is None else f", at line {error.span.line}"
    names = Form(tuple([name(one + ".", span) for one in parameters(node)[of is not None :]]), None, span)
    message = string(f"{function.__qualname__}: {error.message}{place}", span)
    body = form(span, "%python-refuse", string("TypeError", span), message)
    return Translation(form(span, "lambda", names, body), (), (), span)
