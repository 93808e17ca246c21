"""A tensor and a real: the real adopts the kind of a tensor of reals before anything is computed, on both tiers."""

from __future__ import annotations

import numpy as np
import pytest
from running import TIERS

import vlad

NAMES = ("+", "-", "*", "/", "max", "min", "modulo", "remainder", "quotient", "expt", "atan", "hypot")
KINDS = ("float64", "float32", "int64", "int32", "boolean")


def operands(kind: str) -> str:
    entries = {"f": "#[7.3 -7.9 0.1 5]", "i": "#[7 -7 3 5]", "b": "#[7 0 1 1]"}[kind[0]]
    return f"(as-type {entries} '{kind})"


@pytest.fixture(scope="module")
def answers() -> dict[str, list[np.ndarray]]:
    """By tier, of each procedure and kind, with the real last and first."""
    texts = [
        call for name in NAMES for kind in KINDS
        for call in (f"({name} {operands(kind)} 0.3)", f"({name} 0.3 {operands(kind)})")
    ]  # fmt: skip
    return {tier: list(vlad.Session(tier=tier).eval(f"(list {' '.join(texts)})")) for tier in TIERS}


def test_kinds_and_values_are_those_of_the_other_tier(answers: dict[str, list[np.ndarray]]) -> None:
    kinds = [kind for _ in NAMES for kind in KINDS for _ in range(2)]
    for kind, quick, compiled in zip(kinds, *answers.values(), strict=True):
        assert quick.dtype == compiled.dtype == ("float32" if kind == "float32" else "float64")
        np.testing.assert_allclose(quick, compiled, rtol=1e-6 if kind == "float32" else 1e-15)


@pytest.mark.parametrize("tier", TIERS)
def test_remainders_are_exact(answers: dict[str, list[np.ndarray]], tier: str) -> None:
    """As the real was rounded before, they are those of two floats."""
    x, y = np.array([7.3, -7.9, 0.1, 5], "float32"), np.float32(0.3)
    for name, exact in (("remainder", np.fmod), ("modulo", np.remainder)):
        first = (NAMES.index(name) * len(KINDS) + KINDS.index("float32")) * 2
        np.testing.assert_array_equal(answers[tier][first], exact(x, y))
        np.testing.assert_array_equal(answers[tier][first + 1], exact(y, x))
    first = (NAMES.index("quotient") * len(KINDS) + KINDS.index("float32")) * 2
    np.testing.assert_array_equal(answers[tier][first + 1], [0, 0, 3, 0])
