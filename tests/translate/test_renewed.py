"""A list that something else gets, and that a turn, an exception or a condition leaves as it is, is not changed: the change is
refused. In functions/renewed.py a new list is made in time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import vlad


def a_turn_goes_on() -> Any:
    rows, row = [], [1.0]
    for k in range(3):
        row.append(k)
        rows.append(row)
        if k == 1:
            continue
        row = [0.0]
    return rows


def a_loop_is_left() -> Any:
    rows, row = [], [1.0]
    for _ in range(2):
        for k in range(3):
            row.append(k)
            rows.append(row)
            if k == 1:
                break
            row = [0.0]
    return rows


def changed_in_between() -> Any:
    rows, row = [], [1.0]
    for k in range(3):
        rows.append(row)
        row.append(k)
        row = [2.0]
    return rows


def another_name() -> Any:
    a = [0.0] * 3
    for k in range(3):
        b = a
        for i in range(3):
            a[i] += k
        a = [x + 1 for x in b]
    return a, b


def parts_are_shared() -> Any:
    a = [[0.0], [1.0]]
    b = a
    for _ in range(3):
        a[0][0] += 1
        b = a
        a = list(a)
    return a, b


def an_exception_comes_first() -> Any:
    rows, row = [], [1.0]
    for k in range(3):
        row.append(k)
        rows.append(row)
        try:
            print(end=str(1 / (k - 1))[:0])
            row = []
        except ZeroDivisionError:
            pass
    return rows, row


def raised_in_a_turn() -> Any:
    rows, row = [], [1.0]
    for k in range(3):
        try:
            row.append(k)
            rows.append(row)
            if k == 1:
                raise ValueError
            row = []
        except ValueError:
            pass
    return rows, row


def under_a_condition() -> Any:
    rows, row = [], [1.0]
    for k in range(3):
        row.append(k)
        rows.append(row)
        if k < 1:
            row = []
    return rows


def in_a_loop_inside() -> Any:
    rows, row = [], [1.0]
    for k in range(4):
        for j in range(2):
            row.append(j + k)
            rows.append(row)
        row = []
    return rows


def changed_where_it_is_kept() -> Any:
    rows, row = [], [1.0]
    for k in range(5):
        row.append(k)
        for j in range(2):
            if k == j:
                rows.append(row)
                row.append(9.0)
                row = []
    return rows


def a_loop_ends_by_an_exception() -> Any:
    rows, row = [], [1.0]
    try:
        for k in range(5):
            row.append(k)
            rows.append(row)
            print(end=str(1 / (k - 2))[:0])
            row = []
    except ZeroDivisionError:
        pass
    row.append(7.0)
    return rows, row


def changed_by_a_handler() -> Any:
    rows, row = [], [1.0]
    try:
        for k in range(5):
            row.append(k)
            rows.append(row)
            print(end=str(1 / (k - 2))[:0])
            row = []
    except ZeroDivisionError:
        row.append(5.0)
    return rows


def on_one_of_two_ways() -> Any:
    rows, row = [], [1.0]
    for k in range(3):
        if k % 2:
            rows.append(row)
            row = [k]
        elif k:
            rows.append(row)
        row.append(8.0)
    return rows


def left_under_a_condition() -> Any:
    rows, row = [], [1.0]
    for k in range(6):
        row.append(k)
        if k % 2:
            rows.append(row)
            if k == 3:
                continue
            row = []
    return rows


def captured() -> Any:
    row = [1.0]
    f = lambda: row  # noqa: E731
    row = [2.0]
    a = f()
    row.append(3.0)
    return a


FUNCTIONS = [
    one for one in list(globals().values()) if getattr(one, "__module__", "") == __name__ and callable(one)
]


@pytest.fixture(scope="module")
def session() -> vlad.Session:
    return vlad.Session(tier="evaluate")


@pytest.mark.parametrize("f", FUNCTIONS)
def test_the_change_is_refused(f: Callable[[], Any], session: vlad.Session) -> None:
    with pytest.raises(vlad.VladError, match="cannot have"):
        session.function(f)()
