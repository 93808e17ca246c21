"""Rules of reals on tensors: entry by entry, with NumPy's broadcasting.

A row says in its column `array` how: the name of a function of the array-API standard, or an expression over the operands and
the array library `xp`, or erf and erfc of `xp` and an array. A row without it is asked for one entry after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from vlad.errors import VladError
from vlad.primitives.error_function import erf, erfc
from vlad.tensors import Tensor, made, namespace, numbers, quiet, shape_text
from vlad.values import ZERO, Value

Formula = Callable[..., Any]


@cache
def formula(text: str, operands: tuple[str, ...]) -> Formula:
    """The function of `xp` and the operands that a row's `array` stands for."""
    body = f"xp.{text}({', '.join(operands)})" if text.isidentifier() else text
    function: Formula = eval(f"lambda xp, {', '.join(operands)}: {body}", {"erf": erf, "erfc": erfc})
    return function


def is_elementwise(operands: tuple[Value, ...]) -> bool:
    """Are these reals and tensors, at least one a tensor?"""
    kinds = {type(operand) for operand in operands if operand is not ZERO}
    return Tensor in kinds and kinds <= {Tensor, float}


def elementwise(
    name: str, rule: Callable[..., Value], apply: Formula | None, operands: tuple[Value, ...]
) -> Value:
    """The rule on every entry. Raises VladError where shapes do not fit."""
    first = next(operand for operand in operands if type(operand) is Tensor)
    xp = namespace(first.like)
    arrays = [numbers(operand) for operand in operands]
    try:
        with quiet():
            return made(apply(xp, *arrays) if apply is not None else _one_by_one(xp, rule, arrays))
    except ValueError:
        raise unlike(name, operands) from None


def _one_by_one(xp: Any, rule: Callable[..., Value], arrays: list[Any]) -> Any:
    whole = [array if hasattr(array, "shape") else xp.asarray(array) for array in arrays]
    single = all(array.dtype == xp.float32 for array in arrays if hasattr(array, "shape"))
    spread = xp.broadcast_arrays(*whole)
    entries = [[float(entry) for entry in array.reshape(-1)] for array in spread]
    results = [rule(*entry) for entry in zip(*entries, strict=True)]
    return xp.asarray(results, dtype=xp.float32 if single else xp.float64).reshape(spread[0].shape)


def unlike(name: str, operands: tuple[Value, ...], hint: str = "") -> VladError:
    """Shapes that do not go together."""
    shapes = [shape_text(operand.shape if type(operand) is Tensor else ()) for operand in operands]
    hint = hint or "axes, counted from the last, have to be equal or 1"
    return VladError("wrong-shape", f"Shapes given to {name} do not fit: {' and '.join(shapes)}", hint=hint)
