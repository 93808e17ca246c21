"""What a translation refuses since Python would show it through another name, or later.

In: functions that capture variables, and changes in place.  Out: nothing, or an error with both places.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence, Set

from vlad.reader.parser import Syntax
from vlad.translate.calls import Calls
from vlad.translate.derivatives import OPERATORS
from vlad.translate.expressions import NOWHERE, Scope
from vlad.translate.fresh import OF_ITEMS
from vlad.translate.inside import Inside, handed_back
from vlad.translate.known import known, public_name
from vlad.translate.names import Function, bound_in, changed_by, changes_part, free_in, parameters, targets
from vlad.translate.syntax import form
from vlad.translate.trees import COMPREHENSIONS, nodes_in
from vlad.translate.versions import is_version


class Checks(Calls):
    """The part of a translation that raises such errors."""

    inside: Inside  # what is known of the innermost function

    def expect_settled(self, node: Function) -> None:
        """Raise VladError if a function captures a variable that is assigned afterwards, and may be called then: Python's would
        see the later value.
        """
        inside = self.inside
        if isinstance(node, ast.Lambda) and inside.is_stored(node) and not self._is_named(node):
            self.expect_not_kept("", node, is_stored=True)
        kept_as = node.name if isinstance(node, ast.FunctionDef) else self._kept_as(node)
        if kept_as is None:
            return
        is_only_called = (
            bool(kept_as) and inside.is_only_called(kept_as) and not inside.is_called_inside(kept_as, node)
        )
        for captured in sorted((free_in(node) & inside.names) - inside.kept_defaults):
            for place in inside.places.get(captured, ()):
                is_later = self.inside.end(node) <= self.inside.start(place) and not isinstance(
                    place, ast.FunctionDef
                )
                is_used = (
                    is_version(node)
                    or not is_only_called
                    or kept_as in inside.liveness.after[inside.statements[place]]
                )
                if is_later and is_used:
                    hint = f"line {self.span(place).line} assigns it afterwards: give one of the two another name"
                    raise self.refuse(f"a function that captures {captured} here", node, hint)
        around = inside.around.get(node)
        while isinstance(around, ast.expr) and not kept_as:
            if isinstance(around, ast.ListComp | ast.GeneratorExp | ast.DictComp):
                own = {one for generator in around.generators for one in targets(generator.target)} & free_in(
                    node
                )
                if own:
                    hint = (
                        f"in Python it sees the last value of {sorted(own)[0]}: make it by a function of that"
                    )
                    raise self.refuse("a function of a comprehension's variable that is kept", node, hint)
            around = inside.around.get(around)

    def _is_named(self, node: ast.Lambda) -> bool:
        """Is it the value of a name? What happens to that decides."""
        match self.inside.around.get(node):
            case ast.Assign(targets=[*several]):
                return all(isinstance(one, ast.Name) for one in several)
        return False

    def _kept_as(self, node: ast.Lambda) -> str | None:
        """The variable that has a lambda, or what a function makes of it; None if it is called at once, or by what it is given
        to; '' if it is kept elsewhere.
        """
        match self.inside.around.get(node):
            case ast.Assign(targets=[ast.Name(id=own)]):
                return own
            case ast.Call(func=ast.Attribute(attr="append")):
                return ""
            case ast.Call() | ast.keyword() as call:
                statement = self.inside.statements[node]
                match statement:
                    case ast.Assign(targets=[ast.Name(id=own)], value=value) if (
                        value is call and self.inside.is_called(own)
                    ):
                        return own
                return None
            case ast.Return():
                return None
        return ""

    def expect_known_calls(self, node: ast.Lambda) -> None:
        match self.inside.around.get(node):
            case ast.Assign(targets=[ast.Name()]):
                return
            case ast.Call(func=called) if called is node:
                return
        if node.args.vararg or node.args.kwarg:
            hint = "write its parameters, or give it a name"
            raise self.refuse("a lambda of any number of arguments as a value", node, hint)

    def expect_unshared(self, changed: ast.Name, node: ast.stmt) -> None:
        """Raise VladError if something else may see the value of a name that is changed in place."""
        if changed.id not in self.inside.names:
            raise self.refuse(
                f"a change of {changed.id}, which belongs outside", node, "return the new value"
            )
        for had in sorted(self.inside.exchanged_with(changed.id)):
            self.expect_no_default(had, node)
            sharing = self.inside.sharing(had, self.keeps_nothing_of)
            for one in sharing:
                if not self.is_before(one, node, had):
                    continue
                what = f"a change of {changed.id}, whose value line {self.span(one).line} shares"
                raise self.refuse(what, node, "give it a value of its own by .copy()")

    def expect_no_default(self, changed: str, node: ast.stmt) -> None:
        """Raise VladError if the default of a parameter is changed, which Python keeps for the next call."""
        if changed in self.inside.defaults and not self.is_made_before(node, changed):
            hint = f"make the value inside: {changed}=None, and `if {changed} is None:`"
            raise self.refuse(f"a change of {changed}, whose default all calls share", node, hint)

    def is_made_before(self, node: ast.AST, changed: str) -> bool:
        """Has a name surely a value of its own at a node?"""
        return self._is_made_between(-1, self.inside.start(node), changed, 1)

    def expect_own_parts(self, root: ast.Name, node: ast.stmt, depth: int, before: Syntax) -> Syntax:
        """Raise VladError if something else may see a part of a value that is changed at a depth. What is a parameter must be an
        array, as nothing is known of its lists: the value, after that test.
        """
        for one in self.inside.sharing_of_parts(root.id, depth, self.keeps_nothing_of):
            if self.is_before(one, node, root.id, depth):
                what = f"a change of a part of {root.id}, whose parts line {self.span(one).line} shares"
                raise self.refuse(
                    what, node, "give each part a value of its own, as [list(part) for part in …] does"
                )
        if self.is_given(root, node, depth):
            return form(self.span(node), "%py-array-only", before)
        return before

    def has_shared_parts(self, root: ast.Name, node: ast.stmt, depth: int) -> bool:
        """May something else have a list in a value, down to a depth?"""
        shared = self.inside.sharing_of_parts(root.id, depth, self.keeps_nothing_of)
        return any(self.is_before(one, node, root.id, depth) for one in shared)

    def is_given(self, root: ast.Name, node: ast.stmt, depth: int) -> bool:
        """Is a value that of a parameter, and no statement has given the name a value of its own?"""
        return root.id in parameters(self.inside.node) and not self._is_made_between(
            -1, self.inside.start(node), root.id, depth
        )

    def keeps_nothing_of(
        self, call: ast.Call, argument: ast.expr | None = None, is_consumed: bool = False
    ) -> bool:
        """Does a call return nothing of its arguments, or of one of them, but their items at most? `is_consumed`: its result is
        kept by nothing.
        """
        if isinstance(call.func, ast.Call):  # of a derivative, which makes a structure of its own
            operator = self.object_of(call.func.func, NOWHERE)
            return public_name(operator) in OPERATORS
        function = self.object_of(call.func, NOWHERE)
        if function in (min, max, sum):  # which may return an argument, and a sum of nothing its start
            return len(call.args) == 1 and all(one.arg == "key" for one in call.keywords)
        found = known(function)
        return function in OF_ITEMS or (found is not None and found.keeps_nothing)

    def is_before(self, one: ast.AST, change: ast.AST, changed: str, depth: int = 1) -> bool:
        """May a node run before a change, on the value that is changed? In one loop it may, wherever they stand, unless each turn
        makes a new value between them. Otherwise a new value may be made between them, too.
        """
        if self.inside.is_last(one):
            return False
        if self._is_made_between(self.inside.start(one), self.inside.start(change), changed, depth):
            return False
        start, place = self.inside.start(one), self.inside.start(change)
        common = [
            loop for loop in self.inside.loops.get(one, ()) if loop in self.inside.loops.get(change, ())
        ]
        if self._is_renewed_after(one, place, changed, depth, common):
            return False
        if not common:
            return start < place
        renewed = self._renewed(common[-1], changed, depth)
        if start < place and not any(start < own < place for own in renewed):
            return True
        return not any(own < place or self._surely_follows(own, start, common[-1]) for own in renewed)

    def _is_made_between(self, first: int, last: int, changed: str, depth: int) -> bool:
        """Does a statement, in no loop and under no condition, give a name a value of its own, to a depth?"""
        return any(
            first < self.inside.end(statement) <= last
            for statement in self.inside.body
            if self._is_renewal(statement, changed, depth)
        )

    def _is_renewal(self, statement: ast.stmt, changed: str, depth: int) -> bool:
        """Does a statement give a name a value of its own, to a depth?"""
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=bound)], value=value)
                | ast.AnnAssign(target=ast.Name(id=bound), value=ast.expr() as value)
            ):
                return bound == changed and self.inside.fresh.makes_parts(value, depth)
        return False

    def _renewed(self, loop: ast.For | ast.While, changed: str, depth: int) -> list[int]:
        """The places where each turn of a loop gives a name a value of its own."""
        found = [one for one in loop.body if self._is_renewal(one, changed, depth)]
        return [self.inside.start(one) for one in found]

    def _is_renewed_after(
        self,
        one: ast.AST,
        place: int,
        changed: str,
        depth: int,
        common: Sequence[ast.For | ast.While],
    ) -> bool:
        """Does what comes to a node surely give a name a value of its own before it comes to a place? `common`: the loops around
        both.
        """
        inside = self.inside
        if any(hasattr(loop, "attempted_as") for loop in inside.loops.get(one, ())):
            return False  # an exception may leave it
        node: ast.AST | None = one
        while node is not None and not isinstance(node, ast.FunctionDef | ast.Lambda):
            if common and inside.start(common[-1]) >= inside.start(node):
                return False  # the next turn of that loop may come first
            around = inside.around.get(node)
            for later in _following(node, around, inside.body):
                if self._is_renewal(later, changed, depth):
                    end = inside.start(later)
                    return not inside.start(one) < place < end and not self._leaves(one, end, node)
            node = around
        return False

    def _leaves(self, one: ast.AST, end: int, around: ast.AST) -> bool:
        """May a loop around a statement be left, or its turn, between a node in it and a place?"""
        inside = self.inside
        for node in inside.nodes:
            if (
                not isinstance(node, ast.Break | ast.Continue)
                or not inside.start(one) < inside.start(node) < end
            ):
                continue
            if inside.start(inside.loops[node][-1]) < inside.start(around):
                return True
        return False

    def _surely_follows(self, place: int, first: int, loop: ast.For | ast.While) -> bool:
        """Does a turn of a loop that comes to the place `first` surely come to the later one of a statement of its body?"""
        leaving = [one for one in nodes_in(loop.body) if isinstance(one, ast.Break | ast.Continue)]
        return first < place and not any(first < self.inside.start(one) < place for one in leaving)

    def expect_not_kept(self, bound: str, node: Function, is_stored: bool = False) -> None:
        """Raise VladError if a function of a loop's variables outlives the turn in which it is made: in Python it would see the
        values of the last turn.
        """
        own = self.inside
        is_stored = is_stored or own.is_stored_by_name(bound)
        for loop in own.loops.get(node, ()):
            changing = (set(bound_in([loop])) & free_in(node)) - {bound, *own.kept_defaults}
            if changing and (
                is_stored or bound in own.liveness.head[loop] or bound in own.liveness.after[loop]
            ):
                hint = f"in Python it sees the last value of {sorted(changing)[0]}: make it by a function of that"
                raise self.refuse("a function of a loop's variables that is kept", node, hint)

    def _call(self, node: ast.Call, scope: Scope) -> Syntax:
        found = super()._call(node, scope)
        return form(self.span(node), "%py-no-function", found) if self._may_keep(node, scope) else found

    def _may_keep(self, call: ast.Call, scope: Scope) -> bool:
        """May the result of a call have a function of a loop's variables that the call is given, and outlive the turn?"""
        if self.object_of(call.func, NOWHERE) in (sorted, min, max, filter):  # whose results are items
            return False
        for argument in [*call.args, *[one.value for one in call.keywords]]:
            function: Function | None = None
            if isinstance(argument, ast.Lambda):
                function = argument
            elif isinstance(argument, ast.Name):
                function = (scope.known or {}).get(argument.id)
            if function is not None and self._is_kept_after(argument, free_in(function)):
                return True
        return False

    def _is_kept_after(self, argument: ast.expr, captured: Set[str]) -> bool:
        """May the result of the call of an argument be read after the turn whose variables the argument captures?"""
        own = self.inside
        call = own.around.get(argument)
        if isinstance(call, ast.keyword):
            call = own.around.get(call)
        match own.around.get(call) if call is not None else None:
            case ast.Call(func=called) if called is call:
                return False
            case ast.Expr() | ast.Return():
                return False
            case ast.Assign(targets=[ast.Name(id=bound)]) if not own.is_stored_by_name(bound):
                kept = [
                    bound in own.liveness.head[loop] or bound in own.liveness.after[loop]
                    for loop in own.loops.get(argument, ())
                ]
                return any(kept) and self._is_of_turn_variables(argument, captured)
        return self._is_of_turn_variables(argument, captured)

    def _is_of_turn_variables(self, node: ast.expr, captured: Set[str]) -> bool:
        """Do loops or comprehensions around a node change one of these variables?"""
        changed = set(bound_in(self.inside.loops.get(node, ())))
        around = self.inside.around.get(node)
        while isinstance(around, ast.expr | ast.keyword | ast.comprehension):
            if isinstance(around, COMPREHENSIONS):
                changed.update(*[targets(generator.target) for generator in around.generators])
            around = self.inside.around.get(around)
        return bool(changed & captured)

    def is_gone_through(self, variable: str, node: ast.stmt) -> bool:
        """Does a loop around a statement go through the value of a variable?"""
        around = self.inside.loops.get(node, ())
        return any(
            isinstance(loop, ast.For) and variable in self.inside.fresh.gone_through(loop.iter)
            for loop in around
        )

    def expect_steady(self, node: ast.For) -> bool:
        """Raise VladError if a loop changes the list that it goes through: Python's would go through the changed one. A loop may
        change the value of the key that a turn is about; if it does that to what must then be a dict, this is true.
        """
        has_keys = False
        listed_ = (
            set()
            if self.inside.fresh.makes(node.iter) and not isinstance(node.iter, ast.List)
            else self.inside.fresh.gone_through(node.iter)
        )
        copied = self.inside.fresh.copied_from(node.iter) - listed_
        for one in nodes_in(node.body):
            for own in handed_back(one):
                if own in listed_ | copied:
                    hint = "collect what is to be changed, and call it after the loop"
                    raise self.refuse(f"a change of {own} in the loop over it", one, hint)
            for changed in changed_by(one):
                if changed.id in copied and changes_part(one):
                    hint = "a copy has the same parts: go through indices"
                    raise self.refuse(
                        f"a change of a part of {changed.id} in the loop over it", changed, hint
                    )
                if changed.id in listed_:
                    if _is_of_turn(one, node):
                        has_keys = True
                        continue
                    hint = f"go through a copy: list({changed.id})"
                    raise self.refuse(f"a change of {changed.id} in the loop over it", changed, hint)
        return has_keys and isinstance(node.iter, ast.Name)


def _is_of_turn(change: ast.AST, loop: ast.For) -> bool:
    """Is it `d[k] = …` in `for k in d` or `for k, v in d.items()`, where the body gives k no other value?"""
    key = loop.target
    match loop.iter:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=own), attr="items")):
            key = key.elts[0] if isinstance(key, ast.Tuple) and key.elts else ast.Constant(None)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=own), attr="keys")) | ast.Name(id=own):
            pass
        case _:
            return False
    match change:
        case ast.Subscript(value=ast.Name(id=changed), slice=ast.Name(id=index), ctx=ast.Store()):
            is_key = isinstance(key, ast.Name) and key.id == index and changed == own
            return is_key and index not in bound_in(loop.body)
    return False


def _following(node: ast.AST, around: ast.AST | None, body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """The statements behind one in its block."""
    blocks = [body] if around is None else [getattr(around, field, []) for field in ("body", "orelse")]
    for block in blocks:
        if isinstance(block, list):
            for place, one in enumerate(block):
                if one is node:
                    return block[place + 1 :]
    return ()
