"""Core → core: fold, inline, share, drop what nobody reads.

`simplify` works on a user's whole lambda before anything else sees it: copies, constants, known branches, common
subexpressions, procedures that are called once or are small, pure values nobody reads. It never changes a result, an
effect or an error, and never makes a program apply more primitives.

`tidy` works on what the AD transforms emit. There a pure operation nobody reads may go even if it could raise, for the
forward phase has the operation too. The user's lambdas inside stay the very nodes they are: they are memo keys, and
records speak of their environments.
"""

from __future__ import annotations

from collections.abc import Callable

from vlad.core.names import make_lambda, make_letrec, operands
from vlad.core.nodes import (
    Apply,
    Atom,
    Binding,
    Body,
    Call,
    Constant,
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
from vlad.errors import VladError
from vlad.values import FALSE, NIL, ZERO, Boolean, String, Symbol, Value, look

ROUNDS = 4
SMALL = 4  # bindings of a procedure that is copied to each of its calls


def simplify(lambda_: Lambda) -> Lambda:
    """The simplified lambda; the parameters and the name stay."""
    for _ in range(ROUNDS):
        pass_ = _Simplifier(lambda_, frozenset(), inline=True, lossy=False)
        lambda_ = pass_.top(lambda_)
        if not pass_.changed:
            break
    return lambda_


def tidy(lambda_: Lambda, keep: frozenset[Lambda]) -> Lambda:
    """Transformed code without copies, repetitions and unread values. Lambdas in `keep`, and owners of records, are
    not touched."""
    for _ in range(ROUNDS):
        pass_ = _Simplifier(lambda_, keep | _owners(lambda_), inline=False, lossy=True)
        lambda_ = pass_.top(lambda_)
        if not pass_.changed:
            break
    return lambda_


def _walk(lambda_: Lambda, visit: Callable[[Rhs | Result | Letrec], None], enter: Callable[[Lambda], bool]) -> None:
    """Visit every right-hand side of a nest, entering the lambdas that `enter` allows."""
    work: list[Body] = [lambda_.body]
    while work:
        body = work.pop()
        for binding in body.bindings:
            if isinstance(binding, Letrec):
                visit(binding)
                work += [member.body for _, member in binding.members if enter(member)]
            else:
                _visit_one(binding.rhs, visit, enter, work)
        _visit_one(body.result, visit, enter, work)


def _visit_one(
    rhs: Rhs | Result,
    visit: Callable[[Rhs | Result | Letrec], None],
    enter: Callable[[Lambda], bool],
    work: list[Body],
) -> None:
    visit(rhs)
    if isinstance(rhs, If):
        work += [rhs.consequent, rhs.alternative]
    elif isinstance(rhs, Lambda) and enter(rhs):
        work.append(rhs.body)


def _owners(lambda_: Lambda) -> frozenset[Lambda]:
    found: set[Lambda] = set()

    def visit(rhs: Rhs | Result | Letrec) -> None:
        if isinstance(rhs, Record | Field):
            found.add(rhs.owner)

    _walk(lambda_, visit, lambda inner: True)
    return frozenset(found)


Out = list[Binding | Letrec]


class _Simplifier:
    def __init__(self, lambda_: Lambda, keep: frozenset[Lambda], inline: bool, lossy: bool) -> None:
        self.keep = keep
        self.inline = inline
        self.lossy = lossy
        self.changed = False
        self.uses: dict[Variable, int] = {}
        self.fitting: dict[Variable, dict[int, int]] = {}  # of a variable that is called: how often with how many operands
        self.protected: set[Variable] = set()
        self.become: dict[Variable, Atom] = {}
        self.means: dict[Variable, Rhs] = {}
        self.real: set[Variable] = set()
        _walk(lambda_, self.count, lambda inner: inner not in keep)

    def count(self, rhs: Rhs | Result | Letrec) -> None:
        """Census of uses. A lambda that is entered counts by what it holds, a kept one by what it captures."""
        if isinstance(rhs, Letrec):
            for _, member in rhs.members:
                self.count(member)
            return
        if isinstance(rhs, Lambda):
            if rhs in self.keep:
                self.protected.update(rhs.free)
                self.use(rhs.free)
            return
        self.use(operands(rhs))
        if isinstance(rhs, Call) and isinstance(rhs.operator, Variable):
            counts = self.fitting.setdefault(rhs.operator, {})
            counts[len(rhs.operands)] = counts.get(len(rhs.operands), 0) + 1

    def use(self, atoms: tuple[Atom, ...]) -> None:
        for atom in atoms:
            if isinstance(atom, Variable):
                self.uses[atom] = self.uses.get(atom, 0) + 1

    # Lambdas and bodies.

    def top(self, lambda_: Lambda) -> Lambda:
        body = self.body(lambda_.body, {})
        return Lambda(lambda_.parameters, body, lambda_.free, lambda_.name, lambda_.span)

    def lambda_(self, lambda_: Lambda) -> Lambda:
        if lambda_ in self.keep:
            return lambda_
        real = set(self.real)
        body = self.body(lambda_.body, {})
        self.real = real
        return make_lambda(lambda_.parameters, body, lambda_.name, lambda_.span)

    def body(self, body: Body, shared: dict[tuple[object, ...], Variable]) -> Body:
        out: Out = []
        result = self.bindings(body, out, shared)
        return Body(tuple(out), result)

    def bindings(self, body: Body, out: Out, shared: dict[tuple[object, ...], Variable]) -> Result:
        """Simplify a body into `out` and answer its result."""
        for binding in body.bindings:
            if isinstance(binding, Letrec):
                self.letrec(binding, out)
            else:
                self.binding(binding.variable, binding.rhs, out, shared)
        return self.result(body.result, out, shared)

    def letrec(self, group: Letrec, out: Out) -> None:
        if not any(self.uses.get(variable, 0) for variable, _ in group.members):
            self.changed = True
            return
        if all(member in self.keep for _, member in group.members):
            out.append(group)
            return
        members = []
        for variable, member in group.members:
            members.append((variable, self.lambda_(member)))
        out.append(make_letrec(tuple(members)))

    def binding(self, variable: Variable, rhs: Rhs, out: Out, shared: dict[tuple[object, ...], Variable]) -> None:
        match rhs:
            case Apply():
                self.apply(variable, self.substituted_apply(rhs), out, shared)
            case Call():
                self.call(variable, self.substituted_call(rhs), out, shared)
            case If():
                self.branch(variable, rhs, out, shared)
            case Lambda():
                self.procedure(variable, rhs, out)
            case Record():
                record = Record(rhs.owner, self.atoms(rhs.fields), rhs.span)
                self.means[variable] = record
                self.emit(variable, record, out)
            case Field():
                self.field(variable, rhs, out, shared)
            case _:
                self.copy(variable, self.atom(rhs), out)

    def emit(self, variable: Variable, rhs: Rhs, out: Out) -> None:
        """Bind a pure value that cannot raise, if anybody reads it."""
        if self.uses.get(variable, 0):
            out.append(Binding(variable, rhs))
        else:
            self.changed = True

    def copy(self, variable: Variable, atom: Atom, out: Out) -> None:
        if isinstance(atom, GlobalReference):
            # reading the name may raise, and it may come to mean something else
            out.append(Binding(variable, atom))
        elif variable in self.protected:
            self.become[variable] = variable
            out.append(Binding(variable, atom))
        else:
            self.become[variable] = atom
            self.changed = True
            if atom in self.real:
                self.real.add(variable)

    # Operands.

    def atom(self, atom: Atom) -> Atom:
        return self.become.get(atom, atom) if isinstance(atom, Variable) else atom

    def atoms(self, atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return tuple([self.atom(atom) for atom in atoms])

    def substituted_apply(self, rhs: Apply) -> Apply:
        return Apply(rhs.primitive, self.atoms(rhs.operands), rhs.span)

    def substituted_call(self, rhs: Call) -> Call:
        return Call(self.atom(rhs.operator), self.atoms(rhs.operands), rhs.span)

    # Primitives.

    def apply(
        self, variable: Variable, rhs: Apply, out: Out, shared: dict[tuple[object, ...], Variable]
    ) -> None:
        row = rhs.primitive
        known = None if row.effect else self.known_value(rhs)
        if known is not None:
            self.copy(variable, known, out)
            return
        if not row.effect:
            key = (row.name, *[atom_key(a) for a in rhs.operands])
            if key in shared:
                self.copy(variable, shared[key], out)
                return
            if not self.uses.get(variable, 0) and (self.lossy or self.cannot_raise(rhs)):
                self.changed = True
                return
            shared[key] = variable
            self.means[variable] = rhs
        self.note_kinds(variable, rhs)
        out.append(Binding(variable, rhs))

    def note_kinds(self, variable: Variable, rhs: Apply) -> None:
        kinds, _, answer = rhs.primitive.type.partition("->")
        if answer.strip() == "real":
            self.real.add(variable)
        for kind, operand in zip(kinds.split(), rhs.operands, strict=False):
            if kind == "real" and isinstance(operand, Variable):
                self.real.add(operand)

    def cannot_raise(self, rhs: Apply) -> bool:
        kinds = rhs.primitive.type.partition("->")[0].split()
        return len(kinds) == len(rhs.operands) and all(
            kind == "any" or (kind == "real" and self.is_real(operand))
            for kind, operand in zip(kinds, rhs.operands, strict=True)
        )

    def is_real(self, atom: Atom) -> bool:
        return atom in self.real or (isinstance(atom, Constant) and type(atom.value) is float)

    def known_value(self, rhs: Apply) -> Atom | None:
        """What the application is known to answer: a constant, or a part of a pair that was just made."""
        name, first = rhs.primitive.name, rhs.operands[0] if rhs.operands else None
        if name in ("car", "cdr", "match-car", "match-cdr") and isinstance(first, Variable):
            pair = self.means.get(first)
            if isinstance(pair, Apply) and pair.primitive.name == "cons":
                return pair.operands[0 if name.endswith("car") else 1]
        if name == "accumulate":
            for zero, other in (rhs.operands, rhs.operands[::-1]):
                if isinstance(zero, Constant) and zero.value is ZERO:
                    return other
        return self.folded(rhs)

    def folded(self, rhs: Apply) -> Constant | None:
        row = rhs.primitive
        if row.needs_machine or not all(isinstance(operand, Constant) for operand in rhs.operands):
            return None
        if row.name == "zero" or any(is_zero(operand) for operand in rhs.operands):
            return None
        try:
            value = look(row.value(*[operand.value for operand in rhs.operands if isinstance(operand, Constant)]))
        except VladError:
            return None  # it is raised when, and if, the program comes to it
        return Constant(value) if is_plain(value) else None

    def field(
        self, variable: Variable, rhs: Field, out: Out, shared: dict[tuple[object, ...], Variable]
    ) -> None:
        record = self.atom(rhs.record)
        made = self.means.get(record) if isinstance(record, Variable) else None
        key = ("field", rhs.index, atom_key(record))
        if isinstance(made, Record):
            self.copy(variable, made.fields[rhs.index], out)
        elif key in shared:
            self.copy(variable, shared[key], out)
        else:
            shared[key] = variable
            self.emit(variable, Field(rhs.owner, rhs.index, rhs.width, record, rhs.span), out)

    # Procedures.

    def procedure(self, variable: Variable, rhs: Lambda, out: Out) -> None:
        uses = self.uses.get(variable, 0)
        if not uses:
            self.changed = True
        elif self.inline and self.fitting.get(variable, {}) == {len(rhs.parameters): uses} and (
            uses == 1 or is_small(rhs)
        ):
            self.means[variable] = rhs  # every use is a call that takes its body in
            self.changed = True
        else:
            out.append(Binding(variable, self.lambda_(rhs)))

    def inlined(
        self, call: Call, out: Out, shared: dict[tuple[object, ...], Variable]
    ) -> Result | None:
        """The result of a known procedure's body, put in place of its call; None when it is not known or does not fit."""
        if not self.inline or not isinstance(call.operator, Variable):
            return None
        known = self.means.get(call.operator)
        if not isinstance(known, Lambda):
            return None
        if self.uses.get(call.operator, 0) > 1:
            known = copied(known)
            _walk(known, self.count, lambda inner: True)
        for parameter, operand in zip(known.parameters, call.operands, strict=True):
            if isinstance(operand, GlobalReference):
                out.append(Binding(parameter, operand))
            else:
                self.become[parameter] = operand
        return self.bindings(known.body, out, shared)

    def call(
        self, variable: Variable, call: Call, out: Out, shared: dict[tuple[object, ...], Variable]
    ) -> None:
        result = self.inlined(call, out, shared)
        if result is None:
            out.append(Binding(variable, call))
        else:
            self.bind_result(variable, result, out)

    def bind_result(self, variable: Variable, result: Result, out: Out) -> None:
        if isinstance(result, Call | If):
            out.append(Binding(variable, result))
        else:
            self.copy(variable, result, out)

    # Branches.

    def known_test(self, test: Atom) -> bool | None:
        return test.value is not FALSE if isinstance(test, Constant) else None

    def unnegated(self, branch: If) -> tuple[Atom, Body, Body]:
        """The test and the arms; (not x) tests x, with the arms exchanged."""
        test = self.atom(branch.test)
        means = self.means.get(test) if isinstance(test, Variable) else None
        if isinstance(means, Apply) and means.primitive.name == "not":
            self.changed = True
            return means.operands[0], branch.alternative, branch.consequent
        return test, branch.consequent, branch.alternative

    def arm(self, body: Body, shared: dict[tuple[object, ...], Variable]) -> Body:
        real = set(self.real)
        result = self.body(body, dict(shared))
        self.real = real
        return result

    def branch(
        self, variable: Variable, branch: If, out: Out, shared: dict[tuple[object, ...], Variable]
    ) -> None:
        test, consequent, alternative = self.unnegated(branch)
        known = self.known_test(test)
        if known is None:
            arms = If(test, self.arm(consequent, shared), self.arm(alternative, shared), branch.span)
            out.append(Binding(variable, arms))
        else:
            self.changed = True
            self.bind_result(variable, self.bindings(consequent if known else alternative, out, shared), out)

    def result(self, result: Result, out: Out, shared: dict[tuple[object, ...], Variable]) -> Result:
        if isinstance(result, Call):
            call = self.substituted_call(result)
            inlined = self.inlined(call, out, shared)
            return call if inlined is None else inlined
        if isinstance(result, If):
            test, consequent, alternative = self.unnegated(result)
            known = self.known_test(test)
            if known is None:
                return If(test, self.arm(consequent, shared), self.arm(alternative, shared), result.span)
            self.changed = True
            return self.bindings(consequent if known else alternative, out, shared)
        return self.atom(result)


def atom_key(atom: Atom) -> object:
    """Equal for atoms that are certainly the same value."""
    if isinstance(atom, Constant):
        value = atom.value
        return ("real", value, str(value)) if type(value) is float else id(value)
    return atom


def is_zero(atom: Atom) -> bool:
    return isinstance(atom, Constant) and atom.value is ZERO


def is_plain(value: Value) -> bool:
    """May a folded result stand in a program as a constant?"""
    return type(value) is float or value == NIL or isinstance(value, Boolean | Symbol | String)


def is_small(lambda_: Lambda) -> bool:
    """A few primitives in a row: cheaper copied than called."""
    body = lambda_.body
    return (
        len(body.bindings) <= SMALL
        and all(isinstance(b, Binding) and isinstance(b.rhs, Apply) for b in body.bindings)
        and not isinstance(body.result, Call | If)
    )


def copied(lambda_: Lambda) -> Lambda:
    """A small lambda with variables of its own."""
    fresh: dict[Variable, Atom] = {parameter: Variable(parameter.name) for parameter in lambda_.parameters}
    bindings = []
    for binding in lambda_.body.bindings:
        assert isinstance(binding, Binding) and isinstance(binding.rhs, Apply)
        atoms = tuple([fresh.get(a, a) if isinstance(a, Variable) else a for a in binding.rhs.operands])
        variable = Variable(binding.variable.name)
        fresh[binding.variable] = variable
        bindings.append(Binding(variable, Apply(binding.rhs.primitive, atoms, binding.rhs.span)))
    result = lambda_.body.result
    assert not isinstance(result, Call | If)
    answer = fresh.get(result, result) if isinstance(result, Variable) else result
    parameters = tuple([fresh[p] for p in lambda_.parameters])
    return make_lambda(parameters, Body(tuple(bindings), answer), lambda_.name, lambda_.span)  # type: ignore[arg-type]

