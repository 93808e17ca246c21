"""Lists of tensors and reals whose lengths are known only when the program runs: their type rules. `w` is the compiler's
AbstractInterpreter.

A loop counts the elements of such a list, and another one writes them into a new tensor, or makes the list of a tensor's parts.
The length of the tensor is a size that is determined there (core/extents.py): the code is for one length in a call, whichever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vlad.core.extents import AnExtent, exact_quotient, real_of
from vlad.core.loop_nests import Access, Kernel, Output, Read, Write, contiguous
from vlad.core.types import Recursion, Type, is_real, is_tensor
from vlad.data.values import NIL
from vlad.primitives.type_rules import Shape, conversion, copied, filled, kind_of, reshaped, shape_of, unfit
from vlad.primitives.walking import choose, is_nil, scalar

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine


def is_open(w: AbstractMachine, xs: Any) -> bool:
    """Whether the length of a list is not known."""
    type_ = w.types.canonical(xs.type)
    while type_.kind == "pair":
        type_ = w.types.canonical(type_.parts[1])
    return bool(type_.kind == "union")


def element_of(w: AbstractMachine, xs: Any) -> tuple[Shape, str]:
    """The shape and kind of the elements of a list; () for reals. Raises Unbounded if they are of several, or something else."""
    elements: dict[Type, None] = {}
    seen: set[Type] = set()
    work = [w.types.canonical(xs.type)]
    while work:
        type_ = work.pop()
        if type_ in seen:
            continue
        seen.add(type_)
        if type_.kind == "union":
            work += w.types.members(type_, w.instance)
        elif type_.kind == "pair":
            element = w.types.canonical(type_.parts[0])
            elements[w.types.real if is_real(element) else element] = None
            work.append(w.types.canonical(type_.parts[1]))
    if len(elements) != 1:
        w.left_out("lists of run-time length whose elements have several shapes are")
    (element,) = elements
    if is_tensor(element):
        return element.of.shape, element.of.kind
    if element is not w.types.real:
        w.left_out("tensors in lists whose shapes are known only when the program runs are")
    return (), "float64"


def stacked_open(w: AbstractMachine, xs: Any, axis: int) -> Any:
    """The elements along a new axis."""
    shape, kind = element_of(w, xs)
    key = w.key
    count = w.invoke(COUNT, (), [xs, w.unknown_real(w.constant(0.0))], False)
    if count is None:
        return None
    w.key = key
    whole = (w.length_of_list(count), *shape)
    w.key = (key, "whole")
    rows = w.invoke(FILL, (), [xs, w.unknown_real(w.constant(0.0)), filled(w, whole, 0.0, kind)], False)
    if rows is None or axis == 0:
        return rows
    w.key = (key, "moved")
    strides = contiguous(whole)
    own = (*shape[:axis], whole[0], *shape[axis:])
    return copied(w, rows, own, Access(0, (*strides[1 : axis + 1], strides[0], *strides[axis + 1 :])))


def unstacked_open(w: AbstractMachine, x: Any, axis: int, parts: Recursion | None = None) -> Any:
    """The list of the parts along an axis, by a recursion of `list_of_parts`, which may change them."""
    shape = shape_of(x)
    if axis:
        strides = contiguous(shape)
        own = (shape[axis], *shape[:axis], *shape[axis + 1 :])
        x = copied(w, x, own, Access(0, (strides[axis], *strides[:axis], *strides[axis + 1 :])))
    return w.invoke(parts or PARTS, (), [x, w.unknown_real(w.constant(0.0))], False)


def joined_open(w: AbstractMachine, xs: Any, axis: int) -> Any:
    """The elements, which have one shape, joined along an axis."""
    stack = stacked_open(w, xs, axis)
    return stack and reshaped(w, stack, _merged(shape_of(stack), axis))


def split_open(w: AbstractMachine, x: Any, xs: Any, axis: int) -> Any:
    """The list of the parts of a tensor along an axis, of the shape of the elements of a list."""
    shape, own = shape_of(x), element_of(w, xs)[0]
    count = exact_quotient(shape[axis], own[axis]) if len(own) == len(shape) else None
    if count is None:
        return unfit(w, x, own)
    return unstacked_open(w, reshaped(w, x, (*shape[:axis], count, *own[axis:])), axis)


def _merged(shape: Shape, axis: int) -> Shape:
    """A shape with an axis merged into the next one."""
    return (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])


def _count(w: AbstractMachine, xs: Any, before: Any) -> Any:
    def one(xs: Any) -> Any:
        if is_nil(xs):
            return before
        return w.invoke(COUNT, (), [w.part(xs, 1), scalar(w, "+", before, w.constant(1.0))], False)

    return w.each(xs, one)


def _fill(w: AbstractMachine, xs: Any, index: Any, whole: Any) -> Any:
    def one(xs: Any) -> Any:
        if is_nil(xs):
            return whole
        put = _put(w, whole, index, w.part(xs, 0))
        return w.invoke(FILL, (), [w.part(xs, 1), scalar(w, "+", index, w.constant(1.0)), put], False)

    return w.each(xs, one)


def _put(w: AbstractMachine, whole: Any, index: Any, part: Any) -> Any:
    """The tensor with a part at an index of the first axis."""
    shape, kind = shape_of(whole), kind_of(whole) or "float64"
    strides = contiguous(shape)
    rest, inner = shape[1:], strides[1:]
    own = Access(0, contiguous(rest)) if rest else None
    steps = conversion(w, 1, kind_of(part), kind)
    reads = (Read(0, None), Read(1, own if is_tensor(part.type) else None, kind_of(part) or "float64"))
    write = Write(0, 1 + len(steps), Access(0, inner, ((0, strides[0]),)))
    size = whole.type.of.size
    kernel = Kernel(rest, reads, tuple(steps), (Output(size, base=2, kind=kind),), (write,))
    return w.loops(kernel, [index, part, whole], [whole.type])[0]


def list_of_parts(name: str, change: Callable[[AbstractMachine, Any], Any]) -> Recursion:
    """The recursion from a tensor and an index to the list of the parts from there on, each of them changed."""

    def parts(w: AbstractMachine, x: Any, index: Any) -> Any:
        key = w.key
        length: AnExtent = shape_of(x)[0]
        test = scalar(w, "=", index, w.constant(real_of(length)))

        def more() -> Any:
            w.key = (key, "part")
            first = change(w, _part_at(w, x, index))
            w.key = (key, "rest")
            others = w.invoke(recursion, (), [x, scalar(w, "+", index, w.constant(1.0))], False)
            return first and others and w.pair(first, others)

        return choose(w, (key, "end"), test, lambda: w.constant(NIL), more)

    recursion = Recursion(name, parts)
    return recursion


def _part_at(w: AbstractMachine, x: Any, index: Any) -> Any:
    """The part of a tensor at an index of the first axis."""
    shape = shape_of(x)
    rest, strides, kind = shape[1:], contiguous(shape), kind_of(x) or "float64"
    part = Read(1, Access(0, strides[1:], ((0, strides[0]),)), kind)
    write = Write(0, 1, Access(0, contiguous(rest)) if rest else None)
    result = w.types.tensor(rest, kind) if rest else w.types.real
    output = Output(result.of.size if rest else None, kind=kind)
    return w.loops(Kernel(rest, (Read(0, None), part), (), (output,), (write,)), [index, x], [result])[0]


COUNT = Recursion("length", _count)
FILL = Recursion("stack-on", _fill)
PARTS = list_of_parts("unstack", lambda w, part: part)
