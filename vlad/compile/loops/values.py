"""The values of a turn of a kernel as expressions of the loop language. Called by lower.py and lower_parallel.py.

A row is replaced by its formula, with operands converted to one kind of number; integers are computed in integers that wrap.
"""

from __future__ import annotations

from collections.abc import Sequence

from vlad.compile.loops.ir import WRAPPING, Array, Element, Position
from vlad.core.expressions import Convert, Expression, Name, Number, of_kind, read, substituted
from vlad.core.extents import AnExtent, at_most
from vlad.core.loop_nests import SHORT, Access, Kernel, Step, Write, is_whole, start
from vlad.core.types import is_of_reals

ORDER = {"max": ">", "min": "<"}


def value_name(number: int) -> str:
    return f"x{number}"


def index_name(axis: int) -> str:
    return f"i{axis}"


def step_value(kernel: Kernel, step: Step) -> Expression:
    """A test compares numbers as they are; other steps on integers are computed in integers that wrap."""
    operands = _operands(kernel, step)
    if _wraps(step):
        return Convert(step.kind, substituted(read(step.row.whole or step.row.c), operands))
    formula = read(step.row.c)
    return substituted(of_kind(formula, step.kind) if step.kind == "float32" else formula, operands)


def _wraps(step: Step) -> bool:
    """Is a step computed in integers that wrap?"""
    return is_whole(step.kind) and step.row.type.result != "boolean"


def _operands(kernel: Kernel, step: Step) -> dict[str, Expression]:
    """A step's operands, by their names in its row."""
    found: dict[str, Expression] = {}
    for name, value, alike in zip(step.row.operands, step.values, step.made_alike, strict=True):
        own = kernel.kind_of(value)
        made: Expression = Name(value_name(value))
        if alike and own != step.kind:
            made = Convert(step.kind, made, rounds=_wraps(step) and is_of_reals(own))
        found[name] = Convert(WRAPPING, made) if alike and _wraps(step) else made
    return found


def combined_value(kernel: Kernel, write: Write) -> Expression:
    """The value that a write combines; for a maximum or minimum of integers, converted to the output's kind."""
    kind, value = kernel.outputs[write.output].kind, Name(value_name(write.value))
    is_cut = write.combine in ORDER and is_whole(kind) and kernel.kind_of(write.value) != kind
    return Convert(kind, value) if is_cut else value


def gathering_kind(kind: str, combine: str) -> str:
    """The kind in which numbers of a kind are accumulated: float64 for reals; for integers int64 if they are ordered, uint64
    otherwise."""
    return "float64" if not is_whole(kind) else "int64" if combine in ORDER else WRAPPING


def first_value(combine: str, kind: str) -> Number:
    """The initial value of an accumulator."""
    return constant(start(combine, kind), kind)


def constant(number: float, kind: str) -> Number:
    return Number(number, "int64" if is_whole(kind) else "float64")


def position(access: Access, extents: Sequence[AnExtent]) -> Position:
    strides = [
        (index_name(axis), stride)
        for axis, stride in enumerate(access.strides)
        if stride and extents[axis] != 1
    ]
    at = [(value_name(value), stride) for value, stride in access.at]
    return Position(access.offset, tuple(strides), tuple(at))


def entry(array: Array, access: Access, extents: Sequence[AnExtent]) -> Element:
    return Element(array, position(access, extents))


def loop_order(kernel: Kernel) -> list[int]:
    """The axes, outer loops first. The innermost is the one along which most accesses are contiguous. Axes of length 1 need no
    loop."""
    axes = [axis for axis, extent in enumerate(kernel.extents) if extent != 1]
    if len(axes) < 2:
        return axes
    accesses = [read.access for read in kernel.reads] + [write.access for write in kernel.writes]
    strided = [access for access in accesses if access is not None]

    def jumps(axis: int) -> int:
        return sum([abs(access.strides[axis]) > 1 for access in strided])

    def is_summed(axis: int) -> bool:
        return any(
            write.combine and (write.access is None or write.access.strides[axis] == 0)
            for write in kernel.writes
        )

    if at_most(kernel.turns, SHORT):
        return sorted(axes, key=is_summed)  # all in registers: each sum is completed before the next
    # among axes with contiguous accesses, one that is not summed over is better: its turns are independent
    inner = min(reversed(axes), key=lambda axis: (jumps(axis), is_summed(axis)))
    return [*[axis for axis in axes if axis != inner], inner]


def levels(kernel: Kernel, axes: Sequence[int]) -> list[int]:
    """For each value, how many of the outer loops enclose its computation. Values that are the same in all turns of the inner
    loops are computed before these: if the C compiler itself moves the load of such a value, it no longer vectorizes the loop
    (gcc 12, where `exp` is called)."""
    if not kernel.turns:  # outside the loops, entries would be read that may not exist
        return [len(axes)] * (len(kernel.reads) + len(kernel.steps))
    found: list[int] = []
    for read_ in kernel.reads:
        access = read_.access
        moving = [] if access is None else [n for n, axis in enumerate(axes, 1) if access.strides[axis]]
        places = [] if access is None else [found[value] for value, _ in access.at]
        found.append(max([0, *moving, *places]))
    for step in kernel.steps:
        found.append(max([0, *[found[value] for value in step.values]]))
    return found
