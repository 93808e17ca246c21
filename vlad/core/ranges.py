"""The range of a number: the rules of arithmetic on ranges, which rows of primitives state in their column `range_of`.

Arithmetic of doubles is monotone: bounds computed as the numbers are hold for these. A number that may be nan has no range.
The pass compile/passes/ranges.py finds the ranges of a program's numbers.
"""

from __future__ import annotations

import math
from typing import final

from vlad.core.extents import AnExtent, are_same, certainly

EXACT = 2.0**53  # whole numbers up to it are exact, and a finite number plus or minus one of them is finite


@final
class Range:
    """What is known of a number, which is not nan: `low` <= x <= `high`; `whole`: it is finite and has no fraction; `below`: an
    extent that it is less than."""

    __slots__ = ("low", "high", "whole", "below")

    def __init__(self, low: float, high: float, whole: bool, below: AnExtent | None = None) -> None:
        self.low = low
        self.high = high
        self.whole = whole
        self.below = below

    def is_same(self, other: Range) -> bool:
        return (
            self.low == other.low
            and self.high == other.high
            and self.whole == other.whole
            and are_same(self.below, other.below)
        )

    @property
    def is_finite(self) -> bool:
        return self.whole or (self.low > -math.inf and self.high < math.inf)

    @property
    def is_exact(self) -> bool:
        """Is it a whole number of which all digits are kept?"""
        return self.whole and self.low >= -EXACT and self.high <= EXACT

    def is_below(self, extent: AnExtent) -> bool:
        """Is it certainly less than an extent?"""
        if self.below is not None and certainly("<=", self.below, extent):
            return True
        if type(extent) is int:
            return self.high < extent
        return abs(self.high) < EXACT and certainly("<", math.floor(self.high), extent) is True


def joined(one: Range | None, other: Range | None) -> Range | None:
    """What two ranges have in common."""
    if one is None or other is None:
        return None
    below = None
    if one.below is not None and other.is_below(one.below):
        below = one.below
    elif other.below is not None and one.is_below(other.below):
        below = other.below
    return Range(min(one.low, other.low), max(one.high, other.high), one.whole and other.whole, below)


def sum_range(a: Range, b: Range) -> Range | None:
    if not (a.is_finite or b.is_finite) and (
        (a.high == math.inf and b.low == -math.inf) or (a.low == -math.inf and b.high == math.inf)
    ):
        return None  # the sum of opposite infinities is nan
    whole = a.whole and b.whole and (a.is_exact or b.is_exact)
    below = None
    for x, by in (a, b), (b, a):
        if x.below is not None and x.whole and by.is_exact and by.low == by.high:
            below = x.below + int(by.low)
    low = -math.inf if -math.inf in (a.low, b.low) else a.low + b.low
    high = math.inf if math.inf in (a.high, b.high) else a.high + b.high
    return Range(low, high, whole, below)


def difference_range(a: Range, b: Range) -> Range | None:
    return sum_range(a, Range(-b.high, -b.low, b.whole))


def product_range(a: Range, b: Range) -> Range | None:
    if not (a.is_exact and b.is_exact):
        return None
    products = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return Range(min(products), max(products), True)


def floor_range(a: Range) -> Range:
    """That of the number itself if it is whole."""
    if a.whole:
        return a
    low, high = (x if math.isinf(x) else float(math.floor(x)) for x in (a.low, a.high))
    return Range(low, high, a.is_finite)


def modulo_range(a: Range, b: Range) -> Range | None:
    """Of the sign of the divisor."""
    return Range(0.0, b.high - 1.0, True) if a.whole and b.is_exact and b.low >= 1.0 else None


def minimum_range(a: Range, b: Range) -> Range:
    below = b.below if a.below is None else a.below
    return Range(min(a.low, b.low), min(a.high, b.high), a.whole and b.whole, below)


def maximum_range(a: Range, b: Range) -> Range:
    return Range(max(a.low, b.low), max(a.high, b.high), a.whole and b.whole)
