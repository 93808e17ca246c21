"""A cluster of Dask as executor: two processes of this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster

import vlad
from vlad import Session
from vlad.session import executors

# Dask's worker processes, and its loop in another thread, close sockets late.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@vlad.function
def settled(a, steps=2000):
    x = a
    for _ in range(steps):
        x = x - 0.1 * (x * x - a)
    return x


@vlad.function
def misfit(w, x, y):
    return ((x @ w - y) ** 2).mean()


def test_results_have_the_bits_of_a_serial_run(client: Client) -> None:
    items = [1.0 + number / 8 for number in range(24)]
    assert vlad.map(settled, items, executor=client) == [settled(item) for item in items]
    assert vlad.map(vlad.grad(settled, "a"), items, executor=client) == vlad.map(
        vlad.grad(settled, "a"), items
    )


def test_gradients_over_data(client: Client) -> None:
    x = np.random.default_rng(1).normal(size=(40, 3))
    results = []
    for executor in (client, None, client):
        fit = vlad.value_and_grad(misfit, data=(x, x[:, 0]), reduce="mean", chunks=5, executor=executor)
        results += [fit(np.ones(3)), fit(np.ones(3))]
    assert len({(value, gradient.tobytes()) for value, gradient in results}) == 1


def test_programs_know_a_cluster_by_its_address(client: Client) -> None:
    address: Any = client.scheduler_info()["address"]
    with Session(executor=address) as one:
        assert one.eval("((gradient (lambda (l) (fold + 0 (parallel-map cube l)))) '(1 2))") == [3.0, 12.0]
    executors._client(address).close()
    executors._client.cache_clear()


def test_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vlad.session.executors.WAITS", 0.2)
    with pytest.raises(vlad.VladError, match="There is no scheduler"):
        Session(executor="tcp://127.0.0.1:9")


def test_a_worker_that_is_killed_is_replaced(client: Client) -> None:
    killed: list[int] = []

    def progress(done: int, of: int) -> None:
        if not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    items = [float(number) / 50 for number in range(100)]
    found = vlad.map(settled, items, executor=client, chunks=50, progress=progress)
    assert killed and found == [settled(item) for item in items]
