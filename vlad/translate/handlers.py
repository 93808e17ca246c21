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
import copy
from collections.abc import Sequence
from typing import Any

from vlad.translate.guarded_loops import GuardedLoops
from vlad.translate.names import falls
from vlad.translate.nodes import Again, Caught, Computed, Failure, Given, Tested, at, name_at
from vlad.translate.trees import nodes_in

MOST_WAYS = 4  # through what follows each arm of an `if` within `try`


class Handlers(GuardedLoops):
    """The replacement of a `try`. `fresh` makes names; `function` has the `try`, `is_nested`: and another one around it."""

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
            case ast.If():
                return self.branch(first, others, after)
            case ast.Try():
                inner = Handlers(first, self.refuse, self.fresh, self.function, True).replacement()
                return self.body([*inner, *others], after)
            case ast.stmt() if hasattr(first, "attempted_as"):  # by a `try` within this one
                if isinstance(first, ast.For | ast.While):
                    self.expect_end(first)
                return [*self.copied([first]), *rest()]
            case ast.For() | ast.While():
                return self.attempted_loop(first, rest)
            case ast.Raise() | ast.Assert():
                return self.attempted(first, lambda value: rest())
            case ast.Return(value=ast.Tuple(elts=[value, *variables])) if hasattr(first, "is_handing"):

                def handed(value: ast.expr) -> list[ast.stmt]:  # `finally` may change the variables
                    both = at(ast.Tuple([value, *copy.deepcopy(variables)], ast.Load()), first)
                    return [*self.finally_(), self.with_value(first, both)]

                return self.attempted(value, handed)
            case ast.Return(value=ast.expr() as value):
                return self.attempted(value, lambda value: [*self.finally_(), self.with_value(first, value)])
        return self.simple(first, others, after)

    def branch(self, first: ast.If, others: Sequence[ast.stmt], after: Sequence[ast.stmt]) -> list[ast.stmt]:
        """An `if`, and what follows: in each arm, so that nothing is tested twice. If there are many ways through that, it
        follows once, and an exception in an arm is kept until its end.
        """
        arms = [first.body, first.orelse]

        def following(value: ast.expr) -> list[ast.stmt]:
            own = _InArm(self, self.fresh())
            found = [own.body(arm, ()) for arm in arms]
            whole = at(ast.If(value, found[0] or [at(ast.Pass(), first)], found[1]), first)
            rest = self.body(others, after)
            if not own.keeps:
                return [whole, *rest]
            begun = at(
                ast.Assign([name_at(own.failed, first, ast.Store())], at(ast.Constant(None), first)), first
            )
            failed = at(Tested("%failed?", [name_at(own.failed, first)]), first)
            yes = rest or [at(ast.Pass(), first)]
            return [begun, whole, at(ast.If(failed, self.handlers(own.failed, first), yes), first)]

        def within(value: ast.expr) -> list[ast.stmt]:
            found = [
                self.body([*arm, *(others if falls(arm) else ())], after if falls(arm) else ())
                for arm in arms
            ]
            return [at(ast.If(value, found[0] or [at(ast.Pass(), first)], found[1]), first)]

        is_joined = all(falls(arm) for arm in arms) and ways(others) > MOST_WAYS
        return self.attempted(first.test, following if is_joined else within)

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

    def within_loop(self, failed: str, ends_turn: bool) -> Handlers:
        return _InLoop(self, failed, ends_turn)


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


class _InArm(Handlers):
    """The arm of an `if` within a `try`: an exception is kept, and ends the arm."""

    def __init__(self, around: Handlers, failed: str) -> None:
        super().__init__(around.node, around.refuse, around.fresh, around.function, around.is_nested)
        self.around = around
        self.failed = failed
        self.keeps = False  # is there an exception to keep?

    def finally_(self) -> list[ast.stmt]:
        return self.around.finally_()

    def handlers(self, own: str, place: ast.AST) -> list[ast.stmt]:
        self.keeps = True
        return [at(ast.Assign([name_at(self.failed, place, ast.Store())], name_at(own, place)), place)]


def ways(statements: Sequence[ast.stmt]) -> int:
    """The number of ways through statements, as their branches go."""
    found = 1
    for one in statements:
        if isinstance(one, ast.If):
            found *= ways(one.body) + ways(one.orelse)
        elif isinstance(one, ast.Try):
            found *= 1 + len(one.handlers)
    return found


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

    def visit_Failure(self, node: Failure) -> ast.Name:
        return name_at(self.own, node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_Try(self, node: ast.Try) -> ast.Try:
        """A handler in it raises its own exception again."""
        node.body = [self.visit(one) for one in node.body]
        return node
