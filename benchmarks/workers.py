"""How calls scale over processes: `python benchmarks/workers.py [SECONDS]`.

Maps a compiled loop over 40 items, each a part of its own of about 50 ms (or SECONDS), with one and two processes of vlad's own,
and of a local cluster of Dask. Prints the time of each beside that of this process; all return the same list. The first call of
each, in which workers start and compile, is not counted.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import vlad

ITEMS = 40
PROGRAM = """(lambda (turns)
  (lambda (x) (let loop ((i 0) (y x)) (if (= i turns) y (loop (+ i 1) (- y (* 0.001 (- (* y y) x))))))))"""


@contextmanager
def dask(count: int) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def processes(count: int) -> Iterator[int]:
    yield count


@contextmanager
def this(count: int) -> Iterator[None]:
    yield None


def seconds_of(f: vlad.Procedure, executor: Any) -> tuple[float, list[float]]:
    items = [1.0 + number / ITEMS for number in range(ITEMS)]
    vlad.map(f, items, executor=executor, chunks=ITEMS)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        found = vlad.map(f, items, executor=executor, chunks=ITEMS)
        times.append(time.perf_counter() - start)
    return min(times), found


def main() -> None:
    part = float(sys.argv[1]) if len(sys.argv) > 1 else 0.05
    make = vlad.Session(tier="compile").eval(PROGRAM)
    trial = make(1e6)
    trial(1.0)
    start = time.perf_counter()
    trial(1.0)
    turns = 1e6 * part / (time.perf_counter() - start)
    f = make(round(turns))
    expected = None
    base = 0.0
    for name, maker, count in (
        ("this process", this, 1), ("1 process", processes, 1), ("2 processes", processes, 2), ("Dask, 1 worker", dask, 1),
        ("Dask, 2 workers", dask, 2),
    ):  # fmt: skip
        with maker(count) as executor:
            taken, found = seconds_of(f, executor)
        assert expected is None or found == expected
        expected, base = found, base or taken
        print(f"{name:16} {taken:7.3f} s  {base / taken:5.2f} times as fast as this process")


if __name__ == "__main__":
    main()
