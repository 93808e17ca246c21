"""Functions that keep the results of their calls: those with a cache that call themselves.

In: such a function.  Out: the body of its lambda, around which a cell holds the table of its results, for as long as the function
around it runs, or for the outermost call of a function outside. The keys are the arguments: whole numbers, texts, truths, None
and tuples of them. They have no derivative, as two calls with the same key could have different ones; what the results depend on
else, has.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from vlad.data.source import Span
from vlad.reader.parser import Syntax
from vlad.translate.decorators import is_cache
from vlad.translate.effects import Effects
from vlad.translate.expressions import Scope
from vlad.translate.names import Function, arguments_of, free_in
from vlad.translate.nodes import at, name_at
from vlad.translate.syntax import form, name


def keeping(node: Function, own: str) -> ast.FunctionDef:
    """The tree of a function outside that calls the cache of itself by a name, as that of one whose function inside does."""
    assert isinstance(node, ast.FunctionDef)
    inner, outer = copy.deepcopy(node), node
    inner.name, inner.decorator_list = own, []
    inner.keeps = True  # type: ignore[attr-defined]  # of functions with a cache
    arguments = node.args
    by_place = [*arguments.posonlyargs, *arguments.args]
    given: list[ast.expr] = [name_at(one.arg, one) for one in by_place]
    if arguments.vararg is not None:
        given.append(at(ast.Starred(name_at(arguments.vararg.arg, node), ast.Load()), node))
    named = [at(ast.keyword(one.arg, name_at(one.arg, one)), one) for one in arguments.kwonlyargs]
    if arguments.kwarg is not None:
        named.append(at(ast.keyword(None, name_at(arguments.kwarg.arg, node)), node))
    call = at(ast.Call(name_at(own, node), given, named), node)
    outer.body = [inner, at(ast.Return(call), node)]
    return outer


class Memos(Effects):
    """The part of a translation that is about such functions."""

    def memo_of(self, node: ast.FunctionDef, group: Sequence[ast.FunctionDef], scope: Scope) -> str | None:
        """The name of the cell of a function inside; None if it keeps no results. `group`: those that may call each other."""
        decorator = next((one for one in node.decorator_list if self._is_cache(one, scope)), None)
        if decorator is not None:
            called = [other for other in group if other.name in free_in(node)]
            if not any(node.name in free_in(other) for other in (node, *called)):
                return None
            if hasattr(node, "is_passed"):
                hint = "pass it as an argument"
                raise self.refuse("a cache of a function that uses a variable which changes", decorator, hint)
        elif not hasattr(node, "keeps"):
            return None
        return self.fresh("memo")

    def _is_cache(self, decorator: ast.expr, scope: Scope) -> bool:
        return is_cache(
            self.object_of(decorator.func if isinstance(decorator, ast.Call) else decorator, scope)
        )

    def kept(self, node: Function, body: Syntax, memo: str, span: Span) -> Syntax:
        """The body of a function, which is evaluated once for each key."""
        own = [name(self.own_name(one.arg), span) for one in arguments_of(node)]
        table, key, value = (
            form(span, "deref", name(memo, span)),
            name(self.fresh("key"), span),
            name(self.fresh("kept"), span),
        )
        keys = [form(span, "%py-element", one) for one in own]
        keep = form(span, "set-ref!", name(memo, span), form(span, "table-set", table, key, value))
        made = self.let([(value, body)], form(span, "begin", keep, value), span)
        known = form(span, "table-contains?", table, key)
        found = form(span, "if", known, form(span, "table-ref", table, key), made)
        at_key = keys[0] if len(keys) == 1 else form(span, "list", *keys)
        arguments = [(one, form(span, "%py-memo-argument", one)) for one in own]
        return self.let(arguments, self.let([(key, at_key)], found, span), span)

    def with_memos(self, definitions: Syntax, memos: Sequence[str], span: Span) -> Syntax:
        """Definitions, with the cells of the functions around them."""
        made = form(span, "ref", form(span, "table"))
        return (
            self.let([(name(one, span), made) for one in memos], definitions, span) if memos else definitions
        )
