"""`try` → `if`, by attempts.

In: a `try` statement.  Out: statements without it. Each statement of its body is divided at what may raise: an attempt to
evaluate that, and, if it led to a value, the rest of the statement and of the body; otherwise a test for each handler. So a
handler sees the variables as they were when the exception was raised, and nothing but the body is guarded: what a `return`
computes is attempted, and returned outside of it. A loop is attempted as a whole, unless what it has assigned until the exception
may be read afterwards: then its turns are divided like the rest.

    try: x = 1 / y                     tried = attempt (1 / y)
    except ZeroDivisionError: x = 0    if tried worked: x = its value
                                       elif it is a ZeroDivisionError: x = 0
                                       else: raise it again
"""

from __future__ import annotations

import ast
import contextlib
import copy
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from vlad.data.errors import VladError
from vlad.translate.names import (
    NOTHING,
    Function,
    Liveness,
    Names,
    bound_in,
    changed_by,
    falls,
    is_pop,
    jumps,
    read_in,
)
from vlad.translate.nodes import (
    Again,
    Attempted,
    Caught,
    Computed,
    Given,
    Outcome,
    Parts,
    Tested,
    at,
    name_at,
)
from vlad.translate.trees import nodes_in, walk

MOST_STATEMENTS = 200  # of the replacement, in which handlers are repeated for each statement of the body
# Operators that work for numbers whatever they are; the others are evaluated in the attempt.
_NEVER_RAISE = (ast.Add, ast.Sub, ast.Mult)
# Functions of what can be gone through, which raise nothing but TypeErrors.
_CERTAIN = frozenset(("range", "enumerate", "zip", "reversed", "len", "list", "tuple", "sorted"))
# In what is made of a `try` within another one.
_NEVER_RAISED = (Attempted, Outcome, Tested, Caught, ast.Constant)


class Handlers:
    """The replacement of a `try`. `fresh` makes names; `function` has the `try`, `is_nested`: and another one around it."""

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

    def replacement(self) -> list[ast.stmt]:
        node = self.node
        if not node.finalbody:
            return self.body(node.body, node.orelse)
        for one in nodes_in(node.finalbody):
            if isinstance(one, ast.Return | ast.Break | ast.Continue):
                raise self.refuse("a way out of `finally`", one, "leave after the `try`")
        if node.handlers:
            inner = at(ast.Try(node.body, node.handlers, node.orelse, []), node)
            outer = at(ast.Try([inner], [], [], node.finalbody), node)
            return Handlers(outer, self.refuse, self.fresh, self.function, self.is_nested).replacement()
        return self.body(node.body, node.finalbody)

    def finally_(self) -> list[ast.stmt]:
        """What is done before the body is left."""
        return self.copied(self.node.finalbody)

    def body(self, statements: Sequence[ast.stmt], after: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Guarded statements, and what follows if none of them raises."""
        if not statements:
            return self.copied(after)
        first, others = statements[0], statements[1:]
        if not falls([first]):
            others, after = (), ()

        def rest() -> list[ast.stmt]:
            return self.body(others, after)

        match first:
            case ast.Break() | ast.Continue() | ast.Return(value=None):
                return [*self.finally_(), *self.copied([first])]
            case ast.Pass() | ast.FunctionDef() | ast.Expr(value=ast.Constant()) | ast.AnnAssign(value=None):
                return [*self.copied([first]), *rest()]
            case ast.If(test=test, body=yes, orelse=no):
                arms = [[*arm, *(others if falls(arm) else ())] for arm in (yes, no)]

                def chosen(value: ast.expr) -> list[ast.stmt]:
                    found = [self.body(arm, after if falls(arm) else ()) for arm in arms]
                    return [at(ast.If(value, found[0] or [at(ast.Pass(), first)], found[1]), first)]

                return self.attempted(test, chosen)
            case ast.Try():
                inner = Handlers(first, self.refuse, self.fresh, self.function, True).replacement()
                return self.body([*inner, *others], after)
            case ast.For() | ast.While() if hasattr(first, "attempted_as"):  # by a `try` within this one
                self.expect_end(first)
                return [*self.copied([first]), *rest()]
            case ast.For() | ast.While():
                return self.attempted_loop(first, rest)
            case ast.Raise() | ast.Assert():
                return self.attempted(first, lambda value: rest())
            case ast.Return(value=ast.expr() as value):
                return self.attempted(value, lambda value: [*self.finally_(), self.with_value(first, value)])
            case ast.Assign() if is_unpacked(first):
                self.expect_names(first)
                return self.body([*self.by_parts(first), *others], after)
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                self.expect_names(first)
                return self.attempted(value, lambda value: [self.with_value(first, value), *rest()])
            case ast.AugAssign(value=value, op=operator):
                self.expect_names(first)
                if not isinstance(operator, _NEVER_RAISE):
                    hint = "write the operation with its target on the right, too"
                    raise self.refuse("this assignment within `try`", first, hint)
                return self.attempted(value, lambda value: [self.with_value(first, value), *rest()])
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"), args=[value]) as call) if (
                changed_by(first) is not None
            ):

                def appended(value: ast.expr) -> list[ast.stmt]:
                    own = at(ast.Call(copy.deepcopy(call.func), [value], []), call)
                    return [at(ast.Expr(own), first), *rest()]

                return self.attempted(value, appended)
            case ast.Expr(value=value) if changed_by(first) is None:
                return self.attempted(value, lambda value: rest())
        raise self.refuse("this statement within `try`", first, "put it into a function, and call that there")

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

    def attempted_loop(self, loop: ast.For | ast.While, rest: Callable[[], list[ast.stmt]]) -> list[ast.stmt]:
        """The attempt to run a loop. If it raises, what it has assigned until then is not known; so it is divided, if it can be
        and that may be read.
        """
        self.expect_end(loop)
        changed = set(bound_in([loop]))
        if changed & self.read_after(loop):
            with contextlib.suppress(VladError):
                return self.divided_loop(loop, rest)
        handled = [*[one for handler in self.node.handlers for one in handler.body], *self.node.finalbody]
        lost = next((one for one in handled if read_in(one) & changed), None)
        if lost is not None:
            first = sorted(read_in(lost) & changed)[0]
            hint = (
                f"it would see what {first} was when the exception was raised: put the loop into a function"
            )
            raise self.refuse(f"a read of {first}, which the loop within `try` changes, here", lost, hint)
        own, turns = self.fresh(), copy.deepcopy(loop)
        begun = at(ast.Assign([name_at(own, loop, ast.Store())], at(ast.Constant(None), loop)), loop)
        turns.attempted_as = own  # type: ignore[union-attr]  # of loops within `try`
        failed = at(Tested("%failed?", [name_at(own, loop)]), loop)
        yes = rest() or [at(ast.Pass(), loop)]
        return [begun, turns, at(ast.If(failed, self.handlers(own, loop), yes), loop)]

    def read_after(self, loop: ast.For | ast.While) -> Names:
        """The names whose values may be read when a loop has raised an exception."""
        counts: Counter[str] = Counter()
        for sign, tree in ((1, self.function), (-1, loop)):
            for one in walk(tree):
                read = one.target if isinstance(one, ast.AugAssign) else one
                if isinstance(read, ast.Name) and (read is not one or not isinstance(read.ctx, ast.Store)):
                    counts[read.id] += sign
        outside = frozenset([one for one, count in counts.items() if count > 0])
        bodies = [*[one.body for one in self.node.handlers], *filter(None, [self.node.finalbody])]
        if self.is_nested:
            return outside
        found: Names = NOTHING
        for body in bodies:
            nodes = list(nodes_in(body))
            leaves = any(isinstance(one, ast.Break | ast.Continue) for one in nodes)
            goes_on = bool(self.node.handlers) and (leaves or falls(body))
            after = outside if goes_on else NOTHING
            if any(isinstance(one, ast.Try | ast.Match) for one in nodes):
                found |= NOTHING.union(*[read_in(one) for one in body]) | after
            else:
                found |= Liveness(()).block(body, after)
        return found

    def divided_loop(self, loop: ast.For | ast.While, rest: Callable[[], list[ast.stmt]]) -> list[ast.stmt]:
        """A loop whose statements are divided: an exception ends it, and then the handlers follow."""
        failed = self.fresh()
        within, after = [_InLoop(self, failed, ends_turn) for ends_turn in (True, False)]
        begun = at(ast.Assign([name_at(failed, loop, ast.Store())], at(ast.Constant(None), loop)), loop)
        test = at(Tested("%failed?", [name_at(failed, loop)]), loop)

        def whole(turns: ast.For | ast.While) -> list[ast.stmt]:
            yes = rest() or [at(ast.Pass(), loop)]
            return [begun, turns, at(ast.If(test, self.handlers(failed, loop), yes), loop)]

        if isinstance(loop, ast.For):
            target, before = copy.deepcopy(loop.target), list[ast.stmt]()
            if not isinstance(target, ast.Name) and isinstance(loop.iter, ast.Name):  # to unpack it may raise
                own = self.fresh()
                before = [at(ast.Assign([target], name_at(own, target)), target)]
                target = name_at(own, target, ast.Store())
            body, otherwise = within.body([*before, *loop.body], ()), after.body(loop.orelse, ())
            self.expect_certain(loop.iter)
            iterable = copy.deepcopy(loop.iter)
            return whole(at(ast.For(target, iterable, body or [at(ast.Pass(), loop)], otherwise), loop))

        def turn(value: ast.expr) -> list[ast.stmt]:
            ended = [*within.body(loop.orelse, ()), at(ast.Break(), loop)]
            return [at(ast.If(value, within.body(loop.body, ()) or [at(ast.Pass(), loop)], ended), loop)]

        turns = within.attempted(loop.test, turn)
        return whole(at(ast.While(at(ast.Constant(True), loop.test), turns, []), loop))

    def expect_certain(self, iterable: ast.expr) -> None:
        """Raise VladError if to evaluate what a loop goes through, or to go on in it, may raise an exception."""
        match iterable:
            case ast.Name() | ast.Constant() | ast.UnaryOp(operand=ast.Constant()):
                return
            case ast.BinOp(left=left, right=right, op=ast.Add() | ast.Sub() | ast.Mult()):
                return self.expect_all_certain(left, right)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return self.expect_all_certain(
                    *[one.value if isinstance(one, ast.Starred) else one for one in parts]
                )
            case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]) if function in _CERTAIN:
                return self.expect_all_certain(*arguments)
            case ast.Call(func=ast.Attribute(value=ast.Name(), attr="items" | "keys" | "values"), args=[]):
                return
            case ast.Subscript(value=ast.Name(), slice=ast.Slice()):
                return
        raise self.refuse("this iterable within `try`", iterable, "give it a name before the `try`")

    def expect_all_certain(self, *parts: ast.expr) -> None:
        for one in parts:
            self.expect_certain(one)

    def expect_end(self, loop: ast.For | ast.While) -> None:
        """Raise VladError if a loop leaves the `try` in a way that its attempt does not return."""
        returns = any(isinstance(one, ast.Return) for one in nodes_in([loop]))
        leaves = jumps([one for one in loop.orelse if not isinstance(one, ast.Return)])
        if leaves or (returns and self.node.finalbody):
            raise self.refuse(
                "a way out of this loop within `try`", loop, "put it into a function, and call that there"
            )

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

    def handlers(self, own: str, place: ast.AST) -> list[ast.stmt]:
        again: ast.stmt = at(ast.Raise(at(Again(name_at(own, place)), place), None), place)
        found = [*self.finally_(), again]
        for handler in reversed(self.node.handlers):
            body = [_Raising(own, handler.name).visit(one) for one in self.copied(handler.body)]
            if handler.name is not None:
                error = at(Computed("%py-raised", [name_at(own, handler)]), handler)
                body.insert(0, at(ast.Assign([name_at(handler.name, handler, ast.Store())], error), handler))
            kind = handler.type or at(Given(Exception), handler)
            kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
            test = at(Caught(name_at(own, handler), copy.deepcopy(kinds)), handler)
            found = [at(ast.If(test, body, found), handler)]
        return found

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

    def expect_no_binding(self, value: ast.AST) -> None:
        """Raise VladError if an attempt would assign."""
        for one in nodes_in([value]):
            changed = changed_by(one)
            if (
                isinstance(one, ast.NamedExpr)
                or changed is not None
                or (isinstance(one, ast.Call) and is_pop(one))
            ):
                raise self.refuse("an assignment or a change within this", one, "make it before the `try`")


class _InLoop(Handlers):
    """The division of a loop within a `try`: an exception is kept, and ends the turn, or what follows the last one."""

    def __init__(self, around: Handlers, failed: str, ends_turn: bool) -> None:
        super().__init__(around.node, around.refuse, around.fresh, around.function, around.is_nested)
        self.around = around
        self.failed = failed
        self.ends_turn = ends_turn

    def finally_(self) -> list[ast.stmt]:
        """None: only the end of the loop leaves the `try`."""
        return []

    def handlers(self, own: str, place: ast.AST) -> list[ast.stmt]:
        kept = at(ast.Assign([name_at(self.failed, place, ast.Store())], name_at(own, place)), place)
        return [kept, at(ast.Break(), place)] if self.ends_turn else [kept]


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


class _Raising(ast.NodeTransformer):
    """`raise` in a handler, alone or with the handler's own name, raises the exception again; the cause of another one is
    dropped.
    """

    def __init__(self, own: str, name: str | None) -> None:
        self.own = own
        self.name = name

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        is_own = node.exc is None or (isinstance(node.exc, ast.Name) and node.exc.id == self.name)
        exc: Any = at(Again(name_at(self.own, node)), node) if is_own else node.exc
        found: ast.Raise = at(ast.Raise(exc, None), node)
        return found

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_Try(self, node: ast.Try) -> ast.Try:
        """A handler in it raises its own exception again."""
        node.body = [self.visit(one) for one in node.body]
        return node
