"""`getattr` with a name in quotes → an attribute, so that what looks at attributes afterwards sees it.

In: the tree of a function.  Out: the same tree. With a default, it is a condition on `hasattr`, which calls.py translates.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from vlad.data.errors import VladError
from vlad.translate.defaults import Meaning
from vlad.translate.names import Function
from vlad.translate.nodes import Given, at
from vlad.translate.trees import Nodes

Refuse = Callable[[str, ast.AST, str], VladError]


def with_named_attributes(function: Function, nodes: Nodes, meaning: Meaning, refuse: Refuse) -> bool:
    """Change the tree of a function, which has these nodes, and return whether that was necessary. `meaning`: the value outside
    that a name has.
    """
    bound = {one.arg for one in nodes.of(ast.arg)}
    bound.update([one.id for one in nodes.of(ast.Name) if isinstance(one.ctx, ast.Store)])

    def is_getattr(node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id not in bound and meaning(node) is getattr

    found = [one for one in nodes.of(ast.Call) if is_getattr(one.func)]
    if found:
        _Naming({id(one) for one in found}, refuse).visit(function)
    return bool(found)


class _Naming(ast.NodeTransformer):
    def __init__(self, calls: set[int], refuse: Refuse) -> None:
        self.calls = calls
        self.refuse = refuse

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if id(node) not in self.calls:
            return node
        match node:
            case ast.Call(args=[value, ast.Constant(value=str() as name)], keywords=[]) if (
                name.isidentifier()
            ):
                return ast.copy_location(ast.Attribute(value, name, ast.Load()), node)
            case ast.Call(
                args=[ast.Name() as value, ast.Constant(value=str() as name) as quoted, default], keywords=[]
            ) if name.isidentifier() and isinstance(default, ast.Constant | ast.Name):
                test = at(ast.Call(at(Given(hasattr), node), [value, quoted], []), node)
                again = at(ast.Name(value.id, ast.Load()), value)
                part = at(ast.Attribute(again, name, ast.Load()), node)
                return ast.copy_location(ast.IfExp(test, part, default), node)
        hint = "write the name in quotes, or choose by `if`; a default, and the value then, are names or constants"
        raise self.refuse("this call of getattr", node, hint)
