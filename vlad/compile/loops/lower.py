"""A kernel → loops of the loop language for a processor: the order of loops, the values computed outside each, accumulators.

In: a kernel, the names of its operands and outputs.  Out: `Loops`, with a nest for each piece of a kernel with choices
(reindex.py). Reductions over the innermost loops are accumulated in a local variable, sums of floats in a double.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, final

from vlad.compile.ir.reindex import pieces
from vlad.compile.loops.ir import (
    Accumulate,
    Alias,
    Allocate,
    Array,
    Assign,
    Body,
    Condition,
    Element,
    Gathered,
    If,
    Let,
    Loops,
    Nest,
    Origin,
    Parts,
    Poll,
    Position,
    Scalar,
    Scope,
    Statement,
    StoreElement,
    Value,
    Variables,
    Versions,
    counting,
)
from vlad.compile.loops.parts import divided
from vlad.compile.loops.values import (
    ORDER,
    combined_value,
    constant,
    entry,
    first_value,
    gathering_kind,
    index_name,
    levels,
    loop_order,
    position,
    step_value,
    value_name,
)
from vlad.core.expressions import Binary, Convert, Expression, Name, Number
from vlad.core.extents import AnExtent, at_most, estimate
from vlad.core.loop_nests import Kernel, Output, Read, Step, Write, is_injective, words
from vlad.core.types import is_of_reals

# Nests of more than one loop and so many turns poll `vlad_stop`, at intervals of so many turns.
MANY_TURNS, TURNS_PER_POLL = 1 << 22, 1 << 16
NAN = Number(math.nan, "float64")


class Place(NamedTuple):
    """The number of the result whose entries an array may be, stored at the address that the caller passes; and the condition
    for storing it there."""

    result: int
    condition: Condition = Condition.ALWAYS


class Operand(NamedTuple):
    """An operand of a kernel: its number, which is that of the first one that is the same; its name, for printers only; its
    value if that is known; and whether it is an integer (emit/counters.py)."""

    number: int
    name: str = ""
    known: float | None = None
    counts: bool = False


def polls(kernel: Kernel) -> bool:
    """Do the loops of a kernel poll `vlad_stop`?"""
    return not at_most(kernel.turns, MANY_TURNS - 1)


def lower_pieces(
    kernel: Kernel, operands: Sequence[Operand], outputs: Sequence[str], divides: bool
) -> list[_Lowering]:
    """`divides`: in parts for threads, where that is worth it."""
    found = pieces(kernel, operands)
    lowerings = []
    for piece, given in found:
        part = divided(piece) if divides else None
        one, parts = (piece, None) if part is None else part
        lowerings.append(_Lowering(one, given, outputs, len(found) > 1, parts))
    return lowerings


def lower(
    kernel: Kernel,
    operands: Sequence[Operand],
    outputs: Sequence[str],
    over: Condition | None,
    taken: Mapping[int, int],
    places: Mapping[int, Place],
    divides: bool = False,
) -> Loops:
    """`outputs`: their names. `over`: the condition under which outputs may overwrite operands (`when_over` in order.py);
    `taken`: by output, an operand that is dead afterwards, whose buffer it may reuse (buffer_reuse.py). `places`: where to store
    outputs, by number. `divides`: as of `lower_pieces`."""
    lowerings = lower_pieces(kernel, operands, outputs, divides)
    first = lowerings[0]
    declared: list[Statement] = []
    for number, output in enumerate(kernel.outputs):
        if output.size is None:
            declared += first.declared_real(number)
            continue
        base = None if output.base is None else _given(operands[output.base], output.kind)
        array = Array(Origin.OUTPUT, number, output.kind)
        if number in taken and base is not None:
            declared.append(Alias(array, base))
            continue
        new = placed(array, output, places.get(number))
        if number in taken and over is not None:
            alias = Alias(array, _given(operands[taken[number]], output.kind))
            declared += _where(over, (alias,), new)
            continue
        declared += new
        combine = next((write.combine for write in kernel.writes if write.output == number), "")
        if base is not None:
            declared.append(_filled(array, output.size, base))
        elif combine and not (kernel.turns and first.gathers_all(number)):
            declared.append(_filled(array, output.size, first_value(combine, output.kind)))
        elif output.fill is not None:
            declared.append(_filled(array, output.size, constant(output.fill, output.kind)))
    nests = tuple([lowering.nest() for lowering in lowerings])
    names = tuple([operand.name for operand in operands])
    return Loops(tuple(declared), nests, tuple(first.converted()), names, tuple(outputs))


def _given(operand: Operand, kind: str) -> Array:
    return Array(Origin.OPERAND, operand.number, kind)


def placed(array: Array, output: Output, place: Place | None) -> Body:
    """A new array for an output."""
    count = words(output.size or 0, output.kind)
    new = Allocate(array, count)
    if place is None:
        return (new,)
    return _where(place.condition, (Allocate(array, count, place.result),), (new,))


def _where(condition: Condition, body: Body, others: Body) -> Body:
    return body if condition is Condition.ALWAYS else (Versions(((condition, body),), others),)


def _filled(array: Array, size: AnExtent, value: Number | Array) -> Statement:
    """A loop that sets every entry to a number, or to the entry of another array."""
    along = Position(0, (("i", 1),))
    given = Element(value, along) if type(value) is Array else value
    return counting("i", size, [StoreElement(Element(array, along), given)])


@final
class _Lowering:
    """Makes the loops of a kernel without choices."""

    def __init__(
        self,
        kernel: Kernel,
        operands: Sequence[Operand],
        outputs: Sequence[str],
        is_piece: bool,
        parts: Parts | None,
    ) -> None:
        """`is_piece`: other pieces write to the same outputs; `parts`: if the kernel is for a part of another one."""
        self.kernel = kernel
        self.operands = operands
        self.outputs = outputs
        self.is_piece = is_piece
        self.parts = parts
        self.axes = loop_order(kernel)
        self.levels = levels(kernel, self.axes)
        # by write: how many of the outer loops enclose the variable in which it is accumulated; None if there is none
        self.depths = [self._depth(write) for write in kernel.writes]
        self.poll = self._poll()
        self.places = self._places()

    def nest(self) -> Nest:
        kernel = self.kernel
        return Nest(
            (Scope(tuple(self._loops(0))),),
            kernel.turns,
            tuple([output.kind for output in kernel.outputs]),
            any(output.base is not None for output in kernel.outputs),
            tuple(
                [
                    Gathered(
                        self._gathered(write),
                        self._kind_gathered(write),
                        self._kind_of(write),
                        write.combine,
                        self._start(write),
                    )
                    for write in kernel.writes
                    if write.combine and write.access is None
                ]
            ),
            steps=len(kernel.steps),
            parts=self.parts,
        )

    def gathers_all(self, output: int) -> bool:
        """Is each entry of an output accumulated in one variable, so that it needs no initial value?"""
        return any(
            write.output == output and depth is not None and not self._is_part(write, depth)
            for write, depth in zip(self.kernel.writes, self.depths, strict=True)
        )

    def declared_real(self, output: int) -> list[Statement]:
        """A real, and the variable in which it is accumulated."""
        write = next(write for write in self.kernel.writes if write.output == output)
        name, gathered = self.outputs[output], self._gathered(write)
        real = Variables((name,), "float64")
        if not write.combine:
            return [real]
        own = Variables((gathered,), self._kind_gathered(write), self._start(write))
        return [real, own] if self._is_converted(write) else [own]

    def converted(self) -> list[Statement]:
        """Conversions of reals that were accumulated as numbers of another kind."""
        return [
            Assign(self.outputs[write.output], Convert(self._kind_of(write), Name(self._gathered(write))))
            for write in self.kernel.writes
            if self._is_converted(write)
        ]

    def _is_converted(self, write: Write) -> bool:
        """Is a real accumulated as a number of another kind, and so in a variable of its own?"""
        return bool(write.combine) and write.access is None and self._kind_gathered(write) != "float64"

    def _places(self) -> set[int]:
        """The values that are integers, and lead to entries only."""
        kernel = self.kernel
        counted = {
            number
            for number, read in enumerate(kernel.reads)
            if read.operand is not None and read.access is None and self.operands[read.operand].counts
        }
        if not counted:
            return counted
        used = {value for step in kernel.steps for value in step.values}
        return counted - used - {write.value for write in kernel.writes}

    def _inside(self, depth: int) -> int:
        """The number of turns of the loops inside the loop at this depth, as far as it is known."""
        return math.prod([estimate(self.kernel.extents[axis]) for axis in self.axes[depth + 1 :]])

    def _poll(self) -> int | None:
        """The depth of the loop that polls `vlad_stop`, if any does. Never the innermost one, which may run in parallel."""
        if not polls(self.kernel) or len(self.axes) < 2:
            return None
        outer = range(len(self.axes) - 1)
        return max([depth for depth in outer if self._inside(depth) >= TURNS_PER_POLL], default=0)

    def _depth(self, write: Write) -> int | None:
        if not write.combine:
            return None
        if write.access is None:
            return 0
        if write.access.at:
            return None
        depth = len(self.axes)
        while depth and write.access.strides[self.axes[depth - 1]] == 0:
            depth -= 1
        return depth if depth < len(self.axes) else None

    def _is_part(self, write: Write, depth: int) -> bool:
        """Do the innermost loops accumulate only a part, because the output has an initial value, or several turns of the outer
        loops write to one place?"""
        if self.is_piece or self.kernel.outputs[write.output].base is not None:
            return True
        strides = () if write.access is None else write.access.strides
        return not is_injective(self.axes[:depth], strides, self.kernel.extents)

    def _loops(self, depth: int) -> list[Statement]:
        """The statements inside so many loops."""
        here = [write for write, own in zip(self.kernel.writes, self.depths, strict=True) if own == depth]
        found: list[Statement] = []
        for write in here:
            kind, name = self._kind_gathered(write), self._gathered(write)
            if write.access is not None:
                found.append(Variables((name,), kind, self._start(write)))
            if self._looks_for_nan(write):
                found.append(Variables((nan_of(name),), kind, Number(0, "int")))
        found += self._values(depth)
        if depth == len(self.axes):
            found += self._writes()
        else:
            found.append(self._loop(depth))
        for write in here:
            gathered = self._gathered(write)
            if self._looks_for_nan(write):
                found.append(If(Name(nan_of(gathered)), (Assign(gathered, NAN),)))
            if write.access is not None:
                place = entry(self._output(write), write.access, self.kernel.extents)
                if self._is_part(write, depth):
                    found.append(Accumulate(place, Name(gathered), write.combine, self._kind_of(write)))
                else:
                    found.append(StoreElement(place, Name(gathered)))
        return found

    def _loop(self, depth: int) -> Statement:
        axis = self.axes[depth]
        polling: list[Statement] = []
        if depth == self.poll:
            every = 1 if self._inside(depth) >= TURNS_PER_POLL else TURNS_PER_POLL
            polling = [Poll(index_name(axis), every, self.kernel.turns)]
        return counting(index_name(axis), self.kernel.extents[axis], [*polling, *self._loops(depth + 1)])

    def _values(self, level: int) -> list[Statement]:
        kernel = self.kernel
        found: list[Statement] = []
        for number, read in enumerate(kernel.reads):
            if self.levels[number] == level:
                kind = "int64" if number in self.places else read.kind
                found.append(Let(value_name(number), kind, self._read(read), number))
        for number, step in enumerate(kernel.steps, start=len(kernel.reads)):
            assert type(step) is Step
            if self.levels[number] == level:
                found.append(Let(value_name(number), step.kind, step_value(kernel, step), number))
        return found

    def _read(self, read: Read) -> Value:
        if read.operand is None:
            assert read.access is not None
            return Convert(read.kind, position(read.access, self.kernel.extents))  # type: ignore[arg-type]
        operand = self.operands[read.operand]
        if read.access is None:
            return Scalar(operand.number) if operand.known is None else Number(operand.known, "float64")
        return entry(_given(operand, read.kind), read.access, self.kernel.extents)

    def _writes(self) -> list[Statement]:
        kernel = self.kernel
        found: list[Statement] = []
        for write, own in zip(kernel.writes, self.depths, strict=True):
            value, kind = combined_value(kernel, write), self._kind_of(write)
            if own is not None:
                gathered = self._gathered(write)
                if write.combine in ORDER:
                    found.append(gathered_in_order(gathered, value, write.combine, kind))
                    if self._looks_for_nan(write):
                        is_nan = Binary("!=", value, value)
                        found.append(Accumulate(Name(nan_of(gathered)), is_nan, "add", kind))
                else:
                    found.append(Accumulate(Name(gathered), value, write.combine, kind))
            elif write.access is None:
                found.append(Assign(self.outputs[write.output], value))
            else:
                place = entry(self._output(write), write.access, kernel.extents)
                if write.combine:
                    found.append(Accumulate(place, value, write.combine, kind))
                else:
                    found.append(StoreElement(place, value))
        return found

    def _output(self, write: Write) -> Array:
        return Array(Origin.OUTPUT, write.output, self._kind_of(write))

    def _gathered(self, write: Write) -> str:
        """The accumulator of a write. No other name has two underscores in a row."""
        output = self.outputs[write.output]
        if write.access is not None:
            return f"{output}__{write.value}"
        return f"{output}__all" if self._is_converted(write) else output

    def _kind_of(self, write: Write) -> str:
        return self.kernel.outputs[write.output].kind

    def _kind_gathered(self, write: Write) -> str:
        """The kind of the accumulator: sums and products of floats are computed in doubles, those of integers wrap."""
        kind = self._kind_of(write)
        return kind if kind == "float32" and write.combine in ORDER else gathering_kind(kind, write.combine)

    def _start(self, write: Write) -> Number:
        return first_value(write.combine, self._kind_of(write))

    def _looks_for_nan(self, write: Write) -> bool:
        """Does the accumulator need a second variable to propagate nan?"""
        return write.combine in ORDER and is_of_reals(self._kind_of(write))


GREATER = {"max": "greater", "min": "less"}


def nan_of(gathered: str) -> str:
    """The variable that counts the nan among the values of a maximum or minimum."""
    return f"{gathered}__nan"


def gathered_in_order(name: str, value: Expression, combine: str, kind: str) -> Accumulate:
    return Accumulate(Name(name), value, GREATER[combine], kind)
