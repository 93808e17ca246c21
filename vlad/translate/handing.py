"""Calls that change an argument which is read again: the changed value is handed back.

In: `swap(xs, i, j)` and `p = partition(xs, low, high)`, where a function outside changes its parameter in place.  Out: a
statement that binds the names to the result and the changed value, both of which another translation of that function returns.
So the change is one of the caller's own, and checks.py decides that nothing else can see it.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Sequence
from types import FunctionType

from vlad.reader.parser import Syntax
from vlad.translate.apart import set_apart
from vlad.translate.arguments import signature_in_text
from vlad.translate.attempts import Attempts
from vlad.translate.changes import Rest
from vlad.translate.effects import bound_arguments, written
from vlad.translate.expressions import REAL, Scope
from vlad.translate.inside import Inside
from vlad.translate.names import Function, falls, forget
from vlad.translate.nodes import Handed, at, name_at
from vlad.translate.reads import MISSING
from vlad.translate.signatures import own_signature
from vlad.translate.syntax import form, name
from vlad.translate.trees import SCOPES, nodes_in, walk

RESULT = "result of"  # no name of Python's


def handing_back(node: Function, own: str) -> Function:
    """The tree of a function, changed so that it returns the tuple of its result and the value of a parameter."""
    assert isinstance(node, ast.FunctionDef)
    start = _start_of(node, own)
    _hand_back(node.body, own, start is not None)
    if falls(node.body):
        last = node.body[-1]
        both = _both(at(ast.Constant(None), last), own, start is not None)
        node.body.append(at(ast.Return(both), last))
    if start is not None:
        node.body.insert(
            0, at(ast.Assign([name_at(_WAS_NONE, start, ast.Store())], copy.deepcopy(start.test)), start)
        )
    return node


_WAS_NONE = "was None"  # no name of Python's


def _start_of(node: ast.FunctionDef, own: str) -> ast.If | None:
    """The statement `if own is None: own = {}`, with which a function begins."""
    for one in node.body:
        match one:
            case ast.If(
                test=ast.Compare(
                    left=ast.Name(id=tested), ops=[ast.Is()], comparators=[ast.Constant(value=None)]
                ),
                body=[ast.Assign(targets=[ast.Name(id=bound)])],
                orelse=[],
            ) if tested == bound == own:
                return one
            case ast.Expr(value=ast.Constant()):
                continue
        return None
    return None


def _both(value: ast.expr, own: str, may_be_none: bool) -> ast.expr:
    """A result, and the changed value; None, if the caller gave that."""
    after: ast.expr = name_at(own, value)
    if may_be_none:
        after = at(ast.IfExp(name_at(_WAS_NONE, value), at(ast.Constant(None), value), after), value)
    both: ast.expr = at(ast.Tuple([value, after], ast.Load()), value)
    return both


def _hand_back(statements: list[ast.stmt], own: str, may_be_none: bool) -> None:
    found: list[ast.stmt] = []
    for one in statements:
        if isinstance(one, ast.Return):
            value = one.value or at(ast.Constant(None), one)
            if not isinstance(value, ast.Constant | ast.Name):
                found.append(at(ast.Assign([name_at(RESULT, value, ast.Store())], value), value))
                value = name_at(RESULT, value)
            found.append(at(ast.Return(_both(value, own, may_be_none)), one))
            continue
        if not isinstance(one, SCOPES):
            for field in ("body", "orelse", "finalbody"):
                _hand_back(getattr(one, field, []), own, may_be_none)
            for inner in [*getattr(one, "handlers", []), *getattr(one, "cases", [])]:
                _hand_back(inner.body, own, may_be_none)
        found.append(one)
    statements[:] = found


def _name_of(function: ast.FunctionDef, own: str) -> str:
    """The name of the other version of a nested function; no name of Python's."""
    return f"{function.name} and {own}"


def _define(
    blocks: Sequence[list[ast.stmt]], wanted: set[tuple[FunctionType | ast.FunctionDef, str]]
) -> None:
    """Add the other versions of functions after their definitions."""
    for block in blocks:
        for one in list(block):
            for function, own in wanted:
                if function is one and isinstance(one, ast.FunctionDef):
                    other = handing_back(copy.deepcopy(one), own)
                    assert isinstance(other, ast.FunctionDef)
                    other.name = _name_of(one, own)
                    block.insert(block.index(one) + 1, other)
            if not isinstance(one, SCOPES):
                _define([getattr(one, field, []) for field in ("body", "orelse")], wanted)


def _wholes(value: ast.expr) -> list[ast.expr]:
    """The expressions one of whose values an expression may be, or have as a part."""
    match value:
        case ast.IfExp(body=yes, orelse=no):
            return [*_wholes(yes), *_wholes(no)]
        case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            return [one for part in parts for one in _wholes(part)]
        case ast.Subscript(slice=index) if not isinstance(index, ast.Slice):
            return []
        case ast.BinOp() | ast.Compare() | ast.Constant() | ast.UnaryOp():
            return []
    return [one for one in walk(value) if isinstance(one, ast.Name)]


class Handing(Attempts):
    """The part of a translation that is about changed arguments."""

    _changed_by_calls: dict[Function, set[str]]

    def hand_back(self, node: Function) -> None:
        """Mark the calls in a function whose changes its own statements see."""
        if isinstance(node, ast.Lambda) or not self._calls_written(node):
            return
        self._set_apart(node)
        with self.entered(node) as own:
            calls = [one for one in own.nodes if isinstance(one, ast.Call)]
            changed = {
                argument.id
                for one in calls
                for argument, _ in self._changed_arguments(one)
                if isinstance(argument, ast.Name)
            }
            whole = [
                one
                for one in calls
                if isinstance(around := own.around.get(one), ast.Expr | ast.Assign) and around.value is one
            ]
            found = {
                own.statements[one]: handed for one in whole if changed and (handed := self._handed(one))
            }
            wanted = {(one.function, one.own) for one in found.values()} | self._called_inside(own)
        self._changed_by_calls[node] = changed
        if not wanted:
            return
        self._effect_inside(node)  # what it does is known from the calls as they are
        forget(node)
        for statement, handed in found.items():
            assert isinstance(statement, ast.Expr | ast.Assign)
            statement.value = handed
        _define([node.body], wanted)

    def _set_apart(self, node: ast.FunctionDef) -> None:
        """Give names to the results of calls within expressions whose changes are seen."""
        with self.entered(node) as own:
            calls = [one for one in own.nodes if isinstance(one, ast.Call)]
            within = [
                one
                for one in calls
                if not (
                    isinstance(around := own.around.get(one), ast.Expr | ast.Assign) and around.value is one
                )
            ]
            chosen = {
                id(one)
                for one in within
                if any(True for _ in self._changed_arguments(one)) and self._handed(one)
            }
            if chosen:
                chosen |= {
                    id(one)
                    for one in calls
                    if any(True for _ in self._changed_arguments(one)) and self._handed(one)
                }
        if chosen:
            set_apart(node.body, lambda call: id(call) in chosen, lambda: self.fresh("result apart"))
            forget(node)

    def _calls_written(self, node: ast.FunctionDef) -> bool:
        """Does a function call others that are written in Python? Most do not, and what is known of them is found once."""
        scope = Scope({})
        for one in nodes_in(node.body):
            if isinstance(one, ast.FunctionDef):
                return True
            if isinstance(one, ast.Call):
                value = self.object_of(one.func, scope)
                is_method = isinstance(one.func, ast.Attribute) and self.with_name(one.func.attr)
                is_inside = self._function_inside(one.func) is not None
                if is_inside or (is_method if value is MISSING else written(value) is not None):
                    return True
        return False

    def _called_inside(self, own: Inside) -> set[tuple[FunctionType | ast.FunctionDef, str]]:
        """The functions inside which change a parameter, and which such functions call, so that they may see the change."""
        inside = [one for one in own.nodes if isinstance(one, ast.FunctionDef)]
        called = {
            call.func.id
            for one in inside
            for call in walk(one)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        }
        return {
            (one, changed)
            for one in inside
            if one.name in called
            for changed, is_sure in self._effect_inside(one).changed.items()
            if is_sure and not self._is_bound_again(one, changed)
        }

    def _function_of(self, call: ast.Call) -> FunctionType | ast.FunctionDef | None:
        """The function that a call surely calls, if that is known."""
        inside = self._function_inside(call.func)
        if inside is not None:
            return inside if isinstance(inside, ast.FunctionDef) else None
        value = self.object_of(call.func, Scope({}))
        function = None if value is MISSING or inspect.ismethod(value) else written(value)
        return function if function is getattr(value, "python", value) else None

    def _handed(self, call: ast.Call) -> Handed | None:
        """The call of a function that returns the argument that it changes, too; None if it is not to, or cannot."""
        function, effects = self._function_of(call), self.effects_of(call)
        spread = any(isinstance(one, ast.Starred) for one in call.args) or any(
            one.arg is None for one in call.keywords
        )
        if function is None or spread or len(effects) != 1:
            return None
        ((effect, signature, _),) = effects
        given = [*bound_arguments(call, signature, 0)]
        seen = [
            (own, argument)
            for own, argument in given
            if own in effect.changed and not self._is_unseen(argument, call)
        ]
        sure = [(own, argument) for own, argument in seen if effect.changed[own]]
        if len(sure) != 1:
            return None
        ((own, changed),) = sure
        is_result_used = not isinstance(self.inside.around.get(call), ast.Expr)
        is_shared = is_result_used and (effect.returned is None or own in effect.returned)
        others = [argument for _, argument in given if argument is not changed]
        if not isinstance(changed, ast.Name) or changed.id not in self.inside.names:
            return None
        if is_shared and self._is_returned_whole(function, own):
            return None
        if own in effect.kept or self._is_bound_again(function, own):
            return None
        if any(self._may_have(one, changed.id) for one in others):
            return None
        returned = effect.returned if effect.returned is not None else frozenset(one for one, _ in given)
        kept = [
            argument
            for one, argument in given
            if argument is not changed  # no part of it is: that is tested when it runs
            and self.kind(argument) != REAL
            and (one in effect.kept or (is_result_used and one in returned))
        ]
        call = self.guarded(call, {id(argument) for _, argument in seen if argument is not changed})
        return at(Handed(call, changed, kept, function, own, is_shared), call)  # type: ignore[no-any-return]  # as it is given

    def _is_returned_whole(self, function: FunctionType | ast.FunctionDef, own: str) -> bool:
        """May a function return the value of a parameter itself, and not an item of it at most?"""
        node: Function | None = function if isinstance(function, ast.FunctionDef) else None
        if not isinstance(function, ast.FunctionDef) and (other := self.another(function)) is not None:
            node = other[1]
        if not isinstance(node, ast.FunctionDef):
            return True
        returned = [
            one.value for one in nodes_in(node.body) if isinstance(one, ast.Return) and one.value is not None
        ]
        return any(
            isinstance(one, ast.Name) and one.id == own for value in returned for one in _wholes(value)
        )

    def _is_bound_again(self, function: FunctionType | ast.FunctionDef, own: str) -> bool:
        """May a parameter have another value at the end, which the caller does not see?"""
        node: Function | None = function if isinstance(function, ast.FunctionDef) else None
        if not isinstance(function, ast.FunctionDef) and (other := self.another(function)) is not None:
            node = other[1]
        if not isinstance(node, ast.FunctionDef) or own not in [
            one.arg for one in [*node.args.posonlyargs, *node.args.args]
        ]:
            return True
        start = _start_of(node, own)
        begun = set() if start is None else {id(one) for one in walk(start)}
        return any(
            (
                isinstance(one, ast.Name)
                and id(one) not in begun
                and one.id == own
                and not isinstance(one.ctx, ast.Load)
            )
            or isinstance(one, ast.Yield | ast.YieldFrom | ast.Nonlocal)
            or (isinstance(one, ast.FunctionDef | ast.Lambda) and one is not node and own in ast.unparse(one))
            for one in walk(node)
        )

    def _may_have(self, argument: ast.expr, changed: str) -> bool:
        """May an argument be, or have as a part, the value that another one is?"""
        if isinstance(argument, ast.BinOp | ast.UnaryOp | ast.Compare):
            return False
        if isinstance(argument, ast.IfExp):
            return self._may_have(argument.body, changed) or self._may_have(argument.orelse, changed)
        return self.kind(argument) != REAL and any(
            isinstance(one, ast.Name) and one.id == changed and not self._is_counted(one)
            for one in walk(argument)
        )

    def _is_counted(self, node: ast.Name) -> bool:
        around = self.inside.around.get(node)
        return isinstance(around, ast.Call) and self.object_of(around.func, Scope({})) in (len, sum, min, max)

    def handed(
        self, targets: Sequence[ast.expr], node: Handed, scope: Scope, rest: Rest, statement: ast.stmt
    ) -> Syntax:
        """Names that get the result and the changed argument."""
        self.expect_unshared(node.changed, statement)
        span, function = self.span(statement), node.function
        if isinstance(function, ast.FunctionDef):
            own = at(ast.Name(_name_of(function, node.own), ast.Load()), node.call.func)
            both = self.call_of(
                node.call,
                self.variable(own, scope),
                signature_in_text(function),
                lambda one: self.expression(one.default, scope),
                scope,
            )
        else:
            cell = self.outside.cell(function, ast.unparse(node.call.func), self.span(node), handing=node.own)
            both = self.call_of(
                node.call,
                name(cell, span),
                own_signature(function),
                lambda one: self.value_of(one.default, one.name, node.call),
                scope,
            )
        result, after, end = [name(self.fresh(one), span) for one in ("result", "changed", "end")]

        value = form(span, "%py-no-part", result) if node.is_shared else result

        def assigned(scope: Scope) -> Syntax:
            return self.assigned(targets, [value] * len(targets), scope, rest, statement)

        body = self._renamed(node.changed, after, scope, Rest(assigned), span)
        return self.let([(form(span, "cons", result, form(span, "cons", after, end)), both)], body, span)
