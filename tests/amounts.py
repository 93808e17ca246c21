"""How much random tests draw: for each change a sixth of what is drawn where `VLAD_THOROUGH=1` asks for all.

The same examples are drawn in every run, so that the others find what they find once and not with each change.
"""

from __future__ import annotations

import os

THOROUGH = os.environ.get("VLAD_THOROUGH") == "1"


def drawn(count: int) -> int:
    """How many of so many examples, points or programs."""
    return count if THOROUGH else -(-count // 6)
