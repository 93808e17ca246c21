"""Many at once: `vmap` beside other systems and C: `python benchmarks/batch.py [--peers PYTHON] [--write] [ROW …]`.

The programs of programs/batch.vlad are compared with c/batch.c, and, by the interpreter PYTHON, which has their packages, with
the systems of peers/batch.py, on the operands of peers/batch_data.py. All is called from Python. Each result is compared: a wrong
one ends the run. Times are the least of many calls in one run, with one thread, and those of vlad and C with two, too: the
efficiency is that of the second core. `--write` writes BATCH.md.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE / "peers")]

from batch_data import NAMES, operands  # noqa: E402
from run import C_FLAGS, lines_of, processor, span, versions  # noqa: E402

WHAT = {
    "rosenbrock": "gradient of Rosenbrock's function of 8, 10^5 rows",
    "options": "price of an option with three second derivatives, 10^6",
    "roots": "root by Newton's method with implicit derivative, 10^5",
    "pendulums": "gradient of a pendulum's misfit after 1000 steps, 10^4",
    "network": "gradients of samples, network 784-128-10, 256",
    "saddles": "saddle point by descent within descent, 10^4 starts",
}
PROGRAMS = {
    "rosenbrock": "rosenbrock-gradients", "options": "options", "roots": "roots", "pendulums": "pendulums",
    "network": "sample-gradients", "saddles": "saddles",
}  # fmt: skip
PEERS = ("jax", "torch", "numba", "numpy")
SECONDS = 1.0  # of calls, for one time
NEAR = 1e-7
THREADS = 2
COLUMNS = [
    "batch",
    "first",
    "vlad",
    "C",
    "ratio to C",
    *PEERS,
    "vlad, 2 threads",
    "C, 2",
    "ratio to C",
    "efficiency, of C",
]
HEAD = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"


def least(call: Callable[[], Any]) -> float:
    """Seconds of one call: the least of many."""
    found, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        begun = time.perf_counter()
        call()
        found = min(found, time.perf_counter() - begun)
    return found


def in_c(folder: str) -> Any:
    """The library of c/batch.c."""
    path = os.path.join(folder, "batch.so")
    command = [
        "gcc",
        *C_FLAGS["strict"],
        "-fopenmp",
        "-shared",
        "-fPIC",
        str(HERE / "c" / "batch.c"),
        "-o",
        path,
        "-lm",
    ]
    subprocess.run(command, check=True)
    return ctypes.CDLL(path)


def c_call(library: Any, name: str, arrays: list[Any], like: list[Any]) -> Callable[[], list[Any]]:
    """A call of a function in C, which makes new arrays as the others do."""
    import numpy

    function = getattr(library, name)
    rows = ctypes.c_long(len(arrays[-1]))

    def call() -> list[Any]:
        results = [numpy.empty(one.shape) for one in like]
        function(rows, *[ctypes.c_void_p(one.ctypes.data) for one in (*arrays, *results)])
        return results

    return call


def flat(result: Any) -> list[Any]:
    """The arrays in a result."""
    return [leaf for part in result for leaf in flat(part)] if isinstance(result, list | tuple) else [result]


def compare(where: str, found: list[Any], expected: list[Any]) -> None:
    import numpy

    for one, other in zip(found, expected, strict=True):
        scale = float(numpy.max(numpy.abs(other)))
        if one.shape != other.shape or not numpy.allclose(one, other, rtol=NEAR, atol=NEAR * scale):
            raise SystemExit(f"{where}: WRONG")


def measured(name: str, threads: int) -> dict[str, float]:
    """The times of vlad and C; run in a process of its own."""
    import vlad

    arrays = operands(name)
    session = vlad.Session(tier="compile", optimize=3, threads=threads)
    session.run(HERE / "programs" / "batch.vlad")
    f = session[PROGRAMS[name]]
    begun = time.perf_counter()
    f(*arrays)
    first = time.perf_counter() - begun
    f = vlad.compile(f, *arrays)  # waits for the optimising C compiler, and fails if the call is not compiled
    expected = flat(f(*arrays))
    with tempfile.TemporaryDirectory() as folder:
        by_hand = c_call(in_c(folder), name, arrays, expected)
        compare(f"C, {name}", by_hand(), expected)
        return {
            "first": first,
            "vlad": least(lambda: f(*arrays)),
            "C": least(by_hand),
            "check": checksum(expected),
        }


def checksum(results: list[Any]) -> float:
    return float(sum(abs(one).sum() for one in results))


def row(name: str, peers: dict[tuple[str, str], dict[str, Any]]) -> str:
    own, both = of_threads(name, 1), of_threads(name, THREADS)
    for peer in PEERS:
        if (name, peer) in peers and not math.isclose(peers[name, peer]["check"], own["check"], rel_tol=NEAR):
            raise SystemExit(f"{peer}, {name}: WRONG")
    others = [span(peers[name, peer]["min"]) if (name, peer) in peers else "" for peer in PEERS]
    cells = [
        WHAT[name],
        span(own["first"]),
        span(own["vlad"]),
        span(own["C"]),
        f"{own['vlad'] / own['C']:.2f}",
        *others,
        span(both["vlad"]),
        span(both["C"]),
        f"{both['vlad'] / both['C']:.2f}",
        ", ".join([f"{own[one] / both[one] - 1:.2f}" for one in ("vlad", "C")]),
    ]
    return f"| {' | '.join(cells)} |"


def of_threads(name: str, threads: int) -> dict[str, float]:
    command = [sys.executable, str(HERE / "batch.py"), "--row", name, str(threads)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main(words: list[str]) -> None:
    if words[:1] == ["--row"]:
        print(json.dumps(measured(words[1], int(words[2]))))
        return
    os.environ |= {
        "VLAD_CACHE": "off",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", metavar="PYTHON")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("rows", nargs="*", metavar="ROW", choices=[[], *NAMES])
    options = parser.parse_args(words)
    chosen = options.rows or list(NAMES)
    peers: dict[tuple[str, str], dict[str, Any]] = {}
    for peer in PEERS if options.peers else ():
        for line in lines_of([options.peers, str(HERE / "peers" / "batch.py"), peer, *chosen]):
            if "min" in line:
                peers[line["w"], peer] = line
    lines = []
    for name in chosen:
        lines.append(row(name, peers))
        print(lines[-1], flush=True)
    if options.write:
        text = f"""# Many at once

Made by `benchmarks/batch.py` on {time.strftime("%d %B %Y")}: Python {platform.python_version()},
{processor()}
{versions(options.peers, PEERS).removeprefix(", ")}.

The programs of `benchmarks/programs/batch.vlad`, compiled, beside C by hand with `gcc -O3 -march=native` and other systems, all
called from Python, with one thread; vlad, and C with OpenMP, with two as well. The efficiency is what the second core adds: 1 for
twice the speed. `first` is the time of the first call, without cache. Results are compared before that.

{HEAD}{chr(10).join(lines)}
"""
        (HERE / "BATCH.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
