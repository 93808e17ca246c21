"""A row's derivative text → core, instantiated in place; and code that both transforms share.

In: rows of the primitive table, whose derivatives are language text.  Out: bindings appended to a body that a transform
is building.  Called by reverse.py and forward.py.  Uses no primitive by name: the few that the transforms themselves
emit are passed in as a `Basis`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vlad.core.names import free_in_body, sub_bodies
from vlad.core.nodes import (
    Apply,
    Atom,
    Binding,
    Body,
    Call,
    Constant,
    Field,
    If,
    Lambda,
    Letrec,
    Record,
    Rhs,
    Variable,
)
from vlad.core.text import read_expression
from vlad.data.source import Span
from vlad.data.values import ZERO, Primitive, Value

KNOWN_ZERO = Constant(ZERO)
UNITS = (("1",), ("-1",), ("zero",))  # partials that need no multiplication
MULTIPLIED = "t"  # in texts of partials: the tangent or sensitivity to multiply
LEVEL = "level"  # in texts of rows that read or change cells: where the shadows of this level are


class Basis:
    """The primitives that transformed code is made of, and the table whose rows derivative texts may use."""

    def __init__(self, table: Mapping[str, Primitive], procedure: Callable[[str], Value]) -> None:
        """`procedure`: a procedure of the system that captures nothing."""
        self.table = table
        self.procedure = procedure
        self.identity = Constant(procedure("identity"))
        self.cons = table["cons"]
        self.car = table["car"]
        self.cdr = table["cdr"]
        self.times = table["*"]
        self.negate = table["negate"]
        self.accumulate = table["accumulate"]
        self.complete = table["complete"]
        self.zero = table["zero"]
        self.sum_like = table["sum-like"]
        self.broadcast_like = table["broadcast-like"]
        self.shape_witness = table["shape-witness"]
        self.tail_entry = table["tail-entry"]
        self.forward_entry = table["forward-entry"]
        self.control_entry = table["control-entry"]
        self.note_depth = table["note-depth"]
        self.stepping_entry = table["stepping-entry"]
        self.make_paused = table["make-paused"]
        self.refuse_step = table["refuse-step"]
        self.less = table["<"]
        self.equals = table["="]
        self.minus = table["-"]


class Builder:
    """A body under construction: bindings in order."""

    def __init__(self) -> None:
        self.bindings: list[Binding | Letrec] = []

    def bind(self, rhs: Rhs, name: str) -> Variable:
        variable = Variable(name)
        self.bindings.append(Binding(variable, rhs))
        return variable

    def apply(self, name: str, primitive: Primitive, *operands: Atom, span: Span | None = None) -> Variable:
        return self.bind(Apply(primitive, operands, span), name)

    def graft(self, body: Body, substitution: dict[Variable, Atom], span: Span | None) -> Atom:
        """Append a copy of a rule's body and return its result. Each copy binds fresh variables."""
        for binding in body.bindings:
            assert isinstance(binding, Binding), "a derivative rule has no letrec"
            copy = Variable(binding.variable.name)
            self.bindings.append(Binding(copy, _copy(binding.rhs, substitution, span)))
            substitution[binding.variable] = copy
        if isinstance(body.result, Call | If):
            return self.bind(_copy(body.result, substitution, span), "r")
        return _atom(body.result, substitution)


def _atom(atom: Atom, substitution: Mapping[Variable, Atom]) -> Atom:
    return substitution.get(atom, atom) if type(atom) is Variable else atom


def _copy(rhs: Rhs, substitution: dict[Variable, Atom], span: Span | None) -> Rhs:
    match rhs:
        case Apply():
            return Apply(rhs.primitive, tuple([_atom(a, substitution) for a in rhs.operands]), span)
        case Call():
            operands = tuple([_atom(a, substitution) for a in rhs.operands])
            return Call(_atom(rhs.operator, substitution), operands, span)
        case If():
            arms = [_copy_body(arm, dict(substitution), span) for arm in sub_bodies(rhs)]
            return If(_atom(rhs.test, substitution), arms[0], arms[1], span)
        case Lambda() | Record() | Field():
            raise AssertionError("a derivative rule is made of primitives and branches")
    return _atom(rhs, substitution)


def _copy_body(body: Body, substitution: dict[Variable, Atom], span: Span | None) -> Body:
    builder = Builder()
    result = builder.graft(body, substitution, span)
    return Body(tuple(builder.bindings), result)


class Rule:
    """A parsed text of a row: its body over formal variables, by the names used in rows' texts."""

    def __init__(self, text: str, names: tuple[str, ...], table: Mapping[str, Primitive]) -> None:
        self.formals = {name: Variable(name) for name in names}
        self.body = read_expression(text, self.formals, table)
        self.read = frozenset(free_in_body(self.body))

    def reads(self, name: str) -> bool:
        return self.formals.get(name) in self.read

    def put(self, builder: Builder, actual: Mapping[str, Atom], span: Span | None) -> Atom:
        return builder.graft(self.body, {self.formals[n]: a for n, a in actual.items()}, span)


class Rules:
    """The derivative rules of all rows, parsed on first use. `of_reals`: only for procedures of reals, for which transforms
    emit no shapes.
    """

    def __init__(self, basis: Basis, of_reals: bool = False) -> None:
        self.basis = basis
        self.of_reals = of_reals
        self._rules: dict[tuple[str, tuple[str, ...], str], Rule] = {}  # by text: rows may share one

    def rule(self, row: Primitive, text: str) -> Rule:
        """Parse a text of a row. Raises VladError unless it is an expression over the row's names and rows of the table."""
        key = (row.name if row.rows else "", row.operands, text)
        rule = self._rules.get(key)
        if rule is None:
            names = (*row.operands, "r", "s", *[mark + name for mark in "d~" for name in row.operands])
            if not row.rows:  # an operand of a user's row may have that name
                names = (*names, MULTIPLIED, LEVEL)
            known = {**self.basis.table, **row.rows} if row.rows else self.basis.table
            rule = self._rules[key] = Rule(text, names, known)
        return rule

    def may_spread(self, row: Primitive, actual: Mapping[str, Atom]) -> bool:
        """Whether an operand's shape may differ from the result's: with two numbers, but not with a constant or the same operand
        twice.
        """
        variables = {actual[name] for name in row.operands if type(actual[name]) is not Constant}
        numbers = (*row.type.parameters, row.type.result).count("number")
        return len(variables) > 1 and numbers > 2 and not self.of_reals

    def needs_shapes(self, row: Primitive, actual: Mapping[str, Atom]) -> bool:
        """Whether the reverse rules read the shapes of the operands, as ~x."""
        if self.may_spread(row, actual):
            return True
        rules = [self.rule(row, text) for text in (row.reverse or {}).values()]
        return any(rule.reads("~" + name) for rule in rules for name in row.operands)

    def sensitivity(
        self, builder: Builder, row: Primitive, operand: str, actual: dict[str, Atom], span: Span | None
    ) -> Atom | None:
        """The contribution of the result's sensitivity `s` to one operand's; None if there is none."""
        if row.partials is not None:
            steps = steps_of(row.partials.get(operand, "zero"))[::-1]
            part = self._scaled(builder, row, steps, actual, actual["s"], span)
            if part is None or not self.may_spread(row, actual):
                return part
            return builder.apply("part", self.basis.sum_like, part, actual["~" + operand], span=span)
        text = (row.reverse or {}).get(operand, "zero")
        return None if text == "zero" else self.rule(row, text).put(builder, actual, span)

    def tangent(
        self, builder: Builder, row: Primitive, actual: dict[str, Atom], span: Span | None
    ) -> Atom | None:
        """The result's tangent from those of the operands (`d` + name; absent if known zero); None for known zero."""
        if row.partials is None:
            if row.forward == "zero":
                return None
            zeros: dict[str, Atom] = {"d" + name: KNOWN_ZERO for name in row.operands}
            return self.rule(row, row.forward).put(builder, zeros | actual, span)
        terms = {x: steps_of(partial) for x, partial in row.partials.items() if "d" + x in actual}
        # multiply by a common last factor once
        last = {steps[-1:] for steps in terms.values()}
        common = last.pop() if len(terms) > 1 and len(last) == 1 else ()
        if common in UNITS:
            common = ()
        total: Atom | None = None
        for operand, steps in terms.items():
            rest = steps[: len(steps) - len(common)] or ("1",)
            term = self._scaled(builder, row, rest, actual, actual["d" + operand], span)
            if rest in UNITS and self.may_spread(row, actual) and term is not None:
                term = builder.apply("spread", self.basis.broadcast_like, term, actual["r"], span=span)
            total = self.sum(builder, total, term, "sum", span)
        return total and self._scaled(builder, row, common or ("1",), actual, total, span)

    def sum(
        self, builder: Builder, a: Atom | None, b: Atom | None, name: str, span: Span | None
    ) -> Atom | None:
        """a ⊕ b, where None is the known zero."""
        if a is None or b is None:
            return b if a is None else a
        return builder.apply(name, self.basis.accumulate, a, b, span=span)

    def _scaled(
        self,
        builder: Builder,
        row: Primitive,
        steps: tuple[str, ...],
        actual: dict[str, Atom],
        factor: Atom,
        span: Span | None,
    ) -> Atom | None:
        """factor · partial, one step after the other; a partial of 1, -1 or zero needs no multiplication. -1 comes last, where it
        may cancel another one.
        """
        if steps == ("zero",):
            return None
        for text in steps:
            if text in ("1", "-1"):
                continue
            rule = self.rule(row, text)
            if rule.reads(MULTIPLIED):
                factor = rule.put(builder, actual | {MULTIPLIED: factor}, span)
            else:
                partial = rule.put(builder, actual, span)
                factor = builder.apply("product", self.basis.times, factor, partial, span=span)
        if "-1" in steps:
            return builder.apply("minus", self.basis.negate, factor, span=span)
        return factor


def steps_of(partial: str | tuple[str, ...]) -> tuple[str, ...]:
    """The factors of a partial, from the operand to the result. Forward mode multiplies by them in this order, reverse mode in
    the opposite one: so each intermediate product has the magnitude of a derivative.
    """
    return (partial,) if isinstance(partial, str) else partial
