"""The rows of the norm and of its derivatives: accurate at all magnitudes, and at 0 (arrays.py has the conventions).

The square root of the sum of squares is accurate unless squares overflow or underflow. So it is computed first and checked, and
only then computed again, with entries scaled by a power of two. Derivatives divide by the norm, with the same care. They are rows
of their own: `heading` is the direction of a tensor, along which the norm grows by 1, `along` the component of another tensor in
that direction; the derivatives of both consist of the two.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vlad.control.budget import expect_arrays
from vlad.core.types import is_real, is_tensor
from vlad.data.errors import Kind
from vlad.data.tensors import Array, Tensor, expect_together, kind_name, made, namespace, numbers, quiet
from vlad.data.values import TRUE, Primitive, Value
from vlad.primitives.arrays import array_of, reals, row
from vlad.primitives.elementwise import library, unlike
from vlad.primitives.numbers import invalid
from vlad.primitives.type_rules import (
    as_kind,
    as_number,
    as_reals,
    entry_by_entry,
    is_number,
    kind_of,
    reduced,
    shape_of,
)

if TYPE_CHECKING:
    from vlad.core.machines import AbstractMachine

# Squares overflow, and lose digits below the least normal number, long before their bases do.
# By kind: the least accurate root of a sum of squares; a power of two that scales any vector whose root
# is less, or whose reciprocal scales any vector whose root is infinite, into range; the least and the largest normal number.
MAGNITUDES = {
    "float64": (2.0**-485, 2.0**600, 2.0**-1022, sys.float_info.max),
    "float32": (2.0**-51, 2.0**86, 2.0**-126, 2.0**128 - 2.0**104),
}
# A sum that is this factor above the least normal number is not affected by underflow of its parts.
DIGITS = 2.0**53


def _norm(t: Value) -> Value:
    array = reals(array_of("norm", t))
    xp = namespace(array)
    with quiet():
        expect_arrays(1, array.size)
        root = float(xp.sqrt(xp.sum(array * array)))
        least, power, *_ = MAGNITUDES[kind_name(array.dtype)]
        if least <= root < math.inf:
            return root
        if bool(xp.any(xp.isinf(array))):
            return math.inf
        by = 1.0  # doubles cover squares of floats
        if array.dtype == xp.float64:
            by = 1 / power if root > 1 else power
        expect_arrays(1, array.size)
        scaled = xp.astype(array, xp.float64, copy=False) * by
        scaled *= scaled
        return float(xp.sqrt(xp.sum(scaled))) / by


def _abstract_norm(w: AbstractMachine, t: Any) -> Any:
    if not is_number(t):
        return w.invalid("norm")
    apply, table, t = w.apply, w.machine.table, as_reals(w, t)
    if not is_tensor(t.type):
        return apply(table["abs"], [t])
    root, (least, power, *_) = _abstract_root(w, t), MAGNITUDES[kind_of(t) or ""]

    def scaled() -> Any:
        infinities = apply(table["="], [apply(table["abs"], [t]), w.constant(math.inf)])
        is_infinite = apply(table[">"], [_abstract_total(w, infinities), w.constant(0.0)])
        large = apply(table[">"], [root, w.constant(1.0)])
        by = w.constant(1.0)  # doubles cover squares of floats
        if kind_of(t) == "float64":
            by = _either(w, large, w.constant(1 / power), w.constant(power))
        found = _abstract_root(w, apply(table["*"], [as_kind(w, t, "float64"), by]))
        return _either(w, is_infinite, w.constant(math.inf), apply(table["/"], [found, by]))

    sound = _is_within(w, root, least, sys.float_info.max)
    if w.machine.device != "cpu":  # avoid synchronisation with a GPU
        return _either(w, sound, root, scaled())
    return w.each(sound, lambda sound: _decided(w, "norm", sound, lambda: root, scaled))


def _scale(array: Array, size: Value) -> tuple[float, float]:
    """A power of two and the norm of an array multiplied by it, for quotients: 1 and the norm itself, if that
    is a normal number. 1 and 1 for zeros.
    """
    if type(size) is not float:
        raise invalid("norm", "a norm", size)
    _, power, least, most = MAGNITUDES[kind_name(array.dtype)]
    if least <= size <= most:
        return 1.0, size
    if size == 0:
        return 1.0, 1.0
    by, xp = 1 / power if size > 1 else power, namespace(array)
    if array.dtype == xp.float32:
        return by, size * by
    expect_arrays(1, array.size)
    scaled = array * by
    scaled *= scaled
    return by, float(xp.sqrt(xp.sum(scaled)))


def _abstract_scale(w: AbstractMachine, t: Any, size: Any) -> tuple[Any, Any]:
    """As _scale."""
    apply, table, one = w.apply, w.machine.table, w.constant(1.0)
    _, power, least, most = MAGNITUDES[kind_of(t) or "float64"]
    sound = _is_within(w, size, least, most)
    none = apply(table["="], [size, w.constant(0.0)])

    def power_of_two() -> Any:
        large = apply(table[">"], [size, one])
        return w.each(large, lambda large: _decided(
            w, "far", large, lambda: w.constant(1 / power), lambda: w.constant(power)
        ))  # fmt: skip

    def rescaled() -> Any:
        if kind_of(t) == "float32":
            return apply(table["*"], [size, by])
        return _abstract_root(w, apply(table["*"], [t, by]))

    def unless_none(rule: Callable[[], Any]) -> Any:
        return w.each(none, lambda none: _decided(w, "none", none, lambda: one, rule))

    def unless_sound(name: str, usual: Any, rule: Callable[[], Any]) -> Any:
        return w.each(sound, lambda sound: _decided(w, name, sound, lambda: usual, lambda: unless_none(rule)))

    by = unless_sound("scale", one, power_of_two)
    return by, unless_sound("scaled", size, rescaled)


def _heading(t: Value, size: Value) -> Value:
    array = reals(array_of("norm", t))
    with quiet():
        by, size = _scale(array, size)
        expect_arrays(1 if by == 1 else 2, array.size)
        return made((array if by == 1 else array * by) / size)


def _abstract_heading(w: AbstractMachine, t: Any, size: Any) -> Any:
    if not is_number(t) or not is_real(size.type):
        return w.invalid("norm")
    t = as_reals(w, t)
    by, size = _abstract_scale(w, t, size)
    return w.apply(w.machine.table["/"], [w.apply(w.machine.table["*"], [t, by]), size])


def _along(t: Value, size: Value, x: Value) -> Value:
    array, other = reals(array_of("norm", t)), numbers(x)
    if type(x) is not Tensor and type(x) is not float:
        raise invalid("norm", "a tensor", x, of=(Kind.TENSOR,))
    xp, (*_, least, most) = library("norm", t, x), MAGNITUDES[kind_name(array.dtype)]
    try:
        with quiet():
            expect_together(array, other)
            total = float(xp.sum(array * other))
            if least * DIGITS <= abs(total) <= most and type(size) is float and least <= size <= most:
                return total / size
            return float(xp.sum(numbers(_heading(t, size)) * other))
    except ValueError:
        raise unlike("norm", (t, x)) from None


def _abstract_along(w: AbstractMachine, t: Any, size: Any, x: Any) -> Any:
    if not is_number(t) or not is_real(size.type) or not is_number(x):
        return w.invalid("norm")
    apply, table, t = w.apply, w.machine.table, as_reals(w, t)
    products = apply(table["*"], [t, x])
    if products is None:
        return None
    total, (*_, least, most) = _abstract_total(w, products), MAGNITUDES[kind_of(t) or "float64"]
    length = apply(table["abs"], [total])
    sound = _is_within(
        w, _either(w, _is_within(w, size, least, most), length, w.constant(0.0)), least * DIGITS, most
    )

    def entries() -> Any:
        return _abstract_total(w, apply(table["*"], [_abstract_heading(w, t, size), x]))

    return w.each(
        sound, lambda sound: _decided(w, "along", sound, lambda: apply(table["/"], [total, size]), entries)
    )


def _abstract_total(w: AbstractMachine, t: Any) -> Any:
    return reduced(w, t, range(len(shape_of(t))), False, "+") if is_tensor(t.type) else t


def _abstract_root(w: AbstractMachine, t: Any) -> Any:
    """The root of the sum of squares."""
    return w.apply(w.machine.table["sqrt"], [_abstract_total(w, w.apply(w.machine.table["*"], [t, t]))])


def _is_within(w: AbstractMachine, x: Any, least: float, most: float) -> Any:
    """Whether a real is in an interval; false for nan."""
    apply, table = w.apply, w.machine.table
    near = apply(table["min"], [apply(table["max"], [x, w.constant(least)]), w.constant(most)])
    return apply(table["="], [x, near])


def _either(w: AbstractMachine, test: Any, a: Any, b: Any) -> Any:
    """One of two reals, both of which are computed."""
    return entry_by_entry(w, w.machine.table["where"], [as_number(w, test), a, b])


def _decided(w: AbstractMachine, name: str, test: Any, a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """One of two, where only the chosen one is computed."""
    if test.type.kind == "constant":
        return a() if test.type.of is TRUE else b()
    return w.branch((w.key, name), test, a, b, False)


# The derivative of heading along E, which is symmetric. It diverges towards zero, so it is nan there: with 0, the
# second derivative of a squared norm would be 0; norm-squared computes it.
_HEADING_SLOPE = """(let ((e (- E (* (heading t size) (along t size E)))))
    (/ e (where (= size 0) +nan.0 size)))"""
_OWN_SLOPE = _HEADING_SLOPE.replace("(heading t size)", "r")


ROWS: list[Primitive] = [
    row("norm", "t",
        "The square root of the sum of squares. At zero its gradient is 0, and higher derivatives are +nan.0, including those "
        "of its powers: `norm-squared` has them.\n(norm #[3 4])  ⇒ 5\n((gradient norm) #[3 4])  ⇒ #[0.6 0.8]",
         forward="(along t r dt)", value=_norm, abstract=_abstract_norm, reverse={"t": "(* s (heading t r))"}),
    # size is always the norm of t: the derivative by t covers its dependence on t
    row("heading", "t size", "A tensor, divided by its norm; 0 at 0.", _heading, hidden=True, abstract=_abstract_heading,
         forward=_OWN_SLOPE.replace("E", "dt"), reverse={"t": _OWN_SLOPE.replace("E", "s")}),
    row("along", "t size x", "The part of x in the direction of t.", _along, hidden=True, linear="x", abstract=_abstract_along,
         forward=f"(accumulate (along t size dx) (sum (* {_HEADING_SLOPE.replace('E', 'dt')} x) #f #f))",
         reverse={"t": f"(* s {_HEADING_SLOPE.replace('E', 'x')})", "x": "(* s (heading t size))"}),
]  # fmt: skip
