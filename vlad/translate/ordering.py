"""What sorts and what finds the first and the last: calls of `sorted`, `min` and `max`, with keys, and `xs.sort()`.

In: calls.  Out: syntax. stdlib/python-sequences.vlad has the procedures with keys.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from vlad.reader.parser import Syntax
from vlad.translate.expressions import Scope
from vlad.translate.known import known
from vlad.translate.module_calls import called_with
from vlad.translate.syntax import empty_list, form, name
from vlad.translate.turns import Turns


def sorted_items(
    x: Turns, items: Syntax, keywords: Sequence[ast.keyword], node: ast.AST, scope: Scope
) -> Syntax:
    """The sorted list of items, by the arguments `key` and `reverse`."""
    span, named = x.span(node), {str(one.arg): one.value for one in keywords}
    for keyword in keywords:
        if keyword.arg not in ("key", "reverse"):
            raise x.refuse(f"the argument {keyword.arg} here", keyword, "there are `key` and `reverse`")
    ends = ""
    given: list[Syntax] = []
    if not _is_none(named.get("key")):
        ends, given = "-by", [called_with(x, named["key"], 1, scope)]
    way = named.get("reverse")
    if way is None or isinstance(way, ast.Constant):
        is_down = way is not None and bool(way.value)
        return form(span, f"%py-sorted{'-down' * is_down}{ends}", *given, items)
    # arguments are evaluated before they are used
    kept = [name(x.fresh("given"), span) for _ in (*given, items, way)]
    up, down = [form(span, f"%py-sorted{which}{ends}", *kept[:-1]) for which in ("", "-down")]
    chosen = form(span, "if", kept[-1], down, up)
    return x.bound(list(zip(kept, [*given, items, x.test(way, scope)], strict=True)), chosen, span)


def _is_none(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


def sorted_call(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
    """`sorted(xs, key=f, reverse=True)`."""
    if len(node.args) != 1:
        raise x.refuse("this call of sorted", node, "it takes a list, `key` and `reverse`")
    return sorted_items(x, x.items(node.args[0], scope), node.keywords, node, scope)


def extreme_call(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
    """`min` and `max`: of the items of an iterable, or of several values; by a key; with a default."""
    span, found = x.span(node), known(x.object_of(node.func, scope))
    assert found is not None
    named = {str(one.arg): one.value for one in node.keywords}
    for keyword in node.keywords:
        if keyword.arg not in ("key", "default"):
            hint = "there are `key` and `default`"
            raise x.refuse(f"{found.name} with the argument {keyword.arg} by name", keyword, hint)
    if not node.args:
        raise x.refuse(f"{found.name} with 0 arguments", node, "it takes a list, or several values")
    is_spread = any(isinstance(one, ast.Starred) for one in node.args)
    is_several = len(node.args) > 1 or is_spread
    if is_several and "default" in named:
        raise x.refuse(f"{found.name} of several values with a default", node, "they have a least")
    given = [] if _is_none(named.get("key")) else [called_with(x, named["key"], 1, scope)]
    if is_spread:
        items = x._spread(node.args, empty_list(span), scope)
    elif is_several:
        items = form(span, "list", *x.operands(node.args, scope))
    else:
        items = x.items(node.args[0], scope)
    if "default" in named:
        items = form(span, "%py-items-or", items, x.expression(named["default"], scope))
    return form(span, found.procedures[1] + "-by" * len(given), *given, items)
