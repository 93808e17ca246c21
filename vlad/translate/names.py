"""The names in a Python function: which it reads and binds, and which are live where.

In: the tree of a function.  Out: sets of names, by statement. A loop becomes a procedure whose parameters are the names that it
binds and that are live at its head; so liveness decides what a loop, and its derivative, carries.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from vlad.translate.nodes import Handed
from vlad.translate.trees import COMPREHENSIONS, LEAVES, SCOPES, SHALLOW, children, nodes_in, walk, within

Function = ast.FunctionDef | ast.Lambda
Names = frozenset[str]
NOTHING: Names = frozenset()
_CHANGES = (ast.Subscript, ast.Expr, ast.Assign)  # what may change a value in place
BINDING = (ast.Name, ast.FunctionDef, *_CHANGES)  # what may bind a name, of itself


def parameters(node: Function) -> list[str]:
    """The names of the parameters, in their order."""
    return [argument.arg for argument in arguments_of(node)]


def arguments_of(node: Function) -> list[ast.arg]:
    """The parameters, in their order."""
    own = node.args
    rest, named = [[] if one is None else [one] for one in (own.vararg, own.kwarg)]
    return [*own.posonlyargs, *own.args, *rest, *own.kwonlyargs, *named]


def body_of(node: Function) -> list[ast.stmt]:
    """The statements of a function; a lambda returns its expression."""
    if isinstance(node, ast.Lambda):
        return [ast.copy_location(ast.Return(node.body), node.body)]
    return node.body


def bound_by(node: ast.AST) -> list[str]:
    """The names that one node gives a value, of itself: a method that changes a list gives the list's name another one."""
    if isinstance(node, _CHANGES):
        return [one.id for one in changed_by(node)]
    return named_by(node)


def named_by(node: ast.AST) -> list[str]:
    """The names that one node binds in Python, of itself."""
    if isinstance(node, ast.Name):
        return [node.id] if isinstance(node.ctx, ast.Store) else []
    return [node.name] if isinstance(node, ast.FunctionDef) else []


def locals_of(node: Function) -> Names:
    """The local variables of a function."""
    return locals_among(node, nodes_in(body_of(node)))


def locals_among(node: Function, nodes: Sequence[ast.AST]) -> Names:
    """The local variables of a function with these nodes."""
    named = [one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    return frozenset(
        [*parameters(node), *named, *[one.name for one in nodes if isinstance(one, ast.FunctionDef)]]
    )


def target_of_items(path: Sequence[ast.AST], target: ast.expr) -> ast.expr:
    """What gets the items of a value: of the target of a loop over `zip(…, enumerate(value), …)`. `path`: the value, and the
    calls around it.
    """
    for argument, call in zip(path[-2::-1], path[:0:-1], strict=True):
        if isinstance(target, ast.Tuple) and isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            places = {"zip": [id(one) for one in call.args].index(id(argument)), "enumerate": 1}
            target = target.elts[places[call.func.id]] if call.func.id in places else target
    return target


CHANGING = frozenset(
    (
        "append",
        "update",
        "extend",
        "insert",
        "pop",
        "sort",
        "reverse",
        "clear",
        "remove",
        "fill",
        "setdefault",
        "add",
        "discard",
        "intersection_update",
        "difference_update",
        "symmetric_difference_update",
    )
)
TAKING = ("pop", "setdefault")  # those with a result


def root_of(node: ast.AST) -> ast.Name | None:
    """The name at the beginning of `x[i][j]`; None if something else is there."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def is_pop(node: ast.expr) -> bool:
    """Is it `xs.pop(…)`, or `d.setdefault(…)`?"""
    match node:
        case ast.Call(func=ast.Attribute(attr=method, value=value)):
            return method in TAKING and root_of(value) is not None
    return False


def at_function(call: ast.Call) -> str | None:
    """The function whose `at` is called: `add`, of `np.add.at(x, i, e)`."""
    match call:
        case ast.Call(
            func=ast.Attribute(attr="at", value=ast.Attribute(value=ast.Name(), attr=function)), args=[_, *_]
        ):
            return function
    return None


def changed_by(node: ast.AST) -> Sequence[ast.Name]:
    """The names whose values, or parts of them, a node changes in place: `x[i] = e`, `x[i][j] += e`, `del x[i]`, `xs.append(e)`,
    `y = xs.pop()`, `np.add.at(x, i, e)`, `change(xs, ys)`.
    """
    if not isinstance(node, _CHANGES):
        return ()
    if isinstance(node.value, Handed):
        return node.value.changed
    changed = _changed_by(node)
    return () if changed is None else (changed,)


def _changed_by(node: ast.AST) -> ast.Name | None:
    match node:
        case ast.Subscript(ctx=ast.Store() | ast.Del()):
            return root_of(node)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method, value=value)) as call):
            if at_function(call) is not None:
                return root_of(call.args[0])
            return root_of(value) if method in CHANGING else None
        case ast.Assign(value=ast.Call(func=ast.Attribute(attr=method, value=value))):
            return root_of(value) if method in TAKING else None
    return None


def changes_part(node: ast.AST) -> bool:
    """Does a node that changes a value change a list in it, rather than its items: `x[i].append(e)`, `x[i][j] = e`?"""
    match node:
        case ast.Subscript(value=ast.Subscript()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Subscript()))):
            return True
        case ast.Assign(value=ast.Call(func=ast.Attribute(attr=method, value=ast.Subscript()))):
            return method in TAKING
    return False


def appended_by(node: ast.AST) -> ast.Name | None:
    """The name to whose value a statement appends."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append", value=ast.Name() as changed))):
            return changed
    return None


def bound_in(statements: Sequence[ast.AST]) -> list[str]:
    """The names that statements bind, in the order of the text."""
    found: dict[str, None] = {}
    for statement in statements:
        found.update(_bound_of(statement))
    return list(found)


def _bound_of(node: ast.AST) -> dict[str, None]:
    own = _bound.get(node)
    if own is None:
        own = {}
        work = [node]
        while work:
            one = work.pop()
            if isinstance(one, ast.stmt) and one is not node:
                own.update(_bound_of(one))
                continue
            if isinstance(one, BINDING):
                own.update(dict.fromkeys(bound_by(one)))
            if type(one) not in SHALLOW:
                work += reversed(children(one))
        _bound[node] = own
    return own


def forget_all() -> None:
    """A translation has ended."""
    _bound.clear()
    _read.clear()


def forget(tree: ast.AST) -> None:
    """A tree changes."""
    for one in walk(tree):
        _bound.pop(one, None)
        _read.pop(one, None)


# What was found of trees, which do not change, until `forget_all`. Weak keys would cost a tenth of all translating
_bound: dict[ast.AST, dict[str, None]] = {}
_read: dict[ast.AST, Names] = {}


def targets(target: ast.AST) -> list[str]:
    """The names that the target of a `for` or a comprehension binds."""
    return [node.id for node in walk(target) if isinstance(node, ast.Name)]


def read_in(node: ast.AST) -> Names:
    """The names that a tree reads from outside: without those that its functions and comprehensions bind themselves."""
    found = _read.get(node)
    if found is None:
        found = _read[node] = _read_inside(node)
    return found


def _read_inside(node: ast.AST) -> Names:
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        return free_in(node) | _read_in([*node.args.defaults, *filter(None, node.args.kw_defaults)])
    if isinstance(node, COMPREHENSIONS):
        return _read_by_comprehension(node)
    found: set[str] = set()
    work = [node]
    for one in work:  # grows during the loop
        if isinstance(one, ast.Name):
            if not isinstance(one.ctx, ast.Store):
                found.add(one.id)
        elif one is not node and isinstance(one, SCOPES):
            found |= read_in(one)
        elif type(one) not in LEAVES:
            if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
                found.add(one.target.id)
            work += children(one)
    return frozenset(found)


def free_in(node: Function) -> Names:
    """The names that a function reads, and does not bind."""
    return _read_in(body_of(node)) - locals_of(node)


def _read_in(nodes: Sequence[ast.AST]) -> Names:
    return NOTHING.union(*[read_in(node) for node in nodes])


def _read_by_comprehension(node: ast.AST) -> Names:
    generators: list[ast.comprehension] = getattr(node, "generators", [])
    own: set[str] = set()
    found: Names = NOTHING
    for generator in generators:
        found |= read_in(generator.iter) - own
        own.update(targets(generator.target))
        found |= _read_in(generator.ifs) - own
    parts = [getattr(node, field, None) for field in ("elt", "key", "value")]
    return found | (_read_in([part for part in parts if part is not None]) - own)


class Liveness:
    """The live names of a function's statements.

    after   for each statement: the names that may be read after it
    head    for each loop: those that may be read when a turn begins or the loop ends
    """

    def __init__(self, statements: Sequence[ast.stmt]) -> None:
        self.after: dict[ast.stmt, Names] = {}
        self.head: dict[ast.stmt, Names] = {}
        self._loops: list[tuple[Names, Names]] = []  # live at the next turn, and after the loop
        self.block(statements, NOTHING)

    def block(self, statements: Sequence[ast.stmt], after: Names) -> Names:
        """The names that are live before statements."""
        for statement in reversed(statements):
            self.after[statement] = after
            after = self._before(statement, after)
        return after

    def _before(self, statement: ast.stmt, after: Names) -> Names:
        match statement:
            case ast.Return() | ast.Raise():
                return read_in(statement)
            case ast.Break():
                return self._loops[-1][1] if self._loops else after
            case ast.Continue():
                return self._loops[-1][0] if self._loops else after
            case ast.If():
                arms = self.block(statement.body, after), self.block(statement.orelse, after)
                return _before_test(statement.test, *arms)
            case ast.While():
                return self._loop(statement, read_in(statement.test), NOTHING, after)
            case ast.For():
                own = frozenset(targets(statement.target))
                return self._loop(statement, NOTHING, own, after) | read_in(statement.iter)
        return (after - frozenset(bound_in([statement]))) | read_in(statement)

    def _loop(self, loop: ast.While | ast.For, test: Names, own: Names, after: Names) -> Names:
        head = self.block(loop.orelse, after) | test
        while True:
            self._loops.append((head, after))
            more = head | (self.block(loop.body, head) - own)
            self._loops.pop()
            if more == head:
                self.head[loop] = head
                return head
            head = more


def _before_test(test: ast.expr, after_true: Names, after_false: Names) -> Names:
    """The names that are live before a condition, which may assign."""
    match test:
        case ast.BoolOp(op=operator, values=[first, *others]):
            if others:
                rest = ast.BoolOp(operator, others)
                inner = _before_test(rest, after_true, after_false)
                is_and = isinstance(operator, ast.And)
                return _before_test(first, inner if is_and else after_true, after_false if is_and else inner)
            return _before_test(first, after_true, after_false)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _before_test(operand, after_false, after_true)
        case ast.NamedExpr(target=target, value=value):
            return ((after_true | after_false) - {target.id}) | read_in(value)
    assigned = {one.target.id for one in within(test) if isinstance(one, ast.NamedExpr)}
    return ((after_true | after_false) - assigned) | read_in(test)


def captured_in(test: ast.expr) -> list[str]:
    """The names that a condition assigns."""
    return list(dict.fromkeys([one.target.id for one in within(test) if isinstance(one, ast.NamedExpr)]))


def jumps(statements: Sequence[ast.stmt], inside: bool = False) -> bool:
    """Do statements end the function or a loop around them? `inside`: a loop of their own is around them."""
    for statement in statements:
        match statement:
            case ast.Return():
                return True
            case ast.Break() | ast.Continue():
                if not inside:
                    return True
            case ast.If():
                if jumps(statement.body, inside) or jumps(statement.orelse, inside):
                    return True
            case ast.While() | ast.For():
                if jumps(statement.body, True) or jumps(statement.orelse, inside):
                    return True
    return False


def falls(statements: Sequence[ast.stmt]) -> bool:
    """May control reach the end of statements?"""
    for statement in statements:
        match statement:
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                return False
            case ast.If():
                if not (falls(statement.body) or falls(statement.orelse)):
                    return False
            case ast.While(test=ast.Constant(value=True)):
                if not _breaks(statement.body):
                    return False
    return True


def _breaks(statements: Sequence[ast.stmt]) -> bool:
    for statement in statements:
        match statement:
            case ast.Break():
                return True
            case ast.If():
                if _breaks(statement.body) or _breaks(statement.orelse):
                    return True
            case ast.While() | ast.For():
                if _breaks(statement.orelse):
                    return True
    return False


def leaves_often(node: ast.For | ast.While) -> bool:
    """Is there more than one way from a loop to what follows it?"""
    return any(isinstance(one, ast.Break) for one in nodes_in(node.body))


def reads_otherwise(nodes: Sequence[ast.AST], shared: str) -> bool:
    """Do nodes read a name, other than to append to it?"""
    for node in nodes:
        changed = appended_by(node)
        if changed is not None and changed.id == shared:
            assert isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
            if any(shared in read_in(one) for one in node.value.args):
                return True
        elif isinstance(node, ast.Name):
            if node.id == shared:
                return True
        elif isinstance(node, ast.FunctionDef | ast.Lambda):
            if shared in free_in(node):
                return True
        elif reads_otherwise(children(node), shared):
            return True
    return False


def bound_at_end(statements: Sequence[ast.stmt]) -> tuple[frozenset[str], frozenset[str]]:
    """The names that statements surely bind where control reaches their end, and all that they bind."""
    certain: frozenset[str] = frozenset()
    for statement in statements:
        match statement:
            case ast.If():
                arms = [bound_at_end(arm)[0] for arm in (statement.body, statement.orelse) if falls(arm)]
                if arms:
                    certain |= frozenset.intersection(*arms)
            case ast.For() | ast.While():
                continue
            case _:
                certain |= frozenset(bound_in([statement]))
    return certain, frozenset(bound_in(statements))
