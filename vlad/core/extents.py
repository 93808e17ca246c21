"""Extents that are known only when a compiled call runs: polynomials in sizes, which behave as numbers.

An extent of a tensor is an int, or an `Extent`: a sum of products of sizes, such as the length of an operand's axis. Arithmetic
on extents is exact, and gives ints again where sizes cancel. A question that holds for all sizes is decided: n + 1 > n. One that
does not is decided by the sizes of the call at hand, and becomes a guard of the compiled code, which serves only calls with the
same decision: n ≠ 128. Where two extents must be equal, or a number is needed, the compiler starts again, by the exception
`Resized`, with fewer sizes: one is replaced by its value or by the other one. So code of the compiler that does not take extents
into account compiles the sizes of the call at hand, and is correct.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, final

MOST_LISTED = 128  # parts of a tensor, or entries, in a list of known length
TYPICAL = 32  # a length that a size has in estimates, if it is not longer in the call at hand
MOST = 1 << 31  # a length that a number gives
LEAST = 2  # a size: an axis of length 0 or 1 is known, as it has meanings of its own

Monomial = tuple["Size", ...]  # in the order of their numbers


class Resized(BaseException):
    """The compiler must start again: `values` replace sizes; with `is_needed` because it needs these numbers. No Exception, as it
    passes through handlers of errors."""

    def __init__(self, values: Mapping[Size, int | Extent], is_needed: bool = False) -> None:
        super().__init__()
        self.values = values
        self.is_needed = is_needed


if TYPE_CHECKING:
    Whole = int  # an extent has the operations of an int, so that it may be given where an int is expected
else:
    Whole = object


@final
class Size:
    """A size that is known only when a call runs, or the quotient of an extent by another one, rounded down. `now`: its value in
    the call at hand; `is_late`: it is determined within the call, as the length of a list is, and has no such value. `apart`:
    lengths that it is assumed not to have, as a value may have either shape. `name`: of a variable of C that is not a size of the
    program."""

    __slots__ = ("number", "now", "least", "quotient", "is_late", "apart", "name")

    def __init__(
        self,
        number: int,
        now: int,
        least: int = LEAST,
        quotient: tuple[Extent, int | Extent] | None = None,
        is_late: bool = False,
        name: str = "",
    ) -> None:
        self.number = number
        self.now = now
        self.least = least
        self.quotient = quotient
        self.is_late = is_late
        self.apart: set[int] = set()
        self.name = name

    def __repr__(self) -> str:
        if self.quotient is None:
            return self.name or f"n{self.number}"
        above, below = self.quotient
        return f"({above} / {below})"


@final
class Guards:
    """What was decided by the sizes of the call at hand: `conditions` has the extents that are compared with 0, and how.
    `keeps_apart`: are two shapes of a value, of which the call determines one, taken to differ? `may_differ`: are there any?"""

    __slots__ = ("conditions", "closed", "keeps_apart", "may_differ", "_quotients", "_count")

    def __init__(self) -> None:
        self.conditions: dict[tuple[str, Extent], None] = {}
        self.closed = False  # is the code compiled? Then it cannot have more guards
        self.keeps_apart = self.may_differ = False
        self._quotients: dict[Any, Size] = {}
        self._count = 0

    def size(self, now: int, is_late: bool = False) -> Extent:
        """A new size."""
        self._count += 1
        return Extent(self, {(Size(self._count - 1, now, is_late=is_late),): 1})

    def quotient(self, above: Extent, below: int | Extent) -> Extent:
        key = above, below
        size = self._quotients.get(key)
        if size is None:
            self._count += 1
            value = above.now // now(below)
            least, _ = _bounds(above.terms)
            smallest = max(0, (least or 0) // below) if type(below) is int else 0
            size = self._quotients[key] = Size(self._count - 1, value, smallest, key)
        return Extent(self, {(size,): 1})

    def decided(self, relation: str, difference: Extent, holds: bool) -> bool:
        assert not self.closed, f"{difference} {relation} 0"
        self.conditions[relation if holds else NEGATED[relation], difference] = None
        return holds


NEGATED = {"==": "!=", "<": ">=", "<=": ">"}
Number: TypeAlias = "int | float | Extent"


@final
class Extent(Whole):
    """A sum of products of sizes, at least one. Its text is an expression of C."""

    __slots__ = ("guards", "terms", "_hash")

    def __init__(self, guards: Guards, terms: Mapping[Monomial, int]) -> None:
        self.guards = guards
        self.terms = terms
        self._hash = hash(frozenset(terms.items()))

    @property
    def now(self) -> int:
        """Its value in the call at hand."""
        return _evaluated(self.terms, lambda size: size.now)

    @property
    def sizes(self) -> list[Size]:
        """The sizes in it, without those in quotients."""
        return list(dict.fromkeys([size for monomial in self.terms for size in monomial]))

    @property
    def late(self) -> list[Size]:
        """The sizes in it, and in quotients, that are determined within a call."""
        return sorted([size for size in self._within() if size.is_late], key=_number)

    # Arithmetic.

    def __add__(self, other: Number) -> Any:
        terms = _terms(other)
        if terms is None:
            return float(self) + other
        found = dict(self.terms)
        for monomial, factor in terms.items():
            found[monomial] = found.get(monomial, 0) + factor
        return _made(self.guards, found)

    def __mul__(self, other: Number) -> Any:
        terms = _terms(other)
        if terms is None:
            return float(self) * other
        found: dict[Monomial, int] = {}
        for one, factor in self.terms.items():
            for another, by in terms.items():
                monomial = tuple(sorted((*one, *another), key=_number))
                found[monomial] = found.get(monomial, 0) + factor * by
        return _made(self.guards, found)

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Extent:
        return self

    def __sub__(self, other: Number) -> Any:
        return self + -other

    def __rsub__(self, other: Number) -> Any:
        return -self + other

    __radd__, __rmul__ = __add__, __mul__

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    def __floordiv__(self, other: Number) -> Any:
        terms = _terms(other)
        if not terms:
            return float(self) // other
        exact = _quotient(self.guards, self.terms, terms)
        return self._divided(terms) if exact is None else exact

    def _divided(self, terms: Mapping[Monomial, int]) -> Any:
        """The quotient by an extent or a number, rounded down."""
        by = _made(self.guards, terms)
        if not by > 0 or not self >= 0:
            return self._pinned() // by
        if len(terms) == 1:  # (8 n + 3) // 8 = n + 3 // 8, and (m n + 1) // n = m + 1 // n
            total: Any = 0
            left: dict[Monomial, int] = {}
            for monomial, factor in self.terms.items():
                one = _quotient(self.guards, {monomial: factor}, terms)
                if one is not None:
                    total = total + one
                elif type(by) is int:
                    total = total + _made(self.guards, {monomial: factor // by})
                    left[monomial] = factor % by
                else:
                    left[monomial] = factor
            rest = _made(self.guards, left)
            if not certainly("<=", 0, rest):
                return self.guards.quotient(self, by)
            if certainly("<", rest, by):
                return total
            return total + (rest // by if type(rest) is int else self.guards.quotient(rest, by))
        return 0 if self < by else self.guards.quotient(self, by)

    def __rfloordiv__(self, other: Number) -> Any:
        terms = _terms(other)
        if terms is not None and self > 0 and -self <= other < self:
            return 0 if other >= 0 else -1
        return other // self._pinned()

    def __mod__(self, other: Number) -> Any:
        return self - self // other * other

    def __rmod__(self, other: Number) -> Any:
        return other - other // self * self

    def __divmod__(self, other: Number) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Number) -> Any:
        return other // self, other % self

    def __truediv__(self, other: Number) -> Any:
        terms = _terms(other)
        exact = _quotient(self.guards, self.terms, terms) if terms else None
        return float(self) / other if exact is None else exact

    def __rtruediv__(self, other: Number) -> Any:
        return other / float(self)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        return self._pinned() ** other

    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        return other ** self._pinned()

    # Numbers: the sizes become constants.

    def _pinned(self) -> NoReturn:
        assert not self.guards.closed, self
        raise Resized({size: size.now for size in self._within()}, True)

    def _within(self) -> set[Size]:
        """The sizes in it that are no quotients."""
        found: set[Size] = set()
        for size in self.sizes:
            if size.quotient is None:
                found.add(size)
            else:
                for part in size.quotient:
                    found |= part._within() if type(part) is Extent else set()
        return found

    def __index__(self) -> int:
        self._pinned()

    __int__ = __trunc__ = __floor__ = __ceil__ = __index__

    def __round__(self, digits: Any = None) -> int:
        self._pinned()

    def bit_length(self) -> int:
        self._pinned()

    def __and__(self, other: int) -> int:
        return self._pinned() & other

    __rand__ = __and__

    def __float__(self) -> float:
        self._pinned()

    def is_integer(self) -> bool:
        return True

    def __bool__(self) -> bool:
        return self != 0

    # Comparison.

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) not in (int, float, Extent):
            return NotImplemented
        difference = self - other  # type: ignore[operator]  # an operand of either kind
        if type(difference) is not Extent:
            return bool(difference == 0)
        least, most = _bounds(difference.terms)
        if (least is not None and least > 0) or (most is not None and most < 0):
            return False
        reduced = _reduced(difference)
        if (difference.now != 0 and not difference.late) or _is_apart(reduced):
            return self.guards.decided("==", difference, False)
        solved = _solved(reduced)
        if solved is not None:
            raise Resized(solved)
        return self.guards.decided("==", difference, difference.now == 0)

    def __lt__(self, other: Number) -> bool:
        return _is_less(self - other)

    def __le__(self, other: Number) -> bool:
        return not _is_less(other - self)

    def __gt__(self, other: Number) -> bool:
        return _is_less(other - self)

    def __ge__(self, other: Number) -> bool:
        return not _is_less(self - other)

    def __hash__(self) -> int:
        return self._hash

    # Text.

    def as_double(self) -> str:
        """The same as an expression of C of type double, which does not overflow."""
        parts = []
        for monomial, factor in self.terms.items():
            parts.append(" * ".join([f"{factor}.0", *[f"(double){size}" for size in monomial]]))
        return f"({' + '.join(parts)})"

    def __str__(self) -> str:
        parts = []
        words: list[str] = []
        for monomial, factor in sorted(
            self.terms.items(), key=lambda term: [-len(term[0]), *map(_number, term[0])]
        ):
            words = [str(size) for size in monomial]
            if factor != 1 or not words:
                words.insert(0, str(factor))
            parts.append(" * ".join(words))
        text = " + ".join(parts).replace("+ -", "- ")
        return text if len(parts) == len(words) == 1 else f"({text})"

    __repr__ = __str__


AnExtent: TypeAlias = int | Extent


def is_symbolic(extent: object) -> bool:
    return type(extent) is Extent


def is_late(extent: AnExtent) -> bool:
    """Whether an extent is a size that is determined within a call."""
    return type(extent) is Extent and extent.terms in [{(size,): 1} for size in extent.late]


def now(extent: AnExtent) -> int:
    """The value in the call at hand."""
    return extent.now if type(extent) is Extent else extent


def estimate(extent: AnExtent) -> int:
    """A likely value, for decisions that do not affect correctness."""
    if type(extent) is Extent:
        return _evaluated(extent.terms, _estimated)
    assert type(extent) is int
    return extent


def _estimated(size: Size) -> int:
    if size.quotient is None:
        return max(size.now, TYPICAL)
    above, below = size.quotient
    return estimate(above) // max(estimate(below), 1)


def real_of(extent: AnExtent | float) -> float | Extent:
    """The extent as a number of the language."""
    return extent if type(extent) is Extent else float(extent)


def are_same(one: AnExtent | None, other: AnExtent | None) -> bool:
    """Whether they are equal for all sizes: a question without consequences if they are not."""
    if type(one) is Extent or type(other) is Extent:
        return type(one) is type(other) and one.terms == other.terms  # type: ignore[union-attr]  # both are extents
    return one == other


def at_most(extent: AnExtent, bound: int) -> bool:
    """Whether it is known to be at most that: an extent that is not known counts as large."""
    return type(extent) is int and extent <= bound


def certainly(relation: str, a: Any, b: Any) -> bool | None:
    """Whether a relation of whole numbers holds for all sizes; None if that depends on them."""
    if relation in (">", ">="):
        return certainly(relation.replace(">", "<"), b, a)
    terms = _terms(a - b)
    assert terms is not None
    least, most = _bounds(terms)
    if relation == "=":
        if least is not None and least == most:
            return least == 0
        return False if (least or 0) > 0 or (most or 0) < 0 else None
    bound = 0 if relation == "<" else 1
    if most is not None and most < bound:
        return True
    return False if least is not None and least >= bound else None


def exact_quotient(a: Any, b: Any) -> Any:
    """The quotient if it is whole for all sizes; otherwise None."""
    terms, by = _terms(a), _terms(b)
    if terms is None or not by:
        return None
    if type(a) is not Extent and type(b) is not Extent:
        return None if a % b else a // b
    guards = (a if type(a) is Extent else b).guards
    return _quotient(guards, terms, by)


def divided(a: Any, b: Any) -> tuple[Any, Any] | None:
    """The quotient, rounded down, and the remainder of an extent that is not negative by a positive one; None if they are not the
    same extents for all sizes."""
    if type(a) is int and type(b) is int:
        return divmod(a, b)
    terms, by = _terms(a), _terms(b)
    assert terms is not None and by is not None
    guards = (a if type(a) is Extent else b).guards
    parts = [(one, _quotient(guards, {one: factor}, by)) for one, factor in terms.items()]
    whole = sum([quotient for _, quotient in parts if quotient is not None])
    rest = _made(guards, {one: terms[one] for one, quotient in parts if quotient is None})
    if certainly("<=", 0, rest) and certainly("<", rest, b):
        return whole, rest
    return None


def replaced(extent: AnExtent, values: Mapping[Size, AnExtent]) -> AnExtent:
    """The extent with sizes, none of them quotients, replaced, in quotients, too."""
    if type(extent) is int:
        return extent
    assert type(extent) is Extent
    total: Any = 0
    for monomial, factor in extent.terms.items():
        product: Any = factor
        for size in monomial:
            product = product * _replaced_size(size, extent.guards, values)
        total = total + product
    return total  # type: ignore[no-any-return]  # a sum of terms


def _replaced_size(size: Size, guards: Guards, values: Mapping[Size, AnExtent]) -> Any:
    if size.quotient is not None and not values.keys().isdisjoint(_sizes_within((size,))):
        above, below = size.quotient
        return replaced(above, values) // replaced(below, values)
    return values.get(size, Extent(guards, {(size,): 1}))


def _sizes_within(monomial: Monomial) -> set[Size]:
    """The sizes in a product, and in the quotients in it."""
    found: set[Size] = set()
    for size in monomial:
        found.add(size)
        for part in size.quotient or ():
            if type(part) is Extent:
                found |= part._within()
    return found


def _number(size: Size) -> int:
    return size.number


def _terms(number: object) -> Mapping[Monomial, int] | None:
    """The terms of a whole number, or None."""
    if type(number) is Extent:
        return number.terms
    if isinstance(number, int | float) and number == number and abs(number) < 1 << 62 and number % 1 == 0:
        return {(): int(number)} if number else {}
    return None


def _made(guards: Guards, terms: Mapping[Monomial, int]) -> Any:
    terms = {monomial: factor for monomial, factor in terms.items() if factor}
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    return Extent(guards, terms)


def _evaluated(terms: Mapping[Monomial, int], value: Any) -> int:
    total = 0
    for monomial, factor in terms.items():
        for size in monomial:
            factor *= value(size)
        total += factor
    return total


def _quotient(guards: Guards, terms: Mapping[Monomial, int], by: Mapping[Monomial, int]) -> Any:
    """The exact quotient by one term, or by an equal or proportional sum; None if it is not known."""
    if len(by) == 1:
        ((divisor, factor),) = by.items()
        found: dict[Monomial, int] = {}
        for monomial, times in terms.items():
            left = list(monomial)
            for size in divisor:
                if size not in left:
                    return None
                left.remove(size)
            if times % factor:
                return None
            found[tuple(left)] = times // factor
        return _made(guards, found)
    if terms.keys() == by.keys():
        monomial = next(iter(by))
        times, rest = divmod(terms[monomial], by[monomial])
        if not rest and all(terms[one] == times * by[one] for one in by):
            return times
    return None


def _bounds(terms: Mapping[Monomial, int]) -> tuple[int | None, int | None]:
    """A lower and an upper bound for all sizes from their least ones on; None if there is none."""
    shifted: dict[Monomial, int] = {}
    for monomial, factor in terms.items():
        expanded: dict[Monomial, int] = {(): factor}
        for size in monomial:  # least + more
            more: dict[Monomial, int] = {}
            for one, times in expanded.items():
                more[one] = more.get(one, 0) + times * size.least
                longer = tuple(sorted((*one, size), key=_number))
                more[longer] = more.get(longer, 0) + times
            expanded = more
        for one, times in expanded.items():
            shifted[one] = shifted.get(one, 0) + times
    constant = shifted.pop((), 0)
    grows = all(factor >= 0 for factor in shifted.values())
    falls = all(factor <= 0 for factor in shifted.values())
    return constant if grows else None, constant if falls else None


def _is_less(difference: Any) -> bool:
    """Is it less than 0?"""
    if type(difference) is not Extent:
        return bool(difference < 0)
    least, most = _bounds(difference.terms)
    if most is not None and most < 0:
        return True
    if least is not None and least >= 0:
        return False
    return difference.guards.decided("<", difference, difference.now < 0)


def keep_apart(one: tuple[AnExtent, ...], other: tuple[AnExtent, ...]) -> None:
    """Note that a value has either of two shapes: where one of them has a length that is determined within the call, and the
    other one a constant, they may differ, as the last batch is shorter than others, or be equal, as what is stacked from a list
    of rows and another tensor of as many. They are taken to be equal where a program needs it, unless lengths are kept apart."""
    for pair in zip(one, other, strict=True):
        for a, b in (pair, pair[::-1]):
            if type(b) is int and type(a) is Extent and is_late(a):
                a.guards.may_differ = True
                if a.guards.keeps_apart:
                    a.sizes[0].apart.add(b)


def _reduced(difference: Extent) -> Extent:
    """The difference divided by all factors that its terms have in common and that are not 0: it is 0 for the same sizes. So two
    numbers of entries are equal if a length is."""
    common: Counter[Size] | None = None
    for monomial in difference.terms:
        common = Counter(monomial) if common is None else common & Counter(monomial)
    shared = Counter({size: times for size, times in (common or {}).items() if size.least > 0})
    by = math.gcd(*difference.terms.values())
    terms = {
        tuple(sorted((Counter(monomial) - shared).elements(), key=_number)): factor // by
        for monomial, factor in difference.terms.items()
    }
    return Extent(difference.guards, terms)


def _is_apart(difference: Extent) -> bool:
    """Whether it is that of a size and of a constant from which the size is kept apart."""
    for size in difference.sizes:
        factor = difference.terms.get((size,))
        if size.apart and factor in (1, -1) and len(difference.terms) - (() in difference.terms) == 1:
            return -difference.terms.get((), 0) * factor in size.apart
    return False


def _solved(difference: Extent) -> dict[Size, AnExtent] | None:
    """The replacement of one size for which the difference is 0; if there are several, of one that is determined within a call,
    and of the one with the greatest number. A size that is known when a call begins is not replaced by sizes that are determined
    within it. That a list has the length that a program needs is assumed, and tested where the list is counted."""
    for size in sorted(difference.sizes, key=lambda size: (size.is_late, size.number), reverse=True):
        factor = difference.terms.get((size,))
        others = [monomial for monomial in difference.terms if monomial != (size,)]
        is_alone = not any(size in _sizes_within(monomial) for monomial in others)
        if factor in (1, -1) and is_alone and size.quotient is None:
            rest = {
                monomial: -times * factor
                for monomial, times in difference.terms.items()
                if monomial != (size,)
            }
            replacement = _made(difference.guards, rest)
            if size.is_late or not (type(replacement) is Extent and replacement.late):
                return {size: replacement}
    return None
