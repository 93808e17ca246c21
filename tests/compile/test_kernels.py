"""Loops over arrays: whatever is made of a kernel (fewer axes, one kernel of two, a product of matrices, C) computes what a plain
interpreter does."""

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
from hypothesis import given, settings
from hypothesis import strategies as st

import vlad
from vlad.compile import kernels, products, toolchain
from vlad.compile.abi import ffi
from vlad.compile.blas import product as library_product
from vlad.compile.emit_c import constant_text
from vlad.compile.emit_kernels import kernel_lines, loop_order
from vlad.compile.first_order import Each, Leaf, Slot, statements
from vlad.compile.functions import needed
from vlad.compile.indices import compact, cut, pieces, split
from vlad.compile.products import Matrix, Product, as_product
from vlad.compile.unit import Unit
from vlad.convert import from_python
from vlad.core.kernels import START, Access, Box, Choice, Kernel, Output, Read, Step, Write, contiguous

TABLE = vlad.Session(tier="evaluate").machine.table
ROWS: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "exp": np.exp, "negate": np.negative,
    "max": lambda a, b: a if a > b or a != a else b, "min": lambda a, b: a if a < b or a != a else b,
    "<": lambda a, b: np.float64(a < b), "where": lambda c, a, b: a if c != 0 else b,
}  # fmt: skip
COMBINED = {"+": np.add, "*": np.multiply, "max": np.maximum, "min": np.minimum}


# What a kernel means.


def place(access: Access, index: Sequence[int], value: Callable[[int], Any]) -> int:
    at = sum([stride * int(value(number)) for number, stride in access.at])
    return access.offset + sum([s * i for s, i in zip(access.strides, index, strict=True)]) + at


def interpreted(kernel: Kernel, operands: Sequence[Any]) -> list[Any]:
    """The outputs: arrays of one axis and reals. Operands alike."""
    outputs: list[Any] = []
    for number, output in enumerate(kernel.outputs):
        combines = [write.combine for write in kernel.writes if write.output == number and write.combine]
        start = START[combines[0]] if combines else output.fill
        if output.base is not None:
            outputs.append(np.array(operands[output.base]))
        else:
            outputs.append(
                np.full(1 if output.size is None else output.size, np.nan if start is None else start)
            )
    for index in itertools.product(*map(range, kernel.extents)):
        for write, value, at in turn(kernel, operands, index):
            held = outputs[write.output]
            with np.errstate(all="ignore"):
                held[at] = COMBINED[write.combine](held[at], value) if write.combine else value
    return [
        found if o.size is not None else float(found[0])
        for o, found in zip(kernel.outputs, outputs, strict=True)
    ]


def turn(kernel: Kernel, operands: Sequence[Any], index: Sequence[int]) -> Iterator[tuple[Write, Any, int]]:
    """What one turn writes, and where. Only what is needed for it is found."""

    @functools.cache
    def value(number: int) -> Any:
        if number < len(kernel.reads):
            read = kernel.reads[number]
            if read.access is None:
                assert read.operand is not None
                return np.float64(operands[read.operand])
            where = place(read.access, index, value)
            assert where >= 0
            return np.float64(where if read.operand is None else operands[read.operand][where])
        step = kernel.steps[number - len(kernel.reads)]
        if type(step) is Choice:
            inside = all(begin <= i < end for i, (begin, end) in zip(index, step.box, strict=True))
            return value(step.values[0 if inside else 1])
        assert type(step) is Step
        with np.errstate(all="ignore"):
            return ROWS[step.row.name](*[value(one) for one in step.values])

    for write in kernel.writes:
        yield write, value(write.value), 0 if write.access is None else place(write.access, index, value)


def same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return len(a) == len(b) and all(
        np.shape(x) == np.shape(y) and np.allclose(x, y, rtol=1e-9, atol=1e-11, equal_nan=True)
        for x, y in zip(a, b, strict=True)
    )


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

    def operand(self, size: int | None, shared: bool = True) -> int:
        """The number of an operand with so many entries: one that is there, or a new one."""
        alike = [
            n for n, s in enumerate(self.sizes) if (s is None) == (size is None) and n not in self.places
        ]
        number = self.pick([*alike, len(self.sizes)]) if shared else len(self.sizes)
        if number == len(self.sizes):
            self.sizes.append(size)
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
            self.reads.append(Read(number, replace(access, offset=access.offset - first)))
        elif kind == "position":
            self.reads.append(Read(None, self.access()))
        elif kind == "indirect":
            below = self.pick([1, 2, 4])
            at = self.operand_of_places(below)
            access, stride = self.access(), self.pick([1, 2, 3])
            number = self.operand(self.last(access) + stride * (below - 1) + 1)
            self.reads.append(Read(number, Access(access.offset, access.strides, ((at, stride),))))
        else:
            access = self.access()
            self.reads.append(Read(self.operand(self.last(access) + 1), access))

    def box(self) -> Box:
        """One of indices; empty ones and the whole among them."""
        found = []
        for extent in self.extents:
            begin = self.pick([0, self.pick(range(extent + 1))])
            found.append((begin, self.pick([extent, self.pick(range(begin, extent + 1))])))
        return tuple(found)

    def operand_of_places(self, below: int) -> int:
        """The number of a read that finds places."""
        access = self.access()
        number = self.operand(self.last(access) + 1, shared=False)
        self.places[number] = below
        self.reads.append(Read(number, access))
        return len(self.reads) - 1

    def value(self) -> int:
        """One that is there in all turns."""
        numbers = range(len(self.reads) + len(self.steps))
        return self.pick([number for number in numbers if number not in self.guarded])

    def step(self) -> None:
        row = TABLE[self.pick(list(ROWS))]
        if self.pick([False, True]):
            self.steps.append(Choice(self.box(), (self.value(), self.value())))
        else:
            self.steps.append(Step(row, tuple([self.value() for _ in row.operands])))

    def guard(self) -> None:
        """After the reads: those that are not everywhere, with others in their place elsewhere."""
        if len(self.guarded) == len(self.reads):
            self.reads.append(Read(self.operand(None), None))
        for number, box in self.guarded.items():
            self.steps.append(Choice(box, (number, self.value())))

    def write(self) -> None:
        last = len(self.reads) + len(self.steps) - 1
        number, value = len(self.outputs), self.pick([self.value(), last]) if self.steps else self.value()
        size = math.prod(self.extents)
        kind = self.pick(["whole", "whole", "real", "some", "some", "apart", "base", "added", "scattered"])
        combine = self.pick(list(START))
        if kind == "real":
            self.outputs.append(Output(None))
            self.writes.append(Write(number, value, None, combine))
        elif kind in ("some", "added"):  # over some axes
            left = [1 if self.pick([False, True]) else extent for extent in self.extents]
            strides = [0 if n == 1 else s for n, s in zip(left, self.ordered(left), strict=True)]
            base = self.operand(math.prod(left), shared=False) if kind == "added" else None
            self.outputs.append(Output(math.prod(left), None, base))
            self.writes.append(Write(number, value, Access(0, tuple(strides)), combine))
        elif kind == "scattered":
            below, stride = self.pick([1, 2, 4]), self.pick([1, 2])
            at = self.operand_of_places(below)
            value, access = self.renumbered(at, value), self.access()
            size = self.last(access) + stride * (below - 1) + 1
            base = self.operand(size, shared=False)
            self.outputs.append(Output(size, None, base))
            self.writes.append(
                Write(number, value, Access(access.offset, access.strides, ((at, stride),)), "+")
            )
        else:
            access = Access(0, tuple(self.ordered()))
            output = Output(size)
            if kind != "whole":
                times, offset = self.pick([1, 2]), self.pick([0, 3])
                access = Access(offset, tuple([stride * times for stride in access.strides]))
                size = self.last(access) + 1 + self.pick([0, 2])
                base = self.operand(size, shared=False) if kind == "base" else None
                output = Output(size, 0.5 if base is None else None, base)
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
            elif number in self.places:
                found.append(np.array([float(seed.randrange(self.places[number])) for _ in range(size)]))
            else:
                found.append(np.array([seed.choice(numbers) for _ in range(size)]))
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


@settings(max_examples=400, deadline=None)
@given(a_kernel())
def test_fewer_axes_are_the_same_turns(one: tuple[Kernel, list[Any]]) -> None:
    kernel, operands = one
    least = compact(kernel)
    assert least.turns == kernel.turns and len(least.extents) <= len(kernel.extents)
    assert least.extents == () or 1 not in least.extents
    assert same(interpreted(least, operands), interpreted(kernel, operands))
    assert sorted(loop_order(kernel)) == [axis for axis, extent in enumerate(kernel.extents) if extent != 1]


@settings(max_examples=300, deadline=None)
@given(a_kernel(), st.integers(1, 4))
def test_an_axis_as_two_is_the_same_turns(one: tuple[Kernel, list[Any]], inner: int) -> None:
    kernel, operands = one
    for axis, extent in enumerate(kernel.extents):
        divided = split(kernel, axis, inner) if extent % inner == 0 else None
        if divided is not None:
            assert same(interpreted(divided, operands), interpreted(kernel, operands))


@settings(max_examples=400, deadline=None)
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
    """A kernel, one that reads a view of its output, and what the other operands are."""
    it = Made(pick, lengths=(1, 2, 3, 4, 6))
    for _ in range(pick([1, 1, 2])):
        it.read()
    it.guard()
    for _ in range(pick(range(3))):
        it.step()
    size = math.prod(it.extents)
    it.outputs.append(Output(size))
    it.writes.append(Write(0, len(it.reads) + len(it.steps) - 1, Access(0, tuple(it.ordered()))))
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
    if pick([False, False, True]):  # with something around it
        before = [pick([0, 0, 1, 3]) for _ in extents]
        reader.extents = tuple([a + n + pick([0, 0, 2]) for a, n in zip(before, extents, strict=True)])
        reader.guarded[0] = tuple([(a, a + n) for a, n in zip(before, extents, strict=True)])
        reader.places[0] = 1  # so that nobody else reads it
        first = sum([s * a for s, a in zip(access.strides, before, strict=True)])
        access = replace(access, offset=access.offset - first)
    reader.reads.append(Read(0, access))
    for _ in range(pick(range(3))):
        reader.read()
    reader.guard()
    for _ in range(pick(range(3))):
        reader.step()
    reader.write()
    reader.reads = [Read(0, access) if read.operand == 0 else read for read in reader.reads]
    operands = reader.operands(False)
    consumer = each(reader.kernel(), [producer.slots[0], *slots(operands[1:])])
    return producer, consumer, held


def put_together(pair: tuple[Each, Each, dict[Slot, Any]]) -> bool:
    """Was the first kernel put into the second? Then it computes the same."""
    producer, consumer, held = pair
    made_by = interpreted(producer.kernel, [held[slot] for slot in producer.operands])  # type: ignore[index]
    values = {**held, producer.slots[0]: made_by[0]}
    found = kernels._fused(producer, 0, consumer, producer.slots[0])
    if found is None:
        return False
    expected = interpreted(consumer.kernel, [values[slot] for slot in consumer.operands])  # type: ignore[index]
    kernel, operands = found
    assert producer.slots[0] not in operands
    for one in (kernel, compact(kernel)):
        assert same(interpreted(one, [values[slot] for slot in operands]), expected)  # type: ignore[index]
    return True


@settings(max_examples=600, deadline=None)
@given(st.data())
def test_a_kernel_put_into_its_reader_computes_the_same(data: st.DataObject) -> None:
    put_together(a_pair(lambda choices: data.draw(st.sampled_from(list(choices)))))


def test_most_kernels_are_put_into_their_readers() -> None:
    pick = random.Random(0).choice
    fused = sum([put_together(a_pair(lambda choices: pick(list(choices)))) for _ in range(300)])
    assert fused > 150


# Products of matrices.


def multiplied(product: Product, kernel: Kernel, operands: Sequence[Any]) -> Any:
    """What cblas_dgemm answers for these parameters, once for each index of the batch."""
    result = np.zeros(kernel.outputs[0].size or 0)
    for index in itertools.product(*[range(kernel.extents[axis]) for axis in product.batch]):
        at = dict(zip(product.batch, index, strict=True))

        def matrix(one: Matrix, array: Any, rows: int, columns: int, at: dict[int, int] = at) -> Any:
            assert one.distance >= max(1, rows if one.transposed else columns), "cblas_dgemm refuses it"
            start = one.access.offset + sum([one.access.strides[axis] * i for axis, i in at.items()])
            shape = (columns, rows) if one.transposed else (rows, columns)
            found = np.lib.stride_tricks.as_strided(array[start:], shape, (8 * one.distance, 8))
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
        it.reads.append(Read(it.operand(it.last(access) + 1), access))
    it.steps.append(Step(TABLE["*"], pick([(0, 1), (1, 0)])))
    access = Access(0, strides((*batch, i, j)))
    is_sparse = pick([False] * 4 + [True])
    times, more = (pick([1, 2]), pick([0, 2])) if is_sparse else (1, 0)
    access = Access(access.offset, tuple([stride * times for stride in access.strides]))
    it.outputs.append(Output(it.last(access) + 1 + more, 0.0 if is_sparse else None))
    it.writes.append(Write(0, 2, access, "+"))
    return it.kernel(), it.operands(False)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_products_are_read_off_the_strides(data: st.DataObject) -> None:
    kernel, operands = a_product(lambda choices: data.draw(st.sampled_from(list(choices))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "FEWEST", 1)
        product = as_product(kernel)
    if product is not None:
        assert same([multiplied(product, kernel, operands)], interpreted(kernel, operands))


# As C.

COMPILERS = ["cc", *[path for path in [toolchain.boxed_compiler()] if path]]
HEAD = """union vlad_word { double d; long i; void *p; };
static char *vlad_top;
static double *vlad_array(long count) { char *array = vlad_top; vlad_top += 8 * count; return (double *)array; }
"""


def c_text(all_kernels: Sequence[tuple[Kernel, Any]]) -> str:
    """A library that runs the kernel of the number that comes first, in the room behind it, on operands by address."""
    expressions: list[str] = []
    bodies = []
    for number, (kernel, operands) in enumerate(all_kernels):
        lines = [f"static void kernel_{number}(union vlad_word const *in, union vlad_word *out) {{"]
        for index, operand in enumerate(operands):
            kind = "double" if np.shape(operand) == () else "void *"
            lines.append(f"  {kind} a{index} = in[{index}].{'d' if kind == 'double' else 'p'};")
        names = [f"o{index}" for index in range(len(kernel.outputs))]
        lines += kernel_lines(
            kernel, [f"a{index}" for index in range(len(operands))], names, constant_text, expressions
        )
        for index, output in enumerate(kernel.outputs):
            lines.append(f"  out[{index}].{'d' if output.size is None else 'p'} = o{index};")
        bodies.append("\n".join([*lines, "}"]))
    cases = [f"    case {number}: kernel_{number}(in + 2, out); break;" for number in range(len(all_kernels))]
    return "\n".join([
        needed(expressions, True), HEAD, runtime_section("products"), *bodies,
        "void vlad_use(void *gemm, long is_wide) { vlad_gemm = gemm; vlad_gemm_is_wide = is_wide; }",
        "int vlad_call(union vlad_word const *in, union vlad_word *out) {", "  vlad_top = in[1].p;",
        "  if (in[0].i < 0) { vlad_use(in[1].p, in[2].i); return 0; }", "  switch (in[0].i) {", *cases,
        "  }", "  return 0;", "}\n",
    ])  # fmt: skip


def runtime_section(name: str) -> str:
    from vlad.compile.emit_c import _sections

    return _sections()[name]


def ran(library: Any, number: int, kernel: Kernel, operands: Sequence[Any]) -> list[Any]:
    """The outputs of compiled code, which lie in a room of their own."""
    sizes = [output.size or 0 for output in kernel.outputs]
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
            given[index].p = ffi.from_buffer("double[]", kept[-1])
    library.vlad_call(given, answers)
    found, at = [], 0
    for index, output in enumerate(kernel.outputs):
        found.append(answers[index].d if output.size is None else room[at : at + output.size].copy())
        at += output.size or 0
    assert (room[at:] == 77.0).all(), "something is written behind the outputs"
    return found


@pytest.fixture(params=COMPILERS, ids=lambda path: str(path).rpartition("/")[2])
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("VLAD_CC", request.param)
    toolchain.forget()
    yield request.param
    toolchain.forget()


@pytest.mark.parametrize("seed", range(3))
def test_compiled_loops_compute_the_same(compiler: str, seed: int) -> None:
    pick = random.Random(seed).choice
    all_kernels = [made(lambda choices: pick(list(choices))) for _ in range(120)]
    all_kernels += [(compact(kernel), operands) for kernel, operands in all_kernels[:40]]
    library = toolchain.build(c_text(all_kernels))
    for number, (kernel, operands) in enumerate(all_kernels):
        assert same(ran(library, number, kernel, operands), interpreted(kernel, operands)), (kernel, operands)


@pytest.mark.parametrize("with_library", [True, False])
def test_compiled_products_compute_the_same(
    compiler: str, with_library: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "FEWEST", 1)
    pick = random.Random(5).choice
    all_kernels = [a_product(lambda choices: pick(list(choices))) for _ in range(200)]
    assert sum([as_product(kernel) is not None for kernel, _ in all_kernels]) > 20
    library = toolchain.build(c_text(all_kernels))
    found = library_product()
    assert found.address, "NumPy has brought a BLAS library along"
    use = ffi.new("union vlad_word[]", 3)
    use[0].i, use[1].p, use[2].i = -1, ffi.cast("void *", found.address if with_library else 0), found.is_wide
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
    # what is put together of parts is not made
    f"(lambda (x) (let ((x (reshape x '(-1)))) {STENCIL}))": ((X,), ["(198) * - +"]),
    f"(lambda (x) ((gradient-R (lambda (x) (sum (square {STENCIL})))) (reshape x '(-1))))":
        ((X,), ["(200) * - + * + negate * * - + * + | | + * - + * + | +"]),
    f"(lambda (x) (let ((x (reshape x '(-1)))) (concatenate (list #[0] (+ (slice x 1 199) {STENCIL}) #[0]))))":
        ((X,), ["(200) * - + + | |"]),
    "(lambda (x) (sum (exp (concatenate (list x (sin x))))))": ((X,), ["(400) sin | exp -> sum"]),
    "(lambda (x) (sum (* (stack (list x (transpose (reshape x '(4 50))))) 2) #:axis 0))": ((X,), ["(2 50 4) | * -> sum"]),
    # products of the library are of matrices that are there, but for views
    "(lambda (a b) (matmul a (concatenate (list b b) #:axis 1)))": ((M, M), ["(128 256) |", "(128 256 128) * -> sum"]),
    "(lambda (a b) (matmul (transpose a) (+ b 1)))": ((M, M), ["(16384) +", "(128 128 128) * -> sum"]),
    "(lambda (a b) (matmul (transpose a) (slice b 3 100 #:axis 1)))": ((M, M), ["(128 97 128) * -> sum"]),
}  # fmt: skip


def described(kernel: Kernel) -> str:
    """Its extents, its rows, and what is combined."""
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
    found = [
        described(statement.kernel)
        for function in unit.program.functions
        for statement in statements(function.body)
        if type(statement) is Each
    ]
    assert found == expected
    called = unit.text.count("vlad_product(") - unit.text.count("static void vlad_product(")
    assert called == sum([line.startswith("(128 ") and line.endswith("sum") for line in expected])
