"""Lists that a loop indexes, changes or extends → arrays, and lists in reverse, for as long as the loop runs.

In: loops and comprehensions.  Out: their syntax, with a name for the items of each such list. An item of a list takes time in
proportion to its position, and a changed list is a copy of its beginning; an entry of an array takes constant time, and is
changed in place. Only numbers are packed: stdlib/python-packing.vlad decides that when the program runs, and reads and changes
other lists as before. A list that grows, and whose items are read meanwhile, is held in reverse, with its length: its last items
take constant time.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vlad.data.source import Span
from vlad.reader.parser import Syntax
from vlad.translate.changes import Changes, Rest
from vlad.translate.expressions import NOWHERE, Scope
from vlad.translate.names import bound_in, changed_by, targets
from vlad.translate.syntax import form, literal, name
from vlad.translate.trees import COMPREHENSIONS, walk

_FUNCTIONS = (ast.FunctionDef, ast.Lambda)


@dataclass(frozen=True, slots=True)
class Packed:
    """A list in a loop.

    own         the name of its items there
    before      the name of the list before the loop
    given       what procedures need besides: that name, or for a list that grows a name for whether it is a list at all
    is_changed  does the loop change items, or their number?
    is_growing  is it held in reverse?
    """

    own: str
    before: str
    given: str
    is_changed: bool
    is_growing: bool = False

    @property
    def prefix(self) -> str:
        """Of the procedures for its items."""
        return "%py-growing" if self.is_growing else "%py-indexed"


@dataclass(slots=True)
class _Uses:
    """What a loop does with a list."""

    is_indexed: bool = False  # by what is no constant
    is_item_read: bool = False
    is_read: bool = False  # as a whole
    is_measured: bool = False
    is_changed: bool = False  # an item of it
    is_grown: bool = False  # or popped
    is_popped: bool = False
    is_other: bool = False

    def are_of_growth(self) -> bool:
        """Does it grow, and is read meanwhile? (What only grows is collected: statements.py.)"""
        is_seen = self.is_item_read or self.is_read or self.is_measured or self.is_popped
        return self.is_grown and is_seen and not self.is_changed and not self.is_other


class Packing(Changes):
    """The part of a translation that is about lists in loops."""

    _packing: dict[str, Packed]

    def own_name(self, python: str) -> str:
        packed = self._packing.get(python)
        return packed.own if packed is not None else super().own_name(python)

    # Loops.

    def listed(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> Syntax:
        return self._within(self._packable([node], (), scope), super().listed, node, scope)

    def folded(
        self,
        node: ast.GeneratorExp,
        scope: Scope,
        base: str,
        start: Syntax,
        step: Callable[[Syntax, Syntax], Syntax],
        decides: Callable[[Syntax], Syntax] | None = None,
    ) -> Syntax:
        def emit(node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> Syntax:
            assert isinstance(node, ast.GeneratorExp)
            return super(Packing, self).folded(node, scope, base, start, step, decides)

        return self._within(self._packable([node], (), scope), emit, node, scope)

    def _within(
        self,
        found: dict[str, Packed],
        emit: Callable[[ast.ListComp | ast.GeneratorExp, Scope], Syntax],
        node: ast.ListComp | ast.GeneratorExp,
        scope: Scope,
    ) -> Syntax:
        before, inner = self._packing, self._bound_to_items(found, scope)
        self._packing = {**before, **found}
        value = emit(node, inner)
        self._packing = before
        return self.bound(self._packed(found, self.span(node)), value, self.span(node))

    def packed_loop(
        self,
        node: ast.For | ast.While,
        scope: Scope,
        rest: Rest,
        emit: Callable[[Scope, Rest], Syntax],
    ) -> Syntax:
        """A loop that `emit` translates, and what follows it."""
        parts = [*node.body, *([node.test] if isinstance(node, ast.While) else [])]
        changed = bound_in([node])
        found = self._packable(parts, changed, scope, node.orelse)
        if not found:
            return emit(scope, rest)
        before, span = self._packing, self.span(node)

        def after(scope: Scope) -> Syntax:
            """The lists that the loop has changed have their names again, with the items that they have now."""
            inside, self._packing = self._packing, before
            bindings: list[tuple[Syntax, Syntax]] = []
            for one, packed in found.items():
                if packed.is_changed and one in scope.names:
                    items, own = name(scope.names[one], span), self.own_name(one)
                    whole = form(span, f"{packed.prefix}-list", items, name(packed.given, span))
                    bindings.append((name(own, span), whole))
                    scope = scope.bind(one, own)
                else:
                    scope = scope.bind(one, packed.before)
            following = self.bound(bindings, rest.emit(scope), span)
            self._packing = inside
            return following

        is_small = rest.is_small and not any(packed.is_changed for packed in found.values())
        self._packing = {**before, **found}
        loop = emit(self._bound_to_items(found, scope), Rest(after, is_small))
        self._packing = before
        return self.bound(self._packed(found, span), loop, span)

    def _packed(self, found: dict[str, Packed], span: Span) -> list[tuple[Syntax, Syntax]]:
        bindings: list[tuple[Syntax, Syntax]] = []
        for packed in found.values():
            own, before = name(packed.own, span), name(packed.before, span)
            if packed.is_growing:
                is_list = name(packed.given, span)
                bindings.append((is_list, form(span, "%py-list?", before)))
                bindings.append((own, form(span, "%py-growing", before, is_list)))
            else:
                bindings.append((own, form(span, "%py-indexed", before)))
        return bindings

    def _bound_to_items(self, found: dict[str, Packed], scope: Scope) -> Scope:
        for one, packed in found.items():
            scope = scope.bind(one, packed.own)
        return scope

    # Which lists.

    def _packable(
        self,
        parts: Sequence[ast.AST],
        changed: Sequence[str],
        scope: Scope,
        others: Sequence[ast.AST] = (),
    ) -> dict[str, Packed]:
        """The names that loops index by what is no constant, and use in no way that needs a changed list as a whole."""
        uses: dict[str, _Uses] = {}
        for part in parts:
            for place in walk(part):
                if isinstance(place, ast.Name) and self._may_be_packed(place.id, scope):
                    self._add_use(uses.setdefault(place.id, _Uses()), place, parts)
        elsewhere = {one.id for part in others for one in walk(part) if isinstance(one, ast.Name)}
        found = {}
        for one, use in uses.items():
            is_changed, before = one in changed, scope.names[one]
            is_other = (
                use.is_other or use.is_grown or is_changed != use.is_changed or (is_changed and use.is_read)
            )
            if one in elsewhere:
                continue
            if use.is_indexed and not is_other:
                found[one] = Packed(self.fresh(one), before, before, is_changed)
            elif is_changed and use.are_of_growth():
                found[one] = Packed(self.fresh(one), before, self.fresh("is-list"), True, True)
        return found

    def _may_be_packed(self, one: str, scope: Scope) -> bool:
        is_bound = one in scope.names and one not in scope.maybe
        return is_bound and one not in self._packing and one not in self._appending

    def _add_use(self, uses: _Uses, place: ast.Name, parts: Sequence[ast.AST]) -> None:
        if self._is_captured(place, parts):
            uses.is_other = True
            return
        around = self.inside.around.get(place)
        if isinstance(around, ast.Subscript) and around.value is place and _is_of_item(around.slice):
            top = around
            while isinstance(outer := self.inside.around.get(top), ast.Subscript) and outer.value is top:
                top = outer
            of_part = top is not around and not isinstance(top.ctx, ast.Load)
            if of_part or isinstance(around.ctx, ast.Del) or isinstance(outer, ast.Attribute):
                uses.is_other = True
            elif isinstance(around.ctx, ast.Store):
                is_assigned = isinstance(self.inside.statements[place], ast.Assign | ast.AugAssign)
                uses.is_changed, uses.is_other = True, uses.is_other or not is_assigned
            uses.is_item_read = True
            uses.is_indexed = uses.is_indexed or not _is_constant(around.slice)
        elif isinstance(around, ast.Attribute):
            uses.is_grown = True
            uses.is_popped = uses.is_popped or around.attr == "pop"
            uses.is_other = uses.is_other or not self._grows(around)
        elif not isinstance(place.ctx, ast.Load):
            uses.is_other = True
        elif isinstance(around, ast.Call) and self._is_length(around, NOWHERE):
            uses.is_measured = True
        elif place in changed_by(self.inside.statements[place]):  # a call hands the list back as a whole
            uses.is_other = True
        else:
            uses.is_read = True

    def _grows(self, method: ast.Attribute) -> bool:
        """Is it `xs.append(e)`, or `y = xs.pop()`, as a statement?"""
        call = self.inside.around.get(method)
        if not isinstance(call, ast.Call) or call.func is not method:
            return False
        statement = self.inside.around.get(call)
        if method.attr == "append":
            return isinstance(statement, ast.Expr)
        is_last = method.attr == "pop" and not call.args and not call.keywords
        return is_last and isinstance(statement, ast.Expr | ast.Assign)

    def _is_captured(self, place: ast.Name, parts: Sequence[ast.AST]) -> bool:
        """Is a name read in a function inside, or another name of a comprehension?"""
        around: ast.AST | None = place
        while around is not None and around not in parts:
            around = self.inside.around.get(around)
            if isinstance(around, _FUNCTIONS):
                return True
            if isinstance(around, COMPREHENSIONS) and any(
                place.id in targets(one.target) for one in around.generators
            ):
                return True
        return False

    def _is_length(self, call: ast.Call, scope: Scope) -> bool:
        is_one = len(call.args) == 1 and not call.keywords and isinstance(call.args[0], ast.Name)
        return is_one and self.object_of(call.func, scope) is len

    # Their items.

    def _packed_root(self, node: ast.expr) -> Packed | None:
        return self._packing.get(node.id) if isinstance(node, ast.Name) else None

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Syntax:
        packed = self._packed_root(node.value)
        if packed is None or not _is_of_item(node.slice):
            return super()._subscript(node, scope)
        span, given = self.span(node), name(packed.given, self.span(node))
        items = self.variable(node.value, scope)  # type: ignore[arg-type]  # a name, as it is packed
        found = form(span, f"{packed.prefix}-ref", items, given, self.expression(node.slice, scope))
        return (
            form(span, "%py-no-row", found) if self.inside.keeps_part(node, self.keeps_nothing_of) else found
        )

    def _name(self, node: ast.Name, scope: Scope) -> Syntax:
        packed = self._packing.get(node.id)
        if packed is None:
            return super()._name(node, scope)
        span = self.span(node)
        if not packed.is_changed:
            return name(packed.before, span)
        return form(span, f"{packed.prefix}-list", self.variable(node, scope), name(packed.given, span))

    def test(self, node: ast.expr, scope: Scope) -> Syntax:
        packed = self._packed_root(node)
        if packed is None or not packed.is_growing:
            return super().test(node, scope)
        return form(self.span(node), "<", literal(0.0, self.span(node)), self._length_of(node, packed, scope))

    def _call(self, node: ast.Call, scope: Scope) -> Syntax:
        if not self._packing or not self._is_length(node, scope):
            return super()._call(node, scope)
        packed = self._packed_root(node.args[0])
        return super()._call(node, scope) if packed is None else self._length_of(node.args[0], packed, scope)

    def _length_of(self, node: ast.expr, packed: Packed, scope: Scope) -> Syntax:
        span = self.span(node)
        items = self.variable(node, scope)  # type: ignore[arg-type]  # a name, as it is packed
        return form(span, f"{packed.prefix}-length", items, name(packed.given, span))

    def old_item(self, root: ast.Name, indices: Syntax, scope: Scope, span: Span) -> Syntax:
        packed = self._packing.get(root.id)
        if packed is None:
            return super().old_item(root, indices, scope, span)
        items = self._part_at(root, [], scope, span)
        return form(span, "%py-indexed-old", items, name(packed.given, span), indices)

    def with_item(
        self, procedure: str, root: ast.Name, before: Syntax, indices: Syntax, value: Syntax, span: Span
    ) -> Syntax:
        packed = self._packing.get(root.id)
        if packed is None:
            return super().with_item(procedure, root, before, indices, value, span)
        otherwise = name(procedure, span)
        return form(span, "%py-indexed-with", otherwise, before, name(packed.given, span), indices, value)

    def added(self, root: ast.Name, before: Syntax, value: Syntax, span: Span) -> Syntax:
        packed = self._packing.get(root.id)
        if packed is None:
            return super().added(root, before, value, span)
        return form(span, "%py-growing-added", before, name(packed.given, span), value)

    def popped(
        self, procedure: str, root: ast.Name, before: Syntax, keys: list[Syntax], span: Span
    ) -> Syntax:
        packed = self._packing.get(root.id)
        if packed is None:
            return super().popped(procedure, root, before, keys, span)
        return form(span, "%py-growing-popped", before, name(packed.given, span))


def _is_of_item(index: ast.expr) -> bool:
    """May an index be that of an item of a list?"""
    if isinstance(index, ast.Constant):
        return isinstance(index.value, int | float)
    return not isinstance(index, ast.Slice | ast.Tuple | ast.Starred | ast.List | ast.JoinedStr | ast.Compare)


def _is_constant(index: ast.expr) -> bool:
    return isinstance(index, ast.Constant) or (
        isinstance(index, ast.UnaryOp) and isinstance(index.operand, ast.Constant)
    )
