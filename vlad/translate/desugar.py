"""Statements that others express: `match`, `try` (handlers.py), and assignments within expressions.

In: the tree of a function.  Out: the same tree, with `if` for `match` and `try`, and, as far as the order of evaluation allows,
assignments before a statement for `:=` in it. What remains of `:=` stands where a condition decides whether it is evaluated;
conditions.py binds it there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vlad.data.errors import VladError
from vlad.translate.apart import apart, in_body
from vlad.translate.collecting import with_collections
from vlad.translate.default_values import with_kept_defaults
from vlad.translate.defaults import Meaning
from vlad.translate.guarded_statements import has_plain_indices
from vlad.translate.handlers import Handlers
from vlad.translate.imports import Imported, with_imports
from vlad.translate.joined_arrays import with_joined_arrays
from vlad.translate.named_attributes import with_named_attributes
from vlad.translate.names import CHANGING, Function, changed_by, is_pop, root_of
from vlad.translate.nodes import (
    Attempted,
    Capture,
    Computed,
    Given,
    HandedBack,
    Positional,
    Tested,
    at,
    between,
    name_at,
)
from vlad.translate.nonlocals import Passing, with_passing
from vlad.translate.partial_calls import with_partial_calls
from vlad.translate.trees import COMPREHENSIONS, Nodes, children, walk, within
from vlad.translate.versions import with_versions

Refuse = Callable[[str, ast.AST, str], VladError]


def lifted(node: ast.expr, refuse: Refuse) -> tuple[list[ast.Assign], ast.expr]:
    """The assignments within an expression that are evaluated in any case, and the expression without them."""
    lifting = _Lifting(refuse)
    node = lifting.of(node)
    return lifting.found, node


def desugared(
    node: Function,
    refuse: Refuse,
    meaning: Meaning,
    has_records: Callable[[str], bool],
    names: Mapping[str, Any],
    imported: Imported,
    is_lazy: bool = False,
) -> Function:
    """The tree of a function, which is changed. `meaning`: the value outside of a name. `has_records`: do classes in use have
    such an attribute? `names`: its globals. `imported` is called with what it imports. `is_lazy`: of a generator, the version
    that makes its items one by one.
    """
    nodes = Nodes(node)
    if with_imports(node, nodes, names, imported):
        nodes = Nodes(node)
    if with_named_attributes(node, nodes, meaning, refuse):
        nodes = Nodes(node)
    if with_collections(node, nodes, meaning, has_records, refuse):
        nodes = Nodes(node)
    if with_joined_arrays(node, nodes, meaning, refuse):
        nodes = Nodes(node)
    if with_kept_defaults(node, nodes):
        nodes = Nodes(node)
    if isinstance(node, ast.FunctionDef):
        with_partial_calls(node, meaning)
        with_versions(node, nodes, is_lazy, refuse)
        if any(one is not node for one in nodes.of(ast.FunctionDef)):
            with_passing(node)
            nodes = Nodes(node)
        _Desugaring(refuse, node, nodes).block(node.body)
    return node


class _Desugaring:
    def __init__(self, refuse: Refuse, function: ast.FunctionDef, nodes: Nodes) -> None:
        self.refuse = refuse
        self.function = function
        self.nodes = nodes  # of the function, or of one around it: most have none of what is replaced
        self.pops = any(is_pop(one) for one in nodes.of(ast.Call))
        self.assigns = self.pops or nodes.has(ast.NamedExpr, Passing)  # as what names pops does
        self.serial = 0

    def block(self, statements: list[ast.stmt], is_guarded: bool = False) -> None:
        """Replace statements by those that express them. `is_guarded`: within `try`, which is replaced afterwards."""
        found: list[ast.stmt] = []
        for statement in statements:
            found += self.settled(statement)
            has_pops = self.pops and any(
                isinstance(one, ast.Call) and is_pop(one) for one in _expression_nodes(statement)
            )
            is_apart = has_pops and not is_guarded and _pops_under_condition(statement)
            if is_guarded:
                found += self.in_order(statement)
            elif is_apart and not isinstance(statement, ast.While):
                found += apart(statement, is_pop, self.fresh)
            if has_pops:
                self.name_pops(statement)
            if (parts := self.one_by_one(statement)) is not None:
                found += parts
            elif isinstance(statement, ast.Match):
                found += self.match(statement)
            elif isinstance(statement, ast.Try) and is_guarded:
                found.append(statement)
            elif isinstance(statement, ast.Try):
                self.block(statement.body, True)
                refuse = _refusing(self.refuse, getattr(statement, "guards", None))
                found += Handlers(statement, refuse, self.fresh, self.function).replacement()
            elif isinstance(statement, ast.While) and (is_apart or _assigns(statement.test)):
                found += self.repeated(statement)
            else:
                found += self.before(statement)
                found.append(statement)
        statements[:] = found
        for statement in found:
            if isinstance(statement, ast.FunctionDef):
                if not is_guarded:
                    _Desugaring(self.refuse, statement, self.nodes).block(statement.body)
                continue
            for field in ("body", "orelse", "finalbody"):
                self.block(getattr(statement, field, []), is_guarded)
            for handler in getattr(statement, "handlers", []):
                self.block(handler.body, is_guarded)

    def before(self, statement: ast.stmt) -> list[ast.stmt]:
        """The assignments within a statement that are evaluated in any case, which then stand before it."""
        if not self.assigns:
            return []
        nodes = [
            one
            for part in children(statement)
            if isinstance(part, ast.expr | ast.keyword | ast.withitem)  # blocks have statements of their own
            for one in walk(part)
        ]
        if not [one for one in nodes if isinstance(one, ast.NamedExpr | Passing)]:
            return []
        for one in nodes:
            if isinstance(one, COMPREHENSIONS) and _assigns(one):
                self.expect_local(one)
        field = next(
            (one for one in ("value", "test", "iter") if isinstance(getattr(statement, one, None), ast.expr)),
            None,
        )
        if field is None or isinstance(statement, ast.While):
            return []
        lifting = _Lifting(self.refuse)
        if isinstance(statement, ast.AugAssign):  # the target is read first
            lifting.note(statement.target)
        if (
            isinstance(statement, ast.Expr)
            and changed_by(statement)
            and isinstance(statement.value, ast.Call)
        ):
            function = statement.value.func  # what it changes is no value here
            if isinstance(function, ast.Attribute) and not isinstance(function.value, ast.Name):
                lifting.note(function.value)
            statement.value.args = [lifting.of(one) for one in statement.value.args]
        else:
            setattr(statement, field, lifting.of(getattr(statement, field)))
        return list(lifting.found)

    def settled(self, statement: ast.stmt) -> list[ast.stmt]:
        """What stands before `d.setdefault(k, e).append(x)`, which becomes `d[k].append(x)`."""
        match statement:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(
                        value=ast.Call(
                            func=ast.Attribute(attr="setdefault", value=ast.Name() as owner),
                            args=[key, _],
                        ) as call
                    ) as method
                )
            ) if method.attr in CHANGING:
                before: list[ast.stmt] = []
                if not isinstance(key, ast.Constant | ast.Name):
                    own = self.fresh()
                    before.append(at(ast.Assign([name_at(own, key, ast.Store())], key), key))
                    call.args[0] = key = name_at(own, key)
                read = at(ast.Name(owner.id, ast.Load()), owner)
                again = name_at(key.id, key) if isinstance(key, ast.Name) else key
                method.value = at(ast.Subscript(read, again, ast.Load()), call)
                return [*before, at(ast.Expr(call), call)]
        return []

    def one_by_one(self, statement: ast.stmt) -> list[ast.stmt] | None:
        """`xs[i], y = f()` as `a, b = f()`, `xs[i] = a` and `y = b`; None for another statement."""
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value) if not isinstance(
                value, ast.Tuple | ast.List
            ) and any(isinstance(one, ast.Subscript) for one in targets):
                if any(not isinstance(one, ast.Subscript | ast.Name) for one in targets):
                    return None
                names = [self.fresh() for _ in targets]
                stored: list[ast.expr] = [
                    name_at(own, one, ast.Store()) for own, one in zip(names, targets, strict=True)
                ]
                whole = at(ast.Assign([at(ast.Tuple(stored, ast.Store()), statement)], value), statement)
                parts = [
                    at(ast.Assign([one], name_at(own, one)), statement)
                    for own, one in zip(names, targets, strict=True)
                ]
                return [*self.before(whole), whole, *parts]
        return None

    def name_pops(self, statement: ast.stmt) -> None:
        """Assign each `xs.pop()` within an expression to a name of its own."""
        for field in ("value", "test", "iter"):
            value = getattr(statement, field, None)
            if isinstance(value, ast.expr):
                is_whole = is_pop(value) and isinstance(statement, ast.Assign | ast.Expr)
                setattr(statement, field, value if is_whole else _Pops(self).visit(value))

    def in_order(self, statement: ast.stmt) -> list[ast.stmt]:
        """What stands before a statement within `try`: what may raise and what changes is evaluated in Python's order."""
        pops = [one for one in walk(statement) if isinstance(one, ast.Call) and is_pop(one)]
        if not isinstance(statement, ast.AugAssign) or not isinstance(statement.target, ast.Subscript):
            return apart(statement, is_pop, self.fresh) if pops or _assigns(statement) else []
        if not pops and not _assigns(statement.value):
            return []
        target = statement.target
        if not has_plain_indices(target):
            raise self.refuse("an index that is computed here", target, "give it a name before")
        read = at(ast.Expr(at(ast.Subscript(target.value, target.slice, ast.Load()), target)), statement)
        whole = at(ast.Return(statement.value), statement)
        before = apart(whole, is_pop, self.fresh)
        statement.value = whole.value
        return [read, *before]

    def expect_local(self, comprehension: ast.expr) -> None:
        """Raise VladError if a name that a comprehension assigns is used outside of it."""
        inside = {id(one) for one in walk(comprehension)}
        own = {one.target.id for one in walk(comprehension) if isinstance(one, ast.NamedExpr)}
        for one in walk(self.function):
            if isinstance(one, ast.Name) and one.id in own and id(one) not in inside:
                raise self.refuse(
                    f"{one.id}, which a comprehension assigns, here", one, "give one of the two another name"
                )

    def repeated(self, loop: ast.While) -> list[ast.stmt]:
        """A loop whose test assigns, as an endless one that a test leaves."""
        test = in_body(loop)
        if test is None:
            raise self.refuse(
                "this `else` of a loop whose test assigns", loop.orelse[0], "assign in a statement before"
            )
        loop.body[:0] = [test]
        return [loop]

    # `match`.

    def fresh(self) -> str:
        self.serial += 1
        return f"matched.{self.serial}"

    def match(self, node: ast.Match) -> list[ast.stmt]:
        subject = self.fresh()
        assigned = at(ast.Assign([name_at(subject, node.subject, ast.Store())], node.subject), node.subject)
        result: list[ast.stmt] = []
        for case in reversed(node.cases):
            tests = self.tests(case.pattern, name_at(subject, case.pattern))
            if case.guard is not None:
                tests.append(case.guard)
            if all(isinstance(test, Capture) for test in tests):  # it fits in any case
                bound: list[ast.stmt] = [
                    at(ast.Assign([test.target], test.value), test)
                    for test in tests
                    if isinstance(test, Capture)
                ]
                result = [*bound, *case.body]
                continue
            whole = ast.If(_all(tests, case.pattern), case.body, result)
            last = case.body[-1]
            result = [
                ast.copy_location(whole, case.pattern)
                if last.end_lineno is None
                else between(whole, case.pattern, last)
            ]
        self.block(result)
        return [*self.before(assigned), assigned, *result]

    def tests(self, pattern: ast.pattern, subject: ast.expr) -> list[ast.expr]:
        """The conditions under which a value fits a pattern, in the order of their evaluation."""

        def test(procedure: str, *more: ast.expr) -> ast.expr:
            found: ast.expr = at(Tested(procedure, [subject, *more]), pattern)
            return found

        match pattern:
            case ast.MatchValue(value=value):
                return [at(ast.Compare(subject, [ast.Eq()], [value]), pattern)]
            case ast.MatchSingleton(value=value):
                return [test("eq?", at(ast.Constant(value), pattern))]
            case ast.MatchAs(pattern=inner, name=name):
                found = [] if inner is None else self.tests(inner, subject)
                return found if name is None else [*found, _capture(name, subject, pattern)]
            case ast.MatchOr(patterns=patterns):
                return [
                    at(
                        ast.BoolOp(ast.Or(), [_all(self.tests(one, subject), one) for one in patterns]),
                        pattern,
                    )
                ]
            case ast.MatchSequence(patterns=patterns):
                return self.of_sequence(patterns, subject, pattern)
            case ast.MatchMapping(keys=keys, patterns=patterns, rest=rest):
                found = [test("%py-dict?")]
                for key, inner in zip(keys, patterns, strict=True):
                    found.append(at(ast.Compare(key, [ast.In()], [subject]), inner))
                    found += self.of_part(inner, at(ast.Subscript(subject, key, ast.Load()), inner))
                others = at(
                    Computed("%py-without", [subject, at(ast.List(list(keys), ast.Load()), pattern)]),
                    pattern,
                )
                return found if rest is None else [*found, _capture(rest, others, pattern)]
            case ast.MatchClass(cls=kind, patterns=patterns, kwd_attrs=names, kwd_patterns=named):
                found = [at(ast.Call(at(Given(isinstance), pattern), [subject, kind], []), pattern)]
                for place, inner in enumerate(patterns):
                    found += self.of_part(inner, at(Positional(subject, kind, place), inner))
                for name, inner in zip(names, named, strict=True):
                    found += self.of_part(inner, at(ast.Attribute(subject, name, ast.Load()), inner))
                return found
        raise self.refuse("this pattern", pattern, "use `if` and `elif`")

    def of_sequence(
        self, patterns: Sequence[ast.pattern], subject: ast.expr, whole: ast.pattern
    ) -> list[ast.expr]:
        stars = [place for place, one in enumerate(patterns) if isinstance(one, ast.MatchStar)]
        count = at(ast.Constant(len(patterns) - len(stars)), whole)
        found = [at(Tested("%py-fits-more?" if stars else "%py-fits?", [subject, count]), whole)]
        for place, one in enumerate(patterns):
            after = len(patterns) - 1 - place
            if isinstance(one, ast.MatchStar):
                if one.name is not None:
                    end = _number(-after, one) if after else None
                    part = at(ast.Slice(_number(place, one), end), one)
                    items = at(ast.Subscript(subject, part, ast.Load()), one)
                    found.append(_capture(one.name, at(Computed("%py-list", [items]), one), one))
                continue
            index = _number(-1 - after if stars and place > stars[0] else place, one)
            found += self.of_part(one, at(ast.Subscript(subject, index, ast.Load()), one))
        return found

    def of_part(self, pattern: ast.pattern, part: ast.expr) -> list[ast.expr]:
        match pattern:
            case ast.MatchAs(pattern=None, name=None):
                return []
            case ast.MatchAs(pattern=None, name=str() as name):
                return [_capture(name, part, pattern)]
        own = self.fresh()
        return [_capture(own, part, pattern), *self.tests(pattern, name_at(own, pattern))]


class _Pops(ast.NodeTransformer):
    """Names the calls of `pop` that are evaluated in any case."""

    def __init__(self, within: _Desugaring) -> None:
        self.within = within

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        node.test = self.visit(node.test)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        node.values[0] = self.visit(node.values[0])
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if not is_pop(node):
            return node
        own = self.within.fresh()
        found: ast.expr = at(ast.NamedExpr(name_at(own, node, ast.Store()), node), node)
        return found

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node

    visit_ListComp = visit_GeneratorExp = visit_DictComp = visit_SetComp = visit_Lambda  # type: ignore[assignment]  # of each kind


class _Lifting:
    """Takes assignments out of an expression, as far as they are evaluated in any case, and before what reads their names."""

    def __init__(self, refuse: Refuse) -> None:
        self.refuse = refuse
        self.found: list[ast.Assign] = []
        self.read: set[str] = set()
        self.has_called = False

    def of(self, node: Any) -> Any:
        match node:
            case Passing():
                return self.of_passing(node)
            case ast.NamedExpr(target=target, value=value) if not isinstance(node, Capture):
                value = (
                    self.of_pop(value) if isinstance(value, ast.Call) and is_pop(value) else self.of(value)
                )
                if target.id in self.read:
                    raise self.refuse("`:=` here", node, "assign in a statement of its own before")
                self.found.append(at(ast.Assign([target], value), node))
                return name_at(target.id, target)
            case ast.Name():
                self.read.add(node.id)
            case ast.IfExp():
                node.test = self.of(node.test)
                self.note(node.body, node.orelse)
            case ast.BoolOp():
                node.values[0] = self.of(node.values[0])
                self.note(*node.values[1:])
            case ast.Compare():
                node.left, node.comparators[0] = self.of(node.left), self.of(node.comparators[0])
                self.note(*node.comparators[1:])
            case ast.Dict():
                for place, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
                    node.keys[place] = None if key is None else self.of(key)
                    node.values[place] = self.of(value)
            case (
                Attempted()
                | ast.Lambda()
                | ast.ListComp()
                | ast.GeneratorExp()
                | ast.DictComp()
                | ast.SetComp()
            ):
                self.note(node)
            case ast.AST():
                for field, value in ast.iter_fields(node):
                    if isinstance(value, list):
                        value[:] = [self.of(one) for one in value]
                    elif isinstance(value, ast.AST):
                        setattr(node, field, self.of(value))
                self.has_called |= isinstance(node, ast.Call)
        return node

    def of_passing(self, node: Passing) -> ast.expr:
        """The result of a call that assigns variables: they get their values where the call stands."""
        read, has_called = set(self.read), self.has_called
        node.call.args = [self.of(one) for one in node.call.args]
        for keyword in node.call.keywords:
            keyword.value = self.of(keyword.value)
        if has_called or read & set(node.names):
            what = f"a call of {ast.unparse(node.call.func)} here, as it changes {', '.join(node.names)}"
            raise self.refuse(what, node, "call it in a statement of its own before")
        self.read, self.has_called = read, False
        own = f"passed.{len(self.found) + 1}"
        targets: list[ast.expr] = [name_at(one, node, ast.Store()) for one in (own, *node.names)]
        target = at(ast.Tuple(targets, ast.Store()), node)
        assigned = at(ast.Assign([target], node.call), node)
        assigned.hands_back = tuple(node.in_place)
        self.found.append(assigned)
        if node.may_fail:  # raises the exception where the variables have their values
            received = at(HandedBack(name_at(own, node)), node)
            self.found.append(at(ast.Assign([name_at(own, node, ast.Store())], received), node))
        return name_at(own, node)

    def of_pop(self, call: ast.Call) -> ast.Call:
        """What is changed is not read, but nothing may have read it before."""
        call.args = [self.of(one) for one in call.args]
        assert isinstance(call.func, ast.Attribute)
        root = root_of(call.func.value)
        if root is not None and root.id in self.read:
            raise self.refuse(f"{ast.unparse(call)} here", call, "assign it in a statement of its own before")
        return call

    def note(self, *nodes: ast.AST) -> None:
        self.read.update([one.id for node in nodes for one in walk(node) if isinstance(one, ast.Name)])


def _refusing(refuse: Refuse, guards: tuple[str, Sequence[str]] | None) -> Refuse:
    """`guards`: the `try` was made of the body of this function, which changes these variables of the function around it."""
    if guards is None:
        return refuse
    function, changed = guards
    why = f"{function} is called within `try`, and may raise an exception after a change of {', '.join(changed)}"
    return lambda what, node, hint: refuse(what, node, f"{why}: {hint}, or return the new value")


def _pops_under_condition(statement: ast.stmt) -> bool:
    """Has the expression of a statement an `xs.pop()` that a condition in it decides about?"""
    for one in _expression_nodes(statement):
        parts: list[ast.expr] = []
        match one:
            case ast.BoolOp(values=[_, *parts]) | ast.Compare(comparators=[_, *parts]):
                pass
            case ast.IfExp(body=yes, orelse=no):
                parts = [yes, no]
        if any(isinstance(pop, ast.Call) and is_pop(pop) for part in parts for pop in within(part)):
            return True
    return False


def _expression_nodes(statement: ast.stmt) -> list[ast.AST]:
    """The nodes of the expression of a statement that is evaluated first, without those of functions and comprehensions in it."""
    for field in ("value", "test", "iter"):
        value = getattr(statement, field, None)
        if isinstance(value, ast.expr):
            return within(value)
    return []


def _assigns(node: ast.AST) -> bool:
    return any(isinstance(one, ast.NamedExpr | Passing) for one in walk(node))


def _number(value: int, place: ast.AST) -> ast.expr:
    constant = at(ast.Constant(abs(value)), place)
    found: ast.expr = constant if value >= 0 else at(ast.UnaryOp(ast.USub(), constant), place)
    return found


def _capture(own: str, value: ast.expr, place: ast.AST) -> ast.expr:
    found: ast.expr = at(Capture(name_at(own, place, ast.Store()), value), place)
    return found


def _all(tests: Sequence[ast.expr], place: ast.AST) -> ast.expr:
    if len(tests) == 1:
        return tests[0]
    found: ast.expr = at(ast.BoolOp(ast.And(), list(tests)) if tests else ast.Constant(True), place)
    return found
