"""Products of matrices, and estimates of their time.

In: arrays.  Out: the same as the array library's product. Large products are computed some rows at a time, for limits and
interrupts, which the library itself does not check. If it cannot be split, its time is checked beforehand.
"""

from __future__ import annotations

import math
import time
from typing import Any

from vlad.control.budget import budget, expect_array, expect_seconds
from vlad.data.tensors import SMALL, SORT, Array, load_numpy

AT_A_TIME = 1 << 30  # multiplications of reals; a processor does some 10^10 a second
WHOLE_AT_A_TIME = 1 << 24  # of other numbers, which BLAS does not support
MANY = 1 << 28  # products above it have their time estimated
TRIED, TRIES, TRIED_SECONDS = (
    256,
    4,
    1.0,
)  # rows of the matrices for measuring the speed, repetitions, seconds


def product(xp: Any, x: Array, y: Array) -> Array:
    """xp.matmul(x, y). Raises ValueError if their shapes do not match; or NoRoom."""
    if x.size * y.size >= SMALL:
        shape = _product_shape(x.shape, y.shape)
        expect_array(shape)
        is_large = math.prod(shape) * x.shape[-1] > WHOLE_AT_A_TIME
        if is_large and min(x.ndim, y.ndim) > 1 and xp.__name__ == "numpy" and x.shape[-1] == y.shape[-2]:
            return _by_parts(xp, x, y)
    return xp.matmul(x, y)


def _product_shape(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a product. Raises ValueError if leading axes do not match."""
    batch = load_numpy().broadcast_shapes(x[:-2], y[:-2]) if len(x) > 2 or len(y) > 2 else ()
    return (*batch, *x[-2:-1], *(y[-1:] if len(y) > 1 else ()))


def _by_parts(xp: Any, x: Array, y: Array) -> Array:
    *batch, _, _ = shape = _product_shape(x.shape, y.shape)
    whole = xp.empty(shape, xp.result_type(x, y))
    x, y = [xp.broadcast_to(one, (*batch, *one.shape[-2:])) for one in (x, y)]
    _fill(xp, x, y, whole, AT_A_TIME if SORT[whole.dtype] == "f" else WHOLE_AT_A_TIME)
    return whole


def _fill(xp: Any, x: Array, y: Array, whole: Array, most: int) -> None:
    """Write the product into `whole`, along the first axis, about `most` multiplications at a time."""
    count = most * whole.shape[0] // (whole.size * x.shape[-1])
    if not count and whole.ndim > 2:
        for index in range(whole.shape[0]):
            _fill(xp, x[index], y[index], whole[index], most)
        return
    for first in range(0, whole.shape[0], max(count, 1)):
        part = slice(first, first + max(count, 1))
        xp.matmul(x[part], y if whole.ndim == 2 else y[part], out=whole[part])


def expect_multiplications(count: float) -> None:
    """Raise NoTime if so many multiplications, in one operation, would exceed the time limit."""
    if count >= MANY and budget().end < math.inf:
        expect_seconds(count / _speed())


def _speed() -> float:
    """Multiplications per second at present: the fastest of a few small tries, as the machine may have other work."""
    begun = time.monotonic()
    if begun - _tried.when > TRIED_SECONDS:
        xp = load_numpy()
        matrix = xp.ones((TRIED, TRIED))
        begun = time.monotonic()
        for _ in range(TRIES):
            xp.matmul(matrix, matrix)
        _tried.when = time.monotonic()
        _tried.speed = TRIES * TRIED**3 / (_tried.when - begun)
    return _tried.speed


class _Tried:
    when = -math.inf
    speed = 0.0


_tried = _Tried()
