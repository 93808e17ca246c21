"""The check of first-order code, after each pass in tests and with VLAD_DEBUG.

In: a program.  Out: nothing; raises AssertionError.
"""

from __future__ import annotations

from vlad.compile.ir.program import (
    Block,
    Box,
    Branch,
    Each,
    Function,
    Invoke,
    Leaf,
    Program,
    Return,
    Slot,
    Switch,
    TailInvoke,
    Unbox,
    Yield,
    inner_blocks,
    leaves_read,
    slots_bound,
)


def check(program: Program, after: str = "") -> None:
    """Raises AssertionError if a leaf is read that is not bound, a count is wrong, or a path has an invalid end."""
    for function in program.functions:
        _check_block(function, function.body, set(function.parameters), None, after)


def _check_block(function: Function, block: Block, bound: set[Slot], yields: int | None, after: str) -> None:
    where = f"{function.name} after {after}"
    bound = set(bound)  # bindings of this block
    for statement in block.statements:
        _check_bound(leaves_read(statement), bound, where)
        match statement:
            case Box():
                assert len(statement.leaves) == len(statement.member.kinds), where
            case Invoke():
                assert len(statement.operands) == len(statement.function.parameters), where
                assert len(statement.slots) in (0, len(statement.function.results)), where
            case Unbox():
                assert len(statement.slots) == len(statement.member.kinds), where
            case Each():
                assert len(statement.slots) == len(statement.work.outputs), where
            case Branch() | Switch():
                for inner in inner_blocks(statement):
                    _check_block(function, inner, bound, len(statement.slots), after)
        bound.update(slots_bound(statement))
    end = block.end
    _check_bound(leaves_read(end), bound, where)
    if type(end) is Yield:
        assert yields == len(end.leaves), where
    elif type(end) is Return:
        assert len(end.leaves) == len(function.results), where
    elif type(end) is TailInvoke:
        assert len(end.operands) == len(end.function.parameters), where
        assert end.function.results == function.results, where


def _check_bound(leaves: tuple[Leaf, ...], bound: set[Slot], where: str) -> None:
    for leaf in leaves:
        assert type(leaf) is not Slot or leaf in bound, f"{leaf} is not bound in {where}"
