"""What it costs to translate Python functions: `python benchmarks/translating.py [--calls]`.

Prints the processor time of the first gradient of a function of ten lines, beyond `import vlad`, and that of the translation of a
function of 200 lines, with what is looked up in the library for it; the least of several fresh processes, without cache. With
`--calls` it prints numbers of Python calls instead, which do not depend on the machine; tests/translate/test_translation_costs.py
compares them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 5
TEN_LINES = """\
import math


def f(a, steps=20):
    x = a
    for k in range(steps):
        error = x * x - a
        if abs(error) < 1e-12:
            break
        x = 0.5 * (x + a / x)
        weight = math.exp(-k)
        x = x + 1e-9 * weight * math.sin(error)
    return x
"""
# Counts calls, or processor time, from the first to the second of these.
BEGIN = {
    "time": "import time; begun = time.process_time()\n",
    "calls": """\
calls = 0
def count(frame, event, argument):
    global calls
    calls += event == "call"
import sys
sys.setprofile(count)
""",
}
END = {"time": "print(time.process_time() - begun)\n", "calls": "sys.setprofile(None)\nprint(calls)\n"}


def long_text(lines: int = 200) -> str:
    """The text of a function f of so many lines: loops, conditions, a comprehension, sums."""
    found = ["def f(x, n, xs):", "    total = 0.0"]
    part = 0
    while len(found) < lines - 1:
        part += 1
        found += [
            f"    a{part} = x * {part}.5 + total",
            f"    if a{part} > {part}:",
            f"        total += math.sin(a{part}) / (1.0 + x * x)",
            "    for i in range(n):",
            f"        total = total + xs[i] * a{part}",
            "        if total > 1e6:",
            "            break",
            f"    b{part} = [y * y for y in xs]",
            f"    total -= sum(b{part})",
        ]
    return "\n".join(["import math", "", "", *found[: lines - 1], "    return total", ""])


def first_gradient(what: str = "time") -> float:
    """Of one process: seconds, or calls. `import vlad` comes before."""
    text = f"import vlad\nimport ten_lines\n{BEGIN[what]}vlad.grad(ten_lines.f, 0)(2.0)\n{END[what]}"
    return _run(text, {"ten_lines": TEN_LINES})


def translation(what: str = "time") -> float:
    """The same of a function of 200 lines; the session has translated another one before."""
    text = (
        "import vlad\nimport ten_lines, long\nsession = vlad.Session()\nsession.function(ten_lines.f).text\n"
        f"f = session.function(long.f)\n{BEGIN[what]}f.value\n{END[what]}"
    )
    return _run(text, {"ten_lines": TEN_LINES, "long": long_text()})


def _run(text: str, modules: dict[str, str]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        for name, of_module in modules.items():
            Path(folder, f"{name}.py").write_text(of_module, encoding="utf-8")
        # no more folders than these: an import takes calls for each
        paths = os.pathsep.join([str(Path(__file__).resolve().parent.parent), folder])
        environment = {**os.environ, "VLAD_CACHE": "off", "PYTHONPATH": paths}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # or each process would compile vlad itself
        done = subprocess.run(
            [sys.executable, "-c", text], env=environment, check=True, stdout=subprocess.PIPE, text=True
        )
    return float(done.stdout)


def table() -> str:
    """The least times, in milliseconds."""
    rows = [
        ("the first gradient of a function of ten lines, beyond `import vlad`", first_gradient),
        ("the translation of a function of 200 lines", translation),
    ]
    lines = [f"| {name} | {1e3 * min([find() for _ in range(RUNS)]):.0f} ms |" for name, find in rows]
    return "\n".join(["| processor time of | |", "|---|---|", *lines])


if __name__ == "__main__":
    if sys.argv[1:] == ["--calls"]:
        print(f"{first_gradient('calls'):.0f} {translation('calls'):.0f}")
    else:
        print(table())
