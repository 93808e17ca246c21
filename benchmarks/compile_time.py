"""What compiling costs: `python benchmarks/compile_time.py [--write] [--stalingrad FOLDER] [NAMES …]`.

Each program is run evaluated, compiled with an empty cache (cold), and compiled again from the cache (warm), in a process each.
The programs: all examples, benchmarks/programs/compile/, random programs of 50 to 2,000 lines, and, with `--stalingrad`, the
examples of a clone of github.com/Functional-AutoDiff/STALINGRAD. All figures are seconds of processor time, the C compiler's
included, except where wall time is named. `--write` stores the table in benchmarks/COMPILE_TIME.md.

A program makes several calls, and each is compiled by itself. The columns:

    evaluated    the whole program on tier 0, wall time
    types        the analysis, of all attempts
    passes       the rest of the compiler in Python: specialising, passes, C text
    C            the C compiler
    worst        the most expensive call to compile
    cold, warm   all of compiling, with an empty cache and from the cache
    left         calls that stay on tier 0
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

MOST_SECONDS = 60
SIZES = (50, 200, 500, 1000, 2000)


def used() -> float:
    """Seconds of processor time of this process and of its compilers."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Stopwatch:
    """The time spent in a function, without that of calls from inside it."""

    def __init__(self, owner: Any, name: str) -> None:
        self.seconds: list[float] = []
        function: Callable[..., Any] = getattr(owner, name)
        running = False

        def timed(*operands: Any, **options: Any) -> Any:
            nonlocal running
            if running:
                return function(*operands, **options)
            running, begin = True, used()
            try:
                return function(*operands, **options)
            finally:
                running = False
                self.seconds.append(used() - begin)

        setattr(owner, name, timed)


def run_one(path: str, tier: str) -> None:
    """In a process of its own: run a program, and print the figures."""
    from vlad import Session
    from vlad.compile.analysis.fixpoint import Analysis
    from vlad.compile.calling import pipeline
    from vlad.compile.calling.policy import Tiers
    from vlad.compile.native import toolchain

    reasons: list[str] = []
    if tier == "compile":
        compile_ = Tiers.compile

        def noting(self: Any, entry: Any, *rest: Any, **more: Any) -> Any:
            compiled = compile_(self, entry, *rest, **more)
            if compiled is None and entry.reason:
                reasons.append(entry.reason)
            return compiled

        Tiers.compile = noting  # type: ignore[method-assign]
    whole, types = Stopwatch(Tiers, "compile"), Stopwatch(Analysis, "solve")
    python, c = Stopwatch(pipeline, "made"), Stopwatch(toolchain, "build")
    session = Session(tier=tier, write=lambda text: None)
    begin = time.perf_counter()
    failed = ""
    try:
        session.run(path)
    except Exception as error:
        failed = str(error).partition("\n")[0]
    print(
        json.dumps({
            "wall": time.perf_counter() - begin,
            "types": sum(types.seconds),
            "passes": sum(python.seconds) - sum(types.seconds),
            "c": sum(c.seconds),
            "all": sum(whole.seconds),
            "worst": max(whole.seconds, default=0.0),
            "calls": len(whole.seconds),
            "left": reasons,
            "disagreements": getattr(session.tiers, "disagreements", 0),
            "failed": failed,
        })
    )  # fmt: skip


def child(path: Path, tier: str, cache: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", str(path), tier]
    environment = {**os.environ, "VLAD_CACHE_DIR": cache}
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=MOST_SECONDS, env=environment, check=False,
            cwd=path.parent,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {MOST_SECONDS} seconds"}
    if done.returncode != 0:
        return {"failed": done.stderr.strip().rpartition("\n")[2] or f"status {done.returncode}"}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# Programs.


def random_program(lines: int) -> str:
    """Procedures of one number that call earlier ones, with branches, loops, closures, pairs and lists: one in each line. Each is
    called by the next, or by the last, so that all are compiled."""
    draw = random.Random(lines)
    text = ["(define (f0 x) (* x (sin x)))"]
    loose: list[str] = []
    for n in range(1, lines - 1):
        a, c = f"f{n - 1}", round(draw.uniform(-1, 1), 3)
        if n % 8 == 0:
            loose.append(a)
            a = f"f{draw.randrange(n // 2, n - 1)}" if n % 32 == 0 else "cos"
        text.append(
            draw.choice([
                f"(define (f{n} x) (+ (* {c} ({a} x)) (sin x)))",
                f"(define (f{n} x) (if (> x {c}) (tanh ({a} x)) (* x {c})))",
                f"(define (f{n} x) (let loop ((i 0) (y ({a} x))) (if (= i 3) y (loop (+ i 1) (tanh (+ y (* {c} x)))))))",
                f"(define (f{n} x) (let ((g (lambda (y) (* y (cos (* {c} x)))))) (g (g ({a} x)))))",
                f"(define (f{n} x) (let ((p (cons ({a} x) (* {c} x)))) (- (car p) (cdr p))))",
                f"(define (f{n} x) (list-sum (map (lambda (y) (sin (* y x))) (list {c} ({a} x) 2))))",
                f"(define (f{n} x) (if (< (abs x) 1) ({a} (* x {c})) (exp (- 0 (abs x)))))",
                f"(define (f{n} x) (sqrt (+ 1 (square ({a} x)))))",
            ])
        )  # fmt: skip
    calls = " ".join([f"({name} x)" for name in [*loose, f"f{lines - 2}"]])
    text.append(f"((derivative-R (lambda (x) (+ {calls}))) 0.7)")
    return "\n".join(text) + "\n"


def programs(folder: Path, stalingrad: Path | None) -> Iterator[tuple[str, Path]]:
    """The name and the path of each program. Random ones are written to a folder."""
    for path in sorted((HERE.parent / "examples").glob("*.vlad")):
        yield f"examples/{path.stem}", path
    for path in sorted((HERE / "programs" / "compile").glob("*.vlad")):
        yield path.stem, path
    for lines in SIZES:
        path = folder / f"random-{lines}.vlad"
        path.write_text(random_program(lines))
        yield path.stem, path
    if stalingrad is not None:
        for path in sorted(stalingrad.glob("examples/automatic/*.vlad")):
            yield f"STALINGRAD/{path.stem}", path


def row(name: str, path: Path) -> tuple[str, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as cache:
        evaluated = child(path, "evaluate", cache)
        if "wall" not in evaluated:
            return f"| {name} | {evaluated['failed']} | | | | | | | |", {"worst": 0.0}
        cold = child(path, "compile", cache)
        warm = child(path, "compile", cache)
    failed = cold.get("failed") or ""
    if failed and failed == evaluated.get("failed"):
        failed = f"an error of the program: {failed}"
    if "all" not in cold or "all" not in warm:
        return (
            f"| {name} | {evaluated.get('wall', 0):.2f} | | | | | | | {failed or warm.get('failed')} |",
            cold,
        )
    left = f"{len(cold['left'])}/{cold['calls']}" if cold["left"] else ""
    if cold["disagreements"]:
        left += f" {cold['disagreements']} disagree"
    cells = [
        f"{evaluated.get('wall', 0):.2f}",
        *[f"{cold[key]:.2f}" for key in ("types", "passes", "c", "worst", "all")],
        f"{warm['all']:.3f}",
        f"{left} {failed}".strip(),
    ]
    return f"| {name} | {' | '.join(cells)} |", cold


def quantile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def main() -> None:
    parser = argparse.ArgumentParser(description="What compiling costs.")
    parser.add_argument("--one", nargs=2, metavar=("FILE", "TIER"))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--stalingrad", type=Path)
    parser.add_argument("names", nargs="*", help="only programs whose names contain one of these")
    options = parser.parse_args()
    if options.one:
        run_one(*options.one)
        return
    lines = [
        "| program | evaluated | types | passes | C | worst | cold | warm | left |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    worst: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path in programs(Path(folder), options.stalingrad):
            if options.names and not any(part in name for part in options.names):
                continue
            line, found = row(name, path)
            print(line, flush=True)
            lines.append(line)
            worst.append(found.get("worst", float("inf")))
            if found.get("left"):
                print("  ".join(sorted(set(found["left"]))), file=sys.stderr)
    summary = (
        f"{len(worst)} programs. The most expensive call of each: median {quantile(worst, 0.5):.2f} s, "
        f"95 % within {quantile(worst, 0.95):.2f} s, at most {max(worst):.2f} s."
    )
    print(f"\n{summary}")
    if options.write:
        text = (__doc__ or "").partition("\n\n")[2]
        (HERE / "COMPILE_TIME.md").write_text(
            "# What compiling costs\n\n"
            + summary
            + "\n\n"
            + "\n".join(lines)
            + f"\n\n```text\n{text.strip()}\n```\n"
        )


if __name__ == "__main__":
    main()
