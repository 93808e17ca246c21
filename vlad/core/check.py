"""Check that core is well formed.

Every variable is bound once in the whole nest and only used where it is bound; operands are atoms; a primitive gets as many
operands as its row names; a lambda's `free` covers its uses. Called by passes.py after each pass, in the tests always.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from vlad.core.names import operands
from vlad.core.nodes import (
    Apply,
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


class Malformed(AssertionError):
    """A pass violated a rule of core: an error of this implementation, never of a program."""


def check(
    lambda_: Lambda, after: str = "reading", group: Iterable[Variable] = (), spans: bool = False
) -> None:
    """Raise Malformed, with the text, if a rule is violated. A member of a letrec may refer to its group's members.
    `spans`: require a span on each call. Calls in the system's own procedures and in rules have none.
    """
    try:
        verify(lambda_, group, spans)
    except Malformed as broken:
        raise Malformed(f"after {after}: {broken}\n{lambda_}") from None


def verify(
    lambda_: Lambda, group: Iterable[Variable] = (), spans: bool = False, known: Container[Lambda] = ()
) -> None:
    """Raise Malformed if a rule is violated. Lambdas inside that are `known` to be well formed are skipped. Takes time
    proportional to the nest and its environments.
    """
    _Checker(set(group), spans, known).lambda_(lambda_, set(lambda_.free))


class _Checker:
    def __init__(self, group: set[Variable], spans: bool, known: Container[Lambda]) -> None:
        self.bound: set[Variable] = set()
        self.order: list[Variable] = []  # bound variables in order of binding; an arm removes its own
        self.group = group
        self.spans = spans
        self.known = known
        self.widths: dict[Lambda, int] = {}  # environment sizes of the lambdas visited so far

    def bind(self, variable: Variable, scope: set[Variable]) -> None:
        if variable in self.bound:
            raise Malformed(f"{variable} is bound twice")
        self.bound.add(variable)
        self.order.append(variable)
        scope.add(variable)

    def lambda_(self, lambda_: Lambda, scope: set[Variable]) -> None:
        if not lambda_.parameters:
            raise Malformed("a lambda without parameters")
        for variable in lambda_.free:
            if variable not in scope and variable not in self.group:
                raise Malformed(f"{variable} is captured where it is not bound")
        self.widths.setdefault(lambda_, len(lambda_.free))
        if lambda_ in self.known:
            return
        inner = set(lambda_.free) | self.group
        for parameter in lambda_.parameters:
            self.bind(parameter, inner)
        self.body(lambda_.body, inner)

    def body(self, body: Body, scope: set[Variable]) -> None:
        for binding in body.bindings:
            if isinstance(binding, Letrec):
                self.letrec(binding, scope)
            else:
                self.rhs(binding.rhs, scope)
                self.bind(binding.variable, scope)
        if not isinstance(body.result, Variable | Constant | GlobalReference | Call | If):
            raise Malformed("a result is an atom, a call or an if")
        self.rhs(body.result, scope)

    def arm(self, body: Body, scope: set[Variable]) -> None:
        """Check a body whose variables are in scope in itself only."""
        before = len(self.order)
        self.body(body, scope)
        scope.difference_update(self.order[before:])
        del self.order[before:]

    def letrec(self, group: Letrec, scope: set[Variable]) -> None:
        for variable, _ in group.members:
            self.bind(variable, scope)
        held = {variable for variable, _ in group.members} | set(group.free)
        for _, member in group.members:
            self.widths[member] = len(group.free)
            for variable in member.free:
                if variable not in held:
                    raise Malformed(f"{variable} is missing in the environment of its group")
            self.lambda_(member, scope)

    def rhs(self, rhs: Rhs | Result, scope: set[Variable]) -> None:
        for atom in () if isinstance(rhs, Lambda) else operands(rhs):
            if isinstance(atom, Variable):
                if atom not in scope:
                    raise Malformed(f"{atom} is used where it is not bound")
            elif not isinstance(atom, Constant | GlobalReference):
                raise Malformed("an operand is an atom")
        if self.spans and isinstance(rhs, Apply | Call) and rhs.span is None:
            raise Malformed("an operation that does not say where it was written")
        match rhs:
            case Apply():
                if len(rhs.operands) != len(rhs.primitive.operands):
                    raise Malformed(f"{rhs.primitive.name} on {len(rhs.operands)} operands")
            case Call():
                if not rhs.operands:
                    raise Malformed("a call without operands")
            case If():
                self.arm(rhs.consequent, scope)
                self.arm(rhs.alternative, scope)
            case Lambda():
                self.lambda_(rhs, scope)
            case Record():
                self.width(rhs.owner, len(rhs.fields))
            case Field():
                self.width(rhs.owner, rhs.width)
                if not 0 <= rhs.index < rhs.width:
                    raise Malformed("a field outside its record")

    def width(self, owner: Lambda, width: int) -> None:
        """Check that a record has a field for each variable of its owner's environment. The size is unknown if the owner is
        elsewhere.
        """
        if self.widths.get(owner, width) != width:
            raise Malformed(f"a record of {width} fields for an environment of {self.widths[owner]}")
