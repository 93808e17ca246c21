"""Changes in place → a new value of the name.

In: statements that change a list, a dict or an array: `x[i] = e`, `x[i][j] += e`, `x[a:b] = e`, `del x[i]`, `xs.append(e)`,
`y = xs.pop()`, `np.add.at(x, i, e)`.  Out: syntax that binds the name to the changed value. checks.py decides that nothing else
can see the change; stdlib/python-changes.vlad has what the changes do, to arrays in place where nothing else has them.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from vlad.data.source import Span
from vlad.reader.parser import Form, Syntax
from vlad.translate.conditions import Conditions
from vlad.translate.expressions import NONE, OTHER, REAL, Emit, Scope
from vlad.translate.names import CHANGING, TAKING, at_function, root_of
from vlad.translate.ordering import sorted_items
from vlad.translate.reads import MISSING
from vlad.translate.syntax import form, is_atom, name, quoted, string

# The methods that change a list, a dict or an array: the procedures, by the number of arguments.
METHODS = {
    "extend": {1: "%py-extended-by"}, "insert": {2: "%py-inserted"}, "clear": {0: "%py-cleared"},
    "reverse": {0: "%py-turned"}, "remove": {1: "%py-removed"}, "sort": {0: "%py-sorted-in-place"}, "fill": {1: "%py-filled"},
    "pop": {0: "%py-popped-last", 1: "%py-popped", 2: "%py-popped-or"},
    "setdefault": {1: "%py-settled", 2: "%py-settled-as"}, "add": {1: "%py-set-added"}, "discard": {1: "%py-discarded"},
    "intersection_update": {1: "%py-intersected"}, "difference_update": {1: "%py-differed"},
    "symmetric_difference_update": {1: "%py-symmetric"},
}  # fmt: skip
AT = {"add": "+", "subtract": "-", "multiply": "*", "maximum": "max", "minimum": "min"}


@dataclass(frozen=True, slots=True)
class Rest:
    """What follows a statement.

    emit       its syntax, in the scope at the statement's end
    is_small   may that be repeated?
    """

    emit: Emit
    is_small: bool = False


class Changes(Conditions):
    """The part of a translation that is about changes in place."""

    # the lists that are collected in reverse, with their names there
    _appending: dict[str, str]

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Syntax:
        found = super()._subscript(node, scope)
        if self.inside.keeps_part(node, self.keeps_nothing_of):
            return form(self.span(node), "%py-no-row", found)
        return found

    def sees_changes(self, node: ast.Subscript) -> bool:
        root = root_of(node)
        return root is None or root.id in self.inside.changed_by_item

    def _name(self, node: ast.Name, scope: Scope) -> Syntax:
        found = super()._name(node, scope)
        if node.id in self.inside.changed_by_item and self.inside.keeps_rows(node, self.keeps_nothing_of):
            return form(self.span(node), "%py-no-rows", found)
        return found

    def _method(self, node: ast.Call, method: ast.Attribute, scope: Scope) -> Syntax:
        if method.attr in CHANGING and root_of(method.value) is not None and not self.with_name(method.attr):
            hint = "a change is a statement of its own: write it before"
            raise self.refuse(f"{ast.unparse(node)} here", node, hint)
        return super()._method(node, method, scope)

    def _renamed(self, root: ast.Name, after: Syntax, scope: Scope, rest: Rest, span: Span) -> Syntax:
        """A changed value, and what follows."""
        own = scope.names.get(root.id, self.own_name(root.id))
        return self.let([(name(own, span), after)], rest.emit(scope.bind(root.id, own)), span)

    # Items.

    def set_item(
        self, target: ast.Subscript, value: Syntax, scope: Scope, rest: Rest, node: ast.stmt
    ) -> Syntax:
        """`x[i] = value`. The value is evaluated before the index."""
        root, path = self._path(target, scope)
        span, kept = self.span(node), value
        if not is_atom(value) and not _is_plain(path):
            kept = name(self.fresh("value"), span)
        after = self._with_part(root, path, kept, scope, node, len(path))
        changed = self._renamed(root, after, scope, rest, span)
        return changed if kept is value else self.let([(kept, value)], changed, span)

    def set_increased(self, node: ast.AugAssign, scope: Scope, rest: Rest) -> Syntax:
        """`x[i] += e`."""
        assert isinstance(node.target, ast.Subscript)
        span = self.span(node)
        root, path = self._path(node.target, scope)
        kept: list[Syntax] = [name(self.fresh("index"), span) for _ in path]
        is_item = len(path) == 1
        if is_item:
            old = self.old_item(root, kept[0], scope, span)
        else:
            old = self._part_at(root, kept, scope, span)
        # Python changes a list, or an array, in a list, which others may have
        if self.has_shared_parts(root, node, len(path) + 1):
            container = self._part_at(root, kept[:-1], scope, span)
            old = form(span, "%py-unchanged-part", container, old)
        elif self.is_given(root, node, len(path) + 1):
            old = form(span, "%py-unchanged-list", old)
        value = self.expression(node.value, scope)
        if is_item and self.kind(node.value) != REAL:
            value = form(span, "%py-mask-operand", self._part_at(root, [], scope, span), kept[0], value)
        new = self.binary(node.op, old, value, (OTHER, self.kind(node.value)), node)
        after = self._with_part(root, kept, new, scope, node, len(path), "%py-with-increased")
        bindings: list[tuple[Syntax, Syntax]] = list(zip(kept, path, strict=True))
        return self.bound(bindings, self._renamed(root, after, scope, rest, span), span)

    def delete(self, target: ast.expr, scope: Scope, rest: Rest, node: ast.stmt) -> Syntax:
        """`del x[i]`."""
        if not isinstance(target, ast.Subscript):
            raise self.refuse("this `del`", node, "items are deleted; a name needs no `del`")
        root, (*path, index) = self._path(target, scope)
        span = self.span(node)
        part = form(span, "%py-without-item", self._part_at(root, path, scope, span), index)
        after = self._with_part(root, path, part, scope, node, len(path) + 1)
        return self._renamed(root, after, scope, rest, span)

    def _path(self, target: ast.expr, scope: Scope, is_part: bool = False) -> tuple[ast.Name, list[Syntax]]:
        """The name whose value is changed, and the indices of the part, the first outermost. `is_part`: is it the part itself
        that changes, and not an item of it?
        """
        found: list[Syntax] = []
        while isinstance(target, ast.Subscript):
            if (found or is_part) and not _is_of_item(target.slice):
                hint = "the part is a new list or array: assign it to a name"
                raise self.refuse(f"a change of {ast.unparse(target)}", target, hint)
            found.insert(0, self._index(target, scope))
            target = target.value
        if not isinstance(target, ast.Name):
            hint = "assign it to a name, and change that"
            raise self.refuse(f"a change of {ast.unparse(target)}", target, hint)
        return target, found

    def _index(self, target: ast.Subscript, scope: Scope) -> Syntax:
        given = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        return form(self.span(target), "list", *[self._index_of_axis(one, scope) for one in given])

    def _index_of_axis(self, node: ast.expr, scope: Scope) -> Syntax:
        span = self.span(node)
        if isinstance(node, ast.Slice):
            bounds = [
                quoted(NONE, span) if one is None else self.expression(one, scope)
                for one in (node.lower, node.upper, node.step)
            ]
            return form(span, "cons*", quoted("%slice", span), *bounds)
        if isinstance(node, ast.Constant) and (node.value is None or node.value is ...):
            raise self.refuse(
                f"{ast.unparse(node)} in the index of a change", node, "write `:` for each other axis"
            )
        return self.index(node, scope)

    def _part_at(self, root: ast.Name, path: list[Syntax], scope: Scope, span: Span) -> Syntax:
        before = self.variable(ast.copy_location(ast.Name(root.id, ast.Load()), root), scope)
        if not path:
            return before
        return form(span, "%py-part-at", before, form(span, "list", *path))

    def _with_part(
        self,
        root: ast.Name,
        path: list[Syntax],
        value: Syntax,
        scope: Scope,
        node: ast.stmt,
        depth: int,
        of_item: str = "%py-with-item",
    ) -> Syntax:
        """A value with a changed part. `depth`: to which the lists in it must be its own."""
        self.expect_unshared(root, node)
        before = self.variable(ast.copy_location(ast.Name(root.id, ast.Load()), root), scope)
        if depth > 1:
            before = self.expect_own_parts(root, node, depth, before)
        if not path:
            return value
        if len(path) == 1:
            return self.with_item(of_item, root, before, path[0], value, self.span(node))
        return form(self.span(node), "%py-with-part", before, form(self.span(node), "list", *path), value)

    def old_item(self, root: ast.Name, indices: Syntax, scope: Scope, span: Span) -> Syntax:
        """The item that `x[i] += e` changes."""
        return form(span, "%py-old-item", self._part_at(root, [], scope, span), indices)

    def with_item(
        self, procedure: str, root: ast.Name, before: Syntax, indices: Syntax, value: Syntax, span: Span
    ) -> Syntax:
        """The value of a name with another item."""
        return form(span, procedure, before, indices, value)

    # Methods.

    def change(self, node: ast.Expr, scope: Scope, rest: Rest) -> Syntax | None:
        """`xs.append(e)` and its kin, as a statement; None if it is none."""
        assert isinstance(node.value, ast.Call)
        of_array = at_function(node.value)
        if of_array is not None:
            return self._change_at(node.value, of_array, scope, rest, node)
        assert isinstance(node.value.func, ast.Attribute)
        root = root_of(node.value.func.value)
        if root is None or self.object_of(root, scope) is not MISSING:
            return None
        if node.value.func.attr in TAKING:
            return self.pop([], node.value, scope, rest, node)
        return self._changed_by_method(node.value, node.value.func, scope, rest, node)

    def _changed_by_method(
        self, call: ast.Call, method: ast.Attribute, scope: Scope, rest: Rest, node: ast.Expr
    ) -> Syntax:
        span = self.span(node)
        root, path = self._path(method.value, scope, is_part=True)
        before = self._part_at(root, path, scope, span)
        if method.attr == "append":
            after = self._appended(call, root, path, before, scope)
        elif method.attr == "update":
            after = self.updated(call, before, scope)
        elif method.attr == "sort" and call.keywords and not call.args:
            items = form(span, "%py-list-only", before, string("sort", span))
            after = sorted_items(self, items, call.keywords, call, scope)
        else:
            given = [self.argument(one, scope) for one in call.args]
            after = form(span, self._procedure(call, method), before, *given)
        return self._renamed(
            root, self._with_part(root, path, after, scope, node, len(path) + 1), scope, rest, span
        )

    def _procedure(self, call: ast.Call, method: ast.Attribute) -> str:
        procedures = METHODS[method.attr]
        if call.keywords or len(call.args) not in procedures:
            counts = " or ".join(map(str, procedures))
            raise self.refuse(
                f"this call of {method.attr}", call, f"it takes {counts} argument{'s' * (counts != '1')}"
            )
        return procedures[len(call.args)]

    def _appended(
        self, call: ast.Call, root: ast.Name, path: list[Syntax], before: Syntax, scope: Scope
    ) -> Syntax:
        if len(call.args) != 1 or call.keywords:
            raise self.refuse("this call of append", call, "it takes one value")
        (item,) = call.args
        if isinstance(item, ast.Lambda):
            self.expect_not_kept(root.id, item, is_stored=True)
        value = self.expression(item, scope)
        if path:
            return form(self.span(call), "%py-appended", before, value)
        return self.added(root, before, value, self.span(call))

    def added(self, root: ast.Name, before: Syntax, value: Syntax, span: Span) -> Syntax:
        """The value of a name with one more item."""
        if root.id in self._appending:
            return form(span, "cons", value, before)
        return form(span, "%py-appended", before, value)

    def popped(
        self, procedure: str, root: ast.Name, before: Syntax, keys: list[Syntax], span: Span
    ) -> Syntax:
        """The pair of an item and the rest of a value."""
        return form(span, procedure, before, *keys)

    def pop(
        self, targets: Sequence[ast.expr], call: ast.Call, scope: Scope, rest: Rest, node: ast.stmt
    ) -> Syntax:
        """`y = xs.pop()`: the pair of the item and the rest is bound to both names."""
        span = self.span(node)
        assert isinstance(call.func, ast.Attribute)
        root, path = self._path(call.func.value, scope, is_part=True)
        procedure = self._procedure(call, call.func)
        keys = [self.index(one, scope) for one in call.args[:1]]
        keys += self.operands(call.args[1:], scope)
        before = self._part_at(root, path, scope, span)
        both = (
            form(span, procedure, before, *keys) if path else self.popped(procedure, root, before, keys, span)
        )
        popped, after = name(self.fresh("popped"), span), name(self.fresh("rest"), span)
        changed = self._with_part(root, path, after, scope, node, len(path) + 1)

        def assigned(scope: Scope) -> Syntax:
            return self.assigned(targets, [popped] * len(targets), scope, rest, node)

        body = self._renamed(root, changed, scope, Rest(assigned), span)
        return self.let([(form(span, "cons", popped, after), both)], body, span)

    @abstractmethod
    def assigned(
        self, targets: Sequence[ast.expr], values: Sequence[Syntax], scope: Scope, rest: Rest, node: ast.stmt
    ) -> Syntax:
        """Names and items that get values, one after the other."""

    def _change_at(self, call: ast.Call, function: str, scope: Scope, rest: Rest, node: ast.Expr) -> Syntax:
        """`np.add.at(x, i, e)`."""
        span = self.span(node)
        if len(call.args) != 3 or call.keywords or function not in AT:
            hint = f"there are {', '.join([f'np.{one}.at' for one in AT])} of an array, indices and values"
            raise self.refuse("this call of `at`", node, hint)
        root, path = self._path(call.args[0], scope)
        if path:
            raise self.refuse("a change of a part here", call.args[0], "assign it to a name, and change that")
        index, value = self.operands(call.args[1:], scope)
        before = self._part_at(root, path, scope, span)
        if function == "add":
            after = form(span, "%py-added-at", before, index, value)
        else:
            after = form(span, "%py-updated-at", AT[function], before, index, value)
        return self._renamed(
            root, self._with_part(root, path, after, scope, node, len(path) + 1), scope, rest, span
        )


def _is_of_item(index: ast.expr) -> bool:
    """May an index be that of one item?"""
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    return not any(isinstance(one, ast.Slice | ast.List | ast.Compare | ast.ListComp) for one in items)


def _is_plain(path: list[Syntax]) -> bool:
    """Do indices have no effect, so that it does not matter when they are evaluated?"""
    return all(isinstance(one, Form) and all(is_atom(item) for item in one.items) for one in path)
