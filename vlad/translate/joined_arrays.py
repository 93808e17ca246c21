"""`np.r_[…]` and `np.c_[…]` → calls of `np.concatenate` and `np.column_stack`; `np.add.outer(a, b)` → a call of `np.add`;
`np.where(mask)` → `np.nonzero(mask)`; `np.mgrid[…]` and `np.ogrid[…]` → calls of `np.meshgrid` and `np.reshape`.

In: the tree of a function.  Out: the same tree. A slice in the brackets is `np.arange`; with an imaginary step, `np.linspace`.
"""

from __future__ import annotations

import ast
import copy
import importlib
from collections.abc import Callable
from typing import Any

from vlad.data.errors import VladError
from vlad.translate.defaults import Meaning
from vlad.translate.names import Function
from vlad.translate.nodes import Computed, Given, at, name_at
from vlad.translate.trees import Nodes, walk

_COUNTERPARTS = {"r_": "concatenate", "c_": "column_stack", "mgrid": "meshgrid", "ogrid": "reshape"}


def with_joined_arrays(
    function: Function, nodes: Nodes, meaning: Meaning, refuse: Callable[[str, ast.AST, str], VladError]
) -> bool:
    """Change the tree of a function, which has these nodes, and return whether that was necessary. `meaning`: the value outside
    that a name has.
    """
    has_brackets = any(_name(one.value) in _COUNTERPARTS for one in nodes.of(ast.Subscript))
    if has_brackets or any(_is_outer(one) or _is_where(one) for one in nodes.of(ast.Call)):
        _Joining(meaning, refuse).visit(function)
        return True
    return False


def _is_outer(node: ast.Call) -> bool:
    is_method = isinstance(node.func, ast.Attribute) and node.func.attr == "outer"
    return is_method and len(node.args) == 2 and not node.keywords


def _is_where(node: ast.Call) -> bool:
    return _name(node.func) == "where" and len(node.args) == 1 and not node.keywords


def counterpart(node: ast.Subscript, meaning: Meaning) -> str | None:
    """The name of the function of what is in the brackets; None if they are those of an index."""
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
        if joining in ("meshgrid", "reshape"):
            return self._grid(joining, items, node)
        arrays = at(ast.List([self._array(one) for one in items], ast.Load()), node)
        return self._call(joining, node, arrays)

    def _grid(self, own: str, items: list[ast.expr], node: ast.Subscript) -> ast.expr:
        for one in items:
            if not isinstance(one, ast.Slice):
                raise self.refuse(
                    "this index of a grid", one, "write slices: `0:n`, or `0:1:5j` with a number of points"
                )
        arrays = [self._array(one) for one in items]
        if not isinstance(node.slice, ast.Tuple):
            return arrays[0]
        if own == "meshgrid":
            grid = self._call("meshgrid", node, *arrays)
            assert isinstance(grid, ast.Call)
            grid.keywords = [at(ast.keyword("indexing", ast.Constant("ij")), node)]
            return self._call("stack", node, grid)
        dims = [[-1 if axis == place else 1 for axis in range(len(items))] for place in range(len(items))]
        shapes = [at(ast.Tuple([ast.Constant(one) for one in own], ast.Load()), node) for own in dims]
        parts = [self._call("reshape", node, *pair) for pair in zip(arrays, shapes, strict=True)]
        found: ast.expr = at(ast.Tuple(parts, ast.Load()), node)
        return found

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if _is_where(node) and self.meaning(node.func) is self.numpy.where:
            return self._call("nonzero", node, *node.args)
        if not _is_outer(node):
            return node
        assert isinstance(node.func, ast.Attribute)
        operation = self.meaning(node.func.value)
        if type(operation) is not self.numpy.ufunc or operation.nin != 2:
            return node
        first, second = node.args
        if any(isinstance(one, ast.Call) for one in walk(second)):  # which is evaluated once
            a, b = name_at("outer_first", first), name_at("outer_second", second)
            both = ast.arguments([], [ast.arg(a.id), ast.arg(b.id)], None, [], [], None, [])
            function = ast.Lambda(both, self._pairwise(node.func.value, a, b, node))
            found: ast.expr = at(ast.Call(function, node.args, []), node)
            return found
        return self._pairwise(node.func.value, first, second, node)

    def _pairwise(self, operation: ast.expr, a: ast.expr, b: ast.expr, place: ast.AST) -> ast.expr:
        outward = at(Computed("%py-np-outward", [a, copy.deepcopy(b)]), place)
        found: ast.expr = at(ast.Call(operation, [outward, b], []), place)
        return found

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
