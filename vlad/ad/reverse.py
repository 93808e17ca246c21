"""Core → core: the reverse transform (Pearlmutter & Siskind 2008, section 4), in the form that keeps tail calls.

In: a Lambda in A-normal form.  Out: its tail entry, a Lambda from (κ . x) to (y . β), over the same environment.
    κ        the backpropagator, accumulated so far, for the pair (f̄ . x̄) of this call
    β        ȳ ↦ κ (f̄ . x̄)
With κ the identity it is the textbook transform, which non-tail calls use.
Called by evaluate/machine.py on closures' lambdas (and by the compiler on types'); independent of both. The output is core
like any other, so it can be transformed again: derivatives nest this way.

Differences from the paper, and reasons: values stay bare, so a sensitivity is the only new variable of
a variable; known primitives' adjoints are emitted in place; branches are transformed natively; a call in
tail position passes κ on instead of building the backpropagator after the callee returned, so loops stay loops
in both phases. κ is the first operand so that (κ a b) is κ followed by the operand tuple (a . b), without building a
tuple. Forward bindings keep their variables, as the user's lambdas inside are shared, as the same nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from vlad.ad.rules import KNOWN_ZERO, LEVEL, Basis, Builder, Rules
from vlad.ad.tangent_spaces import fields_sensitivity, record_sensitivity
from vlad.core.names import free_in_body, make_lambda
from vlad.core.nodes import (
    RESULT,
    Apply,
    Atom,
    Binding,
    Body,
    Call,
    Constant,
    DerivedName,
    Field,
    If,
    Lambda,
    Letrec,
    Record,
    Result,
    Variable,
)
from vlad.data.source import Span

# A branch in tail position copies the reverse part of the preceding steps into each of its leaves, so that an
# iteration of a loop allocates one closure. Beyond this many steps the part becomes a procedure of its own.
COPIED_STEPS = 12

# A backpropagator runs in a level of its own, which is begun for it.
INNERMOST = Constant(0.0)


class Called:
    """A step of the reverse part: `variable` is the result of a call whose backpropagator is `back`. A plain class, as a
    dataclass costs time when programs start.
    """

    __slots__ = ("back", "operands", "operator", "span", "variable")

    def __init__(
        self,
        variable: Variable,
        operator: Atom,
        operands: tuple[Atom, ...],
        back: Variable,
        span: Span | None,
    ) -> None:
        self.variable = variable
        self.operator = operator
        self.operands = operands
        self.back = back
        self.span = span


class Branched:
    """`variable` is the result of an if; `back` maps its sensitivity to those of `live`, the arms' free variables."""

    __slots__ = ("back", "live", "span", "variable")

    def __init__(
        self, variable: Variable, live: tuple[Variable, ...], back: Variable, span: Span | None
    ) -> None:
        self.variable = variable
        self.live = live
        self.back = back
        self.span = span


Step = Binding | Letrec | Called | Branched


class Sensitivities:
    """The sensitivities accumulated so far, by variable; an absent variable has the known zero."""

    def __init__(self, rules: Rules, builder: Builder) -> None:
        self.rules = rules
        self.builder = builder
        self._of: dict[Variable, Atom] = {}

    def add(self, to: Atom, contribution: Atom | None, span: Span | None = None) -> None:
        if type(to) is Variable and contribution is not None and contribution is not KNOWN_ZERO:
            name = DerivedName(to.name, ".sensitivity")
            total = self.rules.sum(self.builder, self._of.get(to), contribution, name, span)
            assert total is not None
            self._of[to] = total

    def get(self, variable: Variable) -> Atom | None:
        return self._of.get(variable)

    def or_zero(self, variable: Variable) -> Atom:
        return self._of.get(variable, KNOWN_ZERO)


Finish = Callable[[Sensitivities], Result]


def tail_entry(
    lambda_: Lambda,
    environment: tuple[Variable, ...],
    group: tuple[tuple[Variable, Lambda], ...],
    owner: Lambda,
    basis: Basis,
    rules: Rules,
    level: int | None,
) -> Lambda:
    """The tail entry of a lambda. `environment` and `group` are those of its closures; `owner` is the untransformed lambda
    that owns the records of its environment sensitivities. `level`: in how many levels of differentiation, each with shadows
    of cells, the lambda runs; None if there are no cells.
    """
    kappa = Variable("k")

    def finish(sensitivities: Sensitivities) -> Result:
        for member, _ in group:
            spread(sensitivities, owner, environment, sensitivities.get(member), lambda_.span)
        fields = tuple([sensitivities.or_zero(v) for v in environment])
        own: Atom = KNOWN_ZERO
        if fields:
            own = sensitivities.builder.bind(Record(owner, fields, lambda_.span), "environment")
        arguments = tuple([sensitivities.or_zero(v) for v in lambda_.parameters])
        return Call(kappa, (own, *arguments), lambda_.span)

    body = _Reverse(basis, rules, lambda_.name, level is not None).transform(lambda_.body, [], finish)
    return replace(lambda_, parameters=(kappa, *lambda_.parameters), body=body, free=environment)


def spread(
    sensitivities: Sensitivities,
    owner: Lambda,
    environment: tuple[Variable, ...],
    record: Atom | None,
    span: Span | None,
) -> None:
    """Add the fields of a closure's sensitivity to the sensitivities of the captured variables."""
    if record is not None:
        for index, variable in enumerate(environment):
            field = sensitivities.builder.bind(
                Field(owner, index, len(environment), record, span), variable.name + ".part"
            )
            sensitivities.add(variable, field, span)


class _Reverse:
    def __init__(self, basis: Basis, rules: Rules, name: str, has_cells: bool) -> None:
        self.basis = basis
        self.rules = rules
        self.name = name
        self.has_cells = has_cells  # a call whose result has no sensitivity may have changed one
        self.shapes: dict[tuple[Variable, str], Atom] = {}

    def transform(self, body: Body, steps: list[Step], finish: Finish) -> Body:
        """The forward part of a body, ending in (y . β) or a tail call that returns such a pair."""
        forward = Builder()
        steps = list(steps)
        for binding in body.bindings:
            steps.append(self._forward(forward, binding))
        result = self._result(forward, body.result, steps, finish)
        return Body(tuple(forward.bindings), result)

    def _forward(self, forward: Builder, binding: Binding | Letrec) -> Step:
        if type(binding) is Binding:
            rhs, variable = binding.rhs, binding.variable
            if type(rhs) is Call:
                entry = forward.apply("entry", self.basis.tail_entry, rhs.operator, span=rhs.span)
                both = forward.bind(Call(entry, (self.basis.identity, *rhs.operands), rhs.span), "both")
                back = self._destructure(forward, variable, both, rhs.span)
                return Called(variable, rhs.operator, rhs.operands, back, rhs.span)
            if type(rhs) is If:
                return self._branch(forward, variable, rhs)
        forward.bindings.append(binding)
        if type(binding) is Binding and type(binding.rhs) is Apply:
            self._keep_shapes(forward, binding.rhs, binding.variable)
        return binding

    def _keep_shapes(self, forward: Builder, rhs: Apply, variable: Variable) -> None:
        """Save the shapes of operands that broadcast, for the reverse phase. Of reals nothing is saved."""
        names = rhs.primitive.operands
        if self.rules.needs_shapes(rhs.primitive, dict(zip(names, rhs.operands, strict=True))):
            for name, operand in zip(names, rhs.operands, strict=True):
                if type(operand) is Variable:
                    witness = forward.apply(
                        "shape", self.basis.shape_witness, operand, variable, span=rhs.span
                    )
                    self.shapes[variable, "~" + name] = witness

    def _destructure(
        self, forward: Builder, variable: Variable, both: Variable, span: Span | None
    ) -> Variable:
        forward.bindings.append(Binding(variable, Apply(self.basis.car, (both,), span)))
        return forward.apply(variable.name + ".back", self.basis.cdr, both, span=span)

    def _branch(self, forward: Builder, variable: Variable, branch: If) -> Step:
        """An if whose value is used: each arm returns (v . β), where β returns a tuple over the arms' free variables."""
        live = tuple(dict.fromkeys(free_in_body(branch.consequent) + free_in_body(branch.alternative)))

        def finish(sensitivities: Sensitivities) -> Result:
            parts = [sensitivities.or_zero(v) for v in live]
            packed: Atom = parts[-1] if parts else KNOWN_ZERO
            for part in reversed(parts[:-1]):
                packed = sensitivities.builder.apply("parts", self.basis.cons, part, packed, span=branch.span)
            return packed

        arms = [self.transform(arm, [], finish) for arm in (branch.consequent, branch.alternative)]
        both = forward.bind(If(branch.test, arms[0], arms[1], branch.span), "both")
        return Branched(variable, live, self._destructure(forward, variable, both, branch.span), branch.span)

    def _result(self, forward: Builder, result: Result, steps: list[Step], finish: Finish) -> Result:
        if type(result) is If:
            if len(steps) > COPIED_STEPS:
                steps, finish = self._join(forward, result, steps, finish)
            arms = [self.transform(arm, steps, finish) for arm in (result.consequent, result.alternative)]
            return If(result.test, arms[0], arms[1], result.span)
        if type(result) is Call:
            seeds = (
                Variable("target.sensitivity"),
                *[Variable("argument.sensitivity") for _ in result.operands],
            )
            back = self._backpropagator(
                seeds, (result.operator, *result.operands), steps, finish, result.span
            )
            kappa = forward.bind(back, "back")
            entry = forward.apply("entry", self.basis.tail_entry, result.operator, span=result.span)
            return Call(entry, (kappa, *result.operands), result.span)
        seed = Variable(DerivedName(RESULT, ".sensitivity"))
        back = self._backpropagator((seed,), (result,), steps, finish, None)
        return forward.apply("both", self.basis.cons, result, forward.bind(back, "back"))

    def _join(
        self, forward: Builder, branch: If, steps: list[Step], finish: Finish
    ) -> tuple[list[Step], Finish]:
        """One procedure for the reverse part of the steps before a branch, called at the end of each leaf's."""
        live = tuple(dict.fromkeys(free_in_body(branch.consequent) + free_in_body(branch.alternative)))
        seeds = tuple([Variable(DerivedName(v.name, ".sensitivity")) for v in live]) or (Variable("nothing"),)
        joined = forward.bind(self._backpropagator(seeds, live, steps, finish, branch.span), "join")

        def call_joined(sensitivities: Sensitivities) -> Result:
            parts = tuple([sensitivities.or_zero(v) for v in live]) or (KNOWN_ZERO,)
            return Call(joined, parts, branch.span)

        return [], call_joined

    def _backpropagator(
        self,
        seeds: tuple[Variable, ...],
        targets: tuple[Atom, ...],
        steps: list[Step],
        finish: Finish,
        span: Span | None,
    ) -> Lambda:
        """λ seeds. the reverse part of the steps, where each seed is the sensitivity of its target."""
        reverse = Builder()
        sensitivities = Sensitivities(self.rules, reverse)
        for target, seed in zip(targets, seeds, strict=False):
            sensitivities.add(target, seed, span)
        for step in reversed(steps):
            self._reverse(sensitivities, step)
        result = finish(sensitivities)
        body = Body(tuple(reverse.bindings), result)
        return make_lambda(seeds, body, self.name + ".back", span, backpropagator_of=self.name)

    def _reverse(self, to: Sensitivities, step: Step) -> None:
        match step:
            case Letrec():
                self._reverse_letrec(to, step)
            case Called():
                self._reverse_call(to, step)
            case Branched():
                self._reverse_branch(to, step)
            case Binding():
                sensitivity = to.get(step.variable)
                if sensitivity is not None:
                    self._reverse_binding(to, step, sensitivity)
                elif type(step.rhs) is Apply and step.rhs.primitive.state:
                    self._reverse_binding(to, step, KNOWN_ZERO)

    def _reverse_binding(self, to: Sensitivities, binding: Binding, sensitivity: Atom) -> None:
        match binding.rhs:
            case Apply() as rhs:
                operands = dict(zip(rhs.primitive.operands, rhs.operands, strict=True))
                actual: dict[str, Atom] = {**operands, "r": binding.variable, "s": sensitivity}
                if rhs.primitive.state:
                    actual[LEVEL] = INNERMOST
                for name in rhs.primitive.operands:
                    shape = self.shapes.get((binding.variable, "~" + name))
                    if shape is not None:
                        actual["~" + name] = shape
                for name in rhs.primitive.reverse or rhs.primitive.operands:  # in the order of the rules
                    operand = operands[name]
                    if type(operand) is Variable or rhs.primitive.state:
                        rule = self.rules.sensitivity
                        to.add(operand, rule(to.builder, rhs.primitive, name, actual, rhs.span), rhs.span)
            case Lambda() as rhs:
                spread(to, rhs, rhs.free, sensitivity, rhs.span)
            case Record() as rhs:
                space = rhs.owner.space
                if space is not None and space.tangent is not None:
                    parts = fields_sensitivity(self.basis, to.builder, binding.variable, rhs, sensitivity)
                    self._add_tuple(to, rhs.fields, parts, rhs.span)
                    return
                for index, operand in enumerate(rhs.fields):
                    if type(operand) is Variable:
                        to.add(
                            operand,
                            to.builder.bind(
                                Field(rhs.owner, index, len(rhs.fields), sensitivity, rhs.span), "field"
                            ),
                        )
            case Field() as rhs:
                if rhs.owner.space is not None:
                    whole = record_sensitivity(self.basis, to.builder, binding.variable, rhs, sensitivity)
                    to.add(rhs.record, whole)
                    return
                fields = [KNOWN_ZERO] * rhs.index + [sensitivity] + [KNOWN_ZERO] * (rhs.width - rhs.index - 1)
                to.add(rhs.record, to.builder.bind(Record(rhs.owner, tuple(fields), rhs.span), "record"))
            case Variable() as source:
                to.add(source, sensitivity)

    def _reverse_letrec(self, to: Sensitivities, step: Letrec) -> None:
        total: Atom | None = None
        for member, _ in step.members:
            total = self.rules.sum(to.builder, total, to.get(member), "group", None)
        spread(to, step.members[0][1], step.free, total, step.members[0][1].span)

    def _reverse_call(self, to: Sensitivities, step: Called) -> None:
        sensitivity = to.get(step.variable)
        if sensitivity is None and not self.has_cells:
            return
        sensitivity = sensitivity or KNOWN_ZERO
        both = to.builder.bind(Call(step.back, (sensitivity,), step.span), "both")
        if type(step.operator) is Variable:
            to.add(step.operator, to.builder.apply("target", self.basis.car, both, span=step.span), step.span)
        rest = to.builder.apply("argument", self.basis.cdr, both, span=step.span)
        self._add_tuple(to, step.operands, rest, step.span)

    def _add_tuple(
        self, to: Sensitivities, targets: tuple[Atom, ...], packed: Variable, span: Span | None
    ) -> None:
        """Add the parts of a tuple (a . (b . c)) to as many targets."""
        for target in targets[:-1]:
            to.add(target, to.builder.apply("part", self.basis.car, packed, span=span), span)
            packed = to.builder.apply("rest", self.basis.cdr, packed, span=span)
        to.add(targets[-1], packed, span)

    def _reverse_branch(self, to: Sensitivities, step: Branched) -> None:
        sensitivity = to.get(step.variable)
        if self.has_cells or (sensitivity is not None and step.live):
            packed = to.builder.bind(Call(step.back, (sensitivity or KNOWN_ZERO,), step.span), "parts")
            if step.live:
                self._add_tuple(to, step.live, packed, step.span)
