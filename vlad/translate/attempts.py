"""Attempts, which handlers.py makes of `try` → syntax.

In: the nodes for what is attempted, and for the value or exception it leads to.  Out: `%attempt` of the language, whose result
is (#t . value), or that it failed with (raised . error).
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from vlad.reader.parser import Form, Syntax
from vlad.translate.changes import Rest
from vlad.translate.exceptions import is_exception
from vlad.translate.expressions import END, NONE, Scope
from vlad.translate.names import bound_in
from vlad.translate.nodes import Again, Attempted, Caught, HandedBack, Outcome
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

    def attempted_change(
        self, node: ast.stmt, scope: Scope, rest: Rest, emit: Callable[[Scope, Rest], Syntax]
    ) -> Syntax:
        """The attempt to change values in place within `try`; the names keep the values that they had if it raises."""
        span, own = self.span(node), node.attempted_as  # type: ignore[attr-defined]  # of what is attempted
        changed, tried = bound_in([node]), name(self.own_name(own), span)

        def values(scope: Scope) -> Syntax:
            return form(span, "cons*", *[name(scope.names[one], span) for one in changed], quoted(END, span))

        unused = Form((name(self.fresh("unused"), span),), None, span)
        body = form(span, "lambda", unused, emit(scope, Rest(values, is_small=True)))
        left: Syntax = form(span, "cdr", tried)
        bindings = [(tried, form(span, "%attempt", body))]
        for one in changed:
            before = name(scope.names[one], span) if one in scope.names else quoted(NONE, span)
            value = form(span, "if", form(span, "%failed?", tried), before, form(span, "car", left))
            bindings.append((name(self.own_name(one), span), value))
            left = form(span, "cdr", left)
        scope = scope.bind(own, self.own_name(own))
        for one in changed:
            is_certain = one in scope.names and one not in scope.maybe
            scope = scope.bind(one, self.own_name(one))
            if not is_certain:
                scope = Scope(scope.names, scope.maybe | {one}, scope.known)
        return self.bound(bindings, rest.emit(scope), span)

    def _outcome(self, node: Outcome, scope: Scope) -> Syntax:
        return form(self.span(node), "cdr", self.expression(node.attempt, scope))

    def _handedback(self, node: HandedBack, scope: Scope) -> Syntax:
        return form(self.span(node), "%py-handed-back", self.expression(node.result, scope))

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
