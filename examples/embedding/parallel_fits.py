"""Ten thousand small nonlinear problems, fitted by two processes.

Each is the decay of a sample, measured at nine times: its rate is found by Newton's method, with exact derivatives of
the misfit. The loop of the method and its derivatives are one compiled procedure, which travels to each process once; the samples
follow in parts, and the results come back in the order of the samples.
"""

import numpy as np

import vlad

TIMES = np.linspace(0.0, 4.0, 9)


session = vlad.Session(tier="compile")


@session.function
def misfit(p, t, measured):
    """Of a decay to a level, p = (log of the rate, amplitude, level)."""
    return np.sum((p[1] * np.exp(-np.exp(p[0]) * t) + p[2] - measured) ** 2)


@session.function
def fitted(measured, t):
    p = np.array([0.0, measured[0] - measured[8], measured[8]])
    for _ in range(12):
        curvature = vlad.hessian(misfit, 0)(p, t, measured)
        p = p - np.linalg.solve(curvature + 1e-6 * np.eye(3), vlad.grad(misfit, 0)(p, t, measured))
    return np.exp(p[0])


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    rates = rng.uniform(0.7, 1.5, size=10_000)
    samples = [2 * np.exp(-rate * TIMES) + 0.5 + 1e-4 * rng.normal(size=9) for rate in rates]
    found = np.array(vlad.map(fitted, samples, [TIMES] * len(samples), executor=2))
    print(f"{len(found)} rates, the worst {np.max(np.abs(found / rates - 1)):.1e} off")
