"""Attempts, which handlers.py makes of `try` → syntax.

In: the nodes for what is attempted, and for the value or exception it leads to.  Out: `%attempt` of the language, whose result
is (#t . value), or that it failed with (raised . error).
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from vlad.reader.parser import Form, Syntax
from vlad.translate.changes import Rest
from vlad.translate.exceptions import is_exception
from vlad.translate.expressions import NONE, Scope
from vlad.translate.nodes import Again, Attempted, Caught, Outcome
from vlad.translate.packing import Packing
from vlad.translate.syntax import form, name, quoted


class Attempts(Packing):
    """The part of a translation that is about exceptions that are caught."""

    @abstractmethod
    def block(self, statements: Sequence[ast.stmt], scope: Scope, rest: Rest) -> Syntax:
        """Statements, and what follows them."""

    def _attempted(self, node: Attempted, scope: Scope) -> Syntax:
        span = self.span(node)
        if isinstance(node.value, ast.stmt):
            body = self.block([node.value], scope, Rest(lambda _: quoted(NONE, span), is_small=True))
        else:
            body = self.expression(node.value, scope)
        unused = Form((name(self.fresh("unused"), span),), None, span)
        return form(span, "%attempt", form(span, "lambda", unused, body))

    def _outcome(self, node: Outcome, scope: Scope) -> Syntax:
        return form(self.span(node), "cdr", self.expression(node.attempt, scope))

    def _caught(self, node: Caught, scope: Scope) -> Syntax:
        span = self.span(node)
        raised = form(span, "%py-raised", self.expression(node.attempt, scope))
        names: dict[str, None] | None = {}
        for one, kind in self._kinds_of(node.kinds, scope):
            if not is_exception(kind):
                raise self.refuse(f"a handler of {ast.unparse(one)}", one, "it takes classes of exceptions")
            found = self.classes_of(kind, one)
            names = None if found is None or names is None else names | dict.fromkeys(found)
        return self.is_of_classes(raised, None if names is None else list(names), span)

    def _kinds_of(self, nodes: Sequence[ast.expr], scope: Scope) -> Iterator[tuple[ast.expr, Any]]:
        """The classes of a handler; a name may have a tuple of them."""
        for one in nodes:
            found = self.object_of(one, scope)
            for kind in found if isinstance(found, tuple) else [found]:
                yield one, kind

    def raised_again(self, node: Again, scope: Scope) -> Syntax:
        span = self.span(node)
        attempt = self.expression(node.attempt, scope)
        both = form(span, "%failed-field-1", attempt)
        return form(span, "%raise-again", form(span, "car", both), form(span, "cdr", both))
