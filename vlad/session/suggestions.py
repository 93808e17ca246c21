"""What a session adds to an error: at least the place of the form, and hints from the names of the program.

In: an error of an evaluation, and the form being evaluated.  Out: the same error, made clearer by messages/hints.py. Called by
top_level.py for all evaluations, by session.py for calls, and by programs.py for checked programs.
"""

from __future__ import annotations

from contextlib import suppress

from vlad.data.errors import VladError
from vlad.data.source import Span, in_library, in_stdlib, is_internal
from vlad.data.values import NIL, Backtrace, is_procedure, look
from vlad.evaluate.limits import deep_recursion
from vlad.evaluate.machine import Machine
from vlad.expand.arity import Signature, Usage, signature
from vlad.expand.forms import KEYWORDS, visible_names
from vlad.expand.scope import Module
from vlad.messages.hints import (
    as_in_python,
    attribute_to_library,
    clarify,
    describe_number,
    hint_to_import,
    show_call,
)
from vlad.primitives.table import PROCEDURES, TABLE
from vlad.python.procedure_docs import code_of
from vlad.reader.parser import read_parts
from vlad.session.library import Library


def known_names(module: Module, library: Library) -> set[str]:
    """Every name that a program may use in a module."""
    rows = {name for name, row in TABLE.items() if not row.hidden}
    defined = {name for name, cell in module.cells.items() if hasattr(cell, "value")}
    public = {name for name in library.names() if not is_internal(name)}
    return rows | set(PROCEDURES) | public | {"J"} | defined


class Suggestions:
    """For errors of programs in a module."""

    def __init__(self, machine: Machine, module: Module, library: Library) -> None:
        self.machine = machine
        self.module = module
        self.library = library

    def suggest(self, error: VladError, span: Span | None = None) -> None:
        """Give an error at least the form's position, and an unbound variable the nearest known name."""
        if span is not None and (error.span in (None, error.entered) or in_library(error.span)):
            if error.span is not None and in_stdlib(error.span) and not error.backtrace:
                error.backtrace.append(Backtrace("the library", error.span))
            error.span = span
        if error.span is not None and error.span.source.is_python:
            as_in_python(error)
        if error.code == "not-a-procedure" or (error.code == "unbound-variable" and error.hint is None):
            known = known_names(self.module, self.library) | self.module.macros.keys()
            clarify(error, known, KEYWORDS, self._means_something, self._visible)
            if error.code == "unbound-variable" and error.name is not None:
                module = self.library.exporting(error.name)
                error.hint = error.hint if module is None else hint_to_import(error.name, module)
        elif error.code in ("invalid-argument", "bundle-do-not-conform"):
            attribute_to_library(error, self._is_of_library)
        is_counted = describe_number(error, self._signature_of, self._usage_of)
        show_call(error, self._usage_of, is_counted)
        if span is not None:
            error.lead_here("the top level", span)

    def _visible(self, place: Span) -> set[str]:
        """The names that have a meaning at a place of a text, beside those of the module."""
        found = set[str]()
        if type(place) is Span:  # not what a macro made
            forms, _ = read_parts(place.source)
            with suppress(VladError), deep_recursion(self.machine.limits.depth):
                found = self.machine.guarded(lambda: visible_names(forms, self.module, place))
        return found

    def _means_something(self, name: str) -> bool:
        return (
            name in KEYWORDS
            or self.module.macro(name) is not None
            or hasattr(self.module.cell(name), "value")
        )

    def _is_of_library(self, name: str) -> bool:
        return self.module.is_inherited(name) and self.library.definition(name) is not None

    def _signature_of(self, name: str) -> Signature | None:
        """The signature of a primitive or a procedure of the library; None for other names."""
        cell = self.module.lookup(name) if self.module.is_inherited(name) else None
        value = look(getattr(cell, "value", NIL))
        return signature(self.machine, code_of(value)) if is_procedure(value) else None

    def _usage_of(self, name: str) -> Usage | None:
        """The call in the doc comment of a procedure of the library; None for other names."""
        return self.library.usage(name) if self._is_of_library(name) else None
