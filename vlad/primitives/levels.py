"""The rows with which bundled procedures, backpropagators and the rules of `with-derivative` begin and end a level of cells.

A level is the table of shadows of one such call (references.py). Where no cell is used, these rows check and wrap what passes
them, and that is all that they do in compiled code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vlad.ad.stated_tangents import space_of
from vlad.ad.vector_space import (
    Shadows,
    cells_of,
    complete,
    contents,
    nonconforming,
    note_shadows,
    refuse_stated,
)
from vlad.core.types import is_tensor
from vlad.data.errors import VladError
from vlad.data.tensors import Tensor
from vlad.data.values import FALSE, TRUE, UNSPECIFIED, ZERO, Opaque, Primitive, Reference, Value
from vlad.primitives.references import outside_rule, outside_step
from vlad.primitives.transforms import abstract_wrap, machine_row, unwrapped, wrong_target
from vlad.primitives.vector_space_types import COMPLETE, same_shape
from vlad.primitives.vector_space_types import space_of as space_of_type

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine, Evaluator


def _abstract_strip_forward(w: AbstractMachine, x: Any) -> Any:
    def of_one(x: Any) -> Any:
        tagged = x.type.of is ZERO or x.type.of is w.system("forward")
        return x if tagged else w.misfitting("Argument has wrong type for target")

    return w.each(x, of_one)


def _abstract_check(w: AbstractMachine, y: Any, s: Any, held: Any) -> Any:
    def of_two(y: Any, s: Any) -> Any:
        if space_of_type(y.type) is not None:
            return w.recursive(COMPLETE, y, s) and s
        if is_tensor(y.type) or is_tensor(s.type):
            fits = s.type.of is ZERO or same_shape(y, s)
        else:
            fits = s.type.of is ZERO or (y.type.head == "real") == (s.type.head == "real")
        return s if fits else w.unlike("plus")

    return w.each(y, lambda y: w.each(s, lambda s: of_two(y, s), "s"), "y")


def _strip_forward(machine: Evaluator, x: Value, v: Value, dv: Value) -> Value:
    stripped = unwrapped(machine, "forward", x, lambda: wrong_target("forward", x))
    if machine.uses_cells:
        shadows = Shadows()
        note_shadows(shadows, v, dv)
        if stripped is not ZERO:
            refuse_stated(stripped[1], stripped[2])
            note_shadows(shadows, stripped[1], stripped[2])
        machine.shadows = shadows, machine.shadows
    return stripped


def _forward_result(machine: Evaluator, y: Value, dy: Value) -> Value:
    shadows = _ended_level(machine)
    if shadows:
        refuse_stated(y)
        dy = _completed(y, dy, shadows)
    return (machine.codes["forward"], y, dy)


def _ended_level(machine: Evaluator) -> Shadows | None:
    """The shadows of the innermost level, which ends."""
    if machine.shadows is None:
        return None
    shadows: Shadows
    shadows, machine.shadows = machine.shadows
    return shadows


def _begin_rule(machine: Evaluator, x: Value, first: Value, levels: Value) -> Value:
    """The rules of `with-derivative` are not transformed, so they run in fewer levels than the code around them."""
    if not machine.uses_cells:
        return ZERO
    _without_cells(x)
    outer = machine.shadows
    if first is ZERO and levels == -1.0 and machine.rules is not None:
        first = machine.rules[0]
    elif first is ZERO:
        first = float(next(Reference.births))
    machine.rules = first, outer, machine.rules, outside_rule
    if levels == -1.0:
        machine.shadows = Shadows(), outer
    elif levels == 1.0 and outer is not None:
        machine.shadows = outer[1]
    return first


def _end_rule(machine: Evaluator, y: Value) -> Value:
    if machine.rules is not None:
        _without_cells(y)
        _, machine.shadows, machine.rules, _ = machine.rules
    return ZERO


def _begin_step(machine: Evaluator, nothing: Value) -> Value:
    if not machine.uses_cells:
        return FALSE
    machine.rules = float(next(Reference.births)), machine.shadows, machine.rules, outside_step
    return TRUE


def _end_step(machine: Evaluator, begun: Value) -> Value:
    if begun is TRUE and machine.rules is not None:
        machine.rules = machine.rules[2]
    return UNSPECIFIED


def _without_cells(x: Value) -> None:
    for cell in cells_of(x):
        raise outside_rule(cell)


def _no_cells(machine: Evaluator, given: Value, s: Value) -> Value:
    if machine.uses_cells and any(True for _ in cells_of(given)):
        raise VladError(
            "cells-in-sensitivity", "A derivative in reverse mode by a sensitivity with cells is not supported",
            hint="take that derivative in forward mode (`derivative-F`, `jvp`)", irritants=(given,),
        )  # fmt: skip
    return s


def _check_sensitivity(machine: Evaluator, y: Value, s: Value, held: Value) -> Value:
    if machine.uses_cells:
        before, after = ({}, {}) if held is ZERO else held.object
        shadows = Shadows(before)
        refuse_stated(y, s)
        note_shadows(shadows, y, s, after, copied_in=(machine.shadows,))
        machine.shadows = shadows, machine.shadows
    if space_of(y) is not None or type(y) is Tensor or type(s) is Tensor:
        complete(y, s)
    elif (type(y) is float) != (type(s) is float) and s is not ZERO:
        raise nonconforming("plus", y, s)
    return s


def _target_sensitivity(machine: Evaluator, v: Value, s: Value) -> Value:
    return _completed(v, s, machine.shadows and machine.shadows[0])


def _argument_sensitivity(machine: Evaluator, x: Value, s: Value) -> Value:
    shadows = _ended_level(machine)
    if shadows:
        refuse_stated(x)
    return _completed(x, s, shadows)


def _completed(x: Value, s: Value, shadows: Shadows | None) -> Value:
    """Complete at once if there are cells, whose contents may change later."""
    result = complete(x, s, shadows)
    if shadows:
        for _ in cells_of(result):
            pass
    return result


def _contents(machine: Evaluator, v: Value, x: Value) -> Value:
    held = contents(v, x) if machine.uses_cells else None
    return Opaque(held) if held else ZERO


def _make_backpropagator(
    machine: Evaluator, v: Value, x: Value, y: Value, back: Value, before: Value
) -> Value:
    held = before
    if machine.uses_cells:
        after = contents(y)
        if before is not ZERO or after:
            held = Opaque(({} if before is ZERO else before.object, after))
    return (machine.codes["backpropagator"], v, x, y, back, held)


ROWS: list[Primitive] = [
    machine_row(
        "strip-forward", "x v dv", "The argument of the bundled procedure v, checked. Begins a level of shadows of cells.",
        _strip_forward, type="any any any -> any", effect=True,
        forward="dx", reverse={"x": "s"}, hidden=True, abstract=lambda w, x, v, dv: _abstract_strip_forward(w, x),
    ),
    machine_row(
        "forward-result", "v d", "make-forward of the result of a bundled procedure. Ends the level.", _forward_result,
        type="any any -> any", effect=True, hidden=True, forward="(make-forward dv dd)",
        reverse={"v": "(primal s)", "d": "(tangent-part s)"}, abstract=abstract_wrap("forward"),
    ),
    machine_row(
        "check-sensitivity", "y s held", "s, if it may be a sensitivity of y. Begins a level of shadows of cells.",
        _check_sensitivity, type="any any any -> any", effect=True, forward="ds", reverse={"s": "(no-cells r s)"}, hidden=True,
        abstract=_abstract_check,
    ),
    machine_row(
        "contents", "v x", "What the cells in values hold now.", _contents, type="any any -> any", effect=True, forward="zero",
        reverse={}, hidden=True, abstract=lambda w, v, x: w.known_zero,
    ),
    machine_row(
        "no-cells", "given s", "s, if the sensitivity that was given has no cells.", _no_cells, type="any any -> any",
        effect=True, forward="ds", reverse={"s": "s"}, hidden=True, abstract=lambda w, given, s: s,
    ),
    machine_row(
        "begin-rule", "x first levels",
        "Begins a rule of `with-derivative` of x, so many levels further out. It may use cells that are not older than `first`, "
        "or if that is zero, than now. Gives that bound.",
        _begin_rule, type="any any real -> any", effect=True, forward="zero", reverse={}, hidden=True,
        abstract=lambda w, x, first, levels: w.known_zero,
    ),
    machine_row(
        "end-rule", "y", "Ends the rule, with result y.", _end_rule, type="any -> any", effect=True, forward="zero", reverse={},
        hidden=True, abstract=lambda w, y: w.known_zero,
    ),
    machine_row(
        "begin-step", "nothing", "Begins a step of a checkpointed procedure that runs as it is. It may use cells that it makes.",
        _begin_step, type="null -> any", effect=True, forward="zero", reverse={}, hidden=True,
        abstract=lambda w, nothing: w.truth(False),
    ),
    machine_row(
        "end-step", "begun", "Ends that step.", _end_step, type="any -> any", effect=True, forward="zero", reverse={},
        hidden=True, abstract=lambda w, begun: w.unspecified,
    ),
    machine_row(
        "target-sensitivity", "x s", "The sensitivity of a procedure, in its full shape.", _target_sensitivity,
        type="any any -> any", effect=True, forward="ds", reverse={"s": "s"}, hidden=True,
        abstract=lambda w, x, s: w.recursive(COMPLETE, x, s),
    ),
    machine_row(
        "argument-sensitivity", "x s", "The sensitivity of its argument, in its full shape. Ends the level.",
        _argument_sensitivity, type="any any -> any", effect=True, forward="ds", reverse={"s": "s"}, hidden=True,
        abstract=lambda w, x, s: w.recursive(COMPLETE, x, s),
    ),
    machine_row(
        "make-backpropagator", "v x y back before", "The backpropagator of (*j v) at x.", _make_backpropagator,
        type="any any any any any -> any", hidden=True, forward="(make-backpropagator dv dx dy dback zero)",
        reverse={
            "v": "(backpropagator-field-1 s)", "x": "(backpropagator-field-2 s)",
            "y": "(backpropagator-field-3 s)", "back": "(backpropagator-field-4 s)",
        },
        abstract=abstract_wrap("backpropagator"),
    ),
]  # fmt: skip
