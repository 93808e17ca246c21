"""Loops over arrays: every transformation of a kernel (fewer axes, fusion of two, a product of matrices, C) computes the result
of a plain interpreter.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from amounts import drawn
from hypothesis import given, settings
from hypothesis import strategies as st

import vlad
from vlad.compile.calling.pipeline import Unit
from vlad.compile.emit.c_function import operands_of
from vlad.compile.emit.c_loops import kernel_lines
from vlad.compile.emit.needs import Needs
from vlad.compile.emit.part_functions import part_texts, parts_constants
from vlad.compile.ir import matrix_products
from vlad.compile.ir.matrix_products import Matrix, Product, as_product
from vlad.compile.ir.program import Each, Leaf, Slot, statements
from vlad.compile.ir.reindex import compact, cut, pieces, split
from vlad.compile.loops import parts
from vlad.compile.loops.lower import Operand
from vlad.compile.loops.values import loop_order
from vlad.compile.native import toolchain
from vlad.compile.native.abi import ffi
from vlad.compile.native.blas import product as library_product
from vlad.compile.passes import fuse_loops
from vlad.compile.runtime.functions import MARKS, marked, needed
from vlad.compile.runtime.sections import sections
from vlad.core.loop_nests import (
    SIZES,
    Access,
    Box,
    Choice,
    Kernel,
    Output,
    Read,
    Step,
    Write,
    contiguous,
    start,
    words,
)
from vlad.python.convert import from_python

TABLE = vlad.Session(tier="evaluate").machine.table
ROWS: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "exp": np.exp, "negate": np.negative,
    "max": lambda a, b: a if a > b or a != a else b, "min": lambda a, b: a if a < b or a != a else b,
    "<": lambda a, b: a < b, "where": lambda c, a, b: a if c != 0 else b, "real": lambda a: a, "abs": np.abs,
    "modulo": np.remainder, "sign": np.sign, "floor": lambda a: a,
}  # fmt: skip
OF_INTEGERS = (
    "abs",
    "modulo",
    "sign",
    "floor",
)  # only there in these tests: of reals they are those of the language
NOT_EXACT = ("exp",)  # not the same to the last bit in every library
COMBINED = {"+": np.add, "*": np.multiply, "max": np.maximum, "min": np.minimum}


# Semantics of kernels.


def number(value: Any, kind: str) -> Any:
    """A number converted to a kind. A real that is no integer becomes the least one."""
    if kind.startswith("int") and isinstance(value, np.floating):
        most = 2.0 ** (8 * SIZES[kind] - 1)
        fits = -most <= value < most or -most - 1 < value < most
        return np.dtype(kind).type(int(value) if fits else -int(most))
    return np.asarray(value).astype(kind)[()]


def place(access: Access, index: Sequence[int], value: Callable[[int], Any]) -> int:
    at = sum([stride * int(value(which)) for which, stride in access.at])
    return access.offset + sum([s * i for s, i in zip(access.strides, index, strict=True)]) + at


def interpreted(kernel: Kernel, operands: Sequence[Any]) -> list[Any]:
    """The outputs: arrays of one axis and reals. Operands alike."""
    outputs: list[Any] = []
    for place_of, output in enumerate(kernel.outputs):
        combines = [write.combine for write in kernel.writes if write.output == place_of and write.combine]
        first = start(combines[0], output.kind) if combines else output.fill
        if output.base is not None:
            assert operands[output.base].dtype == output.kind
            outputs.append(np.array(operands[output.base]))
        else:
            size = 1 if output.size is None else output.size
            outputs.append(np.full(size, 99 if first is None else first, output.kind))
    for index in itertools.product(*map(range, kernel.extents)):
        for write, value, at in turn(kernel, operands, index):
            held, kind = outputs[write.output], kernel.outputs[write.output].kind
            assert write.combine or value.dtype == kind or (kind == "bool" and value in (0, 1))
            with np.errstate(all="ignore"):
                value = number(value, kind)
                held[at] = COMBINED[write.combine](held[at], value) if write.combine else value
    return [answered(o, found) for o, found in zip(kernel.outputs, outputs, strict=True)]


def answered(output: Output, found: Any) -> Any:
    """A real combined from floats has their precision, too."""
    return (
        found
        if output.size is not None
        else np.float32(found[0])
        if output.kind == "float32"
        else float(found[0])
    )


def turn(kernel: Kernel, operands: Sequence[Any], index: Sequence[int]) -> Iterator[tuple[Write, Any, int]]:
    """The values that one iteration writes, and where. Only required values are computed."""

    @functools.cache
    def value(which: int) -> Any:
        if which < len(kernel.reads):
            read = kernel.reads[which]
            if read.access is None:
                assert read.operand is not None and read.kind == "float64"
                return np.float64(operands[read.operand])
            where = place(read.access, index, value)
            assert where >= 0
            entry = number(where, read.kind) if read.operand is None else operands[read.operand][where]
            assert entry.dtype == read.kind
            return entry
        step = kernel.steps[which - len(kernel.reads)]
        if type(step) is Choice:
            inside = all(begin <= i < end for i, (begin, end) in zip(index, step.box, strict=True))
            return value(step.values[0 if inside else 1])
        assert type(step) is Step
        pairs = zip([value(one) for one in step.values], step.made_alike, strict=True)
        with np.errstate(all="ignore"):
            answer = ROWS[step.row.name](*[number(x, step.kind) if is_made else x for x, is_made in pairs])
            return number(answer, step.kind)

    for write in kernel.writes:
        yield write, value(write.value), 0 if write.access is None else place(write.access, index, value)


def same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return len(a) == len(b) and all(map(alike, a, b))


def alike(a: Any, b: Any) -> bool:
    """Integers exactly; reals up to the order of sums, in which floats have 7 digits."""
    kind = str(getattr(a, "dtype", "float64"))
    if np.shape(a) != np.shape(b) or kind != str(getattr(b, "dtype", "float64")):
        return False
    if not kind.startswith("float"):
        return bool(np.array_equal(a, b))
    tolerance = (1e-9, 1e-11) if kind == "float64" else (1e-3, 1e-2)
    return bool(np.allclose(a, b, rtol=tolerance[0], atol=tolerance[1], equal_nan=True))


# Kernels at random. `pick` chooses one of several: hypothesis, or a generator.

Pick = Callable[[Sequence[Any]], Any]
NUMBERS = [-2.0, -1.5, -1.0, -0.5, 0.0, 0.25, 1.0, 1.5, 2.0, 3.0]
STRANGE = [math.nan, math.inf, -math.inf, -0.0]


class Made:
    """A kernel, its operands, and their number of entries (None: reals) as it grows."""

    def __init__(self, pick: Pick, lengths: Sequence[int] = (0, 1, 1, 2, 3, 4, 9), most: int = 3) -> None:
        self.pick = pick
        self.extents = tuple([pick(lengths) for _ in range(pick(range(most + 1)))])
        self.sizes: list[int | None] = []
        self.kinds: list[str] = []  # of the operands
        self.places: dict[int, int] = {}  # operands that hold places, and below what these are
        self.reads: list[Read] = []
        self.steps: list[Step | Choice] = []
        self.guarded: dict[int, Box] = {}  # reads that there are only in a box
        self.outputs: list[Output] = []
        self.writes: list[Write] = []

    def access(self) -> Access:
        """Strides of an array of these extents, its axes in another order, some repeated or apart; or any."""
        strides = self.pick(
            [self.ordered(), self.ordered(), [self.pick([0, 1, 2, 3, 5]) for _ in self.extents]]
        )
        kept = [0 if self.pick([False, False, False, True]) else stride for stride in strides]
        return Access(self.pick([0, 0, 1, 4]), tuple(kept))

    def ordered(self, extents: Sequence[int] | None = None) -> list[int]:
        extents = self.extents if extents is None else extents
        order = list(range(len(extents)))
        for axis in reversed(order[1:]):
            other = self.pick(range(axis + 1))
            order[axis], order[other] = order[other], order[axis]
        strides = [0] * len(extents)
        for axis, stride in zip(order, contiguous([extents[axis] for axis in order]), strict=True):
            strides[axis] = stride
        return strides

    def last(self, access: Access) -> int:
        return access.offset + sum(
            [s * max(e - 1, 0) for s, e in zip(access.strides, self.extents, strict=True)]
        )

    def kind(self) -> str:
        return str(self.pick(["float64"] * 4 + ["float32"] * 3 + ["int64", "int64", "int32", "bool"]))

    def kind_of(self, value: int) -> str:
        one = [*self.reads, *self.steps][value]
        return self.kind_of(one.values[0]) if type(one) is Choice else one.kind

    def operand(self, size: int | None, shared: bool = True, kind: str | None = None) -> int:
        """The number of an operand with `size` entries: an existing one, or a new one, of this kind or another."""
        alike = [
            n for n, s in enumerate(self.sizes) if (s is None) == (size is None) and n not in self.places
        ]
        number = self.pick([*alike, len(self.sizes)]) if shared else len(self.sizes)
        if number == len(self.sizes):
            self.sizes.append(size)
            self.kinds.append("float64" if size is None else kind or self.kind())
        elif size is not None:
            self.sizes[number] = max(size, self.sizes[number] or 0)
        return number

    def read(self) -> None:
        kind = self.pick(["array"] * 6 + ["real", "position", "indirect"] + ["guarded"] * 4)
        if kind == "real":
            self.reads.append(Read(self.operand(None), None))
        elif kind == "guarded":
            box = self.box()
            access = self.access()
            first = sum([s * begin for s, (begin, _) in zip(access.strides, box, strict=True)])
            last = sum([s * max(end - 1, 0) for s, (_, end) in zip(access.strides, box, strict=True)])
            self.guarded[len(self.reads)] = box
            number = self.operand(access.offset + max(last - first, 0) + 1)
            self.reads.append(Read(number, replace(access, offset=access.offset - first), self.kinds[number]))
        elif kind == "position":
            self.reads.append(Read(None, self.access(), self.pick(["float64", "int64"])))
        elif kind == "indirect":
            below = self.pick([1, 2, 4])
            at = self.operand_of_places(below)
            access, stride = self.access(), self.pick([1, 2, 3])
            number = self.operand(self.last(access) + stride * (below - 1) + 1)
            access = Access(access.offset, access.strides, ((at, stride),))
            self.reads.append(Read(number, access, self.kinds[number]))
        else:
            access = self.access()
            number = self.operand(self.last(access) + 1)
            self.reads.append(Read(number, access, self.kinds[number]))

    def box(self) -> Box:
        """A box of indices; including empty ones and the whole."""
        found = []
        for extent in self.extents:
            begin = self.pick([0, self.pick(range(extent + 1))])
            found.append((begin, self.pick([extent, self.pick(range(begin, extent + 1))])))
        return tuple(found)

    def operand_of_places(self, below: int) -> int:
        """The number of a read that finds places."""
        access = self.access()
        kind = self.pick(["float64", "int64", "int32"])
        number = self.operand(self.last(access) + 1, shared=False, kind=kind)
        self.places[number] = below
        self.reads.append(Read(number, access, kind))
        return len(self.reads) - 1

    def everywhere(self) -> list[int]:
        """The values that are there in all turns."""
        return [n for n in range(len(self.reads) + len(self.steps)) if n not in self.guarded]

    def value(self, kind: str | None = None) -> int:
        """One of these, of a kind."""
        return self.pick([n for n in self.everywhere() if kind in (None, self.kind_of(n))])

    def step(self) -> None:
        row = TABLE[self.pick(list(ROWS))]
        if self.pick([False, True]):
            first = self.value()
            self.steps.append(Choice(self.box(), (first, self.value(self.kind_of(first)))))
            return
        kinds = (
            ["float64", "float32"]
            if row.name in ("/", *NOT_EXACT)
            else ["float64", "float32", "int64", "int32"]
        )
        kind = self.pick(["int64", "int32"] if row.name in OF_INTEGERS else kinds)
        if row.name != "real" and kind.startswith("int"):  # that alone makes integers of reals
            least = [n for n in self.everywhere() if not self.kind_of(n).startswith("float")]
            if not least:
                return
            values = [
                self.pick(least if is_made else self.everywhere())
                for is_made in Step(row, (0,) * len(row.operands)).made_alike
            ]
        else:
            values = [self.value() for _ in row.operands]
        self.steps.append(Step(row, tuple(values), kind))

    def guard(self) -> None:
        """After the reads: those that are not everywhere, with others in their place elsewhere."""
        for kind in sorted({self.kind_of(number) for number in self.guarded}):
            number = self.operand(self.last(Access(0, (0,) * len(self.extents))) + 1, shared=False, kind=kind)
            self.reads.append(Read(number, Access(0, (0,) * len(self.extents)), kind))
        for number, box in self.guarded.items():
            self.steps.append(Choice(box, (number, self.value(self.kind_of(number)))))

    def kind_combined(self, value: int) -> str:
        """A possible kind of the sum, or the maximum, of values."""
        is_real = self.kind_of(value).startswith("float")
        return str(self.pick(["float64", "float32"] if is_real else ["float64", "float32", "int64", "int32"]))

    def write(self, kind: str = "any") -> None:
        last = len(self.reads) + len(self.steps) - 1
        number, value = len(self.outputs), self.pick([self.value(), last]) if self.steps else self.value()
        size = math.prod(self.extents)
        kinds = ["whole", "whole", "real", "some", "some", "meeting", "apart", "base", "added", "scattered"]
        kind = self.pick(kinds) if kind == "any" else kind
        combine, total = self.pick(list(COMBINED)), self.kind_combined(value)
        if kind == "real":
            self.outputs.append(Output(None, kind=total))
            self.writes.append(Write(number, value, None, combine))
        elif kind in ("some", "added"):  # over some axes
            left = [1 if self.pick([False, True]) else extent for extent in self.extents]
            strides = [0 if n == 1 else s for n, s in zip(left, self.ordered(left), strict=True)]
            base = self.operand(math.prod(left), shared=False, kind=total) if kind == "added" else None
            self.outputs.append(Output(math.prod(left), None, base, total))
            self.writes.append(Write(number, value, Access(0, tuple(strides)), combine))
        elif kind == "meeting":  # at one place in several turns, as where windows of images overlap
            access = Access(self.pick([0, 2]), tuple([self.pick([0, 1, 1, 2, 3]) for _ in self.extents]))
            size = self.last(access) + 1
            base = self.operand(size, shared=False, kind=total) if self.pick([False, True]) else None
            self.outputs.append(Output(size, start(combine, total) if base is None else None, base, total))
            self.writes.append(Write(number, value, access, combine))
        elif kind == "scattered":
            below, stride = self.pick([1, 2, 4]), self.pick([1, 2])
            at = self.operand_of_places(below)
            value, access = self.renumbered(at, value), self.access()
            size = self.last(access) + stride * (below - 1) + 1
            base = self.operand(size, shared=False, kind=total)
            self.outputs.append(Output(size, None, base, total))
            self.writes.append(
                Write(number, value, Access(access.offset, access.strides, ((at, stride),)), "+")
            )
        else:
            access = Access(0, tuple(self.ordered()))
            own = self.kind_of(value)
            output = Output(size, kind=own)
            if kind != "whole":
                times, offset = self.pick([1, 2]), self.pick([0, 3])
                access = Access(offset, tuple([stride * times for stride in access.strides]))
                size = self.last(access) + 1 + self.pick([0, 2])
                base = self.operand(size, shared=False, kind=own) if kind == "base" else None
                output = Output(size, float(own != "float32") if base is None else None, base, own)
            self.outputs.append(output)
            self.writes.append(Write(number, value, access))

    def renumbered(self, at: int, value: int) -> int:
        """A read was put in at a place: steps and writes count on."""
        self.steps = [replace(s, values=tuple([v + (v >= at) for v in s.values])) for s in self.steps]
        self.writes = [Write(w.output, w.value + (w.value >= at), w.access, w.combine) for w in self.writes]
        return value + (value >= at)

    def kernel(self) -> Kernel:
        return Kernel(
            self.extents, tuple(self.reads), tuple(self.steps), tuple(self.outputs), tuple(self.writes)
        )

    def operands(self, strange: bool) -> list[Any]:
        numbers = NUMBERS + STRANGE if strange else NUMBERS
        seed = random.Random(self.pick(range(1000)))
        found: list[Any] = []
        for number, size in enumerate(self.sizes):
            if size is None:
                found.append(seed.choice(numbers))
                continue
            kind = self.kinds[number]
            if number in self.places:
                entries = [float(seed.randrange(self.places[number])) for _ in range(size)]
            elif kind.startswith("int"):
                most = 1 << (8 * SIZES[kind] - 1)
                entries = [
                    seed.choice([-3, -1, 0, 1, 2, 7, *([-most, most - 1, most // 3] if strange else [])])
                    for _ in range(size)
                ]
            else:
                entries = [seed.choice([0, 1] if kind == "bool" else numbers) for _ in range(size)]
            found.append(np.array(entries, kind))
        return found


def made(pick: Pick) -> tuple[Kernel, list[Any]]:
    """A kernel and operands for it. Only one output is scattered into, so that numbers of reads stay."""
    it = Made(pick)
    for _ in range(pick([1, 1, 2, 3])):
        it.read()
    it.guard()
    for _ in range(pick(range(4))):
        it.step()
    for _ in range(pick([1, 1, 1, 2])):
        it.write()
    return it.kernel(), it.operands(pick([False, True]))


@st.composite
def a_kernel(draw: st.DrawFn) -> tuple[Kernel, list[Any]]:
    return made(lambda choices: draw(st.sampled_from(list(choices))))


@settings(max_examples=drawn(400), deadline=None)
@given(a_kernel())
def test_fewer_axes_are_the_same_turns(one: tuple[Kernel, list[Any]]) -> None:
    kernel, operands = one
    least = compact(kernel)
    assert least.turns == kernel.turns and len(least.extents) <= len(kernel.extents)
    assert least.extents == () or 1 not in least.extents
    assert same(interpreted(least, operands), interpreted(kernel, operands))
    assert sorted(loop_order(kernel)) == [axis for axis, extent in enumerate(kernel.extents) if extent != 1]


@settings(max_examples=drawn(300), deadline=None)
@given(a_kernel(), st.integers(1, 4))
def test_an_axis_as_two_is_the_same_turns(one: tuple[Kernel, list[Any]], inner: int) -> None:
    kernel, operands = one
    for axis, extent in enumerate(kernel.extents):
        divided = split(kernel, axis, inner) if extent % inner == 0 else None
        if divided is not None:
            assert same(interpreted(divided, operands), interpreted(kernel, operands))


@settings(max_examples=drawn(400), deadline=None)
@given(a_kernel())
def test_pieces_take_each_turn_once(one: tuple[Kernel, list[Any]]) -> None:
    kernel, operands = one
    turns = sorted(
        [index for box in cut(kernel) for index in itertools.product(*[range(*ends) for ends in box])]
    )
    assert turns == sorted(itertools.product(*map(range, kernel.extents)))
    parts = pieces(kernel, range(len(operands)))
    assert all(type(step) is Step for part, _ in parts for step in part.steps)

    def written(kernel: Kernel, own: Sequence[int]) -> list[str]:
        indices = itertools.product(*map(range, kernel.extents))
        found = [one for index in indices for one in turn(kernel, [operands[n] for n in own], index)]
        return [repr((write.output, at, value)) for write, value, at in found]

    found = [text for part, own in parts for text in written(part, own)]
    assert sorted(found) == sorted(written(kernel, range(len(operands))))


# One kernel of two.


def each(kernel: Kernel, leaves: Sequence[Leaf]) -> Each:
    slots = tuple(
        [Slot("d" if output.size is None else "p", f"o{n}") for n, output in enumerate(kernel.outputs)]
    )
    return Each(slots, kernel, tuple(leaves), None)


def view(pick: Pick, size: int) -> tuple[tuple[int, ...], Access]:
    """Some entries of an array in some order: as NumPy's views have them."""
    array = np.arange(float(size))
    for _ in range(pick([0, 1, 2, 3])):
        kind = pick(["split", "split", "transpose", "slice", "repeat"])
        lengths = array.shape
        if kind == "transpose":
            order = list(range(array.ndim))
            array = array.transpose([order.pop(pick(range(len(order)))) for _ in range(array.ndim)])
        elif kind == "slice" and array.ndim:
            axis = pick(range(array.ndim))
            start = pick(range(lengths[axis] + 1))
            array = array[(slice(None),) * axis + (slice(start, None, pick([1, 2])),)]
        elif kind == "repeat" and array.ndim < 4:
            array = np.broadcast_to(array, (pick([1, 2]), *lengths))
        elif kind == "split" and array.ndim and array.ndim < 4:
            axis = pick(range(array.ndim))
            inner = pick([n for n in (1, 2, 3, 4, 6) if lengths[axis] % n == 0])
            shape = (*lengths[:axis], lengths[axis] // inner, inner, *lengths[axis + 1 :])
            strides = (*array.strides[:axis], array.strides[axis] * inner, *array.strides[axis:])
            array = np.lib.stride_tricks.as_strided(array, shape, strides)
    first = int(array.flat[0]) if array.size else 0
    return array.shape, Access(first, tuple([stride // 8 for stride in array.strides]))


def a_pair(pick: Pick) -> tuple[Each, Each, dict[Slot, Any]]:
    """A kernel, one that reads a view of its output, and the other operands."""
    it = Made(pick, lengths=(1, 2, 3, 4, 6))
    for _ in range(pick([1, 1, 2])):
        it.read()
    it.guard()
    for _ in range(pick(range(3))):
        it.step()
    size, last = math.prod(it.extents), len(it.reads) + len(it.steps) - 1
    kind = it.kind_of(last)
    it.outputs.append(Output(size, kind=kind))
    it.writes.append(Write(0, last, Access(0, tuple(it.ordered()))))
    held: dict[Slot, Any] = {}

    def slots(operands: list[Any]) -> list[Slot]:
        found = [
            Slot("d" if np.shape(operand) == () else "p", f"x{len(held)}_{n}")
            for n, operand in enumerate(operands)
        ]
        held.update(zip(found, operands, strict=True))
        return found

    producer = each(it.kernel(), slots(it.operands(False)))
    extents, access = view(pick, size)
    reader = Made(pick, lengths=(1,))
    reader.extents = extents
    reader.sizes.append(size)  # of operand 0, which the producer makes
    reader.kinds.append(kind)
    if pick([False, False, True]):  # with something around it
        before = [pick([0, 0, 1, 3]) for _ in extents]
        reader.extents = tuple([a + n + pick([0, 0, 2]) for a, n in zip(before, extents, strict=True)])
        reader.guarded[0] = tuple([(a, a + n) for a, n in zip(before, extents, strict=True)])
        reader.places[0] = 1  # so that it has no other reader
        first = sum([s * a for s, a in zip(access.strides, before, strict=True)])
        access = replace(access, offset=access.offset - first)
    reader.reads.append(Read(0, access, kind))
    for _ in range(pick(range(3))):
        reader.read()
    reader.guard()
    for _ in range(pick(range(3))):
        reader.step()
    reader.write()
    reader.reads = [Read(0, access, kind) if read.operand == 0 else read for read in reader.reads]
    operands = reader.operands(False)
    consumer = each(reader.kernel(), [producer.slots[0], *slots(operands[1:])])
    return producer, consumer, held


def put_together(pair: tuple[Each, Each, dict[Slot, Any]]) -> bool:
    """Was the first kernel put into the second? Then it computes the same."""
    producer, consumer, held = pair
    made_by = interpreted(producer.kernel, [held[slot] for slot in producer.operands])  # type: ignore[index]
    values = {**held, producer.slots[0]: made_by[0]}
    found = fuse_loops._fused(producer, 0, consumer, producer.slots[0])
    if found is None:
        return False
    expected = interpreted(consumer.kernel, [values[slot] for slot in consumer.operands])  # type: ignore[index]
    kernel, operands = found
    assert producer.slots[0] not in operands
    for one in (kernel, compact(kernel)):
        assert same(interpreted(one, [values[slot] for slot in operands]), expected)  # type: ignore[index]
    return True


@settings(max_examples=drawn(600), deadline=None)
@given(st.data())
def test_a_kernel_put_into_its_reader_computes_the_same(data: st.DataObject) -> None:
    put_together(a_pair(lambda choices: data.draw(st.sampled_from(list(choices)))))


def test_most_kernels_are_put_into_their_readers() -> None:
    pick = random.Random(0).choice
    fused = sum([put_together(a_pair(lambda choices: pick(list(choices)))) for _ in range(300)])
    assert fused > 150


# Products of matrices.


def multiplied(product: Product, kernel: Kernel, operands: Sequence[Any]) -> Any:
    """The result of cblas_dgemm for these parameters, once for each index of the batch."""
    result = np.zeros(kernel.outputs[0].size or 0, kernel.outputs[0].kind)
    for index in itertools.product(*[range(kernel.extents[axis]) for axis in product.batch]):
        at = dict(zip(product.batch, index, strict=True))

        def matrix(one: Matrix, array: Any, rows: int, columns: int, at: dict[int, int] = at) -> Any:
            assert one.distance >= max(1, rows if one.transposed else columns), "cblas_dgemm refuses it"
            first = one.access.offset + sum([one.access.strides[axis] * i for axis, i in at.items()])
            shape = (columns, rows) if one.transposed else (rows, columns)
            step = array.itemsize
            found = np.lib.stride_tricks.as_strided(array[first:], shape, (step * one.distance, step))
            return found.T if one.transposed else found

        rows, columns, terms = product.rows, product.columns, product.terms
        left = matrix(product.left, operands[product.left.operand], rows, terms)
        right = matrix(product.right, operands[product.right.operand], terms, columns)
        matrix(product.result, result, rows, columns)[...] = left @ right
    return result


def a_product(pick: Pick) -> tuple[Kernel, list[Any]]:
    """Sums of products of entries, mostly laid out as matrices are, or nearly."""
    it = Made(pick, lengths=(2, 3, 4), most=0)
    it.extents = tuple([pick([1, 2, 3, 4]) for _ in range(pick([3, 3, 3, 4]))])
    kind = pick(["float64", "float32"])
    *batch, i, j, k = range(len(it.extents))

    def strides(axes: Sequence[int]) -> tuple[int, ...]:
        own = it.ordered([it.extents[axis] for axis in axes])
        found = [0] * len(it.extents)
        for axis, stride in zip(axes, own, strict=True):
            found[axis] = stride
        return tuple(found)

    for axes in ((*batch, i, k), (*batch, k, j)):
        apart = pick([1, 1, 1, 2, 0])  # 0: overlapping rows
        laid = [s if s <= 1 else s * apart or 1 for s in strides(axes)]
        access = Access(pick([0, 2]), tuple(laid))
        it.reads.append(Read(it.operand(it.last(access) + 1, kind=kind), access, kind))
    it.steps.append(Step(TABLE["*"], pick([(0, 1), (1, 0)]), kind))
    access = Access(0, strides((*batch, i, j)))
    is_sparse = pick([False] * 4 + [True])
    times, more = (pick([1, 2]), pick([0, 2])) if is_sparse else (1, 0)
    access = Access(access.offset, tuple([stride * times for stride in access.strides]))
    it.outputs.append(Output(it.last(access) + 1 + more, 0.0 if is_sparse else None, kind=kind))
    it.writes.append(Write(0, 2, access, "+"))
    return it.kernel(), it.operands(False)


@settings(max_examples=drawn(400), deadline=None)
@given(st.data())
def test_products_are_read_off_the_strides(data: st.DataObject) -> None:
    kernel, operands = a_product(lambda choices: data.draw(st.sampled_from(list(choices))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matrix_products, "FEWEST", 1)
        product = as_product(kernel)
    if product is not None:
        assert same([multiplied(product, kernel, operands)], interpreted(kernel, operands))


# As C.

COMPILERS = ["cc", *[path for path in [toolchain.boxed_compiler()] if path]]
HEAD = """union vlad_word { double d; long i; void *p; };
static char *vlad_top;
static void *vlad_array(long count) { char *array = vlad_top; vlad_top += 8 * count; return array; }
static int vlad_stop;
#define VLAD_STOPPED 0
static void vlad_fail(int status) {}
static void vlad_spread(void (*part)(void *, double, double), void *given, double first, double last) {
  while (last-- > first) part(given, last, last + 1); /* in another order than one thread would */
}
"""


def c_text(all_kernels: Sequence[tuple[Kernel, Any]]) -> str:
    """A library that runs the kernel of a given number, with working memory, on operands by address."""
    needs = Needs()
    bodies = []
    for number, (kernel, operands) in enumerate(all_kernels):
        lines = [f"static void kernel_{number}(union vlad_word const *in, union vlad_word *out) {{"]
        for index, operand in enumerate(operands):
            kind = "double" if np.shape(operand) == () else "void *"
            lines.append(f"  {kind} a{index} = in[{index}].{'d' if kind == 'double' else 'p'};")
        names = [f"o{index}" for index in range(len(kernel.outputs))]
        kinds = {index: "void *" if np.shape(one) else "double" for index, one in enumerate(operands)}
        given = [Operand(index, f"a{index}") for index in range(len(operands))]
        lines += kernel_lines(kernel, given, names, needs, kinds=kinds)
        for index, output in enumerate(kernel.outputs):
            lines.append(f"  out[{index}].{'d' if output.size is None else 'p'} = o{index};")
        bodies.append("\n".join([*lines, "}"]))
    cases = [f"    case {number}: kernel_{number}(in + 2, out); break;" for number in range(len(all_kernels))]
    return "\n".join([
        needed(needs.functions, True), HEAD, sections()["products"],
        *[marked(sections()["product"], kind) for kind in MARKS],
        parts_constants(), sections()["parts"], *part_texts(needs.parts), *bodies,
        "void vlad_use(void *gemm, void *gemmf, long is_wide) {",
        "  vlad_gemm = gemm; vlad_gemmf = gemmf; vlad_gemm_is_wide = is_wide;", "}",
        "int vlad_call(union vlad_word const *in, union vlad_word *out) {", "  vlad_top = in[1].p;",
        "  if (in[0].i < 0) { vlad_use(in[1].p, in[2].p, in[3].i); return 0; }", "  switch (in[0].i) {", *cases,
        "  }", "  return 0;", "}\n",
    ])  # fmt: skip


def test_operands_that_are_the_same_have_one_number() -> None:
    """Constants may be equal without being the same: zeros of both signs, 1.0 and true."""
    x, y = Slot("p", "x"), Slot("p", "x")
    leaves: list[Leaf] = [0.0, -0.0, 1.0, True, x, y, x, math.inf]
    found = operands_of(leaves, [str(number) for number in range(len(leaves))])
    assert [one.number for one in found] == [0, 1, 2, 3, 4, 5, 4, 7]
    assert [one.known for one in found] == [0.0, 0.0, 1.0, None, None, None, None, None]
    assert [math.copysign(1, one.known) for one in found[:2] if one.known is not None] == [1, -1]


def ran(library: Any, number: int, kernel: Kernel, operands: Sequence[Any]) -> list[Any]:
    """The outputs of compiled code, which lie in a room of their own."""
    sizes = [words(output.size or 0, output.kind) for output in kernel.outputs]
    room = np.full(sum(sizes) + 8, 77.0)
    given = ffi.new("union vlad_word[]", 2 + len(operands))
    answers = ffi.new("union vlad_word[]", len(kernel.outputs))
    given[0].i, given[1].p = number, ffi.from_buffer("double[]", room)
    kept = []
    for index, operand in enumerate(operands, start=2):
        if np.shape(operand) == ():
            given[index].d = operand
        else:
            kept.append(np.ascontiguousarray(operand))
            given[index].p = ffi.from_buffer(kept[-1])
    library.vlad_call(given, answers)
    found, at = [], 0
    for index, output in enumerate(kernel.outputs):
        if output.size is None:
            found.append(answered(output, [answers[index].d]))
        else:
            found.append(room[at : at + sizes[index]].view(output.kind)[: output.size].copy())
        at += sizes[index]
    assert (room[at:] == 77.0).all(), "something is written behind the outputs"
    return found


@pytest.fixture(params=COMPILERS, ids=lambda path: str(path).rpartition("/")[2])
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("VLAD_CC", request.param)
    yield request.param


@pytest.mark.parametrize("seed", range(3))
def test_compiled_loops_compute_the_same(compiler: str, seed: int) -> None:
    pick = random.Random(seed).choice
    all_kernels = [made(lambda choices: pick(list(choices))) for _ in range(120)]
    all_kernels += [(compact(kernel), operands) for kernel, operands in all_kernels[:40]]
    library = toolchain.build(c_text(all_kernels))
    for number, (kernel, operands) in enumerate(all_kernels):
        assert same(ran(library, number, kernel, operands), interpreted(kernel, operands)), (kernel, operands)


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the shortest kernels are divided."""
    for name, value in {
        "FEWEST_STEPS": 6,
        "TIMES_MOVING": 1,
        "STEPS_OF_A_PART": 3,
        "FEWEST_INSIDE": 2,
        "FEWEST_ROWS": 3,
    }.items():
        monkeypatch.setattr(parts, name, value)


@pytest.mark.usefixtures("short_parts")
def test_parts_of_loops_compute_the_same(compiler: str) -> None:
    pick = random.Random(3).choice
    drawn_kernels = [made(lambda choices: pick(list(choices))) for _ in range(1500)]
    all_kernels = [
        (kernel, operands)
        for kernel, operands in drawn_kernels
        if any(parts.divided(piece) for piece, _ in pieces(kernel, list(range(len(operands)))))
    ][:120]
    assert len(all_kernels) == 120
    library = toolchain.build(c_text(all_kernels))
    for number, (kernel, operands) in enumerate(all_kernels):
        assert same(ran(library, number, kernel, operands), interpreted(kernel, operands)), (kernel, operands)


def test_places_that_several_turns_meet_at_are_combined(compiler: str) -> None:
    """Also where the inner loops are a sum: of a convolution's sensitivities by places, with several filters."""
    pick = random.Random(0).choice
    all_kernels = []
    for _ in range(60):
        it = Made(lambda choices: pick(list(choices)), (2, 3, 4), 4)
        it.read()
        it.guard()
        it.step()
        it.write("meeting")
        all_kernels.append((it.kernel(), it.operands(False)))
    library = toolchain.build(c_text(all_kernels))
    for number, (kernel, operands) in enumerate(all_kernels):
        assert same(ran(library, number, kernel, operands), interpreted(kernel, operands)), (kernel, operands)


@pytest.mark.parametrize("with_library", [True, False])
def test_compiled_products_compute_the_same(
    compiler: str, with_library: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_products, "FEWEST", 1)
    pick = random.Random(5).choice
    all_kernels = [a_product(lambda choices: pick(list(choices))) for _ in range(200)]
    assert sum([as_product(kernel) is not None for kernel, _ in all_kernels]) > 20
    library = toolchain.build(c_text(all_kernels))
    found = library_product()
    assert found.address, "NumPy has brought a BLAS library along"
    use = ffi.new("union vlad_word[]", 4)
    use[0].i, use[3].i = -1, found.is_wide
    use[1].p, use[2].p = [
        ffi.cast("void *", address if with_library else 0) for address in (found.address, found.single)
    ]
    library.vlad_call(use, ffi.new("union vlad_word[]", 1))
    for number, (kernel, operands) in enumerate(all_kernels):
        assert same(ran(library, number, kernel, operands), interpreted(kernel, operands)), (kernel, operands)


# Which loops programs have.

X, M = np.ones((50, 4)), np.ones((128, 128))
LOSS = "(lambda (w) (let ((z (matmul x w))) (mean (- (softplus z) (* y z)))))"
STENCIL = "(+ (slice x 0 198) (- (slice x 2 200) (* 2 (slice x 1 199))))"
LOOPS: dict[str, tuple[tuple[Any, ...], list[str]]] = {
    "(lambda (x) (sum (* x x)))": ((X,), ["(200) * -> sum"]),
    "(lambda (x) (+ 1 (* 2 (transpose x))))": ((X,), ["(4 50) * +"]),
    "(lambda (x) (sum (exp (slice (reshape x '(100 2)) 10 60))))": ((X,), ["(100) exp -> sum"]),
    "(lambda (x) (reshape (transpose (reshape x '(2 100))) '(4 50)))": ((X,), ["(100 2)"]),
    "(lambda (x) (tensor-ref (transpose (* x x)) 1))": ((X,), ["(50) *"]),
    "(lambda (x) (+ (outer (tensor-ref x 0) (tensor-ref x 1)) 1))": ((X,), ["(4 4) * +"]),
    "(lambda (x) (logsumexp x #:axis 1))": ((X,), ["(50 4) -> max", "(50) abs < where", "(50 4) - exp -> sum", "(50) log +"]),
    "(lambda (x) ((gradient (lambda (x) (sum (sin x)))) x))": ((X,), ["(200) cos *"]),
    "(lambda (x) ((derivative-F (lambda (t) (sum (sin (* t x))))) 2))": ((X,), ["(200) * cos * * -> sum"]),
    f"(lambda (w x y) ({LOSS} w))": ((X[0], X, X[:, 0]), ["(50 4) * -> sum", "(50) * softplus - -> sum"]),
    f"(lambda (w x y) ((gradient {LOSS}) w))":
        ((X[0], X, X[:, 0]), ["(50 4) * -> sum", "(50) sigmoid / * negate * +", "(4 50) * -> sum"]),
    # concatenations are not materialised
    f"(lambda (x) (let ((x (reshape x '(-1)))) {STENCIL}))": ((X,), ["(198) * - +"]),
    f"(lambda (x) ((gradient-R (lambda (x) (sum (square {STENCIL})))) (reshape x '(-1))))":
        ((X,), ["(200) * - + * + negate * * - + * + | | + * - + * + | +"]),
    f"(lambda (x) (let ((x (reshape x '(-1)))) (concatenate (list #[0] (+ (slice x 1 199) {STENCIL}) #[0]))))":
        ((X,), ["(200) * - + + | |"]),
    "(lambda (x) (sum (exp (concatenate (list x (sin x))))))": ((X,), ["(400) sin | exp -> sum"]),
    "(lambda (x) (sum (* (stack (list x (transpose (reshape x '(4 50))))) 2) #:axis 0))": ((X,), ["(2 50 4) | * -> sum"]),
    # a stored value is summed at once, unless that would prevent something
    "(lambda (x) (let ((y (exp x))) (cons y (sum y))))": ((X,), ["(200) exp -> sum"]),
    "(lambda (x) (let ((y (exp (transpose x)))) (cons (sum y #:axis 1) y)))": ((X,), ["(4 50) exp -> sum"]),
    "(lambda (x) (let ((y (exp x))) (cons (reshape y '(100 2)) (sum (* 2 y) #:axis 0))))": ((X,), ["(50 4) exp * -> sum"]),
    "(lambda (x) (let* ((y (exp x)) (z (sum y))) (cons y (sum (* y z)))))": ((X,), ["(200) exp -> sum", "(200) * -> sum"]),
    "(lambda (x) (let ((y (exp x))) (cons y (maximum y))))": ((X,), ["(200) exp", "(200) -> max"]),
    "(lambda (x) (let ((y (/ x 3))) (cons y (sum y))))": ((X,), ["(200) /", "(200) -> sum"]),
    "(lambda (x) (let ((y (exp x))) (cons y (sum (slice y 0 49)))))": ((X,), ["(200) exp", "(196) -> sum"]),
    # an operand of a product is read, not recomputed
    "(lambda (a) (let ((b (relu (matmul a a)))) (* b (matmul b a))))":
        ((M,), ["(128 128 128) * -> sum", "(16384) relu", "(128 128 128) * -> sum", "(16384) *"]),
    # products of the library are of matrices that are there, but for views
    "(lambda (a b) (matmul a (concatenate (list b b) #:axis 1)))": ((M, M), ["(128 256) |", "(128 256 128) * -> sum"]),
    "(lambda (a b) (matmul (transpose a) (+ b 1)))": ((M, M), ["(16384) +", "(128 128 128) * -> sum"]),
    "(lambda (a b) (matmul (transpose a) (slice b 3 100 #:axis 1)))": ((M, M), ["(128 97 128) * -> sum"]),
}  # fmt: skip


def described(kernel: Kernel) -> str:
    """Its extents, its rows, and its combinations."""
    words = [
        f"({' '.join(map(str, kernel.extents))})",
        *[step.row.name if type(step) is Step else "|" for step in kernel.steps],
    ]
    combines = [write.combine.replace("+", "sum") for write in kernel.writes if write.combine]
    return " ".join([*words, *(["->", *combines] if combines else [])])


@pytest.mark.parametrize("text", LOOPS)
def test_programs_have_as_few_loops_as_can_be(text: str) -> None:
    operands, expected = LOOPS[text]
    session = vlad.Session(tier="evaluate")
    f = session.eval(text).value
    unit = Unit(
        session.machine, f[0], f[1 : 1 + len(f[0].environment)], tuple([from_python(o) for o in operands])
    )
    kernels = [
        statement.kernel
        for function in unit.program.functions
        for statement in statements(function.body)
        if type(statement) is Each
    ]
    assert [described(kernel) for kernel in kernels] == expected
    products = [as_product(kernel) is not None for kernel in kernels]
    assert products == [line.startswith("(128 ") and line.endswith("sum") for line in expected]
    found, known = [vlad.Session(tier=tier).eval(text)(*operands) for tier in ("compile", "evaluate")]
    for one, other in zip(
        *[one if isinstance(one, tuple) else (one,) for one in (found, known)], strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)
