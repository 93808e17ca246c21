"""Loops, and the ways out of them."""

from __future__ import annotations


def power(x: float = 1.3, n: int = 5) -> float:
    result = 1.0
    for _ in range(n):
        result = result * x
    return result


def newton(a: float = 2.0) -> float:
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def counted_down(x: float = 0.5) -> list[float]:
    found = []
    for i in range(5, -4, -2):
        found.append(x * i)
    return found


def steps(a: int = 1, b: int = 10, c: int = 3) -> list[int]:
    return [i for i in range(a, b, c)] + list(range(b, a, -c)) + list(range(0))


def last_value(n: int = 4) -> tuple[int, int]:
    i = -1
    k = 7
    for i in range(n):
        k = i
    return i, k


def without_a_turn(n: int = 0) -> int:
    for i in range(n):
        pass
    return i  # an UnboundLocalError


def breaks(x: float = 0.7, most: int = 50) -> tuple[float, int]:
    total = 0.0
    for i in range(most):
        total += x**i
        if total > 3:
            break
    return total, i


def continues(xs: list[float] = [1.0, -2.0, 3.0, -4.0]) -> float:
    total = 0.0
    for x in xs:
        if x < 0:
            continue
        total += x * x
    return total


def found_or_not(xs: list[float] = [1.0, 5.0, 2.0], limit: float = 9.0) -> str:
    for x in xs:
        if x > limit:
            break
    else:
        return "none"
    return "some"


def ends_by_else(n: int = 3) -> list[int]:
    found = []
    while n > 0:
        n -= 1
        found.append(n)
    else:
        found.append(100)
    return found


def returns_from_within(n: int = 20) -> tuple[int, int]:
    for i in range(2, n):
        for j in range(2, i):
            if i * j == 35:
                return i, j
        if i > 15:
            break
    return -1, -1


def several_at_once(a: list[float] = [1.0, 2.0, 3.0], b: list[float] = [4.0, 5.0]) -> float:
    total = 0.0
    for i, (x, y) in enumerate(zip(a, b)):
        total += i * x + y
    for x, y in zip(reversed(a), b):
        total += x * y
    for number, x in enumerate(a, 10):
        total += number * x
    return total


def endless(x: float = 1.0) -> float:
    while True:
        x = x * 2
        if x > 100:
            return x


def nested_loops(n: int = 4, x: float = 0.5) -> float:
    total = 0.0
    for i in range(n):
        inner = 0.0
        for j in range(i):
            if j == 2:
                continue
            inner += x * j
        while inner > 1:
            inner = inner / 2
        total = total * x + inner
    return total


def collatz(n: int = 27) -> int:
    count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


def over_a_text(text: str = "abc") -> list[str]:
    return [letter + "." for letter in text]


def bisection(low: float = 0.0, high: float = 2.0, a: float = 2.0) -> list[float]:
    for _ in range(60):
        middle = (low + high) / 2
        if middle * middle > a:
            high = middle
        else:
            low = middle
    return [low]


def leaves_the_outer_loop(n: int = 4) -> int:
    for i in range(n):
        for j in range(3):
            if j > 5:
                break
        else:
            break
    return i


def goes_on_with_the_outer_loop(n: int = 30) -> list[int]:
    primes = []
    for c in range(2, n):
        for d in range(2, c):
            if c % d == 0:
                break
        else:
            primes.append(c)
            continue
        if c > 20:
            break
    return primes


def numbered_from(xs: list[float] = [1.0, 2.0]) -> list[float]:
    return [i * x for i, x in enumerate(xs, start=5)] + [x for _, x in enumerate(xs, 1)]


def ends_early() -> list[bool]:
    return [any(1 / v > 0.1 for v in [1.0, 0.0]), all(1 / v > 2 for v in [1.0, 0.0]), any(v for v in []), all(v for v in [])]


def shadowed() -> list[bool]:
    n = 2
    return [n == 2 for n in ["a", None, 2]]
