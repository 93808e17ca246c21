"""Free variables and the parts of bodies. Constructors that compute `free`, which the nodes store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vlad.core.nodes import (
    Apply,
    Atom,
    Body,
    Call,
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


def operands(rhs: Rhs | Result) -> tuple[Atom, ...]:
    """The atoms that a right-hand side reads itself, in order, without those of nested bodies and lambdas."""
    match rhs:
        case Call():
            return (rhs.operator, *rhs.operands)
        case Apply():
            return rhs.operands
        case If():
            return (rhs.test,)
        case Record():
            return rhs.fields
        case Field():
            return (rhs.record,)
        case Lambda():
            return rhs.free
    return (rhs,)


def _note(body: Body, bound: set[Variable], found: dict[Variable, None]) -> None:
    for binding in body.bindings:
        if isinstance(binding, Letrec):
            bound.update(variable for variable, _ in binding.members)
            for variable in binding.free:
                if variable not in bound:
                    found[variable] = None
        else:
            _note_rhs(binding.rhs, bound, found)
            bound.add(binding.variable)
    _note_rhs(body.result, bound, found)


def _note_rhs(rhs: Rhs, bound: set[Variable], found: dict[Variable, None]) -> None:
    for atom in operands(rhs):
        if type(atom) is Variable and atom not in bound:
            found[atom] = None
    if type(rhs) is If:
        _note(rhs.consequent, bound, found)
        _note(rhs.alternative, bound, found)


def free_in_body(body: Body, bound: Iterable[Variable] = ()) -> tuple[Variable, ...]:
    """Free variables in order of first occurrence. Linear in the body: nested lambdas store theirs."""
    found: dict[Variable, None] = {}
    _note(body, set(bound), found)
    return tuple(found)


def make_lambda(
    parameters: tuple[Variable, ...],
    body: Body,
    name: str = "",
    span: Span | None = None,
    backpropagator_of: str | None = None,
) -> Lambda:
    return Lambda(parameters, body, free_in_body(body, parameters), name, span, backpropagator_of)


def with_body(lambda_: Lambda, body: Body) -> Lambda:
    """The lambda with another body, over the same variables."""
    return _like(lambda_, lambda_.parameters, body, lambda_.free)


def rebuilt(lambda_: Lambda, body: Body, parameters: tuple[Variable, ...] | None = None) -> Lambda:
    """The lambda with another body, over what that captures."""
    taken = lambda_.parameters if parameters is None else parameters
    return _like(lambda_, taken, body, free_in_body(body, taken))


def _like(one: Lambda, parameters: tuple[Variable, ...], body: Body, free: tuple[Variable, ...]) -> Lambda:
    """A lambda with the description of another one. `dataclasses.replace` takes several times as long."""
    return Lambda(
        parameters, body, free, one.name, one.span, one.backpropagator_of, one.fields, one.is_continuation,
        one.space,
    )  # fmt: skip


def make_letrec(members: tuple[tuple[Variable, Lambda], ...]) -> Letrec:
    own = {variable for variable, _ in members}
    found = dict.fromkeys(v for _, member in members for v in member.free if v not in own)
    return Letrec(members, tuple(found))


def sub_bodies(rhs: Rhs | Result) -> Iterator[Body]:
    """Bodies evaluated in the same scope: the arms of an if."""
    if type(rhs) is If:
        yield rhs.consequent
        yield rhs.alternative


def lambdas_within(body: Body) -> list[Lambda]:
    """The lambdas that a body binds, including those in its branches, excluding those inside other lambdas."""
    found: list[Lambda] = []
    work = [body]
    while work:
        current = work.pop()
        for binding in current.bindings:
            if isinstance(binding, Letrec):
                found += [lambda_ for _, lambda_ in binding.members]
            elif isinstance(binding.rhs, Lambda):
                found.append(binding.rhs)
            else:
                work += sub_bodies(binding.rhs)
        work += sub_bodies(current.result)
    return found
