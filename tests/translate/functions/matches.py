"""`match`, and assignments within expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Add(NamedTuple):
    a: Any
    b: Any


class Mul(NamedTuple):
    a: Any
    b: Any


class Var(NamedTuple):
    name: str


@dataclass(frozen=True)
class Place:
    x: float
    y: float


COMMANDS: list[Any] = [
    ("add", 1.0, 2.0), ["neg", 3.0], ("sum", 1.0, 2.0, 3.0), ("sum",), (2.0, (3.0, 1.0)), (2.0, (1.0, 3.0), 7.0, 8.0),
    {"op": "mul", "args": [2.0, 3.0], "z": 1.0}, {"k": 4.0}, {"k": {"k": 1.0}}, 2.0, None, "text", 101.0, 7.0, {}, (), [],
    Place(0.0, 1.0), Place(1.0, 2.0), Add(1.0, 2.0), (1.0, 2.0),
]  # fmt: skip


def matched(commands: list[Any] = COMMANDS) -> list[Any]:
    found = []
    for command in commands:
        match command:
            case ("add", x, y):
                found.append(x + y)
            case ["neg", x]:
                found.append(-x)
            case ("sum", *rest):
                found.append(sum(rest))
            case Place(x=0.0, y=y):
                found.append(y)
            case Place(x, y) if x > 0:
                found.append([x, y])
            case Add(a, b=b):
                found.append((a, b))
            case (a, (b, c)) if b > c:
                found.append(a * b)
            case (_, (b, c), *_, last):
                found.append(b - c + last)
            case {"op": "mul", "args": [p, q], **others}:
                found.append((p * q, others))
            case {"k": {"k": k}} | {"k": k}:
                found.append(k)
            case 1 | 2 | 3 as n:
                found.append(n * 10)
            case None:
                found.append("none")
            case "text":
                found.append("t")
            case float(v) if v > 100:
                found.append(v)
            case [] | ():
                found.append("empty")
            case _:
                found.append(command)
    return found


def booleans(x: float = 1.0) -> list[Any]:
    def kind(value: Any) -> str:
        match value:
            case True:
                return "true"
            case False:
                return "false"
            case str(text):
                return text
            case [float(), str() as s]:
                return s
            case int() | float():
                return "number"

        return "other"

    return [kind(x > 0), kind(x < 0), kind("a"), kind(x), kind([]), kind((x, "b"))]


def a_machine(x: float = 2.0, n: int = 3) -> float:
    accumulator = x
    for i in range(n):
        for op in [("push", x), ("mul", 1.5), ("skip",), ("stop", 2), ("push", 100.0)]:
            match op:
                case ("push", v):
                    accumulator = accumulator + v * i
                case ("mul", v):
                    accumulator *= v
                case ("stop", k) if i < k:
                    break
                case ("skip",):
                    continue
                case other:
                    accumulator -= len(other)
    return accumulator


def an_interpreter(x: float = 2.0) -> float:
    def value(e: Any, env: dict[str, float]) -> float:
        match e:
            case Add(a, b):
                return value(a, env) + value(b, env)
            case Mul(a=a, b=b):
                return value(a, env) * value(b, env)
            case Var(name):
                return env[name]
            case _:
                return e

    return value(Add(Mul(2.0, Var("x")), Mul(Var("y"), Var("x"))), {"x": x, "y": 3.0})


def of_two(x: float = 2.0, y: float = 3.0) -> float:
    match x > 1, y:
        case (True, z) if z > 5:
            r = z
        case (True, z):
            r = z * x
        case _:
            r = 0.0
    return r


def captured_names_remain(x: float = 2.0) -> list[Any]:
    match (x, [x, 3.0]):
        case (a, [b]):
            pass
        case (c, [d, e]):
            pass
    return [c, d, e]


def a_name_that_was_not_captured(x: float = 2.0) -> float:
    match x:
        case 5:
            y = 1.0
        case float(z) if z > 3:
            y = 2.0
    return y


def assigned_in_a_test(x: float = 2.0) -> list[Any]:
    if (n := x * 2) > 3:
        n += 1
    y = 1.0 if (m := n + 1) > 100 else m
    return [n, m, y, (k := 3.0), k * (j := k + 1), j]


def assigned_in_a_loop(x: float = 3.0) -> float:
    t = 0.0
    while (y := x * x) > 1.0 and t < 10:
        x -= 0.5
        t += y
    else:
        t += 100
    return t + y


def assigned_in_an_endless_loop(x: float = 30.0) -> float:
    t = 0.0
    while t < 5 and (y := x * 0.5) > 1:
        t, x = t + y * 0.1, y
        if t > 3:
            break
    else:
        return -t
    return t * y


def assigned_now_and_then(x: float = -0.5, d: dict[str, float] = {"a": 1.0}) -> float:
    if x > 0 and (v := d.get("a")) is not None:
        return v
    elif x < -1 or (q := x * 2) > 0:
        return 1.0
    else:
        return q


def assigned_in_a_comprehension(xs: list[float] = [1.0, 2.0, 3.0]) -> list[Any]:
    return [[y for x in xs if (y := x * x) > 2], sum(z for x in xs if x > 1 and (z := x - 1) > 0), {x: w for x in xs if (w := x)}]
