"""vlad compared with handwritten C and other systems, in one run: `python benchmarks/run.py [--peers PYTHON] [WORKLOAD ...]`.

Each program of programs/ runs in a process of its own: compiled, called once, and then in batches; once on tier 0, too. The C
programs of c/ do the same work and time themselves; so do the programs of peers/ in JAX, PyTorch, HIPS autograd and CasADi,
if PYTHON has these (peers/requirements.txt). The results are compared first: a wrong one is not timed. Times are the minimum
of many batches, as only ratios within one run are reliable on a shared machine. Writes RESULTS.md. Needs gcc.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from vlad import Session, __version__  # noqa: E402
from vlad.compile.calling.compilation import compile_call  # noqa: E402
from vlad.compile.native.abi import ffi  # noqa: E402
from vlad.data.errors import LimitExceeded  # noqa: E402
from vlad.evaluate.limits import Limits  # noqa: E402
from vlad.python.convert import from_python  # noqa: E402

C_FLAGS = {"same": ["-O3", "-ffp-contract=off"], "strict": ["-O3"], "fast": ["-Ofast"]}
PEERS = ("jax", "casadi", "autograd", "torch")
CHECKED = ("saddle", "particle", "languages", "backprop", "probabilistic", "checkpoint")
# Of programs built alone with --native. This one adds 1000 squares in each of thousands of steps.
TOLERANCES = {"checkpoint": 1e-6}
TIER_0_SECONDS = 20  # a call that takes longer on tier 0 is not waited for

# name, file of programs/, procedure, operands, C program, there the workload and case, the workload of peers/
Row = tuple[str, str, str, tuple[Any, ...], str, str, str, str]
SINES, COSINES = [math.sin(i) for i in range(100)], [math.cos(i) for i in range(100)]
WORKLOADS: list[Row] = [
    *[(f"particle {m}", "particle", f"run-{m}", (0,), "particle", f"W1-{'RR' if m == 'RR' else 'FF'}",
       "hand-R" if m == "RR" else "hand-F", "W1-FF" if m[0] == "F" else "W1-RR") for m in ("FF", "FR", "RF", "RR")],
    *[(f"saddle {m}", "saddle", f"run-{m}", (1,), "saddle", "W2-FF", "hand", "W2-FF" if m[0] == "F" else "W2-RR")
      for m in ("FF", "FR", "RF", "RR")],
    ("backprop", "backprop", "run-R", (1e5,), "backprop", "W3", "scalar", "W3"),
    *[(f"probabilistic {m}", "probabilistic", f"run-{m}", (0.5, 0.5), "probabilistic", "W4", "normal", "W4") for m in "FR"],
    ("sin cos x, from Python", "scalar", "slope", (0.8,), "", "", "", "W5"),
    ("power 1000, forward", "scalar", "power-F", (1.001, 1000), "scalar", "W6-1000", "forward", "W6-1000"),
    ("power 1000, reverse", "scalar", "power-R", (1.001, 1000), "scalar", "W6-1000", "reverse+tape", "W6-1000"),
    ("loop of 10^6, reverse", "scalar", "growth-R", (0.5, 0.7), "scalar", "W11", "store all, 8 MB", "W11"),
    ("loop of 10^6, checkpointed", "scalar", "growth-C", (0.5, 0.7), "scalar", "W11", "sqrt checkpoints, 16 KB", "W11"),
    ("long loop, checkpointed", "checkpoint", "long-loop", (3203,), "checkpoint", "W13-3203", "bisection", ""),
    ("Hessian-vector, n = 100", "rosenbrock", "product", (SINES, COSINES), "rosenbrock", "W10-100",
     "forward over reverse", "W10-100"),
    ("fib 27", "scalar", "fib", (27,), "languages", "L-fib", "calls kept", ""),
    ("tak 18 12 6", "scalar", "tak", (18, 12, 6), "languages", "L-tak", "calls kept", ""),
    ("loop of 10^7 reals", "scalar", "float-loop", (1e7,), "languages", "L-floatloop", "", ""),
    ("lists of 10^6", "scalar", "lists", (1e6,), "languages", "L-lists", "cons cells", ""),
    *[(f"newton, order {n}", "scalar", f"newton-{n}", (2,), "scalar", f"newton-{n}", "taylor", f"newton-{n}")
      for n in range(5)],
]  # fmt: skip
HEAD = """\
| workload | first | call | built | MB | tier 0 | C same | ratio | C strict | ratio | C fast | ratio | best other | ratio |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
"""


def c_results(name: str, flags: list[str], folder: str) -> list[dict[str, Any]]:
    """The output of a C program, one line per case."""
    target = os.path.join(folder, name + "".join(flags))
    command = ["gcc", *flags, "-march=native", "-w", "-o", target, str(HERE / "c" / f"{name}.c"), "-lm"]
    subprocess.run(command, check=True)
    return lines_of([target])


def peer_results(python: str, name: str) -> list[dict[str, Any]]:
    """The output of the other systems, each in a process of its own."""
    return [line for peer in PEERS for line in lines_of([python, str(HERE / "peers" / f"{name}.py"), peer])]


def lines_of(command: list[str]) -> list[dict[str, Any]]:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def measured(row: Row) -> dict[str, Any]:
    """A row's vlad columns; run in a process of its own."""
    name, file, procedure, operands = row[:4]
    values = tuple([from_python(operand) for operand in operands])
    session = Session(tier="evaluate")
    session.run(str(HERE / "programs" / f"{file}.vlad"))
    f = session[procedure]
    before, begun = peak_megabytes(), time.perf_counter()
    made = compile_call(session.machine, f.value, values, optimize=3)
    result = made(*values)
    first = time.perf_counter() - begun
    if "Python" in name:
        fast = Session(tier="compile")
        fast.run(str(HERE / "programs" / f"{file}.vlad"))
        slope = fast[procedure]
        assert slope(*operands) == result and slope.quicks
        call = best_of(lambda count: [slope(0.8) for _ in range(count)])
    else:
        call = best_of(in_c(made, values))
    grown = peak_megabytes() - before
    return {
        "first": first,
        "call": call,
        "mb": grown,
        "built": built(file, procedure, operands, first_real(result)),
        "tier 0": tier_0(file, procedure, operands),
        "result": first_real(result),
    }


def built(file: str, procedure: str, operands: tuple[Any, ...], expected: float) -> float | None:
    """Seconds of a call in a library that `vlad build` makes; None where an operand is a list, which C has not."""
    if any(isinstance(operand, list) for operand in operands):
        return None
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "entry.so")
        command = [
            sys.executable,
            "-m",
            "vlad",
            "--optimize",
            "3",
            "build",
            str(HERE / "programs" / f"{file}.vlad"),
        ]
        command += ["--lib", "--native", "--export-value", procedure, "-o", target]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(HERE.parent)})
        library = ctypes.CDLL(target)
    rows = getattr(library, re.sub(r"\W", "_", procedure) + "_rows")
    given, results = (ctypes.c_double * len(operands))(*operands), (ctypes.c_double * 16)()
    loop = c_loop("int (*call)(long, void *, void *)", "call(1, in, out)")
    seconds = best_of(lambda count: loop(rows, given, results, ctypes.c_long(count)))
    if not math.isclose(results[0], expected, rel_tol=TOLERANCES.get(file, 1e-9)):
        raise SystemExit(f"{procedure}: built alone it returns {results[0]}, in a session {expected}")
    return seconds


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def c_loop(parameter: str, call: str) -> Any:
    """A C procedure that repeats a call."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "loop.c"), os.path.join(folder, "loop.so")
        Path(source).write_text(
            f"void loop({parameter}, void *in, void *out, long n) {{ while (n--) {call}; }}", encoding="utf-8"
        )
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", target, source], check=True)
        return ctypes.CDLL(target).loop


def in_c(made: Any, values: tuple[Any, ...]) -> Callable[[int], object]:
    """Calls in a loop of C, as the C programs have it: from Python each would take 0.1 µs more."""
    loop = c_loop("int (*call)(void *, void *)", "call(in, out)")
    words: list[Any] = []
    kept: list[Any] = []  # boxes of long lists
    for value, type_ in zip(values, made.interface.operands, strict=True):
        made._encode(value, type_, words, kept)
    for index, (kind, word) in enumerate(words):
        setattr(made._in[index], "i" if kind == "b" else kind, word)

    def address(of: Any) -> ctypes.c_void_p:
        return ctypes.c_void_p(int(ffi.cast("long", of)))

    arguments = address(ffi.addressof(made.handle, "vlad_call")), address(made._in), address(made._out)
    return lambda count: (loop(*arguments, ctypes.c_long(count)), kept)


def best_of(calls: Callable[[int], object]) -> float:
    """The minimal seconds of a call, over batches of many."""
    count, best = 1, math.inf
    for _ in range(40):
        begun = time.perf_counter()
        calls(count)
        taken = time.perf_counter() - begun
        best = min(best, taken / count)
        count = min(2 * count, max(1, int(0.03 / best)))
    return best


def tier_0(file: str, procedure: str, operands: tuple[Any, ...]) -> float | None:
    """Seconds of a call on tier 0; None where that takes too long."""
    session = Session(tier="evaluate", limits=Limits(seconds=TIER_0_SECONDS))
    session.run(str(HERE / "programs" / f"{file}.vlad"))
    begun = time.perf_counter()
    try:
        session[procedure](*operands)
    except LimitExceeded:
        return None
    return time.perf_counter() - begun


def first_real(value: Any) -> float:
    while isinstance(value, tuple):
        value = value[0]
    return float(value)


def span(seconds: float | None) -> str:
    if seconds is None:
        return f"> {TIER_0_SECONDS} s"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


class Run:
    """One run: the results of C and the other systems are computed once."""

    def __init__(self, folder: str, python: str | None) -> None:
        self.folder = folder
        self.python = python
        self.c: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self.peers: dict[str, list[dict[str, Any]]] = {}

    def line(self, row: Row) -> str:
        name, file, _, _, c_name, workload, case, of_peers = row
        command = [sys.executable, str(HERE / "run.py"), "--row", name]
        own = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        seconds = own["call"]
        cells = [
            name,
            span(own["first"]),
            span(seconds),
            span(own["built"]) if own["built"] is not None else "",
            f"{own['mb']:.0f}",
            span(own["tier 0"]),
        ]
        for kind, flags in C_FLAGS.items():
            found = self.of_c(c_name, kind, flags, workload, case) if c_name else None
            if found and c_name in CHECKED and not math.isclose(found["check"], own["result"], rel_tol=1e-6):
                raise SystemExit(f"{name}: WRONG: {own['result']}, C has {found['check']}")
            cells += [span(found["min"]), f"{seconds / found['min']:.2f}"] if found else ["", ""]
        best = self.of_peers(file, of_peers) if of_peers and self.python else None
        cells += [f"{best['peer']} {span(best['min'])}", f"{seconds / best['min']:.2g}"] if best else ["", ""]
        return f"| {' | '.join(cells)} |"

    def of_c(self, name: str, kind: str, flags: list[str], workload: str, case: str) -> dict[str, Any]:
        if (name, kind) not in self.c:
            self.c[name, kind] = c_results(name, flags, self.folder)
        return next(r for r in self.c[name, kind] if r["w"] == workload and r["case"] == case)

    def of_peers(self, name: str, workload: str) -> dict[str, Any]:
        assert self.python is not None
        if name not in self.peers:
            self.peers[name] = peer_results(self.python, name)
        found = [r for r in self.peers[name] if r.get("w") == workload and "min" in r]
        best: dict[str, Any] = min(found, key=lambda r: r["min"])
        return best


def main(words: list[str]) -> None:
    os.environ["VLAD_CACHE"] = "off"  # the first call must be cold
    if words[:1] == ["--row"]:
        print(json.dumps(measured(next(row for row in WORKLOADS if row[0] == words[1]))))
        return
    python = None
    if words[:1] == ["--peers"]:
        python, words = words[1], words[2:]
    chosen = [row for row in WORKLOADS if not words or any(word in row[0] for word in words)]
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        run = Run(folder, python)
        for row in chosen:
            lines.append(run.line(row))
            print(lines[-1], flush=True)
    if not words:
        text = f"""# Results

Made by `benchmarks/run.py` on {time.strftime("%d %B %Y")}: vlad {__version__}, Python {platform.python_version()},
{os.cpu_count()} cores, {processor()}{versions(python)}.

The columns are: the time from the procedure to its first result, without cache; the time of a compiled call, and of the
same call in a library that `vlad build` made; the memory used in addition to that of a session; and the time of a call on
tier 0. Then handwritten C that does the same work: with the same arithmetic as vlad, which rounds each product and each sum
(-O3 -ffp-contract=off), strict (-O3, which fuses them), and fast (-Ofast); and the fastest of JAX, PyTorch, HIPS autograd
and CasADi on the same problem. The ratios are vlad's time to theirs. Compiled calls and C are called in a loop of C: from
Python each call takes less than 0.1 µs more, if Python's headers are installed.

{HEAD}{chr(10).join(lines)}

DISTANCES.md explains the remaining differences.
"""
        (HERE / "RESULTS.md").write_text(text, encoding="utf-8")


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))


def versions(python: str | None, names: tuple[str, ...] = ("jax", "torch", "autograd", "casadi")) -> str:
    """Of gcc and the other systems."""
    gcc = subprocess.run(
        ["gcc", "-dumpfullversion"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    text = f", gcc {gcc}"
    if python is not None:
        ask = f"import importlib.metadata as m; print(', '.join(f'{{n}} {{m.version(n)}}' for n in {names}))"
        text += (
            ", "
            + subprocess.run(
                [python, "-c", ask], stdout=subprocess.PIPE, text=True, check=True
            ).stdout.strip()
        )
    return text


if __name__ == "__main__":
    main(sys.argv[1:])
