"""A model trained data-parallel on a cluster of Dask: here two processes of this machine, elsewhere the address of a scheduler.

Each step sends the parameters to the workers, which have the data already, and gets value and gradient of each part back. The
sum is the same to the last bit for any number of workers.
"""

import numpy as np
from distributed import Client, LocalCluster

import vlad

session = vlad.Session(tier="compile")  # so that results have the same bits in each run


@session.function
def loss(weights, x, y):
    """The mean cross entropy of a network with one hidden layer."""
    hidden = np.tanh(x @ weights["in"] + weights["shift"])
    score = hidden @ weights["out"]
    return np.mean(np.logaddexp(0.0, score) - y * score)


def rings(count):
    """Points in the plane, and whether they lie outside of a circle."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(count, 2))
    return x, (np.sum(x * x, axis=1) > 1.4) * 1.0


def trained(x, y, executor, steps=60):
    rng = np.random.default_rng(0)
    weights = {"in": rng.normal(size=(2, 16)), "shift": np.zeros(16), "out": rng.normal(size=16) / 4}
    step = vlad.value_and_grad(loss, data=(x, y), reduce="mean", executor=executor, chunks=4)
    for number in range(steps):
        value, gradient = step(weights)
        weights = {name: weights[name] - 2.0 * gradient[name] for name in weights}
        if number % 20 == 0:
            print(f"step {number:3}: loss {value:.4f}")
    return weights


if __name__ == "__main__":
    x, y = rings(4000)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        weights = trained(x, y, client)
    alone = trained(x, y, None)
    print(
        "the same weights without a cluster:", all((weights[name] == alone[name]).all() for name in weights)
    )
    score = np.tanh(x @ weights["in"] + weights["shift"]) @ weights["out"]
    print(f"right for {np.mean((score > 0) == (y > 0)):.0%} of the points")
