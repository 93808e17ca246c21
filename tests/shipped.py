"""The shipped examples, and those among them that cannot be compiled whole."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.vlad"))

# Tier 0 is needed by what reads files, or has shapes that only it finds out.
NEED_TIER_0 = {"character-lstm", "digits", "sentiment-trees", "variational-autoencoder"}
