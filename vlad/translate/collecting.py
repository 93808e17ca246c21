"""`deque`, `defaultdict` and `Counter` of `collections` → lists and dicts.

In: the tree of a function.  Out: the same tree, in which a deque is a list, and a dict with defaults and a counter are dicts:
what reads or changes such a dict says what a key without an entry has. So a name has one of them wherever it is assigned, and
the function reads it by this name; as a value elsewhere, such as an argument, it is refused.
"""

from __future__ import annotations

import ast
import collections
import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from vlad.data.errors import VladError
from vlad.translate import counted
from vlad.translate.defaults import Defaults, Kind, Meaning, side_by_side
from vlad.translate.names import Function, locals_of
from vlad.translate.nodes import Given, at, name_at
from vlad.translate.reads import MISSING
from vlad.translate.trees import Nodes, walk

Refuse = Callable[[str, ast.AST, str], VladError]

_OF_COLLECTIONS = (collections.deque, collections.defaultdict, collections.Counter)
# Functions whose results have no such dict as a part.
_CONSUMING = (
    len,
    list,
    tuple,
    set,
    frozenset,
    sorted,
    dict,
    sum,
    min,
    max,
    any,
    all,
    enumerate,
    zip,
    bool,
    map,
    filter,
)
_PLAIN_METHODS = frozenset(("get", "keys", "values", "items", "pop", "clear", "setdefault"))
_COUNTING = {"most_common": counted.most_common, "elements": counted.elements, "total": counted.total}
_UPDATING = {"update": counted.plus_counted, "subtract": counted.minus_counted}
_OPERATORS: dict[type[ast.operator], Any] = {
    ast.Add: counted.added,
    ast.Sub: counted.subtracted,
    ast.BitAnd: counted.common,
    ast.BitOr: counted.united,
}
_OF_DEQUES = {"popleft": ("pop", 0), "appendleft": ("insert", 1)}


def with_collections(
    node: Function, nodes: Nodes, meaning: Meaning, has_records: Callable[[str], bool], refuse: Refuse
) -> bool:
    """Change the tree of a function, which has these nodes, and return whether that was necessary. `meaning`: the value outside
    that a name has. `has_records`: do classes in use have such an attribute?
    """
    own = locals_of(node)

    def outside(one: ast.AST) -> Any:
        root = one
        while isinstance(root, ast.Attribute):
            root = root.value
        return MISSING if isinstance(root, ast.Name) and root.id in own else meaning(one)

    found: dict[str, ast.AST] = {}  # one use of each name
    for one in nodes.of(ast.Name):
        found.setdefault(one.id, one)
    for attribute in nodes.of(ast.Attribute):
        if attribute.attr in _NAMES or attribute.attr in _OF_DEQUES:
            found.setdefault(
                ast.unparse(attribute) if attribute.attr in _NAMES else f".{attribute.attr}", attribute
            )
    methods = [own for own in _OF_DEQUES if f".{own}" in found]
    named = [one for own, one in found.items() if own[0] != "."]
    if any(_is_of_collections(outside(one)) for one in named) or (
        methods and not any(map(has_records, methods))
    ):
        _Collecting(outside, has_records, refuse).function(node, {})
        return True
    return False


def _is_of_collections(value: Any) -> bool:
    return isinstance(value, type) and value in _OF_COLLECTIONS


_NAMES = frozenset(one.__name__ for one in _OF_COLLECTIONS)


class _Collecting(Defaults):
    def __init__(self, meaning: Meaning, has_records: Callable[[str], bool], refuse: Refuse) -> None:
        super().__init__(meaning)
        self.has_records = has_records
        self.refuse = refuse
        self.only_items: set[str] = set()  # the names of which no other use sees whether there is an entry
        self.serial = 0
        self.before: list[ast.stmt] = []  # what is to stand before the statement
        self.is_certain = (
            False  # is this part of the statement evaluated in any case, and no other part sees entries?
        )

    # Functions and blocks.

    def function(self, node: Function, around: Mapping[str, Kind]) -> None:
        own = locals_of(node)
        before = self.kinds, self.own, self.only_items
        self.kinds = {**{one: kind for one, kind in around.items() if one not in own}, **self.of_names(node)}
        self.own = frozenset(own)
        self.only_items = self.only_items | {
            one for one in self.kinds if one in own and _only_items(node, one)
        }
        if isinstance(node, ast.Lambda):
            node.body = self.visit(node.body)
        else:
            self.block(node.body)
        self.kinds, self.own, self.only_items = before

    def block(self, statements: list[ast.stmt]) -> None:
        found: list[ast.stmt] = []
        for statement in statements:
            outer, self.before = self.before, []
            self.is_certain = not isinstance(statement, ast.While) and all(
                _only_items(statement, one) for one, kind in self.kinds.items() if not kind.is_counter
            )
            made = self.statement(statement)
            found += [*self.before, *made]
            self.before = outer
        statements[:] = found

    def fresh(self) -> str:
        self.serial += 1
        return f"collected.{self.serial}"

    # Expressions.

    def value(self, node: ast.expr) -> ast.expr:
        """An expression that may be such a dict, whatever it is."""
        kind = self.kind_of(node)
        if kind is None:
            found: ast.expr = self.visit(node)
            return found
        match node:
            case ast.Name():
                return node
            case ast.BinOp(left=left, op=operator, right=right):
                return self.call(_OPERATORS[type(operator)], [self.value(left), self.value(right)], node)
            case ast.Call(func=ast.Attribute(value=value, attr="copy")) if self.made(node) is None:
                assert isinstance(node.func, ast.Attribute)
                node.func.value = self.value(value)
                return node
            case ast.Subscript():
                return self.item(node)
            case ast.Call(func=function, args=args, keywords=named):
                is_counter = self.meaning(function) is collections.Counter
                given = [self.iterable(one) for one in (args if is_counter else args[1:])]
                if named:
                    given = [
                        at(ast.Call(at(Given(dict), node), given, [self.visit(one) for one in named]), node)
                    ]
                if not given:
                    return _empty(node)
                return self.call(counted.counted if is_counter else dict, given, node)
        raise AssertionError(ast.unparse(node))

    def iterable(self, node: ast.expr) -> ast.expr:
        """What is consumed at once."""
        if isinstance(node, ast.GeneratorExp):
            node = at(ast.ListComp(node.elt, node.generators), node)
        return self.value(node)

    def call(self, function: Any, arguments: list[ast.expr], place: ast.AST) -> ast.expr:
        found: ast.expr = at(ast.Call(at(Given(function), place), arguments, []), place)
        return found

    def item(self, node: ast.Subscript) -> ast.expr:
        """`d[k]` that is read."""
        kind = self.kind_of(node.value)
        assert kind is not None
        container, key = self.value(node.value), self.visit(node.slice)
        default = at(copy.deepcopy(kind.default), node)
        root = _root(node)
        if kind.is_counter or (root is not None and root.id in self.only_items):
            method = "get"
        elif self.is_certain and _is_plain(key) and _is_plain_path(container):
            self.settle(container, key, kind, node)
            node.value, node.slice = container, key
            return node
        elif isinstance(node.value, ast.Name):
            method = "setdefault"
        else:
            hint = "it makes an entry for a key that has none: `.get(k, …)` makes none"
            raise self.refuse(f"{ast.unparse(node)} here", node, hint)
        read = at(ast.Attribute(container, method, ast.Load()), node)
        found: ast.expr = at(ast.Call(read, [key, default], []), node)
        return found

    def visit_Name(self, node: ast.Name) -> ast.expr:
        kind = self.kinds.get(node.id) if isinstance(node.ctx, ast.Load) else None
        if kind is not None:
            what = "a counter" if kind.is_counter else "a dict with defaults"
            raise self.refuse(
                f"{node.id}, {what}, as a value here", node, f"make a dict of it: dict({node.id})"
            )
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if not isinstance(node.ctx, ast.Load) and self.is_inside(node):
            return self.prepared(node, False)
        if self.kind_of(node.value) is not None:
            if self.kind_of(node) is not None:
                what = f"{ast.unparse(node)}, a dict with defaults, as a value here"
                raise self.refuse(what, node, "make a dict of it: dict(…)")
            return self.item(node)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=method) as function, args=args):
                kind = self.kind_of(value)
                if kind is not None:
                    return self.method(node, function, kind)
                own = None if self.has_records(method) else _OF_DEQUES.get(method)
                if own is not None and len(args) == own[1] and not node.keywords:
                    function.attr = own[0]
                    function.value = self.visit(value)
                    node.args = [at(ast.Constant(0), node), *[self.visit(one) for one in args]]
                    return node
        value = self.meaning(node.func)
        if value is collections.deque and len(node.args) <= 1 and not node.keywords:
            given = [self.iterable(one) for one in node.args]
            found: ast.expr = self.call(list, given, node) if given else at(ast.List([], ast.Load()), node)
            return found
        kind = self.made(node)
        if kind is not None:
            what = "a counter" if kind.is_counter else "a dict with defaults"
            raise self.refuse(
                f"{what} as a value here",
                node,
                "assign it to a name of its own, or make a dict of it: dict(…)",
            )
        try:
            consumes = value in _CONSUMING
        except TypeError:
            consumes = False
        if consumes:
            node.args = [self.value(one) for one in node.args]
            node.keywords = [self.visit(one) for one in node.keywords]
            return node
        self.generic_visit(node)
        return node

    def method(self, node: ast.Call, function: ast.Attribute, kind: Kind) -> ast.expr:
        name, value = function.attr, function.value
        if kind.is_counter and name in _COUNTING and not node.keywords:
            return self.call(
                _COUNTING[name], [self.value(value), *[self.visit(one) for one in node.args]], node
            )
        if name not in _PLAIN_METHODS and not (name == "update" and not kind.is_counter):
            raise self.refuse(f"this call of {name}", node, "make a dict of it: dict(…)")
        function.value = self.value(value)
        node.args = [self.visit(one) for one in node.args]
        node.keywords = [self.visit(one) for one in node.keywords]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """`d.get` as a value."""
        node.value = self.value(node.value) if node.attr == "get" else self.visit(node.value)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        kinds = [self.kind_of(one) for one in (node.left, *node.comparators)]
        if len(kinds) == 2 and all(one is not None and one.is_counter for one in kinds):
            sides = [self.value(node.left), self.value(node.comparators[0])]
            if isinstance(node.ops[0], ast.Eq | ast.NotEq):
                same = self.call(counted.same_counts, sides, node)
                return same if isinstance(node.ops[0], ast.Eq) else at(ast.UnaryOp(ast.Not(), same), node)
            raise self.refuse("a comparison of counters", node, "== and != are there")
        tests = [isinstance(one, ast.In | ast.NotIn | ast.Eq | ast.NotEq) for one in node.ops]
        takes = (
            self.value
            if all(tests) and not any(one is not None and one.is_counter for one in kinds[:1])
            else self.visit
        )
        is_membership = all(isinstance(one, ast.In | ast.NotIn) for one in node.ops)
        if any(one is not None and one.is_counter for one in kinds) and not is_membership:
            takes = self.visit
        node.left = takes(node.left)
        node.comparators = [takes(one) for one in node.comparators]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if self.kind_of(node) is not None:
            raise self.refuse("a counter as a value here", node, "assign it to a name of its own")
        self.generic_visit(node)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        node.operand = self.value(node.operand) if isinstance(node.op, ast.Not) else self.visit(node.operand)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        node.values[0] = self.visit(node.values[0])
        with self.uncertain():
            node.values[1:] = [self.visit(one) for one in node.values[1:]]
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        node.test = self.value(node.test)
        with self.uncertain():
            node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def of_turns(self, node: ast.expr) -> ast.expr:
        with self.uncertain():
            self.generic_visit(node)
        return node

    visit_ListComp = visit_GeneratorExp = visit_SetComp = visit_DictComp = of_turns

    @contextmanager
    def uncertain(self) -> Iterator[None]:
        before, self.is_certain = self.is_certain, False
        yield
        self.is_certain = before

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        node.iter = self.value(node.iter)
        node.ifs = [self.visit(one) for one in node.ifs]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        with self.uncertain():
            self.function(node, self.kinds)
        return node

    # Statements.

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        found = self.of_name(node)
        if found is None:
            found = self.of_item(node)
        if found is not None:
            return found
        match node:
            case ast.FunctionDef():
                self.function(node, self.kinds)
                return [node]
            case ast.Return(value=ast.Tuple(elts=parts) as whole):
                whole.elts = [self.value(one) for one in parts]
                return [node]
            case ast.Return(value=ast.expr() as value):
                node.value = self.value(value)
                return [node]
            case ast.If() | ast.While():
                node.test = self.value(node.test)
            case ast.For():
                node.iter = self.value(node.iter)
                node.target = self.visit(node.target)
            case ast.Match():
                node.subject = self.visit(node.subject)
            case ast.Try():
                pass
            case _:
                self.generic_visit(node)
                return [node]
        for field in ("body", "orelse", "finalbody"):
            self.block(getattr(node, field, []))
        for one in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
            self.block(one.body)
        return [node]

    def of_name(self, node: ast.stmt) -> list[ast.stmt] | None:
        """A statement about a name that has such a dict; None if it is another one."""
        match node:
            case ast.Assign(targets=[target], value=value) if any(
                isinstance(one, ast.Name) and one.id in self.kinds for one in side_by_side(target, value)
            ):
                if isinstance(value, ast.Tuple):
                    value.elts = [self.value(one) for one in value.elts]
                else:
                    node.value = self.value(value)
                return [node]
            case ast.AnnAssign(target=ast.Name(id=own), value=ast.expr() as value) if own in self.kinds:
                return [at(ast.Assign([name_at(own, node, ast.Store())], self.value(value)), node)]
            case ast.AugAssign(target=ast.Name(id=own), op=operator, value=value) if own in self.kinds:
                whole = at(ast.BinOp(name_at(own, node), operator, value), node)
                return [at(ast.Assign([name_at(own, node, ast.Store())], self.value(whole)), node)]
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=own), attr=method)) as call
            ) if own in self.kinds and self.kinds[own].is_counter and method in _UPDATING:
                return self.updated(node, own, method, call)
        return None

    def updated(self, node: ast.stmt, own: str, method: str, call: ast.Call) -> list[ast.stmt]:
        """`c.update(xs)`, of a counter."""
        if own not in self.own or len(call.args) > 1 or any(one.arg is None for one in call.keywords):
            raise self.refuse(f"this call of {method}", call, "count in the function that has the counter")
        given = [self.iterable(one) for one in call.args]
        if call.keywords:
            named = [self.visit(one) for one in call.keywords]
            given.append(at(ast.Call(at(Given(dict), call), [], named), call))
        value: ast.expr = name_at(own, node)
        for one in given:
            value = self.call(_UPDATING[method], [value, one], node)
        return [at(ast.Assign([name_at(own, node, ast.Store())], value), node)] if given else []

    def of_item(self, node: ast.stmt) -> list[ast.stmt] | None:
        """A statement that changes an item of such a dict; None if it is another one."""
        match node:
            case ast.AugAssign(target=ast.Subscript() as target) if self.is_inside(target):
                self.prepared(target, True)
                node.value = self.visit(node.value)
                return [node]
            case ast.Assign(targets=targets) if any(self.is_inside(one) for one in targets):
                node.value = self.visit(node.value)
                node.targets = [
                    self.prepared(one, False) if self.is_inside(one) else self.visit(one) for one in targets
                ]
                return [node]
            case ast.Delete(targets=[ast.Subscript(value=value, slice=key)]) if (
                kind := self.kind_of(value)
            ) is not None:
                if not kind.is_counter:
                    return [node]
                gone = at(ast.Attribute(self.value(value), "pop", ast.Load()), node)
                call = at(ast.Call(gone, [self.visit(key), at(ast.Constant(None), key)], []), node)
                return [at(ast.Expr(call), node)]
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Subscript() as value) as function) as call
            ) if self.is_inside(value):
                if self.kind_of(value) is not None and function.attr in _UPDATING:
                    raise self.refuse(
                        f"this call of {function.attr}", call, "give the part a name of its own"
                    )
                function.value = self.prepared(value, True)
                call.args = [self.visit(one) for one in call.args]
                call.keywords = [self.visit(one) for one in call.keywords]
                own = None if self.has_records(function.attr) else _OF_DEQUES.get(function.attr)
                if own is not None:
                    function.attr = own[0]
                    call.args = [at(ast.Constant(0), call), *call.args]
                return [node]
        return None

    def settle(self, container: ast.expr, key: ast.expr, kind: Kind, place: ast.AST) -> None:
        """Let a key have an entry before the statement."""
        method = at(ast.Attribute(_loaded(container), "setdefault", ast.Load()), place)
        default = at(copy.deepcopy(kind.default), place)
        self.before.append(at(ast.Expr(at(ast.Call(method, [_loaded(key), default], []), place)), place))

    def is_inside(self, node: ast.AST) -> bool:
        """Is it an item of such a dict, or of an item of one?"""
        while isinstance(node, ast.Subscript):
            if self.kind_of(node.value) is not None:
                return True
            node = node.value
        return False

    def prepared(self, node: ast.expr, is_read: bool) -> ast.expr:
        """An item that is assigned, or whose value is changed, after there is an entry for each key that is read for that."""
        if not isinstance(node, ast.Subscript):
            assert isinstance(node, ast.Name)
            return node
        kind = self.kind_of(node.value)
        node.value = self.prepared(node.value, True)
        node.slice = self.visit(node.slice)
        if kind is None or not is_read:
            return node
        if not isinstance(node.slice, ast.Name | ast.Constant):
            own = self.fresh()
            self.before.append(at(ast.Assign([name_at(own, node, ast.Store())], node.slice), node.slice))
            node.slice = name_at(own, node)
        self.settle(node.value, node.slice, kind, node)
        return node


def _empty(place: ast.AST) -> ast.expr:
    found: ast.expr = at(ast.Dict([], []), place)
    return found


def _is_plain(node: ast.expr) -> bool:
    """Does it not matter when an expression is evaluated?"""
    return isinstance(node, ast.Name | ast.Constant) or (
        isinstance(node, ast.Tuple) and all(map(_is_plain, node.elts))
    )


def _is_plain_path(node: ast.expr) -> bool:
    while isinstance(node, ast.Subscript) and _is_plain(node.slice):
        node = node.value
    return isinstance(node, ast.Name)


def _loaded(node: ast.expr) -> ast.expr:
    found = copy.deepcopy(node)
    for one in walk(found):
        if hasattr(one, "ctx"):
            one.ctx = ast.Load()
    return found


def _root(node: ast.expr) -> ast.Name | None:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _only_items(node: ast.AST, own: str) -> bool:
    """Is a name used for nothing but its items, so that it does not matter whether reading makes an entry?"""
    items = [one.value for one in walk(node) if isinstance(one, ast.Subscript)]
    items += [one.value for one in walk(node) if isinstance(one, ast.Attribute) and one.attr == "get"]
    return all(
        not isinstance(one.ctx, ast.Load) or any(one is item for item in items)
        for one in walk(node)
        if isinstance(one, ast.Name) and one.id == own
    )
