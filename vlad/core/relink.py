"""Core → core: the same code over the globals of another session.

In: a body as the expander makes it, and a function from cells to cells.  Out: the body in which each reference to a global is to
the other cell; what refers to none is shared, not copied. Called by session/library.py.
"""

from __future__ import annotations

from collections.abc import Callable

from vlad.core.names import with_body
from vlad.core.nodes import (
    Apply,
    Atom,
    Binding,
    Body,
    Call,
    Constant,
    GlobalReference,
    If,
    Lambda,
    Letrec,
    Result,
    Rhs,
    Variable,
)
from vlad.data.values import Global


def relinked(body: Body, cell_of: Callable[[Global], Global]) -> Body:
    """The body over other cells; `cell_of` is called for each reference, in order. Raises HasRecord for a body with records:
    other code knows their owners by identity.
    """
    return _Relinker(cell_of).body(body)


class HasRecord(Exception):
    """A body that cannot be relinked."""


class _Relinker:
    """Each method returns its argument if nothing in it refers to a global."""

    def __init__(self, cell_of: Callable[[Global], Global]) -> None:
        self.cell_of = cell_of

    def body(self, body: Body) -> Body:
        bindings = [self.letrec(one) if type(one) is Letrec else self.binding(one) for one in body.bindings]
        result: Result = self.rhs(body.result)  # type: ignore[assignment]
        if result is body.result and all(map(_is, bindings, body.bindings)):
            return body
        return Body(tuple(bindings), result)

    def binding(self, binding: Binding) -> Binding:
        rhs = self.rhs(binding.rhs)
        return binding if rhs is binding.rhs else Binding(binding.variable, rhs)

    def letrec(self, group: Letrec) -> Letrec:
        members = [(variable, self.lambda_(member)) for variable, member in group.members]
        if all(new is old for (_, new), (_, old) in zip(members, group.members, strict=True)):
            return group
        return Letrec(tuple(members), group.free)

    def lambda_(self, lambda_: Lambda) -> Lambda:
        if lambda_.space is not None:
            raise HasRecord
        body = self.body(lambda_.body)
        return lambda_ if body is lambda_.body else with_body(lambda_, body)

    def rhs(self, rhs: Rhs) -> Rhs:
        match rhs:
            case Variable() | Constant():
                return rhs
            case GlobalReference():
                return GlobalReference(self.cell_of(rhs.cell), rhs.span)
            case Call():
                operator, operands = self.atom(rhs.operator), self.atoms(rhs.operands)
                if operator is rhs.operator and operands is rhs.operands:
                    return rhs
                return Call(operator, operands, rhs.span)
            case Apply():
                operands = self.atoms(rhs.operands)
                return rhs if operands is rhs.operands else Apply(rhs.primitive, operands, rhs.span)
            case If():
                parts = self.atom(rhs.test), self.body(rhs.consequent), self.body(rhs.alternative)
                is_same = all(map(_is, parts, (rhs.test, rhs.consequent, rhs.alternative)))
                return rhs if is_same else If(*parts, rhs.span)
            case Lambda():
                return self.lambda_(rhs)
        raise HasRecord

    def atom(self, atom: Atom) -> Atom:
        return GlobalReference(self.cell_of(atom.cell), atom.span) if type(atom) is GlobalReference else atom

    def atoms(self, atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return tuple(map(self.atom, atoms)) if GlobalReference in map(type, atoms) else atoms


def _is(a: object, b: object) -> bool:
    return a is b
