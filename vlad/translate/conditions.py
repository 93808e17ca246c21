"""Conditions that assign: `:=` where it is not evaluated in any case, and what `match` captures.

In: a condition, and what follows it on either side.  Out: syntax, in which a name is bound on the ways on which it is assigned.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from vlad.data.source import Span
from vlad.reader.parser import Form, Syntax
from vlad.translate.desugar import lifted
from vlad.translate.expressions import TYPES, Emit, Scope
from vlad.translate.memos import Memos
from vlad.translate.names import captured_in
from vlad.translate.nodes import Capture, Positional
from vlad.translate.syntax import form, name, quoted


class Conditions(Memos):
    """The part of a translation that is about such conditions."""

    def values(self, names: Sequence[str], scope: Scope, span: Span) -> list[Syntax]:
        """The values of names, as they are."""
        return [
            name(scope.names[one], span) if one in scope.names else quoted("%unassigned", span)
            for one in names
        ]

    def chosen(self, test: ast.expr, scope: Scope, then: Emit, otherwise: Emit, span: Span) -> Syntax:
        captured = captured_in(test)
        if not captured:
            return form(span, "if", self.test(test, scope), then(scope), otherwise(scope))
        around: list[tuple[Syntax, Syntax]] = []
        if _ways(test, True) > 1:
            then = self._joined("then", then, captured, scope, span, around)
        if _ways(test, False) > 1:
            otherwise = self._joined("otherwise", otherwise, captured, scope, span, around)
        return self.bound(around, self._condition(test, scope, then, otherwise, span), span)

    def _joined(
        self,
        base: str,
        emit: Emit,
        captured: Sequence[str],
        scope: Scope,
        span: Span,
        around: list[tuple[Syntax, Syntax]],
    ) -> Emit:
        """A procedure of what several ways lead to, which takes the names that are assigned on them."""
        own = self.fresh(base)
        for one in captured:
            is_certain = one in scope.names and one not in scope.maybe
            scope = scope.bind(one, self.own_name(one))
            if not is_certain:
                scope = Scope(scope.names, scope.maybe | {one}, scope.known)
        parameters = Form(tuple([name(scope.names[one], span) for one in captured]), None, span)
        around.append((name(own, span), form(span, "lambda", parameters, emit(scope))))
        return lambda scope: form(span, own, *self.values(captured, scope, span))

    def _condition(self, test: ast.expr, scope: Scope, then: Emit, otherwise: Emit, span: Span) -> Syntax:
        match test:
            case ast.BoolOp(op=operator, values=[first, *others]) if others:
                rest = (
                    others[0] if len(others) == 1 else ast.copy_location(ast.BoolOp(operator, others), test)
                )

                def more(scope: Scope) -> Syntax:
                    return self._condition(rest, scope, then, otherwise, span)

                yes, no = (more, otherwise) if isinstance(operator, ast.And) else (then, more)
                return self._condition(first, scope, yes, no, span)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._condition(operand, scope, otherwise, then, span)
            case ast.NamedExpr(target=target, value=value):
                place = self.span(test)
                bindings, within = self.turn_bindings(target, self.expression(value, scope), scope)
                if isinstance(test, Capture):
                    return self.bound(bindings, then(within), place)
                truth = self.test(ast.copy_location(ast.Name(target.id, ast.Load()), target), within)
                return self.bound(bindings, form(place, "if", truth, then(within), otherwise(within)), place)
        before, test = lifted(test, self.refuse)
        bindings = []
        for one in before:
            more_bindings, scope = self.turn_bindings(
                one.targets[0], self.expression(one.value, scope), scope
            )
            bindings += more_bindings
        chosen = form(span, "if", self.test(test, scope), then(scope), otherwise(scope))
        return self.bound(bindings, chosen, span)

    def _positional(self, node: Positional, scope: Scope) -> Syntax:
        kind = self.object_of(node.kind, scope)
        if kind in TYPES and node.place == 0:
            return self.expression(node.subject, scope)
        names = getattr(kind, "__match_args__", ())
        if not isinstance(kind, type) or node.place >= len(names):
            raise self.refuse(
                "so many patterns by place", node, f"the class has {', '.join(names) or 'none'}"
            )
        attribute = ast.copy_location(ast.Attribute(node.subject, names[node.place], ast.Load()), node)
        return self.expression(attribute, scope)


def _ways(test: ast.expr, outcome: bool) -> int:
    """The number of ways on which a condition has an outcome."""
    match test:
        case ast.BoolOp(op=operator, values=values):
            counts = [_ways(one, outcome) for one in values]
            return counts[-1] if isinstance(operator, ast.And) is outcome else sum(counts)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _ways(operand, not outcome)
        case Capture():
            return int(outcome)
    return 1
