"""Branches, truth and comparison."""

from __future__ import annotations

from typing import Any


def sign(x: float = -2.5) -> float:
    if x > 0:
        return 1.0
    elif x < 0:
        return -1.0
    return 0.0


def one_branch(x: float = 1.5, y: float = 2.0) -> float:
    z = x
    if y > x:
        z = x * y
    return z + y


def several_changed(x: float = 1.5, y: float = 2.0) -> tuple[float, float, float]:
    a, b, c = x, y, 0.0
    if x < y:
        a, b = b, a
        c = a * b
    else:
        c = a - b
    return a, b, c


def early_return(x: float = 0.5, limit: float = 1.0) -> float:
    y = x * 3
    if y > limit:
        if y > 2 * limit:
            return y * y
        y = y - limit
    else:
        y = -y
    return y + 1


def nested(x: float = 0.3) -> str:
    if x < 0:
        kind = "negative"
    else:
        if x < 1:
            kind = "small"
        else:
            kind = "large"
        kind = kind + "!"
    return kind


def only_a_branch_assigns(x: float = 2.0) -> float:
    if x > 1:
        y = x * x
    else:
        return x
    return y


def never_assigned(x: float = 0.5) -> float:
    if x > 1:
        y = x
    return y  # an UnboundLocalError


def chained(a: float = 1.0, b: float = 2.0, c: float = 2.0) -> list[bool]:
    return [a < b <= c, a < b < c, a != b == c, a > b > c]


def truth() -> list[bool]:
    return [bool(x) for x in [0, 1.5]] + [
        bool([]),
        bool([0]),
        bool(()),
        bool((1,)),
        bool(""),
        bool("a"),
        bool(None),
        not 3,
    ]


def short_circuit(x: float = 0.0) -> list[Any]:
    return [x and 1 / x, x or 2.0, (x == 0 or 1 / x > 0), [] or [1], "a" and "b", None or 3.0]


def conditional(x: float = 1.5) -> float:
    return (x if x > 1 else -x) * (2 if x > 2 else 3 if x > 1 else 4)


def equality() -> list[bool]:
    return [
        [1, 2] == [1, 2.0],
        (1, 2) == (1, 2),
        [1] == (1,),
        "a" == "b",
        None == [],
        (1, (2, 3)) != (1, 2, 3),
        True == 1,
        [] == (),
    ]


def order() -> list[bool]:
    return [[1, 2] < [1, 3], (1,) < (1, 0), "abc" < "abd", [2] > [1, 5], [1, 2] <= [1, 2], "b" >= "a"]


def membership(x: float = 2.0) -> list[bool]:
    return [x in [1, 2, 3], x in (5, 6), x not in [], "b" in "abc", "" in "abc", [1] in [[1], [2]]]


def nothing(x: float = -1.0) -> list[bool]:
    y = None
    if x > 0:
        y = x
    return [y is None, y is not None, y == None]


def types(x: float = 1.5) -> list[list[bool]]:
    found = []
    for y in ([x], x, True, "a", (x,), None, {"a": x}):
        in_or_not = [type(y) in (int, float), type(y) not in [str, list], type(y) != bool]
        found.append([type(y) is list, type(y) == float, type(y) == tuple, type(y) is int, type(y) is dict, *in_or_not])
    return found


def truths(x: float = 1.0) -> list[list[bool]]:
    return [[y is True, y is not False, (y is True) or (y is None)] for y in (True, False, x, None, [x])]


def by_name(x: float = 2.3456) -> tuple[float, float, float]:
    return round(x, ndigits=2), sum([1.0, x], start=x), pow(base=x, exp=2)
