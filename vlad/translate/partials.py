"""`functools.partial`: in calls, as a value outside, and of functions inside.

In: partial objects of Python's, and calls that make one.  Out: calls with all arguments, and lambdas of those that are missing.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from vlad.reader.parser import Form, Syntax
from vlad.translate.arguments import POSITIONAL, signature_in_text
from vlad.translate.exceptions import Exceptions
from vlad.translate.expressions import Scope
from vlad.translate.module_calls import partial_of_known
from vlad.translate.nodes import at
from vlad.translate.records import Given
from vlad.translate.signatures import signature_of
from vlad.translate.syntax import form, is_atom, name


class Partials(Exceptions):
    """The part of a translation that is about partial functions."""

    def partial_call(self, node: ast.Call, value: functools.partial[Any], scope: Scope) -> Syntax:
        """A call of a partial function outside."""
        self.expect_plain(node)
        given, (placed, named) = self.given(node, scope), self._given_before(value, node)
        callee, signature = self._completed(value.func, node)
        operands = self.in_order(node, signature, ([*placed, *given[0]], {**named, **given[1]}))
        return form(self.span(node), callee, *operands)

    def partial_value(self, value: functools.partial[Any], node: ast.expr) -> Syntax:
        """A partial function outside, as a value."""
        callee, signature = self._completed(value.func, node)
        return self._of_missing(callee, signature, self._given_before(value, node), node)

    def made_partial(self, node: ast.Call, scope: Scope) -> Syntax:
        """A call of `functools.partial`."""
        self.expect_plain(node)
        if not node.args:
            raise self.refuse("this call of partial", node, "it takes a function and arguments")
        first, span = node.args[0], self.span(node)
        own = (scope.known or {}).get(first.id) if isinstance(first, ast.Name) else None
        value = self.object_of(first, scope)
        if own is not None:
            assert isinstance(first, ast.Name)
            callee, signature = self.variable(first, scope), signature_in_text(own)
        elif signature_of(value) is not None:
            callee, signature = self._completed(value, first)
        else:
            return partial_of_known(self, node, scope)
        given = (
            self.operands(node.args[1:], scope),
            {str(one.arg): self.expression(one.value, scope) for one in node.keywords},
        )
        bindings = []
        kept: list[Syntax] = []
        for one in (*given[0], *given[1].values()):
            kept.append(one if is_atom(one) else name(self.fresh("given"), span))
            if kept[-1] is not one:
                bindings.append((kept[-1], one))
        count = len(given[0])
        fixed = kept[:count], dict(zip(given[1], kept[count:], strict=True))
        return self.bound(bindings, self._of_missing(callee, signature, fixed, node), span)

    def partial_lambda(self, node: ast.expr, scope: Scope) -> ast.Lambda | None:
        """A lambda with the parameters that a partial function takes as a value; None for another expression."""
        if not isinstance(node, ast.Call) or self.object_of(node.func, scope) is not functools.partial:
            return None
        first = node.args[0] if node.args else node
        own = (scope.known or {}).get(first.id) if isinstance(first, ast.Name) else None
        if own is None and isinstance(first, ast.Lambda):
            own = first
        signature = signature_of(self.object_of(first, scope)) if own is None else signature_in_text(own)
        if signature is None:
            return None
        missing = _missing(signature, (node.args[1:], {str(one.arg): one.value for one in node.keywords}))
        parameters = [at(ast.arg(one.name), node) for one in missing]
        taken = ast.arguments([], parameters, None, [], [], None, [])
        found: ast.Lambda = at(ast.Lambda(taken, at(ast.Constant(None), node)), node)
        return found

    def _completed(self, function: Any, node: ast.expr) -> tuple[Syntax, inspect.Signature]:
        signature = signature_of(function)
        if signature is None:
            raise self.refuse("partial of this function", node, "write a lambda of the other arguments")
        span = self.span(node)
        return name(self.outside.cell(function, function.__name__, span), span), signature

    def _given_before(self, value: functools.partial[Any], node: ast.AST) -> Given:
        return [self.value_of(one, "partial", node) for one in value.args], {
            key: self.value_of(one, key, node) for key, one in value.keywords.items()
        }

    def _of_missing(
        self, callee: Syntax, signature: inspect.Signature, given: Given, node: ast.expr
    ) -> Syntax:
        """A lambda of the arguments by place that are still missing."""
        span = self.span(node)
        missing = _missing(signature, given)
        if any(one.kind is one.VAR_POSITIONAL for one in signature.parameters.values()):
            hint = "write a lambda that calls it, or assign it to a name once, and call that"
            raise self.refuse("a partial function of any number of arguments as a value", node, hint)
        names = [name(self.fresh(one.name), span) for one in missing]
        by_name = {one.name: own for one, own in zip(missing, names, strict=True)}
        call = ast.copy_location(ast.Call(node, [], []), node)
        operands = self.in_order(call, signature, (given[0], {**given[1], **by_name}))
        return form(span, "lambda", Form(tuple(names), None, span), form(span, callee, *operands))


def _missing(
    signature: inspect.Signature, given: tuple[Sequence[Any], Mapping[str, Any]]
) -> list[inspect.Parameter]:
    """The parameters by place that have no value yet."""
    bound = signature.bind_partial(*given[0], **given[1]).arguments
    return [
        one for one in signature.parameters.values()
        if one.name not in bound and one.default is one.empty and one.kind in POSITIONAL
    ]  # fmt: skip
