"""Core → core: cells whose every use is in sight become variables, as in the program that passes its store along.

In: a lambda, and the rows of cells.  Out: the same lambda without those of its cells that no procedure captures, none returns and
no structure holds, and that only this lambda and its local procedures read and change: those that are called, and never used as
values. The content of such a cell is a variable of a body, a parameter of a local procedure that reads the cell, and a part of
the result of one that changes it for its caller. Called by evaluate/machine.py for code that is evaluated, differentiated or
compiled, all of which then meet ordinary variables; not for the control entry (ad/control.py), as a continuation that runs twice
shares its cells with itself. Other cells stay as they are (primitives/references.py).

A local procedure returns the contents that are needed after a call of it. A call in tail position stays one: what it returns,
its caller returns. Where that is impossible, the cell stays a cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from vlad.core.local_calls import Known, localized
from vlad.core.names import make_letrec, operands, rebuilt, with_body
from vlad.core.nodes import (
    Apply,
    Atom,
    Binding,
    Body,
    Call,
    Constant,
    If,
    Lambda,
    Letrec,
    Result,
    Rhs,
    Variable,
)
from vlad.data.source import Span
from vlad.data.values import TRUE, UNSPECIFIED, Primitive

READ, CHANGED, TESTED = "deref", "set-ref!", "ref?"
Contents = dict[Variable, Atom]
Group = Binding | Letrec
Out = list[Group]


def promote(lambda_: Lambda, table: Mapping[str, Primitive], known: Known = lambda cell: None) -> Lambda:
    """The lambda without the cells that can be variables; itself if there are none. `known`: of a global procedure
    that local_calls.py may copy, its lambda.
    """
    cells = _made(lambda_.body, table["ref"])
    if not cells:
        return lambda_
    local = localized(lambda_, cells, known)
    promoted = _without(local, cells, table)
    return lambda_ if promoted is local else promoted


def _without(lambda_: Lambda, cells: list[Variable], table: Mapping[str, Primitive]) -> Lambda:
    while cells:
        uses = _Uses(lambda_, cells, table)
        if not uses.refused:
            return with_body(lambda_, _Promoter(uses, table).body(lambda_.body, {}, ()))
        cells = [cell for cell in cells if cell not in uses.refused]
    return lambda_


def _made(body: Body, row: Primitive) -> list[Variable]:
    """The cells that a body makes itself."""
    found = []
    work = [body]
    while work:
        current = work.pop()
        for binding in current.bindings:
            if isinstance(binding, Binding):
                if isinstance(binding.rhs, Apply) and binding.rhs.primitive is row:
                    found.append(binding.variable)
                elif isinstance(binding.rhs, If):
                    work += [binding.rhs.consequent, binding.rhs.alternative]
        if isinstance(current.result, If):
            work += [current.result.consequent, current.result.alternative]
    return found


def _members(group: Group) -> tuple[tuple[Variable, Lambda], ...]:
    """The procedures that are bound here."""
    if isinstance(group, Letrec):
        return group.members
    return ((group.variable, group.rhs),) if isinstance(group.rhs, Lambda) else ()


class _Local:
    """A local procedure, or (`variable` is None) the whole lambda.

    scope      the cells that exist where it is made
    reads      those that it takes, and `changes` those that it changes, itself or by its calls
    returns    those whose contents it returns
    calls      the local procedures that it calls, and `tails` those in tail position
    leaves     does it call other procedures in tail position?
    """

    __slots__ = ("calls", "changes", "lambda_", "leaves", "reads", "returns", "scope", "tails")

    def __init__(self, lambda_: Lambda, scope: frozenset[Variable]) -> None:
        self.lambda_ = lambda_
        self.scope = scope
        self.reads: set[Variable] = set()
        self.changes: set[Variable] = set()
        self.returns: set[Variable] = set()
        self.calls: set[Variable] = set()
        self.tails: set[Variable] = set()
        self.leaves = False


class _Uses:
    """What a lambda and its local procedures do with its cells. `refused`: cells that stay cells."""

    def __init__(self, lambda_: Lambda, cells: list[Variable], table: Mapping[str, Primitive]) -> None:
        self.order = cells
        self.cells = frozenset(cells)
        self.rows = {table[name]: name for name in (READ, CHANGED, TESTED)}
        self.making = table["ref"]
        self.values: set[Variable] = set()  # used in another way
        self.closed: set[Group] = set()  # those with a member that is used as a value
        self.locals: dict[Variable, _Local] = {}
        self.whole = _Local(lambda_, frozenset())
        while self._survey(lambda_):
            pass
        self.refused = set(self.cells & self.values)
        if not self.refused:
            self.refused = self._needed()

    def accessed(self, rhs: Rhs | Result) -> tuple[Variable, bool] | None:
        """The cell that is read or changed here, and whether it is changed."""
        if isinstance(rhs, Apply) and rhs.primitive in self.rows:
            cell = rhs.operands[0]
            if type(cell) is Variable and cell in self.cells:
                return cell, self.rows[rhs.primitive] == CHANGED
        return None

    # What is used as a value.

    def _survey(self, lambda_: Lambda) -> bool:
        """Visit everything; whether a group has turned out to be used as values."""
        self.values, self.locals, self.whole = set(), {}, _Local(lambda_, frozenset())
        groups: list[Group] = []
        self._body(lambda_.body, self.whole, set(), groups)
        found = [
            group
            for group in groups
            if group not in self.closed and any(v in self.values for v, _ in _members(group))
        ]
        self.closed.update(found)
        return bool(found)

    def _body(self, body: Body, within: _Local, scope: set[Variable], groups: list[Group]) -> None:
        scope = set(scope)
        for binding in body.bindings:
            if _members(binding):
                self._group(binding, scope, groups)
                continue
            assert isinstance(binding, Binding)
            rhs = binding.rhs
            if isinstance(rhs, Apply) and rhs.primitive is self.making and binding.variable in self.cells:
                scope.add(binding.variable)
            self._rhs(rhs, within, scope, groups)
        self._rhs(body.result, within, scope, groups)

    def _group(self, group: Group, scope: set[Variable], groups: list[Group]) -> None:
        groups.append(group)
        members = _members(group)
        if group in self.closed:
            self.values.update(captured for _, member in members for captured in member.free)
            self.values.update(variable for variable, _ in members)
            return
        for variable, member in members:
            self.locals[variable] = _Local(member, frozenset(scope))
        for variable, member in members:
            self._body(member.body, self.locals[variable], scope, groups)

    def _rhs(self, rhs: Rhs | Result, within: _Local, scope: set[Variable], groups: list[Group]) -> None:
        used = operands(rhs)
        accessed = self.accessed(rhs)
        if accessed is not None:
            cell, is_change = accessed
            (within.changes if is_change else within.reads).add(cell)
            used = used[1:]
        elif isinstance(rhs, Call) and rhs.operator in self.locals:
            local = self.locals[rhs.operator]
            if len(rhs.operands) == len(local.lambda_.parameters):
                within.calls.add(rhs.operator)
                used = rhs.operands
        self.values.update(atom for atom in used if type(atom) is Variable)
        if isinstance(rhs, If):
            self._body(rhs.consequent, within, scope, groups)
            self._body(rhs.alternative, within, scope, groups)

    # What is taken, changed and returned.

    def takes(self, local: _Local) -> list[Variable]:
        """The cells whose contents are parameters of a local procedure, in a fixed order."""
        wanted = local.reads | local.changes | local.returns
        return [cell for cell in self.order if cell in wanted]

    def returned(self, local: _Local) -> tuple[Variable, ...]:
        return tuple([cell for cell in self.order if cell in local.returns])

    def _needed(self) -> set[Variable]:
        """Find what is taken, changed and returned; the cells for which that is impossible."""
        everything = [*self.locals.values(), self.whole]
        before = -1
        while (
            now := sum([len(one.reads) + len(one.changes) + len(one.returns) for one in everything])
        ) != before:
            before = now
            for one in everything:
                for callee in map(self.locals.__getitem__, one.calls):
                    one.reads |= callee.reads | callee.returns
                    one.changes |= callee.changes
                self.before(one.lambda_.body, set(one.returns), one)
        refused: set[Variable] = set()
        for local in self.locals.values():
            refused |= set(self.takes(local)) - local.scope
        for called in self.whole.tails:
            if self._leaves(called):
                refused |= self.locals[called].returns
        return refused

    def _leaves(self, procedure: Variable) -> bool:
        """Does a tail call lead out of the local procedures? Then one of the whole lambda has to stay one, too: it could come
        back for ever. Otherwise what follows it waits for local loops only.
        """
        reached = [procedure]
        for one in reached:  # grows during the loop
            reached += self.locals[one].tails - set(reached)
        return any(self.locals[one].leaves for one in reached)

    def before(self, body: Body, after: set[Variable], within: _Local | None) -> set[Variable]:
        """The cells whose contents are needed before a body, whose result is that of `within`, or of a branch."""
        needed = self._before_rhs(body.result, after, within)
        for binding in reversed(body.bindings):
            if isinstance(binding, Binding):
                needed = self._before_rhs(binding.rhs, needed, None)
                needed.discard(binding.variable)
        return needed

    def _before_rhs(self, rhs: Rhs | Result, after: set[Variable], within: _Local | None) -> set[Variable]:
        if isinstance(rhs, If):
            return self.before(rhs.consequent, after, within) | self.before(rhs.alternative, after, within)
        if isinstance(rhs, Call) and rhs.operator in self.locals:
            local = self.locals[rhs.operator]
            if within is not None:
                within.tails.add(rhs.operator)
            if within is None or within is self.whole:
                local.returns |= local.changes & after
            else:  # in tail position: both return the same
                local.returns |= within.returns
                within.returns |= local.returns
            return after | local.reads | local.changes | local.returns
        if isinstance(rhs, Call) and within is not None:
            within.leaves = True
        accessed = self.accessed(rhs)
        if accessed is None:
            return set(after)
        cell, is_change = accessed
        return after - {cell} if is_change else after | {cell}


class _Promoter:
    """Writes bodies anew. `contents` maps each cell in scope to its present content."""

    def __init__(self, uses: _Uses, table: Mapping[str, Primitive]) -> None:
        self.uses = uses
        self.cons, self.car, self.cdr = table["cons"], table["car"], table["cdr"]

    def body(self, body: Body, contents: Contents, returns: tuple[Variable, ...]) -> Body:
        """A body that also returns the contents of these cells."""
        contents = dict(contents)
        out: Out = []
        for at, binding in enumerate(body.bindings):
            if _members(binding):
                out.append(self.group(binding))
            else:
                assert isinstance(binding, Binding)
                self.binding(binding, contents, out, Body(body.bindings[at + 1 :], body.result), returns)
        return Body(*self.result(body.result, contents, returns, out))

    def group(self, group: Group) -> Group:
        if group in self.uses.closed:
            return group
        members = []
        for variable, member in _members(group):
            local = self.uses.locals[variable]
            own: Contents = {cell: Variable(cell.name) for cell in self.uses.takes(local)}
            parameters = (*member.parameters, *[v for v in own.values() if type(v) is Variable])
            body = self.body(member.body, own, self.uses.returned(local))
            members.append((variable, rebuilt(member, body, parameters)))
        return make_letrec(tuple(members)) if isinstance(group, Letrec) else Binding(*members[0])

    def binding(
        self, binding: Binding, contents: Contents, out: Out, rest: Body, returns: tuple[Variable, ...]
    ) -> None:
        variable, rhs = binding.variable, binding.rhs
        uses = self.uses
        if isinstance(rhs, Apply) and rhs.primitive is uses.making and variable in uses.cells:
            contents[variable] = rhs.operands[0]
        elif isinstance(rhs, Apply) and (accessed := uses.accessed(rhs)) is not None:
            out.append(Binding(variable, self.applied(rhs, accessed[0], contents)))
        elif isinstance(rhs, Call) and rhs.operator in uses.locals:
            local = uses.locals[rhs.operator]
            self.unpack(variable, self.call(rhs, contents), uses.returned(local), contents, out, rhs.span)
        elif isinstance(rhs, If):
            needed = uses.before(rest, set(returns), None)
            changed = _changed(rhs, uses)
            cells = tuple(
                [cell for cell in uses.order if cell in contents and cell in changed and cell in needed]
            )
            arms = [self.body(arm, contents, cells) for arm in (rhs.consequent, rhs.alternative)]
            self.unpack(variable, If(rhs.test, arms[0], arms[1], rhs.span), cells, contents, out, rhs.span)
        else:
            out.append(binding)

    def applied(self, rhs: Apply, cell: Variable, contents: Contents) -> Atom:
        kind = self.uses.rows[rhs.primitive]
        if kind == CHANGED:
            contents[cell] = rhs.operands[1]
        return contents[cell] if kind == READ else Constant(TRUE if kind == TESTED else UNSPECIFIED)

    def call(self, call: Call, contents: Contents) -> Call:
        assert type(call.operator) is Variable
        taken = [contents[cell] for cell in self.uses.takes(self.uses.locals[call.operator])]
        return replace(call, operands=(*call.operands, *taken))

    def unpack(
        self,
        variable: Variable,
        rhs: Rhs,
        cells: tuple[Variable, ...],
        contents: Contents,
        out: Out,
        span: Span | None,
    ) -> None:
        """Bind a value, and the contents of cells that come with it."""
        if not cells:
            out.append(Binding(variable, rhs))
            return
        both = Variable("both")
        out.append(Binding(both, rhs))
        out.append(Binding(variable, Apply(self.car, (both,), span)))
        for place, cell in enumerate(cells):
            rest, both = both, Variable(cell.name)
            out.append(Binding(both, Apply(self.cdr, (rest,), span)))
            contents[cell] = both
            if place < len(cells) - 1:
                contents[cell] = own = Variable(cell.name)
                out.append(Binding(own, Apply(self.car, (both,), span)))

    def result(
        self, result: Result, contents: Contents, returns: tuple[Variable, ...], out: Out
    ) -> tuple[tuple[Group, ...], Result]:
        uses = self.uses
        if isinstance(result, If):
            arms = [self.body(arm, contents, returns) for arm in (result.consequent, result.alternative)]
            return tuple(out), If(result.test, arms[0], arms[1], result.span)
        if isinstance(result, Call) and result.operator in uses.locals:
            given = uses.returned(uses.locals[result.operator])
            if given == returns:
                return tuple(out), self.call(result, contents)
            value = Variable("value")
            self.unpack(value, self.call(result, contents), given, contents, out, result.span)
            result = value
        if not returns:
            return tuple(out), result
        if isinstance(result, Call):
            value = Variable("value")
            out.append(Binding(value, result))
            result = value
        *first, packed = [contents[cell] for cell in returns]
        for part in (*reversed(first), result):
            both = Variable("both")
            out.append(Binding(both, Apply(self.cons, (part, packed))))
            packed = both
        return tuple(out), packed


def _changed(branch: If, uses: _Uses) -> set[Variable]:
    """The cells that the arms of a branch change."""
    found: set[Variable] = set()
    work: list[Rhs | Result] = [branch]
    while work:
        rhs = work.pop()
        if isinstance(rhs, If):
            for arm in (rhs.consequent, rhs.alternative):
                work += [binding.rhs for binding in arm.bindings if isinstance(binding, Binding)]
                work.append(arm.result)
        elif isinstance(rhs, Call) and rhs.operator in uses.locals:
            found |= uses.locals[rhs.operator].changes
        else:
            accessed = uses.accessed(rhs)
            found |= {accessed[0]} if accessed is not None and accessed[1] else set()
    return found
