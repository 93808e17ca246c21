"""Points, vectors and shapes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

Point = tuple[float, float]


class Vec3(NamedTuple):
    x: float
    y: float
    z: float

    def __add__(self, other: Vec3) -> Vec3:
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vec3) -> Vec3:
        return Vec3(*(a - b for a, b in zip(self, other)))

    def __mul__(self, k: float) -> Vec3:
        return Vec3(self.x * k, self.y * k, self.z * k)

    __rmul__ = __mul__

    def __neg__(self) -> Vec3:
        return Vec3(-self.x, -self.y, -self.z)

    def dot(self, other: Vec3) -> float:
        return sum(a * b for a, b in zip(self, other))

    def cross(self, o: Vec3) -> Vec3:
        return Vec3(self.y * o.z - self.z * o.y, self.z * o.x - self.x * o.z, self.x * o.y - self.y * o.x)

    def norm(self) -> float:
        return math.sqrt(self.dot(self))


@dataclass(frozen=True)
class Circle:
    radius: float

    def area(self) -> float:
        return math.pi * self.radius**2


@dataclass(frozen=True)
class Rectangle:
    width: float
    height: float

    @classmethod
    def square(cls, side: float) -> Rectangle:
        return cls(side, side)

    @property
    def area_of_half(self) -> float:
        return self.area() / 2

    def area(self) -> float:
        return self.width * self.height


def shoelace(x: float = 0.5) -> float:
    points = [(0.0, 0.0), (4.0, x), (3.0, 3.0), (x, 2.0)]
    total = 0.0
    for (x1, y1), (x2, y2) in zip(points, points[1:] + points[:1]):
        total += x1 * y2 - x2 * y1
    return abs(total) / 2


def centroid(x: float = 0.5) -> Point:
    points = [(0.0, 0.0), (4.0, x), (3.0, 3.0)]
    xs, ys = zip(*points)
    return sum(xs) / len(xs), sum(ys) / len(ys)


def perimeter(x: float = 0.5) -> float:
    points = [(0.0, 0.0), (4.0, x), (3.0, 3.0)]
    return sum(math.dist(p, q) for p, q in zip(points, [*points[1:], points[0]]))


def vectors(x: float = 0.5) -> float:
    a, b = Vec3(x, 2.0, 3.0), Vec3(0.0, 1.0, x)
    c = a.cross(b) + 2.0 * a - b * x
    return (-c).norm() + a.dot(b)


def records_and_arrays(x: float = 0.5) -> float:
    """A method that both have, with arguments."""
    a, b = Vec3(x, 2.0, 3.0), np.array([x, 2.0])
    return a.dot(2 * a) + b.dot(b * 3) + b.dot(np.array([[x, 1.0], [2.0, 3.0]])).sum()


def shapes(x: float = 0.5) -> float:
    return sum(shape.area() for shape in [Circle(x), Rectangle(x, 2.0), Rectangle.square(x)]) + Rectangle(x, x).area_of_half


def inside_a_polygon(x: float = 0.5, y: float = 0.5) -> bool:
    polygon = [(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0)]
    inside = False
    j = len(polygon) - 1
    for i in range(len(polygon)):
        (xi, yi), (xj, yj) = polygon[i], polygon[j]
        if (yi > y) != (yj > y) and x < (xj - xi) * (y - yi) / (yj - yi) + xi:
            inside = not inside
        j = i
    return inside


def convex_hull(x: float = 0.5) -> list[Point]:
    points = sorted([(0.0, 0.0), (2.0, 0.0), (1.0, x), (2.0, 2.0), (0.0, 2.0)])

    def cross(o: Point, a: Point, b: Point) -> float:
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    lower: list[Point] = []
    for p in points:
        while len(lower) >= 2 and cross(lower[-2], lower[-1], p) <= 0:
            lower.pop()
        lower.append(p)
    upper: list[Point] = []
    for p in reversed(points):
        while len(upper) >= 2 and cross(upper[-2], upper[-1], p) <= 0:
            upper.pop()
        upper.append(p)
    return lower[:-1] + upper[:-1]


def closest_pair(x: float = 0.5) -> float:
    points = [(0.0, 0.0), (x, 3.0), (2.0, 2.5), (5.0, 1.0)]
    best = float("inf")
    for i in range(len(points)):
        for j in range(i + 1, len(points)):
            (ax, ay), (bx, by) = points[i], points[j]
            best = min(best, math.hypot(ax - bx, ay - by))
    return best


def ray_and_sphere(x: float = 0.5) -> float | None:
    origin, direction, center, r = (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), (x, 0.0, 5.0), 1.0
    oc = tuple(o - c for o, c in zip(origin, center))
    b = 2 * sum(d * o for d, o in zip(direction, oc))
    c = sum(o * o for o in oc) - r * r
    disc = b * b - 4 * c
    if disc < 0:
        return None
    return (-b - math.sqrt(disc)) / 2


def segments_that_cross(x: float = 0.5) -> tuple[float, float] | None:
    (x1, y1), (x2, y2) = (0.0, 0.0), (2.0, 2.0)
    (x3, y3), (x4, y4) = (0.0, 2.0), (2.0, x)
    d = (x1 - x2) * (y3 - y4) - (y1 - y2) * (x3 - x4)
    if abs(d) < 1e-12:
        return None
    t = ((x1 - x3) * (y3 - y4) - (y1 - y3) * (x3 - x4)) / d
    return (x1 + t * (x2 - x1), y1 + t * (y2 - y1)) if 0 <= t <= 1 else None


def robot_arm(a: float = 0.5, b: float = 0.8) -> float:
    x = y = angle = 0.0
    for theta, length in [(a, 1.0), (b, 0.5), (-a, 0.25)]:
        angle += theta
        x += length * math.cos(angle)
        y += length * math.sin(angle)
    return (x - 1) ** 2 + (y - 1) ** 2


def haversine(lat: float = 52.5) -> float:
    lat1, lon1, lat2, lon2 = map(math.radians, (lat, 13.4, 48.1, 11.6))
    h = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 2 * 6371 * math.asin(math.sqrt(h))


def quaternions(w: float = 0.5) -> float:
    def mul(p: tuple[float, ...], q: tuple[float, ...]) -> tuple[float, ...]:
        a1, b1, c1, d1 = p
        a2, b2, c2, d2 = q
        return (
            a1 * a2 - b1 * b2 - c1 * c2 - d1 * d2,
            a1 * b2 + b1 * a2 + c1 * d2 - d1 * c2,
            a1 * c2 - b1 * d2 + c1 * a2 + d1 * b2,
            a1 * d2 + b1 * c2 - c1 * b2 + d1 * a2,
        )

    q = (math.cos(w), math.sin(w), 0.0, 0.0)
    conj = (q[0], *(-c for c in q[1:]))
    return mul(mul(q, (0.0, 1.0, 2.0, 3.0)), conj)[2]


def turtle(step: float = 0.5) -> tuple[float, float]:
    x, y, heading = 0.0, 0.0, 0
    moves = {0: (1, 0), 90: (0, 1), 180: (-1, 0), 270: (0, -1)}
    for command in "FFLFRFF":
        if command == "F":
            dx, dy = moves[heading]
            x, y = x + step * dx, y + step * dy
        elif command == "L":
            heading = (heading + 90) % 360
        elif command == "R":
            heading = (heading - 90) % 360
    return x, y


def bounding_box(x: float = 0.5) -> tuple[float, float, float, float]:
    points = [(0.0, x), (3.0, -1.0), (x, 4.0)]
    return (
        min(p[0] for p in points),
        min(p[1] for p in points),
        max(p[0] for p in points),
        max(p[1] for p in points),
    )


def pairwise_distances(x: float = 0.5) -> float:
    P = np.array([[0.0, x], [1.0, 1.0], [x, 3.0]])
    diff = P[:, None, :] - P[None, :, :]
    D = np.sqrt((diff**2).sum(axis=-1) + 1e-12)
    return float(np.triu(D, k=1).sum())


def farthest_point(x: float = 0.5) -> Point:
    points = [(0.0, x), (3.0, -1.0), (x, 4.0)]
    return max(points, key=lambda p: math.hypot(*p))


def polar(x: float = 0.5) -> list[tuple[float, float]]:
    return sorted(((math.hypot(a, b), math.atan2(b, a)) for a, b in [(x, 1.0), (-1.0, 0.2)]), reverse=True)
