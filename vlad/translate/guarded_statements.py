"""Simple statements of the body of a `try` → attempts of what may raise.

In: an assignment, a change in place, or a call.  Out: statements that attempt it (attempts.py), and then the handlers, or what
follows. A change in place is attempted as a whole, and leaves the value as it was if it raises; what it assigns is evaluated
before, so that a change itself needs no copy.
"""

from __future__ import annotations

import ast
import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from vlad.data.errors import VladError
from vlad.translate.names import Function, changed_by, is_pop
from vlad.translate.nodes import Attempted, Caught, Outcome, Parts, Tested, at, name_at
from vlad.translate.trees import nodes_in, walk

MOST_STATEMENTS = 200  # of the replacement, in which handlers are repeated for each statement of the body
# Operators that work for numbers whatever they are; the others are evaluated in the attempt.
_NEVER_RAISE = (ast.Add, ast.Sub, ast.Mult)
# In what is made of a `try` within another one.
_NEVER_RAISED = (Attempted, Outcome, Tested, Caught, ast.Constant)


class GuardedStatements(ABC):
    """The part of the replacement of a `try` that is about simple statements."""

    def __init__(
        self,
        node: ast.Try,
        refuse: Callable[[str, ast.AST, str], VladError],
        fresh: Callable[[], str],
        function: Function,
        is_nested: bool = False,
    ) -> None:
        self.node = node
        self.refuse = refuse
        self.fresh = fresh
        self.function = function
        self.is_nested = is_nested
        self.count = 0

    @abstractmethod
    def body(self, statements: Sequence[ast.stmt], after: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Guarded statements, and what follows if none of them raises."""

    @abstractmethod
    def handlers(self, own: str, place: ast.AST) -> list[ast.stmt]:
        """What is done with an exception. `own`: the name of the attempt that led to it."""

    def simple(
        self, first: ast.stmt, others: Sequence[ast.stmt], after: Sequence[ast.stmt]
    ) -> list[ast.stmt]:
        """A statement without others in it, and what follows."""

        def rest() -> list[ast.stmt]:
            return self.body(others, after)

        match first:
            case ast.AugAssign() | ast.Delete():
                return self.changing(first, others, after)
            case ast.Assign(value=value) if is_pop(value):
                own = self.fresh()
                taken = at(ast.Assign([name_at(own, value, ast.Store())], value), first)
                later = [at(ast.Assign([one], name_at(own, one)), one) for one in first.targets]
                return self.attempted_change(taken, lambda: self.body([*later, *others], after))
            case ast.Assign(targets=[ast.Subscript()], value=value):
                # apart from the change, which then needs no copy
                return self.attempted(
                    value, lambda value: self.attempted_change(self.with_value(first, value), rest)
                )
            case ast.Assign() if is_unpacked(first) or any(
                isinstance(one, ast.Subscript) for one in first.targets
            ):
                self.expect_items(first)
                return self.body([*self.by_parts(first), *others], after)
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                self.expect_names(first)
                return self.attempted(value, lambda value: [self.with_value(first, value), *rest()])
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(attr="append", value=ast.Name()), args=[value]) as call
            ) if changed_by(first):

                def appended(value: ast.expr) -> list[ast.stmt]:
                    own = at(ast.Call(copy.deepcopy(call.func), [value], []), call)
                    return [at(ast.Expr(own), first), *rest()]

                return self.attempted(value, appended)
            case ast.Expr(value=value) if not changed_by(first):
                return self.attempted(value, lambda value: rest())
            case ast.Expr():
                return self.attempted_change(first, rest)
        raise self.refuse("this statement within `try`", first, "put it into a function, and call that there")

    def changing(
        self, first: ast.AugAssign | ast.Delete, others: Sequence[ast.stmt], after: Sequence[ast.stmt]
    ) -> list[ast.stmt]:
        """`x[i] += e`, `del x[i]`, and what follows."""

        def rest() -> list[ast.stmt]:
            return self.body(others, after)

        match first:
            case ast.AugAssign(target=ast.Name(), value=value, op=operator) if isinstance(
                operator, _NEVER_RAISE
            ):
                return self.attempted(value, lambda value: [self.with_value(first, value), *rest()])
            case ast.AugAssign(target=ast.Subscript() as target, value=value) if has_plain_indices(target):
                read = at(ast.Subscript(target.value, target.slice, ast.Load()), target)

                def increased(value: ast.expr) -> list[ast.stmt]:
                    return self.attempted_change(self.with_value(first, value), rest)

                if is_plain(value):
                    return increased(value)
                return self.attempted(read, lambda _: self.attempted(value, increased))
            case ast.AugAssign(target=ast.Name() | ast.Subscript()):
                return self.attempted_change(first, rest)
            case ast.Delete(targets=[*several]):
                each = [at(ast.Delete([one]), one) for one in several]
                if each[1:]:
                    return self.body([*each, *others], after)
                return self.attempted_change(first, rest)
        raise self.refuse("this target within `try`", first.target, "assign to a name there")

    def attempted(
        self, value: ast.expr | ast.Raise | ast.Assert, then: Callable[[ast.expr], list[ast.stmt]]
    ) -> list[ast.stmt]:
        """The attempt to evaluate something, what follows if there is a value, and the handlers."""
        if isinstance(value, _NEVER_RAISED):
            return then(copy.deepcopy(value))
        self.expect_no_binding(value)
        self.count += 1
        if self.count > MOST_STATEMENTS:
            raise self.refuse("so many ways through a `try`", self.node, "put a part of it into a function")
        own, value = self.fresh(), copy.deepcopy(value)
        given = value if isinstance(value, ast.expr) else at(ast.Constant(None), value)
        failed = at(Tested("%failed?", [name_at(own, value)]), value)
        received = at(Outcome(name_at(own, value), given), value)
        begun = at(ast.Assign([name_at(own, value, ast.Store())], at(Attempted(value), value)), value)
        yes = then(received) or [at(ast.Pass(), value)]
        return [begun, at(ast.If(failed, self.handlers(own, value), yes), value)]

    def attempted_change(self, statement: ast.stmt, rest: Callable[[], list[ast.stmt]]) -> list[ast.stmt]:
        """The attempt to change a value in place, which leaves it as it was if it raises."""
        for one in nodes_in([statement]):
            if isinstance(one, ast.NamedExpr):
                raise self.refuse("an assignment within this", one, "make it before the `try`")
        return self.attempted_whole(statement, rest)

    def attempted_whole(self, statement: ast.stmt, rest: Callable[[], list[ast.stmt]]) -> list[ast.stmt]:
        """The attempt to run a statement, which gets a name, and what follows."""
        self.count += 1
        if self.count > MOST_STATEMENTS:
            raise self.refuse("so many ways through a `try`", self.node, "put a part of it into a function")
        own, found = self.fresh(), copy.deepcopy(statement)
        begun = at(
            ast.Assign([name_at(own, statement, ast.Store())], at(ast.Constant(None), statement)), statement
        )
        found.attempted_as = own  # type: ignore[attr-defined]  # of what is attempted
        failed = at(Tested("%failed?", [name_at(own, statement)]), statement)
        yes = rest() or [at(ast.Pass(), statement)]
        return [begun, found, at(ast.If(failed, self.handlers(own, statement), yes), statement)]

    def named(self, value: ast.expr, then: Callable[[ast.expr], list[ast.stmt]]) -> list[ast.stmt]:
        """The attempt to evaluate something, which gets a name, and what follows."""
        own = self.fresh()

        def received(found: ast.expr) -> list[ast.stmt]:
            begun = at(ast.Assign([name_at(own, value, ast.Store())], found), value)
            return [begun, *then(name_at(own, value))]

        return self.attempted(value, received)

    def by_parts(self, statement: ast.Assign) -> list[ast.stmt]:
        """An assignment that unpacks, as the unpacking, which may raise, and the assignment of its parts."""
        (target, *others), value = statement.targets, statement.value
        if others:
            own = self.fresh()
            whole = at(ast.Assign([name_at(own, value, ast.Store())], value), value)
            return [whole, *[at(ast.Assign([one], name_at(own, one)), one) for one in statement.targets]]
        assert isinstance(target, ast.Tuple | ast.List)
        names: list[ast.expr] = []
        # in Python's order: what follows an inner target is assigned after it
        later: list[ast.stmt] = []
        for one in target.elts:
            part = one.value if isinstance(one, ast.Starred) else one
            if later or not isinstance(part, ast.Name):
                own = self.fresh()
                later.append(at(ast.Assign([part], name_at(own, part)), part))
                part = name_at(own, part, ast.Store())
            names.append(part)
        parts = at(Parts(value, target.elts), statement)
        return [at(ast.Assign([at(ast.Tuple(names, ast.Store()), target)], parts), statement), *later]

    def with_value(self, statement: ast.stmt, value: ast.expr) -> ast.stmt:
        """The same statement with another value."""
        own = copy.copy(statement)
        for field in ("targets", "target"):
            if hasattr(own, field):
                setattr(own, field, copy.deepcopy(getattr(own, field)))
        own.value = value  # type: ignore[attr-defined]  # of statements with a value
        return own

    def copied(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """As nodes of their own: analyses tell nodes apart by identity."""
        return [copy.deepcopy(one) for one in statements]

    def expect_names(self, statement: ast.stmt) -> None:
        """Raise VladError if assigning itself may raise."""
        for one in [*getattr(statement, "targets", []), *filter(None, [getattr(statement, "target", None)])]:
            if any(isinstance(part, ast.Subscript | ast.Attribute) for part in walk(one)):
                raise self.refuse("this target within `try`", one, "assign to a name there")

    def expect_items(self, statement: ast.Assign) -> None:
        """Raise VladError if a target is no name, and no item of one."""
        for one in statement.targets:
            for part in walk(one):
                if isinstance(part, ast.Attribute):
                    raise self.refuse("this target within `try`", one, "assign to a name there")

    def expect_no_binding(self, value: ast.AST) -> None:
        """Raise VladError if an attempt would assign."""
        for one in nodes_in([value]):
            if (
                isinstance(one, ast.NamedExpr)
                or changed_by(one)
                or (isinstance(one, ast.Call) and is_pop(one))
            ):
                raise self.refuse("an assignment or a change within this", one, "make it before the `try`")


def is_plain(value: ast.expr) -> bool:
    """Is evaluating an expression certain, and without effect?"""
    return isinstance(value, ast.Name | ast.Constant | Outcome)


def has_plain_indices(target: ast.expr) -> bool:
    """Does it not matter when the indices of `x[i][j]` are evaluated?"""
    while isinstance(target, ast.Subscript):
        indices = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        if not all(is_plain(one) for one in indices):
            return False
        target = target.value
    return isinstance(target, ast.Name)


def is_unpacked(statement: ast.Assign) -> bool:
    """Does an assignment unpack a value whose number of parts may be another one?"""
    if isinstance(statement.value, Parts):
        return False
    targets = [one for one in statement.targets if isinstance(one, ast.Tuple | ast.List)]
    fits = [
        isinstance(statement.value, ast.Tuple)
        and len(statement.value.elts) == len(one.elts)
        and all(isinstance(part, ast.Name) for part in one.elts)
        and not any(isinstance(part, ast.Starred) for part in statement.value.elts)
        for one in targets
    ]
    return not all(fits)
