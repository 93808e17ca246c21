"""For all tests: every pass's result is checked against core's grammar; `--update` rewrites expected texts.

Random tests draw the same examples in every run, so that a red run means that the change is at fault;
`--hypothesis-profile=search` draws fresh ones.
"""

from __future__ import annotations

import gc
import os
import tempfile

import pytest
from hypothesis import settings

import vlad.compile.optimize
import vlad.compile.tiers
import vlad.core.passes
import vlad.evaluate.explain

vlad.core.passes.CHECKING = True
vlad.compile.optimize.CHECKING = True
vlad.compile.tiers.RAISING = True
vlad.evaluate.explain.RAISING = True

# Tier 0, unless a test asks for another: programs, examples and tests/compile do.
os.environ.setdefault("VLAD_TIER", "evaluate")

# What is compiled here is no part of the user's cache.
_kept = tempfile.TemporaryDirectory(prefix="vlad-tests-")
os.environ.setdefault("VLAD_CACHE_DIR", os.path.join(_kept.name, "cache"))

settings.register_profile("search", derandomize=False)
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


def pytest_collection_finish() -> None:
    """What is there before the first test stays: the collector of cyclic garbage need not look at it again and again."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="rewrite the expected halves of tests/passes/*/*.core"
    )
