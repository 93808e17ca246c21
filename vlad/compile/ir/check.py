"""The check of first-order code, after each pass in tests and with VLAD_DEBUG.

In: a program.  Out: nothing; raises AssertionError.
"""

from __future__ import annotations

from vlad.compile.ir.program import (
    Block,
    Box,
    Branch,
    Compute,
    Each,
    End,
    Fail,
    Function,
    Invoke,
    Program,
    Return,
    Slot,
    Statement,
    Switch,
    TailInvoke,
    Unbox,
    Unreachable,
    Yield,
    inner_blocks,
    leaves_read,
    slots_bound,
)


def check(program: Program, after: str = "") -> None:
    """Raises AssertionError if a leaf is read that is not bound, a count is wrong, a path has an invalid end, or a statement or
    an end with leaves occurs twice: passes rewrite them in place.
    """
    for function in program.functions:
        nodes: list[Statement | End] = []
        _check_block(function, function.body, set(function.parameters), None, nodes, after)
        if len(nodes) > len(set(nodes)):
            raise AssertionError(f"a statement or end occurs twice in {_where(function, after)}")


def _check_block(
    function: Function,
    block: Block,
    bound: set[Slot],
    yields: int | None,
    nodes: list[Statement | End],
    after: str,
) -> None:
    """`bound` is afterwards as before; `nodes` get the statements and ends of the block."""
    added: list[Slot] = []
    for statement in block.statements:
        for leaf in leaves_read(statement):
            if type(leaf) is Slot and leaf not in bound:
                raise _unbound(leaf, function, after)
        slots = slots_bound(statement)
        kind = type(statement)
        if kind is Branch or kind is Switch:
            for inner in inner_blocks(statement):
                _check_block(function, inner, bound, len(slots), nodes, after)
        elif kind is not Compute and not _is_sound(statement):
            raise AssertionError(_where(function, after))
        for slot in slots:
            if slot not in bound:
                bound.add(slot)
                added.append(slot)
    nodes += block.statements
    end = block.end
    for leaf in leaves_read(end):
        if type(leaf) is Slot and leaf not in bound:
            raise _unbound(leaf, function, after)
    if not _is_sound_end(end, function, yields):
        raise AssertionError(_where(function, after))
    if type(end) is not Fail and type(end) is not Unreachable:
        nodes.append(end)
    bound.difference_update(added)


def _is_sound(statement: Statement) -> bool:
    """Whether its operands and slots are as many as those of what it calls, makes or reads."""
    match statement:
        case Box():
            return len(statement.leaves) == len(statement.member.kinds)
        case Invoke():
            callee = statement.function
            has_all = len(statement.slots) in (0, len(callee.results))
            return has_all and len(statement.operands) == len(callee.parameters)
        case Unbox():
            return len(statement.slots) == len(statement.member.kinds)
        case Each():
            return len(statement.slots) == len(statement.work.outputs)
    return True


def _is_sound_end(end: End, function: Function, yields: int | None) -> bool:
    match end:
        case Yield():
            return yields == len(end.leaves)
        case Return():
            return len(end.leaves) == len(function.results)
        case TailInvoke():
            callee = end.function
            return len(end.operands) == len(callee.parameters) and callee.results == function.results
    return True


def _unbound(leaf: Slot, function: Function, after: str) -> AssertionError:
    return AssertionError(f"{leaf} is not bound in {_where(function, after)}")


def _where(function: Function, after: str) -> str:
    return f"{function.name} after {after}"
