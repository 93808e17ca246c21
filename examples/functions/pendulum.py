"""Fitting a pendulum through its integrator.

Angles of a swinging pendulum were measured. Its length, its friction and the angle from which it was let go are those for which a
simulation comes nearest to the measurements. The simulation is a plain Python function with loops; its gradient and its Hessian,
three by three, go through every step of it. So Newton's method finds the three numbers in a few steps, where gradient descent
would take thousands, as one number matters far more than another.

    python examples/functions/pendulum.py
"""

from __future__ import annotations

import math

import numpy as np

import vlad

STEP, EVERY, MEASURED = 0.01, 20, 30  # seconds; a measurement after so many steps; the number of measurements


def swing(length, friction, angle):
    """The angles at the times of the measurements, by the method of Runge and Kutta of the second order."""
    speed, seen = 0.0, []
    for _ in range(MEASURED):
        for _ in range(EVERY):
            pull = -9.81 / length * math.sin(angle) - friction * speed
            middle, middle_speed = angle + 0.5 * STEP * speed, speed + 0.5 * STEP * pull
            pull = -9.81 / length * math.sin(middle) - friction * middle_speed
            angle, speed = angle + STEP * middle_speed, speed + STEP * pull
        seen.append(angle)
    return seen


@vlad.function
def misfit(length, friction, angle, seen):
    return sum([(a - b) ** 2 for a, b in zip(swing(length, friction, angle), seen)])  # noqa: B905


def main() -> None:
    noise = [0.01 * math.sin(12.9898 * i) for i in range(MEASURED)]
    seen = [a + b for a, b in zip(swing(1.3, 0.25, 0.9), noise, strict=True)]
    gradient = vlad.grad(misfit, argnums=(0, 1, 2))
    hessian = vlad.hessian(misfit, argnums=(0, 1, 2))
    found = np.array([1.2, 0.1, 0.7])
    for step in range(8):
        print(
            f"{step}: {misfit(*found, seen):9.6f}  length {found[0]:.4f}  friction {found[1]:.4f}  angle {found[2]:.4f}"
        )
        slope = np.array(gradient(*found, seen))
        if np.max(np.abs(slope)) < 1e-9:
            break
        values, vectors = np.linalg.eigh(np.array(hessian(*found, seen)))
        # where the misfit is not convex, a step along the absolute curvature still leads downhill
        found = found - vectors @ ((vectors.T @ slope) / np.abs(values))


if __name__ == "__main__":
    main()
