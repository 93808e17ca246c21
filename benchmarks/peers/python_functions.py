"""The functions of benchmarks/python.py, in plain Python: Python, Numba and vlad run the same text.

Each is followed by its arguments and the numbers of those by which the gradient is taken.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


def logistic(x, rate, steps=10_000):
    """The logistic map: a loop of scalars."""
    for _ in range(steps):
        x = rate * x * (1.0 - x)
    return x


def pendulum(angle, damping, tolerance=1e-5):
    """Where a damped pendulum is after ten seconds, by Heun's method with steps that depend on the error."""
    speed, time, step = 0.0, 0.0, 0.01
    while time < 10.0:
        first = -9.81 * math.sin(angle) - damping * speed
        ahead, speed_ahead = angle + step * speed, speed + step * first
        second = -9.81 * math.sin(ahead) - damping * speed_ahead
        error = 0.5 * step * max(abs(speed_ahead - speed), abs(second - first))
        if error <= tolerance:
            time = time + step
            angle = angle + 0.5 * step * (speed + speed_ahead)
            speed = speed + 0.5 * step * (first + second)
        step = step * min(2.0, max(0.3, 0.9 * math.sqrt(tolerance / (error + 1e-12))))
        if time + step > 10.0:
            step = max(10.0 - time, 1e-6)
    return angle


def escape(x, y, width=0.01, across=16, most=200):
    """The mean of the smooth escape times of z <- z**2 + c around a point."""
    total = 0.0
    for row in range(across):
        for column in range(across):
            a = x + width * (column / across - 0.5)
            b = y + width * (row / across - 0.5)
            u, v, turns = 0.0, 0.0, 0
            while turns < most and u * u + v * v < 1e12:
                u, v = u * u - v * v + a, 2.0 * u * v + b
                turns += 1
            if turns < most:
                total += turns + 1.0 - math.log(0.5 * math.log(u * u + v * v)) / math.log(2.0)
            else:
                total += most
    return total / (across * across)


def kalman(drift, noise, seen):
    """The log-likelihood of places that were seen, of a body whose speed drifts: a Kalman filter of four states."""
    step = np.array([[1.0, 0.0, 0.1, 0.0], [0.0, 1.0, 0.0, 0.1], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    look = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    drifts = drift * np.eye(4)
    noises = noise * np.eye(2)
    state = np.zeros(4)
    spread = np.eye(4)
    total = 0.0
    for place in seen:
        state = step @ state
        spread = step @ spread @ step.T + drifts
        surprise = place - look @ state
        expected = look @ spread @ look.T + noises
        inverse = np.linalg.inv(expected)
        gain = spread @ look.T @ inverse
        total = total - 0.5 * (surprise @ (inverse @ surprise) + math.log(np.linalg.det(expected)))
        state = state + gain @ surprise
        spread = (np.eye(4) - gain @ look) @ spread
    return total


def forward(moves, symbols, seen):
    """The log-likelihood of a sequence of symbols under a hidden Markov model, by the forward algorithm."""
    probabilities = np.ones(20) / 20.0
    total = 0.0
    for symbol in seen:
        probabilities = (probabilities @ moves) * symbols[symbol]
        scale = probabilities.sum()
        probabilities = probabilities / scale
        total = total + math.log(scale)
    return total


def warping(xs, ys):
    """The distance of two sequences by dynamic time warping."""
    row = [0.0]
    for _ in ys:
        row.append(1e300)
    for x in xs:
        left = 1e300
        following = [left]
        for y, corner, above in zip(ys, row[:-1], row[1:]):
            left = (x - y) ** 2 + min(corner, above, left)
            following.append(left)
        row = following
    return row[-1]


def warping_table(xs, ys):
    """The same, in a table that is filled entry by entry."""
    table = np.full((len(xs) + 1, len(ys) + 1), 1e300)
    table[0, 0] = 0.0
    for i in range(len(xs)):
        for j in range(len(ys)):
            above = min(table[i, j], table[i, j + 1], table[i + 1, j])
            table[i + 1, j + 1] = (xs[i] - ys[j]) ** 2 + above
    return table[len(xs), len(ys)]


def tree(depth, x, shrink):
    """The sum over the leaves of a binary tree, by recursion."""
    if depth == 0:
        return x * x
    return tree(depth - 1, shrink * x, shrink) + tree(depth - 1, x - shrink, shrink)


def root(a, b):
    """The root of x**3 + a * x = b by bisection. A last step of Newton's method gives it its derivatives, which are those of the
    implicit function."""
    low, high = 0.0, 10.0
    while high - low > 1e-14:
        middle = 0.5 * (low + high)
        if middle == low or middle == high:
            break
        if middle**3 + a * middle < b:
            low = middle
        else:
            high = middle
    return low - (low**3 + a * low - b) / (3.0 * low**2 + a)


def network(w, c, v, inputs, targets):
    """The loss of a network of one hidden layer."""
    hidden = np.tanh(inputs @ w + c)
    return np.mean((hidden @ v - targets) ** 2)


def bodies(xs, ys, zs, us, vs, ws, masses, steps=1000):
    """The energy of bodies that attract each other, after many steps."""
    xs, ys, zs = xs.copy(), ys.copy(), zs.copy()
    us, vs, ws = us.copy(), vs.copy(), ws.copy()
    count = len(xs)
    for _ in range(steps):
        for i in range(count):
            for j in range(i + 1, count):
                dx, dy, dz = xs[i] - xs[j], ys[i] - ys[j], zs[i] - zs[j]
                squared = dx * dx + dy * dy + dz * dz
                pull = 0.01 / (squared * math.sqrt(squared))
                us[i] -= dx * masses[j] * pull
                vs[i] -= dy * masses[j] * pull
                ws[i] -= dz * masses[j] * pull
                us[j] += dx * masses[i] * pull
                vs[j] += dy * masses[i] * pull
                ws[j] += dz * masses[i] * pull
        for i in range(count):
            xs[i] += 0.01 * us[i]
            ys[i] += 0.01 * vs[i]
            zs[i] += 0.01 * ws[i]
    energy = 0.0
    for i in range(count):
        energy += 0.5 * masses[i] * (us[i] * us[i] + vs[i] * vs[i] + ws[i] * ws[i])
        for j in range(i + 1, count):
            dx, dy, dz = xs[i] - xs[j], ys[i] - ys[j], zs[i] - zs[j]
            energy -= masses[i] * masses[j] / math.sqrt(dx * dx + dy * dy + dz * dz)
    return energy


def summed(result):
    """One number to check a result by: of a tuple the sum of its parts', of a list or an array the sum of the entries times their
    positions, so that an exchange of entries is noticed."""
    if isinstance(result, tuple):
        return sum(summed(one) for one in result)
    entries = np.ravel(np.asarray(result, dtype=float))
    return float(entries @ np.arange(1, len(entries) + 1))


@dataclass(frozen=True)
class Workload:
    """A function, its arguments, and the numbers of those by which the gradient is taken."""

    name: str
    f: Callable[..., Any]
    arguments: tuple[Any, ...]
    by: Sequence[int]


def _waves(count: int, phase: float) -> list[float]:
    return [math.sin(0.1 * i + phase) + 0.3 * math.cos(0.37 * i) for i in range(count)]


def _filled(rows: int, columns: int, phase: float) -> Any:
    return np.sin(np.arange(rows * columns) * 0.7 + phase).reshape(rows, columns)


def _probabilities(rows: int, columns: int, phase: float) -> Any:
    weights = 1.5 + _filled(rows, columns, phase)
    return weights / weights.sum(axis=1, keepdims=True)


MASSES = [39.47841760435743, 0.03769367487038949, 0.011286326131968767, 0.0017237240570597112, 0.0020336868699246304]
PLACES = [
    [0.0, 4.84143144246472090, 8.34336671824457987, 12.8943695621391310, 15.3796971148509165],
    [0.0, -1.16032004402742839, 4.12479856412430479, -15.1111514016986312, -25.9193146099879641],
    [0.0, -0.103622044471123109, -0.403523417114321381, -0.223307578892655734, 0.179258772950371181],
]
SPEEDS = [
    [0.0, 0.606326392995832, -1.01077434617879, 1.08279100644154, 0.979090732243898],
    [0.0, 2.81198684491626, 1.82566237123041, 0.868713018169608, 0.594698998647676],
    [0.0, -0.0252183616598876, 0.00841576137658415, -0.0108326374013636, -0.0347559555078104],
]

WORKLOADS = [
    Workload("logistic map, 10,000 steps", logistic, (0.3, 3.5), (0, 1)),
    Workload("pendulum, adaptive steps", pendulum, (1.0, 0.2), (0, 1)),
    Workload("escape times, 16 × 16", escape, (0.35, 0.6), (0, 1)),
    Workload("Kalman filter, 1,000 steps", kalman, (0.01, 0.2, np.stack([_waves(1000, 0.0), _waves(1000, 1.0)], axis=1)), (0, 1)),
    Workload("hidden Markov model, 20 states × 1,000", forward,
             (_probabilities(20, 20, 0.0), _probabilities(5, 20, 1.0), [(7 * i * i + 3 * i) % 5 for i in range(1000)]), (0, 1)),
    Workload("time warping, 200 × 200", warping, (_waves(200, 0.0), _waves(200, 0.5)), (0, 1)),
    Workload("time warping in a table, 200 × 200", warping_table, (np.array(_waves(200, 0.0)), np.array(_waves(200, 0.5))), (0, 1)),
    Workload("recursion over a tree of depth 15", tree, (15, 1.0, 0.9), (1, 2)),
    Workload("bisection, implicit derivative", root, (2.0, 5.0), (0, 1)),
    Workload("network, 64 × 16 × 32 × 1", network,
             (0.3 * _filled(16, 32, 0.0), 0.1 * _filled(1, 32, 1.0)[0], 0.3 * _filled(32, 1, 2.0), _filled(64, 16, 3.0),
              _filled(64, 1, 4.0)), (0, 1, 2)),
    Workload("five bodies, 1,000 steps", bodies, (*PLACES, *SPEEDS, MASSES), (0, 1, 2, 3, 4, 5)),
]  # fmt: skip
