"""What compiling costs: `python benchmarks/compile_time.py [--write] [--peers PYTHON] [--stalingrad FOLDER] [NAMES …]`.

Each program is run evaluated, compiled with an empty cache (cold), and compiled again from the cache (warm), in a process each.
The programs: all examples, benchmarks/programs/compile/, random programs of 50 to 2,000 lines, and, with `--stalingrad`, the
examples of a clone of github.com/Functional-AutoDiff/STALINGRAD. All figures are seconds of processor time, the C compiler's
included, except where wall time is named, and of what a call waits for, except in the column `beside`. `--write`
stores the table in benchmarks/COMPILE_TIME.md.

A program makes several calls, and each is compiled by itself. The columns:

    evaluated      the whole program on tier 0, wall time
    types          the analysis, of all attempts
    passes         the rest of the compiler in Python: specialising, passes, C text
    C              the C compiler
    worst          the most expensive call to compile
    cold, warm     all of compiling, with an empty cache and from the cache
    beside         what is done beside calls: optimising long C texts, which run otherwise until then
    left           calls that stay on tier 0
    jax.jit        the first call in JAX: trace, compile and run, of one function, with an empty cache
    torch.compile  the same in PyTorch; a whole graph (`fullgraph=True`)

`--peers PYTHON` measures the last two columns instead of the others, with a Python that has these packages
(peers/requirements.txt), in a process per program. benchmarks/peers/first_calls.py has the programs, and for each the
function that is compiled, most often the gradient of its loss, and the value in vlad, with which the result must agree. The
operands are given: `worst` is the column to compare with, as `cold` includes the calls that make them. An example makes many
calls, and its `worst` may be that of more than the other systems compile: a search, or a higher derivative. Imports and the
compilation of a first small function are not in these figures; they are the start in the second table. "—" is a program that a
system does not express or not compile, for the reason in the third table; a program without a figure was not written or not
measured. What a run does not measure is kept as it is stored, also the column of a package that PYTHON lacks.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.util
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

REPORT = HERE / "COMPILE_TIME.md"
PEER_PROGRAMS = HERE / "peers" / "first_calls.py"
MOST_SECONDS = 60
MOST_PEER_SECONDS = 300
PEERS = {"jax": "jax.jit", "torch": "torch.compile"}  # a package, the title of its column
OWN = ("evaluated", "types", "passes", "C", "worst", "cold", "beside", "warm", "left")
SYSTEMS = ("system", "version", "measured", "processor", "start")
REASONS = ("program", "system", "reason")
SIZES = (50, 200, 500, 1000, 2000)


class Children(threading.local):
    """The processor time of the processes that this thread has waited for. (The system counts those of all threads.)"""

    seconds = 0.0


children = Children()


def waitpid(process: int, options: int) -> tuple[int, int]:
    """In place of `os.waitpid`, which subprocess calls."""
    process, status, usage = os.wait4(process, options)
    children.seconds += usage.ru_utime + usage.ru_stime
    return process, status


def used() -> float:
    """Seconds of processor time of this thread and of its compilers."""
    return time.thread_time() + children.seconds


class Stopwatch:
    """The time spent in a function by the program's thread, or by others (`is_beside`), without that of calls from inside it."""

    def __init__(self, owner: Any, name: str, is_beside: bool = False) -> None:
        self.seconds: list[float] = []
        function: Callable[..., Any] = getattr(owner, name)
        running = False

        def timed(*operands: Any, **options: Any) -> Any:
            nonlocal running
            if running or (threading.current_thread() is threading.main_thread()) is is_beside:
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
    from vlad.compile.calling.background import BACKGROUND
    from vlad.compile.calling.finishing import Finishing
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
    os.waitpid = waitpid
    whole, types = Stopwatch(Tiers, "compile"), Stopwatch(Analysis, "solve")
    beside = Stopwatch(Finishing, "poll", is_beside=True)
    python, c = Stopwatch(pipeline, "made"), Stopwatch(toolchain, "build")
    session = Session(tier=tier, write=lambda text: None)
    begin = time.perf_counter()
    failed = ""
    try:
        session.run(path)
    except Exception as error:
        failed = str(error).partition("\n")[0]
    wall = time.perf_counter() - begin
    while BACKGROUND._jobs:
        time.sleep(0.05)
    print(
        json.dumps({
            "wall": wall,
            "types": sum(types.seconds),
            "passes": sum(python.seconds) - sum(types.seconds),
            "c": sum(c.seconds),
            "all": sum(whole.seconds),
            "beside": sum(beside.seconds),
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


# A line of a random program in vlad, and the same in Python, of a procedure n, an earlier one and a number
LINES = (
    ("(define (f{n} x) (+ (* {c} ({a} x)) (sin x)))", "{c} * {a}(x) + np.sin(x)"),
    (
        "(define (f{n} x) (if (> x {c}) (tanh ({a} x)) (* x {c})))",
        "np.where(x > {c}, np.tanh({a}(x)), x * {c})",
    ),
    (
        "(define (f{n} x) (let loop ((i 0) (y ({a} x))) (if (= i 3) y (loop (+ i 1) (tanh (+ y (* {c} x)))))))",
        "repeat(lambda y: np.tanh(y + {c} * x), 3, {a}(x))",
    ),
    (
        "(define (f{n} x) (let ((g (lambda (y) (* y (cos (* {c} x)))))) (g (g ({a} x)))))",
        "(lambda g: g(g({a}(x))))(lambda y: y * np.cos({c} * x))",
    ),
    (
        "(define (f{n} x) (let ((p (cons ({a} x) (* {c} x)))) (- (car p) (cdr p))))",
        "(lambda p: p[0] - p[1])(({a}(x), {c} * x))",
    ),
    (
        "(define (f{n} x) (list-sum (map (lambda (y) (sin (* y x))) (list {c} ({a} x) 2))))",
        "sum([np.sin(y * x) for y in ({c}, {a}(x), 2)])",
    ),
    (
        "(define (f{n} x) (if (< (abs x) 1) ({a} (* x {c})) (exp (- 0 (abs x)))))",
        "np.where(abs(x) < 1, {a}(x * {c}), np.exp(-abs(x)))",
    ),
    ("(define (f{n} x) (sqrt (+ 1 (square ({a} x)))))", "np.sqrt(1 + {a}(x) ** 2)"),
)


def random_program(lines: int) -> tuple[str, str]:
    """Procedures of one number that call earlier ones, with branches, loops, closures, pairs and lists: one in each line. Each is
    called by the next, or by the last, so that all are compiled. In vlad, and in Python.
    """
    draw = random.Random(lines)
    text, python = ["(define (f0 x) (* x (sin x)))"], ["def f0(x): return x * np.sin(x)"]
    loose: list[str] = []
    for n in range(1, lines - 1):
        a, c = f"f{n - 1}", round(draw.uniform(-1, 1), 3)
        if n % 8 == 0:
            loose.append(a)
            a = f"f{draw.randrange(n // 2, n - 1)}" if n % 32 == 0 else "cos"
        here, there = draw.choice(LINES)
        text.append(here.format(n=n, a=a, c=c))
        python.append(f"def f{n}(x): return {there.format(a=a, c=c)}")
    called = [*loose, f"f{lines - 2}"]
    text.append(f"((derivative-R (lambda (x) (+ {' '.join([f'({name} x)' for name in called])}))) 0.7)")
    python.append(f"def total(x): return {' + '.join([f'{name}(x)' for name in called])}")
    return "\n".join(text) + "\n", "\n".join(python) + "\n"


def programs(folder: Path, stalingrad: Path | None) -> Iterator[tuple[str, Path]]:
    """The name and the path of each program. Random ones are written to a folder."""
    for path in sorted((HERE.parent / "examples").glob("*.vlad")):
        yield f"examples/{path.stem}", path
    for path in sorted((HERE / "programs" / "compile").glob("*.vlad")):
        yield path.stem, path
    for lines in SIZES:
        path = folder / f"random-{lines}.vlad"
        path.write_text(random_program(lines)[0])
        yield path.stem, path
    if stalingrad is not None:
        for path in sorted(stalingrad.glob("examples/automatic/*.vlad")):
            yield f"STALINGRAD/{path.stem}", path


def own_row(path: Path) -> tuple[dict[str, str], set[str]]:
    """The cells of a program's own columns, and why calls of it stay on tier 0."""
    with tempfile.TemporaryDirectory() as cache:
        evaluated = child(path, "evaluate", cache)
        if "wall" not in evaluated:
            return {"evaluated": evaluated["failed"]}, set()
        cold = child(path, "compile", cache)
        warm = child(path, "compile", cache)
    cells = {"evaluated": f"{evaluated['wall']:.2f}"}
    failed = cold.get("failed") or ""
    if failed and failed == evaluated.get("failed"):
        failed = f"an error of the program: {failed}"
    if "all" not in cold or "all" not in warm:
        return {**cells, "left": failed or warm["failed"]}, set()
    left = f"{len(cold['left'])}/{cold['calls']}" if cold["left"] else ""
    if cold["disagreements"]:
        left += f" {cold['disagreements']} disagree"
    for title, key in (
        ("types", "types"),
        ("passes", "passes"),
        ("C", "c"),
        ("worst", "worst"),
        ("cold", "all"),
    ):
        cells[title] = f"{cold[key]:.2f}"
    if cold["beside"]:
        cells["beside"] = f"{cold['beside']:.2f}"
    return {**cells, "warm": f"{warm['all']:.3f}", "left": f"{left} {failed}".strip()}, set(cold["left"])


# Other systems.


def peer_programs() -> Any:
    """The module of the programs in other systems; it imports these only in a process of its own."""
    spec = importlib.util.spec_from_file_location("first_calls", PEER_PROGRAMS)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def encoded(value: Any) -> Any:
    """A value for JSON, as peers/first_calls.py reads it: pairs and lists are lists; a number, a tensor, and a list of numbers,
    which is a vector in these systems, is an object with its entries.
    """
    if hasattr(value, "tolist"):
        return {"array": value.tolist()}
    if isinstance(value, (list, tuple)):
        numbers = all(isinstance(part, (int, float)) for part in value)
        return {"array": list(value)} if numbers else [encoded(part) for part in value]
    return {"array": value}


def numbers(value: Any) -> list[float]:
    """All numbers of a value of a program, in order."""
    if hasattr(value, "ravel"):
        return [float(x) for x in value.ravel()]
    if isinstance(value, (list, tuple)):
        return [x for part in value for x in numbers(part)]
    return [float(value)]


class Peers:
    """The programs in other systems, and a Python that has these."""

    def __init__(self, python: str) -> None:
        self.python, self.module = python, peer_programs()

    def measured(self, name: str, path: Path, report: Report) -> None:
        """Set a program's cells of all systems, the systems' rows, and the reasons why there is no figure."""
        kind = "random" if name.startswith("random-") else name
        known = None
        for system, title in PEERS.items():
            reason = self.module.CANNOT.get(kind, {}).get(system)
            if reason is None:
                if kind not in self.module.PROGRAMS:
                    continue
                known = known or self.in_vlad(name, kind, path)
                found = self.call(system, kind, known[0])
                if found.get("absent"):
                    print(f"{system} is not installed: its column stays as it is", file=sys.stderr)
                    report.systems.setdefault(system, ["not installed", "", "", ""])
                    continue
                if "version" in found:  # the process has ended by itself
                    report.note(system, found["version"], found["start"])
                if "seconds" in found:
                    self.compare(name, system, found["numbers"], known[1])
                    report.set_peer(name, title, f"{found['seconds']:.2f}")
                    continue
                reason = found["cannot"]
            report.set_peer(name, title, "—", reason)

    def in_vlad(self, name: str, kind: str, path: Path) -> tuple[list[Any], list[float]]:
        """The operands of a program, and the numbers of its value."""
        from vlad import Session

        _, operands, value = self.module.PROGRAMS[kind]
        session = Session(tier="evaluate", write=lambda text: None)
        if kind == "random":
            text, python = random_program(int(name.rpartition("-")[2]))
            return [python], numbers(session.eval(text))
        with contextlib.chdir(path.parent):
            session.run(path)
            return [encoded(operand) for operand in session.eval(operands)], numbers(session.eval(value))

    def call(self, system: str, kind: str, operands: list[Any]) -> dict[str, Any]:
        command = [self.python, str(PEER_PROGRAMS), system, kind]
        try:
            done = subprocess.run(
                command, input=json.dumps(operands), capture_output=True, text=True, timeout=MOST_PEER_SECONDS, check=False
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return {"cannot": f"It takes more than {MOST_PEER_SECONDS} seconds."}
        if done.returncode != 0:
            error = "" if done.returncode < 0 else done.stderr.strip().rpartition("\n")[2]
            return {"cannot": error or f"The process ended with status {done.returncode}."}
        found: dict[str, Any] = json.loads(done.stdout.strip().rpartition("\n")[2])
        return found

    def compare(self, name: str, system: str, found: list[float], expected: list[float]) -> None:
        size = max([abs(x) for x in expected], default=0.0)
        same = len(found) == len(expected) and all(
            math.isclose(x, y, rel_tol=1e-6, abs_tol=1e-6 * size)
            for x, y in zip(found, expected, strict=True)
        )
        if not same:
            raise SystemExit(f"{name}: WRONG: {system} has {found[:8]}, vlad {expected[:8]}")


# The report: its Markdown is where the figures are stored.


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(titles), *[list(row) for row in rows]]
    shown = [f"| {' | '.join([cell.replace('|', '/') for cell in line])} |" for line in lines]
    shown.insert(1, f"|{'---|' * len(lines[0])}")
    return "\n".join(shown)


@dataclass
class Report:
    rows: dict[str, dict[str, str]] = field(default_factory=dict)  # cells by title, of each program
    systems: dict[str, list[str]] = field(default_factory=dict)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)  # by program and title of a system

    @classmethod
    def stored(cls) -> Report:
        report = cls()
        text = REPORT.read_text(encoding="utf-8") if REPORT.exists() else ""
        for block in text.split("\n\n"):
            if not block.startswith("|"):
                continue
            titles, _, *rows = [cells_of(line) for line in block.splitlines()]
            for row in rows:
                match titles[0]:
                    case "program" if titles == list(REASONS):
                        report.reasons[row[0], row[1]] = row[2]
                    case "program":
                        report.rows[row[0]] = dict(zip(titles[1:], row[1:], strict=True))
                    case "system":
                        report.systems[row[0]] = row[1:]
        return report

    def note(self, system: str, version: str, start: float | None = None) -> None:
        """A system's version, the date, the processor, and the least start so far on this day."""
        from run import processor  # it imports much of vlad, which the processes that compile do not need

        today = datetime.date.today().isoformat()
        before = self.systems.get(system)
        if start is not None and before and before[:2] == [version, today]:
            start = min(start, float(before[3]))
        self.systems[system] = [version, today, processor(), "" if start is None else f"{start:.1f}"]

    def keep(self, names: list[str]) -> None:
        """Only these programs, in this order."""
        self.rows = {name: self.rows[name] for name in names if name in self.rows}
        self.reasons = {key: reason for key, reason in self.reasons.items() if key[0] in self.rows}

    def set_own(self, name: str, cells: dict[str, str]) -> None:
        kept = self.rows.get(name, {})
        self.rows[name] = {**cells, **{title: kept.get(title, "") for title in PEERS.values()}}

    def set_peer(self, name: str, title: str, cell: str, reason: str = "") -> None:
        self.rows.setdefault(name, {})[title] = cell
        self.reasons.pop((name, title), None)
        if reason:
            self.reasons[name, title] = reason

    def line(self, name: str) -> list[str]:
        return [name, *[self.rows[name].get(title, "") for title in (*OWN, *PEERS.values())]]

    def summary(self) -> str:
        worst = [most_expensive(row) for row in self.rows.values() if row.get("evaluated")]
        return (
            f"{len(worst)} programs. The most expensive call of each: median {quantile(worst, 0.5):.2f} s, "
            f"95 % within {quantile(worst, 0.95):.2f} s, at most {max(worst):.2f} s."
        )

    def compared(self) -> str:
        """The medians of the programs that a system has a figure for, beside those of the same programs compiled by vlad."""
        parts = []
        for title in PEERS.values():
            rows = [
                row for row in self.rows.values() if is_number(row.get(title)) and is_number(row.get("worst"))
            ]
            if rows:
                theirs, ours = ([float(row[key]) for row in rows] for key in (title, "worst"))
                parts.append(
                    f"{len(rows)} programs in {title}: median {quantile(theirs, 0.5):.2f} s, at most {max(theirs):.2f} s; "
                    f"the most expensive call of these in vlad: median {quantile(ours, 0.5):.2f} s, at most {max(ours):.2f} s."
                )
        return "\n\n".join(parts)

    def write(self) -> None:
        parts = ["# What compiling costs", self.summary(), self.compared()]
        parts += [table(("program", *OWN, *PEERS.values()), [self.line(name) for name in self.rows])]
        if self.systems:
            parts.append(table(SYSTEMS, [[name, *cells] for name, cells in sorted(self.systems.items())]))
        if self.reasons:
            parts.append(table(REASONS, [[*key, reason] for key, reason in self.reasons.items()]))
        parts.append(f"```text\n{(__doc__ or '').partition(chr(10) * 2)[2].strip()}\n```")
        REPORT.write_text("\n\n".join([part for part in parts if part]) + "\n", encoding="utf-8")


def is_number(cell: str | None) -> bool:
    return bool(cell) and cell is not None and cell.replace(".", "", 1).isdigit()


def most_expensive(row: dict[str, str]) -> float:
    """Of a row's calls: infinite if one was not compiled in time, 0 if the program does not run."""
    if not is_number(row["evaluated"]):
        return 0.0
    return float(row["worst"]) if row.get("worst") else math.inf


def quantile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def main() -> None:
    parser = argparse.ArgumentParser(description="What compiling costs.")
    parser.add_argument("--one", nargs=2, metavar=("FILE", "TIER"))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--peers", metavar="PYTHON", help="measure JAX and PyTorch, which this Python has")
    parser.add_argument("--stalingrad", type=Path)
    parser.add_argument("names", nargs="*", help="only programs whose names contain one of these")
    options = parser.parse_args()
    if options.one:
        run_one(*options.one)
        return
    from vlad import __version__

    report = Report.stored()
    peers = Peers(options.peers) if options.peers else None
    if peers is None:
        report.note("vlad", __version__)
    met: list[str] = []
    print(table(("program", *OWN, *PEERS.values()), []), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, path in programs(Path(folder), options.stalingrad):
            if options.names and not any(part in name for part in options.names):
                continue
            met.append(name)
            if peers is not None:
                peers.measured(name, path, report)
            else:
                cells, reasons = own_row(path)
                report.set_own(name, cells)
                if reasons:
                    print("  ".join(sorted(reasons)), file=sys.stderr)
            if name in report.rows:
                print(f"| {' | '.join(report.line(name))} |", flush=True)
    if not options.names:
        unmet = [] if options.stalingrad else [name for name in report.rows if name.startswith("STALINGRAD/")]
        report.keep([*met, *unmet])
    if options.write:
        report.write()
    print(f"\n{report.summary()}\n\n{report.compared()}")


if __name__ == "__main__":
    main()
