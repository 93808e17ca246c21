"""Calls that change arguments which are read again: the changed values are handed back.

In: `swap(xs, i, j)` and `p = visit(node, seen, order)`, where a function outside changes its parameters in place.  Out: a
statement that binds the names to the result and the changed values, all of which another translation of that function returns.
So the changes are the caller's own, and checks.py decides that nothing else can see them.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from types import FunctionType

from vlad.data.python_functions import python_of
from vlad.data.source import Span
from vlad.data.values import FALSE, TRUE
from vlad.reader.parser import Syntax
from vlad.translate.apart import set_apart
from vlad.translate.arguments import signature_in_text
from vlad.translate.attempts import Attempts
from vlad.translate.changes import Rest
from vlad.translate.effects import bound_arguments, written
from vlad.translate.expressions import END, NOWHERE, REAL, Scope
from vlad.translate.inside import Inside
from vlad.translate.names import Function, falls, forget, free_in, is_pop
from vlad.translate.nodes import Handed, at, name_at
from vlad.translate.reads import MISSING
from vlad.translate.signatures import own_signature
from vlad.translate.syntax import form, literal, name, quoted
from vlad.translate.trees import SCOPES, nodes_in, walk

RESULT = "result of"  # no name of Python's
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


Owns = tuple[str, ...]  # the parameters whose values come back


def handing_back(node: Function, owns: Owns) -> Function:
    """The tree of a function, changed so that it returns the tuple of its result and the values of parameters."""
    assert isinstance(node, ast.FunctionDef)
    starts = {own: start for own in owns if (start := _start_of(node, own)) is not None}
    _hand_back(node.body, owns, starts)
    if falls(node.body):
        last = node.body[-1]
        node.body.append(at(ast.Return(_all(at(ast.Constant(None), last), owns, starts)), last))
    for own, start in starts.items():
        was_none = name_at(_was_none(own), start, ast.Store())
        node.body.insert(0, at(ast.Assign([was_none], copy.deepcopy(start.test)), start))
    return node


def _was_none(own: str) -> str:
    return f"{own} was None"  # no name of Python's


def _start_of(node: ast.FunctionDef, own: str) -> ast.If | None:
    """The statement `if own is None: own = {}`, with which a function begins; others of the kind may stand before it."""
    for one in node.body:
        match one:
            case ast.If(
                test=ast.Compare(
                    left=ast.Name(id=tested), ops=[ast.Is()], comparators=[ast.Constant(value=None)]
                ),
                body=[ast.Assign(targets=[ast.Name(id=bound)])],
                orelse=[],
            ) if tested == bound:
                if tested == own:
                    return one
                continue
            case ast.Expr(value=ast.Constant()):
                continue
        return None
    return None


def _all(value: ast.expr, owns: Owns, may_be_none: Iterable[str]) -> ast.expr:
    """A result, and the changed values; None, if the caller gave that."""
    parts = [value]
    for own in owns:
        after: ast.expr = name_at(own, value)
        if own in may_be_none:
            none = at(ast.Constant(None), value)
            after = at(ast.IfExp(name_at(_was_none(own), value), none, after), value)
        parts.append(after)
    result: ast.expr = at(ast.Tuple(parts, ast.Load()), value)
    return result


def _hand_back(statements: list[ast.stmt], owns: Owns, may_be_none: Iterable[str]) -> None:
    found: list[ast.stmt] = []
    for one in statements:
        if isinstance(one, ast.Return) and isinstance(one.value, ast.IfExp):  # each result for itself
            arms = [[at(ast.Return(value), value)] for value in (one.value.body, one.value.orelse)]
            for arm in arms:
                _hand_back(arm, owns, may_be_none)
            found.append(at(ast.If(one.value.test, *arms), one))
            continue
        if isinstance(one, ast.Return):
            value = one.value or at(ast.Constant(None), one)
            if not isinstance(value, ast.Constant | ast.Name):
                found.append(at(ast.Assign([name_at(RESULT, value, ast.Store())], value), value))
                value = name_at(RESULT, value)
            found.append(at(ast.Return(_all(value, owns, may_be_none)), one))
            continue
        if not isinstance(one, SCOPES):
            for field in ("body", "orelse", "finalbody"):
                _hand_back(getattr(one, field, []), owns, may_be_none)
            for inner in [*getattr(one, "handlers", []), *getattr(one, "cases", [])]:
                _hand_back(inner.body, owns, may_be_none)
        found.append(one)
    statements[:] = found


def _name_results(
    statements: list[ast.stmt], named: Mapping[int, ast.Name], apart: Collection[str], same: dict[str, str]
) -> None:
    """Take calls that return one of their arguments out of statements, which have the argument instead. `same` gets, for each
    name in `apart` that would have it as its value, the name of the argument.
    """
    found: list[ast.stmt] = []
    for one in statements:
        if isinstance(one, ast.Assign) and isinstance(call := one.value, ast.Call):
            argument = named.get(id(call))
            if argument is not None:
                found.append(at(ast.Expr(call), call))
                own = same.get(argument.id, argument.id)
                one.value = name_at(own, argument)
                match one:
                    case ast.Assign(targets=[ast.Name(id=target)]) if target == own:
                        continue
                    case ast.Assign(targets=[ast.Name(id=target)]) if target in apart:
                        same[target] = own
                        continue
        elif not isinstance(one, SCOPES):
            for field in ("body", "orelse", "finalbody"):
                _name_results(getattr(one, field, []), named, apart, same)
        found.append(one)
    statements[:] = found


Version = tuple[FunctionType | ast.FunctionDef, Owns]


def _name_of(function: ast.FunctionDef, owns: Owns) -> str:
    """The name of another version of a nested function; no name of Python's."""
    return " and ".join((function.name, *owns))


def _define(blocks: Sequence[list[ast.stmt]], wanted: set[Version]) -> None:
    """Add the other versions of functions after their definitions."""
    for block in blocks:
        for one in list(block):
            for function, owns in wanted:
                if function is one and isinstance(one, ast.FunctionDef):
                    other = handing_back(copy.deepcopy(one), owns)
                    assert isinstance(other, ast.FunctionDef)
                    other.name = _name_of(one, owns)
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
        case ast.Call() if is_pop(value):  # an item
            return []
        case ast.BinOp() | ast.Compare() | ast.Constant() | ast.UnaryOp():
            return []
    return [one for one in walk(value) if isinstance(one, ast.Name)]


class Handing(Attempts):
    """The part of a translation that is about changed arguments."""

    _changed_by_calls: dict[Function, set[str]]
    _versions: set[Version]  # those of functions inside that are defined

    def hand_back(self, node: Function, own: Inside) -> bool:
        """Mark the calls in a function whose changes its own statements see. `own`: what is known of the function. Returns
        False if it calls none that may have changes.
        """
        if isinstance(node, ast.Lambda) or not self._calls_written(own.nodes):
            return False
        seen: list[ast.Call] = []
        while self._name_returned(node, seen):  # from inner calls to outer ones
            pass
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
        if wanted:
            self._versions |= wanted
            self._effect_inside(node)  # what it does is known from the calls as they are
            forget(node)
            for statement, handed in found.items():
                assert isinstance(statement, ast.Expr | ast.Assign)
                statement.value = handed
            _define([node.body], wanted)
        return True

    def _name_returned(self, node: ast.FunctionDef, seen: list[ast.Call]) -> bool:
        """Write `push(xs, x)` and then `ys = xs` for `ys = push(xs, x)`, where the function returns the argument that it has
        changed. Returns whether there are such calls that have not been `seen`.
        """
        with self.entered(node) as own:
            calls = [
                one
                for one in own.nodes
                if isinstance(one, ast.Call)
                and not isinstance(own.around.get(one), ast.Return)
                and not self._goes_on(one)
                and not any(one is other for other in seen)
            ]
            named = {
                id(one): argument for one in calls if (argument := self._returned_argument(one)) is not None
            }
            seen += [one for one in calls if id(one) in named]
            within = any(not isinstance(own.around.get(one), ast.Assign) for one in calls if id(one) in named)
        apart: set[str] = set()

        def fresh() -> str:
            apart.add(own_name := self.fresh("result apart"))
            return own_name

        if within:
            set_apart(node.body, lambda call: id(call) in named, fresh)
        if named:
            same: dict[str, str] = {}
            _name_results(node.body, named, apart, same)
            for one in walk(node) if same else ():
                if isinstance(one, ast.Name):
                    one.id = same.get(one.id, one.id)
            forget(node)
        return bool(named)

    def _returned_argument(self, call: ast.Call) -> ast.Name | None:
        """The argument that a call surely changes, and returns, if the change is seen; else None."""
        function, effects = self._function_of(call), self.effects_of(call)
        if function is None or len(effects) != 1:
            return None
        ((effect, signature, _),) = effects
        for own, argument in bound_arguments(call, signature, 0):
            if (
                effect.changed.get(own)
                and isinstance(argument, ast.Name)
                and argument.id in self.inside.names
            ):
                node = self._tree_of(function)
                if node is None or falls(node.body) or self._is_bound_again(function, own):
                    continue
                values = [one.value for one in nodes_in(node.body) if isinstance(one, ast.Return)]
                is_returned = all(isinstance(one, ast.Name) and one.id == own for one in values)
                match self.inside.statements.get(call):
                    case ast.Assign(targets=[ast.Name(id=target)]) if target == argument.id and is_returned:
                        return argument
                if is_returned and not self._is_unseen(argument, call):
                    return argument
        return None

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

    def _calls_written(self, nodes: Sequence[ast.AST]) -> bool:
        """Does a function of these nodes call others that are written in Python? Most do not, and what is known of them is found
        once.
        """
        scope = NOWHERE
        for one in nodes:
            if isinstance(one, ast.FunctionDef):
                return True
            if isinstance(one, ast.Call):
                value = self.object_of(one.func, scope)
                is_method = isinstance(one.func, ast.Attribute) and self.with_name(one.func.attr)
                is_inside = self._function_inside(one.func) is not None
                if is_inside or (is_method if value is MISSING else written(value) is not None):
                    return True
        return False

    def _called_inside(self, own: Inside) -> set[Version]:
        """The versions of functions inside which change parameters that functions inside may want, as they call them."""
        inside = {one.name: one for one in own.nodes if isinstance(one, ast.FunctionDef)}
        found = set[Version]()
        for call in [
            one for function in inside.values() for one in walk(function) if isinstance(one, ast.Call)
        ]:
            function = inside.get(call.func.id) if isinstance(call.func, ast.Name) else None
            if function is None:
                continue
            changed, signature = self._effect_inside(function).changed, signature_in_text(function)
            given = dict(bound_arguments(call, signature, 0))
            named = [
                one
                for one in signature.parameters
                if one in changed
                and isinstance(given.get(one), ast.Name)
                and not self._is_bound_again(function, one)
                and (changed[one] or not self._is_tested(function, one))
            ]
            counts = (
                range(1, len(named) + 1) if len(named) <= 3 else (1, len(named))
            )  # which of them is not known yet
            found |= {(function, owns) for count in counts for owns in combinations(named, count)}
        return found

    def _function_of(self, call: ast.Call) -> FunctionType | ast.FunctionDef | None:
        """The function that a call surely calls, if that is known."""
        inside = self._function_inside(call.func)
        if inside is not None:
            return inside if isinstance(inside, ast.FunctionDef) else None
        value = self.object_of(call.func, NOWHERE)
        function = None if value is MISSING or inspect.ismethod(value) else written(value)
        return function if function is python_of(value) else None

    def _handed(self, call: ast.Call) -> Handed | None:
        """The call of a function that returns the arguments that it changes, too; None if it is not to, or cannot."""
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
        order = list(signature.parameters)
        is_result_used = not self._goes_on(call)

        def may_be_seen(own: str) -> bool:
            """May the result be the value of a parameter, or have it as a part?"""
            return is_result_used and (effect.returned is None or own in effect.returned)

        def is_handed(own: str, argument: ast.expr) -> bool:
            """Does the changed value come back, whether Python's caller sees a change (of an array) or not (of a number)?"""
            return (
                isinstance(argument, ast.Name)
                and not may_be_seen(own)
                and own not in effect.kept
                and not self._is_bound_again(function, own)
                and not self._is_tested(function, own)
                and not any(self._may_have(one, argument.id) for _, one in given if one is not argument)
                and self._is_only_here(argument)
            )

        handed = sorted(
            [(own, argument) for own, argument in seen if effect.changed[own] or is_handed(own, argument)],
            key=lambda one: order.index(one[0]),
        )
        owns, changed = (
            tuple([own for own, _ in handed]),
            tuple([one for _, one in handed if isinstance(one, ast.Name)]),
        )
        if not handed or len(changed) < len(handed) or not {one.id for one in changed} <= self.inside.names:
            return None
        is_here = function in self.inside.nodes or isinstance(function, FunctionType)
        if not is_here and (function, owns) not in self._versions:
            return None
        shared = [own for own in owns if may_be_seen(own)]
        if any(self._is_returned_whole(function, own) for own in shared):
            return None
        if any(own in effect.kept or self._is_bound_again(function, own) for own in owns):
            return None
        for one in changed:
            if any(self._may_have(argument, one.id) for _, argument in given if argument is not one):
                return None
        returned = effect.returned if effect.returned is not None else frozenset(one for one, _ in given)
        kept = [
            argument
            for one, argument in given
            if argument not in changed  # no part of it is: that is tested when it runs
            and self.kind(argument) != REAL
            and (one in effect.kept or (is_result_used and one in returned))
        ]
        call = self.guarded(call, {id(argument) for _, argument in seen if argument not in changed})
        maybe = tuple([self._is_increased(function, own) for own in owns])
        is_sure = any(effect.changed[own] for own in owns)
        return at(Handed(call, changed, kept, function, owns, bool(shared), maybe, is_sure), call)  # type: ignore[no-any-return]  # as it is given

    def _goes_on(self, call: ast.Call) -> bool:
        """Is the result of a call not used here, or returned with the changed arguments at once?"""
        match self.inside.around.get(call):
            case ast.Expr():
                return True
            case ast.Assign(targets=[ast.Name(id=target)]):
                return target == RESULT
        return False

    def _is_returned_whole(self, function: FunctionType | ast.FunctionDef, own: str) -> bool:
        """May a function return the value of a parameter itself, and not an item of it at most?"""
        node = self._tree_of(function)
        if node is None:
            return True
        returned = [
            one.value for one in nodes_in(node.body) if isinstance(one, ast.Return) and one.value is not None
        ]
        return any(
            isinstance(one, ast.Name) and one.id == own for value in returned for one in _wholes(value)
        )

    def _tree_of(self, function: FunctionType | ast.FunctionDef) -> ast.FunctionDef | None:
        node: Function | None = function if isinstance(function, ast.FunctionDef) else None
        if not isinstance(function, ast.FunctionDef) and (other := self.another(function)) is not None:
            node = other[1]
        return node if isinstance(node, ast.FunctionDef) else None

    def _is_increased(self, function: FunctionType | ast.FunctionDef, own: str) -> bool:
        """Is there `x += y` of a parameter, which changes an array, but gives a number a new value?"""
        node = self._tree_of(function)
        return node is not None and any(
            isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name) and one.target.id == own
            for one in walk(node)
        )

    def _is_tested(self, function: FunctionType | ast.FunctionDef, own: str) -> bool:
        """Is a parameter compared in a condition, as numbers are? Then its calls stay as they are: arrays are refused there."""
        node = self._tree_of(function)
        if node is None:
            return False
        tests = [one.test for one in walk(node) if isinstance(one, ast.If | ast.While | ast.IfExp)]
        compared = [
            operand
            for test in tests
            for one in walk(test)
            if isinstance(one, ast.Compare) and all(isinstance(sign, _ORDER) for sign in one.ops)
            for operand in (one.left, *one.comparators)
        ]
        return any(isinstance(one, ast.Name) and one.id == own for one in compared)

    def _is_only_here(self, argument: ast.Name) -> bool:
        """Has nothing but a name its value, as far as the text tells? No function inside has the name."""
        own = argument.id
        if any(True for _ in self.inside.sharing(own, self.keeps_nothing_of)):
            return False
        return not any(
            isinstance(one, ast.FunctionDef | ast.Lambda) and own in free_in(one)
            for one in self.inside.nodes
            if one is not self.inside.node
        )

    def _is_bound_again(self, function: FunctionType | ast.FunctionDef, own: str) -> bool:
        """May a parameter have another value at the end, which the caller does not see, whatever its first value is?"""
        node = self._tree_of(function)
        if node is None or own not in [
            one.arg for one in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        ]:
            return True
        start = _start_of(node, own)
        begun = set() if start is None else {id(one) for one in walk(start)}
        begun |= {id(one.target) for one in walk(node) if isinstance(one, ast.AugAssign)}
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
        return isinstance(around, ast.Call) and self.object_of(around.func, NOWHERE) in (len, sum, min, max)

    def handed(
        self, targets: Sequence[ast.expr], node: Handed, scope: Scope, rest: Rest, statement: ast.stmt
    ) -> Syntax:
        """Names that get the result and the changed arguments."""
        for one in node.changed:
            self.expect_unshared(one, statement)
        span, both = self.span(statement), self._handing_call(node, scope)
        befores = [self.variable(one, scope) for one in node.changed]
        if not node.is_sure:
            changes: Syntax = literal(FALSE, span)
            for before in befores:
                changes = form(
                    span, "if", form(span, "%py-changes-in-place?", before), literal(TRUE, span), changes
                )
            plain = form(span, "cons*", self.expression(node.call, scope), *befores, quoted(END, span))
            both = form(span, "if", changes, both, plain)
        result, end = [name(self.fresh(one), span) for one in ("result", "end")]
        afters = [name(self.fresh("changed"), span) for _ in node.changed]
        value = form(span, "%py-no-part", result) if node.is_shared else result

        def assigned(scope: Scope) -> Syntax:
            return self.assigned(targets, [value] * len(targets), scope, rest, statement)

        rest_of = Rest(assigned)
        pattern: Syntax = end
        for changed, before, after, is_maybe in reversed(
            [*zip(node.changed, befores, afters, node.maybe, strict=True)]
        ):
            seen = (
                form(span, "if", form(span, "%py-changes-in-place?", before), after, before)
                if is_maybe
                else after
            )
            rest_of = self._renaming(changed, seen, rest_of, span)
            pattern = form(span, "cons", after, pattern)
        return self.let([(form(span, "cons", result, pattern), both)], rest_of.emit(scope), span)

    def _handing_call(self, node: Handed, scope: Scope) -> Syntax:
        """The call of the version that returns the changed values, too."""
        span, function = self.span(node), node.function
        if isinstance(function, ast.FunctionDef):
            own = at(ast.Name(_name_of(function, node.own), ast.Load()), node.call.func)
            return self.call_of(
                node.call,
                self.variable(own, scope),
                signature_in_text(function),
                lambda one: self.expression(one.default, scope),
                scope,
            )
        cell = self.outside.cell(function, ast.unparse(node.call.func), span, handing=node.own)
        return self.call_of(
            node.call,
            name(cell, span),
            own_signature(function),
            lambda one: self.value_of(one.default, one.name, node.call),
            scope,
        )

    def _renaming(self, changed: ast.Name, after: Syntax, rest: Rest, span: Span) -> Rest:
        return Rest(lambda scope: self._renamed(changed, after, scope, rest, span))
