"""Which expressions make a value of their own, and which only go through one.

In: expressions, and what their names mean: a function is known by itself, not by its name.  Out: answers for inside.py and
checks.py, which decide what may be changed in place.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any

from vlad.translate.arrays import is_of_numpy, methods, numpy_syntax
from vlad.translate.known import known
from vlad.translate.names import NOTHING, Names, read_in
from vlad.translate.nodes import Computed, Outcome
from vlad.translate.reads import MISSING

VIEWS = ("keys", "values", "items")  # of a dict
# Functions that go through an iterable, or make one of its items.
GOING_THROUGH: tuple[Any, ...] = (list, tuple, sorted, reversed, zip, enumerate)
# Functions whose results have the items of their first argument at most.
OF_ITEMS: tuple[Any, ...] = (
    *GOING_THROUGH,
    print,
    isinstance,
    range,
    sum,
    any,
    all,
    str,
    dict,
    set,
    frozenset,
    copy.copy,
    copy.deepcopy,
)
_MAKING: tuple[Any, ...] = (dict, list, sorted, set, frozenset, copy.copy, copy.deepcopy)
_COPYING: tuple[Any, ...] = (range, list, sorted, len, dict, tuple, set, frozenset, copy.copy, copy.deepcopy)
# Methods of sets that make a set.
MAKING = ("union", "intersection", "difference", "symmetric_difference")


def _makes_in_syntax(call: ast.Call, own: str) -> bool:
    """`einsum` of one array may be a view of it, `diff` of order 0 that array itself."""
    if own == "einsum":
        return len(call.args) > 2
    return own == "diff" and len(call.args) == 1 and all(one.arg != "n" for one in call.keywords)


def _makes_as_method(call: ast.Call, method: str) -> bool:
    """Is it a method of arrays, or of lists and dicts, that makes a value of its own?"""
    row = methods().get(method)
    return row is not None and not row.is_view and all(one.arg != "copy" for one in call.keywords)


class Fresh:
    """object_of  the value of a name outside, or of an attribute of a module
    may_share  may a method of this name of a class in use return what something else has?
    operators_make  do the operators that classes in use define make their results?
    returns_own  is the result of a call of a function written in Python its own, or the value of the name that is given?
    """

    def __init__(
        self,
        object_of: Callable[[ast.AST], Any],
        may_share: Callable[[str], bool],
        returns_own: Callable[[ast.Call, str | None], bool],
        operators_make: Callable[[], bool],
    ) -> None:
        self.operators_make = operators_make
        self.object_of = object_of
        self.may_share = may_share
        self.returns_own = returns_own

    def is_call(self, node: ast.AST, *functions: Any) -> bool:
        """Is it a call of one of these functions?"""
        if not isinstance(node, ast.Call):
            return False
        function = self.object_of(node.func)
        return any(function is one for one in functions)

    def makes(self, value: ast.expr) -> bool:
        """Does an expression make a value of its own?"""
        match value:
            case ast.Dict() | ast.DictComp() | ast.List() | ast.ListComp() | ast.Set() | ast.SetComp():
                return True
            case ast.Constant() | ast.Compare():
                return True
            case ast.BinOp() | ast.UnaryOp():
                return self.operators_make()
            case ast.Call() if self.is_call(value, abs):
                return self.operators_make()
            case Outcome(of=value):
                return self.makes(value)
            case Computed():  # the rest of a list, or of a dict, in a pattern
                return True
            case ast.Subscript(slice=index):  # of an array it is a view, which `keeps_part` notices
                return has_slice(index)
            case ast.Call(func=function):
                if self.is_call(value, *_MAKING) or self.makes_array(value):
                    return True
                if isinstance(function, ast.Attribute) and self.object_of(function) is MISSING:
                    method = function.attr
                    is_making = method in MAKING or _makes_as_method(value, method)
                    if is_making and not self.may_share(method):
                        return True
                return self.returns_own(value, None)
        return False

    def makes_array(self, call: ast.Call) -> bool:
        """Is it a function of NumPy's that makes an array?"""
        function = self.object_of(call.func)
        if not is_of_numpy(function):
            return False
        own = numpy_syntax(function)
        if own is not None:
            return _makes_in_syntax(call, own)
        found = known(function)
        return found is not None and found.row is not None and found.keeps_nothing

    def gives_view(self, call: ast.Call) -> bool:
        """Is it a function of NumPy's whose result may be a view of an argument?"""
        function = self.object_of(call.func)
        found = known(function) if is_of_numpy(function) else None
        return found is not None and found.row is not None and found.row.is_view

    def makes_parts(self, value: ast.expr, depth: int) -> bool:
        """Does an expression make a list, or an array, all lists in which are its own down to a depth?"""
        if depth == 1:
            return self.makes(value)
        match value:
            case ast.ListComp(elt=item) | ast.DictComp(value=item):
                return self.makes_parts(item, depth - 1)
            case ast.List(elts=items) | ast.Dict(values=items):
                return all(self.makes_parts(item, depth - 1) for item in items)
            case ast.Call():
                return self.makes_array(value) or self.is_call(value, copy.deepcopy)
        return False

    def copied_from(self, node: ast.expr) -> Names:
        """The names whose items a loop goes through in a list of its own: `xs[:]`, `list(xs)`."""
        match node:
            case ast.Name():
                return frozenset({node.id})
            case ast.Subscript(value=value, slice=ast.Slice()):
                return self.copied_from(value)
            case ast.Call(args=arguments) if self.is_call(node, *GOING_THROUGH):
                return NOTHING.union(*[self.copied_from(one) for one in arguments])
        return NOTHING

    def gone_through(self, node: ast.expr) -> Names:
        """The names whose values a loop may go through: not those that `range`, an index or arithmetic only reads."""
        match node:
            case ast.Name():
                return frozenset({node.id})
            case ast.BinOp() | ast.ListComp() | ast.SetComp():
                return NOTHING
            case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in VIEWS:
                return self.gone_through(value)
            case ast.Call(args=arguments):
                is_copy = self.is_call(node, *_COPYING) or (self.is_call(node, sum) and len(arguments) == 1)
                return NOTHING if is_copy else NOTHING.union(*[self.gone_through(one) for one in arguments])
            case ast.Tuple() | ast.List():
                return NOTHING.union(*[self.gone_through(one) for one in node.elts])
            case ast.Subscript(value=value, slice=index):
                return NOTHING if isinstance(index, ast.Slice) else self.gone_through(value)
        return read_in(node)


def has_slice(index: ast.expr) -> bool:
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(isinstance(one, ast.Slice) for one in items)
