"""What calls of Python functions do to their arguments: which they change in place, and which their results share.

In: calls.  Out: errors where Python's caller would see a change, which here it does not: an argument that is changed must be a
value of the caller's own that is not read again. What only may be an array, as x of `x += 1`, is tested when it runs.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from vlad.data.errors import VladError
from vlad.data.python_functions import python_of
from vlad.data.records import OPERATED, OPERATORS
from vlad.reader.parser import Form, Syntax
from vlad.translate.arguments import signature_in_text
from vlad.translate.arrays import is_of_numpy
from vlad.translate.checks import Checks
from vlad.translate.decorators import changes_nothing
from vlad.translate.desugar import desugared
from vlad.translate.expressions import NOWHERE, Scope
from vlad.translate.inside import Inside
from vlad.translate.known import known, public_name
from vlad.translate.names import Function, body_of, changed_by, parameters
from vlad.translate.nodes import Computed, at
from vlad.translate.reads import MISSING, Read
from vlad.translate.signatures import own_signature
from vlad.translate.source import node_of
from vlad.translate.syntax import form, name, string
from vlad.translate.trees import COMPREHENSIONS, nodes_in, walk


@dataclass(frozen=True, slots=True)
class Effect:
    """changed   the parameters that a function changes in place, and whether it surely does: `x += 1` changes no number
    returned  the parameters whose values its result may be; None if it may be another value that something has
    kept      the parameters whose values something else may have afterwards
    """

    changed: Mapping[str, bool]
    returned: frozenset[str] | None
    kept: frozenset[str]


@dataclass(frozen=True, slots=True)
class Decided:
    """An effect of a function outside, and the names outside that decided it."""

    function: FunctionType
    effect: Effect
    reads: tuple[tuple[str, Read], ...]


# Methods whose results are numbers, or arrays of their own.
NUMERIC = frozenset(
    """copy sum mean max min argmax argmin any all std var prod dot round astype cumsum cumprod
    trace""".split()  # noqa: SIM905
)
NOTHING_KNOWN = Effect({}, None, frozenset())
LEAST = Effect({}, frozenset(), frozenset())


class Progress:
    """The effects of functions that call each other, which are found in rounds: each once a round.

    found    the effects, as far as they are known
    reads    the names outside that decide them
    is_cut   was one needed in this round before it was found? Then another round follows, as long as one `changes`
    """

    def __init__(self) -> None:
        self.found: dict[int, Effect] = {}
        self.functions: dict[int, FunctionType] = {}
        self.reads: dict[str, Read] = {}
        self.again()

    def again(self) -> None:
        self.is_cut = self.changes = False
        self._begun: set[int] = set()
        self._ended: set[int] = set()

    def effect(self, key: int, find: Callable[[], Effect], function: FunctionType) -> Effect:
        if key in self._begun:
            self.is_cut |= key not in self._ended
            return self.found.get(key, LEAST)
        self._begun.add(key)
        effect = find()
        self._ended.add(key)
        self.changes |= effect != self.found.get(key)
        self.found[key], self.functions[key] = effect, function
        return effect


class Effects(Checks):
    """The part of a translation that is about effects of calls."""

    _inside: list[Inside]
    _decided: dict[int, Effect]  # of functions outside
    _returning: dict[int, bool]  # of methods of operators: do they return records?
    _progress: Progress | None
    _in_progress: dict[int, Effect]  # what is assumed of functions inside whose effects are being found
    _followed: set[str]
    _effects_inside: dict[Function, Effect]
    _is_differentiated = False  # is a function the operand of a derivative, whose arguments are values?

    @abstractmethod
    def entered(self, node: Function) -> AbstractContextManager[Inside]:
        """What is known of a function inside, as long as it is the innermost."""

    # Effects.

    def effects_of(self, call: ast.Call) -> list[tuple[Effect, inspect.Signature, int]]:
        """The effects of the functions that a call may call, as far as they are written in Python; their signatures, and how many
        parameters are given otherwise.
        """
        found: list[tuple[Effect, inspect.Signature, int]] = []
        node = self._function_inside(call.func)
        if node is not None:
            return [(self._effect_inside(node), signature_in_text(node), 0)]
        value = self.object_of(call.func, NOWHERE)
        if value is not MISSING:
            before = len(value.args) if isinstance(value, functools.partial) else 0
            function = written(value.func if isinstance(value, functools.partial) else value)
            if function is not None:
                before += inspect.ismethod(python_of(value))
                found.append((self._effect(function), own_signature(function), before))
        elif isinstance(call.func, ast.Attribute):
            for record in self.with_name(call.func.attr):
                method = inspect.getattr_static(record.kind, call.func.attr, None)
                function = written(method)
                if function is not None:
                    before = int(not isinstance(method, staticmethod))
                    found.append((self._effect(function), own_signature(function), before))
        return found

    def _function_inside(self, called: ast.AST) -> Function | None:
        """The function inside that is called; None if it is not known."""
        if isinstance(called, ast.Lambda):
            return called
        if not isinstance(called, ast.Name):
            return None
        for inside in reversed(self._inside):
            if called.id in inside.names:
                function = inside.functions.get(called.id)
                is_plain = not isinstance(function, ast.FunctionDef) or not self.decorators(function, NOWHERE)
                return function if is_plain else None
        return None

    def decorators(self, node: ast.FunctionDef, scope: Scope) -> list[ast.expr]:
        """Those of a function inside that change what its calls do."""
        return [
            one
            for one in node.decorator_list
            if not changes_nothing(self.object_of(one.func if isinstance(one, ast.Call) else one, scope))
        ]

    def _effect(self, function: FunctionType) -> Effect:
        """The effect of a function outside: the least solution, as functions may call each other."""
        key = id(function)
        if key in self._decided:
            return self._decided[key]
        if self._progress is not None:
            return self._progress.effect(key, lambda: self._found(function), function)
        decided = self.outside.effects.get(key)
        if not isinstance(decided, Decided) or not all(read.is_current() for _, read in decided.reads):
            self._progress = progress = Progress()
            try:
                while True:
                    progress.effect(key, lambda: self._found(function), function)
                    if not (progress.is_cut and progress.changes):
                        break
                    progress.again()
            finally:
                self._progress = None
            reads = tuple(progress.reads.items())
            for one, of in progress.functions.items():
                self.outside.effects[one] = Decided(of, progress.found[one], reads)
            decided = self.outside.effects[key]
        self.reads.update(decided.reads)
        self._decided[key] = decided.effect
        return self._decided[key]

    def _found(self, function: FunctionType) -> Effect:
        other = self.another(function)
        if other is None:
            return NOTHING_KNOWN
        whole, node = other
        whole._progress = self._progress
        assert self._progress is not None
        try:
            return whole._effect_inside(whole.desugared(node))
        except VladError:  # its translation raises it
            return NOTHING_KNOWN
        finally:
            own = f" of {function.__qualname__} {id(function)}"
            self._progress.reads.update({key + own: read for key, read in whole.reads.items()})

    def desugared(self, node: Function, is_lazy: bool = False) -> Function:
        """The tree of the function, which is changed: without what other statements express (desugar.py)."""

        def meaning(one: ast.AST) -> Any:
            return self.object_of(one, NOWHERE)

        def has_records(attribute: str) -> bool:
            return bool(self.with_name(attribute))

        names = self.function.__globals__
        return desugared(node, self.refuse, meaning, has_records, names, self.note_import, is_lazy)

    def another(self, function: FunctionType) -> tuple[Effects, Function] | None:
        """The translation of another function, and its tree; None if its text is not known."""
        try:
            node, text = node_of(function, self.outside.lines_of(function))
        except VladError:
            return None
        return type(self)(function, text, self.outside), node

    def _effect_inside(self, node: Function) -> Effect:
        """The effect of a function whose tree is known here."""
        if id(node) in self._in_progress:
            return self._in_progress[id(node)]
        if node not in self._effects_inside:
            is_outermost = not self._in_progress
            effect = self._found_inside(node)
            if not is_outermost:
                return effect
            self._effects_inside[node] = effect
        return self._effects_inside[node]

    def _found_inside(self, node: Function) -> Effect:
        self._in_progress[id(node)] = LEAST
        try:
            with self.entered(node) as own:
                while True:
                    effect = self._effect_of_body(node, own)
                    if effect == self._in_progress[id(node)]:
                        return effect
                    self._in_progress[id(node)] = effect
        finally:
            del self._in_progress[id(node)]

    def _effect_of_body(self, node: Function, own: Inside) -> Effect:
        own.forget()
        changed: dict[str, bool] = {}
        given = set(parameters(node))
        for place in own.nodes:
            roots = changed_by(place)
            for root in roots:
                self._note(changed, root.id, True, place, given)
            if roots:
                continue
            if isinstance(place, ast.AugAssign) and isinstance(place.target, ast.Name):
                self._note(changed, place.target.id, False, place, given)
            elif isinstance(place, ast.Call):
                for argument, is_sure in self._changed_arguments(place):
                    if isinstance(argument, ast.Name):
                        self._note(changed, argument.id, is_sure, place, given)
        kept: set[str] = set()
        for one in given:
            if any(not self._is_returned(at, own) for at in own.sharing(one, self.keeps_nothing_of)):
                kept.add(one)
        returns = [one.value for one in own.nodes if isinstance(one, ast.Return) and one.value is not None]
        return Effect(changed, self._shared_by_all(returns, own, given), frozenset(kept))

    def _note(
        self, changed: dict[str, bool], own: str, is_sure: bool, node: ast.AST, given: set[str]
    ) -> None:
        for one in self.inside.exchanged_with(own) & given:
            if not self.is_made_before(node, one):
                changed[one] = changed.get(one, False) or is_sure

    def _is_returned(self, node: ast.AST, own: Inside) -> bool:
        around = own.around.get(node)
        while isinstance(around, ast.Tuple | ast.List | ast.Dict | ast.IfExp | ast.BoolOp | ast.Call):
            if isinstance(around, ast.Call) and (
                not isinstance(node, ast.expr) or not self.keeps_nothing_of(around, node, is_consumed=True)
            ):
                return False
            node, around = around, own.around.get(around)
        return isinstance(around, ast.Return)

    def _shared_by(self, value: ast.expr, own: Inside, given: set[str]) -> frozenset[str] | None:
        """The parameters whose values a value may be, or have as a part; None if it may be another one that something has. A part
        of an array is a view of it.
        """
        match value:
            case (
                ast.Tuple(elts=parts)
                | ast.List(elts=parts)
                | ast.BoolOp(values=parts)
                | ast.Dict(values=parts)
            ):
                return self._shared_by_all(parts, own, given)
            case ast.IfExp(body=yes, orelse=no):
                return self._shared_by_all([yes, no], own, given)
            case ast.Starred(value=items):
                return self._shared_by(items, own, given)
            case ast.ListComp(elt=item):
                return self._shared_by(item, own, given)
            case ast.BinOp() | ast.Constant() | ast.UnaryOp() | ast.Compare() | ast.JoinedStr():
                return frozenset()
            case ast.Set() | ast.SetComp():  # what is in a set does not change
                return frozenset()
            case ast.Name(id=variable) if variable in own.names:
                return self._shared_by_name(variable, own, given)
            case ast.Subscript(value=ast.Name(id=variable), slice=index) if (
                variable in given and not isinstance(index, ast.Slice)
            ):
                return self._shared_by_name(variable, own, given)
            case ast.Call(func=function):
                if own.fresh.makes_array(value) or self._is_number(value):
                    return frozenset()
                if own.fresh.is_call(value, set, frozenset):
                    return frozenset()
                if own.fresh.is_call(value, list, sorted, tuple) and len(value.args) == 1:
                    (items,) = value.args
                    part = items.value if isinstance(items, ast.Subscript) else items
                    return self._shared_by(part, own, given)
                if (
                    isinstance(function, ast.Attribute)
                    and function.attr in NUMERIC
                    and not self.with_name(function.attr)
                ):
                    return frozenset()
                return self._shared_by_call(value, own, given)
        return None

    def _is_number(self, call: ast.Call) -> bool:
        found = known(self.object_of(call.func, NOWHERE))
        return found is not None and found.is_number and found.keeps_nothing

    def _shared_by_all(
        self, values: Sequence[ast.expr], own: Inside, given: set[str]
    ) -> frozenset[str] | None:
        result: frozenset[str] = frozenset()
        for one in values:
            found = self._shared_by(one, own, given)
            if found is None:
                return None
            result |= found
        return result

    def _shared_by_name(self, variable: str, own: Inside, given: set[str]) -> frozenset[str] | None:
        if variable in self._followed:  # by a loop: what else it is decides
            return frozenset()
        shared = own.sharing(variable, self.keeps_nothing_of)
        # what the name gets is followed below
        kept = [one for one in shared if not (isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))]
        if variable not in given and any(not self._is_returned(one, own) for one in kept):
            return None
        values: list[ast.expr] = []
        items_of = {variable} & given
        for place in own.places.get(variable, ()):
            match own.statements[place]:
                case ast.Assign(value=value) | ast.AugAssign(value=value):
                    values.append(value)
                case ast.AnnAssign(value=ast.expr() as value):
                    values.append(value)
                case ast.Expr(value=ast.Call(args=arguments)):
                    values += arguments
                case ast.For(target=ast.Name(), iter=items) if own.fresh.is_call(items, range):
                    continue
                case ast.For(
                    target=ast.Name(), iter=ast.Name(id=root) | ast.Subscript(value=ast.Name(id=root))
                ) if root in given and root not in own.places:
                    items_of.add(root)
                case _:
                    return None
        self._followed.add(variable)
        found = self._shared_by_all(values, own, given)
        self._followed.discard(variable)
        return None if found is None else found | items_of

    def _shared_by_call(self, call: ast.Call, own: Inside, given: set[str]) -> frozenset[str] | None:
        results = self._results(call)
        return None if results is None else self._shared_by_all(results, own, given)

    def _results(self, call: ast.Call) -> list[ast.expr] | None:
        """The arguments of a call that its result may be, or have as a part; None if that is not known: the method of a value may
        be another one, and a default belongs to all calls.
        """
        effects = [] if self._is_method(call) else self.effects_of(call)
        found: list[ast.expr] = []
        for effect, signature, before in effects:
            if effect.returned is None:
                return None
            given = list(bound_arguments(call, signature, before))
            if not effect.returned <= {own for own, _ in given}:
                return None
            found += [argument for own, argument in given if own in effect.returned]
        return found if effects else None

    def _is_method(self, call: ast.Call) -> bool:
        return isinstance(call.func, ast.Attribute) and self.object_of(call.func, NOWHERE) is MISSING

    # What calls change.

    def _changed_arguments(self, call: ast.Call) -> Iterator[tuple[ast.expr, bool]]:
        """The arguments that a call changes in place, and whether it surely does."""
        for effect, signature, before in self.effects_of(call) or self._effects_of_records(call):
            for own, argument in bound_arguments(call, signature, before):
                if own in effect.changed:
                    yield argument, effect.changed[own]

    def _effects_of_records(self, call: ast.Call) -> list[tuple[Effect, inspect.Signature, int]]:
        """Those of calls of records, one of which a value may be."""
        if self.object_of(call.func, NOWHERE) is not MISSING or isinstance(call.func, ast.Attribute):
            return []
        found = [written(one) for one in self._operators("__call__")]
        return [(self._effect(one), own_signature(one), 1) for one in found if one is not None]

    def _operators(self, *names: str) -> list[Any]:
        records = self.with_name(OPERATED)
        return [inspect.getattr_static(record.kind, one, None) for record in records for one in names]

    def operators_make(self) -> bool:
        """Do the operators of the records in use return records, or values of their own?"""
        return all(
            self._returns_records(one)
            for own in self._operators(*set(OPERATORS) - {"__call__"})
            if (one := written(own)) is not None
        )

    def may_share(self, method: str) -> bool:
        """May a method of the records in use return a value that something else has?"""
        found = [written(inspect.getattr_static(one.kind, method, None)) for one in self.with_name(method)]
        return any(one is None or not self._returns_records(one) for one in found)

    def _returns_records(self, function: FunctionType) -> bool:
        found = self._returning.get(id(function))
        if found is None:
            found = self._returning[id(function)] = self._find_returned(function)
        return found

    def _find_returned(self, function: FunctionType) -> bool:
        other = self.another(function)
        if other is None:
            return False
        whole, node = other
        returned = [one.value for one in nodes_in(body_of(node)) if isinstance(one, ast.Return)]
        return all(whole._is_made_by_operator(one) for one in returned)

    def _is_made_by_operator(self, value: ast.expr | None) -> bool:
        """Is what a method of an operator returns a record, or a value of its own?"""
        match value:
            case ast.Call(func=function):
                return isinstance(self.object_of(function, NOWHERE), type) or self._is_number(value)
            case ast.IfExp(body=yes, orelse=no):
                return self._is_made_by_operator(yes) and self._is_made_by_operator(no)
            case ast.Name() if self.object_of(value, NOWHERE) is NotImplemented:
                return True
        return isinstance(value, ast.BinOp | ast.Constant | ast.UnaryOp | ast.Compare | None)

    def keeps_nothing_of(
        self, call: ast.Call, argument: ast.expr | None = None, is_consumed: bool = False
    ) -> bool:
        if super().keeps_nothing_of(call, argument):
            return True
        effects = [] if self._is_method(call) else self.effects_of(call)
        is_consumed = is_consumed or isinstance(
            self.inside.around.get(call), ast.Expr
        )  # the result is not used
        if argument is None:
            return bool(effects) and all(
                not one.kept and one.returned == frozenset() for one, _, _ in effects
            )
        return bool(effects) and all(
            (effect.returned is not None or is_consumed)
            and all(
                own not in effect.kept and (is_consumed or own not in (effect.returned or ()))
                for own, given in bound_arguments(call, signature, before)
                if given is argument
            )
            for effect, signature, before in effects
        )

    def returns_own(self, call: ast.Call, given: str | None = None) -> bool:
        """Is the result of a call a value that nothing else has, or that a name had which is given?"""
        results = self._results(call)
        if results is None or any(effect.kept for effect, _, _ in self.effects_of(call)):
            return False
        return all(
            (isinstance(one, ast.Name) and one.id == given) or self.inside.fresh.makes(one) for one in results
        )

    def _call(self, node: ast.Call, scope: Scope) -> Syntax:
        if self.object_of(node.func, scope) is functools.partial and node.args:
            function = self._function_inside(node.args[0])
            elsewhere = written(self.object_of(node.args[0], scope))
            if function is not None:
                self._expect_value(self._effect_inside(function), node.args[0])
            elif elsewhere is not None:
                self._expect_value(self._effect(elsewhere), node.args[0])
        tested: set[int] = set()
        for argument, is_sure in self._changed_arguments(node):
            if self._is_unseen(argument, node):
                continue
            if is_sure:
                what = (
                    f"{ast.unparse(argument)} as an argument that {ast.unparse(node.func)} changes in place"
                )
                raise self.refuse(
                    what, argument, "Python shows the change here: return the new value, or pass a .copy()"
                )
            tested.add(id(argument))
        if not tested:
            return super()._call(node, scope)

        return super()._call(self.guarded(node, tested), scope)

    @staticmethod
    def guarded(call: ast.Call, tested: set[int]) -> ast.Call:
        """A call, with a test that the arguments of these ids are no arrays or lists, which it would change in place."""

        def tested_one(one: ast.expr) -> ast.expr:
            if id(one) not in tested or isinstance(one, Computed):
                return one
            own = ast.unparse(one)
            text = f"{ast.unparse(call.func)} changes {own} by += or its kin, and Python shows that: pass {own}.copy()"
            return at(Computed("%py-unchanged-argument", [one, ast.Constant(text)]), one)  # type: ignore[no-any-return]  # as it is given

        keywords = [
            ast.copy_location(ast.keyword(one.arg, tested_one(one.value)), one) for one in call.keywords
        ]
        return ast.copy_location(ast.Call(call.func, [tested_one(one) for one in call.args], keywords), call)

    def _is_unseen(self, argument: ast.expr, call: ast.Call) -> bool:
        """Does nothing see a change of an argument after a call?"""
        if not isinstance(argument, ast.Name):
            is_number = isinstance(argument, ast.Constant | ast.Compare)
            is_made = self.inside.fresh.makes(argument) and not isinstance(argument, ast.Subscript)
            return (
                is_number or is_made or (isinstance(argument, ast.Call) and self.keeps_nothing_of(argument))
            )
        own, inside = argument.id, self.inside
        statement = inside.statements.get(call)
        if own not in inside.names or statement is None or self._is_repeated(call, statement):
            return False
        elsewhere = self._not_after(call)
        reads = [
            one
            for one in walk(statement)
            if isinstance(one, ast.Name) and one.id == own and id(one) not in elsewhere
        ]
        if len([one for one in reads if isinstance(one.ctx, ast.Load)]) != 1:
            return False
        is_renamed = isinstance(statement, ast.Assign | ast.AnnAssign) and any(
            isinstance(one.ctx, ast.Store) for one in reads
        )
        is_end = isinstance(statement, ast.Return | ast.Raise)
        live = inside.liveness.after[statement]
        if isinstance(statement, ast.While):
            live |= inside.liveness.head[statement]
        if own in live and not is_renamed and not is_end:
            return False
        if own in inside.defaults and not self.is_made_before(call, own):
            return False
        shared = [
            one for had in inside.exchanged_with(own) for one in inside.sharing(had, self.keeps_nothing_of)
        ]
        return not any(self.is_before(one, statement, own) for one in shared if one is not argument)

    def _not_after(self, node: ast.AST) -> set[int]:
        """The ids of the nodes of conditional expressions around one that are not evaluated if it is, or decide that."""
        found: set[int] = set()
        around = self.inside.around.get(node)
        while around is not None:
            if isinstance(around, ast.IfExp) and node is not around.test:
                other = around.orelse if node is around.body else around.body
                found.update(map(id, [*walk(around.test), *walk(other)]))
            node, around = around, self.inside.around.get(around)
        return found

    def _is_repeated(self, node: ast.AST, statement: ast.stmt) -> bool:
        """May a part of a statement be evaluated several times, or later?"""
        around = self.inside.around.get(node)
        while around is not None and around is not statement:
            if isinstance(around, (ast.Lambda, *COMPREHENSIONS)):
                return True
            around = self.inside.around.get(around)
        return False

    # Functions as values.

    def _name(self, node: ast.Name, scope: Scope) -> Syntax:
        function = self._function_inside(node) if node.id in scope.names else None
        if function is not None and not self._is_differentiated:
            self._expect_value(self._effect_inside(function), node)
        return super()._name(node, scope)

    def constant_of(self, value: Any, key: str, node: ast.expr, is_called: bool = False) -> Syntax:
        found = super().constant_of(value, key, node, is_called)
        function = written(value.func if isinstance(value, functools.partial) else value)
        if is_called or self._is_differentiated or function is None:
            return found
        effect = self._effect(function)
        self._expect_value(effect, node)
        changed = effect.changed
        if not changed or isinstance(value, functools.partial):
            return found
        span, names = self.span(node), [self.fresh(one) for one in own_signature(function).parameters]
        variables = [name(one, span) for one in names]
        text = f"{key} changes its argument by += or its kin, and Python shows that: pass a .copy()"
        operands: list[Syntax] = [
            form(span, "%py-unchanged-argument", own, string(text, span)) if one in changed else own
            for one, own in zip(own_signature(function).parameters, variables, strict=True)
        ]
        return form(span, "lambda", Form(tuple(variables), None, span), form(span, found, *operands))

    def _expect_value(self, effect: Effect, node: ast.expr) -> None:
        """Raise VladError if a function that is a value surely changes an argument."""
        for own in [one for one, is_sure in effect.changed.items() if is_sure]:
            what = f"{ast.unparse(node)}, which changes its argument {own} in place, as a value"
            raise self.refuse(what, node, "Python's callers see the change: return a new value instead")

    def _function(self, node: ast.expr, scope: Scope) -> Syntax:
        before, self._is_differentiated = self._is_differentiated, True
        found = super()._function(node, scope)
        self._is_differentiated = before
        return found


def written(value: Any) -> FunctionType | None:
    """The function written in Python that a value is, and that is translated in turn."""
    function = getattr(value, "__func__", value)
    function = python_of(function)
    if not isinstance(function, FunctionType) or known(function) is not None or is_of_numpy(function):
        return None
    return None if public_name(function) is not None or function is dataclasses.replace else function


def bound_arguments(
    call: ast.Call, signature: inspect.Signature, before: int
) -> Iterator[tuple[str, ast.expr]]:
    """The parameters that arguments are given to. `*items` are given to all that follow."""
    by_place = [
        one.name
        for one in signature.parameters.values()
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ][before:]
    for place, argument in enumerate(call.args):
        if isinstance(argument, ast.Starred):
            for own in by_place[place:]:
                yield own, argument
            break
        if place < len(by_place):
            yield by_place[place], argument
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg, keyword.value
        else:
            for own in signature.parameters:
                yield own, keyword.value
