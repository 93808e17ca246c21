"""Calls within expressions → statements before them.

In: a block, and which calls are to stand apart, as they change what follows.  Out: the block, in which each of them is the value
of a name; so is what is evaluated before, unless it is a name itself, whose value is looked at afterwards in Python, too. Where a
condition decides whether a call is evaluated, as in `a and f(x)`, the call stands in an `if`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from vlad.translate.nodes import Attempted, at, name_at
from vlad.translate.trees import COMPREHENSIONS, SCOPES, children, walk

Chosen = Callable[[ast.Call], bool]
# Expressions whose parts are evaluated in the order of their fields.
_IN_ORDER = (
    ast.BinOp,
    ast.Call,
    ast.Compare,
    ast.List,
    ast.Starred,
    ast.Subscript,
    ast.Tuple,
    ast.UnaryOp,
    ast.keyword,
)


def set_apart(block: list[ast.stmt], chosen: Chosen, fresh: Callable[[], str]) -> None:
    """Change a block, and those in it."""
    found: list[ast.stmt] = []
    for statement in block:
        if isinstance(statement, ast.While) and _Apart(chosen, fresh).has(statement.test):
            test = in_body(statement)
            if test is not None:
                statement.body[:0] = [test]
        found += [*apart(statement, chosen, fresh), statement]
        if not isinstance(statement, SCOPES):
            for inner in ("body", "orelse"):
                set_apart(getattr(statement, inner, []), chosen, fresh)
    block[:] = found


def in_body(loop: ast.While) -> ast.If | None:
    """The statement in the body of a loop that is its test, for an endless loop. None if its `else` ends a loop around."""
    if any(isinstance(one, ast.Break | ast.Continue) for other in loop.orelse for one in walk(other)):
        return None
    test = loop.test
    leaving = at(
        ast.If(at(ast.UnaryOp(ast.Not(), test), test), [*loop.orelse, at(ast.Break(), test)], []), test
    )
    loop.test, loop.orelse = at(ast.Constant(True), test), []
    found: ast.If = leaving
    return found


def apart(statement: ast.stmt, chosen: Chosen, fresh: Callable[[], str]) -> list[ast.stmt]:
    """What stands before a statement, which is changed."""
    field = _field(statement)
    if field is None:
        return []
    found = _Apart(chosen, fresh)
    value = getattr(statement, field)
    setattr(statement, field, found.of(value, _takes_calls(statement), isinstance(statement, ast.If)))
    return found.found


def _field(statement: ast.stmt) -> str | None:
    """The field of a statement with the expression that is evaluated before anything else in it."""
    match statement:
        case _ if hasattr(statement, "attempted_as"):
            return None
        case ast.Assign() | ast.Return(value=ast.expr()) | ast.Expr() | ast.AnnAssign(value=ast.expr()):
            return "value"
        case ast.AugAssign(target=ast.Name()):
            return "value"
        case ast.If():
            return "test"
        case ast.For():
            return "iter"
    return None


def _takes_calls(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign | ast.Expr)


class _Apart:
    def __init__(self, chosen: Chosen, fresh: Callable[[], str]) -> None:
        self.chosen = chosen
        self.fresh = fresh
        self.found: list[ast.stmt] = []

    def has(self, node: ast.AST) -> bool:
        """Has an expression a chosen call?"""
        if isinstance(node, (Attempted, ast.Lambda, *COMPREHENSIONS)):
            return False
        is_own = isinstance(node, ast.NamedExpr) or (isinstance(node, ast.Call) and self.chosen(node))
        return is_own or any(self.has(one) for one in children(node))

    def of(self, node: ast.expr, is_whole: bool = False, is_tested: bool = False) -> ast.expr:
        """An expression without chosen calls. `is_whole`: may it be one itself? `is_tested`: does only its truth matter?"""
        if not self.has(node):
            return node
        match node:
            case ast.BoolOp(values=[first, *others]):
                if not any(map(self.has, others)):
                    node.values[0] = self.of(first, is_tested=is_tested)
                    return node
                first, own = self.of(first, is_tested=is_tested), name_at(self.fresh(), node)
                is_or = isinstance(node.op, ast.Or)
                kept = first if isinstance(first, ast.Name) else self.kept(first)
                decided = at(ast.Constant(is_or), first) if is_tested else kept
                rest = others[0] if len(others) == 1 else at(ast.BoolOp(node.op, others), node)
                arms = [self.assigning(own, rest, is_tested), self.assigning(own, decided)]
                self.found.append(at(ast.If(kept, *reversed(arms) if is_or else arms), node))
                return own
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                node.operand = self.of(operand, is_tested=True)
                return node
            case ast.IfExp(test=test, body=yes, orelse=no):
                node.test = self.of(test, is_tested=True)
                if not (self.has(yes) or self.has(no)):
                    return node
                own = name_at(self.fresh(), node)
                arms = [self.assigning(own, one, is_tested) for one in (yes, no)]
                self.found.append(at(ast.If(node.test, *arms), node))
                return own
            case ast.Compare(left=left, ops=[first_op, *ops], comparators=[middle, *others]) if any(
                map(self.has, others)
            ):  # what follows the first comparison is evaluated if that holds
                first = self.kept(self.of(left))
                second = self.kept(self.of(middle))
                holds = at(ast.Compare(first, [first_op], [second]), node)
                return self.of(
                    at(ast.BoolOp(ast.And(), [holds, at(ast.Compare(second, ops, others), node)]), node)
                )
            case ast.NamedExpr(target=target, value=value):
                self.found.append(at(ast.Assign([target], self.of(value)), node))
                return name_at(target.id, target)
            case (
                ast.Call()
                | ast.BinOp()
                | ast.Compare()
                | ast.List()
                | ast.Subscript()
                | ast.Tuple()
                | ast.UnaryOp()
            ):
                is_own = isinstance(node, ast.Call) and self.chosen(node)
                self.parts(node)
                return self.named(node) if is_own and not is_whole else node
        return node

    def parts(self, node: ast.AST) -> None:
        """Set the parts of an expression apart as far as the last that has a chosen call."""
        places: list[tuple[ast.AST, str, int | None]] = []
        self._collect(node, places)
        last = max((at for at, place in enumerate(places) if self.has(_get(*place))), default=-1)
        for at_, place in enumerate(places[: last + 1]):
            part = self.of(_get(*place))
            is_kept = at_ == last or isinstance(part, ast.Name | ast.Constant | ast.Attribute | ast.Lambda)
            _set(*place, part if is_kept else self.named(part))

    def _collect(self, node: ast.AST, places: list[tuple[ast.AST, str, int | None]]) -> None:
        for field, value in ast.iter_fields(node):
            for place, part in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(part, ast.keyword | ast.Starred):
                    self._collect(part, places)
                elif isinstance(part, ast.expr):
                    places.append((node, field, place))

    def assigning(self, own: ast.Name, value: ast.expr, is_tested: bool = False) -> list[ast.stmt]:
        """Statements that assign a value, which is evaluated under a condition, to a name."""
        inner = _Apart(self.chosen, self.fresh)
        value = inner.of(value, is_tested=is_tested)
        return [*inner.found, at(ast.Assign([name_at(own.id, value, ast.Store())], value), value)]

    def kept(self, value: ast.expr) -> ast.expr:
        return value if isinstance(value, ast.Constant) else self.named(value)

    def named(self, value: ast.expr) -> ast.Name:
        own = self.fresh()
        self.found.append(at(ast.Assign([name_at(own, value, ast.Store())], value), value))
        return name_at(own, value)


def _get(node: ast.AST, field: str, place: int | None) -> ast.expr:
    found = getattr(node, field)
    value: ast.expr = found if place is None else found[place]
    return value


def _set(node: ast.AST, field: str, place: int | None, value: ast.expr) -> None:
    if place is None:
        setattr(node, field, value)
    else:
        getattr(node, field)[place] = value
