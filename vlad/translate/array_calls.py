"""Calls of functions and methods that have rows: NumPy's, and those of `vlad.random`.

In: a call, and its row (arrays.py).  Out: syntax. The arguments are bound as Python binds them. Functions whose arguments decide
what is called, `np.einsum` among them, are here, too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vlad.data.source import Span
from vlad.data.values import FALSE, TRUE
from vlad.reader.parser import Form, Keyword, Syntax
from vlad.translate.arrays import Constant, Parameter, Row, Use
from vlad.translate.expressions import NONE, OTHER, Scope
from vlad.translate.reads import MISSING
from vlad.translate.syntax import form, literal, name, quoted, string
from vlad.translate.turns import Turns

# The kinds of number of the language, by Python's and NumPy's names for them.
_DTYPES = {
    "float": "float64", "float64": "float64", "double": "float64", "d": "float64", "f8": "float64",
    "float32": "float32", "single": "float32", "f4": "float32", "int": "int64", "int64": "int64", "i8": "int64",
    "int32": "int32", "i4": "int32", "bool": "boolean", "bool_": "boolean", "?": "boolean",
}  # fmt: skip
_KINDS = "the kinds of number are float, np.float32, int, np.int32 and bool"


def row_call(x: Turns, node: ast.Call, row: Row, scope: Scope, receiver: ast.expr | None = None) -> Syntax:
    """A call of a function with a row; of a method, whose first argument is the receiver."""
    span = x.span(node)
    given = bound(x, node, row, receiver)
    operands: list[Syntax] = []
    named: list[Syntax] = []
    cast: Syntax | None = None
    for parameter in row.parameters:
        argument = given.get(parameter.names[0])
        match parameter.use:
            case Use.ARRAY:
                assert argument is not None
                operands.append(_array(x, argument, scope))
            case Use.PLAIN:
                assert argument is not None
                operands.append(x.argument(argument, scope))
            case Use.OPTION:
                operands.append(
                    constant(parameter.default, span) if argument is None else x.expression(argument, scope)
                )
            case Use.KEYWORD:
                if argument is not None and not _is_none(argument):
                    value = x.expression(argument, scope)
                    if parameter.keyword == "axis" and not isinstance(argument, ast.Constant | ast.UnaryOp):
                        value = form(span, "%py-np-axes", value)
                    named += [Keyword(parameter.keyword, span), value]
            case Use.DTYPE:
                if argument is not None and not _is_none(argument):
                    found = _dtype(x, argument, scope)
                    if not (isinstance(found, str) and found == "float64"):
                        raise x.refuse(f"{row.name} with this dtype", argument, "it is float64 here")
            case Use.CAST:
                if argument is not None and not _is_none(argument):
                    found = _dtype(x, argument, scope)
                    cast = quoted(found, span) if isinstance(found, str) else found
            case Use.REFUSED:
                if argument is not None and not _is_none(argument):
                    what = f"{row.name} with the argument {parameter.names[0]}"
                    raise x.refuse(what, argument, f"it takes {row.takes}")
    result = form(span, row.procedure, *operands, *named)
    return result if cast is None else form(span, "%py-np-cast", result, cast)


def row_value(x: Turns, row: Row, node: ast.expr) -> Syntax:
    """A function with a row as a value: of the arguments that it needs."""
    span = x.span(node)
    names: list[Syntax] = []
    operands: list[Syntax] = []
    for parameter in row.parameters:
        own = name(x.fresh(parameter.names[0]), span)
        if parameter.is_required:
            names.append(own)
            operands.append(form(span, "%py-np", own) if parameter.use is Use.ARRAY else own)
        elif parameter.use is Use.OPTION:
            operands.append(constant(parameter.default, span))
    return form(span, "lambda", Form(tuple(names), None, span), form(span, row.procedure, *operands))


def bound(x: Turns, node: ast.Call, row: Row, receiver: ast.expr | None) -> Mapping[str, ast.expr]:
    """The arguments of a call, by the parameters' first names."""
    by_place = [*([] if receiver is None else [receiver]), *node.args]
    if len(by_place) > len(row.parameters):
        raise x.refuse(f"{row.name} with {len(node.args)} arguments", node, f"it takes {row.takes}")
    given = {one.names[0]: value for one, value in zip(row.parameters, by_place, strict=False)}
    known = {own: one.names[0] for one in row.parameters for own in one.names}
    for keyword in node.keywords:
        own = known.get(keyword.arg or "")
        if own is None or own in given:
            what = f"{row.name} with the argument {keyword.arg} by name"
            raise x.refuse(what, keyword, f"it takes {row.takes}")
        given[own] = keyword.value
    for parameter in row.parameters:
        if parameter.is_required and parameter.names[0] not in given:
            count = len(node.args) + len(node.keywords)
            raise x.refuse(f"{row.name} with {count} arguments", node, f"it takes {row.takes}")
    return given


def constant(value: Constant, span: Span) -> Syntax:
    """The default of a parameter."""
    if value is None:
        return quoted(NONE, span)
    if isinstance(value, bool):
        return literal(TRUE if value else FALSE, span)
    return string(value, span) if isinstance(value, str) else literal(float(value), span)


def _array(x: Turns, node: ast.expr, scope: Scope) -> Syntax:
    """An array or a number: lists are converted, unless it surely is none."""
    value = x.argument(node, scope)
    return value if x.kind(node) > OTHER else form(x.span(node), "%py-np", value)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _dtype(x: Turns, node: ast.expr, scope: Scope) -> str | Syntax:
    """The language's name of a kind of number; or an expression that has it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        found = _DTYPES.get(node.value)
    else:
        value = x.object_of(node, scope)
        if value is MISSING and isinstance(node, ast.Attribute) and node.attr == "dtype":
            return form(x.span(node), "dtype", x.expression(node.value, scope))
        found = _DTYPES.get(value.__name__) if isinstance(value, type) else None
    if found is None:
        raise x.refuse("this dtype", node, _KINDS)
    return found


# Functions whose arguments decide what is called.

_SUBSCRIPTS = re.compile("([A-Za-z,]*)(?:->([A-Za-z]*))?")


def _einsum(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
    match node.args:
        case [ast.Constant(value=str() as subscripts), _, *_]:
            pass
        case _:
            raise x.refuse(
                "np.einsum without a constant text", node, 'its first argument is one, as "ij,jk->ik"'
            )
    for keyword in node.keywords:
        if keyword.arg != "optimize":
            raise x.refuse(f"np.einsum with the argument {keyword.arg} by name", keyword, "it takes arrays")
    terms = _SUBSCRIPTS.fullmatch(subscripts.replace(" ", ""))
    if terms is None:
        raise x.refuse("np.einsum with this text", node.args[0], 'name all axes by letters, as "ij,jk->ik"')
    given, result = terms.groups()
    if result is None:
        result = "".join(sorted({one for one in given if one.isalpha() and given.count(one) == 1}))
    if given.count(",") != len(node.args) - 2:
        raise x.refuse("this call of np.einsum", node, "there is one term for each array")
    span = x.span(node)
    arrays = [_array(x, one, scope) for one in node.args[1:]]
    return form(span, "einsum", string(f"{given}->{result}", x.span(node.args[0])), *arrays)


_DIFF = Row(
    "np.diff",
    "%py-np-diff",
    (
        Parameter(("a",), Use.ARRAY),
        Parameter(("n",), Use.OPTION, 1.0),
        Parameter(("axis",), Use.OPTION, -1.0),
    ),
)


def _diff(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
    given = bound(x, node, _DIFF, None)
    span, times = x.span(node), given.get("n")
    if times is not None and not (
        isinstance(times, ast.Constant) and isinstance(times.value, int) and times.value >= 0
    ):
        raise x.refuse("np.diff with this n", times, "write the number")
    axis = x.expression(given["axis"], scope) if "axis" in given else literal(-1.0, span)
    result = _array(x, given["a"], scope)
    for _ in range(1 if times is None else times.value):  # type: ignore[arg-type]  # tested above
        result = form(span, _DIFF.procedure, result, axis)
    return result


def _meshgrid(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
    span, indexing = x.span(node), "xy"
    for keyword in node.keywords:
        match keyword:
            case ast.keyword(arg="indexing", value=ast.Constant(value="xy" | "ij" as indexing)):
                pass
            case ast.keyword(arg="sparse" | "copy", value=ast.Constant(value=bool() as chosen)) if chosen is (
                keyword.arg == "copy"
            ):
                pass
            case _:
                what = f"np.meshgrid with this argument {keyword.arg}"
                raise x.refuse(what, keyword, 'it takes arrays, and indexing="xy" or "ij"')
    arrays = form(span, "list", *x.operands(node.args, scope))
    return form(span, "%py-np-meshgrid", arrays, string(indexing, span))


SYNTAX: Mapping[str, Callable[[Turns, ast.Call, Scope], Syntax]] = {
    "einsum": _einsum,
    "diff": _diff,
    "meshgrid": _meshgrid,
}


# Methods.


def several(x: Turns, nodes: Sequence[ast.expr], span: Span, scope: Scope) -> Syntax:
    """The numbers of `x.reshape(2, 3)` and its like, or the tuple that it is given."""
    if len(nodes) == 1:
        return x.expression(nodes[0], scope)
    return form(span, "list", *x.operands(nodes, scope))


VARIADIC_METHODS = ("reshape", "transpose")


def method_call(x: Turns, node: ast.Call, method: ast.Attribute, scope: Scope) -> Syntax | None:
    """A method of arrays that takes any number of arguments; None for another one."""
    span = x.span(node)
    if method.attr not in VARIADIC_METHODS or any(one.arg != "order" for one in node.keywords):
        return None
    for keyword in node.keywords:
        if not (isinstance(keyword.value, ast.Constant) and keyword.value.value == "C"):
            raise x.refuse("another order of entries", keyword, "transpose before")
    value = x.expression(method.value, scope)
    if method.attr == "reshape":
        if not node.args:
            raise x.refuse("reshape without a shape", node, "it takes the lengths of the axes")
        return form(span, "%py-reshape", value, several(x, node.args, span, scope))
    axes = several(x, node.args, span, scope) if node.args else quoted(NONE, span)
    return form(span, "%py-np-transpose", value, axes)


def static_number(x: Turns, node: ast.Attribute, scope: Scope) -> float | None:
    """`np.finfo(float).eps` and its like, which Python knows; None for another expression."""
    match node.value:
        case ast.Call(func=function, args=[given], keywords=[]):
            finfo = x.object_of(function, scope)
            if getattr(finfo, "__name__", None) in ("finfo", "iinfo") and isinstance(finfo, type):
                kind = x.object_of(given, scope)
                if isinstance(kind, type):
                    found: Any = getattr(finfo(kind), node.attr, None)
                    return None if found is None else float(found)
    return None
