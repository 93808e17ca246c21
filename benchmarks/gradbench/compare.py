"""GradBench's evals, run on vlad beside tools of GradBench:
`python benchmarks/gradbench/compare.py GRADBENCH --python PYTHON [--tools TOOL …] [--write] [EVAL …]`.

GRADBENCH is a clone of https://github.com/gradbench/gradbench in which `make -C cpp` and `make -C tools/manual` have been run:
its evals check results by the tool `manual`. PYTHON has its package (`pip install GRADBENCH/python/gradbench pydantic scipy
dataclasses-json`). Messages between an eval and a tool pass through this program, as they do through GradBench's own command,
which needs Rust; a wrong result ends the run. A time is the sum of the least times of an eval's workloads, of its derivatives and
of its values; all with one thread. `--write` writes benchmarks/GRADBENCH.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent), str(HERE.parent)]

from run import processor, span, versions  # noqa: E402

EVALS = ("hello", "lse", "llsq", "ode", "det", "kmeans", "gmm", "lstm", "ba", "ht", "particle", "saddle")
VALUES = ("square", "primal", "objective", "cost")  # the functions that are no derivatives
OWN = "vlad"
HEAD = """\
GradBench's evals{2}; every result is accepted by the eval's own check. A time is the sum, over an eval's
workloads, of the least time of a call; `first` is the longest first call, compiling included.

| eval | first | vlad, derivatives | {0} | vlad, values | {0} |
|---|---|---|{1}---|{1}
"""


class Times(NamedTuple):
    derivatives: float
    values: float
    first: float


def command_of(tool: str, python: str) -> list[str]:
    if tool == OWN:
        return [sys.executable, str(HERE / "tool.py")]
    if tool in ("jax", "pytorch"):
        return [python, f"python/gradbench/gradbench/tools/{tool}/run.py"]
    return [python, "python/gradbench/gradbench/cpp.py", tool]


def started(command: list[str], folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def sent(line: str, process: subprocess.Popen[str]) -> str:
    """The response to a message."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(line)
    process.stdin.flush()
    response = process.stdout.readline()
    if not response:
        raise SystemExit(f"{process.args!r} has ended")
    return response


def measured(eval_: str, tool: str, gradbench: Path, python: str, options: list[str]) -> Times | None:
    """None if the tool has no such module."""
    eval_process = started([python, "-m", f"gradbench.evals.{eval_}.run", *options], gradbench)
    tool_process = started(command_of(tool, python), gradbench)
    assert eval_process.stdin is not None and eval_process.stdout is not None
    least: dict[bool, float] = defaultdict(float)
    first = 0.0
    try:
        for line in eval_process.stdout:
            message = json.loads(line)
            if message["kind"] == "end":
                break
            if message["kind"] == "analysis" and not message["valid"]:
                raise SystemExit(f"{eval_}, {tool}: WRONG: {message.get('error', '')[:1000]}")
            response = sent(line, tool_process)
            found = json.loads(response)
            if message["kind"] == "define" and not found["success"]:
                return None
            if message["kind"] == "evaluate":
                if not found["success"]:
                    raise SystemExit(f"{eval_}, {tool}: {found['error']}")
                times = nanoseconds(found["timings"])
                least[message["function"] in VALUES] += min(times["evaluate"]) / 1e9
                first = max([first, *[time / 1e9 for time in times["first call"]]])
            eval_process.stdin.write(response)
            eval_process.stdin.flush()
        eval_process.stdin.close()
        if eval_process.wait() or not least:
            raise SystemExit(f"{eval_}, {tool}: the eval failed, or asked for nothing")
        return Times(least[False], least[True], first)
    finally:
        for process in (eval_process, tool_process):
            process.kill()
            process.wait()


def nanoseconds(timings: list[dict[str, Any]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for timing in timings:
        found[timing["name"]].append(timing["nanoseconds"])
    return found


def beside(own: float, other: float | None) -> str:
    """Another tool's time, and how many times as long as vlad's it is."""
    return f"{span(other)}, {other / own:.2g}" if other and own else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("gradbench", type=Path)
    parser.add_argument("evals", nargs="*", default=list(EVALS))
    parser.add_argument(
        "--python", default=sys.executable, help="the interpreter that has GradBench's package"
    )
    parser.add_argument("--tools", nargs="*", default=["manual"])
    parser.add_argument("--options", default="", help="options for the evals, such as '--min-seconds 0.2'")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_intermixed_args()
    heading = " | ".join(given.tools)
    text = HEAD.format(
        heading,
        "---|" * len(given.tools),
        f" with {given.options}" if given.options else " at their default sizes",
    )
    print(text, end="")
    for eval_ in given.evals:
        options = given.options.split() if eval_ != "hello" else []
        own, *others = [
            measured(eval_, tool, given.gradbench.resolve(), given.python, options)
            for tool in (OWN, *given.tools)
        ]
        assert own is not None
        cells = [eval_, span(own.first), span(own.derivatives)]
        cells += [beside(own.derivatives, other and other.derivatives) for other in others]
        cells += [span(own.values)] if own.values else [""]
        cells += [beside(own.values, other and other.values) for other in others]
        line = f"| {' | '.join(cells)} |\n"
        print(line, end="", flush=True)
        text += line
    if given.write:
        about = f"# GradBench\n\nBy `benchmarks/gradbench/compare.py`, on {processor()}{versions(None)}.\n\n"
        (HERE.parent / "GRADBENCH.md").write_text(about + text, encoding="utf-8")


if __name__ == "__main__":
    main()
