"""Loops in the body of a `try` → loops that are attempted, or whose turns are divided.

In: a loop.  Out: statements. A loop is attempted as a whole, unless what it has assigned until the exception may be read
afterwards: then its statements are attempted one by one, and an exception ends it.
"""

from __future__ import annotations

import ast
import contextlib
import copy
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable

from vlad.data.errors import VladError
from vlad.translate.guarded_statements import GuardedStatements
from vlad.translate.names import NOTHING, Liveness, Names, bound_in, falls, jumps, read_in
from vlad.translate.nodes import Tested, at, name_at
from vlad.translate.trees import nodes_in, walk

# Functions of what can be gone through, which raise nothing but TypeErrors.
_CERTAIN = frozenset(("range", "enumerate", "zip", "reversed", "len", "list", "tuple", "sorted"))


class GuardedLoops(GuardedStatements):
    """The part of the replacement of a `try` that is about loops."""

    @abstractmethod
    def within_loop(self, failed: str, ends_turn: bool) -> GuardedLoops:
        """The same within a loop: an exception is kept under a name, and ends the turn, or what follows the last one."""

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
        return self.attempted_whole(loop, rest)

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
        within, after = [self.within_loop(failed, ends_turn) for ends_turn in (True, False)]
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

            def over(iterable: ast.expr) -> list[ast.stmt]:
                return whole(at(ast.For(target, iterable, body or [at(ast.Pass(), loop)], otherwise), loop))

            return self.with_certain(loop.iter, over)

        def turn(value: ast.expr) -> list[ast.stmt]:
            ended = [*within.body(loop.orelse, ()), at(ast.Break(), loop)]
            return [at(ast.If(value, within.body(loop.body, ()) or [at(ast.Pass(), loop)], ended), loop)]

        turns = within.attempted(loop.test, turn)
        return whole(at(ast.While(at(ast.Constant(True), loop.test), turns, []), loop))

    def with_certain(self, iterable: ast.expr, then: Callable[[ast.expr], list[ast.stmt]]) -> list[ast.stmt]:
        """What follows with something to go through, of which what may raise is attempted before."""
        match iterable:
            case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]) if function in _CERTAIN:
                place = next((at for at, one in enumerate(arguments) if not self.is_certain(one)), None)
                if place is None:
                    return then(copy.deepcopy(iterable))

                def others(part: ast.expr) -> list[ast.stmt]:
                    given = [*arguments[:place], part, *arguments[place + 1 :]]
                    return self.with_certain(at(ast.Call(iterable.func, given, []), iterable), then)

                return self.named(arguments[place], others)
        return then(copy.deepcopy(iterable)) if self.is_certain(iterable) else self.named(iterable, then)

    def is_certain(self, iterable: ast.expr) -> bool:
        try:
            self.expect_certain(iterable)
        except VladError:
            return False
        return True

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
