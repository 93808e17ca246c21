"""Generator functions → their two versions.

In: the tree of a function with `yield`.  Out: one that collects the items in a list, which it returns, and one in which each
`yield` is a statement of its own; generators.py decides which a call means.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable

from vlad.data.errors import VladError
from vlad.translate.names import falls
from vlad.translate.nodes import at, name_at
from vlad.translate.trees import SCOPES, Nodes, nodes_in

Refuse = Callable[[str, ast.AST, str], VladError]
LAZILY = ("yield",)  # no name of Python's, in place of parameters that a function hands back (handing.py)
YIELDED, ITEM = "what is yielded", "the item yielded"  # no names of Python's
_YIELDS = (ast.Yield, ast.YieldFrom)


def yields(node: ast.AST) -> bool:
    """Is it a generator function?"""
    return isinstance(node, ast.FunctionDef) and any(isinstance(one, _YIELDS) for one in nodes_in(node.body))


def is_version(node: ast.AST) -> bool:
    """Is it a version of one?"""
    return getattr(node, "is_lazy", None) is not None


def is_lazy(node: ast.AST) -> bool:
    return bool(getattr(node, "is_lazy", False))


def lazy_name(own: str) -> str:
    return f"{own} lazily"


def version(node: ast.FunctionDef, lazily: bool, refuse: Refuse) -> None:
    """Change the tree of a generator function into that of one of its versions."""
    _expect_generator(node, refuse)
    node.is_lazy = lazily  # type: ignore[attr-defined]  # of versions of generators
    _rewrite(node.body, lazily)
    if lazily:
        return
    last = node.body[-1]
    start = at(ast.Assign([name_at(YIELDED, last, ast.Store())], at(ast.List([], ast.Load()), node)), node)
    node.body.insert(0, start)
    if falls(node.body):
        node.body.append(at(ast.Return(name_at(YIELDED, last)), last))


def _expect_generator(node: ast.FunctionDef, refuse: Refuse) -> None:
    statements = {one.value for one in nodes_in(node.body) if isinstance(one, ast.Expr)}
    for one in nodes_in(node.body):
        if isinstance(one, _YIELDS) and one not in statements:
            raise refuse("the value of `yield`", one, "write `yield` as a statement of its own")
        if isinstance(one, ast.Return) and one.value is not None:
            raise refuse("a value that a generator returns", one, "yield it")
        if isinstance(one, ast.Nonlocal):
            raise refuse("`nonlocal` in a generator", one, "yield the value")
        if isinstance(one, ast.Try) and any(isinstance(inner, _YIELDS) for inner in nodes_in([one])):
            raise refuse("`yield` within `try`", one, "yield after it")


def _rewrite(statements: list[ast.stmt], lazily: bool) -> None:
    """`yield from` as a loop; and, unless the function is lazy, `yield` as a change of the list that it returns."""
    found: list[ast.stmt] = []
    for one in statements:
        match one:
            case ast.Expr(value=ast.YieldFrom(value=items)):
                item = name_at(ITEM, one)
                inner: list[ast.stmt] = [at(ast.Expr(at(ast.Yield(item), one)), one)]
                _rewrite(inner, lazily)
                found.append(at(ast.For(name_at(ITEM, one, ast.Store()), items, inner, []), one))
                continue
            case ast.Expr(value=ast.Yield(value=value)) if not lazily:
                append = at(ast.Attribute(name_at(YIELDED, one), "append", ast.Load()), one)
                given = value or at(ast.Constant(None), one)
                found.append(at(ast.Expr(at(ast.Call(append, [given], []), one)), one))
                continue
            case ast.Return() if not lazily:
                found.append(at(ast.Return(name_at(YIELDED, one)), one))
                continue
        if not isinstance(one, SCOPES):
            for block in _blocks(one):
                _rewrite(block, lazily)
        found.append(one)
    statements[:] = found


def with_versions(function: ast.FunctionDef, nodes: Nodes, lazily: bool, refuse: Refuse) -> None:
    """Change the tree of a function, which has these nodes, into that of one of its versions, and add both of each generator
    inside.
    """
    if nodes.has(*_YIELDS):
        if yields(function):
            version(function, lazily, refuse)
        _define(function.body, refuse)


def _define(statements: list[ast.stmt], refuse: Refuse) -> None:
    found: list[ast.stmt] = []
    for one in statements:
        if isinstance(one, ast.FunctionDef) and yields(one):
            lazy = copy.deepcopy(one)
            lazy.name = lazy_name(one.name)
            version(lazy, True, refuse)
            version(one, False, refuse)
            _define(lazy.body, refuse)
            found.append(lazy)
        for block in _blocks(one):
            _define(block, refuse)
        found.append(one)
    statements[:] = found


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    blocks = [getattr(statement, field, []) for field in ("body", "orelse", "finalbody")]
    return [
        *blocks,
        *[one.body for one in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ()))],
    ]
