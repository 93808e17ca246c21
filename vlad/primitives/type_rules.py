"""Shared by the type rules of tensors: `w` is the compiler's AbstractInterpreter, an operand is one of its Known values.

A rule gives the shape and kind of the result and the loops that compute it (core/loop_nests.py). Shapes and axes are constants
of a compiled program; shapes that depend on run-time values are left to tier 0. Mixing of kinds is not stated here:
`result_kind` applies the rows' own rules.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vlad.core.extents import AnExtent, Extent, certainly, exact_quotient, real_of
from vlad.core.loop_nests import (
    Access,
    Choice,
    Kernel,
    Output,
    Read,
    Step,
    Write,
    broadcast,
    contiguous,
    is_whole,
)
from vlad.core.types import has_tangents, is_real, is_tensor
from vlad.data.errors import VladError
from vlad.data.tensors import Tensor, kind_name, load_numpy, shape_text
from vlad.data.values import FALSE, TRUE, ZERO, Primitive, Value

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine

Shape = tuple[AnExtent, ...]
Kind = str | None  # of the entries of a tensor; None: a real, which adopts the kind of the other operand


def plain(rule: Callable[..., Any], linear: tuple[int, ...] = ()) -> Callable[..., Any]:
    """A rule for operands none of which is a union. An operand of `linear` that is the known zero makes the result one. Errors
    raised by the tensor rules' own checks become errors of the program.
    """

    def abstract(w: AbstractMachine, *operands: Any) -> Any:
        return _members(w, rule, linear, operands, ())

    return abstract


def _members(
    w: AbstractMachine,
    rule: Callable[..., Any],
    linear: tuple[int, ...],
    operands: tuple[Any, ...],
    seen: tuple[Any, ...],
) -> Any:
    """Apply `plain`'s rule to each combination of members of the operands that are left, after those in `seen`."""
    if operands:
        first, *left = operands
        rest = tuple(left)
        return w.each(first, lambda x: _members(w, rule, linear, rest, (*seen, x)), f"operand {len(seen)}")
    if any(seen[place].type.of is ZERO for place in linear):
        return w.known_zero
    try:
        return rule(w, *seen)
    except VladError as error:
        return w.refused(error)


def shape_of(x: Any) -> Shape:
    """The shape of a tensor; () for a real."""
    return x.type.of.shape if is_tensor(x.type) else ()


def are_alike(x: Any, like: Any) -> bool:
    """Whether two values have the same shape and kind."""
    shape, other = shape_of(x), shape_of(like)
    return kind_of(x) == kind_of(like) and len(shape) == len(other) and shape == other


def kind_of(x: Any) -> Kind:
    return x.type.of.kind if is_tensor(x.type) else None


@functools.cache
def result_kind(rule: Callable[..., Value], kinds: tuple[Kind, ...], *more: Value) -> str:
    """The kind of the result of a row's rule for tensors of these kinds, and more operands: found by applying it to tensors
    without entries whose last axis has length 1. Operands that are all float64 or reals give float64.
    """
    if set(kinds) <= {None, "float64"}:
        return "float64"
    numpy = load_numpy()

    operands = [1.0 if kind is None else Tensor(numpy.empty((0, 1), kind)) for kind in kinds]
    return kind_name(rule(*operands, *more).like.dtype)


def kind_of_step(w: AbstractMachine, row: Primitive, kinds: Sequence[Kind]) -> str:
    """The kind in which a row is applied: that of its result; a test's operands are converted like those of a sum."""
    is_test = row.type.result == "boolean"
    return result_kind((w.machine.table["+"] if is_test else row).value, tuple(kinds))


def is_number(x: Any) -> bool:
    return is_tensor(x.type) or is_real(x.type)


OF_LISTS = "lists that the caller passes, or that have the same number of elements in each run, are known"
OF_NUMBERS = "numbers that the caller passes, constants and the shapes of tensors are known; entries of tensors are not"


def known(w: AbstractMachine, x: Any) -> Value:
    """The value of a constant operand. Raises Unsettled if it is none: an analysis that unrolls certain calls may find it
    constant.
    """
    type_ = w.types.canonical(x.type)
    if type_.kind == "constant":
        return type_.of
    if type_.kind == "pair":
        return tuple([known(w, part) for part in w.parts(x)])
    return w.unbounded(
        "a shape or axis is known only when the program runs", for_number=True, hint=OF_NUMBERS
    )


def known_lengths(w: AbstractMachine, x: Any) -> Value:
    """A length, or a list of such, as `known`; numbers that the call computes give lengths that are determined within it."""
    type_ = w.types.canonical(x.type)
    if type_.kind == "pair":
        key, found = w.key, []
        for index, part in enumerate(w.parts(x)):
            w.key = (key, "length", index)
            found.append(known_lengths(w, part))
        w.key = key
        return tuple(found)
    length = w.length_of_number(x) if type_.kind == "real" else None
    return known(w, x) if length is None else real_of(length)


def line_of(x: Any) -> tuple[Any, float, float]:
    """A real as factor·base + offset: (base, factor, offset), with None as base if it is constant."""
    if x.type.kind == "constant":
        return None, 0.0, x.type.of if x.type.of is not ZERO else 0.0
    return (x, 1.0, 0.0) if x.line is None else x.line


def drawn(row: Primitive, operands: Sequence[Any]) -> tuple[Any, float, float] | None:
    """The line of a row's result, if the row maps lines to a line."""
    lines = [line_of(x) for x in operands]
    numbers = [number for line in lines for number in line[1:]]
    if any(type(one) is Extent for one in numbers) and not all(one.is_integer() for one in numbers):
        return None
    match row.name, lines:
        case "+" | "-", [(a, f, p), (b, g, q)] if a is b or a is None or b is None:
            sign = 1.0 if row.name == "+" else -1.0
            return (b if a is None else a), real_of(f + sign * g), real_of(p + sign * q)
        case "*", [(None, _, c), (base, factor, offset)] | [(base, factor, offset), (None, _, c)]:
            return base, real_of(c * factor), real_of(c * offset)
        case "negate", [(base, factor, offset)]:
            return base, -factor, -offset
    return None


def result_of_extents(row: Primitive, values: Sequence[Value]) -> Value | None:
    """The result of a row for whole numbers of which some are extents, if it is an extent, or the same for all sizes."""
    if not all(type(value) is Extent or (type(value) is float and value.is_integer()) for value in values):
        return None
    match row.name, values:
        case "+", [a, b]:
            found = a + b
        case "-", [a, b]:
            found = a - b
        case "*", [a, b]:
            found = a * b
        case "negate", [a]:
            found = -a
        case "/", [a, b]:
            found = exact_quotient(a, b)
        case "quotient", [a, b]:
            found = a // b if certainly("<=", 0, a) and certainly("<", 0, b) else None
        case "floor" | "ceiling" | "round" | "truncate" | "real", [a]:
            found = a
        case "=" | "<" | "<=" | ">" | ">=", [a, b]:
            holds = certainly(row.name, a, b)
            return None if holds is None else TRUE if holds else FALSE
        case _:
            return None
    return found if found is None or type(found) is Extent else float(found)


def distance_between(a: Any, b: Any) -> int | None:
    """The difference of two reals, if it is a known whole number."""
    (base, factor, offset), (other, by, end) = line_of(a), line_of(b)
    distance = end - offset
    if base is not other or factor != by or distance % 1 != 0:
        return None
    return distance if type(distance) is Extent else int(distance)


def list_parts(w: AbstractMachine, x: Any) -> list[Any] | None:
    """The elements of a list of known length; None if it is none."""
    found = []
    while x.type.kind == "pair":
        car, x = w.parts(x)
        if w.types.canonical(car.type).kind == "union":
            w.left_out(
                "tensors in lists whose shapes are known only when the program runs are",
                hint=OF_LISTS,
            )
        found.append(car)
        x = type(x)(w.types.canonical(x.type), x.leaves)
    if x.type.kind == "union":
        reason = "the length of a list of tensors or reals is known only when the program runs"
        w.unbounded(
            reason, for_number=True, hint="a tensor instead of the list has a known length: `stack` makes it"
        )
    return found if x.type.of == () else None


def loops(
    w: AbstractMachine,
    extents: Sequence[int],
    operands: Sequence[Any],
    accesses: Sequence[Access | None],
    shape: Shape,
    *,
    steps: Sequence[tuple[Primitive, tuple[int, ...]]] = (),
    among: Sequence[Kind] = (),
    write: Access | None = None,
    combine: str = "",
    fill: float | None = None,
    base: int | None = None,
    kind: Kind = None,
) -> Any:
    """One kernel with one result of a shape: the last value, written in the order of the extents or at `write`, converted
    to a kind, or of its own. `among`: the kinds of the read values in the steps, if not their own.
    A result of rank 0 is a real.
    """
    read = [(index, access) for index, access in enumerate(accesses) if index != base]
    kinds = list(among) or [kind_of(operands[index]) for index, _ in read]
    made = []
    for row, values in steps:
        kinds.append(kind_of_step(w, row, [kinds[value] for value in values]))
        made.append(Step(row, values, kinds[-1] or "float64"))
    kind = kind or kinds[-1] or "float64"
    if not combine:
        made += conversion(w, len(kinds) - 1, kinds[-1], kind)
    size = math.prod(shape) if shape else None
    if write is None and shape:
        write = Access(0, contiguous(extents))
    reads = [Read(index, access, kind_of(operands[index]) or "float64") for index, access in read]
    kernel = Kernel(
        tuple(extents), tuple(reads), tuple(made),
        (Output(size, fill, base, kind),), (Write(0, len(reads) + len(made) - 1, write, combine),),
    )  # fmt: skip
    return output_of(w, kernel, operands, shape, kind)


def conversion(w: AbstractMachine, value: int, kind: Kind, wanted: str) -> list[Step]:
    """The step, if any, that converts a value to the wanted kind; 0 and 1 serve as booleans unchanged."""
    return [] if wanted in (kind or "float64", "bool") else [Step(w.machine.table["real"], (value,), wanted)]


def output_of(w: AbstractMachine, kernel: Kernel, operands: Sequence[Any], shape: Shape, kind: str) -> Any:
    """The only output of a kernel, of a shape and kind: of rank 0 a real or a boolean."""
    if shape:
        return w.loops(kernel, operands, [w.types.tensor(shape, kind)])[0]
    (number,) = w.loops(kernel, operands, [w.types.real])
    return w.apply(w.machine.table["="], [number, w.constant(1.0)]) if kind == "bool" else number


def entry_by_entry(w: AbstractMachine, row: Primitive, operands: Sequence[Any]) -> Any:
    """A scalar row on tensors and reals, with broadcasting."""
    shapes = [shape_of(x) for x in operands]
    shape = broadcast_shape(shapes)
    if shape is None:
        return w.misfit(row.name, *shapes)
    kind = kind_of_step(w, row, [kind_of(x) for x in operands])
    if is_whole(kind) and not row.whole and _calls(row):
        return w.left_out(f"`{row.name}` of integers is")
    accesses = [broadcast(shape_of(x), shape) if is_tensor(x.type) else None for x in operands]
    steps = [(row, tuple(range(len(operands))))]
    is_test = row.type.result == "boolean"
    return loops(w, shape, operands, accesses, shape, steps=steps, kind="bool" if is_test else kind)


def _calls(row: Primitive) -> bool:
    """Does a row call a function of C, which is one of reals?"""
    from vlad.core.expressions import functions_called  # which only compiled code needs

    return bool(functions_called(row.c))


def broadcast_shape(shapes: Sequence[Shape]) -> Shape | None:
    rank = max([len(shape) for shape in shapes])
    lengths = []
    for axis in range(-rank, 0):
        length: AnExtent = 1
        for shape in shapes:
            if len(shape) >= -axis and shape[axis] != 1:
                if length not in (1, shape[axis]):
                    return None
                length = shape[axis]
        lengths.append(length)
    return tuple(lengths)


def copied(w: AbstractMachine, x: Any, shape: Shape, access: Access, kind: Kind = None) -> Any:
    """The entries of a tensor at an access, over a shape; a real is repeated. Converted to a kind, or of their own."""
    if not is_tensor(x.type):
        return loops(w, shape, [x], [None], shape, kind=kind) if shape else x
    return loops(w, shape, [x], [access], shape, kind=kind)


def repeated(w: AbstractMachine, x: Any, shape: Shape, kind: Kind = None) -> Any:
    """Broadcast to a shape."""
    if not is_number(x) or broadcast_shape([shape_of(x), shape]) != shape:
        return unfit(w, x, shape)
    return copied(w, x, shape, broadcast(shape_of(x), shape), kind)


def as_kind(w: AbstractMachine, x: Any, kind: Kind) -> Any:
    """A tensor converted to a kind. Other operands are unchanged."""
    if kind_of(x) in (None, kind):
        return x
    return copied(w, x, shape_of(x), Access(0, contiguous(shape_of(x))), kind)


def as_numbers(w: AbstractMachine, x: Any) -> Any:
    """A tensor to compute with: booleans become 0 and 1 of kind float64."""
    return as_kind(w, x, "float64") if kind_of(x) == "bool" else x


def as_number(w: AbstractMachine, x: Any) -> Any:
    """A boolean as 1 or 0, to compute with in loops; other operands are unchanged."""
    if x.type.head != "boolean":
        return x
    return w.as_real(x) if x.type.kind == "boolean" else w.constant(1.0 if x.type.of is TRUE else 0.0)


def as_reals(w: AbstractMachine, x: Any) -> Any:
    """A tensor of reals: itself, or its numbers as float64."""
    return as_kind(w, x, "float64") if is_tensor(x.type) and not has_tangents(x.type) else x


def unfit(w: AbstractMachine, x: Any, shape: Shape) -> Any:
    """Mismatched shapes in derivatives arise if a sensitivity does not have the shape of its primal: an error of the program, or
    a combination of types that never occurs at run time.
    """
    return w.misfitting(f"A sensitivity of shape {shape_text(shape_of(x))} does not fit {shape_text(shape)}")


def filled(w: AbstractMachine, shape: Shape, number: float, kind: Kind = None) -> Any:
    """A tensor filled with one number, of this kind."""
    return loops(w, shape, [w.constant(number)], [None], shape, kind=kind)


def put_together(
    w: AbstractMachine,
    shape: Shape,
    parts: Sequence[tuple[Any, Shape, Shape]],
    fill: float = 0.0,
    kind: Kind = None,
) -> Any:
    """A tensor assembled from parts: each over a shape of its own with its first entry at an index; `fill` elsewhere. Converted
    to a kind, or of the first part's.
    """
    operands = [*[part for part, _, _ in parts], w.constant(fill)]
    kind = kind or kind_of(parts[0][0]) or "float64"
    reads = []
    for number, (part, own, first) in enumerate(parts):
        access = None
        if is_tensor(part.type):
            access = broadcast(shape_of(part), own)
            access = replace(access, offset=-sum([s * i for s, i in zip(access.strides, first, strict=True)]))
        reads.append(Read(number, access, kind_of(part) or "float64"))
    reads.append(Read(len(parts), None))
    steps: list[Step | Choice] = []

    def alike(value: int) -> int:
        made = conversion(w, value, reads[value].kind, kind)
        steps.extend(made)
        return len(reads) + len(steps) - 1 if made else value

    elsewhere = alike(len(parts))
    for number, (_, own, first) in enumerate(parts):
        box = tuple([(begin, begin + length) for begin, length in zip(first, own, strict=True)])
        steps.append(Choice(box, (alike(number), elsewhere)))
        elsewhere = len(reads) + len(steps) - 1
    kernel = Kernel(
        shape, tuple(reads), tuple(steps), (Output(math.prod(shape), kind=kind),),
        (Write(0, elsewhere, Access(0, contiguous(shape))),),
    )  # fmt: skip
    return w.loops(kernel, operands, [w.types.tensor(shape, kind)])[0]


def reshaped(w: AbstractMachine, x: Any, shape: Shape) -> Any:
    """The same entries in another shape: no work except for ranks of 0."""
    if not is_tensor(x.type):
        return copied(w, x, shape, Access(0, ()))
    if not shape:
        return copied(w, x, (), Access(0, ()))
    return type(x)(w.types.tensor(shape, x.type.of.kind), x.leaves)


def reduced(w: AbstractMachine, x: Any, axes: Sequence[int], keep: bool, combine: str) -> Any:
    """The entries combined over some axes. Booleans become 0 and 1."""
    shape, rule = shape_of(x), w.machine.table[REDUCTIONS[combine]].value
    left = tuple([1 if axis in axes else length for axis, length in enumerate(shape)])
    strides = [0 if axis in axes else stride for axis, stride in enumerate(contiguous(left))]
    result = left if keep else tuple([length for axis, length in enumerate(shape) if axis not in axes])
    write = Access(0, tuple(strides)) if result else None
    return loops(
        w, shape, [x], [Access(0, contiguous(shape))], result, write=write, combine=combine,
        kind=result_kind(rule, (kind_of(x),), -1.0, FALSE),
    )  # fmt: skip


REDUCTIONS = {"+": "sum", "*": "prod", "max": "maximum", "min": "minimum"}


def provided(w: AbstractMachine, tests: Sequence[Any], error: str, rule: Callable[[], Any]) -> Any:
    """Apply the rule if all tests hold; otherwise an error."""
    return _tested(w, tests, 0, error, rule, w.key)


def _tested(
    w: AbstractMachine, tests: Sequence[Any], number: int, error: str, rule: Callable[[], Any], key: Any
) -> Any:
    """`provided`, from a test on."""
    if number == len(tests):
        return rule()

    def others() -> Any:
        return _tested(w, tests, number + 1, error, rule, key)

    def checked(test: Any) -> Any:
        if test.type.kind == "constant":
            return others() if test.type.of is TRUE else w.by_value(error)
        return w.branch((key, "in range", number), test, others, lambda: w.by_value(error), False)

    return w.each(tests[number], checked, f"test {number}")


def within(w: AbstractMachine, x: Any, least: float, end: float) -> list[Any]:
    """Tests whether all numbers are in [least, end)."""
    shape, table = shape_of(x), w.machine.table
    if 0 in shape:
        return []
    low, high = [
        reduced(w, x, range(len(shape)), False, combine) if shape else x for combine in ("min", "max")
    ]
    return [w.apply(table["<="], [w.constant(least), low]), w.apply(table["<"], [high, w.constant(end)])]


def every(w: AbstractMachine, tests: Any) -> Any:
    """Whether every entry of a tensor of booleans is true."""
    product = reduced(w, tests, range(len(shape_of(tests))), False, "*")
    return w.apply(w.machine.table["="], [product, w.constant(1.0)])


def over(shape: Shape, axes: Sequence[int] | None) -> Sequence[int]:
    """The axes of a shape, where None means all."""
    return range(len(shape)) if axes is None else axes
