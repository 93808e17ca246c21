"""Core → core: calls of top-level procedures with procedures that capture cells become calls of local copies.

In: a lambda, its cells, and what is known of globals.  Out: the lambda in which `(for-each f l)`, where f changes a cell, is a
loop of its own that calls f. So f is not used as a value, and cells.py, which calls this, can make its cell a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from vlad.core.names import lambdas_within, make_letrec, operands, rebuilt
from vlad.core.nodes import (
    Apply,
    Atom,
    Binding,
    Body,
    Call,
    Field,
    GlobalReference,
    If,
    Lambda,
    Letrec,
    Record,
    Result,
    Rhs,
    Variable,
)
from vlad.data.values import Global

MOST_NESTED = 3  # copies inside copies: `append-map` calls `map`
LARGEST = 40  # bindings of a procedure that is copied
Known = Callable[[Global], Lambda | None]
Group = Binding | Letrec


def localized(lambda_: Lambda, cells: Iterable[Variable], known: Known) -> Lambda:
    """The lambda itself if there is no such call."""
    capturing = _capturing(lambda_, set(cells))
    return _Localizer(capturing, known).lambda_(lambda_, 0) if capturing else lambda_


def _members(group: Group) -> list[tuple[Variable, Lambda]]:
    if isinstance(group, Letrec):
        return list(group.members)
    return [(group.variable, group.rhs)] if isinstance(group.rhs, Lambda) else []


def _groups(lambda_: Lambda) -> list[Group]:
    """All bindings of a lambda, with those in its branches and in the lambdas inside."""
    found: list[Group] = []
    work = [lambda_.body]
    while work:
        body = work.pop()
        found += body.bindings
        rhss: list[Rhs | Result] = [one.rhs for one in body.bindings if isinstance(one, Binding)]
        for rhs in [*rhss, body.result]:
            if isinstance(rhs, If):
                work += [rhs.consequent, rhs.alternative]
        work += [member.body for one in body.bindings for _, member in _members(one)]
    return found


def _capturing(lambda_: Lambda, cells: set[Variable]) -> set[Variable]:
    """The local procedures that capture one of these cells, directly or by another procedure."""
    members = [member for group in _groups(lambda_) for member in _members(group)]
    found: set[Variable] = set()
    before = -1
    while len(found) != before:
        before = len(found)
        found |= {variable for variable, member in members if not (found | cells).isdisjoint(member.free)}
    return found


def _lets_out(lambda_: Lambda) -> bool:
    """Does it return or store a procedure that it makes? One of a copy would have another code, as `same-code?` shows."""
    made = {variable for group in _groups(lambda_) for variable, _ in _members(group)}
    work = [lambda_.body]
    while work:
        body = work.pop()
        work += [member.body for one in body.bindings for _, member in _members(one)]
        for part in (*[one.rhs for one in body.bindings if isinstance(one, Binding)], body.result):
            if isinstance(part, If):
                work += [part.consequent, part.alternative]
            elif not isinstance(part, Call | Lambda) and not made.isdisjoint(operands(part)):
                return True
    return False


class _Localizer:
    def __init__(self, capturing: set[Variable], known: Known) -> None:
        self.capturing = capturing
        self.known = known

    def lambda_(self, lambda_: Lambda, depth: int) -> Lambda:
        body = self.body(lambda_.body, depth)
        return lambda_ if body is lambda_.body else rebuilt(lambda_, body)

    def body(self, body: Body, depth: int) -> Body:
        bindings: list[Group] = []
        for group in body.bindings:
            if isinstance(group, Letrec):
                members = tuple([(v, self.lambda_(member, depth)) for v, member in group.members])
                same = all(a[1] is b[1] for a, b in zip(members, group.members, strict=True))
                bindings.append(group if same else make_letrec(members))
            elif isinstance(group.rhs, Lambda):
                inner = self.lambda_(group.rhs, depth)
                bindings.append(group if inner is group.rhs else Binding(group.variable, inner))
            else:
                rhs = self.rhs(group.rhs, depth, bindings)
                bindings.append(group if rhs is group.rhs else Binding(group.variable, rhs))
        result = self.rhs(body.result, depth, bindings)
        if result is body.result and all(a is b for a, b in zip(bindings, body.bindings, strict=False)):
            return body
        assert not isinstance(result, Apply | Lambda | Record | Field)
        return Body(tuple(bindings), result)

    def rhs(self, rhs: Rhs, depth: int, bindings: list[Group]) -> Rhs:
        if isinstance(rhs, If):
            arms = [self.body(arm, depth) for arm in (rhs.consequent, rhs.alternative)]
            same = arms[0] is rhs.consequent and arms[1] is rhs.alternative
            return rhs if same else If(rhs.test, arms[0], arms[1], rhs.span)
        if isinstance(rhs, Call) and isinstance(rhs.operator, GlobalReference) and depth < MOST_NESTED:
            return self.call(rhs, rhs.operator.cell, depth, bindings) or rhs
        return rhs

    def call(self, call: Call, cell: Global, depth: int, bindings: list[Group]) -> Call | None:
        """A call of a local copy, which is bound before it."""
        fixed = {
            i: atom
            for i, atom in enumerate(call.operands)
            if type(atom) is Variable and atom in self.capturing
        }
        callee = self.known(cell) if 0 < len(fixed) < len(call.operands) else None
        if (
            callee is None
            or len(callee.parameters) != len(call.operands)
            or len(_groups(callee)) > LARGEST
            or _lets_out(callee)
        ):
            return None
        copy = _Copy(callee, fixed, self.known)
        made = copy.made()
        if made is None:
            return None
        made = self.lambda_(made, depth + 1)
        bindings.append(make_letrec(((copy.own, made),)) if copy.is_recursive else Binding(copy.own, made))
        return Call(copy.own, copy.rest(call.operands), call.span)


class _Copy:
    """A copy of a lambda with fresh variables, without the parameters that are `fixed`: by index, the procedures they stand for.
    `own`: the variable of the copy, which its calls of itself become calls of.
    """

    def __init__(self, callee: Lambda, fixed: Mapping[int, Variable], known: Known) -> None:
        self.callee = callee
        self.fixed = fixed
        self.known = known
        self.own = Variable(callee.name or "local")
        self.atoms: dict[Atom, Atom] = {callee.parameters[i]: atom for i, atom in fixed.items()}
        self.is_recursive = False
        self.fails = False

    def made(self) -> Lambda | None:
        """None if a call of itself passes another procedure."""
        parameters = tuple([self.fresh(one) for one in self.rest(self.callee.parameters)])
        made = rebuilt(self.callee, self.body(self.callee.body), parameters)
        return None if self.fails or len(lambdas_within(made.body)) > LARGEST else made

    def rest(self, operands: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return tuple([one for i, one in enumerate(operands) if i not in self.fixed])

    def fresh(self, variable: Atom) -> Variable:
        assert type(variable) is Variable
        made = self.atoms[variable] = Variable(variable.name)
        return made

    def atom(self, atom: Atom) -> Atom:
        return self.atoms.get(atom, atom)

    def all(self, atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return tuple([self.atom(one) for one in atoms])

    def body(self, body: Body) -> Body:
        bindings: list[Group] = []
        for group in body.bindings:
            if isinstance(group, Letrec):
                names = [self.fresh(variable) for variable, _ in group.members]
                copies = [self.lambda_(member) for _, member in group.members]
                bindings.append(make_letrec(tuple(zip(names, copies, strict=True))))
            else:
                rhs = self.rhs(group.rhs)
                bindings.append(Binding(self.fresh(group.variable), rhs))
        result = self.rhs(body.result)
        assert not isinstance(result, Apply | Lambda | Record | Field)
        return Body(tuple(bindings), result)

    def lambda_(self, lambda_: Lambda) -> Lambda:
        parameters = tuple([self.fresh(one) for one in lambda_.parameters])
        return rebuilt(lambda_, self.body(lambda_.body), parameters)

    def rhs(self, rhs: Rhs) -> Rhs:
        match rhs:
            case Apply():
                return Apply(rhs.primitive, self.all(rhs.operands), rhs.span)
            case Call():
                return self.call(rhs)
            case If():
                arms = [self.body(arm) for arm in (rhs.consequent, rhs.alternative)]
                return If(self.atom(rhs.test), arms[0], arms[1], rhs.span)
            case Lambda():
                return self.lambda_(rhs)
            case Record():
                return Record(rhs.owner, self.all(rhs.fields), rhs.span)
            case Field():
                return Field(rhs.owner, rhs.index, rhs.width, self.atom(rhs.record), rhs.span)
        return self.atom(rhs)

    def call(self, call: Call) -> Call:
        operands = self.all(call.operands)
        operator = call.operator
        if not isinstance(operator, GlobalReference) or self.known(operator.cell) is not self.callee:
            return Call(self.atom(operator), operands, call.span)
        self.is_recursive = True
        if len(operands) != len(self.callee.parameters) or any(
            operands[i] is not atom for i, atom in self.fixed.items()
        ):
            self.fails = True
        return Call(self.own, self.rest(operands), call.span)
