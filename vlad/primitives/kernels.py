"""What the type rules of tensors have in common: `w` is the compiler's Walker (compile/analyze.py), an operand what it knows.

A rule says of which shape the answer is and by which loops (core/kernels.py) it comes about. Shapes and axes are known when a
program is compiled; what is known only when it runs is for tier 0.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from vlad.core.kernels import Access, Kernel, Output, Read, Step, Write, broadcast, contiguous
from vlad.core.types import is_real, is_tensor, value_of
from vlad.errors import VladError
from vlad.tensors import shape_text
from vlad.values import ZERO, Primitive, Value

Shape = tuple[int, ...]


def plain(rule: Callable[..., Any], linear: tuple[int, ...] = ()) -> Callable[..., Any]:
    """The rule for operands none of which is a union. An operand of `linear` that is the known zero makes the answer one. What
    the tensor rules' own checks refuse is an error of the program."""

    @functools.wraps(rule)
    def abstract(w: Any, *operands: Any) -> Any:
        def at(index: int, seen: tuple[Any, ...]) -> Any:
            if index < len(operands):
                return w.each(operands[index], lambda x: at(index + 1, (*seen, x)), f"operand {index}")
            if any(seen[place].type.of is ZERO for place in linear):
                return w.known_zero
            try:
                return rule(w, *seen)
            except VladError as error:
                return w.fail(error.message)

        return at(0, ())

    return abstract


def shape_of(x: Any) -> Shape:
    """() for a real."""
    return x.type.of.shape if is_tensor(x.type) else ()


def is_number(x: Any) -> bool:
    return is_tensor(x.type) or is_real(x.type)


def known(w: Any, x: Any) -> Value:
    """The value of an operand that is constant through and through. Unsettled where it is not: a patient analysis may know."""
    type_ = w.types.canonical(x.type)
    if type_.kind == "constant":
        return value_of(type_)
    if type_.kind == "pair":
        return tuple([known(w, part) for part in w.parts(x)])
    return w.unbounded("a shape or axis is known only when the program runs")


def line_of(x: Any) -> tuple[Any, float, float]:
    """A real as factor·base + offset: (base, factor, offset), with None as base where it is a constant."""
    if x.type.kind == "constant":
        return None, 0.0, float(value_of(x.type)) if x.type.of is not ZERO else 0.0
    return (x, 1.0, 0.0) if x.line is None else x.line


def drawn(row: Primitive, operands: Sequence[Any]) -> tuple[Any, float, float] | None:
    """The line of a row's result, where the row leads from lines to one."""
    lines = [line_of(x) for x in operands]
    match row.name, lines:
        case "+" | "-", [(a, f, p), (b, g, q)] if a is b or a is None or b is None:
            sign = 1.0 if row.name == "+" else -1.0
            return (b if a is None else a), f + sign * g, p + sign * q
        case "*", [(None, _, c), (base, factor, offset)] | [(base, factor, offset), (None, _, c)]:
            return base, c * factor, c * offset
        case "negate", [(base, factor, offset)]:
            return base, -factor, -offset
    return None


def distance_between(a: Any, b: Any) -> int | None:
    """How much more one real is than another, where that is known and a whole number."""
    (base, factor, offset), (other, by, end) = line_of(a), line_of(b)
    distance = end - offset
    return int(distance) if base is other and factor == by and distance % 1 == 0 else None


def list_parts(w: Any, x: Any) -> list[Any] | None:
    """The elements of a list of known length; None where it is none."""
    found = []
    while x.type.kind == "pair":
        car, x = w.parts(x)
        if w.types.canonical(car.type).kind == "union":
            w.left_out("tensors in lists whose shapes are known only when the program runs are")
        found.append(car)
        x = type(x)(w.types.canonical(x.type), x.leaves)
    if x.type.kind == "union":
        w.left_out("tensors in lists whose length is known only when the program runs are")
    return found if x.type.of == () else None


def loops(
    w: Any,
    extents: Sequence[int],
    operands: Sequence[Any],
    accesses: Sequence[Access | None],
    shape: Shape,
    *,
    steps: Sequence[tuple[Primitive, tuple[int, ...]]] = (),
    write: Access | None = None,
    combine: str = "",
    fill: float | None = None,
    base: int | None = None,
    kind: str = "f",
) -> Any:
    """One kernel with one answer of a shape: the last value, written in the order of the extents or where `write` says. A
    shape of rank 0 answers a real."""
    reads = tuple([Read(index, access) for index, access in enumerate(accesses)])
    size = math.prod(shape) if shape else None
    if write is None and shape:
        write = Access(0, contiguous(extents))
    if base is not None:
        reads = tuple([read for read in reads if read.operand != base])
    kernel = Kernel(
        tuple(extents), reads, tuple([Step(row, values) for row, values in steps]),
        (Output(size, fill, base),), (Write(0, len(reads) + len(steps) - 1, write, combine),),
    )  # fmt: skip
    return answer_of(w, kernel, operands, shape, kind)


def answer_of(w: Any, kernel: Kernel, operands: Sequence[Any], shape: Shape, kind: str) -> Any:
    """The one output of a kernel, of a shape and kind: of rank 0 a real or a boolean."""
    if shape:
        return w.loops(kernel, operands, [w.types.tensor(shape, kind)])[0]
    (number,) = w.loops(kernel, operands, [w.types.real])
    return w.apply(w.machine.table["="], [number, w.constant(1.0)]) if kind == "b" else number


def entry_by_entry(w: Any, row: Primitive, operands: Sequence[Any]) -> Any:
    """A scalar row on tensors and reals, with broadcasting."""
    shapes = [shape_of(x) for x in operands]
    shape = broadcast_shape(shapes)
    if shape is None:
        return w.fail(f"Shapes given to {row.name} do not fit: {' and '.join(map(shape_text, shapes))}")
    is_test = row.type.endswith("boolean")
    if not is_test and any(is_tensor(x.type) and x.type.of.kind == "i" for x in operands):
        return w.left_out("tensors of integers are")
    accesses = [broadcast(shape_of(x), shape) if is_tensor(x.type) else None for x in operands]
    steps = [(row, tuple(range(len(operands))))]
    return loops(w, shape, operands, accesses, shape, steps=steps, kind="b" if is_test else "f")


def broadcast_shape(shapes: Sequence[Shape]) -> Shape | None:
    rank = max([len(shape) for shape in shapes])
    lengths = []
    for axis in range(-rank, 0):
        here = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        if len(here) > 1:
            return None
        lengths.append(here.pop() if here else 1)
    return tuple(lengths)


def copied(w: Any, x: Any, shape: Shape, access: Access) -> Any:
    """The entries of a tensor that an access finds, over a shape; a real is repeated."""
    if not is_tensor(x.type):
        return loops(w, shape, [x], [None], shape) if shape else x
    return loops(w, shape, [x], [access], shape, kind=x.type.of.kind)


def repeated(w: Any, x: Any, shape: Shape) -> Any:
    """Broadcast to a shape."""
    if not is_number(x) or broadcast_shape([shape_of(x), shape]) != shape:
        return unfit(w, x, shape)
    return copied(w, x, shape, broadcast(shape_of(x), shape))


def unfit(w: Any, x: Any, shape: Shape) -> Any:
    """Derivatives meet what does not fit where a sensitivity is not of the shape of its primal: the program's, or one of those
    that types allow for and that never come together."""
    return w.fail(f"A sensitivity of shape {shape_text(shape_of(x))} does not fit {shape_text(shape)}")


def filled(w: Any, shape: Shape, number: float, kind: str = "f") -> Any:
    """A tensor of one number."""
    return loops(w, shape, [w.constant(number)], [None], shape, kind=kind)


def reshaped(w: Any, x: Any, shape: Shape) -> Any:
    """The same entries, in their order: nothing is done but for ranks of 0."""
    if not is_tensor(x.type):
        return copied(w, x, shape, Access(0, ()))
    if not shape:
        return loops(w, (), [x], [Access(0, ())], (), kind=x.type.of.kind)
    return type(x)(w.types.tensor(shape, x.type.of.kind), x.leaves)


def reduced(w: Any, x: Any, axes: Sequence[int], keep: bool, combine: str) -> Any:
    """The entries combined over some axes. Booleans count as 0 and 1."""
    shape = shape_of(x)
    left = tuple([1 if axis in axes else length for axis, length in enumerate(shape)])
    strides = [0 if axis in axes else stride for axis, stride in enumerate(contiguous(left))]
    result = left if keep else tuple([length for axis, length in enumerate(shape) if axis not in axes])
    write = Access(0, tuple(strides)) if result else None
    return loops(w, shape, [x], [Access(0, contiguous(shape))], result, write=write, combine=combine)


def every(w: Any, tests: Any) -> Any:
    """Is every entry of a tensor of booleans true?"""
    product = reduced(w, tests, range(len(shape_of(tests))), False, "*")
    return w.apply(w.machine.table["="], [product, w.constant(1.0)])


def over(shape: Shape, axes: Sequence[int] | None) -> Sequence[int]:
    """The axes of a shape, where None is all."""
    return range(len(shape)) if axes is None else axes
