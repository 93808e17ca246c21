"""The workers of a session, which compute calls in other processes: the rows of `parallel-map` (stdlib/parallel.vlad)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vlad.data.errors import VladError
from vlad.data.values import FALSE, TRUE, Primitive, Value
from vlad.primitives.arrays import elements
from vlad.primitives.control import abstract_on_nothing, expect_nothing
from vlad.primitives.data import constant_row

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine, Evaluator


def _has_workers(machine: Evaluator, nothing: Value) -> Value:
    expect_nothing("has-workers?", nothing)
    return TRUE if machine.spread is not None else FALSE


def _abstract_has_workers(w: AbstractMachine) -> Any:
    """A constant, which is part of a call's key. A standalone program has none."""
    return w.value(TRUE if not w.is_standalone and w.machine.spread is not None else FALSE)


def _map_by_workers(machine: Evaluator, f: Value, items: Value) -> Value:
    elements("map-by-workers", items)  # raises an error if it is no list
    if machine.spread is None:
        raise VladError(
            "invalid-argument",
            "The session has no workers",
            hint="`parallel-map` is `map` then; `vlad --workers 4` starts some",
        )
    return machine.spread(f, items)


ROWS: list[Primitive] = [
    constant_row("has-workers?", "nothing",
        "Does the session have workers, which compute what `parallel-map` calls?\n(has-workers?)  ⇒ #f",
        _has_workers, "null -> boolean", needs_machine=True,
        abstract=abstract_on_nothing("has-workers?", _abstract_has_workers)),
    Primitive("map-by-workers", "f items",
        "The values of f at the elements of a list, which the workers compute. It has no derivative; `parallel-map` has.\n"
        "(map-by-workers square '(1 2))  ⇒ Error: The session has no workers",
        value=_map_by_workers, type="any any -> any", forward="zero", reverse={}, effect=True, needs_machine=True,
        abstract=lambda w, f, items: w.left_out("calls that workers compute are")),
]  # fmt: skip
