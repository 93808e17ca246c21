"""A driven pendulum from its Lagrangian, beside C by hand: `python benchmarks/mechanics.py [--write]`.

programs/pendulum.vlad states a Lagrangian: the library solves its equations by exact derivatives, 10^5 steps follow, and
gradients of all that by three parameters. c/pendulum.c has these equations by hand, and what a person makes of them on paper.
The results are compared: a wrong one ends the run. Times are the least of many calls, in processor time. vlad and C are called in
turns, and a ratio is the median of those of the turns, as the speed of a machine varies. `--write` writes MECHANICS.md.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from run import processor, span, versions  # noqa: E402 - found by the path above

import vlad  # noqa: E402 - as well

OPERANDS = (1.0, 0.1, 20.0, 100_000.0)
NEAR = 1e-5  # a step's rounding, magnified by 10^5 steps
TURNS = 40
C_FLAGS = ["-O2", "-march=native", "-ffp-contract=off"]  # no operation is reordered or fused, as in vlad
# The procedure, the function in C, and the title.
ROWS = (
    ("angle", "angle_stated", "the angle after 10^5 steps, beside C of the same operations"),
    ("angle", "angle", "the same beside C of the equation solved on paper"),
    ("gradient-forward", "forward", "its gradient by three parameters, forward, beside the latter"),
    ("gradient-reverse", "reverse", "the same, reverse"),
)
NOTES = """
Lagrange's equations as they stand have the sine and the cosine of each angle, and terms that cancel, but only in exact
arithmetic: so vlad keeps them, and its results equal the evaluator's to the last bit. The first row compares that with C of the
same operations, the second one with C that has one sine or cosine for each of the seven angles of a step; `--fast-math` permits
to cancel. The C is compiled by `gcc -O2 -march=native -ffp-contract=off`, so that no operation of either is reordered or
fused. Gradients need both functions in any case. In forward mode vlad runs the loop once for each parameter.
"""


class Dual(ctypes.Structure):
    """A number and its derivatives by the three parameters."""

    _fields_ = (("x", ctypes.c_double), ("d", ctypes.c_double * 3))


def in_c(folder: str) -> dict[str, Callable[[], float]]:
    """The functions in C: each returns the number that is compared."""
    target = str(Path(folder, "pendulum.so"))
    text = str(HERE / "c" / "pendulum.c")
    subprocess.run(["gcc", *C_FLAGS, "-w", "-shared", "-fPIC", "-o", target, text, "-lm"], check=True)
    library = ctypes.CDLL(target)
    library.make_tape.argtypes = [ctypes.c_double]
    library.make_tape(OPERANDS[-1])
    found: dict[str, Callable[[], float]] = {}
    for _, name, _ in ROWS:
        function = getattr(library, name)
        function.argtypes, function.restype = [ctypes.c_double] * 4, ctypes.c_double
        if name in ("forward", "reverse"):
            function.restype = Dual
            found[name] = lambda function=function: function(*OPERANDS).d[0]
        else:
            found[name] = lambda function=function: function(*OPERANDS)
    return found


def in_vlad(fast_math: bool) -> dict[str, Callable[[], Any]]:
    session = vlad.Session(tier="compile", fast_math=fast_math)
    session.run(str(HERE / "programs" / "pendulum.vlad"))
    return {
        name: lambda procedure=session[name]: first(procedure(*OPERANDS))
        for name in {row[0]: None for row in ROWS}
    }


def first(value: Any) -> float:
    return float(value[0]) if isinstance(value, tuple) else float(value)


def seconds(call: Callable[[], float], expected: float) -> float:
    begin = time.process_time()
    value = call()
    taken = time.process_time() - begin
    if not math.isclose(value, expected, rel_tol=NEAR):
        sys.exit(f"{value} is not {expected}")
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description="A driven pendulum beside C by hand.")
    parser.add_argument("--write", action="store_true", help="write MECHANICS.md")
    is_written = parser.parse_args().write
    lines = ["| | vlad | C | ratio | fast math | ratio |", "|---|---|---|---|---|---|"]
    own, fast = in_vlad(False), in_vlad(True)
    with tempfile.TemporaryDirectory() as folder:
        of_c = in_c(folder)
        for name, function, title in ROWS:
            calls, expected = (own[name], of_c[function], fast[name]), of_c[function]()
            for call in calls:
                call()  # compiles
            turns = [[seconds(call, expected) for call in calls] for _ in range(TURNS)]
            of_own, least, of_fast = [min(column) for column in zip(*turns, strict=True)]
            ratio = statistics.median([turn[0] / turn[1] for turn in turns])
            quick = statistics.median([turn[2] / turn[1] for turn in turns])
            lines.append(
                f"| {title} | {span(of_own)} | {span(least)} | {ratio:.2f} | {span(of_fast)} | {quick:.2f} |"
            )
    table = "\n".join(lines)
    print(table)
    if is_written:
        day = datetime.datetime.now(tz=datetime.UTC).date()
        head = f"Made by `benchmarks/mechanics.py` on {day:%d %B %Y}: vlad {vlad.__version__}, {processor()}, {versions(None)}."
        text = f"# Mechanics\n\n{(__doc__ or '').partition(chr(10) * 2)[2].strip()}\n\n{head}\n\n{table}\n{NOTES}"
        (HERE / "MECHANICS.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
