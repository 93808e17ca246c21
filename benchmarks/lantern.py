"""Models of the Lantern paper's evaluation: `python benchmarks/lantern.py [--data FOLDER] [--lantern FOLDER] [--write]`.

A TreeLSTM on the parsed sentences of a file, one tree a step, and a character LSTM and RNN on a text, with the paper's sizes
and optimizer (Adagrad), called from Python. The first folder, ../shared/data by default, has `sst-dev.txt`, a tree a line as
`(score left right)` or `(score word)`, and `graham.txt`. The second is src/out/NIPS18evaluation of Lantern's repository: its
generated C++ is compiled by g++ with NumPy's OpenBLAS, and runs on the same trees, vectors and text. All systems have one
thread, and run one after the other. `--epochs N` is for shorter runs of the first model; `--write` writes LANTERN.md.
"""

from __future__ import annotations

import argparse
import glob
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import numpy as np  # noqa: E402 - after the number of threads is set
from run import processor, versions  # noqa: E402 - found by the path above

from vlad import Session  # noqa: E402 - found by the path above

Tree: TypeAlias = "tuple[float, Any]"

VECTOR, HIDDEN, CLASSES = 300, 150, 5
LETTERS, WIDTH, BATCH, TIMES = 26, 50, 20, 20
ITERATIONS = 2000
KINDS = ("float32", "float64")
# What Lantern's C++ calls, under the names of NumPy's OpenBLAS, whose integers have 64 bits.
CBLAS = """#include <stdint.h>
extern "C" {
enum CBLAS_ORDER { CblasRowMajor = 101 };
enum CBLAS_TRANSPOSE { CblasNoTrans = 111, CblasTrans = 112 };
#define cblas_sgemv scipy_cblas_sgemv64_
#define cblas_sgemm scipy_cblas_sgemm64_
void cblas_sgemv(CBLAS_ORDER, CBLAS_TRANSPOSE, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t, float,
                 float *, int64_t);
void cblas_sgemm(CBLAS_ORDER, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int64_t, int64_t, int64_t, float, const float *, int64_t,
                 const float *, int64_t, float, float *, int64_t);
}
"""


def parsed(line: str, words: dict[str, int]) -> Tree:
    """The pair of a score and a word's number, or of a score and a pair of trees; new words are numbered."""
    tokens = iter(line.replace("(", " ( ").replace(")", " ) ").split())

    def tree() -> Tree:  # after its first parenthesis
        score, token = float(next(tokens)), next(tokens)
        if token == "(":
            left = tree()
            next(tokens)
            below: Any = left, tree()
        else:
            below = words.setdefault(token, len(words))
        next(tokens)
        return score, below

    next(tokens)
    return tree()


def rows(tree: Tree) -> list[list[int]]:
    """The nodes of a tree, the root first: the score, the word, left and right part of each, or -1."""
    found: list[list[int]] = []

    def walk(tree: Tree) -> int:
        place, (score, below) = len(found), tree
        found.append([int(score), -1, -1, -1])
        if isinstance(below, tuple):
            found[place][2:] = walk(below[0]), walk(below[1])
        else:
            found[place][1] = below
        return place

    walk(tree)
    return found


class Data:
    def __init__(self, folder: Path) -> None:
        missing = [name for name in ("sst-dev.txt", "graham.txt") if not (folder / name).is_file()]
        if missing:
            raise SystemExit(f"{folder} has no {' and no '.join(missing)}; name the folder with --data")
        words: dict[str, int] = {}
        text = (folder / "sst-dev.txt").read_text(encoding="utf-8")
        self.trees = [parsed(line, words) for line in text.splitlines() if line.strip()]
        self.vectors = np.random.default_rng(0).random((len(words), VECTOR)) - 0.5
        self.text = (folder / "graham.txt").read_bytes()


def batches(text: bytes) -> Iterator[tuple[Any, Any]]:
    """Letters and those that follow, a row for each time, without end; as Lantern takes them from a text."""
    numbers = np.array([letter - ord("a") for letter in text if chr(letter).islower()], dtype="int64")
    size, start = BATCH * TIMES, 0
    while True:
        if start + size + 1 >= len(numbers):
            start = 0
        parts = [
            numbers[start + shift : start + shift + size].reshape(BATCH, TIMES).T.copy() for shift in (0, 1)
        ]
        yield parts[0], parts[1]
        start += size


def normal(kind: str, *shape: int) -> Any:
    return (0.01 * np.random.default_rng(1).standard_normal(shape)).astype(kind)


def with_shift(kind: str, into: int, out: int) -> tuple[Any, Any]:
    return normal(kind, into, out), np.zeros(out, kind)


def session() -> Session:
    made = Session(tier="compile")
    made.run(str(HERE / "programs" / "lantern.vlad"))
    return made


def variants(made: Session, step: Any) -> int:
    entry = made.tiers.entries[id(step.value)]
    if entry.reason is not None:
        raise SystemExit(entry.reason)
    return len(entry.variants)


def tree_lstm(data: Data, kind: str, epochs: int) -> tuple[str, float, list[float]]:
    """How often the step was compiled, seconds a tree in the fastest epoch, and the average loss of each epoch."""
    made, vectors = session(), data.vectors.astype(kind)
    step = made["tree-step"]
    sizes = [(VECTOR, 3 * HIDDEN), (2 * HIDDEN, 5 * HIDDEN), (HIDDEN, CLASSES)]
    network: Any = [part for into, out in sizes for part in with_shift(kind, into, out)]
    state: Any = [np.zeros_like(part) for part in network]
    losses, times, compiled = [], [], 0
    for epoch in range(epochs):
        total, start = 0.0, time.perf_counter()
        for number, tree in enumerate(data.trees):
            before = time.perf_counter()
            value, network, state = step(network, state, vectors, tree)
            total += value
            if epoch == 0 and (found := variants(made, step)) != compiled:
                compiled = found
                print(
                    f"  variant {found} at tree {number + 1}: {time.perf_counter() - before:.1f} s",
                    flush=True,
                )
        times.append((time.perf_counter() - start) / len(data.trees))
        losses.append(total / len(data.trees))
        print(f"  epoch {epoch}: {losses[-1]:.3f}, {1e3 * times[-1]:.2f} ms a tree", flush=True)
    return str(compiled), min(times), losses


def letters(data: Data, name: str, kind: str) -> tuple[str, float, list[float]]:
    """How often the step was compiled, seconds an iteration, and the loss at the beginning and the end."""
    made = session()
    step, table = made[f"{name}-step"], np.eye(LETTERS, dtype=kind)
    gates = 4 if name == "lstm" else 1
    cell = (
        normal(kind, LETTERS, gates * WIDTH),
        (normal(kind, WIDTH, gates * WIDTH), np.zeros(gates * WIDTH, kind)),
    )
    network: Any = [cell, with_shift(kind, WIDTH, LETTERS)]
    state: Any = [(np.zeros_like(w), (np.zeros_like(u), np.zeros_like(b))) for w, (u, b) in [cell]]
    state.append(tuple(np.zeros_like(part) for part in network[1]))
    start = np.zeros((BATCH, WIDTH), kind)
    begin: Any = (start, start) if name == "lstm" else start
    losses, begun = [], 0.0
    for number, batch in zip(range(ITERATIONS), batches(data.text), strict=False):
        value, network, state = step(network, state, (begin, table), batch)
        losses.append(float(value))
        if number == 20:
            begun = time.perf_counter()
    seconds = (time.perf_counter() - begun) / (ITERATIONS - 21)
    return str(variants(made, step)), seconds, [losses[0], losses[-1]]


class Lantern:
    """Lantern's generated C++, compiled and run in a folder with its data."""

    def __init__(self, source: Path, folder: Path, data: Data) -> None:
        self.source, self.folder = source, folder
        libraries = glob.glob(os.path.join(os.path.dirname(np.__file__) + ".libs", "libscipy_openblas64_*"))
        if not libraries:
            raise SystemExit("NumPy's OpenBLAS, as its wheels for Linux have it, is needed for Lantern")
        self.library = libraries[0]
        (folder / "cblas.h").write_text(CBLAS, encoding="utf-8")
        (folder / "graham.txt").write_bytes(data.text)
        with open(folder / "array_tree.txt", "w", encoding="utf-8") as file:
            print(len(data.trees), file=file)
            for tree in data.trees:
                nodes = rows(tree)
                print(
                    len(nodes),
                    *[" ".join(map(str, column)) for column in zip(*nodes, strict=True)],
                    sep="\n",
                    file=file,
                )
        with open(folder / "small_glove.txt", "w", encoding="utf-8") as file:
            print(len(data.vectors), file=file)
            np.savetxt(file, data.vectors, fmt="%.6f")

    def output(self, path: str) -> tuple[str, str]:
        """What the program printed, and what it wrote."""
        program = self.folder / "lantern"
        libraries = [self.library, f"-Wl,-rpath,{os.path.dirname(self.library)}"]
        flags = ["-O3", "-march=native", "-w", "-I", str(self.folder)]
        subprocess.run(["g++", *flags, str(self.source / path), "-o", str(program), *libraries], check=True)
        done = subprocess.run(
            [str(program), "out.txt"], cwd=self.folder, stdout=subprocess.PIPE, text=True, check=True
        )
        return done.stdout, (self.folder / "out.txt").read_text(encoding="utf-8")

    def tree_lstm(self, trees: int) -> tuple[float, list[float]]:
        printed, _ = self.output("evaluationTreeLSTM/Lantern/Lantern.cpp")
        found = re.findall(r"average_loss ([\d.]+), time ([\d.]+)", printed)
        ends = [0.0, *[float(seconds) for _, seconds in found]]
        fastest = min(end - start for start, end in pairwise(ends))
        return fastest / trees, [float(loss) for loss, _ in found]

    def letters(self, name: str) -> tuple[float, list[float]]:
        printed, written = self.output(f"evaluation{name.upper()}/Lantern.cpp")
        seconds = float(written.split()[-1])
        losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", printed)]
        return seconds / 5001, [losses[0], losses[-1]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--lantern", type=Path)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    data = Data(options.data)
    table = [
        "| model | system | ms a step | to Lantern | losses | compiled |",
        "|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        lantern = None if options.lantern is None else Lantern(options.lantern.resolve(), Path(folder), data)
        for name in ("TreeLSTM", "lstm", "rnn"):
            is_tree, base = name == "TreeLSTM", None
            title = name if is_tree else f"character {name.upper()}"
            if lantern is not None:
                base, losses = lantern.tree_lstm(len(data.trees)) if is_tree else lantern.letters(name)
                table.append(row(title, "Lantern's C++, float32", base, base, losses, ""))
                print(table[-1], flush=True)
            for kind in KINDS:
                found, seconds, losses = (
                    tree_lstm(data, kind, options.epochs) if is_tree else letters(data, name, kind)
                )
                table.append(row(title, f"vlad, {kind}", seconds, base, losses, found))
                print(table[-1], flush=True)
    if options.write:
        text = "\n".join(["# Models of the Lantern paper", "", *table, "", about(), ""])
        (HERE / "LANTERN.md").write_text(text, encoding="utf-8")


def row(title: str, system: str, seconds: float, base: float | None, losses: list[float], found: str) -> str:
    ratio = "" if base is None else f"{seconds / base:.2f}"
    return f"| {title} | {system} | {1e3 * seconds:.2f} | {ratio} | {', '.join(f'{x:.2f}' for x in losses)} | {found} |"


def about() -> str:
    return f"""\
TreeLSTM: a step is a tree of the Stanford Sentiment Treebank's development set, the loss at every node; hidden size {HIDDEN},
random vectors of {VECTOR}; the losses are the averages of the epochs, the time is that of the fastest. Character models: a step
is {BATCH} sequences of {TIMES} letters, hidden size {WIDTH}; the first loss and the last one, of {ITERATIONS:,} steps (Lantern
5,001). A step is forward, backward and Adagrad; vlad's takes the parameters from Python, and returns the new ones; `compiled`
is how often it was compiled. Lantern's C++ is that of its repository, with g++ -O3 -march=native and NumPy's OpenBLAS.

{processor()}; Python {platform.python_version()}{versions(None)}.
Made by `python benchmarks/lantern.py --lantern FOLDER --write`."""


if __name__ == "__main__":
    main()
