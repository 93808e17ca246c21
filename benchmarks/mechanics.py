"""A driven pendulum from its Lagrangian, beside C by hand: `python benchmarks/mechanics.py [--write]`.

programs/pendulum.vlad states a Lagrangian: the library solves its equations by exact derivatives, 10^5 steps follow, and
gradients of all that by three parameters. c/pendulum.c has these equations by hand, and what a person makes of them on paper.
The results are compared: a wrong one ends the run. Times are the least of many calls, in processor time. `--write` writes
MECHANICS.md.
"""

from __future__ import annotations

import argparse
import datetime
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from run import c_results, processor, span, versions  # noqa: E402 - found by the path above

import vlad  # noqa: E402 - as well

OPERANDS = (1.0, 0.1, 20.0, 100_000.0)
NEAR = 1e-5  # a step's rounding, magnified by 10^5 steps
CALLS = 12
C_FLAGS = ["-O2", "-ffp-contract=off"]  # no operation is reordered or fused, as in vlad
# The procedure, the case in C, and the title.
ROWS = (
    ("angle", "angle-stated", "the angle after 10^5 steps, beside C of the same operations"),
    ("angle", "angle", "the same beside C of the equation solved on paper"),
    ("gradient-forward", "gradient-forward", "its gradient by three parameters, forward, beside the latter"),
    ("gradient-reverse", "gradient-reverse", "the same, reverse"),
)
NOTES = """
Lagrange's equations as they stand have the sine and the cosine of each angle, and terms that cancel, but only in exact
arithmetic: so vlad keeps them, and its results equal the evaluator's to the last bit. The first row compares that with C of the
same operations, the second one with C that has one sine or cosine for each of the seven angles of a step; `--fast-math` permits
to cancel. The C is compiled by `gcc -O2 -march=native -ffp-contract=off`, so that no operation of either is reordered or
fused. Gradients need both functions in any case. In forward mode vlad runs the loop once for each parameter.
"""


def first(value: Any) -> float:
    return float(value[0]) if isinstance(value, tuple) else float(value)


def times(fast_math: bool) -> dict[str, tuple[float, float]]:
    """The first number of each result, and the seconds of a call."""
    found = {}
    with vlad.Session(tier="compile", fast_math=fast_math) as session:
        session.run(str(HERE / "programs" / "pendulum.vlad"))
        for name in {row[0]: None for row in ROWS}:
            value, least = first(session[name](*OPERANDS)), math.inf
            for _ in range(CALLS):
                begin = time.process_time()
                session[name](*OPERANDS)
                least = min(least, time.process_time() - begin)
            found[name] = value, least
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="A driven pendulum beside C by hand.")
    parser.add_argument("--write", action="store_true", help="write MECHANICS.md")
    is_written = parser.parse_args().write
    with tempfile.TemporaryDirectory() as folder:
        in_c = {line["case"]: line for line in c_results("pendulum", C_FLAGS, folder)}
    own, fast = times(False), times(True)
    lines = ["| | vlad | C | ratio | fast math | ratio |", "|---|---|---|---|---|---|"]
    for name, case, title in ROWS:
        value, least, of_c = *own[name], in_c[case]["min"]
        for other in (value, fast[name][0]):
            if not math.isclose(other, in_c[case]["check"], rel_tol=NEAR):
                sys.exit(f"{name}: {other} is not {in_c[case]['check']}")
        quick = fast[name][1]
        lines.append(
            f"| {title} | {span(least)} | {span(of_c)} | {least / of_c:.2f} | {span(quick)} | {quick / of_c:.2f} |"
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
