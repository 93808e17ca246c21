"""Nested expressions → A-normal form: a body under construction, and mutually recursive definitions.

Called by expander.py and by the functions of keywords, which expand subexpressions into such a body from left to right.
Independent of keywords.
"""

from __future__ import annotations

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
from vlad.data.errors import VladError
from vlad.data.source import Span
from vlad.data.values import NIL

Out = list[Binding | Letrec]


def as_atom(rhs: Rhs, out: Out, name: str = "t") -> Atom:
    """The right-hand side as an operand: bound to a fresh variable unless it is an atom."""
    if isinstance(rhs, Variable | Constant | GlobalReference):
        return rhs
    variable = Variable(name)
    out.append(Binding(variable, rhs))
    return variable


def for_effect(rhs: Rhs, out: Out) -> None:
    """An unused value. A top-level name is read all the same, as it may be unbound."""
    if not isinstance(rhs, Variable | Constant):
        out.append(Binding(Variable("ignored"), rhs))


def as_result(rhs: Rhs, out: Out) -> Result:
    """The right-hand side at the end of a body: calls and branches stay in tail position."""
    return rhs if isinstance(rhs, Call | If) else as_atom(rhs, out, "result")


class Group:
    """Mutually visible definitions, while their values are expanded; `mentions` are those that the present value refers to."""

    __slots__ = ("mentions",)

    def __init__(self) -> None:
        self.mentions: dict[Variable, Span] = {}


class Pending:
    """The meaning of a name while the group that defines it is being expanded."""

    __slots__ = ("variable", "group")

    def __init__(self, variable: Variable, group: Group) -> None:
        self.variable = variable
        self.group = group

    def mention(self, span: Span) -> Variable:
        self.group.mentions.setdefault(self.variable, span)
        return self.variable


class Defined:
    """An expanded item of a letrec*: its bindings, the value (None if there are only bindings), the name (None for an
    expression for effect), and the names of the group that it mentions. A plain class, as a dataclass costs time when programs
    start.
    """

    __slots__ = ("bindings", "mentions", "rhs", "variable")

    def __init__(
        self,
        variable: Variable | None,
        bindings: tuple[Binding | Letrec, ...],
        rhs: Rhs | None,
        mentions: dict[Variable, Span],
    ) -> None:
        self.variable = variable
        self.bindings = bindings
        self.rhs = rhs
        self.mentions = mentions


def arrange(items: list[Defined], out: Out) -> None:
    """Put definitions that may refer to each other in order. Values and effects stay as they are written. A procedure is made
    as soon as the values that it captures exist, as a closure stores the values of its variables. Only recursive procedures
    become a letrec group.
    """
    plan = _Plan(_separated(items))
    plan.make_procedures(-1, out)
    for at, item in enumerate(plan.items):
        if at not in plan.lambdas:
            plan.check(at)
            out += item.bindings
            if item.rhs is not None and item.variable is not None:
                out.append(Binding(item.variable, item.rhs))
            elif item.rhs is not None:
                for_effect(item.rhs, out)
        plan.make_procedures(at, out)


def _separated(items: list[Defined]) -> list[Defined]:
    """Split a procedure over local variables, (define f (let (…) (lambda …))), into two items: the variables, and
    the procedure, which may refer to itself.
    """
    separated = []
    for item in items:
        if isinstance(item.rhs, Lambda) and item.bindings and item.variable is not None:
            inside = free_in_body(Body(item.bindings, Constant(NIL)))
            mentions = {variable: item.mentions[variable] for variable in inside if variable in item.mentions}
            separated.append(Defined(None, item.bindings, None, mentions))
            item = Defined(item.variable, (), item.rhs, item.mentions)
        separated.append(item)
    return separated


class _Plan:
    """When each procedure can be made.

    lambdas   by place: the items that are procedures
    ready     for each of them, the place of the last item that must have been computed before; -1 for none
    culprit   the name and place in the text that determine `ready`
    groups    by place: the groups of procedures that become ready there, in order of dependency
    """

    def __init__(self, items: list[Defined]) -> None:
        self.items = items
        self.place = {item.variable: at for at, item in enumerate(items) if item.variable is not None}
        self.lambdas: dict[int, Lambda] = {}
        for at, item in enumerate(items):
            if isinstance(item.rhs, Lambda) and item.variable is not None:
                self.lambdas[at] = item.rhs
        self.ready: dict[int, int] = {}
        self.culprit: dict[int, tuple[Variable, Span]] = {}
        self.groups: dict[int, list[list[int]]] = {}
        for group in self.components():
            self.schedule(group)

    def needs(self, at: int) -> list[int]:
        """Places of the group's items that a procedure captures."""
        return [self.place[variable] for variable in self.lambdas[at].free if variable in self.place]

    def schedule(self, group: list[int]) -> None:
        ready = -1
        culprit = None
        for at in group:
            if at and self.items[at - 1].rhs is None and ready < at - 1:
                ready = at - 1  # its own variables
            for need in self.needs(at):
                if need in self.lambdas:
                    when = self.ready.get(need, -1)
                    why = self.culprit.get(need)
                else:
                    when = need
                    variable = self.items[need].variable
                    assert variable is not None
                    why = (variable, self.items[at].mentions[variable])
                if when > ready:
                    ready, culprit = when, why
        for at in group:
            self.ready[at] = ready
            if culprit is not None:
                self.culprit[at] = culprit
        self.groups.setdefault(ready, []).append(group)

    def check(self, at: int) -> None:
        """Raise VladError if the value at this place mentions one that does not exist yet."""
        for variable, span in self.items[at].mentions.items():
            other = self.place[variable]
            if other not in self.lambdas:
                if other >= at:
                    raise used_too_early(variable, span, "its value is needed here")
            elif self.ready[other] >= at:
                culprit = self.culprit.get(other, (variable, span))
                raise used_too_early(*culprit, f"`{variable}` is needed at {span}, before that")

    def make_procedures(self, at: int, out: Out) -> None:
        for group in self.groups.get(at, ()):
            members = []
            for member in group:
                variable = self.items[member].variable
                assert variable is not None
                members.append((variable, self.lambdas[member]))
            if len(group) == 1 and members[0][0] not in members[0][1].free:
                out.append(Binding(*members[0]))
            else:
                out.append(make_letrec(tuple(members)))

    def components(self) -> list[list[int]]:
        """Strongly connected components of the procedures, in dependency order (Tarjan 1972, with a stack of its own)."""
        index: dict[int, int] = {}
        low: dict[int, int] = {}
        path: list[int] = []
        on_path: set[int] = set()
        found: list[list[int]] = []
        work: list[tuple[int, list[int]]] = []

        def visit(at: int) -> None:
            index[at] = low[at] = len(index)
            path.append(at)
            on_path.add(at)
            work.append((at, [need for need in reversed(self.needs(at)) if need in self.lambdas]))

        for root in self.lambdas:
            if root not in index:
                visit(root)
            while work:
                at, rest = work[-1]
                if rest:
                    other = rest.pop()
                    if other not in index:
                        visit(other)
                    elif other in on_path:
                        low[at] = min(low[at], index[other])
                    continue
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == index[at]:
                    group: list[int] = []
                    while not group or group[-1] != at:
                        group.append(path.pop())
                    on_path.difference_update(group)
                    found.append(sorted(group))
        return found


def used_too_early(variable: Variable, span: Span, why: str) -> VladError:
    return VladError(
        "used-before-definition",
        f"Used before its definition: {variable.name}",
        span,
        hint=f"{why}; move the definition of `{variable.name}` up",
    )
