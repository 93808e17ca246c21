"""A variable that a nested function assigns (`nonlocal`), or whose value it changes in place, is passed to it, and comes back in
its result.

In: the tree of a function.  Out: the same tree, in which such a nested function takes the variables as its first arguments, and
returns the tuple of its result and their values; a call is a `Passing`, which desugar.py takes out of its statement. Functions
that only read such a variable take it, too. That needs all their calls: what is used as a value keeps its `nonlocal`.

A function that is called within `try` hands the values back also if it raises an exception after a change: its body becomes the
body of a `try`, whose handler returns the failure as the result. Its calls raise the exception again, with the values assigned.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vlad.translate.names import NOTHING, Names, bound_by, changed_by, falls, free_in, locals_of
from vlad.translate.nodes import Added, Failure, at
from vlad.translate.trees import COMPREHENSIONS, children, functions_in, nodes_in, walk, within
from vlad.translate.versions import is_version

_CERTAIN = (ast.Return, ast.Pass, ast.Tuple, ast.Name, ast.Constant)  # evaluating them raises nothing


class Passing(Added):
    """A call of a function that assigns variables of this one."""

    _fields = ("call",)

    def __init__(self, call: ast.Call, names: Sequence[str], in_place: Sequence[str], may_fail: bool) -> None:
        super().__init__()
        self.call = call
        self.names = names
        self.in_place = in_place
        self.may_fail = may_fail  # may the result be a failure?


def with_passing(
    function: ast.FunctionDef, around: Names = NOTHING, guarded: frozenset[str] | None = None
) -> None:
    """Change the tree of a function. `around`: the variables of the functions around it. `guarded`: the names of functions that
    are called within `try`.
    """
    inner = functions_in(function)
    if not inner:
        return
    own = locals_of(function)
    if guarded is None:
        guarded = _guarded(function)
    for one in inner:
        with_passing(one, around | own, guarded)
    by_name = {one.name: one for one in inner}
    declared = set().union(*[_declared(one) for one in inner])
    in_place = {one.name: _changed_in_place(one, own) - declared for one in inner}
    later = _changed_later(function, inner, own) if len(by_name) == len(inner) else {}
    if not (declared or any(in_place.values()) or any(later.values())) or len(by_name) < len(inner):
        return
    changed = {one.name: {*_declared(one), *in_place[one.name]} for one in inner}
    calls = {one.name: {name for name in by_name if name in free_in(one)} for one in inner}
    while True:  # what one calls, it changes
        before = {name: set(names) for name, names in changed.items()}
        for name, called in calls.items():
            changed[name] = changed[name].union(*[changed[one] for one in called]) - (
                locals_of(by_name[name]) - before[name]
            )
        if before == changed:
            break
    all_changed = set().union(*changed.values())
    for also in (
        later,
        dict[str, set[str]](),
    ):  # without those that are read, if a function that reads one is a value
        read = {
            one.name: ((free_in(one) & all_changed) | also.get(one.name, set())) - changed[one.name]
            for one in inner
        }
        while True:  # what one calls reads, it reads
            more = {
                name: read[name].union(*[read[one] for one in called]) - changed[name]
                for name, called in calls.items()
            }
            if more == read:
                break
            read = more
        passed = {name: sorted(changed[name] | read[name]) for name in by_name if changed[name] | read[name]}
        if all(_is_only_called(function, name) for name in passed):
            break
    else:
        return
    failing = {
        name for name in passed if name in guarded and changed[name] and _raises_late(by_name[name], passed)
    }
    for name, names in passed.items():
        _take(by_name[name], sorted(changed[name]), names, name in failing)
    only_in_place = set().union(*in_place.values())
    _Calls(passed, {name: sorted(changed[name]) for name in passed}, only_in_place, failing).of_body(function)
    outside = all_changed - own
    if outside:  # they belong to a function around this one
        function.body.insert(0, ast.copy_location(ast.Nonlocal(sorted(outside)), function.body[0]))


def _guarded(function: ast.FunctionDef) -> Names:
    """The names that are called within `try`, or by a function of such a name."""
    nodes = walk(function)
    found = set[str]()
    work: list[ast.AST] = []
    for one in nodes:
        if isinstance(one, ast.Try):
            work += one.body
            if one.finalbody:
                work += [*one.handlers, *one.orelse]
    by_name: dict[str, list[ast.AST]] = {}
    for one in nodes:
        if isinstance(one, ast.FunctionDef):
            by_name.setdefault(one.name, []).append(one)
    while work:
        for one in walk(work.pop()):
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id not in found:
                found.add(one.func.id)
                work += by_name.get(one.func.id, [])
    return frozenset(found)


def _raises_late(function: ast.FunctionDef, passed: Mapping[str, Sequence[str]]) -> bool:
    """May a function raise an exception after it has changed a variable of the function around it?"""
    changing = _first_change(function, passed)
    if changing is None:
        return False
    first, *others = function.body[changing:]
    is_simple = isinstance(first, ast.Assign | ast.AugAssign) and all(
        isinstance(one, ast.Name) for one in getattr(first, "targets", [getattr(first, "target", None)])
    )  # what it computes, it computes before the change
    is_simple &= not any(isinstance(one, ast.Call | ast.NamedExpr) for one in walk(first))
    return not is_simple or not all(
        isinstance(one, ast.Return | ast.Pass) and all(isinstance(part, _CERTAIN) for part in walk(one))
        for one in others
    )


def _first_change(function: ast.FunctionDef, passed: Mapping[str, Sequence[str]]) -> int | None:
    """The place of the first statement of a function that may change a variable of the function around it."""
    own = locals_of(function) - {*_declared(function)}
    for place, statement in enumerate(function.body):
        for one in nodes_in([statement]):
            bound = [] if isinstance(one, ast.FunctionDef) else bound_by(one)
            called = isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in passed
            if called or isinstance(one, Passing) or not own.issuperset(bound):
                return place
    return None


def _changed_later(
    function: ast.FunctionDef, inner: Sequence[ast.FunctionDef], own: Names
) -> dict[str, set[str]]:
    """For each function inside: the variables that it reads, and that get another value before a call of it."""
    nodes = nodes_in(function.body)
    loops = [{id(one) for one in walk(node)} for node in nodes if isinstance(node, ast.For | ast.While)]
    found: dict[str, set[str]] = {}
    for place, one in enumerate(nodes):
        if not isinstance(one, ast.FunctionDef) or is_version(one):
            continue
        following = nodes[place + 1 :]
        used = [node for node in following if isinstance(node, ast.Name) and node.id == one.name]
        is_used_inside = any(one.name in free_in(other) for other in inner)
        last = nodes.index(used[-1]) if used else place
        names = found[one.name] = set()
        for later, node in enumerate(following, place + 1):
            bound = [] if isinstance(node, ast.FunctionDef) else bound_by(node)
            changed = free_in(one).intersection(bound) & own
            if changed and (
                later < last
                or is_used_inside
                or any(id(node) in loop and any(id(other) in loop for other in used) for loop in loops)
            ):
                names |= changed
    return found


def _declared(function: ast.FunctionDef) -> list[str]:
    return [name for one in nodes_in(function.body) if isinstance(one, ast.Nonlocal) for name in one.names]


def _changed_in_place(function: ast.FunctionDef, around: Names) -> set[str]:
    """The variables of the function around it whose values a function changes in place, and does not return."""
    if is_version(function):
        return set()
    roots = [root.id for one in nodes_in(function.body) for root in changed_by(one)]
    found = set(roots) & around - locals_of(function)
    returned = [one.value for one in nodes_in(function.body) if isinstance(one, ast.Return) and one.value]
    return {one for one in found if not any(_may_be(value, one) for value in returned)}


def _may_be(value: ast.AST, variable: str) -> bool:
    """May an expression be the value of a variable, or have it as a part?"""
    match value:
        case ast.Name(id=own):
            return own == variable
        case ast.Subscript(value=ast.Name(), slice=index):
            return isinstance(index, ast.Slice) or _may_be(index, variable)
        case ast.Call(
            func=ast.Name(id="len" | "sum" | "sorted" | "list" | "tuple" | "set"), args=[ast.Name()]
        ):
            return False
    return any(_may_be(one, variable) for one in children(value))


def _is_only_called(function: ast.FunctionDef, name: str) -> bool:
    called = {id(one.func) for one in walk(function) if isinstance(one, ast.Call)}
    return all(
        id(one) in called for one in walk(function) if isinstance(one, ast.Name) and one.id == name
    ) and not any(_calls(one, name) for other in walk(function) for one in _later(other))


def _later(node: ast.AST) -> Iterator[ast.AST]:
    """Parts that are evaluated several times, or later."""
    if isinstance(node, ast.Lambda):
        yield node.body
    elif isinstance(node, COMPREHENSIONS):
        yield node


def _calls(node: ast.AST, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in walk(node))


def _take(function: ast.FunctionDef, changed: list[str], names: list[str], fails: bool) -> None:
    """Give a function the variables as parameters, and return those that it changes. `fails`: also if it raises an
    exception.
    """
    function.is_passed = True  # type: ignore[attr-defined]  # of functions that take variables
    place = function.args.posonlyargs or function.args.args
    place[:0] = [ast.copy_location(ast.arg(one), function) for one in names]
    body = [one for one in function.body if not isinstance(one, ast.Nonlocal)]
    function.body[:] = body or [ast.copy_location(ast.Pass(), function)]
    for statement in nodes_in(function.body):
        for field in ("body", "orelse"):
            block = getattr(statement, field, None)
            if isinstance(block, list) and not isinstance(statement, ast.FunctionDef):
                block[:] = [one for one in block if not isinstance(one, ast.Nonlocal)] or (
                    [ast.copy_location(ast.Pass(), statement)] if block else []
                )
    if not changed:
        return
    for one in nodes_in(function.body):
        if isinstance(one, ast.Return):
            one.value = _results(one.value, changed, one)
            one.is_handing = True  # type: ignore[attr-defined]  # of results with variables
    last = function.body[-1]
    if falls(function.body):
        function.body.append(ast.copy_location(ast.Return(_results(None, changed, last)), last))
    if fails:
        failed = at(ast.Return(_results(at(Failure(), last), changed, last)), last)
        handler = at(ast.ExceptHandler(None, None, [failed]), last)
        whole = at(ast.Try(function.body[:], [handler], [], []), function)
        whole.guards = function.name, changed
        function.body[:] = [whole]


def _results(value: ast.expr | None, names: list[str], place: ast.AST) -> ast.expr:
    first = value if value is not None else ast.copy_location(ast.Constant(None), place)
    others = [ast.copy_location(ast.Name(one, ast.Load()), place) for one in names]
    return ast.copy_location(ast.Tuple([first, *others], ast.Load()), place)


class _Calls(ast.NodeTransformer):
    """Gives the variables to all calls, also within the functions themselves."""

    def __init__(
        self,
        passed: dict[str, list[str]],
        changed: dict[str, list[str]],
        in_place: set[str],
        failing: set[str],
    ) -> None:
        self.failing = failing
        self.passed = passed
        self.changed = changed
        self.in_place = in_place

    def of_body(self, function: ast.FunctionDef) -> None:
        function.body[:] = [self.visit(one) for one in function.body]

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id not in self.passed:
            return node
        names = self.passed[node.func.id]
        node.args[:0] = [ast.copy_location(ast.Name(one, ast.Load()), node) for one in names]
        changed = self.changed[node.func.id]
        in_place = [one for one in changed if one in self.in_place]
        return (
            ast.copy_location(Passing(node, changed, in_place, node.func.id in self.failing), node)
            if changed
            else node
        )


def has_passing(node: ast.AST) -> bool:
    return any(isinstance(one, Passing) for one in within(node))
