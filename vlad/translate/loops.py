"""`while` and `for` of Python's → a named `let`.

In: a loop, and what follows it.  Out: its variables are the names that it binds and that are live at its head, so that reverse
mode needs no stack; `return`, `break` and `continue` are the expressions that end in tail position inside of it. Within `try`, an
attempt to run it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vlad.data.source import Span
from vlad.reader.parser import Form, Syntax
from vlad.translate.branches import Branches
from vlad.translate.changes import Rest
from vlad.translate.expressions import Emit, Scope
from vlad.translate.iterations import listed
from vlad.translate.names import (
    appended_by,
    bound_in,
    jumps,
    leaves_often,
    reads_otherwise,
)
from vlad.translate.syntax import form, name, quoted, string
from vlad.translate.trees import nodes_in


@dataclass(frozen=True, slots=True)
class Exits:
    """Of the innermost loop: the next turn, and what follows the loop."""

    next: Emit
    end: Emit


class Loops(Branches):
    """The part of a translation that is about loops."""

    _exits: list[Exits]
    _attempts: int  # the loops within `try` around this place

    def _returned(self, value: Syntax, span: Span) -> Syntax:
        """What a `return` ends with, which a loop within `try` tells from its own end."""
        return form(span, "list", quoted("%returned", span), value) if self._attempts else value

    def _do_break(self, node: ast.Break, scope: Scope, rest: Rest) -> Syntax:
        return self._exits[-1].end(scope)

    def _do_continue(self, node: ast.Continue, scope: Scope, rest: Rest) -> Syntax:
        return self._exits[-1].next(scope)

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
        loop = self.fresh_loop()

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
            inside = self.inside
            places = [place for place in inside.places.get(one, ()) if node in inside.loops[place]]
            only_appends = all(appended_by(place) is not None for place in places)
            if only_appends and not reads_otherwise([node], one):
                found[one] = self.fresh(one)
        return found
