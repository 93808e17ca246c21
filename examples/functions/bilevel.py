"""A bilevel problem: the best penalty for a fit, by a derivative through the fit.

A cubic polynomial is fitted to nine noisy points, with a penalty on its coefficients. Too small a penalty fits the noise, too
large a one fits nothing. The best one makes the error on other points least: an optimisation whose objective contains
another one. The inner one descends along `vlad.grad` of its loss; the outer one takes the gradient of the whole, which
goes through all steps of the inner one, and so through the inner gradient, too.

    python examples/functions/bilevel.py
"""

from __future__ import annotations

import math

import vlad

session = vlad.Session(tier="compile")  # many calls, none of which is long
TRAINING = [(x / 4.0 - 1.0, math.sin(2.0 * (x / 4.0 - 1.0)) + 0.4 * math.cos(17.0 * x)) for x in range(9)]
OTHERS = [(x / 10.0 - 1.0, math.sin(2.0 * (x / 10.0 - 1.0))) for x in range(21)]


def misfit(coefficients, points):
    a, b, c, d = coefficients
    return sum([(a + x * (b + x * (c + x * d)) - y) ** 2 for x, y in points]) / len(points)


def fitted(log_penalty, points, steps=200):
    """The coefficients that fit some points, by gradient descent."""
    slope = vlad.grad(lambda w: misfit(w, points) + math.exp(log_penalty) * sum([c * c for c in w]))
    coefficients = [0.0, 0.0, 0.0, 0.0]
    for _ in range(steps):
        coefficients = [c - 0.3 * s for c, s in zip(coefficients, slope(coefficients))]  # noqa: B905
    return coefficients


@session.function
def objective(log_penalty):
    return misfit(fitted(log_penalty, TRAINING), OTHERS)


def main() -> None:
    slope = vlad.grad(objective)
    log_penalty = -2.0
    for step in range(60):
        if step % 15 == 0:
            print(f"penalty {math.exp(log_penalty):.5f}: error on other points {objective(log_penalty):.6f}")
        log_penalty -= 20.0 * slope(log_penalty)
    print(f"penalty {math.exp(log_penalty):.5f}: error on other points {objective(log_penalty):.6f}")
    for other in (-8.0, -1.0):
        print(f"with the penalty {math.exp(other):.5f} it is {objective(other):.6f}")


if __name__ == "__main__":
    main()
