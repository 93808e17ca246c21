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
    processor    seconds of processor time of `auto` beyond tier 0's, the C compiler's included: cold and warm
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
    processor: float = math.inf

    def add(self, other: Figure) -> None:
        self.wall = min(self.wall, other.wall)
        self.processor = min(self.processor, other.processor)


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
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0  # it is reaped
    return Figure(time.perf_counter() - begin, usage.ru_utime + usage.ru_stime)


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


def row(name: str, found: dict[str, Figure]) -> tuple[str, float, float]:
    evaluate = found["evaluate"]
    ratios = [
        found[f"auto {state}"].wall / min(evaluate.wall, found[f"compile {state}"].wall)
        for state in ("cold", "warm")
    ]
    walls = [found[key].wall for key in ("compile cold", "compile warm", "auto cold", "auto warm")]
    more = [found[f"auto {state}"].processor - evaluate.processor for state in ("cold", "warm")]
    cells = [
        f"{evaluate.wall:.2f}",
        *[f"{wall:.2f}" for wall in walls],
        *[f"{ratio:.2f}" for ratio in ratios],
    ]
    cells += [f"{seconds:+.2f}" for seconds in more]
    return f"| {name} | {' | '.join(cells)} |", ratios[0], ratios[1]


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
    ratios: list[tuple[float, float]] = []
    for name, path in programs():
        if options.names and not any(part in name for part in options.names):
            continue
        line, *found = row(name, figures(path, options.times))
        print(line, flush=True)
        lines.append(line)
        ratios.append((found[0], found[1]))
    cold, warm = zip(*ratios, strict=True)
    summary = (
        f"{len(ratios)} programs. `auto`, divided by the better tier: cold, median {statistics.median(cold):.2f}, "
        f"at most {max(cold):.2f}; warm, median {statistics.median(warm):.2f}, at most {max(warm):.2f}."
    )
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
