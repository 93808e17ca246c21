"""Whole numbers: divisors, primes, bits and digits, with control flow."""

from __future__ import annotations

import math
import operator


def greatest_divisor(a: int = 84, b: int = 36) -> int:
    while b:
        a, b = b, a % b
    return a


def extended_euclid(a: int = 240, b: int = 46) -> tuple[int, int, int]:
    def gcd(a: int, b: int) -> tuple[int, int, int]:
        if b == 0:
            return a, 1, 0
        g, x, y = gcd(b, a % b)
        return g, y, x - a // b * y

    return gcd(a, b)


def primes(n: int = 30) -> list[int]:
    found: list[int] = []
    for candidate in range(2, n):
        for p in found:
            if candidate % p == 0:
                break
        else:
            found.append(candidate)
    return found


def is_prime(n: int = 97) -> bool:
    if n < 2:
        return False
    return all(n % d for d in range(2, math.isqrt(n) + 1))


def factors(n: int = 360) -> dict[int, int]:
    found: dict[int, int] = {}
    p = 2
    while p * p <= n:
        while n % p == 0:
            found[p] = found.get(p, 0) + 1
            n //= p
        p += 1 if p == 2 else 2
    if n > 1:
        found[n] = 1
    return found


def perfect_numbers(limit: int = 30) -> list[int]:
    return [n for n in range(2, limit) if sum(d for d in range(1, n) if n % d == 0) == n]


def power_by_squaring(x: float = 1.5, n: int = 13) -> float:
    result = 1.0
    while n:
        if n & 1:
            result *= x
        x *= x
        n >>= 1
    return result


def modular_power(base: int = 7, exponent: int = 13, modulus: int = 11) -> int:
    result = 1
    base %= modulus
    while exponent > 0:
        if exponent % 2:
            result = result * base % modulus
        exponent //= 2
        base = base * base % modulus
    return result


def bits(a: int = 12, b: int = -7) -> list[int]:
    return [a & b, a | b, a ^ b, ~a, ~b, a << 3, b << 2, a >> 2, b >> 1, a & 1, (1 << 5) | 1, 5 & 6 | 1, 1 << 40, (1 << 40) >> 38]


def bits_in_place(a: int = 12) -> list[int]:
    b = c = a
    a |= 3
    b &= 6
    c ^= 5
    a <<= 2
    return [a, b, c, operator.lshift(3, 2), operator.and_(6, 3)]


def bits_of_booleans(x: float = 0.5) -> list[bool]:
    p, q = x > 0, x > 1
    return [p & q, p | q, p ^ q, p & (x < 1), (x > 0) | (x < -1)]


def population_count(n: int = 181) -> int:
    count = 0
    while n:
        n &= n - 1
        count += 1
    return count


def subsets_by_bits(x: float = 0.5) -> float:
    weights = [x, 2.0, 3.0]
    best = 0.0
    for mask in range(1 << len(weights)):
        total = sum(w for i, w in enumerate(weights) if mask >> i & 1)
        if total <= 4.0:
            best = max(best, total)
    return best


def gray_codes(n: int = 3) -> list[int]:
    return [i ^ (i >> 1) for i in range(2**n)]


def from_the_end(x: float = 0.5) -> list[float]:
    xs = [x, 2.0, 3.0]
    return [xs[~i] for i in range(len(xs))]


def truths_that_count(x: float = 0.5) -> list[float]:
    xs = [x, 2.0, -1.0]
    count = 0
    for v in xs:
        count += v > 0
    return [count, sum(v > 0 for v in xs), x * (x > 0), x * (x > 1), 1 - (x == 0.5), (x > 0) + (x > 1), 2 * ("a" in "abc"),
            (not x) * 3 + 1, x / (x > 0), 10 ** (x > 0), -(x > 0) + 0.0, "ab" * (x > 0)]  # fmt: skip


def members_of_sets(x: float = 0.5) -> list[bool]:
    return [x in {0.5, 1.0}, "e" in {"a", "e", "i"}, 3 not in {1, 2}, (1, 2) in {(1, 2)}]


def collatz(n: int = 27) -> tuple[int, int]:
    steps, peak = 0, n
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps, peak = steps + 1, max(peak, n)
    return steps, peak


def happy(n: int = 19) -> bool:
    seen: list[int] = []
    while n != 1 and n not in seen:
        seen.append(n)
        total = 0
        while n:
            n, digit = divmod(n, 10)
            total += digit**2
        n = total
    return n == 1


def largest_palindrome(n: int = 30) -> int:
    best = 0
    for a in range(n, 0, -1):
        if a * n <= best:
            break
        for b in range(n, a - 1, -1):
            product = a * b
            if product <= best:
                break
            if str(product) == str(product)[::-1]:
                best = product
    return best


def triangle(n: int = 5) -> list[str]:
    return ["*" * i + "." * (n - i) for i in range(1, n + 1)]


def fizz_buzz(n: int = 15) -> list[str]:
    out = []
    for i in range(1, n + 1):
        if i % 15 == 0:
            out.append("FizzBuzz")
        elif i % 5 == 0:
            out.append("Buzz")
        elif i % 3 == 0:
            out.append("Fizz")
        else:
            out.append(str(i))
    return out


def partitions(n: int = 6) -> int:
    def count(n: int, largest: int) -> int:
        if n == 0:
            return 1
        return sum(count(n - k, k) for k in range(1, min(n, largest) + 1))

    return count(n, n)


def stern_brocot(x: float = 0.618) -> tuple[int, int]:
    a, b, c, d = 0, 1, 1, 1
    while b + d <= 20:
        m = (a + c) / (b + d)
        if x == m:
            return a + c, b + d
        if x > m:
            a, b = a + c, b + d
        else:
            c, d = a + c, b + d
    return (a, b) if abs(x - a / b) < abs(x - c / d) else (c, d)


def egyptian(n: int = 5, d: int = 6) -> list[int]:
    out = []
    while n:
        k = -(-d // n)
        out.append(k)
        n, d = n * k - d, d * k
    return out


def two_numbers(target: float = 9.0) -> tuple[int, int] | None:
    places: dict[float, int] = {}
    for i, v in enumerate([2.0, 7.0, 11.0, 15.0]):
        if target - v in places:
            return places[target - v], i
        places[v] = i
    return None


def pythagorean(n: int = 20) -> list[tuple[int, int, int]]:
    return [(a, b, c) for a in range(1, n) for b in range(a, n) for c in range(b, n) if a * a + b * b == c * c]


def found_and_not(x: float = 0.5) -> list[str]:
    out = []
    for target in (3, 10):
        for i in range(5):
            for j in range(5):
                if i * j == target:
                    out.append(f"{i}*{j}")
                    break
            else:
                continue
            break
        else:
            out.append("none")
    return out
