"""What the default tier costs: `python benchmarks/auto.py [--write] [--times N] [NAMES …]`.

Each program runs as a user runs it, `vlad FILE`, in a process of its own: on tier 0, compiled, and on `auto`; compiled and on
`auto` with an empty cache (cold), and with what two runs by default and one compiled left there (warm). The runs alternate, and
each figure is the least of several, so that the machine's other work counts little; the ratios are of one run. `--write` stores
the table in benchmarks/AUTO.md.

The programs: all examples, and benchmarks/programs/compile/. The columns, in seconds of wall time:

    evaluate     the whole program on tier 0
    compile      the same compiled, cold and warm
    auto         the same by default, cold and warm
    cold, warm   `auto`, divided by the better of the two tiers
    processor    the same of processor time, which depends less on other work: of `auto` that of its own process, as the process
                 that compiles beside it takes none of its time where there are two processors; of the tiers with the C compiler
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

MOST_SECONDS = 60.0
LONG = 0.2  # seconds: a shorter program may cost 1.05 of the better tier, others 1.1


@dataclass
class Figure:
    """The least of several runs."""

    wall: float = math.inf
    own: float = math.inf  # processor time of the process
    all: float = math.inf  # with that of the processes for which it waits

    def add(self, other: Figure) -> None:
        self.wall = min(self.wall, other.wall)
        self.own = min(self.own, other.own)
        self.all = min(self.all, other.all)


def programs() -> Iterator[tuple[str, Path]]:
    for path in sorted((ROOT / "examples").glob("*.vlad")):
        yield f"examples/{path.stem}", path
    for path in sorted((HERE / "programs" / "compile").glob("*.vlad")):
        yield path.stem, path


def run(path: Path, tier: str, cache: str) -> Figure:
    """One run, until the process has ended and its output is closed."""
    environment = {**os.environ, "VLAD_CACHE_DIR": cache, "VLAD_TIER": tier}
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "vlad", str(path)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env=environment, cwd=ROOT,
    )  # fmt: skip
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    wall = time.perf_counter() - begin
    words = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    process.wait()
    own, children = [sum(map(int, words[at : at + 2])) / os.sysconf("SC_CLK_TCK") for at in (11, 13)]
    return Figure(wall, own, own + children)


def figures(path: Path, times: int) -> dict[str, Figure]:
    found: dict[str, Figure] = {}

    def add(name: str, tier: str, cache: str) -> None:
        found.setdefault(name, Figure()).add(run(path, tier, cache))

    for _ in range(times):
        with tempfile.TemporaryDirectory() as cold, tempfile.TemporaryDirectory() as other:
            add("evaluate", "evaluate", cold)
            add("auto cold", "auto", other)
            add("compile cold", "compile", cold)
            run(path, "auto", cold)
            run(path, "auto", cold)
            add("auto warm", "auto", cold)
            add("compile warm", "compile", cold)
    return found


STATES = ("cold", "warm")


def row(name: str, found: dict[str, Figure]) -> tuple[str, list[float]]:
    """A line of the table, and its ratios: of wall time and of processor time."""
    evaluate = found["evaluate"]
    ratios = []
    for state in STATES:
        auto, compiled = found[f"auto {state}"], found[f"compile {state}"]
        ratios.append(auto.wall / min(evaluate.wall, compiled.wall))
    for state in STATES:
        auto, compiled = found[f"auto {state}"], found[f"compile {state}"]
        ratios.append(auto.own / min(evaluate.own, compiled.all))
    keys = ("evaluate", "compile cold", "compile warm", "auto cold", "auto warm")
    figures = [*[found[key].wall for key in keys], *ratios]
    return f"| {name} | {' | '.join([f'{figure:.2f}' for figure in figures])} |", ratios


def main() -> None:
    parser = argparse.ArgumentParser(description="What the default tier costs.")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("names", nargs="*", help="only programs whose names contain one of these")
    options = parser.parse_args()
    lines = [
        "| program | evaluate | compile cold | compile warm | auto cold | auto warm | cold | warm | processor cold | warm |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    ratios: list[list[float]] = []
    for name, path in programs():
        if options.names and not any(part in name for part in options.names):
            continue
        line, found = row(name, figures(path, options.times))
        print(line, flush=True)
        lines.append(line)
        ratios.append(found)
    names = ("wall time, cold", "warm", "processor time, cold", "warm")
    parts = [
        f"{name}, median {statistics.median(column):.2f}, at most {max(column):.2f}"
        for name, column in zip(names, zip(*ratios, strict=True), strict=True)
    ]
    summary = f"{len(ratios)} programs. `auto`, divided by the better tier: {'; '.join(parts)}."
    print(f"\n{summary}")
    if options.write:
        text = (__doc__ or "").partition("\n\n")[2]
        (HERE / "AUTO.md").write_text(
            "# What the default tier costs\n\n"
            + summary
            + "\n\n"
            + "\n".join(lines)
            + f"\n\n```text\n{text.strip()}\n```\n"
        )


if __name__ == "__main__":
    main()
