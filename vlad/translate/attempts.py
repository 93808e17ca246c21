"""Attempts, which handlers.py makes of `try` → syntax.

In: the nodes for what is attempted, and for the value or exception it leads to.  Out: `%attempt` of the language, whose result
is (#t . value), or that it failed with (raised . error).
"""

from __future__ import annotations

import ast
import builtins
from abc import abstractmethod
from collections.abc import Sequence

from vlad.data.raised import RAISED
from vlad.reader.parser import Form, Syntax
from vlad.translate.changes import Rest
from vlad.translate.expressions import NONE, Scope
from vlad.translate.nodes import Again, Attempted, Caught, Outcome
from vlad.translate.packing import Packing
from vlad.translate.syntax import form, name, quoted

_ANY = (Exception, BaseException)


def _classes_of(kind: type) -> dict[str, None]:
    """The names of the classes that a handler of one takes; NumPy's LinAlgError is a ValueError."""
    found = {name: None for name in RAISED if issubclass(getattr(builtins, name), kind)}
    return found | ({"LinAlgError": None} if issubclass(ValueError, kind) else {})


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
        names: dict[str, None] = {}
        for one in node.kinds:
            kind = self.object_of(one, scope)
            if kind in _ANY:
                return form(span, "not", form(span, "%python-refusal?", raised))
            if isinstance(kind, type) and kind.__name__ == "LinAlgError":
                names["LinAlgError"] = None
            elif isinstance(kind, type) and kind.__name__ in RAISED and kind.__module__ == "builtins":
                names.update(_classes_of(kind))
            else:
                hint = f"there are {', '.join(sorted(RAISED))}, and NumPy's LinAlgError"
                raise self.refuse(f"a handler of {ast.unparse(one)}", one, hint)
        found = name(self.fresh("class"), span)
        tests = [form(span, "eq?", found, quoted(one, span)) for one in names]
        return self.let([(found, form(span, "%py-class-of-raised", raised))], form(span, "or", *tests), span)

    def raised_again(self, node: Again, scope: Scope) -> Syntax:
        span = self.span(node)
        attempt = self.expression(node.attempt, scope)
        both = form(span, "%failed-field-1", attempt)
        return form(span, "%raise-again", form(span, "car", both), form(span, "cdr", both))
