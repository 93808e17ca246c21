"""Core → core: calls of names that hold primitives become applications of those primitives.

In: a lambda as expanded, in which every call of a top-level name is a Call.  Out: the same with Apply nodes where the
name still has the table's meaning; more than two operands of a variadic primitive become nested applications. What a literal
makes of constants, such as a vector, becomes a constant: it is made once. Called when a code is first used; `note` is called
with each cell relied on, as redefining its name invalidates the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from vlad.core.names import make_letrec, rebuilt
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
from vlad.core.text import read_expression
from vlad.data.source import Span
from vlad.data.values import FALSE, NUMBERS, Global, Primitive, Value

Note = Callable[[Global], None]
Make = Callable[[Global, Value], Value | None]


def resolve(lambda_: Lambda, note: Note, table: Mapping[str, Primitive], make: Make) -> Lambda:
    """The lambda with known primitives applied. `table` has the rows that `unary` texts use. `make`: the data that the procedure
    of a cell makes of a constant, or None if it does something else."""
    return _Resolver(note, table, make).lambda_(lambda_)


class _Resolver:
    def __init__(self, note: Note, table: Mapping[str, Primitive], make: Make) -> None:
        self.note = note
        self.table = table
        self.make = make
        self.numbers: set[Variable] = set()
        self.made: dict[Variable, Value] = {}  # by literals, and lists of that

    def lambda_(self, lambda_: Lambda) -> Lambda:
        body = self.body(lambda_.body)
        return rebuilt(lambda_, body)

    def body(self, body: Body) -> Body:
        out: list[Binding | Letrec] = []
        for binding in body.bindings:
            if isinstance(binding, Letrec):
                members = []
                for variable, member in binding.members:
                    members.append((variable, self.lambda_(member)))
                out.append(make_letrec(tuple(members)))
            else:
                rhs = self.rhs(binding.rhs, out)
                if isinstance(rhs, Constant) and not isinstance(binding.rhs, Constant):
                    self.made[binding.variable] = rhs.value
                if isinstance(rhs, Apply) and rhs.primitive.type.result in NUMBERS:
                    self.numbers.add(binding.variable)
                out.append(Binding(binding.variable, rhs))
        result = self.result(body.result, out)
        return Body(tuple(out), result)

    def result(self, result: Result, out: list[Binding | Letrec]) -> Result:
        rhs = self.rhs(result, out)
        if isinstance(rhs, Variable | Constant | GlobalReference | Call | If):
            return rhs
        return self.bound(rhs, "result", out)

    def bound(self, rhs: Rhs, name: str, out: list[Binding | Letrec]) -> Variable:
        variable = Variable(name)
        out.append(Binding(variable, rhs))
        return variable

    def rhs(self, rhs: Rhs, out: list[Binding | Letrec]) -> Rhs:
        match rhs:
            case Call():
                called = self.call(rhs, out)
                return self.pair(called) if type(called) is Apply else called
            case If():
                consequent = self.body(rhs.consequent)
                return If(rhs.test, consequent, self.body(rhs.alternative), rhs.span)
            case Lambda():
                return self.lambda_(rhs)
            case Apply():
                return self.pair(rhs)
        return rhs

    def call(self, call: Call, out: list[Binding | Letrec]) -> Rhs:
        operator = call.operator
        if not isinstance(operator, GlobalReference):
            return call
        literal = self.literal(operator.cell, call.operands)
        if literal is not None:
            return literal
        if operator.cell.primitive is None:
            return call
        row = operator.cell.primitive
        self.note(operator.cell)
        if len(call.operands) == len(row.operands):
            return Apply(row, call.operands, call.span)
        if row.variadic and len(call.operands) > 2:
            fold = self.left if row.variadic == "left" else self.chain
            return fold(row, call.operands, call.span, out)
        if row.variadic == "left" and len(call.operands) == 1:
            return self.alone(row, call, out)
        if row.keywords and len(call.operands) == len(row.operands) - len(row.keywords):
            defaults = [Constant(default) for default in row.keywords.values()]
            return Apply(row, (*call.operands, *defaults), call.span)
        if not row.variadic and len(call.operands) > len(row.operands):
            return self.packed(row, call, out)
        return call

    def literal(self, cell: Global, operands: tuple[Atom, ...]) -> Constant | None:
        """The constant that a literal makes; None of other calls."""
        if len(operands) != 1 or not self.is_known(operands[0]):
            return None
        value = self.make(cell, self.known(operands[0]))
        return None if value is None else Constant(value)

    def pair(self, apply: Apply) -> Rhs:
        """A pair of constants that holds what a literal makes is a constant, as a part of a larger literal."""
        if apply.primitive is not self.table["cons"] or not all(map(self.is_known, apply.operands)):
            return apply
        if all(type(operand) is Constant for operand in apply.operands):
            return apply
        return Constant(tuple(map(self.known, apply.operands)))

    def is_known(self, atom: Atom) -> bool:
        return type(atom) is Constant or atom in self.made

    def known(self, atom: Atom) -> Value:
        if type(atom) is Constant:
            return atom.value
        assert type(atom) is Variable
        return self.made[atom]

    def packed(self, row: Primitive, call: Call, out: list[Binding | Letrec]) -> Rhs:
        """By the tuple rule the last operand is the tuple of all excess operands."""
        kept = len(row.operands) - 1
        rest = call.operands[-1]
        for operand in reversed(call.operands[kept:-1]):
            rest = self.bound(Apply(self.table["cons"], (operand, rest), call.span), "rest", out)
        return Apply(row, (*call.operands[:kept], rest), call.span)

    def left(
        self, row: Primitive, operands: tuple[Atom, ...], span: Span | None, out: list[Binding | Letrec]
    ) -> Rhs:
        """(+ a b c) is (+ (+ a b) c)."""
        so_far = operands[0]
        for operand in operands[1:-1]:
            so_far = self.bound(Apply(row, (so_far, operand), span), "so-far", out)
        return Apply(row, (so_far, operands[-1]), span)

    def chain(
        self, row: Primitive, operands: tuple[Atom, ...], span: Span | None, out: list[Binding | Letrec]
    ) -> Rhs:
        """(< a b c) compares all neighbours, then returns whether all comparisons hold."""
        held = []
        for a, b in pairwise(operands):
            held.append(self.bound(Apply(row, (a, b), span), "holds", out))
        result: Atom = held[-1]
        for test in reversed(held[:-1]):
            conditional = If(test, Body((), result), Body((), Constant(FALSE)), span)
            result = self.bound(conditional, "hold", out)
        return result

    def alone(self, row: Primitive, call: Call, out: list[Binding | Letrec]) -> Rhs:
        """`(- x)`: the unary meaning if x is known to be a number, else the tuple rule decides at run time."""
        (operand,) = call.operands
        is_number = operand in self.numbers or (
            isinstance(operand, Constant) and type(operand.value) is float
        )
        return self.unary(row, operand, call.span, out) if is_number else call

    def unary(self, row: Primitive, operand: Atom, span: Span | None, out: list[Binding | Letrec]) -> Rhs:
        x = self.bound(operand, "x", out)
        body = read_expression(row.unary, {"x": x}, self.table)
        for binding in body.bindings:
            assert isinstance(binding, Binding) and isinstance(binding.rhs, Apply)
            applied = Apply(binding.rhs.primitive, binding.rhs.operands, span)
            out.append(Binding(binding.variable, applied))
        return body.result
