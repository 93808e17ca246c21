"""Named tuples and frozen dataclasses."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Pair = namedtuple("Pair", "left right", defaults=[5.0])


class Point(NamedTuple):
    x: float
    y: float = 2.0

    def norm(self) -> float:
        return math.sqrt(self.x**2 + self.y**2)

    @property
    def doubled(self) -> Point:
        return Point(2 * self.x, 2 * self.y)


@dataclass(frozen=True)
class Vector:
    x: float
    y: float

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y)

    def __sub__(self, other: Vector) -> Vector:
        return Vector(self.x - other.x, self.y - other.y)

    def __mul__(self, k: float) -> Vector:
        return Vector(self.x * k, self.y * k)

    def __rmul__(self, k: float) -> Vector:
        return self * k

    def __neg__(self) -> Vector:
        return -1.0 * self

    def __matmul__(self, other: Vector) -> float:
        return self.x * other.x + self.y * other.y

    @property
    def norm(self) -> float:
        return math.sqrt(self @ self)

    @classmethod
    def zero(cls, start: float = 0.0) -> Vector:
        return cls(start, 0.0)

    @staticmethod
    def unit(angle: float) -> Vector:
        return Vector(math.cos(angle), math.sin(angle))


class Shape:
    """A base without fields."""

    def twice(self) -> float:
        return 2 * self.area()


@dataclass(frozen=True)
class Circle(Shape):
    radius: float

    def area(self) -> float:
        return math.pi * self.radius**2


@dataclass(frozen=True, kw_only=True)
class Rectangle(Shape):
    width: float
    height: float = 1.0

    def area(self) -> float:
        return self.width * self.height


@dataclass(frozen=True)
class Square(Circle):
    corners: int = 4

    @functools.cached_property
    def side(self) -> float:
        return 2 * self.radius

    def area(self) -> float:
        return self.side**2


@dataclass(frozen=True)
class Model:
    RATE = 0.5
    layers: tuple[Any, ...]
    bias: Point = Point(1.0)
    log: list[float] = field(default_factory=list)

    def __call__(self, x: float, scale: float = 1.0) -> float:
        for layer in self.layers:
            x = layer(x)
        return x * scale + self.bias.x * self.RATE + sum(self.log)


class Linear(NamedTuple):
    w: float
    b: float
    activation: Callable[[float], float] | None = None

    def __call__(self, x: float) -> float:
        y = self.w * x + self.b
        return y if self.activation is None else self.activation(y)


class Counter(NamedTuple):
    n: float

    def __add__(self, k: float) -> Counter:
        return Counter(self.n + k)


ORIGIN = Point(0.5, 1.5)


class Amount(NamedTuple):
    x: float

    def __add__(self, other: object) -> Any:
        if not isinstance(other, (Amount, float)):
            return NotImplemented
        return Amount(self.x + (other.x if isinstance(other, Amount) else other))

    def __radd__(self, other: object) -> Any:
        if isinstance(other, list):
            return Amount(other[0] + 10.0 * self.x)
        return Amount(self.x if other == 0 else 100.0 * self.x)

    def __mul__(self, other: object) -> Any:
        return NotImplemented

    def __rmul__(self, other: float) -> Amount:
        return Amount(self.x * other)

    def __abs__(self) -> float:
        return math.hypot(self.x, 4.0)


@dataclass(frozen=True)
class Base:
    x: float

    def __add__(self, other: Any) -> Base:
        return Base(self.x + other.x)

    def __radd__(self, other: Any) -> Base:
        return Base(-1.0)


@dataclass(frozen=True)
class First(Base):
    def __radd__(self, other: Any) -> Base:
        return First(self.x - other.x)


def made(x: float = 2.0) -> list[Any]:
    return [Point(x), Point(x, 3.0), Point(y=x, x=1.0), Pair(x), Pair(left=1.0, right=x), Vector(x, y=1.0), Rectangle(width=x), Model(())]


def read(x: float = 2.0) -> float:
    p, v = Point(x), Vector(x, x * x)
    return p.x * p.y + v.y - p.norm() + p.doubled.x + ORIGIN.y * v.norm + Model.RATE + Pair(x).right


def of_arguments(p: Point = Point(3.0, 4.0), v: Vector = Vector(1.0, 2.0), m: Model = Model((Linear(2.0, 1.0),))) -> float:
    return p.norm() * v.x + m(p.x) + m(v.y, scale=2.0)


def as_a_tuple(p: Point = Point(3.0, 4.0)) -> list[Any]:
    x, y = p
    first, *rest = p
    return [x, y, first, rest, p[0], p[-1], p[:1], len(p), list(p), tuple(p), sum(p), p == (3.0, 4.0), (3.0, 4.0) == p,
            p == Point(3.0, 4.0), p != Point(3.0), p + (1.0,), 3.0 in p, max(p), sorted([Point(2.0, 1.0), Point(1.0, 5.0)]),
            Point(1.0) < Point(1.0, 3.0), [q for q in p], isinstance(p, tuple), isinstance(p, list), bool(p)]  # fmt: skip


def equality(x: float = 2.0) -> list[bool]:
    return [Vector(x, 1.0) == Vector(2.0, 1.0), Vector(x, 1.0) != Vector(x, 1.0), Vector(x, 1.0) == (x, 1.0),
            Vector(x, 1.0) == Point(x, 1.0), Circle(x) == Square(x), [Vector(x, x)] == [Vector(x, x)], Vector(x, x) == 1.0]  # fmt: skip


def replaced(x: float = 2.0) -> list[Any]:
    p, v = Point(x), Vector(x, 1.0)
    return [p._replace(y=x), p._replace(), dataclasses.replace(v, x=5.0), dataclasses.replace(Model(()), bias=p, log=[x]), p._asdict()]


def kinds(x: float = 2.0) -> list[bool]:
    shapes = [Circle(x), Rectangle(width=x), Square(x)]
    return [isinstance(s, Circle) for s in shapes] + [isinstance(s, Shape) for s in shapes] + [
        isinstance(x, Point), isinstance(Point(x), (Vector, Point)), isinstance(None, Circle), isinstance([], Circle)]  # fmt: skip


def dispatched(x: float = 2.0) -> float:
    total = 0.0
    for shape in [Circle(x), Rectangle(width=x, height=3.0), Square(x)]:
        total += shape.area() * shape.twice()
    return total


def operators(x: float = 2.0, n: int = 4) -> float:
    p, v = Vector(x, 0.0), Vector(0.0, 1.0)
    for _ in range(n):
        v = v + 0.1 * (-p * (1.0 / p.norm**3))
        p += v * 0.1
    return p.norm + (p - v).x + (p @ v) + (Vector.unit(x) * 2).y


def operators_with_other_values(x: float = 2.0) -> float:
    a = Amount(x)
    both = a + a + 1.0
    left, right = [3.0, 4.0] + a, 5.0 * a
    return float(both.x + 2.0 * left.x + 3.0 * right.x + abs(a) + abs(-x) + (Base(x) + First(5.0)).x + (First(x) + Base(5.0)).x)


def an_operator_that_is_declined(x: float = 2.0) -> list[Any]:
    found = []
    try:
        found.append(Amount(x) * Amount(3.0))
    except TypeError:
        found.append("declined")
    return [*found, (Amount(x) + 3.0).x]


def sums_of_records(x: float = 2.0) -> list[float]:
    amounts = [Amount(x), Amount(2.0 * x)]
    return [sum(amounts).x, sum(amounts, Amount(1.0)).x, sum((a for a in amounts), Amount(3.0)).x, sum([x, 1.0])]


def attributes_by_name(x: float = 2.0) -> list[Any]:
    p = Point(x)
    return [
        getattr(p, "y"),  # noqa: B009
        getattr(p, "z", 7.0),
        getattr(p, "x", 7.0),
        getattr(math, "sin")(x),  # noqa: B009
        hasattr(p, "norm"),
        hasattr(x, "norm"),
        hasattr(math, "tau"),
    ]


def a_tuple_with_an_operator(x: float = 2.0) -> list[Any]:
    c = Counter(1.0)
    c += x
    return [c, c + 1.0, Counter(x) + x + 1.0]


def calls(x: float = 2.0) -> float:
    layers = (Linear(x, 1.0), Linear(0.5, x, math.tanh), Linear(1.0, 0.0, lambda y: y * y))
    model = Model(layers, log=[x])
    for layer in layers:
        x = layer(x)
    return model(x) + Linear(1.0, 2.0)(x) + Model(layers[:1])(x, 3.0)


def nested(x: float = 2.0) -> Any:
    best = {"p": Point(x), "others": [Vector(x, 1.0), Vector(1.0, x)]}
    for v in best["others"]:
        if v.y > best["p"].y - 1:
            best = {**best, "p": Point(v.y, v.x)}
    return best, best["p"].x


def made_in_branches(n: int = 3) -> Any:
    found = None
    for i in range(n):
        found = Point(i) if i % 2 else Circle(i)
    return found


def sorted_by(x: float = 2.0) -> Any:
    return sorted([Vector(x, 1.0), Vector(0.5, 0.5), Vector(1.0, x)], key=lambda v: v.norm)


def a_missing_attribute(x: float = 2.0) -> float:
    return x.norm


def a_missing_method(x: float = 2.0) -> float:
    shapes = [Circle(x), x]
    return shapes[1].area()


def an_attribute_of_another_class(x: float = 2.0) -> float:
    return [Rectangle(width=x), Circle(x)][1].width


def a_tree(depth: int = 4, x: float = 0.5) -> float:
    def grown(depth: float, value: float) -> Any:
        return Pair(value, None) if depth == 0 else Pair(grown(depth - 1, value * x), grown(depth - 1, value + x))

    def summed(tree: Any) -> float:
        return tree.left if tree.right is None else summed(tree.left) * 0.5 + summed(tree.right)

    return summed(grown(depth, 1.0))


def class_methods(x: float = 2.0) -> list[Any]:
    return [Vector.zero(), Vector.zero(x), Vector(x, x).zero(start=1.0), [Vector.zero(x).x for _ in range(2)]]
