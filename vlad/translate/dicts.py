"""Dicts: displays, comprehensions, keys and their methods.

In: expressions about dicts.  Out: syntax. stdlib/python-structures.vlad has what a dict is in the language: a key that the text
of the function has is a symbol there, so that the compiler knows its place.
"""

from __future__ import annotations

import ast
from typing import TypeGuard

from vlad.reader.parser import Syntax
from vlad.translate.expressions import Scope
from vlad.translate.iterations import Iteration
from vlad.translate.syntax import empty_list, form, name, quoted
from vlad.translate.turns import Turns

DICT, RESERVED = "%dict", "%"  # what a dict begins with; what no key begins with
# The methods that only read a dict, by their numbers of arguments; `update` is a statement.
DICT_METHODS = {
    "get": {1: "%py-get", 2: "%py-get-or"}, "keys": {0: "%py-keys"}, "values": {0: "%py-values"},
    "items": {0: "%py-entries"},
}  # fmt: skip
VIEWS = ("keys", "values", "items")


class _View(ast.Call):
    func: ast.Attribute


def is_view(node: ast.expr) -> TypeGuard[_View]:
    """Is it `d.items()` or its kin?"""
    match node:
        case ast.Call(func=ast.Attribute(attr=method), args=[], keywords=[]):
            return method in VIEWS
    return False


class Dicts(Turns):
    """The part of a translation that is about dicts."""

    def index(self, node: ast.expr, scope: Scope) -> Syntax:
        """An index, or a key."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value.startswith(RESERVED):
                raise self.refuse("this key", node, f"the text of a key does not begin with {RESERVED}")
            return quoted(node.value, self.span(node))
        return self.expression(node, scope)

    def _key(self, node: ast.expr, scope: Scope) -> Syntax:
        """A key of a dict that is made."""
        found = self.index(node, scope)
        is_certain = isinstance(node, ast.Constant) and isinstance(node.value, str | float | int)
        return found if is_certain else form(self.span(node), "%py-key", found)

    def _dict(self, node: ast.Dict, scope: Scope) -> Syntax:
        span = self.span(node)
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        if len(set(keys)) == len(keys) and all(isinstance(key, str) for key in keys):
            pairs = [
                form(self.span(value), "cons", self._key(key, scope), self.expression(value, scope))
                for key, value in zip(node.keys, node.values, strict=True)
                if key is not None
            ]
            if not pairs:
                return form(span, "quote", form(span, DICT))
            return form(span, "list", quoted(DICT, span), *pairs)
        bindings: list[tuple[Syntax, Syntax]] = []
        result: Syntax = form(span, "quote", form(span, DICT))
        for key, value in zip(node.keys, node.values, strict=True):
            kept = name(self.fresh("value"), span)
            if key is None:  # `**value`
                bindings.append((kept, self.expression(value, scope)))
                result = form(self.span(value), "%py-updated", result, kept)
                continue
            own_key = name(self.fresh("key"), span)
            bindings += [(own_key, self._key(key, scope)), (kept, self.expression(value, scope))]
            result = form(self.span(value), "%py-dict-with", result, own_key, kept)
        return self.bound(bindings, result, span)

    def _dictcomp(self, node: ast.DictComp, scope: Scope) -> Syntax:
        span, so_far = self.span(node), self.fresh("items")

        def added(scope: Scope) -> Syntax:
            key, value = self.expression(node.key, scope), self.expression(node.value, scope)
            return form(span, "cons", form(span, "cons", key, value), name(so_far, span))

        turns = self._turns(node.generators, scope, so_far, empty_list(span), added)
        return form(span, "%py-collected-dict", turns)

    def made_dict(self, node: ast.Call, scope: Scope) -> Syntax:
        """A call of `dict`."""
        span = self.span(node)
        if len(node.args) > 1 or any(isinstance(one, ast.Starred) for one in node.args):
            raise self.refuse(
                "this call of dict", node, "it takes a dict or a list of pairs, and values by name"
            )
        keys: list[ast.expr | None] = [
            None if one.arg is None else ast.copy_location(ast.Constant(one.arg), one)
            for one in node.keywords
        ]
        named = ast.copy_location(ast.Dict(keys, [one.value for one in node.keywords]), node)
        if not node.args:
            return self._dict(named, scope)
        first = node.args[0]
        given = (
            self.listed(first, scope)
            if isinstance(first, ast.GeneratorExp)
            else self.expression(first, scope)
        )
        made = form(span, "%py-dict", given)
        return form(span, "%py-updated", made, self._dict(named, scope)) if keys else made

    def updated(self, node: ast.Call, before: Syntax, scope: Scope) -> Syntax:
        """The dict after a call of `update`."""
        span = self.span(node)
        if len(node.args) + len(node.keywords) == 0:
            return form(span, "%py-updated", before, form(span, "%py-no-dict"))
        return form(span, "%py-updated", before, self.made_dict(node, scope))

    def view(self, node: _View, scope: Scope) -> Iteration:
        """What a loop over `d.items()` or its kin goes through: the pairs themselves."""
        span, rest = self.span(node), self.fresh("rest")
        variable = name(rest, span)
        pairs = form(span, "%py-pairs", self.expression(node.func.value, scope))
        pair = form(span, "car", variable)
        parts = {
            "keys": form(span, "%py-key-value", form(span, "car", pair)),
            "values": form(span, "cdr", pair),
        }
        value = (parts["keys"], parts["values"]) if node.func.attr == "items" else parts[node.func.attr]
        return Iteration(
            (), ((rest, pairs),), (form(span, "pair?", variable),), value, (form(span, "cdr", variable),)
        )  # fmt: skip
