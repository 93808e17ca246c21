"""Generator functions, which are consumed where they are called.

In: the versions of functions with `yield` (versions.py), and their calls.  Out: syntax. Where a loop, or what is called, goes
through all items, the function collects them in a list. Elsewhere it runs no further than its consumer reads, as in Python: it
returns a stream (stdlib/python-generators.vlad), by continuations. A generator is no value, as reading one changes it.
"""

from __future__ import annotations

import ast
import inspect
import math
from types import FunctionType
from typing import Any

from vlad.reader.parser import Form, Syntax
from vlad.translate.arguments import signature_in_text
from vlad.translate.changes import Rest
from vlad.translate.effects import written
from vlad.translate.expressions import NONE, NOWHERE, Scope
from vlad.translate.handing import Handing
from vlad.translate.iterations import Iteration, listed
from vlad.translate.nodes import at, name_at
from vlad.translate.reads import MISSING
from vlad.translate.signatures import own_signature
from vlad.translate.syntax import form, name, quoted
from vlad.translate.trees import nodes_in
from vlad.translate.versions import LAZILY, is_version, lazy_name

# Functions that read all items of their first argument; and such methods.
_CONSUMERS: tuple[Any, ...] = (list, tuple, set, frozenset, dict, sum, min, max, sorted, math.fsum, math.prod)
_CONSUMING = ("join", "extend", "update")
_LEAVING = (ast.Break, ast.Return, ast.Raise, ast.Assert, ast.Yield)


class Generators(Handing):
    """The part of a translation that is about generators."""

    _yielding = ""  # in the lazy version of a generator: the procedure that takes the items

    def generator_of(self, node: ast.AST, scope: Scope) -> FunctionType | ast.FunctionDef | None:
        """The generator function that is called; None if it is no such call."""
        if not isinstance(node, ast.Call):
            return None
        if isinstance(node.func, ast.Name):
            own = (scope.known or {}).get(node.func.id)
            if own is not None:
                return own if isinstance(own, ast.FunctionDef) and is_version(own) else None
        value = self.object_of(node.func, scope)
        function = None if value is MISSING else written(value)
        return function if function is not None and inspect.isgeneratorfunction(function) else None

    def _call(self, node: ast.Call, scope: Scope) -> Syntax:
        if self.generator_of(node, scope) is not None and not self._is_consumed(node):
            hint = f"consume it at once: list({ast.unparse(node)}), or a loop over it"
            raise self.refuse("a generator as a value", node, hint)
        return super()._call(node, scope)

    def _is_consumed(self, node: ast.Call) -> bool:
        """Does what is around a call of a generator function read all items, before anything else happens?"""
        match self.inside.around.get(node):
            case ast.Call(func=function, args=[first, *_]) if first is node:
                is_method = isinstance(function, ast.Attribute) and function.attr in _CONSUMING
                return is_method or any(self.object_of(function, NOWHERE) is one for one in _CONSUMERS)
            case ast.Starred():
                return True
            case ast.Assign(targets=[ast.Tuple() | ast.List()], value=value):
                return value is node
            case ast.AugAssign(op=ast.Add(), value=value):
                return value is node
        return False

    def iteration(self, node: ast.expr, scope: Scope) -> Iteration:
        if not isinstance(node, ast.Call) or self.generator_of(node, scope) is None:
            return super().iteration(node, scope)
        span = self.span(node)
        if not self.reads_lazily and not self._may_leave(node):
            return listed(super()._call(node, scope), span, self.fresh)
        rest = self.fresh("rest")
        variable, stream = name(rest, span), self.stream(node, scope)
        assert stream is not None
        following = form(span, form(span, "cdr", variable))
        return Iteration(
            (), ((rest, stream),), (form(span, "pair?", variable),), form(span, "car", variable), (following,)
        )

    def _may_leave(self, node: ast.Call) -> bool:
        """May the loop over a generator end before the generator does, or does it show when items are made?"""
        one: ast.AST = node
        may_end = False
        while isinstance(around := self.inside.around.get(one), ast.Call):
            if self.object_of(around.func, NOWHERE) is zip:
                if around.args[0] is not one:
                    hint = "name it first: here it would run one item further than in Python"
                    raise self.refuse("a generator at this place of zip", node, hint)
                may_end = may_end or len(around.args) > 1
            one = around
        if isinstance(around, ast.For):
            return may_end or any(
                isinstance(each, _LEAVING) or self._prints(each) for each in nodes_in(around.body)
            )
        return may_end

    def _prints(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and self.object_of(node.func, NOWHERE) is print

    def stream(self, node: ast.expr, scope: Scope) -> Syntax | None:
        """The items of a call of a generator function, or of a generator expression, made one by one; None if it is neither."""
        function = self.generator_of(node, scope)
        if function is None:
            return super().stream(node, scope)
        assert isinstance(node, ast.Call)
        if isinstance(function, ast.FunctionDef):
            lazy = scope.names.get(lazy_name(function.name))
            if lazy is None:
                hint = "define it at the top of the function, or make a list of it"
                raise self.refuse("a generator of this place here", node, hint)
            callee: Syntax = name(lazy, self.span(node))
            return self.call_of(
                node,
                callee,
                signature_in_text(function),
                lambda one: self.expression(one.default, scope),
                scope,
            )
        cell = self.outside.cell(function, ast.unparse(node.func), self.span(node), handing=LAZILY)
        return self.call_of(
            node,
            name(cell, self.span(node)),
            own_signature(function),
            lambda one: self.value_of(one.default, one.name, node),
            scope,
        )

    def yielded(self, node: ast.Yield, scope: Scope, rest: Rest) -> Syntax:
        """A statement `yield`, and what follows."""
        span = self.span(node)
        item = quoted(NONE, span) if node.value is None else self.expression(node.value, scope)
        return form(span, "begin", form(span, self._yielding, item), rest.emit(scope))

    def generating(self, node: ast.FunctionDef, body: Syntax) -> Syntax:
        """The body of the lazy version of a generator function."""
        span = self.span(node)
        taking = form(span, "lambda", Form((name(self._yielding, span),), None, span), body)
        return form(span, "%py-generated", taking)

    def any_item(self, node: ast.Call, scope: Scope) -> ast.GeneratorExp | None:
        """`any(gen(n))` as `any(x for x in gen(n))`: the argument; None if it calls no generator function."""
        (items,) = node.args
        if self.generator_of(items, scope) is None:
            return None
        own = "the item read"
        turn = ast.comprehension(name_at(own, items, ast.Store()), items, [], 0)
        found: ast.GeneratorExp = at(ast.GeneratorExp(name_at(own, items), [turn]), items)
        return found
