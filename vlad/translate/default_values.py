"""Defaults of nested functions → variables of the function around, or arguments of a call.

In: the tree of a function.  Out: the same tree, in which defaults of nested functions are constants. Python evaluates a default
where the function is defined, so what is no constant is kept there:

- `lambda y, i=i: e` is `(lambda i: lambda y: e)(i)`;
- `def g(y, k=e): …` is `d = e`, and `def g(y): k = d; …`, and so is a lambda that is given a name.

What is called as a value may be given the argument all the same. By the tuple rule it would be part of the last parameter that is
left, so that is tested: y is `%py-without-more(y, 1)` first.

Where a call gives the argument, a function that has one name, and is only called, keeps its parameter; the other calls give d.
What else is called with the argument stays as it is, to be refused.
"""

from __future__ import annotations

import ast

from vlad.translate.names import Function
from vlad.translate.nodes import Computed, KeptDefault, at, name_at
from vlad.translate.trees import Nodes, walk


def with_kept_defaults(function: Function, nodes: Nodes) -> bool:
    """Change the tree of a function, which has these nodes, nested ones included, and return whether that was necessary."""
    inside: list[Function] = [*nodes.of(ast.FunctionDef), *nodes.of(ast.Lambda)]
    if not any(_taken(one) for one in inside if one is not function):
        return False
    keeping = _Keeping(function)
    if isinstance(function, ast.Lambda):
        function.body = keeping.visit(function.body)
    else:
        body: list[ast.stmt] = []
        for statement in function.body:
            found = keeping.visit(statement)
            body += found if isinstance(found, list) else [found]
        function.body[:] = body
    return True


def _taken(node: Function) -> list[tuple[ast.arg, ast.expr]]:
    """The parameters whose defaults are no constants, with these."""
    own = node.args
    by_place = [*own.posonlyargs, *own.args]
    pairs = [
        *zip(by_place[len(by_place) - len(own.defaults) :], own.defaults, strict=True),
        *zip(own.kwonlyargs, own.kw_defaults, strict=True),
    ]
    return [(one, value) for one, value in pairs if value is not None and not isinstance(value, ast.Constant)]


def _take_out(node: Function, arguments: set[int]) -> None:
    """Take parameters that have defaults out of a function."""
    own = node.args
    by_place = [*own.posonlyargs, *own.args]
    first = len(by_place) - len(own.defaults)
    pairs = zip(by_place[first:], own.defaults, strict=True)
    own.defaults = [value for one, value in pairs if id(one) not in arguments]
    own.posonlyargs = [one for one in own.posonlyargs if id(one) not in arguments]
    own.args = [one for one in own.args if id(one) not in arguments]
    named = [
        pair for pair in zip(own.kwonlyargs, own.kw_defaults, strict=True) if id(pair[0]) not in arguments
    ]
    own.kwonlyargs, own.kw_defaults = [one for one, _ in named], [value for _, value in named]


class _Keeping(ast.NodeTransformer):
    def __init__(self, function: Function) -> None:
        self.serial = 0
        nodes = walk(function)
        self.calls: dict[str, list[ast.Call]] = {}
        for one in nodes:
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Name):
                self.calls.setdefault(one.func.id, []).append(one)
        bound = [one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
        bound += [one.name for one in nodes if isinstance(one, ast.FunctionDef)]
        bound += [one.arg for one in nodes if isinstance(one, ast.arg)]
        called = {id(one.func) for several in self.calls.values() for one in several}
        values = {
            one.id
            for one in nodes
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and id(one) not in called
        }
        self.only_called = {one for one in self.calls if bound.count(one) == 1 and one not in values}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> list[ast.stmt]:
        self.generic_visit(node)
        return [*self._kept(node, node.name), node]

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        match node:
            case ast.Assign(targets=[ast.Name(id=own)], value=ast.Lambda() as made) if self._is_given(
                own, made
            ):
                made.body = self.visit(made.body)
                return [*self._kept(made, own), node]
        self.generic_visit(node)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self.generic_visit(node)
        taken = _taken(node)
        if not taken:
            return node
        _take_out(node, {id(one) for one, _ in taken})
        node.body = _tested(node, len(taken))
        outer = ast.arguments([], [one for one, _ in taken], None, [], [], None, [])
        made: ast.expr = at(
            ast.Call(at(ast.Lambda(outer, node), node), [value for _, value in taken], []), node
        )
        return made

    def _kept(self, node: Function, own: str) -> list[ast.stmt]:
        """What stands before a function that has a name."""
        taken, before = _taken(node), []
        is_given = self._is_given(own, node)
        if is_given and (own not in self.only_called or any(map(_spreads, self.calls[own]))):
            return []
        for argument, value in taken:
            self.serial += 1
            kept = f"default.{self.serial}"
            before.append(at(ast.Assign([KeptDefault(kept, ast.Store())], value), value))
            if not is_given and isinstance(node, ast.FunctionDef):
                target = name_at(argument.arg, value, ast.Store())
                node.body.insert(0, at(ast.Assign([target], name_at(kept, value)), value))
            for call in self.calls[own] if is_given else ():
                if not _gives(call, node, argument):
                    call.keywords.append(at(ast.keyword(argument.arg, name_at(kept, call)), call))
        if is_given:  # each call gives them
            node.args.defaults = [_none(one, taken) for one in node.args.defaults]
            node.args.kw_defaults = [one and _none(one, taken) for one in node.args.kw_defaults]
        else:
            _take_out(node, {id(one) for one, _ in taken})
            last = _last(node)
            if taken and last and own not in self.only_called:
                if isinstance(node, ast.Lambda):
                    node.body = _tested(node, len(taken))
                else:
                    test = at(
                        ast.Assign([name_at(last, node, ast.Store())], _no_more(last, len(taken), node)), node
                    )
                    node.body.insert(0, test)
        return before

    def _is_given(self, own: str, node: Function) -> bool:
        """Does a call give an argument whose default is no constant, or may it?"""
        taken = [one for one, _ in _taken(node)]
        return any(
            _spreads(call) or any(_gives(call, node, one) for one in taken)
            for call in self.calls.get(own, ())
        )


def _spreads(call: ast.Call) -> bool:
    return any(isinstance(one, ast.Starred) for one in call.args) or any(
        one.arg is None for one in call.keywords
    )


def _gives(call: ast.Call, node: Function, argument: ast.arg) -> bool:
    by_place = [*node.args.posonlyargs, *node.args.args]
    return argument in by_place[: len(call.args)] or any(one.arg == argument.arg for one in call.keywords)


def _none(default: ast.expr, taken: list[tuple[ast.arg, ast.expr]]) -> ast.expr:
    """None in place of a default that no call needs."""
    found: ast.expr = (
        at(ast.Constant(None), default) if any(default is value for _, value in taken) else default
    )
    return found


def _last(node: Function) -> str | None:
    """The last parameter that is given by place."""
    by_place = [*node.args.posonlyargs, *node.args.args]
    return by_place[-1].arg if by_place and node.args.vararg is None else None


def _no_more(own: str, count: int, place: ast.AST) -> ast.expr:
    found: ast.expr = at(Computed("%py-without-more", [name_at(own, place), ast.Constant(count)]), place)
    return found


def _tested(node: ast.Lambda, count: int) -> ast.expr:
    """The body of a lambda, with a test of its last parameter."""
    last = _last(node)
    if last is None:
        return node.body
    inner = ast.Lambda(ast.arguments([], [ast.arg(last)], None, [], [], None, []), node.body)
    found: ast.expr = at(ast.Call(inner, [_no_more(last, count, node)], []), node.body)
    return found
