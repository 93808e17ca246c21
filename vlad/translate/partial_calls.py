"""Calls of names that have partial functions → calls of the functions, with all their arguments.

In: the tree of a function.  Out: the same tree: `g = partial(f, a, k=b)` keeps a and b under names, and `g(c)` is
`f(a, c, k=b)`. So the defaults and the `*rest` of f mean what they mean in a call of f. What is a value, or is assigned
several times or under a condition, stays.
"""

from __future__ import annotations

import ast
import copy
import functools

from vlad.data.python_functions import python_of
from vlad.translate.defaults import Meaning
from vlad.translate.names import locals_of, parameters
from vlad.translate.nodes import at, name_at
from vlad.translate.trees import functions_in, nodes_in, walk


def with_partial_calls(function: ast.FunctionDef, meaning: Meaning) -> None:
    """Change the tree of a function. `meaning`: the value outside that a name has."""
    for one in functions_in(function):
        with_partial_calls(one, meaning)
    found = _assigned_once(function, meaning)
    if not found:
        return
    calls = _Calls(found)
    for node in found.values():
        node.value.args[0] = calls.kept(node.value.args[0], "function")
        node.value.args[1:] = [calls.kept(one, "given") for one in node.value.args[1:]]
        for keyword in node.value.keywords:
            keyword.value = calls.kept(keyword.value, "given")
        calls.of[node] = calls.assigned
        calls.assigned = []
    function.body[:] = [calls.visit(one) for one in function.body]
    used = {one.id for one in walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
    _Placed(calls.of, {node for own, node in found.items() if own not in used}).visit(function)


class _Assignment(ast.Assign):
    value: ast.Call


def _assigned_once(function: ast.FunctionDef, meaning: Meaning) -> dict[str, _Assignment]:
    """The names that are assigned once, a partial function."""
    made = [one for one in function.body if _partial_of(one, meaning) is not None]
    if not made:
        return {}
    own, bound = locals_of(function), [*parameters(function)]
    for one in nodes_in(function.body):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            bound.append(one.id)
        elif isinstance(one, ast.FunctionDef):
            bound.append(one.name)
    bound += [name for one in walk(function) if isinstance(one, ast.Nonlocal) for name in one.names]
    once = {one for one in bound if bound.count(one) == 1}
    found: dict[str, _Assignment] = {}
    seen: set[str] = set()
    for statement in function.body:
        name = _partial_of(statement, meaning) if statement in made else None
        if name is not None and name in once and name not in seen:
            assert isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)
            call = statement.value
            root = call.func.value if isinstance(call.func, ast.Attribute) else call.func
            is_outside = not (isinstance(root, ast.Name) and root.id in own)
            if is_outside and _is_written(call.args[0], meaning, own, once):
                found[name] = statement  # type: ignore[assignment]  # its value is a call
        seen.update([one.id for one in walk(statement) if isinstance(one, ast.Name)])
    return found


def _partial_of(statement: ast.stmt, meaning: Meaning) -> str | None:
    """The name that a statement gives a partial function of arguments that are written one by one."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=maker, args=[_, *others]) as call):
            is_plain = not any(isinstance(one, ast.Starred) for one in others)
            is_plain &= all(one.arg is not None for one in call.keywords)
            return name if is_plain and meaning(maker) is functools.partial else None
    return None


def _is_written(node: ast.expr, meaning: Meaning, own: frozenset[str], once: set[str]) -> bool:
    """Is it a function that is written in Python, and stays the same?"""
    if isinstance(node, ast.Lambda) or (isinstance(node, ast.Name) and node.id in own):
        return isinstance(node, ast.Lambda) or node.id in once
    function = meaning(node)
    return hasattr(python_of(function), "__code__")


class _Calls(ast.NodeTransformer):
    def __init__(self, found: dict[str, _Assignment]) -> None:
        self.found = found
        self.of: dict[ast.Assign, list[ast.stmt]] = {}
        self.assigned: list[ast.stmt] = []
        self.serial = 0

    def kept(self, value: ast.expr, base: str) -> ast.expr:
        """A name for what a partial function has."""
        if isinstance(value, ast.Constant) or (base == "function" and not isinstance(value, ast.Lambda)):
            return value
        self.serial += 1
        own = f"partial.{base}.{self.serial}"
        self.assigned.append(at(ast.Assign([name_at(own, value, ast.Store())], value), value))
        return name_at(own, value)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id not in self.found:
            return node
        first, *given = self.found[node.func.id].value.args
        named = {keyword.arg for keyword in node.keywords}
        before = [one for one in self.found[node.func.id].value.keywords if one.arg not in named]
        node.func = copy.deepcopy(first)
        node.args = [*copy.deepcopy(given), *node.args]
        node.keywords = [*copy.deepcopy(before), *node.keywords]
        return node


class _Placed(ast.NodeTransformer):
    """Puts what a partial function has before its assignment, which is left out where nothing uses it."""

    def __init__(self, of: dict[ast.Assign, list[ast.stmt]], unused: set[_Assignment]) -> None:
        self.of = of
        self.unused = unused

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        if node not in self.of:
            return node
        kept = [] if node in self.unused else [node]
        return [*self.of[node], *kept] or at(ast.Pass(), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        return node
