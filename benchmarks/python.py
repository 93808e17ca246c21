"""Plain Python functions under `vlad.function`, beside other systems and C:
`python benchmarks/python.py [--peers PYTHON] [--systems SYSTEM …] [--write] [ROW …]`.

The functions of peers/python_functions.py are run by Python itself, compiled by vlad, with their gradients, and, by the
interpreter PYTHON, which has their packages, in the systems of peers/python.py; c/python.c has some of them by hand. Each
result is compared: a wrong one ends the run. Times are the least of many batches in one run. `--write` writes PYTHON.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE / "peers")]

from python_functions import WORKLOADS, Workload, summed  # noqa: E402
from run import C_FLAGS, c_results, lines_of, processor, span, versions  # noqa: E402

PEERS = ("numba", "jax", "torch", "autograd")
SECONDS = 0.5  # of batches, for one time
BATCH = 0.01
NEAR = 1e-6  # relative, of a result and of Python's own
# Each with the ratio that it allows.
GOALS = {
    "a value in at most 1.2 times Numba's time": 1.2,
    "a gradient faster than each of JAX, PyTorch and autograd": 1.0,
    "a gradient in at most twice the time of C by hand": 2.0,
}
Times = dict[tuple[str, str], dict[str, Any]]  # by function and case: the line of another system

HEAD = """\
| function | Python | vlad | Numba | C | ratio to Numba | ratio to C |
|---|---|---|---|---|---|---|
"""
GRADIENT_HEAD = """\
| gradient | first | vlad | times the value | C | ratio to C | JAX | PyTorch | autograd | ratio to the best of the three |
|---|---|---|---|---|---|---|---|---|---|
"""


def least(call: Callable[[], Any]) -> float:
    """Seconds of one call: the least mean of many batches."""
    begun = time.perf_counter()
    call()
    count = max(1, int(BATCH / (time.perf_counter() - begun)))
    found, end = math.inf, time.perf_counter() + SECONDS
    while found == math.inf or time.perf_counter() < end:
        begun = time.perf_counter()
        for _ in range(count):
            call()
        found = min(found, (time.perf_counter() - begun) / count)
    return found


def same(where: str, found: float, expected: float) -> None:
    if not math.isclose(found, expected, rel_tol=NEAR, abs_tol=1e-12):
        raise SystemExit(f"{where}: WRONG: {found}, expected {expected}")


def measured(name: str) -> dict[str, Any]:
    """Python's time and vlad's, of a value and of its gradient; run in a process of its own."""
    import vlad

    w = next(one for one in WORKLOADS if one.f.__name__ == name)
    session = vlad.Session(tier="compile", optimize=3)
    f = session.function(w.f)
    slope = vlad.grad(f, argnums=tuple(w.by))
    value = summed(w.f(*w.arguments))
    same(f"vlad, {name}", summed(f(*w.arguments)), value)
    begun = time.perf_counter()
    gradient = summed(slope(*w.arguments))
    first = time.perf_counter() - begun
    check_gradient(w, slope(*w.arguments))
    vlad.compile(f, *w.arguments)(
        *w.arguments
    )  # waits for the optimising C compiler, and fails if the call is not compiled
    vlad.compile(slope, *w.arguments)(*w.arguments)
    return {
        "python": least(lambda: w.f(*w.arguments)),
        "value": least(lambda: f(*w.arguments)),
        "gradient": least(lambda: slope(*w.arguments)),
        "first": first,
        "checks": [value, gradient],
    }


def check_gradient(w: Workload, gradient: tuple[Any, ...]) -> None:
    """Compare a directional derivative with central differences of the function itself. Where it chooses its steps, or is steep,
    these allow no more than that they are near."""
    import numpy

    directions = [
        numpy.cos(3.0 * numpy.arange(1, numpy.size(w.arguments[i]) + 1)).reshape(numpy.shape(w.arguments[i]))
        for i in w.by
    ]
    exact = sum(float(numpy.sum(d * numpy.asarray(g))) for d, g in zip(directions, gradient, strict=True))

    def moved(step: float) -> float:
        arguments = list(w.arguments)
        for i, direction in zip(w.by, directions, strict=True):
            to = numpy.asarray(arguments[i]) + step * direction
            arguments[i] = to if isinstance(arguments[i], numpy.ndarray) else to.tolist()
        return float(w.f(*arguments))

    errors = []
    for step in (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9):
        differences = (moved(step) - moved(-step)) / (2 * step)
        errors.append(abs(differences - exact) / max(abs(exact), 1e-9))
    if min(errors) > 1e-3:
        raise SystemExit(
            f"gradient of {w.f.__name__}: {exact}, which differences confirm to {min(errors):.1g} only"
        )


def of_c() -> Times:
    """The times of C."""
    with tempfile.TemporaryDirectory() as folder:
        lines = c_results("python", C_FLAGS["strict"], folder)
    return {(line["w"], f"C {line['case']}"): line for line in lines}


def others(python: str | None, systems: Sequence[str], chosen: list[Workload]) -> Times:
    """The times of C and the other systems."""
    found = of_c()
    names = [w.f.__name__ for w in chosen]
    for peer in systems if python is not None else ():
        assert python is not None
        for line in lines_of([python, str(HERE / "peers" / "python.py"), peer, *names]):
            if "min" in line:
                found[line["w"], f"{peer} {line['case']}"] = line
    return found


def rows(
    chosen: list[Workload], python: str | None, systems: Sequence[str]
) -> tuple[list[str], list[str], str]:
    """The lines of both tables, and which goals are met. C runs before the others and after them: on a machine with other
    work the less disturbed time counts.
    """
    values, gradients = [], []
    goals: dict[str, list[tuple[str, float]]] = {one: [] for one in GOALS}
    found = others(python, systems, chosen)
    of_vlad: dict[str, Any] = {}
    for w in chosen:
        command = [sys.executable, str(HERE / "python.py"), "--row", w.f.__name__]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        of_vlad[w.f.__name__] = json.loads(done.stdout)
    for key, line in of_c().items():
        found[key] = min(found[key], line, key=lambda one: float(one["min"]))
    for w in chosen:
        name = w.f.__name__
        own = of_vlad[name]

        def of(case: str, peer: str, name: str = name, own: dict[str, Any] = own) -> float | None:
            line = found.get((name, f"{peer} {case}"))
            if line is None:
                return None
            same(f"{peer}, {case} of {name}", line["check"], own["checks"][case == "gradient"])
            return float(line["min"])

        value, gradient = own["value"], own["gradient"]
        numba, by_hand = of("value", "numba"), of("value", "C")
        cells = [
            w.name,
            span(own["python"]),
            span(value),
            shown(numba),
            shown(by_hand),
            ratio(value, numba),
            ratio(value, by_hand),
        ]
        values.append(f"| {' | '.join(cells)} |")
        by_hand = of("gradient", "C")
        peers = [of("gradient", peer) for peer in PEERS[1:]]
        best = min([one for one in peers if one is not None], default=None)
        cells = [
            w.name,
            span(own["first"]),
            span(gradient),
            f"{gradient / value:.1f}",
            shown(by_hand),
            ratio(gradient, by_hand),
        ]
        cells += [*map(shown, peers), ratio(gradient, best)]
        gradients.append(f"| {' | '.join(cells)} |")
        for goal, seconds, other in zip(
            GOALS, (value, gradient, gradient), (numba, best, by_hand), strict=True
        ):
            if other is not None:
                goals[goal].append((w.name, seconds / other))
        print(values[-1], gradients[-1], sep="\n", flush=True)
    return values, gradients, "\n".join([reached(goal, found) for goal, found in goals.items()])


def reached(goal: str, found: list[tuple[str, float]]) -> str:
    """A line on a goal. `found`: the names of rows, and their ratios."""
    missed = [f"{name} ({quotient:.2g})" for name, quotient in found if quotient > GOALS[goal]]
    line = f"- {goal}: {len(found) - len(missed)} of {len(found)} rows"
    return line + (f"; not {', '.join(missed)}" if missed else "")


def not_run(systems: Sequence[str]) -> str:
    missing = [one for one in PEERS if one not in systems]
    return f" This run was without {' and '.join(missing)}." if missing else ""


def shown(seconds: float | None) -> str:
    return "" if seconds is None else span(seconds)


def ratio(seconds: float, other: float | None) -> str:
    return "" if other is None else f"{seconds / other:.2g}"


def main(words: list[str]) -> None:
    os.environ["VLAD_CACHE"] = "off"  # the first call must be cold
    if words[:1] == ["--row"]:
        print(json.dumps(measured(words[1])))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", metavar="PYTHON")
    parser.add_argument("--systems", nargs="+", choices=PEERS, default=PEERS, help="those that are run")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="names of functions")
    options = parser.parse_args(words)
    chosen = [w for w in WORKLOADS if not options.rows or w.f.__name__ in options.rows]
    values, gradients, goals = rows(chosen, options.peers, options.systems)
    print(goals)
    if options.write:
        text = f"""# Python functions

Made by `benchmarks/python.py` on {time.strftime("%d %B %Y")}: Python {platform.python_version()}, {os.cpu_count()} cores,
{processor()}
{versions(options.peers, PEERS).removeprefix(", ")}.

Plain functions of Python, the text of which is `benchmarks/peers/python_functions.py`, as they are: under `vlad.function`,
in Python itself, and, values only, in Numba. In PyTorch (eager) and autograd the same text runs with their functions in place of
those of `math` and NumPy. In JAX (jit) they are rewritten with `scan` and `while_loop`; where that has a number of turns that
depends on data (pendulum, escape times, bisection), the gradient is in forward mode. C is by hand, with `gcc -O3 -march=native`,
where it is. All but C are called from Python. `first` is the time of the first gradient, without cache. Results are compared
before they are taken.{not_run(options.systems)}

{HEAD}{chr(10).join(values)}

{GRADIENT_HEAD}{chr(10).join(gradients)}

The goals, and the rows that reach them:

{goals}
"""
        (HERE / "PYTHON.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
