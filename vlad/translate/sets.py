"""Sets: displays, comprehensions, operators and methods.

In: expressions about sets.  Out: syntax. stdlib/python-sets.vlad has what a set is in the language. `-` may mean a set only where
sets are in use, as classes are (data/records.py); elsewhere the primitive stands.
"""

from __future__ import annotations

import ast

from vlad.data.records import OF_SETS, SETS
from vlad.reader.parser import Syntax
from vlad.translate.dicts import Dicts, is_view
from vlad.translate.expressions import OTHER, Scope
from vlad.translate.nodes import at
from vlad.translate.syntax import empty_list, form, name

# The methods that only read a set, by their numbers of arguments; those that change it are in changes.py.
SET_METHODS: dict[str, dict[int, str]] = {
    "union": {0: "%py-copy", 1: "%py-set-union"}, "intersection": {0: "%py-copy", 1: "%py-set-intersection"},
    "difference": {0: "%py-copy", 1: "%py-set-difference"}, "symmetric_difference": {1: "%py-set-symmetric"},
    "issubset": {1: "%py-method-subset?"}, "issuperset": {1: "%py-method-superset?"},
    "isdisjoint": {1: "%py-method-disjoint?"},
}  # fmt: skip
OF_ALL = {"union": "%py-united", "intersection": "%py-in-common"}  # as functions of the class
_OF_ANY_NUMBER = ("union", "intersection", "difference")


def one_by_one(node: ast.Call, method: ast.Attribute) -> ast.Call:
    """`s.union(a, b)` as `s.union(a).union(b)`; other calls as they are."""
    if method.attr not in _OF_ANY_NUMBER or len(node.args) < 2 or node.keywords:
        return node
    if any(isinstance(one, ast.Starred) for one in node.args):
        return node
    first = at(ast.Call(method, node.args[:-1], []), node)
    again = at(ast.Attribute(one_by_one(first, method), method.attr, ast.Load()), method)
    found: ast.Call = at(ast.Call(again, node.args[-1:], []), node)
    return found


class Sets(Dicts):
    """The part of a translation that is about sets."""

    def _set(self, node: ast.Set, scope: Scope) -> Syntax:
        self.outside.use(SETS)
        return form(self.span(node), "%py-set-of", self._list(node, scope))

    def _setcomp(self, node: ast.SetComp, scope: Scope) -> Syntax:
        self.outside.use(SETS)
        span, so_far = self.span(node), self.fresh("elements")

        def added(scope: Scope) -> Syntax:
            return form(span, "%py-with-element", name(so_far, span), self.expression(node.elt, scope))

        return self._turns(node.generators, scope, so_far, form(span, "%py-no-set"), added)

    def compared(self, node: ast.expr, scope: Scope) -> Syntax:
        return self._as_set(node, super().compared(node, scope))

    def operand(self, node: ast.expr, operator: ast.operator, scope: Scope) -> Syntax:
        return self._as_set(node, super().operand(node, operator, scope))

    def _as_set(self, node: ast.expr, value: Syntax) -> Syntax:
        """`d.keys()` and `d.items()` among operands, where they are sets."""
        if not is_view(node) or node.func.attr not in ("keys", "items") or self.with_name(node.func.attr):
            return value
        self.outside.use(SETS)
        return form(self.span(node), "%py-set", value)

    def has_other_result(self, node: ast.UnaryOp | ast.BinOp) -> bool:
        match node:
            case ast.BinOp(op=ast.Sub(), left=left, right=right) if self.with_name(OF_SETS):
                if self.kind(left) == self.kind(right) == OTHER:
                    return True
        return super().has_other_result(node)

    def binary(
        self, operator: ast.operator, left: Syntax, right: Syntax, kinds: tuple[int, int], node: ast.AST
    ) -> Syntax:
        if isinstance(operator, ast.Sub) and max(kinds) == OTHER and self.with_name(OF_SETS):
            return form(self.span(node), "%py-subtract", left, right)
        return super().binary(operator, left, right, kinds, node)

    def updated(self, node: ast.Call, before: Syntax, scope: Scope) -> Syntax:
        """A set, or a dict, after a call of `update`."""
        is_plain = not node.keywords and not any(isinstance(one, ast.Starred) for one in node.args)
        if not is_plain or not node.args:
            return super().updated(node, before, scope)
        span = self.span(node)
        if len(node.args) == 1:
            return form(span, "%py-updated-by", before, self.argument(node.args[0], scope))
        for one in node.args:
            before = form(span, "%py-set-updated", before, self.argument(one, scope))
        return before

    def of_all(self, node: ast.Call, method: str, scope: Scope) -> Syntax:
        """`set.union(a, b)` and `set.union(*sets)`."""
        items = self._spread(node.args, empty_list(self.span(node)), scope)
        return form(self.span(node), OF_ALL[method], items)
