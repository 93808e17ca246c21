"""Walks over the syntax trees of Python, several times as fast as those of `ast`: every function is walked over dozens of times.

In: a node.  Out: nodes. Contexts (`ast.Load` …) and operators are no nodes here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TypeVar

Kind = TypeVar("Kind", bound=ast.AST)

COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
SCOPES = (ast.FunctionDef, ast.Lambda, ast.AsyncFunctionDef, ast.ClassDef, *COMPREHENSIONS)
_SCOPES = frozenset(SCOPES)
# Fields without nodes
_PLAIN = frozenset({
    "ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment", "n", "s", "is_async", "module", "level", "simple",
})  # fmt: skip
_WITH_OTHERS = frozenset({"keys", "kw_defaults", "names", "kwd_attrs"})  # lists with None, or with texts
_WITH_BLOCKS = (
    ast.If,
    ast.For,
    ast.While,
    ast.With,
    ast.Try,
    ast.TryStar,
    ast.ExceptHandler,
    ast.Match,
    ast.match_case,
)
LEAVES = frozenset({ast.Name, ast.Constant, ast.Pass, ast.Break, ast.Continue})  # most nodes
_fields: dict[type[ast.AST], tuple[str, ...]] = dict.fromkeys(LEAVES, ())
SHALLOW = LEAVES | _SCOPES  # the nodes of which a walk through one scope takes no children
_AST = ast.AST


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node, in the order of the text."""
    kind = type(node)
    fields = _fields.get(kind)
    if fields is None:
        fields = _fields[kind] = tuple([field for field in node._fields if field not in _PLAIN])
    found: list[ast.AST] = []
    for field in fields:
        value = getattr(node, field, None)
        if type(value) is list:
            found += [one for one in value if isinstance(one, _AST)] if field in _WITH_OTHERS else value
        elif isinstance(value, _AST):
            found.append(value)
    return found


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all below it, outer ones first."""
    found = [node]
    for one in found:
        if type(one) not in LEAVES:
            found += children(one)
    return found


class Nodes:
    """All nodes of a tree by their kinds, for passes of which most have nothing to do: what they look for is not there."""

    def __init__(self, tree: ast.AST) -> None:
        self._of: dict[type[ast.AST], list[ast.AST]] = {}
        for one in walk(tree):
            self._of.setdefault(type(one), []).append(one)

    def of(self, *kinds: type[Kind]) -> Iterator[Kind]:
        """The nodes of some kinds, in no order among these."""
        for kind, found in self._of.items():
            if issubclass(kind, kinds):
                yield from found  # type: ignore[misc]

    def has(self, *kinds: type[ast.AST]) -> bool:
        return any(issubclass(kind, kinds) for kind in self._of)


def within(node: ast.AST) -> list[ast.AST]:
    """The nodes of a tree, in the order of the text, without those of nested functions and comprehensions."""
    return nodes_in([node])


def functions_in(function: ast.FunctionDef) -> list[ast.FunctionDef]:
    """The functions that a function defines, without those in them. They are statements, so expressions need no walk."""
    found: list[ast.FunctionDef] = []
    work: list[ast.AST] = list(reversed(function.body))
    while work:
        node = work.pop()
        if isinstance(node, ast.FunctionDef):
            found.append(node)
        elif isinstance(node, _WITH_BLOCKS):
            work += [one for one in reversed(children(node)) if not isinstance(one, ast.expr)]
    return found


def nodes_in(statements: Sequence[ast.AST]) -> list[ast.AST]:
    """The same, of several trees."""
    found: list[ast.AST] = []
    work = list(reversed(statements))
    while work:
        node = work.pop()
        found.append(node)
        if type(node) not in SHALLOW:
            below = children(node)
            below.reverse()
            work += below
    return found
