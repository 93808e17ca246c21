"""Core → core: the forward transform, twin of reverse.py.

In: a Lambda in A-normal form.  Out: its forward entry, a Lambda from (df . (dx . x)) to (y . dy), over the same environment.
    df       the tangent of the closure itself: a record over its environment
    dx       the tangent of the argument, packed like the argument tuple; x comes last so that its operands stay flat
Tangents are bare, shaped like their primals; known zeros are not computed. A tail call stays a tail
call. Perturbation confusion cannot arise, as an inner derivative is transformed code of transformed code: nesting
keeps levels distinct (Siskind & Pearlmutter 2008).
"""

from __future__ import annotations

from dataclasses import replace

from vlad.ad.rules import KNOWN_ZERO, LEVEL, Basis, Builder, Rules
from vlad.ad.tangent_spaces import field_tangent, record_tangent
from vlad.core.nodes import (
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
    Rhs,
    Variable,
)
from vlad.data.source import Span

Tangents = dict[Variable, Atom]  # an absent variable has the known zero


def forward_entry(
    lambda_: Lambda,
    environment: tuple[Variable, ...],
    group: tuple[tuple[Variable, Lambda], ...],
    owner: Lambda,
    basis: Basis,
    rules: Rules,
    level: int | None,
) -> Lambda:
    """The forward entry of a lambda; the arguments are those of `reverse.tail_entry`."""
    transform = _Forward(basis, rules, level)
    own, argument = Variable("self.tangent"), Variable("argument.tangent")
    builder = Builder()
    tangents: Tangents = {member: own for member, _ in group}
    for index, variable in enumerate(environment):
        field = Field(owner, index, len(environment), own, lambda_.span)
        tangents[variable] = builder.bind(field, DerivedName(variable.name, ".tangent"))
    transform.destructure(builder, lambda_.parameters, argument, tangents, lambda_.span)
    body = transform.body(lambda_.body, tangents, builder)
    return replace(lambda_, parameters=(own, argument, *lambda_.parameters), body=body, free=environment)


class _Forward:
    def __init__(self, basis: Basis, rules: Rules, level: int | None) -> None:
        self.basis = basis
        self.rules = rules
        self.has_cells = level is not None  # a call without tangents may read some from a cell
        self.level = Constant(float(level or 0))

    def destructure(
        self,
        builder: Builder,
        parameters: tuple[Variable, ...],
        packed: Variable,
        tangents: Tangents,
        span: Span | None,
    ) -> None:
        """Bind the parameters' tangents to the parts of the packed tangent."""
        for parameter in parameters[:-1]:
            name = DerivedName(parameter.name, ".tangent")
            tangents[parameter] = builder.apply(name, self.basis.car, packed, span=span)
            packed = builder.apply("rest.tangent", self.basis.cdr, packed, span=span)
        tangents[parameters[-1]] = packed

    def body(self, body: Body, tangents: Tangents, builder: Builder) -> Body:
        """A body in tail position: ends in (y . dy) or in a tail call that returns such a pair."""
        for binding in body.bindings:
            self._binding(builder, binding, tangents)
        result = self._result(builder, body.result, tangents)
        return Body(tuple(builder.bindings), result)

    def _result(self, builder: Builder, result: Result, tangents: Tangents) -> Result:
        if type(result) is If:
            arms = [
                self.body(arm, dict(tangents), Builder()) for arm in (result.consequent, result.alternative)
            ]
            return If(result.test, arms[0], arms[1], result.span)
        if type(result) is Call:
            return self._call(builder, result, tangents)
        return builder.apply("both", self.basis.cons, result, self._tangent(result, tangents))

    def _tangent(self, atom: Atom, tangents: Tangents) -> Atom:
        return tangents.get(atom, KNOWN_ZERO) if type(atom) is Variable else KNOWN_ZERO

    def _call(self, builder: Builder, call: Call, tangents: Tangents) -> Call:
        """((forward-entry f) df dx x ...)"""
        parts = [self._tangent(operand, tangents) for operand in call.operands]
        packed = parts[-1]
        for part in reversed(parts[:-1]):
            if part is not KNOWN_ZERO or packed is not KNOWN_ZERO:
                packed = builder.apply("operands.tangent", self.basis.cons, part, packed, span=call.span)
        entry = builder.apply("entry", self.basis.forward_entry, call.operator, span=call.span)
        operands = (self._tangent(call.operator, tangents), packed, *call.operands)
        return Call(entry, operands, call.span)

    def _binding(self, builder: Builder, binding: Binding | Letrec, tangents: Tangents) -> None:
        if type(binding) is Letrec:
            builder.bindings.append(binding)
            record = self._record(builder, binding.members[0][1], binding.free, tangents, None)
            if record is not None:
                tangents |= {member: record for member, _ in binding.members}
            return
        rhs, variable = binding.rhs, binding.variable
        if type(rhs) is Call and (
            self.has_cells
            or any(type(a) is Variable and a in tangents for a in (rhs.operator, *rhs.operands))
        ):
            self._take_result(builder, self._call(builder, rhs, tangents), variable, tangents)
        elif type(rhs) is If:
            self._branch(builder, variable, rhs, tangents)
        else:
            builder.bindings.append(binding)
            tangent = self._rhs(builder, variable, rhs, tangents)
            if tangent is not None and tangent is not KNOWN_ZERO:
                tangents[variable] = tangent

    def _take_result(self, builder: Builder, rhs: Call | If, variable: Variable, tangents: Tangents) -> None:
        both = builder.bind(rhs, "both")
        builder.bindings.append(Binding(variable, Apply(self.basis.car, (both,), rhs.span)))
        tangents[variable] = builder.apply(
            DerivedName(variable.name, ".tangent"), self.basis.cdr, both, span=rhs.span
        )

    def _branch(self, builder: Builder, variable: Variable, branch: If, tangents: Tangents) -> None:
        arms = [self.body(arm, dict(tangents), Builder()) for arm in (branch.consequent, branch.alternative)]
        self._take_result(builder, If(branch.test, arms[0], arms[1], branch.span), variable, tangents)

    def _rhs(self, builder: Builder, variable: Variable, rhs: Rhs, tangents: Tangents) -> Atom | None:
        match rhs:
            case Apply():
                actual: dict[str, Atom] = dict(zip(rhs.primitive.operands, rhs.operands, strict=True))
                present = {
                    "d" + name: tangents[operand]
                    for name, operand in zip(rhs.primitive.operands, rhs.operands, strict=True)
                    if type(operand) is Variable and operand in tangents
                }
                if present or rhs.primitive.state:
                    actual["r"] = variable
                    if rhs.primitive.state:
                        actual[LEVEL] = self.level
                    return self.rules.tangent(builder, rhs.primitive, actual | present, rhs.span)
            case Lambda():
                return self._record(builder, rhs, rhs.free, tangents, rhs.span)
            case Record():
                fields = tuple([self._tangent(field, tangents) for field in rhs.fields])
                if any(field is not KNOWN_ZERO for field in fields):
                    if rhs.owner.space is not None:
                        return record_tangent(self.basis, builder, variable, rhs, fields)
                    return builder.bind(Record(rhs.owner, fields, rhs.span), "record.tangent")
            case Field():
                tangent = self._tangent(rhs.record, tangents)
                if tangent is not KNOWN_ZERO:
                    if rhs.owner.space is not None:
                        return field_tangent(self.basis, builder, variable, rhs, tangent)
                    field = Field(rhs.owner, rhs.index, rhs.width, tangent, rhs.span)
                    return builder.bind(field, "field.tangent")
            case Variable():
                return tangents.get(rhs)
        return None

    def _record(
        self,
        builder: Builder,
        owner: Lambda,
        environment: tuple[Variable, ...],
        tangents: Tangents,
        span: Span | None,
    ) -> Atom | None:
        """The tangent of a closure: the tangents of the values it captures."""
        fields = tuple([tangents.get(variable, KNOWN_ZERO) for variable in environment])
        if all(field is KNOWN_ZERO for field in fields):
            return None
        return builder.bind(Record(owner, fields, span), "closure.tangent")
