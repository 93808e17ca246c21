"""Speed of a GPU: the same programs in memory, on the GPU row by row, and there with compiled kernels; compared with
JAX and PyTorch if they are installed and find the GPU: `python benchmarks/gpu.py [scale] [--write] [--batches]`.

Each is called once, its result compared with the first one's, then timed: the minimum of several runs, each of which ends with a
real, which synchronises with the GPU. Needs CuPy and a GPU. A scale below 1 makes all operands smaller.
A second table has `vmap`: the programs of benchmarks/batch.py, with the sum of the magnitudes of all answers as the result.
`--batches` computes that one only; `--write` also stores the tables in benchmarks/GPU.md.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "peers")]

from batch_data import operands as batch_operands  # noqa: E402
from batch_functions import of_jax, of_torch  # noqa: E402

from vlad import Session  # noqa: E402
from vlad.data.devices import device_named  # noqa: E402

SETUP = """
(define (layer w x) (tanh (matmul x w)))
(define (loss ws x) (mean (square (layer (cdr ws) (layer (car ws) x)))))
(define (step ws x) (v- ws (k*v 0.01 ((gradient-R (lambda (ws) (loss ws x))) ws))))
"""
# A program of arrays of these shapes, and the same in Python over `xp`, jax.numpy or torch; `grad` is that of the first operand.
PROGRAMS: dict[str, tuple[str, str, list[tuple[int, ...]]]] = {
    "entries": (
        "(lambda (x) (sum (* (exp (- (* x x))) (sin x))))",
        "lambda xp, grad: lambda x: (xp.exp(-(x * x)) * xp.sin(x)).sum()", [(20_000_000,)],
    ),
    "softmax": (
        "(lambda (x) (sum (square (softmax x))))",
        "lambda xp, grad: lambda x: (softmax(xp, x) ** 2).sum()", [(20_000, 1000)],
    ),
    "columns": (
        "(lambda (x) (maximum (sum (* x x) #:axis 0)))",
        "lambda xp, grad: lambda x: (x * x).sum(0).max()", [(100_000, 200)],
    ),
    "gradient": (
        "(lambda (x y) (norm ((gradient (lambda (x) (mean (- (softplus x) (* x y))))) x)))",
        "lambda xp, grad: lambda x, y: (grad(lambda x: (xp.logaddexp(x, 0 * x) - x * y).mean())(x) ** 2).sum() ** 0.5",
        [(10_000_000,), (10_000_000,)],
    ),
    "product": (
        "(lambda (a b) (sum (matmul a b)))", "lambda xp, grad: lambda a, b: (a @ b).sum()", [(4096, 4096), (4096, 4096)],
    ),
    "learning": (
        "(lambda (v w x) (loss (let loop ((ws (cons v w)) (n 10)) (if (= n 0) ws (loop (step ws x) (- n 1)))) x))",
        "lambda xp, grad: lambda v, w, x: learned(xp, grad, v, w, x)", [(2048, 2048), (2048, 2048), (256, 2048)],
    ),
}  # fmt: skip
BATCHES = {  # calls of procedures of programs/batch.vlad, and what their rows are
    "rosenbrock": ("rosenbrock-gradients x", "gradient of Rosenbrock's function of 8, 10^5 rows"),
    "options": ("options s v k t", "price of an option with three second derivatives, 10^6"),
    "roots": ("roots m e", "root by Newton's method with implicit derivative, 10^5"),
    "pendulums": ("pendulums k d start target", "gradient of a pendulum's misfit after 1000 steps, 10^4"),
}
CHECKSUM = """
(define (checksum y)
  (cond ((tensor? y) (sum (abs y))) ((pair? y) (+ (checksum (car y)) (checksum (cdr y)))) (else 0)))
"""
RUNS = 5


def softmax(xp: Any, x: Any) -> Any:
    powers = xp.exp(x - (xp.amax(x, 1)[:, None]))
    return powers / powers.sum(1)[:, None]


def learned(xp: Any, grad: Any, v: Any, w: Any, x: Any) -> Any:
    def loss(v: Any, w: Any) -> Any:
        return (xp.tanh(xp.tanh(x @ v) @ w) ** 2).mean()

    for _ in range(10):
        v, w = (
            v - 0.01 * grad(lambda one, w=w: loss(one, w))(v),
            w - 0.01 * grad(lambda one, v=v: loss(v, one))(w),
        )
    return loss(v, w)


def kept(held: dict[int, Any], array: Any, copied: Callable[[Any], Any]) -> Any:
    """The copy of an operand on the device, which is made for the first call."""
    if id(array) not in held:
        held[id(array)] = copied(array)
    return held[id(array)]


def ours(device: str, tier: str) -> Callable[[str], Callable[..., float]]:
    session, there = Session(device=device, tier=tier), device_named(device)
    session.eval(SETUP)

    def made(name: str) -> Callable[..., float]:
        f = session.eval(PROGRAMS[name][0])
        held: dict[int, Any] = {}

        def call(*arrays: Any) -> float:
            return float(f(*[kept(held, array, there.asarray) for array in arrays]))

        return call

    return made


def jax() -> Callable[[str], Callable[..., float]]:
    """Raises ImportError, RuntimeError."""
    import jax

    jax.config.update("jax_enable_x64", True)
    if jax.default_backend() != "gpu":
        raise RuntimeError("it sees no GPU")

    def made(name: str) -> Callable[..., float]:
        f = jax.jit(eval(PROGRAMS[name][1])(jax.numpy, jax.grad))
        held: dict[int, Any] = {}
        return lambda *arrays: float(f(*[kept(held, array, jax.device_put) for array in arrays]))

    return made


def torch() -> Callable[[str], Callable[..., float]]:
    """Raises ImportError, RuntimeError."""
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("it sees no GPU")

    def made(name: str) -> Callable[..., float]:
        f = eval(PROGRAMS[name][1])(torch, torch.func.grad)
        held: dict[int, Any] = {}
        return lambda *arrays: float(
            f(*[kept(held, array, lambda x: torch.asarray(x, device="cuda")) for array in arrays])
        )

    return made


COLUMNS: dict[str, Callable[[], Callable[[str], Callable[..., float]]]] = {
    "cpu": lambda: ours("cpu", "compile"), "rows": lambda: ours("cuda", "evaluate"), "kernels": lambda: ours("cuda", "compile"),
    "JAX": jax, "torch": torch,
}  # fmt: skip


def our_batches(device: str) -> Callable[[str], Callable[..., float]]:
    session, there = Session(device=device, tier="compile"), device_named(device)
    session.run(HERE / "programs" / "batch.vlad")
    session.eval(CHECKSUM)

    def made(name: str) -> Callable[..., float]:
        call = BATCHES[name][0]
        f = session.eval(f"(lambda ({call.partition(' ')[2]}) (checksum ({call})))")
        held: dict[int, Any] = {}
        return lambda *arrays: float(f(*[kept(held, array, there.asarray) for array in arrays]))

    return made


def jax_batches() -> Callable[[str], Callable[..., float]]:
    """Raises ImportError, RuntimeError."""
    import jax

    jax.config.update("jax_enable_x64", True)
    if jax.default_backend() != "gpu":
        raise RuntimeError("it sees no GPU")
    functions = of_jax(jax)

    def made(name: str) -> Callable[..., float]:
        f = jax.jit(lambda *arrays: sum([abs(one).sum() for one in functions[name](*arrays)]))
        held: dict[int, Any] = {}
        return lambda *arrays: float(f(*[kept(held, array, jax.device_put) for array in arrays]))

    return made


def torch_batches() -> Callable[[str], Callable[..., float]]:
    """Raises ImportError, RuntimeError."""
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("it sees no GPU")
    functions = of_torch(torch)

    def made(name: str) -> Callable[..., float]:
        held: dict[int, Any] = {}

        def call(*arrays: Any) -> float:
            given = [kept(held, array, lambda x: torch.asarray(x, device="cuda")) for array in arrays]
            return float(sum([abs(one).sum() for one in functions[name](*given)]))

        return call

    return made


BATCH_COLUMNS: dict[str, Callable[[], Callable[[str], Callable[..., float]]]] = {
    "cpu": lambda: our_batches("cpu"), "kernels": lambda: our_batches("cuda"), "JAX": jax_batches, "torch": torch_batches,
}  # fmt: skip


def least(f: Callable[..., float], operands: list[Any]) -> float:
    """In milliseconds."""
    times = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        f(*operands)
        times.append(time.perf_counter() - begun)
    return 1000 * min(times)


def table(scale: float) -> list[str]:
    """Raises SystemExit if results differ."""
    random = np.random.default_rng(0)
    rows = {
        name: [random.random([max(2, int(length * scale ** (1 / len(s)))) for length in s]) for s in shapes]
        for name, (_, _, shapes) in PROGRAMS.items()
    }
    return measured(rows, COLUMNS, 1e-9)


def batches(scale: float) -> list[str]:
    """The table of `vmap`. Raises SystemExit if results differ."""
    given = {name: batch_operands(name) for name in BATCHES}
    rows = {
        name: [array[: max(2, int(len(array) * scale))].copy() for array in arrays]
        for name, arrays in given.items()
    }
    return measured(rows, BATCH_COLUMNS, 1e-7)


def measured(
    rows: dict[str, list[Any]],
    columns: dict[str, Callable[[], Callable[[str], Callable[..., float]]]],
    tolerance: float,
) -> list[str]:
    """The lines of a table; a row's name with its operands."""
    device_named("cuda")
    systems = {}
    for name, system in columns.items():
        try:
            systems[name] = system()
        except (ImportError, RuntimeError) as error:
            print(f"without {name}: {error}")
    lines = [f"| milliseconds | {' | '.join(systems)} |", "|---" * (len(systems) + 1) + "|"]
    for name, operands in rows.items():
        functions = [system(name) for system in systems.values()]
        results = [f(*operands) for f in functions]
        for system, result in zip(systems, results, strict=True):
            if not math.isclose(result, results[0], rel_tol=tolerance):
                raise SystemExit(f"{name}: {results[0]} on cpu, {result} by {system}")
        what = BATCHES[name][1] if name in BATCHES else name
        lines.append(f"| {what} | {' | '.join(f'{least(f, operands):.2f}' for f in functions)} |")
        print(lines[-1], flush=True)
    return lines


def versions() -> str:
    import cupy

    found = [cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(), f"CuPy {cupy.__version__}"]
    found += [f"{name} {sys.modules[name].__version__}" for name in ("jax", "torch") if name in sys.modules]
    return ", ".join(found)


def main(arguments: list[str]) -> None:
    scale = next((float(argument) for argument in arguments if not argument.startswith("--")), 1.0)
    tables = [] if "--batches" in arguments else ["\n".join(table(scale))]
    many = "\n".join(batches(scale))
    tables.append(
        f"Many at once: `vmap` on the GPU, one thread a row, beside the loop over rows on one core.\n\n{many}"
    )
    made = f"{versions()}. Made by `python benchmarks/gpu.py --write`."
    text = "\n\n".join(["# A GPU, measured", *tables, made]) + "\n"
    print(text)
    if "--write" in arguments:
        (HERE / "GPU.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
