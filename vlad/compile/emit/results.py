"""Which results of an entry are written to addresses that the caller passes: large arrays, made once in a call.

In: the entry of a program, and the loops that write over their base.  Out: the slots of these arrays. Called by definitions.py.
Copying a large array costs as much as to fill it.
"""

from __future__ import annotations

from collections.abc import Mapping

from vlad.compile.emit.facts import Facts
from vlad.compile.ir.program import Each, Function, Leaf, Return, Slot, TailInvoke, blocks, statements
from vlad.compile.passes.uniqueness import Owning
from vlad.core.extents import at_most

LARGE_RESULT = 4096  # entries of an array that is written to an address from the caller


def results_made(entry: Function, facts: Facts, owning: Owning) -> dict[Slot, int]:
    """The results of an entry that are large arrays, made once in a call, with their numbers."""
    is_called = any(entry in callees for callees in facts.callees.values())
    if is_called or entry in facts.loops:
        return {}
    made = {
        slot
        for statement in entry.body.statements
        if type(statement) is Each and statement.is_loop
        for slot, output in zip(statement.slots, statement.kernel.outputs, strict=True)
        if output.base is None and output.size is not None and not at_most(output.size, LARGE_RESULT - 1)
    }
    over = _written_over(entry, owning)
    first = [(_first(leaf, over), index) for index, leaf in enumerate(_results(entry, owning))]
    return {leaf: index for leaf, index in reversed(first) if type(leaf) is Slot and leaf in made}


def _results(entry: Function, owning: Owning) -> list[Leaf | None]:
    """The leaves of the results of an entry. If it ends with a loop, those that the loop begins with and writes over."""
    end = entry.body.end
    if type(end) is Return:
        return list(end.leaves)
    if type(end) is not TailInvoke or end.function is entry:
        return []
    kept = _kept(end.function, owning)
    return [None if number is None else end.operands[number] for number in kept]


def _kept(loop: Function, owning: Owning) -> list[int | None]:
    """For each result of a loop, the parameter that is it, with the loop's changes; None if it is another value."""
    over = _written_over(loop, owning)
    places: dict[Leaf | None, int] = {slot: number for number, slot in enumerate(loop.parameters)}
    found: list[set[int | None]] = [set() for _ in loop.results]
    again = []
    for block in blocks(loop.body):
        end = block.end
        if type(end) is Return:
            for number, leaf in enumerate(end.leaves):
                found[number].add(places.get(_first(leaf, over)))
        elif type(end) is TailInvoke:
            if end.function is not loop:
                return [None] * len(loop.results)
            again.append([places.get(_first(leaf, over)) for leaf in end.operands])
    kept = [next(iter(one)) if len(one) == 1 else None for one in found]
    return [
        number if number is not None and all(one[number] == number for one in again) else None
        for number in kept
    ]


def _written_over(function: Function, owning: Owning) -> dict[Slot, Leaf]:
    """For each array that is written over another, that other."""
    return {
        statement.slots[owning[statement]]: statement.operands[
            statement.kernel.outputs[owning[statement]].base or 0
        ]
        for statement in statements(function.body)
        if type(statement) is Each and statement in owning
    }


def _first(leaf: Leaf | None, over: Mapping[Slot, Leaf]) -> Leaf | None:
    while type(leaf) is Slot and leaf in over:
        leaf = over[leaf]
    return leaf
