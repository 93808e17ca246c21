"""Calls: of nested functions, of other Python functions, of Python's own, and of derivatives.

In: calls.  Out: syntax, with the arguments in the order of the parameters. known.py has the functions whose calls are plain;
those here are syntax, or take generators.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import itertools
import re
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from vlad.data.errors import VladError
from vlad.data.records import OPERATED, is_record
from vlad.data.values import FALSE, TRUE
from vlad.data.values import Value as Datum
from vlad.reader.parser import Form, Name, Syntax
from vlad.translate.arguments import signature_in_text
from vlad.translate.array_calls import (
    SYNTAX,
    VARIADIC_METHODS,
    method_call,
    row_call,
    row_value,
    static_number,
)
from vlad.translate.arrays import is_array_type, is_of_numpy, methods, numpy_syntax, package_of
from vlad.translate.derivatives import MAKERS, Derivatives
from vlad.translate.dicts import DICT_METHODS
from vlad.translate.exceptions import is_exception
from vlad.translate.expressions import ATTRIBUTES_OF_VALUES, NONE, NOWHERE, OTHER, REAL, TYPES, Scope
from vlad.translate.formats import joined
from vlad.translate.heaps import is_in_python
from vlad.translate.known import FOLDED, NAMED, STARTS, Known, instead_of, known, public_name
from vlad.translate.module_calls import MODULES, called_with, chained_lists
from vlad.translate.nodes import Given as GivenNode
from vlad.translate.numpy_table import METHODS_REFUSED
from vlad.translate.ordering import extreme_call, sorted_call
from vlad.translate.reads import MISSING
from vlad.translate.records import Given
from vlad.translate.sequence_methods import SEQUENCE_METHODS, methods_hint
from vlad.translate.sets import OF_ALL, SET_METHODS, one_by_one
from vlad.translate.signatures import signature_of
from vlad.translate.subscripts import subscript
from vlad.translate.syntax import empty_list, form, is_atom, literal, name, quoted, string
from vlad.translate.texts import as_f_string, formatted, with_base


class Calls(Derivatives):
    """The part of a translation that is about calls."""

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Syntax:
        return subscript(self, node, scope)

    def _joinedstr(self, node: ast.JoinedStr, scope: Scope) -> Syntax:
        return joined(self, node, scope)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Syntax:
        of = self.class_of(node.value, scope) if node.attr in ("__name__", "__qualname__") else None
        if of is not None:
            return self.class_name(of, scope)
        found = static_number(self, node, scope)
        return super()._attribute(node, scope) if found is None else literal(found, self.span(node))

    def _compare(self, node: ast.Compare, scope: Scope, is_tested: bool = False) -> Syntax:
        found = self._type_test(node, scope)
        return super()._compare(node, scope, is_tested) if found is None else found

    def _type_test(self, node: ast.Compare, scope: Scope) -> Syntax | None:
        """`type(x) is list`, `type(x) == list`, `type(x) in (list, tuple)`; None if it is another comparison."""
        left, (operator, *others) = node.left, node.ops
        if others or not isinstance(left, ast.Call) or self.object_of(left.func, scope) is not type:
            return None
        is_in, (right,) = isinstance(operator, ast.In | ast.NotIn), node.comparators
        kinds = right.elts if is_in and isinstance(right, ast.Tuple | ast.List) else [right]
        found = [self.object_of(one, scope) for one in kinds]
        plain = isinstance(operator, ast.Eq | ast.NotEq | ast.Is | ast.IsNot) or len(kinds) > 1
        if (
            len(left.args) != 1
            or not plain
            or not all(isinstance(one, type) and one in TYPES for one in found)
        ):
            return None
        span, value = self.span(node), name(self.fresh("value"), self.span(node))
        tests: list[Syntax] = [form(span, TYPES[one], value) for one in found]
        if bool not in found:
            tests = [form(span, "not", form(span, "boolean?", value)), form(span, "or", *tests)]
        test = form(span, "and" if bool not in found else "or", *tests)
        if isinstance(operator, ast.NotEq | ast.IsNot | ast.NotIn):
            test = form(span, "not", test)
        return self.let([(value, self.expression(left.args[0], scope))], test, span)

    def _call(self, node: ast.Call, scope: Scope) -> Syntax:
        span = self.span(node)
        value = self.object_of(node.func, scope)
        if value is not MISSING:
            return self._outer_call(node, value, scope)
        if isinstance(node.func, ast.Attribute):
            if isinstance(self.object_of(node.func.value, scope), types.ModuleType):
                return self._attribute(node.func, scope)  # which refuses it
            return self._method(node, node.func, scope)
        if isinstance(node.func, ast.Call) and public_name(self.object_of(node.func.func, scope)) in MAKERS:
            found = self.derivative_call(node, node.func, scope)
            if found is not None:
                return found
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

    def _ifexp(self, node: ast.IfExp, scope: Scope) -> Syntax:
        match node.test:  # of `getattr` with a default: no class in use may have the attribute
            case ast.Call(func=GivenNode(value=value), args=[owner, ast.Constant(value=str() as attribute)]):
                is_known = self.object_of(owner, scope) is not MISSING or self.with_name(attribute)
                if value is hasattr and not is_known:
                    _hasattr(self, node.test, scope)  # it may be refused
                    return self.expression(node.orelse, scope)
        return super()._ifexp(node, scope)

    def _outer_call(self, node: ast.Call, value: Any, scope: Scope) -> Syntax:
        """A call of a function of Python's, or of a global one."""
        span = self.span(node)
        if isinstance(value, functools.partial):
            return self.partial_call(node, value, scope)
        if is_exception(value):
            return self.exception(value, node, scope)
        is_known_python = signature_of(value) is not None or (isinstance(value, type) and is_record(value))
        if not is_known_python and value not in (zip, min, max):
            spread = self._spread_known(node, value, scope)
            if spread is not None:
                return spread
            self.expect_plain(node)
        if isinstance(value, types.BuiltinFunctionType | type):
            special = SPECIAL.get(value) or MODULES.get(value)
            if special is not None:
                return special(self, node, scope)
        found = known(value)
        if found is not None:
            return self.known_call(node, found, scope)
        syntax = numpy_syntax(value) if is_of_numpy(value) else None
        if syntax is not None:
            return SYNTAX[syntax](self, node, scope)
        public = public_name(value)
        if public is not None:
            return self.public_call(node, public, scope)
        if isinstance(value, types.FunctionType) and package_of(value) == "vlad" and not is_in_python(value):
            raise self.refuse(
                f"a call of vlad.{value.__name__}", node, "call it outside of translated functions"
            )
        if isinstance(value, type) and is_record(value):
            return self.construct(value, node, scope)
        if value is dataclasses.replace:
            return self.replace(node, scope)
        callee = self.constant_of(value, ast.unparse(node.func), node.func, is_called=True)
        if is_record(type(value)):
            return self.applied(callee, node, scope)
        signature = signature_of(value)
        if signature is None:
            if node.keywords:
                raise self.refuse("arguments by name here", node.keywords[0], "give them by place")
            return form(span, callee, *self.operands(node.args, scope))
        return self.call_of(
            node, callee, signature, lambda one: self.value_of(one.default, one.name, node), scope
        )

    def _spread_known(self, node: ast.Call, value: Any, scope: Scope) -> Syntax | None:
        """`math.hypot(*xs)`: a call of one of Python's functions whose number of arguments is known only when it runs."""
        found = known(value)
        if found is None or node.keywords or not any(isinstance(one, ast.Starred) for one in node.args):
            return None
        span = self.span(node)
        if found.name in STARTS:
            items = self._spread(node.args, empty_list(span), scope)
            start = literal(STARTS[found.name], span)
            return form(span, "%py-reduce-from", found.procedures[2], items, start)
        if found.row is not None or found.as_value is None:
            return None
        return form(span, "%py-apply", found.as_value, self._spread(node.args, empty_list(span), scope))

    def value_of(self, value: Any, key: str, node: ast.AST) -> Syntax:
        """A value that the text does not name, such as a default."""
        span = self.span(node)
        if value is None or isinstance(value, bool | int | float | str):
            return self._constant(ast.copy_location(ast.Constant(value), node), NOWHERE)
        return name(self.outside.cell(value, key, span), span)

    def known_call(self, node: ast.Call, found: Known, scope: Scope) -> Syntax:
        if found.row is not None:
            return row_call(self, node, found.row, scope)
        node = _by_place(node, NAMED.get(found.name, ()))
        span, count = self.span(node), len(node.args)
        for keyword in node.keywords:
            what = f"{found.name} with the argument {keyword.arg} by name"
            raise self.refuse(what, keyword, "give them by place")
        if count in found.procedures:
            operands = [self.argument(one, scope) for one in node.args]
            if found.takes_numbers:
                kinds = [self.kind(one) for one in node.args]
                text = string(found.name, span)
                operands = [
                    one if kind == REAL else form(span, "%py-number-only", one, text)
                    for one, kind in zip(operands, kinds, strict=True)
                ]
            return form(span, found.procedures[count], *operands)
        if found.name in FOLDED and count > 2:
            procedure = found.procedures[2]
            result: Syntax = self.expression(node.args[0], scope)
            for one in node.args[1:]:
                result = form(span, procedure, result, self.expression(one, scope))
            return result
        counts = " or ".join([str(number) for number in found.procedures])
        raise self.refuse(f"{found.name} with {count} arguments", node, f"it takes {counts}")

    def _method(self, node: ast.Call, method: ast.Attribute, scope: Scope) -> Syntax:
        if (
            method.attr == "format"
            and isinstance(method.value, ast.Constant)
            and isinstance(method.value.value, str)
        ):
            return self.expression(as_f_string(node, method.value.value, self.refuse), scope)
        owner = self.object_of(method.value, scope)
        if owner is itertools.chain and method.attr == "from_iterable":
            return chained_lists(self, node, scope)
        if owner is dict and method.attr == "fromkeys" and len(node.args) in (1, 2) and not node.keywords:
            items, given = self.items(node.args[0], scope), self.operands(node.args[1:], scope)
            return form(
                self.span(node), "%py-dict-of-keys", items, *(given or [quoted(NONE, self.span(node))])
            )
        if owner is not MISSING and type(owner).__name__ == "ufunc":
            hint = "there are np.sum, np.prod, np.cumsum, np.max, np.outer"
            raise self.refuse(f"`{ast.unparse(method)}`", node, hint)
        instead = instead_of(owner)
        if instead is not None:
            raise self.refuse(f"`{ast.unparse(method)}`", node, instead)
        if owner in (set, frozenset) and method.attr in OF_ALL and not node.keywords:
            return self.of_all(node, method.attr, scope)
        if (
            method.attr in OF_ALL
            and any(isinstance(one, ast.Starred) for one in node.args)
            and not node.keywords
        ):
            first = ast.copy_location(ast.Call(node.func, [method.value, *node.args], []), node)
            return self.of_all(first, method.attr, scope)
        split = one_by_one(node, method)
        if split is not node:
            assert isinstance(split.func, ast.Attribute)
            return self._method(split, split.func, scope)
        count = -1 if node.keywords else len(node.args)
        of_dicts = DICT_METHODS.get(method.attr, {}).get(count)
        of_sequences = (SEQUENCE_METHODS.get(method.attr) or SET_METHODS.get(method.attr, {})).get(count)
        row = methods().get(method.attr)
        is_of_arrays = row is not None or method.attr in VARIADIC_METHODS

        def other(x: Syntax, given: Given) -> Syntax:
            """The call for values that are no records."""
            own = of_dicts or of_sequences
            if own is not None:
                return form(self.span(node), own, x, *given[0])
            return self._array_method(node, method, scope, x, given)

        has_others = of_dicts or of_sequences or is_of_arrays
        found = self.method_of_records(node, method, scope, other if has_others else None)
        if found is not None:
            return found
        if of_dicts is not None:
            keys = [self.index(one, scope) for one in node.args[:1]]
            others = self.operands(node.args[1:], scope)
            return form(self.span(node), of_dicts, self.expression(method.value, scope), *keys, *others)
        self.expect_plain(node)
        if of_sequences is not None:
            given = [self.argument(one, scope) for one in node.args]
            return form(self.span(node), of_sequences, self.expression(method.value, scope), *given)
        found = method_call(self, node, method, scope)
        if found is not None:
            return found
        if row is not None:
            return row_call(self, node, row, scope, method.value)
        of_arrays = f"there are {', '.join(methods())}, reshape, transpose"
        hint = METHODS_REFUSED.get(method.attr) or methods_hint(method.attr) or of_arrays
        error = self.refuse(f"the method {method.attr}", node, hint)
        return self.put_off(error, node, method, scope)

    def _array_method(
        self, node: ast.Call, method: ast.Attribute, scope: Scope, x: Syntax, given: Given
    ) -> Syntax:
        """A method of an array that classes have, too: the arguments are computed before."""

        def kept(value: Syntax, otherwise: ast.expr) -> ast.expr:
            nonlocal scope
            is_plain = isinstance(otherwise, ast.Constant | ast.UnaryOp | ast.Name | ast.Attribute)
            if not isinstance(value, Name) or is_plain:  # an option may be a constant only
                return otherwise
            python = self.fresh("given") + " "  # no name of Python's
            scope = scope.bind(python, value.symbol.name)
            return ast.copy_location(ast.Name(python, ast.Load()), otherwise)

        array = self.fresh("array")
        assert isinstance(x, Name)
        scope = scope.bind(array, x.symbol.name)
        receiver = ast.copy_location(ast.Name(array, ast.Load()), method.value)
        own = ast.copy_location(ast.Attribute(receiver, method.attr, ast.Load()), method)
        arguments = [kept(value, one) for value, one in zip(given[0], node.args, strict=True)]
        named = [ast.keyword(one.arg, kept(given[1][str(one.arg)], one.value)) for one in node.keywords]
        call, row = ast.copy_location(ast.Call(own, arguments, named), node), methods().get(method.attr)
        try:
            found = method_call(self, call, own, scope)
            if found is None and row is not None:
                found = row_call(self, call, row, scope, receiver)
        except VladError as error:  # no call of an array's, so one of a record's
            message = string(error.message, self.span(node))
            return form(self.span(node), "%python-refuse", string("TypeError", self.span(node)), message)
        assert found is not None
        return found

    def known_value(self, found: Known, node: ast.expr) -> Syntax:
        """A function of Python's as a value."""
        if found.row is not None:
            return row_value(self, found.row, node)
        if found.as_value is None:
            raise self.refuse(f"{found.name} as a value", node, "write a lambda of the arguments")
        return name(found.as_value, self.span(node))


def _by_place(call: ast.Call, names: Sequence[str]) -> ast.Call:
    """A call whose arguments by name are the next ones, given by place."""
    if not call.keywords or tuple([one.arg for one in call.keywords]) != tuple(
        names[len(call.args) : len(call.args) + len(call.keywords)]
    ):
        return call
    given = [*call.args, *[one.value for one in call.keywords]]
    return ast.copy_location(ast.Call(call.func, given, []), call)


# Functions whose calls are syntax.


def _print(x: Calls, node: ast.Call, scope: Scope) -> Syntax:
    span, named = x.span(node), {one.arg: one for one in node.keywords}
    other = next((one for own, one in named.items() if own not in ("sep", "end")), None)
    if other is not None:
        raise x.refuse(f"print with the argument {other.arg} by name", other, "there are sep and end")
    items = form(span, "list", *x.operands(node.args, scope))
    if not named:
        return form(span, "%py-print", items)
    given = [
        x.expression(named[own].value, scope) if own in named else quoted(NONE, span)
        for own in ("sep", "end")
    ]
    return form(span, "%py-print-with", items, *given)


_NO_VALUES = (bytes, bytearray, memoryview, complex)  # no value here is of these types


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
        if is_exception(kind):
            tests.append(x.is_instance_raised(kept, kind, one))
            continue
        if kind in _NO_VALUES:
            tests.append(literal(FALSE, span))
            continue
        of_records = x.is_of(kind, kept, one) if isinstance(kind, type) and kind is not tuple else []
        predicate = TYPES.get(kind) if isinstance(kind, type) else None
        if predicate is None and is_array_type(kind):
            predicate = "tensor?"
        if not of_records and predicate is None:
            known_types = ", ".join([known_type.__name__ for known_type in TYPES])
            hint = f"there are {known_types}, np.ndarray, named tuples and frozen dataclasses"
            raise x.refuse(f"isinstance with {ast.unparse(one)}", one, hint)
        tests += [] if predicate is None else [form(span, predicate, kept)]
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
            if procedure != "%py-sum" and any(isinstance(one, ast.Starred) for one in node.args):
                x.expect_by_place(node)
                items = x._spread(node.args, empty_list(x.span(node)), scope)
                return form(x.span(node), procedure, form(x.span(node), "%py-arguments", items))
            return x.known_call(node, found, scope)
        span, generator = x.span(node), node.args[0]
        if start is None or step is None:
            return form(span, procedure, x.listed(generator, scope))
        is_added = x.kind(generator.elt) == OTHER

        def adding(so_far: Syntax, item: Syntax) -> Syntax:
            if is_added and x.with_name(OPERATED):
                return x.binary(ast.Add(), so_far, item, (OTHER, OTHER), node)
            return form(span, step if is_added else "+", so_far, item)

        return x.folded(generator, scope, "sum", literal(start, span), adding)

    return call


_sum_of_numbers = _of_items("%py-sum", 0.0, "%py-add")


def _sum(x: Calls, node: ast.Call, scope: Scope) -> Syntax:
    """`sum`: of records that define operators, by these."""
    given = _by_place(node, NAMED["sum"])
    is_generator = len(given.args) == 1 and isinstance(given.args[0], ast.GeneratorExp)
    if is_generator or given.keywords or len(given.args) not in (1, 2) or not x.with_name(OPERATED):
        return _sum_of_numbers(x, node, scope)
    span = x.span(node)
    items = x.argument(given.args[0], scope)
    start = x.expression(given.args[1], scope) if len(given.args) == 2 else literal(0.0, span)
    so_far, item = name(x.fresh("sum"), span), name(x.fresh("item"), span)
    added = x.binary(ast.Add(), so_far, item, (OTHER, OTHER), node)
    adding = form(span, "lambda", Form((so_far, item), None, span), added)
    return form(span, "%py-reduce-from", adding, items, start)


def _abs(x: Calls, node: ast.Call, scope: Scope) -> Syntax:
    if len(node.args) != 1 or node.keywords or x.kind(node.args[0]) != OTHER:
        found = known(abs)
        assert found is not None
        return x.known_call(node, found, scope)
    return x.of_one("__abs__", "abs", x.expression(node.args[0], scope), x.span(node))


def _hasattr(x: Calls, node: ast.Call, scope: Scope) -> Syntax:
    """Whether a value is of a class in use that has an attribute; what values of Python's own have is refused."""
    match node:
        case ast.Call(args=[value, ast.Constant(value=str() as attribute)], keywords=[]):
            pass
        case _:
            raise x.refuse("this call of hasattr", node, "it takes a value and a name in quotes")
    around, span = x.object_of(value, scope), x.span(node)
    if isinstance(around, types.ModuleType):
        part = ast.copy_location(ast.Attribute(value, attribute, ast.Load()), node)
        return literal(FALSE if x.object_of(part, scope) is MISSING else TRUE, span)
    if around is not MISSING or attribute in ATTRIBUTES_OF_VALUES or _is_of_python(attribute):
        raise x.refuse(f"hasattr of {attribute}", node, "isinstance tells values apart")
    found = x.with_name(attribute)

    def of(kept: Syntax) -> Syntax:
        return x._by_class(kept, [(one, literal(TRUE, span)) for one in found], literal(FALSE, span), span)

    return x._once(x.expression(value, scope), "value", of, span)


def _is_of_python(attribute: str) -> bool:
    """Has a value of a type of Python's own such an attribute?"""
    kinds = [one for one in vars(builtins).values() if isinstance(one, type)]
    numpy = sys.modules.get("numpy")
    kinds += [types.FunctionType, *([numpy.ndarray, numpy.float64] if numpy else [])]
    return any(hasattr(kind, attribute) for kind in kinds)


def _tested(keyword: str, start: Datum) -> Callable[[Calls, ast.Call, Scope], Syntax]:
    """`any` and `all`: of a generator, no item is evaluated after the one that decides."""

    def call(x: Calls, node: ast.Call, scope: Scope) -> Syntax:
        found = known(x.object_of(node.func, scope))
        generator: ast.expr | None = node.args[0] if len(node.args) == 1 and not node.keywords else None
        if generator is not None and not isinstance(generator, ast.GeneratorExp):
            generator = x.any_item(node, scope)
        if not isinstance(generator, ast.GeneratorExp):
            assert found is not None
            return x.known_call(node, found, scope)
        span = x.span(node)

        def step(so_far: Syntax, item: Syntax) -> Syntax:
            return form(span, keyword, so_far, form(span, "%py-true?", item))

        def decides(so_far: Syntax) -> Syntax:
            return so_far if keyword == "or" else form(span, "not", so_far)

        return x.folded(generator, scope, "found", literal(start, span), step, decides)

    return call


def _extreme(procedure: str) -> Callable[[Calls, ast.Call, Scope], Syntax]:
    """`min` and `max`: by a key, of a generator, or of several values."""
    plain = _of_items(procedure, None, None)
    return lambda x, node, scope: (extreme_call if node.keywords else plain)(x, node, scope)


def _next(x: Calls, node: ast.Call, scope: Scope) -> Syntax:
    """`next(x for x in xs if …)`, `next(gen(n), None)`, `next(iter(xs))`: the first item."""
    if not 1 <= len(node.args) <= 2 or node.keywords:
        raise x.refuse("this call of next", node, "it takes a generator, and a default")
    span, first = x.span(node), node.args[0]
    items = x.stream(first, scope)
    if items is None and isinstance(first, ast.Call) and x.object_of(first.func, scope) is iter:
        x.expect_plain(first)
        items = x.items(first.args[0], scope) if len(first.args) == 1 and not first.keywords else None
    if items is None:
        raise x.refuse(
            "next of this value", node, "there is the first item: next(x for x in …), next(iter(xs))"
        )
    if len(node.args) == 1:
        return form(span, "%py-next", items)
    otherwise = x.expression(node.args[1], scope)
    if not is_atom(otherwise):
        raise x.refuse("this default of next", node.args[1], "give it a name before")
    return form(span, "%py-next-or", items, otherwise)


def _map(x: Calls, node: ast.Call, scope: Scope) -> Syntax:
    """`map(f, xs)`, and of several iterables, which is that of their items side by side."""
    if len(node.args) < 2 or node.keywords:
        raise x.refuse("this call of map", node, "it takes a function and iterables")
    span, (function, *given) = x.span(node), node.args
    callee = called_with(x, function, len(given), scope)
    items = [x.items(one, scope) for one in given]
    if len(given) == 1:
        return form(span, "%py-map", callee, *items)
    return form(span, "%py-starmap", callee, form(span, "%py-zipped", form(span, "list", *items)))


def _filter(x: Calls, node: ast.Call, scope: Scope) -> Syntax:
    if len(node.args) != 2 or node.keywords:
        raise x.refuse("this call of filter", node, "it takes a function and an iterable")
    test = node.args[0]
    is_truth = isinstance(test, ast.Constant) and test.value is None
    keeps = name("%py-true?", x.span(node)) if is_truth else called_with(x, test, 1, scope)
    return form(x.span(node), "%py-filter", keeps, x.items(node.args[1], scope))


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
    so_far, loop = x.fresh("items"), x.fresh_loop()
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


def _with_base(x: Calls, node: ast.Call, scope: Scope) -> Syntax:
    """`int(text, base)` and `pow(a, n, m)`, and the calls of fewer arguments."""
    found = known(x.object_of(node.func, scope))
    assert found is not None
    call = with_base(node, found.name)
    return x.known_call(node, found, scope) if call is None else x.expression(call, scope)


def _format(x: Calls, node: ast.Call, scope: Scope) -> Syntax:
    return x.expression(formatted(node, x.refuse), scope)


_SPECIAL_NUMBER = re.compile(r"[+-]?(inf|infinity|nan)")
SPECIAL: dict[Any, Callable[[Calls, ast.Call, Scope], Syntax]] = {
    print: _print,
    isinstance: _isinstance,
    float: _float,
    int: _with_base,
    pow: _with_base,
    format: _format,
    sum: _sum,
    abs: _abs,
    hasattr: _hasattr,
    min: _extreme("%py-least"),
    max: _extreme("%py-greatest"),
    any: _tested("or", FALSE),
    all: _tested("and", TRUE),
    sorted: sorted_call,
    next: _next,
    map: _map,
    filter: _filter,
    list: _as_list,
    tuple: _as_list,
    set: _as_list,
    frozenset: _as_list,
    dict: Calls.made_dict,
    functools.partial: Calls.made_partial,
    range: collected,  # as values they are lists, which behave alike where they are read
    zip: collected,
    enumerate: collected,
}
