"""Iteration: comprehensions, the targets of `for` and of assignments, and the iterables after `in`.

In: comprehensions, targets and iterables.  Out: syntax, and `Iteration`s (iterations.py). The statements are in statements.py.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeGuard

from vlad.data.source import Span
from vlad.reader.parser import Form, Syntax
from vlad.translate.expressions import Expressions, Scope
from vlad.translate.iterations import Iteration, Value, all_but_last, counted, listed, numbered, side_by_side
from vlad.translate.names import captured_in, targets
from vlad.translate.nodes import Parts
from vlad.translate.reads import MISSING
from vlad.translate.syntax import empty_list, form, literal, name


class Turns(Expressions):
    """The part of a translation that is about turns of loops."""

    reads_lazily = False  # may what reads the items of a comprehension stop before their end?

    def _listcomp(self, node: ast.ListComp, scope: Scope) -> Syntax:
        return self.listed(node, scope)

    def _generatorexp(self, node: ast.GeneratorExp, scope: Scope) -> Syntax:
        raise self.refuse("a generator as a value", node, "make a list: [… for … in …]")

    def listed(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> Syntax:
        """The list of a comprehension."""
        span, so_far = self.span(node), self.fresh("items")
        start = form(span, "quote", Form((), None, span))

        def added(scope: Scope) -> Syntax:
            return form(span, "cons", self.expression(node.elt, scope), name(so_far, span))

        return form(span, "reverse", self._turns(node.generators, scope, so_far, start, added))

    def folded(
        self,
        node: ast.GeneratorExp,
        scope: Scope,
        base: str,
        start: Syntax,
        step: Callable[[Syntax, Syntax], Syntax],
        decides: Callable[[Syntax], Syntax] | None = None,
    ) -> Syntax:
        """The items of a generator, combined one after the other, without a list. `decides`: does a result so far end it?"""
        span, so_far = self.span(node), self.fresh(base)

        def combined(scope: Scope) -> Syntax:
            return step(name(so_far, span), self.expression(node.elt, scope))

        return self._turns(node.generators, scope, so_far, start, combined, decides)

    def stream(self, node: ast.expr, scope: Scope) -> Syntax | None:
        """The items of a generator, made one by one; None if it is none."""
        if not isinstance(node, ast.GeneratorExp):
            return None
        span, yielding, so_far = self.span(node), self.fresh("yield"), self.fresh("nothing")

        def given(scope: Scope) -> Syntax:
            return form(
                span, "begin", form(span, yielding, self.expression(node.elt, scope)), name(so_far, span)
            )

        before, self.reads_lazily = self.reads_lazily, True
        turns = self._turns(node.generators, scope, so_far, empty_list(span), given)
        self.reads_lazily = before
        return form(
            span, "%py-generated", form(span, "lambda", Form((name(yielding, span),), None, span), turns)
        )

    def any_item(self, node: ast.Call, scope: Scope) -> ast.GeneratorExp | None:
        """The items of a generator function that is called (generators.py)."""
        return None

    def _turns(
        self,
        generators: Sequence[ast.comprehension],
        scope: Scope,
        so_far: str,
        start: Syntax,
        inner: Callable[[Scope], Syntax],
        decides: Callable[[Syntax], Syntax] | None = None,
    ) -> Syntax:
        """Nested loops that carry a value, and end where it decides."""
        before_all, self.reads_lazily = self.reads_lazily, self.reads_lazily or decides is not None
        found = self._turn_of(generators, scope, so_far, start, inner, decides, is_first=True)
        self.reads_lazily = before_all
        return found

    def _turn_of(
        self,
        generators: Sequence[ast.comprehension],
        scope: Scope,
        so_far: str,
        start: Syntax,
        inner: Callable[[Scope], Syntax],
        decides: Callable[[Syntax], Syntax] | None,
        is_first: bool = False,
    ) -> Syntax:
        generator = generators[0]
        span = self.span(generator.target)
        if generator.is_async:
            raise self.refuse("`async for`", generator.target, "write `for`")
        iteration = self.iteration(generator.iter, scope)
        loop, before = self.fresh_loop(), self._of_comprehensions
        if is_first:
            own = {one for each in generators for one in targets(each.target)}
            scope, self._of_comprehensions = scope.without(own), before | own
        bindings, within = self.turn_bindings(generator.target, iteration.value, scope)
        self._of_comprehensions |= {one for test in generator.ifs for one in captured_in(test)}

        def turn(tests: Sequence[ast.expr], scope: Scope) -> Syntax:
            if tests:
                return self.chosen(tests[0], scope, lambda scope: turn(tests[1:], scope), skipped, span)
            if len(generators) > 1:
                carried = self._turn_of(generators[1:], scope, so_far, name(so_far, span), inner, decides)
            else:
                carried = inner(scope)
            if decides is None:
                return form(span, loop, *iteration.steps, carried)
            kept = name(self.fresh("carried"), span)
            again = form(span, loop, *iteration.steps, kept)
            return self.let([(kept, carried)], form(span, "if", decides(kept), kept, again), span)

        def skipped(scope: Scope) -> Syntax:
            return form(span, loop, *iteration.steps, name(so_far, span))

        again = turn(generator.ifs, within)
        self._of_comprehensions = before
        return self.loop(
            loop, iteration, [(so_far, start)], self.bound(bindings, again, span), name(so_far, span), span
        )

    def loop(
        self,
        loop: str,
        iteration: Iteration,
        carried: Sequence[tuple[str, Syntax]],
        turn: Syntax,
        end: Syntax,
        span: Span,
    ) -> Syntax:
        """A loop over an iteration that carries more variables."""
        starts = [Form((name(own, span), value), None, span) for own, value in (*iteration.starts, *carried)]
        tests = iteration.tests
        test = tests[0] if len(tests) == 1 else form(span, "and", *tests)
        turns = form(span, "if", test, turn, end)
        result: Syntax = form(span, "let", loop, Form(tuple(starts), None, span), turns)
        for own, value in reversed(iteration.around):
            result = self.let([(name(own, span), value)], result, span)
        return result

    def turn_bindings(
        self, target: ast.expr, value: Value, scope: Scope
    ) -> tuple[list[tuple[Syntax, Syntax]], Scope]:
        """The bindings of a target to the value of a turn, or of an assignment, and the scope in which they hold."""
        span = self.span(target)
        if isinstance(target, ast.Name):
            own = self.own_name(target.id)
            whole = (
                self.tuple_of([self.whole(part, span) for part in value], span)
                if isinstance(value, tuple)
                else value
            )
            return [(name(own, span), whole)], scope.bind(target.id, own)
        if not isinstance(target, ast.Tuple | ast.List):
            raise self.refuse("this target", target, "assign to names")
        parts = target.elts
        bindings: list[tuple[Syntax, Syntax]] = []
        if not (isinstance(value, tuple) and len(value) == len(parts)) or any(
            isinstance(one, ast.Starred) for one in parts
        ):
            given = self.whole(value, span)
            value, unpacking = self._unpacked(parts, given, target)
            bindings += unpacking
        for part, one in zip(parts, value, strict=True):
            more, scope = self.turn_bindings(
                part.value if isinstance(part, ast.Starred) else part, one, scope
            )
            bindings += more
        return bindings, scope

    def whole(self, value: Value, span: Span) -> Syntax:
        return (
            self.tuple_of([self.whole(part, span) for part in value], span)
            if isinstance(value, tuple)
            else value
        )

    def _unpacked(
        self, parts: Sequence[ast.expr], given: Syntax, target: ast.expr
    ) -> tuple[tuple[Syntax, ...], list[tuple[Syntax, Syntax]]]:
        """Variables for the parts of a value, and the binding that checks their number."""
        span = self.span(target)
        variables = [name(self.fresh("part"), span) for _ in parts]
        return tuple(variables), [(form(span, "list", *variables), self._checked(parts, given, span))]

    def _checked(self, parts: Sequence[ast.expr], given: Syntax, span: Span) -> Syntax:
        """The list of the parts of a value."""
        stars = [number for number, part in enumerate(parts) if isinstance(part, ast.Starred)]
        if stars:
            before, after = stars[0], len(parts) - 1 - stars[0]
            counts = (literal(float(before), span), literal(float(after), span))
            return form(span, "%py-unpacked-around", given, *counts)
        return form(span, "%py-unpacked", given, literal(float(len(parts)), span))

    def _parts(self, node: Parts, scope: Scope) -> Syntax:
        return self._checked(node.targets, self.argument(node.value, scope), self.span(node))

    def iteration(self, node: ast.expr, scope: Scope) -> Iteration:
        """What a loop goes through."""
        span = self.span(node)
        value = self.object_of(node.func, scope) if isinstance(node, ast.Call) else MISSING
        if isinstance(node, ast.Call) and value in (range, enumerate, zip):
            named = {keyword.arg: keyword.value for keyword in node.keywords}
            starts = [*node.args[1:], *([named["start"]] if value is enumerate and "start" in named else [])]
            is_plain = not any(isinstance(one, ast.Starred) for one in node.args) and len(
                node.keywords
            ) == len(starts[len(node.args[1:]) :])
            if is_plain and value is range and 1 <= len(node.args) <= 3:
                return self._range(node, scope)
            if is_plain and value is enumerate and node.args and len(starts) <= 1:
                start = self.expression(starts[0], scope) if starts else literal(0.0, span)
                return numbered(self.iteration(node.args[0], scope), start, span, self.fresh)
            if value is zip and node.args:
                found = self._zip(node, scope)
                if found is not None:
                    return found
            raise self.refuse(f"this call of {ast.unparse(node.func)}", node, "write its arguments by place")
        if isinstance(node, ast.Call) and value is reversed and len(node.args) == 1 and not node.keywords:
            return listed(form(span, "%py-reversed", self.items(node.args[0], scope)), span, self.fresh)
        if is_all_but_last(node) and not self.sees_changes(node):
            whole = form(span, "%py-ordered-items", self.expression(node.value, scope))
            return all_but_last(whole, span, self.fresh)
        return listed(self.items(node, scope), span, self.fresh)

    def sees_changes(self, node: ast.Subscript) -> bool:
        """May a part of a value, that is gone through, change meanwhile? That of an array is a view."""
        return False

    def _zip(self, node: ast.Call, scope: Scope) -> Iteration | None:
        """`zip(a, b)`, `zip(*rows)`, `zip(a, b, strict=True)`; None for another call."""
        span, strict = self.span(node), False
        match node.keywords:
            case []:
                pass
            case [ast.keyword(arg="strict", value=ast.Constant(value=bool() as strict))]:
                pass
            case _:
                return None
        if any(isinstance(one, ast.Starred) for one in node.args):
            if strict:
                return None
            rows = self._spread(node.args, empty_list(span), scope)
            return listed(form(span, "%py-zipped", rows), span, self.fresh)
        if not strict:
            return side_by_side([self.iteration(one, scope) for one in node.args])
        first, bindings = name(self.fresh("items"), span), []
        bindings.append((first.symbol.name, form(span, "%py-items", self.items(node.args[0], scope))))
        parts = [listed(first, span, self.fresh)]
        for one in node.args[1:]:
            own = self.fresh("items")
            bindings.append((own, form(span, "%py-as-many", self.items(one, scope), first)))
            parts.append(listed(name(own, span), span, self.fresh))
        together = side_by_side(parts)
        return replace(together, around=(*bindings, *together.around))

    def items(self, node: ast.expr, scope: Scope) -> Syntax:
        """What a loop goes through, as a list or a tuple."""
        if isinstance(node, ast.GeneratorExp | ast.ListComp):
            return self.listed(node, scope)
        value = self.expression(node, scope)
        if isinstance(node, ast.List | ast.Tuple):
            return value
        return form(self.span(node), "%py-items", value)

    def argument(self, node: ast.expr, scope: Scope) -> Syntax:
        """The argument of a function that consumes an iterable at once."""
        return (
            self.listed(node, scope) if isinstance(node, ast.GeneratorExp) else self.expression(node, scope)
        )

    def _range(self, node: ast.Call, scope: Scope) -> Iteration:
        span = self.span(node)
        given = [self._whole_number(one, scope) for one in node.args]
        start = given[0] if len(given) > 1 else literal(0.0, span)
        stop = given[1] if len(given) > 1 else given[0]
        step = given[2] if len(given) > 2 else literal(1.0, span)
        is_down: bool | None = False
        if len(given) > 2:
            constant = _number(node.args[2])
            is_down = None if constant is None else constant < 0
            if constant is None:
                step = form(span, "%py-step", step)
            if constant == 0:
                raise self.refuse("a range with the step 0", node, "a step is another number")
        return counted(start, stop, step, is_down, span, self.fresh)

    def _whole_number(self, node: ast.expr, scope: Scope) -> Syntax:
        value = self.expression(node, scope)
        constant = _number(node)
        if constant is not None and constant == int(constant):
            return value
        return form(self.span(node), "%py-whole", value)


def is_all_but_last(node: ast.expr) -> TypeGuard[ast.Subscript]:
    """`x[:-1]`"""
    match node:
        case ast.Subscript(slice=ast.Slice(lower=None, upper=ast.expr() as upper, step=None)):
            return _number(upper) == -1.0
    return False


def _number(node: ast.expr) -> float | None:
    """The value of a constant number."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        found = _number(node.operand)
        return None if found is None else -found
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return node.value if is_number and isinstance(node, ast.Constant) else None  # type: ignore[return-value]  # tested in the line above
