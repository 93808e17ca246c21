"""What is known of one Python function: where it binds names, in which loops, and what may share a value.

In: the tree of a function.  Out: `Inside`. A list or an array that is changed in place belongs to one name only; what is not
known to leave it so shares it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence

from vlad.translate.exchanges import exchanged, permuted
from vlad.translate.fresh import GOING_THROUGH, VIEWS, Fresh, has_slice
from vlad.translate.names import (
    BINDING,
    CHANGING,
    Function,
    Liveness,
    at_function,
    body_of,
    bound_by,
    changed_by,
    free_in,
    locals_among,
    parameters,
    read_in,
    root_of,
    target_of_items,
    targets,
)
from vlad.translate.nodes import Handed, KeptDefault
from vlad.translate.trees import COMPREHENSIONS, LEAVES, SCOPES, children, nodes_in, walk

Keeps = Callable[..., bool]  # of a call, and of one of its arguments: does it keep nothing of them?


class Inside:
    """What is known of the function whose statements are translated.

    fresh      which expressions make values
    defaults   the parameters whose defaults may change, as those of all calls are one value
    liveness   its live names
    places     for each name: the nodes that bind it
    functions  the functions of names that are bound once
    loops      for each node in a loop: that loop and those around it
    statements  for each node: the innermost statement that it is in
    around     for each node: the one around it
    changed_by_item  the names with an item that is assigned
    kept_defaults  the names of defaults of nested functions
    """

    def __init__(self, node: Function, fresh: Fresh, defaults: Collection[str] = ()) -> None:
        body = body_of(node)
        self.fresh = fresh
        self.defaults = defaults
        self.node = node
        self.body = body
        self.nodes: list[ast.AST] = []  # without those of nested scopes; they do not change meanwhile
        self.loops: dict[ast.AST, tuple[ast.For | ast.While, ...]] = {}
        self.statements: dict[ast.AST, ast.stmt] = {}
        self.around: dict[ast.AST, ast.AST] = {}
        self._starts: dict[ast.AST, int] = {}
        self._ends: dict[ast.AST, int] = {}
        for statement in body:
            self._note(statement, (), statement, self.nodes)
        self._exchanged: list[set[str]] | None = None
        self.names = locals_among(node, self.nodes)
        self.kept_defaults = {one.id for one in self.nodes if isinstance(one, KeptDefault)}
        self.liveness = Liveness(body)
        self.places: dict[str, list[ast.AST]] = {}
        for one in self.nodes:
            for bound in bound_by(one) if isinstance(one, BINDING) else ():
                self.places.setdefault(bound, []).append(one)
        self.functions = self._functions_bound()
        self.changed_by_item = {
            root.id
            for one in self.nodes
            if isinstance(one, ast.AugAssign | ast.Subscript)
            and _changes_item(one)
            and (root := root_of(one.target if isinstance(one, ast.AugAssign) else one))
        }
        self.changed_by_item.update(*[handed_back(one) for one in self.nodes if isinstance(one, ast.Assign)])
        self._nodes: dict[str, list[tuple[int, ast.AST]]] | None = None
        self._nested: list[tuple[int, ast.AST]] = []
        self._sharing: dict[
            str, list[ast.AST]
        ] = {}  # what `sharing` has found, as it goes through the whole function

    def _functions_bound(self) -> dict[str, Function]:
        found: dict[str, Function] = {}
        for bound, (place, *others) in self.places.items():
            statement = self.statements[place]
            value = statement.value if isinstance(statement, ast.Assign) else place
            if not others and isinstance(value, ast.FunctionDef | ast.Lambda):
                found[bound] = value
        for one in parameters(self.node):
            found.pop(one, None)
        return found

    def forget(self) -> None:
        """What calls keep of their arguments is known better now."""
        self._sharing.clear()

    def is_only_called(self, function: str) -> bool:
        """Is a function used in no other way than by calls?"""
        return all(
            isinstance(around := self.around[node], ast.Call) and around.func is node
            for statement in self.body
            for node in walk(statement)
            if isinstance(node, ast.Name) and node.id == function and isinstance(node.ctx, ast.Load)
        )

    def is_called_inside(self, function: str, node: Function) -> bool:
        """Does another function inside call one? `node`: the tree of that one."""
        return any(
            isinstance(one, ast.FunctionDef | ast.Lambda) and one is not node and function in free_in(one)
            for statement in self.body
            for one in walk(statement)
        )

    def is_stored(self, node: ast.AST) -> bool:
        """May a value become part of a structure, or that of a name, as it is?"""
        around = self.around.get(node)
        while isinstance(around, ast.Tuple | ast.List | ast.Dict | ast.IfExp | ast.BoolOp | ast.Starred):
            node, around = around, self.around.get(around)
        match around:
            case ast.Call(func=ast.Attribute(attr=method)):
                return around.func is not node and method in CHANGING
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr() | ast.AugAssign():
                return True
            case ast.ListComp() | ast.DictComp() | ast.comprehension() | ast.For() | ast.BinOp():
                return True
        return False

    def is_stored_by_name(self, function: str) -> bool:
        """The same of the value of a name."""
        return any(
            isinstance(node, ast.Name)
            and node.id == function
            and isinstance(node.ctx, ast.Load)
            and self.is_stored(node)
            for statement in self.body
            for node in walk(statement)
        )

    def is_called(self, variable: str) -> bool:
        """Is the value of a variable called?"""
        return any(
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == variable
            for statement in self.body
            for node in walk(statement)
        )

    def is_last(self, node: ast.AST) -> bool:
        """Is a node in a `return`, after which the function does nothing?"""
        around: ast.AST | None = self.statements.get(node)
        if not isinstance(around, ast.Return):
            return False
        while around is not None and not isinstance(around, ast.FunctionDef):
            around = self.around.get(around)
        return around is None

    def sharing(self, shared: str, keeps_nothing: Keeps) -> list[ast.AST]:
        """The nodes at which the value of a name may become that of something else, or is that of something else."""
        known = self._sharing.get(shared)
        if known is not None:
            return known
        found = self._sharing[shared] = []
        for node in self._concerning(shared):
            if isinstance(node, ast.Name):
                is_bound = isinstance(node.ctx, ast.Store)
                is_old = not is_bound and self._renews(self.statements[node], shared)
                if is_old:  # the value before, which is not changed afterwards
                    continue
                if not (self._is_fresh(node) if is_bound else self._is_read_only(node, keeps_nothing)):
                    found.append(node)
            elif shared in read_in(node):
                is_over = isinstance(node, COMPREHENSIONS) or self._is_key(node, keeps_nothing)
                is_read_only = is_over and _is_read_only_within(node, shared, keeps_nothing)
                if not is_read_only:
                    found.append(node)
        return found

    def _concerning(self, name: str) -> list[ast.AST]:
        """The nodes of a name, and the functions and comprehensions inside, in the order of the text."""
        if self._nodes is None:
            self._nodes, self._nested = {}, []
            for place, node in enumerate(self.nodes):
                if isinstance(node, ast.Name):
                    self._nodes.setdefault(node.id, []).append((place, node))
                elif isinstance(node, _NESTED):
                    self._nested.append((place, node))
        named = self._nodes.get(name, [])
        found = sorted([*named, *self._nested], key=_place) if self._nested else named
        return [node for _, node in found]

    def _renews(self, statement: ast.stmt, shared: str) -> bool:
        """Does an assignment give a name a value of its own?"""
        match statement:
            case ast.Assign(targets=[ast.Name() as target]):
                return target.id == shared and self._is_fresh(target)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple()):
                own = [one for one in targets if isinstance(one, ast.Name) and one.id == shared]
                return len(own) == 1 and self._is_fresh(own[0]) and exchanged(statement) is None
        return False

    def _is_key(self, node: ast.AST, keeps_nothing: Keeps) -> bool:
        """Is a function the key of `sorted`, `min` or `max`, which keep neither it nor what it returns?"""
        keyword = self.around.get(node)
        if not isinstance(node, ast.Lambda) or not isinstance(keyword, ast.keyword) or keyword.arg != "key":
            return False
        call = self.around.get(keyword)
        return isinstance(call, ast.Call) and keeps_nothing(call)

    def _is_exchange(self, node: ast.Tuple) -> bool:
        """Is it a side of `a, b = b, a`?"""
        return exchanged(self.around.get(node)) is not None

    def exchanged_with(self, changed: str) -> set[str]:
        """The names that may have had the value of a name, by `a, b = b, a`: itself, and others."""
        found = {changed}
        if self._exchanged is None:
            self._exchanged = [group for one in self.nodes if (group := exchanged(one)) is not None]
        for _ in self._exchanged:
            for group in self._exchanged:
                if found & group:
                    found |= group
        return found

    def keeps_part(self, node: ast.Subscript, keeps_nothing: Keeps) -> bool:
        """Is a part of a name kept that is changed in place? Of an array it would be a view."""
        root = root_of(node)
        if root is None or not isinstance(node.ctx, ast.Load):
            return False
        changes = root.id in self.changed_by_item
        match self.statements.get(node):
            case ast.Assign(targets=[ast.Name(id=bound)]) | ast.AnnAssign(target=ast.Name(id=bound)):
                changes = changes or (bound in self.changed_by_item and has_slice(node.slice))
        return changes and self._is_kept(node, keeps_nothing)

    def keeps_rows(self, node: ast.Name, keeps_nothing: Keeps) -> bool:
        """Is a name that is changed in place gone through, and its items are kept? Of an array they would be views."""
        if node.id not in self.changed_by_item or not isinstance(node.ctx, ast.Load):
            return False
        match self.around.get(node):
            case ast.For(iter=value, target=target) | ast.comprehension(iter=value, target=target):
                return value is node and self._keeps_any(targets(target), self.around[node], keeps_nothing)
            case ast.Starred():
                return True
            case ast.Call() as call if self.fresh.is_call(call, *GOING_THROUGH):
                around = self.around.get(call)
                if isinstance(around, ast.For) and self._is_changed_in(node, around):
                    return True
                if isinstance(around, ast.For | ast.comprehension):
                    return self._keeps_any(targets(around.target), around, keeps_nothing)
                return not isinstance(around, ast.Call) or not keeps_nothing(around)
        return False

    def _keeps_any(self, names: Sequence[str], loop: ast.AST, keeps_nothing: Keeps) -> bool:
        """Is one of the variables of a loop kept?"""
        around = self.around[loop] if isinstance(loop, ast.comprehension) else loop
        if isinstance(loop, ast.For) and set(names) & self.liveness.after[loop]:
            return True
        return any(
            isinstance(one, ast.Name)
            and one.id in names
            and isinstance(one.ctx, ast.Load)
            and self._is_kept(one, keeps_nothing)
            for one in walk(around)
        )

    def _is_kept(self, node: ast.expr, keeps_nothing: Keeps) -> bool:
        """May something have a part of a value after the expression around it?"""
        match self.around.get(node):
            case ast.Assign(targets=[ast.Subscript() as target]):  # into an array it is copied
                own, other = root_of(target), root_of(node)
                return own is None or other is None or (own.id != other.id and not _is_of_array(target))
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr():
                return True
            case ast.IfExp(test=test):
                return test is not node
            case ast.BoolOp() as chosen:
                return not self._is_test(chosen)
            case (
                ast.Tuple()
                | ast.List()
                | ast.Dict()
                | ast.keyword()
                | ast.Starred()
                | ast.ListComp()
                | ast.DictComp()
            ):
                return True
            case ast.GeneratorExp() as generator:
                around = self.around.get(generator)
                return not (isinstance(around, ast.Call) and keeps_nothing(around))
            case ast.Attribute(attr=method):
                return method not in CHANGING | _READING
            case ast.For(iter=value) as loop if value is node:
                return self._is_changed_in(node, loop)
            case ast.Call() as call if call.func is not node:
                top: ast.AST = call
                while isinstance(around := self.around.get(top), ast.Call) and around.func is not top:
                    top = around
                if isinstance(around, ast.For) and around.iter is top:
                    return self._is_changed_in(node, around)
                if keeps_nothing(call):
                    return False
                return not self.fresh.gives_view(call) or self._is_kept(call, keeps_nothing)
        return False

    def _is_changed_in(self, node: ast.expr, loop: ast.For) -> bool:
        root = root_of(node)
        return root is not None and any(
            root.id in handed_back(one) or any(changed.id == root.id for changed in changed_by(one))
            for one in nodes_in(loop.body)
        )

    def sharing_of_parts(self, shared: str, depth: int, keeps_nothing: Keeps) -> list[ast.AST]:
        """The same as `sharing`, of the lists in a list of which parts at a depth are changed: `x[i][j] = e` has the depth 2."""
        found: list[ast.AST] = []
        for statement in self.body:
            for node in walk(statement):
                if not isinstance(node, ast.Name) or node.id != shared:
                    continue
                if not self._leaves_parts(node, depth, keeps_nothing):
                    found.append(node)
        return found

    def _leaves_parts(self, node: ast.Name, depth: int, keeps_nothing: Keeps) -> bool:
        if isinstance(node.ctx, ast.Store):
            match self.around[node]:
                case (
                    ast.Assign(targets=[one], value=value)
                    | ast.AnnAssign(target=one, value=ast.expr() as value)
                ):
                    return one is node and self.fresh.makes_parts(value, depth)
                case ast.Tuple(elts=names) as target:
                    match self.around[target]:
                        case ast.Assign(targets=[_], value=ast.Tuple(elts=values)) if len(values) == len(
                            names
                        ):
                            value = values[[id(one) for one in names].index(id(node))]
                            return self.fresh.makes_parts(value, depth)
            return False
        count, top = 0, node
        while (item := self._item_around(top, depth - count - 1)) is not None:
            count, top = count + 1, item  # type: ignore[assignment]  # an expression, as before
        if self._is_in_function(node, keeps_nothing):
            return False
        side = self.around[top]
        if isinstance(side, ast.Tuple) and permuted(self.around.get(side)):
            return True
        if isinstance(top, ast.Subscript) and not isinstance(top.ctx, ast.Load):
            match self.around[top]:
                case ast.Assign(targets=[one], value=value) if one is top:
                    return count >= depth or self.fresh.makes_parts(value, depth - count)
                case ast.AugAssign(value=value):
                    return count + 1 >= depth or self.fresh.makes_parts(value, depth - count)
            return count >= depth
        match self.around[top]:
            case ast.Attribute(attr=method) as attribute:
                call = self.around[attribute]
                if method == "setdefault" and not isinstance(self.around.get(call), ast.Expr):
                    return False
                if method not in ("append", "insert", "extend", "setdefault"):
                    consumes = (
                        "pop",
                        "clear",
                        "index",
                        "count",
                        "shape",
                        "size",
                        "sum",
                        "sort",
                        "reverse",
                        "remove",
                        "add",
                        "discard",
                        "intersection_update",
                        "difference_update",
                        "symmetric_difference_update",
                    )
                    return method in consumes or (method == "copy" and count >= depth - 1)
                deeper = depth - count - (method != "extend")
                return isinstance(call, ast.Call) and (
                    deeper < 1
                    or all(
                        self.fresh.makes_parts(one, deeper)
                        for one in call.args[method in ("insert", "setdefault") :]
                    )
                )
            case ast.Compare() | ast.UnaryOp() | ast.FormattedValue() | ast.Return() | ast.Expr():
                return True
            case ast.For() | ast.comprehension():
                return count >= depth - 1 or (
                    count == depth - 2 and self._leaves_turns(top, self.around[top], keeps_nothing)
                )
            case ast.Call(func=ast.Name(id="zip" | "enumerate" | "reversed")) as call if (
                count == depth - 2 and self._leaves_turns(top, call, keeps_nothing)
            ):
                return True
            case ast.BinOp():
                return count >= depth - 1
            case ast.Call() as call:
                return count >= depth or (
                    call.func is not top and self._reads_items(call, count, depth, keeps_nothing)
                )
        return count >= depth

    def _item_around(self, node: ast.AST, depth: int) -> ast.expr | None:
        """`x[i]` around x, or `x.get(k, e)`, whose e has no part down to a depth that something else has."""
        match around := self.around[node]:
            case ast.Subscript(value=value) if value is node:
                return around
            case ast.Attribute(attr="get", value=value) if value is node:
                match call := self.around[around]:
                    case ast.Call(func=function, args=[_, default]) if function is around:
                        is_own = (
                            isinstance(default, ast.Constant)
                            or depth < 1
                            or self.fresh.makes_parts(default, depth)
                        )
                        return call if is_own else None
        return None

    def _leaves_turns(self, top: ast.AST, around: ast.AST, keeps_nothing: Keeps) -> bool:
        """Do the turns of a loop keep none of the items that it goes through?"""
        path = [top]
        while isinstance(around, ast.Call):
            path.append(around)
            around = self.around[around]
        if not isinstance(around, ast.For | ast.comprehension) or around.iter is not path[-1]:
            return False
        return not self._keeps_any(targets(target_of_items(path, around.target)), around, keeps_nothing)

    def _reads_items(self, call: ast.Call, count: int, depth: int, keeps_nothing: Keeps) -> bool:
        return keeps_nothing(call) and (count >= depth - 1 or self.fresh.is_call(call, len))

    def _is_in_function(self, node: ast.AST, keeps_nothing: Keeps) -> bool:
        around = self.around.get(node)
        while around is not None:
            if isinstance(around, ast.FunctionDef | ast.Lambda) and not self._is_key(around, keeps_nothing):
                return True
            around = self.around.get(around)
        return False

    def _is_fresh(self, node: ast.Name) -> bool:
        """Does a statement give a name a value that nothing else has?"""
        match self.around[node]:
            case ast.AugAssign():  # it has the value that it had, or a new one
                return True
            case (
                ast.Assign(targets=[one], value=value) | ast.AnnAssign(target=one, value=ast.expr() as value)
            ) if one is node:
                return self.fresh.makes(value) or self._is_given_back(value, node.id)
            case ast.NamedExpr(target=one, value=value) if one is node:
                return self.fresh.makes(value)
            case ast.Tuple(elts=elements) as target:
                if self._is_exchange(target) or node.id in handed_back(self.around[target]):
                    return True
                match self.around[target]:
                    case ast.Assign(targets=[_], value=ast.Tuple(elts=values)) if len(values) == len(
                        elements
                    ):
                        return self.fresh.makes(values[[id(one) for one in elements].index(id(node))])
        return False

    def _is_given_back(self, value: ast.AST, own: str) -> bool:
        """Is a value the result of a call which is that of a name, or a new one?"""
        return isinstance(value, ast.Call) and self.fresh.returns_own(value, own)

    def _is_read_only(self, node: ast.Name, keeps_nothing: Keeps) -> bool:
        """Is a name read in a way that keeps nothing of its value?"""
        around = self.around[node]
        match around:
            case ast.Subscript():  # of an array, a view: `keeps_part` is tested when it runs; or an index
                return True
            case (
                ast.Compare()
                | ast.UnaryOp()
                | ast.FormattedValue()
                | ast.Return()
                | ast.BinOp()
                | ast.AugAssign()
                | ast.Slice()
            ):
                return True
            case ast.For(iter=value) | ast.comprehension(iter=value):
                return value is node
            case ast.Dict(keys=keys, values=values):  # `{**d}` has its items
                return any(key is None and value is node for key, value in zip(keys, values, strict=True))
            case ast.Starred() | ast.Set():  # what is in a set does not change
                return True
            case ast.keyword():
                handed = self.around.get(self.around[around])
                return around.arg is None or (isinstance(handed, Handed) and node not in handed.kept)
            case ast.Call(func=function):
                handed = self.around.get(around)
                if isinstance(handed, Handed):
                    return function is not node and node not in handed.kept
                is_back = handed is not None and node.id in handed_back(handed)
                is_consumed = isinstance(
                    handed, ast.BinOp | ast.UnaryOp | ast.Compare | ast.AugAssign | ast.Return
                )
                if (
                    function is node
                    or is_back
                    or at_function(around) is not None
                    or keeps_nothing(around, node, is_consumed)
                ):
                    return function is not node
                match self.around.get(around):
                    case ast.Assign(targets=[ast.Name(id=bound)]):
                        return bound == node.id and self._is_given_back(around, bound)
                return False
            case ast.Attribute(attr=name_) if name_ in VIEWS:
                call = self.around[around]  # a view that is kept would see later changes
                user = self.around.get(call)
                if isinstance(user, ast.Call):
                    return keeps_nothing(user)
                return isinstance(user, ast.For | ast.comprehension | ast.Compare)
            case ast.Attribute(attr=name_):
                return name_ in CHANGING or name_ in _READING
            case ast.If() | ast.While() | ast.Assert() | ast.Expr():
                return True
            case ast.BoolOp():
                return self._is_test(around)
            case ast.IfExp(test=test):
                return test is node
            case ast.Tuple() if self._is_exchange(around):
                return True
            case ast.Tuple() | ast.List():
                return isinstance(self.around.get(around), ast.Return)
        return False

    def _is_test(self, node: ast.expr) -> bool:
        """Does only the truth of an expression matter?"""
        match self.around.get(node):
            case ast.If() | ast.While() | ast.Assert() | ast.UnaryOp(op=ast.Not()):
                return True
            case ast.IfExp(test=test):
                return test is node
            case ast.BoolOp() as around:
                return self._is_test(around)
        return False

    def start(self, node: ast.AST) -> int:
        """Its place in the order of evaluation, as the text has it; what stands for a part of it has the part's."""
        return self._starts[node]

    def end(self, node: ast.AST) -> int:
        return self._ends[node]

    def _note(
        self,
        node: ast.AST,
        around: tuple[ast.For | ast.While, ...],
        statement: ast.stmt,
        nodes: list[ast.AST],
    ) -> None:
        """Note where a node and those below it stand. `nodes` gets those of its scope."""
        nodes.append(node)
        if isinstance(node, SCOPES):
            nodes = []
        starts = self._starts
        starts[node] = len(starts)
        self.loops[node], self.statements[node] = around, statement
        within = (*around, node) if isinstance(node, ast.For | ast.While) else around
        for child in children(node):
            self.around[child] = node
            if type(child) in LEAVES and not isinstance(child, ast.stmt):  # most nodes
                nodes.append(child)
                self.loops[child], self.statements[child] = within, statement
                starts[child] = len(starts)
                self._ends[child] = len(starts)
            else:
                self._note(child, within, child if isinstance(child, ast.stmt) else statement, nodes)
        self._ends[node] = len(starts)


def _place(placed: tuple[int, ast.AST]) -> int:
    return placed[0]


def handed_back(node: ast.AST) -> Sequence[str]:
    """The names whose values a function inside changes in place: they are given to it, and come back (nonlocals.py)."""
    found: Sequence[str] = getattr(node, "hands_back", ())
    return found


def _changes_item(node: ast.AST) -> bool:
    """Does a node change an item of a name's value, or all items, as `x += 1` does of an array?"""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Name)
    return isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)


# Methods and attributes whose results have nothing of the value.
_READING = frozenset(
    """get copy sum mean max min shape size ndim index count argmax argmin any all std var prod tolist item dot round astype
    cumsum cumprod trace flatten argsort ptp dtype union intersection difference symmetric_difference issubset issuperset
    isdisjoint""".split()  # noqa: SIM905
)
_NESTED = (ast.FunctionDef, ast.Lambda, *COMPREHENSIONS)


def _is_read_only_within(node: ast.AST, shared: str, keeps_nothing: Keeps) -> bool:
    """Does a comprehension keep nothing of a value? It goes through it, or reads its items."""
    gone = [one.iter for one in walk(node) if isinstance(one, ast.comprehension)]
    views = [one.func for one in gone if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)]
    for around in walk(node):
        for one in children(around):
            if isinstance(one, ast.Name) and one.id == shared:
                reads = isinstance(
                    around, ast.Subscript | ast.Slice | ast.comprehension | ast.BinOp | ast.Compare
                )
                if isinstance(around, ast.Attribute):
                    reads = around.attr == "get" or (around.attr in VIEWS and around in views)
                if not reads and not (
                    isinstance(around, ast.Call) and around.func is not one and keeps_nothing(around)
                ):
                    return False
    return True


def _is_of_array(node: ast.Subscript) -> bool:
    """Is it surely a part of an array? Lists have one index, and keys of dicts no slices."""
    return isinstance(node.slice, ast.Tuple) and any(isinstance(one, ast.Slice) for one in node.slice.elts)
