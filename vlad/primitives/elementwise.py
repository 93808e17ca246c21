"""Rules of reals on tensors: entry by entry, with NumPy's broadcasting.

A row's column `array` is the name of a function of the array-API standard, or an expression over the operands and
the array library `xp`, or erf and erfc of `xp` and an array. The rule of a row without it is called for each entry.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from vlad.data.devices import current, device_of, name_of
from vlad.data.errors import VladError
from vlad.data.tensors import (
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
from vlad.data.values import ZERO, Value
from vlad.primitives.error_function import erf, erfc, erfcx, log_erfc, log_normal_cdf
from vlad.primitives.special import FAR_POWER

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine

Formula = Callable[..., Any]
Arrays = Callable[[Sequence[Value]], Sequence[Any]]  # operands_of, or reals_of


@cache
def formula(text: str, operands: tuple[str, ...]) -> Formula:
    """The function of `xp` and the operands for a row's `array`."""
    body = f"xp.{text}({', '.join(operands)})" if text.isidentifier() else text
    names = {
        "erf": erf, "erfc": erfc, "erfcx": erfcx, "log_erfc": log_erfc, "log_normal_cdf": log_normal_cdf,
        "power": _power, "power_log": _power_log, "binary_scale": _binary_scale, "power_scale": _power_scale,
        "sign": _sign, "exp2": _exp2, "cbrt": _cbrt, "larger": _larger, "smaller": _smaller,
    }  # fmt: skip
    function: Formula = eval(f"lambda xp, {', '.join(operands)}: {body}", names)
    _texts[function] = text
    return function


_texts: dict[Formula, str] = {}  # of formulas


@cache
def makes_intermediates(function: Formula) -> bool:
    """Does a formula make intermediate arrays: is it more than a function of the library, or an operator on names and numbers?"""
    match ast.parse(_texts[function], mode="eval").body if function in _texts else None:
        case None | ast.Name():
            return False
        case ast.BinOp(left=ast.Name() | ast.Constant(), right=ast.Name() | ast.Constant()):
            return False
    return True


def _log_of_positive(xp: Any, x: Any) -> Any:
    """The logarithm if it is finite, else nan; the standard's functions take arrays only."""
    if type(x) is float:
        return math.log(x) if 0 < x < math.inf else math.nan
    return xp.log(xp.where((x > 0) & (x < xp.inf), x, xp.nan))


def _power(xp: Any, x: Any, y: Any) -> Any:
    """x to the y. By one half, NumPy takes roots: those are nan of -inf, and -0 of -0."""
    x = x * 1.0
    result = xp.pow(x, y)
    if (type(y) is float and y != 0.5) or (type(x) is float and x not in (0, -math.inf)):
        return result
    size = xp.full_like(result, abs(x)) if type(x) is float else xp.abs(x)
    return xp.where((y == 0.5) & ((x == 0) | (x == -xp.inf)), size, result)


def _exp2(xp: Any, x: Any) -> Any:
    """2 to the x; the array-API standard has no function of its own for it."""
    return xp.exp2(x) if hasattr(xp, "exp2") else 2.0**x


def _cbrt(xp: Any, x: Any) -> Any:
    """The cube root; the array-API standard has none."""
    return xp.cbrt(x) if hasattr(xp, "cbrt") else xp.sign(x) * xp.abs(x) ** (1 / 3)


def _sign(xp: Any, x: Any) -> Any:
    """The sign, including that of zero, which NumPy loses."""
    return xp.sign(x) if SORT[x.dtype] != "f" else xp.copysign(xp.sign(x), x)


def _larger(xp: Any, x: Any, y: Any) -> Any:
    """The larger one; of 0 and -0 it is 0, where libraries differ."""
    result = xp.maximum(x, y)
    if SORT[result.dtype] != "f" or _is_not_zero(x) or _is_not_zero(y):
        return result
    if _is_plus_zero(x) or _is_plus_zero(y):
        return result + 0.0
    return xp.where((x == 0) & (y == 0), x + y, result)


def _smaller(xp: Any, x: Any, y: Any) -> Any:
    """The smaller one; of 0 and -0 it is -0."""
    result = xp.minimum(x, y)
    if SORT[result.dtype] != "f" or _is_not_zero(x) or _is_not_zero(y):
        return result
    return xp.where((x == 0) & (y == 0), -(-x - y), result)


def _is_not_zero(x: Any) -> bool:
    return type(x) is float and x != 0


def _is_plus_zero(x: Any) -> bool:
    return type(x) is float and x == 0 and math.copysign(1.0, x) > 0


def _power_log(xp: Any, x: Any, y: Any, n: Any, m: Any, w: AbstractMachine, v: Any) -> Any:
    """x to the (y - n), times log x to the m, times v to the -w."""
    if type(v) is float:
        result = _power(xp, x, y - n if v == 1 else y - n + w)
        result = result if v == 1 else result / (x * v) ** w
    else:
        one = xp.ones_like(v)
        result = _power(xp, x, y - n + w * xp.where(v == 1, 0 * one, one)) / xp.where(v == 1, one, x * v) ** w
    return result if type(m) is float and m == 0 else result * _log_of_positive(xp, x) ** m


def _power_scale(xp: Any, x: Any, y: Any) -> Any:
    """The power of two that scales |x| into [1, 2), if x to the y, for y below -1, may be out of range; else 1."""
    if type(y) is float and not y < -1:
        return xp.ones_like(x)
    size = _size(xp, x) if type(y) is float else _size(xp, x) * xp.ones_like(y)
    exponent = _exponent(xp, size)
    return xp.where((y < -1) & (xp.abs(y * exponent) > FAR_POWER) & (size < xp.inf), 2.0**-exponent, 1.0)


def _binary_scale(xp: Any, x: Any, y: Any) -> Any:
    """The power of two that scales the larger of |x| and |y| into [1, 2)."""
    return 2.0 ** -_exponent(xp, xp.maximum(_size(xp, x), _size(xp, y)))


def _size(xp: Any, x: Any) -> Any:
    return abs(x) if type(x) is float else xp.abs(x)


def _exponent(xp: Any, size: Any) -> Any:
    """The exponent of the power of two below a size, within the range of such powers."""
    finite = xp.where(size < xp.inf, xp.where(size > 0, size, 1.0), xp.inf)
    exponent = xp.floor(xp.log2(finite))
    most = 126.0 if exponent.dtype == xp.float32 else 1022.0
    return xp.where(exponent > most, most, xp.where(exponent < -most, -most, exponent))


def is_elementwise(operands: tuple[Value, ...]) -> bool:
    """Whether these are reals and tensors, at least one of them a tensor."""
    kinds = {type(operand) for operand in operands if operand is not ZERO}
    return Tensor in kinds and kinds <= {Tensor, float}


def elementwise(
    name: str,
    rule: Callable[..., Value],
    apply: Formula | None,
    operands: tuple[Value, ...],
    arrays_of: Arrays = reals_of,
) -> Value:
    """Apply a rule to every entry; `arrays_of` converts the operands. Raises VladError if shapes do not match."""
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


MANY = 1 << 20  # entries from which blocks pay off


def _is_by_blocks(xp: Any, apply: Formula | None, arrays: Sequence[Any]) -> bool:
    """Whether intermediate arrays are made, in the memory of this process. Functions of reals get integers as reals."""
    given = [array for array in arrays if type(array) is not float]
    if xp.__name__ != "numpy" or math.prod([array.size for array in given]) <= MANY:
        return False
    return apply is None or makes_intermediates(apply) or any(SORT[array.dtype] != "f" for array in given)


# Entries of a block: its intermediate results stay in the cache.
BLOCK = 1 << 16


def _by_blocks(xp: Any, computed: Callable[[Sequence[Value]], Any], arrays: Sequence[Any]) -> Array:
    """The result, computed from parts of the arrays along the longest axis: this needs memory for the result alone, and the
    evaluation can be interrupted between two parts. Raises ValueError if shapes do not match.
    """
    shape = xp.broadcast_shapes(*[array.shape for array in arrays if type(array) is not float])
    axis = shape.index(max(shape))
    from_end, length = axis - len(shape), shape[axis]
    step = max(1, BLOCK * length // max(1, math.prod(shape)))
    result = None
    for start in range(0, max(length, 1), step):
        part = slice(start, start + step)

        def cut(array: Any, part: slice = part) -> Value:
            if type(array) is float:
                return array
            is_long = array.ndim >= -from_end and array.shape[from_end] != 1
            return Tensor(array[(..., part, *[slice(None)] * (-from_end - 1))] if is_long else array)

        found = computed([cut(array) for array in arrays])
        if result is None:
            if step >= length:
                return found
            result = xp.empty(shape, found.dtype)
        result[(*[slice(None)] * axis, part)] = found
    return result


def _one_by_one(xp: Any, rule: Callable[..., Value], arrays: Sequence[Any]) -> Any:
    given = [array for array in arrays if type(array) is not float]
    # reals are converted to it, too, before anything is computed
    kind = xp.float32 if all(array.dtype == xp.float32 for array in given) else xp.float64
    there = device_of(given[0])
    spread = xp.broadcast_arrays(
        *[there.asarray(array, kind) if type(array) is float else array for array in arrays]
    )
    entries = [map(float, on_host(xp.reshape(array, (-1,))).tolist()) for array in spread]
    results = [rule(*entry) for entry in zip(*entries, strict=True)]
    return xp.reshape(there.asarray(results, kind), spread[0].shape)


def library(name: str, *values: Value) -> Any:
    """The array library of the tensors among some values. Raises VladError unless they are on one device."""
    first = None
    for value in values:
        if type(value) is Tensor:
            if first is None:
                first = value.like
            elif not together(first, value.like):
                raise different_devices(name, first, value.like)
    return current().xp if first is None else namespace(first)


def different_devices(name: str, a: Any, b: Any) -> VladError:
    """The error of arrays on different devices."""
    return VladError(
        "wrong-device", f"Tensors given to {name} are on different devices: {name_of(a)} and {name_of(b)}",
        hint=f'`(to-device x "{name_of(a)}")` is x there', name=name,
    )  # fmt: skip


def unlike(name: str, operands: tuple[Value, ...], hint: str = "") -> VladError:
    """The error of shapes that do not match."""
    shapes = [shape_text(operand.shape if type(operand) is Tensor else ()) for operand in operands]
    hint = hint or "lengths of axes, counted from the last, have to be equal or 1"
    return VladError(
        "wrong-shape", f"Shapes given to {name} do not fit: {' and '.join(shapes)}", hint=hint, name=name
    )
