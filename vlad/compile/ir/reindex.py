"""Kernels over other indices: the same iterations with fewer axes, from within other loops, or restricted to a box.

In: kernels.  Out: kernels that compute the same. A kernel that chooses is cut into pieces, boxes of its turns that meet no
border of a choice: these become loops (compile/loops/lower.py). compile/passes/fuse_loops.py puts kernels into each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from vlad.core.loop_nests import Access, Box, Choice, Kernel, Read, Step, Write

# Boxes.


def turns_of(box: Box) -> int:
    return math.prod([max(end - begin, 0) for begin, end in box])


def whole_box(extents: Sequence[int]) -> Box:
    return tuple([(0, extent) for extent in extents])


def common(a: Box, b: Box) -> Box:
    return tuple([(max(x[0], y[0]), min(x[1], y[1])) for x, y in zip(a, b, strict=True)])


def hull(a: Box | None, b: Box) -> Box:
    """The least box around two boxes, of which the first may be None."""
    return b if a is None else tuple([(min(x[0], y[0]), max(x[1], y[1])) for x, y in zip(a, b, strict=True)])


def rest(box: Box, less: Box) -> Box | None:
    """The least box around the difference of two boxes; None if it is empty."""
    inside = common(box, less)
    if not turns_of(inside):
        return box
    open_axes = [axis for axis, (one, whole) in enumerate(zip(inside, box, strict=True)) if one != whole]
    if len(open_axes) != 1:
        return box if open_axes else None
    (axis,) = open_axes
    (begin, end), (start, stop) = box[axis], inside[axis]
    if start == begin:
        begin = stop
    elif stop == end:
        end = start
    return (*box[:axis], (begin, end), *box[axis + 1 :])


def domains(kernel: Kernel) -> list[Box | None]:
    """By value: the least box around the iterations that need it; None if none does."""
    count = len(kernel.reads)
    found: list[Box | None] = [None] * (count + len(kernel.steps))

    def need(values: Iterable[int], box: Box | None) -> None:
        if box is not None and turns_of(box):
            for value in values:
                found[value] = hull(found[value], box)

    for write in kernel.writes:
        need([write.value, *_at(write.access)], whole_box(kernel.extents))
    for number in reversed(range(len(found))):
        box = found[number]
        if box is None:
            continue
        if number < count:
            need(_at(kernel.reads[number].access), box)
            continue
        step = kernel.steps[number - count]
        if type(step) is Choice:
            need(step.values[:1], common(box, step.box))
            need(step.values[1:], rest(box, step.box))
        else:
            need(step.values, box)
    return found


# From within other loops.


class Map:
    """Maps the indices of these loops to others': index k there = offsets[k] + Σ_j steps[k][j] · index j."""

    def __init__(
        self, offsets: Sequence[int], steps: Sequence[Sequence[int]], extents: Sequence[int]
    ) -> None:
        """`extents`: of these loops. Steps must not be negative."""
        self.offsets = offsets
        self.steps = steps
        self.extents = extents

    def at(self, access: Access | None) -> Access | None:
        """An access of the other loops, expressed in these."""
        if access is None:
            return None
        offset = access.offset + sum([s * o for s, o in zip(access.strides, self.offsets, strict=True)])
        strides = [
            sum([s * row[axis] for s, row in zip(access.strides, self.steps, strict=True)])
            for axis in range(len(self.extents))
        ]
        return Access(offset, tuple(strides), access.at)

    def box(self, box: Box) -> Box | bool | None:
        """The iterations of these loops that are in a box of the others: True for all, False for none; None if
        they are no box.
        """
        found = whole_box(self.extents)
        for (begin, end), offset, row in zip(box, self.offsets, self.steps, strict=True):
            moving = sorted(
                [j for j, extent in enumerate(self.extents) if row[j] and extent > 1], key=row.__getitem__
            )
            within = common(((begin - offset, end - offset),), ((0, _span(moving, row, self.extents)),))
            if not turns_of(within):
                return False
            if not moving:
                continue
            *inner, outer = moving
            span = _span(inner, row, self.extents)
            ((low, high),) = within
            step, own = row[outer], (found[outer],)
            # where all iterations of the inner axes are inside, and where any is
            every = common(((-(-low // step), (high - span) // step + 1),), own)
            some = common(((-(-(low - span + 1) // step), -(-high // step)),), own)
            if every != some and turns_of(some):
                return None
            found = (*found[:outer], *some, *found[outer + 1 :])
        if found == whole_box(self.extents):
            return True
        return found if turns_of(found) else False


def _span(axes: Sequence[int], steps: Sequence[int], extents: Sequence[int]) -> int:
    """The range of Σ step · index, which begins at 0."""
    return 1 + sum([steps[axis] * (extents[axis] - 1) for axis in axes])


def shift(box: Box) -> Map:
    """The iterations in a box, counted from its corner."""
    axes = range(len(box))
    return Map(
        [begin for begin, _ in box],
        [[int(axis == other) for other in axes] for axis in axes],
        [end - begin for begin, end in box],
    )


class Builder:
    """Collects a kernel's values without duplicates. Operands are arbitrary: leaves, or their numbers elsewhere."""

    def __init__(self, extents: Sequence[int]) -> None:
        self.extents = tuple(extents)
        self.here = shift(whole_box(extents))
        self.operands: list[Hashable] = []
        self._places: dict[Hashable, int] = {}
        self._numbers: dict[Hashable, int] = {}
        self._made: list[Read | Step | Choice] = []  # by number, in order of dependency

    def operand(self, leaf: Hashable) -> int:
        key = ("real", leaf.hex()) if type(leaf) is float else leaf
        if key not in self._places:
            self._places[key] = len(self.operands)
            self.operands.append(leaf)
        return self._places[key]

    def _value(self, key: Hashable, one: Read | Step | Choice) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self._made)
            self._made.append(one)
        return self._numbers[key]

    def read(self, read: Read) -> int:
        return self._value(read, read)

    def step(self, step: Step) -> int:
        choice = self._made[step.values[0]]
        if step.row.name == "real" and type(choice) is Step and choice.row.name == "where":
            test, *chosen = choice.values
            if all(self.kind(value) == choice.kind for value in chosen):
                # narrow from the start: a loop over numbers of one size vectorises better
                alike = [self.step(replace(step, values=(value,))) for value in chosen]
                step = replace(choice, values=(test, *alike), kind=step.kind)
        return self._value((step.row.name, step.values, step.kind), step)

    def kind(self, value: int) -> str:
        one = self._made[value]
        return self.kind(one.values[0]) if type(one) is Choice else one.kind

    def numbers(self) -> list[int]:
        """Of all values."""
        return list(range(len(self._made)))

    def choice(self, box: Box | bool, first: int, second: int) -> int:
        if type(box) is bool or first == second:
            return first if box else second
        choice = Choice(box, (first, second))
        return self._value(choice, choice)

    def values(
        self,
        kernel: Kernel,
        operands: Sequence[Hashable],
        mapped: Map | None = None,
        instead: dict[int, int] | None = None,
        needed: Collection[int] | None = None,
    ) -> list[int] | None:
        """Add the values of a kernel, mapped to these loops: their numbers here. `instead`: replacements that exist here. None if
        a choice does not map to a choice between boxes. `needed`: those to add, if not all, whose choices are all settled here;
        others get no number, but -1.
        """
        there = self.here if mapped is None else mapped
        numbers: list[int] = []
        for index, read in enumerate(kernel.reads):
            if needed is not None and index not in needed:
                numbers.append(-1)
                continue
            if instead is not None and index in instead:
                numbers.append(instead[index])
                continue
            access = _moved(there.at(read.access), numbers)
            operand = None if read.operand is None else self.operand(operands[read.operand])
            numbers.append(self.read(Read(operand, access, read.kind)))
        needs = domains(kernel) if needed is None else [None] * (len(numbers) + len(kernel.steps))
        for step, domain in zip(kernel.steps, needs[len(kernel.reads) :], strict=True):
            if needed is not None and len(numbers) not in needed:
                numbers.append(-1)
                continue
            values = [numbers[value] for value in step.values]
            if type(step) is Step:
                numbers.append(self.step(Step(step.row, tuple(values), step.kind)))
                continue
            box: Box | bool | None = _settled(step.box, domain) if needed is None else None
            if box is None:
                box = there.box(step.box)
                if box is None:
                    return None
            numbers.append(self.choice(box, *values))
        return numbers

    def kernel(
        self, like: Kernel, operands: Sequence[Hashable], values: Sequence[int], mapped: Map | None = None
    ) -> tuple[Kernel, tuple[Any, ...]]:
        """The kernel that writes what another one writes, whose values have these numbers here; and its operands."""
        there = self.here if mapped is None else mapped
        writes = [
            Write(write.output, values[write.value], _moved(there.at(write.access), values), write.combine)
            for write in like.writes
        ]
        outputs = [
            output if output.base is None else replace(output, base=self.operand(operands[output.base]))
            for output in like.outputs
        ]
        kept = self._needed(writes)
        numbers = {old: new for new, old in enumerate(kept)}
        made = [self._made[number] for number in kept]
        used = {one.operand for one in made if type(one) is Read} | {output.base for output in outputs}
        left = [place for place in range(len(self.operands)) if place in used]
        places: dict[int | None, int | None] = {None: None, **{old: new for new, old in enumerate(left)}}
        kernel = Kernel(
            self.extents,
            tuple([
                Read(places[one.operand], _moved(one.access, numbers), one.kind)
                for one in made if type(one) is Read
            ]),
            tuple([
                _with_values(one, [numbers[value] for value in one.values])
                for one in made if type(one) is not Read
            ]),
            tuple([one if one.base is None else replace(one, base=places[one.base]) for one in outputs]),
            tuple([Write(w.output, numbers[w.value], _moved(w.access, numbers), w.combine) for w in writes]),
        )  # fmt: skip
        return kernel, tuple([self.operands[place] for place in left])

    def _needed(self, writes: Sequence[Write]) -> list[int]:
        """The values that some writes need: reads, then the others."""
        needed: set[int] = set()
        work = [write.value for write in writes] + [value for write in writes for value in _at(write.access)]
        while work:
            number = work.pop()
            if number not in needed:
                needed.add(number)
                one = self._made[number]
                work += _at(one.access) if type(one) is Read else one.values
        return sorted(needed, key=lambda number: (type(self._made[number]) is not Read, number))


def _settled(box: Box, domain: Box | None) -> bool | None:
    """Whether a domain is completely inside (True) or outside (False) a box; None otherwise."""
    inside = None if domain is None else common(domain, box)
    if inside is None or not turns_of(inside):
        return False
    return True if inside == domain else None


def _at(access: Access | None) -> list[int]:
    """The values on which an access depends."""
    return [] if access is None else [value for value, _ in access.at]


def _with_values(one: Step | Choice, values: list[int]) -> Step | Choice:
    """A step or choice with renumbered values."""
    if type(one) is Step:
        return Step(one.row, tuple(values), one.kind)
    first, second = values
    return Choice(one.box, (first, second))


def _moved(access: Access | None, numbers: Sequence[int] | dict[int, int]) -> Access | None:
    """An access with renumbered values."""
    if access is None or not access.at:
        return access
    return replace(access, at=tuple([(numbers[value], stride) for value, stride in access.at]))


# Pieces.


def cut(kernel: Kernel) -> list[Box]:
    """Split a kernel's iterations into boxes with uniform choices. Splits repeatedly, along an outer axis first, so
    that inner axes stay long.
    """
    found, work = [], [whole_box(kernel.extents)]
    while work:
        box = work.pop()
        border = _border(kernel, box)
        if border is None:
            found.append(box)
        else:
            axis, at = border
            begin, end = box[axis]
            work += [(*box[:axis], half, *box[axis + 1 :]) for half in ((at, end), (begin, at))]
    return found


def _border(kernel: Kernel, box: Box) -> tuple[int, int] | None:
    """An axis, and a position on it, at which a choice changes within a box."""
    found: list[tuple[int, int]] = []
    work, seen = [write.value for write in kernel.writes], set[int]()
    while work:
        number = work.pop() - len(kernel.reads)
        if number < 0 or number in seen:
            continue
        seen.add(number)
        step = kernel.steps[number]
        if type(step) is not Choice:
            work += step.values
            continue
        inside = common(box, step.box)
        if inside == box:
            work.append(step.values[0])
        elif not turns_of(inside):
            work.append(step.values[1])
        else:
            found += [
                (axis, at)
                for axis, (one, whole) in enumerate(zip(inside, box, strict=True))
                for at in one
                if at not in whole
            ]
    return min(found, default=None)


def pieces(kernel: Kernel, operands: Sequence[Hashable]) -> list[tuple[Kernel, tuple[Any, ...]]]:
    """Kernels without choices that together do the work of a kernel, each with its operands."""
    if all(type(step) is Step for step in kernel.steps):
        return [(kernel, tuple(operands))]
    found = []
    for box in cut(kernel):
        there = shift(box)
        builder = Builder(there.extents)
        needed = _needed_in(kernel, box) if turns_of(box) else None
        values = builder.values(kernel, operands, there, needed=needed)
        assert values is not None
        piece, own = builder.kernel(kernel, operands, values, there)
        found.append((compact(piece), own))
    return found


def _needed_in(kernel: Kernel, box: Box) -> set[int]:
    """The values that the iterations in a box need, which no choice divides."""
    needed: set[int] = set()
    work = [value for write in kernel.writes for value in (write.value, *_at(write.access))]
    while work:
        number = work.pop()
        if number in needed:
            continue
        needed.add(number)
        if number < len(kernel.reads):
            work += _at(kernel.reads[number].access)
            continue
        step = kernel.steps[number - len(kernel.reads)]
        if type(step) is Choice:
            work.append(step.values[0 if common(box, step.box) == box else 1])
        else:
            work += step.values
    return needed


# With fewer or more axes.


def compact(kernel: Kernel) -> Kernel:
    """The same iterations with as few axes as possible: axes of length 1 are dropped, contiguous neighbours merged."""
    axis = len(kernel.extents) - 1
    while axis >= 0:
        if kernel.extents[axis] == 1:
            kernel = _dropped(kernel, axis, 1)
        elif axis + 1 < len(kernel.extents) and _is_one(kernel, axis):
            kernel = _dropped(kernel, axis, kernel.extents[axis])
        axis -= 1
    return kernel


def _is_one(kernel: Kernel, axis: int) -> bool:
    """Whether every access continues from one axis into the next, without choices between."""
    accesses = [read.access for read in kernel.reads] + [write.access for write in kernel.writes]
    length = kernel.extents[axis + 1]
    return (
        length > 0
        and all(
            access is None or access.strides[axis] == access.strides[axis + 1] * length for access in accesses
        )
        and all(type(step) is not Choice or step.box[axis + 1] == (0, length) for step in kernel.steps)
    )


def _dropped(kernel: Kernel, axis: int, times: int) -> Kernel:
    """Drop an axis, whose iterations the next one takes over."""
    extents = list(kernel.extents)
    del extents[axis]
    if times != 1:
        extents[axis] *= times

    def access(access: Access) -> Access:
        return replace(access, strides=(*access.strides[:axis], *access.strides[axis + 1 :]))

    def choice(one: Choice) -> Choice:
        """On an axis of length 1 a box contains all or nothing."""
        inner, (begin, end), others = one.box[axis + 1 :], one.box[axis], one.box[:axis]
        if times != 1:
            length = kernel.extents[axis + 1]
            return replace(one, box=(*others, (begin * length, end * length), *inner[1:]))
        taken = one.values if begin < end else (one.values[1], one.values[1])
        return Choice((*others, *inner), taken)

    return _over(kernel, tuple(extents), access, choice)


def split(kernel: Kernel, axis: int, inner: int) -> Kernel | None:
    """Split an axis into two, the inner one of length `inner`; None if a choice would not stay a choice between boxes."""

    def access(access: Access) -> Access:
        stride = access.strides[axis]
        return replace(
            access, strides=(*access.strides[:axis], stride * inner, stride, *access.strides[axis + 1 :])
        )

    def choice(one: Choice) -> Choice:
        begin, end = one.box[axis]
        both = ((begin // inner, end // inner), (0, inner))
        return replace(one, box=(*one.box[:axis], *both, *one.box[axis + 1 :]))

    if any(type(step) is Choice and any(at % inner for at in step.box[axis]) for step in kernel.steps):
        return None
    extents = (*kernel.extents[:axis], kernel.extents[axis] // inner, inner, *kernel.extents[axis + 1 :])
    return _over(kernel, extents, access, choice)


def _over(
    kernel: Kernel,
    extents: tuple[int, ...],
    access: Callable[[Access], Access],
    choice: Callable[[Choice], Choice],
) -> Kernel:
    """A kernel with other extents, with converted accesses and choices."""
    return Kernel(
        extents,
        tuple([replace(r, access=None if r.access is None else access(r.access)) for r in kernel.reads]),
        tuple([choice(step) if type(step) is Choice else step for step in kernel.steps]),
        kernel.outputs,
        tuple([replace(w, access=None if w.access is None else access(w.access)) for w in kernel.writes]),
    )
