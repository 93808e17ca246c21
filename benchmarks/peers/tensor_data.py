"""The workloads of benchmarks/tensors.py: their data, and a loop that times them on request.

A process has one system or several, and calls `serve` with a procedure from a workload's name and arrays to a
callable and its result as arrays. It reads a workload's name per line and replies to each with a line of JSON, so that
all systems can be timed in turns.
"""

import json
import math
import os
import signal
import sys
import time

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC"):
    os.environ[name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import numpy as np  # noqa: E402 (reads the number of threads when it is loaded)

FIRST_SECONDS = 90  # a first call that takes longer, compiling included, is given up
BATCH_SECONDS = 0.01
TURN_SECONDS = 0.15


def network(inputs, hidden, classes, batch):
    """Weights and biases of two layers, rows, and their classes as rows of 0 and 1."""
    waves = [np.sin(0.37 * np.arange(count)) for count in (inputs * hidden, hidden * classes, batch * inputs)]
    first, second = (
        0.1 * waves[0].reshape(inputs, hidden),
        0.1 * np.cos(waves[1] * 5).reshape(hidden, classes),
    )
    known = np.eye(classes)[np.arange(batch) % classes]
    return first, np.full(hidden, 0.01), second, np.zeros(classes), waves[2].reshape(batch, inputs), known


def waves(count):
    return np.sin(np.arange(count, dtype=float)), np.cos(np.arange(count, dtype=float))


def regression(rows, columns):
    x = np.sin(0.7 * np.arange(rows * columns)).reshape(rows, columns)
    return 0.1 * np.cos(np.arange(columns)), x, np.where(np.arange(rows) * 7 % 3 > 0, 1.0, -1.0)


def floats(data):
    """The same data as float32."""
    return lambda: tuple([array.astype(np.float32) for array in data()])


def system(rows):
    """A matrix that is far from singular, and a vector."""
    a, b = waves(rows * rows)
    return a.reshape(rows, rows) + 2 * np.sqrt(rows) * np.eye(rows), b[:rows]


# name: the procedure of programs/tensors.vlad, operands
WORKLOADS = {
    "sum of 3": ("total", lambda: (np.array([1.0, 2.0, 3.0]),)),
    "10 rotations": ("rotations", lambda: (0.1 * np.arange(1.0, 11.0), np.arange(9.0).reshape(3, 3))),
    "10 rotations, gradient": (
        "rotations-gradient",
        lambda: (0.1 * np.arange(1.0, 11.0), np.arange(9.0).reshape(3, 3)),
    ),
    "logsumexp 10^2": ("log-sum", lambda: waves(100)[:1]),
    "logsumexp 10^2, gradient": ("log-sum-gradient", lambda: waves(100)[:1]),
    "logsumexp 10^5": ("log-sum", lambda: waves(100000)[:1]),
    "logsumexp 10^5, gradient": ("log-sum-gradient", lambda: waves(100000)[:1]),
    "element-wise 10^2, gradient": ("ratios-gradient", lambda: waves(100)),
    "element-wise 10^5, gradient": ("ratios-gradient", lambda: waves(100000)),
    "logistic 1000 x 20, gradient": ("logistic-gradient", lambda: regression(1000, 20)),
    **{
        f"network {inputs}-{hidden}-10, {batch} rows, gradient": (
            "network-gradient",
            lambda inputs=inputs, hidden=hidden, batch=batch: network(inputs, hidden, 10, batch),
        )
        for inputs, hidden in ((64, 64), (784, 128))
        for batch in (1, 32, 256)
    },
    "solve 3 x 3, gradient": ("solve-gradient", lambda: system(3)),
    "solve 10 x 10, gradient": ("solve-gradient", lambda: system(10)),
    "solve 100 x 100, gradient": ("solve-gradient", lambda: system(100)),
    "Gaussian process of 50 points, gradient": (
        "process-gradient",
        lambda: (np.array([0.1, 0.2, -1.0]), 6 * np.abs(waves(50)[0]), waves(50)[1]),
    ),
    "Hessian-vector 10^2": ("hessian-times", lambda: waves(100)),
    "Hessian-vector 10^4": ("hessian-times", lambda: waves(10000)),
    "Hessian-vector 10^6": ("hessian-times", lambda: waves(1000000)),
    "logsumexp 10^5, float32": ("log-sum", floats(lambda: waves(100000)[:1])),
    "element-wise 10^5, gradient, float32": ("ratios-gradient", floats(lambda: waves(100000))),
    "network 784-128-10, 256 rows, gradient, float32": (
        "network-gradient",
        floats(lambda: network(784, 128, 10, 256)),
    ),
}


def flat(value):
    """All numbers of a result: an array, a number, or tuples and lists of them."""
    if isinstance(value, (tuple, list)):
        return np.concatenate([flat(part) for part in value] or [np.empty(0)])
    return np.ravel(np.asarray(value, dtype=float))


class TooLong(Exception):
    pass


def _give_up(*_):
    raise TooLong(f"more than {FIRST_SECONDS} s until the first result")


def serve(make, answer=lambda value: value):
    """`make(procedure, arrays)` returns a callable, or None if a system lacks the workload. With several systems there is one by
    name each, and a line has the name, a tab and the workload; they get the same arrays.
    """
    signal.signal(signal.SIGALRM, _give_up)
    makes = make if isinstance(make, dict) else {"": make}
    calls, arrays = {}, {}
    replies = sys.stdout
    sys.stdout = sys.stderr  # output of a system is no reply
    for line in sys.stdin:
        system, _, name = line.strip("\n").rpartition("\t")
        reply = {}
        if (system, name) not in calls:
            if name not in arrays:
                arrays[name] = WORKLOADS[name][1]()
            calls[system, name] = _first(makes[system], answer, name, arrays[name], reply)
        if calls[system, name] is not None:
            reply["seconds"] = least(calls[system, name])
        print(json.dumps(reply), file=replies, flush=True)


def _first(make, answer, name, arrays, reply):
    """The callable; its first result's checksum, or its error, goes into the reply."""
    procedure, _ = WORKLOADS[name]
    signal.alarm(FIRST_SECONDS)
    try:
        begun = time.perf_counter()
        call = make(procedure, arrays)
        if call is None:
            return None
        numbers = flat(answer(call()))
        reply["first"] = time.perf_counter() - begun
        reply["check"] = [float(numbers @ np.cos(np.arange(len(numbers)))), float(np.abs(numbers).sum())]
        return call
    except Exception as error:
        reply["error"] = f"{type(error).__name__}: {str(error).strip()[:200]}"
        return None
    finally:
        signal.alarm(0)


def least(call):
    """The minimal seconds of a call, over batches for a while."""
    count, best, end = 1, math.inf, time.perf_counter() + TURN_SECONDS
    while time.perf_counter() < end:
        begun = time.perf_counter()
        for _ in range(count):
            call()
        taken = time.perf_counter() - begun
        best = min(best, taken / count)
        count = min(4 * count, max(1, int(BATCH_SECONDS / best)))
    return best
