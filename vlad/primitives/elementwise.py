"""Rules of reals on tensors: entry by entry, with NumPy's broadcasting.

A row says in its column `array` how: the name of a function of the array-API standard, or an expression over the operands and
the array library `xp`, or erf and erfc of `xp` and an array. A row without it is asked for one entry after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from vlad.devices import current, device_of, name_of
from vlad.errors import VladError
from vlad.primitives.error_function import erf, erfc
from vlad.tensors import (
    SORT,
    Array,
    Tensor,
    expect_together,
    made,
    namespace,
    numbers,
    on_host,
    quiet,
    reals_of,
    shape_text,
    together,
)
from vlad.values import ZERO, Value

Formula = Callable[..., Any]
Arrays = Callable[[Sequence[Value]], Sequence[Any]]  # operands_of, or reals_of


@cache
def formula(text: str, operands: tuple[str, ...]) -> Formula:
    """The function of `xp` and the operands that a row's `array` stands for."""
    body = f"xp.{text}({', '.join(operands)})" if text.isidentifier() else text
    names = {"erf": erf, "erfc": erfc, "log_of_positive": _log_of_positive, "power": _power}
    function: Formula = eval(f"lambda xp, {', '.join(operands)}: {body}", names)
    if "(" in text:  # more than a call, or an operator between two
        _several.add(function)
    return function


_several: set[Formula] = set()  # what makes arrays on the way to its answer


def _log_of_positive(xp: Any, x: Any) -> Any:
    """The logarithm where it is finite, else nan; the standard has functions of arrays only."""
    if type(x) is float:
        return math.log(x) if 0 < x < math.inf else math.nan
    return xp.log(xp.where((x > 0) & (x < xp.inf), x, xp.nan))


def _power(xp: Any, x: Any, y: Any) -> Any:
    """x to the y. By one half, NumPy takes roots: those are nan of -inf, and -0 of -0."""
    x = x * 1.0
    answer = xp.pow(x, y)
    if (type(y) is float and y != 0.5) or (type(x) is float and x not in (0, -math.inf)):
        return answer
    size = xp.full_like(answer, abs(x)) if type(x) is float else xp.abs(x)
    return xp.where((y == 0.5) & ((x == 0) | (x == -xp.inf)), size, answer)


def is_elementwise(operands: tuple[Value, ...]) -> bool:
    """Are these reals and tensors, at least one a tensor?"""
    kinds = {type(operand) for operand in operands if operand is not ZERO}
    return Tensor in kinds and kinds <= {Tensor, float}


def elementwise(
    name: str,
    rule: Callable[..., Value],
    apply: Formula | None,
    operands: tuple[Value, ...],
    arrays_of: Arrays = reals_of,
) -> Value:
    """The rule on every entry; `arrays_of` the operands is what it computes with. Raises VladError where shapes do not fit."""
    xp = library(name, *operands)
    arrays = [_given(operand) for operand in operands]
    expect_together(*arrays)

    def computed(operands: Sequence[Value]) -> Any:
        if apply is not None:
            return apply(xp, *arrays_of(operands))
        return _one_by_one(xp, rule, [numbers(operand) for operand in operands])

    try:
        with quiet():
            if _is_by_blocks(xp, apply, arrays):
                return made(_by_blocks(xp, computed, arrays))
            return made(computed(operands))
    except ValueError:
        raise unlike(name, operands) from None


def _given(value: Value) -> Any:
    return value.array if type(value) is Tensor else numbers(value)


MANY = 1 << 20  # entries for which blocks are worth while


def _is_by_blocks(xp: Any, apply: Formula | None, arrays: Sequence[Any]) -> bool:
    """Is more made than the answer, and in the memory of this process? Functions of reals are given integers as reals."""
    given = [array for array in arrays if type(array) is not float]
    if xp.__name__ != "numpy" or math.prod([array.size for array in given]) <= MANY:
        return False
    return apply is None or apply in _several or any(SORT[array.dtype] != "f" for array in given)


# Entries for which a formula is computed at once: what it makes in between stays in the cache.
BLOCK = 1 << 16


def _by_blocks(xp: Any, computed: Callable[[Sequence[Value]], Any], arrays: Sequence[Any]) -> Array:
    """The answer from parts of the arrays, along the longest axis: no more memory is needed than for the answer, and between two
    parts the evaluation can be ended. Raises ValueError where shapes do not fit."""
    shape = xp.broadcast_shapes(*[array.shape for array in arrays if type(array) is not float])
    axis = shape.index(max(shape))
    from_end, length = axis - len(shape), shape[axis]
    step = max(1, BLOCK * length // max(1, math.prod(shape)))
    answer = None
    for start in range(0, max(length, 1), step):
        part = slice(start, start + step)

        def cut(array: Any, part: slice = part) -> Value:
            if type(array) is float:
                return array
            is_long = array.ndim >= -from_end and array.shape[from_end] != 1
            return Tensor(array[(..., part, *[slice(None)] * (-from_end - 1))] if is_long else array)

        found = computed([cut(array) for array in arrays])
        if answer is None:
            if step >= length:
                return found
            answer = xp.empty(shape, found.dtype)
        answer[(*[slice(None)] * axis, part)] = found
    return answer


def _one_by_one(xp: Any, rule: Callable[..., Value], arrays: Sequence[Any]) -> Any:
    given = [array for array in arrays if type(array) is not float]
    single = all(array.dtype == xp.float32 for array in given)
    there = device_of(given[0])
    spread = xp.broadcast_arrays(
        *[there.asarray(array, xp.float64) if type(array) is float else array for array in arrays]
    )
    entries = [map(float, on_host(xp.reshape(array, (-1,))).tolist()) for array in spread]
    results = [rule(*entry) for entry in zip(*entries, strict=True)]
    return xp.reshape(there.asarray(results, xp.float32 if single else xp.float64), spread[0].shape)


def library(name: str, *values: Value) -> Any:
    """The array library of the tensors among some values, which have to be on one device. Raises VladError."""
    first = None
    for value in values:
        if type(value) is Tensor:
            if first is None:
                first = value.like
            elif not together(first, value.like):
                raise apart(name, first, value.like)
    return current().xp if first is None else namespace(first)


def apart(name: str, a: Any, b: Any) -> VladError:
    """Arrays on different devices."""
    return VladError(
        "wrong-device", f"Tensors given to {name} are on different devices: {name_of(a)} and {name_of(b)}",
        hint=f'`(to-device x "{name_of(a)}")` is x there',
    )  # fmt: skip


def unlike(name: str, operands: tuple[Value, ...], hint: str = "") -> VladError:
    """Shapes that do not go together."""
    shapes = [shape_text(operand.shape if type(operand) is Tensor else ()) for operand in operands]
    hint = hint or "axes, counted from the last, have to be equal or 1"
    return VladError("wrong-shape", f"Shapes given to {name} do not fit: {' and '.join(shapes)}", hint=hint)
