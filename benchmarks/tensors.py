"""Tensors compared with handwritten C, NumPy, JAX and PyTorch, in one run: `python benchmarks/tensors.py [--peers PYTHON]
[WORKLOAD ...]`.

Systems are timed in turns: a few batches of each, then the next, several times over, with one thread. The minimum counts,
as only ratios within one run are reliable on a shared machine. The placement of arrays in memory makes up to a sixth, and varies
by process: compiled code and handwritten C get the same arrays in one process, the others have one each, and all processes are
new in each of several passes.
The results are compared; a wrong one is not timed. Writes TENSORS.md. Needs gcc; JAX and PyTorch if PYTHON has these.
"""

from __future__ import annotations

import contextlib
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
from typing import Any, TypeAlias

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE / "peers")]

from run import processor, span, versions  # noqa: E402
from tensor_data import WORKLOADS, serve  # noqa: E402

PASSES, ROUNDS = 3, 3
OWN = ("tier 0", "tier 1", "fast math")
C_FLAGS = {
    "C": ["-O3", "-fopenmp-simd", "-fno-math-errno"],
    "C fast": ["-Ofast", "-fopenmp-simd"],
}
OTHERS = ("numpy", "jax", "torch", "torch-compile")
DECLARATIONS = """
    void use_dgemm(void *); double total(void *, long); double log_sum(void *, long);
    void log_sum_gradient(void *, long, void *); void ratios_gradient(void *, void *, long, void *);
    void logistic_gradient(void *, void *, void *, long, long, void *);
    void network_gradient(void *, void *, void *, void *, void *, void *, long, long, long, long, void *, void *, void *, void *);
    void hessian_times(void *, void *, long, void *); double rotations(void *, void *);
    void rotations_gradient(void *, void *, void *);
"""

HEAD = f"""\
| workload | {" | ".join(OWN)} | to hand-written | fast to it | to JAX, torch | {" | ".join([*C_FLAGS, *OTHERS])} | first |
|---{"|---" * (4 + len(OWN) + len(C_FLAGS) + len(OTHERS))}|
"""


Make: TypeAlias = "Callable[[str, tuple[Any, ...]], Callable[[], Any] | None]"


def own(tier: str) -> Make:
    """vlad, called from Python with NumPy arrays, which the results are, too."""
    from vlad import Session

    def make(procedure: str, arrays: tuple[Any, ...]) -> Callable[[], Any]:
        session = Session(
            tier="evaluate" if tier == "tier 0" else "compile", optimize=3, fast_math=tier == "fast math"
        )
        session.run(str(HERE / "programs" / "tensors.vlad"))
        f = session[procedure]
        f(*arrays)
        if tier != "tier 0" and not session.tiers.entries[id(f.value)].variants:
            raise SystemError(session.tiers.entries[id(f.value)].reason)
        return lambda: f(*arrays)

    return make


def by_hand(path: str) -> Make:
    """The library of c/tensors.c, called through cffi; its results are in the same arrays each time."""
    import numpy
    from cffi import FFI

    from vlad.compile.native.blas import product

    ffi = FFI()
    ffi.cdef(DECLARATIONS)
    library = ffi.dlopen(path)
    library.use_dgemm(ffi.cast("void *", product().address))

    def make(procedure: str, arrays: tuple[Any, ...]) -> Callable[[], Any] | None:
        f = getattr(library, procedure.replace("-", "_"), None)
        if f is None or arrays[0].dtype != float:
            return None
        given = [ffi.from_buffer(array) for array in arrays]
        lengths: tuple[int, ...] = (arrays[0].size,)
        results = [numpy.empty_like(arrays[0])]
        match procedure:
            case "total" | "log-sum":
                return lambda: f(given[0], lengths[0])
            case "rotations":
                return lambda: f(*given)
            case "rotations-gradient":
                lengths = ()
            case "logistic-gradient":
                lengths = arrays[1].shape
            case "network-gradient":
                lengths = (*arrays[0].shape, arrays[2].shape[1], len(arrays[4]))
                results = [numpy.empty_like(array) for array in arrays[:4]]
        operands = (*given, *lengths, *[ffi.from_buffer(result, require_writable=True) for result in results])

        def call() -> Any:
            f(*operands)
            return results

        return call

    return make


def started(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


class System:
    """One of the systems that a process times on request; the name is empty if it is the only one."""

    def __init__(self, process: subprocess.Popen[str], name: str = "") -> None:
        self.process, self.name = process, name

    def ask(self, workload: str) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, which an empty line shows
            print(f"{self.name}\t{workload}", file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(
                f"{self.process.args!r} ended at {self.name} {workload}; has it the packages that it needs?"
            )
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.communicate()


def systems(folder: str, python: str | None) -> dict[str, System]:
    this = [sys.executable, str(HERE / "tensors.py")]
    paths = []
    for kind, flags in C_FLAGS.items():
        paths.append(os.path.join(folder, f"{kind.replace(' ', '-')}.so"))
        command = ["gcc", *flags, "-march=native", "-shared", "-fPIC", "-o", paths[-1]]
        subprocess.run([*command, str(HERE / "c" / "tensors.c"), "-lm"], check=True)
    together = started([*this, "--together", *paths])
    found = {"tier 0": System(started([*this, "--own", "tier 0"]))}
    found |= {name: System(together, name) for name in (*OWN[1:], *C_FLAGS)}
    for other in OTHERS if python is not None else ("numpy",):
        found[other] = System(started([python or sys.executable, str(HERE / "peers" / "tensors.py"), other]))
    return found


def measured(workload: str, asked: dict[str, System], found: dict[str, dict[str, Any]]) -> None:
    """Merge into earlier results, by system: its minimal time, its first one, or its error. All must return the result of
    tier 0.
    """
    for _ in range(ROUNDS):
        for name, system in asked.items():
            reply = system.ask(workload)
            known = found.setdefault(name, reply)
            if "seconds" in reply:
                known["seconds"] = min(known["seconds"], reply["seconds"])
    expected, size = found["tier 0"]["check"]
    tolerance = 1e-5 if "float32" in workload else 1e-8
    for name, reply in found.items():
        if "check" in reply and not math.isclose(
            reply["check"][0], expected, rel_tol=tolerance, abs_tol=tolerance * size
        ):
            raise SystemExit(f"{workload}: WRONG: {name} has {reply['check']}, tier 0 {expected, size}")


def line(workload: str, found: dict[str, dict[str, Any]]) -> str:
    """The ratios are to the fastest handwritten code, and to the fastest system with automatic differentiation."""
    times = {
        name: reply["seconds"] for name, reply in found.items() if name not in OWN and "seconds" in reply
    }
    cells = [workload, *[cell(found[tier]) for tier in OWN]]
    by_hand = (*C_FLAGS, "numpy")
    for tier, names in (("tier 1", by_hand), ("fast math", by_hand), ("tier 1", OTHERS[1:])):
        ours = found[tier].get("seconds")
        best = min([times[name] for name in names if name in times], default=None)
        cells += [f"{ours / best:.2f}" if best and ours else ""]
    cells += [cell(found[name]) if name in found else "" for name in (*C_FLAGS, *OTHERS)]
    first = found["tier 1"].get("first")
    return f"| {' | '.join([*cells, span(first) if first else ''])} |"


def cell(reply: dict[str, Any]) -> str:
    return span(reply["seconds"]) if "seconds" in reply else "refused" if "error" in reply else ""


def main(words: list[str]) -> None:
    match words:
        case ["--own", tier]:
            return serve(own(tier))
        case ["--together", *paths]:
            compiled = {tier: own(tier) for tier in OWN[1:]}
            return serve(compiled | dict(zip(C_FLAGS, map(by_hand, paths), strict=True)))
        case ["--peers", path, *rest]:
            python, words = path, rest
        case _:
            python = None
    os.environ["VLAD_CACHE"] = "off"  # the first call must be cold
    chosen = [name for name in WORKLOADS if not words or any(word in name for word in words)]
    found: dict[str, dict[str, dict[str, Any]]] = {workload: {} for workload in chosen}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(PASSES):
            asked = systems(folder, python)
            for workload in chosen:
                measured(workload, asked, found[workload])
            for system in asked.values():
                system.close()
    lines = [line(workload, replies) for workload, replies in found.items()]
    errors = [
        f"- {workload}, {name}: {reply['error']}"
        for workload, replies in found.items()
        for name, reply in replies.items()
        if "error" in reply
    ]
    print(HEAD, "\n".join([*lines, *errors]), sep="")
    if not words:
        write(lines, errors, python)


def write(lines: list[str], errors: list[str], python: str | None) -> None:
    from vlad import __version__
    from vlad.compile.native.blas import product

    refused = "".join(f"{error}\n" for error in errors)
    settings = [
        f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("OPENBLAS_")
    ]
    text = f"""# Results for tensors

Made by `benchmarks/tensors.py` on {time.strftime("%d %B %Y")}: vlad {__version__}, Python {platform.python_version()},
{os.cpu_count()} cores, {processor()}{versions(python, ("jax", "torch"))}.

All rows are computed in float64, except those marked float32, and every system has one thread (OMP_NUM_THREADS,
OPENBLAS_NUM_THREADS, XLA_FLAGS, torch.set_num_threads). In the environment: {", ".join(settings)}.

vlad is called from Python with NumPy arrays and returns NumPy arrays. Handwritten C (-O3, and -Ofast; -march=native, both with
`omp simd`) is called through cffi, with existing addresses and result arrays; both use the matrix products of one library
({product().library}), which is not NumPy's if it is MKL (`pip install mkl`).
These run in one process with the same arrays, {PASSES} times; each of the others has a separate process.
JAX (jit) and PyTorch (eager, and torch.compile of torch.func) get their own arrays.
`fast math` is tier 1 with `--fast-math`, which permits reordering sums, fusing them with products, and multiplying by a
reciprocal, as -Ofast does. Without it every operation is rounded as on tier 0.
The ratios are tier 1's time to the fastest handwritten code, with derivatives found on paper (C, C fast, NumPy), and to the
fastest system with automatic differentiation. First: from the procedure to its first result on tier 1, without cache.

{HEAD}{chr(10).join(lines)}

{refused}
DISTANCES.md explains the remaining differences.
"""
    (HERE / "TENSORS.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
