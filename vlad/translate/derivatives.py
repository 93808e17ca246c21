"""Calls of vlad's public functions of derivatives, inside of a translated function: `vlad.grad(f)(x)` and its kin.

In: calls.  Out: syntax; the library's operators compute the results. By several arguments a result is a tuple, as in Python.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from vlad.data.source import Span
from vlad.data.values import FALSE
from vlad.reader.parser import Form, Keyword, Syntax
from vlad.translate.arguments import signature_in_text, takes
from vlad.translate.counting import Counters, Counting
from vlad.translate.expressions import Outside, Scope
from vlad.translate.names import Function, parameters
from vlad.translate.reads import MISSING
from vlad.translate.signatures import signature_of
from vlad.translate.source import Text
from vlad.translate.syntax import form, literal, name, quoted

OPERATORS = {
    "grad": "gradient",
    "value_and_grad": "value-and-gradient",
    "hessian": "hessian",
    "jacobian": "jacobian",
}
MAKERS = (
    *OPERATORS,
    "checkpointed",
    "custom_derivative",
    "vmap",
)  # functions of a function, whose results are like it


class Derivatives(Counting):
    """The part of a translation that is about derivatives."""

    def __init__(self, function: FunctionType, text: Text, outside_: Outside) -> None:
        super().__init__(function, text, outside_)
        self._completed_calls: set[int] = (
            set()
        )  # the functions of derivatives whose calls are completed by defaults

    def own_function(self, node: ast.expr, scope: Scope) -> Function | None:
        """The nested function that an expression is, if it is one."""
        if isinstance(node, ast.Lambda):
            return node
        return (scope.known or {}).get(node.id) if isinstance(node, ast.Name) else None

    def parameters_of(self, node: ast.expr, scope: Scope) -> list[str] | None:
        """The names of the parameters of a function that is differentiated; None if they are not known."""
        own = self.own_function(node, scope)
        if own is not None:
            return parameters(own)
        signature = signature_of(self.object_of(node, scope))
        return None if signature is None else list(signature.parameters)

    def public_call(self, node: ast.Call, public: str, scope: Scope) -> Syntax:
        """A call of one of vlad's public functions."""
        if public in OPERATORS:
            return self._derived(node, OPERATORS[public], scope)
        method: Callable[[ast.Call, Scope], Syntax] = getattr(self, f"_{public}")
        return method(node, scope)

    def derivative_call(self, node: ast.Call, derived: ast.Call, scope: Scope) -> Syntax | None:
        """`vlad.grad(f)(x, steps=3)`: with the defaults of f, and arguments by name; None if f is not known."""
        if len(derived.args) < 1:
            return None
        own = self.own_function(derived.args[0], scope)
        signature = (
            signature_of(self.object_of(derived.args[0], scope)) if own is None else signature_in_text(own)
        )
        if signature is None:
            return None

        def default(one: inspect.Parameter) -> Syntax:
            if own is not None:
                return self.expression(one.default, scope)
            return self.value_of(one.default, one.name, node)

        self._completed_calls.add(id(derived.args[0]))
        return self.call_of(node, self.expression(derived, scope), signature, default, scope)

    def _function(self, node: ast.expr, scope: Scope) -> Syntax:
        """The function that is differentiated. It may have defaults if the call of its derivative is known."""
        if id(node) in self._completed_calls:
            if isinstance(node, ast.Name) and self.own_function(node, scope) is not None:
                return self.variable(node, scope)
            value = self.object_of(node, scope)
            if value is not MISSING:
                return self.constant_of(value, ast.unparse(node), node, is_called=True)
        return self.expression(node, scope)

    # grad, value_and_grad, hessian, jacobian

    def _derived(self, node: ast.Call, operator: str, scope: Scope) -> Syntax:
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        if not 1 <= len(node.args) <= 2 or set(named) - {"argnums"} or (len(node.args) == 2 and named):
            raise self.refuse(
                f"this call of {ast.unparse(node.func)}", node, "it takes a function and argnums"
            )
        given = node.args[0]
        if isinstance(given, ast.Lambda) and (given.args.vararg or given.args.kwarg):
            raise self.refuse("a derivative by any number of arguments", given, "write a lambda of so many")
        chosen = node.args[1] if len(node.args) == 2 else named.get("argnums")
        names = self.parameters_of(given, scope)
        span = self.span(node)
        if chosen is None or (isinstance(chosen, ast.Constant) and chosen.value is None):
            count = 1 if names is None else len(names)
            counted = self._counters_in(given, scope)
            if names and all(one in counted for one in names):
                self._expect_no_counter(names[0], counted, node)
            if count > 1 and operator in ("hessian", "jacobian"):
                raise self.refuse(f"the {operator} by several arguments", node, "choose one: argnums=0")
            return self._of_all(self._function(given, scope), operator, count, span)
        if names is None:
            hint = "differentiate a lambda of the arguments in question"
            raise self.refuse("a derivative by chosen arguments of this function", node, hint)
        numbers = self._numbers(chosen, names, given, scope)
        is_tuple = isinstance(chosen, ast.Tuple | ast.List)
        if is_tuple and operator in ("hessian", "jacobian"):
            raise self.refuse(f"the {operator} by several arguments", node, "choose one: argnums=0")
        return self._partly(self._function(given, scope), operator, numbers, len(names), is_tuple, span)

    def _numbers(self, chosen: ast.expr, names: Sequence[str], given: ast.expr, scope: Scope) -> list[int]:
        """The arguments that argnums chooses, from 0 on."""
        found = []
        for one in chosen.elts if isinstance(chosen, ast.Tuple | ast.List) else [chosen]:
            try:
                value = ast.literal_eval(one)
            except ValueError:
                raise self.refuse(
                    "this argnums", one, "write the number or the name of an argument"
                ) from None
            if isinstance(value, str) and value in names:
                value = list(names).index(value)
            if type(value) is not int or not -len(names) <= value < len(names):
                raise self.refuse("this argnums", one, f"the function takes {', '.join(names)}")
            number = value % len(names)
            self._expect_no_counter(names[number], self._counters_in(given, scope), one)
            found.append(number)
        if len(set(found)) < len(found):
            raise self.refuse("this argnums", chosen, "name each argument once")
        return found

    def _counters_in(self, given: ast.expr, scope: Scope) -> Counters:
        """The counters of a function that is differentiated, as far as they are known."""
        own = self.own_function(given, scope)
        return self.counters_of(self.object_of(given, scope)) if own is None else self.counters(own)

    def _expect_no_counter(self, own: str, counted: Counters, node: ast.AST) -> None:
        """Raise VladError if a parameter is one of these counters."""
        if own in counted:
            hint = f"{own} is a whole number in line {counted[own].line}, which has no derivative"
            raise self.refuse("a derivative by a counter", node, hint)

    def _variables(self, base: str, count: int, span: Span) -> list[Syntax]:
        return [name(self.fresh(base), span) for _ in range(count)]

    def _of_all(self, function: Syntax, operator: str, count: int, span: Span) -> Syntax:
        """By all arguments."""
        derived = form(span, operator, function)
        if count == 1 and operator != "value-and-gradient":
            return derived
        own, names = name(self.fresh("derived"), span), self._variables("x", count, span)
        body = form(
            span,
            "lambda",
            _list(names, span),
            self._as_tuples(form(span, own, *names), operator, count, span),
        )
        return form(span, "let", Form((Form((own, derived), None, span),), None, span), body)

    def _as_tuples(
        self, called: Syntax, operator: str, count: int, span: Span, is_tuple: bool = False
    ) -> Syntax:
        """The result of an operator by several arguments, as Python has it. `is_tuple`: is it one even by one argument?"""
        if count == 1 and not is_tuple and operator != "value-and-gradient":
            return called
        parts = self._variables("part", count, span)
        pattern: Syntax = parts[0] if count == 1 else form(span, "cons*", *parts)
        result = self.tuple_of(parts, span) if count > 1 or is_tuple else parts[0]
        if operator == "value-and-gradient":
            value = name(self.fresh("value"), span)
            pattern, result = form(span, "cons", value, pattern), self.tuple_of([value, result], span)
        return self.let([(pattern, called)], result, span)

    def _partly(
        self, function: Syntax, operator: str, numbers: Sequence[int], count: int, is_tuple: bool, span: Span
    ) -> Syntax:
        """By chosen arguments."""
        own, names = name(self.fresh("function"), span), self._variables("x", count, span)
        chosen = [names[number] for number in numbers]
        partial = form(span, "lambda", _list(chosen, span), form(span, own, *names))
        called: Syntax = form(span, form(span, operator, partial), *chosen)
        called = self._as_tuples(called, operator, len(chosen), span, is_tuple)
        body = form(span, "lambda", _list(names, span), called)
        return form(span, "let", Form((Form((own, function), None, span),), None, span), body)

    # jvp, hvp, vjp

    def _points(self, node: ast.Call, scope: Scope) -> tuple[Syntax, Syntax, Syntax]:
        """A function, primals and tangents, packed as the language packs arguments."""
        if len(node.args) != 3 or node.keywords:
            hint = "it takes a function, primals and tangents"
            raise self.refuse(f"this call of {ast.unparse(node.func)}", node, hint)
        function, *both = node.args
        names = self.parameters_of(function, scope)
        packed = []
        for one in both:
            if isinstance(one, ast.Tuple):
                if names is not None and len(one.elts) > len(names) > 0:
                    hint = f"the function takes {', '.join(names)}; one argument that is a tuple is `(x,)`"
                    raise self.refuse(f"this call of {ast.unparse(node.func)}", one, hint)
                operands = self.operands(one.elts, scope)
                packed.append(operands[0] if len(operands) == 1 else form(self.span(one), "cons*", *operands))
            else:
                packed.append(form(self.span(one), "%py-directions", self.expression(one, scope)))
        return self.expression(function, scope), packed[0], packed[1]

    def _jvp(self, node: ast.Call, scope: Scope) -> Syntax:
        span = self.span(node)
        called = form(span, "jvp", *self._points(node, scope))
        return self._as_tuples(called, "value-and-gradient", 1, span)

    def _hvp(self, node: ast.Call, scope: Scope) -> Syntax:
        span, points = self.span(node), node.args[1] if len(node.args) == 3 else None
        called: Syntax = form(span, "hvp", *self._points(node, scope))
        count = len(points.elts) if isinstance(points, ast.Tuple) else 1
        return self._as_tuples(called, "gradient", count, span)

    def _vjp(self, node: ast.Call, scope: Scope) -> Syntax:
        """The tuple of the value and the backpropagator, which returns a tuple for several arguments."""
        if len(node.args) < 2 or node.keywords:
            hint = "it takes a function and its arguments"
            raise self.refuse(f"this call of {ast.unparse(node.func)}", node, hint)
        span, count = self.span(node), len(node.args) - 1
        function, *primals = self.operands(node.args, scope)
        packed = primals[0] if count == 1 else form(span, "cons*", *primals)
        value, back = self._variables("value", 1, span)[0], self._variables("back", 1, span)[0]
        result: Syntax = back
        if count > 1:
            own = name(self.fresh("sensitivity"), span)
            called = self._as_tuples(form(span, back, own), "gradient", count, span)
            result = form(span, "lambda", _list([own], span), called)
        pair = form(span, "cons", value, back)
        return self.let(
            [(pair, form(span, "vjp", function, packed))], self.tuple_of([value, result], span), span
        )

    # stop_gradient, custom_derivative, checkpointed, vmap

    def _stop_gradient(self, node: ast.Call, scope: Scope) -> Syntax:
        if len(node.args) != 1 or node.keywords:
            raise self.refuse("this call of stop_gradient", node, "it takes a value")
        return form(self.span(node), "stop-gradient", self.expression(node.args[0], scope))

    def _checkpointed(self, node: ast.Call, scope: Scope) -> Syntax:
        named = {str(keyword.arg): keyword.value for keyword in node.keywords}
        if len(node.args) != 1 or set(named) - {"snapshots", "segments"}:
            hint = "it takes a function, snapshots= and segments="
            raise self.refuse("this call of checkpointed", node, hint)
        span = self.span(node)
        options: list[Syntax] = []
        for option, value in named.items():
            if not (isinstance(value, ast.Constant) and value.value is None):
                options += [Keyword(option, span), self.expression(value, scope)]
        return form(span, "checkpointed", self._function(node.args[0], scope), *options)

    def _vmap(self, node: ast.Call, scope: Scope) -> Syntax:
        named = {str(keyword.arg): keyword.value for keyword in node.keywords}
        if len(node.args) != 1 or set(named) - {"axes"}:
            raise self.refuse("this call of vmap", node, "it takes a function, and axes=")
        span = self.span(node)
        axes = [Keyword("axes", span), self._axes(named["axes"])] if "axes" in named else []
        return form(span, "vmap", self._function(node.args[0], scope), *axes)

    def _axes(self, node: ast.expr) -> Syntax:
        span = self.span(node)
        if isinstance(node, ast.Tuple | ast.List) and node.elts:
            return form(span, "list", *map(self._axes, node.elts))
        try:
            value = ast.literal_eval(node)
        except ValueError:
            value = ()
        if value == "list":
            return quoted("list", span)
        if value is not None and type(value) is not int:
            hint = 'write the number of an axis, None for what all rows share, "list" for a list of rows, or a tuple of these'
            raise self.refuse("these axes", node, hint)
        return literal(FALSE if value is None else float(value), span)

    def _custom_derivative(self, node: ast.Call, scope: Scope) -> Syntax:
        """A function with rules. They take its arguments as it does, not packed."""
        named = {str(keyword.arg): keyword.value for keyword in node.keywords}
        rules = set(named) & {"forward", "reverse"}
        if len(node.args) != 1 or not rules or set(named) - rules:
            raise self.refuse(
                "this call of custom_derivative", node, "it takes a function, and forward= or reverse="
            )
        names = self.parameters_of(node.args[0], scope)
        if names is None:
            raise self.refuse(
                "own derivatives of this function", node.args[0], "give a function of known arguments"
            )
        span, count = self.span(node), len(names)
        result: list[Syntax] = [self._function(node.args[0], scope)]
        bindings = []
        for rule in sorted(rules):
            self._expect_rule(rule, named[rule], count, scope)
            own = name(self.fresh(rule), span)
            bindings.append((own, self.expression(named[rule], scope)))
            made = self._forward_rule if rule == "forward" else self._reverse_rule
            result += [Keyword(rule, span), made(own, count, span)]
        return self.bound(bindings, form(span, "with-derivative", *result), span)

    def _expect_rule(self, rule: str, node: ast.expr, count: int, scope: Scope) -> None:
        """Raise VladError if a rule takes another number of arguments."""
        own = self.own_function(node, scope)
        signature = signature_of(self.object_of(node, scope)) if own is None else signature_in_text(own)
        why = None if signature is None else wrong_rule(rule, signature, count)
        if why is not None:
            raise self.refuse(f"this rule of custom_derivative: {why[0]}", node, why[1])

    def _forward_rule(self, rule: Syntax, count: int, span: Span) -> Syntax:
        points, tangents = self._variables("x", count, span), self._variables("dx", count, span)
        packed: list[Syntax] = [
            one[0] if count == 1 else form(span, "cons*", *one) for one in (points, tangents)
        ]
        return form(span, "lambda", _list(packed, span), form(span, rule, *points, *tangents))

    def _reverse_rule(self, rule: Syntax, count: int, span: Span) -> Syntax:
        points, own = self._variables("x", count, span), name(self.fresh("sensitivity"), span)
        value, back = self._variables("value", 1, span)[0], self._variables("back", 1, span)[0]
        parts = self._variables("part", count, span)
        called: Syntax = form(span, back, own)
        if count > 1:
            found = form(span, "%py-unpacked", called, _number(count, span))
            called = self.let([(form(span, "list", *parts), found)], form(span, "cons*", *parts), span)
        pair = form(span, "cons", value, form(span, "lambda", _list([own], span), called))
        unpacked = form(span, "%py-unpacked", form(span, rule, *points), _number(2, span))
        body = self.let([(form(span, "list", value, back), unpacked)], pair, span)
        return form(span, "lambda", _list(points, span), body)


def wrong_rule(rule: str, signature: inspect.Signature, count: int) -> tuple[str, str] | None:
    """What is wrong with the parameters of a rule of a function with so many arguments, and a hint; None if nothing is."""
    wanted = 2 * count if rule == "forward" else count
    if takes(signature, wanted):
        return None
    plural = "s" if wanted > 1 else ""
    hint = "the arguments of the function" + (", then their tangents" if rule == "forward" else "")
    return f"{rule} takes {wanted} argument{plural} here, not {signature}", hint


def _list(items: Sequence[Any], span: Span) -> Form:
    return Form(tuple(items), None, span)


def _number(count: int, span: Span) -> Syntax:
    return literal(float(count), span)
