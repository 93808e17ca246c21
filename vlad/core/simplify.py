"""Core → core: constant folding, inlining, common subexpressions, dead code.

`simplify` works on a user's whole lambda before any other pass: copies, constants, known branches, common
subexpressions, procedures that are called once or are small, unused pure values. It never changes a result, an
effect or an error, and never makes a program apply more primitives.

`tidy` works on the output of the AD transforms. There an unused pure operation may be removed even if it could raise, as the
forward phase has the operation too. The user's lambdas inside are not rebuilt: they are memo keys, and
records refer to their environments.

Programs can observe the environments of closures: `J`, `zero`, `plus`, `environment` and saving use them. A lambda is
*reflected* if one of its closures may be used other than as an operator. It keeps its environment as the text determines it, and
nothing known about the captured values is used inside it. All other environments may change (`_Reflected` separates the two).

Both are two walks over the nest. The first, in order of evaluation, rewrites right-hand sides, with the definitions of the
variables visited so far. The second, in the opposite order, keeps the bindings that are used; so a chain of values that
only feed each other is removed at once. Inlining creates opportunities: then `simplify` walks again, a few times at most.

The file is long because its rewritings are one pass: each uses results of the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container

from vlad.core.names import make_letrec, operands, rebuilt, sub_bodies, with_body
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
from vlad.data.errors import VladError
from vlad.data.source import Span
from vlad.data.values import FALSE, NIL, NUMBERS, ZERO, Boolean, Primitive, String, Symbol, Value, look

ROUNDS = 4
SMALL = 4  # bindings of a procedure that is copied to each of its calls
DEEP_SUM = 8  # terms of a sum that are searched for their parts
LONGEST = 1000  # characters of a folded string: repeated doubling must not happen at compile time

PARTS = {"car": 0, "match-car": 0, "cdr": 1, "match-cdr": 1}
# Kinds whose values `eq?` compares by content. Two equal pairs are distinct: their construction is not shared.
IMMEDIATE = NUMBERS | {"boolean", "string", "symbol"}
ENTRIES = frozenset({"tail-entry", "forward-entry", "control-entry"})
TOTAL = {
    "cons",
    "stop-gradient",
    "sum-like",
    "broadcast-like",
    "shape-witness",
}  # defined for all operands
COSTLY = {"polygamma"}  # the cost grows with an operand's value, so it is left to run time, which has limits


def simplify(lambda_: Lambda) -> Lambda:
    """The simplified lambda, with the same parameters and name."""
    for _ in range(ROUNDS):
        rewriter = _Rewriter(lambda_, frozenset(), inline=True)
        rewritten = rewriter.top(lambda_)
        sweeper = _Sweeper(frozenset(), rewriter.droppable, every=False, reflected=rewriter.kept_environments)
        lambda_ = sweeper.top(rewritten)
        if not rewriter.again:
            break
    return lambda_


def tidy(lambda_: Lambda, keep: frozenset[Lambda], source: Lambda | None = None) -> Lambda:
    """Transformed code without copies, repetitions and unused values. Lambdas in `keep`, and owners of records, are
    not touched. Bindings of `source`, the lambda that was transformed, are removed only if they cannot raise.
    """
    keep = keep | _owners(lambda_)
    rewriter = _Rewriter(lambda_, keep, inline=False)
    primal = frozenset[Variable]() if source is None else bound_in(source.body)
    return _Sweeper(keep, rewriter.droppable, every=True, primal=primal).top(rewriter.top(lambda_))


Visit = Callable[[Rhs | Result | Letrec], None]
Enter = Callable[[Lambda], bool]
Out = list[Binding | Letrec]
Key = tuple[object, ...]


def walk(lambda_: Lambda, visit: Visit, enter: Enter) -> None:
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


def _visit_one(rhs: Rhs | Result, visit: Visit, enter: Enter, work: list[Body]) -> None:
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

    walk(lambda_, visit, lambda inner: True)
    return frozenset(found)


def bound_in(body: Body) -> frozenset[Variable]:
    """The variables that a body binds, including those in its branches, excluding those inside lambdas."""
    found: set[Variable] = set()
    work = [body]
    while work:
        current = work.pop()
        for binding in current.bindings:
            if isinstance(binding, Binding):
                found.add(binding.variable)
                work += sub_bodies(binding.rhs)
        work += sub_bodies(current.result)
    return frozenset(found)


def is_kept(group: Letrec, keep: frozenset[Lambda]) -> bool:
    """Whether any member is kept: the members share one environment, so one keeps all."""
    return any(member in keep for _, member in group.members)


# Which environments a program can observe.


class _Reflected:
    """Finds the lambdas of a nest whose closures may be used other than as operators: those that are used as values, and
    those that a closure of a reflected lambda captures. The members of a letrec share one environment, so all or none are.

    lambdas     the lambdas found
    variables   the variables that their closures capture, which must stay bound
    """

    def __init__(self, lambda_: Lambda, is_value: Callable[[Variable], bool]) -> None:
        self.lambdas: set[Lambda] = set()
        self.variables: set[Variable] = set()
        made = _procedures(lambda_)
        work = [variable for variable in made if is_value(variable)]
        while work:
            lambdas, environment = made.get(work.pop(), ((), ()))
            if not self.lambdas.issuperset(lambdas):
                self.lambdas.update(lambdas)
                self.variables.update(environment)
                work += environment


def _procedures(lambda_: Lambda) -> dict[Variable, tuple[tuple[Lambda, ...], tuple[Variable, ...]]]:
    """For each variable that is bound to a lambda: the lambdas that share its environment, and that environment."""
    found: dict[Variable, tuple[tuple[Lambda, ...], tuple[Variable, ...]]] = {}
    work = [lambda_.body]
    while work:
        body = work.pop()
        for binding in body.bindings:
            if isinstance(binding, Letrec):
                lambdas = tuple([member for _, member in binding.members])
                for variable, member in binding.members:
                    found[variable] = lambdas, binding.free
                    work.append(member.body)
            elif isinstance(binding.rhs, Lambda):
                found[binding.variable] = (binding.rhs,), binding.rhs.free
                work.append(binding.rhs.body)
            else:
                work += sub_bodies(binding.rhs)
        work += sub_bodies(body.result)
    return found


# The first walk.


class _Rewriter:
    """uses        number of uses of each variable, in the nest as it came in
    fitting     for a variable that is called: how often with how many operands
    protected   variables that kept and reflected lambdas capture, which must stay bound
    reflected   the lambdas that keep their environments, as they came in
    kept_environments   the same, as they are now
    become      the replacement of a variable that is a copy
    means       the right-hand side of a variable, if it is useful
    real        variables known to hold reals at the current place of the walk
    shared      the variables of earlier pure applications in scope
    droppable   variables whose right-hand sides neither have effects nor raise
    again       whether something was inlined, so that another walk may find more
    place       of the call that is inlined, for operations that have none of their own
    """

    def __init__(self, lambda_: Lambda, keep: frozenset[Lambda], inline: bool) -> None:
        self.keep = keep
        self.inline = inline
        self.again = False
        self.place: Span | None = None
        self.uses: dict[Variable, int] = {}
        self.fitting: dict[Variable, dict[int, int]] = {}
        self.protected: set[Variable] = set()
        self.become: dict[Variable, Atom] = {}
        self.means: dict[Variable, Rhs] = {}
        self.numbers: dict[Variable, None] = {}
        self.shared: dict[Key, Variable] = {}
        self.droppable: set[Variable] = set()
        self.reflected: set[Lambda] = set()
        self.kept_environments: set[Lambda] = set()
        walk(lambda_, self.count, self.enters)
        if inline:
            reflected = _Reflected(lambda_, self.is_value)
            self.reflected = reflected.lambdas
            self.protected |= reflected.variables

    def enters(self, lambda_: Lambda) -> bool:
        return lambda_ not in self.keep

    def count(self, rhs: Rhs | Result | Letrec) -> None:
        """Count uses. A lambda that is entered counts by its contents, a kept one by what it captures."""
        if isinstance(rhs, Letrec):
            if is_kept(rhs, self.keep):
                for _, member in rhs.members:
                    self.capture(member)
        elif isinstance(rhs, Lambda):
            if rhs in self.keep:
                self.capture(rhs)
        else:
            self.use(operands(rhs))
            if isinstance(rhs, Call) and isinstance(rhs.operator, Variable):
                counts = self.fitting.setdefault(rhs.operator, {})
                counts[len(rhs.operands)] = counts.get(len(rhs.operands), 0) + 1

    def capture(self, kept: Lambda) -> None:
        self.protected.update(kept.free)
        self.use(kept.free)

    def use(self, atoms: tuple[Atom, ...]) -> None:
        for atom in atoms:
            if isinstance(atom, Variable):
                self.uses[atom] = self.uses.get(atom, 0) + 1

    def is_value(self, variable: Variable) -> bool:
        """Whether it is used other than as the operator of a call."""
        return self.uses.get(variable, 0) > sum(self.fitting.get(variable, {}).values())

    # Lambdas and bodies.

    def top(self, lambda_: Lambda) -> Lambda:
        return with_body(lambda_, self.body(lambda_.body))

    def lambda_(self, lambda_: Lambda) -> Lambda:
        """Earlier results are not shared with a lambda: capturing one more value is not free."""
        if lambda_ in self.keep:
            return lambda_
        if lambda_ in self.reflected:
            return self.reflected_lambda(lambda_)
        outer, self.shared = self.shared, {}
        body = self.arm(lambda_.body)
        self.shared = outer
        return rebuilt(lambda_, body)

    def reflected_lambda(self, lambda_: Lambda) -> Lambda:
        """It keeps its environment, whose values count as unknown, like parameters: `J` differentiates with respect to them,
        and `with-environment` replaces them.
        """
        outer = self.become, self.shared, self.means, self.numbers
        self.become, self.shared, self.means, self.numbers = {}, {}, {}, {}
        body = self.body(lambda_.body)
        self.become, self.shared, self.means, self.numbers = outer
        new = with_body(lambda_, body)
        self.kept_environments.add(new)
        return new

    def arm(self, body: Body) -> Body:
        """An arm, which may not be evaluated: facts learned in it are forgotten after it."""
        reals, shared = len(self.numbers), len(self.shared)
        result = self.body(body)
        forget(self.numbers, reals)
        forget(self.shared, shared)
        return result

    def body(self, body: Body) -> Body:
        out: Out = []
        result = self.bindings(body, out)
        return Body(tuple(out), result)

    def bindings(self, body: Body, out: Out) -> Result:
        """Simplify a body into `out` and return its result."""
        for binding in body.bindings:
            if isinstance(binding, Letrec):
                self.letrec(binding, out)
            else:
                self.binding(binding.variable, binding.rhs, out)
        return self.result(body.result, out)

    def letrec(self, group: Letrec, out: Out) -> None:
        if not is_kept(group, self.keep):
            members = []
            for variable, member in group.members:
                members.append((variable, self.lambda_(member)))
            group = make_letrec(tuple(members))
        out.append(group)

    def binding(self, variable: Variable, rhs: Rhs, out: Out) -> None:
        match rhs:
            case Apply():
                self.apply(
                    variable, Apply(rhs.primitive, self.atoms(rhs.operands), rhs.span or self.place), out
                )
            case Call():
                self.call(variable, self.substituted_call(rhs), out)
            case If():
                self.branch(variable, rhs, out)
            case Lambda():
                self.procedure(variable, rhs, out)
            case Record():
                record = Record(rhs.owner, self.atoms(rhs.fields), rhs.span)
                if (
                    rhs.owner.space is None
                ):  # otherwise a field of it may have another derivative than the value put there
                    self.means[variable] = record
                out.append(Binding(variable, record))
            case Field():
                self.field(variable, rhs, out)
            case _:
                self.copy(variable, self.atom(rhs), out)

    def copy(self, variable: Variable, atom: Atom, out: Out) -> None:
        """A reference to a global is not moved: reading it may raise, and its value may change. A variable that a kept
        or reflected lambda captures stays bound; all other uses read the original.
        """
        if isinstance(atom, GlobalReference) or variable in self.protected:
            out.append(Binding(variable, atom))
        if not isinstance(atom, GlobalReference):
            self.become[variable] = atom
            self.again |= variable in self.fitting

    # Operands.

    def atom(self, atom: Atom) -> Atom:
        return self.become.get(atom, atom) if isinstance(atom, Variable) else atom

    def atoms(self, atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return tuple([self.atom(atom) for atom in atoms])

    def substituted_call(self, rhs: Call) -> Call:
        return Call(self.atom(rhs.operator), self.atoms(rhs.operands), rhs.span)

    # Primitives.

    def apply(self, variable: Variable, rhs: Apply, out: Out) -> None:
        row = rhs.primitive
        known = self.known_value(rhs)
        if known is not None:
            self.copy(variable, known, out)
            return
        if row.name in PARTS:
            rhs = self.summed_part(rhs.operands[0], PARTS[row.name], rhs.span) or rhs
            row = rhs.primitive
        if not row.effect:
            key = (row.name, *[atom_key(a) for a in rhs.operands])
            if key in self.shared:
                self.copy(variable, self.shared[key], out)
                return
            if is_shareable(row):
                self.shared[key] = variable
            self.means[variable] = rhs
            if self.cannot_raise(rhs):
                self.droppable.add(variable)
        self.note_kinds(variable, rhs)
        out.append(Binding(variable, rhs))

    def note_kinds(self, variable: Variable, rhs: Apply) -> None:
        """Note the result's kind, and the operands' kinds: with other operands, evaluation would have raised here."""
        type_ = rhs.primitive.type
        if type_.result in NUMBERS:
            self.numbers[variable] = None
        for parameter, operand in zip(type_.parameters, rhs.operands, strict=False):
            if parameter in NUMBERS and isinstance(operand, Variable):
                self.numbers[operand] = None

    def cannot_raise(self, rhs: Apply) -> bool:
        """Whether an application cannot raise: arithmetic on numbers, `cons`, and tests of any value. Reading a global may raise.
        (Mismatched shapes of tensors may be ignored if the value is unused.)
        """
        row = rhs.primitive
        if any(isinstance(operand, GlobalReference) for operand in rhs.operands):
            return False
        types = row.type.parameters
        if all(type_ == "any" for type_ in types):
            return row.type.result == "boolean" or row.name in TOTAL
        known = [
            type_ in NUMBERS and self.is_number(operand)
            for type_, operand in zip(types, rhs.operands, strict=False)
        ]
        return len(types) == len(rhs.operands) and row.partials is not None and all(known)

    def is_number(self, atom: Atom) -> bool:
        return atom in self.numbers or (isinstance(atom, Constant) and type(atom.value) is float)

    def known_value(self, rhs: Apply) -> Atom | None:
        """The result if it is known: a constant, or a part of a known pair."""
        name = rhs.primitive.name
        if name in PARTS:
            return self.known_part(rhs.operands[0], PARTS[name])
        if name == "accumulate":
            a, b = rhs.operands
            return other_of(a, b) or other_of(b, a)
        if name == "expect-constant":
            x, d = rhs.operands
            known = isinstance(x, Constant) and isinstance(d, Constant) and is_plain(d.value)
            return x if known and atom_key(x) == atom_key(d) else None
        return self.folded(rhs)

    def known_part(self, whole: Atom, index: int, depth: int = 0) -> Atom | None:
        """Part `index` of a known pair or record, of a constant, or of a sum whose other term has a zero there."""
        if isinstance(whole, Constant):
            value = look(whole.value)
            if value is ZERO:
                return whole
            return Constant(value[index]) if type(value) is tuple and len(value) == 2 else None
        made = self.means.get(whole) if isinstance(whole, Variable) else None
        part: Atom | None = None
        if isinstance(made, Record):
            part = made.fields[index]
        elif isinstance(made, Apply) and made.primitive.name == "cons":
            part = made.operands[index]
        elif isinstance(made, Apply) and made.primitive.name == "accumulate":
            a, b = self.known_terms(made, index, depth)
            part = None if a is None or b is None else other_of(a, b) or other_of(b, a)
        return None if isinstance(part, GlobalReference) else part

    def known_terms(self, total: Apply, index: int, depth: int) -> tuple[Atom | None, Atom | None]:
        """The parts of both terms of a sum, whose sum is the part; in long sums only the last terms are searched."""
        if depth == DEEP_SUM:
            return None, None
        a, b = total.operands
        return self.known_part(a, index, depth + 1), self.known_part(b, index, depth + 1)

    def summed_part(self, whole: Atom, index: int, span: Span | None) -> Apply | None:
        """A part of a sum whose terms' parts are known, as the sum of those."""
        made = self.means.get(whole) if isinstance(whole, Variable) else None
        if isinstance(made, Apply) and made.primitive.name == "accumulate":
            a, b = self.known_terms(made, index, 0)
            if a is not None and b is not None:
                return Apply(made.primitive, (a, b), span)
        return None

    def folded(self, rhs: Apply) -> Constant | None:
        """The constant result of a pure row on constants. None if its rule raises: then the program raises at run time, if it
        gets there.
        """
        row = rhs.primitive
        if (
            row.effect or row.needs_machine or row.name in COSTLY or row.name == "real"
        ):  # `real` hides a constant
            return None
        values = [atom.value for atom in rhs.operands if isinstance(atom, Constant) and is_plain(atom.value)]
        if len(values) < len(rhs.operands) or row.type.result not in IMMEDIATE:
            return None
        try:
            value = row.value(*values)
        except (VladError, ArithmeticError, ValueError):
            return None
        if type(value) is float and not math.isfinite(
            value
        ):  # left to run time, where the NaN finder can locate it
            return None
        return Constant(value) if is_plain(value) else None

    def field(self, variable: Variable, rhs: Field, out: Out) -> None:
        record = self.atom(rhs.record)
        key = ("field", rhs.index, atom_key(record))
        part, total = self.known_part(record, rhs.index), self.summed_part(record, rhs.index, rhs.span)
        if part is not None:
            self.copy(variable, part, out)
        elif total is not None:
            self.apply(variable, total, out)
        elif key in self.shared:
            self.copy(variable, self.shared[key], out)
        else:
            self.shared[key] = variable
            out.append(Binding(variable, Field(rhs.owner, rhs.index, rhs.width, record, rhs.span)))

    # Procedures.

    def procedure(self, variable: Variable, rhs: Lambda, out: Out) -> None:
        if self.inline and self.is_taken_in(variable, rhs):
            self.means[variable] = rhs
        else:
            out.append(Binding(variable, self.lambda_(rhs)))

    def is_taken_in(self, variable: Variable, rhs: Lambda) -> bool:
        """Whether all uses are calls that will be inlined."""
        if rhs in self.reflected:
            return False
        uses = self.uses.get(variable, 0)
        fits = self.fitting.get(variable, {}) == {len(rhs.parameters): uses}
        return fits and (uses == 1 or is_small(rhs))

    def inlined(self, call: Call, out: Out) -> Result | None:
        """Inline a call of a known procedure and return its result; None if the procedure is unknown."""
        known = self.means.get(call.operator) if isinstance(call.operator, Variable) else None
        if not isinstance(known, Lambda):
            return None
        self.again = True
        if is_small(known):
            known = copied(known)  # there may be other calls
            walk(known, self.count, self.enters)
        for parameter, operand in zip(known.parameters, call.operands, strict=True):
            self.copy(parameter, operand, out)
        outer, self.place = self.place, call.span or self.place
        result = self.bindings(known.body, out)
        self.place = outer
        return result

    def call(self, variable: Variable, call: Call, out: Out) -> None:
        result = self.inlined(call, out)
        self.bind_result(variable, call if result is None else result, out)

    def bind_result(self, variable: Variable, result: Result, out: Out) -> None:
        if isinstance(result, Call | If):
            out.append(Binding(variable, result))
        else:
            self.copy(variable, result, out)

    # Branches.

    def unnegated(self, branch: If) -> tuple[Atom, Body, Body]:
        """The test and the arms; (not x) becomes x, with the arms exchanged."""
        test, consequent, alternative = self.atom(branch.test), branch.consequent, branch.alternative
        means = self.means.get(test) if isinstance(test, Variable) else None
        while isinstance(means, Apply) and means.primitive.name == "not":
            (negated,) = means.operands
            if isinstance(negated, GlobalReference):
                break
            test, consequent, alternative = negated, alternative, consequent
            means = self.means.get(test) if isinstance(test, Variable) else None
        return test, consequent, alternative

    def decided(self, branch: If, out: Out) -> Result:
        """The branch with its arms simplified; if the test is known, the result of the chosen arm, its bindings in `out`."""
        test, consequent, alternative = self.unnegated(branch)
        if isinstance(test, Constant):
            return self.bindings(alternative if test.value is FALSE else consequent, out)
        arms = self.arm(consequent), self.arm(alternative)
        return If(test, arms[0], arms[1], branch.span)

    def branch(self, variable: Variable, branch: If, out: Out) -> None:
        self.bind_result(variable, self.decided(branch, out), out)

    def result(self, result: Result, out: Out) -> Result:
        if isinstance(result, Call):
            call = self.substituted_call(result)
            inlined = self.inlined(call, out)
            return call if inlined is None else inlined
        return self.decided(result, out) if isinstance(result, If) else self.atom(result)


def forget(known: dict[Variable, None] | dict[Key, Variable], size: int) -> None:
    """Drop the most recent entries until `size` are left."""
    while len(known) > size:
        known.popitem()


def is_shareable(row: Primitive) -> bool:
    """May two applications to the same operands be one? Not if `eq?` can distinguish their results."""
    is_inner = row.hidden and (row.name in ENTRIES or bool(row.rows))  # `eq?` is never applied to its results
    return row.type.result in IMMEDIATE or row.name in PARTS or is_inner


def other_of(zero: Atom, other: Atom) -> Atom | None:
    """The sum of the known zero and `other`; None if `zero` is not the known zero."""
    is_zero = isinstance(zero, Constant) and zero.value is ZERO
    return other if is_zero and not isinstance(other, GlobalReference) else None


def atom_key(atom: Atom) -> object:
    """A key that is equal only for atoms with certainly the same value."""
    if isinstance(atom, Constant):
        value = atom.value
        return ("real", repr(value)) if type(value) is float else id(value)
    return atom


def is_plain(value: Value) -> bool:
    """Whether a folded result may become a constant of the program."""
    if isinstance(value, String):
        return len(value.text) <= LONGEST
    return type(value) is float or value is NIL or isinstance(value, Boolean | Symbol)


def is_small(lambda_: Lambda) -> bool:
    """Whether it is a short sequence of primitives: cheaper copied than called."""
    body = lambda_.body
    return (
        len(body.bindings) <= SMALL
        and all(isinstance(b, Binding) and isinstance(b.rhs, Apply) for b in body.bindings)
        and not isinstance(body.result, Call | If)
    )


def copied(lambda_: Lambda) -> Lambda:
    """A copy of a small lambda with fresh variables."""
    fresh: dict[Atom, Variable] = {parameter: Variable(parameter.name) for parameter in lambda_.parameters}
    bindings = []
    for binding in lambda_.body.bindings:
        assert isinstance(binding, Binding) and isinstance(binding.rhs, Apply)
        atoms = tuple([fresh.get(atom, atom) for atom in binding.rhs.operands])
        fresh[binding.variable] = Variable(binding.variable.name)
        copy = Apply(binding.rhs.primitive, atoms, binding.rhs.span)
        bindings.append(Binding(fresh[binding.variable], copy))
    result = lambda_.body.result
    assert not isinstance(result, Call | If)
    body = Body(tuple(bindings), fresh.get(result, result))
    return rebuilt(lambda_, body, tuple([fresh[p] for p in lambda_.parameters]))


# The second walk.


class _Sweeper:
    """Removes unused bindings, the last first. `every`: also those of pure operations that could raise, except
    those of the variables `primal`. Lambdas that are `reflected` keep their environments.
    """

    def __init__(
        self,
        keep: frozenset[Lambda],
        droppable: set[Variable],
        every: bool,
        primal: frozenset[Variable] = frozenset(),
        reflected: Container[Lambda] = (),
    ) -> None:
        self.keep = keep
        self.reflected = reflected
        self.droppable = droppable
        self.every = every
        self.primal = primal
        self.live: set[Atom] = set()

    def top(self, lambda_: Lambda) -> Lambda:
        return with_body(lambda_, self.body(lambda_.body))

    def lambda_(self, lambda_: Lambda) -> Lambda:
        if lambda_ in self.keep:
            self.live.update(lambda_.free)
            return lambda_
        body = self.body(lambda_.body)
        if lambda_ in self.reflected:
            self.live.update(lambda_.free)
            return with_body(lambda_, body)
        return rebuilt(lambda_, body)

    def body(self, body: Body, is_read: bool = True) -> Body:
        """`is_read`: whether the body's result is used."""
        result: Result = body.result
        if isinstance(result, If):
            swept = self.branch(result, is_read)
            result = Constant(NIL) if swept is None else swept
        elif is_read or isinstance(result, Call | GlobalReference):
            self.live.update(operands(result))
        else:
            result = Constant(NIL)
        kept: Out = []
        for binding in reversed(body.bindings):
            remains = self.letrec(binding) if isinstance(binding, Letrec) else self.binding(binding)
            if remains is not None:
                kept.append(remains)
        return Body(tuple(reversed(kept)), result)

    def binding(self, binding: Binding) -> Binding | None:
        rhs, is_read = binding.rhs, binding.variable in self.live
        if isinstance(rhs, If):
            branch = self.branch(rhs, is_read)
            return None if branch is None else Binding(binding.variable, branch)
        if not is_read and self.may_go(binding):
            return None
        if isinstance(rhs, Lambda):
            return Binding(binding.variable, self.lambda_(rhs))
        self.live.update(operands(rhs))
        return binding

    def may_go(self, binding: Binding) -> bool:
        match binding.rhs:
            case Apply() as rhs:
                optimistic = self.every and not rhs.primitive.effect and binding.variable not in self.primal
                return optimistic or binding.variable in self.droppable
            case Call() | GlobalReference():
                return False
        return True

    def branch(self, branch: If, is_read: bool) -> If | None:
        """The branch, or None if its result is unused and its arms have no effects."""
        consequent = self.body(branch.consequent, is_read)
        alternative = self.body(branch.alternative, is_read)
        if (
            not is_read
            and is_idle(consequent)
            and is_idle(alternative)
            and not isinstance(branch.test, GlobalReference)
        ):
            return None
        self.live.add(branch.test)
        return If(branch.test, consequent, alternative, branch.span)

    def letrec(self, group: Letrec) -> Letrec | None:
        """The letrec without unused members; members that live members refer to stay."""
        if not any(variable in self.live for variable, _ in group.members):
            return None
        if is_kept(group, self.keep):
            self.live.update(group.free)
            return group
        swept: dict[Variable, Lambda] = {}
        found = True
        while found:
            found = False
            for variable, member in group.members:
                if variable in self.live and variable not in swept:
                    swept[variable] = self.lambda_(member)
                    found = True
        return make_letrec(
            tuple([(variable, swept[variable]) for variable, _ in group.members if variable in swept])
        )


def is_idle(body: Body) -> bool:
    return not body.bindings and isinstance(body.result, Variable | Constant)
