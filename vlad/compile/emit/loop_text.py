"""The pieces of C that loops over arrays consist of: values, entries, numbers. Called by c_loops.py and cuda_loops.py."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from vlad.compile.emit.functions import applied, single
from vlad.compile.emit.multiple_accumulators import ORDER
from vlad.core.loop_nests import SHORT, Access, Kernel, Step, Write, is_whole
from vlad.core.types import is_of_reals

SIMD = "#pragma omp simd"
C_KINDS = {"float64": "double", "float32": "float", "int64": "long", "int32": "int", "bool": "unsigned char"}


def step_text(kernel: Kernel, step: Step) -> str:
    """A step's C, over values x0, x1, … A test compares numbers as they are; what else is done to integers, is to those that
    wrap."""
    row, kind = step.row, step.kind
    actual = operand_texts(kernel, step)
    if kind == "float32":
        return applied(single(row.c), actual)
    return (
        f"({C_KINDS[kind]})({applied(row.whole or row.c, actual)})" if wraps(step) else applied(row.c, actual)
    )


def wraps(step: Step) -> bool:
    """Is it computed in integers that wrap?"""
    return is_whole(step.kind) and step.row.type.result != "boolean"


def operand_texts(kernel: Kernel, step: Step) -> dict[str, str]:
    """A step's operands, by their names in its row."""
    row, kind = step.row, step.kind
    actual = {}
    for name, value, alike in zip(row.operands, step.values, step.made_alike, strict=True):
        own = kernel.kind_of(value)
        text = f"x{value}"
        if alike and wraps(step) and is_of_reals(own):
            text = f"vlad_as_{kind}({text})"
        elif alike and own != kind:
            text = f"({C_KINDS[kind]}){text}"
        actual[name] = f"(unsigned long){text}" if alike and wraps(step) else text
    return actual


def gathering_type(kind: str, combine: str) -> str:
    """In what numbers of a kind are combined: floats in doubles, integers in those that wrap, or are in order."""
    return "double" if not is_whole(kind) else "long" if combine in ORDER else "unsigned long"


def position_text(access: Access, extents: Sequence[int]) -> str:
    """Where an entry is, over indices i0, i1, … and values x0, x1, …"""
    terms = [
        f"i{axis}" if stride == 1 else f"{stride} * i{axis}"
        for axis, stride in enumerate(access.strides)
        if stride and extents[axis] != 1
    ]
    terms += [f"{stride} * (long)x{value}" for value, stride in access.at]
    if access.offset or not terms:
        terms.append(str(access.offset))
    return " + ".join(terms)


def entry_text(array: str, access: Access, extents: Sequence[int]) -> str:
    return f"{array}[{position_text(access, extents)}]"


def stored_text(place: str, value: str, combine: str, kind: str) -> str:
    """A value put, or combined with what is there, as numbers of a kind."""
    match combine:
        case "":
            return f"{place} = {value};"
        case "max" | "min":  # nan stays, whatever comes
            return f"if ({value} {ORDER[combine]} {place} || {value} != {value}) {place} = {value};"
    if is_whole(kind):
        return f"{place} = (unsigned long){place} {combine} (unsigned long){value};"
    return f"{place} = {place} {combine} {value};"


def combined_text(kernel: Kernel, write: Write) -> str:
    """The value that a write combines; of integers that are to be in order, as one of the output's."""
    kind, text = kernel.outputs[write.output].kind, f"x{write.value}"
    is_cut = write.combine in ORDER and is_whole(kind) and kernel.kind_of(write.value) != kind
    return f"({C_KINDS[kind]}){text}" if is_cut else text


def number_text(number: float, kind: str, real: Callable[[float], str]) -> str:
    """A constant of a kind."""
    if not is_whole(kind):
        return real(float(number))
    return f"(-{-int(number + 1)}L - 1)" if number < 0 else f"{int(number)}L"


def products_text(section: str, kinds: Collection[str]) -> str:
    """The section of runtime.c for products of matrices of numbers of these kinds."""
    head, begin, rest = section.partition("static void vlad_product(")
    texts = {"float64": begin + rest, "float32": re.sub(r"\bvlad_gemm\b", "vlad_gemmf", single(begin + rest))}
    return head + "".join([texts[kind] for kind in sorted(kinds)])


def loop_order(kernel: Kernel) -> list[int]:
    """The axes, outer loops first: innermost the one along which most is read and written side by side. Axes of length 1 need
    no loop."""
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

    if kernel.turns <= SHORT:
        return sorted(axes, key=is_summed)  # all in registers: sums are best finished one by one
    # of axes along which nothing jumps one that is not summed over is the better: its turns do not wait for each other
    inner = min(reversed(axes), key=lambda axis: (jumps(axis), is_summed(axis)))
    return [*[axis for axis in axes if axis != inner], inner]
