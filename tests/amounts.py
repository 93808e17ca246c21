"""The number of examples in random tests: a ninth of those drawn with `VLAD_THOROUGH=1`.

Every run draws the same examples, so that unrelated changes do not find different failures.
"""

from __future__ import annotations

import os

THOROUGH = os.environ.get("VLAD_THOROUGH") == "1"


def drawn(count: int) -> int:
    """The number of examples, points or programs to draw out of `count`."""
    return count if THOROUGH else -(-count // 9)
