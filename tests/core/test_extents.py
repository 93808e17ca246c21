"""Extents against whole numbers: the same arithmetic for all sizes, and decisions that hold for all of them, or become guards."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlad.core.extents import (
    LEAST,
    Extent,
    Guards,
    Resized,
    are_same,
    at_most,
    certainly,
    divided,
    exact_quotient,
    real_of,
    replaced,
)

OPERATIONS = (operator.add, operator.sub, operator.mul)
RELATIONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
}
sizes = st.integers(LEAST, 40)
small = st.integers(-4, 9)


def formula(draw: Any, depth: int = 3) -> Any:
    """A function from sizes n and m to an expression of them."""
    kind = draw(st.integers(0, 4 if depth else 1))
    if kind == 0:
        index = draw(st.integers(0, 1))
        return lambda *given: given[index]
    if kind == 1:
        number = draw(small)
        return lambda *given: number
    operation = draw(st.sampled_from(OPERATIONS))
    one, other = formula(draw, depth - 1), formula(draw, depth - 1)
    return lambda *given: operation(one(*given), other(*given))


formulas = st.composite(formula)()


def value(extent: Any, numbers: dict[Any, int]) -> int:
    """The value for other sizes than those of the call at hand."""
    if type(extent) is not Extent:
        return int(extent)
    total = 0
    for monomial, factor in extent.terms.items():
        for size in monomial:
            if size.quotient is None:
                factor *= numbers[size]
            else:
                above, below = size.quotient
                factor *= value(above, numbers) // value(below, numbers)
        total += factor
    return total


def pair(n: int, m: int) -> tuple[Guards, Any, Any]:
    guards = Guards()
    return guards, guards.size(n), guards.size(m)


@given(formulas, sizes, sizes, sizes, sizes)
def test_arithmetic_is_that_of_whole_numbers(make: Any, n: int, m: int, p: int, q: int) -> None:
    _, one, other = pair(n, m)
    made = make(one, other)
    numbers = dict(zip([one.sizes[0], other.sizes[0]], (p, q), strict=True))
    assert value(made, numbers) == make(p, q)
    if type(made) is Extent:
        assert made.now == make(n, m)
        text = str(made).replace("n0", "p").replace("n1", "q")
        assert eval(text, {"p": p, "q": q}) == make(p, q)
        assert made == make(one, other) and hash(made) == hash(make(one, other))


@given(formulas, formulas, st.sampled_from(sorted(RELATIONS)), sizes, sizes, sizes, sizes)
def test_a_decision_holds_for_all_sizes_that_the_guards_admit(
    make: Any, other: Any, relation: str, n: int, m: int, p: int, q: int
) -> None:
    guards, *both = pair(n, m)
    try:
        holds = RELATIONS[relation](make(*both), other(*both))
    except Resized as resized:  # they are equal, so that one size is replaced
        assert make(n, m) == other(n, m)
        values = dict(resized.values)
        left = [replaced(size, values) for size in both]
        again = make(*left) - other(*left)
        assert type(again) is int or not values
        return
    assert holds == RELATIONS[relation](make(n, m), other(n, m))
    numbers = dict(zip([size.sizes[0] for size in both], (p, q), strict=True))
    if all(RELATIONS[sign](value(difference, numbers), 0) for sign, difference in guards.conditions):
        assert holds == RELATIONS[relation](make(p, q), other(p, q))


@given(formulas, st.integers(1, 9), sizes, sizes, sizes, sizes)
def test_quotients_are_rounded_down(make: Any, by: int, n: int, m: int, p: int, q: int) -> None:
    guards, *both = pair(n, m)
    above = make(*both)
    try:
        whole, rest = above // by, above % by
    except Resized:  # it may be negative
        assert make(n, m) < 0
        return
    numbers = dict(zip([size.sizes[0] for size in both], (p, q), strict=True))
    if all(RELATIONS[sign](value(difference, numbers), 0) for sign, difference in guards.conditions):
        assert (value(whole, numbers), value(rest, numbers)) == divmod(make(p, q), by)


@given(formulas, sizes, sizes)
def test_what_is_certain_needs_no_guard(make: Any, n: int, m: int) -> None:
    guards, *both = pair(n, m)
    made = make(*both)
    for relation, other in (("<", 3), ("<=", both[0]), ("=", both[1]), (">", 0), (">=", 7)):
        holds = certainly(relation, made, other)
        signs = {"=": "=="}
        if holds is not None:
            compared = RELATIONS[signs.get(relation, relation)]
            assert holds == compared(make(n, m), other if type(other) is int else other.now)
    assert are_same(made, make(*both)) and not guards.conditions


def test_what_cancels_is_a_number() -> None:
    _, n, m = pair(5, 7)
    assert type(n - n) is int and n * m // n == m and (n * m + m) // m == n + 1
    assert exact_quotient(6 * n * m, 2 * m) == 3 * n and exact_quotient(n + 1, n) is None
    assert divided(m * n + 1, n) == (m, 1) and divided(n, m) is None and divided(17, 5) == (3, 2)
    assert str(3 * n - m * m + 1) == "(-1 * n1 * n1 + 3 * n0 + 1)"
    assert str((4 * n + 7) // 8) == "((4 * n0 + 7) / 8)"
    assert at_most(4, 5) and not at_most(n, 100) and real_of(n) is n and type(real_of(3)) is float


@pytest.mark.parametrize(
    "use", [range, float, int, operator.index, lambda n: n & 1, lambda n: n**2, lambda n: 2**n, lambda n: n * 0.5,
            lambda n: n / 3, lambda n: [0] * n, lambda n: n.bit_length(), round, lambda n: 100 // n]
)  # fmt: skip
def test_what_needs_a_number_makes_the_size_a_constant(use: Any) -> None:
    guards = Guards()
    size = guards.size(6)
    with pytest.raises(Resized) as raised:
        use(size)
    assert list(raised.value.values.values()) == [6] and not isinstance(raised.value, Exception)


def test_equal_lengths_become_one_size() -> None:
    _, n, m = pair(5, 10)
    with pytest.raises(Resized) as raised:
        bool(2 * n == m)
    ((size, instead),) = raised.value.values.items()
    assert size is m.sizes[0] and instead == 2 * n


def test_a_size_that_is_given_is_not_replaced_by_what_is_found_later() -> None:
    """As in a loop that factors a length, n = p q: its factors are not known when the call begins."""
    guards = Guards()
    n, p, q = guards.size(32), guards.size(4, is_late=True), guards.size(8, is_late=True)
    assert (n == p * q) is ((n - p * q).now == 0)
    assert guards.conditions
    with pytest.raises(Resized) as raised:
        bool(n * p == q)
    ((size, instead),) = raised.value.values.items()
    assert size is q.sizes[0] and instead == n * p


def test_no_guard_is_added_to_code_that_is_compiled() -> None:
    guards, n, m = pair(5, 10)
    guards.closed = True
    with pytest.raises(AssertionError):
        bool(n < m)
