"""`np.r_[…]` and `np.c_[…]` → calls of `np.concatenate` and `np.column_stack`.

In: the tree of a function.  Out: the same tree. A slice in the brackets is `np.arange`; with an imaginary step, `np.linspace`.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from typing import Any

from vlad.data.errors import VladError
from vlad.translate.defaults import Meaning
from vlad.translate.names import Function
from vlad.translate.nodes import Given, at
from vlad.translate.trees import walk

_COUNTERPARTS = {"r_": "concatenate", "c_": "column_stack"}


def with_joined_arrays(
    function: Function, meaning: Meaning, refuse: Callable[[str, ast.AST, str], VladError]
) -> None:
    """Change the tree of a function. `meaning`: the value outside that a name has."""
    if any(isinstance(one, ast.Subscript) and _name(one.value) in _COUNTERPARTS for one in walk(function)):
        _Joining(meaning, refuse).visit(function)


def counterpart(node: ast.Subscript, meaning: Meaning) -> str | None:
    """The name of the function that joins what is in the brackets; None if they are those of an index."""
    own = _name(node.value)
    if own not in _COUNTERPARTS:
        return None
    return (
        _COUNTERPARTS[own] if meaning(node.value) is getattr(importlib.import_module("numpy"), own) else None
    )


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class _Joining(ast.NodeTransformer):
    def __init__(self, meaning: Meaning, refuse: Callable[[str, ast.AST, str], VladError]) -> None:
        self.meaning = meaning
        self.refuse = refuse
        self.numpy = importlib.import_module("numpy")

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        joining = counterpart(node, self.meaning)
        if joining is None:
            return node
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        arrays = at(ast.List([self._array(one) for one in items], ast.Load()), node)
        return self._call(joining, node, arrays)

    def _array(self, item: ast.expr) -> ast.expr:
        match item:
            case ast.Constant(value=str()):
                raise self.refuse("this text in brackets", item, "`np.stack`, `np.concatenate` with an axis")
            case ast.Slice(upper=None):
                raise self.refuse("a slice without an end here", item, "write the end: `0:n`")
            case ast.Slice(lower=lower, upper=ast.expr() as upper, step=step):
                begin = lower or at(ast.Constant(0), item)
                if isinstance(step, ast.Constant) and isinstance(step.value, complex):
                    return self._call(
                        "linspace", item, begin, upper, at(ast.Constant(int(step.value.imag)), item)
                    )
                return self._call("arange", item, begin, upper, step or at(ast.Constant(1), item))
        return self._call("atleast_1d", item, item)

    def _call(self, own: str, place: ast.AST, *arguments: ast.expr) -> ast.expr:
        function: Any = at(Given(getattr(self.numpy, own)), place)
        found: ast.expr = at(ast.Call(function, list(arguments), []), place)
        return found
