"""Constructors of classes of exceptions → functions that return what they make.

In: a class of exceptions.  Out: what is known of it, a `Record`; and its `__init__` as a function of the arguments that a call
gives, which returns the tuple of the exception's arguments and attributes. `self.x = e` assigns a variable there, and
`super().__init__(…)` those of the base.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from types import FunctionType
from typing import Any

from vlad.data.errors import VladError
from vlad.data.records import EXCEPTIONS, Record, exception_record
from vlad.translate.names import Function, arguments_of, bound_at_end, changed_by
from vlad.translate.nodes import Constructed, at, name_at
from vlad.translate.refusals import refused
from vlad.translate.source import node_of
from vlad.translate.trees import nodes_in, walk

CONSTRUCTING = (
    "__init__",
)  # no name of a parameter, in place of those that a function hands back (handing.py)
_ARGUMENTS = "self.args"  # no name of Python's; it stands for `self` among the parameters
# What the error of vlad's that Python gets has itself, and needs.
_TAKEN = frozenset(vars(VladError("python-exception", ""))) - {"code", "message", "name"}
Lines = Callable[[FunctionType], list[str]]


class Constructor:
    """An `__init__` in a text, as far as a class of exceptions has one.

    kind      the class
    function  it
    fields    the attributes that it assigns, and those of the bases whose constructors it calls, in order
    """

    def __init__(self, kind: type, function: FunctionType, fields: tuple[str, ...]) -> None:
        self.kind = kind
        self.function = function
        self.fields = fields


def constructor_of(kind: type, lines_of: Lines, after: FunctionType | None = None) -> Constructor | None:
    """The constructor of a class; `after`: the next one behind that. None if it is Python's own. Raises VladError if its text is
    not known.
    """
    found = [vars(one)["__init__"] for one in kind.__mro__ if "__init__" in vars(one)]
    if after is not None:
        found = found[found.index(after) + 1 :]
    if not found or not isinstance(found[0], FunctionType):
        return None
    function = found[0]
    node, _ = node_of(function, lines_of(function))
    own = _self_of(node)
    fields = dict.fromkeys(
        one.attr
        for one in walk(node)
        if isinstance(one, ast.Attribute) and _is_attribute(one, own) and isinstance(one.ctx, ast.Store)
    )
    for call in walk(node):
        base = _base_of(call, own, function, kind)
        if base is not None:
            fields.update(dict.fromkeys(_fields_behind(kind, base[0], lines_of)))
    return Constructor(kind, function, tuple([one for one in fields if one != "args"]))


def _fields_behind(kind: type, function: FunctionType | None, lines_of: Lines) -> tuple[str, ...]:
    found = constructor_of(kind, lines_of, function)
    return () if found is None else found.fields


def record_of_exception(kind: type, lines_of: Lines) -> Record:
    """What is known of a class of exceptions. Raises VladError if the text of its constructor is not known."""
    known = next((one for one in EXCEPTIONS.values() if one.kind is kind), None)
    if known is not None:
        return known
    found = constructor_of(kind, lines_of)
    return exception_record(kind, () if found is None else found.fields)


def _self_of(node: Function) -> str:
    return arguments_of(node)[0].arg


def _is_attribute(node: ast.AST, own: str) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == own


def _base_of(
    node: ast.AST, own: str, function: FunctionType, kind: type
) -> tuple[FunctionType | None, list[ast.expr]] | None:
    """The constructor behind which that of the base is which a call calls, and the arguments; None if it is no such call."""
    match node:
        case ast.Call(func=ast.Attribute(attr="__init__", value=ast.Call(func=ast.Name(id="super")))):
            return function, node.args
        case ast.Call(
            func=ast.Attribute(attr="__init__", value=ast.Name(id=name)), args=[ast.Name(id=first), *others]
        ):
            base = function.__globals__.get(name, getattr(builtins, name, None))
            if first == own and isinstance(base, type) and base in kind.__mro__:
                before = [one for one in kind.__mro__[: kind.__mro__.index(base)] if "__init__" in vars(one)]
                return (vars(before[-1])["__init__"] if before else None), others
    return None


def constructing(
    node: Function, function: FunctionType, kind: type, lines_of: Lines, span_of: Any
) -> Function:
    """The tree of a constructor, changed so that it is a function."""
    assert isinstance(node, ast.FunctionDef)
    found = _Constructing(node, function, kind, lines_of, span_of)
    fields = found.fields
    arguments_of(node)[0].arg = _ARGUMENTS
    node.body = [found.visit(one) for one in node.body]
    certain, _ = bound_at_end(node.body)
    lost = next((one for one in fields if _variable(one) not in certain), None)
    if lost is not None:
        raise found.refuse(
            f"an attribute {lost} that this constructor may leave out", node, "assign it in any case"
        )
    parameters_ = {one.arg for one in arguments_of(node)}
    for one in nodes_in(node.body):
        if any(root.id in parameters_ for root in changed_by(one)):
            raise found.refuse("a change in a constructor", one, "make the value before")
    last = node.body[-1]
    made = at(
        ast.Tuple(
            [name_at(_ARGUMENTS, last), *[name_at(_variable(one), last) for one in fields]], ast.Load()
        ),
        last,
    )
    node.body.append(at(ast.Return(made), last))
    return node


def _variable(field: str) -> str:
    return f"self.{field}"


class _Constructing(ast.NodeTransformer):
    def __init__(
        self, node: ast.FunctionDef, function: FunctionType, kind: type, lines_of: Lines, span_of: Any
    ) -> None:
        self.own = _self_of(node)
        self.function = function
        self.kind = kind
        self.lines_of = lines_of
        self.span_of = span_of
        # it may be that of a base
        before = [vars(one)["__init__"] for one in kind.__mro__ if "__init__" in vars(one)]
        place = before.index(function)
        found = constructor_of(kind, lines_of, before[place - 1] if place else None)
        assert found is not None
        self.fields = found.fields

    def refuse(self, what: str, node: ast.AST, hint: str) -> VladError:
        return refused(what, self.span_of(node), hint)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not _is_attribute(node, self.own):
            self.generic_visit(node)
            return node
        if node.attr in _TAKEN:
            what = f"an attribute {node.attr} of an exception"
            raise self.refuse(what, node, "the errors that Python gets have one: give it another name")
        if node.attr != "args" and node.attr not in self.fields:
            raise self.refuse(
                f"{self.own}.{node.attr} in a constructor", node, "it reads what it has assigned"
            )
        own = _ARGUMENTS if node.attr == "args" else _variable(node.attr)
        found: ast.expr = ast.copy_location(ast.Name(own, node.ctx), node)
        return found

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id == self.own:
            raise self.refuse(
                f"{self.own} as a value in a constructor", node, "only its attributes are known there"
            )
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        raise self.refuse("`return` in a constructor", node, "use `if` and `else`")

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        base = _base_of(node.value, self.own, self.function, self.kind)
        if base is None:
            self.generic_visit(node)
            return node
        assert isinstance(node.value, ast.Call)
        after, given = base
        call = ast.Call(
            node.value.func,
            [self.visit(one) for one in given],
            [self.visit(one) for one in node.value.keywords],
        )
        fields = _fields_behind(self.kind, after, self.lines_of)
        made = at(Constructed(at(call, node), self.kind, after, name_at(_ARGUMENTS, node)), node)
        targets: list[ast.expr] = [
            name_at(one, node, ast.Store()) for one in (_ARGUMENTS, *map(_variable, fields))
        ]
        found: ast.stmt = at(ast.Assign([at(ast.Tuple(targets, ast.Store()), node)], made), node)
        return found
