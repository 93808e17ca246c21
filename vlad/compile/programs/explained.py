"""What a run would say of an error that is found by types: the hint, the values if they are known.

In: an error of first-order code, with the row that fails and the types of its operands.  Out: the error of the row's own rule on
values of these types. Called by check.py. So these words have one home.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from vlad.compile.ir.program import Fail
from vlad.core.nodes import Apply, Binding
from vlad.core.types import Type, Types, found
from vlad.data.errors import VladError
from vlad.data.tensors import Tensor, load_numpy
from vlad.data.values import TRUE, Code, Role, String, Value
from vlad.evaluate.errors.miscounted import MATCHING, destructured_parameter
from vlad.evaluate.errors.replay import not_a_procedure
from vlad.expand.macros import ProcedureSpan
from vlad.messages.hints import describe_pattern

if TYPE_CHECKING:
    from vlad.compile.analysis.abstract_interpreter import Instance
    from vlad.evaluate.machine import Machine

MOST_TRIED = 16  # combinations of members of unions
LARGEST = 10_000  # entries of a tensor
SOME = 2  # the length of an axis that is not known
DEEPEST = 8  # in which parts are made


def as_a_run_has_it(machine: Machine, types: Types, fail: Fail) -> VladError | None:
    """The error of a run, if it is found: its message is that of the failure."""
    rule = _rule(machine, fail)
    if rule is None:
        return None
    made = [list(itertools.islice(_values(types, one, DEEPEST), MOST_TRIED)) for one in fail.given]
    for values in itertools.islice(itertools.product(*made), MOST_TRIED):
        try:
            rule(*values)
        except VladError as error:
            if error.message == fail.what:
                if not all(types.canonical(one).kind == "constant" for one in fail.given):
                    error.irritants = []
                return error
        except Exception:  # a rule of values that are none of a run's
            return None
    return None


def of_parameter(machine: Machine, types: Types, fail: Fail, instance: Instance, error: VladError) -> bool:
    """Make an error of a pattern among the parameters of a procedure that of its calls, as a run has it, and return True; False,
    if it is none, or if no such argument can be made of the types."""
    code, pattern = instance.callee, fail.span
    if type(code) is not Code or fail.row is None or fail.row.name not in MATCHING or pattern is None:
        return False
    core = machine.core_of(code.base)
    if not isinstance(core.span, ProcedureSpan) or not core.span.parameters.span.contains(pattern):
        return False
    applied = [one.rhs for one in core.body.bindings if type(one) is Binding and type(one.rhs) is Apply]
    failed = next((one for one in applied if one.span == pattern and one.primitive is fail.row), None)
    whole = None if failed is None else destructured_parameter(core, failed)
    if whole not in core.parameters:
        return False
    place = core.parameters.index(whole) - len(core.parameters)
    for value in itertools.islice(_values(types, instance.operands[place], DEEPEST), 1):
        was_known = types.canonical(instance.operands[place]).kind == "constant"
        if describe_pattern(error, pattern, core.span.name, value):
            error.irritants = error.irritants if was_known else []
            return True
    return False


def _rule(machine: Machine, fail: Fail) -> Callable[..., Any] | None:
    """What raises the error of a run. Rows that need the machine may call procedures, which is for runs only."""
    row = fail.row
    if row is None:
        return _called if len(fail.given) == 1 else None
    return None if row.needs_machine or row.effect or row.state or row.io else row.value


def _called(value: Value) -> Value:
    raise not_a_procedure(value)


def _values(types: Types, type_: Type, depth: int) -> Iterator[Value]:
    """Values of a type: one of each member of a union."""
    type_ = types.canonical(type_)
    if depth == 0:
        return
    match type_.kind:
        case "constant":
            yield type_.of
        case "real":
            yield 1.0
        case "boolean":
            yield TRUE
        case "string":
            yield String("text")
        case "tensor":
            shape = tuple([length if type(length) is int else SOME for length in type_.of.shape])
            if math.prod(shape) <= LARGEST:
                yield Tensor(load_numpy().zeros(shape, type_.of.kind))
        case "pair":
            yield from itertools.product(*[[*_values(types, part, depth - 1)][:1] for part in type_.parts])
        case "closure":
            if type_.of.role in (Role.PROCEDURE, Role.RECORD, Role.VECTOR):
                fields = [[*_values(types, part, depth - 1)][:1] for part in type_.parts]
                if all(fields):
                    yield (type_.of, *[field for (field,) in fields])
        case "union":
            for member in found(type_.of).members.values():
                yield from _values(types, member, depth - 1)
