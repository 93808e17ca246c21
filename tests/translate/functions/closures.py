"""Functions that make functions, and functional programming."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial, reduce
from itertools import accumulate, chain, combinations, groupby, islice, product, takewhile
from typing import Any

Fn = Callable[[float], float]


def _compose(*fs: Fn) -> Fn:
    return reduce(lambda f, g: lambda x: f(g(x)), fs)


def _derivative(f: Fn, h: float = 1e-3) -> Fn:
    return lambda x: (f(x + h) - f(x - h)) / (2 * h)


def _newton(f: Fn, x: float, steps: int = 5) -> float:
    df = _derivative(f)
    for _ in range(steps):
        x = x - f(x) / df(x)
    return x


def composition(x: float = 0.5) -> float:
    return _compose(math.sin, lambda v: v * v, math.exp)(x)


def derivative_of_a_closure(x: float = 0.5) -> float:
    return _derivative(lambda v: v**3 * x)(2.0)


def root_of_a_closure(a: float = 2.0) -> float:
    return _newton(lambda v: v**2 - a, x=1.0)


def repeated(x: float = 0.5) -> float:
    def times(n: int, f: Fn) -> Fn:
        def run(v: float) -> float:
            for _ in range(n):
                v = f(v)
            return v

        return run

    return times(3, math.cos)(x) + times(0, math.sin)(x)


def curried(x: float = 0.5) -> float:
    add = lambda a: lambda b: lambda c: a + b * c
    return add(x)(2.0)(x)


def church(x: float = 0.5) -> float:
    two = lambda f: lambda v: f(f(v))
    three = lambda f: lambda v: f(f(f(v)))
    plus = lambda m, n: lambda f: lambda v: m(f)(n(f)(v))
    return plus(two, three)(lambda v: v * (1 + x))(1.0)


def y_combinator(x: float = 0.5) -> float:
    factorial = (lambda f: f(f, 5))(lambda f, n: 1 if n == 0 else n * f(f, n - 1))
    return factorial * x


def continuation(x: float = 0.5) -> float:
    def power(n: int, k: Fn) -> float:
        if n == 0:
            return k(1.0)
        return power(n - 1, lambda r: k(r * x))

    return power(4, lambda r: r + 1)


def mutual_recursion(x: float = 0.5) -> float:
    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    return x if even(10) and not odd(4) else -x


def streams(x: float = 0.5) -> float:
    """A lazy list: a head, and a function of the rest."""

    def powers(v: float) -> tuple[float, Any]:
        return v, lambda: powers(v * x)

    total, (head, rest) = 0.0, powers(1.0)
    for _ in range(5):
        total += head
        head, rest = rest()
    return total


def dispatch(x: float = 0.5) -> list[float]:
    table: dict[str, Fn] = {"square": lambda v: v * v, "double": lambda v: 2 * v, "sin": math.sin}
    return [table[key](x) for key in ("sin", "square", "double")] + [table.get("none", abs)(-x)]


def pipeline(x: float = 0.5) -> float:
    steps = [lambda v: v + 1, lambda v: v * x, math.sqrt]
    value = x
    for step in steps:
        value = step(value)
    return value


def numerical_operators(x: float = 0.5) -> float:
    integrate = lambda f, a, b, n=10: sum(f(a + (i + 0.5) * (b - a) / n) for i in range(n)) * (b - a) / n
    return integrate(lambda t: t * x, 0.0, 1.0) + integrate(math.exp, 0.0, x, n=4)


def partial_functions(x: float = 0.5) -> list[float]:
    power = lambda base, exponent: base**exponent
    square, cube = partial(power, exponent=2), partial(power, exponent=3)
    return [square(x), cube(x), partial(math.pow, 2.0)(x), sum(map(partial(operator.mul, x), [1, 2, 3]))]


def folds(x: float = 0.5) -> list[float]:
    xs = [x, 2.0, 3.0]
    return [
        reduce(lambda a, b: a * b, xs), reduce(operator.add, xs, 10), reduce(lambda a, b: b - a, xs), math.prod(xs),
        reduce(lambda acc, v: acc + [v * 2], xs, [0.0])[-1], reduce(math.hypot, xs),
    ]  # fmt: skip


def iterators(x: float = 0.5) -> list[Any]:
    xs = [1.0, x, 3.0, 4.0]
    return [
        list(accumulate(xs, lambda a, b: a * x + b)), [*chain(xs, [5.0])][-1], sum(a * b for a, b in combinations(xs, 2)),
        sum(a * b for a, b in product(xs, repeat=2)), list(takewhile(lambda v: v < 2, xs)), list(islice(xs, 1, 3)),
        [(k, sum(g)) for k, g in groupby(xs, key=lambda v: v > 2)], list(zip(*[xs[:2], xs[2:]])),
    ]  # fmt: skip


def generators(x: float = 0.5) -> list[Any]:
    xs = [1.0, x, 3.0]
    a, b = (v * 2 for v in xs[:2])
    first, *others = (v + 1 for v in xs)
    return [a, b, first, others, [*(v for v in xs if v > 1)], (0, *(v for v in xs)), math.hypot(*(v for v in xs)),
            math.atan2(*xs[:2]), any(v > 2 for v in xs), tuple(v for v in xs), max(v for v in xs)]  # fmt: skip


def nested_comprehensions(x: float = 0.5) -> list[Any]:
    return [
        [[i * j * x for j in range(3)] for i in range(2)],
        [(i, j) for i in range(3) for j in range(i)],
        {i: [j for j in range(i)] for i in range(3)},
        [y for v in [1, 2, 3] if (y := v * x) > 0.7],
        sum(sum(row) for row in [[x, 1], [2, 3]]),
        [v if v > 1 else -v for v in (x, 2)],
    ]


def zipped(x: float = 0.5) -> list[Any]:
    xs, ys = [1.0, x], [3.0, 4.0]
    return [
        [a * b for a, b in zip(xs, ys, strict=True)], list(zip(xs, ys, "ab", strict=False)), dict(zip("ab", xs)),
        [i * a for i, (a, _) in enumerate(zip(xs, ys), start=1)], [list(c) for c in zip(*[xs, ys])], list(zip(*[])),
        [a + b for a, b in zip(xs, *[ys])], [sum(c) for c in zip(xs, ys, range(10))],
    ]  # fmt: skip


def uneven(x: float = 0.5) -> float:
    return sum(a * b for a, b in zip([x, 1.0], [2.0], strict=True))  # a ValueError


def counters(x: float = 0.5) -> tuple[float, int]:
    """A generator's state is passed on."""

    def draw(state: int) -> tuple[float, int]:
        state = (state * 16807) % 2147483647
        return state / 2147483647, state

    total, state = 0.0, 42
    for _ in range(4):
        u, state = draw(state)
        total += u * x
    return total, state


def defaults(x: float = 0.5) -> list[float]:
    def f(a: float, b: float = 2.0, *rest: float, scale: float = 1.0, **others: float) -> float:
        return (a * b + sum(rest)) * scale + sum(others.values())

    return [f(x), f(x, 3.0), f(x, 3.0, 4.0, 5.0), f(x, scale=2.0), f(x, b=1.0, z=10.0), f(*[x, 2.0], scale=x)]


def topological_order(links: dict[str, list[str]] = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}) -> list[str]:
    order: list[str] = []
    done = set()

    def visit(node: str) -> None:
        if node in done:
            return
        done.add(node)
        for other in links[node]:
            visit(other)
        order.append(node)

    for node in links:
        visit(node)
    return order


def remembered(n: int = 30) -> float:
    known = {0: 0, 1: 1}

    def fibonacci(k: int) -> float:
        if k not in known:
            known[k] = fibonacci(k - 1) + fibonacci(k - 2)
        return known[k]

    return fibonacci(n)


def orders(n: int = 3) -> list[list[int]]:
    found: list[list[int]] = []
    path: list[int] = []
    used = set()

    def extend() -> None:
        if len(path) == n:
            found.append(path[:])
            return
        for i in range(n):
            if i in used:
                continue
            used.add(i)
            path.append(i)
            extend()
            path.pop()
            used.remove(i)

    extend()
    return found


def each_other(n: int = 3) -> tuple[list[int], dict[int, int]]:
    places: list[int] = []
    counts = {}

    def place(k: int) -> None:
        places.append(k)
        count(k)

    def count(k: int) -> None:
        counts[k] = len(places)
        if k > 0:
            place(k - 1)

    place(n)
    return places, counts


def slope_of_what_is_collected(x: float = 2.0) -> float:
    collected: list[float] = []

    def collect(y: float) -> None:
        collected.append(y * y)

    for i in range(3):
        collect(x * i)
    return sum(collected)


def primes_by_division(n: int = 20) -> list[int]:
    primes: list[int] = []

    def is_prime(k: int) -> bool:
        return all(k % p for p in primes if p * p <= k)

    for k in range(2, n):
        if is_prime(k):
            primes = primes + [k]
    return primes


def later_values(n: int = 3) -> list[Any]:
    total, x = 0, 1

    def scaled(k: float = 2) -> float:
        return x * k

    def more() -> float:
        return scaled() + 1

    def add(k: float) -> None:
        nonlocal total
        total += k * x

    found = [scaled(), more()]
    x = 4
    found += [scaled(3), more()]
    add(1)
    for x in range(n):
        add(x)
        found.append(scaled(k=5))
    return [found, total]


def slope_by_later_values(x: float = 2.0) -> float:
    a, total = 1.0, 0.0

    def f(y: float) -> float:
        return a * y

    for _ in range(3):
        total += f(x)
        a *= x
    return total


def unassigned_when_it_is_called(c: int = 0) -> float:
    def f(k: float) -> float:
        return h + k if k > 0 else 0.0

    first = f(c)
    h = 5.0
    return first


def own_local_read_before_it_is_assigned(x: float = 2.0) -> float:
    y = x

    def f(z: float) -> float:
        r = y + z  # type: ignore[has-type]  # noqa: F821, F823
        y = 3.0
        return r + y

    return f(x)


def own_local_assigned_on_one_way(x: float = 2.0) -> float:
    y = x

    def f(z: float) -> float:
        if z > 100.0:
            y = 1.0
        return y

    return f(x)


def own_local_read_in_a_loop(x: float = 2.0) -> float:
    y = x

    def f(z: float) -> float:
        while z < 10.0:
            z = z + y
            y = 2.0
        return z

    return f(x)


def own_local_increased(x: float = 2.0) -> float:
    y = x

    def f() -> float:
        y += 1.0  # noqa: F821
        return y

    return f()


def own_function_called_before_its_definition(x: float = 2.0) -> float:
    def g() -> float:
        return x

    def f() -> float:
        r = g()

        def g() -> float:
            return 2.0 * x

        return r + g()

    return f()


def own_local_read_by_a_function_inside(x: float = 2.0) -> float:
    y = x

    def f() -> float:
        def g() -> float:
            return y

        r = g()
        y = 3.0
        return r + y

    return f()


def variable_of_a_comprehension_read_too_early(x: float = 2.0) -> list[float]:
    y = [x]
    return [y for z in (1.0, x) for y in [y, z]]


def variable_of_a_comprehension_tested_too_early(x: float = 2.0) -> list[float]:
    y = x
    return [y for z in (1.0, x) if y > z for y in [z]]


def same_name_inside_and_outside(x: float = 2.0) -> tuple[float, list[float], float]:
    y = [x, 1.0]

    def f(y: float) -> float:
        y = y * x
        return y

    return f(3.0), [y * x for y in y], y[0]
