"""Exceptions: what calls of their classes make, what `raise` raises, and which classes a handler takes.

In: calls of classes of exceptions, `raise` and `assert`.  Out: syntax. An exception is a value with its class, its arguments and
its attributes (data/records.py). Which classes a base class has is known by the classes in use, as the attributes of records are.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from types import FunctionType, MethodType
from typing import Any

from vlad.data.raised import RAISED
from vlad.data.records import EVERY, Record, is_record, is_written
from vlad.data.records import RAISED as OF_EXCEPTIONS
from vlad.data.source import Span
from vlad.reader.parser import Form, Syntax
from vlad.translate.arguments import Arguments
from vlad.translate.constructors import CONSTRUCTING, constructor_of, record_of_exception
from vlad.translate.expressions import END, NONE, Scope
from vlad.translate.nodes import Constructed, at
from vlad.translate.reads import MISSING
from vlad.translate.signatures import own_signature
from vlad.translate.syntax import form, is_atom, name, quoted, string

_ANY = (Exception, BaseException)
# Classes whose `str` and attributes depend on several arguments.
_SPECIAL = (OSError, SyntaxError, UnicodeError)
_GROUPS: Any = getattr(builtins, "ExceptionGroup", ())


def is_exception(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


class Exceptions(Arguments):
    """The part of a translation that is about exceptions."""

    def exception(self, kind: type, node: ast.expr, scope: Scope) -> Syntax:
        """A call of a class of exceptions, or the class alone, which `raise` calls."""
        call = node if isinstance(node, ast.Call) else at(ast.Call(node, [], []), node)
        span, own = self.span(node), quoted(self._symbol(kind, node), self.span(node))
        if constructor_of(kind, self.outside.lines_of) is not None:
            made = name(self.fresh("made"), span)
            message = self._message(kind, form(span, "car", made), made, node)
            body = form(span, "cons*", quoted("%exception", span), own, message, made)
            return self.let([(made, self._constructed_by(call, kind, None, None, scope))], body, span)
        arguments = self._plain_arguments(call, kind, scope)
        if len(call.args) == 1 and _is_text(call.args[0]) and not self._writes(kind):
            text = name(self.fresh("message"), span)
            whole = form(span, "cons", text, quoted(END, span))
            body = form(span, "cons*", quoted("%exception", span), own, text, whole, quoted(END, span))
            return self.let([(text, self.expression(call.args[0], scope))], body, span)
        kept = name(self.fresh("arguments"), span)
        fields = form(span, "cons", kept, quoted(END, span))
        if call.args or self._text_of(kind) is not None:
            message = self._message(kind, kept, fields, node)
        else:
            message = string("", span)
        body = form(span, "cons*", quoted("%exception", span), own, message, kept, quoted(END, span))
        return self.let([(kept, arguments)], body, span)

    def _constructed(self, node: Constructed, scope: Scope) -> Syntax:
        if constructor_of(node.kind, self.outside.lines_of, node.after) is None:
            arguments = self._plain_arguments(node.call, node.kind, scope)
            return self.tuple_of([arguments], self.span(node))
        return self._constructed_by(node.call, node.kind, node.after, node.before, scope)

    def _constructed_by(
        self, call: ast.Call, kind: type, after: FunctionType | None, before: ast.expr | None, scope: Scope
    ) -> Syntax:
        """The arguments and attributes that a constructor makes, a tuple. `before`: the arguments until then; those by place if
        it is None.
        """
        self.expect_plain(call)
        found = constructor_of(kind, self.outside.lines_of, after)
        assert found is not None
        span, values = self.span(call), self.given(call, scope)
        by_place = [one if is_atom(one) else name(self.fresh("given"), span) for one in values[0]]
        bindings = [(own, one) for own, one in zip(by_place, values[0], strict=True) if own is not one]
        until = self.tuple_of(by_place, span) if before is None else self.expression(before, scope)
        signature = own_signature(found.function)
        operands = self.in_order(
            call,
            signature,
            ([until, *by_place], values[1]),
            lambda one: self.value_of(one.default, one.name, call),
        )
        method = MethodType(found.function, kind)
        cell = self.outside.cell(method, kind.__name__, span, handing=CONSTRUCTING)
        return self.bound(bindings, form(span, cell, *operands), span)

    def _plain_arguments(self, call: ast.Call, kind: type, scope: Scope) -> Syntax:
        """Those of a class without a constructor of its own, a tuple."""
        for one in call.keywords:
            raise self.refuse("arguments by name of an exception", one, "give them by place")
        if len(call.args) > 1 and issubclass(kind, _SPECIAL):
            raise self.refuse("several arguments of this exception", call, "give it one text")
        return self.expression(at(ast.Tuple(call.args, ast.Load()), call), scope)

    def _symbol(self, kind: type, node: ast.AST) -> str:
        """The name of the symbol of a class, which comes into use."""
        return (
            kind.__name__ if RAISED.get(kind.__name__) is kind else self.class_in_use(kind, node).symbol.name
        )

    def class_in_use(self, kind: type, node: ast.AST) -> Record:
        if not issubclass(kind, Exception) or issubclass(kind, _GROUPS) or is_record(kind):
            raise self.refuse(
                f"the class {kind.__name__} of exceptions",
                node,
                "derive it from Exception, with an `__init__`",
            )
        found = record_of_exception(kind, self.outside.lines_of)
        self.outside.use(found)
        return found

    def _text_of(self, kind: type) -> FunctionType | None:
        """The `__str__` of a class."""
        found = inspect.getattr_static(kind, "__str__", None)
        return found if isinstance(found, FunctionType) and is_written(found) else None

    def _writes(self, kind: type) -> bool:
        """Is the message of an exception of one argument something else than its text?"""
        return issubclass(kind, KeyError) or self._text_of(kind) is not None

    def _message(self, kind: type, arguments: Syntax, made: Syntax, node: ast.AST) -> Syntax:
        """The message of an exception: a procedure. `made`: its arguments and fields."""
        span, text = self.span(node), self._text_of(kind)
        if text is None:
            procedure = "%py-key-message-of" if issubclass(kind, KeyError) else "%py-message-of"
            return form(span, procedure, arguments)
        own = form(
            span,
            "cons*",
            quoted("%exception", span),
            quoted(self._symbol(kind, node), span),
            string("", span),
            made,
        )
        called = form(span, self.outside.cell(text, "__str__", span), own)
        return form(span, "lambda", Form((), None, span), form(span, "%py-text", called))

    def class_of(self, node: ast.expr, scope: Scope) -> ast.expr | None:
        """The value of whose class an expression is: `x` of `type(x)` and `x.__class__`; None if it is of none."""
        match node:
            case ast.Call(func=function, args=[value], keywords=[]) if (
                self.object_of(function, scope) is type
            ):
                return value
            case ast.Attribute(attr="__class__", value=value):
                return value
        return None

    def class_name(self, value: ast.expr, scope: Scope, is_whole: bool = False) -> Syntax:
        """The name of the class of a value. `is_whole`: what Python writes for the class."""
        span = self.span(value)
        x, kept = self.expression(value, scope), name(self.fresh("value"), span)
        named = form(span, "%py-class-text" if is_whole else "%py-class-name", kept)
        for key, test in ((EVERY, "%py-of?"), (OF_EXCEPTIONS, "%py-exception-of?")):
            for one in self.with_name(key):
                kind = one.kind
                own = (
                    kind.__qualname__
                    if kind.__module__ == "builtins"
                    else f"{kind.__module__}.{kind.__qualname__}"
                )
                text = string(f"<class '{own}'>" if is_whole else kind.__name__, span)
                named = form(span, "if", form(span, test, kept, quoted(one.symbol.name, span)), text, named)
        return self.let([(kept, x)], named, span)

    # Statements.

    def raised(self, node: ast.Raise, scope: Scope) -> Syntax:
        """The raising of an exception. It is no tail call, so that the place is known exactly."""
        span, given = self.span(node), node.exc
        if given is None:
            raise self.refuse("this `raise`", node, "only a handler raises an exception again")
        kind = self.object_of(given.func if isinstance(given, ast.Call) else given, scope)
        if is_exception(kind):
            raising = form(span, "%raise", self.exception(kind, given, scope))
        elif kind is MISSING:
            raising = form(span, "%py-raise", self.expression(given, scope))
        else:
            raise self.refuse("this `raise`", node, "raise an exception")
        return form(span, "begin", raising, quoted(NONE, span))

    def assertion_failed(self, node: ast.Assert, scope: Scope) -> Syntax:
        given = [] if node.msg is None else [node.msg]
        made = at(ast.Call(at(ast.Name("AssertionError", ast.Load()), node), given, []), node)
        span = self.span(node)
        return form(
            span,
            "begin",
            form(span, "%raise", self.exception(AssertionError, made, scope)),
            quoted(NONE, span),
        )

    # Classes.

    def classes_of(self, kind: type, node: ast.AST) -> list[str] | None:
        """The names of the symbols of the classes that a handler of one takes; None: all. NumPy's LinAlgError is a ValueError."""
        if kind in _ANY:
            return None
        if RAISED.get(kind.__name__) is not kind:
            self.class_in_use(kind, node)
        own = [name for name, one in RAISED.items() if issubclass(one, kind)]
        is_singular = issubclass(ValueError, kind) or kind.__name__ == "LinAlgError"
        used = [one.symbol.name for one in self.with_name(OF_EXCEPTIONS) if issubclass(one.kind, kind)]
        return [*own, *["LinAlgError"] * is_singular, *used]

    def is_instance_raised(self, x: Syntax, kind: type, node: ast.AST) -> Syntax:
        """Is any value an exception of this class?"""
        span, names = self.span(node), self.classes_of(kind, node)
        if names is None:
            return form(span, "or", form(span, "%py-exception?", x), form(span, "error?", x))
        return self.is_of_classes(x, names, span)

    def is_of_classes(self, x: Syntax, names: list[str] | None, span: Span) -> Syntax:
        """Is a value that was raised of one of these classes?"""
        if names is None:
            return form(span, "not", form(span, "%python-refusal?", x))
        found = name(self.fresh("class"), span)
        tests = [form(span, "eq?", found, quoted(one, span)) for one in names]
        return self.let([(found, form(span, "%py-class-of-raised", x))], form(span, "or", *tests), span)


def _is_text(node: ast.expr) -> bool:
    """Is a value surely a text?"""
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _is_text(left) or _is_text(right)
        case ast.BinOp(op=ast.Mod(), left=left):
            return _is_text(left)
        case ast.Call(func=ast.Attribute(value=value, attr="format" | "join")):
            return _is_text(value)
    return False
