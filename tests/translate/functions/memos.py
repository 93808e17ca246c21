"""Functions that keep the results of their calls."""

from __future__ import annotations

import functools
from functools import cache, lru_cache
from typing import Any


@lru_cache(maxsize=None)
def _fibonacci(n: int) -> int:
    return n if n < 2 else _fibonacci(n - 1) + _fibonacci(n - 2)


def of_a_function_outside(x: float = 1.5) -> float:
    return _fibonacci(60) * x


@cache
def _ways(i: int, j: int = 0, *, step: int = 1) -> float:
    if i == 0 or j == 0:
        return 1.0
    return _ways(i - step, j) + _ways(i, j - step)


def with_defaults(x: float = 0.5) -> float:
    return x * _ways(9, 9) + _ways(3, j=2) + _ways(4)


def of_a_function_inside(x: float = 1.5) -> float:
    @functools.cache
    def g(k: int) -> float:
        return x * k if k < 2 else g(k - 1) + g(k - 2)

    return g(60) + g(30)


def of_two_that_call_each_other(x: float = 1.5) -> float:
    @cache
    def even(k: int) -> float:
        return x if k == 0 else odd(k - 1) + odd(k // 2)

    @lru_cache(maxsize=100)
    def odd(k: int) -> float:
        return 2 * x if k == 0 else even(k - 1) + even(k // 3)

    return even(40)


def _best(values: list[float], n: int) -> float:
    @cache
    def f(i: int, k: int) -> float:
        if i < 0 or k == 0:
            return 0.0
        without, with_it = f(i - 1, k), values[i] + f(i - 1, k - 1)
        return without if without > with_it else with_it

    return f(len(values) - 1, n)


def best_of_a_list(x: float = 2.0) -> float:
    return _best([3.0, x, 4 * x, 1.5, x * x, 0.5, 2 * x, 1.0, x / 3, 3 * x], 4)


@cache
def _parts(text: str, rest: Any = None) -> int:
    if len(text) < 2:
        return 1
    return sum(_parts(text[:i]) for i in range(1, len(text))) + _parts(text[1:], (1, "a"))


def of_texts_and_tuples(x: float = 2.0) -> float:
    return _parts("abcabcab") * x


def raising_with_a_cache(x: float = 1.5) -> list[Any]:
    @cache
    def g(k: int) -> float:
        if k == 3:
            raise ValueError("three")
        return x if k < 1 else g(k - 1) + g(k - 2)

    found: list[Any] = []
    for k in range(5):
        try:
            found.append(g(k))
        except ValueError as error:
            found.append(str(error))
    return found


# A dict or a list of results that calls pass on.


def _passed_on(n: int, x: float, memo: dict[int, float]) -> float:
    if n in memo:
        return memo[n]
    if n < 2:
        return x * n
    memo[n] = _passed_on(n - 1, x, memo) + _passed_on(n - 2, x, memo)
    return memo[n]


def passed_on(x: float = 1.5) -> tuple[float, int, dict[int, float]]:
    memo: dict[int, float] = {}
    value = _passed_on(60, x, memo)
    return value, len(memo), memo


def _made_at_first(n: int, x: float, memo: Any = None) -> float:
    """The memo is made by the outermost call."""
    if memo is None:
        memo = {}
    if n in memo:
        return memo[n]
    found = x
    if n >= 2:
        found = _made_at_first(n - 1, x, memo) * x + _made_at_first(n - 2, x, memo) / 2
    memo[n] = found
    return found


def made_at_first(x: float = 0.75) -> float:
    memo = None
    total = _made_at_first(30, x, memo)
    return total + (0.0 if memo is None else 1.0)


def _table_filled(n: int, x: float, table: list[float]) -> float:
    if table[n] >= 0:
        return table[n]
    best = x
    if n >= 2:
        best = max(_table_filled(n - 1, x, table) * 0.5, _table_filled(n - 2, x, table) + 1)
    table[n] = best
    return best


def table_filled(x: float = 1.5) -> tuple[float, list[float]]:
    table = [-1.0] * 31
    return _table_filled(30, x, table) + len(table), table
