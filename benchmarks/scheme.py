"""Pure Scheme programs beside Chez, Gambit and Guile: `python benchmarks/scheme.py [--small] [--write] [PROGRAM ...]`.

The programs of programs/scheme/ are written in what vlad and R7RS have in common, so every system runs the same text; the
algorithms are those of the pure programs of r7rs-benchmarks. Chez (`chezscheme`), Gambit (`gambc`) and Guile (`guile-3.0`) are
taken from the path, and left out if they are not there. All of them have to compute one value. `--small` is a trial with
small sizes; `--write` writes SCHEME.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "programs" / "scheme"
sys.path[:0] = [str(HERE.parent), str(HERE)]

from run import processor, versions  # noqa: E402 - found by the path above

CALLS = 2  # of which the fastest counts; the first one of vlad compiles
SECONDS = 900  # what a system may take for a program
TOLERANCE = 1e-9  # of sums of reals: `cos` is not the same to the last bit everywhere


class Program(NamedTuple):
    operands: tuple[float, ...]
    small: tuple[float, ...]
    value: float  # for the small operands


PROGRAMS = {
    "ack": Program((3, 11), (2, 9), 21),
    "boyer": Program((20, 3), (2, 1), 412),
    "browse": Program((200, 1000), (2, 30), 28),
    "cpstak": Program((36, 18, 9), (12, 8, 4), 5),
    "ctak": Program((32, 16, 8), (9, 6, 3), 6),
    "deriv": Program((200_000,), (3,), 454),
    "diviter": Program((400_000, 1000), (5, 10), 135),
    "divrec": Program((200_000, 1000), (5, 10), 135),
    "fft": Program((2**18,), (16,), 7.6458748888150705),
    "fib": Program((40,), (15,), 610),
    "fibc": Program((36,), (12,), 144),
    "fibfp": Program((36.0,), (15.0,), 610),
    "lattice": Program((3, 4), (2, 2), 36),
    "mazefun": Program((2000, 21), (2, 7), 57953),
    "mbrot": Program((900,), (5,), 510),
    "nqueens": Program((13,), (6,), 4),
    "nucleic": Program((9,), (3,), 83),
    "paraffins": Program((21,), (10,), 75),
    "pnpoly": Program((1500,), (9,), 24),
    "primes": Program((150_000,), (30,), 129),
    "quicksort": Program((400, 20_000), (2, 20), 9097275),
    "simplex": Program((5000, 20, 20), (2, 3, 3), 276.49244606760817),
    "sum": Program((100, 5_000_000), (3, 10), 56),
    "sumfp": Program((20, 5_000_000.0), (3, 10.0), 56),
    "tak": Program((36, 18, 9), (12, 8, 4), 5),
    "takl": Program((30, 18, 9), (12, 8, 4), 5),
    "triangl": Program((0, 5), (4, 3), 0),
}

COMMANDS = {"Chez": ("chezscheme", "chez", "scheme"), "Gambit": ("gsc", "gambitc"), "Guile": ("guile",)}
# What the systems lack of R7RS or name in another way, the definition of `main`, and what times its calls.
SCHEME = """\
{begin}
(define with-escape call-with-current-continuation)
(define main
  (let ()
{program}
    main))
(define operands (read))
(define (timed k)
  (let* ((start {seconds}) (value (apply main operands)) (end {seconds}))
    (display (list value (- end start)))
    (newline)
    (if (> k 1) (timed (- k 1)))))
(timed {calls})
"""
CHEZ = """\
(import (rename (chezscheme) (define-record-type chez-record-type)))
(define-syntax define-record-type
  (syntax-rules ()
    ((_ name (make field ...) test (part get) ...)
     (chez-record-type (name make test) (fields (immutable part get) ...)))))"""
GAMBIT = "(declare (standard-bindings) (extended-bindings) (block))"
GUILE = "(use-modules (srfi srfi-9))"


def text(name: str, begin: str, seconds: str) -> str:
    program = (FOLDER / f"{name}.vlad").read_text(encoding="utf-8")
    return SCHEME.format(begin=begin, program=program, seconds=seconds, calls=CALLS)


def chez(name: str, folder: Path) -> list[str]:
    file = folder / "chez.ss"
    file.write_text(text(name, CHEZ, "(/ (cpu-time) 1000.0)"), encoding="utf-8")
    return [found(*COMMANDS["Chez"]), "--program", str(file)]


def gambit(name: str, folder: Path) -> list[str]:
    file = folder / "gambit.scm"
    file.write_text(text(name, GAMBIT, "(cpu-time)"), encoding="utf-8")
    command = [
        found(*COMMANDS["Gambit"]),
        "-exe",
        "-cc-options",
        "-O2",
        "-o",
        str(folder / "gambit"),
        str(file),
    ]
    subprocess.run(command, check=True, cwd=folder)
    return [str(folder / "gambit")]


def guile(name: str, folder: Path) -> list[str]:
    file = folder / "guile.scm"
    seconds = "(/ (get-internal-run-time) (exact->inexact internal-time-units-per-second))"
    file.write_text(text(name, GUILE, seconds), encoding="utf-8")
    command = found(*COMMANDS["Guile"])
    target = folder / "guile.go"
    compiling = f'(compile-file "{file}" #:output-file "{target}" #:optimization-level 2)'
    wanted = f"(use-modules (system base compile)) {compiling}"
    subprocess.run([command, "--no-auto-compile", "-c", wanted], check=True, stdout=subprocess.DEVNULL)
    return [command, "--no-auto-compile", "-c", f'(load-compiled "{target}")']


def found(*names: str) -> str:
    """The first of the commands that is there, or an empty string."""
    return next((path for name in names if (path := shutil.which(name))), "")


SYSTEMS: dict[str, Callable[[str, Path], list[str]]] = {"Chez": chez, "Gambit": gambit, "Guile": guile}


class Wrong(Exception):
    """Why a program has no time."""


def by_scheme(system: str, name: str, operands: tuple[float, ...]) -> tuple[float, float]:
    """The value of the program, and the processor time of its fastest call."""
    with tempfile.TemporaryDirectory() as folder:
        command = SYSTEMS[system](name, Path(folder))
        given = "(" + " ".join(map(repr, operands)) + ")"
        lines = output(command, given).strip().splitlines()[-CALLS:]
    pairs = [tuple(map(float, line.strip("()").split())) for line in lines]
    return pairs[0][0], min(seconds for _, seconds in pairs)


def output(command: list[str], given: str) -> str:
    try:
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env=os.environ | {"VLAD_CACHE": "off"},
        )
    except subprocess.TimeoutExpired as late:
        raise Wrong(f"more than {SECONDS} s") from late
    if done.returncode:
        raise Wrong((done.stderr or done.stdout).strip().splitlines()[-1])
    return done.stdout


def in_session(name: str, operands: tuple[float, ...]) -> dict[str, Any]:
    """The value, the time of the first call and the processor time of the fastest one after it, and the reason of tier 0."""
    from vlad import Session

    session = Session(tier="compile")
    session.run(str(FOLDER / f"{name}.vlad"))
    main = session["main"]
    begun = time.perf_counter()
    value = main(*operands)
    first, times = time.perf_counter() - begun, []
    for _ in range(CALLS):
        start = time.process_time()
        main(*operands)
        times.append(time.process_time() - start)
    return {
        "value": value,
        "first": first,
        "call": min(times),
        "reason": session.tiers.entries[id(main.value)].reason,
    }


def built(name: str, operands: tuple[float, ...]) -> tuple[float, float]:
    """The value that a program of `vlad build` prints, and its processor time, the fastest of several."""
    with tempfile.TemporaryDirectory() as folder:
        file, program = Path(folder) / "program.vlad", Path(folder) / "program"
        call = f"(main {' '.join(['(read-real)'] * len(operands))})"
        file.write_text((FOLDER / f"{name}.vlad").read_text(encoding="utf-8") + call, encoding="utf-8")
        output([sys.executable, "-m", "vlad", "build", str(file), "-o", str(program)], "")
        times = []
        for _ in range(CALLS):
            start = children()
            value = float(output([str(program)], " ".join(map(repr, operands))))
            times.append(children() - start)
    return value, min(times)


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(name: str, small: bool) -> tuple[list[str], float | None]:
    """A row of the table, and vlad's ratio to Chez."""
    operands = PROGRAMS[name].small if small else PROGRAMS[name].operands
    command = [sys.executable, __file__, "--session", name, *(["--small"] if small else [])]
    values: dict[str, float] = {}
    times: dict[str, float] = {}
    notes: list[str] = []
    try:
        line = json.loads(output(command, "").splitlines()[-1])
        values["vlad"], times["vlad"], times["first"] = line["value"], line["call"], line["first"]
        if line["reason"]:
            notes.append(line["reason"])
    except Wrong as wrong:
        notes.append(f"vlad: {wrong}")
    works: dict[str, Callable[[], tuple[float, float]]] = {"built": lambda: built(name, operands)}
    for system in SYSTEMS:
        if found(*COMMANDS[system]):
            works[system] = lambda system=system: by_scheme(system, name, operands)  # type: ignore[misc]  # mypy infers no lambda with a default
    for system, work in works.items():
        try:
            values[system], times[system] = work()
        except (Wrong, ValueError, subprocess.CalledProcessError) as wrong:
            notes.append(f"{system}: {wrong}")
    for system, value in values.items():
        if not math.isclose(value, next(iter(values.values())), rel_tol=TOLERANCE):
            notes.append(f"{system}: {value!r}")
    ratio = times["vlad"] / times["Chez"] if "vlad" in times and times.get("Chez") else None
    cells = [shown(times.get(column)) for column in ("vlad", "built", "first", *SYSTEMS)]
    size = " ".join(f"{operand:g}" for operand in operands)
    return [f"{name} {size}", *cells, "" if ratio is None else f"{ratio:.2f}", "; ".join(notes)], ratio


def shown(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.0f} ms" if seconds < 10 else f"{seconds:.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)}")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--session", metavar="PROGRAM", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.session:
        program = PROGRAMS[options.session]
        print(json.dumps(in_session(options.session, program.small if options.small else program.operands)))
        return
    unknown = [name for name in options.programs if name not in PROGRAMS]
    if unknown:
        parser.error(f"no program {unknown[0]}; there are {', '.join(PROGRAMS)}")
    table = [
        "| program | vlad | built | first call | Chez | Gambit | Guile | to Chez | notes |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    print(*table, sep="\n", flush=True)
    ratios = []
    for name in options.programs or PROGRAMS:
        cells, ratio = measured(name, options.small)
        table.append(f"| {' | '.join(cells)} |")
        ratios += [] if ratio is None else [ratio]
        print(table[-1], flush=True)
    print(summary(ratios))
    if options.write and not options.programs and not options.small:
        content = "\n".join(["# As a Scheme", "", *table, "", summary(ratios), "", about(), ""])
        (HERE / "SCHEME.md").write_text(content, encoding="utf-8")


def summary(ratios: list[float]) -> str:
    if not ratios:
        return "Chez is not there: no ratios."
    fast, mean = sum(ratio <= 1 for ratio in ratios), math.exp(sum(map(math.log, ratios)) / len(ratios))
    slow = sum(ratio > 2 for ratio in ratios)
    return (
        f"Of {len(ratios)} ratios {fast} are at most 1, {slow} above 2; their geometric mean is {mean:.2f}."
    )


def about() -> str:
    return f"""\
The programs are programs/scheme/*.vlad, the same text for every system: algorithms of the pure programs of r7rs-benchmarks,
written anew. Whole numbers are fixnums in the Schemes, and doubles in vlad. `vlad` is a call of the compiled procedure `main`
from Python, after the first one, which compiles without cache (`first call`, in elapsed time); `built` is the program of
`vlad build`, with its start. Chez, Gambit and Guile compile the program as the body of one procedure, with all checks: Chez by
`--program`, Gambit by `gsc -exe -cc-options -O2` with standard bindings and `block`, Guile by `compile-file`, level 2. They read
the operands when they run. Times are of the processor, the fastest of {CALLS} calls, with the collection of garbage. All values
are equal (to {TOLERANCE:g}) where no note says otherwise. The machine has {os.cpu_count()} cores, and had
{os.getloadavg()[2]:.0f} processes to run at the end: if these are more, other work has made times longer.

{processor()}; Python {platform.python_version()}{versions(None)}{"".join(f", {system} {version(system)}" for system in SYSTEMS)}.
Made by `python benchmarks/scheme.py --write`."""


def version(system: str) -> str:
    command = found(*COMMANDS[system])
    if not command:
        return "is not there"
    done = subprocess.run(
        [command, "-v" if system == "Gambit" else "--version"], capture_output=True, text=True, check=True
    )
    numbers = re.search(r"\d+(\.\d+)+", done.stdout + done.stderr)
    return numbers[0] if numbers else "of an unknown version"


if __name__ == "__main__":
    main()
