"""Python's statements → syntax.

In: the statements of a function, and what follows them.  Out: one expression. An assignment becomes a `let` around what follows;
a loop becomes a named `let` whose variables are the names that it binds and that are live at its head, so that reverse mode needs
no stack; a branch that assigns returns the assigned values. Where a statement may end the function or a loop around it, what
follows stands in tail position inside of it, so that `return`, `break` and `continue` are the expressions that end there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType

from vlad.data.raised import RAISED
from vlad.data.source import Span
from vlad.data.tensors import is_array
from vlad.reader.parser import Form, Syntax
from vlad.translate.changes import Rest
from vlad.translate.decorators import is_cache
from vlad.translate.expressions import NONE, OTHER, REAL, Emit, Outside, Scope
from vlad.translate.fresh import Fresh
from vlad.translate.generators import Generators
from vlad.translate.inside import Inside, handed_back
from vlad.translate.iterations import listed
from vlad.translate.names import (
    Function,
    appended_by,
    arguments_of,
    bound_at_end,
    bound_by,
    bound_in,
    captured_in,
    changed_by,
    falls,
    free_in,
    is_pop,
    jumps,
    leaves_often,
    parameters,
    reads_otherwise,
)
from vlad.translate.nodes import Again, Handed, at, name_at
from vlad.translate.refusals import outside
from vlad.translate.signatures import own_signature
from vlad.translate.source import Text
from vlad.translate.syntax import form, name, quoted, string
from vlad.translate.trees import nodes_in
from vlad.translate.versions import is_lazy


@dataclass(frozen=True, slots=True)
class Exits:
    """Of the innermost loop: the next turn, and what follows the loop."""

    next: Emit
    end: Emit


def given_as(call: ast.Call, own: str) -> ast.expr | None:
    """The argument that a call is given for a variable of that name (nonlocals.py), the first such."""
    return next((one for one in call.args if isinstance(one, ast.Name) and one.id == own), None)


def _changeable_defaults(function: FunctionType) -> frozenset[str]:
    """The parameters of a function with a list, a dict or an array as default."""
    return frozenset(
        one.name
        for one in own_signature(function).parameters.values()
        if isinstance(one.default, list | dict) or is_array(one.default)
    )


class Statements(Generators):
    """The translation of one Python function: `procedure`."""

    def __init__(self, function: FunctionType, text: Text, outside_: Outside) -> None:
        super().__init__(function, text, outside_)
        self._inside: list[Inside] = []
        self._changed_by_calls = {}
        self._locals: list[frozenset[str]] = [frozenset()]
        self._exits: list[Exits] = []
        self._attempts = 0  # the loops within `try` around this place
        self._appending, self._packing = {}, {}
        self._decided, self._returning, self._progress = {}, {}, None
        self._in_progress, self._followed, self._effects_inside = {}, set(), {}
        self._fresh_values = Fresh(
            lambda node: self.object_of(node, Scope({})),
            self.may_share,
            self.returns_own,
            self.operators_make,
        )

    @property
    def locals_(self) -> frozenset[str]:
        return self._locals[-1]

    @property
    def own_locals(self) -> frozenset[str]:
        return self.inside.names

    @property
    def inside(self) -> Inside:
        return self._inside[-1]

    def own_name(self, python: str) -> str:
        return self._appending.get(python) or super().own_name(python)

    # Functions.

    @contextmanager
    def entered(self, node: Function) -> Iterator[Inside]:
        own = Inside(node, self._fresh_values, () if self._inside else _changeable_defaults(self.function))
        self._inside.append(own)
        self._locals.append(self._locals[-1] | own.names)
        try:
            yield own
        finally:
            self._inside.pop()
            self._locals.pop()

    def procedure(self, node: Function, scope: Scope) -> Syntax:
        """A function as a lambda, in the scope around it."""
        arguments, span = node.args, self.span(node)
        if self._inside:
            self.expect_settled(node)
            for default in [*arguments.defaults, *filter(None, arguments.kw_defaults)]:
                if not isinstance(default, ast.Constant):
                    raise self.refuse(
                        "this default inside", default, "a nested function has constants as defaults"
                    )
        self.hand_back(node)
        before = self.kinds, self._exits, self._appending, self._packing, self._yielding, self._attempts
        self._attempts = 0
        self._yielding = self.fresh("yield") if is_lazy(node) else ""
        with self.entered(node) as own:
            own.changed_by_item |= self._changed_by_calls.get(node, set())
            self._exits, self._appending, self._packing = [], {}, {}
            self.kinds = self._kinds(own)
            names = []
            for argument in arguments_of(node):
                names.append(name(self.own_name(argument.arg), self.span(argument)))
                scope = scope.bind(argument.arg, self.own_name(argument.arg))
            body = self.block(own.body, scope, Rest(lambda _: quoted(NONE, span), is_small=True))
        if isinstance(node, ast.FunctionDef) and self._yielding:
            body = self.generating(node, body)
        self.kinds, self._exits, self._appending, self._packing, self._yielding, self._attempts = before
        return form(span, "lambda", Form(tuple(names), None, span), body)

    def _kinds(self, own: Inside) -> dict[str, int]:
        """What the variables of a function surely hold: the greatest solution."""
        kinds = {one: REAL for one in own.names if one not in parameters(own.node)}
        changes = True
        while changes:
            changes, self.kinds = False, kinds
            for one, places in own.places.items():
                if one in kinds:
                    kind = min([self._bound_kind(one, place, own) for place in places])
                    if kind < kinds[one]:
                        kinds[one], changes = kind, True
        return kinds

    def _bound_kind(self, bound: str, place: ast.AST, own: Inside) -> int:
        """The kind of the value that a place binds a name to."""
        match own.statements[place]:
            case ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(value=ast.expr() as value):
                return self.kind(value)
            case ast.Assign(targets=[ast.Tuple(elts=left)], value=ast.Tuple(elts=right)) if len(left) == len(
                right
            ):
                found = [
                    self.kind(value) for target, value in zip(left, right, strict=True) if target is place
                ]
                return found[0] if found else OTHER
            case ast.AugAssign(target=ast.Name() as target, op=operator, value=value):
                return self.kind(ast.BinOp(ast.Name(target.id, ast.Load()), operator, value))
            case ast.For(target=ast.Name(), iter=ast.Call() as call):
                return REAL if self.object_of(call.func, Scope({})) is range else OTHER
        return OTHER

    # Blocks.

    def block(self, statements: Sequence[ast.stmt], scope: Scope, rest: Rest) -> Syntax:
        """Statements, and what follows them."""
        if not statements:
            return rest.emit(scope)
        statement, count = statements[0], 1
        if isinstance(statement, ast.FunctionDef):  # definitions that follow each other may call each other
            while count < len(statements) and isinstance(statements[count], ast.FunctionDef):
                count += 1
        others = statements[count:]
        following = rest if not others else Rest(lambda scope: self.block(others, scope, rest))
        if isinstance(statement, ast.FunctionDef):
            return self._definitions(
                [one for one in statements[:count] if isinstance(one, ast.FunctionDef)], scope, following
            )
        method = getattr(self, f"_do_{type(statement).__name__.lower()}", None)
        if method is None:
            raise outside(statement, self.span(statement))
        found: Syntax = method(statement, scope, following)
        return found

    def _do_pass(self, node: ast.Pass, scope: Scope, rest: Rest) -> Syntax:
        return rest.emit(scope)

    def _do_return(self, node: ast.Return, scope: Scope, rest: Rest) -> Syntax:
        value = quoted(NONE, self.span(node)) if node.value is None else self.expression(node.value, scope)
        return self._returned(value, self.span(node))

    def _returned(self, value: Syntax, span: Span) -> Syntax:
        """What a `return` ends with, which a loop within `try` tells from its own end."""
        return form(span, "list", quoted("%returned", span), value) if self._attempts else value

    def _do_break(self, node: ast.Break, scope: Scope, rest: Rest) -> Syntax:
        return self._exits[-1].end(scope)

    def _do_continue(self, node: ast.Continue, scope: Scope, rest: Rest) -> Syntax:
        return self._exits[-1].next(scope)

    def _do_expr(self, node: ast.Expr, scope: Scope, rest: Rest) -> Syntax:
        if isinstance(node.value, ast.Constant):  # a comment, such as a docstring
            return rest.emit(scope)
        if isinstance(node.value, Handed):
            return self.handed([], node.value, scope, rest, node)
        if isinstance(node.value, ast.Yield):
            return self.yielded(node.value, scope, rest)
        changed = None if changed_by(node) is None else self.change(node, scope, rest)
        if changed is not None:
            return changed
        span = self.span(node)
        return form(span, "begin", self.expression(node.value, scope), rest.emit(scope))

    def _do_assert(self, node: ast.Assert, scope: Scope, rest: Rest) -> Syntax:
        span = self.span(node)
        message = (
            string("", span) if node.msg is None else form(span, "%py-text", self.expression(node.msg, scope))
        )
        failure = self._raising("AssertionError", message, span)
        return form(span, "if", self.test(node.test, scope), rest.emit(scope), failure)

    def _do_raise(self, node: ast.Raise, scope: Scope, rest: Rest) -> Syntax:
        if isinstance(node.exc, Again):
            return self.raised_again(node.exc, scope)
        span = self.span(node)
        given = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        kind = None if given is None else self.object_of(given, scope)
        if not (isinstance(kind, type) and issubclass(kind, Exception)) or kind.__module__ != "builtins":
            raise self.refuse("this `raise`", node, "raise one of Python's own exceptions, with a text")
        arguments = node.exc.args if isinstance(node.exc, ast.Call) else []
        if len(arguments) > 1:
            raise self.refuse("an exception of several values", node, "raise it with one text")
        shown = "%py-written" if issubclass(kind, KeyError) else "%py-text"  # as str(error) does
        message = form(span, shown, self.expression(arguments[0], scope)) if arguments else string("", span)
        counterpart = next(one.__name__ for one in kind.__mro__ if one.__name__ in RAISED)
        if counterpart != kind.__name__:
            words = f"{kind.__name__}: " if arguments else kind.__name__
            message = form(span, "string-append", string(words, span), message)
        return self._raising(counterpart, message, span)

    def _raising(self, kind: str, message: Syntax, span: Span) -> Syntax:
        """The raising of an exception. It is no tail call, so that the place is known exactly."""
        return form(span, "begin", form(span, "%py-fails", quoted(kind, span), message), quoted(NONE, span))

    def _do_delete(self, node: ast.Delete, scope: Scope, rest: Rest) -> Syntax:
        first, *others = node.targets
        if others:
            raise self.refuse("several targets of `del`", node, "delete one after the other")
        return self.delete(first, scope, rest, node)

    # Assignments.

    def _do_assign(self, node: ast.Assign, scope: Scope, rest: Rest) -> Syntax:
        span = self.span(node)
        (first, *others), value = node.targets, node.value
        if handed_back(node):
            self._expect_handed_back(node)
        if isinstance(value, Handed):
            return self.handed(node.targets, value, scope, rest, node)
        if is_pop(value) and isinstance(value, ast.Call):
            return self.pop(node.targets, value, scope, rest, node)
        if others and not all(isinstance(one, ast.Name) for one in node.targets):
            return self._set_each(node, scope, rest)
        if isinstance(first, ast.Subscript):
            return self.set_item(first, self.expression(value, scope), scope, rest, node)
        if (
            not others
            and isinstance(first, ast.Tuple)
            and isinstance(value, ast.Tuple)
            and len(first.elts) == len(value.elts)
        ):
            names = [one for one in first.elts if isinstance(one, ast.Name)]
            if len({one.id for one in names}) == len(first.elts) and not any(
                isinstance(one, ast.Starred) for one in value.elts
            ):
                values = self.operands(value.elts, scope)
                parallel: list[tuple[Syntax, Syntax]] = []
                for one, part in zip(names, values, strict=True):
                    parallel.append((name(self.own_name(one.id), self.span(one)), part))
                    scope = scope.bind(one.id, self.own_name(one.id))
                return self.let(parallel, rest.emit(scope), span)
        if (
            not others
            and isinstance(first, ast.Tuple)
            and any(isinstance(one, ast.Subscript) for one in first.elts)
        ):
            return self._set_several(first, value, scope, rest, node)
        if isinstance(first, ast.Name) and isinstance(value, ast.Lambda):
            self.expect_not_kept(first.id, value)
        if (
            isinstance(first, ast.Name)
            and isinstance(value, ast.Lambda)
            and first.id in free_in(value)
            and not others
        ):
            own = self.own_name(first.id)  # it calls itself
            scope = scope.bind(first.id, own).knowing(first.id, value)
            pair = Form((name(own, span), self.procedure(value, scope)), None, span)
            return form(span, "letrec", Form((pair,), None, span), rest.emit(scope))
        consumes = isinstance(first, ast.Tuple | ast.List)
        given_ = self.argument(value, scope) if consumes else self.expression(value, scope)
        bindings, within = self.turn_bindings(first, given_, scope)
        for other in others:
            given = bindings[0][0]
            more, within = self.turn_bindings(other, given, within)
            bindings += more
        if isinstance(first, ast.Name) and isinstance(value, ast.Lambda):
            within = within.knowing(first.id, value)
        return self.bound(bindings, rest.emit(within), span)

    def _expect_handed_back(self, node: ast.Assign) -> None:
        """Raise VladError if something else may see the values that a function inside changes in place."""
        assert isinstance(node.value, ast.Call)
        call, function = node.value, self._function_inside(node.value.func)
        given = [*call.args, *[one.value for one in call.keywords]]
        for own in handed_back(node):
            others = [one for one in given if one is not given_as(call, own)]
            is_kept = function is None or own in self._effect_inside(function).kept
            if is_kept or any(self._may_have(one, own) for one in others):
                what = f"a call of {ast.unparse(call.func)} here, which changes {own}"
                raise self.refuse(
                    what, call, f"something else may have the value of {own}: return the new value"
                )

    def _set_each(self, node: ast.Assign, scope: Scope, rest: Rest) -> Syntax:
        """Several targets that get one value: `xs[i] = y = e`."""
        span = self.span(node)
        value, given = name(self.fresh("value"), span), self.expression(node.value, scope)
        return self.let(
            [(value, given)],
            self.assigned(node.targets, [value] * len(node.targets), scope, rest, node),
            span,
        )

    def assigned(
        self,
        targets: Sequence[ast.expr],
        values: Sequence[Syntax],
        scope: Scope,
        rest: Rest,
        node: ast.stmt,
    ) -> Syntax:
        """Names and items that get values, one after the other."""
        if not targets:
            return rest.emit(scope)
        (first, *others), (value, *more) = targets, values
        following = Rest(lambda scope: self.assigned(others, more, scope, rest, node))
        if isinstance(first, ast.Subscript):
            return self.set_item(first, value, scope, following, node)
        bindings, within = self.turn_bindings(first, value, scope)
        return self.bound(bindings, following.emit(within), self.span(node))

    def _set_several(
        self, target: ast.Tuple, value: ast.expr, scope: Scope, rest: Rest, node: ast.Assign
    ) -> Syntax:
        """Items and names that get values at once: `xs[i], xs[j] = xs[j], xs[i]`."""
        span = self.span(node)
        if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
            raise self.refuse("several targets with an index", node, "assign one after the other")
        values = [name(self.fresh("value"), span) for _ in target.elts]
        pairs: list[tuple[Syntax, Syntax]] = list(zip(values, self.operands(value.elts, scope), strict=True))
        return self.let(pairs, self.assigned(target.elts, values, scope, rest, node), span)

    def _do_annassign(self, node: ast.AnnAssign, scope: Scope, rest: Rest) -> Syntax:
        if node.value is None:
            return rest.emit(scope)
        if not isinstance(node.target, ast.Name):
            raise self.refuse("this target", node, "annotate names")
        bindings, within = self.turn_bindings(node.target, self.expression(node.value, scope), scope)
        return self.bound(bindings, rest.emit(within), self.span(node))

    def _do_augassign(self, node: ast.AugAssign, scope: Scope, rest: Rest) -> Syntax:
        span = self.span(node)
        if isinstance(node.target, ast.Subscript):
            return self.set_increased(node, scope, rest)
        if not isinstance(node.target, ast.Name):
            raise self.refuse("this target", node, "assign to names")
        reads = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        kinds = self.kind(reads), self.kind(node.value)
        left, right = self.variable(reads, scope), self.operand(node.value, node.op, scope)
        if kinds[0] != REAL and node.target.id in self.inside.names:
            self.expect_no_default(node.target.id, node)
        is_shared = node.target.id not in self.inside.names
        if kinds[0] != REAL and not is_shared:
            shared = self.inside.sharing(node.target.id, self.keeps_nothing_of)
            is_shared = any(self.is_before(one, node, node.target.id) for one in shared)
            if is_shared:
                left = form(span, "%py-own", left)
            if self.is_gone_through(node.target.id, node):
                is_shared = True
                if not isinstance(node.op, ast.Add):
                    left = form(span, "%py-steady", left)
        if isinstance(node.op, ast.Add) and max(kinds) == OTHER:
            value: Syntax = self.operated(
                node.op,
                left,
                right,
                kinds,
                node,
                lambda left, right: form(
                    span, "%py-increased" if is_shared else "%py-extended-or-added", left, right
                ),
            )
        else:
            if isinstance(node.op, ast.Mult) and kinds[0] == OTHER:
                left = form(span, "%py-unchanged-by-repetition", left)
            value = self.binary(node.op, left, right, kinds, node)
        if kinds[0] != REAL:
            value = form(span, "%py-in-place", self.variable(reads, scope), value)
        bindings, within = self.turn_bindings(node.target, value, scope)
        return self.bound(bindings, rest.emit(within), span)

    def _definitions(self, group: Sequence[ast.FunctionDef], scope: Scope, rest: Rest) -> Syntax:
        for node in group:
            self._expect_no_cache(node, group, scope)
        place = next((at for at, node in enumerate(group) if self.decorators(node, scope)), None)
        if place is not None:
            decorated, others = group[place], group[place + 1 :]
            more = Rest(lambda scope: self._definitions(others, scope, rest)) if others else rest
            following = Rest(lambda scope: self._decorated(decorated, scope, more))
            return self._definitions(group[:place], scope, following) if place else following.emit(scope)
        for node in group:
            self.expect_not_kept(node.name, node)
            scope = scope.bind(node.name, self.own_name(node.name)).knowing(node.name, node)
        pairs = []
        for node in group:
            own = name(self.own_name(node.name), self.span(node))
            pairs.append(Form((own, self.procedure(node, scope)), None, self.span(node)))
        span = self.span(group[0])
        return form(span, "letrec", Form(tuple(pairs), None, span), rest.emit(scope))

    def _expect_no_cache(self, node: ast.FunctionDef, group: Sequence[ast.FunctionDef], scope: Scope) -> None:
        """Raise VladError if a function inside has a cache of its results, and may call itself."""
        for one in node.decorator_list:
            if is_cache(self.object_of(one.func if isinstance(one, ast.Call) else one, scope)):
                called = [other for other in group if other.name in free_in(node)]
                if any(node.name in free_in(other) for other in (node, *called)):
                    hint = "the function calls itself, so that each result would be computed anew many times: fill a table"
                    raise self.refuse("a cache here", one, hint)

    def _decorated(self, node: ast.FunctionDef, scope: Scope, rest: Rest) -> Syntax:
        """The definition of a function inside that decorators make another one of."""
        span, decorators = self.span(node), self.decorators(node, scope)
        if node.name in free_in(node):
            hint = "call it by another function, and decorate that"
            raise self.refuse("a decorator of a function inside that calls itself", decorators[0], hint)
        self.expect_not_kept(node.name, node)
        bare = f"{node.name} without decorators"  # no name of Python's
        value: ast.expr = name_at(bare, node)
        for one in reversed(decorators):
            value = at(ast.Call(one, [value], []), one)
        own_bare, own = self.own_name(bare), self.own_name(node.name)
        inner = scope.bind(bare, own_bare).knowing(bare, node)
        made = self.expression(value, inner)
        body = self.let([(name(own, span), made)], rest.emit(scope.bind(node.name, own)), span)
        return self.let([(name(own_bare, span), self.procedure(node, scope))], body, span)

    # Branches.

    def _do_if(self, node: ast.If, scope: Scope, rest: Rest) -> Syntax:
        span = self.span(node)
        both, outer = (node.body, node.orelse), scope

        def branches(after: Rest) -> Syntax:
            yes, no = [lambda scope, arm=arm: self.block(arm, scope, after) for arm in both]
            return self.chosen(node.test, outer, yes, no, span)

        for one in captured_in(node.test):  # it may be assigned when an arm begins
            if one not in scope.names:
                scope = scope.bind(one, self.own_name(one))
                scope = Scope(scope.names, scope.maybe | {one}, scope.known)

        falling = [falls(arm) for arm in both]
        if rest.is_small or not all(falling):
            return branches(rest)
        changed = self._changed_names(node)
        if not any(jumps(arm) for arm in both):
            values, within = self._merged(
                node, changed, [self._scope_after(arm, scope) for arm in both], scope
            )
            return self._received(values, branches, rest.emit(within), span)
        after = self.fresh("after")
        ends = [self._scope_after(arm, scope) for arm in both]
        parameters_, within = self._merged(node, changed, ends, scope)
        call = Rest(lambda scope: form(span, after, *self.values(parameters_, scope, span)), is_small=True)
        pairs = Form(tuple([name(within.names[one], span) for one in parameters_]), None, span)
        procedure = form(span, "lambda", pairs, rest.emit(within))
        return self.let([(name(after, span), procedure)], branches(call), span)

    def _changed_names(self, node: ast.stmt) -> list[str]:
        """The names that a statement binds, and that are read after it."""
        live = self.inside.liveness.after[node]
        return [one for one in bound_in([node]) if one in live]

    def _scope_after(self, statements: Sequence[ast.stmt], scope: Scope) -> Scope:
        """The scope at the end of statements, as far as the names go that they bind."""
        certain, maybe = bound_at_end(statements)
        for one in certain | maybe:
            known = one in scope.names and one not in scope.maybe
            scope = scope.bind(one, scope.names.get(one, self.own_name(one)))
            if one not in certain and not known:
                scope = Scope(scope.names, scope.maybe | {one}, scope.known)
        return scope

    def _merged(
        self, node: ast.stmt, changed: list[str], ends: Sequence[Scope], scope: Scope
    ) -> tuple[list[str], Scope]:
        """The names whose values leave a statement, and the scope after it."""
        for one in changed:
            own = self.own_name(one)
            is_certain = all(one in end.names and one not in end.maybe for end in ends)
            scope = scope.bind(one, own)
            if not is_certain:
                scope = Scope(scope.names, scope.maybe | {one}, scope.known)
        return changed, scope

    def _received(
        self, names: Sequence[str], statement: Callable[[Rest], Syntax], following: Syntax, span: Span
    ) -> Syntax:
        """A statement that returns the values of names, which are bound around what follows."""

        def values(scope: Scope) -> Syntax:
            found = self.values(names, scope, span)
            if not found:
                return quoted(NONE, span)
            return found[0] if len(found) == 1 else form(span, "cons*", *found)

        value = statement(Rest(values, is_small=True))
        if not names:
            return form(span, "begin", value, following)
        own = [name(self.own_name(one), span) for one in names]
        return self.let([(own[0] if len(own) == 1 else form(span, "cons*", *own), value)], following, span)

    # Loops.

    def _do_while(self, node: ast.While, scope: Scope, rest: Rest) -> Syntax:
        return self._attempted_or_not(node, scope, rest, lambda scope, rest: self._while(node, scope, rest))

    def _do_for(self, node: ast.For, scope: Scope, rest: Rest) -> Syntax:
        return self._attempted_or_not(node, scope, rest, lambda scope, rest: self._for(node, scope, rest))

    def _attempted_or_not(
        self, node: ast.For | ast.While, scope: Scope, rest: Rest, emit: Callable[[Scope, Rest], Syntax]
    ) -> Syntax:
        """A loop; within `try`, the attempt to run it, whose result is that, and the values of the names that it has changed."""
        attempt: str | None = getattr(node, "attempted_as", None)
        if attempt is None:
            return self.packed_loop(node, scope, rest, emit)
        span, leaving = self.span(node), self._changed_names(node)

        def values(scope: Scope) -> Syntax:
            return form(span, "list", quoted("%ended", span), *self.values(leaving, scope, span))

        self._attempts += 1
        turns = self.packed_loop(node, scope, Rest(values, is_small=True), emit)
        self._attempts -= 1
        unused = Form((name(self.fresh("unused"), span),), None, span)
        tried = name(self.own_name(attempt), span)
        worked = form(span, "not", form(span, "%failed?", tried))
        result = form(span, "cdr", tried)
        left: Syntax = form(span, "cdr", result)
        bindings: list[tuple[Syntax, Syntax]] = []
        scope = scope.bind(attempt, self.own_name(attempt))
        for one in leaving:
            value = form(span, "if", worked, form(span, "car", left), quoted("%lost", span))
            bindings.append((name(self.own_name(one), span), value))
            left = form(span, "cdr", left)
            scope = scope.bind(one, self.own_name(one))
            scope = Scope(scope.names, scope.maybe | {one}, scope.known)
        following = self.bound(bindings, rest.emit(scope), span)
        if any(isinstance(one, ast.Return) for one in nodes_in([node])):
            is_returned = form(span, "eq?", form(span, "car", result), quoted("%returned", span))
            returned = self._returned(form(span, "car", form(span, "cdr", result)), span)
            following = form(span, "if", form(span, "and", worked, is_returned), returned, following)
        return self.let(
            [(tried, form(span, "%attempt", form(span, "lambda", unused, turns)))], following, span
        )

    def _while(self, node: ast.While, scope: Scope, rest: Rest) -> Syntax:
        def turns(within: Scope, end: Emit, again: Emit) -> Syntax:
            turn = self.block(node.body, within, Rest(again, is_small=True))
            if isinstance(node.test, ast.Constant) and node.test.value:
                return turn
            return form(
                self.span(node), "if", self.test(node.test, within), turn, self._otherwise(node, within, end)
            )

        return self._looped(node, scope, rest, [], turns, lambda steps: [])

    def _for(self, node: ast.For, scope: Scope, rest: Rest) -> Syntax:
        span = self.span(node)
        if self.expect_steady(node):
            keys = form(span, "%py-items", form(span, "%py-changing", self.expression(node.iter, scope)))
            iteration = listed(keys, span, self.fresh)
        else:
            iteration = self.iteration(node.iter, scope)

        def turns(within: Scope, end: Emit, again: Emit) -> Syntax:
            bindings, inner = self.turn_bindings(node.target, iteration.value, within)
            turn = self.bound(bindings, self.block(node.body, inner, Rest(again, is_small=True)), span)
            tests = iteration.tests
            test = tests[0] if len(tests) == 1 else form(span, "and", *tests)
            return form(span, "if", test, turn, self._otherwise(node, within, end))

        looped = self._looped(node, scope, rest, iteration.starts, turns, lambda _: list(iteration.steps))
        for own, value in reversed(iteration.around):
            looped = self.let([(name(own, span), value)], looped, span)
        return looped

    def _otherwise(self, node: ast.For | ast.While, within: Scope, end: Emit) -> Syntax:
        """The end of a loop whose test fails."""
        own, self._exits = self._exits, self._exits[:-1]  # a `break` there leaves the loop around
        ended = self.block(node.orelse, within, Rest(end, is_small=True))
        self._exits = own
        return ended

    def _looped(
        self,
        node: ast.For | ast.While,
        scope: Scope,
        rest: Rest,
        starts: Sequence[tuple[str, Syntax]],
        turns: Callable[[Scope, Emit, Emit], Syntax],
        steps: Callable[[None], list[Syntax]],
    ) -> Syntax:
        """A loop: its variables are those of an iteration, and the names that it binds and that are live at its head."""
        span = self.span(node)
        live = self.inside.liveness.head[node]
        carried = [one for one in bound_in([node]) if one in live]
        collected = self._collected(node, carried, scope)
        inner = scope
        variables: list[tuple[str, Syntax]] = list(starts)
        for one in carried:
            own = collected.get(one) or self.own_name(one)
            if one in collected:
                value: Syntax = form(span, "quote", Form((), None, span))
            elif one in scope.names:
                value = name(scope.names[one], span)
            else:
                value = quoted("%unassigned", span)
            variables.append((own, value))
            was_maybe = one not in scope.names or one in scope.maybe
            inner = inner.bind(one, own)
            if was_maybe:
                inner = Scope(inner.names, inner.maybe | {one}, inner.known)
        loop = self.fresh("loop")

        def again(scope: Scope) -> Syntax:
            values = self.values(carried, scope, span)
            for place, one in enumerate(carried):  # what a loop within `try` has lost
                if one in scope.maybe and one not in inner.maybe:
                    values[place] = form(span, "%py-assigned", values[place], string(one, span))
            return form(span, loop, *steps(None), *values)

        # what is not live at the head, and is after the loop, is bound on every way out of it
        leaving = self._changed_names(node)
        before, exits = self._appending, self._exits

        def leave(emit: Emit) -> Emit:
            def ended(scope: Scope) -> Syntax:
                """Lists that were collected are put behind what they were before the loop."""
                inside = self._appending, self._exits
                self._appending, self._exits = before, exits
                bindings: list[tuple[Syntax, Syntax]] = []
                for one in leaving:
                    if one in collected:
                        whole = form(
                            span, "%py-extended", name(outer[one], span), name(scope.names[one], span)
                        )
                        bindings.append((name(self.own_name(one), span), whole))
                        scope = scope.bind(one, self.own_name(one))
                found = self.bound(bindings, emit(scope), span)
                self._appending, self._exits = inside
                return found

            return ended

        outer = {one: scope.names[one] for one in collected}

        def made(after: Rest) -> Syntax:
            end = leave(after.emit)
            self._exits = [*exits, Exits(again, end)]
            self._appending = {**before, **collected}
            body = turns(inner, end, again)
            self._appending, self._exits = before, exits
            pairs = [Form((name(own, span), value), None, span) for own, value in variables]
            return form(span, "let", loop, Form(tuple(pairs), None, span), body)

        within = scope
        for one in leaving:
            is_certain = one not in carried or (one in scope.names and one not in scope.maybe)
            within = within.bind(one, self.own_name(one))
            if not is_certain:
                within = Scope(within.names, within.maybe | {one}, within.known)
        if not jumps(node.body, True) and not jumps(node.orelse):
            return self._received(leaving, made, rest.emit(within), span)
        if rest.is_small or not leaves_often(node):
            return made(rest)
        after = self.fresh("after")
        parameters_ = Form(tuple([name(within.names[one], span) for one in leaving]), None, span)
        procedure = form(span, "lambda", parameters_, rest.emit(within))
        call = Rest(lambda scope: form(span, after, *self.values(leaving, scope, span)), is_small=True)
        return self.let([(name(after, span), procedure)], made(call), span)

    def _collected(self, node: ast.For | ast.While, carried: Sequence[str], scope: Scope) -> dict[str, str]:
        """The lists to which a loop only appends: it collects the items in reverse, so that a turn takes constant time."""
        found = {}
        for one in carried if not jumps(node.orelse) else ():
            if one in self._appending or one in self._packing:
                continue
            if one not in scope.names or one in scope.maybe:
                continue
            places = [place for place in nodes_in([node]) if one in bound_by(place)]
            only_appends = all(appended_by(place) is not None for place in places)
            if only_appends and not reads_otherwise([node], one):
                found[one] = self.fresh(one)
        return found
