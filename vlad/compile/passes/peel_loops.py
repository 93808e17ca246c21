"""First-order code → first-order code: what an iteration knows of the next one is passed on to it.

In: an optimised Program.  Out: the same, changed in place. A loop that calls a procedure, or a function of the C library, on
loop-invariant operands, or that reads the entry of an array that the iteration before has written (carried_entries.py), is split
in two: the first iteration, which is unchanged, and a loop for the others, which gets the results, or the entries, as parameters.
So nothing is computed that would not have been computed anyway: a loop without iterations computes nothing, and failures and
endless loops stay where they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from vlad.compile.ir.acting import acting_functions
from vlad.compile.ir.outlines import Outline, Outlines
from vlad.compile.ir.program import (
    Block,
    Branch,
    Compute,
    Each,
    Function,
    Invoke,
    Leaf,
    Program,
    Slot,
    Statement,
    Switch,
    TailInvoke,
    Unbox,
    blocks,
    inner_blocks,
    leaves_read,
    slots_bound,
)
from vlad.compile.ir.rewriting import Copy, reachable, replace_leaves
from vlad.compile.passes.carried_entries import carried_entries
from vlad.core.expressions import functions_called
from vlad.core.types import Cell

CHEAP = {"fabs"}  # a function that C compilers have instructions for
LARGEST_TURN = 1_000  # statements


def peel(program: Program, outlines: Outlines | None = None) -> bool:
    """Returns whether there are such loops."""
    outlines = outlines or Outlines()
    acting = acting_functions(program.functions, outlines)
    first = serial = max([function.serial for function in program.functions])
    for function in reachable(program, outlines.calls_of(program.functions)):
        found = _Loop.of(function, outlines[function], acting)
        if found is not None:
            serial += 1
            program.functions.append(found.split(serial))
            outlines.changed(function)
    return serial > first


@dataclass(slots=True)
class _Loop:
    """`ends`: of its iterations; `found`: the invariant operations; `carried`: reads of entries, and what each iteration has
    written there."""

    function: Function
    ends: list[TailInvoke]
    found: list[Compute | Invoke]
    carried: dict[Each, dict[TailInvoke, Leaf]]

    @staticmethod
    def of(function: Function, outline: Outline, acting: set[Function]) -> _Loop | None:
        """The loop of a function, if an iteration knows something of the next one; else None."""
        if function not in outline.called:
            return None
        turns = [block for block in outline.blocks if _turns(block, function)]
        ends = [block.end for block in turns if type(block.end) is TailInvoke]
        if not ends or len(outline.statements) > LARGEST_TURN:
            return None
        same = {
            slot
            for index, slot in enumerate(function.parameters)
            if all(end.operands[index] is slot for end in ends)
        }
        found: list[Compute | Invoke] = []
        for statement in _in_every_turn(function.body, turns):
            if not all(type(leaf) is not Slot or leaf in same for leaf in leaves_read(statement)):
                continue
            match statement:
                case Compute():
                    same.add(statement.slot)
                    if functions_called(statement.row.c) - CHEAP:
                        found.append(statement)
                case Invoke() if statement.slots and statement.function not in acting:
                    same.update(statement.slots)
                    found.append(statement)
                case Unbox():
                    same.update(statement.slots)
        carried = carried_entries(function, ends)
        return _Loop(function, ends, found, carried) if found or carried else None

    def split(self, serial: int) -> Function:
        """Leave the first iteration to the function; returns the loop for the others."""
        function = self.function
        same = [slot for statement in self.found for slot in slots_bound(statement)]
        known = [*same, *[slot for read in self.carried for slot in read.slots]]
        copy = Copy({})
        parameters = [copy.new(slot) for slot in function.parameters]
        body = copy.block(function.body)
        # in the copy what is known is computed, or read, again until that is removed
        taken = {copy.leaf(slot): Slot(slot.kind, slot.name) for slot in known}
        rest = Function(
            function.name,
            serial,
            [*parameters, *taken.values()],
            [
                *function.parameter_cells,
                *[cell for statement in self.found for cell in _cells(statement)],
                *[None for _ in self.carried],
            ],
            function.results,
            function.result_cells,
            body,
            function.span,
            function.origin,
        )

        def in_rest(leaf: Leaf) -> Leaf:
            return taken.get(leaf, leaf)

        for block in blocks(body):
            block.statements = [
                s for s in block.statements if not (slots_bound(s) and slots_bound(s)[0] in taken)
            ]
            for node in (*block.statements, block.end):
                replace_leaves(node, in_rest)
        turns = [block.end for block in blocks(body) if _turns(block, function)]
        for end, again in zip(self.ends, turns, strict=True):
            written = tuple([numbers[end] for numbers in self.carried.values()])
            assert type(again) is TailInvoke
            again.function = end.function = rest
            again.operands += tuple([in_rest(copy.leaf(leaf)) for leaf in (*same, *written)])
            end.operands += (*same, *written)
        return rest


def _turns(block: Block, function: Function) -> bool:
    return type(block.end) is TailInvoke and block.end.function is function


def _in_every_turn(body: Block, turns: list[Block]) -> list[Statement]:
    """The statements on every path to another iteration, in order."""
    found: list[Statement] = []
    block = body
    while True:
        found += block.statements
        last = block.statements[-1] if block.statements else None
        if type(last) not in (Branch, Switch) or block in turns:
            return found
        assert isinstance(last, Branch | Switch)
        arms = [arm for arm in inner_blocks(last) if any(inner in turns for inner in blocks(arm))]
        if len(arms) != 1:
            return found
        block = arms[0]


def _cells(statement: Compute | Invoke) -> list[Cell | None]:
    """For each slot its target cell if it is a pointer."""
    return statement.function.result_cells if type(statement) is Invoke else [None]
