"""Python functions as procedures, and as primitives with derivative rules.

In: Python callables.  Out: procedures of one session. Each applies a row (values.Primitive) that is made here, at run
time, outside the table; the transforms, the evaluator and the compiler treat it like any other. Called by
session/calls.py.

A plain Python function is a row with an effect, whose derivative is refused. A primitive (stating.py) is a row without one, whose
rules become texts, like the table's (rules.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from vlad.compile.emit.c_rules import read_expression
from vlad.data.errors import Kind, VladError
from vlad.data.tensors import Tensor
from vlad.data.values import ZERO, Code, Primitive, PrimitiveType, Value
from vlad.primitives.numbers import invalid, real_rule
from vlad.python.callables import (
    IN_C,
    SERIAL,
    Function,
    as_number,
    calling,
    doc_of,
    function_row,
    left_out,
    name_of,
    procedure_of,
    real_function,
    shown_parameters,
)
from vlad.python.convert import Apply as ApplyProcedure
from vlad.python.differences import Check, Points, point_text, wrong_rule
from vlad.python.rules import Statement
from vlad.python.stating import HostPrimitive

if TYPE_CHECKING:
    from vlad.evaluate.machine import Machine


class Host:
    """The Python functions passed to a session, with their procedures: one each, while it is referenced."""

    def __init__(self, machine: Machine, apply: ApplyProcedure) -> None:
        self.machine = machine
        self.apply = apply
        self.functions: WeakValueDictionary[int, Code] = WeakValueDictionary()
        self.primitives: dict[HostPrimitive[..., Any], tuple[int, Primitive, Value]] = {}

    def procedure(self, function: Function) -> Value:
        """A Python function or primitive as a procedure. Raises VladError if a rule of a primitive is wrong."""
        if isinstance(function, HostPrimitive):
            return self.registered(function)[1]
        code = self.functions.get(id(function))
        if code is None:
            row, shown = function_row(function, self.apply), shown_parameters(function)
            made = procedure_of(self.machine, row, name_of(function), shown)
            code = self.functions[id(function)] = made[0]
            own: object = id(function)
            if isinstance(function, MethodType):  # made anew where it is read
                own = id(function.__self__), id(function.__func__)
            self.machine.ids_in_python[code] = own
        return code.closed

    def registered(self, primitive: HostPrimitive[..., Any]) -> tuple[Primitive, Value]:
        """The row and the procedure of a primitive whose rules were checked."""
        known = self.primitives.get(primitive)
        if known is None or known[0] != primitive.version:
            maker = _Maker(self)
            row = maker.row(primitive)
            maker.check()
            for made, its_row in maker.rows.items():
                self.primitives[made] = (
                    made.version,
                    its_row,
                    procedure_of(self.machine, its_row, made.__name__),
                )
            return row, self.primitives[primitive][2]
        return known[1:]


class _Maker:
    """Makes the rows of a primitive and of its rules."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.machine, self.apply = host.machine, host.apply
        self.rows: dict[HostPrimitive[..., Any], Primitive] = {}
        self.checks: list[Check] = []

    def check(self) -> None:
        for check in self.checks:
            check.run()

    def row(self, primitive: HostPrimitive[..., Any]) -> Primitive:
        known = self.host.primitives.get(primitive)
        if known is not None and known[0] == primitive.version:
            return known[1]
        if primitive not in self.rows:
            self._make(primitive, primitive.__name__)
        return self.rows[primitive]

    def _make(self, primitive: HostPrimitive[..., Any], name: str) -> None:
        points = Points(name, primitive.function, primitive.operands, primitive.example, self.apply)
        kinds = points.kinds
        value = _real_value(primitive) if points.are_reals else _general_value(primitive, kinds, self.apply)
        rows: dict[str, Primitive] = {}
        row = Primitive(
            f"{name}:{next(SERIAL)}", " ".join(primitive.operands), doc_of(primitive.function), value=value,
            type=PrimitiveType(kinds, "number"), partials={}, rows=rows, display_name=name,
        )  # fmt: skip
        rows[row.name] = row
        if name not in self.machine.table:  # the table's rows take precedence in texts
            rows[name] = row
        row.rows = rows
        self.rows[primitive] = row
        if primitive.c is None:
            row.abstract = left_out(f"the Python function {name} is", IN_C)
        elif points.are_reals:
            row.c = _c_rule(primitive, points)
        else:
            raise wrong_rule(name, "only functions of reals have a rule in C")
        Statement(self, primitive, row, rows, points).state()


def _c_rule(primitive: HostPrimitive[..., Any], points: Points) -> str:
    """The C of a primitive, compared with the function."""
    c, computed = read_expression(primitive.__name__, primitive.c or "", primitive.operands)
    for point, expected in points.values():
        found = computed(*point)
        if not math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12):
            raise VladError(
                "wrong-rule",
                f"The rule of {primitive.__name__} in C is wrong: at {point_text(point)} it gives {found}, Python {expected}",
            )
    return c


def _real_value(primitive: HostPrimitive[..., Any]) -> Function:
    """The complete rule of a function of reals."""
    return real_rule(
        primitive.__name__, real_function(primitive.__name__, primitive.function), len(primitive.operands)
    )


def _general_value(
    primitive: HostPrimitive[..., Any], kinds: Sequence[str], apply: ApplyProcedure
) -> Function:
    """The complete rule of a function of arrays, reals and values without tangents."""
    name = primitive.__name__
    call = calling(primitive.function, name, apply)

    def value(*operands: Value) -> Value:
        for operand, kind in zip(operands, kinds, strict=True):
            if kind == "number" and type(operand) not in (float, Tensor) and operand is not ZERO:
                raise invalid(name, "reals and tensors", operand, of=(Kind.REAL, Kind.TENSOR))
        return as_number(name, call(*operands))

    return value
