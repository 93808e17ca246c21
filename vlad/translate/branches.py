"""`if` of Python's → `if`, and the values that leave a statement.

In: a branch, and what follows it.  Out: a branch that assigns returns the assigned values, which are bound around what follows.
Where an arm may end the function or a loop around it, what follows is a procedure that arms call.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from vlad.data.source import Span
from vlad.reader.parser import Form, Syntax
from vlad.translate.assignments import Assignments
from vlad.translate.changes import Rest
from vlad.translate.expressions import NONE, Scope
from vlad.translate.names import (
    bound_at_end,
    bound_in,
    captured_in,
    falls,
    jumps,
)
from vlad.translate.syntax import form, name, quoted


class Branches(Assignments):
    """The part of a translation that is about branches."""

    def _do_if(self, node: ast.If, scope: Scope, rest: Rest) -> Syntax:
        span = self.span(node)
        both, outer = (node.body, node.orelse), scope

        def branches(after: Rest) -> Syntax:
            yes, no = [lambda scope, arm=arm: self.block(arm, scope, after) for arm in both]
            return self.chosen(node.test, outer, yes, no, span)

        for one in captured_in(node.test):  # it may be assigned when an arm begins
            if one not in scope.names:
                scope = scope.bind(one, self.own_name(one))
                scope = Scope(scope.names, scope.maybe | {one}, scope.known)

        falling = [falls(arm) for arm in both]
        if rest.is_small or not all(falling):
            return branches(rest)
        changed = self._changed_names(node)
        if not any(jumps(arm) for arm in both):
            values, within = self._merged(
                node, changed, [self._scope_after(arm, scope) for arm in both], scope
            )
            return self._received(values, branches, rest.emit(within), span)
        after = self.fresh("after")
        ends = [self._scope_after(arm, scope) for arm in both]
        parameters_, within = self._merged(node, changed, ends, scope)
        call = Rest(lambda scope: form(span, after, *self.values(parameters_, scope, span)), is_small=True)
        pairs = Form(tuple([name(within.names[one], span) for one in parameters_]), None, span)
        procedure = form(span, "lambda", pairs, rest.emit(within))
        return self.let([(name(after, span), procedure)], branches(call), span)

    def _changed_names(self, node: ast.stmt) -> list[str]:
        """The names that a statement binds, and that are read after it."""
        live = self.inside.liveness.after[node]
        return [one for one in bound_in([node]) if one in live]

    def _scope_after(self, statements: Sequence[ast.stmt], scope: Scope) -> Scope:
        """The scope at the end of statements, as far as the names go that they bind."""
        certain, maybe = bound_at_end(statements)
        for one in certain | maybe:
            known = one in scope.names and one not in scope.maybe
            scope = scope.bind(one, scope.names.get(one, self.own_name(one)))
            if one not in certain and not known:
                scope = Scope(scope.names, scope.maybe | {one}, scope.known)
        return scope

    def _merged(
        self, node: ast.stmt, changed: list[str], ends: Sequence[Scope], scope: Scope
    ) -> tuple[list[str], Scope]:
        """The names whose values leave a statement, and the scope after it."""
        for one in changed:
            own = self.own_name(one)
            is_certain = all(one in end.names and one not in end.maybe for end in ends)
            scope = scope.bind(one, own)
            if not is_certain:
                scope = Scope(scope.names, scope.maybe | {one}, scope.known)
        return changed, scope

    def _received(
        self, names: Sequence[str], statement: Callable[[Rest], Syntax], following: Syntax, span: Span
    ) -> Syntax:
        """A statement that returns the values of names, which are bound around what follows."""

        def values(scope: Scope) -> Syntax:
            found = self.values(names, scope, span)
            if not found:
                return quoted(NONE, span)
            return found[0] if len(found) == 1 else form(span, "cons*", *found)

        value = statement(Rest(values, is_small=True))
        if not names:
            return form(span, "begin", value, following)
        own = [name(self.own_name(one), span) for one in names]
        return self.let([(own[0] if len(own) == 1 else form(span, "cons*", *own), value)], following, span)
