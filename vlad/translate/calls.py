"""Calls: of nested functions, of other Python functions, of Python's own, and of derivatives.

In: calls.  Out: syntax, with the arguments in the order of the parameters. known.py has the functions whose calls are plain;
those here are syntax, or take generators.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
import types
from collections.abc import Callable
from typing import Any

from vlad.data.records import is_record
from vlad.data.values import FALSE, TRUE
from vlad.data.values import Value as Datum
from vlad.reader.parser import Form, Keyword, Syntax
from vlad.translate.arguments import signature_in_text
from vlad.translate.dicts import DICT_METHODS
from vlad.translate.expressions import METHODS, OTHER, TYPES, Scope, signature_of
from vlad.translate.known import Known, known, operator_of
from vlad.translate.names import parameters
from vlad.translate.partials import Partials
from vlad.translate.reads import MISSING
from vlad.translate.records import Given
from vlad.translate.syntax import empty_list, form, is_atom, literal, name


class Calls(Partials):
    """The part of a translation that is about calls."""

    def _call(self, node: ast.Call, scope: Scope) -> Syntax:
        span = self.span(node)
        value = self.object_of(node.func, scope)
        if value is not MISSING:
            return self._outer_call(node, value, scope)
        if isinstance(node.func, ast.Attribute):
            if isinstance(self.object_of(node.func.value, scope), types.ModuleType):
                return self._attribute(node.func, scope)  # which refuses it
            return self._method(node, node.func, scope)
        callee = (
            self.variable(node.func, scope)
            if isinstance(node.func, ast.Name)
            else self.expression(node.func, scope)
        )
        own = (scope.known or {}).get(node.func.id) if isinstance(node.func, ast.Name) else None
        if isinstance(node.func, ast.Lambda):
            own = node.func
        if own is not None:
            signature = signature_in_text(own)
            return self.call_of(
                node, callee, signature, lambda one: self.expression(one.default, scope), scope
            )
        if not node.keywords and any(isinstance(one, ast.Starred) for one in node.args):
            return form(span, "%py-apply", callee, self._spread(node.args, empty_list(span), scope))
        self.expect_plain(node)
        return self.applied(callee, node, scope)

    def _outer_call(self, node: ast.Call, value: Any, scope: Scope) -> Syntax:
        """A call of a function of Python's, or of a global one."""
        span = self.span(node)
        if isinstance(value, functools.partial):
            return self.partial_call(node, value, scope)
        is_known_python = signature_of(value) is not None or (isinstance(value, type) and is_record(value))
        if not is_known_python:
            self.expect_plain(node)
        special = SPECIAL.get(value) if isinstance(value, types.BuiltinFunctionType | type) else None
        if special is not None:
            return special(self, node, scope)
        found = known(value)
        if found is not None:
            return self.known_call(node, found, scope)
        operator = operator_of(value) if callable(value) else None
        if operator is not None:
            return self._derived(node, operator, scope)
        if isinstance(value, type) and is_record(value):
            return self.construct(value, node, scope)
        if value is dataclasses.replace:
            return self.replace(node, scope)
        callee = self.constant_of(value, ast.unparse(node.func), node.func, is_called=True)
        signature = signature_of(value)
        if signature is None:
            if node.keywords:
                raise self.refuse("arguments by name here", node.keywords[0], "give them by place")
            return form(span, callee, *self.operands(node.args, scope))
        return self.call_of(
            node, callee, signature, lambda one: self.value_of(one.default, one.name, node), scope
        )

    def value_of(self, value: Any, key: str, node: ast.AST) -> Syntax:
        """A value that the text does not name, such as a default."""
        span = self.span(node)
        if value is None or isinstance(value, bool | int | float | str):
            return self._constant(ast.copy_location(ast.Constant(value), node), Scope({}))
        return name(self.outside.cell(value, key, span), span)

    def known_call(self, node: ast.Call, found: Known, scope: Scope) -> Syntax:
        span, count = self.span(node), len(node.args)
        named: list[Syntax] = []
        for keyword in node.keywords:
            assert keyword.arg is not None  # `**` was refused
            if keyword.arg not in found.keywords:
                taken = (
                    f"it takes {', '.join(found.keywords)} by name"
                    if found.keywords
                    else "give them by place"
                )
                raise self.refuse(f"{found.name} with the argument {keyword.arg} by name", keyword, taken)
            own = Keyword(found.keywords[keyword.arg], self.span(keyword))
            named += [own, self.expression(keyword.value, scope)]
        if count in found.procedures:
            return form(span, found.procedures[count], *self.operands(node.args, scope), *named)
        if found.name in ("min", "max") and count > 2:
            procedure = found.procedures[2]
            result: Syntax = self.expression(node.args[0], scope)
            for one in node.args[1:]:
                result = form(span, procedure, result, self.expression(one, scope))
            return result
        counts = " or ".join([str(number) for number in found.procedures])
        raise self.refuse(f"{found.name} with {count} arguments", node, f"it takes {counts}")

    def _derived(self, node: ast.Call, operator: str, scope: Scope) -> Syntax:
        """`vlad.grad(f)` and its kin, by all arguments of f. By several arguments the result is a tuple."""
        if len(node.args) != 1 or node.keywords:
            hint = "differentiate a lambda of the arguments in question"
            raise self.refuse("a derivative by chosen arguments", node, hint)
        span, given = self.span(node), node.args[0]
        if isinstance(given, ast.Lambda) and (given.args.vararg or given.args.kwarg):
            raise self.refuse("a derivative by any number of arguments", given, "write a lambda of so many")
        count = self._arity(given, scope)
        derived = form(span, operator, self.expression(given, scope))
        if count == 1 and operator != "value-and-gradient":
            return derived
        if count > 1 and operator in ("hessian", "jacobian"):
            raise self.refuse(f"the {operator} by several arguments", node, "take one list or array")
        own, names = name(self.fresh("derived"), span), [name(self.fresh("x"), span) for _ in range(count)]
        parts = [name(self.fresh("part"), span) for _ in range(count)]
        pattern: Syntax = parts[0] if count == 1 else form(span, "cons*", *parts)
        result = self.tuple_of(parts, span) if count > 1 else parts[0]
        if operator == "value-and-gradient":
            value = name(self.fresh("value"), span)
            pattern, result = form(span, "cons", value, pattern), self.tuple_of([value, result], span)
        called = self.let([(pattern, form(span, own, *names))], result, span)
        body = form(span, "lambda", Form(tuple(names), None, span), called)
        return form(span, "let", Form((Form((own, derived), None, span),), None, span), body)

    def _arity(self, node: ast.expr, scope: Scope) -> int:
        """The number of arguments of a function that is differentiated; 1 if it is not known."""
        if isinstance(node, ast.Lambda):
            return len(parameters(node))
        own = (scope.known or {}).get(node.id) if isinstance(node, ast.Name) else None
        if own is not None:
            return len(parameters(own))
        signature = signature_of(self.object_of(node, scope))
        return 1 if signature is None else len(signature.parameters)

    def _method(self, node: ast.Call, method: ast.Attribute, scope: Scope) -> Syntax:
        self.expect_plain(node)
        of_dicts = DICT_METHODS.get(method.attr, {}).get(len(node.args)) if not node.keywords else None
        plain = METHODS.get(method.attr) if not node.args and not node.keywords else None
        known_procedure = of_dicts or plain

        def other(x: Syntax, given: Given) -> Syntax:
            assert known_procedure is not None
            return form(self.span(node), known_procedure, x, *given[0])

        found = self.method_of_records(node, method, scope, None if known_procedure is None else other)
        if found is not None:
            return found
        if of_dicts is not None:
            keys = [self.index(one, scope) for one in node.args[:1]]
            others = self.operands(node.args[1:], scope)
            return form(self.span(node), of_dicts, self.expression(method.value, scope), *keys, *others)
        procedure = METHODS.get(method.attr)
        if procedure is None or node.args or node.keywords:
            what = f"the method {method.attr}" if procedure is None else f"{method.attr} with arguments"
            hint = (
                "`append` is a statement of its own"
                if method.attr == "append"
                else f"there are {', '.join(METHODS)}"
            )
            return self.put_off(self.refuse(what, node, hint), node, method, scope)
        return form(self.span(node), procedure, self.expression(method.value, scope))


# Functions whose calls are syntax.


def _print(x: Calls, node: ast.Call, scope: Scope) -> Syntax:
    if node.keywords:
        raise x.refuse("print with arguments by name", node.keywords[0], "join the texts")
    span = x.span(node)
    return form(span, "%py-print", form(span, "list", *x.operands(node.args, scope)))


def _isinstance(x: Calls, node: ast.Call, scope: Scope) -> Syntax:
    span = x.span(node)
    if len(node.args) != 2 or node.keywords:
        raise x.refuse("this call of isinstance", node, "it takes a value and a type")
    given = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
    value = x.expression(node.args[0], scope)
    kept = value if is_atom(value) else name(x.fresh("value"), span)
    tests: list[Syntax] = []
    for one in given:
        kind = x.object_of(one, scope)
        of_records = x.is_of(kind, kept, one) if isinstance(kind, type) and kind is not tuple else []
        if not of_records and (not isinstance(kind, type) or kind not in TYPES):
            hint = f"there are {', '.join([known_type.__name__ for known_type in TYPES])}, named tuples and frozen dataclasses"
            raise x.refuse(f"isinstance with {ast.unparse(one)}", one, hint)
        tests += [form(span, TYPES[kind], kept)] if kind in TYPES else []
        tests += of_records
    result = tests[0] if len(tests) == 1 else form(span, "or", *tests)
    return result if kept is value else x.let([(kept, value)], result, span)


def _of_items(
    procedure: str, start: float | None, step: str | None
) -> Callable[[Calls, ast.Call, Scope], Syntax]:
    """A function of the items of a generator, which makes no list if there are a start and a step."""

    def call(x: Calls, node: ast.Call, scope: Scope) -> Syntax:
        found = known(x.object_of(node.func, scope))
        if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.GeneratorExp):
            assert found is not None
            return x.known_call(node, found, scope)
        span, generator = x.span(node), node.args[0]
        if start is None or step is None:
            return form(span, procedure, x.listed(generator, scope))
        adds = "+" if x.kind(generator.elt) > OTHER else step
        return x.folded(
            generator, scope, "sum", literal(start, span), lambda so_far, item: form(span, adds, so_far, item)
        )

    return call


def _tested(keyword: str, start: Datum) -> Callable[[Calls, ast.Call, Scope], Syntax]:
    """`any` and `all`: of a generator, no item is evaluated after the one that decides."""

    def call(x: Calls, node: ast.Call, scope: Scope) -> Syntax:
        found = known(x.object_of(node.func, scope))
        if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.GeneratorExp):
            assert found is not None
            return x.known_call(node, found, scope)
        span, generator = x.span(node), node.args[0]

        def step(so_far: Syntax, item: Syntax) -> Syntax:
            return form(span, keyword, so_far, form(span, "%py-true?", item))

        return x.folded(generator, scope, "found", literal(start, span), step)

    return call


def _sorted(x: Calls, node: ast.Call, scope: Scope) -> Syntax:
    span = x.span(node)
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    if len(node.args) != 1 or set(named) - {"key", "reverse"}:
        raise x.refuse("this call of sorted", node, "it takes a list, `key` and `reverse`")
    items = x.items(node.args[0], scope)
    key = (
        form(span, "%py-sorted-by", x.expression(named["key"], scope), items)
        if "key" in named
        else form(span, "%py-sorted", items)
    )
    if "reverse" not in named:
        return key
    if not (
        isinstance(named["reverse"], ast.Constant) and named["reverse"].value is True and "key" not in named
    ):
        raise x.refuse("sorted with `reverse` here", named["reverse"], "reverse=True, without a key")
    return form(span, "reverse", key)


def _as_list(x: Calls, node: ast.Call, scope: Scope) -> Syntax:
    """list(range(n)) and list(zip(a, b)): what is no value of itself."""
    found = known(x.object_of(node.func, scope))
    assert found is not None
    if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.Call | ast.GeneratorExp):
        return x.known_call(node, found, scope)
    span = x.span(node)
    if isinstance(node.args[0], ast.GeneratorExp):
        return form(span, found.procedures[1], x.listed(node.args[0], scope))
    return form(span, found.procedures[1], collected(x, node.args[0], scope))


def collected(x: Calls, node: ast.Call, scope: Scope) -> Syntax:
    """The items of `range`, `zip` or `enumerate` as a list; another call as it is."""
    span = x.span(node)
    if x.object_of(node.func, scope) not in (range, zip, enumerate):
        return x.expression(node, scope)
    iteration = x.iteration(node, scope)
    so_far, loop = x.fresh("items"), x.fresh("loop")
    added = form(span, "cons", x.whole(iteration.value, span), name(so_far, span))
    start = form(span, "quote", Form((), None, span))
    again = form(span, loop, *iteration.steps, added)
    return form(span, "reverse", x.loop(loop, iteration, [(so_far, start)], again, name(so_far, span), span))


def _float(x: Calls, node: ast.Call, scope: Scope) -> Syntax:
    """float("inf") and the like, which Python has no literals for."""
    found = known(float)
    assert found is not None
    match node:
        case ast.Call(args=[ast.Constant(value=str() as text)], keywords=[]) if _SPECIAL_NUMBER.fullmatch(
            text.strip().lower()
        ):
            return literal(float(text), x.span(node))
    return x.known_call(node, found, scope)


_SPECIAL_NUMBER = re.compile(r"[+-]?(inf|infinity|nan)")
SPECIAL: dict[Any, Callable[[Calls, ast.Call, Scope], Syntax]] = {
    print: _print,
    isinstance: _isinstance,
    float: _float,
    sum: _of_items("%py-sum", 0.0, "%py-add"),
    min: _of_items("%py-least", None, None),
    max: _of_items("%py-greatest", None, None),
    any: _tested("or", FALSE),
    all: _tested("and", TRUE),
    sorted: _sorted,
    list: _as_list,
    tuple: _as_list,
    dict: Calls.made_dict,
    functools.partial: Calls.made_partial,
    range: collected,  # as values they are lists, which behave alike where they are read
    zip: collected,
    enumerate: collected,
}
