"""Attempts, which handlers.py makes of `try` → syntax.

In: the nodes for what is attempted, and for the value or exception it leads to.  Out: `%attempt` of the language, whose result
is (#t . value) or (#f . (raised . error)).
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Sequence

from vlad.data.raised import RAISED
from vlad.reader.parser import Form, Syntax
from vlad.translate.changes import Rest
from vlad.translate.expressions import NONE, Scope
from vlad.translate.nodes import Again, Attempted, Caught, Outcome
from vlad.translate.packing import Packing
from vlad.translate.syntax import form, name, quoted, string

_ANY = (Exception, BaseException)


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
        raised = form(span, "cadr", self.expression(node.attempt, scope))
        tests = []
        for one in node.kinds:
            kind = self.object_of(one, scope)
            if kind in _ANY:
                return form(span, "not", form(span, "%python-refusal?", raised))
            is_known = isinstance(kind, type) and (
                (kind.__name__ in RAISED and kind.__module__ == "builtins") or kind.__name__ == "LinAlgError"
            )
            if not is_known:
                hint = f"there are {', '.join(sorted(RAISED))}, and NumPy's LinAlgError"
                raise self.refuse(f"a handler of {ast.unparse(one)}", one, hint)
            tests.append(form(span, "%py-caught?", raised, string(kind.__name__, self.span(one))))
        return tests[0] if len(tests) == 1 else form(span, "or", *tests)

    def raised_again(self, node: Again, scope: Scope) -> Syntax:
        span = self.span(node)
        attempt = self.expression(node.attempt, scope)
        return form(span, "%raise-again", form(span, "cadr", attempt), form(span, "cddr", attempt))
