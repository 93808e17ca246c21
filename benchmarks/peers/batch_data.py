"""The operands of benchmarks/batch.py: of each row of its table, the arrays of all rows of the batch. Needs NumPy only."""

from __future__ import annotations

import numpy as np

NAMES = ("rosenbrock", "options", "roots", "pendulums", "network", "saddles")


def operands(name: str) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    match name:
        case "rosenbrock":
            return [rng.normal(size=(100_000, 8))]
        case "options":
            return [rng.uniform(low, high, 1_000_000) for low, high in ((80, 120), (0.1, 0.5), (80, 120), (0.2, 2))]
        case "roots":
            return [rng.uniform(0, 3, 100_000), rng.uniform(0, 0.8, 100_000)]
        case "pendulums":
            return [rng.uniform(low, high, 10_000) for low, high in ((1, 3), (0.1, 0.5), (0.5, 2), (-1, 1))]
        case "saddles":
            return [rng.uniform(0.5, 1.5, 10_000)]
    scales = ((128, 784, 28.0), (128, 1, 10.0), (10, 128, 11.0), (10, 1, 10.0))
    weights = [rng.normal(size=(rows, columns)) / scale for rows, columns, scale in scales]
    w1, b1, w2, b2 = weights
    return [w1, b1[:, 0].copy(), w2, b2[:, 0].copy(), rng.normal(size=(256, 784)), rng.integers(0, 10, 256).astype(float)]
