"""vlad as a tool of GradBench, which drives it by JSON messages, a line each, on standard input and output.

    gradbench run --eval "…" --tool "python benchmarks/gradbench/tool.py"

Each module of GradBench is a program of the folder programs/, whose procedures are called with arrays. GradBench's
CONTRIBUTING.md describes the protocol. Timings are of the calls alone: arrays are made before them, lists for JSON after them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

import vlad  # noqa: E402

Arguments = tuple[Any, ...]


def floats(data: Any) -> Any:
    return np.array(data, float)


class Module:
    """A program, and how inputs become the arguments of its procedures and results become outputs."""

    def __init__(
        self, prepare: Callable[[Any], Arguments], outputs: dict[str, tuple[str, Callable[[Any], Any]]]
    ) -> None:
        self.prepare, self.outputs = prepare, outputs


def plain(result: Any) -> Any:
    """A number, a list of numbers, or nested lists, as JSON has them."""
    return result.tolist() if isinstance(result, np.ndarray) else result


def bundle_input(given: Any) -> Arguments:
    """GradBench states one camera, point, weight and feature, and how many there are of each."""
    n, m, p = given["n"], given["m"], given["p"]
    return (
        np.tile(floats(given["cam"]), (n, 1)),
        np.tile(floats(given["x"]), (m, 1)),
        np.full(p, float(given["w"])),
        np.arange(p) % n,
        np.arange(p) % m,
        np.tile(floats(given["feat"]), (p, 1)),
    )


SHOWN = 30  # of each list of a sparse matrix, besides its last


def bundle_errors(result: Any) -> Any:
    reprojection, weight = result
    return {
        "reproj_error": {"elements": plain(reprojection[0]), "repeated": len(reprojection)},
        "w_err": {"element": float(weight[0]), "repeated": len(weight)},
    }


def sparse(result: Any) -> Any:
    rows, columns, values = result

    def shown(array: Any) -> list[Any]:
        return [*array[:SHOWN].tolist(), array[-1].item()]

    return {"rows": shown(rows.astype(int)), "cols": shown(columns.astype(int)), "vals": shown(values)}


def mixture_input(given: Any) -> Arguments:
    d, k = given["d"], given["k"]
    return (
        floats(given["x"]),
        float(given["m"]),
        float(given["gamma"]),
        floats(given["alpha"]),
        floats(given["mu"]),
        floats(given["q"]),
        floats(given["l"]).reshape(k, d * (d - 1) // 2),
    )


def hand_input(given: Any) -> Arguments:
    model, data = given["data"]["model"], given["data"]
    return (
        floats(given["theta"]),
        floats(given["us"]).reshape(-1, 2),
        np.array(model["parents"]),
        floats(model["base_relatives"]),
        floats(model["inverse_base_absolutes"]),
        floats(model["base_positions"]),
        floats(model["weights"]),
        np.array(model["triangles"]),
        np.array(data["correspondences"]),
        floats(data["points"]),
    )


def flattened(result: Any) -> Any:
    return [entry for array in result for entry in array.ravel().tolist()]


def by_modes(prepare: Callable[[Any], Arguments]) -> Module:
    return Module(prepare, {mode: (mode, plain) for mode in ("ff", "fr", "rf", "rr")})


def value_and_gradient(prepare: Callable[[Any], Arguments]) -> Module:
    return Module(prepare, {"primal": ("primal", plain), "gradient": ("gradient-of-primal", plain)})


MODULES = {
    "hello": Module(lambda x: (float(x),), {"square": ("square", plain), "double": ("double", plain)}),
    "lse": value_and_gradient(lambda given: (floats(given["x"]),)),
    "llsq": value_and_gradient(lambda given: (floats(given["x"]), given["n"])),
    "ode": value_and_gradient(lambda given: (floats(given["x"]), given["s"])),
    "det": Module(
        lambda given: (floats(given["A"]).reshape(given["ell"], given["ell"]),),
        {"primal": ("primal", plain), "gradient": ("gradient-of-primal", flattened)},
    ),
    "kmeans": Module(
        lambda given: (floats(given["points"]), floats(given["centroids"])),
        {"cost": ("cost", plain), "dir": ("direction", plain)},
    ),
    "gmm": Module(
        mixture_input,
        {
            "objective": ("objective", plain),
            "jacobian": (
                "gradient-of-objective",
                lambda result: dict(zip(("alpha", "mu", "q", "l"), map(plain, result), strict=True)),
            ),
        },
    ),
    "lstm": Module(
        lambda given: tuple(
            floats(given[name]) for name in ("main_params", "extra_params", "state", "sequence")
        ),
        {"objective": ("objective", plain), "jacobian": ("gradient-of-objective", flattened)},
    ),
    "ba": Module(
        bundle_input, {"objective": ("objective", bundle_errors), "jacobian": ("sparse-jacobian", sparse)}
    ),
    "ht": Module(
        hand_input, {"objective": ("objective", plain), "jacobian": ("jacobian-of-objective", plain)}
    ),
    "saddle": by_modes(lambda given: ([float(x) for x in given["start"]],)),
    "particle": by_modes(lambda given: (float(given["w"]),)),
}


class Tool:
    """Responses to messages. A module that is defined has a session; first calls, which compile, are timed as such."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.sessions: dict[str, vlad.Session] = {}

    def respond(self, message: Any) -> dict[str, Any]:
        match message["kind"]:
            case "start":
                return {"tool": "vlad"}
            case "define":
                return self.define(message["module"])
            case "evaluate":
                return self.evaluate(message["module"], message["function"], message["input"])
            case _:
                return {}

    def define(self, module: str) -> dict[str, Any]:
        if module not in MODULES:
            return {"success": False, "error": f"no program for {module}"}
        self.sessions[module] = vlad.Session(**self.options)
        self.sessions[module].run(str(HERE / "programs" / f"{module}.vlad"))
        return {"success": True}

    def evaluate(self, name: str, function: str, given: Any) -> dict[str, Any]:
        if name not in self.sessions:
            return {"success": False, "error": f"{name} is not defined"}
        module, session = MODULES[name], self.sessions[name]
        procedure, output = module.outputs[function]
        repeated = isinstance(given, dict)
        least, seconds = (given.get("min_runs", 1), given.get("min_seconds", 0)) if repeated else (1, 0)
        begun = time.perf_counter_ns()
        arguments = module.prepare(given)
        prepared = time.perf_counter_ns()
        f = session[procedure]
        f(*arguments)
        timings = [
            {"name": "prepare", "nanoseconds": prepared - begun},
            {"name": "first call", "nanoseconds": time.perf_counter_ns() - prepared},
        ]
        result, elapsed, runs = None, 0, 0
        while runs < least or elapsed < seconds * 1e9:
            before = time.perf_counter_ns()
            result = f(*arguments)
            taken = time.perf_counter_ns() - before
            timings.append({"name": "evaluate", "nanoseconds": taken})
            elapsed, runs = elapsed + taken, runs + 1
        return {"success": True, "output": output(result), "timings": timings}


def messages(file: TextIO) -> Iterator[Any]:
    for line in file:
        yield json.loads(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--multithreaded", action="store_true", help="use all cores")
    options = parser.parse_args()
    tool = Tool({"tier": "compile", "threads": None if options.multithreaded else 1})
    for message in messages(sys.stdin):
        try:
            response = tool.respond(message)
        except vlad.VladError as error:
            response = {"success": False, "error": str(error)}
        print(json.dumps({"id": message["id"], **response}), flush=True)


if __name__ == "__main__":
    main()
