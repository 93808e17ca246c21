"""The programs of benchmarks/lantern.py on small data: losses as NumPy's, gradients as central differences, and training."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
pytestmark = pytest.mark.any_compiler
TREES = """\
(3 (2 It) (4 (2 is) (4 fine)))
(2 (3 (2 It) (3 (2 (2 ,) (2 (2 is) (2 .))) (3 fine))) (1 (1 (2 is) (1 (2 so) (1 dull))) (2 .)))
(1 (2 dull) (2 .))
(1 (1 (1 dull) (2 ,)) (2 .))
"""


@pytest.fixture(scope="module")
def lantern(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The benchmark with small sizes, its data, and a session with its program."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "sst-dev.txt").write_text(TREES, encoding="utf-8")
    (folder / "graham.txt").write_text("abcdefghijklmnopqrstuvwxyz" * 17, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        import lantern

        for name, value in {
            "VECTOR": 4,
            "HIDDEN": 3,
            "WIDTH": 5,
            "BATCH": 3,
            "TIMES": 4,
            "ITERATIONS": 60,
        }.items():
            patch.setattr(lantern, name, value)
        yield lantern, lantern.Data(folder)


def network(seed: int) -> list[Any]:
    draw = np.random.default_rng(seed)
    return [draw.normal(0, 0.5, shape) for shape in [(4, 9), 9, (6, 15), 15, (3, 5), 5]]


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def loss(parts: list[Any], vectors: Any, tree: Any) -> tuple[float, Any, Any]:
    """The loss of a tree, and output and memory at its root."""
    w, b, u, bb, v, vb = parts
    score, below = tree
    if isinstance(below, tuple):
        left, right = loss(parts, vectors, below[0]), loss(parts, vectors, below[1])
        into, keep_left, keep_right, out, new = np.split(np.concatenate([left[1], right[1]]) @ u + bb, 5)
        memory = sigmoid(keep_left) * left[2] + sigmoid(keep_right) * right[2]
        earlier = left[0] + right[0]
    else:
        into, out, new = np.split(vectors[below] @ w + b, 3)
        memory, earlier = np.zeros(3), 0.0
    memory = memory + sigmoid(into) * np.tanh(new)
    output = sigmoid(out) * np.tanh(memory)
    logits = output @ v + vb
    return earlier + np.log(np.sum(np.exp(logits))) - logits[int(score)], output, memory


def test_trees_are_read_and_written(lantern: Any) -> None:
    _, data = lantern
    assert data.trees[0] == (3, ((2, 0), (4, ((2, 1), (4, 2)))))
    assert lantern[0].rows(data.trees[0]) == [
        [3, -1, 1, 2], [2, 0, -1, -1], [4, -1, 3, 4], [2, 1, -1, -1], [4, 2, -1, -1],
    ]  # fmt: skip


def test_the_loss_of_a_tree_and_its_gradient(lantern: Any) -> None:
    module, data = lantern
    session = module.session()
    gradient = session.eval(
        "(lambda (n vectors tree) ((value-and-gradient (lambda (n) (tree-loss n vectors tree))) n))"
    )
    for seed, tree in enumerate(data.trees):
        parts, along = network(seed), network(seed + 10)
        value, found = gradient(parts, data.vectors, tree)[0], gradient(parts, data.vectors, tree)[1:]
        assert value == pytest.approx(loss(parts, data.vectors, tree)[0], rel=1e-12)
        ends = [
            loss([p + h * a for p, a in zip(parts, along, strict=True)], data.vectors, tree)[0]
            for h in (1e-5, -1e-5)
        ]
        slope = sum(np.sum(g * a) for g, a in zip(found, along, strict=True))
        assert slope == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)
    assert module.variants(session, gradient) == 2  # the first tree's shape, then any


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_training_lowers_the_loss(lantern: Any, kind: str) -> None:
    module, data = lantern
    compiled, _, losses = module.tree_lstm(data, kind, 4)
    assert compiled == "2" and losses == sorted(losses, reverse=True)
    for name in ("lstm", "rnn"):
        compiled, _, (first, last) = module.letters(data, name, kind)
        assert compiled == "1" and first == pytest.approx(3 * 4 * np.log(26), rel=1e-3) and last < 0.8 * first
