"""Arguments: those of a call in the order of the parameters, with defaults, `*` and `**`.

In: a call, and the signature of what it calls.  Out: syntax for each parameter, and bindings around the call. A parameter
`*args` is one of the procedure that has a tuple, and `**named` one that has a dict; so their numbers need not be known.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence

from vlad.data.source import Span
from vlad.data.values import FALSE, TRUE
from vlad.reader.parser import Syntax
from vlad.translate.expressions import END, Scope
from vlad.translate.names import Function
from vlad.translate.records import Given, Records
from vlad.translate.syntax import empty_list, form, literal, name, quoted

Bindings = list[tuple[Syntax, Syntax]]
Default = Callable[[inspect.Parameter], Syntax]
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Arguments(Records):
    """The part of a translation that is about arguments."""

    def expect_plain(self, node: ast.Call) -> None:
        """Raise VladError if the call of a function that is not known has `*` or `**`."""
        spread = [
            *[one for one in node.args if isinstance(one, ast.Starred)],
            *[one for one in node.keywords if one.arg is None],
        ]
        if spread:
            what = "`*` in this call" if isinstance(spread[0], ast.Starred) else "`**` in this call"
            raise self.refuse(what, spread[0], "write the arguments one by one")

    def expect_by_place(self, node: ast.Call) -> None:
        """Raise VladError if a call of a function of Python's has arguments by name."""
        for keyword in node.keywords:
            raise self.refuse(
                f"{ast.unparse(node.func)} with arguments by name", keyword, "give them by place"
            )

    def call_of(
        self, node: ast.Call, callee: Syntax, signature: inspect.Signature, default: Default, scope: Scope
    ) -> Syntax:
        """A call of a procedure whose parameters have a signature."""
        bindings, operands = self.arguments(node, signature, default, scope)
        return self.bound(bindings, form(self.span(node), callee, *operands), self.span(node))

    def arguments(
        self, node: ast.Call, signature: inspect.Signature, default: Default, scope: Scope
    ) -> tuple[Bindings, list[Syntax]]:
        is_spread = any(isinstance(one, ast.Starred) for one in node.args) or any(
            one.arg is None for one in node.keywords
        )
        if is_spread:
            return self._spread_arguments(node, signature, default, scope)
        return [], self.in_order(node, signature, self.given(node, scope), default)

    def in_order(
        self, node: ast.Call, signature: inspect.Signature, given: Given, default: Default | None = None
    ) -> list[Syntax]:
        """Arguments in the order of the parameters, with defaults."""
        span, bound = self.span(node), self.bind(node, signature, given)
        found = []
        for one in signature.parameters.values():
            if one.kind is one.VAR_POSITIONAL:
                found.append(self.tuple_of(bound.get(one.name, ()), span))
            elif one.kind is one.VAR_KEYWORD:
                found.append(self._dict_of(bound.get(one.name, {}), span))
            elif one.name in bound:
                found.append(bound[one.name])
            elif default is not None:
                found.append(default(one))
            else:
                found.append(self.value_of(one.default, one.name, node))
        return found

    def _dict_of(self, named: Mapping[str, Syntax], span: Span) -> Syntax:
        pairs = [form(span, "cons", quoted(key, span), value) for key, value in named.items()]
        return form(span, "list", quoted("%dict", span), *pairs)

    def _spread_arguments(
        self, node: ast.Call, signature: inspect.Signature, default: Default, scope: Scope
    ) -> tuple[Bindings, list[Syntax]]:
        """Those of a call with `*items` or `**named`."""
        span, parameters = self.span(node), list(signature.parameters.values())
        named = {one.arg: self.expression(one.value, scope) for one in node.keywords if one.arg is not None}
        mappings = [one.value for one in node.keywords if one.arg is None]
        by_place = [one for one in parameters if one.kind in POSITIONAL]
        stops = [place for place, one in enumerate(by_place) if one.name in named]
        filled = by_place[: stops[0]] if stops else by_place
        is_spread = any(isinstance(one, ast.Starred) for one in node.args)
        takes = {one.kind: one.name for one in parameters}
        unknown = [one for one in named if one not in signature.parameters]
        if unknown and inspect.Parameter.VAR_KEYWORD not in takes:
            hint = f"the function takes {', '.join(signature.parameters) or 'no argument'}"
            raise self.refuse(f"this call of {ast.unparse(node.func)}", node, hint)
        bindings: Bindings = []
        found: dict[str, Syntax] = {one: value for one, value in named.items() if one not in unknown}
        if is_spread and mappings:
            return self._by_place_or_name(node, signature, named, mappings, default, scope)
        if is_spread:
            self._by_place(
                node, filled, takes.get(inspect.Parameter.VAR_POSITIONAL), default, scope, bindings, found
            )
        else:
            values = self.operands(node.args, scope)
            if len(values) > len(filled) and inspect.Parameter.VAR_POSITIONAL not in takes:
                raise self.refuse(f"this call of {ast.unparse(node.func)}", node, "it has too many arguments")
            found.update({one.name: value for one, value in zip(filled, values, strict=False)})
            if inspect.Parameter.VAR_POSITIONAL in takes:
                found[takes[inspect.Parameter.VAR_POSITIONAL]] = self.tuple_of(values[len(filled) :], span)
        extra = self._dict_of({one: named[one] for one in unknown}, span)
        rest = takes.get(inspect.Parameter.VAR_KEYWORD)
        if mappings:
            whole = name(self.fresh("named"), span)
            parts = [self.expression(one, scope) for one in mappings]
            merged = parts[0]
            for part in parts[1:]:
                merged = form(span, "%py-merged", merged, part)
            missing = [one for one in parameters if one.name not in found and one.name != rest]
            given = form(span, "list", *[quoted(one, span) for one in found])
            wanted = form(span, "list", *[quoted(one.name, span) for one in missing])
            procedure = "%py-named-arguments" if rest is None else "%py-named-once"
            bindings.append((whole, form(span, procedure, merged, given, wanted)))
            for one in missing:
                key = quoted(one.name, span)
                found[one.name] = (
                    form(span, "%py-argument", whole, key)
                    if one.default is one.empty
                    else form(span, "%py-get-or", whole, key, default(one))
                )
            if rest is not None:
                others = form(span, "%py-without-names", whole, wanted)
                found[rest] = form(span, "%py-merged", extra, others) if unknown else others
        elif rest is not None:
            found[rest] = extra
        for one in parameters:
            if one.name not in found:
                if one.default is one.empty:
                    hint = f"the argument {one.name} is missing"
                    raise self.refuse(f"this call of {ast.unparse(node.func)}", node, hint)
                found[one.name] = default(one)
        return bindings, [found[one.name] for one in parameters]

    def _by_place_or_name(
        self,
        node: ast.Call,
        signature: inspect.Signature,
        named: Mapping[str, Syntax],
        mappings: Sequence[ast.expr],
        default: Default,
        scope: Scope,
    ) -> tuple[Bindings, list[Syntax]]:
        """The arguments of f(*items, **mapping): each is the next item, if there is one, or else that of its name."""
        span, parameters = self.span(node), list(signature.parameters.values())
        by_place = [one.name for one in parameters if one.kind in POSITIONAL]
        others = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
        takes = {one.kind: one.name for one in parameters}
        rest, more = takes.get(inspect.Parameter.VAR_KEYWORD), takes.get(inspect.Parameter.VAR_POSITIONAL)
        items, whole = name(self.fresh("items"), span), name(self.fresh("named"), span)
        merged: Syntax = self._dict_of(named, span)
        bindings: Bindings = [(items, self._spread(node.args, empty_list(span), scope))]
        for one in mappings:
            merged = form(span, "%py-merged-once", merged, self.expression(one, scope))
        texts = [form(span, "list", *[quoted(key, span) for key in keys]) for keys in (by_place, others)]
        is_any = literal(FALSE if rest is None else TRUE, span)
        bindings.append((whole, form(span, "%py-named-beside", merged, items, *texts, is_any)))
        found: dict[str, Syntax] = {}
        for parameter in parameters:
            if parameter.name not in (*by_place, *others):
                continue
            key, own = quoted(parameter.name, span), name(self.fresh("argument"), span)
            value: Syntax = (
                form(span, "%py-argument", whole, key)
                if parameter.default is parameter.empty
                else form(span, "%py-get-or", whole, key, default(parameter))
            )
            if parameter.name in by_place:
                left, test = name(self.fresh("items"), span), form(span, "pair?", items)
                value = form(span, "if", test, form(span, "car", items), value)
                bindings += [(own, value), (left, form(span, "if", test, form(span, "cdr", items), items))]
                items = left
            else:
                bindings.append((own, value))
            found[parameter.name] = own
        if more is not None:
            found[more] = form(span, "%py-joined", items, quoted(END, span))
        else:
            none = name(self.fresh("none"), span)
            bindings.append((none, form(span, "%py-no-more", items, items)))
        if rest is not None:
            all_names = form(span, "list", *[quoted(key, span) for key in (*by_place, *others)])
            found[rest] = form(span, "%py-without-names", whole, all_names)
        return bindings, [found[one.name] for one in parameters]

    def _by_place(
        self,
        node: ast.Call,
        filled: Sequence[inspect.Parameter],
        rest: str | None,
        default: Default,
        scope: Scope,
        bindings: Bindings,
        found: dict[str, Syntax],
    ) -> None:
        """Bind the parameters that `*items` fills, one after the other."""
        span, items = self.span(node), name(self.fresh("items"), self.span(node))
        value = self._spread(node.args, empty_list(span), scope)
        bindings.append((items, value))
        last: Syntax | None = None
        for one in filled:
            own, left = name(self.fresh("argument"), span), name(self.fresh("items"), span)
            if one.default is one.empty:
                bindings.append((own, form(span, "%py-next-argument", items)))
                bindings.append((left, form(span, "cdr", items)))
            else:
                test = form(span, "pair?", items)
                bindings.append((own, form(span, "if", test, form(span, "car", items), default(one))))
                bindings.append((left, form(span, "if", test, form(span, "cdr", items), items)))
            items, last = left, own
            found[one.name] = own
        if rest is not None:
            found[rest] = form(span, "%py-joined", items, quoted(END, span))
        elif last is not None:
            found[filled[-1].name] = form(span, "%py-no-more", items, last)
        else:
            none = name(self.fresh("none"), span)
            bindings.append((none, form(span, "%py-no-more", items, items)))


def takes(signature: inspect.Signature, count: int) -> bool:
    """Does a function take so many arguments by place?"""
    parameters = signature.parameters.values()
    by_place = [one for one in parameters if one.kind in POSITIONAL]
    is_any = any(one.kind is one.VAR_POSITIONAL for one in parameters)
    needed = [one for one in by_place if one.default is one.empty]
    others = [one for one in parameters if one.kind is one.KEYWORD_ONLY and one.default is one.empty]
    return len(needed) <= count and (is_any or count <= len(by_place)) and not others


def signature_in_text(node: Function) -> inspect.Signature:
    """The signature of a nested function; the defaults are expressions."""
    own, parameters = node.args, []
    by_place = [*own.posonlyargs, *own.args]
    defaults = [None] * (len(by_place) - len(own.defaults)) + list(own.defaults)
    for place, (argument, default) in enumerate(zip(by_place, defaults, strict=True)):
        kind = POSITIONAL[0] if place < len(own.posonlyargs) else POSITIONAL[1]
        parameters.append(_parameter(argument, kind, default))
    if own.vararg is not None:
        parameters.append(_parameter(own.vararg, inspect.Parameter.VAR_POSITIONAL, None))
    for argument, default in zip(own.kwonlyargs, own.kw_defaults, strict=True):
        parameters.append(_parameter(argument, inspect.Parameter.KEYWORD_ONLY, default))
    if own.kwarg is not None:
        parameters.append(_parameter(own.kwarg, inspect.Parameter.VAR_KEYWORD, None))
    return inspect.Signature(parameters)


def _parameter(
    argument: ast.arg, kind: inspect._ParameterKind, default: ast.expr | None
) -> inspect.Parameter:
    return inspect.Parameter(
        argument.arg, kind, default=inspect.Parameter.empty if default is None else default
    )
