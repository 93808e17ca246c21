"""Functions inside that assign variables of the functions around them, and raise exceptions, or return through `finally`."""

from __future__ import annotations

import numpy as np


def changed_before_a_raise(x: float = 3.0) -> float:
    n = 0.0

    def f() -> None:
        nonlocal n
        n = n + x
        raise ValueError("q")

    try:
        f()
    except ValueError:
        pass
    return n


def changed_before_an_assertion(x: float = 3.0) -> float:
    n = x

    def f() -> None:
        nonlocal n
        n = n * x
        assert n < 0

    try:
        f()
    except AssertionError:
        n += 1
    return n


def changed_before_a_division(x: float = 3.0) -> float:
    n = 0.0

    def f() -> float:
        nonlocal n
        n = x * x
        return 1 / (x - x)

    try:
        y = f()
    except ZeroDivisionError:
        y = x
    return n + y


def changed_in_finally(x: float = 3.0) -> float:
    n = 0.0

    def f() -> None:
        nonlocal n
        try:
            n = n + x
            raise ValueError("q")
        finally:
            n = n * x

    try:
        f()
    except ValueError:
        pass
    return n


def changed_by_two_functions(x: float = 3.0) -> float:
    n, m = 0.0, 1.0

    def g() -> float:
        nonlocal n
        n += x
        raise ValueError("q")

    def f() -> float:
        nonlocal m
        m += 10 * x
        return g() + m

    try:
        m = f()
    except ValueError as error:
        n += len(str(error))
    return n * m


def changed_two_levels_up(x: float = 3.0) -> float:
    n = 1.0

    def f() -> None:
        nonlocal n
        m = x

        def g() -> float:
            nonlocal m, n
            m, n = m * x, n + m
            raise KeyError(1)

        try:
            g()
        except IndexError:
            n = 0.0
        finally:
            n = n * m

    try:
        f()
    except KeyError:
        pass
    return n


def called_in_a_loop(x: float = 3.0) -> float:
    n = 0.0

    def f(v: float) -> None:
        nonlocal n
        n = n + v * x
        if v > 1:
            raise ValueError("q")

    for v in (1.0, 2.0, 3.0):
        try:
            f(v)
        except ValueError:
            n = n * 2
    return n


def raised_in_a_loop(x: float = 3.0, k: int = 3) -> float:
    n = 0.0

    def f() -> float:
        nonlocal n
        for i in range(10):
            n = n + x
            if i == k:
                raise ValueError("q")
        return n

    try:
        f()
    except ValueError:
        n = n * x
    return n


def raised_in_a_test(x: float = 3.0) -> float:
    n = 0.0

    def f() -> bool:
        nonlocal n
        n = n + x
        if n > 8:
            raise ValueError("q")
        return n < 20

    try:
        while f():
            n += 1
    except ValueError:
        n = n * x
    return n


def raised_by_the_first_of_two(x: float = 3.0) -> float:
    n = 0.0

    def f(k: float) -> float:
        nonlocal n
        n = n * 2 + k
        if k == x:
            raise ValueError("q")
        return k

    try:
        return f(x) + f(x + 1)
    except ValueError:
        return n


def raised_by_recursion(x: float = 3.0) -> float:
    n = 1.0

    def f(k: int) -> float:
        nonlocal n
        n = n * x
        if k == 0:
            raise ValueError("q")
        return f(k - 1) * 2

    try:
        y = f(2)
    except ValueError:
        y = x
    return n + y


def returned_through_finally(x: float = 3.0) -> float:
    n = x

    def f() -> float:
        nonlocal n
        try:
            return n
        finally:
            n = n * x

    a = f()
    return a + n * 2


def returned_through_two(x: float = 3.0) -> float:
    n = x

    def f(k: float) -> float | None:
        nonlocal n
        try:
            try:
                if k > 1:
                    return n / k
                return None
            finally:
                n = n * x
        finally:
            n = n + x

    a = f(2.0)
    f(1.0)
    assert a is not None
    return a + n * 2


def array_before_a_raise(x: float = 3.0) -> float:
    n = np.zeros(2)

    def f() -> None:
        nonlocal n
        n = n + np.array([x, x * x])
        assert n[1] < 0

    try:
        f()
    except AssertionError:
        n = n * 2.0
    return float(n.sum())
