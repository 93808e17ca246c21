"""A second semantics of core, as plain as possible, for comparing the inputs and outputs of passes: their results, output, errors
and numbers of applied primitives.

Environments are dicts, closures are the values' own tuples headed by a `Code` whose lambda is interpreted. Tail calls are not
proper here: programs are small. `Reference.apply` is also the machine for rows with output.
"""

from __future__ import annotations

import math
import sys
from collections import Counter

from vlad.core.nodes import (
    Apply,
    Atom,
    Body,
    Call,
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
from vlad.data.errors import VladError
from vlad.data.values import FALSE, Code, Role, Value, closure, is_procedure, look
from vlad.data.write import written

Scope = dict[Variable, Value]


class OutOfFuel(Exception):
    """The program took longer than the comparison is worth."""


class Reference:
    rules = shadows = None  # as for a machine outside of derivatives, for rows of cells
    changed = math.inf
    kept_until = -math.inf

    def __init__(self, fuel: int = 2_000) -> None:
        self.fuel = fuel
        self.counts: Counter[str] = Counter()
        self.output: list[str] = []
        self.codes: dict[Lambda, Code] = {}

    def write(self, text: str) -> None:
        self.output.append(text)

    def core_of(self, code: Code) -> Lambda:
        found: Lambda = code.lambda_
        return found

    # Procedures.

    def closure(self, lambda_: Lambda, scope: Scope, group: Letrec | None = None) -> Value:
        code = self.codes.get(lambda_)
        if code is None:
            code = self.codes[lambda_] = Code()
            code.lambda_, code.name, code.primitive = lambda_, lambda_.name, None
            code.role, code.transforms, code.backpropagator_of = Role.PROCEDURE, (), None
            code.environment = lambda_.free if group is None else group.free
            code.group = () if group is None else group.members
            code.base, code.machine = code, self
        return closure(code, *[scope[variable] for variable in code.environment])

    def apply(self, procedure: Value, operands: list[Value]) -> Value:
        self.fuel -= 1
        if self.fuel < 0:
            raise OutOfFuel
        procedure = look(procedure)
        if not is_procedure(procedure):
            raise VladError("not-a-procedure", "Target is not a procedure")
        code = procedure[0]
        scope: Scope = dict(zip(code.environment, procedure[1:], strict=False))
        for variable, member in code.group:
            scope[variable] = closure(
                self.code_in_group(member, code), *procedure[1 : 1 + len(code.environment)]
            )
        scope.update(
            zip(code.lambda_.parameters, arranged(operands, len(code.lambda_.parameters)), strict=True)
        )
        return self.body(code.lambda_.body, scope)

    def code_in_group(self, member: Lambda, of: Code) -> Code:
        self.closure(member, dict.fromkeys(of.environment), Letrec(of.group, of.environment))
        return self.codes[member]

    # Bodies.

    def body(self, body: Body, scope: Scope) -> Value:
        for binding in body.bindings:
            if isinstance(binding, Letrec):
                for variable, member in binding.members:
                    scope[variable] = self.closure(member, scope, binding)
            else:
                scope[binding.variable] = self.rhs(binding.rhs, scope)
        return self.rhs(body.result, scope)

    def atom(self, atom: Atom, scope: Scope) -> Value:
        if isinstance(atom, Variable):
            return scope[atom]
        if isinstance(atom, GlobalReference):
            if not hasattr(atom.cell, "value"):
                raise VladError("unbound-variable", f"Unbound variable: {atom.cell.name}")
            return atom.cell.value
        return atom.value

    def rhs(self, rhs: Rhs | Result, scope: Scope) -> Value:
        match rhs:
            case Apply():
                return self.primitive(rhs, scope)
            case Call():
                return self.apply(self.atom(rhs.operator, scope), [self.atom(a, scope) for a in rhs.operands])
            case If():
                chosen = rhs.alternative if self.atom(rhs.test, scope) is FALSE else rhs.consequent
                return self.body(chosen, dict(scope))
            case Lambda():
                return self.closure(rhs, scope)
            case Record():
                return ("record", *[self.atom(field, scope) for field in rhs.fields])
            case Field():
                return self.atom(rhs.record, scope)[1 + rhs.index]
        return self.atom(rhs, scope)

    def primitive(self, rhs: Apply, scope: Scope) -> Value:
        row = rhs.primitive
        operands = [self.atom(atom, scope) for atom in rhs.operands]
        self.counts[row.name] += 1
        return row.value(self, *operands) if row.needs_machine else row.value(*operands)


def arranged(operands: list[Value], count: int) -> list[Value]:
    """The tuple rule: operands for `count` parameters."""
    packed = operands[-1]
    for operand in reversed(operands[:-1]):
        packed = (operand, packed)
    parts = []
    for _ in range(count - 1):
        packed = look(packed)
        if type(packed) is not tuple or len(packed) != 2:
            raise VladError("no-matching-pair", "A pair was expected here")
        parts.append(packed[0])
        packed = packed[1]
    return [*parts, packed]


def outcome(lambda_: Lambda, operands: list[Value]) -> tuple[str, list[str], Counter[str]]:
    """The result or error of a call, its output, and its number of applications of each primitive."""
    machine, limit = Reference(), sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 100_000))  # a call is some frames of Python
    try:
        answer = shown(machine.apply(machine.closure(lambda_, {}), operands))
    except VladError as error:
        # a message of the program may contain a procedure's name, which a text must number
        answer = f"error {error.code}" + ("" if error.code == "user-error" else f": {error.message}")
    except OutOfFuel:
        answer = "out of fuel"
    finally:
        sys.setrecursionlimit(limit)
    return answer, machine.output, machine.counts


def shown(value: Value) -> str:
    """Data as written, procedures as procedures: a pass may change their code."""
    value = look(value)
    if is_procedure(value):
        return "#<procedure>"
    if type(value) is tuple and len(value) == 2:
        return f"({shown(value[0])} . {shown(value[1])})"
    return written(value)
