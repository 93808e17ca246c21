"""`format(x, "08b")` and `"{:.2f}".format(x)` → f-strings; `int(text, base)` and `pow(a, n, m)` → calls of wholes.py.

In: calls.  Out: calls, or f-strings.
"""

from __future__ import annotations

import ast
import string
from collections.abc import Callable, Sequence

from vlad.data.errors import VladError
from vlad.translate import wholes
from vlad.translate.nodes import Given, at

Refuse = Callable[[str, ast.AST, str], VladError]

_HINT = "write an f-string"
_BY_NAME = {"int": ("x", "base"), "pow": ("base", "exp", "mod")}


def as_f_string(call: ast.Call, text: str, refuse: Refuse) -> ast.JoinedStr:
    """`text.format(…)`. Each argument is used, once unless it is a name or a constant, as then the order of evaluation holds."""
    if any(isinstance(one, ast.Starred) for one in call.args) or any(
        one.arg is None for one in call.keywords
    ):
        raise refuse("format with * or ** here", call, _HINT)
    given: dict[str, ast.expr] = {str(place): one for place, one in enumerate(call.args)}
    given.update({str(one.arg): one.value for one in call.keywords})
    parts: list[ast.expr] = []
    used: list[str] = []
    try:
        fields = list(string.Formatter().parse(text))
    except ValueError as error:
        raise refuse(f"this format: {error}", call, _HINT) from None
    count = 0
    for before, field, spec, conversion in fields:
        if before:
            parts.append(at(ast.Constant(before), call))
        if field is None:
            continue
        if field == "":
            field, count = str(count), count + 1
        value = given.get(field)
        if value is None or "{" in (spec or ""):
            raise refuse(f"the field {{{field}}} here", call, _HINT)
        used.append(field)
        parts.append(_shown(value, spec or "", ord(conversion) if conversion else -1, call))
    kept = [one for one, value in given.items() if not isinstance(value, ast.Name | ast.Constant)]
    if used != list(given) and [one for one in used if one in kept] != kept:
        raise refuse("this order of fields", call, _HINT)
    found: ast.JoinedStr = at(ast.JoinedStr(parts), call)
    return found


def formatted(call: ast.Call, refuse: Refuse) -> ast.JoinedStr:
    """`format(x)`, `format(x, "08b")`."""
    match call.args:
        case [value]:
            return _alone(value, "", call)
        case [value, ast.Constant(value=str() as spec)] if not call.keywords:
            return _alone(value, spec, call)
    raise refuse(
        "this call of format",
        call,
        "it takes a value and a format that is written: an f-string computes parts of it",
    )


def _alone(value: ast.expr, spec: str, place: ast.AST) -> ast.JoinedStr:
    found: ast.JoinedStr = at(ast.JoinedStr([_shown(value, spec, -1, place)]), place)
    return found


def _shown(value: ast.expr, spec: str, conversion: int, place: ast.AST) -> ast.expr:
    written = at(ast.JoinedStr([at(ast.Constant(spec), place)]), place) if spec else None
    found: ast.expr = at(ast.FormattedValue(value, conversion, written), place)
    return found


def with_base(call: ast.Call, name: str) -> ast.Call | None:
    """`int(text, base)` and `pow(a, n, m)`; None for calls of fewer arguments."""
    arguments = _by_place(call, _BY_NAME[name])
    if arguments is None or len(arguments) != len(_BY_NAME[name]):
        return None
    function = wholes.int_in_base if name == "int" else wholes.power_modulo
    found: ast.Call = at(ast.Call(at(Given(function), call.func), arguments, []), call)
    return found


def _by_place(call: ast.Call, names: Sequence[str]) -> list[ast.expr] | None:
    named = [one.arg for one in call.keywords]
    if any(isinstance(one, ast.Starred) for one in call.args):
        return None
    if tuple(named) != tuple(names[len(call.args) : len(call.args) + len(named)]):
        return None
    return [*call.args, *[one.value for one in call.keywords]]
