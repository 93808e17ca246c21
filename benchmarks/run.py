"""Compiled vlad against hand-written C, side by side: `python benchmarks/run.py [WORKLOAD ...]`.

Each program of programs/ is compiled, called once, and then in batches; the C programs of c/ do the same work and time
themselves. The answers are compared first: a wrong one is not timed. Times are the least of many batches, in one run, for
only ratios are to be trusted on a shared machine. Writes RESULTS.md. Needs gcc.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from vlad import Session, __version__  # noqa: E402
from vlad.compile.calls import Compiled, compile_call  # noqa: E402

C_FLAGS = {"strict": ["-O3"], "fast": ["-Ofast"]}

# name, file of programs/, procedure, operands, C program, and there the workload and case
WORKLOADS: list[tuple[str, str, str, tuple[float, ...], str, str, str]] = [
    *[(f"particle {m}", "particle", f"run-{m}", (0,), "particle", f"W1-{'RR' if m == 'RR' else 'FF'}",
       "hand-R" if m == "RR" else "hand-F") for m in ("FF", "FR", "RF", "RR")],
    *[(f"saddle {m}", "saddle", f"run-{m}", (1,), "saddle", "W2-FF", "hand") for m in ("FF", "FR", "RF", "RR")],
    ("backprop", "backprop", "run-R", (1e5,), "backprop", "W3", "scalar"),
    *[(f"probabilistic {m}", "probabilistic", f"run-{m}", (0.5, 0.5), "probabilistic", "W4", "normal") for m in "FR"],
    ("power 1000, forward", "scalar", "power-F", (1.001, 1000), "scalar", "W6-1000", "forward"),
    ("power 1000, reverse", "scalar", "power-R", (1.001, 1000), "scalar", "W6-1000", "reverse+tape"),
    ("loop of 10^6, reverse", "scalar", "growth-R", (0.5, 0.7), "scalar", "W11", "store all, 8 MB"),
    ("Hessian-vector, n = 100", "rosenbrock", "run-100", (0,), "rosenbrock", "W10-100", "forward over reverse"),
    ("fib 27", "scalar", "fib", (27,), "languages", "L-fib", "calls kept"),
    ("tak 18 12 6", "scalar", "tak", (18, 12, 6), "languages", "L-tak", "calls kept"),
    ("loop of 10^7 reals", "scalar", "float-loop", (1e7,), "languages", "L-floatloop", ""),
    ("lists of 10^6", "scalar", "lists", (1e6,), "languages", "L-lists", "cons cells"),
    *[(f"newton, order {n}", "scalar", f"newton-{n}", (2,), "", "", "") for n in range(5)],
]  # fmt: skip


def c_results(name: str, flags: list[str], folder: str) -> list[dict[str, Any]]:
    """What a C program says of itself, a line a case."""
    target = os.path.join(folder, name + "".join(flags))
    command = ["gcc", *flags, "-march=native", "-w", "-o", target, str(HERE / "c" / f"{name}.c"), "-lm"]
    subprocess.run(command, check=True)
    lines = subprocess.run([target], check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def compiled(file: str, procedure: str, operands: tuple[float, ...]) -> tuple[Compiled, float]:
    """The compiled procedure, and the seconds from its text to its first answer."""
    session = Session(tier="evaluate")
    session.run(str(HERE / "programs" / f"{file}.vlad"))
    f = session[procedure].value
    begun = time.perf_counter()
    made = compile_call(session.machine, f, tuple([float(x) for x in operands]), optimize=3)
    made(*[float(x) for x in operands])
    return made, time.perf_counter() - begun


def least(call: Compiled) -> float:
    """Seconds of a call, at best; the words of the last call are used again."""
    best = math.inf
    for _ in range(9):
        count, begun = 0, time.perf_counter()
        while time.perf_counter() - begun < 0.03:
            call._call(call._in, call._out)
            count += 1
        best = min(best, (time.perf_counter() - begun) / count)
    return best


def first_real(value: Any) -> float:
    while isinstance(value, tuple):
        value = value[0]
    return float(value)


def span(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


def main(wanted: list[str]) -> None:
    os.environ["VLAD_CACHE"] = "off"  # the first call is to be a cold one
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        programs: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for name, file, procedure, operands, c_name, workload, case in WORKLOADS:
            if wanted and not any(word in name for word in wanted):
                continue
            made, first = compiled(file, procedure, operands)
            answer, seconds = first_real(made(*[float(x) for x in operands])), least(made)
            times = {}
            for kind, flags in C_FLAGS.items() if c_name else ():
                if (c_name, kind) not in programs:
                    programs[c_name, kind] = c_results(c_name, flags, folder)
                found = [r for r in programs[c_name, kind] if r["w"] == workload and r["case"] == case]
                times[kind] = found[0]["min"]
                checked = ("saddle", "particle", "languages", "backprop", "probabilistic")
                if c_name in checked and not math.isclose(found[0]["check"], answer, rel_tol=1e-6):
                    raise SystemExit(f"{name}: WRONG: {answer}, C has {found[0]['check']}")
            strict, fast = times.get("strict"), times.get("fast")
            rows.append(
                f"| {name} | {span(first)} | {span(seconds)} |"
                + (
                    f" {span(strict)} | {seconds / strict:.2f} | {span(fast)} | {seconds / fast:.2f} |"
                    if strict
                    else " | | | |"
                )
            )
            print(rows[-1], flush=True)
    if not wanted:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        text = (
            f"""# Results

Made by `benchmarks/run.py` on {time.strftime("%d %B %Y")}: vlad {__version__}, Python {platform.python_version()},
{os.cpu_count()} cores, {names[0]}.
First: from the procedure to its first answer, without cache. Then the time of a call, and C by hand doing the same work, strict
(-O3) and fast (-Ofast), with the ratios of vlad's time to theirs. A call through cffi is some 0.2 µs of each.

| workload | first | call | C strict | ratio | C fast | ratio |
|---|---|---|---|---|---|---|
"""
            + "\n".join(rows)
            + "\n"
        )
        (HERE / "RESULTS.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
