"""Newton's method with implicit second derivatives: Kepler's equation.

Where a planet is follows from E - e sin E = M, which no formula solves for E. Newton's method does, and its last two steps
have all that there is to know about E as a function of M and e: a step of it at the solution has the first derivatives of
the implicit function, and two have the second ones, as each doubles the order to which it is right. So the search itself need not
be differentiated: it may be any other, such as the bisection here, through which no derivative passes.

    python examples/functions/implicit_newton.py
"""

from __future__ import annotations

import math

import vlad


def newton_step(anomaly, mean, eccentricity):
    residual = anomaly - eccentricity * math.sin(anomaly) - mean
    return anomaly - residual / (1.0 - eccentricity * math.cos(anomaly))


def searched(mean, eccentricity):
    """A solution by bisection. It is made of constants, so it has no derivative."""
    low, high = -10.0, 10.0
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        if middle - eccentricity * math.sin(middle) < mean:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@vlad.function
def anomaly(mean, eccentricity):
    found = searched(mean, eccentricity)
    for _ in range(2):
        found = newton_step(found, mean, eccentricity)
    return found


def main() -> None:
    mean, eccentricity = 0.8, 0.4
    found = anomaly(mean, eccentricity)
    print(f"E = {found:.9f}, with a residual of {abs(found - eccentricity * math.sin(found) - mean):.0e}")
    by_mean, by_eccentricity = vlad.grad(anomaly)(mean, eccentricity)
    (twice, mixed), (_, other) = vlad.hessian(anomaly)(mean, eccentricity)
    print(f"first derivatives:  {by_mean:.9f} {by_eccentricity:.9f}")
    print(f"second derivatives: {twice:.9f} {mixed:.9f} {other:.9f}")
    # by hand, from the equation
    slope = 1.0 / (1.0 - eccentricity * math.cos(found))
    print(f"by hand:            {slope:.9f} {math.sin(found) * slope:.9f}")
    print(f"                    {-eccentricity * math.sin(found) * slope**3:.9f}")


if __name__ == "__main__":
    main()
