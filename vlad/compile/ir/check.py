"""The check of first-order code, after each pass in tests and with VLAD_DEBUG.

In: a program.  Out: nothing; raises AssertionError.
"""

from __future__ import annotations

from vlad.compile.ir.program import (
    READ,
    Block,
    Box,
    Branch,
    Compute,
    Each,
    End,
    Fail,
    Function,
    Invoke,
    Leaf,
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
        leaves = READ[type(statement)](statement)
        if not bound.issuperset(leaves):
            _check_bound(leaves, bound, function, after)
        if type(statement) is Compute:  # most are
            slot = statement.slot
            if slot not in bound:
                bound.add(slot)
                added.append(slot)
            continue
        slots = slots_bound(statement)
        if type(statement) is Branch or type(statement) is Switch:
            for inner in inner_blocks(statement):
                if inner.statements:
                    _check_block(function, inner, bound, len(slots), nodes, after)
                else:
                    _check_end(function, inner.end, bound, len(slots), nodes, after)
        elif not _is_sound(statement):
            raise AssertionError(_where(function, after))
        for slot in slots:
            if slot not in bound:
                bound.add(slot)
                added.append(slot)
    nodes += block.statements
    _check_end(function, block.end, bound, yields, nodes, after)
    if added:
        bound.difference_update(added)


def _check_end(
    function: Function,
    end: End,
    bound: set[Slot],
    yields: int | None,
    nodes: list[Statement | End],
    after: str,
) -> None:
    if type(end) is Fail or type(end) is Unreachable:
        return
    leaves = READ[type(end)](end)
    if not bound.issuperset(leaves):
        _check_bound(leaves, bound, function, after)
    if not _is_sound_end(end, function, yields):
        raise AssertionError(_where(function, after))
    nodes.append(end)


def _check_bound(leaves: tuple[Leaf, ...], bound: set[Slot], function: Function, after: str) -> None:
    """Of leaves not all of which are bound slots."""
    for leaf in leaves:
        if type(leaf) is Slot and leaf not in bound:
            raise _unbound(leaf, function, after)


def _is_sound(statement: Statement) -> bool:
    """Whether its operands and slots are as many as those of what it calls, makes or reads."""
    if type(statement) is Unbox:
        return len(statement.slots) == len(statement.member.kinds)
    if type(statement) is Box:
        return len(statement.leaves) == len(statement.member.kinds)
    if type(statement) is Invoke:
        callee = statement.function
        has_all = len(statement.slots) in (0, len(callee.results))
        return has_all and len(statement.operands) == len(callee.parameters)
    if type(statement) is Each:
        return len(statement.slots) == len(statement.work.outputs)
    return True


def _is_sound_end(end: End, function: Function, yields: int | None) -> bool:
    if type(end) is Yield:
        return yields == len(end.leaves)
    if type(end) is Return:
        return len(end.leaves) == len(function.results)
    if type(end) is TailInvoke:
        callee = end.function
        return len(end.operands) == len(callee.parameters) and callee.results == function.results
    return True


def _unbound(leaf: Slot, function: Function, after: str) -> AssertionError:
    return AssertionError(f"{leaf} is not bound in {_where(function, after)}")


def _where(function: Function, after: str) -> str:
    return f"{function.name} after {after}"
