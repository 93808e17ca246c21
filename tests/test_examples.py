"""The examples: each is run by the command as a user runs it, and prints exactly its .expected file. Those of examples/embedding
and examples/functions are Python's, and are run by Python."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from amounts import THOROUGH
from commands import command
from shipped import EXAMPLES, NEED_TIER_0, ROOT

EMBEDDING = sorted((ROOT / "examples" / "embedding").glob("*.py"))
FUNCTIONS = sorted((ROOT / "examples" / "functions").glob("*.py"))


# Each example on each tier. Those that can be compiled whole run in tests/compile/test_whole.py, which compiles
# them; repeating that here is left to a thorough run. So are all tiers but `auto`, which begins each form on tier 0, of those
# that take several seconds on tier 0 alone.
TAKE_LONG = {
    "character-lstm", "meta-learning", "newton-square-root", "particle", "probabilistic", "sentiment-trees", "taylor",
    "variational-autoencoder",
}  # fmt: skip
RUNS = [
    pytest.param(
        path, tier, id=f"{path.stem}-{tier}", marks=[pytest.mark.any_compiler] if tier == "compile" else []
    )
    for path in EXAMPLES
    for tier in ("auto", "compile", "evaluate")
    if THOROUGH
    or tier == "auto"
    or (path.stem not in TAKE_LONG and (tier == "evaluate" or path.stem in NEED_TIER_0))
]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("path", "tier"), RUNS)
def test_example(path: Path, tier: str) -> None:
    done = command("--tier", tier, path.relative_to(ROOT))
    notes = [line for line in done.stderr.splitlines() if line and line[0] != " "]
    if tier == "compile" and path.stem in NEED_TIER_0:
        assert all(": Note: " in line and "tier 0" in line for line in notes)
    else:
        assert done.stderr == ""
    assert done.returncode == 0
    assert done.stdout == path.with_suffix(".expected").read_text(encoding="utf-8")


@pytest.mark.any_compiler
@pytest.mark.timeout(120)
@pytest.mark.parametrize("path", EMBEDDING + FUNCTIONS, ids=lambda path: path.stem)
def test_python_example(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for package in ("scipy", "torch", "onnx"):
        if f"import {package}" in text or f"from {package}" in text:
            pytest.importorskip(package, reason=f"{package} is not installed")
    done = subprocess.run(
        [sys.executable, str(path.relative_to(ROOT))], cwd=ROOT, capture_output=True, text=True, timeout=100,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])},
    )  # fmt: skip
    assert done.stderr == ""
    assert done.returncode == 0
    assert done.stdout == path.with_suffix(".expected").read_text(encoding="utf-8")


def test_python_examples_state_their_subject() -> None:
    assert len(EMBEDDING) >= 3 and len(FUNCTIONS) >= 5
    for path in EMBEDDING + FUNCTIONS:
        assert len(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "") > 300, path.name


def test_every_example_begins_with_what_it_is_about() -> None:
    assert len(EXAMPLES) >= 10
    for path in EXAMPLES:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert lines[0].startswith("; ") and len(lines[0]) > 20, path.name
        assert sum(line.startswith(";") for line in lines) >= 8, f"{path.name} explains too little"


def test_saddle_points_are_at_the_origin() -> None:
    """The guarantee of the paper's program, unrounded: within 1e-3 in all four combinations of modes."""
    import vlad

    text = (ROOT / "examples" / "saddle.vlad").read_text(encoding="utf-8")
    assert "(round-to 4 (list x y))" in text
    session = vlad.Session()
    session.run_text(
        "".join(text.replace("(round-to 4 (list x y))", "(list x y)").rpartition("; reverse outside")[:1])
    )
    for outer in "RF":
        for inner in "RF":
            points = session.eval(f"(saddle gradient-{outer} gradient-{inner})")
            assert len(points) == 2
            for point in points:
                assert point == pytest.approx([0, 0], abs=1e-3)
