"""Calls of functions of `itertools`, `functools` and `operator` that take or return functions, or iterables.

In: calls.  Out: syntax. What Python makes lazily is a list; an iterable may be a generator, which is consumed at once.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from vlad.reader.parser import Form, Syntax
from vlad.translate.dicts import DICT_METHODS
from vlad.translate.expressions import NONE, Scope
from vlad.translate.known import Known, known, public_name
from vlad.translate.names import parameters
from vlad.translate.reads import MISSING
from vlad.translate.sequence_methods import SEQUENCE_METHODS
from vlad.translate.sets import SET_METHODS
from vlad.translate.signatures import has_defaults, is_flexible, signature_of
from vlad.translate.syntax import form, literal, name, quoted
from vlad.translate.turns import Turns

Call = Callable[[Turns, ast.Call, Scope], Syntax]
_METHODS = frozenset((*SEQUENCE_METHODS, *DICT_METHODS, *SET_METHODS))  # that only read a value


def _named(x: Turns, node: ast.Call, allowed: Sequence[str]) -> dict[str, ast.expr]:
    """The arguments by name. Raises VladError if there are others."""
    found = {str(one.arg): one.value for one in node.keywords}
    for keyword in node.keywords:
        if keyword.arg not in allowed:
            what = f"{ast.unparse(node.func)} with the argument {keyword.arg} by name"
            raise x.refuse(
                what, keyword, f"it takes {', '.join(allowed)} by name" if allowed else "give it by place"
            )
    return found


def _wrong(x: Turns, node: ast.Call, takes: str) -> Exception:
    what = f"{ast.unparse(node.func)} with {len(node.args)} arguments"
    return x.refuse(what, node, f"it takes {takes}")


def _fixed(procedure: str, kinds: str, takes: str) -> Call:
    """A procedure of arguments: i, an iterable; x, another value. Capital letters may be left out, and are None then."""

    def call(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
        _named(x, node, ())
        needed = sum([one.islower() for one in kinds])
        if not needed <= len(node.args) <= len(kinds):
            raise _wrong(x, node, takes)
        span = x.span(node)
        operands: list[Syntax] = []
        for number, kind in enumerate(kinds):
            if number >= len(node.args):
                operands.append(quoted(NONE, span))
            elif kind in "iI":
                operands.append(x.items(node.args[number], scope))
            else:
                operands.append(x.expression(node.args[number], scope))
        return form(span, procedure, *operands)

    return call


def _several(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
    """The list of the iterables that a call is given."""
    return form(x.span(node), "list", *[x.items(one, scope) for one in node.args])


def _chain(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
    _named(x, node, ())
    return form(x.span(node), "%py-chain", _several(x, node, scope))


def chained_lists(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
    """`itertools.chain.from_iterable(xs)`."""
    _named(x, node, ())
    if len(node.args) != 1:
        raise _wrong(x, node, "a list of lists")
    return form(x.span(node), "%py-chain", x.items(node.args[0], scope))


def _product(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
    named = _named(x, node, ("repeat",))
    span = x.span(node)
    times = x.expression(named["repeat"], scope) if "repeat" in named else literal(1.0, span)
    return form(span, "%py-cartesian", _several(x, node, scope), times)


def _zip_longest(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
    named = _named(x, node, ("fillvalue",))
    span = x.span(node)
    fill = x.expression(named["fillvalue"], scope) if "fillvalue" in named else quoted(NONE, span)
    return form(span, "%py-zip-longest", _several(x, node, scope), fill)


def called_with(x: Turns, node: ast.expr, count: int, scope: Scope) -> Syntax:
    """A function that is called with so many arguments, as `max`, which may have another number of them."""
    value = x.object_of(node, scope)
    found = known(value)
    if found is not None and len(found.procedures) > 1 and count in found.procedures:
        return name(found.procedures[count], x.span(node))
    own = (scope.known or {}).get(node.id) if isinstance(node, ast.Name) else None
    is_plain = own is None and public_name(value) is not None
    if not is_plain and (has_defaults(value) if own is None else is_flexible(own)):
        return _lambda_of(x, node, count, scope)
    if isinstance(node, ast.Attribute) and node.attr in _METHODS:
        owner = x.object_of(node.value, scope)
        if owner in (str, list, tuple, dict, set, frozenset) and hasattr(owner, node.attr):  # `str.lower`
            return _lambda_of(x, node, count, scope, is_method=True)
        is_plain = isinstance(node.value, ast.Name | ast.Constant)
        if value is MISSING and is_plain and not x.with_name(node.attr):  # `d.get`
            return _lambda_of(x, node, count, scope)
    return x.expression(node, scope)


def _lambda_of(x: Turns, function: ast.expr, count: int, scope: Scope, is_method: bool = False) -> Syntax:
    """A lambda of so many arguments that calls a function of more, or a method. `is_method`: that of the first argument."""
    span = x.span(function)
    variables: list[Syntax] = []
    keys = [f"argument {number}" for number in range(count)]  # no names of Python's
    for key in keys:
        own = x.fresh("argument")
        variables.append(name(own, span))
        scope = scope.bind(key, own)
    given = [_variable(function, key) for key in keys]
    if is_method and isinstance(function, ast.Attribute):
        function = ast.copy_location(ast.Attribute(given.pop(0), function.attr, ast.Load()), function)
    call = ast.copy_location(ast.Call(function, given, []), function)
    return form(span, "lambda", Form(tuple(variables), None, span), x.expression(call, scope))


def _reduce(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
    _named(x, node, ())
    span, count = x.span(node), len(node.args)
    if count not in (2, 3):
        raise _wrong(x, node, "a function, an iterable and a start")
    function, items = called_with(x, node.args[0], 2, scope), x.items(node.args[1], scope)
    if count == 2:
        return form(span, "%py-reduce", function, items)
    return form(span, "%py-reduce-from", function, items, x.expression(node.args[2], scope))


def _accumulate(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
    named = _named(x, node, ("func", "initial"))
    function = node.args[1] if len(node.args) == 2 else named.get("func")
    if not 1 <= len(node.args) <= 2 or (len(node.args) == 2 and "func" in named):
        raise _wrong(x, node, "an iterable, a function and initial=")
    span = x.span(node)
    items = x.items(node.args[0], scope)
    is_added = function is None or (isinstance(function, ast.Constant) and function.value is None)
    combine = name("%py-add", span) if is_added or function is None else called_with(x, function, 2, scope)
    if "initial" in named:
        items = form(span, "cons", x.expression(named["initial"], scope), form(span, "%py-as-list", items))
    return form(span, "%py-accumulate", items, combine)


def _islice(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
    _named(x, node, ())
    span, count = x.span(node), len(node.args)
    if not 2 <= count <= 4:
        raise _wrong(x, node, "an iterable, start, stop and step")
    stream = x.stream(node.args[0], scope) if count == 2 else None
    if stream is not None:
        return form(span, "%py-stream-taken", stream, x.expression(node.args[1], scope))
    items = form(span, "%py-as-list", x.items(node.args[0], scope))
    bounds = x.operands(node.args[1:], scope)
    start = quoted(NONE, span) if count == 2 else bounds[0]
    stop = bounds[0] if count == 2 else bounds[1]
    if count < 4:
        return form(span, "%py-slice", items, start, stop)
    return form(span, "%py-slice-by", items, start, stop, bounds[2])


def _takewhile(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
    stream = x.stream(node.args[1], scope) if len(node.args) == 2 and not node.keywords else None
    if stream is None:
        return _fixed("%py-take-while", "xi", "a function and an iterable")(x, node, scope)
    return form(x.span(node), "%py-stream-while", called_with(x, node.args[0], 1, scope), stream)


def _repeat(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
    named = _named(x, node, ("times",))
    times = node.args[1] if len(node.args) == 2 else named.get("times")
    if times is None or len(node.args) not in (1, 2):
        raise x.refuse("itertools.repeat without an end", node, "its second argument is the number of times")
    span = x.span(node)
    return form(
        span,
        "%py-repeated",
        form(span, "list", x.expression(node.args[0], scope)),
        x.expression(times, scope),
    )


def _groupby(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
    named = _named(x, node, ("key",))
    key = node.args[1] if len(node.args) == 2 else named.get("key")
    if len(node.args) not in (1, 2):
        raise _wrong(x, node, "an iterable and a key")
    span = x.span(node)
    by = name("identity", span) if key is None else x.expression(key, scope)
    return form(span, "%py-groups", x.items(node.args[0], scope), by)


def _itemgetter(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
    _named(x, node, ())
    if not node.args:
        raise _wrong(x, node, "one index or several")
    span, own = x.span(node), name(x.fresh("item"), x.span(node))
    parts = [form(span, "%py-index", own, one) for one in x.operands(node.args, scope)]
    body = parts[0] if len(parts) == 1 else x.tuple_of(parts, span)
    return form(span, "lambda", Form((own,), None, span), body)


def partial_of_known(x: Turns, node: ast.Call, scope: Scope) -> Syntax:
    """The function of the other arguments, which are those that a call needs."""
    if not node.args:
        raise _wrong(x, node, "a function and its first arguments")
    function, *first = node.args
    names = _needed(x, function, scope)
    given = {str(one.arg) for one in node.keywords}
    if names is None:
        hint = "write a lambda: which arguments the function takes, is not known here"
        raise x.refuse("functools.partial of this function", function, hint)
    others = [one for one in names[len(first) :] if one not in given]
    span = x.span(node)
    fixed = [name(x.fresh("given"), span) for _ in (*first, *node.keywords)]
    values = x.operands([*first, *[one.value for one in node.keywords]], scope)
    inner = scope
    variables: list[Syntax] = []
    for python in others:
        own = x.fresh(python)
        variables.append(name(own, span))
        inner = inner.bind(f"{python} ", own)  # no name of Python's
    for number, value in enumerate(fixed):
        inner = inner.bind(f"given {number}", value.symbol.name)
    arguments = [_variable(node, f"given {number}") for number in range(len(first))]
    arguments += [_variable(node, f"{python} ") for python in others]
    keywords = [
        ast.keyword(one.arg, _variable(node, f"given {len(first) + number}"))
        for number, one in enumerate(node.keywords)
    ]
    call = ast.copy_location(ast.Call(function, arguments, keywords), node)
    body = form(span, "lambda", Form(tuple(variables), None, span), x.expression(call, inner))
    return x.bound(list(zip(fixed, values, strict=True)), body, span)


def _variable(node: ast.AST, key: str) -> ast.expr:
    return ast.copy_location(ast.Name(key, ast.Load()), node)


def _needed(x: Turns, function: ast.expr, scope: Scope) -> list[str] | None:
    """The names of the arguments that a function needs; None if they are not known."""
    own = (scope.known or {}).get(function.id) if isinstance(function, ast.Name) else None
    if isinstance(function, ast.Lambda):
        own = function
    if own is not None:
        names, optional = parameters(own), len(own.args.defaults)
        by_place = [one.arg for one in (*own.args.posonlyargs, *own.args.args)]
        left_out = set(by_place[len(by_place) - optional :]) if optional else set()
        left_out |= {
            one.arg
            for one, default in zip(own.args.kwonlyargs, own.args.kw_defaults, strict=True)
            if default is not None
        }
        return [one for one in names if one not in left_out]
    value = x.object_of(function, scope)
    found: Known | None = known(value)
    if found is not None:
        if found.row is not None:
            return [one.names[0] for one in found.row.parameters if one.is_required]
        return [f"x{number}" for number in range(min(found.procedures))] if found.as_value else None
    signature = signature_of(value)
    if signature is None:
        return None
    empty = inspect.Parameter.empty
    return [one.name for one in signature.parameters.values() if one.default is empty]


MODULES: dict[Any, Call] = {
    itertools.chain: _chain,
    itertools.product: _product,
    itertools.zip_longest: _zip_longest,
    itertools.accumulate: _accumulate,
    itertools.islice: _islice,
    itertools.repeat: _repeat,
    itertools.groupby: _groupby,
    itertools.combinations: _fixed("%py-combinations", "ix", "an iterable and a number"),
    itertools.combinations_with_replacement: _fixed(
        "%py-combinations-with-replacement", "ix", "an iterable and a number"
    ),
    itertools.permutations: _fixed("%py-permutations", "iX", "an iterable and a number"),
    itertools.pairwise: _fixed("%py-pairwise", "i", "an iterable"),
    itertools.starmap: _fixed("%py-starmap", "xi", "a function and an iterable of tuples"),
    itertools.takewhile: _takewhile,
    itertools.dropwhile: _fixed("%py-drop-while", "xi", "a function and an iterable"),
    itertools.filterfalse: _fixed("%py-filter-false", "xi", "a function and an iterable"),
    itertools.compress: _fixed("%py-compressed", "ii", "two iterables"),
    operator.itemgetter: _itemgetter,
    functools.partial: partial_of_known,
    functools.reduce: _reduce,
}
