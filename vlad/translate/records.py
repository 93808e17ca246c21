"""Records: named tuples and frozen dataclasses, their attributes, methods and properties.

In: attributes, and calls of methods and classes.  Out: syntax. Which class a value is of is known only when the function runs, so
an attribute tests for the records in use that have it (data/records.py); the compiler resolves these tests by types. What is
known changes with the classes that come into use: so a translation depends on it as on a name outside.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import re
import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

from vlad.data.errors import VladError
from vlad.data.raised import RAISED as RAISED_BY_PYTHON
from vlad.data.records import (
    BINARY_OPERATORS,
    EVERY,
    OPERATED,
    RAISED,
    SETS,
    NoRecord,
    Record,
    is_record,
    is_written,
    record_of,
)
from vlad.data.source import Span
from vlad.reader.parser import Syntax
from vlad.translate.constructors import record_of_exception
from vlad.translate.dicts import DICT, is_view
from vlad.translate.expressions import ATTRIBUTES_OF_VALUES, END, NOT_IMPLEMENTED, OTHER, REAL, Outside, Scope
from vlad.translate.iterations import Iteration
from vlad.translate.reads import MISSING
from vlad.translate.refusals import refused
from vlad.translate.sets import Sets
from vlad.translate.signatures import signature_of, static_part
from vlad.translate.syntax import empty_list, form, is_atom, name, quoted, string

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "lshift",
    ast.RShift: "rshift",
}  # fmt: skip
_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@", "and": "&",
    "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
Given = tuple[Sequence[Syntax], Mapping[str, Syntax]]  # arguments by place, and by name


class Records(Sets):
    """The part of a translation that is about records."""

    @abstractmethod
    def value_of(self, value: Any, key: str, node: ast.AST) -> Syntax:
        """A value that the text does not name, such as a default."""

    def put_off(self, error: VladError, node: ast.AST, attribute: ast.Attribute, scope: Scope) -> Syntax:
        """What stands where an attribute is not known: a class that comes into use may have it, and the function is translated
        again. Otherwise it is an error, unless the name before it has no value, which is an exception of Python's.
        """
        if not self.is_undefined(attribute.value, scope):
            self.refusals.append(error)
        x, span = self.expression(attribute.value, scope), self.span(node)
        return form(span, "%py-no-attribute", x, string(attribute.attr, span))

    def iteration(self, node: ast.expr, scope: Scope) -> Iteration:
        if is_view(node) and not self.with_name(node.func.attr):
            return self.view(node, scope)
        return super().iteration(node, scope)

    def record(self, kind: type, node: ast.AST) -> Record:
        """What is known of a class. Raises VladError if it is no record."""
        try:
            found = record_of(kind)
        except NoRecord as error:
            raise self.refuse(error.what.rstrip(","), node, error.hint) from None
        self.outside.use(found)
        return found

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Syntax:
        around = self.object_of(node.value, scope)
        is_static = isinstance(around, ModuleType) or self.object_of(node, scope) is not MISSING
        found = () if is_static else self.with_name(node.attr)
        span = self.span(node)
        if not found:
            try:
                return super()._attribute(node, scope)
            except VladError as error:
                if is_static:
                    raise
                return self.put_off(error, node, node, scope)
        procedure = ATTRIBUTES_OF_VALUES.get(node.attr)

        def of(x: Syntax) -> Syntax:
            otherwise = (
                form(span, "%py-no-attribute", x, string(node.attr, span))
                if procedure is None
                else form(span, procedure, x)
            )
            is_only = len(found) == 1 and procedure is None
            return self._by_class(
                x, [(one, self._part(one, node.attr, x, node, not is_only)) for one in found], otherwise, span
            )

        return self._once(self.expression(node.value, scope), "record", of, span)

    def _once(self, value: Syntax, base: str, of: Callable[[Syntax], Syntax], span: Span) -> Syntax:
        """Syntax that has a value several times, which is computed once."""
        if is_atom(value):
            return of(value)
        kept = name(self.fresh(base), span)
        return self.let([(kept, value)], of(kept), span)

    def _by_class(
        self, x: Syntax, arms: Sequence[tuple[Record, Syntax]], otherwise: Syntax, span: Span
    ) -> Syntax:
        for record, arm in reversed(arms):
            test = "%py-exception-of?" if record.keys[-1] == RAISED else "%py-of?"
            is_own = form(span, test, x, quoted(record.symbol.name, span))
            otherwise = form(span, "if", is_own, arm, otherwise)
        return otherwise

    def _part(self, record: Record, attribute: str, x: Syntax, node: ast.AST, is_one_of_many: bool) -> Syntax:
        """An attribute of a record."""
        span = self.span(node)
        if attribute in record.fields:
            return self.field(record, attribute, x, span)
        found = inspect.getattr_static(record.kind, attribute)
        getter = found.fget if isinstance(found, property) else None
        if isinstance(found, functools.cached_property):
            getter = found.func
        if isinstance(getter, FunctionType):
            return self._method_call(getter, attribute, [x], span, is_one_of_many)
        try:
            if not callable(found) and not hasattr(found, "__get__"):
                return self.value_of(found, attribute, node)
        except VladError:
            if not is_one_of_many:
                raise
        message = string(f"in a translated function {attribute} is no value: call it at once", span)
        return form(span, "%python-refuse", string("TypeError", span), message)

    def field(self, record: Record, attribute: str, x: Syntax, span: Span) -> Syntax:
        """A field of a value that is surely of this class."""
        rest = x
        for _ in range(record.fields.index(attribute) + (4 if record.keys[-1] == RAISED else 1)):
            rest = form(span, "cdr", rest)
        return form(span, "car", rest)

    def made(self, record: Record, parts: Sequence[Syntax], span: Span) -> Syntax:
        """A record of these fields."""
        end = quoted(END, span) if record.is_tuple else empty_list(span)
        return form(span, "cons*", quoted(record.symbol.name, span), *parts, end)

    # Operators that classes define.

    def has_other_result(self, node: ast.UnaryOp | ast.BinOp) -> bool:
        if not isinstance(node.op, ast.Not) and self.with_name(OPERATED):
            parts = [node.operand] if isinstance(node, ast.UnaryOp) else [node.left, node.right]
            if OTHER in [self.kind(part) for part in parts]:
                return True
        return super().has_other_result(node)

    def binary(
        self, operator: ast.operator, left: Syntax, right: Syntax, kinds: tuple[int, int], node: ast.AST
    ) -> Syntax:
        def plain(left: Syntax, right: Syntax) -> Syntax:
            return super(Records, self).binary(operator, left, right, kinds, node)

        return self.operated(operator, left, right, kinds, node, plain)

    def operated(
        self,
        operator: ast.operator,
        left: Syntax,
        right: Syntax,
        kinds: tuple[int, int],
        node: ast.AST,
        plain: Callable[[Syntax, Syntax], Syntax],
    ) -> Syntax:
        """An operator, by the methods of records or as `plain` has it."""
        method = BINARY[type(operator)]
        by_left = self._defining(f"__{method}__") if kinds[0] == OTHER else []
        by_right = self._defining(f"__r{method}__") if kinds[1] == OTHER else []
        if not by_left and not by_right:
            return plain(left, right)
        span = self.span(node)
        message = string(f"unsupported operand types for {_SIGNS[method]}", span)
        fails = form(span, "%py-fails", quoted("TypeError", span), message)

        def reflected(left: Syntax, right: Syntax, of: Record | None) -> Syntax:
            """What the method of the right operand says, which is asked unless the left one is of the same class."""
            found, last = [one for one in by_right if one[0] is not of], plain(left, right)
            if of is not None:
                last = fails
            arms = [(one, self._said(function, [right, left], fails, span)) for one, function in found]
            if kinds[0] != REAL:  # NumPy's operators are of the entries
                message = string("in a translated function an array has no operators with records", span)
                refused_ = form(span, "%python-refuse", string("TypeError", span), message)
                is_array = form(span, "tensor?", left)
                arms = [(one, form(span, "if", is_array, refused_, arm)) for one, arm in arms]
            return self._by_class(right, arms, last, span)

        def of_both(left: Syntax, right: Syntax) -> Syntax:
            arms = [
                (one, self._said(function, [left, right], reflected(left, right, one), span))
                for one, function in by_left
            ]
            found = self._by_class(left, arms, reflected(left, right, None), span)
            for one, function in by_right:
                for base, _ in by_left:  # the class derived from the left one's has precedence
                    own = inspect.getattr_static(base.kind, f"__r{method}__", None)
                    if one is not base and issubclass(one.kind, base.kind) and own is not function:
                        first = self._said(function, [right, left], found, span)
                        first = self._by_class(left, [(base, first)], found, span)
                        found = self._by_class(right, [(one, first)], found, span)
            return found

        return self._once(
            left, "left", lambda a: self._once(right, "right", lambda b: of_both(a, b), span), span
        )

    def _applied(self, function: FunctionType, operands: Sequence[Syntax], span: Span) -> Syntax:
        return self._method_call(function, function.__name__, operands, span, True)

    def _said(
        self, function: FunctionType, operands: Sequence[Syntax], otherwise: Syntax, span: Span
    ) -> Syntax:
        """The result of the method of an operator, or `otherwise` if that is NotImplemented."""
        result = self._applied(function, operands, span)
        if not _may_decline(function):
            return result

        def of(x: Syntax) -> Syntax:
            return form(span, "if", form(span, "eq?", x, quoted(NOT_IMPLEMENTED, span)), otherwise, x)

        return self._once(result, "result", of, span)

    def not_implemented(self, node: ast.expr) -> Syntax:
        own = self.function
        if own.__name__ in BINARY_OPERATORS and "." in own.__qualname__ and self.is_outermost:
            return quoted(NOT_IMPLEMENTED, self.span(node))
        raise self.refuse("NotImplemented here", node, "a method of an operator may return it")

    def _defining(self, method: str) -> list[tuple[Record, FunctionType]]:
        """The records that define the method of an operator."""
        found = [(one, inspect.getattr_static(one.kind, method, None)) for one in self.with_name(OPERATED)]
        return [(one, own) for one, own in found if signature_of(own) is not None and is_written(own)]

    def _method_call(
        self, function: FunctionType, key: str, operands: Sequence[Syntax], span: Span, is_one_of_many: bool
    ) -> Syntax:
        """A call of a method."""
        if inspect.isgeneratorfunction(function):
            what = f"the method {key}, a generator"
            if not is_one_of_many:
                raise refused(what, span, "make it a function, or return a list")
            message = string(f"a translated function cannot have {what}", span)
            return form(span, "%python-refuse", string("TypeError", span), message)
        return form(span, self.outside.cell(function, key, span, is_one_of_many), *operands)

    def negated(self, x: Syntax, span: Span) -> Syntax:
        """-x"""
        return self.of_one("__neg__", "-", x, span)

    def of_one(self, method: str, procedure: str, x: Syntax, span: Span) -> Syntax:
        """An operator of one operand: by the methods of records, or the procedure for other values."""
        found = self._defining(method)
        if not found:
            return form(span, procedure, x)

        def of(x: Syntax) -> Syntax:
            arms = [(one, self._applied(function, [x], span)) for one, function in found]
            return self._by_class(x, arms, form(span, procedure, x), span)

        return self._once(x, "operand", of, span)

    def applied(self, callee: Syntax, node: ast.Call, scope: Scope) -> Syntax:
        """A call of a value that may be a record."""
        found, span = self._defining("__call__"), self.span(node)
        if node.keywords and not found:
            hint = "give them by place: which function it is, is known only in a call"
            raise self.refuse("arguments by name here", node.keywords[0], hint)
        positional, named = self.given(node, scope)
        if not found:
            return form(span, callee, *positional)
        values = [callee, *positional, *named.values()]
        kept = [one if is_atom(one) else name(self.fresh("given"), span) for one in values]
        x, count = kept[0], len(positional) + 1
        given = [x, *kept[1:count]], dict(zip(named, kept[count:], strict=True))
        arms = []
        for one, function in found:
            signature = signature_of(function)
            with contextlib.suppress(VladError):  # it takes other arguments
                assert signature is not None
                arms.append((one, self._applied(function, self.in_order(node, signature, given), span)))
        message = string(
            "in a translated function the arguments of a value that is called are given by place", span
        )
        otherwise = (
            form(span, "%python-refuse", string("TypeError", span), message)
            if named
            else form(span, x, *kept[1:count])
        )
        bindings = [(own, value) for own, value in zip(kept, values, strict=True) if own is not value]
        return self.bound(bindings, self._by_class(x, arms, otherwise, span), span)

    # Calls.

    def construct(self, kind: type, node: ast.Call, scope: Scope) -> Syntax:
        """A call of a class."""
        record, span = self.record(kind, node.func), self.span(node)
        signature = inspect.signature(kind)
        bindings, operands = self.arguments(
            node, signature, lambda one: self._default(record, one, node), scope
        )
        given = dict(zip(signature.parameters, operands, strict=True))
        made = self.made(record, [given[field] for field in record.fields], span)
        return self.bound(bindings, made, span)

    def _default(self, record: Record, parameter: inspect.Parameter, node: ast.AST) -> Syntax:
        field = parameter.name
        span = self.span(node)
        own: Any = getattr(record.kind, "__dataclass_fields__", {}).get(field)
        factory = None if own is None else own.default_factory
        if own is None or not callable(factory):
            return self.value_of(parameter.default, field, node)
        simple = {
            list: empty_list(span),
            tuple: quoted(END, span),
            dict: form(span, "quote", form(span, DICT)),
        }
        if factory in simple:
            return simple[factory]
        if not isinstance(factory, FunctionType):
            raise self.refuse(f"the default of {field}", node, "give it in the call")
        return form(span, self.outside.cell(factory, field, span))

    def given(self, node: ast.Call, scope: Scope) -> Given:
        """The arguments of a call."""
        return self.operands(node.args, scope), {
            str(one.arg): self.expression(one.value, scope) for one in node.keywords
        }

    def bind(self, node: ast.Call, signature: inspect.Signature, given: Given) -> dict[str, Any]:
        """The arguments of a call by the names of the parameters. Raises VladError if they do not fit."""
        try:
            return dict(signature.bind(*given[0], **given[1]).arguments)
        except TypeError as error:
            hint = f"{error}; it takes {', '.join(signature.parameters) or 'no argument'}"
            raise self.refuse(f"this call of {ast.unparse(node.func)}", node, hint) from None

    def method_of_records(
        self,
        node: ast.Call,
        method: ast.Attribute,
        scope: Scope,
        other: Callable[[Syntax, Given], Syntax] | None,
    ) -> Syntax | None:
        """A call of a method that known records have; None if none has it. `other`: the call for values that are no records."""
        found = self.with_name(method.attr)
        if not found:
            return None
        span = self.span(node)
        positional, named = self.given(node, scope)
        values = [self.expression(method.value, scope), *positional, *named.values()]
        is_one = len(found) == 1 and other is None
        kept = (
            values if is_one else [one if is_atom(one) else name(self.fresh("given"), span) for one in values]
        )
        if is_one and not is_atom(values[0]):
            kept = [name(self.fresh("given"), span), *values[1:]]
        x, count = kept[0], len(positional) + 1
        given = kept[1:count], dict(zip(named, kept[count:], strict=True))
        arms = [(one, self._called(one, method.attr, x, given, node, not is_one)) for one in found]
        otherwise = (
            form(span, "%py-no-method", string(method.attr, span)) if other is None else other(x, given)
        )
        bindings = [(own, value) for own, value in zip(kept, values, strict=True) if own is not value]
        return self.bound(bindings, self._by_class(x, arms, otherwise, span), span)

    def _called(
        self, record: Record, method: str, x: Syntax, given: Given, node: ast.Call, is_one_of_many: bool
    ) -> Syntax:
        """A call of a method of a record."""
        span = self.span(node)
        if method in record.fields or isinstance(inspect.getattr_static(record.kind, method), property):
            if given[1]:
                raise self.refuse("arguments by name here", node, "give them by place")
            return form(span, self._part(record, method, x, node, is_one_of_many), *given[0])
        if record.is_tuple and method in ("_replace", "_asdict"):
            return (
                self.replaced(record, x, given, node)
                if method == "_replace"
                else self._as_dict(record, x, span)
            )
        found = inspect.getattr_static(record.kind, method)
        function = (
            static_part(record.kind, method) if isinstance(found, staticmethod | classmethod) else found
        )
        signature = signature_of(function)
        if signature is not None and method in BINARY_OPERATORS and _may_decline(function):
            raise self.refuse(
                f"a call of {method}", node, "write the operator: the method may be NotImplemented"
            )
        if signature is None:
            message = string(
                f"in a translated function there is no method {method} of {record.kind.__name__}", span
            )
            return form(span, "%python-refuse", string("TypeError", span), message)
        arguments = given if function is not found else ([x, *given[0]], given[1])
        try:
            operands = self.in_order(node, signature, arguments)
        except VladError as error:
            if not is_one_of_many:
                raise
            return form(
                span, "%python-refuse", string("TypeError", span), string(error.hint or error.message, span)
            )
        return self._method_call(function, method, operands, span, is_one_of_many)

    @abstractmethod
    def arguments(
        self,
        node: ast.Call,
        signature: inspect.Signature,
        default: Callable[[inspect.Parameter], Syntax],
        scope: Scope,
    ) -> tuple[list[tuple[Syntax, Syntax]], list[Syntax]]:
        """Bindings around a call, and its arguments in the order of the parameters (arguments.py)."""

    @abstractmethod
    def in_order(self, node: ast.Call, signature: inspect.Signature, given: Given) -> list[Syntax]:
        """Arguments in the order of the parameters, with defaults."""

    def replaced(self, record: Record, x: Syntax, given: Given, node: ast.Call) -> Syntax:
        """A record with other values of some fields."""
        span = self.span(node)
        unknown = [one for one in given[1] if one not in record.fields]
        if given[0] or unknown:
            message = string(f"unexpected fields: {', '.join(unknown)}", span)
            return form(span, "%py-fails", quoted("TypeError", span), message)
        parts = [given[1].get(one) or self.field(record, one, x, span) for one in record.fields]
        return self.made(record, parts, span)

    def _as_dict(self, record: Record, x: Syntax, span: Span) -> Syntax:
        pairs = [
            form(span, "cons", quoted(one, span), self.field(record, one, x, span)) for one in record.fields
        ]
        return form(span, "list", quoted(DICT, span), *pairs)

    def replace(self, node: ast.Call, scope: Scope) -> Syntax:
        """A call of `dataclasses.replace`."""
        span = self.span(node)
        positional, named = self.given(node, scope)
        if len(positional) != 1 or "None" in named:
            raise self.refuse("this call of replace", node, "it takes a record, and values by name")
        found = [
            one
            for one in self.with_name(next(iter(named), EVERY))
            if not one.is_tuple and set(named) <= set(one.fields)
        ]
        values = [*positional, *named.values()]
        kept = [one if is_atom(one) else name(self.fresh("given"), span) for one in values]
        arms = [
            (one, self.replaced(one, kept[0], ([], dict(zip(named, kept[1:], strict=True))), node))
            for one in found
        ]
        otherwise = form(
            span, "%py-fails", quoted("TypeError", span), string("no record of such fields", span)
        )
        bindings = [(own, value) for own, value in zip(kept, values, strict=True) if own is not value]
        return self.bound(bindings, self._by_class(kept[0], arms, otherwise, span), span)

    def is_of(self, kind: type, x: Syntax, node: ast.AST) -> list[Syntax]:
        """Tests whether a value is an instance of a class; none if no record is."""
        span = self.span(node)
        if is_record(kind):
            self.record(kind, node)
        found = [one for one in self.with_name(EVERY) if issubclass(one.kind, kind)]
        return [form(span, "%py-of?", x, quoted(one.symbol.name, span)) for one in found]


def _may_decline(function: FunctionType) -> bool:
    """May the method of an operator return NotImplemented?"""
    return "NotImplemented" in function.__code__.co_names


def note_records(function: FunctionType, outside: Outside) -> None:
    """Note that the records that a function names, in its text or its annotations, are in use."""
    seen: set[type] = set()
    names_ = _names_in(function)
    if not {"set", "frozenset"}.isdisjoint(names_):
        outside.use(SETS)
    work: list[Any] = [function.__globals__.get(one) for one in names_]
    while work:
        kind = work.pop()
        if (
            isinstance(kind, type)
            and issubclass(kind, Exception)
            and RAISED_BY_PYTHON.get(kind.__name__) is not kind
        ):
            with contextlib.suppress(VladError):
                outside.use(record_of_exception(kind, outside.lines_of))
        elif isinstance(kind, type) and kind not in seen and is_record(kind):
            seen.add(kind)
            with contextlib.suppress(NoRecord):
                outside.use(record_of(kind))
            names = vars(sys.modules.get(kind.__module__, object))
            work += [names.get(one) for one in _names_of(kind.__annotations__)]


def _names_in(function: FunctionType) -> list[str]:
    found, work = list(_names_of(function.__annotations__)), [function.__code__]
    while work:
        code = work.pop()
        found += code.co_names
        work += [one for one in code.co_consts if isinstance(one, CodeType)]
    return found


def _names_of(annotations: Mapping[str, Any]) -> list[str]:
    """The names in annotations."""
    return [
        word
        for one in annotations.values()
        for word in re.findall(r"[^\W\d]\w*", one if isinstance(one, str) else getattr(one, "__name__", ""))
    ]
