"""Assignments of Python's → `let` around what follows.

In: a statement that assigns, in all of its forms.  Out: bindings of names; items are changed as changes.py says.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from vlad.reader.parser import Form, Syntax
from vlad.translate.changes import Rest
from vlad.translate.expressions import OTHER, REAL, Scope
from vlad.translate.generators import Generators
from vlad.translate.inside import handed_back
from vlad.translate.names import (
    free_in,
    is_pop,
)
from vlad.translate.nodes import Handed
from vlad.translate.syntax import form, name


def given_as(call: ast.Call, own: str) -> ast.expr | None:
    """The argument that a call is given for a variable of that name (nonlocals.py), the first such."""
    return next((one for one in call.args if isinstance(one, ast.Name) and one.id == own), None)


class Assignments(Generators):
    """The part of a translation that is about assignments."""

    def _do_assign(self, node: ast.Assign, scope: Scope, rest: Rest) -> Syntax:
        span = self.span(node)
        (first, *others), value = node.targets, node.value
        if handed_back(node):
            self._expect_handed_back(node)
        if isinstance(value, Handed):
            return self.handed(node.targets, value, scope, rest, node)
        if is_pop(value) and isinstance(value, ast.Call):
            return self.pop(node.targets, value, scope, rest, node)
        if others and not all(isinstance(one, ast.Name) for one in node.targets):
            return self._set_each(node, scope, rest)
        if isinstance(first, ast.Subscript):
            return self.set_item(first, self.expression(value, scope), scope, rest, node)
        if (
            not others
            and isinstance(first, ast.Tuple)
            and isinstance(value, ast.Tuple)
            and len(first.elts) == len(value.elts)
        ):
            names = [one for one in first.elts if isinstance(one, ast.Name)]
            if len({one.id for one in names}) == len(first.elts) and not any(
                isinstance(one, ast.Starred) for one in value.elts
            ):
                values = self.operands(value.elts, scope)
                parallel: list[tuple[Syntax, Syntax]] = []
                for one, part in zip(names, values, strict=True):
                    parallel.append((name(self.own_name(one.id), self.span(one)), part))
                    scope = scope.bind(one.id, self.own_name(one.id))
                return self.let(parallel, rest.emit(scope), span)
        if (
            not others
            and isinstance(first, ast.Tuple)
            and any(isinstance(one, ast.Subscript) for one in first.elts)
        ):
            return self._set_several(first, value, scope, rest, node)
        if isinstance(first, ast.Name) and isinstance(value, ast.Lambda):
            self.expect_not_kept(first.id, value)
        if (
            isinstance(first, ast.Name)
            and isinstance(value, ast.Lambda)
            and first.id in free_in(value)
            and not others
        ):
            own = self.own_name(first.id)  # it calls itself
            scope = scope.bind(first.id, own).knowing(first.id, value)
            pair = Form((name(own, span), self.procedure(value, scope)), None, span)
            return form(span, "letrec", Form((pair,), None, span), rest.emit(scope))
        consumes = isinstance(first, ast.Tuple | ast.List)
        given_ = self.argument(value, scope) if consumes else self.expression(value, scope)
        bindings, within = self.turn_bindings(first, given_, scope)
        for other in others:
            given = bindings[0][0]
            more, within = self.turn_bindings(other, given, within)
            bindings += more
        function = value if isinstance(value, ast.Lambda) else self.partial_lambda(value, scope)
        if isinstance(first, ast.Name) and function is not None:
            within = within.knowing(first.id, function)
        return self.bound(bindings, rest.emit(within), span)

    def _expect_handed_back(self, node: ast.Assign) -> None:
        """Raise VladError if something else may see the values that a function inside changes in place."""
        call = node.value.call if isinstance(node.value, Handed) else node.value
        assert isinstance(call, ast.Call)
        function = self._function_inside(call.func)
        given = [*call.args, *[one.value for one in call.keywords]]
        for own in handed_back(node):
            others = [one for one in given if one is not given_as(call, own)]
            is_kept = function is None or own in self._effect_inside(function).kept
            if is_kept or any(self._may_have(one, own) for one in others):
                what = f"a call of {ast.unparse(call.func)} here, which changes {own}"
                raise self.refuse(
                    what, call, f"something else may have the value of {own}: return the new value"
                )

    def _set_each(self, node: ast.Assign, scope: Scope, rest: Rest) -> Syntax:
        """Several targets that get one value: `xs[i] = y = e`."""
        span = self.span(node)
        value, given = name(self.fresh("value"), span), self.expression(node.value, scope)
        return self.let(
            [(value, given)],
            self.assigned(node.targets, [value] * len(node.targets), scope, rest, node),
            span,
        )

    def assigned(
        self,
        targets: Sequence[ast.expr],
        values: Sequence[Syntax],
        scope: Scope,
        rest: Rest,
        node: ast.stmt,
    ) -> Syntax:
        """Names and items that get values, one after the other."""
        if not targets:
            return rest.emit(scope)
        (first, *others), (value, *more) = targets, values
        following = Rest(lambda scope: self.assigned(others, more, scope, rest, node))
        if isinstance(first, ast.Subscript):
            return self.set_item(first, value, scope, following, node)
        bindings, within = self.turn_bindings(first, value, scope)
        return self.bound(bindings, following.emit(within), self.span(node))

    def _set_several(
        self, target: ast.Tuple, value: ast.expr, scope: Scope, rest: Rest, node: ast.Assign
    ) -> Syntax:
        """Items and names that get values at once: `xs[i], xs[j] = xs[j], xs[i]`."""
        span = self.span(node)
        if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
            raise self.refuse("several targets with an index", node, "assign one after the other")
        values = [name(self.fresh("value"), span) for _ in target.elts]
        pairs: list[tuple[Syntax, Syntax]] = list(zip(values, self.operands(value.elts, scope), strict=True))
        return self.let(pairs, self.assigned(target.elts, values, scope, rest, node), span)

    def _do_annassign(self, node: ast.AnnAssign, scope: Scope, rest: Rest) -> Syntax:
        if node.value is None:
            return rest.emit(scope)
        if not isinstance(node.target, ast.Name):
            raise self.refuse("this target", node, "annotate names")
        bindings, within = self.turn_bindings(node.target, self.expression(node.value, scope), scope)
        return self.bound(bindings, rest.emit(within), self.span(node))

    def _do_augassign(self, node: ast.AugAssign, scope: Scope, rest: Rest) -> Syntax:
        span = self.span(node)
        if isinstance(node.target, ast.Subscript):
            return self.set_increased(node, scope, rest)
        if not isinstance(node.target, ast.Name):
            raise self.refuse("this target", node, "assign to names")
        reads = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        kinds = self.kind(reads), self.kind(node.value)
        left, right = self.variable(reads, scope), self.operand(node.value, node.op, scope)
        if kinds[0] != REAL and node.target.id in self.inside.names:
            self.expect_no_default(node.target.id, node)
        is_shared = node.target.id not in self.inside.names
        if kinds[0] != REAL and not is_shared:
            shared = self.inside.sharing(node.target.id, self.keeps_nothing_of)
            is_shared = any(self.is_before(one, node, node.target.id) for one in shared)
            if is_shared:
                left = form(span, "%py-own", left)
            if self.is_gone_through(node.target.id, node):
                is_shared = True
                if not isinstance(node.op, ast.Add):
                    left = form(span, "%py-steady", left)
        if isinstance(node.op, ast.Add) and max(kinds) == OTHER:
            value: Syntax = self.operated(
                node.op,
                left,
                right,
                kinds,
                node,
                lambda left, right: form(
                    span, "%py-increased" if is_shared else "%py-extended-or-added", left, right
                ),
            )
        else:
            if isinstance(node.op, ast.Mult) and kinds[0] == OTHER:
                left = form(span, "%py-unchanged-by-repetition", left)
            value = self.binary(node.op, left, right, kinds, node)
        if kinds[0] != REAL:
            value = form(span, "%py-in-place", self.variable(reads, scope), value)
        bindings, within = self.turn_bindings(node.target, value, scope)
        return self.bound(bindings, rest.emit(within), span)
