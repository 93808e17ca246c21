"""Random core: well-formed, not well-typed, so that errors and their order are compared too."""

from __future__ import annotations

from hypothesis import strategies as st

from vlad.core.names import make_lambda, make_letrec
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
    Variable,
)
from vlad.data.values import FALSE, NIL, TRUE, Global, String, symbol
from vlad.primitives.table import TABLE

CONSTANTS = [0.0, -0.0, 1.0, 2.5, TRUE, FALSE, NIL, symbol("s"), String("t"), (1.0, NIL)]
ROWS = ["+", "-", "*", "/", "sin", "<", "=", "zero?", "not", "null?", "pair?", "real?", "eq?", "cons", "car", "cdr",
        "match-car", "expect-constant", "write-real", "error", "string-append", "max"]  # fmt: skip
NAMES = ["x", "y", "f", "let", "car", "zero", "x.1", "odd name", ""]
CELLS = {"defined": Global("defined"), "undefined": Global("undefined"), "x": Global("x")}
CELLS["defined"].value = 7.0
CELLS["x"].value = (2.0, 3.0)


def cells(name: str) -> Global:
    return CELLS.setdefault(name, Global(name))


class Builder:
    """Draws right-hand sides over the variables in scope."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.left = 30  # bindings that may still be made
        self.arity: dict[Variable, int] = {}  # of the variables that are bound to lambdas

    def variable(self) -> Variable:
        return Variable(self.draw(st.sampled_from(NAMES)))

    def atom(self, scope: list[Variable]) -> Atom:
        shape = self.draw(st.integers(0, 9))
        if shape < 7 and scope:
            recent = scope[-6:] if shape < 5 else scope
            return self.draw(st.sampled_from(recent))
        if shape == 9:
            return GlobalReference(self.draw(st.sampled_from(list(CELLS.values()))))
        return Constant(self.draw(st.sampled_from(CONSTANTS)))

    def atoms(self, scope: list[Variable], count: int) -> tuple[Atom, ...]:
        return tuple([self.atom(scope) for _ in range(count)])

    def lambda_(self, scope: list[Variable], name: str) -> Lambda:
        parameters = tuple([self.variable() for _ in range(self.draw(st.integers(1, 2)))])
        return make_lambda(parameters, self.body([*scope, *parameters]), name)

    def call(self, scope: list[Variable]) -> Call:
        """Mostly of a known procedure with as many operands as it has parameters."""
        known = [variable for variable in scope if variable in self.arity]
        if known and self.draw(st.integers(0, 4)) > 0:
            operator: Variable = self.draw(st.sampled_from(known))
            return Call(operator, self.atoms(scope, self.arity[operator]))
        return Call(self.atom(scope), self.atoms(scope, self.draw(st.integers(1, 2))))

    def branch(self, scope: list[Variable]) -> If:
        return If(self.atom(scope), self.body(list(scope)), self.body(list(scope)))

    def body(self, scope: list[Variable]) -> Body:
        bindings: list[Binding | Letrec] = []
        for _ in range(self.draw(st.integers(0, 5))):
            if self.left > 0:
                self.left -= 1
                bindings.append(self.binding(scope))
        return Body(tuple(bindings), self.result(scope))

    def result(self, scope: list[Variable]) -> Result:
        shape = self.draw(st.integers(0, 9)) if self.left > 0 else 0
        return self.call(scope) if shape == 8 else self.branch(scope) if shape == 9 else self.atom(scope)

    def binding(self, scope: list[Variable]) -> Binding | Letrec:
        shape, variable = self.draw(st.integers(0, 15)), self.variable()
        if shape == 15:
            return self.letrec(scope)
        if shape < 8:
            row = TABLE[self.draw(st.sampled_from(ROWS))]
            made = Binding(variable, Apply(row, self.atoms(scope, len(row.operands))))
        elif shape < 10:
            lambda_ = self.lambda_(scope, variable.name)
            made = Binding(variable, lambda_)
            self.arity[variable] = len(lambda_.parameters)
        elif shape < 12:
            made = Binding(variable, self.call(scope))
        elif shape < 14:
            made = Binding(variable, self.branch(scope))
        else:
            made = Binding(variable, self.atom(scope))
        scope.append(variable)
        return made

    def letrec(self, scope: list[Variable]) -> Letrec:
        members = [self.variable() for _ in range(self.draw(st.integers(1, 2)))]
        inner = [*scope, *members]
        group = make_letrec(tuple([(v, self.lambda_(inner, v.name)) for v in members]))
        scope += members
        return group


@st.composite
def lambdas(draw: st.DrawFn) -> Lambda:
    """A closed lambda of two parameters."""
    builder = Builder(draw)
    parameters = (Variable("x"), Variable("y"))
    return make_lambda(parameters, builder.body(list(parameters)), "top")
