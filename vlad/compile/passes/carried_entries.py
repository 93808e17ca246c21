"""Which entries of an array a turn of a loop reads after the turn before has written them: scalar replacement of subscripted
variables (Callahan, Carr, Kennedy 1990), where their values flow from one iteration to the next.

In: a loop.  Out: the reads whose values the turns before know. Used by peel_loops.py. A loop that computes entries of a table
from earlier ones, as recurrences and dynamic programming do, would wait in each turn for memory to return what it has written.

A position in an array is a sum of multiples of leaves. In a turn it is an expression of the turn's parameters; in the next turn
the parameters are what the turn passes on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from vlad.compile.ir.program import Block, Compute, Each, Function, Leaf, Slot, TailInvoke, statements
from vlad.core.extents import AnExtent, Extent, are_same
from vlad.core.loop_nests import Access, Read

# A leaf, as an expression: a leaf that is bound outside arithmetic, or the name of a row and its operands.
Expression: TypeAlias = "Leaf | tuple[str, *tuple[Expression, ...]]"

LARGEST_STEP = 1 << 31  # a whole number that may be added to an index: all sums are exact
DEEPEST = 8  # applications within an expression


@dataclass(frozen=True, slots=True)
class _Position:
    """offset + Σ stride · expression, each truncated."""

    offset: AnExtent
    terms: tuple[tuple[AnExtent, Expression], ...]


def carried_entries(function: Function, ends: Iterable[TailInvoke]) -> dict[Each, dict[TailInvoke, Leaf]]:
    """The reads of single entries in a loop that the turn before has always written last: for each end of a turn the number
    that was written. `ends`: of all turns."""
    made = _made(function.body)
    parameters = {slot: at for at, slot in enumerate(function.parameters)}
    found: dict[Each, dict[TailInvoke, Leaf]] = {}
    for statement in statements(function.body):
        if type(statement) is not Each or (read := _entry_read(statement)) is None:
            continue
        array, access = read
        if type(array) is not Slot or array not in parameters:
            continue
        given: dict[TailInvoke, Leaf] = {}
        for end in ends:
            new = dict(zip(function.parameters, end.operands, strict=True))
            last = made.get(end.operands[parameters[array]])
            written = _entry_written(last) if type(last) is Each else None
            there = _position(statement, access, made, new)
            if written is None or there is None:
                break
            assert type(last) is Each
            value, where = written
            if not _is_same(_position(last, where, made, {}), there):
                break
            given[end] = value
        else:
            found[statement] = given
    return found


def _made(body: Block) -> dict[Leaf, Compute | Each]:
    found: dict[Leaf, Compute | Each] = {}
    for statement in statements(body):
        if type(statement) is Compute:
            found[statement.slot] = statement
        elif type(statement) is Each and len(statement.slots) == 1:
            found[statement.slots[0]] = statement
    return found


def _entry_read(statement: Each) -> tuple[Leaf, Access] | None:
    """The array and the position, if a loop only reads one entry of an array of reals."""
    if not statement.is_loop:
        return None
    kernel = statement.kernel
    if kernel.extents or kernel.steps or len(kernel.writes) != 1 or kernel.outputs[0].size is not None:
        return None
    (write,) = kernel.writes
    if write.combine or write.value >= len(kernel.reads):
        return None
    read = kernel.reads[write.value]
    if read.access is None or read.operand is None or read.kind != "float64":
        return None
    return statement.operands[read.operand], read.access


def _entry_written(statement: Each) -> tuple[Leaf, Access] | None:
    """The number and its position, if a loop only replaces one entry of an array of reals."""
    if not statement.is_loop:
        return None
    kernel = statement.kernel
    if kernel.extents or len(kernel.writes) != 1:
        return None
    (write,) = kernel.writes
    if write.combine or write.access is None or write.value >= len(kernel.reads):
        return None
    read, output = kernel.reads[write.value], kernel.outputs[write.output]
    if output.base is None or output.fill is not None:
        return None
    if {output.kind, read.kind} != {"float64"} or read.access is not None or read.operand is None:
        return None
    return statement.operands[read.operand], write.access


def _position(
    statement: Each, access: Access, made: dict[Leaf, Compute | Each], new: dict[Slot, Leaf]
) -> _Position | None:
    """The position of an access in a loop of no indices. With `new` leaves for the parameters, that in the next turn."""
    terms = []
    for number, stride in access.at:
        read: Read = statement.kernel.reads[number]
        if read.access is not None or read.operand is None:
            return None  # an index that is an entry of an array
        index = _expression(statement.operands[read.operand], made, new, DEEPEST)
        if index is None:
            return None
        terms.append((stride, index))
    return _Position(access.offset, tuple(terms))


def _expression(
    leaf: Leaf, made: dict[Leaf, Compute | Each], new: dict[Slot, Leaf], depth: int
) -> Expression | None:
    """None for what the next turn determines otherwise than by arithmetic on its parameters."""
    if type(leaf) is not Slot:
        return leaf
    if leaf in new:
        return _expression(new[leaf], made, {}, depth)
    computed = made.get(leaf)
    if type(computed) is Compute and depth:
        operands = [_expression(operand, made, new, depth - 1) for operand in computed.operands]
        return None if None in operands else (computed.row.name, *operands)  # type: ignore[return-value]  # none is None
    return None if new else leaf


def _is_same(written: _Position | None, read: _Position) -> bool:
    if written is None or len(written.terms) != len(read.terms):
        return False
    return are_same(written.offset, read.offset) and all(
        are_same(a, b) and _are_equal(x, y) for (a, x), (b, y) in zip(written.terms, read.terms, strict=True)
    )


def _are_equal(written: Expression, read: Expression) -> bool:
    """Are two indices equal? The position of the first is one in the array, so that it is a whole number: if it is what steps are
    added to, these are exact."""
    if _key(written) == _key(read):
        return True
    base, step = _split(read)
    return step == 0 and _key(base) == _key(written)


def _split(index: Expression) -> tuple[Expression, int]:
    """A base, and the sum of the whole numbers that are added to it."""
    step = 0
    while type(index) is tuple and len(index) == 3 and index[0] in ("+", "-"):
        name, one, other = index
        if name == "+" and type(one) is float:
            one, other = other, one
        if type(other) is not float or not other.is_integer() or abs(other) > LARGEST_STEP:
            break
        step += int(other) if name == "+" else -int(other)
        index = one
    return index, step


def _key(index: Expression) -> object:
    """Equal for equal indices. To ask whether two extents are equal, as they do themselves, would have consequences."""
    if type(index) is tuple:
        return (index[0], *map(_key, index[1:]))
    if type(index) is Extent:
        return frozenset(index.terms.items())
    return index.hex() if type(index) is float else index
