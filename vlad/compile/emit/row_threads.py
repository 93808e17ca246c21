"""Which loops with independent turns (ir/row_loops.py) C runs in several threads, and how many turns are worth it.

In: a function that is a loop, and which arrays it writes over.  Out: a `RowLoop`, or None. Called by c_function.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from vlad.compile.emit.facts import Facts
from vlad.compile.ir.program import Each, Effect, Function, Invoke, Store, statements
from vlad.compile.ir.row_loops import RowLoop, callees, row_loop

# Turns that threads may share: of those that may take long, and of others.
FEWEST_LONG, FEWEST_SHORT = 2, 64
MOST_AT_ONCE = 64  # turns of a loop over an array that takes no time


def threaded(function: Function, facts: Facts, taken: Mapping[Each, Mapping[int, int]]) -> RowLoop | None:
    """The function as a loop whose turns have no effects but steps, and store their rows in place. `taken`: for each loop over
    arrays, by the number of an output, the operand that it writes over."""
    loop = row_loop(function)
    if loop is None or not all(
        taken.get(one, {}).get(output) == base
        for one, bases in loop.writes.items()
        for output, base in bases.items()
    ):
        return None
    reached = list(dict.fromkeys(callees(loop.turn)))
    for callee in reached:  # grows during the loop
        reached += [one for one in facts.callees[callee] if one not in reached]
    within = [*statements(loop.turn), *[one for callee in reached for one in statements(callee.body)]]
    return (
        None
        if any(type(one) is Store or (type(one) is Effect and one.what != "step") for one in within)
        else loop
    )


def fewest(loop: RowLoop, facts: Facts) -> int:
    """How many turns threads share at least: few if a turn may loop or multiply matrices."""
    return (
        FEWEST_LONG
        if any(
            (type(one) is Invoke and one.function in facts.repeats)
            or (type(one) is Each and not _is_at_once(one))
            for one in statements(loop.turn)
        )
        else FEWEST_SHORT
    )


def _is_at_once(loop: Each) -> bool:
    return type(loop.work.turns) is int and loop.work.turns <= MOST_AT_ONCE
