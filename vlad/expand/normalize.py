"""Nested expressions → A-normal form: a body under construction, and definitions that refer to each other.

Called by forms.py, which expands subexpressions into such a body from left to right. Knows no keyword.
"""

from __future__ import annotations

from dataclasses import dataclass

from vlad.core.names import free_in_body, make_letrec
from vlad.core.nodes import (
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
from vlad.errors import VladError
from vlad.source import Span

Out = list[Binding | Letrec]


def as_atom(rhs: Rhs, out: Out, name: str = "t") -> Atom:
    """The right-hand side as an operand: bound to a fresh variable unless it is one already."""
    if isinstance(rhs, Variable | Constant | GlobalReference):
        return rhs
    variable = Variable(name)
    out.append(Binding(variable, rhs))
    return variable


def as_result(rhs: Rhs, out: Out) -> Result:
    """The right-hand side at the end of a body: calls and branches stay in tail position."""
    return rhs if isinstance(rhs, Call | If) else as_atom(rhs, out, "result")


@dataclass(frozen=True, slots=True, eq=False)
class Defined:
    """An expanded item of a letrec*: a definition, or an expression for effect when `variable` is None."""

    variable: Variable | None
    bindings: tuple[Binding | Letrec, ...]
    rhs: Rhs
    span: Span


def arrange(items: list[Defined], out: Out) -> None:
    """Put definitions that may refer to each other in order. Values and effects stay as they are written; a procedure is made
    just before the first item that needs it, for a closure holds the values of its variables. Only procedures that reach
    themselves become a letrec group."""
    lambdas = {
        item.variable: item for item in items if item.variable is not None and isinstance(item.rhs, Lambda)
    }
    arranged = _Arranged(lambdas, {i.variable for i in items if i.variable is not None} - set(lambdas), out)
    for item in items:
        if item.variable in lambdas:
            continue
        arranged.need(free_in_body(Body((*item.bindings, Binding(Variable("value"), item.rhs)), Constant(()))), item.span)
        out += item.bindings
        out.append(Binding(item.variable or Variable("ignored"), item.rhs))
        if item.variable is not None:
            arranged.waiting.discard(item.variable)
    arranged.need(tuple(lambdas), items[-1].span)


class _Arranged:
    def __init__(self, lambdas: dict[Variable, Defined], values: set[Variable], out: Out) -> None:
        self.lambdas = lambdas
        self.waiting = values  # values that are not computed yet
        self.out = out
        self.done: set[Variable] = set()

    def need(self, variables: tuple[Variable, ...], span: Span) -> None:
        """Make the procedures among these variables, and those they need."""
        for variable in variables:
            if variable in self.waiting:
                raise used_too_early(variable, span)
        for group in self.components([v for v in variables if v in self.lambdas and v not in self.done]):
            self.emit(group, span)

    def emit(self, group: list[Variable], span: Span) -> None:
        members = []
        for variable in group:
            lambda_ = self.lambdas[variable].rhs
            assert isinstance(lambda_, Lambda)
            members.append((variable, lambda_))
            for free in lambda_.free:
                if free in self.waiting:
                    raise used_too_early(free, span)
        self.done.update(group)
        if len(group) == 1 and group[0] not in members[0][1].free:
            self.out.append(Binding(*members[0]))
        else:
            self.out.append(make_letrec(tuple(members)))

    def needed_by(self, variable: Variable) -> list[Variable]:
        lambda_ = self.lambdas[variable].rhs
        assert isinstance(lambda_, Lambda)
        return [v for v in lambda_.free if v in self.lambdas and v not in self.done]

    def components(self, roots: list[Variable]) -> list[list[Variable]]:
        """Strongly connected components in dependency order (Tarjan 1972, with a stack of its own)."""
        index: dict[Variable, int] = {}
        low: dict[Variable, int] = {}
        path: list[Variable] = []
        on_path: set[Variable] = set()
        found: list[list[Variable]] = []
        for root in roots:
            work: list[tuple[Variable, list[Variable]]] = []
            if root not in index:
                work.append((root, self.needed_by(root)))
                index[root] = low[root] = len(index)
                path.append(root)
                on_path.add(root)
            while work:
                variable, rest = work[-1]
                if rest:
                    other = rest.pop(0)
                    if other not in index:
                        index[other] = low[other] = len(index)
                        path.append(other)
                        on_path.add(other)
                        work.append((other, self.needed_by(other)))
                    elif other in on_path:
                        low[variable] = min(low[variable], index[other])
                    continue
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[variable])
                if low[variable] == index[variable]:
                    at = path.index(variable)
                    group = path[at:]
                    del path[at:]
                    on_path.difference_update(group)
                    found.append(sorted(group, key=index.__getitem__))
        return found


def used_too_early(variable: Variable, span: Span) -> VladError:
    return VladError(
        "used-before-definition",
        f"Unbound variable: {variable.name}",
        span,
        hint="it is used before its definition; move the definition up",
    )
