"""A kernel → functions that a GPU runs in many threads at once, in the loop language.

In: a kernel and where its operands are.  Out: `Parallel`: `GridFunction`s, in the order in which they run. Each turn of the loops
runs in a thread. Reductions over some axes are accumulated by one thread, or as a tree by the threads of a block; if that would
leave most of the GPU idle, in parts, which a second function combines. The order of accumulation does not depend on timing, so
that every run returns the same bits; except for sums at computed places, whose terms are added in any order.

A function computes each value that its writes need once; values that are the same for all terms of a thread, before these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from vlad.compile.loops.ir import (
    BLOCK_INDEX,
    THREAD_INDEX,
    Accumulate,
    Array,
    Body,
    Element,
    For,
    GridFunction,
    Leader,
    Let,
    Nest,
    Origin,
    Parameter,
    Position,
    Scalar,
    Scope,
    Statement,
    StoreElement,
    Thread,
    Together,
    Value,
    Variables,
    counted,
)
from vlad.compile.loops.values import (
    combined_value,
    entry,
    first_value,
    gathering_kind,
    index_name,
    loop_order,
    position,
    step_value,
    value_name,
)
from vlad.compile.loops.walking import statements, values_of, within
from vlad.compile.loops.write_groups import Unfit, WriteGroup, first_fill, is_part, write_groups
from vlad.core.expressions import Binary, Conditional, Convert, Expression, Name, Number, Unary
from vlad.core.loop_nests import Access, Box, Choice, Kernel, Step, Write

THREADS = 256  # of a block
FEWEST_THREADS = 32  # of a warp, which run in step
WANTED = 1 << 17  # threads at once, to keep a large GPU busy
FEWEST_TERMS = {"thread": 64, "block": 8}  # for each thread, before a sum is split into parts
LARGEST_INT = (1 << 31) - 1
MOST_PARAMETERS = 500  # of a function: its parameters may take 4 KiB
TRUE = Number(1, "int")


@final
@dataclass(frozen=True, slots=True)
class Parallel:
    """The functions of a kernel. `fills`: the initial value of each output, None if it needs none (or starts from its base);
    `rooms`: the sizes of the temporary arrays for parts, in words of 8 bytes."""

    functions: tuple[GridFunction, ...]
    fills: tuple[float | None, ...]
    rooms: tuple[int, ...]


def lower_parallel(kernel: Kernel, kinds: str, name: str) -> Parallel:
    """`kinds`, for each operand: p an array, d a real that is passed by value, r one in the GPU's memory. The functions' names
    begin with `name`. Raises Unfit."""
    lowering = _ParallelLowering(kernel, kinds, name)
    for group in write_groups(kernel):
        lowering.group(group)
    fills = tuple([first_fill(kernel, number) for number in range(len(kernel.outputs))])
    return Parallel(tuple(lowering.found), fills, tuple(lowering.rooms))


@final
@dataclass(slots=True)
class _Values:
    """The values that some writes need: their numbers, and the axes on whose indices each depends. `taken`: for each, the
    variable that states whether a turn uses it, "" if every turn does."""

    needed: set[int]
    axes: list[set[int]]
    flags: list[tuple[set[int], Let]] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)


@final
class _ParallelLowering:
    def __init__(self, kernel: Kernel, kinds: str, name: str) -> None:
        self.kernel = kernel
        self.kinds = kinds
        self.name = name
        self.found: list[GridFunction] = []
        self.rooms: list[int] = []
        self.is_long = self._reach() >= LARGEST_INT - THREADS

    def _reach(self) -> int:
        """An upper bound of all indices."""
        kernel = self.kernel
        accesses = [read.access for read in kernel.reads] + [write.access for write in kernel.writes]
        ends = [
            abs(access.offset)
            + sum([abs(s) * e for s, e in zip(access.strides, kernel.extents, strict=True)])
            for access in accesses
            if access is not None
        ]
        return max([kernel.turns + WANTED, *ends])

    def group(self, group: WriteGroup) -> None:
        if not group.gathered:
            self._turn_by_turn(group)
            return
        extents = self.kernel.extents
        places = math.prod([extents[axis] for axis in group.kept])
        terms = math.prod([extents[axis] for axis in group.gathered])
        by_block = loop_order(self.kernel)[-1] in group.gathered and terms >= FEWEST_THREADS
        threads = _power_of_two(terms) if by_block else 1  # for each place
        fewest = FEWEST_TERMS["block" if by_block else "thread"]
        parts = max(1, min(_quotient(WANTED, places * threads), terms // (fewest * threads)))
        if parts == 1:
            self._gather(group, threads, places, terms, 1, [])
            return
        rooms = range(len(self.rooms), len(self.rooms) + len(group.writes))
        self.rooms += [places * parts] * len(group.writes)
        self._gather(group, threads, places, terms, parts, rooms)
        self._gather_parts(group, places, parts, rooms)

    # The functions.

    def _turn_by_turn(self, group: WriteGroup) -> None:
        turns = math.prod([self.kernel.extents[axis] for axis in group.kept])
        values = self._needed(group)
        before, turn = self._values(values, set(range(len(self.kernel.extents))))
        stores = [self._store(write, combined_value(self.kernel, write)) for write in group.writes]
        body = [
            Thread("i", turns),
            *self._indices(group.kept, Name("i")),
            *self._passed_indices(group),
            *before,
            Scope((*turn, *stores)),
        ]
        self._finish(group, body, _quotient(turns, THREADS), THREADS)

    def _gather(
        self, group: WriteGroup, threads: int, places: int, terms: int, parts: int, rooms: Sequence[int]
    ) -> None:
        """A function in which a thread or a block accumulates the terms of each place, or of each part of one."""
        own = places * parts
        number: Expression = Name("own" if threads == 1 else BLOCK_INDEX)
        body: list[Statement] = [Thread("own", own)] if threads == 1 else []
        if parts == 1:
            body.append(Let("place", "index", number))
        elif threads == 1:  # neighbouring threads read neighbouring places
            body.append(Let("place", "index", Binary("%", number, counted(places))))
            body.append(Let("part", "index", Binary("/", number, counted(places))))
        else:
            body.append(Let("place", "index", Binary("/", number, counted(parts))))
            body.append(Let("part", "index", Binary("%", number, counted(parts))))
        body += [*self._indices(group.kept, Name("place")), *self._passed_indices(group)]
        body += [self._begun(name, write) for name, write in group.gathering()]
        length = _quotient(terms, parts)
        begin: Expression | None = Name(THREAD_INDEX) if threads > 1 else None
        end: Expression = counted(terms)
        if parts > 1:
            first = Binary("*", Name("part"), counted(length))
            begin = first if begin is None else Binary("+", begin, first)
            last = Binary("+", first, counted(length))
            end = Conditional(Binary(">", last, counted(terms)), counted(terms), last)
        before, turn = self._values(self._needed(group), set(group.gathered))
        term = [
            *self._indices(group.gathered, Name("term")),
            *turn,
            *[
                Accumulate(Name(name), combined_value(self.kernel, write), write.combine, self._kind(write))
                for name, write in group.gathering()
            ],
        ]
        body += [*before, Let("end", "index", end)]
        body.append(For("term", begin or counted(0), Name("end"), tuple(term), step=threads))
        body += self._together(group, threads)
        part: Expression = Name("place")
        if parts > 1:
            part = Binary("+", Binary("*", Name("place"), counted(parts)), Name("part"))
        body += self._stored(group, part, rooms)
        blocks = own if threads > 1 else _quotient(own, THREADS)
        self._finish(group, body, blocks, threads if threads > 1 else THREADS)

    def _gather_parts(self, group: WriteGroup, places: int, parts: int, rooms: Sequence[int]) -> None:
        """A function in which a block combines the parts of each place."""
        threads = _power_of_two(parts)
        body: list[Statement] = [Let("place", "index", Name(BLOCK_INDEX))]
        body += [*self._indices(group.kept, Name("place")), *self._passed_indices(group)]
        for (name, write), room in zip(group.gathering(), rooms, strict=True):
            array = Array(Origin.PART, room, self._gathers(write))
            given = Element(array, Position(0, (("place", parts), ("part", 1))))
            combined = Accumulate(Name(name), Name("x"), write.combine, self._kind(write))
            turn = (Let("x", self._gathers(write), given), combined)
            body.append(self._begun(name, write))
            body.append(For("part", Name(THREAD_INDEX), counted(parts), turn, step=threads))
        body += self._together(group, threads)
        body += self._stored(group, None, [])
        self._finish(group, body, places, threads)

    def _together(self, group: WriteGroup, threads: int) -> list[Statement]:
        """The reduction over the threads of a block; then its first thread continues alone."""
        if threads == 1:
            return []
        together = [
            Together(name, self._gathers(write), write.combine, self._kind(write), threads)
            for name, write in group.gathering()
        ]
        return [*together, Leader()]

    def _kind(self, write: Write) -> str:
        return self.kernel.outputs[write.output].kind

    def _gathers(self, write: Write) -> str:
        return gathering_kind(self._kind(write), write.combine)

    def _begun(self, name: str, write: Write) -> Variables:
        """The variable in which a write is accumulated."""
        return Variables((name,), self._gathers(write), first_value(write.combine, self._kind(write)))

    def _stored(self, group: WriteGroup, part: Expression | None, rooms: Sequence[int]) -> list[Statement]:
        found: list[Statement] = []
        for number, (name, write) in enumerate(group.gathering()):
            if rooms:
                array = Array(Origin.PART, rooms[number], self._gathers(write))
                found += [
                    Let(f"at{number}", "index", part),
                    StoreElement(Element(array, Position(0, ((f"at{number}", 1),))), Name(name)),
                ]
            else:
                found.append(self._store(write, Name(name)))
        return found

    def _finish(self, group: WriteGroup, body: Sequence[Statement], blocks: int, threads: int) -> None:
        passes = math.prod([self.kernel.extents[axis] for axis in group.passed])
        outputs = tuple([output.kind for output in self.kernel.outputs])
        nest = Nest(tuple(body), self.kernel.turns, outputs, steps=len(self.kernel.steps))
        parameters = self._parameters(nest.body)
        if len(parameters) > MOST_PARAMETERS:
            raise Unfit("an operation of so many operands")
        name = f"{self.name}_{len(self.found)}"
        self.found.append(GridFunction(name, nest, blocks, threads, parameters, passes, self.is_long))

    # Parameters.

    def _parameters(self, body: Body) -> tuple[Parameter, ...]:
        """The operands, outputs and temporary arrays that a function uses."""
        found: dict[int, Parameter] = {}
        for statement in statements(body):
            for value in values_of(statement):
                for one in within(value):
                    if type(one) is Element:
                        array, is_array = one.array, True
                    elif type(one) is Scalar:
                        array, is_array = Array(Origin.OPERAND, one.number, "float64"), one.is_there
                    else:
                        continue
                    number = self._number(array)
                    found[number] = Parameter(number, array, is_array)
        return tuple([found[number] for number in sorted(found)])

    def _number(self, array: Array) -> int:
        """The number of a parameter."""
        assert type(array.of) is int
        operands, outputs = len(self.kinds), len(self.kernel.outputs)
        return (
            array.of
            + {Origin.OPERAND: 0, Origin.OUTPUT: operands, Origin.PART: operands + outputs}[array.origin]
        )

    # Indices and values.

    def _indices(self, axes: Sequence[int], number: Expression) -> list[Statement]:
        """The indices of a turn, the last axis first."""
        found: list[Statement] = []
        inner = 1
        for axis in reversed(axes):
            extent = self.kernel.extents[axis]
            value = number if inner == 1 else Binary("/", number, counted(inner))
            if axis != axes[0]:
                value = Binary("%", value, counted(extent))
            found.append(Let(index_name(axis), "index", value))
            inner *= extent
        return found

    def _passed_indices(self, group: WriteGroup) -> list[Statement]:
        return self._indices(group.passed, Convert("index", Name("pass")))

    def _needed(self, group: WriteGroup) -> _Values:
        kernel, first = self.kernel, len(self.kernel.reads)
        axes: list[set[int]] = []
        for read in kernel.reads:
            own: set[int] = set()
            if read.access is not None:
                own = {axis for axis, stride in enumerate(read.access.strides) if stride}
                own = own.union(*[axes[value] for value, _ in read.access.at])
            axes.append(own)
        for step in kernel.steps:
            own = set().union(*[axes[value] for value in step.values])
            axes.append(own | _axes_of(step.box, kernel.extents) if type(step) is Choice else own)
        needed: set[int] = set()
        work = [write.value for write in group.writes]
        work += [value for write in group.writes if write.access is not None for value, _ in write.access.at]
        while work:
            number = work.pop()
            if number in needed:
                continue
            needed.add(number)
            if number >= first:
                work += kernel.steps[number - first].values
            else:
                access = kernel.reads[number].access
                work += [value for value, _ in access.at] if access is not None else []
        found = _Values(needed, axes)
        self._take(group, found)
        return found

    def _take(self, group: WriteGroup, values: _Values) -> None:
        """Which values a turn uses. An entry that no choice selects is not read, since it may not exist; values computed from it
        are arbitrary, but are not used either. There is a flag for each value that only some turns use, and for each choice."""
        kernel, first = self.kernel, len(self.kernel.reads)
        takers: list[list[tuple[Expression | None, set[int]]]] = [
            [] for _ in range(first + len(kernel.steps))
        ]  # None: used in every turn
        for write in group.writes:
            takers[write.value].append((None, set()))
            for value, _ in write.access.at if write.access is not None else ():
                takers[value].append((None, set()))
        values.taken = [""] * len(takers)
        for number in sorted(values.needed, reverse=True):
            own: Expression | None = None
            on: set[int] = set()
            tests = [test for test, _ in takers[number]]
            if tests and None not in tests:
                values.taken[number] = f"t{number}"
                own, on = Name(f"t{number}"), set().union(*[axes for _, axes in takers[number]])
                values.flags.append((on, Let(f"t{number}", "flag", _joined("||", [*dict.fromkeys(tests)]))))
            step = kernel.steps[number - first] if number >= first else None
            if type(step) is Choice:
                inside, choice = Name(f"c{number}"), _axes_of(step.box, kernel.extents)
                values.flags.append((choice, Let(inside.name, "flag", _inside(step.box, kernel.extents))))
                tests_of: tuple[Expression, Expression] = inside, Unary("!", inside)
                for value, test in zip(step.values, tests_of, strict=True):
                    both: Expression = test if own is None else Binary("&&", own, test)
                    takers[value].append((both, on | choice))
            elif step is not None:
                for value in step.values:
                    takers[value].append((own, on))
            else:
                access = kernel.reads[number].access
                for value, _ in access.at if access is not None else ():
                    takers[value].append((own, on))

    def _values(self, values: _Values, within: set[int]) -> tuple[list[Statement], list[Statement]]:
        """The values that are computed before a loop over some axes, and those computed within it."""
        kernel, first = self.kernel, len(self.kernel.reads)
        found: tuple[list[Statement], list[Statement]] = [], []
        on = {flag.name: axes for axes, flag in values.flags}
        for axes, flag in values.flags:
            found[not axes.isdisjoint(within)].append(flag)
        inner: set[int] = set()
        for number in sorted(values.needed):
            taken = values.taken[number]
            is_inner = not values.axes[number].isdisjoint(within)
            if number < first:
                is_inner |= bool(taken) and not on[taken].isdisjoint(within)
                let = Let(value_name(number), kernel.reads[number].kind, self._read(number, taken), number)
                access = kernel.reads[number].access
                is_inner |= access is not None and any(value in inner for value, _ in access.at)
            else:
                step = kernel.steps[number - first]
                is_inner |= any(value in inner for value in step.values)
                let = Let(value_name(number), kernel.kind_of(number), self._computed(number, step), number)
            if is_inner:
                inner.add(number)
            found[is_inner].append(let)
        return found

    def _read(self, number: int, taken: str) -> Value:
        read, extents = self.kernel.reads[number], self.kernel.extents
        if read.operand is None:
            assert read.access is not None
            return Convert(read.kind, position(read.access, extents))  # type: ignore[arg-type]
        if read.access is None:
            return Scalar(read.operand, self.kinds[read.operand] != "d")
        value: Value = entry(Array(Origin.OPERAND, read.operand, read.kind), read.access, extents)
        return Conditional(Name(taken), value, counted(0)) if taken else value  # type: ignore[arg-type]

    def _computed(self, number: int, step: Step | Choice) -> Value:
        if type(step) is Choice:
            values = [Name(value_name(value)) for value in step.values]
            return Conditional(Name(f"c{number}"), *values)
        assert type(step) is Step
        return step_value(self.kernel, step)

    def _store(self, write: Write, value: Expression) -> Statement:
        access = Access(0, (0,) * len(self.kernel.extents)) if write.access is None else write.access
        kind, is_real = self._kind(write), write.access is None
        array = Array(Origin.OUTPUT, write.output, "float64" if is_real else kind)
        place = entry(array, access, self.kernel.extents)
        if access.at and write.combine:
            return Accumulate(place, value, "add", kind, is_atomic=True)
        if is_real and write.combine:  # it was accumulated as a number of another kind
            value = Convert(kind, value)
        if is_part(self.kernel, write):
            return Accumulate(place, value, write.combine, array.kind)
        return StoreElement(place, value)


def _joined(operator: str, tests: Sequence[Expression | None]) -> Expression:
    found: Expression | None = None
    for test in tests:
        assert test is not None
        found = test if found is None else Binary(operator, found, test)
    return TRUE if found is None else found


def _axes_of(box: Box, extents: Sequence[int]) -> set[int]:
    """The axes on which it depends whether a turn is in a box."""
    ends = enumerate(zip(box, extents, strict=True))
    return {axis for axis, ((begin, end), extent) in ends if begin > 0 or end < extent}


def _inside(box: Box, extents: Sequence[int]) -> Expression:
    """Is a turn in a box?"""
    tests: list[Expression] = []
    for axis, ((begin, end), extent) in enumerate(zip(box, extents, strict=True)):
        index: Expression = Name(index_name(axis)) if extent != 1 else counted(0)  # of length 1: no index
        tests += [Binary(">=", index, counted(begin))] if begin > 0 else []
        tests += [Binary("<", index, counted(end))] if end < extent else []
    return _joined("&&", tests)


def _quotient(a: int, b: int) -> int:
    """The quotient, rounded up."""
    return -(-a // b)


def _power_of_two(count: int) -> int:
    """The number of threads for so many terms."""
    return min(THREADS, max(FEWEST_THREADS, 1 << (count - 1).bit_length()))
