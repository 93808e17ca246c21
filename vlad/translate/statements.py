"""Python's statements → syntax.

In: the statements of a function, and what follows them.  Out: one expression. An assignment becomes a `let` around what follows;
a loop becomes a named `let` whose variables are the names that it binds and that are live at its head, so that reverse mode needs
no stack; a branch that assigns returns the assigned values. Where a statement may end the function or a loop around it, what
follows stands in tail position inside of it, so that `return`, `break` and `continue` are the expressions that end there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType

from vlad.data.tensors import is_array
from vlad.reader.parser import Form, Syntax
from vlad.translate.changes import Rest
from vlad.translate.expressions import NONE, NOWHERE, OTHER, REAL, Outside, Scope
from vlad.translate.fresh import Fresh
from vlad.translate.inside import Inside
from vlad.translate.loops import Exits, Loops
from vlad.translate.names import (
    Function,
    arguments_of,
    changed_by,
    free_in,
    parameters,
)
from vlad.translate.nodes import Again, Handed, at, name_at
from vlad.translate.refusals import outside
from vlad.translate.signatures import own_signature
from vlad.translate.source import Text
from vlad.translate.syntax import form, name, quoted
from vlad.translate.versions import is_lazy

_METHODS: dict[type[ast.stmt], str] = {}  # those that translate the kinds of statements


def _changeable_defaults(function: FunctionType) -> frozenset[str]:
    """The parameters of a function with a list, a dict or an array as default."""
    return frozenset(
        one.name
        for one in own_signature(function).parameters.values()
        if isinstance(one.default, list | dict) or is_array(one.default)
    )


class Statements(Loops):
    """The translation of one Python function: `procedure`."""

    def __init__(self, function: FunctionType, text: Text, outside_: Outside) -> None:
        super().__init__(function, text, outside_)
        self._inside: list[Inside] = []
        self._changed_by_calls = {}
        self._versions = set()
        self._exits: list[Exits] = []
        self._attempts = 0  # the loops within `try` around this place
        self._appending, self._packing = {}, {}
        self._decided, self._returning, self._progress = {}, {}, None
        self._in_progress, self._followed, self._effects_inside = {}, set(), {}
        self._fresh_values = Fresh(
            lambda node: self.object_of(node, NOWHERE),
            self.may_share,
            self.returns_own,
            self.operators_make,
        )

    def own_name(self, python: str) -> str:
        return self._appending.get(python) or super().own_name(python)

    # Functions.

    def _inside_of(self, node: Function) -> Inside:
        return Inside(node, self._fresh_values, () if self._inside else _changeable_defaults(self.function))

    @contextmanager
    def entered(self, node: Function, known: Inside | None = None) -> Iterator[Inside]:
        own = known or self._inside_of(node)
        before = self.locals_, self.own_locals, self.is_outermost
        self.is_outermost = not self._inside
        self._inside.append(own)
        self.inside, self.own_locals, self.locals_ = own, own.names, self.locals_ | own.names
        try:
            yield own
        finally:
            self._inside.pop()
            self.locals_, self.own_locals, self.is_outermost = before
            if self._inside:
                self.inside = self._inside[-1]

    def procedure(self, node: Function, scope: Scope, memo: str | None = None) -> Syntax:
        """A function as a lambda, in the scope around it. `memo`: the cell of its results, if it keeps them."""
        arguments, span = node.args, self.span(node)
        if self._inside:
            self.expect_settled(node)
            for default in [*arguments.defaults, *filter(None, arguments.kw_defaults)]:
                if not isinstance(default, ast.Constant):
                    raise self.refuse(
                        "this default inside",
                        default,
                        "leave the argument out in each call, or call it by one name alone",
                    )
        own = self._inside_of(node)
        if self.hand_back(node, own):
            own = self._inside_of(node)
        before = self.kinds, self._exits, self._appending, self._packing, self._yielding, self._attempts
        self._attempts = 0
        self._yielding = self.fresh("yield") if is_lazy(node) else ""
        with self.entered(node, own):
            own.changed_by_item |= self._changed_by_calls.get(node, set())
            self._exits, self._appending, self._packing = [], {}, {}
            self.kinds = self._kinds(own)
            names, scope = [], scope.without(own.names)
            for argument in arguments_of(node):
                names.append(name(self.own_name(argument.arg), self.span(argument)))
                scope = scope.bind(argument.arg, self.own_name(argument.arg))
            body = self.block(own.body, scope, Rest(lambda _: quoted(NONE, span), is_small=True))
        if isinstance(node, ast.FunctionDef) and self._yielding:
            body = self.generating(node, body)
        self.kinds, self._exits, self._appending, self._packing, self._yielding, self._attempts = before
        if memo is not None:
            body = self.kept(node, body, memo, span)
        return form(span, "lambda", Form(tuple(names), None, span), body)

    def _kinds(self, own: Inside) -> dict[str, int]:
        """What the variables of a function surely hold: the greatest solution."""
        kinds = dict.fromkeys(own.names.difference(parameters(own.node)), REAL)
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
                return REAL if self.object_of(call.func, NOWHERE) is range else OTHER
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
        called = _METHODS.get(type(statement))
        if called is None:
            called = _METHODS[type(statement)] = f"_do_{type(statement).__name__.lower()}"
        method = getattr(self, called, None)
        if method is None:
            raise outside(statement, self.span(statement))
        if "attempted_as" in vars(statement) and not isinstance(statement, ast.For | ast.While):
            return self.attempted_change(
                statement, scope, following, lambda scope, rest: method(statement, scope, rest)
            )
        found: Syntax = method(statement, scope, following)
        return found

    def _do_pass(self, node: ast.Pass, scope: Scope, rest: Rest) -> Syntax:
        return rest.emit(scope)

    def _do_return(self, node: ast.Return, scope: Scope, rest: Rest) -> Syntax:
        value = quoted(NONE, self.span(node)) if node.value is None else self.expression(node.value, scope)
        return self._returned(value, self.span(node))

    def _do_expr(self, node: ast.Expr, scope: Scope, rest: Rest) -> Syntax:
        if isinstance(node.value, ast.Constant):  # a comment, such as a docstring
            return rest.emit(scope)
        if isinstance(node.value, Handed):
            return self.handed([], node.value, scope, rest, node)
        if isinstance(node.value, ast.Yield):
            return self.yielded(node.value, scope, rest)
        changed = self.change(node, scope, rest) if changed_by(node) else None
        if changed is not None:
            return changed
        span = self.span(node)
        return form(span, "begin", self.expression(node.value, scope), rest.emit(scope))

    def _do_assert(self, node: ast.Assert, scope: Scope, rest: Rest) -> Syntax:
        failure = self.assertion_failed(node, scope)
        return form(self.span(node), "if", self.test(node.test, scope), rest.emit(scope), failure)

    def _do_raise(self, node: ast.Raise, scope: Scope, rest: Rest) -> Syntax:
        if isinstance(node.exc, Again):
            return self.raised_again(node.exc, scope)
        return self.raised(node, scope)

    def _do_delete(self, node: ast.Delete, scope: Scope, rest: Rest) -> Syntax:
        first, *others = node.targets
        if others:
            raise self.refuse("several targets of `del`", node, "delete one after the other")
        return self.delete(first, scope, rest, node)

    # Definitions.

    def _definitions(self, group: Sequence[ast.FunctionDef], scope: Scope, rest: Rest) -> Syntax:
        place = next((at for at, node in enumerate(group) if self.decorators(node, scope)), None)
        if place is not None:
            decorated, others = group[place], group[place + 1 :]
            more = Rest(lambda scope: self._definitions(others, scope, rest)) if others else rest
            following = Rest(lambda scope: self._decorated(decorated, scope, more))
            return self._definitions(group[:place], scope, following) if place else following.emit(scope)
        for node in group:
            self.expect_not_kept(node.name, node)
            scope = scope.bind(node.name, self.own_name(node.name)).knowing(node.name, node)
        pairs, memos = [], []
        for node in group:
            own, memo = name(self.own_name(node.name), self.span(node)), self.memo_of(node, group, scope)
            memos += [memo] if memo is not None else []
            pairs.append(Form((own, self.procedure(node, scope, memo)), None, self.span(node)))
        span = self.span(group[0])
        return self.with_memos(
            form(span, "letrec", Form(tuple(pairs), None, span), rest.emit(scope)), memos, span
        )

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
