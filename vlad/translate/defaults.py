"""Which names and expressions are `defaultdict`s and `Counter`s, and what a key without an entry has there.

In: the tree of a function.  Out: kinds of expressions. collecting.py replaces them.
"""

from __future__ import annotations

import ast
import collections
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from vlad.translate.names import Function, parameters
from vlad.translate.nodes import at
from vlad.translate.reads import MISSING
from vlad.translate.trees import nodes_in

Meaning = Callable[[ast.AST], Any]
# The operators of two counters.
COUNTING_OPERATORS = (ast.Add, ast.Sub, ast.BitAnd, ast.BitOr)


@dataclass(frozen=True, slots=True)
class Kind:
    """A dict with defaults: what a key without an entry has, and of which kind that is. A counter has 0, and reading makes no
    entry.
    """

    default: ast.expr
    inner: Kind | None = None
    is_counter: bool = False


COUNTER = Kind(ast.Constant(0), None, True)


class Defaults(ast.NodeTransformer):
    """What expressions of a function are.

    meaning  the value outside that a name has
    kinds    those of the names in this place
    own      the names that the function binds
    """

    def __init__(self, meaning: Meaning) -> None:
        self.meaning = meaning
        self.kinds: Mapping[str, Kind] = {}
        self.own: frozenset[str] = frozenset()

    def of_names(self, node: Function) -> dict[str, Kind]:
        """The names of a function that have such dicts wherever they are assigned: the greatest solution."""
        if isinstance(node, ast.Lambda):
            return {}
        assigned: dict[str, list[ast.expr | None]] = {}
        values: dict[ast.AST, ast.expr] = {}
        for one in nodes_in(node.body):
            match one:
                case ast.Assign(targets=[target], value=value) if pairs := side_by_side(target, value):
                    values.update(pairs)
                case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                    values[target] = value
                case ast.AugAssign(target=ast.Name() as target, op=operator, value=value):
                    values[target] = ast.BinOp(ast.Name(target.id, ast.Load()), operator, value)
        for one in nodes_in(node.body):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                assigned.setdefault(one.id, []).append(values.get(one))
        plain = {
            *parameters(node),
            *[one.name for one in nodes_in(node.body) if isinstance(one, ast.FunctionDef)],
        }
        found: dict[str, Kind] = {}
        for own, given in assigned.items():
            if own in plain or None in given:
                continue
            made = [self.made(one) for one in given]
            certain = [one for one in made if one is not None]
            if certain or any(isinstance(one, ast.BinOp | ast.Call) for one in given):
                found[own] = certain[0] if certain else COUNTER
        kinds, changes = self.kinds, True
        while changes:
            self.kinds = {**kinds, **found}
            wrong = [
                own
                for own, kind in found.items()
                if any(not _alike(kind, self.kind_of(one)) for one in assigned[own] if one is not None)
            ]
            changes = bool(wrong)
            found = {own: kind for own, kind in found.items() if own not in wrong}
        self.kinds = kinds
        return found

    def made(self, node: ast.expr | None) -> Kind | None:
        """The kind of what a call of `Counter` or `defaultdict` makes; None for another expression."""
        if not isinstance(node, ast.Call):
            return None
        value = self.meaning(node.func)
        if value is collections.Counter and len(node.args) <= 1:
            return COUNTER
        if value is not collections.defaultdict or not node.args or len(node.args) > 2 or node.keywords:
            return None
        return self.of_factory(node.args[0])

    def of_factory(self, node: ast.expr) -> Kind | None:
        """What a key without an entry has."""
        plain: dict[Any, ast.expr] = {
            int: ast.Constant(0),
            float: ast.Constant(0.0),
            str: ast.Constant(""),
            bool: ast.Constant(False),
            list: ast.List([], ast.Load()),
            collections.deque: ast.List([], ast.Load()),
            tuple: ast.Tuple([], ast.Load()),
            dict: ast.Dict([], []),
        }
        match node:
            case ast.Lambda(
                args=ast.arguments(args=[], posonlyargs=[], kwonlyargs=[], vararg=None, kwarg=None), body=body
            ):
                inner = self.made(body)
                return Kind(at(ast.Dict([], []), body) if inner is not None else body, inner)
            case ast.Name() | ast.Attribute():
                value = self.meaning(node)
                if value is collections.Counter:
                    return Kind(plain[dict], COUNTER)
                try:
                    if value in plain:
                        return Kind(plain[value])
                except TypeError:
                    return None
                if isinstance(node, ast.Name) and (value is not MISSING or node.id in self.own):
                    return Kind(ast.Call(node, [], []))
        return None

    def kind_of(self, node: ast.expr) -> Kind | None:
        """The kind of an expression, if it is such a dict."""
        match node:
            case ast.Name(id=own):
                return self.kinds.get(own)
            case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, COUNTING_OPERATORS):
                sides = self.kind_of(left), self.kind_of(right)
                return COUNTER if all(one is not None and one.is_counter for one in sides) else None
            case ast.Call(func=ast.Attribute(value=value, attr="copy"), args=[], keywords=[]):
                return self.kind_of(value)
            case ast.Subscript(value=value):
                around = self.kind_of(value)
                return None if around is None else around.inner
            case ast.Call():
                return self.made(node)
        return None


def side_by_side(target: ast.expr, value: ast.expr) -> dict[ast.AST, ast.expr]:
    """The names of a target, each with the expression that it gets; none if these are not in the text."""
    if isinstance(target, ast.Name):
        return {target: value}
    if (
        not isinstance(target, ast.Tuple)
        or not isinstance(value, ast.Tuple)
        or len(target.elts) != len(value.elts)
    ):
        return {}
    is_plain = all(isinstance(one, ast.Name) for one in target.elts)
    return dict[ast.AST, ast.expr](zip(target.elts, value.elts, strict=True)) if is_plain else {}


def _alike(first: Kind, second: Kind | None) -> bool:
    """Do two kinds have the same defaults?"""
    if second is None or first.is_counter is not second.is_counter:
        return False
    if ast.dump(first.default) != ast.dump(second.default):
        return False
    return second.inner is None if first.inner is None else _alike(first.inner, second.inner)
